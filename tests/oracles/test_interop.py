"""Converting to another library, computing there and converting back commutes with jounce."""

from __future__ import annotations

import re
import subprocess
import sys

import mjcf_models
import numpy as np
import pytest
from comparison import RELATIVE, relative_error

import jounce as jc
from jounce import lie
from jounce.interop import pinocchio as to_pinocchio

STATES = 10
TYPES = ("revolute", "prismatic", "helical", "universal", "spherical", "free", "planar")


def pinocchio_joint(pin, kind, axis, axis2, pitch):
    return {
        "revolute": lambda: pin.JointModelRevoluteUnaligned(axis),
        "continuous": lambda: pin.JointModelRUBY(),
        "prismatic": lambda: pin.JointModelPrismaticUnaligned(axis),
        "helical": lambda: pin.JointModelHelicalUnaligned(axis, pitch),
        "universal": lambda: pin.JointModelUniversal(axis, axis2),
        "spherical": lambda: pin.JointModelSpherical(),
        "free": lambda: pin.JointModelFreeFlyer(),
        "planar": lambda: pin.JointModelPlanar(),
    }[kind]()


def pinocchio_setting(seed):
    """A random tree built in both libraries; in Pinocchio's the last child comes first.

    Pinocchio's joints must be added depth first, or its mass matrix is wrong.
    """
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(seed)
    kinds = [*TYPES, "continuous", *rng.choice(TYPES, 6)]
    rng.shuffle(kinds)
    builder, theirs = jc.ModelBuilder(), pin.Model()
    children, joints = {-1: []}, []
    for i, kind in enumerate(kinds):
        axis, axis2 = np.linalg.qr(rng.standard_normal((3, 3)))[0][:2]
        axis = {"planar": np.eye(3)[2], "continuous": np.eye(3)[1]}.get(kind, axis)
        pitch = rng.uniform(0.1, 0.5) if kind == "helical" else 0.0
        pose, up = lie.exp(rng.uniform(-1, 1, 6)), int(rng.integers(-1, i))
        mass, com = rng.uniform(0.5, 2), rng.uniform(-0.3, 0.3, 3)
        moments = rng.uniform(0.1, 0.2, 3)
        children[i] = []
        children[up].append(i)
        builder.add_body(
            f"b{i}",
            f"b{up}" if up >= 0 else None,
            joint=kind,
            joint_name=f"j{i}",
            axis=axis,
            axis2=axis2,
            pitch=pitch,
            placement=pose,
            mass=mass,
            com=com,
            inertia=moments,
        )
        inertia = pin.Inertia(mass, com, np.diag(moments))
        at = pin.SE3(pose[:3, :3], pose[:3, 3])
        joints.append((pinocchio_joint(pin, kind, axis, axis2, pitch), at, inertia))
    stack = [(i, 0) for i in children[-1]]
    while stack:
        i, parent = stack.pop()
        joint, at, inertia = joints[i]
        index = theirs.addJoint(parent, joint, at, f"j{i}")
        theirs.appendBodyToJoint(index, inertia, pin.SE3.Identity())
        stack.extend((child, index) for child in children[i])
    model = builder.build()
    assert list(theirs.names)[1:] != list(model.joint_names)
    return pin, model, theirs, to_pinocchio.Converter(model, theirs)


def random_states(model, seed):
    rng = np.random.default_rng(seed)
    q = jc.random_configuration(model, rng, STATES)
    v, a, tau = rng.standard_normal((3, STATES, model.nv))
    return q, v, a, tau


