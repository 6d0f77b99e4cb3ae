"""Functions without a model, of numbers that lie one state after the other.

All leading axes are batch axes, which broadcast. Some of these functions are compiled; others, and
those of complex numbers, are in NumPy. They take large batches a portion at a time, as
`jounce._core.out` does: Ctrl-C is heard between two portions, and a result that cannot fit into the
memory is refused before it is computed. How large it is, its first state tells.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from jounce import _core
from jounce._core.arrays import refuse_masked
from jounce._core.out import Call, Given, Shape, spans_too_much, untouched_if_failing
from jounce._core.words import told_by, with_shapes
from jounce.errors import ArgumentError, Error

__all__ = ["deliver_elementwise", "elementwise", "in_portions"]

_MOST_AXES = 64
"""Of an array; lists may be in themselves."""

F = TypeVar("F", bound=Callable[..., Any])
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_FEW = 2**12
"""States that are computed at once."""

_USUAL = 10
"""Numbers of results that one number of an argument makes, at most, where nothing is said."""


def elementwise(of_complex: Callable[..., Any] | None = None) -> Callable[[F], F]:
    """Replace a documented Python signature by the elementwise function of the same name.

    Where an argument is complex, `of_complex` is called instead, without `out` and `threads`;
    without one, complex numbers are refused.

    Raises:
        ImportError: the compiled function takes something else than the definition says.
    """

    def replace(function: F) -> F:
        name = function.__name__
        signature = _core._module.elementwise_signature(name)
        _core._compare(function, signature, [], None)
        other = of_complex and _with_out(function, of_complex, signature["input_ranks"])
        text = _core._text(function)
        bound = _core._module.bind_elementwise(name, text, function.__module__, other)
        return cast(F, bound)

    return replace


def _with_out(
    function: Callable[..., Any], compute: Callable[..., Any], ranks: Mapping[str, int]
) -> Callable[..., Any]:
    """Give a function of complex numbers, in NumPy, the arguments of the compiled one."""
    name = function.__name__
    wanted = [x for x in inspect.signature(function).parameters if x not in ("out", "threads")]
    taken = list(inspect.signature(compute).parameters)
    if taken != wanted:
        raise ImportError(f"{name} of complex numbers takes {taken}, not {wanted}")

    @functools.wraps(compute)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                result = compute(*args, **kwargs)
        except ValueError as error:
            if isinstance(error, Error):
                raise
            raise ArgumentError(f"{name}(): {error}") from error
        if not np.isfinite(result).all():
            raise ArgumentError(f"the result of {name}() is not finite")
        return result

    call = _caller(name, checked, ranks)

    def computed(*args: Any, out: Any = None, threads: Any = 1, **kwargs: Any) -> Any:
        return call(args, kwargs, out)

    return computed


def in_portions(
    **ranks: int,
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Let a function in NumPy compute large batches a portion at a time.

    It returns a fresh array or a tuple of them, whose leading axes are those of its arguments.

    Args:
        ranks: how many axes of its own each argument has that is an array, by name.
    """

    def wrap(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        call = _caller(function.__name__.lstrip("_"), function, ranks)

        @functools.wraps(function)
        def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            return cast(Result, call(args, kwargs))

        return called

    return wrap


def _caller(name: str, compute: Callable[..., Any], ranks: Mapping[str, int]) -> Callable[..., Any]:
    """Bring arguments of a call, by position and by name, to `deliver_elementwise`."""
    names = list(inspect.signature(compute).parameters)
    places = [(names.index(key), key, rank) for key, rank in ranks.items()]

    def call(args: tuple[Any, ...], kwargs: dict[str, Any], out: Any = None) -> Any:
        given = [(args[k] if k < len(args) else kwargs.get(key), rank) for k, key, rank in places]
        if out is None and _most_states(given) <= _FEW:
            return compute(*args, **kwargs)
        named = {**dict(zip(names, args, strict=False)), **kwargs}
        if len(named) < len(args) + len(kwargs):
            return compute(*args, **kwargs)  # which says what is there twice, or too much
        arrays = {key: named[key] for key in ranks if key in named}

        def of_some(*some: Any) -> Any:
            return compute(**{**named, **dict(zip(arrays, some, strict=True))})

        return deliver_elementwise(name, of_some, arrays, ranks, out)

    return call


def deliver_elementwise(
    function: str,
    compute: Callable[..., Any],
    arrays: Mapping[str, Any],
    ranks: Mapping[str, int],
    out: Any = None,
    *,
    makes: int = _USUAL,
) -> Any:
    """Return what a function computes, or out with the results copied to it.

    Args:
        function: its name.
        compute: makes the result of the arrays, in their order: a fresh array, or a tuple of them.
            It says what is wrong with arguments, and whether results must be finite.
        arrays: the arguments.
        ranks: how many axes of its own each of them has.
        out: the caller's array, or tuple of arrays, if there is one.
        makes: about how many numbers of results one number of an argument makes, if these are many.

    Raises:
        ArgumentError: out is none that fits.
        TooLargeError: the result does not fit into the memory.
    """
    many = max(1.0, makes / _USUAL)
    both = ((value, ranks[name]) for name, value in arrays.items())
    if out is None and many * _most_states(both) <= _FEW:
        return compute(*arrays.values())
    given = _Given(function, arrays, ranks)
    lead = given.leading_axes()
    too_long = lead is not None and spans_too_much(lead)
    if lead is None or (many * math.prod(lead) <= _FEW and not too_long):
        return _at_once(compute, given, out)
    first = compute(*given.along_one_axis()) if too_long else _first_state(compute, given, lead)
    several = isinstance(first, tuple)
    results = tuple(map(np.asarray, first if several else (first,)))
    own, dtypes = tuple(x.shape[too_long:] for x in results), tuple(x.dtype for x in results)
    if several:
        return Call(compute, given, lead, own, dtypes).deliver(out)
    found = Call(lambda *some: (compute(*some),), given, lead, own, dtypes)
    return found.deliver(None if out is None else (out,))[0]


class _Given(Given):
    """Arguments of a function without a model."""

    kinds = "fiubc"
    may_be_infinite = True

    def __init__(self, function: str, arrays: Mapping[str, Any], ranks: Mapping[str, int]) -> None:
        for name, value in arrays.items():
            refuse_masked(name, value)
        super().__init__(function, None, 1, **{name: _read(x) for name, x in arrays.items()})
        self._ranks = ranks

    def own_axes(self, name: str) -> Shape:
        """Axes of an argument after the leading ones."""
        shape: Shape = np.shape(cast(Any, self.arrays[name]))
        return shape[max(0, len(shape) - self._ranks[name]) :]

    def check(self) -> None:
        """Nothing: what computes looks at its arguments, a portion at a time."""


def _most_states(arrays: Iterable[tuple[Any, int]]) -> int:
    """How many states arrays, each with as many axes of its own, make at most.

    Those with the same leading axes make no more than one of them; of lists all axes count.
    """
    count, leads = 1, []
    for value, rank in arrays:
        if not isinstance(value, np.ndarray):
            count *= _count(value)
        elif value.ndim > rank:
            lead = value.shape[: value.ndim - rank]
            if lead not in leads:
                leads.append(lead)
                count *= _span(lead)
    return count


def _span(lead: Shape) -> int:
    """States of a batch, as if no axis were empty."""
    return math.prod(lead) or math.prod(filter(None, lead))


def _count(value: Any) -> int:
    """About how many numbers something has: lists are taken to be as long as their first one."""
    count = 1
    for _ in range(_MOST_AXES):
        if isinstance(value, (float, int, str)):
            return count
        if isinstance(value, (list, tuple)) and value:
            count *= len(value)
            value = value[0]
        else:
            return count * _size(value)
    return count


def _size(value: Any) -> int:
    """Numbers of an array, or of what may be made one."""
    try:
        return np.size(value) or 1
    except (TypeError, ValueError):  # what computes says so
        return 1


def _at_once(compute: Callable[..., Any], given: Given, out: Any) -> Any:
    """Compute all states, and write them to out if there is one."""
    if out is None:
        return compute(*given.arrays.values())
    with untouched_if_failing(out, {}, 1) as guard:
        found = compute(*given.arrays.values())
        results = found if isinstance(found, tuple) else (found,)
        guard.require(out, [x.shape for x in results], [x.dtype for x in results])
        guard.write(results)
    return out if not isinstance(found, tuple) else type(found)(*out)


def _read(value: Any) -> Any:
    """Lists as arrays, once for all; what makes none is left to what computes."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        return value


def _first_state(compute: Callable[..., Any], given: _Given, lead: Shape) -> Any:
    """Results of the first state alone."""
    arrays: dict[str, Any] = {**given.arrays}
    own = {name: len(given.own_axes(name)) for name in arrays}
    first = {name: x[(0,) * (x.ndim - own[name])] for name, x in arrays.items()}
    try:
        with told_by(given.function, lead, [0], ()):
            return compute(*first.values())
    except ArgumentError as error:
        shapes = [(x.shape, arrays[name].shape) for name, x in first.items()]
        raise with_shapes(error, shapes) from None
