"""All second derivatives of inverse dynamics agree with complex steps and with Hessians."""

from __future__ import annotations

import numpy as np
import pytest
from partials_cases import MODELS, some_long, states_of
from partials_oracle import relative
from second_oracle import second

import jounce as jc
from jounce.model.rates import group_blocks

EXACT = 1e-10


@pytest.mark.parametrize("name", some_long(MODELS))
def test_second_derivatives_are_nested_derivatives(name):
    case = second("inverse_dynamics", name)
    got = jc.inverse_dynamics_second_derivatives(case.model, case.q, case.v, case.x, case.f_ext)
    for ours, exact in zip(got, ("qq", "qv", "vv", "qx"), strict=True):
        assert relative(ours, getattr(case.nested, exact)) < EXACT, exact


def test_their_symmetric_part_is_the_hessian(robot, state):
    at = state(robot, 9)
    full = jc.inverse_dynamics_second_derivatives(robot, at.q, at.v, at.a, at.f_ext)
    hessian = jc.inverse_dynamics_hessian(robot, at.q, at.v, at.a, at.weights, at.f_ext)
    for name in full._fields:
        x = np.einsum("si,sijk->sjk", at.weights, getattr(full, name))
        if name == "dqdq":
            x = (x + np.swapaxes(x, 1, 2)) / 2
        assert relative(x, getattr(hessian, name)) < 1e-12, name


def brackets(model):
    """[k, j, l]: component l of the bracket [e_k, e_j] of the tangent basis."""
    out = np.zeros((model.nv, model.nv, model.nv))
    for block in group_blocks(model):
        ad = block.ad(np.eye(model.nv))  # of each rate
        out[:, block.at, block.at] = np.swapaxes(ad, -1, -2)
    return out


@pytest.mark.parametrize("name", some_long(MODELS))
def test_what_is_not_symmetric_is_the_derivative_along_brackets(name):
    case = states_of(name)
    model, some = case.model, slice(0, 20)
    state = case.q[some], case.v[some], case.a[some], case.f_ext[some]
    dqdq = jc.inverse_dynamics_second_derivatives(model, *state).dqdq
    dq = jc.inverse_dynamics_derivatives(model, *state).dq
    expected = np.einsum("kjl,sil->sijk", brackets(model), dq)
    got = dqdq - np.swapaxes(dqdq, -1, -2)
    assert np.abs(got - expected).max() < 1e-12 * np.abs(dqdq).max()
    assert expected.any() == bool(group_blocks(model))  # the law is not empty


def test_they_hold_the_derivatives_of_the_mass_matrix(robot, state):
    at = state(robot, 5)
    dqda = jc.inverse_dynamics_second_derivatives(robot, at.q, at.v, at.a).dqda
    exact = np.swapaxes(jc.mass_matrix_derivatives(robot, at.q), -1, -2)
    assert relative(dqda, exact) < 1e-13


def test_bodies_on_different_branches_have_none(state):
    model = jc.models.tree(9, 2)
    at = state(model)
    dqdq, *_ = jc.inverse_dynamics_second_derivatives(model, at.q, at.v, at.a)
    related = jc.mass_matrix(model, at.q) != 0
    on_one_path = related[:, :, None] & related[:, None, :] & related[None, :, :]
    assert not on_one_path.all()
    assert not dqdq[~on_one_path].any()


def test_a_single_body_and_an_empty_batch():
    builder = jc.ModelBuilder()
    builder.add_body("body", joint="free", mass=2.0, com=(0.1, 0.2, -0.1), inertia=(0.1, 0.2, 0.25))
    model = builder.build()
    rng = np.random.default_rng(1)
    q, (v, a, weights) = jc.random_configuration(model, rng), rng.standard_normal((3, model.nv))
    full = jc.inverse_dynamics_second_derivatives(model, q, v, a)
    hessian = jc.inverse_dynamics_hessian(model, q, v, a, weights)
    np.testing.assert_allclose(weights @ np.moveaxis(full.dvdv, 0, 1), hessian.dvdv, atol=1e-14)
    empty = np.empty((0, model.nv))
    nothing = jc.inverse_dynamics_second_derivatives(model, np.tile(q, (0, 1)), empty, empty)
    assert {x.shape for x in nothing} == {(0, 6, 6, 6)}
