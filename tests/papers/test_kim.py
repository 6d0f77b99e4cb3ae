"""Kim 2012, Sec. 1 and 2: one body, joints, Tables 2 to 4, against the core and complex steps."""

from __future__ import annotations

import numpy as np
import pytest
from kim_cases import MODELS, at_step, batch, pick_joints
from papers_cases import STATES, STEP, close, close_each, imaginary, random_pose, robot

import jounce as jc
from jounce import inertia, lie
from jounce.papers import kim
from jounce.papers.joints import apply


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


@pytest.fixture(params=range(4))
def prescribed(request, name):
    """Random acceleration-prescribed joints, and the core's mask for them."""
    return pick_joints(robot(name), np.random.default_rng(request.param))


# Sec. 1: one body


def test_adjoint_and_coadjoint_keep_power():
    """Eq. 6, 7, 8, 11, 13: V_b = Ad(T_ba) V_a, F_b = Ad(T_ab)^T F_a."""
    rng = np.random.default_rng(0)
    for _ in range(STATES):
        T_ab, (V_a, F_a) = random_pose(rng), rng.standard_normal((2, 6))
        V_b = lie.Ad(lie.inverse(T_ab)) @ V_a
        close(lie.hat(V_b), np.linalg.inv(T_ab) @ lie.hat(V_a) @ T_ab)
        F_b = lie.Ad(T_ab).T @ F_a
        close(F_b @ V_b, F_a @ V_a)
        close(V_b, jc.twists.convert(V_a, T_ab, "spatial", "body"))  # a is the world
        close(F_b, jc.twists.convert_wrench(F_a, T_ab, "spatial", "body"))


def test_inertia_and_momentum_follow_the_frame():
    """Eq. 15, 20 to 24: energy is invariant; the parallel-axis theorem is a change of frame."""
    rng = np.random.default_rng(1)
    for _ in range(STATES):
        root, c, m = rng.standard_normal((3, 3)), rng.standard_normal(3), rng.uniform(0.1, 2)
        R = lie.exp(rng.standard_normal(3))
        I_c = root @ root.T
        parameters = inertia.from_com(m, np.zeros(3), I_c)
        at_com = jc.inertia.matrix(parameters)
        T_ab = np.eye(4)  # of the body frame b in the center-of-mass frame a
        T_ab[:3, :3], T_ab[:3, 3] = R.T, -R.T @ c
        moved_inertia = lie.Ad(T_ab).T @ at_com @ lie.Ad(T_ab)  # (21)
        close(moved_inertia, inertia.matrix(inertia.from_com(m, c, R @ I_c @ R.T)))  # (22)
        there = jc.inertia.transform(parameters, lie.inverse(T_ab))
        close(moved_inertia, jc.inertia.matrix(there))
        V_b = rng.standard_normal(6)
        V_a = lie.Ad(T_ab) @ V_b
        close(V_b @ moved_inertia @ V_b, V_a @ at_com @ V_a)  # (15)
        close(moved_inertia @ V_b, lie.Ad(T_ab).T @ (at_com @ V_a))  # (24)


def test_lemmas_1_and_2_differentiate_in_a_moving_frame():
    """Eq. 26 and 28: dX/dt = X' + ad(V) X for twists, Y' - ad(V)^T Y for wrenches."""
    rng = np.random.default_rng(2)
    for _ in range(STATES):
        T, (V, X, X_dot) = random_pose(rng), rng.standard_normal((3, 6))
        later = T @ lie.exp(1j * STEP * V)
        X_later = X + 1j * STEP * X_dot
        world = imaginary(lie.Ad(later) @ X_later)
        close(lie.Ad(lie.inverse(T)) @ world, X_dot + lie.ad(V) @ X)
        world = imaginary(lie.Ad(lie.inverse(later)).T @ X_later)
        close(lie.Ad(T).T @ world, X_dot - lie.ad(V).T @ X)


def test_newton_euler_is_the_rate_of_momentum_in_any_frame():
    """Eq. 30, 31, and the core with a free body of the same inertia."""
    rng = np.random.default_rng(3)
    free = jc.ModelBuilder(gravity=(0, 0, 0)).add_body("body", joint="free", mass=1.0).build()
    for parameters in jc.models.random_tree(STATES, 0).inertias:
        T, (V, V_dot) = random_pose(rng), rng.standard_normal((2, 6))
        body = inertia.matrix(parameters)
        F = kim.newton_euler(body, V, V_dot)
        single = free.replace(inertias=parameters[None])
        close(F, jc.inverse_dynamics(single, jc.random_configuration(single, rng), V, V_dot))
        later = T @ lie.exp(1j * STEP * V)
        world = imaginary(lie.Ad(lie.inverse(later)).T @ (body @ (V + 1j * STEP * V_dot)))
        close(lie.Ad(T).T @ world, F)
        X = lie.Ad(T)  # the same equation in another body frame
        other = kim.newton_euler(X.T @ body @ X, np.linalg.solve(X, V), np.linalg.solve(X, V_dot))
        close(other, X.T @ F)


# Sec. 2: joints and Tables 2 to 4


