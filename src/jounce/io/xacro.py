"""Expand xacro files, through the `xacro` package where it is installed."""

from __future__ import annotations

import contextlib
import io
import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

from jounce._types import ArrayLike
from jounce.errors import ArgumentTypeError, MissingExtraError, ModelError
from jounce.io._common import warn
from jounce.io._source import MAX_BYTES, Source, read_source, root_tag
from jounce.io.urdf import from_source
from jounce.model import Model
from jounce.model.roots import Base

__all__ = ["expand_xacro", "load_xacro"]

# The package keeps the file that it works on in global variables.
_LOCK = threading.Lock()


def load_xacro(
    path: str | os.PathLike[str],
    base: Base = "fixed",
    *,
    arguments: Mapping[str, str] | None = None,
    mimic: str = "independent",
    strict: bool = False,
    gravity: ArrayLike | None = None,
    max_bytes: int = MAX_BYTES,
) -> Model:
    """Expand a xacro file and load the URDF that comes out; see `jounce.load_urdf`.

    Line numbers in messages are those of the expanded file, as ``xacro path`` prints it.
    Xacro files can contain Python expressions and include other files, so load only those
    that you trust.

    Args:
        path: the file.
        base: see `jounce.load_urdf`.
        arguments: values for ``$(arg name)``; one that the file does not ask for is a warning.
        mimic: see `jounce.load_urdf`.
        strict: see `jounce.load_urdf`.
        gravity: see `jounce.load_urdf`.
        max_bytes: largest size of the file.

    Returns:
        The robot.

    Raises:
        ModelError: the file cannot be expanded, or what comes out is wrong.
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
    text = expand_xacro(path, arguments, max_bytes)
    expanded = Source(text.encode(), f"{path} (expanded)", Path(path).parent, "utf-8")
    return from_source(expanded, base, mimic=mimic, strict=strict, gravity=gravity)


def expand_xacro(
    path: str | os.PathLike[str],
    arguments: Mapping[str, str] | None = None,
    max_bytes: int = MAX_BYTES,
) -> str:
    """Return the URDF text that a xacro file expands to.

    Args:
        path: the file.
        arguments: values for ``$(arg name)``.
        max_bytes: largest size of the file.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentTypeError(f"path must be the path of a xacro file, got {path!r:.60}")
    try:
        import xacro
    except ImportError:
        raise MissingExtraError(
            "loading xacro files needs the xacro package: pip install 'jounce[xacro]'"
        ) from None
    root_tag(
        read_source(Path(path), max_bytes)
    )  # missing files and document types are refused here
    messages = io.StringIO()
    if not (arguments is None or isinstance(arguments, Mapping)):
        raise ArgumentTypeError(f"arguments must be a dict of names and values, got {arguments!r}")
    mappings = _Arguments((key, str(value)) for key, value in (arguments or {}).items())
    with _LOCK, contextlib.redirect_stderr(messages):
        try:
            document = xacro.process_file(os.fspath(path), mappings=mappings)
            text = str(document.toprettyxml(indent="  "))
        except Exception as error:
            files = [str(file) for file in getattr(xacro, "filestack", None) or () if file]
            inside = f" (in {files[-1]})" if files and files[-1] != os.fspath(path) else ""
            reason = str(error) or repr(error)
            raise ModelError(f"{path}: xacro cannot expand it{inside}: {reason}") from None
    if messages.getvalue().strip():
        warn(f"{path}: xacro says: {messages.getvalue().strip()}")
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
