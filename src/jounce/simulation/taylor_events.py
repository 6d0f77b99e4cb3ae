"""Motions by Taylor steps with Python between them: forces given as series, and events.

Along a step the coordinates are polynomials of time, and so is every event that is known as a
series. Its zeros are isolated by the signs of Bernstein coefficients (see
`jounce.simulation.polynomials`): two crossings within a step are both found, and a motion that only
touches zero is told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import NamedTuple

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.series import body_pose_series, forward_dynamics_series
from jounce.simulation.compiled import Followed, Start, diverged
from jounce.simulation.polynomials import roots_in_unit_interval
from jounce.simulation.taylor import (
    Control,
    Polynomials,
    force_series,
    order_of,
    polynomial_step,
    require_series,
)

__all__ = [
    "Crossing",
    "EventFunction",
    "PolynomialEvent",
    "coordinate_event",
    "follow_series",
    "height_event",
]

EventFunction = Callable[[Array, Array, Array], ArrayLike]
"""An event and its time derivatives, from q (nq,), motion (r + 2, nv) and tau (r + 1, nv)."""


class PolynomialEvent(NamedTuple):
    """A function of the motion whose time derivatives are known."""

    function: EventFunction
    terminal: bool = False
    """Whether the motion ends there."""
    direction: int = 0
    """1: rising zeros only, -1: falling ones, 0: all, and where it grazes zero."""


class Crossing(NamedTuple):
    """Where an event is zero."""

    event: int
    """Which of the events."""
    state: int
    """Which state of the batch."""
    t: float
    q: Array
    v: Array
    direction: int
    """1 rising, -1 falling, 0: it grazes zero."""


def coordinate_event(
    model: Model, joint: str, value: float, *, terminal: bool = False, direction: int = 0
) -> PolynomialEvent:
    """Return the event that the coordinate of a 1-DoF joint reaches a value, such as a limit.

    Raises:
        ArgumentError: the joint has several coordinates.
    """
    at, rate = model.q_slice(joint), model.v_slice(joint)
    if at.stop - at.start != 1:
        raise ArgumentError(f"joint {joint!r} has {at.stop - at.start} coordinates, not one")

    def function(q: Array, motion: Array, tau: Array) -> Array:
        return np.concatenate([q[at] - value, motion[:, rate.start]])

    return PolynomialEvent(function, terminal, direction)


def height_event(
    model: Model,
    frame: str | int,
    value: float,
    *,
    axis: int = 2,
    terminal: bool = False,
    direction: int = 0,
) -> PolynomialEvent:
    """Return the event that the origin of a frame reaches a position along an axis of the world."""

    def function(q: Array, motion: Array, tau: Array) -> Array:
        height = body_pose_series(model, q, motion, frame)[:, axis, 3].copy()
        height[0] -= value
        return height

    return PolynomialEvent(function, terminal, direction)


class _Walk(NamedTuple):
    """States on their way."""

    t: Array
    q: Array
    v: Array
    ended: Array
    """When each state ended by an event, else infinity."""
    signs: Array
    """(n, events) of the events before."""


def follow_series(
    start: Start,
    control: Control | None,
    allowed: tuple[float, float],
    events: Sequence[PolynomialEvent] = (),
) -> tuple[Followed, list[Crossing]]:
    """Follow n states by Taylor steps, asking the control and looking for events at each.

    Args:
        start: states and times; its rows of forces are not used.
        control: gives forces and their derivatives in time, or None.
        allowed: relative and absolute tolerance.
        events: what to look for.

    Returns:
        States at the times, as far as each got, and crossings in the order of their steps.

    Raises:
        ArgumentError: a control or an event that returns something else than a series.
        DivergenceError: a state goes no further.
    """
    require_series(start.model, start.passive)
    if start.passive:
        raise ArgumentError("passive=True and a control that is a function do not go together here")
    n, T, order = len(start.q), len(start.t), order_of(*allowed)
    done = Followed(
        np.empty((n, T, start.model.nq)), np.empty((n, T, start.model.nv)), np.ones(n, int)
    )
    done.q[:, 0], done.v[:, 0] = start.q, start.v
    at = _Walk(
        np.full(n, start.t[0]),
        start.q,
        start.v,
        np.full(n, np.inf),
        np.zeros((n, len(events)), int),
    )
    found: list[Crossing] = []
    try:
        while n and (np.minimum(start.t[-1], at.ended) > at.t).any():
            at = _walk(start, control, allowed, events, order, at, done, found)
    except KeyboardInterrupt:
        pass
    return done, found


def _walk(
    start: Start,
    control: Control | None,
    allowed: tuple[float, float],
    events: Sequence[PolynomialEvent],
    order: int,
    at: _Walk,
    done: Followed,
    found: list[Crossing],
) -> _Walk:
    """Take a step of every state that has not arrived."""
    model, t = start.model, at.t
    left = np.maximum(np.minimum(start.t[-1], at.ended) - t, 0.0)
    tau = np.zeros((len(t), order, model.nv))
    if control is not None:
        tau = force_series(control, t, at.q, at.v, order)
    q, v, path = polynomial_step(model, at.q, at.v, tau, left, allowed, start.threads)
    stuck = np.flatnonzero((left > 0) & (path.h < left) & ~(path.h > 16 * np.spacing(np.abs(t))))
    if len(stuck):
        raise diverged(int(stuck[0]), float(t[stuck[0]]))
    end = np.where(path.h >= left, t + left, t + path.h)
    ended, signs = at.ended.copy(), at.signs.copy()
    for k in np.flatnonzero(left > 0).tolist() if events else ():
        ended[k] = _look(events, path, k, (t, at.v, tau), signs[k], found)
    end = np.minimum(end, ended)
    _give(start.t, path, t, end, (q, v), done)
    cut = end < t + path.h
    if cut.any():
        inner = path.at(end - t)
        q, v = (np.where(cut[:, None], x, y) for x, y in zip(inner, (q, v), strict=True))
    return _Walk(end, q, v, ended, signs)


def _look(
    events: Sequence[PolynomialEvent],
    path: Polynomials,
    k: int,
    at: tuple[Array, Array, Array],
    signs: Array,
    found: list[Crossing],
) -> float:
    """Find the events of state k in its step; return when it ends by one, or infinity."""
    t, v, tau = (x[k] for x in at)
    q, h, n = path.q[k], float(path.h[k]), len(path.q)
    motion = np.concatenate([v[None], forward_dynamics_series(path.model, q, v, tau)])
    here: list[Crossing] = []
    last = np.inf
    for index, event in enumerate(events):
        a = _scaled(event.function(q, motion, tau), h)
        roots = roots_in_unit_interval(a, int(signs[index]))
        value = float(a.sum())
        signs[index] = int(np.sign(value)) if abs(value) > 1e-13 * np.abs(a).max() else signs[index]
        for x, direction in zip(roots.x, roots.direction, strict=True):
            if event.direction and direction != event.direction:
                continue
            state = path.at(np.full(n, x * h))
            here.append(Crossing(index, k, float(t + x * h), state[0][k], state[1][k], direction))
            if event.terminal and direction:
                last = min(last, float(t + x * h))
    found += sorted((c for c in here if c.t <= last), key=lambda c: c.t)
    return last


def _scaled(derivatives: ArrayLike, h: float) -> Array:
    """Taylor coefficients in units of the step, from derivatives.

    Raises:
        ArgumentError: they are no row of finite numbers.
    """
    try:
        rows = np.asarray(derivatives, float)
    except (TypeError, ValueError):
        rows = np.full((0, 0), np.nan)
    if rows.ndim != 1 or not len(rows) or not np.isfinite(rows).all():
        raise ArgumentError(
            "an event must return its value and its time derivatives, finite numbers of shape "
            f"(m,), got {type(derivatives).__name__} of shape {np.shape(rows)}"
        )
    return np.array([x * h**k / factorial(k) for k, x in enumerate(rows.tolist())])


def _give(
    times: Array,
    path: Polynomials,
    begin: Array,
    end: Array,
    last: tuple[Array, Array],
    done: Followed,
) -> None:
    """Write the states at all times that were passed."""
    while True:
        due = np.minimum(done.due, len(times) - 1)
        passed = (done.due < len(times)) & (times[due] <= end)
        if not passed.any():
            return
        exact = (times[due] >= begin + path.h)[:, None]
        inner = path.at(np.clip(times[due] - begin, 0.0, path.h))
        rows = np.flatnonzero(passed)
        for store, x, y in zip((done.q, done.v), inner, last, strict=True):
            store[rows, due[rows]] = np.where(exact, y, x)[rows]
        done.due[passed] += 1
