"""Inertial parameters of a rigid body, ten numbers about the origin of its frame.

The order is the same everywhere in this package (and in Pinocchio):
``m, m c_x, m c_y, m c_z, Ixx, Ixy, Iyy, Ixz, Iyz, Izz``, where ``c`` is the center of mass
and ``I`` the rotational inertia about the frame's origin, all resolved in the frame.
All functions take leading batch axes.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jounce import _core, lie
from jounce._core import memory
from jounce._core.arrays import reals
from jounce._core.elementwise import in_portions
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError, ModelWarning
from jounce.lie import _checks
from jounce.model.pseudo_inertia import (
    COLUMNS,
    ROWS,
    distance,
    from_log_cholesky,
    from_pseudo_inertia,
    is_possible,
    log_cholesky,
    log_cholesky_derivatives,
    nearest,
    pseudo_inertia,
    rotational,
)

__all__ = [
    "MassProperties",
    "about_com",
    "distance",
    "from_com",
    "from_log_cholesky",
    "from_pseudo_inertia",
    "is_possible",
    "log_cholesky",
    "log_cholesky_derivatives",
    "matrix",
    "nearest",
    "pseudo_inertia",
    "rotational",
    "transform",
    "violation",
    "violations",
]


def __dir__() -> list[str]:
    return sorted(__all__)


_SMALLEST_RADIUS = 1e-6
"""Radius of gyration, m, below which moments are the rounding of a point mass."""

_COMPUTABLE = 1e150

_AT_ONCE = 2**16
"""Bodies that are looked at before Ctrl-C is heard again."""


def _pack(mass: Array, first_moment: Array, rotational_inertia: Array) -> Array:
    upper = rotational_inertia[..., ROWS, COLUMNS]
    lead = upper.shape[:-1]
    m = np.broadcast_to(mass[..., None], (*lead, 1))
    return np.concatenate([m, np.broadcast_to(first_moment, (*lead, 3)), upper], axis=-1)


def _require_leads(**arrays: tuple[Array, int]) -> None:
    """Require leading axes that broadcast; the numbers are those of the trailing axes."""
    leads = {name: x.shape[: x.ndim - trailing] for name, (x, trailing) in arrays.items()}
    try:
        np.broadcast_shapes(*leads.values())
    except ValueError:
        shapes = ", ".join(f"{lead} of {name}" for name, lead in leads.items())
        raise ArgumentError(f"leading axes do not broadcast: {shapes}") from None


@in_portions(mass=0, com=1, inertia=2)
@_checks.finite_result
def from_com(mass: ArrayLike, com: ArrayLike, inertia: ArrayLike) -> Array:
    """Build the ten parameters from mass (kg), center of mass (m) and inertia about it (3x3).

    Identity: ``rotational(from_com(m, c, I)) == I - m hat(c) hat(c)`` (Huygens-Steiner).

    Examples:
        >>> jc.inertia.from_com(2.0, (0.1, 0, 0), np.diag([1.0, 2.0, 3.0]))
        array([2.  , 0.2 , 0.  , 0.  , 1.  , 0.  , 2.02, 0.  , 0.  , 3.02])
    """
    m, c, i = reals("mass", mass), reals("com", com, (3,)), reals("inertia", inertia, (3, 3))
    _require_leads(mass=(m, 0), com=(c, 1), inertia=(i, 2))
    h = lie.hat(c)
    return _pack(m, m[..., None] * c, i - m[..., None, None] * (h @ h))


class MassProperties(NamedTuple):
    """What a body weighs, where, and how hard it is to turn.

    Examples:
        >>> ball = jc.inertia.from_com(2.0, [0, 0, 0.5], 0.1 * np.eye(3))
        >>> mass, com, inertia = jc.inertia.about_com(ball)
        >>> float(mass), com
        (2.0, array([0. , 0. , 0.5]))
    """

    mass: Array
    """(...) kg."""
    com: Array
    """(..., 3) center of mass in the frame, m."""
    inertia: Array
    """(..., 3, 3) rotational inertia about the center of mass, kg m^2."""


@in_portions(parameters=1)
@_checks.finite_result
def about_com(parameters: ArrayLike) -> MassProperties:
    """Return mass, center of mass and 3x3 inertia about the center of mass, undoing `from_com`.

    A massless body has its center of mass at the origin.

    Examples:
        >>> ten = jc.inertia.from_com(2.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5]))
        >>> jc.inertia.about_com(ten).com
        array([0.1, 0. , 0. ])
    """
    p = reals("parameters", parameters, (10,))
    m = p[..., 0]
    c = np.where(m[..., None] > 0, p[..., 1:4], 0.0) / np.where(m > 0, m, 1.0)[..., None]
    h = lie.hat(c)
    return MassProperties(m, c, rotational(p) + m[..., None, None] * (h @ h))


@in_portions(parameters=1)
def matrix(parameters: ArrayLike) -> Array:
    """Return the 6x6 inertia in (angular, linear) order: momentum = matrix @ twist.

    ``[[I, hat(m c)], [-hat(m c), m 1]]`` (mueller, eq. 40; kim, eq. 20).

    Examples:
        >>> ten = jc.inertia.from_com(2.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5]))
        >>> jc.inertia.matrix(ten).shape
        (6, 6)
    """
    p = _checks.array("parameters", parameters, (10,))
    out = np.zeros((*p.shape[:-1], 6, 6), p.dtype)
    out[..., :3, :3] = rotational(p)  # which refuses what is not finite
    h = lie.hat(p[..., 1:4])
    out[..., :3, 3:] = h
    out[..., 3:, :3] = -h
    out[..., (3, 4, 5), (3, 4, 5)] = p[..., :1]
    return out


@in_portions(parameters=1, pose=2)
@_checks.finite_result
def transform(parameters: ArrayLike, pose: ArrayLike) -> Array:
    """Express the parameters of a body in another frame.

    Args:
        parameters: (..., 10) in the body's frame B.
        pose: (..., 4, 4) pose of B in the new frame.

    Identity: ``matrix(transform(p, T)) == Ad(T^-1).T @ matrix(p) @ Ad(T^-1)``.

    Examples:
        >>> ten = jc.inertia.from_com(2.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5]))
        >>> moved = jc.inertia.transform(ten, jc.lie.exp([0, 0, 0, 0, 0, 1.0]))
        >>> bool(np.isclose(moved[0], ten[0]))  # the mass stays
        True
    """
    p, t = reals("parameters", parameters, (10,)), reals("pose", pose, (4, 4))
    _require_leads(parameters=(p, 1), pose=(t, 2))
    r, d, m = t[..., :3, :3], t[..., :3, 3], p[..., 0]
    h = np.einsum("...ij,...j->...i", r, p[..., 1:4])
    rotated = r @ rotational(p) @ np.swapaxes(r, -1, -2)
    far = 2 * h + m[..., None] * d  # second moments grow by d h^T + h d^T + m d d^T
    moment = _symmetric(np.einsum("...i,...j->...ij", d, far))
    spread = np.trace(moment, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - moment
    return _pack(m, h + m[..., None] * d, rotated + spread)


def _symmetric(x: Array) -> Array:
    half: Array = (x + np.swapaxes(x, -1, -2)) / 2
    return half


def violation(parameters: ArrayLike, tolerance: float = 1e-6) -> str | None:
    """Say why no rigid body can have these ten parameters, or return None if one can.

    Principal moments are compared relative to the largest one, with the given tolerance,
    because model files carry rounded numbers; so are moments whose radius of gyration is below a
    micrometer.

    Examples:
        >>> ten = jc.inertia.from_com(2.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5]))
        >>> jc.inertia.violation(ten) is None
        True
    """
    p = reals("parameters", parameters, (10,))
    relative = reals("tolerance", tolerance)
    if p.ndim != 1 or relative.ndim:
        raise ArgumentError(
            f"expected the ten parameters of one body and one tolerance, got shapes {p.shape} and "
            f"{relative.shape}; violations() takes many bodies"
        )
    if not np.all(np.abs(p) < _COMPUTABLE):
        return "inertial parameters are not finite, or so large that their products overflow"
    if p[0] < 0:
        return f"mass {p[0]:g} is negative"
    if p[0] == 0 and np.any(p[1:] != 0):
        return "mass is zero but the first moment or the inertia is not"
    moments: Array = np.linalg.eigvalsh(about_com(p).inertia).astype(float)
    rounding = 8 * np.finfo(float).eps * np.max(np.abs(p[4:]))  # of a point mass far away
    rounding += p[0] * _SMALLEST_RADIUS**2
    slack = float(relative) * max(abs(moments[0]), abs(moments[2])) + rounding + 1e-30
    if moments[0] < -slack:
        return f"inertia is not positive semidefinite (principal moments {_list(moments)})"
    if moments[0] + moments[1] < moments[2] - slack:
        return f"principal moments {_list(moments)} break the triangle inequality"
    return None


def violations(parameters: ArrayLike) -> dict[int, str]:
    """Say which of many bodies, (n, 10), cannot exist and why, by `violation`.

    Examples:
        >>> ten = jc.inertia.from_com(2.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5]))
        >>> jc.inertia.violations(np.stack([ten, ten]))
        {}
    """
    rows = reals("parameters", parameters, (10,))
    if not rows.flags.c_contiguous:
        memory.require("violations", rows.nbytes, rows.nbytes)
        rows = np.ascontiguousarray(rows)
    p = rows.reshape(-1, 10)
    starts = range(0, len(p), _AT_ONCE)
    suspects = (k + i for k in starts for i in _core.doubtful_inertias(p[k : k + _AT_ONCE]))
    found = ((k, violation(p[k])) for k in suspects)
    return {k: why for k, why in found if why is not None}


def warn_of_violations(names: Sequence[str], rows: Array, stacklevel: int) -> None:
    """Issue one `ModelWarning` if some of the bodies have parameters that no body can have.

    Args:
        names: n names of bodies.
        rows: (n, 10) their parameters.
        stacklevel: as in `warnings.warn`, counted from the caller.
    """
    bad = [f"body {names[k]!r}: {why}" for k, why in violations(rows).items()]
    if bad:
        more = f" (and {len(bad) - 3} more)" if len(bad) > 3 else ""
        warnings.warn("; ".join(bad[:3]) + more, ModelWarning, stacklevel=stacklevel + 1)


def _list(values: Array) -> str:
    return ", ".join(f"{v:.6g}" for v in values)
