"""Centers of mass and their motion, against complex steps through the equations of motion."""

from __future__ import annotations

import numpy as np
import partials_oracle as oracle
import pytest
from partials_oracle import in_q, relative
from test_centroidal_momentum import BASES, robots
from test_kinematic_partials import oracle_centroidal_matrix

import jounce as jc

EXACT = 1e-13
"""Relative to the largest entry: some hundred roundings."""


def carried(model, body):
    """Nodes of what a body carries; all of them without a body."""
    parent = model.nodes.parent
    keep = np.zeros(len(parent), bool)
    at = None if body is None else model.body_index(body)
    first = -1 if at is None else int(np.flatnonzero(model.nodes.body == at)[0])
    for i, p in enumerate(parent):
        keep[i] = first < 0 or i == first or (p >= 0 and keep[p])
    return keep


def exact_center(model, body=None):
    """Center of mass of what a body carries, by its definition."""
    keep = carried(model, body)
    parameters = model.nodes.parameters[keep]

    def center(q):
        T = oracle.tree(model, q).T[..., keep, :, :]
        moments = (
            T[..., :3, :3] @ parameters[:, 1:4, None] + parameters[:, :1, None] * T[..., :3, 3:]
        )
        return moments[..., 0].sum(-2) / parameters[:, 0].sum()

    return center


def exact_jacobian(model, body=None):
    """Linear momentum of what a body carries, per rate, over its mass."""
    keep = carried(model, body)
    mass = model.nodes.parameters[keep, 0].sum()

    def jacobian(q):
        t = oracle.tree(model, q)
        return (t.I @ t.jacobians())[..., keep, 3:, :].sum(-3) / mass

    return jacobian


def check_motion(model, q, v, body=None):
    J = jc.center_of_mass_jacobian(model, q, body)
    assert relative(J, in_q(model, q, exact_center(model, body))) < EXACT
    exact = exact_jacobian(model, body)
    rate = jc.center_of_mass_jacobian_rate(model, q, v, body)
    partials = in_q(model, q, exact)  # (states, 3, nv, nv)
    size = 1e-3 * np.abs(partials).max(initial=0)
    assert relative(rate, oracle.times(partials, v[:, None, :]), size) < EXACT
    d = jc.center_of_mass_derivatives(model, q, v, body)
    np.testing.assert_array_equal(d.dv, J)
    velocity = in_q(model, q, lambda x: oracle.times(exact(x), v[:, None]))
    assert relative(d.dq, velocity, size) < EXACT


def test_the_center_of_mass_moves_as_complex_steps_say(case):
    check_motion(case.model, case.q[:9], case.v[:9])


def test_so_does_that_of_what_each_body_carries(case):
    for body in range(case.model.n_bodies):
        check_motion(case.model, case.q[:5], case.v[:5], body)


def test_centers_of_mass_of_subtrees(case):
    centers = jc.subtree_centers_of_mass(case.model, case.q)
    for body in range(case.model.n_bodies):
        exact = exact_center(case.model, body)(case.q)
        assert relative(centers[:, body], exact, 1.0) < EXACT


def test_the_subtree_of_the_first_body_is_the_robot(free_root):
    s = free_root
    com = jc.center_of_mass(s.model, s.q)
    assert relative(jc.subtree_centers_of_mass(s.model, s.q)[:, 0], com) < EXACT
    assert np.isclose(jc.subtree_masses(s.model)[0], jc.total_mass(s.model), rtol=1e-15)
    whole = jc.center_of_mass_derivatives(s.model, s.q, s.v)
    same = jc.center_of_mass_derivatives(s.model, s.q, s.v, s.model.body_names[0])
    np.testing.assert_array_equal(whole.dq, same.dq)


def test_masses_of_subtrees(robot):
    masses = jc.subtree_masses(robot)
    for body in range(robot.n_bodies):
        keep = carried(robot, body)
        expected = robot.nodes.parameters[keep, 0].sum()
        assert np.isclose(masses[body], expected, rtol=1e-14)


def test_derivatives_of_the_centroidal_momentum(case):
    check_momentum(case.model, case.q[:9], case.v[:9])


