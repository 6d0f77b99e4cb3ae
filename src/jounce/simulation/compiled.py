"""Adaptive motions in compiled code, portion by portion.

No Python runs between the steps of a portion. A portion takes some hundredths of a second and ends
at a step, so that Ctrl-C is heard and what was computed before is there.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._types import Array, ArrayLike, Integers, Mask
from jounce.errors import DivergenceError
from jounce.model import Model
from jounce.simulation.arguments import ANY, merged_axes
from jounce.simulation.dense import NESTED, SERIES, Coefficients, Dense, StepLog
from jounce.simulation.progress import Report, silent
from jounce.simulation.servo import reference_between

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
    "padded",
    "require_end",
    "taylor",
]

_embedded = _core.raw("embedded_motion", "simulate")
_embedded_step = _core.raw("embedded_step", "simulate")
_taylor = _core.raw("taylor_motion", "simulate")
_taylor_polynomial = _core.raw("taylor_polynomial", "simulate")


class Kernel(NamedTuple):
    """What follows a portion of a motion."""

    portion: Callable[..., tuple[Array, ...]]
    method: Any
    """As it reads it: a packed pair, or an order."""
    terms: int = 0
    """Of the polynomial of a pair; 0 for Taylor's."""


WINDOW = 4096
"""Times that a portion is given."""

EFFORT = 20_000
"""Steps times rates of all states in a portion: some hundredths of a second."""

MOST_STEPS = 1e12
"""Steps to the last time that nobody means: at the pace of a fast machine, months."""
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
            states = np.broadcast_shapes(np.shape(self.q)[:-1], np.shape(self.v)[:-1])
        for rows in (self.rows, self.q_ref, self.servo):
            if rows is not None:
                states = merged_axes(states, rows.shape[:-2])
        return states

    @property
    def hold(self) -> int:
        """1: rows are linear between times."""
        return int(self.rows is not None and self.rows.shape[-2] == len(self.t))

    def acting(self, states: Integers, t: Array, h: Array) -> dict[str, Any]:
        """What acts on some states (m,) of the batch in steps from t (m,), for kernels of a step.

        Forces (m, 2, nv) and references (m, 2, nq) at the ends of the steps, servos (m, 8, nv).
        """
        times, at = self.t, np.unravel_index(states, self._some_lead)
        k = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2)
        span = times[k + 1] - times[k]
        ends = [((x - times[k]) / span)[:, None] for x in (t, t + h)]
        found: dict[str, Any] = {"tau": np.zeros((len(t), 2, self.model.nv))}
        if self.rows is not None:
            now, then = (self._rows(self.rows, at, k + x) for x in (0, self.hold))
            found["tau"] = np.stack([now + x * (then - now) for x in ends], axis=1)
        if self.q_ref is not None:
            now, then = (self._rows(self.q_ref, at, k + x) for x in (0, 1))
            both = [reference_between(self.model, now, then, x) for x in ends]
            found["q_ref"] = np.stack(both, axis=1)
        if self.servo is not None:
            found["servo"] = np.broadcast_to(self.servo, (*self._some_lead, 8, self.model.nv))[at]
        return found

    @property
    def _some_lead(self) -> tuple[int, ...]:
        """At least one leading axis."""
        return self.lead or (1,)

    def _rows(self, rows: Array, at: tuple[Any, ...], k: Integers) -> Array:
        """Row k of each state; those of intervals have one less than there are times."""
        own: Array = np.broadcast_to(rows, (*self._some_lead, *rows.shape[-2:]))[(*at, k)]
        return own

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
    """(..., T, nq); NaN where a state goes no further."""
    v: Array
    reached: int
    """How many times were reached before Ctrl-C, by all states that went on."""
    dense: Callable[[], Dense | None] | None
    stuck: Array | None
    """(n,) when a state went no further, else infinity; None if all went on."""


def embedded(packed: Array, terms: int) -> Kernel:
    """Return that of a Runge-Kutta pair, given as numbers, whose polynomial has so many terms."""
    return Kernel(_embedded, packed, terms)


def taylor(order: int) -> Kernel:
    """Return that of Taylor steps with coefficients of the rates up to an order."""
    return Kernel(_taylor, order)


