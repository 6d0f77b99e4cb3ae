"""Checks of what a model is made of, whoever brings it: a builder, a reader, a pickle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from jounce._types import Array
from jounce.errors import ModelError
from jounce.model.joints import Joint
from jounce.model.nodes import IDENTITY, Body, Frame, distinct

__all__ = ["check_inertias", "check_parts"]

_DOUBLE = np.dtype(float)

_MOST = 1e100
"""Inertial parameters beyond cannot be computed with: their products overflow."""


def check_parts(bodies: Sequence[Body], frames: Mapping[str, Frame]) -> None:
    """Refuse what is no tree of rigid bodies with frames, by the name of what is wrong.

    Raises:
        ModelError: a wrong type, a parent that does not come before, a pose that is no rigid
            motion, an axis that is no unit vector, or parameters that are not finite or too large.
    """
    for body in () if _are_bodies(bodies) else bodies:
        if not isinstance(body, Body) or not isinstance(body.name, str):
            raise ModelError(f"a model is made of bodies with names, got {body!r:.200}")
        joints = body.joints
        if not isinstance(joints, tuple) or not all(isinstance(x, Joint) for x in joints):
            raise ModelError(f"body {body.name!r}: expected joints, got {body.joints!r:.200}")
    names = [body.name for body in bodies]
    _check_parents(names, [body.parent for body in bodies])
    _check_poses("body", names, [body.placement for body in bodies])
    check_inertias(names, _rows("body", "parameters", names, [b.parameters for b in bodies], (10,)))
    _check_axes([joint for body in bodies for joint in body.joints])
    for name, frame in () if _are_frames(frames, len(bodies)) else frames.items():
        at = frame.body if isinstance(frame, Frame) else None
        if not _is_integer(at) or not -1 <= at < len(bodies):
            raise ModelError(
                f"frame {name!r} must be fixed to a body or to the world (-1), got {at!r}"
            )
    moved = {name: f for name, f in frames.items() if f.placement is not IDENTITY}
    _check_poses("frame", list(moved), [f.placement for f in moved.values()])


def _are_bodies(bodies: Sequence[Body]) -> bool:
    """Whether all have the right types exactly, as nearly always; otherwise each is looked at."""
    if not set(map(type, bodies)) <= {Body}:
        return False
    names, _, _, joints, _ = zip(*bodies, strict=True) if bodies else ((),) * 5
    if not (set(map(type, names)) <= {str} and set(map(type, joints)) <= {tuple}):
        return False
    return set(map(type, chain.from_iterable(joints))) <= {Joint}


def _are_frames(frames: Mapping[str, Frame], count: int) -> bool:
    """The same for frames."""
    if not set(map(type, frames.values())) <= {Frame}:
        return False
    at = [frame.body for frame in frames.values()]
    return set(map(type, at)) <= {int} and min(at, default=-1) >= -1 and max(at, default=-1) < count


def check_inertias(names: Sequence[str], rows: Array) -> None:
    """Refuse inertial parameters that nobody can compute with.

    Raises:
        ModelError: some are not finite, or beyond 1e100.
    """
    bad = ~(np.abs(rows) <= _MOST).all(axis=-1)
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        worst = rows[k][~(np.abs(rows[k]) <= _MOST)][0]
        raise ModelError(
            f"body {names[k]!r}: inertial parameters must be finite and below {_MOST:g}, "
            f"got {worst:g}"
        )


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _check_parents(names: list[str], parents: list[int]) -> None:
    """Parents come before their children, and subtrees are contiguous."""
    path = [-1]
    for k, parent in enumerate(parents):
        if type(parent) is int and parent == path[-1]:
            path.append(k)
            continue
        while path and not (_is_integer(parent) and path[-1] == parent):
            path.pop()
        if not path:
            raise ModelError(
                f"body {names[k]!r}: its parent must be the world (-1), the body before it or one "
                f"of that body's ancestors, got {parent!r}"
            )
        path.append(k)


def _rows(
    kind: str, what: str, names: Sequence[str], values: Sequence[Array], shape: tuple[int, ...]
) -> Array:
    for name, value in zip(names, values, strict=True):
        if value.__class__ is np.ndarray and value.dtype is _DOUBLE and value.shape == shape:
            continue
        if not isinstance(value, np.ndarray) or value.dtype != float or value.shape != shape:
            raise ModelError(
                f"{kind} {name!r}: {what} must be an array of shape {shape}, got {value!r:.200}"
            )
    return np.array(values).reshape(-1, *shape)


def _check_poses(kind: str, names: Sequence[str], values: Sequence[Array]) -> None:
    places, where = distinct(values)
    names = [names[k] for k in np.unique(where, return_index=True)[1]]
    poses = _rows(kind, "placement", names, places, (4, 4))
    R = poses[:, :3, :3]
    with np.errstate(all="ignore"):
        off = np.abs(R @ R.swapaxes(-1, -2) - np.eye(3)).max(axis=(-1, -2), initial=0.0)
        fine = (off <= 1e-6) & np.isfinite(poses).all(axis=(-1, -2))
        fine &= (np.linalg.det(np.where(fine[:, None, None], R, np.eye(3))) > 0) & (
            poses[:, 3] == [0.0, 0.0, 0.0, 1.0]
        ).all(axis=-1)
    if not fine.all():
        k = int(np.flatnonzero(~fine)[0])
        raise ModelError(
            f"{kind} {names[k]!r}: placement must be a rotation and a translation, got\n{poses[k]}"
        )


def _check_axes(joints: list[Joint]) -> None:
    """Joints keep their axes as unit vectors; what is no vector is told where it is used."""
    seen: dict[int, object] = {}  # many joints share them
    for joint in joints:
        for axis in (joint.axis, joint.axis2):
            if id(axis) in seen:
                continue
            seen[id(axis)] = axis
            if type(axis) is tuple and len(axis) == 3 and set(map(type, axis)) == {float}:
                x, y, z = axis
                if not (x == y == z == 0.0) and not abs(x * x + y * y + z * z - 1.0) <= 1e-9:
                    raise ModelError(
                        f"joint {joint.name!r}: an axis must be a unit vector, got {axis}"
                    )
