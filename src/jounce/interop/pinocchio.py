"""Conversions to and from Pinocchio.

======================  ==================================  ====================================
joint                   Pinocchio                           jounce
======================  ==================================  ====================================
order of the joints     children sorted by name             children in the order of the file
free                    position, quaternion (x, y, z, w);  quaternion (x, y, z, w), position;
                        linear, angular, in body axes       angular, linear, in body axes
spherical               quaternion (x, y, z, w); angular velocity in body axes (the same)
continuous              cosine, sine                        angle
planar                  x, y, cosine, sine; velocities      x, y, angle; their derivatives
                        of the origin in body axes, rate
revolute, prismatic,    the same
helical, universal
======================  ==================================  ====================================
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jounce._types import Array
from jounce.errors import ModelError
from jounce.interop._common import (
    Block,
    Chart,
    Group,
    Layout,
    Peer,
    Plain,
    match,
    require_models,
    turned,
)
from jounce.interop._pinocchio_model import from_pinocchio
from jounce.model import Model
from jounce.model.joints import Joint

__all__ = ["Converter", "model"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Converter(Peer):
    """Converts q, v, a, tau and square matrices over v between jounce and Pinocchio.

    Args:
        model: the model of jounce.
        pin_model: the `pinocchio.Model` of the same robot, with the same joint frames; joints are
            matched by name.

    Raises:
        ArgumentTypeError: one of the models is something else.
        ModelError: a joint of one model is missing in the other, or has another type there.

    Examples:
        >>> import pinocchio
        >>> from jounce.interop.pinocchio import Converter, model
        >>> theirs = pinocchio.buildSampleModelManipulator()
        >>> ours = model(theirs)
        >>> there, q = Converter(ours, theirs), jc.neutral(ours)
        >>> tau = pinocchio.computeGeneralizedGravity(theirs, theirs.createData(), there.to_q(q))
        >>> bool(np.allclose(there.from_tau(there.to_q(q), tau), jc.gravity_forces(ours, q)))
        True
    """

    def __init__(self, model: Model, pin_model: Any) -> None:
        require_models(model, pin_model, "pinocchio.Model", "njoints")
        joints = {str(pin_model.names[k]): pin_model.joints[k] for k in range(1, pin_model.njoints)}
        kinds = {name: _kind(joint) for name, joint in joints.items()}
        blocks = {}
        for own, other in match(model, "Pinocchio", kinds, "FreeFlyer").items():
            chart = _chart(model.joints[model.joint_index(own)], kinds[other])
            blocks[own] = Block(int(joints[other].idx_q), int(joints[other].idx_v), chart)
        sizes = int(pin_model.nq), int(pin_model.nv)
        super().__init__(model, "Pinocchio", sizes, blocks)


def model(pin_model: Any) -> Model:
    """Make a model of one of Pinocchio, with the same joint frames and inertias.

    Joints keep their names, limits, damping, friction and armature; the body that a joint moves is
    named after the link in its frame, and all other frames but those of joints become frames.
    Reference configurations become poses. The order of the joints may differ where Pinocchio's is
    not depth first, and states are laid out otherwise: `Converter` translates.
    JointModelTranslation and JointModelSphericalZYX become three joints each, named with "_x",
    "_y", "_z", and a composite joint its parts, named with their numbers; a converter does not
    know these, and refuses a robot that has them and reference configurations, too.

    Args:
        pin_model: the `pinocchio.Model`.

    Returns:
        The robot.

    Raises:
        ArgumentTypeError: it is something else.
        ModelError: it has a joint that there is none like here (mimic, ellipsoid).

    Warns:
        ModelWarning: an inertia is one that no rigid body has.

    Examples:
        >>> import pinocchio
        >>> from jounce.interop.pinocchio import model
        >>> model(pinocchio.buildSampleModelManipulator()).nv
        6
    """
    made = from_pinocchio(pin_model)
    theirs = {entry.key(): entry.data() for entry in pin_model.referenceConfigurations}
    if not theirs:
        return made
    there = Converter(made, pin_model)
    return made.replace(poses={name: there.from_q(q) for name, q in theirs.items()})


def _kind(joint: Any) -> str:
    return str(joint.shortname()).removeprefix("JointModel")


_SAME = {
    **dict.fromkeys(("RX", "RY", "RZ", "RevoluteUnaligned"), ("revolute", "continuous")),
    **dict.fromkeys(("PX", "PY", "PZ", "PrismaticUnaligned"), ("prismatic",)),
    **dict.fromkeys(("HX", "HY", "HZ", "HelicalUnaligned"), ("helical",)),
}
_UNBOUNDED = ("RUBX", "RUBY", "RUBZ", "RevoluteUnboundedUnaligned")


def _chart(joint: Joint, kind: str) -> Chart:
    if joint.type in _SAME.get(kind, ()):
        return Plain()
    if kind in _UNBOUNDED and joint.type in ("revolute", "continuous"):
        return _Angle()
    if kind == "Universal" and joint.type == "universal":
        return Plain(2)
    if kind == "Spherical" and joint.type == "spherical":
        return Group(False, range(4), range(3))
    if kind == "FreeFlyer" and joint.type == "free":
        return Group(True, (4, 5, 6, 0, 1, 2, 3), (3, 4, 5, 0, 1, 2))
    if kind == "Planar" and joint.type == "planar":
        if joint.axis[0] != 0 or joint.axis[1] != 0 or joint.axis[2] <= 0:
            raise ModelError(
                f"joint {joint.name!r}: Pinocchio's planar joint has the normal z, this one "
                f"{tuple(joint.axis)}"
            )
        return _Planar()
    raise ModelError(
        f"joint {joint.name!r}: there is no conversion between {joint.type!r} and Pinocchio's "
        f"JointModel{kind}"
    )


class _Angle(Plain):
    """An angle here, its cosine and sine there."""

    other_layout = Layout("cosine, sine", slice(0, 2))

    def __init__(self) -> None:
        self.sizes = (2, 1)

    def to_q(self, own: Array) -> Array:
        """Return cosine and sine."""
        return np.concatenate([np.cos(own), np.sin(own)], axis=-1)

    def from_q(self, other: Array) -> Array:
        """Return the angle, between -pi and pi."""
        return np.arctan2(other[..., 1:], other[..., :1])


class _Planar:
    """Displacements and angle here; there with cosine and sine, and velocities in body axes."""

    sizes = (4, 3)
    own_layout: Layout | None = None
    other_layout: Layout | None = Layout("position (x, y), cosine, sine", slice(2, 4))

    def to_q(self, own: Array) -> Array:
        """Replace the angle by cosine and sine."""
        angle = own[..., 2:]
        return np.concatenate([own[..., :2], np.cos(angle), np.sin(angle)], axis=-1)

    def from_q(self, other: Array) -> Array:
        """Replace cosine and sine by the angle, between -pi and pi."""
        angle = np.arctan2(other[..., 3:], other[..., 2:3])
        return np.concatenate([other[..., :2], angle], axis=-1)

    def rates(self, own: Array) -> Array:
        """Rotation by minus the angle."""
        out = np.zeros((*own.shape[:-1], 3, 3))
        out[..., 0, 0] = out[..., 1, 1] = np.cos(own[..., 2])
        out[..., 0, 1] = np.sin(own[..., 2])
        out[..., 1, 0] = -out[..., 0, 1]
        out[..., 2, 2] = 1.0
        return out

    def spin(self, own: Array, v: Array) -> Array:
        """Minus the angular velocity times the velocity in body axes."""
        x = turned(self.rates(own), v)
        rate = v[..., 2]
        return np.stack([rate * x[..., 1], -rate * x[..., 0], np.zeros_like(x[..., 0])], axis=-1)
