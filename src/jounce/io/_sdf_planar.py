"""Planar joints of SDF files, which only Drake has: ``<drake:joint type="planar">``.

It puts the frame `<drake:child>` onto the frame `<drake:parent>` when q is zero, wherever the file
puts the links, moves it along x and y of that, and turns it about z.
"""

from __future__ import annotations

import numpy as np

from jounce._types import Array
from jounce.io._drake import full_tag
from jounce.io._sdf_rules import find
from jounce.io._sdf_scope import numbers
from jounce.io._xml import Document, Element
from jounce.model.joints import Joint, frames_along

__all__ = ["is_planar", "planar_joint"]


def is_planar(element: Element) -> bool:
    """Whether an element is a joint of Drake's, all of which are planar here."""
    return full_tag(element) == "drake:joint"


def planar_joint(doc: Document, element: Element, name: str, pose: Array) -> Joint:
    """Return our joint; `pose` is that of the child frame in the link that it moves.

    Our directions are those that `Joint` chooses for the normal, which differ from Drake's by a
    turn about it unless the child frame is that of the link.
    """
    kind = doc.text(element, "type")
    if kind != "planar":
        raise doc.error(element, f"unknown joint type {kind!r} of Drake's, expected planar")
    axis, anchor = tuple(map(float, pose[:3, 2])), tuple(map(float, pose[:3, 3]))
    own = frames_along([axis], [anchor])[0, :3, :2]
    damping = doc.attempt(_damping, doc, element, own.T @ pose[:3, :2])
    return Joint("planar", name, axis=axis, anchor=anchor, damping=damping or 0.0)


def _damping(doc: Document, element: Element, turn: Array) -> tuple[float, ...]:
    """Coefficients along our directions; `turn` takes coordinates along Drake's to ours."""
    child = find(element, "drake:damping")
    values = np.zeros(3) if child is None else numbers(doc, child, 3)
    if (values < 0).any():
        raise doc.error(child, f"damping must not be negative, got {values.min():g}")
    x, y, angular = map(float, values)
    if x != y:
        aligned = np.abs(turn).max() > 1 - 1e-12
        if not aligned:
            message = (
                "damping that differs along x and y of its frame couples the directions of the "
                "joint here, which are others; this is left out"
            )
            doc.doubt("physics", child, message)
        x, y = map(float, (np.round(turn**2, 9) if aligned else turn**2) @ (x, y))
    return x, y, angular
