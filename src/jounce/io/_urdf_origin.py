"""Poses in URDF files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.io._urdf_rules import checked_children
from jounce.io._xml import Document, Element

__all__ = ["ZERO", "Origin", "Triple", "poses", "read_origin", "read_triple"]

Triple = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

ZERO: Triple = (0.0, 0.0, 0.0)


class Origin(NamedTuple):
    """A pose as URDF writes it: translation, then roll, pitch, yaw or a quaternion."""

    xyz: Triple = ZERO
    rpy: Triple = ZERO
    quat: Quaternion | None = None


_NO_ORIGIN = Origin()
_FULL_TURN = 6.2832


def read_origin(doc: Document, element: Element | None) -> Origin:
    """Read an `<origin>`; without one, parent and child frames coincide."""
    if element is None:
        return _NO_ORIGIN
    checked_children(doc, element)
    xyz = read_triple(doc, element, "xyz")
    if element.get("quat_xyzw") is None:
        rpy = read_triple(doc, element, "rpy")
        if max(map(abs, rpy)) > _FULL_TURN:
            message = "an angle of 'rpy' exceeds a full turn; URDF takes radians"
            doc.doubt("style", element, message)
        return Origin(xyz, rpy)
    if element.get("rpy") is not None:
        raise doc.error(element, "attributes 'rpy' and 'quat_xyzw' exclude each other")
    x, y, z, w = doc.numbers(element, "quat_xyzw", 4)
    if math.hypot(x, y, z, w) < 1e-6:
        raise doc.error(element, "the quaternion is zero")
    return Origin(xyz, ZERO, (x, y, z, w))


def read_triple(doc: Document, element: Element, attribute: str, default: Triple = ZERO) -> Triple:
    """Read an optional attribute of three numbers."""
    if element.get(attribute) is None:
        return default
    a, b, c = doc.numbers(element, attribute, 3)
    return a, b, c


def poses(origins: Sequence[Origin]) -> Array:
    """Return the origins as (n, 4, 4) poses."""
    out = np.zeros((len(origins), 4, 4))
    if not origins:
        return out
    out[:, :3, :3] = lie.rpy_to_matrix(np.array([o.rpy for o in origins]))
    out[:, :3, 3] = [o.xyz for o in origins]
    out[:, 3, 3] = 1.0
    for k, origin in enumerate(origins):
        if origin.quat is not None:
            out[k, :3, :3] = lie.quat_to_matrix(lie.quat_normalize(np.array(origin.quat)))
    return out
