"""How far a sweep is: a bar with rate and time left, if rich is there and someone looks."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from jounce.errors import ArgumentTypeError

__all__ = ["Progress", "shown"]

Progress = Callable[[int, int], object]
"""Is told how many states are done, and how many there are."""


@contextlib.contextmanager
def shown(progress: bool | Progress | None, title: str, states: int) -> Iterator[Progress]:
    """Give a function to tell the progress to.

    Args:
        progress: None for a bar on a terminal, True for a bar anywhere, False for none; or a
            function that is told.
        title: stands before the bar.
        states: all.
    """
    if callable(progress):
        yield partial(_told, progress)
        return
    if progress is not None and not isinstance(progress, bool):
        raise ArgumentTypeError(f"progress must be None, a bool or a function, got {progress!r}")
    rich = _rich() if (sys.stderr.isatty() if progress is None else progress) else None
    if rich is None:
        yield lambda done, states: None
        return
    with rich as bar:
        task = bar.add_task(title, total=states)
        yield lambda now, states: bar.update(task, completed=now)


def _told(progress: Progress, done: int, states: int) -> object:
    """What a function of the user says, if it can be called at all."""
    try:
        return progress(done, states)
    except TypeError as error:
        raise ArgumentTypeError(f"progress(done, states) fails: {error}") from error


def _rich() -> Any:
    """A bar on the terminal's error stream, or None where rich is not installed."""
    try:
        from rich import console, progress
        from rich.text import Text
    except ImportError:
        return None

    class Rate(progress.ProgressColumn):
        """States per second."""

        def render(self, task: Any) -> Any:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f} states/s")

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        Rate(),
        progress.TimeRemainingColumn(),
        console=console.Console(stderr=True),
    )
