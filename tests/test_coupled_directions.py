"""Directional derivatives and parameters of coupled models, by other means."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from test_coupled import close, coupled_tree, directional, expanded_rates

import jounce as jc
from jounce import _core
from jounce._core.coupled import knows_coupled
from jounce.model.coupled import CoupledModel

ORDERS = 3


@pytest.fixture(scope="module")
def robot():
    tree = coupled_tree()
    whole = tree.expanded
    return whole.replace(armature=np.linspace(0.1, 0.3, whole.nv)).coupled()


@pytest.fixture(scope="module")
def at(robot, state):
    return state(robot, 5)


@functools.cache
def every_parameter(model):
    kinds = ("mass", "log_cholesky", "placement", "axis", "pitch", "gravity", "armature")
    p = jc.parameters(model, "first_moment")
    for kind in kinds:
        p = p + jc.parameters(model, kind)
    return p


as_coupled = functools.cache(CoupledModel)
DIRECTIONAL = [
    name.removesuffix("_jvp")
    for name in _core.kernel_names()
    if name.endswith("_jvp") and knows_coupled(name) and hasattr(jc, name.removesuffix("_jvp"))
]


def arguments_for(name, model, seed):
    own, rng = _core.signature(name), np.random.default_rng(seed)
    q0, q1 = jc.random_configuration(model, rng, 2)
    q1 = jc.integrate(model, q0, rng.uniform(-1, 1, model.nv))
    values, tangents = {}, {}
    for key, axes in own["input_axes"].items():
        sizes = {"nv": model.nv, "n_bodies": model.n_bodies, "number": 6}
        rows = ORDERS + (key == "motion")
        shape = [rows if axis == "order" else sizes.get(axis, 0) for axis in axes]
        if "nq" in axes:
            values[key], tangents[key] = (q1 if key == "q1" else q0), rng.standard_normal(model.nv)
        else:
            values[key], tangents[key] = rng.standard_normal((2, *shape))
    options = {
        "body": model.body_names[-1],
        "twist": "hybrid",
        "prescribed": np.arange(model.nv) % 3 == 1,
    }
    return {**values, **{key: options[key] for key in own["options"]}}, tangents


@pytest.mark.parametrize("directions", [(), (2,)])
@pytest.mark.parametrize("name", DIRECTIONAL)
def test_without_mimic_joints_all_is_as_in_the_core(name, directions, all_joints):
    """The way of coupled models where G is the identity, along states and parameters at once."""
    values, tangents = arguments_for(name, all_joints, 0)
    same = as_coupled(all_joints)
    number = len(every_parameter(all_joints))
    direction = np.random.default_rng(1).standard_normal((*directions, number))
    results = [
        jc.jvp(getattr(jc, name), m, values, tangents, parameters=(every_parameter(m), direction))
        for m in (same, all_joints)
    ]
    for ours, theirs in zip(*results, strict=True):
        assert type(ours) is type(theirs)
        for x, y in zip(
            *(r if isinstance(r, tuple) else (r,) for r in (ours, theirs)), strict=True
        ):
            close(x, y, 2.0**20)


@pytest.mark.parametrize("lead", [(), (3,), (9,)])
@pytest.mark.parametrize(
    "name",
    [
        "integrate",
        "difference",
        "interpolate",
        "normalize",
        "coordinate_rates",
        "integrate_derivatives",
        "difference_derivatives",
    ],
)
def test_configurations_do_not_depend_on_parameters(name, lead, robot):
    """Zeros, one for each number of the result and each parameter."""
    values, _ = arguments_for(name, robot, 0)
    values = {key: np.broadcast_to(x, (*lead, *np.shape(x))) for key, x in values.items()}
    p = jc.parameters(robot, "gravity")
    by_p = jc.parameter_derivatives(getattr(jc, name), robot, values, p)
    value, _ = jc.jvp(getattr(jc, name), robot, values, {})
    found, whole = (x if isinstance(x, tuple) else (x,) for x in (by_p, value))
    own = _core.signature(f"{name}_jvp")["output_axes"].values()
    for x, y, axes in zip(found, whole, list(own)[len(whole) :], strict=True):
        rates = (robot.nv,) if y.shape[-1] == robot.nq and axes[-1] == "nv" else y.shape[-1:]
        assert x.shape == (*y.shape[:-1], *rates, 3)
        assert not x.any()


def test_forward_dynamics_are_all_there():
    assert {
        "inverse_dynamics",
        "forward_dynamics",
        "hybrid_dynamics",
        "forward_dynamics_series",
        "hybrid_dynamics_series",
        "forward_dynamics_derivatives",
        "hybrid_dynamics_derivatives",
        "forward_dynamics_hessian",
        "inverse_dynamics_series_derivatives",
        "forward_dynamics_series_derivatives",
        "hybrid_dynamics_series_derivatives",
        "inverse_mass_matrix",
        "inverse_mass_matrix_derivatives",
        "kinetic_energy",
        "body_pose",
        "jacobian",
        "integrate",
        "difference",
    } <= set(DIRECTIONAL)


def constrained(robot, q, v, tau, whole=None):
    """Forward dynamics of the expanded robot under its couplings, another solver of them."""
    whole = robot.expanded if whole is None else whole
    rows = []
    for joint in robot.joints:
        if joint.mimic is not None:
            rows.append(jc.Coupling({joint.name: 1.0, joint.mimic.joint: -joint.mimic.multiplier}))
    c = jc.Constraints(whole, rows, tolerance=np.inf)
    own = whole.v_indices([j.name for j in robot.joints if j.mimic is None])
    forces = np.zeros(whole.nv)
    forces[own] = tau
    d = jc.constrained_dynamics_derivatives(whole, robot.expand(q), robot.coupling @ v, forces, c)
    return d, own


def test_along_states_it_is_the_derivative_under_the_couplings(robot, at):
    q, v, tau = at.q[0], at.v[0], at.tau[0]
    rng = np.random.default_rng(2)
    dq, dv, dtau = rng.standard_normal((3, 4, robot.nv))
    d, own = constrained(robot, q, v, tau)
    G = robot.coupling
    expected = dq @ (d.a_dq @ G).T + dv @ (d.a_dv @ G).T + dtau @ d.a_dtau[:, own].T
    got = jc.jvp(jc.forward_dynamics, robot, (q, v, tau), (dq, dv, dtau)).derivative
    close(got, expected[:, own], 2.0**20)
    by = jc.forward_dynamics_derivatives(robot, q, v, tau)
    close(got, dq @ by.dq.T + dv @ by.dv.T + dtau @ by.dtau.T, 2.0**20)
    d_tau = jc.jvp(jc.forward_dynamics, robot, (q, v, tau), (None, None, dtau)).derivative
    close(d_tau, dtau @ by.dtau.T, 2.0**20)


def test_parameters_of_bodies_and_followers_act_through_the_coupling(robot, at):
    """Projected, parameter by parameter; inertial ones also by the regressor."""
    p, whole = every_parameter(robot), every_parameter(robot.expanded)
    assert p.items == whole.items
    Q, V, A = robot.expand(at.q), expanded_rates(robot, at.v), expanded_rates(robot, at.a)
    expected = jc.parameter_derivatives(jc.inverse_dynamics, robot.expanded, (Q, V, A), whole)
    got = jc.parameter_derivatives(jc.inverse_dynamics, robot, (at.q, at.v, at.a), p)
    close(got, robot.contract(expected, (-2,)))
    # M a + b = tau: the acceleration changes by -M^-1 of that
    a = jc.forward_dynamics(robot, at.q, at.v, at.tau)
    by_p = jc.parameter_derivatives(jc.inverse_dynamics, robot, (at.q, at.v, a), p)
    expected = -np.linalg.solve(jc.mass_matrix(robot, at.q), by_p)
    got = jc.parameter_derivatives(jc.forward_dynamics, robot, (at.q, at.v, at.tau), p)
    close(got, expected, 2.0**20)
    out = np.empty_like(got)
    x = (at.q, at.v, at.tau)
    assert jc.parameter_derivatives(jc.forward_dynamics, robot, x, p, out=out) is out
    np.testing.assert_allclose(out, got, rtol=1e-13, atol=1e-13 * np.abs(got).max())


def test_moved_models_are_coupled_and_where_the_derivatives_point(robot, at):
    p = every_parameter(robot)[len(jc.parameters(robot, "first_moment")) :]
    p = p[[k for k, item in enumerate(p.items) if item.kind != "mass"]]
    step = 2.0**-17 * np.random.default_rng(3).uniform(-1, 1, len(p))
    up, down = (p.moved(sign * step) for sign in (1, -1))
    assert isinstance(up, CoupledModel)
    assert up.nv == robot.nv
    x = (at.q, at.v, at.tau)
    expected = (jc.forward_dynamics(up, *x) - jc.forward_dynamics(down, *x)) / 2
    got = jc.parameter_derivatives(jc.forward_dynamics, robot, x, p) @ step
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


METHODS = ("euler", "semi_implicit_euler", "midpoint", "rkmk4", "cf4", "dopri5")


@pytest.mark.parametrize("method", METHODS)
def test_without_mimic_joints_steps_have_the_derivatives_of_the_core(method, all_joints, state):
    """Along states, forces, wrenches, the length of the step and parameters at once."""
    at, rng = state(all_joints, 2), np.random.default_rng(4)
    models = CoupledModel(all_joints), all_joints
    d = rng.standard_normal((4, 3, 1, all_joints.nv))
    f_ext, d_f_ext = rng.standard_normal((2, 3, 1, all_joints.n_bodies, 6))
    direction = rng.standard_normal(len(every_parameter(all_joints)))
    found, expected = (
        jc.jvp(
            jc.step,
            m,
            (at.q, at.v, at.tau, 0.02, f_ext, method),
            (*d[:3], d[3, :, :, 0], d_f_ext),
            parameters=(every_parameter(m), direction),
        )
        for m in models
    )
    for ours, theirs in zip(found, expected, strict=True):
        assert type(ours) is type(theirs)
        assert ours.v.shape == (3, 2, all_joints.nv)
        close(ours.q, theirs.q)
        close(ours.v, theirs.v)


@pytest.mark.parametrize("method", ["rkmk4", "cf4"])
def test_steps_have_the_derivatives_under_the_couplings(method, robot, at):
    """The expanded robot under constraints takes the same step: couplings are linear."""
    q, v, tau, dt = at.q[0], at.v[0], at.tau[0], 0.01
    whole, n = robot.expanded, robot.expanded.nv
    own = whole.v_indices([j.name for j in robot.joints if j.mimic is None])
    rows = [
        jc.Coupling({j.name: 1.0, j.mimic.joint: -j.mimic.multiplier})
        for j in robot.joints
        if j.mimic is not None
    ]
    forces = np.zeros(n)
    forces[own] = tau
    expected = jc.linearize_step(
        *(whole, robot.expand(q), robot.coupling @ v, forces, dt),
        method=method,
        actuation=np.eye(n),
        constraints=jc.Constraints(whole, rows, tolerance=np.inf),
        projection=False,
    )
    G, keep = np.kron(np.eye(2), robot.coupling), np.concatenate([own, n + own])
    A, B = (expected.A @ G)[keep], expected.B[keep][:, own]
    dq, dv, dtau = np.random.default_rng(5).standard_normal((3, 4, robot.nv))
    got = jc.jvp(jc.step, robot, (q, v, tau, dt, None, method), (dq, dv, dtau)).derivative
    found = np.concatenate([got.q, got.v], axis=-1)
    close(found, np.concatenate([dq, dv], axis=-1) @ A.T + dtau @ B.T, 2.0**20)


def test_steps_change_with_the_parameters_as_the_moved_models_do(robot, at):
    p = jc.parameters(robot, "log_cholesky") + jc.parameters(robot, "placement")
    p = p + jc.parameters(robot, "armature")
    d = np.random.default_rng(6).uniform(-0.1, 0.1, len(p))
    x = at.q[:2], at.v[:2], at.tau[:2], 0.01, at.f_ext[:2]
    by_p = jc.parameter_derivatives(jc.step, robot, x, p)
    along = jc.jvp(jc.step, robot, x, (), parameters=(p, d)).derivative
    close(by_p.q @ d, along.q)
    close(by_p.v @ d, along.v)
    line = jc.models.chain(1)  # its coordinate goes along the direction
    one = np.ones(1)
    expected = directional(line, lambda s: jc.step(p.moved(s[0] * d), *x).v, 0 * one, one)
    np.testing.assert_allclose(along.v, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("hold", ["zero", "first"])
def test_without_mimic_joints_adjoints_are_those_of_the_core(hold, all_joints, state):
    at, rng, rows = state(all_joints, 2), np.random.default_rng(9), 3 + (hold == "first")
    tau = rng.standard_normal((2, rows, all_joints.nv))
    f_ext = rng.standard_normal((2, rows, all_joints.n_bodies, 6))
    weights = tuple(rng.standard_normal((2, 2, 2, all_joints.nv)))
    x = at.q, at.v, tau, 0.01, weights, f_ext, "rkmk2", 2
    found, expected = (
        jc.rollout_vjp(m, *x, hold=hold, parameters=every_parameter(m))
        for m in (CoupledModel(all_joints), all_joints)
    )
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        close(ours, theirs, 2.0**20)


def test_the_adjoint_of_a_step_is_its_derivative_along_directions_weighted(robot, at):
    rng = np.random.default_rng(10)
    weights, d = rng.standard_normal((2, robot.nv)), rng.standard_normal((3, robot.nv))
    p = jc.parameters(robot, "first_moment")
    by_p = rng.standard_normal(len(p))
    x = at.q[0], at.v[0], at.tau[0]
    step = jc.jvp(
        jc.step, robot, (*x, 0.02, at.f_ext[0]), tuple(d), parameters=(p, by_p)
    ).derivative
    last = tuple(np.stack([0 * w, w]) for w in weights)
    wrenches = at.f_ext[0][None]
    found = jc.rollout_vjp(robot, x[0], x[1], x[2][None], 0.02, last, wrenches, parameters=p)
    expected = weights[0] @ step.q + weights[1] @ step.v
    got = found.q0 @ d[0] + found.v0 @ d[1] + found.tau[0] @ d[2] + found.parameters @ by_p
    close(got, expected)
    held = jc.Control(prescribed=np.arange(robot.nv) == 0)
    with pytest.raises(jc.ModelError, match=r"rollout.*takes no servos"):
        jc.rollout_vjp(robot, x[0], x[1], x[2][None], 0.02, last, control=held)


def test_partials_of_the_series_are_their_derivatives_along_directions(robot, at):
    rng = np.random.default_rng(7)
    nv, q, v, mask = robot.nv, at.q[:2], at.v[:2], np.arange(robot.nv) % 3 == 1
    a, tau, da, dtau = rng.standard_normal((4, 2, ORDERS, nv))
    f_ext = rng.standard_normal((2, ORDERS, robot.n_bodies, 6))
    dq, dv = rng.standard_normal((2, 2, nv))
    d = jc.hybrid_dynamics_series_derivatives(robot, q, v, a, tau, mask, f_ext)
    got = jc.jvp(
        jc.hybrid_dynamics_series, robot, (q, v, a, tau, mask, f_ext), (dq, dv, da, dtau)
    ).derivative
    for row, x in zip((d[:4], d[4:]), got, strict=True):
        by_state = np.einsum("bkij,bj->bki", row[0], dq) + np.einsum("bkij,bj->bki", row[1], dv)
        by_series = [np.einsum("bkilj,blj->bki", *y) for y in zip(row[2:], (da, dtau), strict=True)]
        close(by_state + sum(by_series), x, 2.0**22)
    forward = jc.forward_dynamics_series_derivatives(robot, q, v, tau, f_ext)
    free = jc.hybrid_dynamics_series_derivatives(robot, q, v, a, tau, 0 * mask > 0, f_ext)
    for x, y in zip(forward, (free.a_dq, free.a_dv, free.a_dtau), strict=True):
        close(x, y)
    first = jc.forward_dynamics_derivatives(robot, q, v, tau[:, 0], f_ext[:, 0])
    close(forward.dq[:, 0], first.dq, 2.0**20)
    close(forward.dtau[:, 0, :, 0], first.dtau, 2.0**20)
    motion = np.concatenate([v[:, None], a], axis=1)
    inverse = jc.inverse_dynamics_series_derivatives(robot, q, motion, f_ext)
    got = jc.jvp(jc.inverse_dynamics_series, robot, (q, motion, f_ext), (dq, None)).derivative
    close(np.einsum("bkij,bj->bki", inverse.dq, dq), got, 2.0**20)


def test_hessians_of_forward_dynamics_are_second_derivatives_along_directions(robot, at):
    """Along integrate(q, s dq), v + s dv and tau + s dtau, of weights . a."""
    x, w = (at.q, at.v, at.tau), at.a
    dq, dv, dtau = d = np.random.default_rng(8).standard_normal((3, robot.nv))
    h = jc.forward_dynamics_hessian(robot, *x, w, at.f_ext)
    second = jc.jvp(jc.forward_dynamics_derivatives, robot, (*x, at.f_ext), tuple(d)).derivative
    slopes = second.dq @ dq + second.dv @ dv + second.dtau @ dtau
    form = h.dqdq @ dq + 2 * (h.dqdv @ dv + h.dqdtau @ dtau)
    close(form @ dq + h.dvdv @ dv @ dv, (w * slopes).sum(-1), 2.0**22)


def test_what_is_not_there_says_so(robot, at):
    inputs = _core.signature("constrained_series_jvp")
    zeros = dict.fromkeys([*inputs["inputs"], *inputs["options"]], 0.0)
    with pytest.raises(
        jc.ModelError,
        match=r"along a direction of constrained_series\(\) is not there .* coupled .* "
        "There are .*forward_dynamics, ",
    ):
        _core.raw("constrained_series_jvp")(robot, **zeros)
    with pytest.raises(jc.ArgumentError, match="belong to another model"):
        jc.parameter_derivatives(
            jc.mass_matrix, robot, (at.q,), jc.parameters(robot.expanded, "mass")
        )
    with pytest.raises(jc.ArgumentError, match=r"d_q must have shape \(\.\.\., 20\)"):
        jc.jvp(jc.mass_matrix, robot, (at.q,), (np.ones(3),))


def test_hessians_of_taylor_steps_are_those_of_other_exact_methods(robot, at):
    q, v, tau, weights = at.q[0], at.v[0], at.tau[0], np.r_[at.dv[0], at.dv[1]]
    close_to_it = {
        method: jc.linearize_step(robot, q, v, tau, 2e-3, method=method, weights=weights)
        for method in ("taylor", "dop853")
    }
    got, other = close_to_it.values()
    np.testing.assert_allclose(got.A, other.A, rtol=0, atol=1e-11 * np.abs(other.A).max())
    np.testing.assert_allclose(got.H, other.H, rtol=0, atol=1e-10 * np.abs(other.H).max())
