"""A bar on the terminal while a simulation takes long, where rich is installed."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["DELAY", "Progress", "Report", "silent"]

Report = Callable[[float], None]
"""Is told the time that a simulation has reached."""

DELAY = 1.0
"""Seconds before a bar appears."""


def silent(t: float) -> None:
    """Report to nobody."""


class Progress:
    """A report that shows a bar from time `start` to `end`, or nothing, while its block runs.

    Nothing is shown without rich, unless standard error is a terminal, or during the first second.

    Args:
        start: time at which the simulation begins.
        end: time at which it ends.
        console: where to show it instead, a `rich.console.Console`.
    """

    def __init__(self, start: float, end: float, *, console: Any = None) -> None:
        self.bar: _Bar | None = None
        if console is None and not sys.stderr.isatty():
            return
        with suppress(ImportError):
            rich = importlib.import_module("rich.progress")
            self.bar = _Bar(rich, console, start, end)

    def __enter__(self) -> Report:
        """Begin to report."""
        return silent if self.bar is None else self.bar.reached

    def __exit__(self, *error: object) -> None:
        """Remove the bar."""
        if self.bar is not None:
            self.bar.close()


class _Bar:
    def __init__(self, rich: Any, console: Any, start: float, end: float) -> None:
        self.rich, self.console, self.start, self.end = rich, console, start, end
        self.since = time.monotonic()
        self.bar: Any = None

    def reached(self, t: float) -> None:
        if self.bar is None:
            if time.monotonic() - self.since < DELAY:
                return
            self.bar = self._shown()
        self.bar.update(self.task, completed=t - self.start)

    def _shown(self) -> Any:
        rich = self.rich
        where = self.console or importlib.import_module("rich.console").Console(stderr=True)
        text, column = rich.TextColumn, rich.BarColumn()
        bar = rich.Progress(
            text("simulate"),
            column,
            text("{task.completed:.3g} of {task.total:.3g} s"),
            rich.TimeRemainingColumn(),
            console=where,
            transient=True,
        )
        self.task = bar.add_task("simulate", total=self.end - self.start)
        bar.start()
        return bar

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
