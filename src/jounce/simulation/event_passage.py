"""The motion of one state through its events, from each to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jounce._types import Array
from jounce.errors import DivergenceError, SingularError
from jounce.simulation.dense import StepLog
from jounce.simulation.event_search import (
    Crossing,
    Samples,
    Stretch,
    earliest,
    event_signs,
    event_value,
    first_crossing,
    sampled,
)
from jounce.simulation.events import (
    Event,
    EventRecord,
    Repeats,
    State,
    apply_map,
    at_stored_time,
    endless,
)
from jounce.simulation.store import blank

__all__ = ["Follow", "Passed", "through_events"]

CHUNK = 16
"""Intervals that are followed at once."""
SHORTEST, SHORT = 40, 20
"""After a map the first interval is halved so often, to see how the motion leaves; after an event
without one, to see whether it comes back at once."""

Follow = Callable[[Array, Array, Array], Stretch]
"""The motion at times (K,), of which the first is that of q and v."""

Told = Callable[[list[int]], list[int]]
"""Of events that happened, those that are recorded; it is asked after their maps."""


class Passed(NamedTuple):
    """What one state did."""

    q: Array
    """(T, nq) coordinates; NaN after it ended, and anything after what Ctrl-C left."""
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
    """Where Ctrl-C or an error found it."""
    error: Exception | None = None
    """Of a control, an event or a map."""


def through_events(
    follow: Follow,
    t: Array,
    q: Array,
    v: Array,
    events: list[Event],
    place: tuple[int, ...],
    stores: tuple[Array, Array],
    log: StepLog,
    told: Told = list,
) -> Passed:
    """Follow one state through events, each at its time; all that happen at once are recorded.

    Args:
        follow: gives the motion without events.
        t: (T,) times.
        q: (nq,) coordinates at the first.
        v: (nv,) rates.
        events: what to look for.
        place: which state of the batch it is.
        stores: (T, nq) and (T, nv), where its states are written.
        log: keeps the steps.
        told: of events that happened, those that are recorded; it is asked after their maps.
    """
    way = _Passage(t, (float(t[0]), q, v), events, place, stores, log, told)
    out = way.out
    try:
        while way.due < len(t) and not way.over:
            stretch = follow(way.grid(), *way.at[1:])
            if len(stretch.t) < 2:  # Ctrl-C before the first step
                raise KeyboardInterrupt
            way.along(stretch)
            if stretch.error is not None and way.goes_on and not way.over:
                raise stretch.error
            if stretch.interrupted and not way.over:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        return out._replace(reached=way.due, last=way.at)
    except (DivergenceError, SingularError) as error:
        way.give_here()
        way.blank()
        return out._replace(end=way.at[0], failure=str(error))
    except Exception as error:  # it shall carry what was computed
        return out._replace(reached=way.due, last=way.at, error=error)
    way.blank()
    return out._replace(end=way.at[0] if way.over else np.inf, failure=way.failure)


class _Passage:
    """One state on its way."""

    def __init__(
        self,
        t: Array,
        at: State,
        events: list[Event],
        place: tuple[int, ...],
        stores: tuple[Array, Array],
        log: StepLog,
        told: Told,
    ) -> None:
        self.t, self.events, self.place, self.log, self.told = t, events, place, log, told
        self.out = Passed(*stores, [], np.inf, log=log)
        self.out.q[0], self.out.v[0] = at[1:]
        self.at, self.due = at, 1
        """Where it is, and the first time that is not given."""
        self.signs = event_signs(events, *at)
        self.mapped: dict[int, float] = {}
        """Events whose maps were used just before, and their signs before them."""
        self.repeats = [Repeats() for _ in events]
        self.halvings, self.goes_on = 0, False
        """See `sampled`."""
        self.over = False
        self.failure: str | None = None

    def grid(self) -> Array:
        """Where it is, and the next times that are due."""
        return np.concatenate([[self.at[0]], self.t[self.due : self.due + CHUNK]])

    def along(self, stretch: Stretch) -> None:
        """Go along a stretch, to its first events or to its end."""
        samples = sampled(self.events, stretch, self.halvings, self.goes_on)
        for which, sign in self.mapped.items():
            self._require_end(which, sign, samples)
        found = first_crossing(self.events, self.signs, samples)
        self.mapped, self.halvings, self.goes_on = {}, 0, found is None
        if found is None:
            self._to_end(stretch, samples)
        else:
            self._to_events(stretch, samples, found)

    def _require_end(self, which: int, before: float, samples: Samples) -> None:
        """Refuse maps at ever shorter distances, of which the last is not seen any more."""
        repeats, signs = self.repeats[which], np.sign(samples.values[1:, which])
        passes = next((x for x in signs if x), before) == -before
        if repeats.never_ends or (passes and repeats.fades):
            raise endless(self.events[which], float(samples.t[0]))

    def _to_end(self, stretch: Stretch, samples: Samples) -> None:
        stop = float(samples.t[-1])
        self._give(stretch, np.nextafter(stop, np.inf))
        self._keep(stretch, stop)
        self.at = float(stretch.t[-1]), stretch.q[-1], stretch.v[-1]
        if stretch.failure is not None:
            self.at = samples.state(-1)
            self.over, self.failure = True, stretch.failure

    def _to_events(self, stretch: Stretch, samples: Samples, found: Crossing) -> None:
        left, right = (samples.state(found.interval + x) for x in (0, 1))
        (t, q, v), happened = earliest(stretch, self.events, found, left, right[0])
        at = at_stored_time(t, self.t), q, v
        self._give(stretch, at[0])
        self._keep(stretch, at[0])
        self.at, self.over = at, any(self.events[x].terminal for x in happened)
        if not self.over:
            for which in happened:
                self.at = apply_map(self.events[which], self.at)
        self.out.records.extend(
            EventRecord(self.events[x].name, x, self.place, *at, -int(found.signs[x] or 1))
            for x in (happened if self.over else self.told(happened))
        )
        if not self.over:
            self._leave(happened, found.signs, right)
        self.give_here()

    def _leave(self, happened: list[int], before: Array, right: State) -> None:
        """Go on after events; `right` is a state after them on the way without their maps."""
        self.mapped = {x: float(before[x]) for x in happened if self.events[x].map is not None}
        for x in self.mapped:
            self.repeats[x].happened(self.at[0])
        self.halvings = SHORTEST if self.mapped else SHORT
        self.signs = event_signs(self.events, *self.at) if self.mapped else before
        for x in happened:
            stays = bool(self.mapped) or event_value(self.events[x], *right) == 0.0
            self.signs[x] = 0.0 if stays else -before[x]

    def _give(self, stretch: Stretch, stop: float) -> None:
        """Write the states at times before one."""
        for k in range(1, len(stretch.t)):
            if self.due >= len(self.t) or stretch.t[k] >= stop:
                break
            if stretch.t[k] == self.t[self.due]:
                self.out.q[self.due], self.out.v[self.due] = stretch.q[k], stretch.v[k]
                self.due += 1

    def give_here(self) -> None:
        """Write the state where it is at all times until then."""
        while self.due < len(self.t) and self.t[self.due] <= self.at[0]:
            self.out.q[self.due], self.out.v[self.due] = self.at[1:]
            self.due += 1

    def blank(self) -> None:
        """Let nothing be known after what was written."""
        blank((self.out.q[None], self.out.v[None]), np.array([self.due]), len(self.t))

    def _keep(self, stretch: Stretch, stop: float) -> None:
        """Keep the steps that begin before a time."""
        dense = stretch.dense
        some = np.flatnonzero(dense.t < stop)
        at = (x[some] for x in (dense.t, dense.h, dense.q, dense.v))
        self.log.add(np.zeros(len(some), int), *at, *dense.coefficients(some))
