"""Model files with random changes: refusals name file, line and element, all else works."""

from __future__ import annotations

import itertools
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import jounce as jc
from jounce.io._inspect import inspect

TOOLS = Path(__file__).resolve().parents[2] / "tools"
COUNT = 350


def mutations(kind):
    """Texts of a format, each with one to three changes, and its reader."""
    sys.path.insert(0, str(TOOLS))
    try:
        import fuzz_files
    finally:
        sys.path.remove(str(TOOLS))
    maker = fuzz_files.Files()
    read, text = fuzz_files.samples()[kind]
    for number in range(COUNT):
        yield read, maker.changed(text, np.random.default_rng([11, number]))


@pytest.mark.long
@pytest.mark.skipif(not TOOLS.is_dir(), reason="needs a checkout")
@pytest.mark.parametrize("kind", ["urdf", "mjcf", "sdf", "xacro", "srdf"])
def test_nearly_all_refusals_name_file_line_and_element(kind, tmp_path):
    if kind in ("mjcf", "xacro"):
        pytest.importorskip({"mjcf": "mujoco"}.get(kind, kind))
    path = tmp_path / f"robot.{kind}"
    place = re.compile(re.escape(str(path)) + r"( \(expanded\))?:\d+: <[^ >]+[ >]")
    refusals = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for read, text in mutations(kind):
            path.write_text(text, "utf-8")
            try:
                model = read(path)
            except jc.ModelError as error:
                refusals.append(str(error))
            else:
                q = jc.random_configuration(model, 0)
                assert np.isfinite(jc.mass_matrix(model, q)).all()
    assert len(refusals) >= 200
    bare = [text for text in refusals if not place.match(text)]
    assert len(bare) <= 0.05 * len(refusals), bare


@pytest.mark.skipif(not TOOLS.is_dir(), reason="needs a checkout")
@pytest.mark.parametrize("kind", ["urdf", "sdf"])
def test_a_file_is_refused_if_and_only_if_the_check_says_so(kind, tmp_path):
    path = tmp_path / f"robot.{kind}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for read, text in itertools.islice(mutations(kind), 60):
            path.write_text(text, "utf-8")
            model, findings = inspect(path)
            refused = [finding.text() for finding in findings if finding.refused]
            if model is not None:
                read(path)
                assert refused == []
                continue
            with pytest.raises(jc.ModelError) as caught:
                read(path)
            assert str(caught.value) in refused
