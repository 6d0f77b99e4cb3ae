"""Ali et al. 2026: the worked example of Sec. 7, and the errata of the whole paper."""

from __future__ import annotations

from math import comb

import numpy as np
from ali_cases import State, along_motion, forces, nu, states
from papers_cases import STATES, STEP, close, imaginary, of_order, robot

import jounce as jc
from jounce import inertia, lie, twists
from jounce.papers import ali

# Sec. 7: Tables 3 and 5


def aerial_state(rng):
    model = jc.models.aerial_manipulator()
    return model, State(model, 1, rng, loads=False)


def test_table_5a_is_algorithm_1():
    rng = np.random.default_rng(10)
    for _ in range(STATES):
        model, s = aerial_state(rng)
        got = ali.table_5a(s.C_1, s.V_1, s.joints)
        expected = ali.forward_kinematics(model, s.C_1, s.V_1, s.joints)
        close(got.V[:, 1:], expected.V)
        close(got.V[0, 1:], jc.body_twists(model, s.q, s.motion[0], "spatial"))
        close(got.S[:, 1:], expected.S)
        tree = ali.initialize(model)
        M = ali.inertia_derivatives(ali.spatial_inertia(tree.M_b, expected.C), expected.V, 2)
        close(got.M[:, 1:], np.stack(M))
        for k in range(3):
            close(got.Pi[k, 1:], ali.momentum_rate(M, expected.V, k))
        for j in range(2, 8):
            close(got.C[j], jc.body_pose(model, s.q, f"B{j}_com"))


def test_table_5b_is_algorithm_2():
    rng = np.random.default_rng(11)
    for _ in range(STATES):
        model, s = aerial_state(rng)
        W_prop, tau = ali.table_5b(ali.table_5a(s.C_1, s.V_1, s.joints))
        got = np.hstack([W_prop, tau])
        close(got, forces(model, s, ali.inverse_dynamics(model, *s.paper)))
        close(got, jc.inverse_dynamics_series(model, s.q, s.motion))


def test_tables_5c_and_5d_are_algorithm_3():
    rng = np.random.default_rng(12)
    for _ in range(STATES):
        model, s = aerial_state(rng)
        W_prop, tau = rng.standard_normal((2, 2, 6))
        V, q = ali.table_5c_5d(s.C_1, s.V_1[0], s.joints[:2], W_prop, tau)
        spatial = twists.convert_wrench_series(
            W_prop, twists.convert_series(np.vstack([s.V_1[:1], V]), s.C_1, "spatial", "body"),
            s.C_1, "body", "spatial",
        )  # fmt: skip
        expected = ali.forward_dynamics(model, s.C_1, s.V_1[0], s.joints[:2], spatial, tau)
        close(V[0], expected.V_1[0])
        close(q[0], expected.q[0])
        close(V[1], expected.V_1[1], floor=np.max(np.abs(q[1])))
        close(q[1], expected.q[1])
        core = jc.forward_dynamics_series(model, s.q, s.motion[0], np.hstack([W_prop, tau]))
        close(q, core[:, 6:])


def test_table_3_reference_motion_is_reproduced_to_order_5():
    """Fig. 3: Algorithm 3 fed with Algorithm 2's forces returns the reference motion."""
    model, r = jc.models.aerial_manipulator(), 5
    for t in np.linspace(0, 30, 11):
        C, V, q = ali.reference_trajectory(t, r + 2)
        h = 1j * STEP
        assert np.allclose(V[0], V[0].real)
        close(ali.pose_derivatives(C, V)[1][:3, 3], imaginary(_circle(t + h)))
        x = ali.inverse_dynamics(model, C, V, q)
        y = ali.forward_dynamics(model, C, V[0], q[:2], x.W_prop, x.tau)
        for k in range(r + 1):
            # the forces of order k, through the inverse inertia, set the scale of rounding
            scale = np.max(np.abs(x.tau[: k + 1])) / 0.002
            close(y.V_1[k], V[k + 1], of_order(k), floor=scale)
            close(y.q[k], q[k + 2], of_order(k), floor=scale)


def _circle(t):
    return np.array([np.cos(2 * np.pi * t / 20), np.sin(2 * np.pi * t / 20), 0])


