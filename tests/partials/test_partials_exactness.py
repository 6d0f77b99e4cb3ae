"""Derivatives of the dynamics agree with the complex step: all joint types, 33 states each.

Steps are made of these derivatives, so that a pack of the states and one more do for each method,
of which the oracle linearizes two in the pack and the one that remains.
"""

from __future__ import annotations

import numpy as np
import partials_oracle as oracle
import pytest
from partials_oracle import in_q, in_x, relative

import jounce as jc
from jounce import lie
from jounce._core import raw
from jounce.model.rates import group_blocks
from jounce.papers import kim, singh
from jounce.simulation.methods import METHODS

EXACT = 1e-10
STEP_EXACT = 1e-11
EPS = np.finfo(float).eps


def test_the_oracle_is_the_dynamics_of_the_papers(case):
    model, q, v, a = case.model, case.q[0], case.v[0], case.a[0]
    expected = singh.RNEA(model, q, v, a)
    assert np.allclose(oracle.inverse_dynamics(model, q, v, a), expected, rtol=1e-11, atol=1e-10)
    expected = kim.forward_dynamics(model, q, v, a, case.f_ext[0])[0]
    got = oracle.forward_dynamics(model, q, v, a, case.f_ext[0])
    assert np.allclose(got, expected, rtol=1e-9, atol=1e-9)


def test_inverse_dynamics(case):
    model, at = case.model, case.each
    d = jc.inverse_dynamics_derivatives(model, case.q, case.v, case.a, case.f_ext)
    by_q = in_q(model, case.q, lambda x: oracle.inverse_dynamics(model, x, at.v, at.a, at.f_ext))
    by_v = in_x(case.v, lambda x: oracle.inverse_dynamics(model, at.q, x, at.a, at.f_ext))
    assert relative(d.dq, by_q) < EXACT
    assert relative(d.dv, by_v) < EXACT
    assert relative(d.da, oracle.mass_matrix(model, case.q)) < EXACT


def test_forward_dynamics(case):
    model, at = case.model, case.each
    d = jc.forward_dynamics_derivatives(model, case.q, case.v, case.tau, case.f_ext)
    by_q = in_q(model, case.q, lambda x: oracle.forward_dynamics(model, x, at.v, at.tau, at.f_ext))
    by_v = in_x(case.v, lambda x: oracle.forward_dynamics(model, at.q, x, at.tau, at.f_ext))
    assert relative(d.dq, by_q) < EXACT
    assert relative(d.dv, by_v) < EXACT
    assert relative(d.dtau, np.linalg.inv(oracle.mass_matrix(model, case.q))) < EXACT


def test_hybrid_dynamics(case):
    model, at, mask = case.model, case.each, case.mask
    # what is no input may be anything
    a, tau = np.where(mask, case.a, np.nan), np.where(mask, np.nan, case.tau)
    d = jc.hybrid_dynamics_derivatives(model, case.q, case.v, a, tau, mask, case.f_ext)

    def both(q=at.q, v=at.v, a=at.a, tau=at.tau):
        return np.stack(oracle.hybrid_dynamics(model, q, v, a, tau, mask, at.f_ext), axis=-2)

    exact = (
        in_q(model, case.q, lambda x: both(q=x)),
        in_x(case.v, lambda x: both(v=x)),
        np.where(mask, in_x(case.a, lambda x: both(a=x)), 0.0),
        np.where(mask, 0.0, in_x(case.tau, lambda x: both(tau=x))),
    )
    for k, x in enumerate(exact):
        assert relative(d[k], x[:, 0]) < EXACT
        assert relative(d[4 + k], x[:, 1]) < EXACT


def test_mass_matrix_and_its_inverse(case):
    model = case.model
    exact = in_q(model, case.q, lambda x: oracle.mass_matrix(model, x))
    assert relative(jc.mass_matrix_derivatives(model, case.q), exact) < EXACT
    exact = in_q(model, case.q, lambda x: np.linalg.inv(oracle.mass_matrix(model, x)))
    assert relative(jc.inverse_mass_matrix_derivatives(model, case.q), exact) < EXACT


def test_kinetic_energy(case):
    model, v = case.model, case.each.v

    def energy(q):
        return (v * oracle.times(oracle.mass_matrix(model, q), v)).sum(-1) / 2

    d = jc.kinetic_energy_derivatives(model, case.q, case.v)
    assert relative(d.dq, in_q(model, case.q, energy)) < EXACT
    assert relative(d.dv, oracle.times(oracle.mass_matrix(model, case.q), case.v)) < EXACT


