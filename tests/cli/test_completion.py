"""Completion scripts know the commands, options and robots, in shells that are installed."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from jounce import cli

COMMANDS = "info show check convert id fd series linearize simulate rollout view bench demo"


@pytest.fixture
def script(capsys, tmp_path):
    """Write the script of a shell to a file."""

    def write(shell: str):
        assert cli.main(["completion", shell]) == 0
        path = tmp_path / f"_jounce.{shell}"
        path.write_text(capsys.readouterr().out)
        return path

    return write


def shell(name: str, code: str) -> list[str]:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[name]
    run = subprocess.run([found, *options, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr == ""
    assert run.returncode == 0
    return run.stdout.split()


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_in_the_script(script, name):
    text = script(name).read_text()
    for command in COMMANDS.split():
        assert command in text
    for word in ("aerial_manipulator", "rkmk4", "spatial", "every", "payload"):
        assert word in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("jounce sim", ["simulate"]),
        ("jounce fd --t", ["--tau", "--threads"]),
        ("jounce show aerial", ["aerial_manipulator"]),
        ("jounce demo --twist sp", ["spatial"]),
        ("jounce rollout x --method rkmk", ["rkmk2", "rkmk4"]),
        ("jounce completion f", ["fish"]),
    ],
)
def test_bash_completes(script, tmp_path, words, expected):
    parts = words.split()
    code = (
        f"cd {tmp_path}; . {script('bash')}; COMP_WORDS=({words}); COMP_CWORD={len(parts) - 1}; "
        '_jounce; echo "${COMPREPLY[@]}"'
    )
    assert shell("bash", code) == expected


def test_fish_completes(script):
    code = f"source {script('fish')}; complete -C 'jounce show aerial'"
    assert "aerial_manipulator" in shell("fish", code)
    code = f"source {script('fish')}; complete -C 'jounce demo --twist sp'"
    assert shell("fish", code)[0] == "spatial"


def test_zsh_loads_the_script(script):
    code = f"autoload -Uz compinit; compinit -u -D; . {script('zsh')}; print $_comps[jounce]"
    assert shell("zsh", code) == ["_jounce"]
