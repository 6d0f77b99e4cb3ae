"""One state of a robot runs its branches in the lanes of a register: the numbers stay the same.

A batch runs the tree as it is, so that it is the reference.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import jounce as jc
from jounce import _core

EPS = np.finfo(float).eps
STATES = 2 * jc.core_info()["pack_width"]
"""Copies of a state that go in packs of states."""


def limbs(kinds: tuple[str, ...] | None, base: str = "free") -> jc.Model:
    """A body with limbs: two pairs of the same joints, a short one, and one of other joints."""
    builder = jc.ModelBuilder(gravity=(1.0, -2.0, -9.0))
    builder.add_body("trunk", joint=base, mass=3.0, com=(0.1, 0.0, -0.1), inertia=(0.4, 0.3, 0.5))
    model = builder.build()
    for k, (size, seed) in enumerate([(6, 1), (6, 1), (6, 1), (6, 1), (4, 1), (3, 2)]):
        limb = jc.models.random_tree(size, seed, *([kinds] if kinds else []))
        model = model.attach(limb, "trunk", f"limb{k}_")
    rng = np.random.default_rng(3)
    other = model.inertias * rng.uniform(0.5, 2.0, (model.n_bodies, 1))
    return model.replace(inertias=other, armature=rng.uniform(0.0, 0.1, model.nv))


def two_robots() -> jc.Model:
    """Several roots."""
    first = jc.models.aerial_manipulator(4, 2)
    return first.attach(jc.models.aerial_manipulator(3, 3), None, "second_")


ROBOTS = {
    "aerial": lambda: jc.models.aerial_manipulator(5, 4),
    "two robots": two_robots,
    "tree": lambda: jc.models.tree(40, 3),
    "limbs of all joints": lambda: limbs(None),
    "limbs of groups": lambda: limbs(("spherical", "free", "helical", "prismatic")),
    "limbs that slide": lambda: limbs(("prismatic", "revolute"), "revolute"),
}


@functools.cache
def robot(name: str) -> jc.Model:
    return ROBOTS[name]()


def from_batch(function, *arguments: np.ndarray) -> np.ndarray:
    """The result of one state from a batch of its copies."""
    result = function(*(np.stack([x] * STATES) for x in arguments))
    return np.asarray(result[0])


def agree(one: np.ndarray, other: np.ndarray, factor: float) -> None:
    """Each order of a series to rounding, relative to its largest entry."""
    scale = np.abs(other).max(-1, keepdims=True)
    np.testing.assert_array_less(np.abs(one - other) / scale, factor * EPS)


@pytest.mark.parametrize("name", ROBOTS)
def test_inverse_dynamics_is_the_same(name):
    model, rng = robot(name), np.random.default_rng(1)
    if jc.core_info()["pack_width"] >= 4:  # two lanes gain too little for some
        assert 0 < _core.branched_nodes(model) < model.n_bodies
    q = jc.random_configuration(model, rng)
    v, a = rng.standard_normal((2, model.nv))
    motion = rng.standard_normal((5, model.nv))
    factor = 64 * model.n_bodies
    calls = (
        (jc.inverse_dynamics, (q, v, a)),
        (jc.bias_forces, (q, v)),
        (jc.gravity_forces, (q,)),
        (jc.inverse_dynamics_series, (q, motion)),
    )
    for function, arguments in calls:
        on = functools.partial(function, model)
        agree(on(*arguments), from_batch(on, *arguments), factor)


@pytest.mark.parametrize("name", ROBOTS)
def test_forward_dynamics_undoes_inverse_dynamics(name):
    """The forces that belong to what comes out are those that went in."""
    model, rng = robot(name), np.random.default_rng(2)
    q = jc.random_configuration(model, rng)
    v = rng.standard_normal(model.nv)
    tau = rng.standard_normal((4, model.nv)) * jc.mass_matrix(model, q).diagonal()
    tau[0] += jc.bias_forces(model, q, v)
    acceleration = jc.forward_dynamics(model, q, v, tau[0])
    series = jc.forward_dynamics_series(model, q, v, tau)
    mass = jc.mass_matrix(model, q)
    factor = 64 * model.n_bodies * np.linalg.cond(mass)
    agree(
        acceleration,
        from_batch(functools.partial(jc.forward_dynamics, model), q, v, tau[0]),
        factor,
    )
    agree(acceleration, series[0], factor)
    # of higher orders, relative to what their terms sum up
    back = jc.inverse_dynamics_series(
        model, np.stack([q] * STATES), np.stack([[v, *series]] * STATES)
    )[0]
    size = np.abs(back).max() + np.abs(series).max() * np.abs(mass).max()
    np.testing.assert_allclose(back, tau, rtol=0, atol=1e-11 * size)


@pytest.mark.parametrize("name", ["aerial", "limbs of all joints"])
def test_external_wrenches_are_not_lost(name):
    model, rng = robot(name), np.random.default_rng(3)
    q = jc.random_configuration(model, rng)
    v, a = rng.standard_normal((2, model.nv))
    f_ext = rng.standard_normal((model.n_bodies, 6))
    on = functools.partial(jc.inverse_dynamics, model)
    agree(on(q, v, a, f_ext), from_batch(on, q, v, a, f_ext), 64 * model.n_bodies)
    assert np.abs(on(q, v, a, f_ext) - on(q, v, a)).max() > 1e-3


@pytest.mark.parametrize("name", ROBOTS)
def test_directions_are_those_of_dual_numbers(name):
    """Of one state branches fill lanes; of as many states, with dual numbers, they do not."""
    model, rng = robot(name), np.random.default_rng(5)
    q = jc.random_configuration(model, rng)
    v, x = rng.standard_normal((2, model.nv))
    dq, dv, dx = rng.standard_normal((3, 11, model.nv))
    df = rng.standard_normal((11, model.n_bodies, 6))
    mass = jc.mass_matrix(model, q)
    calls = (
        (jc.inverse_dynamics, (q, v, x), (dq, dv, dx, df), 1.0),
        (jc.bias_forces, (q, v), (dq, dv, df), 1.0),
        (jc.gravity_forces, (q,), (dq,), 1.0),
        (jc.forward_dynamics, (q, v, mass @ x), (dq, dv, dx, df), np.linalg.cond(mass)),
    )
    for function, state, directions, condition in calls:
        states = tuple(np.repeat(each[None], 11, axis=0) for each in state)
        for tangents in (directions, *([None] * k + [d] for k, d in enumerate(directions))):
            one = jc.jvp(function, model, state, tuple(tangents))
            many = jc.jvp(function, model, states, tuple(tangents))
            agree(one.value, many.value, 64 * model.n_bodies * condition)
            agree(one.derivative, many.derivative, 64 * model.n_bodies * condition)


def test_a_chain_has_nothing_to_run_side_by_side():
    assert _core.branched_nodes(jc.models.chain(30)) == 0


def test_legs_of_a_quadruped_are_one_leg():
    """Base and four legs of three joints are four nodes, if registers hold four numbers."""
    legs = jc.models.aerial_manipulator(4, 3)
    assert _core.branched_nodes(legs) == (4 if jc.core_info()["pack_width"] >= 4 else 7)


def test_a_joint_that_moves_no_inertia_is_named():
    builder = jc.ModelBuilder(jc.models.aerial_manipulator(4, 2))
    last = builder.build().body_names[-1]
    model = builder.add_body("ghost", last, joint="revolute", axis=(1, 0, 0)).build()
    q, v = jc.neutral(model), np.zeros(model.nv)
    with pytest.raises(jc.SingularError, match="ghost_joint"):
        jc.forward_dynamics(model, q, v, v)
    with pytest.raises(jc.SingularError, match="ghost_joint"):
        jc.forward_dynamics_series(model, q, v, v[None])
    with pytest.raises(jc.SingularError, match="ghost_joint"):
        jc.jvp(jc.forward_dynamics, model, (q, v, v), (np.eye(model.nv),))


def test_what_is_not_finite_is_named():
    model = robot("aerial")
    q, v = jc.neutral(model), np.zeros(model.nv)
    v[3] = np.nan
    with pytest.raises(jc.Error, match=r"v.*3"):
        jc.inverse_dynamics(model, q, v, np.zeros(model.nv))
    with pytest.raises(jc.Error, match=r"overflow|too large|finite"):
        jc.inverse_dynamics(model, q, np.full(model.nv, 1e200), np.zeros(model.nv))
    with pytest.raises(jc.Error, match=r"overflow|too large|finite"):
        jc.jvp(jc.bias_forces, model, (q, np.full(model.nv, 1e200)), (np.eye(model.nv),))


def test_a_copy_with_other_inertias_has_its_own_branches():
    model = robot("aerial")
    heavy = model.replace(inertias=2.0 * model.inertias)
    q, (v, a) = jc.neutral(model), np.random.default_rng(4).standard_normal((2, model.nv))
    agree(
        jc.inverse_dynamics(heavy, q, v, a),
        2.0 * jc.inverse_dynamics(model, q, v, a),
        64 * model.n_bodies,
    )
