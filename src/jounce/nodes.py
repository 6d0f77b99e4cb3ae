"""The tree of elementary joints that the recursions run over.

A body with a compound joint (or with several joints, as in MJCF) is reached through massless
intermediate nodes, so there are at least as many nodes as bodies. Nodes are numbered depth
first: a parent comes before its children and a subtree is a contiguous range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jounce import lie
from jounce.errors import ModelError
from jounce.joints import ELEMENTARY, Elementary, Joint, elementary_joints

__all__ = ["Body", "Nodes", "build_nodes"]

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int32]


class Body(NamedTuple):
    """A rigid body and the joint(s) that connect it to its parent (-1: the world).

    `placement` is the pose of the body's frame in the parent's frame at q = neutral, and
    `parameters` are the ten inertial parameters about the body's frame.
    """

    name: str
    parent: int
    placement: Array
    joints: tuple[Joint, ...]
    parameters: Array


class Nodes(NamedTuple):
    """Elementary joints as arrays, one entry each; frames are those of the bodies.

    At coordinates q the pose of node i in its parent is ``placement[i] @ exp(screws v)`` for a
    1-DoF joint, and ``placement[i] @ A G(q) A^-1`` with ``A = alignment[i]`` for all kinds.
    """

    parent: Index
    """(n,) parent node, -1 for the world."""
    kind: Index
    """(n,) position in `jounce.joints.ELEMENTARY`."""
    body: Index
    """(n,) body index, -1 for a massless intermediate node."""
    joint: Index
    """(n,) joint index."""
    q_index: Index
    """(n,) first coordinate."""
    v_index: Index
    """(n,) first rate."""
    placement: Array
    """(n, 4, 4) pose in the parent node at the neutral configuration."""
    alignment: Array
    """(n, 4, 4) pose of the joint's own frame (it acts about and along z) in the node's."""
    pitch: Array
    """(n,) advance of a helical joint, m/rad."""
    parameters: Array
    """(n, 10) inertial parameters."""
    screws: Array
    """(6, nv) joint screws as columns, each in its own node's frame (constant)."""


def build_nodes(bodies: Sequence[Body]) -> Nodes:
    """Expand every body's joints into elementary joints."""
    rows: list[tuple[int, int, int, int, int]] = []
    poses: list[Array] = []
    elements: list[Elementary] = []
    parameters: list[Array] = []
    last_node: list[int] = []
    joint_index = 0
    for index, body in enumerate(bodies):
        parent = last_node[body.parent] if body.parent >= 0 else -1
        pose = body.placement
        for joint in body.joints:
            for element in elementary_joints(joint):
                rows.append((parent, element.kind, -1, joint_index, element.nv))
                poses.append(pose)
                elements.append(element)
                parameters.append(_MASSLESS)
                parent, pose = len(rows) - 1, _IDENTITY
            joint_index += 1
        if not rows or parent != len(rows) - 1:
            raise ModelError(f"body {body.name!r} has no movable joint")
        rows[-1] = (*rows[-1][:2], index, *rows[-1][3:])
        parameters[-1] = body.parameters
        last_node.append(len(rows) - 1)
    return _as_arrays(rows, poses, elements, parameters)


_IDENTITY = np.eye(4)
_MASSLESS = np.zeros(10)


def _as_arrays(
    rows: list[tuple[int, int, int, int, int]],
    poses: list[Array],
    elements: list[Elementary],
    parameters: list[Array],
) -> Nodes:
    table = np.array(rows, np.int32).reshape(-1, 5)
    nq = np.array([e.nq for e in elements], np.int32)
    alignment = np.array([e.alignment for e in elements]).reshape(-1, 4, 4)
    pitch = np.array([e.pitch for e in elements], float)
    nodes = Nodes(
        parent=np.ascontiguousarray(table[:, 0]),
        kind=np.ascontiguousarray(table[:, 1]),
        body=np.ascontiguousarray(table[:, 2]),
        joint=np.ascontiguousarray(table[:, 3]),
        q_index=np.concatenate([[0], np.cumsum(nq)[:-1]]).astype(np.int32)[: len(rows)],
        v_index=np.concatenate([[0], np.cumsum(table[:, 4])[:-1]]).astype(np.int32)[: len(rows)],
        placement=np.array(poses).reshape(-1, 4, 4),
        alignment=alignment,
        pitch=pitch,
        parameters=np.array(parameters).reshape(-1, 10),
        screws=_screws(table[:, 1], alignment, pitch),
    )
    for array in nodes:
        array.setflags(write=False)
    return nodes


def _screws(kind: Index, alignment: Array, pitch: Array) -> Array:
    """Stack the constant joint screws, ``Ad(alignment) @ (own screws)``, as columns."""
    own = {
        "revolute": np.eye(6)[:, 2:3],
        "prismatic": np.eye(6)[:, 5:6],
        "helical": np.eye(6)[:, 2:3],
        "spherical": np.eye(6)[:, :3],
        "free": np.eye(6),
    }
    columns = []
    for k, adjoint, h in zip(kind, lie.Ad(alignment), pitch, strict=True):
        screw = adjoint @ own[ELEMENTARY[k]]
        columns.append(screw if h == 0 else screw + h * adjoint[:, 5:6])
    return np.hstack(columns) if columns else np.zeros((6, 0))
