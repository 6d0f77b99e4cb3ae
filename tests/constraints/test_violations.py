"""States and motions that violate constraints, constraints without direction: one clear error."""

from __future__ import annotations

import re

import numpy as np
import pytest
from constraints_cases import robot, states

import jounce as jc

ARM = jc.models.chain(6)
Q = np.linspace(0.1, 0.6, 6)
GEAR = jc.Coupling({"joint0": 1.0, "joint1": -1.0}, offset=-0.1)
ITEMS = [jc.Point("body5"), GEAR]
STILL = np.zeros(6)
ALL = {"actuated": np.ones(6, bool)}

TAKE_STATES = {
    "linearize": lambda q, v, c: jc.linearize(ARM, q, v, STILL, constraints=c),
    "linearize_step": lambda q, v, c: jc.linearize_step(ARM, q, v, STILL, 0.01, constraints=c),
    "simulate": lambda q, v, c: jc.simulate(ARM, q, v, [0.0, 0.01], constraints=c),
    "rollout": lambda q, v, c: jc.rollout(ARM, q, v, np.zeros((1, 6)), 0.01, constraints=c),
    "inverse": lambda q, v, c: jc.constrained_inverse_dynamics(
        ARM, q, v, allowed(q, v, c), c, **ALL
    ),
    "inverse series": lambda q, v, c: jc.constrained_inverse_dynamics_series(
        ARM, q, motion(q, v, c), c, **ALL
    ),
    "its derivatives": lambda q, v, c: jc.constrained_inverse_dynamics_series_derivatives(
        ARM, q, motion(q, v, c), c, **ALL
    ),
}
every_function = pytest.mark.parametrize("name", TAKE_STATES)


def allowed(q, v, c):
    return jc.constrained_dynamics(ARM, q, v, STILL, c).a


def motion(q, v, c, orders=3):
    """A motion whose accelerations and their derivatives are those of the constrained robot."""
    a = jc.constrained_dynamics_series(ARM, q, v, np.zeros((orders, 6)), c).a
    lead = a.shape[:-2]
    return np.concatenate([np.broadcast_to(v, (*lead, 6))[..., None, :], a], -2)


@every_function
def test_coordinates_that_miss_a_target_are_refused_by_the_constraint_s_name(name):
    c = jc.Constraints(ARM, ITEMS)
    away = Q + 0.01 * np.eye(6)[0]
    with pytest.raises(jc.ArgumentError) as error:
        TAKE_STATES[name](away, STILL, c)
    expected = r"violates Coupling\('joint0', 'joint1'\).* by 0.01 rad or m.*jounce.project "
    assert re.search(expected, str(error.value))


@every_function
def test_rates_that_the_rows_do_not_have_are_refused(name):
    c = jc.Constraints(ARM, ITEMS)
    v = jc.project_velocity(ARM, Q, np.ones(6), c)
    TAKE_STATES[name](Q, v, c)
    fast = np.stack([v, v + 0.01])
    with pytest.raises(jc.ArgumentError) as error:
        TAKE_STATES[name](Q, fast, c)
    expected = (
        r"violates Point\('body5'\) in state \[1\] of the batch by .* jounce.project_velocity"
    )
    assert re.search(expected, str(error.value))


@every_function
def test_the_tolerance_is_that_of_the_set_and_can_be_infinite(name):
    away = Q + 1e-4 * np.eye(6)[0]
    for tolerance in (1e-3, np.inf):
        TAKE_STATES[name](away, STILL, jc.Constraints(ARM, ITEMS, tolerance=tolerance))
    with pytest.raises(jc.ArgumentError, match="at most 1e-05"):
        TAKE_STATES[name](away, STILL, jc.Constraints(ARM, ITEMS, tolerance=1e-5))


