"""The momentum about the center of mass, its matrix and the time derivative of that."""

from __future__ import annotations

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model import Model

__all__ = [
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "centroidal_momentum_matrix_rate",
]


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
    """
