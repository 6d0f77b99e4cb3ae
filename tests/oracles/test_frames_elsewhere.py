"""Moves on manifolds, centers of mass, wrenches through joints: Pinocchio and MuJoCo agree."""

from __future__ import annotations

import functools

import mjcf_models
import numpy as np
import pytest
import real_robots
from comparison import relative_error
from real_robots import ROBOTS, pin_forces

import jounce as jc

pin = pytest.importorskip("pinocchio")
pytest.importorskip("lxml")

STATES = 10
TOLERANCE = 1e-11
"""Relative to the largest entry of a state."""

NAMES = ("talos_full_v2", "panda", "tiago_dual", "hyq_no_sensors", "icub", "hector", "ur5_robot")
CASES = [
    pytest.param(str(path), base, id=f"{path.stem}-{base}")
    for path in ROBOTS
    if path.stem in NAMES
    for base in ("fixed", "free")
]
every_robot = pytest.mark.parametrize(("path", "base"), CASES)


@functools.cache
def setting(path, base):
    return real_robots.setting(path, base, STATES)


def rows(s, matrix):
    """Rows over our rates as rows over Pinocchio's: covectors, like forces."""
    return s.there.to_tau(s.q[:, None], matrix)


@every_robot
def test_moves_and_their_derivatives(path, base):
    """Away from half a turn, where Pinocchio's logarithm loses digits (ours: test_manifold)."""
    s = setting(path, base)
    q1 = jc.integrate(s.model, s.q, 0.5 * s.a)
    u, there = 0.7 * s.v, s.there.to_q(q1)
    pin_u = s.there.to_v(s.q, u)
    ours = jc.integrate_derivatives(s.model, s.q, u)
    for which, matrix in zip((pin.ARG0, pin.ARG1), ours, strict=True):
        pairs = zip(s.pin_q, pin_u, strict=True)
        theirs = [pin.dIntegrate(s.pin, q, x, which).copy() for q, x in pairs]
        assert relative_error(s.there.to_matrix(s.q, matrix), theirs) < TOLERANCE
    ours = jc.difference_derivatives(s.model, s.q, q1)
    for which, matrix in zip((pin.ARG0, pin.ARG1), ours, strict=True):
        pairs = zip(s.pin_q, there, strict=True)
        theirs = [pin.dDifference(s.pin, *pair, which).copy() for pair in pairs]
        assert relative_error(s.there.to_matrix(s.q, matrix), theirs) < TOLERANCE
    between = [pin.interpolate(s.pin, a, b, 0.3) for a, b in zip(s.pin_q, there, strict=True)]
    between = s.there.from_q(np.array(between).reshape(STATES, s.pin.nq))
    ours = jc.interpolate(s.model, s.q, q1, 0.3)
    poses = jc.body_poses(s.model, ours)
    assert relative_error(poses, jc.body_poses(s.model, between)) < TOLERANCE


@every_robot
def test_the_center_of_mass_and_the_momentum_about_it(path, base):
    s = setting(path, base)
    J, dv_dq, dh_dq, dh_dv = [], [], [], []
    for q, v, a in zip(s.pin_q, s.pin_v, s.pin_a, strict=True):
        J.append(pin.jacobianCenterOfMass(s.pin, s.data, q).copy())
        pin.computeForwardKinematicsDerivatives(s.pin, s.data, q, v, a)
        pin.centerOfMass(s.pin, s.data, q, v)
        dv_dq.append(pin.getCenterOfMassVelocityDerivatives(s.pin, s.data).copy())
        parts = pin.computeCentroidalDynamicsDerivatives(s.pin, s.data, q, v, a)
        dh_dq.append(parts[0].copy())
        dh_dv.append(parts[3].copy())
    if not s.model.nv:
        return
    assert relative_error(rows(s, jc.center_of_mass_jacobian(s.model, s.q)), J) < TOLERANCE
    d = jc.center_of_mass_derivatives(s.model, s.q, s.v)
    assert relative_error(rows(s, d.dq), dv_dq) < TOLERANCE
    d = jc.centroidal_momentum_derivatives(s.model, s.q, s.v)
    order = [3, 4, 5, 0, 1, 2]
    assert relative_error(rows(s, d.dv)[:, order], dh_dv) < TOLERANCE
    assert relative_error(rows(s, d.dq)[:, order], dh_dq) < TOLERANCE


@every_robot
def test_masses_and_centers_of_subtrees(path, base):
    s = setting(path, base)
    joints = [s.pin.getJointId(name) for name in s.model.joint_names]
    centers = jc.subtree_centers_of_mass(s.model, s.q)
    masses = jc.subtree_masses(s.model)
    for k, q in enumerate(s.pin_q):
        pin.centerOfMass(s.pin, s.data, q, True)
        pin.forwardKinematics(s.pin, s.data, q)
        for body, joint in enumerate(joints):
            if masses[body] > 0:
                com = s.data.oMi[joint].act(s.data.com[joint])
                np.testing.assert_allclose(centers[k, body], com, rtol=0, atol=TOLERANCE)
                assert np.isclose(masses[body], s.data.mass[joint], rtol=1e-13)


