"""Curves at many times, a portion of them at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from jounce._core.elementwise import deliver_elementwise
from jounce._types import Array, ArrayLike
from jounce.trajectories import _checks

__all__ = ["at_times"]

T = TypeVar("T")


def at_times(function: str, compute: Callable[[Array], T], t: ArrayLike, makes: int) -> T:
    """Compute arrays with the axes of t first, or a tuple of them.

    Args:
        function: its name.
        compute: makes the result at times (...), which are finite numbers.
        t: the caller's times.
        makes: about how many numbers of results each of them makes.

    Raises:
        ArgumentError: a time is no finite number.
        TooLargeError: the result does not fit into the memory.
    """

    def checked(t: ArrayLike) -> T:
        return compute(_checks.numbers("t", t))

    found: T = deliver_elementwise(function, checked, {"t": t}, {"t": 0}, makes=makes)
    return found
