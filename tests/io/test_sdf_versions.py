"""SDF files of all versions: what names mean in old ones, and what no version has.

Drake, which converts old files by sdformat, is the oracle.
"""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from test_sdf import axis, compare, joint, link, pose

import jounce as jc
from jounce import cli
from jounce.errors import ModelError, ModelWarning


def sdf(version: str, *parts: str, more: str = "") -> str:
    inside = "".join(parts)
    return f'<sdf version="{version}">\n<model name="arm"{more}>\n{inside}</model></sdf>'


def arm(version: str, frame: str = "", more: str = "") -> str:
    """Two links that are turned, whose joints are turned in them; `frame` places the second."""
    place = pose("0.1 0.2 0.3 0.4 0.5 0.6", **({frame: "upper"} if frame else {}))
    return sdf(
        version,
        link("upper", pose("0.5 0 1 0.1 -0.2 0.3")),
        link("lower", place, 2.0),
        joint("j", "revolute", "world", "upper", pose("0 0 1 0.3 0.2 0.1") + axis("1 2 3")),
        joint("k", "prismatic", "upper", "lower", pose("1 0 0 0 1 0") + axis("0 1 1", more=more)),
    )


@pytest.fixture
def save(tmp_path):
    def write(name: str, text: str):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("version", ["1.0", "1.2", "1.3", "1.4"])
def test_axes_of_old_versions_agree_with_drake(version, save):
    compare(save("arm.sdf", arm(version)))


@pytest.mark.parametrize("value", ["true", "false", "1", "0", "TRUE"])
def test_axes_that_say_their_frame_agree_with_drake(value, save):
    more = f"<use_parent_model_frame>{value}</use_parent_model_frame>"
    for version in ("1.6", "1.5", "1.4"):
        compare(save("arm.sdf", arm(version, more=more)))


def test_the_axis_of_an_old_file_is_in_the_frame_of_its_model():
    turned = link("a", pose("0 0 0 0 0 1.5707963267948966"))
    parts = turned, joint("j", "revolute", "world", "a", axis("1 0 0"))
    np.testing.assert_allclose(
        jc.load_sdf(sdf("1.4", *parts)).joints[0].axis, (0, -1, 0), atol=1e-15
    )
    assert jc.load_sdf(sdf("1.5", *parts)).joints[0].axis == (1, 0, 0)
    both = turned, joint("j", "universal", "world", "a", axis("1 0 0") + axis("0 1 0", tag="axis2"))
    np.testing.assert_allclose(
        jc.load_sdf(sdf("1.3", *both)).joints[0].axis2, (1, 0, 0), atol=1e-15
    )


def test_an_included_file_is_read_by_its_own_version(save):
    save("old.sdf", arm("1.4"))
    include = "<include><uri>old.sdf</uri><name>i</name></include>"
    new = jc.load(save("new.sdf", sdf("1.9", include)))
    for ours, theirs in zip(new.joints, jc.load_sdf(arm("1.4")).joints, strict=True):
        np.testing.assert_array_equal(ours.axis, theirs.axis)
    save("old.sdf", arm("2.0"))
    with pytest.raises(ModelError, match=r"old\.sdf:1: <sdf>: attribute 'version'"):
        jc.load(save("new.sdf", sdf("1.9", include)))


@pytest.mark.parametrize("version", ["1.4", "1.5", "1.6"])
def test_frames_of_old_poses_agree_with_drake(version, save):
    compare(save("arm.sdf", arm(version, "frame")))


def test_frames_of_old_poses_are_what_relative_to_says_later():
    new, old = jc.load_sdf(arm("1.7", "relative_to")), jc.load_sdf(arm("1.6", "frame"), strict=True)
    assert old == new != jc.load_sdf(arm("1.7"))
    chain = [
        link("a", pose("0 0 1 0 0 0", frame="w")),
        link("b", pose("0 0 1 0 0 0", frame="a")),
        '<frame name="w"><pose frame="c">0 0 1 0 0 0</pose></frame>',
        link("c", pose("0 0 1 0 0 0")),
    ]
    assert jc.load_sdf(sdf("1.6", *chain)).frames["b"].placement[2, 3] == 4
    moved = link("a") + link("b").replace("<pose", '<pose frame="a"')
    with pytest.raises(ModelError, match="the pose of an inertia is relative to its link"):
        jc.load_sdf(sdf("1.6", moved))


def test_gravity_was_part_of_the_physics_once():
    physics = "<physics><gravity>0 0 -1</gravity></physics>"
    text = f'<world name="w">{physics}<model name="m"><link name="a"/></model></world></sdf>'
    assert jc.load_sdf('<sdf version="1.5">' + text).gravity[2] == -1
    assert jc.load_sdf('<sdf version="1.6">' + text).gravity[2] == -9.81


@pytest.mark.parametrize("version", [None, "", "2.0", "0.9", "abc", "1", "1.09", "1.9.1", "1.x"])
def test_files_that_say_no_version_are_refused(version):
    text = arm("1.9").replace(' version="1.9"', "" if version is None else f' version="{version}"')
    with pytest.raises(ModelError, match=r"<string>:1: <sdf>: attribute 'version'.*1\.2 to 1\.12"):
        jc.load_sdf(text)


