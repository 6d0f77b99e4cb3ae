"""Dense output: a motion between the times of its steps, as its method knows it.

Along a step from q_0 a Runge-Kutta pair has a polynomial in the coordinates (xi, s) of
q = q_0 exp(xi),

    (1)  y(x) = x (c_0 + (1 - x) (c_1 + x (c_2 + (1 - x) (c_3 + ...)))),   0 <= x <= 1,

Taylor's method that of the coordinates and rates themselves. Methods with fixed steps have none:
there xi is the polynomial (1) of fifth degree whose value, slope and curvature fit at both ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from jounce._types import Array, Integers, Mask
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
    "Logged",
    "Onto",
    "Part",
    "StepLog",
    "fitting",
    "nested",
    "nested_value",
    "still",
]

NESTED, SERIES = "nested", "series"
"""Kinds of polynomials: equation (1), with the rates beside xi or without; Taylor's."""

Coefficients = tuple[Array, ...]
"""Of m steps: (m, k, 2 nv or nv) of equation (1), or those of coordinates and of rates."""

Make = Callable[["Dense"], Callable[[Integers], Coefficients]]
"""Of steps, what computes their coefficients."""

Some = Integers | slice
"""Which of several steps."""

Onto = Callable[[Integers, Array, Array, Array], tuple[Array, Array]]
"""Projects states, of which the first argument says the place in the batch, at times (m,)."""

Part = tuple[Any, ...]
"""Steps in the order of their states: these (m,), t, h, q, v, and what else is kept of them."""

AT_ONCE = 2**21
"""Numbers of coefficients that are held at once."""

GROUP = 2**12
"""Steps of a log that are looked at together."""

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
        low, high = self.first[:-1, None], self.first[1:, None]
        found = _last_begun(self.t, self.first, times)
        places = np.minimum(np.maximum(found, low), np.maximum(high - 1, low))
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
        in_order = bool((np.diff(places) > 0).all())
        order = np.arange(m) if in_order else np.argsort(places, kind="stable")
        for low in range(0, m, portion):
            some = order[low : low + portion]
            steps, which = self._different(places[some], in_order)
            found = Steps(model, self.kind, self.q[steps], self.v[steps], self.h[steps],
                          self._terms(steps))  # fmt: skip
            x = times[some] - self.t[places[some]]
            q[some], v[some], a[some] = found.at(which, x, with_path)
        return q, v, a

    def _different(self, places: Integers, in_order: bool) -> tuple[Some, Some]:
        """Steps without those that come again, and which of them is at each place."""
        if not in_order:
            steps, which = np.unique(places, return_inverse=True)
            return steps, which.ravel()
        low, high = int(places[0]), int(places[-1]) + 1
        return slice(low, high) if high - low == len(places) else places, slice(None)

    def _terms(self, steps: Some) -> Coefficients:
        """Their coefficients, without a copy of those that are there in a row."""
        if not callable(self.made):
            return tuple(x[steps] for x in self.made)
        some = np.arange(steps.start, steps.stop) if isinstance(steps, slice) else steps
        return self.made(some)


def _last_begun(t: Array, first: Integers, times: Array) -> Integers:
    """(n, K) the last step that has begun at times (K,), by halving the steps of each state.

    Those of state k begin at t[first[k] : first[k + 1]], in their order.
    """
    if len(first) == 2:
        return (np.searchsorted(t, times, side="right") - 1)[None]
    low = np.repeat(first[:-1, None], len(times), axis=1)  # before it all have begun,
    high = np.repeat(first[1:, None], len(times), axis=1)  # from it on none has
    for _ in range(int(np.diff(first).max(initial=0)).bit_length()):
        middle = (low + high) // 2
        begun = (low < high) & (t[np.minimum(middle, len(t) - 1)] <= times)
        low, high = np.where(begun, middle + 1, low), np.where(begun, high, middle)
    return low - 1


class Steps(NamedTuple):
    """Some steps with their polynomials."""

    model: Model
    kind: str
    q: Array
    v: Array
    h: Array
    made: Coefficients

    def at(self, which: Some, time: Array, path: bool) -> tuple[Array, Array, Array]:
        """States at times (m,) after the starts of the steps; see `Dense.path`.

        Accelerations are known with the path alone.
        """
        q, made = self.q[which], tuple(c[which] for c in self.made)
        if self.kind == SERIES:
            return _along_series(Polynomials(self.model, q, self.h[which], *made), time, path)
        h = np.where(self.h[which] > 0.0, self.h[which], 1.0)[:, None]
        nv, flow = self.model.nv, still(self.model, len(q))
        if path or made[0].shape[-1] == nv:
            y = nested(made[0], time[:, None] / h)
            there = flow.displaced(q, y[0][:, :nv])
            v, a = _moving_with(flow, there, *(x[:, :nv] / h**k for k, x in enumerate(y)))
            return there, v, a
        change = nested_value(made[0], time[:, None] / h)
        there = flow.displaced(q, change[:, :nv])
        s = flow.start(time[:, None], q, self.v[which]).s + change[:, nv:]
        for joint in flow.free:
            joint.to_body(there, s)
        return there, s, np.full_like(s, np.nan)


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


