"""Joint types, and how each is made of elementary joints.

The recursions know five elementary joints: revolute, prismatic, helical, spherical, free.
Every other type is a product of those (a cylindrical joint turns, then slides).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from jounce._types import AnyArray, Array, ArrayLike, Integers
from jounce.errors import ArgumentError, ModelError

__all__ = [
    "COORDINATE_FIELDS",
    "ELEMENTARY",
    "JOINT_TYPES",
    "RATE_FIELDS",
    "SIZES",
    "Elementary",
    "Joint",
    "Mimic",
    "check_limits",
    "check_values",
    "elementary_joints",
    "frames_along",
    "gathered",
    "spread",
]

ELEMENTARY = ("revolute", "prismatic", "helical", "spherical", "free")
"""Names of the elementary joints; the position is the number the core uses."""

SIZES = np.array([(1, 1), (1, 1), (1, 1), (4, 3), (7, 6)])
"""Numbers of coordinates and rates of each elementary joint."""

JOINT_TYPES = (
    "fixed",
    "revolute",
    "continuous",
    "prismatic",
    "helical",
    "cylindrical",
    "planar",
    "universal",
    "spherical",
    "free",
)

Triple = tuple[float, float, float]
Numbers = float | Sequence[float]


class Mimic(NamedTuple):
    """The joint follows another one: q = multiplier * q[joint] + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Joint:
    """A joint between a body and its parent.

    Coordinates q and rates v, by type:

    ============ == == ===================================================================
    type         nq nv coordinates
    ============ == == ===================================================================
    revolute     1  1  angle about `axis` (rad); "continuous" is the same without limits
    prismatic    1  1  displacement along `axis` (m)
    helical      1  1  angle about `axis`; the body advances `pitch` meters per radian
    cylindrical  2  2  angle about `axis`, displacement along it
    planar       3  3  displacements along two directions of the plane, then the angle about
                       its normal `axis`; for the z axis the directions are x and y, see below
    universal    2  2  angle about `axis`, then about `axis2` (which turns with the first)
    spherical    4  3  unit quaternion (x, y, z, w); angular velocity in the child frame
    free         7  6  quaternion (x, y, z, w), position; body-fixed twist
    fixed        0  0  merged into the parent
    ============ == == ===================================================================

    The two directions of a planar joint are where x and y go in the shortest rotation that takes
    z to the normal (for -z, half a turn about x): (x, y) for the normal z, (x, -y) for -z,
    (-z, y) for x, (z, y) for -x, (x, -z) for y, (x, z) for -y. They make a right-handed frame
    with the normal and do not turn with the body. Drake's URDF reader takes the same ones.

    Attributes:
        type: one of `JOINT_TYPES`.
        name: name of the joint; by default the body's name followed by "_joint".
        axis: direction in the body's frame. Any length but zero will do; it is kept as a unit
            vector.
        axis2: second axis of a universal joint, likewise.
        pitch: advance of a helical joint, m/rad.
        anchor: a point of the joint's axis (or the center of rotation), in the body's frame.
        armature: rotor inertia reflected to the joint, one number or one per rate.
        damping: viscous coefficient, see `jounce.passive_forces`.
        friction: Coulomb friction force, see `jounce.passive_forces`.
        stiffness: of the joint's spring, one number or one per rate, see `jounce.passive_forces`.
        springref: coordinate(s) where the spring is at rest; 0 is the neutral configuration.
        lower: lower limit of the coordinate(s); minus infinity if there is none.
        upper: upper limit of the coordinate(s).
        velocity_limit: largest absolute rate.
        effort_limit: largest absolute generalized force.
        actuated: whether the joint is driven; by default all are but free joints.
        mimic: the joint it follows, kept as data.
    """

    type: str
    name: str = ""
    axis: Sequence[float] = (0.0, 0.0, 1.0)
    axis2: Sequence[float] = (1.0, 0.0, 0.0)
    pitch: float = 0.0
    anchor: Sequence[float] = (0.0, 0.0, 0.0)
    armature: Numbers = 0.0
    damping: Numbers = 0.0
    friction: Numbers = 0.0
    stiffness: Numbers = 0.0
    springref: Numbers = 0.0
    lower: Numbers = -math.inf
    upper: Numbers = math.inf
    velocity_limit: Numbers = math.inf
    effort_limit: Numbers = math.inf
    actuated: bool | None = None
    mimic: Mimic | None = None

    def __post_init__(self) -> None:
        """Keep numbers as floats and tuples, which nobody can change later, and axes as units."""
        values = vars(self)
        if not (self.actuated is None or isinstance(self.actuated, (bool, np.bool_))):
            raise ModelError(f"actuated must be True, False or None, got {self.actuated!r}")
        for name, default in _DEFAULTS.items():
            value = values[name]
            if type(value) is not float and value is not default:
                value = _plain(value)
                values[name] = _unit(value) if name in ("axis", "axis2") else value

    def named(self, name: str) -> Joint:
        """Return the joint with this name if it has none yet."""
        return self if self.name else replace(self, name=name)


