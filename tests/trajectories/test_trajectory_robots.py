"""Trajectories of robots: rates are the velocities of the coordinates, for every joint type."""

import math
import pickle

import numpy as np
import pytest
from trajectory_oracle import EPS, assert_series_close, size_of_orders, taylor_step

import jounce as jc
from jounce import trajectories as tr
from jounce import twists
from jounce.model.joints import JOINT_TYPES, Mimic

# Weights of the central difference of order 8: its error is h^8 / 630 times the ninth derivative.
STENCIL = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
KINDS = tuple(kind for kind in JOINT_TYPES if kind != "fixed")


def wave(rng, size):
    return tr.Sinusoid(
        rng.uniform(0.2, 1, size), rng.uniform(0.5, 1.5, size), rng.normal(size=size)
    )


def random_trajectory(model, seed=0):
    """Smooth curves for every joint of a model."""
    rng = np.random.default_rng(seed)
    curves = {}
    for joint in model.joints:
        rotation = tr.roll_pitch_yaw(wave(rng, 3))
        if joint.type == "free":
            curves[joint.name] = tr.position_and_rotation(wave(rng, 3), rotation)
        elif joint.type == "spherical":
            curves[joint.name] = rotation
        else:
            q = model.q_slice(joint.name)
            curves[joint.name] = wave(rng, q.stop - q.start)
    return tr.RobotTrajectory(model, curves)


def slope(function, h=0.03):
    """Differentiate at 0 by the central difference of order 8."""
    return sum(w * (function(k * h) - function(-k * h)) for k, w in STENCIL.items()) / h


@pytest.fixture(params=["every joint type", "aerial manipulator"])
def robot(request):
    if request.param == "aerial manipulator":
        model = jc.models.aerial_manipulator()
        return model, tr.aerial_manipulator_reference(model)
    model = jc.models.random_tree(2 * len(KINDS), seed=3, joints=KINDS)
    return model, random_trajectory(model)


def test_rates_are_the_velocity_of_the_coordinates(robot):
    model, trajectory = robot
    t = 0.7
    q, motion = trajectory.evaluate(t)
    measured = slope(lambda h: jc.difference(model, q, trajectory.evaluate(t + h).q))
    # Ninth derivatives are below 1.5^9 = 38 times sums of products: h^8/630 * 1e4 and eps/h.
    np.testing.assert_allclose(measured, motion[0], rtol=0, atol=1e-11)


def test_body_twists_are_the_velocity_of_the_body_poses(robot):
    model, trajectory = robot
    t = 0.7
    q, motion = trajectory.evaluate(t)
    for body in range(0, model.n_bodies, 3):
        T = jc.body_pose(model, q, body)
        dT = slope(
            lambda h, body=body: jc.body_pose(model, trajectory.evaluate(t + h).q, body), 0.01
        )
        measured = jc.lie.vee(jc.lie.inverse(T) @ dT)
        expected = jc.body_twist(model, q, motion[0], body)
        np.testing.assert_allclose(measured, expected, rtol=0, atol=1e-10 * (1 + np.abs(dT).max()))


def test_each_row_of_the_motion_is_the_derivative_of_the_row_before(robot):
    model, trajectory = robot
    t, h = 0.7, 0.125
    q, motion = trajectory.evaluate(t, 30)
    assert q.shape == (model.nq,)
    assert motion.shape == (32, model.nv)
    after = trajectory.evaluate(t + h, 4).motion
    for k in range(6):
        terms = np.abs(motion[k:]).max(axis=1) * h ** np.arange(32 - k)
        scale = sum(terms / [float(math.factorial(j)) for j in range(32 - k)])
        assert_series_close(taylor_step(motion[k:], h), after[k], 64, scale)


def test_times_are_batched_and_samples_name_their_parts(robot):
    model, trajectory = robot
    t = np.linspace(0, 2, 6).reshape(3, 2)
    sample = trajectory.evaluate(t, 2)
    q, motion = sample
    assert q.shape == (3, 2, model.nq)
    assert motion.shape == (3, 2, 4, model.nv)
    np.testing.assert_array_equal(sample.v, motion[..., 0, :])
    np.testing.assert_array_equal(sample.a, motion[..., 1, :])
    one = trajectory.evaluate(t[2, 1], 2)
    assert_series_close(one.q, q[2, 1], 8, 1 + np.abs(q[2, 1]))
    assert_series_close(one.motion, motion[2, 1], 64, size_of_orders(motion, -2)[0, 0])
    assert trajectory.evaluate(np.zeros((0, 2)), 1).motion.shape == (0, 2, 3, model.nv)


