"""Adaptive motions in compiled code, portion by portion.

No Python runs between the steps of a portion. A portion takes some hundredths of a second and ends
at a step, so that Ctrl-C is heard and what was computed before is there.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._types import Array, ArrayLike, Integers
from jounce.errors import DivergenceError
from jounce.model import Model
from jounce.simulation.arguments import merged_axes
from jounce.simulation.progress import Report, silent

__all__ = [
    "ANY",
    "EFFORT",
    "Followed",
    "Kernel",
    "Start",
    "diverged",
    "embedded",
    "fixed_steps",
    "follow",
    "least",
    "padded",
    "require_end",
    "taylor",
]

_embedded = _core.raw("embedded_motion", "simulate")
_taylor = _core.raw("taylor_motion", "simulate")

Kernel = tuple[Callable[..., tuple[Array, ...]], Any]
"""What follows a portion of a motion, and the method as it reads it."""

WINDOW = 4096
"""Times that a portion is given."""

EFFORT = 20_000
"""Steps times rates of all states in a portion: some hundredths of a second."""

ANY = 1e300
"""A tolerance that allows every step."""

MOST_STEPS = 1e12
"""Steps to the last time that nobody means: at the pace of a fast machine, months."""
SOME_STEPS = 1000
"""After so many their pace is known."""

DUE, STATUS = 2, 3
"""Places in what a portion tells of a state, and of its status:"""
STUCK = 2
"""its steps became too short to move the time."""


class Start(NamedTuple):
    """Where motions begin, and what acts on them."""

    model: Model
    q: ArrayLike
    """(..., nq)."""
    v: ArrayLike
    """(..., nv)."""
    t: Array
    """(T,)."""
    rows: Array | None
    """(..., T - 1, nv) forces constant between times, or (..., T, nv), linear."""
    passive: bool
    threads: int

    @property
    def lead(self) -> tuple[int, ...]:
        """The leading axes of states and forces; of states that do not fit none, as the core says.

        Raises:
            ArgumentError: those of the forces do not fit.
        """
        states: tuple[int, ...] = ()
        with suppress(ValueError):  # rows of different lengths, or axes that do not fit
            states = np.broadcast_shapes(np.shape(self.q)[:-1], np.shape(self.v)[:-1])
        return states if self.rows is None else merged_axes(states, self.rows.shape[:-2])

    def first(self) -> tuple[Array, Array]:
        """Coordinates and rates at the start, (..., 1, n)."""
        lead, (q, v) = self.lead, (np.asarray(x, float) for x in (self.q, self.v))
        return (
            np.broadcast_to(q, (*lead, q.shape[-1]))[..., None, :],
            np.broadcast_to(v, (*lead, v.shape[-1]))[..., None, :],
        )


class Followed(NamedTuple):
    """States at the times that were reached."""

    q: Array
    """(..., T, nq)."""
    v: Array
    """(..., T, nv)."""
    due: Integers
    """(...) the first time that each state has not reached."""


def embedded(packed: Array) -> Kernel:
    """Return that of a Runge-Kutta pair, given as numbers."""
    return _embedded, packed


def taylor(order: int) -> Kernel:
    """Return that of Taylor steps with coefficients of the rates up to an order."""
    return _taylor, order


def diverged(state: int, t: float) -> DivergenceError:
    """Return the error of a motion that goes no further."""
    return DivergenceError(
        f"the motion of state {state} cannot be followed beyond t = {t:.9g} s: the step "
        "that the tolerances ask for is below rounding errors; the motion diverges there, the "
        "control jumps again and again, or rtol and atol are too small"
    )


def require_end(begun: float, now: float, end: float, steps: int) -> None:
    """Refuse to go on where the last time would never be reached.

    Raises:
        DivergenceError: the steps taken so far say how many it would take.
    """
    if steps >= SOME_STEPS and end - now > MOST_STEPS * ((now - begun) / steps):
        raise DivergenceError(
            f"after {steps} steps the motion is at t = {now:.9g} s, and to the last time, "
            f"{end:.9g} s, it would take more than {MOST_STEPS:.0e}: give a nearer last time, or "
            "larger rtol and atol"
        )


def follow(
    kernel: Kernel, start: Start, allowed: tuple[float, float], report: Report = silent
) -> tuple[Array, Array, int]:
    """Follow all states to the last time, or as far as they get until Ctrl-C.

    Returns:
        Coordinates (..., T, nq) and rates (..., T, nv), and how many times all states have reached.

    Raises:
        ArgumentError: states or forces of the wrong shape, or not finite.
        DivergenceError: a state goes no further.
        SingularError: a joint moves no inertia.
    """
    (portion, method), (model, q, v, t, rows, passive, threads) = kernel, start
    hold = int(rows is not None and rows.shape[-2] == len(t))
    if rows is not None:
        rows = padded(rows, len(t))
    steps = max(1, EFFORT // max(1, math.prod(start.lead) * model.nv))
    plan = np.array((*allowed, t[-1], steps, passive))
    progress = np.array((t[0], 0.0, 1.0, 0.0, 0.0))
    done, low, taken = None, 1, 0
    try:
        while low < len(t):
            window = slice(low - 1, low - 1 + WINDOW)
            some = None if rows is None else np.ascontiguousarray(rows[..., window, :])
            some_q, some_v, q, v, progress = portion(
                model, q, v, progress, plan, t[window], method, hold, some, threads=threads
            )
            taken += steps
            if progress.size:
                now = float(progress[..., 0].min())
                report(now)
                require_end(t[0], now, t[-1], taken)
            due = progress[..., DUE]
            low = window.start + least(due)
            if done is None and low >= len(t):  # all at once
                return some_q, some_v, len(t)
            written = due.astype(int) + window.start
            done = done or _nothing(some_q, some_v, len(t))
            _keep(done, some_q, some_v, window, written)
            stuck = np.flatnonzero(progress[..., STATUS] == STUCK)
            if len(stuck):
                raise diverged(int(stuck[0]), float(progress[..., 0].flat[stuck[0]]))
            due[...] = written - (low - 1)
    except KeyboardInterrupt:
        pass
    done = done or _nothing(*start.first(), len(t))
    return done.q, done.v, least(done.due)


def fixed_steps(
    model: Model,
    q: Array,
    v: Array,
    rows: Array,
    t: Array,
    order: int,
    hold: int,
    threads: int,
) -> tuple[Array, Array, Array]:
    """Take Taylor steps from each time to the next, however long these are.

    Returns:
        Coordinates (..., T, nq) and rates (..., T, nv) at the times, and the first time that each
        state has not reached.
    """
    plan = np.array((ANY, ANY, t[-1], len(t), 0.0))
    progress = np.array((t[0], 0.0, 1.0, 0.0, 0.0))
    to_q, to_v, _, _, progress = _taylor(
        model, q, v, progress, plan, t, order, hold, rows, threads=threads
    )
    return to_q, to_v, progress[..., DUE]


def least(due: Integers | Array) -> int:
    """Return the least of some whole numbers; where there are none, more than there are times."""
    if due.ndim == 0:
        return int(due)
    return int(due.min(initial=sys.maxsize))


def _nothing(q: Array, v: Array, count: int) -> Followed:
    """Return the first of some states (..., K, n), and room for as many as there are times."""
    done = Followed(
        np.empty((*q.shape[:-2], count, q.shape[-1])),
        np.empty((*v.shape[:-2], count, v.shape[-1])),
        np.ones(q.shape[:-2], int),
    )
    done.q[..., 0, :], done.v[..., 0, :] = q[..., 0, :], v[..., 0, :]
    return done


def _keep(done: Followed, q: Array, v: Array, window: slice, now: Integers) -> None:
    """Store the rows of a portion that each state wrote."""
    row = np.arange(window.start, window.start + q.shape[-2])
    wrote = ((row >= done.due[..., None]) & (row < now[..., None]))[..., None]
    np.copyto(done.q[..., window, :], q, where=wrote)
    np.copyto(done.v[..., window, :], v, where=wrote)
    done.due[...] = now


def padded(rows: Array, count: int) -> Array:
    """Return forces with a row for every time; after the last one of an interval none is read."""
    if rows.shape[-2] == count:
        return rows
    return np.concatenate([rows, rows[..., -1:, :]], axis=-2)
