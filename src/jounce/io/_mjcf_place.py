"""Where the bodies and joints of a `mujoco.MjModel` stand in the file that it was compiled from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jounce.io._mjcf_extension import TEXT
from jounce.io._mjcf_names import Names
from jounce.io._mjcf_tree import Piece, Tree

__all__ = ["blamed_piece", "body_piece", "first_piece"]

_JOINTS = ("joint", "freejoint")
_AROUND = ("frame", "replicate")
"""What may stand between a body and what belongs to it."""


def first_piece(tree: Tree, tag: str) -> Piece:
    """The first element of that name; the root if there is none."""
    return next((piece for _, piece in tree.of(tag)), tree.pieces[0])


def body_piece(tree: Tree, compiled: Any, body: int) -> Piece:
    """Return the element of a body; the world's if there is none by its name or number."""
    name = str(compiled.body(body).name)
    own = [piece for _, piece in tree.of("body")]
    for piece in own:
        if name and piece.element.get("name") == name:
            return piece
    if 1 <= body <= len(own) == compiled.nbody - 1:
        return own[body - 1]
    return first_piece(tree, "worldbody")


def _joint_piece(tree: Tree, compiled: Any, joint: int) -> Piece:
    """Return the element of a joint; its body's if there is none by its name or number."""
    name = str(compiled.joint(joint).name)
    pairs = list(_joints(tree))
    for _, piece in pairs:
        if name and piece.element.get("name") == name:
            return piece
    body = int(compiled.jnt_bodyid[joint])
    owner = body_piece(tree, compiled, body)
    own = [piece for around, piece in pairs if around is owner]
    complete = len(own) == int(compiled.body_jntnum[body])
    return own[joint - int(compiled.body_jntadr[body])] if complete else owner


def _joints(tree: Tree) -> Iterator[tuple[Piece, Piece]]:
    """Bodies and their joints; tendons, equalities and defaults have elements of that name too."""
    above: list[Piece] = []
    for piece in tree.pieces:
        del above[piece.depth :]
        if piece.tag in _JOINTS:
            owner = next(x for x in reversed(above) if x.tag not in _AROUND)
            if owner.tag == "body":
                yield owner, piece
        above.append(piece)


def blamed_piece(tree: Tree, compiled: Any, names: Names, message: str) -> Piece:
    """The element that a message about a model is about.

    Args:
        tree: the file.
        compiled: the `mujoco.MjModel`.
        names: what its bodies and joints are called in messages.
        message: begins with "joint", or "body", and a name where it is about one.

    Returns:
        The element of that joint or body; of another name, or if the message is about it, the text
        that `jounce.save` wrote; otherwise that of the world.
    """
    for k, name in enumerate(names.joints):
        if message.startswith(f"joint {name!r}"):
            return _joint_piece(tree, compiled, k)
    for i, name in enumerate(names.bodies[1:], 1):
        if message.startswith(f"body {name!r}"):
            return body_piece(tree, compiled, i)
    if message.startswith(("joint ", "body ", "the custom text", "the constraints are")):
        for _, piece in tree.of("text"):
            if piece.element.get("name") == TEXT:
                return piece
    return first_piece(tree, "worldbody")
