"""Wrong URDF files are refused with one exception that names file, line and element.

Every case is a good file with one mistake, from the tables of ``urdf_mistakes*``. They say which
element the message must name and whether the mistake is refused always or only with
``strict=True``.
"""

from __future__ import annotations

import re
import warnings

import pytest
from urdf_mistakes import GOOD, TOOL
from urdf_mistakes_content import content_cases, number_cases, shape_cases
from urdf_mistakes_strict import strict_cases
from urdf_mistakes_structure import misspelled_cases, structure_cases

from jounce.errors import ModelError, ModelWarning
from jounce.io import load_urdf

pytest.importorskip("lxml")

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
def test_refusals_name_file_line_and_element(case, write, refusal):
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
    if not case.strict_only:  # what robots in use do not contain is refused always
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
    doubtful = doubtful or case.warns
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


@pytest.mark.parametrize(
    ("inside", "element"),
    [
        ('<jounce foo="1"/>', "jounce"),
        ('<jounce armature="nan"/>', "jounce"),
        ('<jounce armature="-1"/>', "joint name='j'"),
        ('<jounce damping="1 2 3"/>', "joint name='j'"),
        ('<jounce body="b"><joint name="x" armature="-1"/></jounce>', "joint name='x'"),
    ],
)
def test_what_is_wrong_with_a_joint_is_told_once_at_its_element(inside, element):
    joint = '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>{}</joint>'
    text = "<robot name='r'><link name='a'/><link name='b'/>\n" + joint.format(inside) + "</robot>"
    with pytest.raises(ModelError) as caught:
        load_urdf(text)
    assert str(caught.value).startswith(f"<string>:2: <{element}>")
    assert str(caught.value).count("<string>") == 1
