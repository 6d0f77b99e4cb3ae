"""Contacts that come and go: points that stick to a plane while it pushes them.

Which of them hold is the mode of the motion. Two events change it: touch-down, where a point
reaches its plane and the rates jump by the impulse that stops it, and lift-off, where the normal
force becomes zero.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from jounce._core.arrays import shown
from jounce._types import Array
from jounce.constraints import Constraints, Point, constrained_dynamics, impulse
from jounce.constraints.checks import rates_wanted
from jounce.dynamics import inverse_mass_matrix
from jounce.errors import ArgumentError, DivergenceError
from jounce.kinematics import body_pose
from jounce.model import Model
from jounce.model._checks import numbers
from jounce.simulation.events import Event
from jounce.simulation.manifold import later

__all__ = ["Contact", "Modes", "checked_contacts"]

NEAR = 1e-6
"""Points this near to their planes (m) touch them when others land, and at the start."""
SLOW = 1e-8
"""A point rests below this speed (m/s)."""
DEPTH = 5e-7
"""A point that was let go and has not left its plane lands when it is this far below (m)."""
ROUNDING = 1e-9
"""Impulses and accelerations below this, relative to the largest, are zero."""
MOST_CHANGES, QUICK = 100, 1e-4
"""More changes of the mode in such a time (s) are an error."""
MOST_TRIED = 10
"""Of so many contacts all sets are tried, if need be."""


@dataclass(frozen=True, eq=False)
class Contact:
    """A point of a robot that may stand on a plane, without slipping: an item of `simulate`.

    In the air it does nothing. At touch-down the rates jump by the plastic `impulse` of all
    contacts that then hold: those for which no plane pulls and no point that is free sinks. A
    contact ends when its normal force becomes zero. Points within 1e-6 m of their planes touch them
    when others land and at the start, where those that slide or move into them land at once: the
    record of that has the rates before, the motion those after. Points that would leave by less
    than 1e-6 m stay. Where no set of contacts is consistent, because a point would have to slip
    under load, or where changes never end, `simulate` raises a DivergenceError.

    Args:
        frame: a frame or body, whose origin is the point.
        normal: (3,) of the plane, in world axes, to the side where the robot is.
        height: of the plane along the normal, m.
        name: for the records of events, "touch-down of ..." and "lift-off of ..."; by default that
            of the frame.

    Examples:
        A mass on a spring falls, stands, and leaves the ground.

        >>> import jounce as jc, numpy as np
        >>> builder = jc.ModelBuilder().add_body(
        ...     "foot", joint="prismatic", axis=(0, 0, 1), mass=0.1)
        >>> builder = builder.add_body("body", "foot", "prismatic", axis=(0, 0, 1), mass=1.0)
        >>> def spring(t, q, v):
        ...     return [0.0, 500 * (0.5 - q[1])]
        >>> hop = jc.simulate(builder.build(), [0.5, 0.5], [0.0, 0.0], np.linspace(0, 0.8, 81),
        ...     spring, contacts=[jc.Contact("foot")])
        >>> [event.name for event in hop.events]
        ['touch-down of foot', 'lift-off of foot']
    """

    frame: str | int
    normal: Any = (0.0, 0.0, 1.0)
    height: float = 0.0
    name: str | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        normal = numbers("normal", self.normal, (3,))
        length = float(np.linalg.norm(normal))
        if length == 0:
            raise ArgumentError("normal must not be zero")
        object.__setattr__(self, "normal", tuple((normal / length).tolist()))
        object.__setattr__(self, "height", float(numbers("height", self.height, ())))

    @property
    def title(self) -> str:
        """Its name."""
        return str(self.frame) if self.name is None else self.name


def checked_contacts(model: Model, contacts: object) -> list[Contact]:
    """Return contacts as a list.

    Raises:
        ArgumentError: there is something else among them.
        UnknownNameError: an unknown frame.
    """
    found = [contacts] if isinstance(contacts, Contact) else contacts
    if not isinstance(found, Sequence) or not all(isinstance(x, Contact) for x in found):
        raise ArgumentError(
            f"contacts must be jounce.Contact or a list of them, got {shown(contacts)}"
        )
    Constraints(model, [Point(x.frame) for x in found])
    return list(found)


class Modes:
    """Which contacts of one state hold, and the events that change it.

    At each change the new mode is the solution of two complementarity problems. With the normal
    impulses p and the normal speeds w after them, of all points that touch their planes,

        (1)  p >= 0,  w >= 0,  and one of each pair is zero,

    and the same of normal forces and accelerations for those that then rest. What holds is held in
    all directions; what does not is free in all. A point that neither rests nor leaves, but slides
    and would sink, gets an impulse too.

    Args:
        contacts: all that there are.
        base: constraints that always hold, with targets, maybe none.
        start: when their motion starts.
        forces: of (t, q, v), generalized forces.
    """

    def __init__(
        self,
        contacts: list[Contact],
        base: Constraints,
        start: float,
        forces: Callable[[float, Array, Array], Array],
    ) -> None:
        self.model, self.contacts, self.forces = base.model, contacts, forces
        self.base, self.start = base, start
        self.held: dict[int, Point] = {}
        self.floors: dict[int, float] = {}  # of points that touch and do not hold
        self.pressed: set[int] = set()  # those of them that were let go though pressed down
        self.changes: list[int] = []  # events that the last decision stands for
        self.times: deque[float] = deque([-np.inf] * MOST_CHANGES, MOST_CHANGES)
        self.constraints = self._set_of(self.held)
        self.points = Constraints(self.model, [Point(x.frame) for x in contacts])
        self.normals = np.array([x.normal for x in contacts])
        self.known: tuple[Any, dict[int, float]] = None, {}

    def begin(self, t: float, q: Array, v: Array) -> Array:
        """Find the contacts that hold at the start, and return the rates with which they do.

        Raises:
            ArgumentError: a point is below its plane.
            DivergenceError: no set of contacts is consistent.
        """
        for k, contact in enumerate(self.contacts):
            gap = self.gap(k, q)
            if gap < -NEAR:
                raise ArgumentError(
                    f"contact {contact.title!r} starts {-gap:.3g} m below its plane: it must be "
                    f"above or within {NEAR:g} m of it; see jounce.project"
                )
        moving = np.abs(self._speeds(q, v)).max(axis=-1, initial=0.0) > NEAR
        _, after = self._decide(t, q, v, set(range(len(self.contacts))))
        self.changes = [x for x in self.changes if moving[x // 2]]
        return after

    def gap(self, k: int, q: Array) -> float:
        """Height of a point above its plane."""
        contact = self.contacts[k]
        position = body_pose(self.model, q, contact.frame)[:3, 3]
        return float(position @ contact.normal) - contact.height

    def events(self) -> list[Event]:
        """Touch-downs and lift-offs of all contacts, one after the other."""
        found = []
        for k, contact in enumerate(self.contacts):
            for function, name in ((self._above, "touch-down"), (self._pushing, "lift-off")):
                title = f"{name} of {contact.title}"
                found.append(Event(partial(function, k), False, -1, self._change, title))
        return found

    def passed(self, q: Array) -> None:
        """Forget points that have left their planes, at a state that was reached."""
        self.floors = {k: x for k, x in self.floors.items() if self.gap(k, q) <= DEPTH}
        self.pressed &= self.floors.keys()

    def _set_of(self, held: Iterable[int], q: Array | None = None) -> Constraints:
        items = [self.held[k] if k in self.held else self._at(k, q) for k in held]
        return self.base._changed([*self.base.items, *items])

    def _at(self, k: int, q: Array | None) -> Point:
        assert q is not None
        frame = self.contacts[k].frame
        position = body_pose(self.model, q, frame)[:3, 3]
        return Point(frame, target=position - min(self.gap(k, q), 0.0) * self.normals[k])

    def _above(self, k: int, t: float, q: Array, v: Array) -> float:
        return 1.0 if k in self.held else self.gap(k, q) - self.floors.get(k, 0.0)

    def _pushing(self, k: int, t: float, q: Array, v: Array) -> float:
        return self._normal_forces(t, q, v)[k] if k in self.held else 1.0

    def _normal_forces(self, t: float, q: Array, v: Array) -> dict[int, float]:
        key = t, q.tobytes(), v.tobytes(), tuple(self.held)
        if self.known[0] != key:
            acting = later(self.constraints, t - self.start)
            force = constrained_dynamics(self.model, q, v, self.forces(t, q, v), acting).force
            self.known = key, self._along(self.held, force)
        return self.known[1]

    def _along(self, held: Iterable[int], force: Array) -> dict[int, float]:
        """Parts of forces or impulses along the normals."""
        some = list(held)
        rows = force[len(force) - 3 * len(some) :].reshape(-1, 3)
        return {k: float(row @ self.normals[k]) for k, row in zip(some, rows, strict=True)}

    def _speeds(self, q: Array, v: Array) -> Array:
        """Velocities of all points, (n, 3)."""
        return self.points.velocity(q, v).reshape(-1, 3)

    def _change(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The map of all events: those of one time are decided together."""
        if self.times[-1] == t:
            return q, v
        if t - self.times[0] < QUICK:
            raise DivergenceError(
                f"contacts come and go without end at t = {t:.9g} s: {MOST_CHANGES} changes in "
                f"{QUICK:g} s"
            )
        self.times.append(t)
        return self._decide(t, q, v)

    def _decide(
        self, t: float, q: Array, v: Array, start: Iterable[int] = ()
    ) -> tuple[Array, Array]:
        """Find which contacts hold from now on; return the state with which they do."""
        gaps = [self.gap(k, q) for k in range(len(self.contacts))]
        touching = [k for k, gap in enumerate(gaps) if k in self.held or gap <= NEAR]
        normal = self._normal_speeds(q, v)
        approaching = {k for k in touching if k not in self.held and normal[k] < -SLOW}
        stopped = set(start)
        if self.held:
            stopped |= {k for k, x in self._normal_forces(t, q, v).items() if x > 0}
        after = v
        if approaching:
            stopped = (stopped & set(touching)) | approaching
            after, stopped = self._impact(t, q, v, touching, stopped)
        for _ in range(2 * len(touching) + 2):
            holds, sinking = self._resting(t, q, after, touching, stopped)
            if not sinking:
                break
            after, stopped = self._caught(t, q, after, touching, holds, sinking)
        else:
            raise self._inconsistent(t, touching)
        self._note(holds, {k for k in approaching if normal[k] < -NEAR})
        self.held = {k: self.held.get(k) or self._at(k, q) for k in sorted(holds)}
        self.constraints = self._set_of(self.held)
        self.floors = {k: min(gaps[k], 0.0) - DEPTH for k in touching if k not in self.held}
        return q, after

    def _note(self, holds: set[int], landed: set[int]) -> None:
        """Which events have happened; what touches and leaves at once has both."""
        down, off = (holds | landed) - self.held.keys(), (self.held.keys() | landed) - holds
        self.changes = sorted([2 * k for k in down] + [2 * k + 1 for k in off])

    def _normal_speeds(self, q: Array, v: Array) -> Array:
        speeds: Array = (self._speeds(q, v) * self.normals).sum(axis=-1)
        return speeds

    def _impact(
        self, t: float, q: Array, v: Array, touching: list[int], start: set[int]
    ) -> tuple[Array, set[int]]:
        """Rates after the impulses of equation (1), and the contacts that have them."""

        def slack(held: list[int]) -> dict[int, float]:
            jump = impulse(self.model, q, v, later(self._set_of(held, q), t - self.start))
            return self._slack(touching, held, q, jump.v, jump.impulse)

        holds = complementary_set(touching, start, slack)
        if holds is None:
            return self._clinging(t, q, v, touching, start)
        acting = later(self._set_of(sorted(holds), q), t - self.start)
        return impulse(self.model, q, v, acting).v, holds

    def _slack(
        self, touching: list[int], held: list[int], q: Array, v: Array, push: Array
    ) -> dict[int, float]:
        """Of equation (1): impulses of those that hold, speeds of the others."""
        normal, speeds = self._along(held, push), self._normal_speeds(q, v)
        small = ROUNDING * np.abs(push).max(initial=0.0)
        return {k: normal[k] + small if k in normal else speeds[k] + SLOW for k in touching}

    def _clinging(
        self, t: float, q: Array, v: Array, touching: list[int], start: set[int]
    ) -> tuple[Array, set[int]]:
        """The same where all that touch are stopped along their planes, even if they leave them.

        This takes the most energy that impulses p >= 0 can take, and always has a solution.
        """
        base = later(self.base, t - self.start)
        J, W = self.points.jacobian(q), inverse_mass_matrix(self.model, q)
        rows = {k: J[3 * k : 3 * k + 3] for k in touching}
        flat = {k: x - np.outer(self.normals[k], self.normals[k] @ x) for k, x in rows.items()}
        always, wanted = base.jacobian(q), rates_wanted(base)

        def jump(held: list[int]) -> tuple[Array, Array]:
            free = [flat[k] for k in touching if k not in held]
            G = np.concatenate([always, *free, *(rows[k] for k in held)])
            wrong = G @ v
            wrong[: len(wanted)] -= wanted
            push = -np.linalg.pinv(G @ W @ G.T, 1e-10, hermitian=True) @ wrong
            return v + W @ (G.T @ push), push

        def slack(held: list[int]) -> dict[int, float]:
            return self._slack(touching, held, q, *jump(held))

        holds = complementary_set(touching, start, slack)
        if holds is None:
            raise self._inconsistent(t, touching)
        return jump(sorted(holds))[0], holds

    def _resting(
        self, t: float, q: Array, v: Array, touching: list[int], start: set[int]
    ) -> tuple[set[int], set[int]]:
        """Contacts that hold by equation (1) of forces, and those that move but will not leave."""
        tau, speeds = self.forces(t, q, v), np.abs(self._speeds(q, v)).max(axis=-1, initial=0.0)
        rest = [k for k in touching if speeds[k] <= SLOW]

        def leaving(held: list[int]) -> tuple[dict[int, float], Array, float]:
            acting = later(self._set_of(held, q), t - self.start)
            found = constrained_dynamics(self.model, q, v, tau, acting)
            rows = self.points.acceleration(q, v, found.a).reshape(-1, 3)
            small = ROUNDING * (1 + float(np.abs(rows).max(initial=0.0)))
            return self._along(held, found.force), (rows * self.normals).sum(axis=-1), small

        def slack(held: list[int]) -> dict[int, float]:
            push, leave, small = leaving(held)
            return {k: push[k] if k in push else leave[k] + small for k in rest}

        holds = complementary_set(rest, start & set(rest), slack)
        if holds is None:
            holds, push = start & set(rest), {}
            while holds and min((push := leaving(sorted(holds))[0]).values()) < 0:
                holds.remove(min(push, key=lambda k: push[k]))
        _, leave, small = leaving(sorted(holds))
        pressed = {k for k in rest if k not in holds and leave[k] < -small}
        if pressed & self.pressed:
            raise self._inconsistent(t, touching)
        self.pressed |= pressed
        normal = self._normal_speeds(q, v)
        low = np.maximum(normal, 0.0) ** 2 <= -2 * NEAR * (leave + small)
        return holds, {k for k in touching if k not in rest and low[k] and leave[k] < -small}

    def _caught(
        self,
        t: float,
        q: Array,
        v: Array,
        touching: list[int],
        holds: set[int],
        sinking: set[int],
    ) -> tuple[Array, set[int]]:
        """Stop points that would leave their planes by less than `NEAR`, or slide and sink."""
        speeds, normal = self._speeds(q, v), self._normal_speeds(q, v)
        along = np.abs(speeds - normal[:, None] * self.normals).max(axis=-1, initial=0.0)
        if any(along[k] > SLOW and along[k] > abs(normal[k]) for k in sinking):
            return self._clinging(t, q, v, touching, holds | sinking)
        acting = self._set_of(sorted(holds | sinking), q)
        return impulse(self.model, q, v, later(acting, t - self.start)).v, holds | sinking

    def _inconsistent(self, t: float, touching: list[int]) -> DivergenceError:
        names = ", ".join(repr(self.contacts[k].title) for k in touching)
        return DivergenceError(
            f"no set of the contacts {names} is consistent at t = {t:.9g} s: in each, a plane "
            "would have to pull or a point that is let go sinks. Such points slip in truth, which "
            "a jounce.Contact does not"
        )


def complementary_set(
    some: list[int], start: set[int], slack: Callable[[list[int]], dict[int, float]]
) -> set[int] | None:
    """Return a set with no negative slack, or None if there is none.

    Murty's pivoting: the first member or non-member with a negative slack changes sides. For
    frictionless contacts it always ends (K. G. Murty, Opsearch 11, 1974). Where it comes back to a
    set, all sets of up to 10 are tried, the largest first.

    Args:
        some: numbers from which to choose.
        start: where to begin.
        slack: of a sorted set; of members what pushes them, of others how they leave.
    """
    active, tried = set(start), set()
    while frozenset(active) not in tried:
        tried.add(frozenset(active))
        found = slack(sorted(active))
        wrong = next((k for k in some if found[k] < 0), None)
        if wrong is None:
            return active
        active ^= {wrong}
    for size in range(len(some), -1, -1) if len(some) <= MOST_TRIED else ():
        for held in combinations(sorted(some), size):
            if frozenset(held) not in tried and not any(slack(list(held))[k] < 0 for k in some):
                return set(held)
    return None
