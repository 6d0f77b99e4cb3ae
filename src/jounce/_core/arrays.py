"""What arrays and counts must be, wherever one is taken."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from jounce._types import Array
from jounce.errors import ArgumentError

__all__ = ["integer", "reals", "refuse_complex", "refuse_masked"]


def refuse_masked(name: str, value: object) -> None:
    """Refuse a masked array that hides entries, or lists of them: what it hides is no number.

    Raises:
        ArgumentError: some entries are masked.
    """
    ma = sys.modules.get("numpy.ma")  # before somebody imports it, nothing is masked
    if ma is None or type(value) is np.ndarray:
        return
    for array in _arrays_in(value):
        if isinstance(array, ma.MaskedArray) and ma.is_masked(array):
            count = int(np.sum(ma.getmaskarray(array)))
            raise ArgumentError(
                f"{name} must have no masked entries, got {count} of {array.size}; "
                "fill them (numpy.ma.filled) or leave them out"
            )


def _arrays_in(value: object) -> Iterator[Any]:
    """What lists and tuples hold but numbers, each list once: one may be in itself."""
    left, seen = [value], set()
    while left:
        item = left.pop()
        if not isinstance(item, (list, tuple)):
            yield item
        elif id(item) not in seen:
            seen.add(id(item))
            left += [x for x in item if not isinstance(x, (float, int))]


def refuse_complex(name: str, value: object) -> None:
    """Refuse an array of complex numbers, of which NumPy would keep the real parts.

    Raises:
        ArgumentError: the numbers are complex.
    """
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "c":
        raise ArgumentError(f"{name} must be real numbers, got {value.dtype}")


def reals(name: str, value: object, own: tuple[int, ...] = ()) -> Array:
    """The value as an array of real numbers of shape (..., *own).

    Raises:
        ArgumentError: it is none; the message names it.
    """
    refuse_masked(name, value)
    refuse_complex(name, value)
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{name} must be numbers, got {value!r:.100}") from None
    if array.shape[max(0, array.ndim - len(own)) :] != own:
        expected = ", ".join(map(str, ("...", *own)))
        raise ArgumentError(f"{name} must have shape ({expected}), got {array.shape}")
    return array


def integer(name: str, value: object, least: float = 0, most: float = math.inf) -> int:
    """The value as an integer within bounds.

    Raises:
        ArgumentError: it is none; the message names it.
    """
    wrong = f"{name}: expected an integer, got {value!r:.100}"
    if isinstance(value, (bool, np.bool_)):
        raise ArgumentError(wrong)
    try:
        result = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(wrong) from None
    if not least <= result <= most:
        bound = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
        raise ArgumentError(f"{name}: expected an integer {bound}, got {result}")
    return result
