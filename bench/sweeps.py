"""Sweeps on workers of Dask beside the threads of the same machine.

The same rollouts of an arm five ways: one call with ``threads=``, a sweep on threads, and sweeps on
as many worker processes of Dask, with tasks of about 100 ms: as ``executor="dask"`` hands them out,
straight to the workers; with a client of somebody's cluster, which is the same after a connection
is made; and through the scheduler, as for a cluster with which others are busy. Scheduler and
workers are there before the clock starts, as they are on a cluster, and have done a task.
"""

from __future__ import annotations

import contextlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np

import jounce as jc
from bench.report import Report, Steps
from bench.timing import Effort
from jounce.sweeps import _chunks
from jounce.sweeps._executors import crew

WORKERS = 2
TASK = 0.1  # s
STEPS = 200


@contextlib.contextmanager
def dask(effort: Effort) -> Iterator[Any]:
    """What ``executor="dask"`` starts, or None where that is not to be had or takes too long."""
    if effort.tiny or importlib.util.find_spec("distributed") is None:
        yield None
        return
    with crew("dask", WORKERS) as made:
        yield made.executor


def in_turns(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, tuple[float, Any]]:
    """Least time of each way, and its last result; all of them in each round."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    results = {}
    for _ in range(rounds):
        for name, way in ways.items():
            begin = time.perf_counter()
            results[name] = way()
            seconds[name].append(time.perf_counter() - begin)
    return {name: (min(seconds[name]), results[name]) for name in ways}


def run(effort: Effort, step: Steps) -> Report:
    """Measure all of them."""
    report = Report("sweeps")
    model = jc.models.chain(7)
    states = effort.pick(40_000, 8_000, 64)
    rng = np.random.default_rng(0)
    arrays = {"q0": jc.random_configuration(model, rng, states)}
    arrays["v0"] = rng.standard_normal((states, model.nv))
    constants = {"tau": np.zeros((STEPS, model.nv)), "dt": 1e-3, "every": STEPS}
    rounds = effort.pick(9, 2, 1)

    def sweep(executor: Any, some: slice = slice(None)) -> Any:
        chosen = {name: array[some] for name, array in arrays.items()}
        return jc.sweep(jc.rollout, model, chosen, executor, constants=constants, workers=WORKERS)

    with mock.patch.object(_chunks, "TASK_SECONDS", TASK), dask(effort) as workers:
        ways: dict[str, Callable[[], Any]] = {
            f"one call, {WORKERS} threads": lambda: jc.rollout(
                model, **arrays, **constants, threads=WORKERS
            ),
            f"sweep on {WORKERS} threads": lambda: sweep("threads"),
        }
        if workers is not None:
            client = workers._client
            by_scheduler = client.get_executor(pure=False)
            for executor in (workers, client, by_scheduler):
                sweep(executor, slice(0, 64))
            ways[f"sweep on {WORKERS} workers of Dask"] = lambda: sweep(workers)
            ways["the same by a client of Dask"] = lambda: sweep(client)
            ways["the same through its scheduler"] = lambda: sweep(by_scheduler)
        step(", ".join(ways))
        found = in_turns(ways, rounds)
    _tell(report, found, states)
    return report


def _tell(report: Report, found: dict[str, tuple[float, Any]], states: int) -> None:
    """Times, efficiency against the threads, and whether the bits are the same."""
    (first, expected), *_ = found.values()
    table = report.table(
        f"{states} rollouts of {STEPS} steps, chain of 7, tasks of {TASK} s",
        *("how", "s", "efficiency", "same bits"),
    )
    for name, (seconds, result) in found.items():
        same = all((x == y).all() for x, y in zip(result, expected, strict=True))
        table.add(name, seconds, first / seconds, same)
        report.numbers[name] = seconds
    by_dask = [first / seconds for name, (seconds, _) in found.items() if "of Dask" in name]
    straight, client = by_dask or (None, None)
    report.target("sweep on two workers of Dask against two threads", ">= 0.9", straight)
    report.target("sweep by a client of Dask against two threads", ">= 0.9", client)
