"""Write a model as MJCF."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.errors import ModelError
from jounce.io._constraint_data import constraints_to_data, named_constraints
from jounce.io._equalities import mimic_couplings
from jounce.io._extension import different_fields, is_driven
from jounce.io._mjcf_extension import EQUALITY, TEXT
from jounce.io._mjcf_tree import MOST_LEVELS
from jounce.io._parts import Part, fresh, listed, moved_to, numbers, split
from jounce.io._write_mjcf_equality import equality_of, sites_of
from jounce.io._write_mjcf_inertia import inertials
from jounce.io._write_shapes import mjcf_shape
from jounce.model import Model
from jounce.model.joints import Joint
from jounce.model.nodes import Body

__all__ = ["mjcf_element"]

_WORDS = {"free": "free", "spherical": "ball", "prismatic": "slide"}
_RATES = {"free": 6, "spherical": 3}
_DYNAMICS = {"armature": "armature", "damping": "damping", "friction": "frictionloss"}
_SPRING = {"stiffness": "stiffness", "springref": "springref"}
_UNSEEN = (*_DYNAMICS, "stiffness", "springref")
"""What MuJoCo would move by, if it could read it from the extension."""

DEEPEST = MOST_LEVELS - 2
"""Bodies inside each other, in <mujoco> and <worldbody>, that a reader takes."""


class _Written(NamedTuple):
    """A joint and the joints of MJCF that stand for it."""

    joint: Joint
    parts: list[Part]
    placed: Array | None
    """Where a free joint starts from, if not from the world's origin."""


def mjcf_element(model: Model) -> tuple[ET.Element, list[str]]:
    """Return the root element of the file, and remarks on what MuJoCo does not see.

    Raises:
        ModelError: MuJoCo would refuse the model; the message names the bodies.
    """
    writer = _Writer(model)
    writer.write()
    return writer.root, writer.remarks


