"""A function of a model on a batch of any size, on any executor."""

from __future__ import annotations

import inspect
import os
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jounce._core.arrays import integer, refuse_masked
from jounce._types import AnyArray, Integers
from jounce.errors import ArgumentError, ArgumentTypeError
from jounce.model._checks import check_choice, check_flag
from jounce.model.model import require_model
from jounce.sweeps._chunks import default_block
from jounce.sweeps._outputs import names_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from jounce.sweeps._work import Job

__all__ = ["MarkedSweep", "sweep"]


class MarkedSweep(NamedTuple):
    """Results of a sweep some of whose states failed.

    Examples:
        >>> q = np.zeros((4, 2))
        >>> q[2] = np.nan
        >>> done = jc.sweep(jc.gravity_forces, jc.models.chain(2), q, on_failure="mark")
        >>> done.failed
        array([2])
    """

    result: Any
    """As the function returns it; NaN (zero for whole numbers) where a state failed."""
    failed: Integers
    """States that failed, in order."""
    messages: tuple[str, ...]
    """What was wrong with each of them."""


def sweep(
    function: Callable[..., Any],
    model: Any,
    arrays: Any = None,
    executor: Executor | Any | str | None = None,
    *,
    constants: Mapping[str, Any] | None = None,
    states: int | None = None,
    seed: int | None = None,
    file: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    on_failure: str = "raise",
    workers: int | None = None,
    block: int | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
) -> Any:
    """Evaluate a function of a model for many states, on many workers, in a file if need be.

    The states are cut into blocks, and ``function(model, *block_of_arrays, **constants)`` is called
    for each. Blocks depend on the number of states alone and end where packs end, so the results
    are the same to the last bit for any executor and any number of workers; for compiled functions
    they are those of one call with the whole batch. A task takes several blocks, about a quarter of
    a second by the time that earlier ones took.

    Without arrays the function draws its own inputs: it is called as ``function(model, rng, count,
    **constants)``, with a generator that belongs to the block, and nothing but a number travels.

    Args:
        function: returns an array, or a tuple, named tuple or dict of arrays, with a row for each
            state. Where it takes ``threads``, workers pass 1. It gets copies of the arrays' rows,
            and its results are copied as they come, so it may change both.
        model: the robot; workers get it once.
        arrays: an array, a tuple of arrays, or a dict of them for keyword arguments; the first axis
            of each counts the states. A list is one array, of numbers or rows. Memory-mapped ones
            are read a task at a time.
        executor: None computes in this thread. "threads", "processes" and "dask" start workers on
            this machine for this sweep, which listen on the loopback interface only. Otherwise an
            executor of `concurrent.futures`, a client or a cluster of Dask, or the module ray after
            ``ray.init()``.
        constants: keyword arguments that are the same for all states; no arrays for ``out``.
        states: how many to draw, in place of arrays.
        seed: from which all blocks' generators are made, in place of arrays.
        file: a path that ends with ``.npy`` (memory-mapped; for several results one file each, with
            its name before the suffix) or ``.zarr``. If it was begun by the same sweep, that is
            continued: what is there is not computed again, and a state that ended it is tried
            again. Without a file, results that would take more than half of the available memory
            go to a temporary one.
        overwrite: begin anew, whatever is in the file; an earlier sweep's files are deleted, those
            beside them are not.
        on_failure: "raise" ends the sweep with the lowest state that fails; "mark" returns a
            `MarkedSweep`, in which such states are NaN and named, unless all of them fail.
        workers: how many to start, or how many a given executor has where it does not tell.
        block: states for which the function is called at once; by default 16 to 1024. Give 1 where
            a state takes seconds.
        progress: a bar with rate and time left on a terminal, if rich is installed; True and False
            force and forbid it. A function is called with the number of states done and of all.

    Returns:
        What the function would have returned for the whole batch; memory-mapped or zarr arrays if
        there is a file.

    Raises:
        SweepError: a state failed, or its worker died with it again and again; the message says
            which. With ``on_failure="mark"``: all states failed. What else was computed is in the
            file, if there is one.
        ArgumentError: arrays do not fit together; or the file is damaged, was not made by a sweep,
            or is of another function, model, arrays or constants; or results have names that no
            file can have.
        ArgumentTypeError: the function raises a TypeError, as it does where it does not take what
            it is given, or returns no rows for the states; or names are no strings.
        MissingExtraError: a package is needed that is not installed.

    Examples:
        >>> import jounce as jc
        >>> model = jc.models.chain(3)
        >>> q = jc.random_configuration(model, 0, shape=1000)
        >>> tool = jc.sweep(jc.body_pose, model, q, constants={"body": model.body_names[-1]})
        >>> tool.shape
        (1000, 4, 4)
    """
    require_model(model)
    if not callable(function):
        raise ArgumentTypeError(f"function must be callable, got {type(function).__name__}")
    check_choice("on_failure", on_failure, ("raise", "mark"))
    check_flag("overwrite", overwrite)
    names, rows, count = _inputs(arrays, states, seed)
    if block is None:
        block = default_block(count)
    block = integer("block", block, 1)
    fixed = _fixed(constants)
    if not isinstance(file, str | os.PathLike | None):
        raise ArgumentTypeError(f"file must be a path, got {type(file).__name__}")
    if executor is not None and _takes_threads(function):
        fixed["threads"] = 1

    from jounce.sweeps._executors import crew
    from jounce.sweeps._progress import shown
    from jounce.sweeps._run import Run
    from jounce.sweeps._store import store_for
    from jounce.sweeps._work import Job

    job = Job(function, model, fixed, names, block, seed, on_failure == "mark")
    identity = None if file is None else _identity(job, rows, count)
    store = store_for(file, identity, count, job.block, overwrite)
    title = getattr(function, "__name__", "sweep")
    with crew(executor, workers) as people, shown(progress, title, count) as tell:
        Run(uuid.uuid4().hex, job, rows, store, people, tell).run()
    if on_failure == "raise":
        return store.result()
    failed = sorted(store.failures)
    messages = tuple(store.failures[k] for k in failed)
    return MarkedSweep(store.result(), np.array(failed, np.int64), messages)


