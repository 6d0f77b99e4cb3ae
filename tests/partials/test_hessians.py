"""Hessians of the dynamics agree with complex steps, and with what they are made of."""

from __future__ import annotations

import numpy as np
import pytest
from partials_cases import MODELS, some_long
from partials_oracle import relative
from second_oracle import second

import jounce as jc

EXACT = 1e-10
EPS = np.finfo(float).eps
FUNCTIONS = ("inverse_dynamics", "forward_dynamics")


def hessian(function, case):
    call = getattr(jc, f"{function}_hessian")
    return call(case.model, case.q, case.v, case.x, case.weights, case.f_ext)


@pytest.mark.parametrize("name", some_long(MODELS))
@pytest.mark.parametrize("function", FUNCTIONS)
def test_hessians_are_the_symmetric_part_of_nested_derivatives(function, name):
    case = second(function, name)
    got = hessian(function, case)

    def contracted(tensor):
        return np.einsum("si,sijk->sjk", case.weights, tensor)

    dqdq = contracted(case.nested.qq)
    assert relative(got.dqdq, (dqdq + np.swapaxes(dqdq, 1, 2)) / 2) < EXACT
    assert relative(got.dqdv, contracted(case.nested.qv)) < EXACT
    assert relative(got.dvdv, contracted(case.nested.vv)) < EXACT
    assert relative(got[3], contracted(case.nested.qx)) < EXACT


@pytest.mark.parametrize("function", FUNCTIONS)
def test_hessians_are_symmetric_to_the_last_bit(function, robot, state):
    at = state(robot, 9)
    x = at.a if function == "inverse_dynamics" else at.tau
    got = getattr(jc, f"{function}_hessian")(robot, at.q, at.v, x, at.weights, at.f_ext)
    for matrix in (got.dqdq, got.dvdv):
        np.testing.assert_array_equal(matrix, np.swapaxes(matrix, -1, -2))


def test_mixed_derivatives_are_those_of_the_mass_matrix_and_its_inverse(robot, state):
    at = state(robot, 5)
    d = jc.mass_matrix_derivatives(robot, at.q)
    got = jc.inverse_dynamics_hessian(robot, at.q, at.v, at.a, at.weights).dqda
    assert relative(got, np.einsum("si,sijk->skj", at.weights, d)) < 1e-12
    d = jc.inverse_mass_matrix_derivatives(robot, at.q)
    got = jc.forward_dynamics_hessian(robot, at.q, at.v, at.tau, at.weights).dqdtau
    assert relative(got, np.einsum("si,sijk->skj", at.weights, d)) < EXACT


def test_hessians_by_rates_are_christoffel_symbols(robot, state):
    at = state(robot, 5)
    symbols = np.einsum("si,sijk->sjk", at.weights, jc.christoffel_symbols(robot, at.q))
    got = jc.inverse_dynamics_hessian(robot, at.q, at.v, at.a, at.weights).dvdv
    assert relative(got, symbols + np.swapaxes(symbols, 1, 2)) < 1e-12


def test_hessians_do_not_change_far_from_the_origin():
    """A free base may be anywhere: what its position does not enter is the same to the last bit."""
    model = jc.models.random_tree(6, 2, first="free")
    rng = np.random.default_rng(0)
    q = jc.random_configuration(model, rng)
    v, a, weights = rng.standard_normal((3, model.nv))
    far = q.copy()
    far[4:7] += 1e6
    for here, there in zip(
        jc.inverse_dynamics_hessian(model, q, v, a, weights),
        jc.inverse_dynamics_hessian(model, far, v, a, weights),
        strict=True,
    ):
        np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("joint", ["revolute", "prismatic", "spherical", "free"])
def test_single_bodies_and_empty_batches(joint):
    builder = jc.ModelBuilder()
    builder.add_body("body", joint=joint, mass=2.0, com=(0.1, 0.2, -0.1), inertia=(0.1, 0.2, 0.25))
    model = builder.build()
    rng = np.random.default_rng(1)
    q, (v, a, weights) = jc.random_configuration(model, rng), rng.standard_normal((3, model.nv))
    got = jc.inverse_dynamics_hessian(model, q, v, a, weights)
    h = 1e-3
    plus, minus = (
        jc.inverse_dynamics_derivatives(model, q, v + s * h * np.eye(model.nv), a).dv
        for s in (1, -1)
    )
    by_v = np.einsum("i,kij->jk", weights, plus - minus) / (2 * h)  # dv is linear in v
    np.testing.assert_allclose(got.dvdv, by_v, rtol=0, atol=1e-11)
    empty = np.empty((0, model.nv))
    nothing = jc.forward_dynamics_hessian(model, np.tile(q, (0, 1)), empty, empty, empty)
    assert {x.shape for x in nothing} == {(0, model.nv, model.nv)}


