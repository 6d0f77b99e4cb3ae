"""Dynamics along a path are those of the motions along it; what limits allow is exact."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce import trajectories

EPS = np.finfo(float).eps


def path_of(model, seed=0, duration=2.0):
    """A smooth path through random configurations, with every joint type."""
    rng = np.random.default_rng(seed)
    q = [jc.random_configuration(model, rng)]
    for _ in range(4):
        q.append(jc.integrate(model, q[-1], 0.4 * rng.standard_normal(model.nv)))
    return trajectories.RobotTrajectory.through(model, np.linspace(0, duration, 5), q, degree=7)


def law_of(s, speed, acceleration, jerk):
    return trajectories.Polynomial([s, speed, acceleration / 2, jerk / 6])


def retimed(path, law):
    """The trajectory path(law(t)), by curves."""
    curves = {key: curve.retimed(law) for key, curve in path.curves.items()}
    return trajectories.RobotTrajectory(path.model, curves)


@pytest.mark.parametrize("speeds", [(1.0, 0.0, 0.0), (0.7, -1.3, 2.0), (0.0, 1.0, -3.0)])
def test_polynomials_are_the_series_along_the_retimed_path(robot, speeds):
    path = path_of(robot)
    for s in (0.4, 1.1):
        dynamics = jc.path_dynamics(robot, path, s)
        q, motion = retimed(path, law_of(s, *speeds)).evaluate(0.0, 1)
        tau = jc.inverse_dynamics_series(robot, q, motion)
        scale = np.abs(tau).max()
        np.testing.assert_allclose(dynamics.forces(*speeds[:2]), tau[0], rtol=0, atol=1e-11 * scale)
        rates = dynamics.force_rates(*speeds)
        np.testing.assert_allclose(rates, tau[1], rtol=0, atol=1e-11 * scale)


def test_coefficients_are_differentiated_along_the_path(robot):
    """dm, dc, dg are the derivatives of m, c, g: by Chebyshev interpolation."""
    path, n, s = path_of(robot), 16, 0.75  # between knots
    nodes = s + 0.1 * np.cos(np.pi * (np.arange(n) + 0.5) / n)
    at, here = jc.path_dynamics(robot, path, nodes), jc.path_dynamics(robot, path, s)
    powers = np.vander((nodes - s) / 0.1, n, increasing=True)
    weights = np.linalg.inv(powers)[1] / 0.1
    for name in ("m", "c", "g"):
        slope = weights @ getattr(at, name)
        scale = np.abs(getattr(here, "d" + name)).max() + np.abs(getattr(here, name)).max()
        np.testing.assert_allclose(getattr(here, "d" + name), slope, rtol=0, atol=1e-9 * scale)


def test_a_speed_factor_is_the_first_that_meets_a_limit(robot):
    path = path_of(robot)
    dynamics = jc.path_dynamics(robot, path, np.linspace(0.05, 1.95, 40))
    effort = 1.5 * np.abs(dynamics.forces(1.0, 0.0)).max(0) + np.abs(dynamics.g).max(0)
    rate = 1.5 * np.abs(dynamics.force_rates(1.0, 0.0, 0.0)).max(0)
    for limits in ({"effort_limit": effort}, {"effort_rate_limit": rate}):
        factor = trajectories.largest_speed_factor(dynamics, **limits)

        def used(k, limits=limits):
            """The largest part of a limit that is used at a speed factor."""
            if "effort_limit" in limits:
                return (np.abs(dynamics.forces(k, 0.0)) / effort).max()
            return (np.abs(dynamics.force_rates(k, 0.0, 0.0)) / rate).max()

        assert factor > 1.0 or "effort_limit" in limits
        np.testing.assert_allclose(used(factor), 1.0, rtol=1e-12)
        below = np.linspace(0.0, factor, 2000)[:-1]
        assert max(map(used, below)) < 1.0
    both = trajectories.largest_speed_factor(dynamics, effort, rate)
    assert both == min(
        trajectories.largest_speed_factor(dynamics, effort_limit=effort),
        trajectories.largest_speed_factor(dynamics, effort_rate_limit=rate),
    )


def polynomial(dc, dg):
    zero = np.zeros((1, 1))
    return trajectories.PathDynamics(zero, zero, zero, zero, np.array([[dc]]), np.array([[dg]]))


CUBICS = [
    (-1.0, 3.0, 1.9),  # leaves at the hill near 1, and comes back
    (-1.0, 3.0, 2.1),  # over the hill, leaves on the far side
    (1.0, 0.0, 8.0),
    (0.0, 2.0, 3.0),
    (1.0, -3.0, 1.0),
    (2.0, 5.0, 1e-9),
    (1e-12, 1.0, 7.0),
    (-1.0, 3.0, 2.0),  # just touches
]


@pytest.mark.parametrize(("dc", "dg", "limit"), CUBICS)
def test_holes_of_the_feasible_set_end_the_interval(dc, dg, limit):
    factor = trajectories.largest_speed_factor(polynomial(dc, dg), effort_rate_limit=limit)
    value = abs(dc * factor**3 + dg * factor)
    np.testing.assert_allclose(value, limit, rtol=1e-12)
    inside = np.linspace(0, factor, 10001)[:-1]
    assert (np.abs(dc * inside**3 + dg * inside) <= limit * (1 + 1e-12)).all()


def test_nothing_limits_a_robot_that_needs_nothing():
    assert trajectories.largest_speed_factor(polynomial(0.0, 0.0), effort_rate_limit=1.0) == np.inf


def test_what_cannot_be_is_refused(robot):
    path = path_of(robot)
    dynamics = jc.path_dynamics(robot, path, 1.0)
    with pytest.raises(jc.ArgumentError, match="gravity alone"):
        trajectories.largest_speed_factor(dynamics, effort_limit=0.0)
    with pytest.raises(jc.ArgumentError, match="effort_limit, effort_rate_limit or both"):
        trajectories.largest_speed_factor(dynamics)
    with pytest.raises(jc.ArgumentError, match="none negative"):
        trajectories.largest_speed_factor(dynamics, effort_limit=-1.0)
    with pytest.raises(jc.ArgumentTypeError, match="RobotTrajectory"):
        jc.path_dynamics(robot, "path", 1.0)
    with pytest.raises(jc.ArgumentError, match="same robot"):
        jc.path_dynamics(jc.models.chain(2), path, 1.0)
    assert jc.path_dynamics(robot, path, np.zeros((2, 0))).m.shape == (2, 0, robot.nv)
