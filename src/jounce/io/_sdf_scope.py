"""Models of an SDF file with their names and poses: nested ones, included ones, frames.

Each model is a scope of names. A pose is that of a thing (link, joint, frame, nested model) in the
frame that `relative_to` names: by default the model's own, for a joint its child's, for a frame
the one that it is attached to.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.errors import ModelError, close_names, did_you_mean
from jounce.io._drake import full_tag
from jounce.io._findings import collected
from jounce.io._folder import Folder
from jounce.io._sdf_rules import (
    attribute_flag,
    check_children,
    check_version,
    content,
    find,
    flag,
    relative_to,
)
from jounce.io._source import read_source
from jounce.io._xml import LARGEST, Document, Element, parse

__all__ = [
    "Includes",
    "Scope",
    "Thing",
    "end_of",
    "is_reserved",
    "numbers",
    "read_pose",
    "read_scope",
    "word",
]

_JOINTS = ("joint", "drake:joint")
_NAMED = frozenset(("link", "frame", "model", "include", *_JOINTS))

MOST_INCLUDED = 100_000
"""Elements that includes may bring; a link with its joint has about 25."""


class Thing(NamedTuple):
    """A named element of a model.

    Attributes:
        doc: the file it is in.
        element: what tells its pose.
        frame: what the pose is relative to by default.
        placement: of a model, the frame inside of it whose pose it is; "" for its own.
    """

    doc: Document
    element: Element
    frame: str
    placement: str = ""

    def error(self, message: str) -> ModelError:
        """Build the exception that names file, line and element."""
        return self.doc.error(self.element, message)


class Scope:
    """A model, or the world: what has names in it, and the models inside."""

    def __init__(self, doc: Document, element: Element, prefix: str = "") -> None:
        self.doc = doc
        self.element = element
        self.prefix = prefix
        self.things: dict[str, Thing] = {}
        self.models: dict[str, Scope] = {}
        self.static = bool(doc.attempt(flag, doc, element, "static"))
        self.incomplete = False
        """Whether something that has a name here could not be read."""
        self._poses: dict[str, Array | None] = {}

    def pose(self, place: Thing, name: str) -> Array:
        """Return the pose of what has this name in the frame of the scope."""
        if name in ("__model__", "world", "__root__"):
            return np.eye(4)
        head, colons, rest = name.partition("::")
        if colons:
            if head not in self.models:
                raise self._unknown(place, head)
            return self.pose(place, head) @ self.models[head].pose(place, rest)
        if name not in self.things:
            raise self._unknown(place, name)
        for needed in self._needed(name):
            self._poses[needed] = None
            try:
                self._poses[needed] = self._own_pose(needed)
            except ModelError:
                del self._poses[needed]
                raise
        known = self._poses[name]
        if known is None:
            raise place.error(f"the pose of {name!r} depends on itself")
        return known

    def _needed(self, name: str) -> list[str]:
        """What a pose is relative to and not known yet, the last first: chains may be long."""
        chain: dict[str, Thing] = {}
        while name in self.things and name not in self._poses:
            if name in chain:
                raise chain[next(reversed(chain))].error(f"the pose of {name!r} depends on itself")
            chain[name] = thing = self.things[name]
            placed = thing.element.find("pose")
            relative = "" if placed is None else relative_to(thing.doc, placed)
            name = relative or thing.frame
        return [*reversed(chain)]

    def _own_pose(self, name: str) -> Array:
        thing = self.things[name]
        own, relative = read_pose(thing.doc, thing.element)
        out = self.pose(thing, relative or thing.frame) @ own
        if thing.placement:
            out = out @ lie.inverse(self.models[name].pose(thing, thing.placement))
        return out

    def link(self, place: Thing, name: str, seen: frozenset[str] = frozenset()) -> str:
        """Return the full name of the link that something is fixed to, "" for the world."""
        if name == "world":
            return ""
        head, colons, rest = name.partition("::")
        if colons:
            if head not in self.models:
                raise self._unknown(place, head)
            return self.models[head].link(place, rest)
        if name in seen:
            raise place.error(f"frame {name!r} is attached to itself")
        if name == "__model__":
            return self._canonical(place)
        if name not in self.things:
            raise self._unknown(place, name)
        thing = self.things[name]
        if name in self.models:
            return self.models[name].link(place, "__model__")
        if thing.element.tag == "link":
            return self.prefix + name
        if full_tag(thing.element) in _JOINTS:
            return self.link(thing, end_of(thing.doc, thing.element, "child"), seen | {name})
        return self.link(thing, thing.frame, seen | {name})

    def _canonical(self, place: Thing) -> str:
        """The link that the model's frame is fixed to."""
        if self.element.tag == "world":
            return ""
        given = self.element.get("canonical_link")
        if given:
            self.check_canonical()
            return self.link(place, given)
        for name, thing in self.things.items():
            if thing.element.tag == "link":
                return self.prefix + name
        for scope in self.models.values():
            return scope.link(place, "__model__")
        raise self.doc.error(self.element, "there is no link")

    def check_canonical(self) -> None:
        """Refuse a canonical link that is not there, whether or not something needs it."""
        place, scope = Thing(self.doc, self.element, ""), self
        *models, name = str(self.element.get("canonical_link") or "").split("::")
        for model in models:
            if model not in scope.models:
                raise scope._unknown(place, model)
            scope = scope.models[model]
        if name and name not in scope.things:
            raise scope._unknown(place, name)

    def _unknown(self, place: Thing, name: str) -> ModelError:
        if self.incomplete:
            return collected(f"{name!r} could not be read")
        hint = did_you_mean(map(repr, close_names(name, self.things, 2)))
        return place.error(f"there is nothing named {name!r} here{hint}")


