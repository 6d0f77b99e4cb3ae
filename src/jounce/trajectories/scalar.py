"""Curves in closed form: polynomial, half-cosine, sinusoid, circle.

Each is a vector-valued curve; plain numbers as parameters make a curve of size 1.
"""

from __future__ import annotations

import math

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError
from jounce.lie._taylor import factorials
from jounce.trajectories import _checks
from jounce.trajectories.curve import Curve, Segment

__all__ = ["Circle", "HalfCosine", "Polynomial", "Sinusoid"]


class Polynomial(Curve):
    """The polynomial sum_k c_k (t - start)^k.

    `jounce.trajectories.PolynomialSegment` fits one to conditions at two ends.

    Args:
        coefficients: (d+1,) for one component, or (d+1, n): c_0 to c_d, in m/s^k or rad/s^k.
        start: the time about which the powers are taken, s.

    Examples:
        >>> jc.trajectories.Polynomial([1.0, 2.0, 3.0]).series(2.0, 2).ravel()
        array([17., 14.,  6.])
    """

    coefficients: Array
    start: float
    _shifts: Array

    def __init__(self, coefficients: ArrayLike, start: float = 0.0) -> None:
        rows = _checks.rows("coefficients", coefficients)
        super().__init__(
            coefficients=rows, start=_checks.number("start", start), _shifts=_shifts(rows)
        )

    @property
    def size(self) -> int:
        """The number n of components."""
        return int(self.coefficients.shape[1])

    def taylor(self, t: Array, orders: int) -> Array:
        """Taylor coefficients at flat times t (N,): (orders, n, N).

        Examples:
            >>> square = jc.trajectories.Polynomial([0.0, 0.0, 1.0])
            >>> square.taylor(np.array([3.0]), 3).ravel()  # (3 + h)^2 = 9 + 6 h + h^2
            array([9., 6., 1.])
        """
        powers = (t - self.start) ** np.arange(len(self.coefficients))[:, None]
        out = np.zeros((orders, self.size, t.size))
        filled = self._shifts[:orders]
        out[: len(filled)] = filled @ powers
        return out


def _shifts(c: Array) -> Array:
    """The matrices A_k with f_k = A_k (1, u, u^2, ...): entry i is C(i+k, k) c_(i+k)."""
    degrees = range(len(c))
    binomials = np.array([[math.comb(i + k, k) for i in degrees] for k in degrees], float)
    out = np.zeros((len(c), c.shape[1], len(c)))
    for k in degrees:
        count = len(c) - k
        out[k, :, :count] = (binomials[k, :count, None] * c[k:]).T
    return out


class Sinusoid(Curve):
    """The oscillation ``offset + amplitude sin(angular_frequency t + phase)``.

    Sums of sinusoids, as used to identify a robot's parameters, are written with ``+``.

    Args:
        amplitude: number or (n,).
        angular_frequency: number or (n,), rad/s.
        phase: number or (n,), rad.
        offset: number or (n,).

    Examples:
        >>> jc.trajectories.Sinusoid(1.0, 2.0).series(0.0, 1).shape
        (2, 1)
    """

    amplitude: Array
    angular_frequency: Array
    phase: Array
    offset: Array
    _components: tuple[tuple[float, float, float, float], ...]
    """The four numbers of each component."""

    def __init__(
        self,
        amplitude: ArrayLike,
        angular_frequency: ArrayLike,
        phase: ArrayLike = 0.0,
        offset: ArrayLike = 0.0,
    ) -> None:
        fields = {
            "amplitude": amplitude,
            "angular_frequency": angular_frequency,
            "phase": phase,
            "offset": offset,
        }
        vectors = _checks.vectors(**fields)
        components = tuple(zip(*(x.tolist() for x in vectors), strict=True))
        super().__init__(**dict(zip(fields, vectors, strict=True)), _components=components)

    @property
    def size(self) -> int:
        """The number n of components."""
        return self.amplitude.size

    def taylor(self, t: Array, orders: int) -> Array:
        """Taylor coefficients at flat times t (N,): (orders, n, N).

        Examples:
            >>> wave = jc.trajectories.Sinusoid(6.0, 1.0)
            >>> wave.taylor(np.zeros(1), 4).ravel() + 0.0  # 6 sin t = 6 t - t^3 + ...
            array([ 0.,  6.,  0., -1.])
        """
        angle = self.angular_frequency[:, None] * t + self.phase[:, None]
        out = self.amplitude[:, None] * _sine(angle, self.angular_frequency, orders)
        out[:1] += self.offset[:, None]
        return out


