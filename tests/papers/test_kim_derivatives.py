"""Kim 2012, Sec. 3: derivatives by any scalar p.

Against the core where it has them, and against complex steps: through kim's own tables, through
ali's spatial recursion and through mueller's closed forms.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from kim_cases import (
    GEOMETRY,
    INERTIA,
    KINDS,
    MODELS,
    REQUIRED,
    at_step,
    pick_joints,
    random_parameter,
    states,
)
from papers_cases import STATES, STEP, close, imaginary, random_pose, robot

import jounce as jc
from jounce import lie
from jounce.papers import ali, kim, mueller


def named(x):
    """Name of a robot, or of kinds of p."""
    return x if isinstance(x, str) else "all" if x == KINDS else "+".join(x)


@pytest.fixture(params=MODELS)
def model(request):
    return robot(request.param)


def test_lemma_3_and_corollary_1_differentiate_the_adjoint():
    """Eq. 53, 59, 60."""
    rng = np.random.default_rng(4)
    for _ in range(STATES):
        T, h = random_pose(rng), rng.standard_normal(6)
        later = T @ lie.exp(1j * STEP * h)  # so that T^-1 dT/dp = h (eq. 61)
        dT = imaginary(later)
        close(imaginary(lie.Ad(later)), lie.ad(lie.vee(dT @ np.linalg.inv(T))) @ lie.Ad(T))
        X = lie.Ad(lie.inverse(T))
        dX = imaginary(lie.Ad(lie.inverse(later)))
        close(dX, -lie.ad(h) @ X)
        close(dX.T, -X.T @ lie.ad(h).T)


def test_corollary_2_gives_columns_of_the_jacobian(model):
    """Eq. 62, 63: dh_i/dq_i^k is the k-th column of S_i; other joints' coordinates give zero."""
    links = kim.system(model)
    units = [kim.parameter(model, q=e) for e in np.eye(model.nv)]
    for q, v, *_ in states(model):
        for i in range(len(links.parent)):
            own = range(model.nv)[links.rates(i)]
            dh = [kim.joint_derivative(links, i, q, v, units[k])[0] for k in own]
            close(np.stack(dh, axis=-1), kim.joint(links, i, q, v)[1])
            others = kim.parameter(model, q=np.where(np.isin(range(model.nv), own), 0, v))
            assert not any(x.any() for x in kim.joint_derivative(links, i, q, v, others))


@pytest.mark.parametrize("kind", ["q", "q_dot", *GEOMETRY])
@pytest.mark.parametrize("name", REQUIRED)
def test_equation_64_by_complex_step(name, kind):
    """dh, dS and dS_dot of every joint, for every kind of p that a joint depends on."""
    model = robot(name)
    links = kim.system(model)
    for q, v, a, tau, f, rng in states(model):
        p = random_parameter(model, rng, (kind,))
        later, q_later, v_later, *_ = at_step(model, q, v, a, tau, f, p)
        for i in range(len(links.parent)):
            T, *_ = kim.joint(links, i, q, v)
            T_later, S_later, S_dot_later = kim.joint(later, i, q_later, v_later)
            dh, dS, dS_dot = kim.joint_derivative(links, i, q, v, p)
            close(dh, lie.vee(np.linalg.inv(T) @ imaginary(T_later)), floor=1.0)
            close(dS, imaginary(S_later), floor=1.0)
            close(dS_dot, imaginary(S_dot_later), floor=1.0)


def test_velocity_derivatives_by_complex_step(model):
    """The forward recursion that Tables 5, 6 and 7 begin with."""
    links = kim.system(model)
    for q, v, a, tau, f, rng in states(model):
        p = random_parameter(model, rng)
        x = kim.velocities(links, q, v)
        d = kim.velocity_derivatives(links, x, q, v, p)
        later, q_later, v_later, *_ = at_step(model, q, v, a, tau, f, p)
        expected = kim.velocities(later, q_later, v_later)
        close(d.dV, imaginary(expected.V))
        close(d.deta, imaginary(expected.eta))


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        *((name, KINDS) for name in MODELS),
        *((name, (kind,)) for name in REQUIRED for kind in KINDS),
    ],
    ids=named,
)
def test_tables_5_6_and_7_are_the_complex_steps_of_tables_2_3_and_4(name, kinds):
    """One thing at a time, and a scalar that moves everything at once."""
    model = robot(name)
    links = kim.system(model)
    for q, v, a, tau, f, rng in states(model):
        p = random_parameter(model, rng, kinds)
        later, *x, a_later, tau_later, f_later = at_step(model, q, v, a, tau, f, p)
        close(
            kim.inverse_dynamics_derivative(links, q, v, a, p, f),
            imaginary(kim.inverse_dynamics(later, *x, a_later, f_later).tau),
            floor=1.0,
        )
        close(
            kim.forward_dynamics_derivative(links, q, v, tau, p, f),
            imaginary(kim.forward_dynamics(later, *x, tau_later, f_later).q_ddot),
            floor=1.0,
        )
        joints, _ = pick_joints(model, rng)
        da, dtau = kim.hybrid_dynamics_derivative(links, q, v, a, tau, joints, p, f)
        expected = kim.hybrid_dynamics(later, *x, a_later, tau_later, joints, f_later)
        close(da, imaginary(expected.q_ddot), floor=1.0)
        close(dtau, imaginary(expected.tau), floor=1.0)


