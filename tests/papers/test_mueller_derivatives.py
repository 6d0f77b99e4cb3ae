"""Derivatives in `jounce.papers.mueller` that the core does not have, against exact oracles.

A complex step through a function that is itself compared with the core gives its derivative without
cancellation. A derivative of order m is checked by the complex step through order m - 1, down to
the Jacobian, and once more from outside by Cauchy's integral on a circle.
"""

import math

import numpy as np
import pytest
from test_mueller import (
    ONE_DOF_MODELS,
    TWISTS,
    H,
    along,
    assert_close,
    every_model,
    every_twist,
    gradient,
    moved,
    stand_in,
    states,
)

import jounce as jc
from jounce import lie
from jounce.papers import mueller

FEW = 3


# Section 2: jerks and second Jacobian rates


@every_twist
@every_model
def test_jerk_is_the_rate_of_the_acceleration(name, twist):
    for model, q, v, a, j, _ in states(name):

        def acceleration(q, v, a, model=model):
            return mueller.accelerations(model, q, v, a, twist)

        expected = along(acceleration, model, q, v, (v, a), (a, j))
        assert_close(mueller.jerks(model, q, v, a, j, twist), expected)
        if twist == "spatial":
            assert_close(mueller.spatial_jerks_nested(model, q, v, a, j), expected)


@every_model
def test_second_rate_of_the_hybrid_jacobian(name):
    for model, q, v, a, *_ in states(name):

        def rate(q, v, model=model):
            return mueller.system_jacobian_rate(model, q, v, "hybrid")

        expected = along(rate, model, q, v, (v, a))
        assert_close(mueller.hybrid_jacobian_rate2(model, q, v, a), expected)


# Section 2: partial derivatives of Jacobians


def assert_partials_are_gradients(model, q, body, order, twist, tolerance=1e-11):
    def lower(q):
        return mueller.jacobian_partials(model, q, body, order - 1, twist)

    direction = np.random.default_rng(order).standard_normal(model.nv)
    expected = along(lower, model, q, direction)
    # The outermost derivative is the first index, D_{a_1} (D_{a_2} ...).
    found = np.tensordot(
        mueller.jacobian_partials(model, q, body, order, twist), direction, axes=([2], [0])
    )
    assert_close(found, expected, tolerance, at_least=1.0)


@every_twist
@every_model
def test_first_partials(name, twist):
    for model, q, *_ in states(name):
        assert_partials_are_gradients(model, q, model.n_bodies - 1, 1, twist)


