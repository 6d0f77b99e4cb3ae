"""Constrained dynamics and their series against 60 digits: every joint type, random constraints."""

from __future__ import annotations

import numpy as np
import pytest
from constraints_cases import ROBOTS, kinds, robot, states

import jounce as jc

digits = pytest.importorskip("constraints_digits")
from oracle_digits import many_digits  # noqa: E402, which needs mpmath

pytestmark = pytest.mark.long
WELD_AND_ROD, WHEEL_AND_CAM = ("weld of two", "distance"), ("wheel on a body", "cam")
REDUNDANT = ("weld", "weld", "gears")
SERIES = [
    ("groups_in_mid_tree", WELD_AND_ROD),
    ("groups_in_mid_tree", WHEEL_AND_CAM),
    ("groups_in_mid_tree", REDUNDANT),
    ("fixed_root", REDUNDANT),
    ("free_root", WELD_AND_ROD),
    ("spherical_root", WHEEL_AND_CAM),
]


def pushed(c, q, v, found):
    """J^T force and its derivatives, by the equations of motion of the series."""
    motion = np.concatenate([v[None], found.a])
    return lambda tau, f_ext: jc.inverse_dynamics_series(c.model, q, motion, f_ext) - tau


def compare(model, items, orders, seed, tolerance):
    at = states(model, seed=seed, count=1)
    q, c = at.q[0], jc.Constraints(model, items)
    v = jc.project_velocity(model, q, at.v[0], c)
    v /= max(1.0, np.abs(v).max())
    tau = at.rng.standard_normal((orders, model.nv))
    f_ext = at.rng.standard_normal((orders, model.n_bodies, 6))
    with many_digits():
        a, push, rank = digits.forward(model, items, q, v, tau, f_ext)
    assert rank == c.rank(q)
    found = jc.constrained_dynamics_series(model, q, v, tau, c, f_ext)
    got = pushed(c, q, v, found)(tau, f_ext)
    zeroth = jc.constrained_dynamics(model, q, v, tau[0], c, f_ext[0])
    spread = np.linalg.eigvalsh(c.inverse_inertia(q))[-rank:]
    tolerance = max(tolerance, 4e-15 * spread[-1] / spread[0])
    J_T_force = c.jacobian(q).T @ zeroth.force
    for x, y in ((found.a, a), (got, push), (zeroth.a[None], a[:1]), (J_T_force[None], push[:1])):
        for k in range(len(x)):
            error = np.abs(x[k] - y[k]).max() / np.abs(y[k]).max()
            assert error < tolerance, (k, error)


@pytest.mark.parametrize("name", ROBOTS)
def test_random_sets_of_constraints(name):
    """Of every kind, two at a time."""
    model = robot(name)
    known = kinds(model)
    order = np.random.default_rng(len(name)).permutation(list(known))
    for seed, pair in enumerate(order.reshape(-1, 2)):
        compare(model, [known[k] for k in pair], 1, seed, 1e-11)


@pytest.mark.parametrize(("name", "some"), SERIES)
def test_series_to_order_eight(name, some):
    model = robot(name)
    compare(model, [kinds(model)[k] for k in some], 9, 5, 1e-9)
