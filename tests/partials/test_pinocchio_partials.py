"""Derivatives agree with Pinocchio on all robots of example-robot-data, fixed and floating."""

from __future__ import annotations

import numpy as np
import pytest
import real_robots
from partials_oracle import relative
from real_robots import MOVING, pin_forces, symmetric

import jounce as jc

pin = pytest.importorskip("pinocchio")
pytest.importorskip("lxml")

STATES = 3
AGREE = 1e-8
EPS = np.finfo(float).eps
LINEAR_LAST = [3, 4, 5, 0, 1, 2]


def check_inverse_dynamics(s):
    ours = jc.inverse_dynamics_derivatives(s.model, s.q, s.v, s.a, s.f_ext)
    scale = 1e-3 * max(1.0, jc.total_mass(s.model))  # of partials that vanish
    theirs = []
    for k in range(STATES):
        pin.computeRNEADerivatives(
            s.pin, s.data, s.pin_q[k], s.pin_v[k], s.pin_a[k], pin_forces(s, k)
        )
        theirs.append((s.data.dtau_dq.copy(), s.data.dtau_dv.copy(), symmetric(s.data.M)))
    for x, y in zip(ours, zip(*theirs, strict=True), strict=True):
        assert relative(s.there.to_matrix(s.q, x), np.array(y), scale) < AGREE


def condition(M):
    """Condition number after scaling the diagonal to one; infinite for singular matrices."""
    d = np.sqrt(np.einsum("...ii->...i", M))
    if not (d > 0).all():
        return np.inf
    eigenvalues = np.linalg.eigvalsh(M / d[..., :, None] / d[..., None, :])
    return (eigenvalues[..., -1] / np.maximum(eigenvalues[..., 0], EPS * EPS)).max(initial=1)


def check_forward_dynamics(s):
    M = jc.mass_matrix(s.model, s.q)
    tau = jc.inverse_dynamics(s.model, s.q, s.v, s.a, s.f_ext)
    if condition(M) > 1 / (16 * EPS):
        with pytest.raises(jc.SingularError):
            jc.forward_dynamics_derivatives(s.model, s.q, s.v, tau, s.f_ext)
        return
    ours = jc.forward_dynamics_derivatives(s.model, s.q, s.v, tau, s.f_ext)
    pin_tau = s.there.to_tau(s.q, tau)
    theirs = []
    for k in range(STATES):
        pin.computeABADerivatives(
            s.pin, s.data, s.pin_q[k], s.pin_v[k], pin_tau[k], pin_forces(s, k)
        )
        theirs.append((s.data.ddq_dq.copy(), s.data.ddq_dv.copy(), symmetric(s.data.Minv)))
    # On iCub Pinocchio errs by 5e-8 and jounce by 7e-11 (against 40 digits): its accelerations
    # have up to 42 eps times the condition number, and the derivatives inherit that.
    tolerance = max(AGREE, 1000 * EPS * condition(M))
    for x, y in zip(ours, zip(*theirs, strict=True), strict=True):
        assert relative(s.there.to_matrix(s.q, x), np.array(y), 1.0) < tolerance


def check_centroidal_momentum(s):
    """Against ccrba and dccrba.

    Pinocchio's computeCentroidalMapTimeVariation leaves the motion of the center of mass out of
    the angular rows of dAg: its product with v is right, but it is not the derivative of Ag.
    """
    if jc.total_mass(s.model) == 0:
        return
    A = jc.centroidal_momentum_matrix(s.model, s.q)
    ours = A, A, jc.centroidal_momentum_matrix_rate(s.model, s.q, s.v)
    theirs = []
    for q, v in zip(s.pin_q, s.pin_v, strict=True):
        first = pin.ccrba(s.pin, s.data, q, v)[LINEAR_LAST]
        pin.dccrba(s.pin, s.data, q, v)
        theirs.append((first, s.data.Ag[LINEAR_LAST], s.data.dAg[LINEAR_LAST]))
    for x, y in zip(ours, zip(*theirs, strict=True), strict=True):
        scale = 1e-6 * max(1.0, jc.total_mass(s.model))
        assert relative(s.there.to_v(s.q[:, None], x), np.array(y), scale) < AGREE


def check_coriolis_matrix(s):
    """Both are admissible, but for multi-DoF joints not the same: compare what they do to v."""
    C = jc.coriolis_matrix(s.model, s.q, s.v)
    theirs = [
        pin.computeCoriolisMatrix(s.pin, s.data, q, v) @ v
        for q, v in zip(s.pin_q, s.pin_v, strict=True)
    ]
    ours = s.there.to_tau(s.q, (C @ s.v[..., None])[..., 0])
    scale = 1e-6 * max(1.0, jc.total_mass(s.model))
    assert relative(ours, np.array(theirs), scale) < AGREE


def check_kinematics(s):
    """Derivatives of the last body's twist and acceleration in body axes."""
    body = s.model.n_bodies - 1
    joint = s.pin.getJointId(s.model.joint_names[body])
    local = pin.ReferenceFrame.LOCAL
    theirs = []
    for state in zip(s.pin_q, s.pin_v, s.pin_a, strict=True):
        pin.computeForwardKinematicsDerivatives(s.pin, s.data, *state)
        dv_dq, da_dq, da_dv, J = pin.getJointAccelerationDerivatives(s.pin, s.data, joint, local)
        theirs.append([x[LINEAR_LAST] for x in (dv_dq, J, da_dq, da_dv, J)])
    ours = (
        *jc.body_twist_derivatives(s.model, s.q, s.v, body),
        *jc.body_acceleration_derivatives(s.model, s.q, s.v, s.a, body),
    )
    for x, y in zip(ours, zip(*theirs, strict=True), strict=True):
        assert relative(s.there.to_v(s.q[:, None], x), np.array(y), 1.0) < AGREE


@pytest.mark.parametrize(("path", "base"), MOVING)
def test_derivatives_are_those_of_pinocchio(path, base):
    s = real_robots.setting(path, base, STATES)
    check_inverse_dynamics(s)
    check_forward_dynamics(s)
    check_coriolis_matrix(s)
    check_centroidal_momentum(s)
    check_kinematics(s)
