"""Fingerprints: whether function, model and arrays are those of an earlier run.

Objects are taken apart into plain values, arrays and code, so that equal ones have equal
fingerprints in every process. Code is compared as it is compiled: another version of Python may
compile it differently, and then it counts as changed.
"""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

__all__ = ["fingerprint"]

_ROWS_AT_ONCE = 2**24


def fingerprint(value: Any) -> str:
    """Hexadecimal digits that differ if two values do.

    Examples:
        >>> fingerprint([1.0, "a"]) == fingerprint([1.0, "a"])
        True
        >>> fingerprint([1.0, "a"]) == fingerprint([1.0, "b"])
        False
    """
    digest = hashlib.blake2b(digest_size=16)
    for data in _bytes(value, ()):
        digest.update(data)
    return digest.hexdigest()


def _bytes(value: Any, above: tuple[int, ...]) -> Iterator[bytes]:
    """A value as bytes that say its type and content; `above` are the objects that hold it."""
    yield f"<{type(value).__qualname__}>".encode()
    if id(value) in above:
        yield b"cycle"
        return
    above = (*above, id(value))
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        yield repr(value).encode()
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        yield from _array(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _bytes(key, above)
            yield from _bytes(item, above)
    elif isinstance(value, (tuple, list)):
        yield str(len(value)).encode()
        for item in value:
            yield from _bytes(item, above)
    elif isinstance(value, (set, frozenset)):
        yield "".join(sorted(map(fingerprint, value))).encode()
    else:
        yield from _other(value, above)


def _array(array: Any) -> Iterator[bytes]:
    yield f"{array.dtype.str}{array.shape}".encode()
    if array.ndim == 0:
        yield array.tobytes()
        return
    size = max(1, array[:1].nbytes)
    rows = max(1, _ROWS_AT_ONCE // size)
    for start in range(0, len(array), rows):
        yield np.ascontiguousarray(array[start : start + rows]).tobytes()


def _other(value: Any, above: tuple[int, ...]) -> Iterator[bytes]:
    """Code, functions, and objects by what a pickle would hold of them."""
    if isinstance(value, types.CodeType):
        yield value.co_code
        yield from _bytes((value.co_names, value.co_varnames, value.co_consts), above)
    elif isinstance(value, types.FunctionType):
        yield f"{value.__module__}.{value.__qualname__}".encode()
        yield from _bytes((value.__code__, value.__defaults__, value.__kwdefaults__), above)
        yield from _bytes([cell.cell_contents for cell in value.__closure__ or ()], above)
        yield from _bytes(list(_uses(value)), above)
    elif isinstance(value, functools.partial):
        yield from _bytes((value.func, value.args, value.keywords), above)
    elif isinstance(value, (types.BuiltinFunctionType, type)):
        yield f"{value.__module__}.{value.__qualname__}".encode()
    elif isinstance(value, types.ModuleType):
        yield value.__name__.encode()
    else:
        parts = value.__reduce_ex__(4)
        yield from _bytes(parts if isinstance(parts, str) else list(map(_listed, parts)), above)


def _uses(function: types.FunctionType) -> Iterator[Any]:
    """Functions and plain values of its own module that a function uses by name."""
    for name in _names(function.__code__):
        value = function.__globals__.get(name)
        here = getattr(value, "__module__", None) == function.__module__
        plain = isinstance(value, (bool, int, float, complex, str, tuple, np.ndarray))
        if plain or (here and isinstance(value, types.FunctionType)):
            yield name, value


def _names(code: types.CodeType) -> Iterator[str]:
    """Names in a function, and in lambdas, comprehensions and functions within it."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)


def _listed(part: Any) -> Any:
    """The fourth and fifth entry of what `__reduce_ex__` gives are iterators."""
    return list(part) if isinstance(part, Iterator) else part
