"""What SciPy's solvers take: motions, operators and residuals against those of the package."""

from __future__ import annotations

import numpy as np
import pytest
from bridge_cases import EPS, arguments, close, gripper, robot, state

import jounce as jc

pytest.importorskip("scipy", reason="SciPy is not installed")

from scipy.integrate import solve_ivp
from scipy.optimize import least_squares
from scipy.sparse.linalg import cg

from jounce.interop import scipy as jscipy
from jounce.interop._bridge.tangents import layout


@pytest.fixture(scope="module")
def model():
    return robot()


@pytest.mark.parametrize("passive", [False, True])
def test_solve_ivp_follows_the_motion_of_simulate(model, passive):
    at = state(model)
    motion = jscipy.RightHandSide(model, passive=passive)
    found = solve_ivp(
        motion, (0, 0.2), motion.pack(at.q, at.v), method="DOP853", rtol=1e-10, atol=1e-12
    )
    exact = jc.simulate(model, at.q, at.v, [0, 0.2], passive=passive, rtol=1e-12, atol=1e-12)
    q, v = motion.unpack(found.y[:, -1])
    assert np.abs(jc.difference(model, exact.q[-1], q)).max() < 1e-8
    assert np.abs(v - exact.v[-1]).max() < 1e-7


def differences(function, y, h):
    """Its Jacobian by differences of fourth order."""
    columns = [
        (8 * (function(y + s) - function(y - s)) - function(y + 2 * s) + function(y - 2 * s))
        / (12 * h)
        for s in h * np.eye(y.size)
    ]
    return np.transpose(columns)


def test_the_jacobian_is_that_of_the_right_hand_side(model):
    at = state(model)
    motion = jscipy.RightHandSide(model, at.tau, passive=True)
    y = motion.pack(at.q, at.v)
    assert close(motion.jac(0, y), differences(lambda y: motion(0, y), y, 2.0**-14), 1e-9)
    together = motion(0, np.stack([y, y], axis=1))
    assert close(together[:, 1], motion(0, y), 2**10 * EPS)


@pytest.mark.parametrize("passive", [False, True])
def test_the_jacobian_has_the_derivatives_of_forces_that_are_given(model, passive):
    at, goal = state(model), state(model, seed=3)

    def tau(t, q, v):
        return 3.0 * t * jc.difference(model, goal.q, q) - 2.0 * v + jc.gravity_forces(model, q)

    def derivatives(t, q, v):
        by = jc.difference_derivatives(model, goal.q, q).dq1
        zero = np.zeros(model.nv)
        return 3.0 * t * by + jc.inverse_dynamics_derivatives(model, q, zero, zero).dq, -2.0

    motion = jscipy.RightHandSide(model, tau, passive=passive, tau_derivatives=derivatives)
    y = motion.pack(at.q, at.v)
    expected = differences(lambda y: motion(0.7, y), y, 2.0**-12)
    assert close(motion.jac(0.7, y), expected, 1e-9)
    constant = jscipy.RightHandSide(model, tau, passive=passive)
    assert not close(constant.jac(0.7, y), expected, 1e-2)


def test_derivatives_of_forces_must_fit(model):
    at = state(model)
    with pytest.raises(jc.ArgumentTypeError, match="tau_derivatives must be a function"):
        jscipy.RightHandSide(model, at.tau, tau_derivatives=lambda t, q, v: (0, 0))
    wrong = jscipy.RightHandSide(
        model, lambda t, q, v: 0 * v, tau_derivatives=lambda t, q, v: (0, v)
    )
    with pytest.raises(jc.ArgumentError, match=r"the one by v must have shape \(11, 11\)"):
        wrong.jac(0.0, wrong.pack(at.q, at.v))


