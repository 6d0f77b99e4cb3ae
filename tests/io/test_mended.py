"""Slips of XML that leave no doubt, and what fixed joints do not need, refuse no URDF file."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce.io._mended import mended

LINK = (
    '<link name="{}"><inertial><mass value="2"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
)
JOINT = '<joint name="{}" type="{}"><parent link="a"/><child link="b"/>{}</joint>'
AXIS = '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'


def robot(extra="", joint=("hinge", "revolute", AXIS)):
    links = LINK.format("a") + LINK.format("b")
    return f'<robot name="r">\n{links}\n{extra}\n{JOINT.format(*joint)}\n</robot>'


SLIPS = {
    "newline first": "\n<?xml version='1.0'?>\n" + robot(),
    "space after the mark of UTF-8": b"\xef\xbb\xbf \n<?xml version='1.0' encoding='utf-8'?>"
    + robot().encode(),
    "comment that ends in three hyphens": robot("<!-- rows --->"),
    "comment of hyphens in several lines": robot("<!--\n-----\n--->"),
    "degrees of Latin-1 in a comment": robot("<!-- 30\xb0 -->").encode("latin-1"),
    "degrees of Latin-1 in a tag of a vendor": robot("<gazebo><t>30\xb0</t></gazebo>").encode(
        "latin-1"
    ),
    "ampersands": robot('<gazebo ref="x?a=1&b=2">this & that</gazebo>'),
    "a verbatim ampersand beside a slip": robot("<gazebo><![CDATA[& <!-- ]]></gazebo><!-- x --->"),
}


@pytest.mark.parametrize("name", SLIPS)
def test_slips_that_leave_no_doubt_are_mended(name):
    model = jc.load_urdf(SLIPS[name])
    assert model.joint_names == ("hinge",)
    np.testing.assert_array_equal(model.joints[0].axis, (0, 1, 0))
    with pytest.raises(jc.ModelError, match="not well-formed XML"):
        jc.load_urdf(SLIPS[name], strict=True)


def test_names_in_latin_1_are_read_as_such():
    text = robot(joint=("gelenk\xfc", "revolute", AXIS)).encode("latin-1")
    assert jc.load_urdf(text).joint_names == ("gelenk\xfc",)


def test_check_tells_of_what_was_mended(tmp_path, capsys):
    from jounce import cli

    path = tmp_path / "robot.urdf"
    path.write_text("\n<?xml version='1.0'?>" + robot("<gazebo>a & b</gazebo>"))
    assert cli.main(["check", str(path)]) == 4
    told = capsys.readouterr().out
    assert "precedes the XML declaration" in told
    assert "ampersand" in told


def test_errors_after_what_was_mended_keep_their_lines():
    """Three lines are in the comment, one is before the declaration."""
    text = "\n<?xml version='1.0'?>" + robot("<!--\n-----\n--->").replace('value="2"', 'value="x"')
    with pytest.raises(jc.ModelError, match=r"<string>:3: <mass> .*'x'"):
        jc.load_urdf(text)
    moved = text.replace('xyz="0 1 0"', 'xyz="0 1"').replace('value="x"', 'value="2"')
    with pytest.raises(jc.ModelError, match=r"<string>:7: <axis> "):
        jc.load_urdf(moved)


def test_entities_and_what_is_cut_off_are_still_refused():
    for text in (robot("<gazebo>&lol;</gazebo>"), robot("<!-- -- "), robot() + "&", robot("<a>")):
        with pytest.raises(jc.ModelError):
            jc.load_urdf(text)


@pytest.mark.parametrize("piece", [b"<!--", b"<![CDATA[", b"<?", b"&", b"<!-->", b"<?xml "])
def test_mending_takes_time_in_proportion(piece):
    """Searches that begin again from each piece would take hours."""
    data, _ = mended(b"\xff" + piece * 2_000_000, None)
    assert data.startswith("\xff".encode())


UNNEEDED = ('<axis xyz="a b"/>', "<axis/>", '<dynamics damping="-1"/>', '<limit lower="x"/>')


@pytest.mark.parametrize("part", UNNEEDED)
def test_what_a_fixed_joint_does_not_need_refuses_no_file(part):
    text = robot(joint=("weld", "fixed", part))
    assert jc.load_urdf(text).nv == 0
    with pytest.raises(jc.ModelError, match="in <joint name='weld'>"):
        jc.load_urdf(text, strict=True)
    with pytest.raises(jc.ModelError, match="in <joint name='hinge'>"):
        jc.load_urdf(text.replace("weld", "hinge").replace('"fixed"', '"revolute"'))


def test_sdf_joints_that_mimic_nothing_are_told_and_free():
    axis = '<axis><xyz>0 0 1</xyz><mimic joint="{}"><multiplier>2</multiplier></mimic></axis>'
    joint = '<joint name="j" type="revolute"><parent>world</parent><child>b</child>{}</joint>'
    text = '<sdf version="1.9"><model name="M"><link name="b"/>{}</model></sdf>'
    lost = text.format(joint.format(axis.format("nobody")))
    with pytest.warns(jc.ModelWarning, match=r"<mimic> .* there is no joint 'nobody'"):
        model = jc.load_sdf(lost)
    assert model.joints[0].mimic is None
    with pytest.raises(jc.ModelError, match="there is no joint 'nobody'"):
        jc.load_sdf(lost, strict=True)
