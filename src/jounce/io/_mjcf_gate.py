"""What is refused in an MJCF file before MuJoCo sees it, and what MuJoCo need not see.

MuJoCo compiles defaults, frames and inertias. It does not look at how much it is asked for: a
`replicate` of 10^9 runs for days and cannot be interrupted, and numbers may be NaN or overflow.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from jounce.errors import ModelError
from jounce.io._folder import Folder
from jounce.io._mjcf_tree import Edits, Piece, Tree, expand
from jounce.io._source import Source, read_source
from jounce.io._xml import LARGEST

__all__ = ["Mesh", "admit", "edits", "meshes", "problems", "stem"]

MOST_COPIES = 10_000
"""Elements that `replicate` and the like may make; MuJoCo needs a minute for twice as many."""

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


def admit(
    source: Source, folder: Folder, max_bytes: int, seen: frozenset[Path] = frozenset()
) -> Tree:
    """Read a file with all that it includes and refuse what MuJoCo must not see.

    Raises:
        ModelError: the first problem; it names file, line and element.
    """
    tree = expand(source, folder, max_bytes)
    for problem in problems(tree):
        raise ModelError(str(problem))
    _admit_models(tree, folder, max_bytes, seen)
    return tree


def _admit_models(tree: Tree, folder: Folder, max_bytes: int, seen: frozenset[Path]) -> None:
    """Look at models that are attached, too; MuJoCo reads them itself."""
    for _, piece in tree.of("model"):
        name = piece.doc.text(piece.element, "file")
        path = _path(tree, piece)
        if path is None:
            raise piece.error(f"there is no file {name!r}")
        if path in seen:
            raise piece.error("models attach each other without end")
        source = read_source(path, max_bytes)
        admit(source, Folder(path.parent, folder.base, max_bytes), max_bytes, seen | {path})


def problems(tree: Tree) -> Iterator[ModelError]:
    """Everything that is refused, in the order of the file within each kind."""
    for check in (_numbers, _copies, _buffers, _files):
        yield from check(tree)


def _numbers(tree: Tree) -> Iterator[ModelError]:
    """Numbers that are not finite, or so large that their products overflow."""
    for piece in tree.pieces:
        for name, text in piece.element.items():
            if name in _NAMES or not _UNUSUAL.search(text):
                continue
            for word in text.split():
                value = _number(word)
                limit = math.inf if name.endswith("range") else LARGEST
                if not abs(value) <= limit:
                    why = "is too large" if abs(value) > limit else "is not a number"
                    yield piece.error(f"attribute {name!r}: {word[:60]} {why}")
                    break


def _number(word: str) -> float:
    """Return a number as C reads it; zero for what is none."""
    try:
        return float(word)
    except ValueError:
        return 0.0


def _copies(tree: Tree) -> Iterator[ModelError]:
    """More elements than MuJoCo can make in a reasonable time."""
    made = 0.0
    around: list[tuple[int, float]] = []  # depth and number of copies of what is open
    for piece in tree.pieces:
        while around and around[-1][0] >= piece.depth:
            around.pop()
        times = around[-1][1] if around else 1.0
        if piece.tag in ("replicate", "composite", "flexcomp"):
            times *= _count(piece)
        made += times if times > 1 else 0
        if made > MOST_COPIES:
            yield piece.error(
                f"the copies that it asks for make {made:,.0f} elements or more, which MuJoCo "
                f"does not finish; the limit is {MOST_COPIES:,}"
            )
            return
        around.append((piece.depth, times))


def _count(piece: Piece) -> float:
    words = (piece.element.get("count") or "1").split()
    return math.prod(max(_number(word), 1.0) for word in words)


def _buffers(tree: Tree) -> Iterator[ModelError]:
    for piece in tree.pieces:
        for name in ("nsample", "num"):
            if _number(piece.element.get(name) or "0") > MOST_SAMPLES:
                yield piece.error(
                    f"attribute {name!r}: {piece.element.get(name)} is more than {MOST_SAMPLES:,}"
                )
    for _, piece in tree.of("mesh"):
        if any(_number(word) > 1000 for word in (piece.element.get("params") or "").split()):
            yield piece.error("attribute 'params' asks for a mesh that is too fine")


def _files(tree: Tree) -> Iterator[ModelError]:
    """Files outside of the folder, and missing ones that nothing can stand in for."""
    for _, piece in tree.of("mesh", "hfield", "skin", "texture", "flexcomp"):
        for name, file in piece.element.items():
            if name.startswith("file") and file:
                try:
                    path = _path(tree, piece, name)
                except ModelError as error:
                    yield error
                    continue
                if path is None and piece.tag == "flexcomp":
                    yield piece.error(f"there is no file {file!r}")


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


def meshes(tree: Tree) -> list[Mesh]:
    """The mesh files that the model names."""
    return [Mesh(tree, k, piece) for k, piece in tree.of("mesh") if piece.element.get("file")]


def edits(tree: Tree, attributes: Mapping[int, Mapping[str, str]]) -> Edits:
    """What MuJoCo gets instead of the file's own elements; `attributes` says it for meshes.

    Nothing that is only seen is read: textures are plain, height fields flat, skins left out.
    """
    out: dict[int, Mapping[str, str] | None] = dict(attributes)
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
        if piece.element.get("file"):
            out[k] = {**piece.element.attrib, "file": str(_path(tree, piece))}
    return out


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
