"""Laws s(t) from 0 to 1, from rest to rest, in whole steps of time.

A law is a step that passes through moving averages of the lengths T1, T2, ...: its velocity is a
pulse of length T1, its acceleration has phases of length T2, and so on. As long as T3 >= T4,
T2 >= T3 + T4, T1 >= T2 + T3 + T4, its derivatives are at most 1/T1, 1/(T1 T2), 1/(T1 T2 T3), ...,
and it takes T1 + T2 + ... in all.

Times are doubles. So the lengths are whole numbers of steps of 2^e s, the spacing of doubles at
the time that is farthest from zero: breaks are sums of lengths without rounding, and coefficients
are ratios of integers that are rounded once. Each length is rounded up, the last one first, and
those before it know that: the limits hold, and what the motion takes longer is some steps. A
limit so high that its phases would be shorter than a step is not reached.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from decimal import (
    ROUND_CEILING,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)

import numpy as np

from jounce._types import Array

__all__ = ["DIGITS", "jumps", "pieces", "shortest", "spacing", "whole"]

# Of lengths: what they are rounded to is decided by far more digits than doubles have, and no
# limit that a double holds overflows.
DIGITS = Context(prec=34, traps=[InvalidOperation, DivisionByZero, Overflow])

# Roundings of 34 digits; lengths that exceed a whole number by no more than that are it.
_ROUNDING = Decimal("1e-28")

# What makes a root in doubles larger than it is.
_ABOVE = 1 + 1e-14


def spacing(time: float) -> int:
    """The exponent e of the distance 2^e of a double to the next one away from zero."""
    return math.frexp(math.ulp(time))[1] - 1


def whole(length: Decimal) -> Decimal:
    """The least number of steps, at least one, that a length in steps fits into."""
    steps = (length - length * _ROUNDING).to_integral_value(ROUND_CEILING)
    return max(steps, Decimal(1))


def shortest(limits: Sequence[Decimal], exponent: int | None = None) -> list[Decimal]:
    """The lengths T1, T2, ... of the shortest law within limits of its derivatives 1, 2, ....

    From the last one on, T_k is as long as it takes to reach the limit of a lower derivative, or
    the end, with all lengths before it as short as they may be: with R = T_(k+1) + ... these are
    T_k + R, 2 (T_k + R), 4 (T_k + R), .... For a longer T_k, the derivative k-1 rises to what is
    reached then.

    Args:
        limits: in 1/s, 1/s^2, ..., infinite for none but the last.
        exponent: e of steps of 2^e s; by default lengths need not be whole.

    Returns:
        In steps, or in s.
    """
    step = Decimal(1) if exponent is None else Decimal(2) ** exponent
    fit = Decimal if exponent is None else whole
    bounds = [Decimal(1), *(limit * step**k for k, limit in enumerate(limits, 1))]
    peak, rest, lengths = bounds[-1], Decimal(0), []
    for k in range(len(limits), 1, -1):
        below = [x / 2 ** (n * (n - 1) // 2) for n, x in enumerate(bounds[k - 1 :: -1])]
        length = min(_length(bound / peak, n, rest) for n, bound in enumerate(below))
        length = fit(max(length, rest))
        widest = length + rest
        peak = min(peak * length, *(bound / widest**n for n, bound in enumerate(below)))
        rest = widest
        lengths.append(length)
    return [fit(max(1 / peak, rest)), *reversed(lengths)]


def _length(product: Decimal, n: int, rest: Decimal) -> Decimal:
    """The x with x (x + rest)^n = product, by Newton's method from above, where it is convex."""
    if n == 0 or product.is_infinite():
        return product
    if n == 1:
        return 2 * product / (rest + (rest * rest + 4 * product).sqrt())
    tens = product.adjusted() // (n + 1)
    x = Decimal(_ABOVE * float(product.scaleb(-tens * (n + 1))) ** (1 / (n + 1))).scaleb(tens)
    for _ in range(100):
        power = (x + rest) ** (n - 1)
        step = (x * (x + rest) * power - product) / (power * (x + rest + n * x))
        x -= step
        if step <= x * _ROUNDING:
            break
    return x


def jumps(lengths: Sequence[int]) -> dict[int, int]:
    """When the last derivative of a law jumps and by how much, in units of its peak."""
    out: Counter[int] = Counter()
    for count in range(len(lengths) + 1):
        for part in itertools.combinations(lengths, count):
            out[sum(part)] += (-1) ** count
    return {time: jump for time, jump in out.items() if jump}


def pieces(
    times: Sequence[int], departure: int, lengths: Sequence[int], exponent: int
) -> tuple[int, Array]:
    """Where a law is neither 0 nor 1.

    Returns the number of the time when it departs, and its Taylor coefficients (m, order+1) from
    there on about each time until it has arrived. The last derivative is constant in between, so
    that with the product N of the lengths all coefficients, in steps and times N order!, are
    integers.
    """
    order, jump = len(lengths), jumps(lengths)
    unit = math.prod(lengths) * math.factorial(order)
    first, last = (bisect_left(times, departure + after) for after in (0, sum(lengths)))
    state, rows = [0] * (order + 1), []
    for i in range(first, last):
        state[order] += jump.get(times[i] - departure, 0)
        rows.append(_in_seconds(state, unit, exponent))
        _advance(state, times[i + 1] - times[i])
    rows.append(_in_seconds(state, unit, exponent))
    return first, np.array(rows)


def _advance(state: list[int], by: int) -> None:
    """Coefficients of a polynomial about a later place, by repeated synthetic division."""
    for k in range(len(state) - 1):
        for i in range(len(state) - 2, k - 1, -1):
            state[i] += by * state[i + 1]


def _in_seconds(state: Sequence[int], unit: int, exponent: int) -> list[float]:
    return [math.ldexp(x / unit, -k * exponent) for k, x in enumerate(state)]
