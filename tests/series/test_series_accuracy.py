"""The estimate of the error of forward series is near the error that they have."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

EPS = np.finfo(float).eps
ORDER = 12
ROBOTS = {
    "chain": lambda: jc.models.chain(7),
    "all joints": lambda: jc.models.random_tree(8, 1),
    "one body": lambda: jc.models.chain(1),
}


def returned(model, seed, lead=()):
    """A motion, its forces, and the motion that these give: they differ by what rounding does."""
    rng = np.random.default_rng(seed)
    q = jc.random_configuration(model, rng, lead)
    motion = rng.standard_normal((*lead, ORDER + 2, model.nv))
    tau = jc.inverse_dynamics_series(model, q, motion)
    a = jc.forward_dynamics_series(model, q, motion[..., 0, :], tau)
    exact = motion[..., 1:, :]
    error = np.abs(a - exact).max(axis=-1) / np.abs(a).max(axis=-1)
    return error, (q, motion[..., 0, :], tau)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_estimate_is_of_the_size_of_the_error(name):
    """Within three digits in the mean of many states, over twelve orders of growth."""
    model = ROBOTS[name]()
    error, arguments = returned(model, 0, (40,))
    estimate = jc.forward_dynamics_series_error(model, *arguments)
    assert estimate.shape == (40, ORDER + 1)
    assert (estimate >= EPS).all()
    off = np.log10(np.maximum(error, EPS)) - np.log10(estimate)
    assert np.abs(off.mean(axis=0)).max() < 3
    growth = np.log10(np.maximum(error, EPS).mean(axis=0))
    told = np.log10(estimate.mean(axis=0))
    if growth[-1] - growth[0] > 3:
        assert told[-1] - told[0] > 0.5 * (growth[-1] - growth[0])


def test_series_without_a_digit_are_told():
    """Forces of a random motion of an arm: those of order 20 give no digit of it."""
    model = jc.models.chain(7)
    rng = np.random.default_rng(3)
    q, motion = rng.standard_normal(7), rng.standard_normal((22, 7))
    tau = jc.inverse_dynamics_series(model, q, motion)
    estimate = jc.forward_dynamics_series_error(model, q, motion[0], tau)
    assert estimate[0] < 1e-11
    assert estimate[20] > 0.1


def test_wrenches_and_empty_batches_are_taken():
    model = jc.models.random_tree(5, 1)
    q = jc.random_configuration(model, 0, 0)
    v, tau = np.zeros(model.nv), np.zeros((3, model.nv))
    f_ext = np.ones((3, model.n_bodies, 6))
    assert jc.forward_dynamics_series_error(model, q, v, tau, f_ext).shape == (0, 3)


@pytest.mark.parametrize("samples", [0, -1, 1.5, "x", None, 2**70])
def test_samples_are_a_number(samples):
    model = jc.models.chain(2)
    with pytest.raises(jc.ArgumentError, match="samples: expected an integer"):
        jc.forward_dynamics_series_error(model, [0, 0], [0, 0], [[0, 0]], samples=samples)
