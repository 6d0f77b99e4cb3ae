"""What a URDF file may contain, and what happens to everything else.

An unknown name is refused if it looks like a misspelled or misplaced known one, or if it stands
where it could only be meant to change the dynamics. Other unknown names are extensions of some
vendor: accepted, unless `strict`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from jounce.io._drake import acts
from jounce.io._xml import Document, Element, is_xacro

__all__ = ["RULES", "Rule", "checked_children"]

_ONE, _OPTIONAL, _ANY = "one", "optional", "any"


class Rule(NamedTuple):
    """Attributes and children of an element; `closed` ones take no extensions at all.

    Children that are `tolerated` are no part of the format: the caller looks at them, messages
    do not propose them.
    """

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    children: Mapping[str, str] = {}
    closed: bool = True
    extensions: frozenset[str] = frozenset()
    tolerated: frozenset[str] = frozenset()


_ROBOT_EXTENSIONS = frozenset(
    (
        "collision_filter_group",
        "disable_collisions",
        "end_effector",
        "gazebo",
        "group",
        "group_state",
        "jounce",
        "mujoco",
        "passive_joint",
        "ros2_control",
        "self_collision_checking",
        "sensor",
        "transmission",
        "virtual_joint",
    )
)
_SHAPES = ("box", "cylinder", "sphere", "capsule", "mesh")

RULES: dict[str, Rule] = {
    "robot": Rule(
        optional=("name", "version"),
        children={"link": _ANY, "joint": _ANY, "material": _ANY},
        closed=False,
        extensions=_ROBOT_EXTENSIONS,
    ),
    "link": Rule(
        required=("name",),
        optional=("type",),
        children={"inertial": _OPTIONAL, "visual": _ANY, "collision": _ANY, "origin": _OPTIONAL},
        closed=False,
        tolerated=frozenset(("origin",)),
    ),
    "inertial": Rule(children={"origin": _OPTIONAL, "mass": _ONE, "inertia": _ONE}),
    "mass": Rule(required=("value",)),
    "inertia": Rule(required=("ixx", "ixy", "ixz", "iyy", "iyz", "izz")),
    "origin": Rule(optional=("xyz", "rpy", "quat_xyzw")),
    "joint": Rule(
        required=("name", "type"),
        children={
            "origin": _OPTIONAL,
            "parent": _ONE,
            "child": _ONE,
            "axis": _OPTIONAL,
            "limit": _OPTIONAL,
            "dynamics": _OPTIONAL,
            "mimic": _OPTIONAL,
            "calibration": _OPTIONAL,
            "safety_controller": _OPTIONAL,
        },
        closed=False,
        extensions=frozenset(("jounce",)),
    ),
    "parent": Rule(required=("link",)),
    "child": Rule(required=("link",)),
    "axis": Rule(required=("xyz",)),
    "limit": Rule(
        optional=(
            "lower",
            "upper",
            "effort",
            "velocity",
            "acceleration",
            "deceleration",
            "jerk",
        ),
        closed=False,
    ),
    "dynamics": Rule(optional=("damping", "friction"), closed=False),
    "mimic": Rule(required=("joint",), optional=("multiplier", "offset")),
    "calibration": Rule(optional=("rising", "falling", "reference_position"), closed=False),
    "safety_controller": Rule(
        optional=("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity"),
        closed=False,
    ),
    "visual": Rule(
        optional=("name",),
        children={"origin": _OPTIONAL, "geometry": _ONE, "material": _OPTIONAL},
        closed=False,
        extensions=frozenset(("jounce",)),
    ),
    "collision": Rule(
        optional=("name",),
        children={"origin": _OPTIONAL, "geometry": _ONE, "material": _ANY, "verbose": _ANY},
        closed=False,
        extensions=frozenset(("jounce",)),
    ),
    "geometry": Rule(optional=("name",), children=dict.fromkeys(_SHAPES, _ANY), closed=False),
    "box": Rule(required=("size",), closed=False),
    "cylinder": Rule(required=("radius", "length"), closed=False),
    "capsule": Rule(required=("radius", "length"), closed=False),
    "sphere": Rule(required=("radius",), closed=False),
    "mesh": Rule(required=("filename",), optional=("scale",), closed=False),
    "material": Rule(
        optional=("name",), children={"color": _OPTIONAL, "texture": _OPTIONAL}, closed=False
    ),
    "color": Rule(required=("rgba",), closed=False),
    "texture": Rule(optional=("filename",), closed=False),
}

_KNOWN = {tag: frozenset(rule.required + rule.optional) for tag, rule in RULES.items()}
_NEEDED = {tag: frozenset(rule.required) for tag, rule in RULES.items()}
_NEEDED_CHILDREN = {
    tag: [name for name, count in rule.children.items() if count == _ONE]
    for tag, rule in RULES.items()
}

# Words of other formats that would be dropped in silence, and what URDF calls them.
_FOREIGN_WORDS = {"pose": "origin"}


def checked_children(doc: Document, element: Element) -> dict[str, list[Element]]:
    """Check attributes, children and stray text of an element; return its children by name."""
    name = element.tag
    rule = RULES[name]
    attributes = element.keys()
    if not (_KNOWN[name].issuperset(attributes) and _NEEDED[name].issubset(attributes)):
        _check_attributes(doc, element, rule)
    text = element.text
    if text and not text.isspace():
        _stray_text(doc, element, text)
    found: dict[str, list[Element]] = {}
    if not rule.children and not len(element):
        return found
    for child in element:
        tag, tail = child.tag, child.tail
        if tag in rule.children:
            found.setdefault(tag, []).append(child)
        elif tag not in rule.extensions:
            _check_extension(doc, child, rule)
        if tail and not tail.isspace():
            _stray_text(doc, element, tail)
    _check_counts(doc, element, found)
    return found


def _stray_text(doc: Document, element: Element, text: str) -> None:
    """Text may be meant as a value, but not between the children of an open element."""
    message = f"unexpected text {text[:200].strip()[:40]!r}"
    if not RULES[element.tag].children or RULES[element.tag].closed:
        doc.fault(element, message)
    else:
        doc.doubt("structure", element, message)


def _check_counts(doc: Document, element: Element, found: Mapping[str, list[Element]]) -> None:
    for tag in _NEEDED_CHILDREN[element.tag]:
        if tag not in found:
            raise doc.error(element, f"<{tag}> is missing")
    for tag, elements in found.items():
        if len(elements) > 1 and RULES[element.tag].children[tag] != _ANY:
            first = doc.line(elements[0])
            doc.fault(elements[1], f"there is already a <{tag}> in line {first}")


def _check_attributes(doc: Document, element: Element, rule: Rule) -> None:
    names = element.keys()
    known = rule.required + rule.optional
    for name in names:
        if name in known:
            continue
        if name.startswith("{http://www.w3.org/") or (":" in name and not doc.strict):
            continue
        hint = _suggestion(name, known)
        expected = ", ".join(map(repr, known)) or "none"
        message = f"unknown attribute {name!r}; known here: {expected}"
        if hint is not None:
            doc.fault(element, f"unknown attribute {name!r}; did you mean {hint!r}?")
        elif rule.closed:
            doc.fault(element, message)
        else:
            doc.doubt("style", element, message)
    for name in rule.required:
        if name not in names:
            doc.fault(element, f"attribute {name!r} is missing")


def _check_extension(doc: Document, child: Element, rule: Rule) -> None:
    local = child.tag.rpartition("}")[2].rpartition(":")[2]
    namespaced = local != child.tag
    reason = _refusal(child, rule, local, namespaced)
    if reason is not None:
        doc.fault(child, reason)
        return
    for hidden in child.iter("inertial", "joint"):
        if hidden.tag == "inertial" or hidden.find("child") is not None:
            doc.fault(hidden, f"<{child.tag}> is unknown, so this would be dropped")
            return
    message = f"unknown element; expected {_list(rule)}"
    if rule.closed and not namespaced:
        doc.fault(child, message)
    elif acts(child):
        doc.doubt("physics", child, "what Drake makes of it is left out")
    else:
        doc.doubt("style", child, message)


def _refusal(child: Element, rule: Rule, local: str, namespaced: bool) -> str | None:
    """Why an element that is unknown here cannot be some vendor's own; None if it can."""
    tag = child.tag
    if is_xacro(child):
        return "xacro is not expanded here; load the .xacro file itself"
    if "XInclude" in tag or local in ("include", "loop_joint"):
        return "inclusion of files and closed loops are not supported"
    if namespaced:
        return None
    if tag in RULES:
        return f"<{tag}> is not allowed here; expected {_list(rule)}"
    hint = _FOREIGN_WORDS.get(tag) or _suggestion(tag, rule.children)
    if hint is None:
        return None
    if hint in _listed(rule):
        return f"unknown element; did you mean <{hint}>?"
    return f"unknown element; expected {_list(rule)}"


def _listed(rule: Rule) -> list[str]:
    return [name for name in rule.children if name not in rule.tolerated]


def _list(rule: Rule) -> str:
    return ", ".join(f"<{name}>" for name in _listed(rule)) or "no elements at all"


def _suggestion(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant: a typo or an abbreviation away."""
    lower = name.lower()
    for candidate in known:
        most = 1 if len(candidate) <= 5 else 2
        if abs(len(lower) - len(candidate)) <= most and _distance(lower, candidate) <= most:
            return candidate
        if len(lower) >= 2 and candidate.startswith(lower):
            return candidate
    return None


def _distance(a: str, b: str) -> int:
    """Count the insertions, deletions, replacements and swaps of neighbors from a to b."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, last, row = row, before, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]
