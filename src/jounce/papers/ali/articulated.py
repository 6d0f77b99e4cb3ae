"""Higher-order forward and hybrid dynamics with articulated inertias (ali, Algorithms 3 and 4)."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from jounce._types import AnyArray, ArrayLike, Mask
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.papers.ali.derivatives import (
    applied_wrench,
    coadjoint_derivatives,
    coadjoint_rate,
    gravity_wrench,
    inertia_rate,
    momentum_bias,
    spatial_inertia,
)
from jounce.papers.ali.inverse import generalized_force, loads
from jounce.papers.ali.kinematics import (
    Series,
    add,
    positions,
    propagate,
    screw_rate,
    twist_bias,
    with_base,
)
from jounce.papers.ali.tree import Tree, initialize
from jounce.papers.joints import apply


class HybridDynamics(NamedTuple):
    """Result of Algorithms 3 and 4, inputs included; the first axis is the order, 0 to r."""

    V_1: AnyArray
    """(r+1, 6) derivatives of order 1 to r+1 of the base's spatial twist."""
    q: AnyArray
    """(r+1, n) derivatives of order 2 to r+2 of the joint coordinates."""
    W_prop: AnyArray
    """(r+1, 6) spatial wrench on the base (of the propellers, or of the ground)."""
    tau: AnyArray
    """(r+1, n) joint forces."""
    V: AnyArray
    """(r+1, N, 6) derivatives of order 1 to r+1 of all spatial twists."""
    M_A: AnyArray
    """(N, 6, 6) articulated inertias, the same at every order (Lemma 2)."""
    W_A: AnyArray
    """(r+1, N, 6) bias wrenches W^A_{j,r}: not the derivatives of W^A_{j,0}."""


def forward_dynamics(
    model: Model | Tree,
    C_1: ArrayLike,
    V_1: ArrayLike,
    q: ArrayLike,
    W_prop: ArrayLike | None,
    tau: ArrayLike,
    W_b: ArrayLike | None = None,
    tau_ext: ArrayLike | None = None,
) -> HybridDynamics:
    """Accelerations and their derivatives from base wrench and joint forces (ali, Algorithm 3).

    It is Algorithm 4 with J_q empty and the base wrench given, line by line, so it is called so.

    Args:
        model: the robot, or its `Tree`.
        C_1: (4, 4) pose of the base.
        V_1: (6,) spatial twist of the base.
        q: (2, n) joint coordinates and rates.
        W_prop: (r+1, 6) spatial base wrench and its derivatives; None for a fixed base, which
            stays at rest.
        tau: (r+1, n) joint forces and their derivatives.
        W_b: (r+1, N, 6) applied wrenches, body-fixed, and their component-wise derivatives.
        tau_ext: (r+1, n) external joint forces and their derivatives.

    Identity: `inverse_dynamics` of the motion it returns gives back W_prop and tau.
    """
    tau = np.asarray(tau)
    none = np.zeros(tau.shape[1], bool)
    return hybrid_dynamics(model, C_1, V_1, q, none, tau, tau, W_prop, None, W_b, tau_ext)


def hybrid_dynamics(
    model: Model | Tree,
    C_1: ArrayLike,
    V_1: ArrayLike,
    q: ArrayLike,
    J_q: ArrayLike,
    q_bar: ArrayLike,
    tau_bar: ArrayLike,
    W_prop: ArrayLike | None = None,
    V_1_bar: ArrayLike | None = None,
    W_b: ArrayLike | None = None,
    tau_ext: ArrayLike | None = None,
) -> HybridDynamics:
    """Prescribed accelerations in some joints, forces in the others (ali, Algorithm 4).

    For each order k one backward pass (bias wrenches) and one forward pass (accelerations); the
    articulated inertias are computed once (Lemma 2). A rotor (armature) adds to S^T M^A S.

    Args:
        model: the robot, or its `Tree`.
        C_1: (4, 4) pose of the base.
        V_1: (6,) spatial twist of the base.
        q: (2, n) joint coordinates and rates.
        J_q: (n,) bool: joints with prescribed acceleration; the others (J_tau) have given forces.
        q_bar: (r+1, n) derivatives of order 2 to r+2 of the coordinates, read in J_q.
        tau_bar: (r+1, n) joint forces and their derivatives, read in J_tau.
        W_prop: (r+1, 6) spatial base wrench and its derivatives, or None if the motion is given.
        V_1_bar: (r+1, 6) derivatives of order 1 to r+1 of the base's spatial twist. A fixed base
            with neither given stays at rest.
        W_b: (r+1, N, 6) applied wrenches, body-fixed, and their component-wise derivatives.
        tau_ext: (r+1, n) external joint forces and their derivatives.

    Raises:
        ArgumentError: both or none of W_prop and V_1_bar are given.
    """
    tree = initialize(model)
    tau_bar, W_b = with_base(tau_bar)[..., 0], loads(W_b, len(tau_bar), len(tree.parent))
    ext = np.zeros_like(tau_bar) if tau_ext is None else with_base(tau_ext)[..., 0]
    acceleration, wrench = _base_input(tree, W_prop, V_1_bar, len(tau_bar))
    q, q_bar = list(with_base(q)), with_base(q_bar)[..., 0]
    C, S_0 = positions(tree, C_1, q[0])
    S, V = [S_0], [propagate(tree, np.asarray(V_1), S_0 * q[1])]
    M, Ad_star = [spatial_inertia(tree.M_b, C)], coadjoint_derivatives(C, V, 0)
    x = articulated_inertias(tree, M[0], S_0, np.concatenate([[True], np.asarray(J_q)]))
    W_app: list[AnyArray] = []
    W: list[AnyArray] = []
    W_A, tau = [], []
    for k in range(len(tau_bar)):
        W_app.append(applied_wrench(Ad_star, V, W_b, W_app, k))
        S.append(screw_rate(S, V, k + 1))
        M.append(inertia_rate(M, V, k + 1))
        Ad_star.append(coadjoint_rate(Ad_star, V, k + 1))
        own = momentum_bias(M, V, k + 1) - W_app[k] - gravity_wrench(M, tree.G, k)
        V_bias = twist_bias(S, np.stack(q), k + 1)
        given = tau_bar[k] + ext[k] - _tau_tilde(S, W, k)
        W_A_k, q_tilde = _backward(tree, x, own, V_bias, given, q_bar[k])
        V_1_k = acceleration[k]
        if wrench is not None:
            V_1_k = np.linalg.solve(x.M_A[0], wrench[k] - W_A_k[0])
        V_k, q_k = _forward(tree, x, V_1_k, V_bias, q_tilde)
        V.append(V_k)
        q.append(q_k[:, None])
        W_A.append(W_A_k)
        W.append(apply(x.M_A, V_k) + W_A_k)  # Lemma 2
        Q = generalized_force(S, W, k)
        tau.append(np.where(x.J_q, Q - ext[k] + tree.armature * q_k, tau_bar[k]))
    twists = np.stack(V[1:])
    return HybridDynamics(
        V_1=twists[:, 0],
        q=np.stack(q[2:])[:, 1:, 0],
        W_prop=np.stack(W)[:, 0],
        tau=np.stack(tau)[:, 1:],
        V=twists,
        M_A=x.M_A,
        W_A=np.stack(W_A),
    )


