"""The recursive Newton-Euler algorithms in the four representations, for trees (Sec. 4).

Each representation has a forward recursion from the base outward and a backward recursion. The
wrench of body i sums over all its children where the paper has the one body i+1.

Deviations: the backward recursions start at i = n (eq. 67a, 71b and 76b print n - 1) with no wrench
from outward, and applied wrenches are subtracted (the paper adds them, with the sign of a
reaction). The paper leaves gravity out; here it is part of the applied wrenches, M_i times the
acceleration of gravity. Armature adds ``armature * a`` to the joint forces.
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
    inertia_matrices,
    joint_screws,
    relative_configurations,
    scatter_wrenches,
)
from jounce.papers.mueller.kinematics import (
    check,
    convert_wrenches,
    instantaneous_screws,
    matrix_X,
    representation,
    spatial_screws,
)
from jounce.papers.mueller.newton_euler import (
    hybrid_inertia,
    newton_euler_body,
    newton_euler_hybrid,
    newton_euler_mixed,
    newton_euler_spatial,
    spatial_inertia,
)
from jounce.papers.mueller.screws import Ad_r, ad_omega, ad_v, bracket

__all__ = [
    "Motion",
    "OperationCounts",
    "applied_wrenches",
    "forward_kinematics",
    "inverse_dynamics",
    "operation_counts",
]


class Motion(NamedTuple):
    """What a forward recursion hands to the backward one."""

    C: AnyArray
    """(n, 4, 4) poses."""
    V: AnyArray
    """(n, 6) twists."""
    V_dot: AnyArray
    """(n, 6) derivatives of their components."""
    screws: AnyArray
    """(6, nv) joint screws of the representation: iX_i, J_i^s, 0X_i^i, or mixed."""


def forward_kinematics(
    model: Model, q: AnyArray, v: AnyArray, a: AnyArray, twist: str = "body", form: str = "a"
) -> Motion:
    """Poses, twists and accelerations by recursion: eq. 66, 70, 75, or mixed.

    Args:
        model: the robot.
        q: (nq,) coordinates.
        v: (nv,) rates.
        a: (nv,) accelerations.
        twist: representation.
        form: which of the equivalent acceleration recursions: "a", "b", "c" of eq. 65 for "body";
            "a", "b", "c" for eq. 72, 73, 74 for "hybrid". The others have one form.
    """
    check(twist)
    if form not in ("a", "b", "c"):
        raise ArgumentError(f"form must be 'a', 'b' or 'c', got {form!r}")
    C = configurations(model, q)  # (66a), (70a), (75a)
    v, a = np.asarray(v), np.asarray(a)
    if twist == "body":
        return _forward_body(model, C, lie.inverse(relative_configurations(model, q)), v, a, form)
    if twist == "spatial":
        return _forward_spatial(model, C, v, a)
    if twist == "hybrid":
        return _forward_hybrid(model, C, v, a, form)
    return _forward_mixed(model, C, v, a)


def _joint_twists(
    model: Model, screws: AnyArray, v: AnyArray, a: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Screws times rates and times accelerations, for each node, both (n, 6)."""
    X = matrix_X(model, screws)
    return (X @ v).reshape(-1, 6), (X @ a).reshape(-1, 6)


def _forward_body(
    model: Model, C: AnyArray, C_parent: AnyArray, v: AnyArray, a: AnyArray, form: str
) -> Motion:
    """Eq. 66; C_parent holds C_{i,i-1}, the pose of the parent in the body."""
    X = joint_screws(model)
    s, ds = _joint_twists(model, X, v, a)
    V, dV = s.astype(np.result_type(C, s, ds)), ds.astype(np.result_type(C, s, ds))
    for i, p in enumerate(model.nodes.parent):
        if p < 0:
            continue
        Ad = lie.Ad(C_parent[i])
        carried = Ad @ V[p]
        V[i] += carried  # (66b)
        first, second = {"a": (carried, s[i]), "b": (carried, V[i]), "c": (V[i], s[i])}[form]
        dV[i] += Ad @ dV[p] + bracket(first, second)  # (65a), (65b), (65c) = (66c)
    return Motion(C, V, dV, X)