def require_end(begun: float, now: float, end: float, steps: int) -> None:
    """Refuse to go on where the last time would never be reached.

    Raises:
        DivergenceError: the steps taken so far say how many it would take.
    """
    if steps >= SOME_STEPS and end - now > MOST_STEPS * ((now - begun) / steps):
        raise DivergenceError(
            f"after {steps} steps the motion is at t = {now:.9g} s, and to the last time, "
            f"{end:.9g} s, it would take more than {MOST_STEPS:.0e}: give a nearer last time, or "
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
    model, q, v, t = start[:4]
    rows = None if start.rows is None else padded(start.rows, len(t))
    count = math.prod(start.lead)
    steps = max(1, EFFORT // max(1, count * model.nv))
    steps = min(steps, ROOM) if keep else steps
    room = np.zeros(max(2, steps) if keep else 1)
    portions: list[tuple[Array, ...]] = []
    plan = np.array((*allowed, t[-1], steps, start.passive, rows is not None and start.corners))
    progress = np.array((t[0], 0.0, 1.0, 0.0, 0.0, 0.0))
    options: dict[str, Any] = {"threads": start.threads}
    if kernel.terms:
        options["prescribed"] = start.prescribed
    done, low, taken, stuck = None, 1, 0, None

    def dense() -> Dense | None:
        end = np.full(count, t[-1]) if stuck is None else np.minimum(stuck, t[-1])
        return _dense(kernel, start, portions, end)

    with suppress(KeyboardInterrupt):
        while low < len(t):
            window = slice(low - 1, low - 1 + WINDOW)
            some, refs = (
                None if x is None else np.ascontiguousarray(x[..., window, :])
                for x in (rows, start.q_ref)
            )
            some_q, some_v, q, v, progress, *kept = kernel.portion(
                model, q, v, progress, plan, t[window], room, kernel.method, start.hold,
                tau=some, q_ref=refs, servo=start.servo, **options,
            )  # fmt: skip
            taken += steps
            if keep:
                portions.append((progress[..., STEPS].copy(), *kept))
            due = progress[..., DUE]
            if done is None and window.start + least(due) >= len(t):  # all at once
                return Journey(some_q, some_v, len(t), dense if keep else None, None)
            lost = progress[..., STATUS] == STUCK
            if lost.any():
                stuck = np.full(count, np.inf) if stuck is None else stuck
                stuck[lost.ravel()] = progress[..., 0][lost]
            going = progress[~lost]
            if len(going):
                now = float(going[:, 0].min())
                report(now)
                require_end(t[0], now, t[-1], taken)
            low = window.start + least(going[:, DUE])
            written = due.astype(int) + window.start
            done = done or _nothing(some_q, some_v, len(t))
            _keep(done, some_q, some_v, window, written)
            due[...] = written - (low - 1)
    done = done or _nothing(*start.first(), len(t))
    behind = np.arange(len(t)) >= done.due[..., None]
    done.q[behind], done.v[behind] = np.nan, np.nan
    going_on = done.due if stuck is None else done.due[np.isinf(stuck).reshape(done.due.shape)]
    reached = min(least(going_on), len(t))
    return Journey(done.q, done.v, reached, dense if keep else None, stuck)


def _log(model: Model, portions: list[tuple[Array, ...]]) -> StepLog:
    """The steps that were taken in portions of a motion."""
    log = StepLog(model)
    for counts, *kept in portions:
        count = counts.ravel().astype(int)
        times, q, v = (x.reshape(len(count), *x.shape[-2:]) for x in kept)
        taken = np.arange(times.shape[1]) < count[:, None]
        states = np.repeat(np.arange(len(count)), count)
        log.add(states, *times[taken].T, q[taken], v[taken])
    return log


def _dense(
    kernel: Kernel, start: Start, portions: list[tuple[Array, ...]], end: Array
) -> Dense | None:
    """The dense output of steps that were kept; their polynomials are computed when asked for."""
    model = start.model
    options: dict[str, Any] = {"passive": int(start.passive), "threads": start.threads}

    def make(steps: Dense, states: Integers, _: Coefficients) -> Callable[[Integers], Coefficients]:
        def made(some: Integers) -> Coefficients:
            t, h = steps.t[some], steps.h[some]
            given = {**start.acting(states[some], t, h), **options}
            at = steps.q[some], steps.v[some], given.pop("tau"), h
            if not kernel.terms:
                coordinates, rates = _taylor_polynomial(model, *at, kernel.method, **given)
                return coordinates, rates
            mask = start.prescribed
            terms = _embedded_step(model, *at, kernel.method, prescribed=mask, **given)
            return (np.ascontiguousarray(terms[:, : kernel.terms]),)

        return made

    return _log(model, portions).dense(NESTED if kernel.terms else SERIES, end, make)


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
    done = Followed(
        np.empty((*q.shape[:-2], count, q.shape[-1])),
        np.empty((*v.shape[:-2], count, v.shape[-1])),
        np.ones(q.shape[:-2], int),
    )
    done.q[..., 0, :], done.v[..., 0, :] = q[..., 0, :], v[..., 0, :]
    return done


def _keep(done: Followed, q: Array, v: Array, window: slice, now: Integers) -> None:
    """Store the rows of a portion that each state wrote."""
    row = np.arange(window.start, window.start + q.shape[-2])
    wrote = ((row >= done.due[..., None]) & (row < now[..., None]))[..., None]
    np.copyto(done.q[..., window, :], q, where=wrote)
    np.copyto(done.v[..., window, :], v, where=wrote)
    done.due[...] = now


def padded(rows: Array, count: int) -> Array:
    """Return forces with a row for every time; after the last one of an interval none is read."""
    if rows.shape[-2] == count:
        return rows
    return np.concatenate([rows, rows[..., -1:, :]], axis=-2)
