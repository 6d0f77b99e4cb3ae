"""What the paper announces for all four representations and leaves to be written out.

Sec. 5.1 ends with the remark that the block triangular Jacobian gives an O(n) forward dynamics in
any representation; Sec. 4 and 6.3 leave forward dynamics and time derivatives in the other
representations to further work. Here is forward dynamics in each of them, and inverse dynamics of
any order in the hybrid and the mixed one. (The body-fixed one is `inverse_dynamics_series`, the
spatial one is Algorithm 2 of ali.)

Time derivatives are those of components; a series has the order as its first axis.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray
from jounce.model import Model, inertia
from jounce.papers.joints import spans
from jounce.papers.mueller.geometry import (
    configurations,
    inertia_matrices,
    joint_screws,
    relative_configurations,
    scatter_wrenches,
)
from jounce.papers.mueller.kinematics import check, matrix_X, representation
from jounce.papers.mueller.newton_euler import hybrid_inertia, spatial_inertia
from jounce.papers.mueller.recursions import (
    _transfers,
    applied_wrenches,
    body_wrenches,
    forward_kinematics,
)

__all__ = ["forward_dynamics", "hybrid_series", "mixed_series"]


def forward_dynamics(
    model: Model,
    q: AnyArray,
    v: AnyArray,
    tau: AnyArray,
    f_ext: AnyArray | None = None,
    twist: str = "body",
) -> AnyArray:
    """Accelerations by the articulated-body recursion in one of the four representations, (nv,).

    With b_i the wrench that body i needs at a = 0 (eq. 41, 38, 53, 56-57) and x_i what a adds to
    its acceleration, ``x_i = A_i x_p + X_i a_i`` and ``W_i = M_i x_i + b_i + sum A_k^T W_k``. The
    joints are eliminated from the tips inward.

    Args:
        model: the robot.
        q: (nq,) coordinates.
        v: (nv,) rates.
        tau: (nv,) generalized forces.
        f_ext: (n_bodies, 6) applied wrenches, body-fixed whatever the representation.
        twist: representation the recursion runs in.
    """
    check(twist)
    motion = forward_kinematics(model, q, v, np.zeros(model.nv), twist)
    M = _inertias(model, motion.C, twist)
    b = body_wrenches(model, motion, twist) - applied_wrenches(model, motion.C, f_ext, twist)
    transfer = _transfers(model, q, motion.C, twist)  # A_i^T
    parent, joint = model.nodes.parent, spans(model.nodes.v_index, model.nv)
    U: dict[int, AnyArray] = {}
    D: dict[int, AnyArray] = {}
    u: dict[int, AnyArray] = {}
    for i in range(len(b) - 1, -1, -1):
        X = motion.screws[:, joint[i]]
        U[i] = M[i] @ X
        D[i] = np.linalg.inv(X.T @ U[i] + np.diag(model.armature[joint[i]]))
        u[i] = np.asarray(tau)[joint[i]] - X.T @ b[i]
        p = parent[i]
        if p >= 0:
            M[p] += transfer[i] @ (M[i] - U[i] @ D[i] @ U[i].T) @ transfer[i].T
            b[p] += transfer[i] @ (b[i] + U[i] @ (D[i] @ u[i]))
    x = np.zeros_like(b)
    a = np.zeros(model.nv, b.dtype)
    for i, p in enumerate(parent):
        carried = transfer[i].T @ x[p] if p >= 0 else np.zeros(6)
        a[joint[i]] = D[i] @ (u[i] - U[i].T @ carried)
        x[i] = carried + motion.screws[:, joint[i]] @ a[joint[i]]
    return a


def _inertias(model: Model, C: AnyArray, twist: str) -> AnyArray:
    """Inertias (n, 6, 6) that turn accelerations of the representation into wrenches."""
    M = inertia_matrices(model)
    if twist == "spatial":
        return spatial_inertia(M, C)
    if twist == "hybrid":
        return hybrid_inertia(M, C[:, :3, :3])
    if twist == "body":
        return M.copy()
    T = representation(C, "mixed")  # orthogonal
    out: AnyArray = T @ M @ np.swapaxes(T, -1, -2)
    return out


def _leibniz(operation: Callable[..., AnyArray], x: AnyArray, y: AnyArray, k: int) -> AnyArray:
    """Derivative of order k of a product."""
    total: AnyArray = sum(comb(k, c) * operation(x[c], y[k - c]) for c in range(k + 1))  # type: ignore[assignment]
    return total


def _times(A: AnyArray, x: AnyArray) -> AnyArray:
    product: AnyArray = A @ x
    return product


def _turned_back(A: AnyArray, x: AnyArray) -> AnyArray:
    product: AnyArray = A.T @ x
    return product


def _cross(x: AnyArray, y: AnyArray) -> AnyArray:
    product: AnyArray = lie.hat(x) @ y
    return product


class _Series(NamedTuple):
    """Derivatives of all bodies' motions, the order first."""

    R: AnyArray
    """(K, n, 3, 3) rotations."""
    r: AnyArray
    """(K, n, 3) positions of the frames."""
    w: AnyArray
    """(K, n, 3) angular velocities: in world axes (hybrid) or in body axes (mixed)."""
    v: AnyArray
    """(K, n, 3) velocities of the frames, in world axes."""


