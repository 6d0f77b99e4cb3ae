"""S-curves: motions from rest to rest within limits of velocity, acceleration, jerk and jounce.

A law s(t) from 0 to 1 is a step that passes through moving averages of the lengths T1, T2, ...:
its velocity is a pulse of length T1, its acceleration has phases of length T2, and so on. As long
as T3 >= T4, T2 >= T3 + T4, T1 >= T2 + T3 + T4, its derivatives are at most 1/T1, 1/(T1 T2),
1/(T1 T2 T3), ..., and it takes T1 + T2 + ... in all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jounce._core.arrays import reals, shown
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError
from jounce.model._checks import check_flag
from jounce.trajectories import _checks
from jounce.trajectories.curve import Segment

__all__ = ["Limits", "PiecewisePolynomial", "leg_laws", "s_curve", "through_waypoints"]


class PiecewisePolynomial(Segment):
    """Polynomials one after the other, ``sum_k c_k (t - breaks[i])^k`` from ``breaks[i]`` on.

    Args:
        breaks: (m+1,) increasing times, s.
        coefficients: (m, d+1, n): for each piece c_0 to c_d.
        extend: "error" (default), "hold" or "formula", see `jounce.trajectories.Segment`.

    Examples:
        >>> curve = jc.trajectories.PiecewisePolynomial([0, 1, 2], [[[0], [1]], [[1], [0]]])
        >>> curve([0.5, 1.5]).ravel()
        array([0.5, 1. ])
    """

    breaks: Array
    coefficients: Array

    def __init__(self, breaks: ArrayLike, coefficients: ArrayLike, extend: str = "error") -> None:
        times, c = _checks.vector("breaks", breaks), _checks.numbers("coefficients", coefficients)
        _checks.increasing("breaks", times)
        if c.ndim != 3 or len(c) != times.size - 1 or not len(c) or not c.shape[1]:
            raise ArgumentError(
                f"coefficients: expected shape ({times.size - 1}, d+1, n), got {c.shape}"
            )
        super().__init__(
            breaks=times,
            coefficients=c,
            extend=_checks.choice("extend", extend, _checks.EXTENSIONS),
            interval=(float(times[0]), float(times[-1])),
        )

    @property
    def size(self) -> int:
        """The number n of components."""
        return int(self.coefficients.shape[2])

    def mapped(self, matrix: Array, offset: Array) -> PiecewisePolynomial:
        """The curve ``offset + matrix @ self``, for a matrix of shape (new size, size).

        Examples:
            >>> law = jc.trajectories.s_curve(0.0, 1.0, velocity=1.0, acceleration=2.0)
            >>> line = law.mapped(np.array([[0.3], [-0.4]]), np.array([1.0, 2.0]))
            >>> line(line.interval[1]).round(12)  # from (1, 2), by (0.3, -0.4)
            array([1.3, 1.6])
        """
        coefficients = self.coefficients @ matrix.T
        coefficients[:, 0] += offset
        return PiecewisePolynomial(self.breaks, coefficients, self.extend)

    def _formula(self, t: Array, orders: int) -> Array:
        piece = np.searchsorted(self.breaks[1:-1], t, side="right")
        u, c = t - self.breaks[piece], self.coefficients[piece]  # (N, d+1, n)
        degree = c.shape[1] - 1
        out = np.zeros((orders, self.size, t.size))
        for k in range(min(orders, degree + 1)):
            value = np.zeros((t.size, self.size))
            for i in range(degree, k - 1, -1):
                value = value * u[:, None] + math.comb(i, k) * c[:, i]
            out[k] = value.T
        return out


class Limits(NamedTuple):
    """Largest absolute derivatives, (n,) each, infinite where there is none."""

    velocity: Array
    acceleration: Array
    jerk: Array
    jounce: Array

    @classmethod
    def of(
        cls,
        size: int,
        velocity: ArrayLike,
        acceleration: ArrayLike,
        jerk: ArrayLike,
        jounce: ArrayLike | None,
    ) -> Limits:
        """Check limits of n components; one number counts for all."""
        given = (velocity, acceleration, jerk, np.inf if jounce is None else jounce)
        limits = cls(*(_limit(*x, size) for x in zip(cls._fields, given, strict=True)))
        if np.isinf(limits.acceleration).any():
            raise ArgumentError("acceleration: expected finite limits")
        return limits

    def along(self, change: Array) -> list[float]:
        """Limits of a law s(t) such that ``s change`` keeps these, without infinite last ones."""
        size = np.abs(change)
        with np.errstate(divide="ignore"):
            out = [float(np.min(limit / size, where=size > 0, initial=np.inf)) for limit in self]
        while math.isinf(out[-1]) and len(out) > 2:
            out.pop()
        return out


def _limit(name: str, value: ArrayLike, size: int) -> Array:
    array = reals(name, value)
    if array.shape not in ((), (size,)) or not (array > 0).all():
        raise ArgumentError(f"{name}: expected one positive number or {size}, got {shown(value)}")
    return np.broadcast_to(array, (size,))


def s_curve(
    initial: ArrayLike,
    final: ArrayLike,
    velocity: ArrayLike,
    acceleration: ArrayLike,
    jerk: ArrayLike = np.inf,
    jounce: ArrayLike | None = None,
    start: float = 0.0,
    extend: str = "error",
) -> PiecewisePolynomial:
    """From rest to rest on a straight line, as fast as limits of the derivatives allow.

    All components move in proportion. With limits up to the acceleration or up to the jerk this is
    the shortest time that any motion along the line takes. With a limit of the jounce it is the
    shortest of those whose jerk, acceleration and velocity each rise to a plateau and fall in the
    same way; motions without this symmetry can be faster (by 7% where no other limit is met).

    Args:
        initial: number or (n,).
        final: number or (n,).
        velocity: largest absolute velocity, one number or (n,); infinite for none.
        acceleration: likewise, finite.
        jerk: likewise.
        jounce: likewise, the derivative of the jerk.
        start: time of departure, s.
        extend: "error" (default), "hold" or "formula", see `Segment`.

    Returns:
        The curve; ``curve.interval`` tells how long it takes.

    Examples:
        >>> from jounce import trajectories
        >>> curve = trajectories.s_curve(0.0, 1.0, velocity=1.0, acceleration=2.0, jerk=8.0)
        >>> curve.interval
        (0.0, 1.75)
    """
    ends = np.array(_checks.vectors(initial=initial, final=final))
    return through_waypoints(ends, velocity, acceleration, jerk, jounce, start=start, extend=extend)


def through_waypoints(
    points: ArrayLike,
    velocity: ArrayLike,
    acceleration: ArrayLike,
    jerk: ArrayLike = np.inf,
    jounce: ArrayLike | None = None,
    *,
    blend: bool = False,
    start: float = 0.0,
    extend: str = "error",
) -> PiecewisePolynomial:
    """Along straight lines from point to point, within limits of the derivatives.

    Without `blend` it stops at every point: each leg is an `s_curve`, and the whole is the fastest
    that stops there, where that is. With `blend` it does not stop: the corners are rounded, the
    points inside are passed by, not through, and the limits hold; that is not the fastest way.

    Args:
        points: (m, n), or (m,) for one component.
        velocity: largest absolute velocity, one number or (n,); infinite for none, except with
            `blend`.
        acceleration: likewise, finite.
        jerk: likewise.
        jounce: likewise.
        blend: whether to round the corners instead of stopping.
        start: time of departure, s.
        extend: "error" (default), "hold" or "formula", see `Segment`.

    Examples:
        >>> curve = jc.trajectories.through_waypoints([[0.0], [1.0], [0.5]], 1.0, 4.0, 40.0)
        >>> start, end = curve.interval
        >>> curve.series(end, 1).ravel().round(9) + 0.0
        array([0.5, 0. ])
    """
    rows = _checks.rows("points", points, 2)
    limits = Limits.of(rows.shape[1], velocity, acceleration, jerk, jounce)
    laws = leg_laws(np.diff(rows, axis=0), limits, blend, start, extend)
    return laws.mapped(np.diff(rows, axis=0).T, rows[0])


def leg_laws(
    changes: Array, limits: Limits, blend: bool, start: float, extend: str
) -> PiecewisePolynomial:
    """A law from 0 to 1 for each leg, (legs, n) changes, one after the other."""
    changes = np.asarray(changes, float)
    check_flag("blend", blend)
    if not np.abs(changes).max(axis=1, initial=0.0).all():
        raise ArgumentError("points: expected each to differ from the one before")
    legs = _blended(changes, limits) if blend else [_durations(limits.along(d)) for d in changes]
    departures = [_checks.number("start", start)]
    for lengths in legs:
        departures.append(departures[-1] + (lengths[0] if blend else sum(lengths)))
    top = max(map(len, legs))
    ends = [
        departure + sum(part)
        for departure, lengths in zip(departures, legs, strict=False)
        for count in range(len(lengths) + 1)
        for part in itertools.combinations(lengths, count)
    ]
    breaks = _distinct(np.array(ends))
    columns = [
        _integrated(breaks, departure, lengths, top)
        for departure, lengths in zip(departures, legs, strict=False)
    ]
    return PiecewisePolynomial(breaks, np.stack(columns, axis=-1), extend)


def _distinct(times: Array) -> Array:
    """Sorted times without those that rounding alone tells apart."""
    times = np.sort(times)
    apart = np.diff(times) > 1e-13 * np.abs(times).max()
    kept: Array = times[np.concatenate([[True], apart])]
    return kept


def _integrated(breaks: Array, departure: float, lengths: Sequence[float], top: int) -> Array:
    """Coefficients (pieces, top+1) of one law, whose highest derivative is constant in pieces."""
    order, middle = len(lengths), (breaks[1:] + breaks[:-1]) / 2 - departure
    highest = np.zeros(middle.size)
    for signs in itertools.product((0, 1), repeat=order - 1):
        at = sum(length for length, used in zip(lengths, signs, strict=False) if used)
        inside = (middle > at) & (middle < at + lengths[-1])
        highest += (-1) ** sum(signs) * inside
    highest /= math.prod(lengths)
    out = np.zeros((middle.size, top + 1))
    now = np.zeros(order + 1)  # derivatives at the start of a piece
    factorials = np.array([math.factorial(k) for k in range(order + 1)])
    for i, h in enumerate(np.diff(breaks)):
        now[order] = highest[i]
        out[i, : order + 1] = now / factorials
        powers = np.array([h**k / math.factorial(k) for k in range(order + 1)])
        now = np.array([now[k:] @ powers[: order + 1 - k] for k in range(order + 1)])
    return out


def _durations(limits: Sequence[float]) -> list[float]:
    """The lengths T1, T2, ... of the shortest law within limits of its derivatives 1, 2, ....

    From the last one on, T_k is as long as it takes to reach the limit of a lower derivative, or
    the end, with all lengths before it as short as they may be: with R = T_(k+1) + ... these are
    T_k + R, 2 (T_k + R), 4 (T_k + R), ....
    """
    peak, rest, lengths = limits[-1], 0.0, [0.0] * len(limits)
    for k in range(len(limits), 1, -1):
        reached = []
        for j, limit in enumerate((1.0, *limits[: k - 1])):
            n = k - 1 - j
            reached.append(_length(limit / peak / 2 ** (n * (n - 1) / 2), n, rest))
        lengths[k - 1] = max(min(reached), rest)
        rest += lengths[k - 1]
        peak *= lengths[k - 1]
    lengths[0] = max(1.0 / peak, rest)
    return lengths


def _length(product: float, n: int, rest: float) -> float:
    """The x with x (x + rest)^n = product, by Newton's method from above."""
    if math.isinf(product):
        return math.inf
    x = math.exp(math.log(product) / (n + 1))
    for _ in range(60):
        value = math.log(x) + n * math.log(x + rest) - math.log(product)
        x *= math.exp(-value / (1 + n * x / (x + rest)))
        if abs(value) < 1e-15:
            break
    return x


