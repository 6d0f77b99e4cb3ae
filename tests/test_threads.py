"""Threads, signals, processes, memory: calls keep their promises around the interpreter."""

from __future__ import annotations

import copy
import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jounce as jc

PRELUDE = """
import os, signal, sys, threading, time
import numpy as np
import jounce as jc

def series(states, model=jc.models.chain(6), order=40):
    # many operations per number, so that a long call needs little memory
    q = np.zeros(model.nq)
    some = np.random.default_rng(0).standard_normal((64, order + 2, model.nv))
    return model, q, np.tile(some, (states // 64 + 1, 1, 1))[:states]

def states_for(seconds):
    arguments = series(64)
    jc.inverse_dynamics_series(*arguments)
    start = time.perf_counter()
    jc.inverse_dynamics_series(*arguments)
    return int(64 * seconds / (time.perf_counter() - start))

def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
"""


def functions():
    for name in jc.__all__:
        value = getattr(jc, name)
        if callable(value) and not isinstance(value, type):
            yield name, value


def test_other_threads_run_during_a_long_call(state):
    model = jc.models.chain(30)
    at = state(model, 20000)
    out = np.empty_like(at.v)
    counter, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counter[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        progress = 0
        for _ in range(5):
            start = time.perf_counter()
            before = counter[0]
            jc.forward_dynamics(model, at.q, at.v, at.tau, out=out)
            progress += counter[0] - before
            # less than one switch interval would prove nothing
            assert time.perf_counter() - start > 2e-3
    finally:
        stop.set()
        thread.join()
    assert progress > 1000


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
    """Within 0.2 s; a second is allowed here, other processes may keep the cores busy."""
    latency = python(
        PRELUDE
        + """
signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored in the background
arguments = series(states_for(1.5))
sent = []
def interrupt():
    time.sleep(0.15)
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    jc.inverse_dynamics_series(*arguments, threads=int(sys.argv[1]))
    print("inf")
except KeyboardInterrupt:
    print(time.perf_counter() - sent[0])
    arguments = series(100)
    got = jc.inverse_dynamics_series(*arguments, threads=2)
    np.testing.assert_array_equal(got, jc.inverse_dynamics_series(*arguments))
""",
        threads,
    )
    assert float(latency) < 1.0


def test_a_signal_handler_may_call_the_same_functions(python):
    """The outer call goes on with a workspace that the handler's calls have replaced."""
    python(
        PRELUDE
        + """
arguments = series(states_for(0.25))
larger = series(9, jc.models.chain(100))
handled = []
def handler(number, frame):
    handled.append(jc.inverse_dynamics_series(*larger, threads=2).shape)
signal.signal(signal.SIGALRM, handler)
for threads in (1, 2):
    expected = jc.inverse_dynamics_series(*arguments, threads=threads)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    got = jc.inverse_dynamics_series(*arguments, threads=threads)
    signal.setitimer(signal.ITIMER_REAL, 0)
    np.testing.assert_array_equal(got, expected)
assert handled
"""
    )


def test_a_process_may_end_while_a_thread_computes(python):
    python(
        PRELUDE
        + """
arguments = series(states_for(2))
started = threading.Event()
def work():
    started.set()
    jc.inverse_dynamics_series(*arguments, threads=2)
threading.Thread(target=work, daemon=True).start()
started.wait()
time.sleep(0.1)
"""
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


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cannot keep threads to a core")
def test_a_thread_without_a_core_is_not_waited_for(python):
    """Where others keep the cores busy, two threads take about as long as one, not a time slice."""
    one, two = python(
        PRELUDE
        + """
model = jc.models.chain(6)
q, out = np.zeros((2, 4096, 6))
def times(threads, calls=101):
    marks = [time.perf_counter()]
    for _ in range(calls):
        jc.inverse_dynamics(model, q, q, q, out=out, threads=threads)
        marks.append(time.perf_counter())
    return np.diff(marks)
times(2)
core = min(os.sched_getaffinity(0))
for thread in os.listdir("/proc/self/task"):
    os.sched_setaffinity(int(thread), {core})
print(np.median(times(1)), np.median(times(2)))
"""
    ).split()
    assert float(two) < 4 * float(one)


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


def test_calls_leave_no_memory_behind(python):
    """A hundred thousand calls, good and bad, and not one object or megabyte more."""
    python(
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

def refused(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except (ValueError, KeyError, TypeError):
        return
    raise AssertionError(function)

jobs = [
    (20000, lambda: jc.inverse_dynamics(model, q, v, a)),
    (20000, lambda: jc.inverse_dynamics(model, q, v, a, out=out)),
    (10000, lambda: jc.integrate(model, moving, v, out=moving)),
    (5000, lambda: jc.inverse_dynamics(model, q.tolist(), v, a)),
    (5000, lambda: jc.forward_dynamics(model, batch, v, tau, threads=2)),
    (2000, lambda: jc.hybrid_dynamics(
        model, rows.tolist(), column.tolist(), column.tolist(), column.tolist(), mask, wrenches)),
    (3000, lambda: jc.body_pose(model, q, "body2")),
    (3000, lambda: jc.kinetic_energy(model, q, v)),
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
]
watched = [model, q, v, a, tau, batch, column, mask, out, bad, rows, wrenches, None]
for count, job in jobs:
    for _ in range(200): job()
    references = [sys.getrefcount(x) for x in watched[:-1]]
    gc.collect()
    blocks, memory = sys.getallocatedblocks(), rss()
    for _ in range(count): job()
    gc.collect()
    more = sys.getallocatedblocks() - blocks
    assert more < count // 10, (more, jobs.index((count, job)))  # a leak would be one per call
    assert rss() - memory < 1 << 20, (rss() - memory, jobs.index((count, job)))
    assert [sys.getrefcount(x) for x in watched[:-1]] == references, jobs.index((count, job))
""",
        timeout=120,
    )


KERNELS = ["inverse_dynamics", "forward_dynamics", "mass_matrix", "kinetic_energy", "momentum"]


@pytest.mark.parametrize("count", ["1", "8"])
@pytest.mark.parametrize("name", KERNELS)
def test_a_workspace_needs_few_megabytes(name, count, python):
    """On a chain of 300 joints, beyond arguments and results."""
    used = python(
        PRELUDE
        + """
name, count = sys.argv[1], int(sys.argv[2])
model = jc.models.chain(300)
x = np.zeros((count, 300))
arguments = [x] * {"mass_matrix": 1, "kinetic_energy": 2, "momentum": 2}.get(name, 3)
small = jc.models.chain(2)
getattr(jc, name)(small, *(x[:, :2] for x in arguments))
shapes = {"mass_matrix": (300, 300), "kinetic_energy": (), "momentum": (6,)}
out = np.ones((count, *shapes.get(name, (300,))))
before = rss()
getattr(jc, name)(model, *arguments, out=out)
print(rss() - before)
""",
        name,
        count,
    )
    matrix = 300 * 300 * 8 * int(count) if name == "mass_matrix" else 0
    assert int(used) < (4 << 20) + matrix
