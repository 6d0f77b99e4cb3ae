"""The validations that the papers publish: bos, Sec. 5, and singh, Sec. V-A."""

from __future__ import annotations

import functools

import numpy as np
import partials_oracle as oracle
import pytest
from partials_oracle import in_q, in_x
from singh_chain import chain_about_z, rms

import jounce as jc
from jounce import lie
from jounce.papers import bos, singh

STEP = 1e-30


def derivatives_of_the_core(model, state, tau):
    """jounce's derivatives of forward dynamics in the order of bos."""
    T = bos.velocity_matrix(model)
    q = np.concatenate([lie.matrix_to_quat(state.H[:3, :3]), state.H[:3, 3], state.s])
    v = np.linalg.solve(T, np.concatenate([state.v, state.r]))
    d = jc.forward_dynamics_derivatives(model, q, v, T.T @ np.concatenate([np.zeros(6), tau]))
    both = [T @ x @ np.linalg.inv(T) for x in (d.dq, d.dv)]
    return bos.Derivatives(*(part for x in both for part in (x[:, :6], x[:, 6:])))


@functools.cache
def section_5():
    """The core, forward differences and the complex step on 100 random systems."""
    rng, results = np.random.default_rng(0), []
    for seed in range(100):
        model = jc.models.mixed_tree(seed)
        state, tau = bos.random_system(model, rng)
        core = derivatives_of_the_core(model, state, tau)
        exact = batched_complex_step(model, state, tau)
        forward = forward_differences(model, state, tau)
        results.append((core, forward, exact))
    return [list(column) for column in zip(*results, strict=True)]


def states_around(model, state, steps):
    """The states moved along the rows of `steps`, in jounce's coordinates (bos, eq. 82 to 85)."""
    T, n = bos.velocity_matrix(model), model.nv
    q = np.concatenate([lie.matrix_to_quat(state.H[:3, :3]), state.H[:3, 3], state.s])
    v = np.linalg.solve(T, np.concatenate([state.v, state.r]))
    back = np.linalg.inv(T).T
    return oracle.integrate(model, q, steps[:, :n] @ back), v + steps[:, n:] @ back


def differences(model, state, tau, delta):
    T, n = bos.velocity_matrix(model), model.nv
    steps = np.concatenate([np.zeros((1, 2 * n)), delta * np.eye(2 * n)])
    q, v = states_around(model, state, steps)
    force = T.T @ np.concatenate([np.zeros(6), tau])
    a = oracle.forward_dynamics(model, q, v, force) @ T.T
    D = ((a[1:] - a[0]) / delta).T.real
    return bos.Derivatives(*np.split(D, [6, n, n + 6], axis=1))


def forward_differences(model, state, tau):
    return differences(model, state, tau, 1e-6)


def batched_complex_step(model, state, tau):
    return differences(model, state, tau, 1j * STEP)


PAPER_LARGEST = np.array([4.1023e-5, 4.6853e-3, 1.8230e-5, 1.5693e-4])  # eq. 88 to 91
PAPER_AVERAGE = np.array([2.3560e-6, 1.3604e-4, 1.3021e-6, 1.3766e-6])


@pytest.mark.long
def test_bos_section_5_against_forward_differences(record_property):
    """The error of differences with delta = 1e-6: that of eq. 88 to 91 or less, but not less than
    delta, or the differences would not be forward ones."""
    core, forward, _ = section_5()
    largest, average = (np.array(x) for x in bos.errors(core, forward))
    record_property("largest", largest.tolist())
    record_property("average", average.tolist())
    assert (largest < PAPER_LARGEST).all()
    assert (average < PAPER_AVERAGE).all()
    assert (largest > 1e-6).all()


@pytest.mark.long
def test_bos_section_5_against_the_exact_oracle(record_property):
    core, _, exact = section_5()
    largest, average = bos.errors(core, exact)
    record_property("largest", largest)
    assert max(largest) < 1e-10
    assert max(average) < 1e-12


CHAINS = {"about_z": lambda: chain_about_z(100), "all_axes": lambda: jc.models.chain(100)}


@pytest.mark.parametrize("name", CHAINS)
def test_singh_section_V_A_inverse_dynamics(name, record_property):
    model, rng = CHAINS[name](), np.random.default_rng(0)
    q, (v, a) = jc.random_configuration(model, rng, 1), rng.uniform(size=(2, 1, 100))
    d = jc.inverse_dynamics_derivatives(model, q, v, a)
    by_q = in_q(model, q, lambda x: oracle.inverse_dynamics(model, x, v[:, None], a[:, None]))
    by_v = in_x(v, lambda x: oracle.inverse_dynamics(model, q[:, None], x, a[:, None]))
    errors = rms(d.dq, by_q), rms(d.dv, by_v)
    record_property("rms", errors)
    assert max(errors) < 1e-12


def by_complex_step(model, q, v, tau):
    """Through the articulated-body recursion, which loses no digits to the condition of M."""
    steps = 1j * STEP * np.eye(model.nv)
    by_q = singh.ABA(model, q + steps, v, tau).imag / STEP
    by_v = singh.ABA(model, q, v + steps, tau).imag / STEP
    return by_q.T, by_v.T


@pytest.mark.parametrize("name", CHAINS)
def test_singh_section_V_A_forward_dynamics(name, record_property):
    """One state and a batch: eps times the condition number, and 1e-12 on the paper's chain.

    The condition numbers are 2e6 and more, and the errors far below these bounds. They are larger
    for axes that point in all directions, 9e-13 to 1.2e-12 here, because -M^-1 dtau/dq (singh,
    eq. 5) has the rounding of dtau/dq in it.
    """
    model, rng = CHAINS[name](), np.random.default_rng(0)
    q, (v, tau) = jc.random_configuration(model, rng), rng.uniform(size=(2, 100))
    exact = by_complex_step(model, q, v, tau)
    one = jc.forward_dynamics_derivatives(model, q, v, tau)
    batch = jc.forward_dynamics_derivatives(model, np.tile(q, (8, 1)), v, tau)
    errors = [rms(x, y) for x, y in zip(one, exact, strict=False)]
    errors += [rms(x[0], y) for x, y in zip(batch, exact, strict=False)]
    record_property("rms", errors)
    assert max(errors) < np.finfo(float).eps * np.linalg.cond(jc.mass_matrix(model, q))
    if name == "about_z":
        assert max(errors) < 1e-12
