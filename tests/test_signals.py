"""Signals, forks and timers during a call, in every state that the call can be in."""

from __future__ import annotations

import os

import numpy as np
import pytest
from test_threads import DURING

import jounce as jc
from jounce import _core

QUIET = "import warnings; warnings.simplefilter('ignore')"  # a fork with threads


@pytest.mark.parametrize("busy", [pytest.param("", marks=pytest.mark.long), "pool"])
def test_a_signal_handler_may_fork_during_a_call(busy, python):
    """The child has no helpers: it does their part again, to the last bit, and does not wait."""
    python(
        QUIET
        + DURING
        + f"""
arguments = series(40000)
expected = jc.inverse_dynamics_series(*arguments)
out = np.empty_like(expected)
during = 0

def handler(number, frame):
    global pid, during
    during += np.isnan(out).any()
    pid = os.fork()

signal.signal(signal.SIGUSR1, handler)
stop = threading.Event()
def keep_the_pool():
    while not stop.is_set(): jc.inverse_dynamics_series(*series(3000), threads=2)
if {bool(busy)}:
    sys.setswitchinterval(5e-3)
    threading.Thread(target=keep_the_pool).start()
for _ in range(20):
    pid = None
    out.fill(np.nan)
    thread = in_the_next_call(lambda: signal.raise_signal(signal.SIGUSR1))
    got = jc.inverse_dynamics_series(*arguments, out=out, threads=2)
    while pid is None: pass
    if pid == 0:
        again = jc.inverse_dynamics_series(*arguments, threads=2)
        os._exit(not (np.array_equal(got, expected) and np.array_equal(again, expected)))
    assert os.waitpid(pid, 0)[1] == 0
    np.testing.assert_array_equal(got, expected)
    thread.join()
    if during: break
stop.set()
assert during
"""
    )


def test_a_timer_that_comes_again_during_its_handler_waits(python):
    """Handlers of a timer that is faster than they are do not nest; the call under them goes on."""
    python(
        DURING
        + """
small = series(200)

def handler(number, frame):
    global depth, most, handled
    if not np.isnan(out).any(): return  # the call is over
    depth += 1
    handled += 1
    most = max(most, depth)
    if handled < 4:
        signal.raise_signal(signal.SIGALRM)
        jc.inverse_dynamics_series(*small, threads=2)
    depth -= 1

signal.signal(signal.SIGALRM, handler)
for threads in (1, 2):
    for k in range(6):  # until calls last long enough
        arguments = series(20000 << k)
        expected = jc.inverse_dynamics_series(*arguments)
        depth = most = handled = 0
        out = np.full_like(expected, np.nan)
        thread = in_the_next_call(lambda: signal.raise_signal(signal.SIGALRM))
        jc.inverse_dynamics_series(*arguments, out=out, threads=threads)
        thread.join()
        np.testing.assert_array_equal(out, expected)
        assert most <= 1, most
        if handled > 1: break
    assert handled > 1, (handled, threads)
"""
    )


def test_helpers_leave_signals_to_the_program(python):
    """Their masks block all that can be blocked."""
    python(
        DURING
        + """
before = set(os.listdir("/proc/self/task"))
jc.inverse_dynamics_series(*series(2000), threads=3)
helpers = set(os.listdir("/proc/self/task")) - before
assert helpers
for task in helpers:
    with open(f"/proc/self/task/{task}/status") as status:
        mask = next(int(x.split()[1], 16) for x in status if x.startswith("SigBlk"))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1):
        assert mask >> (number - 1) & 1, (task, number)
"""
    )


@pytest.mark.parametrize("form", ["strided", "float32", "repeated"])
def test_ctrl_c_stops_the_copy_of_a_large_input(form, python):
    """The copy ends before the call finds that the last argument does not fit."""
    python(
        DURING
        + """
signal.signal(signal.SIGINT, signal.default_int_handler)
model = jc.models.chain(4)
if sys.argv[1] == "strided":
    big = np.zeros((4, 2, 2_000_000)).T[:, 0]
elif sys.argv[1] == "float32":
    big = np.zeros((2_000_000, 4), np.float32)
else:
    big = np.zeros((2000, 1, 4))
last = np.zeros((2000, 4)) if sys.argv[1] == "repeated" else np.zeros(3)

def stopped():
    late = []
    thread = in_the_next_call(lambda: signal.raise_signal(signal.SIGINT))
    try:
        try:
            jc.kinetic_energy(model, big, last, out=np.zeros(3))
        except ValueError:
            late.append(True)
            thread.join()
            while True: pass
    except KeyboardInterrupt:
        thread.join()
        return not late

assert any(stopped() for _ in range(20))
""",
        form,
    )


