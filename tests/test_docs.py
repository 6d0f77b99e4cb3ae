"""The documentation is true: its code runs, its numbers come out, its names and links exist."""

from __future__ import annotations

import doctest
import importlib.util
import re
import runpy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import jounce as jc

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    page
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if page.parent.name != "cookbook"  # whose jobs are run one by one
)
EXAMPLES = sorted(
    path for path in (ROOT / "examples").glob("*.py") if "--quick" not in path.read_text("utf-8")
)
"""Those with a quick form are run by test_examples_control."""
FENCE = re.compile(
    r"^(?:<!-- needs: (?P<needs>[\w, ]+) -->\n)?```(?P<kind>python|pycon)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Snippet(NamedTuple):
    kind: str
    code: str
    line: int
    needs: tuple[str, ...]


def snippets(page: Path) -> list[Snippet]:
    text = page.read_text(encoding="utf-8")
    out = []
    for match in FENCE.finditer(text):
        needs = tuple(filter(None, re.split(r"[, ]+", match["needs"] or "")))
        line = text.count("\n", 0, match.start("code"))
        out.append(Snippet(match["kind"], match["code"], line, needs))
    return out


def run_session(snippet: Snippet, page: Path, namespace: dict[str, Any]) -> None:
    """Run interpreter sessions; errors must have the announced type and message."""
    parser = doctest.DocTestParser()
    test = parser.get_doctest(snippet.code, namespace, page.name, str(page), snippet.line)
    runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
    messages: list[str] = []
    runner.run(test, out=messages.append, clear_globs=False)
    assert not runner.failures, "".join(messages)
    namespace.update(test.globs)


@pytest.fixture
def elsewhere(sketches: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty directory: blocks and scripts have no file that they did not make."""
    monkeypatch.chdir(tmp_path)


def pages() -> list[Any]:
    """Pages, those that draw and move for seconds for `make more`."""
    long = {"plots.md", "simulation.md", "viewer.md"}
    return [
        pytest.param(p, id=str(p.relative_to(ROOT)), marks=[pytest.mark.long] * (p.name in long))
        for p in PAGES
    ]


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("page", pages())
def test_snippets_run(page: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "snippets"}
    with np.printoptions():
        for snippet in snippets(page):
            if not all(importlib.util.find_spec(name) for name in snippet.needs):
                continue
            if snippet.kind == "pycon":
                run_session(snippet, page, namespace)
            else:
                code = compile("\n" * snippet.line + snippet.code, str(page), "exec")
                exec(code, namespace)


COOKBOOK = [
    pytest.param(page, title, id=f"{page.stem}-{title}")
    for page in sorted((ROOT / "docs" / "cookbook").glob("*.md"))
    for title in re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
]


def test_the_cookbook_has_its_jobs() -> None:
    assert len(COOKBOOK) >= 14
    index = (ROOT / "docs" / "cookbook" / "index.md").read_text(encoding="utf-8")
    assert [case.values[1] for case in COOKBOOK if f"[{case.values[1]}](" not in index] == []


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(("page", "title"), COOKBOOK)
def test_each_job_of_the_cookbook_is_one_short_block_that_stands_alone(
    page: Path, title: str
) -> None:
    text = page.read_text(encoding="utf-8")
    start = text.index(f"## {title}\n")
    line = text.count("\n", 0, start)
    (block,) = [
        x for x in snippets(page) if x.line > line and line_of_section(text, x.line) == start
    ]
    assert len(block.code.splitlines()) <= 25
    for name in block.needs:
        pytest.importorskip(name)
    exec(compile("\n" * block.line + block.code, str(page), "exec"), {"__name__": "job"})


def line_of_section(text: str, line: int) -> int:
    """Where in the text the section of a line begins."""
    before = "\n".join(text.split("\n")[:line])
    return max(match.start() for match in re.finditer(r"^## ", before, re.MULTILINE))


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda p: p.name)
def test_examples_run(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with np.printoptions():
        runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out


def test_the_first_example_is_ten_lines_and_prints_what_the_text_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = ROOT / "README.md"
    first = snippets(page)[0]
    assert len([line for line in first.code.splitlines() if line.strip()]) <= 10
    exec(compile(first.code, str(page), "exec"), {})
    printed = capsys.readouterr().out.strip()
    assert f"`{printed}`" in page.read_text(encoding="utf-8")


def test_what_the_readme_calls_missing_is_missing() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = re.search(r"^Not yet: (.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    assert missing
    names = re.findall(r"`jc\.(\w+)", missing[1])
    there = [name for name in names if hasattr(jc, name)]
    assert not there, f"the README says that these are not there yet: {there}"


OWN_PAGES = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / f"{name}.md"
        for name in ("index", "conventions", "states", "series", "derivatives", "coming-from")
    ),
]


def quoted(pattern: str) -> set[str]:
    """Names that follow the pattern in the code of the pages, without the README's wish list."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in OWN_PAGES)
    return set(re.findall(pattern, re.sub(r"^Not yet: .*?\n\n", "", text, flags=re.M | re.S)))


def test_names_of_jounce_exist() -> None:
    for name in quoted(r"\bjc\.(\w+)") - {"rnea"}:  # shown as a mistake and its answer
        assert hasattr(jc, name), name
    for name in quoted(r"`twists\.(\w+)"):
        assert hasattr(jc.twists, name), name


@pytest.mark.parametrize(
    ("module", "attribute", "pattern"),
    [
        ("pinocchio", None, r"\bpin\.([A-Za-z]\w+)"),
        ("mujoco", None, r"\bmujoco\.(mjd?_\w+|Mj\w+)"),
        ("pydrake.multibody.plant", "MultibodyPlant", r"\bplant\.([A-Z]\w+)"),
    ],
)
def test_names_of_other_libraries_exist(module: str, attribute: str | None, pattern: str) -> None:
    place = pytest.importorskip(module)
    place = getattr(place, attribute) if attribute else place
    names = quoted(pattern)
    assert len(names) > 5
    for name in names:
        assert hasattr(place, name), name


@pytest.mark.parametrize("page", OWN_PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_place_that_knows_kinds_of_joints_is_on_their_page() -> None:
    page = (ROOT / "docs" / "add-a-joint.md").read_text(encoding="utf-8")
    found = re.search(r'git grep -nE "(.+)" core bindings', page)
    assert found
    sources = [p for room in ("core", "bindings") for p in (ROOT / room).rglob("*.[hc]pp")]
    places = [p.name for p in sources if re.search(found[1], p.read_text(encoding="utf-8"))]
    assert len(places) > 10
    assert [name for name in places if f"/{name}`" not in page and f"`{name}`" not in page] == []
