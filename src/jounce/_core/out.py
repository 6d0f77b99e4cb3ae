"""Results of functions in Python, as the compiled ones deliver theirs.

The arrays of ``out=`` are checked before anything is computed. They may be, or overlap, arguments
of the call. If the computation fails they hold NaN, and arguments that share memory with them are
as they were; if a signal handler ended it, NaN is where something was written, since to fill memory
that is new takes long. Results that cannot fit are refused, those that are not finite are an error,
and large batches are computed a portion at a time: less memory, and Ctrl-C is heard in between.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from operator import index
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from jounce._core import MOST_THREADS, memory, raw, spoil
from jounce._core.arrays import refuse_masked
from jounce._core.words import in_own_words, place_text, told_by
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError, Error

__all__ = [
    "Call",
    "Given",
    "Guard",
    "Shape",
    "deliver",
    "deliver_all",
    "named",
    "refuse_masked_out",
    "require_out",
    "spans_too_much",
    "untouched_if_failing",
]

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

_PORTION = 2**22
"""Bytes of the results of those states of a batch that are computed at once: some milliseconds."""

_DOUBLE = np.dtype(float)
_NUMBERS = (_DOUBLE, np.dtype(complex))

_LONGEST = 2**40
"""States, as if no axis were empty. Those of 8 MB are as many bytes then as an array can have."""

_WHOLE_PACKS = 16
"""States of a portion are a multiple of this: it ends where a pack ends, as in one call."""

_check_state = raw("check_state", inputs="")


def spans_too_much(lead: Shape) -> bool:
    """Whether a batch is empty, but arrays with more axes than its own may be beyond NumPy's."""
    return 0 in lead and math.prod(filter(None, lead)) > _LONGEST


