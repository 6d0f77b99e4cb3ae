"""Calls of other libraries that take long: signals, forks, exits, stacks."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import jounce as jc
from jounce._core import algebra, long_calls

LARGE = np.random.default_rng(0).standard_normal((700, 700))
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks there")


def test_results_and_errors_are_those_of_the_function():
    assert long_calls.heard(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        long_calls.heard(lambda: 1 / 0)
    main = threading.get_ident()
    assert long_calls.heard(threading.get_ident) != main
    found = []
    other = threading.Thread(target=lambda: found.append(long_calls.heard(threading.get_ident)))
    other.start()
    other.join()
    assert found == [other.ident]


def test_without_more_threads_it_is_called_at_once(monkeypatch):
    def refused(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(long_calls, "start_new_thread", refused)
    assert long_calls.heard(threading.get_ident) == threading.get_ident()


def test_signals_are_handled_meanwhile(python):
    """It waits for the handler, which runs in the main thread alone; so does an exit for it."""
    code = """
import signal, threading, numpy as np
from jounce._core import algebra
from jounce._core.long_calls import heard
handled = threading.Event()

def handler(*_):
    handled.set()

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.05)
assert heard(lambda: handled.wait(60.0))

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, stop)
left, A = threading.Event(), np.random.default_rng(0).standard_normal((700, 700))
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    heard(lambda: left.wait(60.0))
    raise AssertionError("not heard")
except KeyboardInterrupt:
    left.set()
assert algebra.svd(A)[1].shape == (700,)  # after what nobody waits for
signal.setitimer(signal.ITIMER_REAL, 0.01)
try:
    for _ in range(100): algebra.svd(A)
except KeyboardInterrupt:
    print("exits")
"""
    assert python(code).split() == ["exits"]


def test_what_is_not_wanted_any_more_does_not_begin(python):
    code = """
import signal, threading
from jounce._core.long_calls import heard
first, begun = threading.Event(), []

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, stop)
for k in range(4):
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        heard(lambda k=k: (begun.append(k), first.wait(60.0)))
        raise AssertionError("not heard")
    except KeyboardInterrupt:
        pass
first.set()
assert heard(lambda: 5) == 5
print(begun)
"""
    assert python(code).strip() == "[0]"


@pytest.mark.parametrize("size", [2**15, 2**18, 2**21])
def test_stacks_of_threads_may_be_small(python, size):
    """BLAS needs megabytes: where stacks are not limited, those of threads have two."""
    code = f"""
import threading, numpy as np
from jounce._core import algebra
threading.stack_size({size})
A = np.random.default_rng(0).standard_normal((700, 700))
assert np.allclose(algebra.inv(A) @ A, np.eye(700), atol=1e-8)
assert np.isfinite(algebra.svd(A)[1]).all()
print(threading.stack_size())
"""
    assert int(python(code)) == size


@forks
def test_a_handler_may_fork_meanwhile(python):
    """BLAS has threads, too: a fork waits until they are idle; the child computes it again."""
    code = """
import os, signal, numpy as np
from jounce._core import algebra
A = np.random.default_rng(0).standard_normal((400, 400))
expected, children, parent = np.linalg.svd(A)[1], [], os.getpid()

def handler(*_):
    child = os.fork()
    if child: children.append(child)

signal.signal(signal.SIGALRM, handler)
for k in range(40):
    signal.setitimer(signal.ITIMER_REAL, 0.001 * (1 + k % 20))
    found = algebra.svd(A)[1]
    assert np.allclose(found, expected, rtol=1e-12)
    if os.getpid() != parent: os._exit(7)
    signal.setitimer(signal.ITIMER_REAL, 0)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
assert set(codes) == {7}, codes
print(len(codes))
"""
    assert int(python(code)) > 5


@forks
def test_forks_within_forks_and_signals_within_their_hooks_hang_nothing(python):
    code = """
import os, signal, time, jounce as jc
from jounce._core import long_calls
within = []

