"""What the package declares: Python versions, and extras that install everywhere."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
requirements = pytest.importorskip("packaging.requirements")
specifiers = pytest.importorskip("packaging.specifiers")

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
if not PYPROJECT.is_file():
    pytest.skip("installed without its sources", allow_module_level=True)
TOML = tomllib.loads(PYPROJECT.read_text())
PROJECT = TOML["project"]
VERSIONS = ["3.10", "3.11", "3.12", "3.13", "3.14"]
MACHINES = {
    "linux x86": {"sys_platform": "linux", "platform_machine": "x86_64"},
    "linux arm": {"sys_platform": "linux", "platform_machine": "aarch64"},
    "mac arm": {"sys_platform": "darwin", "platform_machine": "arm64"},
    "windows": {"sys_platform": "win32", "platform_machine": "AMD64"},
}
WHEELS = {
    "drake": lambda machine, version: machine == "linux x86",
    "pin": lambda machine, version: machine != "windows",
    "dm_control": lambda machine, version: version in VERSIONS[:3],
    "heyoka": lambda machine, version: machine == "linux x86" and version in VERSIONS[1:4],
}
"""Where packages that are not everywhere have a wheel of the version that we ask for."""


def asked_for(extra, machine, version):
    environment = {**MACHINES[machine], "python_version": version, "extra": ""}
    found = map(requirements.Requirement, PROJECT["optional-dependencies"][extra])
    return {r.name for r in found if r.marker is None or r.marker.evaluate(environment)}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("extra", ["test", "bench"])
def test_extras_ask_for_peers_where_they_have_wheels(extra, machine, version):
    names = asked_for(extra, machine, version)
    listed = {requirements.Requirement(x).name for x in PROJECT["optional-dependencies"][extra]}
    for name, has_wheel in WHEELS.items():
        assert (name in names) == (name in listed and has_wheel(machine, version))
    assert {"casadi", "example-robot-data"} <= names


def test_the_declared_python_versions_are_those_supported():
    supported = specifiers.SpecifierSet(PROJECT["requires-python"])
    prefix = "Programming Language :: Python :: 3."
    classified = [c.removeprefix(prefix) for c in PROJECT["classifiers"] if c.startswith(prefix)]
    assert [f"3.{minor}" for minor in classified] == VERSIONS
    assert all(supported.contains(f"{version}.0") for version in VERSIONS)
    assert not supported.contains("3.9.18")


def test_the_declared_systems_are_those_that_wheels_are_built_for():
    names = {"linux": "POSIX :: Linux", "macos": "MacOS", "windows": "Microsoft :: Windows"}
    prefix = "Operating System :: "
    declared = {c.removeprefix(prefix) for c in PROJECT["classifiers"] if c.startswith(prefix)}
    built = TOML["tool"]["cibuildwheel"].keys() & names.keys()
    assert declared == {names[system] for system in built} == set(names.values())


def test_numpy_and_lxml_are_required_and_nothing_else():
    assert [requirements.Requirement(x).name for x in PROJECT["dependencies"]] == ["numpy", "lxml"]
    extras = PROJECT["optional-dependencies"]
    assert {"mjcf", "plot", "view", "cli", "test", "bench", "docs"} <= set(extras)
