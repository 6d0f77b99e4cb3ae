"""Links made of simple solids: what they look like is also what they weigh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError
from jounce.model import inertia
from jounce.model.builder import ModelBuilder
from jounce.model.joints import frames_along
from jounce.model.shapes import Box, Capsule, Cylinder, Shape, Sphere, Visual

__all__ = [
    "ACCENT",
    "DARK",
    "LIGHT",
    "STEEL",
    "Solid",
    "add_link",
    "ball",
    "bar",
    "block",
    "disk",
    "limits",
    "parameters_of_solids",
    "volume_and_inertia",
]

Color = tuple[float, float, float, float]

LIGHT: Color = (0.91, 0.92, 0.94, 1.0)
STEEL: Color = (0.62, 0.66, 0.71, 1.0)
DARK: Color = (0.20, 0.22, 0.26, 1.0)
ACCENT: Color = (0.94, 0.45, 0.13, 1.0)


class Solid(NamedTuple):
    """A shape of uniform density, placed in a link's frame."""

    shape: Shape
    placement: Array
    color: Color


def block(size: tuple[float, float, float], at: ArrayLike, color: Color = LIGHT) -> Solid:
    """A box with these side lengths, centered there."""
    return Solid(Box(size), _at(at), color)


def ball(radius: float, at: ArrayLike, color: Color = DARK) -> Solid:
    """A sphere centered there."""
    return Solid(Sphere(radius), _at(at), color)


def bar(start: ArrayLike, end: ArrayLike, radius: float, color: Color = LIGHT) -> Solid:
    """A capsule whose half spheres are centered at two points."""
    length, pose = _between(start, end)
    return Solid(Capsule(radius, length), pose, color)


def disk(start: ArrayLike, end: ArrayLike, radius: float, color: Color = DARK) -> Solid:
    """A cylinder between two points, the housing of a joint."""
    length, pose = _between(start, end)
    return Solid(Cylinder(radius, length), pose, color)


def limits(lower: float, upper: float, velocity: float, effort: float) -> dict[str, float]:
    """What a joint can do, as options of `ModelBuilder.add_body`."""
    return {
        "lower": lower,
        "upper": upper,
        "velocity_limit": velocity,
        "effort_limit": effort,
    }


def add_link(
    builder: ModelBuilder,
    name: str,
    parent: str | None,
    mass: float,
    solids: Sequence[Solid],
    **options: Any,
) -> None:
    """Add a body with the inertia of its solids and their shapes.

    Args:
        builder: what to add it to.
        name: of the body.
        parent: name of its parent.
        mass: of all solids together, kg.
        solids: all of one density.
        **options: of `ModelBuilder.add_body`: the joint, its placement, its limits.
    """
    builder.add_body(name, parent, parameters=parameters_of_solids(mass, solids), **options)
    builder.add_visuals(Visual(name, s.shape, s.placement, s.color) for s in solids)


def parameters_of_solids(mass: float, solids: Sequence[Solid]) -> Array:
    """The ten inertial parameters of solids of one density that weigh `mass` together."""
    volumes, unit = zip(*(volume_and_inertia(solid.shape) for solid in solids), strict=True)
    masses = mass * np.array(volumes) / sum(volumes)
    own = [
        inertia.from_com(m, np.zeros(3), m * np.diag(i)) for m, i in zip(masses, unit, strict=True)
    ]
    moved: Array = inertia.transform(np.array(own), np.array([s.placement for s in solids]))
    total: Array = moved.sum(axis=0)
    return total


def volume_and_inertia(shape: Shape) -> tuple[float, tuple[float, float, float]]:
    """Volume, m^3, and principal moments about the center for a mass of 1 kg, m^2."""
    match shape:
        case Box((x, y, z)):
            return x * y * z, ((y * y + z * z) / 12, (z * z + x * x) / 12, (x * x + y * y) / 12)
        case Sphere(r):
            return 4 / 3 * np.pi * r**3, (0.4 * r * r,) * 3
        case Cylinder(r, length):
            across = r * r / 4 + length**2 / 12
            return np.pi * r * r * length, (across, across, r * r / 2)
        case Capsule(r, length):
            return _capsule(r, length)
    raise ArgumentError(f"no volume is known of {shape!r}")


def _capsule(r: float, length: float) -> tuple[float, tuple[float, float, float]]:
    """A cylinder and a sphere that is cut in two; a half's center is 3/8 r from the cut."""
    tube, sphere = np.pi * r * r * length, 4 / 3 * np.pi * r**3
    volume = tube + sphere
    along = (tube * r * r / 2 + sphere * 0.4 * r * r) / volume
    ends = 0.4 * r * r + length**2 / 4 + 0.375 * r * length
    across = (tube * (r * r / 4 + length**2 / 12) + sphere * ends) / volume
    return volume, (across, across, along)


def _at(position: ArrayLike) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = position
    return pose


def _between(start: ArrayLike, end: ArrayLike) -> tuple[float, Array]:
    """The distance of two points, and a pose in the middle whose z axis points to the second."""
    first, second = np.asarray(start, float), np.asarray(end, float)
    length = float(np.linalg.norm(second - first))
    pose: Array = frames_along((second - first) / length, (first + second) / 2)[0]
    return length, pose
