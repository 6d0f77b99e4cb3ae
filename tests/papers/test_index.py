"""The papers are independent of each other, and docs/papers/index.md is complete and tested."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import numpy as np
import pytest
from papers_cases import CHAINS, ONE_DOF, ROBOTS, close, moved, robot, samples

import jounce as jc
from jounce.papers import ali, bos, kim, mueller, singh

PAPERS = {"ali": ali, "bos": bos, "kim": kim, "mueller": mueller, "singh": singh}
FOLDER = Path(__file__).parent


ROOMS = {"_types", "errors", "lie", "model", "_core.algebra"}
"""What a paper may know of jounce, besides its own modules and `papers.joints`.

The last of these is NumPy, during which Ctrl-C is heard.
"""


@pytest.mark.parametrize("paper", [*PAPERS, "joints"])
def test_no_paper_imports_another_paper_or_the_compiled_core(paper):
    """Nor a room that calls the core: kinematics, dynamics, derivatives, series, ..."""
    folder = Path(jc.__file__).parent / "papers"
    files = sorted(folder.glob(f"{paper}/*.py")) or [folder / f"{paper}.py"]
    allowed = ROOMS if paper == "joints" else ROOMS | {"papers.joints", f"papers.{paper}"}
    for path in files:
        for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            if name.split(".")[0] == "jounce":
                inner = name.removeprefix("jounce").removeprefix(".")
                assert any(inner == a or inner.startswith(f"{a}.") for a in allowed), (path, name)


def imported(tree):
    """Full names of all that a file imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


HELPERS = {
    *(f"ali.{name}" for name in ("accelerations_to_jounce", "forces_to_jounce", "from_jounce")),
    *(f"bos.{name}" for name in ("gravity", "state_of", "velocity_matrix")),
    "kim.system",
    *(f"mueller.{name}" for name in ("apply", "column_nodes", "is_inward", "node_of_body")),
    *(f"mueller.{name}" for name in ("nodes_of_bodies", "scatter_wrenches")),
    "singh.joint_poses",
}
"""Functions that translate or look up, and are no items of a paper."""


@functools.cache
def index():
    """Cells of the table of items."""
    page = FOLDER.parents[1] / "docs" / "papers" / "index.md"
    items = page.read_text(encoding="utf-8").split("## Items")[1].split("## Errata")[0]
    lines = [line for line in items.splitlines() if line.startswith("| [")]
    assert len(lines) > 130
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def resolve(name):
    """The object of a dotted name that begins with a paper, jounce or jc."""
    first, *rest = name.split(".")
    return functools.reduce(getattr, rest, PAPERS.get(first, jc))


@functools.cache
def definitions():
    """Functions, classes and constants of the files in this folder and of that on parameters."""
    found = {}
    for path in [*FOLDER.glob("*.py"), FOLDER.parent / "partials" / "test_parameters.py"]:
        own = found[path.stem] = {}
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                own[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                own[node.targets[0].id] = node
            elif isinstance(node, ast.ImportFrom) and node.module.endswith("_cases"):
                own |= {alias.name: node.module for alias in node.names}
    return found


def names_used(file, name, seen):
    """Names and dotted names that occur in a definition and in the helpers it uses."""
    node = definitions()[file].get(name)
    if isinstance(node, str):  # imported
        return names_used(node, name, seen)
    if node is None or (file, name) in seen:
        return set()
    seen.add((file, name))
    used = {ast.unparse(part) for part in ast.walk(node) if isinstance(part, ast.Attribute)}
    used |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    used |= {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}  # fixtures
    return used.union(*(names_used(file, helper, seen) for helper in used))


def file_of(name):
    return next(file for file, own in definitions().items() if name in own)


@pytest.mark.parametrize("row", index(), ids=lambda row: f"{row[0][1:4]}-{row[1]}")
def test_a_row_of_the_index_names_what_exists_and_its_tests_use_it(row):
    """Functions of the paper and calls of the core exist, and occur in one of the row's tests."""
    _, item, _, functions, core, tests = row  # every row is complete
    ours = re.findall(r"`((?:ali|bos|kim|mueller|singh|jounce)\.[\w.]*\w)", functions)
    theirs = [f"jc.{name}" for name in re.findall(r"`jc\.([\w.]*\w)", core)]
    names = [f"test_{name}" for name in re.findall(r"`(\w+)`", tests)]
    assert names, item
    used = set().union(*(names_used(file_of(name), name, set()) for name in names))
    for name in ours + theirs:
        assert resolve(name) is not None, name
        assert not used.isdisjoint({name, name.split(".", 1)[1]}), name  # jc.lie.ad or lie.ad


def test_every_function_of_the_papers_is_in_the_index():
    listed = {name for row in index() for name in re.findall(r"`(\w+\.\w+)", row[3])}
    public = {
        f"{paper}.{name}"
        for paper, module in PAPERS.items()
        for name in module.__all__
        if callable(getattr(module, name)) and not isinstance(getattr(module, name), type)
    }
    assert public - listed == HELPERS


# What the tests rest on


def test_random_trees_have_every_joint_type_that_the_papers_allow():
    def types(name):
        return {joint.type for joint in robot(name).joints}

    assert types("fixed_one_dof") == set(ONE_DOF)
    assert types("floating_one_dof") == {"free", *ONE_DOF}
    assert types("fixed_chains") == set(CHAINS)
    assert types("floating_chains") == {"free", *CHAINS}
    assert types("all_joints") == {"free", "spherical", "continuous", *CHAINS}


@pytest.mark.parametrize("name", ROBOTS)
def test_complex_moves_are_those_of_jounce(name):
    model, rng = robot(name), np.random.default_rng(0)
    for q, *_ in samples(name):
        dv = rng.standard_normal(model.nv)
        core = jc.integrate(model, q, dv)
        close(jc.difference(model, core, moved(model, q, dv)), 0 * dv, 1e-14, floor=1.0)