class _Writer:
    """Collects the tree and what stands beside it."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.root = ET.Element("mujoco", model=model.name)
        self.taken = set(model.joint_names)
        self.frames = set(model.frames)
        self.driven = any(map(is_driven, model.joints))
        self.remarks: list[str] = []
        self.names: dict[str, str] = {}
        self.inertials = inertials(model)
        self.written: list[list[_Written]] = [self._joints(body) for body in model.bodies]
        self.joints = [written for own in self.written for written in own]
        _check_chains(model, self.written)

    def write(self) -> None:
        """Write all of it, and say in remarks what MuJoCo does not see."""
        model = self.model
        ET.SubElement(self.root, "compiler", angle="radian", autolimits="true")
        ET.SubElement(self.root, "option", gravity=numbers(model.gravity))
        world = ET.SubElement(self.root, "worldbody")
        elements: list[ET.Element] = []
        for i, body in enumerate(model.bodies):
            parent = world if body.parent < 0 else elements[body.parent]
            element = ET.SubElement(parent, "body", name=self._name(body.name))
            _place(element, body.placement)
            for written in self.written[i]:
                for part in written.parts:
                    element.append(_joint(part))
            ET.SubElement(element, "inertial", self.inertials[i])
            elements.append(element)
        bodies = set(model.body_names)
        for name, frame in model.frames.items():
            if name not in bodies:
                site = ET.SubElement(world if frame.body < 0 else elements[frame.body], "site")
                site.set("name", self._name(name))
                _place(site, frame.placement)
        self._shapes(world, elements)
        self._equalities()
        self._constraints(world, elements)
        self._actuators()
        self._extension()
        self._poses()

    def _name(self, name: str) -> str:
        """The name in the file: in MuJoCo the world itself is called "world"; some are our own."""
        if name != "world" and not name.startswith(EQUALITY):
            return name
        other = fresh("world_" if name == "world" else f"_{name}", self.frames)
        self.names[other] = name
        return other

    def _joints(self, body: Body) -> list[_Written]:
        out = []
        for joint in body.joints:
            alone = body.parent < 0 and len(body.joints) == 1
            if joint.type == "free" and not alone:
                out.append(_Written(joint, self._floating(joint), None))
                continue
            placed = None
            if joint.type == "free" and not np.array_equal(body.placement, np.eye(4)):
                placed = body.placement
            out.append(_Written(joint, split(joint, self.taken), placed))
        return out

    def _floating(self, joint: Joint) -> list[Part]:
        """Three slides and a ball: MuJoCo knows free joints at the root only."""
        self.remarks.append(f"slides and a ball stand for the free joint {joint.name!r}")
        values = split(joint, set())[0].limits
        zero = dict.fromkeys((*_DYNAMICS, *_SPRING), (0.0,))
        endless = dict.fromkeys(("velocity_limit", "effort_limit", "upper"), (math.inf,))
        values = {**values, **zero, **endless, "lower": (-math.inf,)}
        slides = [
            Part(
                fresh(f"{joint.name}_{k + 1}", self.taken), "prismatic", axis, joint.anchor, values
            )
            for k, axis in enumerate(np.eye(3).tolist())
        ]
        ball = fresh(f"{joint.name}_4", self.taken)
        return [*slides, Part(ball, "spherical", (0.0, 0.0, 1.0), joint.anchor, values)]

    def _shapes(self, world: ET.Element, bodies: Sequence[ET.Element]) -> None:
        names: set[str] = set()
        lost = []
        for visual in self.model.visuals:
            frame = self.model.frames.get(visual.frame)
            geom = None if frame is None else mjcf_shape(visual, frame.body < 0)
            if frame is None or geom is None:
                lost.append(visual.name or visual.frame)
                continue
            _place(geom, frame.placement @ visual.placement)
            if visual.name and visual.name not in names:
                names.add(visual.name)
                geom.set("name", visual.name)
            (world if frame.body < 0 else bodies[frame.body]).append(geom)
        if lost:
            self.remarks.append(f"meshes and shapes without size are left out: {listed(lost, 3)}")

    def _equalities(self) -> None:
        """An angle drives the advance of a helical joint: a constraint in MuJoCo, and soft."""
        for joint, parts, _ in self.joints:
            if joint.type == "helical":
                section = _section(self.root, "equality")
                equality = ET.SubElement(section, "joint", name=f"{EQUALITY}advance_{joint.name}")
                equality.set("joint1", parts[1].name)
                equality.set("joint2", parts[0].name)
                equality.set("polycoef", numbers([0.0, joint.pitch, 0.0, 0.0, 0.0]))
                self.remarks.append(
                    f"a hinge, a slide and a constraint between them stand for the helical joint "
                    f"{joint.name!r}"
                )
        self._mimics()

    def _mimics(self) -> None:
        """Joints that follow others, by constraints too."""
        first = {joint.name: parts[0].name for joint, parts, _ in self.joints}
        follow = []
        for joint in self.model.joints:
            if joint.mimic is None:
                continue
            section = _section(self.root, "equality")
            equality = ET.SubElement(section, "joint", name=f"{EQUALITY}mimic_{joint.name}")
            equality.set("joint1", first[joint.name])
            equality.set("joint2", first[joint.mimic.joint])
            polynomial = [joint.mimic.offset, joint.mimic.multiplier, 0.0, 0.0, 0.0]
            equality.set("polycoef", numbers(polynomial))
            follow.append(joint.name)
        if follow:
            self.remarks.append(f"soft constraints stand for what {listed(follow)} follow")

    def _constraints(self, world: ET.Element, bodies: Sequence[ET.Element]) -> None:
        """Equalities that stand for constraints of the model, as far as MJCF can say them."""
        held = [x for x in named_constraints(self.model) if x not in mimic_couplings(self.model)]
        hinges = {joint.name: parts[0].name for joint, parts, _ in self.joints}
        unseen = []
        for k, item in enumerate(held):
            equality = equality_of(item, hinges)
            if equality is None:
                unseen.append(item.label)
                continue
            equality.set("name", f"{EQUALITY}constraint{k}")
            _section(self.root, "equality").append(equality)
            for name, (frame, pose) in sites_of(self.model, item).items():
                site = ET.SubElement(world if frame.body < 0 else bodies[frame.body], "site")
                site.set("name", f"{EQUALITY}constraint{k}_{name}")
                equality.set(name, f"{EQUALITY}constraint{k}_{name}")
                _place(site, pose)
        seen = [item.label for item in held if item.label not in unseen]
        if seen:
            self.remarks.append(f"soft equalities stand for the constraints {', '.join(seen)}")
        if unseen:
            self.remarks.append(f"only jounce reads the constraints {', '.join(unseen)}")

    def _actuators(self) -> None:
        """A motor for each rate of a driven joint."""
        taken: set[str] = set()
        for joint, parts, _ in self.joints:
            if not is_driven(joint):
                continue
            for part in parts[:1] if joint.type == "helical" else parts:
                rates = _RATES.get(part.kind, 1)
                for k in range(rates):
                    name = fresh(part.name if rates == 1 else f"{part.name}_{k + 1}", taken)
                    motor = ET.SubElement(_section(self.root, "actuator"), "motor", name=name)
                    motor.set("joint", part.name)
                    if rates > 1:
                        motor.set("gear", " ".join("1" if i == k else "0" for i in range(6)))

    def _extension(self) -> None:
        """What MJCF has no word for, as a text that MuJoCo keeps but does not read."""
        entries = []
        unseen: dict[str, list[str]] = {}
        for joint, parts, placed in self.joints:
            plain = None
            if len(parts) == 1:
                plain = _as_read(parts[0], self.driven, is_driven(joint))
            values = different_fields(joint, plain or Joint(joint.type))
            if plain is None:
                values["type"] = joint.type
            for field in _UNSEEN:
                if field in values and (plain is not None or joint.type == "free"):
                    unseen.setdefault(field, []).append(joint.name)
            entry: dict[str, Any] = {"name": joint.name, "parts": [part.name for part in parts]}
            if placed is not None:
                entry["placed"] = True
            if values or placed is not None:
                entries.append({**entry, "fields": values})
        constraints = constraints_to_data(self.model)
        if entries or self.names or constraints is not None:
            content = {"joints": entries, "names": self.names}
            data = json.dumps(content | ({"constraints": constraints} if constraints else {}))
            ET.SubElement(_section(self.root, "custom"), "text", name=TEXT, data=data)
        for field, names in unseen.items():
            self.remarks.append(f"only jounce reads the {field} of {listed(names)}")

    def _poses(self) -> None:
        for name, q in self.model.poses.items():
            qpos = []
            for joint, parts, placed in self.joints:
                qpos += _qpos(joint, parts, placed, q[self.model.q_slice(joint.name)])
            key = ET.SubElement(_section(self.root, "keyframe"), "key", name=name)
            key.set("qpos", numbers(qpos))


def _section(root: ET.Element, tag: str) -> ET.Element:
    found = root.find(tag)
    return ET.SubElement(root, tag) if found is None else found


def _place(element: ET.Element, pose: Array) -> None:
    """Write a pose, as far as it is not the identity."""
    if np.any(pose[:3, 3] != 0):
        element.set("pos", numbers(pose[:3, 3]))
    if not np.array_equal(pose[:3, :3], np.eye(3)):
        element.set("quat", numbers(np.roll(lie.matrix_to_quat(pose[:3, :3]), 1)))


def _joint(part: Part) -> ET.Element:
    """A joint in MJCF's own words; what they cannot say is in the extension."""
    element = ET.Element("joint", name=part.name, type=_WORDS.get(part.kind, "hinge"))
    read = _as_read(part, False, True)
    if part.kind != "free" and any(part.anchor):
        element.set("pos", numbers(part.anchor))
    if part.kind not in ("free", "spherical"):
        element.set("axis", numbers(part.axis))
    for field, word in (_DYNAMICS | _SPRING).items():
        if part.kind == "spherical" and field == "springref":
            continue  # MuJoCo's balls rest at the neutral orientation
        if getattr(read, field):
            element.set(word, repr(getattr(read, field)))
    if (read.lower, read.upper) != (-math.inf, math.inf):
        element.set("range", f"{read.lower!r} {read.upper!r}")
    if read.effort_limit != math.inf:
        element.set("actuatorfrcrange", f"-{read.effort_limit!r} {read.effort_limit!r}")
    return element


