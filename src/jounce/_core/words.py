"""Errors of functions that another one calls, in the words of the one that people called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from jounce._types import Integers
from jounce.errors import Error

__all__ = ["in_own_words", "place_of", "place_text", "told_by", "with_shapes"]

_NAMED = re.compile(r"(?:^|(?<=result of )|(?<=input of ))[\w.]+\(\)")
_NOWHERE = re.compile(r"(\(\) is not finite|moves vanishes)(?! in state \[)")
_PLACED = re.compile(r" in state \[([\d, ]+)\] of the batch")


def place_of(state: Iterable[Any]) -> str:
    """Words for a state of a batch, by its index along each axis; none for one that is alone."""
    at = ", ".join(map(str, state))
    return f" in state [{at}] of the batch" if at else ""


def place_text(state: int, lead: tuple[int, ...]) -> str:
    """Words for a state of a batch with these leading axes, by its number."""
    return place_of(np.unravel_index(state, lead)) if lead else ""


def in_own_words(
    error: Error,
    function: str,
    lead: tuple[int, ...] | None,
    states: Sequence[int] | Integers | None = None,
    some: tuple[int, ...] | None = None,
) -> Error:
    """The error of a function that this one calls, as if it were its own.

    Args:
        error: what was raised.
        function: whose error it shall be.
        lead: leading axes of its batch, by which states are named; None leaves them as they are.
        states: numbers, in this batch, of those that the other function was given; by default all.
        some: leading axes of what it was given; by default those of the batch. Of a state that was
            given alone, (), the place is added.
    """
    own = lead if some is None else some

    def place(match: re.Match[str]) -> str:
        if lead is None or own is None:
            return match[0]
        if 0 in own:  # what no state has, all share
            return ""
        here = [int(n) for n in match[1].split(",")][: len(own)]
        if len(here) == 1:  # of a flat batch, or of what all others share
            at = here[0]
        else:
            here = [0] * (len(own) - len(here)) + here
            at = int(np.ravel_multi_index(here, own, "clip")) if here else 0
        return place_text(at if states is None else int(states[at]), lead)

    text = _PLACED.sub(place, _NAMED.sub(f"{function}()", str(error)))
    if lead and some == ():
        own_place = place_text(0 if states is None else int(states[0]), lead)
        text = _NOWHERE.sub(rf"\1{own_place}", text)
    return error if text == str(error) else type(error)(text)


def with_shapes(error: Error, shapes: Iterable[tuple[Any, Any]]) -> Error:
    """The error of a function that was given one state, with shapes as they are of all.

    Args:
        error: what was raised.
        shapes: pairs of the shape of one state and of all of them.
    """
    text = str(error)
    for one, all_of_them in shapes:
        text = text.replace(f"got {one}", f"got {all_of_them}")
    return error if text == str(error) else type(error)(text)


@contextmanager
def told_by(
    function: str,
    lead: tuple[int, ...] | None,
    states: Sequence[int] | Integers | None = None,
    some: tuple[int, ...] | None = None,
) -> Iterator[None]:
    """Errors inside are told by `in_own_words`."""
    try:
        yield
    except Error as error:
        raise in_own_words(error, function, lead, states, some) from None
