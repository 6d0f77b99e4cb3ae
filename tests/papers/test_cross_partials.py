"""Paper against paper against core: partial derivatives, computed by all that have them."""

from __future__ import annotations

import numpy as np
import pytest
from cross_cases import MODELS, agree, case

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
            {"kim, Table 5": kim.inverse_dynamics_sensitivity(system, s.q, s.v, s.a, p)},
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
        agree(along, {"kim, Table 6": kim.forward_dynamics_sensitivity(system, s.q, s.v, tau, p)})


def test_parts_of_the_partials_of_inverse_dynamics(robot):
    """singh's three terms: M' a, and the core's partials at rest and without acceleration."""
    model, _, _, states = robot
    zero = np.zeros(model.nv)
    for s in states:
        g = singh.first_pass(model, s.q, s.v, s.a)
        dM = jc.mass_matrix_derivatives(model, s.q)
        agree(dM, {"mueller, before eq. 86": mueller.mass_matrix_derivatives(model, s.q)})
        agree(np.einsum("ijk,j->ik", dM, s.a), {"singh, eq. 25": singh.mass_dq(g)})
        still = jc.inverse_dynamics_derivatives(model, s.q, zero, zero).dq
        moving = jc.inverse_dynamics_derivatives(model, s.q, s.v, zero).dq
        agree(still, {"singh, eq. 29": singh.gravity_dq(g)})
        agree(moving - still, {"singh, eq. 26": singh.coriolis_dq(g)}, floor=np.max(np.abs(still)))
        energy = jc.kinetic_energy_derivatives(model, s.q, s.v)
        agree(energy.dq, {"mueller": mueller.kinetic_energy_gradient(model, s.q, s.v)})
        agree(energy.dv, {"mueller": mueller.conjugate_momentum(model, s.q, s.v)})
