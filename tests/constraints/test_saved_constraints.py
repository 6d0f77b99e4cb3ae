"""Constraints of a model come back from files that `jounce.save` wrote."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest
from constraints_cases import close

import jounce as jc
from jounce.io._equalities import with_constraints

mujoco = pytest.importorskip("mujoco")

FILE = """
<mujoco>
  <worldbody>
    <body name="crank"><joint name="a" axis="0 1 0" ref="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02" mass="1"/>
      <body name="rod" pos="0 0 0.3"><joint name="b" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02" mass="2"/></body></body>
    <body name="rocker" pos="0.6 0 0"><joint name="c" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02" mass="1"/></body>
    <body name="loose" pos="0 2 1"><freejoint/><geom size="0.1" mass="1"/></body>
  </worldbody>
  <equality>
    <connect name="pin" body1="rod" body2="rocker" anchor="0.5 0.02 0.1"/>
    <connect body1="loose" anchor="0.1 0.2 0.3"/>
    <joint joint1="c" joint2="a" polycoef="0.1 0.5 0.2 -0.3 0.05"/>
    <joint joint1="b" polycoef="0.2 0 0 0 0"/>
    <weld body1="loose" body2="crank" relpose="0 0.1 0.2 1 0.2 0 0.1" anchor="0.3 0.1 0"/>
    <weld body1="rod" relpose="0.3 0.1 0.2 1 0.2 0 0.1"/>
  </equality>
