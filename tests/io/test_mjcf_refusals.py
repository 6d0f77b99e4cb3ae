"""Wrong MJCF files are refused with one exception that names file, line and element."""

from __future__ import annotations

import re

import pytest
from mjcf_mistakes import GOOD, all_cases

import jounce as jc
from jounce.errors import ModelError

pytest.importorskip("mujoco")

CASES = all_cases()


def refusal_of(case, tmp_path):
    """The message, and the line of the change."""
    assert case.old in GOOD, case.name
    path = tmp_path / "robot.xml"
    path.write_text(GOOD.replace(case.old, case.new, 1), "utf-8")
    with pytest.raises(ModelError) as caught:
        jc.load(path)
    return path, str(caught.value)


def test_the_good_file_loads_without_a_warning(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(GOOD)
    model = jc.load(path)
    assert model.joint_names == ("shoulder", "elbow", "wrist")


def test_there_are_enough_cases_and_each_is_one_of_its_kind():
    assert len(CASES) >= 200
    assert len({case.name for case in CASES}) == len(CASES)
    assert len({(case.old, case.new) for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_file_and_line_and_element_are_named(case, tmp_path):
    path, message = refusal_of(case, tmp_path)
    assert re.match(re.escape(str(path)) + r":\d+: <[^ >]+[ >]", message), message


def test_nearly_all_refusals_name_the_element_and_the_line_of_the_mistake(tmp_path):
    """MuJoCo finds some mistakes later, at an element that refers to the wrong one."""
    exact = []
    for case in CASES:
        path, message = refusal_of(case, tmp_path)
        match = re.match(re.escape(str(path)) + r":(\d+): <([^ >]+)[ >]", message)
        line = GOOD[: GOOD.index(case.old)].count("\n") + 1
        right = match is not None and match[2] == case.tag
        exact.append(right and (int(match[1]) == line or not case.same_line))
    wrong = [case.name for case, right in zip(CASES, exact, strict=True) if not right]
    assert sum(exact) >= 0.95 * len(CASES), wrong


def test_nothing_is_printed(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for case in CASES[::10]:
        refusal_of(case, tmp_path)
    assert capfd.readouterr() == ("", "")
    assert [path.name for path in tmp_path.iterdir()] == ["robot.xml"]
