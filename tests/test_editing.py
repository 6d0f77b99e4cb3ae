"""Models made from models have the dynamics of the same bodies and joints."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import jounce as jc
from jounce import lie
from jounce.model.joints import JOINT_TYPES

TOLERANCE = {"rtol": 1e-11, "atol": 1e-11}
"""Relative to forces, energies and lengths of order 1 to 100 in these trees."""


def chained():
    """Bodies with several joints each, of kinds that do not commute, and frames everywhere."""
    rng = np.random.default_rng(4)
    builder = jc.ModelBuilder(name="chained", gravity=(0.5, -1.0, -9.0))
    parent = None
    for k, kinds in enumerate(
        (
            ("planar", "revolute", "spherical"),
            ("spherical", "revolute", "prismatic"),
            ("universal", "helical", "cylindrical"),
            ("free", "revolute"),
        )
    ):
        joints = [
            jc.Joint(
                kind,
                f"{kind}{k}",
                axis=rng.standard_normal(3),
                axis2=rng.standard_normal(3),
                pitch=0.2 if kind == "helical" else 0.0,
                anchor=rng.uniform(-0.3, 0.3, 3),
                armature=rng.uniform(),
                damping=rng.uniform(),
            )
            for kind in kinds
        ]
        solid = {"mass": 1.0 + k, "com": rng.uniform(-0.2, 0.2, 3), "inertia": (0.3, 0.4, 0.5)}
        builder.add_body(f"b{k}", parent, joints, lie.exp(rng.uniform(-1, 1, 6)), **solid)
        builder.add_frame(f"f{k}", f"b{k}", lie.exp(rng.uniform(-1, 1, 6)))
        parent = f"f{k}" if k == 1 else f"b{k}"
        if k == 1:
            builder.add_body("f1_body", "f1_carrier")
            builder.add_body("f1_carrier", "b1", placement=(0, 0, 0.1), mass=0.2)
            parent = "f1_carrier"
    return builder.build()


MODELS = {
    "chained": chained,
    "aerial": jc.models.aerial_manipulator,
    "mixed_tree": jc.models.mixed_tree,
    "tree2": lambda: jc.models.random_tree(12, 2),
    "tree3": lambda: jc.models.random_tree(20, 3),
    "tree4": lambda: jc.models.random_tree(12, 4, first="free"),
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())


def by_joint(model, part, joints):
    """Indices of the coordinates ("q") or rates ("v") of joints."""
    return (model.q_indices if part == "q" else model.v_indices)(joints)


def with_poses(model):
    return model.replace(poses={"wild": jc.random_configuration(model, 9)})


def check_lock(model, names, state):
    at = state(model, 5)
    rest = [name for name in model.joint_names if name not in names]
    first = at.q[0]
    less = model.lock({name: first[model.q_slice(name)] for name in names})
    assert less.joint_names == tuple(rest)
    q_rest, v_rest = model.q_indices(rest), model.v_indices(rest)
    locked_q, locked_v = model.q_indices(names), model.v_indices(names)
    at.q[:, locked_q] = first[locked_q]
    at.v[:, locked_v] = at.a[:, locked_v] = 0.0
    q, v, a = at.q[:, q_rest], at.v[:, v_rest], at.a[:, v_rest]
    expected = jc.inverse_dynamics(model, at.q, at.v, at.a)[:, v_rest]
    np.testing.assert_allclose(jc.inverse_dynamics(less, q, v, a), expected, **TOLERANCE)
    M = jc.mass_matrix(model, at.q)[:, v_rest[:, None], v_rest]
    np.testing.assert_allclose(jc.mass_matrix(less, q), M, **TOLERANCE)
    for name in model.frames:
        pose = jc.body_pose(model, at.q, name)
        np.testing.assert_allclose(jc.body_pose(less, q, name), pose, rtol=0, atol=1e-13)
    for field in ("armature", "damping", "friction", "velocity_limit", "effort_limit", "actuated"):
        np.testing.assert_array_equal(getattr(less, field), getattr(model, field)[v_rest])
    for field in ("lower", "upper"):
        np.testing.assert_array_equal(getattr(less, field), getattr(model, field)[q_rest])
    np.testing.assert_array_equal(less.poses["wild"], model.poses["wild"][q_rest])
    return less


@every_model
def test_a_locked_joint_does_not_move(make, state):
    """tau and M of the others are those of the whole robot at that position and zero rate."""
    model = with_poses(make())
    for name in model.joint_names:
        check_lock(model, [name], state)


@every_model
def test_any_set_of_joints_can_be_locked(make, state):
    model = with_poses(make())
    rng = np.random.default_rng(1)
    for share in (0.3, 0.7):
        names = [name for name in model.joint_names if rng.uniform() < share]
        less = check_lock(model, names, state)
        assert pickle.loads(pickle.dumps(less)) == less
    still = check_lock(model, model.joint_names, state)
    assert still.nv == 0
    assert still.fixed_inertia[0] == pytest.approx(jc.total_mass(model) + model.fixed_inertia[0])
    assert model.lock({}) == model


def test_a_locked_body_becomes_a_frame_of_what_carries_it():
    arm = jc.models.chain(4)
    less = arm.lock({"joint2": 0.3, "joint0": -0.1})
    assert less.body_names == ("body1", "body3")
    assert less.frame("body2").body == 0
    assert less.frame("body0").body == -1
    assert set(less.frames) == set(arm.frames)


def test_what_mimics_a_locked_joint_follows_none():
    builder = jc.ModelBuilder()
    for name, leader in (("a", None), ("b", "a"), ("c", "b")):
        mimic = None if leader is None else jc.Mimic(leader, 2.0, 0.1)
        builder.add_body(name, joint="revolute", joint_name=name, mimic=mimic, mass=1.0)
    less = builder.build().lock({"a": 0.0})
    assert [joint.mimic for joint in less.joints] == [None, jc.Mimic("b", 2.0, 0.1)]


LOCKS = [
    ({"joint_1": 0.1}, KeyError, "unknown joint 'joint_1'; did you mean 'joint1'"),
    ({"joint1": (0.1, 0.2)}, ValueError, r"position of joint 'joint1' must be one number or have"),
    ({"joint1": np.nan}, ValueError, "position of joint 'joint1' must be finite"),
    ({"joint1": 1e300}, ValueError, "position of joint 'joint1': .* an input is too large"),
    ({"root_joint": (0, 0, 0, 2, 0, 0, 0)}, ValueError, "'root_joint': expected a unit quaternion"),
    (["joint1"], ValueError, r"lock takes a mapping of joints to their positions, got \['joint1'"),
]


@pytest.mark.parametrize(("values", "error", "message"), LOCKS, ids=lambda x: str(x)[:40])
def test_what_cannot_be_locked_is_refused(values, error, message):
    with pytest.raises(error, match=message) as caught:
        jc.models.chain(3, "free").lock(values)
    assert isinstance(caught.value, jc.Error)


def test_locking_outside_the_limits_warns():
    model = jc.models.chain(3).replace(lower=-1.0, upper=1.0)
    message = "joint 'joint1' is locked at 1.5, outside its limits -1 to 1"
    with pytest.warns(jc.ModelWarning, match=f"^{re.escape(message)}$") as caught:
        model.lock({"joint1": 1.5, "joint2": 1.0})
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_frame_is_where_it_was_put(all_joints, state):
    at = state(all_joints, 4)
    pose = lie.exp(np.arange(6) / 6)
    more = all_joints.with_frame("tool", "body3", pose).with_frame("tip", "tool", (0, 0, 0.1))
    tip = np.eye(4)
    tip[2, 3] = 0.1
    expected = jc.body_pose(all_joints, at.q, "body3") @ pose
    np.testing.assert_allclose(jc.body_pose(more, at.q, "tool"), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(jc.body_pose(more, at.q, "tip"), expected @ tip, rtol=0, atol=1e-14)
    assert all_joints.with_frame("mark", None, pose).frame("mark").body == -1
    assert all_joints.with_frame("same", 2).frame("same").body == 2
    assert {
        name: more.frames[name] for name in all_joints.frames
    }.keys() == all_joints.frames.keys()
    with pytest.raises(jc.UnknownNameError, match="unknown body or frame 'Body3'; did you mean"):
        all_joints.with_frame("tool", "Body3", pose)
    with pytest.raises(jc.ModelError, match="two bodies or frames are named 'body3'"):
        all_joints.with_frame("body3", "body2", pose)
    with pytest.raises(jc.ModelError, match="frame 'tool': placement must be a 4x4 pose"):
        all_joints.with_frame("tool", "body3", np.eye(3))


@pytest.mark.parametrize("at", ["b2", "f1", "f3", 0])
def test_a_payload_is_a_body_fixed_there(at, state):
    model = with_poses(chained())
    inertia = np.array([[0.3, 0.02, 0.01], [0.02, 0.4, 0.03], [0.01, 0.03, 0.5]])
    loaded = model.with_payload(at, 2.5, (0.1, -0.2, 0.3), inertia)
    name = model.body_names[at] if isinstance(at, int) else at
    solid = {"mass": 2.5, "com": (0.1, -0.2, 0.3), "inertia": inertia}
    expected = jc.ModelBuilder(model).add_body("load", name, **solid).build()
    x = state(model, 5)
    ours, theirs = (jc.inverse_dynamics(m, x.q, x.v, x.a) for m in (loaded, expected))
    np.testing.assert_allclose(ours, theirs, **TOLERANCE)
    assert jc.total_mass(loaded) == pytest.approx(jc.total_mass(model) + 2.5, rel=1e-15)
    assert loaded.poses.keys() == model.poses.keys()


def test_payloads_that_make_no_sense_are_refused():
    model = jc.models.chain(3).with_frame("floor", None, (0, 0, -1))
    with pytest.raises(jc.ModelError, match="'floor' is fixed to the world, where a payload"):
        model.with_payload("floor", 1.0)
    with pytest.raises(jc.ModelError, match="'payload': mass -1 is negative"):
        model.with_payload("body1", -1.0)
    with pytest.raises(jc.UnknownNameError, match="'bdy1'; did you mean 'body1'"):
        model.with_payload("bdy1", 1.0)
    with pytest.warns(jc.ModelWarning, match="body 'payload': .*triangle") as caught:
        model.with_payload("body1", 1.0, inertia=(1, 1, 3))
    assert caught[0].filename == __file__


def two_parts(seed):
    """A robot, a second one, the frame at which that is mounted, and both built as one."""
    rng = np.random.default_rng(seed)
    kinds = list(JOINT_TYPES)
    kinds += ["revolute", "spherical"]
    rng.shuffle(kinds)
    parents = [None if k == 0 else int(rng.integers(-1, k)) for k in range(12)]
    first, second, whole = (jc.ModelBuilder(gravity=(1, 2, -9)) for _ in range(3))
    for builder, offset in ((first, 0), (second, 6)):
        for k in range(offset, offset + 6):
            p = parents[k]
            here = p if p is not None and p >= offset else None
            world = here is None
            make = np.random.default_rng([seed, k])
            common = {
                "joint": kinds[k],
                "joint_name": f"j{k}",
                "axis": make.standard_normal(3),
                "axis2": make.standard_normal(3),
                "pitch": 0.3 if kinds[k] == "helical" else 0.0,
                "placement": lie.exp(make.uniform(-1, 1, 6)),
                "mass": make.uniform(0.5, 2),
                "com": make.uniform(-0.2, 0.2, 3),
                "inertia": (0.3, 0.4, 0.5),
                "damping": make.uniform(),
            }
            builder.add_body(f"x{k}", None if world else f"x{here}", **common)
            on = "mount" if offset and world else None
            whole.add_body(f"x{k}", on if world else f"x{here}", **common)
    mount = lie.exp(rng.uniform(-1, 1, 6))
    first.add_frame("mount", "x3", mount)
    whole.add_body("mount", "x3", placement=mount)
    return first.build(), second.build(), whole.build()


@pytest.mark.parametrize("seed", range(12))
def test_attached_robots_are_one_robot(seed, state):
    """Also if bodies of the second are fixed to its world: their mass comes along."""
    first, second, whole = two_parts(seed)
    both = first.attach(second, at="mount", prefix="")
    assert set(both.joint_names) == set(whole.joint_names)
    assert set(both.frames) == set(whole.frames)
    assert jc.total_mass(both) == pytest.approx(jc.total_mass(whole), rel=1e-14)
    at = state(whole, 5)
    order_q, order_v = (by_joint(whole, x, both.joint_names) for x in "qv")
    args = at.q[:, order_q], at.v[:, order_v], at.a[:, order_v]
    expected = jc.inverse_dynamics(whole, at.q, at.v, at.a)[:, order_v]
    np.testing.assert_allclose(jc.inverse_dynamics(both, *args), expected, **TOLERANCE)
    np.testing.assert_array_equal(both.damping, whole.damping[order_v])
    np.testing.assert_allclose(both.fixed_inertia, whole.fixed_inertia, rtol=1e-13, atol=1e-13)
    for name in whole.frames:
        pose = jc.body_pose(whole, at.q, name)
        np.testing.assert_allclose(jc.body_pose(both, args[0], name), pose, rtol=0, atol=1e-13)


def test_a_prefix_tells_two_of_the_same_apart():
    finger = jc.ModelBuilder(name="finger")
    finger.add_body("pad", joint="prismatic", joint_name="close", mass=0.1)
    finger.add_body("tip", "pad", joint="revolute", mimic=jc.Mimic("close", 3.0), mass=0.1)
    one = finger.build().replace(poses={"open": [0.1, 0.2], "shut": [0.3, 0.4]})
    arm = jc.models.chain(2).replace(poses={"open": [1.0, 2.0]})
    both = arm.attach(one, at="body1", prefix="l_").attach(one, at="body1", prefix="r_")
    assert both.joint_names == (
        *arm.joint_names,
        *("l_close", "l_tip_joint", "r_close", "r_tip_joint"),
    )
    assert both.joints[5].mimic == jc.Mimic("r_close", 3.0)
    np.testing.assert_array_equal(both.poses["open"], [1, 2, 0.1, 0.2, 0.1, 0.2])
    np.testing.assert_array_equal(both.poses["shut"], [0, 0, 0.3, 0.4, 0.3, 0.4])
    assert (both.name, both.gravity.tolist()) == (arm.name, arm.gravity.tolist())
    with pytest.raises(jc.ModelError, match="both models have a body or frame named 'l_pad', 'l_t"):
        both.attach(one, at="body0", prefix="l_")
    other = jc.ModelBuilder().add_body("z", joint="revolute", joint_name="l_close", mass=1).build()
    with pytest.raises(jc.ModelError, match="both models have a joint named 'l_close'"):
        both.attach(other, at="body0")
    with pytest.raises(jc.UnknownNameError, match="'body9'; did you mean"):
        arm.attach(one, at="body9")
    with pytest.raises(jc.ArgumentTypeError, match=r"jounce\.Model"):
        arm.attach("gripper", at="body1")


def test_shapes_come_along_with_their_frames():
    from jounce.io.geometry import Sphere, Visual

    builder = jc.ModelBuilder().add_body("pad", joint="revolute", mass=1.0)
    builder.add_body("nail", "pad", joint="revolute", mass=1.0)
    builder.add_visuals([Visual(name, Sphere(0.1), np.eye(4)) for name in ("pad", "nail")])
    hand = builder.build()
    both = hand.attach(hand, at="pad", prefix="x_")
    assert [shape.frame for shape in both.visuals] == ["pad", "nail", "x_pad", "x_nail"]
    assert [shape.frame for shape in both.subtree("x_pad").visuals] == ["x_pad", "x_nail"]
    assert both.lock({"nail_joint": 0}).visuals == both.visuals


@every_model
def test_a_subtree_moves_as_it_did_on_a_base_at_rest(make, state):
    """With the base's frame as the world, so gravity is turned into it."""
    model = with_poses(make())
    at = state(model, 1)
    for k, name in enumerate(model.body_names):
        part = model.subtree(name)
        q, v = model.q_indices(part.joint_names), model.v_indices(part.joint_names)
        rates, accelerations = np.zeros((2, model.nv))
        rates[v], accelerations[v] = at.v[0, v], at.a[0, v]
        base = jc.body_pose(model, at.q[0], name)
        turned = part.replace(gravity=base[:3, :3].T @ model.gravity)
        expected = jc.inverse_dynamics(model, at.q[0], rates, accelerations)[v]
        ours = jc.inverse_dynamics(turned, at.q[0, q], at.v[0, v], at.a[0, v])
        np.testing.assert_allclose(ours, expected, **TOLERANCE)
        for frame in part.frames:
            pose = lie.inverse(base) @ jc.body_pose(model, at.q[0], frame)
            got = jc.body_pose(part, at.q[0, q], frame)
            np.testing.assert_allclose(got, pose, rtol=0, atol=1e-13)
        np.testing.assert_allclose(part.fixed_inertia, model.inertias[k], rtol=1e-15)
        np.testing.assert_array_equal(part.poses["wild"], model.poses["wild"][q])
        np.testing.assert_array_equal(part.gravity, model.gravity)


