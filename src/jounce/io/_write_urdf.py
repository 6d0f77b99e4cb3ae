"""Write a model as URDF."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.io._constraint_data import constraints_to_data, named_constraints
from jounce.io._equalities import mimic_couplings
from jounce.io._extension import different_fields, to_attributes
from jounce.io._parts import (
    Part,
    fresh,
    listed,
    mass_properties,
    moved_to,
    numbers,
    roll_pitch_yaw,
    split,
)
from jounce.io._write_shapes import urdf_shapes
from jounce.io._xml import UNLIMITED
from jounce.model import Model
from jounce.model.joints import Joint, frames_along
from jounce.model.nodes import Body
from jounce.model.roots import ROOT_JOINT

__all__ = ["urdf_element"]

_EARTH = (0.0, 0.0, -9.81)
_ZYX = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
_READ_AS = {"floating": "free"}
_UNSEEN = ("armature", "damping", "friction", "stiffness", "springref")
"""What changes the motion but has no place in URDF, wholly or for some joints."""
_NO_WORD = ("armature", "stiffness", "springref")
"""What URDF has no word for at any joint."""


class _Step(NamedTuple):
    """A joint of URDF on the way to a body: it acts in `frame`, given in the body's frame."""

    name: str
    type: str
    axis: tuple[float, ...] | None
    frame: Array
    part: Part


def urdf_element(model: Model) -> tuple[ET.Element, list[str]]:
    """Return the root element of the file, and remarks on what other readers do not see."""
    writer = _Writer(model)
    writer.write()
    return writer.robot, writer.remarks()


