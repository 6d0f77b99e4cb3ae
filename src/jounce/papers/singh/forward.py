"""Forward dynamics and its partial derivatives (singh, eq. 3 to 5, Sec. IV-E, Table II).

The articulated-body recursion runs in body coordinates, for joints with up to six rates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.errors import ArgumentError
from jounce.model import Model, inertia
from jounce.papers.joints import apply, joint_poses, spans, transposed
from jounce.papers.singh.ground import bar, cross, cross_dual
from jounce.papers.singh.inverse import IDSVA, RNEACR, Partials

__all__ = [
    "ABA",
    "ABACR",
    "AZA",
    "DMM",
    "FDCR",
    "FDSVA",
    "Articulated",
    "ForwardPartials",
    "articulated",
    "inverse_mass_matrix",
]


class Articulated(NamedTuple):
    """Kinematics and articulated inertias, computed once and used for every right-hand side.

    Leading axes of the coordinates follow the axis of bodies.
    """

    model: Model
    parent: list[int]
    joint: list[slice]
    X: AnyArray
    """(N, 6, 6) ``^i X_lambda(i)``."""
    U: list[AnyArray]
    """``I_i^A S_i``, (6, n_i)."""
    D_inv: list[AnyArray]
    """Inverse of ``S_i^T U_i`` (with rotor inertias), (n_i, n_i)."""
    I_a: list[AnyArray]
    """Apparent inertia ``I_i^A - U_i D_i^-1 U_i^T``, (6, 6)."""


def articulated(model: Model, q: ArrayLike) -> Articulated:
    """Factor the mass matrix: the part of ABA that depends on q only (singh, Sec. IV-E)."""
    parent, joint = [int(p) for p in model.nodes.parent], spans(model.nodes.v_index, model.nv)
    N = len(parent)
    X = lie.Ad(lie.inverse(np.moveaxis(joint_poses(model, q), -3, 0)))
    I_A = np.zeros((N + 1, *X.shape[1:]), X.dtype)
    for i, I_body in enumerate(inertia.matrix(model.nodes.parameters)):
        I_A[i] = I_body
    empty: list[AnyArray] = [np.zeros(0)] * N
    U, D_inv, I_a = empty.copy(), empty.copy(), empty.copy()
    for i in range(N - 1, -1, -1):
        S = model.nodes.screws[:, joint[i]]
        U[i] = I_A[i] @ S
        D_inv[i] = np.linalg.inv(S.T @ U[i] + np.diag(model.armature[joint[i]]))
        I_a[i] = I_A[i] - U[i] @ D_inv[i] @ transposed(U[i])
        I_A[parent[i]] += transposed(X[i]) @ I_a[i] @ X[i]
    return Articulated(model, parent, joint, X, U, D_inv, I_a)


def _solve(A: Articulated, b: AnyArray, c: AnyArray, p: AnyArray, a_0: AnyArray) -> AnyArray:
    """Run ABA's last two passes for m right-hand sides b (..., n, m).

    Args:
        A: from `articulated`.
        b: (..., n, m) joint forces.
        c: (N, ..., 6, 1) velocity-product accelerations.
        p: (N + 1, ..., 6, 1) bias forces; the last belongs to the ground.
        a_0: (6, 1) acceleration of the ground.
    """
    N, screws = len(A.parent), A.model.nodes.screws
    dtype = np.result_type(A.X, b, p)
    lead = np.broadcast_shapes(A.X.shape[1:-2], b.shape[:-2], p.shape[1:-2])
    p = p + np.zeros((N + 1, *lead, 6, b.shape[-1]), dtype)
    a = np.zeros_like(p)
    a[-1] = a_0
    u, out = (np.zeros((*lead, *b.shape[-2:]), dtype) for _ in range(2))
    for i in range(N - 1, -1, -1):
        k = A.joint[i]
        u_i = u[..., k, :] = b[..., k, :] - screws[:, k].T @ p[i]
        p_a = p[i] + A.I_a[i] @ c[i] + A.U[i] @ A.D_inv[i] @ u_i
        p[A.parent[i]] += transposed(A.X[i]) @ p_a
    for i in range(N):
        k = A.joint[i]
        a[i] = A.X[i] @ a[A.parent[i]] + c[i]
        out[..., k, :] = A.D_inv[i] @ (u[..., k, :] - transposed(A.U[i]) @ a[i])
        a[i] += screws[:, k] @ out[..., k, :]
    return out


def ABA(model: Model, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> AnyArray:
    """Forward dynamics, qdd (..., n) (singh, eq. 4, 33), with the model's gravity and rotors."""
    qd, tau = np.asarray(qd), np.asarray(tau)
    A = articulated(model, q)
    N = len(A.parent)
    I_body = inertia.matrix(model.nodes.parameters)
    dtype = np.result_type(A.X, qd)
    lead = np.broadcast_shapes(A.X.shape[1:-2], qd.shape[:-1])
    v, p = (np.zeros((N + 1, *lead, 6), dtype) for _ in range(2))
    c = np.zeros((N, *lead, 6), dtype)
    for i in range(N):
        v_J = apply(model.nodes.screws[:, A.joint[i]], qd[..., A.joint[i]])
        v[i] = apply(A.X[i], v[A.parent[i]]) + v_J
        c[i] = apply(cross(v[i]), v_J)
        p[i] = apply(cross_dual(v[i]) @ I_body[i], v[i])
    a_0 = np.concatenate([np.zeros(3), -model.gravity])
    return _solve(A, tau[..., None], c[..., None], p[..., None], a_0[:, None])[..., 0]


