"""Read links and joints of a URDF file into plain records, element by element."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from jounce.io._urdf_origin import ZERO, Origin, Triple, read_origin, read_triple
from jounce.io._urdf_rules import RULES, checked_children
from jounce.io._urdf_shapes import ShapeRecord, read_shape
from jounce.io._xml import UNLIMITED, Document, Element
from jounce.model.joints import Mimic

__all__ = ["JOINT_TYPES", "Inertial", "JointRecord", "Limits", "LinkRecord", "Robot", "read_robot"]

JOINT_TYPES = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "floating": "free",
    "planar": "planar",
    "spherical": "spherical",
    "ball": "spherical",
}
"""URDF's joint types (and two extensions seen in files), and ours."""

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


class Inertial(NamedTuple):
    """Mass properties; `inertia` holds ixx, ixy, ixz, iyy, iyz, izz about `origin`."""

    element: Element
    origin: Origin
    mass: float
    inertia: tuple[float, ...]


class LinkRecord(NamedTuple):
    """A link and its checked children."""

    element: Element
    name: str
    inertial: Inertial | None


class Limits(NamedTuple):
    """What `<limit>` and `<dynamics>` say."""

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    damping: float = 0.0
    friction: float = 0.0


class JointRecord(NamedTuple):
    """A joint as the file describes it; `type` is ours."""

    element: Element
    name: str
    type: str
    parent: str
    child: str
    origin: Origin
    axis: Triple
    limits: Limits
    mimic: Mimic | None
    mimic_element: Element | None


class Robot(NamedTuple):
    """Everything in the file, in file order."""

    name: str
    links: list[LinkRecord]
    joints: list[JointRecord]
    shapes: list[ShapeRecord]
    materials: list[Element]
    whole: bool
    """Whether each of the links and joints has a record; without, others seem lost."""


def read_robot(doc: Document) -> Robot:
    """Read all elements of the file and check each by itself."""
    root = doc.root
    if root.tag != "robot":
        raise doc.error(root, "expected <robot> as the root element of a URDF file")
    children = checked_children(doc, root)
    version = root.get("version", "1.0")
    if version.split(".")[0] != "1":
        doc.fault(root, f"URDF version {version!r} is not supported, expected 1.x")
    if not root.get("name"):
        doc.doubt("style", root, "attribute 'name' is missing")
    name = root.get("name") or "robot"
    shapes: list[ShapeRecord] = []
    links = [doc.attempt(_link, doc, e, shapes) for e in children.get("link", ())]
    joints = [doc.attempt(_joint, doc, e) for e in children.get("joint", ())]
    materials = children.get("material", [])
    materials = materials + [s.material for s in shapes if s.material is not None]
    whole = None not in links and None not in joints
    links_read, joints_read = [x for x in links if x], [x for x in joints if x]
    return Robot(name, links_read, joints_read, shapes, materials, whole)


def _first(children: dict[str, list[Element]], tag: str) -> Element | None:
    elements = children.get(tag)
    return elements[0] if elements else None


def _link(doc: Document, element: Element, shapes: list[ShapeRecord]) -> LinkRecord:
    children = checked_children(doc, element)
    name = doc.text(element, "name")
    own = _first(children, "origin")
    if own is not None:
        message = "a link has no <origin> in URDF; its pose is that of its joint"
        if read_origin(doc, own) != Origin():
            doc.fault(own, message)
        else:
            doc.doubt("style", own, message)
    for child in [*children.get("visual", ()), *children.get("collision", ())]:
        shape = doc.attempt(read_shape, doc, child, name, needed=False)
        shapes += [] if shape is None else [shape]
    inertial = _first(children, "inertial")
    known = None if inertial is None else doc.attempt(_inertial, doc, inertial)
    return LinkRecord(element, name, known)


def _inertial(doc: Document, element: Element) -> Inertial | None:
    children = checked_children(doc, element)
    mass_element, inertia_element = children["mass"][0], children["inertia"][0]
    checked_children(doc, mass_element)
    checked_children(doc, inertia_element)
    mass = doc.attempt(_mass, doc, mass_element)
    moments = [doc.attempt(doc.number, inertia_element, name) for name in _MOMENTS]
    origin = doc.attempt(read_origin, doc, _first(children, "origin"))
    inertia = tuple(x for x in moments if x is not None)
    if mass is None or origin is None or len(inertia) < len(_MOMENTS):
        return None
    return Inertial(element, origin, mass, inertia)


def _mass(doc: Document, element: Element) -> float:
    mass = doc.number(element, "value")
    if mass < 0:
        raise doc.error(element, f"mass must not be negative, got {mass:g}")
    return mass


def _joint(doc: Document, element: Element) -> JointRecord:
    children = checked_children(doc, element)
    name, urdf_type = doc.text(element, "name"), doc.text(element, "type")
    if urdf_type not in JOINT_TYPES:
        known = ", ".join(JOINT_TYPES)
        doc.fault(element, f"unknown joint type {urdf_type!r}, expected one of {known}")
    kind = JOINT_TYPES.get(urdf_type, "continuous")  # whose other parts can be looked at as well
    parent, child = children["parent"][0], children["child"][0]
    checked_children(doc, parent)
    checked_children(doc, child)
    mimic_element = _first(children, "mimic")
    for extra in [*children.get("calibration", ()), *children.get("safety_controller", ())]:
        doc.attempt(_unused, doc, extra, needed=False, kind="style")
    return JointRecord(
        element,
        name,
        kind,
        doc.text(parent, "link"),
        doc.text(child, "link"),
        doc.attempt(read_origin, doc, _first(children, "origin")) or Origin(),
        doc.attempt(_axis, doc, _first(children, "axis"), kind) or ZERO,
        doc.attempt(_limits, doc, element, kind, children) or Limits(),
        None if mimic_element is None else doc.attempt(_mimic, doc, mimic_element, kind),
        mimic_element,
    )


