"""Read links, joints and frames of an SDF file into plain records, element by element."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.io._common import rings
from jounce.io._drake import full_tag
from jounce.io._sdf_planar import is_planar, planar_joint
from jounce.io._sdf_rules import attribute_flag, check_children, flag, older
from jounce.io._sdf_scope import Scope, Thing, end_of, numbers, read_pose
from jounce.io._sdf_shapes import visuals
from jounce.io._xml import UNLIMITED, Document, Element
from jounce.io.geometry import Visual
from jounce.model import inertia
from jounce.model.joints import Joint, Mimic

__all__ = ["Robot", "read_robot"]

_MOMENT_NAMES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_TYPES = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "ball": "spherical",
    "universal": "universal",
    "screw": "helical",
}
_MOMENTS = {name: ("xyz".index(name[1]), "xyz".index(name[2])) for name in _MOMENT_NAMES}
_NO_LIMIT = 1e16  # what SDF writes for a joint without limits


class _Link(NamedTuple):
    thing: Thing
    scope: Scope
    name: str
    pose: Array  # in the world


class _Joint(NamedTuple):
    thing: Thing
    scope: Scope
    name: str
    parent: str
    child: str
    pose: Array  # in the world
    start: Array | None = None  # of what is put onto the child's at q = 0, if that is not there


class Robot(NamedTuple):
    """Everything in the file; None stands for what is wrong."""

    links: dict[str, _Link]
    joints: list[_Joint]
    above: dict[str, _Joint]
    parameters: dict[str, Array | None]
    motions: dict[str, Joint | None]
    frames: list[tuple[str, str | None, Array]]
    visuals: list[Visual]


def read_robot(doc: Document, top: Scope) -> Robot:
    """Read all elements; those that depend on each other's names come last."""
    links = {link.name: link for link in _links(top, np.eye(4))}
    if not links and not top.incomplete:
        doc.fault(doc.root, "there are no links")
    joints = [joint for joint in _joints(top, np.eye(4)) if joint.child in links]
    parameters = {x.name: x.thing.doc.attempt(_parameters, x.thing) for x in links.values()}
    motions = {
        record.name: record.thing.doc.attempt(_motion, record, links[record.child])
        for record in joints
    }
    _check_leaders(joints, motions)
    above, frames = _above(joints), list(_frames(top, np.eye(4), links))
    shapes = [shape for x in links.values() for shape in visuals(x.scope, x.thing, x.name)]
    return Robot(links, joints, above, parameters, motions, frames, shapes)


def _pose(scope: Scope, thing: Thing, name: str, outer: Array) -> Array:
    """The pose of a thing in the world; `outer` is that of the scope."""
    inner = thing.doc.attempt(scope.pose, thing, name)
    return outer if inner is None else outer @ inner


def _tagged(scope: Scope, pose: Array, *tags: str) -> Iterator[tuple[Scope, str, Thing, Array]]:
    """What has one of the tags, in inner models too, each with its scope and the pose of that."""
    for name, thing in scope.things.items():
        if name in scope.models:
            yield from _tagged(scope.models[name], _pose(scope, thing, name, pose), *tags)
        elif full_tag(thing.element) in tags:
            check_children(thing.doc, thing.element)
            yield scope, name, thing, pose


def _links(top: Scope, pose: Array) -> Iterator[_Link]:
    """All links with their poses in the world; `pose` is that of the scope."""
    for scope, name, thing, outer in _tagged(top, pose, "link"):
        yield _Link(thing, scope, scope.prefix + name, _pose(scope, thing, name, outer))


def _joints(top: Scope, pose: Array) -> Iterator[_Joint]:
    for scope, name, thing, outer in _tagged(top, pose, "joint", "drake:joint"):
        ends = thing.doc.attempt(_ends, scope, thing)
        if ends is not None:
            where, start = _pose(scope, thing, name, outer), None
            if is_planar(thing.element):
                start = outer @ scope.pose(thing, end_of(thing.doc, thing.element, "parent"))
            yield _Joint(thing, scope, scope.prefix + name, *ends, where, start)


