"""Inverse kinematics: what it finds is where it should be, and its steps are Gauss and Newton's."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce import lie

TOLERANCE = 1e-9


def reachable(model, body, count, seed=0):
    """Poses of a body at random configurations."""
    q = jc.random_configuration(model, np.random.default_rng(seed), count)
    return q, jc.body_pose(model, q, body)


def nearby(model, q, seed=1, size=0.1):
    rng = np.random.default_rng(seed)
    return jc.integrate(model, q, size * rng.standard_normal((*q.shape[:-1], model.nv)))


def test_a_pose_nearby_is_reached(robot):
    body = robot.body_names[-1]
    q, target = reachable(robot, body, 20)
    found = jc.inverse_kinematics(robot, {body: target}, nearby(robot, q))
    assert found.converged.all()
    assert (found.error <= TOLERANCE).all()
    error = lie.log(lie.inverse(target) @ jc.body_pose(robot, found.q, body))
    np.testing.assert_allclose(error, 0, rtol=0, atol=2 * TOLERANCE)


def test_positions_and_centers_of_mass_are_reached(robot):
    body = robot.body_names[-1]
    q, target = reachable(robot, body, 20)
    start = nearby(robot, q)
    point = target[..., :3, 3]
    found = jc.inverse_kinematics(robot, {body: point}, start)
    assert found.converged.all()
    reached = jc.body_pose(robot, found.q, body)[..., :3, 3]
    np.testing.assert_allclose(reached, point, rtol=0, atol=TOLERANCE)
    center = jc.center_of_mass(robot, q)
    found = jc.inverse_kinematics(robot, {"center_of_mass": center}, start)
    assert found.converged.all()
    np.testing.assert_allclose(
        jc.center_of_mass(robot, found.q), center, rtol=0, atol=2 * TOLERANCE
    )


def test_tasks_hold_together():
    model = jc.models.random_tree(14, 5, first="free")
    left, right = model.body_names[6], model.body_names[-1]
    q = jc.random_configuration(model, np.random.default_rng(3), 10)
    targets = {
        left: jc.body_pose(model, q, left),
        right: jc.body_pose(model, q, right)[..., :3, 3],
        "center_of_mass": jc.center_of_mass(model, q),
    }
    found = jc.inverse_kinematics(model, targets, nearby(model, q, size=0.05))
    assert found.converged.all()
    np.testing.assert_allclose(
        jc.body_pose(model, found.q, left), targets[left], rtol=0, atol=2 * TOLERANCE
    )


def test_steps_converge_quadratically(robot):
    """Six steps from a tenth of a radian: only exact derivatives come that far."""
    body = robot.body_names[-1]
    q, target = reachable(robot, body, 20)
    start = nearby(robot, q, size=0.02)
    found = jc.inverse_kinematics(robot, {body: target}, start, iterations=6, tolerance=1e-11)
    assert np.median(found.error) < 1e-11


def pose_residual(model, q, target, body):
    """The residual of the documentation, by NumPy."""
    T = jc.body_pose(model, q, body)
    R0, R = target[..., :3, :3], T[..., :3, :3]
    back = np.swapaxes(R0, -1, -2)
    away = (back @ (T[..., :3, 3] - target[..., :3, 3])[..., None])[..., 0]
    return np.concatenate([lie.log(back @ R), away], axis=-1)


def test_where_nothing_can_be_reached_the_result_is_stationary(robot):
    """The gradient of the squared residual vanishes, by central differences."""
    body = robot.body_names[-1]
    target = np.eye(4)
    target[:3, 3] = 5.0, 0.0, 0.0
    if any(joint.type in ("free", "prismatic", "planar", "cylindrical") for joint in robot.joints):
        pytest.skip("everything is within reach")
    weights = np.array([2.0, 1.0, 0.5, 1.0, 1.5, 0.7])
    start = jc.random_configuration(robot, 2)
    found = jc.inverse_kinematics(
        robot, {body: target}, start, weights={body: weights}, limits=False, iterations=2000
    )
    assert not found.converged
    e = weights * pose_residual(robot, found.q, target, body)
    np.testing.assert_allclose(found.error, np.linalg.norm(e), rtol=1e-12)
    h = 1e-4

    def slope(q):
        steps = h * np.stack([np.eye(robot.nv), -np.eye(robot.nv)])
        e = weights * pose_residual(robot, jc.integrate(robot, q, steps), target, body)
        ahead, behind = 0.5 * (e**2).sum(-1)
        return np.abs(ahead - behind).max() / (2 * h)

    assert slope(found.q) < 1e-5 * slope(start)


def test_free_components_are_left_free():
    arm = jc.models.chain(6)
    q, target = reachable(arm, "body5", 20)
    spun = target @ lie.exp(np.array([0, 0, 2.0, 0, 0, 0]))
    found = jc.inverse_kinematics(
        arm,
        {"body5": spun},
        nearby(arm, q),
        weights={"body5": (1, 1, 0, 1, 1, 1)},
        restarts=20,
        rng=0,
    )
    assert found.converged.all()
    e = pose_residual(arm, found.q, spun, "body5")
    np.testing.assert_allclose(np.delete(e, 2, axis=-1), 0, rtol=0, atol=TOLERANCE)


def limited(model):
    return model.replace(lower=-1.5, upper=1.5)


def test_limits_hold_and_are_stationary_bounds():
    arm = limited(jc.models.chain(6))
    rng = np.random.default_rng(0)
    targets = jc.body_pose(arm, rng.uniform(-2.5, 2.5, (200, 6)), "body5")
    found = jc.inverse_kinematics(arm, {"body5": targets}, np.zeros(6), iterations=300)
    assert (found.q >= arm.lower).all()
    assert (found.q <= arm.upper).all()
    assert ((found.q == arm.lower) | (found.q == arm.upper)).any()
    free = jc.inverse_kinematics(arm, {"body5": targets}, np.zeros(6), limits=False)
    assert (np.abs(free.q) > 1.5).any()


def test_starts_outside_of_the_limits_are_moved_into_them():
    arm = limited(jc.models.chain(3))
    found = jc.inverse_kinematics(
        arm, {"body2": jc.body_pose(arm, [1.0, 1, 1], "body2")}, [9.0, 9, 9]
    )
    assert (np.abs(found.q) <= 1.5).all()


def test_restarts_find_what_one_search_does_not():
    arm = limited(jc.models.chain(6))
    _, targets = reachable(arm, "body5", 100)
    once = jc.inverse_kinematics(arm, {"body5": targets}, np.zeros(6))
    often = jc.inverse_kinematics(arm, {"body5": targets}, np.zeros(6), restarts=50, rng=1)
    again = jc.inverse_kinematics(arm, {"body5": targets}, np.zeros(6), restarts=50, rng=1)
    assert once.converged.mean() < often.converged.mean()
    assert often.converged.mean() > 0.98
    assert (often.error <= once.error).all()
    np.testing.assert_array_equal(often.q, again.q)
    np.testing.assert_array_equal(often.q[once.converged], once.q[once.converged])
    one = jc.inverse_kinematics(
        arm, {"body5": targets[~once.converged][0]}, np.zeros(6), restarts=99, rng=1
    )
    assert one.q.shape == (6,)
    assert one.converged


def test_leading_axes_broadcast(robot):
    body = robot.body_names[-1]
    q, target = reachable(robot, body, 3)
    starts = nearby(robot, np.broadcast_to(q, (2, 3, robot.nq)))
    found = jc.inverse_kinematics(robot, {body: target}, starts, threads=2)
    assert found.q.shape == (2, 3, robot.nq)
    assert found.converged.shape == found.error.shape == (2, 3)
    single = jc.inverse_kinematics(robot, {body: target[1]}, starts[1, 1])
    np.testing.assert_array_equal(single.q, found.q[1, 1])
    assert single.error == found.error[1, 1]
    assert bool(single.converged) is True
    empty = jc.inverse_kinematics(robot, {body: target[:0]}, q[0], restarts=2)
    assert empty.q.shape == (0, robot.nq)


def test_frames_and_indices_name_what_moves(robot):
    last = robot.n_bodies - 1
    tip = np.eye(4)
    tip[:3, 3] = 0.1, -0.2, 0.3
    model = jc.ModelBuilder(robot).add_frame("tip", robot.body_names[-1], tip).build()
    q, target = reachable(model, last, 5)
    by_index = jc.inverse_kinematics(model, {last: target}, nearby(model, q))
    by_frame = jc.inverse_kinematics(model, {"tip": target @ tip}, nearby(model, q))
    assert by_index.converged.all()
    assert by_frame.converged.all()
    np.testing.assert_allclose(
        jc.body_pose(model, by_frame.q, "tip"), target @ tip, rtol=0, atol=2 * TOLERANCE
    )


@pytest.mark.parametrize("angle", [np.pi, np.pi - 1e-7, 3.0, 0.0])
def test_half_a_turn_away_is_no_trap(angle):
    ball = jc.ModelBuilder().add_body("ball", joint="spherical", mass=1.0).build()
    target = np.eye(4)
    target[:3, :3] = lie.exp(angle * np.array([2.0, -1.0, 2.0]) / 3)
    found = jc.inverse_kinematics(ball, {"ball": target}, jc.neutral(ball))
    assert found.converged
    np.testing.assert_allclose(jc.body_pose(ball, found.q, "ball"), target, rtol=0, atol=1e-9)


ARM = jc.models.chain(3)
BAD = [
    ({"targets": {}}, "at least one frame"),
    ({"targets": [1]}, "targets must be a dict"),
    ({"targets": {"body2": np.zeros(5)}}, r"'body2'\] must be a pose \(..., 4, 4\) or a position"),
    ({"targets": {"body2": 2 * np.eye(4)}}, "expected orthonormal rotations"),
    ({"targets": {"body2": [np.nan, 0, 0]}}, "finite real numbers"),
    ({"targets": {"center_of_mass": np.eye(4)}}, r"must be a position \(..., 3\)"),
    ({"targets": {"body1": np.zeros((2, 3)), "body2": np.zeros((3, 3))}}, "do not broadcast"),
    ({"weights": {"body1": 1.0}}, "weights must be a dict of some of the targets"),
    ({"weights": {"body2": (1, 2)}}, "one number or 6"),
    ({"weights": {"body2": -1.0}}, "none negative"),
    ({"tolerance": 0.0}, "tolerance must be a positive number"),
    ({"iterations": 1.5}, "iterations: expected an integer"),
    ({"restarts": -1}, "restarts: expected an integer"),
    ({"restarts": 1, "rng": -1}, "a seed must not be negative"),
    ({"limits": np.zeros(3)}, "limits must be True or False"),
    ({"q0": np.zeros(4)}, r"q0 .*\(..., 3\)"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=lambda x: str(x)[:40])
def test_bad_arguments_are_named(change, message):
    arguments = {"targets": {"body2": np.eye(4)}, "q0": np.zeros(3), **change}
    with pytest.raises(jc.ArgumentError, match=message):
        jc.inverse_kinematics(ARM, **arguments)


def test_an_unknown_frame_is_named():
    with pytest.raises(jc.UnknownNameError, match="tool"):
        jc.inverse_kinematics(ARM, {"tool": np.eye(4)}, np.zeros(3))
