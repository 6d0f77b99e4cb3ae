"""Wrong URDF files are refused with one exception that names file, line and element.

Every case is the good file below with one mistake. The table says which element the message must
name and whether the mistake is refused always or only with ``strict=True``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from jounce.errors import ModelWarning
from jounce.io import load_urdf

pytest.importorskip("lxml")

GOOD = (Path(__file__).parent / "models" / "arm.urdf").read_text()


class Case(NamedTuple):
    """One mistake: `old` becomes `new`; the message names `tag`, and the line of the change."""

    name: str
    old: str
    new: str
    tag: str
    strict_only: bool = False
    same_line: bool = True


def mistakes(tag: str, *rows: tuple[str, str, str], **flags: bool) -> Iterator[Case]:
    for name, old, new in rows:
        yield Case(name, old, new, tag, **flags)


NOT_A_NUMBER = {
    "comma": "1,5",
    "word": "heavy",
    "nan": "nan",
    "infinity": "inf",
    "minus-infinity": "-Infinity",
    "overflow": "1e999",
    "underscore": "1_000",
    "hexadecimal": "0x10",
    "empty": "",
    "blank": "  ",
    "unit": "2.5kg",
    "two-points": "1.2.3",
    "bare-exponent": "1e",
    "two-signs": "--1",
    "full-width": "\uff11",
    "unicode-minus": "\u22121",
    "xacro": "${m}",
    "fortran": "1d3",
    "fraction": "1/2",
    "point": ".",
    "semicolon": "1;",
    "parenthesis": "(1)",
}

ONE_NUMBER = {
    "mass": ("mass", 'value="2.5"', 'value="{}"'),
    "inertia": ("inertia", 'iyz="0.03"', 'iyz="{}"'),
    "lower": ("limit", 'lower="-1"', 'lower="{}"'),
    "effort": ("limit", 'effort="50"', 'effort="{}"'),
    "damping": ("dynamics", 'damping="0.5"', 'damping="{}"'),
    "multiplier": ("mimic", 'multiplier="2"', 'multiplier="{}"'),
}

VECTOR = {
    "center": ("origin", 'xyz="0 0 0.25"', 'xyz="{}"'),
    "rpy": ("origin", 'rpy="0 0.1 0"', 'rpy="{}"'),
    "placement": ("origin", 'xyz="0 0 0.3"', 'xyz="{}"'),
    "axis": ("axis", 'xyz="0 1 0"', 'xyz="{}"'),
}

NOT_A_VECTOR = {
    "two": "1 2",
    "four": "1 2 3 4",
    "commas": "1, 2, 3",
    "semicolons": "1;2;3",
    "brackets": "[1 2 3]",
    "nan": "0 nan 0",
    "word": "x y z",
    "empty": "",
    "no-break-space": "1\u00a02\u00a03",
    "too-large": "1e60 0 0",
}


def number_cases() -> Iterator[Case]:
    for place, (tag, old, new) in ONE_NUMBER.items():
        for name, text in NOT_A_NUMBER.items():
            yield Case(f"{place}-{name}", old, new.format(text), tag)
    for place, (tag, old, new) in VECTOR.items():
        for name, text in NOT_A_VECTOR.items():
            yield Case(f"{place}-{name}", old, new.format(text), tag)


ORIGIN = '<origin xyz="0 0 0.25" rpy="0 0.1 0"/>'
MASS = '<mass value="2.5"/>'
INERTIA = '<inertia ixx="0.1" ixy="0.01" ixz="0.02" iyy="0.2" iyz="0.03" izz="0.15"/>'
AXIS = '<axis xyz="0 1 0"/>'
LIMIT = '<limit lower="-1" upper="1.5" effort="50" velocity="2"/>'
DYNAMICS = '<dynamics damping="0.5" friction="0.1"/>'
MIMIC = '<mimic joint="shoulder" multiplier="2" offset="0.25"/>'
PARENT, CHILD = '<parent link="base"/>', '<child link="upper"/>'
SHOULDER, GRIP = '<joint name="shoulder" type="revolute">', '<joint name="grip" type="continuous">'
TOOL = '<link name="tool"/>'
SPHERE = '<sphere radius="0.01"/>'
BOX = '<box size="0.1 0.2 0.3"/>'


def content_cases() -> Iterator[Case]:
    yield from mistakes(
        "mass",
        ("mass-negative", MASS, '<mass value="-2.5"/>'),
        ("mass-barely-negative", MASS, '<mass value="-1e-30"/>'),
        ("mass-text", MASS, "<mass>2.5</mass>"),
        ("mass-two-values", MASS, '<mass value="1 2"/>'),
        ("mass-no-value", MASS, "<mass/>"),
        ("mass-val", MASS, '<mass val="2.5"/>'),
        ("mass-unit-attribute", MASS, '<mass value="2.5" unit="kg"/>'),
        ("mass-twice", MASS, MASS + MASS),
    )
    yield from mistakes(
        "inertia",
        ("inertia-without-ixy", ' ixy="0.01"', ""),
        ("inertia-without-izz", ' izz="0.15"', ""),
        ("inertia-iyx", 'ixy="0.01"', 'iyx="0.01"'),
        ("inertia-case", 'ixx="0.1"', 'Ixx="0.1"'),
        ("inertia-extra", 'ixx="0.1"', 'ixx="0.1" iyx="0.01"'),
        ("inertia-twice", INERTIA, INERTIA + INERTIA),
        ("inertia-huge", 'ixx="0.1"', 'ixx="1e300"'),
    )
    yield from mistakes(
        "origin",
        ("origin-xzy", ORIGIN, '<origin xzy="0 0 0.25"/>'),
        ("origin-rpj", ORIGIN, '<origin xyz="0 0 0.25" rpj="0 0.1 0"/>'),
        ("origin-case", ORIGIN, '<origin XYZ="0 0 0.25"/>'),
        ("origin-position", ORIGIN, '<origin position="0 0 0.25"/>'),
        ("origin-text", ORIGIN, "<origin>0 0 0.25</origin>"),
        ("origin-twice", ORIGIN, ORIGIN + ORIGIN),
        ("joint-origin-twice", '<origin xyz="0 0 0.5"/>', '<origin/><origin xyz="0 0 0.5"/>'),
        ("origin-rpy-and-quaternion", 'rpy="0 0.1 0"', 'rpy="0 0 0" quat_xyzw="0 0 0 1"'),
        ("origin-zero-quaternion", 'rpy="0 0.1 0"', 'quat_xyzw="0 0 0 0"'),
        ("origin-short-quaternion", 'rpy="0 0.1 0"', 'quat_xyzw="0 0 1"'),
        ("link-origin", TOOL, '<link name="tool"><origin xyz="1 0 0"/></link>'),
    )
    yield from mistakes(
        "axis",
        ("axis-zero", AXIS, '<axis xyz="0 0 0"/>'),
        ("axis-minus-zero", AXIS, '<axis xyz="-0 0.0 0e5"/>'),
        ("axis-underflow", AXIS, '<axis xyz="1e-999 0 0"/>'),
        ("axis-bare", AXIS, "<axis/>"),
        ("axis-text", AXIS, "<axis>0 1 0</axis>"),
        ("axis-rpy", AXIS, '<axis xyz="0 1 0" rpy="0 0 0"/>'),
        ("axis-xzy", AXIS, '<axis xzy="0 1 0"/>'),
        ("axis-twice", AXIS, AXIS + AXIS),
    )
    yield from mistakes(
        "limit",
        ("limit-crossed", LIMIT, LIMIT.replace("-1", "2")),
        ("limit-only-lower", LIMIT, '<limit lower="0.5" effort="1" velocity="1"/>'),
        ("limit-negative-effort", LIMIT, LIMIT.replace("50", "-50")),
        ("limit-negative-velocity", LIMIT, LIMIT.replace('velocity="2"', 'velocity="-2"')),
        ("limit-uper", LIMIT, LIMIT.replace("upper", "uper")),
        ("limit-low", LIMIT, LIMIT.replace("lower", "low")),
        ("limit-velocty", LIMIT, LIMIT.replace("velocity", "velocty")),
        ("limit-twice", LIMIT, LIMIT + LIMIT),
        ("limit-text", LIMIT, '<limit effort="1" velocity="1">-1 1</limit>'),
        ("limit-jerk", LIMIT, LIMIT.replace('velocity="2"', 'velocity="2" jerk="fast"')),
    )
    yield from mistakes(
        "dynamics",
        ("dynamics-negative-damping", 'damping="0.5"', 'damping="-0.5"'),
        ("dynamics-negative-friction", 'friction="0.1"', 'friction="-0.1"'),
        ("dynamics-dampening", 'damping="0.5"', 'dampening="0.5"'),
        ("dynamics-fricton", 'friction="0.1"', 'fricton="0.1"'),
        ("dynamics-twice", DYNAMICS, DYNAMICS + DYNAMICS),
    )
    yield from mistakes(
        "mimic",
        ("mimic-itself", 'joint="shoulder"', 'joint="grip"'),
        ("mimic-a-fixed-joint", 'joint="shoulder"', 'joint="mount"'),
        ("mimic-nothing", 'joint="shoulder" ', ""),
        ("mimic-empty", 'joint="shoulder"', 'joint=""'),
        ("mimic-ofset", 'offset="0.25"', 'ofset="0.25"'),
        ("mimic-multiplyer", 'multiplier="2"', 'multiplyer="2"'),
        ("mimic-twice", MIMIC, MIMIC + MIMIC),
    )
    yield Case("mimic-loop", LIMIT, f'{LIMIT}<mimic joint="grip"/>', "mimic", same_line=False)
    yield Case("mimic-spherical", GRIP, GRIP.replace("continuous", "ball"), "mimic", False, False)


def structure_cases() -> Iterator[Case]:
    yield from mistakes(
        "joint",
        ("type-unknown", 'type="revolute"', 'type="hinge"'),
        ("type-case", 'type="revolute"', 'type="Revolute"'),
        ("type-space", 'type="revolute"', 'type="revolute "'),
        ("type-empty", 'type="revolute"', 'type=""'),
        ("type-missing", ' type="revolute"', ""),
        ("type-misspelled", 'type="revolute"', 'tpye="revolute"'),
        ("type-screw", 'type="revolute"', 'type="screw"'),
        ("joint-unnamed", 'joint name="shoulder"', "joint"),
        ("joint-empty-name", 'joint name="shoulder"', 'joint name=""'),
        ("joint-name-twice", 'joint name="elbow"', 'joint name="shoulder"'),
        ("fixed-joint-name-twice", 'joint name="mount"', 'joint name="elbow"'),
        ("joint-naem", 'joint name="shoulder"', 'joint naem="shoulder"'),
        ("joint-stray-text", SHOULDER, SHOULDER + "revolute"),
        ("joint-text-between", PARENT, PARENT + "!"),
        same_line=False,
    )
    yield from mistakes(
        "parent",
        ("parent-unknown", PARENT, '<parent link="bse"/>'),
        ("parent-case", PARENT, '<parent link="Base"/>'),
        ("parent-space", PARENT, '<parent link=" base"/>'),
        ("parent-is-a-joint", PARENT, '<parent link="elbow"/>'),
        ("parent-empty", PARENT, '<parent link=""/>'),
        ("parent-name", PARENT, '<parent name="base"/>'),
        ("parent-bare", PARENT, "<parent/>"),
        ("parent-text", PARENT, "<parent>base</parent>"),
        ("parent-twice", PARENT, PARENT + PARENT),
        ("parent-extra", PARENT, '<parent link="base" body="base"/>'),
    )
    yield from mistakes(
        "child",
        ("child-unknown", CHILD, '<child link="uper"/>'),
        ("child-bare", CHILD, "<child/>"),
        ("child-twice", CHILD, CHILD + '<child link="tool"/>'),
        ("child-extra", CHILD, '<child link="upper" parent="base"/>'),
    )
    yield from mistakes(
        "joint",
        ("parent-missing", PARENT, ""),
        ("child-missing", CHILD, ""),
        ("own-parent", PARENT, '<parent link="upper"/>'),
        ("two-parents", '<child link="tool"/>', '<child link="upper"/>'),
        (
            "loop",
            '<parent link="lower"/>\n    <child link="tool"/>',
            PARENT + "<child link='base'/>",
        ),
        ("loop-of-all", '<child link="tool"/>', '<child link="base"/>'),
        ("loop-beside-the-root", PARENT, '<parent link="finger"/>'),
        same_line=False,
    )
    yield from mistakes(
        "link",
        ("link-unnamed", 'link name="upper"', "link"),
        ("link-empty-name", 'link name="upper"', 'link name=""'),
        ("link-blank-name", 'link name="upper"', 'link name=" "'),
        ("link-nmae", 'link name="upper"', 'link nmae="upper"'),
        ("link-name-twice", 'link name="finger"', 'link name="upper"'),
        ("two-roots", TOOL, TOOL + '<link name="island"/>'),
        ("link-stray-text", '<link name="upper">', '<link name="upper">mass = 2'),
        ("link-in-link", TOOL, '<link name="tool"><link name="inner"/></link>'),
    )
    yield from mistakes(
        "inertial",
        ("mass-missing", MASS, ""),
        ("inertia-missing", INERTIA, ""),
        ("inertial-twice", "<inertial>\n      <mass", "<inertial/><inertial><mass"),
        ("inertial-in-joint", PARENT, PARENT + "<inertial/>"),
        ("inertial-in-robot", TOOL, TOOL + "<inertial/>"),
        ("inertial-attribute", "<inertial>\n      <origin", '<inertial mass="2">\n      <origin'),
        ("inertial-hidden", TOOL, '<link name="tool"><body><inertial/></body></link>'),
        same_line=False,
    )
    yield Case(
        "no-links", GOOD[GOOD.index("  <link") : GOOD.index("</robot>")], "", "robot", False, False
    )
    yield Case("version-2", 'robot name="arm"', 'robot name="arm" version="2.0"', "robot")
    yield Case("robot-naem", 'robot name="arm"', 'robot naem="arm"', "robot")
    yield Case("robot-stray-text", TOOL, TOOL + "<!-- --> text", "robot", False, False)


def misspelled_cases() -> Iterator[Case]:
    """An element with a wrong name, each where it would be dropped in silence."""
    for wrong in ("inertal", "Inertial", "inertials", "visaul", "colision"):
        new = f'<link name="tool"><{wrong}/></link>'
        yield Case(f"element-{wrong}", TOOL, new, wrong)
    for old, wrong in (
        (ORIGIN, "orgin"),
        (ORIGIN, "Origin"),
        (ORIGIN, "pose"),
        (MASS, "mas"),
        (MASS, "weight"),
        (INERTIA, "inertial"),
        (INERTIA, "intertia"),
        (PARENT, "paernt"),
        (CHILD, "chld"),
        (AXIS, "axes"),
        (AXIS, "Axis"),
        (AXIS, "ax"),
        (LIMIT, "limits"),
        (LIMIT, "lmit"),
        (DYNAMICS, "dynamic"),
        (MIMIC, "mimick"),
        (BOX, "bx"),
        (SPHERE, "shpere"),
    ):
        right = old[1 : old.index(" ")]
        yield Case(f"element-{wrong}-for-{right}", old, old.replace(right, wrong), wrong)
    for wrong in ("jont", "Joint", "joints", "lnik", "Link", "materail"):
        yield Case(f"element-{wrong}", TOOL, f'{TOOL}<{wrong} name="x"/>', wrong)
    for wrong in ("axis", "limit", "mass", "parent", "geometry", "origin"):
        yield Case(f"element-{wrong}-in-robot", TOOL, f"{TOOL}<{wrong}/>", wrong)
    for wrong in ("axis", "mass", "inertia", "joint", "limit", "geometry"):
        new = f'<link name="tool"><{wrong}/></link>'
        yield Case(f"element-{wrong}-in-link", TOOL, new, wrong)
    for wrong in ("mass", "inertia", "link", "visual", "joint"):
        yield Case(f"element-{wrong}-in-joint", PARENT, f"{PARENT}<{wrong}/>", wrong)
    yield Case("element-in-mass", MASS, '<mass value="2.5"><kg/></mass>', "kg")
    yield Case("joint-in-part", TOOL, f"{TOOL}<part><joint><child/></joint></part>", "joint")
    yield Case("xacro-macro", TOOL, f'{TOOL}<xacro:leg side="1"/>', "xacro:leg")
    xacro = ' xmlns:xacro="http://www.ros.org/wiki/xacro"'
    yield Case("xacro-if", TOOL, f'{TOOL}<xacro:if{xacro} value="1"/>', "xacro:if")
    include = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/passwd"/>'
    yield Case("xinclude", TOOL, TOOL + include, "xi:include")
    yield Case("include", TOOL, TOOL + '<include filename="hand.urdf"/>', "include")
    yield Case("loop-joint", TOOL, TOOL + '<loop_joint name="l"/>', "loop_joint")


def shape_cases() -> Iterator[Case]:
    yield from mistakes(
        "box",
        ("box-negative", BOX, '<box size="0.1 -0.2 0.3"/>'),
        ("box-short", BOX, '<box size="0.1 0.2"/>'),
        ("box-word", BOX, '<box size="small"/>'),
        ("box-bare", BOX, "<box/>"),
    )
    yield from mistakes(
        "sphere",
        ("sphere-negative", SPHERE, '<sphere radius="-1"/>'),
        ("sphere-bare", SPHERE, "<sphere/>"),
        ("sphere-radios", SPHERE, '<sphere radius="1" radios="1"/>'),
    )
    yield from mistakes(
        "cylinder",
        ("cylinder-no-length", ' length="0.3"', ""),
        ("cylinder-nan", 'length="0.3"', 'length="nan"'),
    )
    yield from mistakes(
        "mesh",
        ("mesh-no-file", 'filename="package://arm/upper.stl"', ""),
        ("mesh-empty-file", 'filename="package://arm/upper.stl"', 'filename=""'),
        ("mesh-scale", 'scale="0.001 0.001 0.001"', 'scale="0.001"'),
        ("mesh-zero-scale", 'scale="0.001 0.001 0.001"', 'scale="1 0 1"'),
    )
    yield from mistakes(
        "geometry", ("no-shape", SPHERE, ""), ("two-shapes", SPHERE, SPHERE * 2), same_line=False
    )
    yield from mistakes(
        "color",
        ("color-three", "0.5 0.5 0.5 1", "0.5 0.5 0.5"),
        ("color-word", "0.5 0.5 0.5 1", "gray"),
    )
    yield Case(
        "no-geometry",
        f"<geometry>\n        {SPHERE}\n      </geometry>",
        "",
        "collision",
        False,
        False,
    )


def strict_cases() -> Iterator[Case]:
    """What robots in use contain: accepted by default, refused with ``strict=True``."""
    yield from mistakes(
        "inertial",
        ("inertia-indefinite", 'ixx="0.1"', 'ixx="-0.1"'),
        ("inertia-triangle", 'iyy="0.2"', 'iyy="0.5"'),
        ("inertia-triangle-products", 'ixy="0.01"', 'ixy="0.09"'),
        ("inertia-all-ones", INERTIA, re.sub('"[0-9.]+"', '"1"', INERTIA)),
        ("inertia-negative-definite", INERTIA, re.sub('"0.[12]5?"', '"-1"', INERTIA)),
        ("massless-with-inertia", 'value="2.5"', 'value="0"'),
        strict_only=True,
        same_line=False,
    )
    yield from mistakes(
        "limit",
        ("limit-without-effort", ' effort="50"', ""),
        ("limit-without-velocity", ' velocity="2"', ""),
        ("limit-without-lower", 'lower="-1" ', ""),
        ("limit-without-range", 'lower="-1" upper="1.5" ', ""),
        ("limit-current", LIMIT, LIMIT.replace("effort", 'current="3" effort')),
        strict_only=True,
    )
    yield Case("limit-missing", LIMIT, "", "joint", True, False)
    yield Case("mimic-unknown-joint", 'joint="shoulder"', 'joint="shouldr"', "mimic", True)
    fixed = GRIP.replace("continuous", "fixed")
    yield Case("mimic-on-a-fixed-joint", GRIP, fixed, "mimic", True, False)
    fixed, ball = 'type="fixed">', 'type="spherical"><dynamics damping="1"/>'
    yield Case("damped-spherical", fixed, ball, "dynamics", True)
    yield Case("robot-unnamed", 'robot name="arm"', "robot", "robot", True)
    yield Case("robot-extra", 'robot name="arm"', 'robot name="arm" maker="x"', "robot", True)
    yield Case("degrees", 'rpy="0 0 1.57"', 'rpy="0 0 90"', "origin", True)
    yield Case("identity-link-origin", TOOL, '<link name="tool"><origin/></link>', "origin", True)
    yield Case("dynamics-stiffness", DYNAMICS, '<dynamics stiffness="3"/>', "dynamics", True)
    yield Case(
        "joint-attribute",
        SHOULDER,
        SHOULDER.replace("name", 'dont_collapse="1" name'),
        "joint",
        True,
    )
    yield Case("link-attribute", TOOL, '<link name="tool" color="red"/>', "link", True)
    yield Case("link-contact", TOOL, '<link name="tool"><contact/></link>', "contact", True)
    yield Case("joint-extension", PARENT, PARENT + "<hardware/>", "hardware", True)
    yield Case("joint-drake", PARENT, PARENT + "<drake:gear_ratio/>", "drake:gear_ratio", True)
    yield Case("robot-extension", TOOL, TOOL + "<vendor/>", "vendor", True)
    yield Case(
        "calibration-word", PARENT, PARENT + '<calibration rising="x"/>', "calibration", True
    )
    yield Case("safety-word", 'k_position="5"', 'k_position="x"', "safety_controller", True)
    yield Case("color-too-bright", "0.5 0.5 0.5 1", "128 128 128 255", "color", True)
    yield Case(
        "material-undefined", '<material name="gray"/>', '<material name="grey"/>', "material", True
    )
    again = '<material name="gray"><color rgba="1 0 0 1"/></material>'
    yield Case("material-twice", TOOL, TOOL + again, "material", True)
    yield Case("sphere-zero", SPHERE, '<sphere radius="0"/>', "sphere", True)
    yield Case("box-zero", BOX, '<box size="0.1 0 0.1"/>', "box", True)
    yield Case("shape-unknown", SPHERE, SPHERE + "<torus/>", "torus", True)


CASES = [
    *number_cases(),
    *content_cases(),
    *structure_cases(),
    *misspelled_cases(),
    *shape_cases(),
    *strict_cases(),
]


def test_the_good_file_loads_without_a_warning(write):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_urdf(write(GOOD), strict=True).nv == 3


def test_there_are_enough_cases_and_each_is_one_of_its_kind():
    assert len(CASES) >= 219
    assert len({case.name for case in CASES}) == len(CASES)
    assert len({(case.old, case.new) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_strict_refuses_and_names_file_line_and_element(case, write, refusal):
    assert case.old in GOOD
    text = GOOD.replace(case.old, case.new, 1)
    path = write(text)
    message = refusal(path, strict=True)
    match = re.match(re.escape(str(path)) + r":(\d+): <([^ >]+)[ >]", message)
    assert match, message
    assert match[2] == case.tag, message
    if case.same_line:
        assert int(match[1]) == GOOD[: GOOD.index(case.old)].count("\n") + 1, message
    assert 1 <= int(match[1]) <= text.count("\n") + 1


@pytest.mark.parametrize(
    "case", [c for c in CASES if not c.strict_only], ids=lambda case: case.name
)
def test_default_refuses_with_the_same_message(case, write, refusal):
    path = write(GOOD.replace(case.old, case.new, 1))
    assert refusal(path, strict=False).startswith(f"{path}:")


@pytest.mark.parametrize("case", [c for c in CASES if c.strict_only], ids=lambda case: case.name)
def test_default_accepts_what_robots_in_use_contain(case, write):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load_urdf(write(GOOD.replace(case.old, case.new, 1)))
    assert model.n_bodies >= 2
    doubtful = "inertia-" in case.name or case.name in (
        "massless-with-inertia",
        "mimic-unknown-joint",
    )
    assert [w.category for w in caught] == [ModelWarning] * doubtful


def test_nothing_is_printed(write, refusal, capfd):
    for case in CASES[::10]:
        refusal(write(GOOD.replace(case.old, case.new, 1)), strict=True)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("tag", ["contact", "axis", "pose", "orign", "origin"])
def test_origin_is_not_proposed_for_a_link(tag, write, refusal):
    message = refusal(write(GOOD.replace(TOOL, f'<link name="tool"><{tag}/></link>', 1)), True)
    if tag == "origin":
        assert message.endswith("a link has no <origin> in URDF; its pose is that of its joint")
    else:
        assert message.endswith("expected <inertial>, <visual>, <collision>")
