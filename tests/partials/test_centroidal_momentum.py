"""Momentum and its matrix far from the world's origin, with several bases, in packs and one by one.

Positions lie on a grid, so that moving a robot by a power of two is exact and whatever changes is
an error of the computation.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import partials_oracle as oracle
import pytest
from partials_oracle import in_q, relative
from test_kinematic_partials import oracle_centroidal_matrix

import jounce as jc

EPS = np.finfo(float).eps
FAR = 2.0**20
STATES = 9  # a pack, and what remains
BODY = {"com": (0.1, 0.2, 0.3), "inertia": np.diag([1.0, 2.0, 2.5])}


def add_free(builder, name):
    builder.add_body(name, joint="free", mass=2.0, **BODY)


def add_planar(builder, name):
    builder.add_body(name, joint="planar", axis=(0, 0, 1), mass=2.0, **BODY)


def add_slides(builder, name):
    """Massless slides along three axes carry a ball joint."""
    builder.add_body(f"{name}_x", joint="prismatic", axis=(1, 0, 0))
    builder.add_body(f"{name}_y", f"{name}_x", joint="prismatic", axis=(0, 1, 0))
    builder.add_body(f"{name}_z", f"{name}_y", joint="prismatic", axis=(0, 0, 1))
    builder.add_body(name, f"{name}_z", joint="spherical", mass=2.0, **BODY)


def add_cart(builder, name):
    """A cart with a mass on a straight rail."""
    builder.add_body(name, joint="prismatic", axis=(0, 1, 0), mass=2.0, **BODY)


BASES = {
    "free": (add_free, (4, 5, 6), (0, 1, 2)),
    "planar": (add_planar, (0, 1), (0, 1)),
    "slides": (add_slides, (0, 1, 2), (0, 1, 2)),
    "cart": (add_cart, (0,), (1,)),
}
"""How a base is added, its coordinates that are positions, and along which axes they are."""


def robots(base, count):
    """A model of several robots with an arm each, and states with positions on a grid."""
    add, positions, axes = BASES[base]
    builder, rng = jc.ModelBuilder(), np.random.default_rng(3)
    for k in range(count):
        add(builder, f"base{k}")
        builder.add_body(
            f"upper{k}", f"base{k}", joint="revolute", axis=(0, 1, 0), mass=1.0 + k, **BODY
        )
        builder.add_body(
            f"lower{k}", f"upper{k}", joint="spherical", placement=(0.5, 0.25, 1), mass=1.0, **BODY
        )
    model = builder.build()
    q = jc.random_configuration(model, rng, STATES)
    at = [k * model.nq // count + p for k in range(count) for p in positions]
    q[:, at] = np.round(q[:, at] * 1024) / 1024
    far = q.copy()
    far[:, at] += FAR
    shift = np.zeros(3)
    shift[list(axes)] = FAR
    v = rng.standard_normal((STATES, model.nv))
    return SimpleNamespace(model=model, q=q, v=v, far=far, shift=shift)


every_base = pytest.mark.parametrize("base", BASES)
every_count = pytest.mark.parametrize("count", [1, 2, 3])


@every_base
@every_count
def test_the_matrix_and_its_derivative_are_exact(base, count):
    check_exactness(robots(base, count))


def check_exactness(s):
    matrix = oracle_centroidal_matrix(s.model)
    A = jc.centroidal_momentum_matrix(s.model, s.q)
    assert relative(A, matrix(s.q)) < 1e-13
    assert relative(oracle.times(A, s.v), jc.centroidal_momentum(s.model, s.q, s.v)) < 1e-13
    dA = jc.centroidal_momentum_matrix_rate(s.model, s.q, s.v)
    exact = in_q(s.model, s.q, matrix) @ s.v[:, None, :, None]
    assert relative(dA, exact[..., 0]) < 1e-13


@every_base
@every_count
def test_a_thousand_kilometers_away_nothing_changes(base, count):
    s = robots(base, count)
    calls = {
        "momentum": lambda q, v: jc.centroidal_momentum(s.model, q, v),
        "matrix": lambda q, v: jc.centroidal_momentum_matrix(s.model, q),
        "derivative": lambda q, v: jc.centroidal_momentum_matrix_rate(s.model, q, v),
        "energy": lambda q, v: jc.kinetic_energy(s.model, q, v),
    }
    for name, call in calls.items():
        near = call(s.q, s.v)
        assert relative(call(s.far, s.v), near) < 16 * EPS, name
        one_by_one = [call(q, v) for q, v in zip(s.far, s.v, strict=True)]
        assert relative(np.array(one_by_one), near) < 64 * EPS, name


@every_base
@every_count
def test_what_refers_to_the_origin_moves_with_the_robots(base, count):
    """To the rounding of the results, which are large."""
    s = robots(base, count)
    mass, n = jc.total_mass(s.model), 4 * s.model.n_bodies * EPS
    com = jc.center_of_mass(s.model, s.q) + s.shift
    assert relative(jc.center_of_mass(s.model, s.far), com) < n
    momentum = jc.momentum(s.model, s.q, s.v)
    momentum[:, :3] += np.cross(s.shift, momentum[:, 3:])
    assert relative(jc.momentum(s.model, s.far, s.v), momentum) < n
    energy = jc.potential_energy(s.model, s.q) - mass * s.model.gravity @ s.shift
    assert relative(jc.potential_energy(s.model, s.far), energy) < n


def test_rotors_without_mass_that_lead_to_the_base():
    """Nodes without mass may still have inertia, and even a first moment."""
    builder, rng = jc.ModelBuilder(), np.random.default_rng(1)
    builder.add_body("rotor", joint="revolute", axis=(0, 1, 1))
    builder.add_body("slide", "rotor", joint="prismatic", axis=(1, 0, 0), placement=(0, 1, 2))
    builder.add_body("ball", "slide", joint="spherical")
    builder.add_body("base", "ball", joint="helical", pitch=0.1, axis=(1, 0, 0), mass=2.0, **BODY)
    builder.add_body("arm", "base", joint="revolute", axis=(0, 1, 0), mass=1.0, **BODY)
    model = builder.build()
    parameters = model.inertias.copy()
    parameters[:3, 1:] = rng.standard_normal((3, 9))
    with pytest.warns(jc.ModelWarning, match="mass is zero"):
        model = model.replace(inertias=parameters)
    q = jc.random_configuration(model, rng, STATES)
    check_exactness(SimpleNamespace(model=model, q=q, v=rng.standard_normal((STATES, model.nv))))


def test_a_light_robot_far_away_costs_a_heavy_one_no_digits():
    """Whichever comes first: all are seen from the heaviest."""
    heavy, rng = jc.models.random_tree(5, 0, first="free"), np.random.default_rng(0)
    q = jc.random_configuration(heavy, rng, STATES)
    v = rng.standard_normal((STATES, heavy.nv))
    alone = jc.centroidal_momentum(heavy, q, v)
    away = np.tile([0, 0, 0, 1, FAR, -FAR, FAR], (STATES, 1))
    still = np.zeros((STATES, 6))
    builder = jc.ModelBuilder()
    builder.add_body("light", joint="free", mass=1e-30, inertia=1e-30 * np.eye(3))
    both = jc.Model("both", heavy.gravity, [*builder.build().bodies, *later(heavy)], {})
    got = jc.centroidal_momentum(both, np.hstack([away, q]), np.hstack([still, v]))
    assert relative(got, alone) < 16 * EPS


def later(model):
    """The bodies of a model, to stand behind another one."""
    return [b._replace(parent=b.parent + 1 if b.parent >= 0 else -1) for b in model.bodies]
