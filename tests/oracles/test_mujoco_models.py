"""Models straight from MuJoCo are those of their files."""

from __future__ import annotations

import numpy as np
import pytest
from comparison import relative_error
from mjcf_models import TREE

import jounce as jc

pytest.importorskip("mujoco")

import mujoco as mj
from test_mujoco import every_model, load_quietly, setting

from jounce.interop import mujoco

RELATIVE = 1e-11
STATES = 5


@pytest.mark.long
@every_model
@pytest.mark.filterwarnings("ignore::UserWarning")  # MuJoCo's own of files, too
def test_models_of_mujoco_are_those_of_their_files(source):
    """Which agree with MuJoCo in test_mujoco."""
    own = load_quietly(source).replace(poses={})  # a file may ask MuJoCo for more keys than it has
    assert setting(source).straight.replace(poses={}) == own
    read = mj.MjSpec.from_string if isinstance(source, str) else mj.MjSpec.from_file
    spec = read(str(source))
    assert mujoco.model(spec).replace(poses={}) == own


def test_what_was_changed_in_a_model_of_mujoco_counts():
    theirs = mj.MjModel.from_xml_string(TREE)
    theirs.body_mass[1:] *= 3.0
    theirs.opt.gravity[:] = (0.0, 1.0, -5.0)
    theirs.dof_armature[6:] += 0.1
    model = mujoco.model(theirs)
    there = mujoco.Converter(model, theirs)
    rng = np.random.default_rng(0)
    q = jc.random_configuration(model, rng, STATES)
    v, a = rng.standard_normal((2, STATES, model.nv))
    data, expected = mj.MjData(theirs), []
    for x in zip(there.to_q(q), there.to_v(q, v), there.to_a(q, v, a), strict=True):
        data.qpos[:], data.qvel[:], acceleration = x
        mj.mj_forward(theirs, data)
        data.qacc[:] = acceleration
        expected.append(np.zeros(theirs.nv))
        mj.mj_rne(theirs, data, 1, expected[-1])
        expected[-1] += theirs.dof_armature * acceleration
    ours = there.to_tau(q, jc.inverse_dynamics(model, q, v, a))
    assert relative_error(ours, expected) < RELATIVE


def test_options_and_refusals_of_models_of_mujoco():
    spec = mj.MjSpec()
    body = spec.worldbody.add_body(name="cart")
    body.add_geom(type=mj.mjtGeom.mjGEOM_BOX, size=[0.1, 0.2, 0.3])
    model = mujoco.model(spec, base="planar", gravity=(0, 0, -1))
    assert model.joint_names == ("root_joint",)
    assert model.gravity.tolist() == [0, 0, -1]
    with pytest.raises(jc.ArgumentTypeError, match=r"must be a mujoco\.MjModel or mujoco\.MjSpec"):
        mujoco.model(TREE)
    with pytest.raises(jc.ArgumentError, match="base must be one of"):
        mujoco.model(spec, base="floating")
    body.add_freejoint()
    body.add_joint(type=mj.mjtJoint.mjJNT_HINGE)
    with pytest.raises(jc.ModelError, match="MuJoCo refuses the model"):
        mujoco.model(spec)
