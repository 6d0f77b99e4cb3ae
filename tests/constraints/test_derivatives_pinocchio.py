"""Derivatives of constrained dynamics and of impulses, against Pinocchio's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import jounce as jc

sys.path.append(str(Path(__file__).parent.parent))
real_robots = pytest.importorskip("real_robots")
pin = pytest.importorskip("pinocchio")

STATES = 2
CASES = {
    "Talos on two soles": (
        "talos_data/robots/talos_full_v2.urdf",
        True,
        [("left_sole_link", None), ("right_sole_link", None)],
    ),
    "Talos on two points": (
        "talos_data/robots/talos_full_v2.urdf",
        False,
        [("left_sole_link", None), ("right_sole_link", None)],
    ),
    "Talos with its feet tied": (
        "talos_data/robots/talos_full_v2.urdf",
        True,
        [("left_sole_link", "right_sole_link")],
    ),
    "HyQ on four points": (
        "hyq_description/robots/hyq_no_sensors.urdf",
        False,
        [(name, None) for name in ("lf_foot", "rf_foot", "lh_foot", "rh_foot")],
    ),
}


class Both:
    """A robot under constraints in both libraries, at one state."""

    def __init__(self, s, six, pairs, k):
        self.s, self.six, self.k = s, six, k
        kind = jc.Weld if six else jc.Point
        self.c = jc.Constraints(s.model, [kind(*pair) for pair in pairs])
        self.q = s.q[k]
        self.data = s.pin.createData()
        pin.forwardKinematics(s.pin, self.data, s.pin_q[k])
        self.models = pin.StdVec_RigidConstraintModel()
        self.models.extend([self.contact(*pair) for pair in pairs])
        self.start()
        # coordinates of their tangent space from ours
        self.T = np.array([s.there.to_v(self.q, e) for e in np.eye(s.model.nv)]).T
        self.back = np.linalg.inv(self.T)
        self.cond = np.linalg.cond(self.c.inverse_inertia(self.q))

    def start(self):
        """Fresh memory of theirs: what a call leaves there enters the next one."""
        self.data = self.s.pin.createData()
        self.datas = pin.StdVec_RigidConstraintData()
        self.datas.extend([m.createData() for m in self.models])
        pin.initConstraintDynamics(self.s.pin, self.data, self.models, self.datas)

    def contact(self, first, second):
        """Between two frames the second one is put where the first is."""
        s, axes = self.s, pin.ReferenceFrame.LOCAL
        kind = pin.ContactType.CONTACT_6D if self.six else pin.ContactType.CONTACT_3D
        a = s.pin.frames[s.pin.getFrameId(first)]
        if second is None:
            return pin.RigidConstraintModel(kind, s.pin, a.parentJoint, a.placement, axes)
        b = s.pin.frames[s.pin.getFrameId(second)].parentJoint
        place = self.data.oMi[b].inverse() * self.data.oMi[a.parentJoint] * a.placement
        return pin.RigidConstraintModel(kind, s.pin, a.parentJoint, a.placement, b, place, axes)

    def close(self, mine, theirs):
        """Assert that they are equal, by the conditioning of the rows."""
        error = np.abs(mine - theirs).max() / np.abs(theirs).max()
        assert error < 1e-13 * max(self.cond, 10.0), error


@pytest.fixture(scope="module", params=CASES)
def case(request):
    file, six, pairs = CASES[request.param]
    path = real_robots.DIRECTORY / file
    if not path.exists():
        pytest.skip(f"{file} is not installed")
    s = real_robots.setting(path, "free", STATES)
    return [Both(s, six, pairs, k) for k in range(STATES)]


def test_derivatives_of_dynamics(case):
    for both in case:
        s, c, q = both.s, both.c, both.q
        v = jc.project_velocity(s.model, q, s.v[both.k], c)
        tau = np.random.default_rng(0).standard_normal(s.model.nv)
        pin.constraintDynamics(
            s.pin,
            both.data,
            s.pin_q[both.k],
            s.there.to_v(q, v),
            s.there.to_tau(q, tau),
            both.models,
            both.datas,
            pin.ProximalSettings(1e-13, 0.0, 1),
        )
        pin.computeConstraintDynamicsDerivatives(s.pin, both.data, both.models, both.datas)
        d = jc.constrained_dynamics_derivatives(s.model, q, v, tau, c)
        both.close(both.T @ d.a_dq @ both.back, both.data.ddq_dq)
        both.close(both.T @ d.a_dv @ both.back, both.data.ddq_dv)
        both.close(both.T @ d.a_dtau @ both.T.T, both.data.ddq_dtau)
        if not both.six:
            continue  # their point forces are along the axes of the foot
        turned = (len(both.models), 2, 3, s.model.nv)  # theirs is (force, moment)
        for mine, theirs in (
            (d.force_dq, both.data.dlambda_dq),
            (d.force_dv, both.data.dlambda_dv),
        ):
            flipped = mine.reshape(turned)[:, ::-1].reshape(mine.shape)
            both.close(flipped @ both.back, theirs)


def test_impulses_and_their_derivatives(case):
    for both in case:
        s, c, q = both.s, both.c, both.q
        if any(item.second is not None for item in c.items):
            pytest.skip("Pinocchio's impulses hold frames to the world only")
        for e in (0.0, 0.4):
            settings = pin.ProximalSettings(1e-13, 0.0, 1)
            both.start()
            v = s.v[both.k]
            there = s.there.to_v(q, v)
            arguments = (s.pin, both.data, s.pin_q[both.k], there, both.models, both.datas)
            pin.impulseDynamics(*arguments, e, settings)
            found = jc.impulse(s.model, q, v, c, e)
            both.close(s.there.to_v(q, found.v), np.array(both.data.dq_after))
            pin.computeImpulseDynamicsDerivatives(
                s.pin, both.data, both.models, both.datas, e, settings
            )
            d = jc.impulse_derivatives(s.model, q, v, c, e)
            both.close(both.T @ d.v_dq @ both.back, both.data.ddq_dq)
            jump = both.data.ddq_dv + np.eye(s.model.nv)  # theirs is that of the jump
            both.close(both.T @ d.v_dv @ both.back, jump)
