"""What the papers share: how a joint moves, and products over leading axes.

Everything is for real and complex numbers. Leading axes of coordinates are batch axes.
"""

from __future__ import annotations

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.model import Model
from jounce.model.joints import SIZES
from jounce.model.nodes import Nodes

__all__ = [
    "apply",
    "joint_motion",
    "joint_motions",
    "joint_poses",
    "node_pose",
    "spans",
    "transposed",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def apply(matrices: AnyArray, vectors: AnyArray) -> AnyArray:
    """Multiply (..., m, n) matrices by (..., n) vectors."""
    product: AnyArray = (matrices @ vectors[..., None])[..., 0]
    return product


def transposed(matrices: AnyArray) -> AnyArray:
    """Transpose (..., m, n) matrices."""
    return np.swapaxes(matrices, -1, -2)


def spans(starts: AnyArray, size: int) -> list[slice]:
    """Where the coordinates, or the rates, of each node sit; the last end at `size`."""
    ends = [*starts[1:], size]
    return [slice(int(a), int(b)) for a, b in zip(starts, ends, strict=True)]


def joint_motion(q: AnyArray, screw: AnyArray, alignment: AnyArray | None = None) -> AnyArray:
    """Motion of an elementary joint in the frame of its node, (..., 4, 4); the identity at neutral.

    Args:
        q: (..., 1) coordinate of a joint that moves along one screw, or, in the joint's own frame,
            (..., 4) quaternion of a spherical or (..., 7) quaternion and position of a free joint.
        screw: (..., 6) of the joint with one coordinate, in the frame of the node.
        alignment: (..., 4, 4) pose of the joint's own frame in the node's, read by the others.
    """
    if q.shape[-1] == 1:
        return lie.exp(screw * q)
    own = np.zeros((*q.shape[:-1], 4, 4), np.result_type(q, float))
    own[..., :3, :3] = lie.quat_to_matrix(q[..., :4])
    own[..., 3, 3] = 1.0
    if q.shape[-1] == 7:
        own[..., :3, 3] = q[..., 4:]
    motion: AnyArray = alignment @ own @ lie.inverse(alignment)  # type: ignore[arg-type,operator]
    return motion


def joint_motions(model: Model, q: ArrayLike) -> AnyArray:
    """Motion of every joint in the frame of its node, (..., n, 4, 4), from q (..., nq)."""
    nodes, q = model.nodes, np.asarray(q)
    sizes = SIZES[nodes.kind, 0]
    out: AnyArray = np.zeros(
        (*q.shape[:-1], len(sizes), 4, 4), np.result_type(q, nodes.screws, nodes.alignment)
    )
    for size in set(sizes.tolist()):
        of_size = np.flatnonzero(sizes == size)
        own = q[..., nodes.q_index[of_size, None] + np.arange(size)]
        screws = nodes.screws[:, nodes.v_index[of_size]].T
        out[..., of_size, :, :] = joint_motion(own, screws, nodes.alignment[of_size])
    return out


def joint_poses(model: Model, q: ArrayLike) -> AnyArray:
    """Pose of every node in its parent's frame, (..., n, 4, 4), from q (..., nq)."""
    poses: AnyArray = model.nodes.placement @ joint_motions(model, q)
    return poses


def node_pose(nodes: Nodes, i: int, q: ArrayLike) -> AnyArray:
    """Pose of one node in its parent's frame, (..., 4, 4), from q (..., nq)."""
    start = nodes.q_index[i]
    own = np.asarray(q)[..., start : start + SIZES[nodes.kind[i], 0]]
    screw, alignment = nodes.screws[:, nodes.v_index[i]], nodes.alignment[i]
    pose: AnyArray = nodes.placement[i] @ joint_motion(own, screw, alignment)
    return pose
