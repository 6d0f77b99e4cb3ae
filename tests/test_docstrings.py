"""Examples in the docstrings of public names run; they know `jc` and `np`."""

from __future__ import annotations

import doctest
import importlib
import inspect
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import jounce as jc

ROOMS = (
    *("constraints", "derivatives", "dynamics", "errors", "io", "kinematics", "lie", "lie.twists"),
    *("model", "model.inertia", "model.models", "plot", "series", "simulation", "sweeps"),
    *("trajectories", "viewer"),
)
BRIDGES = {
    "casadi": "casadi",
    "drake": "pydrake",
    "mujoco": "mujoco",
    "pinocchio": "pinocchio",
    "scipy": "scipy",
}
"""Rooms of other libraries, by the packages that they need; their other functions are copies."""

NEEDS = {
    **dict.fromkeys(("load_mjcf",), "mujoco"),
    **dict.fromkeys(("load_xacro",), "xacro"),
    **dict.fromkeys(("Viewer", "export"), "viser"),
}
MODULES = {"jc": jc, **{f"jc.{room}": importlib.import_module(f"jounce.{room}") for room in ROOMS}}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def public(module: ModuleType) -> dict[str, Any]:
    """Its functions and classes."""
    names = [name for name in dir(module) if not name.startswith("_")]
    found = {name: getattr(module, name) for name in names}
    return {name: x for name, x in found.items() if callable(x) and not inspect.ismodule(x)}


FOUND = {
    f"{where}.{name}": value
    for where, module in MODULES.items()
    for name, value in public(module).items()
}
EACH = {id(value): (name, value) for name, value in reversed(FOUND.items())}
CASES = [
    pytest.param(value, id=name)
    for name, value in reversed(EACH.values())
    if ">>>" in (value.__doc__ or "")
]


WITHOUT = {
    "Constraints.linearization": "`jounce.linearize` calls it",
    "Coupling.renamed": "editing of models calls it",
    "Coupling.with_locked": "editing of models calls it",
    "Joint.named": "the builder calls it",
    "Joint.with_checked": "the builder calls it",
    "Parameters.model_tangent": "`jounce.parameter_derivatives` calls it",
    "Parameters.require_model": "`jounce.parameter_derivatives` calls it",
    "SimulatedMotion.to_pandas": "needs pandas; its example is not run",
    "SimulatedMotion.to_xarray": "needs xarray; its example is not run",
    "_Between.renamed": "editing of models calls it",
    "_Between.with_locked": "editing of models calls it",
}
"""Methods that need no example that runs, and why."""


def methods(cls: type) -> dict[str, Any]:
    """Its public methods by their full names, those of the package that it inherits included."""
    members = [getattr(cls, name) for name in dir(cls) if not name.startswith("_")]
    made = [getattr(member, "__func__", member) for member in members]
    own = [x for x in made if inspect.isfunction(x) and x.__module__.startswith("jounce.")]
    return {x.__qualname__: x for x in own if not x.__name__.startswith("_")}


METHODS = {
    name: method
    for value in FOUND.values()
    if inspect.isclass(value)
    for name, method in methods(value).items()
}


def assert_examples_hold(value: Any) -> None:
    names = {"jc": jc, "np": np, value.__name__: value}
    parser = doctest.DocTestParser()
    test = parser.get_doctest(inspect.cleandoc(value.__doc__), names, value.__name__, None, 0)
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    messages: list[str] = []
    with np.printoptions():
        runner.run(test, out=messages.append)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    assert not runner.failures, "".join(messages)


@pytest.mark.usefixtures("sketches")
@pytest.mark.parametrize("value", CASES)
def test_examples_of_public_names_run(value: Any) -> None:
    if value.__name__ in NEEDS:
        pytest.importorskip(NEEDS[value.__name__])
    assert_examples_hold(value)


@pytest.mark.parametrize("room", BRIDGES)
def test_examples_of_bridges_run(room: str) -> None:
    pytest.importorskip(BRIDGES[room])
    module = importlib.import_module(f"jounce.interop.{room}")
    made = {name: x for name, x in public(module).items() if x.__module__ == module.__name__}
    own = {name: x for name, x in made.items() if not hasattr(jc, name)}
    assert own
    inside = [methods(x) for x in own.values() if inspect.isclass(x)]
    shown = [(n, x) for each in inside for n, x in each.items() if x.__module__ == module.__name__]
    assert lacking_examples(dict(shown)) == set()
    for name, value in own.items():
        assert ">>>" in value.__doc__, name
        assert_examples_hold(value)


def lacking_examples(values: dict[str, Any]) -> set[str]:
    return {name for name, value in values.items() if ">>>" not in (value.__doc__ or "")}


def test_every_public_name_has_an_example() -> None:
    assert lacking_examples(FOUND) == set()


def test_every_public_method_has_an_example() -> None:
    """`test_architecture.py` runs them, with those of all modules."""
    assert len(METHODS) > 80
    assert lacking_examples(METHODS) == set(WITHOUT)


@pytest.mark.parametrize("value", CASES)
def test_examples_stand_in_a_section_of_their_own(value: Any) -> None:
    before = inspect.cleandoc(value.__doc__).split(">>>")[0].rstrip()
    assert before.endswith(("Examples:", ".", ":")), before[-80:]
    assert "Examples:" in before
