"""The functions of `jounce.lie` in NumPy, for complex numbers.

They are the reference for the compiled ones, which take real numbers. All of them are analytic in
their arguments, so that a complex step through them gives exact derivatives.
"""

from __future__ import annotations

import numpy as np

from jounce._types import AnyArray, ArrayLike
from jounce.lie._checks import ALGEBRA, GROUP, array, require_nonzero_quat
from jounce.lie._trig import cotangent, stumpff


def hat(x: ArrayLike) -> AnyArray:
    x = array("x", x, *ALGEBRA)
    if x.shape[-1] == 3:
        return _skew(x)
    out = np.zeros((*x.shape[:-1], 4, 4), x.dtype)
    out[..., :3, :3] = _skew(x[..., :3])
    out[..., :3, 3] = x[..., 3:]
    return out


def vee(X: ArrayLike) -> AnyArray:
    X = array("X", X, *GROUP)
    i, j = [2, 0, 1], [1, 2, 0]
    w = X[..., i, j] - X[..., j, i]
    return w / 2 if X.shape[-1] == 3 else np.concatenate([w / 2, X[..., :3, 3]], axis=-1)


def ad(x: ArrayLike) -> AnyArray:
    x = array("x", x, *ALGEBRA)
    W = _skew(x[..., :3])
    return W if x.shape[-1] == 3 else _lower_triangular(W, _skew(x[..., 3:]))


def exp(x: ArrayLike) -> AnyArray:
    x = array("x", x, *ALGEBRA)
    W = _skew(x[..., :3])
    _, c1, c2, c3, _, _ = stumpff(_squared_angle(x))
    R: AnyArray = np.eye(3) + c1 * W + c2 * (W @ W)
    if x.shape[-1] == 3:
        return R
    v = x[..., 3:, None]
    Wv = W @ v
    return _pose(R, v + c2 * Wv + c3 * (W @ Wv))


def inverse(T: ArrayLike) -> AnyArray:
    T = array("T", T, *GROUP)
    R_inverse = T[..., :3, :3].swapaxes(-1, -2)
    if T.shape[-1] == 3:
        return np.array(R_inverse)
    return _pose(R_inverse, -(R_inverse @ T[..., :3, 3:]))


def Ad(T: ArrayLike) -> AnyArray:
    T = array("T", T, *GROUP)
    if T.shape[-1] == 3:
        return np.array(T)
    R = T[..., :3, :3]
    return _lower_triangular(R, _skew(T[..., :3, 3]) @ R)


def dexp(x: ArrayLike) -> AnyArray:
    x = array("x", x, *ALGEBRA)
    _, _, c2, c3, c4, c5 = stumpff(_squared_angle(x))
    return _ad_polynomial(x, c2, c3, c4 - c3 / 2, (3 * c5 - c4) / 2)


def dexp_inv(x: ArrayLike) -> AnyArray:
    x = array("x", x, *ALGEBRA)
    e, e_prime = cotangent(_squared_angle(x))
    return _ad_polynomial(x, -0.5, e, 0.0, e_prime)


def rpy_to_matrix(rpy: ArrayLike) -> AnyArray:
    rpy = array("rpy", rpy, (3,))
    roll, pitch, yaw = (exp(rpy[..., i, None] * np.eye(3)[i]) for i in range(3))
    return yaw @ pitch @ roll


def quat_to_matrix(q: ArrayLike) -> AnyArray:
    q = quat_normalize(q)
    V = _skew(q[..., :3])
    R: AnyArray = np.eye(3) + 2 * (q[..., 3, None, None] * V + V @ V)
    return R


def quat_multiply(a: ArrayLike, b: ArrayLike) -> AnyArray:
    a, b = array("a", a, (4,)), array("b", b, (4,))
    a_v, a_w, b_v, b_w = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = a_w * b_v + b_w * a_v + np.cross(a_v, b_v)
    scalar = a_w * b_w - _dot(a_v, b_v)[..., None]
    return np.concatenate([vector, scalar], axis=-1)


def quat_exp(x: ArrayLike) -> AnyArray:
    x = array("x", x, (3,))
    c0, c1, *_ = stumpff(_dot(x, x)[..., None] / 4)
    return np.concatenate([x * (c1 / 2), c0], axis=-1)


def quat_normalize(q: ArrayLike) -> AnyArray:
    q = array("q", q, (4,))
    require_nonzero_quat(q)
    scaled = q / np.max(np.abs(q.real), axis=-1, keepdims=True)
    unit: AnyArray = scaled / np.sqrt(_dot(scaled, scaled))[..., None]
    return unit


def _dot(a: AnyArray, b: AnyArray) -> AnyArray:
    """The dot product without complex conjugation."""
    total: AnyArray = (a * b).sum(axis=-1)
    return total


def _skew(w: AnyArray) -> AnyArray:
    """The cross product matrix."""
    out = np.zeros((*w.shape, 3), w.dtype)
    out[..., 2, 1], out[..., 1, 2] = w[..., 0], -w[..., 0]
    out[..., 0, 2], out[..., 2, 0] = w[..., 1], -w[..., 1]
    out[..., 1, 0], out[..., 0, 1] = w[..., 2], -w[..., 2]
    return out


def _lower_triangular(diagonal: AnyArray, lower: AnyArray) -> AnyArray:
    """The 6x6 matrix [[diagonal, 0], [lower, diagonal]]."""
    out = np.zeros((*diagonal.shape[:-2], 6, 6), diagonal.dtype)
    out[..., :3, :3] = out[..., 3:, 3:] = diagonal
    out[..., 3:, :3] = lower
    return out


def _squared_angle(x: AnyArray) -> AnyArray:
    """The squared rotation angle of x, of shape (..., 1, 1) to scale matrices."""
    return _dot(x[..., :3], x[..., :3])[..., None, None]


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
    W = _skew(w)
    W2 = W @ W
    rotation: AnyArray = np.eye(3) + f1 * W + f2 * W2
    if x.shape[-1] == 3:
        return rotation
    V = _skew(v)
    ds = 2 * _dot(w, v)[..., None, None]
    return _lower_triangular(rotation, f1 * V + f2 * (W @ V + V @ W) + ds * (df1 * W + df2 * W2))
