"""Keyframes of MJCF files become poses, in the layout of the model."""

from __future__ import annotations

import numpy as np
import pytest
from test_save import with_everything

import jounce as jc
from jounce.interop.mujoco import Converter

mujoco = pytest.importorskip("mujoco")

TEXT = """<mujoco>
<worldbody>
<body name="trunk" pos="0 0 1" euler="10 20 30">{}<geom size="0.1"/>
<body pos="1 0 0"><joint type="ball" name="ball"/><geom size="0.1" pos="0 0 1"/>
<body pos="0 1 0"><joint name="hinge" ref="30"/><joint name="slide" type="slide"/>
<geom size="0.1"/></body></body></body>
</worldbody>
<keyframe><key name="home" qpos="{}0.5 0.5 -0.5 0.5 0.7 0.2"/><key/></keyframe>
</mujoco>"""


@pytest.mark.parametrize("free", [False, True])
def test_keyframes_put_the_bodies_where_mujoco_does(free):
    base = "1 2 3 0.1 0.2 0.3 0.4 " if free else ""
    text = TEXT.format("<freejoint/>" if free else "", base)
    model, compiled = jc.load_mjcf(text), mujoco.MjModel.from_xml_string(text)
    assert list(model.poses) == ["home", "key1"]
    there = Converter(model, compiled)
    data = mujoco.MjData(compiled)
    for k, q in enumerate(model.poses.values()):
        mujoco.mj_resetDataKeyframe(compiled, data, k)
        mujoco.mj_kinematics(compiled, data)
        np.testing.assert_allclose(there.to_q(q), data.qpos, rtol=0, atol=1e-15)
        for body in range(1, compiled.nbody):
            name = compiled.body(body).name or f"body{body}"
            place = jc.body_pose(model, q, name)[:3, 3]
            np.testing.assert_allclose(place, data.xpos[body], rtol=0, atol=1e-14)


def test_a_base_that_is_let_go_stands_where_the_file_puts_it():
    fixed, free = (jc.load_mjcf(TEXT.format("", ""), base) for base in ("fixed", "free"))
    for name in fixed.poses:
        for frame in ("trunk", "body3"):
            here = jc.body_pose(fixed, fixed.poses[name], frame)
            there = jc.body_pose(free, free.poses[name], frame)
            np.testing.assert_allclose(here, there, rtol=0, atol=1e-14)


def test_a_half_turn_of_a_keyframe_or_a_converter_is_meant():
    """Nobody warns of it as of another library's identity."""
    text = TEXT.format("<freejoint/>", "0 0 1 0 1 0 0 ").replace(' euler="10 20 30"', "")
    model = jc.load_mjcf(text.replace(' pos="0 0 1"', "", 1))
    there = Converter(model, mujoco.MjModel.from_xml_string(text))
    qpos = there.to_q(model.poses["home"])
    np.testing.assert_array_equal(qpos[:7], [0, 0, 1, 0, 1, 0, 0])
    for q in (model.poses["home"], there.from_q(qpos)):
        jc.mass_matrix(model, q)
    with pytest.warns(jc.LayoutWarning):
        jc.mass_matrix(model, [1, 0, 0, 0, *qpos[:3], *q[7:]])


@pytest.mark.filterwarnings("ignore::jounce.errors.ModelWarning")
@pytest.mark.parametrize("seed", range(3))
def test_poses_of_all_joint_types_come_back_from_a_saved_file(seed, tmp_path):
    model = with_everything(seed)
    path = tmp_path / "robot.xml"
    jc.save(model, path)
    again = jc.load(path)
    assert again.poses.keys() == model.poses.keys()
    for name, q in model.poses.items():
        step = jc.difference(model, q, again.poses[name])
        np.testing.assert_allclose(step, 0, rtol=0, atol=1e-14 * max(1, np.abs(q).max()))
