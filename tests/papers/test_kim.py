"""Kim 2012, item by item: against the core, and against complex steps through kim and ali."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce import inertia, lie
from jounce.papers import ali, kim

STATES = 20
TOLERANCE = 1e-11
STEP = 1e-30  # of complex steps: no difference is formed, so it can be this small

ONE_DOF = ("revolute", "prismatic", "helical")
CHAINS = (*ONE_DOF, "universal", "cylindrical", "planar")
MODELS = {
    "aerial_manipulator": lambda: jc.models.aerial_manipulator(),
    "aerial_manipulator_5_4": lambda: jc.models.aerial_manipulator(5, 4),
    "mixed_tree": lambda: jc.models.mixed_tree(1),
    "all_joints": lambda: jc.models.random_tree(11, 1),
    "floating_chains": lambda: jc.models.random_tree(7, 3, joints=CHAINS, first="free"),
    "fixed_chains": lambda: jc.models.random_tree(7, 4, joints=CHAINS),
}
KINDS = (
    "q",
    "q_dot",
    "q_ddot",
    "tau",
    "inertias",
    "F_ext",
    "placement",
    "alignment",
    "pitch",
    "armature",
    "gravity",
)


@pytest.fixture(params=MODELS, scope="module")
def model(request):
    return MODELS[request.param]()


def states(model, count=STATES, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        q = jc.random_configuration(model, rng)
        v, a, tau = rng.standard_normal((3, model.nv))
        yield q, v, a, tau, rng.standard_normal((model.n_bodies, 6)), rng


def close(got, expected, floor=0.0):
    """Agreement relative to the largest entry, or to `floor` where the result may vanish."""
    scale = max(np.max(np.abs(expected)), floor)
    assert np.max(np.abs(got - expected)) <= TOLERANCE * scale


def pick_joints(model, rng):
    """Random acceleration-prescribed joints, and the core's mask for them."""
    a = [i for i in range(len(model.joints)) if rng.uniform() < 0.5]
    mask = np.zeros(model.nv, bool)
    for i in a:
        mask[model.v_slice(i)] = True
    return a, mask


def random_parameter(model, rng, kinds=KINDS):
    """A scalar on which the named quantities depend, at random."""
    nv, m = model.nv, len(model.nodes.parent)
    shapes = {
        "inertias": (model.n_bodies, 10),
        "F_ext": (model.n_bodies, 6),
        "placement": (m, 6),
        "alignment": (m, 6),
        "pitch": (m,),
        "gravity": (3,),
    }
    return kim.parameter(
        model, **{kind: rng.standard_normal(shapes.get(kind, (nv,))) for kind in kinds}
    )


def moved(model, q, v, a, tau, f, p):
    """System and inputs at p + i STEP."""
    h, links = 1j * STEP, kim.system(model)
    q = q.astype(complex)
    for kind, x, rate in zip(links.kind, links.q_slice, links.v_slice, strict=True):
        if kind in ("spherical", "free"):
            start, rotation = q[x][:4], p.q[rate][:3]
            q[x.start : x.start + 4] = lie.quat_multiply(start, lie.quat_exp(h * rotation))
            if kind == "free":
                q[x.start + 4 : x.stop] += lie.quat_to_matrix(start) @ (h * p.q[rate][3:])
        else:
            q[x] += h * p.q[rate]
    helical = np.array([kind == "helical" for kind in links.kind])
    links = links._replace(
        I=links.I + h * p.I,
        placement=links.placement @ lie.exp(h * p.placement),
        alignment=lie.exp(h * p.alignment) @ links.alignment,
        pitch=links.pitch + h * p.pitch * helical,
        armature=links.armature + h * p.armature,
        V_0_dot=links.V_0_dot + h * p.V_0_dot,
    )
    return links, q, v + h * p.q_dot, a + h * p.q_ddot, tau + h * p.tau, f + h * p.F_ext


def derivative(values):
    return np.imag(values) / STEP


# Sec. 1: one body


def random_pose(rng):
    return lie.exp(rng.standard_normal(6))