class HalfCosine(Segment):
    """From rest to rest on half a cosine: ``start + amplitude/2 (1 - cos(pi t / duration))``.

    The joint references of Ali 2026, Table 3. The acceleration jumps if the curve is held at its
    ends, so by default its formula continues and it swings back.

    Args:
        start: number or (n,), value at t = 0.
        amplitude: number or (n,), the value at t = duration minus that at t = 0.
        duration: time of the half cosine, s.
        extend: "formula" (default), "hold" or "error", see `jounce.trajectories.Segment`.

    Examples:
        >>> curve = jc.trajectories.HalfCosine([0.0], [1.0], 2.0)
        >>> bool(np.allclose(curve.series(2.0, 1).ravel(), [1, 0]))
        True
    """

    start: Array
    amplitude: Array
    duration: float

    def __init__(
        self,
        start: ArrayLike,
        amplitude: ArrayLike,
        duration: float,
        extend: str = "formula",
    ) -> None:
        duration = _checks.positive("duration", duration)
        first, change = _checks.vectors(start=start, amplitude=amplitude)
        super().__init__(
            start=first,
            amplitude=change,
            duration=duration,
            extend=_checks.choice("extend", extend, _checks.EXTENSIONS),
            interval=(0.0, duration),
        )

    @property
    def size(self) -> int:
        """The number n of components."""
        return self.start.size

    def _formula(self, t: Array, orders: int) -> Array:
        angle = np.pi * (t / self.duration)
        rate = np.full(1, np.pi / self.duration)
        # sin delayed by a quarter turn is -cos; its value is replaced by one without cancellation.
        wave = _sine(angle[None], rate, orders, quarters=3)
        out = self.amplitude[:, None] / 2 * wave
        out[:1] = self.start[:, None] + self.amplitude[:, None] * np.sin(angle / 2) ** 2
        return out


class Circle(Curve):
    """A circle parallel to the xy-plane, ``center + radius (cos a, sin a, 0)``, a = rate t + phase.

    For another plane, turn it: ``T @ Translation(circle)`` with a constant pose T.

    Args:
        radius: m.
        rate: rad/s; negative runs clockwise seen from above.
        phase: angle at t = 0, rad.
        center: (3,), m.

    Examples:
        >>> jc.trajectories.Circle(radius=2.0, rate=1.0).series(0.0, 1) + 0.0
        array([[2., 0., 0.],
               [0., 2., 0.]])
    """

    radius: float
    rate: float
    phase: float
    center: Array

    def __init__(
        self,
        radius: float,
        rate: float,
        phase: float = 0.0,
        center: ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        origin = _checks.vector("center", center)
        if origin.size != 3:
            raise ArgumentError(f"center: expected 3 numbers, got {origin.size}")
        super().__init__(
            radius=_checks.number("radius", radius),
            rate=_checks.number("rate", rate),
            phase=_checks.number("phase", phase),
            center=origin,
        )

    @property
    def size(self) -> int:
        """Three."""
        return 3

    def taylor(self, t: Array, orders: int) -> Array:
        """Taylor coefficients at flat times t (N,): (orders, 3, N).

        Examples:
            >>> circle = jc.trajectories.Circle(radius=2.0, rate=1.0)
            >>> circle.taylor(np.zeros(1), 3)[:, 0, 0] + 0.0  # x = 2 cos t = 2 - t^2 + ...
            array([ 2.,  0., -1.])
        """
        angle, rate = (self.rate * t + self.phase)[None], np.array([self.rate])
        out = np.zeros((orders, 3, t.size))
        out[:, 0:1] = self.radius * _sine(angle, rate, orders, quarters=1)
        out[:, 1:2] = self.radius * _sine(angle, rate, orders)
        out[:1] += self.center[:, None]
        return out


def _sine(angle: Array, rate: Array, orders: int, quarters: int = 0) -> Array:
    """Taylor coefficients of sin(angle + quarters pi/2), with angle (n, N) growing at rate (n,).

    A derivative advances the phase by a quarter turn and multiplies by the rate.
    """
    s, c = np.sin(angle), np.cos(angle)
    cycle = np.stack([s, c, -s, -c])
    scale = rate ** np.arange(orders)[:, None] / factorials(orders)[:, None]
    out: Array = cycle[(np.arange(orders) + quarters) % 4] * scale[:, :, None]
    return out
