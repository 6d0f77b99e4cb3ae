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
    batch,
    pick_joints,
    random_parameter,
    stacked,
    states,
)
from papers_cases import STATES, STEP, close, close_each, imaginary, random_pose, robot

import jounce as jc
from jounce import lie
from jounce.papers import ali, kim, mueller
from jounce.papers.joints import apply
from jounce.papers.kim.chain import screws


def named(x):
    """Name of a robot, or of kinds of p."""
    return x if isinstance(x, str) else "all" if x == KINDS else "+".join(x)


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


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


def test_corollary_2_gives_columns_of_the_jacobian(name):
    """Eq. 62, 63: dh_i/dq_i^k is the k-th column of S_i; other joints' coordinates give zero."""
    model, x = robot(name), batch(name)
    links = kim.system(model)
    for i in range(len(links.parent)):
        own = range(model.nv)[links.rates(i)]
        units = [kim.parameter(model, q=e) for e in np.eye(model.nv)[own]]
        dh = [kim.joint_sensitivity(links, i, x.q, x.v, unit)[0] for unit in units]
        S = kim.joint(links, i, x.q, x.v)[1]
        close(*np.broadcast_arrays(np.stack(np.broadcast_arrays(*dh), axis=-1), S))
        others = kim.parameter(model, q=np.where(np.isin(range(model.nv), own), 0, x.v))
        assert not any(y.any() for y in kim.joint_sensitivity(links, i, x.q, x.v, others))


@pytest.mark.parametrize("kind", ["q", "q_dot", *GEOMETRY])
@pytest.mark.parametrize("name", REQUIRED)
def test_equation_64_by_complex_step(name, kind):
    """dh, dS and dS_dot of every joint, for every kind of p that a joint depends on."""
    model, x = robot(name), batch(name, (kind,))
    links = kim.system(model)
    later, q_later, v_later, *_ = at_step(model, *x)
    for i in range(len(links.parent)):
        T, *_ = kim.joint(links, i, x.q, x.v)
        T_later, S_later, S_dot_later = kim.joint(later, i, q_later, v_later)
        dh = lie.vee(np.linalg.inv(T) @ imaginary(T_later))
        expected = dh, imaginary(S_later), imaginary(S_dot_later)
        found = kim.joint_sensitivity(links, i, x.q, x.v, x.p)
        for got, stepped in zip(found, expected, strict=True):
            close_each(*np.broadcast_arrays(got, stepped), floor=1.0)


def test_velocity_derivatives_by_complex_step(name):
    """The forward recursion that Tables 5, 6 and 7 begin with."""
    model, x = robot(name), batch(name)
    links = kim.system(model)
    d = kim.velocity_derivatives(links, kim.velocities(links, x.q, x.v), x.q, x.v, x.p)
    later, q_later, v_later, *_ = at_step(model, *x)
    expected = kim.velocities(later, q_later, v_later)
    close_each(np.moveaxis(d.dV, 1, 0), np.moveaxis(imaginary(expected.V), 1, 0))
    close_each(np.moveaxis(d.deta, 1, 0), np.moveaxis(imaginary(expected.eta), 1, 0))


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
    links, x = kim.system(model), batch(name, kinds)
    later, *state, a, tau, f = at_step(model, *x)
    close_each(
        kim.inverse_dynamics_sensitivity(links, x.q, x.v, x.a, x.p, x.f),
        imaginary(kim.inverse_dynamics(later, *state, a, f).tau),
        floor=1.0,
    )
    close_each(
        kim.forward_dynamics_sensitivity(links, x.q, x.v, x.tau, x.p, x.f),
        imaginary(kim.forward_dynamics(later, *state, tau, f).q_ddot),
        floor=1.0,
    )
    rng = np.random.default_rng(len(kinds[0]))
    for joints, _ in (pick_joints(model, rng) for _ in range(4)):
        da, dtau = kim.hybrid_dynamics_sensitivity(links, *x[:4], joints, x.p, x.f)
        expected = kim.hybrid_dynamics(later, *state, a, tau, joints, f)
        close_each(da, imaginary(expected.q_ddot), floor=1.0)
        close_each(dtau, imaginary(expected.tau), floor=1.0)


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
    X = [np.zeros(6), *(screws(links, k)[:, 0] for k in range(1 - ground, len(links.kind)))]
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
    for kinds in (INERTIA, GEOMETRY, KINDS):
        x, drawn = batch(name, kinds), []
        for *state, rng in states(model):
            p = random_parameter(model, rng, kinds)
            if links.kind[0] == "free":  # ali has no rotors at the base
                p.armature[:6] = 0
            moved, q, v, a, _, f = at_step(model, *state, p)
            drawn.append((p, through_ali(moved, q, v, a, f, nodes_of_bodies)))
        p, later = zip(*drawn, strict=True)
        close_each(kim.inverse_dynamics(links, x.q, x.v, x.a, x.f).tau, np.real(later))
        found = kim.inverse_dynamics_sensitivity(links, x.q, x.v, x.a, stacked(p), x.f)
        close_each(found, imaginary(later))


