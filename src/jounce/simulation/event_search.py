"""How events are found along the motion of one state: by samples of its dense output.

An event is looked at at all times of the motion, between them and several times in each step. Where
it comes nearer to zero than at the samples beside, its lowest point is looked for, so that two
crossings between samples are found too, unless the function turns oftener than the motion does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce._core.arrays import numbers, shown
from jounce._types import Array
from jounce.errors import ArgumentError
from jounce.simulation.dense import Dense
from jounce.simulation.events import SAME_TIME, Event, State

__all__ = [
    "Crossing",
    "Samples",
    "Stretch",
    "earliest",
    "event_signs",
    "event_value",
    "first_crossing",
    "sampled",
]

SAMPLES = 4
"""Parts of each interval of times at whose ends events are looked at,"""
PER_STEP = 8
"""and those of each step of the method."""
BESIDE = 2.0**-14
"""Part of the first and last distance of samples at which the slope at the edge is looked at."""
SEARCHES = 60
"""Trials to find a zero beside which an event has the same sign on both sides."""
MOST_TRIALS = 200


class Stretch(NamedTuple):
    """A part of the motion of one state, without events."""

    t: Array
    """(K,) times, the first is where it begins."""
    q: Array
    v: Array
    dense: Dense
    """With all coefficients."""
    failure: str | None = None
    """Why it goes no further than its dense output."""
    interrupted: bool = False
    error: Exception | None = None
    """What a control raised at its end."""

    def at(self, times: Array) -> tuple[Array, Array]:
        """Coordinates (K, nq) and rates (K, nv)."""
        q, v = self.dense.at(times)
        return q[0], v[0]

    def state(self, t: float) -> State:
        """The state at one time."""
        q, v = self.at(np.array([t]))
        return t, q[0], v[0]


class Samples(NamedTuple):
    """Events along a stretch."""

    t: Array
    q: Array
    v: Array
    values: Array
    """(K, events)."""

    @classmethod
    def of(cls, events: list[Event], t: Array, q: Array, v: Array) -> Samples:
        """Ask the events at times (K,)."""
        values = np.zeros((len(t), len(events)))
        for k, (own, now) in enumerate(zip(values, t.tolist(), strict=True)):
            own[:] = [event_value(event, now, q[k], v[k]) for event in events]
        return cls(t, q, v, values)

    def state(self, k: int) -> State:
        """That of a sample."""
        return float(self.t[k]), self.q[k], self.v[k]


def sampled(events: list[Event], stretch: Stretch, halvings: int, goes_on: bool) -> Samples:
    """Look at events at times, between them and in each step; just after an event closely, too.

    A stretch `goes_on` where another has ended without an event.
    """
    dense, ends = stretch.dense, stretch.t
    parts = [
        (x[:, None] + h[:, None] * (np.arange(count) / count)).ravel()
        for x, h, count in (
            (ends[:-1], np.diff(ends), SAMPLES),
            (dense.t, dense.h, PER_STEP),
        )
    ]
    parts.append(ends[0] + (ends[1] - ends[0]) * 0.5 ** np.arange(1.0, halvings))
    grid = np.unique(np.concatenate([*parts, ends]))
    grid = grid[(grid >= ends[0]) & (grid <= min(float(ends[-1]), float(dense.end[0])))]
    q, v = stretch.at(grid)
    known = np.flatnonzero(np.isin(grid, ends))
    same = np.searchsorted(ends, grid[known])
    q[known], v[known] = stretch.q[same], stretch.v[same]
    found = Samples.of(events, grid, q, v)
    return _with_hidden_zeros(events, stretch, found, edges=[-1, 0] if goes_on else [-1])


def _with_hidden_zeros(
    events: list[Event], stretch: Stretch, samples: Samples, edges: list[int]
) -> Samples:
    """Add times at which an event has another sign than at the samples on both sides.

    Candidates are samples nearer to zero than both neighbors; where the parabola through the three
    comes near zero, its lowest point is looked for. At edges it is looked for on the inner side.
    """
    more = [
        found
        for edge in edges
        for which, event in enumerate(events)
        if (found := _lowest_at_edge(event, stretch, samples, edge, which)) is not None
    ]
    g = samples.values
    left, mid, right = g[:-2], g[1:-1], g[2:]
    bend = np.abs(left - 2 * mid + right)
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = np.abs(mid) - np.where(bend > 0, (right - left) ** 2 / (8 * bend), 0.0)
    near = (left * mid > 0) & (mid * right > 0) & (depth <= 0.5 * bend)
    near &= (np.abs(mid) <= np.abs(left)) & (np.abs(mid) <= np.abs(right))
    for k, which in zip(*np.nonzero(near), strict=True):
        low, middle, high = samples.t[k : k + 3].tolist()
        found = _lowest(events[which], stretch, low, middle, high, float(g[k + 1, which]))
        if found is not None:
            more.append(found)
    if not more:
        return samples
    t = np.unique(more)
    hidden = Samples.of(events, t, *stretch.at(t))
    whole = [np.concatenate(x) for x in zip(samples, hidden, strict=True)]
    order = np.argsort(whole[0], kind="stable")
    return Samples(*(x[order] for x in whole))


def _lowest_at_edge(
    event: Event, stretch: Stretch, samples: Samples, edge: int, which: int
) -> float | None:
    """A time of another sign between the first or last sample and that beside it."""
    if len(samples.t) < 2:
        return None
    both = [edge, 1 if edge == 0 else -2]
    (at, inner), (value, beside) = samples.t[both].tolist(), samples.values[both, which].tolist()
    if value * beside <= 0 or abs(value) > abs(beside):
        return None
    mid = at + BESIDE * (inner - at)
    now = event_value(event, *stretch.state(mid))
    if abs(now) >= abs(value) and now * value > 0:
        return None
    if now * value <= 0:
        return float(mid)
    return _lowest(event, stretch, min(at, inner), mid, max(at, inner), now)


def _lowest(
    event: Event, stretch: Stretch, low: float, mid: float, high: float, value: float
) -> float | None:
    """A time between two at which the sign is another than in their middle, by golden sections."""
    sign = np.sign(value)
    golden = 0.381966011250105
    least = sign * value
    for _ in range(SEARCHES):
        longer = high - mid > mid - low
        t = mid + golden * (high - mid) if longer else mid - golden * (mid - low)
        if _same_time(low, high) or t in (low, mid, high):
            return None
        now = sign * event_value(event, *stretch.state(t))
        if now <= 0:
            return t
        if now < least:
            low, high = (mid, high) if longer else (low, mid)
            mid, least = t, now
        else:
            low, high = (low, t) if longer else (t, high)
    return None


def event_value(event: Event, t: float, q: Array, v: Array) -> float:
    """The number that an event returns.

    Raises:
        ArgumentError: it returns something else.
    """
    given = event.function(t, q, v)
    try:
        value: float = given if given.__class__ is float else numbers("it", given).item()
    except ValueError:  # which errors of arguments are
        raise ArgumentError(
            f"event {event.name!r} must return a number, got {shown(given)}"
        ) from None
    if np.isnan(value):
        raise ArgumentError(f"event {event.name!r} must return a number, got NaN at t = {t:.9g} s")
    return value


def event_signs(events: list[Event], t: float, q: Array, v: Array) -> Array:
    """-1, 0 or 1 for each event."""
    return np.array([np.sign(event_value(event, t, q, v)) for event in events])


class Crossing(NamedTuple):
    """An interval in which events change their signs."""

    interval: int
    which: list[int]
    signs: Array
    """Of all events before."""


def first_crossing(events: list[Event], signs: Array, samples: Samples) -> Crossing | None:
    """Return the first interval with zeros that are looked for, or None and new signs."""
    before = signs.copy()
    for k in range(1, len(samples.t)):
        after = np.sign(samples.values[k])
        changed = (before * after < 0) | ((before != 0) & (after == 0))
        wanted = [events[x].direction in (0, -int(before[x])) for x in range(len(events))]
        some = np.flatnonzero(changed & np.array(wanted, bool)).tolist()
        if some:
            return Crossing(k - 1, some, before)
        before = np.where(after == 0, before, after)
    signs[:] = before
    return None


def earliest(
    stretch: Stretch, events: list[Event], found: Crossing, left: State, end: float
) -> tuple[State, list[int]]:
    """Return the state at the first of some zeros, and all events that happen then."""

    def passed(which: int, state: State) -> bool:
        return bool(np.sign(event_value(events[which], *state)) != found.signs[which])

    first, *others = found.which
    at = _located(stretch, events[first], left, end)
    for which in others:
        if passed(which, at):
            at = _located(stretch, events[which], left, at[0])
    if not others:
        return at, found.which
    later = stretch.state(min(end, at[0] + SAME_TIME * float(np.spacing(abs(at[0])))))
    return at, [x for x in found.which if passed(x, at) or passed(x, later)]


def _located(stretch: Stretch, event: Event, left: State, end: float) -> State:
    """Return the state at the zero or just after it, to rounding; at the first of many zeros.

    By regula falsi that halves the value of an end which stays (the "Illinois" variant), with a
    bisection now and then, on the dense output.
    """

    def there(t: float) -> tuple[State, float]:
        state = stretch.state(t)
        return state, event_value(event, *state)

    low, low_value = float(left[0]), event_value(event, *left)
    at, high_value = there(end)
    stayed, probed = 0, False
    for trial in range(MOST_TRIALS):
        high = at[0]
        if _same_time(low, high):
            break
        middle, rise = 0.5 * (low + high), high_value - low_value
        if high_value == 0.0 and not probed:  # is it so just before, too?
            middle, probed = max(low, high - 4 * float(np.spacing(abs(high)))), True
        elif trial % 4 != 3 and high_value != 0.0 and rise != 0.0:
            secant = high - high_value * (high - low) / rise
            middle = secant if low < secant < high else middle
        state, value = there(middle)
        if value * low_value > 0:
            low, low_value = middle, value
            high_value *= 0.5 if stayed == 1 else 1.0
            stayed = 1
        else:
            at, high_value = state, value
            low_value *= 0.5 if stayed == -1 else 1.0
            stayed = -1
    return at


def _same_time(low: float, high: float) -> bool:
    """Whether two times are the same within rounding errors."""
    return bool(high - low <= 4 * np.spacing(max(abs(low), abs(high))))
