"""The wheel that `make wheel` built installs into an empty environment and runs the quickstart.

And what cibuildwheel is told, which runs nowhere here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
WHEELS = sorted((ROOT / "build" / "wheel").glob("*.whl"))


def of_a_wheel(test):
    """Mark a test that needs a wheel."""
    return pytest.mark.wheel(pytest.mark.skipif(not WHEELS, reason="make wheel builds one")(test))


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


@of_a_wheel
def test_the_quickstart_runs_in_an_empty_environment(python, tmp_path):
    done = subprocess.run(
        [python, "-I", "-c", quickstart()], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@of_a_wheel
def test_all_instruction_sets_are_there(python):
    code = "import jounce; print(*jounce.core_info()['available'])"
    done = subprocess.run([python, "-I", "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() in (["v4", "v3", "v2"], ["generic"])


@of_a_wheel
def test_a_library_and_headers_come_with_it():
    names = zipfile.ZipFile(WHEELS[0]).namelist()
    assert any(name.endswith("include/jounce/jounce.h") for name in names)
    assert any(re.search(r"libjounce_\w+\.so", name) for name in names)


@of_a_wheel
def test_a_urdf_is_loaded_in_an_empty_environment(python, tmp_path):
    shutil.copy(ROOT / "tests" / "io" / "models" / "arm.urdf", tmp_path)
    code = "import jounce as jc; m = jc.load('arm.urdf'); print(m.nv, *m.joint_names)"
    done = subprocess.run(
        [python, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "3"


@pytest.fixture(scope="module")
def told():
    """What pyproject.toml tells cibuildwheel."""
    tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    path = ROOT / "pyproject.toml"
    if not path.is_file():
        pytest.skip("installed without its sources")
    return tomllib.loads(path.read_text())["tool"]["cibuildwheel"]


def settings(told, build):
    """The settings of a build: overrides replace those of all builds, or add to them."""
    out = dict(told["config-settings"])
    for rule in told["overrides"]:
        if fnmatch(build, rule["select"]) and "config-settings" in rule:
            kept = out if rule.get("inherit", {}).get("config-settings") == "append" else {}
            out = {**kept, **rule["config-settings"]}
    return out


@pytest.mark.parametrize("tag", ["cp310", "cp313", "cp313t", "cp314", "cp314t"])
def test_wheels_are_built_for_all_interpreters(told, tag):
    build = f"{tag}-manylinux_x86_64"
    assert any(fnmatch(build, pattern) for pattern in told["build"].split())
    assert not any(fnmatch(build, pattern) for pattern in told["skip"].split())
    assert "cpython-freethreading" in told["enable"]


@pytest.mark.parametrize(
    ("build", "sets", "compiler"),
    [
        ("cp314-manylinux_x86_64", None, None),
        ("cp314-macosx_arm64", "generic", None),
        ("cp314-macosx_x86_64", "v2;v3;v4", None),
        ("cp314t-win_amd64", None, "clang-cl"),
    ],
)
def test_each_platform_has_its_settings_and_those_of_all(told, build, sets, compiler):
    found = settings(told, build)
    assert found["cmake.define.JOUNCE_XLA_INCLUDE"] == "build/jaxlib/jaxlib/include"
    assert found.get("cmake.define.JOUNCE_ISA") == sets
    assert found.get("cmake.define.CMAKE_CXX_COMPILER") == compiler
    for platform in ("linux", "macos", "windows"):  # which would replace those of all
        assert "config-settings" not in told[platform]


def test_commands_are_those_of_any_shell(told):
    after = told["before-build"].partition("||")[2].split()
    assert after[0] == "python"
