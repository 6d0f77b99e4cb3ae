"""Safe XML reading: bytes in, elements with exact line numbers and checked numbers out.

Entities are refused before parsing, nothing is fetched, and every problem becomes a `ModelError`
that names the file, the line and the element.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar
from xml.parsers import expat

from jounce.errors import MissingExtraError, ModelError
from jounce.io._findings import CollectedError, Finding
from jounce.io._mended import mended
from jounce.io._source import Source, after_prolog

__all__ = [
    "LARGEST",
    "UNLIMITED",
    "Document",
    "Element",
    "is_xacro",
    "label",
    "malformed",
    "parse",
    "refuse_deep",
]

T = TypeVar("T")
Element = Any
"""An element of lxml, which is imported only when a file is read."""

_TAG = re.compile(rb"<([A-Za-z_][\w:.-]*)")
_IN_NUMBERS = "+-.0123456789eE \t\r\n"

LARGEST = 1e50
"""Larger magnitudes cannot be meant, and their products would overflow."""

UNLIMITED = sys.float_info.max
"""For numbers that are never multiplied, such as limits."""


def parse(source: Source, strict: bool = False, *, forgiving: bool = False) -> Document:
    """Parse a file without entities, declarations or network access.

    Args:
        source: what was read.
        strict: refuse any document type, and make `Document.doubt` an error.
        forgiving: mend slips of XML, unless strict, see `mended`.

    Raises:
        ModelError: it is not well-formed XML, or it declares entities.
        MissingExtraError: lxml is missing.
    """
    try:
        from lxml import etree
    except ImportError:
        raise MissingExtraError(
            "reading model files needs lxml, which is not installed: pip install lxml"
        ) from None
    if not source.data.strip():
        raise ModelError(f"{source.name}:1: the file is empty, expected XML")
    data, position, doctype = after_prolog(source)
    if doctype and strict:
        line = data.count(b"\n", 0, data.index(b"<!DOCTYPE")) + 1
        raise ModelError(f"{source.name}:{line}: <!DOCTYPE>: strict files have no document type")
    if data.startswith(b"<!DOCTYPE", position):
        raise ModelError(f"{source.name}:1: <!DOCTYPE>: there are two document types")
    root, faults = _tree(etree, source)
    if any(_kind(fault) in _LIMITS for fault in faults):
        refuse_deep(source)
        root, faults = _tree(etree, source, huge_tree=True)
    slips: list[str] = []
    if faults and all(_kind(fault) in _HARMLESS for fault in faults):
        root, faults = _tree(etree, source, huge_tree=True, recover=True)
    elif root is None and forgiving and not strict:
        better, slips = mended(source.data, source.encoding)
        source = source._replace(data=better)
        refuse_deep(source)
        root, left = _tree(etree, source, huge_tree=True)
        if left and all(_kind(fault) in _HARMLESS for fault in left):
            root, left = _tree(etree, source, huge_tree=True, recover=True)
    if root is None:
        raise malformed(source.name, data, faults)
    internal = root.getroottree().docinfo.internalDTD
    if internal is not None and not doctype:
        raise ModelError(f"{source.name}:1: <!DOCTYPE>: not allowed in model files")
    doc = Document(_without_namespace(root), source, strict)
    for slip in slips:
        doc.doubt("style", doc.root, slip)
    return doc


# Undeclared prefixes (<drake:joint> without xmlns) and comments with "--" are common.
_HARMLESS = ("NS_ERR_UNDEFINED_NAMESPACE", "ERR_HYPHEN_IN_COMMENT")

# How libxml2 says that a comment, a text or the nesting is larger than it takes by default.
_LIMITS = ("ERR_RESOURCE_LIMIT", "ERR_COMMENT_NOT_FINISHED", "ERR_CDATA_NOT_FINISHED")

MOST_LEVELS = 1000
"""Deeper nesting is refused; with less, no parser runs out of stack."""


def _tree(etree: Any, source: Source, **options: bool) -> tuple[Any, list[Any]]:
    """Return the root element, None if there is none, and what the parser complains of."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
        encoding=source.encoding,
        **options,
    )
    try:
        root = etree.fromstring(source.data, parser)
    except etree.XMLSyntaxError as error:
        return None, list(parser.error_log) or [error]
    except (ValueError, LookupError) as error:
        raise ModelError(f"{source.name}:1: cannot be read as XML: {error}") from None
    if root is None:
        raise ModelError(f"{source.name}:1: cannot be read as XML")
    return root, []


def _kind(fault: Any) -> str:
    return str(getattr(fault, "type_name", ""))


