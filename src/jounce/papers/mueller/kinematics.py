"""Jacobians and twists in the four representations, and the matrices they factor into.

Eq. 98 to 112 of the paper, and the inverse kinematics of remarks 1 and 3. Arrays over bodies
have the node as first axis, see `jounce.papers.mueller.geometry`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.papers.joints import apply, transposed
from jounce.papers.mueller.geometry import (
    column_nodes,
    configurations,
    is_inward,
    joint_screws,
    node_of_body,
    reference_configurations,
    relative_configurations,
)
from jounce.papers.mueller.screws import Ad_R, Ad_r, bracket

__all__ = [
    "TWISTS",
    "JointMotion",
    "convert_wrenches",
    "instantaneous_screws",
    "inverse_kinematics",
    "jacobian",
    "matrix_A",
    "matrix_D",
    "matrix_X",
    "representation",
    "spatial_screws",
    "system_jacobian",
    "system_twist",
]


TWISTS = ("body", "spatial", "hybrid", "mixed")


def check(twist: str) -> None:
    """Refuse anything but the four representations."""
    if twist not in TWISTS:
        raise ArgumentError(f"twist must be one of {', '.join(TWISTS)}, got {twist!r}")


def representation(C: AnyArray, twist: str) -> AnyArray:
    """Matrix that turns a body-fixed twist into the given representation, eq. 98 to 100.

    Args:
        C: (..., 4, 4) poses of the bodies.
        twist: "body", "spatial" (Ad_C), "hybrid" (Ad_R) or "mixed" (diag(1, R)).

    Returns:
        (..., 6, 6). A wrench in that representation becomes body-fixed by the transpose (eq. 120).
    """
    check(twist)
    if twist == "spatial":
        return lie.Ad(C)  # (99)
    out = np.zeros((*C.shape[:-2], 6, 6), C.dtype)
    out[..., range(6), range(6)] = 1.0
    if twist in ("hybrid", "mixed"):
        out[..., 3:, 3:] = C[..., :3, :3]  # (100)
    if twist == "hybrid":
        out[..., :3, :3] = C[..., :3, :3]  # (98)
    return out


def spatial_screws(model: Model, C: AnyArray) -> AnyArray:
    """Instantaneous joint screws J_j^s = Ad_{C_j} jX_j in the world, (6, nv), eq. 104.

    They belong to the joint, not to a body: body i has those of the joints j <= i.
    """
    columns: AnyArray = np.einsum("jab,bj->aj", lie.Ad(C)[column_nodes(model)], joint_screws(model))
    return columns


def instantaneous_screws(model: Model, C: AnyArray) -> AnyArray:
    """Joint screws 0X_j^j = Ad_{R_j} jX_j at the joint's body, in world axes, (6, nv), eq. 107."""
    rotations = Ad_R(C[:, :3, :3])[column_nodes(model)]
    columns: AnyArray = np.einsum("jab,bj->aj", rotations, joint_screws(model))
    return columns


def system_jacobian(model: Model, q: AnyArray, twist: str = "body") -> AnyArray:
    """Jacobians of all bodies, (n, 6, nv): V_i = J_i v, eq. 103 to 106 and 112.

    Column j of body i is Ad_{C_{i,j}} jX_j (body), Ad_{C_j} jX_j (spatial), Ad_{r_{i,j}} 0X_j^j
    (hybrid, r_{i,j} = r_j - r_i), and zero unless j <= i. The mixed one has the angular rows of the
    first and the linear rows of the third (eq. 100).
    """
    check(twist)
    columns = column_nodes(model)
    moves = is_inward(model)[:, columns]  # (n, nv)
    C = configurations(model, q)
    if twist == "spatial":
        return spatial_screws(model, C) * moves[:, None, :]  # (104)
    out: AnyArray
    if twist == "body":
        Ad = lie.Ad(lie.inverse(C)[:, None] @ C[columns])
        out = np.einsum("ijab,bj->iaj", Ad, joint_screws(model))  # (103)
    else:
        r = C[:, :3, 3]
        Ad = Ad_r(r[columns] - r[:, None])
        out = np.einsum("ijab,bj->iaj", Ad, instantaneous_screws(model, C))  # (105)
        if twist == "mixed":
            out[:, :3] = transposed(C[:, :3, :3]) @ out[:, :3]  # (100)
    return out * moves[:, None, :]


def jacobian(model: Model, q: AnyArray, body: str | int, twist: str = "body") -> AnyArray:
    """Jacobian of one body, (6, nv), eq. 103 to 106."""
    out: AnyArray = system_jacobian(model, q, twist)[node_of_body(model, body)]
    return out


def system_twist(model: Model, q: AnyArray, v: AnyArray, twist: str = "body") -> AnyArray:
    """Twists of all bodies in closed form, V = J v, (n, 6), eq. 101, 102, 111."""
    out: AnyArray = system_jacobian(model, q, twist) @ v
    return out