@pytest.mark.parametrize("seed", range(8))
def test_pinocchio_with_every_joint_type_anywhere_in_the_tree(seed):
    """Joints in depth-first order here, as added there; spherical and free away from the root."""
    pin, model, theirs, there = pinocchio_setting(seed)
    data = theirs.createData()
    q, v, a, _ = random_states(model, seed)
    pq, pv, pa = there.to_q(q), there.to_v(q, v), there.to_a(q, v, a)
    states = list(zip(pq, pv, pa, strict=True))
    rnea = np.array([pin.rnea(theirs, data, *x).copy() for x in states])
    tau = jc.inverse_dynamics(model, q, v, a)
    assert relative_error(there.to_tau(q, tau), rnea) < RELATIVE
    assert relative_error(there.from_tau(pq, rnea), tau) < RELATIVE
    states = list(zip(pq, pv, there.to_tau(q, tau), strict=True))
    aba = np.array([pin.aba(theirs, data, *x).copy() for x in states])
    assert relative_error(there.from_a(pq, pv, aba), a) < RELATIVE
    crba = np.array([pin.crba(theirs, data, x, pin.Convention.WORLD).copy() for x in pq])
    crba = np.triu(crba) + np.triu(crba, 1).swapaxes(-1, -2)
    M, W = jc.mass_matrix(model, q), jc.inverse_mass_matrix(model, q)
    assert relative_error(there.to_matrix(q, M), crba) < RELATIVE
    assert relative_error(there.from_matrix(pq, crba), M) < RELATIVE
    assert relative_error(there.to_matrix(q, W) @ crba, [np.eye(model.nv)] * STATES) < RELATIVE
    moved = np.array([pin.integrate(theirs, x, 0.1 * y) for x, y in zip(pq, pv, strict=True)])
    planar = np.repeat(
        [joint.type == "planar" for joint in model.joints],
        [model.v_slice(k).stop - model.v_slice(k).start for k in range(len(model.joints))],
    )
    here = jc.difference(model, q, there.from_q(moved))
    full_turn = np.round((here - 0.1 * v) / (2 * np.pi)) * 2 * np.pi
    np.testing.assert_allclose(
        (here - full_turn)[:, ~planar], 0.1 * v[:, ~planar], rtol=0, atol=1e-12
    )


def mujoco_setting(text):
    mujoco = pytest.importorskip("mujoco")
    from jounce.interop import mujoco as to_mujoco
    from jounce.io.mjcf import load_mjcf

    model = load_mjcf(text)
    return model, to_mujoco.Converter(model, mujoco.MjModel.from_xml_string(text))


CONVERTERS = {
    "pinocchio": lambda: pinocchio_setting(3)[1::2],
    "tree": lambda: mujoco_setting(mjcf_models.TREE),
    "forest": lambda: mujoco_setting(mjcf_models.FOREST),
}
every_converter = pytest.mark.parametrize("make", CONVERTERS.values(), ids=CONVERTERS.keys())


@every_converter
def test_round_trips(make):
    model, there = make()
    q, v, a, tau = random_states(model, 0)
    other = there.to_q(q), there.to_v(q, v)
    np.testing.assert_allclose(
        jc.difference(model, q, there.from_q(other[0])), 0, rtol=0, atol=1e-14
    )
    np.testing.assert_allclose(there.from_v(*other), v, rtol=0, atol=1e-14)
    np.testing.assert_allclose(there.from_a(*other, there.to_a(q, v, a)), a, rtol=0, atol=1e-13)
    np.testing.assert_allclose(
        there.from_tau(other[0], there.to_tau(q, tau)), tau, rtol=0, atol=1e-14
    )
    M = jc.mass_matrix(model, q)
    np.testing.assert_allclose(
        there.from_matrix(other[0], there.to_matrix(q, M)), M, rtol=0, atol=1e-12
    )


@every_converter
def test_power_and_energy_do_not_depend_on_the_convention(make):
    model, there = make()
    q, v, _, tau = random_states(model, 1)
    power = np.einsum("...i,...i", there.to_tau(q, tau), there.to_v(q, v))
    np.testing.assert_allclose(power, np.einsum("...i,...i", tau, v), rtol=1e-12)
    w, M = there.to_v(q, v), there.to_matrix(q, jc.mass_matrix(model, q))
    energy = np.einsum("...i,...ij,...j", w, M, w) / 2
    np.testing.assert_allclose(energy, jc.kinetic_energy(model, q, v), rtol=1e-12)


