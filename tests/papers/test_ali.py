"""Ali et al. 2026, Algorithms 1 and 2, Appendix E, Proposition 1 and Lemma 1.

Against the core, and against exact oracles of another kind; the rest of the paper is in
test_ali_forward.py and test_ali_example.py.

Time derivatives are checked against Cauchy's integral formula: the body-frame recursion of kim,
another formulation, is evaluated on a circle in complex time along the Taylor polynomial of the
motion, and its Fourier coefficients are its time derivatives.
"""

from __future__ import annotations

import numpy as np
import pytest
from ali_cases import MODELS, along_motion, at_times, cauchy, forces, is_floating, nu, states
from papers_cases import STATES, STEP, close, imaginary, of_order, robot

import jounce as jc
from jounce import lie, twists
from jounce.papers import ali, kim


@pytest.fixture(params=MODELS)
def model(request):
    return robot(request.param)


# Sec. 2


def test_equations_1_and_2_of_the_adjoints():
    rng = np.random.default_rng(0)
    for _ in range(STATES):
        C_1, C_2 = lie.exp(rng.standard_normal((2, 6)))
        g_1, g_2, V = rng.standard_normal((3, 6))
        later = lie.exp(1j * STEP * V) @ C_1  # moves with the spatial twist V
        rate = imaginary(lie.Ad(lie.inverse(later)))
        close(rate, -lie.Ad(lie.inverse(C_1)) @ lie.ad(V))  # (1)
        close(lie.Ad(C_1 @ C_2), lie.Ad(C_1) @ lie.Ad(C_2))
        close(lie.Ad(C_1) @ lie.ad(g_1) @ g_2, lie.ad(lie.Ad(C_1) @ g_1) @ lie.Ad(C_1) @ g_2)
        bracket = lie.ad(g_1) @ lie.ad(g_2) - lie.ad(g_2) @ lie.ad(g_1)
        close(lie.ad(lie.ad(g_1) @ g_2), bracket)


def test_equation_3_home_screws_from_axis_and_point():
    """Revolute and prismatic screws from a point and an axis are those of the model."""
    model = jc.models.random_tree(8, 1, joints=("revolute", "prismatic"), first="free")
    tree = ali.initialize(model)
    for node in range(1, len(model.nodes.parent)):
        pose = tree.A[node] @ model.nodes.alignment[node]
        point = pose[:3, 3] if model.nodes.kind[node] == 0 else None
        close(tree.Y[node], ali.home_screw(pose[:3, 2], point))


def test_appendix_d_home_poses_and_screws_are_the_cores_at_rest(model):
    """Poses of the bodies and columns of the spatial Jacobian, both at the neutral coordinates."""
    tree, q = ali.initialize(model), jc.neutral(model)
    assert isinstance(tree, ali.Tree)
    ground = 0 if tree.floating else 1
    C_1 = ali.from_jounce(model, q, np.zeros((1, model.nv)))[0]
    poses = lie.inverse(C_1) @ jc.body_poses(model, q)
    bodies = np.flatnonzero(model.nodes.body >= 0) + ground
    close(tree.A[bodies], poses)
    A, Y = ali.home(tree.parent, lie.inverse(tree.A[list(tree.parent)]) @ tree.A, own_screws(tree))
    close(A, tree.A)
    close(Y, tree.Y)
    for body, j in enumerate(bodies):
        column = model.nodes.v_index[j - ground]
        if j:  # the base has no joint
            screw = jc.jacobian(model, q, body, "spatial")[:, column]
            close(lie.Ad(C_1) @ tree.Y[j], screw)


def own_screws(tree):
    return (lie.Ad(lie.inverse(tree.A)) @ tree.Y[..., None])[..., 0]


# Algorithm 1


def test_algorithm_1_order_0_and_1_are_the_cores_kinematics(model):
    bodies = np.flatnonzero(model.nodes.body >= 0) + (not is_floating(model))
    for s in states(model, 0):
        got = ali.forward_kinematics(model, s.C_1, s.V_1, s.joints)
        v, a = s.motion[:2]
        close(got.C[bodies], jc.body_poses(model, s.q))
        close(got.V[0][bodies], jc.body_twists(model, s.q, v, "spatial"))
        close(got.V[1][bodies], jc.body_accelerations(model, s.q, v, a, "spatial"))


