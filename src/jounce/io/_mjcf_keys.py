"""Read reference poses: the keyframes of an MJCF file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.errors import ModelError
from jounce.io._mjcf_extension import Extension
from jounce.io._parts import moved_to
from jounce.model import Model
from jounce.model.joints import Joint

__all__ = ["key_poses"]

_SIZES = (7, 4, 1, 1)  # of qpos, by mjtJoint
_FREE, _BALL = 0, 1


def key_poses(
    compiled: Any,
    names: tuple[Sequence[str], Sequence[str]],
    model: Model,
    extension: Extension,
) -> dict[str, Array]:
    """The configurations of all keyframes; unnamed ones are called "key0", ... by their number.

    Args:
        compiled: the `mujoco.MjModel`.
        names: of its joints and of its bodies, as `jounce.load_mjcf` calls them.
        model: what was made of it. A free joint that only `base="free"` has is where its body is in
            the file.
        extension: which joints of the file are parts of one of the model.
    """
    own = {name: k for k, name in enumerate(names[0])}
    parts = {str(entry["name"]): entry["parts"] for entry in extension.joints.values()}
    out: dict[str, Array] = {}
    for k in range(int(compiled.nkey)):
        name = str(compiled.key(k).name) or f"key{k}"
        pieces = []
        for body in model.bodies:
            for joint in body.joints:
                members = [own[part] for part in parts.get(joint.name, [joint.name]) if part in own]
                values = [_piece(compiled, k, member) for member in members]
                if not members:
                    values = [_start(compiled, names[1].index(body.name))]
                pieces.append(_coordinates(joint, values, body.placement))
        out[name] = np.concatenate(pieces) if pieces else np.zeros(0)
    return out


def _piece(compiled: Any, key: int, joint: int) -> Array:
    """Coordinates of a joint in a keyframe, with the quaternion (x, y, z, w) first."""
    kind, start = int(compiled.jnt_type[joint]), int(compiled.jnt_qposadr[joint])
    qpos = np.array(compiled.key_qpos[key, start : start + _SIZES[kind]])
    if kind == _FREE:
        qpos = np.concatenate([qpos[3:], qpos[:3]])
    if kind in (_FREE, _BALL):
        norm = float(np.linalg.norm(qpos[:4]))
        if not norm > 0:
            raise ModelError(f"keyframe {key} has a quaternion of zero length")
        quaternion = qpos[:4] if abs(norm - 1.0) < 1e-15 else lie.quat_normalize(qpos[:4])
        qpos[:4] = np.roll(quaternion, -1)
    return qpos


def _start(compiled: Any, body: int) -> Array:
    """Pose of a body that is fixed to the world in the file."""
    return np.concatenate([np.roll(compiled.body_quat[body], -1), compiled.body_pos[body]])


def _coordinates(joint: Joint, values: Sequence[Array], placement: Array) -> Array:
    """Coordinates of a joint from those of its parts."""
    if joint.type == "helical":
        return values[0]
    if joint.type == "free" and len(values) > 1:  # slides and a ball
        return np.concatenate([values[-1], *values[:-1]])
    identity = np.array_equal(placement, np.eye(4)) and not any(joint.anchor)
    if joint.type != "free" or identity:
        return np.concatenate(values)
    pose, anchor = moved_to(values[0][4:]), moved_to(joint.anchor)
    pose[:3, :3] = lie.quat_to_matrix(values[0][:4])
    pose = lie.inverse(placement @ anchor) @ pose @ anchor
    return np.concatenate([lie.matrix_to_quat(pose[:3, :3]), pose[:3, 3]])