def _ends(scope: Scope, thing: Thing) -> tuple[str, str]:
    """The links that a joint connects."""
    parent = scope.link(thing, end_of(thing.doc, thing.element, "parent"))
    child = scope.link(thing, end_of(thing.doc, thing.element, "child"))
    if not child:
        raise thing.error("the child must not be the world")
    return parent, child


def _motion(record: _Joint, link: _Link) -> Joint:
    """The joint that moves a link; those of static models do not."""
    if link.scope.static:
        return Joint("fixed")
    pose = lie.inverse(link.pose) @ record.pose
    if is_planar(record.thing.element):
        return planar_joint(record.thing.doc, record.thing.element, record.name, pose)
    return _joint(record, pose)


def _above(joints: Sequence[_Joint]) -> dict[str, _Joint]:
    """The joint above each link; refuses closed loops."""
    above: dict[str, _Joint] = {}
    for record in joints:
        other = above.setdefault(record.child, record)
        if other is not record:
            record.thing.doc.fault(
                record.thing.element,
                f"link {record.child!r} is the child of {other.name!r} already; closed loops are "
                "not supported",
            )
    walk_of: dict[str, int] = {}
    for number, start in enumerate(above.values()):
        link = start.child
        while link in above and link not in walk_of:
            walk_of[link] = number
            link = above[link].parent
        if link in above and walk_of[link] == number:
            thing = above[link].thing
            thing.doc.fault(thing.element, f"the joints form a loop at link {link!r}")
    return above


def _parameters(thing: Thing) -> Array | None:
    """The ten inertial parameters of a link; SDF's default is 1 kg with unit moments."""
    doc, element = thing.doc, thing.element.find("inertial")
    _doubt_rest(doc, thing.element)
    if element is None:
        return inertia.from_com(1.0, np.zeros(3), np.eye(3))
    check_children(doc, element)
    if attribute_flag(doc, element, "auto"):
        raise doc.error(element, "inertias from shapes are not supported")
    placed = doc.attempt(_inertial_pose, doc, element)
    mass, own = doc.attempt(_mass, doc, element), _moments(doc, element.find("inertia"))
    if placed is None or mass is None or own is None:
        return None
    rotation = placed[:3, :3]
    turned = rotation @ own @ rotation.T
    row = inertia.from_com(mass, placed[:3, 3], 0.5 * (turned + turned.T))
    why = inertia.violation(inertia.from_com(mass, np.zeros(3), own))
    if why:
        doc.doubt("physics", element, f"no rigid body can have this inertia: {why}")
    return row


def _doubt_rest(doc: Document, link: Element) -> None:
    """Tell of physics of a link that there is nothing for here."""
    if not flag(doc, link, "gravity", default=True):
        doc.doubt("physics", link, "gravity acts on this link as well here")
    if flag(doc, link, "kinematic"):
        doc.doubt("physics", link, "forces move this kinematic link as any other here")
    for path, what in (
        ("inertial/fluid_added_mass", "the added mass of a fluid is left out"),
        ("velocity_decay", "the decay of velocities is left out"),
    ):
        found = link.find(path)
        if found is not None and not all(_is_zero(child.text) for child in found):
            doc.doubt("physics", found, what)


def _is_zero(text: str | None) -> bool:
    try:
        return float((text or "").strip() or 0) == 0.0
    except ValueError:
        return False


def _inertial_pose(doc: Document, element: Element) -> Array:
    pose, relative = read_pose(doc, element)
    if relative:
        raise doc.error(element.find("pose"), "the pose of an inertia is relative to its link")
    return pose


def _mass(doc: Document, element: Element) -> float:
    child = element.find("mass")
    mass = 1.0 if child is None else float(numbers(doc, child, 1)[0])
    if mass < 0:
        raise doc.error(child, f"mass must not be negative, got {mass:g}")
    return mass


def _moments(doc: Document, element: Element | None) -> Array | None:
    own = np.eye(3)
    if element is None:
        return own
    check_children(doc, element)
    fine = True
    for name, (i, j) in _MOMENTS.items():
        child = element.find(name)
        if child is not None:
            value = doc.attempt(numbers, doc, child, 1)
            fine = fine and value is not None
            own[i, j] = own[j, i] = 0.0 if value is None else value[0]
    return own if fine else None


