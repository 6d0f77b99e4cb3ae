"""What to draw for a shape: triangles, from its sizes or from a file in the model's folders."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jounce._types import Array
from jounce.errors import ArgumentTypeError, MissingExtraError, ModelWarning, UnknownNameError
from jounce.io.geometry import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Mesh,
    Plane,
    Shape,
    Sphere,
    find_mesh,
)
from jounce.model import inertia

__all__ = ["Piece", "extra", "inertia_ellipsoid", "mesh_file", "pieces_of_file", "triangles"]

_FORMATS = ("stl", "obj", "dae", "ply", "glb", "gltf", "off")
_OF_DESCRIPTIONS = ("urdf", "xacro", "mjcf", "xml", "sdf", "robots")
"""Names of folders for model files, beside which their package keeps meshes."""

_UNLIMITED = 4.0
"""Side, m, of what is drawn of an unlimited plane."""

_SMALLEST = 1e-3

_MOST_SPLIT = 200_000
"""Triangles of a piece whose sharp edges are still looked for."""


class Piece(NamedTuple):
    """Triangles of one look."""

    vertices: Array
    """(n, 3), m."""
    faces: Any
    """(m, 3) indices of vertices."""
    color: tuple[float, float, float, float] | None = None
    """Of the file; None if it does not say."""
    flat: bool = False
    """Whether edges are sharp."""


def extra(name: str) -> Any:
    """Import a package of the extra ``view``, or say what is missing."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(f"the viewer needs {name}: pip install 'jounce[view]'") from None


def triangles(shape: Shape) -> Piece:
    """The surface of a shape that is no mesh."""
    make = extra("trimesh").creation
    match shape:
        case Box(size):
            return _piece(make.box(extents=size), flat=True)
        case Sphere(radius):
            return _piece(make.icosphere(subdivisions=3, radius=radius))
        case Ellipsoid(radii):
            ball = make.icosphere(subdivisions=3)
            return Piece(ball.vertices * np.asarray(radii), ball.faces)
        case Cylinder(radius, length):
            return _with_sharp_edges(make.cylinder(radius=radius, height=length, sections=48))
        case Capsule(radius, length):
            capsule = make.capsule(height=length, radius=radius, count=(24, 24))
            capsule.apply_translation(-capsule.bounds.mean(axis=0))
            return _piece(capsule)
        case Plane(size):
            x, y = (side or _UNLIMITED for side in size)
            return _piece(make.box(extents=(x, y, 1e-4)), flat=True)
    raise ArgumentTypeError(f"{shape!r} is a file")


def _piece(mesh: Any, flat: bool = False) -> Piece:
    return Piece(np.asarray(mesh.vertices), np.asarray(mesh.faces), None, flat)


def _with_sharp_edges(mesh: Any) -> Piece:
    """Give caps vertices of their own, so that light does not run around their edges."""
    normals = np.asarray(mesh.face_normals)
    caps = np.abs(normals[:, 2]) > 0.5
    parts = [mesh.submesh([np.flatnonzero(some)], append=True) for some in (caps, ~caps)]
    shift = len(parts[0].vertices)
    vertices = np.concatenate([part.vertices for part in parts])
    return Piece(vertices, np.concatenate([parts[0].faces, parts[1].faces + shift]))


def inertia_ellipsoid(parameters: Array) -> tuple[Array, Array]:
    """The ellipsoid of uniform density with these ten inertial parameters.

    Of mass m and with principal moments I about its center, its half axes are
    ``a_k^2 = 5 / (2 m) (I_1 + I_2 + I_3 - 2 I_k)``.

    Returns:
        (4, 4) pose of its principal axes in the body's frame, and (3,) half axes, at least 1 mm.
    """
    mass, com, moments = inertia.about_com(parameters)
    principal, axes = np.linalg.eigh(moments)
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = axes, com
    if mass <= 0:
        return pose, np.full(3, _SMALLEST)
    squares = 2.5 / mass * (principal.sum() - 2 * principal)
    return pose, np.sqrt(np.maximum(squares, _SMALLEST**2))


