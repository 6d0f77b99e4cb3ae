"""Paper against paper against core: partial derivatives, computed by all that have them."""

from __future__ import annotations

import numpy as np
import pytest
from cross_cases import MODELS, agree, case, prescribe

import jounce as jc
from jounce.papers import bos, kim, mueller, singh


@pytest.fixture(params=MODELS)
def robot(request):
    return case(request.param)


def test_partials_of_inverse_dynamics(robot):
    model, _, T, states = robot
    system = kim.system(model)
    for s in states:
        core = jc.inverse_dynamics_derivatives(model, s.q, s.v, s.a)
        nudot = T @ s.a
        e = bos.extended(model, s.state, nudot[:6], nudot[6:])
        five, six = np.hstack([bos.dID_dH(e), bos.dID_ds(e)]), [bos.dID_dv(e), bos.dID_dr(e)]
        x, y = singh.IDSVA(model, s.q, s.v, s.a), mueller.linearized_equations(model, s.q, s.v, s.a)
        z = singh.RNEACR(model, s.q, s.v, s.a)
        dq = {"bos, Tables 5, 6": T.T @ five @ T, "singh, IDSVA": x.dq, "singh, RNEACR": z.dq}
        dv = {"bos, Tables 7, 8": T.T @ np.hstack(six) @ T, "singh, IDSVA": x.dqd}
        agree(core.dq, {**dq, "mueller, Sec. 6.1": y.dq})
        agree(core.dv, {**dv, "singh, RNEACR": z.dqd, "mueller, Sec. 6.1": y.dv})
        p = kim.parameter(model, q=s.direction[0], q_dot=s.direction[1])
        along = core.dq @ s.direction[0] + core.dv @ s.direction[1]
        agree(
            along,
            {"kim, Table 5": kim.inverse_dynamics_derivative(system, s.q, s.v, s.a, p)},
        )


def test_partials_of_forward_dynamics(robot):
    model, _, T, states = robot
    system = kim.system(model)
    for s in states:
        tau = s.tau[0]
        core = jc.forward_dynamics_derivatives(model, s.q, s.v, tau)
        bar = np.linalg.solve(T.T, tau)
        x = singh.FDSVA(model, s.q, s.v, tau)
        d = bos.dFD(model, s.state, bar[6:], bar[:6])
        dq, dv = (np.linalg.solve(T, np.hstack(pair) @ T) for pair in ((d.H, d.s), (d.v, d.r)))
        agree(core.dq, {"bos, eq. 53": dq, "singh, FDSVA": x.dq})
        agree(core.dv, {"bos, eq. 53": dv, "singh, FDSVA": x.dqd})
        agree(core.dtau, {"singh, FDSVA": x.dtau})
        p = kim.parameter(model, q=s.direction[0], q_dot=s.direction[1])
        along = core.dq @ s.direction[0] + core.dv @ s.direction[1]
        agree(along, {"kim, Table 6": kim.forward_dynamics_derivative(system, s.q, s.v, tau, p)})


def test_partials_of_hybrid_dynamics(robot):
    model, _, _, states = robot
    system = kim.system(model)
    for s in states:
        prescribed, mask = prescribe(model, s)
        core = jc.hybrid_dynamics_derivatives(model, s.q, s.v, s.a, s.tau[0], mask)
        p = kim.parameter(model, q=s.direction[0], q_dot=s.direction[1])
        x = kim.hybrid_dynamics_derivative(system, s.q, s.v, s.a, s.tau[0], prescribed, p)
        for found, dq, dv in ((x[0], core.a_dq, core.a_dv), (x[1], core.tau_dq, core.tau_dv)):
            agree(dq @ s.direction[0] + dv @ s.direction[1], {"kim, Table 7": found})


def test_parts_of_the_partials_of_inverse_dynamics(robot):
    """singh's three terms: M' a, and the core's partials at rest and without acceleration."""
    model, _, _, states = robot
    zero = np.zeros(model.nv)
    for s in states:
        g = singh.first_pass(model, s.q, s.v, s.a)
        dM = jc.mass_matrix_derivatives(model, s.q)
        agree(dM, {"mueller, before eq. 86": mueller.mass_matrix_partials(model, s.q)})
        agree(np.einsum("ijk,j->ik", dM, s.a), {"singh, eq. 25": singh.mass_dq(g)})
        still = jc.inverse_dynamics_derivatives(model, s.q, zero, zero).dq
        moving = jc.inverse_dynamics_derivatives(model, s.q, s.v, zero).dq
        agree(still, {"singh, eq. 29": singh.gravity_dq(g)})
        agree(moving - still, {"singh, eq. 26": singh.coriolis_dq(g)}, floor=np.max(np.abs(still)))
        energy = jc.kinetic_energy_derivatives(model, s.q, s.v)
        agree(energy.dq, {"mueller": mueller.kinetic_energy_gradient(model, s.q, s.v)})
        agree(energy.dv, {"mueller": mueller.conjugate_momentum(model, s.q, s.v)})


def test_linearization(robot):
    """A and B of bos, carried to jounce's rates, are those of the core."""
    model, _, T, states = robot
    T2 = np.kron(np.eye(2), T)
    for s in states:
        bar = np.linalg.solve(T.T, s.tau[0])
        core = jc.linearize(model, s.q, s.v, s.tau[0])
        A = bos.A(model, s.state, bar[6:], bar[:6])
        agree(core.A, {"bos, eq. 42": np.linalg.solve(T2, A @ T2)})
        B = np.linalg.solve(T2, bos.B(model, s.state.s))
        agree(core.B[:, -(model.nv - 6) :], {"bos, eq. 31": B})


@pytest.mark.parametrize("twist", mueller.TWISTS)
def test_jacobian_partials(robot, twist):
    """Orders 1 and 2; the derivative along the motion is the core's Jacobian rate."""
    model, _, _, states = robot
    body = model.n_bodies - 1
    for s in states:
        for order in (1, 2):
            found = mueller.jacobian_partials(model, s.q, body, order, twist)
            agree(jc.jacobian_derivatives(model, s.q, body, order, twist), {"mueller": found})
        rate = mueller.jacobian_partials(model, s.q, body, 1, twist) @ s.v
        agree(jc.jacobian_rate(model, s.q, s.v, body, twist), {"mueller": rate})


def test_christoffel_symbols(robot):
    """mueller's are symmetric in j and k; those of the core hold the base's structure constants."""
    model, _, _, states = robot
    for s in states:
        core = jc.christoffel_symbols(model, s.q)
        symmetric = (core + core.transpose(0, 2, 1)) / 2
        found = {
            "mueller, eq. 86": mueller.christoffel_symbols(model, s.q),
            "mueller, eq. 87": mueller.christoffel_binet(model, s.q),
        }
        agree(symmetric, found)
        joints = np.s_[6:, 6:, 6:]
        defined = mueller.christoffel_from_mass_matrix(model, s.q)[joints]
        agree(core[joints], {"mueller, eq. 85": defined}, floor=np.max(np.abs(core)))
