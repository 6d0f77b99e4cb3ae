"""Run MuJoCo's compiler on what the gate admits, and say where its complaints belong."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from jounce._core.long_calls import heard
from jounce._types import Mask
from jounce.errors import MissingExtraError, ModelError
from jounce.io._mjcf_gate import Mesh, edits, meshes
from jounce.io._mjcf_place import body_piece
from jounce.io._mjcf_tree import Edits, Tree
from jounce.io._xml import LARGEST

__all__ = ["compile_tree", "try_compile", "warnings_to"]

# Lengths of actuators would be found by a simulation, whose length the file may choose.
_NO_SIMULATION = '<compiler><lengthrange mode="none"/></compiler>'

# MuJoCo has one handler of warnings for the whole process: one compilation at a time. A signal
# handler may load a model too.
_HANDLER = threading.RLock()
_replaced: list[Callable[[], None]] = []
"""What brings the handlers back that are replaced."""

_MODEL_ARRAYS = (
    "body_mass",
    "body_inertia",
    "body_pos",
    "body_ipos",
    "dof_armature",
    "dof_damping",
    "dof_frictionloss",
)


def compile_tree(tree: Tree, every_body: bool) -> tuple[Any, list[str]]:
    """Return MuJoCo's model and the remarks of its compiler.

    Meshes are read only if an inertia depends on them: with tetrahedra of two sizes in their
    place, the inertias differ then. Geoms that are fitted to a mesh that was not read have no size.

    Args:
        tree: what the gate admitted.
        every_body: whether inertias of bodies that are fixed to the world matter too.

    Raises:
        ModelError: MuJoCo refuses the model, or a mesh that an inertia needs is missing.
    """
    try:
        import mujoco
    except ImportError:
        raise MissingExtraError(
            "reading MJCF files needs mujoco: pip install 'jounce[mjcf]'"
        ) from None
    named = meshes(tree)
    result = _without_meshes(mujoco, tree, named, every_body)
    if result is None:
        result = _with_meshes(mujoco, tree, named, every_body)
    _refuse_overflow(tree, result[0])
    return result


def _without_meshes(
    mujoco: Any, tree: Tree, named: Sequence[Mesh], every_body: bool
) -> tuple[Any, list[str]] | None:
    """Compile with stand-ins for all meshes; None if some inertia depends on them."""
    if not named:
        return _compile(mujoco, tree, {})
    try:
        small, remarks = _compile(mujoco, tree, {m.index: m.stand_in(1) for m in named})
        large, _ = _compile(mujoco, tree, {m.index: m.stand_in(2) for m in named})
    except ModelError:
        return None
    _forget_fitted(small, large)
    return None if _changed(small, large, every_body).any() else (small, remarks)


def _with_meshes(
    mujoco: Any, tree: Tree, named: Sequence[Mesh], every_body: bool
) -> tuple[Any, list[str]]:
    """Compile with the meshes that exist, and refuse those that are missed."""
    found = {mesh.index: mesh.itself() for mesh in named if mesh.path is not None}
    missing = [mesh for mesh in named if mesh.path is None]
    found |= {mesh.index: mesh.stand_in(1) for mesh in missing}
    compiled, remarks = _compile(mujoco, tree, found)
    for mesh in missing:
        other, _ = _compile(mujoco, tree, {**found, mesh.index: mesh.stand_in(2)})
        if _changed(compiled, other, every_body).any():
            file = mesh.piece.element.get("file")
            raise mesh.piece.error(f"there is no file {file!r}, and an inertia depends on it")
        _forget_fitted(compiled, other)
    return compiled, remarks


def _forget_fitted(compiled: Any, other: Any) -> None:
    """Take the sizes of geoms away that differ between stand-ins of two sizes."""
    compiled.geom_size[(compiled.geom_size != other.geom_size).any(axis=1)] = 0


def _changed(one: Any, other: Any, every_body: bool) -> Mask:
    """Bodies whose inertia differs, of those that move."""
    fields = ("body_mass", "body_inertia", "body_ipos", "body_iquat")
    pairs = [(np.asarray(getattr(one, x)), np.asarray(getattr(other, x))) for x in fields]
    differs = [(a != b).reshape(one.nbody, -1).any(axis=1) for a, b in pairs]
    moves = np.asarray(one.body_weldid) != 0
    changed: Mask = np.any(differs, axis=0) & (moves | every_body)
    return changed


def _compile(
    mujoco: Any, tree: Tree, attributes: Mapping[int, Mapping[str, str]]
) -> tuple[Any, list[str]]:
    remarks: list[str] = []
    compiled, refusal = try_compile(mujoco, tree, attributes, remarks)
    if refusal is not None:
        raise refusal[1]
    return compiled, remarks


def try_compile(
    mujoco: Any, tree: Tree, attributes: Edits, remarks: list[str], more: str = ""
) -> tuple[Any, tuple[int, ModelError] | None]:
    """Return MuJoCo's model, or the index of the piece that it complains of, and the error."""
    text = tree.text(edits(tree, attributes), _NO_SIMULATION + more)
    try:
        return _compiled(mujoco, text, remarks), None
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        return None, _located(tree, str(error))


