"""The tree in the paper's terms: configurations, joint screws, who moves whom (appendix A).

The paper numbers bodies 1 ... n of a chain, body i hanging from body i-1 by the 1-DoF joint i. Here
body i is node i of `model.nodes`, "i-1" is its parent, "j <= i" is "j is i or an ancestor of i",
and a sum over j <= i runs along the path from the root. Nodes are numbered depth first, so that on
a path the order of the numbers is the order along it. A joint of several degrees of freedom
(spherical, free) has several constant screws as columns; its motion is not the exponential of one
screw, but its twist is still ``screws @ rates`` and the derivative of its pose along a rate is
still ``pose @ hat(screw)``. Functions say where more than that is needed.

All functions take one state (no batch axes), real or complex.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray
from jounce.errors import ArgumentError
from jounce.model import Model, inertia
from jounce.model.nodes import Nodes
from jounce.papers.joints import joint_motions, joint_poses

__all__ = [
    "JointFrames",
    "column_nodes",
    "configurations",
    "configurations_poe",
    "construction_frame_nodes",
    "inertia_matrices",
    "is_inward",
    "joint_frames",
    "joint_screws",
    "node_of_body",
    "nodes_of_bodies",
    "reference_configurations",
    "relative_configurations",
    "scatter_wrenches",
]


def nodes_of_bodies(model: Model) -> AnyArray:
    """Node of each body, (n_bodies,); other nodes are massless steps of compound joints."""
    return np.flatnonzero(model.nodes.body >= 0)


def node_of_body(model: Model, body: str | int) -> int:
    """Node of a body given by name or index."""
    return int(nodes_of_bodies(model)[model.body_index(body)])


def column_nodes(model: Model) -> AnyArray:
    """Node of the joint that each rate belongs to, (nv,)."""
    start = np.append(model.nodes.v_index, model.nv)
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def is_inward(model: Model) -> AnyArray:
    """Mask (n, n): entry [i, j] says j <= i in the paper's sense (j carries i, or is i)."""
    parent = model.nodes.parent
    mask = np.eye(len(parent), dtype=bool)
    for i, p in enumerate(parent):
        if p >= 0:
            mask[i] |= mask[p]
    return mask


def relative_configurations(model: Model, q: AnyArray) -> AnyArray:
    """Pose of each body in its parent, C_{i-1,i} = B_i exp(iX_i q_i), (n, 4, 4), eq. 91."""
    return joint_poses(model, q)


def configurations(model: Model, q: AnyArray) -> AnyArray:
    """Absolute pose of each body, C_i = C_{i-1} B_i exp(iX_i q_i), (n, 4, 4), eq. 92."""
    C = relative_configurations(model, q)
    for i, p in enumerate(model.nodes.parent):
        if p >= 0:
            C[i] = C[p] @ C[i]
    return C


def reference_configurations(model: Model) -> AnyArray:
    """Absolute pose A_i = C_i(0) of each body at the neutral configuration, (n, 4, 4)."""
    A: AnyArray = model.nodes.placement.copy()
    for i, p in enumerate(model.nodes.parent):
        if p >= 0:
            A[i] = A[p] @ A[i]
    return A


def configurations_poe(model: Model, q: AnyArray) -> AnyArray:
    """Absolute poses by the product of exponentials, exp(Y_1 q_1) ... exp(Y_i q_i) A_i, eq. 93.

    The motion of a multi-DoF joint takes the place of its exponential, moved to the reference
    configuration by A_i.

    Returns:
        (n, 4, 4). Identity: equal to `configurations`.
    """
    A = reference_configurations(model)
    motions = A @ joint_motions(model, q) @ lie.inverse(A)  # exp(Y_i q_i)
    for i, p in enumerate(model.nodes.parent):
        if p >= 0:
            motions[i] = motions[p] @ motions[i]
    out: AnyArray = motions @ A
    return out


class JointFrames(NamedTuple):
    """The two frames of each joint, eq. 91."""

    parent: AnyArray
    """(n, 4, 4) S_{i-1,i}, in the parent."""
    body: AnyArray
    """(n, 4, 4) S_{i,i}, in the body."""


def joint_frames(model: Model) -> JointFrames:
    """Joint frames S_{i-1,i} in the parent and S_{i,i} in the body, each (n, 4, 4), eq. 91.

    Identity: ``B_i == S_{i-1,i} @ inverse(S_{i,i})``.
    """
    S_body = model.nodes.alignment
    return JointFrames(model.nodes.placement @ S_body, S_body)


def joint_screws(model: Model, frame: str = "body") -> AnyArray:
    """Constant joint screws as columns, (6, nv), eq. 94.

    Args:
        model: the robot.
        frame: "body" gives iX_i, in the frame of the body that the joint moves; "reference" gives
            Y_i = Ad_{A_i} iX_i, in the world at the neutral configuration; "joint" gives
            (i-1)Z_i = Ad_{S_{i,i}}^-1 iX_i, in the joint's own frame.
    """
    X: AnyArray = model.nodes.screws
    if frame == "body":
        return X
    if frame == "reference":
        poses = reference_configurations(model)
    elif frame == "joint":
        poses = lie.inverse(joint_frames(model)[1])
    else:
        raise ArgumentError(f"frame must be 'body', 'reference' or 'joint', got {frame!r}")
    out: AnyArray = np.einsum("jab,bj->aj", lie.Ad(poses)[column_nodes(model)], X)
    return out


def construction_frame_nodes(model: Model) -> Nodes:
    """The same robot with all body frames in the world at the neutral configuration (Sec. 4.4).

    Then A_i = B_i = 1 and iX_i = Y_i: geometry and inertias are read off one construction drawing.
    Joint forces and spatial twists do not change.

    Returns:
        Node arrays with placements 1, screws Y and inertial parameters about the world's origin.
    """
    nodes = model.nodes
    A = reference_configurations(model)
    return nodes._replace(
        placement=np.broadcast_to(np.eye(4), A.shape),
        alignment=A @ nodes.alignment,
        screws=joint_screws(model, "reference"),
        parameters=inertia.transform(nodes.parameters, A),
    )


def inertia_matrices(model: Model) -> AnyArray:
    """Inertia matrix M_i^b of each body in its frame, (n, 6, 6), eq. 40; zero without a body."""
    return inertia.matrix(model.nodes.parameters)


def scatter_wrenches(model: Model, f_ext: AnyArray | None, dtype: Any = float) -> AnyArray:
    """Body-fixed applied wrenches of all nodes, (n, 6), from those of the bodies, (n_bodies, 6)."""
    out = np.zeros((len(model.nodes.parent), 6), dtype)
    if f_ext is not None:
        out = out.astype(np.result_type(dtype, f_ext))
        out[nodes_of_bodies(model)] = f_ext
    return out
