"""Dynamics agree with Drake's, and the conversions commute with it."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from comparison import RELATIVE, relative_error

import jounce as jc
from jounce import lie

pytest.importorskip("pydrake", reason="Drake's wheel is not installed")

from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody import tree
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant

from jounce.interop.drake import Converter

logging.getLogger("drake").setLevel(logging.ERROR)

STATES = 10

URDF = """
<robot name="arm">
  <link name="base">{inertial}</link>
  <link name="z_first">{inertial}</link>
  <link name="a_second">{inertial}</link>
  <link name="slider">{inertial}</link>
  <link name="plane">{inertial}</link>
  <link name="tool">{inertial}</link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="z_first"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.3 -0.2 0.5"/><axis xyz="0.6 0 0.8"/></joint>
  <joint name="bend" type="revolute"><parent link="base"/><child link="a_second"/>
    <origin xyz="-0.2 0 0.1" rpy="1 0 0.2"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="slide" type="prismatic"><parent link="z_first"/><child link="slider"/>
    <origin xyz="0 0.1 0" rpy="0 0.4 0"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="plan" type="planar"><parent link="a_second"/><child link="plane"/>
    <origin xyz="0 0 0.2" rpy="0 0.4 1"/><axis xyz="{normal}"/></joint>
  <joint name="weld" type="fixed"><parent link="plane"/><child link="tool"/>
    <origin xyz="0.1 0 0" rpy="0 0 1"/></joint>
