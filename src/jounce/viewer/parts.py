"""What a robot looks like: colored triangles on its bodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jounce._types import Array
from jounce.io.geometry import Capsule, Ellipsoid, Mesh, Plane, Shape, Visual
from jounce.model import Model
from jounce.model.joints import frames_along
from jounce.viewer.meshes import Piece, inertia_ellipsoid, mesh_file, pieces_of_file, triangles

__all__ = ["Color", "Part", "parts_of"]

Color = tuple[float, float, float, float]

_PLAIN: Color = (0.72, 0.75, 0.80, 1.0)
_COLLISION: Color = (0.95, 0.65, 0.10, 0.45)
_STICK: Color = (0.35, 0.38, 0.43, 1.0)


class Part(NamedTuple):
    """Triangles on a body."""

    body: int
    """-1 for the world."""
    pose: Array
    """(4, 4) in the body's frame."""
    piece: Piece
    color: Color
    collision: bool = False


def parts_of(model: Model, search: Iterable[str | Path] = ()) -> list[Part]:
    """All parts of a robot.

    A body whose mesh cannot be read has the ellipsoid of its inertia; a robot without shapes has
    those of all bodies, and bars from joint to joint. A plane where the page has its own ground is
    left out; ramps and tables are not.

    Args:
        model: the robot.
        search: folders of meshes besides those of the model.
    """
    folders = tuple(search)
    drawn = [shape for shape in model.visuals if not _is_ground(model, shape)]
    visible = [shape for shape in drawn if not shape.collision]
    hidden = [shape for shape in drawn if shape.collision]
    if not visible and not hidden:
        every = range(model.n_bodies)
        return [*_sticks(model), *(part for k in every for part in _ellipsoid(model, k))]
    parts: list[Part] = []
    bare: set[int] = set()
    for visual in visible or hidden:
        found = list(_of_visual(model, visual, visual.color, folders))
        parts += found
        if not found:
            bare.add(model.frames[visual.frame].body)
    for body in sorted(bare - {-1}):
        parts += _ellipsoid(model, body)
    for visual in hidden if visible else ():
        found = list(_of_visual(model, visual, _COLLISION, folders))
        parts += [part._replace(collision=True) for part in found]
    return parts


def _is_ground(model: Model, visual: Visual) -> bool:
    frame = model.frames[visual.frame]
    if not isinstance(visual.shape, Plane) or frame.body >= 0:
        return False
    pose = frame.placement @ visual.placement
    return bool(abs(pose[2, 3]) < 1e-6 and abs(pose[2, 2]) > 1 - 1e-12)


def _of_visual(
    model: Model, visual: Visual, color: Color | None, search: Sequence[str | Path]
) -> Iterator[Part]:
    frame = model.frames[visual.frame]
    pose = frame.placement @ visual.placement
    for piece in _pieces(visual.shape, search):
        # white over a mesh that has colors of its own says that there are no others
        own = piece.color if color is None or color[:3] == (1.0, 1.0, 1.0) else None
        yield Part(frame.body, pose, piece, own or color or _PLAIN)


def _pieces(shape: Shape, search: Sequence[str | Path]) -> list[Piece]:
    if not isinstance(shape, Mesh):
        return [triangles(shape)]
    path = mesh_file(shape, search)
    return [] if path is None else pieces_of_file(path, shape.scale)


def _ellipsoid(model: Model, body: int) -> Iterator[Part]:
    """What stands for a body without a shape."""
    parameters = model.inertias[body]
    if parameters[0] > 0:
        pose, radii = inertia_ellipsoid(parameters)
        x, y, z = radii.tolist()
        yield Part(body, pose, triangles(Ellipsoid((x, y, z))), _PLAIN)


def _sticks(model: Model) -> Iterator[Part]:
    """Bars from each body's joint to those of its children."""
    for body in model.bodies:
        end = body.placement[:3, 3]
        length = float(np.linalg.norm(end))
        if length > 1e-6:
            pose = frames_along(end / length, end / 2)[0]
            bar = triangles(Capsule(0.02 * min(length, 0.5) + 0.003, length))
            yield Part(body.parent, pose, bar, _STICK)