def test_adjoint_and_coadjoint_keep_power():
    """Eq. 6, 7, 8, 11, 13: V_b = Ad(T_ba) V_a, F_b = Ad(T_ab)^T F_a."""
    rng = np.random.default_rng(0)
    for _ in range(STATES):
        T_ab, (V_a, F_a) = random_pose(rng), rng.standard_normal((2, 6))
        V_b = lie.Ad(lie.inverse(T_ab)) @ V_a
        close(lie.hat(V_b), np.linalg.inv(T_ab) @ lie.hat(V_a) @ T_ab)
        close((lie.Ad(T_ab).T @ F_a) @ V_b, F_a @ V_a)


def test_inertia_and_momentum_follow_the_frame():
    """Eq. 15, 20 to 24: energy is invariant; the parallel-axis theorem is a change of frame."""
    rng = np.random.default_rng(1)
    for _ in range(STATES):
        root, c, m = rng.standard_normal((3, 3)), rng.standard_normal(3), rng.uniform(0.1, 2)
        R = lie.exp(rng.standard_normal(3))
        I_c = root @ root.T
        at_com = inertia.matrix(inertia.from_com(m, np.zeros(3), I_c))
        T_ab = np.eye(4)  # of the body frame b in the center-of-mass frame a
        T_ab[:3, :3], T_ab[:3, 3] = R.T, -R.T @ c
        moved_inertia = lie.Ad(T_ab).T @ at_com @ lie.Ad(T_ab)  # (21)
        close(moved_inertia, inertia.matrix(inertia.from_com(m, c, R @ I_c @ R.T)))  # (22)
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
        world = derivative(lie.Ad(later) @ X_later)
        close(lie.Ad(lie.inverse(T)) @ world, X_dot + lie.ad(V) @ X)
        world = derivative(lie.Ad(lie.inverse(later)).T @ X_later)
        close(lie.Ad(T).T @ world, X_dot - lie.ad(V).T @ X)


def test_newton_euler_is_the_rate_of_momentum_in_any_frame():
    """Eq. 30, 31."""
    rng = np.random.default_rng(3)
    for parameters in jc.models.random_tree(STATES, 0).inertias:
        T, (V, V_dot) = random_pose(rng), rng.standard_normal((2, 6))
        body = inertia.matrix(parameters)
        F = kim.newton_euler(body, V, V_dot)
        later = T @ lie.exp(1j * STEP * V)
        world = derivative(lie.Ad(lie.inverse(later)).T @ (body @ (V + 1j * STEP * V_dot)))
        close(lie.Ad(T).T @ world, F)
        X = lie.Ad(T)  # the same equation in another body frame
        other = kim.newton_euler(X.T @ body @ X, np.linalg.solve(X, V), np.linalg.solve(X, V_dot))
        close(other, X.T @ F)


# Sec. 2: joints and Tables 2 to 4


def test_joint_jacobian_is_inverse_pose_times_its_derivative(model):
    """S_i = T^-1 dT/dq (Sec. 2.1), and its time derivative along the motion."""
    links = kim.system(model)
    for q, v, a, tau, f, _ in states(model, 5):
        later, q_later, v_later, *_ = moved(model, q, v, a, tau, f, kim.parameter(model, q=v))
        for i in range(len(links.parent)):
            T, S, S_dot = kim.joint(links, i, q, v)
            T_later, S_later, _ = kim.joint(later, i, q_later, v_later)
            h_dot = lie.vee(np.linalg.inv(T) @ derivative(T_later))
            close(S @ v[links.rates(i)], h_dot)
            close(S_dot, derivative(S_later), floor=1.0)


def test_compound_joints_have_a_varying_jacobian():
    """S'(q) != 0 for universal and planar joints, which is why eq. 40 keeps it."""
    for kind, varies in (("universal", True), ("planar", True), ("cylindrical", False)):
        model = jc.models.random_tree(1, 0, joints=(kind,))
        _, _, S_dot = kim.joint(kim.system(model), 0, np.full(model.nq, 0.3), np.ones(model.nv))
        assert (np.max(np.abs(S_dot)) > 0.1) == varies


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
    for q, v, a, tau, f, _ in states(model, 5):
        got = kim.hybrid_dynamics(model, q, v, a, tau, everything, f)
        close(got.tau, kim.inverse_dynamics(model, q, v, a, f).tau)
        there = kim.forward_dynamics(model, q, v, tau, f)
        close(kim.inverse_dynamics(model, q, v, there.q_ddot, f).F[:-1], there.F)


