"""Load SDF files."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from jounce import lie
from jounce._types import Array, ArrayLike
from jounce.errors import ModelError
from jounce.io._common import warn_of_findings
from jounce.io._findings import Finding
from jounce.io._folder import Folder
from jounce.io._sdf_scope import (
    Scope,
    Thing,
    check_children,
    numbers,
    read_pose,
    read_scope,
    word,
)
from jounce.io._sdf_shapes import visuals
from jounce.io._source import MAX_BYTES, Source, read_source
from jounce.io._xml import UNLIMITED, Document, Element, parse
from jounce.model import Model, inertia
from jounce.model.builder import ModelBuilder
from jounce.model.joints import Joint, Mimic
from jounce.model.roots import Base, root_joint

__all__ = ["load_sdf"]

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


def load_sdf(
    source: str | bytes | os.PathLike[str],
    base: Base = "fixed",
    *,
    strict: bool = False,
    gravity: ArrayLike | None = None,
    max_bytes: int = MAX_BYTES,
    folder: str | os.PathLike[str] | None = None,
) -> Model:
    """Load a robot from an SDF file or from its text.

    Poses in any frame (`relative_to`, `attached_to`, `expressed_in`, `placement_frame`), nested
    and included models are understood as SDF 1.7 and later define them. Links and joints of nested
    models are named ``model::link``; in a world with several models all are. Frames stay frames of
    the model. A body's frame is that of its link; its joint may be elsewhere.

    A link without `<inertial>` has a mass of 1 kg and unit moments, as SDF says. Visuals and
    collisions become ``model.visuals``, with their diffuse colors. Sensors and plugins are left
    out.

    Args:
        source: path of the file, or the XML text itself.
        base: "fixed": links that no joint moves are fixed to the world where they are. "free": a
            free joint named "root_joint" moves the one link that no joint connects to anything
            above, and its pose in the file does not count. Other joints as in `jounce.load`.
        strict: refuse what is otherwise a warning, and elements that SDF does not have.
        gravity: acceleration of gravity, m/s^2; by default that of the world in the file, or
            (0, 0, -9.81).
        max_bytes: largest size of the file, and of each that it includes.
        folder: where included files must be, see `jounce.load_mjcf`.

    Returns:
        The robot.

    Raises:
        ModelError: the file is wrong; the message names file, line and element.
        MissingFileError: there is no such file.
        ArgumentError: `base` is none of the above.

    Warns:
        ModelWarning: once per file, naming what is doubtful or left out.

    Examples:
        >>> import jounce as jc
        >>> text = '''<sdf version="1.9"><model name="pendulum"><link name="rod">
        ... <inertial><pose>0 0 -0.5 0 0 0</pose><mass>2</mass></inertial></link>
        ... <joint name="pivot" type="revolute"><parent>world</parent><child>rod</child>
        ... <axis><xyz>0 1 0</xyz></axis></joint></model></sdf>'''
        >>> print(round(jc.load_sdf(text).inertias[0, 0], 3))
        2.0
    """
    text = read_source(source, max_bytes)
    return from_source(
        text, base, strict=strict, gravity=gravity, max_bytes=max_bytes, folder=folder
    )


def from_source(
    source: Source,
    base: Base,
    *,
    strict: bool = False,
    gravity: ArrayLike | None = None,
    max_bytes: int = MAX_BYTES,
    folder: str | os.PathLike[str] | None = None,
    findings: list[Finding] | None = None,
) -> Model:
    """Load a robot from bytes that were read already; see `load_sdf`.

    With a list of `findings`, all that is doubtful goes there instead of into a warning.
    """
    root = root_joint(base)
    doc = parse(source, strict)
    if findings is not None:
        doc.findings, doc.collects = findings, True
    if doc.root.tag != "sdf":
        raise doc.error(doc.root, "expected <sdf> as the root element of an SDF file")
    top = _top(doc, Folder(source.directory, folder, max_bytes), max_bytes)
    builder = ModelBuilder(gravity=_gravity(top, gravity), name=_name(top))
    links = {link.name: link for link in _links(top, np.eye(4))}
    if not links:
        raise doc.error(doc.root, "there are no links")
    joints = [joint for joint in _joints(top, np.eye(4)) if joint.child in links]
    try:
        _add_bodies(builder, doc, links, joints, root)
        _add_frames(builder, top, np.eye(4), links)
        for link in links.values():
            builder.add_visuals(visuals(link.scope, link.thing, link.name))
        model = builder.build(warn=False)
    except ModelError as error:
        if ": <" in str(error):  # which names an element
            raise
        raise doc.error(doc.root, str(error)) from None
    if findings is None:
        warn_of_findings(source.name, doc.findings)
    return model


def _top(doc: Document, folder: Folder, max_bytes: int) -> Scope:
    """Return the world, or a world that holds the one model of the file; names without prefix."""
    check_children(doc, doc.root)
    worlds, models = doc.root.findall("world"), doc.root.findall("model")
    if len(worlds) + len(models) != 1:
        raise doc.error(doc.root, f"expected one model or world, got {len(worlds) + len(models)}")
    top = Scope(doc, worlds[0] if worlds else doc.root)
    if worlds:
        read_scope(top, folder, max_bytes)
    else:
        name = doc.text(models[0], "name")
        top.things[name] = Thing(doc, models[0], "__model__")
        top.models[name] = Scope(doc, models[0])
        read_scope(top.models[name], folder, max_bytes)
    return top


def _name(top: Scope) -> str:
    return str(top.element.get("name") or next(iter(top.models), "robot"))


def _gravity(top: Scope, gravity: ArrayLike | None) -> ArrayLike:
    if gravity is not None:
        return gravity
    given = top.element.find("gravity")
    return (0.0, 0.0, -9.81) if given is None else numbers(top.doc, given, 3)


def _links(scope: Scope, pose: Array) -> Iterator[_Link]:
    """All links with their poses in the world; `pose` is that of the scope."""
    for name, thing in scope.things.items():
        if name in scope.models:
            yield from _links(scope.models[name], pose @ scope.pose(thing, name))
        elif thing.element.tag == "link":
            check_children(thing.doc, thing.element)
            yield _Link(thing, scope, scope.prefix + name, pose @ scope.pose(thing, name))


def _joints(scope: Scope, pose: Array) -> Iterator[_Joint]:
    for name, thing in scope.things.items():
        if name in scope.models:
            yield from _joints(scope.models[name], pose @ scope.pose(thing, name))
        elif thing.element.tag == "joint":
            check_children(thing.doc, thing.element)
            parent = scope.link(thing, word(thing.doc, thing.element, "parent"))
            child = scope.link(thing, word(thing.doc, thing.element, "child"))
            if not child:
                raise thing.error("the child must not be the world")
            where = pose @ scope.pose(thing, name)
            yield _Joint(thing, scope, scope.prefix + name, parent, child, where)


def _add_bodies(
    builder: ModelBuilder, doc: Document, links: dict[str, _Link], joints: list[_Joint], base: Joint
) -> None:
    above: dict[str, _Joint] = {}
    for record in joints:
        other = above.setdefault(record.child, record)
        if other is not record:
            raise record.thing.error(
                f"link {record.child!r} is the child of {other.name!r} already; closed loops are "
                "not supported"
            )
    roots = [link for link in links.values() if link.name not in above]
    moved = base.type != "fixed"
    freed = [link.name for link in roots if not link.scope.static] if moved else []
    if moved and len(freed) != 1:
        message = f'base="{base.type}" needs one link to free, there are {len(freed)}'
        raise doc.error(doc.root, message)
    for link in roots:
        free = link.name in freed
        joint = base if free else Joint("fixed")
        pose = np.eye(4) if free else link.pose
        builder.add_body(link.name, None, joint, pose, parameters=_parameters(link.thing))
    _refuse_loop(above)
    for record in joints:
        link = links[record.child]
        start = lie.inverse(links[record.parent].pose) if record.parent else np.eye(4)
        builder.add_body(
            link.name,
            record.parent or None,
            "fixed" if link.scope.static else _joint(record, lie.inverse(link.pose) @ record.pose),
            start @ link.pose,
            parameters=_parameters(link.thing),
        )


def _refuse_loop(above: dict[str, _Joint]) -> None:
    for start in above.values():
        seen, link = {start.child}, start.parent
        while link in above and link not in seen:
            seen.add(link)
            link = above[link].parent
        if link in seen:
            raise start.thing.error(f"the joints form a loop at link {link!r}")


def _parameters(thing: Thing) -> Array:
    """The ten inertial parameters of a link; SDF's default is 1 kg with unit moments."""
    doc, element = thing.doc, thing.element.find("inertial")
    if word(doc, thing.element, "gravity", "true").lower() in ("false", "0"):
        doc.doubt("physics", thing.element, "gravity acts on this link as well here")
    if element is None:
        return inertia.from_com(1.0, np.zeros(3), np.eye(3))
    check_children(doc, element)
    if element.get("auto", "false") in ("true", "1"):
        raise doc.error(element, "inertias from shapes are not supported")
    pose, relative = read_pose(doc, element)
    if relative:
        raise doc.error(element.find("pose"), "the pose of an inertia is relative to its link")
    mass_element, moments_element = element.find("mass"), element.find("inertia")
    mass = 1.0 if mass_element is None else float(numbers(doc, mass_element, 1)[0])
    if mass < 0:
        raise doc.error(mass_element, f"mass must not be negative, got {mass:g}")
    own = np.eye(3)
    if moments_element is not None:
        check_children(doc, moments_element)
        for name, (i, j) in _MOMENTS.items():
            child = moments_element.find(name)
            if child is not None:
                own[i, j] = own[j, i] = numbers(doc, child, 1)[0]
    rotation = pose[:3, :3]
    turned = rotation @ own @ rotation.T
    row = inertia.from_com(mass, pose[:3, 3], 0.5 * (turned + turned.T))
    why = inertia.violation(inertia.from_com(mass, np.zeros(3), own))
    if why:
        doc.doubt("physics", element, f"no rigid body can have this inertia: {why}")
    return row


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
    xyz = element.find("xyz")
    direction = np.array([0.0, 0.0, 1.0]) if xyz is None else numbers(doc, xyz, 3)
    if not direction.any():
        raise doc.error(xyz, "the axis of a joint must not be zero")
    frame = "" if xyz is None else xyz.get("expressed_in") or ""
    if word(doc, element, "use_parent_model_frame", "false").lower() in ("true", "1"):
        frame = "__model__"
    if frame:
        own = record.scope.pose(record.thing, record.thing.element.get("name"))
        turn = own[:3, :3].T @ record.scope.pose(record.thing, frame)[:3, :3]
        direction = turn @ direction
    values = {}
    for name, holder, default in (
        ("lower", "limit", -math.inf),
        ("upper", "limit", math.inf),
        ("effort_limit", "limit", math.inf),
        ("velocity_limit", "limit", math.inf),
        ("damping", "dynamics", 0.0),
        ("friction", "dynamics", 0.0),
    ):
        values[name] = _number(doc, element.find(holder), name.removesuffix("_limit"), default)
    if values["lower"] > values["upper"]:
        raise doc.error(element.find("limit"), "the lower limit is above the upper one")
    spring = element.find("dynamics/spring_stiffness")
    if spring is not None and numbers(doc, spring, 1)[0] != 0:
        doc.doubt("physics", spring, "springs of joints are left out")
    unit = pose[:3, :3] @ (direction / np.linalg.norm(direction))
    return tuple(map(float, unit)), values