def test_what_is_no_body_has_no_subtree():
    model = jc.models.aerial_manipulator()
    with pytest.raises(jc.ModelError, match="'B4_com' is a frame of body 'B4', not a body of its"):
        model.subtree("B4_com")
    with pytest.raises(jc.UnknownNameError, match="unknown body 'b4'"):
        model.subtree("b4")
    with pytest.raises(jc.UnknownNameError, match="the world is not a body"):
        model.subtree(-1)


def random_depth_first(model, rng):
    """Joints in the order of another depth-first numbering."""
    order, stack = [], [-1]
    while stack:
        body = stack.pop()
        order += [joint.name for joint in model.bodies[body].joints] if body >= 0 else []
        children = np.flatnonzero(model.parents == body)
        stack += rng.permutation(children).tolist()
    return order


@every_model
def test_an_order_is_a_permutation_of_the_same_robot(make, state):
    model = with_poses(make())
    rng = np.random.default_rng(0)
    at = state(model, 4)
    for _ in range(5):
        names = random_depth_first(model, rng)
        other = model.reorder(names)
        assert list(other.joint_names) == names
        q, v = model.q_indices(names), model.v_indices(names)
        expected = jc.inverse_dynamics(model, at.q, at.v, at.a)[:, v]
        ours = jc.inverse_dynamics(other, at.q[:, q], at.v[:, v], at.a[:, v])
        np.testing.assert_allclose(ours, expected, **TOLERANCE)
        np.testing.assert_array_equal(other.poses["wild"], model.poses["wild"][q])
        assert other.reorder(model.joint_names) == model
    assert model.reorder(model.joint_names) == model