RATE_FIELDS = (
    "armature",
    "damping",
    "friction",
    "stiffness",
    "velocity_limit",
    "effort_limit",
)
"""Fields of `Joint` with one number per rate; none may be negative."""

COORDINATE_FIELDS = ("lower", "upper", "springref")
"""Fields of `Joint` with one number per coordinate."""

_NUMBERS = ("axis", "axis2", "pitch", "anchor", *RATE_FIELDS, *COORDINATE_FIELDS)
_DEFAULTS = {field.name: field.default for field in fields(Joint) if field.name in _NUMBERS}


def _plain(value: Any) -> Any:
    """Return a float or a tuple of floats; what is neither is left to the checks of the model."""
    try:
        if isinstance(value, (tuple, list, np.ndarray)):
            return tuple(map(float, value))
        return value if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        return value


def _unit(value: Any) -> Any:
    """Normalize a vector; a unit stays as it is, and so does what cannot be normalized."""
    if not _is_vector(value):
        return value
    x, y, z = value
    scale = max(abs(x), abs(y), abs(z))
    if scale == 0.0:
        return value
    if abs(x * x + y * y + z * z - 1.0) > 4 * sys.float_info.epsilon:
        x, y, z = x / scale, y / scale, z / scale
        norm = math.sqrt(x * x + y * y + z * z)
        x, y, z = x / norm, y / norm, z / norm
    return x + 0.0, y + 0.0, z + 0.0  # without negative zeros


def _is_vector(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 3
        and set(map(type, value)) == {float}
        and all(map(math.isfinite, value))
    )


class Elementary(NamedTuple):
    """One elementary joint: it acts about and along the unit vector `axis` through `anchor`.

    Both are given in the body's frame.
    """

    kind: int
    axis: Triple
    anchor: Triple
    pitch: float = 0.0


def elementary_joints(joint: Joint) -> list[Elementary]:
    """Decompose a joint into elementary joints, in order from parent to child."""
    kind = joint.type
    if kind not in JOINT_TYPES:
        raise ModelError(
            f"joint {joint.name!r}: unknown type {kind!r}, expected one of {', '.join(JOINT_TYPES)}"
        )
    anchor = _vector(joint, "anchor")
    if kind in ("spherical", "free"):
        return [Elementary(ELEMENTARY.index(kind), (0.0, 0.0, 1.0), anchor)]
    axis = _axis(joint, "axis")
    if kind in ("revolute", "continuous"):
        return [Elementary(0, axis, anchor)]
    if kind == "prismatic":
        return [Elementary(1, axis, anchor)]
    if kind == "helical":
        if not isinstance(joint.pitch, float) or not math.isfinite(joint.pitch):
            raise ModelError(f"joint {joint.name!r}: pitch must be finite, got {joint.pitch!r}")
        return [Elementary(2, axis, anchor, joint.pitch)]
    if kind == "cylindrical":
        return [Elementary(0, axis, anchor), Elementary(1, axis, anchor)]
    if kind == "universal":
        second = _axis(joint, "axis2")
        if abs(sum(a * b for a, b in zip(axis, second, strict=True))) > 1 - 1e-12:
            raise ModelError(f"joint {joint.name!r}: the two axes of a universal joint coincide")
        return [Elementary(0, axis, anchor), Elementary(0, second, anchor)]
    if kind == "planar":
        x, y = (tuple(column.tolist()) for column in frames_along([axis], [anchor])[0, :3, :2].T)
        return [Elementary(1, x, anchor), Elementary(1, y, anchor), Elementary(0, axis, anchor)]
    return []


