"""Conversions to and from Drake's `MultibodyPlant`.

=======================  =====================================  ==================================
joint                    Drake                                  jounce
=======================  =====================================  ==================================
free                     quaternion (w, x, y, z), position;     quaternion (x, y, z, w), position;
(`quaternion_floating`)  angular, linear, both in world axes    angular, linear, both in body axes
spherical                roll, pitch, yaw;                      quaternion (x, y, z, w);
(`ball_rpy`)             angular velocity in the parent's axes  angular velocity in body axes
planar                   x, y, angle; their derivatives         the same, in the same directions
revolute, prismatic,     the same
`screw`, universal
=======================  =====================================  ==================================

Drake names the joint of a floating base after its body; it is matched with the free joint of the
model whatever its name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.errors import ModelError
from jounce.interop._common import Block, Chart, Group, Peer, Plain, match, require_models
from jounce.interop._drake_model import from_drake, moving_joints
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
            nothing else in it; joints are matched by name.

    Raises:
        ArgumentTypeError: one of the models is something else.
        ModelError: a joint of one model is missing in the other, or has another type there, or
            two joints of the plant have the same name.

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
        joints = moving_joints(plant)
        kinds = {name: str(joint.type_name()) for name, joint in joints.items()}
        blocks = {}
        for own, other in match(model, "Drake", kinds, "quaternion_floating").items():
            chart = _chart(model, own, kinds[other], joints[other])
            start = joints[other].position_start(), joints[other].velocity_start()
            blocks[own] = Block(int(start[0]), int(start[1]), chart)
        sizes = int(plant.num_positions()), int(plant.num_velocities())
        super().__init__(model, "Drake", sizes, blocks)


def model(plant: Any) -> Model:
    """Make a model of a plant of Drake, with the same bodies, joints and frames.

    Joints keep their names, limits and damping; actuators give armature (the reflected inertia of
    the rotor) and effort limits. Where a planar, ball or floating joint is given in a frame of the
    child that is turned in a way that no such joint here is, the joint moves a body named after
    child and joint, and the child is a frame of it. States are laid out otherwise: `Converter`
    translates.

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


_SAME = {"revolute": ("revolute", "continuous"), "prismatic": ("prismatic",), "screw": ("helical",)}


def _chart(model: Model, name: str, kind: str, theirs: Any) -> Chart:
    joint = model.joints[model.joint_index(name)]
    if joint.type in _SAME.get(kind, ()):
        return Plain()
    if kind == "universal" and joint.type == "universal":
        return Plain(2)
    if kind == "planar" and joint.type == "planar":
        plane = theirs.frame_on_child().GetFixedPoseInBodyFrame().rotation().matrix()
        child = str(theirs.child_body().name())
        if child in model.frames:  # which may be a frame of what the joint moves
            plane = model.frames[child].placement[:3, :3] @ plane
        if not np.allclose(plane, frames_along([joint.axis], [joint.anchor])[0, :3, :3], atol=1e-9):
            raise ModelError(
                f"joint {joint.name!r}: the directions of Drake's planar joint, in the child's "
                f"frame, are not those of a planar joint with the normal {joint.axis}:\n{plane}"
            )
        return Plain(3)
    if kind == "quaternion_floating" and joint.type == "free":
        order = (3, 0, 1, 2, 4, 5, 6)
        return Group(True, order, range(6), angular_in_body=False, linear_in_body=False)
    if kind == "ball_rpy" and joint.type == "spherical":
        return _RollPitchYaw()
    raise ModelError(
        f"joint {joint.name!r}: there is no conversion between {joint.type!r} and Drake's {kind}"
    )


class _RollPitchYaw(Group):
    """A quaternion here, three angles there; angular velocity in the parent's axes there."""

    def __init__(self) -> None:
        super().__init__(False, range(4), range(3), angular_in_body=False)
        self.sizes = (3, 3)
        self.other_layout = None

    def to_q(self, own: Array) -> Array:
        """Return roll, pitch, yaw; the pitch is between -pi/2 and pi/2."""
        R = lie.quat_to_matrix(own)
        pitch = np.arctan2(-R[..., 2, 0], np.hypot(R[..., 0, 0], R[..., 1, 0]))
        roll = np.arctan2(R[..., 2, 1], R[..., 2, 2])
        return np.stack([roll, pitch, np.arctan2(R[..., 1, 0], R[..., 0, 0])], axis=-1)

    def from_q(self, other: Array) -> Array:
        """Return the quaternion with w >= 0."""
        quaternion: Array = lie.matrix_to_quat(lie.rpy_to_matrix(other))
        return quaternion
