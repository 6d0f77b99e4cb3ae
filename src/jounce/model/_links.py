"""Checks of what a builder is told of a link, when it is told.

Numbers are taken one by one, which for so few is several times faster than arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from jounce._core.arrays import plain
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError, ModelError
from jounce.model.joints import Joint
from jounce.model.nodes import IDENTITY

__all__ = [
    "MASSLESS",
    "Link",
    "Place",
    "added_at",
    "checked_parameters",
    "checked_pose",
    "parameters_of",
    "place_of",
]

Place = tuple[str, int]
"""File and line of the call that added something."""

_PACKAGE = str(Path(__file__).parent.parent)


class Link:
    """A link as a builder was told: before fixed joints are merged and bodies are sorted."""

    __slots__ = ("joints", "name", "parameters", "parent", "place", "placement")

    def __init__(
        self,
        name: str,
        parent: str | None,
        placement: Array,
        joints: tuple[Joint, ...],
        parameters: Sequence[float],
        place: Place | None = None,
    ) -> None:
        self.name = name
        self.parent = parent
        self.placement = placement
        self.joints = joints
        self.parameters = parameters
        self.place = place

    def moved(self, **changes: Any) -> Link:
        """Return a link with other values."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return Link(**{**values, **changes})

    def without_leaders(self, gone: AbstractSet[str]) -> Link:
        """Return the link with joints that follow none of these."""
        if not any(joint.mimic and joint.mimic.joint in gone for joint in self.joints):
            return self
        joints = (
            replace(joint, mimic=None) if joint.mimic and joint.mimic.joint in gone else joint
            for joint in self.joints
        )
        return self.moved(joints=tuple(joints))


MASSLESS = (0.0,) * 10


def place_of(frame: FrameType) -> Place:
    """Where a frame of the interpreter is."""
    return frame.f_code.co_filename, frame.f_lineno


def added_at(place: Place | None) -> str:
    """The end of a message that points at the line to blame; readers of files say it themselves."""
    if place is None or place[0].startswith(_PACKAGE):
        return ""
    return f" (added in {place[0]}, line {place[1]})"


def _plain(kind: str, name: str, what: str, value: Any) -> Any:
    """Plain floats, nested like the value; what cannot be is an error that names it."""
    try:
        return plain(f"{kind} {name!r}: {what}", value)
    except ArgumentError as error:
        raise ModelError(str(error)) from None


def checked_pose(kind: str, name: str, value: Any) -> Array:
    """The 4x4 matrix of a pose, read-only; a rotation that is rounded is made the nearest one."""
    try:
        if value.__class__ is tuple:
            return _translation_like(value)
        if value.__class__ is np.ndarray and value.dtype == np.float64 and value.shape == (4, 4):
            return _pose_like(value.tobytes())
    except (TypeError, ModelError):  # lists cannot be looked up; errors shall have the name
        pass
    return _checked_pose(kind, name, value)


@lru_cache(maxsize=256)
def _pose_like(numbers: bytes) -> Array:
    """A pose with the same numbers that was checked before, as large robots have many."""
    return _checked_pose("", "", np.frombuffer(numbers).reshape(4, 4))


@lru_cache(maxsize=256)
def _translation_like(numbers: tuple[Any, ...]) -> Array:
    """The same for poses given as tuples."""
    return _checked_pose("", "", numbers)


def _checked_pose(kind: str, name: str, value: ArrayLike) -> Array:
    rows = _plain(kind, name, "placement", value)
    if _is_triple(rows):  # which needs no rotation to be looked at
        array = IDENTITY.copy()
        array[:3, 3] = rows
        finite = all(map(math.isfinite, rows))
        error = 0.0
    else:
        array = np.array(rows)
        if array.shape != (4, 4):
            raise ModelError(
                f"{kind} {name!r}: placement must be a 4x4 pose or 3 numbers, "
                f"got shape {array.shape}"
            )
        x, y, z, last = rows
        finite = last == [0.0, 0.0, 0.0, 1.0] and all(map(math.isfinite, (*x, *y, *z)))
        error = _distance_from_rotation(x, y, z)
    if not finite:
        raise ModelError(
            f"{kind} {name!r}: placement must be finite with last row (0, 0, 0, 1), got\n{array}"
        )
    if error > 1e-6:
        raise ModelError(
            f"{kind} {name!r}: placement: the 3x3 part is not a rotation:\n{array[:3, :3]}"
        )
    if error > 1e-15:
        array[:3, :3] = _nearest_rotation(array[:3, :3])
    array.setflags(write=False)
    return array