def test_propeller_wrench_is_the_sum_of_moved_wrenches():
    """Sec. 7.1; moments about the base by hand."""
    rng = np.random.default_rng(13)
    speeds, tilt = rng.uniform(1, 2, 6), 0.3 * (-1.0) ** np.arange(6)
    got = ali.propeller_wrench(speeds, 0.4, tilt, 0.0, 2.0, 0.1)
    force, moment = np.zeros(3), np.zeros(3)
    for i in range(1, 7):
        angle = (2 - i) * np.pi / 3
        radial = np.array([np.cos(angle), np.sin(angle), 0])
        across = np.array([-np.sin(angle), np.cos(angle), 0])
        axis = np.cos(tilt[i - 1]) * np.array([0, 0, 1]) - np.sin(tilt[i - 1]) * across
        thrust = 2.0 * speeds[i - 1] ** 2 * axis
        force += thrust
        moment += 0.1 * speeds[i - 1] ** 2 * axis + np.cross(0.4 * radial, thrust)
    close(got, np.concatenate([moment, force]))


# Errata: what the printed formulas would give


def test_erratum_algorithm_1_needs_the_last_term_of_its_sum():
    """Up to r2 = r1 - 1, as printed, the acceleration lacks S' q'."""
    model = robot("mixed_tree")
    s = states(model, 0)[0]
    _, S, V = ali.forward_kinematics(model, s.C_1, s.V_1, s.joints)
    q = np.vstack([np.zeros(3), s.joints.T]).T[..., None]
    parent = list(ali.initialize(model).parent)
    for r1 in (1,):
        printed = sum(comb(r1, k) * S[k] * q[r1 - k + 1] for k in range(r1))
        missing = (V[r1] - V[r1][parent])[1:] - printed[1:]
        close(missing, (S[1] * q[1])[1:])
        assert np.max(np.abs(missing)) > 0.1


def test_erratum_bias_wrench_of_order_1_is_no_time_derivative():
    """W^A_{j,1} differs from the derivative of W^A_{j,0} by (M^A)' V'; the sum is right."""
    model = robot("aerial_manipulator")
    s = states(model, 1)[0]
    given = ali.inverse_dynamics(model, *s.paper)
    paper = s.C_1, s.V_1[0], s.joints[:2]
    x = ali.forward_dynamics(model, *paper, given.W_prop, given.tau, s.W_b)

    def later(C, V, q):
        loads = s.W_b[0] + 1j * STEP * s.W_b[1]
        W, tau = (y[0] + 1j * STEP * y[1] for y in (given.W_prop, given.tau))
        return ali.forward_dynamics(model, C, V, q, [W], [tau], [loads])

    W_A_dot = along_motion(s, lambda *at: later(*at).W_A[0])
    M_A_dot = along_motion(s, lambda *at: later(*at).M_A)
    assert np.max(np.abs(W_A_dot - x.W_A[1])) > 0.1
    close(x.W_A[1], W_A_dot + (M_A_dot @ x.V[0][..., None])[..., 0], floor=np.max(np.abs(W_A_dot)))


def test_erratum_euler_poincare_needs_the_transpose():
    """Appendix E: Pi' = M V' - ad(V)^T Pi; with ad(V) it is wrong."""
    model = robot("mixed_tree")
    s = states(model, 0)[0]
    tree = ali.initialize(model)
    C, _, V = ali.forward_kinematics(tree, s.C_1, s.V_1, s.joints)
    M = ali.inertia_derivatives(ali.spatial_inertia(tree.M_b, C), V, 1)
    Pi_dot = ali.momentum_rate(M, V, 1)
    ad, Pi = lie.ad(V[0]), (M[0] @ V[0][..., None])
    right = (M[0] @ V[1][..., None] - np.swapaxes(ad, -1, -2) @ Pi)[..., 0]
    printed = (M[0] @ V[1][..., None] - ad @ Pi)[..., 0]
    close(right, Pi_dot)
    assert np.max(np.abs(printed - Pi_dot)) > 0.1


