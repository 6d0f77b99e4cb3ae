"""The model: immutable, printable, cheap to change by copy; joints do what their table says."""

from __future__ import annotations

import copy
import pickle
import time

import numpy as np
import pytest

import jounce as jc
from jounce import lie
from jounce.joints import JOINT_TYPES

X, Y, Z = np.eye(3)
SOLID = {"mass": 1.3, "com": (0.1, 0.2, -0.3), "inertia": (0.05, 0.04, 0.03)}
ARRAYS = [
    "parents",
    "gravity",
    "inertias",
    "actuated",
    "armature",
    "damping",
    "friction",
    "lower",
    "upper",
    "velocity_limit",
    "effort_limit",
]


def test_attributes_cannot_be_set_or_deleted(robot):
    for name in ("gravity", "nq", "inertias", "joints", "new"):
        with pytest.raises(AttributeError, match=rf"immutable, so '{name}'.*replace"):
            setattr(robot, name, 3)
    with pytest.raises(AttributeError, match="immutable"):
        del robot.gravity
    before = repr(robot)
    with pytest.raises(TypeError, match="immutable"):
        robot.__init__("other", (0, 0, 0), [])
    assert repr(robot) == before


def test_arrays_cannot_be_written(robot):
    arrays = [getattr(robot, name) for name in ARRAYS] + list(robot.nodes)
    arrays += [frame.placement for frame in robot.frames.values()]
    arrays += [robot.frame(0).placement]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(TypeError, match="item assignment"):
        robot.frames["new"] = robot.frames[robot.body_names[0]]


def test_what_a_model_was_made_from_may_change_later():
    axis, placement, gravity = np.array([0.0, 1.0, 0.0]), np.eye(4), np.array([0, 0, -9.81])
    parameters, armature = np.array([1.0, 0, 0, 0.1, 1, 0, 1, 0, 0, 1]), [0.1]
    builder = jc.ModelBuilder(gravity=gravity)
    joint = jc.Joint("revolute", "j", axis=axis, armature=armature)
    builder.add_body("b", None, joint, placement, parameters=parameters)
    builder.add_frame("f", "b", placement)
    model = builder.build()
    before = jc.inverse_dynamics(model, [0.3], [0.4], [0.5])
    for array in (axis, placement, gravity, parameters):
        array *= 2
    armature[0] = 7.0
    for same in (model, model.replace(), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(jc.inverse_dynamics(same, [0.3], [0.4], [0.5]), before)
        np.testing.assert_array_equal(same.frames["f"].placement, np.eye(4))
    assert model.joints[0] == jc.Joint("revolute", "j", axis=(0, 1, 0), armature=(0.1,))
    assert hash(model.joints[0]) == hash(copy.deepcopy(model.joints[0]))


def test_repr_shows_sizes_conventions_and_tree():
    text = repr(jc.models.aerial_manipulator())
    assert "'aerial_manipulator': 7 bodies, 7 joints, nq = 13, nv = 12" in text
    assert "gravity (0, 0, -9.81)" in text
    assert "free quaternion (x, y, z, w), position" in text
    assert "free body-fixed twist (angular, linear)" in text
    assert "\n  0 B1: root_joint (free, q[0:7])" in text
    assert "\n      2 B3: q3 (revolute, q[8:9])" in text
    long = repr(jc.models.chain(1000))
    assert len(long.splitlines()) < 60
    assert "960 more bodies" in long


def same_results(first, second, state):
    at = state(first, 3)
    for call in (
        lambda model: jc.inverse_dynamics(model, at.q, at.v, at.a, at.f_ext),
        lambda model: jc.forward_dynamics(model, at.q, at.v, at.tau),
        lambda model: jc.body_poses(model, at.q),
    ):
        np.testing.assert_array_equal(call(first), call(second))
    return True


def test_pickles_and_copies_are_the_same_robot(robot, state):
    assert copy.copy(robot) is robot
    assert copy.deepcopy([robot])[0] is robot
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        twin = pickle.loads(pickle.dumps(robot, protocol))
        assert type(twin) is jc.Model
        assert same_results(robot, twin, state)
        assert repr(twin) == repr(robot)
        assert twin.joints == robot.joints
        assert set(twin.frames) == set(robot.frames)
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(twin, name), getattr(robot, name))


def test_replace_changes_what_it_names_and_nothing_else(robot, state):
    at = state(robot, 3)
    assert same_results(robot, robot.replace(), state)
    weightless = robot.replace(gravity=(0, 0, 0))
    np.testing.assert_allclose(jc.gravity_forces(weightless, at.q), 0, atol=1e-12)
    np.testing.assert_array_equal(jc.mass_matrix(weightless, at.q), jc.mass_matrix(robot, at.q))
    heavy = robot.replace(inertias=2 * robot.inertias)
    np.testing.assert_allclose(
        jc.mass_matrix(heavy.replace(armature=np.zeros(robot.nv)), at.q),
        2 * jc.mass_matrix(robot.replace(armature=np.zeros(robot.nv)), at.q),
        rtol=1e-12,
        atol=1e-12,
    )
    rotors = np.arange(robot.nv) / 10
    expected = jc.mass_matrix(robot, at.q) + np.diag(rotors - robot.armature)
    np.testing.assert_allclose(
        jc.mass_matrix(robot.replace(armature=rotors), at.q), expected, rtol=1e-12, atol=1e-12
    )
    driven = robot.replace(actuated=np.zeros(robot.nv, bool))
    assert not driven.actuated.any()
    assert same_results(robot, driven, state)


