"""Shapes kept for a viewer; they play no part in the dynamics."""

from __future__ import annotations

import reprlib
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from jounce._core.arrays import shown
from jounce._types import Array
from jounce.errors import ModelError
from jounce.model._checks import check_flag, is_finite, item_tuple, numbers, restore
from jounce.model.nodes import frozen

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
    "checked_visuals",
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

    Raises:
        ModelError: something is not of its kind, or a number is not finite.
    """

    frame: str
    shape: Shape
    placement: Array
    color: tuple[float, float, float, float] | None = None
    name: str = ""
    collision: bool = False

    def __post_init__(self) -> None:
        """Check what no viewer could draw."""
        if not (isinstance(self.frame, str) and isinstance(self.name, str)):
            raise ModelError(
                f"the frame and the name of a shape must be strings, got {shown(self.frame)} and "
                f"{self.name!r:.100}"
            )
        at = f"shape {self.name!r} on {self.frame!r}"
        if not _is_shape(self.shape):
            raise ModelError(
                f"{at}: expected a Box, Sphere, Ellipsoid, Cylinder, Capsule, Plane or Mesh of "
                f"finite sizes, got {shown(self.shape)}"
            )
        if not (self.color is None or _are_finite(self.color, 4)):
            raise ModelError(f"{at}: color must be 4 numbers or None, got {shown(self.color)}")
        check_flag(f"{at}: collision", self.collision)
        pose: Any = self.placement
        if pose.__class__ is not np.ndarray or pose.dtype != float:
            pose = numbers(f"{at}: placement", pose, (4, 4))
        if pose.shape != (4, 4) or not np.isfinite(pose).all():
            raise ModelError(f"{at}: placement must be 4x4 finite numbers, got\n{pose!r:.400}")
        object.__setattr__(self, "placement", frozen(pose))

    def __setstate__(self, state: Any) -> None:
        """Build it anew: a pickle may bring anything."""
        restore(self, state)


_LENGTHS: dict[type, tuple[int, ...]] = {  # how many numbers their fields have, 0 for a plain one
    Box: (3,),
    Sphere: (0,),
    Ellipsoid: (3,),
    Cylinder: (0, 0),
    Capsule: (0, 0),
    Plane: (2,),
}


def _are_finite(values: Any, count: int) -> bool:
    if isinstance(values, np.ndarray):
        values = values.tolist()
    listed = isinstance(values, (tuple, list)) and len(values) == count
    return listed and all(map(is_finite, values))


def _is_shape(shape: Any) -> bool:
    """Whether it is one that can be drawn."""
    if isinstance(shape, Mesh):
        placed = shape.directory is None or isinstance(shape.directory, (Path, str))
        return placed and isinstance(shape.filename, str) and _are_finite(shape.scale, 3)
    counts = _LENGTHS.get(type(shape))
    return counts is not None and all(
        _are_finite(x, n) if n else is_finite(x) for x, n in zip(shape, counts, strict=True)
    )


def checked_visuals(visuals: Any, frames: Container[str]) -> tuple[Visual, ...]:
    """The shapes of a model with these frames.

    Raises:
        ModelError: something is no shape, or is on a frame that the model does not have.
    """
    items: tuple[Visual, ...] = item_tuple("visuals", visuals, "shapes")
    for item in items:
        if not isinstance(item, Visual) or not vars(item):
            raise ModelError(
                f"visuals must be shapes (jounce.io.geometry.Visual), got {reprlib.repr(item)}"
            )
        if item.frame not in frames:
            raise ModelError(f"shape {item.name!r}: there is no frame {item.frame!r}")
    return items
