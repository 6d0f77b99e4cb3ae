"""Directional derivatives of the functions of the core: states, directions, what is refused."""

from __future__ import annotations

import inspect
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import partials_oracle as oracle
import pytest
from jvp_cases import FUNCTIONS, SIGNATURES, arguments_of, as_tuple

import jounce as jc

EXACT = 1e-11
"""What the issue of exactness demands; seen are 1e-13."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_in_a_tuple_and_by_name_mean_the_same(name):
    """The former go to the kernel at once, options and what is left out included."""
    model, function = jc.models.mixed_tree(0), getattr(jc, name)
    values, tangents = arguments_of(name, model)
    own = SIGNATURES[name]
    names = [*own["inputs"], *own["options"], *own["optional_inputs"]]
    by_name = jc.jvp(function, model, values, tangents)
    whole = tuple(values[key] for key in names), tuple(tangents.get(key) for key in names)
    in_tuples = jc.jvp(function, model, *whole)
    least = [key for key in names if key in own["inputs"] or key == "body" or key == "prescribed"]
    least = least[: 1 + max(map(names.index, least))]
    short = tuple(values[key] for key in least), (tangents[names[0]],)
    for got, expected in (
        (in_tuples, by_name),
        (
            jc.jvp(function, model, *short),
            jc.jvp(
                function, model, dict(zip(least, short[0], strict=True)), {names[0]: short[1][0]}
            ),
        ),
    ):
        assert type(got) is jc.Jvp
        for one, other in zip(got, expected, strict=True):
            assert type(one) is type(other) is type(function(model, **values))
            for x, y in zip(as_tuple(one), as_tuple(other), strict=True):
                np.testing.assert_array_equal(x, y)


def test_the_result_has_the_type_of_the_functions():
    model = jc.models.chain(3)
    x = np.ones(3)
    got = jc.jvp(jc.hybrid_dynamics, model, (x, x, x, x, np.arange(3) == 1), (x,))
    assert isinstance(got, jc.Jvp)
    assert isinstance(got.value, jc.HybridDynamics)
    assert isinstance(got.derivative, jc.HybridDynamics)


def complex_moved(case, dq):
    return oracle.integrate(case.model, case.q.astype(complex), 1j * oracle.STEP * dq)


def test_dynamics_are_exact(case):
    rng = np.random.default_rng(3)
    model, lead = case.model, case.q.shape[:1]
    dq, dv, da = rng.standard_normal((3, *lead, model.nv))
    df = rng.standard_normal((*lead, model.n_bodies, 6))
    h = 1j * oracle.STEP
    at = complex_moved(case, dq)
    x = (case.q, case.v, case.a, case.f_ext)
    got = jc.jvp(jc.inverse_dynamics, model, x, (dq, dv, da, df))
    exact = oracle.inverse_dynamics(
        model, at, case.v + h * dv, case.a + h * da, case.f_ext + h * df
    )
    assert oracle.relative(got.derivative, exact.imag / oracle.STEP) < EXACT
    x = (case.q, case.v, case.tau, case.f_ext)
    got = jc.jvp(jc.forward_dynamics, model, x, (dq, dv, da, df))
    exact = oracle.forward_dynamics(
        model, at, case.v + h * dv, case.tau + h * da, case.f_ext + h * df
    )
    assert oracle.relative(got.derivative, exact.imag / oracle.STEP) < EXACT
    got = jc.jvp(jc.mass_matrix, model, (case.q,), (dq,))
    exact = oracle.mass_matrix(model, at)
    assert oracle.relative(got.derivative, exact.imag / oracle.STEP) < EXACT
    x = (case.q, case.v, case.a, case.tau, case.mask, case.f_ext)
    got = jc.jvp(jc.hybrid_dynamics, model, x, (dq, dv, da, da, None, df))
    acc, forces = oracle.hybrid_dynamics(
        model,
        at,
        case.v + h * dv,
        case.a + h * da,
        case.tau + h * da,
        case.mask,
        case.f_ext + h * df,
    )
    assert oracle.relative(got.derivative.a, acc.imag / oracle.STEP) < EXACT
    assert oracle.relative(got.derivative.tau, forces.imag / oracle.STEP) < EXACT


def test_steps_are_exact(case):
    rng = np.random.default_rng(4)
    model, lead = case.model, case.q.shape[:1]
    dq, dv, dtau = rng.standard_normal((3, *lead, model.nv))
    h, dt = 1j * oracle.STEP, 0.02
    x = (case.q, case.v, case.tau, dt, None, "rkmk4")
    got = jc.jvp(jc.step, model, x, (dq, dv, dtau))
    q, v = oracle.step(
        model, complex_moved(case, dq), case.v + h * dv, case.tau + h * dtau, dt, "rkmk4"
    )
    assert isinstance(got.derivative, jc.Step)
    assert oracle.relative(got.derivative.q, oracle.tangent(model, q)) < EXACT
    assert oracle.relative(got.derivative.v, v.imag / oracle.STEP) < EXACT


def test_directions_are_the_columns_of_the_partial_derivatives(case):
    q, v, a = case.q[:5, None], case.v[:5, None], case.a[:5, None]
    every = np.eye(case.model.nv)
    by = jc.inverse_dynamics_derivatives(case.model, q[:, 0], v[:, 0], a[:, 0])
    for k, expected in enumerate(by):
        tangents = [every if i == k else None for i in range(3)]
        got = jc.jvp(jc.inverse_dynamics, case.model, (q, v, a), tangents).derivative
        np.testing.assert_allclose(
            np.swapaxes(got, -1, -2), expected, rtol=0, atol=1e-11 * np.abs(expected).max()
        )


def test_second_derivatives_are_nested(case):
    """The derivative of .dq along e_k: X_k X_j differs from X_j X_k by the bracket."""
    q, v, a = case.q[:3, None], case.v[:3, None], case.a[:3, None]
    nv = case.model.nv
    got = jc.jvp(jc.inverse_dynamics_derivatives, case.model, (q, v, a), (np.eye(nv),)).derivative
    D = np.moveaxis(got.dq, 1, -1)  # [i, j, k]: direction k last
    first = jc.inverse_dynamics_derivatives(case.model, q[:, 0], v[:, 0], a[:, 0]).dq
    bracket = np.zeros((nv, nv, nv))  # [l, k, j] of e_l in [e_k, e_j]
    for kind, w in zip(case.model.nodes.kind, case.model.nodes.v_index, strict=True):
        size = {3: 3, 4: 6}.get(int(kind), 0)
        for k in range(size):
            unit = np.eye(size)[k]
            twist = np.concatenate([unit, np.zeros(6 - size)])
            ad = jc.lie.ad(twist)[:size, :size]
            bracket[w : w + size, w + k, w : w + size] = ad
    expected = np.einsum("sil,lkj->sijk", first, bracket)
    error = D - np.swapaxes(D, -1, -2) - expected
    assert np.abs(error).max() < 1e-11 * np.abs(D).max()


def columns(jvp_of, model, at, name):
    """Derivatives along all directions of one argument; they are the last axis."""
    spread = {key: np.expand_dims(x, 1) for key, x in at.items()}
    got = jc.jvp(jvp_of, model, spread, {name: np.eye(model.nv)}).derivative
    return type(got)(*(np.moveaxis(x, 1, -1) for x in got))


def test_third_derivatives_do_not_depend_on_the_order(case):
    """Those of Hessians and tensors: first by q, then by v, or the other way round."""
    model, rows = case.model, slice(0, 2)
    q, v, a, tau = (getattr(case, x)[rows] for x in ("q", "v", "a", "tau"))
    weights = np.random.default_rng(8).standard_normal(v.shape)
    calls = (
        (jc.inverse_dynamics_hessian, {"q": q, "v": v, "a": a, "weights": weights}),
        (jc.forward_dynamics_hessian, {"q": q, "v": v, "tau": tau, "weights": weights}),
        (jc.inverse_dynamics_second_derivatives, {"q": q, "v": v, "a": a}),
    )
    for function, at in calls:
        by_q, by_v = (columns(function, model, at, name) for name in "qv")
        vvq = by_q.dvdv  # [..., i, j, k]: by v_i, v_j and then q_k
        qvv = np.moveaxis(by_v.dqdv, -3, -1)  # [..., k, i, j], the same
        assert np.abs(vvq - qvv).max() < 1e-10 * np.abs(vvq).max(), function.__name__
        assert np.abs(by_v.dqda if hasattr(by_v, "dqda") else by_v.dqdtau).max() == 0


def test_partials_of_series_do_not_depend_on_the_order(case):
    """By q and then by v, or the other way round: their derivatives are there and agree."""
    model, rows, nv = case.model, slice(0, 2), case.model.nv
    rng = np.random.default_rng(9)
    q, v = case.q[rows], case.v[rows]
    forces, accelerations = rng.standard_normal((2, 2, 3, nv))
    motion = np.concatenate([v[:, None], accelerations], axis=1)
    along = np.zeros((nv, 4, nv))
    along[:, 0] = np.eye(nv)  # v alone
    mask = np.arange(nv) % 3 == 1
    pairs = (
        (jc.inverse_dynamics_series_derivatives, (q, motion), 1, along, "dq", "dmotion"),
        (jc.forward_dynamics_series_derivatives, (q, v, forces), 1, np.eye(nv), "dq", "dv"),
        (
            jc.hybrid_dynamics_series_derivatives,
            (q, v, accelerations, forces, mask),
            1,
            np.eye(nv),
            "tau_dq",
            "tau_dv",
        ),
    )
    for function, at, place, directions, by_q, by_v in pairs:
        spread = tuple(x if x is mask else np.expand_dims(x, 1) for x in at)
        tangents = [None] * len(at)
        tangents[place] = directions
        q_then_v = getattr(jc.jvp(function, model, spread, tangents).derivative, by_q)
        v_then_q = getattr(jc.jvp(function, model, spread, (np.eye(nv),)).derivative, by_v)
        if by_v == "dmotion":
            v_then_q = v_then_q[..., 0, :]
        first = np.moveaxis(q_then_v, 1, -1)  # [..., order, i, q_j, v_k]
        other = np.swapaxes(np.moveaxis(v_then_q, 1, -1), -1, -2)
        assert np.abs(first - other).max() < 1e-10 * np.abs(first).max(), function.__name__


def test_of_configurations_at_special_angles():
    model = jc.ModelBuilder()
    ball = model.add_body("ball", joint="free", mass=1.0, inertia=[1, 2, 3]).build()
    q = jc.neutral(ball)
    d = np.arange(1.0, 7.0)
    for size in (0.0, 1e-200, 1e-9, 1.0, np.pi, 3.5):
        u = np.concatenate([[size, 0, 0], np.zeros(3)])
        got = jc.jvp(jc.integrate, ball, (q, u), (None, d)).derivative
        np.testing.assert_allclose(got, jc.integrate_derivatives(ball, q, u).dv @ d, atol=1e-13)
        if size >= np.pi:
            continue
        q1 = jc.integrate(ball, q, u)
        got = jc.jvp(jc.difference, ball, (q, q1), (None, d)).derivative
        np.testing.assert_allclose(
            got, jc.difference_derivatives(ball, q, q1).dq1 @ d, rtol=1e-12, atol=1e-12
        )


def test_no_tangent_is_zero_and_empty_batches_stay_empty(robot, state):
    at = state(robot)
    got = jc.jvp(jc.forward_dynamics, robot, (at.q, at.v, at.tau), (None, None))
    assert not np.any(got.derivative)
    none = state(robot, 0)
    got = jc.jvp(jc.forward_dynamics, robot, (none.q, none.v, none.tau), (none.v,))
    assert got.derivative.shape == (0, robot.nv)


def test_threads_and_out_give_the_same(robot, state):
    at = state(robot, 33)
    x, d = (at.q, at.v, at.tau), (at.dv, at.a)
    alone = jc.jvp(jc.forward_dynamics, robot, x, d)
    pair = np.empty((2, 33, robot.nv))
    both = jc.jvp(jc.forward_dynamics, robot, x, d, threads=2, out=(pair[0], pair[1]))
    assert both.derivative is pair[1] or both.derivative.base is pair
    np.testing.assert_array_equal(alone.derivative, pair[1])
    np.testing.assert_array_equal(alone.value, pair[0])


@pytest.mark.parametrize(
    "bad", [{"threads": -2}, {"out": (1, 2)}, {"out": 3}, {"out": ()}, {"thread": 1}, {"out": None}]
)
def test_keywords_mean_the_same_for_tuples_and_for_names(bad, robot, state):
    at = state(robot)
    x, d = (at.q, at.v, at.tau), (at.dv, at.a)
    jc.jvp(jc.forward_dynamics, robot, x, d)  # from now on tuples go the short way
    names = ("q", "v", "tau")
    said = []
    for form in ((x, d), (dict(zip(names, x, strict=True)), dict(zip(names, d, strict=False)))):
        try:
            said.append(jc.jvp(jc.forward_dynamics, robot, *form, **bad).derivative.tolist())
        except (jc.Error, TypeError) as error:
            said.append((type(error), str(error)))
    assert said[0] == said[1]


def test_a_tangent_of_wrenches_that_are_not_given(robot, state):
    at = state(robot)
    x, zero = (at.q, at.v, at.a), np.zeros_like(at.f_ext)
    got = jc.jvp(jc.inverse_dynamics, robot, x, {"f_ext": at.f_ext}).derivative
    expected = jc.jvp(
        jc.inverse_dynamics, robot, (*x, zero), (None, None, None, at.f_ext)
    ).derivative
    np.testing.assert_array_equal(got, expected)


ONE_STATE = {
    jc.inverse_dynamics: "q v a f_ext",
    jc.forward_dynamics: "q v tau f_ext",
    jc.bias_forces: "q v f_ext",
    jc.gravity_forces: "q",
    jc.kinetic_energy: "q v",
    jc.potential_energy: "q",
    jc.momentum: "q v",
    jc.centroidal_momentum: "q v",
}


@pytest.mark.parametrize("function", ONE_STATE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 30])
def test_directions_of_one_state_are_those_of_as_many_states(function, count, robot, state):
    """A closed form serves the former, dual numbers the latter."""
    rng = np.random.default_rng(count)
    names = ONE_STATE[function].split()
    at = {name: getattr(state(robot), name) for name in names}
    shapes = {**{name: x.shape for name, x in at.items()}, "q": (robot.nv,)}
    d = {name: rng.standard_normal((count, *shapes[name])) for name in names}
    for chosen in (*([name] for name in names), names):
        tangents = {name: d[name] for name in chosen}
        one = jc.jvp(function, robot, at, tangents, threads=2)
        many = {name: np.repeat(x[None], count + 1, axis=0) for name, x in at.items()}
        more = {name: np.concatenate([x, x[:1]]) for name, x in tangents.items()}
        expected = jc.jvp(function, robot, many, more)
        np.testing.assert_array_equal(one.value, np.repeat(one.value[:1], count, axis=0))
        for ours, other in zip(one, expected, strict=True):
            size = np.abs(other).max(initial=1.0)
            np.testing.assert_allclose(ours, other[:count], rtol=0, atol=EXACT * size)


def test_directions_of_a_pose_are_those_of_as_many_states(robot, state):
    q, count = state(robot).q, 9
    d = np.random.default_rng(4).standard_normal((count, robot.nv))
    for body in (0, robot.n_bodies // 2, robot.body_names[-1]):
        one = jc.jvp(jc.body_pose, robot, (q, body), (d,))
        many = jc.jvp(jc.body_pose, robot, (np.repeat(q[None], count, axis=0), body), (d,))
        for ours, other in zip(one, many, strict=True):
            size = np.abs(other).max(initial=1.0)
            np.testing.assert_allclose(ours, other, rtol=0, atol=EXACT * size)
        none = jc.jvp(jc.body_pose, robot, (q, body), ())
        np.testing.assert_array_equal(none.derivative, np.zeros((4, 4)))


def test_directions_of_one_state_are_exact(case):
    rng = np.random.default_rng(6)
    model, h, count = case.model, 1j * oracle.STEP, 11
    for k in range(3):
        q, v, a, tau, f = (getattr(case, x)[k] for x in ("q", "v", "a", "tau", "f_ext"))
        dq, dv, da = rng.standard_normal((3, count, model.nv))
        df = rng.standard_normal((count, model.n_bodies, 6))
        at = oracle.integrate(model, np.repeat(q[None], count, axis=0).astype(complex), h * dq)
        x = (at, v + h * dv, a + h * da, f + h * df)
        got = jc.jvp(jc.inverse_dynamics, model, (q, v, a, f), (dq, dv, da, df)).derivative
        exact = oracle.inverse_dynamics(model, *x).imag / oracle.STEP
        assert oracle.relative(got, exact) < EXACT
        x = (at, v + h * dv, tau + h * da, f + h * df)
        got = jc.jvp(jc.forward_dynamics, model, (q, v, tau, f), (dq, dv, da, df)).derivative
        exact = oracle.forward_dynamics(model, *x).imag / oracle.STEP
        assert oracle.relative(got, exact) < EXACT


def test_one_state_with_many_directions_is_checked_like_any_other():
    arm = jc.models.chain(3)
    x, d = np.ones(3), np.eye(3)
    d[2, 1] = np.nan
    with pytest.raises(jc.ArgumentError, match=r"d_q .*\[2, 1\]"):
        jc.jvp(jc.forward_dynamics, arm, (x, x, x), (d,))
    with pytest.raises(jc.ArgumentError, match=r"v .*finite"):
        jc.jvp(jc.forward_dynamics, arm, (x, x * np.inf, x), (np.eye(3),))
    with pytest.raises(jc.ArgumentError, match=r"not finite"):
        jc.jvp(jc.inverse_dynamics, arm, (x, x * 1e100, x), (np.eye(3) * 1e200,))
    builder = jc.ModelBuilder()
    builder.add_body("arm", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0.1, 0, 0))
    light = builder.add_body("wrist", "arm", joint="revolute", axis=(0, 1, 0)).build()
    y = np.zeros(2)
    with pytest.raises(jc.SingularError, match="wrist"):
        jc.jvp(jc.forward_dynamics, light, (y, y, y), (np.eye(2),))


def test_a_copy_of_a_model_has_its_own_numbers(all_joints, state):
    """Of a model that does not move, the dual numbers are kept with it."""
    s, d = state(all_joints), np.eye(all_joints.nv)
    heavy = all_joints.replace(inertias=2.0 * all_joints.inertias, armature=0.0 * s.v)
    light = heavy.replace(inertias=all_joints.inertias)
    for _ in range(2):
        once, twice = (jc.jvp(jc.mass_matrix, m, (s.q,), (d,)).derivative for m in (light, heavy))
        np.testing.assert_allclose(twice, 2.0 * once, rtol=1e-14, atol=1e-14)


def test_threads_that_ask_a_new_model_at_once_agree():
    q, d = np.full(20, 0.3), np.eye(20)
    expected = jc.jvp(jc.potential_energy, jc.models.chain(20), (q,), (d,)).derivative
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            model = jc.models.chain(20)
            ask = partial(jc.jvp, jc.potential_energy, model, (q,), (d,))
            found = [pool.submit(ask) for _ in range(8)]
            for result in found:
                np.testing.assert_array_equal(result.result().derivative, expected)


def test_a_model_that_is_too_large_to_be_kept():
    arm = jc.models.chain(1001)
    q, d = np.zeros((2, arm.nv))
    q += 1e-3
    d[-1] = 1.0
    got = jc.jvp(jc.center_of_mass, arm, (q,), (d,)).derivative
    np.testing.assert_allclose(got, jc.center_of_mass_jacobian(arm, q)[:, -1], rtol=0, atol=1e-12)


MISTAKES = {
    "a motion": (jc.rollout, (), (), "rollout has no compiled derivative; rollout_vjp"),
    "blocks": (jc.torque_regressor_blocks, (), (), r"derivative; torque_regressor\(\)"),
    "passive steps": (
        jc.step,
        {"passive": True},
        (),
        r"'passive', only .*; linearize_step\(\.\.\., passive=True\).* rollout_vjp\(",
    ),
    "constrained steps": (
        jc.step,
        {"constraints": None},
        (),
        r"'constraints', only .*; linearize_step\(\.\.\., constraints",
    ),
    "Taylor steps": (
        jc.step,
        {"q": 0, "v": 0, "tau": 0, "dt": 0.1, "method": "taylor"},
        (),
        r"'taylor' is not explicit.*; linearize_step\(\.\.\., method=.taylor",
    ),
    "geometric steps": (
        jc.step,
        {"q": 0, "v": 0, "tau": 0, "dt": 0.1, "method": "momentum"},
        (),
        r"'momentum' is not explicit.*'dop853'$",
    ),
    "no function of the core": (jc.load, (1,), (), "load has no compiled derivative"),
    "no function at all": ("inverse_dynamics", (1,), (), "has no compiled derivative"),
    "unknown argument": (jc.mass_matrix, {"p": 1}, (), "mass_matrix.* has no argument 'p', only q"),
    "too many": (jc.mass_matrix, (np.ones(3), 2), (), r"takes 1 after the model \(q\), got 2"),
    "too few": (jc.bias_forces, (np.ones(3),), (), r"bias_forces\(\) needs the argument 'v'"),
    "no tuple": (
        jc.mass_matrix,
        np.ones(3),
        (),
        r"arguments must be a tuple of those of mass_matrix",
    ),
    "wrong tangent": (
        jc.mass_matrix,
        (np.ones(3),),
        (np.ones(4),),
        r"d_q must have shape \(..., 3\)",
    ),
    "tangent of an option": (
        jc.body_pose,
        (np.ones(3), 1),
        (None, 2),
        r"body_pose\(\) has no derivative by body",
    ),
    "not finite": (
        jc.mass_matrix,
        (np.ones(3),),
        ([0, np.nan, 0],),
        r"d_q must be finite, got nan at d_q\[1\]",
    ),
    "no pair of arrays": (jc.mass_matrix, (np.ones(3),), (), "out must be a pair"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes_are_named(what):
    function, arguments, tangents, message = MISTAKES[what]
    out = {"out": np.empty(3)} if "pair" in what else {}
    for _ in range(2):  # the second call knows the function
        with pytest.raises(jc.Error, match=message):
            jc.jvp(function, jc.models.chain(3), arguments, tangents, **out)


def test_every_function_of_a_state_is_covered():
    """What is public and compiled has a derivative."""
    without = {name for name, own in SIGNATURES.items() if not own["internal"]} - set(FUNCTIONS)
    assert not without
    assert {"inverse_dynamics", "jacobian", "integrate", "inverse_dynamics_series"} <= set(
        FUNCTIONS
    )
    assert all(
        callable(getattr(jc, name)) and inspect.getdoc(getattr(jc, name)) for name in FUNCTIONS
    )
