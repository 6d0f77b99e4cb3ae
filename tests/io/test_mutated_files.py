"""Model files with random changes: refusals name file, line and element, all else works."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import jounce as jc

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
@pytest.mark.parametrize("kind", ["urdf", "mjcf", "sdf"])
def test_nearly_all_refusals_name_file_line_and_element(kind, tmp_path):
    if kind == "mjcf":
        pytest.importorskip("mujoco")
    path = tmp_path / f"robot.{kind}"
    place = re.compile(re.escape(str(path)) + r":\d+: <[^ >]+[ >]")
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
