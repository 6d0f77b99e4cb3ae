"""Models straight from Drake's plants have their dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from comparison import relative_error

import jounce as jc

pytest.importorskip("pydrake", reason="Drake's wheel is not installed")

from pydrake.multibody import tree
from pydrake.multibody.plant import MultibodyPlant
from test_drake import every_model, random_pose, random_states

from jounce.interop import drake

RELATIVE = 1e-11


def check_dynamics(model, plant):
    there = drake.Converter(model, plant)
    q, v, a = random_states(model)
    context = plant.CreateDefaultContext()
    tau, M = [], []
    states = zip(there.to_q(q), there.to_v(q, v), there.to_a(q, v, a), strict=True)
    for dq, dv, da in states:
        plant.SetPositions(context, dq)
        plant.SetVelocities(context, dv)
        gravity = plant.CalcGravityGeneralizedForces(context)
        M.append(plant.CalcMassMatrix(context))
        tau.append(plant.CalcInverseDynamics(context, da, tree.MultibodyForces(plant)) - gravity)
    assert relative_error(there.to_matrix(q, jc.mass_matrix(model, q)), M) < RELATIVE
    assert relative_error(there.to_tau(q, jc.inverse_dynamics(model, q, v, a)), tau) < RELATIVE


def check_plant(model, plant):
    check_dynamics(model, plant)
    there, context = drake.Converter(model, plant), plant.CreateDefaultContext()
    q, _, _ = random_states(model)
    for k, dq in enumerate(there.to_q(q)):
        plant.SetPositions(context, dq)
        for name in model.frames:
            if plant.HasBodyNamed(name):
                theirs = plant.GetBodyByName(name).EvalPoseInWorld(context).GetAsMatrix4()
                ours = jc.body_pose(model, q[k], name)
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@every_model
def test_plants(make):
    own, plant = make()
    model = drake.model(plant)
    check_plant(model, plant)
    free = [name for name, joint in zip(own.joint_names, own.joints, strict=True)
            if joint.type == "free"]  # fmt: skip
    assert set(own.joint_names) - set(free) <= set(model.joint_names)
    assert set(own.body_names) <= set(model.frames)


@pytest.mark.parametrize("seed", range(4))
def test_joints_in_frames_of_the_child(seed):
    """Both frames of every joint are turned and moved, and rotors are geared."""
    rng = np.random.default_rng(seed)
    plant = MultibodyPlant(0.0)
    plant.mutable_gravity_field().set_gravity_vector([1.0, 2.0, -9.0])
    instance = plant.AddModelInstance("robot")
    kinds = [
        tree.BallRpyJoint, tree.UniversalJoint, tree.PlanarJoint, tree.RevoluteJoint,
        tree.PrismaticJoint, tree.ScrewJoint, tree.WeldJoint, tree.QuaternionFloatingJoint,
    ]  # fmt: skip
    rng.shuffle(kinds)
    bodies = [plant.world_body()]
    for k, kind in enumerate(kinds):
        mass, com = rng.uniform(1, 2), rng.uniform(-0.2, 0.2, 3)
        unit = tree.UnitInertia(*(rng.uniform(0.1, 0.15, 3)))
        inertia = tree.SpatialInertia(mass, com, unit.ShiftFromCenterOfMass(com))
        body = plant.AddRigidBody(f"b{k}", instance, inertia)
        up = bodies[int(rng.integers(0, len(bodies)))]
        if kind is tree.QuaternionFloatingJoint:
            up = plant.world_body()
        ends = {
            "name": f"j{k}",
            "frame_on_parent": plant.AddFrame(
                tree.FixedOffsetFrame(f"F{k}", up.body_frame(), random_pose(rng)[1])
            ),
            "frame_on_child": plant.AddFrame(
                tree.FixedOffsetFrame(f"M{k}", body.body_frame(), random_pose(rng)[1])
            ),
        }
        axis = rng.standard_normal(3)
        if kind is tree.WeldJoint:
            joint = kind(
                ends["name"], ends["frame_on_parent"], ends["frame_on_child"], random_pose(rng)[1]
            )
        elif kind is tree.PlanarJoint:
            joint = kind(**ends, damping=np.array([0.1, 0.2, 0.3]))
        elif kind is tree.ScrewJoint:
            joint = kind(**ends, axis=axis, screw_pitch=0.7, damping=0.2)
        elif kind in (tree.RevoluteJoint, tree.PrismaticJoint):
            limits = {"pos_lower_limit": -1.0, "pos_upper_limit": 2.0, "damping": 0.4}
            joint = kind(**ends, axis=axis, **limits)
        else:
            joint = kind(**ends)
        joint = plant.AddJoint(joint)
        if kind in (tree.RevoluteJoint, tree.PrismaticJoint):
            motor = plant.AddJointActuator(f"motor{k}", joint, 7.0)
            motor.set_default_rotor_inertia(0.01)
            motor.set_default_gear_ratio(5.0)
        bodies.append(body)
    plant.Finalize()
    model = drake.model(plant)
    check_plant(model, plant)
    k = kinds.index(tree.RevoluteJoint)
    joint = model.joints[model.joint_index(f"j{k}")]
    assert (joint.lower, joint.upper, joint.damping) == (-1.0, 2.0, 0.4)
    assert (joint.armature, joint.effort_limit, joint.actuated) == (0.25, 7.0, True)
    assert f"F{k}" in model.frames


def test_refusals():
    with pytest.raises(jc.ArgumentTypeError, match="plant must be a pydrake"):
        drake.model("robot.urdf")
    plant = MultibodyPlant(0.0)
    with pytest.raises(jc.ModelError, match="finalized"):
        drake.model(plant)
    body = plant.AddRigidBody("b", tree.SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    frames = plant.world_frame(), body.body_frame()
    plant.AddJoint(tree.RpyFloatingJoint("angles", *frames))
    plant.Finalize()
    with pytest.raises(jc.ModelError, match="'angles': there is no joint here like Drake's rpy_fl"):
        drake.model(plant)
