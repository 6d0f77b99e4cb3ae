"""README's table of speed from a run, ready to paste: ratios to Pinocchio, means over robots."""

from __future__ import annotations

from typing import Any

from bench.report import Table
from bench.timing import geometric_mean

ROWS = (
    ("inverse dynamics, against `pin.rnea`", "dynamics", "inverse dynamics"),
    ("forward dynamics, against `pin.aba`", "dynamics", "forward dynamics"),
    ("mass matrix, against `pin.crba`", "dynamics", "mass matrix"),
    ("inverse mass matrix, against `pin.computeMinverse`", "dynamics", "inverse mass matrix"),
    ("partial derivatives of inverse dynamics", "partials", "inverse dynamics"),
    ("partial derivatives of forward dynamics", "partials", "forward dynamics"),
)
"""Text, benchmark and function."""


def table(run: dict[str, Any]) -> Table | None:
    """The table from a saved run; None if it lacks one of the benchmarks."""
    reports = run["reports"]
    if not {"dynamics", "partials"} <= reports.keys():
        return None
    times = {name: best_times(reports[name]) for name in ("dynamics", "partials")}
    parts = sorted(path[0] for path in times["partials"] if path[0].startswith("batch of "))
    named = ", ".join(sorted({path[2] for path in times["dynamics"] if path[0] == "single"}))
    result = Table(
        "README's table",
        [
            f"times faster than Pinocchio {run['versions'].get('pin', '?')}, "
            f"geometric mean over {named}",
            "one call from Python",
            f"{parts[0]}, one thread, per state: a Python loop over Pinocchio",
            "its own batch call, one thread",
        ],
    )
    for text, benchmark, function in ROWS:
        one, batch = ("single", "batch") if benchmark == "dynamics" else ("one call", parts[0])
        found = times[benchmark]
        result.add(
            text,
            _mean(found, one, function, ("pinocchio", "pinocchio, world")),
            _mean(found, batch, function, ("pinocchio",)),
            _mean(found, batch, function, ("pinocchio, parallel",)),
        )
    return result


Path = tuple[str, str, str, str]


def best_times(report: dict[str, Any]) -> dict[Path, float]:
    """Times by part, function, robot and contender, without those at another instruction set."""
    found = {}
    for path, timing in report["timings"].items():
        parts = path.split("/")
        if len(parts) == 4:
            found[parts[0], parts[1], parts[2], parts[3]] = timing["best"]
    return found


def _mean(times: dict[Path, float], part: str, function: str, rivals: tuple[str, ...]) -> str:
    """How many times faster than the fastest rival, over robots; a dash if there is no rival."""
    ratios = []
    for (place, name, robot, contender), ours in times.items():
        if (place, name, contender) != (part, function, "jounce"):
            continue
        others = [times[key] for x in rivals if (key := (part, function, robot, x)) in times]
        if others:
            ratios.append(min(others) / ours)
    return f"{geometric_mean(ratios):.2g}" if ratios else "-"
