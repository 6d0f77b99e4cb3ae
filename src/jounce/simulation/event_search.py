"""How events are found along the motion of one state: by samples of its dense output.

An event is looked at at all times of the motion, between them and several times in each step. Where
it comes nearer to zero than at the samples beside, its lowest point is looked for, so that two
crossings between samples are found too, unless the function turns oftener than the motion does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jounce._types import Array
from jounce.errors import ArgumentError, DivergenceError, SingularError
from jounce.simulation.dense import Dense, StepLog
from jounce.simulation.events import SAME_TIME, Event, EventRecord, State, apply_map, endless

__all__ = ["Follow", "Passed", "Stretch", "through_events"]

SAMPLES = 4
"""Parts of each interval of times at whose ends events are looked at,"""
PER_STEP = 8
"""and those of each step of the method."""
BESIDE = 2.0**-14
"""Part of the first and last distance of samples at which the slope at the edge is looked at."""
SEARCHES = 60
"""Trials to find a zero beside which an event has the same sign on both sides."""
CHUNK = 16
"""Intervals that are followed at once."""
MOST_TRIALS = 200
SHORTEST, SHORT = 40, 20
"""After a map the first interval is halved so often, to see how the motion leaves; after an event
without one, to see whether it comes back at once."""


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

    def at(self, times: Array) -> tuple[Array, Array]:
        """Coordinates (K, nq) and rates (K, nv)."""
        q, v = self.dense.at(times)
        return q[0], v[0]

    def state(self, t: float) -> State:
        """The state at one time."""
        q, v = self.at(np.array([t]))
        return t, q[0], v[0]


Follow = Callable[[Array, Array, Array], Stretch]
"""The motion at times (K,), of which the first is that of q and v."""


class Passed(NamedTuple):
    """What one state did."""

    q: Array
    """(T, nq) coordinates; NaN after it ended."""
    v: Array
    records: list[EventRecord]
    end: float
    """When a terminal event or a failure ended it, else infinity."""
    reached: int | None = None
    """How many times were reached before Ctrl-C; None if there was none."""
    failure: str | None = None
    log: StepLog | None = None
    """Its steps."""
    last: State | None = None
    """Where Ctrl-C found it."""


def through_events(
    follow: Follow,
    t: Array,
    q: Array,
    v: Array,
    events: list[Event],
    place: tuple[int, ...],
    log: StepLog,
    told: Callable[[list[int]], list[int]] = list,
) -> Passed:
    """Follow one state through events, each at its time; all that happen at once are recorded.

    Args:
        follow: gives the motion without events.
        t: (T,) times.
        q: (nq,) coordinates at the first.
        v: (nv,) rates.
        events: what to look for.
        place: which state of the batch it is.
        log: keeps the steps.
        told: of events that happened, those that are recorded; it is asked after their maps.
    """
    out = Passed(np.full((len(t), len(q)), np.nan), np.full((len(t), len(v)), np.nan), [], np.inf,
                 None, None, log)  # fmt: skip
    out.q[0], out.v[0] = q, v
    now, due, signs = float(t[0]), 1, _signs(events, float(t[0]), q, v)
    left: dict[int, float] = {}  # events whose maps were used, and their signs before
    halvings, goes_on = 0, False
    try:
        while due < len(t):
            stretch = follow(np.concatenate([[now], t[due : due + CHUNK]]), q, v)
            if len(stretch.t) < 2:  # Ctrl-C before the first step
                raise KeyboardInterrupt
            samples = _samples(events, stretch, halvings, goes_on)
            for which, sign in left.items():
                _require_leaving(events[which], sign, which, samples)
            found = _first_crossing(events, signs, samples)
            left, halvings, goes_on = {}, 0, found is None
            stop = float(samples.t[-1]) if found is None else float(samples.t[found.interval])
            due = _give(out, t, due, stretch, stop)
            if found is None:
                _keep(log, stretch, stop)
                if stretch.failure is not None:
                    return out._replace(end=stop, failure=stretch.failure)
                now, q, v = float(stretch.t[-1]), stretch.q[-1], stretch.v[-1]
                if stretch.interrupted:
                    raise KeyboardInterrupt
                continue
            ends = [samples.state(k) for k in (found.interval, found.interval + 1)]
            at, happened = _earliest(stretch, events, found, ends[0], ends[1][0])
            due = _give(out, t, due, stretch, at[0], strictly=True)
            _keep(log, stretch, at[0])
            before, ended = found.signs, any(events[x].terminal for x in happened)
            now, q, v = at if ended else _after(events, happened, at)
            out.records.extend(
                EventRecord(events[x].name, x, place, *at, -int(before[x] or 1))
                for x in (happened if ended else told(happened))
            )
            if ended:
                return out._replace(end=at[0])
            left = {x: float(before[x]) for x in happened if events[x].map is not None}
            halvings = SHORTEST if left else SHORT
            signs = _signs(events, now, q, v) if left else before
            for x in happened:
                stays = bool(left) or _value(events[x], *ends[1]) == 0.0
                signs[x] = 0.0 if stays else -before[x]
            while due < len(t) and t[due] <= now:
                out.q[due], out.v[due] = q, v
                due += 1
            if stretch.interrupted:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        return out._replace(reached=due, last=(now, q, v))
    except (DivergenceError, SingularError) as error:
        return out._replace(end=now, failure=str(error))
    return out


def _give(
    out: Passed, t: Array, due: int, stretch: Stretch, stop: float, *, strictly: bool = False
) -> int:
    """Write the states at times up to one; return the next that is due."""
    for k in range(1, len(stretch.t)):
        late = stretch.t[k] >= stop if strictly else stretch.t[k] > stop
        if due >= len(t) or late:
            break
        if stretch.t[k] == t[due]:
            out.q[due], out.v[due] = stretch.q[k], stretch.v[k]
            due += 1
    return due


def _keep(log: StepLog, stretch: Stretch, stop: float) -> None:
    """Keep the steps that begin before a time."""
    dense = stretch.dense
    some = np.flatnonzero(dense.t < stop)
    at = (x[some] for x in (dense.t, dense.h, dense.q, dense.v))
    log.add(np.zeros(len(some), int), *at, *dense.coefficients(some))


def _after(events: list[Event], happened: list[int], at: State) -> State:
    """The state after the maps of events that happened at once."""
    for which in happened:
        at = apply_map(events[which], at)
    return at


def _require_leaving(event: Event, before: float, which: int, samples: _Samples) -> None:
    """Refuse a map after which the motion goes on through zero, as if there had been none."""
    for sign in np.sign(samples.values[1:, which]):
        if sign == before:
            return
        if sign == -before:
            raise endless(event, float(samples.t[0]))


class _Samples(NamedTuple):
    """Events along a stretch."""

    t: Array
    q: Array
    v: Array
    values: Array
    """(K, events)."""

    def state(self, k: int) -> State:
        return float(self.t[k]), self.q[k], self.v[k]


def _samples(events: list[Event], stretch: Stretch, halvings: int, goes_on: bool) -> _Samples:
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
    values = [
        [_value(event, float(t), *x) for event in events] for t, *x in zip(grid, q, v, strict=True)
    ]
    found = _Samples(grid, q, v, np.array(values).reshape(len(grid), len(events)))
    return _with_hidden_zeros(events, stretch, found, edges=[-1, 0] if goes_on else [-1])


def _with_hidden_zeros(
    events: list[Event], stretch: Stretch, samples: _Samples, edges: list[int]
) -> _Samples:
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
    q, v = stretch.at(t)
    values = [
        [_value(event, float(x), *y) for event in events] for x, *y in zip(t, q, v, strict=True)
    ]
    whole = [np.concatenate(x) for x in zip(samples, (t, q, v, np.array(values)), strict=True)]
    order = np.argsort(whole[0], kind="stable")
    return _Samples(*(x[order] for x in whole))


def _lowest_at_edge(
    event: Event, stretch: Stretch, samples: _Samples, edge: int, which: int
) -> float | None:
    """A time of another sign between the first or last sample and that beside it."""
    if len(samples.t) < 2:
        return None
    both = [edge, 1 if edge == 0 else -2]
    (at, inner), (value, beside) = samples.t[both].tolist(), samples.values[both, which].tolist()
    if value * beside <= 0 or abs(value) > abs(beside):
        return None
    mid = at + BESIDE * (inner - at)
    now = _value(event, *stretch.state(mid))
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
        now = sign * _value(event, *stretch.state(t))
        if now <= 0:
            return t
        if now < least:
            low, high = (mid, high) if longer else (low, mid)
            mid, least = t, now
        else:
            low, high = (low, t) if longer else (t, high)
    return None


def _value(event: Event, t: float, q: Array, v: Array) -> float:
    try:
        value = float(event.function(t, q, v))
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"event {event.name!r} must return a number: {error}") from None
    if np.isnan(value):
        raise ArgumentError(f"event {event.name!r} must return a number, got NaN at t = {t:.9g} s")
    return value


def _signs(events: list[Event], t: float, q: Array, v: Array) -> Array:
    return np.array([np.sign(_value(event, t, q, v)) for event in events])


class _Crossing(NamedTuple):
    """An interval in which events change their signs."""

    interval: int
    which: list[int]
    signs: Array
    """Of all events before."""


def _first_crossing(events: list[Event], signs: Array, samples: _Samples) -> _Crossing | None:
    """Return the first interval with zeros that are looked for, or None and new signs."""
    before = signs.copy()
    for k in range(1, len(samples.t)):
        after = np.sign(samples.values[k])
        changed = (before * after < 0) | ((before != 0) & (after == 0))
        wanted = [events[x].direction in (0, -int(before[x])) for x in range(len(events))]
        some = np.flatnonzero(changed & np.array(wanted, bool)).tolist()
        if some:
            return _Crossing(k - 1, some, before)
        before = np.where(after == 0, before, after)
    signs[:] = before
    return None


def _earliest(
    stretch: Stretch, events: list[Event], found: _Crossing, left: State, end: float
) -> tuple[State, list[int]]:
    """Return the state at the first of some zeros, and all events that happen then."""

    def passed(which: int, state: State) -> bool:
        return bool(np.sign(_value(events[which], *state)) != found.signs[which])

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
        return state, _value(event, *state)

    low, low_value = float(left[0]), _value(event, *left)
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