def test_erratum_equation_7_is_wrong_in_the_base_rows():
    """S^T ad(V)^T for S'^T adds ad(V_1)^T Q_1 to the base rows, and nothing elsewhere."""
    for name in ("aerial_manipulator", "mixed_tree"):
        model = robot(name)
        for s in states(model, 1):
            x = ali.group(model, s.C_1, s.V_1[0], s.joints)
            right = ali.inverse_dynamics(model, *s.paper)
            eom = ali.equations_of_motion(model, s.C_1, s.V_1[0], s.joints, s.W_b[0])
            W = x.G_c @ (
                x.M @ x.G_p @ (x.S @ nu(s, 1) + x.S_dot @ nu(s, 0))
                - x.ad_V.T @ x.M @ x.G_p @ x.S @ nu(s, 0)
                - x.M @ x.G
                - x.Ad_star @ s.W_b[0].ravel()
            )
            extra = x.S.T @ x.ad_V.T @ W - x.S_dot.T @ W
            close(extra[:6], lie.ad(s.V_1[0]).T @ right.W_prop[0])
            assert np.max(np.abs(extra[6:])) < 1e-11 * np.max(np.abs(extra))
            assert np.max(np.abs(extra[:6])) > 0.1
            assert eom.M_bar.shape == (len(extra), len(extra))


def test_erratum_appendix_b_adds_a_bracket_to_the_bases_jerk():
    """V'' of Appendix B with ad(V) S for S' has an extra ad(V_1) V_1' in the base's rows."""
    model = robot("aerial_manipulator")
    for s in states(model, 1):
        x = ali.group(model, s.C_1, s.V_1[0], s.joints)
        V = ali.forward_kinematics(model, s.C_1, s.V_1, s.joints).V
        n0, n1, n2 = (nu(s, k) for k in range(3))
        V_dot = x.G_p @ x.S @ n1 + x.G_p @ x.ad_V @ x.S @ n0
        ad_V_dot = np.zeros_like(x.ad_V)
        for j, block in enumerate(lie.ad(V_dot.reshape(-1, 6))):
            ad_V_dot[6 * j : 6 * j + 6, 6 * j : 6 * j + 6] = block
        printed = x.G_p @ (
            x.S @ n2 + 2 * x.ad_V @ x.S @ n1 + (ad_V_dot + x.ad_V @ x.ad_V) @ x.S @ n0
        )
        extra = printed.reshape(-1, 6) - V[2]
        bracket = lie.ad(s.V_1[0]) @ s.V_1[1]
        close(extra, np.tile(bracket, (len(extra), 1)))
        assert np.max(np.abs(bracket)) > 0.1


def test_erratum_wrench_on_the_parent_has_the_other_sign():
    """Sec. 3.2 calls W_j the wrench from body j to its parent; Algorithm 2's is the reverse."""
    model = jc.ModelBuilder().add_body("a", joint="prismatic", mass=2.0).build()
    rest = np.zeros((3, 1))
    W = ali.inverse_dynamics(model, np.eye(4), np.zeros((2, 6)), rest).W[0, 1]
    close(W, np.array([0, 0, 0, 0, 0, 2.0 * 9.81]))  # upward on the body, which pulls downward


def test_erratum_equal_propeller_tilts_do_not_actuate_the_base_fully():
    """Sec. 7.1: with one alpha and beta for all propellers the wrench map has rank 3, not 6."""

    def rank(alpha, beta):
        columns = [ali.propeller_wrench(e, 0.4, alpha, beta, 2.0, 0.1) for e in np.eye(6)]
        return np.linalg.matrix_rank(np.stack(columns, axis=1))

    assert rank(0.35, 0.17) == 3
    assert rank(0.35 * (-1.0) ** np.arange(6), 0.17) == 6


def test_home_pose_of_the_base_must_be_the_identity():
    """F_1 = C_1 and C_j = F_j A_j^0 of Algorithm 1 give C_1 only if A_1^0 = 1 (Appendix D)."""
    tree = ali.initialize(robot("mixed_tree"))
    assert np.array_equal(tree.A[0], np.eye(4))
    assert np.array_equal(tree.M_b[0], inertia.matrix(robot("mixed_tree").inertias[0]))
