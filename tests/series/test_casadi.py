"""Series against nested automatic differentiation by CasADi, up to order 4."""

from __future__ import annotations

import numpy as np
import pytest
from series_cases import EXACT, ROBOTS, assert_series_close, given_forces, given_motion, robot

import jounce as jc

pytest.importorskip("casadi")
import oracle_casadi as oracle

ORDER = 4
STATES = 3

every_robot = pytest.mark.parametrize("name", ROBOTS)


@pytest.mark.parametrize("t", [0.0, 4.2, 17.0, 29.99])
def test_inverse_series_equals_nested_differentiation_along_table_3(t):
    model = robot("aerial manipulator")
    q, motion = jc.trajectories.aerial_manipulator_reference(model).evaluate(t, ORDER)
    expected = oracle.inverse_series(model, q, motion)
    assert_series_close(jc.inverse_dynamics_series(model, q, motion), expected, EXACT)


@every_robot
def test_inverse_series_equals_nested_differentiation_for_random_motions(name):
    model = robot(name)
    for q, motion, f_ext in zip(*given_motion(name, ORDER, (STATES,)), strict=True):
        expected = oracle.inverse_series(model, q, motion, f_ext)
        assert_series_close(jc.inverse_dynamics_series(model, q, motion, f_ext), expected, EXACT)


@every_robot
def test_forward_series_satisfies_nested_differentiation(name):
    """The accelerations that forces give, put into CasADi's derivatives, give the forces back."""
    model = robot(name)
    for q, v, _, tau, f_ext in zip(*given_forces(name, ORDER, (STATES,)), strict=True):
        acc = jc.forward_dynamics_series(model, q, v, tau, f_ext)
        residual = np.abs(oracle.inverse_series(model, q, np.vstack([v, acc]), f_ext) - tau)
        # What cancels in the forces of order k is M a^(k), far larger than the forces themselves.
        size = np.abs(acc @ jc.mass_matrix(model, q)).max(-1, keepdims=True)
        assert (residual <= EXACT * size).all(), (residual / size).max(-1)
