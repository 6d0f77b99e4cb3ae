"""Where results go: tables on a terminal, plain text in a pipe, JSON, and files."""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jounce._types import Array
from jounce.errors import MissingExtraError

__all__ = [
    "Result",
    "Table",
    "add_output",
    "as_json",
    "deliver",
    "print_json",
    "print_tables",
    "progress",
]


class Table(NamedTuple):
    """Rows of text under heads; the first `left` columns are words, the others numbers."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    left: int = 1


class Result(NamedTuple):
    """An array of a result; axes before the last `ndim` count states or times."""

    values: Array
    labels: Sequence[str]
    """Names of the entries of one state, in C order; [""] for a number."""
    ndim: int = 1


def add_output(command: argparse.ArgumentParser, files: bool = True) -> None:
    """Add ``--json`` and, for results that are arrays, ``--out``."""
    command.add_argument("--json", action="store_true", help="print JSON instead of tables")
    if files:
        command.add_argument(
            "--out",
            type=_writable,
            metavar="FILE",
            help=f"write the arrays to a file that ends in {', '.join(_WRITERS)}",
        )


def deliver(
    options: argparse.Namespace, results: Mapping[str, Result], tables: Sequence[Table]
) -> None:
    """Print tables or JSON, and write the file if one was asked for."""
    if options.out is not None:
        part = options.out.with_name(options.out.name + ".part")
        try:
            _WRITERS[options.out.suffix.lower()](part, results)
            os.replace(part, options.out)
        finally:
            part.unlink(missing_ok=True)
        print(f"wrote {options.out}", file=sys.stderr)
    if options.json:
        print_json({name: result.values for name, result in results.items()})
    else:
        print_tables(tables)


def print_json(content: Any) -> None:
    """Print JSON; arrays become lists, and what is not finite becomes null."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    in_codes = not encoding.lower().startswith("utf")
    print(json.dumps(as_json(content), indent=None, ensure_ascii=in_codes))


def as_json(content: Any) -> Any:
    """The same of lists, dictionaries and numbers that JSON has."""
    if isinstance(content, Mapping):
        return {str(key): as_json(value) for key, value in content.items()}
    if isinstance(content, np.ndarray):
        return as_json(content.tolist())
    if isinstance(content, (list, tuple)):
        return [as_json(value) for value in content]
    if isinstance(content, (float, np.floating)):
        return float(content) if np.isfinite(content) else None
    return int(content) if isinstance(content, np.integer) else content


def print_tables(tables: Sequence[Table]) -> None:
    """Print tables: with rich on a terminal, as aligned text in a pipe or without rich."""
    rich = _rich_table() if sys.stdout.isatty() else None
    for k, table in enumerate(tables):
        if k:
            print()
        if rich is None:
            _print_plainly(table)
        else:
            rich(table)


def _print_plainly(table: Table) -> None:
    if table.title:
        print(table.title)
    cells = [table.heads, *table.rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = [
            f"{cell:<{width}}" if k < table.left else f"{cell:>{width}}"
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(padded).rstrip())


def _rich_table() -> Callable[[Table], None] | None:
    try:
        from rich import box
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text
    except ImportError:
        return None

    def show(table: Table) -> None:
        title = Text(table.title) if table.title else None
        shown = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD)
        for k, head in enumerate(table.heads):
            shown.add_column(
                Text(head), justify="left" if k < table.left else "right", overflow="fold"
            )
        for row in table.rows:
            shown.add_row(*map(Text, row))
        Console().print(shown)

    return show


@contextlib.contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """A function that is told what is done: a bar on a terminal, where rich is installed."""
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield lambda done: None
        return
    bar = Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
    with bar:
        task = bar.add_task(title, total=total)
        yield lambda done: bar.update(task, completed=done)


def _writable(text: str) -> Path:
    """The path of a file that can be written, for argparse: told before the work begins."""
    path = Path(text)
    if path.suffix.lower() not in _WRITERS:
        raise argparse.ArgumentTypeError(
            f"expected a file that ends in {', '.join(_WRITERS)}, got {text!r}"
        )
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {str(path.parent)!r}")
    return path


def _write_npz(path: Path, results: Mapping[str, Result]) -> None:
    arrays: dict[str, Any] = {name: result.values for name, result in results.items()}
    with path.open("wb") as file:
        np.savez(file, **arrays)


def _write_mat(path: Path, results: Mapping[str, Result]) -> None:
    try:
        from scipy.io import savemat
    except ImportError:
        raise MissingExtraError(".mat files need SciPy: pip install 'jounce[scipy]'") from None
    with path.open("wb") as file:
        savemat(file, {name: result.values for name, result in results.items()}, oned_as="row")


def _write_json(path: Path, results: Mapping[str, Result]) -> None:
    content = as_json({name: result.values for name, result in results.items()})
    path.write_text(json.dumps(content), encoding="utf-8")


def _write_csv(path: Path, results: Mapping[str, Result]) -> None:
    """A row for each state or time, and a column for each entry of each array."""
    leads = [r.values.shape[: r.values.ndim - r.ndim] for r in results.values()]
    lead = np.broadcast_shapes(*leads)
    heads, columns = [], []
    for k in range(len(lead) - 1):  # the last one is the row within them
        heads.append(f"state{k}" if len(lead) > 2 else "state")
        columns.append(np.indices(lead)[k].reshape(-1, 1))
    for (name, result), own in zip(results.items(), leads, strict=True):
        flat = result.values.reshape(*own, -1)
        columns.append(np.broadcast_to(flat, (*lead, flat.shape[-1])).reshape(-1, flat.shape[-1]))
        heads += [f"{name}[{label}]" if label else name for label in result.labels]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(heads)
        parts = (column.tolist() for column in columns)
        writer.writerows([x for row in rows for x in row] for rows in zip(*parts, strict=True))


_WRITERS: dict[str, Callable[[Path, Mapping[str, Result]], None]] = {
    ".npz": _write_npz,
    ".mat": _write_mat,
    ".csv": _write_csv,
    ".json": _write_json,
}
