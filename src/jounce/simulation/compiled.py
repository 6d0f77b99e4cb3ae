"""Adaptive motions in compiled code, portion by portion.

No Python runs between the steps of a portion. A portion takes some hundredths of a second and ends
at a step, so that Ctrl-C is heard and what was computed before is there.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._types import Array, ArrayLike, Integers, Mask
from jounce.model import Model
from jounce.simulation.arguments import ANY, merged_axes
from jounce.simulation.dense import (
    NESTED,
    SERIES,
    Coefficients,
    Dense,
    Logged,
    Part,
    StepLog,
)
from jounce.simulation.progress import Report, silent
from jounce.simulation.rows import Rows, interval, padded
from jounce.simulation.servo import reference_between
from jounce.simulation.store import blank, room

__all__ = [
    "EFFORT",
    "Followed",
    "Journey",
    "Kernel",
    "Start",
    "embedded",
    "fixed_steps",
    "follow",
    "least",
    "taylor",
    "too_many_steps",
    "without_end",
]

_embedded = _core.raw("embedded_motion", "simulate", inputs="q0 v0 progress plan t room pair hold")
_embedded_step = _core.raw("embedded_step", "simulate", inputs="q v tau dt pair")
_taylor = _core.raw("taylor_motion", "simulate", inputs="q0 v0 progress plan t room order hold")
_taylor_polynomial = _core.raw("taylor_polynomial", "simulate", inputs="q v tau dt order")


class Kernel(NamedTuple):
    """What follows a portion of a motion."""

    portion: Callable[..., tuple[Array, ...]]
    method: Any
    """As it reads it: a packed pair, or an order."""
    terms: int = 0
    """Of the polynomial of a pair; 0 for Taylor's."""


WINDOW, LEAST_WINDOW = 4096, 64
"""Times that a portion is given, at most and at least."""

WRITTEN = 2**22
"""Numbers for which a portion makes room, unless that would be for too few times."""

EFFORT = 20_000
"""Steps times rates of all states in a portion: some hundredths of a second."""

MOST_STEPS = 1e10
"""Steps to the last time that nobody means: at the pace of a fast machine, a day."""
SOME_STEPS = 1000
"""After so many their pace is known."""

ROOM = 512
"""Steps of a state in a portion that keeps them."""

DUE, STATUS, STEPS = 2, 3, 5
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
    q_ref: Array | None = None
    """(..., T, nq) references of servos."""
    servo: Array | None = None
    """(..., 8, nv), see `jounce.simulation.control.ControlInputs`."""
    prescribed: Mask | None = None
    corners: bool = True
    """Whether the rows have corners at the times, where steps then end."""

    @property
    def lead(self) -> tuple[int, ...]:
        """The leading axes of states and forces; of states that do not fit none, as the core says.

        Raises:
            ArgumentError: those of the forces do not fit.
        """
        states: tuple[int, ...] = ()
        with suppress(ValueError):  # rows of different lengths, or axes that do not fit
            q, v = np.shape(self.q), np.shape(self.v)
            if len(q) > 1 or len(v) > 1:
                states = np.broadcast_shapes(q[:-1], v[:-1])
        for rows in (self.rows, self.q_ref, self.servo):
            if rows is not None:
                states = merged_axes(states, rows.shape[:-2])
        return states

    @property
    def hold(self) -> int:
        """1: rows are linear between times."""
        return int(self.rows is not None and Rows(self.t, self.rows).linear)

    def acting(self, states: Integers, t: Array, h: Array) -> dict[str, Any]:
        """What acts on some states (m,) of the batch in steps from t (m,), for kernels of a step.

        Forces (m, 2, nv) and references (m, 2, nq) at the ends of the steps, servos (m, 8, nv).
        """
        lead = self.lead or (1,)
        of, k, ends = np.unravel_index(states, lead), interval(self.t, t), (t, t + h)

        def of_all(x: Array) -> Array:
            return np.broadcast_to(x, (*lead, *x.shape[-2:]))

        found: dict[str, Any] = {"tau": np.zeros((len(t), 2, self.model.nv))}
        if self.rows is not None:
            rows = Rows(self.t, of_all(self.rows))
            found["tau"] = np.stack([rows.at(x, k, of) for x in ends], axis=1)
        if self.q_ref is not None:
            rows = Rows(self.t, of_all(self.q_ref))
            both = [reference_between(self.model, rows, x, k, of) for x in ends]
            found["q_ref"] = np.stack(both, axis=1)
        if self.servo is not None:
            found["servo"] = of_all(self.servo)[of]
        return found

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


