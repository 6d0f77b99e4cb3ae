"""Trajectories from samples: through all of them, or nearest to them."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce import trajectories as tr

pytest.importorskip("scipy")


def test_samples_are_met_by_every_joint(robot):
    rng = np.random.default_rng(0)
    q = [jc.random_configuration(robot, rng)]
    for _ in range(9):
        q.append(jc.integrate(robot, q[-1], 0.2 * rng.standard_normal(robot.nv)))
    t = np.linspace(1.0, 2.0, 10)
    sample = tr.RobotTrajectory.from_samples(robot, t, q).evaluate(t)
    np.testing.assert_allclose(jc.difference(robot, q, sample.q), 0, rtol=0, atol=1e-11)


def test_a_fit_of_a_polynomial_is_that_polynomial():
    t = np.linspace(-1.0, 2.0, 60)
    curve = tr.Polynomial([[1.0, 0.0], [2.0, -1.0], [0.3, 0.2], [-0.1, 0.5]])
    fit = tr.BSpline.fit(t, curve(t), pieces=4, degree=3)
    np.testing.assert_allclose(fit.series(t, 2), curve.series(t, 2), rtol=0, atol=1e-11)


def test_a_fit_is_nearer_to_the_truth_than_its_samples():
    arm, rng = jc.models.chain(3), np.random.default_rng(1)
    t = np.linspace(0.0, 3.0, 400)
    truth = np.sin(t[:, None] * [1.0, 2.0, 3.0])
    noise = 1e-2 * rng.standard_normal(truth.shape)
    trajectory = tr.RobotTrajectory.from_samples(arm, t, truth + noise, pieces=8)
    error = trajectory.evaluate(t).q - truth
    assert np.sqrt((error**2).mean()) < 0.3 * np.sqrt((noise**2).mean())
    # least squares: what is left is orthogonal to every spline of these knots
    left = truth + noise - trajectory.evaluate(t).q
    spline = next(iter(trajectory.curves.values()))
    for k in range(len(spline.control_points)):
        points = np.zeros(len(spline.control_points))
        points[k] = 1.0
        basis = tr.BSpline(spline.knots, points, spline.degree)(t)[:, 0]
        assert np.abs(basis @ left).max() < 1e-10


def test_too_few_samples_are_refused():
    with pytest.raises(jc.ArgumentError, match="do not determine"):
        tr.BSpline.fit(np.arange(5.0), np.zeros(5), pieces=10, degree=3)
