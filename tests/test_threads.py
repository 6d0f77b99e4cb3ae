"""Threads, signals, processes, memory: calls keep their promises around the interpreter."""

from __future__ import annotations

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jounce as jc

PRELUDE = """
import os, signal, sys, threading
import numpy as np
import jounce as jc

def series(states, model=jc.models.chain(6), order=40):
    # many operations per number, so that a long call needs little memory
    q = np.zeros(model.nq)
    some = np.random.default_rng(0).standard_normal((64, order + 2, model.nv))
    return model, q, np.tile(some, (states // 64 + 1, 1, 1))[:states]

def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
"""

DURING = (
    PRELUDE
    + """
# Who holds the interpreter keeps it: another thread runs only where a call lets go of it.
sys.setswitchinterval(1e6)

def in_the_next_call(action):
    gate = threading.Lock()
    gate.acquire()
    def wait():
        gate.acquire()
        action()
    thread = threading.Thread(target=wait)
    thread.start()
    gate.release()
    return thread
"""
)


def functions():
    for name in jc.__all__:
        value = getattr(jc, name)
        if callable(value) and not isinstance(value, type):
            yield name, value


@pytest.mark.parametrize("threads", ["1", "2"])
def test_other_threads_run_during_a_long_call(threads, python):
    """In one of many calls at least: a busy machine may give the other thread no core in one."""
    python(
        DURING
        + """
arguments, ran = series(500), []
thread = in_the_next_call(lambda: ran.append(True))
for _ in range(10**6):
    assert not ran  # nothing but a call lets it run
for _ in range(1000):
    jc.inverse_dynamics_series(*arguments, threads=int(sys.argv[1]))
    if ran: break
assert ran
""",
        threads,
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_may_share_a_model(threads, all_joints, state):
    other = jc.models.chain(40)
    at, also = state(all_joints, 500), state(other, 300)
    jobs = [
        lambda: jc.forward_dynamics(all_joints, at.q, at.v, at.tau, threads=threads),
        lambda: jc.inverse_mass_matrix(other, also.q[:100], threads=threads),
        lambda: jc.mass_matrix(all_joints, at.q, threads=threads),
        lambda: jc.inverse_dynamics(other, also.q, also.v, also.a, threads=threads),
        lambda: jc.integrate(all_joints, at.q, at.dv, threads=threads),
        lambda: jc.inverse_dynamics(all_joints, at.q[0], at.v[0], at.a[0], threads=threads),
    ]
    expected = [job() for job in jobs]
    order = np.random.default_rng(0).integers(len(jobs), size=120)
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda k: (k, jobs[k]()), order))
    for k, result in results:
        np.testing.assert_array_equal(result, expected[k])


def test_errors_of_one_thread_do_not_reach_another(all_joints, state):
    good, bad = state(all_joints, 300), state(all_joints, 300)
    bad.v[299, 0] = np.nan
    expected = jc.inverse_dynamics(all_joints, good.q, good.v, good.a)

    def run(k):
        at = bad if k % 2 else good
        try:
            return jc.inverse_dynamics(all_joints, at.q, at.v, at.a, threads=2)
        except ValueError:
            return None

    with ThreadPoolExecutor(4) as pool:
        for k, result in enumerate(pool.map(run, range(60))):
            assert (result is None) == bool(k % 2)
            if result is not None:
                np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_ctrl_c_stops_a_long_batch(threads, python):
    """Its output is spoiled; a batch that ended before the signal came is tried again."""
    python(
        DURING
        + """
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored in the background
arguments, threads = series(40000), int(sys.argv[1])
expected = jc.inverse_dynamics_series(*arguments)
out = np.empty_like(expected)

def stopped():
    out.fill(np.nan)
    thread = in_the_next_call(lambda: signal.raise_signal(signal.SIGINT))
    try:
        jc.inverse_dynamics_series(*arguments, out=out, threads=threads)
        thread.join()
        while True: pass  # until the signal is handled
    except KeyboardInterrupt:
        thread.join()
        return np.isnan(out).all()

assert any(stopped() for _ in range(20))
jc.inverse_dynamics_series(*arguments, out=out, threads=threads)
np.testing.assert_array_equal(out, expected)
""",
        threads,
    )


