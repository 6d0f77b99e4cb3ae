"""Who computes: this thread, executors of Python, Dask, Ray; and what to do when a worker dies.

All of them are used as executors of `concurrent.futures`. What this module starts itself listens on
the loopback interface only.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from importlib import import_module
from typing import Any

from jounce._core.arrays import integer
from jounce.errors import ArgumentError, ArgumentTypeError, MissingExtraError, SweepError
from jounce.sweeps._dask import Direct, WorkerGoneError, reached

__all__ = ["Crew", "crew"]

LOOPBACK = "127.0.0.1"
NAMES = ("threads", "processes", "dask")

_EXPECTED = (
    "executor must be a concurrent.futures.Executor, a Client or cluster of Dask, the module ray "
    f"after ray.init(), or one of {', '.join(map(repr, NAMES))}"
)

_DEATHS = {"KilledWorker", "WorkerCrashedError", "NodeDiedError", "LocalRayletDiedError"}
"""What Dask and Ray call it when a worker has died too often."""

_SETTINGS = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.allowed-failures": 0,  # the sweep counts them itself
    # So long after a death, a cluster gives up a worker that is not there: since it died again, or
    # takes its time to start.
    "distributed.deploy.lost-worker-timeout": "1 hour",
    # Workers would give memory back to the system and ask for it again in every task.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**26,
}
"""Of a cluster that we start; what watches its workers takes some percent of each core."""


class Crew:
    """An executor, with how many work and how to get another one."""

    def __init__(
        self,
        executor: Executor,
        workers: int,
        another: Callable[[], Executor] | None = None,
        *,
        elsewhere: bool = False,
    ) -> None:
        self.executor = executor
        self.workers = workers
        self.elsewhere = elsewhere
        """Whether workers are surely other processes, which know nothing of the job."""
        self._another = another
        self._ours: list[Executor] = []

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Let somebody do it; a broken executor is told by the future."""
        try:
            return self.executor.submit(function, *args)
        except BrokenExecutor as error:
            future: Future[Any] = Future()
            future.set_exception(error)
            return future

    def owns(self, executor: Executor) -> None:
        """It was made here and is ended with the rest."""
        self._ours.append(executor)

    def deaths(self, error: BaseException | None) -> int:
        """How many workers died at least; zero if the work failed, not the worker."""
        if isinstance(error, (BrokenExecutor, CancelledError, WorkerGoneError)):
            return 1
        return 2 if type(error).__name__ in _DEATHS else 0

    def replace(self) -> None:
        """A process of a pool has died, which breaks the pool: get another one.

        Raises:
            SweepError: nobody knows how.
        """
        if self._another is None:
            raise SweepError(
                "a worker died and its executor cannot go on; what is done is in the file if there "
                "is one, and the same call continues from it"
            )
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self._another()
        self.owns(self.executor)

    def close(self) -> None:
        """End what was started here."""
        for executor in self._ours:
            executor.shutdown(wait=True, cancel_futures=True)


class _Here(Executor):
    """The calling thread does it at once."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class _Ray(Executor):
    """Tasks of a running Ray; it repeats those whose worker dies."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._remote: dict[Any, Any] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if fn not in self._remote:
            self._remote[fn] = self._ray.remote(num_cpus=1, max_retries=3)(fn)
        future: Future[Any] = self._remote[fn].remote(*args, **kwargs).future()
        return future


@contextlib.contextmanager
def crew(executor: Any, workers: int | None) -> Iterator[Crew]:
    """Make a crew of what the caller gave, and end what was started for it.

    Raises:
        ArgumentTypeError: it is nothing that can compute.
        ArgumentError: there is no executor of that name.
        MissingExtraError: it needs a package that is not installed.
    """
    if workers is not None:
        integer("workers", workers, 1)
        if executor is None and workers > 1:
            raise ArgumentError(f"workers needs an executor: {', '.join(NAMES)} or one of your own")
    if isinstance(executor, str):
        if executor not in NAMES:
            raise ArgumentError(f"{_EXPECTED}, got {executor!r}")
        starts = {"threads": _threads, "processes": _processes, "dask": _dask}
        with starts[executor](workers or _cores()) as made:
            yield made
        return
    made = _given(executor)
    made.workers = workers or made.workers
    try:
        yield made
    finally:
        made.close()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _given(executor: Any) -> Crew:
    if executor is None:
        return Crew(_Here(), 1)
    if isinstance(executor, ProcessPoolExecutor):
        return Crew(executor, _size(executor), lambda: _like(executor), elsewhere=True)
    if isinstance(executor, Executor):
        return Crew(executor, _size(executor), elsewhere=isinstance(executor, Direct))
    if hasattr(executor, "get_executor"):  # a Client of Dask
        return _by_client(executor)
    if hasattr(executor, "get_client"):  # a cluster of Dask
        return _given(executor.get_client())
    if getattr(executor, "__name__", "") == "ray":
        if not executor.is_initialized():  # not by us: its servers listen on every interface
            raise ArgumentError("call ray.init() before a sweep on Ray")
        cores = int(executor.cluster_resources().get("CPU", 1))
        return Crew(_Ray(executor), cores, elsewhere=True)
    raise ArgumentTypeError(f"{_EXPECTED}, got {type(executor).__name__}")


def _size(executor: Any) -> int:
    """How many tasks an executor does at once; those of Python know."""
    return int(getattr(executor, "_max_workers", None) or _cores())


def _by_client(client: Any) -> Crew:
    """The workers of a cluster, some of whom may still be on their way; straight if possible."""
    threads = max(1, int(sum(client.nthreads().values())))
    direct = reached(client, threads)
    made = Crew(direct or client.get_executor(pure=False), threads, elsewhere=True)
    if direct is not None:
        made.owns(direct)
    return made


def _like(pool: Any) -> Executor:
    """A pool with the settings of a broken one."""
    return ProcessPoolExecutor(
        pool._max_workers, pool._mp_context, pool._initializer, pool._initargs
    )


@contextlib.contextmanager
def _threads(workers: int) -> Iterator[Crew]:
    with _ended(ThreadPoolExecutor(workers)) as pool:
        yield Crew(pool, workers)


@contextlib.contextmanager
def _processes(workers: int) -> Iterator[Crew]:
    import multiprocessing

    ways = multiprocessing.get_all_start_methods()
    # A fork of a process with threads may hang.
    context = multiprocessing.get_context("forkserver" if "forkserver" in ways else "spawn")

    def pool() -> Executor:
        return ProcessPoolExecutor(workers, context)

    with _ended(pool()) as first:
        made = Crew(first, workers, pool, elsewhere=True)
        try:
            yield made
        finally:
            made.close()


@contextlib.contextmanager
def _ended(executor: Executor) -> Iterator[Executor]:
    """At the end nothing that waits is begun any more."""
    try:
        yield executor
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _dask(workers: int) -> Iterator[Crew]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise MissingExtraError(
            "executor='dask' needs distributed: pip install 'jounce[dask]'"
        ) from error
    with (
        import_module("dask").config.set(_SETTINGS),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0",
        ) as cluster,
        distributed.Client(cluster, direct_to_workers=True) as client,
        _ended(Direct(client, workers)) as direct,
    ):
        yield Crew(direct, workers, elsewhere=True)