ORDERS = [
    (["joint1", "joint0", "joint2"], "'joint1' comes before 'joint0', which carries it; such an"),
    (["joint0", "joint1"], "every joint of the model, 'joint2' is missing"),
    (["joint0", "joint1", "joint1", "joint2"], "joint 'joint1' is listed twice"),
    (["joint0", "joint1", "joint3"], "unknown joint 'joint3'; did you mean"),
]


@pytest.mark.parametrize(("names", "message"), ORDERS, ids=lambda x: str(x)[:40])
def test_an_order_that_cannot_be_is_refused(names, message):
    with pytest.raises(jc.Error, match=message):
        jc.models.chain(3).reorder(names)


def test_an_order_with_branches_mixed_is_refused():
    model = jc.models.tree(7)  # 0: 1 (3, 4), 2 (5, 6)
    names = [f"joint{k}" for k in (0, 1, 2, 3, 4, 5, 6)]
    message = "'joint3' follows after the branch of 'joint1' has been left.*v_indices serves any"
    with pytest.raises(jc.ArgumentError, match=message):
        model.reorder(names)
    model = chained()
    names = list(model.joint_names)
    names[0], names[1] = names[1], names[0]
    with pytest.raises(jc.ArgumentError, match="of body 'b0' must follow each other"):
        model.reorder(names)


