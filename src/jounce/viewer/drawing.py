"""A robot as nodes of viser's scene: one for each body, with its shapes below it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.kinematics import body_poses, center_of_mass
from jounce.model import Model
from jounce.viewer.layers import LAYERS, Arrows, State, layer_arrows
from jounce.viewer.meshes import inertia_ellipsoid
from jounce.viewer.parts import Color, Part, parts_of

__all__ = ["NODES", "Drawing", "Overlays"]

_ELLIPSOID: Color = (0.25, 0.55, 0.95, 0.45)
_THROUGH = 0.3


class Drawing:
    """The robot in one configuration, which can be changed.

    Args:
        scene: viser's.
        model: the robot.
        search: folders of meshes besides those of the model.
        root: name of its node.
        ghost: a color that all of it has, instead of its own.
    """

    def __init__(
        self,
        scene: Any,
        model: Model,
        search: Iterable[str | Path] = (),
        root: str = "/robot",
        ghost: Color | None = None,
    ) -> None:
        self.scene, self.model, self.root, self.ghost = scene, model, root, ghost
        self.search = tuple(search)
        self.node = scene.add_frame(root, show_axes=False)
        self.world = scene.add_frame(f"{root}/world", show_axes=False)
        self.bodies = [
            scene.add_frame(f"{root}/body{k}", show_axes=False) for k in range(model.n_bodies)
        ]
        self.collisions: list[Any] = []
        self._shapes: list[tuple[Any, float | None]] = []
        self._last: Array | None = None
        self._add_shapes()

    def update(self, q: Array) -> None:
        """Move all bodies."""
        poses = body_poses(self.model, q)
        quaternions = np.roll(lie.matrix_to_quat(poses[:, :3, :3]), 1, axis=-1)
        moved = np.ones(len(poses), bool)
        if self._last is not None:
            moved = np.abs(poses - self._last).max(axis=(1, 2)) > 1e-9
        for k in np.flatnonzero(moved):
            self.bodies[k].wxyz = quaternions[k]
            self.bodies[k].position = poses[k, :3, 3]
        self._last = poses

    def _add_shapes(self) -> None:
        for part in parts_of(self.model, self.search):
            if part.collision and self.ghost is not None:
                continue
            handle = self._add_piece(part)
            if part.collision:
                handle.visible = False
                self.collisions.append(handle)

    def _add_piece(self, part: Part) -> Any:
        piece, color = part.piece, self.ghost or part.color
        parent = self.bodies[part.body] if part.body >= 0 else self.world
        opacity = None if color[3] >= 1 else color[3]
        handle = self.scene.add_mesh_simple(
            f"{parent.name}/shape{len(self._shapes)}",
            np.asarray(piece.vertices, np.float32),
            np.asarray(piece.faces, np.uint32),
            color=_bytes(color),
            opacity=opacity,
            flat_shading=piece.flat,
            side="double",
            cast_shadow=self.ghost is None,
            receive_shadow=self.ghost is None,
            **_place(part.pose),
        )
        self._shapes.append((handle, opacity))
        return handle

    def see_through(self, through: bool) -> None:
        """Make the shapes transparent, or as they were."""
        for handle, opacity in self._shapes:
            handle.opacity = _THROUGH if through else opacity

    def remove(self) -> None:
        """Take it away."""
        self.node.remove()


def _bytes(color: Color) -> tuple[int, int, int]:
    red, green, blue = (round(255 * min(max(x, 0.0), 1.0)) for x in color[:3])
    return red, green, blue


def _place(pose: Array) -> dict[str, Array]:
    return {
        "wxyz": np.roll(lie.matrix_to_quat(pose[:3, :3]), 1),
        "position": np.array(pose[:3, 3]),
    }


NODES = ("see-through", "inertias", "frames", "names", "collisions", "center of mass")
"""Layers that are nodes of the bodies, besides those of arrows."""


class Overlays:
    """What is drawn over a robot, each layer shown or not.

    Args:
        scene: viser's.
        drawing: the robot.
        size: of the robot, m.
    """

    def __init__(self, scene: Any, drawing: Drawing, size: float) -> None:
        self.scene, self.drawing, self.size = scene, drawing, size
        self.shown: set[str] = set()
        self._nodes: dict[str, list[Any]] = {}
        self._arrows: dict[str, Any] = {}

    def show(self, name: str, visible: bool) -> None:
        """Show or hide a layer; nodes are made when they are first shown."""
        (self.shown.add if visible else self.shown.discard)(name)
        if name == "see-through":
            self.drawing.see_through(visible)
            return
        if name in NODES and name not in self._nodes and visible:
            self._nodes[name] = self._make(name)
        for node in self._nodes.get(name, ()):
            node.visible = visible
        if name in self._arrows:
            self._arrows[name].visible = visible

    def update(self, state: State) -> None:
        """Move what depends on the state."""
        if "center of mass" in self.shown:
            for node in self._nodes["center of mass"]:
                node.position = center_of_mass(state.model, state.q)
        for name in LAYERS:
            if name in self.shown:
                self._draw(name, layer_arrows(name, state))

    def _draw(self, name: str, arrows: Arrows) -> None:
        points = np.asarray(arrows.points, np.float32)
        if name not in self._arrows:
            if len(points):
                self._arrows[name] = self._add_arrows(name, points, arrows.colors)
            return
        handle = self._arrows[name]
        handle.visible = bool(len(points)) and name in self.shown
        if len(points) == len(handle.points):
            handle.points, handle.colors = points, arrows.colors
        elif len(points):
            handle.remove()
            self._arrows[name] = self._add_arrows(name, points, arrows.colors)

    def _add_arrows(self, name: str, points: Any, colors: Any) -> Any:
        thick = 0.004 * max(self.size, 0.2)
        return self.scene.add_arrows(
            f"/layers/{name}",
            points,
            colors,
            shaft_radius=thick,
            head_radius=2.4 * thick,
            head_length=6.0 * thick,
        )

    def _make(self, name: str) -> list[Any]:
        model, drawing = self.drawing.model, self.drawing
        if name == "collisions":
            return drawing.collisions
        if name == "center of mass":
            radius = 0.02 * self.size
            return [self.scene.add_icosphere("/layers/com", radius, color=(120, 94, 240))]
        if name == "inertias":
            massive = [k for k in range(model.n_bodies) if model.inertias[k, 0] > 0]
            return [self._inertia(k) for k in massive]
        return [self._frame(k, frame, name) for k, frame in enumerate(model.frames)]

    def _inertia(self, body: int) -> Any:
        pose, radii = inertia_ellipsoid(self.drawing.model.inertias[body])
        return self.scene.add_icosphere(
            f"{self.drawing.bodies[body].name}/inertia",
            1.0,
            color=_bytes(_ELLIPSOID),
            opacity=_ELLIPSOID[3],
            scale=tuple(radii.tolist()),
            cast_shadow=False,
            **_place(pose),
        )

    def _frame(self, index: int, name: str, kind: str) -> Any:
        frame = self.drawing.model.frames[name]
        parent = self.drawing.bodies[frame.body] if frame.body >= 0 else self.drawing.world
        path = f"{parent.name}/{kind}{index}"
        if kind == "names":
            place = np.array(frame.placement[:3, 3])
            return self.scene.add_label(path, name, position=place, font_screen_scale=0.7)
        length = 0.06 * self.size
        return self.scene.add_frame(
            path, axes_length=length, axes_radius=0.06 * length, **_place(frame.placement)
        )
