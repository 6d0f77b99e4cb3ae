"""What is refused in an MJCF file before MuJoCo sees it, and what MuJoCo need not see.

MuJoCo compiles defaults, frames and inertias. It does not look at how much it is asked for: a
`replicate` of 10^9 runs for days and cannot be interrupted, and numbers may be NaN or overflow.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from jounce.errors import ModelError
from jounce.io._folder import Folder
from jounce.io._mjcf_tree import Edits, Piece, Tree, expand
from jounce.io._source import Source, read_source
from jounce.io._xml import LARGEST

__all__ = ["Attached", "Mesh", "Problem", "admit", "edits", "meshes", "problems", "stem"]

MOST_COPIES = 10_000
"""Elements that `replicate` and the like may make, so that a small file does not ask for much: 3000
bodies of three elements take MuJoCo two seconds, four times as many sixteen times as long."""

MOST_ATTACHED = 30_000
"""Elements of all models that are attached, and of those that these attach."""

MOST_SAMPLES = 1_000_000
"""For buffers of sensors and actuators."""

# Sections that say nothing about the robot's motion; some of them ask for memory.
_DROPPED = ("size", "statistic", "visual")

# Attributes that hold names, where "nan" or "1e999" is no number.
_NAMES = frozenset(
    re.findall(
        r"\w+",
        """
        name class childclass file content_type model prefix sep plugin instance key value text
        joint joint1 joint2 body body1 body2 geom geom1 geom2 site site1 site2 mesh hfield material
        texture tendon tendon1 tendon2 actuator sensor target objname refname refsite
        jointinparent cranksite slidersite sidesite flex node cat user
        """,
    )
)
_UNUSUAL = re.compile(r"nan|inf|e\+?\d\d|\d{50}", re.IGNORECASE)


class Problem(NamedTuple):
    """What is refused, at which piece, and attributes with which it would not be, if any."""

    piece: int
    error: ModelError
    instead: Mapping[str, str] | None = None


class Attached:
    """Models that a file attaches, and those that these attach; each file is read once.

    Args:
        max_bytes: largest size of a file.
        above: files that are being read.
    """

    def __init__(self, max_bytes: int, above: frozenset[Path] = frozenset()) -> None:
        self.max_bytes = max_bytes
        self._above = above
        self._sizes: dict[Path, float] = {}

    def size(self, tree: Tree, piece: Piece) -> float:
        """Number of elements that a `<model>` brings, copies counted.

        Raises:
            ModelError: it is missing, attaches itself, or must not be seen by MuJoCo.
        """
        name = piece.doc.text(piece.element, "file")
        path = _path(tree, piece)
        if path is None:
            raise piece.error(f"there is no file {name!r}")
        if path in self._above:
            raise piece.error("models attach each other without end")
        if path not in self._sizes:
            source = read_source(path, self.max_bytes)
            inner = Attached(self.max_bytes, self._above | {path})
            inner._sizes = self._sizes
            folder = Folder(path.parent, tree.folder.base, self.max_bytes)
            below = admit(source, folder, self.max_bytes, inner)
            models = sum(inner.size(below, other) for _, other in below.of("model"))
            self._sizes[path] = len(below.pieces) + models + _Copies(below, inner).total
        return self._sizes[path]


def admit(source: Source, folder: Folder, max_bytes: int, attached: Attached | None = None) -> Tree:
    """Read a file with all that it includes and refuse what MuJoCo must not see.

    Raises:
        ModelError: the first problem; it names file, line and element.
    """
    tree = expand(source, folder, max_bytes)
    for problem in problems(tree, attached or Attached(max_bytes)):
        raise problem.error
    return tree


def problems(tree: Tree, attached: Attached) -> Iterator[Problem]:
    """Everything that is refused, in the order of the file within each kind."""
    yield from _numbers(tree)
    yield from _models(tree, attached)
    copies = _Copies(tree, attached)
    if copies.problem is not None:
        yield copies.problem
    yield from _buffers(tree)
    yield from _files(tree)


def _models(tree: Tree, attached: Attached) -> Iterator[Problem]:
    """Look at models that are attached, too; MuJoCo reads them itself."""
    total = 0.0
    for k, piece in tree.of("model"):
        try:
            total += attached.size(tree, piece)
            if total > MOST_ATTACHED:
                raise piece.error(
                    f"the attached models have more than {MOST_ATTACHED:,} elements, which is the "
                    "limit"
                )
        except ModelError as error:
            yield Problem(k, error)


def _numbers(tree: Tree) -> Iterator[Problem]:
    """Numbers that are not finite, or so large that their products overflow."""
    for k, piece in enumerate(tree.pieces):
        for name, text in piece.element.items():
            if name in _NAMES or not _UNUSUAL.search(text):
                continue
            limit = math.inf if name.endswith("range") else LARGEST
            wrong = [word for word in text.split() if not abs(_number(word)) <= limit]
            if wrong:
                why = "is too large" if abs(_number(wrong[0])) > limit else "is not a number"
                error = piece.error(f"attribute {name!r}: {wrong[0][:60]} {why}")
                fine = " ".join("1" if word in wrong else word for word in text.split())
                yield Problem(k, error, {name: fine})


def _number(word: str) -> float:
    """Return a number as C reads it; zero for what is none."""
    try:
        return float(word)
    except ValueError:
        return 0.0


class _Copies:
    """Counts the elements that copying makes, up to more than a small file may ask for."""

    def __init__(self, tree: Tree, attached: Attached) -> None:
        self.made = self.attached = 0.0
        self.problem: Problem | None = None
        around: list[tuple[int, float]] = []  # depth and number of copies of what is open
        sizes = dict(_attached_sizes(tree, attached))
        for k, piece in enumerate(tree.pieces):
            while around and around[-1][0] >= piece.depth:
                around.pop()
            times = around[-1][1] if around else 1.0
            self.made += times if times > 1 else 0
            if piece.tag in ("replicate", "composite", "flexcomp"):
                times *= _count(piece)
                self.made += times if piece.tag != "replicate" else 0  # which is no element itself
            if piece.tag == "attach":
                self.attached += times * sizes.get(piece.element.get("model"), 0.0)
            for what, made, most in (
                ("replicate, composite and flexcomp", max(self.made, times), MOST_COPIES),
                ("attach", self.attached, MOST_ATTACHED),
            ):
                if made > most:
                    message = (
                        f"{what} make {made:,.0f} elements or more by copying; the limit is "
                        f"{most:,}, elements that the file writes out not counted"
                    )
                    self.problem = Problem(k, piece.error(message))
                    return
            around.append((piece.depth, times))

    @property
    def total(self) -> float:
        """Number of elements that copying makes."""
        return self.made + self.attached


def _attached_sizes(tree: Tree, attached: Attached) -> Iterator[tuple[str, float]]:
    for _, piece in tree.of("model"):
        try:
            size = attached.size(tree, piece)
        except ModelError:  # told elsewhere
            continue
        yield piece.element.get("name") or stem(piece.element.get("file")), size


def _count(piece: Piece) -> float:
    words = (piece.element.get("count") or "1").split()
    return math.prod(max(_number(word), 1.0) for word in words)


def _buffers(tree: Tree) -> Iterator[Problem]:
    for k, piece in enumerate(tree.pieces):
        for name in ("nsample", "num"):
            text = piece.element.get(name) or "0"
            if _number(text) > MOST_SAMPLES:
                message = f"attribute {name!r}: {text} is more than {MOST_SAMPLES:,}"
                yield Problem(k, piece.error(message), {name: "1"})
    for k, piece in tree.of("mesh"):
        if any(_number(word) > 1000 for word in (piece.element.get("params") or "").split()):
            yield Problem(k, piece.error("attribute 'params' asks for a mesh that is too fine"))


def _files(tree: Tree) -> Iterator[Problem]:
    """Files outside of the folder, and missing ones that nothing can stand in for."""
    for k, piece in tree.of("mesh", "hfield", "skin", "texture", "flexcomp"):
        for name, file in piece.element.items():
            if name.startswith("file") and file:
                try:
                    path = _path(tree, piece, name)
                except ModelError as error:
                    yield Problem(k, error)
                    continue
                if path is None and piece.tag == "flexcomp":
                    yield Problem(k, piece.error(f"there is no file {file!r}"))


def _path(tree: Tree, piece: Piece, attribute: str = "file") -> Path | None:
    """Where MuJoCo looks for a file: `meshdir` or `texturedir`, in the model's folder."""
    directory, strip = "", False
    kind = "texturedir" if piece.tag == "texture" else "meshdir"
    for _, compiler in tree.of("compiler") if piece.tag != "model" else ():
        element = compiler.element
        directory = element.get(kind, element.get("assetdir", directory))
        strip = element.get("strippath", str(strip)).lower() == "true"
    name = piece.element.get(attribute)
    if strip:
        name = re.split(r"[/\\]", name)[-1]
    return tree.folder.find(piece, name, [tree.folder.base / directory.replace("\\", "/")])