def test_wrench_equation_42_holds_in_every_joint(model):
    """F_i = I_hat V' + B_hat with Newton-Euler's F_i."""
    for q, v, a, tau, f, rng in states(model, 5):
        joints, _ = pick_joints(model, rng)
        got = kim.hybrid_dynamics(model, q, v, a, tau, joints, f)
        expected = kim.inverse_dynamics(model, q, v, got.q_ddot, f)
        close(got.F, expected.F[:-1])
        close(got.V_dot, expected.V_dot)


# Sec. 3: derivatives


def test_lemma_3_and_corollary_1_differentiate_the_adjoint():
    """Eq. 53, 59, 60."""
    rng = np.random.default_rng(4)
    for _ in range(STATES):
        T, h = random_pose(rng), rng.standard_normal(6)
        later = T @ lie.exp(1j * STEP * h)  # so that T^-1 dT/dp = h (eq. 61)
        dT = derivative(later)
        close(derivative(lie.Ad(later)), lie.ad(lie.vee(dT @ np.linalg.inv(T))) @ lie.Ad(T))
        X = lie.Ad(lie.inverse(T))
        dX = derivative(lie.Ad(lie.inverse(later)))
        close(dX, -lie.ad(h) @ X)
        close(dX.T, -X.T @ lie.ad(h).T)


def test_corollary_2_gives_columns_of_the_jacobian(model):
    """Eq. 62, 63: dh_i/dq_i^k is the k-th column of S_i; other joints' coordinates give zero."""
    links = kim.system(model)
    for q, v, *_ in states(model, 2):
        for k in range(model.nv):
            p = kim.parameter(model, q=np.eye(model.nv)[k])
            for i in range(len(links.parent)):
                dh, dS, dS_dot = kim.joint_derivative(links, i, q, v, p)
                rates = links.rates(i)
                if rates.start <= k < rates.stop:
                    close(dh, kim.joint(links, i, q, v)[1][:, k - rates.start])
                else:
                    assert not dh.any()
                    assert not dS.any()
                    assert not dS_dot.any()


@pytest.mark.parametrize("kind", KINDS)
def test_equation_64_by_complex_step(model, kind):
    """dh, dS and dS_dot of every joint, for every kind of p."""
    links = kim.system(model)
    for q, v, a, tau, f, rng in states(model, 2):
        p = random_parameter(model, rng, (kind,))
        later, q_later, v_later, *_ = moved(model, q, v, a, tau, f, p)
        for i in range(len(links.parent)):
            T, *_ = kim.joint(links, i, q, v)
            T_later, S_later, S_dot_later = kim.joint(later, i, q_later, v_later)
            got = kim.joint_derivative(links, i, q, v, p)
            dh = lie.vee(np.linalg.inv(T) @ derivative(T_later))
            for mine, expected in zip(
                got, (dh, derivative(S_later), derivative(S_dot_later)), strict=True
            ):
                close(mine, expected, floor=1.0)


@pytest.mark.parametrize("kinds", [*((k,) for k in KINDS), KINDS], ids=lambda k: "+".join(k))
def test_tables_5_6_and_7_are_the_complex_steps_of_tables_2_3_and_4(model, kinds):
    """All states for a scalar that moves everything at once, fewer for one thing at a time."""
    for q, v, a, tau, f, rng in states(model, STATES if kinds is KINDS else 1):
        p = random_parameter(model, rng, kinds)
        links, *x, a_later, tau_later, f_later = moved(model, q, v, a, tau, f, p)
        close(
            kim.inverse_dynamics_derivative(model, q, v, a, p, f),
            derivative(kim.inverse_dynamics(links, *x, a_later, f_later).tau),
            floor=1.0,
        )
        close(
            kim.forward_dynamics_derivative(model, q, v, tau, p, f),
            derivative(kim.forward_dynamics(links, *x, tau_later, f_later).q_ddot),
            floor=1.0,
        )
        joints, _ = pick_joints(model, rng)
        got = kim.hybrid_dynamics_derivative(model, q, v, a, tau, joints, p, f)
        expected = kim.hybrid_dynamics(links, *x, a_later, tau_later, joints, f_later)
        close(got[0], derivative(expected.q_ddot), floor=1.0)
        close(got[1], derivative(expected.tau), floor=1.0)


