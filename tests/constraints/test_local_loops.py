"""Loops that are eliminated where their frames meet, against all rows at once."""

from __future__ import annotations

import numpy as np
import pytest
from constraints_cases import ROBOTS, close, kinds, robot, states

import jounce as jc
from jounce.constraints.dynamics import _forward, _local


def both(c, q, v, tau, f_ext=None):
    given = (c.model, q, v, tau, c._accelerations, c.table, f_ext)
    local, whole = _local(*given), _forward(*given)
    assert np.array_equal(whole.rank, np.broadcast_to(c.rank(q), np.shape(whole.rank)))
    return (*whole, whole.rank), (*local, local.rank)


def chain_of_loops(count, plane=True):
    """Four-bars on top of each other: each one's rod carries the next one."""
    build = jc.ModelBuilder()
    body = {"mass": 1.0, "com": (0.1, 0.02, 0.3), "inertia": np.diag([0.1, 0.12, 0.05])}
    axis = (0, 1, 0)
    items, carrier = [], None
    for k in range(count):
        build.add_body(f"crank{k}", carrier, "revolute", axis=axis, **body)
        tilted = axis if plane else (0.1, 1.0, 0.2)
        build.add_body(f"rod{k}", f"crank{k}", "revolute", (0, 0, 0.6), axis=tilted, **body)
        build.add_body(f"rocker{k}", carrier, "revolute", (0.5, 0, 0), axis=axis, **body)
        build.add_frame(f"rod end{k}", f"rod{k}", (0.5, 0, 0))
        build.add_frame(f"rocker end{k}", f"rocker{k}", (0, 0, 0.6))
        items.append(jc.Point(f"rod end{k}", f"rocker end{k}", target=np.zeros(3)))
        carrier = f"rod{k}"
    return jc.Constraints(build.build(), items)


@pytest.mark.parametrize("plane", [True, False])
def test_a_chain_of_loops(plane):
    """In a plane each loop has a row that depends on nothing."""
    c = chain_of_loops(5, plane)
    model, rng = c.model, np.random.default_rng(0)
    q = 0.2 * rng.standard_normal(model.nq) if not plane else np.zeros(model.nq)
    v = jc.project_velocity(model, q, rng.standard_normal(model.nv), c)
    tau = rng.standard_normal((3, model.nv))
    f_ext = rng.standard_normal((3, model.n_bodies, 6))
    dense, found = both(c, q, v, tau, f_ext)
    assert np.array_equal(found[2], dense[2])
    assert (dense[2] == (10 if plane else 15)).all()
    close(found[0], dense[0], 9)
    close(found[1], dense[1], 9)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("kind", ["weld of two", "point of two", "hinge", "wheel on a body"])
def test_one_loop_between_bodies_of_every_joint_type(name, kind):
    model, at = robot(name), states(robot(name), count=3)
    c = jc.Constraints(model, [kinds(model)[kind]])
    c = c.stabilized(2.0, 3.0)
    dense, found = both(c, at.q, at.v, at.tau, at.f_ext)
    assert (found[2] == c.size).all()
    cond = np.linalg.cond(c.inverse_inertia(at.q)).max()
    digits = min(10, 13 - np.log10(cond))
    close(found[0], dense[0], digits)
    close(found[1], dense[1], digits)


def test_feet_on_the_ground_meet_in_the_world():
    model = robot("free_root")
    c, at = jc.Constraints(model, [jc.Weld("tool")]), states(model, count=2)
    dense, found = both(c, at.q, at.v, at.tau)
    close(found[0], dense[0], 9)
    close(found[1], dense[1], 9)


def test_what_overlaps_is_left_to_all_rows_at_once():
    c = chain_of_loops(3)
    model = c.model
    q, zero = np.zeros(model.nq), np.zeros(model.nv)
    over = jc.Constraints(model, [*c.items, jc.Weld("rocker end2")])
    gears = jc.Constraints(model, [*c.items, jc.Coupling({"crank0_joint": 1.0, "rod0_joint": 1.0})])
    for more in (over, gears):
        assert both(more, q, zero, zero)[1][2] == -1
        a = jc.constrained_dynamics(model, q, zero, np.ones(model.nv), more).a
        assert np.abs(more.acceleration(q, zero, a)).max() < 1e-9


def test_a_hundred_loops_and_out():
    c = chain_of_loops(100)
    model = c.model
    assert (c.size, model.nv) == (300, 300)
    q, v = np.zeros(model.nq), np.zeros(model.nv)
    tau = np.random.default_rng(0).standard_normal(model.nv)
    found = jc.constrained_dynamics(model, q, v, tau, c)
    scale = np.abs(found.a).max()
    assert np.abs(c.acceleration(q, v, found.a)).max() < 1e-10 * scale
    left = jc.inverse_dynamics(model, q, v, found.a) - tau - found.force @ c.jacobian(q)
    assert np.abs(left).max() < 1e-10 * np.abs(found.force).max()
    out = (np.empty(model.nv), np.empty(c.size))
    again = jc.constrained_dynamics(model, q, v, tau, c, out=out)
    assert again.a is out[0]
    assert np.array_equal(out[1], found.force)