class Mesh:
    """A mesh file that the model names; a tetrahedron can stand in for it."""

    def __init__(self, tree: Tree, index: int, piece: Piece) -> None:
        self.index = index
        self.piece = piece
        self.path = _path(tree, piece)
        self.name = piece.element.get("name") or stem(piece.element.get("file"))

    def itself(self) -> dict[str, str]:
        """Attributes that name the file wherever MuJoCo runs."""
        return {**self.piece.element.attrib, "file": str(self.path)}

    def stand_in(self, size: float) -> dict[str, str]:
        """Attributes of a tetrahedron."""
        s = str(size)
        corners = f"0 0 0  {s} 0 0  0 {s} 0  0 0 {s}"
        return {"name": self.name, "vertex": corners, "scale": "1 1 1"}


def meshes(tree: Tree, but: Container[int] = ()) -> list[Mesh]:
    """The mesh files that the model names, but for elements that are changed."""
    named = [(k, piece) for k, piece in tree.of("mesh") if piece.element.get("file")]
    return [Mesh(tree, k, piece) for k, piece in named if k not in but]


def edits(tree: Tree, attributes: Edits) -> Edits:
    """What MuJoCo gets instead of the file's own elements; `attributes` says it for some.

    Nothing that is only seen is read: textures are plain, height fields flat, skins left out.
    """
    out: dict[int, Mapping[str, str] | None] = {}
    for k, piece in tree.of("compiler"):
        out[k] = {name: x for name, x in piece.element.items() if name != "strippath"}
    for k, _ in tree.of("skin", "lengthrange", "numeric"):
        out[k] = None
    for k, piece in tree.of(*_DROPPED):
        if piece.depth == 1:
            out[k] = None
    for k, piece in tree.of("texture", "hfield"):
        out[k] = _plain(piece)
    for k, piece in tree.of("flexcomp", "model"):
        if piece.element.get("file") and k not in attributes:
            out[k] = {**piece.element.attrib, "file": str(_path(tree, piece))}
    return {**out, **attributes}


def _plain(piece: Piece) -> dict[str, str]:
    """Return attributes of the smallest texture or height field with the same name."""
    if piece.tag == "texture":
        kind = piece.element.get("type", "cube")
        out = {"type": kind, "builtin": "flat", "width": "1", "height": "1"}
    else:
        out = {"nrow": "2", "ncol": "2", "size": piece.element.get("size", "1 1 1 1")}
    name = piece.element.get("name") or stem(piece.element.get("file") or "")
    return {"name": name, **out} if name else out


def stem(file: str) -> str:
    """Return the name that MuJoCo gives to what a file holds."""
    return Path(re.split(r"[/\\]", file)[-1]).stem
