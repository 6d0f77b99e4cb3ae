"""The fastest way along a path within limits of forces and of their rates."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError, MissingExtraError
from jounce.model.model import Model
from jounce.trajectories import _checks
from jounce.trajectories.curve import Segment
from jounce.trajectories.path import (
    PathDynamics,
    largest_speed_factor,
    limit_of,
    path_dynamics,
)
from jounce.trajectories.robot import RobotTrajectory

__all__ = ["PathLaw", "time_optimal_law"]


class PathLaw(Segment):
    """A law s(t) from rest to rest along a path, whose acceleration is linear in s between places.

    In the first and the last interval the jerk is constant in time. Made by `time_optimal_law`.

    Args:
        places: (m,) increasing values of s, the first and the last at rest.
        speeds: (m,) ds/dt there.
        accelerations: (m,) d^2s/dt^2 there.
        extend: "error" (default), "hold" or "formula", see `jounce.trajectories.Segment`.

    Examples:
        >>> law = jc.trajectories.PathLaw([0, 0.5, 1], [0, 1, 0], [1, 0, -1])
        >>> law(law.interval[1]).round(9)  # s at the end
        array([1.])
    """

    places: Array
    speeds: Array
    accelerations: Array
    _times: Array
    _slopes: Array

    def __init__(
        self,
        places: ArrayLike,
        speeds: ArrayLike,
        accelerations: ArrayLike,
        extend: str = "error",
    ) -> None:
        s, v = _checks.vector("places", places), _checks.vector("speeds", speeds)
        a = _checks.vector("accelerations", accelerations)
        _checks.increasing("places", s)
        if not s.size == v.size == a.size >= 3 or (v[1:-1] <= 0).any() or v[0] or v[-1]:
            raise ArgumentError(
                "expected as many speeds and accelerations as places, at least 3, and speeds that "
                "are positive but at both ends"
            )
        slopes = np.diff(a) / np.diff(s)
        durations = _durations(np.diff(s), v, a, slopes)
        times = np.concatenate([[0.0], np.cumsum(durations)])
        super().__init__(
            places=s,
            speeds=v,
            accelerations=a,
            extend=_checks.choice("extend", extend, _checks.EXTENSIONS),
            interval=(0.0, float(times[-1])),
            _times=times,
            _slopes=slopes,
        )

    @property
    def size(self) -> int:
        """One."""
        return 1

    def _formula(self, t: Array, orders: int) -> Array:
        out = np.zeros((orders, 1, t.size))
        piece = np.searchsorted(self._times[1:-1], t, side="right")
        last = len(self._slopes) - 1
        for i, (k, x) in enumerate(zip(piece.tolist(), t.tolist(), strict=True)):
            if k == 0:
                row = _constant_jerk(self.places[0], self.accelerations[1] / self._times[1], x)
            elif k == last:
                left = self._times[-1] - self._times[-2]
                jerk = -self.accelerations[-2] / left
                row = _constant_jerk(self.places[-1], jerk, x - self._times[-1])
            else:
                start = (self.places[k], self.speeds[k], self.accelerations[k])
                row = _linear_piece(*start, self._slopes[k], x - self._times[k], orders)
            count = min(len(row), orders)
            out[:count, 0, i] = row[:count]
        return out


def _constant_jerk(s: float, jerk: float, t: float) -> list[float]:
    """Taylor coefficients of s + jerk t^3 / 6."""
    return [s + jerk * t**3 / 6, jerk * t**2 / 2, jerk * t / 2, jerk / 6]


def _linear_piece(s: float, v: float, a: float, slope: float, t: float, orders: int) -> list[float]:
    """Taylor coefficients at t of the solution of x'' = a + slope (x - s) that starts with (s, v).

    x = s + v t c1 + a t^2 c2 with the functions of Stumpff of -slope t^2.
    """
    z = slope * t * t
    c1, c2 = _stumpff(z)
    c0 = 1 + z * c2
    x = v * t * c1 + a * t * t * c2
    derivatives = [s + x, v * c0 + a * t * c1, a + slope * x]
    while len(derivatives) < orders:
        derivatives.append(slope * derivatives[-2])
    return [d / math.factorial(k) for k, d in enumerate(derivatives)]


def _stumpff(z: float) -> tuple[float, float]:
    """Sums of z^i / (1 + 2i)! and of z^i / (2 + 2i)!."""
    if abs(z) < 1.0:
        c1 = c2 = 1.0
        for i in range(10, 0, -1):
            c1 = 1 + z * c1 / ((2 * i) * (2 * i + 1))
            c2 = 1 + z * c2 / ((2 * i + 1) * (2 * i + 2))
        return c1, c2 / 2
    root = math.sqrt(abs(z))
    if z > 0:
        return math.sinh(root) / root, (math.cosh(root) - 1) / z
    return math.sin(root) / root, (math.cos(root) - 1) / z


def _durations(steps: Array, v: Array, a: Array, slopes: Array) -> Array:
    """How long each interval takes: 3 h / v at the ends, between them the integral of ds / s'.

    Newton's method on x(t) = h finds it, from the mean of the speeds at both ends.
    """
    out = np.empty(len(steps))
    out[0], out[-1] = 3 * steps[0] / v[1], 3 * steps[-1] / v[-2]
    for k in range(1, len(steps) - 1):
        t = 2 * steps[k] / (v[k] + v[k + 1])
        for _ in range(50):
            x, speed, _ = _linear_piece(0.0, v[k], a[k], slopes[k], t, 3)
            step = (x - steps[k]) / speed
            t -= step
            if abs(step) < 1e-15 * t:
                break
        out[k] = t
    return out


def time_optimal_law(
    model: Model,
    path: RobotTrajectory,
    places: ArrayLike = 100,
    *,
    effort_limit: ArrayLike | None = None,
    effort_rate_limit: ArrayLike,
    iterations: int = 40,
    extend: str = "error",
) -> PathLaw:
    """The fastest law s(t), from rest to rest, within limits of forces and of their rates.

    With b = s'^2 and a = s'' at the places, a linear in s between them, b' = 2a. The forces
    ``m a + c b + g`` are linear in these (see `path_dynamics`), and their rates

        s' (m a' + (dm + 2 c) a + dc b + dg)

    within R is a bound R / sqrt(b) on a linear expression. Since 1 / sqrt(b) is convex, its tangent
    at the last b is a safe bound, and so each linear program from it gives a feasible law; the
    time falls from one to the next. What they come to is a local optimum for these places: there
    is no proof that no law is faster. The limits hold at the places, between them up to the
    distance of the places. Needs SciPy.

    Args:
        model: the robot.
        path: the path q(s), with three continuous derivatives.
        places: (m,) increasing values of s, from the first to the last, or how many intervals to
            make of the path's own; these get shorter towards both ends, where the speed changes
            most.
        effort_limit: number or (nv,), largest absolute forces; by default ``model.effort_limit``.
        effort_rate_limit: number or (nv,), largest absolute rates of the forces.
        iterations: how many linear programs at most.
        extend: "error" (default), "hold" or "formula", see `Segment`.

    Returns:
        The law; ``RobotTrajectory(model, {joint: curve.retimed(law), ...})`` runs the path by it.

    Raises:
        ArgumentError: fewer than 4 places, or at one of them gravity alone exceeds a limit.
        MissingExtraError: SciPy is not installed.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> points = [0.1 * arm.upper, 0.3 * arm.upper]
        >>> path = jc.trajectories.RobotTrajectory.through(arm, [0, 1], points)
        >>> law = jc.trajectories.time_optimal_law(arm, path, 20, effort_rate_limit=2000.0)
        >>> bool(law.interval[1] > 0)
        True
    """
    _require_scipy()
    s = _places(path, places)
    along = path_dynamics(model, path, s)
    most = limit_of(
        "effort_limit", model.effort_limit if effort_limit is None else effort_limit, model.nv
    )
    rate = limit_of("effort_rate_limit", effort_rate_limit, model.nv)
    if (np.abs(along.g) >= most).any():
        raise ArgumentError("effort_limit: gravity alone reaches it somewhere on the path")
    slow = _slow_speed(along, float(s[-1] - s[0]), most, rate)
    if np.isinf(rate).all() or not 0 < slow < math.inf:
        raise ArgumentError(
            "effort_rate_limit: expected limits that hold the speed along this path and allow some"
        )
    program = _Program.of(along, s, most, rate)
    b, a = program.solve(slow**2, _checks.integer("iterations", iterations, 1))
    speeds, accelerations = np.zeros((2, s.size))
    speeds[1:-1], accelerations[1:-1] = np.sqrt(b), a
    return PathLaw(s, speeds, accelerations, extend)


def _places(path: RobotTrajectory, places: ArrayLike) -> Array:
    """Where the limits hold; between given ends with the spacing of a cosine."""
    if not isinstance(places, (list, tuple)) and np.ndim(places) == 0:
        count = _checks.integer("places", places, 3, 10**6)
        start, end = path.interval if isinstance(path, RobotTrajectory) else (0.0, 1.0)
        if math.isinf(start) or math.isinf(end):
            raise ArgumentError("places: expected places, since the path has no first and last one")
        spread: Array = start + (end - start) * np.sin(np.linspace(0, np.pi / 2, count + 1)) ** 2
        return spread
    s = _checks.vector("places", places)
    _checks.increasing("places", s)
    if s.size < 4:
        raise ArgumentError(f"places: expected at least 4, got {s.size}")
    return s


def _slow_speed(d: PathDynamics, length: float, most: Array, rate: Array) -> float:
    """A tenth of what constant speed, or an S-curve with the smallest limits, would have."""
    with np.errstate(divide="ignore", invalid="ignore"):
        acceleration = np.nanmin((most - np.abs(d.g)) / np.abs(d.m))
        jerk = np.nanmin(rate / np.abs(d.m))
        duration = max(np.sqrt(4 * length / acceleration), np.cbrt(32 * length / jerk))
        return 0.1 * min(largest_speed_factor(d, most, rate), float(length / duration))


class _Program(NamedTuple):
    """Linear programs in (b, a) at the places inside, (2n,)."""

    steps: Array
    """(n+1,) between the places."""
    equal: Any
    """Rows of the relations between b and a."""
    rows: Any
    """Rows of forces, in units of their limits."""
    bounds: Array
    rates: Any
    """Rows of the rates divided by the speed; constants and places of these rows."""
    constants: Array
    at: Array
    limits: Array
    most: Array
    """(n,) largest a at the ends that the first and the last jerk allow, else infinite."""

    @classmethod
    def of(cls, d: PathDynamics, s: Array, most: Array, rate: Array) -> _Program:
        from scipy import sparse

        n, h = s.size - 2, np.diff(s)
        one = sparse.identity(n, format="csr")
        zero = sparse.csr_matrix((n, n))
        b, a = sparse.hstack([one, zero], "csr"), sparse.hstack([zero, one], "csr")
        # b_(k+1) - b_k = h (a_k + a_(k+1)); at the ends the jerk is constant and b = 3/2 h |a|
        middle = b[1:] - b[:-1] - sparse.diags(h[1:-1]) @ (a[1:] + a[:-1])
        ends = sparse.vstack([b[0] - 1.5 * h[0] * a[0], b[-1] + 1.5 * h[-1] * a[-1]])
        # slopes of a before and after each place; those of the ends stand for the jerk over s'
        inside = sparse.diags(1 / h[1:-1]) @ (a[1:] - a[:-1])
        before = sparse.vstack([a[0] / (3 * h[0]), inside], "csr")
        after = sparse.vstack([inside, -a[-1] / (3 * h[-1])], "csr")
        rows, bounds, rates, constants = [], [], [], []
        for j in np.flatnonzero(np.isfinite(most)):
            force = sparse.diags(d.m[1:-1, j]) @ a + sparse.diags(d.c[1:-1, j]) @ b
            rows += [force / most[j], -force / most[j]]
            bounds += [1 - d.g[1:-1, j] / most[j], 1 + d.g[1:-1, j] / most[j]]
        for j in np.flatnonzero(np.isfinite(rate)):
            mixed = sparse.diags((d.dm + 2 * d.c)[1:-1, j]) @ a + sparse.diags(d.dc[1:-1, j]) @ b
            for slope in (before, after):
                change = sparse.diags(d.m[1:-1, j]) @ slope + mixed
                rates += [change, -change]
                constants += [d.dg[1:-1, j], -d.dg[1:-1, j]]
        with np.errstate(divide="ignore"):
            jerks = [np.min(rate / np.abs(d.m[k])) for k in (0, -1)]
        steepest = np.full(n, np.inf)
        steepest[0] = (6 * h[0] * jerks[0] ** 2) ** (1 / 3)
        steepest[-1] = min(steepest[-1], (6 * h[-1] * jerks[1] ** 2) ** (1 / 3))
        count = len(rates)
        limited = np.repeat(rate[np.isfinite(rate)], 4)
        return cls(
            steps=h,
            equal=sparse.vstack([middle, ends], "csr"),
            rows=sparse.vstack(rows, "csr") if rows else sparse.csr_matrix((0, 2 * n)),
            bounds=np.concatenate([np.zeros(0), *bounds]),
            rates=sparse.vstack(rates, "csr"),
            constants=np.concatenate(constants),
            at=np.tile(np.arange(n), count),
            limits=np.repeat(limited, n),
            most=steepest,
        )

    def solve(self, start: float, iterations: int) -> tuple[Array, Array]:
        """Run linear programs from a small b until the time falls no more."""
        n = len(self.most)
        now = self._program(np.full(n, start), np.ones(n))
        for _ in range(iterations):
            b = now[:n]
            target = self._program(b, self._time_saved(b))
            ahead = [now + part * (target - now) for part in (1.0, 0.7, 0.4, 0.2, 0.1, 0.03)]
            best = min(ahead, key=lambda x: self._time(x[:n]))
            gained = self._time(b) - self._time(best[:n])
            if gained > 0:
                now = best
            if gained < 1e-9 * self._time(b):
                break
        return now[:n], now[n:]

    def _time(self, b: Array) -> float:
        """The time of a law, with speeds that change linearly between places."""
        v = np.sqrt(b)
        inner = 2 * self.steps[1:-1] / (v[1:] + v[:-1])
        return float(inner.sum() + 3 * self.steps[0] / v[0] + 3 * self.steps[-1] / v[-1])

    def _time_saved(self, b: Array) -> Array:
        """Minus the derivative of the time by b."""
        v = np.sqrt(b)
        ends = 3 * self.steps[0] / v[0] ** 2, 3 * self.steps[-1] / v[-1] ** 2
        inner = 2 * self.steps[1:-1] / (v[1:] + v[:-1]) ** 2
        by_speed: Array = np.append(inner, ends[1]) + np.insert(inner, 0, ends[0])
        saved: Array = by_speed / (2 * v)
        return saved

    def _program(self, b: Array, weights: Array) -> Array:
        """The feasible law with the largest weighted sum of b, with bounds of rates by tangents."""
        from scipy import optimize, sparse

        n, unit = len(b), float(b.max())  # b and a are counted in this unit, rows in their limits
        # R / sqrt(x) >= R (3/2 - x / (2 b)) / sqrt(b)
        part = np.sqrt(b)[self.at] / self.limits
        tangent = sparse.csr_matrix(
            (0.5 * unit / b[self.at], (np.arange(len(part)), self.at)), shape=(len(part), 2 * n)
        )
        result = optimize.linprog(
            -np.concatenate([weights / weights.max(), np.zeros(n)]),
            A_ub=sparse.vstack(
                [unit * self.rows, unit * sparse.diags(part) @ self.rates + tangent], "csr"
            ),
            b_ub=np.concatenate([self.bounds, 1.5 - part * self.constants]),
            A_eq=self.equal,
            b_eq=np.zeros(self.equal.shape[0]),
            bounds=[(1e-9, None)] * n + [(-x / unit, x / unit) for x in self.most],
            method="highs",
        )
        if result.x is None:
            raise ArgumentError(
                f"no law along this path holds the limits at all places: {result.message}"
            )
        solution: Array = unit * np.asarray(result.x)
        return solution


def _require_scipy() -> None:
    try:
        import scipy.optimize  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "time_optimal_law needs SciPy: pip install 'jounce[trajectories]' or pip install scipy"
        ) from error
