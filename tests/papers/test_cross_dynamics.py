"""Paper against paper against core: dynamics, one number computed by all that have it."""

from __future__ import annotations

import numpy as np
import pytest
from cross_cases import MODELS, agree, alg_4, case, prescribe

import jounce as jc
from jounce import lie
from jounce.papers import ali, bos, kim, mueller, singh


@pytest.fixture(params=MODELS)
def robot(request):
    return case(request.param)


def spatial_rates(model, s):
    """The matrix X of ali's nu = (V_1, q') = X v, and its time derivative."""
    X, X_dot = np.eye(model.nv), np.zeros((model.nv, model.nv))
    X[:6, :6] = lie.Ad(s.C_1) @ model.nodes.screws[:, :6]
    X_dot[:6, :6] = lie.ad(s.V_1[0]) @ X[:6, :6]
    return X, X_dot


def test_inverse_dynamics(robot):
    model, tree, T, states = robot
    system = kim.system(model)
    for s in states:
        x = ali.inverse_dynamics(tree, s.C_1, s.V_1[:2], s.joints[:3])
        four = {
            f"mueller, {twist}": mueller.inverse_dynamics(model, s.q, s.v, s.a, None, twist)
            for twist in mueller.TWISTS
        }
        agree(
            jc.inverse_dynamics(model, s.q, s.v, s.a),
            {
                "ali, Alg. 2": ali.forces_to_jounce(model, s.C_1, s.V_1, x.W_prop, x.tau)[0],
                "kim, Table 2": kim.inverse_dynamics(system, s.q, s.v, s.a).tau,
                "bos, Table 4": T.T @ bos.ID(model, s.state, T @ s.a),
                "singh, RNEA": singh.RNEA(model, s.q, s.v, s.a),
                "mueller, eq. 1": mueller.motion_equations(model, s.q, s.v, s.a),
                "mueller, eq. 78": mueller.euler_jourdain(model, s.q, s.v, s.a),
                "mueller, eq. 79": mueller.momentum_balance(model, s.q, s.v, s.a),
                **four,
            },
        )


def test_forward_dynamics(robot):
    model, tree, T, states = robot
    system = kim.system(model)
    for s in states:
        tau = s.tau[0]
        bar = np.linalg.solve(T.T, tau)
        body = np.linalg.solve(model.nodes.screws[:, :6].T, tau[:6])
        W_prop = [lie.Ad(lie.inverse(s.C_1)).T @ body]
        x = ali.forward_dynamics(tree, s.C_1, s.V_1[0], s.joints[:2], W_prop, tau[None, 6:])
        V = np.vstack([s.V_1[:1], x.V_1])
        agree(
            jc.forward_dynamics(model, s.q, s.v, tau),
            {
                "ali, Alg. 3": ali.accelerations_to_jounce(model, s.C_1, V, x.q)[0],
                "kim, Table 3": kim.forward_dynamics(system, s.q, s.v, tau).q_ddot,
                "bos, eq. 19": np.linalg.solve(T, bos.FD(model, s.state, bar[6:], bar[:6])),
                "singh, ABA": singh.ABA(model, s.q, s.v, tau),
            },
        )


def test_hybrid_dynamics(robot):
    """kim's Table 4 with the joints that ali's Algorithm 4 prescribes, base wrench given."""
    model, _, _, states = robot
    for s in states:
        prescribed, mask = prescribe(model, s)
        a, tau = jc.hybrid_dynamics(model, s.q, s.v, s.a, s.tau[0], mask)
        x = kim.hybrid_dynamics(model, s.q, s.v, s.a, s.tau[0], prescribed)
        a_ali, tau_ali = alg_4(robot, s, mask, a[None], tau[None])
        agree(a, {"kim, Table 4": x.q_ddot, "ali, Alg. 4": a_ali[0]})
        agree(tau, {"kim, Table 4": x.tau, "ali, Alg. 4": tau_ali[0]})


