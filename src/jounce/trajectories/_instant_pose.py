"""Curves of poses at one instant, in plain numbers, as `_instant` has curves of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import add, sub
from typing import Any, NamedTuple

import numpy as np

from jounce import lie
from jounce.trajectories import pose as poses
from jounce.trajectories._instant import FACTORIALS, Row, Rows, curve_rule

__all__ = ["Instant", "PoseRule", "pose_rule"]

_NO_TURN = [0.0, 0.0, 0.0, 1.0]
_ORIGIN = [0.0, 0.0, 0.0]


class Instant(NamedTuple):
    """A pose, and the Taylor coefficients of its body twist."""

    quaternion: Row
    position: Row
    angular: Rows | None
    """None: it never turns."""
    linear: Rows | None
    """None: it never moves its origin."""

    def twist(self, orders: int) -> Rows:
        """Coefficients with both parts."""
        still = [_ORIGIN] * orders
        return list(map(add, self.angular or still, self.linear or still))


PoseRule = Callable[[float, int], Instant]
"""Of a time and a number of orders: the pose and that many coefficients of its body twist."""


def pose_rule(curve: poses.PoseCurve) -> PoseRule:
    """The rule of a curve of poses."""
    make = _POSES.get(type(curve))
    return make(curve) if make is not None else lambda t, orders: _by_arrays(curve, t, orders)


def _by_arrays(curve: poses.PoseCurve, t: float, orders: int) -> Instant:
    motion = curve.motion(np.array([t]), orders)
    twist = motion.twist[..., 0]
    parts = twist[:, :3].tolist(), twist[:, 3:].tolist()
    return Instant(motion.quaternion[0].tolist(), motion.position[0].tolist(), *parts)


def _translation(curve: poses.Translation) -> PoseRule:
    position = curve_rule(curve.position)

    def rule(t: float, orders: int) -> Instant:
        first, *later = position(t, orders + 1)
        return Instant(_NO_TURN, first, None, _slopes(later))

    return rule


def _slopes(later: Rows) -> Rows:
    """Coefficients of the derivative, from those of a curve but its value."""
    return [[k * x for x in row] if k > 1 else row for k, row in enumerate(later, 1)]


def _product(curve: Any) -> PoseRule:
    left, right = pose_rule(curve.left), pose_rule(curve.right)
    return lambda t, orders: _multiplied(left(t, orders), right(t, orders), orders)


def _exponentials(curve: poses.ProductOfExponentials) -> PoseRule:
    scalars = curve_rule(curve.scalars)
    factors = [_exponential(screw) for screw in curve.screws.tolist()]
    still = Instant(*curve._still, None, None)
    start = None if curve._starts_at_identity else still

    def rule(t: float, orders: int) -> Instant:
        values, *later = scalars(t, orders + 1)
        slopes, result = _slopes(later), start
        for i, factor in enumerate(factors):
            moved = factor(values[i], [row[i] for row in slopes])
            result = moved if result is None else _multiplied(result, moved, orders)
        return result or still

    return rule


def _exponential(screw: Row) -> Callable[[float, Row], Instant]:
    """The motion exp(screw s), of s and the coefficients of its rate."""
    axis, along = screw[:3], screw[3:]
    norm, (a, b, c) = math.hypot(*axis), axis
    half = 0.5 * norm

    def motion(s: float, rates: Row) -> Instant:
        scale = math.sin(half * s) / norm if norm else 0.5 * s
        quaternion = [a * scale, b * scale, c * scale, math.cos(half * s)]
        angular = [[a * r, b * r, c * r] for r in rates] if norm else None
        if not any(along):
            return Instant(quaternion, _ORIGIN, angular, None)
        position = lie.exp([x * s for x in screw])[:3, 3].tolist()
        return Instant(quaternion, position, angular, [[x * r for x in along] for r in rates])

    return motion


_POSES: dict[type, Callable[[Any], PoseRule]] = {
    poses.Translation: _translation,
    poses._Product: _product,
    poses.ProductOfExponentials: _exponentials,
}


def _multiplied(a: Instant, b: Instant, orders: int) -> Instant:
    """The product of poses; its body twist is Ad(b^-1) V_a + V_b."""
    quaternion, position, angular, linear = b.quaternion, a.position, b.angular, b.linear
    if a.quaternion is not _NO_TURN:
        quaternion = _quaternion_product(a.quaternion, b.quaternion)
    if any(b.position):
        position = list(map(add, position, _times(_matrix(a.quaternion), b.position)))
    if a.angular is not None:
        p, R = b.position, _matrix(b.quaternion)
        carried = _series_back(
            a.twist(orders), b.twist(orders), lambda x: _adjoint_back(R, p, x), _bracket
        )
        angular = _added(angular, [row[:3] for row in carried])
        linear = _added(linear, [row[3:] for row in carried])
    elif a.linear is not None:
        R = _matrix(b.quaternion)
        turned = _series_back(a.linear, b.angular, lambda x: _times_back(R, x), _cross)
        linear = _added(linear, turned)
    return Instant(quaternion, position, angular, linear)


def _added(first: Rows | None, second: Rows) -> Rows:
    if first is None:
        return second
    return [list(map(add, x, y)) for x, y in zip(first, second, strict=True)]


def _quaternion_product(a: Row, b: Row) -> Row:
    x1, y1, z1, w1 = a
    x2, y2, z2, w2 = b
    return [
        w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
        w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
        w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
    ]


def _matrix(q: Row) -> Rows:
    x, y, z, w = q
    return [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]


def _cross(a: Row, b: Row) -> Row:
    x, y, z = a
    u, v, w = b
    return [y * w - z * v, z * u - x * w, x * v - y * u]


def _times(R: Rows, x: Row) -> Row:
    a, b, c = x
    return [p * a + q * b + r * c for p, q, r in R]


def _times_back(R: Rows, x: Row) -> Row:
    (p0, p1, p2), (q0, q1, q2), (r0, r1, r2) = R
    a, b, c = x
    return [p0 * a + q0 * b + r0 * c, p1 * a + q1 * b + r1 * c, p2 * a + q2 * b + r2 * c]


def _series_back(
    x: Rows, V: Rows | None, back: Callable[[Row], Row], bracket: Callable[[Row, Row], Row]
) -> Rows:
    """The series of X = Ad(b^-1) x, or of R^T x, by what that does at this instant.

    X' = Ad(b^-1) x' - [V, X] with the body twist V of b, and likewise for the derivatives of x. So
    their values at this instant give all coefficients, one order of time after the other:
    X_(k+1) = (Y_k - sum_m [V_m, X_(k-m)]) / (k+1), where Y is the series that belongs to x'.
    """
    if V is None:
        return list(map(back, x))
    series: Rows = []  # of the derivatives of x, the highest first, and of x at last
    for j in range(len(x) - 1, -1, -1):
        rows = [back([y * FACTORIALS[j] for y in x[j]] if j > 1 else x[j])]
        for k, total in enumerate(series):
            for m in range(k + 1):
                total = list(map(sub, total, bracket(V[m], rows[k - m])))
            rows.append([y / (k + 1) for y in total] if k else total)
        series = rows
    return series


def _adjoint_back(R: Rows, p: Row, x: Row) -> Row:
    """Ad(b^-1) x for the pose b = (R, p)."""
    w, v = x[:3], x[3:]
    return _times_back(R, w) + _times_back(R, list(map(add, v, _cross(w, p))))


def _bracket(a: Row, b: Row) -> Row:
    """ad(a) b, which is the commutator of two twists."""
    w, u, x, y = a[:3], a[3:], b[:3], b[3:]
    return _cross(w, x) + list(map(add, _cross(w, y), _cross(u, x)))
