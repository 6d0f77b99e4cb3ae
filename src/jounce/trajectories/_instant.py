"""Curves at one instant, in plain numbers.

Controllers ask for one time after the other, where the fixed cost of a NumPy call is many times the
work. So the curves that come with the package have their formulas here a second time, for one
instant; every other curve is asked for an array of one time. A series is a list of rows, one row of
components for each order, as in `_taylor`; tests compare both ways.

A rule is made once for a curve, with its numbers as lists, and then called for one time after the
other.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from itertools import repeat
from operator import add, mul, sub
from typing import Any, NamedTuple

import numpy as np

from jounce import lie
from jounce.trajectories import curve as curves
from jounce.trajectories import pose as poses
from jounce.trajectories.limits import PiecewisePolynomial
from jounce.trajectories.polynomial import PolynomialSegment
from jounce.trajectories.scalar import Circle, HalfCosine, Polynomial, Sinusoid

__all__ = ["Instant", "PoseRule", "Rule", "curve_rule", "pose_rule"]

Row = list[float]
Rows = list[Row]
Rule = Callable[[float, int], Rows]
"""Of a time and a number of orders, at least 1: that many rows of Taylor coefficients."""


def curve_rule(curve: curves.Curve) -> Rule:
    """The rule of a curve."""
    make = _CURVES.get(type(curve))
    return make(curve) if make is not None else lambda t, orders: _by_array(curve, t, orders)


def _by_array(curve: curves.Curve, t: float, orders: int) -> Rows:
    rows: Rows = curve.taylor(np.array([t]), orders)[..., 0].tolist()
    return rows


def _constant(curve: curves.Constant) -> Rule:
    value: Row = curve.value.tolist()
    zero = [0.0] * len(value)
    return lambda t, orders: [value, *[zero] * (orders - 1)]


def _sum(curve: Any) -> Rule:
    first, second = curve_rule(curve.a), curve_rule(curve.b)
    if curve.a.size != curve.size:
        first = _widened(first, curve.size)
    if curve.b.size != curve.size:
        second = _widened(second, curve.size)
    if type(curve.b) is curves.Constant:
        (offset,) = second(0.0, 1)

        def shifted(t: float, orders: int) -> Rows:
            rows = first(t, orders)
            return [list(map(add, rows[0], offset)), *rows[1:]]

        return shifted
    return lambda t, orders: [
        list(map(add, x, y)) for x, y in zip(first(t, orders), second(t, orders), strict=True)
    ]


def _widened(rule: Rule, size: int) -> Rule:
    """A scalar, as many times as there are components."""
    return lambda t, orders: [row * size for row in rule(t, orders)]


def _scaled(curve: Any) -> Rule:
    inner, factors, size = curve_rule(curve.curve), curve.factor.tolist(), curve.curve.size
    if size == 1:
        return lambda t, orders: [[x * f for f in factors] for (x,) in inner(t, orders)]
    if len(factors) == 1:
        factors = factors * size
    return lambda t, orders: [list(map(mul, row, factors)) for row in inner(t, orders)]


def _stacked(curve: Any) -> Rule:
    rules = list(map(curve_rule, curve.parts))

    def rule(t: float, orders: int) -> Rows:
        parts = [part(t, orders) for part in rules]
        return [[x for part in parts for x in part[k]] for k in range(orders)]

    return rule


def _components(curve: Any) -> Rule:
    inner, index = curve_rule(curve.curve), curve.index.tolist()
    return lambda t, orders: [[row[i] for i in index] for row in inner(t, orders)]


def _segment(make: Callable[[Any], Rule]) -> Callable[[Any], Rule]:
    """What a segment does outside of its interval, around its formula."""

    def made(curve: Any) -> Rule:
        formula, (start, end) = make(curve), curve.interval

        def rule(t: float, orders: int) -> Rows:
            if start <= t <= end:
                return formula(t, orders)
            return _outside(curve, formula, t, orders)

        return rule

    return made


def _outside(curve: Any, formula: Rule, t: float, orders: int) -> Rows:
    if curve.extend == "formula":
        return formula(t, orders)
    if curve.extend == "error":
        curve.taylor(np.array([t]), 0)  # raises, unless t is an end but for rounding
    start, end = curve.interval
    nearest = min(max(t, start), end)
    rows = formula(nearest, orders)
    if abs(t - nearest) > curves._SLACK * (end - start):
        rows[1:] = [[0.0] * curve.size for _ in range(orders - 1)]
    return rows


def _shifted(rows: Rows, u: float, orders: int) -> Rows:
    """Coefficients of a polynomial about a place u away, by repeated synthetic division."""
    rows = list(rows)
    top = len(rows) - 1
    for k in range(min(orders, top)):
        for i in range(top - 1, k - 1, -1):
            rows[i] = [x + u * y for x, y in zip(rows[i], rows[i + 1], strict=True)]
    size = len(rows[0])
    return rows[:orders] + [[0.0] * size for _ in range(orders - top - 1)]


def _polynomial(curve: Polynomial) -> Rule:
    coefficients, start = curve.coefficients.tolist(), curve.start
    return lambda t, orders: _shifted(coefficients, t - start, orders)


def _pieces(curve: PiecewisePolynomial) -> Rule:
    breaks, coefficients = curve.breaks.tolist(), curve.coefficients.tolist()
    inner = breaks[1:-1]

    def rule(t: float, orders: int) -> Rows:
        piece = bisect_right(inner, t)
        return _shifted(coefficients[piece], t - breaks[piece], orders)

    return rule


def _bernstein(curve: PolynomialSegment) -> Rule:
    (start, end), duration, tables = curve.interval, curve.duration, curve._tables
    size, degree = len(tables[0]), len(tables) - 1

    def rule(t: float, orders: int) -> Rows:
        past, left = (t - start) / duration, (end - t) / duration
        u, rest = (past, 1.0 - past) if past < left else (1.0 - left, left)
        ups, downs = [1.0], [1.0]
        for _ in repeat(None, degree):
            ups.append(ups[-1] * u)
            downs.append(downs[-1] * rest)
        rows, scale, last = [], 1.0, degree
        for table in tables[:orders]:
            basis = list(map(mul, ups, downs[last::-1]))
            rows.append([scale * sum(map(mul, row, basis)) for row in table])
            scale /= duration
            last -= 1
        missing = orders - len(rows)
        return rows + [[0.0] * size] * missing if missing else rows

    return rule


def _sine(angle: float, rate: float, orders: int) -> Row:
    """Taylor coefficients of the sine of an angle that grows at a rate."""
    s, c = math.sin(angle), math.cos(angle)
    scale, out = 1.0, []
    for k in range(1, orders + 1):
        out.append(s * scale)
        s, c, scale = c, -s, scale * rate / k
    return out


def _sinusoid(curve: Sinusoid) -> Rule:
    components = curve._components

    def rule(t: float, orders: int) -> Rows:
        columns = []
        for amplitude, rate, phase, offset in components:
            column = [amplitude * x for x in _sine(rate * t + phase, rate, orders)]
            column[0] += offset
            columns.append(column)
        return list(map(list, zip(*columns, strict=True)))

    return rule


def _half_cosine(curve: HalfCosine) -> Rule:
    start, amplitudes, duration = curve.start.tolist(), curve.amplitude.tolist(), curve.duration
    halves = [a / 2 for a in amplitudes]

    def rule(t: float, orders: int) -> Rows:
        angle = math.pi * (t / duration)
        wave = _sine(angle - math.pi / 2, math.pi / duration, orders)
        lift = math.sin(angle / 2) ** 2
        first = [s + a * lift for s, a in zip(start, amplitudes, strict=True)]
        return [first, *([a * x for a in halves] for x in wave[1:])]

    return rule


def _circle(curve: Circle) -> Rule:
    rate, phase, r, (x, y, z) = curve.rate, curve.phase, curve.radius, curve.center.tolist()

    def rule(t: float, orders: int) -> Rows:
        angle = rate * t + phase
        s, c = r * math.sin(angle), r * math.cos(angle)
        rows, scale = [[x + c, y + s, z]], 1.0
        for k in range(1, orders):
            s, c, scale = c, -s, scale * rate / k
            rows.append([c * scale, s * scale, 0.0])
        return rows

    return rule


_CURVES: dict[type, Callable[[Any], Rule]] = {
    curves.Constant: _constant,
    curves._Sum: _sum,
    curves._Scaled: _scaled,
    curves._Stack: _stacked,
    curves._Components: _components,
    Polynomial: _polynomial,
    PiecewisePolynomial: _segment(_pieces),
    PolynomialSegment: _segment(_bernstein),
    HalfCosine: _segment(_half_cosine),
    Sinusoid: _sinusoid,
    Circle: _circle,
}


_NO_TURN = [0.0, 0.0, 0.0, 1.0]
_FACTORIALS = tuple(float(math.factorial(k)) for k in range(150))


class Instant(NamedTuple):
    """A pose, and the Taylor coefficients of its body twist."""

    quaternion: Row
    position: Row
    twist: Rows


PoseRule = Callable[[float, int], Instant]
"""Of a time and a number of orders: the pose and that many coefficients of its body twist."""


def pose_rule(curve: poses.PoseCurve) -> PoseRule:
    """The rule of a curve of poses."""
    make = _POSES.get(type(curve))
    return make(curve) if make is not None else lambda t, orders: _by_arrays(curve, t, orders)


def _by_arrays(curve: poses.PoseCurve, t: float, orders: int) -> Instant:
    motion = curve.motion(np.array([t]), orders)
    twist = motion.twist[..., 0].tolist()
    return Instant(motion.quaternion[0].tolist(), motion.position[0].tolist(), twist)


def _translation(curve: poses.Translation) -> PoseRule:
    position = curve_rule(curve.position)

    def rule(t: float, orders: int) -> Instant:
        rows = position(t, orders + 1)
        twist = [[0.0, 0.0, 0.0, *(x * k for x in rows[k])] for k in range(1, orders + 1)]
        return Instant(_NO_TURN, rows[0], twist)

    return rule


def _product(curve: Any) -> PoseRule:
    left, right = pose_rule(curve.left), pose_rule(curve.right)
    return lambda t, orders: _multiplied(left(t, orders), right(t, orders))


def _exponentials(curve: poses.ProductOfExponentials) -> PoseRule:
    scalars, screws = curve_rule(curve.scalars), curve.screws.tolist()
    starts_at_identity = curve._starts_at_identity

    def rule(t: float, orders: int) -> Instant:
        rows = scalars(t, orders + 1)
        result = None if starts_at_identity else Instant(*curve._still, [[0.0] * 6] * orders)
        for i, screw in enumerate(screws):
            twist = [[x * rows[k][i] * k for x in screw] for k in range(1, orders + 1)]
            factor = Instant(*_exponential(screw, rows[0][i]), twist)
            result = factor if result is None else _multiplied(result, factor)
        return result or Instant(_NO_TURN, [0.0, 0.0, 0.0], [[0.0] * 6] * orders)

    return rule


def _exponential(screw: Row, s: float) -> tuple[Row, Row]:
    """Quaternion and position of exp(screw s)."""
    a, b, c = screw[:3]
    norm = math.sqrt(a * a + b * b + c * c)
    scale = math.sin(0.5 * norm * s) / norm if norm else 0.5 * s
    quaternion = [a * scale, b * scale, c * scale, math.cos(0.5 * norm * s)]
    if not any(screw[3:]):
        return quaternion, [0.0, 0.0, 0.0]
    return quaternion, lie.exp([x * s for x in screw])[:3, 3].tolist()


_POSES: dict[type, Callable[[Any], PoseRule]] = {
    poses.Translation: _translation,
    poses._Product: _product,
    poses.ProductOfExponentials: _exponentials,
}


def _multiplied(a: Instant, b: Instant) -> Instant:
    """The product of poses; its body twist is Ad(b^-1) V_a + V_b."""
    quaternion, position, twist = b.quaternion, a.position, b.twist
    if a.quaternion != _NO_TURN:
        quaternion = _quaternion_product(a.quaternion, b.quaternion)
    if any(b.position):
        position = list(map(add, position, _times(_matrix(a.quaternion), b.position)))
    if any(map(any, a.twist)):
        twist = [
            list(map(add, x, y)) for x, y in zip(twist, _carried_back(a.twist, b), strict=True)
        ]
    return Instant(quaternion, position, twist)


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


def _carried_back(x: Rows, b: Instant) -> Rows:
    """The series of X = Ad(b^-1) x.

    X' = Ad(b^-1) x' - [V, X] with the body twist V of b, and likewise for the derivatives of x. So
    their values at this instant give all coefficients, one order of time after the other:
    X_(k+1) = (Y_k - sum_m [V_m, X_(k-m)]) / (k+1), where Y is the series that belongs to x'.
    """
    R, p, V = _matrix(b.quaternion), b.position, b.twist
    series: Rows = []  # of the derivatives of x, the highest first, and of x at last
    for j in range(len(x) - 1, -1, -1):
        derivative = [y * _FACTORIALS[j] for y in x[j]] if j > 1 else x[j]
        rows = [_adjoint_back(R, p, derivative)]
        for k, total in enumerate(series):
            for m in range(k + 1):
                total = list(map(sub, total, _bracket(V[m], rows[k - m])))
            rows.append([y / (k + 1) for y in total] if k else total)
        series = rows
    return series


def _adjoint_back(R: Rows, p: Row, x: Row) -> Row:
    """Ad(b^-1) x for the pose b = (R, p)."""
    w, v = x[:3], x[3:]
    if not any(w):
        return w + _times_back(R, v)
    return _times_back(R, w) + _times_back(R, list(map(add, v, _cross(w, p))))


def _bracket(a: Row, b: Row) -> Row:
    """ad(a) b, which is the commutator of two twists."""
    p, q, r, u, v, w = a
    x, y, z, f, g, h = b
    linear = [q * h - r * g, r * f - p * h, p * g - q * f]
    if not (x or y or z):
        return [0.0, 0.0, 0.0, *linear]
    turn = [q * z - r * y, r * x - p * z, p * y - q * x]
    return turn + list(map(add, linear, (v * z - w * y, w * x - u * z, u * y - v * x)))
