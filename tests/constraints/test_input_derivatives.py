"""Derivatives of constrained dynamics by external wrenches and by what the rows shall do."""

from __future__ import annotations

import numpy as np
import pytest
from constraints_cases import SETS, close, robot, set_of, states

import jounce as jc


@pytest.mark.parametrize("name", SETS)
def test_wrenches_and_targets_act_linearly(name):
    model = robot("free_root")
    c = jc.Constraints(model, set_of(model, name))
    at = states(model, count=3)
    d = jc.constrained_dynamics_input_derivatives(model, at.q, c)
    plain = jc.constrained_dynamics(model, at.q, at.v, at.tau, c)
    pushed = jc.constrained_dynamics(model, at.q, at.v, at.tau, c, at.f_ext)
    digits = 9
    close(plain.a + np.einsum("sibk,sbk->si", d.a_df_ext, at.f_ext), pushed.a, digits)
    close(plain.force + np.einsum("sibk,sbk->si", d.force_df_ext, at.f_ext), pushed.force, digits)


def test_rows_that_shall_accelerate():
    arm = jc.models.chain(6)
    rng = np.random.default_rng(0)
    q, v, tau = rng.standard_normal((3, 6))
    w = rng.standard_normal((2, 3))
    still = jc.Constraints(arm, [jc.Point("body5", motion=np.zeros((2, 3)))])
    moving = jc.Constraints(arm, [jc.Point("body5", motion=w)])
    d = jc.constrained_dynamics_input_derivatives(arm, q, moving)
    rest, found = (jc.constrained_dynamics(arm, q, v, tau, c) for c in (still, moving))
    close(rest.a + d.a_dw @ w[1], found.a, 10)
    close(rest.force + d.force_dw @ w[1], found.force, 10)
    close(moving.jacobian(q) @ d.a_dw, np.eye(3), 10)
    close(d.force_dw @ moving.inverse_inertia(q), np.eye(3), 10)


def shifted(kind, by):
    """One constraint of chain(6) with its target further along its only or first row by `by`."""
    if kind == "coupling":
        return jc.Coupling({"joint0": 1.0, "joint3": -2.0}, offset=0.2 + by), 1
    if kind == "distance":
        return jc.Distance("body5", anchor=[0.3, 0.2, 2.0], target=1.5 + by), 1
    return jc.Point("body5", target=[0.1 + by, 0.0, 0.2]), 3


@pytest.mark.parametrize("kind", ["coupling", "distance", "point"])
def test_a_target_further_on_pulls_its_rows_there(kind):
    arm, beta, by = jc.models.chain(6), 7.0, 0.01
    q, v, tau = np.random.default_rng(1).standard_normal((3, 6))
    item, rows = shifted(kind, 0.0)
    further, _ = shifted(kind, by)
    sets = [jc.Constraints(arm, [x]).stabilized(5.0, beta) for x in (item, further)]
    before, after = (jc.constrained_dynamics(arm, q, v, tau, c) for c in sets)
    d = jc.constrained_dynamics_input_derivatives(arm, q, sets[0])
    change = np.eye(rows)[0] * by
    close(sets[1].residual(q) - sets[0].residual(q), -change, 10)
    close(after.a - before.a, d.a_dw @ (beta**2 * change), 9)
    close(after.force - before.force, d.force_dw @ (beta**2 * change), 9)


def test_out_batches_and_no_rows():
    arm = jc.models.chain(4)
    q = np.random.default_rng(0).standard_normal((2, 3, 4))
    c = jc.Constraints(arm, [jc.Point("body3")])
    d = jc.constrained_dynamics_input_derivatives(arm, q, c)
    assert [x.shape[2:] for x in d] == [(4, 4, 6), (4, 3), (3, 4, 6), (3, 3)]
    out = tuple(np.empty_like(x) for x in d)
    assert jc.constrained_dynamics_input_derivatives(arm, q, c, out=out).a_dw is out[1]
    assert all(np.array_equal(x, y) for x, y in zip(d, out, strict=True))
    none = jc.constrained_dynamics_input_derivatives(arm, q, jc.Constraints(arm, []))
    assert none.force_dw.shape == (2, 3, 0, 0)
