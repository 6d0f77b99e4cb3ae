"""All robots of example-robot-data agree with Pinocchio, fixed and floating, 20 states each."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import real_robots
from comparison import RELATIVE, relative_error, scaled_condition
from real_robots import BASES, pin_forces, symmetric

import jounce as jc

pin = pytest.importorskip("pinocchio")
pytest.importorskip("lxml")

STATES = 20
EPS = np.finfo(float).eps


every_robot = pytest.mark.parametrize(("path", "base"), BASES)


@functools.cache
def setting(path, base):
    return real_robots.setting(path, base, STATES)


def mass_matrices(s):
    crba = [pin.crba(s.pin, s.data, q, pin.Convention.WORLD).copy() for q in s.pin_q]
    return symmetric(np.array(crba))


@every_robot
def test_torques(path, base):
    s = setting(path, base)
    states = list(zip(s.pin_q, s.pin_v, s.pin_a, strict=True))
    theirs = [pin.rnea(s.pin, s.data, *x).copy() for x in states]
    tau = jc.inverse_dynamics(s.model, s.q, s.v, s.a)
    assert relative_error(s.there.to_tau(s.q, tau), theirs, s.torque) < RELATIVE
    theirs = [pin.rnea(s.pin, s.data, *x, pin_forces(s, k)).copy() for k, x in enumerate(states)]
    tau = jc.inverse_dynamics(s.model, s.q, s.v, s.a, s.f_ext)
    assert relative_error(s.there.to_tau(s.q, tau), theirs, s.torque) < RELATIVE


@every_robot
def test_bias_and_gravity_forces(path, base):
    s = setting(path, base)
    states = zip(s.pin_q, s.pin_v, strict=True)
    theirs = [pin.nonLinearEffects(s.pin, s.data, *x).copy() for x in states]
    ours = s.there.to_tau(s.q, jc.bias_forces(s.model, s.q, s.v))
    assert relative_error(ours, theirs, s.torque) < RELATIVE
    theirs = [pin.computeGeneralizedGravity(s.pin, s.data, q).copy() for q in s.pin_q]
    ours = s.there.to_tau(s.q, jc.gravity_forces(s.model, s.q))
    assert relative_error(ours, theirs, s.torque) < RELATIVE


@every_robot
def test_mass_matrix_and_accelerations(path, base):
    """M, M^-1 and forward dynamics; a robot with massless leaves has no M^-1."""
    s = setting(path, base)
    theirs = mass_matrices(s)
    M = jc.mass_matrix(s.model, s.q)
    assert relative_error(s.there.to_matrix(s.q, M), theirs) < RELATIVE
    tau = jc.inverse_dynamics(s.model, s.q, s.v, s.a)
    if is_singular(theirs):
        with pytest.raises(jc.SingularError):
            jc.forward_dynamics(s.model, s.q, s.v, tau)
        with pytest.raises(jc.SingularError):
            jc.inverse_mass_matrix(s.model, s.q)
        return
    # Against 50 digits, Pinocchio errs by some hundred eps times the condition number (iCub, whose
    # condition is 1e7 to 4e10), jounce by less than 0.5: beyond 1e-9 this is Pinocchio's error.
    tolerance = max(RELATIVE, 2000 * EPS * scaled_condition(theirs)) if s.model.nv else RELATIVE
    pin_tau = s.there.to_tau(s.q, tau + s.a)
    states = list(zip(s.pin_q, s.pin_v, pin_tau, strict=True))
    for f_ext in (None, s.f_ext):
        force = [() if f_ext is None else (pin_forces(s, k),) for k in range(STATES)]
        aba = [pin.aba(s.pin, s.data, *x, *f).copy() for x, f in zip(states, force, strict=True)]
        ours = jc.forward_dynamics(s.model, s.q, s.v, tau + s.a, f_ext)
        assert relative_error(s.there.to_a(s.q, s.v, ours), aba) < tolerance
        residual = np.abs(jc.inverse_dynamics(s.model, s.q, s.v, ours, f_ext) - (tau + s.a))
        load = np.einsum("...ij,...j->...i", np.abs(M), np.abs(ours)) + np.abs(tau)
        assert (residual <= 16 * EPS * load.max(-1, keepdims=True, initial=0)).all()
    inverse = symmetric([pin.computeMinverse(s.pin, s.data, q).copy() for q in s.pin_q])
    ours = s.there.to_matrix(s.q, jc.inverse_mass_matrix(s.model, s.q))
    assert relative_error(ours, inverse) < tolerance


def is_singular(M):
    """Whether some joint moves nothing: rows of zeros, or eigenvalues at rounding error."""
    if M.shape[-1] == 0:
        return False
    if (np.einsum("...ii->...i", M) <= 0).any():
        return True
    return not 0 < scaled_condition(M) < 1 / (16 * EPS)


@every_robot
def test_energies_and_center_of_mass(path, base):
    s = setting(path, base)
    kinetic, potential, com = [], [], []
    for q, v in zip(s.pin_q, s.pin_v, strict=True):
        kinetic.append(pin.computeKineticEnergy(s.pin, s.data, q, v))
        potential.append(pin.computePotentialEnergy(s.pin, s.data, q))
        com.append(pin.centerOfMass(s.pin, s.data, q).copy())
    mass = jc.total_mass(s.model)
    assert relative_error(jc.kinetic_energy(s.model, s.q, s.v), kinetic) < RELATIVE
    potentials = jc.potential_energy(s.model, s.q)
    assert relative_error(potentials, potential, 1e-3 * mass) < RELATIVE
    if mass > 0:
        assert relative_error(jc.center_of_mass(s.model, s.q), com, 1e-3) < RELATIVE


@every_robot
def test_momentum(path, base):
    """Momentum about the world's origin and about the center of mass."""
    s = setting(path, base)
    if jc.total_mass(s.model) == 0:
        pytest.skip("a massless robot has no center of mass")
    spatial, centroidal = [], []
    for q, v in zip(s.pin_q, s.pin_v, strict=True):
        pin.computeCentroidalMomentum(s.pin, s.data, q, v)
        hg = s.data.hg
        about_com = np.concatenate([hg.angular, hg.linear])
        centroidal.append(about_com)
        shift = np.concatenate([np.cross(s.data.com[0], hg.linear), np.zeros(3)])
        spatial.append(about_com + shift)
    ours = jc.centroidal_momentum(s.model, s.q, s.v)
    assert relative_error(ours, centroidal) < RELATIVE
    assert relative_error(jc.momentum(s.model, s.q, s.v), spatial) < RELATIVE


