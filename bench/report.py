"""What a benchmark returns: tables to print, targets to judge, timings to save."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable

from bench.timing import Ratio, Timing


@dataclass
class Table:
    """Rows of text under column headings."""

    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    note: str = ""

    def add(self, *cells: object) -> None:
        """Append a row; numbers get three digits."""
        self.rows.append([_text(cell) for cell in cells])

    def show(self, console: Console) -> None:
        """Print with rich."""
        console.print(f"[bold]{self.title}[/]")
        table = RichTable(box=box.SIMPLE_HEAD)
        for k, column in enumerate(self.columns):
            table.add_column(column, justify="left" if k == 0 else "right")
        for row in self.rows:
            table.add_row(*row)
        console.print(table)
        if self.note:
            console.print(f"  {self.note}\n", style="italic")

    def markdown(self) -> str:
        """The table as a page of documentation has it."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _text(cell: object) -> str:
    if isinstance(cell, bool) or not isinstance(cell, float):
        return str(cell)
    return f"{cell:.3g}" if abs(cell) < 1000 else f"{cell:.0f}"


@dataclass
class Target:
    """A promise and what was measured; `measured` is None where it could not be."""

    name: str
    promise: str
    """">=" or "<=" and a number."""
    measured: float | None
    remark: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the promise holds, None if nothing was measured."""
        if self.measured is None:
            return None
        sense, bound = self.promise.split()
        return self.measured >= float(bound) if sense == ">=" else self.measured <= float(bound)


@dataclass
class Report:
    """Result of one benchmark."""

    name: str
    tables: list[Table] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    timings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Timings by path, such as "single/inverse dynamics/UR5/jounce"."""
    numbers: dict[str, Any] = field(default_factory=dict)
    """Everything else that was measured: exponents, bytes, counts, build times."""

    def table(self, title: str, *columns: str, note: str = "") -> Table:
        """Start a table."""
        self.tables.append(Table(title, list(columns), note=note))
        return self.tables[-1]

    def target(self, name: str, promise: str, measured: float | None, remark: str = "") -> None:
        """Judge a promise."""
        self.targets.append(Target(name, promise, measured, remark))

    def keep(self, path: str, times: Mapping[str, Timing]) -> None:
        """Keep the timings of the contenders of one comparison."""
        for contender, timing in times.items():
            self.timings[f"{path}/{contender}"] = timing.as_dict()

    def as_dict(self) -> dict[str, Any]:
        """Everything, for the file."""
        out = asdict(self)
        for entry, target in zip(out["targets"], self.targets, strict=True):
            entry["met"] = target.met
        return out


class Steps:
    """Progress that is drawn between measurements only, never during one."""

    def __init__(self, console: Console) -> None:
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=console,
            auto_refresh=False,
            transient=True,
        )
        self._task = self._bar.add_task("", total=None)

    def __enter__(self) -> Steps:
        """Start drawing."""
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Erase the line."""
        self._bar.stop()

    def __call__(self, text: str) -> None:
        """Say what comes next."""
        self._bar.update(self._task, description=text)
        self._bar.refresh()


def show_targets(console: Console, reports: Iterable[Report]) -> None:
    """Print each target, the measured number, and whether it is met."""
    table = RichTable(box=box.SIMPLE_HEAD)
    for column in ("benchmark", "target", "promised", "measured", ""):
        table.add_column(column, justify="right" if column == "measured" else "left")
    verdicts = {True: "[green]met[/]", False: "[red]MISSED[/]", None: "[yellow]not measured[/]"}
    for report in reports:
        for target in report.targets:
            measured = "" if target.measured is None else f"{target.measured:.3g}"
            verdict = f"{verdicts[target.met]} {target.remark}".rstrip()
            table.add_row(report.name, target.name, target.promise, measured, verdict)
    console.print("[bold]Targets[/]")
    console.print(table)


def save(path: Path, content: Mapping[str, Any]) -> None:
    """Write a run as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_json(content, indent=1) + "\n", encoding="utf-8")


def as_json(content: Mapping[str, Any], indent: int | None = None) -> str:
    """JSON with NumPy's numbers and our ratios in it."""
    return json.dumps(content, indent=indent, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Ratio):
        return asdict(value)
    if hasattr(value, "item"):
        return value.item()
    return str(value)