class _Writer:
    """Collects links and joints; names that the file needs besides the model's are new ones."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.robot = ET.Element("robot", name=model.name)
        self.links = set(model.frames)
        self.joints = set(model.joint_names)
        self.chains: list[str] = []
        self.unseen: dict[str, list[str]] = {}
        self.lost_shapes: list[str] = []
        self.fixed_to_world = {n: f.placement for n, f in model.frames.items() if f.body < 0}
        self.free_root = _has_plain_free_root(model)
        self.root = self._root_name()

    def _root_name(self) -> str:
        if self.free_root:
            return self.model.body_names[0]
        at_origin = (n for n, T in self.fixed_to_world.items() if np.array_equal(T, np.eye(4)))
        return next(at_origin, None) or fresh("world", self.links)

    def write(self) -> None:
        """Write all of it: the extension, links and joints in the order of the bodies, poses."""
        model = self.model
        self._header()
        if not self.free_root:
            self._link(self.root)
        for body in model.bodies:
            parent = self.root if body.parent < 0 else model.body_names[body.parent]
            if self.free_root and body.parent < 0:
                self._link(body.name, body.parameters)
            else:
                self._body(body, parent)
        written = {self.root, *model.body_names, *(self.fixed_to_world if self.free_root else ())}
        for name, frame in model.frames.items():
            if name not in written:
                carrier = self.root if frame.body < 0 else model.body_names[frame.body]
                self._fixed(name, carrier, frame.placement)
        self._shapes()
        for name, q in model.poses.items():
            self._pose(name, q)

    def _header(self) -> None:
        """What concerns the whole robot: gravity, the free root's joint, frames of the world."""
        model = self.model
        header = ET.Element("jounce")
        if model.gravity.tolist() != list(_EARTH):
            header.set("gravity", numbers(model.gravity))
        if self.root not in model.frames:
            header.set("world", "true")
        if self.free_root:
            joint = model.joints[0]
            values = different_fields(joint, Joint("free"))
            self._note(joint.name, values)
            if values or joint.name != ROOT_JOINT:
                ET.SubElement(header, "joint", {"name": joint.name, **to_attributes(values)})
            for name, placement in self.fixed_to_world.items():
                frame = ET.SubElement(header, "frame", name=name)
                _origin(frame, placement)
        constraints = constraints_to_data(model)
        if constraints is not None:
            ET.SubElement(header, "constraints", data=json.dumps(constraints))
        if header.attrib or len(header):
            self.robot.append(header)

    def _link(self, name: str, parameters: Array | None = None) -> None:
        link = ET.SubElement(self.robot, "link", name=name)
        if parameters is None or not parameters.any():
            return
        mass, com, inertia = mass_properties(name, parameters)
        inertial = ET.SubElement(link, "inertial")
        _origin(inertial, moved_to(com))
        ET.SubElement(inertial, "mass", value=repr(float(mass)))
        entries = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2)}
        entries |= {"iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
        ET.SubElement(inertial, "inertia", {k: repr(float(inertia[e])) for k, e in entries.items()})

    def _fixed(self, name: str, parent: str, placement: Array) -> None:
        """A frame: a link without mass. The name of its joint is not a frame's when read back."""
        self._link(name)
        joint = self._joint(fresh(f"{name}_fixed", self.joints), "fixed", parent, name, placement)
        ET.SubElement(joint, "jounce", frame="false")

    def _joint(self, name: str, kind: str, parent: str, child: str, placement: Array) -> ET.Element:
        joint = ET.SubElement(self.robot, "joint", name=name, type=kind)
        _origin(joint, placement)
        ET.SubElement(joint, "parent", link=parent)
        ET.SubElement(joint, "child", link=child)
        return joint

    def _body(self, body: Body, parent: str) -> None:
        steps = [step for joint in body.joints for step in self._steps(joint)]
        at, first = body.placement, None
        for k, step in enumerate(steps):
            last = k == len(steps) - 1 and np.array_equal(step.frame, np.eye(4))
            link = body.name if last else fresh(f"{step.name}_link", self.links)
            self._link(link, body.parameters if last else None)
            element = self._joint(step.name, step.type, parent, link, at @ step.frame)
            _words(element, step)
            first = element if first is None else first
            at, parent = lie.inverse(step.frame), link
        assert first is not None
        if parent == body.name and len(steps) == 1:
            values = different_fields(body.joints[0], _as_read(steps[0]))
            self._note(body.joints[0].name, values)
            if values:
                ET.SubElement(first, "jounce", to_attributes(values))
            return
        if parent != body.name:
            self._link(body.name, body.parameters)
            self._joint(fresh(f"{body.name}_fixed", self.joints), "fixed", parent, body.name, at)
        extension = ET.SubElement(first, "jounce", body=body.name)
        for joint in body.joints:
            values = different_fields(joint, Joint(joint.type))
            self._note(joint.name, {k: v for k, v in values.items() if k in _NO_WORD})
            attributes = {"name": joint.name, "type": joint.type, **to_attributes(values)}
            ET.SubElement(extension, "joint", attributes)

    def _steps(self, joint: Joint) -> list[_Step]:
        """The joints of URDF that move as this one does."""
        steps = []
        parts = split(joint, self.joints, whole=("planar",))
        if joint.type == "spherical" or len(parts) > 1:
            self.chains.append(f"{joint.name} ({joint.type})")
        for part in parts:
            frame = moved_to(part.anchor)
            if part.kind == "spherical":
                for k, axis in enumerate(_ZYX):
                    name = fresh(f"{joint.name}_{k + 1}", self.joints)
                    steps.append(_Step(name, "continuous", axis, frame, part))
            elif part.kind == "planar":
                frame = frames_along([part.axis], [part.anchor])[0]
                steps.append(_Step(part.name, "planar", _ZYX[0], frame, part))
            elif part.kind == "free":
                steps.append(_Step(part.name, "floating", None, frame, part))
            elif part.kind == "prismatic":
                steps.append(_Step(part.name, "prismatic", tuple(part.axis), np.eye(4), part))
            else:
                limits = (*part.limits["lower"], *part.limits["upper"])
                kind = "revolute" if any(map(math.isfinite, limits)) else "continuous"
                steps.append(_Step(part.name, kind, tuple(part.axis), frame, part))
        return steps

    def _shapes(self) -> None:
        links = {link.get("name"): link for link in self.robot.iter("link")}
        colors: dict[object, str] = {}
        for visual in self.model.visuals:
            link = links.get(visual.frame)
            elements = urdf_shapes(visual, colors)
            if link is None or not elements:
                self.lost_shapes.append(visual.name or f"{visual.frame} ({_word(visual.shape)})")
            else:
                link.extend(elements)

    def _pose(self, name: str, q: Array) -> None:
        """A configuration in the words of SRDF, where a free joint's position comes first."""
        state = ET.SubElement(self.robot, "group_state", name=name, group="all")
        for joint in self.model.joints:
            values = q[self.model.q_slice(joint.name)]
            if joint.type == "free":
                values = np.concatenate([values[4:], values[:4]])
            ET.SubElement(state, "joint", name=joint.name, value=numbers(values))

    def _note(self, joint: str, values: dict[str, object]) -> None:
        for field in _UNSEEN:
            if field in values:
                self.unseen.setdefault(field, []).append(joint)

    def remarks(self) -> list[str]:
        """Say what another reader sees otherwise, and what is not in the file."""
        out = []
        if self.chains:
            out.append(f"URDF has no such joint, so a chain stands for it: {listed(self.chains)}")
        for field, names in self.unseen.items():
            out.append(f"only jounce reads the {field} of {listed(names)}")
        if self.model.gravity.tolist() != list(_EARTH):
            out.append("only jounce reads the gravity")
        known = mimic_couplings(self.model)
        held = [x.label for x in named_constraints(self.model) if x not in known]
        if held:
            out.append(f"only jounce reads the constraints {', '.join(held)}")
        if self.lost_shapes:
            out.append(f"URDF cannot hold these shapes: {listed(self.lost_shapes)}")
        return out


def _word(shape: object) -> str:
    return type(shape).__name__.lower()


def _has_plain_free_root(model: Model) -> bool:
    """Whether base="free" adds the joint that the only root body has."""
    roots = [body for body in model.bodies if body.parent < 0]
    if len(roots) != 1 or [joint.type for joint in roots[0].joints] != ["free"]:
        return False
    placement, joint = roots[0].placement, roots[0].joints[0]
    return np.array_equal(placement, np.eye(4)) and not any(joint.anchor)


def _origin(parent: ET.Element, pose: Array) -> None:
    """Write a pose, and nothing for the identity."""
    if np.array_equal(pose, np.eye(4)):
        return
    origin = ET.SubElement(parent, "origin", xyz=numbers(pose[:3, 3]))
    if not np.array_equal(pose[:3, :3], np.eye(3)):
        origin.set("rpy", numbers(roll_pitch_yaw(pose[:3, :3])))


def _words(joint: ET.Element, step: _Step) -> None:
    """Axis, limits, friction and mimic in URDF's own words."""
    part = step.part
    if step.axis is not None:
        ET.SubElement(joint, "axis", xyz=numbers(step.axis))
    if part.kind in ("spherical", "planar", "free"):
        return
    values = {field: _bounded(part.limits[field][0]) for field in part.limits}
    limit = {"effort": values["effort_limit"], "velocity": values["velocity_limit"]}
    if step.type != "continuous":
        limit |= {"lower": values["lower"], "upper": values["upper"]}
    if step.type != "continuous" or min(limit.values()) < UNLIMITED:
        ET.SubElement(joint, "limit", {name: repr(x) for name, x in limit.items()})
    if values["damping"] or values["friction"]:
        friction = {name: repr(values[name]) for name in ("damping", "friction")}
        ET.SubElement(joint, "dynamics", friction)
    if part.mimic is not None:
        leader, multiplier, offset = part.mimic
        mimic = {"joint": leader, "multiplier": repr(multiplier), "offset": repr(offset)}
        ET.SubElement(joint, "mimic", mimic)


def _bounded(value: float) -> float:
    """The largest number stands for no limit: URDF has no word for infinity."""
    return min(max(value, -UNLIMITED), UNLIMITED)


def _as_read(step: _Step) -> Joint:
    """What a reader makes of a joint from URDF's own words."""
    kind = _READ_AS.get(step.type, step.type)
    axis = (1.0, 0.0, 0.0) if step.axis is None else step.axis
    joint = Joint(kind, step.name, axis=axis)
    if kind in ("free", "planar"):
        return joint
    known: dict[str, Any] = {
        field: x[0] for field, x in step.part.limits.items() if field not in _NO_WORD
    }
    if kind == "continuous":
        known |= {"lower": -math.inf, "upper": math.inf}
    return Joint(kind, step.name, axis=axis, mimic=step.part.mimic, **known)
