"""Laws of mechanics that the series obey, whatever the robot and the order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from series_cases import (
    BATCH,
    ROBOTS,
    assert_series_close,
    given_forces,
    given_motion,
    robot,
    swing,
)

import jounce as jc
from jounce import lie
from jounce.model import Model

ORDER = 16
STEP = 0.2
"""Time by which Taylor polynomials are continued, s; the motions below vary at 1 rad/s."""


def continued(series: np.ndarray, h: float) -> np.ndarray:
    """Taylor polynomial after a time h of derivatives on the first axis."""
    return sum(row * h**k / math.factorial(k) for k, row in enumerate(series))


def product_rule(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Derivatives (r+1,) of x . y from those of x and y, (r+1, n) each (Leibniz)."""
    return np.array(
        [
            sum(math.comb(k, j) * np.sum(x[j] * y[k - j]) for j in range(k + 1))
            for k in range(len(x))
        ]
    )


@pytest.mark.parametrize("name", ROBOTS)
def test_series_predicts_the_forces_after_a_while(name):
    model = robot(name)
    motion = swing(model)
    q, rates = motion.evaluate(0.3, ORDER)
    now = jc.inverse_dynamics_series(model, q, rates)
    q, rates = motion.evaluate(0.3 + STEP, 3)
    later = jc.inverse_dynamics_series(model, q, rates)
    for k in range(3):
        assert_series_close(continued(now[k:], STEP), later[k], 1e-11)


@pytest.mark.parametrize("name", ROBOTS)
def test_power_of_the_forces_is_the_rate_of_the_energy(name):
    """d/dt (kinetic + potential energy) = tau . v, in all derivatives: Taylor's integral of it."""
    model = robot(name)
    motion = swing(model)
    q, rates = motion.evaluate(0.3, ORDER)
    tau = jc.inverse_dynamics_series(model, q, rates)
    power = product_rule(tau, rates[:-1])
    work = sum(p * STEP ** (k + 1) / math.factorial(k + 1) for k, p in enumerate(power))
    later = motion.evaluate(0.3 + STEP)
    change = energy(model, later.q, later.v) - energy(model, q, rates[0])
    size = abs(energy(model, q, rates[0])) + np.abs(tau[0] * rates[0]).sum() * STEP
    assert abs(work - change) <= 1e-13 * size


def energy(model: Model, q, v):
    return float(jc.kinetic_energy(model, q, v) + jc.potential_energy(model, q))


@pytest.mark.parametrize("name", ROBOTS)
def test_reversed_time_changes_the_sign_of_odd_derivatives(name):
    model = robot(name)
    q, motion, f_ext = given_motion(name)
    odd = (-1.0) ** np.arange(motion.shape[1])
    backward, even = -odd[:, None] * motion, odd[:-1, None]
    tau = jc.inverse_dynamics_series(model, q, motion, f_ext)
    actual = jc.inverse_dynamics_series(model, q, backward, even[..., None] * f_ext)
    assert_series_close(actual, even * tau, 1e-15)
    q, v, _, tau, f_ext = given_forces(name)
    acc = jc.forward_dynamics_series(model, q, v, tau, f_ext)
    actual = jc.forward_dynamics_series(model, q, -v, even * tau, even[..., None] * f_ext)
    assert_series_close(actual, even * acc, 1e-15)


@pytest.mark.parametrize("name", ROBOTS)
def test_twice_as_fast_scales_order_k_by_2_to_the_k_plus_2(name):
    """Without gravity, v(2t) has the forces 4 tau(2t); powers of two scale exactly."""
    model = robot(name).replace(gravity=(0, 0, 0))
    q, motion, _ = given_motion(name)
    powers = 2.0 ** np.arange(1, motion.shape[1] + 1)[:, None]
    slow = jc.inverse_dynamics_series(model, q, motion)
    fast = jc.inverse_dynamics_series(model, q, powers * motion)
    np.testing.assert_array_equal(fast, powers[1:] * slow)


def moved_base(q, pose):
    """Coordinates with the first joint, a free one, moved by a pose in the world."""
    base = np.zeros((len(q), 4, 4))
    base[:, :3, :3], base[:, :3, 3] = lie.quat_to_matrix(q[:, :4]), q[:, 4:7]
    base[:, 3, 3] = 1.0
    base = pose @ base
    return np.hstack([lie.matrix_to_quat(base[:, :3, :3]), base[:, :3, 3], q[:, 7:]])


