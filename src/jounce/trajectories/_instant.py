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
from operator import add, mul
from typing import Any

import numpy as np

from jounce.trajectories import curve as curves
from jounce.trajectories.limits import PiecewisePolynomial
from jounce.trajectories.polynomial import PolynomialSegment
from jounce.trajectories.scalar import Circle, HalfCosine, Polynomial, Sinusoid

__all__ = ["FACTORIALS", "Row", "Rows", "Rule", "curve_rule", "derivatives"]

Row = list[float]
Rows = list[Row]
FACTORIALS = tuple(float(math.factorial(k)) for k in range(150))
Rule = Callable[[float, int], Rows]
"""Of a time and a number of orders, at least 1: that many rows of Taylor coefficients."""


def curve_rule(curve: curves.Curve) -> Rule:
    """The rule of a curve."""
    make = _CURVES.get(type(curve))
    return make(curve) if make is not None else lambda t, orders: _by_array(curve, t, orders)


def derivatives(rows: Rows) -> Rows:
    """Taylor coefficients as derivatives."""
    if len(rows) == 3:
        return [rows[0], rows[1], [x + x for x in rows[2]]]
    later = zip(rows[2:], FACTORIALS[2:], strict=False)
    return [*rows[:2], *([x * f for x in row] for row, f in later)]


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
        if type(curve.a) is curves._Scaled and curve.a.curve.size == 1:
            return _line(curve_rule(curve.a.curve), curve.a.factor.tolist(), offset)

        def shifted(t: float, orders: int) -> Rows:
            rows = first(t, orders)
            return [list(map(add, rows[0], offset)), *rows[1:]]

        return shifted
    return lambda t, orders: [
        list(map(add, x, y)) for x, y in zip(first(t, orders), second(t, orders), strict=True)
    ]


def _line(law: Rule, slopes: Row, offset: Row) -> Rule:
    """All components in proportion."""
    if len(slopes) != len(offset):
        slopes = slopes * len(offset)

    def rule(t: float, orders: int) -> Rows:
        rows = [[s * x for x in slopes] for (s,) in law(t, orders)]
        rows[0] = list(map(add, rows[0], offset))
        return rows

    return rule


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
    breaks, coefficients = curve.breaks.tolist(), curve._anchored.tolist()
    inner = breaks[1 : len(coefficients)]

    def rule(t: float, orders: int) -> Rows:
        piece = bisect_right(inner, t)
        return _shifted(coefficients[piece], t - breaks[piece], orders)

    return rule


def _bernstein(curve: PolynomialSegment) -> Rule:
    (start, end), duration = curve.interval, curve.duration
    size, degree = curve.size, curve.degree
    from_start = [[row[::-1] for row in table] for table in curve._tables]
    from_end = curve._tables

    def rule(t: float, orders: int) -> Rows:
        # u^i (1-u)^(n-i) is the distance to the farther end to the n times a ratio below 1 to the i
        past, left = (t - start) / duration, (end - t) / duration
        near, tables = (past, from_start) if past < left else (left, from_end)
        far = 1.0 - near
        ratio, scale, step = near / far, far**degree, 1.0 / (far * duration)
        rows = []
        for table in tables[:orders]:
            row = []
            for coefficients in table:
                total = 0.0
                for x in coefficients:
                    total = total * ratio + x
                row.append(scale * total)
            rows.append(row)
            scale *= step
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
