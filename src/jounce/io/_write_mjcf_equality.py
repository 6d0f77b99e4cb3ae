"""Constraints as the equalities of MJCF: connect and weld of sites, and polynomials of joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np

from jounce._types import Array
from jounce.constraints import Coupling, Point, Weld
from jounce.io._parts import moved_to, numbers
from jounce.model import Model

__all__ = ["equality_of", "sites_of"]


def equality_of(item: Any, joints: Mapping[str, str]) -> ET.Element | None:
    """The equality that says the same, without its sites; None if MJCF cannot say it.

    Args:
        item: a constraint.
        joints: the names in the file of joints of one degree of freedom.
    """
    if item.motion is not None:
        return None
    if isinstance(item, Coupling):
        return _polynomial(item, joints)
    if not isinstance(item, (Point, Weld)) or item.target is None:
        return None
    return ET.Element("connect" if isinstance(item, Point) else "weld")


def sites_of(model: Model, item: Any) -> dict[str, tuple[Any, Array]]:
    """Two sites that the constraint holds together: the frame of each, and its pose on the body.

    The first is the first frame, the second is where that shall be in the second frame.
    """
    if isinstance(item, Coupling):
        return {}
    first = model.frame(item.first)
    target = moved_to(item.target) if isinstance(item, Point) else np.array(item.target)
    if item.second is None:
        return {"site1": (first, first.placement), "site2": (_World, target)}
    second = model.frame(item.second)
    return {"site1": (first, first.placement), "site2": (second, second.placement @ target)}


class _World:
    body = -1


def _polynomial(item: Coupling, joints: Mapping[str, str]) -> ET.Element | None:
    """A coupling c y + p(x) = offset, solved for the joint y that stands in it linearly."""
    linear = [k for k, (_, c) in enumerate(item.coefficients) if c[0] and not any(c[1:])]
    if item.offset is None or len(item.coefficients) > 2 or not linear:
        return None
    terms = list(item.coefficients)
    y, (c, *_) = terms.pop(linear[0])
    power = terms[0][1] if terms else (0.0, 0.0, 0.0, 0.0)
    equality = ET.Element("joint", joint1=joints[y])
    if terms:
        equality.set("joint2", joints[terms[0][0]])
    equality.set("polycoef", numbers([item.offset / c, *(-x / c for x in power)]))
    return equality
