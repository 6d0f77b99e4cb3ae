"""load(save(model)) is the same robot; other readers of the file see it, too."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from saving import EPS, MOVING, PROMISED, assert_same, quietly, read, relative, states, text_of

import jounce as jc
from jounce import lie
from jounce.io._parts import roll_pitch_yaw
from jounce.model.joints import Joint, Mimic

FORMATS = ("urdf", "mjcf")
both = pytest.mark.parametrize("kind", FORMATS)


def with_everything(seed):
    """All joint types with limits, damping and so on, frames on bodies and on the world, a pose."""
    rng = np.random.default_rng(seed)
    model = jc.models.random_tree(len(MOVING) + 3, seed, MOVING)
    builder = jc.ModelBuilder(model, gravity=(0.1, -0.2, -3.7), name="all <of> 'it' & more")
    builder.add_frame("camera", "body3", lie.exp(rng.standard_normal(6)))
    builder.add_frame("ground mark", None, lie.exp(rng.standard_normal(6)))
    model = builder.build()
    free = np.repeat([j.type == "free" for j in model.joints], np.diff(model._offsets[:, 1]))
    model = model.replace(
        damping=rng.uniform(0, 1, model.nv),
        friction=rng.uniform(0, 1, model.nv),
        armature=np.where(free, 0.0, rng.uniform(0, 0.1, model.nv)),
        velocity_limit=rng.uniform(1, 9, model.nv),
        effort_limit=rng.uniform(1, 9, model.nv),
        lower=-rng.uniform(1, 2, model.nq),
        upper=rng.uniform(1, 2, model.nq),
        actuated=np.repeat(
            rng.uniform(size=len(model.joints)) < 0.5, np.diff(model._offsets[:, 1])
        ),
    )
    poses = {"home": jc.neutral(model), "some pose": jc.random_configuration(model, rng)}
    return model.replace(poses=poses)


@both
@pytest.mark.parametrize("first", MOVING)
def test_every_joint_type_at_the_root_and_in_mid_tree(kind, first):
    model = jc.models.random_tree(14, 5, MOVING, first=first)
    assert_same(model, read(model, text_of(model, kind), kind))


@both
@pytest.mark.parametrize("seed", range(3))
def test_all_that_a_model_holds(kind, seed):
    model = with_everything(seed)
    assert_same(model, read(model, text_of(model, kind), kind))


@both
def test_saving_again_changes_nothing_more(kind):
    """The second file differs from the first by roundings of numbers only."""
    model = with_everything(1)
    first = text_of(model, kind)
    second = text_of(read(model, first, kind), kind)
    number = re.compile(r"-?\d+\.\d+(e-?\d+)?")
    assert number.sub("#", first) == number.sub("#", second)


@both
@pytest.mark.parametrize("distance", [1e3, 1e6])
def test_bodies_far_from_each_other(kind, distance):
    rng = np.random.default_rng(2)
    builder = jc.ModelBuilder()
    for i, joint in enumerate(("revolute", "spherical", "prismatic", "universal")):
        placement = lie.exp(rng.uniform(-1, 1, 6))
        placement[:3, 3] = distance * rng.standard_normal(3)
        builder.add_body(
            f"body{i}",
            f"body{i - 1}" if i else None,
            joint,
            placement,
            axis=rng.standard_normal(3),
            axis2=rng.standard_normal(3),
            mass=1.0,
            com=rng.uniform(-1, 1, 3),
            inertia=(0.1, 0.2, 0.25),
        )
    model = builder.build()
    assert_same(model, read(model, text_of(model, kind), kind))


@both
@pytest.mark.parametrize("angle", [0.0, 1e-9, math.pi / 2, math.pi - 1e-9, math.pi])
@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, -1), (0.6, 0.8, 0), (1, 1, 1)])
def test_special_angles_of_placements(kind, angle, axis):
    placement = np.eye(4)
    placement[:3, :3] = lie.exp(angle * np.array(axis) / np.linalg.norm(axis))
    model = (
        jc.ModelBuilder()
        .add_body("arm", None, "revolute", placement, mass=1.0, inertia=(1, 1, 1))
        .build()
    )
    again = read(model, text_of(model, kind), kind)
    assert np.abs(again.bodies[0].placement - placement).max() < 8 * EPS


def test_angles_give_the_rotation_at_and_near_a_pitch_of_a_right_angle():
    rng = np.random.default_rng(0)
    off = np.concatenate([[0.0], 10.0 ** np.arange(-18, 0)])
    for pitch in np.concatenate([math.pi / 2 - off, -math.pi / 2 + off]):
        for roll, yaw in rng.uniform(-math.pi, math.pi, (20, 2)):
            rotation = lie.rpy_to_matrix([roll, pitch, yaw])
            again = lie.rpy_to_matrix(roll_pitch_yaw(rotation))
            assert np.abs(again - rotation).max() < 8 * EPS


@both
def test_several_joints_on_a_body_with_axes_beside_its_origin(kind):
    rng = np.random.default_rng(4)
    kinds = ("prismatic", "revolute", "cylindrical", "revolute")
    joints = [
        Joint(kind, axis=tuple(rng.standard_normal(3)), anchor=tuple(rng.uniform(-1, 1, 3)))
        for kind in kinds
    ]
    model = (
        jc.ModelBuilder()
        .add_body("base", None, "free", mass=2.0, inertia=(0.1, 0.1, 0.1))
        .add_body("arm", "base", joints, lie.exp(rng.standard_normal(6)), mass=1.0, com=(1, 0, 2),
                  inertia=(0.3, 0.4, 0.5))
        .build()
    )  # fmt: skip
    assert_same(model, read(model, text_of(model, kind), kind))


@both
def test_joints_that_follow_others(kind):
    builder = jc.ModelBuilder()
    leader = {"joint": "prismatic", "mass": 1.0, "inertia": (1, 1, 1), "joint_name": "finger"}
    builder.add_body("left", **leader)
    for name, joint in (("right", "prismatic"), ("screw", "helical"), ("wheel", "revolute")):
        mimic = Mimic("finger", -0.5, 0.1)
        builder.add_body(name, None, Joint(joint, pitch=0.2, anchor=(1, 2, 3), mimic=mimic),
                         mass=1.0, inertia=(1, 1, 1))  # fmt: skip
    model = builder.build()
    text = text_of(model, kind)
    assert_same(model, read(model, text, kind))
    if kind == "urdf":
        locked = quietly(jc.load_urdf, text, mimic="locked")
        assert locked.joint_names == ("finger",)
        q = np.array([0.0, 0.1, 0.1, 0.1])
        for body in ("right", "screw", "wheel"):
            pose = jc.body_pose(locked, [0.0], body)
            assert np.allclose(pose, jc.body_pose(model, q, body), atol=8 * EPS)


@both
@pytest.mark.parametrize("driven", [True, False])
def test_which_joints_are_driven(kind, driven):
    for model in (jc.models.chain(3, "free"), jc.models.random_tree(4, 0, ("spherical",))):
        model = model.replace(actuated=np.full(model.nv, driven))
        again = read(model, text_of(model, kind), kind)
        assert again.actuated.tolist() == [driven] * model.nv


@both
def test_limits_may_be_missing_on_either_side(kind):
    model = jc.models.chain(3).replace(
        lower=[-1.0, -np.inf, -np.inf],
        upper=[np.inf, 1.0, np.inf],
        velocity_limit=[1.0, np.inf, 0.0],
        effort_limit=[np.inf, 0.0, 2.0],
    )
    assert_same(model, read(model, text_of(model, kind), kind))


@both
def test_a_robot_without_joints_and_a_body_named_like_the_world(kind):
    still = jc.ModelBuilder(name="still").add_body("table", None).build()
    again = read(still, text_of(still, kind), kind)
    assert (again.nv, again.name, list(again.frames)) == (0, "still", ["table"])
    builder = jc.ModelBuilder().add_frame("world_", None)
    builder.add_body("world", None, "free", mass=1.0, inertia=(1, 1, 1))
    model = builder.build()
    assert_same(model, read(model, text_of(model, kind), kind))


@both
def test_shapes(kind):
    from jounce.io import geometry

    placement = lie.exp([0.1, 0.2, 0.3, 1, 2, 3])
    shapes = [
        geometry.Box((0.1, 0.2, 0.3)),
        geometry.Sphere(0.1),
        geometry.Cylinder(0.1, 0.4),
        geometry.Capsule(0.1, 0.4),
    ]
    color = (0.1, 0.2, 0.3, 1.0)
    visuals = [
        geometry.Visual("tool", shape, placement, color, f"shape{k}", collision=k % 2 == 1)
        for k, shape in enumerate(shapes)
    ]
    builder = jc.ModelBuilder(jc.models.chain(2)).add_frame("tool", "body1", placement)
    model = builder.add_visuals(visuals).build()
    text = text_of(model, kind)
    assert_same(model, read(model, text, kind))
    if kind == "urdf":
        found = {visual.name: visual for visual in jc.load_urdf(text).visuals}
        assert len(found) == len(visuals)
        for old in visuals:
            new = found[old.name]
            assert (new.frame, new.shape, new.color, new.name, new.collision) == (
                old.frame, old.shape, old.color, old.name, old.collision)  # fmt: skip
            assert np.allclose(new.placement, old.placement, atol=16 * EPS)
    else:
        mujoco = pytest.importorskip("mujoco")
        geoms = mujoco.MjModel.from_xml_string(text)
        assert [geoms.geom(k).name for k in range(geoms.ngeom)] == [v.name for v in visuals]
        assert geoms.geom_contype.tolist() == [0, 1, 0, 1]


def test_a_chain_stands_for_what_urdf_does_not_know():
    """Without the extension the file is the same robot in other coordinates."""
    model = jc.models.random_tree(9, 2, ("spherical", "helical", "universal", "cylindrical"))
    with pytest.warns(jc.ModelWarning, match="a chain stands for it") as caught:
        text = text_loudly(model, "urdf")
    assert len(caught) == 1
    for joint in model.joints:
        assert f"{joint.name} ({joint.type})" in str(caught[0].message)
    plain = without_chains(text)
    rng = np.random.default_rng(1)
    q = jc.random_configuration(model, rng)
    chained = np.zeros(plain.nq)
    for joint in model.joints:
        values = q[model.q_slice(joint.name)]
        if joint.type == "spherical":
            values = roll_pitch_yaw(lie.quat_to_matrix(values))[::-1]
        names = [joint.name, f"{joint.name}_advance"]
        if joint.type == "helical":
            values = [values[0], joint.pitch * values[0]]
        else:
            names = [f"{joint.name}_{k + 1}" for k in range(len(values))]
        for name, value in zip(names, values, strict=True):
            chained[plain.q_slice(name)] = value
    for body in model.body_names:
        expected = jc.body_pose(model, q, body)
        assert np.allclose(jc.body_pose(plain, chained, body), expected, atol=64 * EPS)
    energy = jc.potential_energy(model, q)
    assert np.isclose(jc.potential_energy(plain, chained), energy, rtol=1e-13)


def text_loudly(model, kind):
    import io

    file = io.StringIO()
    jc.save(model, file, format=kind)
    return file.getvalue()


@both
def test_what_only_jounce_reads_is_named(kind):
    model = jc.models.chain(2, "free").replace(armature=0.1, gravity=(0, 0, -1.6))
    with pytest.warns(jc.ModelWarning, match="only jounce reads the armature of 'root_joint'"):
        text_loudly(model, kind)
    text_loudly(jc.models.chain(2), kind)  # nothing to say


IN_URDF = ("revolute", "continuous", "prismatic", "planar", "free")


@pytest.mark.parametrize("kinds", [IN_URDF, MOVING], ids=["in_urdf", "all"])
def test_pinocchio_reads_the_urdf_file(kinds):
    """At the root and in mid-tree, with axes anywhere; it does not see the extension."""
    pin = pytest.importorskip("pinocchio")
    from jounce.interop.pinocchio import Converter

    for seed in range(3):
        model = jc.models.random_tree(12, seed, kinds).replace(armature=0.0)
        text = text_of(model, "urdf")
        plain = without_chains(text)
        theirs = pin.buildModelFromXML(text)
        data, there = theirs.createData(), Converter(plain, theirs)
        q, v, a = states(plain)
        tau = jc.inverse_dynamics(plain, q, v, a)
        args = there.to_q(q), there.to_v(q, v), there.to_a(q, v, a)
        their_tau = [pin.rnea(theirs, data, *state).copy() for state in zip(*args, strict=True)]
        assert relative(tau, there.from_tau(args[0], np.array(their_tau))) < PROMISED
        if kinds == IN_URDF:
            assert plain.joint_names == model.joint_names
            assert relative(tau, jc.inverse_dynamics(model, q, v, a)) < PROMISED


def without_chains(text):
    """The robot as a reader sees it that does not know of the extension."""
    return quietly(jc.load_urdf, re.sub(r"<jounce body.*?</jounce>", "", text, flags=re.DOTALL))


def test_mujoco_moves_the_mjcf_file_alike():
    """mj_inverse, for every joint type: the parts of a joint move as the joint does."""
    mujoco = pytest.importorskip("mujoco")
    for seed in range(3):
        model = jc.models.random_tree(16, seed, MOVING, first="free")
        q, v, a = states(model)
        tau = jc.inverse_dynamics(model, q, v, a)
        poses = {f"state{k}": row for k, row in enumerate(q)}
        theirs = mujoco.MjModel.from_xml_string(text_of(model.replace(poses=poses), "mjcf"))
        theirs.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        data = mujoco.MjData(theirs)
        for k in range(len(q)):
            maps = [parts_of_rates(model, i, q[k], v[k]) for i in range(len(model.joints))]
            S, drift = block_diagonal([m[0] for m in maps]), np.concatenate([m[1] for m in maps])
            data.qpos, data.qvel, data.qacc = theirs.key_qpos[k], S @ v[k], S @ a[k] + drift
            mujoco.mj_inverse(theirs, data)
            for name in model.body_names:
                position = jc.body_pose(model, q[k], name)[:3, 3]
                assert np.allclose(data.body(name).xpos, position, atol=256 * EPS)
            error = np.abs(S.T @ data.qfrc_inverse - tau[k]).max()
            assert error < PROMISED * np.abs(tau[k]).max()


def parts_of_rates(model, k, q, v):
    """MuJoCo's rates of the parts of joint k are S v, their derivatives S a + drift."""
    joint, body = model.joints[k], model.bodies[k]
    v = v[model.v_slice(k)]
    if joint.type == "helical":
        return np.array([[1.0], [joint.pitch]]), np.zeros(2)
    if joint.type != "free":
        return np.eye(len(v)), np.zeros(len(v))
    R = lie.quat_to_matrix(q[model.q_slice(k)][:4])
    to_origin = np.eye(6)
    if body.parent < 0:  # a free joint of MuJoCo: the body's origin, in the world
        R = body.placement[:3, :3] @ R
        to_origin[3:, :3] = lie.hat(joint.anchor)
    w, u = np.split(to_origin @ v, 2)
    S = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]]) @ to_origin
    return S, np.concatenate([R @ np.cross(w, u), np.zeros(3)])


def block_diagonal(blocks):
    out = np.zeros(np.sum([b.shape for b in blocks], axis=0))
    row, column = 0, 0
    for b in blocks:
        out[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return out


def test_mujoco_couples_the_parts_of_a_helical_joint():
    mujoco = pytest.importorskip("mujoco")
    model = jc.models.random_tree(1, 0, ("helical",)).replace(armature=0.01)
    theirs = mujoco.MjModel.from_xml_string(text_of(model, "mjcf"))
    assert (theirs.neq, theirs.nv) == (1, 2)
    assert theirs.eq_data[0, :2].tolist() == [0.0, model.joints[0].pitch]
    names = [theirs.joint(int(k)).name for k in (theirs.eq_obj1id[0], theirs.eq_obj2id[0])]
    assert names == ["joint0_advance", "joint0"]
