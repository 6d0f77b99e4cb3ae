"""Motions by Taylor steps with Python between them: forces given as series, constraints, events.

Along a step the coordinates are polynomials of time, and so is every event that is known as a
series. Its zeros are isolated by the signs of Bernstein coefficients (see
`jounce.simulation.polynomials`): two crossings within a step are both found, and a motion that only
touches zero is told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jounce._types import Array, Integers, Mask
from jounce.errors import ArgumentError, DivergenceError, SingularError
from jounce.series import forward_dynamics_series
from jounce.simulation.compiled import Followed, least, too_many_steps, without_end
from jounce.simulation.dense import StepLog
from jounce.simulation.event_polynomials import event_polynomial, require_same_value
from jounce.simulation.events import (
    SAME_TIME,
    Event,
    EventRecord,
    Repeats,
    apply_map,
    at_stored_time,
    endless,
)
from jounce.simulation.extended_step import held_step
from jounce.simulation.interrupted import with_motion
from jounce.simulation.manifold import Manifold
from jounce.simulation.motion import SimulatedMotion
from jounce.simulation.polynomials import roots_in_unit_interval
from jounce.simulation.progress import Report, silent
from jounce.simulation.series_path import Kept, kept, taken
from jounce.simulation.store import blank, room
from jounce.simulation.task import Task
from jounce.simulation.taylor import (
    Control,
    Polynomials,
    force_series,
    order_of,
    polynomial_step,
    quaternions,
    require_series,
)

__all__ = ["SeriesMotion", "follow_series"]


class SeriesMotion(NamedTuple):
    """What states did."""

    states: Followed
    events: list[EventRecord]
    """In the order of their steps; each names its state by one number."""
    t: Array
    """(n,) how far each state got."""
    ended: Array
    """(n,) when an event or a failure ended a state, else infinity."""
    failed: Mask
    """(n,) which could not be followed further."""
    interrupted: bool
    log: StepLog
    error: Exception | None
    """Of a control or an event, which ended all."""
    reasons: dict[int, str]
    """Why, if an event lost a state or it would have taken too many steps."""

    def unless_broken(self, motion: SimulatedMotion) -> SimulatedMotion:
        """The motion that was made of it, or the error that ended it."""
        if self.error is not None:
            raise with_motion(self.error, motion)
        return motion


class _Task(NamedTuple):
    """What does not change on the way."""

    start: Task
    control: Control | None
    allowed: tuple[float, float]
    events: Sequence[Event]
    order: int
    manifold: Manifold | None
    log: StepLog | None
    repeats: dict[tuple[int, int], Repeats]
    """Of each state and event with a map."""


class _Walk(NamedTuple):
    """States on their way."""

    t: Array
    at: Kept
    ended: Array
    """When each state ended by an event, else infinity."""
    signs: Array
    """(n, events) of the events before."""
    stalled: Integers
    """(n,) how many events have followed each other without time passing."""
    failed: Mask
    """(n,) which go no further."""
    reasons: dict[int, str]
    """Why, if it was for an event or for too many steps."""


class _Met(NamedTuple):
    """The events that end a step, all at one time."""

    t: float
    which: dict[int, int]
    """Each with the direction in which it crosses zero."""


def follow_series(
    start: Task,
    control: Control | None,
    allowed: tuple[float, float],
    events: Sequence[Event] = (),
    *,
    manifold: Manifold | None = None,
    order: int | None = None,
    keep: bool = False,
    report: Report = silent,
) -> SeriesMotion:
    """Follow n states by Taylor steps, asking the control and looking for events at each.

    Args:
        start: states, times and rows of forces.
        control: gives forces and their derivatives in time, instead of the rows; or None.
        allowed: relative and absolute tolerance.
        events: what to look for; all have a series.
        manifold: constraints that hold.
        order: of the rates; by default that of the tolerance.
        keep: whether to keep the steps for the dense output.
        report: is told the time that all states have reached.

    Returns:
        States at the times, as far as each got, and events in the order of their steps.

    Raises:
        ArgumentError: a control or an event that returns something else than a series.
    """
    require_series(start.model, start.passive)
    if start.passive:
        raise ArgumentError(
            "with method 'taylor' passive=True goes neither with a control that is a function, nor "
            "with events that have series, nor with constraints"
        )
    n, T = len(start.q), len(start.t)
    log = StepLog(start.model, np.full(n, start.t[0]))
    degree = order or order_of(*allowed, start.model.n_bodies)
    task = _Task(start, control, allowed, events, degree, manifold, log if keep else None, {})
    done = Followed(room(start.q, T), room(start.v, T), np.ones(n, int))
    signs = np.zeros((n, len(events)), int)
    at = kept(start.model, start.q, start.v)
    now, never = np.full(n, start.t[0]), np.full(n, np.inf)
    walk = _Walk(now, at, never, signs, np.zeros(n, int), np.zeros(n, bool), {})
    found: list[EventRecord] = []
    interrupted, rounds, broken = False, 0, None
    try:
        while n and (np.minimum(start.t[-1], walk.ended) > walk.t).any():
            walk = _walk(task, walk, done, found)
            reached = float(np.where(np.isfinite(walk.ended), start.t[-1], walk.t).min())
            rounds += 1
            report(reached)
            walk = _without_endless(walk, start.t, rounds)
    except (KeyboardInterrupt, Exception) as error:  # maybe within a step: nothing of it counts
        interrupted, broken = True, error if isinstance(error, Exception) else None
        done = done._replace(due=np.searchsorted(start.t, walk.t, side="right"))
        found = [x for x in found if x.t <= walk.t[x.state[0]]]
        T = min(least(done.due[np.isinf(walk.ended)]), T)
    blank((done.q, done.v), done.due, T)
    ended = walk.ended, walk.failed, interrupted
    return SeriesMotion(done, found, walk.t, *ended, log, broken, walk.reasons)


def _without_endless(walk: _Walk, t: Array, rounds: int) -> _Walk:
    """End states that would never reach the last of the times."""
    lost = without_end(t[0], walk.t, t[-1], rounds) & np.isinf(walk.ended)
    if not lost.any():
        return walk
    why = {
        k: too_many_steps(k, float(walk.t[k]), float(t[-1]), rounds)
        for k in np.flatnonzero(lost).tolist()
    }
    ended = np.where(lost, walk.t, walk.ended)
    return walk._replace(failed=walk.failed | lost, ended=ended, reasons={**walk.reasons, **why})


def _walk(task: _Task, walk: _Walk, done: Followed, found: list[EventRecord]) -> _Walk:
    """Take a step of every state that has not arrived, to its end or to an event."""
    start, t, at = task.start, walk.t, walk.at
    stop = np.minimum(start.t[-1], walk.ended)
    if start.rows is not None and task.control is None:  # a step must not cross their corners
        stop = np.minimum(stop, start.t[np.minimum(done.due, len(start.t) - 1)])
    left = np.maximum(stop - t, 0.0)
    v = at.rates(start.model)
    tau = _forces(task, t, (at.q, v), done.due)
    path, after = _path(task, t, at, v, tau, left)
    stuck = (left > 0) & (path.h < left) & ~(path.h > 16 * np.spacing(np.abs(t)))
    if stuck.any():
        return walk._replace(failed=walk.failed | stuck, ended=np.where(stuck, t, walk.ended))
    end = np.where(path.h >= left, t + left, t + path.h)
    signs, met = walk.signs.copy(), {}
    for k in np.flatnonzero(left > 0).tolist() if task.events else ():
        first = _look(task, path, k, (t, v, tau), signs[k], found)
        if first is not None:
            met[k], end[k] = first, first.t
    if after is None or met:
        after = _end(task, path, t, at, tau, np.minimum(end - t, path.h))
    if task.manifold is not None and task.manifold.project:
        states = task.manifold.onto(end, after.q, after.rates(start.model))
        after = kept(start.model, *states)
    if task.log is not None and (went := np.flatnonzero(end > t)).size:
        parts = t, np.maximum(path.h, end - t), at.q, v, path.coordinates, path.rates
        task.log.add(went, *(np.asarray(x, float)[went] for x in parts))
    stalled = np.where(end - t <= 16 * np.spacing(np.abs(t)), walk.stalled + 1, 0)
    walk = walk._replace(t=end, at=after, signs=signs, stalled=stalled)
    walk = _met(task, met, walk) if met else walk
    _give(task, path, t, end, walk.at, done)
    return walk


def _forces(task: _Task, t: Array, state: tuple[Array, Array], due: Integers) -> Array:
    """Forces of n states and their derivatives, (n, order, nv)."""
    start = task.start
    if task.control is not None:
        return force_series(task.control, t, *state, task.order)
    tau = np.zeros((len(t), task.order, start.model.nv))
    if start.rows is not None:
        every, k = (np.arange(len(t)),), np.minimum(due, len(start.t) - 1) - 1
        tau[:, 0], tau[:, 1] = start.rows.at(t, k, every), start.rows.slope(k, every)
    return tau


def _path(
    task: _Task, t: Array, at: Kept, v: Array, tau: Array, most: Array
) -> tuple[Polynomials, Kept | None]:
    """The polynomials of a step, how long it may be, and its end if that is known with them.

    Of a state whose numbers are too large the step has no length.
    """
    try:
        return _paths(task, slice(None), t, at, v, tau, most)
    except ArgumentError:
        found = [_path_of_one(task, slice(k, k + 1), t, at, v, tau, most) for k in range(len(t))]
    path, ends = Polynomials.joined([x for x, _ in found]), [x for _, x in found if x is not None]
    return path, None if task.manifold is None else Kept.joined(ends)


def _paths(
    task: _Task, some: slice, t: Array, at: Kept, v: Array, tau: Array, most: Array
) -> tuple[Polynomials, Kept | None]:
    start, own = task.start, Kept(*(x[some] for x in at))
    if task.manifold is not None:
        manifold = task.manifold.some(np.arange(len(t))[some])
        return held_step(manifold, t[some], own, tau[some], most[some], task.allowed)
    given = own.q, v[some], tau[some], most[some], task.allowed, start.threads
    return polynomial_step(start.model, *given)[2], None


def _path_of_one(
    task: _Task, one: slice, t: Array, at: Kept, v: Array, tau: Array, most: Array
) -> tuple[Polynomials, Kept | None]:
    try:
        return _paths(task, one, t, at, v, tau, most)
    except ArgumentError:
        model, p = task.start.model, tau.shape[1]
        zeros = np.zeros((1, p + 2, model.nq)), np.zeros((1, p + 1, model.nv))
        zeros[0][:, 0, [k + 3 for k in quaternions(model)]] = 1.0  # turns relative to the start
        motion = None if task.manifold is None else zeros[1]
        path = Polynomials(model, at.q[one], np.zeros(1), *zeros, motion)
        return path, Kept(*(x[one] for x in at))


def _end(task: _Task, path: Polynomials, t: Array, at: Kept, tau: Array, h: Array) -> Kept:
    """States after steps (n,) that an event may have made shorter than their series allow."""
    if task.manifold is None:
        return taken(path, at, h)
    return held_step(task.manifold, t, at, tau, h, task.allowed).end


def _look(
    task: _Task,
    path: Polynomials,
    k: int,
    at: tuple[Array, Array, Array],
    signs: Array,
    found: list[EventRecord],
) -> _Met | None:
    """Find the events of state k in its step up to those that end it, which are returned."""
    events, (t, v, tau) = task.events, (x[k] for x in at)
    q, h = path.q[k], float(path.h[k])
    alone = path.alone(k)
    if path.motion is None:
        motion = np.concatenate([v[None], forward_dynamics_series(path.model, q, v, tau)])
    else:
        motion = path.motion[k]
    here: list[EventRecord] = []
    ending: list[EventRecord] = []
    polynomials = [event_polynomial(event, q, motion, tau, h) for event in events]
    if t == task.start.t[0]:
        for event, a in zip(events, polynomials, strict=True):
            require_same_value(event, float(t), q, v, a)
    for which, (event, a) in enumerate(zip(events, polynomials, strict=True)):
        roots = roots_in_unit_interval(a, int(signs[which]))
        for x, direction in zip(roots.x, roots.direction, strict=True):
            if event.direction and direction not in (0, event.direction):
                continue
            if x == 0.0 and _has_passed(
                task, k, which, float(t), bool((direction * a[1:2] < 0).any())
            ):
                continue
            when = max(float(t), at_stored_time(float(t + x * h), task.start.t))
            (own_q,), (own_v,) = alone.at(np.array([x * h]))
            here.append(EventRecord(event.name, which, (k,), when, own_q, own_v, direction))
            if direction != 0 and (event.terminal or event.map is not None):
                ending.append(here[-1])
    if not ending:
        found += sorted(here, key=lambda one: one.t)
        _update_signs(signs, polynomials, 1.0)
        return None
    last = min(one.t for one in ending)
    same = last + SAME_TIME * float(np.spacing(abs(last)))
    found += sorted((one for one in here if one.t <= same), key=lambda one: one.t)
    _update_signs(signs, polynomials, (last - float(t)) / h)
    met = _Met(last, {one.event: one.direction for one in ending if one.t <= same})
    for one in here:
        if last <= one.t <= same and one.direction:
            signs[one.event] = -met.which.get(one.event, 0)
    return met


def _has_passed(task: _Task, k: int, which: int, t: float, back: bool) -> bool:
    """Whether an event is zero only because it has just happened, and its map lets it pass.

    Not where it happens at ever shorter distances, or comes back from zero (`back`) for no longer
    than an instant: then it never ends.
    """
    repeats = task.repeats.get((k, which))
    if repeats is None or repeats.last != t:
        return False
    repeats.never_ends = back or repeats.fades
    return not repeats.never_ends


def _update_signs(signs: Array, polynomials: list[Array], x: float) -> None:
    """Signs at a fraction x of the step; where an event is zero it keeps that from before."""
    for which, a in enumerate(polynomials):
        value = float(a @ x ** np.arange(len(a)))
        if abs(value) > 1e-13 * np.abs(a).max():
            signs[which] = int(np.sign(value))


def _met(task: _Task, met: dict[int, _Met], walk: _Walk) -> _Walk:
    """States after the events that ended their steps; terminal and endless ones end them."""
    model, ended, failed = task.start.model, walk.ended.copy(), walk.failed.copy()
    q, v, reasons = walk.at.q.copy(), walk.at.rates(model), dict(walk.reasons)
    for k, (t, which) in met.items():
        some = [task.events[x] for x in which]
        if any(event.terminal for event in some):
            ended[k] = t
            continue
        try:
            for x in which:
                repeats = task.repeats.setdefault((k, x), Repeats())
                repeats.happened(t)
                if repeats.never_ends or (walk.stalled[k] > len(task.events) and repeats.fades):
                    raise endless(task.events[x], t)
                _, q[k], v[k] = apply_map(task.events[x], (t, q[k], v[k]))
        except (DivergenceError, SingularError) as error:
            ended[k], failed[k], reasons[k] = t, True, str(error)
    return walk._replace(at=kept(model, q, v), ended=ended, failed=failed, reasons=reasons)


def _give(
    task: _Task, path: Polynomials, begin: Array, end: Array, last: Kept, done: Followed
) -> None:
    """Write the states at all times that were passed."""
    times, manifold = task.start.t, task.manifold
    ends = last.q, last.rates(path.model)
    while True:
        due = np.minimum(done.due, len(times) - 1)
        passed = (done.due < len(times)) & (times[due] <= end)
        if not passed.any():
            return
        exact = (times[due] >= end)[:, None]
        inner = path.at(np.clip(times[due] - begin, 0.0, path.h))
        if manifold is not None and manifold.project and not exact[passed].all():
            rows = np.flatnonzero(passed)
            some = manifold.some(rows).onto(times[due][rows], *(x[rows] for x in inner))
            for x, own in zip(inner, some, strict=True):
                x[rows] = own
        rows = np.flatnonzero(passed)
        for store, x, y in zip((done.q, done.v), inner, ends, strict=True):
            store[rows, due[rows]] = np.where(exact, y, x)[rows]
        done.due[passed] += 1
