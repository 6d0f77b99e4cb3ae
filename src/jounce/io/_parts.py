"""Joints taken apart for formats that do not know their type, and what writers share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jounce._types import Array
from jounce.errors import ModelError
from jounce.model import inertia
from jounce.model.joints import (
    COORDINATE_FIELDS,
    ELEMENTARY,
    RATE_FIELDS,
    Joint,
    Mimic,
    elementary_joints,
)

__all__ = [
    "Part",
    "fresh",
    "listed",
    "mass_properties",
    "moved_to",
    "numbers",
    "roll_pitch_yaw",
    "split",
]

_SIMPLE = ("revolute", "continuous", "prismatic", "spherical", "free")


class Part(NamedTuple):
    """A joint of a chain that stands for one of ours; axis and anchor are in the body's frame.

    The numbers are one per rate (or coordinate); more than one only where `kind` is spherical,
    planar or free.
    """

    name: str
    kind: str
    axis: Sequence[float]
    anchor: Sequence[float]
    limits: dict[str, tuple[float, ...]]
    mimic: Mimic | None = None

    def value(self, field: str) -> float | None:
        """The number of a field, if all rates of the part share it."""
        values = set(self.limits[field])
        return values.pop() if len(values) == 1 else None


def split(joint: Joint, taken: set[str], whole: Sequence[str] = ()) -> list[Part]:
    """Take a joint apart into elementary ones, unless it is one or its type is kept whole.

    A helical joint becomes a revolute one of the same name and a prismatic one that follows it.
    The new names are added to those taken.
    """
    elements = elementary_joints(joint)
    fields = (*RATE_FIELDS, *COORDINATE_FIELDS)
    if joint.type in (*_SIMPLE, *whole):
        values = {field: _values(joint, field) for field in fields}
        return [Part(joint.name, joint.type, joint.axis, joint.anchor, values, joint.mimic)]
    if joint.type == "helical":
        values = {field: _values(joint, field) for field in fields}
        advance: dict[str, tuple[float, ...]] = {"lower": (-math.inf,), "upper": (math.inf,)}
        nothing = ("armature", "damping", "friction", "stiffness", "springref")
        advance |= dict.fromkeys(nothing, (0.0,))
        advance |= dict.fromkeys(("velocity_limit", "effort_limit"), (math.inf,))
        name, follows = fresh(f"{joint.name}_advance", taken), Mimic(joint.name, joint.pitch)
        return [
            Part(joint.name, "revolute", joint.axis, joint.anchor, values, joint.mimic),
            Part(name, "prismatic", joint.axis, joint.anchor, advance, follows),
        ]
    parts = []
    for k, element in enumerate(elements):
        values = {field: _values(joint, field, k) for field in fields}
        name = fresh(f"{joint.name}_{k + 1}", taken)
        parts.append(Part(name, ELEMENTARY[element.kind], element.axis, element.anchor, values))
    return parts


def _values(joint: Joint, field: str, k: int | None = None) -> tuple[float, ...]:
    value = getattr(joint, field)
    if not isinstance(value, tuple):
        return (value,)
    return value if k is None else (value[k],)


def fresh(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, and take it."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def numbers(values: Sequence[float] | Array) -> str:
    """Numbers that are read back to the last bit, separated by spaces."""
    return " ".join(map(repr, np.asarray(values, float).ravel().tolist()))


def moved_to(point: Sequence[float] | Array) -> Array:
    """The pose of a frame at a point, without rotation."""
    pose = np.eye(4)
    pose[:3, 3] = point
    return pose


def roll_pitch_yaw(rotation: Array) -> Array:
    """Angles of Rz(yaw) Ry(pitch) Rx(roll) = R, as exact at a pitch of a right angle as elsewhere.

    With c and s of the roll, Rx is taken from R; what is left, Rz(yaw) Ry(pitch), has the second
    column (-sin yaw, cos yaw, 0). Whatever roll rounding left at a right angle, yaw makes up for
    it.
    """
    r = np.asarray(rotation, float)
    roll = math.atan2(r[2, 1], r[2, 2])
    c, s = math.cos(roll), math.sin(roll)
    pitch = math.atan2(-r[2, 0], s * r[2, 1] + c * r[2, 2])
    yaw = math.atan2(s * r[0, 2] - c * r[0, 1], c * r[1, 1] - s * r[1, 2])
    return np.array([roll, pitch, yaw]) + 0.0


def listed(names: Sequence[str], most: int = 10) -> str:
    """Names for a message, `most` of them."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def mass_properties(name: str, parameters: Array) -> inertia.MassProperties:
    """Mass, center of mass and inertia about it, which files hold instead of ten parameters.

    Raises:
        ModelError: there is a first moment without a mass, so that there is no center.
    """
    if parameters[0] == 0 and np.any(parameters[1:4] != 0):
        raise ModelError(f"body {name!r}: its mass is zero but its first moment is not")
    return inertia.about_com(parameters)
