"""Figures of a saved run, for the docs: ``python -m bench.figures RUN.json docs/images``."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.summary import best_times

FUNCTIONS = ("inverse dynamics", "forward dynamics", "mass matrix", "inverse mass matrix")
PEERS = ("pinocchio", "pinocchio, world", "pinocchio, parallel")
LABELS = {
    "single": "one call",
    "batch": "batch, per state: a Python loop over Pinocchio,\nor its batch call if faster",
}


def draw(run: Mapping[str, Any], folder: Path) -> list[Path]:
    """Draw what the run has measured; returns the files that were written."""
    reports = run["reports"]
    figures = {}
    if "dynamics" in reports:
        figures["bench-peers.svg"] = peers(run)
    if "series" in reports:
        figures["bench-series.svg"] = series(run)
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / name, metadata={"Date": None})
    return [folder / name for name in figures]


def peers(run: Mapping[str, Any]) -> Any:
    """How many times faster than the fastest way of Pinocchio, robot by robot."""
    times = best_times(run["reports"]["dynamics"])
    robots = list(dict.fromkeys(path[2] for path in times if path[0] == "single"))
    figure, panels = _figure(2, (9, 3.6))
    for panel, part in zip(panels, LABELS, strict=True):
        for k, robot in enumerate(robots):
            ratios = [_ratio(times, part, function, robot) for function in FUNCTIONS]
            places = [i + 0.8 * (k + 0.5) / len(robots) - 0.4 for i in range(len(FUNCTIONS))]
            panel.bar(places, ratios, 0.8 / len(robots), label=robot)
        panel.axhline(1.0, color="black", linewidth=0.8)
        panel.set(title=LABELS[part], ylabel="times faster than Pinocchio")
        panel.set_xticks(range(len(FUNCTIONS)), [name.replace(" ", "\n") for name in FUNCTIONS])
        panel.grid(axis="y", alpha=0.3)
    names = panels[0].get_legend_handles_labels()
    figure.legend(*names, loc="outside lower center", ncols=len(robots), fontsize="small")
    figure.suptitle(_measured(run), fontsize="small")
    return figure


def series(run: Mapping[str, Any]) -> Any:
    """What all derivatives up to an order cost, in calls of Pinocchio's plain dynamics."""
    times = best_times(run["reports"]["series"])
    figure, panels = _figure(2, (9, 3.4))
    for panel, way in zip(panels, ("inverse", "forward"), strict=True):
        names = dict.fromkeys(x[1] for x in times if x[0] == "orders" and x[1].startswith(way))
        for name in names:
            orders = sorted(int(x[2]) for x in times if x[1] == name and x[3] == "jounce")
            plain = min(times[x] for x in times if x[:3] == ("orders", name, "0") and x[3] in PEERS)
            cost = [times["orders", name, str(r), "jounce"] / plain for r in orders]
            panel.plot(orders, cost, "o-", label=name.partition(", ")[2])
        panel.axhline(1.0, color="black", linewidth=0.8)
        peer = {"inverse": "pin.rnea", "forward": "pin.aba"}[way]
        panel.set(
            title=f"{way} dynamics", xlabel="order r", ylabel=f"calls of {peer}", ylim=(0, None)
        )
        panel.grid(alpha=0.3)
    panels[0].legend(title="bodies", fontsize="small")
    figure.suptitle(_measured(run), fontsize="small")
    return figure


def _figure(columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(1, columns)


def _ratio(times: Mapping[Any, float], part: str, function: str, robot: str) -> float:
    rivals = [times[key] for x in PEERS if (key := (part, function, robot, x)) in times]
    ours = times.get((part, function, robot, "jounce"))
    return min(rivals) / ours if rivals and ours else float("nan")


def _measured(run: Mapping[str, Any]) -> str:
    """Machine, date and load: what a reader has to know of the numbers."""
    machine = run["machine"]
    load = machine["load"]
    busy = f", busy (load {load})" if load is not None and load > 0.3 else ""
    return f"{machine['processor']}{busy}, {run['date'][:10]}, effort {run['effort']}"


if __name__ == "__main__":
    for path in draw(json.loads(Path(sys.argv[1]).read_text("utf-8")), Path(sys.argv[2])):
        print(f"wrote {path}")
