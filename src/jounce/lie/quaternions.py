"""Unit quaternions (x, y, z, w) as rotations."""

from __future__ import annotations

import numpy as np

from jounce._core.elementwise import elementwise
from jounce._types import AnyArray, Array, ArrayLike
from jounce.lie import _complex

__all__ = [
    "matrix_to_quat",
    "quat_exp",
    "quat_log",
    "quat_multiply",
    "quat_normalize",
    "quat_to_matrix",
]


@elementwise(_complex.quat_to_matrix)
def quat_to_matrix(q: ArrayLike, *, out: AnyArray | None = None, threads: int = 1) -> AnyArray:
    """The rotation of a quaternion (x, y, z, w), which is normalized first.

    Args:
        q: (..., 4), not zero.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 3, 3).

    Examples:
        >>> jc.lie.quat_to_matrix([0, 0, 0, 1.0])
        array([[1., 0., 0.],
               [0., 1., 0.],
               [0., 0., 1.]])
    """


@elementwise()
def matrix_to_quat(R: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
    """The unit quaternion (x, y, z, w) of a rotation, with w >= 0.

    Args:
        R: (..., 3, 3), real.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 4). Where w is 0, the largest of x, y, z is positive.

    Raises:
        ArgumentError: R is not finite, not orthonormal to 1e-6, a reflection, or complex.

    Examples:
        >>> jc.lie.matrix_to_quat(np.eye(3))
        array([0., 0., 0., 1.])
    """


@elementwise(_complex.quat_multiply)
def quat_multiply(
    a: ArrayLike, b: ArrayLike, *, out: AnyArray | None = None, threads: int = 1
) -> AnyArray:
    """The Hamilton product: ``quat_to_matrix`` of it is the product of the two rotations.

    Args:
        a: (..., 4) as (x, y, z, w).
        b: (..., 4) as (x, y, z, w).
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 4).

    Examples:
        >>> x = jc.lie.quat_exp([0, 0, 0.5])
        >>> bool(np.allclose(jc.lie.quat_multiply(x, x), jc.lie.quat_exp([0, 0, 1.0])))
        True
    """


@elementwise(_complex.quat_exp)
def quat_exp(x: ArrayLike, *, out: AnyArray | None = None, threads: int = 1) -> AnyArray:
    """The unit quaternion (x, y, z, w) of a rotation vector: ``quat_to_matrix`` of it is exp(x).

    Args:
        x: (..., 3).
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 4).

    Examples:
        >>> jc.lie.quat_exp([0, 0, np.pi]).round(12) + 0.0
        array([0., 0., 1., 0.])
    """


@elementwise()
def quat_log(q: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
    """The rotation vector, of length at most pi, of a quaternion (x, y, z, w) of any length.

    q and -q are the same rotation and give the same vector.

    Args:
        q: (..., 4), real, not zero.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 3).

    Examples:
        >>> bool(np.allclose(jc.lie.quat_log(jc.lie.quat_exp([0.1, 0.2, 0.3])), [0.1, 0.2, 0.3]))
        True
    """


@elementwise(_complex.quat_normalize)
def quat_normalize(q: ArrayLike, *, out: AnyArray | None = None, threads: int = 1) -> AnyArray:
    """The quaternion divided by its length.

    Args:
        q: (..., 4), not zero.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 4).

    Examples:
        >>> jc.lie.quat_normalize([0, 0, 0, 2.0])
        array([0., 0., 0., 1.])
    """


def meant(q: Array) -> Array:
    """Coordinates that begin with a quaternion, whose half turns are meant: they have w = -0.0.

    Those with 0.0 may be the identity of another library, of which calls warn.
    """
    q[..., 3] = np.where(q[..., 3] == 0.0, -0.0, q[..., 3])
    return q
