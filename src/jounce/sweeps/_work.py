"""What a worker does: the function on some blocks of states, with a report of those that failed.

A worker keeps the jobs that it has worked on, so that function, model and constants travel to it
once. A task names its job; a worker that does not know it says so, and is sent it with the task.

Blocks are the same whoever computes them, and the function is called for one block at a time. So
results do not depend on the number of workers, whatever the function does with its batch. It gets
copies of its rows, and what it returns is copied at once: it may change and use again both.
"""

from __future__ import annotations

import pickle
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from threading import current_thread, main_thread
from typing import Any, NamedTuple

import numpy as np

from jounce._types import AnyArray
from jounce.errors import ArgumentTypeError, SweepError
from jounce.sweeps._outputs import Layout, blank, require_alike, taken_apart

__all__ = ["Answer", "Job", "Piece", "compute", "forget", "know", "packed"]

_MOST_KEPT = 8
_known: dict[str, Job] = {}
"""Jobs of this process by their name, the latest last."""


class Job(NamedTuple):
    """What is the same for all states."""

    function: Callable[..., Any]
    model: Any
    constants: Mapping[str, Any]
    names: tuple[str, ...] | None
    """Of the arrays, if they are keyword arguments."""
    block: int
    seed: int | None
    """Blocks draw their own inputs, if there is one."""
    marks: bool
    """All states that fail are sought, not only the first."""


class Piece(NamedTuple):
    """Some blocks of states, one after another."""

    start: int
    stop: int
    arrays: Sequence[AnyArray]
    """The rows of these states."""


class Answer(NamedTuple):
    """What became of a piece."""

    known: bool
    """If not, the worker needs the job."""
    seconds: float = 0.0
    layout: Layout | None = None
    arrays: Sequence[AnyArray] = ()
    """Rows of the states, those that failed included; none if all failed."""
    failures: Mapping[int, str] = {}
    """What was wrong, by state."""


def packed(job: Job) -> bytes:
    """Make bytes of a job.

    Functions of the main program and lambdas need cloudpickle, which Dask and Ray bring.

    Raises:
        ArgumentTypeError: it cannot be sent to another process.
    """
    try:
        dumps: Callable[[Any], bytes] = import_module("cloudpickle").dumps
    except ImportError:
        dumps = pickle.dumps
    try:
        return dumps(tuple(job))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ArgumentTypeError(
            f"the function or its constants cannot be sent to workers ({error}); define the "
            "function in a module, or install cloudpickle"
        ) from error


def know(name: str, job: Job) -> None:
    """Keep a job, and not many more."""
    _known[name] = job
    while len(_known) > _MOST_KEPT:
        _known.pop(next(iter(_known)), None)


def forget(name: str) -> None:
    """A job is done."""
    _known.pop(name, None)


def compute(name: str, job_bytes: bytes | None, piece: Piece) -> Answer:
    """Do a piece of work, block by block."""
    if job_bytes is not None and name not in _known:
        know(name, Job(*pickle.loads(job_bytes)))
    job = _known.get(name)
    if job is None:
        return Answer(known=False)
    begin = time.perf_counter()
    made, failures = _Results(piece), {}
    for start in range(piece.start, max(piece.stop, 1), job.block):  # one of no states, too
        stop = min(piece.stop, start + job.block)
        rows = [array[start - piece.start : stop - piece.start] for array in piece.arrays]
        failures.update(_block(job, start, stop, rows, made))
        if failures and not job.marks:
            return Answer(True, time.perf_counter() - begin, failures=failures)
    made.leave_blank(failures)
    return Answer(True, time.perf_counter() - begin, made.layout, made.arrays, failures)


class _Results:
    """Results of a piece."""

    def __init__(self, piece: Piece) -> None:
        self.start, self.states = piece.start, piece.stop - piece.start
        self.layout: Layout | None = None
        self.arrays: list[AnyArray] = []

    def put(self, start: int, layout: Layout, rows: Sequence[AnyArray]) -> None:
        """Copy the results of some states to their place."""
        if self.layout is None:
            self.layout = layout
            self.arrays = [np.empty((self.states, *x.shape[1:]), x.dtype) for x in rows]
        require_alike(start, layout, rows, self.layout, self.arrays)
        first = start - self.start
        for array, values in zip(self.arrays, rows, strict=True):
            array[first : first + len(values)] = values

    def leave_blank(self, states: Iterable[int]) -> None:
        """These failed: NaN, zero where numbers are whole."""
        failed = [state - self.start for state in states]
        for array in self.arrays if failed else ():
            array[failed] = blank(array.dtype)


def _block(job: Job, start: int, stop: int, rows: list[AnyArray], made: _Results) -> dict[int, str]:
    """Compute a block, in parts if some of its states fail; what was wrong with those."""
    try:
        result = _call(job, start, stop - start, rows)
    except (ArgumentTypeError, MemoryError):  # not the fault of a state
        raise
    except TypeError as error:
        raise ArgumentTypeError(f"the function cannot be called like this: {error}") from error
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
            raise  # from the keyboard, not from the function
        if stop == start:
            raise SweepError(f"the function failed for no states: {_text(error)}") from error
        if job.seed is not None:  # its states are drawn together
            return {k: _text(error) for k in range(start, stop)}
        if stop - start == 1:
            return {start: _text(error)}
    else:
        made.put(start, *taken_apart(result, stop - start))
        return {}
    failures: dict[int, str] = {}
    middle = (start + stop) // 2
    for first, last in ((start, middle), (middle, stop)):
        some = [array[first - start : last - start] for array in rows]
        failures.update(_block(job, first, last, some, made))
        if failures and not job.marks:
            break
    return failures


def _call(job: Job, start: int, count: int, rows: list[AnyArray]) -> Any:
    if job.seed is not None:
        seeds = np.random.SeedSequence(job.seed, spawn_key=(start // job.block,))
        return job.function(job.model, np.random.default_rng(seeds), count, **job.constants)
    rows = [np.array(array, order="C") for array in rows]  # as they come from other processes
    if job.names is not None:
        arrays = dict(zip(job.names, rows, strict=True))
        return job.function(job.model, **arrays, **job.constants)
    return job.function(job.model, *rows, **job.constants)


def _text(error: BaseException) -> str:
    """The error of one state alone, which has no place in a batch."""
    message = re.sub(r" in state \[0\] of the batch", "", str(error))
    return f"{type(error).__name__}: {message}"
