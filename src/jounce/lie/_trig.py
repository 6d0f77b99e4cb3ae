"""Trigonometric coefficients of the closed forms in `jounce.lie`, as functions of theta squared.

Taking s = theta^2 instead of theta keeps every coefficient an entire (or meromorphic) function of
its argument: no square root of zero, no branch at the identity, and complex arguments pass through
analytically, so that complex-step derivatives are exact. A coefficient is summed as a power series
where its closed form would cancel. Measured against 60 digits, the relative error is at most 3 eps
below the switch and 7 eps above it, as far as the zeros and the pole at theta = 2 pi allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from jounce._types import AnyArray

# Below this squared angle the coefficients are summed. It covers the range of `log`, s <= pi^2, and
# a little more. The last term of the Stumpff series is below 1e-17 there, that of the cotangent
# series below 1e-19.
SWITCH = 10.0
_STUMPFF_4 = [(-1.0) ** i / math.factorial(2 * i + 4) for i in range(15)]
_STUMPFF_5 = [(-1.0) ** i / math.factorial(2 * i + 5) for i in range(15)]

_FOUR_PI_SQUARED = 4.0 * math.pi**2
_ZETA_MINUS_ONE = (  # zeta(2m) - 1 for m = 1, 2, ...
    0.6449340668482264,
    0.08232323371113819,
    0.01734306198444914,
    0.00407735619794434,
    0.0009945751278180853,
    0.0002460865533080483,
    6.124813505870483e-05,
    1.528225940865187e-05,
    3.81729326499984e-06,
    9.539620338727962e-07,
    2.38450502727733e-07,
    5.960818905125948e-08,
    1.4901554828365043e-08,
    3.725334024788457e-09,
    9.313274324196682e-10,
    2.3283118336765053e-10,
)
_COTANGENT = [2.0 * zeta / _FOUR_PI_SQUARED ** (m + 1) for m, zeta in enumerate(_ZETA_MINUS_ONE)]
_COTANGENT_PRIME = [m * coefficient for m, coefficient in enumerate(_COTANGENT)][1:]
_COTANGENT_SECOND = [m * coefficient for m, coefficient in enumerate(_COTANGENT_PRIME)][1:]


def stumpff(s: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray, AnyArray, AnyArray]:
    """The Stumpff functions c_0 to c_5 of the squared angle s = theta^2.

    c_k(s) = sum_i (-s)^i / (k + 2i)!, that is

        c_0 = cos(theta)                     c_1 = sin(theta) / theta
        c_2 = (1 - cos(theta)) / theta^2     c_3 = (theta - sin(theta)) / theta^3

    and c_k = 1/k! - s c_{k+2}, which runs downward (stable) below a switch and upward above it.
    Their derivatives are dc_k/ds = (k c_{k+2} - c_{k+1}) / 2.
    """
    c2, c3, c4, c5 = _piecewise(s, _stumpff_series, _stumpff_closed)
    near = np.abs(s) < 1
    theta = np.sqrt(np.where(near, 1.0, s))
    c0 = np.where(near, 1 - s * c2, np.cos(theta))
    c1 = np.where(near, 1 - s * c3, np.sin(theta) / theta)
    return c0, c1, c2, c3, c4, c5


def _stumpff_series(s: AnyArray) -> tuple[AnyArray, ...]:
    c4, c5 = _horner(_STUMPFF_4, s), _horner(_STUMPFF_5, s)
    return 1 / 2 - s * c4, 1 / 6 - s * c5, c4, c5


def _stumpff_closed(s: AnyArray) -> tuple[AnyArray, ...]:
    theta = np.sqrt(s)
    c2 = (np.sin(theta / 2) / theta) ** 2 * 2
    c3 = (1 - np.sin(theta) / theta) / s
    return c2, c3, (1 / 2 - c2) / s, (1 / 6 - c3) / s


def cotangent(s: AnyArray) -> tuple[AnyArray, AnyArray]:
    """The coefficient e(s) = (1 - (theta/2) cot(theta/2)) / theta^2 and its derivative de/ds.

    Both have their first pole at theta = 2 pi. Below the switch the pole is split off,

        e = 2 / (4 pi^2 - s) + sum_m 2 (zeta(2m) - 1) s^(m-1) / (4 pi^2)^m,

    from the partial fractions of the cotangent: all terms are positive, nothing cancels.
    """
    e, e_prime = _piecewise(s, _cotangent_series, _cotangent_closed)
    return e, e_prime


def cotangent_second(s: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """The coefficient e(s) of `cotangent` with its first two derivatives.

    Above the switch the second follows from s e' = 1/8 - 3 e / 2 + s e^2 / 2, differentiated.
    """
    e, e_prime = cotangent(s)

    def closed(s: AnyArray) -> tuple[AnyArray, ...]:
        e, e_prime = _cotangent_closed(s)
        return ((e**2 / 2 + (s * e - 5 / 2) * e_prime) / s,)

    def series(s: AnyArray) -> tuple[AnyArray, ...]:
        return (4 / (_FOUR_PI_SQUARED - s) ** 3 + _horner(_COTANGENT_SECOND, s),)

    return e, e_prime, _piecewise(s, series, closed)[0]


def _cotangent_series(s: AnyArray) -> tuple[AnyArray, ...]:
    pole = 1 / (_FOUR_PI_SQUARED - s)
    return 2 * pole + _horner(_COTANGENT, s), 2 * pole**2 + _horner(_COTANGENT_PRIME, s)


def _cotangent_closed(s: AnyArray) -> tuple[AnyArray, ...]:
    half = np.sqrt(s) / 2
    c2, c3, _, _ = _stumpff_closed(s)
    e = (1 - half * np.cos(half) / np.sin(half)) / s
    return e, (c3 / (4 * c2) - e) / s


def _piecewise(
    s: AnyArray,
    below: Callable[[AnyArray], tuple[AnyArray, ...]],
    above: Callable[[AnyArray], tuple[AnyArray, ...]],
) -> tuple[AnyArray, ...]:
    """Evaluate each branch only on its own side of the switch, so that neither meets its pole."""
    near = np.abs(s) < SWITCH
    if near.all():
        return below(s)
    if not near.any():
        return above(s)
    pairs = zip(below(np.where(near, s, 0.0)), above(np.where(near, SWITCH, s)), strict=True)
    return tuple(np.where(near, a, b) for a, b in pairs)


def _horner(coefficients: list[float], s: AnyArray) -> AnyArray:
    total = np.full_like(s, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * s + coefficient
    return total
