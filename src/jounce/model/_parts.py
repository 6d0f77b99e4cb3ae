"""Checks of what a model is made of, whoever brings it: a builder, a reader, a pickle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from jounce._core.arrays import refuse_masked, shown
from jounce._types import Array
from jounce.errors import ModelError
from jounce.model.joints import Joint
from jounce.model.nodes import IDENTITY, Body, Frame, distinct

__all__ = ["check_inertias", "check_parts"]

_DOUBLE = np.dtype(float)

_MOST = 1e100
"""Inertial parameters beyond cannot be computed with: their products overflow."""


def check_parts(name: str, bodies: Sequence[Body], frames: Mapping[str, Frame]) -> None:
    """Refuse what is no tree of rigid bodies with frames, by the name of what is wrong.

    Raises:
        ModelError: a wrong type, a parent that does not come before, a pose that is no rigid
            motion, or parameters that are not finite, too large or of a negative mass.
    """
    if not isinstance(name, str):
        raise ModelError(f"a robot's name must be a string, got {shown(name)}")
    if not isinstance(bodies, (list, tuple)):
        raise ModelError(f"bodies must be a list of bodies, got {_shown(bodies)}")
    if not isinstance(frames, Mapping):
        raise ModelError(f"frames must be a mapping of names to frames, got {_shown(frames)}")
    _check_bodies(bodies)
    _check_frames(frames, len(bodies))
    joints = [joint.name for body in bodies for joint in body.joints]
    _check_text(chain([name], [body.name for body in bodies], joints, frames))


def _shown(thing: object) -> str:
    """What is wrong, in words; of an object without its fields, which has none, its kind."""
    try:
        return f"{thing!r:.200}"
    except AttributeError:
        return f"a {type(thing).__name__} with a part that has no fields"


def _check_bodies(bodies: Sequence[Body]) -> None:
    for body in () if _are_bodies(bodies) else bodies:
        if not isinstance(body, Body) or not isinstance(body.name, str):
            raise ModelError(f"a model is made of bodies with names, got {_shown(body)}")
        joints = body.joints
        if not isinstance(joints, tuple) or not all(isinstance(x, Joint) for x in joints):
            raise ModelError(f"body {body.name!r}: expected joints, got {_shown(body.joints)}")
    names = [body.name for body in bodies]
    _check_parents(names, [body.parent for body in bodies])
    _check_poses("body", names, [body.placement for body in bodies])
    check_inertias(names, _rows("body", "parameters", names, [b.parameters for b in bodies], (10,)))
    for joint in chain.from_iterable(body.joints for body in bodies):
        if not vars(joint) or not isinstance(joint.name, str):  # one can be made without anything
            raise ModelError(
                f"a joint's name must be a string, got {shown(vars(joint).get('name'))}"
            )


def _check_frames(frames: Mapping[str, Frame], count: int) -> None:
    for name, frame in () if _are_frames(frames, count) else frames.items():
        at = frame.body if isinstance(frame, Frame) else None
        if not isinstance(name, str):
            raise ModelError(f"a frame's name must be a string, got {shown(name)}")
        if not _is_integer(at) or not -1 <= at < count:
            raise ModelError(
                f"frame {name!r} must be fixed to a body or to the world (-1), got {shown(at)}"
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
    if not (set(map(type, frames.values())) <= {Frame} and set(map(type, frames)) <= {str}):
        return False
    at = [frame.body for frame in frames.values()]
    return set(map(type, at)) <= {int} and min(at, default=-1) >= -1 and max(at, default=-1) < count


def check_inertias(names: Sequence[str], rows: Array) -> None:
    """Refuse inertial parameters that nobody can compute with.

    Raises:
        ModelError: some are not finite, or beyond 1e100, or a mass is negative.
    """
    bad = ~(np.abs(rows) <= _MOST).all(axis=-1)
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        worst = rows[k][~(np.abs(rows[k]) <= _MOST)][0]
        raise ModelError(
            f"body {names[k]!r}: inertial parameters must be finite and below {_MOST:g}, "
            f"got {worst:g}"
        )
    if (rows[:, 0] < 0).any():
        k = int(np.flatnonzero(rows[:, 0] < 0)[0])
        raise ModelError(f"body {names[k]!r}: mass {rows[k, 0]:g} is negative")


def _check_text(names: Iterable[str]) -> None:
    """The core keeps names in UTF-8, which has no place for half of a surrogate pair."""
    listed = list(names)
    try:
        "".join(listed).encode()
    except UnicodeEncodeError:
        wrong = next(name for name in listed if any("\ud800" <= x <= "\udfff" for x in name))
        raise ModelError(f"names must be text that UTF-8 can hold, got {shown(wrong)}") from None


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
                f"of that body's ancestors, got {shown(parent)}"
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
                f"{kind} {name!r}: {what} must be an array of shape {shape}, got {shown(value)}"
            )
        refuse_masked(f"{kind} {name!r}: {what}", value)
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
