"""Dense output: a motion between the times of its steps, as its method knows it.

Along a step from q_0 a Runge-Kutta pair has a polynomial in the coordinates (xi, s) of
q = q_0 exp(xi),

    (1)  y(x) = x (c_0 + (1 - x) (c_1 + x (c_2 + (1 - x) (c_3 + ...)))),   0 <= x <= 1,

Taylor's method that of the coordinates and rates themselves. Methods with fixed steps have none:
there xi is the polynomial (1) of fifth degree whose value, slope and curvature fit at both ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from jounce._types import Array, Integers
from jounce.lie import dexp
from jounce.model import Model
from jounce.simulation.field import Field
from jounce.simulation.free_joints import displacement, free_joints
from jounce.simulation.tangents import rotating_rates
from jounce.simulation.taylor import Polynomials

__all__ = [
    "NESTED",
    "SERIES",
    "Coefficients",
    "Dense",
    "Onto",
    "StepLog",
    "fitting",
    "nested",
    "still",
]

NESTED, SERIES = "nested", "series"
"""Kinds of polynomials: equation (1), with the rates beside xi or without; Taylor's."""

Coefficients = tuple[Array, ...]
"""Of m steps: (m, k, 2 nv or nv) of equation (1), or those of coordinates and of rates."""

Onto = Callable[[Integers, Array, Array, Array], tuple[Array, Array]]
"""Projects states, of which the first argument says the place in the batch, at times (m,)."""

AT_ONCE = 2**21
"""Numbers of coefficients that are held at once."""

TINY = 1e-150
"""A complex step."""