def _forward_spatial(model: Model, C: AnyArray, v: AnyArray, a: AnyArray) -> Motion:
    """Eq. 70."""
    J = spatial_screws(model, C)  # (70b)
    V, dV = _joint_twists(model, J, v, a)
    dV = dV.astype(np.result_type(V, dV))
    for i, p in enumerate(model.nodes.parent):
        if p >= 0:
            V[i] += V[p]  # (70c)
            dV[i] += dV[p] + bracket(V[p], V[i])  # (70d)
    return Motion(C, V, dV, J)


def _forward_hybrid(model: Model, C: AnyArray, v: AnyArray, a: AnyArray, form: str) -> Motion:
    """Eq. 75, with r_{i,p} = r_p - r_i; linear parts of V are the velocities dr of the origins."""
    X = instantaneous_screws(model, C)  # (75b)
    s, dV = _joint_twists(model, X, v, a)
    V = s.copy()
    dV = dV.astype(np.result_type(s, dV))
    r = C[:, :3, 3]
    for i, p in enumerate(model.nodes.parent):
        Vp, dVp = (V[p], dV[p]) if p >= 0 else (np.zeros(6), np.zeros(6))
        Ad = Ad_r(r[p] - r[i]) if p >= 0 else np.eye(6)
        V[i] += Ad @ Vp  # (75c)
        dr_p, dr_i = Vp[3:], V[i, 3:]
        if form == "a":
            rest = ad_v(dr_p - dr_i) @ Vp + ad_omega(V[i, :3]) @ s[i]  # (72) = (75d)
        elif form == "b":
            rest = ad_v(dr_p) @ Vp - ad_v(dr_i) @ V[i] + bracket(V[i], s[i])  # (73)
        else:
            rest = ad_v(dr_p - dr_i) @ V[i] + bracket(V[i], s[i]) - ad_v(dr_p) @ s[i]  # (74)
        dV[i] += Ad @ dVp + rest
    return Motion(C, V, dV, X)


def _forward_mixed(model: Model, C: AnyArray, v: AnyArray, a: AnyArray) -> Motion:
    """Angular part as in eq. 66 (in body axes), linear part as in eq. 75 (in world axes)."""
    X = apply(representation(C, "mixed")[column_nodes(model)], joint_screws(model).T).T
    V, dV = _joint_twists(model, X, v, a)
    s = V.copy()
    dV = dV.astype(np.result_type(V, dV))
    r, R = C[:, :3, 3], C[:, :3, :3]
    for i, p in enumerate(model.nodes.parent):
        turned = np.zeros(3)
        if p >= 0:
            relative = R[i].T @ R[p]
            turned = relative @ V[p, :3]
            lever = r[i] - r[p]
            w, dw = lie.hat(R[p] @ V[p, :3]), lie.hat(R[p] @ dV[p, :3])
            dlever = w @ lever + s[i, 3:]  # dr_i - dr_p
            V[i, 3:] += V[p, 3:] + w @ lever
            dV[i, :3] += relative @ dV[p, :3]
            dV[i, 3:] += dV[p, 3:] + dw @ lever + w @ dlever
        V[i, :3] += turned
        dV[i, :3] += lie.hat(turned) @ s[i, :3]
        dV[i, 3:] += lie.hat(R[i] @ V[i, :3]) @ s[i, 3:]
    return Motion(C, V, dV, X)


def applied_wrenches(
    model: Model, C: AnyArray, f_ext: AnyArray | None = None, twist: str = "body"
) -> AnyArray:
    """Applied wrench W_i^app of each body, (n, 6): given body-fixed wrenches, and gravity.

    The wrench of gravity is M_i^b (0, R_i^T g), in every representation converted by eq. 120.
    """
    field = np.zeros((len(C), 6), C.dtype)
    field[:, 3:] = np.einsum("nba,b->na", C[:, :3, :3], model.gravity)
    W = apply(inertia_matrices(model), field) + scatter_wrenches(model, f_ext, C.dtype)
    return convert_wrenches(C, W, twist)


