"""Plants of SDF files: joints in turned and moved frames, models inside of models."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce import lie

pytest.importorskip("pydrake", reason="Drake's wheel is not installed")

from pydrake.multibody import tree
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from test_drake import random_pose
from test_drake_models import check_dynamics, check_plant

from jounce.interop import drake

TYPES = ("ball", "revolute", "continuous", "prismatic", "universal", "screw", "fixed")


def plant_of(text):
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "sdf")
    plant.Finalize()
    return plant


def numbers(values):
    return " ".join(map(repr, np.asarray(values, float).tolist()))


def link(name, rng):
    com = f"<pose>{numbers([*rng.uniform(-0.3, 0.3, 3), 0, 0, 0])}</pose>"
    moments = "".join(f"<{x}>{rng.uniform(0.1, 0.15)}</{x}>" for x in ("ixx", "iyy", "izz"))
    inertial = f"<inertial>{com}<mass>{rng.uniform(1, 2)}</mass><inertia>{moments}</inertia>"
    pose = f"<pose>{numbers(rng.uniform(-1, 1, 6))}</pose>"
    return f'<link name="{name}">{pose}{inertial}</inertial></link>'


def axes(kind, rng):
    turn = lie.rpy_to_matrix(rng.uniform(-1, 1, 3))
    given = {"ball": [], "fixed": [], "universal": ["axis", "axis2"]}.get(kind, ["axis"])
    return "".join(
        f"<{tag}><xyz>{numbers(turn[k])}</xyz><limit><lower>-2</lower><upper>2</upper></limit></{tag}>"
        for k, tag in enumerate(given)
    )


def joint(name, kind, ends, rng):
    pitch = "<screw_thread_pitch>0.7</screw_thread_pitch>" if kind == "screw" else ""
    return (
        f'<joint name="{name}" type="{kind}"><pose>{numbers(rng.uniform(-1, 1, 6))}</pose>'
        f"<parent>{ends[0]}</parent><child>{ends[1]}</child>{axes(kind, rng)}{pitch}</joint>"
    )


def chain(kinds, seed):
    """Links with random poses, and joints with random poses in the frames of their children."""
    rng = np.random.default_rng(seed)
    parts = []
    for k, kind in enumerate(kinds):
        up = "world" if k == 0 else f"b{int(rng.integers(0, k))}"
        parts += [link(f"b{k}", rng), joint(f"j{k}", kind, (up, f"b{k}"), rng)]
    return f'<sdf version="1.9"><model name="M">{"".join(parts)}</model></sdf>'


@pytest.mark.parametrize("kind", [x for x in TYPES if x != "fixed"])
@pytest.mark.parametrize("seed", range(2))
def test_each_joint_type_in_a_turned_and_moved_frame(kind, seed):
    text = chain([kind] * 3, seed)
    check_plant(jc.load_sdf(text), plant_of(text))


@pytest.mark.parametrize("seed", range(4))
def test_all_joint_types_together(seed):
    kinds = list(np.random.default_rng(seed).permutation([*TYPES, "ball"]))
    text = chain(kinds, seed)
    check_plant(jc.load_sdf(text), plant_of(text))


def test_round_trips_of_balls_in_turned_frames():
    text = chain(["ball"] * 3, 0)
    model = jc.load_sdf(text)
    there, rng = drake.Converter(model, plant_of(text)), np.random.default_rng(0)
    q = jc.random_configuration(model, rng, 10)
    v, a, tau = rng.standard_normal((3, 10, model.nv))
    dq, dv = there.to_q(q), there.to_v(q, v)
    back = there.from_q(dq)
    np.testing.assert_allclose(jc.difference(model, q, back), 0, rtol=0, atol=1e-14)
    np.testing.assert_allclose(there.from_v(dq, dv), v, rtol=0, atol=1e-13)
    np.testing.assert_allclose(there.from_a(dq, dv, there.to_a(q, v, a)), a, rtol=0, atol=1e-13)
    np.testing.assert_allclose(there.from_tau(dq, there.to_tau(q, tau)), tau, rtol=0, atol=1e-13)
    M = jc.mass_matrix(model, q)
    np.testing.assert_allclose(there.from_matrix(dq, there.to_matrix(q, M)), M, rtol=0, atol=1e-12)


def nested(depth, rng):
    """Models inside of models; links and joints have the same names in all of them."""
    inner = ""
    if depth:
        inner = "".join(
            nested(depth - 1, rng).replace("<model name='?'>", f"<model name='N{k}'>", 1)
            for k in range(2)
        )
    ends, kinds = ("world", "a"), rng.permutation(["revolute", "ball", "prismatic"])
    bodies = link("a", rng) + link("b", rng)
    joints = joint("J", kinds[0], ends, rng) + joint("K", kinds[1], ("a", "b"), rng)
    if depth:
        joints = joint("J", kinds[0], ends, rng) + joint("K", kinds[1], ("N1::b", "b"), rng)
    return f"<model name='?'>{bodies}{joints}{inner}</model>"


def nested_file(depth, name, seed=0):
    model = nested(depth, np.random.default_rng(seed)).replace("'?'", f"'{name}'", 1)
    return f'<sdf version="1.9">{model}</sdf>'


def check_scoped_poses(model, plant, label):
    """Poses of all bodies, which `check_plant` does not find where names are in scopes."""
    there, q = drake.Converter(model, plant), jc.random_configuration(model, 1)
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, there.to_q(q))
    for k in range(1, plant.num_bodies()):
        body = plant.get_body(tree.BodyIndex(k))
        instance = plant.GetModelInstanceName(body.model_instance())
        theirs = body.EvalPoseInWorld(context).GetAsMatrix4()
        ours = jc.body_pose(model, q, label(instance, str(body.name())))
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


def without_outermost(instance, name):
    return "::".join([*instance.split("::")[1:], name])


@pytest.mark.parametrize("name", ["M", "N0"])
@pytest.mark.parametrize("depth", [1, 2])
def test_nested_models_with_equal_names_inside(depth, name):
    """A model may be called like the one inside of it."""
    text = nested_file(depth, name)
    model, plant = jc.load_sdf(text), plant_of(text)
    assert "N0::J" in model.joint_names
    check_dynamics(model, plant)
    check_scoped_poses(model, plant, without_outermost)
    same = drake.model(plant)
    assert set(same.joint_names) == set(model.joint_names)
    assert set(model.body_names) <= set(same.frames)
    assert same.name == name
    check_dynamics(same, plant)
    check_scoped_poses(same, plant, without_outermost)


@pytest.mark.parametrize("outside", [True, False], ids=["outside", "inside"])
def test_a_joint_between_models_is_one_wherever_it_is_declared(outside):
    """An arm with a gripper, which the arm's model joins to it, or one around both."""
    rng = np.random.default_rng(0)
    gripper = link("a", rng) + link("b", rng) + joint("J", "revolute", ("a", "b"), rng)
    between = joint("L", "ball", ("tip", "N::a") if outside else ("M::tip", "M::N::a"), rng)
    arm = link("tip", rng) + joint("K", "prismatic", ("world", "tip"), rng)
    inside = f"{arm}<model name='N'>{gripper}</model>{between if outside else ''}"
    text = f"<model name='M'>{inside}</model>{'' if outside else between}"
    text = text if outside else f"<model name='O'>{text}</model>"
    text = f'<sdf version="1.9">{text}</sdf>'
    model, plant = jc.load_sdf(text), plant_of(text)
    assert set(model.joint_names) == ({"L", "K", "N::J"} if outside else {"L", "M::K", "M::N::J"})
    check_dynamics(model, plant)
    check_scoped_poses(model, plant, without_outermost)


