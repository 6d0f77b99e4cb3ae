"""The worked example: an aerial manipulator with two arms (ali, Sec. 7, Tables 3 and 5).

Bodies are numbered 1 to 7 as in Fig. 2, and so are the rows of all arrays: row 0 is not used.
Frames sit at the centers of mass, unlike those of `jounce.models.aerial_manipulator`; spatial
quantities are the same in both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.lie import twists
from jounce.papers.ali.tree import home_screw
from jounce.papers.joints import apply

PARENT = {1: 0, 2: 1, 3: 2, 4: 3, 5: 1, 6: 5, 7: 6}
CHILDREN = {1: (2, 5), 2: (3,), 3: (4,), 4: (), 5: (6,), 6: (7,), 7: ()}
"""c(j), Sec. 7.1."""
PATHS = {2: (2,), 3: (2, 3), 4: (2, 3, 4), 5: (5,), 6: (5, 6), 7: (5, 6, 7)}
"""E_P(1, j): the joints between the base and body j, Sec. 7.1."""
_B, _D, _C = 0.10, 0.06, 0.18
_AXES = {2: (0, 1, 0), 3: (1, 0, 0), 4: (0, 0, 1), 5: (0, 1, 0), 6: (1, 0, 0), 7: (0, 0, 1)}
_G = np.array([0, 0, 0, 0, 0, -9.81])


class Kinematics3(NamedTuple):
    """Table 5(a); all (8, ...), row j for body j, in the inertial frame."""

    C: AnyArray
    """(8, 4, 4) poses."""
    S: AnyArray
    """(4, 8, 6) screws and their derivatives of order 1 to 3."""
    V: AnyArray
    """(3, 8, 6) twists and their derivatives of order 1 and 2."""
    M: AnyArray
    """(3, 8, 6, 6) spatial inertias and their derivatives of order 1 and 2 (E1, E2)."""
    Pi: AnyArray
    """(3, 8, 6) momenta and their derivatives of order 1 and 2."""


def table_5a(C_1: ArrayLike, V_1: ArrayLike, q: ArrayLike) -> Kinematics3:
    """Kinematics up to third order with the sums along the arms written out (ali, Table 5(a)).

    Args:
        C_1: (4, 4) pose of the base.
        V_1: (3, 6) spatial twist of the base and its derivatives of order 1 and 2.
        q: (4, 6) coordinates of joints 2 to 7 and their derivatives of order 1 to 3.
    """
    V_1, q = np.asarray(V_1), np.hstack([np.zeros((4, 2)), q])
    A, Y = _home()
    dtype = np.result_type(V_1, q, np.asarray(C_1))
    C, S, V = (np.zeros(s, dtype) for s in ((8, 4, 4), (4, 8, 6), (3, 8, 6)))
    C[1], V[:, 1] = C_1, V_1
    for j, path in PATHS.items():
        F = np.asarray(C_1)
        for i in path:
            F = F @ lie.exp(Y[i] * q[0, i])
        C[j] = F @ A[j]
        S[0, j] = lie.Ad(C[j] @ lie.inverse(A[j])) @ Y[j]
        V[0, j] = V_1[0] + sum(S[0, i] * q[1, i] for i in path)
        S[1, j] = lie.ad(V[0, j]) @ S[0, j]
        V[1, j] = V_1[1] + sum(S[0, i] * q[2, i] + S[1, i] * q[1, i] for i in path)
        S[2, j] = lie.ad(V[1, j]) @ S[0, j] + lie.ad(V[0, j]) @ S[1, j]
        V[2, j] = V_1[2] + sum(
            S[0, i] * q[3, i] + 2 * S[1, i] * q[2, i] + S[2, i] * q[1, i] for i in path
        )
        S[3, j] = (
            lie.ad(V[2, j]) @ S[0, j] + 2 * lie.ad(V[1, j]) @ S[1, j] + lie.ad(V[0, j]) @ S[2, j]
        )
    M, Pi = _inertias_and_momenta(C, V)
    return Kinematics3(C, S, V, M, Pi)


def _home() -> tuple[AnyArray, AnyArray]:
    """Home poses A_Bj^0 and screws Y_j (Sec. 7.1, Table 5(a), 0-th order)."""
    A, Y = np.tile(np.eye(4), (8, 1, 1)), np.zeros((8, 6))
    for j in PATHS:
        step = np.eye(4)
        step[:3, 3] = ((-1) ** j * _C / 2, 0, -_B - _D) if j in (2, 5) else (0, 0, -2 * _D)
        A[j] = A[PARENT[j]] @ step
        p = A[j] @ [0, 0, _D, 1]  # a point of the joint's axis, p_bar = (0, 0, d)
        Y[j] = home_screw(_AXES[j], p[:3])
    return A, Y


def _inertias_and_momenta(C: AnyArray, V: AnyArray) -> tuple[AnyArray, AnyArray]:
    M, Pi = np.zeros((3, 8, 6, 6), V.dtype), np.zeros((3, 8, 6), V.dtype)
    for j in range(1, 8):
        M_b = np.diag(
            [0.03, 0.03, 0.05, 2.5, 2.5, 2.5] if j == 1 else [0.002, 0.002, 0.001] + 3 * [0.25]
        )
        X = lie.Ad(lie.inverse(C[j]))
        ad_V, ad_V_dot = lie.ad(V[0, j]), lie.ad(V[1, j])
        M[0, j] = X.T @ M_b @ X
        M[1, j] = -M[0, j] @ ad_V - ad_V.T @ M[0, j]
        M[2, j] = -M[1, j] @ ad_V - ad_V.T @ M[1, j] - M[0, j] @ ad_V_dot - ad_V_dot.T @ M[0, j]
        Pi[0, j] = M[0, j] @ V[0, j]
        Pi[1, j] = M[0, j] @ V[1, j] + M[1, j] @ V[0, j]
        Pi[2, j] = M[0, j] @ V[2, j] + 2 * M[1, j] @ V[1, j] + M[2, j] @ V[0, j]
    return M, Pi


class Table5b(NamedTuple):
    """Forces of order 0 and 1 (ali, Table 5(b))."""

    W_prop: AnyArray
    """(2, 6) body-fixed base wrench and its component-wise derivative."""
    tau: AnyArray
    """(2, 6) forces of joints 2 to 7 and their derivatives."""


def table_5b(k: Kinematics3) -> Table5b:
    """Inverse dynamics of order 0 and 1 (ali, Table 5(b)), without applied wrenches.

    Args:
        k: the kinematics of `table_5a`.

    Returns:
        (2, 6) body-fixed base wrench W^B1_prop and its component-wise derivative, and (2, 6) forces
        of joints 2 to 7 and their derivatives.
    """
    Q, tau = np.zeros((2, 8, 6), k.V.dtype), np.zeros((2, 8), k.V.dtype)
    for j in (4, 3, 2, 7, 6, 5, 1):
        for r in range(2):
            Q[r, j] = k.Pi[r + 1, j] - k.M[r, j] @ _G + sum(Q[r, i] for i in CHILDREN[j])
        tau[0, j] = k.S[0, j] @ Q[0, j]
        tau[1, j] = k.S[1, j] @ Q[0, j] + k.S[0, j] @ Q[1, j]
    X = lie.Ad(k.C[1]).T
    W_prop = np.stack([X @ Q[0, 1], X @ (lie.ad(k.V[0, 1]).T @ Q[0, 1] + Q[1, 1])])
    return Table5b(W_prop, tau[:, 2:])


class Table5d(NamedTuple):
    """Accelerations of order 0 and 1 (ali, Table 5(c) and 5(d))."""

    V_1: AnyArray
    """(2, 6) derivatives of order 1 and 2 of the base's spatial twist."""
    q: AnyArray
    """(2, 6) derivatives of order 2 and 3 of the joint coordinates."""


