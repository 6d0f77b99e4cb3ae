"""Checks of what a builder is told of a link, when it is told.

Numbers are taken one by one, which for so few is several times faster than arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.errors import ModelError

__all__ = ["Place", "added_at", "checked_parameters", "checked_pose", "parameters_of", "place_of"]

Place = tuple[str, int]
"""File and line of the call that added something."""

_PACKAGE = str(Path(__file__).parent.parent)


def place_of(frame: FrameType) -> Place:
    """Where a frame of the interpreter is."""
    return frame.f_code.co_filename, frame.f_lineno


def added_at(place: Place | None) -> str:
    """The end of a message that points at the line to blame; readers of files say it themselves."""
    if place is None or place[0].startswith(_PACKAGE):
        return ""
    return f" (added in {place[0]}, line {place[1]})"


def _plain(what: str, value: Any) -> Any:
    """Plain floats, nested like the value; what cannot be is an error that names it."""
    if value.__class__ is tuple:
        try:
            return tuple(map(float, value))
        except (TypeError, ValueError, OverflowError):
            pass  # nested, or wrong
    try:
        return np.asarray(value, float).tolist()
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"{what} must be numbers, got {value!r}") from None


def checked_pose(kind: str, name: str, value: ArrayLike) -> Array:
    """The 4x4 matrix of a pose, read-only; a rotation that is rounded is made the nearest one."""
    what = f"{kind} {name!r}: placement"
    rows = _plain(what, value)
    if _is_triple(rows):
        x, y, z = [1.0, 0.0, 0.0, rows[0]], [0.0, 1.0, 0.0, rows[1]], [0.0, 0.0, 1.0, rows[2]]
        last = [0.0, 0.0, 0.0, 1.0]
    elif rows.__class__ is list and len(rows) == 4 and np.shape(rows) == (4, 4):
        x, y, z, last = rows
    else:
        raise ModelError(f"{what} must be a 4x4 pose or 3 numbers, got shape {np.shape(rows)}")
    array = np.array((x, y, z, last), float)
    if last != [0.0, 0.0, 0.0, 1.0] or not all(map(math.isfinite, (*x, *y, *z))):
        raise ModelError(f"{what} must be finite with last row (0, 0, 0, 1), got\n{array}")
    error = max(
        abs(_dot(x, x) - 1.0),
        abs(_dot(y, y) - 1.0),
        abs(_dot(z, z) - 1.0),
        abs(_dot(x, y)),
        abs(_dot(y, z)),
        abs(_dot(z, x)),
    )
    if error > 1e-6 or _triple(x, y, z) < 0:
        raise ModelError(f"{what}: the 3x3 part is not a rotation:\n{array[:3, :3]}")
    if error > 1e-15:  # the nearest rotation
        u, _, vt = np.linalg.svd(array[:3, :3])
        array[:3, :3] = u @ vt
    array.setflags(write=False)
    return array


def _is_triple(value: Any) -> bool:
    """Whether plain numbers are three."""
    return value.__class__ is not float and len(value) == 3 and value[0].__class__ is float


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _triple(a: Sequence[float], b: Sequence[float], c: Sequence[float]) -> float:
    """Determinant of the matrix with these rows."""
    return (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        + a[1] * (b[2] * c[0] - b[0] * c[2])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )


def checked_parameters(body: str, parameters: ArrayLike) -> Sequence[float]:
    """The ten inertial parameters of a body."""
    ten = _plain(f"body {body!r}: parameters", parameters)
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
    m: Any = mass if mass.__class__ is float else _plain(f"body {body!r}: mass", mass)
    c = _plain(f"body {body!r}: com", com)
    about_com = (0.0, 0.0, 0.0) if inertia is None else _plain(f"body {body!r}: inertia", inertia)
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
