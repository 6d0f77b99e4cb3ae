"""How an elementary joint moves, for real and complex coordinates: all that the papers share."""

from __future__ import annotations

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.model import Model
from jounce.model.joints import ELEMENTARY, SIZES

__all__ = ["group_motion", "joint_motions"]

_HELICAL = ELEMENTARY.index("helical")  # it and those before it have one coordinate


def group_motion(q: AnyArray, alignment: AnyArray) -> AnyArray:
    """Motion of a spherical or free joint in the frame of its node, (4, 4).

    Args:
        q: (4,) quaternion, or (7,) quaternion and position, in the joint's own frame.
        alignment: (4, 4) pose of the joint's own frame in the node's.
    """
    own = np.eye(4, dtype=np.result_type(q, float))
    own[:3, :3] = lie.quat_to_matrix(q[:4])
    if len(q) > 4:
        own[:3, 3] = q[4:]
    motion: AnyArray = alignment @ own @ lie.inverse(alignment)
    return motion


def joint_motions(model: Model, q: ArrayLike) -> AnyArray:
    """Motion of each joint in the frame of its node, (n, 4, 4): the identity at neutral."""
    nodes, q = model.nodes, np.asarray(q)
    out = np.zeros((len(nodes.parent), 4, 4), np.result_type(q, float))
    one = nodes.kind <= _HELICAL
    screws = nodes.screws[:, nodes.v_index[one]].T
    out[one] = lie.exp(screws * q[nodes.q_index[one], None])
    for i in np.flatnonzero(~one):
        start = nodes.q_index[i]
        own = q[start : start + SIZES[nodes.kind[i], 0]]
        out[i] = group_motion(own, nodes.alignment[i])
    return out