def test_accelerations_that_the_rows_do_not_allow_are_refused():
    c = jc.Constraints(ARM, ITEMS)
    v = jc.project_velocity(ARM, Q, np.ones(6), c)
    a = allowed(Q, v, c)
    with pytest.raises(jc.ArgumentError, match=r"a violates Point\('body5'\) by .* rad/s\^2"):
        jc.constrained_inverse_dynamics(ARM, Q, v, a + 0.1 * np.eye(6)[2], c, **ALL)
    along = motion(Q, v, c)
    for k in (1, 2, 3):
        wrong = along.copy()
        wrong[k] += 0.1 * np.abs(along[k]).max() * np.eye(6)[2]
        with pytest.raises(jc.ArgumentError, match=rf"motion\[..., {k}, :\] violates Point"):
            jc.constrained_inverse_dynamics_series(ARM, Q, wrong, c, **ALL)


def test_motions_of_moving_targets_are_judged_by_these():
    model, rng = robot("free_root"), np.random.default_rng(2)
    w = rng.standard_normal((4, 3))
    c = jc.Constraints(model, [jc.Point("tool", motion=w)])
    at = states(model, count=1)
    v = jc.project_velocity(model, at.q[0], at.v[0], c)
    a = jc.constrained_dynamics_series(model, at.q[0], v, np.zeros((3, model.nv)), c).a
    every = {"actuated": np.ones(model.nv, bool)}
    whole = np.concatenate([v[None], a])
    jc.constrained_inverse_dynamics_series(model, at.q[0], whole, c, **every)
    fixed = jc.Constraints(model, [jc.Point("tool")])
    with pytest.raises(jc.ArgumentError, match=r"motion\[..., 0, :\] violates Point\('tool'\)"):
        jc.constrained_inverse_dynamics_series(model, at.q[0], whole, fixed, **every)


def test_a_tolerance_is_positive_and_stays_with_the_set():
    for bad in (0.0, -1.0, np.nan, "small", np.ones(2)):
        with pytest.raises(jc.Error, match="tolerance"):
            jc.Constraints(ARM, ITEMS, tolerance=bad)
    c = jc.Constraints(ARM, ITEMS, tolerance=0.1)
    assert c.at(Q).stabilized(1.0).tolerance == 0.1


def rod():
    """Body 0's rod ends where body 1 is at q[1] = 0."""
    arm = jc.models.chain(3)
    end = np.linalg.solve(jc.body_pose(arm, STILL[:3], 0), jc.body_pose(arm, STILL[:3], 2))[:3, 3]
    return arm, jc.Distance("body2", "body0", anchor=end), np.zeros(3), "ends coincide"


def wheel():
    """A wheel that lies on the floor."""
    build = jc.ModelBuilder().add_body("wheel", joint="free", mass=1, inertia=np.eye(3))
    model = build.build()
    item = jc.Rolling("wheel", radius=0.2, axis=(0, 0, 1))
    return model, item, jc.neutral(model), "wheel lies flat"


def calls(model, c, q):
    """All that looks at the rows, at rest."""
    v = np.zeros(model.nv)
    rows, state = np.zeros((2, model.nv)), (model, q, v)
    return {
        "rank": lambda: c.rank(q),
        "jacobian": lambda: c.jacobian(q),
        "inverse inertia": lambda: c.inverse_inertia(q),
        "at": lambda: c.at(q),
        "dynamics": lambda: jc.constrained_dynamics(*state, v, c),
        "threads": lambda: jc.constrained_dynamics(*state, v, c, threads=2),
        "derivatives": lambda: jc.constrained_dynamics_derivatives(*state, v, c),
        "Hessian": lambda: jc.constrained_dynamics_hessian(*state, v, c, v),
        "impulse": lambda: jc.impulse(*state, c),
        "its derivatives": lambda: jc.impulse_derivatives(*state, c),
        "rates": lambda: jc.project_velocity(*state, c),
        "series": lambda: jc.constrained_dynamics_series(*state, rows, c),
        "of series": lambda: jc.constrained_dynamics_series_derivatives(*state, rows, c),
        "hybrid": lambda: jc.constrained_hybrid_dynamics_series(*state, rows, rows, v > 0, c),
        "inverse": lambda: jc.constrained_inverse_dynamics(*state, v, c),
        "inverse series": lambda: jc.constrained_inverse_dynamics_series(
            model, q, np.zeros((3, model.nv)), c
        ),
        "linearize": lambda: jc.linearize(*state, v, constraints=c),
        "step": lambda: jc.linearize_step(*state, v, 0.01, constraints=c),
        "simulate": lambda: jc.simulate(*state, [0, 1], constraints=c),
        "rollout": lambda: jc.rollout(*state, rows, 0.01, constraints=c),
    }


