"""What arrays and counts must be, wherever one is taken."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from jounce._core import memory
from jounce._types import AnyArray, Array
from jounce.errors import ArgumentError, shown

__all__ = [
    "finite",
    "integer",
    "numbers",
    "plain",
    "positive",
    "reals",
    "refuse_masked",
    "shown",
]

_DOUBLE = np.dtype(float)


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


def numbers(name: str, value: object, kinds: str = "fiub") -> AnyArray:
    """The value as an array of doubles: the one place where Python makes numbers of arguments.

    What kernels refuse is refused here, too: words and times that NumPy would read as numbers,
    imaginary parts that it would drop, objects, and integers beyond those of 64 bits.

    Args:
        name: of the argument, for the message.
        value: an array, a number, or lists of them.
        kinds: of dtypes that are taken; with "c" complex numbers stay complex.

    Raises:
        ArgumentError: it is none; the message names it.
        TooLargeError: as many doubles do not fit into the memory.
    """
    refuse_masked(name, value)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError):  # such as lists of several lengths
        raise ArgumentError(f"{name} must be numbers, got {shown(value)}") from None
    if array.dtype is _DOUBLE:
        if array.nbytes >= memory.LARGE and 0 in array.strides:  # it may be larger than the memory
            memory.require_argument(name, array.nbytes)
        return array
    kind = array.dtype.kind
    if kind in kinds:
        dtype = np.dtype(complex if kind == "c" else float)
        if array.dtype != dtype:
            memory.require_argument(name, array.size * dtype.itemsize)
        return array.astype(dtype, copy=False)
    if kind == "c":
        raise ArgumentError(f"{name} must be real numbers, got {array.dtype}")
    raise ArgumentError(f"{name} must be numbers, got {shown(value)}")


def reals(name: str, value: object, own: tuple[int, ...] = ()) -> Array:
    """The value as an array of real numbers of shape (..., *own).

    Raises:
        ArgumentError: it is none; the message names it.
    """
    array: Array = numbers(name, value)
    if own and array.shape[max(0, array.ndim - len(own)) :] != own:
        expected = ", ".join(map(str, ("...", *own)))
        raise ArgumentError(f"{name} must have shape ({expected}), got {array.shape}")
    return array


def plain(name: str, value: Any) -> Any:
    """The value as one float or as floats in tuples or lists; quick for tuples of numbers.

    Raises:
        ArgumentError: it is none; the message names it.
    """
    types = {*map(type, value)} if value.__class__ is tuple else None
    if types == {float}:
        return value
    if types == {int} or types == {float, int}:
        with suppress(OverflowError):
            return tuple(map(float, value))
    return numbers(name, value).tolist()


def finite(name: str, value: object, kinds: str = "fiub") -> Array:
    """The value as an array of finite real numbers.

    Raises:
        ArgumentError: it is none; the message names it.
    """
    array: Array = numbers(name, value, kinds)
    good = np.isfinite(array)
    if not good.all():
        raise ArgumentError(f"{name} must be finite real numbers, got {array[~good][0]}")
    return array


def positive(name: str, value: object, least: float = 0.0) -> float:
    """The value as one positive number.

    Raises:
        ArgumentError: it is none; the message names it.
    """
    try:
        number = np.nan if isinstance(value, (bool, np.bool_)) else numbers(name, value)
    except ArgumentError:
        number = np.nan
    if np.ndim(number) == 0 and 0.0 < number < np.inf and number >= least:
        return float(number)
    what = f"number, at least {least:.2g}" if least else "positive number"
    raise ArgumentError(f"{name} must be a {what}, got {shown(value)}")


def integer(name: str, value: object, least: float = 0, most: float = math.inf) -> int:
    """The value as an integer within bounds.

    Raises:
        ArgumentError: it is none; the message names it.
    """
    wrong = f"{name}: expected an integer, got {shown(value)}"
    if isinstance(value, (bool, np.bool_)):
        raise ArgumentError(wrong)
    try:
        result = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(wrong) from None
    if not least <= result <= most:
        bound = f"of at least {least}" if most == math.inf else f"from {least} to {most}"
        raise ArgumentError(f"{name}: expected an integer {bound}, got {shown(result)}")
    return result
