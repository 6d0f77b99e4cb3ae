"""Checks of what a simulation is given."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from jounce._core import memory
from jounce._core.arrays import reals, refuse_masked, shown
from jounce._core.words import told_by
from jounce._types import Array, ArrayLike
from jounce.dynamics import forward_dynamics
from jounce.errors import ArgumentError, ArgumentTypeError
from jounce.model import Model

__all__ = [
    "ANY",
    "ControlError",
    "accelerations",
    "asked",
    "asked_number",
    "force_rows",
    "increasing_times",
    "merged_axes",
]

ANY = 1e300
"""A tolerance that allows every step."""


class ControlError(Exception):
    """What a control raised, or what is wrong with its forces, on its way to the caller.

    It passes all that catches errors of the package, which mean numbers too large for a step.
    """

    motion: Any = None

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def asked(control: Callable[..., Any], t: Any, q: Array, v: Array) -> Any:
    """What a control returns, if it can be called at all.

    It has arrays of its own, to write to and to keep.
    """
    own = t.copy() if isinstance(t, np.ndarray) else t
    try:
        found = control(own, q.copy(), v.copy())
    except ArgumentTypeError:
        raise
    except TypeError as error:
        raise ArgumentTypeError(f"control(t, q, v) fails: {error}") from error
    refuse_masked("control must return forces: they", found)
    return found


def asked_number(threads: Any) -> Any:
    """The integer that an object is, before Ctrl-C counts as the end of a motion.

    What is none stays as it is: kernels say what is wrong with it.
    """
    try:
        return operator.index(threads)
    except TypeError:
        return threads


def accelerations(model: Model, state: tuple[ArrayLike, ArrayLike], threads: int = 1) -> Array:
    """Those of a start without forces; what is wrong with it is said of q0 and v0."""
    try:
        with told_by("simulate", None):
            return forward_dynamics(model, *state, np.zeros(model.nv), threads=threads)
    except ArgumentError as error:
        raise ArgumentError(re.sub(r"^([qv])\b", r"\g<1>0", str(error))) from None


def increasing_times(t: ArrayLike) -> Array:
    """Return times as an array, if they increase."""
    times = reals("t", t)
    steps = len(times) - 1 if times.ndim == 1 else 0
    rises = steps > 0 and np.count_nonzero(times[1:] > times[:-1]) == steps
    if rises and math.isfinite(times[0]) and math.isfinite(times[-1]):  # as are those between
        return times.copy() if isinstance(t, np.ndarray) else times
    if times.ndim != 1 or not len(times) or not np.isfinite(times).all():
        raise ArgumentError(f"t must be finite times of shape (T,), got {shown(t)}")
    if (np.diff(times) <= 0).any():
        k = int(np.flatnonzero(np.diff(times) <= 0)[0])
        raise ArgumentError(
            f"t must increase, got t[{k}] = {times[k]}, t[{k + 1}] = {times[k + 1]}"
        )
    return times.copy()


def merged_axes(states: tuple[int, ...], controls: tuple[int, ...]) -> tuple[int, ...]:
    """Return the leading axes of states and controls together."""
    try:
        return np.broadcast_shapes(states, controls)
    except ValueError:
        raise ArgumentError(
            f"the leading axes {controls} of control do not broadcast with {states} of q0 and v0"
        ) from None


def force_rows(model: Model, control: ArrayLike, count: int) -> Array:
    """Return rows of forces, one for each of `count` times or for each interval.

    They are a copy: dense output asks for them long after, when the caller's may have changed.
    """
    rows = reals("control must be a function of (t, q, v) or rows of forces: they", control)
    if rows.ndim < 2 or rows.shape[-1] != model.nv or rows.shape[-2] not in (count, count - 1):
        raise ArgumentError(
            f"control must be a function of (t, q, v) or an array of shape (..., {count - 1}, "
            f"{model.nv}), constant between times, or (..., {count}, {model.nv}), linear, "
            f"got {type(control).__name__} of shape {rows.shape}"
        )
    memory.require_argument("control", rows.nbytes)
    if not np.isfinite(rows).all():
        raise ArgumentError("control must be finite")
    return rows.copy()