@pytest.mark.parametrize("version", ["1.13", "1.1", "1.20"])
def test_versions_that_are_not_known_are_doubtful(version):
    with pytest.warns(ModelWarning, match=rf"version {version} is not known, it is read as 1\.12"):
        model = jc.load_sdf(arm(version))
    assert model == jc.load_sdf(arm("1.12"))
    with pytest.raises(ModelError, match="<string>:1: <sdf>: version"):
        jc.load_sdf(arm(version), strict=True)


BASE = link("base", pose("1 0 0 90 0 0", degrees="true"))
TREE = sdf("1.9", BASE, joint("j", "revolute", "world", "base", axis("1 0 0")))

WRONG = [
    ("degrees='true'", "degrees='yes'", "pose", "'degrees': expected true, false, 1 or 0, got 'y"),
    ("degrees='true'", "rotation_format='rpy'", "pose", "expected euler_rpy or quat_xyzw, got"),
    ("<link", "<static>maybe</static><link", "static", "expected true, false, 1 or 0, got 'maybe'"),
    ("<inertial", "<gravity>no</gravity><inertial", "gravity", "expected true, false, 1 or 0"),
    ("<inertial", "<kinematic>2</kinematic><inertial", "kinematic", "expected true, false, 1 or 0"),
    ("<inertial>", '<inertial auto="x">', "inertial", "'auto': expected true, false, 1 or 0"),
    ("<link", '<include merge="y"><uri>a</uri></include><link', "include", "'merge': expected"),
    ('name="arm"', 'name="arm" canonical_link="bas"', "model", "named 'bas' here; did you mean"),
    ('name="arm"', 'name="arm" canonical_link="m::base"', "model", "nothing named 'm' here"),
    ("<link", "<origin/><link", "origin", "did you mean <pose>?"),
]


@pytest.mark.parametrize(("old", "new", "tag", "message"), WRONG, ids=range(len(WRONG)))
def test_what_is_no_truth_and_no_link_is_refused(old, new, tag, message):
    jc.load_sdf(TREE)
    assert old in TREE
    with pytest.raises(ModelError) as caught:
        jc.load_sdf(TREE.replace(old, new, 1))
    assert f": <{tag}" in str(caught.value).partition(" in ")[0]
    assert message in str(caught.value)


def test_quaternions_have_no_degrees():
    text = TREE.replace("degrees=", "rotation_format='quat_xyzw' degrees=").replace(
        "90 0 0", "0 0 0 1"
    )
    with pytest.raises(ModelError, match=r"<pose> in .*'degrees': a quaternion has none"):
        jc.load_sdf(text)


def test_truths_in_any_case_of_letters():
    for value in ("true", "True", "TRUE", "1", " true "):
        assert jc.load_sdf(TREE.replace("<link", f"<static>{value}</static><link")).nv == 0
        turned = jc.load_sdf(TREE.replace("degrees='true'", f"degrees='{value}'"))
        assert turned == jc.load_sdf(TREE)


def test_canonical_links_may_be_in_nested_models():
    text = sdf("1.9", '<model name="m"><link name="a"/></model>', more=' canonical_link="m::a"')
    assert "m::a" in jc.load_sdf(text).frames
    with pytest.raises(ModelError, match="nothing named 'b' here"):
        jc.load_sdf(text.replace("m::a", "m::b"))


DOUBTFUL = [
    ("<pose degrees", "<pose relativ_to='j' degrees", "attribute 'relativ_to'; did you mean"),
    ("<pose degrees", "<pose frame='j' degrees", "'frame' is 'relative_to' in SDF 1.7 and later"),
    ("<xyz>", "<xyz frame='j'>", "unknown attribute 'frame'; known here: 'expressed_in'"),
    ("<mass>", "<mass value='2'>", "unknown attribute 'value'; known here: none"),
    ("<ixx>", "<ixx unit='g'>", "unknown attribute 'unit'"),
    ("<inertial>", "<inertial mass='2'>", "unknown attribute 'mass'"),
    ("<link name", "<link kinematic='1' name", "unknown attribute 'kinematic'"),
    ("<link", "<frame name='f' attach_to='base'/><link", "did you mean 'attached_to'?"),
    ("<limit>", "<limit lower='1'>", "unknown attribute 'lower'"),
    ("<lower>", "<lower unit='deg'>", "unknown attribute 'unit'"),
    ("</link>", "<visual name='v' x='1'><geometry/></visual></link>", "unknown attribute 'x'"),
    ("</link>", "<visual name='v'><pose to='j'/><geometry/></visual></link>", "attribute 'to'"),
    ("</limit>", "</limit><mimic joint='j' factor='2'/>", "unknown attribute 'factor'"),
    ("<inertial", "<pose>0 0 0 0 0 0</pose><inertial", "there is already a <pose> in line"),
    ("<mass>", "<mass>9</mass><mass>", "already a <mass>"),
    ("</inertial>", "</inertial><inertial/>", "already a <inertial>"),
    ("</axis>", "</axis><axis><xyz>0 1 0</xyz></axis>", "already a <axis>"),
    ("</lower>", "</lower><lower>-9</lower>", "already a <lower>"),
    ("</limit>", "</limit><use_parent_model_frame>1</use_parent_model_frame>", "not in SDF 1.7"),
]  # fmt: skip
LEFT_OUT = [
    ("<mass>", "<fluid_added_mass><xx>1</xx></fluid_added_mass><mass>", "added mass of a fluid"),
    ("</link>", "<kinematic>1</kinematic></link>", "forces move this kinematic link"),
    ("</link>", "<velocity_decay><linear>1</linear></velocity_decay></link>", "decay of"),
]  # fmt: skip
LIMITED = TREE.replace("</axis>", "<limit><lower>-1</lower></limit></axis>").replace(
    "</model>", '<link name="end"/>' + joint("k", "revolute", "base", "end", "<axis/>") + "</model>"
)


