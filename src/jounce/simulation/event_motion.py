"""Simulations with events and contacts: each state of a batch goes from event to event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.constraints import Constraints
from jounce.errors import DivergenceError
from jounce.model import Model
from jounce.simulation.arguments import accelerations, force_rows
from jounce.simulation.compiled import least
from jounce.simulation.contacts import Contact, Modes
from jounce.simulation.dense import NESTED, SERIES, Dense, StepLog
from jounce.simulation.event_passage import Follow, Passed, through_events
from jounce.simulation.event_search import Stretch
from jounce.simulation.events import Event, EventRecord
from jounce.simulation.interrupted import with_motion, with_state
from jounce.simulation.manifold import held_at, later
from jounce.simulation.motion import SimulatedMotion, StateFailure, no_further
from jounce.simulation.progress import Report
from jounce.simulation.rows import Rows, interval
from jounce.simulation.task import Task, require_room
from jounce.simulation.taylor import TAYLOR, force_series
from jounce.simulation.taylor_events import SeriesMotion

__all__ = ["Run", "Sought", "motion_with_events", "motion_with_series"]


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
    batch = _Batch(model, t, lead, method)
    for place in np.ndindex(lead):
        own = control if rows is None else rows[place]
        state = q0[place], v0[place]
        modes, events = _modes(model, state, t, own, sought, method, passive)

        def told(now: float, before: int = len(done)) -> None:
            report(float(t[0] + (before * span + (now - t[0])) / max(count, 1)))

        follow = _follower(run, t, own, modes, sought.constraints, q0[place], told)
        log = StepLog(model)
        if modes is None:
            done.append(through_events(follow, t, *state, events, place, log))
        else:
            done.append(_through_modes(modes, follow, t, state, events, place, log))
        if done[-1].reached is not None:
            motion = batch.interrupted(done, _joined(model, kind, t, done, count))
            if (error := done[-1].error) is not None:
                raise with_motion(error, motion)
            return motion
    return batch.assembled(done, _joined(model, kind, t, done, count))


def _joined(model: Model, kind: str, t: Array, done: list[Passed], count: int) -> Dense | None:
    """The steps of all states."""
    log, end = StepLog(model), np.full(count, t[0])
    for k, passed in enumerate(done):
        end[k] = min(passed.end, t[-1] if passed.last is None else passed.last[0])
        for states, *rest in passed.log.parts if passed.log is not None else ():
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
    passed = through_events(follow, t, q, after, events, place, log, told)
    return passed._replace(records=first + passed.records)


def _follower(
    run: Run,
    t: Array,
    control: Any,
    modes: Modes | None,
    constraints: Constraints | None,
    q0: Array,
    report: Report,
) -> Follow:
    held = None if constraints is None else held_at(constraints, q0)

    def follow(grid: Array, q: Array, v: Array) -> Stretch:
        own = control
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


def _refined(t: Array, given: Array, grid: Array) -> Array:
    """Rows of forces for other times."""
    rows = Rows(t, given)
    when = grid if rows.linear else grid[:-1]
    return rows.at(when, interval(t, when))


def motion_with_series(
    found: SeriesMotion, task: Task, method: str, dense: Dense | None
) -> SimulatedMotion:
    """Return a motion whose events were found in its polynomials."""
    done = []
    for k, place in enumerate(np.ndindex(task.lead)):
        own = [x._replace(state=place) for x in found.events if x.state == (k,)]
        q, v = found.states.q[k], found.states.v[k]
        why = found.reasons.get(k) or no_further(k, float(found.ended[k]))
        failure = why if found.failed[k] else None
        done.append(Passed(q, v, own, float(found.ended[k]), None, failure))
    motion = _Batch(task.model, task.t, task.lead, method).assembled(done, dense)
    if not found.interrupted:
        return motion
    going = np.isinf(found.ended)
    last = min(least(found.states.due[going]), len(task.t))
    return replace(motion[:last], interrupted=True, events=motion.events)


class _Batch(NamedTuple):
    """What the motions of single states become."""

    model: Model
    t: Array
    lead: tuple[int, ...]
    method: str

    def assembled(self, done: list[Passed], dense: Dense | None) -> SimulatedMotion:
        """The motion of all states; of one that a terminal event ended, this is its last time."""
        first = done[0] if done and not self.lead else None
        if first is not None and np.isfinite(first.end) and first.failure is None:
            return self._ended(first, dense)
        return self._motion(done, dense)

    def interrupted(self, done: list[Passed], dense: Dense | None) -> SimulatedMotion:
        """What was computed until Ctrl-C, all times that some state has reached.

        NaN for states that have not, or have not begun.
        """
        last = max(1, *(len(self.t) if x.reached is None else x.reached for x in done))
        motion = self._motion(done, dense)
        motion = replace(motion[:last], events=motion.events, control_t=None, interrupted=True)
        at = done[-1].last
        if at is None or at[0] <= self.t[last - 1]:
            return motion
        end = [np.full((*motion.q.shape[:-2], len(x)), np.nan) for x in at[1:]]
        for x, own in zip(end, at[1:], strict=True):
            x.reshape(-1, len(own))[len(done) - 1] = own
        return with_state(motion, at[0], *end)

    def _motion(self, done: list[Passed], dense: Dense | None) -> SimulatedMotion:
        n = int(np.prod(self.lead))
        q, v = (np.full((n, len(self.t), x), np.nan) for x in (self.model.nq, self.model.nv))
        ended, lost = np.full(n, np.inf), []
        for k, (place, one) in enumerate(zip(np.ndindex(self.lead), done, strict=False)):
            q[k], v[k], ended[k] = one.q, one.v, one.end
            if one.failure is not None:
                lost.append(StateFailure(place, one.end, one.failure))
        q, v = (x.reshape(*self.lead, *x.shape[1:]) for x in (q, v))
        records = tuple(record for one in done for record in one.records)
        ends = records, tuple(lost), ended.reshape(self.lead)
        return SimulatedMotion(self.model, self.t, q, v, self.method, False, *ends, dense)

    def _ended(self, one: Passed, dense: Dense | None) -> SimulatedMotion:
        before, last = self.t < one.end, one.records[-1]
        t = np.append(self.t[before], one.end)
        q, v = (np.concatenate([x[before], y[None]]) for x, y in ((one.q, last.q), (one.v, last.v)))
        ends = tuple(one.records), (), np.array(one.end)
        return SimulatedMotion(self.model, t, q, v, self.method, False, *ends, dense)