def _vector(joint: Joint, name: str) -> Triple:
    value = getattr(joint, name)
    if not _is_vector(value):
        raise ModelError(f"joint {joint.name!r}: {name} must be 3 finite numbers, got {value!r}")
    vector: Triple = value
    return vector


def _axis(joint: Joint, name: str) -> Triple:
    axis = _vector(joint, name)
    if axis == (0.0, 0.0, 0.0):
        raise ModelError(f"joint {joint.name!r}: {name} must not be zero")
    return axis


def frames_along(axes: ArrayLike, origins: ArrayLike) -> Array:
    """Return frames, (n, 4, 4), turned by the shortest rotation that takes z to these unit axes.

    For -z that is half a turn about x. With the axis (h c, h s, z), h >= 0 and c^2 + s^2 = 1, the
    first two columns are (s^2 + z c^2, (z - 1) c s, -h c) and ((z - 1) c s, c^2 + z s^2, -h s):
    accurate for all axes, exact for those of the coordinates.
    """
    n = np.asarray(axes, float).reshape(-1, 3)
    h, z = np.hypot(n[:, 0], n[:, 1]), n[:, 2]
    upright = h == 0.0
    c, s = n[:, :2].T / np.where(upright, 1.0, h)
    s = np.where(upright, 1.0, s)
    frames = np.zeros((len(n), 4, 4))
    frames[:, 0, 0] = s * s + z * c * c
    frames[:, 1, 1] = c * c + z * s * s
    frames[:, 0, 1] = frames[:, 1, 0] = (z - 1.0) * c * s
    frames[:, 2, :2] = -n[:, :2]
    frames[:, :3, 2] = n
    frames[:, :3, 3] = np.asarray(origins, float).reshape(-1, 3)
    frames[:, 3, 3] = 1.0
    return frames + 0.0  # without negative zeros


def spread(joints: Sequence[Joint], field: str, counts: Integers) -> Array:
    """Spread a field, one number or `counts` numbers of each joint, over a vector."""
    values = [getattr(joint, field) for joint in joints]
    if set(map(type, values)) <= {float}:
        return np.repeat(np.array(values, float), counts)
    out = np.empty(int(counts.sum()))
    ends = np.cumsum(counts)
    for joint, value, end, count in zip(joints, values, ends, counts, strict=True):
        try:
            out[end - count : end] = value
        except (ValueError, TypeError):
            raise ModelError(
                f"joint {joint.name!r}: {field} must be a number or {count} numbers, got {value!r}"
            ) from None
    return out


def gathered(
    joints: Sequence[Joint],
    field: str,
    values: AnyArray,
    counts: Integers,
) -> tuple[Joint, ...]:
    """Return the joints with a field taken from a vector of checked numbers; undoes `spread`."""
    left = iter(values.tolist())
    news = []
    for joint, count in zip(joints, counts.tolist(), strict=True):
        part = tuple(islice(left, count))
        same = len(set(part)) == 1
        if field == "actuated" and not same:
            raise ArgumentError(f"actuated must be all True or all False for joint {joint.name!r}")
        new = object.__new__(Joint)
        vars(new).update(vars(joint), **{field: part[0] if same else part})
        news.append(new)
    return tuple(news)


def check_values(joints: Sequence[Joint], field: str, values: Array, counts: Integers) -> None:
    """Refuse numbers that a field cannot have, by the name of the joint."""
    bad, rule = np.isnan(values), "must not be nan"
    if field in RATE_FIELDS:
        bad, rule = bad | (values < 0), "must not be negative or nan"
    if field in ("armature", "damping", "friction", "stiffness"):
        bad, rule = bad | np.isinf(values), "must not be negative, nan or infinite"
    if field == "springref":
        bad, rule = ~np.isfinite(values), "must be finite"
    if bad.any():
        joint = joints[int(np.repeat(np.arange(len(counts)), counts)[bad][0])]
        raise ModelError(f"joint {joint.name!r}: {field} {rule}, got {values[bad][0]}")


def check_limits(joints: Sequence[Joint], lower: Array, upper: Array, counts: Integers) -> None:
    """Refuse lower limits above the upper ones, by the name of the joint."""
    crossed = lower > upper
    if crossed.any():
        joint = joints[int(np.repeat(np.arange(len(counts)), counts)[crossed][0])]
        raise ModelError(
            f"joint {joint.name!r}: the lower limit {lower[crossed][0]:g} is above the upper one, "
            f"{upper[crossed][0]:g}"
        )
