"""The pseudo inertia of a body, and what it says: whether it can exist, how far it is from that.

Inertial parameters and the pseudo inertia are linear in each other. Bodies that can exist are those
whose pseudo inertia is positive semidefinite. Log-Cholesky coordinates cover those where it is
definite: with ``J = U U^T`` and the upper triangle

    U = exp(alpha) [[exp(d1), s12,     s13,     t1],
                    [0,       exp(d2), s23,     t2],
                    [0,       0,       exp(d3), t3],
                    [0,       0,       0,       1]]

they are ``alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3`` (Rucker and Wensing, 2022). The mass is
exp(2 alpha) and t the center of mass.
"""

from __future__ import annotations

import numpy as np

from jounce._core.arrays import reals
from jounce._core.elementwise import in_portions
from jounce._types import Array, ArrayLike, Mask
from jounce.errors import ArgumentError
from jounce.lie import _checks

__all__ = [
    "COLUMNS",
    "ROWS",
    "distance",
    "from_log_cholesky",
    "from_pseudo_inertia",
    "is_possible",
    "log_cholesky",
    "log_cholesky_derivatives",
    "nearest",
    "pseudo_inertia",
    "rotational",
]

ROWS = (0, 0, 1, 0, 1, 2)
COLUMNS = (0, 1, 1, 2, 2, 2)
"""Where the six numbers of a rotational inertia stand."""

_DIAGONAL = ((0, 0), (1, 1), (2, 2))
_ABOVE = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))


@in_portions(parameters=1)
def rotational(parameters: ArrayLike) -> Array:
    """Return the 3x3 rotational inertia about the frame's origin, kg m^2.

    Examples:
        >>> ten = jc.inertia.from_com(2.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5]))
        >>> np.diag(jc.inertia.rotational(ten))
        array([1.  , 2.02, 2.52])
    """
    p = _checks.array("parameters", parameters, (10,))
    if not np.isfinite(p).all():
        raise ArgumentError("parameters must be finite")
    out = np.empty((*p.shape[:-1], 3, 3), p.dtype)
    for k, (i, j) in enumerate(zip(ROWS, COLUMNS, strict=True)):
        out[..., i, j] = p[..., 4 + k]
        out[..., j, i] = p[..., 4 + k]
    return out


@in_portions(parameters=1)
@_checks.finite_result
def pseudo_inertia(parameters: ArrayLike) -> Array:
    """Return the 4x4 pseudo inertia, positive semidefinite exactly for bodies that can exist.

    ``[[S, m c], [m c^T, m]]`` with ``S = trace(I)/2 - I`` the second moments of mass
    (Binet's inertia of mueller, eq. 87).

    Examples:
        >>> jc.inertia.pseudo_inertia(jc.models.panda_like().inertias[0]).shape
        (4, 4)
    """
    p = reals("parameters", parameters, (10,))
    rot = rotational(p)
    out = np.empty((*p.shape[:-1], 4, 4))
    half_trace = 0.5 * np.trace(rot, axis1=-2, axis2=-1)
    out[..., :3, :3] = half_trace[..., None, None] * np.eye(3) - rot
    out[..., :3, 3] = p[..., 1:4]
    out[..., 3, :3] = p[..., 1:4]
    out[..., 3, 3] = p[..., 0]
    return out