def AZA(A: Articulated, b: ArrayLike) -> AnyArray:
    """``M^-1 b = ABA(q, 0, b, 0)`` for the columns of b (n, m), O(N m) (singh, eq. 34)."""
    N = len(A.parent)
    zero = np.zeros((6, 1))
    return _solve(A, np.asarray(b), np.zeros((N, 6, 1)), np.zeros((N + 1, 6, 1)), zero)


def DMM(M_inv: AnyArray, b: ArrayLike) -> AnyArray:
    """``M^-1 b`` by direct matrix multiplication, O(N^3) for n columns (singh, Sec. IV-E)."""
    out: AnyArray = M_inv @ np.asarray(b)
    return out


def inverse_mass_matrix(model: Model, q: ArrayLike) -> AnyArray:
    """``M^-1``, (n, n): AZA of the identity. The paper takes it from its reference [25]."""
    return AZA(articulated(model, q), np.eye(model.nv))


class ForwardPartials(NamedTuple):
    """Partial derivatives of qdd with respect to q (tangent space), qd and tau, (n, n) each."""

    dq: AnyArray
    dqd: AnyArray
    dtau: AnyArray


def FDSVA(
    model: Model,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    method: str = "DMM",
) -> ForwardPartials:
    """Partial derivatives of forward dynamics through `IDSVA` and eq. 5 (singh, Sec. IV-E).

    Args:
        model: any tree.
        q: (nq,) coordinates.
        qd: (nv,) rates.
        tau: (nv,) generalized forces.
        method: how eq. 5 multiplies by M^-1: "DMM" or "AZA".
    """
    if method not in ("DMM", "AZA"):
        raise ArgumentError(f"method must be 'DMM' or 'AZA', got {method!r}")
    dID = IDSVA(model, q, qd, ABA(model, q, qd, tau))
    return _by_inverse_dynamics(model, q, dID, method)