@pytest.mark.parametrize("case", [rod, wheel])
@pytest.mark.parametrize("name", calls(ARM, None, Q))
def test_a_constraint_without_direction_is_told_as_such(case, name):
    model, item, q, why = case()
    c = jc.Constraints(model, [jc.Point(model.body_names[-1]), item])
    told = rf"{re.escape(item.label)} is not defined.*{why}"
    for aside in (0.0, 1e-14):  # also where rounding leaves it a little
        near = jc.integrate(model, q, aside * np.ones(model.nv))
        with pytest.raises(jc.ArgumentError, match=told):
            calls(model, c, near)[name]()


def test_of_a_batch_the_state_is_told():
    model, item, q, _ = rod()
    c = jc.Constraints(model, [item])
    batch = np.stack([q + 0.3, q + 0.2, q])
    with pytest.raises(jc.ArgumentError, match=r"not defined in state \[2\] of the batch"):
        jc.constrained_dynamics(model, batch, np.zeros(3), np.zeros(3), c)
    assert np.isfinite(
        jc.constrained_dynamics(model, batch[:2], np.zeros(3), np.zeros(3), c).a
    ).all()


def test_numbers_that_are_too_large_are_not_blamed_on_a_rod():
    model, item, q, _ = rod()
    c = jc.Constraints(model, [item])
    with pytest.raises(jc.ArgumentError, match="too large"):
        jc.constrained_dynamics(model, q + 0.3, np.full(3, 1e200), np.zeros(3), c)


@pytest.mark.parametrize("r", [0, 2])
@pytest.mark.parametrize(
    "held",
    [jc.Distance("B2", anchor=(1e200, 0, 0)), jc.Rolling("B2", 1e200)],
    ids=["distance", "rolling"],
)
def test_rows_that_overflow_are_not_taken_for_dependent_ones(held, r):
    """Their forces would be zero, as if nothing were held."""
    robot = jc.models.aerial_manipulator()
    c, v = jc.Constraints(robot, [held]), np.ones(robot.nv)
    q, tau = jc.random_configuration(robot, 0, 2), np.ones((r + 1, robot.nv))
    with pytest.raises(jc.ArgumentError, match=r"not finite|not defined"):
        jc.constrained_dynamics(robot, q, v, tau[0], c)
    with pytest.raises(jc.ArgumentError, match=r"not finite|not defined"):
        jc.constrained_dynamics_series(robot, q, v, tau, c)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_coefficients_whose_squares_are_no_numbers_are_refused(size):
    with pytest.raises(jc.ArgumentError, match=r"must be zero or between 1e-100 and 1e\+100"):
        jc.Coupling({"q2": size})
    assert jc.Rolling("B2", 0.1, axis=(0, size, 0)).axis == (0.0, 1.0, 0.0)


def test_coordinates_of_an_empty_batch_that_miss_a_target_are_refused():
    c, none = jc.Constraints(ARM, ITEMS), np.zeros((0, 6))
    away = (Q + 0.01 * np.eye(6)[0])[None]
    with pytest.raises(jc.ArgumentError, match=r"q violates Coupling\('joint0', 'joint1'\) by"):
        jc.constrained_inverse_dynamics(ARM, away, none, none, c, **ALL)
    states = np.tile(away, (2, 1, 1)), np.zeros((2, 1, 6))
    with pytest.raises(jc.ArgumentError, match=r"violates Coupling\('joint0', 'joint1'\) by"):
        jc.step(ARM, *states, none, 0.01, constraints=c)


def test_series_of_no_motions_have_no_actuation_where_rows_depend_on_each_other():
    twice = jc.Constraints(ARM, [jc.Point("body5"), jc.Point("body5")])
    got = jc.constrained_inverse_dynamics_series(ARM, Q, np.zeros((0, 3, 6)), twice, **ALL)
    assert got.tau.shape == (0, 2, 6)
    assert got.force.shape == (0, 2, 6)