def _as_read(part: Part, some_driven: bool, driven: bool) -> Joint:
    """What a reader makes of a joint from MJCF's own words.

    Armature and friction of a free joint act in world axes there; springs of balls rest at the
    neutral orientation; ranges and clamps are for hinges and slides, and must not be empty.
    """
    known: dict[str, Any] = {"anchor": (0.0, 0.0, 0.0) if part.kind == "free" else part.anchor}
    for field in ("damping",) if part.kind == "free" else _DYNAMICS:
        value = part.value(field)
        if value is not None:
            known[field] = value
    if part.kind != "free":
        known |= _spring_as_read(part)
    if part.kind not in ("free", "spherical"):
        lower, upper = part.limits["lower"][0], part.limits["upper"][0]
        if lower < upper and (lower, upper) != (-math.inf, math.inf):
            known |= {"lower": lower, "upper": upper}
        effort = part.limits["effort_limit"][0]
        if effort > 0:
            known["effort_limit"] = effort
    kind = "revolute" if part.kind == "continuous" else part.kind
    known["actuated"] = driven if some_driven else None
    return Joint(kind, part.name, axis=part.axis, **known)


def _spring_as_read(part: Part) -> dict[str, Any]:
    stiffness, rest = part.value("stiffness"), part.limits["springref"]
    if not stiffness:
        return {}
    if part.kind == "spherical":
        neutral = rest in ((0.0,), (0.0, 0.0, 0.0, 1.0))
        return {"stiffness": stiffness, "springref": (0.0, 0.0, 0.0, 1.0)} if neutral else {}
    return {"stiffness": stiffness, "springref": rest[0]}