class Articulated(NamedTuple):
    """What Algorithms 3 and 4 use at every order (Lemma 2); the base counts to J_q."""

    S: AnyArray
    """(N, 6) screws."""
    M_A: AnyArray
    """(N, 6, 6) articulated inertias."""
    D: AnyArray
    """(N,) S_j^T M_j^A S_j, with rotor inertias."""
    J_q: Mask
    """(N,) joints with prescribed acceleration."""


def articulated_inertias(tree: Tree, M: AnyArray, S: AnyArray, J_q: Mask) -> Articulated:
    """Articulated inertias (ali, Lemma 2, Algorithms 3 and 4).

    M_j^A = M_j + sum of M_i^A over the children in J_q
    + sum of M_i^A (1 - S_i D_i^-1 S_i^T M_i^A) over those in J_tau.

    Args:
        tree: the robot.
        M: (N, 6, 6) spatial inertias.
        S: (N, 6) screws.
        J_q: (N,) bool, joints with prescribed acceleration; entry 0 is not read.
    """
    M_A, D = np.array(M), np.zeros(len(M), np.result_type(M, S, tree.armature))
    for j in range(len(tree.parent) - 1, 0, -1):
        MS = M_A[j] @ S[j]
        D[j] = tree.armature[j] + S[j] @ MS
        M_A[tree.parent[j]] += M_A[j] if J_q[j] else M_A[j] - np.outer(MS, MS) / D[j]
    return Articulated(S, M_A, D, J_q)


def _tau_tilde(S: Series, W: Series, r: int) -> AnyArray:
    """tau~^(r) = sum over k < r of binomial(r, k) S^(r-k) . (M^A V^(k+1) + W^A_k) (Algorithm 3)."""
    terms = (comb(r, k) * np.einsum("ni,ni->n", S[r - k], W[k]) for k in range(r))
    return add(terms) if r > 0 else np.zeros(len(S[0]))


def _backward(
    tree: Tree, x: Articulated, own: AnyArray, V_bias: AnyArray, given: AnyArray, q_bar: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Bias wrenches W_j^A of one order, and q~ (J_tau) or q_bar (J_q) (Algorithms 3 and 4)."""
    W_A = np.array(own, np.result_type(own, given, q_bar))
    q = np.array(q_bar, W_A.dtype)
    for j in range(len(tree.parent) - 1, 0, -1):
        if not x.J_q[j]:
            q[j] = (given[j] - x.S[j] @ (x.M_A[j] @ V_bias[j] + W_A[j])) / x.D[j]
        W_A[tree.parent[j]] += W_A[j] + x.M_A[j] @ (x.S[j] * q[j] + V_bias[j])
    return W_A, q


def _forward(
    tree: Tree, x: Articulated, V_1: AnyArray, V_bias: AnyArray, q_tilde: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Accelerations of one order, from the base outwards (Algorithms 3 and 4)."""
    V = np.array(V_bias, np.result_type(V_bias, V_1, q_tilde))
    q = np.array(q_tilde, V.dtype)
    V[0] = V_1
    for j in range(1, len(tree.parent)):
        V_p = V[tree.parent[j]]
        if not x.J_q[j]:
            q[j] -= x.S[j] @ x.M_A[j] @ V_p / x.D[j]
        V[j] += V_p + x.S[j] * q[j]
    return V, q


def _base_input(
    tree: Tree, W_prop: ArrayLike | None, V_1_bar: ArrayLike | None, orders: int
) -> tuple[AnyArray, AnyArray | None]:
    """The base's accelerations and None, or anything and its wrenches."""
    if not tree.floating and W_prop is None and V_1_bar is None:
        V_1_bar = np.zeros((orders, 6))
    if (W_prop is None) == (V_1_bar is None):
        raise ArgumentError(
            "expected either W_prop or V_1_bar, got "
            + ("none" if W_prop is None else "both")
            + " of them"
        )
    if W_prop is None:
        return np.asarray(V_1_bar), None
    return np.zeros((orders, 6)), np.asarray(W_prop)
