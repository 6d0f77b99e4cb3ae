"""An arm with seven joints, of the size that stands on a laboratory's table."""

from __future__ import annotations

import numpy as np

from jounce._core.arrays import shown
from jounce._types import Array
from jounce.errors import ArgumentTypeError
from jounce.model.builder import ModelBuilder
from jounce.model.model import Model
from jounce.model.robots.solids import (
    ACCENT,
    DARK,
    STEEL,
    Solid,
    add_link,
    bar,
    block,
    disk,
    limits,
)

__all__ = ["panda_like"]

_X, _Y, _Z = np.eye(3)
_O = np.zeros(3)

_SHOULDER = 0.34
_UPPER = 0.32
_ELBOW = 0.08
_FOREARM = 0.38
_WRIST = 0.09
_FLANGE = 0.11
_FINGERTIP = 0.10

_HOME = (0.0, -0.55, 0.0, -2.1, 0.0, 1.55, 0.0)
_FINGERS_HOME = (0.03, 0.03)


def panda_like(fingers: bool = False) -> Model:
    """An arm with seven revolute joints on a table, of the proportions of the Panda.

    Of our own making: shapes are simple solids, inertias follow from them, and numbers are round.
    It weighs 19 kg, 3 of them in the base "link0" that does not move, and its flange reaches 0.84 m
    from the shoulder. At q = 0 it stands upright and all frames of bodies are parallel to the
    world's; joints turn about z, y, z, -y, z, -y, -z. Frames: "flange", whose z axis points away
    from the arm, and "tool", 0.10 m in front of it. In the pose "home" the tool points down.

    Args:
        fingers: whether there is a hand on the flange with two fingers that slide,
            "left_finger_joint" and "right_finger_joint", 4 cm each; "tool" is between their tips.

    Examples:
        >>> import jounce as jc
        >>> arm = jc.models.panda_like()
        >>> arm.nv, list(arm.poses)
        (7, ['home'])
    """
    if not isinstance(fingers, (bool, np.bool_)):
        raise ArgumentTypeError(f"fingers must be True or False, got {shown(fingers)}")
    builder = ModelBuilder(name="panda_like")
    _add_arm(builder)
    builder.add_frame("flange", "link7", _downward(-_FLANGE))
    builder.add_frame("tool", "link7", _downward(-_FLANGE - _FINGERTIP))
    if fingers:
        _add_hand(builder)
    home = (*_HOME, *_FINGERS_HOME) if fingers else _HOME
    return builder.build().replace(poses={"home": home})


def _downward(height: float) -> Array:
    """A frame below the wrist, turned by half a turn about x: its z axis points down."""
    pose = np.diag([1.0, -1.0, -1.0, 1.0])
    pose[2, 3] = height
    return pose


def _add_arm(builder: ModelBuilder) -> None:
    base = [disk(_O, 0.05 * _Z, 0.09, DARK), bar(0.05 * _Z, 0.19 * _Z, 0.065)]
    add_link(builder, "link0", None, 3.0, base)
    shoulder, wrist = limits(-2.8, 2.8, 2.2, 87.0), limits(-2.8, 2.8, 2.6, 12.0)
    joints = [
        (_Z, _SHOULDER * _Z, shoulder),
        (_Y, _O, limits(-1.75, 1.75, 2.2, 87.0)),
        (_Z, _UPPER * _Z, shoulder),
        (-_Y, _ELBOW * _X, limits(-3.0, 0.0, 2.2, 87.0)),
        (_Z, _FOREARM * _Z - _ELBOW * _X, wrist),
        (-_Y, _O, limits(0.0, 3.7, 2.6, 12.0)),
        (-_Z, _WRIST * _X, wrist),
    ]
    for k, ((axis, offset, can), (mass, solids)) in enumerate(
        zip(joints, _links(), strict=True), 1
    ):
        add_link(
            builder,
            f"link{k}",
            f"link{k - 1}",
            mass,
            solids,
            joint="revolute",
            joint_name=f"joint{k}",
            axis=axis,
            placement=offset,
            **can,
        )


def _links() -> list[tuple[float, list[Solid]]]:
    """Masses and solids of the seven links, in their frames."""
    elbow = _ELBOW * _X
    return [
        (3.4, [bar(-0.1 * _Z, _O, 0.06), disk(-0.08 * _Y, 0.08 * _Y, 0.062)]),
        (3.2, [bar(0.02 * _Z, 0.20 * _Z, 0.058), disk(0.21 * _Z, 0.23 * _Z, 0.062, ACCENT)]),
        (2.6, [bar(-0.07 * _Z, elbow - 0.01 * _Z, 0.052), _across(elbow, 0.07)]),
        (2.4, [bar(0.01 * _Z, 0.12 * _Z - elbow, 0.048), _ring(0.15 * _Z - elbow, 0.052)]),
        (2.5, [bar(-0.20 * _Z, -0.06 * _Z, 0.046), _across(_O, 0.06)]),
        (1.3, [bar(_O, _WRIST * _X, 0.042), _across(_WRIST * _X, 0.045)]),
        (0.8, [disk(-0.045 * _Z, -_FLANGE * _Z, 0.040, STEEL), _ring(-0.075 * _Z, 0.043)]),
    ]


def _across(center: Array, radius: float) -> Solid:
    """The housing of a joint that turns about y."""
    return disk(center - 0.055 * _Y, center + 0.055 * _Y, radius)


def _ring(center: Array, radius: float) -> Solid:
    """A colored ring about z."""
    return disk(center - 0.008 * _Z, center + 0.008 * _Z, radius, ACCENT)


def _add_hand(builder: ModelBuilder) -> None:
    """A hand below the flange; its fingers slide along y, apart."""
    add_link(
        builder,
        "hand",
        "link7",
        0.6,
        [block((0.05, 0.18, 0.045), 0.0225 * _Z, DARK)],
        placement=_downward(-_FLANGE),
    )
    for side, sign in (("left", 1.0), ("right", -1.0)):
        add_link(
            builder,
            f"{side}_finger",
            "hand",
            0.03,
            [block((0.022, 0.014, 0.055), (0, 0.007 * sign, 0.0275), STEEL)],
            joint="prismatic",
            joint_name=f"{side}_finger_joint",
            axis=(0, sign, 0),
            placement=0.045 * _Z,
            **limits(0.0, 0.04, 0.2, 40.0),
        )