@every_converter
def test_accelerations_are_derivatives_of_the_converted_rates(make):
    """By a central difference along a motion with constant a, fourth order."""
    model, there = make()
    q, v, a, _ = random_states(model, 2)

    def rates(t):
        x = jc.integrate(model, q, v * t + a * t**2 / 2)  # correct up to the third order in t
        return there.to_v(x, v + a * t)

    h = 1e-3
    slope = (8 * (rates(h) - rates(-h)) - (rates(2 * h) - rates(-2 * h))) / (12 * h)
    np.testing.assert_allclose(there.to_a(q, v, a), slope, rtol=0, atol=1e-8)


def alike(some, one):
    """To rounding: states of a batch are computed in packs."""
    np.testing.assert_allclose(some, one, rtol=0, atol=16 * np.finfo(float).eps * np.abs(one).max())


@every_converter
def test_batches_broadcast(make):
    model, there = make()
    q, v, a, tau = random_states(model, 3)
    assert there.to_q(q.reshape(2, 5, -1)).shape[:-1] == (2, 5)
    alike(there.to_v(q[0], v)[4], there.to_v(q[0], v[4]))
    pairs = there.to_a(q[:, None], v[0], a)
    alike(pairs[3, 4], there.to_a(q[3], v[0], a[4]))
    M = np.eye(model.nv)
    alike(there.to_matrix(q, M)[2], there.to_matrix(q[2], M))
    assert there.to_tau(q[:0], tau[:0]).shape == (0, model.nv)


@every_converter
def test_wrong_shapes_are_refused(make):
    model, there = make()
    q, v, _, _ = random_states(model, 4)
    with pytest.raises(ValueError, match=rf"q must have shape \(\.\.\., {model.nq}\)"):
        there.to_q(q[..., :-1])
    with pytest.raises(ValueError, match="v must have shape"):
        there.to_v(q, v[..., 1:])
    with pytest.raises(ValueError, match="matrix must be square"):
        there.to_matrix(q, v)
    with pytest.raises(
        ValueError, match=r"leading axes must broadcast: q has \(10,\), v has \(3,\)"
    ):
        there.to_v(q, v[:3])
    with pytest.raises(ValueError, match=r"q has \(10,\), matrix has \(2,\)"):
        there.from_matrix(there.to_q(q), np.zeros((2, model.nv, model.nv)))
    with pytest.raises(ValueError, match=r"q of \w+ must be numbers, got 'here'"):
        there.from_q("here")
    assert re.match(r"Converter of '.*' between jounce \(nq, nv = \d+, \d+\) and \w+ ", repr(there))


@every_converter
def test_numbers_that_are_not_finite_are_refused(make):
    model, there = make()
    q, v, a, tau = random_states(model, 5)
    other = there.to_q(q)
    for bad in (np.nan, np.inf):
        x, y, w = q.copy(), other.copy(), v.copy()
        x[3, 0] = y[3, 0] = w[2, 1] = bad
        with pytest.raises(ValueError, match=rf"^q must be finite, got {bad} at q\[3, 0\]"):
            there.to_q(x)
        with pytest.raises(ValueError, match=r"^q of \w+ must be finite"):
            there.from_tau(y, tau)
        with pytest.raises(ValueError, match=r"^v must be finite"):
            there.to_a(q, w, a)
        with pytest.raises(ValueError, match=r"^tau of \w+ must be finite"):
            there.from_tau(other, w)


MUJOCO_FREE = "position (x, y, z), quaternion (w, x, y, z)"
PINOCCHIO_FREE = "position (x, y, z), quaternion (x, y, z, w)"
DRAKE_FREE = "quaternion (w, x, y, z), position (x, y, z)"
OWN_FREE = "quaternion (x, y, z, w), position (x, y, z)"
FLOATING = """
<mujoco><worldbody>
  <body name="b"><freejoint name="j"/><geom size="0.1"/></body>
</worldbody></mujoco>
"""


