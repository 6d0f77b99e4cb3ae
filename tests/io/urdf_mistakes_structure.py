"""Mistakes in which elements there are, and how they are connected."""

from __future__ import annotations

from collections.abc import Iterator

from urdf_mistakes import (
    AXIS,
    CHILD,
    DYNAMICS,
    GOOD,
    INERTIA,
    LIMIT,
    MASS,
    MIMIC,
    ORIGIN,
    PARENT,
    TOOL,
    Case,
    mistakes,
)


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
