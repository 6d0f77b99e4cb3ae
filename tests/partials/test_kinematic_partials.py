"""Derivatives of Jacobians, twists, accelerations and the centroidal momentum are exact."""

from __future__ import annotations

import numpy as np
import partials_oracle as oracle
import pytest
from partials_oracle import in_q, in_x, relative

import jounce as jc
from jounce import lie, twists
from jounce.papers import mueller

EXACT = 1e-10
every_twist = pytest.mark.parametrize("twist", twists.REPRESENTATIONS)


def bodies(model):
    return range(model.n_bodies - 1, 0, -3)


def node_of(model, body):
    return int(np.flatnonzero(model.nodes.body == body)[0])


def oracle_jacobian(model, body, twist):
    """The Jacobian from spatial screws, for complex coordinates."""
    node = node_of(model, body)

    def jacobian(q):
        t = oracle.tree(model, q)
        J = t.S * t.path[node]
        return twists.matrix(t.T[..., node, :, :], "spatial", twist) @ J

    return jacobian


@every_twist
def test_first_partials_of_jacobians(case, twist):
    model = case.model
    for body in bodies(model):
        exact = in_q(model, case.q, oracle_jacobian(model, body, twist))
        got = jc.jacobian_derivatives(model, case.q, body, 1, twist)
        assert relative(got, exact) < EXACT
        exact = jc.jacobian_rate(model, case.q, case.v, body, twist)
        assert relative((got @ case.v[:, None, :, None])[..., 0], exact) < EXACT


def deepest(model):
    """The body with the most rates between it and the world."""
    moves = [
        (jc.jacobian(model, jc.neutral(model), k) != 0).any(0).sum() for k in range(model.n_bodies)
    ]
    return int(np.argmax(moves))


@every_twist
def test_partials_of_any_order_are_those_of_mueller(case, twist):
    model, q = case.model, case.q[:1]
    body = deepest(model)
    for order in (0, 1, 2, 3):
        got = jc.jacobian_derivatives(model, q, body, order, twist)
        exact = [mueller.jacobian_derivatives(model, x, body, order, twist) for x in q]
        assert relative(got, np.array(exact)) < EXACT


@every_twist
@pytest.mark.parametrize(("order", "states"), [(1, 2), (2, 1)])
def test_higher_partials_are_derivatives_of_lower_ones(case, twist, order, states):
    """Complex steps of order m give order m + 1, the last one as last index.

    Along three directions that have every rate in them.
    """
    model, body = case.model, deepest(case.model)
    directions = np.random.default_rng(0).standard_normal((3, model.nv))

    def derivative(q):
        moved = oracle.integrate(model, q.astype(complex), 1j * oracle.STEP * directions)
        lower = [mueller.jacobian_derivatives(model, x, body, order, twist) for x in moved]
        return np.stack(lower, axis=-1).imag / oracle.STEP

    got = jc.jacobian_derivatives(model, case.q[:states], body, order + 1, twist) @ directions.T
    assert relative(got, np.array([derivative(q) for q in case.q[:states]])) < EXACT


def test_mixed_partials_commute_for_1_dof_joints(one_dof):
    got = jc.jacobian_derivatives(one_dof.model, one_dof.q, deepest(one_dof.model), 2, "hybrid")
    np.testing.assert_allclose(got, np.swapaxes(got, -1, -2), rtol=0, atol=1e-12)


def test_frames_and_the_world():
    builder = jc.ModelBuilder()
    builder.add_body("base", joint="free", mass=1.0)
    builder.add_body("arm", "base", joint="spherical", mass=1.0, placement=(1, 2, 3))
    builder.add_frame("tool", "arm", (0.1, 0.2, 0.3))
    builder.add_frame("floor", None, (1, 0, 0))
    model = builder.build()
    q, v = jc.random_configuration(model, 0, 5), np.ones((5, model.nv))
    for twist in twists.REPRESENTATIONS:
        got = jc.jacobian_derivatives(model, q, "tool", 1, twist) @ v[:, None, :, None]
        exact = jc.jacobian_rate(model, q, v, "tool", twist)
        np.testing.assert_allclose(got[..., 0], exact, rtol=0, atol=1e-12)
        by_q = np.einsum(
            "...ajk,...j->...ak", jc.jacobian_derivatives(model, q, "tool", 1, twist), v
        )
        d = jc.body_twist_derivatives(model, q, v, "tool", twist)
        np.testing.assert_allclose(d.dq, by_q, rtol=0, atol=1e-12)
        np.testing.assert_allclose(d.dv, jc.jacobian(model, q, "tool", twist), rtol=0, atol=1e-12)
        assert not jc.jacobian_derivatives(model, q, "floor", 2, twist).any()
        assert not jc.body_twist_derivatives(model, q, v, "floor", twist).dq.any()