def floating_pinocchio():
    pin = pytest.importorskip("pinocchio")
    theirs = pin.Model()
    theirs.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "j")
    model = jc.ModelBuilder().add_body("b", joint="free", joint_name="j", mass=1.0).build()
    return model, to_pinocchio.Converter(model, theirs)


FLOATING_CONVERTERS = {
    "MuJoCo": (lambda: mujoco_setting(FLOATING), MUJOCO_FREE),
    "Pinocchio": (floating_pinocchio, PINOCCHIO_FREE),
}


@pytest.mark.parametrize("library", FLOATING_CONVERTERS)
def test_a_q_of_the_wrong_side_is_refused_and_the_layout_named(library):
    make, words = FLOATING_CONVERTERS[library]
    model, there = make()
    q, v, a, tau = random_states(model, 6)
    q[:, 4:] += 1.0
    other, M = there.to_q(q), np.eye(6)
    assert other.shape == q.shape
    for call in (
        lambda: there.from_q(q),
        lambda: there.from_v(q, v),
        lambda: there.from_a(q, v, a),
        lambda: there.from_tau(q, tau),
        lambda: there.from_matrix(q, M),
    ):
        with pytest.raises(ValueError, match=re.escape(f"q must be {library}'s: {words}; for")):
            call()
    for call in (
        lambda: there.to_q(other),
        lambda: there.to_v(other, v),
        lambda: there.to_a(other, v, a),
        lambda: there.to_tau(other, tau),
        lambda: there.to_matrix(other, M),
    ):
        with pytest.raises(ValueError, match=re.escape(f"q must be jounce's: {OWN_FREE}; for")):
            call()
    with pytest.raises(ValueError, match=r"joint 'j', q\[\.\.\., 3:7\] has the norm 1\.002 "):
        there.from_q(there.to_q(jc.neutral(model)) * 1.002)


