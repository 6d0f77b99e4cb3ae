"""Springs and damping of joints are those of MuJoCo's qfrc_passive."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce.interop.mujoco import Converter

mujoco = pytest.importorskip("mujoco")

EPS = np.finfo(float).eps

SPRINGS = """
<mujoco>
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body name="base" pos="0.3 -0.2 1" euler="20 30 40">
      <joint name="root" type="free" stiffness="7" damping="0.6"/>
      <geom type="box" size=".1 .2 .3"/>
      <body name="arm" pos="0 0.3 0.1">
        <joint name="hinge" type="hinge" axis="1 2 0.5" stiffness="3" springref="25" damping="0.2"/>
        <geom type="capsule" size=".05 .2"/>
        <body name="slider" pos="0 0 0.4">
          <joint name="slide" type="slide" axis="0 1 1" stiffness="11" springref="0.1" ref="0.05"
            damping="0.3"/>
          <geom type="capsule" size=".05 .1"/>
          <body name="tip" pos="0.1 0 0.2" euler="0 50 10">
            <joint name="ball" type="ball" stiffness="5" damping="0.4" pos="0 0 0.1"/>
            <geom type="box" size=".05 .06 .07"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
"""A spring in every joint of MuJoCo."""


@pytest.fixture(scope="module")
def both():
    theirs = mujoco.MjModel.from_xml_string(SPRINGS)
    ours = jc.load_mjcf(SPRINGS, strict=True)
    return ours, theirs, Converter(ours, theirs)


def test_springs_and_damping_are_those_of_mujoco(both):
    ours, theirs, convert = both
    rng = np.random.default_rng(0)
    data = mujoco.MjData(theirs)
    for _ in range(20):
        q, v = jc.random_configuration(ours, rng), rng.standard_normal(ours.nv)
        data.qpos[:], data.qvel[:] = convert.to_q(q), convert.to_v(q, v)
        mujoco.mj_forward(theirs, data)
        expected = convert.from_tau(data.qpos, data.qfrc_passive)
        scale = np.abs(expected).max()
        forces = jc.passive_forces(ours, q, v)
        np.testing.assert_allclose(forces, expected, rtol=0, atol=64 * EPS * scale)


def test_springs_rest_where_mujoco_says(both):
    ours, theirs, convert = both
    rest = convert.from_q(theirs.qpos_spring)
    forces = jc.passive_forces(ours, rest, np.zeros(ours.nv))
    np.testing.assert_allclose(forces, 0, rtol=0, atol=16 * EPS)
