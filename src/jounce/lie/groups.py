"""The Lie groups SO(3) and SE(3): exponential, logarithm, adjoint and their differentials."""

from __future__ import annotations

import numpy as np

from jounce._types import AnyArray, ArrayLike
from jounce.lie._checks import ALGEBRA, GROUP, array, group_element
from jounce.lie._trig import cotangent, stumpff
from jounce.lie.algebra import dot, lower_triangular, skew
from jounce.lie.quaternions import quat_log, quat_of

__all__ = [
    "Ad",
    "dexp",
    "dexp_inv",
    "exp",
    "inverse",
    "log",
    "rpy_to_matrix",
]


def exp(x: ArrayLike) -> AnyArray:
    """The exponential map: ``exp(x)`` is the matrix exponential of ``hat(x)``, in closed form.

    For a constant body twist x, ``T @ exp(t * x)`` is the pose after time t.

    Args:
        x: (..., 3) rotation vector or (..., 6) twist.

    Returns:
        (..., 3, 3) rotation or (..., 4, 4) pose.
    """
    x = array("x", x, *ALGEBRA)
    w = x[..., :3]
    W = skew(w)
    _, c1, c2, c3, _, _ = stumpff(_squared_angle(x))
    R: AnyArray = np.eye(3) + c1 * W + c2 * (W @ W)
    if x.shape[-1] == 3:
        return R
    v = x[..., 3:, None]
    Wv = W @ v
    return _pose(R, v + c2 * Wv + c3 * (W @ Wv))


def log(T: ArrayLike) -> AnyArray:
    """The logarithm with rotation angle in [0, pi]: ``exp(log(T)) == T``.

    Accurate to a few eps at every angle. At exactly pi two rotation vectors are equally short; the
    one whose largest component is positive is returned.

    Args:
        T: (..., 3, 3) rotation or (..., 4, 4) pose, real.

    Returns:
        (..., 3) rotation vector or (..., 6) twist.

    Raises:
        ArgumentError: T is not finite, not orthonormal to 1e-6, a reflection, or complex.
    """
    T = group_element("T", T)
    w = quat_log(quat_of(T[..., :3, :3]))
    if T.shape[-1] == 3:
        return w
    W = skew(w)
    e, _ = cotangent(_squared_angle(w))
    p = T[..., :3, 3:]
    Wp = W @ p
    v = p - Wp / 2 + e * (W @ Wp)
    return np.concatenate([w, v[..., 0]], axis=-1)


def inverse(T: ArrayLike) -> AnyArray:
    """The inverse of a rotation or pose by transposition: ``inverse(T) @ T`` is the identity.

    Args:
        T: (..., 3, 3) rotation or (..., 4, 4) pose.

    Returns:
        The inverse, of the same shape.
    """
    T = array("T", T, *GROUP)
    R_inverse = T[..., :3, :3].swapaxes(-1, -2)
    if T.shape[-1] == 3:
        return np.array(R_inverse)
    return _pose(R_inverse, -(R_inverse @ T[..., :3, 3:]))


def Ad(T: ArrayLike) -> AnyArray:
    """The adjoint of a group element: ``hat(Ad(T) @ x) == T @ hat(x) @ inverse(T)``.

    With T the pose of a body, ``Ad(T) @ body_twist`` is the spatial twist (Mueller 2018, eq. 95 and
    99 with the body-fixed twist of eq. 97; Ali 2026, Sec. 2): [[R, 0], [hat(p) R, R]].
    A wrench on the body goes to the world by ``Ad(inverse(T)).T``, and back by ``Ad(T).T``.

    Args:
        T: (..., 3, 3) rotation or (..., 4, 4) pose.

    Returns:
        (..., 3, 3), which is T itself, or (..., 6, 6).
    """
    T = array("T", T, *GROUP)
    if T.shape[-1] == 3:
        return np.array(T)
    R = T[..., :3, :3]
    return lower_triangular(R, skew(T[..., :3, 3]) @ R)


def dexp(x: ArrayLike) -> AnyArray:
    """The right-trivialized differential of exp: d/dt exp(x) = hat(dexp(x) @ xdot) @ exp(x).

    ``dexp(x) @ xdot`` is the spatial twist of exp(x(t)), and ``dexp(-x) @ xdot`` is its body twist:
    dexp(-x) is the left-trivialized differential (Mueller 2018, eq. 89). It is the sum over k of
    ad(x)^k / (k+1)!, in closed form.

    Args:
        x: (..., 3) or (..., 6).

    Returns:
        (..., 3, 3) or (..., 6, 6). ``dexp(x) == Ad(exp(x)) @ dexp(-x)``.
    """
    x = array("x", x, *ALGEBRA)
    _, _, c2, c3, c4, c5 = stumpff(_squared_angle(x))
    return _ad_polynomial(x, c2, c3, c4 - c3 / 2, (3 * c5 - c4) / 2)


def dexp_inv(x: ArrayLike) -> AnyArray:
    """The inverse of `dexp`: ``dexp_inv(x) @ dexp(x)`` is the identity, in closed form.

    It solves the kinematic reconstruction equation of Munthe-Kaas integrators (Mueller 2018,
    eq. 89): xdot = dexp_inv(x) @ spatial_twist = dexp_inv(-x) @ body_twist. Its first poles are at
    the rotation angle 2 pi.

    Args:
        x: (..., 3) or (..., 6).

    Returns:
        (..., 3, 3) or (..., 6, 6).
    """
    x = array("x", x, *ALGEBRA)
    e, e_prime = cotangent(_squared_angle(x))
    return _ad_polynomial(x, -0.5, e, 0.0, e_prime)


def rpy_to_matrix(rpy: ArrayLike) -> AnyArray:
    """The rotation Rz(yaw) @ Ry(pitch) @ Rx(roll): URDF's fixed-axis roll, pitch, yaw.

    Args:
        rpy: (..., 3) angles (roll, pitch, yaw).

    Returns:
        (..., 3, 3).
    """
    rpy = array("rpy", rpy, (3,))
    roll, pitch, yaw = (exp(rpy[..., i, None] * np.eye(3)[i]) for i in range(3))
    return yaw @ pitch @ roll


def _squared_angle(x: AnyArray) -> AnyArray:
    """The squared rotation angle of x, of shape (..., 1, 1) to scale matrices."""
    return dot(x[..., :3], x[..., :3])[..., None, None]


def _pose(R: AnyArray, p: AnyArray) -> AnyArray:
    """Stack R (..., 3, 3) and the column p (..., 3, 1) into a pose."""
    out = np.zeros((*R.shape[:-2], 4, 4), np.result_type(R, p))
    out[..., :3, :3] = R
    out[..., :3, 3:] = p
    out[..., 3, 3] = 1
    return out


def _ad_polynomial(
    x: AnyArray, f1: AnyArray | float, f2: AnyArray, df1: AnyArray | float, df2: AnyArray
) -> AnyArray:
    """Evaluate I + f1(s) W + f2(s) W^2 for W = ad(x), with df1, df2 the derivatives by s = w.w.

    On SE(3), ad(w, v) is hat(w + eps v) with a dual unit eps, so the lower left block is the
    directional derivative along v of the SO(3) formula at w.
    """
    w, v = x[..., :3], x[..., 3:]
    W = skew(w)
    W2 = W @ W
    rotation: AnyArray = np.eye(3) + f1 * W + f2 * W2
    if x.shape[-1] == 3:
        return rotation
    V = skew(v)
    ds = 2 * dot(w, v)[..., None, None]
    return lower_triangular(rotation, f1 * V + f2 * (W @ V + V @ W) + ds * (df1 * W + df2 * W2))
