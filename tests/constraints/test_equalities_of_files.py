"""Equalities of model files, against MuJoCo's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from constraints_cases import close

import jounce as jc

mujoco = pytest.importorskip("mujoco")

FOUR_BAR = """
<mujoco>
  <option gravity="0 0 -9.81" timestep="1e-4"/>
  <worldbody>
    <body name="crank" pos="0 0 0">
      <joint name="a" axis="0 1 0" ref="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02" mass="1"/>
      <body name="rod" pos="0 0 0.3">
        <joint name="b" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02" mass="2"/>
      </body>
    </body>
    <body name="rocker" pos="0.6 0 0">
      <joint name="c" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02" mass="1"/>
    </body>
    <body name="follower" pos="0 1 0">
      <joint name="d" axis="0 1 0" ref="0.2"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02" mass="1"/>
    </body>
    <body name="loose" pos="0 2 1"><freejoint/><geom size="0.1" mass="1"/></body>
  </worldbody>
  <equality>
    <connect name="pin" body1="rod" body2="rocker" anchor="0.5 0.02 0.1" EXTRA/>
    <joint joint1="d" joint2="a" polycoef="0.1 0.5 0.2 -0.3 0.05" EXTRA/>
    <weld body1="loose" body2="crank" relpose="0 0.1 0.2 1 0.2 0 0.1" EXTRA/>
    <joint joint1="c" active="false"/>
  </equality>
</mujoco>
"""
HARD = 'solref="0.002 1" solimp="0.9999 0.9999 0.001 0.5 1"'


@pytest.fixture(scope="module")
def model():
    return jc.load_mjcf(FOUR_BAR.replace("EXTRA", HARD), strict=True)  # nothing is left out


def test_active_equalities_are_constraints_of_the_model(model):
    kinds = [type(x).__name__ for x in model.constraints]
    assert kinds == ["Point", "Coupling", "Weld"]
    assert jc.Constraints(model).size == 10
    assert jc.load_mjcf("<mujoco><worldbody/></mujoco>").constraints == ()


def softened(model, d, q, v, tau):
    """MuJoCo's accelerations and generalized forces of equalities of impedance d."""
    soft = f'solref="0.002 1" solimp="{d} {d} 0.001 0.5 1"'
    theirs = mujoco.MjModel.from_xml_string(FOUR_BAR.replace("EXTRA", soft))
    theirs.opt.tolerance, theirs.opt.iterations = 1e-15, 500
    there, data = jc.interop.mujoco.Converter(model, theirs), mujoco.MjData(theirs)
    data.qpos[:], data.qvel[:] = there.to_q(q), there.to_v(q, v)
    data.qfrc_applied[:] = there.to_tau(q, tau)
    mujoco.mj_forward(theirs, data)
    assert np.abs(data.efc_pos).max() < 1e-12
    assert np.abs(data.efc_vel).max() < 1e-12
    a = there.from_a(data.qpos, data.qvel, np.array(data.qacc))
    return np.array([a, there.from_tau(data.qpos, np.array(data.qfrc_constraint))])


def test_constrained_motion_is_that_of_hard_equalities_in_mujoco(model):
    """Their rows give way by (1 - d)/d of their inertia, and d ends at 0.9999.

    MuJoCo asks for J a = 0 of joints' polynomials, without J' v: so do we here, by a motion.
    """
    rng = np.random.default_rng(0)
    c, u = jc.Constraints(model), rng.standard_normal(model.nv)
    q = jc.project(model, jc.integrate(model, jc.neutral(model), 0.2 * u), c)
    v = jc.project_velocity(model, q, u, c)
    tau = rng.standard_normal(model.nv)
    point, gear, weld = c.items
    bent = replace(gear, motion=[0.0, c.bias(q, v)[c.rows(1)][0]])
    found = jc.constrained_dynamics(model, q, v, tau, jc.Constraints(model, [point, bent, weld]))
    mine = np.array([found.a, found.force @ c.jacobian(q)])
    hardest, softer, soft = (softened(model, d, q, v, tau) for d in (0.9999, 0.9998, 0.9996))
    close(hardest, mine, 2)
    # to the limit of no softness, by Richardson: errors of first and second order are taken away
    s = np.array([(1 - d) / d for d in (0.9999, 0.9998, 0.9996)])
    weights = [np.prod([x / (x - s[k]) for x in np.delete(s, k)]) for k in range(3)]
    limit = weights[0] * hardest + weights[1] * softer + weights[2] * soft
    for got, expected in zip(limit, mine, strict=True):
        close(got, expected, 5)


