"""Series where rows depend on each other, and derivatives of them: four points hold a body."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from constraints_cases import close

import jounce as jc
from jounce.constraints.derivatives import row_derivatives

CORNERS = np.array([(0.1, 0.05, 0.0), (0.1, -0.05, 0.02), (-0.1, 0.05, 0.0), (-0.1, -0.05, 0.0)])
ORDERS = 4
SLOPE = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


def held():
    """A robot whose hand a weld holds, or four points of it, and a motion that both allow."""
    model, rng = jc.models.aerial_manipulator(), np.random.default_rng(3)
    weld = jc.Constraints(model, [jc.Weld("B4")])
    for k, p in enumerate(CORNERS):
        pose = np.eye(4)
        pose[:3, 3] = p
        model = model.with_frame(f"corner{k}", "B4", pose)
    points = jc.Constraints(model, [jc.Point(f"corner{k}") for k in range(4)])
    weld = jc.Constraints(model, weld.items)
    q = jc.random_configuration(model, rng)
    v = jc.project_velocity(model, q, rng.standard_normal(model.nv), weld)
    tau = rng.standard_normal((ORDERS, model.nv))
    a = jc.constrained_dynamics_series(model, q, v, tau, weld).a
    return model, q, np.concatenate([v[None], a]), weld, points


OPTIONS = {"actuated": np.ones(12, bool), "weights": np.linspace(1.0, 2.0, 12)}


def test_points_of_a_body_share_the_wrench_of_its_weld():
    """In the body's axes the shares are constant, so that their rates are known from the weld's."""
    model, q, motion, weld, points = held()
    one = jc.constrained_inverse_dynamics_series(model, q, motion, weld, **OPTIONS)
    four = jc.constrained_inverse_dynamics_series(model, q, motion, points, **OPTIONS)
    to_wrench = np.vstack([np.hstack([_hat(p) for p in CORNERS]), np.hstack([np.eye(3)] * 4)])
    shares = one.force @ np.linalg.pinv(to_wrench).T
    R = jc.body_pose_series(model, q, motion, "B4")[:, :3, :3]
    for k in range(ORDERS):
        close(four.tau[k], one.tau[k], 8)
        terms = [comb(k, i) * shares[k - i].reshape(4, 3) @ R[i].T for i in range(k + 1)]
        close(four.force[k], np.sum(terms, 0).ravel(), 8)
    alone = jc.constrained_inverse_dynamics(model, q, motion[0], motion[1], points, **OPTIONS)
    close(four.force[0], alone.force, 9)


def _hat(p):
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])


def test_derivatives_are_those_of_the_weld_and_of_least_norms():
    model, q, motion, weld, points = held()
    motion = motion[:3]
    one, four = (
        jc.constrained_inverse_dynamics_series_derivatives(model, q, motion, x, **OPTIONS)
        for x in (weld, points)
    )
    close(four.tau_dq, one.tau_dq, 8)
    close(four.tau_dmotion, one.tau_dmotion, 8)
    rng = np.random.default_rng(4)
    dq, dm = rng.standard_normal(model.nv), rng.standard_normal(motion.shape)

    beside = jc.Constraints(model, points.items, tolerance=np.inf)  # the manifold

    def force(s):
        at = jc.integrate(model, q, s * dq), motion + s * dm, beside
        return jc.constrained_inverse_dynamics_series(model, *at, **OPTIONS).force

    coarse, fine = ((force(h) - force(-h)) / (2 * h) for h in (2e-3, 1e-3))
    finer = (force(5e-4) - force(-5e-4)) / 1e-3
    first, second = (4 * fine - coarse) / 3, (4 * finer - fine) / 3
    expected = four.force_dq @ dq + np.einsum("kmlj,lj->km", four.force_dmotion, dm)
    for k in range(len(expected)):
        close(expected[k], ((16 * second - first) / 15)[k], 8)


def test_derivatives_of_forward_series_hold_along_the_manifold():
    model, q, motion, weld, points = held()
    v, rng = motion[0], np.random.default_rng(5)
    tau, (dq, dv) = rng.standard_normal((3, model.nv)), rng.standard_normal((2, model.nv))
    one, four = (
        jc.constrained_dynamics_series_derivatives(model, q, v, tau, x) for x in (weld, points)
    )
    J, still = weld.jacobian(q), np.zeros(model.nv)
    by_q = row_derivatives(weld, q, v, still, np.zeros(6)).velocity_dq
    dv -= np.linalg.pinv(J) @ (J @ dv + by_q @ dq)
    close(four.a_dtau, one.a_dtau, 10)
    close(four.a_dq @ dq + four.a_dv @ dv, one.a_dq @ dq + one.a_dv @ dv, 10)
    first = jc.constrained_dynamics_derivatives(model, q, v, tau[0], points)
    close(
        (four.force_dq @ dq + four.force_dv @ dv)[0], first.force_dq @ dq + first.force_dv @ dv, 9
    )
    close(four.force_dtau[0, :, 0], first.force_dtau, 10)
    # in the body's axes the shares of the weld's wrench are constant
    to_wrench = np.vstack([np.hstack([_hat(p) for p in CORNERS]), np.hstack([np.eye(3)] * 4)])
    shares = np.linalg.pinv(to_wrench)
    wrench = jc.constrained_dynamics_series(model, q, v, tau, weld).force
    d_wrench = one.force_dq @ dq + one.force_dv @ dv
    expected = np.zeros((3, 12))
    R = jc.body_pose(model, q, "B4")[:3, :3]  # which is at rest: it does not turn with time
    turned = R @ _hat((jc.jacobian(model, q, "B4") @ dq)[:3])
    for k in range(3):
        own, changed = (shares @ wrench[k]).reshape(4, 3), (shares @ d_wrench[k]).reshape(4, 3)
        expected[k] = (own @ turned.T + changed @ R.T).ravel()
    close(four.force_dq @ dq + four.force_dv @ dv, expected, 9)


def test_derivatives_of_stabilized_series_hold_along_the_manifold():
    """Against differences of order eight from states of the manifold, where errors are zero."""
    model, q, motion, weld, points = held()
    v, rng = motion[0], np.random.default_rng(6)
    points = points.at(q).stabilized(3.0, 4.0)
    weld, tau = weld.at(q), rng.standard_normal((3, model.nv))
    d = jc.constrained_dynamics_series_derivatives(model, q, v, tau, points)
    J, (dq, dv) = weld.jacobian(q), rng.standard_normal((2, model.nv))
    dq -= np.linalg.pinv(J) @ (J @ dq)
    h, s = 2e-3, np.array([*SLOPE, *(-x for x in SLOPE)])[:, None]
    at = jc.project(model, jc.integrate(model, q, h * s * dq), weld)
    rates = jc.project_velocity(model, at, v + h * s * dv, weld)
    weights = np.array([*SLOPE.values(), *(-x for x in SLOPE.values())]) / h
    dq, dv = weights @ jc.difference(model, q, at), weights @ (rates - v)
    there = jc.constrained_dynamics_series(model, at, rates, tau, points)
    for k in range(3):
        close((d.a_dq @ dq + d.a_dv @ dv)[k], weights @ there.a[:, k], 9)
        close((d.force_dq @ dq + d.force_dv @ dv)[k], weights @ there.force[:, k], 9)
    beside = jc.integrate(model, q, 1e-3 * np.ones(model.nv))
    with pytest.raises(jc.errors.ArgumentError, match="q violates Point"):
        jc.constrained_dynamics_series_derivatives(model, beside, v, tau, points)


def test_taylor_steps_of_stabilized_points_follow_the_motion():
    """Which a Runge-Kutta method finds from accelerations alone; errors decay in both."""
    model, q, motion, _, points = held()
    c = jc.Constraints(model, points.at(q).items, tolerance=1.0).stabilized(3.0, 4.0)
    q = jc.integrate(model, q, 1e-3 * np.ones(model.nv))
    v, options = motion[0], {"constraints": c, "projection": False}
    ends = [
        jc.simulate(model, q, v, [0.0, 0.1], method=method, rtol=1e-11, atol=1e-12, **options)
        for method in ("taylor", "dop853")
    ]
    close(ends[0].q[-1], ends[1].q[-1], 9)
    close(ends[0].v[-1], ends[1].v[-1], 8)
