"""Paper against paper against core: time derivatives, computed by all that have them."""

from __future__ import annotations

import numpy as np
import pytest
from cross_cases import MODELS, ORDER, agree, case
from papers_cases import of_order

import jounce as jc
from jounce.papers import ali, mueller


@pytest.fixture(params=MODELS)
def robot(request):
    return case(request.param)


def test_series_of_kinematics(robot):
    """Poses, twists and screws of ali, second Jacobian rates of mueller."""
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
        rate2 = mueller.hybrid_jacobian_rate2(model, s.q, s.v, s.a)[nodes[body]]
        hybrid = jc.jacobian_series(model, s.q, s.motion[:3], body, "hybrid")
        agree(hybrid[2], {"mueller, eq. 30": rate2})
