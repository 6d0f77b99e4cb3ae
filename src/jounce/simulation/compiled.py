"""Adaptive motions in compiled code, portion by portion.

No Python runs between the steps of a portion. A portion takes some hundredths of a second and ends
at a step, so that Ctrl-C is heard and what was computed before is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._types import Array, Integers
from jounce.errors import DivergenceError
from jounce.model import Model
from jounce.simulation.progress import Report, silent

__all__ = ["Followed", "Start", "diverged", "embedded", "follow", "least", "taylor"]

_embedded = _core.raw("embedded_motion", "simulate")
_taylor = _core.raw("taylor_motion", "simulate")

Portion = Callable[..., tuple[Array, Array, Array, Array, Array]]

WINDOW = 4096
"""Times that a portion is given."""

EFFORT = 20_000
"""Steps times rates of all states in a portion: some hundredths of a second."""

STUCK = 2
"""Status of a state whose steps became too short to move the time."""


class Start(NamedTuple):
    """Where a motion of n states begins, and what acts on them."""

    model: Model
    q: Array
    v: Array
    t: Array
    """(T,)."""
    rows: Array | None
    """(n, T - 1, nv) forces constant between times, or (n, T, nv), linear."""
    passive: bool
    threads: int
    alone: bool = False
    """Whether it is one state and no batch, whose states are all computed alike."""


class Followed(NamedTuple):
    """States at the times that were reached."""

    q: Array
    """(n, T, nq)."""
    v: Array
    """(n, T, nv)."""
    due: Integers
    """(n,) the first time that each state has not reached."""


def embedded(packed: Array) -> Portion:
    """Return the kernel of a Runge-Kutta pair, given as numbers."""
    return lambda model, *inputs, hold, **options: _embedded(
        model, *inputs[:5], packed, hold, *inputs[5:], **options
    )


def taylor(order: int) -> Portion:
    """Return the kernel of Taylor steps with coefficients of the rates up to an order."""
    return lambda model, *inputs, hold, **options: _taylor(
        model, *inputs[:5], order, hold, *inputs[5:], **options
    )


def diverged(state: int, t: float) -> DivergenceError:
    """Return the error of a motion that goes no further."""
    return DivergenceError(
        f"the motion of state {state} cannot be followed beyond t = {t:.9g} s: the step "
        "that the tolerances ask for is below rounding errors; the motion diverges there, the "
        "control jumps again and again, or rtol and atol are too small"
    )


def follow(
    portion: Portion, start: Start, allowed: tuple[float, float], report: Report = silent
) -> Followed:
    """Follow all states to the last time, or as far as they get until Ctrl-C.

    Raises:
        DivergenceError: a state goes no further.
    """
    n, T = len(start.q), len(start.t)
    rows = _padded(start.rows, T)
    hold = int(start.rows is not None and start.rows.shape[1] == T)
    steps = max(1, EFFORT // max(1, n * start.model.nv))
    plan = np.array([*allowed, start.t[-1], steps, start.passive, start.alone])
    progress = np.zeros((n, 4))
    progress[:, 0], progress[:, 2] = start.t[0], 1
    q, v = start.q, start.v
    done, low = None, 1
    try:
        while n and low < T:
            window = slice(low - 1, min(low - 1 + WINDOW, T))
            inputs: list[Any] = [q, v, progress, plan, start.t[window]]
            if rows is not None:
                inputs.append(np.ascontiguousarray(rows[:, window]))
            some_q, some_v, q, v, progress = portion(
                start.model, *inputs, hold=hold, threads=start.threads
            )
            if report is not silent:
                report(float(progress[:, 0].min()))
            now = progress[:, 2].astype(int) + window.start
            low = least(now)
            if done is None and low >= T:  # all at once
                some_q[:, 0], some_v[:, 0] = start.q, start.v
                return Followed(some_q, some_v, now)
            done = done or _nothing(start)
            _keep(done, some_q, some_v, window, now)
            stuck = np.flatnonzero(progress[:, 3] == STUCK)
            if len(stuck):
                raise diverged(int(stuck[0]), float(progress[stuck[0], 0]))
            progress[:, 2] = now - (low - 1)
    except KeyboardInterrupt:
        pass
    return done or _nothing(start)


def least(due: Integers) -> int:
    """Return the least of some integers."""
    return int(due[0] if len(due) == 1 else due.min())


def _nothing(start: Start) -> Followed:
    """Return the first state, and room for the others."""
    n, T = len(start.q), len(start.t)
    q, v = np.empty((n, T, start.model.nq)), np.empty((n, T, start.model.nv))
    q[:, 0], v[:, 0] = start.q, start.v
    return Followed(q, v, np.ones(n, int))


def _keep(done: Followed, q: Array, v: Array, window: slice, now: Integers) -> None:
    """Store the rows of a portion that each state wrote."""
    if len(now) == 1:
        new = slice(int(done.due[0]), int(now[0]))
        own = slice(new.start - window.start, new.stop - window.start)
        done.q[0, new], done.v[0, new] = q[0, own], v[0, own]
    else:
        row = np.arange(window.start, window.stop)
        wrote = ((row >= done.due[:, None]) & (row < now[:, None]))[..., None]
        np.copyto(done.q[:, window], q, where=wrote)
        np.copyto(done.v[:, window], v, where=wrote)
    done.due[:] = now


def _padded(rows: Array | None, count: int) -> Array | None:
    """Return forces with a row for every time; after the last one of an interval none is read."""
    if rows is None or rows.shape[1] == count:
        return rows
    return np.concatenate([rows, rows[:, -1:]], axis=1)