def test_algorithm_1_is_the_time_derivative_of_the_cores_twist(model):
    """V^(k) and S^(k) up to order 6, by Cauchy's formula."""
    r, tree = 5, ali.initialize(model)
    for s in states(model, r):
        got = ali.forward_kinematics(tree, s.C_1, s.V_1, s.joints)

        def twists_and_screws(t, s=s):
            values = []
            for q, v, *_ in zip(*at_times(model, s, t), strict=True):
                C, V, joints, _ = ali.from_jounce(model, q, v[None])
                now = ali.forward_kinematics(tree, C, V, joints)
                values.append([now.V[0], now.S[0]])
            return np.array(values)

        expected = cauchy(twists_and_screws, r + 2)
        for k in range(r + 2):
            close(got.V[k], expected[k, 0], of_order(k))
            close(got.S[k], expected[k, 1], of_order(k))
            if k:
                close(ali.screw_rate(got.S, got.V, k), expected[k, 1], of_order(k))


def test_remark_1_derivatives_of_the_pose():
    rng = np.random.default_rng(1)
    for _ in range(STATES):
        C, V = lie.exp(rng.standard_normal(6)), rng.standard_normal((7, 6))
        close(ali.pose_derivatives(C, V), twists.pose_series(C, V, "spatial"))
        later = lie.exp(1j * STEP * V[0]) @ C
        close(ali.pose_derivatives(C, V[:1])[1], imaginary(later))


# Algorithm 2


def test_algorithm_2_order_0_is_the_cores_inverse_dynamics(model):
    """And its joint forces are the screws times the wrenches in the joints, plus the rotors'."""
    rotors = ali.initialize(model).armature[1:]
    for s in states(model, 0):
        got = ali.inverse_dynamics(model, *s.paper)
        tau = jc.inverse_dynamics(model, s.q, *s.motion, s.f[0])
        close(forces(model, s, got)[0], tau)
        S = ali.forward_kinematics(model, s.C_1, s.V_1, s.joints).S
        Q = ali.generalized_force(S, got.W, 0)[1:]
        close(Q + rotors * s.joints[2], tau[-len(Q) :])


def test_algorithm_2_is_the_time_derivative_of_kims_recursion(model):
    """Orders 0 to 10, with applied wrenches."""
    r = 10
    for s in states(model, r):

        def forces_at(t, s=s):
            q, v, a, f = at_times(model, s, t)
            return kim.inverse_dynamics(model, q, v, a, np.moveaxis(f, 1, 0)).tau

        expected = cauchy(forces_at, r + 1, radius=0.5, points=64)
        got = forces(model, s, ali.inverse_dynamics(model, *s.paper))
        for k in range(r + 1):
            close(got[k], expected[k], of_order(k))


def test_algorithm_2_is_the_cores_inverse_series(model):
    r = 8
    for s in states(model, r):
        got = forces(model, s, ali.inverse_dynamics(model, *s.paper))
        expected = jc.inverse_dynamics_series(model, s.q, s.motion, s.f)
        for k in range(r + 1):
            close(got[k], expected[k], of_order(k))


def test_external_joint_forces_and_rotors_add_to_the_joint_forces(model):
    rng = np.random.default_rng(5)
    for s in states(model, 2):
        extra = rng.standard_normal((3, s.joints.shape[1]))
        without = ali.inverse_dynamics(model, *s.paper)
        close(ali.inverse_dynamics(model, *s.paper, extra).tau, without.tau - extra)
        tree = ali.initialize(model)
        bare = tree._replace(armature=0 * tree.armature)
        rotors = tree.armature[1:] * s.joints[2:]
        close(ali.inverse_dynamics(bare, *s.paper).tau + rotors, without.tau)


def test_base_wrench_of_a_fixed_robot_is_what_the_ground_exerts():
    """At rest it carries the weight: W_j is the wrench of the parent on the body."""
    model = jc.models.random_tree(6, 0, joints=("revolute",))
    still = np.zeros((2, 6)), np.vstack([np.full((1, model.nv), 0.4), np.zeros((2, model.nv))])
    got = ali.inverse_dynamics(model, np.eye(4), *still)
    close(got.W_prop[0, 3:], -jc.total_mass(model) * model.gravity)


def test_recursions_are_iterative_and_depth_is_not_limited():
    model = jc.models.chain(1500)
    q = np.zeros((3, model.nv))
    got = ali.inverse_dynamics(model, np.eye(4), np.zeros((2, 6)), q)
    close(got.tau[0], jc.inverse_dynamics(model, *q), floor=1.0)


# Appendix E


