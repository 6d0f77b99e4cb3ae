"""The model: immutable, printable, cheap to change by copy; joints do what their table says."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import jounce as jc
from jounce import lie
from jounce.model.joints import JOINT_TYPES

EPS = np.finfo(float).eps
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
    "stiffness",
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
    assert "\n  0 B1: root_joint (free, q[0:7], v[0:6])" in text
    assert "\n      2 B3: q3 (revolute, q[8:9], v[7:8])" in text
    long = repr(jc.models.chain(1000))
    assert len(long.splitlines()) < 60
    assert "960 more bodies" in long


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


WORLDS = [-1, np.int64(-1), "world", "universe", "World"]


@pytest.mark.parametrize("world", WORLDS, ids=repr)
def test_the_world_is_not_a_body_and_the_error_says_so(world):
    model = jc.models.aerial_manipulator()
    q, v = jc.neutral(model), np.zeros(model.nv)
    for call in (
        lambda: jc.body_pose(model, q, world),
        lambda: jc.body_twist(model, q, v, world),
        lambda: jc.jacobian(model, q, world),
        lambda: model.body_index(world),
        lambda: model.frame(world),
    ):
        with pytest.raises(KeyError, match=r"the world is not a body: .*names or indices from 0"):
            call()
    with pytest.raises(KeyError, match=r"^joint index must be between 0 and 6, got -1$"):
        model.joint_index(-1)


def test_a_link_that_a_file_calls_world_is_a_frame_of_the_world():
    model = jc.ModelBuilder().add_body("world").add_body("b", "world", "revolute").build()
    np.testing.assert_array_equal(jc.body_pose(model, [0.3], "world"), np.eye(4))


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("b2_COM", "did you mean 'B2_com' or"),
        ("B2_con", "did you mean 'B2_com' or"),
        ("b 4", "did you mean 'B4'"),
        ("wrist", "there are 13, the first are 'B1', "),
    ],
)
def test_unknown_names_suggest_close_ones_whatever_their_case(name, hint):
    model = jc.models.aerial_manipulator()
    with pytest.raises(KeyError, match=f"unknown body or frame '{name}'; {hint}"):
        model.frame(name)


def test_suggestions_take_few_steps_in_large_models(count_calls):
    """A few for each name, where the comparison of two names takes dozens."""
    model = jc.models.chain(5000)

    def hint(name):
        with pytest.raises(KeyError) as caught:
            model.q_slice(name)
        return str(caught.value)

    assert hint("Joint77").endswith("did you mean 'joint77'?")
    assert hint("wrist").startswith("unknown joint 'wrist'; there are 5000, the first are")
    for name in ("Joint77", "wrist"):
        assert count_calls(lambda name=name: hint(name)) < 10 * 5000


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
        np.testing.assert_allclose(jc.body_pose(model, q, "hand"), expected, rtol=0, atol=1e-13)
        neutral = jc.body_pose(model, jc.neutral(model), "hand")
        np.testing.assert_allclose(neutral, base @ hand, rtol=0, atol=1e-14)


NORMALS = {
    (0, 0, 1): (X, Y),
    (0, 0, -2): (X, -Y),
    (1, 0, 0): (-Z, Y),
    (-1, 0, 0): (Z, Y),
    (0, 3, 0): (X, -Z),
    (0, -1, 0): (X, Z),
}


@pytest.mark.parametrize("axis", [*NORMALS, (1, 2, 3), (-1, 0.5, -0.2), (1e-9, 0, -1)], ids=str)
def test_a_planar_joint_slides_along_a_right_handed_frame(axis):
    x, y = planar_directions(jc.Joint("planar", axis=axis))
    n = np.array(axis) / np.linalg.norm(axis)
    np.testing.assert_allclose(
        np.array([x, y, n]) @ np.array([x, y, n]).T, np.eye(3), rtol=0, atol=1e-15
    )
    np.testing.assert_allclose(np.cross(x, y), n, rtol=0, atol=1e-15)
    turn = np.cross(Z, n)  # the shortest rotation from z to n
    if np.linalg.norm(turn) > 0:
        turn *= np.arctan2(np.linalg.norm(turn), n[2]) / np.linalg.norm(turn)
        np.testing.assert_allclose([x, y], lie.exp(turn)[:, :2].T, rtol=0, atol=1e-14)
    if axis in NORMALS:
        np.testing.assert_array_equal([x, y], NORMALS[axis])


def test_a_planar_joint_about_z_is_pinocchios():
    """Pinocchio has this one only: a URDF's other normals are taken for z there."""
    pin = pytest.importorskip("pinocchio")
    theirs = pin.Model()
    theirs.addJoint(0, pin.JointModelPlanar(), pin.SE3.Identity(), "p")
    data = theirs.createData()
    model = jc.ModelBuilder().add_body("b", joint="planar", joint_name="p", **SOLID).build()
    for q in np.random.default_rng(0).standard_normal((5, 3)):
        there = np.array([q[0], q[1], np.cos(q[2]), np.sin(q[2])])
        pin.forwardKinematics(theirs, data, there)
        expected = data.oMi[1].homogeneous
        np.testing.assert_allclose(jc.body_pose(model, q, "b"), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("axis", [(0, 0, 5), (0, -1e-300, 0), (3, -4, 12), (1e200, 1e200, 0)])
def test_axes_are_kept_as_units_with_their_direction(axis):
    joint = jc.Joint("universal", axis=axis, axis2=np.array(axis)[::-1])
    scaled = np.array(axis) / np.abs(axis).max()
    unit = scaled / np.linalg.norm(scaled)
    np.testing.assert_allclose(joint.axis, unit, rtol=0, atol=1e-16)
    np.testing.assert_allclose(joint.axis2, unit[::-1], rtol=0, atol=1e-16)
    assert all(type(x) is float for x in joint.axis)
    for _ in range(5):
        assert dataclasses.replace(joint, name="again").axis == joint.axis


def test_coordinate_axes_stay_exact():
    assert jc.Joint("revolute", axis=[0, 0, -7]).axis == (0.0, 0.0, -1.0)
    assert jc.Joint("revolute", axis=(0.1, 0, 0)) == jc.Joint("revolute", axis=(1, 0, 0))
    assert str(jc.Joint("revolute", axis=(-0.0, 2, -0.0)).axis) == "(0.0, 1.0, 0.0)"


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
    condition = np.linalg.cond(jc.mass_matrix(models[0], at.q)).max()
    for call in (
        lambda m: jc.inverse_dynamics(m, at.q, at.v, at.a),
        lambda m: jc.forward_dynamics(m, at.q, at.v, at.tau) / condition,
        lambda m: jc.mass_matrix(m, at.q),
        lambda m: jc.body_pose(m, at.q, "tip"),
        lambda m: jc.jacobian(m, at.q, "tip", "spatial"),
        lambda m: jc.momentum(m, at.q, at.v),
    ):
        expected, *others = (call(m) for m in models)
        scale = 1 + np.abs(expected).max()
        for other in others:
            np.testing.assert_allclose(other, expected, rtol=0, atol=64 * EPS * scale)


def test_continuous_is_revolute_without_limits():
    model = jc.ModelBuilder().add_body("b", joint="continuous", axis=X, **SOLID).build()
    assert model.nq == model.nv == 1
    assert (model.lower[0], model.upper[0]) == (-np.inf, np.inf)
    turn = [0.4 + 2 * np.pi * k for k in (0, 1, -7)]
    poses = jc.body_pose(model, np.array(turn)[:, None], "b")
    np.testing.assert_allclose(poses, np.broadcast_to(poses[0], poses.shape), rtol=0, atol=1e-13)


@pytest.mark.parametrize("branching", [1, 3])
def test_the_work_to_build_grows_linearly(branching, count_calls):
    small, large = (count_calls(lambda n=n: jc.models.tree(n, branching)) for n in (500, 1000))
    assert large < 2 * small


@pytest.mark.parametrize("branching", [1, 3])
def test_trees_may_have_ten_thousand_bodies_and_any_depth(branching):
    n = 10_000
    model = jc.models.tree(n, branching)
    assert pickle.loads(pickle.dumps(model)).n_bodies == n
    assert f"{n - 40} more bodies" in repr(model)
    q, v, x = 0.1 * np.random.default_rng(0).standard_normal((3, n))
    assert np.isfinite(jc.inverse_dynamics(model, q, v, x)).all()
    tau = jc.inverse_dynamics(model, q, 0 * v, x)
    back = jc.forward_dynamics(model, q, 0 * v, tau)
    residual = jc.inverse_dynamics(model, q, 0 * v, back) - tau
    assert np.abs(residual).max() < n * EPS * np.abs(tau).max()


def test_trees_deeper_than_the_stack_of_a_thread_are_made(python):
    """A chain of 20,000 needs no recursion, whatever room its thread has."""
    python(
        """
import threading
import jounce as jc
threading.stack_size(1 << 18)
made = []
thread = threading.Thread(target=lambda: made.append(jc.models.chain(20_000)))
thread.start()
thread.join()
assert made[0].nv == 20_000
"""
    )


def test_bodies_and_frames_are_compared_as_wholes():
    one, other = jc.models.chain(3), jc.models.chain(3)
    assert one.bodies == other.bodies
    assert not one.bodies != other.bodies  # noqa: SIM202
    assert one.bodies[0] != one.bodies[1]
    assert len({*one.bodies, *other.bodies}) == 3
    changed = one.replace(inertias=2 * one.inertias)
    assert all(x != y for x, y in zip(one.bodies, changed.bodies, strict=True))
    tip, top = jc.Frame(0, np.eye(4)), jc.Frame(0, np.eye(4))
    assert tip == top
    assert hash(tip) == hash(top) == hash(jc.Frame(0, np.eye(4) * [1, 1, 1, -1] * [1, 1, 1, -1]))
    assert len({hash(jc.Frame(0, jc.lie.exp([0, 0, 0, 0, 0, k]))) for k in (1.0, 2.0)}) == 2
    assert tip != jc.Frame(0, jc.lie.exp([0, 0, 0, 0, 0, 1.0]))
    assert tip != (0, 1)
    assert one.frames == other.frames