def table_5c_5d(
    C_1: ArrayLike, V_1: ArrayLike, q: ArrayLike, W_prop: AnyArray, tau: AnyArray
) -> Table5d:
    """Forward dynamics of order 0 and 1 (ali, Table 5(c) and 5(d)), without applied wrenches.

    Args:
        C_1: (4, 4) pose of the base.
        V_1: (6,) spatial twist of the base.
        q: (2, 6) coordinates and rates of joints 2 to 7.
        W_prop: (2, 6) body-fixed base wrench and its component-wise derivative.
        tau: (2, 6) forces of joints 2 to 7 and their derivatives.

    Returns:
        (2, 6) derivatives of order 1 and 2 of the base's spatial twist, and (2, 6) derivatives of
        order 2 and 3 of the joint coordinates.
    """
    V_1 = np.asarray(V_1)
    W_0 = lie.Ad(lie.inverse(C_1)).T @ W_prop[0]
    motion = np.zeros((4, 6), np.result_type(V_1, np.asarray(q), W_prop, tau))
    twist = np.zeros((3, 6), motion.dtype)
    motion[:2], twist[0] = q, V_1
    k = table_5a(C_1, twist, motion)
    M_A = _articulated(k)
    own = apply(k.M[1], k.V[0]) - k.M[0] @ _G
    bias = k.S[1] * _column(motion[1])
    twist[1], motion[2], W_A, _ = _solve(k, M_A, own, bias, W_0, tau[0])
    k = table_5a(C_1, twist, motion)  # now with accelerations: S'' and M'' are right
    W_1 = lie.Ad(lie.inverse(C_1)).T @ W_prop[1] - lie.ad(V_1).T @ (M_A[1] @ twist[1] + W_A[1])
    own = 2 * apply(k.M[1], k.V[1]) + apply(k.M[2], k.V[0]) - k.M[1] @ _G
    bias = 2 * k.S[1] * _column(motion[2]) + k.S[2] * _column(motion[1])
    W = apply(M_A, k.V[1]) + W_A
    tau_tilde = np.einsum("ni,ni->n", k.S[1], W)[2:]
    twist[2], motion[3], _, _ = _solve(k, M_A, own, bias, W_1, tau[1] - tau_tilde)
    return Table5d(twist[1:], motion[2:])