def FDCR(model: Model, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> ForwardPartials:
    """Partial derivatives of forward dynamics through `RNEACR` and eq. 5 (singh, Table II)."""
    return _by_inverse_dynamics(model, q, RNEACR(model, q, qd, ABA(model, q, qd, tau)), "DMM")


def _by_inverse_dynamics(model: Model, q: ArrayLike, dID: Partials, method: str) -> ForwardPartials:
    """``dFD/du = -M^-1 dID/du`` (singh, eq. 5)."""
    n = model.nv
    A = articulated(model, q)
    M_inv = AZA(A, np.eye(n))
    dID_du = np.hstack(dID)
    dFD = -(DMM(M_inv, dID_du) if method == "DMM" else AZA(A, dID_du))
    return ForwardPartials(dFD[:, :n], dFD[:, n:], M_inv)


def ABACR(model: Model, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> ForwardPartials:
    """Partial derivatives of forward dynamics by the chain rule on ABA (singh, Table II).

    Forward accumulation in body coordinates: beside every quantity x of ABA runs dx, whose first
    axis is the direction in (q, qd, tau), m = 3n of them. The three passes are those of `ABA`.
    """
    A, n = articulated(model, q), model.nv
    c, dc, p, dp = _bias_by_chain_rule(A, np.asarray(qd))
    u, du, dU, dD_inv = _forces_by_chain_rule(A, np.asarray(tau), c, dc, p, dp)
    out = _accelerations_by_chain_rule(A, c, dc, u, du, dU, dD_inv)
    return ForwardPartials(out[:, :n], out[:, n : 2 * n], out[:, 2 * n :])


def _bias_by_chain_rule(
    A: Articulated, qd: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """First pass: accelerations c (N, 6) and forces p (N + 1, 6) of the velocities, dc, dp."""
    model, N, n = A.model, len(A.parent), A.model.nv
    I_body, dtype = inertia.matrix(model.nodes.parameters), np.result_type(A.X, qd)
    v, c, p = (np.zeros((N + 1, 6), dtype) for _ in range(3))
    dv, dc, dp = (np.zeros((N + 1, 3 * n, 6), dtype) for _ in range(3))
    for i in range(N):
        P, k = A.parent[i], A.joint[i]
        S, kd = model.nodes.screws[:, k], slice(n + k.start, n + k.stop)
        v_J, moved = S @ qd[k], A.X[i] @ v[P]
        v[i] = moved + v_J
        dv[i] = dv[P] @ A.X[i].T
        dv[i][k] += (cross(moved) @ S).T
        dv[i][kd] += S.T
        c[i] = cross(v[i]) @ v_J
        dc[i] = -dv[i] @ cross(v_J).T
        dc[i][kd] += (cross(v[i]) @ S).T
        h = I_body[i] @ v[i]
        p[i] = cross_dual(v[i]) @ h
        dp[i] = dv[i] @ (bar(h) + cross_dual(v[i]) @ I_body[i]).T
    return c, dc, p, dp


def _forces_by_chain_rule(
    A: Articulated, tau: AnyArray, c: AnyArray, dc: AnyArray, p: AnyArray, dp: AnyArray
) -> tuple[AnyArray, AnyArray, list[AnyArray], list[AnyArray]]:
    """Second pass, inward: what is left of the joint forces, u (n,); du, dU_i and dD_i^-1."""
    n, dtype = A.model.nv, np.result_type(p, tau)
    N, m, p, dp = len(A.parent), 3 * n, p.astype(dtype), dp.astype(dtype)
    u, du, dI = np.zeros(n, dtype), np.zeros((m, n), dtype), np.zeros((N + 1, m, 6, 6), dtype)
    empty: list[AnyArray] = [np.zeros(0)] * N
    dU, dD_inv = empty.copy(), empty.copy()
    for i in range(N - 1, -1, -1):
        P, k = A.parent[i], A.joint[i]
        S, U, D_inv, I_a = A.model.nodes.screws[:, k], A.U[i], A.D_inv[i], A.I_a[i]
        u[k] = tau[k] - S.T @ p[i]
        du[:, k] = -dp[i] @ S
        du[2 * n + k.start : 2 * n + k.stop, k] += np.eye(k.stop - k.start)
        dU[i] = dI[i] @ S
        dD_inv[i] = -D_inv @ (S.T @ dU[i]) @ D_inv
        half = dU[i] @ D_inv @ U.T
        dI_a = dI[i] - half - transposed(half) - U @ dD_inv[i] @ U.T
        p_a = p[i] + I_a @ c[i] + U @ D_inv @ u[k]
        dp_a = dp[i] + dI_a @ c[i] + dc[i] @ I_a.T + dU[i] @ (D_inv @ u[k])
        dp_a += (dD_inv[i] @ u[k] + du[:, k] @ D_inv.T) @ U.T
        dI_a[k] += cross_dual(S.T) @ I_a - I_a @ cross(S.T)
        dp_a[k] += (bar(p_a) @ S).T
        p[P] += A.X[i].T @ p_a
        dp[P] += dp_a @ A.X[i]
        dI[P] += A.X[i].T @ dI_a @ A.X[i]
    return u, du, dU, dD_inv


def _accelerations_by_chain_rule(
    A: Articulated,
    c: AnyArray,
    dc: AnyArray,
    u: AnyArray,
    du: AnyArray,
    dU: list[AnyArray],
    dD_inv: list[AnyArray],
) -> AnyArray:
    """Third pass, outward: dqdd (n, m)."""
    a, da = np.zeros(c.shape, u.dtype), np.zeros(dc.shape, u.dtype)
    a[-1, 3:] = -A.model.gravity
    out = np.zeros(du.T.shape, u.dtype)
    for i, (P, k) in enumerate(zip(A.parent, A.joint, strict=True)):
        S, U, D_inv, moved = A.model.nodes.screws[:, k], A.U[i], A.D_inv[i], A.X[i] @ a[P]
        a[i] = moved + c[i]
        da[i] = da[P] @ A.X[i].T + dc[i]
        da[i][k] += (cross(moved) @ S).T
        rest = u[k] - U.T @ a[i]
        d_rest = du[:, k] - da[i] @ U - transposed(dU[i]) @ a[i]
        out[k] = (dD_inv[i] @ rest + d_rest @ D_inv.T).T
        a[i] += S @ (D_inv @ rest)
        da[i] += (S @ out[k]).T
    return out