def test_a_signal_handler_may_call_the_same_functions(python):
    """The outer call goes on with a workspace that the handler's calls have replaced."""
    python(
        DURING
        + """
larger = series(9, jc.models.chain(100))
also = jc.inverse_dynamics_series(*larger)

def handler(number, frame):
    before_the_end.append(np.isnan(out).any())
    np.testing.assert_array_equal(jc.inverse_dynamics_series(*larger, threads=2), also)

signal.signal(signal.SIGUSR1, handler)
for threads in (1, 2):
    before_the_end = []
    for k in range(8):  # until calls last long enough
        arguments = series(10000 << k)
        expected = jc.inverse_dynamics_series(*arguments)
        out = np.full_like(expected, np.nan)
        thread = in_the_next_call(lambda: signal.raise_signal(signal.SIGUSR1))
        jc.inverse_dynamics_series(*arguments, out=out, threads=threads)
        thread.join()
        np.testing.assert_array_equal(out, expected)
        if any(before_the_end): break
    assert any(before_the_end)
"""
    )


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.long), 2])
def test_a_process_may_end_while_a_thread_calls_again_and_again(python, threads):
    """The thread is in a call, or about to take the lock back, when the interpreter ends."""
    for _ in range(5):
        python(
            DURING
            + f"""
model, q, motion = series(500)
def work():
    while True:
        jc.inverse_dynamics_series(model, q, motion, threads={threads})
threading.Thread(target=work, daemon=True).start()
jc.inverse_dynamics_series(model, q, motion)
"""
        )


def test_a_process_may_end_while_a_thread_computes(python):
    """Every process ends well; one of many at least ends before the other thread's batch does."""
    code = (
        DURING
        + """
model, q, motion = series(10000)
ended = []
def work():
    jc.inverse_dynamics_series(model, q, motion, threads=2)
    ended.append(True)
threading.Thread(target=work, daemon=True).start()  # goes on here when the call lets it
print("ended" if ended else "computes")
"""
    )
    assert any(python(code).split() == ["computes"] for _ in range(20))


@pytest.mark.parametrize("calls", ["0", "1", "2"])
def test_a_process_may_end_while_helpers_compute(calls, python):
    """A daemon thread and its helper are in a large batch when the main thread ends."""
    python(
        PRELUDE
        + """
model = jc.models.chain(7)
q, v, a = np.random.default_rng(0).standard_normal((3, 200_000, 7))
def work():
    while True:
        begun.set()
        jc.inverse_dynamics(model, q, v, a, threads=2)
begun = threading.Event()
threading.Thread(target=work, daemon=True).start()
begun.wait()
for _ in range(int(sys.argv[1])):
    jc.inverse_dynamics(model, q[:20_000], v[:20_000], a[:20_000], threads=2)
""",
        calls,
    )


FORK = (
    "import warnings; warnings.simplefilter('ignore')"
    + PRELUDE
    + """
model = jc.models.chain(20)
q = np.random.default_rng(0).standard_normal((3000, 20))
expected = jc.gravity_forces(model, q, threads=2)

def child():
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            for threads in (2, 1, 3):
                got = jc.gravity_forces(model, q, threads=threads)
                np.testing.assert_array_equal(got, expected)
            code = 0
        finally:
            os._exit(code)
    return pid

def all_well(pids):
    return all(os.waitpid(pid, 0)[1] == 0 for pid in pids)
"""
)


def test_calls_work_after_fork(python):
    python(
        FORK
        + """
assert all_well([child() for _ in range(3)])
np.testing.assert_array_equal(jc.gravity_forces(model, q, threads=2), expected)
"""
    )


