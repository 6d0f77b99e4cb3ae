"""Fields of joints that a file format has no word for, as an extension of the file.

A writer compares a joint with what the reader will make of the format's own words, and keeps the
difference beside them: in attributes of a ``<jounce>`` element of a URDF file, in a custom text of
an MJCF file. Other readers pass over both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from jounce._core.arrays import shown
from jounce.errors import ModelError
from jounce.model.joints import COORDINATE_FIELDS, JOINT_TYPES, RATE_FIELDS, Joint, Mimic

__all__ = ["changed", "different_fields", "from_attributes", "is_driven", "to_attributes"]

_USED_BY = {
    "axis2": ("universal",),
    "pitch": ("helical",),
    "axis": tuple(kind for kind in JOINT_TYPES if kind not in ("fixed", "spherical", "free")),
}
"""Joint types for which a field means something; other fields do for all."""

_NAMES = tuple(field.name for field in fields(Joint) if field.name != "name")


def is_driven(joint: Joint) -> bool:
    """Whether a motor acts on the joint; if nobody says, on all but free ones."""
    return joint.type != "free" if joint.actuated is None else bool(joint.actuated)


def different_fields(joint: Joint, plain: Joint) -> dict[str, Any]:
    """Fields of a joint that differ from those of `plain`, the name aside."""
    found = {}
    for name in _NAMES:
        if joint.type not in _USED_BY.get(name, JOINT_TYPES):
            continue
        value, other = getattr(joint, name), getattr(plain, name)
        if name == "actuated":
            value, other = is_driven(joint), is_driven(plain)
        elif name in (*RATE_FIELDS, *COORDINATE_FIELDS):
            value, other = _short(value), _short(other)
        if value != other:
            found[name] = value
    if "type" in found and "actuated" not in found and joint.actuated is not None:
        found["actuated"] = is_driven(joint)  # what nobody says depends on the type
    return found


def _short(value: Any) -> Any:
    """One number instead of many equal ones."""
    same = isinstance(value, tuple) and len(set(value)) == 1
    return value[0] if same else value


def changed(plain: Joint, values: Mapping[str, Any]) -> Joint:
    """Return a joint with fields from a file, undoing `different_fields`.

    Raises:
        ModelError: a field is unknown, or its value is none that it can have.
    """
    given = dict(values)
    for name, value in given.items():
        if name not in _NAMES:
            raise ModelError(f"unknown field {name!r} of a joint")
        given[name] = _checked(name, value)
    return replace(plain, **given)


def _checked(name: str, value: Any) -> Any:
    if name == "type":
        if value not in JOINT_TYPES or value == "fixed":
            raise ModelError(f"type must be that of a joint that moves, got {shown(value)}")
        return value
    if name == "actuated":
        if not isinstance(value, bool):
            raise ModelError(f"actuated must be true or false, got {shown(value)}")
        return value
    if name == "mimic":
        if not (isinstance(value, (list, tuple)) and len(value) == 3 and isinstance(value[0], str)):
            raise ModelError(f"mimic must be a name and two numbers, got {shown(value)}")
        return Mimic(value[0], *_numbers(name, value[1:]))
    if isinstance(value, (list, tuple)):
        return _numbers(name, value)
    return _numbers(name, [value])[0]


def _numbers(name: str, values: Any) -> tuple[float, ...]:
    good = all(isinstance(x, (int, float)) and not math.isnan(x) for x in values)
    if not good or not len(values):
        raise ModelError(f"{name} must be numbers, got {shown(values)}")
    return tuple(map(float, values))


def to_attributes(values: Mapping[str, Any]) -> dict[str, str]:
    """Fields as attributes of an XML element."""
    out: dict[str, str] = {}
    for name, value in values.items():
        if name == "mimic":
            leader, multiplier, offset = value
            out |= {"mimic": leader, "multiplier": repr(multiplier), "offset": repr(offset)}
        elif name == "actuated":
            out[name] = "true" if value else "false"
        elif name == "type":
            out[name] = value
        else:
            out[name] = " ".join(map(repr, value if isinstance(value, tuple) else (value,)))
    return out


def from_attributes(attributes: Mapping[str, str]) -> dict[str, Any]:
    """Undo `to_attributes`; the values are checked by `changed`."""
    out: dict[str, Any] = {}
    for name, text in attributes.items():
        if name == "mimic":
            factors = [attributes.get("multiplier", "1"), attributes.get("offset", "0")]
            out[name] = [text, *map(_number, factors)]
        elif name == "actuated":
            out[name] = {"true": True, "false": False}.get(text, text)
        elif name == "type":
            out[name] = text
        elif name not in ("multiplier", "offset"):
            numbers = [_number(word) for word in text.split()]
            out[name] = numbers[0] if len(numbers) == 1 else numbers
    return out


def _number(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word
