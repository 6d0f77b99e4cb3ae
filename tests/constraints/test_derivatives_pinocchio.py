"""Derivatives of constrained dynamics and of impulses, against Pinocchio's."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import jounce as jc
from jounce.constraints.linearization import tangent_basis

sys.path.append(str(Path(__file__).parent.parent))
real_robots = pytest.importorskip("real_robots")
pin = pytest.importorskip("pinocchio")

STATES = 2
TALOS = "talos_data/robots/talos_full_v2.urdf"
ICUB = "icub_description/robots/icub_reduced.urdf"
ANYMAL = "anymal_b_simple_description/robots/anymal.urdf"
HYQ = "hyq_description/robots/hyq_no_sensors.urdf"
SOLO = "solo_description/robots/solo12.urdf"
SOLES = ("left_sole_link", "right_sole_link")


def held(*names):
    """To the world."""
    return [(name, None) for name in names]


CASES = {
    "Talos on two soles": (TALOS, True, held(*SOLES)),
    "Talos on two points": (TALOS, False, held(*SOLES)),
    "Talos with its feet tied": (TALOS, True, [SOLES]),
    "iCub on two soles": (ICUB, True, held("l_sole", "r_sole")),
    "iCub on a sole, with its hands tied": (ICUB, True, [("l_sole", None), ("l_hand", "r_hand")]),
    "iCub with its hands tied at a point": (ICUB, False, [("l_hand", "r_hand")]),
    "ANYmal on two points": (ANYMAL, False, held("LF_FOOT", "RH_FOOT")),
    "ANYmal with two feet tied": (ANYMAL, False, [("LF_FOOT", "RF_FOOT"), ("LH_FOOT", None)]),
    "HyQ on four points": (HYQ, False, held("lf_foot", "rf_foot", "lh_foot", "rh_foot")),
    "Solo on four points": (SOLO, False, held("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")),
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

    def solve_theirs(self, v, tau):
        """Dynamics at rates and forces of theirs."""
        state = self.s.pin, self.data, self.s.pin_q[self.k], v, tau, self.models, self.datas
        pin.constraintDynamics(*state, pin.ProximalSettings(1e-13, 0.0, 1))

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

    def forces(self, mine):
        """Along the axes of the first frames, moments first."""
        if self.six:
            return mine
        turns = [jc.body_pose(self.s.model, self.q, x.first)[:3, :3] for x in self.c.items]
        return np.concatenate([R.T @ x for R, x in zip(turns, mine.reshape(-1, 3), strict=True)])

    def their_forces(self):
        """The same of what they found last: on the robot, at the first frame."""
        forces = [data.contact_force for data in self.datas]
        parts = ([x.angular, x.linear] if self.six else [x.linear] for x in forces)
        return np.concatenate([y for x in parts for y in x])

    def close_derivatives(self, v, mine, theirs):
        """By q and v; where points are tied, along the manifold.

        Beside it, where the points are apart, they compare the velocities of both, we that of the
        first with the second body's where the first point is.
        """
        mine = [self.T @ x @ self.back for x in mine]
        if self.six or all(item.second is None for item in self.c.items):
            for x, y in zip(mine, theirs, strict=True):
                self.close(x, y)
            return
        Z = tangent_basis(self.c, self.q, v)
        Z = np.concatenate([self.T @ x for x in np.split(Z, 2)])
        self.close(np.hstack(mine) @ Z, np.hstack(theirs) @ Z)

    def close_loop_impulse(self, e):
        """`impulseDynamics` holds frames to the world only: their rows and mass matrix instead."""
        s, v = self.s, self.s.v[self.k]
        there = s.there.to_v(self.q, v)
        self.solve_theirs(there, 0 * there)  # which finds where the frames are
        pin.computeAllTerms(s.pin, self.data, s.pin_q[self.k], there)
        J = pin.getConstraintsJacobian(s.pin, self.data, self.models, self.datas)
        G = np.linalg.solve(real_robots.symmetric(self.data.M), J.T)
        after = there - G @ np.linalg.solve(J @ G, (1 + e) * (J @ there))
        self.close(s.there.to_v(self.q, jc.impulse(s.model, self.q, v, self.c, e).v), after)

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


def test_dynamics_and_their_derivatives(case):
    for both in case:
        s, c, q = both.s, both.c, both.q
        v = jc.project_velocity(s.model, q, s.v[both.k], c)
        tau = np.random.default_rng(0).standard_normal(s.model.nv)
        both.solve_theirs(s.there.to_v(q, v), s.there.to_tau(q, tau))
        found = jc.constrained_dynamics(s.model, q, v, tau, c)
        both.close(s.there.to_a(q, v, found.a), np.array(both.data.ddq))
        both.close(both.forces(found.force), both.their_forces())
        pin.computeConstraintDynamicsDerivatives(s.pin, both.data, both.models, both.datas)
        d = jc.constrained_dynamics_derivatives(s.model, q, v, tau, c)
        both.close_derivatives(v, (d.a_dq, d.a_dv), (both.data.ddq_dq, both.data.ddq_dv))
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
            both.close_loop_impulse(0.4)
            continue
        for e in (0.0, 0.4):
            settings = pin.ProximalSettings(1e-13, 0.0, 1)
            both.start()
            v = s.v[both.k]
            there = s.there.to_v(q, v)
            arguments = (s.pin, both.data, s.pin_q[both.k], there, both.models, both.datas)
            pin.impulseDynamics(*arguments, e, settings)
            found = jc.impulse(s.model, q, v, c, e)
            both.close(s.there.to_v(q, found.v), np.array(both.data.dq_after))
            both.close(both.forces(found.impulse), both.their_forces())
            pin.computeImpulseDynamicsDerivatives(
                s.pin, both.data, both.models, both.datas, e, settings
            )
            d = jc.impulse_derivatives(s.model, q, v, c, e)
            both.close(both.T @ d.v_dq @ both.back, both.data.ddq_dq)
            jump = both.data.ddq_dv + np.eye(s.model.nv)  # theirs is that of the jump
            both.close(both.T @ d.v_dv @ both.back, jump)
