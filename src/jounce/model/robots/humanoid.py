"""A robot of a person's size with arms, legs, waist and head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jounce._types import Array
from jounce.model.builder import ModelBuilder
from jounce.model.model import Model
from jounce.model.robots.solids import (
    ACCENT,
    DARK,
    STEEL,
    Solid,
    add_link,
    ball,
    bar,
    block,
    disk,
    limits,
)

__all__ = ["humanoid"]

_X, _Y, _Z = np.eye(3)
_O = np.zeros(3)

_HIP_Y = 0.095
_THIGH = _SHANK = 0.40
_ANKLE = 0.08
_BEND = 0.3
_WAIST = 0.10
_SHOULDER_Y, _SHOULDER_Z = 0.17, 0.36
_UPPER_ARM, _FOREARM, _PALM = 0.28, 0.25, 0.09

_STANDING_ARM = {"shoulder_pitch": 0.15, "shoulder_roll": 0.2, "elbow": -0.6}
_STANDING_LEG = {"hip_pitch": -_BEND, "knee": 2 * _BEND, "ankle_pitch": -_BEND}
_MIRRORED = ("shoulder_roll",)


class _Part(NamedTuple):
    """A body of a limb: where it is in the one before, what it weighs, what its joint does."""

    body: str
    joint: str
    axis: Array
    at: Array
    mass: float
    solids: Sequence[Solid]
    can: tuple[float, float, float, float]


def humanoid() -> Model:
    """A humanoid with 30 joints and a free base, the "pelvis": nv = 36.

    Of our own making: shapes are simple solids and inertias follow from them. It weighs 70 kg and
    is 1.7 m tall. Roll is about x (forward), pitch about y (left), yaw about z (up); at q = 0 arms
    and legs are straight down. Joints, with "right_" for the other side:

    - legs: "left_hip_yaw", "left_hip_roll", "left_hip_pitch", "left_knee", "left_ankle_pitch",
      "left_ankle_roll";
    - arms: "left_shoulder_pitch", "left_shoulder_roll", "left_shoulder_yaw", "left_elbow",
      "left_wrist_yaw", "left_wrist_roll", "left_wrist_pitch";
    - "waist_yaw", "waist_pitch", "neck_yaw", "neck_pitch".

    Frames "left_sole" and "right_sole" are on the ground below the ankles, z = 0 in the pose
    "standing", in which the knees are bent and the soles level; "left_palm" and "right_palm" are in
    the hands, "eyes" in the head.

    Examples:
        >>> import jounce as jc
        >>> person = jc.models.humanoid()
        >>> person.nv, round(jc.total_mass(person), 9)
        (36, 70.0)
    """
    builder = ModelBuilder(name="humanoid")
    add_link(
        builder,
        "pelvis",
        None,
        8.1,
        [
            block((0.16, 0.20, 0.10), 0.05 * _Z, DARK),
            bar(-0.07 * _Y + 0.02 * _Z, 0.07 * _Y + 0.02 * _Z, 0.075),
        ],
        joint="free",
        joint_name="root_joint",
    )
    for side, across in (("left", 1.0), ("right", -1.0)):
        _add_limb(builder, "pelvis", side, across, _leg(across))
        builder.add_frame(f"{side}_sole", f"{side}_foot", -_ANKLE * _Z)
    _add_limb(builder, "pelvis", "", 1.0, _trunk())
    for side, across in (("left", 1.0), ("right", -1.0)):
        _add_limb(builder, "torso", side, across, _arm(across))
        builder.add_frame(f"{side}_palm", f"{side}_hand", -_PALM * _Z)
    _add_limb(builder, "torso", "", 1.0, _head())
    builder.add_frame("eyes", "head", 0.10 * _X + 0.14 * _Z)
    model = builder.build()
    return model.replace(poses={"standing": _standing(model)})


def _standing(model: Model) -> Array:
    q = np.zeros(model.nq)
    height = (_THIGH + _SHANK) * np.cos(_BEND) + _ANKLE
    q[model.q_slice("root_joint")] = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, height)
    for side, across in (("left", 1.0), ("right", -1.0)):
        for joint, angle in (_STANDING_ARM | _STANDING_LEG).items():
            sign = across if joint in _MIRRORED else 1.0
            q[model.q_slice(f"{side}_{joint}")] = sign * angle
    return q


def _add_limb(
    builder: ModelBuilder, parent: str, side: str, across: float, parts: Sequence[_Part]
) -> None:
    """Add bodies one after the other; about x and z a right joint's range is the mirrored one."""
    prefix = f"{side}_" if side else ""
    for part in parts:
        lower, upper, velocity, effort = part.can
        if across < 0 and not part.axis[1]:
            lower, upper = -upper, -lower
        add_link(
            builder,
            prefix + part.body,
            parent,
            part.mass,
            part.solids,
            joint="revolute",
            joint_name=prefix + part.joint,
            axis=part.axis,
            placement=part.at,
            **limits(lower, upper, velocity, effort),
        )
        parent = prefix + part.body


