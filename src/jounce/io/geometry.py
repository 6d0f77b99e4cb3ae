"""Shapes kept for a viewer; they play no part in the dynamics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

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
    "find_mesh",
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

    `find_mesh` turns it into a path.
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


def find_mesh(mesh: Mesh, search: Iterable[str | Path] = ()) -> Path | None:
    """Find a mesh file, or return None.

    ``package://name/rest`` is looked up in the given directories and in all parents of the
    model file's directory, each of which may hold or be the package ``name``.

    Args:
        mesh: the mesh.
        search: directories to look in first.
    """
    scheme, separator, rest = mesh.filename.partition("://")
    if not separator:
        scheme, rest = "", mesh.filename
    if scheme == "file":
        path = Path(unquote(rest))
        return path if path.is_file() else None
    if scheme not in ("", "package", "model"):
        return None
    bases = [Path(base) for base in search]
    if mesh.directory is not None:
        directory = mesh.directory.resolve()
        bases += [directory, *directory.parents]
    package, _, inside = rest.partition("/")
    for base in bases:
        candidates = [base / rest]
        if scheme and base.name == package:
            candidates.append(base / inside)
        for candidate in candidates:
            if candidate.is_file():
                return candidate
    return None
