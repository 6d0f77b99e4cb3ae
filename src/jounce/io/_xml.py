"""Safe XML reading: files or text in, elements with exact line numbers and checked numbers out.

Document types and entities are refused before parsing, nothing is fetched, and every problem
becomes a `ModelError` that names the file, the line and the element.
"""

from __future__ import annotations

import math
import os
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

from jounce.errors import ArgumentTypeError, MissingExtraError, MissingFileError, ModelError

__all__ = ["UNLIMITED", "Document", "Element", "Source", "parse", "read_source", "root_tag"]

Element = Any
"""An element of lxml, which is imported only when a file is read."""

_IN_NUMBERS = "+-.0123456789eE \t\r\n"
_TAG = re.compile(rb"<([^\s/>!?]+)")

LARGEST = 1e50
"""Larger magnitudes cannot be meant, and their products would overflow."""

UNLIMITED = sys.float_info.max
"""For numbers that are never multiplied, such as limits."""


class Source(NamedTuple):
    """The bytes of a model file, and what messages call it."""

    data: bytes
    name: str
    directory: Path | None = None
    encoding: str | None = None


def read_source(source: str | bytes | os.PathLike[str]) -> Source:
    """Read a path; a string that starts with "<" or spans several lines is the text itself.

    Raises:
        MissingFileError: there is no such file.
        ModelError: it cannot be read.
    """
    if isinstance(source, bytes):
        return Source(source, "<bytes>")
    if isinstance(source, str) and _is_text(source):
        try:
            return Source(source.encode("utf-8"), "<string>", None, "utf-8")
        except UnicodeEncodeError as error:
            raise ModelError(f"<string>:1: the text is not valid Unicode: {error}") from None
    if not isinstance(source, (str, os.PathLike)):
        raise ArgumentTypeError(f"the model file must be a path or its text, got {source!r:.60}")
    path = Path(source)
    try:
        return Source(path.read_bytes(), str(path), path.parent)
    except FileNotFoundError:
        raise MissingFileError(f"there is no model file {str(path)!r}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ModelError(f"{path}: cannot read the model file: {reason}") from None


def _is_text(source: str) -> bool:
    return not source.strip() or source.lstrip("\ufeff \t\r\n").startswith("<") or "\n" in source


def _after_prolog(data: bytes) -> tuple[bytes, int]:
    """Return the data (as ASCII-compatible bytes) and where its first real tag begins."""
    if b"\0" in data[:4]:  # UTF-16 or UTF-32: markup is ASCII once the zeros are gone
        data = data.replace(b"\0", b"")
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
        else:
            return data, position
        if end < 0:
            return data, len(data)
        position = data.index(b">", end) + 1


def root_tag(source: Source) -> str | None:
    """Return the name of the root element without parsing the rest; None if there is none."""
    data, position = _after_prolog(source.data)
    if data.startswith(b"<!DOCTYPE", position):
        raise _doctype(source.name, data, position)
    match = _TAG.match(data, position)
    return match[1].decode("utf-8", "replace").rpartition(":")[2] if match else None


def _doctype(name: str, data: bytes, position: int) -> ModelError:
    line = data.count(b"\n", 0, position) + 1
    return ModelError(
        f"{name}:{line}: <!DOCTYPE>: document types and entities are not allowed in model files"
    )


def parse(source: Source) -> Document:
    """Parse a file without entities, document types or network access.

    Raises:
        ModelError: it is not well-formed XML, or it declares a document type.
        MissingExtraError: lxml is missing.
    """
    try:
        from lxml import etree
    except ImportError:
        raise MissingExtraError(
            "reading URDF files needs lxml: pip install 'jounce[urdf]'"
        ) from None
    if not source.data.strip():
        raise ModelError(f"{source.name}:1: the file is empty, expected XML")
    data, position = _after_prolog(source.data)
    if data.startswith(b"<!DOCTYPE", position):
        raise _doctype(source.name, data, position)
    options = {
        "resolve_entities": False,
        "no_network": True,
        "load_dtd": False,
        "dtd_validation": False,
        "remove_comments": True,
        "remove_pis": True,
        "collect_ids": False,
        "encoding": source.encoding,
    }
    parser = etree.XMLParser(**options)
    try:
        root = etree.fromstring(source.data, parser)
    except etree.XMLSyntaxError as error:
        # An undeclared prefix (<drake:joint> without xmlns) is common and harmless.
        if any(entry.type_name != "NS_ERR_UNDEFINED_NAMESPACE" for entry in parser.error_log):
            raise _malformed(source.name, error, parser.error_log) from None
        root = etree.fromstring(source.data, etree.XMLParser(**options, recover=True))
    except (ValueError, LookupError) as error:
        raise ModelError(f"{source.name}:1: cannot be read as XML: {error}") from None
    if root.getroottree().docinfo.internalDTD is not None:
        raise _doctype(source.name, b"", 0)
    return Document(_without_namespace(root), source)


def _malformed(name: str, error: Any, log: Any) -> ModelError:
    entries = [e for e in log if e.type_name != "NS_ERR_UNDEFINED_NAMESPACE"]
    line = entries[0].line if entries else error.lineno or 1
    message = entries[0].message if entries else error.msg
    return ModelError(f"{name}:{max(line, 1)}: not well-formed XML: {message.strip()}")


def _without_namespace(root: Element) -> Element:
    """Remove the root's own namespace (``<robot xmlns=...>``) from all elements that share it."""
    namespace, brace, _ = root.tag.rpartition("}")
    if brace:
        for element in root.iter(namespace + "}*"):
            element.tag = element.tag[len(namespace) + 1 :]
    return root


class Document:
    """A parsed file: its root element, and errors and numbers that know where they are."""

    def __init__(self, root: Element, source: Source) -> None:
        self.root = root
        self.name = source.name
        self.directory = source.directory
        self._source = source
        self._lines: dict[Element, int] | None = None

    def line(self, element: Element) -> int:
        """Line where an element's start tag begins.

        lxml knows where it ends, and only up to line 65535; so the lines are counted once,
        when a message needs the first one.
        """
        if self._lines is None:
            self._lines = self._count_lines()
        return self._lines.get(element) or int(element.sourceline or 1)

    def _count_lines(self) -> dict[Element, int]:
        lines: list[int] = []
        parser = expat.ParserCreate(self._source.encoding)
        parser.StartElementHandler = lambda *_: lines.append(parser.CurrentLineNumber)
        try:
            parser.Parse(self._source.data, True)
        except (expat.ExpatError, ValueError, LookupError):
            return {}
        elements = list(self.root.iter("*"))
        return dict(zip(elements, lines, strict=True)) if len(elements) == len(lines) else {}

    def error(self, element: Element, message: str) -> ModelError:
        """Build the exception: file, line, element with its ancestors, message."""
        return ModelError(f"{self.name}:{self.line(element)}: {self._path(element)}: {message}")

    def _path(self, element: Element) -> str:
        parts = [_label(element)]
        for ancestor in element.iterancestors():
            if ancestor is not self.root:
                parts.append(_label(ancestor))
        return " in ".join(parts)

    def text(self, element: Element, attribute: str) -> str:
        """Return a required, non-empty attribute."""
        value = element.get(attribute)
        if value is None:
            raise self.error(element, f"attribute {attribute!r} is missing")
        if not value.strip():
            raise self.error(element, f"attribute {attribute!r} is empty")
        return str(value)

    def numbers(
        self, element: Element, attribute: str, count: int, largest: float = LARGEST
    ) -> tuple[float, ...]:
        """Return a required attribute as `count` finite numbers, refusing anything unusual."""
        text = element.get(attribute) or self.text(element, attribute)
        try:
            values = tuple(map(float, text.split()))
        except ValueError:
            values = ()
        # float() takes nan, 1_000 and digits of other scripts as well
        if len(values) != count or text.strip(_IN_NUMBERS):
            raise self._not_numbers(element, attribute, count, text)
        if max(map(abs, values)) > largest:
            raise self.error(element, f"attribute {attribute!r}: {text.strip()} is too large")
        return values

    def number(self, element: Element, attribute: str, largest: float = LARGEST) -> float:
        """Return a required attribute as one finite number."""
        text = element.get(attribute) or ""
        try:
            value = float(text)
        except ValueError:
            value = math.inf
        if abs(value) <= largest and not text.strip(_IN_NUMBERS):
            return value
        return self.numbers(element, attribute, 1, largest)[0]

    def _not_numbers(self, element: Element, attribute: str, count: int, text: str) -> ModelError:
        expected = "a number" if count == 1 else f"{count} numbers separated by spaces"
        shown = text if len(text) <= 60 else text[:57] + "..."
        return self.error(element, f"attribute {attribute!r} must be {expected}, got {shown!r}")


def _label(element: Element) -> str:
    tag = element.tag
    if tag.startswith("{"):
        namespace, _, local = tag[1:].rpartition("}")
        tag = f"{element.prefix}:{local}" if element.prefix else f"{local} of {namespace}"
    name = element.get("name")
    return f"<{tag} name={name!r}>" if name is not None else f"<{tag}>"
