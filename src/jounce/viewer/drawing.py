"""A robot as nodes of viser's scene: one for each body, with its shapes below it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.io.geometry import Capsule, Mesh, Visual
from jounce.kinematics import body_poses, center_of_mass
from jounce.model import Model
from jounce.model.joints import frames_along
from jounce.viewer.layers import LAYERS, Arrows, State, layer_arrows
from jounce.viewer.meshes import Piece, inertia_ellipsoid, mesh_file, pieces_of_file, triangles

__all__ = ["NODES", "Drawing", "Overlays"]

Color = tuple[float, float, float, float]

_PLAIN: Color = (0.72, 0.75, 0.80, 1.0)
_COLLISION: Color = (0.95, 0.65, 0.10, 0.45)
_ELLIPSOID: Color = (0.25, 0.55, 0.95, 0.45)
_STICK: Color = (0.35, 0.38, 0.43, 1.0)
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
        visible = [shape for shape in self.model.visuals if not shape.collision]
        hidden = [shape for shape in self.model.visuals if shape.collision]
        bare: set[int] = set()
        for visual in visible or hidden:
            bare |= self._add_visual(visual, visual.color)
        if not visible and not hidden:
            bare = set(range(self.model.n_bodies))
            self._add_sticks()
        for k in sorted(bare):
            self._add_ellipsoid(k)
        if visible and self.ghost is None:
            for visual in hidden:
                self._add_visual(visual, _COLLISION, self.collisions)

    def _add_visual(
        self, visual: Visual, color: Color | None, collect: list[Any] | None = None
    ) -> set[int]:
        """Draw a shape; the body that it is on, if it is a mesh that cannot be read."""
        frame = self.model.frames[visual.frame]
        pose = frame.placement @ visual.placement
        pieces = _pieces(visual.shape, self.search)
        if not pieces:
            return {frame.body} if frame.body >= 0 else set()
        for piece in pieces:
            # white over a mesh that has colors of its own says that there are no others
            own = piece.color if color is None or color[:3] == (1.0, 1.0, 1.0) else None
            handle = self._add_piece(frame.body, pose, piece, own or color or _PLAIN)
            if collect is not None:
                handle.visible = False
                collect.append(handle)
        return set()

    def _add_piece(self, body: int, pose: Array, piece: Piece, color: Color) -> Any:
        color = self.ghost or color
        parent = self.bodies[body] if body >= 0 else self.world
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
            **_place(pose),
        )
        self._shapes.append((handle, opacity))
        return handle

    def see_through(self, through: bool) -> None:
        """Make the shapes transparent, or as they were."""
        for handle, opacity in self._shapes:
            handle.opacity = _THROUGH if through else opacity

    def _add_ellipsoid(self, body: int) -> None:
        """What stands for a body without a shape."""
        parameters = self.model.inertias[body]
        if parameters[0] > 0:
            pose, radii = inertia_ellipsoid(parameters)
            self._add_piece(body, pose, _ball(radii), _PLAIN)

    def _add_sticks(self) -> None:
        """Bars from each body's joint to those of its children, for a robot without shapes."""
        for body in self.model.bodies:
            end = body.placement[:3, 3]
            length = float(np.linalg.norm(end))
            if length > 1e-6:
                pose = frames_along(end / length, end / 2)[0]
                bar = triangles(Capsule(0.02 * min(length, 0.5) + 0.003, length))
                self._add_piece(body.parent, pose, bar, _STICK)

    def remove(self) -> None:
        """Take it away."""
        self.node.remove()


def _pieces(shape: Any, search: Sequence[str | Path]) -> list[Piece]:
    if not isinstance(shape, Mesh):
        return [triangles(shape)]
    path = mesh_file(shape, search)
    return [] if path is None else pieces_of_file(path, tuple(shape.scale))


def _ball(radii: Array) -> Piece:
    from jounce.io.geometry import Ellipsoid

    x, y, z = radii.tolist()
    return triangles(Ellipsoid((x, y, z)))


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
