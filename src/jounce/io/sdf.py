"""Load SDF files."""

from __future__ import annotations

import os

import numpy as np

from jounce import lie
from jounce._types import ArrayLike
from jounce.errors import ModelError
from jounce.io._common import blamed, warn_of_findings
from jounce.io._findings import Finding, stop_if_refused
from jounce.io._folder import Folder
from jounce.io._sdf_read import Robot, read_robot
from jounce.io._sdf_rules import check_children, check_version, older
from jounce.io._sdf_scope import Includes, Scope, Thing, is_reserved, numbers, read_scope
from jounce.io._source import MAX_BYTES, Source, read_source
from jounce.io._xml import Document, parse
from jounce.model import Model
from jounce.model._checks import check_flag
from jounce.model.builder import ModelBuilder
from jounce.model.joints import Joint
from jounce.model.roots import Base, root_joint

__all__ = ["load_sdf"]


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
    and included models are understood as SDF 1.7 and later define them, in older files as their
    version does. Links and joints of nested models are named ``model::link``; in a world with
    several models all are. Frames stay frames of the model. A body's frame is that of its link;
    its joint may be elsewhere.

    A link without `<inertial>` has a mass of 1 kg and unit moments, as SDF says. Visuals and
    collisions become ``model.visuals``, with their diffuse colors. Sensors and plugins are left
    out.

    Args:
        source: path of the file, or the XML text itself.
        base: "fixed": links that no joint moves are fixed to the world where they are. "free": a
            free joint named "root_joint" moves the one link that no joint connects to anything
            above, and its pose in the file does not count. Other joints as in `jounce.load`.
        strict: refuse what is otherwise a warning, and what SDF does not have.
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
    check_flag("strict", strict)
    root = root_joint(base)
    doc = parse(source, strict)
    if findings is not None:
        doc.collect(findings)
    if doc.root.tag != "sdf":
        raise doc.error(doc.root, "expected <sdf> as the root element of an SDF file")
    top = _top(doc, Includes(Folder(source.directory, folder, max_bytes), max_bytes))
    try:
        robot = read_robot(doc, top)
    except RecursionError:
        raise doc.error(doc.root, "frames are attached to each other too deep") from None
    weight = doc.attempt(_gravity, top, gravity)
    stop_if_refused(doc.findings)
    builder = ModelBuilder(gravity=weight, name=_name(top))
    try:
        _add_bodies(builder, doc, robot, root)
        for frame in robot.frames:
            builder.add_frame(*frame)
        builder.add_visuals(robot.visuals)
        model = builder.build(warn=False)
    except ModelError as error:
        if ": <" in str(error):  # which names an element
            raise
        thing = _blamed(robot, str(error))
        if thing:
            raise thing.error(str(error)) from None
        raise doc.error(doc.root, str(error)) from None
    if findings is None:
        warn_of_findings(source.name, doc.findings)
    return model


def _blamed(robot: Robot, message: str) -> Thing | None:
    """The joint or link that a message about the model is about."""
    joints = ((record.name, record.thing) for record in robot.joints)
    links = ((link.name, link.thing) for link in robot.links.values())
    return blamed(message, joint=joints, body=links)


def _top(doc: Document, includes: Includes) -> Scope:
    """Return the world, or a world that holds the one model of the file; names without prefix."""
    check_version(doc)
    check_children(doc, doc.root)
    worlds, models = doc.root.findall("world"), doc.root.findall("model")
    if len(worlds) + len(models) != 1:
        raise doc.error(doc.root, f"expected one model or world, got {len(worlds) + len(models)}")
    top = Scope(doc, worlds[0] if worlds else doc.root)
    if worlds:
        read_scope(top, includes)
    else:
        name = doc.text(models[0], "name")
        if is_reserved(name):
            raise doc.error(models[0], f"the name {name!r} is reserved")
        placement = models[0].get("placement_frame") or ""
        top.things[name] = Thing(doc, models[0], "__model__", placement)
        top.models[name] = Scope(doc, models[0])
        read_scope(top.models[name], includes)
    return top


def _name(top: Scope) -> str:
    return str(top.element.get("name") or next(iter(top.models), "robot"))


def _gravity(top: Scope, gravity: ArrayLike | None) -> ArrayLike:
    if gravity is not None:
        return gravity
    given = top.element.find("gravity")
    if given is None and older(top.doc, 6):
        given = top.element.find("physics/gravity")
    return (0.0, 0.0, -9.81) if given is None else numbers(top.doc, given, 3)


def _add_bodies(builder: ModelBuilder, doc: Document, robot: Robot, base: Joint) -> None:
    links = robot.links
    roots = [link for link in links.values() if link.name not in robot.above]
    moved = base.type != "fixed"
    freed = [link.name for link in roots if not link.scope.static] if moved else []
    if moved and len(freed) != 1:
        message = f'base="{base.type}" needs one link to free, there are {len(freed)}'
        raise doc.error(doc.root, message)
    for link in roots:
        free = link.name in freed
        joint = base if free else Joint("fixed")
        pose = np.eye(4) if free else link.pose
        builder.add_body(link.name, None, joint, pose, parameters=robot.parameters[link.name])
    for record in robot.joints:
        link = links[record.child]
        start = lie.inverse(links[record.parent].pose) if record.parent else np.eye(4)
        motion = robot.motions[record.name] or "fixed"
        if record.start is not None and motion != Joint("fixed"):
            start = start @ record.start @ lie.inverse(record.pose)
        builder.add_body(
            link.name,
            record.parent or None,
            motion,
            start @ link.pose,
            parameters=robot.parameters[link.name],
        )