def _leg(across: float) -> list[_Part]:
    thigh = [
        disk(-0.06 * _Y, 0.06 * _Y, 0.06),
        bar(-0.05 * _Z, (0.06 - _THIGH) * _Z, 0.062),
        disk(-_THIGH * _Z - 0.055 * _Y, -_THIGH * _Z + 0.055 * _Y, 0.055),
        disk(-_THIGH * _Z + 0.05 * across * _Y, -_THIGH * _Z + 0.062 * across * _Y, 0.035, ACCENT),
    ]
    shank = [bar(-0.04 * _Z, -0.32 * _Z, 0.048), ball(0.045, -_SHANK * _Z)]
    foot = [
        block((0.23, 0.10, 0.03), 0.035 * _X + (0.015 - _ANKLE) * _Z, DARK),
        bar(-0.02 * _X - 0.035 * _Z, 0.06 * _X - 0.045 * _Z, 0.032),
    ]
    return [
        _Part(
            "hip",
            "hip_yaw",
            _Z,
            _HIP_Y * across * _Y,
            1.5,
            [disk(-0.03 * _Z, 0.05 * _Z, 0.055, STEEL)],
            (-0.8, 0.8, 6.0, 120.0),
        ),
        _Part(
            "hip_fork",
            "hip_roll",
            _X,
            _O,
            1.5,
            [disk(-0.075 * _X, 0.075 * _X, 0.045)],
            (-0.45, 0.8, 6.0, 180.0),
        ),
        _Part("thigh", "hip_pitch", _Y, _O, 5.0, thigh, (-2.1, 0.7, 10.0, 220.0)),
        _Part("shank", "knee", _Y, -_THIGH * _Z, 3.0, shank, (0.0, 2.5, 10.0, 300.0)),
        _Part(
            "ankle",
            "ankle_pitch",
            _Y,
            -_SHANK * _Z,
            0.5,
            [disk(-0.04 * _Y, 0.04 * _Y, 0.036, STEEL)],
            (-1.0, 0.7, 8.0, 160.0),
        ),
        _Part("foot", "ankle_roll", _X, _O, 1.2, foot, (-0.45, 0.45, 8.0, 80.0)),
    ]


def _trunk() -> list[_Part]:
    torso = [
        bar(0.06 * _Z, 0.20 * _Z, 0.095),
        bar(-0.07 * _Y + 0.27 * _Z, 0.07 * _Y + 0.27 * _Z, 0.10),
        block((0.07, 0.20, 0.24), -0.10 * _X + 0.24 * _Z, DARK),
        disk(0.09 * _X + 0.27 * _Z, 0.108 * _X + 0.27 * _Z, 0.04, ACCENT),
        bar(
            -0.11 * _Y + _SHOULDER_Z * _Z,
            0.11 * _Y + _SHOULDER_Z * _Z,
            0.05,
        ),
    ]
    waist = [disk(-0.02 * _Z, 0.05 * _Z, 0.075, STEEL)]
    return [
        _Part("waist", "waist_yaw", _Z, _WAIST * _Z, 1.5, waist, (-1.2, 1.2, 6.0, 150.0)),
        _Part("torso", "waist_pitch", _Y, 0.04 * _Z, 18.0, torso, (-0.3, 0.9, 6.0, 200.0)),
    ]


def _head() -> list[_Part]:
    neck = [disk(-0.04 * _Z, 0.06 * _Z, 0.035)]
    head = [
        bar(0.10 * _Z, 0.14 * _Z, 0.082),
        bar(0.055 * _X - 0.03 * _Y + 0.14 * _Z, 0.055 * _X + 0.03 * _Y + 0.14 * _Z, 0.035, DARK),
    ]
    return [
        _Part("neck", "neck_yaw", _Z, 0.45 * _Z, 0.5, neck, (-1.4, 1.4, 5.0, 20.0)),
        _Part("head", "neck_pitch", _Y, 0.05 * _Z, 3.5, head, (-0.6, 0.7, 5.0, 20.0)),
    ]


def _arm(across: float) -> list[_Part]:
    out = across * _Y
    upper = [bar(-0.06 * _Z, (0.06 - _UPPER_ARM) * _Z, 0.042), _hinge(-_UPPER_ARM * _Z, 0.04)]
    hand = [
        block((0.035, 0.075, 0.10), -_PALM * _Z, DARK),
        bar(0.02 * _X - 0.07 * _Z, 0.05 * _X - 0.10 * _Z, 0.012, STEEL),
    ]
    return [
        _Part(
            "shoulder",
            "shoulder_pitch",
            _Y,
            _SHOULDER_Y * out + _SHOULDER_Z * _Z,
            1.2,
            [disk(-0.01 * out, 0.06 * out, 0.05, ACCENT)],
            (-3.0, 2.0, 8.0, 80.0),
        ),
        _Part(
            "shoulder_fork",
            "shoulder_roll",
            _X,
            0.06 * out,
            0.8,
            [ball(0.055, _O)],
            (-0.1, 2.8, 8.0, 80.0),
        ),
        _Part("upper_arm", "shoulder_yaw", _Z, _O, 2.0, upper, (-1.6, 1.6, 8.0, 50.0)),
        _Part(
            "forearm",
            "elbow",
            _Y,
            -_UPPER_ARM * _Z,
            1.2,
            [bar(-0.03 * _Z, -0.15 * _Z, 0.036)],
            (-2.5, 0.0, 8.0, 60.0),
        ),
        _Part(
            "wrist",
            "wrist_yaw",
            _Z,
            -_FOREARM * _Z,
            0.4,
            [disk(0.01 * _Z, 0.07 * _Z, 0.033, STEEL)],
            (-1.8, 1.8, 10.0, 20.0),
        ),
        _Part("wrist_fork", "wrist_roll", _X, _O, 0.3, [ball(0.03, _O)], (-0.6, 0.6, 10.0, 12.0)),
        _Part("hand", "wrist_pitch", _Y, _O, 0.6, hand, (-0.9, 0.9, 10.0, 12.0)),
    ]


def _hinge(center: Array, radius: float) -> Solid:
    """The housing of a joint that turns about y."""
    return disk(center - 0.04 * _Y, center + 0.04 * _Y, radius, STEEL)
