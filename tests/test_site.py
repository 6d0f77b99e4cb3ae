"""The documentation site is whole: strict links, nothing from elsewhere, readable on a phone."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import jounce as jc

for needed in ("zensical", "mkdocstrings", "ziamath"):
    pytest.importorskip(needed, reason="the extra `docs` is not installed")

ROOT = Path(__file__).parent.parent
pytestmark = [
    pytest.mark.browser,
    pytest.mark.filterwarnings("ignore:connect:DeprecationWarning"),
]
"""Of websockets, which older versions do not give a way around."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it in a place of its own, as `make docs` does."""
    place = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", place / "docs")
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    source = (ROOT / "src").as_posix()
    (place / "mkdocs.yml").write_text(text.replace("paths: [src]", f"paths: [{source}]"), "utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools"), "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "build" / "site"


class Page(HTMLParser):
    """What a page loads, where it leads, and which anchors it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(given["href"])
        if tag in ("script", "img", "iframe", "source", "video") and "src" in given:
            self.loads.append(given["src"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}


def test_pages_load_nothing_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    foreign = re.compile(r"(https?:)?//")
    assert len(pages) > 40
    assert {x for page in pages.values() for x in page.loads if foreign.match(x)} == set()
    for sheet in site.rglob("*.css"):
        for address in re.findall(r"url\(([^)]+)\)", sheet.read_text(encoding="utf-8")):
            assert not foreign.match(address.strip("'\"")), (sheet.name, address)


def test_links_and_pictures_lead_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            found = target.is_file() and target.is_relative_to(site)
            anchors = pages[target].anchors if found and target in pages else None
            if not found or (
                parts.fragment and anchors is not None and parts.fragment not in anchors
            ):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_every_public_name_is_in_the_reference(site: Path, pages: dict[Path, Page]) -> None:
    reference = [page for path, page in pages.items() if "reference" in path.parts]
    named = {anchor.split(".")[-1] for page in reference for anchor in page.anchors}
    modules = {"lie", "twists", "trajectories", "models", "inertia"}
    assert set(jc.__all__) - modules - named == set()


def test_code_is_highlighted_and_formulas_are_drawn(site: Path) -> None:
    for page in ("conventions", "series", "derivatives", "constraints", "simulation"):
        text = (site / page / "index.html").read_text(encoding="utf-8")
        assert '<span class="kn">import</span>' in text
        assert '<svg aria-label="' in text
        assert "$$" not in text


def test_tables_of_docstrings_are_tables(site: Path) -> None:
    text = (site / "reference" / "kinematics" / "index.html").read_text(encoding="utf-8")
    assert re.search(r"<td>.?pose of a frame.?</td>", text, re.DOTALL)
    assert "=====" not in text


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site on this machine alone."""
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Any:
    """The module that speaks to Chromium."""
    pytest.importorskip("websockets")
    path = Path(__file__).parent / "viewer" / "browser.py"
    if not path.exists():
        pytest.skip("there is no tests/viewer/browser.py")
    spec = importlib.util.spec_from_file_location("site_browser", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if module.find() is None:
        pytest.skip("there is no Chromium: tools/browser.sh installs it")
    return module


def test_no_page_is_wider_than_a_phone(
    browser: Any, address: str, site: Path, pages: dict[Path, Page]
) -> None:
    wide = {}
    with browser.Browser(390, 844) as phone:
        for path in sorted(pages):
            phone.open(address + path.relative_to(site).parent.as_posix() + "/")
            size = phone.run("document.documentElement.scrollWidth")
            if size > phone.run("document.documentElement.clientWidth"):
                wide[str(path.relative_to(site))] = size
        asked = {x for x in phone.requested() if not x.startswith((address, "data:", "about:"))}
    assert wide == {}
    assert asked == set()


def test_the_search_finds_a_function(browser: Any, address: str) -> None:
    with browser.Browser() as desk:
        desk.open(address)
        browser.until(lambda: desk.run("!!document.querySelector('.md-search__button')"))
        desk.run("document.querySelector('.md-search__button').click()")
        shown = "[...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(r => r)"
        field = f"{shown}.map(r => r.querySelector('input')).filter(i => i)[0]"
        browser.until(lambda: desk.run(f"!!({field})"))
        desk.run(f"({field}).focus()")
        desk.call("Input.insertText", text="inverse_dynamics_series")
        first = f"{shown}.map(r => r.querySelector('a[role=option]')).filter(a => a)[0]"
        browser.until(lambda: desk.run(f"!!({first})"))
        found = desk.run(f"({first}).href")
    assert found.endswith("#jounce.series.inverse_dynamics_series"), found
