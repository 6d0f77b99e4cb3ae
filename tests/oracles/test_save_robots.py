"""Robots of example-robot-data and of MJCF files, saved in both formats, and read by the peers."""

from __future__ import annotations

import io
import re

import mujoco
import numpy as np
import pytest
import real_robots
from test_mujoco import MODELS, load_quietly

import jounce as jc
from jounce.model.joints import COORDINATE_FIELDS, RATE_FIELDS

pin = pytest.importorskip("pinocchio")

STATES = 20
PROMISED = 1e-12
REFUSED = {
    "human",
    "icub",
    "icub_reduced",
    "romeo",
    "romeo_small",
    "romeo_laas_small",
}
"""Bodies of these move without mass or inertia, or with an inertia that no body has."""

every_urdf = pytest.mark.parametrize("path", real_robots.ROBOTS, ids=lambda path: path.stem)
every_mjcf = pytest.mark.parametrize("source", MODELS)
bases = pytest.mark.parametrize("base", ["fixed", "free"])
pytestmark = pytest.mark.filterwarnings("ignore::jounce.ModelWarning")


@pytest.fixture(autouse=True, scope="module")
def silence():
    """MuJoCo would write its remarks to a log in the working directory."""
    mujoco.set_mju_user_warning(lambda text: None)
    yield
    mujoco.set_mju_user_warning(None)


def text_of(model, kind):
    file = io.StringIO()
    jc.save(model, file, format=kind)
    return file.getvalue()


def states(model):
    rng = np.random.default_rng(11)
    q = jc.random_configuration(model, rng, STATES)
    return q, *rng.standard_normal((2, STATES, model.nv))


def relative(ours, theirs):
    """Largest difference of a state, relative to the largest force of that state."""
    scale = np.abs(ours).max(axis=1, initial=0.0)
    error = np.abs(ours - theirs).max(axis=1, initial=0.0)
    return float((error / np.where(scale > 0, scale, 1.0)).max())


def assert_same(model, again):
    assert again._key() == model._key()
    for field in ("gravity", "actuated", *RATE_FIELDS, *COORDINATE_FIELDS):
        assert np.array_equal(getattr(again, field), getattr(model, field)), field
    x = states(model)
    assert relative(jc.inverse_dynamics(model, *x), jc.inverse_dynamics(again, *x)) < PROMISED


def forces_of_pinocchio(model, text, base):
    from jounce.interop.pinocchio import Converter

    root = () if base == "fixed" else (pin.JointModelFreeFlyer(),)
    theirs = pin.buildModelFromXML(text, *root)
    data, there = theirs.createData(), Converter(model, theirs)
    q, v, a = states(model)
    their_q = there.to_q(q)
    inputs = zip(their_q, there.to_v(q, v), there.to_a(q, v, a), strict=True)
    tau = [pin.rnea(theirs, data, *state).copy() for state in inputs]
    return there.from_tau(their_q, np.array(tau))


def forces_of_mujoco(model, text):
    from jounce.interop.mujoco import Converter

    theirs = mujoco.MjModel.from_xml_string(text)
    flags = mujoco.mjtDisableBit
    theirs.opt.disableflags |= int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_CONSTRAINT)
    theirs.dof_damping[:] = theirs.jnt_stiffness[:] = 0  # which mj_inverse takes off
    data, there = mujoco.MjData(theirs), Converter(model, theirs)
    q, v, a = states(model)
    their_q, tau = there.to_q(q), []
    for state in zip(their_q, there.to_v(q, v), there.to_a(q, v, a), strict=True):
        data.qpos, data.qvel, data.qacc = state
        mujoco.mj_inverse(theirs, data)
        tau.append(data.qfrc_inverse.copy())
    return there.from_tau(their_q, np.array(tau))


@pytest.mark.long
@every_urdf
@bases
def test_a_urdf_robot_as_urdf(path, base):
    model = real_robots.load_quietly(str(path), base=base)
    text = text_of(model, "urdf")
    again = jc.load_urdf(text, base=base)
    assert_same(model, again)
    assert len(again.visuals) == len(model.visuals)
    theirs = forces_of_pinocchio(model, text, base)
    assert relative(jc.inverse_dynamics(model, *states(model)), theirs) < PROMISED


@pytest.mark.long
@every_urdf
@bases
def test_a_urdf_robot_as_mjcf(path, base):
    model = real_robots.load_quietly(str(path), base=base)
    if path.stem in REFUSED:
        assert_refused(model)
        return
    text = text_of(model, "mjcf")
    assert_same(model, jc.load_mjcf(text))
    if model.nv:
        theirs = forces_of_mujoco(model, text)
        assert relative(jc.inverse_dynamics(model, *states(model)), theirs) < PROMISED


def assert_refused(model):
    """The error names just the bodies without which MuJoCo takes the robot."""
    with pytest.raises(jc.ModelError, match="MuJoCo refuses") as caught:
        text_of(model, "mjcf")
    named = set(re.findall(r"body '([^']+)'", str(caught.value)))
    assert named
    healthy = np.array([1.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1])
    for spared in sorted(named)[:3]:
        rows = [
            healthy if body.name in named and body.name != spared else body.parameters
            for body in model.bodies
        ]
        with pytest.raises(ValueError, match=r"mass and inertia|A \+ B >= C|positive eig"):
            mujoco.MjModel.from_xml_string(unchecked_mjcf(model.replace(inertias=rows), spared))
    rows = [healthy if body.name in named else body.parameters for body in model.bodies]
    mujoco.MjModel.from_xml_string(text_of(model.replace(inertias=rows), "mjcf"))


def unchecked_mjcf(model, body):
    """The file with the inertia of one body as it is, which `save` refuses to write."""
    k = model.body_index(body)
    rows = model.inertias.copy()
    mass, com, inertia = jc.inertia.about_com(rows[k])
    rows[k] = [1.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1]
    text = text_of(model.replace(inertias=rows), "mjcf")
    order = (0, 1, 2, 0, 0, 1), (0, 1, 2, 1, 2, 2)
    entries = " ".join(map(repr, inertia[order].tolist()))
    full = f'<inertial mass="{float(mass)!r}" pos="{" ".join(map(repr, com.tolist()))}" '
    start = text.index("<inertial", text.index(f'<body name="{body}"'))
    end = text.index("/>", start)
    return text[:start] + full + f'fullinertia="{entries}"' + text[end:]


@every_mjcf
def test_an_mjcf_robot_as_mjcf(source):
    model = load_quietly(source)
    text = text_of(model, "mjcf")
    assert_same(model, jc.load_mjcf(text))
    theirs = forces_of_mujoco(model, text)
    assert relative(jc.inverse_dynamics(model, *states(model)), theirs) < PROMISED


@every_mjcf
def test_an_mjcf_robot_as_urdf(source):
    model = load_quietly(source)
    free = [joint.type for body in model.bodies if body.parent < 0 for joint in body.joints] == [
        "free"
    ]
    assert_same(model, jc.load_urdf(text_of(model, "urdf"), base="free" if free else "fixed"))
