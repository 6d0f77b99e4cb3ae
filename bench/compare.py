"""Two saved runs side by side: ``python bench/compare.py OLD.json NEW.json [--tolerance 0.1]``.

Says what became slower and returns 1 if something did. Times are corrected by how the peers' times
changed, which tells how fast the machine was. What is judged are means over the robots, since
single measurements scatter more.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if not __package__:  # as a script: the package is one folder up
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from rich.console import Console

from bench.report import Table
from bench.timing import geometric_mean

PEERS = ("pinocchio", "mujoco", "casadi", "scipy", "numpy", "heyoka", "constraintDynamics", "lcaba")
TOLERANCE = 0.1
ENOUGH = 10
"""Fewer measurements of peers do not tell how fast the machine was."""


def show(
    console: Console, old: dict[str, Any], new: dict[str, Any], tolerance: float = TOLERANCE
) -> list[str]:
    """Print how times changed, by group, then the largest changes; return what became slower."""
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
    return _slower(console, groups, tolerance)


def machine_change(groups: dict[tuple[str, str], list[float]]) -> float:
    """How the peers' times changed, old over new, as their median; 1 if too few were measured."""
    peers = [x for (_, name), changes in groups.items() if _is_peer(name) for x in changes]
    return statistics.median(peers) if len(peers) >= ENOUGH else 1.0


def slower(
    groups: dict[tuple[str, str], list[float]], tolerance: float
) -> dict[tuple[str, str], float]:
    """Groups of ours that take longer by more than the tolerance: new time over old time."""
    machine = machine_change(groups)
    ratios = {
        key: machine / geometric_mean(changes)
        for key, changes in groups.items()
        if not _is_peer(key[1])
    }
    return {key: ratio for key, ratio in ratios.items() if ratio > 1 + tolerance}


def _is_peer(contender: str) -> bool:
    return contender.startswith(PEERS) or "Pinocchio" in contender


def _slower(
    console: Console, groups: dict[tuple[str, str], list[float]], tolerance: float
) -> list[str]:
    """Print and name what became slower."""
    if not groups:
        console.print("[yellow]The runs have no measurement in common.[/]")
        return []
    found = slower(groups, tolerance)
    machine = machine_change(groups)
    console.print(f"Peers, old time over new time: {machine:.3g}; times below are corrected by it.")
    if not found:
        console.print(f"[green]Nothing of jounce became slower by more than {tolerance:.0%}.[/]")
        return []
    table = Table(
        f"Slower by more than {tolerance:.0%}", ["group", "contender", "new time over old", "of"]
    )
    ordered = sorted(found, key=lambda key: -found[key])
    for group, contender in ordered:
        table.add(group, contender, found[group, contender], len(groups[group, contender]))
    table.show(console)
    return [f"{group}, {contender}" for group, contender in ordered]


def _title(run: dict[str, Any]) -> str:
    commit = run["versions"].get("commit", "?")
    return f"{run['date']}, {run['effort']}, {commit}, {run['machine']['processor']}"


def _best(run: dict[str, Any]) -> Iterator[tuple[str, float]]:
    for name, report in run["reports"].items():
        for path, timing in report["timings"].items():
            yield f"{name}/{path}", timing["best"]


def main(arguments: list[str] | None = None) -> int:
    """Compare two files; 1 if something became slower."""
    parser = argparse.ArgumentParser("bench/compare.py", description="Two saved runs side by side.")
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument(
        "--tolerance", type=float, default=TOLERANCE, help="0.1: ten percent slower is no matter"
    )
    options = parser.parse_args(arguments)
    old, new = (json.loads(path.read_text(encoding="utf-8")) for path in (options.old, options.new))
    console = Console()
    if not console.is_terminal:
        console = Console(width=140)
    return 1 if show(console, old, new, options.tolerance) else 0


if __name__ == "__main__":
    sys.exit(main())
