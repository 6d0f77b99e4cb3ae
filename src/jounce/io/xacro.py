"""Expand xacro files, through the `xacro` package where it is installed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from jounce._core.arrays import shown
from jounce._types import ArrayLike
from jounce.errors import ArgumentError, ArgumentTypeError, MissingExtraError
from jounce.io._common import warn
from jounce.io._folder import Folder
from jounce.io._source import MAX_BYTES, Source, check_format, read_source, root_tag
from jounce.io.urdf import from_source
from jounce.model import Model
from jounce.model.roots import Base

__all__ = ["expand_xacro", "load_xacro"]


def load_xacro(
    path: str | os.PathLike[str],
    base: Base = "fixed",
    *,
    arguments: Mapping[str, str] | None = None,
    mimic: str = "independent",
    strict: bool = False,
    gravity: ArrayLike | None = None,
    max_bytes: int = MAX_BYTES,
    folder: str | os.PathLike[str] | None = None,
) -> Model:
    """Expand a xacro file and load the URDF that comes out; see `jounce.load_urdf`.

    Where xacro fails, messages name file, line and element; line numbers of what is wrong in the
    URDF are those of the expanded file, as ``xacro path`` prints it. Expressions are Python's, with
    the functions that xacro offers and limits: 50,000 elements from macros, blocks and includes,
    20 million characters and numbers in expressions. Files that it includes must be in `folder`, or
    in a package that ``$(find package)`` finds.

    Args:
        path: the file.
        base: see `jounce.load_urdf`.
        arguments: values for ``$(arg name)``; one that the file does not ask for is a warning.
        mimic: see `jounce.load_urdf`.
        strict: see `jounce.load_urdf`.
        gravity: see `jounce.load_urdf`.
        max_bytes: largest size of the file, and of each that it includes.
        folder: where included files must be, see `jounce.load_mjcf`.

    Returns:
        The robot.

    Raises:
        ModelError: the file cannot be expanded, asks for too much, or what comes out is wrong.
        MissingExtraError: the xacro package is missing.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "robot.xacro")
        ...     _ = path.write_text('<robot name="r"><link name="link${1 + 1}"/></robot>')
        ...     list(jc.load_xacro(path).frames)
        ['link2']
    """
    text = expand_xacro(path, arguments, max_bytes, folder)
    expanded = Source(text.encode(), f"{path} (expanded)", Path(path).parent, "utf-8")
    check_format(expanded, root_tag(expanded), ".xacro")
    return from_source(expanded, base, mimic=mimic, strict=strict, gravity=gravity)


def expand_xacro(
    path: str | os.PathLike[str],
    arguments: Mapping[str, str] | None = None,
    max_bytes: int = MAX_BYTES,
    folder: str | os.PathLike[str] | None = None,
) -> str:
    """Return the URDF text that a xacro file expands to.

    Args:
        path: the file.
        arguments: values for ``$(arg name)``.
        max_bytes: largest size of the file, and of each that it names.
        folder: where files that it names must be.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentTypeError(f"path must be the path of a xacro file, got {shown(path)}")
    if isinstance(path, str) and path.lstrip().startswith("<"):
        raise ArgumentError("path must be the path of a xacro file, got the text of one")
    try:
        import xacro  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "loading xacro files needs the xacro package: pip install 'jounce[xacro]'"
        ) from None
    from jounce.io._xacro_run import Run

    if not (arguments is None or isinstance(arguments, Mapping)):
        raise ArgumentTypeError(
            f"arguments must be a dict of names and values, got {shown(arguments)}"
        )
    source = read_source(Path(path), max_bytes)
    root_tag(source)  # refuses declarations of entities
    run = Run(source, os.fspath(path), Folder(source.directory, folder, max_bytes), max_bytes)
    mappings = _Arguments((key, str(value)) for key, value in (arguments or {}).items())
    text = run.text(mappings)
    said = run.said.getvalue().strip()
    if said:
        warn(f"{path}: xacro says: {said}")
    unused = [name for name in arguments or () if name not in mappings.asked]
    if unused:
        known = ", ".join(map(repr, sorted(mappings.asked))) or "none"
        warn(f"{path}: it asks for no argument {', '.join(map(repr, unused))}; known: {known}")
    return text


class _Arguments(dict[str, str]):
    """Values of arguments, and the names that were asked for: a misspelled one never is."""

    def __init__(self, items: Iterable[tuple[str, str]]) -> None:
        super().__init__(items)
        self.asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        """Note a declaration, ``<xacro:arg name=...>``."""
        self.asked.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        """Note a use, ``$(arg name)``."""
        self.asked.add(name)
        return super().__getitem__(name)
