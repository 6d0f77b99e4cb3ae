"""Which files a model may name: those of its own folder or project."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from jounce.errors import ArgumentError, ModelError

__all__ = ["Folder"]

# A folder that has one of these is the top of a project; a project of Python has several.
_MARKS = (".git", "package.xml", "pyproject.toml", "setup.py", "__init__.py")


class _Place(Protocol):
    """An element that names a file."""

    def error(self, message: str) -> ModelError: ...


class Folder:
    """The folder that holds a model file, and the one that all files it names must be in.

    By default that is the project that the file belongs to: the nearest folder above it with a
    ``package.xml``, ``.git``, ``pyproject.toml`` or ``__init__.py`` (for nested packages the
    outermost); without one, the file's own folder. Links in the file system are not followed for
    this: who made them decided.

    Attributes:
        base: folder of the model file; the working directory for a model that is given as text.
    """

    def __init__(
        self, directory: Path | None, allowed: str | os.PathLike[str] | None, max_bytes: int
    ) -> None:
        self.base = Path(os.path.abspath(directory or Path.cwd()))
        self._given = allowed is not None
        self._max_bytes = max_bytes
        self._allowed = self.base
        self._packages: list[Path] = []
        if allowed is not None:
            self._allowed = Path(os.path.abspath(allowed))
            if not self._allowed.is_dir():
                raise ArgumentError(f"folder must be a directory, there is no {str(allowed)!r}")

    def find(self, place: _Place, name: str, directories: Sequence[Path]) -> Path | None:
        """Return the first of these that exists, or None.

        Raises:
            ModelError: it is outside of what is allowed, too large, or not a regular file.
        """
        outside = None
        for directory in directories:
            path = Path(os.path.abspath(directory / name.replace("\\", "/")))
            if not self.allows(path):
                outside = path
                continue
            try:
                status = os.stat(path)
            except (OSError, ValueError):
                continue
            if not stat.S_ISREG(status.st_mode):
                raise place.error(f"{name!r} is not a regular file")
            if status.st_size > self._max_bytes:
                raise place.error(
                    f"{name!r} has {status.st_size:,} bytes, more than the limit of "
                    f"{self._max_bytes:,}; max_bytes= raises it"
                )
            return path
        if outside is not None:
            raise place.error(
                f"{name!r} is outside of the model's folder {str(self._allowed)!r}; "
                "folder= names one that holds both"
            )
        return None

    def add_package(self, path: str) -> None:
        """Allow the files of another package, which whoever installed it decided."""
        self._packages.append(Path(os.path.abspath(path)))

    def above(self) -> list[Path]:
        """Return the folders above the model's that it may name files of, the nearest first."""
        return [folder for folder in self.base.parents if self.allows(folder / "any")]

    def allows(self, path: Path) -> bool:
        """Whether a file of this absolute path may be named."""
        around = (path, *path.parents)  # a folder itself is allowed, but no regular file
        if any(folder in around for folder in (self._allowed, *self._packages)):
            return True
        if not self._given:
            self._given = True
            self._allowed = _project(self.base)
        return self._allowed in around


def _project(folder: Path) -> Path:
    """Return the top of the project that a folder belongs to; itself if it belongs to none."""
    for top in (folder, *folder.parents):
        if any((top / mark).exists() for mark in _MARKS):
            while (top.parent / "__init__.py").exists():
                top = top.parent
            return top if top != Path(top.anchor) else folder
    return folder
