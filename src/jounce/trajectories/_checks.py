"""Checks of what a user passes in, each with one error that says what was expected and came."""

from __future__ import annotations

from typing import Any

import numpy as np

from jounce._core.arrays import finite, shown
from jounce._core.arrays import integer as integer
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError
from jounce.lie._checks import group_element

MAX_ORDER = 150
"""Highest order of a series; the factorials of orders above 170 overflow."""

EXTENSIONS = ("error", "hold", "formula")


def numbers(name: str, value: ArrayLike) -> Array:
    """Convert to an array of finite real numbers."""
    return np.array(finite(name, value, "fiu"))  # what is true or false is no time


def number(name: str, value: ArrayLike) -> float:
    """Convert to one finite real number."""
    array = numbers(name, value)
    if array.ndim:
        raise ArgumentError(f"{name}: expected one number, got an array of shape {array.shape}")
    return float(array)


def vector(name: str, value: ArrayLike) -> Array:
    """Convert to a vector; one number is a vector of size 1."""
    array = np.atleast_1d(numbers(name, value))
    if array.ndim != 1:
        raise ArgumentError(f"{name}: expected a number or shape (n,), got shape {array.shape}")
    return array


def vectors(**values: ArrayLike) -> list[Array]:
    """Convert to vectors of one size, to which single numbers are spread."""
    arrays = {name: vector(name, value) for name, value in values.items()}
    try:
        return [np.array(a) for a in np.broadcast_arrays(*arrays.values())]
    except ValueError:
        sizes = ", ".join(f"{name} has {a.size}" for name, a in arrays.items())
        raise ArgumentError(f"sizes do not agree: {sizes}") from None


def rows(name: str, value: ArrayLike, least: int = 1) -> Array:
    """Convert to shape (m, n); a list of m numbers has n = 1."""
    array = numbers(name, value)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or len(array) < least:
        raise ArgumentError(
            f"{name}: expected shape (m,) or (m, n) with m >= {least}, got {np.shape(value)}"
        )
    return array


def positive(name: str, value: ArrayLike) -> float:
    """Convert to one positive number."""
    result = number(name, value)
    if result <= 0:
        raise ArgumentError(f"{name}: expected a positive number, got {result:g}")
    return result


def order(value: Any) -> int:
    """Require the order of a series."""
    return integer("order", value, 0, MAX_ORDER)


def choice(name: str, value: str, known: tuple[str, ...]) -> str:
    """Require one of a few words."""
    if not isinstance(value, str) or value not in known:
        expected = ", ".join(repr(k) for k in known)
        raise ArgumentError(f"{name}: expected one of {expected}, got {shown(value)}")
    return value


def increasing(name: str, values: Array) -> None:
    """Require strictly increasing numbers."""
    steps = np.diff(values)
    if (steps <= 0).any():
        i = int(np.flatnonzero(steps <= 0)[0])
        raise ArgumentError(
            f"{name}: expected increasing numbers, got {values[i]:g} before {values[i + 1]:g}"
        )


def poses(name: str, value: ArrayLike, ndim: int) -> Array:
    """Convert to poses (..., 4, 4); rotations (..., 3, 3) become poses without displacement."""
    array = numbers(name, value)
    if array.ndim != ndim or array.shape[-2:] not in ((3, 3), (4, 4)):
        lead = "" if ndim == 2 else "n, "
        raise ArgumentError(
            f"{name}: expected shape ({lead}4, 4) or ({lead}3, 3), got {array.shape}"
        )
    size = array.shape[-1]
    out = np.zeros((*array.shape[:-2], 4, 4))
    out[..., 3, 3] = 1.0
    out[..., :size, :size] = array
    return group_element(name, out)
