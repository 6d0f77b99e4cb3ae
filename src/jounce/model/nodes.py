"""The tree of elementary joints that the recursions run over.

A body with a compound joint (or with several joints, as in MJCF) is reached through massless
intermediate nodes, so there are at least as many nodes as bodies. Nodes are numbered depth
first: a parent comes before its children and a subtree is a contiguous range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from jounce import lie
from jounce._types import AnyArray, Array, Index
from jounce.errors import ModelError
from jounce.model.joints import (
    ELEMENTARY,
    SIZES,
    Elementary,
    Joint,
    elementary_joints,
    frames_along,
)

__all__ = [
    "IDENTITY",
    "NODE",
    "Body",
    "Frame",
    "Nodes",
    "all_frames",
    "build_nodes",
    "carried_bodies",
    "distinct",
    "frozen",
    "frozen_bodies",
    "unit_quaternions",
]


T = TypeVar("T")

NODE = 20
"""Numbers of a node in the directions in which a model changes, see core/batch/shape.hpp."""


def _same(one: tuple[Any, ...], other: Any) -> bool:
    """Whether named tuples with arrays are equal; tuples compare these entry by entry."""
    if type(one) is not type(other):
        return False
    pairs = zip(one, other, strict=True)
    return all(np.array_equal(x, y) if isinstance(x, np.ndarray) else x == y for x, y in pairs)


class Body(NamedTuple):
    """A rigid body and the joint(s) that connect it to its parent (-1: the world).

    `placement` is the pose of the body's frame in the parent's frame at q = neutral, and
    `parameters` are the ten inertial parameters about the body's frame.
    """

    name: str
    parent: int
    placement: Array
    joints: tuple[Joint, ...]
    parameters: Array

    def __eq__(self, other: object) -> bool:
        """Whether all fields are those of another body."""
        return _same(self, other)

    def __ne__(self, other: object) -> bool:
        """Whether a field is not that of another body."""
        return not _same(self, other)

    def __hash__(self) -> int:
        """Of what is no array."""
        return hash((self.name, self.parent, self.joints))


class Frame(NamedTuple):
    """A named frame fixed to a body (-1: to the world), with its constant pose in it.

    Examples:
        >>> tip = jc.lie.exp([0, 0, 0, 0, 0, 0.2])
        >>> arm = jc.models.panda_like().with_frame("pen", "link7", tip)
        >>> arm.frames["pen"].body, float(arm.frames["pen"].placement[2, 3])
        (6, 0.2)
    """

    body: int
    placement: Array

    def __eq__(self, other: object) -> bool:
        """Whether it is at the same place of the same body."""
        return _same(self, other)

    def __ne__(self, other: object) -> bool:
        """Whether it is elsewhere."""
        return not _same(self, other)

    def __hash__(self) -> int:
        """Alike for equal ones."""
        return hash((self.body, (self.placement + 0.0).tobytes()))  # zeros have two signs


class Nodes(NamedTuple):
    """Elementary joints as arrays, one entry each; frames are those of the bodies.

    At coordinates q the pose of node i in its parent is ``placement[i] @ exp(screws v)`` for a
    1-DoF joint, and ``placement[i] @ A G(q) A^-1`` with ``A = alignment[i]`` for all kinds.
    """

    parent: Index
    """(n,) parent node, -1 for the world."""
    kind: Index
    """(n,) position in `jounce.model.joints.ELEMENTARY`."""
    body: Index
    """(n,) body index, -1 for a massless intermediate node."""
    joint: Index
    """(n,) joint index."""
    q_index: Index
    """(n,) first coordinate."""
    v_index: Index
    """(n,) first rate."""
    placement: Array
    """(n, 4, 4) pose in the parent node at the neutral configuration."""
    alignment: Array
    """(n, 4, 4) pose of the joint's own frame (it acts about and along z) in the node's."""
    pitch: Array
    """(n,) advance of a helical joint, m/rad."""
    parameters: Array
    """(n, 10) inertial parameters."""
    screws: Array
    """(6, nv) joint screws as columns, each in its own node's frame (constant)."""

    @property
    def tangent_size(self) -> int:
        """How many numbers a direction has in which a model changes, see core/batch/shape.hpp."""
        return int(NODE * len(self.kind) + 3 * self.screws.shape[1] + 9)


