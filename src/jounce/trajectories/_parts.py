"""The parts of a robot's trajectory: curves, and where in q and v they belong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from jounce._core.arrays import shown
from jounce._types import Array, ArrayLike, Index
from jounce.errors import ArgumentError
from jounce.model.model import Model
from jounce.trajectories import _taylor
from jounce.trajectories._instant import Row, Rows, curve_rule, derivatives
from jounce.trajectories._instant_pose import pose_rule
from jounce.trajectories.curve import Curve, as_curve
from jounce.trajectories.pose import PoseCurve, as_pose_curve

__all__ = ["Follower", "JointKey", "Part", "evaluate", "followers", "in_order", "part_of"]

JointKey = str | int | tuple[str | int, ...]

# How far, in m, the curve of a spherical joint may move its origin (rounding).
_DISPLACEMENT = 1e-12


AtOneTime = Callable[[float, int], tuple[Row, Rows]]


class Part(NamedTuple):
    """A curve, and where its coordinates and rates sit in q and v."""

    curve: Curve | PoseCurve
    q: Index
    v: Index
    name: str
    places: tuple[slice, slice] | None
    """The same as slices, if they are."""
    at: AtOneTime
    """Coordinates and some derivatives of the rates at one time."""


class Follower(NamedTuple):
    """A mimic joint: q = multiplier q[leader] + offset."""

    q: int
    v: int
    leader_q: int
    leader_v: int
    multiplier: float
    offset: float


def evaluate(part: Part, t: Array, orders: int) -> tuple[Array, Array]:
    """Coordinates (N, nq) and the series (orders, nv, N) of the rates of a part."""
    if isinstance(part.curve, Curve):
        series = part.curve.taylor(t, orders + 1)
        return series[0].T, _taylor.slope(series)
    quaternion, position, twist = part.curve.motion(t, orders)
    if part.v.size == 6:
        return np.hstack([quaternion, position]), twist
    _require_only_turns(part.name, float(np.abs(position).max(initial=0.0)))
    return quaternion, twist[:, :3]


def _require_only_turns(name: str, away: float) -> None:
    if away > _DISPLACEMENT:
        raise ArgumentError(
            f"curves: the curve of the spherical joint {name!r} must only turn, but it moves "
            f"its origin by {away:.1e} m"
        )


def _curve_at(curve: Curve) -> AtOneTime:
    rule = curve_rule(curve)

    def at(t: float, orders: int) -> tuple[Row, Rows]:
        rows = derivatives(rule(t, orders + 1))
        return rows[0], rows[1:]

    return at


def _pose_at(poses: PoseCurve, name: str, rates: int) -> AtOneTime:
    rule = pose_rule(poses)

    def moved(t: float, orders: int) -> tuple[Row, Rows]:
        now = rule(t, orders)
        return now.quaternion + now.position, derivatives(now.twist(orders))

    def turned(t: float, orders: int) -> tuple[Row, Rows]:
        now = rule(t, orders)
        _require_only_turns(name, max(map(abs, now.position)))
        return now.quaternion, derivatives(now.angular or [[0.0] * 3] * orders)

    return moved if rates == 6 else turned


def part_of(model: Model, key: JointKey, value: Curve | PoseCurve | ArrayLike) -> Part:
    joints = [model.joint_index(j) for j in (key if isinstance(key, tuple) else (key,))]
    if not joints:
        raise ArgumentError(
            "curves: expected at least one joint for each curve, got an empty tuple"
        )
    name = ", ".join(model.joint_names[j] for j in joints)
    q = np.concatenate([np.r_[model.q_slice(j)] for j in joints])
    v = np.concatenate([np.r_[model.v_slice(j)] for j in joints])
    if q.size == v.size:
        curve = _joint_curve(name, value, q.size)
        return Part(curve, q, v, name, _places(q, v), _curve_at(curve))
    if len(joints) > 1:
        raise ArgumentError(
            f"curves: expected one curve for each spherical or free joint of {name}"
        )
    poses = _joint_pose_curve(model, name, value)
    return Part(poses, q, v, name, _places(q, v), _pose_at(poses, name, v.size))


def in_order(model: Model, parts: tuple[Part, ...]) -> bool:
    """Whether parts, one after the other, are all of a robot."""
    if not parts:
        return False
    q, v = (np.concatenate(places) for places in zip(*((p.q, p.v) for p in parts), strict=True))
    return np.array_equal(q, np.arange(model.nq)) and np.array_equal(v, np.arange(model.nv))


def _places(q: Index, v: Index) -> tuple[slice, slice] | None:
    """Two ranges of neighbors as slices."""
    if (np.diff(q) == 1).all() and (np.diff(v) == 1).all():
        return slice(int(q[0]), int(q[-1]) + 1), slice(int(v[0]), int(v[-1]) + 1)
    return None


def _joint_curve(name: str, value: Curve | PoseCurve | ArrayLike, size: int) -> Curve:
    if isinstance(value, PoseCurve):
        raise ArgumentError(f"curves: {name}: expected a curve of size {size}, got a pose curve")
    curve = as_curve(f"curves: {name}", value)
    if curve.size != size:
        raise ArgumentError(
            f"curves: {name}: expected a curve of size {size}, got size {curve.size}"
        )
    return curve


def _joint_pose_curve(model: Model, name: str, value: Curve | PoseCurve | ArrayLike) -> PoseCurve:
    if isinstance(value, Curve):
        kind = model.joints[model.joint_index(name)].type
        raise ArgumentError(
            f"curves: {name}: a {kind} joint takes a pose curve (for example "
            f"position_and_rotation(...), roll_pitch_yaw(...)), got {shown(value)}"
        )
    return as_pose_curve(f"curves: {name}", value)


def followers(model: Model, given: set[int]) -> Iterator[Follower]:
    """Mimic joints without a curve whose leader, or leader's leader, has one."""
    if model.expanded is not model:
        return  # coupled: they have no coordinates
    by_name = {joint.name: joint for joint in model.joints}
    for joint in model.joints:
        multiplier, offset, leader, seen = 1.0, 0.0, joint, {joint.name}
        while (
            model.v_slice(leader.name).start not in given
            and leader.mimic is not None
            and leader.mimic.joint in by_name.keys() - seen
        ):
            offset += multiplier * leader.mimic.offset
            multiplier *= leader.mimic.multiplier
            leader = by_name[leader.mimic.joint]
            seen.add(leader.name)
        if leader is not joint and model.v_slice(leader.name).start in given:
            q, v = model.q_slice(joint.name).start, model.v_slice(joint.name).start
            leader_q, leader_v = (
                model.q_slice(leader.name).start,
                model.v_slice(leader.name).start,
            )
            yield Follower(q, v, leader_q, leader_v, multiplier, offset)
