"""Models straight from Pinocchio have its dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from comparison import relative_error

import jounce as jc

STATES = 5
RELATIVE = 1e-11


def states_of(model, seed=0):
    rng = np.random.default_rng(seed)
    q = jc.random_configuration(model, rng, STATES)
    return q, *rng.standard_normal((2, STATES, model.nv))


def pin_cases():
    try:
        from real_robots import BASES
    except pytest.skip.Exception:
        return []
    return BASES


def check_pinocchio(model, theirs):
    pin = pytest.importorskip("pinocchio")
    from jounce.interop.pinocchio import Converter

    there = Converter(model, theirs)
    q, v, a = states_of(model)
    data = theirs.createData()
    states = zip(there.to_q(q), there.to_v(q, v), there.to_a(q, v, a), strict=True)
    expected = [pin.rnea(theirs, data, *x).copy() for x in states]
    ours = there.to_tau(q, jc.inverse_dynamics(model, q, v, a))
    scale = 1e-3 * max(1.0, jc.total_mass(model))
    assert relative_error(ours, expected, scale) < RELATIVE
    return there


@pytest.mark.filterwarnings("ignore::jounce.ModelWarning")
@pytest.mark.parametrize(("path", "base"), pin_cases())
def test_robots_of_pinocchio(path, base):
    """As loaded by Pinocchio; limits and frames are those that jounce reads from the file."""
    pytest.importorskip("pinocchio")
    pytest.importorskip("lxml")
    from real_robots import built_by_pinocchio, load_quietly

    from jounce.interop import pinocchio

    theirs, own = built_by_pinocchio(path, base), load_quietly(path, base=base)
    model = pinocchio.model(theirs)
    check_pinocchio(model, theirs)
    assert set(model.joint_names) == set(own.joint_names)
    assert set(model.body_names) == set(own.body_names)
    assert set(model.frames) == set(own.frames)
    np.testing.assert_allclose(model.fixed_inertia, own.fixed_inertia, rtol=1e-9, atol=1e-12)
    q, v = own.q_indices(model.joint_names), own.v_indices(model.joint_names)
    configuration = jc.random_configuration(own, 0)
    for name in own.frames:
        pose = jc.body_pose(own, configuration, name)
        got = jc.body_pose(model, configuration[q], name)
        np.testing.assert_allclose(got, pose, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(model.effort_limit, own.effort_limit[v])
    np.testing.assert_array_equal(model.damping, own.damping[v])


def every_joint_of_pinocchio(seed):
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(seed)
    pin.seed(seed)
    axis = rng.standard_normal((6, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    across = np.cross(axis[4], axis[5])
    urdf = f"""<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous">
      <parent link="a"/><child link="b"/><axis xyz="{" ".join(map(repr, axis[1].tolist()))}"/>
      </joint></robot>"""
    unbounded = pin.buildModelFromXML(urdf).joints[1].extract()
    assert unbounded.shortname() == "JointModelRevoluteUnboundedUnaligned"
    joints = [
        *(getattr(pin, f"JointModel{family}{x}")() for family in ("R", "RUB", "P") for x in "XYZ"),
        *(getattr(pin, f"JointModelH{x}")(0.3) for x in "XYZ"),
        pin.JointModelRevoluteUnaligned(axis[0]),
        unbounded,
        pin.JointModelPrismaticUnaligned(axis[2]),
        pin.JointModelHelicalUnaligned(axis[3], 0.2),
        pin.JointModelUniversal(axis[4], across / np.linalg.norm(across)),
        pin.JointModelSpherical(),
        pin.JointModelFreeFlyer(),
        pin.JointModelPlanar(),
    ]
    return pin, rng, joints


def grown(pin, rng, joints):
    """A random tree with these joints, not numbered depth first."""
    model = pin.Model()
    model.gravity.linear = rng.standard_normal(3)
    for k in rng.permutation(len(joints)).tolist():
        parent = int(rng.integers(0, model.njoints))
        joint = model.addJoint(parent, joints[k], pin.SE3.Random(), f"j{k}")
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Random())
    model.armature = rng.uniform(0, 1, model.nv)
    return model


@pytest.mark.filterwarnings("ignore::jounce.ModelWarning")
@pytest.mark.parametrize("seed", range(4))
def test_every_joint_of_pinocchio(seed):
    from jounce.interop import pinocchio

    pin, rng, joints = every_joint_of_pinocchio(seed)
    theirs = grown(pin, rng, joints)
    for k, joint in enumerate(theirs.joints):  # one number for joints whose axes turn
        if k and joint.nv > 1:
            theirs.armature[joint.idx_v : joint.idx_v + joint.nv] = 0.0
    lower = theirs.lowerPositionLimit.copy()
    theirs.damping = rng.uniform(0, 1, theirs.nv)
    at = theirs.joints[theirs.getJointId("j0")]
    lower[at.idx_q] = -0.7
    theirs.lowerPositionLimit = lower
    model = pinocchio.model(theirs)
    there = check_pinocchio(model, theirs)
    assert model.lower[model.q_slice("j0")].tolist() == [-0.7]
    assert not np.isfinite(model.upper).any()
    for name in model.joint_names:
        k = theirs.getJointId(name)
        theirs_v = theirs.joints[k].idx_v + np.arange(theirs.joints[k].nv)
        ours = np.sort(model.damping[model.v_slice(name)])
        np.testing.assert_array_equal(ours, np.sort(theirs.damping[theirs_v]))
    configuration = pin.randomConfiguration(theirs, -np.ones(theirs.nq), np.ones(theirs.nq))
    theirs.referenceConfigurations["crouch"] = configuration
    posed = pinocchio.model(theirs)
    np.testing.assert_allclose(posed.poses["crouch"], there.from_q(configuration), atol=1e-15)


@pytest.mark.filterwarnings("ignore::jounce.ModelWarning")
def test_joints_of_pinocchio_that_are_several_here():
    """Same coordinates in the same order, in a chain."""
    from jounce.interop import pinocchio

    pin, rng, _ = every_joint_of_pinocchio(0)
    composite = pin.JointModelComposite()
    composite.addJoint(pin.JointModelRY(), pin.SE3.Random())
    composite.addJoint(pin.JointModelTranslation(), pin.SE3.Random())
    composite.addJoint(pin.JointModelHZ(0.4), pin.SE3.Random())
    theirs = pin.Model()
    for k, joint in enumerate(
        (pin.JointModelTranslation(), composite, pin.JointModelSphericalZYX(), pin.JointModelRX())
    ):
        number = theirs.addJoint(k, joint, pin.SE3.Random(), f"j{k}")
        theirs.appendBodyToJoint(number, pin.Inertia.Random(), pin.SE3.Random())
    model = pinocchio.model(theirs)
    assert model.nv == theirs.nv
    q, v, a = rng.standard_normal((3, STATES, model.nv))
    data = theirs.createData()
    expected = [pin.rnea(theirs, data, *x).copy() for x in zip(q, v, a, strict=True)]
    assert relative_error(jc.inverse_dynamics(model, q, v, a), expected) < RELATIVE


def test_what_pinocchio_has_and_jounce_does_not_is_named():
    pin = pytest.importorskip("pinocchio")
    from jounce.interop import pinocchio

    theirs = pin.Model()
    theirs.addJoint(0, pin.JointModelEllipsoid(1.0, 1.0, 1.0), pin.SE3.Identity(), "odd")
    with pytest.raises(jc.ModelError, match="'odd': there is no joint here like Pinocchio's Joint"):
        pinocchio.model(theirs)
    with pytest.raises(
        jc.ArgumentTypeError, match=r"pin_model must be a pinocchio\.Model, got str"
    ):
        pinocchio.model("robot.urdf")
