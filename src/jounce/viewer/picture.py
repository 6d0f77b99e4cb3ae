"""A picture of a robot without a browser: shaded triangles, drawn from the back to the front."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jounce._core.arrays import reals
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError
from jounce.kinematics import body_poses
from jounce.model import Model
from jounce.model.model import require_model
from jounce.viewer.meshes import extra
from jounce.viewer.motions import reference
from jounce.viewer.parts import parts_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_robot"]

_LIGHT = np.array([0.35, -0.45, 0.82])
_AMBIENT = 0.5
_LONGEST = 0.06
"""Sides of triangles, m: small ones are sorted well by their middles."""

_MOST_CUTS = 32
"""Parts that the longest side of a shape is cut into."""

_SHADOW = (0.86, 0.87, 0.89)


def draw_robot(
    axes: Axes,
    model: Model,
    q: ArrayLike | None = None,
    *,
    offset: ArrayLike = (0.0, 0.0, 0.0),
    view: tuple[float, float] = (14.0, -50.0),
    ground: bool = True,
    search: Iterable[str | Path] = (),
) -> None:
    """Draw a robot with its shapes into axes of matplotlib, in parallel projection.

    Args:
        axes: where; its units become meters, equal in both directions.
        model: the robot.
        q: (nq,) coordinates; by default its pose "home" or "standing", else neutral.
        offset: (3,) shift of the robot in the world, for several in one picture, m. Those that
            are farther away are to be drawn first.
        view: elevation and azimuth of the eye, degrees.
        ground: whether it throws a shadow on the ground, z = 0.
        search: folders of meshes besides those of the model.

    Raises:
        MissingExtraError: trimesh or matplotlib is not installed.
        ArgumentError: coordinates that do not fit.

    Examples:
        >>> from matplotlib.figure import Figure
        >>> axes = Figure().add_subplot()
        >>> draw_robot(axes, jc.models.quadruped())
        >>> len(axes.collections)
        2
    """
    require_model(model)
    collections = extra("matplotlib.collections")
    coordinates = reference(model) if q is None else reals("q", q)
    if coordinates.shape != (model.nq,):
        raise ArgumentError(f"q must have shape ({model.nq},), got {coordinates.shape}")
    corners, colors = _world(model, coordinates, tuple(search))
    corners = corners + reals("offset", offset, (3,))
    right, up, toward = _eye(*view)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    across = np.array([right, up]).T
    if ground:
        light = _LIGHT / _LIGHT[2]
        flat = corners - corners[..., 2:] * light
        style: dict[str, Any] = {"facecolors": _SHADOW, "edgecolors": _SHADOW, "linewidths": 0.4}
        axes.add_collection(collections.PolyCollection(flat @ across, zorder=1, **style))
    front = normals @ toward > 0
    depth = corners.mean(axis=1) @ toward
    order = np.flatnonzero(front)[np.argsort(depth[front])]
    bright = _AMBIENT + (1 - _AMBIENT) * np.clip(normals @ _LIGHT / np.linalg.norm(_LIGHT), 0, 1)
    shaded = np.clip(colors * bright[:, None], 0, 1)[order]
    style = {"facecolors": shaded, "edgecolors": shaded, "linewidths": 0.3}
    axes.add_collection(collections.PolyCollection((corners @ across)[order], zorder=2, **style))
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.set_axis_off()


def _eye(elevation: float, azimuth: float) -> tuple[Array, Array, Array]:
    """To the right, up and toward the eye, in the world."""
    e, a = np.radians([elevation, azimuth])
    toward = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    return right, np.cross(toward, right), toward


def _world(model: Model, q: Array, search: tuple[str | Path, ...]) -> tuple[Array, Array]:
    """Corners (n, 3, 3) of all triangles in the world, and their colors (n, 3)."""
    remesh = extra("trimesh.remesh")
    poses = np.concatenate([body_poses(model, q), np.eye(4)[None]])  # -1 is the world
    corners, colors = [np.zeros((0, 3, 3))], [np.zeros((0, 3))]
    for part in parts_of(model, search):
        if part.collision:
            continue
        piece = part.piece
        longest = max(_LONGEST, float(np.ptp(piece.vertices, axis=0).max()) / _MOST_CUTS)
        vertices, faces = remesh.subdivide_to_size(piece.vertices, piece.faces, longest)
        pose = poses[part.body] @ part.pose
        world = np.asarray(vertices) @ pose[:3, :3].T + pose[:3, 3]
        corners.append(world[np.asarray(faces)])
        colors.append(np.tile(part.color[:3], (len(faces), 1)))
    return np.concatenate(corners), np.concatenate(colors)
