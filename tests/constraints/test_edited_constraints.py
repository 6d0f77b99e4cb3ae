"""What becomes of the constraints of a model when the model is edited."""

from __future__ import annotations

import numpy as np
import pytest
from constraints_cases import close

import jounce as jc
from jounce import lie


def with_constraints(model, items):
    made_of = (model.name, model.gravity, model.bodies, dict(model.frames), model.visuals)
    return jc.Model(*made_of, dict(model.poses), model.fixed_inertia, items)


@pytest.fixture(scope="module")
def robot():
    """A tree with a loop, a point of a body held by its index, a cam and a wheel."""
    model = jc.models.tree(9, 2).with_frame(
        "tool", "body8", lie.exp([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    )
    items = [
        jc.Weld("tool", "body5", target=np.eye(4)),
        jc.Point(7, target=(0.1, 0.2, 0.3)),
        jc.Coupling({"joint1": 1.0, "joint2": (0.5, 0.2, -0.1, 0.3)}, offset=0.4),
        jc.Rolling("body6", 0.2, second="body3"),
    ]
    return with_constraints(model, items)


def state(model, seed=0):
    return jc.random_configuration(model, np.random.default_rng(seed))


def test_values_frames_and_payloads_leave_them_alone(robot):
    for edited in (
        robot.replace(gravity=(0, 0, 1)),
        robot.with_payload("body3", 1.0),
        jc.parameters(robot, "placement").moved(np.zeros(6 * 9)),
    ):
        assert edited.constraints == robot.constraints
    more = robot.with_frame("eye", "body2")
    assert more.constraints[1] == jc.Point(robot.body_names[7], target=(0.1, 0.2, 0.3))
    q = state(robot)
    close(jc.Constraints(more).residual(q), jc.Constraints(robot).residual(q), 14)


def test_in_another_order_they_hold_the_same(robot):
    names = list(robot.joint_names)
    branches = [k for k in range(robot.n_bodies) if robot.parents[k] == 0]
    last = branches[-1]
    order = [names[0], *names[last:], *names[1:last]]
    edited = robot.reorder(order)
    q = state(robot)
    moved = q[robot.q_indices(order)]
    close(jc.Constraints(edited).residual(moved), jc.Constraints(robot).residual(q), 13)


def test_a_locked_joint_is_a_number_in_its_coupling(robot):
    q = state(robot)
    for joints in (["joint2"], ["joint1", "joint4"]):
        values = {name: q[robot.q_slice(name)][0] for name in joints}
        edited = robot.lock(values)
        rest = [robot.q_slice(name).start for name in robot.joint_names if name not in joints]
        close(jc.Constraints(edited).residual(q[rest]), jc.Constraints(robot).residual(q), 13)
    both = dict.fromkeys(("joint1", "joint2"), 0.1)
    assert not any(isinstance(x, jc.Coupling) for x in robot.lock(both).constraints)
    # frames that a lock brings together on one body are no constraint any more
    everything = dict.fromkeys(robot.joint_names[1:], 0.1)
    assert [type(x) for x in robot.lock(everything).constraints] == [jc.Point]


def test_a_part_keeps_what_is_within_it(robot):
    whole = [x for x in robot.constraints if len(x.frame_names) != 1]
    for k in range(robot.n_bodies):
        part = robot.subtree(k)
        kept = [
            x
            for x in whole
            if all(n in part.frames for n in x.frame_names)
            and all(n in part.joint_names for n in x.joint_names)
        ]
        on_one_body = [x for x in kept if len({part.frame(n).body for n in x.frame_names}) == 1]
        assert list(part.constraints) == [x for x in kept if x not in on_one_body]
    assert robot.subtree(8).constraints == ()


def test_a_mounted_robot_brings_its_constraints(robot):
    base = jc.models.chain(2).with_frame("flange", "body1", lie.exp([0.3, 0, 0.1, 1, 2, 3]))
    both = base.attach(robot, "flange", prefix="r_")
    assert len(both.constraints) == len(robot.constraints)
    q, own = state(base, 1), state(robot)
    whole = jc.configuration(
        both,
        joints=dict(zip(base.joint_names, q, strict=True))
        | {f"r_{n}": x for n, x in zip(robot.joint_names, own, strict=True)},
    )
    # along the world's axes points are seen by another base
    mine, theirs = jc.Constraints(robot).residual(own), jc.Constraints(both).residual(whole)
    R = jc.body_pose(both, whole, "flange")[:3, :3]
    mine[6:9] = R @ mine[6:9]
    close(theirs, mine, 13)
    alone = jc.models.chain(2).attach(robot, None, prefix="r_")
    assert [x.second for x in alone.constraints[:2]] == ["r_body5", None]
