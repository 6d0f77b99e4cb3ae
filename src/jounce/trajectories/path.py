"""Dynamics along a path: forces and rates as polynomials in its speed, and what limits allow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce._core.arrays import reals, shown
from jounce._core.elementwise import in_portions
from jounce._core.out import Given, Shape, deliver_all
from jounce._types import Array, ArrayLike
from jounce.derivatives import inverse_dynamics_derivatives
from jounce.dynamics import gravity_forces
from jounce.errors import ArgumentError, ArgumentTypeError
from jounce.model.model import Model, require_model
from jounce.series import inverse_dynamics_series
from jounce.trajectories import _checks
from jounce.trajectories.robot import RobotTrajectory

__all__ = ["PathDynamics", "largest_speed_factor", "path_dynamics"]


class PathDynamics(NamedTuple):
    """Coefficients, (..., nv) each, of forces along a path q(s) that is run through as s(t).

    With the speed s', acceleration s'' and jerk s''' of s(t), and ' of a coefficient by s,

        tau      = m s'' + c s'^2 + g,
        dtau/dt  = m s''' + (dm + 2 c) s' s'' + dc s'^3 + dg s'.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> points = [arm.lower / 2, arm.upper / 2]
        >>> path = jc.trajectories.RobotTrajectory.through(arm, [0, 1], points)
        >>> d = jc.path_dynamics(arm, path, 0.5)
        >>> bool(np.allclose(d.g, jc.gravity_forces(arm, path.evaluate(0.5, order=0).q)))
        True
    """

    m: Array
    """Mass matrix times the path's tangent."""
    c: Array
    """Centrifugal and Coriolis forces, and those of the path's curvature, at unit speed."""
    g: Array
    """Gravity."""
    dm: Array
    dc: Array
    dg: Array

    def forces(self, speed: ArrayLike, acceleration: ArrayLike) -> Array:
        """Generalized forces (..., nv) at speeds and accelerations (...) of s.

        Examples:
            >>> arm = jc.models.panda_like()
            >>> points = [arm.lower / 2, arm.upper / 2]
            >>> path = jc.trajectories.RobotTrajectory.through(arm, [0, 1], points)
            >>> q, (v, a) = path.evaluate(0.3)
            >>> tau = jc.path_dynamics(arm, path, 0.3).forces(2.0, 0.0)  # run twice as fast
            >>> bool(np.allclose(tau, jc.inverse_dynamics(arm, q, 2 * v, 4 * a)))
            True
        """
        return _forces(self.m, self.c, self.g, speed, acceleration)

    def force_rates(self, speed: ArrayLike, acceleration: ArrayLike, jerk: ArrayLike) -> Array:
        """Rates of the forces (..., nv) at speeds, accelerations and jerks (...) of s.

        Examples:
            >>> arm = jc.models.panda_like()
            >>> points = [arm.lower / 2, arm.upper / 2]
            >>> path = jc.trajectories.RobotTrajectory.through(arm, [0, 1], points)
            >>> tau = jc.inverse_dynamics_series(arm, *path.evaluate(0.3, order=1))
            >>> rates = jc.path_dynamics(arm, path, 0.3).force_rates(1.0, 0.0, 0.0)
            >>> bool(np.allclose(rates, tau[1]))
            True
        """
        return _force_rates(*self[:2], *self[3:], speed, acceleration, jerk)


@in_portions(m=1, c=1, g=1, speed=0, acceleration=0)
def _forces(m: Array, c: Array, g: Array, speed: ArrayLike, acceleration: ArrayLike) -> Array:
    v, a = _column("speed", speed), _column("acceleration", acceleration)
    tau: Array = m * a + c * v**2 + g
    return tau


@in_portions(m=1, c=1, dm=1, dc=1, dg=1, speed=0, acceleration=0, jerk=0)
def _force_rates(
    m: Array,
    c: Array,
    dm: Array,
    dc: Array,
    dg: Array,
    speed: ArrayLike,
    acceleration: ArrayLike,
    jerk: ArrayLike,
) -> Array:
    v, a, j = _column("speed", speed), _column("acceleration", acceleration), _column("jerk", jerk)
    rates: Array = m * j + (dm + 2 * c) * (v * a) + dc * v**3 + dg * v
    return rates


def _column(name: str, value: ArrayLike) -> Array:
    """Numbers (...) that multiply vectors."""
    return _checks.numbers(name, value)[..., None]


def path_dynamics(
    model: Model,
    path: RobotTrajectory,
    s: ArrayLike,
    *,
    out: tuple[Array, ...] | None = None,
    threads: int = 1,
) -> PathDynamics:
    """Forces along a path, as polynomials in the speed, acceleration and jerk along it.

    A trajectory q(s), evaluated at what it takes as time, is a path; s(t) says how it is run
    through. By the chain rule the rates are v = V s', with the path's tangent V(s), and so on,
    hence tau is a polynomial in s', s'' and its rate one in s', s'', s''' (see `PathDynamics`).
    The coefficients come from `inverse_dynamics_series` of order 1 at two motions along the path.

    Args:
        model: the robot.
        path: the path q(s), with three continuous derivatives where rates of forces matter.
        s: (...) places on the path.
        out: six (..., nv) arrays to write to, in the order of the result.
        threads: number of threads for many places; 0 uses all cores.

    Returns:
        Named tuple (m, c, g, dm, dc, dg) of (..., nv) arrays.

    Raises:
        ArgumentError: places that the path does not cover, or a path of another robot.
        ArgumentTypeError: `model` is no model or `path` is no trajectory.

    Identity: ``path_dynamics(model, path, t).forces(1.0, 0.0)`` is inverse dynamics along the path.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q = [arm.poses["home"], arm.poses["home"] + 0.5]
        >>> path = jc.trajectories.RobotTrajectory.through(arm, [0, 1], q)
        >>> d = jc.path_dynamics(arm, path, np.linspace(0, 1, 11))
        >>> d.m.shape, d.dg.shape
        ((11, 7), (11, 7))
    """
    require_model(model)
    if not isinstance(path, RobotTrajectory):
        raise ArgumentTypeError(f"path must be a RobotTrajectory, got {type(path).__name__}")
    if (path.model.nq, path.model.nv) != (model.nq, model.nv):
        raise ArgumentError("path must be a trajectory of the same robot")
    floating = model.replace(gravity=(0.0, 0.0, 0.0))

    def compute(s: ArrayLike) -> PathDynamics:
        q, motion = path.evaluate(s, 1)
        V, dV, ddV = (motion[..., k, :] for k in range(3))
        # s' = 1 with s'' = 0 and with s'' = 1, s''' = 0
        both = np.stack([motion, np.stack([V, dV + V, ddV + 3 * dV], axis=-2)])
        tau = inverse_dynamics_series(floating, q, both, threads=threads)
        c, dc = tau[0, ..., 0, :], tau[0, ..., 1, :]
        m = tau[1, ..., 0, :] - c
        dm = tau[1, ..., 1, :] - dc - 2 * c
        rest = np.zeros_like(V)
        by_q = inverse_dynamics_derivatives(model, q, rest, rest, threads=threads).dq
        dg = (by_q @ V[..., None])[..., 0]
        return PathDynamics(m, c, gravity_forces(model, q, threads=threads), dm, dc, dg)

    given = _Places("path_dynamics", model, threads, s=s)
    return deliver_all(compute, out, ((model.nv,),) * 6, given)


class _Places(Given):
    """Places on a path, which are numbers."""

    def own_axes(self, name: str) -> Shape:
        return ()

    def check(self) -> None:
        """Nothing: the path says what it does not cover."""


def largest_speed_factor(
    dynamics: PathDynamics,
    effort_limit: ArrayLike | None = None,
    effort_rate_limit: ArrayLike | None = None,
) -> float:
    """How much faster a trajectory can run as a whole within limits of forces and their rates.

    Run k times as fast, a trajectory has the forces ``c k^2 + g`` and the rates ``dc k^3 + dg k``.
    The result is the end of the interval of feasible k that begins at zero: the smallest positive
    root, over all places and joints, of these polynomials minus or plus their limit, to rounding.
    Larger factors may be feasible again, because a cubic may come back.

    Args:
        dynamics: of `path_dynamics`, with the trajectory's time as s, at as many places as shall
            hold the limits.
        effort_limit: number or (nv,), largest absolute forces.
        effort_rate_limit: number or (nv,), largest absolute rates of the forces.

    Returns:
        The factor; infinite if nothing limits it.

    Raises:
        ArgumentError: a limit is negative or does not fit, no limit is given, or gravity alone
            exceeds a limit.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q = [arm.poses["home"], arm.poses["home"] + 0.5]
        >>> path = jc.trajectories.RobotTrajectory.through(arm, [0, 1], q)
        >>> d = jc.path_dynamics(arm, path, np.linspace(0, 1, 51))
        >>> jc.trajectories.largest_speed_factor(d, effort_limit=arm.effort_limit) > 1
        True
    """
    if not isinstance(dynamics, PathDynamics):
        raise ArgumentTypeError(f"dynamics must be a PathDynamics, got {shown(dynamics)}")
    if effort_limit is None and effort_rate_limit is None:
        raise ArgumentError("give effort_limit, effort_rate_limit or both")
    _, c, g, _, dc, dg = dynamics
    most, rate = (
        None if limit is None else limit_of(name, limit, dynamics.m.shape[-1])
        for name, limit in (
            ("effort_limit", effort_limit),
            ("effort_rate_limit", effort_rate_limit),
        )
    )
    return float(np.min(_largest_speed_factor(c, g, dc, dg, most, rate), initial=np.inf))


@in_portions(c=1, g=1, dc=1, dg=1)
def _largest_speed_factor(
    c: Array, g: Array, dc: Array, dg: Array, most: Array | None, rate: Array | None
) -> Array:
    """The factor (...) that each place allows."""
    best = np.full(c.shape[:-1], np.inf)
    if most is not None:
        if (np.abs(g) > most).any():
            raise ArgumentError("effort_limit: gravity alone exceeds it somewhere on the path")
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = (np.copysign(most, c) - g) / c
        best = np.sqrt(np.min(squares, axis=-1, where=c != 0, initial=np.inf))
    if rate is not None:
        for sign in (1.0, -1.0):
            roots = _first_positive_root(dc, dg, sign * rate).reshape(dc.shape)
            best = np.minimum(best, np.min(roots, axis=-1, initial=np.inf))
    return best


def limit_of(name: str, value: ArrayLike, size: int) -> Array:
    """A limit for each rate, (nv,); infinite ones are none."""
    array = reals(name, value)
    if array.shape not in ((), (size,)) or not (array >= 0).all():
        raise ArgumentError(
            f"{name}: expected one number or {size}, none negative or nan, got {shown(value)}"
        )
    return np.broadcast_to(array, (size,))


def _first_positive_root(a: Array, b: Array, limit: Array) -> Array:
    """The smallest positive root of a x^3 + b x = limit; infinite where there is none.

    Roots by the cubic's closed form, then polished by Newton's method.
    """
    a, b, limit = (x.ravel() for x in np.broadcast_arrays(a, b, limit))
    roots = np.full((4, a.size), np.nan)
    with np.errstate(all="ignore"):
        roots[3] = limit / b  # of the linear equation, where a is zero
        p, q = b / a, -limit / a  # x^3 + p x + q
        spread = np.sqrt(np.maximum(-p / 3, 0.0))
        angle = np.arccos(np.clip(3 * q / (2 * p * spread), -1.0, 1.0)) / 3
        three = 4 * p**3 + 27 * q**2 <= 0
        for k in range(3):
            roots[k, three] = (2 * spread * np.cos(angle - 2 * np.pi * k / 3))[three]
        half = np.sqrt(np.maximum(q**2 / 4 + p**3 / 27, 0.0))
        larger = np.cbrt(-q / 2 - np.copysign(half, q))
        one = larger - p / (3 * larger)
        roots[0, ~three] = one[~three]
        finite = np.isfinite(roots[:3]).any(axis=0)
        roots[3, finite] = np.nan
        for _ in range(3):
            step = (a * roots**3 + b * roots - limit) / (3 * a * roots**2 + b)
            roots -= np.where(np.isfinite(step) & (np.abs(step) < 0.1 * np.abs(roots)), step, 0.0)
    first: Array = np.min(roots, axis=0, where=roots > 0, initial=np.inf)
    return first
