"""Real roots of polynomials by the signs of their Bernstein coefficients.

On 0 <= x <= 1 a polynomial a_0 + a_1 x + ... of degree n has the Bernstein coefficients

    (1)  b_i = sum_j C(i, j) / C(n, j) a_j,

and no more roots inside than these change their sign; if they do so once, there is one root. An
interval with more is halved (de Casteljau), so that no pair of roots is missed (Lane, Riesenfeld,
BIT 21, 1981).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np

from jounce._types import Array

__all__ = ["Roots", "roots_in_unit_interval"]

EPS = float(np.finfo(float).eps)

SHORTEST = 2.0**-30
"""Intervals below this are not halved: a double root, or two that doubles do not tell apart."""


class Roots(NamedTuple):
    """Where a polynomial is zero in 0 < x <= 1, from left to right."""

    x: list[float]
    direction: list[int]
    """Sign of the change: 1 rising, -1 falling, 0 where it only touches zero."""


class _Piece(NamedTuple):
    left: float
    right: float
    b: Array


def roots_in_unit_interval(a: Array, before: int = 0) -> Roots:
    """Isolate the sign changes of a polynomial with the coefficients a, and where it grazes zero.

    Args:
        a: (n + 1,) coefficients, the constant first.
        before: sign of the polynomial before 0: where it is zero there and goes on with the other
            sign, 0 counts as a root.

    Returns:
        All of them from left to right.
    """
    noise = _noise(a)
    changes = list(_isolated(a, noise))
    if before and abs(a[0]) <= noise and _sign_after_start(a, changes, noise) == -before:
        changes.insert(0, (0.0, -before))
    slope = a[1:] * np.arange(1, len(a))
    for x, _ in _isolated(slope, _noise(slope)):
        apart = all(abs(x - y) > 16 * SHORTEST for y, _ in changes)
        if apart and abs(_value(a, x)) <= noise:
            changes.append((x, 0))
    changes.sort()
    return Roots([x for x, _ in changes], [direction for _, direction in changes])


def _sign_after_start(a: Array, changes: list[tuple[float, int]], noise: float) -> int:
    """The first sign that is no rounding error."""
    if changes:
        return -min(changes)[1]
    value = float(a.sum())
    if abs(value) > noise:
        return int(np.sign(value))
    signs = _signs(_to_bernstein(len(a) - 1) @ a, noise)
    return int(signs[0]) if len(signs) else 0


def _noise(a: Array) -> float:
    """Values that may be rounding errors."""
    return 4 * len(a) * EPS * float(np.abs(a).max(initial=0.0))


def _isolated(a: Array, noise: float) -> Iterator[tuple[float, int]]:
    """Find sign changes inside, with their directions: 0 for several that cannot be told apart."""
    if not len(a):
        return
    pieces = [_Piece(0.0, 1.0, _to_bernstein(len(a) - 1) @ a)]
    while pieces:
        piece = pieces.pop()
        signs = _signs(piece.b, noise)
        changes = int(np.count_nonzero(np.diff(signs)))
        if not changes:
            continue
        if changes == 1 and (np.abs(piece.b[[0, -1]]) > noise).all():
            yield _bisected(a, piece, int(signs[0])), int(signs[-1])
        elif piece.right - piece.left <= SHORTEST:
            change = int(signs[-1]) if signs[0] != signs[-1] else 0
            yield 0.5 * (piece.left + piece.right), change
        else:
            pieces += _halves(piece)[::-1]


def _signs(b: Array, noise: float) -> Array:
    return np.sign(b[np.abs(b) > noise])


@cache
def _to_bernstein(n: int) -> Array:
    """Equation (1) as a matrix."""
    return np.array([[comb(i, j) / comb(n, j) for j in range(n + 1)] for i in range(n + 1)])


def _halves(piece: _Piece) -> list[_Piece]:
    b, middle = piece.b.copy(), 0.5 * (piece.left + piece.right)
    left = np.empty_like(b)
    for k in range(len(b)):
        left[k] = b[0]
        b[: len(b) - 1 - k] = 0.5 * (b[: len(b) - 1 - k] + b[1 : len(b) - k])
    return [_Piece(piece.left, middle, left), _Piece(middle, piece.right, b)]


def _value(a: Array, x: float) -> float:
    value = 0.0
    for c in a[::-1].tolist():
        value = value * x + c
    return value


def _bisected(a: Array, piece: _Piece, sign: int) -> float:
    """Return the one root of an interval, to the last bit but one."""
    left, right = piece.left, piece.right
    while right - left > EPS * right:
        middle = 0.5 * (left + right)
        if middle in (left, right):
            break
        if sign * _value(a, middle) > 0:
            left = middle
        else:
            right = middle
    return 0.5 * (left + right)