def through_ali(links, q, v, a, f, nodes_of_bodies):
    """Inverse dynamics of a kim.System by ali's Algorithms 1 and 2, in spatial coordinates."""
    floating = links.kind[0] == "free"
    dtype = np.result_type(links.placement, q)
    C_1, V_1 = np.eye(4, dtype=dtype), np.zeros((2, 6), dtype)
    if floating:
        C_1, S, _ = kim.joint(links, 0, q, v)
        V_1 = np.stack([lie.Ad(C_1) @ S @ v[:6], lie.Ad(C_1) @ S @ a[:6]])
    ground, first_q, first_v = (0, 7, 6) if floating else (1, 0, 0)
    X = [np.zeros(6)]
    for k in range(1 - ground, len(links.kind)):
        adjoint = lie.Ad(links.alignment[k])
        along = adjoint[:, 5]
        turns = links.kind[k] != "prismatic"
        X.append(adjoint[:, 2] + links.pitch[k] * along if turns else along)
    parents, M_b, W_b = [-1] * ground, [], []
    for i, steps in enumerate(links.steps):
        for k in steps:
            before = links.steps[links.parent[i]][-1] if links.parent[i] >= 0 else -1
            parents.append((k - 1 if k > steps[0] else before) + ground)
            M_b.append(links.I[i] if k == steps[-1] else np.zeros((6, 6)))
    M_b = np.concatenate([np.zeros((ground, 6, 6)), M_b])
    W_b = np.zeros((1, len(parents), 6), f.dtype)
    W_b[0, nodes_of_bodies + ground] = f
    eye = np.broadcast_to(np.eye(4), (ground, 4, 4))
    A, Y = ali.home(tuple(parents), np.concatenate([eye, links.placement]), np.array(X))
    armature = np.concatenate([np.zeros(1, dtype), links.armature[first_v:]])
    tree = ali.Tree(tuple(parents), A, Y, M_b, armature, -links.V_0_dot, floating)
    joints = np.stack([q[first_q:], v[first_v:], a[first_v:]])
    got = ali.inverse_dynamics(tree, C_1, V_1, joints, W_b)
    if not floating:
        return got.tau[0]
    return np.concatenate([S.T @ lie.Ad(C_1).T @ got.W_prop[0], got.tau[0]])


@pytest.mark.parametrize(
    "name", ["aerial_manipulator", "mixed_tree", "floating_chains", "fixed_chains"]
)
def test_table_5_is_the_complex_step_of_alis_recursion(name):
    """Every kind of p through another paper's formulation."""
    model = MODELS[name]()
    nodes_of_bodies = np.flatnonzero(model.nodes.body >= 0)
    floating = model.nodes.kind[0] == 4
    for q, v, a, tau, f, rng in states(model):
        for kinds in (("inertias",), ("placement", "alignment", "pitch"), KINDS):
            p = random_parameter(model, rng, kinds)
            if floating:  # ali has no rotors at the base
                p.armature[:6] = 0
            links, q_later, v_later, a_later, _, f_later = moved(model, q, v, a, tau, f, p)
            later = through_ali(links, q_later, v_later, a_later, f_later, nodes_of_bodies)
            close(kim.inverse_dynamics(model, q, v, a, f).tau, later.real)
            close(kim.inverse_dynamics_derivative(model, q, v, a, p, f), derivative(later))


def test_table_5_by_acceleration_is_the_cores_mass_matrix(model):
    """M times a random direction, in every state."""
    for q, v, a, x, f, _ in states(model):
        p = kim.parameter(model, q_ddot=x)
        got = kim.inverse_dynamics_derivative(model, q, v, a, p, f)
        close(got, jc.mass_matrix(model, q) @ x)


