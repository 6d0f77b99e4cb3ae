"""Trajectories with exact time derivatives of any order, to feed the dynamics' series.

A `Curve` lives in R^n and a `PoseCurve` on SE(3). Both are immutable, batched over time, and
evaluated as a series, the value and its derivatives up to a chosen order::

    from jounce import trajectories

    curve = trajectories.PolynomialSegment.rest_to_rest([0.0, 1.0], [0.5, 2.0], duration=3.0)
    curve.series(t, order)                   # (..., order+1, 2)

    base = trajectories.circle_with_yaw()
    base.pose(t)                             # (..., 4, 4)
    base.twist_series(t, order, "spatial")   # (..., order+1, 6)

    trajectory = trajectories.RobotTrajectory(model, {"root_joint": base, ("q2", "q3"): curve})
    q, motion = trajectory.evaluate(t, order)

Derivatives are computed in Taylor arithmetic, never by differences. Times are in seconds. Curves
made for an interval refuse times outside of it unless told to hold or to continue their formula
(`Segment`); half-cosines and sinusoids continue.
"""

from jounce.trajectories.curve import Constant, Curve, Piecewise, Segment, stack
from jounce.trajectories.group import (
    axis_angle,
    blend_poses,
    circle_with_yaw,
    geodesic,
    interpolate_poses,
    position_and_rotation,
    roll_pitch_yaw,
)
from jounce.trajectories.limits import PiecewisePolynomial, s_curve, through_waypoints
from jounce.trajectories.path import PathDynamics, largest_speed_factor, path_dynamics
from jounce.trajectories.polynomial import PolynomialSegment
from jounce.trajectories.pose import PoseCurve, ProductOfExponentials, Translation
from jounce.trajectories.references import aerial_manipulator_reference
from jounce.trajectories.robot import RobotTrajectory, TrajectorySample
from jounce.trajectories.scalar import Circle, HalfCosine, Polynomial, Sinusoid
from jounce.trajectories.spline import BSpline
from jounce.trajectories.time_optimal import PathLaw, time_optimal_law

__all__ = [
    "BSpline",
    "Circle",
    "Constant",
    "Curve",
    "HalfCosine",
    "PathDynamics",
    "PathLaw",
    "Piecewise",
    "PiecewisePolynomial",
    "Polynomial",
    "PolynomialSegment",
    "PoseCurve",
    "ProductOfExponentials",
    "RobotTrajectory",
    "Segment",
    "Sinusoid",
    "TrajectorySample",
    "Translation",
    "aerial_manipulator_reference",
    "axis_angle",
    "blend_poses",
    "circle_with_yaw",
    "geodesic",
    "interpolate_poses",
    "largest_speed_factor",
    "path_dynamics",
    "position_and_rotation",
    "roll_pitch_yaw",
    "s_curve",
    "stack",
    "through_waypoints",
    "time_optimal_law",
]


def __dir__() -> list[str]:
    return sorted(__all__)
