"""The layout shows the architecture: dependencies point one way, files stay short."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from syntax import statements, within
from test_docstrings import CASES

import jounce as jc

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "core"
PACKAGE = ROOT / "src" / "jounce"
MOST_LINES, MOST_LINES_OF_TESTS = 470, 600
"""Of a file, docstrings with their examples not counted; CONTRIBUTING.md says the same."""

CORE_ROOMS = [
    "scalar",
    "vec",
    "lie",
    "spatial",
    "tree",
    "kinematics",
    "dynamics",
    "series",
    "partials",
    "constraints",
    "simulation",
    "batch",
    "kernels",
]
"""Rooms of the core in order: each may use those before it and, without cycles, itself."""

PYTHON_ROOMS = [
    "errors",
    "_types",
    "_core",
    "lie",
    "model",
    "kinematics",
    "dynamics",
    "series",
    "derivatives",
    "constraints",
    "trajectories",
    "simulation",
    "io",
    "interop",
    "sweeps",
    "papers",
    "plot",
    "viewer",
    "demo",
    "cli",
]
"""Rooms of the package in order: each may use those before it and, without cycles, itself."""

HEAVY = [
    *("lxml", "mujoco", "scipy", "matplotlib", "pinocchio", "pydrake", "casadi", "rich", "viser"),
    *("concurrent", "multiprocessing", "distributed", "dask", "ray", "zarr", "cloudpickle"),
    *("jax", "jaxlib", "torch"),
]


BINDINGS = ROOT / "bindings"
CORE_FILES = sorted(path for path in CORE.rglob("*") if path.suffix in (".h", ".hpp", ".cpp"))
BINDING_FILES = sorted(BINDINGS.rglob("*.[ch]pp"))


def includes(path):
    return re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', path.read_text(), re.MULTILINE)


def included(path):
    """Files of the project that a file includes: by name from the core, or beside it."""
    for name in includes(path):
        if name.startswith("jounce/"):
            yield CORE / name.removeprefix("jounce/")
        elif (path.parent / name).exists():
            yield path.parent / name


def room_rank(path):
    """The header of the C entry point, beside the rooms, belongs to the last one."""
    parts = path.relative_to(CORE).parts
    return CORE_ROOMS.index(parts[0] if len(parts) > 1 else "kernels")


def test_the_core_has_the_rooms_of_the_list():
    rooms = {path.name for path in CORE.iterdir() if path.is_dir()}
    assert rooms <= set(CORE_ROOMS)
    assert {path.name for path in CORE.iterdir() if path.is_file()} == {"jounce.h"}


# A rule about files is one test, which lists all files that break it.


def test_the_core_includes_only_what_comes_before():
    edges = [(path, target) for path in CORE_FILES for target in included(path)]
    assert [(p, t) for p, t in edges if not t.exists() or CORE not in t.parents] == []
    assert [(p, t) for p, t in edges if room_rank(t) > room_rank(p)] == []


def test_the_core_knows_nothing_of_python_and_includes_by_name():
    found = [(path, name) for path in CORE_FILES for name in includes(path)]
    python = re.compile(r"(Python|numpy|nanobind|pybind|frameobject)")
    assert [(p, n) for p, n in found if python.match(n)] == []
    own = [(p, n) for p, n in found if n.endswith("pp") or ".." in n]
    assert [(p, n) for p, n in own if ".." in n or not n.startswith("jounce/")] == []


@pytest.mark.parametrize("path", BINDING_FILES, ids=lambda p: p.name)
def test_bindings_include_by_name_and_hold_no_recursion(path):
    names = includes(path)
    assert not [n for n in names if ".." in n]
    rooms = {n.split("/")[1] for n in names if n.startswith("jounce/") and n.count("/") > 1}
    assert rooms <= {"batch", "kernels", "series"}  # the last for the highest order
    assert all(target.exists() for target in included(path))


def test_includes_have_no_cycles():
    graph = {path: list(included(path)) for path in [*CORE_FILES, *BINDING_FILES]}
    assert sum(map(len, graph.values())) > 100
    assert find_cycle(graph) is None


FIRST_WITHOUT = CORE_ROOMS.index("batch")
RECURSIONS = [p for p in CORE_FILES if p.suffix == ".hpp" and room_rank(p) < FIRST_WITHOUT]


def words_in_code(pattern, paths, but):
    """Where words stand outside of comments."""
    code = {p: re.sub(r"//.*", "", p.read_text()) for p in paths if p.name not in but}
    assert code
    return [(path, word) for path, text in code.items() for word in re.findall(pattern, text)]


def test_recursions_neither_allocate_nor_throw():
    """Memory is laid out before kernels run; building a tree may fail, Ctrl-C ends a recursion."""
    words = r"\bthrow\b|\bnew\b|\bmalloc\b|std::vector|std::string|std::function"
    allowed = ("tree.hpp", "branched_tree.hpp", "workspace.hpp", "platform.hpp", "pause.hpp")
    assert words_in_code(words, RECURSIONS, allowed) == []


def test_what_differs_between_compilers_and_systems_is_in_one_header():
    words = r"__attribute__|__builtin_|__declspec|_WIN32|__linux__|pthread_|aligned_alloc|sigaction"
    alone = ("platform.hpp", "jounce.h")  # the latter is C
    assert words_in_code(words, [*CORE_FILES, *BINDING_FILES], alone) == []


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imports(name, lazy=True):
    """Modules of the package that a module imports; lazy ones are those inside functions."""
    module, *inside = statements(MODULES[name])
    for node in inside if lazy else module.body:
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: imports are written from the root"
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [x if x in MODULES else str(node.module) for x in full]
        else:
            continue
        yield from (x for x in targets if x.split(".")[0] == "jounce")


def rank(name):
    return PYTHON_ROOMS.index(name.split(".")[1])


def test_python_rooms_use_only_rooms_before_them():
    """Rooms from the demo on may use the package as a user does."""
    inside = [name for name in MODULES if name not in ("jounce", "jounce.__main__")]
    edges = [(name, target) for name in inside for target in imports(name)]
    first = rank("jounce.demo")
    assert [name for name, target in edges if target == "jounce" and rank(name) < first] == []
    assert [(n, t) for n, t in edges if t != "jounce" and rank(t) > rank(n)] == []


def test_the_top_level_holds_the_rooms_and_nothing_else():
    names = {path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"}
    installed = {"include", "cmake"}  # where the build writes them beside the sources
    rest = names - {"__init__.py", "__main__.py", "py.typed"} - installed
    rooms = {name.removesuffix(".py") for name in rest}
    assert rooms == set(PYTHON_ROOMS)


def test_a_room_lists_its_public_names():
    """The package collects the lists of the rooms; what is imported later is a room itself."""
    collected = set()
    for name in PYTHON_ROOMS[2:]:
        if f"jounce.{name}" in MODULES:
            assert importlib.import_module(f"jounce.{name}").__all__
    for name in (*PYTHON_ROOMS[4:10], "simulation", "io"):
        collected |= set(importlib.import_module(f"jounce.{name}").__all__)
    assert collected <= set(jc.__all__)


def test_no_room_has_the_name_of_a_public_function():
    functions = {name for name in jc.__all__ if callable(getattr(jc, name))}
    assert not functions & set(PYTHON_ROOMS)


def test_the_package_shows_its_public_names_only(python):
    """Neither what it imports for itself nor rooms whose functions it collects."""
    shown = {name for name in dir(jc) if not name.startswith("__")}
    assert shown == {*jc.__all__, "interop", "papers", "plot", "viewer"}
    held = python("import jounce; print(*(n for n in vars(jounce) if n[0] != '_'))").split()
    assert set(held) <= {*jc.__all__, *PYTHON_ROOMS}


def public_modules():
    """Rooms, and modules that a public module lists as its names."""
    found = [f"jounce.{room}" for room in PYTHON_ROOMS if room[0] != "_"]
    for name in found:
        module = importlib.import_module(name)
        for public in module.__all__:
            try:
                value = getattr(module, public)
            except ImportError:  # of an extra that is not installed
                continue
            found += [value.__name__] if isinstance(value, ModuleType) else []
    return sorted(set(found))


@pytest.mark.parametrize("name", public_modules())
def test_a_public_module_shows_its_public_names_only(name):
    module = importlib.import_module(name)
    assert dir(module) == sorted(module.__all__)


def test_modules_that_are_imported_later_are_shown(python):
    shown = python("import jounce as jc; print(*dir(jc.papers), *dir(jc.interop))").split()
    converters, bridges = ["drake", "mujoco", "pinocchio"], ["casadi", "jax", "scipy", "torch"]
    assert shown == ["ali", "bos", "kim", "mueller", "singh", *sorted(converters + bridges)]
    assert {f"jounce.papers.{x}" for x in shown[:5]} <= set(public_modules())
    assert {f"jounce.interop.{x}" for x in converters} <= set(public_modules())


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
    """And rooms that are for other libraries import them when they need them."""
    rooms = "io, jounce.cli, jounce.interop.pinocchio, jounce.interop.mujoco, jounce.interop.drake"
    told = "print(*{name.split('.')[0] for name in sys.modules})"
    first, later = python(f"import sys, jounce; {told}; import jounce.{rooms}; {told}").splitlines()
    assert "numpy" in first.split()
    assert not set(first.split()) & set(HEAVY)
    libraries = {"lxml", "matplotlib", "mujoco", "pinocchio", "pydrake", "rich", "xacro"}
    assert not set(later.split()) & libraries


SOURCES = [*CORE_FILES, *BINDING_FILES, *sorted(PACKAGE.rglob("*.py"))]
BESIDE = [path for name in ("bench", "tools", "examples") for path in (ROOT / name).rglob("*.py")]
TESTS = [path for path in (ROOT / "tests").rglob("*") if path.suffix in (".py", ".cpp")]


def lines_without_docstrings(path):
    text = path.read_text(encoding="utf-8")
    lines = len(text.splitlines())
    if path.suffix != ".py":
        return lines
    for node in statements(path):
        first = getattr(node, "body", None)
        if not isinstance(first, list) or not first or not isinstance(first[0], ast.Expr):
            continue
        if isinstance(first[0].value, ast.Constant) and isinstance(first[0].value.value, str):
            lines -= first[0].end_lineno - first[0].lineno + 1
    return lines


def test_files_stay_short():
    """All but the list of public names, which has a line for each."""
    files = [path for path in (*SOURCES, *BESIDE) if path != PACKAGE / "__init__.py"]
    lengths = {path: lines_without_docstrings(path) for path in files}
    assert max(lengths.values()) > 300
    assert {path: lines for path, lines in lengths.items() if lines > MOST_LINES} == {}
    lengths = {path: lines_without_docstrings(path) for path in TESTS}
    assert {path: lines for path, lines in lengths.items() if lines > MOST_LINES_OF_TESTS} == {}


def test_the_guide_says_how_long_files_and_functions_may_be():
    words = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    said = re.search(
        r"files of at most (\d+) lines, (\d+) for tests.*functions of at most (\d+)", words
    )
    assert said is not None
    assert [int(x) for x in said.groups()] == [MOST_LINES, MOST_LINES_OF_TESTS, MOST_OF_A_FUNCTION]


MOST_OF_A_FUNCTION = 60
NO_FUNCTION = re.compile(r"\s*(\}|(namespace|struct|class|enum|if|for|while|switch|else|do|try)\b)")


def functions_in_cpp(text):
    """Where bodies of functions, methods and lambdas begin, and how long they are, by braces."""
    lines = [re.sub(r"//.*", "", line).rstrip() for line in text.splitlines()]
    for k, line in enumerate(lines):
        if not line.endswith("{") or ")" not in line:
            continue
        head, missing = k, line.count(")") - line.count("(")
        while missing > 0:  # the head has several lines
            head -= 1
            missing += lines[head].count(")") - lines[head].count("(")
        if NO_FUNCTION.match(lines[head]):
            continue
        end, depth = k, 1
        while depth > 0:
            end += 1
            depth += lines[end].count("{") - lines[end].count("}")
        yield k + 1, end - k + 1


def functions_in_python(nodes):
    """The same, without the documentation."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            documented = ast.get_docstring(node) is not None and len(node.body) > 1
            yield node.lineno, node.end_lineno - node.body[documented].lineno + 1


