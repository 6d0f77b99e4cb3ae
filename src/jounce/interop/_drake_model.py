"""Models from Drake's plants."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.errors import ModelError
from jounce.interop._models import Names, field_value, require_peer
from jounce.model import Model, inertia
from jounce.model.builder import ModelBuilder
from jounce.model.joints import Joint, frames_along

__all__ = ["all_bodies", "as_declared", "from_drake", "moving_joints", "namings", "scoped_name"]

_OUTSIDE = ("WorldModelInstance", "DefaultModelInstance")
_SKIPPED = (1, 0, sys.maxsize)
"""How many of the models around a thing are no part of its name, in the order of what is tried.

`jounce.load_sdf` leaves out the outermost one, but for that of a world.
"""


def moving_joints(plant: Any) -> list[Any]:
    """The joints of a finalized plant that move."""
    if not plant.is_finalized():
        raise ModelError("the plant must be finalized: call plant.Finalize() first")
    joints = [plant.get_joint(index) for index in plant.GetJointIndices()]
    return [joint for joint in joints if joint.num_velocities() > 0]


def scoped_name(thing: Any, skipped: int) -> str:
    """The name of a body, joint or frame, after those of the models around it but for some."""
    return "::".join([*_around(thing)[skipped:], str(thing.name())])


def _around(thing: Any) -> list[str]:
    """The names of the models around a thing, the outermost first."""
    instance = str(thing.GetParentPlant().GetModelInstanceName(thing.model_instance()))
    return [] if instance in _OUTSIDE else instance.split("::")


def as_declared(named: Mapping[str, Any], skipped: int, ours: Collection[str]) -> dict[str, Any]:
    """Joints of one of the `namings`, those between models by the name that they have here.

    Drake puts a joint into the model of its child and does not say which model around that one
    declares it, as `jounce.load_sdf` does.
    """
    out: dict[str, Any] = {}
    for name, joint in named.items():
        around = _around(joint)[skipped:]
        ways = ["::".join([*around[:k], str(joint.name())]) for k in reversed(range(len(around)))]
        known = [x for x in ways if x in ours and x not in named and x not in out]
        out[known[0] if known and name not in ours else name] = joint
    return out


def namings(things: Sequence[Any]) -> dict[int, dict[str, Any]]:
    """The ways of `scoped_name` that tell things apart: what is skipped, and the things by name.

    Raises:
        ModelError: there is none.
    """
    named = {skipped: {scoped_name(x, skipped): x for x in things} for skipped in _SKIPPED}
    out = {skipped: names for skipped, names in named.items() if len(names) == len(things)}
    if not out:
        names = [scoped_name(x, 0) for x in things]
        twice = next(name for name in names if names.count(name) > 1)
        raise ModelError(f"two joints of the plant are named {twice!r}")
    return out


class _Drive(NamedTuple):
    """What the actuators of a joint say of it."""

    armature: float = 0.0
    effort: float = 0.0


def from_drake(plant: Any) -> Model:
    """See `jounce.interop.drake.model`."""
    require_peer(plant, "plant", "pydrake.multibody.plant.MultibodyPlant", "is_finalized")
    skipped = next(iter(namings(moving_joints(plant))))
    names = Names()
    bodies = all_bodies(plant)
    links = {body.index(): names.fresh(scoped_name(body, skipped)) for body in bodies[1:]}
    builder = ModelBuilder(
        gravity=np.array(plant.gravity_field().gravity_vector()), name=_name(plant, bodies)
    )
    drives = _drives(plant)
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        common = {"name": scoped_name(joint, skipped), **_limits(joint, drives.get(index))}
        _add_body(builder, joint, links, names, common)
    for index in _indices(plant, "Frame"):
        frame = plant.get_frame(index)
        label, body = scoped_name(frame, skipped), frame.body()
        own = not frame.name() or frame.index() == body.body_frame().index()
        if not own and names.take(label):
            pose = np.array(frame.GetFixedPoseInBodyFrame().GetAsMatrix4())
            builder.add_frame(label, links.get(body.index()), pose)
    model = builder.build(warn=False)
    inertia.warn_of_violations(model.body_names, model.inertias, stacklevel=3)
    return model


def all_bodies(plant: Any) -> list[Any]:
    """The bodies of a plant, the world first."""
    return [plant.get_body(k) for k in _indices(plant, "Body")]


def _indices(plant: Any, kind: str) -> list[Any]:
    from pydrake.multibody import tree

    count = plant.num_bodies() if kind == "Body" else plant.num_frames()
    return [getattr(tree, f"{kind}Index")(k) for k in range(count)]


def _name(plant: Any, bodies: list[Any]) -> str:
    """The name of the outermost model that the first body belongs to."""
    if not bodies[1:]:
        return "robot"
    return str(plant.GetModelInstanceName(bodies[1].model_instance())).partition("::")[0]


def _drives(plant: Any) -> dict[Any, _Drive]:
    """Reflected rotor inertia and largest effort, by joint."""
    drives: dict[Any, _Drive] = {}
    for index in plant.GetJointActuatorIndices():
        actuator = plant.get_joint_actuator(index)
        joint = actuator.joint().index()
        before = drives.get(joint, _Drive())
        rotor = float(actuator.default_rotor_inertia()) * float(actuator.default_gear_ratio()) ** 2
        drives[joint] = _Drive(before.armature + rotor, before.effort + actuator.effort_limit())
    return drives


def _add_body(
    builder: ModelBuilder,
    joint: Any,
    links: Mapping[Any, str],
    names: Names,
    common: Mapping[str, Any],
) -> None:
    """Add what a joint moves; `common` are fields that joints of all types have.

    The pose of the child B in its parent P is X_PF X_FM(q) X_MB, with the frames F and M of the
    joint: X_PF X_MB times the joint seen from B, X_BM X_FM(q) X_MB.
    """
    child = joint.child_body()
    if child.index() not in links:
        raise ModelError(f"joint {joint.name()!r}: its child is the world")
    name, parent = links[child.index()], links.get(joint.parent_body().index())
    on_parent = np.array(joint.frame_on_parent().GetFixedPoseInBodyFrame().GetAsMatrix4())
    on_child = np.array(joint.frame_on_child().GetFixedPoseInBodyFrame().GetAsMatrix4())
    parameters = _parameters(child)
    if joint.num_velocities() == 0:
        fixed = on_parent @ np.array(_at_zero(joint)) @ lie.inverse(on_child)
        builder.add_body(name, parent, "fixed", fixed, parameters=parameters)
        return
    own = _joint(joint, on_child, common)
    if own is not None:
        placement = on_parent @ lie.inverse(on_child)
        builder.add_body(name, parent, own, placement, parameters=parameters)
        return
    own = _joint(joint, np.eye(4), common)
    carrier = names.fresh(f"{name}_{joint.name()}")
    builder.add_body(carrier, parent, own or "fixed", on_parent)
    builder.add_body(name, carrier, "fixed", lie.inverse(on_child), parameters=parameters)


def _at_zero(joint: Any) -> Array:
    """X_FM of a weld."""
    is_weld = str(joint.type_name()) == "weld"
    return np.array(joint.X_FM().GetAsMatrix4()) if is_weld else np.eye(4)


def _parameters(body: Any) -> Array:
    """Inertial parameters about the body's origin."""
    own = body.default_spatial_inertia()
    mass = float(own.get_mass())
    if not np.isfinite(mass) or mass == 0.0:
        return np.zeros(10)
    full = np.array(own.CalcRotationalInertia().CopyToFullMatrix3())
    upper = full[(0, 0, 1, 0, 1, 2), (0, 1, 1, 2, 2, 2)]
    return np.concatenate([[mass], mass * np.array(own.get_com()), upper])


