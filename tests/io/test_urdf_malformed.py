"""Files that are no XML or no URDF, hostile files and random damage never crash the loader."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from jounce.errors import ModelError
from jounce.io import load_urdf

pytest.importorskip("lxml")

GOOD = (Path(__file__).parent / "models" / "arm.urdf").read_text()

NOT_XML = {
    "empty": b"",
    "blank": b" \n\n ",
    "zeros": b"\0" * 100,
    "binary": bytes(range(256)),
    "text": b"this is not XML",
    "json": b'{"robot": 1}',
    "truncated": GOOD[:800].encode(),
    "unclosed": GOOD.replace("</robot>", "").encode(),
    "crossed tags": GOOD.replace("</inertial>", "</link>", 1).encode(),
    "two roots": (GOOD + "<robot name='b'/>").encode(),
    "duplicate attribute": GOOD.replace('link name="tool"', 'link name="tool" name="x"').encode(),
    "unquoted attribute": GOOD.replace('value="2.5"', "value=2.5").encode(),
    "bare ampersand": GOOD.replace('name="arm"', 'name="arm & hand"').encode(),
    "unknown entity": GOOD.replace('value="2.5"', 'value="&m;"').encode(),
    "invalid UTF-8": GOOD.encode().replace(b"arm", b"\xff\xfe\xfa"),
    "wrong encoding": GOOD.replace('"1.0"?', '"1.0" encoding="klingon"?').encode(),
    "half of UTF-16": GOOD.encode("utf-16")[:-301],
    "control character": GOOD.replace('"arm"', '"a\x01m"').encode(),
    "two doctypes": GOOD.replace("<robot", "<!DOCTYPE robot><!DOCTYPE robot>\n<robot", 1).encode(),
    "doctype with a subset": GOOD.replace("<robot", "<!DOCTYPE robot []>\n<robot", 1).encode(),
    "unfinished doctype": b"<!DOCTYPE robot",
    "entity of a doctype": b'<!DOCTYPE r SYSTEM "x.dtd"><robot name="&e;"><link name="a"/></robot>',
    "entity in UTF-16": '<!DOCTYPE r [<!ENTITY e "x">]><robot/>'.encode("utf-16"),
    "external entity": b'<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><robot>&e;</robot>',
    "external doctype": b'<!-- x --><!DOCTYPE r SYSTEM "http://127.0.0.1:1/r.dtd"><robot/>',
    "deep nesting": b"<robot>" + b"<gazebo>" * 100_000,
    "deep and closed": b"<robot>" + b"<a>" * 5000 + b"</a>" * 5000 + b"</robot>",
    "other root": b"<urdf/>",
    "html": b"<html><body>404</body></html>",
    "SDF": b"<sdf version='1.6'><model/></sdf>",
    "empty robot": b"<robot name='r'/>",
}


# What is meant is clear, see test_mended.py.
MENDED = ("bare ampersand", "invalid UTF-8")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", NOT_XML)
def test_what_is_no_urdf_at_all_is_refused_with_file_and_line(name, strict, write, refusal):
    path = write(NOT_XML[name])
    if name in MENDED and not strict:
        assert load_urdf(path).n_bodies
        return
    assert re.match(re.escape(str(path)) + r":\d+: ", refusal(path, strict))


def test_entity_bomb_is_refused_before_it_is_parsed(write, refusal):
    levels = "".join(f'<!ENTITY e{k + 1} "{f"&e{k};" * 10}">' for k in range(12))
    bomb = f'<!DOCTYPE r [<!ENTITY e0 "ha">{levels}]><robot name="&e12;"/>'
    assert "<!DOCTYPE>" in refusal(write(bomb), False)


def test_a_directory_and_an_impossible_path_are_model_errors(tmp_path, refusal):
    assert str(tmp_path) in refusal(tmp_path, False)
    with pytest.raises(ModelError):
        load_urdf("a\0b.urdf")


def test_a_missing_file_is_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.urdf"):
        load_urdf(tmp_path / "none.urdf")


@pytest.mark.filterwarnings("ignore::jounce.errors.ModelWarning")
@pytest.mark.parametrize("strict", [False, True])
def test_truncated_files_are_refused(strict):
    data = GOOD.encode()
    for stop in range(0, len(data) - 2, 13):
        with pytest.raises(ModelError):
            load_urdf(data[:stop], strict=strict)


@pytest.mark.filterwarnings("ignore::jounce.errors.ModelWarning")
@pytest.mark.parametrize("seed", range(4))
def test_mutated_files_load_or_raise_model_error(seed):
    rng = np.random.default_rng(seed)
    data = np.frombuffer(GOOD.encode(), np.uint8)
    pieces = [b"<", b">", b"/", b'"', b" ", b"-", b"1e9", b"e", b"\0", b"&", b"<!--", b"link"]
    messages = []
    for _ in range(400):
        mutated = bytearray(data.tobytes())
        for _ in range(rng.integers(1, 4)):
            at = int(rng.integers(len(mutated)))
            piece = pieces[rng.integers(len(pieces))]
            stop = at + int(rng.integers(0, 12)) if rng.random() < 0.5 else at
            mutated[at:stop] = (
                piece if rng.random() < 0.8 else bytes(rng.integers(0, 256, 2, np.uint8))
            )
        try:
            model = load_urdf(bytes(mutated), strict=bool(rng.integers(2)))
        except ModelError as error:
            messages.append(str(error))
        else:
            assert np.all(np.isfinite(model.inertias))
    assert len(messages) > 200
    assert all(message.startswith("<bytes>:") for message in messages)
