"""Constraints of a model as plain data, in which the extensions of files keep them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from jounce.constraints import Coupling, Distance, Loop, Point, Rolling, Weld
from jounce.errors import Error, ModelError
from jounce.io._equalities import mimic_couplings
from jounce.model import Model

__all__ = ["constraints_from_data", "constraints_to_data", "named_constraints"]

_KINDS: dict[str, Any] = {
    kind.__name__: kind for kind in (Weld, Loop, Point, Distance, Coupling, Rolling)
}


def named_constraints(model: Model) -> list[Any]:
    """The constraints of a model, with names where bodies were given by an index."""

    def name(frame: str | int) -> str:
        return frame if isinstance(frame, str) else model.body_names[frame]

    return [item.renamed(name, str) for item in model.constraints]


def constraints_to_data(model: Model) -> list[dict[str, Any]] | None:
    """What the extension of a file says; None where `Joint.mimic` says all of it already."""
    items = named_constraints(model)
    known = mimic_couplings(model)
    if all(item in known for item in items):
        return None
    data = []
    for item in items:
        values = asdict(item)
        if isinstance(item, Coupling):
            values["coefficients"] = dict(item.coefficients)
        given = {field: value for field, value in values.items() if value is not None}
        if isinstance(item, Coupling) and item.offset is None:
            given["offset"] = None  # where a missing one is zero
        data.append({"kind": type(item).__name__, **given})
    return data


def constraints_from_data(data: Any) -> Sequence[Any]:
    """The constraints that `constraints_to_data` was given.

    Raises:
        ModelError: it is other data.
    """
    try:
        items = []
        for entry in data:
            values = dict(entry)
            kind = _KINDS[values.pop("kind")]
            items.append(kind(**{"second": None, **values} if kind is Loop else values))
    except (Error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"the constraints are not what jounce writes: {error}") from None
    return items
