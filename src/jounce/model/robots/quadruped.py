"""A robot on four legs, of a dog's size."""

from __future__ import annotations

import numpy as np

from jounce import lie
from jounce.model.builder import ModelBuilder
from jounce.model.model import Model
from jounce.model.robots.solids import (
    ACCENT,
    DARK,
    STEEL,
    add_link,
    ball,
    bar,
    block,
    disk,
    limits,
)

__all__ = ["quadruped"]

_HIP_X, _HIP_Y = 0.20, 0.055
_THIGH_Y = 0.085
_LEG = 0.21
_FOOT_RADIUS = 0.022
_FLEXION, _KNEE = 0.8, -1.6


def quadruped() -> Model:
    """A robot on four legs with three joints each and a free base: nv = 18.

    Of our own making: shapes are simple solids and inertias follow from them. It weighs 14 kg. The
    legs are "front_left", "front_right", "rear_left" and "rear_right", with x forward, y left and z
    up; each has the joints "..._abduction" about x, "..._flexion" and "..._knee" about y. At q = 0
    the legs are straight down. Frames "front_left_foot" and so on are where the feet touch the
    ground, z = 0, in the pose "standing", in which they are parallel to the world.

    Examples:
        >>> import jounce as jc
        >>> dog = jc.models.quadruped()
        >>> foot = jc.body_pose(dog, dog.poses["standing"], "rear_left_foot")
        >>> dog.nv, float(foot[2, 3].round(12))
        (18, 0.0)
    """
    builder = ModelBuilder(name="quadruped")
    add_link(
        builder,
        "trunk",
        None,
        6.8,
        [
            block((0.36, 0.16, 0.10), (0, 0, 0)),
            block((0.30, 0.10, 0.03), (0, 0, 0.06), DARK),
            bar((0.20, -0.03, 0.02), (0.20, 0.03, 0.02), 0.055, DARK),
            disk((0.245, 0, 0.02), (0.262, 0, 0.02), 0.018, ACCENT),
        ],
        joint="free",
        joint_name="root_joint",
    )
    for end, along in (("front", 1.0), ("rear", -1.0)):
        for side, across in (("left", 1.0), ("right", -1.0)):
            _add_leg(builder, f"{end}_{side}", along, across)
    height = 2 * _LEG * np.cos(_FLEXION) + _FOOT_RADIUS
    base = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, height)
    return builder.build().replace(
        poses={"standing": np.concatenate([base, np.tile((0.0, _FLEXION, _KNEE), 4)])}
    )


def _add_leg(builder: ModelBuilder, leg: str, along: float, across: float) -> None:
    _, y, z = np.eye(3)
    add_link(
        builder,
        f"{leg}_hip",
        "trunk",
        0.65,
        [
            disk((-0.04 * along, 0, 0), (0.03 * along, 0, 0), 0.045),
            disk(0.02 * across * y, (_THIGH_Y - 0.02) * across * y, 0.042, STEEL),
        ],
        joint="revolute",
        joint_name=f"{leg}_abduction",
        axis=(1, 0, 0),
        placement=(_HIP_X * along, _HIP_Y * across, 0),
        **limits(-0.8, 0.8, 25.0, 24.0),
    )
    add_link(
        builder,
        f"{leg}_thigh",
        f"{leg}_hip",
        0.95,
        [
            disk(-0.02 * across * y, 0.025 * across * y, 0.045, ACCENT),
            bar(-0.03 * z, -_LEG * z, 0.022),
            disk(-_LEG * z - 0.02 * y, -_LEG * z + 0.02 * y, 0.027, DARK),
        ],
        joint="revolute",
        joint_name=f"{leg}_flexion",
        axis=y,
        placement=_THIGH_Y * across * y,
        **limits(-1.2, 3.2, 25.0, 24.0),
    )
    add_link(
        builder,
        f"{leg}_shank",
        f"{leg}_thigh",
        0.20,
        [bar(-0.02 * z, (0.02 - _LEG) * z, 0.013, STEEL), ball(_FOOT_RADIUS, -_LEG * z)],
        joint="revolute",
        joint_name=f"{leg}_knee",
        axis=y,
        placement=-_LEG * z,
        **limits(-2.7, -0.5, 25.0, 36.0),
    )
    sole = np.eye(4)
    sole[:3, :3] = lie.exp(-(_FLEXION + _KNEE) * y)
    sole[:3, 3] = -_LEG * z - _FOOT_RADIUS * sole[:3, 2]
    builder.add_frame(f"{leg}_foot", f"{leg}_shank", sole)
