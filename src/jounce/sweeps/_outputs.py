"""Results of functions as lists of arrays, and back."""

from __future__ import annotations

import collections
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from jounce._types import AnyArray
from jounce.errors import ArgumentError, ArgumentTypeError

__all__ = [
    "Layout",
    "blank",
    "names_of",
    "put_together",
    "require_alike",
    "require_file_names",
    "taken_apart",
]

_NO_FILE = re.compile(r"[/\\:\x00-\x1f\ud800-\udfff]|^\.|^$|^(zarr|sweep)\.json")
"""Found in names that lead elsewhere, that files cannot have, or that zarr and records have."""

_LONGEST = 150
"""Bytes of a name; those of files with it take 255 at most."""


class Layout(NamedTuple):
    """What a function returns."""

    kind: str
    """"array", "tuple", "dict", or module and name of a named tuple with a colon between."""
    names: tuple[str, ...]
    """Of the arrays, in order."""


def taken_apart(result: Any, count: int) -> tuple[Layout, list[AnyArray]]:
    """What a function returned for some states: its layout and its arrays.

    Raises:
        ArgumentTypeError: it is no array, tuple or dict of arrays that have a row for each state.
    """
    if isinstance(result, Mapping):
        layout, values = Layout("dict", names_of("results", result)), list(result.values())
    elif isinstance(result, tuple):
        names = getattr(result, "_fields", None) or tuple(map(str, range(len(result))))
        kind = type(result)
        where = "tuple" if kind is tuple else f"{kind.__module__}:{kind.__qualname__}"
        layout, values = Layout(where, names), list(result)
    else:
        layout, values = Layout("array", ("result",)), [result]
    arrays = [np.asarray(value) for value in values]
    for name, array in zip(layout.names, arrays, strict=True):
        if array.dtype.hasobject or array.ndim == 0 or len(array) != count:
            what = f"{array.dtype} of shape {array.shape}"
            raise ArgumentTypeError(
                "the function must return an array, or a tuple or dict of arrays, with a row for "
                f"each state: for {count} states {name!r} is {what}"
            )
    return layout, arrays


def names_of(what: str, named: Mapping[Any, Any]) -> tuple[str, ...]:
    """The keys of a dict, as plain strings.

    Raises:
        ArgumentTypeError: some are no strings.
    """
    for key in named:
        if not isinstance(key, str):
            raise ArgumentTypeError(
                f"names of {what} must be strings, got {key!r}, which is {type(key).__name__}"
            )
    return tuple(str.__str__(key) for key in named)


def require_file_names(names: Sequence[str]) -> None:
    """Results of these names can have files.

    Raises:
        ArgumentError: one is no part of a file's name.
    """
    for name in names:
        if _NO_FILE.search(name) or len(name.encode()) > _LONGEST:
            raise ArgumentError(
                "names of results in a file must be parts of file names: 1 to "
                f"{_LONGEST} bytes without / \\ : and line breaks, no dot at the beginning, "
                f"not zarr.json, got {name!r}"
            )


def require_alike(
    start: int, layout: Layout, rows: Sequence[Any], other: Layout, others: Sequence[Any]
) -> None:
    """Results of the states from `start` on have the form of those of other states.

    Raises:
        ArgumentError: they do not.
    """
    specs, expected = ([(x.shape[1:], x.dtype) for x in arrays] for arrays in (rows, others))
    if layout != other or specs != expected:
        raise ArgumentError(
            f"the function returns {_described(layout, rows)} for the states from {start} on, "
            f"but {_described(other, others)} for others"
        )


def _described(layout: Layout, arrays: Sequence[Any]) -> str:
    pairs = zip(layout.names, arrays, strict=False)
    return ", ".join(f"{name}: {x.dtype} (..., {str(x.shape[1:])[1:-1]})" for name, x in pairs)


def blank(dtype: np.dtype[Any]) -> Any:
    """What stands for the result of a state that failed: NaN, or zero of whole numbers."""
    return np.nan if dtype.kind in "fc" else np.zeros((), dtype)[()]


def put_together(layout: Layout, arrays: Sequence[Any]) -> Any:
    """The arrays as the function would have returned them."""
    if layout.kind == "array":
        return arrays[0]
    if layout.kind == "dict":
        return dict(zip(layout.names, arrays, strict=True))
    if layout.kind == "tuple":
        return tuple(arrays)
    return _named_tuple(layout)(*arrays)


def _named_tuple(layout: Layout) -> Any:
    """The class itself, or one like it if it is not where it was when a file was begun."""
    module, _, name = layout.kind.partition(":")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found
    except (ImportError, AttributeError):
        return collections.namedtuple(name.rpartition(".")[2], layout.names)
