"""The robots that the package ships: what they weigh, what they can do, how they stand."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce.io import geometry
from jounce.model.robots import solids

ROBOTS = {
    "arm": lambda: jc.models.panda_like(),
    "arm with fingers": lambda: jc.models.panda_like(fingers=True),
    "quadruped": jc.models.quadruped,
    "humanoid": jc.models.humanoid,
}
SIZES = {"arm": (7, 7), "arm with fingers": (9, 9), "quadruped": (19, 18), "humanoid": (37, 36)}
FEET = {
    "quadruped": [f"{e}_{s}_foot" for e in ("front", "rear") for s in ("left", "right")],
    "humanoid": ["left_sole", "right_sole"],
}


@pytest.fixture(params=ROBOTS)
def robot(request):
    return ROBOTS[request.param]()


@pytest.mark.parametrize("name", ROBOTS)
def test_they_have_the_size_that_is_documented(name):
    model = ROBOTS[name]()
    assert (model.nq, model.nv) == SIZES[name]
    assert model == ROBOTS[name]()


def test_fingers_are_there_or_not():
    with pytest.raises(jc.ArgumentTypeError, match="fingers must be True or False, got 2"):
        jc.models.panda_like(2)


def test_every_joint_has_limits_of_all_kinds(robot):
    own = robot.actuated
    assert own.sum() == robot.nv - 6 * (robot.joints[0].type == "free")
    assert np.all(np.isfinite(robot.velocity_limit[own]) & (robot.velocity_limit[own] > 0))
    assert np.all(np.isfinite(robot.effort_limit[own]) & (robot.effort_limit[own] > 0))
    for joint in robot.joints:
        if joint.type != "free":
            assert -4 < joint.lower < joint.upper < 4


def test_neutral_and_reference_pose_are_within_the_limits(robot):
    if robot.name == "quadruped":  # whose knees bend one way
        robot = robot.replace(upper=np.maximum(robot.upper, 0))
    for q in (jc.neutral(robot), *robot.poses.values()):
        assert np.all((robot.lower <= q) & (q <= robot.upper))


def test_inertias_are_those_of_bodies_that_can_be(robot):
    assert jc.inertia.is_possible(robot.inertias).all()


def by_mujoco(mujoco, shapes):
    """Ten parameters of shapes of density 1, as MuJoCo computes them."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body()
    kinds = {
        geometry.Box: lambda s: (mujoco.mjtGeom.mjGEOM_BOX, np.array(s.size) / 2),
        geometry.Sphere: lambda s: (mujoco.mjtGeom.mjGEOM_SPHERE, [s.radius, 0, 0]),
        geometry.Cylinder: lambda s: (
            mujoco.mjtGeom.mjGEOM_CYLINDER,
            [s.radius, s.length / 2, 0],
        ),
        geometry.Capsule: lambda s: (mujoco.mjtGeom.mjGEOM_CAPSULE, [s.radius, s.length / 2, 0]),
    }
    for shape, placement in shapes:
        kind, size = kinds[type(shape)](shape)
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, placement[:3, :3].ravel())
        body.add_geom(type=kind, size=size, pos=placement[:3, 3], quat=quat, density=1.0)
    data = spec.compile()
    turn = np.empty(9)
    mujoco.mju_quat2Mat(turn, data.body_iquat[1])
    turn = turn.reshape(3, 3)
    moments = turn @ np.diag(data.body_inertia[1]) @ turn.T
    return jc.inertia.from_com(data.body_mass[1], data.body_ipos[1], moments)


def test_volumes_and_moments_of_shapes_are_those_of_mujoco():
    mujoco = pytest.importorskip("mujoco")
    shapes = [
        geometry.Box((0.1, 0.2, 0.3)),
        geometry.Sphere(0.1),
        geometry.Cylinder(0.1, 0.4),
        geometry.Capsule(0.1, 0.4),
    ]
    for shape in shapes:
        volume, moments = solids.volume_and_inertia(shape)
        expected = by_mujoco(mujoco, [(shape, np.eye(4))])
        assert volume == pytest.approx(expected[0], rel=1e-12)
        assert volume * np.array(moments) == pytest.approx(expected[[4, 6, 9]], rel=1e-12)
    with pytest.raises(jc.ArgumentError, match="no volume is known"):
        solids.volume_and_inertia(geometry.Plane((1.0, 1.0)))