def test_worlds_of_several_models():
    inner = [nested_file(1, name, seed)[len('<sdf version="1.9">') : -len("</sdf>")]
             for seed, name in enumerate(["M", "N0"])]  # fmt: skip
    text = f'<sdf version="1.9"><world name="w">{"".join(inner)}</world></sdf>'
    model, plant = jc.load_sdf(text), plant_of(text)
    assert {"N0::J", "N0::N0::J", "M::N0::J"} <= set(model.joint_names)
    check_dynamics(model, plant)
    check_scoped_poses(model, plant, "{}::{}".format)
    same = drake.model(plant)
    assert set(same.joint_names) == set(model.joint_names)
    check_dynamics(same, plant)


def test_one_model_twice_in_a_plant():
    """Its joints are told apart by the names of the two."""
    text, plant = chain(["ball", "revolute"], 0), MultibodyPlant(0.0)
    for name in ("left", "right"):
        parser = Parser(plant)
        parser.SetAutoRenaming(True)
        parser.AddModelsFromString(text.replace('name="M"', f'name="{name}"'), "sdf")
    plant.Finalize()
    model = drake.model(plant)
    assert set(model.joint_names) == {"left::j0", "left::j1", "right::j0", "right::j1"}
    check_dynamics(model, plant)
    check_scoped_poses(model, plant, "{}::{}".format)


def test_names_without_models_will_do_where_they_are_unique():
    text = chain(["ball", "revolute"], 0)
    inner = text[len('<sdf version="1.9">') : -len("</sdf>")]
    outer = f'<sdf version="1.9"><model name="outer">{inner}</model></sdf>'
    check_dynamics(jc.load_sdf(text), plant_of(outer))
    check_dynamics(jc.load_sdf(outer), plant_of(outer))


def test_a_joint_that_moves_its_body_elsewhere_is_refused():
    """The files differ in one number, which is no name."""
    for kind in ("ball", "revolute", "prismatic", "universal", "screw"):
        text = chain([kind], 0)
        pose = text.split('type="')[1].split("<pose>")[1].split("</pose>")[0]
        other = text.replace(pose, numbers([0.3, 0.2, 0.1, 0.5, 0.4, 0.3]))
        assert other != text
        with pytest.raises(jc.ModelError, match="'j0' moves 'b0' otherwise in Drake"):
            drake.Converter(jc.load_sdf(text), plant_of(other))


def test_a_floating_joint_in_a_turned_frame_is_refused():
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", tree.SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    pose = random_pose(np.random.default_rng(0))[1]
    on_child = plant.AddFrame(tree.FixedOffsetFrame("M", body.body_frame(), pose))
    plant.AddJoint(tree.QuaternionFloatingJoint("j", plant.world_frame(), on_child))
    plant.Finalize()
    model = jc.ModelBuilder().add_body("b", joint="free", mass=1.0, inertia=(1, 1, 1)).build()
    with pytest.raises(jc.ModelError, match="frame of Drake's floating joint on the child"):
        drake.Converter(model, plant)
    check_plant(drake.model(plant), plant)