def test_a_fork_during_a_call_of_another_thread_works(python):
    python(
        FORK
        + """
stop = threading.Event()
def work():
    while not stop.is_set():
        jc.gravity_forces(model, q, threads=2)
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads: thread.start()
try:
    for _ in range(10):
        assert all_well([child()])
finally:
    stop.set()
    for thread in threads: thread.join()
"""
    )


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing_takes_models_and_functions(method, python):
    python(
        "import warnings; warnings.simplefilter('ignore')"
        + PRELUDE
        + """
import multiprocessing
model = jc.models.random_tree(10, 0)
q = jc.random_configuration(model, 0, 4)
v = np.ones(model.nv)
expected = [jc.inverse_dynamics(model, x, v, v, threads=2) for x in q]
with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
    got = pool.starmap(jc.inverse_dynamics, [(model, x, v, v) for x in q])
np.testing.assert_array_equal(got, expected)
""",
        method,
    )


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="cannot keep threads from a core")
def test_a_thread_without_a_core_is_not_waited_for(python):
    """A helper that shares the caller's core, and runs when nobody else wants it.

    Who waits for it goes to sleep in every call of every round. Who does not sleeps only where the
    helper got its share of the core, below one percent, and holds a piece of the work: other
    processes on this core may make that likely in a round, but not in half the calls of all rounds.
    """
    refused = python(
        PRELUDE
        + """
import resource
model = jc.models.chain(6)
q, out = np.zeros((2, 4096, 6))
before = set(os.listdir("/proc/self/task"))
jc.inverse_dynamics(model, q, q, q, out=out, threads=2)
helpers = set(os.listdir("/proc/self/task")) - before
assert len(helpers) == 1
core = {min(os.sched_getaffinity(0))}
try:
    for thread in helpers:
        os.sched_setaffinity(int(thread), core)
        os.sched_setscheduler(int(thread), os.SCHED_IDLE, os.sched_param(0))
    os.sched_setaffinity(0, core)
except PermissionError as error:
    print(error)
    sys.exit()
def sleeps():
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
    for _ in range(200):
        jc.inverse_dynamics(model, q, q, q, out=out, threads=2)
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - before
assert any(sleeps() < 100 for _ in range(20))
"""
    )
    if refused:
        pytest.skip(refused)


def test_too_few_threads_are_no_error(python):
    """Where the system refuses to make threads, those that exist do the work."""
    python(
        PRELUDE
        + """
import resource
model = jc.models.chain(10)
q = np.random.default_rng(0).standard_normal((20000, 10))
expected = jc.gravity_forces(model, q)
out = np.empty_like(expected)
with open("/proc/self/statm") as file:
    size = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
limits = resource.getrlimit(resource.RLIMIT_AS)
for threads in (1000, 2, 1000):
    out.fill(0)
    # room for the stacks of a few threads
    resource.setrlimit(resource.RLIMIT_AS, (size + (64 << 20), limits[1]))
    jc.gravity_forces(model, q, out=out, threads=threads)
    resource.setrlimit(resource.RLIMIT_AS, limits)
    np.testing.assert_array_equal(out, expected)
"""
    )


def test_functions_pickle_and_copy_as_themselves():
    names = [name for name, _ in functions()]
    assert "inverse_dynamics" in names
    assert "jacobian" in names
    for _, function in functions():
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.copy(function) is function
        assert copy.deepcopy(function) is function


MEMORY = (
    PRELUDE
    + """
import gc
model = jc.models.random_tree(4, 0, ["free", "revolute"])
n = model.nv
q, v, a, tau = jc.random_configuration(model, 0), *np.ones((3, n))
batch, column = np.tile(q, (9, 1)), np.tile(v, (3, 1, 1))
mask, out, bad = np.ones(n, bool), np.zeros(n), np.full(n, np.nan)
rows, moving = batch[:5], q.copy()
wrenches = np.zeros((3, 1, model.n_bodies, 6)).tolist()

watched = [model, q, v, a, tau, batch, column, mask, out, bad, rows, wrenches]

def growth(count, job):
    # in Python's blocks and in bytes, and whether references were kept
    references = [sys.getrefcount(x) for x in watched]
    gc.collect()
    blocks, memory = sys.getallocatedblocks(), rss()
    for _ in range(count): job()
    gc.collect()
    blocks, memory = sys.getallocatedblocks() - blocks, rss() - memory
    return blocks, memory, [sys.getrefcount(x) for x in watched] != references

def check(jobs):
    for k, (count, job) in enumerate(jobs):
        for _ in range(200): job()
        rounds = []
        while True:  # a leak shows in every round, what the interpreter keeps for itself does not
            rounds.append(growth(count, job))
            blocks, memory, references = rounds[-1]
            if blocks < count // 10 and memory < 1 << 20 and not references: break
            assert len(rounds) < 5, (k, rounds)
"""
)