@dataclass(frozen=True, eq=False)
class Dense:
    """The steps of n states, one state after the other, and their polynomials.

    Each polynomial holds from the start of its step to that of the next, or to the end of its
    state. ``t``, ``h``, ``q`` and ``v`` are the starts of M steps.
    """

    model: Model
    kind: str
    first: Integers
    """(n + 1,) where the steps of each state begin."""
    end: Array
    """(n,) how far each state goes."""
    t: Array
    h: Array
    q: Array
    v: Array
    made: Coefficients | Callable[[Integers], Coefficients]
    """The coefficients, or what computes those of some steps."""
    onto: Onto | None = None

    def at(self, times: Array) -> tuple[Array, Array]:
        """Coordinates (n, K, nq) and rates (n, K, nv) at times (K,); NaN where a state has ended.

        At the time of a jump they are those after it.
        """
        places, states = self._places(times)
        when = np.tile(times, len(self.end))
        q, v, _ = self._values(places, when, with_path=False)
        known = np.flatnonzero((when <= self.end[states]) & (np.diff(self.first)[states] > 0))
        if self.onto is not None and len(known):
            q[known], v[known] = self.onto(states[known], when[known], q[known], v[known])
        return self._shaped(times, q), self._shaped(times, v)

    def path(self, times: Array) -> tuple[Array, Array, Array]:
        """Coordinates, and the rates and accelerations with which they move, (n, K, ...).

        The rates are those of the path q, not the polynomial of the rates beside it.
        """
        places, _ = self._places(times)
        found = self._values(places, np.tile(times, len(self.end)), with_path=True)
        q, v, a = (self._shaped(times, x) for x in found)
        return q, v, a

    def states(self, some: Integers) -> Integers:
        """Whose steps they are."""
        return np.searchsorted(self.first, some, side="right") - 1

    def coefficients(self, some: Integers) -> Coefficients:
        """Those of some steps."""
        return self.made(some) if callable(self.made) else tuple(x[some] for x in self.made)

    def alone(self) -> Dense:
        """The same with all coefficients, which needs no other object; it does not project."""
        return replace(self, made=self.coefficients(np.arange(len(self.t))), onto=None)

    def _places(self, times: Array) -> tuple[Integers, Integers]:
        """The step of each state at each time, and the state, both (n K,)."""
        n = len(self.end)
        places = np.zeros((n, len(times)), int)
        for state, (low, high) in enumerate(zip(self.first, self.first[1:], strict=False)):
            found = np.searchsorted(self.t[low:high], times, side="right") - 1
            places[state] = low + np.clip(found, 0, max(high - low - 1, 0))
        places = np.minimum(places, max(len(self.t) - 1, 0))  # the last may have taken no step
        return places.ravel(), np.repeat(np.arange(n), len(times))

    def _shaped(self, times: Array, x: Array) -> Array:
        x = x.reshape(len(self.end), len(times), x.shape[-1])
        x[(times > self.end[:, None]) | (np.diff(self.first) == 0)[:, None]] = np.nan
        return x

    def _values(
        self, places: Integers, times: Array, *, with_path: bool
    ) -> tuple[Array, Array, Array]:
        """States (m, ...) in steps at times; with the path, its rates and accelerations."""
        model, m = self.model, len(places)
        q, v, a = (np.full((m, size), np.nan) for size in (model.nq, model.nv, model.nv))
        if not len(self.t):
            return q, v, a
        numbers = sum(c[0].size for c in self.coefficients(places[:1])) if m else 1
        portion = max(1, AT_ONCE // max(1, numbers))
        order = np.argsort(places, kind="stable")
        for low in range(0, m, portion):
            some = order[low : low + portion]
            steps, which = np.unique(places[some], return_inverse=True)
            found = Steps(model, self.kind, self.q[steps], self.v[steps], self.h[steps],
                          self.coefficients(steps))  # fmt: skip
            x = times[some] - self.t[places[some]]
            q[some], v[some], a[some] = found.at(which.ravel(), x, with_path)
        return q, v, a


class Steps(NamedTuple):
    """Some steps with their polynomials."""

    model: Model
    kind: str
    q: Array
    v: Array
    h: Array
    made: Coefficients

    def at(self, which: Integers, time: Array, path: bool) -> tuple[Array, Array, Array]:
        """States at times (m,) after the starts of the steps; see `Dense.path`."""
        q, made = self.q[which], tuple(c[which] for c in self.made)
        if self.kind == SERIES:
            return _along_series(Polynomials(self.model, q, self.h[which], *made), time)
        h = np.where(self.h[which] > 0.0, self.h[which], 1.0)[:, None]
        y = nested(made[0], time[:, None] / h)
        nv = self.model.nv
        flow = still(self.model, len(q))
        there = flow.displaced(q, y[0][:, :nv])
        v, a = _moving_with(flow, there, *(x[:, :nv] / h**k for k, x in enumerate(y)))
        if path or made[0].shape[-1] == nv:
            return there, v, a
        s = flow.start(time[:, None], q, self.v[which]).s + y[0][:, nv:]
        for joint in flow.free:
            joint.to_body(there, s)
        return there, s, a


def nested(terms: Array, x: Array) -> tuple[Array, Array, Array]:
    """Equation (1) and its first two derivatives at x (m, 1)."""
    value = np.zeros_like(terms[:, 0])
    first, second = np.zeros_like(value), np.zeros_like(value)
    for k in reversed(range(terms.shape[1])):
        factor, sign = (x, 1.0) if k % 2 == 0 else (1.0 - x, -1.0)
        value = value + terms[:, k]
        second = second * factor + 2.0 * sign * first
        first = first * factor + sign * value
        value = value * factor
    return value, first, second


def still(model: Model, n: int) -> Field:
    """The coordinates of steps, without forces."""
    return Field.of(model, lambda t, q, v: np.zeros_like(v), np.zeros((n, 1)), 1)


def _moving_with(
    flow: Field, q: Array, xi: Array, slope: Array, bend: Array
) -> tuple[Array, Array]:
    """Body-fixed rates and accelerations of q_0 exp(xi) at q, from xi and two derivatives."""
    v, a = slope.copy(), bend.copy()
    for turn in flow.rotating:
        moved = dexp(-(xi[:, turn] + 1j * TINY * slope[:, turn]))
        w = (moved @ (slope[:, turn] + 1j * TINY * bend[:, turn])[..., None])[..., 0]
        v[:, turn], a[:, turn] = w.real, w.imag / TINY
    for joint in flow.free:
        joint.to_body(q, v)
        joint.acceleration_to_body(q, v, a)
    return v, a


def _along_series(path: Polynomials, time: Array) -> tuple[Array, Array, Array]:
    q, v = path.at(time)
    a = path.rates_of_change(time)
    for joint in free_joints(path.model):
        joint.acceleration_to_body(q, v, a)
    return q, v, a


def fitting(
    model: Model,
    h: Array,
    begin: Sequence[Array],
    end: Sequence[Array],
) -> Array:
    """(m, 5, nv) coefficients (1) of xi that join states (q, v, a) over times h (m,)."""
    span = h[:, None]
    flow = still(model, len(h))
    change = displacement(model, flow.free, begin[0], end[0])
    (s0, b0), (s1, b1) = (_in_parent_axes(flow, *x) for x in (begin, end))
    slope, bend = s1.copy(), b1.copy()
    for turn in rotating_rates(model):
        slope[:, turn] = flow.pulled_back(change, s1)[:, turn]
        moved = change + 1j * TINY * slope
        bend[:, turn] = flow.pulled_back(moved, s1 + 1j * TINY * b1)[:, turn].imag / TINY
    y0, y1 = span * s0, span * slope
    z0, z1 = span**2 * b0, span**2 * bend
    c1, c2 = y0 - change, 2.0 * change - y0 - y1
    c3 = 0.5 * z0 + c1 - c2
    return np.stack([change, c1, c2, c3, 0.5 * z1 + c1 + 2.0 * c2 - c3], axis=1)


def _in_parent_axes(flow: Field, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
    """Rates and their derivatives with the linear velocity of free joints as `Field` has it."""
    s, b = v.copy(), a.copy()
    for joint in flow.free:
        joint.to_parent(q, s)
        joint.acceleration_to_parent(q, v, b)
    return s, b


@dataclass
class StepLog:
    """Steps as they are taken, of several states in turn."""

    model: Model
    parts: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, states: Integers, t: Array, h: Array, q: Array, v: Array, *made: Array) -> None:
        """Keep steps (m, ...) of the states with these places in the batch."""
        self.parts.append((states, t, h, q, v, *made))

    def dense(
        self,
        kind: str,
        end: Array,
        make: Callable[[Dense], Callable[[Integers], Coefficients]] | None,
        onto: Onto | None = None,
    ) -> Dense | None:
        """All steps, state by state; None if there are none.

        `make`, if the coefficients were not kept, gets the steps with what else was kept of them,
        and returns what computes them.
        """
        if not self.parts:
            return None
        columns = (np.concatenate(x) for x in zip(*self.parts, strict=True))
        states = next(columns)
        order = np.argsort(states, kind="stable") if (np.diff(states) < 0).any() else slice(None)
        first = np.searchsorted(states[order], np.arange(len(end) + 1))
        t, h, q, v, *made = (x[order] for x in columns)
        found = Dense(self.model, kind, first, end, t, h, q, v, tuple(made), onto)
        return found if make is None else replace(found, made=make(found))