def test_mass_matrix_and_its_inverse(robot):
    model, tree, T, states = robot
    T_inv = np.linalg.inv(T)
    for s in states:
        X, _ = spatial_rates(model, s)
        M_bar = ali.equations_of_motion(tree, s.C_1, s.V_1[0], s.joints).M_bar
        three = {
            f"mueller, {twist}": mueller.mass_matrix(model, s.q, twist)
            for twist in ("body", "spatial", "hybrid")
        }
        M = jc.mass_matrix(model, s.q)
        agree(M, {"ali, eq. 5": X.T @ M_bar @ X, **three})
        inertial = singh.torque_terms(singh.first_pass(model, s.q, s.v, s.a))[0]
        agree(M @ s.a, {"singh, eq. 12": inertial + model.armature * s.a})
        agree(
            jc.inverse_mass_matrix(model, s.q),
            {
                "bos, Table 9": T_inv @ bos.IMMAmb(model, s.state.s) @ T_inv.T,
                "singh, AZA": singh.inverse_mass_matrix(model, s.q),
            },
        )


def test_bias_and_gravity_forces(robot):
    model, tree, T, states = robot
    zero = np.zeros(model.nv)
    for s in states:
        X, _ = spatial_rates(model, s)
        eom = ali.equations_of_motion(tree, s.C_1, s.V_1[0], s.joints)
        _, coriolis, gravity = singh.torque_terms(singh.first_pass(model, s.q, s.v, zero))
        C = mueller.coriolis_matrix(model, s.q, s.v)
        # M of ali acts on the derivative of nu = X v, of which X' v is a part
        turning = X.T @ eom.M_bar @ spatial_rates(model, s)[1] @ s.v
        agree(
            jc.bias_forces(model, s.q, s.v),
            {
                "ali, eq. 5": X.T @ (eom.h + eom.g) + turning,
                "kim, eq. 32": kim.inverse_dynamics(model, s.q, s.v, zero).tau,
                "bos, eq. 39": T.T @ bos.ID(model, s.state, zero),
                "singh, eq. 13, 14": coriolis + gravity,
                "mueller, eq. 84": C @ s.v + gravity,
            },
        )
        agree(
            jc.gravity_forces(model, s.q),
            {
                "ali, eq. 5": X.T @ eom.g,
                "singh, eq. 14": gravity,
                "mueller, eq. 77": mueller.euler_jourdain(model, s.q, zero, zero),
            },
        )


def test_coriolis_matrices(robot):
    """All give C v; dM/dt - 2 C is skew for ali's and the core's, not for mueller's eq. 84."""
    model, tree, _, states = robot
    for s in states:
        X, X_dot = spatial_rates(model, s)
        M_bar = ali.equations_of_motion(tree, s.C_1, s.V_1[0], s.joints).M_bar
        C_bar = ali.coriolis_matrix(tree, s.C_1, s.V_1[0], s.joints[:2])
        matrices = {
            "ali, Lemma 1": X.T @ (C_bar @ X + M_bar @ X_dot),
            "core": jc.coriolis_matrix(model, s.q, s.v),
            "mueller, eq. 84": mueller.coriolis_matrix(model, s.q, s.v),
            "mueller, eq. 86": mueller.christoffel_symbols(model, s.q) @ s.v,
        }
        quadratic = jc.bias_forces(model, s.q, s.v) - jc.gravity_forces(model, s.q)
        agree(quadratic, {name: C @ s.v for name, C in matrices.items()})
        M_dot = jc.mass_matrix_derivatives(model, s.q) @ s.v
        for name in ("ali, Lemma 1", "core"):
            agree(M_dot, {name: matrices[name] + matrices[name].T})
        C = matrices["mueller, eq. 84"]
        assert np.max(np.abs(M_dot - C - C.T)) > 1e-3 * np.max(np.abs(M_dot))
