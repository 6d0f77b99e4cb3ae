"""Somebody else's CMake project builds against an installed jounce and gets our numbers."""

from __future__ import annotations

import math
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import jounce as jc

PROJECT = pathlib.Path(__file__).with_name("consumer")


def cmake():
    beside = pathlib.Path(sys.executable).with_name("cmake")
    return str(beside) if beside.exists() else shutil.which("cmake")


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    if not (cmake() and shutil.which("g++") and shutil.which("make")):
        pytest.skip("needs CMake and a C++ compiler")
    build = tmp_path_factory.mktemp("build")
    found = f"-Djounce_DIR={jc.get_cmake_dir()}"
    makefiles = ["-G", "Unix Makefiles"]
    for command in (
        [*makefiles, "-S", str(PROJECT), "-B", str(build), found],
        ["--build", str(build)],
    ):
        done = subprocess.run([cmake(), *command], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return build


@pytest.fixture(scope="module")
def pendulum():
    """The robot that both programs build by hand."""
    builder = jc.ModelBuilder(name="pendulum")
    ten = [2, 0, 0, -1, 0.5, 0, 0.5, 0, 0, 0.01]
    builder.add_body("rod", joint="revolute", axis=(0, 1, 0), armature=0.25, parameters=ten)
    return builder.build(warn=False)


def said(program):
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout.split("\n")


def test_a_program_in_c_gets_the_same_torques(programs, pendulum):
    numbers, failure, _ = said(programs / "by_kernels")
    first, second, status = numbers.split()
    tau = jc.inverse_dynamics(pendulum, [0.3], [[0.1], [-0.2]], [[1.5], [-2.5]])
    assert [float(first), float(second)] == tau[:, 0].tolist()
    assert status == "0"
    assert failure == "1 1 2 0"  # not finite: state 1, input 2 (a), entry 0


def test_the_templates_run_on_dual_numbers(programs, pendulum):
    tau, derivative = map(float, said(programs / "by_templates")[0].split())
    state = [0.3], [0.1], [1.5]
    eps = 8 * np.finfo(float).eps
    assert math.isclose(tau, jc.inverse_dynamics(pendulum, *state)[0], rel_tol=eps)
    expected = jc.inverse_dynamics_derivatives(pendulum, *state).dq[0, 0]
    assert math.isclose(derivative, expected, rel_tol=eps)