def _inputs(
    arrays: Any, states: int | None, seed: int | None
) -> tuple[tuple[str, ...] | None, list[AnyArray], int]:
    """Names of the arrays if they have some, the arrays, and the number of states."""
    if arrays is None:
        if states is None or seed is None:
            raise ArgumentError("give arrays, or states and a seed for a function that draws them")
        integer("seed", seed)
        return None, [], integer("states", states, 0, 10**300)
    if states is not None or seed is not None:
        raise ArgumentError("states and seed are for sweeps without arrays")
    _refuse_list_of_arrays(arrays)
    names = names_of("arrays", arrays) if isinstance(arrays, Mapping) else None
    if isinstance(arrays, Mapping):
        given = list(arrays.values())
    else:
        given = list(arrays) if isinstance(arrays, tuple) else [arrays]
    labels = names or tuple(f"arrays[{k}]" for k in range(len(given)))
    if not given:
        raise ArgumentError("arrays is empty")
    rows = []
    for label, value in zip(labels, given, strict=True):
        refuse_masked(label, value)
        try:
            rows.append(np.asarray(value))
        except ValueError:  # lists of several lengths
            rows.append(np.asarray(None))
        if rows[-1].ndim == 0 or rows[-1].dtype.hasobject:
            raise ArgumentError(
                f"{label} must be an array of numbers whose first axis counts the states; what is "
                "the same for all of them belongs to constants"
            )
    if len({len(array) for array in rows}) > 1:
        sizes = ", ".join(f"{len(a)} in {name}" for name, a in zip(labels, rows, strict=True))
        raise ArgumentError(f"arrays must have as many states each, there are {sizes}")
    return names, rows, len(rows[0])


def _refuse_list_of_arrays(arrays: Any) -> None:
    """A list of numbers or rows is one array; of several arrays nobody knows what they are."""
    if not isinstance(arrays, list):
        return
    found = (getattr(x, "shape", None) for x in arrays)
    shapes = {tuple(shape) for shape in found if isinstance(shape, tuple)}
    if len(shapes) > 1 or any(len(shape) > 1 for shape in shapes):
        some = " and ".join(map(str, sorted(shapes)[:3]))
        raise ArgumentError(
            f"arrays must not be a list of arrays, got some of shape {some}: give a tuple if each "
            "is an argument of the function, numpy.stack(...) if each is a state"
        )


def _fixed(constants: Mapping[str, Any] | None) -> dict[str, Any]:
    """The constants; one array for results is not for all blocks."""
    if not isinstance(constants, Mapping | None):
        raise ArgumentTypeError(f"constants must be a dict, got {type(constants).__name__}")
    fixed = dict(constants or {})
    out = fixed.get("out")
    if any(isinstance(x, np.ndarray) for x in (out if isinstance(out, tuple | list) else [out])):
        raise ArgumentError(
            "constants must not have an array for 'out': all blocks would write to it, several at "
            "once; sweep() returns the results, and writes them to a file if one is given"
        )
    return fixed


def _takes_threads(function: Callable[..., Any]) -> bool:
    try:
        return "threads" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # built in, and does not tell
        return False


def _identity(job: Job, rows: list[AnyArray], count: int) -> dict[str, Any]:
    """What a file is the result of; `threads` plays no part in it."""
    from importlib.metadata import version

    from jounce.sweeps._digest import fingerprint, home_of

    constants = {key: value for key, value in job.constants.items() if key != "threads"}
    return {
        "function": fingerprint(job.function),
        "model": fingerprint(job.model),
        "arrays": fingerprint((job.names, rows, job.seed)),
        "constants": fingerprint(constants, home_of(job.function)),
        "states": count,
        "block": job.block,
        "version": version("jounce"),
    }