def test_appendix_e_inertia_momentum_gravity_and_wrenches(model):
    """E1 to E5 and the derivatives of the coadjoint, order by order, by Cauchy's formula."""
    r = 4
    tree = ali.initialize(model)
    for s in states(model, r):
        C, _, V = ali.forward_kinematics(tree, s.C_1, s.V_1, s.joints)
        M = ali.inertia_derivatives(ali.spatial_inertia(tree.M_b, C), V, r)
        coadjoint = ali.coadjoint_derivatives(C, V, r)
        W = []
        for k in range(r + 1):
            W.append(ali.applied_wrench(coadjoint, V, s.W_b, W, k))

        def oracle(t, s=s):
            now = []
            for q, v, _, f in zip(*at_times(model, s, t), strict=True):
                C, V, joints, W_b = ali.from_jounce(model, q, v[None], f[None])
                C, _, V = ali.forward_kinematics(tree, C, V, joints)
                now.append((C, V[0][..., None], W_b[0][..., None]))
            C, V, W_b = (np.stack(x) for x in zip(*now, strict=True))
            Ad_star = np.swapaxes(lie.Ad(lie.inverse(C)), -1, -2)
            M = Ad_star @ tree.M_b @ np.swapaxes(Ad_star, -1, -2)
            return np.concatenate([M, Ad_star, M @ V, M @ tree.G[:, None], Ad_star @ W_b], axis=-1)

        for k, expected in enumerate(cauchy(oracle, r + 1)):
            close(M[k], expected[..., :6], of_order(k))
            close(coadjoint[k], expected[..., 6:12], of_order(k))
            close(ali.momentum_rate(M, V, k), expected[..., 12], of_order(k))
            close(ali.gravity_wrench(M, tree.G, k), expected[..., 13], of_order(k))
            close(W[k], expected[..., 14], of_order(k))
            bias = ali.momentum_bias(M, V, k) + (M[0] @ V[k][..., None])[..., 0]
            close(bias, expected[..., 12], of_order(k))


def test_appendix_e_inertias_and_wrenches_are_those_of_the_core(model):
    """E1 and E5, the loads of a body being converted along its own motion; single orders too."""
    r, tree = 5, ali.initialize(model)
    bodies = np.flatnonzero(model.nodes.body >= 0) + (not tree.floating)
    body = model.n_bodies - 1
    for s in states(model, r):
        C, _, V = ali.forward_kinematics(tree, s.C_1, s.V_1, s.joints)
        M = ali.inertia_derivatives(ali.spatial_inertia(tree.M_b, C), V, r)
        moved = jc.inertia.transform(model.inertias, jc.body_poses(model, s.q))
        close(M[0][bodies], jc.inertia.matrix(moved))
        coadjoint = ali.coadjoint_derivatives(C, V, r)
        twist = jc.body_motion_series(model, s.q, s.motion, body)
        loads = jc.twists.convert_wrench_series(
            s.f[:, body], twist, C[bodies[body]], "body", "spatial"
        )
        W = []
        for k in range(r + 1):
            W.append(ali.applied_wrench(coadjoint, V, s.W_b, W, k))
            close(W[k][bodies[body]], loads[k], of_order(k))
            if k:
                close(ali.inertia_rate(M, V, k), M[k], 0.0)
                close(ali.coadjoint_rate(coadjoint, V, k), coadjoint[k], 0.0)


def test_appendix_e_twist_bias_is_the_rest_of_the_twist(model):
    for s in states(model, 3):
        _, S, V = ali.forward_kinematics(model, s.C_1, s.V_1, s.joints)
        q = np.hstack([np.zeros((len(s.joints), 1)), s.joints])[..., None]
        parent = ali.initialize(model).parent
        for k in range(5):
            rest = V[k] - V[k][list(parent)] - S[0] * q[k + 1]
            close(ali.twist_bias(S, q, k)[1:], rest[1:], floor=1.0)


# Proposition 1 and Lemma 1


def to_body(model, s):
    """The matrix from jounce's rates to the paper's nu = (V_1, q')."""
    floating = is_floating(model)
    X = np.zeros((6 + s.joints.shape[1], model.nv))
    if floating:
        X[:6, :6] = lie.Ad(s.C_1) @ model.nodes.screws[:, :6]
    X[6:, 6 * floating :] = np.eye(s.joints.shape[1])
    return X