def refuse_deep(source: Source) -> None:
    """Refuse deep nesting without building a tree; what is not well-formed is told later."""
    depth = 0
    parser = expat.ParserCreate(source.encoding)

    def start(tag: str, attributes: object) -> None:
        nonlocal depth
        depth += 1
        if depth > MOST_LEVELS:
            raise ModelError(
                f"{source.name}:{parser.CurrentLineNumber}: <{tag}>: elements are nested more "
                f"than {MOST_LEVELS} deep"
            )

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(source.data, True)
    except (expat.ExpatError, LookupError):
        return
    except ValueError as error:
        if isinstance(error, ModelError):
            raise


def malformed(name: str, data: bytes, faults: list[Any]) -> ModelError:
    """Build the exception for what a parser complains of; it names the last element before."""
    first = next((fault for fault in faults if _kind(fault) not in _HARMLESS), faults[0])
    line = max(getattr(first, "line", None) or getattr(first, "lineno", None) or 1, 1)
    message = getattr(first, "message", None) or str(first)
    tag = _last_tag(data, line, getattr(first, "column", 0))
    return ModelError(f"{name}:{line}: {tag}not well-formed XML: {message.strip()}")


def _last_tag(data: bytes, line: int, column: int) -> str:
    """Name the last element that begins before a place, which is the one to look at."""
    lines = data.split(b"\n", line)
    before = sum(len(text) + 1 for text in lines[: line - 1])
    position = before + (column or len(b"".join(lines[line - 1 : line])))
    while (position := data.rfind(b"<", 0, position)) >= 0:
        if match := _TAG.match(data, position):
            return f"<{match[1].decode('utf-8', 'replace')}>: "
    return ""


def _without_namespace(root: Element) -> Element:
    """Remove the root's own namespace (``<robot xmlns=...>``) from all elements that share it."""
    namespace, brace, _ = root.tag.rpartition("}")
    if brace:
        for element in root.iter(namespace + "}*"):
            element.tag = element.tag[len(namespace) + 1 :]
    return root


class Document:
    """A parsed file: its root element, and errors and numbers that know where they are."""

    def __init__(self, root: Element, source: Source, strict: bool = False) -> None:
        self.root = root
        self.strict = strict
        self.findings: list[Finding] = []
        self.collects = False
        """Whether errors of single elements are findings too, so that all of them are told."""
        self._spare: str | None = None
        """Class of what is found in a part that is not needed, while one is read."""
        self.name = source.name
        self.size = len(source.data)
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

    def collect(self, findings: list[Finding]) -> None:
        """Add all that is found to a list, errors of single elements too."""
        findings.extend(self.findings)
        self.findings, self.collects = findings, True

    def doubt(self, kind: str, element: Element, message: str) -> None:
        """Note what is no error: `strict` refuses it, others may ask for it."""
        if self.strict:
            raise self.error(element, message)
        self.findings.append(Finding(kind, lambda: str(self.error(element, message))))

    def fault(self, element: Element, message: str) -> None:
        """Refuse the file; where errors are collected, note this one and go on."""
        error = self.error(element, message)
        if not self.collects:
            raise error
        self._note(error)

    def _note(self, error: ModelError) -> None:
        refused = self._spare is None
        self.findings.append(Finding(self._spare or "structure", lambda: str(error), refused))

    def attempt(
        self, read: Callable[..., T], *arguments: Any, needed: bool = True, kind: str = "structure"
    ) -> T | None:
        """Read a part; one that is not needed is left out with a finding if it is wrong."""
        before = self._spare
        if not needed:
            self._spare = before or kind
        try:
            return read(*arguments)
        except ModelError as error:
            if self.strict or (needed and not self.collects):
                raise
            if not isinstance(error, CollectedError):
                self._note(error)
            return None
        finally:
            self._spare = before

    def _path(self, element: Element) -> str:
        parts = [label(element)]
        for ancestor in element.iterancestors():
            if len(parts) > 4:
                return " in ".join(parts) + " in ..."
            if ancestor is not self.root:
                parts.append(label(ancestor))
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


def label(element: Element) -> str:
    """Return what messages call an element: its tag, and its name if it has one."""
    tag = element.tag
    if tag.startswith("{"):
        namespace, _, local = tag[1:].rpartition("}")
        tag = f"{element.prefix}:{local}" if element.prefix else f"{local} of {namespace}"
    name = element.get("name")
    return f"<{tag} name={name!r}>" if name is not None else f"<{tag}>"


def is_xacro(element: Element) -> bool:
    """Whether an element is one of xacro, by its prefix or by its namespace."""
    namespace = element.tag.rpartition("}")[0] or element.tag.rpartition(":")[0]
    return element.prefix == "xacro" or "xacro" in namespace