# Complex steps through other papers


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
    model = robot(name)
    links, nodes_of_bodies = kim.system(model), np.flatnonzero(model.nodes.body >= 0)
    for q, v, a, tau, f, rng in states(model):
        for kinds in (INERTIA, GEOMETRY, KINDS):
            p = random_parameter(model, rng, kinds)
            if links.kind[0] == "free":  # ali has no rotors at the base
                p.armature[:6] = 0
            moved, q_later, v_later, a_later, _, f_later = at_step(model, q, v, a, tau, f, p)
            later = through_ali(moved, q_later, v_later, a_later, f_later, nodes_of_bodies)
            close(kim.inverse_dynamics(links, q, v, a, f).tau, later.real)
            close(kim.inverse_dynamics_derivative(links, q, v, a, p, f), imaginary(later))


def in_mueller(model, links):
    """A kim.System, its numbers complex, as the model that mueller's formulas read."""
    axes = {"revolute": [2], "prismatic": [5], "helical": [2], "spherical": [0, 1, 2]}
    screws = []
    for kind, pose, pitch in zip(links.kind, links.alignment, links.pitch, strict=True):
        adjoint = lie.Ad(pose)
        screws.append(adjoint[:, axes.get(kind, range(6))] + pitch * adjoint[:, 5:])
    rows, columns = [3, 2, 0, 1, 0, 0, 1, 0, 1, 2], [3, 4, 5, 3, 0, 1, 1, 2, 2, 2]
    parameters = np.zeros(model.nodes.parameters.shape, links.I.dtype)
    parameters[[steps[-1] for steps in links.steps]] = links.I[:, rows, columns]
    nodes = model.nodes._replace(
        placement=links.placement,
        alignment=links.alignment,
        parameters=parameters,
        screws=np.hstack(screws),
    )
    gravity = -links.V_0_dot[3:]
    return SimpleNamespace(nodes=nodes, nv=model.nv, gravity=gravity, armature=links.armature)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        *((name, KINDS) for name in MODELS),
        *((name, kinds) for name in REQUIRED for kinds in (INERTIA, GEOMETRY)),
    ],
    ids=named,
)
def test_tables_5_6_and_7_are_the_complex_steps_of_muellers_equations(name, kinds):
    """All joint types. Forward and hybrid dynamics follow by implicit differentiation:

    M dq'' = dtau - dID at constant q'', in the joints whose force is given.
    """
    model = robot(name)
    links = kim.system(model)
    for q, v, a, tau, f, rng in states(model):
        p = random_parameter(model, rng, kinds)

        def by_p(a, slope, q=q, v=v, tau=tau, f=f, p=p):
            p = p._replace(q_ddot=slope)
            moved, *x, _, f_later = at_step(model, q, v, a, tau, f, p)
            return imaginary(mueller.inverse_dynamics(in_mueller(model, moved), *x, f_later))

        close(kim.inverse_dynamics_derivative(links, q, v, a, p, f), by_p(a, p.q_ddot))
        for joints, known in (([], np.zeros(model.nv, bool)), pick_joints(model, rng)):
            M, there = (
                mueller.mass_matrix(model, q),
                jc.hybrid_dynamics(model, q, v, a, tau, known, f),
            )
            rest = by_p(there[0], np.where(known, p.q_ddot, 0.0))
            expected = np.where(known, p.q_ddot, 0.0)
            free = np.ix_(~known, ~known)
            expected[~known] = np.linalg.solve(M[free], (p.tau - rest)[~known])
            if known.any():
                da, dtau = kim.hybrid_dynamics_derivative(links, q, v, a, tau, joints, p, f)
                found = rest + M @ np.where(known, 0.0, da)
                close(dtau, np.where(known, found, p.tau))
            else:
                da = kim.forward_dynamics_derivative(links, q, v, tau, p, f)
            close(da, expected)


# The core


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


def test_tables_5_6_and_7_by_state_are_the_cores_partials(model):
    """The partials times a random direction, of coordinates and of rates."""
    links = kim.system(model)
    for q, v, a, tau, f, rng in states(model):
        joints, known = pick_joints(model, rng)
        inverse = jc.inverse_dynamics_derivatives(model, q, v, a, f)
        forward = jc.forward_dynamics_derivatives(model, q, v, tau, f)
        hybrid = jc.hybrid_dynamics_derivatives(model, q, v, a, tau, known, f)
        x, y = rng.standard_normal((2, model.nv))
        for dq, dv in ((x, 0 * y), (0 * x, y)):
            p = kim.parameter(model, q=dq, q_dot=dv)
            got = kim.inverse_dynamics_derivative(links, q, v, a, p, f)
            close(got, inverse.dq @ dq + inverse.dv @ dv)
            got = kim.forward_dynamics_derivative(links, q, v, tau, p, f)
            close(got, forward.dq @ dq + forward.dv @ dv)
            da, dtau = kim.hybrid_dynamics_derivative(links, q, v, a, tau, joints, p, f)
            close(da, hybrid.a_dq @ dq + hybrid.a_dv @ dv)
            close(dtau, hybrid.tau_dq @ dq + hybrid.tau_dv @ dv)
