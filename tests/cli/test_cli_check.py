"""``jounce check`` tells everything that is wrong in a file, not only the first thing."""

from __future__ import annotations

import json

import pytest

from jounce import cli

BOX = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
LINK = '<link name="{}"><inertial><mass value="{}"/>{}</inertial></link>'
FLAT = BOX.replace('ixx="1"', 'ixx="9"')


@pytest.fixture
def check(tmp_path, capsys):
    """Problems of a file as class, line and the rest of the text, in the order of lines."""

    def check(name: str, text: str) -> list[tuple[str, int, str]]:
        path = tmp_path / name
        path.write_text(text)
        cli.main(["check", str(path), "--json"])
        (report,) = json.loads(capsys.readouterr().out)
        found = []
        for problem in report["problems"]:
            line, _, rest = problem["text"].removeprefix(f"{path}:").partition(": ")
            found.append((problem["class"], int(line), rest))
        return sorted(found, key=lambda row: row[1])

    return check


def texts_match(found, *expected):
    assert len(found) == len(expected), found
    for which, where, part in expected:
        assert any((kind, line) == (which, where) and part in text for kind, line, text in found), (
            part,
            found,
        )


def test_urdf_with_two_roots_and_an_impossible_inertia(check):
    text = f'<robot name="r">\n{LINK.format("a", 1, FLAT)}\n<link name="b"/></robot>'
    texts_match(
        check("a.urdf", text),
        ("physics", 2, "triangle inequality"),
        ("structure", 3, "there are 2 root links"),
    )


def test_urdf_with_several_mistakes_in_an_element(check):
    wrong = BOX.replace('ixx="1"', 'ixx="x"').replace('iyy="1"', "")
    joint = '<joint name="j" type="hinge"><parent link="a"/>\n<child link="c"/>'
    text = f"""<robot name="r">
{LINK.format("a", -1, wrong)}
{LINK.format("b", 1, FLAT)}
{joint}<axis xyz="0 0 0"/>
<origin xyz="1 2"/><limit lowr="3"/>
<mimic joint="j"/></joint></robot>"""
    texts_match(
        check("a.urdf", text),
        ("structure", 2, "mass must not be negative"),
        ("structure", 2, "attribute 'iyy' is missing"),
        ("structure", 2, "attribute 'ixx' must be a number"),
        ("physics", 3, "triangle inequality"),
        ("structure", 4, "unknown joint type 'hinge'"),
        ("structure", 5, "there is no link named 'c'"),
        ("structure", 5, "the axis of a joint must not be zero"),
        ("structure", 6, "attribute 'xyz' must be 3 numbers"),
        ("structure", 6, "unknown attribute 'lowr'"),
        ("structure", 7, "mimics itself"),
    )


def test_urdf_with_closed_loops_and_names_that_are_taken(check):
    joint = '<joint name="{}" type="fixed"><parent link="{}"/><child link="{}"/></joint>\n'
    text = '<robot name="r"><link name="a"/><link name="b"/><link name="a"/>\n'
    text += joint.format("j", "a", "b") + joint.format("j", "b", "a") + joint.format("k", "a", "b")
    texts_match(
        check("a.urdf", text + "</robot>"),
        ("structure", 1, "the name is taken"),
        ("structure", 2, "the joints form a loop"),
        ("structure", 3, "the name is taken"),
        ("structure", 4, "is the child of joint 'j' (line 2) already"),
    )


def test_what_follows_from_a_lost_element_is_not_told(check):
    joint = '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
    text = f'<robot name="r"><link name="a"/>\n<link nam="b"/>\n{joint}</robot>'
    texts_match(
        check("a.urdf", text),
        ("structure", 2, "unknown attribute 'nam'"),
        ("structure", 2, "attribute 'name' is missing"),
    )


