"""Simulations by steps of equal length, compiled or with Python at each stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from jounce._types import Array, Integers, Mask
from jounce.errors import ArgumentError
from jounce.simulation.answer import Known
from jounce.simulation.dense import NESTED, Coefficients, Dense, Logged, StepLog, fitting
from jounce.simulation.field import Field, Moving
from jounce.simulation.interrupted import with_motion
from jounce.simulation.methods import Geometric, Method, advance
from jounce.simulation.motion import SimulatedMotion
from jounce.simulation.rollout_call import RolloutCall, require_simple, time_step
from jounce.simulation.rows import interval
from jounce.simulation.store import PORTION, blank, room
from jounce.simulation.task import ENORMOUS, Task, too_far

__all__ = ["by_fixed_steps", "step_counts"]

Result = TypeVar("Result")

MOST_STEPS = 1e9
"""Steps in one interval that nobody means."""


def by_fixed_steps(
    task: Task, method: Method | Geometric, dt: float, *, keep: bool
) -> SimulatedMotion:
    """Equal steps in each interval; compiled if what acts is known.

    A state that fails does not end the others.
    """
    if task.known is None and isinstance(method, Geometric):
        raise ArgumentError(
            f"method {method.name!r} takes no function as control, nor constraints, nor a "
            "jounce.Control of a model with coupled joints"
        )
    n, t = len(task.q), task.t
    counts, failed = step_counts(t, dt), np.full(n, np.inf)
    q, v, due = room(task.q, len(t)), room(task.v, len(t)), np.ones(n, int)
    log, reached, broken = _Log(task), None, None
    k = 0
    try:
        for k, count in enumerate(counts):
            some = np.flatnonzero(np.isinf(failed))
            if n and not len(some):
                break
            own = _Interval(task, method, k, int(count), keep)
            step = own.by_function if task.known is None else own.compiled
            steps = step(some, q[some, k], v[some, k])
            q[some, k + 1], v[some, k + 1] = steps.q[:, -1], steps.v[:, -1]
            due[some] = k + 2
            lost = steps.failed >= 0
            failed[some[lost]] = own.begin + own.h * steps.failed[lost]
            if keep:
                log.add(steps, some, own.begin, own.h)
            task.report(float(t[k + 1]))
    except KeyboardInterrupt:
        reached = k + 1
    except _CutError as cut:
        reached, broken = k + 1, cut.error
        if keep:
            log.add(cut.steps, some, own.begin, own.h)
    blank((q, v), due, len(t) if reached is None else reached)
    dense = log.dense() if keep else None
    ends: dict[str, Any] = {"dense": dense, "failed": failed, "why": _not_finite}
    motion = task.motion(method.name, q, v, reached, **ends)
    if broken is not None:
        raise with_motion(broken, motion)
    return motion


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


class _CutError(Exception):
    """An error of a control in the middle of an interval, and the steps before it."""

    def __init__(self, error: Exception, steps: _Stepped) -> None:
        super().__init__(str(error))
        self.error, self.steps = error, steps


class _Log:
    """Fixed steps as they are taken. Each state is kept once: a step ends where the next begins."""

    def __init__(self, task: Task) -> None:
        self.task, self.steps = task, StepLog(task.model, np.full(len(task.q), task.t[0]))
        self.last = [np.copy(x) for x in (task.q, task.v, np.zeros_like(task.v))]
        """Where the last step of each state leads: coordinates, rates, accelerations."""
        self.known = np.full(len(task.q), task.t[-1])
        """How far the steps of each state are known."""

    def add(self, steps: _Stepped, states: Integers, begin: float, h: float) -> None:
        """Keep the good steps of an interval, with their accelerations if these are known."""
        count = steps.q.shape[1] - 1
        given = (steps.q, steps.v) if steps.a is None else (steps.q, steps.v, steps.a)
        good = np.ones((len(states), count), bool)
        with np.errstate(invalid="ignore"):
            for x in given[1:]:
                good &= np.abs(x[:, 1:]).max(axis=-1, initial=0.0) < ENORMOUS  # NaN is not
        good = np.logical_and.accumulate(good, axis=1)
        lengths, (row, number) = good.sum(axis=1), np.nonzero(good)
        kept = [x[row, number] for x in given]
        if steps.a is not None and self.task.rows is not None:  # they jump between intervals
            kept.append(steps.a[row, number + 1])
        t: Array = begin + h * number.astype(float)
        after = [x.copy() for x in self.last]
        for last, x in zip(after, given, strict=False):
            last[states] = x[np.arange(len(states)), lengths]
        every_h: Array = np.broadcast_to(np.float64(h), t.shape)  # one number, for all of them
        self.steps.add(states[row], t, every_h, kept[0], kept[1], *kept[2:])
        self.last = after
        self.known[states[lengths < count]] = (begin + h * lengths)[lengths < count]

    def dense(self) -> Logged:
        """The dense output: ends of steps are joined by polynomials when these are asked for."""
        onto = self.task.onto_manifold()
        return Logged(self.steps, NESTED, self.known, self._fitted, onto, self.last)

    def _fitted(self, steps: Dense) -> Callable[[Integers], Coefficients]:
        task, last, a = self.task, self.last, steps.made
        assert not callable(a)

        def made(some: Integers) -> Coefficients:
            h, states = steps.h[some], steps.states(some)
            final, after = some + 1 == steps.first[states + 1], (some + 1) % len(steps.t)
            columns = steps.q, steps.v, *a[:1]
            begin = [x[some] for x in columns]
            end = [
                np.where(final[:, None], x[states], y[after])
                for x, y in zip(last, columns, strict=False)
            ]
            if len(a) == 2:
                end[2] = a[1][some]
            elif not a:
                k = interval(task.t, steps.t[some] + 0.5 * h)
                assert task.known is not None
                for at, t in ((begin, steps.t[some]), (end, steps.t[some] + h)):
                    moving = task.model, states, k, (t, *at), task.threads
                    at.append(task.known.accelerations(*moving))
            return (fitting(task.model, h, begin, end),)

        return made


def step_counts(t: Array, dt: float) -> Integers:
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


class _Interval(NamedTuple):
    """Equal steps from a time to the next."""

    task: Task
    method: Method | Geometric
    k: int
    steps: int
    """How many."""
    keep: bool
    """Whether the states in between are wanted."""

    @property
    def begin(self) -> float:
        """When it begins."""
        return float(self.task.t[self.k])

    @property
    def h(self) -> float:
        """Length of a step."""
        return float((self.task.t[self.k + 1] - self.task.t[self.k]) / self.steps)

    def compiled(self, some: Integers, q: Array, v: Array) -> _Stepped:
        """Take the steps of some states, under what is known beforehand."""
        known, count = self.task.known, self.steps
        assert known is not None
        fixed = known.rows is None and known.q_ref is None
        acting = 0 if fixed else len(some) * self.task.model.nv
        portion = max(1, PORTION // max(1, acting))
        if portion >= count:
            return self._compiled(known, some, q, v, range(count))
        return self._in_portions(known, some, q, v, portion)

    def _in_portions(
        self, known: Known, some: Integers, q: Array, v: Array, portion: int
    ) -> _Stepped:
        """The same, so many steps at once: their forces are made one portion after the other."""
        count, n = self.steps, len(some)
        stored = count + 1 if self.keep else 2
        out = _Stepped(room(q, stored), room(v, stored), None, np.full(n, -1))
        due, going = np.full(n, stored), np.arange(n)
        for first in range(0, count, portion):
            steps = range(first, min(first + portion, count))
            own = self._compiled(known, some[going], q, v, steps)
            rows = slice(first + 1, steps.stop + 1) if self.keep else slice(1, 2)
            out.q[going, rows], out.v[going, rows] = own.q[:, 1:], own.v[:, 1:]
            good = own.failed < 0
            lost, at = going[~good], first + own.failed[~good]
            out.failed[lost], due[lost] = at, at + 1 if self.keep else 1
            q, v, going = own.q[good, -1], own.v[good, -1], going[good]
            if not len(going):
                break
        blank((out.q, out.v), due, stored)
        return out

    def _compiled(self, known: Known, some: Integers, q: Array, v: Array, steps: range) -> _Stepped:
        """Some of the steps."""
        task, count = self.task, len(steps)
        when = self.begin + self.h * (steps.start + np.arange(count + known.linear, dtype=float))
        inputs = known.at(task.model, when, np.full(len(when), self.k), some[:, None])
        if isinstance(self.method, Geometric):
            require_simple(self.method, inputs)
        choices = self.method, 1 if self.keep else count, int(known.linear), None
        call = RolloutCall(q, v, time_step(self.h), *choices, inputs)
        to_q, to_v, failed = call.run(task.model, threads=task.threads)
        return _Stepped(to_q, to_v, None, np.asarray(failed).astype(int))

    def by_function(self, some: Integers, q: Array, v: Array) -> _Stepped:
        """The same with forces that depend on the state."""
        walk, n, count, keep = _Walk(self, some, q, v), len(self.task.q), self.steps, self.keep
        stored, failed = count + 1 if keep else 2, np.full(n, -1)
        to_q, to_v, to_a = (np.full((n, stored, x.shape[1]), np.nan) for x in (q, v, v))
        to_q[some, 0], to_v[some, 0] = q, v
        j, broken = 0, None
        try:
            for j in range(count):
                before = walk.moving
                if keep and (a := walk.others_go_on(walk.acceleration)) is not None:
                    to_a[:, j] = a
                walk.step()
                if walk.moving is not before:
                    failed[before & ~walk.moving] = j
                if keep or j == count - 1:
                    row = j + 1 if keep else 1
                    to_q[:, row], to_v[:, row] = walk.at.q, walk.rates()
            if keep and (a := walk.others_go_on(walk.acceleration)) is not None:
                to_a[:, count] = a
        except Exception as error:  # the rows after it are NaN, and are not kept
            broken = error
        first = np.where(failed < 0, stored, failed if keep else 0)  # that is not known after it
        for to in (to_q, to_v):
            to[np.arange(stored) > first[:, None]] = np.nan
        steps = _Stepped(to_q[some], to_v[some], to_a[some] if keep else None, failed[some])
        if broken is not None:
            raise _CutError(broken, steps)
        return steps


class _Walk:
    """Fixed steps of an interval under forces that depend on the state.

    These are asked for all states at once. States that fail wait where they began at the first
    time, in steps of no length, for the others to go on.
    """

    def __init__(self, own: _Interval, some: Integers, q: Array, v: Array) -> None:
        assert isinstance(own.method, Method)
        task, self.method, self.k, self.h = own.task, own.method, own.k, own.h
        self.task = task
        self.moving = np.isin(np.arange(len(task.q)), some)
        self.last: tuple[Mask, Field] | None = None
        begin = np.full((len(task.q), 1), own.begin)
        self.waiting = self.field(self.moving).start(begin, task.q, task.v)
        self.at = Moving(*(x.copy() for x in self.waiting))
        there = self.field(self.moving).start(begin[some], q, v)
        for x, y in zip(self.at, there, strict=True):
            x[some] = y

    def field(self, which: Mask) -> Field:
        """The field in which some states move."""
        if self.last is None or self.last[0] is not which:
            dt = np.where(which, self.h, 0.0)[:, None]
            self.last = which, self.task.field(np.full(len(which), self.k), dt)
        return self.last[1]

    def begin(self, which: Mask) -> Moving:
        """Where some states are, and the others wait."""
        if which.all():
            return self.at
        both = zip(self.at, self.waiting, strict=True)
        return Moving(*(np.where(which[:, None], x, y) for x, y in both))

    def rates(self) -> Array:
        """Body-fixed rates of all states."""
        return self.field(self.moving).rates(self.at)

    def acceleration(self, which: Mask) -> Array:
        """Accelerations of some states."""
        return self.field(which).acceleration(self.begin(which))

    def end(self, which: Mask) -> Moving:
        """Some states after a step."""
        field = self.field(which)
        return self.task.onto(field, advance(self.method, field, self.begin(which)), which)

    def step(self) -> None:
        """Take a step of all states that move; those that lead to no numbers stop."""
        end = self.others_go_on(self.end)
        if end is not None:
            self.at = end
            if not (np.isfinite(end.q).all() and np.isfinite(end.s).all()):
                finite = np.isfinite(end.q).all(axis=-1) & np.isfinite(end.s).all(axis=-1)
                self.moving = self.moving & finite

    def others_go_on(self, attempt: Callable[[Mask], Result]) -> Result | None:
        """What is tried with all states that move, less those that cannot; None without any."""
        with np.errstate(all="ignore"):
            try:
                return attempt(self.moving) if self.moving.any() else None
            except ArgumentError:  # numbers too large for a step
                pass
            self.moving = self.moving & ~too_far(attempt, self.moving)
            return attempt(self.moving) if self.moving.any() else None
