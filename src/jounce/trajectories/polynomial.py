"""Polynomials from conditions at two ends: quintic, septic, and any other degree."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from jounce.trajectories import _checks
from jounce.trajectories.curve import Segment
from jounce.trajectories.scalar import Polynomial

__all__ = ["PolynomialSegment"]

Array = npt.NDArray[np.float64]
Rational = npt.NDArray[Any]  # object arrays of fractions


class PolynomialSegment(Segment):
    """The polynomial with given value and derivatives at both ends (two-point Hermite).

    With m conditions at each end its degree is 2m - 1: value and velocity give a cubic, also the
    acceleration a quintic, also the jerk a septic, and so on. With u = (t - start) / duration,

        p = A(u) + u^m Q(u),    A from the initial conditions,    Q from the final ones.

    The coefficients are found in rational arithmetic and rounded once. The polynomial is kept
    expanded about both ends and evaluated from the nearer one, so the conditions are met to
    rounding and nothing cancels at high degree.

    Args:
        initial: (m,) for one component, or (m, n): value, first derivative, ... at `start`.
        final: likewise at the end; it may have another number of conditions.
        duration: s.
        start: time of the initial conditions, s.
        extend: "error" (default), "hold" or "formula", see `jounce.trajectories.Segment`.
    """

    initial: Array
    final: Array
    duration: float
    start: float
    _from_start: Polynomial
    _from_end: Polynomial

    def __init__(
        self,
        initial: npt.ArrayLike,
        final: npt.ArrayLike,
        duration: float,
        start: float = 0.0,
        extend: str = "error",
    ) -> None:
        first, last = _checks.rows("initial", initial), _checks.rows("final", final)
        if first.shape[1] != last.shape[1]:
            raise ValueError(
                f"initial and final: expected one size, got {first.shape[1]} and {last.shape[1]}"
            )
        duration, start = _checks.positive("duration", duration), _checks.number("start", start)
        head, tail = _two_point_hermite(first, last, Fraction(duration))
        super().__init__(
            initial=first,
            final=last,
            duration=duration,
            start=start,
            extend=_checks.choice("extend", extend, _checks.EXTENSIONS),
            interval=(start, start + duration),
            _from_start=Polynomial(head, start),
            _from_end=Polynomial(tail, start + duration),
        )

    @classmethod
    def rest_to_rest(
        cls,
        initial: npt.ArrayLike,
        final: npt.ArrayLike,
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
        """
        if _checks.integer("degree", degree, 1) % 2 == 0:
            raise ValueError(f"degree: expected an odd number, got {degree}")
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
        near_start = t - self.start < self.duration / 2
        return np.where(
            near_start, self._from_start.taylor(t, orders), self._from_end.taylor(t, orders)
        )


def _two_point_hermite(first: Array, last: Array, duration: Fraction) -> tuple[Array, Array]:
    """Coefficients of the polynomial in powers of (t - start) and of (t - end).

    Both are exact up to one rounding. In units of the duration, with v = u - 1 and m the number
    of initial conditions, Q(v) = (E(v) - A(1 + v)) (1 + v)^(-m) up to the order of the final
    conditions E.
    """
    m, k = len(first), len(last)
    A = _pad(_scaled_taylor(first, duration), m + k)
    E = _scaled_taylor(last, duration)
    inverse_power = [(-1) ** i * math.comb(m + i - 1, i) for i in range(k)]  # of (1 + v)^-m
    Q = _toeplitz(inverse_power) @ (E - (_shift(m + k, 1) @ A)[:k])
    from_start = A
    from_start[m:] = _shift(k, -1) @ Q
    from_end = _shift(m + k, 1) @ from_start
    units = np.array([duration**i for i in range(m + k)], dtype=object)[:, None]
    return (from_start / units).astype(float), (from_end / units).astype(float)


def _scaled_taylor(derivatives: Array, duration: Fraction) -> Rational:
    rows = [
        [Fraction(x) * duration**i / math.factorial(i) for x in row]
        for i, row in enumerate(derivatives.tolist())
    ]
    return np.array(rows, dtype=object).reshape(derivatives.shape)


def _pad(rows: Rational, count: int) -> Rational:
    out = np.full((count, rows.shape[1]), Fraction(0), dtype=object)
    out[: len(rows)] = rows
    return out


def _shift(count: int, by: int) -> Rational:
    """The matrix that takes the coefficients of p(x) to those of p(x + by), by = 1 or -1."""
    entries = [[math.comb(j, i) * by ** max(j - i, 0) for j in range(count)] for i in range(count)]
    return np.array(entries, dtype=object).reshape(count, count)


def _toeplitz(column: list[int]) -> Rational:
    """The matrix of the product with a power series."""
    count = len(column)
    entries = [[column[i - j] if i >= j else 0 for j in range(count)] for i in range(count)]
    return np.array(entries, dtype=object).reshape(count, count)
