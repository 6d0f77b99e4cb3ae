"""How the inertial parameters of bodies change with others, ten of a body at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from jounce._types import Array

__all__ = ["InertialChanges"]


class InertialChanges:
    """Changes of inertial parameters, each of one body's, to be multiplied with regressors.

    Args:
        rows: (number, 10 n_bodies) how all of them change with each.
        plain: whether each is one of them.
    """

    def __init__(self, rows: Array, plain: bool) -> None:
        self._count = len(rows)
        self._columns = np.argmax(rows, axis=-1) if plain and rows.size else None
        self._blocks: list[tuple[slice, Any, Array]] = []
        if plain:
            return
        tens = rows.reshape(len(rows), -1, 10)
        body = tens.any(-1).argmax(-1)
        for b in np.unique(body).tolist():
            which = np.flatnonzero(body == b)
            self._blocks.append((slice(10 * b, 10 * b + 10), which, tens[which, b].T))

    def times(self, regressor: Array) -> Array:
        """Regressor times changes, (..., 10 n_bodies) to (..., number).

        Each of the changes is one of a single body, so that no more than ten columns are summed.
        """
        if self._columns is not None:
            chosen: Array = np.take(regressor, self._columns, axis=-1)
            return chosen
        found = np.empty((*regressor.shape[:-1], self._count))
        for own, which, changes in self._blocks:
            found[..., which] = regressor[..., own] @ changes
        return found