def _column(rates: AnyArray) -> AnyArray:
    """Numbers of joints 2 to 7 as a column (8, 1)."""
    return np.concatenate([[0, 0], rates])[:, None]


def _articulated(k: Kinematics3) -> AnyArray:
    M_A: AnyArray = k.M[0].copy()
    for j in (4, 3, 2, 7, 6, 5):
        S, M = k.S[0, j], M_A[j].copy()
        M_A[PARENT[j]] += M - np.outer(M @ S, S @ M) / (S @ M @ S)
    return M_A


def _solve(
    k: Kinematics3, M_A: AnyArray, own: AnyArray, bias: AnyArray, W_prop: AnyArray, tau: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """Backward pass of Table 5(c), forward pass of 5(d): base and joint accelerations."""
    S, W_A, q = k.S[0], own.copy(), np.zeros(8, own.dtype)
    for j in (4, 3, 2, 7, 6, 5):
        q[j] = (tau[j - 2] - S[j] @ (M_A[j] @ bias[j] + W_A[j])) / (S[j] @ M_A[j] @ S[j])
        W_A[PARENT[j]] += W_A[j] + M_A[j] @ (S[j] * q[j] + bias[j])
    V = bias.copy()
    V[1] = np.linalg.solve(M_A[1], W_prop - W_A[1])
    for j in (2, 3, 4, 5, 6, 7):
        q[j] -= S[j] @ M_A[j] @ V[PARENT[j]] / (S[j] @ M_A[j] @ S[j])
        V[j] += V[PARENT[j]] + S[j] * q[j]
    return V[1], q[2:], W_A, V


def propeller_wrench(
    speeds: ArrayLike,
    a: float,
    alpha: ArrayLike,
    beta: ArrayLike,
    c_f: float,
    c_d: ArrayLike,
) -> AnyArray:
    """Body-fixed wrench of six tilted propellers (ali, Sec. 7.1).

    Deviation: the paper has the same tilt and drag for all propellers. Then the map from squared
    speeds to the wrench has rank 3, so that the base is not fully actuated; tilts must alternate in
    sign. Each of alpha, beta and c_d may hence be six numbers.

    Args:
        speeds: (6,) propeller speeds, rad/s.
        a: distance from the base's center, m.
        alpha: tilt about the arm, rad.
        beta: tilt about the axis across it, rad.
        c_f: thrust coefficient.
        c_d: drag coefficient.

    Returns:
        (6,) sum over i of Ad(C_i)^-T (0, 0, c_d, 0, 0, c_f) speed_i^2.
    """
    x, y, z = np.eye(3)
    columns = (np.broadcast_to(c, 6) for c in (speeds, alpha, beta, c_d))
    total = np.zeros(6)
    for i, (speed, tilt_x, tilt_y, drag) in enumerate(zip(*columns, strict=True), 1):
        arm = lie.exp((2 - i) * np.pi / 3 * z)
        C = np.eye(4)
        C[:3, :3] = arm @ lie.exp(tilt_x * x) @ lie.exp(tilt_y * y)
        C[:3, 3] = arm @ (a * x)
        local = np.array([0, 0, drag, 0, 0, c_f]) * speed**2
        total = total + lie.Ad(lie.inverse(C)).T @ local
    return total


class Reference(NamedTuple):
    """The motion that Fig. 3 shows (ali, Table 3)."""

    C_1: AnyArray
    """(4, 4) pose of the base."""
    V_1: AnyArray
    """(orders, 6) its spatial twist and derivatives."""
    q: AnyArray
    """(orders+1, 6) joint coordinates and their derivatives."""


def reference_trajectory(t: float, orders: int) -> Reference:
    """Base pose, base twist and joint motion that Fig. 3 shows (ali, Table 3).

    The base flies a circle of radius 1 m in 20 s and yaws by 25 degrees with a period of 30 s;
    the joints follow half cosines of 30 s.

    Args:
        t: time, s.
        orders: number of twist derivatives, with the twist itself.

    Returns:
        C_1 (4, 4), V_1 (orders, 6) spatial twist and its derivatives, and joint coordinates with
        their derivatives (orders+1, 6).
    """
    k = np.arange(orders + 1)[:, None]
    circle, yaw_rate, sweep = 2 * np.pi / 20, 2 * np.pi / 30, np.pi / 30
    yaw = np.deg2rad(25) * yaw_rate**k * np.sin(yaw_rate * t + k * np.pi / 2)
    p = circle**k * np.cos(circle * t + k * np.pi / 2 - [0, np.pi / 2, 0]) * [1, 1, 0]
    hybrid = np.hstack([0 * yaw, 0 * yaw, yaw, p])[1:]
    C_1 = np.eye(4)
    C_1[:3, :3], C_1[:3, 3] = lie.exp(np.array([0, 0, yaw[0, 0]])), p[0]
    start, reach = np.deg2rad([10, -5, 15, -10, 7, -12]), np.deg2rad([60, 50, 40, 55, 45, 35])
    q = -reach / 2 * sweep**k * np.cos(sweep * t + k * np.pi / 2)
    q[0] += start + reach / 2
    return Reference(C_1, twists.convert_series(hybrid, C_1, "hybrid", "spatial"), q)