def test_inertias_are_those_that_mujoco_finds_for_the_shapes(robot):
    mujoco = pytest.importorskip("mujoco")
    for k, name in enumerate(robot.body_names):
        shapes = [(v.shape, v.placement) for v in robot.visuals if v.frame == name]
        merged = [f for f, frame in robot.frames.items() if frame.body == k and f != name]
        if any(v.frame in merged for v in robot.visuals):
            continue
        ten = by_mujoco(mujoco, shapes)
        ten *= robot.inertias[k, 0] / ten[0]
        np.testing.assert_allclose(robot.inertias[k], ten, rtol=1e-9, atol=1e-12)


def test_every_body_has_a_shape(robot):
    assert {visual.frame for visual in robot.visuals} >= set(robot.body_names)
    assert all(visual.color is not None for visual in robot.visuals)


@pytest.mark.parametrize("name", FEET)
def test_feet_stand_level_on_the_ground(name):
    model = ROBOTS[name]()
    q = model.poses["standing"]
    for foot in FEET[name]:
        pose = jc.body_pose(model, q, foot)
        np.testing.assert_allclose(pose[:3, :3], np.eye(3), atol=1e-15)
        assert abs(pose[2, 3]) < 1e-15
    center = jc.center_of_mass(model, q)
    x = [jc.body_pose(model, q, foot)[0, 3] for foot in FEET[name]]
    assert abs(center[1]) < 1e-15
    assert min(x) - 0.05 < center[0] < max(x) + 0.1


@pytest.mark.parametrize("name", FEET)
def test_no_shape_is_below_the_ground(name):
    model = ROBOTS[name]()
    q = model.poses["standing"]
    lowest = []
    for visual in model.visuals:
        pose = jc.body_pose(model, q, visual.frame) @ visual.placement
        lowest.append(pose[2, 3] - down(visual.shape, pose[2, :3]))
    assert min(lowest) == pytest.approx(0, abs=1e-15)


def down(shape, row):
    """How far a shape extends along a direction of the world, given in the shape's frame."""
    match shape:
        case geometry.Box(size):
            return np.abs(row) @ np.array(size) / 2
        case geometry.Sphere(radius):
            return radius
        case geometry.Capsule(radius, length):
            return radius + abs(row[2]) * length / 2
        case geometry.Cylinder(radius, length):
            return radius * np.hypot(*row[:2]) + abs(row[2]) * length / 2
    raise AssertionError(shape)


def test_the_arm_points_down_at_home():
    arm = jc.models.panda_like()
    tool = jc.body_pose(arm, arm.poses["home"], "tool")
    np.testing.assert_allclose(tool[:3, :3], np.diag([1.0, -1.0, -1.0]), atol=1e-15)
    assert tool[0, 3] > 0.3
    assert 0.2 < tool[2, 3] < 0.7


def test_motors_can_hold_the_reference_pose(robot):
    """The arm's alone; robots on legs with the ground's help, spread evenly over their feet."""
    q = next(iter(robot.poses.values()))
    feet = FEET.get(robot.name, [])
    share = np.array([0, 0, 0, 0, 0, 9.81 * jc.total_mass(robot) / max(len(feet), 1)])
    f_ext = jc.external_wrenches(robot, q, dict.fromkeys(feet, share), twist="hybrid")
    zero = np.zeros(robot.nv)
    tau = jc.inverse_dynamics(robot, q, zero, zero, f_ext)
    own = robot.actuated
    assert np.all(np.abs(tau[own]) < 0.6 * robot.effort_limit[own])


def test_they_are_symmetric(robot):
    """Left and right of legs and arms weigh the same, mirrored at the plane y = 0."""
    mirror = np.array([1, 1, -1, 1, 1, -1, 1, 1, -1, 1])
    for k, name in enumerate(robot.body_names):
        if "left" in name:
            other = robot.body_index(name.replace("left", "right"))
            if "finger" not in name:
                expected = robot.inertias[k] * mirror
                np.testing.assert_allclose(robot.inertias[other], expected, atol=1e-15)


def test_files_keep_them(robot, tmp_path):
    jc.save(robot, tmp_path / "robot.urdf")
    base = "free" if robot.joints[0].type == "free" else "fixed"
    back = jc.load(tmp_path / "robot.urdf", base=base)
    q = next(iter(robot.poses.values()))
    expected = jc.mass_matrix(robot, q)
    atol = 1e-15 * robot.nv * np.abs(expected).max()
    np.testing.assert_allclose(jc.mass_matrix(back, q), expected, rtol=0, atol=atol)
    assert len(back.visuals) == len(robot.visuals)
