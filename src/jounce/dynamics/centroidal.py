"""The momentum about the center of mass, its matrix, the time derivative of that, and partials."""

from __future__ import annotations

import functools
from typing import NamedTuple

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model import Model

__all__ = [
    "CentroidalMomentumDerivatives",
    "centroidal_momentum",
    "centroidal_momentum_derivatives",
    "centroidal_momentum_matrix",
    "centroidal_momentum_matrix_rate",
]


class CentroidalMomentumDerivatives(NamedTuple):
    """Derivatives of the centroidal momentum, (..., 6, nv) each; ``dv`` is its matrix.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> d = jc.centroidal_momentum_derivatives(arm, q, v)
        >>> bool(np.allclose(d.dv, jc.centroidal_momentum_matrix(arm, q)))
        True
    """

    dq: Array
    dv: Array


@kernel
def centroidal_momentum(
    model: Model, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Momentum (angular, linear) about the center of mass, along the world's axes, (..., 6).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        out: (..., 6) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 6) momentum (angular, linear).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Examples:
        >>> robot = jc.models.aerial_manipulator()
        >>> q, v = jc.neutral(robot), np.eye(robot.nv)[3]  # the base moves along x
        >>> bool(np.isclose(jc.centroidal_momentum(robot, q, v)[3], jc.total_mass(robot)))
        True
    """


@kernel
def centroidal_momentum_matrix(
    model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Centroidal momentum matrix A_G, (..., 6, nv).

    A_G v is the momentum (angular, linear) about the center of mass, along the world's axes. A
    column is the inertia of the bodies that a rate moves times its screw, O(n).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        out: (..., 6, nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 6, nv) matrix, angular rows first.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: ``A_G @ v == centroidal_momentum(model, q, v)``.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> momentum = jc.centroidal_momentum_matrix(arm, q) @ v
        >>> bool(np.allclose(momentum, jc.centroidal_momentum(arm, q, v)))
        True
    """


@kernel
def centroidal_momentum_matrix_rate(
    model: Model, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Time derivative of the centroidal momentum matrix along v, (..., 6, nv).

    At a fixed point, the inertia I of the bodies that a joint moves changes by the rates of its
    first moment and of its rotational part, and the joint's screw s with the twist V of its body,
    so that the column I s of A_G changes by ``dI/dt s + I [V, s]`` (and by the motion of the center
    of mass, which it refers to), O(n).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        out: (..., 6, nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 6, nv) time derivative of the matrix.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: the momentum's derivative is ``A_G @ a + centroidal_momentum_matrix_rate @ v``,
    the sum of gravity and the external wrenches about the center of mass.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> jc.centroidal_momentum_matrix_rate(arm, q, v).shape
        (6, 7)
    """


@functools.partial(kernel, result=CentroidalMomentumDerivatives)
def centroidal_momentum_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> CentroidalMomentumDerivatives:
    """Derivatives of `centroidal_momentum` with respect to q and v.

    If q moves along a joint's screw s, the bodies that the joint moves, with the inertia I and the
    momentum H, move as one body, but for what they have from the twist V of the joint's parent:
    their momentum changes by ``s x* H - I [s, V]`` (and by the motion of the center of mass, which
    it refers to), O(n).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dq, dv), (..., 6, nv) each, angular rows first; dq in the tangent space of q,
        dv is `centroidal_momentum_matrix`.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> d = jc.centroidal_momentum_derivatives(arm, q, v)
        >>> bool(np.allclose(d.dv, jc.centroidal_momentum_matrix(arm, q)))
        True
    """
