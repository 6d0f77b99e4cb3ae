"""Curves at one instant, in plain numbers.

Controllers ask for one time after the other, where the fixed cost of a NumPy call is many times the
work. So the curves that come with the package have their formulas here a second time, for one
instant; every other curve is asked for an array of one time. A series is a list of rows, one row of
components for each order, as in `_taylor`; tests compare both ways.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import accumulate, repeat
from operator import add, mul
from typing import Any, NamedTuple

import numpy as np

from jounce import lie
from jounce.trajectories import curve as curves
from jounce.trajectories import pose as poses
from jounce.trajectories.limits import PiecewisePolynomial
from jounce.trajectories.polynomial import PolynomialSegment
from jounce.trajectories.scalar import Circle, HalfCosine, Polynomial, Sinusoid

__all__ = ["Instant", "curve_at", "pose_at"]

Row = list[float]
Rows = list[Row]


def curve_at(curve: curves.Curve, t: float, orders: int) -> Rows:
    """Taylor coefficients of a curve, `orders` >= 1 rows of its components."""
    rule = _CURVES.get(type(curve))
    if rule is not None:
        return rule(curve, t, orders)
    rows: Rows = curve.taylor(np.array([t]), orders)[..., 0].tolist()
    return rows


def _constant(curve: curves.Constant, t: float, orders: int) -> Rows:
    value: Row = curve.value.tolist()
    return [value, *[[0.0] * len(value)] * (orders - 1)]


def _sum(curve: Any, t: float, orders: int) -> Rows:
    a, b = curve_at(curve.a, t, orders), curve_at(curve.b, t, orders)
    if len(a[0]) != len(b[0]):
        size = max(len(a[0]), len(b[0]))
        a, b = ([x * (size // len(x)) for x in rows] for rows in (a, b))
    if type(curve.b) is curves.Constant:
        return [list(map(add, a[0], b[0])), *a[1:]]
    return [list(map(add, x, y)) for x, y in zip(a, b, strict=True)]


def _scaled(curve: Any, t: float, orders: int) -> Rows:
    rows, factors = curve_at(curve.curve, t, orders), curve.factor.tolist()
    if len(rows[0]) == 1:
        return [[x * f for f in factors] for (x,) in rows]
    if len(factors) == 1:
        factors = factors * len(rows[0])
    return [list(map(mul, row, factors)) for row in rows]


def _stacked(curve: Any, t: float, orders: int) -> Rows:
    parts = [curve_at(part, t, orders) for part in curve.parts]
    return [[x for part in parts for x in part[k]] for k in range(orders)]


def _components(curve: Any, t: float, orders: int) -> Rows:
    rows, index = curve_at(curve.curve, t, orders), curve.index.tolist()
    return [[row[i] for i in index] for row in rows]


def _segment(formula: Callable[[Any, float, int], Rows]) -> Callable[[Any, float, int], Rows]:
    """What a segment does outside of its interval, around its formula."""

    def rule(curve: Any, t: float, orders: int) -> Rows:
        start, end = curve.interval
        if start <= t <= end or curve.extend == "formula":
            return formula(curve, t, orders)
        if curve.extend == "error":
            curve.taylor(np.array([t]), 0)  # raises, unless t is an end but for rounding
        nearest = min(max(t, start), end)
        rows = formula(curve, nearest, orders)
        if abs(t - nearest) > curves._SLACK * (end - start):
            rows[1:] = [[0.0] * curve.size for _ in range(orders - 1)]
        return rows

    return rule


def _shifted(rows: Rows, u: float, orders: int) -> Rows:
    """Coefficients of a polynomial about a place u away, by repeated synthetic division."""
    rows = list(rows)
    top = len(rows) - 1
    for k in range(min(orders, top)):
        for i in range(top - 1, k - 1, -1):
            rows[i] = [x + u * y for x, y in zip(rows[i], rows[i + 1], strict=True)]
    size = len(rows[0])
    return rows[:orders] + [[0.0] * size for _ in range(orders - top - 1)]


def _polynomial(curve: Polynomial, t: float, orders: int) -> Rows:
    return _shifted(curve.coefficients.tolist(), t - curve.start, orders)


def _pieces(curve: PiecewisePolynomial, t: float, orders: int) -> Rows:
    piece = int(curve.breaks[1:-1].searchsorted(t, side="right"))
    return _shifted(curve.coefficients[piece].tolist(), t - float(curve.breaks[piece]), orders)


def _bernstein(curve: PolynomialSegment, t: float, orders: int) -> Rows:
    start, end = curve.interval
    duration = curve.duration
    past, left = (t - start) / duration, (end - t) / duration
    u, rest = (past, 1.0 - past) if past < left else (1.0 - left, left)
    tables = curve._tables
    last = len(tables) - 1
    ups = list(accumulate(repeat(u, last), mul, initial=1.0))
    downs = list(accumulate(repeat(rest, last), mul, initial=1.0))
    rows, scale = [], 1.0
    for table in tables[:orders]:
        basis = list(map(mul, ups, downs[last::-1]))
        rows.append([scale * sum(map(mul, row, basis)) for row in table])
        scale /= duration
        last -= 1
    missing = orders - len(rows)
    return rows + [[0.0] * len(tables[0])] * missing if missing else rows


def _sine(angle: float, rate: float, orders: int) -> Row:
    """Taylor coefficients of the sine of an angle that grows at a rate."""
    s, c = math.sin(angle), math.cos(angle)
    scale, out = 1.0, []
    for k in range(1, orders + 1):
        out.append(s * scale)
        s, c, scale = c, -s, scale * rate / k
    return out


def _sinusoid(curve: Sinusoid, t: float, orders: int) -> Rows:
    columns = []
    for amplitude, rate, phase, offset in curve._components:
        column = [amplitude * x for x in _sine(rate * t + phase, rate, orders)]
        column[0] += offset
        columns.append(column)
    return list(map(list, zip(*columns, strict=True)))


def _half_cosine(curve: HalfCosine, t: float, orders: int) -> Rows:
    angle, amplitudes = math.pi * (t / curve.duration), curve.amplitude.tolist()
    wave = _sine(angle - math.pi / 2, math.pi / curve.duration, orders)
    lift = math.sin(angle / 2) ** 2
    first = [s + a * lift for s, a in zip(curve.start.tolist(), amplitudes, strict=True)]
    return [first, *([a / 2 * x for a in amplitudes] for x in wave[1:])]


def _circle(curve: Circle, t: float, orders: int) -> Rows:
    angle, r = curve.rate * t + curve.phase, curve.radius
    s, c = r * math.sin(angle), r * math.cos(angle)
    rows, scale = [], 1.0
    for k in range(orders):
        rows.append([c * scale, s * scale, 0.0])
        s, c, scale = c, -s, scale * curve.rate / (k + 1)
    rows[0] = list(map(add, rows[0], curve.center.tolist()))
    return rows


_CURVES: dict[type, Callable[[Any, float, int], Rows]] = {
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


class Instant(NamedTuple):
    """A pose, and the Taylor coefficients of its body twist."""

    quaternion: Row
    position: Row
    twist: Rows


def pose_at(curve: poses.PoseCurve, t: float, orders: int) -> Instant:
    """The pose of a curve and `orders` coefficients of its body twist."""
    rule = _POSES.get(type(curve))
    if rule is not None:
        return rule(curve, t, orders)
    motion = curve.motion(np.array([t]), orders)
    twist = motion.twist[..., 0].tolist()
    return Instant(motion.quaternion[0].tolist(), motion.position[0].tolist(), twist)


def _translation(curve: poses.Translation, t: float, orders: int) -> Instant:
    rows = curve_at(curve.position, t, orders + 1)
    twist = [[0.0, 0.0, 0.0, *(x * k for x in rows[k])] for k in range(1, orders + 1)]
    return Instant(_NO_TURN, rows[0], twist)


def _product(curve: Any, t: float, orders: int) -> Instant:
    return _multiplied(pose_at(curve.left, t, orders), pose_at(curve.right, t, orders))


def _exponentials(curve: poses.ProductOfExponentials, t: float, orders: int) -> Instant:
    rows = curve_at(curve.scalars, t, orders + 1)
    still = [[0.0] * 6 for _ in range(orders)]
    result = Instant(*curve._still, still)
    for i, screw in enumerate(curve.screws.tolist()):
        rates = [rows[k][i] * k for k in range(1, orders + 1)]
        twist = [[x * rate for x in screw] for rate in rates]
        factor = Instant(*_exponential(screw, rows[0][i]), twist)
        first = result.twist is still and curve._starts_at_identity
        result = factor if first else _multiplied(result, factor)
    return result


def _exponential(screw: Row, s: float) -> tuple[Row, Row]:
    """Quaternion and position of exp(screw s)."""
    a, b, c = screw[:3]
    norm = math.sqrt(a * a + b * b + c * c)
    scale = math.sin(0.5 * norm * s) / norm if norm else 0.5 * s
    quaternion = [a * scale, b * scale, c * scale, math.cos(0.5 * norm * s)]
    if not any(screw[3:]):
        return quaternion, [0.0, 0.0, 0.0]
    return quaternion, lie.exp([x * s for x in screw])[:3, 3].tolist()


_POSES: dict[type, Callable[[Any, float, int], Instant]] = {
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


def _convolved(f: Callable[[Any, Row], Row], a: list[Any], b: Rows, k: int) -> Row:
    """Coefficient k of a product f of two series."""
    total = f(a[0], b[k])
    for m in range(1, k + 1):
        total = list(map(add, total, f(a[m], b[k - m])))
    return total


def _carried_back(x: Rows, b: Instant) -> Rows:
    """The series of Ad(b^-1) x, as `_taylor.carry_back`."""
    orders = len(x)
    turning, rotations = [row[:3] for row in b.twist], [_matrix(b.quaternion)]
    for k in range(orders - 1):
        # the rows of R hat(w) are the cross products (row of R) x w
        rows = (_convolved(_cross, [R[i] for R in rotations], turning, k) for i in range(3))
        rotations.append([[y / (k + 1) for y in row] for row in rows])
    w, v = [row[:3] for row in x], [row[3:] for row in x]
    spin = [[0.0, 0.0, 0.0] for _ in range(orders)]
    if any(map(any, w)):
        sliding, places = [row[3:] for row in b.twist], [b.position]
        for k in range(orders - 1):
            places.append([y / (k + 1) for y in _convolved(_times, rotations, sliding, k)])
        for k in range(orders):
            v[k] = list(map(add, v[k], _convolved(_cross, w, places, k)))
        spin = [_convolved(_times_back, rotations, w, k) for k in range(orders)]
    return [spin[k] + _convolved(_times_back, rotations, v, k) for k in range(orders)]
