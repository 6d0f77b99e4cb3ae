"""What mutated calls found: arguments of no sense are refused by name, empty ones are computed."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

MODEL = jc.models.chain(3)
NOTHING = jc.ModelBuilder().build()
Q = np.zeros(3)
RAGGED = [[1], [1, 2]]
HOLDS = jc.Constraints(MODEL, [jc.Point("body2")])
MASSES = jc.parameters(MODEL, "mass")


def rollout(**given):
    return jc.rollout(MODEL, Q, Q, Q[None], 0.1, **given)


REFUSED = {
    "motion of words": (lambda: jc.Point("body2", motion="x"), "motion must be numbers"),
    "complex motion": (lambda: jc.Weld("body2", motion=1j), "motion must be real numbers"),
    "ragged gears": (lambda: jc.Coupling({"joint0": RAGGED}), r"coefficients\['joint0'\] must be"),
    "rows of no index": (lambda: HOLDS.rows("x"), "item: expected an integer"),
    "orders": (lambda: HOLDS.wanted_accelerations([]), "orders: expected an integer"),
    "many orders": (lambda: HOLDS.wanted_accelerations(2**70), "orders: expected an integer from"),
    "rank": (lambda: HOLDS.rank(RAGGED), "q must be numbers"),
    "held at states": (lambda: HOLDS.at(np.zeros((2, 3))), r"q must have shape \(3,\)"),
    "no rows": (lambda: jc.Constraints(MODEL, []).jacobian("x"), "q must be numbers"),
    "no rows, batches": (
        lambda: jc.Constraints(MODEL, []).velocity(np.zeros((2, 3)), np.zeros((4, 3))),
        "do not broadcast",
    ),
    "series of words": (
        lambda: jc.constrained_dynamics_series(MODEL, Q, Q, RAGGED, HOLDS),
        "tau must be numbers",
    ),
    "nothing holds": (
        lambda: jc.constrained_inverse_dynamics_series(
            MODEL, Q, np.zeros((2, 3)), jc.Constraints(MODEL, []), actuated=np.zeros(3, bool)
        ),
        "no actuation gives this motion: .* is missing where nothing acts",
    ),
    "start": (lambda: jc.rollout(MODEL, "x", Q, Q[None], 0.1, constraints=HOLDS), "q0 must be"),
    "rollout of no model": (
        lambda: jc.rollout((), Q, Q, Q[None], 0.1, control=jc.Control(kp=1.0)),
        "model must be",
    ),
    "forces of a servo": (
        lambda: jc.rollout(MODEL, Q, Q, RAGGED, 0.1, control=jc.Control(kd=1.0)),
        "tau must be numbers",
    ),
    "gains": (lambda: rollout(control=jc.Control(kp="x")), r"control\.kp must be numbers"),
    "Taylor's wrenches": (
        lambda: rollout(method="taylor", f_ext=np.zeros((2, 3))),
        r"f_ext must have shape \(\.\.\., 1, 3, 6\)",
    ),
    "step of no model": (lambda: jc.step((), Q, Q, Q, 0.1, constraints=HOLDS), "model must be"),
    "force of a step": (
        lambda: jc.step(MODEL, Q, Q, 1.0, 0.1, constraints=HOLDS),
        r"tau must have shape \(\.\.\., 3\)",
    ),
    "weights": (
        lambda: jc.rollout_vjp(MODEL, Q, Q, Q[None], 0.1, ("x", None)),
        "weights_q must be numbers",
    ),
    "threads": (
        lambda: jc.jvp(jc.inverse_dynamics, MODEL, (Q, Q, Q), (Q,), threads=np.zeros(2)),
        "threads",
    ),
    "order": (
        lambda: jc.jacobian_derivatives(NOTHING, np.zeros(0), "world", 2**70),
        "order: expected an integer from 0",
    ),
    "actuated": (lambda: jc.linearize(MODEL, Q, Q, Q, actuated=RAGGED), "actuated must be"),
    "names": (lambda: jc.parameters(MODEL, "mass", np.array("x")), "must be a list of names"),
    "moved": (lambda: MASSES.moved(1j), "step must be real numbers"),
    "arguments": (
        lambda: jc.parameter_derivatives(jc.integrate, MODEL, (Q, RAGGED), MASSES),
        "v",
    ),
    "too large": (lambda: jc.inertia.distance(np.full(10, -8e307)), "too large"),
    "derivatives": (lambda: jc.inertia.log_cholesky_derivatives(np.full(10, 1e129)), "too large"),
    "extend": (
        lambda: jc.trajectories.blend_poses([np.eye(4)] * 6, 1.0, extend=np.zeros(2)),
        "extend: expected one of",
    ),
    "places": (
        lambda: jc.trajectories.time_optimal_law(MODEL, None, 2**70, effort_rate_limit=1.0),
        "places: expected an integer from 3",
    ),
    "failures": (lambda: jc.sweep(jc.gravity_forces, MODEL, Q[None], on_failure=Q), "on_failure"),
    "failures of a motion": (lambda: jc.simulate(MODEL, Q, Q, [0, 1], on_failure=Q), "on_failure"),
    "progress": (
        lambda: jc.sweep(jc.gravity_forces, MODEL, Q[None], progress=float),
        r"progress\(done, states\) fails",
    ),
    "moved inertia": (
        lambda: jc.inertia.transform(np.full(10, 1e308), np.diag([1.0, 1, 1, 1]) + np.eye(4, k=1)),
        "too large",
    ),
    "constants": (lambda: jc.sweep(jc.gravity_forces, MODEL, Q[None], constants=3), "constants"),
    "file": (lambda: jc.sweep(jc.gravity_forces, MODEL, Q[None], file=3), "file must be a path"),
    "arrays": (lambda: jc.sweep(jc.gravity_forces, MODEL, RAGGED), "must be an array of numbers"),
    "workers": (lambda: jc.sweep(jc.gravity_forces, MODEL, Q[None], workers={}), "workers"),
    "states": (lambda: jc.sweep(len, MODEL, states=2**70, seed=0), "would take .* of memory"),
    "no states": (lambda: jc.sweep(_fails, MODEL, np.zeros((0, 3))), "failed for no states: Zero"),
    "none drawn": (lambda: jc.sweep(_fails, MODEL, states=0, seed=0), "failed for no states: Zero"),
}


def _fails(*_):
    return 1 / 0


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused_by_name(name):
    call, message = REFUSED[name]
    with pytest.raises(jc.Error, match=message):
        call()


def test_inertias_near_the_largest_numbers_are_judged():
    huge = 1e307 * jc.inertia.from_com(1.0, (0.0, 0.0, 0.0), np.eye(3))
    assert jc.inertia.is_possible(huge)
    assert not jc.inertia.is_possible(-huge)
    assert np.array_equal(jc.inertia.nearest(huge), huge)


def test_batches_of_no_states_have_results_of_no_states():
    none = np.zeros((0, 3))
    A, _, _, _, Z = jc.linearize(MODEL, none, none, none, constraints=HOLDS)
    assert A.shape == (0, 6, 6)
    assert Z.shape[:2] == (0, 6)
    assert jc.simulate(MODEL, none, none, [0.0, 0.1], lambda t, q, v: v).q.shape == (0, 2, 3)
    found = jc.rollout_vjp(
        MODEL, none, none, np.zeros((2, 3)), 0.1, (None, None), parameters=MASSES
    )
    assert [x.shape for x in found] == [(0, 3), (0, 3), (0, 2, 3), (0, 3)]


def test_robots_of_no_bodies_have_results_of_no_bodies():
    none = np.zeros(0)
    c = jc.Constraints(NOTHING, [])
    by = jc.constrained_dynamics_input_derivatives(NOTHING, none, c)
    assert [x.shape for x in by] == [(0, 0, 6), (0, 0), (0, 0, 6), (0, 0)]
    masses = jc.parameters(NOTHING, "mass")
    found = jc.parameter_derivatives(jc.inverse_dynamics, NOTHING, (none, none, none), masses)
    assert found.shape == (0, 0)
    assert jc.step(NOTHING, none, none, none, 0.1, np.zeros((0, 6)), "taylor").q.shape == (0,)
    assert jc.linearize(NOTHING, none, none, none, constraints=c).A.shape == (0, 0)


def test_errors_of_flat_batches_name_the_state_of_the_call():
    v = np.zeros((2, 2, 3))
    v[1, 0] = 1e200
    with pytest.raises(jc.ArgumentError, match=r"state \[1, 0\] of the batch"):
        jc.linearize_step(MODEL, Q, v, Q, 0.1, passive=True)


def test_no_states_and_no_rows_are_no_mistake():
    arm = jc.models.chain(3)
    none, point = jc.Constraints(arm, []), jc.Constraints(arm, [jc.Point("body2")])
    q, motion = np.zeros((0, 3)), np.zeros((0, 3, 3))
    for c in (none, point):
        assert jc.constrained_inverse_dynamics_series(arm, q, motion, c).tau.shape == (0, 2, 3)
        found = jc.constrained_inverse_dynamics_series_derivatives(arm, q, motion, c)
        assert found.tau_dq.shape == (0, 2, 3, 3)
        assert found.force_dmotion.shape == (0, 2, c.size, 3, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda m: jc.parameter_derivatives(
                jc.inverse_dynamics, m, ([0, 0],), jc.parameters(m, "mass")
            ),
            "needs the argument 'v'",
        ),
        (lambda m: jc.inertia.from_com(1e300, [1e200, 0, 0], np.eye(3)), "not finite"),
        (lambda m: jc.inertia.pseudo_inertia([1, 0, 0, 0, *[1.7e308] * 6]), "not finite"),
        (
            lambda m: jc.rollout_vjp(
                m, [0, 0], [0, 0], [[0, 0]], 0.1, (np.zeros((2, 2)),) * 2, parameters=3
            ),
            "parameters must be those of",
        ),
        (
            lambda m: jc.constrained_dynamics_hessian(
                m, *np.zeros((3, 2)), jc.Constraints(m, [jc.Point("body1")]), ["x"]
            ),
            "weights must be numbers",
        ),
        (
            lambda m: jc.constrained_dynamics_hessian(
                m, *np.zeros((3, 4, 2)), jc.Constraints(m, [jc.Point("body1")]), np.ones((3, 2))
            ),
            "leading axes do not broadcast",
        ),
        (lambda m: jc.inertia.rotational([np.nan] * 10), "must be finite"),
        (lambda m: jc.simulate(m, [0, 0], RAGGED, [0, 1]), "v0 must"),
        (
            lambda m: jc.inverse_kinematics(m, {"body1": np.eye(4)}, [0, 0], restarts=2**70),
            "restarts: expected an integer from 0 to 1000000",
        ),
        (
            lambda m: jc.rollout(
                m, np.zeros((2, 2)), np.zeros(2), np.zeros((1, 2)), np.ones(3), method="taylor"
            ),
            "does not broadcast",
        ),
        (
            lambda m: jc.project_velocity(NOTHING, np.zeros(0), None, jc.Constraints(NOTHING, [])),
            "v must",
        ),
        (
            lambda m: jc.trajectories.through_waypoints([[0], [1]], 1, 2, blend=np.eye(3)),
            "blend must be",
        ),
        (lambda m: jc.inertia.matrix([*[1] * 9, np.inf]), "must be finite"),
    ],
)
def test_mistakes_that_mutated_calls_found(call, message):
    with pytest.raises(jc.Error, match=message):
        call(jc.models.chain(2))