def test_operators_are_the_mass_matrix_and_its_inverse(model):
    at = state(model)
    M, inverse = jscipy.mass_operator(model, at.q), jscipy.inverse_mass_operator(model, at.q)
    dense = jc.mass_matrix(model, at.q)
    assert close(M @ np.eye(model.nv), dense, 64 * EPS)
    assert close(M.T @ at.v, dense @ at.v, 64 * EPS)
    assert close(inverse @ (M @ at.v), at.v, 2**12 * EPS)
    solved, status = cg(M, at.tau, rtol=1e-12, M=inverse)
    assert status == 0
    assert close(solved, np.linalg.solve(dense, at.tau), 1e-9)
    with pytest.raises(jc.ArgumentError, match="q must have shape"):
        jscipy.mass_operator(model, at.v)


@pytest.mark.parametrize("by", ["q", "a"])
def test_residuals_have_their_jacobian_and_are_solved(model, by):
    at, there = state(model), state(model, seed=5)
    given = {"q": at.q, "v": at.v, "a": at.a}
    goal = {"q": jc.integrate(model, at.q, 0.1 * there.v), "a": there.a}
    target = jc.inverse_dynamics(model, **{**given, by: goal[by]})
    residuals = jscipy.Residuals(jc.inverse_dynamics, model, given, by, target, 0.5)
    found = least_squares(residuals, residuals.start, jac=residuals.jac, xtol=1e-15, gtol=1e-15)
    assert found.cost < 1e-18
    x = residuals.start + 0.1
    assert close(residuals.jac(x), differences(residuals, x, 2.0**-10), 1e-8)


@pytest.mark.parametrize("length", [0.6, 1.0, 1.7])
def test_the_jacobian_of_a_motion_is_exact_for_quaternions_of_any_length(model, length):
    at = state(model)
    motion = jscipy.RightHandSide(model, passive=True)
    y = motion.pack(at.q, at.v)
    for piece in layout(model):
        if piece.kind == "quaternion":
            y[piece.q] *= length
    assert close(motion.jac(0, y), differences(lambda y: motion(0, y), y, 2.0**-12), 1e-8)


@pytest.mark.parametrize("target", ["number", "batch", "more"])
@pytest.mark.parametrize("by", ["q", "v", "a"])
@pytest.mark.parametrize("single", ["", "q", "v", "a", "qv", "va", "qva"])
def test_residuals_of_batches_have_their_jacobians(model, by, single, target):
    """Unknowns with batch axes and without, each beside arguments with them and without."""
    one, many = state(model), state(model, 4, seed=2)
    given = {k: getattr(one if k in single else many, k) for k in ("q", "v", "a")}
    goals = {"number": (), "batch": (4, model.nv), "more": (2, 4, model.nv)}
    goal = np.random.default_rng(0).standard_normal(goals[target])
    residuals = jscipy.Residuals(
        jc.inverse_dynamics, model, given, by, goal, np.arange(1.0, 1 + model.nv)
    )
    assert residuals.start.size == model.nv * (1 if by in single else 4)
    x = residuals.start + 0.1
    found, expected = residuals.jac(x), differences(residuals, x, 2.0**-10)
    assert found.shape == expected.shape
    assert close(found, expected, 1e-8)


def test_residuals_of_batches_are_solved(model):
    at = state(model, 3)
    goal = jc.body_pose(model, jc.integrate(model, at.q, 0.1 * at.v), "hand")
    reach = jscipy.Residuals(jc.body_pose, model, {"q": at.q, "body": "hand"}, "q", goal)
    found = least_squares(reach, reach.start, jac=reach.jac)
    assert found.cost < 1e-12
    assert reach.solution(found.x).shape == at.q.shape


def test_an_unknown_that_is_no_argument_is_named(model):
    with pytest.raises(jc.ArgumentTypeError, match="'tau'"):
        jscipy.Residuals(jc.gravity_forces, model, {"q": state(model).q}, "tau")


def motion_of(model, tau=None, **options):
    return jscipy.RightHandSide(model, tau, **options)


