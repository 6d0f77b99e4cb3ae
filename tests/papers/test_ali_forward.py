"""Ali et al. 2026, Algorithms 3 and 4."""

from __future__ import annotations

import numpy as np
import pytest
from ali_cases import MODELS, is_floating, states
from papers_cases import close, of_order, relative, robot

import jounce as jc
from jounce import lie, twists
from jounce.papers import ali


@pytest.fixture(params=MODELS)
def model(request):
    return robot(request.param)


# Algorithms 3 and 4


def base_wrench(model, result):
    """What Algorithm 3 takes: the base wrench, or None if the base is fixed."""
    return result.W_prop if is_floating(model) else None


def test_algorithm_3_order_0_is_the_cores_forward_dynamics(model):
    rng = np.random.default_rng(6)
    for s in states(model, 0):
        tau = rng.standard_normal(model.nv)
        W_prop, joint_tau = None, tau
        if is_floating(model):
            body = np.linalg.solve(model.nodes.screws[:, :6].T, tau[:6])
            W_prop = [lie.Ad(lie.inverse(s.C_1)).T @ body]
            joint_tau = tau[6:]
        x = ali.forward_dynamics(
            model, s.C_1, s.V_1[0], s.joints[:2], W_prop, joint_tau[None], s.W_b
        )
        got = ali.accelerations_to_jounce(model, s.C_1, np.vstack([s.V_1[:1], x.V_1]), x.q)
        close(got[0], jc.forward_dynamics(model, s.q, s.motion[0], tau, s.f[0]))


def to_spatial(model, C_1, forces, motion):
    """Derivatives of the base wrench, from jounce's forces of the base to the inertial frame."""
    screws = model.nodes.screws[:, :6]
    body, twist = np.linalg.solve(screws.T, forces.T).T, motion[:, :6] @ screws.T
    return twists.convert_wrench_series(body, twist, C_1, "body", "spatial")


def mild_forces(model, s):
    """Forces and derivatives that alone would give accelerations of order one; (r+1, nv).

    They balance the applied wrenches of their order, which on light bodies are large, and at order
    zero gravity and velocities. Without such a scale one order swamps the next.
    """
    loads = jc.bias_forces(model, s.q, 0 * s.motion[0], s.f) - jc.gravity_forces(model, s.q)
    tau = s.motion[1:] @ jc.mass_matrix(model, s.q) + loads
    tau[0] += jc.bias_forces(model, s.q, s.motion[0])
    return tau


def dense_forward(model, s, W_prop, tau):
    """Orders 0, 1, ... of (V_1', q''): M_bar times them is the force less Algorithm 2's rest."""
    n = 0 if is_floating(model) else 6  # a fixed base has no equations of its own
    V, q = s.V_1[:1], s.joints[:2]
    M = ali.equations_of_motion(model, s.C_1, V[0], q).M_bar[n:, n:]
    for k in range(len(tau)):
        V, q = np.vstack([V, np.zeros(6)]), np.vstack([q, np.zeros(q.shape[1])])
        rest = ali.inverse_dynamics(model, s.C_1, V, q, s.W_b)
        base = np.zeros(6) if n else W_prop[k] - rest.W_prop[k]
        given = np.concatenate([base, tau[k] - rest.tau[k]])
        solved = np.concatenate([np.zeros(n), np.linalg.solve(M, given[n:])])
        V[-1], q[-1] = solved[:6], solved[6:]
    return V[1:], q[2:]


def test_algorithm_3_solves_the_closed_form_at_every_order(model):
    """Recursive elimination against a dense solve of M_bar."""
    r, n_base = 8, 6 if is_floating(model) else 0
    for s in states(model, r):
        tau = mild_forces(model, s)
        W_prop = to_spatial(model, s.C_1, tau[:, :n_base], s.motion) if n_base else None
        x = ali.forward_dynamics(
            model, s.C_1, s.V_1[0], s.joints[:2], W_prop, tau[:, n_base:], s.W_b
        )
        V, q = dense_forward(model, s, W_prop, tau[:, n_base:])
        for k in range(r + 1):
            expected = np.concatenate([V[k], q[k]])
            close(np.concatenate([x.V_1[k], x.q[k]]), expected, of_order(k))


