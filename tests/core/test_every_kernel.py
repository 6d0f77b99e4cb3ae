"""Packs and threads give what single states give, in C++ alone: what cross-compiled builds run."""

from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest
from test_c_api import IN_TIME

import jounce as jc
from jounce import _core

SOURCE = pathlib.Path(__file__).with_name("every_kernel.cpp")
CONSTRAINED = {n for n in _core.kernel_names() if "table" in _core.signature(n)["inputs"]}


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_every_kernel_gives_the_same_in_packs_and_alone(tmp_path):
    program = tmp_path / "every_kernel"
    library = pathlib.Path(jc.get_library())
    command = ["g++", "-std=c++20", "-O1", "-I", jc.get_include(), str(SOURCE), str(library)]
    subprocess.run([*command, f"-Wl,-rpath,{library.parent}", "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    compared = {line.split()[0] for line in done.stdout.splitlines()}
    assert {*_core.kernel_names()} - compared == IN_TIME | CONSTRAINED
