"""The kinds of constraints, as plain data.

All but couplings speak of a first frame relative to a second one, the world if there is none. A
``target`` says where the first frame shall be; without one it is held where it is. A ``motion``
makes a constraint rheonomic: the rates that its rows shall have, and the time derivatives of these,
zero from where the list ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jounce._core.arrays import reals, shown
from jounce._types import ArrayLike
from jounce.errors import ArgumentError
from jounce.lie._checks import group_element
from jounce.model._checks import building, numbers, restore

__all__ = [
    "DIRECTIONS",
    "AnyConstraint",
    "Coupling",
    "Distance",
    "Loop",
    "Point",
    "Rolling",
    "Weld",
]

DIRECTIONS = ("rx", "ry", "rz", "x", "y", "z")
"""Turns about and shifts along the axes of a frame."""

_ROUNDING = 1e-15
"""Of the length of a unit vector, which stays as it is: copies are equal."""

_LEAST = 1e-100
"""Squares of smaller numbers vanish, and those of its inverse and larger ones overflow."""

Numbers = tuple[float, ...]
Frame = str | int


class _Restored:
    """What a pickle or a copy brings goes through the constructor."""

    def __setstate__(self, state: Any) -> None:
        """Build it anew: a pickle may bring anything."""
        with building(type(self)):
            restore(self, state)


class _Between(_Restored):
    """What all but couplings share: two frames, of which the second may be the world."""

    first: Frame
    second: Frame | None
    joint_names: tuple[str, ...] = ()

    @property
    def frame_names(self) -> tuple[Frame, ...]:
        """The frames that it holds."""
        return (self.first,) if self.second is None else (self.first, self.second)

    @property
    def label(self) -> str:
        """What messages call it: its kind and its frames."""
        return f"{type(self).__name__}({', '.join(map(repr, self.frame_names))})"

    def renamed(
        self,
        frame: Callable[[Any], str],
        joint: Callable[[str], str],
        world: str | None = None,
    ) -> Any:
        """The same under other names of frames, with a frame in the place of the world."""
        second = world if self.second is None else frame(self.second)
        return replace(self, first=frame(self.first), second=second)  # type: ignore[type-var]

    def with_locked(self, locked: Mapping[str, Any]) -> Any:
        """The same, since frames stay where joints are locked."""
        return self


@dataclass(frozen=True)
class Weld(_Between):
    """Two frames that do not move against each other: six rows.

    The force is a wrench (moment, force) on the first frame, in its axes and about its origin; the
    second frame gets the opposite at the same point.

    Args:
        first: a frame, by its name, or a body by name or index.
        second: another one; the world if None.
        target: (4, 4) pose of the first in the second.
        motion: (k, 6) body-fixed twist of the first relative to the second, and its derivatives.

    Examples:
        >>> jc.Constraints(jc.models.humanoid(), [jc.Weld("left_sole"), jc.Weld("right_sole")]).size
        12
    """

    first: Frame
    second: Frame | None = None
    target: Any = None
    motion: Any = None
    free = ()

    def __post_init__(self) -> None:
        """Check the numbers."""
        _keep(self, "target", _pose("target", self.target))
        _keep(self, "motion", _motion(self.motion, 6))


@dataclass(frozen=True)
class Loop(_Between):
    """A joint that closes a loop: two frames that move against each other in free directions only.

    The force is the wrench (moment, force) on the first frame in the directions that are not free,
    in their order, in its axes and about its origin; the second frame gets the opposite at the same
    point. ``Loop(a, b, free=("rz",))`` is a hinge about z, ``free=("rx", "ry", "rz")`` a ball
    joint, ``free=("rz", "z")`` a cylinder, ``free=("rz", "x", "y")`` a plane.

    Directions that belong to no joint (a single turn held, the direction across a slot that turns)
    are constraints of rates only: they hold no position, and a target says nothing about them. If
    all are of that kind, there is no target.

    Args:
        first: a frame, by its name, or a body by name or index.
        second: another one.
        free: which of rx, ry, rz, x, y, z of the first frame are free.
        target: (4, 4) pose of the first in the second; in free directions it does not matter.
        motion: (k, rows) rates of the first relative to the second, and their derivatives.

    Examples:
        >>> jc.Constraints(jc.models.chain(4), [jc.Loop("body3", "body0", free=("rz",))]).size
        5
    """

    first: Frame
    second: Frame | None
    free: tuple[str, ...] = ()
    target: Any = None
    motion: Any = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        several = np.iterable(self.free) and not isinstance(self.free, str)
        free: tuple[Any, ...] = tuple(self.free) if several else (self.free,)
        unknown = [name for name in free if not isinstance(name, str) or name not in DIRECTIONS]
        if unknown or len(set(free)) != len(free) or len(free) == 6:
            raise ArgumentError(
                f"free must be at most five different of {', '.join(DIRECTIONS)}, "
                f"got {shown(self.free)}"
            )
        _keep(self, "free", free)
        _keep(self, "target", _pose("target", self.target))
        _keep(self, "motion", _motion(self.motion, 6 - len(free)))
        if self.target is not None and not any(held_positions(free).values()):
            raise ArgumentError(
                f"free={free!r} holds rates, no position, so it takes no target; see jounce.Loop"
            )


@dataclass(frozen=True)
class Point(_Between):
    """A point, the origin of the first frame, that does not move in the second frame: three rows.

    The force acts on the first frame at its origin, in world axes; the second frame gets the
    opposite at the same point.

    Args:
        first: a frame, by its name, or a body by name or index.
        second: another one; the world if None.
        target: (3,) position of the first frame's origin in the second.
        motion: (k, 3) velocity of the point against the second frame, in world axes, and its
            derivatives.

    Examples:
        >>> jc.Constraints(jc.models.quadruped(), [jc.Point("front_left_foot")]).size
        3
    """

    first: Frame
    second: Frame | None = None
    target: Any = None
    motion: Any = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        _keep(self, "target", _vector("target", self.target, 3))
        _keep(self, "motion", _motion(self.motion, 3))


@dataclass(frozen=True)
class Distance(_Between):
    """A rod between two points: one row.

    The force is what the rod pushes with, in N; a rope pulls with a negative one.

    Args:
        first: a frame, by its name, or a body by name or index; the rod ends at its origin.
        second: another one; the world if None.
        anchor: (3,) the rod's other end in the second frame.
        target: length of the rod.
        motion: (k,) rate of the length, and its derivatives.

    Examples:
        >>> jc.Constraints(jc.models.chain(4), [jc.Distance("body3", "body0")]).size
        1
    """

    first: Frame
    second: Frame | None = None
    anchor: Any = (0.0, 0.0, 0.0)
    target: float | None = None
    motion: Any = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        _keep(self, "anchor", tuple(numbers("anchor", self.anchor, (3,)).tolist()))
        if self.target is not None:
            length = float(numbers("target", self.target, ()))
            if length <= 0:
                raise ArgumentError(f"target must be a positive length, got {shown(self.target)}")
            _keep(self, "target", length)
        _keep(self, "motion", _motion(self.motion, 1))


@dataclass(frozen=True)
class Coupling(_Restored):
    """Coordinates that move together, as those of gears: sum of c_i q_i = offset; one row.

    A coefficient may be a list (c_1, ..., c_4) for c_1 q + c_2 q^2 + c_3 q^3 + c_4 q^4. The force
    is in units of tau: rate i gets its coefficient times the force.

    Args:
        coefficients: by the names of joints of one degree of freedom.
        offset: what the sum shall be; None holds it where it is.
        motion: (k,) rate of the sum, and its derivatives.

    Examples:
        >>> jc.Constraints(jc.models.chain(2), [jc.Coupling({"joint0": 1.0, "joint1": -2.0})]).size
        1
    """

    coefficients: Any
    offset: float | None = 0.0
    motion: Any = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        given = self.coefficients
        if isinstance(given, tuple):  # as kept, or from another Coupling
            with suppress(TypeError, ValueError):
                given = dict(given)
        if not isinstance(given, Mapping) or not given:
            raise ArgumentError(
                f"coefficients must be a dict of joints and numbers, got {shown(self.coefficients)}"
            )
        terms = tuple((joint, _polynomial(joint, value)) for joint, value in given.items())
        _keep(self, "coefficients", terms)
        if self.offset is not None:
            _keep(self, "offset", float(numbers("offset", self.offset, ())))
        _keep(self, "motion", _motion(self.motion, 1))

    frame_names = ()

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints that it couples."""
        return tuple(joint for joint, _ in self.coefficients)

    @property
    def label(self) -> str:
        """What messages call it: its kind and its joints."""
        return f"Coupling({', '.join(map(repr, self.joint_names))})"

    def renamed(
        self,
        frame: Callable[[Any], str],
        joint: Callable[[str], str],
        world: str | None = None,
    ) -> Coupling:
        """The same under other names of joints."""
        return replace(self, coefficients={joint(name): c for name, c in self.coefficients})

    def with_locked(self, locked: Mapping[str, Any]) -> Coupling | None:
        """What is left where some joints are constant; None if that is nothing."""
        left = {name: c for name, c in self.coefficients if name not in locked}
        constant = sum(
            np.polyval([*c[::-1], 0.0], float(np.ravel(locked[name])[0]))
            for name, c in self.coefficients
            if name in locked
        )
        if not left:
            return None
        offset = None if self.offset is None else self.offset - float(constant)
        return replace(self, coefficients=left, offset=offset)

    def __hash__(self) -> int:
        """Hash of the terms."""
        return hash((self.coefficients, self.offset, self.motion))


