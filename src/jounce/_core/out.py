"""Results of functions in Python written to the arrays of ``out=``, as the compiled ones do it.

The arrays are checked before anything is computed. They may be, or overlap, arguments of the call.
If the computation fails they hold NaN, and arguments that share memory with them are as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import index
from typing import Any, TypeVar

import numpy as np

from jounce._core import MOST_THREADS
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError

__all__ = ["Given", "Shape", "deliver", "deliver_all"]

Shape = tuple[int, ...]
T = TypeVar("T", bound=tuple[Any, ...])

_OWN_AXES: dict[str, tuple[str | int, ...]] = {
    "q": ("nq",),
    "v": ("nv",),
    "a": ("nv",),
    "tau": ("nv",),
    "f_ext": ("n_bodies", 6),
    "dt": (),
    "wrench": (6,),
}
"""By the first word of a name."""


class Given:
    """Arguments of a call, by which the shapes of its results are known."""

    def __init__(self, model: Any, threads: int, **arrays: ArrayLike | None) -> None:
        self.model = model
        self.threads = threads
        self.arrays = {name: x for name, x in arrays.items() if x is not None}

    def leading_axes(self) -> Shape | None:
        """Leading axes of all arrays together.

        None if something is wrong that compiled functions check before they look at out: the
        function itself will say what.
        """
        try:
            if not 0 <= index(self.threads) <= MOST_THREADS:
                return None
            return np.broadcast_shapes(*self._leading_axes())
        except (TypeError, ValueError):
            return None

    def _leading_axes(self) -> Iterator[Shape]:
        for name, value in self.arrays.items():
            array = np.asarray(value)
            sizes = _OWN_AXES[name.split()[0]]
            own = tuple(getattr(self.model, n) if isinstance(n, str) else n for n in sizes)
            lead = array.ndim - len(own)
            if array.dtype.kind not in "fiub" or lead < 0 or array.shape[lead:] != own:
                raise ArgumentError(f"{name} does not fit")
            yield array.shape[:lead]


def deliver(compute: Callable[[], Array], out: Array | None, own: Shape, given: Given) -> Array:
    """Return what a function computes, or out with the result copied to it.

    Args:
        compute: makes the result, a fresh array.
        out: the caller's array, if there is one.
        own: axes of the result after the leading ones.
        given: the arguments of the call.

    Raises:
        ArgumentError: out is no writable C-contiguous float64 array of the right shape.
    """
    lead = None if out is None else given.leading_axes()
    if out is None or lead is None:
        return compute()
    _require(out, (*lead, *own))
    _write(lambda: (compute(),), (out,), given)
    return out


def deliver_all(
    compute: Callable[[], T], out: tuple[Array, ...] | None, own: tuple[Shape, ...], given: Given
) -> T:
    """Return the named tuple that a function computes, or one of the arrays of out.

    Args:
        compute: makes the result, a named tuple of fresh arrays.
        out: the caller's arrays, if there are some.
        own: axes of each result after the leading ones.
        given: the arguments of the call.

    Raises:
        ArgumentError: out is no tuple of as many arrays that fit, or they share memory.
    """
    lead = None if out is None else given.leading_axes()
    if out is None or lead is None:
        return compute()
    if not isinstance(out, tuple) or len(out) != len(own):
        raise ArgumentError(f"out must be a tuple of {len(own)} arrays")
    for array, axes in zip(out, own, strict=True):
        _require(array, (*lead, *axes))
    for k, array in enumerate(out):
        if any(np.may_share_memory(array, other) for other in out[:k]):
            raise ArgumentError("the arrays of out must not share memory with each other")
    return type(_write(compute, out, given))(*out)


def _write(compute: Callable[[], T], out: tuple[Array, ...], given: Given) -> T:
    """Compute, and copy the results to out; if that fails, nothing is left half-done."""
    shared = [
        (x, x.copy())
        for x in given.arrays.values()
        if isinstance(x, np.ndarray) and any(np.may_share_memory(x, array) for array in out)
    ]
    try:
        values = compute()
    except BaseException:
        for array in out:
            array.fill(np.nan)
        for x, before in shared:
            if x.flags.writeable:
                x[...] = before
        raise
    for array, value in zip(out, values, strict=True):
        array[...] = value
    return values


def _require(out: object, shape: Shape) -> None:
    must = f"out must be a writable C-contiguous float64 array of shape {shape}"
    if not isinstance(out, np.ndarray):
        raise ArgumentError(f"{must}, got {type(out).__name__}")
    right = out.dtype == np.float64 and out.dtype.isnative and out.shape == shape
    if right and out.flags.carray:
        return
    access = "" if out.flags.writeable else "read-only "
    place = "" if out.flags.aligned else "misaligned "
    order = "" if out.flags.c_contiguous else "non-contiguous "
    raise ArgumentError(
        f"{must}, got a {access}{place}{order}{out.dtype} array of shape {out.shape}"
    )