@pytest.mark.parametrize("passive", [False, True])
@pytest.mark.parametrize("forces", [5.0, [5.0], [[5.0] * 3], [5.0] * 2, "abc", [1j] * 3])
def test_forces_of_a_function_have_one_entry_per_rate(forces, passive):
    motion = motion_of(jc.models.chain(3), lambda t, q, v: forces, passive=passive)
    with pytest.raises(jc.ArgumentError, match="tau must"):
        motion(0.0, np.ones(6))
    with pytest.raises(jc.ArgumentError, match="tau must"):
        motion.jac(0.0, np.ones(6))


def test_forces_of_a_function_may_be_the_same_for_all_columns():
    arm, y = jc.models.chain(3), np.random.default_rng(0).standard_normal((6, 4))
    one, all_ = (motion_of(arm, lambda t, q, v, n=n: np.ones((*n, 3))) for n in ((), (4,)))
    np.testing.assert_array_equal(one(0.0, y), all_(0.0, y))


SHAPES = {
    "long q": (lambda m: m.pack([1, 2, 3], [4]), r"q must have shape \(..., 2\), got \(3,\)"),
    "short v": (lambda m: m.pack([1, 2], [4]), r"v must have shape \(..., 2\), got \(1,\)"),
    "leads": (lambda m: m.pack(np.ones((3, 2)), np.ones((4, 2))), "the same leading axes"),
    "y": (lambda m: m.unpack(np.ones(5)), r"y must have shape \(4,\) or \(4, states\), got \(5,\)"),
    "number": (lambda m: m.unpack(1.0), r"y must have shape .* got \(\)"),
    "rows": (lambda m: m(0.0, np.ones((3, 4))), r"y must have shape .* got \(3, 4\)"),
    "jac": (lambda m: m.jac(0.0, np.ones((4, 3))), r"y must have shape \(4,\), got \(4, 3\)"),
    "constant": (lambda m: motion_of(m.model, [1.0]), r"tau must have shape \(2,\), got \(1,\)"),
    "passive": (lambda m: motion_of(m.model, passive="no"), "passive must be True or False"),
    "derivatives": (
        lambda m: motion_of(
            m.model, lambda t, q, v: v, tau_derivatives=lambda t, q, v: np.ones((2, 2, 2))
        ).jac(0.0, np.ones(4)),
        "tau_derivatives must return two of them",
    ),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes_of_states_and_forces_are_not_guessed(case):
    call, text = SHAPES[case]
    with pytest.raises(jc.ArgumentError, match=text):
        call(motion_of(jc.models.chain(2)))


WRONG_RESIDUALS = {
    "weights": ({"weights": np.nan}, jc.ArgumentError, "weights must be finite"),
    "target": ({"target": [1.0, np.inf, 0.0]}, jc.ArgumentError, "target must be finite"),
    "shape": (
        {"target": np.ones(4)},
        jc.ArgumentError,
        r"target must broadcast .*\(3,\), got",
    ),
    "weights shape": ({"weights": np.ones(4)}, jc.ArgumentError, "weights must broadcast"),
    "several": (
        {"function": jc.inverse_dynamics_derivatives},
        jc.ArgumentTypeError,
        "inverse_dynamics_derivatives returns 3: dq, dv, da",
    ),
    "array": (
        {"arguments": np.ones((3, 3))},
        jc.ArgumentTypeError,
        "arguments must be a tuple of those of inverse_dynamics.* got ndarray",
    ),
    "many": ({"arguments": (0,) * 5}, jc.ArgumentTypeError, r"takes 4 .* got 5"),
    "unknown": ({"arguments": {"dq": 0}}, jc.ArgumentTypeError, "has no argument 'dq'"),
    "no kernel": ({"function": np.sin}, jc.ArgumentError, "sin has no compiled derivative"),
}


@pytest.mark.parametrize("case", WRONG_RESIDUALS)
def test_wrong_residuals_are_told_when_they_are_made(case):
    more, error, text = WRONG_RESIDUALS[case]
    known = {"q": np.ones(3), "v": np.ones(3), "a": np.ones(3)}
    given = {"function": jc.inverse_dynamics, "arguments": known, "by": "a", **more}
    with pytest.raises(error, match=text):
        jscipy.Residuals(model=jc.models.chain(3), **given)


@pytest.mark.parametrize("by", ["q", "a"])
def test_unknowns_of_a_wrong_shape_are_told(by):
    known = {"q": np.ones(3), "v": np.ones(3), "a": np.ones(3)}
    residuals = jscipy.Residuals(jc.inverse_dynamics, jc.models.chain(3), known, by)
    for use in (residuals, residuals.jac, residuals.solution):
        for x in (np.ones(4), np.ones((1, 3)), 1.0):
            with pytest.raises(jc.ArgumentError, match=r"x must have shape \(3,\), got"):
                use(x)


def test_residuals_of_what_cannot_move_are_empty():
    empty = jc.ModelBuilder().build()
    residuals = jscipy.Residuals(jc.gravity_forces, empty, {"q": np.zeros(0)}, "q")
    assert residuals(residuals.start).shape == (0,)
    assert residuals.jac(residuals.start).shape == (0, 0)


@pytest.mark.parametrize("lead", [(), (3,)], ids=["single", "batched"])
@pytest.mark.parametrize("by", ["q", "dv"])
def test_residuals_of_configurations_change_by_coordinates(model, by, lead):
    at = state(model, *lead)
    goal = state(model, seed=3).q
    residuals = jscipy.Residuals(jc.integrate, model, (at.q, at.v), by, goal, 0.5)
    x = residuals.start + 0.1
    found = residuals.jac(x)
    assert found.shape == (residuals(x).size, x.size)
    assert close(found, differences(residuals, x, 2.0**-10), 1e-8)


@pytest.mark.parametrize("name", ["interpolate", "normalize", "coordinate_rates", "difference"])
def test_residuals_of_other_functions_of_configurations_have_their_jacobians(model, name):
    at = state(model)
    at.q1 = jc.integrate(model, at.q0, 0.3 * at.v)  # no half turn away
    given = arguments(name, at)
    for by in given:
        residuals = jscipy.Residuals(getattr(jc, name), model, given, by)
        x = residuals.start + 0.1
        assert close(residuals.jac(x), differences(residuals, x, 2.0**-10), 1e-8)


def test_residuals_of_configurations_of_coupled_models_have_their_jacobians():
    hand = gripper()
    residuals = jscipy.Residuals(jc.integrate, hand, ([0.1], [0.2]), "dv")
    assert np.array_equal(residuals.jac(residuals.start), [[1.0]])


@pytest.mark.parametrize("by", ["q", "v"])
def test_residuals_keep_arrays_of_their_own(model, by):
    at, bodies = state(model), [0, 2]
    given = {"q": at.q, "v": at.v, "body": bodies}
    residuals = jscipy.Residuals(jc.body_twist, model, given, by)
    x = residuals.start + 0.1
    values, by_x = residuals(x), residuals.jac(x)
    residuals.start[:] = 7.0
    assert np.array_equal(at.v, state(model).v)
    at.q[:], at.v[:], bodies[0] = state(model, seed=3).q, 0.0, 1
    given.clear()
    assert np.array_equal(residuals(x), values)
    assert np.array_equal(residuals.jac(x), by_x)


def test_arguments_of_residuals_go_in_order_or_by_name(model):
    at = state(model)
    named = jscipy.Residuals(jc.inverse_dynamics, model, {"q": at.q, "v": at.v, "a": at.a}, "v")
    for given in ((at.q, at.v, at.a), [at.q, at.v, at.a]):
        in_order = jscipy.Residuals(jc.inverse_dynamics, model, given, "v")
        assert np.array_equal(in_order(in_order.start), named(named.start))
        assert np.array_equal(in_order.jac(in_order.start), named.jac(named.start))