def inverse_dynamics(
    model: Model,
    q: AnyArray,
    v: AnyArray,
    a: AnyArray,
    f_ext: AnyArray | None = None,
    twist: str = "body",
) -> AnyArray:
    """Generalized forces Q by the recursive Newton-Euler algorithm, (nv,).

    Body-fixed: eq. 66, 67. Spatial: eq. 70, 71. Hybrid: eq. 75, 76. Mixed: eq. 56, 57 between the
    recursions of the angular parts of the first and the linear parts of the third.

    Args:
        model: the robot.
        q: (nq,) coordinates.
        v: (nv,) rates.
        a: (nv,) accelerations.
        f_ext: (n_bodies, 6) applied wrenches, body-fixed whatever the representation.
        twist: representation the recursion runs in.
    """
    motion = forward_kinematics(model, q, v, a, twist)
    W = body_wrenches(model, motion, twist) - applied_wrenches(model, motion.C, f_ext, twist)
    transfer = _transfers(model, q, motion.C, twist)
    for i in range(len(W) - 1, -1, -1):
        p = model.nodes.parent[i]
        if p >= 0:
            W[p] += transfer[i] @ W[i]  # (67a), (71b), (76b)
    Q: AnyArray = np.einsum(
        "aj,ja->j", motion.screws, W[column_nodes(model)]
    )  # (67b), (71c), (76c)
    Q = Q + model.armature * np.asarray(a)
    return Q


def body_wrenches(model: Model, motion: Motion, twist: str) -> AnyArray:
    """Newton-Euler terms of each body without applied wrenches, (n, 6), eq. 41, 38, 53, 56-57."""
    C, V, dV, _ = motion
    M, R = inertia_matrices(model), C[:, :3, :3]
    if twist == "body":
        return newton_euler_body(M, V, dV)
    if twist == "spatial":
        return newton_euler_spatial(spatial_inertia(M, C), V, dV)  # (71a)
    if twist == "hybrid":
        return newton_euler_hybrid(hybrid_inertia(M, R), V, dV)  # (76a)
    return newton_euler_mixed(model.nodes.parameters, R, V, dV)


def _transfers(model: Model, q: AnyArray, C: AnyArray, twist: str) -> AnyArray:
    """Matrices that take the wrench of a body to its parent, (n, 6, 6); unused at the roots."""
    if twist == "body":
        Ad = lie.Ad(lie.inverse(relative_configurations(model, q)))
        return transposed(Ad)  # Ad_{C_{i+1,i}}^T
    if twist == "spatial":
        return np.broadcast_to(np.eye(6), (len(C), 6, 6))
    parent = np.maximum(model.nodes.parent, 0)
    lever = C[:, :3, 3] - C[parent, :3, 3]
    hybrid = transposed(Ad_r(-lever))  # Ad_{r_{i+1,i}}^T
    if twist == "hybrid":
        return hybrid
    to_world, to_body = representation(C, "hybrid"), representation(C[parent], "hybrid")
    to_world[:, 3:, 3:] = np.eye(3)
    to_body[:, 3:, 3:] = np.eye(3)
    out: AnyArray = transposed(to_body) @ hybrid @ to_world
    return out


class OperationCounts(NamedTuple):
    """Operations of one inverse dynamics, as Sec. 4 counts them."""

    frame_transformations: int
    """Screws moved between frames by rotation and translation."""
    translations: int
    """Screws moved by a translation alone."""
    rotations: int
    """Screws turned alone."""
    inertia_transformations: int
    """Inertia matrices moved, or turned for the hybrid form."""
    brackets: int
    """Lie brackets."""


def operation_counts(model: Model, twist: str = "body") -> OperationCounts:
    """Operations of the recursive algorithms ("Computational Effort" in Sec. 4.1, 4.2, 4.3).

    For a chain these are the paper's totals, body-fixed 3(n-1) frame transformations and 2n-1
    brackets; spatial n frame transformations, n of inertias, 2n-1 brackets; hybrid 3(n-1)
    translations, n rotations, n rotations of inertias, 3n-1 brackets. In a tree n-1 becomes the
    number of bodies that have a parent.
    """
    n = len(model.nodes.parent)
    inner = int(np.count_nonzero(model.nodes.parent >= 0))
    if twist == "body":
        return OperationCounts(3 * inner, 0, 0, 0, inner + n)
    if twist == "spatial":
        return OperationCounts(n, 0, 0, n, inner + n)
    if twist == "hybrid":
        return OperationCounts(0, 3 * inner, n, n, inner + 2 * n)
    raise ArgumentError(f"the paper counts 'body', 'spatial' and 'hybrid', got {twist!r}")