def _start(model: Model, q: AnyArray, motion: AnyArray) -> tuple[AnyArray, _Series]:
    """Joint twists X_i v_i and their derivatives, (K, n, 6), and series to be filled."""
    C, K = configurations(model, q), len(motion)
    n = len(C)
    s = (matrix_X(model, joint_screws(model)) @ motion.T).T.reshape(K, n, 6)
    dtype = np.result_type(C, s)
    R = np.zeros((K, n, 3, 3), dtype)
    r, w, v = (np.zeros((K, n, 3), dtype) for _ in range(3))
    R[0], r[0] = C[:, :3, :3], C[:, :3, 3]
    return s, _Series(R, r, w, v)


def hybrid_series(
    model: Model, q: AnyArray, motion: AnyArray, f_ext: AnyArray | None = None
) -> AnyArray:
    """Inverse dynamics and its time derivatives in hybrid form, (r+1, nv): eq. 75, 76 of order r.

    The inertia turns with the body, dTheta/dt = [w, Theta] and dd/dt = w x d, and so does the
    screw; wrenches are shifted by the series of r_i - r_p.

    Args:
        model: the robot.
        q: (nq,) coordinates.
        motion: (r+2, nv) rates and their derivatives of order 1 to r+1.
        f_ext: (r+1, n_bodies, 6) applied wrenches, body-fixed, and their derivatives.
    """
    s, x = _start(model, q, motion)
    R, r, w, v = x
    parent = model.nodes.parent
    for k in range(len(motion)):
        for i, p in enumerate(parent):
            if k:
                R[k, i] = _leibniz(_cross, w[:, i], R[:, i], k - 1)
                r[k, i] = v[k - 1, i]
            w[k, i] = _leibniz(_times, R[:, i], s[:, i, :3], k)
            v[k, i] = _leibniz(_times, R[:, i], s[:, i, 3:], k)
            if p >= 0:
                w[k, i] += w[k, p]
                v[k, i] += v[k, p] + _leibniz(_cross, w[:, p], r[:, i] - r[:, p], k)
    W = _hybrid_wrenches(model, x, f_ext)
    for i in range(len(parent) - 1, -1, -1):
        p = parent[i]
        for k in range(len(W) if p >= 0 else 0):
            W[k, p] += W[k, i]
            W[k, p, :3] += _leibniz(_cross, r[:, i] - r[:, p], W[:, i, 3:], k)
    return _projected(model, R, W, motion, both=True)


def _hybrid_wrenches(model: Model, x: _Series, f_ext: AnyArray | None) -> AnyArray:
    """Rate of momentum less applied wrenches at the frames, in world axes, (r+1, n, 6)."""
    R, _, w, v = x
    m, c, _ = inertia.about_com(model.nodes.parameters)
    theta_b = inertia.rotational(model.nodes.parameters)
    K, n = w.shape[:2]
    W = np.zeros((K - 1, n, 6), w.dtype)
    applied = _applied(model, f_ext, K - 1, w.dtype)
    for i in range(n):
        d = np.zeros((K, 3), w.dtype)
        theta = np.zeros((K, 3, 3), w.dtype)
        d[0], theta[0] = R[0, i] @ c[i], R[0, i] @ theta_b[i] @ R[0, i].T
        for k in range(K - 1):
            d[k + 1] = _leibniz(_cross, w[:, i], d, k)
            theta[k + 1] = _leibniz(lambda a, b: lie.hat(a) @ b - b @ lie.hat(a), w[:, i], theta, k)
        P = np.array([m[i] * (v[k, i] + _leibniz(_cross, w[:, i], d, k)) for k in range(K)])
        H = np.array(
            [
                _leibniz(_times, theta, w[:, i], k) + m[i] * _leibniz(_cross, d, v[:, i], k)
                for k in range(K)
            ]
        )
        for k in range(K - 1):
            W[k, i, 3:] = P[k + 1] - _leibniz(_times, R[:, i], applied[:, i, 3:], k)
            W[k, i, :3] = H[k + 1] + _leibniz(_cross, v[:, i], P, k)
            W[k, i, :3] -= _leibniz(_times, R[:, i], applied[:, i, :3], k)
            W[k, i, :3] -= m[i] * lie.hat(d[k]) @ model.gravity
        W[0, i, 3:] -= m[i] * model.gravity
    return W


