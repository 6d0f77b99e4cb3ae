"""Parts of MJCF files that share a name, or have none, are the same parts as in MuJoCo."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pytest

import jounce as jc
from jounce import lie

mujoco = pytest.importorskip("mujoco")
from jounce.interop.mujoco import Converter  # noqa: E402

PAIR = """<mujoco><worldbody>
<body {first} pos="0 0 1"><joint axis="0 1 0"/><geom size=".1" pos=".2 0 0"/>
  <site {of_first} pos=".5 .1 0" euler="10 20 30"/></body>
<body {second} pos="1 0 1"><joint type="ball"/><geom size=".1" pos=".2 0 0"/>
  <site {of_second} pos="-.5 0 .2" euler="0 50 0"/><site name="{other}" pos="0 0 .3"/></body>
</worldbody><equality>{equality}</equality></mujoco>"""

NAMES = {
    "like its body": ('name="a"', 'name="a"', 'name="b"', 'name="b"', "c"),
    "like the other body": ('name="a"', 'name="b"', 'name="b"', 'name="a"', "c"),
    "like a new name": ('name="a"', 'name="a"', 'name="b"', 'name="b"', "a_site"),
    "bodies without": ("", 'name="body2"', "", 'name="body1"', "body1_site"),
    "like the world": ('name="a"', 'name="world"', 'name="b"', 'name="b"', "world_site"),
}
EQUALITIES = {
    "connect": '<connect site1="{0}" site2="{1}"/>',
    "weld": '<weld site1="{0}" site2="{1}"/>',
    "weld of points": '<weld site1="{0}" site2="{1}" torquescale="0"/>',
    "one of them": '<connect site1="{0}" site2="{2}"/>',
}


def distances(text, seed=0):
    """How far the points that the first equality holds are apart, here and in MuJoCo."""
    model, theirs = jc.load_mjcf(text, strict=True), mujoco.MjModel.from_xml_string(text)
    data, q = mujoco.MjData(theirs), jc.random_configuration(model, seed)
    data.qpos[:] = Converter(model, theirs).to_q(q)
    mujoco.mj_forward(theirs, data)
    (item,) = model.constraints
    ends = [jc.body_pose(model, q, item.first), jc.body_pose(model, q, item.second)]
    if isinstance(item, jc.Weld):
        target = lie.inverse(np.array(item.target))[:3, 3]
    else:
        target = np.array(item.target)
        ends.reverse()
    held = (ends[0] @ [*target, 1.0])[:3]
    return np.linalg.norm(ends[1][:3, 3] - held), np.linalg.norm(data.efc_pos[:3])


def of_names(case, equality):
    first, of_first, second, of_second, other = NAMES[case]
    labels = of_first.split('"')[1], of_second.split('"')[1], other
    return PAIR.format(
        first=first,
        of_first=of_first,
        second=second,
        of_second=of_second,
        other=other,
        equality=EQUALITIES[equality].format(*labels),
    )


@pytest.mark.parametrize("kind", EQUALITIES)
@pytest.mark.parametrize("case", NAMES)
def test_equalities_hold_the_sites_that_they_name(case, kind):
    here, there = distances(of_names(case, kind))
    assert there > 0.1
    np.testing.assert_allclose(here, there, rtol=1e-13)


@pytest.mark.parametrize("case", NAMES)
def test_sites_are_the_frames_of_their_names(case):
    text, other = of_names(case, "connect"), NAMES[case][-1]
    model, theirs = jc.load_mjcf(text), mujoco.MjModel.from_xml_string(text)
    data, q = mujoco.MjData(theirs), jc.random_configuration(model, 0)
    data.qpos[:] = Converter(model, theirs).to_q(q)
    mujoco.mj_kinematics(theirs, data)
    point = model.constraints[0]
    for k, name in enumerate((point.first, point.second, other)):
        pose = jc.body_pose(model, q, name)
        np.testing.assert_allclose(pose[:3, 3], data.site_xpos[k], rtol=0, atol=1e-14)
        np.testing.assert_allclose(pose[:3, :3].ravel(), data.site_xmat[k], rtol=0, atol=1e-14)


def test_an_unnamed_keyframe_does_not_take_the_place_of_a_named_one():
    body = '<body><joint/><geom size="1"/></body>'
    keys = '<key name="key1" qpos="0.1"/><key qpos="0.2"/><key name="key2" qpos="0.3"/>'
    text = f"<mujoco><worldbody>{body}</worldbody><keyframe>{keys}</keyframe></mujoco>"
    poses = jc.load_mjcf(text).poses
    assert {name: q.tolist() for name, q in poses.items()} == {
        "key1": [0.1],
        "key1_": [0.2],
        "key2": [0.3],
    }


def saved(model):
    file = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jc.ModelWarning)
        jc.save(model, file, format="mjcf")
    return file.getvalue()


def with_equality(text, equality):
    """The file with an equality that somebody added."""
    if "</equality>" in text:
        return text.replace("</equality>", f"{equality}</equality>")
    return text.replace("</mujoco>", f"<equality>{equality}</equality></mujoco>")


def test_equalities_added_to_a_saved_file_hold_the_bodies_that_are_called_otherwise_in_it():
    """A body named "world" is called "world_" in the file."""
    builder = jc.ModelBuilder()
    for name, y in (("world", 0.0), ("arm", 1.0)):
        builder.add_body(
            name, None, "revolute", (0, y, 0), mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1, 1, 1)
        )
    text = saved(builder.build())
    assert '"world_"' in text
    for equality in (
        '<connect body1="world_" body2="arm" anchor="0 0 0.5"/>',
        '<weld body1="arm" body2="world_"/>',
    ):
        here, there = distances(with_equality(text, equality))
        assert there > 0.1
        np.testing.assert_allclose(here, there, rtol=1e-12)


def test_equalities_of_parts_of_joints_are_told():
    """In the file slides and hinges stand for a cylindrical joint; here it has no such parts."""
    builder = jc.ModelBuilder()
    for name, kind in (("a", "cylindrical"), ("b", "revolute"), ("c", "helical")):
        more = {"pitch": 0.3} if kind == "helical" else {}
        joint = jc.Joint(kind, name=f"j{name}", axis=(0, 0, 1), **more)
        builder.add_body(name, None, joint, mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1))
    text = saved(builder.build())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jc.load_mjcf(text).constraints == ()
    of_part = with_equality(text, '<joint name="mine" joint1="ja_1" joint2="jb"/>')
    with pytest.warns(jc.ModelWarning, match=r"of parts of joints here \('mine'\)"):
        assert jc.load_mjcf(of_part).constraints == ()
    with pytest.raises(jc.ModelError, match="mine"):
        jc.load_mjcf(of_part, strict=True)
    screw = jc.load_mjcf(with_equality(text, '<joint joint1="jc" joint2="jb"/>'), strict=True)
    np.testing.assert_allclose(jc.Constraints(screw).residual([0, 0, 2.0, 3.0]), [1.0])


def two_arms(*frames):
    builder = jc.ModelBuilder()
    for name, y in (("a", 0.0), ("b", 1.0)):
        builder.add_body(
            name, None, "revolute", (0, y, 0), mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1)
        )
    for frame in frames:
        builder.add_frame(frame, "a", (0.3, 0.2, 0.1))
    return builder.build()


def holding(model, item):
    parts = model.name, model.gravity, model.bodies, dict(model.frames)
    return jc.Model(*parts, constraints=[item])


def test_frames_that_are_called_like_our_own_sites_are_kept():
    model = two_arms("jounce:constraint0_site1", "_jounce:constraint0_site1", "world", "world_")
    for given in (model, holding(model, jc.Point("b", "world"))):
        again = jc.load_mjcf(saved(given))
        assert set(again.frames) == set(model.frames)
        q = jc.random_configuration(model, 0)
        for name in model.frames:
            pose = jc.body_pose(again, q, name)
            np.testing.assert_allclose(pose, jc.body_pose(model, q, name), rtol=0, atol=1e-15)


def test_equalities_of_a_saved_file_hold_without_its_text():
    point = jc.Point("b", "tip", target=(0.1, 0, 0))
    text = saved(holding(two_arms("tip"), point))
    start, end = text.index("<custom>"), text.index("</custom>") + len("</custom>")
    here, there = distances(text[:start] + text[end:])
    assert there > 0.1
    np.testing.assert_allclose(here, there, rtol=1e-12)


def test_a_helical_joint_may_be_called_like_the_equality_of_another():
    builder = jc.ModelBuilder()
    screws = jc.Joint("helical", name="mimic_b", pitch=0.3), jc.Joint("revolute", name="b")
    follows = jc.Joint("revolute", name="c", mimic=jc.Mimic("b", 2.0, 0.1))
    for joint in (*screws, follows):
        builder.add_body(
            f"of_{joint.name}", None, joint, mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1)
        )
    follows_screw = jc.Joint("helical", name="mimic_c", pitch=0.2)
    builder.add_body("of_it", None, follows_screw, mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1))
    model = builder.build()
    assert jc.load_mjcf(saved(model)).joint_names == model.joint_names