def _unused(doc: Document, element: Element) -> None:
    """Look at what controllers need and dynamics does not."""
    checked_children(doc, element)
    for attribute in element.attrib:
        doc.number(element, attribute, UNLIMITED)


def _axis(doc: Document, element: Element | None, kind: str) -> Triple:
    if element is None:
        return 1.0, 0.0, 0.0
    if kind in ("fixed", "free", "spherical"):
        doc.attempt(_direction, doc, element, needed=False, kind="style")
        return 1.0, 0.0, 0.0
    axis = _direction(doc, element)
    if axis == ZERO:
        raise doc.error(element, "the axis of a joint must not be zero")
    return axis


def _direction(doc: Document, element: Element) -> Triple:
    checked_children(doc, element)
    return read_triple(doc, element, "xyz")


def _limits(doc: Document, joint: Element, kind: str, children: dict[str, list[Element]]) -> Limits:
    limit, dynamics = _first(children, "limit"), _first(children, "dynamics")
    bounded = kind in ("revolute", "prismatic")
    if kind == "fixed":
        for element in (limit, dynamics):
            doc.attempt(_numbers, doc, element, needed=False, kind="style")
        return Limits()
    values = {**_numbers(doc, limit), **_numbers(doc, dynamics)}
    if bounded:
        _check_range(doc, joint, limit, values)
    else:
        values.pop("lower", None)
        values.pop("upper", None)
    if kind in ("free", "spherical", "planar"):
        if values.get("damping") or values.get("friction"):
            message = "damping and friction need a joint with one coordinate; they are left out"
            doc.doubt("physics", dynamics, message)
        return Limits()
    return Limits(**{name: values[name] for name in Limits._fields if name in values})


def _numbers(doc: Document, element: Element | None) -> dict[str, float]:
    """Read all known attributes of an element; only `lower` and `upper` may be negative."""
    if element is None:
        return {}
    checked_children(doc, element)
    known, values = RULES[element.tag].optional, {}
    for name in element.keys():  # noqa: SIM118 (an element is no dict)
        if name in known and _says_no_limit(element, name):
            doc.doubt("style", element, f"attribute {name!r}: URDF has no infinity; none is meant")
            values[name] = -math.inf if name == "lower" else math.inf
        elif name in known:
            values[name] = doc.number(element, name, UNLIMITED)
            if abs(values[name]) == UNLIMITED:  # what `jounce.save` writes for no limit
                values[name] = math.copysign(math.inf, values[name])
            if values[name] < 0 and name not in ("lower", "upper"):
                raise doc.error(element, f"{name} must not be negative, got {values[name]:g}")
    return values


def _says_no_limit(element: Element, name: str) -> bool:
    sign = "-" if name == "lower" else "[+]?"
    text = (element.get(name) or "").strip().lower()
    return element.tag == "limit" and re.fullmatch(f"{sign}inf(inity)?", text) is not None


def _check_range(
    doc: Document,
    joint: Element,
    limit: Element | None,
    values: dict[str, float],
) -> None:
    """Complete and check the limits of a revolute or prismatic joint.

    Deviation: with neither `lower` nor `upper` URDF says 0 and 0, a joint that cannot move;
    the files that do so mean a joint without limits.
    """
    if limit is None:
        message = "<limit> is missing; a revolute or prismatic joint needs it"
        doc.doubt("style", joint, message)
        return
    unbounded = "lower" not in values and "upper" not in values
    if unbounded:
        message = (
            "neither 'lower' nor 'upper' is given; URDF takes both for 0, a joint that cannot "
            "move, jounce for a joint without limits"
        )
        doc.doubt("style", limit, message)
    for name in ("effort", "velocity") if unbounded else ("lower", "upper", "effort", "velocity"):
        if name not in values:
            doc.doubt("style", limit, f"attribute {name!r} is missing")
    if not unbounded:
        lower, upper = values.setdefault("lower", 0.0), values.setdefault("upper", 0.0)
        if lower > upper:
            raise doc.error(limit, f"the lower limit {lower:g} is above the upper one, {upper:g}")


def _mimic(doc: Document, element: Element, kind: str) -> Mimic | None:
    checked_children(doc, element)
    leader = doc.text(element, "joint")
    values = [
        doc.number(element, name) if element.get(name) is not None else default
        for name, default in (("multiplier", 1.0), ("offset", 0.0))
    ]
    if kind == "fixed":
        doc.doubt("style", element, "a fixed joint cannot mimic another one")
        return None
    if kind not in ("revolute", "continuous", "prismatic"):
        raise doc.error(element, f"a {kind} joint cannot mimic another one")
    return Mimic(leader, *values)
