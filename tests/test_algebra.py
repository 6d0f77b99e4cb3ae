"""Decompositions of large matrices: signals, forks, exits."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce._core import algebra

RNG = np.random.default_rng(0)
LARGE = RNG.standard_normal((700, 700))
SYMMETRIC = LARGE + LARGE.T
CALLS = {
    "svd": (algebra.svd, np.linalg.svd, (LARGE,)),
    "singular_values": (
        algebra.singular_values,
        lambda a: np.linalg.svd(a, compute_uv=False),
        (LARGE,),
    ),
    "eigh": (algebra.eigh, np.linalg.eigh, (SYMMETRIC,)),
    "inv": (algebra.inv, np.linalg.inv, (LARGE,)),
    "pinv": (algebra.pinv, np.linalg.pinv, (LARGE, 1e-12)),
    "solve": (algebra.solve, np.linalg.solve, (LARGE, SYMMETRIC)),
    "product": (algebra.product, np.matmul, (LARGE, SYMMETRIC)),
}


@pytest.mark.parametrize("name", CALLS)
def test_large_ones_are_computed_by_a_thread_of_their_own(name, monkeypatch):
    ours, numpys, given = CALLS[name]
    made, begin = [], algebra._Helper
    monkeypatch.setattr(algebra, "_Helper", lambda compute: made.append(1) or begin(compute))
    for array, expected in zip(ours(*given), numpys(*given), strict=True):
        np.testing.assert_allclose(array, expected, rtol=1e-9, atol=1e-9)
    assert made == [1]
    small = [x[:50, :50] if isinstance(x, np.ndarray) else x for x in given]
    ours(*small)
    assert made == [1]


def test_errors_and_settings_are_those_of_the_caller():
    wrong = np.full_like(LARGE, np.nan)
    with pytest.raises(np.linalg.LinAlgError):
        algebra.svd(wrong)
    huge = np.full_like(LARGE, 1e300)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        algebra.product(huge, huge)
    with np.errstate(all="ignore"):
        assert np.isinf(algebra.product(huge, huge)).all()


def test_signals_are_handled_during_a_computation(python):
    """It waits for the handler, which runs in the main thread alone; so does an exit for it."""
    code = """
import signal, threading, numpy as np
from jounce._core import algebra
handled, large = threading.Event(), 1e12

def handler(*_):
    handled.set()

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.05)
assert algebra._heard(lambda: handled.wait(60.0), large)

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, stop)
left, A = threading.Event(), np.random.default_rng(0).standard_normal((700, 700))
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    algebra._heard(lambda: left.wait(60.0), large)
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


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="nothing forks there")
def test_a_handler_may_fork_during_a_computation(python):
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


def test_a_fork_under_way_is_not_waited_for(monkeypatch):
    """A handler may come while hooks of a fork run: then nothing begins that waits for its end."""
    monkeypatch.setitem(algebra._direct, "forks", 1)
    monkeypatch.setattr(algebra, "_Helper", None)
    np.testing.assert_allclose(algebra.inv(LARGE) @ LARGE, np.eye(700), atol=1e-8)


def test_without_more_threads_it_is_computed_at_once(monkeypatch):
    def refused(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(algebra, "start_new_thread", refused)
    np.testing.assert_allclose(algebra.inv(LARGE) @ LARGE, np.eye(700), atol=1e-8)


def test_hundreds_of_rows_have_their_forces():
    """Of a chain whose links are coupled: its actuation and forces add up to what is needed."""
    arm = jc.models.chain(420)
    names = arm.joint_names
    pairs = [jc.Coupling({a: 1.0, b: -1.0}) for a, b in zip(names[::2], names[1::2], strict=True)]
    c = jc.Constraints(arm, pairs)
    q, still = np.repeat(np.linspace(0.1, 0.3, 210), 2), np.zeros(420)
    tau, force = jc.constrained_inverse_dynamics(arm, q, still, still, c, actuated=names[::2])
    needed = jc.gravity_forces(arm, q)
    np.testing.assert_allclose(tau + c.jacobian(q).T @ force, needed, atol=1e-9 * abs(needed).max())