class Journey(NamedTuple):
    """How states went."""

    q: Array
    """(..., T, nq); NaN where a state goes no further, and after the times that were reached there
    may be anything."""
    v: Array
    reached: int
    """How many times were reached before Ctrl-C, by all states that went on."""
    dense: Callable[[], Dense | None] | None
    """`Logged`, unless all times were reached at once."""
    stuck: Array | None
    """(n,) when a state went no further, else infinity; None if all went on."""
    reasons: dict[int, str]
    """Why, of states that would have taken too many steps."""


def embedded(packed: Array, terms: int) -> Kernel:
    """Return that of a Runge-Kutta pair, given as numbers, whose polynomial has so many terms."""
    return Kernel(_embedded, packed, terms)


def taylor(order: int) -> Kernel:
    """Return that of Taylor steps with coefficients of the rates up to an order."""
    return Kernel(_taylor, order)


def without_end(begun: float, now: Array, end: float, steps: int) -> Mask:
    """Which states would never reach the last time, by the times at which their steps led them."""
    hopeless: Mask = end - now > MOST_STEPS * ((now - begun) / steps)
    return hopeless if steps >= SOME_STEPS else np.zeros_like(hopeless)


def too_many_steps(state: int, now: float, end: float, steps: int) -> str:
    """What is said of a state that would never reach the last time."""
    return (
        f"after {steps} steps the motion of state {state} is at t = {now:.9g} s, and to the last "
        f"time, {end:.9g} s, it would take more than {MOST_STEPS:.0e}: give a nearer last time, or "
        "larger rtol and atol"
    )


def follow(
    kernel: Kernel,
    start: Start,
    allowed: tuple[float, float],
    report: Report = silent,
    *,
    keep: bool = False,
) -> Journey:
    """Follow all states to the last time, or as far as they get, or until Ctrl-C.

    Args:
        kernel: the method.
        start: the states and what acts.
        allowed: relative and absolute tolerance.
        report: is told the time that all states have reached.
        keep: whether to keep the steps for the dense output.

    Raises:
        ArgumentError: states or forces of the wrong shape, or not finite.
        SingularError: a joint moves no inertia.
    """
    way = _Way(kernel, start, allowed, keep=keep)
    with suppress(KeyboardInterrupt):
        while not way.arrived:
            way.receive(*way.portion())
            if not way.at_once:
                way.tell(report)
    return way.journey()


