"""B-splines, on SciPy's compiled evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError, MissingExtraError
from jounce.lie._taylor import factorials
from jounce.trajectories import _checks
from jounce.trajectories.curve import Segment

__all__ = ["BSpline"]


ENDS = ("rest", "free")


class BSpline(Segment):
    """A B-spline: piecewise polynomials of one degree k, with k - 1 continuous derivatives.

    Series of order r need r <= k - 1 to be continuous; derivatives above k are zero. At a knot the
    piece after it counts. The fields mean what they mean in SciPy, so that
    ``BSpline(s.t, s.c, s.k)`` takes over a SciPy spline s. `BSpline.clamped` makes the knots,
    `BSpline.through` interpolates. Needs SciPy.

    Args:
        knots: (m + degree + 1,) times that do not decrease, s; the spline lives from
            ``knots[degree]`` to ``knots[m]``.
        control_points: (m,) for one component, or (m, n).
        degree: of the polynomials.
        extend: "error" (default), "hold" or "formula", see `jounce.trajectories.Segment`.

    Examples:
        >>> spline = jc.trajectories.BSpline.through([0, 1, 2], [0.0, 0.5, 0.2], degree=5)
        >>> spline.series(1.0, 0).round(12)
        array([[0.5]])
    """

    knots: Array
    control_points: Array
    degree: int
    _spline: Any

    def __init__(
        self,
        knots: ArrayLike,
        control_points: ArrayLike,
        degree: int,
        extend: str = "error",
    ) -> None:
        times, points = (
            _checks.vector("knots", knots),
            _checks.rows("control_points", control_points),
        )
        degree = _checks.integer("degree", degree)
        count = len(points)
        if times.size != count + degree + 1 or count <= degree:
            raise ArgumentError(
                f"knots: expected {count + degree + 1} for {count} control points of degree "
                f"{degree} (at least {degree + 1} points), got {times.size}"
            )
        if (np.diff(times) < 0).any() or times[degree] == times[count]:
            raise ArgumentError(f"knots: expected times that increase, got {times}")
        super().__init__(
            knots=times,
            control_points=points,
            degree=degree,
            extend=_checks.choice("extend", extend, _checks.EXTENSIONS),
            interval=(float(times[degree]), float(times[count])),
            # arrays of its own: SciPy 1.10 takes none that are read-only
            _spline=_scipy().BSpline(times.copy(), points.copy(), degree, extrapolate=True),
        )

    @classmethod
    def clamped(
        cls,
        control_points: ArrayLike,
        duration: float,
        degree: int = 5,
        start: float = 0.0,
        extend: str = "error",
    ) -> BSpline:
        """The spline with uniform knots that starts and ends at its first and last control point.

        Args:
            control_points: (m,) for one component, or (m, n), with m > degree.
            duration: s.
            degree: of the polynomials.
            start: s.
            extend: "error" (default), "hold" or "formula".

        Examples:
            >>> spline = jc.trajectories.BSpline.clamped([0.0, 0.0, 0.4, 1.0, 1.0], 2.0, degree=3)
            >>> values = spline(np.linspace(0, 2, 50))
            >>> float(values[0, 0]), float(values[-1, 0]), bool((values <= 1.0).all())
            (0.0, 1.0, True)
        """
        points = _checks.rows("control_points", control_points)
        knots = clamped_knots(len(points), duration, degree, start)
        return cls(knots, points, degree, extend)

    @classmethod
    def through(
        cls,
        times: ArrayLike,
        points: ArrayLike,
        degree: int = 5,
        ends: str = "rest",
        extend: str = "error",
    ) -> BSpline:
        """The spline that passes through the points at the given times.

        Args:
            times: (m,) increasing, s.
            points: (m,) for one component, or (m, n).
            degree: of the polynomials; odd for ends="rest".
            ends: "rest": derivatives 1 to (degree - 1)/2 are zero at both ends, m >= 2;
                "free": no condition (not-a-knot), m > degree.
            extend: "error" (default), "hold" or "formula".

        Examples:
            >>> points = [[0.0, 1.0], [0.5, 0.0], [0.2, 0.3]]
            >>> spline = jc.trajectories.BSpline.through([0, 1, 3], points)
            >>> spline(1.0).round(12) + 0.0
            array([0.5, 0. ])
            >>> bool(np.allclose(spline.series([0, 3], order=2)[:, 1:], 0.0))  # from rest to rest
            True
        """
        instants, rows = _checks.vector("times", times), _checks.rows("points", points, 2)
        if len(rows) != instants.size:
            raise ArgumentError(f"points: expected {instants.size}, one per time, got {len(rows)}")
        _checks.increasing("times", instants)
        conditions = _end_conditions(len(rows), rows.shape[1], degree, ends)
        spline = _scipy().make_interp_spline(instants, rows, degree, bc_type=conditions)
        return cls(spline.t, spline.c, degree, extend)

    @classmethod
    def fit(
        cls,
        times: ArrayLike,
        points: ArrayLike,
        pieces: int,
        degree: int = 5,
        extend: str = "error",
    ) -> BSpline:
        """The spline of equally long pieces that is nearest to samples, by least squares.

        Args:
            times: (m,) increasing, s.
            points: (m,) for one component, or (m, n): samples, for example with noise.
            pieces: number of polynomials; there must be at least pieces + degree samples, and some
                in every piece.
            degree: of the polynomials.
            extend: "error" (default), "hold" or "formula".

        Examples:
            >>> t = np.linspace(0, 2, 200)
            >>> noise = 1e-3 * np.random.default_rng(0).standard_normal(200)
            >>> spline = jc.trajectories.BSpline.fit(t, np.sin(t) + noise, pieces=2)
            >>> value, rate = spline.series(1.0, order=1).ravel()
            >>> bool(abs(value - np.sin(1)) < 1e-3), bool(abs(rate - np.cos(1)) < 1e-2)
            (True, True)
        """
        instants, rows = _checks.vector("times", times), _checks.rows("points", points, 2)
        if len(rows) != instants.size:
            raise ArgumentError(f"points: expected {instants.size}, one per time, got {len(rows)}")
        _checks.increasing("times", instants)
        pieces, degree = _checks.integer("pieces", pieces, 1), _checks.integer("degree", degree, 1)
        duration = float(instants[-1] - instants[0])
        knots = clamped_knots(pieces + degree, duration, degree, float(instants[0]))
        knots[-degree - 1 :] = instants[-1]
        try:
            spline = _scipy().make_lsq_spline(instants, rows, knots, degree)
        except ValueError:
            raise ArgumentError(
                f"pieces: {instants.size} samples at these times do not determine {pieces} pieces "
                f"of degree {degree}"
            ) from None
        return cls(spline.t, spline.c, degree, extend)

    @property
    def size(self) -> int:
        """The number n of components."""
        return int(self.control_points.shape[1])

    def _formula(self, t: Array, orders: int) -> Array:
        out = np.zeros((orders, self.size, t.size))
        for k in range(min(orders, self.degree + 1)):
            out[k] = self._spline(t, nu=k).T
        out /= factorials(orders)[:, None, None]
        return out


def clamped_knots(count: int, duration: float, degree: int, start: float = 0.0) -> Array:
    """Uniform knots, the first and the last repeated so that the spline begins and ends there."""
    degree = _checks.integer("degree", degree)
    duration, start = _checks.positive("duration", duration), _checks.number("start", start)
    if count <= degree:
        raise ArgumentError(
            f"expected at least {degree + 1} points for degree {degree}, got {count}"
        )
    inner = np.linspace(start, start + duration, count - degree + 1)
    return np.concatenate([np.full(degree, inner[0]), inner, np.full(degree, inner[-1])])


def _end_conditions(count: int, size: int, degree: int, ends: str) -> Any:
    """SciPy's description of the ends."""
    degree = _checks.integer("degree", degree, 1)
    if _checks.choice("ends", ends, ENDS) == "free":
        if count <= degree:
            raise ArgumentError(
                f"points: expected at least {degree + 1} for degree {degree} with free ends, "
                f"got {count}"
            )
        return None
    if degree % 2 == 0:
        raise ArgumentError(f"degree: expected an odd number for ends='rest', got {degree}")
    rest = [(k, np.zeros(size)) for k in range(1, (degree + 1) // 2)]
    return (rest, rest) if rest else None


def _scipy() -> Any:
    """SciPy's interpolation module, imported when it is first needed."""
    try:
        from scipy import interpolate
    except ImportError as error:
        raise MissingExtraError(
            "B-splines need SciPy: pip install 'jounce[trajectories]' or pip install scipy"
        ) from error
    return interpolate
