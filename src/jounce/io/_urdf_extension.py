"""Read what `jounce.save` keeps in ``<jounce>`` elements of a URDF file.

In ``<robot>``: the gravity, the joint of a free root (``<joint>``), frames that are fixed to the
world (``<frame>``), ``world="true"`` if the root link is there because URDF wants one, the
constraints as JSON (``<constraints data="..."/>``).

In ``<joint>``: fields that URDF has no word for; ``frame="false"`` if the name of a fixed joint is
not one of the model's frames; or ``body="..."`` at the first joint of a chain that stands for the
joints of a body, which are listed inside.

In ``<visual>`` and ``<collision>``: ``shape="capsule"`` if its cylinder stands for a capsule, whose
half spheres are shapes with ``shape="end"``; `_urdf_shapes` reads them.
"""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jounce._types import Array
from jounce.errors import ModelError
from jounce.io._constraint_data import constraints_from_data
from jounce.io._extension import changed, from_attributes
from jounce.io._urdf_origin import poses, read_origin
from jounce.io._urdf_read import JointRecord
from jounce.io._xml import Document, Element
from jounce.model.joints import Joint
from jounce.model.roots import ROOT_JOINT

__all__ = ["Chain", "Header", "is_no_frame", "read_chains", "read_header", "restored"]

_TAG = "jounce"


class Header(NamedTuple):
    """What concerns the whole robot."""

    gravity: tuple[float, ...] | None
    root: Joint | None
    frames: dict[str, Array]
    world: bool
    """Whether the root link stands for the world and is no frame of the model."""
    constraints: Sequence[Any] | None = None


class Chain(NamedTuple):
    """Joints of the file that stand for the joints of one body."""

    rest: tuple[str, ...]
    """Names of all joints of the chain but the first."""
    body: str
    joints: tuple[Joint, ...]
    placement: Array


def read_header(doc: Document) -> Header:
    """Read the extension of ``<robot>``."""
    header = doc.root.find(_TAG)
    if header is None:
        return Header(None, None, {}, False)
    gravity = doc.numbers(header, "gravity", 3) if header.get("gravity") is not None else None
    joint, frames = header.find("joint"), {}
    for element in header.findall("frame"):
        origin = read_origin(doc, element.find("origin"))
        frames[doc.text(element, "name")] = poses([origin])[0]
    root = None if joint is None else _joint(doc, joint, "free")
    held = header.find("constraints")
    constraints = None if held is None else _constraints(doc, held)
    return Header(gravity, root, frames, header.get("world") == "true", constraints)


def _constraints(doc: Document, element: Element) -> Sequence[Any]:
    try:
        return constraints_from_data(json.loads(doc.text(element, "data")))
    except (ModelError, ValueError) as error:
        raise doc.error(element, str(error)) from None


def is_no_frame(record: JointRecord) -> bool:
    """Whether the name of a fixed joint is only there because URDF wants one."""
    extension = record.element.find(_TAG)
    return extension is not None and extension.get("frame") == "false"


def restored(doc: Document, record: JointRecord, plain: Joint) -> Joint:
    """Return a joint with the fields that URDF has no word for."""
    extension = record.element.find(_TAG)
    if extension is None or extension.get("body") is not None:
        return plain
    return _with_fields(doc, extension, plain)


def _joint(doc: Document, element: Element, kind: str) -> Joint:
    name = element.get("name") or ROOT_JOINT
    return _with_fields(doc, element, Joint(element.get("type") or kind, name))


def _with_fields(doc: Document, element: Element, plain: Joint) -> Joint:
    attributes = {name: text for name, text in element.attrib.items() if name != "name"}
    try:
        return changed(plain, from_attributes(attributes))
    except ModelError as error:
        raise doc.error(element, str(error)) from None


def read_chains(
    doc: Document,
    joints: Sequence[JointRecord],
    placements: Array,
    parameters: Mapping[str, Array],
    locked: Container[str],
) -> dict[str, Chain]:
    """Find the chains, by the name of their first joint.

    A chain with a joint that is locked because it follows another one is left as it is.
    """
    chains: dict[str, Chain] = {}
    above = {joint.child: k for k, joint in enumerate(joints)}
    for first, record in enumerate(joints):
        extension = record.element.find(_TAG)
        if extension is None or extension.get("body") is None:
            continue
        own = tuple(_joint(doc, element, "revolute") for element in extension.findall("joint"))
        if any(joint.name in locked for joint in own):
            continue
        body, members = doc.text(extension, "body"), [above.get(extension.get("body"), -1)]
        while members[-1] >= 0 and members[-1] != first:
            members.append(above.get(joints[members[-1]].parent, -1))
        if members[-1] < 0 or not own:
            raise doc.error(extension, f"there is no chain from here to link {body!r}")
        members.reverse()
        _check_between(doc, extension, joints, members, parameters)
        placement = np.eye(4)
        for k in members:
            placement = placement @ placements[k]
        chains[record.name] = Chain(
            tuple(joints[k].name for k in members[1:]), body, own, placement
        )
    return chains


def _check_between(
    doc: Document,
    extension: Element,
    joints: Sequence[JointRecord],
    members: Sequence[int],
    parameters: Mapping[str, Array],
) -> None:
    """Refuse a chain whose links between have become more than steps of it."""
    between = {joints[k].child for k in members[:-1]}
    branches = sum(joint.parent in between for joint in joints) > len(between)
    if branches or any(parameters[link].any() for link in between):
        raise doc.error(
            extension,
            "links inside the chain have masses or other joints; without this <jounce> element "
            "the chain is read joint by joint",
        )