def motion_of(model, body, twist):
    """Twist and acceleration, (..., 2, 6), for complex q, v, a."""
    node = node_of(model, body)

    def motion(q, v, a):
        t = oracle.tree(model, q)
        spatial = [x[..., node, :] for x in oracle.twists_and_accelerations(t, v, a)]
        T = t.T[..., node, :, :]
        return twists.convert_series(np.stack(spatial, axis=-2), T, "spatial", twist)

    return motion


@every_twist
def test_twists_and_accelerations(case, twist):
    model, at = case.model, case.each
    for body in bodies(model):
        motion = motion_of(model, body, twist)
        by_q = in_q(model, case.q, lambda x, f=motion: f(x, at.v, at.a))
        by_v = in_x(case.v, lambda x, f=motion: f(at.q.astype(complex), x, at.a))
        by_a = in_x(case.a, lambda x, f=motion: f(at.q.astype(complex), at.v, x))
        first = jc.body_twist_derivatives(model, case.q, case.v, body, twist)
        second = jc.body_acceleration_derivatives(model, case.q, case.v, case.a, body, twist)
        assert relative(first.dq, by_q[:, 0]) < EXACT
        assert relative(first.dv, by_v[:, 0]) < EXACT
        assert relative(second.dq, by_q[:, 1]) < EXACT
        assert relative(second.dv, by_v[:, 1]) < EXACT
        assert relative(second.da, by_a[:, 1]) < EXACT


def oracle_centroidal_matrix(model):
    masses = model.inertias
    nodes = np.flatnonzero(model.nodes.body >= 0)

    def matrix(q):
        t = oracle.tree(model, q)
        A = (t.I @ t.jacobians()).sum(-3)  # about the world's origin
        T = t.T[..., nodes, :, :]
        moments = T[..., :3, :3] @ masses[:, 1:4, None] + masses[:, 0, None, None] * T[..., :3, 3:]
        com = moments[..., 0].sum(-2) / masses[:, 0].sum()
        A[..., :3, :] -= lie.hat(com) @ A[..., 3:, :]
        return A

    return matrix


def test_centroidal_momentum_matrix(case):
    model = case.model
    A = jc.centroidal_momentum_matrix(model, case.q)
    matrix = oracle_centroidal_matrix(model)
    assert relative(A, matrix(case.q)) < EXACT
    momentum = jc.centroidal_momentum(model, case.q, case.v)
    assert relative(oracle.times(A, case.v), momentum) < EXACT
    dA = jc.centroidal_momentum_matrix_rate(model, case.q, case.v)
    exact = in_q(model, case.q, matrix) @ case.v[:, None, :, None]
    assert relative(dA, exact[..., 0]) < EXACT


def test_momentum_changes_by_gravity_and_external_wrenches(free_root):
    """Newton and Euler for the whole robot: a free base can take no other force."""
    s, model = free_root, free_root.model.replace(armature=np.zeros(free_root.model.nv))
    tau = s.tau.copy()
    tau[:, :6] = 0.0
    a = jc.forward_dynamics(model, s.q, s.v, tau, s.f_ext)
    A = jc.centroidal_momentum_matrix(model, s.q)
    dA = jc.centroidal_momentum_matrix_rate(model, s.q, s.v)
    rate = oracle.times(A, a) + oracle.times(dA, s.v)
    H = jc.body_poses(model, s.q)
    H[..., :3, 3] -= jc.center_of_mass(model, s.q)[:, None]
    wrench = oracle.times(np.swapaxes(lie.Ad(lie.inverse(H)), -1, -2), s.f_ext).sum(1)
    wrench[:, 3:] += jc.total_mass(model) * model.gravity
    assert relative(rate, wrench) < EXACT