@pytest.mark.parametrize("order", ["2", "3", "4"])
def test_signals_are_handled_within_derivatives_of_jacobians(order, python):
    """While a part of the result is not there yet: what NumPy does at once is a portion of it."""
    python(
        DURING
        + """
model, order = jc.models.chain(7), int(sys.argv[1])
q = np.random.default_rng(0).standard_normal(({2: 40000, 3: 250, 4: 31}[order], 7))
out = np.empty((len(q), 6, *[7] * (order + 1)))
before_the_end = []

def handler(number, frame):
    before_the_end.append(np.isnan(out).any())

signal.signal(signal.SIGINT, handler)
for _ in range(20):
    out.fill(np.nan)
    thread = in_the_next_call(lambda: signal.raise_signal(signal.SIGINT))
    jc.jacobian_derivatives(model, q, 6, order, out=out)
    thread.join()
    assert not np.isnan(out).any()
    if any(before_the_end): break
assert any(before_the_end)
""",
        order,
    )


FILLED = (
    DURING
    + """
signal.signal(signal.SIGINT, signal.default_int_handler)
from jounce._core import out as delivery

delivery._PORTION = 8 * 1000
blocks = delivery._blocks

def interrupted(shape):
    for k, at in enumerate(blocks(shape)):
        if k == 3: signal.raise_signal(signal.SIGINT)
        yield at

def ends(call, error=KeyboardInterrupt):
    try:
        call()
    except error:
        return True

def stopped(call, portions=interrupted):
    delivery._blocks = portions
    try:
        return ends(call)
    finally:
        delivery._blocks = blocks
"""
)


def test_ctrl_c_while_out_is_filled_leaves_nothing_of_the_result(python):
    """In what was written there is NaN; the rest is not touched, since new memory takes long."""
    python(
        FILLED
        + """
arm = jc.models.chain(3)
q0 = np.random.default_rng(0).standard_normal((2000, 3))
goal = {2: jc.body_pose(arm, q0 + 0.1, 2)}
out = np.full((2000, 3), 7.0), np.ones(2000, bool), np.full(2000, 7.0)
assert stopped(lambda: jc.inverse_kinematics(arm, goal, q0, out=out))
assert np.isnan(out[0].ravel()[:2000]).all()
assert (out[0].ravel()[4000:] == 7).all() and out[1].all() and (out[2] == 7).all()
jc.inverse_kinematics(arm, goal, q0, out=out)
assert not np.isnan(out[0]).any()

rows, start = np.zeros((1500, 3)), np.array([0.1, 0.2, 0.3])
out = np.full((1501, 3), 7.0), np.full((1501, 3), 7.0)
taylor = lambda: jc.rollout(arm, start, np.zeros(3), rows, 1e-3, method="taylor", out=out)
assert stopped(taylor)
assert np.isnan(out[0].ravel()[:2000]).all() and (out[1] == 7).all()
"""
    )


def test_arguments_in_out_are_as_before_if_ctrl_c_comes_while_it_is_filled(python):
    python(
        FILLED
        + """
arm = jc.models.chain(3)
before = np.random.default_rng(0).standard_normal((2000, 3))
q0 = before.copy()
out = q0, np.ones(2000, bool), np.full(2000, 7.0)
goal = {2: jc.body_pose(arm, q0 + 0.1, 2)}
calls = [0]
def from_the_second_on(shape):  # the first are those of the copy of the argument
    calls[0] += 1
    return (interrupted if calls[0] > 1 else blocks)(shape)
assert stopped(lambda: jc.inverse_kinematics(arm, goal, q0, out=out), from_the_second_on)
np.testing.assert_array_equal(q0, before)
"""
    )


