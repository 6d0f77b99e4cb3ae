"""Actuators of MJCF files act in rollouts as in MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

mujoco = pytest.importorskip("mujoco")
from jounce.interop import mujoco as bridge  # noqa: E402

XML = """
<mujoco>
  <option timestep="0.002" integrator="Euler"><flag contact="disable" eulerdamp="disable"/></option>
  <worldbody>
    <body name="a"><joint name="slide" type="slide" axis="0 0 1"/><geom size="0.1" mass="1"/>
      <body name="b" pos="0.2 0 0"><joint name="hip" axis="0 1 0" ref="0.3"/>
        <geom size="0.1" mass="0.7" pos="0.1 0.02 -0.1"/>
        <body name="c" pos="0.2 0 0"><joint name="knee" axis="1 1 0" actuatorfrcrange="-0.8 0.5"/>
          <geom size="0.05" mass="0.4" pos="0.05 0 -0.1"/>
          <body name="d" pos="0.1 0 0"><joint name="wrist" type="ball"/>
            <geom size="0.05" mass="0.2" pos="0.03 0 -0.05"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="lift" joint="slide" gear="3" ctrllimited="true" ctrlrange="-1 4"/>
    <position name="hold" joint="hip" kp="12" kv="0.4" gear="-2" forcerange="-3 2.5"/>
    <velocity name="turn" joint="knee" kv="0.9"/>
  </actuator>
</mujoco>
"""


@pytest.fixture(scope="module")
def robot():
    mj = mujoco.MjModel.from_xml_string(XML)
    return jc.load_mjcf(XML), mj


def test_rollouts_follow_mujoco_step_by_step(robot):
    """Semi-implicit Euler is what MuJoCo's Euler does; all limits are met on the way."""
    model, mj = robot
    rng = np.random.default_rng(0)
    ctrl = np.cumsum(rng.standard_normal((200, 3)), 0) * np.array([0.5, 0.1, 0.3])
    data, convert = mujoco.MjData(mj), bridge.Converter(model, mj)
    data.qvel[:] = 0.5 * rng.standard_normal(mj.nv)
    q, v = convert.from_q(data.qpos), convert.from_v(data.qpos, data.qvel)
    states, forces = [], []
    for row in ctrl:
        data.ctrl[:] = row
        mujoco.mj_step(mj, data)
        states.append(data.qpos.copy())
        forces.append(data.qfrc_actuator.copy())
    tau, control = bridge.control(model, mj, ctrl)
    got = jc.rollout(model, q, v, tau, 0.002, method="semi_implicit_euler", control=control)
    np.testing.assert_allclose(got.q[1:], convert.from_q(np.array(states)), rtol=0, atol=1e-9)
    forces = np.array(forces)
    for name, most in (("hip", 6.0), ("knee", 0.5)):
        assert np.isclose(forces[:, mj.joint(name).dofadr[0]].max(), most)


