"""Simulations step by step in Python: fixed steps, adaptive ones with functions or constraints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce._types import Array, Integers, Mask
from jounce.errors import ArgumentError, DivergenceError
from jounce.simulation import adaptive
from jounce.simulation.adaptive import Embedded
from jounce.simulation.compiled import require_end
from jounce.simulation.field import Field, Moving
from jounce.simulation.methods import Geometric, Method, advance
from jounce.simulation.motion import SimulatedMotion
from jounce.simulation.stepping import rollout
from jounce.simulation.task import Task, blames_control

__all__ = ["by_adaptive_steps", "by_fixed_steps"]

MOST_STEPS = 1e9
"""Steps in one interval that nobody means."""


def by_fixed_steps(task: Task, method: Method | Geometric, dt: float) -> SimulatedMotion:
    """Equal steps in each interval; compiled if no function is asked."""
    if task.is_function and isinstance(method, Geometric):
        raise ArgumentError(
            f"method {method.name!r} takes no function as control, nor passive=True, nor "
            "constraints"
        )
    shape = len(task.q), len(task.t)
    q, v = np.empty((*shape, task.model.nq)), np.empty((*shape, task.model.nv))
    q[:, 0], v[:, 0] = task.q, task.v
    counts = _steps(task.t, dt)
    step = _step_by_function if task.is_function else _step_compiled
    for k, count in enumerate(counts):
        try:
            q[:, k + 1], v[:, k + 1] = step(task, method, k, int(count), q[:, k], v[:, k])
        except KeyboardInterrupt:
            return task.motion(method.name, q, v, k + 1)
        task.report(float(task.t[k + 1]))
    return task.motion(method.name, q, v)


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
    task: Task, method: Method | Geometric, k: int, count: int, q: Array, v: Array
) -> tuple[Array, Array]:
    """All steps of an interval, with forces that are known beforehand."""
    h = (task.t[k + 1] - task.t[k]) / count
    linear = task.rows is not None and task.rows.shape[1] == len(task.t)
    tau = np.zeros((count + linear, task.model.nv))
    if task.rows is not None:
        first = task.rows[:, k, None]
        tau = tau + first
        if linear:
            share = (np.arange(count + 1) / count)[:, None]
            tau += share * (task.rows[:, k + 1, None] - first)
    options = {"every": count, "hold": "first" if linear else "zero", "threads": task.threads}
    end = rollout(task.model, q, v, tau, h, method=method.name, **options)  # type: ignore[arg-type]
    return end.q[:, -1], end.v[:, -1]


def _step_by_function(
    task: Task, method: Method | Geometric, k: int, count: int, q: Array, v: Array
) -> tuple[Array, Array]:
    """The same with forces that depend on the state."""
    assert isinstance(method, Method)
    h = np.full((len(q), 1), (task.t[k + 1] - task.t[k]) / count)
    field = task.field(np.full(len(q), k), h)
    at = field.start(np.full((len(q), 1), task.t[k]), q, v)
    try:
        with np.errstate(all="ignore"):
            for _ in range(count):
                at = task.onto(field, advance(method, field, at))
    except ArgumentError as error:
        if blames_control(error):
            raise
        raise DivergenceError(
            f"the motion leads to numbers that are not finite between t = {task.t[k]:.9g} s and "
            f"{task.t[k + 1]:.9g} s: take a shorter dt, or a method with adaptive steps"
        ) from None
    return at.q, field.rates(at)


class _Progress(NamedTuple):
    """How far each state is: the next of the times that it has to give."""

    q: Array
    v: Array
    due: Integers


def by_adaptive_steps(task: Task, pair: Embedded, allowed: tuple[float, float]) -> SimulatedMotion:
    """Each state takes its own steps; those that have arrived wait with steps of no length."""
    n, t = len(task.q), task.t
    field = task.field(np.zeros(n, int), np.zeros((n, 1)))
    at = field.start(np.full((n, 1), t[0]), task.q, task.v)
    done = _Progress(
        np.full((n, len(t), task.model.nq), np.nan),
        np.full((n, len(t), task.model.nv), np.nan),
        np.ones(n, int),
    )
    done.q[:, 0], done.v[:, 0] = task.q, task.v
    slope = field.slope(at)
    h = adaptive.first_step(pair, field, at, slope, allowed)
    pace = adaptive.Pace(h, np.zeros_like(h))
    rounds = 0
    try:
        while (done.due < len(t)).any():
            at, slope, pace = _one_round(task, pair, allowed, done, at, slope, pace)
            rounds, now = rounds + 1, float(at.t.min())
            task.report(now)
            require_end(t[0], now, t[-1], rounds)
    except KeyboardInterrupt:
        return task.motion(pair.name, done.q, done.v, int(done.due.min()))
    return task.motion(pair.name, done.q, done.v)


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
    moving = done.due <= last
    # rows of forces have corners at the times, which a step must not cross
    stop = (t[np.minimum(done.due, last)] if task.rows is not None else np.full(len(h), t[-1]))[
        :, None
    ]
    left = np.where(moving[:, None], stop - at.t, 0.0)
    lands = h * adaptive.STRETCH >= left
    tried = np.where(lands, left, h)
    field = task.field(np.minimum(done.due, last) - 1, tried)
    adaptive.require_progress(at, tried, moving & ~lands[:, 0])
    if task.rows is not None:
        slope = field.slope(at)
    try:
        with np.errstate(all="ignore"):
            trial = adaptive.attempt(pair, field, at, slope, allowed)
    except ArgumentError as error:
        if blames_control(error):
            raise
        # numbers too large: the steps were too long
        return at, slope, pace._replace(h=adaptive.SHRINK * tried)
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
