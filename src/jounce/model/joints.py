"""Joint types, and how each is made of elementary joints.

The recursions know five elementary joints: revolute, prismatic, helical, spherical, free.
Every other type is a product of those (a cylindrical joint turns, then slides).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from jounce._core.arrays import plain, shown
from jounce._types import AnyArray, Array, ArrayLike, Integers
from jounce.errors import ArgumentError, ModelError
from jounce.model._checks import is_finite, restore

__all__ = [
    "COORDINATE_FIELDS",
    "ELEMENTARY",
    "JOINT_TYPES",
    "RATE_FIELDS",
    "SIZES",
    "Elementary",
    "Joint",
    "Mimic",
    "check_joint",
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

_SIZES: list[list[int]] = SIZES.tolist()

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

_X: Triple = (1.0, 0.0, 0.0)
_Z: Triple = (0.0, 0.0, 1.0)
_ORIGIN: Triple = (0.0, 0.0, 0.0)


class Mimic(NamedTuple):
    """The joint follows another one: q = multiplier * q[joint] + offset.

    Examples:
        >>> fingers = (
        ...     jc.ModelBuilder()
        ...     .add_body("left", joint="prismatic", mass=0.1)
        ...     .add_body("right", joint="prismatic", mass=0.1, mimic=jc.Mimic("left_joint", -1.0))
        ...     .build()
        ... )
        >>> fingers.coupled().nv  # one number moves both
        1
    """

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, init=False)
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

    Examples:
        >>> jc.Joint("revolute", "elbow", axis=(0, 1, 0), lower=-2.0, upper=2.0).axis
        (0.0, 1.0, 0.0)
    """

    type: str
    name: str = ""
    axis: Sequence[float] = _Z
    axis2: Sequence[float] = _X
    pitch: float = 0.0
    anchor: Sequence[float] = _ORIGIN
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

    def __init__(
        self,
        type: str,
        name: str = "",
        axis: ArrayLike = _Z,
        axis2: ArrayLike = _X,
        pitch: float = 0.0,
        anchor: ArrayLike = _ORIGIN,
        armature: ArrayLike = 0.0,
        damping: ArrayLike = 0.0,
        friction: ArrayLike = 0.0,
        stiffness: ArrayLike = 0.0,
        springref: ArrayLike = 0.0,
        lower: ArrayLike = -math.inf,
        upper: ArrayLike = math.inf,
        velocity_limit: ArrayLike = math.inf,
        effort_limit: ArrayLike = math.inf,
        actuated: bool | None = None,
        mimic: Mimic | None = None,
    ) -> None:
        """Keep numbers as floats and tuples, which nobody can change later, and axes as units."""
        if not (actuated is None or isinstance(actuated, (bool, np.bool_))):
            raise ModelError(
                f"joint {name!r}: actuated must be True, False or None, got {shown(actuated)}"
            )
        if mimic is not None:
            _check_mimic(name, mimic)
        vars(self).update(
            type=type,
            name=name,
            axis=axis if axis is _Z else _unit(_plain(axis)),
            axis2=axis2 if axis2 is _X else _unit(_plain(axis2)),
            pitch=pitch if pitch.__class__ is float else _plain(pitch),
            anchor=anchor if anchor is _ORIGIN else _plain(anchor),
            armature=armature if armature.__class__ is float else _plain(armature),
            damping=damping if damping.__class__ is float else _plain(damping),
            friction=friction if friction.__class__ is float else _plain(friction),
            stiffness=stiffness if stiffness.__class__ is float else _plain(stiffness),
            springref=springref if springref.__class__ is float else _plain(springref),
            lower=lower if lower.__class__ is float else _plain(lower),
            upper=upper if upper.__class__ is float else _plain(upper),
            velocity_limit=velocity_limit
            if velocity_limit.__class__ is float
            else _plain(velocity_limit),
            effort_limit=effort_limit if effort_limit.__class__ is float else _plain(effort_limit),
            actuated=actuated,
            mimic=mimic,
        )

    def __getstate__(self) -> dict[str, Any]:
        """For pickles and copies: fields that are not as by default, and nothing computed."""
        own = vars(self)
        return {
            name: own[name]
            for name in _FIELDS
            if name in own and own[name] is not getattr(Joint, name, None)
        }

    def __setstate__(self, state: Any) -> None:
        """Build the joint anew: a pickle may bring anything.

        Raises:
            ModelError: the state is not what a joint keeps.
        """
        if isinstance(state, dict) and "_elements" in state:  # as pickles had it once
            state = {name: value for name, value in state.items() if name != "_elements"}
        vars(self).clear()
        restore(self, state)
        for field in ("axis", "axis2"):
            if field in state:
                _check_kept(self, field, state[field])

    def named(self, name: str) -> Joint:
        """Return the joint with this name if it has none yet."""
        return self if self.name else self.with_checked(name=name)

    def with_checked(self, **values: Any) -> Joint:
        """Return a copy with other values, checked already, of what is not its geometry."""
        new = object.__new__(Joint)
        own = vars(new)
        own.update(vars(self))
        own.update(values)
        return new


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