def fork():
    child = os.fork()
    if not child: os._exit(0)
    os.waitpid(child, 0)

def handler(*_):
    fork()
    within.append(1)
    signal.setitimer(signal.ITIMER_REAL, 0.0003)

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0003)
count = 0
while len(within) < 300:
    fork()
    count += 1
signal.setitimer(signal.ITIMER_REAL, 0)
print(count > 0, long_calls.heard(lambda: 4))
"""
    assert python(code).split() == ["True", "4"]


@forks
def test_a_fork_after_an_interrupt_waits_whatever_signals_come(python):
    """A signal does not end that waiting: BLAS would be forked at work."""
    code = """
import os, signal, time, numpy as np
from jounce._core import algebra, long_calls

class Stop(Exception): pass

def stop(*_):
    raise Stop

signal.signal(signal.SIGALRM, stop)
A = np.random.default_rng(0).standard_normal((900, 900))
for k in range(3):
    signal.setitimer(signal.ITIMER_REAL, 0.03)
    try:
        algebra.svd(A)
    except Stop:
        pass
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        child = os.fork()
        if not child: os._exit(0 if algebra.inv(A).shape == (900, 900) else 1)
        time.sleep(0.1)
    except Stop:
        pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert os.wait()[1] == 0
print("ends")
"""
    assert python(code).split() == ["ends"]


@forks
def test_children_of_forks_load_models_while_another_thread_does(python):
    pytest.importorskip("mujoco")
    code = """
import os, threading, time, mujoco, jounce as jc
small = "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>"
body = "<body><joint/><geom size='.1'/></body>"
many = "<mujoco><worldbody>" + 300 * body + "</worldbody></mujoco>"
before, going = mujoco.get_mju_user_warning(), [True]

def load():
    while going: jc.load_mjcf(many)

thread = threading.Thread(target=load, daemon=True)
thread.start()
time.sleep(0.2)
for _ in range(12):
    child = os.fork()
    if not child:
        signal = __import__("signal")
        signal.alarm(30)  # ends a child that hangs
        same = mujoco.get_mju_user_warning() == before
        os._exit(0 if jc.load_mjcf(small).nv == 1 and same else 1)
    assert os.waitpid(child, 0)[1] == 0
    time.sleep(0.01)
going.clear()
thread.join()
print("ends")
"""
    assert python(code).split() == ["ends"]


def test_ctrl_c_is_heard_while_mujoco_compiles(python):
    pytest.importorskip("mujoco")
    code = """
import signal, time, jounce as jc
body = "<body><joint/><geom size='.1'/></body>"
text = "<mujoco><worldbody>" + 8000 * body + "</worldbody></mujoco>"
begun, late = [], []
from jounce.io import _mjcf_compile
heard = _mjcf_compile.heard

def told(compute):
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    begun.append(time.perf_counter())
    return heard(compute)

_mjcf_compile.heard = told

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, stop)
try:
    jc.load_mjcf(text)
    raise AssertionError("not heard")
except KeyboardInterrupt:
    print(begun != [])
"""
    assert python(code).split() == ["True"]


def test_sums_over_indices_are_those_of_numpy():
    A = np.random.default_rng(1).standard_normal((70, 80, 60))
    found = algebra.einsum("ijk,jl,kl->il", A, LARGE[:80, :40], LARGE[:60, :40])
    expected = np.einsum("ijk,jl,kl->il", A, LARGE[:80, :40], LARGE[:60, :40])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    with pytest.raises(ValueError, match="zip"):
        algebra.einsum("ij->i", A)


def test_keyframes_count_with_what_they_hold():
    key = "<key/>"
    text = f"""<mujoco><worldbody><replicate count="3000"><body><joint/><geom size=".1"/></body>
</replicate></worldbody><keyframe>{7000 * key}</keyframe></mujoco>"""
    with pytest.raises(jc.ModelError, match=r":2: <key> .*keyframes hold 20,001,000 coordinates"):
        jc.load_mjcf(text)
