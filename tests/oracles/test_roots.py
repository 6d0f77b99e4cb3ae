"""Roots that are neither fixed nor free: any joint between the world and the root."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from comparison import relative_error

import jounce as jc
from jounce import lie

ARM = Path(__file__).parent.parent / "io" / "models" / "arm.urdf"
STATES = 10

PIN_ROOTS = {
    "planar": "JointModelPlanar",
    "spherical": "JointModelSpherical",
    "free": "JointModelFreeFlyer",
    "revolute": "JointModelRZ",
    "continuous": "JointModelRUBZ",
    "prismatic": "JointModelPZ",
}


@pytest.mark.parametrize("base", PIN_ROOTS)
def test_roots_of_urdf_agree_with_pinocchio(base):
    pin = pytest.importorskip("pinocchio")
    pytest.importorskip("lxml")
    from jounce.interop.pinocchio import Converter

    model = jc.load(ARM, base=base)
    assert model.joint_names[0] == "root_joint"
    assert model.joints[0].type == base
    theirs = pin.buildModelFromUrdf(str(ARM), getattr(pin, PIN_ROOTS[base])())
    there = Converter(model, theirs)
    rng = np.random.default_rng(0)
    q = jc.random_configuration(model, rng, STATES)
    v, a = rng.standard_normal((2, STATES, model.nv))
    data = theirs.createData()
    states = zip(there.to_q(q), there.to_v(q, v), there.to_a(q, v, a), strict=True)
    expected = [pin.rnea(theirs, data, *x).copy() for x in states]
    ours = there.to_tau(q, jc.inverse_dynamics(model, q, v, a))
    assert relative_error(ours, expected) < 1e-11


MJCF = """
<mujoco>
  <worldbody>
    <body name="cart" pos="0.1 0.2 0.3" euler="20 30 40">
      {joints}
      <geom type="box" size="0.3 0.2 0.1" pos="0.05 0 0"/>
      <body name="arm" pos="0 0 0.2"><joint name="j" axis="0 1 0"/>
        <geom type="capsule" size="0.05" fromto="0 0 0 0.4 0 0"/></body>
    </body>
  </worldbody>
</mujoco>
"""
PLANAR = """<joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
  <joint name="z" axis="0 0 1"/>"""


def test_a_planar_root_of_mjcf_is_two_slides_and_a_hinge():
    pytest.importorskip("mujoco")
    model = jc.load_mjcf(MJCF.format(joints=""), base="planar")
    chain = jc.load_mjcf(MJCF.format(joints=PLANAR))
    assert model.joint_names == ("root_joint", "j")
    rng = np.random.default_rng(0)
    q, v, a = rng.standard_normal((3, STATES, 4))
    ours, theirs = (jc.inverse_dynamics(m, q, v, a) for m in (model, chain))
    assert relative_error(ours, theirs) < 1e-12
    np.testing.assert_allclose(jc.body_pose(model, q, "cart"), jc.body_pose(chain, q, "cart"))


def test_a_root_may_be_a_joint_of_its_own():
    pytest.importorskip("lxml")
    slope = jc.Joint("planar", axis=(0, 1, 1), damping=0.1)
    model = jc.load_urdf(ARM, base=slope)
    assert model.joints[0].damping == 0.1
    assert model.joint_names[0] == "root_joint"
    named = jc.load_urdf(ARM, base=jc.Joint("prismatic", "rail", axis=(1, 0, 0)))
    assert named.joint_names[0] == "rail"
    root = named.body_names[0]
    q = jc.neutral(named)
    q[0] = 0.7
    expected = jc.body_pose(named, jc.neutral(named), root) @ lie.exp(np.eye(6)[3] * 0.7)
    np.testing.assert_allclose(jc.body_pose(named, q, root), expected)
    assert jc.load_urdf(ARM, base=jc.Joint("fixed")) == jc.load_urdf(ARM)
    cart = jc.models.chain(3, "planar")
    assert cart.nv == 5


WRONG = ["floating", "Planar", None, 3, jc.Joint("hinge"), jc.Joint("planar", axis=(0, 0, 0))]


@pytest.mark.parametrize("base", WRONG, ids=str)
def test_what_is_no_root_is_refused(base):
    pytest.importorskip("lxml")
    with pytest.raises(jc.Error, match=r"base must be one of|unknown type|axis must not be zero"):
        jc.load_urdf(ARM, base=base)
    with pytest.raises(jc.Error, match=r"base must be one of|unknown type|axis must not be zero"):
        jc.load_mjcf(MJCF, base=base)


def test_hints_and_doubles():
    pytest.importorskip("lxml")
    pytest.importorskip("mujoco")
    with pytest.raises(jc.ArgumentError, match="got 'floating'; did you mean 'free'"):
        jc.models.chain(3, "floating")
    joint = PLANAR.replace('name="z"', 'name="root_joint"')
    with pytest.raises(jc.ModelError, match='base="planar" needs one root body that is fixed'):
        jc.load_mjcf(MJCF.format(joints=joint), base="planar")
    text = ARM.read_text("utf-8")
    name = jc.load_urdf(ARM).joint_names[0]
    with pytest.raises(jc.ModelError, match=f'base="planar" adds a joint named {name!r} as well'):
        jc.load_urdf(text, base=jc.Joint("planar", name))