def check_momentum(model, q, v):
    matrix = oracle_centroidal_matrix(model)
    d = jc.centroidal_momentum_derivatives(model, q, v)
    np.testing.assert_array_equal(d.dv, jc.centroidal_momentum_matrix(model, q))
    partials = in_q(model, q, matrix)
    exact = in_q(model, q, lambda x: oracle.times(matrix(x), v[:, None]))
    assert relative(d.dq, exact, 1e-3 * np.abs(partials).max(initial=0)) < EXACT


def special_states(model):
    """Neutral, everything turned by half a turn, and close to both."""
    q = jc.neutral(model, 4)
    half = [0, np.sin(np.pi / 4), np.cos(np.pi / 4), 0]
    for kind, at in zip(model.nodes.kind, model.nodes.q_index, strict=True):
        if kind >= 3:
            q[1:3, at : at + 4] = half
        else:
            q[1:3, at] = np.pi
    tiny = 1e-9 * np.random.default_rng(0).standard_normal((2, model.nv))
    q[2:] = jc.integrate(model, q[2:], tiny)
    return q, np.random.default_rng(1).standard_normal((4, model.nv))


def test_at_zero_and_at_half_a_turn(case):
    q, v = special_states(case.model)
    check_motion(case.model, q, v)
    check_motion(case.model, q, v, case.model.n_bodies // 2)
    check_momentum(case.model, q, v)


KINDS = (
    *("revolute", "prismatic", "helical", "cylindrical"),
    *("universal", "planar", "spherical", "free"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_body(kind):
    options = {"pitch": 0.3} if kind == "helical" else {}
    builder = jc.ModelBuilder()
    builder.add_body(
        "b", joint=kind, mass=2.0, com=(0.3, 0.2, 0.1), inertia=(0.3, 0.4, 0.5), **options
    )
    model, rng = builder.build(), np.random.default_rng(0)
    q = jc.random_configuration(model, rng, 5)
    v = rng.standard_normal((5, model.nv))
    check_motion(model, q, v)
    check_motion(model, q, v, "b" if kind == "free" else 0)
    check_momentum(model, q, v)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("count", [1, 3])
def test_with_every_base_and_with_several(base, count):
    s = robots(base, count)
    check_motion(s.model, s.q, s.v)
    check_motion(s.model, s.q, s.v, s.model.n_bodies - 2)
    check_momentum(s.model, s.q, s.v)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("count", [1, 2])
def test_a_thousand_kilometers_away_nothing_changes(base, count):
    s = robots(base, count)
    calls = {
        "jacobian": lambda q: (jc.center_of_mass_jacobian(s.model, q),),
        "rate": lambda q: (jc.center_of_mass_jacobian_rate(s.model, q, s.v),),
        "velocity": lambda q: jc.center_of_mass_derivatives(s.model, q, s.v),
        "subtree": lambda q: jc.center_of_mass_derivatives(s.model, q, s.v, s.model.n_bodies - 1),
        "momentum": lambda q: jc.centroidal_momentum_derivatives(s.model, q, s.v),
    }
    for name, call in calls.items():
        for far, near in zip(call(s.far), call(s.q), strict=True):
            assert relative(far, near) < 64 * np.finfo(float).eps, name


def test_what_carries_no_mass_has_its_center_in_the_origin():
    builder = jc.ModelBuilder()
    builder.add_body("arm", joint="revolute", axis=(0, 1, 0), mass=2.0, com=(0.3, 0, 0))
    builder.add_body("dummy", "arm", "prismatic", (1, 0, 0), axis=(0, 1, 1))
    builder.add_body("tip", "dummy", "revolute", (0, 0, 0.5))
    model = builder.build()
    q = np.array([0.3, 0.2, 0.1])
    centers, poses = jc.subtree_centers_of_mass(model, q), jc.body_poses(model, q)
    np.testing.assert_allclose(centers[1:], poses[1:, :3, 3], rtol=0, atol=1e-15)
    np.testing.assert_allclose(centers[0], jc.center_of_mass(model, q), rtol=0, atol=1e-15)
    assert not jc.center_of_mass_jacobian(model, q, "tip").any()
    empty = jc.ModelBuilder().build()
    assert jc.center_of_mass_jacobian(empty, []).shape == (3, 0)
    assert jc.subtree_centers_of_mass(empty, []).shape == (0, 3)
    assert jc.subtree_masses(empty).shape == (0,)
