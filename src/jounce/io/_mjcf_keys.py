"""Keyframes of an MJCF file as named configurations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.io._mjcf_extension import Extension
from jounce.io._mjcf_names import key_names
from jounce.lie.quaternions import meant
from jounce.model import Model
from jounce.model.joints import Joint
from jounce.model.poses import neutral_coordinates

__all__ = ["read_poses"]

_COORDINATES = (7, 4, 1, 1)  # of a free, ball, slide, hinge joint (mjtJoint)


def read_poses(
    model: Model, compiled: Any, joints: Sequence[str], extension: Extension, freed: int
) -> dict[str, Array]:
    """Return the keyframes by name, in the model's own layout; unnamed ones are "key<number>".

    Args:
        model: made of `compiled`.
        compiled: the `mujoco.MjModel`.
        joints: names of its joints.
        extension: which joints of the model consist of several there.
        freed: the body that `base` let go, -1 if none: if freely, it stands where the file puts it.
    """
    index = {name: k for k, name in enumerate(joints)}
    parts = {str(x.get("name")): x["parts"] for x in extension.joints.values()}
    placed = {str(x.get("name")) for x in extension.joints.values() if x.get("placed")}
    out: dict[str, Array] = {}
    for key, label in enumerate(key_names(compiled)):
        q = neutral_coordinates(model.nodes)
        for joint in model.joints:
            own = [index[name] for name in parts.get(joint.name, [joint.name]) if name in index]
            if own:
                body = int(compiled.jnt_bodyid[own[0]])
                rest = _body_pose(compiled, body) if joint.name in placed else np.eye(4)
                qpos = np.concatenate([_slice(compiled, key, k) for k in own])
                q[model.q_slice(joint.name)] = _coordinates(joint, qpos, len(own), rest)
            elif joint.type == "free" and freed >= 0:
                q[model.q_slice(joint.name)] = _free(_body_pose(compiled, freed))
        out[label] = q
    return out


def _slice(compiled: Any, key: int, joint: int) -> Array:
    start = int(compiled.jnt_qposadr[joint])
    stop = start + _COORDINATES[int(compiled.jnt_type[joint])]
    return np.array(compiled.key_qpos[key, start:stop])


def _body_pose(compiled: Any, body: int) -> Array:
    return _pose(np.concatenate([compiled.body_pos[body], compiled.body_quat[body]]))


def _pose(qpos: Array) -> Array:
    """Pose from MuJoCo's position and quaternion (w, x, y, z)."""
    pose = np.eye(4)
    pose[:3, :3] = lie.quat_to_matrix(_quaternion(qpos[3:]))
    pose[:3, 3] = qpos[:3]
    return pose


def _quaternion(wxyz: Array) -> Array:
    """Unit quaternion (x, y, z, w); like MuJoCo, the identity for zero."""
    norm = np.linalg.norm(wxyz)
    return meant(np.roll(wxyz, -1) / norm) if norm > 1e-10 else np.array([0.0, 0.0, 0.0, 1.0])


def _free(pose: Array) -> Array:
    return meant(np.concatenate([lie.matrix_to_quat(pose[:3, :3]), pose[:3, 3]]))


def _coordinates(joint: Joint, qpos: Array, parts: int, rest: Array) -> Array:
    """Coordinates of a joint from those of its parts; `rest` is where a free one is neutral."""
    if joint.type == "helical":
        return qpos[:1]
    if joint.type == "spherical":
        return _quaternion(qpos)
    if joint.type != "free":
        return qpos
    still = np.array_equal(rest, np.eye(4)) and not any(joint.anchor)
    if parts > 1 or still:
        return np.concatenate([_quaternion(qpos[3:]), qpos[:3]])
    anchor = np.eye(4)
    anchor[:3, 3] = joint.anchor
    return _free(lie.inverse(anchor) @ lie.inverse(rest) @ _pose(qpos) @ anchor)
