"""A rollout is many steps, whatever the batch, and failures stay where they are."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce.simulation.methods import METHODS, MOST_SLOPES

EPS = np.finfo(float).eps
SLACK = 2.0**14
"""Rounding errors of a step, in units of eps times the largest number, for mass matrices of
condition 1e4."""


def close(x, y, steps=1):
    return np.abs(x - y).max(initial=0) <= SLACK * steps * EPS * (1 + np.abs(y).max(initial=0))


def fell(model, x, y):
    """The tangent vector between coordinates: quaternions have two signs."""
    return jc.difference(model, x, y)


@pytest.mark.parametrize("method", METHODS)
def test_a_step_is_the_one_that_is_linearized(method, robot, state):
    for lead in ((), (1,), (3,), (2, 9)):
        at = state(robot, *lead)
        given = robot, at.q, 0.3 * at.v, at.tau, 0.01, at.f_ext
        got, expected = jc.step(*given, method), jc.linearize_step(*given, method=method)
        assert close(fell(robot, got.q, expected.q), 0)
        assert close(got.v, expected.v)


def controls(robot, state, rows, *lead):
    at = state(robot, *lead)
    rng = np.random.default_rng(1)
    tau = rng.standard_normal((*lead, rows, robot.nv))
    f_ext = rng.standard_normal((*lead, rows, robot.n_bodies, 6))
    return at.q, 0.1 * at.v, tau, f_ext


@pytest.mark.parametrize("lead", [(), (1,), (5,), (2, 9)], ids=str)
def test_a_rollout_is_one_step_after_the_other(lead, robot, state):
    q, v, tau, f_ext = controls(robot, state, 7, *lead)
    got = jc.rollout(robot, q, v, tau, 0.01, f_ext)
    assert got.q.shape == (*lead, 8, robot.nq)
    assert got.v.shape == (*lead, 8, robot.nv)
    at = q, v
    assert close(fell(robot, got.q[..., 0, :], q), 0)
    for k in range(7):
        at = jc.step(robot, *at, tau[..., k, :], 0.01, f_ext[..., k, :, :])
        assert close(fell(robot, got.q[..., k + 1, :], at.q), 0, steps=k + 1)
        assert close(got.v[..., k + 1, :], at.v, steps=k + 1)


@pytest.mark.parametrize("every", [1, 2, 3, 6, 7, 100])
def test_every_kth_state_is_stored(every, all_joints, state):
    q, v, tau, f_ext = controls(all_joints, state, 6, 3)
    some = jc.rollout(all_joints, q, v, tau, 0.01, f_ext, every=every)
    all_of_them = jc.rollout(all_joints, q, v, tau, 0.01, f_ext)
    for x, y in zip(some, all_of_them, strict=True):
        assert x.shape[1] == 6 // every + 1
        np.testing.assert_array_equal(x, y[:, ::every])


def test_no_steps_and_no_states(all_joints, state):
    q, v, tau, _ = controls(all_joints, state, 0, 3)
    got = jc.rollout(all_joints, q, v, tau, 0.01)
    assert got.q.shape == (3, 1, all_joints.nq)
    np.testing.assert_array_equal(got.v[:, 0], v)
    none = jc.rollout(all_joints, q[:0], v[:0], np.zeros((0, 5, all_joints.nv)), 0.01)
    assert none.q.shape == (0, 6, all_joints.nq)
    assert jc.step(all_joints, q[:0], v[:0], v[:0], 0.01).v.shape == (0, all_joints.nv)


def test_what_does_not_vary_is_shared(all_joints, state):
    """One row of forces, one start or one step for all states, against each state alone."""
    q, v, tau, _ = controls(all_joints, state, 4, 11)
    dt = np.linspace(0.001, 0.01, 11)
    for given in ((q[0], v, tau, 0.01), (q, v[0], tau[0], 0.01), (q[0], v[0], tau[0], dt)):
        got = jc.rollout(all_joints, *given)
        for k in range(11):
            alone = [x[k] if np.shape(x)[:1] == (11,) else x for x in given]
            one = jc.rollout(all_joints, *alone)
            assert close(fell(all_joints, got.q[k], one.q), 0, steps=4)
            assert close(got.v[k], one.v, steps=4)


def test_threads_do_not_change_a_bit(all_joints, state):
    q, v, tau, f_ext = controls(all_joints, state, 9, 37)
    one, two = (
        jc.rollout(all_joints, q, v, tau, 0.01, f_ext, threads=threads) for threads in (1, 2)
    )
    for x, y in zip(one, two, strict=True):
        np.testing.assert_array_equal(x, y)


def slider():
    return jc.ModelBuilder(gravity=(0, 0, 0)).add_body("m", joint="prismatic", mass=2.0).build()


def test_forces_of_first_order_are_linear_between_their_rows():
    """A mass under forces that are linear in time: its motion is a cubic, which order 4 meets."""
    tau, dt = np.array([1.0, -2.0, 0.5, 4.0])[:, None], 0.3
    got = jc.rollout(slider(), [0.2], [-1.0], tau, dt, hold="first")
    q, v = 0.2, -1.0
    for k in range(3):
        a, jerk = tau[k, 0] / 2, (tau[k + 1, 0] - tau[k, 0]) / 2 / dt
        q, v = q + v * dt + a * dt**2 / 2 + jerk * dt**3 / 6, v + a * dt + jerk * dt**2 / 2
        assert close(got.q[k + 1, 0], q)
        assert close(got.v[k + 1, 0], v)


def test_equal_rows_are_constant_forces(all_joints, state):
    q, v, tau, f_ext = controls(all_joints, state, 1, 5)
    rows = np.repeat(tau, 5, axis=1), np.repeat(f_ext, 5, axis=1)
    for method in METHODS:
        held = jc.rollout(all_joints, q, v, rows[0][:, 1:], 0.01, rows[1][:, 1:], method)
        linear = jc.rollout(all_joints, q, v, rows[0], 0.01, rows[1], method, hold="first")
        for x, y in zip(held, linear, strict=True):
            assert close(x, y, steps=4)


def diverging(model, count, steps=30, bad=4, at=10):
    q = jc.random_configuration(model, 0, count)
    tau = np.zeros((count, steps, model.nv))
    tau[bad, at:] = 1e200
    return q, np.zeros((count, model.nv)), tau


@pytest.mark.parametrize("count", [5, 9])
def test_a_state_that_diverges_is_marked_and_the_others_go_on(count, all_joints):
    """Counts that put it in a pack and, alone, in the last group."""
    q, v, tau = diverging(all_joints, count)
    got = jc.rollout(all_joints, q, v, tau, 0.001, on_failure="mark")
    np.testing.assert_array_equal(got.failed_at, np.where(np.arange(count) == 4, 10, -1))
    assert got.failed_at.dtype == np.int64
    assert np.isfinite(got.q[4, :11]).all()
    assert np.isnan(got.q[4, 11:]).all()
    assert np.isnan(got.v[4, 11:]).all()
    tau[4] = 0.0
    others = np.arange(count) != 4
    calm = jc.rollout(all_joints, q, v, tau, 0.001)
    assert close(got.q[others], calm.q[others])
    assert close(got.v[others], calm.v[others])


def test_a_batch_in_which_all_states_diverge_is_marked(all_joints):
    q, v, tau = diverging(all_joints, 9)
    tau[:, 3:] = 1e200
    got = jc.rollout(all_joints, q, v, tau, 0.001, on_failure="mark", every=5)
    np.testing.assert_array_equal(got.failed_at, 3)
    assert np.isfinite(got.q[:, 0]).all()
    assert np.isnan(got.q[:, 1:]).all()


@pytest.mark.parametrize("every", [1, 4])
def test_a_state_that_diverges_raises_and_is_named(every, all_joints):
    q, v, tau = diverging(all_joints, 9)
    out = np.ones((9, 30 // every + 1, all_joints.nq)), np.ones((9, 30 // every + 1, all_joints.nv))
    with pytest.raises(jc.DivergenceError, match=r"step 10 .* in state \[4\] of the batch"):
        jc.rollout(all_joints, q, v, tau, 0.001, every=every, out=out)
    assert all(np.isnan(x).all() for x in out)


def test_out_may_be_what_is_given(all_joints):
    """Forces that share memory with the results are as they were if it fails."""
    nv = all_joints.nv
    block = np.zeros((9, 30, nv))
    q, v, block[...] = diverging(all_joints, 9, steps=30)
    before, place = block.copy(), np.ones((9, 30, all_joints.nq))
    with pytest.raises(jc.DivergenceError):
        jc.rollout(all_joints, q, v, block[:, :29].copy(), 0.001, out=(place, block))
    assert np.isnan(block).all()
    block[...] = before
    tau = block[:1, :29]
    jc.rollout(all_joints, q[:1], v[:1], tau, 0.001, out=(place[:1], block[:1]))
    assert np.isfinite(block[:1]).all()


ROUND = 0.1 * np.eye(3)


def massless_tip():
    builder = jc.ModelBuilder()
    builder.add_body(
        "arm", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0.3, 0, 0), inertia=ROUND
    )
    return builder.add_body("tip", "arm", joint="revolute", axis=(0, 1, 0)).build(warn=False)


@pytest.mark.parametrize("count", [1, 9])
def test_a_singular_inertia_is_marked_or_names_its_joint(count):
    model = massless_tip()
    given = np.zeros((count, 2)), np.zeros((count, 2)), np.zeros((count, 3, 2)), 0.01
    np.testing.assert_array_equal(jc.rollout(model, *given, on_failure="mark").failed_at, 0)
    with pytest.raises(jc.SingularError, match="tip"):
        jc.rollout(model, *given)
    with pytest.raises(jc.SingularError, match="tip"):
        jc.step(model, given[0], given[1], given[2][:, 0], 0.01)


MODEL = jc.models.chain(3)
Z = np.zeros(3)
BAD = {
    "zero step": (lambda: jc.step(MODEL, Z, Z, Z, 0.0), "dt must be positive finite"),
    "backward": (lambda: jc.rollout(MODEL, Z, Z, [Z], -0.1), "dt must be positive finite"),
    "no step": (lambda: jc.step(MODEL, Z, Z, Z, np.nan), "dt must be positive finite"),
    "word as step": (lambda: jc.step(MODEL, Z, Z, Z, "long"), "dt must be numbers"),
    "method": (lambda: jc.step(MODEL, Z, Z, Z, 0.1, method="rk4"), "did you mean 'rkmk4'"),
    "NaN": (lambda: jc.step(MODEL, Z, Z + np.nan, Z, 0.1), r"v must be finite, got nan at v\[0\]"),
    "NaN in time": (
        lambda: jc.rollout(MODEL, Z, Z, [Z, Z + np.nan], 0.1),
        r"tau must be finite, got nan at tau\[1, 0\]",
    ),
    "one row": (lambda: jc.rollout(MODEL, Z, Z, Z, 0.1), r"tau must have shape \(..., 1, 3\)"),
    "rows": (
        lambda: jc.rollout(MODEL, Z, Z, [Z, Z], 0.1, np.zeros((3, 3, 6))),
        r"f_ext must have shape \(..., 2, 3, 6\)",
    ),
    "every": (lambda: jc.rollout(MODEL, Z, Z, [Z], 0.1, every=0), "every must be an integer, at"),
    "half": (lambda: jc.rollout(MODEL, Z, Z, [Z], 0.1, every=0.5), "every must be an integer, at"),
    "hold": (lambda: jc.rollout(MODEL, Z, Z, [Z], 0.1, hold=1), "hold must be 'zero' or 'first'"),
    "failure": (lambda: jc.rollout(MODEL, Z, Z, [Z], 0.1, on_failure="skip"), "on_failure must"),
    "out": (lambda: jc.rollout(MODEL, Z, Z, [Z], 0.1, out=np.zeros(3)), "tuple of 2 arrays"),
    "out of marks": (
        lambda: jc.rollout(
            MODEL, Z, Z, [Z], 0.1, on_failure="mark", out=(np.zeros((2, 3)),) * 2 + (np.zeros(()),)
        ),
        "int64 array of shape",
    ),
}


@pytest.mark.parametrize("mistake", BAD)
def test_a_mistake_is_said_clearly(mistake):
    call, message = BAD[mistake]
    with pytest.raises(jc.ArgumentError, match=message):
        call()


def test_marks_are_written_to_out():
    out = np.zeros((4, 2, 3)), np.zeros((4, 2, 3)), np.zeros(4, np.int64)
    got = jc.rollout(MODEL, np.zeros((4, 3)), Z, [Z], 0.1, on_failure="mark", out=out)
    assert all(x is y for x, y in zip(got, out, strict=True))
    np.testing.assert_array_equal(got.failed_at, -1)


def test_every_method_fits_into_the_core():
    for method in METHODS.values():
        assert len(method.stages) < MOST_SLOPES
        assert method.citation
        for weights in method.finish:
            assert len(weights) == len(method.stages) + 1
        total = sum(sum(weights) for weights in method.finish)
        assert abs(total - 1) < 8 * EPS


def test_a_long_rollout_of_one_state_can_be_interrupted(python):
    """The handler runs while the only state is on its way, and may use the package itself."""
    code = """
import signal, threading, time
import numpy as np
import jounce as jc

model, other = jc.models.chain(3), jc.models.chain(40)
seen = []

def handler(number, frame):
    seen.append(jc.forward_dynamics(other, *np.ones((3, 40))))
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, handler)
try:
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    jc.rollout(model, np.ones(3), np.zeros(3), np.zeros((10**8, 3)), 1e-3, every=10**8)
except KeyboardInterrupt:
    print("interrupted", len(seen))
"""
    assert python(code).split() == ["interrupted", "1"]


def test_a_handler_that_computes_does_not_disturb_a_rollout(python):
    code = """
import signal
import numpy as np
import jounce as jc

model, other = jc.models.chain(3), jc.models.chain(40)
given = model, np.ones(3), np.zeros(3), np.zeros((200000, 3)), 1e-3
calm = jc.rollout(*given, method="euler", every=1000)
seen = []
signal.signal(signal.SIGALRM, lambda *_: seen.append(jc.forward_dynamics(other, *np.ones((3, 40)))))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
for _ in range(1000):
    got = jc.rollout(*given, method="euler", every=1000)
    assert np.array_equal(got.q, calm.q)
    if len(seen) > 3:
        break
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(seen) > 3)
"""
    assert python(code).strip() == "True"
