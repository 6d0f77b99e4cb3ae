"""Springs and mimic joints in MJCF's own words: MuJoCo computes with what `jounce.save` writes."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest

import jounce as jc
from jounce.interop.mujoco import Converter

mujoco = pytest.importorskip("mujoco")
EPS = np.finfo(float).eps


def saved(model):
    file = io.StringIO()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        jc.save(model, file, format="mjcf")
    return file.getvalue(), " ".join(str(w.message) for w in found)


def sprung(**ball):
    """Every joint that MuJoCo has springs for, and two that become several of its joints."""
    builder = jc.ModelBuilder()
    own = {"mass": 1.0, "com": (0.1, 0.0, 0.2), "inertia": [1.0, 1.0, 1.0]}
    joints = [
        jc.Joint("revolute", "hinge", axis=(0, 1, 1), stiffness=3.0, springref=0.4, damping=0.2),
        jc.Joint("prismatic", "slide", stiffness=7.0, springref=-0.1),
        jc.Joint("spherical", "ball", stiffness=2.0, **ball),
        jc.Joint("planar", "table", stiffness=(1.0, 2.0, 3.0), springref=(0.1, 0.2, 0.3)),
        jc.Joint("universal", "cross", stiffness=(4.0, 5.0), springref=(0.3, -0.2)),
    ]
    parent = None
    for joint in joints:
        builder.add_body(joint.name + "_body", parent, joint, (0.0, 0.1, 0.3), **own)
        parent = joint.name + "_body"
    return builder.build()


def test_mujoco_has_the_springs_of_the_model():
    model = sprung()
    text, remarks = saved(model)
    assert "stiffness" not in remarks
    theirs = mujoco.MjModel.from_xml_string(text)
    # planar and universal joints are several of MuJoCo's, so read the file as others do
    data = mujoco.MjData(theirs)
    plain = jc.load_mjcf(text.replace('name="jounce"', 'name="other"'))
    convert = Converter(plain, theirs)
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v = jc.random_configuration(model, rng), rng.standard_normal(model.nv)
        data.qpos[:], data.qvel[:] = convert.to_q(q), convert.to_v(q, v)
        mujoco.mj_forward(theirs, data)
        expected = convert.from_tau(data.qpos, data.qfrc_passive)
        found = jc.passive_forces(model, q, v)
        np.testing.assert_allclose(found, expected, rtol=0, atol=64 * EPS * np.abs(expected).max())


@pytest.mark.parametrize("rest", [0.0, (0.0, 0.0, 0.0, 1.0), (0.6, 0.0, 0.0, 0.8)])
def test_springs_come_back(rest):
    model = sprung(springref=rest)
    text, remarks = saved(model)
    again = jc.load_mjcf(text)
    np.testing.assert_array_equal(again.stiffness, model.stiffness)
    np.testing.assert_array_equal(again.springref, model.springref)
    assert ("only jounce reads the stiffness of 'ball'" in remarks) == (
        rest == (0.6, 0.0, 0.0, 0.8)
    )


def test_springs_of_free_joints_come_back():
    builder = jc.ModelBuilder()
    joint = jc.Joint("free", "root", stiffness=3.0, springref=(0, 0, 0.6, 0.8, 0.1, 0.2, 0.3))
    builder.add_body("ball", None, joint, (0.1, 0, 0), mass=1.0, inertia=[1, 1, 1])
    model = builder.build()
    text, remarks = saved(model)
    assert "stiffness of 'root'" in remarks
    again = jc.load_mjcf(text)
    np.testing.assert_array_equal(again.stiffness, model.stiffness)
    np.testing.assert_array_equal(again.springref, model.springref)


def test_mimic_joints_are_equalities_of_mujoco():
    builder = jc.ModelBuilder()
    builder.add_body("a", joint="prismatic", joint_name="lead", mass=1.0, inertia=[1, 1, 1])
    follow = jc.Mimic("lead", -2.0, 0.3)
    builder.add_body(
        "b", joint="prismatic", joint_name="f", mimic=follow, mass=1.0, inertia=[1, 1, 1]
    )
    model = builder.build()
    text, remarks = saved(model)
    assert "soft constraints stand for what 'f' follow" in remarks
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    data.qpos[:] = [0.5, -2.0 * 0.5 + 0.3]
    mujoco.mj_forward(theirs, data)
    assert theirs.neq == 1
    np.testing.assert_allclose(data.efc_pos[0], 0.0, atol=1e-15)
    again = jc.load_mjcf(text)
    assert again.joints[1].mimic == follow
    assert again.coupled().nv == 1