REPLACEMENTS = [
    ({"gravity": (0, 0)}, "gravity must have shape"),
    ({"gravity": (0, 0, np.nan)}, "gravity must be finite"),
    ({"inertias": np.zeros((3, 9))}, "inertias must have shape"),
    ({"armature": np.zeros(5)}, "armature must have shape"),
    ({"armature": -np.ones(12)}, "'root_joint': armature must not be negative"),
    ({"actuated": np.ones(12)}, "actuated must be a bool array"),
    ({"actuated": np.arange(12) > 3}, "all True or all False for joint 'root_joint'"),
]


@pytest.mark.parametrize(("change", "message"), REPLACEMENTS, ids=lambda x: str(x)[:40])
def test_replace_refuses_what_does_not_fit(change, message):
    with pytest.raises(ValueError, match=message):
        jc.models.aerial_manipulator().replace(**change)


def test_slices_tell_where_a_joint_sits(robot):
    sizes = {"spherical": (4, 3), "free": (7, 6), "cylindrical": (2, 2), "universal": (2, 2)}
    sizes["planar"] = (3, 3)
    q, v = 0, 0
    for k, joint in enumerate(robot.joints):
        nq, nv = sizes.get(joint.type, (1, 1))
        for key in (k, np.int64(k), joint.name):
            assert robot.q_slice(key) == slice(q, q + nq)
            assert robot.v_slice(key) == slice(v, v + nv)
        q, v = q + nq, v + nv
    assert (q, v) == (robot.nq, robot.nv)


def test_parents_come_first_and_subtrees_are_contiguous():
    model = jc.models.tree(40, 3)
    parents = model.parents
    assert (parents < np.arange(40)).all()
    below = [{i} for i in range(40)]
    for i in range(39, 0, -1):
        below[parents[i]] |= below[i]
    assert all(max(b) - min(b) == len(b) - 1 for b in below)
    assert model.joint_names == tuple(name.replace("body", "joint") for name in model.body_names)


def pose(rotation_vector=(0, 0, 0), position=(0, 0, 0)):
    T = np.eye(4)
    T[:3, :3] = lie.exp(np.asarray(rotation_vector, float))
    T[:3, 3] = position
    return T


def quaternion_pose(q, position=(0, 0, 0)):
    x, y, z, w = q
    hat = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    T = np.eye(4)
    T[:3, :3] = np.eye(3) + 2 * w * hat + 2 * hat @ hat
    T[:3, 3] = position
    return T


def planar_directions(joint):
    """The two directions of a planar joint, from its own motion."""
    model = jc.ModelBuilder().add_body("b", joint=joint, **SOLID).build()
    return [jc.body_pose(model, q, "b")[:3, 3] for q in ((1, 0, 0), (0, 1, 0))]


def expected_motion(joint, q):
    """Pose of the child relative to its neutral pose, from the table in `jounce.Joint`."""
    u, w = (np.array(a) / np.linalg.norm(a) for a in (joint.axis, joint.axis2))
    if joint.type in ("revolute", "continuous"):
        motion = pose(u * q[0])
    elif joint.type == "prismatic":
        motion = pose(position=u * q[0])
    elif joint.type == "helical":
        motion = pose(u * q[0], u * q[0] * joint.pitch)
    elif joint.type == "cylindrical":
        motion = pose(u * q[0], u * q[1])
    elif joint.type == "planar":
        x, y = planar_directions(joint)
        motion = pose(u * q[2], x * q[0] + y * q[1])
    elif joint.type == "universal":
        motion = pose(u * q[0]) @ pose(w * q[1])
    elif joint.type == "spherical":
        motion = quaternion_pose(q)
    else:
        motion = quaternion_pose(q[:4], q[4:])
    to_anchor = pose(position=joint.anchor)
    return to_anchor @ motion @ np.linalg.inv(to_anchor)


@pytest.mark.parametrize("kind", JOINT_TYPES[1:])
def test_a_joint_moves_its_body_as_documented(kind):
    rng = np.random.default_rng(1)
    for _ in range(5):
        joint = jc.Joint(
            kind,
            "j",
            axis=rng.standard_normal(3),
            axis2=rng.standard_normal(3),
            pitch=0.3,
            anchor=rng.standard_normal(3),
        )
        base, hand = lie.exp(rng.standard_normal((2, 6)))
        builder = jc.ModelBuilder()
        builder.add_body("base", joint="prismatic", axis=X, placement=base, **SOLID)
        builder.add_body("hand", "base", joint, hand, **SOLID)
        model = builder.build()
        q = jc.random_configuration(model, rng)
        expected = base @ pose(position=q[0] * X) @ hand @ expected_motion(joint, q[1:])
        np.testing.assert_allclose(jc.body_pose(model, q, "hand"), expected, atol=1e-13)
        neutral = jc.body_pose(model, jc.neutral(model), "hand")
        np.testing.assert_allclose(neutral, base @ hand, atol=1e-14)


