"""Checks of what a model is given."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from jounce._core.arrays import reals, refuse_masked, shown
from jounce._types import Array, ArrayLike, Mask
from jounce.errors import (
    WORLD_IS_NO_BODY,
    ArgumentError,
    ArgumentTypeError,
    Error,
    ModelError,
    UnknownNameError,
    unknown_name,
)

T = TypeVar("T")


@contextmanager
def collector_paused() -> Iterator[None]:
    """Build many small objects without searching them for cycles time and again.

    Of the time to load 100,000 links this saves a quarter.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def numbers(
    name: str,
    value: ArrayLike,
    shape: tuple[int, ...],
    *,
    scalar: bool = False,
    finite: bool = True,
) -> Array:
    """An array of this shape, or an error that names the argument."""
    array = np.array(reals(name, value))  # a copy: models keep it
    if scalar and array.ndim == 0:
        array = np.full(shape, array)
    if array.shape != shape:
        expected = "be one number or have" if scalar else "have"
        raise ArgumentError(f"{name} must {expected} shape {shape}, got {array.shape}")
    if finite and not np.all(np.isfinite(array)):
        raise ArgumentError(f"{name} must be finite, got {array}")
    return array


def name_list(name: str, value: Iterable[T]) -> list[T]:
    """Several names or indices, or an error that names the argument."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise ArgumentTypeError(f"{name} must be a list of names, got {shown(value)}")
    try:
        return list(value)
    except TypeError:  # an array without axes
        raise ArgumentTypeError(f"{name} must be a list of names, got {shown(value)}") from None


def item_tuple(name: str, value: Any, what: str) -> tuple[Any, ...]:
    """Several things that a model keeps, or an error that names the argument."""
    try:
        if not isinstance(value, (str, bytes)):
            return tuple(value)
    except TypeError:
        pass
    raise ModelError(f"{name} must be a list of {what}, got {shown(value)}")


def is_finite(value: Any) -> bool:
    """Whether it is one real number, neither infinite nor NaN."""
    real = isinstance(value, (float, int, np.floating, np.integer))
    return real and bool(abs(value) <= sys.float_info.max)


def restore(thing: Any, state: Any) -> None:
    """Set what a pickle or a copy brings by the constructor, so that nothing evades its checks.

    Raises:
        ModelError: that is not what the fields of such a thing are.
    """
    kind: Any = type(thing)
    needed, known = _field_names(kind)
    if not isinstance(state, dict) or not needed <= state.keys() <= known:
        raise ModelError(
            f"a pickled {kind.__name__} must have its fields and no others, got {shown(state)}"
        )
    kind.__init__(thing, **state)


@contextmanager
def building(kind: type) -> Iterator[None]:
    """Say what cannot be built where a constructor fails otherwise than by an error of ours.

    Raises:
        ModelError: the constructor could make nothing of what it was given.
    """
    try:
        yield
    except Error:
        raise
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"a {kind.__name__} cannot be built of this: {error}") from None


@lru_cache
def _field_names(kind: Any) -> tuple[frozenset[str], frozenset[str]]:
    """Of a dataclass: those without a default, and all."""
    needed = frozenset(field.name for field in fields(kind) if field.default is MISSING)
    return needed, frozenset(field.name for field in fields(kind))


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse the value of an option that is none of its choices."""
    if not isinstance(value, str) or value not in choices:
        expected = " or ".join(map(repr, choices))
        raise ArgumentError(f"{name} must be {expected}, got {shown(value)}")


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"{name} must be True or False, got {shown(value)}")


def bool_mask(name: str, value: ArrayLike, size: int) -> Mask:
    """A bool array of this size, or an error that names the argument."""
    refuse_masked(name, value)
    try:
        mask = np.array(value)
    except ValueError:
        raise ArgumentError(f"{name} must be a bool array, got {shown(value)}") from None
    if mask.shape == (0,):  # of an empty list, numbers
        mask = mask.astype(bool)
    if mask.dtype != bool or mask.shape != (size,):
        raise ArgumentError(
            f"{name} must be a bool array of shape ({size},), "
            f"got {mask.dtype} of shape {mask.shape}"
        )
    return mask


def unique_index(kind: str, names: Sequence[str]) -> dict[str, int]:
    """Positions by name; no name may come twice."""
    index = dict(zip(names, range(len(names)), strict=True))
    if len(index) != len(names):
        twice = next(name for k, name in enumerate(names) if index[name] != k)
        raise ModelError(f"two {kind}s are named {twice!r}")
    return index


def find_index(kind: str, key: str | int, index: dict[str, int], names: Sequence[str]) -> int:
    """Position of a body or joint by its name, or a checked index."""
    if isinstance(key, str):
        try:
            return index[key]
        except KeyError:
            raise unknown_name(kind, key, names) from None
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        if 0 <= key < len(names):
            return int(key)
        expected = f"{kind} index must be between 0 and {len(names) - 1}, got {shown(key)}"
        raise UnknownNameError(
            f"{expected}; {WORLD_IS_NO_BODY}" if (kind, key) == ("body", -1) else expected
        )
    raise UnknownNameError(f"{kind} must be a name or an index, got {shown(key)}")