def _blended(changes: Array, limits: Limits) -> list[list[float]]:
    """Lengths of legs that begin when the one before has had its pulse; filters are common.

    Velocities are then averages of those of neighboring legs, and jump by no more than those do.
    """
    if np.isinf(limits.velocity).any():
        raise ArgumentError("velocity: expected finite limits for a blend")
    pulses = (np.abs(changes) / limits.velocity).max(axis=1)
    filters: list[float] = []
    while True:
        velocities = changes / pulses[:, None]
        still = np.zeros((1, changes.shape[1]))
        jump = np.abs(np.diff(np.concatenate([still, velocities, still]), axis=0)).max(axis=0)
        filters = _filters(jump, limits)
        if (pulses >= sum(filters)).all():
            return [[float(pulse), *filters] for pulse in pulses]
        pulses = np.maximum(pulses, 1.05 * sum(filters))


def _filters(jump: Array, limits: Limits) -> list[float]:
    """Lengths T2, T3, ... that bring a jump of the velocities within the other limits."""
    lengths: list[float] = []
    for limit in limits[1:]:
        if np.isinf(limit).all():
            break
        length = float((jump / limit).max()) / math.prod(lengths)
        lengths.append(max(length, 1e-9 * lengths[0]) if lengths else length)
    for k in range(len(lengths) - 2, -1, -1):
        lengths[k] = max(lengths[k], sum(lengths[k + 1 :]))
    return lengths
