"""Ali et al. 2026, Algorithms 1 and 2, Appendix E, Proposition 1 and Lemma 1.

Against the core, and against exact oracles of another kind; the rest of the paper and its errata
are in test_ali_forward.py.

Time derivatives are checked against Cauchy's integral formula: the body-frame recursion of kim,
another formulation, is evaluated on a circle in complex time along the Taylor polynomial of the
motion, and its Fourier coefficients are its time derivatives.
"""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest

import jounce as jc
from jounce import lie, twists
from jounce.papers import ali, kim

STATES = 20
STEP = 1e-30  # of complex steps: no difference is formed, so it can be this small
ONE_DOF = ("revolute", "prismatic", "helical")
CHAINS = (*ONE_DOF, "universal", "cylindrical", "planar")
MODELS = {
    "aerial_manipulator": lambda: jc.models.aerial_manipulator(),
    "aerial_manipulator_5_4": lambda: jc.models.aerial_manipulator(5, 4),
    "mixed_tree": lambda: jc.models.mixed_tree(0),
    "floating_one_dof": lambda: jc.models.random_tree(8, 1, joints=ONE_DOF, first="free"),
    "floating_chains": lambda: jc.models.random_tree(7, 2, joints=CHAINS, first="free"),
    "fixed_one_dof": lambda: jc.models.random_tree(8, 3, joints=ONE_DOF),
    "fixed_chains": lambda: jc.models.random_tree(7, 4, joints=CHAINS),
}


@pytest.fixture(params=MODELS, scope="module")
def model(request):
    return MODELS[request.param]()


def tolerance(order):
    return 1e-11 if order <= 5 else 1e-8


def close(got, expected, order=0, floor=0.0, amplification=1.0):
    """Agreement relative to the largest entry, or to `floor` where the result may vanish."""
    scale = max(np.max(np.abs(expected)), floor)
    rounding = 64 * (order + 1) * np.finfo(float).eps * amplification
    allowed = max(tolerance(order), rounding)
    assert np.max(np.abs(got - expected)) <= allowed * scale


def cancellation(model, C_1, q, M_A):
    """By how much S^T M^A S, taken about the world's origin, amplifies rounding errors."""
    S = ali.forward_kinematics(model, C_1, np.zeros((1, 6)), q).S[0, 1:]
    terms = np.einsum("ni,nij,nj->n", np.abs(S), np.abs(M_A[1:]), np.abs(S))
    return np.max(terms / np.einsum("ni,nij,nj->n", S, M_A[1:], S))


class State:
    """A random state with derivatives up to order r, in jounce's and in the paper's arrays."""

    def __init__(self, model, r, rng, loads=True):
        self.q = jc.random_configuration(model, rng)
        self.motion = rng.standard_normal((r + 2, model.nv))
        self.f = rng.standard_normal((r + 1, model.n_bodies, 6)) * loads
        self.C_1, self.V_1, self.joints, self.W_b = ali.from_jounce(
            model, self.q, self.motion, self.f
        )
        self.paper = self.C_1, self.V_1, self.joints, self.W_b


def states(model, r, count=STATES, seed=0):
    rng = np.random.default_rng(seed)
    return [State(model, r, rng) for _ in range(count)]


def forces(model, s, result):
    """Algorithm 2's result as jounce writes it."""
    return ali.forces_to_jounce(model, s.C_1, s.V_1, result.W_prop, result.tau)


# Oracle: kim's recursion along the motion's Taylor polynomial, at complex times


def taylor(derivatives, t):
    weights = np.array([t**k / factorial(k) for k in range(len(derivatives))])
    return np.tensordot(weights, derivatives, 1)


def at_time(model, s, t):
    """Coordinates, rates, accelerations and wrenches at time t, for the motion as a polynomial."""
    v, a, f = taylor(s.motion, t), taylor(s.motion[1:], t), taylor(s.f, t)
    first = 0
    q = s.q.astype(complex)
    if model.nodes.kind[0] == 4:
        series = np.zeros((45, 6))
        series[: len(s.motion)] = s.motion[:, :6]
        pose = taylor(twists.pose_series(np.eye(4), series), t)
        first = 7
        q[:4] = lie.quat_multiply(s.q[:4], complex_quaternion(pose[:3, :3]))
        q[4:7] = s.q[4:7] + lie.quat_to_matrix(s.q[:4]) @ pose[:3, 3]
    steps = s.motion[:, first - 1 if first else 0 :]
    q[first:] += sum(t ** (k + 1) / factorial(k + 1) * x for k, x in enumerate(steps))
    return q, v, a, f


def complex_quaternion(R):
    """Quaternion (x, y, z, w) of a rotation near the identity, analytic in its entries."""
    w = np.sqrt(1 + np.trace(R)) / 2
    return np.append(lie.vee(R) / (2 * w), w)


