"""The compiled series of constrained dynamics: against the equations order by order, in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from constraints_cases import (
    KINDS,
    SETS,
    by_orders,
    independent,
    one_rate_joints,
    robot,
    set_of,
    states,
)

import jounce as jc

ORDERS = 9
NAMES = ["fixed_root", "free_root", "groups_in_mid_tree"]


def rates_of_order_one(model, c, q, v):
    """Rates that the constraints allow, of order one."""
    v = jc.project_velocity(model, q, v, c)
    return v / np.maximum(np.abs(v).max(-1, keepdims=True), 1.0)


def close_by_order(found, expected, tolerance):
    """Assert that each order is right to so much of its size, for all states."""
    scale = np.abs(expected).max(-1, keepdims=True)
    scale = np.maximum.accumulate(scale, axis=-2) + 1e-300
    error = (np.abs(found - expected) / scale).max(initial=0.0)
    assert error < tolerance, f"off by {error:.1e}"


@pytest.mark.parametrize(("model_name", "name"), independent([*KINDS, *SETS], NAMES, count=3))
def test_orders_up_to_eight(model_name, name):
    model = robot(model_name)
    c = jc.Constraints(model, set_of(model, name))
    at = states(model, count=3)
    v = rates_of_order_one(model, c, at.q, at.v)
    tau = at.rng.standard_normal((3, ORDERS, model.nv))
    f_ext = at.rng.standard_normal((3, ORDERS, model.n_bodies, 6))
    found = jc.constrained_dynamics_series(model, at.q, v, tau, c, f_ext)
    expected = by_orders(c, at.q, v, tau, f_ext)
    tolerance = 1e-13 * np.linalg.cond(c.inverse_inertia(at.q)).max() + 1e-10
    close_by_order(found.a, expected.a, tolerance)
    close_by_order(found.force, expected.force, tolerance)


def test_moving_targets_one_state_batches_and_threads():
    model = robot("free_root")
    rng = np.random.default_rng(0)
    items = [
        jc.Weld("tool", motion=rng.standard_normal((4, 6))),
        jc.Distance("other", anchor=(3, 2, 1)),
    ]
    c = jc.Constraints(model, items)
    at = states(model, count=11)
    tau = rng.standard_normal((11, 5, model.nv))
    found = jc.constrained_dynamics_series(model, at.q, at.v, tau, c, threads=2)
    expected = by_orders(c, at.q, at.v, tau)
    close_by_order(found.a, expected.a, 1e-9)
    close_by_order(found.force, expected.force, 1e-9)
    for k in (0, 10):
        one = jc.constrained_dynamics_series(model, at.q[k], at.v[k], tau[k], c)
        close_by_order(one.a, found.a[k], 1e-10)
        close_by_order(one.force, found.force[k], 1e-10)
    assert jc.constrained_dynamics_series(model, at.q[:0], at.v[:0], tau[:0], c).a.shape == (
        0,
        5,
        model.nv,
    )


@pytest.mark.parametrize("name", ["point", "weld", "a hinge and gears", "a wheel and a cam"])
def test_prescribed_rates_get_the_forces_that_make_them_so(name):
    """Given back as forces, they give the same motion."""
    model = robot("free_root")
    c = jc.Constraints(model, set_of(model, name))
    at = states(model, count=3)
    v = rates_of_order_one(model, c, at.q, at.v)
    mask = np.zeros(model.nv, bool)
    mask[model.v_slice(one_rate_joints(model)[0])] = True  # one that gears and cams hold
    mask[4] = True
    a, tau = at.rng.standard_normal((2, 3, 6, model.nv))
    found = jc.constrained_hybrid_dynamics_series(model, at.q, v, a, tau, mask, c)
    assert np.array_equal(found.a[..., mask], a[..., mask])
    assert np.array_equal(found.tau[..., ~mask], tau[..., ~mask])
    again = jc.constrained_dynamics_series(model, at.q, v, found.tau, c)
    close_by_order(again.a, found.a, 1e-8)
    close_by_order(again.force, found.force, 1e-8)
    lowest = jc.constrained_hybrid_dynamics_series(model, at.q, v, a[:, :1], tau[:, :1], mask, c)
    close_by_order(lowest.a, found.a[:, :1], 1e-12)


def test_what_cannot_be_held_by_the_rates_that_are_left():
    arm = jc.models.chain(6)
    c = jc.Constraints(arm, [jc.Point("body5")])
    q, zero = np.linspace(0.1, 0.6, 6), np.zeros((2, 6))
    everything = np.arange(6) < 4
    at_rest = jc.constrained_hybrid_dynamics_series(arm, q, zero[0], zero, zero, everything, c)
    assert at_rest.rank == 1
    assert np.abs(c.acceleration(q, zero[0], at_rest.a[0])).max() < 1e-13
    with pytest.raises(jc.errors.ArgumentError, match="tau must have shape"):
        jc.constrained_hybrid_dynamics_series(arm, q, zero[0], zero, zero[0], everything, c)
    none = jc.Constraints(arm, [])
    both = jc.constrained_hybrid_dynamics_series(arm, q, zero[0], zero, zero, everything, none)
    assert both.force.shape == (2, 0)
