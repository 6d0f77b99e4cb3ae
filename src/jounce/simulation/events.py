"""Events along a simulation: zeros of functions of the state, found between its times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.dynamics import inverse_mass_matrix
from jounce.errors import ArgumentError, DivergenceError, SingularError
from jounce.model import Model
from jounce.model._checks import check_flag
from jounce.model.model import require_model
from jounce.simulation.control import limited
from jounce.simulation.dense import Dense, StepLog

__all__ = [
    "Event",
    "EventRecord",
    "EventSeries",
    "Follow",
    "Passed",
    "Stretch",
    "apply_map",
    "endless",
    "joint_limits",
    "through_events",
]

State = tuple[float, Array, Array]


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

EventSeries = Callable[[Array, Array, Array], ArrayLike]
"""An event and its time derivatives, from q (nq,), motion (r + 2, nv) and tau (r + 1, nv)."""

SAMPLES = 4
"""Parts of each interval of times at whose ends events are looked at,"""
PER_STEP = 8
"""and those of each step of the method."""
SEARCHES = 60
"""Trials to find a zero beside which an event has the same sign on both sides."""
CHUNK = 16
"""Intervals that are followed at once."""
MOST_TRIALS = 200
SAME_TIME = 64
"""Zeros within so many units in the last place of the time are one."""
SHORTEST = 40
"""After an event the first interval is halved so often, to see how the motion leaves."""


@dataclass(frozen=True, eq=False)
class Event:
    """A function of the state that is zero when something happens.

    Args:
        function: of (t, q, v) of one state; returns a number.
        terminal: whether the motion ends there; in a batch, where others go on, what follows of its
            state is NaN, and ``motion.ended`` says when.
        direction: 1: rising zeros only, -1: falling ones, 0: all.
        map: of (t, q, v); returns the state (q, v) after the event, for example of an impact.
        name: for records and messages.
        series: the function and its time derivatives along a motion, from q (nq,), the rates and
            their derivatives (r + 2, nv) and the forces and theirs (r + 1, nv). If all events have
            it, ``simulate(method="taylor")`` isolates their zeros in the polynomials of its steps:
            no pair of crossings within a step is missed.

    Examples:
        >>> fall = jc.Event(lambda t, q, v: q[0], direction=-1, name="down")
        >>> t = np.linspace(0, 1, 11)
        >>> motion = jc.simulate(jc.models.chain(1), [0.5], [0.0], t, events=[fall])
        >>> [event.name for event in motion.events]
        ['down']
    """

    function: Callable[[float, Array, Array], float]
    terminal: bool = False
    direction: int = 0
    map: Callable[[float, Array, Array], tuple[ArrayLike, ArrayLike]] | None = None
    name: str = "event"
    series: EventSeries | None = None


class EventRecord(NamedTuple):
    """An event that happened.

    Examples:
        >>> arm = jc.models.chain(1)
        >>> turn = jc.Event(lambda t, q, v: q[..., 0] - 0.1, name="passes 0.1")
        >>> motion = jc.simulate(arm, [0], [1], np.linspace(0, 1, 11), events=turn)
        >>> motion.events[0].name, round(float(motion.events[0].q[0]), 6)
        ('passes 0.1', 0.1)
    """

    name: str
    event: int
    """Which of the events."""
    state: tuple[int, ...]
    """Which state of the batch."""
    t: float
    q: Array
    """(nq,) coordinates just before."""
    v: Array
    """(nv,) rates just before."""
    direction: int = 0
    """1: the function rises, -1: it falls, 0: it only grazes zero, which neither ends nor maps."""


def joint_limits(model: Model, restitution: float = 0.5, *, terminal: bool = False) -> list[Event]:
    """Return events at the limits of all joints with one rate, where they bounce.

    An impact at joint i is an impulse along its axis that reverses the rate: with the inverse mass
    matrix W, ``v -= W[:, i] (1 + restitution) v[i] / W[i, i]``. All other joints react.

    Args:
        model: the robot, with ``model.lower`` and ``model.upper``.
        restitution: how much of the rate is left, above 0 to 1. A joint that comes to rest at its
            limit bounces ever faster, which is an error; `Control` has stops to rest on.
        terminal: whether the motion ends at a limit instead.

    Returns:
        A list of `Event`, for the argument `events` of `simulate`.

    Raises:
        ArgumentError: the restitution is not in its range.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> stops = jc.joint_limits(arm, restitution=0.5)
        >>> len(stops)
        14
    """
    require_model(model)
    check_flag("terminal", terminal)
    if not (isinstance(restitution, (int, float)) and 0 < restitution <= 1):
        raise ArgumentError(f"restitution must be a number, above 0 to 1, got {restitution!r}")
    events = []
    for q, v in limited(model):
        joint = model.joint_names[
            model.nodes.joint[int(np.flatnonzero(model.nodes.v_index == v)[0])]
        ]
        for side, limit in ((1.0, float(model.lower[q])), (-1.0, float(model.upper[q]))):
            if np.isfinite(limit):
                bounce = None if terminal else _impact(model, v, side, float(restitution))
                name = f"{'lower' if side > 0 else 'upper'} limit of {joint}"
                distance, series = _distance(q, side, limit), _distances(q, v, side, limit)
                events.append(Event(distance, terminal, -1, bounce, name, series))
    return events


def _distances(k: int, rate: int, side: float, limit: float) -> EventSeries:
    def series(q: Array, motion: Array, tau: Array) -> Array:
        out: Array = side * np.concatenate([[q[k] - limit], motion[:, rate]])
        return out

    return series


def _distance(k: int, side: float, limit: float) -> Callable[[float, Array, Array], float]:
    return lambda t, q, v: side * (float(q[k]) - limit)


def _impact(
    model: Model, k: int, side: float, restitution: float
) -> Callable[[float, Array, Array], tuple[Array, Array]]:
    def bounce(t: float, q: Array, v: Array) -> tuple[Array, Array]:
        if side * v[k] >= 0:  # another limit at the same time has turned it
            return q, v
        column = inverse_mass_matrix(model, q)[:, k]
        return q, v - column * ((1 + restitution) * v[k] / column[k])

    return bounce


def checked_events(events: object) -> list[Event]:
    """Return events as a list.

    Raises:
        ArgumentError: there is something else among them.
    """
    found = [events] if isinstance(events, Event) else events
    if not isinstance(found, Sequence) or not all(isinstance(e, Event) for e in found):
        raise ArgumentError(f"events must be jounce.Event or a list of them, got {events!r}")
    for event in found:
        if event.direction not in (-1, 0, 1) or not callable(event.function):
            raise ArgumentError(f"event {event.name!r} needs a function and a direction -1, 0 or 1")
    return list(found)


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
    try:
        while due < len(t):
            stretch = follow(np.concatenate([[now], t[due : due + CHUNK]]), q, v)
            samples = _samples(events, stretch, bool(left))
            for which, sign in left.items():
                _require_leaving(events[which], sign, which, samples)
            found = _first_crossing(events, signs, samples)
            left = {}
            stop = float(samples.t[-1]) if found is None else float(samples.t[found.interval])
            due = _give(out, t, due, stretch, stop)
            if found is None:
                _keep(log, stretch, stop)
                if stretch.interrupted:
                    raise KeyboardInterrupt
                if stretch.failure is not None:
                    return out._replace(end=stop, failure=stretch.failure)
                now, q, v = float(stretch.t[-1]), stretch.q[-1], stretch.v[-1]
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
            signs = _signs(events, now, q, v) if left else before
            for x in happened:
                stays = bool(left) or _value(events[x], *ends[1]) == 0.0
                signs[x] = 0.0 if stays else -before[x]
            while due < len(t) and t[due] <= now:
                out.q[due], out.v[due] = q, v
                due += 1
    except KeyboardInterrupt:
        return out._replace(reached=due)
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


def endless(event: Event, t: float) -> DivergenceError:
    """Return the error of an event that never ends."""
    return DivergenceError(
        f"event {event.name!r} happens again and again at t = {t:.9g} s: after its map the motion "
        "does not come back from zero, or only for an instant"
    )


class _Samples(NamedTuple):
    """Events along a stretch."""

    t: Array
    q: Array
    v: Array
    values: Array
    """(K, events)."""

    def state(self, k: int) -> State:
        return float(self.t[k]), self.q[k], self.v[k]


def _samples(events: list[Event], stretch: Stretch, just_after: bool) -> _Samples:
    """Look at events at times, between them and in each step; just after an event closely, too."""
    dense, ends = stretch.dense, stretch.t
    parts = [
        (x[:, None] + h[:, None] * (np.arange(count) / count)).ravel()
        for x, h, count in (
            (ends[:-1], np.diff(ends), SAMPLES),
            (dense.t, dense.h, PER_STEP),
        )
    ]
    if just_after:
        parts.append(ends[0] + (ends[1] - ends[0]) * 0.5 ** np.arange(1.0, SHORTEST))
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
    return _with_hidden_zeros(events, stretch, found)


def _with_hidden_zeros(events: list[Event], stretch: Stretch, samples: _Samples) -> _Samples:
    """Add times at which an event has another sign than at the samples on both sides.

    Candidates are samples nearer to zero than both neighbors; where the parabola through the three
    comes near zero, its lowest point is looked for.
    """
    more: list[float] = []
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


def apply_map(event: Event, at: State) -> State:
    """Return the state after an event.

    Raises:
        ArgumentError: its map returns something else.
    """
    if event.map is None:
        return at
    t, q, v = at
    try:
        new_q, new_v = (np.array(x, float) for x in event.map(t, q.copy(), v.copy()))
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"the map of event {event.name!r} must return (q, v): {error}"
        ) from None
    if new_q.shape != q.shape or new_v.shape != v.shape:
        raise ArgumentError(
            f"the map of event {event.name!r} must return arrays of shape {q.shape} and {v.shape}, "
            f"got {new_q.shape} and {new_v.shape}"
        )
    if not (np.isfinite(new_q).all() and np.isfinite(new_v).all()):
        raise ArgumentError(f"the map of event {event.name!r} must return finite numbers")
    return t, new_q, new_v
