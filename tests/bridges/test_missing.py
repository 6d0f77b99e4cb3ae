"""Without the package that a front end is for, or without its compiled part, it says what to do."""

from __future__ import annotations

import importlib.util

import pytest

MESSAGE = """
import sys
from importlib import import_module
sys.modules[sys.argv[1]] = None
import jounce as jc
try:
    import_module(sys.argv[2])
except jc.MissingExtraError as error:
    print(error)
"""

NO_HANDLER = """
import jounce as jc
from jounce import _core
_core.get_library = lambda: "/nowhere/libjounce.so"
try:
    import jounce.interop.jax
except jc.MissingExtraError as error:
    print(error)
"""


@pytest.mark.parametrize("name", ["jax", "torch", "casadi", "scipy"])
def test_a_missing_package_is_named_with_its_extra(name, python):
    module = f"jounce.interop.{name}"
    said = python(MESSAGE, name, module)
    assert said.startswith(f"{module} needs ")
    assert f"pip install 'jounce[{name}]'" in said


def test_a_build_without_the_headers_of_jax_says_so(python):
    if importlib.util.find_spec("jax") is None:
        pytest.skip("JAX is not installed")
    assert "this build of jounce has no front end for JAX" in python(NO_HANDLER)
