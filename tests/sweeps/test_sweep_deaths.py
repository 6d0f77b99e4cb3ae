"""Workers that die are replaced, and what they had is done again."""

from __future__ import annotations

import signal

import numpy as np
import pytest
import sweep_work as work
from sweep_work import ROBOT, inputs

import jounce as jc
from jounce.sweeps import _executors

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals are of POSIX")
Q = inputs()[0]
EXPECTED = jc.gravity_forces(ROBOT, Q)


@pytest.fixture
def pool():
    """A pool of its own, since it will break."""
    with _executors.crew("processes", 2) as made:
        yield made.executor


def test_a_dead_process_makes_no_difference(pool, tmp_path):
    constants = {"state": Q[1500, -1], "mark": str(tmp_path / "killed")}
    found = jc.sweep(work.ends_its_process, ROBOT, Q, pool, constants=constants)
    assert (tmp_path / "killed").exists()
    assert found.tobytes() == EXPECTED.tobytes()


@pytest.mark.parametrize("way", ["dask", "dask_crew"])
def test_a_dead_worker_of_dask_makes_no_difference(way, request, tmp_path):
    executor = request.getfixturevalue(way)
    constants = {"state": Q[1500, -1], "mark": str(tmp_path / "killed")}
    found = jc.sweep(work.ends_its_process, ROBOT, Q, executor, constants=constants)
    assert (tmp_path / "killed").exists()
    assert found.tobytes() == EXPECTED.tobytes()


def test_a_block_that_kills_every_worker_is_named(pool):
    constants = {"state": Q[100, -1], "mark": None}
    some = Q[:160]
    found = jc.sweep(
        work.ends_its_process, ROBOT, some, pool, constants=constants, on_failure="mark"
    )
    assert found.failed.tolist() == list(range(96, 112))  # its block
    assert found.messages[0].startswith("its worker died")
    good = np.setdiff1d(np.arange(160), found.failed)
    assert found.result[good].tobytes() == EXPECTED[good].tobytes()


def test_an_executor_that_cannot_be_replaced_says_so():
    crew = _executors.Crew(_executors._Here(), 1)
    with pytest.raises(jc.SweepError, match="the same call continues"):
        crew.replace()


def test_ray(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    with pytest.raises(jc.ArgumentError, match=r"ray\.init"):
        jc.sweep(jc.gravity_forces, ROBOT, Q, ray)
    token = tmp_path / "token"
    token.write_text("0" * 64)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(token))
    cloudpickle = pytest.importorskip("cloudpickle")
    cloudpickle.register_pickle_by_value(work)  # its workers do not know where the tests are
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        constants = {"state": Q[1500, -1], "mark": str(tmp_path / "killed")}
        found = jc.sweep(work.ends_its_process, ROBOT, Q, ray, constants=constants)
        assert (tmp_path / "killed").exists()
        assert found.tobytes() == EXPECTED.tobytes()
    finally:
        ray.shutdown()
        cloudpickle.unregister_pickle_by_value(work)
