"""The shapes of the links of an SDF file, which are kept for a viewer, and their colors."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.io import geometry
from jounce.io._sdf_rules import check_attributes
from jounce.io._sdf_scope import Scope, Thing, numbers, read_pose, word
from jounce.io._xml import Document, Element
from jounce.model.joints import frames_along

__all__ = ["visuals"]


def visuals(scope: Scope, link: Thing, name: str) -> Iterator[geometry.Visual]:
    """The visuals and collisions of a link; one that is malformed is a finding, and left out.

    Args:
        scope: the model of the link, whose frames poses may refer to.
        link: its element.
        name: its name in the robot.
    """
    doc = link.doc
    for element in link.element.iterchildren("visual", "collision"):
        thing = Thing(doc, element, link.element.get("name"))
        found = doc.attempt(_visual, scope, thing, name, needed=False)
        if found is not None:
            yield found


def _visual(scope: Scope, thing: Thing, name: str) -> geometry.Visual | None:
    """The shape of an element; None for one that has none here, such as a height map."""
    doc, element = thing.doc, thing.element
    for part in (element, *element.iterchildren("pose")):
        check_attributes(doc, part)
    holder = element.find("geometry")
    if holder is None:
        raise doc.error(element, "<geometry> is missing")
    shapes = [child for child in holder if child.tag in _READERS]
    if not shapes:
        return None
    placement, relative = read_pose(doc, element)
    if relative:
        start = lie.inverse(scope.pose(thing, thing.frame)) @ scope.pose(thing, relative)
        placement = start @ placement
    if shapes[0].tag == "plane":
        placement = placement @ _normal(doc, shapes[0])
    shape, own = _READERS[shapes[0].tag](doc, shapes[0]), str(element.get("name") or "")
    color, hidden = _color(doc, element), element.tag == "collision"
    return geometry.Visual(name, shape, placement, color, own, hidden)


def _color(doc: Document, element: Element) -> tuple[float, float, float, float] | None:
    diffuse, clear = element.find("material/diffuse"), element.find("transparency")
    if diffuse is None:
        return None
    words = (diffuse.text or "").split()
    values = numbers(doc, diffuse, 3 if len(words) == 3 else 4)
    red, green, blue, alpha = np.clip([*values, 1.0][:4], 0, 1).tolist()
    opaque = 1.0 if clear is None else 1.0 - float(numbers(doc, clear, 1)[0])
    return red, green, blue, alpha * min(max(opaque, 0.0), 1.0)


def _lengths(doc: Document, element: Element, tag: str, count: int) -> list[float]:
    child = element.find(tag)
    if child is None:
        raise doc.error(element, f"<{tag}> is missing")
    values = numbers(doc, child, count)
    if (values <= 0).any():
        raise doc.error(child, f"lengths must be positive, got {min(values):g}")
    return [float(value) for value in values]


def _length(doc: Document, element: Element, tag: str) -> float:
    return _lengths(doc, element, tag, 1)[0]


def _triple(doc: Document, element: Element, tag: str) -> tuple[float, float, float]:
    x, y, z = _lengths(doc, element, tag, 3)
    return x, y, z


def _plane(doc: Document, element: Element) -> geometry.Shape:
    x, y = _lengths(doc, element, "size", 2) if element.find("size") is not None else (0.0, 0.0)
    return geometry.Plane((x, y))


def _normal(doc: Document, element: Element) -> Array:
    """The pose of a plane's normal."""
    child = element.find("normal")
    normal = np.array([0.0, 0.0, 1.0]) if child is None else numbers(doc, child, 3)
    length = float(np.linalg.norm(normal))
    if length == 0:
        raise doc.error(child, "the normal must not be zero")
    pose: Array = frames_along(normal / length, np.zeros(3))[0]
    return pose


def _mesh(doc: Document, element: Element) -> geometry.Shape:
    scale = (1.0, 1.0, 1.0)
    if element.find("scale") is not None:
        x, y, z = map(float, numbers(doc, element.find("scale"), 3))
        if 0 in (x, y, z):
            raise doc.error(element, "the scale of a mesh must not be zero")
        scale = x, y, z
    return geometry.Mesh(word(doc, element, "uri"), scale, doc.directory)


_READERS: dict[str, Callable[[Document, Element], geometry.Shape]] = {
    "box": lambda doc, e: geometry.Box(_triple(doc, e, "size")),
    "sphere": lambda doc, e: geometry.Sphere(_length(doc, e, "radius")),
    "ellipsoid": lambda doc, e: geometry.Ellipsoid(_triple(doc, e, "radii")),
    "cylinder": lambda doc, e: geometry.Cylinder(
        _length(doc, e, "radius"), _length(doc, e, "length")
    ),
    "capsule": lambda doc, e: geometry.Capsule(
        _length(doc, e, "radius"), _length(doc, e, "length")
    ),
    "plane": _plane,
    "mesh": _mesh,
}