def test_drake_names_its_layout_too():
    plants = pytest.importorskip("pydrake.multibody.plant")
    from pydrake.multibody.tree import SpatialInertia

    from jounce.interop import drake as to_drake

    plant = plants.MultibodyPlant(0.0)
    plant.AddRigidBody("b", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.Finalize()
    model = jc.ModelBuilder().add_body("b", joint="free", joint_name="j", mass=1.0).build()
    there = to_drake.Converter(model, plant)
    with pytest.raises(ValueError, match=re.escape(f"q must be Drake's: {DRAKE_FREE}; for")):
        there.from_q(1.01 * there.to_q(jc.neutral(model)))


@every_converter
def test_quaternions_near_one_are_normalized_and_units_stay_the_same(make):
    model, there = make()
    q, v, _, _ = random_states(model, 7)
    near = q.copy()
    balls = [model.q_slice(j.name) for j in model.joints if j.type in ("spherical", "free")]
    for part in balls:
        near[..., part.start : part.start + 4] *= 1 - 9e-4
    before = near.copy()
    np.testing.assert_allclose(there.to_q(near), there.to_q(q), rtol=0, atol=1e-15)
    np.testing.assert_allclose(there.to_v(near, v), there.to_v(q, v), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(near, before)
    other = there.to_q(q)
    for joint in (j for j in model.joints if j.type in ("spherical", "free")):
        here = model.q_slice(joint.name)
        np.testing.assert_array_equal(there.from_q(other)[..., here], q[..., here])
        near[..., here.start : here.start + 4] = 2.0
        with pytest.raises(ValueError, match=f"for joint '{joint.name}'"):
            there.to_tau(near, v)
        near[..., here] = q[..., here]


def test_pinocchio_cosine_and_sine_have_norm_one():
    pin = pytest.importorskip("pinocchio")
    theirs = pin.Model()
    first = theirs.addJoint(0, pin.JointModelRUBZ(), pin.SE3.Identity(), "turn")
    theirs.addJoint(first, pin.JointModelPlanar(), pin.SE3.Identity(), "slide")
    builder = jc.ModelBuilder().add_body("a", joint="continuous", axis=(0, 0, 1), joint_name="turn")
    builder.add_body("b", "a", joint="planar", axis=(0, 0, 1), joint_name="slide")
    there = to_pinocchio.Converter(builder.build(), theirs)
    np.testing.assert_allclose(there.from_q([0, 1.0005, 3, 4, -1, 0]), [np.pi / 2, 3, 4, np.pi])
    with pytest.raises(ValueError, match="q must be Pinocchio's: cosine, sine; for joint 'turn'"):
        there.from_q([0, 0, 3, 4, -1, 0])
    with pytest.raises(ValueError, match=r"position \(x, y\), cosine, sine; for joint 'slide'"):
        there.from_q([0, 1, 3, 4, 1, 1])


def test_joints_that_do_not_match_are_named():
    pin, _, theirs, _ = pinocchio_setting(0)
    smaller = jc.models.chain(3)
    with pytest.raises(jc.ModelError, match=r"Pinocchio has no joint 'joint0'.*jounce has no"):
        to_pinocchio.Converter(smaller, theirs)
    other = pin.Model()
    other.addJoint(0, pin.JointModelPZ(), pin.SE3.Identity(), "joint0")
    with pytest.raises(jc.ModelError, match="between 'revolute' and Pinocchio's JointModelPZ"):
        to_pinocchio.Converter(jc.models.chain(1), other)
    plane = jc.ModelBuilder().add_body("b", joint="planar", axis=(1, 0, 0), joint_name="p").build()
    other = pin.Model()
    other.addJoint(0, pin.JointModelPlanar(), pin.SE3.Identity(), "p")
    with pytest.raises(jc.ModelError, match="normal z"):
        to_pinocchio.Converter(plane, other)
    anchored = jc.ModelBuilder().add_body("b", joint="free", anchor=(1, 0, 0)).build()
    with pytest.raises(jc.ModelError, match="anchor"):
        to_pinocchio.Converter(anchored, pin.Model())


def test_what_is_no_model_is_refused_by_its_type():
    from jounce.interop import drake, mujoco

    model = jc.models.chain(2)
    for module, kind in (
        (to_pinocchio, r"pinocchio\.Model"),
        (mujoco, r"mujoco\.MjModel"),
        (drake, r"pydrake\.multibody\.plant\.MultibodyPlant"),
    ):
        for other in (None, "robot.urdf", model):
            with pytest.raises(TypeError, match=f"expected a {kind} as second argument, got"):
                module.Converter(model, other)
        with pytest.raises(TypeError, match=r"model must be a jounce\.Model, got"):
            module.Converter(None, model)


def test_the_joint_of_a_floating_base_matches_whatever_its_name():
    pin = pytest.importorskip("pinocchio")
    model = jc.models.chain(2, "free")
    theirs = pin.Model()
    base = theirs.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "floating")
    theirs.addJoint(base, pin.JointModelRX(), pin.SE3.Identity(), "joint1")
    assert to_pinocchio.Converter(model, theirs).to_q(jc.neutral(model)).shape == (8,)


def test_the_modules_are_imported_when_they_are_first_used():
    code = (
        "import sys, jounce as jc; assert 'jounce.interop' not in sys.modules;"
        "assert {'pinocchio', 'mujoco', 'drake'} <= set(dir(jc.interop));"
        "assert not {'pinocchio', 'jounce.interop.pinocchio'} & set(sys.modules);"
        "names = jc.interop.pinocchio, jc.interop.mujoco, jc.interop.drake;"
        "print(*(module.Converter.__module__ for module in names))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"jounce.interop.{x}" for x in ("pinocchio", "mujoco", "drake")]
    with pytest.raises(AttributeError, match=r"'jounce\.interop' has no attribute 'bullet'"):
        jc.interop.bullet  # noqa: B018