def nested_value(terms: Array, x: Array) -> Array:
    """Equation (1) alone at x (m, 1)."""
    value = np.zeros_like(terms[:, 0])
    for k in reversed(range(terms.shape[1])):
        value = (value + terms[:, k]) * (x if k % 2 == 0 else 1.0 - x)
    return value


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


def _along_series(
    path: Polynomials, time: Array, with_rates_of_change: bool
) -> tuple[Array, Array, Array]:
    q, v = path.at(time)
    if not with_rates_of_change:
        return q, v, np.full_like(v, np.nan)
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
    """Steps as they are taken, of several states in turn.

    It grows by parts, which are put together when the dense output is asked for.
    """

    model: Model
    ends: Array
    """(n,) where the last step of each state ends; at first where the motion begins."""
    parts: list[Part | Callable[[], Part]] = field(default_factory=list)
    """Those that are functions are made when they are needed."""

    def add(self, states: Integers, t: Array, h: Array, q: Array, v: Array, *made: Array) -> None:
        """Keep steps (m, ...) of the states with these places in the batch."""
        self.parts.append((states, t, h, q, v, *made))
        self.ends[states] = t + h  # of several of a state the last; after Ctrl-C maybe those before

    def part(self, k: int) -> Part:
        """One of the parts."""
        found = self.parts[k]
        if callable(found):
            found = self.parts[k] = found()
        return found

    def steps_at(self, wanted: Mask, time: float) -> Part | None:
        """The last steps of some states that have begun at a time, in the order of the states.

        The latest parts come first, and nothing is looked at before those in which all are found.
        """
        missing, found = wanted.copy(), []
        for group in self._groups():
            parts = [self.part(k) for k in group]
            states, t = (_joined([x[k] for x in parts]) for k in range(2))
            rows = np.flatnonzero(missing[states] & (t <= time))
            if not len(rows):
                continue
            last = np.full(len(missing), -1)
            last[states[rows]] = rows
            rows = last[last >= 0]
            every = len(rows) == len(states) and bool((np.diff(rows) > 0).all())
            columns = (_joined(list(x)) for x in zip(*parts, strict=True))
            found.append(tuple(x if every else x[rows] for x in columns))
            missing[states[rows]] = False
            if not missing.any():
                break
        return _in_order(found) if found else None

    def _groups(self) -> Iterator[range]:
        """Parts from the last to the first, some steps together."""
        high, count = len(self.parts), 0
        for low in reversed(range(high)):
            count += len(self.part(low)[0])
            if count >= GROUP or low == 0:
                yield range(low, high)
                high, count = low, 0

    def dense(
        self,
        kind: str,
        end: Array,
        make: Make | None,
        onto: Onto | None = None,
    ) -> Dense | None:
        """All steps, state by state; None if there are none.

        `make`, if the coefficients were not kept, gets the steps with what else was kept of them,
        and returns what computes them.
        """
        if not self.parts:
            return None
        parts = [self.part(k) for k in range(len(self.parts))]
        return _state_by_state(self.model, _in_order(parts), kind, end, make, onto)


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _in_order(parts: list[Part]) -> Part:
    """Parts as one, in the order of the states."""
    columns = (_joined(list(x)) for x in zip(*parts, strict=True))
    states = next(columns)
    if not (np.diff(states) < 0).any():
        return states, *columns
    order = np.argsort(states, kind="stable")
    return states[order], *(x[order] for x in columns)


def _state_by_state(
    model: Model, steps: Part, kind: str, end: Array, make: Make | None, onto: Onto | None
) -> Dense:
    states, t, h, q, v, *made = steps
    first = np.searchsorted(states, np.arange(len(end) + 1))
    found = Dense(model, kind, first, end, t, h, q, v, tuple(made), onto)
    return found if make is None else replace(found, made=make(found))


@dataclass(frozen=True, eq=False)
class Logged:
    """The dense output of steps in a log, which is put together when it is called."""

    log: StepLog
    kind: str
    end: Array
    """(n,) how far each state goes."""
    make: Make | None = None
    """See `StepLog.dense`."""
    onto: Onto | None = None
    last: Sequence[Array] = ()
    """Coordinates and rates (n, ...) where the last steps lead, if that is known."""

    def __call__(self) -> Dense | None:
        """All steps, put together once for all who ask; None if there are none."""
        return self._made

    @cached_property
    def _made(self) -> Dense | None:
        return self.log.dense(self.kind, self.end, self.make, self.onto)

    def reached(self) -> Array:
        """(n,) where the last step of each state ends, or the state before that."""
        return np.minimum(self.log.ends, self.end)

    def state(self, time: float) -> tuple[Array, Array]:
        """States (n, nq) and (n, nv) at a time that those on their way have reached, else NaN.

        Only the polynomials of the steps there are looked at.
        """
        log, known = self.log, self.reached() >= time
        if self.last and (self.reached()[known] == time).all():
            q, v = (np.where(known[:, None], x, np.nan) for x in self.last[:2])
            return q, v
        steps = log.steps_at(known, time)
        if steps is None:
            n, model = len(self.end), log.model
            return np.full((n, model.nq), np.nan), np.full((n, model.nv), np.nan)
        found = _state_by_state(log.model, steps, self.kind, self.end, self.make, self.onto)
        q, v = found.at(np.array([time]))
        return q[:, 0], v[:, 0]
