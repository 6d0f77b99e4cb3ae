"""Mistakes in what an element says: its numbers, attributes and shapes."""

from __future__ import annotations

from collections.abc import Iterator

from urdf_mistakes import (
    AXIS,
    BOX,
    DYNAMICS,
    GRIP,
    INERTIA,
    LIMIT,
    MASS,
    MIMIC,
    ORIGIN,
    SPHERE,
    TOOL,
    Case,
    mistakes,
)

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

NO_LIMIT = {("lower", "minus-infinity"), ("effort", "infinity")}
"""These are read, though not by `strict=True`."""

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
            if (place, name) in NO_LIMIT:
                continue
            yield Case(f"{place}-{name}", old, new.format(text), tag)
    for place, (tag, old, new) in VECTOR.items():
        for name, text in NOT_A_VECTOR.items():
            yield Case(f"{place}-{name}", old, new.format(text), tag)


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


def shape_cases() -> Iterator[Case]:
    """What a viewer cannot show; the dynamics does not need it."""
    for case in _wrong_shapes():
        yield case._replace(strict_only=True, warns=True)


def _wrong_shapes() -> Iterator[Case]:
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
