"""Time derivatives of constrained dynamics, along the motion they belong to."""

from __future__ import annotations

import numpy as np
import pytest
from constraints_cases import KINDS, close, kinds, robot, set_of, states

import jounce as jc
from jounce.constraints.rows_series import jacobian_coefficients


@pytest.mark.parametrize("kind", KINDS)
def test_the_jacobians_rate_times_the_rates_is_the_bias(kind):
    """The coefficient of t of J, times v, plus J a, is the rows' acceleration."""
    model = robot("free_root")
    at = states(model)
    c = jc.Constraints(model, [kinds(model)[kind]])
    J = jacobian_coefficients(c, at.q, at.v[:, None])
    close(J[:, 0], c.jacobian(at.q), 13)
    close((J[:, 1] @ at.v[..., None])[..., 0], c.bias(at.q, at.v), 12)


def test_the_rows_of_a_constrained_motion_stay_at_rest():
    """Every derivative of J v vanishes, by another path: the series of bodies' motions."""
    model = robot("free_root")
    at = states(model, count=3)
    c = jc.Constraints(model, [jc.Weld("tool")])
    v = jc.project_velocity(model, at.q, at.v, c)
    tau = at.rng.standard_normal((3, 6, model.nv))
    found = jc.constrained_dynamics_series(model, at.q, v, tau, c)
    motion = np.concatenate([v[:, None], found.a], 1)
    twists = jc.body_motion_series(model, at.q, motion, "tool")
    size = np.abs(jc.body_motion_series(model, at.q, motion, model.n_bodies - 1)).max((0, 2))
    assert (np.abs(twists).max((0, 2)) < 1e-11 * np.maximum(size, np.abs(motion).max((0, 2)))).all()
    # and the forces make the motion: as external wrenches with their derivatives
    f_ext = np.zeros((3, 6, model.n_bodies, 6))
    frame = model.frame("tool")
    to_body = jc.lie.Ad(jc.lie.inverse(frame.placement)).T
    f_ext[:, :, frame.body] = found.force @ to_body.T
    again = jc.inverse_dynamics_series(model, at.q, motion, f_ext)
    size = np.abs(jc.mass_matrix(model, at.q) @ found.a.swapaxes(-1, -2)).max((0, 1))
    assert (np.abs(again - tau).max((0, 2)) < 1e-11 * size).all()


@pytest.mark.parametrize(
    "name", ["a weld and a rod", "a hinge and gears", "a wheel and a cam", "points"]
)
def test_the_first_derivatives_are_those_along_the_motion(name):
    """d/dt a = a_dq v + a_dv a + a_dtau tau', and so for the force."""
    model = robot("spherical_root")
    at = states(model, count=2)
    c = jc.Constraints(model, set_of(model, name))
    v = jc.project_velocity(model, at.q, at.v, c)
    tau = np.stack([at.tau, at.a], 1)
    found = jc.constrained_dynamics_series(model, at.q, v, tau, c)
    zeroth = jc.constrained_dynamics(model, at.q, v, at.tau, c)
    close(found.a[:, 0], zeroth.a, 10)
    close(found.force[:, 0], zeroth.force, 10)
    d = jc.constrained_dynamics_derivatives(model, at.q, v, at.tau, c)

    def rate(dq, dv, dtau):
        parts = ((dq, v), (dv, zeroth.a), (dtau, at.a))
        return sum((x @ y[..., None])[..., 0] for x, y in parts)

    close(found.a[:, 1], rate(d.a_dq, d.a_dv, d.a_dtau), 9)
    close(found.force[:, 1], rate(d.force_dq, d.force_dv, d.force_dtau), 9)


def test_a_series_predicts_the_motion_on_the_manifold():
    """The series of order 8 at t = 0, evaluated at t = h, against the dynamics there."""
    model = jc.models.aerial_manipulator()
    rng = np.random.default_rng(3)
    q = jc.integrate(model, jc.neutral(model), 0.4 * rng.standard_normal(model.nv))
    c = jc.Constraints(model, [jc.Weld("B4")])
    v = jc.project_velocity(model, q, rng.standard_normal(model.nv), c)
    r, h = 12, 0.02
    tau = np.zeros((r + 1, model.nv))
    found = jc.constrained_dynamics_series(model, q, v, tau, c)
    motion = np.concatenate([v[None], found.a])
    # where the base and the joints are at h: by the series of the body's pose, and of the angles
    scale = h ** np.arange(r + 3) / np.cumprod([1.0, *range(1, r + 3)])
    pose = np.einsum(
        "k,kij->ij", scale[: len(motion) + 1], jc.body_pose_series(model, q, motion, 0)
    )
    joints = q[7:] + np.einsum("k,ki->i", scale[1 : len(motion) + 1], motion[:, 6:])
    quaternion = jc.lie.matrix_to_quat(pose[:3, :3])
    at_h = np.concatenate([quaternion, pose[:3, 3], joints])
    v_h = np.einsum("k,ki->i", scale[: len(motion)], motion)
    there = jc.constrained_dynamics(model, at_h, v_h, tau[0], c)
    close(np.einsum("k,ki->i", scale[: r + 1], found.a), there.a, 9)
    close(np.einsum("k,ki->i", scale[: r + 1], found.force), there.force, 9)
    held = jc.body_pose(model, q, "B4")
    close(jc.body_pose(model, at_h, "B4"), held, 13)


def test_dependent_rows_keep_the_derivative_of_the_least_norm_force():
    model = robot("free_root")
    at = states(model, count=1)
    q, tau = at.q[0], np.stack([at.tau[0], at.a[0]])
    once, more = (
        jc.Constraints(model, x) for x in ([jc.Weld("tool")], [jc.Weld("tool"), jc.Point("tool")])
    )
    v = jc.project_velocity(model, q, at.v[0], once)
    found = jc.constrained_dynamics_series(model, q, v, tau, more)
    d = jc.constrained_dynamics_derivatives(model, q, v, tau[0], more)
    close(found.a, jc.constrained_dynamics_series(model, q, v, tau, once).a, 9)
    close(found.force[1], d.force_dq @ v + d.force_dv @ found.a[0] + d.force_dtau @ tau[1], 8)


def test_planned_motions_get_their_actuation_and_forces_back():
    model = jc.models.aerial_manipulator()
    rng = np.random.default_rng(3)
    q = jc.integrate(model, jc.neutral(model), 0.4 * rng.standard_normal(model.nv))
    c = jc.Constraints(model, [jc.Weld("B4")])
    v = jc.project_velocity(model, q, rng.standard_normal(model.nv), c)
    tau = np.zeros((4, model.nv))
    tau[:, 6:] = rng.standard_normal((4, model.nv - 6))
    a = jc.constrained_dynamics_series(model, q, v, tau, c).a
    motion = np.concatenate([v[None], a])
    joints, weights = np.arange(model.nv) >= 6, np.linspace(1, 2, model.nv - 6)
    found = jc.constrained_inverse_dynamics_series(
        model, q, motion, c, actuated=joints, weights=weights
    )
    first = jc.constrained_inverse_dynamics(model, q, v, a[0], c, actuated=joints, weights=weights)
    close(found.tau[0], first.tau, 9)
    close(found.force[0], first.force, 9)
    again = jc.constrained_dynamics_series(model, q, v, found.tau, c)
    close(again.a, a, 8)
    close(again.force, found.force, 8)
    assert np.abs(found.tau[:, :6]).max() < 1e-9
