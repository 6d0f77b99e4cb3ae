"""What `jc.save` refuses, and what it leaves behind when it does."""

from __future__ import annotations

import io
import os
import stat

import numpy as np
import pytest

import jounce as jc
from jounce.model.joints import Joint, Mimic

ARM = jc.models.chain(2)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", ["arm.urdf", "arm.xml", "ARM.URDF"])
def test_a_path_is_written_and_read(tmp_path, name):
    jc.save(ARM, tmp_path / name)
    assert jc.load(str(tmp_path / name)).joint_names == ARM.joint_names
    assert names_in(tmp_path) == [name]


@pytest.mark.parametrize("kind", ["urdf", "mjcf"])
def test_open_files_take_text_or_bytes(tmp_path, kind):
    text, data = io.StringIO(), io.BytesIO()
    jc.save(ARM, text, format=kind)
    jc.save(ARM, data, format=kind)
    assert data.getvalue().decode() == text.getvalue()
    with (tmp_path / "arm.urdf").open("w", encoding="utf-8") as file:
        jc.save(ARM, file, format=kind)
    with (tmp_path / "arm.xml").open("wb") as file:
        jc.save(ARM, file, format=kind)
    assert (tmp_path / "arm.urdf").read_text("utf-8") == text.getvalue()
    assert (tmp_path / "arm.xml").read_bytes() == data.getvalue()


def test_the_ending_of_an_open_file_decides(tmp_path):
    with (tmp_path / "arm.xml").open("w", encoding="utf-8") as file:
        jc.save(ARM, file)
    assert "<mujoco" in (tmp_path / "arm.xml").read_text("utf-8")


def test_names_in_all_scripts(tmp_path):
    model = jc.ModelBuilder(name="Löwe & <Bär>")
    model.add_body('手 "1"', None, "revolute", mass=1.0, inertia=(1, 1, 1), joint_name="β\tγ\n")
    for name in ("robot.urdf", "robot.xml"):
        jc.save(model.build(), tmp_path / name)
        again = jc.load(tmp_path / name)
        assert (again.name, again.body_names, again.joint_names) == (
            "Löwe & <Bär>", ('手 "1"',), ("β\tγ\n",))  # fmt: skip


def test_a_missing_folder(tmp_path):
    with pytest.raises(jc.MissingFileError, match=r"there is no folder '.*nowhere' to write"):
        jc.save(ARM, tmp_path / "nowhere" / "arm.urdf")


@pytest.mark.parametrize("name", ["arm", "arm.sdf", "arm.urdf.txt"])
def test_an_ending_that_names_no_format(tmp_path, name):
    with pytest.raises(jc.ArgumentError, match=r"ends in \.urdf or \.xml"):
        jc.save(ARM, tmp_path / name)
    jc.save(ARM, tmp_path / name, format="urdf")
    assert "<robot" in (tmp_path / name).read_text()


def test_other_mistakes_of_the_call(tmp_path):
    with pytest.raises(jc.ArgumentError, match="format must be 'urdf' or 'mjcf', got 'sdf'"):
        jc.save(ARM, tmp_path / "arm.urdf", format="sdf")
    with pytest.raises(jc.ArgumentTypeError, match="expected a path or an open file, got 3"):
        jc.save(ARM, 3)
    with pytest.raises(jc.ArgumentTypeError, match=r"model must be a jounce\.Model, got str"):
        jc.save("arm.urdf", ARM)
    with pytest.raises(jc.ArgumentError, match="format='urdf' or 'mjcf'"):
        jc.save(ARM, io.StringIO())


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "arm.xml"
    path.write_text("old")
    heavy = jc.ModelBuilder().add_body("dot", None, "revolute", mass=1.0).build()
    with pytest.raises(jc.ModelError, match="body 'dot'"):
        jc.save(heavy, path)
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["arm.xml"]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "arm.urdf"
    path.write_text("old")

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(jc.ModelError, match="cannot write the model file: No space left"):
        jc.save(ARM, path)
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["arm.urdf"]


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "arm.urdf").mkdir()
    with pytest.raises(jc.ModelError, match="cannot write the model file"):
        jc.save(ARM, tmp_path / "arm.urdf")