def build_nodes(bodies: Sequence[Body]) -> Nodes:
    """Expand every body's joints into elementary joints."""
    elements: list[Elementary] = []
    parents: list[int] = []
    joints: list[int] = []
    poses: list[Array] = []
    last_node: list[int] = []  # of each body
    joint_index = 0
    for body in bodies:
        parent = last_node[body.parent] if body.parent >= 0 else -1
        pose, before = body.placement, len(elements)
        for joint in body.joints:
            for element in elementary_joints(joint):
                elements.append(element)
                parents.append(parent)
                joints.append(joint_index)
                poses.append(pose)
                parent, pose = len(elements) - 1, IDENTITY
            joint_index += 1
        if len(elements) == before:
            raise ModelError(f"body {body.name!r} has no movable joint")
        last_node.append(parent)
    return _as_arrays(bodies, last_node, elements, (parents, joints), poses)


def frozen(array: AnyArray) -> AnyArray:
    """Return the array itself if nobody can ever write to it, otherwise a copy like that.

    A flag alone is set back by whoever has the array, but nobody writes to bytes, unless by arrays
    that may: those that NumPy unpickles.
    """
    memory: Any = array
    while isinstance(memory, np.ndarray) and not memory.flags.writeable:
        memory = memory.base
    if type(memory) is bytes and type(array) is np.ndarray:
        return array
    return np.ndarray(array.shape, array.dtype, array.tobytes())


def _all_frozen(arrays: Sequence[Array]) -> list[Array]:
    """Arrays that nobody can write to; those that were one still are."""
    once, which = distinct(arrays)
    found = list(map(frozen, once))
    return [found[k] for k in which.tolist()]


def frozen_bodies(bodies: Sequence[Body]) -> tuple[Body, ...]:
    """The bodies, with arrays that nobody can write to."""
    places = _all_frozen([body.placement for body in bodies])
    rows = [frozen(body.parameters) for body in bodies]  # no two bodies share theirs
    return tuple(
        body
        if body.placement is place and body.parameters is row
        else Body(body.name, body.parent, place, body.joints, row)
        for body, place, row in zip(bodies, places, rows, strict=True)
    )


IDENTITY = frozen(np.eye(4))


def all_frames(bodies: Sequence[Body], frames: Mapping[str, Frame]) -> Mapping[str, Frame]:
    """The frames of the bodies and the given ones, read-only."""
    out: dict[str, Frame] = {}
    known = {id(IDENTITY)}  # placements that are the identity; pickles hold one for all bodies
    for i, body in enumerate(bodies):
        own = frames.get(body.name)
        if own is None or own.placement is not IDENTITY or own.body != i:
            _check_own(body.name, own, i, known)
            own = Frame(i, IDENTITY)
        out[body.name] = own
    more = {name: frame for name, frame in frames.items() if name not in out}
    places = _all_frozen([frame.placement for frame in more.values()])
    for (name, frame), place in zip(more.items(), places, strict=True):
        out[name] = Frame(frame.body, place)
    return MappingProxyType(out)


def _check_own(name: str, frame: Frame | None, body: int, known: set[int]) -> None:
    """Refuse a frame that has the name of a body and is not the body's own."""
    if frame is None or (frame.body == body and id(frame.placement) in known):
        return
    if frame.body != body or not np.array_equal(frame.placement, IDENTITY):
        raise ModelError(
            f"frame {name!r} has the name of a body, so it must be that of body {body} itself, "
            f"got one on body {frame.body} with the placement\n{frame.placement}"
        )
    known.add(id(frame.placement))


