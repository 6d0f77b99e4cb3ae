"""Sweeps give what one call gives, to the last bit, whoever computes them."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import sweep_work as work
from sweep_work import ROBOT, STATES, inputs

import jounce as jc
from jounce.errors import ArgumentError, ArgumentTypeError, MissingExtraError
from jounce.sweeps import _chunks, _executors, _store, _work
from jounce.sweeps._dask import Direct

Q, V, A = inputs()


def same(x, y):
    return x.dtype == y.dtype and x.tobytes() == y.tobytes()


def test_compiled_functions_give_the_bits_of_one_call(executor):
    found = jc.sweep(jc.inverse_dynamics, ROBOT, (Q, V, A), executor)
    assert same(found, jc.inverse_dynamics(ROBOT, Q, V, A))
    found = jc.sweep(jc.kinetic_energy, ROBOT, {"v": V, "q": Q}, executor)
    assert same(found, jc.kinetic_energy(ROBOT, Q, V))
    body = ROBOT.body_names[-1]
    found = jc.sweep(jc.jacobian, ROBOT, Q, executor, constants={"body": body, "twist": "hybrid"})
    assert same(found, jc.jacobian(ROBOT, Q, body, "hybrid"))


@pytest.mark.parametrize("states", [17, 18, 33])
def test_a_rest_of_one_state_is_computed_as_the_others(states):
    """Robots with branches have another way for one state that is no batch."""
    robot = jc.models.quadruped()
    rng = np.random.default_rng(states)
    q = jc.random_configuration(robot, rng, states)
    v, a = rng.standard_normal((2, states, robot.nv))
    once = jc.inverse_dynamics(robot, q, v, a)
    assert same(jc.sweep(jc.inverse_dynamics, robot, (q, v, a)), once)
    if states % 16 == 1:  # more than one may fill a pack, as wide as the instruction set has it
        assert same(jc.inverse_dynamics(robot, q[-1:], v[-1:], a[-1:]), once[-1:])


def test_several_results_come_as_the_function_returns_them(executor):
    found = jc.sweep(jc.linearize, ROBOT, (Q, V, A), executor)
    once = jc.linearize(ROBOT, Q, V, A)  # a portion at a time, which ends where packs end
    assert isinstance(found, jc.Linearization)
    assert all(map(same, found, once))
    pair = jc.sweep(work.energies, ROBOT, (Q, V), executor)
    assert isinstance(pair, work.Energies)
    assert all(map(same, pair, work.energies(ROBOT, Q, V)))


def test_what_a_function_does_with_its_batch_makes_no_difference(executor):
    found = jc.sweep(work.mixed, ROBOT, (Q, V), executor)
    block = _chunks.default_block(STATES)
    starts = range(0, STATES, block)
    blocks = [work.mixed(ROBOT, Q[k : k + block], V[k : k + block]) for k in starts]
    assert same(found, np.concatenate(blocks))


def test_seeds_travel_in_place_of_arrays(executor):
    options = {"states": 1000, "seed": 7, "constants": {"scale": 2.0}}
    found = jc.sweep(work.drawn, ROBOT, None, executor, **options)
    blocks = []
    for k in range(63):
        rng = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(k,)))
        blocks.append(work.drawn(ROBOT, rng, min(16, 1000 - 16 * k), 2.0))
    assert same(found, np.concatenate(blocks))
    assert not same(found, jc.sweep(work.drawn, ROBOT, None, executor, **{**options, "seed": 8}))


def test_a_rollout_sweep(executor):
    tau = np.zeros((200, 5, ROBOT.nv))
    found = jc.sweep(
        jc.rollout,
        ROBOT,
        {"q0": Q[:200], "v0": V[:200], "tau": tau},
        executor,
        constants={"dt": 1e-3},
    )
    assert all(map(same, found, jc.rollout(ROBOT, Q[:200], V[:200], tau, 1e-3)))


@pytest.mark.parametrize("states", [0, 1, 15, 16, 17])
def test_few_states(states):
    found = jc.sweep(jc.mass_matrix, ROBOT, Q[:states])
    assert same(found, jc.mass_matrix(ROBOT, Q[:states]))


def test_the_lowest_state_that_fails_is_named(executor):
    bad = Q.copy()
    bad[[1234, 77, 2999], -1] = np.nan
    with pytest.raises(
        jc.SweepError, match=r"^state 77 of the sweep failed: ArgumentError: q must be"
    ) as e:
        jc.sweep(jc.gravity_forces, ROBOT, bad, executor)
    assert min(e.value.failures) == 77
    assert "in state" not in str(e.value)


def test_states_that_fail_are_marked(executor):
    bad = Q.copy()
    bad[[1234, 1235, 77, 3000], -1] = 1e9
    found = jc.sweep(work.refuses, ROBOT, bad, executor, on_failure="mark")
    assert isinstance(found, jc.MarkedSweep)
    assert found.failed.tolist() == [77, 1234, 1235, 3000]
    assert found.messages == ("ValueError: too far",) * 4
    assert np.isnan(found.result["tau"][found.failed]).all()
    assert (found.result["count"][found.failed] == 0).all()
    good = np.setdiff1d(np.arange(STATES), found.failed)
    # single states may round in another way than packs
    np.testing.assert_allclose(
        found.result["tau"][good], jc.gravity_forces(ROBOT, Q)[good], rtol=1e-12, atol=1e-12
    )
    again = jc.sweep(work.refuses, ROBOT, bad, on_failure="mark")
    assert same(again.result["tau"], found.result["tau"])


@pytest.mark.parametrize("failing", [slice(16, 64), slice(0, 40), slice(1000, 3001)])
def test_blocks_all_of_whose_states_fail_are_nan(failing, executor, stale_memory):
    """Also before the first result, when nobody knows how many columns there will be."""
    bad = Q.copy()
    bad[failing, -1] = 1e9
    found = jc.sweep(work.refuses, ROBOT, bad, executor, on_failure="mark")
    assert found.failed.tolist() == list(range(STATES))[failing]
    assert np.isnan(found.result["tau"][failing]).all()
    assert (found.result["count"][failing] == 0).all()
    good = np.setdiff1d(np.arange(STATES), found.failed)
    assert np.isfinite(found.result["tau"][good]).all()


def test_blocks_that_draw_states_which_fail_are_nan(stale_memory):
    found = jc.sweep(work.draws_few, ROBOT, states=STATES, seed=1, on_failure="mark")
    assert 0 < len(found.failed) < STATES
    assert np.isnan(found.result[found.failed]).all()
    assert np.isfinite(np.delete(found.result, found.failed, axis=0)).all()


def test_a_sweep_of_which_nothing_is_left_is_an_error():
    with pytest.raises(jc.SweepError, match=r"state 0 .* and 99 others"):
        jc.sweep(work.refuses, ROBOT, np.full((100, ROBOT.nq), 1e9), on_failure="mark")


def test_mistakes_of_the_call_are_not_failures_of_states(executor):
    with pytest.raises(ArgumentTypeError):
        jc.sweep(jc.gravity_forces, ROBOT, (Q, V), executor, on_failure="mark")
    with pytest.raises(ArgumentTypeError, match="cannot be called like this: float expected"):
        jc.sweep(float, ROBOT, (Q, V), executor, on_failure="mark")


def test_workers_unpack_the_job_once(tmp_path, request, monkeypatch):
    monkeypatch.setattr(_chunks, "TASK_SECONDS", 0.0)  # many tasks
    for name in ("processes", "dask"):
        executor = request.getfixturevalue(name)
        (tmp_path / name).mkdir()
        constants = {"constant": work.Telling(str(tmp_path / name))}
        pids = jc.sweep(work.with_constant, ROBOT, Q[:640], executor, constants=constants)
        files = {path.name for path in (tmp_path / name).iterdir()}
        assert {f"{pid}-0" for pid in pids} <= files
        assert all(file.endswith("-0") for file in files)
        assert len(files) <= 2


def test_workers_are_told_to_use_one_thread(monkeypatch, threads):
    seen = []

    def function(model, q, threads=0):
        seen.append(threads)
        return q

    jc.sweep(function, ROBOT, Q[:10], threads, constants={"threads": 5})
    jc.sweep(function, ROBOT, Q[:10], constants={"threads": 5})
    assert seen == [1, 5]


def test_everything_that_is_started_listens_on_loopback_only(dask):
    psutil = pytest.importorskip("psutil")
    me = psutil.Process()
    listening = [
        socket.laddr.ip
        for process in (me, *me.children(recursive=True))
        for socket in process.net_connections()
        if socket.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 3  # a scheduler and two workers
    assert set(listening) == {"127.0.0.1"}
    assert dask.scheduler.address.startswith("tcp://127.0.0.1:")


def test_results_beyond_the_memory_go_to_a_file(monkeypatch):
    monkeypatch.setattr(_store.memory, "LARGE", 0)
    monkeypatch.setattr(_store.memory, "physical", lambda: 1000)
    found = jc.sweep(jc.mass_matrix, ROBOT, Q)
    assert isinstance(found, np.memmap)
    assert same(np.asarray(found), jc.mass_matrix(ROBOT, Q))
    monkeypatch.setattr(_store.shutil, "disk_usage", lambda folder: _Disk)
    with pytest.raises(jc.TooLargeError, match="give a file"):
        jc.sweep(jc.mass_matrix, ROBOT, Q)


class _Disk:
    free = 10


@pytest.mark.parametrize("here", ["numpy.empty", "numpy.lib.format.open_memmap"])
def test_a_limit_of_the_process_is_told_and_leaves_no_file(here, monkeypatch, tmp_path):
    """Neither memory nor a file helps where the process has no more addresses."""
    room = 10**12 if here == "numpy.empty" else 10

    def refused(*arguments, **options):
        raise (MemoryError if here == "numpy.empty" else OSError)("no more addresses")

    monkeypatch.setattr(_store.memory, "LARGE", 0)
    monkeypatch.setattr(_store.memory, "physical", lambda: room)
    monkeypatch.setattr(_store.tempfile, "tempdir", str(tmp_path))
    store = _store.Store(3, 1)
    monkeypatch.setattr(here, refused)
    with pytest.raises(jc.TooLargeError, match="no more addresses"):
        store.make([(3, 4)], [np.dtype(float)])
    assert not list(tmp_path.iterdir())


def test_progress_is_told_and_shown(capsys, monkeypatch):
    told = []
    jc.sweep(jc.gravity_forces, ROBOT, Q, progress=lambda done, states: told.append((done, states)))
    assert told == sorted(told)
    assert told[-1] == (STATES, STATES)
    assert capsys.readouterr().err == ""
    if sys.modules.get("rich") or pytest.importorskip("rich"):
        jc.sweep(jc.gravity_forces, ROBOT, Q, progress=True)
        shown = capsys.readouterr().err
        assert "gravity_forces" in shown
        assert "states/s" in shown
        assert f"{STATES}/{STATES}" in shown
    monkeypatch.setitem(sys.modules, "rich", None)
    jc.sweep(jc.gravity_forces, ROBOT, Q, progress=True)
    assert capsys.readouterr().err == ""


def test_chunks_follow_the_measured_time():
    done = np.zeros(10_000, bool)
    done[100:200] = True
    plan = _chunks.Plan(done, workers=2, row_bytes=8, block=16)
    chunks, seconds = [], 1e-3
    while plan:
        chunk = plan.next()
        chunks.append(chunk)
        plan.learn(chunk.last - chunk.first, seconds * (chunk.last - chunk.first), 8, 16)
    sizes = [c.last - c.first for c in chunks]
    assert sizes[0] == 1
    assert max(sizes) == _chunks.TASK_SECONDS / seconds
    tail = sizes[sizes.index(max(sizes)) :]
    assert tail == sorted(tail, reverse=True)  # so that all workers end together
    least = -(-max(sizes) // _chunks._LEAST)
    assert tail[-1] <= least
    assert tail[-2] >= least  # and nobody waits for many small ones
    taken = np.concatenate([np.arange(c.first, c.last) for c in chunks])
    assert taken.tolist() == np.flatnonzero(~done).tolist()


def test_chunks_that_are_lost_come_next():
    plan = _chunks.Plan(np.zeros(10, bool), 1, 8, 16)
    lost = [plan.next(), plan.next()]
    plan.again(lost[::-1])
    assert [plan.next(), plan.next()] == lost
    assert plan.next().first == 2


def test_large_rows_make_small_chunks():
    plan = _chunks.Plan(np.zeros(1000, bool), 1, 8, 16)
    plan.learn(100, 1e-6, 2**20, 16)
    assert plan.next() == _chunks.Chunk(0, 1)


BAD = {
    "no arrays": ((work.mixed, ROBOT), {}, "give arrays, or states"),
    "both": ((work.mixed, ROBOT, Q), {"seed": 1}, "without arrays"),
    "seed": ((work.mixed, ROBOT), {"seed": 1.5, "states": 3}, "seed: expected an integer"),
    "no first axis": ((work.mixed, ROBOT, (Q, 3.0)), {}, r"arrays\[1\] must be an array"),
    "sizes": ((work.mixed, ROBOT, {"q": Q, "v": V[:5]}), {}, "3001 in q, 5 in v"),
    "empty": ((work.mixed, ROBOT, ()), {}, "arrays is empty"),
    "block": ((work.mixed, ROBOT, Q), {"block": 0}, "block: expected an integer of at least 1"),
    "workers": ((work.mixed, ROBOT, Q), {"workers": 0}, "workers: expected an integer"),
    "states": ((work.mixed, ROBOT), {"states": 10**400, "seed": 0}, "states: expected an integer"),
    "failure": ((work.mixed, ROBOT, Q), {"on_failure": "x"}, "on_failure must be"),
    "executor": ((work.mixed, ROBOT, Q, "fast"), {}, "or one of 'threads', 'processes', 'dask'"),
    "suffix": ((work.mixed, ROBOT, Q), {"file": "a.csv"}, "must end with .npy or .zarr"),
    "folder": ((work.mixed, ROBOT, Q), {"file": "no/such/a.npy"}, "does not exist"),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_arguments_are_refused(case):
    arguments, options, message = BAD[case]
    with pytest.raises(ArgumentError, match=message):
        jc.sweep(*arguments, **options)


def test_wrong_types_are_refused():
    for arguments in (("f", ROBOT, Q), (work.mixed, "robot", Q), (work.mixed, ROBOT, Q, 3)):
        with pytest.raises(ArgumentTypeError):
            jc.sweep(*arguments)
    with pytest.raises(
        ArgumentTypeError, match=r"for 16 states 'result' is float64 of shape \(5,\)"
    ):
        jc.sweep(lambda model, q: np.zeros(5), ROBOT, Q)
    with pytest.raises(ArgumentError, match="from 16 on"):
        jc.sweep(lambda model, q: q[:, : 2 if q[0, 0] == Q[0, 0] else 3], ROBOT, Q)


@pytest.mark.parametrize("second", [lambda q: q[:, :2], lambda q: q > 0, lambda q: (q, q)])
def test_results_of_one_task_have_one_form(second):
    """Whose blocks are put together before anything is stored."""

    def function(model, q):
        return q if q[0, 0] == Q[0, 0] else second(q)

    _work.know("forms", _work.Job(function, ROBOT, {}, None, 16, None, False))
    try:
        with pytest.raises(ArgumentError, match=r"for the states from 16 on, but result: float64"):
            _work.compute("forms", None, _work.Piece(0, 48, [Q[:48]]))
    finally:
        _work.forget("forms")


def test_what_cannot_be_sent_is_said():
    job = _work.Job(lambda: (i for i in ()), ROBOT, {"x": (i for i in ())}, None, 1, None, False)
    with pytest.raises(ArgumentTypeError, match="cannot be sent"):
        _work.packed(job)


@pytest.mark.parametrize(
    ("module", "options"), [("distributed", {"executor": "dask"}), ("zarr", {"file": "a.zarr"})]
)
def test_missing_extras_are_named(module, options, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'jounce\["):
        jc.sweep(jc.gravity_forces, ROBOT, Q, **options)


@pytest.mark.parametrize("name", _executors.NAMES)
def test_names_of_executors_start_them(name, monkeypatch, request):
    """What is started for processes and Dask is what the fixtures started, in the same way."""
    started = []
    if name != "threads":
        there = request.getfixturevalue({"processes": "processes", "dask": "dask_crew"}[name])

        @contextlib.contextmanager
        def start(workers):
            started.append(workers)
            yield _executors.Crew(there, workers, elsewhere=True)

        monkeypatch.setattr(_executors, f"_{name}", start)
    found = jc.sweep(jc.gravity_forces, ROBOT, Q, name, workers=2)
    assert same(found, jc.gravity_forces(ROBOT, Q))
    assert started == ([] if name == "threads" else [2])


def test_the_workers_of_a_client_are_reached_straight(dask, monkeypatch):
    with _executors.crew(dask, None) as made:
        assert isinstance(made.executor, Direct)
        assert made.workers == 2
        assert made.executor.submit(os.getpid).result() != os.getpid()
    busy = {"tcp://127.0.0.1:1": ("a task of somebody else",)}
    monkeypatch.setattr(dask, "processing", lambda: busy)
    with _executors.crew(dask, None) as made:
        assert not isinstance(made.executor, Direct)
    assert same(jc.sweep(jc.gravity_forces, ROBOT, Q, dask), jc.gravity_forces(ROBOT, Q))
    monkeypatch.undo()
    monkeypatch.setattr(Direct, "_greet", no_way)
    with _executors.crew(dask, None) as made:
        assert not isinstance(made.executor, Direct)


async def no_way(self):
    raise OSError("workers have a network of their own")


def test_a_map_of_what_an_arm_reaches(tmp_path, dask):
    pytest.importorskip("matplotlib")
    path = Path(__file__).parent.parent.parent / "examples" / "reachability_map.py"
    spec = importlib.util.spec_from_file_location("example_reachability_map", path)
    example = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    result = example.main(["--quick", "--executor", "threads", "--out", str(tmp_path)])
    assert (tmp_path / "reachability_map.png").stat().st_size > 10_000
    assert result.count.sum() == 20_000
    shoulder = result.reach.position - [0.0, 0.0, 0.333]
    lengths = [np.linalg.norm(link[1]) for link in example.LINKS[1:]]
    assert np.linalg.norm(shoulder, axis=1).max() <= sum(lengths) + 0.2  # no longer than stretched
    J = jc.jacobian(example.arm(), jc.random_configuration(example.arm(), 0), "tool", "hybrid")[3:]
    volume = np.prod(np.linalg.svd(J, compute_uv=False))
    rng = np.random.default_rng(0)
    assert example.reach(example.arm(), rng, 1).manipulability[0] == pytest.approx(volume)
    cloudpickle = pytest.importorskip("cloudpickle")
    cloudpickle.register_pickle_by_value(example)  # a file that workers cannot import
    again = example.run(20_000, dask)
    cloudpickle.unregister_pickle_by_value(example)
    assert same(again.reach.position, result.reach.position)
    assert same(again.best, result.best)
