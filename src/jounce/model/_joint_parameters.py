"""Parameters of joints as changes of a model's tangent, see core/batch/shape.hpp."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.errors import UnknownNameError, unknown_name
from jounce.model import inertia
from jounce.model.joints import ELEMENTARY, Joint, frames_along
from jounce.model.model import Model
from jounce.model.nodes import NODE

__all__ = [
    "RATES",
    "Row",
    "axis_rows",
    "has_no_directions",
    "pitch_rows",
    "placed_body",
    "placement_rows",
    "rate_rows",
]

RATES = ("armature", "stiffness", "damping")
"""In the order of a model's tangent, see core/batch/shape.hpp."""
WITH_AXIS = (
    "revolute",
    "continuous",
    "prismatic",
    "helical",
    "cylindrical",
    "planar",
    "universal",
)

NEAR_JUMP = 1e-6
"""So near to -z, turns of the axis of a planar joint turn its directions a million times as far."""


class Row(NamedTuple):
    """A parameter of a joint: its value, and what changes in the model's tangent, from where on."""

    component: int
    value: float
    changes: list[tuple[int, Array]]


def rate_rows(kind: str) -> Callable[[Model, str], list[Row]]:
    def rows(model: Model, name: str) -> list[Row]:
        own = model.v_slice(name)
        start = NODE * len(model.nodes.kind) + RATES.index(kind) * model.nv
        values = getattr(model, kind)
        return [
            Row(k - own.start, float(values[k]), [(start + k, np.ones(1))])
            for k in range(own.start, own.stop)
        ]

    return rows


def _joint_nodes(model: Model, name: str) -> list[int]:
    nodes: list[int] = np.flatnonzero(model.nodes.joint == model.joint_index(name)).tolist()
    return nodes


def placement_rows(model: Model, name: str) -> list[Row]:
    """The twist along the axes of the node that a joint, or a body's first joint, begins with."""
    if name in model._joint_index:
        node = _joint_nodes(model, name)[0]
        if node not in model._first_nodes:
            return []  # it stands where the joint before it of the same body ends
    elif name in model._body_index:
        node = int(model._first_nodes[model.body_index(name)])
    elif name in model.frames:
        return [Row(k, 0.0, []) for k in range(6)]
    else:
        unknown = unknown_name("joint, body or frame", name, [*model.joint_names, *model.frames])
        raise UnknownNameError(f"{unknown} (fixed joints are merged and have no placement)")
    own = lie.Ad(lie.inverse(model.nodes.alignment[node]))
    return [Row(k, 0.0, [(NODE * node, own[:, k])]) for k in range(6)]


def placed_body(model: Model, name: str) -> int | None:
    """The body that moves by the placement of this name, read as above; None is a frame's."""
    if name in model._joint_index:
        first = (body.joints[0].name if body.joints else "" for body in model.bodies)
        return list(first).index(name)
    return model._body_index.get(name)


def pitch_rows(model: Model, name: str) -> list[Row]:
    return [
        Row(0, float(model.nodes.pitch[i]), [(NODE * i + 9, np.ones(1))])
        for i in _joint_nodes(model, name)
        if ELEMENTARY[model.nodes.kind[i]] == "helical"
    ]


def axis_rows(model: Model, name: str) -> list[Row]:
    """A turn of the axis turns the frames of all elementary joints that lie along it."""
    joint, nodes = model.joints[model.joint_index(name)], _joint_nodes(model, name)
    if joint.type not in WITH_AXIS or has_no_directions(joint):
        return []
    groups = [[node] for node in nodes] if joint.type == "universal" else [nodes]
    axes = [joint.axis, joint.axis2][: len(groups)]
    rows = []
    for at, (axis, group) in enumerate(zip(axes, groups, strict=True)):
        for k, turn in enumerate(_turns(np.array(axis), joint.type == "planar")):
            changes = [change for node in group for change in _turned(model, node, turn)]
            rows.append(Row(2 * at + k, 0.0, changes))
    return rows


def has_no_directions(joint: Joint) -> bool:
    """Whether the directions of a planar joint jump as its axis moves: those of -z do."""
    x, y, z = joint.axis
    return joint.type == "planar" and z < 0.0 and float(np.hypot(x, y)) <= NEAR_JUMP


def _turns(axis: Array, has_directions: bool) -> Array:
    """Two rotation vectors that turn the frame along an axis as the axis turns.

    The axis n moves along t, that is, by w x n with w = n x t. Where the frame has directions that
    count beside the axis, it is the shortest rotation from z to n, whose quaternion keeps no z: it
    turns by w + c n, c = -(w . z) / (1 + n . z), which grows without end towards -z.
    """
    turns: Array = np.cross(axis, frames_along([axis], [(0.0, 0.0, 0.0)])[0, :3, :2].T)
    if has_directions:
        x, y, z = axis
        along = 1.0 + z if z > 0.0 else (x * x + y * y) / (1.0 - z)  # without cancellation
        turns = turns - np.outer(turns[:, 2] / along, axis)
    return turns


def _turned(model: Model, node: int, turn: Array) -> list[tuple[int, Array]]:
    """The change of the model as the frame of an elementary joint turns about its origin."""
    nodes = model.nodes
    own = nodes.alignment[node][:3, :3].T @ turn
    twist = np.concatenate([own, np.zeros(3)])
    changes = [(NODE * node, twist), (NODE * node + 6, own)]
    ten = inertia.transform(nodes.parameters[node], lie.inverse(nodes.alignment[node]))
    h, I, w = ten[1:4], inertia.rotational(ten), lie.hat(own)  # noqa: E741
    dI = I @ w - w @ I
    changes.append((NODE * node + 11, -np.cross(own, h)))
    changes.append((NODE * node + 14, dI[(0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)]))
    for child in np.flatnonzero(nodes.parent == node).tolist():
        pose = lie.inverse(nodes.alignment[node]) @ nodes.placement[child] @ nodes.alignment[child]
        changes.append((NODE * child, -(lie.Ad(lie.inverse(pose)) @ twist)))
    return changes
