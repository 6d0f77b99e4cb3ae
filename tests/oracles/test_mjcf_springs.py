"""Springs of MJCF files pull as in MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

mujoco = pytest.importorskip("mujoco")

SPRINGS = """
<mujoco>
  <worldbody>
    <body>
      <joint name="hinge" axis="0 1 0" stiffness="3" springref="20" ref="10" damping="0.4"/>
      <geom size="0.1"/>
      <body pos="0 0 0.5">
        <joint name="slide" type="slide" stiffness="7" springref="0.2"/>
        <geom size="0.1"/>
        <body pos="0.1 0 0.5">
          <joint name="ball" type="ball" stiffness="2"/>
          <geom size="0.1"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def test_springs_and_dampers_of_a_file():
    model = jc.load_mjcf(SPRINGS)
    theirs = mujoco.MjModel.from_xml_string(SPRINGS)
    data = mujoco.MjData(theirs)
    there = jc.interop.mujoco.Converter(model, theirs)
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = jc.random_configuration(model, rng)
        v = rng.standard_normal(model.nv)
        data.qpos, data.qvel = there.to_q(q), there.to_v(q, v)
        mujoco.mj_forward(theirs, data)
        ours = there.to_tau(q, jc.passive_forces(model, q, v))
        largest = np.abs(data.qfrc_passive).max()
        np.testing.assert_allclose(ours, data.qfrc_passive, atol=64 * np.finfo(float).eps * largest)
