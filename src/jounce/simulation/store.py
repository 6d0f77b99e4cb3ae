"""Room for states at times, which is written as they are computed.

New memory takes long: what nobody wrote stays untouched, and the rest goes in portions, between
which Ctrl-C is heard.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jounce._types import Array, Integers

__all__ = ["PORTION", "blank", "nothing", "room"]

PORTION = 2**20
"""Numbers that are touched at once: some milliseconds."""


def room(first: Array, count: int) -> Array:
    """Room (n, count, size) for states, of which the first (n, size) are there."""
    n, size = first.shape
    store = np.empty((n, count, size))
    for some in _portions(n, count * size):
        store[some, 0] = first[some]
    return store


def nothing(n: int, count: int, size: int) -> Array:
    """Room (n, count, size) full of NaN."""
    store = np.empty((n, count, size))
    for some in _portions(n, count * size):
        for rows in _portions(count, size):
            store[some, rows] = np.nan
    return store


def blank(stores: tuple[Array, Array], due: Integers, count: int) -> None:
    """Let the first `count` rows of stores (n, T, ...) be NaN from row `due` (n,) on."""
    for store in stores:
        for k in np.flatnonzero(due < count).tolist():
            for rows in _portions(count - int(due[k]), store.shape[-1]):
                store[k, int(due[k]) :][rows] = np.nan


def _portions(count: int, size: int) -> Iterator[slice]:
    """Slices of `count` things with so many numbers each."""
    step = max(1, PORTION // max(1, size))
    for low in range(0, count, step):
        yield slice(low, min(low + step, count))
