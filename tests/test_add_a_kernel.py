"""Pages for developers fit the code, and who follows docs/add-a-kernel.md has a kernel.

That page's blocks are applied to a copy of the repository. Of the core only the files that the page
changes are compiled, without optimization; kernels of the others are taken from the installed core.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import jounce as jc
from jounce import _core

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("add-a-kernel", "add-a-joint", "add-an-integrator")
NAME = "gravity_power"
CALLS = "tests/test_calls.py"  # finds every kernel
COMPILER = shutil.which(os.environ.get("CXX", "")) or shutil.which("g++") or shutil.which("c++")
BLOCK = re.compile(r"^<!-- (new|edit): (\S+) -->\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

INSTALLED_KERNELS = """
#include <dlfcn.h>
#include "jounce/kernels/elementwise.hpp"
#include "jounce/kernels/list.hpp"

namespace jounce {

// Kernels of the files that are not compiled here, as they are installed.
static KernelList installed() {
  void* library = dlopen(INSTALLED, RTLD_NOW | RTLD_LOCAL);
  void* found = dlsym(library, "_ZN6jounce7kernelsEv");
  const auto all = reinterpret_cast<const KernelList& (*)()>(found);
  KernelList rest;
  for (const Kernel& there : all()) {
    const std::string_view name = there.signature->name;
    bool own = false;
    for (const Kernel& kernel : compiled()) own = own || name == kernel.signature->name;
    if (!own) rest.push_back(there);
  }
  return rest;
}

const KernelList& elementwise_functions() {
  void* library = dlopen(INSTALLED, RTLD_NOW | RTLD_LOCAL);
  void* found = dlsym(library, "_ZN6jounce21elementwise_functionsEv");
  return reinterpret_cast<const KernelList& (*)()>(found)();
}

}
"""


class Step(NamedTuple):
    """A block of the page: a new file, or an edit as context, removed and added lines."""

    action: str
    path: str
    language: str
    text: str


def text_of(page: str) -> str:
    return (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")


def steps(page: str = "add-a-kernel") -> list[Step]:
    return [Step(*found) for found in BLOCK.findall(text_of(page))]


def edited(text: str, diff: str, path: str) -> str:
    """Apply the hunks of an edit; each must fit in exactly one place."""
    own = text.splitlines()
    for hunk in re.split(r"^@@\n", diff, flags=re.MULTILINE):
        lines = [line or " " for line in hunk.splitlines()]
        assert {line[0] for line in lines} <= {" ", "+", "-"}, hunk
        before, after = ([line[1:] for line in lines if line[0] != sign] for sign in "+-")
        assert before != after, hunk
        size = len(before)
        places = [k for k in range(len(own)) if own[k : k + size] == before]
        assert len(places) == 1, f"{path} has {len(places)} places for\n{hunk}"
        own[places[0] : places[0] + size] = after
    return "\n".join(own) + "\n"


def follow(page: list[Step], copy: Path) -> None:
    """Do what the page says in a copy of what it needs of the repository."""
    for name in ("core", "src"):
        ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.dylib", "*.dll", "include")
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    for name in {"tests/conftest.py", CALLS, *(s.path for s in page if s.action == "edit")}:
        (copy / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(ROOT / name, copy / name)
    for step in page:
        target = copy / step.path
        if step.action == "new":
            assert not target.exists(), f"{step.path} is there already"
            target.write_text(step.text, encoding="utf-8")
        else:
            text = edited(target.read_text(encoding="utf-8"), step.text, step.path)
            target.write_text(text, encoding="utf-8")


def kernel_lists(copy: Path, changed: list[Path]) -> str:
    """The lists of kernels that `changed` does not define, from the installed core."""
    listed = (copy / "core/kernels/list.hpp").read_text()
    declared = re.findall(r"^KernelList (\w+)\((Plain|Duals|Seconds)\);", listed, re.M)
    sources = "".join(path.read_text() for path in changed)
    own = sorted({name for name, _ in declared if f"KernelList {name}(Pass) {{" in sources})
    others = [f"{name}({which})" for name, which in declared if name not in own]
    assert others
    assert len(own) == 1, "compile all of them, or change `compiled` below"
    compiled = ", ".join(f"{own[0]}({which}{{}})" for which in ("Plain", "Duals", "Seconds"))
    code = INSTALLED_KERNELS.replace("compiled()", f"numbered({{{compiled}}})")
    ends = [f"KernelList {name} {{ return {{}}; }}" for name in others[1:]]
    ends.append(f"KernelList {others[0]} {{ return installed(); }}")
    return code + "namespace jounce {\n" + "\n".join(ends) + "\n}\n"


def build(page: list[Step], copy: Path) -> Path:
    """Compile the copy's core and put it beside the installed bindings."""
    include, place = copy / "include", copy / "src/jounce/_core"
    include.mkdir()
    (include / "jounce").symlink_to(copy / "core")
    changed = sorted({copy / s.path for s in page if s.path.startswith("core/kernels/")})
    kernels = copy / "core/kernels"
    sources = [*changed, kernels / "list.cpp", kernels / "c_api.cpp"]
    sources += sorted((copy / "core/batch").glob("*.cpp"))
    whole = copy / "whole.cpp"  # one unit: the headers that all of them include are read once
    includes = "".join(f'#include "{path}"\n' for path in sources)
    whole.write_text(includes + kernel_lists(copy, changed))
    library = place / Path(jc.get_library()).name
    isa = jc.core_info()["isa"]
    march = {"generic": [], "native": ["-march=native"]}.get(isa, [f"-march=x86-64-{isa}"])
    compiler = [
        *(COMPILER, "-std=c++20", "-O0", "-fPIC", "-pthread", *march),
        *("-fno-strict-aliasing", "-fvisibility=hidden", "-Wno-psabi", "-DJOUNCE_INLINE_LESS"),
        *("-I", include),
    ]
    passes = [copy / "duals.o", copy / "seconds.o"]
    for made in passes:
        defined = f"-DJOUNCE_{made.stem.upper()}"
        subprocess.run([*compiler, defined, "-c", *changed, "-o", made], check=True)
    subprocess.run(
        [
            *(*compiler, "-shared", f'-DINSTALLED="{jc.get_library()}"', whole),
            *(*passes, "-o", library, "-ldl"),
        ],
        check=True,
    )
    shutil.copy(_core._module.__file__, place)
    for other in Path(jc.get_library()).parent.glob("libjounce_v*"):  # from which v4 has kernels
        if other.name != library.name:
            shutil.copy(other, place)
    return library


