"""What is left of a simulation that Ctrl-C or an error ended."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from jounce._types import Array
from jounce.simulation.arguments import ControlError
from jounce.simulation.dense import Logged
from jounce.simulation.motion import SimulatedMotion, with_later_states

__all__ = ["Failed", "to_last_step", "with_motion", "with_state"]

ROUNDING = 16
"""Units in the last place by which the sum of steps may miss a time."""


Failed = TypeVar("Failed", bound=Exception)


def with_motion(error: Failed, motion: SimulatedMotion) -> Failed:
    """An error, of a control for example, that carries what was computed before it."""
    if isinstance(error, ControlError):
        with_motion(error.error, motion)
    with suppress(AttributeError, TypeError):  # where its class has no place for it
        error.motion = motion  # type: ignore[attr-defined]
    return error


def to_last_step(motion: SimulatedMotion, stores: tuple[Array, Array]) -> SimulatedMotion:
    """A motion that was interrupted, with the last time that all states on their way reached.

    Its steps are known as far as that, which may be long after the last of the times asked for, or
    before some of them.
    The dense output is not put together for that.

    Args:
        motion: ends at the last of the times that all reached.
        stores: (..., T, nq) and (..., T, nv) of which its states are the first.
    """
    kept = motion.kept if motion.interrupted else None
    if not isinstance(kept, Logged):
        return motion
    reached = kept.reached()
    going = np.isinf(motion.ended.ravel())
    last = float(reached[going].min(initial=np.inf))
    if going.any() and motion.t[-1] - last > ROUNDING * np.spacing(abs(last)):
        # The step that led to its last times was left to be done again.
        before = motion[: max(1, int(np.searchsorted(motion.t, last, side="right")))]
        motion = replace(before, events=motion.events, control_t=motion.control_t)
    motion = replace(motion, kept=replace(kept, end=reached))
    if not going.any() or last - motion.t[-1] <= ROUNDING * np.spacing(abs(last)):
        return motion
    return with_state(motion, last, partial(kept.state, last), stores)


def with_state(
    motion: SimulatedMotion,
    t: float,
    state: Callable[[], tuple[Array, Array]],
    stores: tuple[Array, Array],
) -> SimulatedMotion:
    """A motion with one more time; states (n, nq) and (n, nv) there are computed when asked for.

    They are written to the row of `stores` after those of the motion, which nobody needs.
    """
    count = len(motion.t)

    def states() -> tuple[Array, Array]:
        for store, x in zip(stores, state(), strict=True):
            store[..., count, :] = x.reshape(*store.shape[:-2], x.shape[-1])
        q, v = (store[..., : count + 1, :] for store in stores)
        return q, v

    return with_later_states(motion, np.append(motion.t, t), states)
