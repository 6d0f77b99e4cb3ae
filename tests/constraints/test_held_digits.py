"""Least-norm forces, prescribed rates and errors of moving targets in 60 digits, order by order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from constraints_cases import by_orders, close, kinds, one_rate_joints, robot, states

import jounce as jc
from jounce.constraints.table import row_count

held_digits = pytest.importorskip("held_digits")
from oracle_digits import many_digits  # noqa: E402, which needs mpmath

pytestmark = pytest.mark.long
CORNERS = [(0.3, 0.1, 0.0), (-0.3, 0.2, 0.1), (0.1, -0.4, 0.2)]
NO_GAINS, GAINS = (0.0, 0.0), (1.5, 2.0)
ORDERS = 6


def cornered(name):
    """A robot with three more frames on the body of its tool."""
    model = robot(name)
    body = model.body_names[model.frame("tool").body]
    for k, shift in enumerate(CORNERS):
        pose = model.frame("tool").placement.copy()
        pose[:3, 3] += shift
        model = model.with_frame(f"corner{k}", body, pose)
    return model


def dependent(name):
    """Sets whose rows share forces in a way that changes along the motion."""
    corners = [f"corner{k}" for k in range(3)]
    return {
        "corners": [jc.Point(x) for x in corners],
        "corners of two": [jc.Point(x, "other") for x in corners],
        "weld and corner": [jc.Weld("tool"), jc.Point("corner0")],
    }[name]


def compare(c, q, v, a, tau, prescribed, tolerance=1e-9):
    """Series and those in 60 digits; returns the rank."""
    with many_digits():
        expected, rank = held_digits.dynamics(c, q, v, a, tau, prescribed)
    state = c.model, q, v
    if prescribed.any():
        found = jc.constrained_hybrid_dynamics_series(*state, a, tau, prescribed, c)
        parts = zip(found, expected, strict=True)
    else:
        found = jc.constrained_dynamics_series(*state, tau, c)
        parts = zip(found, (expected[0], expected[2]), strict=True)
    for x, y in parts:
        for k in range(len(y)):
            error = np.abs(x[k] - y[k]).max() / np.abs(y[k]).max()
            assert error < tolerance, (k, error)
    assert found.rank == rank
    return rank


def beside(c, at, far):
    """Coordinates beside the targets that the set then has, and rates of order one."""
    q = jc.integrate(c.model, at.q[0], far * at.rng.standard_normal(c.model.nv))
    v = jc.project_velocity(c.model, q, at.v[0], jc.Constraints(c.model, c.items))
    v = v / max(1.0, np.abs(v).max())
    return c.at(at.q[0]), q, v + far * at.rng.standard_normal(c.model.nv)


@pytest.mark.parametrize(
    ("name", "gains", "far"),
    [
        ("corners", NO_GAINS, 0.0),
        ("weld and corner", NO_GAINS, 0.02),
        ("corners of two", GAINS, 0.02),
        ("corners", GAINS, 0.02),
    ],
)
def test_forces_of_least_norm_of_dependent_rows(name, gains, far):
    """Beside the manifold such rows contradict each other: they are met as nearly as possible."""
    model = cornered("free_root")
    at = states(model, seed=3, count=1)
    c = jc.Constraints(model, dependent(name), stabilization=gains)
    c, q, v = beside(c, at, far)
    tau = at.rng.standard_normal((ORDERS, model.nv))
    assert compare(c, q, v, 0 * tau, tau, np.zeros(model.nv, bool)) == 6


@pytest.mark.parametrize(("name", "gains"), [("corners", GAINS), ("weld and corner", NO_GAINS)])
def test_prescribed_rates_where_rows_depend_on_each_other(name, gains):
    model = cornered("free_root")
    at = states(model, seed=4, count=1)
    c, q, v = beside(jc.Constraints(model, dependent(name), stabilization=gains), at, 0.02)
    mask = np.zeros(model.nv, bool)
    mask[[1, model.v_slice(one_rate_joints(model)[0]).start]] = True
    a, tau = at.rng.standard_normal((2, ORDERS, model.nv))
    assert compare(c, q, v, a, tau, mask) == 6


@pytest.mark.parametrize("gains", [NO_GAINS, GAINS], ids=["rates", "stabilized"])
def test_rows_that_the_other_rates_cannot_fulfill_are_met_as_nearly_as_possible(gains):
    """All rates are given but two that move the tool, for four rows."""
    model = cornered("fixed_root")
    at = states(model, seed=5, count=1)
    items = [jc.Point("tool"), jc.Distance("corner0", anchor=(3.0, 2.0, 1.0))]
    c = jc.Constraints(model, items, stabilization=gains, tolerance=np.inf)
    c, q, v = beside(c, at, 0.02)
    mask = np.ones(model.nv, bool)
    mask[np.flatnonzero(np.abs(c.jacobian(q)).max(0) > 0.1)[-2:]] = False
    a, tau = at.rng.standard_normal((2, ORDERS, model.nv))
    assert compare(c, q, v, a, tau, mask) == 2


def test_a_prescribed_motion_that_the_constraints_allow_is_kept():
    """It is that of free dynamics; the forces that make it do not all come from its actuators."""
    arm = jc.models.chain(6)
    c = jc.Constraints(arm, [jc.Point("body5")])
    rng = np.random.default_rng(0)
    q = rng.standard_normal(6)
    v = jc.project_velocity(arm, q, rng.standard_normal(6), c)
    tau = rng.standard_normal((4, 6))
    free = jc.constrained_dynamics_series(arm, q, v, tau, c)
    mask = np.array([True, True, True, False, False, True])
    found = jc.constrained_hybrid_dynamics_series(arm, q, v, free.a, tau, mask, c)
    assert found.rank == 2
    assert c.rank(q) == 3
    np.testing.assert_array_equal(found.a[:, mask], free.a[:, mask])
    for k in range(4):
        np.testing.assert_allclose(found.a[k], free.a[k], atol=1e-10 * np.abs(free.a[k]).max())
    back = jc.constrained_dynamics_series(arm, q, v, found.tau, c)
    for k in range(4):
        np.testing.assert_allclose(back.a[k], free.a[k], atol=1e-9 * np.abs(free.a[k]).max())
    assert np.linalg.norm(found.force[0]) < np.linalg.norm(free.force[0])
    out = tuple(np.empty_like(x) for x in found)
    again = jc.constrained_hybrid_dynamics_series(arm, q, v, free.a, tau, mask, c, out=out)
    assert again.rank == 2
    np.testing.assert_array_equal(out[2], found.force)


def test_prescribed_accelerations_that_contradict_the_constraints_are_refused():
    arm = jc.models.chain(6)
    c = jc.Constraints(arm, [jc.Point("body5")])
    q, v, tau = np.linspace(0.1, 0.6, 6), np.zeros(6), np.zeros((2, 6))
    a, mask = np.zeros((2, 6)), np.arange(6) != 4
    hybrid = jc.constrained_hybrid_dynamics_series
    assert hybrid(arm, q, v, a, tau, mask, c).rank == 1
    a[1, 0] = 1.0
    message = r"prescribed accelerations contradict Point\('body5'\).* of order 1 are off by .*s\^3"
    with pytest.raises(jc.errors.ArgumentError, match=message):
        hybrid(arm, q, v, a, tau, mask, c)
    with pytest.raises(jc.errors.ArgumentError, match=r"in state \[1\] of the batch"):
        hybrid(arm, q, v, np.stack([0 * a, a]), tau, mask, c)
    loose = jc.Constraints(arm, c.items, tolerance=np.inf)
    assert np.isfinite(hybrid(arm, q, v, a, tau, mask, loose).force).all()


def test_entries_that_are_no_inputs_are_not_read_and_everything_may_be_prescribed():
    arm = jc.models.chain(6)
    c = jc.Constraints(arm, [jc.Point("body5")])
    q, v, tau = np.linspace(0.1, 0.6, 6), np.zeros(6), np.ones((2, 6))
    a, mask = np.zeros((2, 6)), np.arange(6) != 4
    hybrid = jc.constrained_hybrid_dynamics_series
    found = hybrid(arm, q, v, a, tau, mask, c)
    blind = hybrid(arm, q, v, np.where(mask, a, np.nan), np.where(mask, np.nan, tau), mask, c)
    for x, y in zip(found, blind, strict=True):
        np.testing.assert_array_equal(x, y)
    held = hybrid(arm, q, v, a, tau, np.ones(6, bool), c)
    assert held.rank == 0
    assert not held.force.any()
    close(held.tau, jc.inverse_dynamics_series(arm, q, np.zeros((3, 6))), 13)


@pytest.mark.parametrize("gains", [NO_GAINS, GAINS], ids=["rates", "stabilized"])
def test_a_rank_that_changes_along_the_motion_is_refused_with_both(gains):
    arm = jc.models.chain(4)
    c = jc.Constraints(arm, [jc.Distance("body2", "body0", target=2.0)], stabilization=gains)
    q, v, rows = np.array([0.1, 0.0, 0.3, 0.0]), np.array([0.0, 0.5, 0.0, 0.0]), np.zeros((3, 4))
    assert c.rank(q) == 0
    message = "of 1 rows 0 are independent at its start and 1 right after it"
    with pytest.raises(jc.errors.ArgumentError, match=message):
        jc.constrained_dynamics_series(arm, q, v, rows, c)
    mask = np.array([False, False, False, True])
    with pytest.raises(jc.errors.ArgumentError, match=message):
        jc.constrained_hybrid_dynamics_series(arm, q, v, rows, rows, mask, c)
    bent = np.array([0.1, 0.5, 0.3, 0.0])
    with pytest.raises(jc.errors.ArgumentError, match=r"in state \[1\] of the batch"):
        jc.constrained_dynamics_series(arm, [bent, q], v, rows, c)
    one = jc.constrained_dynamics_series(arm, q, v, rows[:1], c)  # no derivative is asked for
    assert one.rank == 0


SMALL = "groups_in_mid_tree"
MOVING = {
    **dict.fromkeys(["hinge", "distance of two"], "free_root"),
    **dict.fromkeys(["weld of two", "point", "cam", "wheel"], SMALL),
}
"""Kinds of constraints and robots; digits of the larger one take three times as long."""


@pytest.mark.parametrize("name", MOVING)
def test_errors_of_moving_targets_to_order_eight(name):
    """Stabilized sets, beside their targets: V' - w' + 2 alpha (V - w) + beta^2 e(T) = 0."""
    model = robot(MOVING[name])
    at = states(model, seed=6, count=1)
    item = kinds(model)[name]
    motion = 0.5 * at.rng.standard_normal((4, row_count(item)))
    if name == "hinge":  # along its axis, which does not turn with it
        motion[:, :-1] = 0.0
    if isinstance(item, jc.Coupling):
        item = replace(item, offset=None)
    c = jc.Constraints(model, [replace(item, motion=motion)], stabilization=GAINS)
    c, q, v = beside(c, at, 0.02)
    assert np.abs(c.residual(q)).max() > 1e-3
    tau = at.rng.standard_normal((9, model.nv))
    assert compare(c, q, v, 0 * tau, tau, np.zeros(model.nv, bool)) == c.size
    found, other = jc.constrained_dynamics_series(model, q, v, tau, c), by_orders(c, q, v, tau)
    for k in range(9):
        np.testing.assert_allclose(found.a[k], other.a[k], atol=1e-9 * np.abs(other.a[k]).max())


def test_corners_whose_targets_move():
    """Rates that contradict each other are met in the sense of least squares, and so is e(T)."""
    model = cornered("free_root")
    at = states(model, seed=7, count=1)
    motions = 0.3 * at.rng.standard_normal((3, 2, 3))
    items = [replace(x, motion=w) for x, w in zip(dependent("corners"), motions, strict=True)]
    c, q, v = beside(jc.Constraints(model, items, stabilization=GAINS), at, 0.02)
    tau = at.rng.standard_normal((ORDERS, model.nv))
    assert compare(c, q, v, 0 * tau, tau, np.zeros(model.nv, bool)) == 6