def _compiled(mujoco: Any, text: str, remarks: list[str]) -> Any:
    def compiled() -> Any:
        with warnings_to(mujoco, remarks):
            return mujoco.MjModel.from_xml_string(text)

    return heard(compiled)


def _in_child() -> None:
    """No other thread goes on in the child of a fork, to unlock and to bring handlers back."""
    global _HANDLER
    _HANDLER = threading.RLock()
    while _replaced:
        _replaced.pop()()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


@contextmanager
def warnings_to(mujoco: Any, remarks: list[str]) -> Iterator[None]:
    """Collect MuJoCo's warnings, which otherwise go to the console and to a log file."""
    with _HANDLER:
        before = mujoco.get_mju_user_warning()
        _replaced.append(lambda: mujoco.set_mju_user_warning(before))
        mujoco.set_mju_user_warning(
            lambda text: remarks.append(f"MuJoCo remarks: {' '.join(_decoded(text).split())}")
        )
        try:
            yield
        finally:
            mujoco.set_mju_user_warning(before)
            if _replaced:  # else a fork within has done that
                _replaced.pop()


def _decoded(text: str | bytes) -> str:
    return text if isinstance(text, str) else text.decode("utf-8", "replace")


_ELEMENT = re.compile(r"Element (?:'[^']*'|name '(?P<name>[^']*)', id (?P<id>-?\d+))")
_LINE = re.compile(r"(?:, line |Line number=)(\d+)")


def _located(tree: Tree, message: str) -> tuple[int, ModelError]:
    """Say in which line of which file the element stands that MuJoCo complains of."""
    element = _ELEMENT.search(message)
    reason = message[: element.start()] if element else message
    reason = re.sub(r"^(XML )?(Error: )+", "", " ".join(reason.split()))
    index = _place(tree, message)
    return index, tree.pieces[index].error(f"MuJoCo refuses the model: {reason}")


def _place(tree: Tree, message: str) -> int:
    line = _LINE.search(message)
    if line and 1 <= int(line[1]) <= len(tree.pieces):
        return int(line[1]) - 1
    element = _ELEMENT.search(message)
    if element and element["id"] and "keyframe" in message:
        keys = [k for k, _ in tree.of("key")]
        if 0 <= int(element["id"]) < len(keys):
            return keys[int(element["id"])]
    words = [element["name"]] if element and element["name"] else []
    for word in words + re.findall(r"'([^']+)'", message):
        for k, piece in enumerate(tree.pieces):
            if word in (piece.element.get("name"), piece.element.get("file")):
                return k
    return 0


def _refuse_overflow(tree: Tree, compiled: Any) -> None:
    """Refuse what became too large by sizes, densities and scales that are not."""
    for field in _MODEL_ARRAYS:
        values = np.asarray(getattr(compiled, field))
        for k in sorted(set(map(int, np.nonzero(~(np.abs(values) <= LARGEST))[0]))):
            body = int(compiled.dof_bodyid[k]) if field.startswith("dof") else k
            what = field.partition("_")[2]
            value = np.max(np.abs(values[k]))
            message = f"its {what} comes out as {value:g}, which is too large"
            raise body_piece(tree, compiled, body).error(message)
