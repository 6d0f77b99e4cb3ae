"""Neutral and random configurations: on the manifold, within the limits, without a loop."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce.kinematics import configurations

SHAPES = [(), 3, (2, 5), np.int64(4), [1, 2], 0]


def quaternions(model, q):
    starts = [
        model.q_slice(k).start
        for k, joint in enumerate(model.joints)
        if joint.type in ("spherical", "free")
    ]
    return [q[..., start : start + 4] for start in starts]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes_and_quaternions(robot, shape):
    lead = np.empty(shape).shape
    neutral, random = jc.neutral(robot, shape), jc.random_configuration(robot, 0, shape)
    assert neutral.shape == random.shape == (*lead, robot.nq)
    np.testing.assert_array_equal(neutral, np.broadcast_to(jc.neutral(robot), neutral.shape))
    for part in quaternions(robot, random):
        np.testing.assert_allclose(np.linalg.norm(part, axis=-1), 1, rtol=0, atol=1e-15)
    for part in quaternions(robot, neutral):
        np.testing.assert_array_equal(part, np.broadcast_to([0, 0, 0, 1], part.shape))
    assert neutral.sum() == np.prod(lead) * len(quaternions(robot, neutral))


def test_wrong_shapes_are_refused(robot):
    for call in (lambda x: jc.neutral(robot, x), lambda x: jc.random_configuration(robot, 0, x)):
        with pytest.raises(TypeError, match="integer"):
            call(1.5)
        with pytest.raises(ValueError, match="negative"):
            call(-1)


def test_random_configurations_fill_the_limits():
    builder = jc.ModelBuilder()
    builder.add_body("a", None, "revolute", lower=2, upper=5)
    builder.add_body("b", "a", "prismatic", lower=-1e308, upper=1e308)
    builder.add_body("c", "b", "prismatic", lower=0)
    builder.add_body("d", "c", "helical", pitch=0.1)
    builder.add_body("e", "d", "planar", lower=(-3, -4, -5), upper=(3, 4, 5))
    builder.add_body("f", "e", "continuous", lower=0.5, upper=0.5)
    builder.add_body("g", "f", "cylindrical")
    q = jc.random_configuration(builder.build(), 1, 5000)
    expected = [(2, 5), (-1, 1), (-1, 1), (-np.pi, np.pi), (-3, 3), (-4, 4), (-5, 5), (0.5, 0.5)]
    expected += [(-np.pi, np.pi), (-1, 1)]
    for column, (low, high) in zip(q.T, expected, strict=True):
        assert low <= column.min() <= low + 0.01 * (high - low)
        assert high >= column.max() >= high - 0.01 * (high - low)
        assert abs(column.mean() - (low + high) / 2) <= 0.05 * (high - low)


def test_quaternions_are_uniform_on_the_group():
    model = jc.ModelBuilder().add_body("b", joint="spherical").build()
    q = jc.random_configuration(model, 2, 20000)
    np.testing.assert_allclose(q.mean(axis=0), 0, rtol=0, atol=0.02)
    np.testing.assert_allclose(q.T @ q / len(q), np.eye(4) / 4, rtol=0, atol=0.01)


def test_a_seed_and_a_generator_give_the_same(robot):
    first = jc.random_configuration(robot, 7)
    np.testing.assert_array_equal(first, jc.random_configuration(robot, np.random.default_rng(7)))
    assert (first != jc.random_configuration(robot, 8)).any()


def test_configurations_take_no_step_for_each_joint_or_state(count_calls):
    rng = np.random.default_rng(0)
    steps = set()
    for model in (jc.models.chain(30, "free"), jc.models.chain(300, "free")):
        for shape in (1, 1000):
            neutral = count_calls(lambda m=model, s=shape: jc.neutral(m, s))
            random = count_calls(lambda m=model, s=shape: jc.random_configuration(m, rng, s))
            steps.add((neutral, random))
    assert len(steps) == 1


def test_large_draws_are_those_of_one_generator(monkeypatch, all_joints):
    """In portions, so that Ctrl-C is heard: the numbers do not depend on them."""
    expected = jc.random_configuration(all_joints, 3, (5, 40))
    monkeypatch.setattr(configurations, "_PORTION", 7)
    np.testing.assert_array_equal(jc.random_configuration(all_joints, 3, (5, 40)), expected)
    assert jc.random_configuration(all_joints, 3, (0, 4)).shape == (0, 4, all_joints.nq)