_FIELDS = tuple(field.name for field in fields(Joint))

_JOINT_DEFAULTS: dict[str, float] = {
    field.name: field.default
    for field in fields(Joint)
    if field.name in (*RATE_FIELDS, *COORDINATE_FIELDS) and isinstance(field.default, float)
}


def _check_mimic(name: str, mimic: Any) -> None:
    if not isinstance(mimic, Mimic) or not isinstance(mimic.joint, str):
        raise ModelError(
            f"joint {name!r}: mimic must be a jounce.Mimic with the name of a joint, or None, "
            f"got {shown(mimic)}"
        )
    if not (is_finite(mimic.multiplier) and is_finite(mimic.offset)):
        raise ModelError(
            f"joint {name!r}: mimic must have a finite multiplier and a finite offset, "
            f"got {shown(mimic)}"
        )


def _check_kept(joint: Joint, field: str, given: Any) -> None:
    """Refuse an axis that no joint has kept, since joints keep them as unit vectors."""
    kept, axis = getattr(joint, field), _plain(given)
    if _is_vector(axis) and max(abs(a - b) for a, b in zip(axis, kept, strict=True)) > 1e-9:
        raise ModelError(f"joint {joint.name!r}: an axis must be a unit vector, got {axis}")


def _plain(value: Any) -> Any:
    """Return a float or a tuple of floats; what is neither is left to the checks of the model."""
    try:
        found = plain("", value)
    except ArgumentError:
        return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    return tuple(found) if isinstance(found, list) else found


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
    if value.__class__ is not tuple or len(value) != 3:
        return False
    x, y, z = value
    finite = math.isfinite
    floats = x.__class__ is y.__class__ is z.__class__ is float
    return floats and finite(x) and finite(y) and finite(z)


class Elementary(NamedTuple):
    """One elementary joint: it acts about and along the unit vector `axis` through `anchor`.

    Both are given in the body's frame.
    """

    kind: int
    axis: Triple
    anchor: Triple
    pitch: float = 0.0


def elementary_joints(joint: Joint) -> Sequence[Elementary]:
    """Decompose a joint into elementary joints, in order from parent to child."""
    values = vars(joint)
    if "_elements" not in values:  # remembered there: a joint does not change
        values["_elements"] = tuple(_decomposed(joint))
    elements: Sequence[Elementary] = values["_elements"]
    return elements


