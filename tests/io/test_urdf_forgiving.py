"""What is irrelevant to dynamics never refuses a URDF file; what is not, has a clear error."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from urdf_mistakes import GOOD, TOOL
from urdf_parts import BOX_INERTIA, body, joint, robot

from jounce.errors import ModelError, ModelWarning
from jounce.io import load_urdf

CONTINUOUS = joint("j", "continuous", "a", "b")

QUIET = {
    "doctype": GOOD.replace("<robot", "<!DOCTYPE robot>\n<robot", 1),
    "named doctype": GOOD.replace("<robot", '<!DOCTYPE robot SYSTEM "urdf.dtd">\n<robot', 1),
    "comment of 20 MB": GOOD.replace(TOOL, f"{TOOL}<!-- {20_000_000 * 'x'} -->"),
    "CDATA of 20 MB": GOOD.replace(TOOL, f"{TOOL}<gazebo><![CDATA[{20_000_000 * 'x'}]]></gazebo>"),
    "two hyphens in a comment": GOOD.replace(TOOL, f"{TOOL}<!-- a -- b -->"),
    "vendor tags": GOOD.replace(TOOL, f"{TOOL}<vendor a='1'><b/></vendor><drake:x/>"),
    "soft_upper": GOOD.replace("soft_upper_limit", "soft_upper"),
    "long axis": GOOD.replace('xyz="0 1 0"', 'xyz="0 1e6 0"'),
    "short axis": GOOD.replace('xyz="0 1 0"', 'xyz="0 1e-6 0"'),
}

WARNED = {
    "visual without geometry": ("<visual/>", r":\d+: <visual> in <link name='tool'>: <geometry>"),
    "empty geometry": ("<visual><geometry/></visual>", "expected one shape, got 0"),
    "ellipsoid": (
        '<visual><geometry><ellipsoid radii="1 2 3"/></geometry></visual>',
        "expected one shape, got 0",
    ),
    "box without size": ("<collision><geometry><box/></geometry></collision>", "'size' is missing"),
    "text in a link": ("some text", "unexpected text 'some text'"),
    "CDATA in a link": (f"<![CDATA[{'x' * 20_000_000}]]>", "unexpected text 'xxx"),
    "material": ('<visual><geometry><sphere radius="1"/></geometry><material name="m">'
                 '<color rgba="red"/></material></visual>', "'rgba' must be 4 numbers"),
}  # fmt: skip


@pytest.mark.parametrize("text", QUIET.values(), ids=QUIET.keys())
def test_no_warning(text):
    expected = load_urdf(GOOD)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load_urdf(text)
    np.testing.assert_array_equal(model.inertias, expected.inertias)
    np.testing.assert_allclose(model.nodes.placement, expected.nodes.placement, atol=1e-15)


@pytest.mark.parametrize(("inside", "message"), WARNED.values(), ids=WARNED.keys())
def test_one_warning_that_names_the_place(inside, message):
    text = GOOD.replace(TOOL, f'<link name="tool">{inside}</link>')
    with pytest.warns(ModelWarning, match=message) as caught:
        model = load_urdf(text)
    assert len(caught) == 1
    np.testing.assert_array_equal(model.inertias, load_urdf(GOOD).inertias)
    with pytest.raises(ModelError):
        load_urdf(text, strict=True)


def test_strict_refuses_any_document_type():
    with pytest.raises(ModelError, match=r"<string>:2: <!DOCTYPE>"):
        load_urdf(QUIET["doctype"], strict=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (robot(body("a"), body("b", inertia=""), CONTINUOUS), "<inertia> is missing"),
        (robot(body("a"), CONTINUOUS), r"<string>:3: <child> in .*no link named 'b'"),
        (robot(body("a"), '<xacro:arm name="x"/>'), "xacro is not expanded here"),
        (robot(body("a"), '<xacro:if value="1"><link name="b"/></xacro:if>'), "xacro is not"),
    ],
)
def test_what_changes_the_dynamics_is_a_clear_error(text, message):
    with pytest.raises(ModelError, match=message):
        load_urdf(text)


@pytest.mark.parametrize(("scale", "fine"), [(1e-20, True), (1e-14, True), (1e-9, False)])
def test_rounding_of_inertias_is_judged_by_mass(scale, fine):
    """A point mass, but for moments that no radius of a micrometer explains."""
    odd = BOX_INERTIA.replace('ixx="1"', f'ixx="{scale}"').replace('"1"', '"0"')
    text = robot(body("a"), body("b", 0.1, odd), CONTINUOUS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_urdf(text)
    assert len(caught) == (not fine)


def test_limits_of_infinity_are_none():
    def text(limit):
        return f"""<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j"
type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
<limit {limit}/></joint></robot>"""

    said = 'lower="-inf" upper="+Infinity" effort="inf" velocity="INF"'
    model = load_urdf(text(said))
    assert (model.lower[0], model.upper[0], model.effort_limit[0]) == (-np.inf, np.inf, np.inf)
    with pytest.raises(ModelError, match="'lower': URDF has no infinity"):
        load_urdf(text(said), strict=True)
    for wrong in ('lower="inf"', 'lower="-1" upper="-inf"', 'effort="-inf"', 'effort="nan"'):
        with pytest.raises(ModelError, match="must be a number"):
            load_urdf(text(wrong))
