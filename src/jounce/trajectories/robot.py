"""The motion of a whole robot from curves of its joints."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from operator import add
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from jounce import lie
from jounce._core.arrays import shown
from jounce._types import Array, ArrayLike, Index
from jounce.errors import ArgumentError
from jounce.kinematics import difference, neutral
from jounce.model._checks import is_finite
from jounce.model.model import Model, require_model
from jounce.trajectories import _checks, _taylor
from jounce.trajectories._parts import (
    Follower,
    JointKey,
    Part,
    evaluate,
    followers,
    in_order,
    part_of,
)
from jounce.trajectories._times import at_times
from jounce.trajectories.curve import Curve, Immutable, Interval, overlap
from jounce.trajectories.group import geodesic, interpolate_poses
from jounce.trajectories.limits import Limits, leg_laws
from jounce.trajectories.polynomial import PolynomialSegment
from jounce.trajectories.pose import PoseCurve, ProductOfExponentials
from jounce.trajectories.spline import BSpline

__all__ = ["RobotTrajectory", "TrajectorySample"]

# Orders up to which plain numbers are faster than arrays at one time.
_MOST_ORDERS = 12


class TrajectorySample(NamedTuple):
    """What `RobotTrajectory.evaluate` returns; unpacks as ``q, motion``.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> home = arm.poses["home"]
        >>> path = jc.trajectories.RobotTrajectory.between(arm, home, arm.upper / 2, 2.0)
        >>> sample = path.evaluate(1.0, order=2)
        >>> sample.v.shape, sample.a.shape, sample.motion.shape
        ((7,), (7,), (4, 7))
    """

    q: Array
    """(..., nq) coordinates."""
    motion: Array
    """(..., order+2, nv): v, dv/dt, ..., as the series functions take it."""

    @property
    def v(self) -> Array:
        """(..., nv) rates."""
        return self.motion[..., 0, :]

    @property
    def a(self) -> Array:
        """(..., nv) accelerations: component-wise derivatives of v."""
        return self.motion[..., 1, :]


class RobotTrajectory(Immutable):
    """Curves for the joints of a robot, evaluated together in jounce's coordinates.

    A free joint takes a `PoseCurve`: the pose that its quaternion and position describe, which is
    the body's pose in the world for a floating base. Its rates are the body-fixed twist. A
    spherical joint takes a pose curve that only turns. All other joints take a `Curve` with as
    many components as the joint has coordinates. Numbers and matrices are constants.

    Joints without a curve stay at their neutral coordinates, except that a mimic joint follows
    its leader if that has a curve.

    Example::

        trajectory = RobotTrajectory(model, {
            "root_joint": trajectories.circle_with_yaw(),
            ("shoulder", "elbow"): trajectories.HalfCosine([0.1, -0.2], [1.0, 0.5], 30.0),
            "gripper": 0.02,
        })
        q, motion = trajectory.evaluate(np.linspace(0, 30, 3001), order=5)
        tau = jc.inverse_dynamics_series(model, q, motion)

    Args:
        model: the robot.
        curves: a curve for each joint (name or index), or one for several joints (a tuple of
            names) whose components are shared out in that order.

    Raises:
        ArgumentTypeError: model is no model.
        UnknownNameError: an unknown joint.
        ArgumentError: a curve that does not fit its joint, or two curves for one joint.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> home = arm.poses["home"]
        >>> path = jc.trajectories.RobotTrajectory.between(arm, home, arm.upper / 2, 2.0)
        >>> q, motion = path.evaluate(np.linspace(0, 2, 5), order=3)
        >>> q.shape, motion.shape
        ((5, 7), (5, 5, 7))
    """

    model: Model
    curves: Mapping[JointKey, Curve | PoseCurve]
    interval: Interval
    """The times (start, end) that all curves are made for, s."""
    _parts: tuple[Part, ...]
    _in_order: bool
    """Whether the parts, one after the other, are all of the robot."""
    _neutral: tuple[float, ...]
    _followers: tuple[Follower, ...]

    def __init__(
        self, model: Model, curves: Mapping[JointKey, Curve | PoseCurve | ArrayLike]
    ) -> None:
        require_model(model)
        if not isinstance(curves, Mapping):
            raise ArgumentError(
                f"curves: expected a dict of joints and curves, got {shown(curves)}"
            )
        parts = tuple(part_of(model, key, value) for key, value in curves.items())
        given = [int(i) for part in parts for i in part.v]
        if len(set(given)) != len(given):
            twice = next(i for i in given if given.count(i) > 1)
            raise ArgumentError(f"curves: joint {_joint_at(model, twice)!r} has two curves")
        super().__init__(
            model=model,
            curves=MappingProxyType({k: p.curve for k, p in zip(curves, parts, strict=True)}),
            interval=overlap(part.curve.interval for part in parts),
            _parts=parts,
            _in_order=in_order(model, parts),
            _neutral=tuple(neutral(model).tolist()),
            _followers=tuple(followers(model, set(given))),
        )

    @classmethod
    def between(
        cls, model: Model, q0: ArrayLike, q1: ArrayLike, law: Curve | float
    ) -> RobotTrajectory:
        """From one configuration to another along the geodesic ``integrate(q0, s(t) d)``.

        Here d = ``difference(q0, q1)``: all joints move in proportion, free and spherical ones on
        screw motions, so that v = d ds/dt.

        Args:
            model: the robot.
            q0: (nq,) coordinates at s = 0.
            q1: (nq,) coordinates at s = 1.
            law: scalar curve s(t), or the duration in s of a quintic from rest to rest.

        Examples:
            >>> arm = jc.models.panda_like()
            >>> ends = np.array([arm.poses["home"], jc.neutral(arm)])
            >>> move = jc.trajectories.RobotTrajectory.between(arm, *ends, 2.0)
            >>> sample = move.evaluate([0.0, 2.0])
            >>> bool(np.allclose(sample.q, ends)), bool(np.allclose(sample.motion, 0.0))  # at rest
            (True, True)
        """
        start, goal = _configurations(model, "q0", q0, 1), _configurations(model, "q1", q1, 1)
        if not isinstance(law, Curve):
            law = PolynomialSegment.rest_to_rest(0.0, 1.0, _checks.positive("law", law))
        joints, q = _vector_joints(model)
        curves: dict[JointKey, Curve | PoseCurve] = {}
        if joints:
            curves[joints] = start[q] + law * (goal[q] - start[q])
        for name in _group_joints(model):
            curves[name] = geodesic(_pose(model, name, start), _pose(model, name, goal), law)
        return cls(model, curves)

    @classmethod
    def through(
        cls,
        model: Model,
        times: ArrayLike,
        q: ArrayLike,
        degree: int = 5,
        ends: str = "rest",
        extend: str = "error",
    ) -> RobotTrajectory:
        """Through configurations at given times, with degree - 1 continuous derivatives.

        Args:
            model: the robot.
            times: (m,) increasing, s.
            q: (m, nq) coordinates.
            degree: of the splines.
            ends: "rest" or "free", see `BSpline.through`.
            extend: "error" (default), "hold" or "formula", see `Segment`.

        Examples:
            >>> arm = jc.models.panda_like()
            >>> q = arm.poses["home"] + np.array([[0.0], [0.2], [0.1]])
            >>> path = jc.trajectories.RobotTrajectory.through(arm, [0, 1, 2], q)
            >>> bool(np.allclose(path.evaluate(1.0).q, q[1]))
            True
        """
        rows = _configurations(model, "q", q, 2)
        joints, index = _vector_joints(model)
        curves: dict[JointKey, Curve | PoseCurve] = {}
        if joints:
            curves[joints] = BSpline.through(times, rows[:, index], degree, ends, extend)
        for name in _group_joints(model):
            poses = _pose(model, name, rows)
            curves[name] = interpolate_poses(times, poses, degree, ends, extend)
        return cls(model, curves)

    @classmethod
    def from_samples(
        cls,
        model: Model,
        times: ArrayLike,
        q: ArrayLike,
        pieces: int | None = None,
        degree: int = 5,
        extend: str = "error",
    ) -> RobotTrajectory:
        """A trajectory from samples, for example of a recording or a simulation.

        Args:
            model: the robot.
            times: (m,) increasing, s.
            q: (m, nq) coordinates.
            pieces: number of polynomials of a least-squares fit, for samples with noise; by
                default the splines go through all samples. Spherical and free joints, for which
                there is no fit, always do.
            degree: of the splines.
            extend: "error" (default), "hold" or "formula", see `Segment`.

        Examples:
            >>> arm = jc.models.chain(2)
            >>> fall = jc.simulate(arm, [1.0, 0.0], [0.0, 0.0], np.linspace(0, 0.5, 51))
            >>> path = jc.trajectories.RobotTrajectory.from_samples(arm, fall.t, fall.q)
            >>> now = path.evaluate(0.25)
            >>> bool(np.allclose(jc.inverse_dynamics(arm, now.q, now.v, now.a), 0.0, atol=1e-3))
            True
        """
        through = cls.through(model, times, q, degree, "free", extend)
        joints, index = _vector_joints(model)
        if pieces is None or not joints:
            return through
        rows = _configurations(model, "q", q, 2)
        fit = BSpline.fit(times, rows[:, index], pieces, degree, extend)
        return cls(model, {**through.curves, joints: fit})

    @classmethod
    def with_limits(
        cls,
        model: Model,
        q: ArrayLike,
        *,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike,
        jerk: ArrayLike = np.inf,
        jounce: ArrayLike | None = None,
        blend: bool = False,
        extend: str = "error",
    ) -> RobotTrajectory:
        """From configuration to configuration along geodesics, within limits of the rates.

        Each leg goes along ``integrate(q_i, s(t) d)`` with d = ``difference(q_i, q_(i+1))``, and
        the limits hold for v and its derivatives, see `s_curve` for how fast that is. It stops at
        every configuration, or with `blend` passes those inside by on rounded corners; then the
        limits hold for joints of one degree of freedom only.

        Args:
            model: the robot.
            q: (m, nq) configurations.
            velocity: number or (nv,), by default ``model.velocity_limit``.
            acceleration: number or (nv,), of dv/dt; infinite as in `s_curve`.
            jerk: likewise, of the second derivative.
            jounce: likewise, of the third.
            blend: whether to round the corners instead of stopping.
            extend: "error" (default), "hold" or "formula", see `Segment`.

        Examples:
            >>> arm = jc.models.panda_like()
            >>> q = [arm.poses["home"], jc.neutral(arm)]
            >>> move = jc.trajectories.RobotTrajectory.with_limits(arm, q, acceleration=5, jerk=50)
            >>> v = move.evaluate(np.linspace(*move.interval, 200)).v
            >>> float((np.abs(v) / arm.velocity_limit).max().round(9))  # as fast as it may
            1.0
        """
        rows = _configurations(model, "q", q, 2)
        if len(rows) < 2:
            raise ArgumentError(f"q: expected at least two configurations, got {len(rows)}")
        fastest = model.velocity_limit if velocity is None else velocity
        limits = Limits.of(model.nv, fastest, acceleration, jerk, jounce)
        changes = difference(model, rows[:-1], rows[1:])
        laws = leg_laws(changes, limits, blend, 0.0, extend)
        joints, index = _vector_joints(model)
        curves: dict[JointKey, Curve | PoseCurve] = {}
        if joints:
            curves[joints] = laws.along(rows[:, index])
        for name in _group_joints(model):
            screws = changes[:, model.v_slice(name)]
            curves[name] = ProductOfExponentials(_pose(model, name, rows[0]), screws, laws.each())
        return cls(model, curves)

    def evaluate(self, t: ArrayLike, order: int = 0) -> TrajectorySample:
        """Coordinates, rates and their time derivatives.

        Args:
            t: (...) times, s.
            order: order r of the dynamics to feed, from 0 to 148.

        Returns:
            ``q, motion`` with q (..., nq) and motion (..., order+2, nv) = v, dv/dt, ...,
            d^(order+1)v/dt^(order+1).

        Examples:
            >>> curves = {"joint0": jc.trajectories.Sinusoid(0.5, 2.0)}
            >>> swing = jc.trajectories.RobotTrajectory(jc.models.chain(2), curves)
            >>> swing.evaluate(0.0, order=1).motion + 0.0  # velocity, acceleration, jerk
            array([[ 1.,  0.],
                   [ 0.,  0.],
                   [-4.,  0.]])
        """
        one_time = type(t) in (float, int, np.float64) and is_finite(t)
        if one_time and type(order) is int and 0 <= order <= _MOST_ORDERS - 2:
            return self._evaluate_at(float(t), order + 2)  # type: ignore[arg-type]
        orders = _checks.integer("order", order, 0, _checks.MAX_ORDER - 2) + 2
        makes = self.model.nq + orders * self.model.nv
        return at_times("evaluate", partial(self._evaluate, orders), t, makes)

    def _evaluate(self, orders: int, t: Array) -> TrajectorySample:
        """The same at all times."""
        flat = t.ravel()
        q = np.tile(neutral(self.model), (t.size, 1))
        motion = np.zeros((orders, self.model.nv, t.size))
        for part in self._parts:
            q[:, part.q], motion[:, part.v] = evaluate(part, flat, orders)
        for f in self._followers:
            q[:, f.q] = f.multiplier * q[:, f.leader_q] + f.offset
            motion[:, f.v] = f.multiplier * motion[:, f.leader_v]
        series = _taylor.to_derivatives(motion, t.shape)
        return TrajectorySample(q.reshape(*t.shape, self.model.nq), series)

    def _evaluate_at(self, t: float, orders: int) -> TrajectorySample:
        """The same at one time, in plain numbers."""
        if self._in_order:
            q, motion = self._parts[0].at(t, orders)
            for part in self._parts[1:]:
                values, rates = part.at(t, orders)
                q = q + values
                motion = list(map(add, motion, rates))
            return TrajectorySample(np.array(q), np.array(motion))
        q = list(self._neutral)
        motion = [[0.0] * self.model.nv for _ in range(orders)]
        for part in self._parts:
            values, rates = part.at(t, orders)
            if part.places:
                q[part.places[0]] = values
                for row, own in zip(motion, rates, strict=True):
                    row[part.places[1]] = own
                continue
            for i, x in zip(part.q, values, strict=True):
                q[i] = x
            for row, own in zip(motion, rates, strict=True):
                for i, x in zip(part.v, own, strict=True):
                    row[i] = x
        for f in self._followers:
            q[f.q] = f.multiplier * q[f.leader_q] + f.offset
            for row in motion:
                row[f.v] = f.multiplier * row[f.leader_v]
        return TrajectorySample(np.array(q, float), np.array(motion, float))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by what defines the trajectory."""
        return RobotTrajectory, (self.model, dict(self.curves))

    def __repr__(self) -> str:
        """Show the curve of each joint."""
        lines = [f"  {key!r}: {curve!r}" for key, curve in self.curves.items()]
        start, end = self.interval
        head = f"RobotTrajectory of {self.model.name!r}, {start:g} to {end:g} s"
        return "\n".join([head, *lines])