def _joint(record: _Joint, pose: Array) -> Joint:
    """Our joint; `pose` is that of the joint's frame in the link that it moves."""
    doc, element = record.thing.doc, record.thing.element
    kind = doc.text(element, "type")
    if kind not in _TYPES:
        known = ", ".join(_TYPES)
        raise doc.error(element, f"unknown joint type {kind!r}, expected one of {known}")
    if kind == "fixed":
        return Joint("fixed")
    fields: dict[str, Any] = {"anchor": tuple(map(float, pose[:3, 3]))}
    if kind != "ball":
        axes = [_axis(record, "axis", pose)]
        if kind == "universal":
            axes.append(_axis(record, "axis2", pose))
            fields["axis2"] = axes[1][0]
            for mimic in (*element.findall("axis/mimic"), *element.findall("axis2/mimic")):
                doc.doubt("physics", mimic, "universal joints that mimic others are left free")
        fields["axis"] = axes[0][0]
        for name in axes[0][1]:
            values = tuple(axis[1][name] for axis in axes)
            fields[name] = values if len(values) > 1 else values[0]
        if kind == "continuous":
            fields |= {"lower": -math.inf, "upper": math.inf}
        fields["mimic"] = _mimic(record) if kind != "universal" else None
        fields["armature"] = _rotor(doc, element)
    if kind == "screw":
        fields["pitch"] = _pitch(doc, element)
    return Joint(_TYPES[kind], record.name, **fields)


def _axis(record: _Joint, tag: str, pose: Array) -> tuple[tuple[float, ...], dict[str, float]]:
    """Return the direction in the frame of the link, and limits and damping."""
    doc, element = record.thing.doc, record.thing.element.find(tag)
    if element is None:
        raise record.thing.error(f"<{tag}> is missing")
    check_children(doc, element)
    for holder in element.iterchildren("limit", "dynamics"):
        check_children(doc, holder)
    unit = doc.attempt(_direction, record, element, pose)
    values = {}
    for name, holder, default in (
        ("lower", "limit", -math.inf),
        ("upper", "limit", math.inf),
        ("effort_limit", "limit", math.inf),
        ("velocity_limit", "limit", math.inf),
        ("damping", "dynamics", 0.0),
        ("friction", "dynamics", 0.0),
    ):
        found = element.find(holder), name.removesuffix("_limit"), default
        value = doc.attempt(_number, doc, *found)
        values[name] = default if value is None else value
    if values["lower"] > values["upper"]:
        doc.fault(element.find("limit"), "the lower limit is above the upper one")
    spring = element.find("dynamics/spring_stiffness")
    if spring is not None and numbers(doc, spring, 1)[0] != 0:
        doc.doubt("physics", spring, "springs of joints are left out")
    return (0.0, 0.0, 1.0) if unit is None else tuple(map(float, unit)), values


def _direction(record: _Joint, element: Element, pose: Array) -> Array:
    """The axis in the frame of the link."""
    doc, xyz = record.thing.doc, element.find("xyz")
    direction = np.array([0.0, 0.0, 1.0]) if xyz is None else numbers(doc, xyz, 3)
    if not direction.any():
        raise doc.error(xyz, "the axis of a joint must not be zero")
    frame = "" if xyz is None else xyz.get("expressed_in") or ""
    if flag(doc, element, "use_parent_model_frame", default=older(doc, 5)):
        frame = "__model__"
    if frame:
        own = record.scope.pose(record.thing, record.thing.element.get("name"))
        turn = own[:3, :3].T @ record.scope.pose(record.thing, frame)[:3, :3]
        direction = turn @ direction
    direction = direction / np.abs(direction).max()  # whose square might underflow
    unit: Array = pose[:3, :3] @ (direction / np.linalg.norm(direction))
    return unit


