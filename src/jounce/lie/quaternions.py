"""Unit quaternions (x, y, z, w) as rotations."""

from __future__ import annotations

import numpy as np

from jounce._types import AnyArray, ArrayLike
from jounce.errors import ArgumentError
from jounce.lie._checks import array, group_element, require_nonzero_quat, require_real_finite
from jounce.lie._trig import stumpff
from jounce.lie.algebra import dot, skew, vee

__all__ = [
    "matrix_to_quat",
    "quat_exp",
    "quat_log",
    "quat_multiply",
    "quat_normalize",
    "quat_of",
    "quat_to_matrix",
]


def quat_to_matrix(q: ArrayLike) -> AnyArray:
    """The rotation of a quaternion (x, y, z, w), which is normalized first.

    Args:
        q: (..., 4), not zero.

    Returns:
        (..., 3, 3).
    """
    q = quat_normalize(q)
    V = skew(q[..., :3])
    R: AnyArray = np.eye(3) + 2 * (q[..., 3, None, None] * V + V @ V)
    return R


def matrix_to_quat(R: ArrayLike) -> AnyArray:
    """The unit quaternion (x, y, z, w) of a rotation, with w >= 0.

    Args:
        R: (..., 3, 3), real.

    Returns:
        (..., 4). Where w is 0, the largest of x, y, z is positive.

    Raises:
        ArgumentError: R is not finite, not orthonormal to 1e-6, a reflection, or complex.
    """
    R = group_element("R", R)
    if R.shape[-1] != 3:
        raise ArgumentError(f"R: expected shape (..., 3, 3), got {R.shape}")
    return quat_of(R)


def quat_multiply(a: ArrayLike, b: ArrayLike) -> AnyArray:
    """The Hamilton product: ``quat_to_matrix`` of it is the product of the two rotations.

    Args:
        a: (..., 4) as (x, y, z, w).
        b: (..., 4) as (x, y, z, w).

    Returns:
        (..., 4).
    """
    a, b = array("a", a, (4,)), array("b", b, (4,))
    a_v, a_w, b_v, b_w = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = a_w * b_v + b_w * a_v + np.cross(a_v, b_v)
    scalar = a_w * b_w - dot(a_v, b_v)[..., None]
    return np.concatenate([vector, scalar], axis=-1)


def quat_exp(x: ArrayLike) -> AnyArray:
    """The unit quaternion (x, y, z, w) of a rotation vector: ``quat_to_matrix`` of it is exp(x).

    Args:
        x: (..., 3).

    Returns:
        (..., 4).
    """
    x = array("x", x, (3,))
    c0, c1, *_ = stumpff(dot(x, x)[..., None] / 4)
    return np.concatenate([x * (c1 / 2), c0], axis=-1)


def quat_log(q: ArrayLike) -> AnyArray:
    """The rotation vector, of length at most pi, of a quaternion (x, y, z, w) of any length.

    q and -q are the same rotation and give the same vector.

    Args:
        q: (..., 4), real, not zero.

    Returns:
        (..., 3).
    """
    q = array("q", q, (4,))
    require_real_finite("q", q)
    require_nonzero_quat(q)
    q = _scaled(np.where(q[..., 3:] < 0, -q, q))
    n = np.sqrt(dot(q[..., :3], q[..., :3]))[..., None]
    half_angle = np.arctan2(n, q[..., 3:])
    # n = 0 only where the vector part is too small to be squared: there, half_angle / n = 1 / w.
    ratio = np.where(n > 0, half_angle, 1.0) / np.where(n > 0, n, q[..., 3:])
    return 2 * ratio * q[..., :3]


def quat_normalize(q: ArrayLike) -> AnyArray:
    """The quaternion divided by its length.

    Args:
        q: (..., 4), not zero.

    Returns:
        (..., 4).
    """
    q = array("q", q, (4,))
    require_nonzero_quat(q)
    q = _scaled(q)
    unit: AnyArray = q / np.sqrt(dot(q, q))[..., None]
    return unit


def _scaled(q: AnyArray) -> AnyArray:
    """Divide by the largest component, so that squares neither underflow nor overflow."""
    out: AnyArray = q / np.max(np.abs(q.real), axis=-1, keepdims=True)
    return out


def quat_of(R: AnyArray) -> AnyArray:
    """Read the quaternion from the best conditioned row of 4 q q^T (Shepperd's choice)."""
    K = np.empty((*R.shape[:-2], 4, 4))
    d0, d1, d2 = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    K[..., 0, 0], K[..., 1, 1] = 1 + d0 - d1 - d2, 1 - d0 + d1 - d2
    K[..., 2, 2], K[..., 3, 3] = 1 - d0 - d1 + d2, 1 + d0 + d1 + d2
    K[..., :3, 3] = K[..., 3, :3] = 2 * vee(R)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        K[..., i, j] = K[..., j, i] = R[..., i, j] + R[..., j, i]
    best = np.argmax(np.diagonal(K, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(K, best[..., None, None], axis=-2)[..., 0, :]
    return quat_normalize(np.where(q[..., 3:] < 0, -q, q))