def test_after_ctrl_c_only_what_was_computed_is_filled(python):
    """A portion of a batch is there when the handler raises: NaN goes there, and nowhere else."""
    python(
        FILLED
        + """
from jounce.derivatives import jacobians
model = jc.models.chain(3)
q = np.random.default_rng(0).standard_normal((400, 3))
shape = 400, 6, 3, 3, 3, 3
partials, calls = jacobians._partials, []
def interrupt(*given):
    calls.append(given)
    if len(calls) == 3: signal.raise_signal(signal.SIGINT)
    return partials(*given)
jacobians._partials = interrupt
out = np.full(shape, 7.0)
call = lambda: jc.jacobian_derivatives(model, q, 2, 3, out=out)
assert ends(call)
states = np.isnan(out).reshape(400, -1)
assert len(calls) == 3 and states[:1].all() and not states[-1].any()
assert (out.reshape(400, -1)[~states.any(axis=1)] == 7).all()
jacobians._partials = partials
q[-1, 0] = np.inf
assert ends(call, jc.ArgumentError)
assert np.isnan(out).all()  # as after every error
"""
    )


def test_nan_is_filled_in_portions(monkeypatch):
    """So that a second Ctrl-C is heard; each number is filled once."""
    filled = []

    class Core:
        @staticmethod
        def spoil(array, threads):
            filled.append(array.size)
            array += np.nan

    monkeypatch.setattr(_core, "_module", Core)
    monkeypatch.setattr(_core, "_SPOILED_AT_ONCE", 100)
    out = np.zeros((7, 50))
    _core.spoil(out)
    assert np.isnan(out).all()
    assert filled == [100, 100, 100, 50]


def pendulum_with(**options):
    model = jc.models.chain(2)
    given = {"method": "dopri5", **options}
    return lambda threads: jc.simulate(
        model, np.zeros(2), np.zeros(2), [0.0, 0.1], threads=threads, **given
    )


SIMULATIONS = {
    "dopri5": pendulum_with(),
    "dop853": pendulum_with(method="dop853"),
    "taylor": pendulum_with(method="taylor"),
    "rkmk4": pendulum_with(method="rkmk4", dt=0.01),
    "a function": pendulum_with(control=lambda t, q, v: -v),
    "events": pendulum_with(events=[jc.Event(lambda t, q, v: t - 0.05)]),
}


@pytest.mark.parametrize("name", SIMULATIONS)
def test_what_asking_a_simulation_for_threads_raises_is_raised(name):
    """It is no Ctrl-C that ends a motion early, even where it is the same exception."""
    simulate = SIMULATIONS[name]
    for error in (KeyboardInterrupt(), RuntimeError("no")):
        with pytest.raises(type(error)) as caught:
            simulate(Raises(error))
        assert caught.value is error
    with pytest.raises(jc.ArgumentError, match="threads must be 0"):
        simulate("two")
    assert not simulate(np.int64(1)).interrupted


class Raises:
    """A number of threads that raises when it is asked."""

    def __init__(self, error):
        self.error = error

    def __index__(self):
        raise self.error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("no"), ValueError("x")])
@pytest.mark.parametrize("name", ["gravity_forces", "christoffel_symbols"])
def test_what_asking_for_the_number_of_threads_raises_is_raised(name, error):
    model = jc.models.chain(3)
    with pytest.raises(type(error)) as caught:
        getattr(jc, name)(model, np.zeros(3), threads=Raises(error))
    assert caught.value is error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("no"), ValueError("x")])
def test_what_asking_for_other_integers_raises_is_raised(error):
    model, rest = jc.models.chain(3), np.zeros(3)
    calls = (
        lambda k: jc.rollout(model, rest, rest, np.zeros((2, 3)), 0.1, every=k),
        lambda k: jc.body_pose(model, rest, k),
        lambda k: jc.jacobian_derivatives(model, rest, 2, k),
    )
    for call in calls:
        with pytest.raises(type(error)) as caught:
            call(Raises(error))
        assert caught.value is error
        with pytest.raises(jc.Error):
            call(Raises(TypeError("none")))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be chosen")
def test_cores_are_those_that_the_process_may_use(python):
    python(
        DURING
        + """
cores = os.sched_getaffinity(0)
assert jc.core_info()["cores"] == len(cores)
os.sched_setaffinity(0, {min(cores)})
assert jc.core_info()["cores"] == 1
before = len(os.listdir("/proc/self/task"))
jc.inverse_dynamics_series(*series(2000), threads=0)
assert len(os.listdir("/proc/self/task")) == before
"""
    )
