"""Named pose curves: rotations about axes, geodesics, splines on the group, a circle with yaw."""

from __future__ import annotations

import numpy as np

from jounce import lie
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError
from jounce.trajectories import _checks
from jounce.trajectories.curve import Curve, as_curve, require_size
from jounce.trajectories.polynomial import PolynomialSegment
from jounce.trajectories.pose import PoseCurve, ProductOfExponentials, Translation
from jounce.trajectories.scalar import Circle, Sinusoid
from jounce.trajectories.spline import BSpline, clamped_knots

__all__ = [
    "axis_angle",
    "blend_poses",
    "circle_with_yaw",
    "geodesic",
    "interpolate_poses",
    "position_and_rotation",
    "roll_pitch_yaw",
]


def axis_angle(axis: ArrayLike, angle: Curve | float) -> PoseCurve:
    """The rotation about a fixed axis by a scalar curve.

    Rotations about several axes are products: ``axis_angle(z, yaw) @ axis_angle(x, roll)``.

    Args:
        axis: (3,) direction; normalized.
        angle: curve of size 1, or a number, rad.

    Examples:
        >>> spin = jc.trajectories.axis_angle((0, 0, 1), jc.trajectories.Polynomial([0.0, 2.0]))
        >>> spin.twist_series(0.5, 0)
        array([[0., 0., 2., 0., 0., 0.]])
    """
    direction = _checks.vector("axis", axis)
    length = float(np.linalg.norm(direction))
    if direction.size != 3 or length == 0:
        raise ArgumentError(f"axis: expected a direction (3,) that is not zero, got {direction}")
    law = require_size("angle", as_curve("angle", angle), 1)
    return ProductOfExponentials(np.eye(4), direction[None] / length, law)


def roll_pitch_yaw(angles: Curve | ArrayLike) -> PoseCurve:
    """The rotation Rz(yaw) Ry(pitch) Rx(roll), as in URDF and `jounce.lie.rpy_to_matrix`.

    Args:
        angles: curve of size 3, or three numbers: (roll, pitch, yaw), rad.

    Examples:
        >>> turned = jc.trajectories.roll_pitch_yaw([0, 0, 0.3]).pose(0.0)
        >>> bool(np.allclose(turned[:3, :3], jc.lie.exp([0, 0, 0.3])))
        True
    """
    rpy = require_size("angles", as_curve("angles", angles), 3)
    return ProductOfExponentials(np.eye(4), np.eye(3)[::-1], rpy[::-1])


def position_and_rotation(
    position: Curve | ArrayLike, rotation: PoseCurve | ArrayLike
) -> PoseCurve:
    """The pose with a position curve and an orientation.

    Args:
        position: curve of size 3, or three numbers, m.
        rotation: for example `axis_angle`, `roll_pitch_yaw`, or a constant matrix (3, 3).

    Examples:
        >>> still = jc.trajectories.position_and_rotation([1.0, 2.0, 3.0], np.eye(4))
        >>> still.pose(0.0)[:3, 3]
        array([1., 2., 3.])
    """
    return Translation(position) @ rotation


def geodesic(initial: ArrayLike, final: ArrayLike, law: Curve | float) -> PoseCurve:
    """The screw motion between two poses: ``initial exp(s(t) log(initial^-1 final))``.

    Args:
        initial: (4, 4) pose or (3, 3) rotation, at s = 0.
        final: likewise, at s = 1; the turn between them is the shorter one.
        law: scalar curve s(t), or the duration in s of a quintic from rest to rest.

    Examples:
        >>> curve = jc.trajectories.geodesic(np.eye(4), jc.lie.exp([0, 0, 1, 1, 0, 0]), 2.0)
        >>> bool(np.allclose(curve.pose(2.0), jc.lie.exp([0, 0, 1, 1, 0, 0])))
        True
    """
    T0, T1 = _checks.poses("initial", initial, 2), _checks.poses("final", final, 2)
    if not isinstance(law, Curve):
        law = PolynomialSegment.rest_to_rest(0.0, 1.0, _checks.positive("law", law))
    screw = lie.log(lie.inverse(T0) @ T1)
    return ProductOfExponentials(T0, screw[None], require_size("law", law, 1))


