"""Named configurations of a model: read-only, checked, and carried along."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import jounce as jc


def posed(model):
    home, wild = jc.neutral(model), jc.random_configuration(model, 3)
    return model.replace(poses={"home": home, "wild": wild}), home, wild


def test_a_model_has_no_poses_unless_given(robot):
    assert dict(robot.poses) == {}
    with pytest.raises(TypeError):
        robot.poses["home"] = jc.neutral(robot)


def test_poses_are_kept_and_read_only(robot):
    model, home, wild = posed(robot)
    np.testing.assert_array_equal(model.poses["home"], home)
    np.testing.assert_array_equal(model.poses["wild"], wild)
    with pytest.raises(ValueError, match="read-only"):
        model.poses["wild"][0] = 1.0
    wild[:] = 0.0
    assert model.poses["wild"].any()
    assert model != robot
    assert model.replace(poses={}) == robot


def test_poses_are_carried_through_copies(robot):
    model, _, wild = posed(robot)
    assert pickle.loads(pickle.dumps(model)) == model
    assert jc.ModelBuilder(model).build() == model
    other = model.replace(gravity=(0, 0, 0), inertias=2 * model.inertias, damping=0.1)
    np.testing.assert_array_equal(other.poses["wild"], wild)


def test_joints_that_a_builder_adds_are_neutral_in_the_poses():
    model, _, wild = posed(jc.models.random_tree(6, 2))
    builder = jc.ModelBuilder(model)
    builder.add_body("ball", "body1", joint="spherical", mass=1.0)
    more = builder.build()
    for joint in model.joint_names:
        values = more.poses["wild"][more.q_slice(joint)]
        np.testing.assert_array_equal(values, wild[model.q_slice(joint)])
    np.testing.assert_array_equal(more.poses["wild"][more.q_slice("ball_joint")], [0, 0, 0, 1])


REFUSED = [
    ({"home": [1.0, 2.0]}, r"pose 'home' must have shape \(7,\), got \(2,\)"),
    ({"home": [0, 0, 0, 1, 0, 0, np.nan]}, "pose 'home' must be finite"),
    ({"home": "up"}, "pose 'home' must be numbers"),
    ({"home": [0, 0, 0, 0, 0, 0, 1.0]}, r"'home': expected a unit quaternion .* q\[0:4\], .* 0$"),
    ({"": [0, 0, 0, 1, 0, 0, 0.0]}, "name must be a non-empty string, got ''"),
    (["home"], r"poses must be a mapping of names to configurations, got \['home'\]"),
]


@pytest.mark.parametrize(("poses", "message"), REFUSED, ids=lambda x: str(x)[:40])
def test_what_is_no_pose_is_refused(poses, message):
    with pytest.raises(jc.ArgumentError, match=message):
        jc.models.chain(1, "free").replace(poses=poses)