def test_calls_leave_no_memory_behind(python):
    """Fifty thousand calls, and not one object or megabyte more."""
    python(
        MEMORY
        + """
check([
    (10000, lambda: jc.inverse_dynamics(model, q, v, a)),
    (10000, lambda: jc.inverse_dynamics(model, q, v, a, out=out)),
    (10000, lambda: jc.integrate(model, moving, v, out=moving)),
    (5000, lambda: jc.inverse_dynamics(model, q.tolist(), v, a)),
    (5000, lambda: jc.forward_dynamics(model, batch, v, tau, threads=2)),
    (2000, lambda: jc.hybrid_dynamics(
        model, rows.tolist(), column.tolist(), column.tolist(), column.tolist(), mask, wrenches)),
    (3000, lambda: jc.body_pose(model, q, "body2")),
    (3000, lambda: jc.kinetic_energy(model, q, v)),
])
"""
    )


def test_refused_calls_leave_no_memory_behind(python):
    python(
        MEMORY
        + """
def refused(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except (ValueError, KeyError, TypeError):
        return
    raise AssertionError(function)

check([
    (10000, lambda: refused(jc.inverse_dynamics, model, q, bad, a)),
    (3000, lambda: refused(jc.inverse_dynamics, model, q, v, a, out=out[:2])),
    (3000, lambda: refused(jc.inverse_dynamics, model, 2 * q, v, a)),
    (3000, lambda: refused(jc.inverse_dynamics, model, q, "x", a)),
    (3000, lambda: refused(jc.inverse_dynamics, model, batch[:2], np.ones((3, n)), a)),
    (3000, lambda: refused(jc.hybrid_dynamics, model, q, v, a, tau, mask, out=(out, out))),
    (3000, lambda: refused(jc.hybrid_dynamics, model, q, v, a, tau, mask, out=(out, 3))),
    (3000, lambda: refused(jc.hybrid_dynamics, model, q, v, a, tau, mask[1:])),
    (1000, lambda: refused(jc.body_pose, model, q, "bdy2")),
    (1000, lambda: refused(jc.inverse_dynamics, model)),
])
"""
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each kernel in a process of its own")
def test_a_workspace_needs_few_megabytes(python):
    """On a chain of 300 joints, beyond arguments and results."""
    told = python(
        PRELUDE
        + """
model, small = jc.models.chain(300), jc.models.chain(2)
inputs = {"inverse_dynamics": 3, "forward_dynamics": 3, "mass_matrix": 1, "kinetic_energy": 2}
shapes = {"mass_matrix": (300, 300), "kinetic_energy": (), "momentum": (6,)}
for name in [*inputs, "momentum"]:
    for count in (1, 8):
        if os.fork():
            assert os.wait()[1] == 0
            continue
        arguments = [np.zeros((count, 300))] * inputs.get(name, 2)
        getattr(jc, name)(small, *(x[:, :2] for x in arguments))
        out = np.ones((count, *shapes.get(name, (300,))))
        before = rss()
        getattr(jc, name)(model, *arguments, out=out)
        print(name, count, rss() - before, flush=True)
        os._exit(0)
"""
    )
    found = [line.split() for line in told.splitlines()]
    assert len(found) == 10
    for name, count, used in found:
        matrix = 300 * 300 * 8 * int(count) if name == "mass_matrix" else 0
        assert int(used) < (4 << 20) + matrix, name
