"""Two saved runs side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from rich.console import Console

from bench.report import Table
from bench.timing import geometric_mean


def show(console: Console, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Print how times changed, by group, then the largest changes one by one."""
    console.print(f"\nOld: {_title(old)}\nNew: {_title(new)}")
    before, after = dict(_best(old)), dict(_best(new))
    common = {path: before[path] / after[path] for path in before.keys() & after.keys()}
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for path, change in common.items():
        parts = path.split("/")
        groups["/".join(parts[:3]), parts[-1]].append(change)
    table = Table(
        "Old time over new time (above 1: faster now)", ["group", "contender", "ratio", "of"]
    )
    for (group, contender), changes in sorted(groups.items()):
        table.add(group, contender, geometric_mean(changes), len(changes))
    table.show(console)
    table = Table("Largest changes of jounce", ["measurement", "old, us", "new, us", "ratio"])
    own = [path for path in common if path.endswith("/jounce")]
    for path in sorted(own, key=lambda p: -abs(common[p] - 1))[:15]:
        table.add(path, 1e6 * before[path], 1e6 * after[path], common[path])
    table.show(console)


def _title(run: dict[str, Any]) -> str:
    commit = run["versions"].get("commit", "?")
    return f"{run['date']}, {run['effort']}, {commit}, {run['machine']['processor']}"


def _best(run: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for name, report in run["reports"].items():
        for path, timing in report["timings"].items():
            yield f"{name}/{path}", timing["best"]
