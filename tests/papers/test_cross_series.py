"""Paper against paper against core: time derivatives, computed by all that have them."""

from __future__ import annotations

import numpy as np
import pytest
from cross_cases import MODELS, ORDER, agree, alg_4, case
from papers_cases import of_order

import jounce as jc
from jounce.papers import ali, mueller


@pytest.fixture(params=MODELS)
def robot(request):
    return case(request.param)


def test_series_of_inverse_dynamics(robot):
    model, tree, _, states = robot
    for s in states:
        x = ali.inverse_dynamics(tree, s.C_1, s.V_1, s.joints)
        found = {
            "ali, Alg. 2": ali.forces_to_jounce(model, s.C_1, s.V_1, x.W_prop, x.tau),
            "mueller, Sec. 6.3": mueller.inverse_dynamics_series(model, s.q, s.motion),
        }
        core = jc.inverse_dynamics_series(model, s.q, s.motion)
        for k in range(ORDER + 1):
            agree(core[k], {name: series[k] for name, series in found.items()}, of_order(k))


@pytest.mark.parametrize("algorithm", ["Alg. 3", "Alg. 4"])
def test_series_of_forward_and_hybrid_dynamics(robot, algorithm):
    model, _, _, states = robot
    for s in states:
        mask = np.concatenate([np.zeros(6, bool), s.given & (algorithm == "Alg. 4")])
        if mask.any():
            acc, tau = jc.hybrid_dynamics_series(model, s.q, s.v, s.motion[1:], s.tau, mask)
        else:
            acc, tau = jc.forward_dynamics_series(model, s.q, s.v, s.tau), s.tau
        a_paper, tau_paper = alg_4(robot, s, mask, acc, tau)
        M = jc.mass_matrix(model, s.q)
        for k in range(ORDER + 1):
            agree(acc[k], {f"ali, {algorithm}": a_paper[k]}, of_order(k))
            if mask.any():  # given forces only went from body to spatial coordinates and back
                terms = np.max(np.abs(M) @ np.abs(acc[k]))  # that forces are made of
                agree(tau[k][mask], {"ali, Alg. 4": tau_paper[k][mask]}, of_order(k), terms)


def test_series_of_kinematics(robot):
    """Poses, twists and screws of ali, jerks and second Jacobian rates of mueller."""
    model, tree, _, states = robot
    nodes = mueller.nodes_of_bodies(model)
    body = model.n_bodies - 1
    column = np.flatnonzero(mueller.is_inward(model)[nodes[body]])[1:]
    for s in states:
        x = ali.forward_kinematics(tree, s.C_1, s.V_1, s.joints)
        V, C = x.V[:, nodes[body]], x.C[nodes[body]]
        twist = jc.body_motion_series(model, s.q, s.motion, body, "spatial")
        pose = jc.body_pose_series(model, s.q, s.motion, body)
        spatial = jc.jacobian_series(model, s.q, s.motion, body, "spatial")
        found = ali.pose_derivatives(C, V)
        for k in range(ORDER + 1):
            agree(twist[k], {"ali, Alg. 1": V[k]}, of_order(k))
            agree(pose[k], {"ali, Remark 1": found[k]}, of_order(k))
            columns = spatial[k][:, model.nodes.v_index[column]].T
            agree(columns, {"ali, Alg. 1": x.S[k, column]}, of_order(k), np.max(np.abs(spatial[k])))
        for name in mueller.TWISTS:
            jerk = mueller.jerks(model, s.q, s.v, s.a, s.motion[2], name)[nodes[body]]
            expected = jc.body_motion_series(model, s.q, s.motion[:3], body, name)[2]
            agree(expected, {f"mueller, {name}": jerk})
        rate2 = mueller.hybrid_jacobian_rate2(model, s.q, s.v, s.a)[nodes[body]]
        hybrid = jc.jacobian_series(model, s.q, s.motion[:3], body, "hybrid")
        agree(hybrid[2], {"mueller, eq. 30": rate2})