def test_residuals_of_points_and_couplings_are_those_of_mujoco(model):
    theirs = mujoco.MjModel.from_xml_string(FOUR_BAR.replace("EXTRA", HARD))
    there, data = jc.interop.mujoco.Converter(model, theirs), mujoco.MjData(theirs)
    q = jc.random_configuration(model, 0)
    data.qpos[:] = there.to_q(q)
    mujoco.mj_forward(theirs, data)
    close(jc.Constraints(model).residual(q)[:4], np.array(data.efc_pos)[:4], 13)


MIMIC = """<robot name="r"><link name="a"/>
    <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
      iyz="0"/></inertial></link>
    <link name="c"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
      iyz="0"/></inertial></link>
    <joint name="lead" type="continuous"><parent link="a"/><child link="b"/></joint>
    <joint name="follow" type="continuous"><parent link="b"/><child link="c"/>
      <mimic joint="lead" multiplier="-2" offset="0.3"/></joint></robot>"""


def test_a_mimic_joint_is_a_coupling():
    model = jc.load_urdf(MIMIC)
    c = jc.Constraints(model)
    assert c.size == 1
    close(c.residual([0.5, -2 * 0.5 + 0.3]), 0.0, 15, 1.0)
    found = jc.constrained_dynamics(model, [0.5, -0.7], [1.0, -2.0], [1.0, 0.0], c)
    close(found.a[1], -2 * found.a[0], 14)


def test_constraints_of_coupled_joints_are_those_of_the_expanded_model():
    model = jc.load_urdf(MIMIC, mimic="coupled")
    assert model.constraints == ()
    with pytest.raises(jc.errors.ModelError, match=r"coupled joints: model.expanded has"):
        jc.Constraints(model, [jc.Point("c")])
    whole, u = model.expanded, np.array([0.7])
    c = jc.Constraints(whole)
    a = jc.constrained_dynamics(whole, [0.5, -0.7], [1.0, -2.0], [0.7, 0.0], c).a
    close(a[:1], jc.forward_dynamics(model, [0.5], [1.0], u), 13)


TURNS = """<mujoco><worldbody>
  <body name="arm" pos="0 0 1"><joint axis="0 1 0"/><geom size="0.1"/>
    <site name="here" pos="0.1 0.2 0.3"/></body>
  <body name="hand" pos="0.3 0.1 1.2" euler="0 30 40"><freejoint/><geom size="0.1"/>
    <site name="there" pos="0.05 0.02 0.1"/></body>
  </worldbody><equality><weld {} {}/></equality></mujoco>"""


@pytest.mark.parametrize(
    "ends",
    [
        'body1="arm" body2="hand" anchor="0.1 0.2 0.3"',
        'body1="hand" anchor="0.1 0.2 0.3"',
        'site1="here" site2="there"',
    ],
)
def test_a_weld_without_torque_holds_a_point(ends):
    """Which MuJoCo lets turn about it: of its six rows three are zero."""
    text = TURNS.format(ends, 'torquescale="0"')
    ours, theirs = jc.load_mjcf(text), mujoco.MjModel.from_xml_string(text)
    assert isinstance(ours.constraints[0], jc.Point)
    whole = jc.load_mjcf(TURNS.format(ends, ""))
    assert isinstance(whole.constraints[0], jc.Weld)
    data = mujoco.MjData(theirs)
    data.qpos[:] = [0.3, 0.2, 0.1, 1.0, *np.array([0.5, -0.1, 0.7, 0.5])]
    data.qpos[4:] /= np.linalg.norm(data.qpos[4:])
    mujoco.mj_forward(theirs, data)
    q = jc.interop.mujoco.Converter(ours, theirs).from_q(data.qpos)
    lengths = np.linalg.norm(jc.Constraints(ours).residual(q)), np.linalg.norm(data.efc_pos[:3])
    close(np.array(lengths[0]), np.array(lengths[1]), 13)
    assert np.abs(data.efc_pos[3:6]).max() == 0
