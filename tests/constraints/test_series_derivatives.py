"""Partial derivatives of the time derivatives under constraints."""

from __future__ import annotations

import numpy as np
import pytest
from constraints_cases import by_orders, close, robot, set_of, states

import jounce as jc
from jounce.constraints.rows_series import jacobian_coefficients, jacobian_tangents

SLOPE = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
SETS = ["a weld and a rod", "a hinge and gears", "a wheel and a cam", "points", "weld"]
ORDERS = 3


def slope(function, h=3e-3):
    """Derivative of a function of a number at 0."""
    return sum(w * (function(s * h) - function(-s * h)) for s, w in SLOPE.items()) / h


def close_by_order(x, y, digits):
    for k in range(len(y)):
        close(x[k], y[k], digits, np.abs(y[k]).max() + 1e-12)


def planar_loop():
    """A four-bar in a tilted plane: one combination of the rows of its point never moves."""
    tilt = jc.lie.exp(np.array([0.4, 0.0, 0.3, 0.0, 0.0, 0.0]))
    build = jc.ModelBuilder()
    body = {"mass": 1.0, "com": (0.1, 0.02, 0.3), "inertia": (0.1, 0.12, 0.05)}
    build.add_body("crank", None, "revolute", tilt, axis=(0, 1, 0), **body)
    build.add_body("rod", "crank", "revolute", (0, 0, 0.6), axis=(0, 1, 0), **body)
    far = tilt.copy()
    far[:3, 3] = tilt[:3, :3] @ [0.5, 0, 0]
    build.add_body("rocker", None, "revolute", far, axis=(0, 1, 0), **body)
    build.add_frame("rod end", "rod", (0.5, 0, 0))
    build.add_frame("rocker end", "rocker", (0, 0, 0.7))
    model = build.build()
    c = jc.Constraints(model, [jc.Point("rod end", "rocker end", target=np.zeros(3))])
    q = jc.project(model, [0.3, 0.2, 0.1], c)
    return model, c, q, jc.project_velocity(model, q, [1.0, 0.5, -0.5], c)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_limits_that_leave_joints_one_value_change_nothing(kind):
    """As placeholders do: what holds almost everywhere is not learned within limits."""
    build = jc.ModelBuilder()
    body = {"mass": 1.0, "com": (0.3, 0.1, 0.0), "inertia": (0.1, 0.2, 0.3)}
    for k, own in enumerate(("revolute", kind, "revolute")):
        axis = (0, 0, 1) if own == "revolute" else (0, 1, 0)
        limits = {"lower": 0.0, "upper": 0.0}
        parent = f"b{k - 1}" if k else None
        build.add_body(f"b{k}", parent, own, (0.5, 0, 0), axis=axis, **body, **limits)
    build.add_frame("tip", "b2", (0.5, 0, 0))
    locked = build.build()
    free = locked.replace(lower=-np.inf, upper=np.inf)
    q, tau = np.array([0.3, 0.7, -0.5]), np.ones((ORDERS, 3))
    found = []
    for model in (locked, free):
        c = jc.Constraints(model, [jc.Point("tip", target=jc.body_pose(model, q, "tip")[:3, 3])])
        v = jc.project_velocity(model, q, [0.3, 0.2, 0.1], c)
        assert c.regular(q)
        assert c._lasting_rows().shape == (3, 2)
        found.append(jc.constrained_dynamics_series_derivatives(model, q, v, tau, c))
    for x, y in zip(*found, strict=True):
        assert np.array_equal(x, y)


