"""Which blocks a task takes: as many as are done in a fraction of a second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from jounce._types import Mask

__all__ = ["Chunk", "Plan", "default_block"]

TASK_SECONDS = 0.25
"""How long a task should take: much longer than its way, much shorter than the sweep."""

_MOST_BYTES = 2**22
"""Of the arrays that travel to a worker, and of those that come back."""

_GROWTH = 8
"""A task may be this many times as long as the one measured before."""

_LEAST = 4
"""Towards the end tasks become shorter, so that all workers end at once, down to this part."""


def default_block(states: int) -> int:
    """Number of states for which the function is called at once.

    It depends on nothing but the number of states, so that results do not depend on who computes
    them: a power of two from 16, a multiple of every pack, to 1024, where calls cost nothing.

    Examples:
        >>> [default_block(n) for n in (10, 100_000, 1_000_000, 10**9)]
        [16, 256, 1024, 1024]
    """
    return int(min(1024, max(16, 2 ** int(np.log2(max(states, 1) / 256)))))


@dataclass
class Chunk:
    """The blocks of one task."""

    first: int
    last: int
    """The block after them."""
    deaths: int = 0
    """Workers that died while they had it."""
    with_job: bool = False
    """The job travels with it."""

    @property
    def suspect(self) -> bool:
        """Whether it may be what kills workers; then it runs alone."""
        return self.deaths > 1

    def halves(self) -> list[Chunk]:
        """Two smaller ones."""
        middle = (self.first + self.last) // 2
        return [Chunk(a, b, self.deaths) for a, b in ((self.first, middle), (middle, self.last))]


class Plan:
    """Hands out the blocks that are not done, from the first to the last."""

    def __init__(self, done: Mask, workers: int, row_bytes: int, block: int) -> None:
        self._left = list(_runs(done))[::-1]
        self._blocks = int((~done).sum())
        self._workers = workers
        self._bytes = max(1, row_bytes * block)
        self._seconds: float | None = None
        self._size = 1
        self._again: list[Chunk] = []

    def __bool__(self) -> bool:
        """Whether there is something left to hand out."""
        return bool(self._left or self._again)

    def next(self) -> Chunk:
        """What to do next."""
        if self._again:
            return self._again.pop()
        first, last = self._left.pop()
        shared = max(self._blocks // (2 * self._workers), -(-self._size // _LEAST))
        size = min(self._size, shared, last - first)
        if first + size < last:
            self._left.append((first + size, last))
        self._blocks -= size
        return Chunk(first, first + size)

    def again(self, chunks: Sequence[Chunk]) -> None:
        """These were lost; they come next, the lowest first."""
        self._again = sorted([*self._again, *chunks], key=lambda c: c.first, reverse=True)

    def learn(self, blocks: int, seconds: float, row_bytes: int, block: int) -> None:
        """A task of so many blocks took so long, and its results have rows of so many bytes."""
        each = max(seconds / blocks, 1e-9)
        self._seconds = each if self._seconds is None else 0.5 * (self._seconds + each)
        self._bytes = max(self._bytes, row_bytes * block)
        wanted = min(TASK_SECONDS / self._seconds, _MOST_BYTES / self._bytes, _GROWTH * blocks)
        self._size = max(1, int(wanted))


def _runs(done: Mask) -> Iterator[tuple[int, int]]:
    """Ranges of blocks that are not done."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], done, [True]]).astype(np.int8)))
    for first, last in edges.reshape(-1, 2):
        yield int(first), int(last)
