"""Bodies that the world holds: one sweep less, and the branches of one state in lanes."""

from __future__ import annotations

import constraints_oracle as oracle
import numpy as np
import pytest
from constraints_cases import ROBOTS, close, robot, states

import jounce as jc

SETS = {
    "weld": [jc.Weld("tool")],
    "point": [jc.Point("tool")],
    "hinge and point": [jc.Loop("tool", None, free=("ry",)), jc.Point("other")],
    "some directions": [jc.Loop("other", None, free=("rx", "x", "z"))],
}


@pytest.mark.parametrize("items", SETS.values(), ids=list(SETS))
@pytest.mark.parametrize("name", ROBOTS)
def test_they_solve_the_dense_system(name, items):
    model = robot(name)
    at = states(model)
    c = jc.Constraints(model, items)
    kept = c.rank(at.q) == c.size
    q, v, tau, f_ext = (x[kept] for x in (at.q, at.v, at.tau, at.f_ext))
    for wrenches in (None, f_ext):
        found = jc.constrained_dynamics(model, q, v, tau, c, wrenches)
        a, force = oracle.dynamics(model, items, q, v, tau, wrenches)
        condition = np.linalg.cond(c.inverse_inertia(q)).max(initial=1.0)
        for x, y in ((found.a, a), (found.force, force)):
            assert np.abs(x - y).max(initial=0.0) < 1e-14 * condition * np.abs(y).max(initial=1.0)


@pytest.mark.parametrize("name", ["quadruped", "humanoid"])
def test_one_state_in_lanes_is_that_of_a_batch(name):
    model = getattr(jc.models, name)()
    names = model.body_names
    rng = np.random.default_rng(1)
    q = jc.random_configuration(model, rng, 4)
    v, tau = rng.standard_normal((2, 4, model.nv))
    for items in (
        [jc.Point(names[-1]), jc.Weld(names[2])],
        [jc.Weld(names[0])],
        [jc.Loop(names[3], None, free=("rx", "rz")), jc.Point(names[-2]), jc.Point(names[4])],
        [jc.Weld(names[-1]), jc.Weld(names[-1])],  # of rank six
    ):
        c = jc.Constraints(model, items)
        batch = jc.constrained_dynamics(model, q, v, tau, c)
        for k in range(4):
            one = jc.constrained_dynamics(model, q[k], v[k], tau[k], c)
            close(one.a, batch.a[k], 10)
            close(one.force, batch.force[k], 10)
            if c.rank(q[k]) == c.size:
                left = np.abs(c.acceleration(q[k], v[k], one.a)).max()
                assert left < 1e-10 * np.abs(one.a).max()


def test_arguments_of_one_state_are_checked():
    model = jc.models.quadruped()
    c = jc.Constraints(model, [jc.Point("front_left_foot")])
    q, v = model.poses["standing"], np.zeros(model.nv)
    bad = v.copy()
    bad[3] = np.nan
    with pytest.raises(jc.errors.ArgumentError, match="tau must be finite"):
        jc.constrained_dynamics(model, q, v, bad, c)
    with pytest.raises(jc.errors.ArgumentError, match="shape"):
        jc.constrained_dynamics(model, q, v[:-1], v, c)
    listed = jc.constrained_dynamics(model, list(q), list(v), list(v), c)
    assert isinstance(listed, tuple)
    close(listed.a, jc.constrained_dynamics(model, q, v, v, c).a, 14)
    none = jc.constrained_dynamics(model, q[None][:0], v, v, c)
    assert none.a.shape == (0, model.nv)
    assert none.force.shape == (0, 3)
