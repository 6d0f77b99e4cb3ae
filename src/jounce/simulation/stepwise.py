"""Simulations step by step in Python: fixed steps, adaptive ones with functions or constraints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jounce._types import Array, Integers, Mask
from jounce.dynamics import forward_dynamics
from jounce.errors import ArgumentError, DivergenceError
from jounce.simulation import adaptive
from jounce.simulation.adaptive import Embedded
from jounce.simulation.compiled import require_end
from jounce.simulation.dense import NESTED, Coefficients, Dense, StepLog, fitting
from jounce.simulation.field import Field, Moving
from jounce.simulation.methods import Geometric, Method, advance
from jounce.simulation.motion import SimulatedMotion
from jounce.simulation.stepping import MarkedRollout, rollout
from jounce.simulation.task import ENORMOUS, Task, blames_control

__all__ = ["by_adaptive_steps", "by_fixed_steps"]

MOST_STEPS = 1e9
"""Steps in one interval that nobody means."""

SIDES = slice(-1), slice(1, None)
"""Of the ends of steps: their starts, and where they lead."""


def by_fixed_steps(
    task: Task, method: Method | Geometric, dt: float, *, keep: bool
) -> SimulatedMotion:
    """Equal steps in each interval; compiled if no function is asked.

    Of forces that are known beforehand, a state that fails does not end the others.
    """
    if task.is_function and isinstance(method, Geometric):
        raise ArgumentError(
            f"method {method.name!r} takes no function as control, nor passive=True, nor "
            "constraints"
        )
    n, t = len(task.q), task.t
    q, v = (np.full((n, len(t), size), np.nan) for size in (task.model.nq, task.model.nv))
    q[:, 0], v[:, 0] = task.q, task.v
    counts, failed = _steps(t, dt), np.full(n, np.inf)
    log, reached, known = StepLog(task.model), None, np.full(n, t[-1])
    k = 0
    try:
        for k, count in enumerate(counts):
            some = np.flatnonzero(np.isinf(failed))
            if n and not len(some):
                break
            if task.is_function:
                steps = _step_by_function(task, method, k, int(count), q[:, k], v[:, k], keep)
            else:
                every = 1 if keep else int(count)
                steps = _step_compiled(
                    task, method, k, int(count), some, q[some, k], v[some, k], every
                )
            q[some, k + 1], v[some, k + 1] = steps.q[:, -1], steps.v[:, -1]
            lost = steps.failed >= 0
            h = (t[k + 1] - t[k]) / count
            failed[some[lost]] = t[k] + h * steps.failed[lost]
            if keep:
                to = _log_steps(log, steps, some, k, float(t[k]), float(h))
                known[some] = np.minimum(known[some], to)
            task.report(float(t[k + 1]))
    except KeyboardInterrupt:
        reached = k + 1
    dense = log.dense(NESTED, known, _fitted(task), task.onto_manifold())
    return task.motion(method.name, q, v, reached, dense=dense, failed=failed, why=_not_finite)


def _not_finite(state: int, t: float) -> str:
    return (
        f"the motion of state {state} leads to numbers that are not finite after t = {t:.9g} s: "
        "take a shorter dt, or a method with adaptive steps"
    )


class _Stepped(NamedTuple):
    """States (n, m, ...) after some or all of the steps of an interval, and the first ones."""

    q: Array
    v: Array
    a: Array | None
    """Accelerations, if a function gave the forces and they are kept."""
    failed: Array
    """(n,) the step that failed, or -1."""


def _log_steps(
    log: StepLog, steps: _Stepped, states: Integers, k: int, begin: float, h: float
) -> Array:
    """Keep the starts and ends of the good steps of an interval, and accelerations if known.

    Returns:
        (n,) the time to which they lead.
    """
    count = steps.q.shape[1] - 1
    with np.errstate(invalid="ignore"):
        tame = np.abs(steps.v[:, 1:]).max(axis=-1, initial=0.0) < ENORMOUS  # NaN is not
    good = np.logical_and.accumulate(tame, axis=1)
    lengths = good.sum(axis=1)
    which, number = np.repeat(states, lengths), np.nonzero(good)[1]
    ends = [x[:, some][good] for some in SIDES for x in (steps.q, steps.v)]
    known = [] if steps.a is None else [steps.a[:, some][good] for some in SIDES]
    m, t = len(which), begin + h * number.astype(float)
    log.add(which, t, np.full(m, h), *ends, np.full(m, k), *known)
    return np.where(lengths < count, begin + h * lengths, np.inf)


def _fitted(
    task: Task,
) -> Callable[[Dense, Integers, Coefficients], Callable[[Integers], Coefficients]]:
    """What joins the ends of fixed steps by polynomials."""

    def make(
        steps: Dense, states: Integers, kept: Coefficients
    ) -> Callable[[Integers], Coefficients]:
        q_end, v_end, interval, *known = kept

        def made(some: Integers) -> Coefficients:
            h = steps.h[some]
            ends = [(steps.q[some], steps.v[some]), (q_end[some], v_end[some])]
            if known:
                a = [x[some] for x in known]
            else:
                k, when = interval[some].astype(int), (steps.t[some], steps.t[some] + h)
                tau = [task.known_forces(states[some], k, x) for x in when]
                a = [
                    forward_dynamics(task.model, *at, x, threads=task.threads)
                    for at, x in zip(ends, tau, strict=True)
                ]
            return (fitting(task.model, h, (*ends[0], a[0]), (*ends[1], a[1])),)

        return made

    return make


def _steps(t: Array, dt: float) -> Integers:
    """How many steps of at most dt each interval takes."""
    with np.errstate(over="ignore"):
        counts = np.maximum(1, np.ceil(np.diff(t) / dt * (1 - 1e-12)))
    if counts.max(initial=1) > MOST_STEPS:
        raise ArgumentError(
            f"dt = {dt:g} is so short that an interval of t takes {counts.max():.2g} steps, more "
            f"than {MOST_STEPS:.0e}"
        )
    steps: Integers = counts.astype(int)
    return steps


def _step_compiled(
    task: Task,
    method: Method | Geometric,
    k: int,
    count: int,
    some: Integers,
    q: Array,
    v: Array,
    every: int,
) -> _Stepped:
    """All steps of an interval for some states, with forces that are known beforehand."""
    h = (task.t[k + 1] - task.t[k]) / count
    linear = task.rows is not None and task.rows.shape[1] == len(task.t)
    tau = np.zeros((count + linear, task.model.nv))
    if task.rows is not None:
        first = task.rows[some, k, None]
        tau = tau + first
        if linear:
            share = (np.arange(count + 1) / count)[:, None]
            tau += share * (task.rows[some, k + 1, None] - first)
    options: dict[str, Any] = {"every": every, "threads": task.threads}
    hold = "first" if linear else "zero"
    options |= {"method": method.name, "hold": hold, "on_failure": "mark"}
    end = rollout(task.model, q, v, tau, h, **options)
    assert isinstance(end, MarkedRollout)
    return _Stepped(end.q, end.v, None, np.asarray(end.failed_at))


def _step_by_function(
    task: Task,
    method: Method | Geometric,
    k: int,
    count: int,
    q: Array,
    v: Array,
    keep: bool,
) -> _Stepped:
    """The same with forces that depend on the state."""
    assert isinstance(method, Method)
    h = np.full((len(q), 1), (task.t[k + 1] - task.t[k]) / count)
    field = task.field(np.full(len(q), k), h)
    at = field.start(np.full((len(q), 1), task.t[k]), q, v)
    states, rates, accelerations = [q], [v], []
    try:
        with np.errstate(all="ignore"):
            for _ in range(count):
                if keep:
                    accelerations.append(field.acceleration(at))
                at = task.onto(field, advance(method, field, at))
                if keep:
                    states.append(at.q)
                    rates.append(field.rates(at))
            if keep:
                accelerations.append(field.acceleration(at))
    except ArgumentError as error:
        if blames_control(error):
            raise
        raise DivergenceError(
            f"the motion leads to numbers that are not finite between t = {task.t[k]:.9g} s and "
            f"{task.t[k + 1]:.9g} s: take a shorter dt, or a method with adaptive steps"
        ) from None
    if not keep:
        states, rates = [at.q], [field.rates(at)]
    a = np.stack(accelerations, axis=1) if keep else None
    return _Stepped(np.stack(states, axis=1), np.stack(rates, axis=1), a, np.full(len(q), -1))


class _Progress(NamedTuple):
    """How far each state is: the next of the times that it has to give."""

    q: Array
    v: Array
    due: Integers
    failed: Array
    """(n,) when it went no further, else infinity."""
    log: StepLog | None

    @property
    def moving(self) -> Mask:
        """Which states are on their way."""
        under_way: Mask = (self.due < self.q.shape[1]) & np.isinf(self.failed)
        return under_way


def by_adaptive_steps(
    task: Task, pair: Embedded, allowed: tuple[float, float], *, keep: bool
) -> SimulatedMotion:
    """Each state takes its own steps; those that have arrived wait with steps of no length."""
    n, t = len(task.q), task.t
    field = task.field(np.zeros(n, int), np.zeros((n, 1)))
    at = field.start(np.full((n, 1), t[0]), task.q, task.v)
    log = StepLog(task.model)
    done = _Progress(
        np.full((n, len(t), task.model.nq), np.nan),
        np.full((n, len(t), task.model.nv), np.nan),
        np.ones(n, int),
        np.full(n, np.inf),
        log if keep else None,
    )
    done.q[:, 0], done.v[:, 0] = task.q, task.v
    slope = field.slope(at)
    h = adaptive.first_step(pair, field, at, slope, allowed)
    pace = adaptive.Pace(h, np.zeros_like(h))
    rounds, early = 0, False
    try:
        while done.moving.any():
            at, slope, pace = _one_round(task, pair, allowed, done, at, slope, pace)
            rounds, now = rounds + 1, float(at.t[done.moving].min(initial=t[-1]))
            task.report(now)
            require_end(t[0], now, t[-1], rounds)
    except KeyboardInterrupt:
        early = True
    dense = log.dense(NESTED, np.minimum(done.failed, t[-1]), None, task.onto_manifold())
    reached = int(done.due[np.isinf(done.failed)].min(initial=len(t))) if early else None
    return task.motion(pair.name, done.q, done.v, reached, dense=dense, failed=done.failed)


def _one_round(
    task: Task,
    pair: Embedded,
    allowed: tuple[float, float],
    done: _Progress,
    at: Moving,
    slope: adaptive.Slope,
    pace: adaptive.Pace,
) -> tuple[Moving, adaptive.Slope, adaptive.Pace]:
    """Try a step of every state that is not at the end; keep those whose error is allowed."""
    t, last, h = task.t, len(task.t) - 1, pace.h
    # rows of forces have corners at the times, which a step must not cross
    stop = (t[np.minimum(done.due, last)] if task.rows is not None else np.full(len(h), t[-1]))[
        :, None
    ]
    left = stop - at.t
    lands = h * adaptive.STRETCH >= left
    stuck = adaptive.without_progress(at, h, done.moving & ~lands[:, 0])
    done.failed[stuck] = at.t[stuck, 0]
    moving = done.moving
    tried = np.where(moving[:, None], np.where(lands, left, h), 0.0)
    intervals = np.minimum(done.due, last) - 1
    field = task.field(intervals, tried)
    if task.rows is not None:
        slope = field.slope(at)
    try:
        with np.errstate(all="ignore"):
            trial = adaptive.attempt(pair, field, at, slope, allowed)
    except ArgumentError as error:
        if blames_control(error):
            raise
        wild = _too_far(task, pair, allowed, intervals, at, slope, tried)
        return at, slope, pace._replace(h=np.where(wild[:, None], adaptive.SHRINK * tried, h))
    good = moving & (trial.error <= 1.0)
    kept = good[:, None]
    end = _landed(task, field, trial, stop, lands, kept)
    _give(task, pair, field, trial, end, good, done)
    ahead = Moving(*(np.where(kept, new, old) for new, old in zip(end, at, strict=True)))
    if task.manifold is None or not task.manifold.project:  # the acceleration serves again
        after = np.where(kept, trial.slopes[-1][1], slope[1])
    else:
        after = field.slope(ahead)[1]
    wanted = adaptive.next_step(pair, tried, trial.error, pace.past)
    shortened = kept & lands  # says little about the step after it
    h = np.where(shortened, np.maximum(h, wanted.h), wanted.h)
    pace = adaptive.Pace(h, np.where(shortened, pace.past, wanted.past))
    return ahead, (ahead.s, after), pace


def _too_far(
    task: Task,
    pair: Embedded,
    allowed: tuple[float, float],
    intervals: Integers,
    at: Moving,
    slope: adaptive.Slope,
    tried: Array,
) -> Mask:
    """Which states have steps that lead to numbers too large; the others wait meanwhile."""
    wild = np.zeros(len(tried), bool)
    for k in np.flatnonzero(tried[:, 0] > 0):
        alone = np.zeros_like(tried)
        alone[k] = tried[k]
        try:
            with np.errstate(all="ignore"):
                adaptive.attempt(pair, task.field(intervals, alone), at, slope, allowed)
        except ArgumentError as error:
            if blames_control(error):
                raise
            wild[k] = True
    return wild if wild.any() else np.ones(len(tried), bool)


def _landed(
    task: Task, field: Field, trial: adaptive.Trial, stop: Array, lands: Mask, kept: Mask
) -> Moving:
    """The ends of steps, on the manifold where they are kept."""
    end = trial.end._replace(t=np.where(lands, stop, trial.end.t))
    if task.manifold is None or not task.manifold.project:
        return end
    places = np.flatnonzero(kept[:, 0])
    some = Moving(*(x[places] for x in end))
    moved = task._replace(manifold=task.manifold.some(places)).onto(field, some)
    whole = Moving(*(x.copy() for x in end))
    for x, own in zip(whole, moved, strict=True):
        x[places] = own
    return whole


def _give(
    task: Task,
    pair: Embedded,
    field: Field,
    trial: adaptive.Trial,
    end: Moving,
    good: Mask,
    done: _Progress,
) -> None:
    """Write the states at all times that were passed."""
    rates, between, t = None, None, task.t
    if done.log is not None and good.any():
        between, some, start = (
            adaptive.Between.of(pair, field, trial),
            np.flatnonzero(good),
            trial.start,
        )
        begin = (x[some] for x in (start.t[:, 0], field.dt[:, 0], start.q, field.rates(start)))
        done.log.add(some, *begin, np.stack(between.terms, axis=1)[some])
    while True:
        due = np.minimum(done.due, len(t) - 1)
        passed = good & (done.due < len(t)) & (t[due] <= end.t[:, 0])
        if not passed.any():
            return
        exact = passed & (t[due] == end.t[:, 0])
        rows = np.flatnonzero(exact)
        if len(rows):
            rates = field.rates(end) if rates is None else rates
            done.q[rows, due[rows]], done.v[rows, due[rows]] = end.q[rows], rates[rows]
        rows = np.flatnonzero(passed & ~exact)
        if len(rows):
            span = np.where(field.dt == 0.0, 1.0, field.dt)
            x = np.clip((t[due][:, None] - trial.start.t) / span, 0.0, 1.0)
            between = between or adaptive.Between.of(pair, field, trial)
            inner = between.at(x)
            q, v = inner.q[rows], field.rates(inner)[rows]
            if task.manifold is not None and task.manifold.project:
                q, v = task.manifold.some(rows).onto(t[due[rows]], q, v)
            done.q[rows, due[rows]], done.v[rows, due[rows]] = q, v
        done.due[passed] += 1