@dataclass(frozen=True)
class Rolling(_Between):
    """A wheel or a ball that rolls on a plane without slipping: three rows, two nonholonomic.

    The point of the wheel that touches the plane does not move against it. The force acts there, in
    the axes of the plane: x, y and the normal z.

    Args:
        first: a frame whose origin is the center of the wheel or ball, or a body.
        radius: of the wheel or ball.
        axis: (3,) the wheel's axis in the first frame; None for a ball.
        normal: (3,) of the plane, in the second frame.
        point: (3,) a point of the plane, in the second frame; without it the plane is where the
            wheel touches it.
        second: a frame that carries the plane; the world if None.
        motion: (k, 3) velocity of the point of contact against the second frame, as of a belt, and
            its derivatives.

    Examples:
        >>> builder = jc.ModelBuilder().add_body("wheel", joint="free", mass=1, inertia=np.eye(3))
        >>> wheel = builder.build()
        >>> c = jc.Constraints(wheel, [jc.Rolling("wheel", radius=0.2, axis=(0, 1, 0))])
        >>> c.velocity(jc.neutral(wheel), [0, 1, 0, 0.2, 0, 0])  # turns as fast as it goes
        array([0., 0., 0.])
    """

    first: Frame
    radius: float
    axis: Any = None
    normal: Any = (0.0, 0.0, 1.0)
    point: Any = None
    second: Frame | None = None
    motion: Any = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        radius = float(numbers("radius", self.radius, ()))
        if radius <= 0:
            raise ArgumentError(f"radius must be positive, got {shown(self.radius)}")
        _keep(self, "radius", radius)
        _keep(self, "axis", _direction("axis", self.axis))
        _keep(self, "normal", _direction("normal", self.normal))
        if self.normal is None:
            raise ArgumentError("normal must be a vector, got None")
        _keep(self, "point", _vector("point", self.point, 3))
        _keep(self, "motion", _motion(self.motion, 3))


