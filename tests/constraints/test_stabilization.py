"""Baumgarte's stabilization: rows are damped springs, and derivatives and series know it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from constraints_cases import close, robot, states

import jounce as jc
from jounce.constraints.rows_series import jacobian_coefficients

ALPHA, BETA = 3.0, 4.0
SLOPE = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


def sets(model):
    """Constraints with a target somewhere near q, and one without."""
    names = [j for j in model.joint_names if model.v_slice(j).stop - model.v_slice(j).start == 1]
    return {
        "weld": [jc.Weld("tool")],
        "loop": [jc.Loop("tool", "other", free=("rz",))],
        "points": [jc.Point("tool", "other")],
        "rod and gears": [
            jc.Distance("tool", "other", anchor=(0.3, 2.0, 1.0)),
            jc.Coupling({names[0]: (0.5, 0.3, -0.2, 0.1), names[-1]: 2.0}, offset=None),
        ],
        "wheel": [jc.Rolling("tool", 0.3, axis=(0.2, 0.5, 1.0))],
    }


def case(name, count=None):
    """A set with targets that q misses a little, and rates that it does not allow."""
    model = robot("free_root")
    at = states(model, count=1)
    held = jc.Constraints(model, sets(model)[name]).at(at.q[0])
    q = jc.integrate(model, at.q[0], 0.05 * at.rng.standard_normal(model.nv))
    return model, held.stabilized(ALPHA, BETA), q, at.v[0], at.tau[0]


@pytest.mark.parametrize("name", sets(robot("free_root")))
def test_accelerations_of_rows(name):
    model, c, q, v, tau = case(name)
    a = jc.constrained_dynamics(model, q, v, tau, c).a
    e = c.residual(q)
    assert np.abs(e).max() > 1e-3
    expected = -2 * ALPHA * c.velocity(q, v) - BETA**2 * e
    found = c.acceleration(q, v, a)
    digits = 9
    if name in ("weld", "loop"):  # their turns are measured by sines, not by angles
        turns = slice(2 if name == "loop" else 3)
        angle = np.linalg.norm(e[turns])
        scaled = e.copy()
        scaled[turns] *= np.sin(angle) / angle
        expected = -2 * ALPHA * c.velocity(q, v) - BETA**2 * scaled
    close(found, expected, digits)


@pytest.mark.parametrize("name", sets(robot("free_root")))
def test_derivatives_and_the_first_order_of_the_series(name):
    model, c, q, v, tau = case(name)
    d = jc.constrained_dynamics_derivatives(model, q, v, tau, c)
    h = 5e-3
    dq, dv = np.random.default_rng(1).standard_normal((2, model.nv))

    def moved(s):
        at = jc.integrate(model, q, s * h * dq)
        return np.concatenate(jc.constrained_dynamics(model, at, v + s * h * dv, tau, c))

    slope = sum(w * (moved(s) - moved(-s)) for s, w in SLOPE.items()) / h
    close(np.concatenate([d.a_dq @ dq + d.a_dv @ dv, d.force_dq @ dq + d.force_dv @ dv]), slope, 10)
    series = jc.constrained_dynamics_series(model, q, v, np.stack([tau, tau]), c)
    plain = jc.constrained_dynamics(model, q, v, tau, c)
    close(series.a[0], plain.a, 10)
    close(series.force[0], plain.force, 10)
    tau_rate = series.a[0] * 0 + tau
    close(series.a[1], d.a_dq @ v + d.a_dv @ plain.a + d.a_dtau @ tau_rate, 9)
    close(series.force[1], d.force_dq @ v + d.force_dv @ plain.a + d.force_dtau @ tau_rate, 9)


@pytest.mark.parametrize("name", sets(robot("free_root")))
def test_each_order_is_the_rate_of_the_one_before(name):
    """Along the motion itself, which accelerations alone set, by differences in time."""
    model, c, q, v, tau = case(name)
    c = jc.Constraints(model, c.items, stabilization=c.stabilization, tolerance=np.inf)
    h, count = 4e-3, max(SLOPE)
    options = {"method": "dop853", "rtol": 1e-14, "atol": 1e-15, "projection": False}
    t = h * np.arange(2 * count + 1)
    path = jc.simulate(model, q, 0.3 * v, t, lambda *_: tau, constraints=c, **options)
    forces = np.zeros((len(t), 8, model.nv))
    forces[:, 0] = tau
    found = jc.constrained_dynamics_series(model, path.q, path.v, forces, c)
    for x in (found.a, found.force):
        slope = sum(w * (x[count + s] - x[count - s]) for s, w in SLOPE.items()) / h
        for order in range(4):
            close(slope[order], x[count, order + 1], 9)


@pytest.mark.parametrize("name", ["rod and gears"])
def test_errors_are_those_of_a_damped_spring(name):
    """The residual solves e'' + 2 alpha e' + beta^2 e = 0, at every order."""
    model, c, q, v, tau = case(name)
    orders = 7
    forces = np.zeros((orders, model.nv))
    forces[0] = tau
    motion = np.vstack([v, jc.constrained_dynamics_series(model, q, v, forces, c).a])
    J = jacobian_coefficients(c, q, motion)
    factorial = np.cumprod([1.0, *range(1, orders + 2)])
    rates = [
        factorial[k] * sum(J[i] @ motion[k - i] / factorial[k - i] for i in range(k + 1))
        for k in range(orders + 1)
    ]
    e = [c.residual(q), *rates]
    for k in range(orders):
        close(e[k + 2] + 2 * ALPHA * e[k + 1] + BETA**2 * e[k], 0.0, 8, np.abs(e[k + 2]).max())