@pytest.mark.skipif(os.name != "posix", reason="links and permissions of POSIX")
def test_links_and_permissions_stay(tmp_path):
    file, link = tmp_path / "real.urdf", tmp_path / "link.urdf"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    jc.save(ARM, link)
    assert link.is_symlink()
    assert "<robot" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


BODIES_REFUSED = {
    "it moves with a mass of 0 kg": {"mass": 0.0},
    "it moves with the principal moments of inertia 0, 0, 0": {"mass": 1.0},
    "break the triangle inequality": {"mass": 1.0, "inertia": (1, 1, 3)},
    "moments of inertia -1, 1, 1": {"mass": 1.0, "inertia": (1, -1, 1)},
    "its mass is zero but its first moment is not": {"parameters": [0, 1] + [0] * 8},
}


@pytest.mark.filterwarnings("ignore::jounce.ModelWarning")
@pytest.mark.parametrize("why", BODIES_REFUSED)
def test_bodies_that_mujoco_refuses_are_named(why):
    builder = jc.ModelBuilder()
    builder.add_body("good", None, "revolute", mass=1.0, inertia=(1, 1, 2))
    builder.add_body("first", "good", "revolute", **BODIES_REFUSED[why])
    builder.add_body("second", "good", "revolute", **BODIES_REFUSED[why])
    with pytest.raises(jc.ModelError, match="MuJoCo refuses 2 bodies") as caught:
        jc.save(builder.build(), io.StringIO(), format="mjcf")
    for body in ("first", "second"):
        assert f"body {body!r}: " in str(caught.value)
    assert why in str(caught.value)
    assert "good" not in str(caught.value)


def test_flat_bodies_are_no_mistake():
    """Rounding may make the largest moment larger than the sum of the others."""
    from jounce import lie

    rng = np.random.default_rng(0)
    for _ in range(50):
        turn, moments = (
            lie.exp(rng.standard_normal(3)),
            np.append(m := rng.uniform(1, 2, 2), m.sum()),
        )
        inertia = turn @ np.diag(moments) @ turn.T
        inertia = 0.5 * (inertia + inertia.T)
        com = rng.uniform(-3, 3, 3)
        model = (
            jc.ModelBuilder()
            .add_body("plate", None, "free", mass=2.0, com=com, inertia=inertia)
            .build()
        )
        file = io.StringIO()
        jc.save(model, file, format="mjcf")
        again = jc.load_mjcf(file.getvalue())
        scale = np.abs(model.inertias).max()
        assert np.abs(again.inertias - model.inertias).max() < 32 * np.finfo(float).eps * scale


