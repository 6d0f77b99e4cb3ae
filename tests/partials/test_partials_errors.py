"""Bad input gets one clear error."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

MODEL = jc.models.aerial_manipulator()
Q = jc.neutral(MODEL)
ZERO = np.zeros(MODEL.nv)


def massless_leaf():
    builder = jc.ModelBuilder()
    builder.add_body("arm", joint="revolute", joint_name="shoulder", mass=1.0, com=(0.1, 0, 0))
    builder.add_body("tip", "arm", joint="revolute", joint_name="wrist", mass=0.0)
    return builder.build()


SINGULAR = {
    "forward_dynamics_derivatives": lambda m, z: jc.forward_dynamics_derivatives(m, z, z, z),
    "linearize": lambda m, z: jc.linearize(m, z, z, z),
    "linearize_step": lambda m, z: jc.linearize_step(m, z, z, z, 0.1),
    "inverse_mass_matrix_derivatives": lambda m, z: jc.inverse_mass_matrix_derivatives(m, z),
    "hybrid_dynamics_derivatives": lambda m, z: jc.hybrid_dynamics_derivatives(
        m, z, z, z, z, [True, False]
    ),
}


@pytest.mark.parametrize("name", SINGULAR)
def test_a_joint_that_moves_nothing_is_named(name):
    model = massless_leaf()
    with pytest.raises(jc.SingularError, match="'wrist'"):
        SINGULAR[name](model, np.zeros(2))
    with pytest.raises(jc.SingularError, match="'wrist'"):
        SINGULAR[name](model, np.zeros((20, 2)))


def test_a_singular_robot_has_all_other_derivatives():
    model, z = massless_leaf(), np.zeros(2)
    assert np.isfinite(jc.inverse_dynamics_derivatives(model, z, z, z).dq).all()
    assert np.isfinite(jc.mass_matrix_derivatives(model, z)).all()
    d = jc.hybrid_dynamics_derivatives(model, z, z, z, z, [False, True])
    assert all(np.isfinite(x).all() for x in d)


def test_shapes_and_numbers_are_checked():
    with pytest.raises(ValueError, match="v must have shape"):
        jc.linearize(MODEL, Q, ZERO[1:], ZERO)
    with pytest.raises(ValueError, match="tau must be finite"):
        jc.linearize_step(MODEL, Q, ZERO, ZERO + np.nan, 0.1)
    with pytest.raises(ValueError, match="q must have shape"):
        jc.christoffel_symbols(MODEL, Q[1:])
    with pytest.raises(ValueError, match="q must"):
        jc.centroidal_momentum_matrix(MODEL, 1.0)
    with pytest.raises(ValueError, match="prescribed must be a bool array"):
        jc.hybrid_dynamics_derivatives(MODEL, Q, ZERO, ZERO, ZERO, ZERO)
    with pytest.raises(ValueError, match="a must have shape"):
        jc.body_acceleration_derivatives(MODEL, Q, ZERO, ZERO[1:], "B2")
    with pytest.raises(ValueError, match="v must be finite"):
        jc.body_twist_derivatives(MODEL, Q, ZERO + np.inf, "B2")
    with pytest.raises(ValueError, match=r"axes of v, \(3,\), do not broadcast with \(2,\)"):
        jc.body_twist_derivatives(MODEL, np.tile(Q, (2, 1)), np.zeros((3, MODEL.nv)), "B2")
    with pytest.raises(ValueError, match="quaternion"):
        jc.kinetic_energy_derivatives(MODEL, 0 * Q, ZERO)
    with pytest.raises(TypeError, match=r"model must be a jounce\.Model"):
        jc.linearize("robot", Q, ZERO, ZERO)
    with pytest.raises(TypeError, match=r"model must be a jounce\.Model"):
        jc.christoffel_symbols(None, Q)


@pytest.mark.parametrize("q", [Q + 0j, Q.astype(str), [[1, 2], [3]]], ids=["j", "text", "ragged"])
def test_coordinates_must_be_real_numbers(q):
    calls = (
        lambda: jc.christoffel_symbols(MODEL, q),
        lambda: jc.mass_matrix_derivatives(MODEL, q),
        lambda: jc.jacobian_derivatives(MODEL, q, "B2", 1),
        lambda: jc.body_twist_derivatives(MODEL, q, ZERO, "B2"),
        lambda: jc.centroidal_momentum_matrix(MODEL, q),
        lambda: jc.centroidal_momentum_matrix_rate(MODEL, q, ZERO),
    )
    for call in calls:
        with pytest.raises(ValueError, match="q must be an array of real numbers"):
            call()


def test_names_are_checked():
    with pytest.raises(KeyError, match="unknown body or frame 'B22'"):
        jc.jacobian_derivatives(MODEL, Q, "B22", 1)
    with pytest.raises(ValueError, match="twist: expected one of"):
        jc.jacobian_derivatives(MODEL, Q, "B2", 1, "world")
    with pytest.raises(ValueError, match="twist: expected one of"):
        jc.body_twist_derivatives(MODEL, Q, ZERO, "B2", "world")
    with pytest.raises(ValueError, match=r"method must be one of 'euler'.*got 'rk45'"):
        jc.linearize_step(MODEL, Q, ZERO, ZERO, 0.1, method="rk45")
    for order in (-1, 1.5, True, None):
        with pytest.raises(ValueError, match="order: expected an integer"):
            jc.jacobian_derivatives(MODEL, Q, "B2", order)


@pytest.mark.parametrize("dt", [np.nan, "1", None, 1j, np.inf, 0.0, -0.1, [0.1, 0.0]])
def test_dt_must_be_a_number(dt):
    with pytest.raises(ValueError, match=r"dt must be (positive finite |real )?numbers"):
        jc.linearize_step(MODEL, Q, ZERO, ZERO, dt)


def test_dt_may_vary_over_the_batch():
    q = jc.random_configuration(MODEL, 0, 4)
    dt = np.array([0.1, 0.2, 0.3, 0.4])
    both = jc.linearize_step(MODEL, q, ZERO, ZERO, dt)
    for k in range(4):
        for x, y in zip(both, jc.linearize_step(MODEL, q[k], ZERO, ZERO, dt[k]), strict=True):
            np.testing.assert_allclose(x[k], y, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"axes \(3,\) of dt do not broadcast"):
        jc.linearize_step(MODEL, q, ZERO, ZERO, dt[:3])


def test_actuated_rates():
    everything = jc.linearize(MODEL, Q, ZERO, ZERO).B
    assert everything.shape == (24, 12)
    mask = np.arange(12) > 6
    np.testing.assert_array_equal(
        jc.linearize(MODEL, Q, ZERO, ZERO, actuated=mask).B, everything[:, mask]
    )
    names = ["q5", "q2"]
    got = jc.linearize(MODEL, Q, ZERO, ZERO, actuated=names).B
    np.testing.assert_array_equal(got, everything[:, [6, 9]])
    one = jc.linearize_step(MODEL, Q, ZERO, ZERO, 0.1, actuated="root_joint").B
    assert one.shape == (24, 6)
    assert jc.linearize(MODEL, Q, ZERO, ZERO, actuated=[]).B.shape == (24, 0)
    floating = jc.models.mixed_tree(0)
    zero = np.zeros(floating.nv)
    assert jc.linearize(floating, jc.neutral(floating), zero, zero).B.shape == (30, 9)
    with pytest.raises(KeyError, match="unknown joint 'q9'"):
        jc.linearize(MODEL, Q, ZERO, ZERO, actuated=["q9"])
    for bad in (np.ones(3, bool), np.zeros(0, bool), np.zeros((0, 3)), np.ones(12), 3):
        with pytest.raises(ValueError, match=r"actuated must be a bool array of shape \(12,\)"):
            jc.linearize(MODEL, Q, ZERO, ZERO, actuated=bad)


def test_a_robot_without_bodies_is_no_special_case():
    model = jc.ModelBuilder().build()
    none = np.zeros(0)
    assert jc.linearize(model, none, none, none).A.shape == (0, 0)
    assert jc.linearize_step(model, none, none, none, 0.1).B.shape == (0, 0)
    assert jc.christoffel_symbols(model, none).shape == (0, 0, 0)
    assert jc.mass_matrix_derivatives(model, none).shape == (0, 0, 0)
    assert jc.centroidal_momentum_matrix(model, none).shape == (6, 0)
    assert jc.centroidal_momentum_matrix_rate(model, none, none).shape == (6, 0)
    assert jc.kinetic_energy_derivatives(model, none, none).dq.shape == (0,)
    got = jc.hybrid_dynamics_derivatives(model, none, none, none, none, np.zeros(0, bool))
    assert got.a_dq.shape == (0, 0)
