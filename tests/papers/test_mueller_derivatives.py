"""Derivatives in `jounce.papers.mueller` that the core does not have, against exact oracles.

A complex step through a function that is itself compared with the core gives its derivative without
cancellation. A derivative of order m is checked by the complex step through order m - 1, down to
the Jacobian, and once more from outside by Cauchy's integral on a circle.
"""

import functools
import math

import numpy as np
import pytest
from mueller_cases import MODELS, every_model, every_twist, stand_in, states
from papers_cases import ONE_DOF, STATES, STEP, along, close, imaginary, moved, of_order

import jounce as jc
from jounce import lie
from jounce.papers import mueller

# Section 2: relative poses, jerks and second Jacobian rates


@every_model
def test_relative_poses_move_along_the_jacobian(name):
    """Eq. 2 to 4: dC_{j,i} = C_{j,i} hat(J_{i,k}) for the joints k between j and i, else zero."""
    rng = np.random.default_rng(3)
    for model, q, v, *_ in states(name):
        path, columns = mueller.is_inward(model), mueller.column_nodes(model)
        i = int(mueller.nodes_of_bodies(model)[-1])
        j = int(rng.choice(np.flatnonzero(path[i])))

        def relative(q, model=model, i=i, j=j):
            C = mueller.configurations(model, q)
            return lie.inverse(C[j]) @ C[i]

        between = path[i, columns] & ~path[j, columns]
        twist = mueller.system_jacobian(model, q)[i] @ (v * between)
        expected = relative(q) @ lie.hat(twist)
        close(along(relative, model, q, v), expected, floor=1.0)


@every_twist
@every_model
def test_jerk_is_the_rate_of_the_acceleration(name, twist):
    """By the complex step, and in the core."""
    for model, q, v, a, j, _ in states(name):

        def acceleration(q, v, a, model=model):
            return mueller.accelerations(model, q, v, a, twist)

        found = mueller.jerks(model, q, v, a, j, twist)
        expected = along(acceleration, model, q, v, (v, a), (a, j))
        close(found, expected)
        motion, bodies = np.stack([v, a, j]), range(model.n_bodies)
        series = [jc.body_motion_series(model, q, motion, body, twist)[2] for body in bodies]
        close(found[mueller.nodes_of_bodies(model)], series)
        if twist == "spatial":
            close(mueller.spatial_jerks_nested(model, q, v, a, j), expected)


@every_model
def test_second_rate_of_the_hybrid_jacobian(name):
    for model, q, v, a, *_ in states(name):

        def rate(q, v, model=model):
            return mueller.system_jacobian_rate(model, q, v, "hybrid")

        expected = along(rate, model, q, v, (v, a))
        close(mueller.hybrid_jacobian_rate2(model, q, v, a), expected)


# Section 2: partial derivatives of Jacobians


def checked_partials(model, q, body, order, twist):
    """The partials, after comparison with the complex step through those of one order less."""
    found = mueller.jacobian_derivatives(model, q, body, order, twist)

    def lower(q):
        return mueller.jacobian_derivatives(model, q, body, order - 1, twist)

    direction = np.random.default_rng(order).standard_normal(model.nv)
    expected = along(lower, model, q, direction)
    slope = found @ direction  # the derivative taken last is the last index
    close(slope, expected, of_order(order), floor=1.0)
    return found