_TYPES = {"revolute": "revolute", "prismatic": "prismatic", "screw": "helical"}


def _joint(joint: Any, frame: Array, common: Mapping[str, Any]) -> Joint | None:
    """The joint seen from a frame in which it is given; None if there is no such joint here."""
    kind, rotation, anchor = str(joint.type_name()), frame[:3, :3], frame[:3, 3]
    common = {"anchor": anchor, **common}
    upright = np.allclose(rotation, np.eye(3), rtol=0, atol=1e-15)
    if kind in _TYPES:
        axis = rotation @ _axis(joint, kind)
        pitch = float(joint.screw_pitch()) / (2 * np.pi) if kind == "screw" else 0.0
        return Joint(_TYPES[kind], axis=axis, pitch=pitch, **common)
    if kind == "universal":
        return Joint("universal", axis=rotation[:, 0], axis2=rotation[:, 1], **common)
    if kind == "planar":
        normal = rotation[:, 2]
        along = frames_along([normal], [anchor])[0, :3, :3]
        same = np.allclose(along, rotation, rtol=0, atol=1e-15)
        return Joint("planar", axis=normal, **common) if same else None
    if kind in ("quaternion_floating", "ball_rpy"):
        type_ = "free" if kind == "quaternion_floating" else "spherical"
        return Joint(type_, **common) if upright else None
    raise ModelError(f"joint {common['name']!r}: there is no joint here like Drake's {kind}")


def _axis(joint: Any, kind: str) -> Array:
    """The axis in the frames of the joint; that of a screw shows when it turns by 1 rad."""
    if kind != "screw":
        return np.array(joint.revolute_axis() if kind == "revolute" else joint.translation_axis())
    plant = joint.GetParentPlant()
    context = plant.CreateDefaultContext()
    q = np.array(plant.GetPositions(context))
    q[joint.position_start()] = 1.0
    plant.SetPositions(context, q)
    turned = joint.frame_on_child().CalcPose(context, joint.frame_on_parent())
    axis: Array = lie.log(np.array(turned.rotation().matrix()))
    return axis


def _limits(joint: Any, drive: _Drive | None) -> dict[str, Any]:
    """Limits, damping and what the actuators say."""
    damping = np.abs(np.array(joint.default_damping_vector(), float))
    limits: dict[str, Any] = {"damping": field_value(damping)}
    low, high = np.array(joint.velocity_lower_limits()), np.array(joint.velocity_upper_limits())
    limits["velocity_limit"] = field_value(np.maximum(np.abs(low), np.abs(high)))
    if str(joint.type_name()) not in ("quaternion_floating", "ball_rpy"):
        limits["lower"] = field_value(np.array(joint.position_lower_limits()))
        limits["upper"] = field_value(np.array(joint.position_upper_limits()))
    if drive is not None:
        limits |= {"armature": drive.armature, "effort_limit": drive.effort, "actuated": True}
    return limits
