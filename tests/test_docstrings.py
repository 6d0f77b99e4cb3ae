"""Examples in the docstrings of public names run; they know `jc` and `np`."""

from __future__ import annotations

import doctest
import inspect
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import jounce as jc

MODULES = {
    "jc": jc,
    "jc.lie": jc.lie,
    "jc.twists": jc.twists,
    "jc.models": jc.models,
    "jc.inertia": jc.inertia,
    "jc.trajectories": jc.trajectories,
}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def public(module: ModuleType) -> dict[str, Any]:
    """Its functions and classes."""
    names = [name for name in dir(module) if not name.startswith("_")]
    found = {name: getattr(module, name) for name in names}
    return {name: x for name, x in found.items() if callable(x) and not inspect.ismodule(x)}


CASES = [
    pytest.param(value, id=f"{where}.{name}")
    for where, module in MODULES.items()
    for name, value in public(module).items()
    if ">>>" in (value.__doc__ or "")
]


@pytest.mark.parametrize("value", CASES)
def test_examples_of_public_names_run(value: Any) -> None:
    names = {"jc": jc, "np": np, value.__name__: value}
    parser = doctest.DocTestParser()
    test = parser.get_doctest(inspect.cleandoc(value.__doc__), names, value.__name__, None, 0)
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    messages: list[str] = []
    with np.printoptions():
        runner.run(test, out=messages.append)
    assert not runner.failures, "".join(messages)


def test_every_function_of_the_package_has_an_example() -> None:
    exempt = {"core_info", "get_cmake_dir", "get_library", "load_xacro"}
    exempt |= {"constrained_dynamics_input_derivatives"}
    functions = {name: x for name, x in public(jc).items() if not inspect.isclass(x)}
    lacking = {name for name, x in functions.items() if ">>>" not in (x.__doc__ or "")}
    assert lacking - exempt == set()


@pytest.mark.parametrize("value", CASES)
def test_examples_stand_in_a_section_of_their_own(value: Any) -> None:
    before = inspect.cleandoc(value.__doc__).split(">>>")[0].rstrip()
    assert before.endswith(("Examples:", ".", ":")), before[-80:]
    assert "Examples:" in before