@pytest.mark.parametrize("branching", [1, 8])
def test_long_chains_and_sparse_trees(branching):
    """Long chains are solved, sparse matrices are filled, as in first derivatives."""
    model = jc.models.tree(130, branching)
    rng = np.random.default_rng(0)
    q, (v, tau, weights) = jc.random_configuration(model, rng), rng.standard_normal((3, model.nv))
    got = jc.forward_dynamics_hessian(model, q, v, tau, weights)
    a, at_rest = jc.forward_dynamics(model, q, v, tau), model.replace(gravity=(0, 0, 0))
    mu = jc.forward_dynamics(at_rest, q, np.zeros_like(v), weights)  # M^-1 weights
    d = jc.forward_dynamics_derivatives(model, q, v, tau)
    inverse = jc.inverse_dynamics_hessian(model, q, v, a, mu)
    cross = inverse.dqda @ d.dq
    expected = -(inverse.dqdq + cross + cross.T)
    M = jc.mass_matrix(model, q)
    tolerance = 32 * EPS * np.linalg.cond(M)
    assert relative(got.dqdq[None], expected[None]) < tolerance
    assert relative(got.dqdv[None], -(inverse.dqdv + inverse.dqda @ d.dv)[None]) < tolerance
    related = M != 0
    assert not inverse.dqdq[~related].any()


@pytest.mark.parametrize(
    ("kind", "size"), [("tree", 24), ("tree", 32), ("chain", 30), ("chain", 100)]
)
def test_digits_are_those_of_the_inputs(kind, size):
    """Terms are 10^3 to 10^5 times their sum; that must lose no more than a last bit of q does."""
    rng = np.random.default_rng(11)
    model = jc.models.random_tree(size, 11) if kind == "tree" else jc.models.chain(size)
    q = jc.random_configuration(model, rng) if kind == "tree" else 0.3 * rng.standard_normal(size)
    v, tau, w = (1.0 if kind == "tree" else 0.1) * rng.standard_normal((3, model.nv))
    got = jc.forward_dynamics_hessian(model, q, v, tau, w)

    def nested(q):
        function, unit = jc.forward_dynamics_derivatives, np.eye(model.nv)
        d = jc.jvp(function, model, (q, v, tau), (unit,)).derivative
        by_q, by_v = (np.einsum("i,kij->kj", w, x) for x in (d.dq, d.dv))
        return (by_q + by_q.T) / 2, by_v

    exact, nearby = (
        nested(q),
        nested(jc.integrate(model, q, EPS * np.abs(q).max() * np.ones(model.nv))),
    )
    for found, right, moved in zip((got.dqdq, got.dqdv), exact, nearby, strict=True):
        least = max(1e-11, 100 * relative(moved[None], right[None]))
        assert relative(found[None], right[None]) < least


def test_trees_of_more_rates_than_relations_are_kept_of():
    """H by q and tau along a direction is what that does to M^-1 w, an acceleration."""
    model = jc.models.tree(1030, 3).replace(gravity=(0.0, 0.0, 0.0))
    rng = np.random.default_rng(0)
    q, d, w = rng.uniform(-1, 1, (3, model.nv))
    still = np.zeros(model.nv)
    got = jc.forward_dynamics_hessian(model, q, still, still, w)
    expected = jc.jvp(jc.forward_dynamics, model, (q, still, w), (d,)).derivative
    np.testing.assert_allclose(d @ got.dqdtau, expected, rtol=0, atol=1e-10 * abs(expected).max())
    by_v = jc.jvp(jc.forward_dynamics_derivatives, model, (q, still, still), (None, d)).derivative
    expected = w @ by_v.dv
    np.testing.assert_allclose(got.dvdv @ d, expected, rtol=0, atol=1e-10 * abs(expected).max())


def test_weights_of_a_wrong_shape_are_refused():
    model = jc.models.chain(3)
    x = np.zeros(3)
    with pytest.raises(jc.ArgumentError, match="weights"):
        jc.inverse_dynamics_hessian(model, x, x, x, np.zeros(4))
