"""What robots in use contain and only ``strict=True`` refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from urdf_mistakes import (
    BOX,
    DYNAMICS,
    GRIP,
    INERTIA,
    LIMIT,
    PARENT,
    SHOULDER,
    SPHERE,
    TOOL,
    Case,
    mistakes,
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
    flags = {"strict_only": True, "same_line": False, "warns": True}
    yield from mistakes(
        "joint",
        ("joint-stray-text", SHOULDER, SHOULDER + "revolute"),
        ("joint-text-between", PARENT, PARENT + "!"),
        **flags,
    )
    upper = '<link name="upper">'
    yield from mistakes("link", ("link-stray-text", upper, upper + "mass = 2"), **flags)
    yield from mistakes("robot", ("robot-stray-text", TOOL, TOOL + "<!-- --> text"), **flags)
    for old, right, wrong in ((BOX, "box", "bx"), (SPHERE, "sphere", "shpere")):
        new = old.replace(right, wrong)
        yield Case(f"element-{wrong}-for-{right}", old, new, wrong, True, warns=True)
    yield Case("limit-missing", LIMIT, "", "joint", True, False)
    yield Case("mimic-unknown-joint", 'joint="shoulder"', 'joint="shouldr"', "mimic", True)
    fixed = GRIP.replace("continuous", "fixed")
    yield Case("mimic-on-a-fixed-joint", GRIP, fixed, "mimic", True, False)
    fixed, ball = 'type="fixed">', 'type="spherical"><dynamics damping="1"/>'
    yield Case("damped-spherical", fixed, ball, "dynamics", True, warns=True)
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