@every_model
def test_placements_can_be_replaced(make, state):
    model = make()
    rng = np.random.default_rng(0)
    placements = lie.exp(rng.uniform(-1, 1, (model.n_bodies, 6)))
    bodies = [b._replace(placement=p) for b, p in zip(model.bodies, placements, strict=True)]
    expected = jc.Model(
        model.name, model.gravity, bodies, model.frames, fixed_inertia=model.fixed_inertia
    )
    other = model.replace(placements=placements)
    at = state(model, 3)
    ours, theirs = (jc.inverse_dynamics(m, at.q, at.v, at.a) for m in (other, expected))
    np.testing.assert_allclose(ours, theirs, **TOLERANCE)
    for body, placement in zip(other.bodies, placements, strict=True):
        np.testing.assert_allclose(body.placement, placement, rtol=0, atol=1e-15)
    assert pickle.loads(pickle.dumps(other)) == other
    back = other.replace(placements=[body.placement for body in model.bodies])
    assert back == model
    assert back.bodies[0].joints == model.bodies[0].joints


def test_placements_that_are_none_are_refused():
    model = jc.models.chain(2)
    with pytest.raises(jc.ArgumentError, match=r"placements must have shape \(2, 4, 4\)"):
        model.replace(placements=np.eye(4))
    with pytest.raises(jc.ModelError, match="body 'body1': placement: the 3x3 part is not a rot"):
        model.replace(placements=[np.eye(4), np.diag([2, 1, 1, 1])])


def test_indices_serve_any_order(all_joints):
    names = all_joints.joint_names[::-1]
    v = all_joints.v_indices(names)
    assert sorted(v) == list(range(all_joints.nv))
    assert v.tolist() == [
        k for n in names for k in range(*all_joints.v_slice(n).indices(all_joints.nv))
    ]
    assert all_joints.q_indices([]).tolist() == []
    with pytest.raises(jc.UnknownNameError, match="unknown joint"):
        all_joints.q_indices(["nobody"])
    for call in (all_joints.q_indices, all_joints.v_indices, all_joints.reorder):
        for wrong in ("joint1", None, 3):
            with pytest.raises(jc.ArgumentTypeError, match="joint_names must be a list of names"):
                call(wrong)
