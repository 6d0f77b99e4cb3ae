"""The fastest law along a path: on a slide it is the S-curve, on an arm it uses its limits."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce import trajectories as tr

pytest.importorskip("scipy")


def used(model, path, law, effort, rate, count=3001):
    """The largest parts of the limits that are used, by the dynamics along the retimed path."""
    curves = {key: curve.retimed(law) for key, curve in path.curves.items()}
    t = np.linspace(*law.interval, count)
    q, motion = tr.RobotTrajectory(model, curves).evaluate(t, 1)
    tau = jc.inverse_dynamics_series(model, q, motion)
    return (np.abs(tau[:, 0]) / effort).max(), (np.abs(tau[:, 1]) / rate).max()


@pytest.fixture(scope="module")
def slide():
    builder = jc.ModelBuilder(gravity=(0, 0, 0))
    return builder.add_body("cart", joint="prismatic", axis=(1, 0, 0), mass=2.0).build()


@pytest.mark.parametrize(("effort", "rate"), [(3.0, 20.0), (3.0, 200.0), (100.0, 20.0)])
def test_a_cart_takes_the_time_of_the_s_curve(slide, effort, rate):
    path = tr.RobotTrajectory(slide, {0: tr.PolynomialSegment([0.0], [1.5], 1.0)})
    law = tr.time_optimal_law(slide, path, 120, effort_limit=effort, effort_rate_limit=rate)
    best = tr.s_curve(0.0, 1.5, np.inf, effort / 2.0, rate / 2.0).interval[1]
    # between places the acceleration is linear in s: the gap closes with their distance
    assert best * (1 - 1e-6) < law.interval[1] < 1.05 * best
    parts = used(slide, path, law, effort, rate)
    assert max(parts) < 1.02


@pytest.fixture(scope="module")
def arm():
    model, rng = jc.models.chain(5), np.random.default_rng(3)
    q = [jc.random_configuration(model, rng)]
    for _ in range(3):
        q.append(jc.integrate(model, q[-1], 0.5 * rng.standard_normal(5)))
    path = tr.RobotTrajectory.through(model, np.linspace(0, 1, 4), q, degree=3, ends="free")
    g = np.abs(jc.path_dynamics(model, path, np.linspace(0, 1, 50)).g).max(0)
    return model, path, 2 * g + 5, 10 * (2 * g + 5)


def test_an_arm_uses_its_limits(arm):
    model, path, effort, rate = arm
    times = []
    for count, slack in ((31, 0.15), (61, 0.06)):
        places = np.linspace(0, 1, count)
        law = tr.time_optimal_law(model, path, places, effort_limit=effort, effort_rate_limit=rate)
        parts = used(model, path, law, effort, rate)
        assert 0.9 < max(parts) < 1 + slack
        at = jc.path_dynamics(model, path, places)
        tau = at.forces(law.speeds, law.accelerations)
        assert (np.abs(tau) / effort).max() < 1 + 1e-6
        times.append(law.interval[1])
    slow = tr.largest_speed_factor(jc.path_dynamics(model, path, places), effort, rate)
    assert times[1] < times[0] < 1.15 * times[1]
    assert times[1] > 0.5 / slow  # constant speed is not far off, but starts at once


def test_laws_are_smooth_and_meet_their_ends(arm):
    model, path, effort, rate = arm
    law = tr.time_optimal_law(
        model, path, np.linspace(0, 1, 31), effort_limit=effort, effort_rate_limit=rate
    )
    ends = law.series(np.array(law.interval), 2)[..., 0]
    np.testing.assert_allclose(ends, [[0, 0, 0], [1, 0, 0]], rtol=0, atol=1e-12)
    joins = law._times[1:-1]
    before, after = (law.series(joins + side * 1e-11, 2)[..., 0] for side in (-1, 1))
    scale = np.abs(after).max(0)
    assert (np.abs(before - after).max(0) < 1e-8 * scale).all()
    np.testing.assert_allclose(law(joins)[:, 0], law.places[1:-1], rtol=0, atol=1e-12)
    # derivatives agree with one another, by differences of a smooth piece
    t, h = 0.5 * (joins[10] + joins[11]), 1e-4 * (joins[11] - joins[10])
    ahead, behind, here = (law.series(t + x, 4)[:, 0] for x in (h, -h, 0.0))
    slope = (ahead - behind)[:4] / (2 * h)
    np.testing.assert_allclose(here[1:], slope, rtol=1e-5, atol=1e-6 * np.abs(here).max())


def test_what_cannot_be_run_is_refused(arm):
    model, path, effort, rate = arm
    with pytest.raises(jc.ArgumentError, match="gravity alone"):
        tr.time_optimal_law(
            model, path, np.linspace(0, 1, 9), effort_limit=1e-3, effort_rate_limit=rate
        )
    endless = tr.RobotTrajectory(model, {0: tr.Polynomial([0.0, 1.0])})
    with pytest.raises(jc.ArgumentError, match="no first and last"):
        tr.time_optimal_law(model, endless, effort_limit=effort, effort_rate_limit=rate)
    with pytest.raises(jc.ArgumentError, match="at least 4"):
        tr.time_optimal_law(
            model, path, [0.0, 0.5, 1.0], effort_limit=effort, effort_rate_limit=rate
        )
    with pytest.raises(jc.ArgumentError, match="increasing"):
        tr.time_optimal_law(model, path, [0.0, 0.5, 0.5, 1.0], effort_rate_limit=rate)
    with pytest.raises(jc.ArgumentError, match="hold the speed"):
        tr.time_optimal_law(model, path, np.linspace(0, 1, 9), effort_rate_limit=np.inf)
    with pytest.raises(jc.ArgumentError, match="positive but at both ends"):
        tr.PathLaw([0.0, 0.5, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0])
