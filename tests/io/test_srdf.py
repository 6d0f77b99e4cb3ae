"""Reference poses of SRDF files, as Pinocchio reads them; and in saved files."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import jounce as jc
from jounce.io.srdf import with_srdf

URDF = """
<robot name="r">
  <link name="base"/><link name="arm"/><link name="hand"/><link name="left"/><link name="right"/>
  <link name="ball"/><link name="sled"/>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="arm"/></joint>
  <joint name="wrist" type="fixed"><parent link="arm"/><child link="hand"/></joint>
  <joint name="finger" type="prismatic"><parent link="hand"/><child link="left"/></joint>
  <joint name="other" type="prismatic"><parent link="hand"/><child link="right"/>
    <mimic joint="finger" multiplier="-2" offset="0.5"/></joint>
  <joint name="eye" type="spherical"><parent link="arm"/><child link="ball"/></joint>
  <joint name="rail" type="planar"><parent link="base"/><child link="sled"/></joint>
</robot>
"""


def load(srdf, tmp_path, **options):
    path = tmp_path / "robot.urdf"
    path.write_text(URDF)
    return jc.load(path, srdf=srdf, **options)


def state(*joints, name="home", group="all"):
    inside = "".join(f'<joint name="{joint}" value="{value}"/>' for joint, value in joints)
    return f'<group_state name="{name}" group="{group}">{inside}</group_state>'


def srdf(*parts):
    return "<robot name='r'>\n" + "\n".join(parts) + "\n</robot>"


def test_joints_that_a_pose_does_not_name_are_neutral_or_follow(tmp_path):
    model = load(srdf(state(("shoulder", "1.5"), ("finger", "0.1"))), tmp_path)
    q = model.poses["home"]
    assert q[model.q_slice("shoulder")] == 1.5
    assert q[model.q_slice("other")] == pytest.approx(0.5 - 2 * 0.1, abs=1e-15)
    assert q[model.q_slice("eye")].tolist() == [0, 0, 0, 1]
    assert not q.flags.writeable
    told = load(srdf(state(("finger", "0.1"), ("other", "0.2"))), tmp_path).poses["home"]
    assert told[model.q_slice("other")] == 0.2


def test_layouts_of_joints(tmp_path):
    text = srdf(
        state(
            ("root_joint", "1 2 3 0 0 0.6 0.8"),
            ("shoulder", "0 -1"),
            ("eye", "0 0.6 0 0.8001"),
            ("rail", "0.1 0.2 -1 0"),
        )
    )
    model = load(text, tmp_path, base="free")
    q = model.poses["home"]
    assert q[:7].tolist() == [0, 0, 0.6, 0.8, 1, 2, 3]
    assert q[model.q_slice("shoulder")] == -np.pi / 2
    assert np.linalg.norm(q[model.q_slice("eye")]) == pytest.approx(1.0, abs=1e-15)
    assert q[model.q_slice("rail")].tolist() == [0.1, 0.2, np.pi]


def test_states_of_several_groups_make_one_pose(tmp_path):
    text = srdf(
        state(("shoulder", "1"), name="home", group="arm"),
        state(("finger", "0.2"), name="home", group="hand"),
        state(("finger", "0.3"), name="open", group="hand"),
    )
    model = load(text, tmp_path)
    assert list(model.poses) == ["home", "open"]
    assert model.poses["home"][model.q_slice("shoulder")] == 1
    assert model.poses["home"][model.q_slice("finger")] == 0.2
    assert model.poses["open"][model.q_slice("shoulder")] == 0


def test_joints_that_the_model_does_not_move_are_passed_over(tmp_path):
    text = srdf(
        '<virtual_joint name="odom" type="planar" parent_frame="world" child_link="base"/>',
        state(
            ("root_joint", "0 0 1 0 0 0 1"), ("odom", "0 0 0"), ("wrist", "1"), ("shoulder", "1")
        ),
    )
    assert load(text, tmp_path).poses["home"][0] == 1
    locked = load(srdf(state(("other", "3"))), tmp_path, mimic="locked")
    assert not locked.poses["home"][:2].any()


def test_doubtful_files_warn_and_are_refused_if_strict(tmp_path):
    unknown = srdf(state(("sholder", "1")))
    with pytest.warns(
        jc.ModelWarning, match=r"^<string>:2: .*no joint 'sholder'; did you mean 'shou"
    ):
        load(unknown, tmp_path)
    twice = srdf(state(("shoulder", "1")), state(("shoulder", "2"), group="arm"))
    with pytest.warns(jc.ModelWarning, match=r"^<string>:3: .*two positions of joint 'shoulder'"):
        model = load(twice, tmp_path)
    assert model.poses["home"][0] == 1
    path = tmp_path / "r.xml"
    jc.save(jc.models.chain(1), path)
    for text in (unknown, twice):
        with pytest.raises(
            jc.ModelError, match=r"<string>:\d: <joint.*: (there is no|pose 'home')"
        ):
            jc.load(path, srdf=text.replace("shoulder", "joint0"), strict=True)


MISTAKES = {
    "'value' must be a number, got 'pi'": state(("shoulder", "pi")),
    "'value' must be a number": state(("shoulder", "1 2 3")),
    "'value' must be 4 numbers": state(("eye", "1 2 3")),
    "expected a unit quaternion, got norm 2": state(("eye", "0 0 0 2")),
    "no cosine and sine": state(("shoulder", "0 0.1")),
    "no cosine and sine, their norm is 1.4142": state(("shoulder", "1 1")),
    "no cosine and sine, their norm is 1.002": state(("rail", "3 4 1.002 0")),
    "attribute 'name' is missing": "<group_state group='all'/>",
    "attribute 'value' is missing": "<group_state name='x'><joint name='eye'/></group_state>",
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_are_found_by_line(message, tmp_path):
    with pytest.raises(jc.ModelError, match=rf"<string>:2: .*{message}"):
        load(srdf(MISTAKES[message]), tmp_path)


def test_elements_that_no_state_has_are_told(tmp_path):
    slip = state(("finger", "1"), ("shoulder", "1")).replace("<joint", "<jiont", 1)
    section = state(("shoulder", "1")).replace("group_state", "group_sate")
    cases = ((slip, "<jiont name='finger'> in <group_state"), (section, "<group_sate name='home'>"))
    for inside, message in cases:
        with pytest.warns(jc.ModelWarning, match=rf"<string>:2: {message}.*: unknown element"):
            load(srdf(inside), tmp_path)
        with pytest.raises(jc.ModelError, match=rf"<string>:2: {message}.*: unknown element"):
            with_srdf(load(srdf(), tmp_path), srdf(inside), strict=True)
        with pytest.warns(jc.ModelWarning, match=rf"<string>:5: {message}.*: unknown element"):
            jc.load_urdf(URDF.replace("<joint", inside + "<joint", 1))
    others = '<group name="all"/><end_effector name="e"/><disable_collisions link1="a" link2="b"/>'
    load(srdf(others, state(("finger", "1")).replace("<joint", "<v:tag/><joint")), tmp_path)


def test_positions_beyond_limits_are_told(tmp_path):
    limits = {"finger": "-1 2", "shoulder": "-1.5708 1.5708"}
    text = URDF.replace('type="continuous"', 'type="revolute"')
    for name, words in limits.items():
        lower, upper = words.split()
        limit = f'<limit lower="{lower}" upper="{upper}" effort="1" velocity="1"/></joint>'
        start = text.index(f'name="{name}"')
        text = text[:start] + text[start:].replace("</joint>", limit, 1)
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    fine = srdf(state(("finger", "2"), ("shoulder", "1.57085")))
    assert jc.load(path, srdf=fine).poses["home"][0] == 1.57085
    beyond = srdf(state(("finger", "2.5")))
    message = (
        r"^<string>:2: <joint name='finger'> in <group_state name='home'>: position 2\.5 is out"
    )
    with pytest.warns(jc.ModelWarning, match=message + ".* -1 to 2 of"):
        model = jc.load(path, srdf=beyond)
    assert model.poses["home"][model.q_slice("finger")] == 2.5
    with pytest.raises(jc.ModelError, match=message):
        with_srdf(model, beyond, strict=True)


def test_a_joint_that_is_missing_is_told_once_and_in_one_place(tmp_path):
    text = srdf(state(("zz", "1")), state(("zz", "2"), name="other"))
    with pytest.warns(jc.ModelWarning) as caught:
        load(text, tmp_path)
    (warning,) = caught
    said = str(warning.message)
    assert said.count("no joint 'zz'") == said.count("<string>") == 1
    with pytest.warns(jc.ModelWarning) as caught:
        jc.load_urdf(URDF.replace("</robot>", state(("zz", "1")) + "</robot>"))
    said = str(caught[0].message)
    assert said.startswith("<string>:12: <joint name='zz'> in <group_state name='home'>: there is")
    assert said.count("<string>") == 1


def test_other_files(tmp_path):
    with pytest.raises(jc.ModelError, match="expected <robot> as the root element of an SRDF"):
        load("<mujoco/>", tmp_path)
    with pytest.raises(jc.MissingFileError):
        load(tmp_path / "nothing.srdf", tmp_path)


def test_poses_are_saved_in_the_words_of_srdf(tmp_path):
    text = srdf(state(("root_joint", "1 2 3 0 0 0.6 0.8"), ("shoulder", "0.7")))
    model = load(text, tmp_path, base="free")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jc.ModelWarning)
        jc.save(model, tmp_path / "again.urdf")
    again = jc.load(tmp_path / "again.urdf", base="free")
    assert np.array_equal(again.poses["home"], model.poses["home"])
    fixed = jc.load(tmp_path / "again.urdf")
    assert np.array_equal(fixed.poses["home"], model.poses["home"][7:])


def pairs():
    """SRDF files of example-robot-data and the robots that they are for."""
    from real_robots import DIRECTORY, ROBOTS

    for path in sorted(DIRECTORY.rglob("*.srdf")):
        names = (path.stem, f"{path.stem}_robot", f"{path.stem}_full_v2")
        robots = [robot for robot in ROBOTS if robot.stem in names]
        folder = [robot for robot in robots if robot.parent.parent == path.parent.parent]
        for robot in (folder or robots)[:1]:
            yield pytest.param(robot, path, id=path.stem)


@pytest.mark.filterwarnings("ignore::jounce.ModelWarning")
@pytest.mark.parametrize(("robot", "path"), list(pairs()))
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_poses_of_pinocchio(robot: Path, path: Path, base):
    pin = pytest.importorskip("pinocchio")
    from jounce.interop.pinocchio import Converter

    model = jc.load(str(robot), base=base, srdf=path)
    root = () if base == "fixed" else (pin.JointModelFreeFlyer(),)
    theirs = pin.buildModelFromUrdf(str(robot), *root)
    pin.loadReferenceConfigurations(theirs, str(path), False)
    found = {item.key(): item.data() for item in theirs.referenceConfigurations}
    assert set(found) == set(model.poses)
    there = Converter(model, theirs)
    follows = [joint.name for joint in model.joints if joint.mimic is not None]
    for name, their_q in found.items():
        expected = there.from_q(their_q)
        for joint in follows:
            expected[model.q_slice(joint)] = model.poses[name][model.q_slice(joint)]
        assert np.allclose(model.poses[name], expected, rtol=0, atol=1e-14)
