"""What an SDF file may contain, by its version, and what happens to everything else.

An unknown element is refused if it looks like a misspelled one, an unknown attribute is a finding.
Other unknown elements, and names with a prefix, are extensions of some vendor: accepted, unless
`strict`.
"""

from __future__ import annotations

import re

from jounce.errors import close_names, did_you_mean
from jounce.io._drake import acts, full_tag
from jounce.io._xml import Document, Element, is_xacro

__all__ = [
    "attribute_flag",
    "check_attributes",
    "check_children",
    "check_version",
    "content",
    "find",
    "flag",
    "older",
    "relative_to",
]

_CHILDREN = {
    "sdf": "model world light",
    "world": "model include joint frame gravity light plugin physics scene state population wind "
    "magnetic_field spherical_coordinates atmosphere gui road audio actor",
    "model": "link joint frame model include pose static self_collide allow_auto_disable "
    "enable_wind plugin gripper",
    "link": "inertial pose gravity kinematic self_collide must_be_base_link velocity_decay visual "
    "collision sensor light projector audio_source audio_sink battery particle_emitter enable_wind",
    "inertial": "mass pose inertia density auto_inertia_params fluid_added_mass frame",
    "inertia": "ixx ixy ixz iyy iyz izz",
    "joint": "parent child pose axis axis2 gearbox_ratio gearbox_reference_body thread_pitch "
    "screw_thread_pitch physics sensor",
    "axis": "xyz dynamics limit mimic use_parent_model_frame initial_position",
    "axis2": "xyz dynamics limit mimic use_parent_model_frame initial_position",
    "dynamics": "damping friction spring_stiffness spring_reference",
    "limit": "lower upper effort velocity stiffness dissipation",
    "mimic": "multiplier offset reference",
    "frame": "pose",
    "include": "uri name pose static placement_frame plugin",
    "drake:joint": "drake:parent drake:child drake:damping",
}
_CHILDREN_OF = {tag: frozenset(names.split()) for tag, names in _CHILDREN.items()}

_ATTRIBUTES = {
    "sdf": "version",
    "world": "name",
    "model": "name canonical_link placement_frame",
    "link": "name",
    "inertial": "auto",
    "joint": "name type",
    "drake:joint": "name type",
    "mimic": "joint axis",
    "frame": "name attached_to",
    "include": "merge",
    "pose": "relative_to rotation_format degrees",
    "xyz": "expressed_in",
    "visual": "name",
    "collision": "name",
}  # all others have none
_ATTRIBUTES_OF = {tag: tuple(names.split()) for tag, names in _ATTRIBUTES.items()}

_UNREAD_TAGS = """
light plugin physics scene state population wind magnetic_field spherical_coordinates atmosphere
gui road audio actor gripper sensor projector audio_source audio_sink battery particle_emitter
auto_inertia_params visual collision
"""
_UNREAD = frozenset(_UNREAD_TAGS.split())  # whose attributes are not looked at here
_MANY = _UNREAD | {"model", "world", "link", "joint", "frame", "include"}

# Words of SDF 1.0 that would be dropped in silence, and what later versions call them.
_OLD_WORDS = {"origin": "pose"}

_XACRO = "xacro is not expanded here; expand the file first"
_NEWEST = 12
_MINORS = (0, *range(2, _NEWEST + 1))
_VERSION = re.compile(r"1\.(0|[1-9][0-9]{0,3})")
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


def check_version(doc: Document) -> None:
    """Refuse a version that says nothing; a 1.x that nobody knows yet is a finding."""
    given, known = doc.root.get("version"), f"1.0 or 1.2 to 1.{_NEWEST}"
    if given is None:
        doc.fault(doc.root, f"attribute 'version' is missing, expected {known}")
        return
    match = _VERSION.fullmatch(given.strip())
    if match is None:
        doc.fault(doc.root, f"attribute 'version': expected {known}, got {given[:60]!r}")
    elif int(match[1]) not in _MINORS:
        message = f"version {match[0]} is not known, it is read as 1.{_NEWEST}; expected {known}"
        doc.doubt("structure", doc.root, message)


def find(element: Element, tag: str) -> Element | None:
    """Return the first child of this name, `drake:` before Drake's own."""
    if not tag.startswith("drake:"):
        return element.find(tag)
    return next((child for child in element if full_tag(child) == tag), None)


