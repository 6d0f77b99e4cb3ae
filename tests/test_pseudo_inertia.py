"""Physical consistency: the pseudo inertia, its negative part, and log-Cholesky coordinates."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

EPS = np.finfo(float).eps


@pytest.fixture
def bodies():
    """Random bodies, as clouds of points with masses."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.standard_normal((50, 8, 3)), np.ones((50, 8, 1))], axis=-1)
    J = np.einsum("bk,bki,bkj->bij", rng.uniform(0.1, 1, (50, 8)), x, x)
    return jc.inertia.from_pseudo_inertia(J)


def test_the_ten_parameters_and_the_pseudo_inertia_are_the_same(bodies):
    J = jc.inertia.pseudo_inertia(bodies)
    np.testing.assert_allclose(
        jc.inertia.from_pseudo_inertia(J), bodies, rtol=8 * EPS, atol=8 * EPS
    )


def test_log_cholesky_goes_there_and_back(bodies):
    x = jc.inertia.log_cholesky(bodies)
    back = jc.inertia.from_log_cholesky(x)
    np.testing.assert_allclose(back, bodies, rtol=0, atol=1e-13 * np.abs(bodies).max())
    np.testing.assert_allclose(np.exp(2 * x[:, 0]), bodies[:, 0], rtol=1e-13)  # mass
    np.testing.assert_allclose(x[:, 7:], bodies[:, 1:4] / bodies[:, :1], rtol=1e-12, atol=1e-13)
    every = np.random.default_rng(1).standard_normal((100, 10))
    assert jc.inertia.is_possible(jc.inertia.from_log_cholesky(every)).all()


def test_derivatives_of_log_cholesky_are_those_of_differences(bodies):
    """Central differences that are exact up to the eighth derivative."""
    x = jc.inertia.log_cholesky(bodies)
    h, total = 2.0**-6, 0.0
    for k, weight in enumerate((4 / 5, -1 / 5, 4 / 105, -1 / 280), 1):
        steps = k * h * np.eye(10)
        up, down = (jc.inertia.from_log_cholesky(x[:, None] + s * steps) for s in (1, -1))
        total = total + weight * (up - down) / h
    got = jc.inertia.log_cholesky_derivatives(x)
    np.testing.assert_allclose(got, np.swapaxes(total, -1, -2), atol=1e-11 * np.abs(got).max())


def test_the_distance_is_that_to_the_nearest_body(bodies):
    rng = np.random.default_rng(2)
    assert jc.inertia.is_possible(bodies).all()
    assert not jc.inertia.distance(bodies).any()
    wrong = bodies - 2.0 * bodies[:, :1] * np.eye(10)[0]  # masses of the other sign
    assert not jc.inertia.is_possible(wrong).any()
    near = jc.inertia.nearest(wrong)
    J, J0 = jc.inertia.pseudo_inertia(near), jc.inertia.pseudo_inertia(wrong)
    d = np.linalg.norm(J - J0, axis=(-2, -1))
    np.testing.assert_allclose(jc.inertia.distance(wrong), d, rtol=1e-12)
    assert (np.linalg.eigvalsh(J)[:, 0] > -1e-13 * np.abs(J0).max()).all()
    # no other body is nearer: the projection on a convex set
    others = jc.inertia.pseudo_inertia(jc.inertia.from_log_cholesky(rng.standard_normal((50, 10))))
    inner = ((others - J) * (J0 - J)).sum((-2, -1))
    assert (inner <= 1e-12 * np.abs(J0).max() ** 2).all()


def test_mistakes_are_named():
    with pytest.raises(jc.ArgumentError, match="not positive definite"):
        jc.inertia.log_cholesky([1.0, *np.zeros(9)])
    with pytest.raises(jc.ArgumentError, match="coordinates"):
        jc.inertia.from_log_cholesky(np.full(10, np.nan))
    with pytest.raises(jc.ArgumentError, match="not finite"):
        jc.inertia.from_log_cholesky(np.full(10, 1e3))
