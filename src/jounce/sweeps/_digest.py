"""Fingerprints: whether function, model and arrays are those of an earlier run.

Objects are taken apart into plain values, arrays and code, so that equal ones have equal
fingerprints in every process. Code is compared as it is compiled: another version of Python may
compile it differently, and then it counts as changed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

__all__ = ["fingerprint", "home_of"]

_ROWS_AT_ONCE = 2**24

_INSTALLED = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
"""Folders of packages."""

_BY_NAME = (type, types.NoneType, types.ModuleType, types.BuiltinFunctionType)
_PLAIN = (bool, int, float, complex, str, tuple, np.ndarray)

_NOT_CODE = {
    *("__annotations__", "__dict__", "__doc__", "__firstlineno__", "__module__", "__orig_bases__"),
    *("__slotnames__", "__static_attributes__", "__weakref__"),
}
"""Of the names of a class, what does not change what it does."""


def fingerprint(value: Any, home: str | None = None) -> str:
    """Hexadecimal digits that differ if two values do.

    Args:
        value: anything; functions and callable objects by their code and what it uses.
        home: the module whose classes are compared by their code wherever they are found.

    Examples:
        >>> fingerprint([1.0, "a"]) == fingerprint([1.0, "a"])
        True
        >>> fingerprint([1.0, "a"]) == fingerprint([1.0, "b"])
        False
    """
    if home is None and callable(value):
        home = home_of(value)
    return _Walk(home).digest(value, (), home)


def home_of(function: Any) -> str | None:
    """The module of a function, or of the class of a callable object."""
    while isinstance(function, functools.partial):
        function = function.func
    named = getattr(function, "__module__", None) or type(function).__module__
    return named if isinstance(named, str) else None


class _Walk:
    """Takes one value apart; functions and classes that are met again are told by a number."""

    def __init__(self, home: str | None) -> None:
        self.package = _package(home)
        """A library that is the caller's own subject is not taken for one."""
        self.seen: dict[int, int] = {}

    def digest(self, value: Any, above: tuple[int, ...], home: str | None) -> str:
        made = hashlib.blake2b(digest_size=16)
        for data in self.parts(value, above, home):
            made.update(data)
        return made.hexdigest()

    def parts(self, value: Any, above: tuple[int, ...], home: str | None) -> Iterator[bytes]:
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
            yield str(len(value)).encode()
            for key, item in value.items():
                yield from self.parts(key, above, home)
                yield from self.parts(item, above, home)
        elif isinstance(value, (tuple, list)):
            yield str(len(value)).encode()
            for item in value:
                yield from self.parts(item, above, home)
        elif isinstance(value, (set, frozenset)):
            yield "".join(sorted(_Walk(home).digest(item, above, home) for item in value)).encode()
        elif isinstance(value, (types.FunctionType, type)):
            yield from self.code(value, above, home)
        else:
            yield from self.other(value, above, home)

    def code(self, value: Any, above: tuple[int, ...], home: str | None) -> Iterator[bytes]:
        """A function; a class, by its name alone if it is not of the module."""
        yield f"{value.__module__}.{value.__qualname__}".encode()
        if isinstance(value, type) and value.__module__ != home:
            return
        if id(value) in self.seen:
            yield f"#{self.seen[id(value)]}".encode()
            return
        self.seen[id(value)] = len(self.seen)
        if isinstance(value, type):
            yield from self.parts(value.__bases__, above, home)
            members = {k: x for k, x in vars(value).items() if k not in _NOT_CODE}
            yield from self.loosely(members.items(), above, home)
            return
        home = value.__module__
        yield from self.parts((value.__code__, value.__defaults__), above, home)
        yield from self.parts((value.__kwdefaults__, _enclosed(value)), above, home)
        yield from self.loosely(_uses(value, self.package), above, home)

    def loosely(
        self, named: Iterable[tuple[str, Any]], above: tuple[int, ...], home: str | None
    ) -> Iterator[bytes]:
        """Values of a module or a class: those that cannot be taken apart by their type."""
        listed = list(named)
        yield str(len(listed)).encode()
        for name, value in listed:
            yield repr(name).encode()
            try:
                yield self.digest(value, above, home).encode()
            except Exception:  # a lock, an open file, ...
                yield f"a {type(value).__qualname__}".encode()

    def other(self, value: Any, above: tuple[int, ...], home: str | None) -> Iterator[bytes]:
        """Parts of functions, and objects by what a pickle would hold of them."""
        if isinstance(value, types.CodeType):
            yield value.co_code
            parts: Any = value.co_names, value.co_varnames, value.co_consts
        elif isinstance(value, types.MethodType):
            parts = value.__func__, value.__self__
        elif isinstance(value, functools.partial):
            parts = value.func, value.args, value.keywords
        elif isinstance(value, property):
            parts = value.fget, value.fset, value.fdel
        elif isinstance(value, functools.cached_property):
            parts = value.func
        elif isinstance(getattr(value, "__wrapped__", None), types.FunctionType):
            parts = value.__wrapped__  # a static or class method, a cache, ...
        elif isinstance(value, types.BuiltinFunctionType):
            parts = f"{value.__module__}.{value.__qualname__}"
        elif isinstance(value, types.ModuleType):
            parts = value.__name__
        else:
            home = type(value).__module__ if callable(value) else home
            yield from self.code(type(value), above, home)
            made = value.__reduce_ex__(4)
            parts = made if isinstance(made, str) else list(map(_listed, made))
            if isinstance(parts, list) and isinstance(parts[0], types.FunctionType):
                parts[0] = f"{parts[0].__module__}.{parts[0].__qualname__}"
        yield from self.parts(parts, above, home)


def _enclosed(function: types.FunctionType) -> list[Any]:
    """What a function keeps of those around it; a cell may be empty still."""
    kept = []
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):
            kept.append(cell.cell_contents)
    return kept


def _array(array: Any) -> Iterator[bytes]:
    yield f"{array.dtype.str}{array.shape}".encode()
    if array.ndim == 0:
        yield array.tobytes()
        return
    size = max(1, array[:1].nbytes)
    rows = max(1, _ROWS_AT_ONCE // size)
    for start in range(0, len(array), rows):
        yield np.ascontiguousarray(array[start : start + rows]).tobytes()


def _uses(function: types.FunctionType, package: str) -> Iterator[tuple[str, Any]]:
    """Functions, classes and values of its own module that a function uses by name.

    Of libraries functions and plain values alone: what else their modules hold are caches.
    """
    closed = _is_library(function.__globals__, package)
    for name in _names(function.__code__):
        value = function.__globals__.get(name)
        if isinstance(value, _PLAIN):
            yield name, value
        elif isinstance(value, types.FunctionType) or (isinstance(value, type) and not closed):
            if value.__module__ == function.__module__:
                yield name, value
        elif not closed and not isinstance(value, _BY_NAME):
            yield name, value


def _package(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _is_library(module: Mapping[str, Any], package: str) -> bool:
    """Whether a module is Python's, jounce's, or of an installed package other than this one."""
    own = _package(module.get("__name__"))
    if own == "jounce" or own in sys.stdlib_module_names:
        return True
    return own != package and str(module.get("__file__")).startswith(_INSTALLED)


def _names(code: types.CodeType) -> Iterator[str]:
    """Names in a function, and in lambdas, comprehensions and functions within it."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _names(inner)


def _listed(part: Any) -> Any:
    """The fourth and fifth entry of what `__reduce_ex__` gives are iterators."""
    return list(part) if isinstance(part, Iterator) else part
