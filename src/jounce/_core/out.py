"""Results of functions in Python written to the arrays of ``out=``, as the kernels do it."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from jounce._types import Array

__all__ = ["deliver", "deliver_all"]

T = TypeVar("T", bound=tuple[Any, ...])


def deliver(value: Array, out: Array | None) -> Array:
    """Return the value, or out with the value copied to it.

    Raises:
        ValueError: out is no writable C-contiguous float64 array of the value's shape.
    """
    if out is None:
        return value
    _require(value, out)
    out[...] = value
    return out


def deliver_all(values: T, out: tuple[Array, ...] | None) -> T:
    """Return a named tuple of arrays, or one of the arrays of out with the values copied there.

    Raises:
        ValueError: out is no tuple of as many arrays that fit, or they share memory.
    """
    if out is None:
        return values
    if not isinstance(out, tuple) or len(out) != len(values):
        raise ValueError(f"out must be a tuple of {len(values)} arrays")
    for k, (value, array) in enumerate(zip(values, out, strict=True)):
        _require(value, array)
        if any(np.shares_memory(array, other) for other in out[:k]):
            raise ValueError("the arrays of out must not share memory with each other")
    for value, array in zip(values, out, strict=True):
        array[...] = value
    return type(values)(*out)


def _require(value: Array, out: object) -> None:
    must = f"out must be a writable C-contiguous float64 array of shape {value.shape}"
    if not isinstance(out, np.ndarray):
        raise ValueError(f"{must}, got {type(out).__name__}")
    right = out.dtype == np.float64 and out.dtype.isnative and out.shape == value.shape
    if not right or not out.flags.c_contiguous or not out.flags.writeable:
        order = "" if out.flags.c_contiguous else "non-contiguous "
        access = "" if out.flags.writeable else "read-only "
        raise ValueError(f"{must}, got a {access}{order}{out.dtype} array of shape {out.shape}")