def matrix_A(model: Model, q: AnyArray, twist: str = "body", screws: str = "body") -> AnyArray:
    """Block-triangular matrix A of J = A X, (6n, 6n), eq. 112.

    Block (i, j) with j <= i is Ad_{C_{i,j}} for "body", Ad_{C_j} for "spatial" with body-fixed
    screws (A^sb), Ad_{C_j A_j^-1} for "spatial" with reference screws Y (A^s), Ad_{r_{i,j}} for
    "hybrid". All other blocks are zero; with nodes in order the matrix is lower triangular.
    """
    C = configurations(model, q)
    n = len(C)
    if twist == "body":
        blocks = lie.Ad(lie.inverse(C)[:, None] @ C)
    elif twist == "spatial":
        poses = C @ lie.inverse(reference_configurations(model)) if screws == "reference" else C
        blocks = np.broadcast_to(lie.Ad(poses), (n, n, 6, 6))
    elif twist == "hybrid":
        r = C[:, :3, 3]
        blocks = Ad_r(r - r[:, None])
    else:
        raise ArgumentError(f"A exists for 'body', 'spatial' and 'hybrid', got {twist!r}")
    return _assemble(blocks * is_inward(model)[:, :, None, None])


def matrix_D(model: Model, q: AnyArray) -> AnyArray:
    """Matrix D^b with the blocks Ad_{C_{i,i-1}}, (6n, 6n): A^b = (1 - D^b)^-1 (eq. 11)."""
    Ad = lie.Ad(lie.inverse(relative_configurations(model, q)))
    n = len(Ad)
    blocks = np.zeros((n, n, 6, 6), Ad.dtype)
    for i, p in enumerate(model.nodes.parent):
        if p >= 0:
            blocks[i, p] = Ad[i]
    return _assemble(blocks)


def matrix_X(model: Model, screws: AnyArray) -> AnyArray:
    """Block-diagonal matrix of joint screws, (6n, nv), eq. 112.

    Args:
        model: the robot.
        screws: (6, nv) columns: iX_i gives X^b, Y_i gives Y^s, 0X_i^i gives X^h, J_i^s gives the
            diag(J_1^s, ..., J_n^s) of eq. 18.
    """
    columns = column_nodes(model)
    out = np.zeros((len(model.nodes.parent), 6, model.nv), screws.dtype)
    out[columns, :, np.arange(model.nv)] = screws.T
    return out.reshape(-1, model.nv)


def _assemble(blocks: AnyArray) -> AnyArray:
    n = len(blocks)
    return blocks.transpose(0, 2, 1, 3).reshape(6 * n, 6 * n)


class JointMotion(NamedTuple):
    """Rates and accelerations of the joints."""

    v: AnyArray
    """(nv,)."""
    a: AnyArray
    """(nv,)."""


def inverse_kinematics(
    model: Model, q: AnyArray, V: AnyArray, dV: AnyArray, twist: str = "body"
) -> JointMotion:
    """Rates and accelerations of the joints from the twists and accelerations of the bodies.

    Body-fixed: remark 9 of [62] and eq. 11, in components (remark 1),
    v_i = X_i^+ (V_i - Ad V_{i-1}) and a_i = X_i^+ (dV_i - Ad dV_{i-1} + [X_i v_i, V_i]), with the
    pseudoinverse X^+ = (X^T X)^-1 X^T. Spatial: the same with the differences of eq. 70,
    a_j = (J_j^s)^+ (dV_j - dV_{j-1} - [V_{j-1}, V_j]).

    Args:
        model: the robot.
        q: (nq,) coordinates.
        V: (n, 6) twists.
        dV: (n, 6) their component-wise derivatives.
        twist: "body" or "spatial".

    Returns:
        (v, a), both (nv,).
    """
    if twist not in ("body", "spatial"):
        raise ArgumentError(f"twist must be 'body' or 'spatial', got {twist!r}")
    C = configurations(model, q)
    body = twist == "body"
    screws = joint_screws(model) if body else spatial_screws(model, C)
    Ad = lie.Ad(lie.inverse(relative_configurations(model, q)))
    columns = column_nodes(model)
    v = np.zeros(model.nv, np.result_type(C, V, dV))
    a = np.zeros_like(v)
    for i, p in enumerate(model.nodes.parent):
        k = columns == i
        X = screws[:, k]
        up, dup = (V[p], dV[p]) if p >= 0 else (np.zeros(6), np.zeros(6))
        if body:
            up, dup = Ad[i] @ up, Ad[i] @ dup
        v[k] = _pseudo_solve(X, V[i] - up)
        convective = bracket(X @ v[k], V[i]) if body else -bracket(up, V[i])
        a[k] = _pseudo_solve(X, dV[i] - dup + convective)
    return JointMotion(v, a)


def _pseudo_solve(X: AnyArray, y: AnyArray) -> AnyArray:
    out: AnyArray = np.linalg.solve(X.T @ X, X.T @ y)
    return out


def convert_wrenches(C: AnyArray, W_body: AnyArray, twist: str) -> AnyArray:
    """Express body-fixed wrenches (n, 6) in a representation, eq. 120."""
    if twist == "spatial":
        return apply(transposed(lie.Ad(lie.inverse(C))), W_body)
    return apply(representation(C, twist), W_body)  # orthogonal: its own inverse transpose