def test_hybrid_dynamics_is_kim_table_7():
    """Joint by joint, with a mask that takes joints as a whole."""
    model = jc.models.random_tree(10, 5)
    rng = np.random.default_rng(1)
    q, (v, a, tau) = jc.random_configuration(model, rng), rng.standard_normal((3, model.nv))
    chosen = range(0, len(model.joints), 2)
    mask = np.zeros(model.nv, bool)
    for joint in chosen:
        mask[model.v_slice(joint)] = True
    d = jc.hybrid_dynamics_derivatives(model, q, v, a, tau, mask)
    for name, k in (("q", 0), ("q_dot", 1), ("q_ddot", 2), ("tau", 3)):
        columns = [
            kim.hybrid_dynamics_sensitivity(
                model, q, v, a, tau, chosen, kim.parameter(model, **{name: e})
            )
            for e in np.eye(model.nv)
        ]
        exact = np.moveaxis(np.array(columns), 0, -1)
        inputs = {2: mask, 3: ~mask}.get(k, np.ones(model.nv, bool))
        for ours, theirs in zip((d[k], d[4 + k]), exact, strict=True):
            assert relative(ours[None, :, inputs], theirs[None][..., inputs]) < EXACT


def in_state(model, state, function):
    """Derivatives of function(q, v, tau) -> (q, v) by q, v and tau, in tangent spaces."""
    q, v, tau = (x[:, None] for x in state)
    dq, dv, dtau = np.split(1j * oracle.STEP * np.eye(3 * model.nv), 3, axis=1)
    moved = oracle.integrate(model, q.astype(complex), dq)
    q, v = function(moved, v + dv, tau + dtau)
    changes = np.concatenate([oracle.tangent(model, q), v.imag / oracle.STEP], axis=-1)
    return np.swapaxes(changes, 1, 2)


@pytest.mark.parametrize("method", METHODS)  # all of the package: the oracle must know them
def test_one_step(method, case):
    """A, B and the next state, for steps that turn by up to a radian."""
    model, dt, some, seen = case.model, 0.1, slice(9), [0, 5, 8]
    state, f_ext = (case.q[some], case.v[some], case.tau[some]), case.f_ext[some]

    def step(q, v, tau):
        return oracle.step(model, q, v, tau, dt, method, f_ext[seen, None])

    exact = in_state(model, [x[seen] for x in state], step)
    got = jc.linearize_step(model, *state, dt, f_ext, method=method, actuated=case.mask)
    A, B = np.split(exact, [2 * model.nv], axis=-1)
    assert relative(got.A[seen], A) < STEP_EXACT
    assert relative(got.B[seen], B[..., case.mask]) < STEP_EXACT
    q, v = oracle.step(model, *state, dt, method, f_ext)
    assert np.abs(jc.difference(model, q, got.q)).max() < STEP_EXACT
    assert relative(got.v, v) < STEP_EXACT


def test_linearization_is_the_rate_of_the_linearized_flow(case):
    """The exact derivative of the flow over a short time h is 1 + h A: Richardson in h."""
    model, few = case.model, slice(0, 10)
    state, f_ext = (case.q[few], case.v[few], case.tau[few]), case.f_ext[few]

    def rate(h):
        ahead = jc.linearize_step(model, *state, h, f_ext, method="cf4")
        return (ahead.A - np.eye(2 * model.nv)) / h, ahead.B / h

    core = jc.linearize(model, *state, f_ext)
    rates = zip(*(rate(1e-3 * k) for k in (1, 2, 4, 8)), strict=True)
    for ours, (a, b, c, d) in zip(core, rates, strict=True):
        assert relative(ours, (64 * a - 56 * b + 14 * c - d) / 21) < 1e-7


def test_linearization_has_the_derivatives_of_forward_dynamics(case):
    model, nv, mask = case.model, case.model.nv, case.mask
    state = case.q, case.v, case.tau, case.f_ext
    d = jc.forward_dynamics_derivatives(model, *state)
    for actuated, columns in ((None, model.actuated), (mask, mask)):
        A, B = jc.linearize(model, *state, actuated=actuated)
        np.testing.assert_array_equal(A[:, nv:], np.concatenate([d.dq, d.dv], axis=-1))
        np.testing.assert_array_equal(B[:, nv:], d.dtau[..., columns])
        assert not B[:, :nv].any()


@pytest.mark.parametrize("size", [0.0, 1e-9, 1e-3, 1.0, 3.16, 3.17, 10.0])
def test_moves_on_the_group_are_differentiated_as_by_lie(size):
    """The blocks of `integrate_derivatives`, on both sides of the switch between its formulas."""
    model = jc.models.random_tree(6, 2, ("revolute", "spherical", "free"))
    u = np.random.default_rng(0).standard_normal((20, model.nv))
    expected = np.zeros((2, 20, 6, model.nv))
    expected[:, :, 0] = 1.0
    for block in group_blocks(model):
        u[:, block.at] *= size / np.linalg.norm(u[:, block.at][:, :3], axis=-1, keepdims=True)
        n = block.at.stop - block.at.start
        expected[0][:, :n, block.at] = lie.Ad(lie.exp(-u[:, block.at]))
        expected[1][:, :n, block.at] = lie.dexp(-u[:, block.at])
    got = raw("integrate_blocks")(model, u)
    np.testing.assert_allclose(got, expected, rtol=0, atol=64 * EPS * (1 + size) ** 2)
