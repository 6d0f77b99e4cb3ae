"""Contacts that come and go: points that stick to a plane while it pushes them.

Which of them hold is the mode of the motion. Two events change it: touch-down, where a point
reaches its plane and the rates jump by the impulse that stops it, and lift-off, where the normal
force becomes zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from jounce._types import Array
from jounce.constraints import Constraints, Point, constrained_dynamics, impulse
from jounce.errors import ArgumentError, DivergenceError
from jounce.kinematics import body_pose
from jounce.model import Model
from jounce.model._checks import numbers
from jounce.simulation.events import Event
from jounce.simulation.manifold import later

__all__ = ["Contact", "Modes", "checked_contacts"]

TOUCHING = 1e-9
"""A point this near to its plane (m) and as slow (m/s) is in contact at the start."""

SUNK = 1e-5
"""A point that was let go must not be this far below its plane."""


@dataclass(frozen=True, eq=False)
class Contact:
    """A point of a robot that may stand on a plane, without slipping: an item of `simulate`.

    In the air it does nothing. At touch-down the rates jump by the plastic `impulse` of all
    contacts that then hold; those that it would pull at let go. A contact ends when its normal
    force becomes zero.

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
        raise ArgumentError(f"contacts must be jounce.Contact or a list of them, got {contacts!r}")
    Constraints(model, [Point(x.frame) for x in found])
    return list(found)


class Modes:
    """Which contacts of one state hold, and the events that change it.

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
        self.leaving: set[int] = set()  # released, and not yet above the plane
        self.constraints = self._set_of(self.held)

    def begin(self, t: float, q: Array, v: Array) -> None:
        """Find the contacts that hold at the start.

        Raises:
            ArgumentError: a point is below its plane, or moves into it.
        """
        for k, contact in enumerate(self.contacts):
            gap = self.gap(k, q)
            if gap > TOUCHING:
                continue
            point = Constraints(self.model, [Point(contact.frame)])
            speed = point.velocity(q, v)
            into = float(speed @ contact.normal)
            if gap < -TOUCHING or into < -TOUCHING:
                raise ArgumentError(
                    f"contact {contact.title!r} starts {-gap:.3g} m below its plane and moves into "
                    f"it at {-into:.3g} m/s: it must be above or rest there; see jounce.impulse"
                )
            if np.abs(speed).max() <= TOUCHING:
                self.held[k] = self._at(k, q)
        self._settle(t, q, v)

    def gap(self, k: int, q: Array) -> float:
        """Height of a point above its plane."""
        contact = self.contacts[k]
        position = body_pose(self.model, q, contact.frame)[:3, 3]
        return float(position @ contact.normal) - contact.height

    def events(self) -> list[Event]:
        """Touch-downs and lift-offs of all contacts."""
        found = []
        for k, contact in enumerate(self.contacts):
            down, off = partial(self._above, k), partial(self._pushing, k)
            land, leave = partial(self._land, k), partial(self._leave, k)
            found.append(Event(down, False, -1, land, f"touch-down of {contact.title}"))
            found.append(Event(off, False, -1, leave, f"lift-off of {contact.title}"))
        return found

    def _set_of(self, held: dict[int, Point]) -> Constraints:
        return self.base._changed([*self.base.items, *held.values()])

    def _at(self, k: int, q: Array) -> Point:
        frame = self.contacts[k].frame
        return Point(frame, target=body_pose(self.model, q, frame)[:3, 3])

    def _above(self, k: int, t: float, q: Array, v: Array) -> float:
        if k in self.held:
            return 1.0
        gap = self.gap(k, q)
        if k not in self.leaving:
            return gap
        if gap > TOUCHING:
            self.leaving.discard(k)
        elif gap < -SUNK:
            raise DivergenceError(
                f"contact {self.contacts[k].title!r} let go and sinks into its plane at "
                f"t = {t:.9g} s: without its force along the plane it is pressed down"
            )
        return 1.0

    def _pushing(self, k: int, t: float, q: Array, v: Array) -> float:
        return self._normal_forces(t, q, v)[k] if k in self.held else 1.0

    def _normal_forces(self, t: float, q: Array, v: Array) -> dict[int, float]:
        tau, acting = self.forces(t, q, v), later(self.constraints, t - self.start)
        force = constrained_dynamics(self.model, q, v, tau, acting).force
        return self._normals(self.held, force)

    def _normals(self, held: dict[int, Point], force: Array) -> dict[int, float]:
        """Parts of forces or impulses along the normals."""
        rows = force[len(force) - 3 * len(held) :].reshape(-1, 3)
        each = zip(held, rows, strict=True)
        return {k: float(row @ self.contacts[k].normal) for k, row in each}

    def _land(self, k: int, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        held = {**self.held, k: self._at(k, q)}
        while True:
            after, push = impulse(self.model, q, v, later(self._set_of(held), t - self.start))
            pulls = {i: x for i, x in self._normals(held, push).items() if x < 0 and i != k}
            if not pulls:
                break
            del held[min(pulls, key=lambda i: pulls[i])]
        self.leaving |= self.held.keys() - held.keys()
        self.held = held
        self._settle(t, q, after)
        return q, after

    def _leave(self, k: int, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        self._release(k)
        self._settle(t, q, v)
        return q, v

    def _settle(self, t: float, q: Array, v: Array) -> None:
        """Let go of contacts that would pull."""
        while True:
            self.constraints = self._set_of(self.held)
            if not self.held:
                return
            forces = self._normal_forces(t, q, v)
            worst = min(forces, key=lambda i: forces[i])
            if forces[worst] >= 0:
                return
            self._release(worst)

    def _release(self, k: int) -> None:
        del self.held[k]
        self.leaving.add(k)
