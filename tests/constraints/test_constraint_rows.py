"""What the rows of constraints measure: rates, accelerations, residuals, Jacobians."""

from __future__ import annotations

import constraints_oracle as oracle
import numpy as np
import partials_oracle
import pytest
from constraints_cases import KINDS, ROBOTS, close, kinds, robot, states

import jounce as jc
from jounce.constraints.derivatives import row_derivatives


@pytest.fixture(params=ROBOTS)
def model(request):
    return robot(request.param)


@pytest.mark.parametrize("kind", KINDS)
def test_the_jacobian_maps_rates_to_those_of_the_rows(model, kind):
    item, at = kinds(model)[kind], states(model)
    c = jc.Constraints(model, [item])
    close(c.jacobian(at.q), oracle.jacobian(model, [item], at.q), 13)
    close(c.velocity(at.q, at.v), oracle.velocity(model, [item], at.q, at.v), 13)


@pytest.mark.parametrize("kind", KINDS)
def test_accelerations_are_the_rates_of_the_rates(model, kind):
    item, at = kinds(model)[kind], states(model)
    c = jc.Constraints(model, [item])
    bias = oracle.bias(model, [item], at.q, at.v)
    close(c.bias(at.q, at.v), bias, 12)
    J = oracle.jacobian(model, [item], at.q)
    expected = bias + (J @ at.a[..., None])[..., 0]
    close(c.acceleration(at.q, at.v, at.a), expected, 12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_residual_vanishes_where_it_is_held_and_grows_with_the_jacobian(model, kind):
    c = jc.Constraints(model, [kinds(model)[kind]])
    at = states(model, count=1)
    q = at.q[0]
    held = c.at(q)
    assert np.array_equal(held.targeted, held.holonomic) or kind == "gears"
    if kind in ("gears", "cam"):
        held = jc.Constraints(model, [jc.Coupling(dict(c.items[0].coefficients), None)]).at(q)
    close(held.residual(q), 0.0, 13, 1.0)
    rows = held.holonomic & held.targeted
    h, d = 1e-4, at.v[0]
    moved = [held.residual(jc.integrate(model, q, s * h * d)) for s in (1, -1, 2, -2)]
    slope = (8 * (moved[0] - moved[1]) - (moved[2] - moved[3])) / (12 * h)
    close(slope[rows], held.velocity(q, d)[rows], 9)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_of_rows(model, kind):
    items, at = [kinds(model)[kind]], states(model, count=2)
    c = jc.Constraints(model, items)
    force = at.rng.standard_normal((2, c.size))
    d = row_derivatives(c, at.q, at.v, at.a, force)
    v, a, f = at.v[:, None], at.a[:, None], force[:, None]

    def velocity(q):
        return oracle.velocity(model, items, q, v)

    def acceleration(q, v=v):
        return oracle.velocity(model, items, q, a) + oracle.bias_of(model, items, q, v)

    def transposed(q):
        return (oracle.jacobian(model, items, q).swapaxes(-1, -2) @ f[..., None])[..., 0]

    close(d.velocity_dq, partials_oracle.in_q(model, at.q, velocity), 12)
    close(d.acceleration_dq, partials_oracle.in_q(model, at.q, acceleration), 10)
    by_v = partials_oracle.in_x(at.v, lambda v: acceleration(at.q[:, None], v))
    close(d.acceleration_dv, by_v, 10)
    close(d.transposed_dq, partials_oracle.in_q(model, at.q, transposed), 12)