def _number(doc: Document, holder: Element | None, name: str, default: float) -> float:
    element = None if holder is None else holder.find(name)
    if element is None:
        return default
    value = float(numbers(doc, element, 1, math.inf)[0])
    if name in ("lower", "upper"):
        return math.copysign(math.inf, value) if abs(value) >= _NO_LIMIT else value
    if name in ("effort", "velocity"):
        return math.inf if value < 0 or value >= UNLIMITED else value
    if value < 0 or not math.isfinite(value):
        raise doc.error(element, f"{name} must not be negative or infinite, got {value:g}")
    return value


def _mimic(record: _Joint) -> Mimic | None:
    doc, element = record.thing.doc, record.thing.element.find("axis/mimic")
    if element is None:
        return None
    check_children(doc, element)
    values = [
        1.0 if child is None and name == "multiplier" else 0.0 if child is None
        else float(numbers(doc, child, 1)[0])
        for name, child in ((x, element.find(x)) for x in ("multiplier", "offset", "reference"))
    ]  # fmt: skip
    leader = record.scope.prefix + doc.text(element, "joint")
    return Mimic(leader, values[0], values[1] - values[0] * values[2])


def _check_leaders(joints: Sequence[_Joint], motions: dict[str, Joint | None]) -> None:
    """Joints that mimic what has no single position are refused, or left free and told."""
    leaders = {}
    for record in joints:
        own, doc = motions[record.name], record.thing.doc
        if own is None or own.mimic is None:
            continue
        element, name = record.thing.element.find("axis/mimic"), own.mimic.joint
        leaders[record.name] = name
        leader = motions.get(name)
        if name not in motions:
            doc.doubt("physics", element, f"there is no joint {name!r}; this one is left free")
        elif leader is not None and leader.type == "universal":
            message = "joints that mimic an axis of a universal joint are left free"
            doc.doubt("physics", element, message)
        else:
            if leader is not None and leader.type in ("fixed", "spherical", "planar"):
                doc.fault(element, f"joint {name!r} is {leader.type}, it has no position")
            elif element.get("axis") not in (None, "axis"):
                doc.fault(element, f"joint {name!r} has no {element.get('axis')[:60]!r}")
            continue
        motions[record.name] = replace(own, mimic=None)
    elements = {record.name: record for record in joints}
    for name in rings(leaders):
        thing = elements[name].thing
        thing.doc.fault(thing.element.find("axis/mimic"), f"joint {name!r} mimics itself")


def _rotor(doc: Document, element: Element) -> float:
    """Armature by Drake's extension: the rotor's inertia times the square of the gear ratio."""
    values = {"rotor_inertia": 0.0, "gear_ratio": 1.0}
    for child in element:
        local = child.tag.rpartition("}")[2].rpartition(":")[2]
        if local in values and local != child.tag:
            values[local] = float(numbers(doc, child, 1)[0])
            if values["rotor_inertia"] < 0:
                raise doc.error(child, f"must not be negative, got {values[local]:g}")
    return values["rotor_inertia"] * values["gear_ratio"] ** 2


def _pitch(doc: Document, element: Element) -> float:
    """Advance in m/rad: `screw_thread_pitch` is per turn; the old `thread_pitch` its inverse."""
    new, old = element.find("screw_thread_pitch"), element.find("thread_pitch")
    if new is not None:
        return float(numbers(doc, new, 1)[0]) / (2 * math.pi)
    if old is None:
        return 1.0 / (2 * math.pi)
    value = float(numbers(doc, old, 1)[0])
    if value == 0:
        raise doc.error(old, "the pitch must not be zero")
    return -1.0 / value


def _frames(
    scope: Scope, pose: Array, links: dict[str, _Link]
) -> Iterator[tuple[str, str | None, Array]]:
    """Names of frames, the links that they are fixed to, and their poses there."""
    for name, thing in scope.things.items():
        if name in scope.models:
            yield from _frames(scope.models[name], _pose(scope, thing, name, pose), links)
        elif thing.element.tag == "frame":
            check_children(thing.doc, thing.element)
            link = thing.doc.attempt(scope.link, thing, name)
            if link is not None:
                start = lie.inverse(links[link].pose) if link else np.eye(4)
                here = _pose(scope, thing, name, pose)
                yield scope.prefix + name, link or None, start @ here
