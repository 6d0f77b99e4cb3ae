"""Conversions to and from Drake's `MultibodyPlant`.

=======================  =====================================  ==================================
joint                    Drake                                  jounce
=======================  =====================================  ==================================
free                     quaternion (w, x, y, z), position;     quaternion (x, y, z, w), position;
(`quaternion_floating`)  angular, linear, both in world axes    angular, linear, both in body axes
spherical                roll, pitch, yaw;                      quaternion (x, y, z, w);
(`ball_rpy`)             angular velocity, both in the axes of  angular velocity in body axes
                         the joint's frame on the parent
planar                   x, y, angle; their derivatives         the same, in the same directions
revolute, prismatic,     the same
`screw`, universal
=======================  =====================================  ==================================

Drake names the joint of a floating base after its body; it is matched with the free joint of the
model whatever its name. A joint J of a model N inside of the model M is N::J here, as
`jounce.load_sdf` names it, M::N::J in a world.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.errors import ModelError
from jounce.interop._common import Block, Chart, Group, Peer, Plain, match, require_models
from jounce.interop._drake_model import (
    all_bodies,
    as_declared,
    from_drake,
    moving_joints,
    namings,
    scoped_name,
)
from jounce.kinematics import body_pose, integrate, neutral
from jounce.model import Model
from jounce.model.joints import frames_along

__all__ = ["Converter", "model"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Converter(Peer):
    """Converts q, v, a, tau and square matrices over v between jounce and Drake.

    Args:
        model: the model of jounce.
        plant: the finalized `pydrake.multibody.plant.MultibodyPlant` of the same robot, with
            nothing else in it; joints are matched by name, those of nested models by the names
            of the models, too. A joint that moves a model inside of another may have been declared
            in either, or around both.

    Raises:
        ArgumentTypeError: one of the models is something else.
        ModelError: a joint of one model is missing in the other, or has another type there, or
            moves its body to another pose.

    Examples:
        >>> from pydrake.multibody.plant import MultibodyPlant
        >>> from jounce.interop.drake import Converter, model
        >>> plant = MultibodyPlant(time_step=0.0)
        >>> _ = plant.AddRigidBody("ball")
        >>> plant.Finalize()
        >>> robot = model(plant)
        >>> Converter(robot, plant).to_q(jc.neutral(robot))  # w first
        array([1., 0., 0., 0., 0., 0., 0.])
    """

    def __init__(self, model: Model, plant: Any) -> None:
        require_models(model, plant, "pydrake.multibody.plant.MultibodyPlant", "is_finalized")
        joints, pairs, skipped = _matched(model, moving_joints(plant))
        labels = _labels(model, plant, skipped)
        blocks = {}
        for own, other in pairs.items():
            chart = _chart(model, own, joints[other], labels)
            start = joints[other].position_start(), joints[other].velocity_start()
            blocks[own] = Block(int(start[0]), int(start[1]), chart)
        sizes = int(plant.num_positions()), int(plant.num_velocities())
        super().__init__(model, "Drake", sizes, blocks)
        _check_poses(self, plant, {own: joints[other] for own, other in pairs.items()}, labels)


def model(plant: Any) -> Model:
    """Make a model of a plant of Drake, with the same bodies, joints and frames.

    Joints keep their names, limits and damping; actuators give armature (the reflected inertia of
    the rotor) and effort limits. A joint that moves a model inside of another has that model's name
    before its own, since Drake does not say which of the two declares it. Where a planar, ball or
    floating joint is given in a frame of the child that is turned in a way that no such joint here
    is, the joint moves a body named after child and joint, and the child is a frame of it. States
    are laid out otherwise: `Converter` translates.

    Args:
        plant: the finalized `pydrake.multibody.plant.MultibodyPlant`, with one robot in it or
            several. Contacts, constraints and force elements but gravity are left out.

    Returns:
        The robot.

    Raises:
        ArgumentTypeError: it is something else.
        ModelError: it is not finalized, or has a joint that there is none like here.

    Warns:
        ModelWarning: an inertia is one that no rigid body has.

    Examples:
        >>> from pydrake.multibody.plant import MultibodyPlant
        >>> from jounce.interop.drake import model
        >>> plant = MultibodyPlant(time_step=0.0)
        >>> _ = plant.AddRigidBody("ball")
        >>> plant.Finalize()
        >>> model(plant).joints[0].type
        'free'
    """
    return from_drake(plant)


def _matched(model: Model, joints: Sequence[Any]) -> tuple[dict[str, Any], dict[str, str], int]:
    """Drake's joints by name, those names by ours, and what is left out of scopes in them."""
    refused: list[ModelError] = []
    for skipped, scoped in namings(joints).items():
        named = as_declared(scoped, skipped, model.joint_names)
        kinds = {name: str(joint.type_name()) for name, joint in named.items()}
        try:
            return named, match(model, "Drake", kinds, "quaternion_floating"), skipped
        except ModelError as error:
            refused.append(error)
    raise refused[0]


def _labels(model: Model, plant: Any, skipped: int) -> dict[Any, str]:
    """The frames that Drake's bodies are here, by their indices; those alone that have one."""
    names = {body.index(): scoped_name(body, skipped) for body in all_bodies(plant)[1:]}
    count = Counter(names.values())
    return {i: name for i, name in names.items() if name in model.frames and count[name] == 1}


