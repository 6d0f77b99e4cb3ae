"""States go into the lanes of registers and out again whatever their numbers and sizes are."""

import numpy as np
import pytest

import jounce as jc

SIZES = range(1, 20)
"""Rates of a robot: more and fewer than a register holds, and every number that is left over."""

COUNTS = (1, 2, 3, 4, 5, 7, 8, 9, 13, 16)
"""States: packs that are whole and packs that are not."""


def states(n, count, seed=0):
    """A robot of n rates, and q, v, a of so many states."""
    rng = np.random.default_rng([n, count, seed])
    return jc.models.chain(n), rng.standard_normal((3, count, n))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("count", COUNTS)
def test_every_state_of_every_width_is_that_state(n, count):
    arm, x = states(n, count)
    guard = np.full(count * n + 32, 7.0)
    inside = guard[16:-16].reshape(count, n)
    each = np.array([jc.inverse_dynamics(arm, *(y[i] for y in x)) for i in range(count)])
    assert np.allclose(jc.inverse_dynamics(arm, *x), each, rtol=1e-12, atol=1e-12 * n**3)
    jc.inverse_dynamics(arm, *x, out=inside)
    assert np.allclose(inside, each, rtol=1e-12, atol=1e-12 * n**3)
    inside[...] = 7.0
    assert (guard == 7.0).all()  # nothing beside the result is written


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_number_that_is_not_finite_is_found_at_every_place(n, value):
    arm, x = states(n, 8)
    for state in (0, 3, 7):
        for place in range(n):
            v = x[1].copy()
            v[state, place] = value
            with pytest.raises(jc.ArgumentError, match=rf"at v\[{state}, {place}\]"):
                jc.inverse_dynamics(arm, x[0], v, x[2])


@pytest.mark.parametrize("n", SIZES)
def test_directions_of_every_width_are_those_of_the_partials(n):
    arm, (q, v, a) = states(n, 1)
    q, v, a = q[0], v[0], a[0]
    d = np.random.default_rng(n).standard_normal((3, 8, n))
    partials = jc.inverse_dynamics_derivatives(arm, q, v, a)
    expected = sum(x @ y.T for x, y in zip(d, partials, strict=True))
    found = jc.jvp(jc.inverse_dynamics, arm, (q, v, a), tuple(d))
    scale = np.abs(expected).max()
    assert np.abs(found.derivative - expected).max() <= 1e-12 * n * scale
