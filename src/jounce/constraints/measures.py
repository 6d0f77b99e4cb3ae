"""What the rows of constraints measure, by kernels that tell errors as the methods do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from jounce import _core
from jounce._core.arrays import reals
from jounce._types import Array, ArrayLike, Integers
from jounce.constraints.checks import defined
from jounce.errors import ArgumentError

if TYPE_CHECKING:
    from jounce.constraints.constraints import Constraints

__all__ = ["inverse_inertia", "measured", "rank_at"]

_OUTPUTS = {"residual": 0, "velocity": 1, "acceleration": 2, "bias": 2, "jacobian": 3}
"""Which output of the kernel a method returns."""

_rows: dict[str, Callable[..., Any]] = {
    name: _core.raw("constraint_rows", f"Constraints.{name}", inputs="q v a rows table")
    for name in _OUTPUTS
}
_jump: dict[str, Callable[..., Any]] = {
    name: _core.raw("constrained_jump", f"Constraints.{name}", inputs="q jump table")
    for name in ("rank", "regular")
}
_inertia: Callable[..., Any] = _core.raw(
    "constraint_inertia", "Constraints.inverse_inertia", inputs="q rows table"
)


def measured(
    c: Constraints,
    method: str,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
    *,
    threads: int,
) -> Array:
    """What a method of `Constraints` returns: residual, velocity, acceleration, bias, jacobian."""
    if not c.size:
        lead = _leading_axes(c, q, v, a)
        return np.zeros((*lead, 0, c.model.nv) if method == "jacobian" else (*lead, 0))
    zero = np.zeros(c.model.nv)
    v, a = (zero if x is None else x for x in (v, a))
    with defined(c, q):
        found = _rows[method](c.model, q, v, a, np.zeros(c.size), c.table, threads=threads)
    out: Array = found[_OUTPUTS[method]]
    return out


def rank_at(c: Constraints, method: str, q: ArrayLike, threads: int) -> Integers:
    """How many rows are independent, (...), for a method of `Constraints`: rank or regular."""
    q = reals("q", q, (c.model.nq,))
    if not c.size:
        return np.zeros(q.shape[:-1], np.int64)[()]
    with defined(c, q):
        rank = _jump[method](c.model, q, np.zeros(c.size), c.table, threads=threads)[2]
    integers: Integers = np.asarray(rank).astype(np.int64)[()]
    return integers


def inverse_inertia(c: Constraints, q: ArrayLike, threads: int) -> Array:
    """J M^-1 J^T, (..., m, m)."""
    if not c.size:
        return np.zeros((*_leading_axes(c, q), 0, 0))
    with defined(c, q):
        matrix: Array = _inertia(c.model, q, np.zeros(c.size), c.table, threads=threads)
    return matrix


def _leading_axes(c: Constraints, q: ArrayLike, *rates: ArrayLike | None) -> tuple[int, ...]:
    """Those of a state, where no kernel looks at it."""
    given = [reals("q", q, (c.model.nq,))]
    given += [
        reals(x, y, (c.model.nv,)) for x, y in zip("va", rates, strict=False) if y is not None
    ]
    try:
        return np.broadcast_shapes(*(x.shape[:-1] for x in given))
    except ValueError:
        raise ArgumentError(
            f"the leading axes {[x.shape[:-1] for x in given]} do not broadcast"
        ) from None
