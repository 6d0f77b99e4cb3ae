"""Checks that concern the whole file: names, the tree, mimic joints, inertias."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from jounce._types import Array
from jounce.errors import close_names, did_you_mean
from jounce.io._common import rings
from jounce.io._findings import Finding
from jounce.io._urdf_read import Inertial, JointRecord, LinkRecord
from jounce.io._xml import Document
from jounce.model import inertia

__all__ = [
    "check_tree",
    "doubt_inertias",
    "locked_positions",
    "unknown_leaders",
]


def check_tree(
    doc: Document, links: Sequence[LinkRecord], joints: Sequence[JointRecord], whole: bool = True
) -> LinkRecord | None:
    """Check that links and joints make one tree with unique names; return its root.

    Unless all links and joints are there (`whole`), what seems to be missing is not told.
    """
    if not links and whole:
        doc.fault(doc.root, "there are no links")
    by_name = _unique(doc, links)
    _unique(doc, joints)
    joint_of: dict[str, JointRecord] = {}
    for joint in joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in by_name and whole:
                message = f"there is no link named {link!r}{_hint(link, by_name)}"
                doc.fault(joint.element.find(role), message)
        if joint.parent == joint.child:
            doc.fault(joint.element, f"link {joint.child!r} is its own parent")
        other = joint_of.setdefault(joint.child, joint)
        if other is not joint:
            line = doc.line(other.element)
            doc.fault(
                joint.element,
                f"link {joint.child!r} is the child of joint {other.name!r} (line {line}) already",
            )
    roots = [link for link in links if link.name not in joint_of]
    if len(roots) > 1 and whole and by_name.keys() >= joint_of.keys():
        listed = ", ".join(f"{r.name!r} (line {doc.line(r.element)})" for r in roots[:10])
        more = ", ..." if len(roots) > 10 else ""
        doc.fault(
            roots[1].element,
            f"there are {len(roots)} root links, expected one: {listed}{more}",
        )
    _refuse_cycle(doc, joint_of, joints)
    return roots[0] if roots else None


def _unique(
    doc: Document, records: Sequence[LinkRecord] | Sequence[JointRecord]
) -> dict[str, LinkRecord | JointRecord]:
    found: dict[str, LinkRecord | JointRecord] = {}
    for record in records:
        first = found.setdefault(record.name, record)
        if first is not record:
            line = doc.line(first.element)
            doc.fault(record.element, f"the name is taken in line {line} already")
    return found


def _hint(name: str, known: Iterable[str]) -> str:
    return did_you_mean(map(repr, close_names(name, known, 2)))


def _refuse_cycle(
    doc: Document, joint_of: Mapping[str, JointRecord], joints: Sequence[JointRecord]
) -> None:
    """Walk from each link to the root; meeting a link of the same walk again is a cycle."""
    walk_of: dict[str, int] = {}
    for number, start in enumerate(joints):
        link = start.child
        while link in joint_of and link not in walk_of:
            walk_of[link] = number
            link = joint_of[link].parent
        if link in joint_of and walk_of[link] == number and joint_of[link].parent != link:
            doc.fault(
                joint_of[link].element, f"the joints form a loop: link {link!r} is its own ancestor"
            )


def unknown_leaders(doc: Document, joints: Sequence[JointRecord]) -> list[JointRecord]:
    """Check what mimic joints follow; return those that follow a joint that does not exist."""
    by_name = {joint.name: joint for joint in joints}
    lost = []
    for joint in joints:
        if joint.mimic is None:
            continue
        leader = by_name.get(joint.mimic.joint)
        if leader is None:
            lost.append(joint)
        elif leader.type not in ("revolute", "continuous", "prismatic"):
            doc.fault(
                joint.mimic_element, f"joint {leader.name!r} is {leader.type}, it has no position"
            )
    for name in rings({x.name: x.mimic.joint for x in joints if x.mimic is not None}):
        doc.fault(by_name[name].mimic_element, f"joint {name!r} mimics itself")
    if doc.strict and lost:
        raise doc.error(lost[0].mimic_element, _lost_report(doc, lost, by_name))
    if doc.collects:
        for joint in lost:
            message = f"there is no joint {joint.mimic.joint!r}" if joint.mimic else ""
            doc.doubt("structure", joint.mimic_element, message)
    elif lost:
        doc.findings.append(Finding("structure", lambda: _lost_report(doc, lost, most=10)))
    return lost


def _lost_report(
    doc: Document,
    lost: Sequence[JointRecord],
    known: Iterable[str] = (),
    most: int | None = None,
) -> str:
    """List mimic joints that follow joints that do not exist, `most` of them or all."""
    listed = [
        f"{joint.name!r} (line {doc.line(joint.mimic_element)}) follows {joint.mimic.joint!r}"
        + _hint(joint.mimic.joint, known).replace("; did", ", did")
        for joint in lost[:most]
        if joint.mimic is not None
    ]
    if len(listed) < len(lost):
        listed.append(f"and {len(lost) - len(listed)} more")
    return "mimic joints follow joints that do not exist: " + "; ".join(listed)


def locked_positions(joints: Sequence[JointRecord]) -> dict[str, float]:
    """Return the position of each mimic joint while all joints that lead are at zero."""
    by_name = {joint.name: joint for joint in joints}
    positions: dict[str, float] = {}
    for start in joints:
        chain = []
        joint: JointRecord | None = start
        while joint is not None and joint.mimic is not None and joint.name not in positions:
            chain.append(joint)
            joint = by_name.get(joint.mimic.joint)
        for follower in reversed(chain):
            assert follower.mimic is not None
            leading = positions.get(follower.mimic.joint, 0.0)
            positions[follower.name] = follower.mimic.multiplier * leading + follower.mimic.offset
    return positions


def doubt_inertias(
    doc: Document, inertials: Sequence[Inertial], masses: Array, tensors: Array
) -> None:
    """Find those that no rigid body can have; `strict` refuses them.

    Args:
        doc: the file.
        inertials: n of them.
        masses: (n,) their masses.
        tensors: (n, 3, 3) their inertias about the center of mass.
    """
    rows = inertia.from_com(masses, np.zeros((len(masses), 3)), tensors)
    found = [(inertials[k], why) for k, why in inertia.violations(rows).items()]
    if found and doc.strict:
        raise doc.error(found[0][0].element, _report(doc, found))
    if doc.collects:
        for inertial, why in found:
            doc.doubt("physics", inertial.element, why)
    elif found:
        doc.findings.append(Finding("physics", lambda: _report(doc, found, most=10)))


def _report(doc: Document, found: Sequence[tuple[Inertial, str]], most: int | None = None) -> str:
    """List links with impossible inertias and their lines, `most` of them or all."""
    listed = [
        f"{inertial.element.getparent().get('name')!r} (line {doc.line(inertial.element)}): {why}"
        for inertial, why in found[:most]
    ]
    if len(listed) < len(found):
        listed.append(f"and {len(found) - len(listed)} more")
    plural = "link has an inertia" if len(found) == 1 else "links have inertias"
    return f"{len(found)} {plural} that no rigid body can have: " + "; ".join(listed)