def test_mjcf_asks_mujoco_again(check):
    pytest.importorskip("mujoco")
    text = """<mujoco><worldbody>
<body name="a"><joint name="j"/><geom size="0"/></body>
<body name="b"><joint/><geom size="nan"/></body>
<body name="c"><joint/><geom size="1"/><wrong/></body>
<body name="d"><joint name="k" type="none"/><geom size="1"/></body>
<body name="e"><joint name="l"/></body>
</worldbody><actuator><motor joint="j"/><motor joint="k"/><motor joint="l"/>
<motor joint="none"/></actuator></mujoco>"""
    texts_match(
        check("a.xml", text),
        ("structure", 2, "size 0 must be positive"),
        ("structure", 3, "nan is not a number"),
        ("structure", 4, "unrecognized element"),
        ("structure", 5, "invalid keyword: 'none'"),
        ("structure", 6, "mass and inertia of moving bodies"),
        ("structure", 8, "unknown transmission target 'none'"),
    )


def test_mjcf_misses_nothing_of_what_was_left_out(check):
    pytest.importorskip("mujoco")
    text = """<mujoco><worldbody>
<body name="a"><freejoint/><body name="b" pos="x"><joint name="j"/><geom size="1"/></body></body>
<replicate count="1000000000"><geom size="1"/></replicate>
</worldbody><actuator><motor joint="j"/></actuator></mujoco>"""
    found = check("a.xml", text)
    assert [line for _, line, _ in found] == [2, 3], found


def test_sdf_with_several_mistakes(check):
    text = """<sdf version="1.9"><model name="m">
<link name="a"><inertial><mass>x</mass>
<inertia><ixx>y</ixx></inertia></inertial><inertal/></link>
<link name="b"><inertial><inertia><ixx>9</ixx></inertia></inertial></link>
<link name="c"><pose relative_to="none"/>
<visual name="v"/></link>
<joint name="j" type="foo"><parent>a</parent><child>b</child></joint>
<joint name="k" type="revolute"><parent>a</parent><child>c</child><axis><xyz>0 0 0</xyz>
<limit><lower>z</lower></limit></axis></joint>
<joint name="l" type="fixed"><parent>a</parent><child>d</child></joint>
<frame name="f" attached_to="e"/>
</model></sdf>"""
    texts_match(
        check("a.sdf", text),
        ("structure", 2, "expected a number, got 'x'"),
        ("structure", 3, "did you mean <inertial>?"),
        ("structure", 3, "expected a number, got 'y'"),
        ("physics", 4, "triangle inequality"),
        ("structure", 5, "nothing named 'none'"),
        ("structure", 6, "<geometry> is missing"),
        ("structure", 7, "unknown joint type 'foo'"),
        ("structure", 8, "must not be zero"),
        ("structure", 9, "expected a number, got 'z'"),
        ("structure", 10, "nothing named 'd'"),
        ("structure", 11, "nothing named 'e'"),
    )
    lost = text.replace("</model>", "<include><uri>none.sdf</uri></include></model>")
    told = [rest for _, _, rest in check("a.sdf", lost)]
    assert sum("there is no file" in text for text in told) == 1
    assert not any("nothing named" in text for text in told)


def test_files_that_cannot_be_read_are_told_to_programs_too(tmp_path, capsys):
    good = tmp_path / "a.urdf"
    good.write_text(f'<robot name="r">{LINK.format("a", 1, BOX)}</robot>')
    missing = str(tmp_path / "nope.urdf")
    assert cli.main(["check", missing, str(good), "--json"]) == 2
    lost, found = json.loads(capsys.readouterr().out)
    assert lost["file"] == missing
    assert "nope.urdf" in lost["error"]
    assert found == {"file": str(good), "problems": []}


def test_names_that_the_output_cannot_hold_are_written_in_codes(tmp_path, python):
    path = tmp_path / "arm.urdf"
    link = LINK.format("\U0001f916", "-1", BOX)
    path.write_text(f'<robot name="r">{link}</robot>', "utf-8")
    code = "import sys; from jounce import cli; cli.main(['check', *sys.argv[1:]])"
    narrow = {"PYTHONIOENCODING": "cp1252:strict", "PYTHONUTF8": "0"}
    assert r"\U0001f916" in python(code, str(path), **narrow)
    (report,) = json.loads(python(code, str(path), "--json", **narrow))
    assert "\U0001f916" in report["problems"][0]["text"]
