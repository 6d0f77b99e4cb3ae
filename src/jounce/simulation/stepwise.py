"""Adaptive steps with Python between them, for functions and constraints."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jounce._types import Array, Integers, Mask
from jounce.errors import ArgumentError
from jounce.simulation import adaptive
from jounce.simulation.adaptive import Embedded
from jounce.simulation.arguments import ControlError
from jounce.simulation.compiled import too_many_steps, without_end
from jounce.simulation.dense import NESTED, Logged, StepLog
from jounce.simulation.field import Field, Moving
from jounce.simulation.interrupted import with_motion
from jounce.simulation.motion import SimulatedMotion
from jounce.simulation.store import blank, room
from jounce.simulation.task import Task, too_far

__all__ = ["by_adaptive_steps"]


class _Progress(NamedTuple):
    """How far each state is: the next of the times that it has to give."""

    q: Array
    v: Array
    due: Integers
    failed: Array
    """(n,) when it went no further, else infinity."""
    log: StepLog | None
    reasons: dict[int, str]
    """Why, of states that would have taken too many steps."""
    refused: list[tuple[ControlError, Array]]
    """An error of the control in a step that was tried, and the times (n,) where that led to."""

    def refuse(self, error: Exception, ends: Array) -> None:
        """Remember that a step led to numbers too large, or to where the control has no forces.

        Raises:
            ControlError: it is no matter of numbers.
        """
        if isinstance(error, ControlError):
            if not isinstance(error.error, ArgumentError):
                raise error
            self.refused[:] = [(error, ends)]

    def end(self, stuck: Integers, at: Array) -> None:
        """End states whose steps cannot become shorter.

        Raises:
            ControlError: the control refused a longer one, and nothing went beyond that.
        """
        if self.refused and (at >= self.refused[0][1])[self.moving].all():
            self.refused.clear()
        if self.refused and len(stuck):
            raise self.refused[0][0]
        self.failed[stuck] = at[stuck]

    def give_up(self, t: Array, now: Array, rounds: int) -> None:
        """End states that would never reach the last of the times, by where (n,) they are."""
        for k in np.flatnonzero(without_end(t[0], now, t[-1], rounds) & self.moving).tolist():
            self.failed[k] = now[k]
            self.reasons[k] = too_many_steps(k, float(now[k]), float(t[-1]), rounds)

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
    log = StepLog(task.model, np.full(n, t[0]))
    done = _Progress(
        room(task.q, len(t)),
        room(task.v, len(t)),
        np.ones(n, int),
        np.full(n, np.inf),
        log if keep else None,
        {},
        [],
    )
    rounds, early, broken = 0, False, None
    try:
        slope = field.slope(at)
        h = adaptive.first_step(pair, field, at, slope, allowed)
        pace = adaptive.Pace(h, np.zeros_like(h))
        while done.moving.any():
            at, slope, pace = _one_round(task, pair, allowed, done, at, slope, pace)
            rounds, now = rounds + 1, float(at.t[done.moving].min(initial=t[-1]))
            task.report(now)
            done.give_up(t, at.t[:, 0], rounds)
    except KeyboardInterrupt:
        early = True
    except Exception as error:  # of the control: what was computed goes with it
        early, broken = True, error
    end, onto = np.minimum(done.failed, t[-1]), task.onto_manifold()
    dense = Logged(log, NESTED, end, None, onto) if keep else None
    reached = int(done.due[np.isinf(done.failed)].min(initial=len(t))) if early else None
    blank((done.q, done.v), done.due, len(t) if reached is None else reached)
    ends: dict[str, Any] = {"failed": done.failed, "reasons": done.reasons}
    motion = task.motion(pair.name, done.q, done.v, reached, dense=dense, **ends)
    if broken is not None:
        raise with_motion(broken, motion)
    return motion


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
    done.end(adaptive.without_progress(at, h, done.moving & ~lands[:, 0]), at.t[:, 0])
    moving = done.moving
    tried = np.where(moving[:, None], np.where(lands, left, h), 0.0)
    intervals = np.minimum(done.due, last) - 1
    field = task.field(intervals, tried)
    if task.rows is not None:
        slope = field.slope(at)

    def attempt(which: Mask) -> adaptive.Trial:
        alone = task.field(intervals, np.where(which[:, None], tried, 0.0))
        return adaptive.attempt(pair, alone, at, slope, allowed)

    trial = None
    try:
        with np.errstate(all="ignore"):
            trial = adaptive.attempt(pair, field, at, slope, allowed)
    except (ArgumentError, ControlError) as error:
        done.refuse(error, (at.t + tried)[:, 0])
    if trial is None:  # after that error is gone, which is not what led to others
        wild = too_far(attempt, tried[:, 0] > 0)
        return at, slope, pace._replace(h=np.where(wild[:, None], adaptive.SHRINK * tried, h))
    good = moving & (trial.error <= 1.0)
    kept = good[:, None]
    end = task.onto(field, trial.end._replace(t=np.where(lands, stop, trial.end.t)), good)
    _give(task, pair, field, trial.only(good), end, good, done)
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
