"""At one time a trajectory is evaluated in plain numbers: the same as in arrays."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce import trajectories as tr
from jounce.trajectories._instant import curve_rule
from jounce.trajectories._instant_pose import pose_rule

EPS = np.finfo(float).eps
T = 0.37

LAW = tr.PolynomialSegment.rest_to_rest(0.0, 1.0, 2.0, degree=7)
WIDE = tr.PolynomialSegment.rest_to_rest(np.arange(6.0), -np.ones(6), 2.0)
CURVES = {
    "constant": tr.Constant([1.0, 2.0]),
    "polynomial": tr.Polynomial([[1.0, 2.0], [0.5, -1.0], [3.0, 0.1]], start=0.2),
    "segment": LAW,
    "wide segment": WIDE,
    "held": tr.PolynomialSegment.rest_to_rest(0.0, 1.0, 0.1, extend="hold"),
    "end": tr.PolynomialSegment.rest_to_rest(0.0, 1.0, T * (1 - 1e-12)),
    "formula": tr.PolynomialSegment.rest_to_rest(0.0, 1.0, 0.1, extend="formula"),
    "s-curve": tr.s_curve([0.0, 1.0], [1.0, 0.0], 1.0, 2.0, 8.0),
    "half cosine": tr.HalfCosine([0.1, 0.2], [1.0, 2.0], 3.0),
    "sinusoid": tr.Sinusoid([1.0, 0.3], [2.0, 5.0], 0.3, [0.0, 4.0]),
    "circle": tr.Circle(0.5, 2.0, 0.3, (1.0, 2.0, 3.0)),
    "sum": LAW * np.arange(3.0) + tr.Sinusoid(np.ones(3), 2.0),
    "shifted": 1.0 + LAW,
    "line": [1.0, 2.0] + 3.0 * LAW,
    "offset": np.arange(3.0) + LAW * np.arange(1.0, 4.0),
    "scaled": 2.0 * WIDE,
    "scaled by vector": np.arange(6.0) * WIDE,
    "stack": tr.stack(LAW, WIDE, 3.0),
    "components": WIDE[[2, 0]],
    "retimed": tr.Sinusoid([1.0, 2.0], 3.0).retimed(LAW),
    "piecewise": tr.Piecewise(
        [
            tr.PolynomialSegment.rest_to_rest(0.0, 1.0, 0.3),
            LAW.retimed(tr.PolynomialSegment.rest_to_rest(0.0, 1.0, 2.0, start=0.3)),
        ]
    ),
}
TURN = tr.axis_angle((1, 2, 3), LAW)
POSES = {
    "translation": tr.Translation(tr.Circle(0.5, 2.0)),
    "rotation": TURN,
    "geodesic": tr.geodesic(np.eye(4), jc.lie.exp([0.1, 0.2, -0.3, 1.0, 2.0, 3.0]), LAW),
    "product": tr.geodesic(np.eye(4), jc.lie.exp([0.1, 2.0, -0.3, 1.0, 2.0, 3.0]), LAW) @ TURN,
    "moving screws": TURN @ tr.Translation(tr.Circle(0.5, 2.0)) @ TURN,
    "yaw": tr.circle_with_yaw(),
    "roll, pitch, yaw": tr.roll_pitch_yaw(tr.Sinusoid([0.1, 0.2, 0.3], [1.0, 2.0, 3.0])),
    "retimed": tr.circle_with_yaw().retimed(LAW),
    "constant": jc.lie.exp([0.1, 0.2, -0.3, 1.0, 2.0, 3.0]) @ TURN,
    "moved offset": tr.Translation(tr.Circle(0.5, 2.0))
    @ jc.lie.exp([0.1, 0.2, 0.3, 1.0, 2.0, 3.0]),
    "still": tr.ProductOfExponentials(np.eye(4), np.zeros((0, 6)), tr.Constant([])),
}


def close(got, expected):
    expected = np.asarray(expected)
    np.testing.assert_allclose(got, expected, rtol=0, atol=256 * EPS * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("orders", [1, 2, 4, 9])
@pytest.mark.parametrize("name", CURVES)
def test_curves(name, orders):
    close(curve_rule(CURVES[name])(T, orders), CURVES[name].taylor(np.array([T]), orders)[..., 0])


@pytest.mark.parametrize("orders", [1, 2, 4, 9])
@pytest.mark.parametrize("name", POSES)
def test_poses(name, orders):
    motion, now = POSES[name].motion(np.array([T]), orders), pose_rule(POSES[name])(T, orders)
    close(now.quaternion, motion.quaternion[0])
    close(now.position, motion.position[0])
    close(now.twist(orders), motion.twist[..., 0])


def test_robots(robot):
    rng = np.random.default_rng(0)
    q = jc.random_configuration(robot, rng, 3)
    for trajectory in (
        tr.RobotTrajectory.between(robot, q[0], q[1], 2.0),
        tr.RobotTrajectory.through(robot, [0.0, 1.0, 2.0], q),
        tr.RobotTrajectory.with_limits(robot, q, velocity=3.0, acceleration=9.0, jerk=90.0),
    ):
        for order in (0, 3):
            one, many = trajectory.evaluate(T, order), trajectory.evaluate([T], order)
            assert one.q.shape == (robot.nq,)
            assert one.motion.shape == (order + 2, robot.nv)
            close(one.q, many.q[0])
            close(one.motion, many.motion[0])


@pytest.mark.parametrize("order", [("root_joint", ("joint1", "joint2")), ("joint2", "root_joint")])
def test_curves_in_any_order(order):
    robot = jc.models.chain(3, "free")
    curves = {"root_joint": tr.circle_with_yaw(), "joint2": LAW, ("joint1", "joint2"): WIDE[[1, 2]]}
    trajectory = tr.RobotTrajectory(robot, {joint: curves[joint] for joint in order})
    one, many = trajectory.evaluate(T, 2), trajectory.evaluate([T], 2)
    close(one.q, many.q[0])
    close(one.motion, many.motion[0])


def test_the_reference_of_the_aerial_manipulator():
    trajectory = tr.aerial_manipulator_reference(jc.models.aerial_manipulator())
    one, many = trajectory.evaluate(3, 4), trajectory.evaluate([3.0], 4)
    close(one.q, many.q[0])
    close(one.motion, many.motion[0])


def test_times_outside_are_refused_as_in_arrays():
    trajectory = tr.RobotTrajectory(jc.models.chain(1), {0: LAW})
    for t in (-1.0, 2.1, np.nan, np.inf, True, "now"):
        with pytest.raises(jc.ArgumentError):
            trajectory.evaluate(t)


def test_mimic_joints_follow():
    builder = jc.ModelBuilder()
    builder.add_body("a", joint="revolute", mass=1.0, joint_name="a")
    builder.add_body("b", joint="revolute", mass=1.0, mimic=jc.Mimic("a", -2.0, 0.1))
    trajectory = tr.RobotTrajectory(builder.build(), {"a": LAW})
    one, many = trajectory.evaluate(T, 1), trajectory.evaluate([T], 1)
    close(one.q, many.q[0])
    close(one.motion, many.motion[0])
