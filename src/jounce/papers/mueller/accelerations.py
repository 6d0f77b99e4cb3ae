"""Time derivatives of Jacobians, accelerations and jerks in closed form (Sec. 2).

Accelerations and jerks are component-wise time derivatives of the twists in each representation.
Motions are v, a = dv/dt, j = da/dt, all (nv,). Results have the node as first axis.

For joints of several degrees of freedom "j < k" means that the joint of column k lies strictly
outward of the joint of column j. The paper often writes "j <= k", which adds nothing for 1-DoF
joints because [X, X] = 0, but would add brackets of different columns of one joint.
"""

from __future__ import annotations

import numpy as np

from jounce import lie
from jounce._core.algebra import einsum
from jounce._types import AnyArray
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.papers.joints import transposed
from jounce.papers.mueller.geometry import column_nodes, configurations, is_inward, joint_screws
from jounce.papers.mueller.kinematics import (
    check,
    instantaneous_screws,
    matrix_A,
    matrix_X,
    spatial_screws,
    system_jacobian,
    system_twist,
)
from jounce.papers.mueller.screws import Ad_r, ad_omega, ad_v, angular, bracket

__all__ = [
    "accelerations",
    "accelerations_factored",
    "hybrid_accelerations_brackets",
    "hybrid_jacobian_rate2",
    "jerks",
    "matrix_L",
    "matrix_a",
    "matrix_b",
    "spatial_jerks_nested",
    "system_jacobian_rate",
    "system_jacobian_rate_factored",
]


def column_brackets(J: AnyArray) -> AnyArray:
    """All brackets [J_{i,j}, J_{i,k}] of columns, (n, 6, nv, nv) with j before k."""
    out: AnyArray = einsum("njab,nbk->najk", lie.ad(transposed(J)), J)
    return out


def is_before(model: Model) -> AnyArray:
    """Mask (nv, nv): entry [j, k] says that the joint of column j is numbered before that of k."""
    columns = column_nodes(model)
    return columns[:, None] < columns


def _columns(X: AnyArray, Y: AnyArray) -> AnyArray:
    """Bracket of corresponding columns, (n, 6, nv)."""
    return transposed(bracket(transposed(X), transposed(Y)))


def system_jacobian_rate(model: Model, q: AnyArray, v: AnyArray, twist: str = "body") -> AnyArray:
    """Time derivative of the Jacobians of all bodies, (n, 6, nv).

    Body: sum_{j<k<=i} [J_{i,j}, J_{i,k}] v_k (after eq. 7). Spatial: [V_j, J_j] (eq. 16). Hybrid:
    (ad_{dr_{i,j}} + Ad_{r_{i,j}} ad_{w_j}) 0X_j^j (eq. 27). Mixed: angular rows of the first,
    linear rows of the third.

    Deviation: eq. 33 converts the hybrid rate with diag(R^T, 1), which misses the derivative of R^T
    in the angular rows.
    """
    check(twist)
    if twist == "mixed":
        angular_rows = system_jacobian_rate(model, q, v, "body")[:, :3]
        linear_rows = system_jacobian_rate(model, q, v, "hybrid")[:, 3:]
        return np.concatenate([angular_rows, linear_rows], axis=1)
    if twist == "body":
        J = system_jacobian(model, q)
        outward = einsum("iak,k,jk->iaj", J, v, is_before(model))  # sum_{j<k} J_{i,k} v_k
        return _columns(J, outward)  # (7)
    columns = column_nodes(model)
    moves = is_inward(model)[:, None, columns]
    C = configurations(model, q)
    V = system_twist(model, q, v, twist)
    if twist == "spatial":
        return _columns(V[columns].T, spatial_screws(model, C)) * moves  # (16)
    X = instantaneous_screws(model, C)
    r, dr, w = C[:, :3, 3], V[:, 3:], V[:, :3]
    operator = ad_v(dr[columns] - dr[:, None]) + Ad_r(r[columns] - r[:, None]) @ ad_omega(
        w[columns]
    )
    out: AnyArray = einsum("ijab,bj->iaj", operator, X) * moves  # (27)
    return out


def matrix_a(model: Model, v: AnyArray) -> AnyArray:
    """Block-diagonal matrix a^b = diag(ad of iX_i v_i), (6n, 6n), eq. 9."""
    s = (matrix_X(model, joint_screws(model)) @ v).reshape(-1, 6)
    return _diagonal(lie.ad(s))


def matrix_b(V: AnyArray) -> AnyArray:
    """Block-diagonal matrix b = diag(ad_{V_i}) of twists V (n, 6), (6n, 6n), eq. 19 and 82."""
    return _diagonal(lie.ad(V))