class _Way:
    """States on their way to the last time."""

    def __init__(
        self, kernel: Kernel, start: Start, allowed: tuple[float, float], *, keep: bool
    ) -> None:
        t, rows = start.t, start.rows
        self.kernel, self.start, self.keep = kernel, start, keep
        self.rows = None if rows is None else padded(rows, len(t))
        self.count = math.prod(start.lead)
        steps = max(1, EFFORT // max(1, self.count * start.model.nv))
        self.steps = min(steps, ROOM) if keep else steps
        """That a state takes in a portion."""
        ends = rows is not None and start.corners
        self.plan = np.array((*allowed, t[-1], self.steps, start.passive, ends))
        self.room = np.zeros(max(2, self.steps) if keep else 1)
        self.options: dict[str, Any] = {"threads": start.threads}
        if kernel.terms:
            self.options["prescribed"] = start.prescribed

        self.q, self.v = start.q, start.v
        self.progress = np.array((t[0], 0.0, 1.0, 0.0, 0.0, 0.0))
        self.low, self.taken = 1, 0
        """The first time that a state on its way has not reached, and the steps until now."""
        self.done: Followed | None = None
        self.at_once = False
        """Whether all times were reached in the first portion."""
        self.stuck: Array | None = None
        self.reasons: dict[int, str] = {}
        begun = np.empty(self.count if keep else 0)
        begun.fill(t[0])
        self.log = StepLog(start.model, begun)
        wide = self.count * (start.model.nq + start.model.nv)
        self.window = min(max(WRITTEN // max(1, wide), LEAST_WINDOW), WINDOW)
        """Times that a portion is given."""

    @property
    def arrived(self) -> bool:
        """Whether no state has a time before it."""
        return self.low >= len(self.start.t)

    def portion(self) -> tuple[slice, Array, Array]:
        """Take some steps; return a window of the times, and what was written there."""
        window = slice(self.low - 1, self.low - 1 + self.window)
        start, kernel = self.start, self.kernel
        some, refs = _within(window, self.rows), _within(window, start.q_ref)
        q, v, self.q, self.v, self.progress, *kept = kernel.portion(
            start.model, self.q, self.v, self.progress, self.plan, start.t[window], self.room,
            kernel.method, start.hold, tau=some, q_ref=refs, servo=start.servo, **self.options,
        )  # fmt: skip
        self.taken += self.steps
        if self.keep:
            counts = self.progress[..., STEPS].copy()
            self.log.parts.append(partial(_steps_taken, counts, *kept))
        return window, q, v

    def receive(self, window: slice, q: Array, v: Array) -> None:
        """Store what a portion wrote, and see how far the states are."""
        due, count = self.progress[..., DUE], len(self.start.t)
        if self.done is None and window.start + least(due) >= count:
            self.done, self.at_once, self.low = Followed(q, v, due), True, count
            return
        self._log_ends()
        self._give_up(due < q.shape[-2])
        lost = self.lost
        if lost.any():
            self.stuck = np.full(self.count, np.inf) if self.stuck is None else self.stuck
            self.stuck[lost.ravel()] = self.progress[..., 0][lost]
            self.progress[lost] = np.nan_to_num(self.progress[lost])  # of steps that overflowed
        self.low = window.start + least(due[~lost])
        written = due.astype(int) + window.start
        self.done = self.done or _nothing(q, v, count)
        _keep(self.done, q, v, window, written)
        due[...] = written - (self.low - 1)

    def _log_ends(self) -> None:
        """See where the steps of the last portion end; after Ctrl-C before it, those before it."""
        if self.keep:
            part = self.log.part(-1)
            self.log.ends[part[0]] = part[1] + part[2]

    def _give_up(self, moving: Mask) -> None:
        """End states that would never arrive; those that wait for others say nothing."""
        t, now = self.start.t, self.progress[..., 0]
        hopeless = without_end(t[0], now, t[-1], self.taken) & moving & ~self.lost
        self.progress[..., STATUS][hopeless] = STUCK
        for k in np.flatnonzero(hopeless):
            told = int(k), float(now.ravel()[k]), float(t[-1]), self.taken
            self.reasons[int(k)] = too_many_steps(*told)

    @property
    def lost(self) -> Mask:
        """Which states go no further."""
        stuck: Mask = self.progress[..., STATUS] == STUCK
        return stuck

    def tell(self, report: Report) -> None:
        """Report the time that all states on their way have reached."""
        going = self.progress[~self.lost]
        if len(going):
            report(float(going[:, 0].min()))

    def journey(self) -> Journey:
        """How far the states got."""
        t, stuck, known = self.start.t, self.stuck, (self.kernel, self.start, self.log)
        if self.at_once and self.done is not None:
            later = cache(lambda: _dense(*known, None)()) if self.keep else None
            return Journey(self.done.q, self.done.v, len(t), later, None, {})
        dense = _dense(*known, stuck) if self.keep else None
        q, v, due = self.done or _nothing(*self.start.first(), min(2, len(t)))
        going_on = due if stuck is None else due[np.isinf(stuck).reshape(due.shape)]
        reached = min(least(going_on), len(t))
        blank((_flat(q), _flat(v)), due.ravel(), reached)
        return Journey(q, v, reached, dense, stuck, self.reasons)


def _within(window: slice, rows: Array | None) -> Array | None:
    return None if rows is None else np.ascontiguousarray(rows[..., window, :])


def _steps_taken(counts: Array, *kept: Array) -> Part:
    """The steps that were taken in a portion, so many (...) of each state."""
    count = counts.ravel().astype(int)
    times, q, v = (x.reshape(len(count), *x.shape[-2:]) for x in kept)
    taken = np.arange(times.shape[1]) < count[:, None]
    states = np.repeat(np.arange(len(count)), count)
    return states, *times[taken].T, q[taken], v[taken]


def _dense(kernel: Kernel, start: Start, log: StepLog, stuck: Array | None) -> Logged:
    """The dense output of steps that were kept; their polynomials are computed when asked for."""
    model, last = start.model, start.t[-1]
    end = np.full(len(log.ends), last) if stuck is None else np.minimum(stuck, last)
    options: dict[str, Any] = {"passive": int(start.passive), "threads": start.threads}

    def make(steps: Dense) -> Callable[[Integers], Coefficients]:
        def made(some: Integers) -> Coefficients:
            t, h = steps.t[some], steps.h[some]
            given = {**start.acting(steps.states(some), t, h), **options}
            at = steps.q[some], steps.v[some], given.pop("tau"), h
            if not kernel.terms:
                coordinates, rates = _taylor_polynomial(model, *at, kernel.method, **given)
                return coordinates, rates
            mask = start.prescribed
            terms = _embedded_step(model, *at, kernel.method, prescribed=mask, **given)
            return (np.ascontiguousarray(terms[:, : kernel.terms]),)

        return made

    return Logged(log, NESTED if kernel.terms else SERIES, end, make)


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
    plan = np.array((ANY, ANY, t[-1], len(t), 0.0, 1.0))
    progress = np.array((t[0], 0.0, 1.0, 0.0, 0.0, 0.0))
    to_q, to_v, _, _, progress, *_ = _taylor(
        model, q, v, progress, plan, t, np.zeros(1), order, hold, tau=rows, threads=threads
    )
    return to_q, to_v, progress[..., DUE]


def least(due: Integers | Array) -> int:
    """Return the least of some whole numbers; where there are none, more than there are times."""
    if due.ndim == 0:
        return int(due)
    return int(due.min(initial=sys.maxsize))


def _nothing(q: Array, v: Array, count: int) -> Followed:
    """Return the first of some states (..., K, n), and room for as many as there are times."""
    lead = q.shape[:-2]
    q, v = (room(_flat(x)[:, 0], count).reshape(*lead, count, x.shape[-1]) for x in (q, v))
    return Followed(q, v, np.ones(lead, int))


def _flat(x: Array) -> Array:
    """(n, T, size) of states with any leading axes."""
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:])


def _keep(done: Followed, q: Array, v: Array, window: slice, now: Integers) -> None:
    """Store the rows of a portion that each state wrote."""
    begin, count = done.due.ravel(), np.maximum(now - done.due, 0).ravel()
    states = np.repeat(np.arange(len(count)), count)
    rows = np.arange(len(states)) + np.repeat(begin - (np.cumsum(count) - count), count)
    for to, x in ((done.q, q), (done.v, v)):
        _flat(to)[states, rows] = _flat(x)[states, rows - window.start]
    done.due[...] = now
