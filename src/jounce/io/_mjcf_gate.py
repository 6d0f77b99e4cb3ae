"""What is refused in an MJCF file before MuJoCo sees it, and what MuJoCo need not see.

MuJoCo compiles defaults, frames and inertias. It does not look at how much it is asked for: a
`replicate` of 10^9 runs for days and cannot be interrupted, and numbers may be NaN or overflow.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import product
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
"""For buffers of sensors and actuators, together in the file or in one that is attached."""

MOST_KEYED = 20_000_000
"""Numbers of all keyframes together: each has all coordinates, whether it names them or not."""

SAMPLES_PER_ELEMENT = 100
"""How many numbers in buffers count as one more element where something is copied."""

# Of joints that have more than one.
_COORDINATES = {"free": 7, "ball": 4}

# Sections that say nothing about the robot's motion; some of them ask for memory.
_DROPPED = ("size", "statistic", "visual")

# Sections whose elements are copied with those that they name.
_REFERRING = frozenset(("actuator", "contact", "equality", "sensor", "tendon"))

# Attributes that say how many numbers a sensor or an actuator holds.
_COUNTS = ("nsample", "num", "dim", "actdim")

# Attributes that hold names, where "nan" or "1e999" is no number.
_NAMES = frozenset(
    re.findall(
        r"\w+",
        """
        name class childclass file content_type model prefix sep plugin instance key value text
        joint joint1 joint2 body body1 body2 geom geom1 geom2 site site1 site2 mesh hfield material
        texture tendon tendon1 tendon2 actuator sensor target objname refname refsite
        jointinparent cranksite slidersite sidesite flex node cat user camera subtree1 subtree2
        """,
    )
)
_NO_REFERENCES = """
name class childclass file content_type prefix sep plugin instance key value text user
"""
_REFERENCES = _NAMES.difference(_NO_REFERENCES.split())
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
            # MuJoCo reads the file itself, so that nothing plain can stand in for its sensors.
            copies = _Copies(below, inner, _samples(below))
            if copies.problem is not None:
                raise copies.problem.error
            self._sizes[path] = len(below.pieces) + models + copies.total
        return self._sizes[path]


def admit(
    source: Source,
    folder: Folder,
    max_bytes: int,
    attached: Attached | None = None,
    *,
    forgiving: bool = False,
) -> Tree:
    """Read a file with all that it includes and refuse what MuJoCo must not see.

    Raises:
        ModelError: the first problem; it names file, line and element.
    """
    tree = expand(source, folder, max_bytes, forgiving)
    for problem in problems(tree, attached or Attached(max_bytes)):
        raise problem.error
    return tree


def problems(tree: Tree, attached: Attached) -> Iterator[Problem]:
    """Everything that is refused, in the order of the file within each kind."""
    yield from _numbers(tree)
    yield from _models(tree, attached)
    yield from _buffers(tree)
    copies = _Copies(tree, attached, _samples(tree, ("actuator",)))
    if copies.problem is not None:
        yield copies.problem
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
    """Counts the elements that copying makes, up to more than a small file may ask for.

    What names a copied element (a sensor, an equality, a tendon) is copied with it.

    Args:
        tree: the file.
        attached: sizes of the models that it attaches.
        samples: numbers in the buffers of elements, by index.
    """

    def __init__(self, tree: Tree, attached: Attached, samples: Mapping[int, float]) -> None:
        self.made = self.attached = 0.0
        self.problem: Problem | None = None
        self._samples = samples
        self._buffers = self._coordinates = 0.0
        self._keys: list[tuple[int, Piece]] = []
        self._times: dict[str, float] = {}
        around: list[tuple[int, float]] = []  # depth and number of copies of what is open
        sizes = dict(_attached_sizes(tree, attached))
        for k, piece in enumerate(tree.pieces):
            while around and around[-1][0] >= piece.depth:
                around.pop()
            times = around[-1][1] if around else 1.0
            self._add(k, piece, times)
            if piece.tag in ("replicate", "composite", "flexcomp"):
                times *= _count(piece)
                self.made += times if piece.tag != "replicate" else 0  # which is no element itself
            if piece.tag == "attach":
                own = times * sizes.get(piece.element.get("model"), 0.0)
                self.attached += own
                self._coordinates += own
            self._check(k, piece, times)
            if self.problem is not None:
                return
            around.append((piece.depth, times))
        self._add_references(tree)

    @property
    def total(self) -> float:
        """Number of elements that copying makes, and of those that buffers count as."""
        return self.made + self.attached + self._buffers / SAMPLES_PER_ELEMENT

    def _add_keyed(self, k: int, piece: Piece, times: float) -> None:
        """Count keyframes, and the coordinates that each of them has."""
        if piece.tag == "key":
            self._keys.append((k, piece))
        elif piece.tag in ("joint", "freejoint"):
            kind = piece.element.get("type", "") if piece.tag == "joint" else "free"
            self._coordinates += times * _COORDINATES.get(kind, 1)
        elif piece.tag in ("composite", "flexcomp"):
            self._coordinates += 3 * times * _count(piece)

    def _add(self, k: int, piece: Piece, times: float) -> None:
        """Count one element and what it holds."""
        self._add_keyed(k, piece, times)
        samples = self._samples.get(k, 0.0)
        self._buffers += samples
        if times > 1:
            self.made += times * (1 + samples / SAMPLES_PER_ELEMENT)
            name = piece.element.get("name")
            if name:
                self._times[name] = max(times, self._times.get(name, 1.0))

    def _add_references(self, tree: Tree) -> None:
        """Count what is copied because of a name in it."""
        if not self._times:
            return
        for k, piece in _within(tree, _REFERRING):
            names = (y for x, y in piece.element.items() if x in _REFERENCES)
            times = max((self._times.get(text, 1.0) for text in names), default=1.0)
            if times > 1:
                self.made += times * (1 + self._samples.get(k, 0.0) / SAMPLES_PER_ELEMENT)
                self._check(k, piece, 1.0)
                if self.problem is not None:
                    return

    def _check(self, k: int, piece: Piece, times: float) -> None:
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
        keyed = len(self._keys) * self._coordinates
        if keyed > MOST_KEYED:
            first, key = self._keys[0]
            message = f"keyframes hold {keyed:,.0f} coordinates; the limit is {MOST_KEYED:,}"
            self.problem = Problem(first, key.error(message))
            return
        if self._buffers > MOST_SAMPLES:
            message = f"buffers of sensors and actuators hold more than {MOST_SAMPLES:,} numbers"
            self.problem = Problem(k, piece.error(message))


def _attached_sizes(tree: Tree, attached: Attached) -> Iterator[tuple[str, float]]:
    for _, piece in tree.of("model"):
        try:
            size = attached.size(tree, piece)
        except ModelError:  # told elsewhere
            continue
        yield piece.element.get("name") or stem(piece.element.get("file")), size


def _count(piece: Piece) -> float:
    return _product(piece.element.get("count"))


def _buffers(tree: Tree) -> Iterator[Problem]:
    for k, piece in enumerate(tree.pieces):
        for name in ("nsample", "num", "dim", "actdim"):
            text = piece.element.get(name) or "0"
            if _number(text) > MOST_SAMPLES:
                message = f"attribute {name!r}: {text} is more than {MOST_SAMPLES:,}"
                yield Problem(k, piece.error(message), {name: "1"})
    for k, piece in tree.of("mesh"):
        if any(_number(word) > 1000 for word in (piece.element.get("params") or "").split()):
            yield Problem(k, piece.error("attribute 'params' asks for a mesh that is too fine"))


def _within(tree: Tree, sections: Container[str]) -> Iterator[tuple[int, Piece]]:
    """What stands in these sections."""
    section = ""
    for k, piece in enumerate(tree.pieces):
        section = piece.tag if piece.depth == 1 else section
        if piece.depth > 1 and section in sections:
            yield k, piece


def _samples(
    tree: Tree, sections: Container[str] = ("actuator", "extension", "sensor")
) -> dict[int, float]:
    """Numbers that elements ask for in buffers of data, states and samples, where these are many.

    The pixels of a camera count at each of its rangefinders. What the defaults say may be said of
    each element that does not say otherwise.
    """
    cameras = [piece.element for _, piece in tree.of("camera")]
    pixels = {x.get("name"): _product(x.get("resolution")) for x in cameras if x.get("resolution")}
    usual = dict.fromkeys(_COUNTS, 1.0)
    for (_, piece), name in product(_within(tree, ("default",)), _COUNTS):
        usual[name] = max(usual[name], _told_number(piece, name, 1.0))
    found = {}
    for k, piece in _within(tree, sections):
        element = piece.element
        around = usual if piece.depth == 2 else dict.fromkeys(_COUNTS, 1.0)
        numbers = math.prod(_told_number(piece, name, around[name]) for name in _COUNTS)
        if piece.tag == "rangefinder" and element.get("camera"):
            numbers *= pixels.get(element.get("camera"), pixels.get(None, 1.0))
        if piece.tag == "config" and element.get("key") == "size":
            numbers *= _product(element.get("value"))
        if numbers > 1:
            found[k] = numbers
    return found


def _told_number(piece: Piece, name: str, usual: float) -> float:
    """A count that an element asks for; what is too large is refused by itself."""
    text = piece.element.get(name)
    value = usual if text is None else max(_number(text), 1.0)
    return value if value <= MOST_SAMPLES else 1.0


def _product(text: str | None) -> float:
    return math.prod(max(_number(word), 1.0) for word in (text or "").split())


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
    Sensors and buffers hold one number: MuJoCo computes and keeps what they ask for.
    """
    out: dict[int, Mapping[str, str] | None] = {}
    for k, piece in tree.of("compiler"):
        out[k] = {name: x for name, x in piece.element.items() if name != "strippath"}
    for k, _ in tree.of("skin", "lengthrange", "numeric", "tuple"):
        out[k] = None
    for k, piece in tree.of(*_DROPPED):
        if piece.depth == 1:
            out[k] = None
    for k, piece in tree.of("texture", "hfield"):
        out[k] = _plain(piece)
    for k, piece in tree.of("flexcomp", "model"):
        if piece.element.get("file") and k not in attributes:
            out[k] = {**piece.element.attrib, "file": str(_path(tree, piece))}
    out |= attributes
    for k, names in _counts(tree):
        given = out.get(k, dict(tree.pieces[k].element.items()))
        out[k] = None if given is None or names is None else _at_most_one(given, names)
    return out


def _counts(tree: Tree) -> Iterator[tuple[int, Sequence[str] | None]]:
    """Attributes that say how much data there is, of sensors and the like; None of plugins."""
    for k, _ in tree.of("camera"):
        yield k, ("resolution",)
    for k, piece in _within(tree, ("actuator", "default", "sensor")):
        if piece.tag == "plugin" and piece.element.get("objtype") is not None:
            yield k, None
        elif piece.tag != "camera":
            yield k, ("nsample", "num", "dim") if piece.tag == "user" else ("nsample", "num")


def _at_most_one(attributes: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Attributes of an element, with ones where some of them hold larger numbers."""
    out = {name: text for name, text in attributes.items() if not name.startswith("{")}
    for name in names:
        if name in out:
            out[name] = " ".join("1" if _number(x) > 1 else x for x in out[name].split())
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