def functions_of(path):
    if path.suffix == ".py":
        return functions_in_python(statements(path))
    return functions_in_cpp(path.read_text())


def test_functions_fit_a_screen():
    found = [(path, line, size) for path in SOURCES for line, size in functions_of(path)]
    assert len(found) > 1000
    assert [(path, line, size) for path, line, size in found if size > MOST_OF_A_FUNCTION] == []


def test_the_length_of_functions_would_be_found():
    text = "inline int f(int x) {\n" + "  ++x;\n" * 70 + "  return x;\n}\n"
    assert list(functions_in_cpp(text)) == [(1, 73)]
    method = "    void f(int x,\n           int y) {\n      if (x) {\n      } else if (y) {\n"
    inside = "struct A {\n  struct B {\n" + method + "      }\n    }\n  };\n};\n"
    assert list(functions_in_cpp(inside)) == [(4, 5)]
    assert list(functions_in_python(within(ast.parse("def f(x):\n" + "    x += 1\n" * 70)))) == [
        (1, 70)
    ]


def test_public_names_exist_and_are_documented():
    texts = {name: getattr(jc, name).__doc__ for name in jc.__all__}
    assert [name for name, text in texts.items() if not text or len(text.strip()) <= 20] == []


def test_public_names_are_listed_once():
    assert len(set(jc.__all__)) == len(jc.__all__)


def test_every_module_lists_names_that_exist():
    for name in MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:  # of an extra that is not installed
            continue
        for public in getattr(module, "__all__", ()):
            try:
                assert hasattr(module, public), f"{name}.{public}"
            except jc.MissingExtraError:  # a module of a package that is not installed
                assert name == "jounce.interop"


WITH_EXAMPLES = [name for name, path in MODULES.items() if ">>>" in path.read_text()]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings_run(name):
    """Those of methods, of modules and of what is not public: test_docstrings runs the others."""
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        pytest.skip(str(error))
    elsewhere = {case.values[0].__doc__ for case in CASES}
    runner = doctest.DocTestRunner(verbose=False)
    for test in doctest.DocTestFinder().find(module, extraglobs={"jc": jc, "np": np}):
        if test.docstring not in elsewhere:
            runner.run(test)
    assert not runner.failures


def test_there_are_examples_in_docstrings():
    from jounce import errors
    from jounce.model import builder

    assert all(doctest.testmod(module).attempted > 0 for module in (builder, errors))