@pytest.mark.parametrize("name", SETS)
def test_those_of_forward_dynamics(name):
    model = robot("free_root")
    at = states(model, count=1)
    c = jc.Constraints(model, set_of(model, name))
    q, rng = at.q[0], at.rng
    v = jc.project_velocity(model, q, at.v[0], c)
    tau, f_ext = (
        rng.standard_normal((ORDERS, model.nv)),
        rng.standard_normal((ORDERS, model.n_bodies, 6)),
    )
    d = jc.constrained_dynamics_series_derivatives(model, q, v, tau, c, f_ext)
    first = jc.constrained_dynamics_derivatives(model, q, v, tau[0], c, f_ext[0])
    for x, y in zip(
        first,
        (
            d.a_dq[0],
            d.a_dv[0],
            d.a_dtau[0, :, 0],
            d.force_dq[0],
            d.force_dv[0],
            d.force_dtau[0, :, 0],
        ),
        strict=True,
    ):
        close(y, x, 9)
    for _ in range(2):
        dq, dv = rng.standard_normal((2, model.nv))
        dtau = rng.standard_normal(tau.shape)

        def moved(s, dq=dq, dv=dv, dtau=dtau):
            there = jc.integrate(model, q, s * dq)
            found = jc.constrained_dynamics_series(
                model, there, v + s * dv, tau + s * dtau, c, f_ext
            )
            return np.hstack(found)

        a = d.a_dq @ dq + d.a_dv @ dv + np.einsum("kilj,lj->ki", d.a_dtau, dtau)
        force = d.force_dq @ dq + d.force_dv @ dv + np.einsum("kilj,lj->ki", d.force_dtau, dtau)
        close_by_order(np.hstack([a, force]), slope(moved), 10)


def test_inputs_act_from_their_order_on():
    model = robot("spherical_root")
    at = states(model, count=2)
    c = jc.Constraints(model, [jc.Weld("tool")])
    v = jc.project_velocity(model, at.q, at.v, c)
    tau = at.rng.standard_normal((2, ORDERS, model.nv))
    d = jc.constrained_dynamics_series_derivatives(model, at.q, v, tau, c)
    assert d.a_dtau.shape == (2, ORDERS, model.nv, ORDERS, model.nv)
    assert d.force_dtau.shape == (2, ORDERS, 6, ORDERS, model.nv)
    for k in range(ORDERS):
        close(d.a_dtau[:, k, :, k], d.a_dtau[:, 0, :, 0], 9)
        assert not d.a_dtau[:, k, :, k + 1 :].any()
    one = jc.constrained_dynamics_series_derivatives(model, at.q[1], v[1], tau[1], c)
    for x, y in zip(d, one, strict=True):
        close(x[1], y, 12)


def test_without_constraints_they_are_those_of_the_free_robot():
    model = robot("free_root")
    at = states(model, count=1)
    none, tau = jc.Constraints(model, []), at.rng.standard_normal((2, model.nv))
    d = jc.constrained_dynamics_series_derivatives(model, at.q[0], at.v[0], tau, none)
    known = jc.forward_dynamics_series_derivatives(model, at.q[0], at.v[0], tau)
    assert all((x == y).all() for x, y in zip(d[:3], known, strict=True))
    assert d.force_dtau.shape == (2, 0, 2, model.nv)


def test_a_planar_loop():
    model, c, q, v = planar_loop()
    rng = np.random.default_rng(2)
    assert c.rank(q) == c._lasting_rows().shape[1] == 2
    tau = rng.standard_normal((6, 3))
    compiled, dense = (
        jc.constrained_dynamics_series(model, q, v, tau, c),
        by_orders(c, q, v, tau),
    )
    for x, y in zip(compiled, dense, strict=True):
        close_by_order(x, y, 10)
    batch = jc.constrained_dynamics_series(model, np.stack([q] * 9), v, tau, c)
    close(batch.force[-1], compiled.force, 12)
    d = jc.constrained_dynamics_series_derivatives(model, q, v, tau, c)
    dq, dv = rng.standard_normal((2, 3))
    dq, dv = (jc.project_velocity(model, q, x, c) for x in (dq, dv))

    def moved(s):
        """On a curve of the manifold; the rates follow from one of them."""
        there = jc.project(model, jc.integrate(model, q, s * dq), c)
        rates = jc.project_velocity(model, there, v + s * dv, c)
        found = jc.constrained_dynamics_series(model, there, rates, tau, c)
        return np.hstack(found), jc.difference(model, q, there), rates - v

    by_q, by_v = (slope(lambda s, k=k: moved(s)[k]) for k in (1, 2))
    expected = slope(lambda s: moved(s)[0])
    close_by_order(
        np.hstack([d.a_dq @ by_q + d.a_dv @ by_v, d.force_dq @ by_q + d.force_dv @ by_v]),
        expected,
        7,
    )