</robot>
"""
INERTIAL = (
    '<inertial><origin xyz="0.05 0.02 0.1" rpy="0.1 0.2 0.3"/><mass value="1.3"/>'
    '<inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" ixz="0.002" iyz="0"/></inertial>'
)


def urdf_setting(base, normal="0 0 1"):
    text = URDF.format(inertial=INERTIAL, normal=normal)
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "urdf")
    if base == "fixed":
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.Finalize()
    return jc.load_urdf(text, base=base), plant


def random_pose(rng):
    pose = lie.exp(rng.uniform(-1, 1, 6))
    return pose, RigidTransform(RotationMatrix(pose[:3, :3]), pose[:3, 3])


def tree_setting(seed):
    """Ball, universal, screw, revolute, prismatic joints in a random tree."""
    rng = np.random.default_rng(seed)
    plant, builder = MultibodyPlant(0.0), jc.ModelBuilder()
    kinds = ["spherical", "universal", "helical", "revolute", "prismatic", "spherical", "planar"]
    rng.shuffle(kinds)
    bodies = [plant.world_body()]
    instance = plant.AddModelInstance("robot")
    for i, kind in enumerate(kinds):
        up = int(rng.integers(0, i + 1))
        pose, at = random_pose(rng)
        mass, com = rng.uniform(0.5, 2), rng.uniform(-0.3, 0.3, 3)
        moments = rng.uniform(0.1, 0.2, 3)
        about_com = tree.UnitInertia(*(moments / mass))
        inertia = tree.SpatialInertia(mass, com, about_com.ShiftFromCenterOfMass(com))
        body = plant.AddRigidBody(f"b{i}", instance, inertia)
        axis, pitch = rng.standard_normal(3), rng.uniform(0.1, 0.5)
        axis /= np.linalg.norm(axis)
        if kind in ("planar", "universal"):
            axis = np.array([0.0, 0, 1]) if kind == "planar" else np.array([1.0, 0, 0])
        frame = plant.AddFrame(tree.FixedOffsetFrame(f"f{i}", bodies[up].body_frame(), at))
        ends = {"name": f"j{i}", "frame_on_parent": frame, "frame_on_child": body.body_frame()}
        if kind == "spherical":
            joint = tree.BallRpyJoint(**ends)
        elif kind == "universal":
            joint = tree.UniversalJoint(**ends)
        elif kind == "planar":
            joint = tree.PlanarJoint(**ends, damping=np.zeros(3))
        elif kind == "helical":
            turn = 2 * np.pi * pitch
            joint = tree.ScrewJoint(**ends, axis=axis, screw_pitch=turn, damping=0.0)
        elif kind == "revolute":
            joint = tree.RevoluteJoint(**ends, axis=axis)
        else:
            joint = tree.PrismaticJoint(**ends, axis=axis)
        plant.AddJoint(joint)
        bodies.append(body)
        builder.add_body(
            f"b{i}",
            f"b{up - 1}" if up else None,
            joint=kind,
            joint_name=f"j{i}",
            axis=axis,
            axis2=(0, 1, 0),
            pitch=pitch if kind == "helical" else 0.0,
            placement=pose,
            mass=mass,
            com=com,
            inertia=moments,
        )
    plant.Finalize()
    return builder.build(), plant


SETTINGS = {
    "fixed": lambda: urdf_setting("fixed"),
    "free": lambda: urdf_setting("free"),
    **{
        f"normal {normal}": lambda normal=normal: urdf_setting("fixed", normal)
        for normal in ("1 0 0", "0 1 0", "0 0 -1", "-3 0 0", "0 -1 0", "1 2 3", "-1 0.5 -2")
    },
    **{f"tree{seed}": lambda seed=seed: tree_setting(seed) for seed in range(4)},
}
every_model = pytest.mark.parametrize("make", SETTINGS.values(), ids=SETTINGS.keys())


def random_states(model):
    rng = np.random.default_rng(5)
    q = jc.random_configuration(model, rng, STATES)
    return q, *rng.standard_normal((2, STATES, model.nv))


@every_model
def test_dynamics(make):
    model, plant = make()
    there = Converter(model, plant)
    q, v, a = random_states(model)
    other = there.to_q(q), there.to_v(q, v), there.to_a(q, v, a)
    context = plant.CreateDefaultContext()
    M, tau, energy = [], [], []
    for dq, dv, da in zip(*other, strict=True):
        plant.SetPositions(context, dq)
        plant.SetVelocities(context, dv)
        forces = tree.MultibodyForces(plant)
        gravity = plant.CalcGravityGeneralizedForces(context)
        M.append(plant.CalcMassMatrix(context))
        tau.append(plant.CalcInverseDynamics(context, da, forces) - gravity)
        energy.append(plant.EvalKineticEnergy(context))
    assert relative_error(there.to_matrix(q, jc.mass_matrix(model, q)), M) < RELATIVE
    ours = jc.inverse_dynamics(model, q, v, a)
    assert relative_error(there.to_tau(q, ours), tau) < RELATIVE
    assert relative_error(jc.kinetic_energy(model, q, v), energy) < RELATIVE
    back = jc.forward_dynamics(model, q, v, there.from_tau(other[0], tau))
    assert relative_error(there.to_a(q, v, back), other[2]) < RELATIVE


@every_model
def test_round_trips(make):
    model, plant = make()
    there = Converter(model, plant)
    q, v, a = random_states(model)
    dq, dv, da = there.to_q(q), there.to_v(q, v), there.to_a(q, v, a)
    np.testing.assert_allclose(jc.difference(model, q, there.from_q(dq)), 0, rtol=0, atol=1e-13)
    np.testing.assert_allclose(there.from_v(dq, dv), v, rtol=0, atol=1e-13)
    np.testing.assert_allclose(there.from_a(dq, dv, da), a, rtol=0, atol=1e-12)
    M = jc.mass_matrix(model, q)
    np.testing.assert_allclose(there.from_matrix(dq, there.to_matrix(q, M)), M, rtol=0, atol=1e-12)


def test_poses_of_bodies():
    model, plant = urdf_setting("free")
    there = Converter(model, plant)
    q, _, _ = random_states(model)
    context = plant.CreateDefaultContext()
    for k, dq in enumerate(there.to_q(q)):
        plant.SetPositions(context, dq)
        for name in ("base", "slider", "plane", "tool"):
            theirs = plant.GetBodyByName(name).EvalPoseInWorld(context).GetAsMatrix4()
            np.testing.assert_allclose(jc.body_pose(model, q[k], name), theirs, rtol=0, atol=1e-12)


def test_refusals():
    model, plant = urdf_setting("free")
    fixed, _ = urdf_setting("fixed")
    with pytest.raises(jc.ModelError, match="jounce has no joint 'base'"):
        Converter(fixed, plant)
    with pytest.raises(jc.ModelError, match="finalized"):
        Converter(model, MultibodyPlant(0.0))
    builder = jc.ModelBuilder().add_body("b", joint="planar", joint_name="p", axis=(0, 1, 0))
    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b", tree.SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.AddJoint(tree.PlanarJoint("p", plant.world_frame(), body.body_frame()))
    plant.Finalize()
    with pytest.raises(jc.ModelError, match=r"joint 'p': the directions of Drake's planar joint"):
        Converter(builder.build(), plant)
