"""Simulations with events and contacts: each state of a batch goes from event to event."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.constraints import Constraints
from jounce.errors import DivergenceError
from jounce.model import Model
from jounce.simulation.arguments import accelerations, force_rows
from jounce.simulation.compiled import least
from jounce.simulation.contacts import Contact, Modes
from jounce.simulation.dense import NESTED, SERIES, Dense, Logged, StepLog
from jounce.simulation.event_passage import Follow, Passed, through_events
from jounce.simulation.event_search import Stretch
from jounce.simulation.events import Event, EventRecord
from jounce.simulation.fixed_steps import step_counts
from jounce.simulation.interrupted import to_last_step, with_motion, with_state
from jounce.simulation.manifold import held_at, later
from jounce.simulation.motion import SimulatedMotion, StateFailure, no_further
from jounce.simulation.progress import Report
from jounce.simulation.rows import Rows, interval
from jounce.simulation.store import blank, nothing
from jounce.simulation.task import Task, require_room
from jounce.simulation.taylor import TAYLOR, force_series
from jounce.simulation.taylor_events import SeriesMotion

__all__ = ["Run", "Sought", "motion_with_events", "motion_with_series"]


STEPS = 500
"""Fixed steps that are taken before events are looked for on them: some 0.05 s of Python."""

Keeps = Callable[[], Dense | None]
"""What makes the dense output when it is asked for."""


class Run(Protocol):
    """Simulates without events."""

    def __call__(
        self,
        state: tuple[ArrayLike, ArrayLike],
        t: Array,
        control: Any,
        constraints: Constraints | None,
    ) -> SimulatedMotion:
        """Return the motion at times t."""


class Sought(NamedTuple):
    """What to look for on the way."""

    events: list[Event]
    contacts: list[Contact]
    constraints: Constraints | None
    """Those that always hold."""


def motion_with_events(
    run: Run,
    model: Model,
    start: tuple[ArrayLike, ArrayLike],
    t: Array,
    control: Any,
    sought: Sought,
    method: str,
    passive: bool,
    report: Report,
    dt: float | None,
) -> SimulatedMotion:
    """Return the motion, with the events on its way, of which values between times are known.

    Args:
        run: simulates without events.
        model: the robot.
        start: (..., nq) coordinates and (..., nv) rates.
        t: (T,) times.
        control: as in `simulate`.
        sought: what to look for.
        method: as in `simulate`.
        passive: whether passive forces act.
        report: is told how far the motion is.
        dt: longest step, of a method with fixed steps.
    """
    lead = accelerations(model, start).shape[:-1]
    rows = None if control is None or callable(control) else force_rows(model, control, len(t))
    if rows is not None:
        lead = np.broadcast_shapes(lead, rows.shape[:-2])
        rows = np.broadcast_to(rows, (*lead, *rows.shape[-2:]))
    q0, v0 = (
        np.broadcast_to(np.asarray(x, float), (*lead, size))
        for x, size in zip(start, (model.nq, model.nv), strict=True)
    )
    done: list[Passed] = []
    kind = SERIES if method == TAYLOR else NESTED
    count, span = int(np.prod(lead)), t[-1] - t[0]
    require_room(model, lead, len(t))
    batch = _Batch.of(model, t, lead, method)
    kept = cache(partial(_joined, model, kind, t, done, count))
    for k, place in enumerate(np.ndindex(lead)):
        own = control if rows is None else rows[place]
        state = q0[place], v0[place]
        modes, events = _modes(model, state, t, own, sought, method, passive)

        def told(now: float, before: int = len(done)) -> None:
            report(float(t[0] + (before * span + (now - t[0])) / max(count, 1)))

        follow = _follower(run, t, own, modes, sought.constraints, q0[place], told, dt)
        stores, log = (batch.q[k], batch.v[k]), StepLog(model, np.array([t[0]]))
        if modes is None:
            done.append(through_events(follow, t, *state, events, place, stores, log))
        else:
            done.append(_through_modes(modes, follow, t, state, events, place, stores, log))
        if done[-1].reached is not None:
            motion = batch.interrupted(done, kept)
            if (error := done[-1].error) is not None:
                raise with_motion(error, motion)
            return motion
    return batch.assembled(done, kept)


def _joined(model: Model, kind: str, t: Array, done: list[Passed], count: int) -> Dense | None:
    """The steps of all states."""
    log, end = StepLog(model, np.full(count, t[0])), np.full(count, t[0])
    for k, passed in enumerate(done):
        end[k] = min(passed.end, t[-1] if passed.last is None else passed.last[0])
        own = passed.log
        for states, *rest in map(own.part, range(len(own.parts))) if own is not None else ():
            log.add(states + k, *rest)
    return log.dense(kind, end, None)


def _modes(
    model: Model,
    state: tuple[Array, Array],
    t: Array,
    control: Any,
    sought: Sought,
    method: str,
    passive: bool,
) -> tuple[Modes | None, list[Event]]:
    """The contacts of one state, and all events."""
    if not sought.contacts:
        return None, sought.events
    series = method == TAYLOR and callable(control)

    def first(now: float, q: Array, v: Array) -> Array:
        rows: Array = force_series(control, np.array([now]), q[None], v[None], 1)[0, 0]
        return rows

    task = Task.of(model, state, t, first if series else control, passive, 1)

    def forces(now: float, q: Array, v: Array) -> Array:
        when = np.array([now])
        tau: Array = task.forces(interval(t, when))(when, q[None], v[None])[0]
        return tau

    base = sought.constraints
    held = Constraints(model, []) if base is None else held_at(base, state[0])
    modes = Modes(sought.contacts, held, float(t[0]), forces)
    return modes, [*sought.events, *modes.events()]


def _through_modes(
    modes: Modes,
    follow: Follow,
    t: Array,
    state: tuple[Array, Array],
    events: list[Event],
    place: tuple[int, ...],
    stores: tuple[Array, Array],
    log: StepLog,
) -> Passed:
    """Follow one state whose contacts come and go; what lands at the start is recorded there."""
    q, v = state
    own = len(events) - 2 * len(modes.contacts)

    def told(happened: list[int]) -> list[int]:
        changes, modes.changes = modes.changes, []
        return [x for x in happened if x < own] + [own + x for x in changes]

    after, start = modes.begin(float(t[0]), q, v), float(t[0])
    first = [EventRecord(events[x].name, x, place, start, q, v, -1) for x in told([])]
    passed = through_events(follow, t, q, after, events, place, stores, log, told)
    return passed._replace(records=first + passed.records)


def _follower(
    run: Run,
    t: Array,
    control: Any,
    modes: Modes | None,
    constraints: Constraints | None,
    q0: Array,
    report: Report,
    dt: float | None,
) -> Follow:
    held = None if constraints is None else held_at(constraints, q0)

    def follow(grid: Array, q: Array, v: Array) -> Stretch:
        own, grid = control, grid if dt is None else _few_steps(grid, dt)
        if control is not None and not callable(control):
            own = _refined(t, control, grid)
        if modes is not None:
            modes.passed(q)
        acting = held if modes is None else modes.constraints
        if acting is not None:
            acting = later(acting, float(grid[0] - t[0]))
        broken = None
        try:
            motion = run((q, v), grid, own, acting)
        except Exception as error:  # an event may come before it
            known = getattr(error, "motion", None)
            if not isinstance(known, SimulatedMotion) or known.dense is None or len(known.t) < 2:
                raise
            motion, broken = known, error
        report(float(grid[0]))
        failure = motion.failures[0].message if motion.failures else None
        if motion.dense is None and motion.interrupted:
            raise KeyboardInterrupt
        if motion.dense is None:
            raise DivergenceError(failure or "no step could be taken")
        onto, dense = motion.dense.onto, motion.dense.alone()
        if onto is not None:
            dense = replace(dense, onto=onto)
        early = motion.interrupted and broken is None
        return Stretch(motion.t, motion.q, motion.v, dense, failure, early, broken)

    return follow


def _few_steps(grid: Array, dt: float) -> Array:
    """The first of these times, not many steps of at most dt apart; an interval of more is cut."""
    counts = step_counts(grid, dt)
    whole = int(np.searchsorted(np.cumsum(counts), STEPS, side="right"))
    if whole:
        return grid[: whole + 1]
    count = int(counts[0])
    part = math.ceil(count / math.ceil(count / STEPS)) / count
    return np.array([grid[0], grid[0] + part * (grid[1] - grid[0])])


def _refined(t: Array, given: Array, grid: Array) -> Array:
    """Rows of forces for other times."""
    rows = Rows(t, given)
    when = grid if rows.linear else grid[:-1]
    return rows.at(when, interval(t, when))


def motion_with_series(
    found: SeriesMotion, task: Task, method: str, dense: Logged
) -> SimulatedMotion:
    """Return a motion whose events were found in its polynomials."""
    states, end, places = found.states, found.ended, list(np.ndindex(task.lead))
    batch = _Batch(task.model, task.t, task.lead, method, states.q, states.v)
    events = sorted(found.events, key=lambda x: x.state)  # of a state in the order of its steps
    records = [x._replace(state=places[x.state[0]]) for x in events]
    if not task.lead and np.isfinite(end[0]) and not found.failed[0]:
        motion = batch.ended_by(Passed(states.q[0], states.v[0], records, float(end[0])), dense)
    else:
        lost = [
            StateFailure(
                places[k], float(end[k]), found.reasons.get(k) or no_further(k, float(end[k]))
            )
            for k in np.flatnonzero(found.failed).tolist()
        ]
        motion = batch.motion(tuple(records), tuple(lost), end, dense)
    if not found.interrupted:
        return motion
    last = min(least(states.due[np.isinf(end)]), len(task.t))
    motion = replace(motion[:last], interrupted=True, events=motion.events)
    return to_last_step(motion, batch.stores)


class _Batch(NamedTuple):
    """What the motions of single states become."""

    model: Model
    t: Array
    lead: tuple[int, ...]
    method: str
    q: Array
    """(n, T, nq), where states are written."""
    v: Array

    @classmethod
    def of(cls, model: Model, t: Array, lead: tuple[int, ...], method: str) -> _Batch:
        """Return one with nothing but NaN of all states after the first, which begins at once."""
        n = math.prod(lead)
        make = nothing if n > 1 else lambda *shape: np.empty(shape)
        q, v = (make(n, len(t), size) for size in (model.nq, model.nv))
        return cls(model, t, lead, method, q, v)

    @property
    def stores(self) -> tuple[Array, Array]:
        """Where states are written, with their leading axes."""
        q, v = (x.reshape(*self.lead, *x.shape[1:]) for x in (self.q, self.v))
        return q, v

    def assembled(self, done: list[Passed], dense: Keeps) -> SimulatedMotion:
        """The motion of all states; of one that a terminal event ended, this is its last time."""
        first = done[0] if done and not self.lead else None
        if first is not None and np.isfinite(first.end) and first.failure is None:
            return self.ended_by(first, dense)
        return self._of_all(done, dense)

    def interrupted(self, done: list[Passed], dense: Keeps) -> SimulatedMotion:
        """What was computed until Ctrl-C, all times that some state has reached.

        NaN for states that have not, or have not begun.
        """
        last = max(1, *(len(self.t) if x.reached is None else x.reached for x in done))
        k, one = len(done) - 1, done[-1]
        blank((self.q[k : k + 1], self.v[k : k + 1]), np.array([one.reached]), last)
        motion = self._of_all(done, dense)
        motion = replace(motion[:last], events=motion.events, control_t=None, interrupted=True)
        if one.last is None or one.last[0] <= self.t[last - 1]:
            return motion
        q, v = (np.full((len(x), x.shape[-1]), np.nan) for x in (self.q, self.v))
        t, q[k], v[k] = one.last
        return with_state(motion, t, lambda: (q, v), self.stores)

    def _of_all(self, done: list[Passed], dense: Keeps) -> SimulatedMotion:
        ended, lost = np.full(len(self.q), np.inf), []
        ended[: len(done)] = [one.end for one in done]
        for place, one in zip(np.ndindex(self.lead), done, strict=False):
            if one.failure is not None:
                lost.append(StateFailure(place, one.end, one.failure))
        records = tuple(record for one in done for record in one.records)
        return self.motion(records, tuple(lost), ended, dense)

    def motion(
        self,
        records: tuple[EventRecord, ...],
        lost: tuple[StateFailure, ...],
        ended: Array,
        dense: Keeps,
    ) -> SimulatedMotion:
        """The motion at all times, with what happened and when (n,) states ended."""
        q, v = self.stores
        ends = records, lost, ended.reshape(self.lead)
        return SimulatedMotion(self.model, self.t, q, v, self.method, False, *ends, dense)

    def ended_by(self, one: Passed, dense: Keeps) -> SimulatedMotion:
        """The motion of one state to its terminal event."""
        before, last = self.t < one.end, one.records[-1]
        t = np.append(self.t[before], one.end)
        q, v = (np.concatenate([x[before], y[None]]) for x, y in ((one.q, last.q), (one.v, last.v)))
        ends = tuple(one.records), (), np.array(one.end)
        return SimulatedMotion(self.model, t, q, v, self.method, False, *ends, dense)