def matrix_L(model: Model) -> AnyArray:
    """Block-triangular identity matrix L, (6n, 6n), eq. 18: block (i, j) is 1 for j <= i."""
    return np.kron(is_inward(model), np.eye(6))


def _diagonal(blocks: AnyArray) -> AnyArray:
    n = len(blocks)
    out = np.zeros((n, 6, n, 6), blocks.dtype)
    out[range(n), :, range(n), :] = blocks
    return out.reshape(6 * n, 6 * n)


def system_jacobian_rate_factored(model: Model, q: AnyArray, v: AnyArray) -> AnyArray:
    """Time derivative of the body-fixed system Jacobian as -A a (J - X), (6n, nv), eq. 8.

    Deviation: the paper has -A a J, since ad_{X_k} X_k = 0. A multi-DoF joint has ad_{X_k v_k} X_k
    not zero, so its own columns are left out here; for 1-DoF joints nothing changes.
    """
    A, X = matrix_A(model, q), matrix_X(model, joint_screws(model))
    out: AnyArray = -A @ matrix_a(model, v) @ (A @ X - X)
    return out


def accelerations(
    model: Model, q: AnyArray, v: AnyArray, a: AnyArray, twist: str = "body"
) -> AnyArray:
    """Accelerations of all bodies in closed form, (n, 6).

    Body: sum_j J_{i,j} a_j + sum_{j<k<=i} [J_{i,j}, J_{i,k}] v_j v_k (eq. 6). Spatial:
    sum_j J_j a_j + [V_j, J_j] v_j (eq. 17). Hybrid: eq. 29. Mixed: diag(R^T, 1) times the hybrid
    one (eq. 33, correct at this order because w x w = 0).
    """
    check(twist)
    J = system_jacobian(model, q, "hybrid" if twist == "mixed" else twist)
    if twist == "body":
        quadratic = einsum("iajk,jk,j,k->ia", column_brackets(J), is_before(model), v, v)
        return np.asarray(J @ a + quadratic)  # (6)
    if twist == "mixed":
        hybrid = accelerations(model, q, v, a, "hybrid")
        R = configurations(model, q)[:, :3, :3]
        turned = einsum("nba,nb->na", R, hybrid[:, :3])
        return np.concatenate([turned, hybrid[:, 3:]], axis=1)  # (33)
    return np.asarray(J @ a + system_jacobian_rate(model, q, v, twist) @ v)  # (17), (29)


def accelerations_factored(
    model: Model, q: AnyArray, v: AnyArray, a: AnyArray, twist: str = "body"
) -> AnyArray:
    """System acceleration from the factorization of the Jacobian, (n, 6).

    Body: J a - A a^b V (eq. 10). Spatial: J a + L b^s diag(J_1^s, ..., J_n^s) v (eq. 18).
    """
    C = configurations(model, q)
    if twist == "body":
        A, X = matrix_A(model, q), matrix_X(model, joint_screws(model))
        V = A @ X @ v
        out: AnyArray = A @ X @ a - A @ (matrix_a(model, v) @ V)  # (10)
    elif twist == "spatial":
        L, X = matrix_L(model), matrix_X(model, spatial_screws(model, C))
        V = L @ X @ v
        out = L @ X @ a + L @ (matrix_b(V.reshape(-1, 6)) @ (X @ v))  # (18)
    else:
        raise ArgumentError(f"twist must be 'body' or 'spatial', got {twist!r}")
    return out.reshape(-1, 6)


def hybrid_accelerations_brackets(model: Model, q: AnyArray, v: AnyArray, a: AnyArray) -> AnyArray:
    """Hybrid accelerations from brackets of hybrid screws, (n, 6), eq. 28 made complete.

    dJ_{i,j} = [J_{i,j}, sum_{j<k<=i} linear(J_{i,k}) v_k] + [angular(V_j), J_{i,j}].

    Deviation: eq. 26 and 28 leave out the second bracket, the turning of the axes by the joints
    inward of j.
    """
    J = system_jacobian(model, q, "hybrid")
    columns = column_nodes(model)
    V = J @ v
    outward = einsum("iak,k,jk->iaj", J, v, is_before(model))
    outward[:, :3] = 0.0
    turning = np.broadcast_to(angular(V[columns]).T, J.shape)
    out: AnyArray = J @ a + (_columns(J, outward) + _columns(turning, J)) @ v
    return out


