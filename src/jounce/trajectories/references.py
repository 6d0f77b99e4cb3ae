"""Reference trajectories of the papers."""

from __future__ import annotations

import numpy as np

from jounce._core.arrays import shown
from jounce.errors import ArgumentError
from jounce.model.model import Model, require_model
from jounce.trajectories import _checks
from jounce.trajectories._parts import JointKey
from jounce.trajectories.curve import Curve
from jounce.trajectories.group import circle_with_yaw
from jounce.trajectories.pose import PoseCurve
from jounce.trajectories.robot import RobotTrajectory
from jounce.trajectories.scalar import HalfCosine

__all__ = ["aerial_manipulator_reference"]

_INITIAL_ANGLES = np.deg2rad([10.0, -5.0, 15.0, -10.0, 7.0, -12.0])
_AMPLITUDES = np.deg2rad([60.0, 50.0, 40.0, 55.0, 45.0, 35.0])


def aerial_manipulator_reference(model: Model, duration: float = 30.0) -> RobotTrajectory:
    """The trajectory of Ali 2026, Sec. 7 (Table 3), for `jounce.models.aerial_manipulator`.

    The base flies a circle of radius 1 m at 2 pi/20 rad/s while its yaw swings by 25 degrees at
    2 pi/30 rad/s; each joint follows a half-cosine q_0 + eta/2 (1 - cos(pi t/T)). The values of
    the six joints q2 to q7 repeat for robots with more of them. The paper evaluates it at 3000
    times, 0.01 s apart.

    Args:
        model: a floating base whose other joints are revolute or prismatic.
        duration: the time T of the half-cosines, s.

    Examples:
        >>> robot = jc.models.aerial_manipulator()
        >>> jc.trajectories.aerial_manipulator_reference(robot).evaluate(10.0, order=3).motion.shape
        (5, 12)
    """
    require_model(model)
    base, *arms = model.joints or (None,)
    if base is None or base.type != "free" or model.nv != 6 + len(arms):
        raise ArgumentError(
            "model: expected a free base followed by joints of one degree of freedom, like "
            f"jounce.models.aerial_manipulator(), got {shown(model)}"
        )
    curves: dict[JointKey, Curve | PoseCurve] = {base.name: circle_with_yaw()}
    duration = _checks.positive("duration", duration)
    if arms:
        turn = np.arange(len(arms)) % len(_AMPLITUDES)
        names = tuple(joint.name for joint in arms)
        curves[names] = HalfCosine(_INITIAL_ANGLES[turn], _AMPLITUDES[turn], duration)
    return RobotTrajectory(model, curves)