def interpolate_poses(
    times: ArrayLike,
    poses: ArrayLike,
    degree: int = 5,
    ends: str = "rest",
    extend: str = "error",
) -> PoseCurve:
    """The spline on SE(3) that passes through poses at given times.

    The cumulative form of an interpolating spline, with the screws X_i = log(T_(i-1)^-1 T_i)
    between neighbors and the scalar splines s_i that step from 0 to 1 between times i-1 and i:

        T(t) = T_0 exp(X_1 s_1(t)) exp(X_2 s_2(t)) ...

    It has degree - 1 continuous derivatives, passes through every pose exactly, is the usual
    spline for poses that differ by translations only, and moves with the poses when they are all
    moved by one motion from the left. Each turn between neighbors must be below half a turn. The
    cost of an evaluation grows with the number of poses.

    The form is that of Kim, Kim and Shin, "A general construction scheme for unit quaternion
    curves with simple high order derivatives", 1995, there with B-spline bases as in `blend_poses`.

    Args:
        times: (n,) increasing, s.
        poses: (n, 4, 4) poses or (n, 3, 3) rotations, n >= 2.
        degree: of the scalar splines.
        ends: "rest" or "free", see `BSpline.through`.
        extend: "error" (default), "hold" or "formula", see `Segment`.

    Examples:
        >>> poses = jc.lie.exp(np.eye(6)[:3])
        >>> curve = jc.trajectories.interpolate_poses([0, 1, 2], poses, degree=5)
        >>> bool(np.allclose(curve.pose(1.0), poses[1]))
        True
    """
    T = _checks.poses("poses", poses, 3)
    if len(T) < 2 or len(T) != _checks.numbers("times", times).size:
        raise ArgumentError(f"poses: expected one per time, at least 2, got {len(T)}")
    steps = BSpline.through(times, _steps(len(T)), degree, ends, extend)
    return _cumulative(T, steps)


def blend_poses(
    poses: ArrayLike,
    duration: float,
    degree: int = 5,
    start: float = 0.0,
    extend: str = "error",
) -> PoseCurve:
    """The cumulative B-spline on SE(3) with control poses, which it starts and ends at.

    It smooths: the poses in between attract the curve but do not lie on it. It has degree - 1
    continuous derivatives. See `interpolate_poses` for the form and the reference.

    Args:
        poses: (n, 4, 4) poses or (n, 3, 3) rotations, n > degree.
        duration: s.
        degree: of the B-splines.
        start: s.
        extend: "error" (default), "hold" or "formula", see `Segment`.

    Examples:
        >>> poses = jc.lie.exp(np.linspace(0, 1, 8)[:, None] * np.array([0.3, 0, 0, 1, 0, 0]))
        >>> curve = jc.trajectories.blend_poses(poses, duration=2.0)
        >>> curve.interval
        (0.0, 2.0)
    """
    T = _checks.poses("poses", poses, 3)
    knots = clamped_knots(len(T), duration, degree, start)
    return _cumulative(T, BSpline(knots, _steps(len(T)), degree, extend))


def _steps(count: int) -> Array:
    """Row i holds i ones: the scalars that lead from the first pose to pose i."""
    return np.tri(count, count - 1, -1)


def _cumulative(T: Array, steps: Curve) -> PoseCurve:
    return ProductOfExponentials(T[0], lie.log(lie.inverse(T[:-1]) @ T[1:]), steps)


def circle_with_yaw(
    radius: float = 1.0,
    rate: float = 2 * np.pi / 20,
    yaw_amplitude: float = np.deg2rad(25.0),
    yaw_rate: float = 2 * np.pi / 30,
    center: ArrayLike = (0.0, 0.0, 0.0),
) -> PoseCurve:
    """A horizontal circle on which the body swings about the vertical (Ali 2026, Table 3).

    The position is ``center + radius (cos(rate t), sin(rate t), 0)`` and the yaw angle
    ``yaw_amplitude sin(yaw_rate t)``. The defaults are the base reference of Table 3, which names
    the yaw's amplitude and frequency; we take the sine, so that it starts at zero.

    Args:
        radius: m.
        rate: rad/s.
        yaw_amplitude: rad.
        yaw_rate: rad/s.
        center: (3,), m.

    Examples:
        >>> jc.trajectories.circle_with_yaw(radius=1.0).twist_series(0.0, 2).shape
        (3, 6)
    """
    yaw = Sinusoid(_checks.number("yaw_amplitude", yaw_amplitude), yaw_rate)
    return Translation(Circle(radius, rate, center=center)) @ axis_angle((0, 0, 1), yaw)
