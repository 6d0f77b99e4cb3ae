"""Load URDF files."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.errors import ModelError
from jounce.io import _urdf_check as check
from jounce.io._common import (
    MIMIC_CHOICES,
    blamed,
    displacement,
    warn_of_findings,
)
from jounce.io._equalities import with_constraints, with_mimic_couplings
from jounce.io._findings import stop_if_refused
from jounce.io._source import MAX_BYTES, Source, read_source
from jounce.io._urdf_extension import Header, is_no_frame, read_chains, read_header, restored
from jounce.io._urdf_origin import poses
from jounce.io._urdf_read import JointRecord, LinkRecord, Robot, read_robot
from jounce.io._urdf_shapes import read_colors, visuals
from jounce.io._xml import Document, Element, parse
from jounce.io.srdf import add_poses
from jounce.model import Model, inertia
from jounce.model._checks import check_choice, check_flag, collector_paused
from jounce.model.builder import ModelBuilder
from jounce.model.joints import Joint
from jounce.model.roots import ROOT_JOINT, Base, root_joint

__all__ = ["load_urdf"]


_ROWS, _COLUMNS = (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)


def load_urdf(
    source: str | bytes | os.PathLike[str],
    base: Base = "fixed",
    *,
    mimic: str = "independent",
    strict: bool = False,
    gravity: ArrayLike | None = None,
    max_bytes: int = MAX_BYTES,
) -> Model:
    """Load a robot from a URDF file or from its text.

    Children of a link keep the order of their joints in the file. Links that are fixed to
    their parent are merged into it; their names remain frames, and so does the name of the fixed
    joint (at the frame of its child), unless a link has it too. Shapes are kept in
    ``model.visuals``. What URDF does not define is ignored if it is some vendor's extension and
    refused if it looks like a misspelling.

    Args:
        source: path of the file, or the XML text itself.
        base: "fixed": the root link is fixed to the world. "free": a free joint named
            "root_joint" connects it to the world, unless the root is a massless link that only
            carries a floating joint. Any other joint type ("planar"), or a `Joint`,
            connects it likewise.
        mimic: "independent": a joint with `<mimic>` is a joint like any other, and
            ``model.joints[k].mimic`` says what it follows. "locked": it is fixed where it is
            while the joint that it follows is at zero. "coupled": it follows, so that rates and
            coordinates are those of the other joints, see `Model.coupled`.
        strict: refuse what is otherwise a warning (inertias that no body can have, mimic joints
            without a leader), unknown elements and attributes, and whatever the specification
            requires but robots in use leave out (limits, a robot's name).
        gravity: acceleration of gravity, m/s^2; by default (0, 0, -9.81), or what `jounce.save`
            wrote.
        max_bytes: largest size of the file; what is larger is refused before it is read.

    Returns:
        The robot.

    Raises:
        ModelError: the file is wrong; the message names file, line and element.
        MissingFileError: there is no such file.
        ArgumentError: `base` or `mimic` is none of the above.

    Warns:
        ModelWarning: once per file, listing the links and lines of impossible inertias.

    Examples:
        >>> text = (
        ...     "<robot name='rod'><link name='base'/><link name='rod'/>"
        ...     "<joint name='hinge' type='continuous'>"
        ...     "<parent link='base'/><child link='rod'/></joint>"
        ...     "</robot>"
        ... )
        >>> jc.load_urdf(text).joint_names
        ('hinge',)
    """
    text = read_source(source, max_bytes)
    return from_source(text, base, mimic=mimic, strict=strict, gravity=gravity)


def from_source(
    source: Source, base: Base, *, mimic: str, strict: bool, gravity: ArrayLike | None
) -> Model:
    """Load a robot from bytes that were read already; see `load_urdf`."""
    check_flag("strict", strict)
    root = root_joint(base)
    check_choice("mimic", mimic, MIMIC_CHOICES)
    with collector_paused():
        doc = parse(source, strict, forgiving=True)
        model = read_model(doc, root, mimic == "locked", gravity)
    warn_of_findings(source.name, doc.findings)
    return model.coupled() if mimic == "coupled" else model


def read_model(
    doc: Document,
    base: Joint | None = None,
    lock: bool = False,
    gravity: ArrayLike | None = None,
) -> Model:
    """Return the model; what is doubtful about it is in ``doc.findings``."""
    base = root_joint("fixed") if base is None else base
    robot = read_robot(doc)
    root = check.check_tree(doc, robot.links, robot.joints, robot.whole)
    lost = check.unknown_leaders(doc, robot.joints)
    colors = read_colors(doc, robot.materials)
    parameters = _inertial_parameters(doc, robot.links)
    header = doc.attempt(read_header, doc)
    stop_if_refused(doc.findings)
    assert root is not None
    assert header is not None
    joint = _root_joint(doc, robot, root, base, header)
    builder = ModelBuilder(gravity=header.gravity if gravity is None else gravity, name=robot.name)
    builder.add_visuals(visuals(doc, robot.shapes, colors))
    try:
        if header.world and joint.type == "fixed":
            world = root.name  # which is no frame of the model
        else:
            world = ""
            builder.add_body(root.name, None, joint, parameters=parameters[root.name])
        names = {j.name for j in lost}
        _add_joints(doc, builder, robot.joints, parameters, names, lock, world)
        for name, placement in header.frames.items():
            builder.add_frame(name, None, placement)
        model = builder.build(warn=False)
    except ModelError as error:
        message = str(error)
        if message.startswith(f"{doc.name}:"):  # which names an element
            raise
        raise doc.error(_blamed(doc, robot, message), message) from None
    model = add_poses(doc, model)
    if header.constraints is None:
        return with_mimic_couplings(model)
    return with_constraints(model, header.constraints)


def _blamed(doc: Document, robot: Robot, message: str) -> Element:
    """The joint or link that a message about the model is about; the root if there is none."""
    inside = [element for held in doc.root.iter("jounce") for element in held.iter("joint")]
    joints = [(joint.name, joint.element) for joint in robot.joints]
    joints += [(element.get("name", ROOT_JOINT), element) for element in inside]
    links = [(link.name, link.element) for link in robot.links]
    found = blamed(message, joint=joints, body=links)
    return doc.root if found is None else found


def _inertial_parameters(doc: Document, links: Sequence[LinkRecord]) -> dict[str, Array]:
    """Return the ten parameters of each link."""
    massless = np.zeros(10)
    parameters = {link.name: massless for link in links}
    named = [(link.name, link.inertial) for link in links if link.inertial is not None]
    if not named:
        return parameters
    inertials = [inertial for _, inertial in named]
    pose = poses([inertial.origin for inertial in inertials])
    masses = np.array([inertial.mass for inertial in inertials])
    own = np.empty((len(inertials), 3, 3))
    own[:, _ROWS, _COLUMNS] = [inertial.inertia for inertial in inertials]
    own[:, _COLUMNS, _ROWS] = own[:, _ROWS, _COLUMNS]
    rotation = pose[:, :3, :3]
    rotated = rotation @ own @ rotation.swapaxes(1, 2)
    rotated = 0.5 * (rotated + rotated.swapaxes(1, 2))
    rows = inertia.from_com(masses, pose[:, :3, 3], rotated)
    parameters.update((name, row) for (name, _), row in zip(named, rows, strict=True))
    check.doubt_inertias(doc, inertials, masses, own)
    return parameters


def _root_joint(
    doc: Document, robot: Robot, root: LinkRecord, base: Joint, header: Header
) -> Joint:
    """Return the joint between the world and the root link."""
    if base.type == "free" and _floats_already(robot, root):
        return Joint("fixed")
    joint = base if header.root is None or base != Joint("free", ROOT_JOINT) else header.root
    for record in robot.joints:
        if record.name == joint.name and "fixed" not in (joint.type, record.type):
            raise doc.error(
                record.element, f'base="{joint.type}" adds a joint named {joint.name!r} as well'
            )
    return joint


def _floats_already(robot: Robot, root: LinkRecord) -> bool:
    """Whether the root is a massless stand-in for the world, under a floating joint."""
    below = [joint.type for joint in robot.joints if joint.parent == root.name]
    return root.inertial is None and below == ["free"]


def _add_joints(
    doc: Document,
    builder: ModelBuilder,
    joints: Sequence[JointRecord],
    parameters: dict[str, Array],
    lost: set[str],
    lock: bool,
    world: str,
) -> None:
    """Add all links but the root.

    Args:
        doc: the file.
        builder: takes the links.
        joints: all joints of the file.
        parameters: of every link, by its name.
        lost: names of joints that follow a joint that does not exist.
        lock: whether joints that follow others are fixed.
        world: name of a root link that only stands for the world.
    """
    placements = poses([joint.origin for joint in joints])
    locked = check.locked_positions(joints) if lock else {}
    chains = read_chains(doc, joints, placements, parameters, locked)
    inside = {name for chain in chains.values() for name in chain.rest}
    for record, placement in zip(joints, placements, strict=True):
        if record.name in inside:
            continue
        own: Joint | tuple[Joint, ...] = Joint("fixed")
        child, parent = record.child, None if record.parent == world else record.parent
        if record.name in chains:
            _, child, own, placement = chains[record.name]
        elif record.name in locked:
            placement = placement @ displacement(record.type, record.axis, locked[record.name])
        elif record.type != "fixed":
            own = restored(doc, record, _joint(record, record.name in lost))
        builder.add_body(child, parent, own, placement, parameters=parameters[child])
        is_frame = own == Joint("fixed") and record.name not in parameters
        if is_frame and not is_no_frame(record):
            builder.add_frame(record.name, parent, placement)


def _joint(record: JointRecord, lost: bool) -> Joint:
    return Joint(
        record.type,
        record.name,
        axis=record.axis,
        damping=record.limits.damping,
        friction=record.limits.friction,
        lower=record.limits.lower,
        upper=record.limits.upper,
        velocity_limit=record.limits.velocity,
        effort_limit=record.limits.effort,
        mimic=None if lost else record.mimic,
    )