def test_algorithm_3_inverts_algorithm_2(model):
    """The forces of the motion that Algorithm 3 returns are those it was given, to order 5."""
    r = 5
    for s in states(model, r):
        given = ali.inverse_dynamics(model, *s.paper)
        x = ali.forward_dynamics(
            model, s.C_1, s.V_1[0], s.joints[:2], base_wrench(model, given), given.tau, s.W_b
        )
        V, q = np.vstack([s.V_1[:1], x.V_1]), np.vstack([s.joints[:2], x.q])
        back = ali.inverse_dynamics(model, s.C_1, V, q, s.W_b)
        for k in range(r + 1):
            close(back.W_prop[k], given.W_prop[k], of_order(k))
            close(back.tau[k], given.tau[k], of_order(k))


def test_lemma_2_articulated_inertia_is_the_leading_coefficient_at_every_order(model):
    """W_j^(k) = M_j^A V_j^(k+1) + W^A_{j,k} with Algorithm 2's wrenches, the same M^A for all k.

    Without a joint given, the base's is the inverse of its block of the core's inverse mass matrix.
    """
    r, tree = 3, ali.initialize(model)
    for s in states(model, r):
        given = ali.inverse_dynamics(model, *s.paper)
        x = ali.forward_dynamics(
            model, s.C_1, s.V_1[0], s.joints[:2], base_wrench(model, given), given.tau, s.W_b
        )
        V, q = np.vstack([s.V_1[:1], x.V_1]), np.vstack([s.joints[:2], x.q])
        wrenches = ali.inverse_dynamics(model, s.C_1, V, q, s.W_b).W
        for k in range(r + 1):
            close((x.M_A @ x.V[k][..., None])[..., 0] + x.W_A[k], wrenches[k], of_order(k))
        C, S, _ = ali.forward_kinematics(tree, s.C_1, s.V_1[:1], s.joints)
        M = ali.spatial_inertia(tree.M_b, C)
        M_A = ali.articulated_inertias(tree, M, S[0], np.zeros(len(M), bool)).M_A
        close(M_A, x.M_A)
        if tree.floating:
            X = lie.Ad(s.C_1) @ model.nodes.screws[:, :6]
            block = jc.inverse_mass_matrix(model, s.q)[:6, :6]
            close(np.linalg.inv(X.T @ M_A[0] @ X), block)


@pytest.mark.parametrize("base", ["force given", "motion given"])
def test_algorithm_4_order_0_is_the_cores_hybrid_dynamics(model, base):
    rng = np.random.default_rng(8)
    floating = is_floating(model)
    for s in states(model, 0):
        J_q = rng.uniform(size=s.joints.shape[1]) < 0.5
        first = [base == "motion given"] * 6 if floating else []
        mask = np.concatenate([np.array(first, bool), J_q])
        tau = rng.standard_normal(model.nv)
        a, tau_full = jc.hybrid_dynamics(model, s.q, s.motion[0], s.motion[1], tau, mask, s.f[0])
        W_prop, V_1_bar, joint_tau = None, None, tau[6:] if floating else tau
        if floating and base == "force given":
            body = np.linalg.solve(model.nodes.screws[:, :6].T, tau[:6])
            W_prop = [lie.Ad(lie.inverse(s.C_1)).T @ body]
        elif floating:
            V_1_bar = s.V_1[1:]
        x = ali.hybrid_dynamics(
            model, s.C_1, s.V_1[0], s.joints[:2], J_q, s.joints[2:], joint_tau[None],
            W_prop, V_1_bar, s.W_b,
        )  # fmt: skip
        V = np.vstack([s.V_1[:1], x.V_1])
        close(ali.accelerations_to_jounce(model, s.C_1, V, x.q)[0], a)
        close(ali.forces_to_jounce(model, s.C_1, V, x.W_prop, x.tau)[0], tau_full)