@pytest.mark.parametrize("axis", [X, Y, Z, (1, 2, 3), (-1, 0.5, -0.2)], ids=str)
def test_a_planar_joint_slides_along_a_right_handed_frame(axis):
    x, y = planar_directions(jc.Joint("planar", axis=axis))
    z = np.array(axis) / np.linalg.norm(axis)
    np.testing.assert_allclose(np.array([x, y, z]) @ np.array([x, y, z]).T, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(np.cross(x, y), z, atol=1e-15)
    if z is Z:
        np.testing.assert_array_equal([x, y], [X, Y])


def compound(kind, axis, axis2):
    if kind == "cylindrical":
        return [jc.Joint("revolute", axis=axis), jc.Joint("prismatic", axis=axis)]
    if kind == "universal":
        return [jc.Joint("revolute", axis=axis), jc.Joint("revolute", axis=axis2)]
    x, y = planar_directions(jc.Joint("planar", axis=axis))
    return [
        jc.Joint("prismatic", axis=x),
        jc.Joint("prismatic", axis=y),
        jc.Joint("revolute", axis=axis),
    ]


@pytest.mark.parametrize("kind", ["cylindrical", "universal", "planar"])
def test_a_compound_joint_equals_a_chain_of_massless_bodies(kind, state):
    rng = np.random.default_rng(2)
    axis, axis2 = rng.standard_normal((2, 3))
    placement, tip = lie.exp(rng.standard_normal((2, 6)))
    parts = compound(kind, axis, axis2)
    whole, several, chain = (jc.ModelBuilder() for _ in range(3))
    for builder in (whole, several, chain):
        builder.add_body("base", joint="revolute", axis=X, **SOLID)
    whole.add_body("b", "base", kind, placement, axis=axis, axis2=axis2, **SOLID)
    several.add_body("b", "base", parts, placement, **SOLID)
    for k, joint in enumerate(parts):
        last = k == len(parts) - 1
        chain.add_body(
            "b" if last else f"link{k}",
            f"link{k - 1}" if k else "base",
            joint,
            None if k else placement,
            **(SOLID if last else {}),
        )
    for builder in (whole, several, chain):
        builder.add_body("tip", "b", "revolute", tip, axis=Y, **SOLID)
    models = [builder.build() for builder in (whole, several, chain)]
    at = state(models[0], 9)
    assert [m.n_bodies for m in models] == [3, 3, 2 + len(parts)]
    for call in (
        lambda m: jc.inverse_dynamics(m, at.q, at.v, at.a),
        lambda m: jc.forward_dynamics(m, at.q, at.v, at.tau),
        lambda m: jc.mass_matrix(m, at.q),
        lambda m: jc.body_pose(m, at.q, "tip"),
        lambda m: jc.jacobian(m, at.q, "tip", "spatial"),
        lambda m: jc.momentum(m, at.q, at.v),
    ):
        expected, *others = (call(m) for m in models)
        scale = 1 + np.abs(expected).max()
        for other in others:
            np.testing.assert_allclose(other, expected, rtol=0, atol=1e-10 * scale)


def test_continuous_is_revolute_without_limits():
    model = jc.ModelBuilder().add_body("b", joint="continuous", axis=X, **SOLID).build()
    assert model.nq == model.nv == 1
    assert (model.lower[0], model.upper[0]) == (-np.inf, np.inf)
    turn = [0.4 + 2 * np.pi * k for k in (0, 1, -7)]
    poses = jc.body_pose(model, np.array(turn)[:, None], "b")
    np.testing.assert_allclose(poses, np.broadcast_to(poses[0], poses.shape), atol=1e-13)


@pytest.mark.parametrize("branching", [1, 3])
def test_ten_thousand_bodies_take_ten_times_as_long_as_one_thousand(branching):
    """Linear cost with a generous factor, and no limit on the depth."""
    seconds = {}
    for n in (1000, 10000):
        start = time.perf_counter()
        model = jc.models.tree(n, branching)
        seconds["build", n] = time.perf_counter() - start
        rng = np.random.default_rng(0)
        q, v, x = 0.1 * rng.standard_normal((3, n))
        pickle.loads(pickle.dumps(model))
        assert "more bodies" in repr(model)
        for name in ("inverse_dynamics", "forward_dynamics"):
            times = []
            for _ in range(5):
                start = time.perf_counter()
                getattr(jc, name)(model, q, v, x)
                times.append(time.perf_counter() - start)
            seconds[name, n] = min(times)
    for name in ("build", "inverse_dynamics", "forward_dynamics"):
        assert seconds[name, 10000] < 40 * seconds[name, 1000], seconds
    tau = jc.inverse_dynamics(model, q, 0 * v, x)
    back = jc.forward_dynamics(model, q, 0 * v, tau)
    residual = jc.inverse_dynamics(model, q, 0 * v, back) - tau
    assert np.abs(residual).max() < 1e-9 * np.abs(tau).max()