@in_portions(pseudo=2)
@_checks.finite_result
def from_pseudo_inertia(pseudo: ArrayLike) -> Array:
    """Return the ten parameters, (..., 10), of a pseudo inertia, undoing `pseudo_inertia`.

    Examples:
        >>> ten = jc.inertia.from_com(2.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5]))
        >>> bool(np.allclose(jc.inertia.from_pseudo_inertia(jc.inertia.pseudo_inertia(ten)), ten))
        True
    """
    J = reals("pseudo", pseudo, (4, 4))
    S = J[..., :3, :3]
    I = np.trace(S, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - S  # noqa: E741
    return np.concatenate([J[..., 3, 3, None], J[..., :3, 3], I[..., ROWS, COLUMNS]], axis=-1)


@in_portions(parameters=1)
def is_possible(parameters: ArrayLike) -> Mask:
    """Whether a body with extent in all directions can have the parameters (..., 10).

    That is, whether the pseudo inertia is positive definite, without any tolerance; see `violation`
    for one that model files pass.

    Examples:
        >>> bool(jc.inertia.is_possible(jc.models.panda_like().inertias[0]))
        True
    """
    return np.linalg.eigvalsh(_scaled(parameters)[0])[..., 0] > 0.0


def _scaled(parameters: ArrayLike) -> tuple[Array, Array]:
    """The pseudo inertia over its largest entry, and that: LAPACK fails on the largest numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        J = pseudo_inertia(parameters)
    if not np.isfinite(J).all():
        raise ArgumentError("parameters are so large that the pseudo inertia is not finite")
    size = np.maximum(np.abs(J).max(axis=(-2, -1), initial=0.0), np.finfo(float).tiny)
    return J / size[..., None, None], size


def _negative_part(J: Array) -> Array:
    values, vectors = np.linalg.eigh(J)
    low: Array = (vectors * np.minimum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return low


@in_portions(parameters=1)
def distance(parameters: ArrayLike) -> Array:
    """How far parameters (..., 10) are from those of a body that can exist, (...).

    The Frobenius norm of the negative part of the pseudo inertia: the distance, in that norm, of
    the pseudo inertia to the nearest one of a body. Zero exactly for bodies that can exist.

    Examples:
        >>> ten = jc.inertia.from_com(2.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5]))
        >>> float(jc.inertia.distance(ten))  # a body can have these
        0.0
    """
    J, size = _scaled(parameters)
    with np.errstate(over="ignore"):
        result: Array = np.linalg.norm(_negative_part(J), axis=(-2, -1)) * size
    if not np.isfinite(result).all():
        raise ArgumentError("parameters are so large that their distance is not finite")
    return result


@in_portions(parameters=1)
def nearest(parameters: ArrayLike) -> Array:
    """Return the parameters, (..., 10), of the body nearest to these, see `distance`.

    The pseudo inertia without its negative part.

    Examples:
        >>> wrong = jc.inertia.from_com(1.0, (0, 0, 0), np.diag([1.0, 1.0, 5.0]))
        >>> float(jc.inertia.distance(wrong)) > 0  # no body has these moments
        True
        >>> float(jc.inertia.distance(jc.inertia.nearest(wrong))) < 1e-12
        True
    """
    J, size = _scaled(parameters)
    with np.errstate(over="ignore"):
        return from_pseudo_inertia(
            pseudo_inertia(parameters) - _negative_part(J) * size[..., None, None]
        )


def _coordinates(coordinates: ArrayLike) -> Array:
    x = reals("coordinates", coordinates, (10,))
    if not np.isfinite(x).all():
        raise ArgumentError("coordinates must be finite real numbers")
    return x


def _factor(x: Array) -> Array:
    """U of the coordinates."""
    U = np.zeros((*x.shape[:-1], 4, 4))
    for k, (i, j) in enumerate(_DIAGONAL):
        U[..., i, j] = np.exp(x[..., 1 + k])
    for k, (i, j) in enumerate(_ABOVE):
        U[..., i, j] = x[..., 4 + k]
    U[..., 3, 3] = 1.0
    scaled: Array = np.exp(x[..., 0])[..., None, None] * U
    return scaled


@in_portions(coordinates=1)
def from_log_cholesky(coordinates: ArrayLike) -> Array:
    """Return the ten inertial parameters, (..., 10), of log-Cholesky coordinates (..., 10).

    Raises:
        ArgumentError: the coordinates are not finite, or the parameters are beyond doubles.

    Examples:
        >>> import numpy as np, jounce as jc
        >>> jc.inertia.from_log_cholesky(np.zeros(10))
        array([1., 0., 0., 0., 2., 0., 2., 0., 0., 2.])
    """
    x = _coordinates(coordinates)
    with np.errstate(over="ignore", invalid="ignore"):
        U = _factor(x)
        J = U @ np.swapaxes(U, -1, -2)
    if not np.isfinite(J).all():
        raise ArgumentError("coordinates are so large that the inertial parameters are not finite")
    if (J[..., 3, 3] < np.finfo(float).tiny).any():
        raise ArgumentError("coordinates are so small that no mass is left")
    return from_pseudo_inertia(J)


@in_portions(parameters=1)
def log_cholesky(parameters: ArrayLike) -> Array:
    """Return the log-Cholesky coordinates, (..., 10), of bodies with parameters (..., 10).

    Raises:
        ArgumentError: the pseudo inertia is not positive definite: no body of finite extent in all
            directions has these parameters.

    Examples:
        >>> ten = jc.models.panda_like().inertias[0]
        >>> bool(np.allclose(jc.inertia.from_log_cholesky(jc.inertia.log_cholesky(ten)), ten))
        True
    """
    J = pseudo_inertia(parameters)
    try:
        lower = np.linalg.cholesky(J[..., ::-1, ::-1])  # of the matrix read backwards: U is upper
    except np.linalg.LinAlgError:
        raise ArgumentError(
            "the pseudo inertia is not positive definite, so it has no log-Cholesky coordinates: "
            "point masses, rods and plates have none; see jounce.inertia.violation"
        ) from None
    U = lower[..., ::-1, ::-1]
    scale = U[..., 3, 3]
    U = U / scale[..., None, None]
    parts = [np.log(scale)]
    parts += [np.log(U[..., i, j]) for i, j in _DIAGONAL]
    parts += [U[..., i, j] for i, j in _ABOVE]
    return np.stack(parts, axis=-1)


@in_portions(coordinates=1)
def log_cholesky_derivatives(coordinates: ArrayLike) -> Array:
    """Derivatives of the ten parameters by the log-Cholesky coordinates, (..., 10, 10).

    Column k is ``d from_log_cholesky(x) / d x_k``.

    Examples:
        >>> ten = jc.inertia.from_com(2.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5]))
        >>> jc.inertia.log_cholesky_derivatives(jc.inertia.log_cholesky(ten)).shape
        (10, 10)
    """
    x = _coordinates(coordinates)
    with np.errstate(over="ignore", invalid="ignore"):
        result = _log_cholesky_derivatives(x, _factor(x))
    if not np.isfinite(result).all():
        raise ArgumentError("coordinates are so large that the derivatives are not finite")
    return result


def _log_cholesky_derivatives(x: Array, U: Array) -> Array:
    turned = np.swapaxes(U, -1, -2)
    columns = []
    for k in range(10):
        dU = np.zeros_like(U)
        if k == 0:
            dU = U
        elif k < 4:
            i, j = _DIAGONAL[k - 1]
            dU[..., i, j] = U[..., i, j]
        else:
            i, j = _ABOVE[k - 4]
            dU[..., i, j] = np.exp(x[..., 0])
        half = dU @ turned
        columns.append(from_pseudo_inertia(half + np.swapaxes(half, -1, -2)))
    return np.stack(columns, axis=-1)