def cauchy(function, orders, radius=0.3, points=32):
    """Derivatives of order 0 to orders - 1 at zero by Cauchy's integral formula.

    The function is real for real times, so half the circle determines the other half.
    """
    half = radius * np.exp(2j * np.pi * np.arange(points // 2 + 1) / points)
    values = [function(t) for t in half]
    values += [np.conj(x) for x in values[-2:0:-1]]
    coefficients = np.fft.fft(values, axis=0) / points
    weights = [factorial(k) / radius**k for k in range(orders)]
    return np.stack([w * c.real for w, c in zip(weights, coefficients, strict=False)])


# Sec. 2


def test_equations_1_and_2_of_the_adjoints():
    rng = np.random.default_rng(0)
    for _ in range(STATES):
        C_1, C_2 = lie.exp(rng.standard_normal((2, 6)))
        g_1, g_2, V = rng.standard_normal((3, 6))
        later = lie.exp(1j * STEP * V) @ C_1  # moves with the spatial twist V
        rate = np.imag(lie.Ad(lie.inverse(later))) / STEP
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


# Algorithm 1


def test_algorithm_1_order_0_and_1_are_the_cores_kinematics(model):
    bodies = np.flatnonzero(model.nodes.body >= 0) + (model.nodes.kind[0] != 4)
    for s in states(model, 0):
        got = ali.forward_kinematics(model, s.C_1, s.V_1, s.joints)
        v, a = s.motion[:2]
        close(got.C[bodies], jc.body_poses(model, s.q))
        close(got.V[0][bodies], jc.body_twists(model, s.q, v, "spatial"))
        close(got.V[1][bodies], jc.body_accelerations(model, s.q, v, a, "spatial"))


def test_algorithm_1_is_the_time_derivative_of_the_cores_twist(model):
    """V^(k) and S^(k) up to order 6, by Cauchy's formula."""
    r = 5
    for s in states(model, r, 5):
        got = ali.forward_kinematics(model, s.C_1, s.V_1, s.joints)

        def twists_and_screws(t, s=s):
            q, v, *_ = at_time(model, s, t)
            C, V, joints, _ = ali.from_jounce(model, q, v[None])
            now = ali.forward_kinematics(model, C, V, joints)
            return np.stack([now.V[0], now.S[0]])

        expected = cauchy(twists_and_screws, r + 2)
        for k in range(r + 2):
            close(got.V[k], expected[k, 0], k)
            close(got.S[k], expected[k, 1], k)


def test_remark_1_derivatives_of_the_pose():
    rng = np.random.default_rng(1)
    for _ in range(STATES):
        C, V = lie.exp(rng.standard_normal(6)), rng.standard_normal((7, 6))
        close(ali.pose_derivatives(C, V), twists.pose_series(C, V, "spatial"))
        later = lie.exp(1j * STEP * V[0]) @ C
        close(ali.pose_derivatives(C, V[:1])[1], np.imag(later) / STEP)


# Algorithm 2


def test_algorithm_2_order_0_is_the_cores_inverse_dynamics(model):
    for s in states(model, 0):
        got = forces(model, s, ali.inverse_dynamics(model, *s.paper))[0]
        close(got, jc.inverse_dynamics(model, s.q, *s.motion, s.f[0]))


def test_algorithm_2_is_the_time_derivative_of_kims_recursion(model):
    """Orders 0 to 5, with applied wrenches."""
    r = 5
    for s in states(model, r):
        expected = cauchy(
            lambda t, s=s: kim.inverse_dynamics(model, *at_time(model, s, t)).tau, r + 1
        )
        got = forces(model, s, ali.inverse_dynamics(model, *s.paper))
        for k in range(r + 1):
            close(got[k], expected[k], k)


@pytest.mark.parametrize("name", ["aerial_manipulator", "mixed_tree", "fixed_chains"])
def test_algorithm_2_of_order_10(name):
    model, r = MODELS[name](), 10
    for s in states(model, r, 3):
        expected = cauchy(
            lambda t, s=s: kim.inverse_dynamics(model, *at_time(model, s, t)).tau, r + 1, 0.5, 64
        )
        got = forces(model, s, ali.inverse_dynamics(model, *s.paper))
        for k in range(r + 1):
            close(got[k], expected[k], k)


def test_algorithm_2_is_the_cores_inverse_series(model):
    for r, count in ((5, STATES), (8, 3)):
        for s in states(model, r, count):
            got = forces(model, s, ali.inverse_dynamics(model, *s.paper))
            expected = jc.inverse_dynamics_series(model, s.q, s.motion, s.f)
            for k in range(r + 1):
                close(got[k], expected[k], k)


def test_external_joint_forces_and_rotors_add_to_the_joint_forces(model):
    rng = np.random.default_rng(5)
    for s in states(model, 2, 3):
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
    for s in states(model, r, 3):
        C, _, V = ali.forward_kinematics(tree, s.C_1, s.V_1, s.joints)
        M = ali.inertia_derivatives(ali.spatial_inertia(tree.M_b, C), V, r)
        coadjoint = ali.coadjoint_derivatives(C, V, r)
        W = []
        for k in range(r + 1):
            W.append(ali.applied_wrench(coadjoint, V, s.W_b, W, k))

        def oracle(t, s=s):
            q, v, _, f = at_time(model, s, t)
            C, V, joints, W_b = ali.from_jounce(model, q, v[None], f[None])
            C, _, V = ali.forward_kinematics(tree, C, V, joints)
            Ad_star = np.swapaxes(lie.Ad(lie.inverse(C)), -1, -2)
            M = Ad_star @ tree.M_b @ np.swapaxes(Ad_star, -1, -2)
            columns = [M @ V[0][..., None], (M @ tree.G)[..., None], Ad_star @ W_b[0][..., None]]
            return np.concatenate([M, Ad_star, *columns], axis=-1)

        for k, expected in enumerate(cauchy(oracle, r + 1)):
            close(M[k], expected[..., :6], k)
            close(coadjoint[k], expected[..., 6:12], k)
            close(ali.momentum_derivative(M, V, k), expected[..., 12], k)
            close(ali.gravity_wrench(M, tree.G, k), expected[..., 13], k)
            close(W[k], expected[..., 14], k)
            bias = ali.momentum_bias(M, V, k) + (M[0] @ V[k][..., None])[..., 0]
            close(bias, expected[..., 12], k)


def test_appendix_e_twist_bias_is_the_rest_of_the_twist(model):
    for s in states(model, 3, 3):
        _, S, V = ali.forward_kinematics(model, s.C_1, s.V_1, s.joints)
        q = np.hstack([np.zeros((len(s.joints), 1)), s.joints])[..., None]
        parent = ali.initialize(model).parent
        for k in range(5):
            rest = V[k] - V[k][list(parent)] - S[0] * q[k + 1]
            close(ali.twist_bias(S, q, k)[1:], rest[1:], floor=1.0)


# Proposition 1 and Lemma 1


def nu(s, k):
    return np.concatenate([s.V_1[k], s.joints[k + 1]])


def to_body(model, s):
    """The matrix from jounce's rates to the paper's nu = (V_1, q')."""
    floating = model.nodes.kind[0] == 4
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
        x = ali.equations_of_motion_derivative(model, s.C_1, s.V_1, s.joints, s.W_b)
        got = ali.inverse_dynamics(model, *s.paper)
        total = x.M_bar @ nu(s, 2) + x.h + x.g + x.tau_ext
        close(total, np.concatenate([got.W_prop[1], got.tau[1]]))


def along_motion(model, s, function):
    """Derivative by time of a function of (C_1, V_1, q) along the motion, by complex step."""
    C, V, q = s.C_1, s.V_1, s.joints
    later = (
        lie.exp(1j * STEP * V[0]) @ C,
        V[0] + 1j * STEP * V[1],
        q[:2] + 1j * STEP * q[1:3],
    )
    return np.imag(function(*later)) / STEP


def test_proposition_1_order_1_terms_are_time_derivatives(model):
    """Each term of eq. 7: h~' = M' nu' + h', g', tau_ext' along the motion."""
    for s in states(model, 1, 5):
        x = ali.equations_of_motion_derivative(model, s.C_1, s.V_1, s.joints, s.W_b)
        W_later = s.W_b[0] + 1j * STEP * s.W_b[1]

        def terms(C, V, q, W_later=W_later):
            now = ali.equations_of_motion(model, C, V, q, W_later)
            return np.column_stack([now.h, now.g, now.tau_ext, now.M_bar])

        rates = along_motion(model, s, terms)
        (h_dot, g_dot, tau_ext_dot), M_dot = rates[:, :3].T, rates[:, 3:]
        partial = ali.equations_of_motion(model, s.C_1, s.V_1[0], s.joints, s.W_b[0])
        close(x.M_bar, partial.M_bar)
        close(x.h, M_dot @ nu(s, 1) + h_dot, floor=1.0)
        close(x.g, g_dot, floor=1.0)
        close(x.tau_ext, tau_ext_dot, floor=1.0)


def test_table_2_collects_the_recursions(model):
    """V = G_p S nu and V' = G_p (S nu' + S' nu) (Appendix B); G_p of the aerial manipulator."""
    for s in states(model, 0, 3):
        x = ali.group(model, s.C_1, s.V_1[0], s.joints)
        V = ali.forward_kinematics(model, s.C_1, s.V_1, s.joints).V
        close(x.G_p @ x.S @ nu(s, 0), V[0].ravel())
        close(x.G_p @ (x.S @ nu(s, 1) + x.S_dot @ nu(s, 0)), V[1].ravel())
    robot = MODELS["aerial_manipulator"]()
    s = states(robot, 0, 1)[0]
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
    G_p = ali.group(robot, s.C_1, s.V_1[0], s.joints).G_p
    assert np.array_equal(G_p, np.kron(printed, np.eye(6)))


def test_lemma_1_coriolis_matrix_is_admissible(model):
    """C nu = h, and M' - 2 C is skew-symmetric (eq. 8)."""
    for s in states(model, 0):
        C = ali.coriolis_matrix(model, s.C_1, s.V_1[0], s.joints)
        h = ali.equations_of_motion(model, s.C_1, s.V_1[0], s.joints).h
        close(C @ nu(s, 0), h)
        M_dot = along_motion(model, s, lambda *at: ali.equations_of_motion(model, *at).M_bar)
        skew = M_dot - 2 * C
        close(skew, -skew.T)
