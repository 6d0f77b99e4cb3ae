"""S-curves keep their limits, are the fastest where they say so, and meet their ends."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import jounce as jc
from jounce import trajectories

LIMITS = {"velocity": 1.5, "acceleration": 4.0, "jerk": 25.0, "jounce": 400.0}
DISTANCES = [1e-6, 1e-3, 0.05, 0.3, 1.0, 20.0]
NAMES = ["velocity", "acceleration", "jerk", "jounce"]


def used(curve, limits, size=1):
    """The largest part of each limit that is used, by dense sampling inside of the pieces."""
    a, b = curve.breaks[:-1], curve.breaks[1:]
    t = (a + (b - a) * np.linspace(1e-6, 1 - 1e-6, 301)[:, None]).ravel()
    series = curve.series(t, len(limits))
    return [np.abs(series[:, k + 1]).max(0) / limit for k, limit in enumerate(limits)]


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_limits_hold_and_ends_are_met(distance, count):
    limits = {name: LIMITS[name] for name in NAMES[:count]}
    curve = trajectories.s_curve(0.2, 0.2 - distance, **limits)
    parts = used(curve, list(limits.values()))
    assert max(part.max() for part in parts) < 1 + 1e-12
    assert max(part.max() for part in parts) > 1 - 1e-9  # something limits it
    ends = curve.series(np.array(curve.interval), count - 1)[..., 0]
    np.testing.assert_allclose(ends[0], [0.2, *[0] * (count - 1)], rtol=0, atol=1e-15)
    scale = [max(distance, 0.2), *list(limits.values())[: count - 1]]
    assert (np.abs(ends[1] - [0.2 - distance, *[0] * (count - 1)]) < 1e-12 * np.array(scale)).all()


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_derivatives_are_continuous(distance, count):
    curve = trajectories.s_curve(0.0, distance, *[LIMITS[name] for name in NAMES[:count]])
    c, h = curve.coefficients[..., 0], np.diff(curve.breaks)
    for k in range(count):
        ahead = np.polynomial.Polynomial
        for i in range(len(h) - 1):
            end = ahead(c[i]).deriv(k)(h[i]) if k else ahead(c[i])(h[i])
            start = ahead(c[i + 1]).deriv(k)(0.0) if k else c[i + 1, 0]
            assert abs(end - start) < 1e-11 * [distance, *LIMITS.values()][k]


def fastest(distance, limits, steps):
    """How far the best of all piecewise constant last derivatives gets in a time, by an LP."""
    optimize = pytest.importorskip("scipy.optimize")
    order = len(limits)

    def farthest(duration):
        h = duration / steps
        # derivative k at the steps is linear in the last derivative, which is constant in between
        lower = np.tril(np.ones((steps, steps)))
        lag = np.arange(steps)[:, None] - np.arange(steps)
        maps = []
        for k in range(order - 1, -1, -1):  # derivative k, by exact integration
            p = order - k
            kernel = ((lag + 1.0) ** p - np.maximum(lag, 0.0) ** p) * lower
            maps.append(kernel * h**p / float(np.prod(np.arange(1, p + 1))))
        derivatives = maps[::-1]  # 0 ... order-1
        rows = np.concatenate([m for d in derivatives[1:] for m in (d, -d)]) if order > 1 else None
        bounds = np.concatenate([np.full(2 * steps, limit) for limit in limits[:-1]])
        still = np.stack([d[-1] for d in derivatives[1:]])
        result = optimize.linprog(
            -derivatives[0][-1],
            A_ub=rows,
            b_ub=bounds,
            A_eq=still,
            b_eq=np.zeros(order - 1),
            bounds=[(-limits[-1], limits[-1])] * steps,
            method="highs",
        )
        return -result.fun

    return farthest


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("distance", [0.02, 0.2, 1.0])
def test_nothing_within_the_limits_is_faster(count, distance):
    """By linear programming: in the time of the S-curve nothing gets farther than it does.

    The discretized problem can do a little less; its limits hold at its steps only, so that it
    can do a little more, too.
    """
    limits = [LIMITS[name] for name in NAMES[:count]]
    curve = trajectories.s_curve(0.0, distance, *limits)
    reached = fastest(distance, limits, 120)(curve.interval[1])
    np.testing.assert_allclose(reached, distance, rtol=6e-3)


def test_components_move_in_proportion():
    initial, final = np.array([0.0, 1.0, -2.0]), np.array([1.0, 0.5, -2.0])
    curve = trajectories.s_curve(initial, final, [1.0, 0.2, 1e-9], [2.0, 5.0, 1e-9], 30.0)
    t = np.linspace(*curve.interval, 50)
    part = (curve(t) - initial)[:, :2] / (final - initial)[:2]
    np.testing.assert_allclose(part[:, 0], part[:, 1], rtol=0, atol=1e-14)
    assert (curve(t)[:, 2] == -2.0).all()
    assert used(curve, [np.array([1.0, 0.2, 1.0])])[0].max() <= 1 + 1e-12


POINTS = np.array([[0.0, 0.0], [1.0, 0.2], [1.1, -0.4], [0.9, -0.41], [-0.5, 0.3]])


@pytest.mark.parametrize("count", [2, 3, 4])
def test_waypoints_are_passed_at_rest(count):
    limits = [LIMITS[name] for name in NAMES[:count]]
    curve = trajectories.through_waypoints(POINTS, *limits)
    assert max(part.max() for part in used(curve, limits)) < 1 + 1e-12
    legs = [trajectories.s_curve(a, b, *limits) for a, b in itertools.pairwise(POINTS)]
    times = np.cumsum([0.0, *(leg.interval[1] for leg in legs)])
    assert times[-1] == pytest.approx(curve.interval[1], rel=1e-14)
    series = curve.series(np.clip(times, *curve.interval), 1)
    np.testing.assert_allclose(series[:, 0], POINTS, rtol=0, atol=1e-12)
    np.testing.assert_allclose(series[:, 1], 0, rtol=0, atol=1e-10)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_blends_keep_the_limits_and_are_faster(count):
    limits = [LIMITS[name] for name in NAMES[:count]]
    curve = trajectories.through_waypoints(POINTS, *limits, blend=True)
    assert max(part.max() for part in used(curve, limits)) < 1 + 1e-11
    ends = curve.series(np.array(curve.interval), 1)
    np.testing.assert_allclose(ends[:, 0], POINTS[[0, -1]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(ends[:, 1], 0, rtol=0, atol=1e-11)
    far = 10 * POINTS[[0, 1, 2]]
    quick = trajectories.through_waypoints(far, *limits, blend=True).interval[1]
    assert quick < trajectories.through_waypoints(far, *limits).interval[1]


def test_starts_later_and_holds():
    curve = trajectories.s_curve(0.0, 1.0, 1.0, 2.0, 8.0, start=5.0, extend="hold")
    assert curve.interval == (5.0, 6.75)
    np.testing.assert_allclose(curve([0.0, 9.0])[:, 0], [0.0, 1.0], rtol=0, atol=1e-15)


def test_robots_move_within_the_limits_of_their_rates(robot):
    rng = np.random.default_rng(4)
    q = jc.random_configuration(robot, rng, 3)
    limits = {"velocity": 2.0, "acceleration": 5.0, "jerk": 40.0}
    trajectory = trajectories.RobotTrajectory.with_limits(robot, q, **limits)
    t = np.linspace(*trajectory.interval, 2000)
    sample = trajectory.evaluate(t, 1)
    for k, limit in enumerate(limits.values()):
        assert np.abs(sample.motion[:, k]).max() < limit * (1 + 1e-11)
    for at, there in ((0, q[0]), (-1, q[-1])):
        apart = jc.difference(robot, sample.q[at], there)
        np.testing.assert_allclose(apart, 0, rtol=0, atol=1e-11)


def test_robots_take_the_limits_of_the_model():
    arm = jc.models.chain(3).replace(velocity_limit=[1.0, 0.5, 2.0])
    q = np.array([[0.0, 0, 0], [3.0, -3.0, 3.0]])
    trajectory = trajectories.RobotTrajectory.with_limits(arm, q, acceleration=5.0)
    v = trajectory.evaluate(np.linspace(*trajectory.interval, 500)).v
    np.testing.assert_allclose(np.abs(v).max(0), 0.5, rtol=1e-12)
    with pytest.raises(jc.ArgumentError, match="velocity"):
        trajectories.RobotTrajectory.with_limits(arm, q, velocity=-1.0, acceleration=1.0)


BAD = [
    ({"velocity": 0.0}, "velocity: expected one positive number"),
    ({"acceleration": np.inf}, "acceleration: expected finite"),
    ({"jerk": [1.0, 2.0]}, "jerk: expected one positive number or 1"),
    ({"final": 0.0}, "expected each to differ"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=lambda x: str(x)[:30])
def test_what_no_motion_has_is_refused(change, message):
    arguments = {"initial": 0.0, "final": 1.0, "velocity": 1.0, "acceleration": 1.0, **change}
    with pytest.raises(jc.ArgumentError, match=message):
        trajectories.s_curve(**arguments)


def test_points_without_coordinates_do_not_differ():
    with pytest.raises(jc.ArgumentError, match="points: expected each to differ"):
        trajectories.through_waypoints(np.zeros((3, 0)), 1.0, 1.0)
