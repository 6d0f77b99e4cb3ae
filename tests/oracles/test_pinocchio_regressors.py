"""Regressors agree with Pinocchio on all robots of example-robot-data."""

from __future__ import annotations

import numpy as np
import pytest
import real_robots
from comparison import relative_error
from real_robots import MOVING, ROBOTS

import jounce as jc

pin = pytest.importorskip("pinocchio")

STATES = 4


def in_our_order(s, theirs):
    """Columns of their bodies, which follow their joints, in the order of ours."""
    joints = [s.pin.getJointId(name) - 1 for name in s.model.joint_names]
    blocks = np.array(theirs).reshape(*np.shape(theirs)[:-1], -1, 10)
    return blocks[..., joints, :].reshape(*np.shape(theirs)[:-1], 10 * len(joints))


@pytest.mark.parametrize(("path", "base"), MOVING)
def test_regressors(path, base):
    s = real_robots.setting(path, base, STATES)
    Y = jc.torque_regressor(s.model, s.q, s.v, s.a)
    columns = s.there.to_tau(s.q[:, None], np.swapaxes(Y, -1, -2))
    states = list(zip(s.pin_q, s.pin_v, s.pin_a, strict=True))
    theirs = [pin.computeJointTorqueRegressor(s.pin, s.data, *x).copy() for x in states]
    assert relative_error(np.swapaxes(columns, -1, -2), in_our_order(s, theirs)) < 1e-10
    theirs = [pin.computeKineticEnergyRegressor(s.pin, s.data, *x[:2]).copy() for x in states]
    ours = jc.kinetic_energy_regressor(s.model, s.q, s.v)
    assert relative_error(ours, in_our_order(s, theirs)) < 1e-10
    theirs = [pin.computePotentialEnergyRegressor(s.pin, s.data, x[0]).copy() for x in states]
    ours = jc.potential_energy_regressor(s.model, s.q)
    assert relative_error(ours, in_our_order(s, theirs)) < 1e-10


@pytest.mark.parametrize(
    ("name", "base", "number"),
    [("panda.urdf", "fixed", 51), ("talos_reduced.urdf", "free", 234)],
)
def test_numbers_of_base_parameters(name, base, number):
    path = next(path for path in ROBOTS if path.name == name)
    model = real_robots.load_quietly(str(path), base=base)
    assert len(jc.base_parameters(model).columns) == number


def test_an_arm_whose_fingers_are_locked_shows_the_arms_base_parameters():
    path = next(path for path in ROBOTS if path.name == "panda.urdf")
    model = real_robots.load_quietly(str(path), base="fixed")
    fingers = {name: 0.01 for name in model.joint_names if "finger" in name}
    assert len(fingers) == 2
    assert len(jc.base_parameters(model.lock(fingers)).columns) == 43