@pytest.mark.parametrize("name", ["aerial manipulator", "mixed tree"])
def test_series_do_not_depend_on_where_the_robot_is(name):
    """10^6 m away, all is the same to 1e-12; nothing is taken about the world's origin."""
    model = robot(name)
    away = np.eye(4)
    away[:3, 3] = 1e6, -2e6, 1e6
    q, motion, f_ext = given_motion(name)
    tau = jc.inverse_dynamics_series(model, q, motion, f_ext)
    far = jc.inverse_dynamics_series(model, moved_base(q, away), motion, f_ext)
    assert_series_close(far, tau, 1e-12)
    q, v, _, tau, f_ext = given_forces(name)
    acc = jc.forward_dynamics_series(model, q, v, tau, f_ext)
    far = jc.forward_dynamics_series(model, moved_base(q, away), v, tau, f_ext)
    assert_series_close(far, acc, 1e-12)


@pytest.mark.parametrize("name", ["aerial manipulator", "mixed tree"])
def test_series_do_not_depend_on_the_worlds_axes(name):
    """Turn robot and gravity together: body-fixed twists and wrenches stay what they were."""
    model = robot(name)
    turn = lie.exp(np.array([0.4, -1.1, 0.7, 1.0, 2.0, -3.0]))
    turned = model.replace(gravity=turn[:3, :3] @ model.gravity)
    q, motion, f_ext = given_motion(name)
    tau = jc.inverse_dynamics_series(model, q, motion, f_ext)
    actual = jc.inverse_dynamics_series(turned, moved_base(q, turn), motion, f_ext)
    assert_series_close(actual, tau, 1e-13)


@pytest.mark.parametrize("name", ROBOTS)
def test_forces_superpose_the_external_wrenches(name):
    """tau is affine in f_ext, order by order; wrenches of order k do not act on lower ones."""
    model = robot(name)
    q, motion, f_ext = given_motion(name)
    without = jc.inverse_dynamics_series(model, q, motion)
    once = jc.inverse_dynamics_series(model, q, motion, f_ext)
    twice = jc.inverse_dynamics_series(model, q, motion, 2 * f_ext)
    size = sum(np.abs(x).max(-1, keepdims=True) for x in (without, once, twice))
    error = (twice - once) - (once - without)
    assert (np.abs(error) <= 100 * np.finfo(float).eps * size).all()  # binomials up to 10
    last = f_ext.copy()
    last[:, :-1] = 0
    alone = jc.inverse_dynamics_series(model, q, motion, last)
    np.testing.assert_array_equal(alone[:, :-1], without[:, :-1])


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_at_rest_under_constant_forces_stays_at_rest(name):
    model = robot(name)
    q, _, _ = given_motion(name)
    tau = np.zeros((BATCH, 6, model.nv))
    tau[:, 0] = jc.gravity_forces(model, q)
    acc = jc.forward_dynamics_series(model, q, np.zeros(model.nv), tau)
    least = np.linalg.eigvalsh(jc.mass_matrix(model, q)).min(-1)
    rounding = np.abs(tau[:, 0]).max(-1) / least
    slope = jc.forward_dynamics_derivatives(model, q, np.zeros(model.nv), tau[:, 0]).dq
    rate = np.maximum(
        1, np.sqrt(np.linalg.norm(slope, 2, axis=(-2, -1)))
    )  # of what rounding starts
    for k in range(6):
        assert (np.abs(acc[:, k]).max(-1) <= 1e-14 * rounding * rate**k).all()


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_that_stays_at_rest_needs_the_forces_of_gravity(name):
    model = robot(name)
    q, _, _ = given_motion(name)
    tau = jc.inverse_dynamics_series(model, q, np.zeros((BATCH, 7, model.nv)))
    expected = np.zeros_like(tau)
    expected[:, 0] = jc.gravity_forces(model, q)
    size = np.abs(expected[:, 0]).max(-1)[:, None, None]
    assert (size > 0).all()
    assert (np.abs(tau - expected) <= 64 * np.finfo(float).eps * size).all()
