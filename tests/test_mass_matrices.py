"""The mass matrix and its inverse where branches meet: in one state, and in packs of states.

The oracle is the matrix of unit accelerations, column by column from inverse dynamics, and its
inverse by LAPACK.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import jounce as jc

EPS = np.finfo(float).eps
STATES = 2 * jc.core_info()["pack_width"] + 1


def limbs(base: str) -> jc.Model:
    """A trunk with limbs that branch, and with two fingers too short to be worth copies."""
    builder = jc.ModelBuilder()
    builder.add_body("trunk", joint=base, mass=3.0, com=(0.1, 0.0, -0.1), inertia=(0.4, 0.3, 0.5))
    model = builder.build()
    for k in range(3):
        model = model.attach(jc.models.tree(9, 2), "trunk", f"limb{k}_")
    hand = model.body_names[-1]
    for k in range(2):
        model = model.attach(jc.models.chain(1), hand, f"finger{k}_")
    return model.attach(jc.models.random_tree(6, 3), "trunk", "joints_of_all_kinds_")


def two_trees() -> jc.Model:
    """Several roots, each with branches."""
    return limbs("free").attach(limbs("revolute"), None, "second_")


MODELS = {
    "a free base": lambda: limbs("free"),
    "a base that turns": lambda: limbs("revolute"),
    "a base on a ball": lambda: limbs("spherical"),
    "two trees": two_trees,
    "many branches of branches": lambda: jc.models.tree(60, 2),
    "three branches each": lambda: jc.models.tree(70, 3),
    "all joints of one rate": lambda: jc.models.mixed_tree(1),
    "a chain": lambda: jc.models.chain(9),
    "branches that meet inside one that is not worth copies": lambda: jc.models.random_tree(10, 2),
}


@functools.cache
def setting(name: str) -> tuple[jc.Model, np.ndarray, np.ndarray]:
    """A model, states, and its mass matrices from inverse dynamics."""
    model = MODELS[name]()
    rng = np.random.default_rng(7)
    model = model.replace(armature=rng.uniform(0.0, 0.1, model.nv))
    q = np.stack([jc.random_configuration(model, rng) for _ in range(STATES)])
    still = np.zeros((STATES, 1, model.nv))
    units = jc.inverse_dynamics(model, q[:, None], still, np.eye(model.nv))
    columns = units - jc.inverse_dynamics(model, q[:, None], still, still)
    return model, q, columns.swapaxes(-1, -2)


@pytest.mark.parametrize("name", MODELS)
def test_packs_have_the_matrix_of_unit_accelerations(name):
    model, q, expected = setting(name)
    M = jc.mass_matrix(model, q)
    weight = np.abs(jc.gravity_forces(model, q)).max(axis=-1)[
        :, None, None
    ]  # cancels in `expected`
    scale = np.abs(expected).max(axis=(-1, -2), keepdims=True) + weight
    assert np.all(np.abs(M - expected) <= 64 * EPS * scale)
    np.testing.assert_array_equal(M, M.swapaxes(-1, -2))
    single = np.stack([jc.mass_matrix(model, x) for x in q])
    np.testing.assert_array_equal(M == 0.0, single == 0.0)
    assert np.all(np.abs(M - single) <= 64 * EPS * scale)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("alone", [True, False])
def test_the_inverse_is_that_of_the_mass_matrix(name, alone):
    model, q, M = setting(name)
    M = jc.mass_matrix(model, q)
    if alone:
        N = np.stack([jc.inverse_mass_matrix(model, x) for x in q])
    else:
        N = jc.inverse_mass_matrix(model, q, out=np.full((STATES, model.nv, model.nv), np.nan))
    np.testing.assert_array_equal(N, N.swapaxes(-1, -2))
    root = np.sqrt(np.einsum("...ii->...i", M))  # with unit scales, LAPACK is as exact as can be
    scales = root[..., :, None] * root[..., None, :]
    unit = M / scales
    error = np.abs(N * scales - np.linalg.inv(unit)).max(axis=(-1, -2))
    condition = np.linalg.cond(unit)
    size = np.abs(np.linalg.inv(unit)).max(axis=(-1, -2))
    assert np.all(error <= 16 * EPS * condition * size)


def test_trees_do_not_know_of_each_other():
    model, q, _ = setting("two trees")
    first = limbs("free").nv
    for N in (jc.inverse_mass_matrix(model, q), jc.inverse_mass_matrix(model, q[0])[None]):
        assert np.all(N[:, :first, first:] == 0.0)
        assert np.all(N[:, first:, :first] == 0.0)


def test_inverses_of_many_trees():
    rng = np.random.default_rng(3)
    for seed in range(60):
        model = jc.models.random_tree(int(rng.integers(2, 25)), seed)
        q = np.stack([jc.random_configuration(model, rng) for _ in range(STATES)])
        M = jc.mass_matrix(model, q)
        condition = np.linalg.cond(M)[:, None, None]
        for some in (slice(None), slice(0, 1)):
            fresh = np.full(M[some].shape, np.nan)
            N = jc.inverse_mass_matrix(model, q[some], out=fresh)
            assert (np.abs(N @ M[some] - np.eye(model.nv)) <= 50 * EPS * condition[some]).all()


def test_one_state_writes_all_of_its_matrix_and_nothing_beside_it():
    rng = np.random.default_rng(5)
    for seed in range(40):
        model = jc.models.random_tree(1 + seed % 20, seed)
        q = np.stack([jc.random_configuration(model, rng) for _ in range(STATES)])
        size, margin = model.nv**2, 8
        memory = np.full(size + 2 * margin, np.nan)
        alone = memory[margin:-margin].reshape(model.nv, model.nv)
        jc.mass_matrix(model, q[0], out=alone)
        packs = jc.mass_matrix(model, q)[0]
        assert np.all(np.abs(alone - packs) <= 64 * EPS * np.abs(packs).max())
        np.testing.assert_array_equal(alone, alone.T)
        assert np.isnan(memory[:margin]).all()
        assert np.isnan(memory[-margin:]).all()