def test_the_base_moves_as_its_pose_curve():
    model = jc.models.aerial_manipulator()
    base = tr.circle_with_yaw(radius=2.0, yaw_amplitude=3.0, yaw_rate=2.0, center=(1, 2, 3))
    trajectory = tr.RobotTrajectory(model, {"root_joint": base})
    t = np.linspace(0, 10, 7)
    q, motion = trajectory.evaluate(t, 4)
    assert_series_close(jc.body_pose(model, q, "B1"), base.pose(t), 16, 4)
    expected = base.twist_series(t, 5)
    np.testing.assert_array_equal(motion[..., :6], expected)
    for twist in ("body", "spatial", "hybrid", "mixed"):
        measured = jc.body_twist(model, q, motion[:, 0], "B1", twist)
        assert_series_close(measured, base.twist_series(t, 0, twist)[:, 0], 32, 8)
    poses = twists.pose_series(base.pose(t), expected)
    np.testing.assert_array_equal(poses[..., 3, :3], 0)
    np.testing.assert_array_equal(motion[..., 6:], 0)


def test_joints_without_a_curve_stay_neutral():
    model = jc.models.random_tree(9, seed=1, joints=KINDS)
    q, motion = tr.RobotTrajectory(model, {}).evaluate([0.0, 5.0], 3)
    np.testing.assert_array_equal(q, np.tile(jc.neutral(model), (2, 1)))
    np.testing.assert_array_equal(motion, 0)


def test_one_curve_may_move_several_joints_in_any_order():
    model = jc.models.aerial_manipulator()
    curve = tr.HalfCosine([1, 2, 3], [4, 5, 6], 2.0)
    together = tr.RobotTrajectory(model, {("q7", "q2", 3): curve, "q5": 0.25})
    apart = tr.RobotTrajectory(
        model, {"q7": curve[0], "q2": curve[1], model.joint_names[3]: curve[2], "q5": 0.25}
    )
    for a, b in zip(together.evaluate([0.3, 1], 2), apart.evaluate([0.3, 1], 2), strict=True):
        np.testing.assert_array_equal(a, b)
    q = together.evaluate(0.0).q
    assert [q[model.q_slice(j).start] for j in ("q7", "q2", "q4", "q5")] == [1, 2, 3, 0.25]


def test_mimic_joints_follow_their_leader_unless_they_have_a_curve():
    builder = jc.ModelBuilder()
    inertial = {"mass": 1.0, "inertia": (1, 1, 1)}
    builder.add_body("a", joint="revolute", joint_name="a", **inertial)
    for name, leader, mimic in (("b", "a", (2.0, 0.5)), ("c", "b", (-3.0, 1.0))):
        joint = jc.Joint("revolute", name=name, mimic=Mimic(leader, *mimic))
        builder.add_body(name, leader, joint=joint, **inertial)
    model = builder.build()
    q, motion = tr.RobotTrajectory(model, {"a": tr.Polynomial([0.1, 1, 1])}).evaluate(1.0, 0)
    np.testing.assert_allclose(q, [2.1, 4.7, -13.1], rtol=4 * EPS)
    np.testing.assert_allclose(motion, [[3, 6, -18], [2, 4, -12]], rtol=4 * EPS)
    q = tr.RobotTrajectory(model, {"a": 1.0, "c": 7.0}).evaluate(0.0).q
    np.testing.assert_array_equal(q, [1, 2.5, 7])
    np.testing.assert_array_equal(tr.RobotTrajectory(model, {"c": 7.0}).evaluate(0.0).q, [0, 0, 7])


# Between configurations


def test_point_to_point_motion_is_the_geodesic_of_the_configuration_space():
    model = jc.models.random_tree(12, seed=2, joints=KINDS)
    q0, q1 = jc.random_configuration(model, 0), jc.random_configuration(model, 1)
    law = tr.PolynomialSegment.rest_to_rest(0, 1, 2.0, 7)
    d = jc.difference(model, q0, q1)
    q, motion = tr.RobotTrajectory.between(model, q0, q1, law).evaluate([0, 0.4, 1.3, 2], 3)
    s = law.series([0, 0.4, 1.3, 2], 5)[..., 0]
    expected = jc.integrate(model, q0, s[:, :1] * d)
    assert_series_close(jc.difference(model, expected, q), np.zeros((4, model.nv)), 64, 4)
    assert_series_close(motion, s[:, 1:, None] * d, 64, size_of_orders(motion, 1))
    quintic = tr.RobotTrajectory.between(model, q0, q1, 2.0)
    assert quintic.interval == (0.0, 2.0)
    np.testing.assert_allclose(quintic.evaluate(1.0).v, 15 / 16 * d, rtol=1e-12, atol=1e-13)


