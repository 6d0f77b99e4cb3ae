"""Mistakes that people made are answered by what they should have written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jounce as jc
from jounce.io._inspect import inspect

HINGE = '<body name="arm"><joint name="hinge"/><geom size="0.1"/></body>'
MJCF = f"<mujoco><worldbody>{HINGE}</worldbody></mujoco>"
INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
URDF = f"""<robot name="r"><link name="a"/>
<link name="b"><inertial><mass value="1"/>{INERTIA}</inertial>
<visual><geometry><mesh filename="package:/parts/b.stl"/></geometry></visual></link>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/>
<limit effort="1" velocity="1"/></joint></robot>"""


@pytest.fixture
def swapped_in() -> tuple[jc.Model, object]:
    """A robot here and in MuJoCo."""
    mujoco = pytest.importorskip("mujoco")
    return jc.load_mjcf(MJCF), mujoco.MjModel.from_xml_string(MJCF)


@pytest.mark.parametrize("way", ["to", "from"])
@pytest.mark.parametrize(
    ("what", "given", "expected"),
    [("v", 1, "q, v"), ("a", 2, "q, v, a"), ("tau", 1, "q, tau"), ("matrix", 1, "q, matrix")],
)
def test_a_converter_without_q_says_that_q_comes_first(way, what, given, expected, swapped_in):
    there = jc.interop.mujoco.Converter(*swapped_in)
    with pytest.raises(jc.ArgumentTypeError, match=rf"\({expected}\)"):
        getattr(there, f"{way}_{what}")(*[np.zeros(1)] * given)


def test_a_converter_of_swapped_models_says_so(swapped_in):
    with pytest.raises(jc.ArgumentTypeError, match=r"swapped.*jounce\.Model first"):
        jc.interop.mujoco.Converter(*reversed(swapped_in))


def test_a_floating_base_where_mjcf_attaches_the_root_says_what_to_do():
    pytest.importorskip("mujoco")
    with pytest.raises(jc.ModelError, match=r"none \(among 'arm'\).*<freejoint/>"):
        jc.load_mjcf(MJCF, base="free")
    two = "".join(f'<body name="{x}"><geom size="0.1"/></body>' for x in "ab")
    with pytest.raises(jc.ModelError, match=r"2 .*'a', 'b'.*: give the body its joint"):
        jc.load_mjcf(f"<mujoco><worldbody>{two}</worldbody></mujoco>", base="free")


@pytest.mark.parametrize("given", ["package:/x", "package://x/robot.urdf"])
def test_an_address_instead_of_a_path_is_repeated_as_given(given):
    with pytest.raises(jc.MissingFileError, match=f"'{given}'; it must be a path, package:"):
        jc.load(given)
    with pytest.raises(jc.MissingFileError, match=r"'C:/robot\.urdf'$"):
        jc.load("C:/robot.urdf")


def test_wrenches_by_name_are_answered_with_the_function_that_takes_them():
    model = jc.models.chain(2)
    x = np.zeros(2)
    with pytest.raises(jc.ArgumentError, match=r"got a dict; jc\.external_wrenches"):
        jc.inverse_dynamics(model, x, x, x, {"body2": np.zeros(6)})


def test_limits_without_bounds_and_a_single_slash_are_found(tmp_path: Path):
    path = tmp_path / "robot.urdf"
    path.write_text(URDF, encoding="utf-8")
    found = "\n".join(finding.text() for finding in inspect(path)[1])
    assert "neither 'lower' nor 'upper' is given" in found
    assert "'package://parts/b.stl' is meant" in found
    model = jc.load(path)
    assert (model.lower[0], model.upper[0]) == (-np.inf, np.inf)


def test_a_model_shows_where_its_joints_are_and_explains_quaternions_only_if_it_has_some():
    arm = repr(jc.models.chain(2))
    assert "q[1:2], v[1:2]" in arm
    assert "quaternion" not in arm
    flying = repr(jc.models.aerial_manipulator())
    assert "q[0:7], v[0:6]" in flying
    assert "free quaternion (x, y, z, w), position" in flying
    assert "spherical" not in flying