def test_proposition_1_order_0_is_algorithm_2(model):
    """Eq. 4, 5, and the core's mass matrix, bias and gravity forces."""
    for s in states(model, 0):
        x = ali.equations_of_motion(model, s.C_1, s.V_1[0], s.joints, s.W_b[0])
        got = ali.inverse_dynamics(model, *s.paper)
        total = x.M_bar @ nu(s, 1) + x.h + x.g + x.tau_ext
        close(total, np.concatenate([got.W_prop[0], got.tau[0]]))
        X = to_body(model, s)
        close(X.T @ x.M_bar @ X, jc.mass_matrix(model, s.q))
        close(X.T @ x.g, jc.gravity_forces(model, s.q))
        close(X.T @ (x.h + x.g + x.tau_ext), jc.bias_forces(model, s.q, s.motion[0], s.f[0]))


def test_proposition_1_order_1_is_algorithm_2(model):
    """Eq. 6, 7 with S' for S^T ad^T."""
    for s in states(model, 1):
        x = ali.equations_of_motion_rate(model, s.C_1, s.V_1, s.joints, s.W_b)
        got = ali.inverse_dynamics(model, *s.paper)
        total = x.M_bar @ nu(s, 2) + x.h + x.g + x.tau_ext
        close(total, np.concatenate([got.W_prop[1], got.tau[1]]))
        joints = np.s_[6 * is_floating(model) :]
        core = jc.inverse_dynamics_series(model, s.q, s.motion, s.f)[1]
        close(total[6:], core[joints], floor=np.max(np.abs(core)))
        close(forces(model, s, got)[1], core)


def test_proposition_1_order_1_terms_are_time_derivatives(model):
    """Each term of eq. 7: h~' = M' nu' + h', g', tau_ext' along the motion."""
    for s in states(model, 1):
        x = ali.equations_of_motion_rate(model, s.C_1, s.V_1, s.joints, s.W_b)
        W_later = s.W_b[0] + 1j * STEP * s.W_b[1]

        def terms(C, V, q, W_later=W_later):
            now = ali.equations_of_motion(model, C, V, q, W_later)
            return np.column_stack([now.h, now.g, now.tau_ext, now.M_bar])

        rates = along_motion(s, terms)
        (h_dot, g_dot, tau_ext_dot), M_dot = rates[:, :3].T, rates[:, 3:]
        partial = ali.equations_of_motion(model, s.C_1, s.V_1[0], s.joints, s.W_b[0])
        close(x.M_bar, partial.M_bar)
        close(x.h, M_dot @ nu(s, 1) + h_dot, floor=1.0)
        close(x.g, g_dot, floor=1.0)
        close(x.tau_ext, tau_ext_dot, floor=1.0)


def test_table_2_collects_the_recursions(model):
    """V = G_p S nu and V' = G_p (S nu' + S' nu) (Appendix B); G_p of the aerial manipulator."""
    for s in states(model, 0):
        x = ali.group(model, s.C_1, s.V_1[0], s.joints)
        V = ali.forward_kinematics(model, s.C_1, s.V_1, s.joints).V
        close(x.G_p @ x.S @ nu(s, 0), V[0].ravel())
        close(x.G_p @ (x.S @ nu(s, 1) + x.S_dot @ nu(s, 0)), V[1].ravel())
    aerial = robot("aerial_manipulator")
    s = states(aerial, 0)[0]
    printed = np.array(
        [
            [1, 0, 0, 0, 0, 0, 0],
            [1, 1, 0, 0, 0, 0, 0],
            [1, 1, 1, 0, 0, 0, 0],
            [1, 1, 1, 1, 0, 0, 0],
            [1, 0, 0, 0, 1, 0, 0],
            [1, 0, 0, 0, 1, 1, 0],
            [1, 0, 0, 0, 1, 1, 1],
        ]
    )
    G_p = ali.group(aerial, s.C_1, s.V_1[0], s.joints).G_p
    assert np.array_equal(G_p, np.kron(printed, np.eye(6)))


def test_lemma_1_coriolis_matrix_is_admissible(model):
    """C nu = h, and M' - 2 C is skew-symmetric (eq. 8)."""
    for s in states(model, 0):
        C = ali.coriolis_matrix(model, s.C_1, s.V_1[0], s.joints)
        h = ali.equations_of_motion(model, s.C_1, s.V_1[0], s.joints).h
        close(C @ nu(s, 0), h)
        M_dot = along_motion(s, lambda *at: ali.equations_of_motion(model, *at).M_bar)
        skew = M_dot - 2 * C
        close(skew, -skew.T)