def _chart(model: Model, name: str, theirs: Any, labels: Mapping[Any, str]) -> Chart:
    joint, kind = model.joints[model.joint_index(name)], str(theirs.type_name())
    if joint.type in _SAME.get(kind, ()):
        return Plain()
    if kind == "universal" and joint.type == "universal":
        return Plain(2)
    on_child = _frame_on_child(model, name, theirs, labels)
    turn = on_child[:3, :3]
    if kind == "planar" and joint.type == "planar":
        if not np.allclose(turn, frames_along([joint.axis], [joint.anchor])[0, :3, :3], atol=1e-9):
            raise ModelError(
                f"joint {joint.name!r}: the directions of Drake's planar joint, in the child's "
                f"frame, are not those of a planar joint with the normal {joint.axis}:\n{turn}"
            )
        return Plain(3)
    if kind == "quaternion_floating" and joint.type == "free":
        if not np.allclose(on_child, np.eye(4), atol=1e-9):
            raise ModelError(
                f"joint {joint.name!r}: the frame of Drake's floating joint on the child is not "
                f"that of the body which the joint moves here:\n{on_child}"
            )
        order = (3, 0, 1, 2, 4, 5, 6)
        return Group(True, order, range(6), angular_in_body=False, linear_in_body=False)
    if kind == "ball_rpy" and joint.type == "spherical":
        return _RollPitchYaw(turn)
    raise ModelError(
        f"joint {joint.name!r}: there is no conversion between {joint.type!r} and Drake's {kind}"
    )


_SAME = {"revolute": ("revolute", "continuous"), "prismatic": ("prismatic",), "screw": ("helical",)}


def _frame_on_child(model: Model, name: str, theirs: Any, labels: Mapping[Any, str]) -> Array:
    """(4, 4) pose of Drake's frame on the child in the body that the joint moves here.

    The child itself may be a mere frame of that body.
    """
    on_child = np.array(theirs.frame_on_child().GetFixedPoseInBodyFrame().GetAsMatrix4())
    moved = next(
        i for i, body in enumerate(model.bodies) if any(x.name == name for x in body.joints)
    )
    label = labels.get(theirs.child_body().index())
    if label is None or model.frames[label].body != moved:
        return on_child
    pose: Array = model.frames[label].placement @ on_child
    return pose


def _check_poses(
    there: Converter, plant: Any, joints: Mapping[str, Any], labels: Mapping[Any, str]
) -> None:
    """Refuse a plant whose joints do not move its bodies as ours do, at some configuration."""
    model = there.model
    q = integrate(model, neutral(model), np.linspace(0.3, 0.6, model.nv))
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, there.to_q(q))
    poses = {label: body_pose(model, q, label) for label in labels.values()}
    for name, joint in joints.items():
        ends = joint.parent_body(), joint.child_body()
        known = [x.index() in labels or x.index() == plant.world_body().index() for x in ends]
        if not all(known):
            continue
        above, below = (poses.get(labels.get(x.index(), ""), np.eye(4)) for x in ends)
        ours = lie.inverse(above) @ below
        theirs = ends[1].body_frame().CalcPose(context, ends[0].body_frame()).GetAsMatrix4()
        if not np.allclose(ours, theirs, rtol=1e-6, atol=1e-6):
            raise ModelError(
                f"joint {name!r} moves {labels[ends[1].index()]!r} otherwise in Drake: its axis, "
                "its zero or a frame of it is another one there; are both models of the same file?"
            )


class _RollPitchYaw(Group):
    """A quaternion here, three angles there; angular velocity in the parent's axes there.

    With the rotation E of Drake's frame M on the child in the body that moves, its rotation is
    R_FM = E^T R E, and its rates are those of M in the axes of F: E^T R w.
    """

    def __init__(self, turn: Array) -> None:
        super().__init__(False, range(4), range(3), angular_in_body=False)
        self.sizes = (3, 3)
        self.other_layout = None
        self._turn = turn

    def to_q(self, own: Array) -> Array:
        """Return roll, pitch, yaw; the pitch is between -pi/2 and pi/2."""
        R = self._turn.T @ lie.quat_to_matrix(own) @ self._turn
        pitch = np.arctan2(-R[..., 2, 0], np.hypot(R[..., 0, 0], R[..., 1, 0]))
        roll = np.arctan2(R[..., 2, 1], R[..., 2, 2])
        return np.stack([roll, pitch, np.arctan2(R[..., 1, 0], R[..., 0, 0])], axis=-1)

    def from_q(self, other: Array) -> Array:
        """Return the quaternion with w >= 0."""
        R = self._turn @ lie.rpy_to_matrix(other) @ self._turn.T
        quaternion: Array = lie.matrix_to_quat(R)
        return quaternion

    def rates(self, own: Array) -> Array:
        """The rotation from body axes to those of Drake's frame on the parent, E^T R."""
        rates: Array = self._turn.T @ super().rates(own)
        return rates

    def spin(self, own: Array, v: Array) -> Array | None:
        """None: the angular velocity turns with itself."""
        return None
