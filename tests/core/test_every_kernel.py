"""Packs and threads give what single states give, in C++ alone: what cross-compiled builds run."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest

import jounce as jc
from jounce import _core

SOURCE = pathlib.Path(__file__).with_name("every_kernel.cpp")


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_every_kernel_gives_the_same_in_packs_and_alone(tmp_path):
    program = tmp_path / "every_kernel"
    library = pathlib.Path(jc.get_library())
    command = ["g++", "-std=c++20", "-O1", "-I", jc.get_include(), str(SOURCE), str(library)]
    subprocess.run([*command, f"-Wl,-rpath,{library.parent}", "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert {line.split()[0] for line in done.stdout.splitlines()} == set(_core.kernel_names())