def test_joint_jacobian_is_inverse_pose_times_its_derivative(name):
    """S_i = T^-1 dT/dq (Sec. 2.1) and its rate; the joint's columns of the core's Jacobian."""
    model, x = robot(name), batch(name)
    links, p = kim.system(model), kim.parameter(model, q=x.v)
    _, q_later, v_later, *_ = at_step(model, x.q, x.v, x.a, x.tau, 0.0, p)
    for i in range(len(links.parent)):
        T, S, S_dot = kim.joint(links, i, x.q, x.v)
        T_later, S_later, _ = kim.joint(links, i, q_later, v_later)
        h_dot = lie.vee(np.linalg.inv(T) @ imaginary(T_later))
        close_each(apply(S, x.v[:, links.rates(i)]), h_dot)
        spread = (STATES, *S.shape[-2:])
        close(*np.broadcast_arrays(S_dot, imaginary(S_later)), floor=1.0)
        for body in np.flatnonzero(np.equal(links.body, i)):
            columns = jc.jacobian(model, x.q, body)[..., links.rates(i)]
            close_each(np.broadcast_to(S, spread), columns)
            rates = jc.jacobian_rate(model, x.q, x.v, body)[..., links.rates(i)]
            close_each(np.broadcast_to(S_dot, spread), rates, floor=1.0)


def test_compound_joints_have_a_varying_jacobian():
    """S'(q) != 0 for universal and planar joints, which is why eq. 40 keeps it."""
    for kind, varies in (("universal", True), ("planar", True), ("cylindrical", False)):
        model = jc.models.random_tree(1, 0, joints=(kind,))
        _, _, S_dot = kim.joint(kim.system(model), 0, np.full(model.nq, 0.3), np.ones(model.nv))
        assert (np.max(np.abs(S_dot)) > 0.1) == varies


def test_velocities_are_the_cores_twists(name):
    """Eq. 34 to 36."""
    model, x = robot(name), batch(name)
    links = kim.system(model)
    V = kim.velocities(links, x.q, x.v).V[list(links.body)]
    close_each(np.moveaxis(V, 1, 0), jc.body_twists(model, x.q, x.v))


def test_table_2_is_the_cores_inverse_dynamics(name):
    """With the wrenches, and without them M q'' + b (eq. 32)."""
    model, x = robot(name), batch(name)
    tau = kim.inverse_dynamics(model, x.q, x.v, x.a, x.f).tau
    close_each(tau, jc.inverse_dynamics(model, x.q, x.v, x.a, x.by_state))
    M, b = jc.mass_matrix(model, x.q), jc.bias_forces(model, x.q, x.v)
    close_each(kim.inverse_dynamics(model, x.q, x.v, x.a).tau, apply(M, x.a) + b)


def test_table_3_is_the_cores_forward_dynamics(name):
    model, x = robot(name), batch(name)
    got = kim.forward_dynamics(model, x.q, x.v, x.tau, x.f).q_ddot
    close_each(got, jc.forward_dynamics(model, x.q, x.v, x.tau, x.by_state))


def test_table_4_is_the_cores_hybrid_dynamics(name, prescribed):
    """And solves the partitioned equations (eq. 33) as a dense solver does."""
    model, x, (joints, mask) = robot(name), batch(name), prescribed
    got = kim.hybrid_dynamics(model, x.q, x.v, x.a, x.tau, joints, x.f)
    a, tau = jc.hybrid_dynamics(model, x.q, x.v, x.a, x.tau, mask, x.by_state)
    close_each(got.q_ddot, a)
    close_each(got.tau, tau)
    M, b = jc.mass_matrix(model, x.q), jc.bias_forces(model, x.q, x.v, x.by_state)
    rest = (x.tau - b)[:, ~mask] - apply(M[:, ~mask][:, :, mask], x.a[:, mask])
    expected = np.linalg.solve(M[:, ~mask][:, :, ~mask], rest[..., None])[..., 0]
    close_each(got.q_ddot[:, ~mask], expected)


def test_tables_2_and_3_are_the_extremes_of_table_4(name):
    """Table 1: all joints prescribed is inverse dynamics, none is forward dynamics."""
    model, x = robot(name), batch(name)
    everything = range(len(model.joints))
    got = kim.hybrid_dynamics(model, x.q, x.v, x.a, x.tau, everything, x.f)
    close_each(got.tau, kim.inverse_dynamics(model, x.q, x.v, x.a, x.f).tau)
    there = kim.forward_dynamics(model, x.q, x.v, x.tau, x.f)
    back = kim.inverse_dynamics(model, x.q, x.v, there.q_ddot, x.f)
    close_each(np.moveaxis(back.F[:-1], 1, 0), np.moveaxis(there.F, 1, 0))


def test_wrench_equation_42_holds_in_every_joint(name, prescribed):
    """F_i = I_hat V' + B_hat with Newton-Euler's F_i."""
    model, x, (joints, _) = robot(name), batch(name), prescribed
    got = kim.hybrid_dynamics(model, x.q, x.v, x.a, x.tau, joints, x.f)
    expected = kim.inverse_dynamics(model, x.q, x.v, got.q_ddot, x.f)
    close_each(np.moveaxis(got.F, 1, 0), np.moveaxis(expected.F[:-1], 1, 0))
    close_each(np.moveaxis(got.V_dot, 1, 0), np.moveaxis(expected.V_dot, 1, 0))


# Errata


def test_erratum_the_printed_jacobian_is_no_twist():
    """T^-1 dT^-1/dq, as printed, is not in se(3); with dT/dq it is."""
    model = jc.models.random_tree(1, 0, joints=("revolute",))
    links = kim.system(model)
    q, v = np.array([0.7]), np.array([1.0])
    later = kim.joint(links, 0, q + 1j * STEP, v)[0]
    T, S, _ = kim.joint(links, 0, q, v)
    printed = np.linalg.inv(T) @ imaginary(lie.inverse(later))
    assert np.max(np.abs(printed[:3, :3] + printed[:3, :3].T)) > 0.1
    close(lie.vee(np.linalg.inv(T) @ imaginary(later)), S[:, 0])