def in_mueller(model, links):
    """A kim.System, its numbers complex, as the model that mueller's formulas read."""
    rows, columns = [3, 2, 0, 1, 0, 0, 1, 0, 1, 2], [3, 4, 5, 3, 0, 1, 1, 2, 2, 2]
    parameters = np.zeros(model.nodes.parameters.shape, links.I.dtype)
    parameters[[steps[-1] for steps in links.steps]] = links.I[:, rows, columns]
    nodes = model.nodes._replace(
        placement=links.placement,
        alignment=links.alignment,
        parameters=parameters,
        screws=np.hstack([screws(links, k) for k in range(len(links.kind))]),
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
    links, x = kim.system(model), batch(name, kinds)
    drawn = [(state, random_parameter(model, rng, kinds)) for *state, rng in states(model)]

    def by_p(acceleration, slope):
        rows = []
        for (state, p), a, da in zip(drawn, acceleration, slope, strict=True):
            q, v, _, tau, f = state
            moved, *later, _, f = at_step(model, q, v, a, tau, f, p._replace(q_ddot=da))
            rows.append(imaginary(mueller.inverse_dynamics(in_mueller(model, moved), *later, f)))
        return np.stack(rows)

    found = kim.inverse_dynamics_sensitivity(links, x.q, x.v, x.a, x.p, x.f)
    close_each(found, by_p(x.a, x.p.q_ddot))
    M = np.stack([mueller.mass_matrix(model, q) for q in x.q])
    for joints, known in (
        ([], np.zeros(model.nv, bool)),
        pick_joints(model, np.random.default_rng(1)),
    ):
        a, _ = jc.hybrid_dynamics(model, *x[:4], known, x.by_state)
        expected = np.where(known, x.p.q_ddot, 0.0)
        rest = by_p(a, expected)
        free = (x.p.tau - rest)[:, ~known, None]
        expected[:, ~known] = np.linalg.solve(M[:, ~known][:, :, ~known], free)[..., 0]
        if known.any():
            da, dtau = kim.hybrid_dynamics_sensitivity(links, *x[:4], joints, x.p, x.f)
            forces = rest + apply(M, np.where(known, 0.0, da))
            close_each(dtau, np.where(known, forces, x.p.tau))
        else:
            da = kim.forward_dynamics_sensitivity(links, x.q, x.v, x.tau, x.p, x.f)
        close_each(da, expected)


# The core


def test_tables_5_and_6_by_acceleration_and_force_are_the_cores_mass_matrix(name):
    """M times a random direction, and its inverse times one, in every state."""
    model, x = robot(name), batch(name)
    p = kim.parameter(model, q_ddot=x.tau)
    got = kim.inverse_dynamics_sensitivity(model, x.q, x.v, x.a, p, x.f)
    close_each(got, apply(jc.mass_matrix(model, x.q), x.tau))
    p = kim.parameter(model, tau=x.a)
    got = kim.forward_dynamics_sensitivity(model, x.q, x.v, x.tau, p, x.f)
    close_each(got, apply(jc.inverse_mass_matrix(model, x.q), x.a))


@pytest.mark.filterwarnings("ignore::jounce.ModelWarning")
def test_table_5_by_inertia_gravity_and_armature_is_exact_in_the_core(name):
    """tau is linear in these, so the core's difference over a step of any size is exact."""
    model, x, rng = robot(name), batch(name), np.random.default_rng(0)
    tau = jc.inverse_dynamics(model, x.q, x.v, x.a, x.by_state)
    inertias = rng.uniform(0, 1, (model.n_bodies, 10))
    gravity, rotors = rng.standard_normal(3), rng.uniform(0, 1, model.nv)
    for change, later in (
        ({"inertias": inertias}, model.replace(inertias=model.inertias + inertias)),
        ({"gravity": gravity}, model.replace(gravity=model.gravity + gravity)),
        ({"armature": rotors}, model.replace(armature=model.armature + rotors)),
    ):
        p = kim.parameter(model, **change)
        got = kim.inverse_dynamics_sensitivity(model, x.q, x.v, x.a, p, x.f)
        step = jc.inverse_dynamics(later, x.q, x.v, x.a, x.by_state)
        close_each(got, step - tau, floor=np.abs(tau).max())


def test_tables_5_6_and_7_by_state_are_the_cores_partials(name):
    """The partials times a random direction, of coordinates and of rates."""
    model, x, rng = robot(name), batch(name), np.random.default_rng(0)
    links, (dq, dv) = kim.system(model), rng.standard_normal((2, STATES, model.nv))
    joints, known = pick_joints(model, rng)
    inverse = jc.inverse_dynamics_derivatives(model, x.q, x.v, x.a, x.by_state)
    forward = jc.forward_dynamics_derivatives(model, x.q, x.v, x.tau, x.by_state)
    hybrid = jc.hybrid_dynamics_derivatives(model, *x[:4], known, x.by_state)
    for kind, along, by in (("q", dq, "dq"), ("q_dot", dv, "dv")):
        p = kim.parameter(model, **{kind: along})
        tau = kim.inverse_dynamics_sensitivity(links, x.q, x.v, x.a, p, x.f)
        close_each(tau, apply(getattr(inverse, by), along))
        a = kim.forward_dynamics_sensitivity(links, x.q, x.v, x.tau, p, x.f)
        close_each(a, apply(getattr(forward, by), along))
        a, tau = kim.hybrid_dynamics_sensitivity(links, *x[:4], joints, p, x.f)
        close_each(a, apply(getattr(hybrid, f"a_{by}"), along))
        close_each(tau, apply(getattr(hybrid, f"tau_{by}"), along))
