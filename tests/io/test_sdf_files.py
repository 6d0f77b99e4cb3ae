"""SDF files of others, and files that include each other."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest

import jounce as jc
from jounce.errors import ModelError
from jounce.io import _sdf_scope


def files_of_drake():
    """Where an installed pydrake keeps its files, without importing it."""
    spec = importlib.util.find_spec("pydrake")
    folder = None if spec is None or spec.origin is None else Path(spec.origin).parent
    return sorted(folder.rglob("*.sdf")) if folder else []


DRAKE = files_of_drake()


@pytest.mark.skipif(not DRAKE, reason="needs pydrake")
def test_files_that_drake_brings_are_read():
    for path in DRAKE:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jc.ModelWarning)
            model = jc.load(path)
        assert len(model.frames) > 0, path
        assert np.isfinite(jc.mass_matrix(model, jc.neutral(model))).all(), path


@pytest.fixture
def save(tmp_path):
    def write(name: str, inside: str) -> Path:
        path = tmp_path / f"{name}.sdf"
        path.write_text(f'<sdf version="1.9">\n<model name="{name}">\n{inside}</model></sdf>')
        return path

    return write


def includes(name: str, count: int) -> str:
    one = "<include><uri>{}.sdf</uri><name>i{}</name></include>\n"
    return "".join(one.format(name, k) for k in range(count))


def test_includes_that_explode_are_refused_at_their_element(save):
    """Eight files of ten includes each, 10^8 links."""
    paths = [save(f"m{k}", includes(f"m{k + 1}", 10)) for k in range(8)]
    save("m8", '<link name="l"/>')
    message = r"m\d\.sdf:\d+: <include> in <model name='m\d'>: includes bring more than 100,000"
    with pytest.raises(ModelError, match=message):
        jc.load(paths[0])
    assert len(jc.load(paths[5]).frames) == 1000


def test_a_file_is_read_once(save, monkeypatch):
    read = []
    monkeypatch.setattr(
        _sdf_scope, "read_source", lambda path, _, own=_sdf_scope.read_source: read.append(path)
        or own(path)
    )  # fmt: skip
    save("leg", '<link name="l"/>')
    model = jc.load(save("spider", includes("leg", 8)))
    assert [name for name in model.frames if name.endswith("::l")] == [f"i{k}::l" for k in range(8)]
    assert len(read) == 1


def test_long_chains_of_poses_in_any_order():
    count = 1500
    links = [
        f'<link name="l{k}"><pose relative_to="l{k - 1}">0 0 1 0 0 0</pose></link>'
        for k in range(1, count)
    ]
    text = f'<sdf version="1.9"><model name="m">{"".join(reversed(links))}<link name="l0"/>'
    model = jc.load_sdf(text + "</model></sdf>")
    assert model.frames[f"l{count - 1}"].placement[2, 3] == count - 1
    frames = "".join(f'<frame name="f{k}" attached_to="f{k + 1}"/>' for k in range(count))
    with pytest.raises(ModelError, match="attached to each other too deep"):
        jc.load_sdf(text + frames + f'<frame name="f{count}"/></model></sdf>')
