"""Taylor steps in extended precision: those of doubles, with what doubles lack."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from constraints_cases import KINDS, ROBOTS, close, robot, set_of, states

import jounce as jc
from jounce.constraints.table import row_count
from jounce.simulation.extended_step import held_step
from jounce.simulation.manifold import Manifold
from jounce.simulation.series_path import kept, path_of, taken
from jounce.simulation.taylor import ANY

EPS = np.finfo(float).eps
ORDER = 8
LONGER = np.finfo(np.longdouble).eps < EPS  # what the compiler has, too


def held(name, kind, *, moving=False, gains=(0.0, 0.0), count=2):
    """A robot's constraint of a kind, and states that it allows."""
    model = robot(name)
    x = states(model, count=count)
    (item,) = set_of(model, kind)
    motion = 0.3 * x.rng.standard_normal((3, row_count(item))) if moving else None
    c = jc.Constraints(model, [replace(item, motion=motion)], stabilization=gains)
    v = jc.project_velocity(model, x.q, x.v, c)
    tau = np.zeros((count, ORDER, model.nv))
    tau[:, 0] = x.tau
    f_ext = np.zeros((count, ORDER, model.n_bodies, 6))
    f_ext[:, 1] = x.f_ext
    return Manifold(c, x.q, 0.0, False, 1), kept(model, x.q, v), v, tau, f_ext


def compared(manifold, at, v, tau, f_ext, t):
    """The step beside that of the series of doubles."""
    h = np.array([0.01, 0.02])
    step = held_step(manifold, t, at, tau, h, (ANY, ANY), f_ext)
    model = manifold.model
    path = path_of(model, at, manifold.series(t, at.q, v, tau, f_ext))
    end = taken(path, at, h)
    np.testing.assert_array_equal(step.path.h, h)
    close(step.end.q, end.q, 12)
    close(step.end.s, end.s, 11)
    for k in range(ORDER + 1):
        close(step.path.rates[:, k], path.rates[:, k], 8)
        close(step.path.coordinates[:, k], path.coordinates[:, k], 8)
        close(step.path.motion[:, k], path.motion[:, k], 8)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_are_those_of_doubles(kind):
    compared(*held("groups_in_mid_tree", kind), np.zeros(2))


@pytest.mark.parametrize("name", ROBOTS)
def test_steps_of_all_joints_are_those_of_doubles(name):
    compared(*held(name, "point of two"), np.zeros(2))


@pytest.mark.parametrize("kind", ["weld of two", "wheel", "cam"])
def test_rows_that_move_do_so_from_any_time_on(kind):
    manifold, at, v, tau, f_ext = held("groups_in_mid_tree", kind, moving=True, gains=(2.0, 0.0))
    compared(manifold, at, v, tau, f_ext, np.array([0.0, 0.3]))


def test_rows_that_depend_on_each_other_are_left_to_another_series():
    """Four points of a rigid body: the shares of their force change along the motion."""
    manifold, at, v, tau, f_ext = held("groups_in_mid_tree", "point")
    model = manifold.model
    four = model
    for k, p in enumerate([(0.2, 0, 0), (0, 0.2, 0), (0, 0, 0.2)]):
        T = np.eye(4)
        T[:3, 3] = p
        four = four.with_frame(f"p{k}", "tool", T)
    c = jc.Constraints(four, [jc.Point(x) for x in ("tool", "p0", "p1", "p2")])
    assert c.rank(at.q[0]) < c.size
    v = jc.project_velocity(four, at.q, v, c)
    compared(Manifold(c, at.q, 0.0, False, 1), kept(four, at.q, v), v, tau, f_ext, np.zeros(2))


@pytest.mark.skipif(not LONGER, reason="long double is a double here")
def test_what_doubles_lack_is_kept():
    """Two halves of a step end where the whole does, to less than the last digit of a double."""
    manifold, at, _, tau, f_ext = held("groups_in_mid_tree", "weld of two")
    h, tau, f_ext = np.full(2, 2.0**-8), 0.0 * tau, 0.0 * f_ext
    options = (ANY, ANY), f_ext
    whole = held_step(manifold, np.zeros(2), at, tau, h, *options).end
    half = held_step(manifold, np.zeros(2), at, tau, h / 2, *options).end
    half = held_step(manifold, h / 2, half, tau, h / 2, *options).end
    both = (half.q - whole.q) + (half.q_low - whole.q_low)
    truncated = float(h[0] / 2) ** (ORDER + 1) * 1e4
    assert truncated < 0.01 * EPS
    assert np.abs(both).max() < 0.05 * EPS
    assert np.abs(whole.q_low).max() > 0.05 * EPS  # as large as what a double leaves out
