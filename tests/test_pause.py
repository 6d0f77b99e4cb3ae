"""Kernels that work on one state for long hear signals within it."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("call", "size"),
    [
        ("jc.forward_dynamics_series_derivatives(chain(n), *v(2), rows(30), {})", 60),
        ("jc.inverse_dynamics_second_derivatives(chain(n), *v(3), {})", 150),
        ("jc.inverse_mass_matrix_derivatives(chain(n), *v(1), {})", 250),
        ("jc.jvp(jc.inverse_dynamics_second_derivatives, chain(n), v(3), v(1), {})", 80),
        ("jc.jvp(jc.christoffel_symbols, chain(n), v(1), v(1), {})", 150),
        ("jc.constrained_dynamics_derivatives(chain(n), *v(3), points(n), {})", 600),
        ("jc.constrained_dynamics_hessian(chain(n), *v(3), points(6), *v(1), {})", 100),
        ("jc.constrained_dynamics_series(chain(n), *v(2), rows(3), points(n // 2), {})", 500),
    ],
    ids=lambda x: x.split("(")[1 if "jvp" in x else 0].split(",")[0] if isinstance(x, str) else "",
)
def test_ctrl_c_is_heard_within_one_state(call, size, python):
    """The handler sees results that are not all there yet; robots grow until there is time."""
    python(
        f"""
import signal, numpy as np, jounce as jc
chain = jc.models.chain
def v(count): return tuple(np.ones((count, n)))
def rows(count): return np.full((count, n), 0.1)
def points(count):
    robot = chain(n)
    return jc.Constraints(robot, [jc.Point(x) for x in robot.body_names[-1::-3][: count // 3]])

def handler(*_):
    done.append(all(map(np.array_equal, ends, expected)))
    raise KeyboardInterrupt

def flat(x): return [x] if isinstance(x, np.ndarray) else [z for y in x for z in flat(y)]

def is_heard(delay):  # by the kernel, not before it or after
    done.clear()
    for x in ends: x.fill(7.0)
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        {call.format("out=got")}
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        composed = {"constrained" in call}  # of several kernels: then out stays as it was
        as_it_was = composed and all((x == 7.0).all() for x in ends)
        return done == [False] and (as_it_was or all(np.isnan(x).all() for x in ends))
    return False

signal.signal(signal.SIGALRM, handler)
for n in ({size}, {size} * 3 // 2, {size} * 2):
    got = {call.format("")}
    done, ends = [], flat(got)
    expected = [x.copy() for x in ends]
    if any(map(is_heard, (0.02, 0.01, 0.04, 0.08, 0.2, 0.5, 1.0, 2.0))): break
else:
    raise AssertionError("never heard")
"""
    )


def test_a_handler_within_one_state_may_run_such_kernels_and_be_interrupted(python):
    """Kernels that a handler runs do not ask for those around them."""
    python(
        """
import os, signal, threading, time, numpy as np, jounce as jc
small, large = jc.models.chain(6), jc.models.chain(60)
x, y = np.ones((3, 6)), np.ones((2, 60))
rows = np.full((20, 60), 0.1)
expected = jc.inverse_dynamics_second_derivatives(small, *x).dqdq
whole = jc.forward_dynamics_series_derivatives(large, *y, rows)

def handler(*_):
    for k in range(300):
        got = jc.inverse_dynamics_second_derivatives(small, *x).dqdq
        assert np.array_equal(got, expected)
    seen.append(k)

def interrupts(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, handler)
signal.signal(signal.SIGUSR1, interrupts)
seen, stopped = [], 0
for trial in range(20):
    later = threading.Timer(0.015 + 0.001 * trial, os.kill, (os.getpid(), signal.SIGUSR1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        if trial % 2: later.start()
        got = jc.forward_dynamics_series_derivatives(large, *y, rows)
        assert all(map(np.array_equal, got, whole))
        time.sleep(0.05)
        if trial % 2: later.join()
    except KeyboardInterrupt:
        stopped += 1
assert len(seen) >= 10 and stopped == 10, (seen, stopped)
"""
    )