@pytest.mark.filterwarnings("ignore::jounce.ModelWarning")
@pytest.mark.parametrize("kinds", [("spherical", "revolute"), ("free", "prismatic")])
def test_joints_that_mujoco_does_not_put_on_one_body(kinds):
    joints = [Joint(kind) for kind in kinds]
    builder = jc.ModelBuilder().add_body("arm", None, joints, mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(jc.ModelError, match=f"joints of body 'arm'.*got {', '.join(kinds)}"):
        jc.save(builder.build(), io.StringIO(), format="mjcf")


def test_trees_too_deep_for_readers_of_mjcf():
    from jounce.io._write_mjcf import DEEPEST

    file = io.StringIO()
    jc.save(jc.models.chain(DEEPEST), file, format="mjcf")
    assert jc.load_mjcf(file.getvalue()).n_bodies == DEEPEST
    with pytest.raises(jc.ModelError, match=rf"at most {DEEPEST} bodies inside.*'body{DEEPEST}'"):
        jc.save(jc.models.chain(DEEPEST + 1), file, format="mjcf")


def test_a_first_moment_without_mass_has_no_center():
    builder = jc.ModelBuilder()
    builder.add_body("ghost", None, "revolute", parameters=[0, 1] + [0] * 8)
    model = builder.build(warn=False)
    with pytest.raises(jc.ModelError, match="body 'ghost': its mass is zero but its first moment"):
        jc.save(model, io.StringIO(), format="urdf")


@pytest.mark.parametrize("leader", ["nothing", "ball"])
def test_joints_that_follow_what_has_no_coordinate(leader):
    builder = jc.ModelBuilder()
    builder.add_body("a", None, "spherical", joint_name="ball", mass=1.0, inertia=(1, 1, 1))
    builder.add_body("b", None, Joint("revolute", "follower", mimic=Mimic(leader)), mass=1.0)
    with pytest.raises(jc.ModelError, match=f"joint 'follower' follows '{leader}'"):
        jc.save(builder.build(), io.StringIO(), format="urdf")


@pytest.mark.parametrize("name", ["bell\a", "  "])
def test_names_that_no_file_can_hold(name):
    model = jc.ModelBuilder().add_body(name, None, "revolute", mass=1.0).build()
    with pytest.raises(jc.ModelError, match="no file can hold the body or frame name"):
        jc.save(model, io.StringIO(), format="urdf")


URDF = """
<robot name="r">{header}
  <link name="base"/><link name="between"/><link name="arm">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>{link}
  <joint name="a" type="continuous"><parent link="base"/><child link="between"/>{first}</joint>
  <joint name="b" type="continuous"><parent link="between"/><child link="arm"/></joint>
</robot>
"""
BAD_EXTENSIONS = {
    "unknown field 'color'": {"first": '<jounce color="1"/>'},
    "armature must be numbers": {"first": '<jounce armature="much"/>'},
    "lower must be numbers": {"first": '<jounce lower="nan"/>'},
    "actuated must be true or false": {"first": '<jounce actuated="maybe"/>'},
    "type must be that of a joint": {"first": '<jounce type="elastic"/>'},
    "there is no chain from here to link 'leg'": {"first": '<jounce body="leg"/>'},
    "attribute 'gravity' must be 3 numbers": {"header": '<jounce gravity="1 2"/>'},
    "links inside the chain have masses or other joints": {
        "first": '<jounce body="arm"><joint name="u" type="universal"/></jounce>',
        "link": '<link name="x"/><joint name="c" type="fixed"><parent link="between"/>'
        '<child link="x"/></joint>',
    },
}


@pytest.mark.parametrize("message", BAD_EXTENSIONS)
def test_extensions_that_say_nothing_sensible(message):
    parts = {"header": "", "first": "", "link": "", **BAD_EXTENSIONS[message]}
    with pytest.raises(jc.ModelError, match=rf"<string>:\d+: .*{message}"):
        jc.load_urdf(URDF.format(**parts))


def test_a_chain_of_urdf_is_read_as_one_joint():
    first = '<jounce body="arm"><joint name="u" type="universal" axis="0 1 0"/></jounce>'
    model = jc.load_urdf(URDF.format(header="", first=first, link=""), strict=True)
    assert model.joint_names == ("u",)
    assert model.joints[0].type == "universal"


@pytest.mark.parametrize(
    "data", ["{}", "[1]", "nonsense", '{"joints": [{"parts": []}], "names": {}}',
             '{"joints": [{"parts": ["j"], "fields": 3}], "names": {}}']
)  # fmt: skip
def test_texts_of_mjcf_that_say_nothing_sensible(data):
    text = (
        f"<mujoco><custom><text name='jounce' data='{data}'/></custom><worldbody><body>"
        "<joint name='j'/><geom size='1'/></body></worldbody></mujoco>"
    )
    with pytest.raises(jc.ModelError, match="the custom text 'jounce' is not what jounce writes"):
        jc.load_mjcf(text)


def test_texts_of_mjcf_about_other_joints():
    data = '{"joints": [{"name": "j", "parts": ["j", "k"], "fields": {}}], "names": {}}'
    text = (
        f"<mujoco><custom><text name='jounce' data='{data}'/></custom><worldbody><body>"
        "<joint name='j'/><geom size='1'/></body></worldbody></mujoco>"
    )
    with pytest.raises(jc.ModelError, match=r"joint 'j': expected the parts \['j', 'k'\]"):
        jc.load_mjcf(text)