def _vector_joints(model: Model) -> tuple[tuple[str | int, ...], Index]:
    """The joints whose coordinates form a vector space, and where those sit in q."""
    groups = set(_group_joints(model))
    names = tuple(
        name for name in model.joint_names if name not in groups and len(np.r_[model.q_slice(name)])
    )
    slices = [np.r_[model.q_slice(name)] for name in names]
    return names, np.concatenate([np.zeros(0, np.intp), *slices])


def _group_joints(model: Model) -> list[str]:
    return [joint.name for joint in model.joints if joint.type in ("spherical", "free")]


def _pose(model: Model, joint: str, q: Array) -> Array:
    """The poses (..., 4, 4) that the coordinates of a spherical or free joint describe."""
    x = q[..., model.q_slice(joint)]
    out = np.zeros((*q.shape[:-1], 4, 4))
    out[..., :3, :3] = lie.quat_to_matrix(x[..., :4])
    out[..., : x.shape[-1] - 4, 3] = x[..., 4:]
    out[..., 3, 3] = 1.0
    return out


def _configurations(model: Model, name: str, value: ArrayLike, ndim: int) -> Array:
    require_model(model)
    q = _checks.numbers(name, value)
    if q.ndim != ndim or q.shape[-1] != model.nq:
        expected = f"({model.nq},)" if ndim == 1 else f"(m, {model.nq})"
        raise ArgumentError(f"{name}: expected shape {expected}, got {q.shape}")
    return q


def _joint_at(model: Model, rate: int) -> str:
    names: tuple[str, ...] = model.joint_names
    return next(name for name in names if rate < model.v_slice(name).stop)