@pytest.mark.parametrize(("old", "new", "message"), DOUBTFUL + LEFT_OUT)
def test_what_sdf_does_not_have_and_what_is_left_out_is_told(old, new, message, save, capsys):
    jc.load_sdf(LIMITED, strict=True)
    assert old in LIMITED
    text = LIMITED.replace(old, new, 1).replace("joint='j' factor", "joint='k' factor")
    with pytest.warns(ModelWarning) as caught:
        jc.load_sdf(text)
    assert str(caught[0].message).count(message) == 1
    with pytest.raises(ModelError, match=r"^<string>:\d+: <") as refused:
        jc.load_sdf(text, strict=True)
    assert message in str(refused.value)
    left_out = (old, new, message) in LEFT_OUT
    assert cli.main(["check", str(save("a.sdf", text))]) == (3 if left_out else 1)
    assert message in capsys.readouterr().out


def test_the_first_of_two_counts():
    text = LIMITED.replace("<mass>", "<mass>9</mass><mass>", 1)
    with pytest.warns(ModelWarning, match="which counts"):
        assert jc.load_sdf(text).inertias[0, 0] == 9


def test_zeros_leave_nothing_out():
    for old, new, zero in (
        ("<mass>", "<fluid_added_mass><xx>{}</xx></fluid_added_mass><mass>", "0"),
        ("</link>", "<kinematic>{}</kinematic></link>", "false"),
        ("</link>", "<velocity_decay><linear>{}</linear></velocity_decay></link>", "-0e0"),
    ):
        text = LIMITED.replace(old, new, 1)
        assert jc.load_sdf(text.format(zero), strict=True) == jc.load_sdf(LIMITED)
        with pytest.raises(ModelError):
            jc.load_sdf(text.format(1), strict=True)


def test_universal_joints_that_mimic_others_are_told():
    axes = axis("1 0 0") + axis("0 1 0", tag="axis2", more="<mimic joint='j'/>")
    more = link("end") + joint("k", "universal", "base", "end", axes) + "</model>"
    with pytest.warns(ModelWarning, match="universal joints that mimic others are left free"):
        jc.load_sdf(TREE.replace("</model>", more))


PREFIXES = ["", ' xmlns:gz="http://gazebosim.org/schema"']


@pytest.mark.parametrize("declared", PREFIXES, ids=["undeclared", "declared"])
def test_attributes_with_a_prefix_are_extensions(declared, save, capsys):
    text = TREE.replace("<link", '<link gz:role="arm"').replace("<sdf", f"<sdf{declared}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jc.load_sdf(text) == jc.load_sdf(TREE)
    with pytest.raises(ModelError, match=r"<link name='base'> in .*unknown attribute '.*role'"):
        jc.load_sdf(text, strict=True)
    assert cli.main(["check", str(save("a.sdf", text)), "--json"]) == 4
    (report,) = json.loads(capsys.readouterr().out)
    assert [problem["class"] for problem in report["problems"]] == ["style"]


def test_attributes_of_xml_itself_are_no_extensions():
    schema = 'xmlns:x="http://www.w3.org/2001/XMLSchema-instance" x:noNamespaceSchemaLocation="a"'
    text = TREE.replace("<sdf", f"<sdf {schema}")
    assert jc.load_sdf(text, strict=True) == jc.load_sdf(TREE)
    with pytest.raises(ModelError, match="unknown attribute"):
        jc.load_sdf(text.replace("www.w3.org", "example.org"), strict=True)


def test_a_file_with_several_of_these_mistakes(save, capsys):
    text = TREE.replace('version="1.9"', 'version="x"').replace("'true'", "'yes'")
    text = text.replace('"arm"', '"arm" canonical_link="none"')
    text = text.replace("</model>", '<static>maybe</static><frame name="f"/></model>')
    assert cli.main(["check", str(save("a.sdf", text)), "--json"]) == 1
    (report,) = json.loads(capsys.readouterr().out)
    found = " ".join(problem["text"] for problem in report["problems"])
    assert len(report["problems"]) == 4
    for part in ("'version'", "got 'yes'", "got 'maybe'", "nothing named 'none'"):
        assert found.count(part) == 1