REFERENCES = {
    "body": pin.ReferenceFrame.LOCAL,
    "spatial": pin.ReferenceFrame.WORLD,
    "hybrid": pin.ReferenceFrame.LOCAL_WORLD_ALIGNED,
}


def some_frames(s):
    """A few frames of both libraries: spread over the robot, merged links among them.

    Frames fixed to the world are left out: their Jacobian is zero, but Pinocchio reads past the
    joints' indices for them and returns noise or crashes.
    """
    moving = [n for n, frame in s.model.frames.items() if frame.body >= 0]
    shared = [n for n in moving if s.pin.existFrame(n, pin.FrameType.BODY)]
    merged = [n for n in shared if n not in s.model.body_names]
    bodies = [n for n in shared if n in s.model.body_names]
    return {*bodies[-1:], *bodies[len(bodies) // 2 :][:1], *merged[-1:]}


@every_robot
def test_frames(path, base):
    """Poses, Jacobians and their time derivatives in three representations."""
    s = setting(path, base)
    frames = some_frames(s)
    assert frames or s.model.nv == 0
    q, v = s.q, s.v
    poses = {name: [] for name in frames}
    columns = {(name, twist): ([], []) for name in frames for twist in REFERENCES}
    for pin_q, pin_v in zip(s.pin_q, s.pin_v, strict=True):
        pin.computeJointJacobiansTimeVariation(s.pin, s.data, pin_q, pin_v)
        pin.updateFramePlacements(s.pin, s.data)
        for name in frames:
            at = s.pin.getFrameId(name, pin.FrameType.BODY)
            poses[name].append(s.data.oMf[at].homogeneous.copy())
            for twist, reference in REFERENCES.items():
                J = pin.getFrameJacobian(s.pin, s.data, at, reference)
                dJ = pin.getFrameJacobianTimeVariation(s.pin, s.data, at, reference)
                columns[name, twist][0].append(J[[3, 4, 5, 0, 1, 2]])
                columns[name, twist][1].append(dJ[[3, 4, 5, 0, 1, 2]])
    for name in frames:
        assert relative_error(jc.body_pose(s.model, q, name), poses[name]) < RELATIVE
        for twist in REFERENCES:
            J, dJ = columns[name, twist]
            ours = s.there.to_v(q[:, None], jc.jacobian(s.model, q, name, twist))
            assert relative_error(ours, J) < RELATIVE
            ours = s.there.to_v(q[:, None], jc.jacobian_rate(s.model, q, v, name, twist))
            assert relative_error(ours, dJ, 1.0) < RELATIVE


@every_robot
def test_accelerations_of_frames(path, base):
    """Pinocchio's are spatial accelerations; its classical ones are those of the frame's origin."""
    s = setting(path, base)
    frames = some_frames(s)
    order = [3, 4, 5, 0, 1, 2]
    theirs = {(name, twist): [] for name in frames for twist in REFERENCES}
    for state in zip(s.pin_q, s.pin_v, s.pin_a, strict=True):
        pin.forwardKinematics(s.pin, s.data, *state)
        pin.updateFramePlacements(s.pin, s.data)
        for name, twist in theirs:
            at = s.pin.getFrameId(name, pin.FrameType.BODY)
            classical = twist == "hybrid"
            get = pin.getFrameClassicalAcceleration if classical else pin.getFrameAcceleration
            x = get(s.pin, s.data, at, REFERENCES[twist])
            theirs[name, twist].append(x.vector[order])
    for (name, twist), expected in theirs.items():
        ours = jc.body_acceleration(s.model, s.q, s.v, s.a, name, twist)
        assert relative_error(ours, expected, 1.0) < RELATIVE
