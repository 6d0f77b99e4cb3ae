"""The robot of the demo moves as robots can: on its feet, within its limits, by Newton's laws."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce.demo import robot


@pytest.fixture(scope="module")
def motion():
    return robot.squat(41)


def test_the_soles_stay_where_they_are(motion):
    for sole in ("left_sole", "right_sole"):
        pose = jc.body_pose(motion.model, motion.q, sole)
        assert np.abs(pose - pose[0]).max() < 1e-6  # splines between exact configurations
        assert np.abs(pose[:, 2, 3]).max() < 1e-6


def test_joints_and_motors_are_within_their_limits(motion):
    model, driven = motion.model, motion.model.actuated
    assert np.all((motion.q >= model.lower - 1e-6) & (motion.q <= model.upper + 1e-6))
    assert np.all(np.abs(motion.tau[:, driven]) < model.effort_limit[driven])
    assert np.abs(motion.tau[:, ~driven]).max() < 1e-9


def test_the_ground_changes_the_momentum(motion):
    """Newton: its force is the mass times the acceleration of the center of mass, less gravity."""
    model = motion.model
    sample = motion.path.evaluate(motion.t, order=0)
    rate = jc.jvp(
        jc.centroidal_momentum, model, (sample.q, sample.v), (sample.v, sample.a)
    ).derivative
    expected = rate[:, 3:] - jc.total_mass(model) * model.gravity
    np.testing.assert_allclose(motion.force[..., 3:].sum(axis=1), expected, atol=1e-3)


def test_the_ground_pushes_under_the_soles(motion):
    assert motion.force[..., 5].min() > 0
    assert motion.pressure[:, 0].min() > -0.08
    assert motion.pressure[:, 0].max() < 0.15
    assert np.abs(motion.pressure[:, 1]).max() < 1e-6
