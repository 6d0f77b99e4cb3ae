"""SDF: what includes say beside their files; values with elements in them; mimic joints."""

from __future__ import annotations

import numpy as np
import pytest
from test_sdf import FINGER, axis, compare, joint, link, pose, save, sdf

import jounce as jc
from jounce.errors import ModelError, ModelWarning

__all__ = ["save"]

PLACED = FINGER.replace('<model name="finger">', '<model name="finger" placement_frame="root">')


def include(inside: str) -> str:
    return f"<include><uri>package://fingers/finger.sdf</uri><name>left</name>{inside}</include>"


def hand(inside: str) -> str:
    return sdf(
        link("palm"),
        joint("weld", "fixed", "world", "palm"),
        include(inside),
        joint("base", "revolute", "palm", "left::knuckle", axis("0 1 0")),
    )


@pytest.mark.parametrize("placement", ["", "<placement_frame>nail</placement_frame>"])
@pytest.mark.parametrize(
    "own", ["", pose("0 1 0 0.3 0 1"), pose("1 0 2 0 0 1", relative_to="palm")]
)
def test_the_placement_of_the_file_holds_unless_the_include_says_another(own, placement, save):
    save("fingers/finger.sdf", PLACED.replace("<link", pose("3 2 1 0.1 0 0") + "<link", 1))
    path = save("hand.sdf", hand(own + placement if own else ""))
    model, plant, context, q = compare(path)
    theirs = plant.GetFrameByName("nail").CalcPoseInWorld(context).GetAsMatrix4()
    ours = jc.body_pose(model, q, "left::nail")
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13 * np.abs(theirs).max())


def test_a_placement_needs_a_pose_beside_it(save):
    save("fingers/finger.sdf", FINGER)
    text = hand("<placement_frame>nail</placement_frame>")
    with pytest.raises(ModelError, match=r"<placement_frame> in <include>.*: it needs a <pose>"):
        jc.load(save("hand.sdf", text))


@pytest.mark.parametrize(("said", "rates"), [("", 0), ("false", 1), ("true", 0)])
def test_what_an_include_says_of_static_replaces_what_its_file_says(said, rates, save):
    save("fingers/finger.sdf", FINGER.replace("<link", "<static>true</static><link", 1))
    static = said and f"<static>{said}</static>"
    text = f'<sdf version="1.9"><world name="w">{include(static)}</world></sdf>'
    assert jc.load(save("world.sdf", text)).nv == rates


TREE = sdf(
    link("base"),
    link("tip", pose("0 0 1 0 0 0")),
    joint("j", "revolute", "base", "tip", axis("0 1 0")),
    "<static>false</static>",
)
VALUES = [
    (">0 0 1 0 0 0<", "><position>0 0 1</position><", "position"),
    (">0 0 1 0 0 0<", "><foo/>0 0 1 0 0 0<", "foo"),
    (">0 0 1 0 0 0<", ">0 0 1 0 0 0<foo/> 3<", "foo"),
    (">0 0 1 0 0 0<", "><xacro:insert_block name='o'/><", "insert_block"),
    (">false<", "><foo/>true<", "foo"),
    (">1.5<", ">1.5<foo/>2<", "foo"),
    (">base</parent", ">base<foo/></parent", "foo"),
]


@pytest.mark.parametrize(("old", "new", "tag"), VALUES)
def test_values_have_no_elements_in_them(old, new, tag):
    assert old in TREE
    reason = "xacro is not expanded here" if "xacro" in new else "a value has no elements in it"
    with pytest.raises(ModelError, match=rf"^<string>:\d+: <.*{tag}.*{reason}"):
        jc.load_sdf(TREE.replace(old, new, 1))


def test_comments_may_be_anywhere():
    for old in (">0 0 1 0 0 0<", ">1.5<", ">base</parent"):
        text = TREE.replace(old, old.replace(">", "><!-- x --><?y z?>", 1), 1)
        assert jc.load_sdf(text, strict=True) == jc.load_sdf(TREE)


def test_text_between_elements_is_told():
    text = TREE.replace("<inertial>", "<inertial>junk 5", 1)
    with pytest.warns(ModelWarning, match="text between elements is not read: 'junk 5'"):
        assert jc.load_sdf(text) == jc.load_sdf(TREE)
    with pytest.raises(ModelError, match=r"<inertial>.*junk 5"):
        jc.load_sdf(text, strict=True)


def mimics(leader: str, kind: str = "revolute", more: str = "") -> str:
    first = axis("0 1 0", more=f'<mimic joint="{leader}"{more}><multiplier>2</multiplier></mimic>')
    others = {"fixed": "", "ball": "", "universal": axis("1 0 0") + axis("0 1 0", tag="axis2")}
    return sdf(
        *map(link, ("base", "rod", "tip")),
        joint("weld", "fixed", "world", "base"),
        joint("p", "revolute", "base", "rod", first),
        joint("k", kind, "rod", "tip", others.get(kind, axis("1 0 0"))),
    )


@pytest.mark.parametrize(
    ("leader", "kind", "more", "message"),
    [
        ("p", "revolute", "", "joint 'p' mimics itself"),
        ("k", "fixed", "", "joint 'k' is fixed, it has no position"),
        ("k", "ball", "", "joint 'k' is spherical, it has no position"),
        ("k", "revolute", " axis='axis2'", "joint 'k' has no 'axis2'"),
    ],
)
def test_joints_that_cannot_be_followed_are_refused(leader, kind, more, message):
    with pytest.raises(ModelError, match=rf"^<string>:\d+: <mimic> in <axis>.*{message}"):
        jc.load_sdf(mimics(leader, kind, more))


def test_joints_that_follow_each_other_are_refused():
    text = mimics("k").replace(axis("1 0 0"), axis("1 0 0", more='<mimic joint="p"/>'))
    with pytest.raises(ModelError, match=r"<mimic> in <axis>.* joint '[pk]' mimics itself"):
        jc.load_sdf(text)


def test_joints_may_follow_others():
    model = jc.load_sdf(mimics("k", more=" axis='axis'"), strict=True)
    assert model.joints[0].mimic == jc.Mimic("k", 2.0, 0.0)
    with pytest.warns(ModelWarning, match="an axis of a universal joint are left free"):
        assert jc.load_sdf(mimics("k", "universal")).joints[0].mimic is None


@pytest.mark.parametrize("size", ["1e-200", "5e-324", "1e40"])
def test_axes_of_any_length_are_directions(size):
    text = TREE.replace("<xyz>0 1 0", f"<xyz>0 -{size} 0")
    assert jc.load_sdf(text) == jc.load_sdf(TREE.replace("<xyz>0 1 0", "<xyz>0 -1 0"))