def mixed_series(
    model: Model, q: AnyArray, motion: AnyArray, f_ext: AnyArray | None = None
) -> AnyArray:
    """Inverse dynamics and its time derivatives in mixed form, (r+1, nv): eq. 56, 57 of order r.

    Angular velocities and moments are in body axes, where the inertia is constant; velocities and
    forces are in world axes.

    Args:
        model: the robot.
        q: (nq,) coordinates.
        motion: (r+2, nv) rates and their derivatives of order 1 to r+1.
        f_ext: (r+1, n_bodies, 6) applied wrenches, body-fixed, and their derivatives.
    """
    s, x = _start(model, q, motion)
    R, r, w, v = x
    parent = model.nodes.parent
    E = _back_turns(model, q, s)
    for k in range(len(motion)):
        for i, p in enumerate(parent):
            if k:
                R[k, i] = _leibniz(lambda a, b: a @ lie.hat(b), R[:, i], w[:, i], k - 1)
                r[k, i] = v[k - 1, i]
            w[k, i] = s[k, i, :3]
            v[k, i] = _leibniz(_times, R[:, i], s[:, i, 3:], k)
            if p >= 0:
                w[k, i] += _leibniz(_times, E[:, i], w[:, p], k)
                turning = np.array([_leibniz(_times, R[:, p], w[:, p], c) for c in range(k + 1)])
                v[k, i] += v[k, p] + _leibniz(_cross, turning, r[:, i] - r[:, p], k)
    W = _mixed_wrenches(model, x, f_ext)
    for i in range(len(parent) - 1, -1, -1):
        p = parent[i]
        if p < 0:
            continue
        orders = range(len(W))
        shift = np.array([_leibniz(_cross, r[:, i] - r[:, p], W[:, i, 3:], k) for k in orders])
        for k in orders:
            W[k, p, 3:] += W[k, i, 3:]
            W[k, p, :3] += _leibniz(_turned_back, E[:, i], W[:, i, :3], k)
            W[k, p, :3] += _leibniz(_turned_back, R[:, p], shift, k)
    return _projected(model, R, W, motion, both=False)


def _back_turns(model: Model, q: AnyArray, s: AnyArray) -> AnyArray:
    """Rotations from the parent's axes to the body's and their derivatives, E' = -w_J x E."""
    E = np.zeros((*s.shape[:2], 3, 3), s.dtype)
    E[0] = np.swapaxes(relative_configurations(model, q)[:, :3, :3], -1, -2)
    for k in range(len(s) - 1):
        for i in range(s.shape[1]):
            E[k + 1, i] = -_leibniz(_cross, s[:, i, :3], E[:, i], k)
    return E


def _mixed_wrenches(model: Model, x: _Series, f_ext: AnyArray | None) -> AnyArray:
    """Moments in body axes and forces in world axes, less applied ones, (r+1, n, 6)."""
    R, _, w, v = x
    m, c, _ = inertia.about_com(model.nodes.parameters)
    theta = inertia.rotational(model.nodes.parameters)
    K, n = w.shape[:2]
    W = np.zeros((K - 1, n, 6), w.dtype)
    applied = _applied(model, f_ext, K - 1, w.dtype)
    for i in range(n):
        wi, orders = w[:, i], range(K - 1)
        free = v[1:, i].copy()  # r'' less gravity
        free[0] -= model.gravity
        spin = np.array([_leibniz(_cross, wi, wi @ theta[i].T, k) for k in orders])
        swing = np.array([lie.hat(wi[k]) @ c[i] for k in range(K)])
        around = np.array([swing[k + 1] + _leibniz(_cross, wi, swing, k) for k in orders])
        for k in orders:
            W[k, i, :3] = theta[i] @ wi[k + 1] + spin[k] - applied[k, i, :3]  # (56)
            W[k, i, :3] += m[i] * lie.hat(c[i]) @ _leibniz(_turned_back, R[:, i], free, k)
            W[k, i, 3:] = m[i] * (free[k] + _leibniz(_times, R[:, i], around, k))  # (57)
            W[k, i, 3:] -= _leibniz(_times, R[:, i], applied[:, i, 3:], k)
    return W


def _applied(model: Model, f_ext: AnyArray | None, orders: int, dtype: object) -> AnyArray:
    """Applied wrenches of all nodes, body-fixed, (r+1, n, 6), without gravity."""
    given = [None] * orders if f_ext is None else f_ext
    return np.array([scatter_wrenches(model, w, dtype) for w in given])


def _projected(model: Model, R: AnyArray, W: AnyArray, motion: AnyArray, both: bool) -> AnyArray:
    """Joint forces: the turned screws times the wrenches; `both` turns the angular parts, too."""
    Q = np.zeros((len(W), model.nv), W.dtype)
    for i, k in enumerate(spans(model.nodes.v_index, model.nv)):
        screws = model.nodes.screws[:, k]
        for order in range(len(W)):
            force = _leibniz(_turned_back, R[:, i], W[:, i, 3:], order)
            moment = W[order, i, :3]
            if both:
                moment = _leibniz(_turned_back, R[:, i], W[:, i, :3], order)
            Q[order, k] = screws[:3].T @ moment + screws[3:].T @ force
    out: AnyArray = Q + model.armature * motion[1:]
    return out