@pytest.mark.parametrize("base", ["force given", "motion given"])
def test_algorithm_4_splits_the_motion_of_algorithm_2(model, base):
    """Half of the accelerations and half of the forces of one motion give the rest, to order 5.

    External joint forces act as well. Each order multiplies the rounding of those before it, by how
    much, a last bit more in each force and acceleration tells.
    """
    r = 5
    rng = np.random.default_rng(9)
    for s in states(model, r):
        ext = rng.standard_normal((r + 1, s.joints.shape[1]))
        given = ali.inverse_dynamics(model, *s.paper, ext)
        J_q = rng.uniform(size=s.joints.shape[1]) < 0.5
        wrench = base_wrench(model, given) if base == "force given" else None
        motion = s.V_1[1:] if base == "motion given" else None
        x, nudged = (
            ali.hybrid_dynamics(
                model, s.C_1, s.V_1[0], s.joints[:2], J_q, np.where(J_q, more(s.joints[2:]), 7.0),
                np.where(J_q, 7.0, more(given.tau)), wrench, motion, s.W_b, ext,
            ) for more in (np.array, lambda x: np.nextafter(x, np.inf))
        )  # fmt: skip
        V, q = np.vstack([s.V_1[:1], x.V_1]), np.vstack([s.joints[:2], x.q])
        back = ali.inverse_dynamics(model, s.C_1, V, q, s.W_b, ext)
        for k in range(r + 1):
            close(back.tau[k], given.tau[k], of_order(k))
            for name in ("tau", "W_prop"):
                got, nearly, expected = (getattr(y, name)[k] for y in (x, nudged, given))
                slack = 100 * relative(nearly, got) if k and got.any() else 0.0
                close(got, expected, max(1e-12, slack))


def test_algorithm_4_wants_one_of_base_wrench_and_base_motion():
    model = robot("aerial_manipulator")
    s = states(model, 0)[0]
    none = np.zeros(6, bool), np.zeros((1, 6)), np.zeros((1, 6))
    with pytest.raises(ValueError, match="either W_prop or V_1_bar, got none"):
        ali.hybrid_dynamics(model, s.C_1, s.V_1[0], s.joints[:2], *none)
    with pytest.raises(ValueError, match="either W_prop or V_1_bar, got both"):
        ali.hybrid_dynamics(model, s.C_1, s.V_1[0], s.joints[:2], *none, s.V_1, s.V_1)


def test_models_that_the_paper_has_not_are_refused():
    with pytest.raises(ValueError, match="is spherical"):
        ali.initialize(jc.models.random_tree(2, 0, joints=("spherical",)))
    builder = jc.ModelBuilder().add_body("a", joint="free", mass=1.0)
    builder.add_body("b", joint="revolute", mass=1.0)
    with pytest.raises(ValueError, match="only body attached to the world"):
        ali.initialize(builder.build())
    rotors = jc.ModelBuilder().add_body("a", joint="free", mass=1.0, armature=0.1).build()
    with pytest.raises(ValueError, match="no armature"):
        ali.initialize(rotors)


@pytest.mark.parametrize("base", ["force given", "motion given"])
def test_algorithms_3_and_4_are_the_cores_forward_and_hybrid_series(model, base):
    """Algorithm 3 where no joint is prescribed and the base wrench is given."""
    r, n_base = 8, 6 if is_floating(model) else 0
    rng = np.random.default_rng(14)
    for i, s in enumerate(states(model, r)):
        J_q = rng.uniform(size=model.nv - n_base) < 0.5 * (i % 2)
        mask = np.concatenate([np.full(n_base, base == "motion given"), J_q])
        tau = mild_forces(model, s)
        acc, tau = jc.hybrid_dynamics_series(model, s.q, s.motion[0], s.motion[1:], tau, mask, s.f)
        if not mask.any():
            close(acc, jc.forward_dynamics_series(model, s.q, s.motion[0], tau, s.f))
        motion = np.vstack([s.motion[:1], acc])
        C, V, q, _ = ali.from_jounce(model, s.q, motion)
        wrench = None
        if n_base and base == "force given":
            wrench = to_spatial(model, C, tau[:, :6], motion)
        x = ali.hybrid_dynamics(
            model, C, V[0], q[:2], J_q, q[2:], tau[:, n_base:],
            wrench, None if wrench is not None else V[1:], s.W_b,
        )  # fmt: skip
        # compared as the paper returns them: inertial frame, base and joints together
        expected = np.hstack([V[1:], q[2:]])
        tau_paper = ali.forces_to_jounce(model, C, V, x.W_prop, x.tau)
        M = jc.mass_matrix(model, s.q)
        for k in range(r + 1):
            close(np.concatenate([x.V_1[k], x.q[k]]), expected[k], of_order(k))
            if mask.any():  # given forces only went from body to spatial coordinates and back
                terms = np.max(np.abs(M) @ np.abs(acc[k]))  # that forces are made of
                close(tau_paper[k][mask], tau[k][mask], of_order(k), terms)
