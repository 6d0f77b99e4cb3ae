"""Inverse series of the aerial manipulator against nested automatic differentiation by CasADi.

The forces are written in symbols as Luh, Walker and Paul (1980) did: positions of the centers of
mass, Newton's and Euler's equations along the world's axes. Then `jtimes` along the motion is
applied again and again: with x = (R, p, angles, v, dv/dt, ...) and dx/dt known in the same
symbols, d tau/dt = (d tau/dx) dx/dt.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import jounce as jc
from jounce import lie
from jounce.model import Model

ca = pytest.importorskip("casadi")

ORDER = 4
TOLERANCE = 1e-11
MODEL = jc.models.aerial_manipulator()


def mass_center_inertia(model: Model, body: int):
    """Mass, center of mass and inertia about it, from the ten parameters."""
    m, *first, xx, xy, yy, xz, yz, zz = model.inertias[body]
    center = np.array(first) / m
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return m, center, about_origin - m * (center @ center * np.eye(3) - np.outer(center, center))


def turned(axis: np.ndarray, angle):
    """Rotation about a unit axis (Rodrigues)."""
    K = lie.hat(axis)
    return ca.DM.eye(3) + ca.sin(angle) * K + (1 - ca.cos(angle)) * (K @ K)


def world_motion(model: Model, R, p, angles, v, a):
    """Rotation, origin, spin, spin's rate and origin's acceleration of each body in the world."""
    spin = R @ v[:3]
    bodies = [(R, p, spin, R @ a[:3], R @ (a[3:6] + ca.cross(v[:3], v[3:6])))]
    for i in range(1, model.n_bodies):
        R_p, p_p, w_p, alpha_p, a_p = bodies[model.parents[i]]
        axis = np.array(model.joints[i].axis)
        placement = model.nodes.placement[i]
        arm = R_p @ placement[:3, 3]
        R_i = R_p @ placement[:3, :3] @ turned(axis, angles[i - 1])
        spin = R_i @ axis * v[5 + i]
        bodies.append(
            (
                R_i,
                p_p + arm,
                w_p + spin,
                alpha_p + R_i @ axis * a[5 + i] + ca.cross(w_p, spin),
                a_p + ca.cross(alpha_p, arm) + ca.cross(w_p, ca.cross(w_p, arm)),
            )
        )
    return bodies


def inverse_dynamics(model: Model, R, p, angles, v, a):
    """Wrench on the base and torques of the joints."""
    bodies = world_motion(model, R, p, angles, v, a)
    force = [ca.SX.zeros(3) for _ in bodies]
    moment = [ca.SX.zeros(3) for _ in bodies]
    tau = [ca.SX.zeros(1) for _ in range(model.n_bodies - 1)]
    for i in reversed(range(model.n_bodies)):
        R_i, p_i, w, alpha, a_i = bodies[i]
        m, center, inertia = mass_center_inertia(model, i)
        c, inertia = R_i @ center, R_i @ inertia @ R_i.T
        a_c = a_i + ca.cross(alpha, c) + ca.cross(w, ca.cross(w, c))
        f = m * (a_c - model.gravity)
        force[i] += f
        moment[i] += inertia @ alpha + ca.cross(w, inertia @ w) + ca.cross(c, f)
        parent = model.parents[i]
        if parent >= 0:
            tau[i - 1] = ca.dot(R_i @ np.array(model.joints[i].axis), moment[i])
            force[parent] += force[i]
            moment[parent] += moment[i] + ca.cross(p_i - bodies[parent][1], force[i])
    return ca.vertcat(R.T @ moment[0], R.T @ force[0], *tau)


@functools.cache
def inverse_series():
    """A function of R, p, angles and the motion as columns: the forces and their derivatives."""
    R, p = ca.SX.sym("R", 3, 3), ca.SX.sym("p", 3)
    angles = ca.SX.sym("angles", MODEL.nv - 6)
    motion = [ca.SX.sym(f"v{k}", MODEL.nv) for k in range(ORDER + 2)]
    v = motion[0]
    x = ca.vertcat(ca.vec(R), p, angles, *motion[:-1])
    rate = ca.vertcat(ca.vec(R @ ca.skew(v[:3])), R @ v[3:6], v[6:], *motion[1:])
    rows = [inverse_dynamics(MODEL, R, p, angles, motion[0], motion[1])]
    for _ in range(ORDER):
        rows.append(ca.jtimes(rows[-1], x, rate))
    return ca.Function("tau", [R, p, angles, ca.horzcat(*motion)], [ca.horzcat(*rows)])


def evaluate(q: np.ndarray, motion: np.ndarray) -> np.ndarray:
    rotation = lie.quat_to_matrix(q[:4])
    return np.array(inverse_series()(rotation, q[4:7], q[7:], motion.T)).T


def relative_errors(actual, expected):
    return np.abs(actual - expected).max(-1) / np.abs(expected).max(-1)


@pytest.mark.parametrize("t", [0.0, 4.2, 17.0, 29.99])
def test_inverse_series_equals_nested_differentiation_along_table_3(t):
    q, motion = jc.trajectories.aerial_manipulator_reference(MODEL).evaluate(t, ORDER)
    errors = relative_errors(jc.inverse_dynamics_series(MODEL, q, motion), evaluate(q, motion))
    assert (errors <= TOLERANCE).all(), errors


@pytest.mark.parametrize("seed", range(4))
def test_inverse_series_equals_nested_differentiation_for_random_motions(seed):
    rng = np.random.default_rng(seed)
    q = jc.random_configuration(MODEL, rng)
    motion = rng.standard_normal((ORDER + 2, MODEL.nv))
    errors = relative_errors(jc.inverse_dynamics_series(MODEL, q, motion), evaluate(q, motion))
    assert (errors <= TOLERANCE).all(), errors


@pytest.mark.parametrize("seed", range(4))
def test_forward_series_satisfies_nested_differentiation(seed):
    """The accelerations that forces give, put into CasADi's derivatives, give the forces back."""
    rng = np.random.default_rng(seed)
    q, v = jc.random_configuration(MODEL, rng), rng.standard_normal(MODEL.nv)
    tau = rng.standard_normal((ORDER + 1, MODEL.nv)) * np.diag(jc.mass_matrix(MODEL, q))
    acc = jc.forward_dynamics_series(MODEL, q, v, tau)
    motion = np.vstack([v, acc])
    residual = np.abs(evaluate(q, motion) - tau).max(-1)
    # What cancels in the forces of order k is M a^(k), far larger than the forces themselves.
    size = np.abs(acc @ jc.mass_matrix(MODEL, q)).max(-1)
    assert (residual <= TOLERANCE * size).all(), residual / size