AnyConstraint = Weld | Loop | Point | Distance | Coupling | Rolling


def held_positions(free: Iterable[str]) -> dict[str, bool]:
    """For each direction that is not free, whether holding its rate holds a position.

    Examples:
        >>> held_positions(("rz", "x"))  # a slot that turns about z stays in its plane
        {'rx': True, 'ry': True, 'y': False, 'z': True}
    """
    free = set(free)
    turns = [name for name in "xyz" if f"r{name}" in free]
    shifts = {name for name in "xyz" if name in free}
    held = {}
    for name in DIRECTIONS:
        if name in free:
            continue
        if name[0] == "r":
            held[name] = len(turns) < 2
        elif not turns:
            held[name] = True
        elif len(turns) == 1:  # the position lies along the free axes, and turns about one of them
            across = shifts - {turns[0]}
            held[name] = not across or name == turns[0]
        else:
            held[name] = not shifts
    return held


def _keep(constraint: object, name: str, value: object) -> None:
    object.__setattr__(constraint, name, value)


def _nested(array: Any) -> Any:
    """Numbers as nested tuples, which compare and hash."""
    return tuple(map(_nested, array)) if isinstance(array, list) else array


def _vector(name: str, value: ArrayLike | None, size: int) -> Numbers | None:
    return None if value is None else tuple(numbers(name, value, (size,)).tolist())


def _direction(name: str, value: ArrayLike | None) -> Numbers | None:
    if value is None:
        return None
    vector = numbers(name, value, (3,))
    if not vector.any():
        raise ArgumentError(f"{name} must not be zero")
    if not _LEAST < np.abs(vector).max() < 1.0 / _LEAST:  # so that squares are numbers
        vector = vector / np.abs(vector).max()
    length = np.linalg.norm(vector)
    if abs(length - 1.0) > _ROUNDING:
        vector = vector / length
    return tuple(vector.tolist())


def _pose(name: str, value: ArrayLike | None) -> Any:
    if value is None:
        return None
    return _nested(group_element(name, numbers(name, value, (4, 4))).tolist())


def _motion(value: ArrayLike | None, rows: int) -> Any:
    if value is None:
        return None
    array = reals("motion", value)
    if rows == 1 and array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] != rows:
        raise ArgumentError(
            f"motion must be finite numbers of shape (k, {rows}), got shape {np.shape(value)}"
        )
    if not np.isfinite(array).all():
        at = tuple(map(int, np.argwhere(~np.isfinite(array))[0]))
        raise ArgumentError(f"motion must be finite, got {array[at]} at [{at[0]}, {at[1]}]")
    return _nested(array.tolist())


def _polynomial(joint: object, value: ArrayLike) -> Numbers:
    array = np.atleast_1d(reals(f"coefficients[{shown(joint)}]", value))
    if array.ndim != 1 or not 1 <= len(array) <= 4 or not np.isfinite(array).all():
        raise ArgumentError(
            f"coefficients[{shown(joint)}] must be a number, or up to four for the powers of q, "
            f"got {shown(value)}"
        )
    sizes = np.abs(array[array != 0.0])
    if (sizes < _LEAST).any() or (sizes > 1.0 / _LEAST).any():
        raise ArgumentError(
            f"coefficients[{shown(joint)}] must be zero or between {_LEAST:g} and {1 / _LEAST:g} "
            f"in size, got {shown(value)}"
        )
    return (*array.tolist(), *(0.0,) * (4 - len(array)))