def test_motion_through_configurations_passes_them():
    model = jc.models.random_tree(12, seed=2, joints=KINDS)
    times = np.array([0.0, 1.0, 1.5, 3.0, 4.0])
    q = jc.random_configuration(model, 0, 5)
    trajectory = tr.RobotTrajectory.through(model, times, q)
    reached = trajectory.evaluate(times)
    assert np.abs(jc.difference(model, q, reached.q)).max() <= 4096 * EPS
    assert np.abs(reached.motion[[0, -1]]).max() <= 1e4 * EPS  # velocity and acceleration
    fixed = jc.models.chain(3)
    waypoints = jc.random_configuration(fixed, 0, 5)
    only_angles = tr.RobotTrajectory.through(fixed, times, waypoints, 3, "free", "hold")
    np.testing.assert_allclose(only_angles.evaluate(times + 4).q[0], waypoints[-1], rtol=64 * EPS)


# The robot of ali


def test_reference_of_the_aerial_manipulator_is_that_of_table_3():
    model = jc.models.aerial_manipulator()
    trajectory = tr.aerial_manipulator_reference(model)
    assert trajectory.interval == (0.0, 30.0)
    t = np.arange(3000) * 0.01
    q, motion = trajectory.evaluate(t, 5)
    assert motion.shape == (3000, 7, 12)
    yaw, rate = np.deg2rad(25) * np.sin(2 * np.pi * t / 30), 2 * np.pi / 20
    zero, one = np.zeros_like(t), np.ones_like(t)
    base = [zero, zero, np.sin(yaw / 2), np.cos(yaw / 2), np.cos(rate * t), np.sin(rate * t), zero]
    np.testing.assert_allclose(q[:, :7], np.stack(base, axis=1), rtol=0, atol=16 * EPS)
    start = np.deg2rad([10, -5, 15, -10, 7, -12])
    change = np.deg2rad([60, 50, 40, 55, 45, 35])
    arms = start + change / 2 * (1 - np.cos(np.pi * t[:, None] / 30))
    np.testing.assert_allclose(q[:, 7:], arms, rtol=0, atol=8 * EPS)
    yaw_rate = np.deg2rad(25) * 2 * np.pi / 30 * np.cos(2 * np.pi * t / 30)
    angle = rate * t - yaw  # of the base's position, seen from its own axes
    twist = [zero, zero, yaw_rate, -rate * np.sin(angle), rate * np.cos(angle), 0 * one]
    np.testing.assert_allclose(motion[:, 0, :6], np.stack(twist, axis=1), rtol=0, atol=16 * EPS)
    rates = change / 2 * np.pi / 30 * np.sin(np.pi * t[:, None] / 30)
    np.testing.assert_allclose(motion[:, 0, 6:], rates, rtol=0, atol=8 * EPS)


@pytest.mark.parametrize(("branches", "bodies"), [(0, 0), (1, 2), (5, 20)])
def test_reference_repeats_its_joint_values_for_more_joints(branches, bodies):
    model = jc.models.aerial_manipulator(branches, bodies)
    trajectory = tr.aerial_manipulator_reference(model, 10.0)
    q = trajectory.evaluate([0.0, 10.0]).q[:, 7:]
    n = branches * bodies
    start, change = [10, -5, 15, -10, 7, -12], [60, 50, 40, 55, 45, 35]
    np.testing.assert_allclose(q[0], np.deg2rad(np.resize(start, n)), rtol=4 * EPS)
    np.testing.assert_allclose(q[1] - q[0], np.deg2rad(np.resize(change, n)), rtol=16 * EPS)


def test_reference_refuses_robots_of_another_kind():
    for model in (jc.models.chain(3), jc.models.random_tree(4, joints=["spherical"], first="free")):
        with pytest.raises(ValueError, match="expected a free base followed by"):
            tr.aerial_manipulator_reference(model)


# Objects and errors


