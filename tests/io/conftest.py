"""What the tests of the loaders share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jounce.errors import ModelError
from jounce.io import load_urdf


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes], Path]:
    """Write a model file and return its path."""

    def write_file(data: str | bytes) -> Path:
        path = tmp_path / "robot.urdf"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write_file


@pytest.fixture
def refusal() -> Callable[[Path, bool], str]:
    """Return the message of the ModelError that loading a file must raise."""

    def message_of(path: Path, strict: bool) -> str:
        with pytest.raises(ModelError) as caught:
            load_urdf(path, strict=strict)
        return str(caught.value)

    return message_of
