"""Workers that die are replaced, and what they had is done again."""

from __future__ import annotations

import signal
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import sweep_work as work
from sweep_work import ROBOT, inputs

import jounce as jc
from jounce.sweeps import _dask, _executors
from jounce.sweeps._dask import WorkerGoneError

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals are of POSIX"),
]
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


def test_a_block_that_kills_every_worker_is_named(pool, stale_memory):
    constants = {"state": Q[100, -1], "mark": None}
    some = Q[:160]
    found = jc.sweep(
        work.ends_its_process, ROBOT, some, pool, constants=constants, on_failure="mark"
    )
    assert found.failed.tolist() == list(range(96, 112))  # its block
    assert found.messages[0].startswith("its worker died")
    assert np.isnan(found.result[96:112]).all()
    good = np.setdiff1d(np.arange(160), found.failed)
    assert found.result[good].tobytes() == EXPECTED[good].tobytes()


def test_a_sweep_whose_blocks_all_kill_ends():
    """Not before each of three blocks had three workers, and not after more."""
    tasks = []

    class Deadly(Executor):
        def submit(self, fn, /, *args, **kwargs):
            tasks.append(args[-1].start)
            future = Future()
            future.set_exception(WorkerGoneError("tcp://127.0.0.1:1"))
            return future

    for on_failure, blocks in (("raise", 1), ("mark", 3)):
        tasks.clear()
        with pytest.raises(jc.SweepError, match="state 0 of the sweep failed: its worker died 3"):
            jc.sweep(jc.gravity_forces, ROBOT, Q, Deadly(), workers=1, on_failure=on_failure)
        assert tasks == [16 * k for k in range(blocks) for _ in range(3)]


def test_a_function_that_ends_every_worker_of_dask_is_told(dask_crew):
    """Workers are replaced until it is sure, also those that die as soon as they come back."""
    config = pytest.importorskip("dask").config
    assert config.get("distributed.deploy.lost-worker-timeout") == "1 hour"  # 15 s, then for good
    with pytest.raises(jc.SweepError, match="state 0 of the sweep failed: its worker died 3 times"):
        jc.sweep(work.exits, ROBOT, Q, dask_crew)
    found = jc.sweep(jc.gravity_forces, ROBOT, Q, dask_crew)
    assert found.tobytes() == EXPECTED.tobytes()


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=["exit", "interrupt"])
@pytest.mark.parametrize("way", ["threads", "dask", "dask_crew"])
def test_a_function_that_leaves_its_program_fails(error, way, request):
    """And its worker does not."""
    executor = request.getfixturevalue(way)
    name = type(error).__name__
    with pytest.raises(jc.SweepError, match=rf"state 0 of the sweep failed: {name}.* 31 others"):
        jc.sweep(
            work.leaves, ROBOT, Q[:32], executor, constants={"error": error}, on_failure="mark"
        )


def test_an_interrupt_from_the_keyboard_is_one():
    with pytest.raises(KeyboardInterrupt):
        jc.sweep(work.leaves, ROBOT, Q[:32], constants={"error": KeyboardInterrupt()})


def test_a_worker_of_dask_that_is_lost_is_taken_again(dask_crew):
    """It may come back where it was: what it forgot is seen at the first task."""
    dask_crew.submit(str).result()
    before = dict(dask_crew._places)
    for place in before.values():
        place.seat = SimpleNamespace(key="Seat of the one before", status="finished")
    for _ in before:
        with pytest.raises(WorkerGoneError):
            dask_crew.submit(str).result()
    for _ in range(10_000):
        assert dask_crew.submit(str).result() == ""
        if before.keys() <= dask_crew._places.keys():
            break
    assert before.keys() <= dask_crew._places.keys()
    assert not set(dask_crew._places.values()) & set(before.values())


@pytest.mark.parametrize("patience", ["_DESERTED", "_ABANDONED"])
def test_a_cluster_without_workers_is_not_waited_for(patience, dask_crew, monkeypatch):
    """One that we started, and one of somebody, who is asked for workers by a task."""
    asked = []

    async def nobody():
        return {"workers": {}}

    client = SimpleNamespace(
        loop=dask_crew._client.loop,
        scheduler=SimpleNamespace(identity=nobody),
        submit=lambda *args, **kwargs: asked.append(args) or asked,
    )
    monkeypatch.setattr(_dask, patience, 3 * _dask._LOOK)
    nobodys = _dask.Direct(client, 2, ours=patience == "_ABANDONED")
    with pytest.raises(jc.SweepError, match="all workers of Dask have died"):
        jc.sweep(jc.gravity_forces, ROBOT, Q, nobodys)
    assert asked == ([(str,)] if patience == "_ABANDONED" else [])


def test_tasks_of_many_threads_meet_workers_that_vanish(dask_crew):
    """Threads hand tasks out while workers are lost: each task ends, or says that it was lost."""

    def hand_out(k):
        if k % 5 == 0:
            dask_crew._client.loop.add_callback(dask_crew._places.clear)
        try:
            return dask_crew.submit(abs, -k).result()
        except WorkerGoneError:
            return k

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(hand_out, range(40))) == list(range(40))


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
