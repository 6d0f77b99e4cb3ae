"""Write the shapes of a model, which play no part in its dynamics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from jounce.io import geometry
from jounce.io._parts import moved_to, numbers, roll_pitch_yaw

__all__ = ["mjcf_shape", "urdf_shapes"]


def urdf_shapes(visual: geometry.Visual, colors: dict[object, str]) -> list[ET.Element]:
    """Return a `<visual>` or `<collision>`; none for a shape that URDF does not know.

    A capsule is a cylinder with two spheres at its ends: urdfdom does not know capsules.

    Args:
        visual: the shape.
        colors: names of the colors that were written already; new ones are added.
    """
    if not isinstance(visual.shape, geometry.Capsule):
        return _urdf_element(visual, colors)
    radius, length = map(float, visual.shape)
    parts: list[tuple[str, str, geometry.Shape, float]] = [
        ("capsule", "", geometry.Cylinder(radius, length), 0.0),
        ("end", "_bottom", geometry.Sphere(radius), -0.5 * length),
        ("end", "_top", geometry.Sphere(radius), 0.5 * length),
    ]
    elements = []
    for word, ending, shape, height in parts:
        placement = np.asarray(visual.placement) @ moved_to([0.0, 0.0, height])
        name = visual.name and visual.name + ending
        part = replace(visual, shape=shape, placement=placement, name=name)
        elements += _urdf_element(part, colors)
        ET.SubElement(elements[-1], "jounce", shape=word)
    return elements


def _urdf_element(visual: geometry.Visual, colors: dict[object, str]) -> list[ET.Element]:
    shape = _urdf_geometry(visual.shape)
    if shape is None:
        return []
    element = ET.Element("collision" if visual.collision else "visual")
    if visual.name:
        element.set("name", visual.name)
    placement = np.asarray(visual.placement)
    rpy = numbers(roll_pitch_yaw(placement[:3, :3]))
    ET.SubElement(element, "origin", xyz=numbers(placement[:3, 3]), rpy=rpy)
    ET.SubElement(element, "geometry").append(shape)
    if visual.color is not None:
        name = colors.setdefault(visual.color, f"color{len(colors)}")
        material = ET.SubElement(element, "material", name=name)
        ET.SubElement(material, "color", rgba=numbers(visual.color))
    return [element]


def _urdf_geometry(shape: geometry.Shape) -> ET.Element | None:
    match shape:
        case geometry.Box(size):
            return ET.Element("box", size=numbers(size))
        case geometry.Sphere(radius):
            return ET.Element("sphere", radius=repr(float(radius)))
        case geometry.Cylinder(radius, length):
            return ET.Element("cylinder", radius=repr(float(radius)), length=repr(float(length)))
        case geometry.Mesh(_, scale):
            mesh = ET.Element("mesh", filename=_mesh_name(shape))
            if tuple(scale) != (1.0, 1.0, 1.0):
                mesh.set("scale", numbers(scale))
            return mesh
    return None


def _mesh_name(mesh: geometry.Mesh) -> str:
    """The file as it can be found from anywhere: a relative path becomes an absolute one."""
    relative = "://" not in mesh.filename and not Path(mesh.filename).is_absolute()
    found = geometry.find_mesh(mesh) if relative else None
    return mesh.filename if found is None else str(found.resolve())


def mjcf_shape(visual: geometry.Visual, static: bool) -> ET.Element | None:
    """Return a `<geom>` without its place, or None for a mesh and for what MuJoCo refuses.

    Collision shapes collide in MuJoCo, others do not; neither has mass.
    """
    found = _mjcf_size(visual.shape)
    if found is None or (found[0] == "plane" and not static):
        return None
    kind, size = found
    if kind != "plane" and min(size) <= 0:
        return None
    geom = ET.Element("geom", type=kind, size=numbers(size), mass="0")
    if visual.collision:
        geom.set("group", "3")
    else:
        geom.set("contype", "0")
        geom.set("conaffinity", "0")
    if visual.color is not None:
        geom.set("rgba", numbers(visual.color))
    return geom


def _mjcf_size(shape: geometry.Shape) -> tuple[str, list[float]] | None:
    """The word for a shape and its sizes, which are halves of lengths."""
    if isinstance(shape, geometry.Box):
        return "box", [0.5 * side for side in shape.size]
    if isinstance(shape, geometry.Sphere):
        return "sphere", [shape.radius]
    if isinstance(shape, geometry.Ellipsoid):
        return "ellipsoid", list(shape.radii)
    if isinstance(shape, geometry.Cylinder):
        return "cylinder", [shape.radius, 0.5 * shape.length]
    if isinstance(shape, geometry.Capsule):
        return "capsule", [shape.radius, 0.5 * shape.length]
    if isinstance(shape, geometry.Plane):
        return "plane", [0.5 * side for side in shape.size] + [1.0]
    return None