def _decomposed(joint: Joint) -> list[Elementary]:
    kind = joint.type
    if not isinstance(kind, str) or kind not in JOINT_TYPES:
        raise ModelError(
            f"joint {joint.name!r}: unknown type {kind!r:.200}, "
            f"expected one of {', '.join(JOINT_TYPES)}"
        )
    anchor, _, _ = (_vector(joint, field) for field in ("anchor", "axis", "axis2"))
    if joint.pitch.__class__ is not float or not math.isfinite(joint.pitch):
        raise ModelError(f"joint {joint.name!r}: pitch must be finite, got {shown(joint.pitch)}")
    if kind in ("spherical", "free"):
        return [Elementary(ELEMENTARY.index(kind), (0.0, 0.0, 1.0), anchor)]
    axis = _axis(joint, "axis")
    if kind in ("revolute", "continuous"):
        return [Elementary(0, axis, anchor)]
    if kind == "prismatic":
        return [Elementary(1, axis, anchor)]
    if kind == "helical":
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
        raise ModelError(
            f"joint {joint.name!r}: {name} must be 3 finite numbers, got {shown(value)}"
        )
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
    values = list(map(attrgetter(field), joints))
    if values and type(values[0]) is float and values.count(values[0]) == len(values):
        return np.full(int(counts.sum()), values[0])
    if set(map(type, values)) <= {float}:
        return np.repeat(np.array(values, float), counts)
    out = np.empty(int(counts.sum()))
    ends = np.cumsum(counts)
    for joint, value, end, count in zip(joints, values, ends, counts, strict=True):
        out[end - count : end] = _numbers_of(joint, field, value, int(count))
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
        news.append(joint.with_checked(**{field: part[0] if same else part}))
    return tuple(news)


_FINITE_FIELDS = ("armature", "damping", "friction", "stiffness", "springref")


def _rule(field: str) -> str:
    """What must not be the numbers of a field."""
    if field == "springref":
        return "must be finite"
    if field in _FINITE_FIELDS:
        return "must not be negative, nan or infinite"
    return "must not be negative or nan" if field in RATE_FIELDS else "must not be nan"


def check_values(joints: Sequence[Joint], field: str, values: Array, counts: Integers) -> None:
    """Refuse numbers that a field cannot have, by the name of the joint."""
    bad = np.isnan(values)
    if field in RATE_FIELDS:
        bad |= values < 0
    if field in _FINITE_FIELDS:
        bad |= np.isinf(values)
    if bad.any():
        joint = joints[int(np.repeat(np.arange(len(counts)), counts)[bad][0])]
        raise ModelError(f"joint {joint.name!r}: {field} {_rule(field)}, got {values[bad][0]}")


def check_joint(joint: Joint) -> None:
    """Refuse a joint that no model can have; the same checks as those of the model, for one."""
    elements = elementary_joints(joint)
    values = vars(joint)
    given = [field for field, default in _JOINT_DEFAULTS.items() if values[field] != default]
    sizes = [_SIZES[element.kind] for element in elements] if given else []
    for field in given:
        count = sum(size[field in RATE_FIELDS] for size in sizes)
        for x in _numbers_of(joint, field, values[field], count):
            negative = field in RATE_FIELDS and x < 0
            if negative or x != x or (field in _FINITE_FIELDS and math.isinf(x)):
                raise ModelError(f"joint {joint.name!r}: {field} {_rule(field)}, got {x}")
    lower, upper = values["lower"], values["upper"]
    if not (lower.__class__ is upper.__class__ is float and lower <= upper):
        counts = np.array([sum(size[0] for size in sizes)])
        low, high = (spread([joint], field, counts) for field in ("lower", "upper"))
        check_limits([joint], low, high, counts)


def _numbers_of(joint: Joint, field: str, value: Any, count: int) -> Sequence[float]:
    """The numbers of a field, one for all or one each."""
    if value.__class__ is float:
        return (value,)
    if value.__class__ is not tuple or len(value) != count or not set(map(type, value)) <= {float}:
        raise wrong_count(joint, field, value, count)
    numbers: Sequence[float] = value
    return numbers


def wrong_count(joint: Joint, field: str, value: object, count: int) -> ModelError:
    """Build the error for a field that has not as many numbers as its joint."""
    return ModelError(
        f"joint {joint.name!r}: {field} must be a number or {count} numbers, got {shown(value)}"
    )


def check_limits(joints: Sequence[Joint], lower: Array, upper: Array, counts: Integers) -> None:
    """Refuse lower limits above the upper ones, by the name of the joint."""
    crossed = lower > upper
    if crossed.any():
        joint = joints[int(np.repeat(np.arange(len(counts)), counts)[crossed][0])]
        raise ModelError(
            f"joint {joint.name!r}: the lower limit {lower[crossed][0]:g} is above the upper one, "
            f"{upper[crossed][0]:g}"
        )
