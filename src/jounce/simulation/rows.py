"""Rows of forces or references at times: constant between these, or linear."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from jounce._types import Array, Integers

__all__ = ["Places", "Rows", "Side", "interval", "padded", "share"]

Side = Literal["left", "right"]

Places = tuple[Any, ...]
"""Of states in the leading axes: arrays that go with times, or (...,) for all states."""


def interval(times: Array, t: Array, side: Side = "right") -> Integers:
    """The intervals of `times` (T,) in which t (...) are; at their ends that on one side.

    Of one time alone it is -1, so that rows k and k + 1 are the same.
    """
    k = np.searchsorted(times, t, side=side) - 1
    return np.minimum(np.maximum(k, 0), len(times) - 2)


def share(times: Array, k: Integers, t: Array) -> Array:
    """What part of intervals k (...) has passed at t (...), (..., 1)."""
    span = times[k + 1] - times[k]
    passed: Array = ((t - times[k]) / np.where(span > 0, span, 1.0))[..., None]
    return passed


class Rows(NamedTuple):
    """What acts on states between times.

    Intervals k (...) go with times t (...) and say what holds where two of them meet. With places
    of states it is that of each at its own time, else (..., K, n) of all at times (K,).
    """

    t: Array
    """(T,)."""
    values: Array
    """(..., T - 1, n) constant between times, or (..., T, n), linear."""

    @property
    def linear(self) -> bool:
        """Whether there is a row for each time."""
        return bool(self.values.shape[-2] == len(self.t))

    def at(self, t: Array, k: Integers, of: Places = (...,)) -> Array:
        """Values at times in intervals."""
        first, then = self.ends(k, of)
        return first + share(self.t, k, t) * (then - first) if self.linear else first

    def slope(self, k: Integers, of: Places = (...,)) -> Array:
        """How fast they change in intervals."""
        first, then = self.ends(k, of)
        return (then - first) / (self.t[k + 1] - self.t[k])[..., None]

    def ends(self, k: Integers, of: Places = (...,)) -> tuple[Array, Array]:
        """Values at the begin and the end of intervals."""
        first = self.values[(*of, k, slice(None))]
        return first, self.values[(*of, k + 1, slice(None))] if self.linear else first


def padded(rows: Array, count: int) -> Array:
    """Return forces with a row for every time; after the last one of an interval none is read."""
    if rows.shape[-2] == count:
        return rows
    return np.concatenate([rows, rows[..., -1:, :]], axis=-2)
