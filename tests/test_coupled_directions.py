"""Directional derivatives and parameters of coupled models, by other means."""

from __future__ import annotations

import numpy as np
import pytest
from test_coupled import close, coupled_tree, expanded_rates

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


def every_parameter(model):
    kinds = ("mass", "log_cholesky", "placement", "axis", "pitch", "gravity", "armature")
    p = jc.parameters(model, "first_moment")
    for kind in kinds:
        p = p + jc.parameters(model, kind)
    return p


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


@pytest.mark.parametrize("name", DIRECTIONAL)
def test_without_mimic_joints_all_is_as_in_the_core(name, all_joints):
    """The way of coupled models where G is the identity, along states and parameters at once."""
    values, tangents = arguments_for(name, all_joints, 0)
    same = CoupledModel(all_joints)
    direction = np.random.default_rng(1).standard_normal(len(every_parameter(all_joints)))
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


def test_forward_dynamics_are_all_there():
    assert {
        "inverse_dynamics",
        "forward_dynamics",
        "hybrid_dynamics",
        "forward_dynamics_series",
        "hybrid_dynamics_series",
        "inverse_mass_matrix",
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


def test_what_is_not_there_says_so(robot, at):
    with pytest.raises(
        jc.ModelError,
        match=r"along a direction of forward_dynamics_derivatives\(\) is not there .* coupled .* "
        "There are .*forward_dynamics, ",
    ):
        jc.jvp(jc.forward_dynamics_derivatives, robot, (at.q, at.v, at.tau), (at.v,))
    with pytest.raises(jc.ArgumentError, match="belong to another model"):
        jc.parameter_derivatives(
            jc.mass_matrix, robot, (at.q,), jc.parameters(robot.expanded, "mass")
        )
    with pytest.raises(jc.ArgumentError, match=r"d_q must have shape \(\.\.\., 20\)"):
        jc.jvp(jc.mass_matrix, robot, (at.q,), (np.ones(3),))
