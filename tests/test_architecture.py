"""The layout shows the architecture: dependencies point one way, files stay short."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import jounce as jc

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "core"
PACKAGE = ROOT / "src" / "jounce"
MOST_LINES = 480

ROOMS = ["scalar", "vec", "lie", "spatial", "tree", "kinematics", "dynamics"]
"""Rooms of the core, each may use those before it; rooms not listed come after them."""

LEVELS = [
    {"errors"},
    {"_core"},
    {"_trig"},
    {"lie"},
    {"inertia", "twists", "joints"},
    {"nodes"},
    {"model"},
    {"builder"},
    {"<functions>"},
    {"io", "interop", "plot", "view", "papers"},
    {"demo"},
    {"cli", "__main__"},
]
"""Modules of the package, each may use those of lower levels and, without cycles, of its own.
Modules not listed (dynamics, kinematics, series, ...) are functions of a model."""

HEAVY = ["lxml", "mujoco", "scipy", "matplotlib", "pinocchio", "pydrake", "casadi", "rich", "viser"]


def core_files():
    return sorted(CORE.rglob("*.hpp"))


def includes(path):
    return re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', path.read_text(), re.MULTILINE)


def room_rank(path):
    room = path.relative_to(CORE).parts[0]
    return ROOMS.index(room) if room in ROOMS else len(ROOMS)


@pytest.mark.parametrize("path", core_files(), ids=lambda p: p.relative_to(CORE).as_posix())
def test_the_core_includes_only_what_comes_before(path):
    for name in includes(path):
        target = (path.parent / name).resolve()
        if not target.exists():
            outside = re.match(r"(Python|numpy|nanobind|pybind|frameobject)", name)
            assert not outside, f"{name}: the core knows nothing of Python"
            continue
        assert CORE in target.parents, f"{name} is not part of the core"
        assert room_rank(target) <= room_rank(path), f"{name} comes after {path.parent.name}"


def test_includes_have_no_cycles():
    files = [*core_files(), *(PACKAGE / "_core").glob("*.[ch]pp")]
    graph = {
        path.resolve(): [
            target for name in includes(path) if (target := (path.parent / name).resolve()).exists()
        ]
        for path in files
    }
    assert any(graph.values())
    assert find_cycle(graph) is None


@pytest.mark.parametrize("path", core_files(), ids=lambda p: p.relative_to(CORE).as_posix())
def test_kernels_neither_allocate_nor_throw(path):
    """Memory is laid out before a kernel runs; only the tree's construction may fail."""
    if path.name in ("tree.hpp", "workspace.hpp"):
        return
    code = re.sub(r"//.*", "", path.read_text())
    found = re.findall(r"\bthrow\b|\bnew\b|\bmalloc\b|std::vector|std::string|std::function", code)
    assert not found


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports(name, lazy=True):
    """Modules of the package that a module imports; lazy ones are those inside functions."""
    tree = ast.parse(MODULES[name].read_text())
    nodes = ast.walk(tree) if lazy else iter(tree.body)
    for node in nodes:
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: imports are written from the root"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [x if x in MODULES else str(node.module) for x in full]
        else:
            continue
        yield from (x for x in targets if x.split(".")[0] == "jounce")


def level(name):
    parts = name.split(".")
    if len(parts) == 1:
        return len(LEVELS)
    for rank, modules in enumerate(LEVELS):
        if parts[1] in modules:
            return rank
    return next(k for k, modules in enumerate(LEVELS) if "<functions>" in modules)


@pytest.mark.parametrize("name", [m for m in MODULES if m != "jounce"])
def test_python_imports_point_one_way(name):
    users = level("jounce.demo")
    for target in imports(name):
        if target == "jounce":
            assert level(name) >= users, f"{name} imports the package that it is part of"
            continue
        assert level(target) <= level(name), f"{name} imports {target}, which comes after it"


def test_python_imports_have_no_cycles():
    graph = {name: [x for x in imports(name, lazy=False) if x != name] for name in MODULES}
    graph["jounce"] = []  # gathers everything
    assert find_cycle(graph) is None


def find_cycle(graph):
    """A node of a cycle, or None; by removing nodes that depend on nothing."""
    left = {node: set(targets) - {node} for node, targets in graph.items()}
    while True:
        done = {node for node, targets in left.items() if not targets & left.keys()}
        if not done:
            return next(iter(left), None)
        left = {node: targets for node, targets in left.items() if node not in done}


def test_a_cycle_would_be_found():
    assert find_cycle({"a": ["b"], "b": ["c"], "c": ["a"], "d": []}) in ("a", "b", "c")
    assert find_cycle({"a": ["b"], "b": ["c"], "c": []}) is None


def test_import_jounce_needs_numpy_alone(python):
    loaded = python("import sys, jounce; print(*sys.modules, sep='\\n')").split()
    assert "numpy" in loaded
    assert not {name.split(".")[0] for name in loaded} & set(HEAVY)


def test_import_jounce_is_quick(python):
    """Beyond NumPy's own time, in the best of three."""
    code = """
import numpy, numpy.linalg, numpy.random, time
start = time.perf_counter()
import jounce
print(time.perf_counter() - start)
"""
    assert min(float(python(code)) for _ in range(3)) < 0.3


SOURCES = [
    *core_files(),
    *(path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".cpp", ".hpp")),
]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_files_stay_short(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES


@pytest.mark.parametrize("name", jc.__all__)
def test_public_names_exist_and_are_documented(name):
    value = getattr(jc, name)
    assert value.__doc__
    assert len(value.__doc__.strip()) > 20


def test_public_names_are_listed_once_and_in_order():
    assert sorted(set(jc.__all__)) == sorted(jc.__all__)


def test_every_module_lists_names_that_exist():
    for name in MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:  # of an extra that is not installed
            continue
        for public in getattr(module, "__all__", ()):
            assert hasattr(module, public), f"{name}.{public}"


def importable():
    yield "jounce"
    for info in pkgutil.walk_packages(jc.__path__, "jounce."):
        if "._core._core" not in info.name and not info.name.endswith("__main__"):
            yield info.name


@pytest.mark.parametrize("name", sorted(importable()))
def test_examples_in_docstrings_run(name):
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        pytest.skip(str(error))
    assert doctest.testmod(module).failed == 0


def test_there_are_examples_in_docstrings():
    finder = doctest.DocTestFinder()
    from jounce import builder, errors

    assert any(test.examples for m in (builder, errors) for test in finder.find(m))
