"""Workers that the tests of sweeps share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from jounce.sweeps._executors import crew


@pytest.fixture(scope="session")
def dask_crew():
    """A scheduler and two workers, processes of their own, as a sweep starts them."""
    config = pytest.importorskip("dask").config
    pytest.importorskip("distributed")
    patient = {
        # To workers that died, too: until then their results are neither given up nor made again.
        "distributed.comm.timeouts.connect": "60s",
        "distributed.comm.timeouts.tcp": "3600s",
    }
    with config.set(patient), crew("dask", 2) as made:
        yield made.executor


@pytest.fixture(scope="session")
def dask(dask_crew):
    """The client of the same, as of a cluster that others started."""
    return dask_crew._client


@pytest.fixture(scope="session")
def processes():
    """A pool of two processes."""
    with crew("processes", 2) as made:
        yield made.executor


@pytest.fixture(scope="session")
def threads():
    """A pool of three threads."""
    with ThreadPoolExecutor(3) as pool:
        yield pool


@pytest.fixture
def stale_memory(monkeypatch):
    """Arrays without content hold what looks like a result."""
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float: np.full(shape, 42, dtype))


@pytest.fixture(params=["here", "threads", "processes", "dask", "dask_crew"])
def executor(request):
    """Each kind of executor."""
    return None if request.param == "here" else request.getfixturevalue(request.param)
