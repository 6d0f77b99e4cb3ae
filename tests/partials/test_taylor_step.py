"""Derivatives of Taylor steps, exactly."""

from __future__ import annotations

import numpy as np
import partials_oracle as oracle
import pytest
from taylor_oracle import taylor_step

import jounce as jc

ROBOTS = {
    "every joint type": lambda: jc.models.mixed_tree(0),
    "spherical and free joints in the tree": lambda: jc.models.random_tree(
        5, 2, ("revolute", "spherical", "free")
    ),
    "aerial": jc.models.aerial_manipulator,
    "arm": lambda: jc.models.chain(3),
}


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("order", [2, 4, 12])
def test_derivatives_are_those_of_the_very_step(name, order):
    """By a complex step through the definition, along a few directions of everything at once."""
    model, rng = ROBOTS[name](), np.random.default_rng(4)
    q, (v, a) = jc.random_configuration(model, rng), rng.standard_normal((2, model.nv))
    f_ext = rng.standard_normal((model.n_bodies, 6))
    tau = jc.inverse_dynamics(model, q, v, a, f_ext)  # accelerations that lose no digits
    dt, n = 0.02, model.nv
    options = {"method": "taylor", "order": order, "actuated": np.ones(n, bool)}
    got = jc.linearize_step(model, q, v, tau, dt, f_ext, **options)
    d = rng.standard_normal((3, 4, n))
    moved = oracle.integrate(model, q.astype(complex), 1j * oracle.STEP * d[0])
    rates, forces = v + 1j * oracle.STEP * d[1], tau + 1j * oracle.STEP * d[2]
    end = taylor_step(model, moved, rates, forces, dt, order, f_ext)
    step = jc.step(model, q, v, tau, dt, f_ext, "taylor", order=order)
    for ours in (got, step):
        assert np.abs(jc.difference(model, end[0][0].real, ours.q)).max() < 1e-13
        assert oracle.relative(ours.v[None], end[1][:1].real) < 1e-12
    exact = np.concatenate([oracle.tangent(model, end[0]), end[1].imag / oracle.STEP], axis=-1)
    along = np.concatenate([d[0], d[1]], axis=-1) @ got.A.T + d[2] @ got.B.T
    assert oracle.relative(along, exact) < 1e-11