def _nearest_rotation(R: Array) -> Array:
    """The rotation nearest to a matrix that is one to 1e-6, by Newton's iteration.

    It finds the polar factor; each step squares the error, so that two end at rounding.
    """
    for _ in range(2):
        R = 0.5 * R @ (3.0 * np.eye(3) - R.T @ R)
    return R


def _is_triple(value: Any) -> bool:
    """Whether plain numbers are three."""
    return value.__class__ is not float and len(value) == 3 and value[0].__class__ is float


def _distance_from_rotation(
    first: Sequence[float], second: Sequence[float], third: Sequence[float]
) -> float:
    """How far the dot products of the rows of a matrix are from those of a rotation's."""
    a, b, c, _ = first
    d, e, f, _ = second
    g, h, i, _ = third
    determinant = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    return max(
        abs(a * a + b * b + c * c - 1.0),
        abs(d * d + e * e + f * f - 1.0),
        abs(g * g + h * h + i * i - 1.0),
        abs(a * d + b * e + c * f),
        abs(d * g + e * h + f * i),
        abs(g * a + h * b + i * c),
        0.0 if determinant > 0 else 1.0,
    )


def checked_parameters(body: str, parameters: ArrayLike) -> Sequence[float]:
    """The ten inertial parameters of a body."""
    ten = _plain("body", body, "parameters", parameters)
    if np.shape(ten) != (10,):
        ten = [math.nan]
    return _possible(body, ten, parameters)


def _possible(body: str, ten: Sequence[float], shown: object) -> Sequence[float]:
    if not all(map(math.isfinite, ten)):
        raise ModelError(f"body {body!r}: expected ten finite inertial parameters, got {shown}")
    if ten[0] < 0:
        raise ModelError(f"body {body!r}: mass {ten[0]:g} is negative")
    return ten


def parameters_of(
    body: str, mass: ArrayLike, com: ArrayLike, inertia: ArrayLike | None
) -> Sequence[float]:
    """The ten parameters from mass, center of mass and inertia about it (Huygens-Steiner)."""
    if mass.__class__ is not float or com.__class__ is not tuple:
        return _parameters_of(body, mass, com, inertia)
    try:
        return _parameters_like(mass, com, inertia)
    except (TypeError, ModelError):  # lists cannot be looked up; errors shall have the name
        return _parameters_of(body, mass, com, inertia)


@lru_cache(maxsize=256)
def _parameters_like(mass: Any, com: Any, inertia: Any) -> Sequence[float]:
    """Parameters of a body like one before, as large robots have many."""
    return _parameters_of("", mass, com, inertia)


def _parameters_of(
    body: str, mass: ArrayLike, com: ArrayLike, inertia: ArrayLike | None
) -> Sequence[float]:
    m: Any = mass if mass.__class__ is float else _plain("body", body, "mass", mass)
    c = _plain("body", body, "com", com)
    about_com = (0.0, 0.0, 0.0) if inertia is None else _plain("body", body, "inertia", inertia)
    six = _six(body, about_com)
    if six is None or m.__class__ is not float or not _is_triple(c):
        raise ModelError(
            f"body {body!r}: expected a number as mass, 3 numbers as com and a 3x3 inertia, "
            f"got shapes {np.shape(m)}, {np.shape(c)}, {np.shape(about_com)}"
        )
    (x, y, z), (xx, xy, yy, xz, yz, zz) = c, six
    mx, my, mz = m * x, m * y, m * z
    ten = (
        *(m, mx, my, mz),
        *(xx + (my * y + mz * z), xy - mx * y, yy + (mx * x + mz * z)),
        *(xz - mx * z, yz - my * z, zz + (mx * x + my * y)),
    )
    return _possible(body, ten, (m, *c, *six))


def _six(body: str, inertia: Any) -> Sequence[float] | None:
    """Ixx, Ixy, Iyy, Ixz, Iyz, Izz of a matrix or of its diagonal; None if it is neither."""
    if inertia.__class__ is float:
        return None
    if _is_triple(inertia):
        xx, yy, zz = inertia
        return xx, 0.0, yy, 0.0, 0.0, zz
    array = np.array(inertia)
    if array.shape != (3, 3):
        return None
    if not np.allclose(array, array.T, rtol=1e-9, atol=0, equal_nan=True):
        raise ModelError(f"body {body!r}: inertia is not symmetric:\n{array}")
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia
    return xx, xy, yy, xz, yz, zz
