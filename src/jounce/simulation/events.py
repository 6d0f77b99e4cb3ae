"""Events along a simulation: zeros of functions of the state, and what they do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jounce._core.arrays import reals, shown
from jounce._types import Array, ArrayLike
from jounce.dynamics import inverse_mass_matrix
from jounce.errors import ArgumentError, DivergenceError
from jounce.model import Model
from jounce.model._checks import check_flag
from jounce.model.model import require_model
from jounce.simulation.control import limited

__all__ = [
    "Event",
    "EventRecord",
    "EventSeries",
    "Repeats",
    "apply_map",
    "at_stored_time",
    "endless",
    "joint_limits",
]

State = tuple[float, Array, Array]
"""A time, coordinates and rates."""

EventSeries = Callable[[Array, Array, Array], ArrayLike]
"""An event and its time derivatives, from q (nq,), motion (r + 2, nv) and tau (r + 1, nv)."""

MOST_AT_ONCE = 100
"""So often an event may happen without time going on."""
SHORTER, FADED = 0.999, 2.0**-14
"""Parts of the last and of the widest distance of an event's times below which it fades away."""

SAME_TIME = 64
"""Zeros within so many units in the last place of the time are one."""


@dataclass(frozen=True, eq=False)
class Event:
    """A function of the state that is zero when something happens.

    Args:
        function: of (t, q, v) of one state; returns a number. Where it only touches zero, without
            a change of its sign, nothing happens, unless it is exactly zero where it is looked at.
        terminal: whether the motion ends there; in a batch, where others go on, what follows of its
            state is NaN, and ``motion.ended`` says when.
        direction: 1: rising zeros only, -1: falling ones, 0: all.
        map: of (t, q, v); returns the state (q, v) after the event, for example of an impact. The
            motion may turn back or, as after a kick, go on through zero.
        name: for records and messages.
        series: the function and its time derivatives along a motion, from q (nq,), the rates and
            their derivatives (r + 2, nv) and the forces and theirs (r + 1, nv). If all events have
            it, ``simulate(method="taylor")`` isolates their zeros in the polynomials of its steps:
            no pair of crossings within a step is missed. It returns at least r + 1 rows, the first
            of which is what the function returns: fewer are an error, zeros are rows, too.

    Raises:
        ArgumentError: a function, map or series that cannot be called, a direction that is none,
            a name that is no text, or `terminal` that is neither True nor False.

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

    def __post_init__(self) -> None:
        """Refuse what no simulation can look for."""
        number = isinstance(self.direction, (int, float, np.number))
        if not (number and self.direction in (-1, 0, 1) and callable(self.function)):
            raise ArgumentError(f"event {self.name!r} needs a function and a direction -1, 0 or 1")
        if not isinstance(self.name, str):
            raise ArgumentError(f"the name of an event must be a str, got {shown(self.name)}")
        check_flag(f"terminal of event {self.name!r}", self.terminal)
        for what, function in (("map", self.map), ("series", self.series)):
            if function is not None and not callable(function):
                raise ArgumentError(
                    f"{what} of event {self.name!r} must be a function or None, "
                    f"got {shown(function)}"
                )


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
        raise ArgumentError(f"restitution must be a number, above 0 to 1, got {shown(restitution)}")
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
        raise ArgumentError(f"events must be jounce.Event or a list of them, got {shown(events)}")
    return list(found)


def at_stored_time(t: float, times: Array) -> float:
    """A time, or that of `times` (T,) which is the same within rounding errors.

    So what is stored at the time of an impact is the state after it, by whatever method.
    """
    k = int(np.searchsorted(times, t))
    beside = times[max(k - 1, 0) : k + 1]
    nearest = float(beside[np.argmin(np.abs(beside - t))])
    wide = SAME_TIME * np.spacing(max(abs(t), float(np.abs(beside).max())))
    return nearest if abs(nearest - t) <= wide else t


def endless(event: Event, t: float) -> DivergenceError:
    """Return the error of an event that never ends."""
    return DivergenceError(
        f"event {event.name!r} happens again and again at t = {t:.9g} s: each time its map lets "
        "the motion come back to zero sooner, or no time passes"
    )


class Repeats:
    """How often an event with a map has happened, and at what distances of time.

    A map that lets the motion go on through zero, as a kick does, is nothing special. A ball that
    comes to rest bounces at ever shorter distances, until they are lost in rounding errors and it
    seems to pass: that never ends.
    """

    def __init__(self) -> None:
        self.last, self.gap, self.before, self.widest = -np.inf, 0.0, 0.0, 0.0
        self.times, self.instant = 0, 0
        """How often, and how often without time going on."""
        self.never_ends = False

    def happened(self, t: float) -> None:
        """Count one more."""
        first = self.times == 0
        self.last, self.before, self.gap = t, self.gap, 0.0 if first else t - self.last
        self.widest, self.times = max(self.widest, self.gap), self.times + 1
        still = not first and self.gap <= SAME_TIME * float(np.spacing(abs(t)))
        self.instant = self.instant + 1 if still else 0
        self.never_ends |= self.instant >= MOST_AT_ONCE

    @property
    def fades(self) -> bool:
        """Whether the distances have become shorter and shorter."""
        shorter = self.gap < SHORTER * self.before and self.gap < FADED * self.widest
        return self.times > 1 and (shorter or self.instant > 0)


def apply_map(event: Event, at: State) -> State:
    """Return the state after an event.

    Raises:
        ArgumentError: its map returns something else.
    """
    if event.map is None:
        return at
    t, q, v = at
    found = event.map(t, q.copy(), v.copy())
    whose = f"the map of event {event.name!r} must return (q, v)"
    try:
        new_q, new_v = found
    except (TypeError, ValueError):
        raise ArgumentError(f"{whose}, got {shown(found)}") from None
    new_q, new_v = (np.array(reals(f"{whose}: they", x)) for x in (new_q, new_v))
    if new_q.shape != q.shape or new_v.shape != v.shape:
        raise ArgumentError(
            f"the map of event {event.name!r} must return arrays of shape {q.shape} and {v.shape}, "
            f"got {new_q.shape} and {new_v.shape}"
        )
    if not (np.isfinite(new_q).all() and np.isfinite(new_v).all()):
        raise ArgumentError(f"the map of event {event.name!r} must return finite numbers")
    return t, new_q, new_v
