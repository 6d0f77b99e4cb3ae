"""Where the mesh files of a model are, and the shapes that it may have."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from jounce.model.shapes import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Mesh,
    Plane,
    Shape,
    Sphere,
    Visual,
)

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