def test_gains_are_kept_and_checked():
    model, c, q, v, _tau = case("weld")
    assert c.stabilization == (ALPHA, BETA)
    assert c.stabilized(2.0).stabilization == (2.0, 2.0)
    assert c.at(q).stabilization == (ALPHA, BETA)
    assert pickle.loads(pickle.dumps(c)).stabilization == (ALPHA, BETA)
    assert jc.Constraints(model, c.items).stabilization == (0.0, 0.0)
    with pytest.raises(jc.errors.ArgumentError, match="must not be negative"):
        c.stabilized(-1.0)
    with pytest.raises(jc.errors.ArgumentError, match="stabilization"):
        jc.Constraints(model, c.items, stabilization=(1.0, np.nan))
    tau = np.zeros((3, model.nv))
    twice = jc.Constraints(model, [*c.items, *c.items], stabilization=(ALPHA, BETA))
    both, one = (jc.constrained_dynamics_series(model, q, v, tau, x) for x in (twice, c))
    close(both.a, one.a, 9)
    close(both.force, np.hstack([one.force, one.force]) / 2, 9)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("projection", [True, False])
def test_motions_are_those_of_rollouts(projection, count):
    """A rod without a target holds its length of the start, gears move by a series of time."""
    arm = jc.models.chain(3)
    gears = jc.Coupling({"joint0": 1.0, "joint1": 0.5}, offset=None, motion=[0.1, 1.0, 2.0])
    items = [gears, jc.Distance("body2", anchor=(1, 1, 1))]
    c = jc.Constraints(arm, items).stabilized(ALPHA, BETA)
    q = np.array([[0.1, 0.2, 0.3], [0.3, 0.1, -0.4]])[:count]
    v, times = jc.project_velocity(arm, q, np.zeros(3), c), np.linspace(0.0, 0.2, 11)
    held = {"constraints": c, "projection": projection}
    rolled = jc.rollout(arm, q, v, np.zeros((10, 3)), 0.02, method="rkmk4", **held).q
    close(jc.simulate(arm, q, v, times, None, "rkmk4", dt=0.02, **held).q, rolled, 12)
    rolled = jc.rollout(arm, q, v, np.zeros((10, 3)), 0.02, method="dop853", **held).q
    fine = {"rtol": 1e-12, "atol": 1e-12, **held}
    exact = jc.simulate(arm, q, v, times, None, "taylor", **fine).q
    close(rolled, exact, 9)
    close(jc.simulate(arm, q, v, times, **fine).q, exact, 10)
