"""The recursions collected into closed-form equations of motion (ali, Sec. 4, Appendices A, B)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.model import Model
from jounce.papers.ali.derivatives import spatial_inertia
from jounce.papers.ali.inverse import loads
from jounce.papers.ali.kinematics import forward_kinematics
from jounce.papers.ali.tree import Tree, initialize
from jounce.papers.joints import transposed


class Grouped(NamedTuple):
    """The stacked quantities of Table 2, for N bodies and n joints, in the inertial frame."""

    G_p: AnyArray
    """(6N, 6N) identity blocks where the column's body is an ancestor of the row's, or itself."""
    G_c: AnyArray
    """(6N, 6N) transpose of G_p."""
    S: AnyArray
    """(6N, 6+n) block diagonal: identity for the base, then the screws."""
    S_dot: AnyArray
    """(6N, 6+n) its time derivative; zero in the base's block."""
    M: AnyArray
    """(6N, 6N) block diagonal of the spatial inertias."""
    ad_V: AnyArray  # noqa: N815
    """(6N, 6N) block diagonal of ad(V_j)."""
    Ad_star: AnyArray
    """(6N, 6N) block diagonal of Ad(C_j^-1)^T."""
    G: AnyArray
    """(6N,) gravity G^0, once for each body."""
    rotors: AnyArray
    """(6+n, 6+n) diagonal of the rotor inertias (not in the paper)."""


class EquationsOfMotion(NamedTuple):
    """Terms of eq. 4 (order 0) or eq. 6 (order 1), for nu = (V_1, q')."""

    M_bar: AnyArray
    """(6+n, 6+n) mass matrix, the factor of nu' (order 0) or nu'' (order 1)."""
    h: AnyArray
    """(6+n,) Coriolis and centrifugal forces; at order 1 the rest h~' without nu''."""
    g: AnyArray
    """(6+n,) gravity forces, or their derivative."""
    tau_ext: AnyArray
    """(6+n,) minus the generalized forces of the applied wrenches, or the derivative."""


def group(model: Model | Tree, C_1: ArrayLike, V_1: ArrayLike, q: ArrayLike) -> Grouped:
    """Stack the quantities of Algorithm 1 into block matrices (ali, Table 2).

    Args:
        model: the robot, or its `Tree`.
        C_1: (4, 4) pose of the base.
        V_1: (6,) spatial twist of the base.
        q: (2, n) joint coordinates and rates.
    """
    tree = initialize(model)
    N = len(tree.parent)
    C, S, V = forward_kinematics(tree, C_1, np.atleast_2d(V_1)[:1], q)
    ancestors = np.eye(N)
    for j in range(1, N):
        ancestors[j] += ancestors[tree.parent[j]]
    G_p = np.kron(ancestors, np.eye(6))
    columns, columns_dot = _screw_blocks(S[0], np.eye(6)), _screw_blocks(S[1], np.zeros((6, 6)))
    Ad_star = transposed(lie.Ad(lie.inverse(C)))
    rotors = np.diag(np.concatenate([np.zeros(6), tree.armature[1:]]))
    return Grouped(
        G_p,
        G_p.T,
        columns,
        columns_dot,
        _block_diagonal(spatial_inertia(tree.M_b, C)),
        _block_diagonal(lie.ad(V[0])),
        _block_diagonal(Ad_star),
        np.tile(tree.G, N),
        rotors,
    )


def equations_of_motion(
    model: Model | Tree,
    C_1: ArrayLike,
    V_1: ArrayLike,
    q: ArrayLike,
    W_b: ArrayLike | None = None,
) -> EquationsOfMotion:
    """Closed form of the inverse dynamics of order 0 (ali, Proposition 1, eq. 4 and 5).

    Args:
        model: the robot, or its `Tree`.
        C_1: (4, 4) pose of the base.
        V_1: (6,) spatial twist of the base.
        q: (2, n) joint coordinates and rates.
        W_b: (N, 6) applied wrenches, body-fixed.

    Identity: M_bar nu' + h + g + tau_ext is (W_prop, tau) of Algorithm 2.
    """
    x = group(model, C_1, V_1, q)
    nu = _nu(V_1, q, 0)
    SG = x.S.T @ x.G_c
    V = x.G_p @ x.S @ nu
    M_bar = SG @ x.M @ x.G_p @ x.S + x.rotors
    h = SG @ (x.M @ x.G_p @ x.S_dot @ nu - x.ad_V.T @ x.M @ V)
    g = -SG @ x.M @ x.G
    tau_ext = -SG @ x.Ad_star @ _wrenches(W_b, len(x.G), 0)
    return EquationsOfMotion(M_bar, h, g, tau_ext)


