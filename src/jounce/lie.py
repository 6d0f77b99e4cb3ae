"""The Lie groups SO(3) and SE(3), their algebras, and unit quaternions.

Every function dispatches on the trailing axes and treats all leading axes as batch axes:

    ========  ================  ==============  ===============================
    group     algebra vector    group matrix    meaning
    ========  ================  ==============  ===============================
    SO(3)     (..., 3)          (..., 3, 3)     rotation vector, rotation
    SE(3)     (..., 6)          (..., 4, 4)     twist (angular, linear), pose
    ========  ================  ==============  ===============================

Quaternions are stored as (x, y, z, w). Angles are in radians, lengths in meters. A pose T maps body
coordinates to world coordinates. Group elements are composed with `@`. Wrenches (moment, force) are
dual to twists: where a twist moves by ``Ad(T) @ x``, a wrench moves by ``Ad(inverse(T)).T @ w``
(Mueller 2018, eq. 120); `jounce.twists.convert_wrench` does this for batches.

Everything except `log`, `matrix_to_quat` and `quat_log` is analytic in its arguments and accepts
complex arrays, so a complex step through these functions gives exact derivatives. Numbers that are
not finite pass through these functions as they do in NumPy; `log` and `matrix_to_quat`, which
check that a matrix is a rotation, refuse them.

References: A. Mueller, "Screw and Lie Group Theory in Multibody Dynamics", 2018 (appendices A, B).
A. Ali et al., "Lie Group Formulation of Recursive Dynamics Algorithms of Higher Order for
Floating-Base Robots", 2026 (Sec. 2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from jounce._trig import cotangent, stumpff

__all__ = [
    "Ad",
    "ad",
    "dexp",
    "dexp_inv",
    "exp",
    "hat",
    "inverse",
    "log",
    "matrix_to_quat",
    "quat_exp",
    "quat_log",
    "quat_multiply",
    "quat_normalize",
    "quat_to_matrix",
    "rpy_to_matrix",
    "vee",
]

Array = npt.NDArray[Any]

# The trailing shapes of the algebra vectors and group matrices of SO(3) and SE(3).
_ALGEBRA = ((3,), (6,))
_GROUP = ((3, 3), (4, 4))

# How far from orthonormal a matrix may be before `log` refuses it.
_ROTATION_TOLERANCE = 1e-6


def hat(x: npt.ArrayLike) -> Array:
    """The matrix of an algebra vector: ``hat(x) @ y == cross(x, y)`` for x in R^3.

    A twist (w, v) gives the 4x4 matrix [[hat(w), v], [0, 0]] (Mueller 2018, eq. 97).

    Args:
        x: (..., 3) or (..., 6).

    Returns:
        (..., 3, 3) or (..., 4, 4); `vee` is the inverse.
    """
    x = _array("x", x, *_ALGEBRA)
    if x.shape[-1] == 3:
        return _skew(x)
    out = np.zeros((*x.shape[:-1], 4, 4), x.dtype)
    out[..., :3, :3] = _skew(x[..., :3])
    out[..., :3, 3] = x[..., 3:]
    return out


def vee(X: npt.ArrayLike) -> Array:
    """The vector of an algebra matrix: ``vee(hat(x)) == x``.

    The skew-symmetric part of X (of its upper left 3x3 block) is read, so that a matrix which is
    skew only to rounding, like ``dR @ R.T``, loses nothing.

    Args:
        X: (..., 3, 3) or (..., 4, 4).

    Returns:
        (..., 3) or (..., 6).
    """
    X = _array("X", X, *_GROUP)
    i, j = [2, 0, 1], [1, 2, 0]
    w = X[..., i, j] - X[..., j, i]
    return w / 2 if X.shape[-1] == 3 else np.concatenate([w / 2, X[..., :3, 3]], axis=-1)


def exp(x: npt.ArrayLike) -> Array:
    """The exponential map: ``exp(x)`` is the matrix exponential of ``hat(x)``, in closed form.

    For a constant body twist x, ``T @ exp(t * x)`` is the pose after time t.

    Args:
        x: (..., 3) rotation vector or (..., 6) twist.

    Returns:
        (..., 3, 3) rotation or (..., 4, 4) pose.
    """
    x = _array("x", x, *_ALGEBRA)
    w = x[..., :3]
    W = _skew(w)
    _, c1, c2, c3, _, _ = stumpff(_squared_angle(x))
    R: Array = np.eye(3) + c1 * W + c2 * (W @ W)
    if x.shape[-1] == 3:
        return R
    v = x[..., 3:, None]
    Wv = W @ v
    return _pose(R, v + c2 * Wv + c3 * (W @ Wv))


def log(T: npt.ArrayLike) -> Array:
    """The logarithm with rotation angle in [0, pi]: ``exp(log(T)) == T``.

    Accurate to a few eps at every angle. At exactly pi two rotation vectors are equally short; the
    one whose largest component is positive is returned.

    Args:
        T: (..., 3, 3) rotation or (..., 4, 4) pose, real.

    Returns:
        (..., 3) rotation vector or (..., 6) twist.

    Raises:
        ValueError: T is not finite, not orthonormal to 1e-6, a reflection, or complex.
    """
    T = _group_element("T", T)
    w = quat_log(_quat_of(T[..., :3, :3]))
    if T.shape[-1] == 3:
        return w
    W = _skew(w)
    e, _ = cotangent(_squared_angle(w))
    p = T[..., :3, 3:]
    Wp = W @ p
    v = p - Wp / 2 + e * (W @ Wp)
    return np.concatenate([w, v[..., 0]], axis=-1)


def inverse(T: npt.ArrayLike) -> Array:
    """The inverse of a rotation or pose by transposition: ``inverse(T) @ T`` is the identity.

    Args:
        T: (..., 3, 3) rotation or (..., 4, 4) pose.

    Returns:
        The inverse, of the same shape.
    """
    T = _array("T", T, *_GROUP)
    R_inverse = T[..., :3, :3].swapaxes(-1, -2)
    if T.shape[-1] == 3:
        return np.array(R_inverse)
    return _pose(R_inverse, -(R_inverse @ T[..., :3, 3:]))


def Ad(T: npt.ArrayLike) -> Array:
    """The adjoint of a group element: ``hat(Ad(T) @ x) == T @ hat(x) @ inverse(T)``.

    With T the pose of a body, ``Ad(T) @ body_twist`` is the spatial twist (Mueller 2018, eq. 95 and
    99 with the body-fixed twist of eq. 97; Ali 2026, Sec. 2): [[R, 0], [hat(p) R, R]].
    A wrench on the body goes to the world by ``Ad(inverse(T)).T``, and back by ``Ad(T).T``.

    Args:
        T: (..., 3, 3) rotation or (..., 4, 4) pose.

    Returns:
        (..., 3, 3), which is T itself, or (..., 6, 6).
    """
    T = _array("T", T, *_GROUP)
    if T.shape[-1] == 3:
        return np.array(T)
    R = T[..., :3, :3]
    return _lower_triangular(R, _skew(T[..., :3, 3]) @ R)


def ad(x: npt.ArrayLike) -> Array:
    """The adjoint of an algebra vector: ``ad(x) @ y`` is the Lie bracket [x, y].

    ``hat(ad(x) @ y) == hat(x) @ hat(y) - hat(y) @ hat(x)`` (Mueller 2018, eq. 113 to 115).

    Args:
        x: (..., 3) or (..., 6).

    Returns:
        (..., 3, 3), the cross product matrix, or (..., 6, 6).
    """
    x = _array("x", x, *_ALGEBRA)
    W = _skew(x[..., :3])
    return W if x.shape[-1] == 3 else _lower_triangular(W, _skew(x[..., 3:]))


def dexp(x: npt.ArrayLike) -> Array:
    """The right-trivialized differential of exp: d/dt exp(x) = hat(dexp(x) @ xdot) @ exp(x).

    ``dexp(x) @ xdot`` is the spatial twist of exp(x(t)), and ``dexp(-x) @ xdot`` is its body twist:
    dexp(-x) is the left-trivialized differential (Mueller 2018, eq. 89). It is the sum over k of
    ad(x)^k / (k+1)!, in closed form.

    Args:
        x: (..., 3) or (..., 6).

    Returns:
        (..., 3, 3) or (..., 6, 6). ``dexp(x) == Ad(exp(x)) @ dexp(-x)``.
    """
    x = _array("x", x, *_ALGEBRA)
    _, _, c2, c3, c4, c5 = stumpff(_squared_angle(x))
    return _ad_polynomial(x, c2, c3, c4 - c3 / 2, (3 * c5 - c4) / 2)


def dexp_inv(x: npt.ArrayLike) -> Array:
    """The inverse of `dexp`: ``dexp_inv(x) @ dexp(x)`` is the identity, in closed form.

    It solves the kinematic reconstruction equation of Munthe-Kaas integrators (Mueller 2018,
    eq. 89): xdot = dexp_inv(x) @ spatial_twist = dexp_inv(-x) @ body_twist. Its first poles are at
    the rotation angle 2 pi.

    Args:
        x: (..., 3) or (..., 6).

    Returns:
        (..., 3, 3) or (..., 6, 6).
    """
    x = _array("x", x, *_ALGEBRA)
    e, e_prime = cotangent(_squared_angle(x))
    return _ad_polynomial(x, -0.5, e, 0.0, e_prime)


def quat_to_matrix(q: npt.ArrayLike) -> Array:
    """The rotation of a quaternion (x, y, z, w), which is normalized first.

    Args:
        q: (..., 4), not zero.

    Returns:
        (..., 3, 3).
    """
    q = quat_normalize(q)
    V = _skew(q[..., :3])
    R: Array = np.eye(3) + 2 * (q[..., 3, None, None] * V + V @ V)
    return R


def matrix_to_quat(R: npt.ArrayLike) -> Array:
    """The unit quaternion (x, y, z, w) of a rotation, with w >= 0.

    Args:
        R: (..., 3, 3), real.

    Returns:
        (..., 4). Where w is 0, the largest of x, y, z is positive.

    Raises:
        ValueError: R is not finite, not orthonormal to 1e-6, a reflection, or complex.
    """
    R = _group_element("R", R)
    if R.shape[-1] != 3:
        raise ValueError(f"R: expected shape (..., 3, 3), got {R.shape}")
    return _quat_of(R)


def quat_multiply(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """The Hamilton product: ``quat_to_matrix`` of it is the product of the two rotations.

    Args:
        a: (..., 4) as (x, y, z, w).
        b: (..., 4) as (x, y, z, w).

    Returns:
        (..., 4).
    """
    a, b = _array("a", a, (4,)), _array("b", b, (4,))
    a_v, a_w, b_v, b_w = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = a_w * b_v + b_w * a_v + np.cross(a_v, b_v)
    scalar = a_w * b_w - _dot(a_v, b_v)[..., None]
    return np.concatenate([vector, scalar], axis=-1)


def quat_exp(x: npt.ArrayLike) -> Array:
    """The unit quaternion (x, y, z, w) of a rotation vector: ``quat_to_matrix`` of it is exp(x).

    Args:
        x: (..., 3).

    Returns:
        (..., 4).
    """
    x = _array("x", x, (3,))
    c0, c1, *_ = stumpff(_dot(x, x)[..., None] / 4)
    return np.concatenate([x * (c1 / 2), c0], axis=-1)


def quat_log(q: npt.ArrayLike) -> Array:
    """The rotation vector, of length at most pi, of a quaternion (x, y, z, w) of any length.

    q and -q are the same rotation and give the same vector.

    Args:
        q: (..., 4), real, not zero.

    Returns:
        (..., 3).
    """
    q = _array("q", q, (4,))
    _require_real_finite("q", q)
    _require_nonzero_quat(q)
    q = _scaled(np.where(q[..., 3:] < 0, -q, q))
    n = np.sqrt(_dot(q[..., :3], q[..., :3]))[..., None]
    half_angle = np.arctan2(n, q[..., 3:])
    # n = 0 only where the vector part is too small to be squared: there, half_angle / n = 1 / w.
    ratio = np.where(n > 0, half_angle, 1.0) / np.where(n > 0, n, q[..., 3:])
    return 2 * ratio * q[..., :3]


def quat_normalize(q: npt.ArrayLike) -> Array:
    """The quaternion divided by its length.

    Args:
        q: (..., 4), not zero.

    Returns:
        (..., 4).
    """
    q = _array("q", q, (4,))
    _require_nonzero_quat(q)
    q = _scaled(q)
    unit: Array = q / np.sqrt(_dot(q, q))[..., None]
    return unit


def rpy_to_matrix(rpy: npt.ArrayLike) -> Array:
    """The rotation Rz(yaw) @ Ry(pitch) @ Rx(roll): URDF's fixed-axis roll, pitch, yaw.

    Args:
        rpy: (..., 3) angles (roll, pitch, yaw).

    Returns:
        (..., 3, 3).
    """
    rpy = _array("rpy", rpy, (3,))
    roll, pitch, yaw = (exp(rpy[..., i, None] * np.eye(3)[i]) for i in range(3))
    return yaw @ pitch @ roll


def _array(name: str, value: npt.ArrayLike, *trailing: tuple[int, ...]) -> Array:
    """Convert to float64 or complex128 and require one of the trailing shapes."""
    try:
        array = np.asarray(value)
        array = array.astype(complex if array.dtype.kind == "c" else float, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: expected an array of numbers, got {value!r}") from error
    if not any(array.shape[-len(t) :] == t for t in trailing):
        expected = " or ".join("(..., " + ", ".join(map(str, t)) + ")" for t in trailing)
        raise ValueError(f"{name}: expected shape {expected}, got {array.shape}")
    return array


def _group_element(name: str, value: npt.ArrayLike) -> Array:
    """Convert and require a real rotation or pose, to 1e-6."""
    T = _array(name, value, *_GROUP)
    _require_real_finite(name, T)
    R = T[..., :3, :3]
    error = np.max(np.abs(R @ R.swapaxes(-1, -2) - np.eye(3)), initial=0.0)
    if error > _ROTATION_TOLERANCE:
        raise ValueError(f"{name}: expected orthonormal rotations, off by {error:.1e}")
    if (np.linalg.det(R) < 0).any():
        raise ValueError(f"{name}: expected rotations of determinant 1, got a reflection")
    if T.shape[-1] == 4 and (np.abs(T[..., 3, :] - [0, 0, 0, 1]) > _ROTATION_TOLERANCE).any():
        raise ValueError(f"{name}: expected poses with the last row (0, 0, 0, 1)")
    return T


def _require_real_finite(name: str, array: Array) -> None:
    if np.iscomplexobj(array):
        raise ValueError(f"{name}: expected real numbers, got {array.dtype}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite numbers, got NaN or infinity")


def _require_nonzero_quat(q: Array) -> None:
    if (q.real == 0).all(axis=-1).any():
        raise ValueError("q: expected nonzero quaternions (x, y, z, w), got (0, 0, 0, 0)")


def _scaled(q: Array) -> Array:
    """Divide by the largest component, so that squares neither underflow nor overflow."""
    out: Array = q / np.max(np.abs(q.real), axis=-1, keepdims=True)
    return out


def _dot(a: Array, b: Array) -> Array:
    """The dot product without complex conjugation."""
    total: Array = (a * b).sum(axis=-1)
    return total


def _squared_angle(x: Array) -> Array:
    """The squared rotation angle of x, of shape (..., 1, 1) to scale matrices."""
    return _dot(x[..., :3], x[..., :3])[..., None, None]


def _skew(w: Array) -> Array:
    out = np.zeros((*w.shape, 3), w.dtype)
    out[..., 2, 1], out[..., 1, 2] = w[..., 0], -w[..., 0]
    out[..., 0, 2], out[..., 2, 0] = w[..., 1], -w[..., 1]
    out[..., 1, 0], out[..., 0, 1] = w[..., 2], -w[..., 2]
    return out


def _pose(R: Array, p: Array) -> Array:
    """Stack R (..., 3, 3) and the column p (..., 3, 1) into a pose."""
    out = np.zeros((*R.shape[:-2], 4, 4), np.result_type(R, p))
    out[..., :3, :3] = R
    out[..., :3, 3:] = p
    out[..., 3, 3] = 1
    return out


def _lower_triangular(diagonal: Array, lower: Array) -> Array:
    """The 6x6 matrix [[diagonal, 0], [lower, diagonal]]."""
    out = np.zeros((*diagonal.shape[:-2], 6, 6), diagonal.dtype)
    out[..., :3, :3] = out[..., 3:, 3:] = diagonal
    out[..., 3:, :3] = lower
    return out


def _ad_polynomial(x: Array, f1: Array | float, f2: Array, df1: Array | float, df2: Array) -> Array:
    """Evaluate I + f1(s) W + f2(s) W^2 for W = ad(x), with df1, df2 the derivatives by s = w.w.

    On SE(3), ad(w, v) is hat(w + eps v) with a dual unit eps, so the lower left block is the
    directional derivative along v of the SO(3) formula at w.
    """
    w, v = x[..., :3], x[..., 3:]
    W = _skew(w)
    W2 = W @ W
    rotation: Array = np.eye(3) + f1 * W + f2 * W2
    if x.shape[-1] == 3:
        return rotation
    V = _skew(v)
    ds = 2 * _dot(w, v)[..., None, None]
    return _lower_triangular(rotation, f1 * V + f2 * (W @ V + V @ W) + ds * (df1 * W + df2 * W2))


def _quat_of(R: Array) -> Array:
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
