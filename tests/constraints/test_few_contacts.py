"""Planned motions of a floating base on fewer contacts than hold it: few of them are possible."""

from __future__ import annotations

import numpy as np
import pytest
from constraints_cases import close

import jounce as jc
from jounce.constraints.rows_series import jacobian_coefficients

DOG = jc.models.quadruped()
STANDING = DOG.poses["standing"]
JOINTS = np.arange(DOG.nv) >= 6
ORDERS = 5
FACTORIALS = np.cumprod([1.0, 1, 2, 3, 4, 5])[:, None, None]
FEET = {
    "no foot": (),
    "a foot": ("front_left_foot",),
    "two feet": ("front_left_foot", "rear_right_foot"),
    "a foot twice": ("front_left_foot", "front_left_foot"),
}
inverse_series = jc.constrained_inverse_dynamics_series


def falls(c, seed=0):
    """Rates and their derivatives of a motion under forces of the joints, and these forces."""
    rng = np.random.default_rng(seed)
    v = jc.project_velocity(DOG, STANDING, 0.3 * rng.standard_normal(DOG.nv), c)
    tau = np.where(JOINTS, rng.standard_normal((ORDERS, DOG.nv)), 0.0)
    found = jc.constrained_dynamics_series(DOG, STANDING, v, tau, c)
    return np.concatenate([v[None], found.a]), tau, found.force


def scale_of(x):
    return np.abs(x).max(-1, keepdims=True)


@pytest.fixture(params=FEET)
def c(request):
    return jc.Constraints(DOG, [jc.Point(foot) for foot in FEET[request.param]])


def test_the_actuation_of_a_motion_that_it_can_give_is_found(c):
    motion, tau, force = falls(c)
    found = inverse_series(DOG, STANDING, motion, c)
    assert not found.tau[:, ~JOINTS].any()
    if len(c.items) != 2 or c.rank(STANDING) < c.size:  # nothing to choose from
        close(found.tau / scale_of(tau), tau / scale_of(tau), 9)
        close(found.force, force, 9)
    back = jc.constrained_dynamics_series(DOG, STANDING, motion[0], found.tau, c).a
    close(back / scale_of(motion[1:]), motion[1:] / scale_of(motion[1:]), 9)


def test_order_zero_is_inverse_dynamics(c):
    motion, *_ = falls(c)
    found = inverse_series(DOG, STANDING, motion[:2], c, weights=np.linspace(1, 3, 12))
    expected = jc.constrained_inverse_dynamics(
        DOG, STANDING, *motion[:2], c, weights=np.linspace(1, 3, 12)
    )
    close(found.tau[0], expected.tau, 12)
    close(found.force[0], expected.force, 12)


@pytest.mark.parametrize("weights", [np.ones(12), np.linspace(1.0, 3.0, 12)])
def test_the_smallest_actuation_is_across_internal_forces_at_every_order(weights):
    """Two feet push each other apart along a line that rests: d/dt^k of u^T W J^T n = 0."""
    c = jc.Constraints(DOG, [jc.Point(foot) for foot in FEET["two feet"]])
    motion, *_ = falls(c)
    tau = inverse_series(DOG, STANDING, motion, c, weights=weights).tau
    ends = [jc.body_pose(DOG, STANDING, foot)[:3, 3] for foot in FEET["two feet"]]
    apart = np.concatenate([ends[0] - ends[1], ends[1] - ends[0]])
    J = (jacobian_coefficients(c, STANDING, motion[: ORDERS - 1]) * FACTORIALS[:ORDERS])[:ORDERS]
    push = (apart @ J)[:, JOINTS] * weights
    for k in range(ORDERS):
        binomials = [FACTORIALS[k] / FACTORIALS[i] / FACTORIALS[k - i] for i in range(k + 1)]
        terms = np.array([b * tau[i, JOINTS] * push[k - i] for i, b in enumerate(binomials)])
        assert abs(terms.sum()) < 1e-11 * np.abs(terms).sum()
    at_base = np.abs(apart @ J)[:, ~JOINTS].max()
    assert at_base < 1e-12 * np.abs(apart @ J).max()  # they do nothing there


def test_batches_and_the_size_of_weights_change_nothing(c):
    motion, *_ = falls(c)
    other = falls(c, seed=1)[0]
    both = inverse_series(DOG, STANDING, np.stack([motion, other]), c).tau
    close(both[0], inverse_series(DOG, STANDING, motion, c).tau, 9)
    close(both[1], inverse_series(DOG, STANDING, other, c).tau, 9)
    far = inverse_series(DOG, STANDING, motion, c, weights=np.full(12, 1e12)).tau
    close(far, both[0], 9)


def test_motions_that_no_actuation_gives_are_refused_at_the_order_where_they_fail(c):
    motion, *_ = falls(c)
    along = np.zeros((2, *motion.shape))
    J = np.concatenate([c.jacobian(STANDING), np.eye(DOG.nv)[JOINTS]])
    along[1, 2] = np.linalg.svd(J)[2][-1]  # a jerk of what nothing holds
    message = r"no actuation gives this motion in state \[1\] of the batch: .* of order 1 is missin"
    with pytest.raises(jc.ArgumentError, match=message):
        inverse_series(DOG, STANDING, motion[:3] + along[:, :3], c)
    assert np.isfinite(inverse_series(DOG, STANDING, (motion + along)[:, :2], c).tau).all()
    with pytest.raises(jc.ArgumentError, match=r"no actuation gives this motion: .* is missing w"):
        inverse_series(DOG, STANDING, np.zeros((2, DOG.nv)), jc.Constraints(DOG, []))


def test_they_have_no_derivatives(c):
    motion, *_ = falls(c)
    loose = 6 - np.linalg.matrix_rank(c.jacobian(STANDING)[:, :6])
    message = f"neither an actuator nor a constraint moves {loose} of the rates: motions nearby"
    with pytest.raises(jc.ArgumentError, match=message):
        jc.constrained_inverse_dynamics_series_derivatives(DOG, STANDING, motion, c)


def test_rows_that_begin_to_hold_rates_without_an_actuator_are_told():
    """A rod through the first joint does not turn it, but right after it does."""
    build = jc.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    body = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": np.diag([0.01, 0.1, 0.1])}
    build.add_body("upper", None, "revolute", axis=(0, 0, 1), **body)
    build.add_body("lower", "upper", "revolute", (1.0, 0, 0), axis=(0, 0, 1), **body)
    arm = build.build().with_frame("tip", "lower", (1.0, 0, 0))
    q = np.array([0.0, 0.5])
    tip = jc.body_pose(arm, q, "tip")[:3, 3]
    c = jc.Constraints(arm, [jc.Distance("tip", anchor=2.0 * tip)])
    v = jc.project_velocity(arm, q, np.array([1.0, 0.0]), c)
    a = jc.constrained_dynamics_series(arm, q, v, np.zeros((2, 2)), c).a
    motion, second = np.concatenate([v[None], a]), np.array([False, True])
    assert abs(c.jacobian(q)[0, 0]) < 1e-15 < abs(c.jacobian(q)[0, 1])
    message = "of 1 rates that no actuator moves the rows hold 0 at the start .* and 1 right after"
    with pytest.raises(jc.ArgumentError, match=message):
        inverse_series(arm, q, motion, c, actuated=second)
