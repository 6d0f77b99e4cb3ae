"""Laws between the orders of a series, and between inverse, forward and hybrid dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from series_cases import (
    BATCH,
    EPS,
    EXACT,
    ORDER,
    ROBOTS,
    assert_series_close,
    given_forces,
    given_motion,
    random_mask,
    robot,
)

import jounce as jc
from jounce import trajectories
from jounce.model import Model


@pytest.mark.parametrize("name", ROBOTS)
def test_order_zero_is_plain_dynamics(name):
    model = robot(name)
    q, motion, f_ext = given_motion(name)
    v, a, f = motion[:, 0], motion[:, 1], f_ext[:, 0]
    tau = jc.inverse_dynamics(model, q, v, a, f)
    actual = jc.inverse_dynamics_series(model, q, motion, f_ext)
    assert_series_close(actual[:, 0], tau, 1e-13)
    q, v, _, tau, f_ext = given_forces(name)
    acc = jc.forward_dynamics_series(model, q, v, tau, f_ext)
    expected = jc.forward_dynamics(model, q, v, tau[:, 0], f_ext[:, 0])
    assert_series_close(acc[:, 0], expected, EXACT)
    mask = random_mask(model, 1)
    both = jc.hybrid_dynamics_series(model, q, v, acc, tau, mask, f_ext)
    plain = jc.hybrid_dynamics(model, q, v, acc[:, 0], tau[:, 0], mask, f_ext[:, 0])
    for series, value in zip(both, plain, strict=True):
        assert_series_close(series[:, 0], value, EXACT)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 5, 8])
@pytest.mark.parametrize("name", ROBOTS)
def test_lower_orders_do_not_depend_on_higher_ones(name, order):
    most, model, mask = 9, robot(name), random_mask(robot(name), 2)
    q, motion, f_ext = given_motion(name, most)
    whole = jc.inverse_dynamics_series(model, q, motion, f_ext)
    part = jc.inverse_dynamics_series(model, q, motion[:, : order + 2], f_ext[:, : order + 1])
    assert_series_close(part, whole[:, : order + 1], 1e-14)
    q, v, _, tau, f_ext = given_forces(name, most)
    head = slice(None), slice(order + 1)
    acc = jc.forward_dynamics_series(model, q, v, tau, f_ext)
    part = jc.forward_dynamics_series(model, q, v, tau[head], f_ext[head])
    assert_series_close(part, acc[head], 1e-14)
    both = jc.hybrid_dynamics_series(model, q, v, acc, tau, mask, f_ext)
    parts = jc.hybrid_dynamics_series(model, q, v, acc[head], tau[head], mask, f_ext[head])
    for x, y in zip(parts, both, strict=True):
        assert_series_close(x, y[head], 1e-14)


@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize("name", ROBOTS)
def test_forces_depend_on_the_highest_derivative_through_the_mass_matrix(name, k):
    """tau^(k) is affine in v^(k+1) with matrix M(q), at every order (ali, Lemma 2)."""
    model = robot(name)
    q, motion, _ = given_motion(name, k)
    step = np.random.default_rng(k).standard_normal((BATCH, model.nv))
    moved = motion.copy()
    moved[:, -1] += step
    here = jc.inverse_dynamics_series(model, q, motion)
    change = jc.inverse_dynamics_series(model, q, moved) - here
    expected = np.einsum("bij,bj->bi", jc.mass_matrix(model, q), step)
    size = np.abs(here[:, -1]).max(-1, keepdims=True) + np.abs(expected).max(-1, keepdims=True)
    assert (np.abs(change[:, -1] - expected) <= 1e-13 * size).all()
    assert (change[:, :-1] == 0).all()


# Inverse, forward and hybrid


@pytest.mark.parametrize("name", ROBOTS)
def test_hybrid_series_equals_both_limits(name):
    model, every = robot(name), np.ones(robot(name).nv, bool)
    q, motion, f_ext = given_motion(name)
    v, acc = motion[:, 0], motion[:, 1:]
    nothing = np.full_like(acc, np.nan)
    actual = jc.hybrid_dynamics_series(model, q, v, acc, nothing, every, f_ext)
    assert_series_close(actual[0], acc, 4 * EPS)
    assert_series_close(actual[1], jc.inverse_dynamics_series(model, q, motion, f_ext), 1e-12)
    q, v, _, tau, f_ext = given_forces(name)
    actual = jc.hybrid_dynamics_series(model, q, v, nothing, tau, ~every, f_ext)
    assert_series_close(actual[1], tau, 4 * EPS)
    assert_series_close(actual[0], jc.forward_dynamics_series(model, q, v, tau, f_ext), 1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ROBOTS)
def test_mixed_masks_agree_with_inverse_and_forward_series(name, seed):
    model = robot(name)
    mask = random_mask(model, seed)
    q, v, _, tau, f_ext = given_forces(name)
    acc = jc.forward_dynamics_series(model, q, v, tau, f_ext)
    known_acc, known_tau = np.where(mask, acc, np.nan), np.where(mask, np.nan, tau)
    found = jc.hybrid_dynamics_series(model, q, v, known_acc, known_tau, mask, f_ext)
    assert_series_close(found[0], acc, EXACT)
    motion = np.concatenate([v[:, None], found[0]], axis=1)
    inverse = jc.inverse_dynamics_series(model, q, motion, f_ext)
    size = np.abs(acc @ jc.mass_matrix(model, q)).max(-1, keepdims=True)
    assert (np.abs(found[1] - inverse) <= EXACT * size).all()
    assert (np.abs(found[1] - tau) <= EXACT * size).all()


@pytest.mark.parametrize("name", ROBOTS)
def test_inverse_series_of_forward_series_returns_the_forces(name):
    model = robot(name)
    q, v, _, tau, f_ext = given_forces(name)
    acc = jc.forward_dynamics_series(model, q, v, tau, f_ext)
    motion = np.concatenate([v[:, None], acc], axis=1)
    back = jc.inverse_dynamics_series(model, q, motion, f_ext)
    # The terms that cancel to the forces of order k are of the size of M a^(k).
    size = np.abs(acc @ jc.mass_matrix(model, q)).max(-1, keepdims=True)
    assert (np.abs(back - tau) <= EXACT * size).all()


class TestTable3:
    """The round trip of ali, Sec. 7: 3000 steps, order 5, one call each."""

    model = jc.models.aerial_manipulator()

    def trip(self, model: Model):
        reference = trajectories.aerial_manipulator_reference(model)
        q, motion = reference.evaluate(0.01 * np.arange(3000), ORDER)
        tau = jc.inverse_dynamics_series(model, q, motion)
        return q, motion, tau, jc.forward_dynamics_series(model, q, motion[:, 0], tau)

    def test_forces_return_to_rounding(self):
        q, motion, tau, acc = self.trip(self.model)
        motion = np.concatenate([motion[:, :1], acc], axis=1)
        assert_series_close(jc.inverse_dynamics_series(self.model, q, motion), tau, 1e-13)

    def test_accelerations_return_to_1e_10_of_the_robots_own_scale(self):
        """Relative to |a| W^k, where W is the rate at which the robot itself responds.

        The motion of Table 3 is slow, about 0.2 rad/s, while the hanging arms swing at W = 9 rad/s:
        an error d in the acceleration comes back as W^k d in its k-th derivative. Rounding the
        forces to doubles alone moves the fourth derivative by 1e-10 or 2e-7 of its own size.
        """
        q, motion, _, acc = self.trip(self.model)
        rate = self.own_rate(q[::100])
        assert 5 < rate < 20
        sizes = np.abs(motion[:, 1:]).max((0, 2))
        scale = [max(sizes[j] * rate ** (k - j) for j in range(k + 1)) for k in range(ORDER + 1)]
        errors = np.abs(acc - motion[:, 1:]).max((0, 2))
        assert (errors <= 1e-10 * np.array(scale)).all(), errors / scale

    def own_rate(self, q):
        """Largest |eigenvalue|^(1/2) of M^-1 dg/dq: how fast small errors evolve, in rad/s."""
        step, nv = 1e-6, self.model.nv
        ahead = jc.integrate(self.model, q[:, None], step * np.eye(nv))
        behind = jc.integrate(self.model, q[:, None], -step * np.eye(nv))
        slope = jc.gravity_forces(self.model, ahead) - jc.gravity_forces(self.model, behind)
        matrix = jc.inverse_mass_matrix(self.model, q) @ slope.swapaxes(-1, -2) / (2 * step)
        return np.sqrt(np.abs(np.linalg.eigvals(matrix)).max())

    def test_errors_of_accelerations_are_those_of_rounding_the_forces(self):
        q, motion, tau, acc = self.trip(self.model)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], tau.shape)
        nearby = tau * (1 + 2.0**-33 * signs)
        change = jc.forward_dynamics_series(self.model, q, motion[:, 0], nearby) - acc
        rounding = 2.0**-20 * np.abs(change).max((0, 2))
        assert (np.abs(acc - motion[:, 1:]).max((0, 2)) <= 4 * rounding).all()

    def test_accelerations_return_to_1e_10_of_each_orders_size_without_gravity(self):
        _, motion, _, acc = self.trip(self.model.replace(gravity=(0, 0, 0)))
        assert_series_close(acc, motion[:, 1:], 1e-10)