def _check_chains(model: Model, written: Sequence[Sequence[_Written]]) -> None:
    """Refuse joints of a body that MuJoCo does not put together, and trees too deep for it."""
    depth = np.ones(model.n_bodies, int)
    for i, (body, own) in enumerate(zip(model.bodies, written, strict=True)):
        parts = [part for item in own for part in item.parts]
        rates = sum(_RATES.get(part.kind, 1) for part in parts)
        after = [part.kind for part in parts]
        after = after[after.index("spherical") + 1 :] if "spherical" in after else []
        if rates > 6 or any(kind != "prismatic" for kind in after):
            raise ModelError(
                f"MuJoCo refuses the joints of body {body.name!r}: it takes up to 6 rates and no "
                f"rotation after a ball, got {', '.join(joint.type for joint in body.joints)}"
            )
        if body.parent >= 0:
            depth[i] = depth[body.parent] + 1
        if depth[i] > DEEPEST:
            raise ModelError(
                f"MJCF files hold at most {DEEPEST} bodies inside each other, body "
                f"{body.name!r} has more"
            )


def _qpos(joint: Joint, parts: Sequence[Part], placed: Array | None, q: Array) -> list[float]:
    """The coordinates of a joint in MuJoCo's order, with quaternions (w, x, y, z)."""
    values: Array = q
    if joint.type == "helical":
        values = np.array([q[0], joint.pitch * q[0]])
    elif joint.type == "free" and len(parts) > 1:
        values = np.concatenate([q[4:], np.roll(q[:4], 1)])
    elif joint.type == "free":
        pose = moved_to(q[4:])
        pose[:3, :3] = lie.quat_to_matrix(lie.quat_normalize(q[:4]))
        anchor = moved_to(joint.anchor)
        pose = anchor @ pose @ lie.inverse(anchor)
        pose = pose if placed is None else placed @ pose
        quat = q[:4] if placed is None else lie.matrix_to_quat(pose[:3, :3])
        values = np.concatenate([pose[:3, 3], np.roll(quat, 1)])
    elif joint.type == "spherical":
        values = np.roll(q, 1)
    out: list[float] = values.tolist()
    return out