class Given:
    """A call: the function's name and the arguments, by which the shapes of results are known."""

    kinds = "fiub"
    """Of the dtypes of arguments."""
    may_be_infinite = False
    """Whether results may be not finite, or are looked at by what computes them."""

    def __init__(self, function: str, model: Any, threads: int, **arrays: ArrayLike | None) -> None:
        self.function = function
        self.model = model
        self.threads = threads
        self.arrays = arrays

    def with_arrays(self, others: Mapping[str, Array]) -> Given:
        """The same call with others of some arrays, of the same shapes."""
        same = copy(self)
        same.arrays = {**self.arrays, **others}
        return same

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
            if value is None:
                continue
            array = np.asarray(value)
            own = self.own_axes(name)
            lead = array.ndim - len(own)
            if array.dtype.kind not in self.kinds or lead < 0 or array.shape[lead:] != own:
                raise ArgumentError(f"{name} does not fit")
            yield array.shape[:lead]

    def own_axes(self, name: str) -> Shape:
        """Axes of an argument after the leading ones."""
        sizes = _OWN_AXES[name.split()[0]]
        return tuple(getattr(self.model, n) if isinstance(n, str) else n for n in sizes)

    def along_one_axis(self) -> list[Any]:
        """The arguments of an empty batch whose axes are too long, with one axis that is not.

        Those of one state keep it, so that what is wrong with it is told.
        """
        nothing: list[Any] = []
        for name, value in self.arrays.items():
            if value is None:
                nothing.append(None)
                continue
            own, array = self.own_axes(name), np.asarray(value)
            if array.shape == own or array.size == math.prod(own) > 0:
                nothing.append(array.reshape(own))
            else:
                nothing.append(np.zeros((0, *own), array.dtype))
        return nothing

    def bytes_of_state(self) -> int:
        """Of the arguments of one state."""
        given = (name for name, value in self.arrays.items() if value is not None)
        return 8 * sum(math.prod(self.own_axes(name)) for name in given)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Errors of functions that are called inside are told as those of this call."""
        try:
            yield
        except Error as error:
            raise in_own_words(error, self.function, self.leading_axes()) from None

    def check(self) -> None:
        """Refuse numbers that are not finite and bad quaternions, by their place in the batch."""
        known = {name: self.arrays.get(name) for name in ("q", "v", "a", "tau", "f_ext")}
        _check_state(self.model, **known, threads=self.threads)


def deliver(compute: Callable[..., Array], out: Array | None, own: Shape, given: Given) -> Array:
    """Return what a function computes, or out with the result copied to it.

    Args:
        compute: makes the result, a fresh array, of the given arrays.
        out: the caller's array, if there is one.
        own: axes of the result after the leading ones.
        given: the arguments of the call.

    Raises:
        ArgumentError: out is no writable C-contiguous float64 array of the right shape, or the
            result is not finite.
        TooLargeError: the result does not fit into the memory.
    """
    arrays = None if out is None else (out,)

    def compute_one(*some: Any) -> tuple[Array]:
        return (compute(*some),)

    (result,) = _deliver(compute_one, arrays, (own,), given)
    return result


def deliver_all(
    compute: Callable[..., T], out: tuple[Array, ...] | None, own: tuple[Shape, ...], given: Given
) -> T:
    """Return the named tuple that a function computes, or one of the arrays of out.

    Args:
        compute: makes the result, a named tuple of fresh arrays, of the given arrays.
        out: the caller's arrays, if there are some.
        own: axes of each result after the leading ones.
        given: the arguments of the call.

    Raises:
        ArgumentError: out is no tuple of as many arrays that fit, or they share memory, or a result
            is not finite.
        TooLargeError: the result does not fit into the memory.
    """
    fits = out is None or (isinstance(out, tuple) and len(out) == len(own))
    if not fits and given.leading_axes() is not None:
        raise ArgumentError(f"out must be a tuple of {len(own)} arrays")
    return _deliver(compute, out, own, given)


def _deliver(
    compute: Callable[..., T], out: tuple[Array, ...] | None, own: tuple[Shape, ...], given: Given
) -> T:
    for name, value in given.arrays.items():
        refuse_masked(name, value)
    lead = given.leading_axes()
    if lead is None:
        return compute(*given.arrays.values())
    return cast(T, Call(compute, given, lead, own, (_DOUBLE,) * len(own)).deliver(out))


class Call(NamedTuple):
    """A computation whose arguments have the right shapes."""

    compute: Callable[..., Any]
    """Makes a tuple of fresh arrays."""
    given: Given
    lead: Shape
    own: tuple[Shape, ...]
    """Axes of each result after the leading ones."""
    dtypes: tuple[np.dtype[Any], ...]
    """Of each result."""

    def deliver(self, out: tuple[Array, ...] | None) -> Any:
        """Results in new arrays, if they fit into the memory, or in those of out."""
        shapes = [(*self.lead, *axes) for axes in self.own]
        if out is None:
            both = zip(shapes, self.dtypes, strict=True)
            size = sum(memory.bytes_of(shape, dtype.itemsize) for shape, dtype in both)
            memory.require(self.given.function, size, size)
            return self.run()
        if not isinstance(out, tuple) or len(out) != len(shapes):
            raise ArgumentError(f"out must be a tuple of {len(shapes)} arrays")
        _require_all(out, shapes, self.dtypes)
        return _guarded(self, out)

    def _bytes_of_results(self) -> int:
        """Of one state."""
        both = zip(self.own, self.dtypes, strict=True)
        return sum(math.prod(axes) * dtype.itemsize for axes, dtype in both)

    def run(self, guard: Guard | None = None) -> Any:
        """Compute at once, or a portion at a time, into what is guarded if there is something."""
        out = None if guard is None else tuple(guard.arrays)
        count = math.prod(self.lead)
        if spans_too_much(self.lead):
            nothing = self.given.along_one_axis()
            return named(type(self._values(0, (0,), nothing)), out or self._places())
        at_once = self._at_once() if count > 1 else 1
        arrays = list(self.given.arrays.values())
        if count <= at_once:
            values = self._values(0, self.lead, arrays)
            if guard is not None:
                guard.write(values)
            return values
        self.given.check()
        portions = list(map(self._portions, self.given.arrays))
        first = None
        for start in range(0, count, at_once):
            stop = min(count, start + at_once)
            some = [portion(start, stop) for portion in portions]
            values = self._values(start, (stop - start,), some)
            if first is None:
                first = type(values)
                out = out or self._places()
                rows = [x.reshape(count, *axes) for x, axes in zip(out, self.own, strict=True)]
            if guard is not None:
                guard.reach(stop, count)
            for array, value in zip(rows, values, strict=True):
                array[start:stop] = value
        return named(first, out)

    def _at_once(self) -> int:
        """How many states make a portion."""
        size = max(1, self._bytes_of_results(), self.given.bytes_of_state())
        at_once = max(1, _PORTION // size)
        return at_once - at_once % min(at_once, _WHOLE_PACKS)

    def _places(self) -> tuple[Array, ...]:
        """New arrays for all results."""
        both = zip(self.own, self.dtypes, strict=True)
        return tuple(np.empty((*self.lead, *axes), dtype) for axes, dtype in both)

    def _portions(self, name: str) -> Callable[[int, int], Any]:
        """What gives an argument of some states, from one number of a state to another."""
        value = self.given.arrays[name]
        if value is None:
            return lambda start, stop: None
        array, own = np.asarray(value), self.given.own_axes(name)
        if array.shape == own:
            return lambda start, stop: array
        whole = np.broadcast_to(array, (*self.lead, *own))
        if len(self.lead) == 1 or whole.flags.c_contiguous:
            flat = whole.reshape(math.prod(self.lead), *own)
            return lambda start, stop: flat[start:stop]
        return lambda start, stop: whole[np.unravel_index(np.arange(start, stop), self.lead)]

    def _values(self, start: int, lead: Shape, arrays: list[Any]) -> Any:
        """Results of some states from `start` on, finite ones."""
        states = range(start, math.prod(self.lead))
        told = told_by(self.given.function, self.lead, states, lead)
        with np.errstate(all="ignore"), told:
            values = self.compute(*arrays)
        if self.given.may_be_infinite:
            return values
        for value, axes in zip(values, self.own, strict=True):
            if np.isfinite(value).all():
                continue
            wrong = ~np.isfinite(value).reshape(*lead, math.prod(axes)).all(axis=-1)
            at = int(np.flatnonzero(wrong)[0])
            raise ArgumentError(
                f"the result of {self.given.function}() is not finite"
                f"{place_text(start + at, self.lead)}: an input is too large"
            )
        return values


def named(kind: Any, arrays: tuple[Array, ...] | None) -> Any:
    """A tuple, or the named one, of these arrays."""
    return arrays if kind is tuple else kind(*(arrays or ()))


def _guarded(call: Call, out: tuple[Array, ...]) -> Any:
    """Compute into out; if that fails, nothing is left half-done."""
    given = call.given
    with untouched_if_failing(out, given.arrays, given.threads) as guard:
        kind = type(call._replace(given=given.with_arrays(guard.before)).run(guard))
    return named(kind, out)


class Guard:
    """Arrays of the caller that are written to, and copies of arguments that share their memory."""

    def __init__(self, out: Any, arrays: Mapping[str, Any]) -> None:
        given = out if isinstance(out, tuple) else (out,)
        self.arrays = [x for x in given if isinstance(x, np.ndarray)]
        self.before: dict[str, Array] = {}
        """Copies of the arguments, by name."""
        self._shared: list[tuple[Array, Array]] = []
        self._written = [0] * len(self.arrays)
        """How many numbers of each, from the first on."""
        for array in self.arrays:
            refuse_masked_out(array)
        for name, x in arrays.items():
            if isinstance(x, np.ndarray) and any(np.may_share_memory(x, y) for y in self.arrays):
                self.before[name] = np.empty(x.shape, x.dtype)
                for at in _blocks(x.shape):
                    self.before[name][at] = x[at]
                self._shared.append((x, self.before[name]))

    def require(
        self, out: Any, shapes: list[Shape], dtypes: Sequence[np.dtype[Any]] | None = None
    ) -> None:
        """Refuse arrays that do not have these shapes; then they stay as they are."""
        try:
            require_out(out, shapes, dtypes)
        except ArgumentError:
            self.arrays = []
            raise

    def reach(self, states: int, count: int) -> None:
        """Say that some of all states are written now."""
        self._written = [x.size // count * states for x in self.arrays]

    def write(self, values: Iterable[Any]) -> None:
        """Copy values to the arrays, in portions, between which Ctrl-C is heard."""
        for k, (array, value) in enumerate(zip(self.arrays, values, strict=True)):
            whole = np.broadcast_to(value, array.shape)
            for at in _blocks(array.shape):
                self._written[k] += array[at].size
                array[at] = whole[at]

    def undo(self, whole: bool, threads: int) -> None:
        """Leave nothing of what was written; fill the whole arrays if that is wanted."""
        try:
            for array, written in zip(self.arrays, self._written, strict=False):
                count = array.size if whole else written
                if array.dtype in _NUMBERS and array.flags.carray:
                    spoil(array.reshape(-1)[:count].view(_DOUBLE), threads)
                elif array.dtype == bool and array.flags.carray:
                    array.reshape(-1)[:count] = False
        finally:
            for x, before in self._shared:
                if x.flags.writeable:
                    x[...] = before


_OWN_FAILURES = (Error, Warning, MemoryError)
"""What calls raise by themselves; all else comes from a handler of a signal."""


@contextmanager
def untouched_if_failing(out: Any, arrays: Mapping[str, Any], threads: int) -> Iterator[Guard]:
    """If the inside fails, out holds NaN, and arguments that share its memory are as before.

    If a signal handler ends it, NaN is where the guard has written.
    """
    guard = Guard(out, arrays)
    try:
        yield guard
    except BaseException as error:
        guard.undo(isinstance(error, _OWN_FAILURES), threads)
        raise


def _blocks(shape: Shape) -> Iterator[tuple[Any, ...]]:
    """Where portions of an array are, in the order of its memory."""
    axis, size, most = 0, math.prod(shape), max(1, _PORTION // 8)
    while size > most:
        size //= shape[axis]
        axis += 1
    if not axis:
        yield ()
        return
    step = most // size
    for first in np.ndindex(shape[: axis - 1]):
        for k in range(0, shape[axis - 1], step):
            yield *first, slice(k, k + step)


def require_out(
    out: Any, shapes: list[Shape], dtypes: Sequence[np.dtype[Any]] | None = None
) -> None:
    """Refuse what is no array, or no tuple of arrays, of these shapes; by default of doubles."""
    if len(shapes) > 1 and not (isinstance(out, tuple) and len(out) == len(shapes)):
        raise ArgumentError(f"out must be a tuple of {len(shapes)} arrays")
    own = dtypes or (_DOUBLE,) * len(shapes)
    _require_all(out if len(shapes) > 1 else (out,), shapes, own)


def _require_all(
    out: tuple[Array, ...], shapes: list[Shape], dtypes: Sequence[np.dtype[Any]]
) -> None:
    for array, shape, dtype in zip(out, shapes, dtypes, strict=True):
        _require(array, shape, dtype)
    for k, array in enumerate(out):
        if any(np.may_share_memory(array, other) for other in out[:k]):
            raise ArgumentError("the arrays of out must not share memory with each other")


def refuse_masked_out(out: object) -> None:
    """Refuse a masked array: it hides results where entries are masked, or does not take them.

    Raises:
        ArgumentError: it is one, whether or not entries are masked.
    """
    ma = sys.modules.get("numpy.ma")
    if ma is not None and isinstance(out, ma.MaskedArray):
        raise ArgumentError("out must be a plain array, got a masked one")


def _require(out: object, shape: Shape, dtype: np.dtype[Any]) -> None:
    refuse_masked_out(out)
    must = f"out must be a writable C-contiguous {dtype} array of shape {shape}"
    if not isinstance(out, np.ndarray):
        raise ArgumentError(f"{must}, got {type(out).__name__}")
    right = out.dtype == dtype and out.dtype.isnative and out.shape == shape
    if right and out.flags.carray:
        return
    access = "" if out.flags.writeable else "read-only "
    place = "" if out.flags.aligned else "misaligned "
    order = "" if out.flags.c_contiguous else "non-contiguous "
    raise ArgumentError(
        f"{must}, got a {access}{place}{order}{out.dtype} array of shape {out.shape}"
    )
