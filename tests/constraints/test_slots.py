"""Loops some of whose rows hold a position, and others rates alone: slots that turn."""

from __future__ import annotations

import numpy as np
import pytest
from constraints_cases import close

import jounce as jc
from jounce import lie

STILL = np.zeros(6)
FREE = {
    ("rz", "x"): [True, True, False, True],
    ("ry", "x", "y"): [True, True, False],
    ("rx", "x"): [True, True, True, True],
    ("rx", "y", "z"): [True, True, True],
    ("rx", "ry"): [False, True, True, True],
    ("rx", "ry", "x"): [False, False, False],
}


def slot(free, **options):
    build = jc.ModelBuilder()
    inertia = np.diag([0.2, 0.3, 0.4])
    model = build.add_body("b", None, "free", mass=1.3, com=(0.1, 0, 0.2), inertia=inertia).build()
    return jc.Constraints(model, [jc.Loop("b", None, free=free, **options)])


@pytest.mark.parametrize("free", FREE)
def test_rows_that_hold_a_position_are_those_with_targets(free):
    c, expected = slot(free), FREE[free]
    rng = np.random.default_rng(0)
    q = jc.random_configuration(c.model, rng)
    held = c.at(q)
    assert c.holonomic.tolist() == held.targeted.tolist() == expected
    assert (held.items[0].target is not None) == any(expected)
    v = jc.project_velocity(c.model, q, rng.standard_normal(6), c)
    lin = jc.linearize(c.model, q, v, STILL, constraints=c)
    assert lin.Z.shape[1] == 12 - c.size - sum(expected)
    # any motion along free directions, one after the other, leaves these rows where they are
    moved, names = q, ["rx", "ry", "rz", "x", "y", "z"]
    for name in rng.permutation(list(free) * 5):
        step = np.eye(6)[names.index(name)] * rng.uniform(-0.3, 0.3)
        moved = jc.integrate(c.model, moved, step)
    assert np.abs(jc.difference(c.model, q, moved)).max() > 0.1
    close(held.residual(moved), 0.0, 14, 1.0)
    # and the others not
    everything = jc.Constraints(c.model, [jc.Weld("b")]).at(q).residual(moved)
    rows = [k for k, name in enumerate(names) if name not in free]
    assert (np.abs(everything[rows][~c.holonomic]) > 1e-5).all()


def test_a_slot_that_turns_stays_in_its_plane():
    c = slot(("rz", "x"), target=np.eye(4))
    q = np.r_[lie.quat_exp([0.02, -0.03, 0.7]), 0.3, 0.4, 0.05]
    back = jc.project(c.model, q, c)
    assert abs(back[6]) < 1e-12
    v = jc.project_velocity(c.model, back, np.array([0, 0, 2.0, 0.5, 0, 0]), c)
    got = jc.simulate(c.model, back, v, np.linspace(0, 1, 5), constraints=c)
    close(got.q[:, 6], 0.0, 12, 1.0)
    assert np.abs(got.q[-1, 4:6] - back[4:6]).max() > 0.1
    with pytest.raises(jc.ArgumentError, match=r"violates Loop\('b'\)"):
        jc.simulate(c.model, q, STILL, [0.0, 0.1], constraints=c)
    with pytest.raises(jc.ArgumentError, match="takes no target"):
        slot(("rx", "ry", "x"), target=np.eye(4))


@pytest.mark.parametrize("free", [("rz", "x"), ("rx", "ry")])
def test_stabilization_pulls_at_the_rows_with_targets_alone(free):
    c = slot(free, target=np.eye(4)).stabilized(3.0, 4.0)
    rng = np.random.default_rng(1)
    q = np.r_[lie.quat_exp([0.02, -0.03, 0.7]), 0.3, 0.4, 0.05]
    v, tau = rng.standard_normal((2, 6))
    series = jc.constrained_dynamics_series(c.model, q, v, np.array([tau, STILL]), c)
    one = jc.constrained_dynamics(c.model, q, v, tau, c)
    close(series.a[0], one.a, 12)
    wanted = -6.0 * c.velocity(q, v)
    rows = ~c.holonomic
    close(c.acceleration(q, v, one.a)[rows], wanted[rows], 11)
    d = jc.constrained_dynamics_derivatives(c.model, q, v, tau, c)
    along = d.a_dq @ v + d.a_dv @ one.a
    close(series.a[1], along, 10)
