"""S-curves: motions from rest to rest within limits of velocity, acceleration, jerk and jounce.

Each leg goes along its line by a law s(t) from 0 to 1, see `_step_laws` for what that is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import NamedTuple

import numpy as np

from jounce._core import memory
from jounce._core.arrays import reals, shown
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError
from jounce.model._checks import check_flag
from jounce.model.nodes import frozen
from jounce.trajectories import _checks, _step_laws
from jounce.trajectories.curve import Segment

__all__ = [
    "Limits",
    "PiecewisePolynomial",
    "leg_laws",
    "s_curve",
    "through_waypoints",
]

# Exponents of two between which derivatives of a motion keep all their digits.
_LEAST, _MOST = -960.0, 1022.0


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
    _end: Array | None = None
    """(d+1, n) coefficients of the last piece about the last break, where they are known."""

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
        coefficients = self._anchored @ matrix.T
        coefficients[:, 0] += offset
        return _joined(self.breaks, coefficients, self.extend)

    @property
    def _anchored(self) -> Array:
        """Coefficients about each break, the last one included if they are known there."""
        if self._end is None:
            return self.coefficients
        return np.concatenate([self.coefficients, self._end[None]])

    def _formula(self, t: Array, orders: int) -> Array:
        piece = np.searchsorted(self.breaks[1:-1], t, side="right")
        c = self.coefficients[piece]  # (N, d+1, n)
        if self._end is not None:
            over = t >= self.breaks[-1]
            piece[over], c[over] = len(self.coefficients), self._end
        u = t - self.breaks[piece]
        degree = c.shape[1] - 1
        out = np.zeros((orders, self.size, t.size))
        for k in range(min(orders, degree + 1)):
            value = np.zeros((t.size, self.size))
            for i in range(degree, k - 1, -1):
                value = value * u[:, None] + math.comb(i, k) * c[:, i]
            out[k] = value.T
        return out


def _joined(breaks: Array, coefficients: Array, extend: str) -> PiecewisePolynomial:
    """Pieces with coefficients (m, d+1, n), or (m+1, d+1, n) about every break."""
    pieces = len(breaks) - 1
    curve = PiecewisePolynomial(breaks, coefficients[:pieces], extend)
    if len(coefficients) > pieces:
        object.__setattr__(curve, "_end", frozen(coefficients[pieces]))
    return curve


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
        if np.isinf(limits[1:]).all(axis=0).any():
            raise ArgumentError("acceleration: expected finite limits, or such of jerk or jounce")
        return limits

    def along(self, change: Array, first: int = 0) -> list[Decimal]:
        """Limits of a law s(t) such that ``s change`` keeps these, without infinite last ones."""
        moving = np.flatnonzero(change)
        sizes = [Decimal(x) for x in np.abs(change[moving]).tolist()]
        rows = (limit[moving].tolist() for limit in self[first:])
        out = [min(Decimal(x) / size for x, size in zip(row, sizes, strict=True)) for row in rows]
        while out[-1].is_infinite():
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

    Breaks are doubles: phases take whole multiples of the spacing of doubles at the end (or at the
    start if that is farther from zero), rounded up. So the limits hold and the goal is met at
    rest, also at `start` = 1.7e9 s where that spacing is 0.24 us, and the motion takes some of
    these spacings longer.

    Args:
        initial: number or (n,).
        final: number or (n,).
        velocity: largest absolute velocity, one number or (n,); infinite for none.
        acceleration: likewise; infinite only with a finite limit of the jerk or the jounce.
        jerk: likewise.
        jounce: likewise, the derivative of the jerk.
        start: time of departure, s.
        extend: "error" (default), "hold" or "formula", see `Segment`.

    Returns:
        The curve; ``curve.interval`` tells how long it takes.

    Raises:
        ArgumentError: limits that are not positive, ends that do not differ, motions so long or
            so short that doubles do not hold their derivatives.

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
        acceleration: likewise; infinite only with a finite limit of the jerk or the jounce.
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
    return leg_laws(_changes(rows), limits, blend, start, extend).along(rows)


def _changes(points: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.diff(points, axis=0)


class Laws(NamedTuple):
    """A law from 0 to 1 for each leg, of which most are 0 or 1 at most times."""

    breaks: Array
    parts: list[tuple[int, Array]]
    """Of each leg the break when it departs, and coefficients (m, order+1) from there on about each
    break until it has arrived."""
    extend: str

    def along(self, points: Array) -> PiecewisePolynomial:
        """From point to point (legs+1, n); where a leg ends, exactly at its point."""
        top = max(rows.shape[1] for _, rows in self.parts)
        coefficients = np.zeros((len(self.breaks), top, points.shape[1]))
        arrivals = [first + len(rows) - 1 for first, rows in self.parts]
        behind = np.maximum.accumulate(arrivals)  # from there on a leg and all before it
        for k, change in enumerate(_changes(points)):
            (first, rows), arrival = self.parts[k], arrivals[k]
            coefficients[first:arrival, : rows.shape[1]] += rows[:-1, :, None] * change
            coefficients[arrival : behind[k], 0] += change
            if arrival == len(self.breaks) - 1:
                coefficients[arrival, 1 : rows.shape[1]] += rows[-1, 1:, None] * change
        coefficients[:, 0] += points[np.searchsorted(behind, np.arange(len(self.breaks)), "right")]
        return _joined(self.breaks, coefficients, self.extend)

    def each(self) -> PiecewisePolynomial:
        """All laws side by side, (legs,)."""
        top = max(rows.shape[1] for _, rows in self.parts)
        size = 8 * len(self.breaks) * top * len(self.parts)
        memory.require("with_limits", size, size, "give it fewer configurations at a time")
        coefficients = np.zeros((len(self.breaks), top, len(self.parts)))
        for k, (first, rows) in enumerate(self.parts):
            arrival = first + len(rows) - 1
            coefficients[first : arrival + 1, : rows.shape[1], k] = rows
            if arrival < len(self.breaks) - 1:
                coefficients[arrival:, :, k] = 0.0
                coefficients[arrival:, 0, k] = 1.0
        return _joined(self.breaks, coefficients, self.extend)


def leg_laws(changes: Array, limits: Limits, blend: bool, start: float, extend: str) -> Laws:
    """A law from 0 to 1 for each leg, (legs, n) changes, one after the other."""
    changes = np.asarray(changes, float)
    check_flag("blend", blend)
    if not np.isfinite(changes).all():
        raise ArgumentError("points: expected distances that doubles hold")
    if not np.abs(changes).max(axis=1, initial=0.0).all():
        raise ArgumentError("points: expected each to differ from the one before")
    start = _checks.number("start", start)
    with localcontext(_step_laws.DIGITS), np.errstate(all="ignore"):
        legs, exponent = _in_steps(changes, limits, blend, start)
    _require_doubles(legs, changes, exponent)
    departures = _departures(legs, blend)
    times = sorted(
        {
            departure + after
            for departure, lengths in zip(departures, legs, strict=True)
            for after in _step_laws.jumps(lengths)
        }
    )
    parts = [
        _step_laws.pieces(times, departure, lengths, exponent)
        for departure, lengths in zip(departures, legs, strict=True)
    ]
    return _from_start(start, times, parts, exponent, extend)


def _from_start(
    start: float, times: Sequence[int], parts: list[tuple[int, Array]], exponent: int, extend: str
) -> Laws:
    """Laws whose times count steps from the start; if no step begins there, from the next one."""
    origin = _steps_before(start, exponent)
    breaks = [math.ldexp(origin + time, exponent) for time in times]
    if breaks[0] > start:
        breaks = [start, *breaks]
        parts = [(first + 1, rows) for first, rows in parts]
    return Laws(np.array(breaks), parts, extend)


def _steps_before(start: float, exponent: int) -> int:
    """The number of the first step of 2^exponent s that begins at a time or later."""
    return math.ceil(math.ldexp(start, -exponent))


def _departures(legs: Sequence[Sequence[int]], blend: bool) -> list[int]:
    """When legs begin, in steps."""
    taken = [lengths[0] if blend else sum(lengths) for lengths in legs[:-1]]
    return list(itertools.accumulate(taken, initial=0))


def _in_steps(
    changes: Array, limits: Limits, blend: bool, start: float
) -> tuple[list[list[int]], int]:
    """Lengths T1, T2, ... of each leg in steps of 2^e s, and e, such that doubles hold all sums."""

    def lengths(exponent: int | None) -> list[list[Decimal]]:
        if blend:
            return _blended(changes, limits, exponent)
        return [_step_laws.shortest(limits.along(change), exponent) for change in changes]

    takes = float(sum(sum(leg) for leg in lengths(None)))
    if not math.isfinite(start + takes):
        raise ArgumentError(f"points: expected a motion that doubles hold, got one of {takes:g} s")
    exponent = _step_laws.spacing(max(abs(start), abs(start + takes)))
    while True:
        legs = [[int(length) for length in leg] for leg in lengths(exponent)]
        end = _steps_before(start, exponent) + sum(map(sum, legs))  # a blend's is earlier
        if end <= 2**53:
            return legs, exponent
        exponent += 1


def _require_doubles(legs: Sequence[Sequence[int]], changes: Array, exponent: int) -> None:
    """Refuse motions whose derivatives, or those of their laws, no double holds."""
    for lengths, change in zip(legs, np.abs(changes).max(axis=1), strict=True):
        peaks = -np.cumsum([math.log2(length) + exponent for length in lengths])
        size = math.log2(change)
        if min(peaks) + min(size, 0.0) < _LEAST or max(peaks) + max(size, 0.0) > _MOST:
            raise ArgumentError(
                "points: expected motions whose derivatives doubles hold, got one over "
                f"{change:g} in {sum(lengths) * 2.0**exponent:g} s"
            )


def _blended(changes: Array, limits: Limits, exponent: int | None) -> list[list[Decimal]]:
    """Lengths of legs that begin when the one before has had its pulse; filters are common.

    No pulse may be shorter than all filters together. Where velocities alone would allow that,
    the shortest pulse is sought by bisection, to 5%.
    """
    if np.isinf(limits.velocity).any():
        raise ArgumentError("velocity: expected finite limits for a blend")
    least = (np.abs(changes) / limits.velocity).max(axis=1)

    def lengths(shortest: float) -> tuple[list[list[Decimal]], float]:
        """Of all legs with no pulse below a given one, and how long that lacks at least."""
        pulses = np.maximum(least, shortest)
        if exponent is not None:
            pulses = np.maximum(np.ceil(np.ldexp(pulses, -exponent)), 1.0)
        filters = _filters(changes / np.ldexp(pulses, exponent or 0)[:, None], limits, exponent)
        lacks = float(np.ldexp(float(sum(filters)) - pulses.min(), exponent or 0))
        return [[Decimal(pulse), *filters] for pulse in pulses.tolist()], lacks

    low = float(least.min())
    legs, lacks = lengths(low)
    if lacks <= 0:
        return legs
    high = low + lacks
    while (found := lengths(high))[1] > 0:
        low, high = high, 2 * high
    while high > 1.05 * low:
        middle = math.sqrt(low) * math.sqrt(high)
        trial = lengths(middle)
        if trial[1] > 0:
            low = middle
        else:
            high, found = middle, trial
    return found[0]


def _filters(velocities: Array, limits: Limits, exponent: int | None) -> list[Decimal]:
    """Lengths T2, T3, ... that bring jumps from velocity to velocity within the other limits.

    They are those of the shortest law of a velocity, over the largest jump of each component:
    what passes through moving averages jumps by no more than it did.
    """
    still = np.zeros_like(velocities[:1])
    jump = np.abs(np.diff(np.concatenate([still, velocities, still]), axis=0)).max(axis=0)
    if not (np.isfinite(jump).all() and jump.any()):
        raise ArgumentError("points: expected a motion whose velocities doubles hold")
    return _step_laws.shortest(limits.along(jump, 1), exponent)
