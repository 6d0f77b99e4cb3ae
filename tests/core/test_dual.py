"""The kernels run on dual numbers: their tangents are the analytic partial derivatives."""

import pathlib
import shutil
import subprocess

import pytest

import jounce as jc

SOURCE = pathlib.Path(__file__).with_name("dual_check.cpp")


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_tangents_of_the_kernels_are_the_partial_derivatives(tmp_path):
    program = tmp_path / "dual_check"
    command = [
        "g++",
        "-std=c++20",
        "-O1",
        "-w",
        "-I",
        jc.get_include(),
        str(SOURCE),
        "-o",
        str(program),
    ]
    subprocess.run(command, check=True)
    lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    errors = dict(zip(lines[::2], map(float, lines[1::2]), strict=True))
    partials = {
        "inverse_dq",
        "inverse_dv",
        "inverse_da",
        "forward_dq",
        "forward_dv",
        "forward_dtau",
    }
    assert set(errors) == partials | {"series", "motion_series"}
    assert max(errors.values()) < 1e-11, errors
