"""Locked and attached robots agree with Pinocchio's buildReducedModel and appendModel."""

from __future__ import annotations

import numpy as np
import pytest
from comparison import relative_error
from real_robots import ROBOTS, built_by_pinocchio, load_quietly

import jounce as jc
from jounce import lie
from jounce.interop.pinocchio import Converter

pin = pytest.importorskip("pinocchio")
pytest.importorskip("lxml")

RELATIVE = 1e-11
STATES = 5

CASES = [
    pytest.param(str(path), base, id=f"{path.stem}-{path.parent.parent.name}-{base}")
    for path in ROBOTS
    for base in ("fixed", "free")
]


def load_both(path, base="fixed"):
    return load_quietly(path, base=base), built_by_pinocchio(path, base).copy()  # to be changed


def check_torques(model, theirs, seed=0):
    there = Converter(model, theirs)
    rng = np.random.default_rng(seed)
    q = jc.random_configuration(model, rng, STATES)
    v, a = rng.standard_normal((2, STATES, model.nv))
    data = theirs.createData()
    states = zip(there.to_q(q), there.to_v(q, v), there.to_a(q, v, a), strict=True)
    expected = [pin.rnea(theirs, data, *x).copy() for x in states]
    ours = there.to_tau(q, jc.inverse_dynamics(model, q, v, a))
    scale = 1e-3 * max(1.0, jc.total_mass(model))
    assert relative_error(ours, expected, scale) < RELATIVE


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::jounce.ModelWarning")
@pytest.mark.parametrize(("path", "base"), CASES)
def test_locked_joints(path, base):
    """A third of the joints, and all but a third, at random positions."""
    model, theirs = load_both(path, base)
    there = Converter(model, theirs)
    q = jc.random_configuration(model, 1)
    for pick in (lambda k: k % 3 == 1, lambda k: k % 3 != 1):
        names = [name for k, name in enumerate(model.joint_names) if pick(k)]
        less = model.lock({name: q[model.q_slice(name)] for name in names})
        for frame in theirs.frames:  # it takes a link with the name of a joint for the joint
            if frame.type == pin.FrameType.BODY:
                frame.name += "_link"
        reduced = pin.buildReducedModel(
            theirs, [theirs.getJointId(name) for name in names], there.to_q(q)
        )
        check_torques(less, reduced)


def robot(name):
    return str(next(path for path in ROBOTS if path.name == name))


PAIRS = [
    ("ur5_robot.urdf", "allegro_right_hand.urdf", "tool0"),
    ("panda.urdf", "solo12.urdf", "panda_link8"),
    ("hyq_no_sensors.urdf", "ur5_robot.urdf", "trunk"),
]


@pytest.mark.parametrize(("first", "second", "at"), PAIRS)
def test_attached_robots(first, second, at):
    """At a frame of the first, turned and moved; with what the second has fixed to its world."""
    arm, pin_arm = load_both(robot(first))
    hand, pin_hand = load_both(robot(second))
    pose = lie.exp(np.array([0.3, -0.2, 0.5, 0.1, 0.2, 0.3]))
    both = arm.with_frame("mount", at, pose).attach(hand, at="mount", prefix="second_")
    for k in range(1, pin_hand.njoints):
        pin_hand.names[k] = "second_" + pin_hand.names[k]
    for frame in pin_hand.frames:
        frame.name = "second_" + frame.name
    frame = pin_arm.getFrameId(at, pin.FrameType.BODY)
    whole = pin.appendModel(pin_arm, pin_hand, frame, pin.SE3(pose[:3, :3], pose[:3, 3]))
    check_torques(both, whole)
