"""Forward series of the Panda of example-robot-data lose their digits, and say so when asked."""

from __future__ import annotations

import numpy as np
import pytest
import real_robots

import jounce as jc

PATH = next((p for p in real_robots.ROBOTS if p.name == "panda.urdf"), None)
pytestmark = pytest.mark.skipif(PATH is None, reason="there is no Panda")


def returned(order, seed):
    """Errors of the motion that the forces of a random one give, and the estimate of them."""
    model = real_robots.load_quietly(str(PATH), base="fixed")
    rng = np.random.default_rng(seed)
    q, motion = jc.random_configuration(model, rng), rng.standard_normal((order + 2, model.nv))
    tau = jc.inverse_dynamics_series(model, q, motion)
    a = jc.forward_dynamics_series(model, q, motion[0], tau)
    exact, off = np.abs(motion[1:]).max(axis=-1), np.abs(a - motion[1:]).max(axis=-1)
    estimate = jc.forward_dynamics_series_error(model, q, motion[0], tau)
    return off / exact, off / np.abs(a).max(axis=-1), estimate


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("order", [10, 15])
def test_the_estimate_is_of_the_size_of_the_error_at_every_order(order, seed):
    _, error, estimate = returned(order, seed)
    off = np.log10(estimate) - np.log10(np.maximum(error, np.finfo(float).eps))
    assert np.abs(off).max() < 3


@pytest.mark.parametrize("seed", range(5))
def test_some_digits_are_left_at_order_10_and_none_at_15(seed):
    error, _, estimate = returned(10, seed)
    assert 1e-6 < error[-1] < 1
    assert error[-1] < 3 * estimate[-1] < 10
    error, _, estimate = returned(15, seed)
    assert error[-1] > 1
    assert estimate[-1] > 1
