"""Shapes kept for a viewer; they play no part in the dynamics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from jounce._types import Array

__all__ = [
    "Box",
    "Capsule",
    "Cylinder",
    "Ellipsoid",
    "Mesh",
    "Plane",
    "Shape",
    "Sphere",
    "Visual",
]


class Box(NamedTuple):
    """A box centered at the origin with these full side lengths (m)."""

    size: tuple[float, float, float]


class Sphere(NamedTuple):
    """A sphere centered at the origin (m)."""

    radius: float


class Ellipsoid(NamedTuple):
    """An ellipsoid centered at the origin with these half axes (m)."""

    radii: tuple[float, float, float]


class Cylinder(NamedTuple):
    """A cylinder along z, centered at the origin (m)."""

    radius: float
    length: float


class Capsule(NamedTuple):
    """A cylinder along z with half spheres on both ends; `length` is the cylinder's (m)."""

    radius: float
    length: float


class Plane(NamedTuple):
    """The plane z = 0; `size` are the full lengths to draw, zero for an unlimited one (m)."""

    size: tuple[float, float]


class Mesh(NamedTuple):
    """A mesh file as the model names it; `directory` is that of the model file, if there is one.

    `jounce.io.geometry.find_mesh` turns it into a path.
    """

    filename: str
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    directory: Path | None = None


Shape: TypeAlias = Box | Sphere | Ellipsoid | Cylinder | Capsule | Plane | Mesh


@dataclass(frozen=True, eq=False)
class Visual:
    """A shape attached to a frame of the model.

    Attributes:
        frame: name of the link; ``model.frames[frame]`` says which body carries it.
        shape: what to draw.
        placement: (4, 4) pose of the shape in that frame.
        color: red, green, blue, alpha between 0 and 1; None if the model does not say.
        name: name in the model file, often empty.
        collision: whether it is a collision shape instead of a visible one.
    """

    frame: str
    shape: Shape
    placement: Array
    color: tuple[float, float, float, float] | None = None
    name: str = ""
    collision: bool = False
