"""An MJCF file with everything it includes, as a flat list of elements that know their place.

MuJoCo gets a text of our own in which element k begins line k + 1. So a line in its messages is
an element, and the element knows its file and its line there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from jounce.errors import MissingFileError, ModelError
from jounce.io._folder import Folder
from jounce.io._source import Source, read_source
from jounce.io._xml import Document, Element, parse

__all__ = ["Edits", "Piece", "Tree", "expand"]

MOST_LEVELS = 450
"""MuJoCo's own parser takes some more."""


class Piece(NamedTuple):
    """An element and how deep it stands; the root's depth is 0."""

    depth: int
    doc: Document
    element: Element

    @property
    def tag(self) -> str:
        """Name of the element."""
        return str(self.element.tag)

    def error(self, message: str) -> ModelError:
        """Build the exception that names file, line and element."""
        return self.doc.error(self.element, message)


Edits = Mapping[int, Mapping[str, str] | None]
"""What MuJoCo gets instead: other attributes of the piece with this index, None to leave it out."""


class Tree:
    """The elements in the order of the file, includes replaced by what they include."""

    def __init__(self, pieces: list[Piece], folder: Folder) -> None:
        self.pieces = pieces
        self.folder = folder
        self.name = pieces[0].doc.name

    def of(self, *tags: str) -> Iterator[tuple[int, Piece]]:
        """Elements with these tags, and their indices."""
        return ((k, piece) for k, piece in enumerate(self.pieces) if piece.element.tag in tags)

    def inside(self, index: int) -> range:
        """Indices of the element and all that it holds."""
        stop = index + 1
        while stop < len(self.pieces) and self.pieces[stop].depth > self.pieces[index].depth:
            stop += 1
        return range(index, stop)

    def text(self, edits: Edits, more: str = "") -> str:
        """Write the file again, element k in line k + 1, and `more` at the end of the root."""
        from xml.sax.saxutils import quoteattr  # which brings the modules of networks along

        lines: list[str] = []
        opened: list[tuple[int, str]] = []
        dropped = -1
        for k, (depth, _, element) in enumerate(self.pieces):
            line = _closed(opened, depth)
            if 0 <= dropped < depth:
                lines.append(line)
                continue
            attributes = edits[k] if k in edits else _attributes(element)
            dropped = -1
            if attributes is None:
                dropped = depth
            else:
                tag = _tag(element)
                line += f"<{tag}" + "".join(f" {x}={quoteattr(y)}" for x, y in attributes.items())
                line += ">"
                opened.append((depth, tag))
            lines.append(line)
        return "\n".join(lines) + _closed(opened, 1) + more + _closed(opened, 0)


def _closed(opened: list[tuple[int, str]], depth: int) -> str:
    """End tags of what is open at this depth or deeper."""
    out = ""
    while opened and opened[-1][0] >= depth:
        out += f"</{opened.pop()[1]}>"
    return out


def _attributes(element: Element) -> dict[str, str]:
    """Return the attributes without those of other namespaces."""
    return {name: value for name, value in element.items() if not name.startswith("{")}


def _tag(element: Element) -> str:
    if element.tag.startswith("{"):
        return f"{element.prefix or 'other'}:{element.tag.rpartition('}')[2]}"
    return str(element.tag)


def expand(source: Source, folder: Folder, max_bytes: int, forgiving: bool = False) -> Tree:
    """Parse a file and all that it includes, slips of XML mended if `forgiving`.

    Raises:
        ModelError: a file is not well-formed, nested too deep, included twice, outside the
            folder or missing.
    """
    doc = parse(source, forgiving=forgiving)
    pieces: list[Piece] = []
    left = max_bytes - len(source.data)
    included: set[Path] = set()
    waiting = [Piece(0, doc, doc.root)]
    while waiting:
        piece = waiting.pop()
        if not isinstance(piece.element.tag, str):
            raise piece.doc.error(piece.element.getparent(), "entities are not allowed")
        if piece.depth > MOST_LEVELS:
            raise piece.error(f"elements are nested more than {MOST_LEVELS} deep")
        if piece.tag != "include":
            pieces.append(piece)
            depth, doc, parent = piece.depth + 1, piece.doc, piece.element
        else:
            doc = _included(piece, folder, included, left, forgiving)
            left -= doc.size
            depth, parent = piece.depth, doc.root
        waiting += [Piece(depth, doc, child) for child in reversed(parent)]
    return Tree(pieces, folder)


def _included(
    piece: Piece, folder: Folder, included: set[Path], left: int, forgiving: bool
) -> Document:
    """Parse what an include names; relative to the main file, or to the one that includes."""
    if len(piece.element):
        raise piece.error("an include has no children")
    name = piece.doc.text(piece.element, "file")
    path = folder.find(piece, name, [folder.base, piece.doc.directory or folder.base])
    if path is None:
        raise piece.error(f"there is no file {name!r}")
    if path in included:
        raise piece.error(f"{name!r} is included twice")
    included.add(path)
    try:
        doc = parse(read_source(path, max(left, 1)), forgiving=forgiving)
    except MissingFileError:
        raise piece.error(f"there is no file {name!r}") from None
    except ModelError as error:
        raise piece.error(f"cannot include {name!r}: {error}") from None
    if not len(doc.root):
        raise piece.error(f"there is nothing in {name!r}")
    return doc