def hybrid_jacobian_rate2(model: Model, q: AnyArray, v: AnyArray, a: AnyArray) -> AnyArray:
    """Second time derivative of the hybrid Jacobians, (n, 6, nv), eq. 30."""
    columns = column_nodes(model)
    C = configurations(model, q)
    V = system_twist(model, q, v, "hybrid")
    dV = accelerations(model, q, v, a, "hybrid")
    r, dr, ddr = (x[columns] - x[:, None] for x in (C[:, :3, 3], V[:, 3:], dV[:, 3:]))
    ad_w, ad_dw = ad_omega(V[columns, :3]), ad_omega(dV[columns, :3])
    operator = ad_v(ddr) + 2 * ad_v(dr) @ ad_w + Ad_r(r) @ (ad_dw + ad_w @ ad_w)
    moves = is_inward(model)[:, None, columns]
    out: AnyArray = einsum("ijab,bj->iaj", operator, instantaneous_screws(model, C)) * moves
    return out


def jerks(
    model: Model, q: AnyArray, v: AnyArray, a: AnyArray, j: AnyArray, twist: str = "body"
) -> AnyArray:
    """Jerks of all bodies in closed form, (n, 6): second derivatives of the twists' components.

    Body: eq. 13. Spatial: eq. 21. Hybrid: eq. 31, 32. Mixed: angular part of the body-fixed jerk,
    linear part of the hybrid one.

    Deviation: the cubic term of eq. 13 counts [[J_j, J_k], J_r] twice for k < r but once for
    k = r; eq. 31, 32 lack the screw and brackets in print; eq. 33 misses the derivative of R^T, so
    diag(R^T, 1) times the hybrid jerk is not the mixed one.
    """
    check(twist)
    if twist == "body":
        return _body_jerks(model, q, v, a, j)
    if twist == "spatial":
        return _spatial_jerks(model, q, v, a, j)
    J, dJ = system_jacobian(model, q, "hybrid"), system_jacobian_rate(model, q, v, "hybrid")
    hybrid: AnyArray = J @ j + 2 * dJ @ a + hybrid_jacobian_rate2(model, q, v, a) @ v  # (31), (32)
    if twist == "hybrid":
        return hybrid
    return np.concatenate([_body_jerks(model, q, v, a, j)[:, :3], hybrid[:, 3:]], axis=1)


def _body_jerks(model: Model, q: AnyArray, v: AnyArray, a: AnyArray, j: AnyArray) -> AnyArray:
    """Evaluate eq. 13; [[J_j, J_k], J_r] has the weight 2 for k < r and 1 within one joint."""
    J = system_jacobian(model, q)
    before = is_before(model)
    brackets = column_brackets(J) * before  # [J_j, J_k], j < k
    quadratic = einsum("iajk,j,k->ia", brackets, 2 * a, v)
    quadratic += einsum("iajk,j,k->ia", brackets, v, a)
    inner = einsum("iajk,j,k->iak", brackets, v, v)  # sum_{j<k} [J_j, J_k] v_j v_k
    weight = 1.0 + before - before.T  # 2 for k < r, 1 for k = r, 0 for k > r
    outer = einsum("iar,r,kr->iak", J, v, weight)
    out: AnyArray = J @ j + quadratic + _columns(inner, outer).sum(axis=-1)
    return out


def _spatial_jerks(model: Model, q: AnyArray, v: AnyArray, a: AnyArray, j: AnyArray) -> AnyArray:
    """Evaluate eq. 21, with the sum of J_k a_k over k <= j so that multi-DoF joints are right."""
    path = is_inward(model)
    s, ds, dds, V = _joint_twists(model, q, v, a, j)
    V_parent = V - s
    Vs = bracket(V, s)  # [V_j, J_j] v_j
    along = path @ dds + 2 * path @ bracket(V, ds) + path @ bracket(path @ ds, s)
    # The factor V_{j-1} + V_j - V_i is linear in V_i, which leaves the sum over j.
    along = along + path @ bracket(V_parent + V, Vs) - bracket(V, path @ Vs)
    out: AnyArray = along
    return out


def spatial_jerks_nested(
    model: Model, q: AnyArray, v: AnyArray, a: AnyArray, j: AnyArray
) -> AnyArray:
    """Spatial jerks in the second form, eq. 22, (n, 6); equal to ``jerks(..., "spatial")``."""
    path = is_inward(model)
    s, ds, dds, V = _joint_twists(model, q, v, a, j)
    Vs = bracket(V, s)
    out: AnyArray = path @ (dds + 2 * bracket(V, ds) + bracket(path @ ds + Vs, s))
    out = out + bracket(path @ Vs, V) - 2 * path @ bracket(Vs, V)
    return out


def _joint_twists(
    model: Model, q: AnyArray, v: AnyArray, a: AnyArray, j: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """J_j^s times v, a, j for each node, and the spatial twists, all (n, 6)."""
    X = matrix_X(model, spatial_screws(model, configurations(model, q)))
    s, ds, dds = ((X @ x).reshape(-1, 6) for x in (v, a, j))
    return s, ds, dds, is_inward(model) @ s
