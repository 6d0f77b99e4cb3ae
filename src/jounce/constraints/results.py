"""Results that know the rank of the rows beside their fields, and series with `out=`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from jounce._core.out import Given, Shape, deliver_all
from jounce._types import Array, ArrayLike, Integers
from jounce.errors import ArgumentError

__all__ = [
    "SeriesGiven",
    "deliver_ranked",
    "orders_of",
    "rank_of",
    "ranked",
    "with_rank",
    "with_room",
]

T = TypeVar("T", bound=tuple[Any, ...])


def ranked(kind: type[T]) -> type[T]:
    """A named tuple whose values have room for a rank; it is no item, so that they unpack as ever.

    Compiled functions set it, too: an output beyond the fields.
    """
    names = ("__doc__", "__module__", "__qualname__")
    own = {name: getattr(kind, name) for name in names}
    return type(kind.__name__, (kind,), {**own, "_rank": None})


def with_rank(kind: type[T], arrays: tuple[Array, ...] | list[Array], rank: ArrayLike) -> T:
    """A result of these arrays, whose rows have this rank."""
    result = kind(*arrays)
    result.__dict__["_rank"] = rank
    return result


def rank_of(result: object) -> Integers:
    """The rank that a result knows, (...).

    Raises:
        AttributeError: it was put together by something else than the function that computed it.
    """
    known = result.__dict__.get("_rank")
    if known is None:
        raise AttributeError(
            f"this {type(result).__name__} was made of arrays, without the rank of the rows; "
            "Constraints.rank(q) says it"
        )
    integers: Integers = np.asarray(known).astype(np.int64)[()]
    return integers


def with_room(out: tuple[Array, ...] | None, count: int, axes: int) -> tuple[Array, ...] | None:
    """The arrays of out and one for the rank; the first has so many axes after the leading ones."""
    if out is None:
        return None
    if not isinstance(out, tuple) or len(out) != count:
        raise ArgumentError(f"out must be a tuple of {count} arrays")
    lead = np.shape(out[0])[:-axes]  # of what is no array the core says so
    return *out, np.empty(lead)


def deliver_ranked(
    kind: type[T],
    compute: Callable[..., tuple[Array, ...]],
    out: tuple[Array, ...] | None,
    own: tuple[Shape, ...],
    given: Given,
) -> T:
    """What `deliver_all` returns, of a function whose last result is the rank, which out lacks."""
    held = out
    if out is not None and given.leading_axes() is not None:
        held = with_room(out, len(own), len(own[0]))
    *arrays, rank = deliver_all(compute, held, (*own, ()), given)
    return with_rank(kind, arrays, rank)


def orders_of(series: ArrayLike, more: int = 0) -> int:
    """How many rows a series has, less those that are `more`; 0 where it is none."""
    try:
        shape = np.shape(series)
    except ValueError:  # rows of different lengths, which the function itself refuses
        return 0
    return max(0, shape[-2] - more) if len(shape) > 1 else 0


class SeriesGiven(Given):
    """Arguments of a call that takes series with so many rows, r + 1."""

    def __init__(
        self, function: str, model: Any, threads: int, orders: int, **arrays: ArrayLike | None
    ) -> None:
        super().__init__(function, model, threads, **arrays)
        self.orders = orders

    def own_axes(self, name: str) -> Shape:
        """Axes of an argument after the leading ones."""
        if name == "motion":
            return self.orders + 1, self.model.nv
        own = super().own_axes(name)
        return own if name in ("q", "v") else (self.orders, *own)

    def check(self) -> None:
        """Refuse bad coordinates and rates; rows of series are looked at where they are used."""
        known = {name: self.arrays[name] for name in ("q", "v") if name in self.arrays}
        Given(self.function, self.model, self.threads, **known).check()
