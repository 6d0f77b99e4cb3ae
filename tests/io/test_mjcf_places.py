"""What MuJoCo admits and a model cannot hold is refused at the joint or body that has it."""

from __future__ import annotations

import re

import pytest
from mjcf_mistakes import ELBOW, GOOD, SHOULDER

import jounce as jc
from jounce.errors import ModelError

pytest.importorskip("mujoco")

FIELDS = {
    "damping": "damping",
    "armature": "armature",
    "stiffness": "stiffness",
    "frictionloss": "friction",
}


def refusal(text, **options):
    """Line, element and message."""
    with pytest.raises(ModelError) as caught:
        jc.load_mjcf(text, **options)
    line, element, message = re.fullmatch(
        r"<string>:(\d+): (<[^>]+>)(?: in [^:]+)?: (.*)", str(caught.value), re.DOTALL
    ).groups()
    return int(line), element, message


def line_of(text, part):
    return text[: text.index(part)].count("\n") + 1


@pytest.mark.parametrize("attribute", FIELDS)
@pytest.mark.parametrize("joint", [SHOULDER, ELBOW], ids=["hinge", "slide"])
def test_a_joint_is_named_with_its_line(attribute, joint):
    name = re.search('name="([^"]+)"', joint)[1]
    wrong = joint.replace("/>", f' {attribute}="-1"/>')
    text = GOOD.replace(joint, wrong)
    line, element, message = refusal(text)
    assert (line, element) == (line_of(text, wrong), f"<joint name={name!r}>")
    assert message.startswith(f"joint {name!r}: {FIELDS[attribute]} must")


def test_a_value_of_a_class_is_blamed_on_the_joint_that_has_it():
    text = GOOD.replace('damping="0.1"', 'damping="-1"')
    assert refusal(text)[:2] == (line_of(text, SHOULDER), "<joint name='shoulder'>")


BODIES = """<mujoco>
  <default><joint armature="0.1"/></default>
  <equality>
    <joint name="b" joint1="a" joint2="b"/>
  </equality>
  <worldbody>
    <body>
      <joint name="a"/>
      <geom size="0.1"/>
      <body>
        <joint type="slide"/>
        <frame>
          <body name="inner"><joint name="b" axis="0 1 0"/><geom size="0.1"/></body>
        </frame>
        <joint axis="1 0 0"/>
        <geom size="0.1"/>
      </body>
    </body>
    <body name="ball">
      <freejoint/>
      <geom size="0.1"/>
    </body>
    <body>
      <joint type="ball"/>
      <geom size="0.1"/>
    </body>
  </worldbody>
  <tendon><fixed name="t"><joint joint="a" coef="1"/></fixed></tendon>
</mujoco>
"""


@pytest.mark.parametrize(
    "part", ['"slide"', '"1 0 0"', '"ball"/', '"b" axis="0 1 0"', '"a"/>\n      <geom']
)
def test_joints_without_a_name_are_found_by_their_number(part):
    jc.load_mjcf(BODIES)
    first = re.match('"[^"]*"', part)[0]
    text = BODIES.replace(part, part.replace(first, f'{first} damping="-1"', 1), 1)
    line, element, _ = refusal(text)
    assert line == line_of(text, "damping")
    assert element.startswith("<joint")


def test_a_joint_in_an_included_file_is_named_with_that_file(tmp_path):
    world = "<worldbody>\n<include file='arm.xml'/>\n</worldbody>"
    (tmp_path / "main.xml").write_text(f"<mujoco>\n{world}</mujoco>")
    body = '<body>\n<joint name="hinge" armature="-2"/>\n<geom size="1"/>\n</body>'
    (tmp_path / "arm.xml").write_text(f"<mujoco>\n\n{body}</mujoco>")
    with pytest.raises(ModelError) as caught:
        jc.load_mjcf(tmp_path / "main.xml")
    assert str(caught.value).startswith(
        f"{tmp_path / 'arm.xml'}:4: <joint name='hinge'> in <body>:"
    )


def test_copies_of_a_joint_are_blamed_on_the_world():
    """No element of the file has their names."""
    body = '<body name="x"><joint name="hinge" damping="-1"/><geom size="1"/></body>'
    copies = f'<replicate count="3" offset="1 0 0">{body}</replicate>'
    line, element, message = refusal(f"<mujoco>\n<worldbody>{copies}</worldbody></mujoco>")
    assert (line, element) == (2, "<worldbody>")
    assert message.startswith("joint 'hinge0'")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"joints":', '"joins":'),
        ('"j_2"', '"j_3"'),
        ('"universal"', '"universe"'),
    ],
)
def test_what_we_wrote_ourselves_is_named_with_its_line(tmp_path, old, new):
    builder = jc.ModelBuilder()
    solid = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}
    builder.add_body("a", joint="universal", joint_name="j", axis2=(0, 1, 0), **solid)
    path = tmp_path / "saved.xml"
    jc.save(builder.build(), path)
    saved = path.read_text()
    changed = saved.replace(old.replace('"', "&quot;"), new.replace('"', "&quot;"))
    assert changed != saved
    line, element, _ = refusal(changed)
    assert (line, element) == (line_of(changed, "<text"), "<text name='jounce'>")


def test_what_the_whole_robot_lacks_is_blamed_on_the_world():
    line, element, _ = refusal(BODIES, base="planar")
    assert (line, element) == (line_of(BODIES, "<worldbody"), "<worldbody>")
