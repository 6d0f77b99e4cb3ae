"""Read the shapes of a URDF file, which are kept for a viewer, and their colors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jounce.io import geometry
from jounce.io._urdf_origin import Origin, poses, read_origin, read_triple
from jounce.io._urdf_rules import checked_children
from jounce.io._xml import Document, Element
from jounce.model.nodes import frozen

__all__ = ["Color", "ShapeRecord", "read_colors", "read_shape", "visuals"]

Color = tuple[float, float, float, float]


class ShapeRecord(NamedTuple):
    """A visual or collision element of a link."""

    element: Element
    link: str
    origin: Origin
    shape: geometry.Shape
    material: Element | None


def read_shape(doc: Document, element: Element, link: str) -> ShapeRecord | None:
    """Read a `<visual>` or `<collision>`; None for the end of a capsule, which is one shape."""
    children = checked_children(doc, element)
    holder = children["geometry"][0]
    shapes = [e for same in checked_children(doc, holder).values() for e in same]
    if len(shapes) != 1:
        raise doc.error(holder, f"expected one shape, got {len(shapes)}")
    checked_children(doc, shapes[0])
    shape = _READERS[shapes[0].tag](doc, shapes[0])
    _check_size(doc, shapes[0], shape)
    mark = element.find("jounce")
    stands_for = None if mark is None else mark.get("shape")
    if stands_for == "end":
        return None
    if stands_for == "capsule" and isinstance(shape, geometry.Cylinder):
        shape = geometry.Capsule(*shape)
    origin = read_origin(doc, next(iter(children.get("origin", ())), None))
    material = next(iter(children.get("material", ())), None)
    return ShapeRecord(element, link, origin, shape, material)


def _box(doc: Document, element: Element) -> geometry.Shape:
    x, y, z = doc.numbers(element, "size", 3)
    return geometry.Box((x, y, z))


def _sphere(doc: Document, element: Element) -> geometry.Shape:
    return geometry.Sphere(doc.number(element, "radius"))


def _cylinder(doc: Document, element: Element) -> geometry.Shape:
    radius, length = doc.number(element, "radius"), doc.number(element, "length")
    if element.tag == "capsule":
        return geometry.Capsule(radius, length)
    return geometry.Cylinder(radius, length)


def _mesh(doc: Document, element: Element) -> geometry.Shape:
    scale = read_triple(doc, element, "scale", (1.0, 1.0, 1.0))
    name = doc.text(element, "filename")
    if re.match(r"(package|model|file):/(?!/)", name):
        right = name.replace(":/", "://", 1)
        doc.doubt("style", element, f"filename {name!r} has one slash; {right!r} is meant?")
    return geometry.Mesh(name, scale, doc.directory)


_READERS: dict[str, Callable[[Document, Element], geometry.Shape]] = {
    "box": _box,
    "sphere": _sphere,
    "cylinder": _cylinder,
    "capsule": _cylinder,
    "mesh": _mesh,
}


def _check_size(doc: Document, element: Element, shape: geometry.Shape) -> None:
    if isinstance(shape, geometry.Mesh):
        if 0 in shape.scale:
            raise doc.error(element, "the scale of a mesh must not be zero")
        return
    for length in np.ravel(shape):
        message = f"lengths must be positive, got {length:g}"
        if length < 0:
            raise doc.error(element, message)
        if length == 0:
            doc.doubt("style", element, message)


def read_colors(doc: Document, materials: Iterable[Element]) -> dict[str, Color]:
    """Read the colors of all named materials; those inside links count like those outside."""
    colors: dict[str, Color] = {}
    defined: dict[str, Element] = {}
    for element in materials:
        children = doc.attempt(_material, doc, element, colors, needed=False)
        name = element.get("name") or ""
        if name in defined and element.getparent() is doc.root:
            doc.doubt("style", element, f"material {name!r} is defined before already")
        if children:
            defined.setdefault(name, element)
    for element in materials:
        if not len(element) and element.get("name") not in defined:
            doc.doubt("style", element, "this material is defined nowhere")
    return colors


def _material(
    doc: Document, element: Element, colors: dict[str, Color]
) -> dict[str, list[Element]]:
    children = checked_children(doc, element)
    name = doc.text(element, "name") if element.getparent() is doc.root else element.get("name")
    for texture in children.get("texture", ()):
        checked_children(doc, texture)
    for color in children.get("color", ()):
        colors.setdefault(name or "", _color(doc, color))
    return children


def _color(doc: Document, element: Element) -> Color:
    checked_children(doc, element)
    red, green, blue, alpha = doc.numbers(element, "rgba", 4)
    if not all(0 <= value <= 1 for value in (red, green, blue, alpha)):
        doc.doubt("style", element, "the four numbers of rgba must be between 0 and 1")
    return red, green, blue, alpha


def visuals(
    doc: Document, shapes: Sequence[ShapeRecord], colors: Mapping[str, Color]
) -> list[geometry.Visual]:
    """Make the records for the viewer."""
    placements = frozen(poses([shape.origin for shape in shapes]))
    return [
        geometry.Visual(
            shape.link,
            shape.shape,
            placement,
            _color_of(doc, shape.material, colors),
            shape.element.get("name") or "",
            shape.element.tag == "collision",
        )
        for shape, placement in zip(shapes, placements, strict=True)
    ]


def _color_of(doc: Document, material: Element | None, colors: Mapping[str, Color]) -> Color | None:
    if material is None:
        return None
    own = material.find("color")
    if own is not None:
        return doc.attempt(_color, doc, own, needed=False)
    return colors.get(material.get("name") or "")