@every_robot
def test_wrenches_through_joints(path, base):
    s = setting(path, base)
    if not s.model.nv:
        return
    theirs = np.zeros((STATES, s.model.n_bodies, 6))
    for k, x in enumerate(zip(s.pin_q, s.pin_v, s.pin_a, strict=True)):
        pin.rnea(s.pin, s.data, *x, pin_forces(s, k))
        for body, name in enumerate(s.model.joint_names):
            f = s.data.f[s.pin.getJointId(name)]
            theirs[k, body] = [*f.angular, *f.linear]
    ours = jc.joint_wrenches(s.model, s.q, s.v, s.a, s.f_ext)
    assert relative_error(ours, theirs, s.torque) < TOLERANCE


@every_robot
def test_accelerations_by_rates_alone_and_wrenches_at_frames(path, base):
    s = setting(path, base)
    frame = s.pin.frames[s.pin.nframes - 1].name
    if frame not in s.model.frames or s.model.frame(frame).body < 0:
        return
    push = np.random.default_rng(0).standard_normal((STATES, 6))
    bias, on_body = np.zeros((STATES, 6)), np.zeros((STATES, 6))
    at = s.pin.getFrameId(frame)
    zero = s.there.to_a(s.q, s.v, np.zeros_like(s.v))
    for k, (q, v, a) in enumerate(zip(s.pin_q, s.pin_v, zero, strict=True)):
        pin.forwardKinematics(s.pin, s.data, q, v, a)
        pin.updateFramePlacements(s.pin, s.data)
        x = pin.getFrameAcceleration(s.pin, s.data, at, pin.LOCAL)
        bias[k] = [*x.angular, *x.linear]
        turn = s.data.oMf[at].rotation.T
        f = s.pin.frames[at].placement.act(pin.Force(turn @ push[k, 3:], turn @ push[k, :3]))
        on_body[k] = [*f.angular, *f.linear]
    assert relative_error(jc.bias_acceleration(s.model, s.q, s.v, frame), bias, 1.0) < TOLERANCE
    f_ext = jc.external_wrenches(s.model, s.q, {frame: push})
    body = s.model.frame(frame).body
    assert relative_error(f_ext[:, body], on_body) < TOLERANCE
    assert not np.delete(f_ext, body, axis=1).any()


mujoco = pytest.importorskip("mujoco")
OWN = ("TREE", "FOREST", "DRIVEN")


@functools.cache
def mujoco_setting(name):
    import test_mujoco

    return test_mujoco.setting(getattr(mjcf_models, name))


@pytest.mark.parametrize("name", OWN)
def test_mujocos_subtrees(name):
    """Fixed bodies are part of what carries them here, so only bodies with joints are compared."""
    import test_mujoco

    s = mujoco_setting(name)
    moving = [b for b in range(1, s.mj.nbody) if s.names[b] in s.model.body_names]
    assert len(moving) == s.model.n_bodies
    ours = [s.model.body_index(s.names[b]) for b in moving]

    def subtrees(data, _):
        J = np.zeros((len(moving), 3, s.mj.nv))
        for k, body in enumerate(moving):
            mujoco.mj_jacSubtreeCom(s.mj, data, J[k], body)
        return data.subtree_com[moving].copy(), J

    centers, J = test_mujoco.at_states(s, subtrees)
    got = jc.subtree_centers_of_mass(s.model, s.q)[:, ours]
    assert relative_error(got, centers, 1.0) < TOLERANCE
    np.testing.assert_allclose(
        jc.subtree_masses(s.model)[ours], s.mj.body_subtreemass[moving], rtol=1e-13
    )
    got = jc.center_of_mass_jacobian(s.model, s.q, ours)
    got = s.there.to_tau(s.q[:, None, None], got)
    assert relative_error(got, J) < TOLERANCE


@pytest.mark.parametrize("name", OWN)
def test_mujocos_interaction_forces(name):
    """In world axes, about the center of mass of the robot that the body belongs to."""
    import test_mujoco

    s = mujoco_setting(name)
    moving = [b for b in range(1, s.mj.nbody) if s.names[b] in s.model.body_names]
    ours = [s.model.body_index(s.names[b]) for b in moving]
    poses = jc.body_poses(s.model, s.q)[:, ours]

    def forces(data, k):
        data.qacc = s.qacc[k]
        mujoco.mj_rnePostConstraint(s.mj, data)
        about = data.subtree_com[s.mj.body_rootid[moving]]
        f = data.cfrc_int[moving].copy()
        R, p = poses[k, :, :3, :3], poses[k, :, :3, 3]
        moment = f[:, :3] - np.cross(p - about, f[:, 3:])
        both = np.concatenate([moment[:, None], f[:, None, 3:]], axis=1)
        return (np.concatenate(list(np.moveaxis(both @ R, 1, 0)), axis=-1),)

    (theirs,) = test_mujoco.at_states(s, forces)
    got = jc.joint_wrenches(s.model, s.q, s.v, s.a)[:, ours]
    assert relative_error(got, theirs) < TOLERANCE