@pytest.mark.parametrize("name", SETS)
def test_jacobians_along_directions(name):
    model = robot("free_root")
    at = states(model, count=1)
    c = jc.Constraints(model, set_of(model, name))
    q, rng = at.q[0], at.rng
    motion = rng.standard_normal((3, model.nv))
    dq, d_motion = rng.standard_normal((2, model.nv)), rng.standard_normal((2, 3, model.nv))
    found = jacobian_tangents(c, q, motion, dq, d_motion)
    for k in range(2):

        def moved(s, k=k):
            there = jc.integrate(model, q, s * dq[k])
            return jacobian_coefficients(c, there, motion + s * d_motion[k])

        close_by_order(found[k], slope(moved), 9)


@pytest.mark.parametrize("name", SETS)
def test_those_of_inverse_dynamics(name):
    model = robot("free_root")
    at = states(model, count=1)
    c = jc.Constraints(model, set_of(model, name), tolerance=np.inf)
    q, rng = at.q[0], at.rng
    chosen = {"actuated": np.ones(model.nv, bool), "weights": rng.uniform(1, 2, model.nv)}
    if name == "weld":  # which holds the base, that has no actuator
        chosen = {"actuated": np.arange(model.nv) >= 6}
    motion = rng.standard_normal((ORDERS + 1, model.nv))
    f_ext = rng.standard_normal((ORDERS, model.n_bodies, 6))

    def series(at_q, along):
        got = jc.constrained_inverse_dynamics_series(model, at_q, along, c, f_ext, **chosen)
        return np.hstack(got)

    d = jc.constrained_inverse_dynamics_series_derivatives(model, q, motion, c, f_ext, **chosen)
    for _ in range(2):
        dq, d_motion = rng.standard_normal(model.nv), rng.standard_normal(motion.shape)
        parts = [
            by_q @ dq + np.einsum("kilj,lj->ki", by_motion, d_motion)
            for by_q, by_motion in ((d.tau_dq, d.tau_dmotion), (d.force_dq, d.force_dmotion))
        ]
        expected = slope(
            lambda s, dq=dq, dm=d_motion: series(jc.integrate(model, q, s * dq), motion + s * dm)
        )
        close_by_order(np.hstack(parts), expected, 10)
    both = jc.constrained_inverse_dynamics_series_derivatives(
        model, np.stack([q, q]), motion, c, f_ext, **chosen
    )
    close(both.tau_dmotion[1], d.tau_dmotion, 12)


def test_inverse_dynamics_of_a_planar_loop():
    """Its forces are of the least norm, and make the motion with the actuators."""
    model, c, q, v = planar_loop()
    tau = np.random.default_rng(1).standard_normal((3, 3))
    forward = jc.constrained_dynamics_series(model, q, v, tau, c)
    motion = np.concatenate([v[None], forward.a])
    found = jc.constrained_inverse_dynamics_series(model, q, motion, c, actuated=["crank_joint"])
    assert not found.tau[:, 1:].any()
    again = jc.constrained_dynamics_series(model, q, v, found.tau, c)
    close(again.a, forward.a, 9)
    close(again.force, found.force, 9)
    d = jc.constrained_inverse_dynamics_series_derivatives(
        model, q, motion, c, actuated=["crank_joint"]
    )
    assert d.tau_dq.shape == (3, 3, 3)
    assert np.isfinite(d.force_dmotion).all()


def test_inverse_series_take_empty_batches_and_no_constraints():
    model = jc.models.chain(3)
    nothing = jc.Constraints(model, [])
    q, motion = np.zeros((0, model.nq)), np.zeros((0, 3, model.nv))
    found = jc.constrained_inverse_dynamics_series(model, q, motion, nothing)
    assert (found.tau.shape, found.force.shape) == ((0, 2, 3), (0, 2, 0))
    d = jc.constrained_inverse_dynamics_series_derivatives(model, q, motion, nothing)
    assert d.tau_dq.shape == (0, 2, 3, 3)
    assert d.force_dmotion.shape == (0, 2, 0, 3, 3)


def test_inverse_series_without_constraints_are_those_of_the_robot():
    model, rng = jc.models.chain(3), np.random.default_rng(0)
    q, motion = jc.random_configuration(model, rng), rng.standard_normal((3, model.nv))
    found = jc.constrained_inverse_dynamics_series(model, q, motion, jc.Constraints(model, []))
    expected = jc.inverse_dynamics_series(model, q, motion)
    assert np.allclose(found.tau, expected, rtol=1e-13, atol=1e-13)