def test_table_6_by_force_is_the_cores_inverse_mass_matrix(model):
    """The inverse of M times a random direction, in every state."""
    for q, v, x, tau, f, _ in states(model):
        p = kim.parameter(model, tau=x)
        got = kim.forward_dynamics_derivative(model, q, v, tau, p, f)
        close(got, jc.inverse_mass_matrix(model, q) @ x)


@pytest.mark.filterwarnings("ignore::jounce.ModelWarning")
def test_table_5_by_inertia_gravity_and_armature_is_exact_in_the_core(model):
    """tau is linear in these, so the core's difference over a step of any size is exact."""
    for q, v, a, _, f, rng in states(model):
        tau = jc.inverse_dynamics(model, q, v, a, f)
        change = rng.uniform(0, 1, (model.n_bodies, 10))
        step = jc.inverse_dynamics(model.replace(inertias=model.inertias + change), q, v, a, f)
        p = kim.parameter(model, inertias=change)
        close(kim.inverse_dynamics_derivative(model, q, v, a, p, f), step - tau)
        g = rng.standard_normal(3)
        step = jc.inverse_dynamics(model.replace(gravity=model.gravity + g), q, v, a, f)
        p = kim.parameter(model, gravity=g)
        close(kim.inverse_dynamics_derivative(model, q, v, a, p, f), step - tau)
        rotors = rng.uniform(0, 1, model.nv)
        p = kim.parameter(model, armature=rotors)
        close(kim.inverse_dynamics_derivative(model, q, v, a, p, f), rotors * a)


def test_tables_6_and_7_follow_from_table_5_by_implicit_differentiation(model):
    """dq''/dp = M^-1 (dtau/dp - dID/dp), with the core's mass matrix."""
    for q, v, a, tau, f, rng in states(model, 5):
        p = random_parameter(model, rng)
        joints, known = pick_joints(model, rng)
        there = kim.hybrid_dynamics(model, q, v, a, tau, joints, f)
        M, free = jc.mass_matrix(model, q), ~known
        held = p._replace(q_ddot=np.where(known, p.q_ddot, 0))
        rest = kim.inverse_dynamics_derivative(model, q, v, there.q_ddot, held, f)
        expected = np.where(known, p.q_ddot, 0.0)
        expected[free] = np.linalg.solve(M[np.ix_(free, free)], (p.tau - rest)[free])
        da, dtau = kim.hybrid_dynamics_derivative(model, q, v, a, tau, joints, p, f)
        close(da, expected)
        close(dtau, np.where(known, rest + M @ np.where(free, da, 0), p.tau))


def test_tables_5_and_6_by_state_are_the_cores_partials(model):
    """The partials times a random direction, of coordinates and of rates in turn."""
    for i, (q, v, a, tau, f, rng) in enumerate(states(model)):
        name, field = (("q", "dq"), ("q_dot", "dv"))[i % 2]
        x = rng.standard_normal(model.nv)
        p = kim.parameter(model, **{name: x})
        inverse = jc.inverse_dynamics_derivatives(model, q, v, a, f)
        forward = jc.forward_dynamics_derivatives(model, q, v, tau, f)
        got = kim.inverse_dynamics_derivative(model, q, v, a, p, f)
        close(got, getattr(inverse, field) @ x)
        got = kim.forward_dynamics_derivative(model, q, v, tau, p, f)
        close(got, getattr(forward, field) @ x)


# Errata


def test_erratum_the_printed_jacobian_is_no_twist():
    """T^-1 dT^-1/dq, as printed, is not in se(3); with dT/dq it is."""
    model = jc.models.random_tree(1, 0, joints=("revolute",))
    links = kim.system(model)
    q, v = np.array([0.7]), np.array([1.0])
    later = kim.joint(links, 0, q + 1j * STEP, v)[0]
    T, S, _ = kim.joint(links, 0, q, v)
    printed = np.linalg.inv(T) @ derivative(lie.inverse(later))
    assert np.max(np.abs(printed[:3, :3] + printed[:3, :3].T)) > 0.1
    close(lie.vee(np.linalg.inv(T) @ derivative(later)), S[:, 0])