def mesh_file(mesh: Mesh, search: Iterable[str | Path] = ()) -> Path | None:
    """Find the file of a mesh in the folders of its model.

    These are the folder of the model's file; the package that it belongs to (the nearest folder
    above with a ``package.xml``, and the one above a folder named ``urdf`` and the like); the
    folder that ``package://`` names, if it is above the model's or has a ``package.xml``; and
    those of `search`. A file elsewhere is not read, whatever the model says.

    Returns:
        The path, or None with a `ModelWarning` that says why.
    """
    given = [Path(folder).resolve() for folder in search]
    found = find_mesh(mesh, given)
    if found is None:
        _warn(f"mesh {mesh.filename!r} is not found; the ellipsoid of its body's inertia is shown")
        return None
    path = found.resolve()
    if path.suffix.lower()[1:] not in _FORMATS:
        _warn(f"mesh {mesh.filename!r} has none of the formats {', '.join(_FORMATS)}")
        return None
    if not any(path.is_relative_to(folder) for folder in (*given, *_folders(mesh))):
        _warn(
            f"mesh {mesh.filename!r} is not read: {path} is outside of the folders of the model; "
            "search=[folder] allows another one"
        )
        return None
    return path


def _folders(mesh: Mesh) -> Iterator[Path]:
    if mesh.directory is None:
        return
    own = mesh.directory.resolve()
    yield own
    if own.name.lower() in _OF_DESCRIPTIONS and len(own.parts) > 2:
        yield own.parent
    packages = [folder for folder in own.parents if (folder / "package.xml").is_file()]
    yield from packages[:1]
    scheme, _, rest = mesh.filename.partition("://")
    if scheme in ("package", "model"):
        name = rest.partition("/")[0]
        yield from (folder for folder in (own, *own.parents) if name and folder.name == name)
        beside = (folder / name for folder in own.parents if name not in ("", ".", ".."))
        yield from (folder for folder in beside if (folder / "package.xml").is_file())


def _warn(message: str) -> None:
    warnings.warn(message, ModelWarning, stacklevel=6)


class _Beside(Mapping[str, bytes]):
    """Files that a mesh file refers to, materials and images: those of its own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __getitem__(self, name: str) -> bytes:
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder) or not path.is_file():
            raise UnknownNameError(f"{name} is not in the folder of the mesh")
        return path.read_bytes()

    def __iter__(self) -> Iterator[str]:
        return (str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@lru_cache(maxsize=256)
def pieces_of_file(path: Path, scale: tuple[float, float, float]) -> list[Piece]:
    """Read a mesh file; nothing with a `ModelWarning` if it cannot be read.

    Lengths of COLLADA files are brought to meters; their up axis is left as it is, as in ROS.
    """
    trimesh = extra("trimesh")
    kind = path.suffix.lower()[1:]
    if kind == "dae":
        extra("collada")
    try:
        with path.open("rb") as file:
            scene = trimesh.load_scene(file, file_type=kind, resolver=_Beside(path.parent))
        parts = [part for part in scene.dump() if len(getattr(part, "faces", ()))]
        pieces = [_placed(part, np.asarray(scale) * _unit(part)) for part in parts]
    except Exception as error:  # whatever a reader of files raises
        _warn(f"mesh {path} cannot be read: {error}")
        return []
    if not pieces:
        _warn(f"mesh {path} cannot be read: it has no triangles")
    return pieces


def _unit(part: Any) -> float:
    """Meters per unit, of a COLLADA file."""
    words = re.match(r"([\d.eE+-]+) \* meters", str(part.metadata.get("units", "")))
    return float(words[1]) if words else 1.0


def _placed(part: Any, scale: Array) -> Piece:
    part.merge_vertices()
    sharp = part
    if len(part.faces) < _MOST_SPLIT:
        with suppress(ImportError):  # of what finds neighbors among triangles
            sharp = part.smooth_shaded
    vertices, faces = np.asarray(sharp.vertices) * scale, np.asarray(sharp.faces)
    if np.prod(scale) < 0:
        faces = faces[:, ::-1]
    return Piece(vertices, faces, _color(part))


def _color(part: Any) -> tuple[float, float, float, float] | None:
    look = part.visual
    if not getattr(look, "defined", False):
        return None
    read: list[Callable[[], Any]] = [
        lambda: look.material.main_color,
        lambda: look.main_color,
    ]
    for color in read:
        try:
            red, green, blue, alpha = (float(x) / 255 for x in color())
        except Exception:  # no such thing in this kind of look
            continue
        return red, green, blue, alpha
    return None
