"""What is left of a simulation that Ctrl-C or an error ended."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

import numpy as np

from jounce._types import Array
from jounce.simulation.arguments import ControlError
from jounce.simulation.dense import Dense
from jounce.simulation.motion import SimulatedMotion

__all__ = ["Failed", "to_last_step", "with_motion", "with_state"]

ROUNDING = 16
"""Units in the last place by which the sum of steps may miss a time."""


Failed = TypeVar("Failed", bound=Exception)


def with_motion(error: Failed, motion: SimulatedMotion) -> Failed:
    """An error, of a control for example, that carries what was computed before it."""
    if isinstance(error, ControlError):
        with_motion(error.error, motion)
    with suppress(AttributeError, TypeError):  # where its class has no place for it
        error.motion = to_last_step(motion)  # type: ignore[attr-defined]
    return error


def to_last_step(motion: SimulatedMotion) -> SimulatedMotion:
    """A motion that was interrupted, with the last time that all states on their way reached.

    Its steps are known as far as that, which may be long after the last of the times asked for.
    """
    dense = motion.dense if motion.interrupted else None
    if dense is None:
        return motion
    reached = np.minimum(_reached(dense, float(motion.t[0])), dense.end)
    going = np.isinf(motion.ended.ravel())
    last = float(reached[going].min(initial=np.inf))
    motion = replace(motion, kept=replace(dense, end=reached))
    if not going.any() or last - motion.t[-1] <= ROUNDING * np.spacing(abs(last)):
        return motion
    lead = motion.q.shape[:-2]
    q, v = (x.reshape(*lead, x.shape[-1]) for x in (y[:, 0] for y in dense.at(np.array([last]))))
    return with_state(motion, last, q, v)


def with_state(motion: SimulatedMotion, t: float, q: Array, v: Array) -> SimulatedMotion:
    """A motion with one more time, and states (..., nq) and (..., nv) there."""
    places = np.append(motion.t, t)
    q, v = (np.concatenate([x, y[..., None, :]], -2) for x, y in ((motion.q, q), (motion.v, v)))
    return replace(motion, t=places, q=q, v=v)


def _reached(dense: Dense, start: float) -> Array:
    """(n,) where the last step of each state ends."""
    last = dense.first[1:] - 1
    some = np.diff(dense.first) > 0
    reached = np.full(len(dense.end), start)
    reached[some] = dense.t[last[some]] + dense.h[last[some]]
    return reached
