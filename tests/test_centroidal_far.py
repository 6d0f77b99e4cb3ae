"""Centroidal quantities do not lose digits where the robot stands far from the origin."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

FAR = 2.0**20
SOLID = {"mass": 1.3, "com": (0.1, 0.2, -0.3), "inertia": (0.05, 0.04, 0.03)}

BASES = {
    "slide": [("prismatic", SOLID)],
    "massless slides": [("prismatic", {}), ("prismatic", {"axis": (1, 0, 0), **SOLID})],
    "planar": [("planar", SOLID)],
    "slide, then free": [("prismatic", {}), ("free", SOLID)],
    "free": [("free", SOLID)],
}
POSITIONS = {
    "slide": [0],
    "massless slides": [0, 1],
    "planar": [0, 1],
    "slide, then free": [0, 5, 6, 7],
    "free": [4, 5, 6],
}


def robot(base):
    builder, parent = jc.ModelBuilder(), None
    for k, (kind, options) in enumerate(BASES[base]):
        builder.add_body(f"base{k}", parent, kind, **options)
        parent = f"base{k}"
    for k, axis in enumerate(np.eye(3)):
        builder.add_body(f"link{k}", parent, "revolute", (0.3, 0.1, 0.2), axis=axis, **SOLID)
        parent = f"link{k}"
    return builder.build()


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("lead", [(), (3,)])
def test_matrix_and_derivative_do_not_depend_on_where_the_robot_stands(base, lead):
    model, rng = robot(base), np.random.default_rng(0)
    near = jc.random_configuration(model, rng, lead)
    at = POSITIONS[base]
    near[..., at] = np.round(near[..., at] * 64) / 64  # so that the sums below are exact
    far, v = near.copy(), rng.standard_normal((*lead, model.nv))
    far[..., at] += FAR
    before = far.copy()
    for call in (
        lambda q: jc.centroidal_momentum_matrix(model, q),
        lambda q: jc.centroidal_momentum_matrix_rate(model, q, v),
    ):
        expected = call(near)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(call(far), expected, rtol=0, atol=1e-14 * scale)
    np.testing.assert_array_equal(far, before)


def test_a_slide_that_leaves_a_mass_behind_moves_the_center_of_mass():
    """There the position counts: the momentum about the center grows with the distance."""
    builder = jc.ModelBuilder()
    builder.add_body("rail", None, "prismatic", axis=(1, 0, 0), **SOLID)
    builder.add_body("cart", "rail", "prismatic", axis=(0, 1, 0), **SOLID)
    builder.add_body("load", "cart", "prismatic", axis=(1, 0, 0), **SOLID)
    model = builder.build()
    v = np.ones(3)
    for q in ([0.0, 0.0, 0.0], [3.0, 4.0, 5.0]):
        matrix = jc.centroidal_momentum_matrix(model, q)
        np.testing.assert_allclose(
            matrix @ v, jc.centroidal_momentum(model, q, v), rtol=0, atol=1e-14
        )
    # the load's speed along x, times its mass and its distance from the center along y
    spin = jc.centroidal_momentum_matrix(model, [0.0, 1e3, 0.0])[2, 2]
    np.testing.assert_allclose(spin, -1.3 * 1e3 / 3, rtol=1e-13)
    for roots in (1, 2):
        builder = jc.ModelBuilder()
        for k in range(roots):
            builder.add_body(f"b{k}", None, "prismatic", axis=(1, 0, 0), **SOLID)
        model = builder.build()
        q, v = np.arange(1.0, roots + 1), np.ones(roots)
        matrix = jc.centroidal_momentum_matrix(model, q)
        np.testing.assert_allclose(
            matrix @ v, jc.centroidal_momentum(model, q, v), rtol=0, atol=1e-14
        )
