"""Checks of what the converters are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jounce._core.arrays import reals
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError, ArgumentTypeError

__all__ = ["Layout", "Unit", "all_given", "checked", "checked_batch", "normalized", "units"]


_SLACK = 1e-3
"""How far the norm of a quaternion may be from 1, as everywhere in jounce."""


class Layout(NamedTuple):
    """The order of a joint's coordinates in words, and which of them have the norm 1."""

    words: str
    unit: slice


def all_given(arrays: Mapping[str, ArrayLike | None]) -> dict[str, ArrayLike]:
    """Refuse a call that lacks q in front, or one of the arrays after it."""
    given = {name: value for name, value in arrays.items() if value is not None}
    if len(given) < len(arrays):
        raise ArgumentTypeError(
            f"expected the arguments (q, {', '.join(arrays)}): the axes of rates and forces may "
            "turn with q, so they are converted at a configuration"
        )
    return given


def checked_batch(
    q: Array, arrays: Mapping[str, ArrayLike], size: int, owner: str = ""
) -> list[Array]:
    """Check what goes with q; leading axes must broadcast."""
    found, leads = [], {"q": q.shape[:-1]}
    for name, value in arrays.items():
        array = checked(name, value, size, owner)
        if name == "matrix" and (array.ndim < 2 or array.shape[-2] != size):
            raise ArgumentError(f"matrix must be square in its last two axes, got {array.shape}")
        found.append(array)
        leads[name] = array.shape[: -2 if name == "matrix" else -1]
    try:
        np.broadcast_shapes(*leads.values())
    except ValueError:
        listed = ", ".join(f"{name} has {lead}" for name, lead in leads.items())
        raise ArgumentError(f"leading axes must broadcast: {listed}") from None
    return found


def checked(name: str, value: ArrayLike, size: int, owner: str = "") -> Array:
    array = reals(f"{name}{owner}", value)
    if array.shape[-1:] != (size,):
        raise ArgumentError(f"{name}{owner} must have shape (..., {size}), got {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(map(int, np.argwhere(~finite)[0]))
        index = ", ".join(map(str, where))
        raise ArgumentError(f"{name}{owner} must be finite, got {array[where]} at {name}[{index}]")
    return array


class Unit(NamedTuple):
    """A part of q that has the norm 1."""

    joint: str
    part: slice
    words: str


def units(layouts: Iterable[tuple[str, int, Layout | None]]) -> list[Unit]:
    """The parts with the norm 1 of all joints, given their first coordinates and layouts."""
    return [
        Unit(name, slice(start + layout.unit.start, start + layout.unit.stop), layout.words)
        for name, start, layout in layouts
        if layout is not None
    ]


def normalized(library: str, q: Array, units: Sequence[Unit]) -> Array:
    """Normalize the parts of a q of this library; refuse it if one is far from a unit."""
    out = q
    for joint, part, words in units:
        norm = np.linalg.norm(q[..., part], axis=-1, keepdims=True)
        error = np.abs(norm - 1.0)
        wrong = error > _SLACK
        if wrong.any():
            raise ArgumentError(
                f"q must be {library}'s: {words}; for joint {joint!r}, "
                f"q[..., {part.start}:{part.stop}] has the norm {norm[wrong][0]:.6g} instead of 1"
            )
        inexact = error > 4 * np.finfo(float).eps  # what is a unit already stays the same
        if inexact.any():
            out = out.copy() if out is q else out
            out[..., part] = np.where(inexact, q[..., part] / norm, q[..., part])
    return out