</mujoco>
"""


def through(model, format, **options):
    """The model from its file, the warning, and the text."""
    file = io.StringIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jc.save(model, file, format=format)
    read = jc.load_mjcf if format == "mjcf" else jc.load_urdf
    return read(file.getvalue(), **options), "".join(str(w.message) for w in caught), file


def placed(twist):
    return jc.lie.exp(np.array(twist))


def many_kinds():
    """A model with constraints of every kind, of bodies and of frames with offsets."""
    model = jc.load_mjcf(FILE)
    model = model.with_frame("tool", "rod", placed([0.3, 0.1, 0.2, 0.4, 0, 0.1]))
    model = model.with_frame("seat", "loose", placed([0.1, 0.5, 0.2, 0.1, 0.3, 0]))
    others = [
        jc.Weld("seat", "tool", target=placed([0.2, 0.3, 0.1, 0.05, 0, 0.2])),
        jc.Point("tool", "seat", target=(0.1, 0.2, 0.3)),
        jc.Coupling({"a": 2.0, "b": -3.0}, 0.5),
        jc.Coupling({"a": 1.0, "b": -3.0, "c": 1.0}, offset=None),
        jc.Point("loose", target=(0, 0, 0), motion=[[0.1, 0, 0]]),
        jc.Loop("seat", "tool", free=("rz",), target=np.eye(4)),
        jc.Loop("seat", None, free=("rz", "x")),
        jc.Distance("loose", "tool", anchor=(0, 0, 0.1), target=0.3),
        jc.Rolling("loose", radius=0.2, axis=(0, 1, 0), point=(0, 0, 0.1)),
    ]
    return with_constraints(model, [*model.constraints, *others]), others


@pytest.mark.parametrize("format", ["mjcf", "urdf"])
def test_all_constraints_come_back_to_the_last_bit(format):
    model, _ = many_kinds()
    again, _, _ = through(model, format)
    assert len(model.constraints) == 15
    assert again.constraints == model.constraints
    assert jc.Constraints(again).size == jc.Constraints(model).size


def test_equalities_of_a_file_act_as_before_when_they_are_saved():
    model = jc.load_mjcf(FILE)
    again, message, file = through(model, "mjcf")
    theirs = mujoco.MjModel.from_xml_string(FILE)
    written = mujoco.MjModel.from_xml_string(file.getvalue())
    assert written.eq_type.tolist() == theirs.eq_type.tolist()
    assert "soft equalities stand for the constraints Point('pin_anchor', 'rocker')" in message
    q = jc.random_configuration(model, 0)
    residuals = []
    for compiled in (theirs, written):
        there, data = jc.interop.mujoco.Converter(model, compiled), mujoco.MjData(compiled)
        data.qpos[:] = there.to_q(q)
        mujoco.mj_forward(compiled, data)
        residuals.append(np.array(data.efc_pos))
    points = [0, 1, 2, 6, 7]  # in world axes, and of joints; others are in axes of either body
    close(residuals[1][points], residuals[0][points], 13)
    close(jc.Constraints(again).residual(q), jc.Constraints(model).residual(q), 13)


def test_equalities_hold_in_mujoco_where_the_constraints_hold():
    """Of frames with offsets and of couplings with coefficients beside one."""
    for item in many_kinds()[1][:3]:
        model = jc.load_mjcf(FILE.split("<equality>")[0] + "</mujoco>")
        model = model.with_frame("tool", "rod", placed([0.3, 0.1, 0.2, 0.4, 0, 0.1]))
        model = model.with_frame("seat", "loose", placed([0.1, 0.5, 0.2, 0.1, 0.3, 0]))
        model = with_constraints(model, [item])
        c = jc.Constraints(model)
        q = jc.project(model, jc.random_configuration(model, 1), c)
        compiled = mujoco.MjModel.from_xml_string(through(model, "mjcf")[2].getvalue())
        there, data = jc.interop.mujoco.Converter(model, compiled), mujoco.MjData(compiled)
        data.qpos[:] = there.to_q(q)
        mujoco.mj_forward(compiled, data)
        assert data.nefc == c.size
        assert np.abs(data.efc_pos).max() < 1e-13
        q = jc.integrate(model, q, 0.1 * np.ones(model.nv))
        data.qpos[:] = there.to_q(q)
        mujoco.mj_forward(compiled, data)
        assert np.abs(data.efc_pos).max() > 1e-3


def test_constraints_without_words_are_named():
    model, _ = many_kinds()
    _, message, _ = through(model, "mjcf")
    unseen = message.split("only jounce reads the constraints ")[1]
    assert unseen.split("; ")[0] == (
        "Coupling('a', 'b', 'c'), Point('loose'), Loop('seat', 'tool'), Loop('seat'), "
        "Distance('loose', 'tool'), Rolling('loose')"
    )
    _, message, _ = through(model, "urdf")
    for item in model.constraints:
        assert item.label in message


def test_bodies_by_index_come_back_by_name():
    model = jc.models.chain(3)
    held = [jc.Distance(2, 0, target=0.3)]
    model = jc.Model(model.name, model.gravity, model.bodies, constraints=held)
    again, _, _ = through(model, "urdf")
    assert again.constraints == (jc.Distance("body2", "body0", target=0.3),)


def test_what_mimic_says_is_said_once():
    builder = jc.ModelBuilder().add_body("a", joint="prismatic", mass=1.0, inertia=np.eye(3))
    follow = jc.Mimic("a_joint", -2.0, 0.3)
    builder.add_body("b", joint="prismatic", mimic=follow, mass=0.1, inertia=np.eye(3))
    model = builder.build()
    for format in ("mjcf", "urdf"):
        again, message, file = through(model, format)
        assert len(again.constraints) == 1
        assert "constraints" not in file.getvalue()
        twice, message, _ = through(again, format)
        assert twice.constraints == again.constraints
        assert "reads the constraints" not in message


@pytest.mark.parametrize("data", ["[1]", '[{"kind": "Knot"}]', '[{"kind": "Weld"}]', "7", "{"])
def test_other_data_in_the_place_of_constraints_is_refused(data):
    text = f"""<robot name="r"><jounce><constraints data='{data}'/></jounce>
        <link name="a"/></robot>"""
    with pytest.raises(jc.errors.ModelError, match=r"line 1.*<constraints>|constraints"):
        jc.load_urdf(text)
