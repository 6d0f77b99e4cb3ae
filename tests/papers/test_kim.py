"""Kim 2012, Sec. 1 and 2: one body, joints, Tables 2 to 4, against the core and complex steps."""

from __future__ import annotations

import numpy as np
import pytest
from kim_cases import MODELS, at_step, pick_joints, states
from papers_cases import STATES, STEP, close, imaginary, random_pose, robot

import jounce as jc
from jounce import inertia, lie
from jounce.papers import kim


@pytest.fixture(params=MODELS)
def model(request):
    return robot(request.param)


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


def test_joint_jacobian_is_inverse_pose_times_its_derivative(model):
    """S_i = T^-1 dT/dq (Sec. 2.1) and its rate; the joint's columns of the core's Jacobian."""
    links = kim.system(model)
    for q, v, a, tau, f, _ in states(model):
        later, q_later, v_later, *_ = at_step(model, q, v, a, tau, f, kim.parameter(model, q=v))
        for i in range(len(links.parent)):
            T, S, S_dot = kim.joint(links, i, q, v)
            T_later, S_later, _ = kim.joint(later, i, q_later, v_later)
            h_dot = lie.vee(np.linalg.inv(T) @ imaginary(T_later))
            close(S @ v[links.rates(i)], h_dot)
            close(S_dot, imaginary(S_later), floor=1.0)
        for body, i in enumerate(links.body):
            _, S, S_dot = kim.joint(links, i, q, v)
            columns = np.s_[:, links.rates(i)]
            close(S, jc.jacobian(model, q, body)[columns])
            close(S_dot, jc.jacobian_rate(model, q, v, body)[columns], floor=1.0)


def test_compound_joints_have_a_varying_jacobian():
    """S'(q) != 0 for universal and planar joints, which is why eq. 40 keeps it."""
    for kind, varies in (("universal", True), ("planar", True), ("cylindrical", False)):
        model = jc.models.random_tree(1, 0, joints=(kind,))
        _, _, S_dot = kim.joint(kim.system(model), 0, np.full(model.nq, 0.3), np.ones(model.nv))
        assert (np.max(np.abs(S_dot)) > 0.1) == varies


def test_velocities_are_the_cores_twists(model):
    """Eq. 34 to 36."""
    links = kim.system(model)
    for q, v, *_ in states(model):
        close(kim.velocities(links, q, v).V[list(links.body)], jc.body_twists(model, q, v))


def test_table_2_is_the_cores_inverse_dynamics(model):
    for q, v, a, _, f, _ in states(model):
        close(kim.inverse_dynamics(model, q, v, a, f).tau, jc.inverse_dynamics(model, q, v, a, f))


def test_equation_32_has_the_cores_mass_matrix_and_bias(model):
    for q, v, a, *_ in states(model):
        tau = jc.mass_matrix(model, q) @ a + jc.bias_forces(model, q, v)
        close(kim.inverse_dynamics(model, q, v, a).tau, tau)


def test_table_3_is_the_cores_forward_dynamics(model):
    for q, v, _, tau, f, _ in states(model):
        got = kim.forward_dynamics(model, q, v, tau, f)
        close(got.q_ddot, jc.forward_dynamics(model, q, v, tau, f))


def test_table_4_is_the_cores_hybrid_dynamics(model):
    for q, v, a, tau, f, rng in states(model):
        joints, mask = pick_joints(model, rng)
        got = kim.hybrid_dynamics(model, q, v, a, tau, joints, f)
        a_core, tau_core = jc.hybrid_dynamics(model, q, v, a, tau, mask, f)
        close(got.q_ddot, a_core)
        close(got.tau, tau_core)


def test_table_4_solves_the_partitioned_equations(model):
    """Eq. 33: the accelerations of the unprescribed joints by a dense solve."""
    for q, v, a, tau, f, rng in states(model):
        joints, known = pick_joints(model, rng)
        M, b = jc.mass_matrix(model, q), jc.bias_forces(model, q, v, f)
        free = ~known
        expected = np.linalg.solve(
            M[np.ix_(free, free)], tau[free] - b[free] - M[np.ix_(free, known)] @ a[known]
        )
        got = kim.hybrid_dynamics(model, q, v, a, tau, joints, f).q_ddot[free]
        if free.any():
            close(got, expected)


def test_tables_2_and_3_are_the_extremes_of_table_4(model):
    """Table 1: all joints prescribed is inverse dynamics, none is forward dynamics."""
    everything = range(len(model.joints))
    for q, v, a, tau, f, _ in states(model):
        got = kim.hybrid_dynamics(model, q, v, a, tau, everything, f)
        close(got.tau, kim.inverse_dynamics(model, q, v, a, f).tau)
        there = kim.forward_dynamics(model, q, v, tau, f)
        close(kim.inverse_dynamics(model, q, v, there.q_ddot, f).F[:-1], there.F)


def test_wrench_equation_42_holds_in_every_joint(model):
    """F_i = I_hat V' + B_hat with Newton-Euler's F_i."""
    for q, v, a, tau, f, rng in states(model):
        joints, _ = pick_joints(model, rng)
        got = kim.hybrid_dynamics(model, q, v, a, tau, joints, f)
        expected = kim.inverse_dynamics(model, q, v, got.q_ddot, f)
        close(got.F, expected.F[:-1])
        close(got.V_dot, expected.V_dot)


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
