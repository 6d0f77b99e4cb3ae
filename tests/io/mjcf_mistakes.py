"""A good MJCF file, and more than two hundred mistakes in it, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from urdf_mistakes import Case, mistakes

GOOD = (Path(__file__).parent / "models" / "arm.xml").read_text()

BASE, UPPER = (
    '<body name="base" pos="0 0 0.1">',
    '<body name="upper" pos="0 0 0.2" euler="0 0.1 0">',
)
SHOULDER = '<joint name="shoulder" class="light" axis="0 1 0" range="-1 1.5"/>'
ELBOW = '<joint name="elbow" type="slide" axis="0 0 1" range="0 0.3"/>'
INERTIAL = '<inertial pos="0 0 0.25" mass="2.5" fullinertia="0.1 0.2 0.15 0.01 0.02 0.03"/>'
ROD = '<geom name="rod" type="capsule" size="0.02" fromto="0 0 0 0 0 0.5"/>'
TUBE = '<geom name="tube" type="cylinder" size="0.02 0.2" material="gray"/>'
SITE = '<site name="tip" pos="0 0 0.4"/>'
MESH = '<mesh name="wedge" vertex="0 0 0  0.1 0 0  0 0.1 0  0 0 0.1"/>'
MOTOR = '<motor name="drive" joint="shoulder" gear="10" ctrlrange="-1 1"/>'
KEY = '<key name="home" qpos="0.1 0.2 1 0 0 0"/>'
WORLD = "<worldbody>"

BAD_NUMBERS = {
    "nan": "nan",
    "capital-nan": "NaN",
    "infinity": "inf",
    "minus-infinity": "-Infinity",
    "overflow": "1e999",
    "absurd": "1e308",
    "word": "heavy",
    "comma": "1,5",
    "unit": "2.5kg",
    "hexadecimal": "0xzz",
    "xacro": "${m}",
    "fraction": "1/2",
    "parenthesis": "(1)",
    "full-width": "\uff11",
}

NUMBERS = {
    "mass": ("inertial", 'mass="2.5"', 'mass="{}"'),
    "center": ("inertial", 'pos="0 0 0.25"', 'pos="0 0 {}"'),
    "inertia": ("inertial", "0.1 0.2 0.15 0.01", "0.1 0.2 0.15 {}"),
    "axis": ("joint", 'axis="0 1 0"', 'axis="0 {} 0"'),
    "body": ("body", 'pos="0 0 0.2"', 'pos="{} 0 0.2"'),
    "euler": ("body", 'euler="0 0.1 0"', 'euler="0 {} 0"'),
    "gravity": ("option", "0 0 -9.81", "0 0 {}"),
    "size": ("geom", 'size="0.1 0.1 0.1"', 'size="0.1 {} 0.1"'),
    "damping": ("joint", 'damping="0.1"', 'damping="{}"'),
    "density": ("geom", 'density="500"', 'density="{}"'),
    "gear": ("motor", 'gear="10"', 'gear="{}"'),
    "site": ("site", 'pos="0 0 0.4"/>', 'pos="0 {} 0.4"/>'),
}


def number_cases() -> Iterator[Case]:
    for place, (tag, old, new) in NUMBERS.items():
        for name, text in BAD_NUMBERS.items():
            yield Case(f"{place}-{name}", old, new.format(text), tag)
        yield Case(f"{place}-too-many", old, new.format("1 2 3 4 5 6 7 8 9"), tag)


def structure_cases() -> Iterator[Case]:
    yield from mistakes(
        "joint",
        ("axis-zero", 'axis="0 1 0"', 'axis="0 0 0"'),
        ("axis-short", 'axis="0 1 0"', 'axis="0 1"'),
        ("type-unknown", 'type="slide"', 'type="prismatic"'),
        ("type-case", 'type="slide"', 'type="Slide"'),
        ("class-unknown", 'class="light" axis', 'class="heavy" axis'),
        ("attribute-unknown", 'axis="0 1 0"', 'axes="0 1 0"'),
        ("attribute-of-urdf", 'axis="0 1 0"', 'xyz="0 1 0"'),
        ("joint-name-twice", 'name="elbow"', 'name="shoulder"'),
        ("free-inside", ELBOW, '<joint name="elbow" type="free"/>'),
    )
    yield from mistakes(
        "body",
        ("body-name-twice", 'body name="lower"', 'body name="upper"'),
        ("two-orientations", 'euler="0 0.1 0"', 'euler="0 0.1 0" quat="1 0 0 0"'),
        ("quat-zero", 'euler="0 0.1 0"', 'quat="0 0 0 0"'),
        ("quat-short", 'euler="0 0.1 0"', 'quat="1 0 0"'),
        ("mocap-inside", 'body name="upper"', 'body mocap="true" name="upper"'),
        ("attribute-link", 'body name="upper"', 'body link="upper"'),
        ("class-of-children", BASE, BASE.replace("name", 'childclass="heavy" name')),
        ("ball-then-hinge", ELBOW, '<joint type="ball"/><joint/>'),
        ("seven-joints", ELBOW, "<joint/>" * 7),
        same_line=False,
    )
    yield from mistakes(
        "body",
        ("mass-negative", 'mass="2.5"', 'mass="-2.5"'),
        ("mass-zero", 'mass="2.5"', 'mass="0"'),
        ("inertia-indefinite", "0.1 0.2 0.15 0.01", "-0.1 0.2 0.15 0.01"),
        ("inertia-triangle", "0.1 0.2 0.15 0.01 0.02 0.03", "0.1 0.9 0.15 0 0 0"),
        ("massless-hand", '<geom name="palm" type="mesh" mesh="wedge"/>', ""),
        same_line=False,
    )
    yield from mistakes(
        "inertial",
        ("mass-missing", 'mass="2.5" ', ""),
        ("center-missing", 'pos="0 0 0.25" ', ""),
        ("mass-empty", 'mass="2.5"', 'mass=""'),
        ("inertia-short", "0.1 0.2 0.15 0.01 0.02 0.03", "0.1 0.2 0.15"),
        ("inertial-attribute", 'mass="2.5"', 'mas="2.5"'),
        ("inertial-twice", INERTIAL, INERTIAL + INERTIAL),
    )
    yield from mistakes(
        "geom",
        ("size-zero", 'size="0.1 0.1 0.1"', 'size="0.1 0 0.1"'),
        ("size-negative", 'size="0.02 0.2"', 'size="-0.02 0.2"'),
        ("geom-type", 'type="cylinder"', 'type="tube"'),
        ("geom-name-twice", 'name="tube"', 'name="rod"'),
        ("mesh-unknown", 'mesh="wedge"/>', 'mesh="wege"/>'),
        ("material-unknown", 'material="gray"', 'material="grey"'),
        ("fromto-same", 'fromto="0 0 0 0 0 0.5"', 'fromto="0 0 0 0 0 0"'),
        ("fromto-short", 'fromto="0 0 0 0 0 0.5"', 'fromto="0 0 0 0"'),
        ("geom-class", 'type="cylinder"', 'class="none" type="cylinder"'),
        ("geom-hfield", 'type="cylinder"', 'type="hfield" hfield="hills"'),
    )
    yield from mistakes(
        "mesh",
        ("three-vertices", "0.1 0 0  0 0.1 0  0 0 0.1", "0.1 0 0  0 0.1 0"),
        ("flat-mesh", "0 0 0.1", "0.1 0.1 0"),
        ("mesh-unnamed", 'mesh name="wedge"', "mesh"),
        ("mesh-twice", MESH, MESH + MESH),
        ("mesh-file-missing", MESH, '<mesh name="wedge" file="none.stl"/>'),
        ("mesh-file-absolute", MESH, '<mesh name="wedge" file="/etc/passwd"/>'),
        ("mesh-file-outside", MESH, '<mesh name="wedge" file="../../x.stl"/>'),
        ("mesh-file-device", MESH, '<mesh name="wedge" file="/dev/zero"/>'),
        ("mesh-params", MESH, '<mesh name="wedge" builtin="sphere" params="1000000"/>'),
    )


def element_cases() -> Iterator[Case]:
    """Elements that do not exist, or not there."""
    for wrong in ("jont", "Joint", "link", "hinge", "collision", "visual", "origin", "robot"):
        yield Case(f"element-{wrong}", SITE, f"{SITE}<{wrong}/>", wrong)
    for wrong in ("bodies", "world", "link", "joint", "geom", "materials", "gazebo", "actuators"):
        yield Case(f"section-{wrong}", WORLD, f"<{wrong}/>{WORLD}", wrong)
    for wrong in ("motr", "servo", "joint", "transmission"):
        yield Case(f"actuator-{wrong}", MOTOR, f'<{wrong} joint="elbow"/>', wrong)
    yield from mistakes(
        "motor",
        ("motor-joint", 'joint="shoulder" gear', 'joint="sholder" gear'),
        ("motor-nothing", 'joint="shoulder" gear', "gear"),
        ("motor-name-twice", MOTOR, MOTOR + '<motor name="drive" joint="elbow"/>'),
        ("motor-buffer", 'gear="10"', 'gear="10" nsample="1000000000"'),
        ("motor-site", 'joint="shoulder" gear', 'site="none" gear'),
    )
    yield from mistakes(
        "jointpos",
        ("sensor-joint", 'joint="elbow"/>', 'joint="elbo"/>'),
        ("sensor-nothing", ' joint="elbow"/>', "/>"),
        ("sensor-ball", 'joint="elbow"/>', 'joint="wrist"/>'),
    )
    yield from mistakes(
        "exclude",
        ("exclude-unknown", 'body2="lower"', 'body2="lowr"'),
        ("exclude-half", ' body2="lower"', ""),
    )
    yield from mistakes(
        "key",
        ("key-long", "0.1 0.2 1 0 0 0", "0.1 0.2 1 0 0 0 7"),
        ("key-nan", "0.1 0.2 1 0 0 0", "nan 0.2 1 0 0 0"),
        ("key-attribute", 'qpos="', 'q="'),
    )
    yield Case("tendon-joint", 'joint joint="shoulder"', 'joint joint="none"', "joint")
    yield Case("tendon-coef", 'coef="1"', 'coef="x"', "joint")
    yield Case("tendon-empty", '<joint joint="shoulder" coef="1"/>', "", "fixed", same_line=False)
    weld = '<equality><weld body1="upper" body2="none"/></equality>'
    yield Case("weld-unknown", WORLD, weld + WORLD, "weld")
    yield Case(
        "couple-unknown", WORLD, f'<equality><joint joint1="no"/></equality>{WORLD}', "joint"
    )
    yield Case("angle-unknown", 'angle="radian"', 'angle="radians"', "compiler")
    yield Case("compiler-attribute", 'angle="radian"', 'angel="radian"', "compiler")
    yield Case("option-attribute", "timestep=", "time_step=", "option")
    yield Case("option-keyword", 'timestep="0.002"', 'integrator="rk5"', "option")
    yield Case("class-twice", "<asset>", '<default class="light"/><asset>', "default")
    yield Case("class-unnamed", '<default class="light">', "<default>", "default")


def count_cases() -> Iterator[Case]:
    """Files that ask for more than MuJoCo ever finishes, and files elsewhere."""
    inside = '<geom size="0.1"/>'
    for count in (10_001, 1_000_000_000, 2_147_483_647):
        new = f'<replicate count="{count}" offset="1 0 0">{inside}</replicate>'
        yield Case(f"replicate-{count}", SITE, new, "replicate")
    nested = f'<replicate count="200">{inside}</replicate>'
    for level in range(3):
        nested = f'<replicate count="200">{nested}</replicate>'
        yield Case(f"replicate-nested-{level}", SITE, nested, "replicate")
    grid = '<composite type="cable" count="1000000 1 1"/>'
    yield Case("composite", SITE, grid, "composite")
    flex = '<flexcomp type="grid" name="f" count="1000 1000 1000"/>'
    yield Case("flexcomp", SITE, flex, "flexcomp")
    missing = '<flexcomp type="mesh" name="f" file="none.obj"/>'
    yield Case("flexcomp-file", SITE, missing, "flexcomp")
    deep = "<body>" * 500 + "</body>" * 500
    yield Case("deep", SITE, deep, "body")
    for name, file in (
        ("missing", "none.xml"),
        ("absolute", "/etc/passwd"),
        ("outside", "../../../../etc/passwd"),
        ("device", "/dev/zero"),
        ("itself", "robot.xml"),
        ("folder", "."),
        ("empty", ""),
    ):
        yield Case(f"include-{name}", WORLD, f'<include file="{file}"/>{WORLD}', "include")
    yield Case("include-nothing", WORLD, f"<include/>{WORLD}", "include")
    model = '<asset><model name="m" file="none.xml"/></asset>'
    yield Case("model-missing", WORLD, model + WORLD, "model")
    texture = '<asset><texture name="t" type="2d" file="/etc/passwd"/></asset>'
    yield Case("texture-outside", WORLD, texture + WORLD, "texture")


def all_cases() -> list[Case]:
    return [*number_cases(), *structure_cases(), *element_cases(), *count_cases()]
