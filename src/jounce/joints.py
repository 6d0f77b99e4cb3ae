"""Joint types, and how each is made of elementary joints.

The recursions know five elementary joints: revolute, prismatic, helical, spherical, free.
Every other type is a product of those (a cylindrical joint turns, then slides).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jounce.errors import ModelError

__all__ = [
    "ELEMENTARY",
    "JOINT_TYPES",
    "SIZES",
    "Elementary",
    "Joint",
    "Mimic",
    "elementary_joints",
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
    planar       3  3  displacements along the plane's two directions, angle about its
                       normal `axis`; for the z axis the directions are x and y
    universal    2  2  angle about `axis`, then about `axis2` (which turns with the first)
    spherical    4  3  unit quaternion (x, y, z, w); angular velocity in the child frame
    free         7  6  quaternion (x, y, z, w), position; body-fixed twist
    fixed        0  0  merged into the parent
    ============ == == ===================================================================

    Attributes:
        type: one of `JOINT_TYPES`.
        name: name of the joint; by default the body's name followed by "_joint".
        axis: direction in the body's frame; normalized.
        axis2: second axis of a universal joint.
        pitch: advance of a helical joint, m/rad.
        anchor: a point of the joint's axis (or the center of rotation), in the body's frame.
        armature: rotor inertia reflected to the joint, one number or one per rate.
        damping: viscous coefficient, see `jounce.passive_forces`.
        friction: Coulomb friction force, see `jounce.passive_forces`.
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
    lower: Numbers = -math.inf
    upper: Numbers = math.inf
    velocity_limit: Numbers = math.inf
    effort_limit: Numbers = math.inf
    actuated: bool | None = None
    mimic: Mimic | None = None

    def __post_init__(self) -> None:
        """Keep numbers as floats and tuples, which nobody can change later."""
        for field in _NUMBERS:
            object.__setattr__(self, field, _plain(getattr(self, field)))

    def named(self, name: str) -> Joint:
        """Return the joint with this name if it has none yet."""
        return self if self.name else replace(self, name=name)


_NUMBERS = (
    "axis",
    "axis2",
    "pitch",
    "anchor",
    "armature",
    "damping",
    "friction",
    "lower",
    "upper",
    "velocity_limit",
    "effort_limit",
)


def _plain(value: Any) -> Any:
    """Return a float or a tuple of floats; what is neither is left to the checks of the model."""
    if type(value) is float:
        return value
    try:
        if isinstance(value, (tuple, list, np.ndarray)):
            return tuple(map(float, value))
        return value if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        return value


class Elementary(NamedTuple):
    """One elementary joint; `alignment` is the pose of its own frame in the body's frame.

    In its own frame the joint acts about and along z.
    """

    kind: int
    alignment: npt.NDArray[np.float64]
    pitch: float = 0.0

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return int(SIZES[self.kind, 0])

    @property
    def nv(self) -> int:
        """Number of rates."""
        return int(SIZES[self.kind, 1])


def elementary_joints(joint: Joint) -> list[Elementary]:
    """Decompose a joint into elementary joints, in order from parent to child."""
    if joint.type not in JOINT_TYPES:
        raise ModelError(
            f"joint {joint.name!r}: unknown type {joint.type!r}, "
            f"expected one of {', '.join(JOINT_TYPES)}"
        )
    anchor = _vector(joint, "anchor", joint.anchor)
    if joint.type in ("spherical", "free"):
        pose = np.eye(4)
        pose[:3, 3] = anchor
        return [Elementary(ELEMENTARY.index(joint.type), pose)]
    frame = _frame_along(_unit(joint, "axis", joint.axis), anchor)
    if joint.type in ("revolute", "continuous"):
        return [Elementary(0, frame)]
    if joint.type == "prismatic":
        return [Elementary(1, frame)]
    if joint.type == "helical":
        if not isinstance(joint.pitch, float) or not math.isfinite(joint.pitch):
            raise ModelError(f"joint {joint.name!r}: pitch must be finite, got {joint.pitch!r}")
        return [Elementary(2, frame, float(joint.pitch))]
    if joint.type == "cylindrical":
        return [Elementary(0, frame), Elementary(1, frame)]
    if joint.type == "universal":
        second = _frame_along(_unit(joint, "axis2", joint.axis2), anchor)
        if abs(frame[:3, 2] @ second[:3, 2]) > 1 - 1e-12:
            raise ModelError(f"joint {joint.name!r}: the two axes of a universal joint coincide")
        return [Elementary(0, frame), Elementary(0, second)]
    if joint.type == "planar":
        x_axis, y_axis = frame[:3, 0], frame[:3, 1]
        along_x, along_y = _frame_along(x_axis, anchor), _frame_along(y_axis, anchor)
        return [Elementary(1, along_x), Elementary(1, along_y), Elementary(0, frame)]
    return []


def _vector(joint: Joint, name: str, value: Sequence[float]) -> npt.NDArray[np.float64]:
    numbers = isinstance(value, tuple) and all(isinstance(x, float) for x in value)
    vector = np.asarray(value if numbers else (), float)
    if vector.shape != (3,) or not all(map(math.isfinite, vector)):
        raise ModelError(f"joint {joint.name!r}: {name} must be 3 finite numbers, got {value!r}")
    return vector


def _unit(joint: Joint, name: str, value: Sequence[float]) -> npt.NDArray[np.float64]:
    x, y, z = (float(c) for c in _vector(joint, name, value))
    scale = max(abs(x), abs(y), abs(z))
    if scale == 0.0:
        raise ModelError(f"joint {joint.name!r}: {name} must not be zero")
    x, y, z = x / scale, y / scale, z / scale
    norm = math.sqrt(x * x + y * y + z * z)
    return np.array([x / norm, y / norm, z / norm])


def _frame_along(
    z: npt.NDArray[np.float64], origin: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return a right-handed frame whose z axis is `z`; exact for the coordinate axes."""
    pose = np.eye(4)
    pose[:3, 3] = origin
    pose[:3, 2] = z
    x0, x1, x2 = float(z[0]), float(z[1]), float(z[2])
    if x0 == 0.0 and x1 == 0.0:
        pose[0, 0], pose[1, 1] = 1.0, x2
    elif x1 == 0.0 and x2 == 0.0:
        pose[:3, 0], pose[:3, 1] = (0.0, 1.0, 0.0), (0.0, 0.0, x0)
    elif x0 == 0.0 and x2 == 0.0:
        pose[:3, 0], pose[:3, 1] = (0.0, 0.0, 1.0), (x1, 0.0, 0.0)
    else:
        # Duff et al., "Building an orthonormal basis, revisited": no cancellation for any z.
        sign = math.copysign(1.0, x2)
        a = -1.0 / (sign + x2)
        b = x0 * x1 * a
        pose[:3, 0] = 1.0 + sign * x0 * x0 * a, sign * b, -sign * x0
        pose[:3, 1] = b, sign + x1 * x1 * a, -x1
    return pose