BAD = {
    "tendon": ('<motor site="s"/>', "does not drive a joint"),
    "ball": ('<motor joint="wrist"/>', "several rates"),
    "states": ('<intvelocity joint="hip" kp="1" actrange="-1 1"/>', "states of its own"),
    "delay": ('<motor joint="hip" delay="0.1" nsample="60"/>', "acts with a delay"),
    "no control": (
        '<dcmotor joint="hip" motorconst="1" resistance="1" input="none"/>',
        "not linear|states of its own",
    ),
    "several": ('<motor joint="knee"/>', "several actuators with force limits"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_other_actuators_are_named(mistake):
    more, message = BAD[mistake]
    text = XML.replace("</actuator>", more + "</actuator>")
    text = text.replace('<joint name="wrist"', '<site name="s"/><joint name="wrist"')
    mj = mujoco.MjModel.from_xml_string(text)
    with pytest.raises(jc.ModelError, match=message):
        bridge.control(jc.load_mjcf(text), mj, np.zeros((2, mj.nu)))


DISABLED = {
    "actuation": "><flag actuation='disable'/>",
    "clips": "><flag clampctrl='disable'/>",
    "group": "actuatorgroupdisable='2'>",
}


@pytest.mark.parametrize("what", DISABLED)
def test_what_the_file_disables_does_not_act(what):
    text = XML.replace("<worldbody>", f"<option {DISABLED[what]}</option><worldbody>")
    text = text.replace('name="lift"', 'name="lift" group="2"')
    mj = mujoco.MjModel.from_xml_string(text)
    model, data = jc.load_mjcf(text), mujoco.MjData(mj)
    data.ctrl[:] = [9.0, 0.1, 0.2]
    mujoco.mj_forward(mj, data)
    tau, control = bridge.control(model, mj, data.ctrl[None])
    for joint in ("slide", "knee"):
        found = tau[0, model.v_slice(joint)]
        np.testing.assert_allclose(found, data.qfrc_actuator[mj.joint(joint).dofadr], rtol=1e-14)
    assert control.kp.any() == (what != "actuation")


def test_controls_have_a_number_for_each_actuator(robot):
    with pytest.raises(jc.ArgumentError, match=r"\(..., T, 3\)"):
        bridge.control(*robot, np.zeros((2, 2)))


def test_a_disabled_actuator_with_several_controls_or_states_is_passed_over():
    """The columns of those after it begin where MuJoCo says."""
    text = """<mujoco><option actuatorgroupdisable="3"/><worldbody>
<body><joint name="b" type="ball"/><geom size=".1" pos=".2 0 0"/>
<body pos="1 0 0"><joint name="h"/><geom size=".1" pos=".1 0 0"/></body></body></worldbody>
<actuator>{}<general joint="h" dyntype="integrator" group="3"/>
<motor joint="h" gear="2" ctrllimited="true" ctrlrange="-1 1"/></actuator></mujoco>"""
    several = '<orientation joint="b" kp="3" group="3"/>'
    try:
        theirs = mujoco.MjModel.from_xml_string(text.format(several))
    except ValueError:  # before MuJoCo 4
        several, theirs = "", mujoco.MjModel.from_xml_string(text.format(""))
    model = jc.load_mjcf(text.format(several))
    ctrl = np.arange(theirs.nu) / 10 + 0.2
    data = mujoco.MjData(theirs)
    data.ctrl[:] = ctrl
    mujoco.mj_forward(theirs, data)
    tau = bridge.control(model, theirs, ctrl).tau
    np.testing.assert_allclose(tau, data.qfrc_actuator, rtol=1e-14)
    assert tau[-1] != 0


TWO_LINKS = """<mujoco><option timestep="0.002" integrator="RK4"><flag contact="disable"/></option>
<worldbody><body><joint name="a" axis="0 1 0" {}/><geom size=".1" pos=".3 0 0"/>
<body pos=".6 0 0"><joint name="b" axis="0 1 0" {}/><geom size=".1" pos=".3 0 0"/></body></body>
</worldbody><actuator><motor joint="a" gear="20"/>{}</actuator></mujoco>"""
SPRING = 'damping="1" stiffness="3" springref="12"'
PASSIVE = {
    "springs and damping": (SPRING, SPRING, '<motor joint="b"/>'),
    "damping alone": ('damping="2"', "", '<position joint="b" kp="9" kv=".5"/>'),
    "stiffness alone": ("", 'stiffness="5"', '<motor joint="b" forcerange="-.1 .1"/>'),
    "of an actuator": (SPRING, "", '<position joint="b" kp="9" kv=".5" damping="1.5" gear="2"/>'),
    "none": ("", "", '<motor joint="b"/>'),
}


def both_ends(text, passive=True):
    """Where 100 steps end, here and in MuJoCo."""
    mj, model = mujoco.MjModel.from_xml_string(text), jc.load_mjcf(text, strict=True)
    data, rng = mujoco.MjData(mj), np.random.default_rng(0)
    q, v, ctrl = np.array([0.3, -0.2]), np.array([1.0, -2.0]), rng.standard_normal((100, 2))
    data.qpos[:], data.qvel[:] = q, v
    for row in ctrl:
        data.ctrl[:] = row
        mujoco.mj_step(mj, data)
    tau, servo = bridge.control(model, mj, ctrl, passive=passive)
    got = jc.rollout(model, q, v, tau, 0.002, method="rkmk4", control=servo)
    return servo, np.array([got.q[-1], got.v[-1]]), np.array([data.qpos, data.qvel])


@pytest.mark.parametrize("case", PASSIVE)
def test_springs_and_damping_act_as_in_mujoco_and_once(case):
    if case == "of an actuator" and not hasattr(mujoco.MjModel, "actuator_damping"):
        pytest.skip("actuators of this version of MuJoCo have no damping")
    servo, here, there = both_ends(TWO_LINKS.format(*PASSIVE[case]))
    assert servo.passive == (case != "none")
    np.testing.assert_allclose(here, there, rtol=0, atol=1e-12)


def test_springs_and_damping_can_be_left_out():
    text = TWO_LINKS.format(*PASSIVE["springs and damping"])
    _, here, there = both_ends(text, passive=False)
    assert np.abs(here - there).max() > 0.1
    disabled = text.replace("<flag ", '<flag spring="disable" damper="disable" ')
    _, _, without = both_ends(disabled)
    np.testing.assert_allclose(here, without, rtol=0, atol=1e-12)
    with pytest.raises(jc.ArgumentError, match="passive"):
        both_ends(text, passive="no")


def test_dry_friction_acts_while_a_joint_slides():
    """As force against the rate here and as constraint there, which is as strong while it moves."""
    text = TWO_LINKS.format('frictionloss="0.02"', "", '<motor joint="b"/>')
    text = text.replace("<option ", '<option iterations="500" tolerance="1e-14" ')
    mj, model = mujoco.MjModel.from_xml_string(text), jc.load_mjcf(text, strict=True)
    servo = bridge.control(model, mj, np.zeros((1, 2))).control
    assert servo.passive
    data = mujoco.MjData(mj)
    data.qvel[:] = [1.0, 0.5]
    mujoco.mj_forward(mj, data)
    forces = jc.passive_forces(model, [0.0, 0.0], [1.0, 0.5])
    np.testing.assert_allclose(forces, data.qfrc_constraint, rtol=0, atol=1e-12)
