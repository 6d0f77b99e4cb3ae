"""Count the arithmetic of NumPy code, leaving out what zeros and ones make trivial.

Inside `counting()` NumPy's array makers return arrays of a subclass that counts each operation it
takes part in. A multiplication counts if neither factor is 0, 1 or -1, an addition if neither term
is 0; in matrix products too. So a formulation is charged for the products it needs, not for 6x6
matrices half full of zeros. What differs from 0 or 1 by rounding alone is one: how a sum rounds is
up to the processor and the BLAS, and the counts are not. Sines, cosines and the like count apart;
the power series in which `jounce.lie` evaluates them are one such each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

from jounce import lie
from jounce.lie import _complex


@dataclass
class Counts:
    """Operations so far."""

    multiplications: int = 0
    additions: int = 0
    functions: int = 0
    """Divisions, square roots, sines, exponentials."""


ROUNDING = 1e-12
"""Far above what rounding leaves of a zero, far below the numbers of a random state."""
_now = Counts()
_MAKERS = ("asarray", "array", "zeros", "empty", "eye", "ones", "ascontiguousarray", "atleast_2d")
_ADD = (np.add, np.subtract)
_PERMUTATIONS = np.abs(np.linalg.det(np.eye(3)[np.indices((3, 3, 3)).T]).round())
"""One where three indices all differ."""
_FUNCTION = (np.sin, np.cos, np.sqrt, np.divide, np.exp, np.arctan2, np.reciprocal)


class Counting(np.ndarray):
    """An array that counts."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Count, then do the operation on plain arrays."""
        plain = [_plain(x) for x in inputs]
        if "out" in options:
            options["out"] = tuple(_plain(x) for x in options["out"])
        _count(ufunc, method, plain, options.get("axis", 0))
        return _wrap(getattr(ufunc, method)(*plain, **options))

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        """Count products among NumPy's functions; results count again."""
        args, options = _plain(args), _plain(options)
        _products.get(function, lambda *_: None)(*args)
        return _wrap(function(*args, **options))


def _plain(x: Any) -> Any:
    if isinstance(x, Counting):
        return x.view(np.ndarray)
    if isinstance(x, (list, tuple)):
        return [_plain(y) for y in x] if isinstance(x, list) else tuple(_plain(y) for y in x)
    return {key: _plain(y) for key, y in x.items()} if isinstance(x, dict) else x


def _wrap(x: Any) -> Any:
    if isinstance(x, (np.ndarray, np.floating)) and x.dtype.kind in "fc":
        return np.asanyarray(x).view(Counting)
    return tuple(_wrap(y) for y in x) if isinstance(x, tuple) else x


def _term(x: Any) -> Any:
    """Where adding x is work: rounding leaves a trace of the array's largest number in a zero."""
    size = np.abs(x)
    return size > ROUNDING * np.max(size, initial=1.0)


def _factor(x: Any) -> Any:
    """Where multiplying by x is work."""
    return (_term(x) & (np.abs(np.abs(x) - 1) > ROUNDING)).astype(float)


def _count(ufunc: Any, method: str, inputs: list[Any], axis: Any) -> None:
    x = inputs[0]
    if method == "reduce" and ufunc is np.add:
        terms = np.sum(_term(x), axis=axis)
        _now.additions += int(np.sum(np.maximum(terms - 1, 0)))
    elif method == "at":
        _now.additions += int(np.count_nonzero(_term(inputs[-1])))
    elif ufunc is np.multiply:
        _now.multiplications += int(np.sum(_factor(x) * _factor(inputs[1])))
    elif ufunc in _ADD:
        _now.additions += int(np.sum(_term(x) & _term(inputs[1])))
    elif ufunc is np.matmul:
        _contract(np.matmul, *inputs)
    elif ufunc in _FUNCTION:
        _now.functions += np.broadcast(*inputs).size if len(inputs) > 1 else np.size(x)


def _contract(product: Callable[..., Any], *factors: Any) -> None:
    """A sum of products of two arrays, or of more."""
    work = np.sum(product(*(_factor(x) for x in factors)))
    terms = product(*(_term(x).astype(float) for x in factors))
    _now.multiplications += int(work) * (len(factors) - 1)
    _now.additions += int(np.sum(np.maximum(terms - 1, 0)))


def _einsum(subscripts: str, *factors: Any) -> None:
    _contract(lambda *x: np.einsum(subscripts, *x), *factors)


def _solve(A: Any, b: Any = None) -> None:
    """Charge a third of n^3 for factoring and n^2 for each right-hand side."""
    n = A.shape[-1]
    sides = n if b is None else 1 if np.ndim(b) < 2 else np.shape(b)[-1]
    work = A.size // n**2 * (n**3 // 3 + sides * n**2)
    _now.multiplications += work
    _now.additions += work


def _cross(x: Any, y: Any, *_: Any) -> None:
    _contract(lambda a, b: np.einsum("ijk,...j,...k->...i", _PERMUTATIONS, a, b), x, y)


_products: dict[Any, Callable[..., None]] = {
    np.einsum: _einsum,
    np.outer: lambda x, y: _contract(np.outer, x, y),
    np.kron: lambda x, y: _contract(np.kron, x, y),
    np.tensordot: lambda x, y, axes=2: _contract(lambda a, b: np.tensordot(a, b, axes), x, y),
    np.cross: _cross,
    np.linalg.inv: _solve,
    np.linalg.solve: _solve,
}


def _maker(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, returning an array that counts; a plain one while NumPy calls it."""
    return lambda *args, **options: _wrap(function(*_plain(args), **_plain(options)))


@contextmanager
def counting() -> Iterator[Counts]:
    """Count what happens inside, in arrays made inside or given as `Counting`."""
    global _now
    _now = counts = Counts()
    original = _complex.stumpff

    def series(s: Any) -> Any:
        _now.functions += 2 * np.size(s)
        return _wrap(original(_plain(s)))

    with ExitStack() as stack:
        for name in _MAKERS:
            stack.enter_context(mock.patch.object(np, name, _maker(getattr(np, name))))
        for name in set(lie.__all__) & vars(_complex).keys():  # the formulas, not the compiled core
            stack.enter_context(mock.patch.object(lie, name, getattr(_complex, name)))
        stack.enter_context(mock.patch.object(_complex, "stumpff", series))
        yield counts
    _now = Counts()


def count(function: Callable[..., Any], *args: Any) -> Counts:
    """Count one call; float arrays among the arguments, and in named tuples, count too."""
    with counting() as counts:
        function(*(_given(x) for x in args))
    return counts


def _given(x: Any) -> Any:
    if isinstance(x, tuple) and hasattr(x, "_make"):
        return x._make(_wrap(y) if isinstance(y, np.ndarray) else y for y in x)
    return _wrap(x) if isinstance(x, np.ndarray) else x
