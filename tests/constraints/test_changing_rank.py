"""Where rows depend on each other on the manifold only: three parallel cranks and their coupler."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

SLOPE = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


def shifted(x):
    pose = np.eye(4)
    pose[0, 3] = x
    return pose


@pytest.fixture(scope="module")
def cranks():
    """Three parallel cranks of length 1; the first carries a bar that the others hold as well."""
    build = jc.ModelBuilder(gravity=(0.0, -9.81, 0.0))
    body = {"mass": 1.0, "com": (0.4, 0.1, 0), "inertia": np.diag([0.01, 0.1, 0.1])}
    for k in range(3):
        build.add_body(f"crank{k}", None, "revolute", shifted(float(k)), axis=(0, 0, 1), **body)
    build.add_body("bar", "crank0", "revolute", shifted(1.0), axis=(0, 0, 1), **body)
    model = build.build()
    for k in (1, 2):
        model = model.with_frame(f"pin{k}", "bar", shifted(float(k)))
        model = model.with_frame(f"end{k}", f"crank{k}", shifted(1.0))
    closed = [jc.Point(f"pin{k}", f"end{k}", target=np.zeros(3)) for k in (1, 2)]
    return jc.Constraints(model, closed)


def turned(c, angle):
    """All cranks at an angle, the bar parallel to the ground."""
    q = np.zeros(c.model.nq)
    for k in range(3):
        q[c.model.q_slice(f"crank{k}_joint")] = angle
    q[c.model.q_slice("bar_joint")] = -angle
    return q


def test_the_rank_changes_beside_the_manifold(cranks):
    q = turned(cranks, 0.7)
    assert np.abs(cranks.residual(q)).max() < 1e-15
    assert cranks.rank(q) == 3
    assert not cranks.regular(q)
    beside = q + np.array([0.1, 0.02, 0.0, 0.0])
    assert cranks.rank(beside) == 4
    assert cranks.regular(beside)  # two rows of zeros, everywhere
    assert cranks.regular(np.stack([q, beside])).tolist() == [False, True]


def test_rows_that_depend_everywhere_are_regular():
    robot = jc.models.aerial_manipulator()
    twice = jc.Constraints(robot, [jc.Weld("B4"), jc.Point("B4")])
    rng = np.random.default_rng(0)
    q = jc.random_configuration(robot, rng, 8)
    assert (twice.rank(q) == 6).all()
    assert twice.regular(q).all()
    assert jc.Constraints(robot, []).regular(q).all()


def test_derivatives_hold_along_the_manifold_and_are_those_of_the_projected_state(cranks):
    model, angle, rate = cranks.model, 0.7, 1.3
    q = turned(cranks, angle)
    along = jc.project_velocity(model, q, np.ones(model.nv), cranks)
    along *= 1.0 / along[model.v_slice("crank0_joint")][0]
    tau = np.array([0.3, -0.2, 0.5, 0.1])
    d = jc.constrained_dynamics_derivatives(model, q, rate * along, tau, cranks)
    # along is the same everywhere on this manifold, so the rates need not change
    h = 1e-3

    def moved(s):
        return jc.constrained_dynamics(
            model, turned(cranks, angle + s * h), rate * along, tau, cranks
        )

    for k, by in ((0, d.a_dq), (1, d.force_dq)):
        slope = sum(w * (moved(s)[k] - moved(-s)[k]) for s, w in SLOPE.items()) / h
        assert np.abs(by @ along - slope).max() < 1e-9 * np.abs(slope).max()
    # across the manifold nothing is left
    G = -d.force_dtau.T
    across = G @ cranks.jacobian(q)
    assert np.abs(d.a_dq @ across).max() < 1e-11 * np.abs(d.a_dq).max()
    assert np.abs(d.force_dq @ across).max() < 1e-11 * np.abs(d.force_dq).max()


def test_impulses_of_such_a_mechanism_have_derivatives_along_it(cranks):
    model, q = cranks.model, turned(cranks, 0.7)
    along = np.ones(model.nv)
    along[model.v_slice("bar_joint")] = -1.0
    v = np.array([0.3, -0.2, 0.5, 0.1])
    d = jc.impulse_derivatives(model, q, v, cranks, 0.5)
    h = 1e-3

    def moved(s):
        return jc.impulse(model, turned(cranks, 0.7 + s * h), v, cranks, 0.5)

    for k, by in ((0, d.v_dq), (1, d.impulse_dq)):
        slope = sum(w * (moved(s)[k] - moved(-s)[k]) for s, w in SLOPE.items()) / h
        assert np.abs(by @ along - slope).max() < 1e-9 * np.abs(slope).max()


def test_planned_motions_of_such_a_mechanism_have_rates_of_forces_but_no_derivatives(cranks):
    model, angle, rate, h = cranks.model, 0.7, 1.3, 1e-3
    along = np.ones(model.nv)
    along[model.v_slice("bar_joint")] = -1.0
    motion = np.zeros((3, model.nv))
    motion[0] = rate * along
    every = {"actuated": np.ones(model.nv, bool)}
    at = model, turned(cranks, angle), motion, cranks
    found = jc.constrained_inverse_dynamics_series(*at, **every)

    def moved(s):
        at = model, turned(cranks, angle + rate * s * h), motion[0], motion[1], cranks
        return jc.constrained_inverse_dynamics(*at, **every)

    for k, series in enumerate((found.tau, found.force)):
        slope = sum(w * (moved(s)[k] - moved(-s)[k]) for s, w in SLOPE.items()) / h
        assert np.abs(series[0] - moved(0)[k]).max() < 1e-12 * np.abs(series[0]).max()
        assert np.abs(series[1] - slope).max() < 1e-9 * np.abs(slope).max()
    with pytest.raises(jc.ArgumentError, match="3 are independent at this q, and 4 nearby"):
        jc.constrained_inverse_dynamics_series_derivatives(*at, **every)


def test_series_of_such_a_mechanism_have_derivatives_along_it(cranks):
    model, angle, h = cranks.model, 0.7, 1e-2
    along = np.ones(model.nv)
    along[model.v_slice("bar_joint")] = -1.0
    tau = np.array([[0.3, -0.2, 0.5, 0.1], [1.0, 0.2, -0.3, 0.4], [0.0, 0.1, 0.2, 0.3]])
    q, v = turned(cranks, angle), 1.3 * along
    d = jc.constrained_dynamics_series_derivatives(model, q, v, tau, cranks)
    first = jc.constrained_dynamics_derivatives(model, q, v, tau[0], cranks)
    assert np.abs(d.a_dq[0] - first.a_dq).max() < 1e-11 * np.abs(first.a_dq).max()

    def moved(s):
        at = turned(cranks, angle + s * h)
        return jc.constrained_dynamics_series(model, at, v, tau, cranks)

    for k, by in ((0, d.a_dq), (1, d.force_dq)):
        slope = sum(w * (moved(s)[k] - moved(-s)[k]) for s, w in SLOPE.items()) / h
        for order in range(3):
            wrong = np.abs(by[order] @ along - slope[order]).max()
            assert wrong < 1e-10 * np.abs(slope[order]).max()


def test_second_derivatives_are_refused_where_the_rank_changes(cranks):
    v = np.zeros(4)
    with pytest.raises(jc.ArgumentError, match="another number is independent"):
        jc.constrained_dynamics_hessian(cranks.model, turned(cranks, 0.7), v, v, cranks, v + 1)