@every_twist
@pytest.mark.parametrize("name", [*MODELS, "chain"])
def test_first_and_second_partials(name, twist):
    """The complex step through one order less, the core, and its Jacobian rate."""
    for k, (model, q, v, *_) in enumerate(states(name)):
        body = (model.n_bodies - 1, model.n_bodies // 2)[k % 2]
        for order in (1, 2):
            found = checked_partials(model, q, body, order, twist)
            close(found, jc.jacobian_derivatives(model, q, body, order, twist))
            if order == 1:
                close(found @ v, jc.jacobian_rate(model, q, v, body, twist))


@every_twist
@pytest.mark.parametrize("order", [3, 4])
def test_partials_with_a_free_joint_that_does_not_commute(order, twist):
    builder = jc.ModelBuilder()
    builder.add_body("base", joint="spherical", mass=1.0)
    builder.add_body("arm", "base", joint="helical", pitch=0.3, axis=(1, 2, 3), mass=1.0)
    builder.add_body("hand", "arm", joint="revolute", axis=(0, 1, 1), mass=1.0)
    model = builder.build()
    q = jc.random_configuration(model, 0)
    checked_partials(model, q, "hand", order, twist)


SMALL = jc.models.random_tree(3, 7, ONE_DOF)  # a chain


@functools.cache
def small_partials(seed, order, twist):
    """Coordinates of the chain, and the partials that agree with the step through lower ones."""
    q = jc.random_configuration(SMALL, seed)
    if order == 0:
        return q, mueller.jacobian_derivatives(SMALL, q, 2, 0, twist)
    return q, checked_partials(SMALL, q, 2, order, twist)


@every_twist
@pytest.mark.parametrize("order", range(1, 7))
def test_partials_of_high_order(order, twist):
    """The complex step through one order less, and the core."""
    for seed in range(STATES):
        q, found = small_partials(seed, order, twist)
        close(found, jc.jacobian_derivatives(SMALL, q, 2, order, twist), of_order(order))


@every_twist
@pytest.mark.parametrize("name", ["aerial_manipulator", "mixed_tree", "all_joints"])
def test_single_partials_are_entries_of_the_tensor(name, twist):
    """Order 3, of the core; and order 0 is the Jacobian."""
    rng = np.random.default_rng(4)
    for model, q, *_ in states(name):
        body = model.n_bodies - 1
        moves = np.flatnonzero(jc.jacobian(model, q, body).any(axis=0))  # other columns are zero
        j, *alpha = rng.choice(moves, 4)
        steps = jc.jacobian_derivatives(model, q, body, 3, twist)
        value = mueller.jacobian_partial(model, q, body, j, tuple(alpha), twist)
        close(value, steps[(slice(None), j, *alpha)], floor=1.0)
        zeroth = mueller.jacobian_derivatives(model, q, body, 0, twist)
        close(zeroth, jc.jacobian(model, q, body, twist))


@every_twist
def test_partials_are_the_taylor_coefficients_of_the_jacobian(twist):
    """Cauchy's integral: the Jacobian is an entire function of the coordinates."""
    rng = np.random.default_rng(6)
    points = np.exp(2j * np.pi * np.arange(64) / 64)
    for seed in range(STATES):
        q, direction = small_partials(seed, 0, twist)[0], rng.standard_normal(SMALL.nv)
        values = [mueller.jacobian(SMALL, q + z * direction, 2, twist) for z in points]
        taylor = np.fft.fft(values, axis=0) / len(points)
        for order in range(8):
            partials = small_partials(seed, order, twist)[1]
            for _ in range(order):
                partials = partials @ direction
            expected = math.factorial(order) * np.real(taylor[order])
            size = math.factorial(order) * np.abs(values).max()  # rounding in Cauchy's integral
            close(partials, expected, of_order(order), size)


# Section 5: Christoffel symbols


@every_model
def test_mass_matrix_derivatives(name):
    for model, q, v, *_ in states(name):
        expected = along(lambda x, m=model: mueller.mass_matrix(m, x), model, q, v)
        close(mueller.mass_matrix_derivatives(model, q) @ v, expected)


@pytest.mark.parametrize("name", [*MODELS, "chain"])
def test_christoffel_symbols_in_the_core(name):
    """Symmetric in j and k: those of the core hold structure constants of multi-DoF joints too.

    Where all joints have one degree of freedom they are those of the mass matrix (eq. 85).
    """
    for model, q, *_ in states(name):
        core = jc.christoffel_symbols(model, q)
        expected = (core + core.transpose(0, 2, 1)) / 2
        close(mueller.christoffel_symbols(model, q), expected)
        close(mueller.christoffel_binet(model, q), expected)
        single = np.bincount(columns := mueller.column_nodes(model))[columns] == 1
        defined = mueller.christoffel_from_mass_matrix(model, q)
        joints = np.ix_(single, single, single)
        close(defined[joints], core[joints], floor=np.max(np.abs(core)))


@every_model
def test_christoffel_symbols_are_second_derivatives_of_the_inverse_dynamics(name):
    for model, q, v, a, *_ in states(name):
        gamma = mueller.christoffel_symbols(model, q)
        slope = imaginary(mueller.inverse_dynamics(model, q, v + 1j * STEP * a, 0 * a))
        close(2 * np.einsum("ijk,j,k->i", gamma, v, a), slope)


@every_model
def test_lagrange_terms(name):
    for model, q, v, a, *_ in states(name):
        gradient = mueller.kinetic_energy_gradient(model, q, v)
        slope = along(lambda x, m=model, v=v: mueller.kinetic_energy(m, x, v), model, q, a)
        close(gradient @ a, slope, floor=np.abs(gradient).max())
        close(gradient, jc.kinetic_energy_derivatives(model, q, v).dq)

        def momentum(q, v, model=model):
            return mueller.conjugate_momentum(model, q, v)

        rate = along(momentum, model, q, v, (v, a))
        close(mueller.conjugate_momentum_rate(model, q, v, a), rate)


# Section 6: sensitivities


@every_model
def test_linearized_equations(name):
    for model, q, v, a, j, f_ext in states(name):
        found = mueller.linearized_equations(model, q, v, a, f_ext)

        def forces(q, v, model=model, a=a, f_ext=f_ext):
            return mueller.inverse_dynamics(model, q, v, a, f_ext, "spatial")

        close(found.dq @ j, along(forces, model, q, j, (v, 0 * v)))
        close(found.dv @ j, along(forces, model, q, 0 * j, (v, j)))
        close(found.da, jc.mass_matrix(model, q))


@every_model
def test_geometric_sensitivity(name):
    rng = np.random.default_rng(7)
    for model, q, v, a, *_ in states(name):
        nodes = rng.choice(len(model.nodes.parent), 2, replace=False)
        variations = [
            mueller.GeometricVariation(
                int(node), rng.standard_normal((6, 3)), 0.3 * rng.standard_normal(3)
            )
            for node in nodes
        ]
        varied = stand_in(model, placement=mueller.varied_placements(model, variations))
        found = mueller.geometric_sensitivity(varied, q, v, a, variations)
        close(mueller.geometric_columns(varied, q, variations)[0], found.pose, 0.0)
        for p in range(6):
            _check_geometric_column(model, q, v, a, variations, found, p)


def _check_geometric_column(model, q, v, a, variations, found, p):
    steps = [x._replace(values=x.values.astype(complex)) for x in variations]
    steps[p // 3].values[p % 3] += 1j * STEP
    stepped = stand_in(model, placement=mueller.varied_placements(model, steps))
    C = mueller.configurations(stepped, q)
    motion = lie.vee(lie.inverse(C.real) @ imaginary(C))
    J = mueller.system_jacobian(stepped, q)
    close(found.pose[..., p], motion, floor=1.0)
    close(found.jacobian[..., p], imaginary(J), floor=1.0)
    close(found.twist[..., p], imaginary(J @ v), floor=1.0)
    mass = mueller.mass_matrix(stepped, q)
    close(found.mass_matrix[..., p], imaginary(mass), floor=np.abs(mass).max())
    forces = mueller.inverse_dynamics(stepped, q, v, a, None, "hybrid")
    close(found.forces[..., p], imaginary(forces), floor=np.abs(forces).max())


@every_model
def test_time_derivatives_of_the_inverse_dynamics(name):
    rng = np.random.default_rng(8)
    for model, q, v, a, *_ in states(name):
        motion = np.concatenate([[v, a], rng.standard_normal((6, model.nv))])
        series = mueller.inverse_dynamics_series(model, q, motion)
        close(series[0], jc.inverse_dynamics(model, q, v, a))
        stepped = motion[:-1] + 1j * STEP * motion[1:]
        lower = mueller.inverse_dynamics_series(model, moved(model, q, 1j * STEP * v), stepped)
        for order in range(1, 7):
            tolerance = of_order(order)
            close(series[order], imaginary(lower[order - 1]), tolerance)


def test_all_functions_accept_complex_states():
    """Every representation gives the same complex-step derivative of the inverse dynamics."""
    model, q, v, a, j, f_ext = next(states("all_joints"))
    slopes = []
    for twist in mueller.TWISTS:
        for function in (mueller.inverse_dynamics, mueller.euler_jourdain):

            def forces(q, v, a, function=function, twist=twist):
                return function(model, q, v, a, f_ext, twist)

            slopes.append(along(forces, model, q, v, (v, a), (a, j)))
    for slope in slopes[1:]:
        close(slope, slopes[0])


# The same numbers from the core


@every_model
def test_series_of_the_inverse_dynamics_in_the_core(name):
    rng = np.random.default_rng(9)
    for model, q, v, a, *_ in states(name):
        motion = np.concatenate([[v, a], rng.standard_normal((8, model.nv))])
        f_ext = rng.standard_normal((9, model.n_bodies, 6))
        found = mueller.inverse_dynamics_series(model, q, motion, f_ext)
        expected = jc.inverse_dynamics_series(model, q, motion, f_ext)
        for order in range(9):
            close(found[order], expected[order], of_order(order))
