"""Simulations with events: each state of a batch is followed alone, from event to event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.dynamics import forward_dynamics
from jounce.model import Model
from jounce.simulation.arguments import force_rows
from jounce.simulation.events import Event, EventRecord, Follow, Passed, through_events
from jounce.simulation.motion import SimulatedMotion

__all__ = ["motion_with_events"]


def motion_with_events(
    run: Callable[..., SimulatedMotion],
    model: Model,
    start: tuple[ArrayLike, ArrayLike],
    t: Array,
    control: Any,
    method: str,
    events: list[Event],
    options: dict[str, Any],
) -> SimulatedMotion:
    """Return the motion, with the events on its way.

    Args:
        run: simulates without events.
        model: the robot.
        start: (..., nq) coordinates and (..., nv) rates.
        t: (T,) times.
        control: as in `simulate`.
        method: likewise.
        events: what to look for.
        options: of `run`.
    """
    lead = forward_dynamics(model, *start, np.zeros(model.nv)).shape[:-1]
    rows = None if control is None or callable(control) else force_rows(model, control, len(t))
    if rows is not None:
        lead = np.broadcast_shapes(lead, rows.shape[:-2])
        rows = np.broadcast_to(rows, (*lead, *rows.shape[-2:]))
    q0, v0 = (
        np.broadcast_to(np.asarray(x, float), (*lead, size))
        for x, size in zip(start, (model.nq, model.nv), strict=True)
    )
    done: list[Passed] = []
    for place in np.ndindex(lead):
        own = control if rows is None else rows[place]
        follow = _follower(run, model, t, own, method, options)
        done.append(through_events(follow, t, q0[place], v0[place], events, place))
    records = tuple(record for passed in done for record in passed.records)
    if not lead and np.isfinite(done[0].end):
        return _ended(model, t, done[0], method, records)
    q = np.array([x.q for x in done]).reshape(*lead, len(t), model.nq)
    v = np.array([x.v for x in done]).reshape(*lead, len(t), model.nv)
    return SimulatedMotion(model, t, q, v, method, events=records)


def _ended(
    model: Model, t: Array, passed: Passed, method: str, records: tuple[EventRecord, ...]
) -> SimulatedMotion:
    """One state that a terminal event ended: this is its last time."""
    before = t < passed.end
    last = records[-1]
    times = np.append(t[before], passed.end)
    q = np.concatenate([passed.q[before], last.q[None]])
    v = np.concatenate([passed.v[before], last.v[None]])
    return SimulatedMotion(model, times, q, v, method, events=records)


def _follower(
    run: Callable[..., SimulatedMotion],
    model: Model,
    t: Array,
    control: Any,
    method: str,
    options: dict[str, Any],
) -> Follow:
    def follow(grid: Array, q: Array, v: Array) -> tuple[Array, Array]:
        own = control
        if control is not None and not callable(control):
            own = _refined(t, control, grid)
        motion = run(model, q, v, grid, own, method, **options)
        if motion.interrupted:
            raise KeyboardInterrupt
        return motion.q, motion.v

    return follow


def _refined(t: Array, rows: Array, grid: Array) -> Array:
    """Rows of forces for other times."""
    if len(rows) == len(t):
        return np.stack([np.interp(grid, t, column) for column in rows.T], axis=-1)
    held: Array = rows[np.clip(np.searchsorted(t, grid[:-1], side="right") - 1, 0, len(rows) - 1)]
    return held