def test_robot_trajectories_are_immutable_and_can_be_pickled():
    trajectory = tr.aerial_manipulator_reference(jc.models.aerial_manipulator())
    with pytest.raises(AttributeError, match="immutable"):
        trajectory.model = None
    with pytest.raises(TypeError):
        trajectory.curves["q2"] = tr.Constant(1)
    copy = pickle.loads(pickle.dumps(trajectory))
    np.testing.assert_array_equal(copy.evaluate(1.0, 2).motion, trajectory.evaluate(1.0, 2).motion)
    lines = repr(trajectory).splitlines()
    assert lines[0] == "RobotTrajectory of 'aerial_manipulator', 0 to 30 s"
    assert lines[1].startswith("  'root_joint': Translation(position=Circle(radius=1")
    assert "('q2', 'q3', 'q4', 'q5', 'q6', 'q7'): HalfCosine(" in lines[2]


BALL = {"first": "spherical", "joints": ["revolute"]}


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ({"q2": tr.Constant([1, 2])}, "q2: expected a curve of size 1, got size 2"),
        ({("q2", "q3"): tr.Constant(1)}, "q2, q3: expected a curve of size 2, got size 1"),
        ({"q2": tr.circle_with_yaw()}, "q2: expected a curve of size 1, got a pose curve"),
        ({"q2": np.nan}, "q2 must be finite real numbers"),
        ({"q2": 1.0, ("q3", "q2"): [1.0, 2.0]}, "joint 'q2' has two curves"),
        ({"q2": 1.0, 1: 2.0}, "joint 'q2' has two curves"),
        ({(): 1.0}, "at least one joint"),
        ({"root_joint": tr.Constant(1.0)}, "a free joint takes a pose curve"),
        ({"root_joint": [1, 2, 3]}, r"root_joint: expected shape \(4, 4\)"),
        ({("root_joint", "q2"): tr.Constant([1] * 7)}, "one curve for each spherical or free"),
    ],
)
def test_curves_that_do_not_fit_their_joint_are_refused(curves, message):
    with pytest.raises(ValueError, match=message):
        tr.RobotTrajectory(jc.models.aerial_manipulator(), curves)


def test_unknown_joints_are_refused_with_a_hint():
    model = jc.models.aerial_manipulator()
    with pytest.raises(KeyError, match="unknown joint 'rootjoint'; did you mean 'root_joint'"):
        tr.RobotTrajectory(model, {"rootjoint": tr.circle_with_yaw()})
    with pytest.raises(KeyError, match="joint index must be between 0 and 6, got 7"):
        tr.RobotTrajectory(model, {7: 1.0})


def test_spherical_joints_refuse_curves_that_displace():
    model = jc.models.random_tree(2, **BALL)
    trajectory = tr.RobotTrajectory(model, {"joint0": tr.circle_with_yaw()})
    with pytest.raises(ValueError, match=r"spherical joint 'joint0' must only turn.* 1\.0e\+00 m"):
        trajectory.evaluate(0.0)


@pytest.mark.parametrize(
    ("t", "order", "message"),
    [
        (np.nan, 0, "t must be finite real numbers"),
        (0.0, -1, "order: expected an integer from 0 to 148, got -1"),
        (0.0, 2.0, r"order: expected an integer, got 2\.0"),
        (0.0, 149, "order: expected an integer from 0 to 148, got 149"),
    ],
)
def test_bad_times_and_orders_are_refused(t, order, message):
    trajectory = tr.aerial_manipulator_reference(jc.models.aerial_manipulator())
    with pytest.raises(ValueError, match=message):
        trajectory.evaluate(t, order)


def test_configurations_of_a_wrong_shape_are_refused():
    model = jc.models.chain(3)
    with pytest.raises(ValueError, match=r"q0: expected shape \(3,\), got \(2,\)"):
        tr.RobotTrajectory.between(model, [0, 0], [0, 0, 0], 1.0)
    with pytest.raises(ValueError, match=r"q: expected shape \(m, 3\), got \(3,\)"):
        tr.RobotTrajectory.through(model, [0, 1], [0, 0, 0])


def test_what_is_no_model_is_refused():
    for make in (
        lambda: tr.RobotTrajectory(None, {}),
        lambda: tr.RobotTrajectory.between("robot.urdf", [0], [1], 1.0),
        lambda: tr.RobotTrajectory.through(None, [0, 1], [[0], [1]]),
        lambda: tr.aerial_manipulator_reference(None),
    ):
        with pytest.raises(TypeError, match=r"^model must be a jounce\.Model"):
            make()