def unit_quaternions(nodes: Nodes, q: Array) -> Array:
    """Coordinates (nq,) with quaternions of length one, those without length as the identity."""
    starts = nodes.q_index[nodes.kind >= ELEMENTARY.index("spherical")]
    if not len(starts):
        return q
    at, q = starts[:, None] + np.arange(4), q.copy()
    x = q[at] / np.maximum(np.abs(q[at]).max(axis=1, keepdims=True), np.finfo(float).tiny)
    norm = np.linalg.norm(x, axis=1, keepdims=True)
    q[at] = np.where(norm > 0, x / np.where(norm > 0, norm, 1.0), (0.0, 0.0, 0.0, 1.0))
    return q


def _as_arrays(
    bodies: Sequence[Body],
    last_node: list[int],
    elements: list[Elementary],
    links: tuple[list[int], list[int]],
    poses: list[Array],
) -> Nodes:
    n = len(elements)
    kinds, which = distinct(elements)
    kind = np.array([e.kind for e in kinds], np.int32)[which]
    pitch = np.array([e.pitch for e in kinds], float)[which]
    alignments = frames_along([e.axis for e in kinds], [e.anchor for e in kinds])
    places, where = distinct(poses)
    body = np.full(n, -1, np.int32)
    body[last_node] = np.arange(len(bodies))
    parameters = np.zeros((n, 10))
    parameters[last_node] = np.array([b.parameters for b in bodies]).reshape(-1, 10)
    starts = (np.cumsum(SIZES[kind], axis=0) - SIZES[kind]).astype(np.int32)
    return Nodes(
        parent=frozen(np.array(links[0], np.int32)),
        kind=frozen(kind),
        body=frozen(body),
        joint=frozen(np.array(links[1], np.int32)),
        q_index=frozen(starts[:, 0]),
        v_index=frozen(starts[:, 1]),
        placement=frozen(np.array(places).reshape(-1, 4, 4)[where]),
        alignment=frozen(alignments[which]),
        pitch=frozen(pitch),
        parameters=frozen(parameters),
        screws=frozen(_screws(kind, lie.Ad(alignments), which, pitch)),
    )


_FIRST_OF_ONE = {"revolute": 2, "prismatic": 5, "helical": 2}
_OWN_RATES = np.array([np.arange(6) + _FIRST_OF_ONE.get(name, 0) for name in ELEMENTARY])
"""The component of the twist in a joint's own frame that each of its rates is."""


def distinct(items: Sequence[T]) -> tuple[list[T], Index]:
    """The objects that a list holds, each once, and where each of its items is among them.

    Large robots have many equal joints and placements, which then are worked on once.
    """
    ids = list(map(id, items))
    once = dict(zip(ids, items, strict=True))
    number = dict(zip(once, range(len(once)), strict=True))
    return list(once.values()), np.array([number[i] for i in ids], np.intp)


def _screws(kind: Index, adjoints: Array, which: Index, pitch: Array) -> Array:
    """Stack the constant joint screws, ``Ad(alignment) @ (own screws)``, as columns."""
    count = SIZES[kind, 1]
    node = np.repeat(np.arange(len(kind)), count)
    number = np.arange(len(node)) - np.repeat(np.cumsum(count) - count, count)  # within its joint
    own = _OWN_RATES[kind[node], number]
    columns, at = np.swapaxes(adjoints, 1, 2), which[node]
    stacked: Array = columns[at, own] + pitch[node, None] * columns[at, 5]
    return stacked.T


def carried_bodies(nodes: Nodes) -> tuple[Index, Index]:
    """Pairs of a rate and a body that it moves, as two arrays, sorted by rate, then by body."""
    n = len(nodes.parent)
    end = np.arange(1, n + 1)  # of each node's subtree
    for i in range(n - 1, -1, -1):
        if nodes.parent[i] >= 0:
            end[nodes.parent[i]] = max(end[nodes.parent[i]], end[i])
    before = np.concatenate([[0], np.cumsum(nodes.body >= 0)])  # how many bodies
    per_rate = SIZES[nodes.kind, 1]
    first, counts = (np.repeat(x, per_rate) for x in (before[:-1], before[end] - before[:-1]))
    rates = np.repeat(np.arange(len(counts)), counts)
    bodies = np.arange(len(rates)) + np.repeat(first - (np.cumsum(counts) - counts), counts)
    return frozen(rates), frozen(bodies)
