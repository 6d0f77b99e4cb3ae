"""What flags of MJCF files disable does not act; what else acts in MuJoCo is read or told."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest

import jounce as jc
from jounce.interop import mujoco as bridge
from jounce.io._mjcf_flags import acting

mujoco = pytest.importorskip("mujoco")

ARM = """
<mujoco>
  <option {option}><flag {flag}/></option>
  <worldbody>
    <body name="arm" {body}>
      <joint name="j" axis="0 1 0" {joint}/>
      <geom type="box" size=".1 .05 .2" pos=".1 .02 .3" mass="1"/>
      <body name="hand" pos="0 0 0.5">
        <joint name="k" axis="1 1 0"/>
        <geom type="capsule" size=".05 .1" pos=".05 0 .1" mass=".5"/>
      </body>
    </body>
  </worldbody>
  <tendon><fixed name="t" {tendon}><joint joint="k" coef="2"/></fixed></tendon>
  <actuator>{actuator}</actuator>
  <equality>{equality}</equality>
</mujoco>
"""


def arm(**parts):
    names = ("option", "flag", "body", "joint", "tendon", "actuator", "equality")
    return ARM.format(**{name: parts.get(name, "") for name in names})


def both(text, model):
    """Accelerations of ours under passive forces, and MuJoCo's, of a state of high speed."""
    theirs = mujoco.MjModel.from_xml_string(text)
    data, there = mujoco.MjData(theirs), bridge.Converter(model, theirs)
    rng = np.random.default_rng(1)
    q, v = jc.random_configuration(model, rng), 1 + rng.random(model.nv)
    data.qpos[:], data.qvel[:] = there.to_q(q), there.to_v(q, v)
    mujoco.mj_forward(theirs, data)
    a = jc.forward_dynamics(model, q, v, jc.passive_forces(model, q, v))
    return a, there.from_a(data.qpos, data.qvel, np.array(data.qacc))


SPRUNG = 'stiffness="2" damping="1"'
READ = {
    "damper": {"flag": 'damper="disable"', "joint": SPRUNG},
    "damper of an actuator": {
        "flag": 'damper="disable"',
        "actuator": '<motor joint="j" damping="3" armature="0.1"/>',
    },
    "polynomial of a damper": {"flag": 'damper="disable"', "joint": 'damping="1 2 3"'},
    "polynomial of an actuator": {
        "flag": 'damper="disable"',
        "actuator": '<motor joint="j" damping="3 2 5"/>',
    },
    "frictionloss": {"flag": 'frictionloss="disable"', "joint": 'frictionloss="1"'},
    "constraint": {"flag": 'constraint="disable"', "joint": 'frictionloss="1"'},
    "spring that yields": {
        "flag": 'spring="disable"',
        "joint": 'springyield="0.1" stiffness="2" damping="1"',
        "tendon": 'stiffness="3" springlength="0.1"',
    },
    "tendon without damper": {"flag": 'damper="disable"', "tendon": 'damping="3"'},
    "tendon without friction": {
        "flag": 'constraint="disable"',
        "tendon": 'frictionloss="3" limited="true" range="-.01 .01"',
    },
    "motor of a tendon": {
        "flag": 'damper="disable"',
        "actuator": '<motor tendon="t" damping="3"/>',
    },
    "all passive forces": {
        "flag": 'damper="disable" spring="disable"',
        "option": 'density="1000" viscosity="1"',
        "body": 'gravcomp="1"',
        "joint": SPRUNG,
    },
    "actuators that push": {
        "joint": 'damping="5" armature="0.1"',
        "actuator": '<motor joint="j" gear="2" damping="-1" armature="-0.01"/>',
    },
    "motor of a ball": {
        "joint": 'type="ball"',
        "actuator": '<motor joint="j" gear="2 1 0" damping="0.5" armature="0.1"/>',
    },
    "motor after one with three forces": {
        "joint": 'type="ball"',
        "actuator": '<orientation joint="j" kp="0"/>'
        '<motor joint="k" gear="3" damping="0.1" armature="0.1"/>',
    },
}


@pytest.mark.parametrize("case", READ)
def test_what_the_file_says_acts_as_in_mujoco(case, recwarn):
    text = arm(**READ[case])
    ours, theirs = both(text, jc.load_mjcf(text, strict=True))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * np.abs(theirs).max())
    assert not recwarn


TOLD = {
    "nonlinear damping of actuators ('m')": {
        "actuator": '<motor name="m" joint="j" damping="3 2 5"/>'
    },
    "armature or damping of actuators on other than joints ('m')": {
        "actuator": '<motor name="m" tendon="t" damping="0 2"/>'
    },
    "armature or friction of free joints, which act in body axes here ('j')": {
        "joint": 'type="free" frictionloss="1"'
    },
}


