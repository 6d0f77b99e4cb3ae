"""Converting to another library, computing there and converting back commutes with jounce."""

from __future__ import annotations

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
    np.testing.assert_allclose((here - full_turn)[:, ~planar], 0.1 * v[:, ~planar], atol=1e-12)


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
    np.testing.assert_allclose(jc.difference(model, q, there.from_q(other[0])), 0, atol=1e-14)
    np.testing.assert_allclose(there.from_v(*other), v, atol=1e-14)
    np.testing.assert_allclose(there.from_a(*other, there.to_a(q, v, a)), a, atol=1e-13)
    np.testing.assert_allclose(there.from_tau(other[0], there.to_tau(q, tau)), tau, atol=1e-14)
    M = jc.mass_matrix(model, q)
    np.testing.assert_allclose(there.from_matrix(other[0], there.to_matrix(q, M)), M, atol=1e-12)


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
    np.testing.assert_allclose(there.to_a(q, v, a), slope, atol=1e-8)


@every_converter
def test_batches_broadcast(make):
    model, there = make()
    q, v, a, tau = random_states(model, 3)
    assert there.to_q(q.reshape(2, 5, -1)).shape[:-1] == (2, 5)
    np.testing.assert_array_equal(there.to_v(q[0], v)[4], there.to_v(q[0], v[4]))
    pairs = there.to_a(q[:, None], v[0], a)
    np.testing.assert_array_equal(pairs[3, 4], there.to_a(q[3], v[0], a[4]))
    M = np.eye(model.nv)
    np.testing.assert_array_equal(there.to_matrix(q, M)[2], there.to_matrix(q[2], M))
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


def test_the_joint_of_a_floating_base_matches_whatever_its_name():
    pin = pytest.importorskip("pinocchio")
    model = jc.models.chain(2, "free")
    theirs = pin.Model()
    base = theirs.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "floating")
    theirs.addJoint(base, pin.JointModelRX(), pin.SE3.Identity(), "joint1")
    assert to_pinocchio.Converter(model, theirs).to_q(jc.neutral(model)).shape == (8,)


def test_importing_the_package_imports_no_other_library():
    code = (
        "import sys, jounce, jounce.interop.pinocchio, jounce.interop.mujoco, jounce.interop.drake;"
        "print([m for m in ('pinocchio', 'mujoco', 'pydrake', 'lxml') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
