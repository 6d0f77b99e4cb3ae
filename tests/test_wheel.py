"""The wheel that `make wheel` built installs into an empty environment and runs the quickstart."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
WHEELS = sorted((ROOT / "build" / "wheel").glob("*.whl"))
pytestmark = [
    pytest.mark.wheel,
    pytest.mark.skipif(not WHEELS, reason="make wheel builds one"),
]


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    place = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    python = place / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, WHEELS[0]], check=True)
    return python


def quickstart():
    """The first example of the README that imports the package."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return next(block for block in blocks if "import jounce" in block)


def test_the_quickstart_runs_in_an_empty_environment(python, tmp_path):
    done = subprocess.run(
        [python, "-I", "-c", quickstart()], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_all_instruction_sets_are_there(python):
    code = "import jounce; print(*jounce.core_info()['available'])"
    done = subprocess.run([python, "-I", "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() in (["v4", "v3", "v2"], ["generic"])


def test_a_library_and_headers_come_with_it():
    names = zipfile.ZipFile(WHEELS[0]).namelist()
    assert any(name.endswith("include/jounce/jounce.h") for name in names)
    assert any(re.search(r"libjounce_\w+\.so", name) for name in names)