def equations_of_motion_rate(
    model: Model | Tree,
    C_1: ArrayLike,
    V_1: ArrayLike,
    q: ArrayLike,
    W_b: ArrayLike | None = None,
) -> EquationsOfMotion:
    """Closed form of the inverse dynamics of order 1 (ali, Proposition 1, eq. 6 and 7).

    Deviation: eq. 7 and Appendix B write S^T ad(V)^T for S'^T, and ad(V) S for S'. That is right
    for the joints but not for the base, whose block of S' is zero (Table 2): as printed, the base
    rows are off, see docs/papers/ali.md. Here S' and S'' are meant.

    Args:
        model: the robot, or its `Tree`.
        C_1: (4, 4) pose of the base.
        V_1: (2, 6) spatial twist of the base and its derivative.
        q: (3, n) joint coordinates, rates and accelerations.
        W_b: (2, N, 6) applied wrenches, body-fixed, and their component-wise derivatives.

    Identity: M_bar nu'' + h + g + tau_ext is the order 1 of (W_prop, tau) of Algorithm 2.
    """
    x = group(model, C_1, np.asarray(V_1)[0], q)
    nu, nu_dot = _nu(V_1, q, 0), _nu(V_1, q, 1)
    W, W_dot = (_wrenches(W_b, len(x.G), k) for k in range(2))
    V = x.G_p @ x.S @ nu
    V_dot = x.G_p @ (x.S @ nu_dot + x.S_dot @ nu)
    ad_V_dot = _block_diagonal(lie.ad(V_dot.reshape(-1, 6)))
    S_ddot = ad_V_dot @ x.S + x.ad_V @ x.S_dot
    S_ddot[:6, :6] = 0
    V_ddot_rest = x.G_p @ (2 * x.S_dot @ nu_dot + S_ddot @ nu)
    Pi = x.M @ V
    Pi_dot = x.M @ V_dot - x.ad_V.T @ Pi
    Pi_ddot_rest = (  # Appendix B, without the term in nu''
        x.M @ (V_ddot_rest - x.ad_V @ V_dot)
        - 2 * x.ad_V.T @ Pi_dot
        - (ad_V_dot + x.ad_V @ x.ad_V).T @ Pi
    )
    M_bar = x.S.T @ x.G_c @ x.M @ x.G_p @ x.S + x.rotors
    h = x.S_dot.T @ x.G_c @ Pi_dot + x.S.T @ x.G_c @ Pi_ddot_rest
    g = -x.S_dot.T @ x.G_c @ x.M @ x.G + x.S.T @ x.G_c @ (x.M @ x.ad_V + x.ad_V.T @ x.M) @ x.G
    tau_ext = (
        x.S.T @ x.G_c @ x.ad_V.T - x.S_dot.T @ x.G_c
    ) @ x.Ad_star @ W - x.S.T @ x.G_c @ x.Ad_star @ W_dot
    return EquationsOfMotion(M_bar, h, g, tau_ext)


def coriolis_matrix(model: Model | Tree, C_1: ArrayLike, V_1: ArrayLike, q: ArrayLike) -> AnyArray:
    """Admissible Coriolis matrix C with h = C nu (ali, Lemma 1, eq. 8).

    C = S^T G_c M G_p S' - S^T G_c ad(V)^T M G_p S.

    Args:
        model: the robot, or its `Tree`.
        C_1: (4, 4) pose of the base.
        V_1: (6,) spatial twist of the base.
        q: (2, n) joint coordinates and rates.

    Returns:
        (6+n, 6+n). Identity: dM_bar/dt - 2 C is skew-symmetric.
    """
    x = group(model, C_1, V_1, q)
    C: AnyArray = x.S.T @ x.G_c @ (x.M @ x.G_p @ x.S_dot - x.ad_V.T @ x.M @ x.G_p @ x.S)
    return C


def _nu(V_1: ArrayLike, q: ArrayLike, k: int) -> AnyArray:
    """nu^(k) = (V_1^(k), q^(k+1)), the last row of Table 2."""
    return np.concatenate([np.atleast_2d(V_1)[k], np.asarray(q)[k + 1]])


def _wrenches(W_b: ArrayLike | None, size: int, k: int) -> AnyArray:
    """Stacked body-fixed wrenches of order k, (6N,)."""
    W = None if W_b is None else np.reshape(W_b, (-1, size // 6, 6))
    return np.ravel(loads(W, k, size // 6)[k])


def _screw_blocks(S: AnyArray, base: AnyArray) -> AnyArray:
    """Block diagonal of the base's block and the screws of bodies 1, 2, ... as columns."""
    N = len(S)
    out = np.zeros((6 * N, 5 + N), S.dtype)
    out[:6, :6] = base
    for j in range(1, N):
        out[6 * j : 6 * j + 6, 5 + j] = S[j]
    return out


def _block_diagonal(blocks: AnyArray) -> AnyArray:
    N = len(blocks)
    out = np.zeros((N, 6, N, 6), blocks.dtype)
    out[range(N), :, range(N)] = blocks
    return out.reshape(6 * N, 6 * N)