def _number(doc: Document, holder: Element | None, name: str, default: float) -> float:
    element = None if holder is None else holder.find(name)
    if element is None:
        return default
    check_children(doc, holder)
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
    values = [
        1.0 if child is None and name == "multiplier" else 0.0 if child is None
        else float(numbers(doc, child, 1)[0])
        for name, child in ((x, element.find(x)) for x in ("multiplier", "offset", "reference"))
    ]  # fmt: skip
    leader = record.scope.prefix + doc.text(element, "joint")
    return Mimic(leader, values[0], values[1] - values[0] * values[2])


def _rotor(doc: Document, element: Element) -> float:
    """Armature by Drake's extension: the rotor's inertia times the square of the gear ratio."""
    values = {"rotor_inertia": 0.0, "gear_ratio": 1.0}
    for child in element:
        local = child.tag.rpartition("}")[2].rpartition(":")[2]
        if local in values and local != child.tag:
            values[local] = float(numbers(doc, child, 1)[0])
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


def _add_frames(builder: ModelBuilder, scope: Scope, pose: Array, links: dict[str, _Link]) -> None:
    for name, thing in scope.things.items():
        here = pose @ scope.pose(thing, name)
        if name in scope.models:
            _add_frames(builder, scope.models[name], here, links)
        elif thing.element.tag == "frame":
            link = scope.link(thing, name)
            start = lie.inverse(links[link].pose) if link else np.eye(4)
            builder.add_frame(scope.prefix + name, link or None, start @ here)
