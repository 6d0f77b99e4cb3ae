"""Derivatives of the motion equations: by state, by geometry, in time (Sec. 6).

Section 6 states that these derivatives follow in closed form from the brackets of Sec. 2 and prints
no formula of its own. The formulas here are written out from eq. 5, 12, 78 and the extended product
of exponentials of Sec. 6.2, in which a geometric parameter acts like one more joint between the
parent and joint i.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._core.algebra import einsum
from jounce._types import AnyArray
from jounce.model import Model
from jounce.papers.joints import apply, joint_motions, transposed
from jounce.papers.mueller.accelerations import accelerations, column_brackets, is_before
from jounce.papers.mueller.geometry import (
    column_nodes,
    configurations,
    inertia_matrices,
    is_inward,
    joint_screws,
    relative_configurations,
    scatter_wrenches,
)
from jounce.papers.mueller.kinematics import matrix_X, system_jacobian
from jounce.papers.mueller.lagrange import mass_matrix

__all__ = [
    "GeometricColumns",
    "GeometricSensitivity",
    "GeometricVariation",
    "Linearization",
    "geometric_columns",
    "geometric_sensitivity",
    "inverse_dynamics_series",
    "linearized_equations",
    "varied_placements",
]


class Linearization(NamedTuple):
    """Partial derivatives of the generalized forces, each (nv, nv)."""

    dq: AnyArray
    dv: AnyArray
    da: AnyArray


class GeometricVariation(NamedTuple):
    """Parameters pi of the constant part of one joint, B_i exp(U_1 pi_1) ... exp(U_m pi_m)."""

    node: int
    """The node whose placement varies."""
    screws: AnyArray
    """(6, m) screws U, each in the frame reached by the factors before it."""
    values: AnyArray
    """(m,) current values pi."""


class GeometricSensitivity(NamedTuple):
    """Derivatives with respect to p geometric parameters; n nodes."""

    pose: AnyArray
    """(n, 6, p): dC_l = C_l hat(column)."""
    jacobian: AnyArray
    """(n, 6, nv, p) of the body-fixed Jacobians."""
    twist: AnyArray
    """(n, 6, p) of the body-fixed twists."""
    mass_matrix: AnyArray
    """(nv, nv, p)."""
    forces: AnyArray
    """(nv, p) of the generalized forces."""


class _Balance(NamedTuple):
    """Body-fixed quantities of eq. 78 at one state."""

    M: AnyArray
    J: AnyArray
    V: AnyArray
    V_dot: AnyArray
    gravity: AnyArray  # Ad_C^-1 (0, g)
    F: AnyArray  # M (dV - gravity) - ad_V^T M V - W^app


def _balance(
    model: Model, q: AnyArray, v: AnyArray, a: AnyArray, f_ext: AnyArray | None
) -> _Balance:
    C, J, M = configurations(model, q), system_jacobian(model, q), inertia_matrices(model)
    V, dV = J @ v, accelerations(model, q, v, a)
    field = np.zeros((len(C), 6), C.dtype)
    field[:, 3:] = einsum("nba,b->na", C[:, :3, :3], model.gravity)
    F = apply(M, dV - field) - apply(transposed(lie.ad(V)), apply(M, V))
    return _Balance(M, J, V, dV, field, F - scatter_wrenches(model, f_ext))


def linearized_equations(
    model: Model, q: AnyArray, v: AnyArray, a: AnyArray, f_ext: AnyArray | None = None
) -> Linearization:
    """Partial derivatives of the generalized forces of eq. 78 in closed form (Sec. 6.1).

    Derivatives by q are taken in the tangent space; f_ext is constant in body frames.

    Args:
        model: the robot.
        q: (nq,) coordinates.
        v: (nv,) rates.
        a: (nv,) accelerations.
        f_ext: (n_bodies, 6) applied wrenches, body-fixed.
    """
    state = _balance(model, q, v, a, f_ext)
    before = is_before(model)
    brackets = column_brackets(state.J) * before
    dq = _forces_by_column(state, state.J, brackets, before, v, a)
    # dV/dv_k = J_k; d(dV)/dv_k = sum_{j<k} [J_j, J_k] v_j + sum_{k<r} [J_k, J_r] v_r
    ddV = einsum("najk,j->nak", brackets, v) + einsum("nakr,r->nak", brackets, v)
    dv = einsum("nai,nak->ik", state.J, _newton_euler_variation(state, state.J, ddV))
    return Linearization(dq, dv, mass_matrix(model, q))


def _newton_euler_variation(state: _Balance, dV: AnyArray, ddV: AnyArray) -> AnyArray:
    """Change of M dV - ad_V^T M V for changes (n, 6, p) of twist and acceleration."""
    M, ad = state.M, lie.ad(state.V)
    MV = apply(M, state.V)
    turning = einsum("nkba,nb->nak", lie.ad(transposed(dV)), MV)
    out: AnyArray = M @ ddV - turning - transposed(ad) @ (M @ dV)
    return out


def _forces_by_column(
    state: _Balance, K: AnyArray, dJ: AnyArray, before: AnyArray, v: AnyArray, a: AnyArray
) -> AnyArray:
    """Derivative of J^T F along columns K (n, 6, p) that move the bodies, (nv, p).

    Args:
        state: the balance.
        K: columns, dC_l = C_l hat(K_l).
        dJ: (n, 6, nv, p) derivatives [J_j, K] of the Jacobians (eq. 5), zero unless K is outward.
        before: (nv, nv) mask j < k.
        v: rates.
        a: accelerations.
    """
    dV = einsum("najp,j->nap", dJ, v)
    # d[J_j, J_r] = [dJ_j, J_r] + [J_j, dJ_r], summed over j < r with v_j v_r (eq. 12)
    outward = einsum("nar,r,jr->naj", state.J, v, before)
    inward = einsum("naj,j,jr->nar", state.J, v, before)
    ddV = einsum("najp,j->nap", dJ, a)
    ddV = ddV - einsum("njab,nbjp,j->nap", _ad_columns(outward), dJ, v, optimize=True)
    ddV = ddV + einsum("nrab,nbrp,r->nap", _ad_columns(inward), dJ, v, optimize=True)
    field = apply(lie.ad(state.gravity)[:, None], transposed(K))  # d(Ad_C^-1 G) = [., K]
    dF = _newton_euler_variation(state, dV, ddV - transposed(field))
    out: AnyArray = einsum("naip,na->ip", dJ, state.F) + einsum("nai,nap->ip", state.J, dF)
    return out


def _ad_columns(X: AnyArray) -> AnyArray:
    return lie.ad(transposed(X))


def varied_placements(model: Model, variations: Sequence[GeometricVariation]) -> AnyArray:
    """Placements B_i(pi) = B_i0 exp(U_1 pi_1) ... exp(U_m pi_m), (n, 4, 4), Sec. 6.2.

    Args:
        model: the robot with the nominal geometry B_i0.
        variations: at most one per node.
    """
    dtype = np.result_type(float, *(x.values for x in variations))
    B: AnyArray = model.nodes.placement.astype(dtype)
    for node, screws, values in variations:
        for U, pi in zip(screws.T, values, strict=True):
            B[node] = B[node] @ lie.exp(U * pi)
    return B


class GeometricColumns(NamedTuple):
    """Columns of the geometric parameters."""

    columns: AnyArray
    """(n, 6, p) body-fixed, of each body."""
    node: AnyArray
    """(p,) the node of each parameter."""


def geometric_columns(
    model: Model, q: AnyArray, variations: Sequence[GeometricVariation]
) -> GeometricColumns:
    """Body-fixed columns of the geometric parameters and the node of each, ((n, 6, p), (p,)).

    Column (i, m) of body l is Ad_{C_{l,i}} Ad_{exp(X_i q_i)}^-1 of U_m carried through the later
    factors. The model carries the current geometry B_i(pi).
    """
    C, motions = configurations(model, q), joint_motions(model, q)
    path = is_inward(model)
    columns, owners = [], []
    for node, screws, values in variations:
        carried: list[AnyArray] = []
        for U, pi in zip(screws.T, values, strict=True):
            back = lie.Ad(lie.exp(-U * pi))
            carried = [back @ c for c in carried] + [U]
        Ad = lie.Ad(lie.inverse(C) @ C[node] @ lie.inverse(motions[node]))
        for U in carried:
            columns.append((Ad @ U) * path[:, node, None])
            owners.append(node)
    return GeometricColumns(np.stack(columns, axis=-1), np.array(owners))


def geometric_sensitivity(
    model: Model,
    q: AnyArray,
    v: AnyArray,
    a: AnyArray,
    variations: Sequence[GeometricVariation],
    f_ext: AnyArray | None = None,
) -> GeometricSensitivity:
    """Sensitivity of kinematics and dynamics to the geometry, in closed form (Sec. 6.2).

    A parameter of joint i lies between the joints inward of i and joint i itself, so the body-fixed
    column of a joint j inward of i changes by [J_{l,j}, K_l] (eq. 5), all others not at all.
    Inertias are constant in body frames.

    Args:
        model: the robot with the current geometry B_i(pi), see `varied_placements`.
        q: (nq,) coordinates.
        v: (nv,) rates.
        a: (nv,) accelerations.
        variations: at most one per node.
        f_ext: (n_bodies, 6) applied wrenches, body-fixed.
    """
    K, owner = geometric_columns(model, q, variations)
    state = _balance(model, q, v, a, f_ext)
    inward = column_nodes(model)[:, None] < owner
    dJ = einsum("njab,nbp->najp", _ad_columns(state.J), K) * inward
    half = einsum("naip,nab,nbj->ijp", dJ, state.M, state.J, optimize=True)
    return GeometricSensitivity(
        pose=K,
        jacobian=dJ,
        twist=einsum("najp,j->nap", dJ, v),
        mass_matrix=half + half.transpose(1, 0, 2),
        forces=_forces_by_column(state, K, dJ, is_before(model), v, a),
    )


def inverse_dynamics_series(
    model: Model, q: AnyArray, motion: AnyArray, f_ext: AnyArray | None = None
) -> AnyArray:
    """Time derivatives of the inverse dynamics, (r+1, nv) (Sec. 6.3).

    The body-fixed algorithm (eq. 66, 67) differentiated with Leibniz' rule, where
    d(Ad_{C_{i,i-1}})/dt = -ad_{s_i} Ad_{C_{i,i-1}} with s_i = X_i v_i. Gravity enters as the
    acceleration -g of the base.

    Args:
        model: the robot.
        q: (nq,) coordinates.
        motion: (r+2, nv) rates and their derivatives of order 1 to r+1.
        f_ext: (r+1, n_bodies, 6) applied wrenches, body-fixed, and their derivatives.

    Returns:
        (r+1, nv) generalized forces and their derivatives of order 1 to r.
    """
    parent, M = model.nodes.parent, inertia_matrices(model)
    Ad = lie.Ad(lie.inverse(relative_configurations(model, q)))
    n, orders = len(parent), len(motion) - 1
    s = (matrix_X(model, joint_screws(model)) @ motion.T).T.reshape(orders + 1, n, 6)
    V = np.zeros((orders + 1, n, 6), np.result_type(Ad, s))
    base = np.zeros((orders + 1, 6))
    base[1, 3:] = -model.gravity
    change = [_adjoint_derivatives(s[:, i]) for i in range(n)]
    for i, p in enumerate(parent):
        carried = (V[:, p] if p >= 0 else base) @ Ad[i].T
        V[:, i] = s[:, i] + _leibniz(change[i], carried)  # (66b) and its derivatives
    applied = np.zeros((orders, 1, 6)) if f_ext is None else f_ext
    W = -np.array([scatter_wrenches(model, w, V.dtype) for w in applied])
    for i in range(n - 1, -1, -1):
        Pi = V[:, i] @ M[i].T
        W[:, i] += Pi[1:] - _leibniz(transposed(lie.ad(V[:-1, i])), Pi[:-1])  # (67a)
        if parent[i] >= 0:
            W[:, parent[i]] += _leibniz(transposed(change[i]), W[:, i]) @ Ad[i]
    Q = einsum("aj,kja->kj", joint_screws(model), W[:, column_nodes(model)])  # (67b)
    out: AnyArray = Q + model.armature * motion[1:]
    return out


def _adjoint_derivatives(s: AnyArray) -> AnyArray:
    """Matrices E_k with d^k(Ad)/dt^k = E_k Ad, (orders, 6, 6), from s and its derivatives."""
    E = np.zeros((len(s), 6, 6), s.dtype)
    E[0] = np.eye(6)
    for k in range(len(s) - 1):
        E[k + 1] = -sum(comb(k, c) * lie.ad(s[c]) @ E[k - c] for c in range(k + 1))
    return E


def _leibniz(A: AnyArray, x: AnyArray) -> AnyArray:
    """Derivatives of the product A x from those of A (orders, 6, 6) and x (orders, 6)."""
    terms = [sum(comb(k, c) * A[c] @ x[k - c] for c in range(k + 1)) for k in range(len(x))]
    return np.array(terms)
