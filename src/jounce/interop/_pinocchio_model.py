"""Models from Pinocchio's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from jounce._types import Array
from jounce.errors import ModelError
from jounce.interop._models import Names, field_value, require_peer
from jounce.model import Model, inertia
from jounce.model.builder import ModelBuilder
from jounce.model.joints import Joint

__all__ = ["from_pinocchio"]


class _Part(NamedTuple):
    """A joint of ours, and where its coordinates and rates sit in those of Pinocchio's joint.

    None stands for a coordinate that has no limit: an angle or a quaternion.
    """

    joint: Joint
    q: Sequence[int | None]
    v: Sequence[int]


_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
_ALIGNED = {"R": "revolute", "RUB": "continuous", "P": "prismatic", "H": "helical"}
_FAMILIES = {
    **{f"{family}{axis}": kind for axis in _AXES for family, kind in _ALIGNED.items()},
    "RevoluteUnaligned": "revolute",
    "RevoluteUnboundedUnaligned": "continuous",
    "PrismaticUnaligned": "prismatic",
    "HelicalUnaligned": "helical",
}


def _parts(name: str, joint: Any) -> list[_Part]:
    """The joints of ours that make one of Pinocchio's, which is not a composite one."""
    kind = str(joint.shortname()).removeprefix("JointModel")
    if kind in _FAMILIES:
        return [_single(name, joint, kind)]
    if kind == "Universal":
        own = joint.extract()
        axes = np.array([own.axis1, own.axis2])
        return [_Part(Joint("universal", name, axes[0], axes[1]), (0, 1), (0, 1))]
    if kind == "Spherical":
        return [_Part(Joint("spherical", name), (None,) * 4, (0, 1, 2))]
    if kind == "FreeFlyer":
        where = (None, None, None, None, 0, 1, 2)
        return [_Part(Joint("free", name), where, (3, 4, 5, 0, 1, 2))]
    if kind == "Planar":
        return [_Part(Joint("planar", name), (0, 1, None), (0, 1, 2))]
    if kind in ("Translation", "SphericalZYX"):
        type_, order = ("prismatic", "XYZ") if kind == "Translation" else ("revolute", "ZYX")
        return [
            _Part(Joint(type_, f"{name}_{axis.lower()}", axis=_AXES[axis]), (k,), (k,))
            for k, axis in enumerate(order)
        ]
    raise ModelError(f"joint {name!r}: there is no joint here like Pinocchio's JointModel{kind}")


def _single(name: str, joint: Any, kind: str) -> _Part:
    """A joint with one axis."""
    family, own = _FAMILIES[kind], joint.extract()
    axis = _AXES[kind[-1]] if kind[-1] in _AXES else _axis(joint, own)
    pitch = float(own.pitch) if family == "helical" else 0.0
    where = None if family == "continuous" else 0
    return _Part(Joint(family, name, axis=axis, pitch=pitch), (where,), (0,))


def _axis(joint: Any, own: Any) -> Array:
    """The axis of a joint; one of them does not tell, but has it as its screw."""
    if hasattr(own, "axis"):
        return np.array(own.axis)
    data = joint.createData()
    q = np.zeros(int(joint.idx_q) + int(joint.nq))
    q[int(joint.idx_q)] = 1.0  # cosine and sine of no angle
    joint.calc(data, q)
    return np.array(data.S).reshape(-1)[3:]


def from_pinocchio(pin_model: Any) -> Model:
    """See `jounce.interop.pinocchio.model`."""
    require_peer(pin_model, "pin_model", "pinocchio.Model", "njoints")
    names = Names()
    links = _link_names(pin_model, names)
    builder = ModelBuilder(
        gravity=np.array(pin_model.gravity.linear), name=str(pin_model.name) or "robot"
    )
    fixed = np.array(pin_model.inertias[0].toDynamicParameters())
    if links[0] or fixed.any():
        links[0] = links[0] or names.fresh("base")
        builder.add_body(links[0], parameters=fixed)
    for k in range(1, int(pin_model.njoints)):
        _add_body(builder, pin_model, k, links)
    for frame in pin_model.frames:
        if _is_named(frame) and names.take(str(frame.name)):
            parent = links[int(frame.parentJoint)] or None
            builder.add_frame(str(frame.name), parent, np.array(frame.placement.homogeneous))
    model = builder.build(warn=False)
    inertia.warn_of_violations(model.body_names, model.inertias, stacklevel=3)
    return model


def _is_named(frame: Any) -> bool:
    """Whether a frame is one of a link, a fixed joint, a sensor or a user, not of a joint."""
    kinds = ("BODY", "FIXED_JOINT", "OP_FRAME", "SENSOR")
    return str(frame.type) in kinds and str(frame.name) not in ("", "universe")


def _link_names(pin_model: Any, names: Names) -> list[str]:
    """A name for what each joint moves: that of the link in its frame, else that of the joint.

    The first entry is the link in the world's frame, empty if there is none.
    """
    links = [""] * int(pin_model.njoints)
    for frame in pin_model.frames:
        k = int(frame.parentJoint)
        here = np.array_equal(frame.placement.homogeneous, np.eye(4))
        if str(frame.type) == "BODY" and here and not links[k] and _is_named(frame):
            links[k] = names.fresh(str(frame.name))
    for k in range(1, len(links)):
        links[k] = links[k] or names.fresh(str(pin_model.names[k]))
    return links


def _add_body(builder: ModelBuilder, pin_model: Any, k: int, links: Sequence[str]) -> None:
    """Add what joint k moves; inner joints of a composite one move massless bodies."""
    joint, name = pin_model.joints[k], str(pin_model.names[k])
    parent = links[int(pin_model.parents[k])] or None
    pose = np.array(pin_model.jointPlacements[k].homogeneous)
    steps = [(name, joint, np.eye(4))]
    if str(joint.shortname()) == "JointModelComposite":
        own = joint.extract()
        poses = [np.array(x.homogeneous) for x in own.jointPlacements]
        inner = enumerate(zip(own.joints, poses, strict=True))
        steps = [(f"{name}_{i}", x, at) for i, (x, at) in inner]
    for i, (label, step, at) in enumerate(steps):
        joints = [_limited(part, step, pin_model) for part in _parts(label, step)]
        last = i == len(steps) - 1
        link = links[k] if last else f"{links[k]}_{i}"
        parameters = np.array(pin_model.inertias[k].toDynamicParameters()) if last else np.zeros(10)
        builder.add_body(link, parent, joints, pose @ at, parameters=parameters)
        parent, pose = link, np.eye(4)


def _limited(part: _Part, joint: Any, pin_model: Any) -> Joint:
    """The joint with its limits, damping and so on."""
    q, v = int(joint.idx_q), int(joint.idx_v)

    def rates(field: str) -> Any:
        return field_value(np.asarray(getattr(pin_model, field))[v + np.array(part.v)])

    def coordinates(field: str, without: float) -> Any:
        values: Array = np.asarray(getattr(pin_model, field))
        return field_value(np.array([without if i is None else values[q + i] for i in part.q]))

    return replace(
        part.joint,
        armature=rates("armature"),
        damping=rates("damping"),
        friction=rates("friction"),
        velocity_limit=rates("velocityLimit"),
        effort_limit=rates("effortLimit"),
        lower=coordinates("lowerPositionLimit", -np.inf),
        upper=coordinates("upperPositionLimit", np.inf),
    )