def word(doc: Document, element: Element, tag: str, default: str | None = None) -> str:
    """Return the text of a child."""
    child = find(element, tag)
    text = content(doc, child) if child is not None else ""
    if text:
        return text
    if default is None:
        raise doc.error(element if child is None else child, f"<{tag}> is missing or empty")
    return default


def end_of(doc: Document, element: Element, tag: str) -> str:
    """Return the name of what a joint connects: its `parent` or its `child`."""
    return word(doc, element, f"drake:{tag}" if full_tag(element) == "drake:joint" else tag)


def numbers(doc: Document, element: Element, count: int, largest: float = LARGEST) -> Array:
    """Return the text of an element as `count` numbers."""
    text = content(doc, element)
    try:
        values = np.array([float(part) for part in text.split()])
    except ValueError:
        values = np.zeros(0)
    if len(values) != count or np.isnan(values).any() or "_" in text:
        expected = "a number" if count == 1 else f"{count} numbers separated by spaces"
        raise doc.error(element, f"expected {expected}, got {text[:60]!r}")
    if np.abs(values).max() > largest:
        raise doc.error(element, f"{text[:60]} is too large")
    return values


def read_pose(doc: Document, element: Element) -> tuple[Array, str]:
    """Return what `<pose>` says, and what it is relative to."""
    child, out = element.find("pose"), np.eye(4)
    if child is None:
        return out, ""
    relative, degrees = relative_to(doc, child), attribute_flag(doc, child, "degrees")
    form = child.get("rotation_format") or "euler_rpy"
    if form not in ("euler_rpy", "quat_xyzw"):
        message = f"attribute 'rotation_format': expected euler_rpy or quat_xyzw, got {form[:60]!r}"
        raise doc.error(child, message)
    if not content(doc, child):
        return out, relative
    if form == "quat_xyzw":
        if degrees:
            raise doc.error(child, "attribute 'degrees': a quaternion has none, expected false")
        values = numbers(doc, child, 7)
        if np.linalg.norm(values[3:]) < 1e-6:
            raise doc.error(child, "the quaternion is zero")
        out[:3, :3] = lie.quat_to_matrix(lie.quat_normalize(values[3:]))
    else:
        values = numbers(doc, child, 6)
        out[:3, :3] = lie.rpy_to_matrix(np.radians(values[3:]) if degrees else values[3:])
    out[:3, 3] = values[:3]
    return out, relative


def is_reserved(name: str) -> bool:
    """Whether nothing may have this name."""
    return name == "world" or "::" in name or (name.startswith("__") and name.endswith("__"))