def told(message, text):
    """Our model, once it is told what it lacks, and refused if strict."""
    with pytest.raises(jc.ModelError) as refused:
        jc.load_mjcf(text, strict=True)
    with pytest.warns(jc.ModelWarning) as caught:
        model = jc.load_mjcf(text)
    assert len(caught) == 1
    for heard in (refused.value, caught[0].message):
        assert message in str(heard)
    return model


@pytest.mark.parametrize("message", TOLD)
def test_what_acts_in_mujoco_alone_is_told(message):
    text = arm(**TOLD[message])
    ours, theirs = both(text, told(message, text))
    assert np.abs(ours - theirs).max() > 1e-3 * np.abs(theirs).max()


def test_springs_that_yield_are_told():
    """Their rest position follows the joint, so that it stays where it is."""
    text = arm(option='gravity="0 0 0"', joint=f'{SPRUNG} springyield="0.1"')
    told("joint springs that yield ('j')", text)
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    data.qpos[0] = 1.0
    for _ in range(100):
        mujoco.mj_step(theirs, data)
    assert data.plastic[0] > 0.8
    assert jc.load_mjcf(arm(joint='springyield="0.1"'), strict=True).stiffness.max() == 0


def test_bodies_that_begin_asleep_are_told():
    asleep = {"flag": 'sleep="enable"', "body": 'sleep="init"'}
    told("bodies that begin asleep ('arm')", arm(**asleep))
    theirs = mujoco.MjModel.from_xml_string(arm(**asleep))
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    assert not data.qacc.any()
    jc.load_mjcf(arm(flag=asleep["flag"]), strict=True)
    jc.load_mjcf(arm(body=asleep["body"]), strict=True)


def test_forces_of_plugins_are_told():
    theirs = mujoco.MjModel.from_xml_string(arm())
    theirs.body_plugin[2] = 0
    with pytest.raises(jc.ModelError, match=r"forces of plugins \('hand'\)"):
        bridge.model(theirs, strict=True)


EQUALITIES = '<joint joint1="j" joint2="k"/><connect body1="hand" anchor="0 0 0"/>'


@pytest.mark.parametrize(
    ("flag", "constraints", "limits"),
    [("contact", 2, 1), ("equality", 0, 1), ("limit", 2, 0), ("constraint", 0, 0)],
)
def test_equalities_and_limits_that_the_file_disables_are_not_read(flag, constraints, limits):
    text = arm(flag=f'{flag}="disable"', joint='limited="true" range="-10 20"', equality=EQUALITIES)
    model = jc.load_mjcf(text, strict=True)
    assert len(model.constraints) == constraints
    assert np.isfinite(model.lower).sum() == np.isfinite(model.upper).sum() == limits
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    data.qpos[:] = [1.0, 0.3]
    mujoco.mj_forward(theirs, data)
    kinds = np.array(data.efc_type)
    assert (kinds == mujoco.mjtConstraint.mjCNSTR_EQUALITY).sum() == 2 * constraints
    assert (kinds == mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT).sum() == limits


def test_saved_constraints_are_disabled_as_well():
    file = io.StringIO()
    with pytest.warns(jc.ModelWarning, match="soft equalities"):
        jc.save(jc.load_mjcf(arm(equality=EQUALITIES)), file, format="mjcf")
    saved = file.getvalue()
    assert len(jc.load_mjcf(saved).constraints) == 2
    flag = '<option><flag equality="disable"/></option><worldbody>'
    assert jc.load_mjcf(saved.replace("<worldbody>", flag)).constraints == ()


def test_servos_of_orientations_drive_their_joints():
    text = arm(joint='type="ball"', actuator='<orientation joint="j" kp="1"/>')
    assert [joint.actuated for joint in jc.load_mjcf(text).joints] == [True, False]


def test_flags_go_by_their_names_in_every_version(monkeypatch):
    """Up to MuJoCo 3.3.5 springs and dampers had one bit, and that of gravity was another."""
    before = {"CONSTRAINT": 1, "EQUALITY": 2, "FRICTIONLOSS": 4, "LIMIT": 8, "PASSIVE": 32}
    bits = {f"mjDSBL_{name}": bit for name, bit in {**before, "GRAVITY": 64}.items()}
    monkeypatch.setattr(mujoco, "mjtDisableBit", SimpleNamespace(**bits))
    monkeypatch.setattr(mujoco, "mjtEnableBit", SimpleNamespace())
    weightless, still = (
        acting(SimpleNamespace(opt=SimpleNamespace(disableflags=bit, enableflags=16)))
        for bit in (64, 32)
    )
    assert (weightless.gravity, weightless.dampers, weightless.passive) == (False, True, True)
    assert (still.gravity, still.springs, still.dampers, still.passive) == (True, *3 * [False])
    assert still.friction
    assert not still.sleep
