"""Constraints that contradict each other, states that violate them, names and numbers of rows."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

ARM = jc.models.chain(6)
Q = np.linspace(0.1, 0.6, 6)
STILL = np.zeros(6)


def finite(result):
    return all(np.isfinite(x).all() for x in result)


def test_targets_that_contradict_each_other_cannot_be_met():
    here = jc.Point("body5", target=(0.5, 0.0, 0.0))
    there = jc.Point("body5", target=(0.0, 0.5, 0.0))
    c = jc.Constraints(ARM, [here, there])
    with pytest.raises(jc.errors.ArgumentError, match=r"cannot be met.*contradict each other"):
        jc.project(ARM, Q, c)
    far = r"residual of Point\('body5'\) in state \[0\] of the batch is still 0\.\d+ rad or m"
    with pytest.raises(jc.errors.ArgumentError, match=far):
        jc.project(ARM, Q[None], c)
    # dynamics ask for accelerations only, where they agree
    assert finite(jc.constrained_dynamics(ARM, Q, STILL, STILL, c))


def test_a_rod_without_an_anchor_or_a_length_is_refused():
    with pytest.raises(jc.errors.ArgumentError, match="anchor must be numbers, got None"):
        jc.Distance("body5", anchor=None)
    rod = jc.Constraints(ARM, [jc.Distance("body5", target=0.5, motion=[-0.2])])
    assert rod.at_time(2.0).items[0].target == pytest.approx(0.1, abs=1e-15)
    short = r"Distance\('body5'\) has no length at t = 3 s: .* from 0.5 m to -0.1 m"
    with pytest.raises(jc.errors.ArgumentError, match=short):
        rod.at_time(3.0)


def test_accelerations_that_contradict_each_other_are_met_as_nearly_as_possible():
    up, down = (jc.Point("body5", motion=[[0, 0, 0], [0, 0, s]]) for s in (1.0, -1.0))
    both = jc.constrained_dynamics(ARM, Q, STILL, STILL, jc.Constraints(ARM, [up, down]))
    still = jc.constrained_dynamics(ARM, Q, STILL, STILL, jc.Constraints(ARM, [jc.Point("body5")]))
    assert finite(both)
    np.testing.assert_allclose(both.a, still.a, atol=1e-9)
    derivatives = jc.constrained_dynamics_derivatives(
        ARM, Q, STILL, STILL, jc.Constraints(ARM, [up, down])
    )
    assert finite(derivatives)


def test_motions_under_accelerations_that_contradict_each_other_are_refused():
    up, down = (jc.Point("body5", motion=[[0, 0, 0], [0, 0, s]]) for s in (1.0, -1.0))
    c = jc.Constraints(ARM, [up, down])
    with pytest.raises(jc.errors.ArgumentError, match=r"no acceleration fulfills Point\('body5'\)"):
        jc.simulate(ARM, Q, STILL, [0.0, 0.1], constraints=c)
    with pytest.raises(jc.errors.ArgumentError, match="no acceleration fulfills"):
        jc.rollout(ARM, Q, STILL, np.zeros((2, 6)), 0.01, constraints=c)
    agree = jc.Constraints(ARM, [up, up])
    assert np.isfinite(jc.simulate(ARM, Q, STILL, [0.0, 0.01], constraints=agree).q).all()


def test_accelerations_of_a_stabilized_set_are_allowed_by_it():
    c = jc.Constraints(ARM, [jc.Point("body5")]).at(Q).stabilized(100.0)
    near = Q + 2e-7  # within the tolerance of 1e-6
    v = jc.project_velocity(ARM, near, np.ones(6), c)
    a = jc.constrained_dynamics(ARM, near, v, STILL, c).a
    assert np.abs(c.acceleration(near, v, a)).max() > 1e-4
    assert finite(jc.constrained_inverse_dynamics(ARM, near, v, a, c))
    planned = jc.constrained_dynamics(ARM, near, v, STILL, c.stabilized(0.0)).a
    assert finite(jc.constrained_inverse_dynamics(ARM, near, v, planned, c))
    series = jc.constrained_dynamics_series(ARM, near, v, np.zeros((4, 6)), c).a
    motion = np.concatenate([v[None], series])
    assert finite(jc.constrained_inverse_dynamics_series(ARM, near, motion, c))
    motion[2] += 1.0
    with pytest.raises(jc.errors.ArgumentError, match=r"motion\[\.\.\., 2, :\] violates"):
        jc.constrained_inverse_dynamics_series(ARM, near, motion, c)


def test_a_negative_tolerance_is_refused():
    c = jc.Constraints(ARM, [jc.Point("body5")]).at(Q)
    with pytest.raises(jc.errors.ArgumentError, match="tolerance must not be negative, got -1"):
        jc.project(ARM, Q, c, tolerance=-1)


def test_a_state_that_violates_them_is_measured_and_brought_back():
    c = jc.Constraints(ARM, [jc.Point("body5")]).at(Q)
    away = Q + 0.01
    assert np.abs(c.residual(away)).max() > 1e-3
    assert np.abs(c.residual(jc.project(ARM, away, c))).max() < 1e-12
    v = jc.project_velocity(ARM, Q, np.ones(6), c)
    assert np.abs(c.velocity(Q, v)).max() < 1e-12
    with pytest.raises(jc.errors.ArgumentError, match=r"actuation|cannot|motion"):
        jc.constrained_inverse_dynamics(
            ARM, Q, STILL, STILL, jc.Constraints(ARM, []), actuated=["joint0"]
        )


@pytest.mark.parametrize(
    "item",
    [
        jc.Weld("hand"),
        jc.Point("body5", "hand"),
        jc.Loop("body5", "hand", free=("rz",)),
        jc.Distance("hand"),
        jc.Rolling("hand", 0.1),
        jc.Coupling({"elbow": 1.0, "joint0": 1.0}),
    ],
)
def test_a_frame_or_joint_that_does_not_exist_is_named(item):
    with pytest.raises(jc.errors.UnknownNameError, match=r"hand|elbow"):
        jc.Constraints(ARM, [item])


def test_no_constraints_are_no_constraints():
    none = jc.Constraints(ARM, [])
    tau = np.arange(6.0)
    found = jc.constrained_dynamics(ARM, Q, STILL, tau, none)
    np.testing.assert_array_equal(found.a, jc.forward_dynamics(ARM, Q, STILL, tau))
    assert found.force.shape == (0,)
    assert none.regular(Q)
    assert jc.linearize(ARM, Q, STILL, tau, constraints=none).A_min.shape == (12, 12)
    assert jc.constrained_dynamics_series(ARM, Q, STILL, tau[None], none).force.shape == (1, 0)
    assert jc.impulse(ARM, Q, tau, none).impulse.shape == (0,)
    np.testing.assert_array_equal(jc.project(ARM, Q, none), Q)


@pytest.mark.parametrize("count", [2, 5])
def test_more_rows_than_rates_hold_everything(count):
    c = jc.Constraints(ARM, [jc.Weld(k) for k in range(6 - count, 6)])
    assert c.size == 6 * count > ARM.nv
    found = jc.constrained_dynamics(ARM, Q, STILL, np.ones(6), c)
    assert finite(found)
    if c.rank(Q) == 6:
        assert np.abs(found.a).max() < 1e-8
    forces = found.force @ c.jacobian(Q)
    needed = jc.inverse_dynamics(ARM, Q, STILL, found.a) - np.ones(6)
    np.testing.assert_allclose(forces, needed, atol=1e-7 * np.abs(needed).max())
    assert finite(jc.constrained_dynamics_derivatives(ARM, Q, STILL, np.ones(6), c))


def test_series_of_rows_of_different_lengths_are_refused():
    c, ragged = jc.Constraints(ARM, [jc.Point("body5")]), [[1.0], [1.0, 2.0]]
    out = (np.empty((2, 6)), np.empty((2, 3)))
    for call in (
        lambda: jc.constrained_dynamics_series(ARM, Q, STILL, ragged, c, out=out),
        lambda: jc.constrained_dynamics_series_derivatives(ARM, Q, STILL, ragged, c),
        lambda: jc.constrained_inverse_dynamics_series(ARM, Q, ragged, c),
    ):
        with pytest.raises(jc.Error, match=r"tau|motion"):
            call()
