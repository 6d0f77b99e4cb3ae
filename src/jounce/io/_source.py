"""Read the bytes of a model file: regular files of limited size, or text that is given."""

from __future__ import annotations

import operator
import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

from jounce._core.arrays import shown
from jounce.errors import ArgumentError, ArgumentTypeError, MissingFileError, ModelError

__all__ = ["MAX_BYTES", "Source", "after_prolog", "check_format", "read_source", "root_tag"]

MAX_BYTES = 100_000_000
"""Default limit of the size of a model file. Parsed, it takes about ten times as much memory."""

_TAG = re.compile(rb"<([^\s/>!?]+)")
_ENTITY = re.compile(rb"&(?!#|(?:amp|lt|gt|quot|apos);)")


_OTHERS = {"mujoco": ("an MJCF", ".xml", "load_mjcf"), "sdf": ("an SDF", ".sdf", "load_sdf")}
"""Formats that a file may hold although its name says URDF, by root element."""


class Source(NamedTuple):
    """The bytes of a model file, and what messages call it."""

    data: bytes
    name: str
    directory: Path | None = None
    encoding: str | None = None


def read_source(source: str | bytes | os.PathLike[str], max_bytes: int = MAX_BYTES) -> Source:
    """Read a path; a string that starts with "<" or spans several lines is the text itself.

    Raises:
        MissingFileError: there is no such file.
        ModelError: it cannot be read, is no regular file, or is larger than `max_bytes`.
        ArgumentError: `max_bytes` is not a positive integer.
    """
    limit = _checked_limit(max_bytes)
    if isinstance(source, bytes):
        return _limited(Source(source, "<bytes>"), limit)
    if isinstance(source, str) and _is_text(source):
        try:
            return _limited(Source(source.encode("utf-8"), "<string>", None, "utf-8"), limit)
        except UnicodeEncodeError as error:
            raise ModelError(f"<string>:1: the text is not valid Unicode: {error}") from None
    if not isinstance(source, (str, os.PathLike)):
        raise ArgumentTypeError(f"the model file must be a path or its text, got {shown(source)}")
    path = Path(source)
    try:
        return _limited(Source(_file_bytes(path, limit), str(path), path.parent), limit)
    except FileNotFoundError:
        raise MissingFileError(_missing(source)) from None
    except (OSError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise ModelError(f"{path}: cannot read the model file: {reason}") from None


def _missing(source: str | os.PathLike[str]) -> str:
    """There is no such file, in the words of the caller; addresses are not looked up."""
    given = os.fspath(source)
    scheme = re.match(r"(\w{2,}):/", given)
    hint = f"; it must be a path, {scheme[1]}: is not looked up" if scheme else ""
    return f"there is no model file {given!r}{hint}"


def _checked_limit(max_bytes: int) -> int:
    try:
        limit = operator.index(max_bytes)
    except TypeError:
        raise ArgumentTypeError(f"max_bytes must be an integer, got {shown(max_bytes)}") from None
    if limit <= 0:
        raise ArgumentError(f"max_bytes must be positive, got {limit}")
    return limit


def _file_bytes(path: Path, limit: int) -> bytes:
    """Read at most one byte more than the limit, and nothing that could wait or never end."""
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # opening a directory fails by itself
        raise ModelError(f"{path}: cannot read the model file: it is not a regular file")
    with open(path, "rb") as file:
        return file.read(limit + 1)


def _limited(source: Source, limit: int) -> Source:
    if len(source.data) > limit:
        size = len(source.data)
        if source.directory is not None:
            size = os.stat(source.name).st_size
        raise ModelError(
            f"{source.name}: the model has {size:,} bytes, more than the limit of {limit:,}; "
            "max_bytes= raises it"
        )
    return source


def _is_text(source: str) -> bool:
    return not source.strip() or source.lstrip("\ufeff \t\r\n").startswith("<") or "\n" in source


def after_prolog(source: Source) -> tuple[bytes, int, bool]:
    """Find the root element: ASCII-compatible bytes, where it begins, whether a DOCTYPE precedes.

    Raises:
        ModelError: the document type declares something, or a reference needs what it declares.
    """
    data = source.data
    if b"\0" in data[:4]:  # UTF-16 or UTF-32: markup is ASCII once the zeros are gone
        data = data.replace(b"\0", b"")
    doctype = False
    position = 0
    for mark in (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"):
        if data.startswith(mark):
            position = len(mark)
    while True:
        while data[position : position + 1].isspace():
            position += 1
        if data.startswith(b"<!--", position):
            end = data.find(b"-->", position)
        elif data.startswith(b"<?", position):
            end = data.find(b"?>", position)
        elif data.startswith(b"<!DOCTYPE", position) and not doctype:
            doctype = True
            _refuse_declarations(source.name, data, position)
            end = data.find(b">", position)
        else:
            return data, position, doctype
        if end < 0:
            return data, len(data), doctype
        position = data.index(b">", end) + 1


def _refuse_declarations(name: str, data: bytes, position: int) -> None:
    """Accept ``<!DOCTYPE robot>`` and a named file, which is never read; refuse declarations."""
    end = data.find(b">", position)
    inside = data.find(b"[", position, end if end >= 0 else len(data))
    line = data.count(b"\n", 0, position) + 1
    if end < 0 or inside >= 0:
        raise ModelError(
            f"{name}:{line}: <!DOCTYPE>: declarations of entities are not allowed in model files"
        )
    reference = _ENTITY.search(data, end)
    if reference is not None and (
        b"SYSTEM" in data[position:end] or b"PUBLIC" in data[position:end]
    ):
        line = data.count(b"\n", 0, reference.start()) + 1
        raise ModelError(
            f"{name}:{line}: <!DOCTYPE>: the file of the document type is not read, so this entity "
            "is unknown"
        )


def root_tag(source: Source) -> str | None:
    """Return the name of the root element without parsing the rest; None if there is none."""
    data, position, _ = after_prolog(source)
    match = _TAG.match(data, position)
    return match[1].decode("utf-8", "replace").rpartition(":")[2] if match else None


def check_format(source: Source, root: str | None, suffix: str) -> None:
    """Refuse other formats by name; what is not XML at all is left to the parser."""
    if root in _OTHERS:
        what, ending, function = _OTHERS[root]
        rename = "save what xacro makes of it as" if suffix == ".xacro" else "rename it to"
        raise ModelError(
            f"{source.name}:1: <{root}>: this is {what} file; {rename} {ending} or use {function}"
        )
    if root is not None and root != "robot":
        raise ModelError(
            f"{source.name}:1: <{root}>: expected <robot> (URDF), <mujoco> (MJCF) or <sdf> as root "
            "element"
        )
    if suffix not in (".urdf", ".xml", ".xacro") and root is None:
        raise ModelError(f"{source.name}:1: expected a .urdf, .xacro, .xml or .sdf file")