@every_twist
@every_model
def test_second_partials(name, twist):
    for model, q, *_ in states(name):
        assert_partials_are_gradients(model, q, model.n_bodies // 2, 2, twist)


@every_twist
@pytest.mark.parametrize("order", [3, 4])
def test_partials_with_a_free_joint_that_does_not_commute(order, twist):
    builder = jc.ModelBuilder()
    builder.add_body("base", joint="spherical", mass=1.0)
    builder.add_body("arm", "base", joint="helical", pitch=0.3, axis=(1, 2, 3), mass=1.0)
    builder.add_body("hand", "arm", joint="revolute", axis=(0, 1, 1), mass=1.0)
    model = builder.build()
    q = jc.random_configuration(model, 0)
    assert_partials_are_gradients(model, q, "hand", order, twist)


SMALL = jc.models.random_tree(4, 2, ("revolute", "helical", "prismatic", "revolute"))


@every_twist
@pytest.mark.parametrize("order", range(1, 8))
def test_partials_of_high_order(order, twist):
    for seed in range(FEW if order < 6 else 1):
        q = jc.random_configuration(SMALL, seed)
        tolerance = 1e-11 if order <= 5 else 1e-8
        assert_partials_are_gradients(SMALL, q, 3, order, twist, tolerance)


@every_twist
def test_single_partials_are_entries_of_the_tensor(twist):
    model, q, *_ = next(states("mixed_tree"))
    rng = np.random.default_rng(4)
    tensor = mueller.jacobian_partials(model, q, 3, 3, twist)
    indices = rng.integers(model.nv, size=(200, 4))
    for j, *alpha in indices:
        value = mueller.jacobian_partial(model, q, 3, j, tuple(alpha), twist)
        assert_close(value, tensor[(slice(None), j, *alpha)], 1e-13, at_least=1.0)
    assert_close(mueller.jacobian_partials(model, q, 3, 0, twist), jc.jacobian(model, q, 3, twist))


@every_twist
def test_partials_are_the_taylor_coefficients_of_the_jacobian(twist):
    """Cauchy's integral: the Jacobian is an entire function of the coordinates."""
    q = jc.random_configuration(SMALL, 5)
    rng = np.random.default_rng(6)
    direction = rng.standard_normal(SMALL.nv)
    points = np.exp(2j * np.pi * np.arange(64) / 64)
    values = [mueller.jacobian(SMALL, q + z * direction, 3, twist) for z in points]
    taylor = np.fft.fft(values, axis=0) / len(points)
    for order in range(8):
        partials = mueller.jacobian_partials(SMALL, q, 3, order, twist)
        for _ in range(order):
            partials = partials @ direction
        expected = math.factorial(order) * np.real(taylor[order])
        size = math.factorial(order) * np.abs(values).max()  # rounding in Cauchy's integral
        assert_close(partials, expected, 1e-11 if order <= 5 else 1e-8, size)


# Section 5: Christoffel symbols


@every_model
def test_mass_matrix_partials(name):
    for model, q, *_ in states(name, FEW):
        expected = gradient(lambda x, m=model: mueller.mass_matrix(m, x), model, q)
        assert_close(mueller.mass_matrix_partials(model, q), expected)


@pytest.mark.parametrize("name", ONE_DOF_MODELS)
def test_christoffel_symbols_come_from_the_mass_matrix(name):
    for model, q, *_ in states(name):
        expected = mueller.christoffel_from_mass_matrix(model, q)
        assert_close(mueller.christoffel_symbols(model, q), expected)
        assert_close(mueller.christoffel_binet(model, q), expected)


@every_model
def test_christoffel_symbols_are_the_quadratic_terms_of_the_core(name):
    for model, q, v, *_ in states(name):
        gamma = mueller.christoffel_symbols(model, q)
        assert_close(gamma, gamma.transpose(0, 2, 1), 1e-14)
        assert_close(mueller.christoffel_binet(model, q), gamma)
        quadratic = jc.bias_forces(model, q, v) - jc.gravity_forces(model, q)
        assert_close(np.einsum("ijk,j,k->i", gamma, v, v), quadratic)


@every_model
def test_christoffel_symbols_are_second_derivatives_of_the_inverse_dynamics(name):
    for model, q, v, *_ in states(name, FEW):
        gamma = mueller.christoffel_symbols(model, q)
        zero = np.zeros(model.nv)
        columns = [
            np.imag(mueller.inverse_dynamics(model, q, v + 1j * H * e, zero)) / H
            for e in np.eye(model.nv)
        ]
        assert_close(2 * np.einsum("ijk,j->ik", gamma, v), np.stack(columns, axis=-1))


@every_model
def test_lagrange_terms(name):
    for model, q, v, a, *_ in states(name, FEW):
        slope = gradient(lambda x, m=model, v=v: mueller.kinetic_energy(m, x, v), model, q)
        assert_close(mueller.kinetic_energy_gradient(model, q, v), slope)

        def momentum(q, v, model=model):
            return mueller.conjugate_momentum(model, q, v)

        rate = along(momentum, model, q, v, (v, a))
        assert_close(mueller.conjugate_momentum_rate(model, q, v, a), rate)


# Section 6: sensitivities


@every_model
def test_linearized_equations(name):
    for model, q, v, a, _, f_ext in states(name, FEW):
        found = mueller.linearized_equations(model, q, v, a, f_ext)

        def forces(q, v, model=model, a=a, f_ext=f_ext):
            return mueller.inverse_dynamics(model, q, v, a, f_ext, "spatial")

        assert_close(found.dq, gradient(lambda x, v=v: forces(x, v), model, q))
        columns = [np.imag(forces(q, v + 1j * H * e)) / H for e in np.eye(model.nv)]
        assert_close(found.dv, np.stack(columns, axis=-1))
        assert_close(found.da, jc.mass_matrix(model, q))


@every_model
def test_geometric_sensitivity(name):
    rng = np.random.default_rng(7)
    for model, q, v, a, *_ in states(name, FEW):
        nodes = rng.choice(len(model.nodes.parent), 2, replace=False)
        variations = [
            mueller.GeometricVariation(
                int(node), rng.standard_normal((6, 3)), 0.3 * rng.standard_normal(3)
            )
            for node in nodes
        ]
        varied = stand_in(model, placement=mueller.varied_placements(model, variations))
        found = mueller.geometric_sensitivity(varied, q, v, a, variations)
        for p in range(6):
            _check_geometric_column(model, q, v, a, variations, found, p)


def _check_geometric_column(model, q, v, a, variations, found, p):
    steps = [x._replace(values=x.values.astype(complex)) for x in variations]
    steps[p // 3].values[p % 3] += 1j * H
    stepped = stand_in(model, placement=mueller.varied_placements(model, steps))
    C = mueller.configurations(stepped, q)
    motion = lie.vee((lie.inverse(C.real) @ C).imag / H)
    J = mueller.system_jacobian(stepped, q)
    assert_close(found.pose[..., p], motion, at_least=1.0)
    assert_close(found.jacobian[..., p], J.imag / H, at_least=1.0)
    assert_close(found.twist[..., p], (J @ v).imag / H, at_least=1.0)
    mass = mueller.mass_matrix(stepped, q)
    assert_close(found.mass_matrix[..., p], mass.imag / H, at_least=np.abs(mass).max())
    forces = mueller.inverse_dynamics(stepped, q, v, a, None, "hybrid")
    assert_close(found.forces[..., p], forces.imag / H, at_least=np.abs(forces).max())


@every_model
def test_time_derivatives_of_the_inverse_dynamics(name):
    rng = np.random.default_rng(8)
    for model, q, v, a, *_ in states(name, FEW):
        motion = np.concatenate([[v, a], rng.standard_normal((6, model.nv))])
        series = mueller.inverse_dynamics_series(model, q, motion)
        assert_close(series[0], jc.inverse_dynamics(model, q, v, a))
        stepped = motion[:-1] + 1j * H * motion[1:]
        lower = mueller.inverse_dynamics_series(model, moved(model, q, 1j * H * v), stepped)
        for order in range(1, 7):
            tolerance = 1e-11 if order <= 5 else 1e-8
            assert_close(series[order], lower[order - 1].imag / H, tolerance)


def test_all_functions_accept_complex_states():
    """Every representation gives the same complex-step derivative of the inverse dynamics."""
    model, q, v, a, j, f_ext = next(states("any_joint_tree"))
    slopes = []
    for twist in TWISTS:
        for function in (mueller.inverse_dynamics, mueller.euler_jourdain):

            def forces(q, v, a, function=function, twist=twist):
                return function(model, q, v, a, f_ext, twist)

            slopes.append(along(forces, model, q, v, (v, a), (a, j)))
    for slope in slopes[1:]:
        assert_close(slope, slopes[0])


# The same numbers from the core, where this build of it has them


def needs(name):
    return pytest.mark.skipif(not hasattr(jc, name), reason=f"the core has no {name}")


@needs("inverse_dynamics_series")
@every_model
def test_series_of_the_inverse_dynamics_in_the_core(name):
    rng = np.random.default_rng(9)
    for model, q, v, a, *_ in states(name):
        motion = np.concatenate([[v, a], rng.standard_normal((5, model.nv))])
        f_ext = rng.standard_normal((6, model.n_bodies, 6))
        found = mueller.inverse_dynamics_series(model, q, motion, f_ext)
        expected = jc.inverse_dynamics_series(model, q, motion, f_ext)
        for order in range(6):
            assert_close(found[order], expected[order])


@needs("body_motion_series")
@every_twist
@every_model
def test_jerks_in_the_core(name, twist):
    for model, q, v, a, j, _ in states(name):
        found = mueller.jerks(model, q, v, a, j, twist)[mueller.nodes_of_bodies(model)]
        motion = np.stack([v, a, j])
        bodies = range(model.n_bodies)
        series = [jc.body_motion_series(model, q, motion, body, twist)[2] for body in bodies]
        assert_close(found, series)


@needs("jacobian_partials")
@every_twist
@pytest.mark.parametrize("name", ONE_DOF_MODELS)
def test_jacobian_partials_in_the_core(name, twist):
    for model, q, *_ in states(name):
        for order in (1, 2):
            found = mueller.jacobian_partials(model, q, model.n_bodies - 1, order, twist)
            assert_close(found, jc.jacobian_partials(model, q, model.n_bodies - 1, order, twist))


@needs("christoffel_symbols")
@pytest.mark.parametrize("name", ONE_DOF_MODELS)
def test_christoffel_symbols_in_the_core(name):
    for model, q, *_ in states(name):
        assert_close(mueller.christoffel_symbols(model, q), jc.christoffel_symbols(model, q))
