"""Polynomials from conditions at two ends: quintic, septic, and any other degree."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from jounce._types import AnyArray, Array, ArrayLike
from jounce.errors import ArgumentError
from jounce.trajectories import _checks
from jounce.trajectories.curve import Segment

__all__ = ["PolynomialSegment"]

Rational = AnyArray  # object arrays of fractions


class PolynomialSegment(Segment):
    """The polynomial with given value and derivatives at both ends (two-point Hermite).

    With m conditions at each end its degree is 2m - 1: value and velocity give a cubic, also the
    acceleration a quintic, also the jerk a septic, and so on. With u = (t - start) / duration
    and the degree d, it is kept in Bernstein's form,

        p = sum_i b_i C(d, i) u^i (1 - u)^(d-i),

    whose first m numbers b_i follow from the initial conditions and whose others from the final
    ones. They are found in rational arithmetic, as are their differences of order k, which give
    the k-th derivative, and rounded once. So the conditions are met to rounding, and values do not
    cancel between the ends at any degree, as powers of u would. High derivatives of high degrees
    lose some digits there: order 10 of degree 41 keeps 11, order 30 of degree 63 keeps 7.

    Args:
        initial: (m,) for one component, or (m, n): value, first derivative, ... at `start`.
        final: likewise at the end; it may have another number of conditions.
        duration: s.
        start: time of the initial conditions, s.
        extend: "error" (default), "hold" or "formula", see `jounce.trajectories.Segment`.

    Examples:
        >>> step = jc.trajectories.PolynomialSegment([[0.0], [0.0]], [[1.0], [0.0]], 2.0)
        >>> step.series(1.0, 1).ravel()  # half the way, at 1.5 times the mean speed
        array([0.5 , 0.75])
    """

    initial: Array
    final: Array
    duration: float
    start: float
    _bernstein: tuple[Array, ...]
    _tables: tuple[list[list[float]], ...]
    """The same as lists."""

    def __init__(
        self,
        initial: ArrayLike,
        final: ArrayLike,
        duration: float,
        start: float = 0.0,
        extend: str = "error",
    ) -> None:
        first, last = _checks.rows("initial", initial), _checks.rows("final", final)
        if first.shape[1] != last.shape[1]:
            raise ArgumentError(
                f"initial and final: expected one size, got {first.shape[1]} and {last.shape[1]}"
            )
        duration, start = _checks.positive("duration", duration), _checks.number("start", start)
        try:
            bernstein = tuple(_derivatives(_control_points(first, last, Fraction(duration))))
        except OverflowError:
            raise ArgumentError(
                f"initial and final: too large for a polynomial over {duration} s"
            ) from None
        super().__init__(
            initial=first,
            final=last,
            duration=duration,
            start=start,
            extend=_checks.choice("extend", extend, _checks.EXTENSIONS),
            interval=(start, start + duration),
            _bernstein=bernstein,
            _tables=tuple(table.tolist() for table in bernstein),
        )

    @classmethod
    def rest_to_rest(
        cls,
        initial: ArrayLike,
        final: ArrayLike,
        duration: float,
        degree: int = 5,
        start: float = 0.0,
        extend: str = "error",
    ) -> PolynomialSegment:
        """Move from one value to another with zero derivatives up to (degree - 1)/2 at both ends.

        Degree 3 starts at rest, 5 (minimum jerk) also without acceleration, 7 (minimum snap)
        also without jerk.

        Args:
            initial: number or (n,).
            final: number or (n,).
            duration: s.
            degree: an odd number.
            start: time of departure, s.
            extend: "error" (default), "hold" or "formula".

        Examples:
            >>> move = jc.trajectories.PolynomialSegment.rest_to_rest(0.0, 1.0, 2.0, degree=7)
            >>> move.series(2.0, order=3).ravel() + 0.0  # at rest, also its jerk
            array([1., 0., 0., 0.])
        """
        if _checks.integer("degree", degree, 1) % 2 == 0:
            raise ArgumentError(f"degree: expected an odd number, got {degree}")
        values = np.array(_checks.vectors(initial=initial, final=final))
        ends = np.zeros((2, (degree + 1) // 2, values.shape[1]))
        ends[:, 0] = values
        return cls(ends[0], ends[1], duration, start, extend)

    @property
    def size(self) -> int:
        """The number n of components."""
        return int(self.initial.shape[1])

    @property
    def degree(self) -> int:
        """The degree of the polynomial."""
        return len(self.initial) + len(self.final) - 1

    def _formula(self, t: Array, orders: int) -> Array:
        start, end = self.interval
        past, left = (t - start) / self.duration, (end - t) / self.duration
        near_start = past < left  # the smaller of the two is the exact one
        count = np.arange(self.degree + 1.0)[:, None]
        u = np.where(near_start, past, 1.0 - left) ** count
        rest = np.where(near_start, 1.0 - past, left) ** count
        out = np.zeros((orders, self.size, t.size))
        for k, coefficients in enumerate(self._bernstein[:orders]):
            last = self.degree - k
            out[k] = coefficients @ (u[: last + 1] * rest[last::-1]) / self.duration**k
        return out


def _control_points(first: Array, last: Array, duration: Fraction) -> Rational:
    """The numbers b_i of Bernstein's form, (degree+1, n).

    In units of the duration and with the Taylor coefficients a_i at an end, the j-th number from
    there is sum_i C(j, i) / C(degree, i) a_i; seen from the final end time runs backwards.
    """
    degree = len(first) + len(last) - 1
    head = _from_end(first, duration, degree)
    tail = _from_end(last, -duration, degree)
    return np.concatenate([head, tail[::-1]])


def _from_end(conditions: Array, duration: Fraction, degree: int) -> Rational:
    count = len(conditions)
    taylor = [
        [Fraction(x) * duration**i / math.factorial(i) for x in row]
        for i, row in enumerate(conditions.tolist())
    ]
    weights = [
        [Fraction(math.comb(j, i), math.comb(degree, i)) for i in range(count)]
        for j in range(count)
    ]
    exact: Rational = np.array(weights, object) @ np.array(taylor, object).reshape(conditions.shape)
    return exact


def _derivatives(points: Rational) -> Iterator[Array]:
    """For each order k the factors of u^i (1 - u)^(degree-k-i) in the k-th Taylor coefficient.

    They are C(degree, k) C(degree-k, i) times the k-th differences of b: (n, degree-k+1).
    """
    degree = len(points) - 1
    for k in range(degree + 1):
        weights = [math.comb(degree, k) * math.comb(degree - k, i) for i in range(degree - k + 1)]
        yield (points * np.array(weights, object)[:, None]).T.astype(float)
        points = np.diff(points, axis=0)