def run_tests(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run tests in the copy, and with its package.

    Without `site`, by which an editable install puts itself before all paths.
    """
    paths = os.pathsep.join([str(copy / "src"), *sys.path])
    own = ("-o", "addopts=", "-p", "no:cacheprovider", "-W", "error", "--rootdir", str(copy))
    return subprocess.run(
        [sys.executable, "-S", "-m", "pytest", "-v", *own, *arguments],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": paths, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("name", PAGES)
def test_each_block_of_a_page_fits_the_repository(name, tmp_path):
    page = steps(name)
    shown = re.findall(r"^```(?:cpp|py|diff)$", text_of(name), re.MULTILINE)
    assert len(page) == len(shown) > 0, "a block does not say which file it belongs to"
    assert {step.language for step in page if step.action == "edit"} == {"diff"}
    follow(page, tmp_path)
    for step in page:
        if step.path.endswith(".py"):
            compile((tmp_path / step.path).read_text(encoding="utf-8"), step.path, "exec")


@pytest.mark.parametrize("name", [*PAGES, "architecture", "notation"])
def test_files_that_a_page_names_exist(name):
    text = text_of(name)
    new = {step.path for step in steps(name) if step.action == "new"}
    named = set(re.findall(r"\b(?:core|bindings|src|tests|bench|docs|cmake)/[\w/.-]*\w", text))
    missing = {path for path in named - new if not (ROOT / path).exists()}
    assert not missing
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (ROOT / "docs" / target).exists(), target


@pytest.mark.parametrize("name", [*PAGES, "architecture", "notation"])
def test_tests_that_a_page_names_exist(name):
    text = text_of(name)
    files = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    files += [step.text for step in steps(name)]
    known = set(re.findall(r"^[+ ]?def (test_\w+)", "\n".join(files), re.MULTILINE))
    named = set(re.findall(r"\b(test_\w+)\b(?!\.py)", text))
    assert named <= known, named - known


def test_lists_of_pages_are_complete():
    """The site's navigation names every page."""
    docs = ROOT / "docs"
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split()
    assert len(pages) > 40
    assert pages - set(navigation) == set()


@pytest.mark.parametrize("name", ["add-a-joint", "architecture"])
def test_functions_that_a_table_names_are_in_their_files(name):
    """Rows with files: each name in the row that stands alone in backticks."""
    rows = [
        row for row in text_of(name).splitlines() if re.match(r"\|.*`(core|bindings|src)/", row)
    ]
    assert len(rows) > 5
    for row in rows:
        quoted = re.findall(r"`([^`]+)`", row)
        folder = ROOT / next(x for x in quoted if "/" in x)
        files = [folder, *(folder.parent / x for x in quoted if re.fullmatch(r"\w+\.[ch]pp", x))]
        files += [ROOT / x for x in quoted if "/" in x and x.endswith(".py")]
        text = "".join(path.read_text(encoding="utf-8") for path in files)
        for word in (x for x in quoted if re.fullmatch(r"[\w:]+", x)):
            assert re.search(rf"\b{word}\b", text), f"no {word} in {row}"


def test_an_edit_that_does_not_fit_is_refused():
    assert edited("a\nb\n", " a\n+x\n b\n", "file") == "a\nx\nb\n"
    for text in ("a\nc\n", "a\nb\na\nb\n"):
        with pytest.raises(AssertionError, match=r"has [02] places"):
            edited(text, " a\n+x\n b\n", "file")


@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
@pytest.mark.skipif(os.name != "posix", reason="needs dlopen")
def test_who_follows_the_page_has_a_kernel(tmp_path):
    page = steps()
    follow(page, tmp_path)
    library = ctypes.CDLL(str(build(page, tmp_path)))
    library.jounce_find_kernel.restype = ctypes.c_void_p
    found = ctypes.c_void_p(library.jounce_find_kernel(NAME.encode()))
    assert found.value
    assert library.jounce_input_count(found) == 2
    assert library.jounce_output_count(found) == 1
    tests = [CALLS, *(step.path for step in page if step.path.startswith("tests/"))]
    done = run_tests(tmp_path, "-k", NAME, *tests)
    assert done.returncode == 0, done.stdout + done.stderr
    for path in tests:
        assert f"{path}::" in done.stdout, f"no test of {NAME} in {path}"
