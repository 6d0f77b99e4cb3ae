"""Wrenches through joints, by Newton and Euler for what each body carries."""

from __future__ import annotations

import numpy as np
import partials_oracle as oracle
import pytest

import jounce as jc
from jounce import lie


def exact_joint_wrenches(model, q, v, a, f_ext):
    """Newton and Euler for what each body carries, about the world's origin; then to the body."""
    t = oracle.tree(model, q)
    V, A = oracle.twists_and_accelerations(t, v, a)
    A[..., 3:] -= model.gravity
    f = oracle.times(t.I, A)
    f -= oracle.times(np.swapaxes(lie.ad(V), -1, -2), oracle.times(t.I, V))
    bodies = np.flatnonzero(model.nodes.body >= 0)
    X = np.swapaxes(lie.Ad(t.T[..., bodies, :, :]), -1, -2)  # a wrench from the world to the body
    if f_ext is not None:
        f[..., bodies, :] -= np.linalg.solve(X, f_ext[..., None])[..., 0]
    for i in range(len(model.nodes.parent) - 1, 0, -1):
        if model.nodes.parent[i] >= 0:
            f[..., model.nodes.parent[i], :] += f[..., i, :]
    return oracle.times(X, f[..., bodies, :])


@pytest.mark.parametrize("loaded", [False, True])
def test_joint_wrenches_obey_newton_and_euler(loaded, robot, state):
    s = state(robot, 5)
    f_ext = s.f_ext if loaded else None
    got = jc.joint_wrenches(robot, s.q, s.v, s.a, f_ext)
    expected = exact_joint_wrenches(robot, s.q, s.v, s.a, f_ext)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