def content(doc: Document, element: Element) -> str:
    """Return the text of an element, which has nothing else in it."""
    for child in element.iterchildren("*"):
        raise doc.error(child, _XACRO if is_xacro(child) else "a value has no elements in it")
    return (element.text or "").strip()


def older(doc: Document, minor: int) -> bool:
    """Whether a file is of an SDF version before 1.`minor`."""
    match = _VERSION.fullmatch((doc.root.get("version") or "").strip())
    return match is not None and int(match[1]) in _MINORS and int(match[1]) < minor


def relative_to(doc: Document, pose: Element) -> str:
    """Return the name of the frame that a pose is relative to; before SDF 1.7 it was `frame`."""
    old = pose.get("frame") if older(doc, 7) else None
    return str(old or pose.get("relative_to") or "")


def flag(doc: Document, element: Element, tag: str, default: bool = False) -> bool:
    """Return whether the text of a child says true."""
    child = element.find(tag)
    return default if child is None else _truth(doc, child, content(doc, child), "", default)


def attribute_flag(doc: Document, element: Element, name: str) -> bool:
    """Return whether an attribute says true."""
    return _truth(doc, element, element.get(name), f"attribute {name!r}: ", False)


def _truth(doc: Document, element: Element, given: str | None, what: str, default: bool) -> bool:
    text = (given or "").strip()
    value = _TRUTHS.get(text.lower()) if text else default
    if value is None:
        raise doc.error(element, f"{what}expected true, false, 1 or 0, got {text[:60]!r}")
    return value


def check_children(doc: Document, element: Element) -> None:
    """Look at names and numbers of children, and at attributes.

    Misspelled elements are refused; others that SDF does not have are extensions.
    """
    check_attributes(doc, element)
    stray = " ".join([element.text or "", *(child.tail or "" for child in element)]).strip()
    if stray:
        doc.doubt("structure", element, f"text between elements is not read: {stray[:60]!r}")
    kind = full_tag(element)
    known = _CHILDREN_OF[kind]
    first: dict[str, Element] = {}
    for child in element:
        if full_tag(child) not in known:
            _unknown_child(doc, child, kind)
            continue
        if child.tag not in _CHILDREN and child.tag not in _UNREAD:
            check_attributes(doc, child)
        if child.tag == "use_parent_model_frame" and not older(doc, 7):
            message = 'not in SDF 1.7 and later; expected <xyz expressed_in="__model__">'
            doc.doubt("structure", child, message)
        if first.setdefault(child.tag, child) is not child and child.tag not in _MANY:
            line = doc.line(first[child.tag])
            message = f"there is already a <{child.tag}> in line {line}, which counts"
            doc.doubt("structure", child, message)


def _unknown_child(doc: Document, child: Element, tag: str) -> None:
    if is_xacro(child):
        doc.fault(child, _XACRO)
        return
    known, old = _CHILDREN[tag].split(), _OLD_WORDS.get(child.tag)
    close = [old] if old in known else close_names(child.tag, known, 1)
    if close and ":" not in child.tag and not child.tag.startswith("{"):
        doc.fault(child, f"unknown element; did you mean <{close[0]}>?")
        return
    if tag == "drake:joint":
        doc.fault(child, f"expected {', '.join(f'<{name}>' for name in known)}")
    elif full_tag(child) == "drake:joint" and tag != "model":
        doc.fault(child, "expected in a <model>")
    elif acts(child) and full_tag(child) != "drake:joint":
        doc.doubt("physics", child, "what Drake makes of it is left out")
    else:
        doc.doubt("style", child, f"unknown element in <{tag}>")


def check_attributes(doc: Document, element: Element) -> None:
    """Find attributes that SDF does not have; those with a prefix are extensions."""
    known, names = _ATTRIBUTES_OF.get(full_tag(element), ()), element.keys()
    for name in names:
        if name in known or name.startswith("{http://www.w3.org/"):
            continue
        if ":" in name or name.startswith("{"):
            doc.doubt("style", element, f"unknown attribute {name!r}")
        elif (element.tag, name) != ("pose", "frame"):
            expected = ", ".join(map(repr, known)) or "none"
            hint = did_you_mean(map(repr, close_names(name, known, 1)))
            message = f"unknown attribute {name!r}{hint or f'; known here: {expected}'}"
            doc.doubt("structure", element, message)
        elif not older(doc, 7):
            doc.doubt("structure", element, "'frame' is 'relative_to' in SDF 1.7 and later")
