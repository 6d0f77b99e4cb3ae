"""The geoms of an MJCF file, which are kept for a viewer, and their colors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.io import geometry
from jounce.io._mjcf_compile import warnings_to
from jounce.io._mjcf_gate import edits, meshes, stem
from jounce.io._mjcf_tree import Tree

__all__ = ["MeshFile", "mesh_files", "visuals"]

_HIDDEN = 3
"""Geoms of this group and those above it are not seen in MuJoCo, by custom those that collide."""

_MESH = 7  # mjGEOM_MESH
_PLAIN = (0.5, 0.5, 0.5, 1.0)
"""What MuJoCo writes where a geom has no color of its own; that of its material counts then."""


class MeshFile(NamedTuple):
    """A mesh file; MuJoCo takes its points x as ``scale (R x + p)`` with a pose (R, p)."""

    mesh: geometry.Mesh
    pose: Array

    def placement(self) -> Array | None:
        """(4, 4) pose of the scaled points; None where the scale does not let them turn."""
        scale, turn = np.array(self.mesh.scale), self.pose[:3, :3]
        if np.ptp(scale) and not np.allclose(turn, np.eye(3), atol=1e-12):
            return None
        out = self.pose.copy()
        out[:3, 3] *= scale
        return out


def mesh_files(tree: Tree | None, compiled: Any) -> dict[str, MeshFile]:
    """The mesh files of a model by the names of its meshes."""
    if not (np.asarray(compiled.geom_type) == _MESH).any():
        return {}
    return _of_compiled(compiled) if tree is None else _of_tree(tree)


def _of_compiled(compiled: Any) -> dict[str, MeshFile]:
    """Those of a `mujoco.MjModel`, which does not know the folder of its file."""
    paths, out = bytes(compiled.paths), {}
    for k in range(compiled.nmesh):
        start, name = int(compiled.mesh_pathadr[k]), str(compiled.mesh(k).name)
        file = paths[start : paths.index(b"\0", start)].decode() if start >= 0 else ""
        mesh = geometry.Mesh(file or name, _three(compiled.mesh_scale[k]))
        out[name] = MeshFile(mesh, np.eye(4))
    return out


def _of_tree(tree: Tree) -> dict[str, MeshFile]:
    """Those of a file; scales come from classes of defaults, which MuJoCo's parser knows.

    None if it does not take what the file says of its meshes, which the dynamics do not need.
    """
    import mujoco

    paths = {mesh.name: mesh.path for mesh in meshes(tree)}
    out = {}
    try:
        with warnings_to(mujoco, []):
            spec = mujoco.MjSpec.from_string(tree.text(edits(tree, {})))
    except (ValueError, RuntimeError, mujoco.FatalError):
        return {}
    for mesh in spec.meshes:
        name, path = str(mesh.name) or stem(mesh.file), paths.get(str(mesh.name))
        directory, file = tree.folder.base, str(mesh.file) or name
        if path is not None:
            directory, file = Path(path).parent, Path(path).name
        pose = lie.inverse(_poses(np.array([mesh.refpos]), np.array([mesh.refquat]))[0])
        out[name] = MeshFile(geometry.Mesh(file, _three(mesh.scale), directory), pose)
    return out


def visuals(
    compiled: Any, frames: Sequence[str], world: Array, files: Mapping[str, MeshFile]
) -> list[geometry.Visual]:
    """The shapes of all geoms that MuJoCo's viewer could show.

    MuJoCo moves a mesh to its center and principal axes, and its geom with it; here the points
    are those of the file.

    Args:
        compiled: a `mujoco.MjModel`.
        frames: names of its bodies; instead of the world's that of a frame there.
        world: (4, 4) pose of that frame.
        files: of meshes, by their names.
    """
    placements, centers = (
        _poses(compiled.geom_pos, compiled.geom_quat),
        _poses(compiled.mesh_pos, compiled.mesh_quat),
    )
    out = []
    for k, color in enumerate(_colors(compiled)):
        shape, placement = _shape(compiled, k), placements[k]
        if int(compiled.geom_type[k]) == _MESH:
            data = int(compiled.geom_dataid[k])
            file = files.get(str(compiled.mesh(data).name))
            points = None if file is None else file.placement()
            if file is not None and points is not None:
                shape, placement = file.mesh, placement @ lie.inverse(centers[data]) @ points
        if shape is None or (color is not None and color[3] == 0):
            continue
        body, hidden = int(compiled.geom_bodyid[k]), int(compiled.geom_group[k]) >= _HIDDEN
        placement = placement if body else lie.inverse(world) @ placement
        name = str(compiled.geom(k).name)
        out.append(geometry.Visual(frames[body], shape, placement, color, name, hidden))
    return out


def _shape(compiled: Any, k: int) -> geometry.Shape | None:
    """The shape of a geom that is no mesh; None for one without a size, and for height fields."""
    kind, size = int(compiled.geom_type[k]), compiled.geom_size[k].tolist()
    if kind not in _SHAPES or (kind != _PLANE and not any(size)):
        return None
    return _SHAPES[kind](size)


_PLANE = 0  # mjGEOM_PLANE, which is unlimited where its size is zero

_SHAPES: dict[int, Callable[[list[float]], geometry.Shape]] = {  # by mjtGeom; sizes are halves
    _PLANE: lambda s: geometry.Plane((2 * s[0], 2 * s[1])),
    2: lambda s: geometry.Sphere(s[0]),
    3: lambda s: geometry.Capsule(s[0], 2 * s[1]),
    4: lambda s: geometry.Ellipsoid((s[0], s[1], s[2])),
    5: lambda s: geometry.Cylinder(s[0], 2 * s[1]),
    6: lambda s: geometry.Box((2 * s[0], 2 * s[1], 2 * s[2])),
}


def _colors(compiled: Any) -> list[tuple[float, float, float, float] | None]:
    """Colors of the geoms or of their materials; None where the file does not say."""
    colors = np.array(compiled.geom_rgba, float)
    materials = np.asarray(compiled.geom_matid)
    plain = (colors == _PLAIN).all(axis=1)
    dyed = plain & (materials >= 0)
    colors[dyed] = np.asarray(compiled.mat_rgba)[materials[dyed]]
    rows = colors.round(7).tolist()  # which are single precision
    return [
        None if x else (r, g, b, a) for x, (r, g, b, a) in zip(plain & ~dyed, rows, strict=True)
    ]


def _poses(positions: Array, quaternions: Array) -> Array:
    """Poses (n, 4, 4) from MuJoCo's positions and quaternions (w, x, y, z) of any length."""
    out = np.tile(np.eye(4), (len(positions), 1, 1))
    turns = np.roll(np.asarray(quaternions, float), -1, axis=-1)
    out[:, :3, :3] = lie.quat_to_matrix(lie.quat_normalize(turns))
    out[:, :3, 3] = positions
    return out


def _three(values: Any) -> tuple[float, float, float]:
    x, y, z = map(float, values)
    return x, y, z