class Includes:
    """Reads the files that a model includes, each once, and counts what they bring."""

    def __init__(self, folder: Folder, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._read: dict[Path, tuple[Document, int]] = {}
        self._brought = 0

    def model(self, doc: Document, element: Element) -> tuple[Document, Element]:
        """Return the model of the file that an include names."""
        check_children(doc, element)
        if attribute_flag(doc, element, "merge"):
            raise doc.error(element, "merging an included model is not supported")
        uri = word(doc, element, "uri")
        path = self._path(doc, element, uri)
        if path not in self._read:
            inner = parse(read_source(path, self._max_bytes), doc.strict)
            inner.findings, inner.collects = doc.findings, doc.collects
            if inner.root.tag == "sdf":
                check_version(inner)
                check_children(inner, inner.root)
            self._read[path] = inner, 10 + sum(1 for _ in inner.root.iter())
        inner, size = self._read[path]
        if self._brought > MOST_INCLUDED:
            raise collected("told before")
        self._brought += size
        if self._brought > MOST_INCLUDED:
            raise doc.error(
                element, f"includes bring more than {MOST_INCLUDED:,} elements, which is the limit"
            )
        models = inner.root.findall("model")
        if inner.root.tag != "sdf" or len(models) != 1:
            raise doc.error(element, f"expected an SDF file with one model, {uri!r} is none")
        return inner, models[0]

    def _path(self, doc: Document, element: Element, uri: str) -> Path:
        scheme, _, rest = uri.rpartition("://")
        if scheme not in ("", "model", "package", "file"):
            raise doc.error(element, f"cannot read {uri!r}")
        folder = self._folder
        base = doc.directory or folder.base
        directories = [base, *folder.above()] if scheme in ("model", "package") else [base]
        if any((directory / rest).is_dir() for directory in directories):
            rest += "/model.sdf"
        path = folder.find(Thing(doc, element, ""), rest, directories)
        if path is None:
            raise doc.error(element, f"there is no file {uri!r}")
        return path


def read_scope(scope: Scope, includes: Includes, depth: int = 0) -> None:
    """Fill a scope with what its element holds, includes too."""
    doc, element = scope.doc, scope.element
    check_children(doc, element)
    if depth > 50:
        raise doc.error(element, "models are nested more than 50 deep")
    for child in element:
        if full_tag(child) not in _NAMED:
            continue
        read = doc.attempt(_read_child, scope, child, includes, depth)
        scope.incomplete |= read is None
    doc.attempt(scope.check_canonical)


def _placement(doc: Document, element: Element) -> str:
    """What an include says of whose pose it tells."""
    placement = word(doc, element, "placement_frame", "")
    if placement and element.find("pose") is None:
        raise doc.error(element.find("placement_frame"), "it needs a <pose> beside it")
    return placement


def _read_child(scope: Scope, child: Element, includes: Includes, depth: int) -> bool:
    """Add an element with a name, and what is inside of it if it is a model."""
    doc, name = scope.doc, child.get("name")
    inner_doc, inner = doc, child
    if child.tag == "include":
        inner_doc, inner = includes.model(doc, child)
        name = word(doc, child, "name", inner.get("name"))
    name = name or doc.text(child, "name")
    if name in scope.things or is_reserved(name):
        raise doc.error(child, f"the name {name!r} is taken or reserved")
    frame = "__model__"
    if full_tag(child) in _JOINTS:
        frame = end_of(doc, child, "child")
    elif child.tag == "frame":
        frame = child.get("attached_to") or "__model__"
    outer = child if child.find("pose") is not None or child.tag != "include" else inner
    placement = _placement(doc, child) or inner.get("placement_frame") or ""
    scope.things[name] = Thing(doc if outer is child else inner_doc, outer, frame, placement)
    if inner.tag == "model":
        nested = Scope(inner_doc, inner, f"{scope.prefix}{name}::")
        nested.static = scope.static or flag(doc, child, "static", default=nested.static)
        scope.models[name] = nested
        read_scope(nested, includes, depth + 1)
    return True
