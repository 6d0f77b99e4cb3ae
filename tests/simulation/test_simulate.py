"""Simulations meet known motions to their tolerance, whatever the control and the batch."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate

import jounce as jc
from jounce.simulation.adaptive import EMBEDDED

TIMES = np.linspace(0.0, 0.3, 16)
ADAPTIVE = (*EMBEDDED, "taylor")


def moving(model, *lead, seed=0):
    rng = np.random.default_rng(seed)
    return jc.random_configuration(model, rng, lead), 0.5 * rng.standard_normal((*lead, model.nv))


def apart(model, x, y):
    dq = jc.difference(model, x.q, y.q)
    return max(np.abs(dq).max(initial=0), np.abs(x.v - y.v).max(initial=0))


def precise(model, q, v, tau, steps=128):
    """By many short steps in compiled code, which have their own tests."""
    rows = np.repeat(tau, steps, axis=-2)
    h = (TIMES[1] - TIMES[0]) / steps
    return jc.rollout(model, q, v, rows, h, method="dop853", every=steps)


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-12])
def test_errors_stay_near_the_tolerance(method, tolerance, robot):
    """Also between steps, by the polynomial: at 1e-6 a step passes several of the times."""
    q, v = moving(robot)
    options = {"rtol": tolerance, "atol": tolerance}
    got = jc.simulate(robot, q, v, TIMES, method=method, **options)
    np.testing.assert_array_equal(got.t, TIMES)
    np.testing.assert_array_equal(got.v[0], v)
    exact = precise(robot, q, v, np.zeros((len(TIMES) - 1, robot.nv)))
    size = 1 + np.abs(exact.v).max()
    assert apart(robot, got, exact) < 300 * tolerance * size


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_pendulum_is_that_of_another_solver(method):
    builder = jc.ModelBuilder()
    builder.add_body("bob", joint="revolute", axis=(0, 1, 0), mass=2.0, com=(0, 0, -0.7))
    model, t = builder.build(), np.linspace(0.0, 5.0, 40)
    got = jc.simulate(model, [1.2], [0.4], t, method=method, rtol=1e-11, atol=1e-11)
    other = scipy.integrate.solve_ivp(
        lambda _, y: [y[1], -9.81 / 0.7 * np.sin(y[0])],
        (0, 5),
        [1.2, 0.4],
        "DOP853",
        t,
        rtol=1e-12,
        atol=1e-12,
    )
    assert np.abs(got.q[:, 0] - other.y[0]).max() < 1e-8
    assert np.abs(got.v[:, 0] - other.y[1]).max() < 1e-8


def test_states_of_a_batch_take_their_own_steps(all_joints):
    """A state at rest beside fast ones: each moves as if it were alone."""
    q, v = moving(all_joints, 2, 2)
    v = v * np.array([[0.0, 1.0], [3.0, 0.1]])[..., None]
    together = jc.simulate(all_joints, q, v, TIMES)
    assert together.q.shape == (2, 2, len(TIMES), all_joints.nq)
    for k in np.ndindex(2, 2):
        alone = jc.simulate(all_joints, q[k], v[k], TIMES)
        assert np.abs(jc.difference(all_joints, together.q[k], alone.q)).max() < 1e-10


@pytest.mark.parametrize("method", ADAPTIVE)
def test_rows_of_forces_are_constant_between_times(method, all_joints):
    q, v = moving(all_joints, 3)
    tau = np.random.default_rng(1).standard_normal((3, len(TIMES) - 1, all_joints.nv))
    got = jc.simulate(all_joints, q, v, TIMES, tau, method, rtol=1e-11, atol=1e-11)
    exact = precise(all_joints, q, v, tau)
    assert apart(all_joints, got, exact) < 1e-8 * (1 + np.abs(exact.v).max())


@pytest.mark.long
def test_a_row_more_is_linear_between_times(all_joints):
    q, v = moving(all_joints)
    tau = np.random.default_rng(1).standard_normal((len(TIMES), all_joints.nv))

    def same(t, q, v):
        k = np.clip(np.searchsorted(TIMES, t, side="right") - 1, 0, len(TIMES) - 2)
        x = (t - TIMES[k]) / (TIMES[k + 1] - TIMES[k])
        return (1 - x) * tau[k] + x * tau[k + 1]

    rows = jc.simulate(all_joints, q, v, TIMES, tau)
    fixed = jc.simulate(all_joints, q, v, TIMES, tau, "rkmk4", dt=2e-4)
    asked = jc.simulate(all_joints, q, v, TIMES, same, "rkmk4", dt=2e-4)
    assert apart(all_joints, rows, fixed) < 1e-6 * (1 + np.abs(fixed.v).max())
    assert apart(all_joints, fixed, asked) < 1e-10 * (1 + np.abs(fixed.v).max())


def damping(t, q, v):
    return np.sin(np.asarray(t))[..., None] - 0.1 * v


@pytest.mark.parametrize("lead", [(), (4,)], ids=str)
def test_a_function_is_feedback_at_every_moment(lead, all_joints):
    q, v = moving(all_joints, *lead)
    smooth = jc.simulate(all_joints, q, v, TIMES, damping, rtol=1e-12, atol=1e-12)
    errors = []
    for dt in (TIMES[1] / 2, TIMES[1] / 4):
        stepped = jc.simulate(all_joints, q, v, TIMES, damping, "rkmk4", dt=dt)
        errors.append(apart(all_joints, smooth, stepped))
    assert abs(np.log2(errors[0] / errors[1]) - 4) < 0.3, errors


def test_passive_forces_act_if_asked():
    builder = jc.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("disk", joint="revolute", mass=1.0, inertia=[1, 1, 2.0], damping=0.5)
    model, t = builder.build(), np.linspace(0, 4, 9)
    got = jc.simulate(model, [0.0], [3.0], t, passive=True)
    np.testing.assert_allclose(got.v[:, 0], 3 * np.exp(-t / 4), rtol=1e-7)
    np.testing.assert_allclose(jc.simulate(model, [0.0], [3.0], t).v, 3.0, rtol=1e-12)


@pytest.mark.parametrize("method", ["euler", "cf4", "rkmk4"])
def test_fixed_steps_divide_uneven_intervals(method, all_joints):
    q, v = moving(all_joints)
    t = np.array([0.0, 0.01, 0.035, 0.04])
    got = jc.simulate(all_joints, q, v, t, None, method, dt=0.005)
    at = q, v
    for k, count in enumerate((2, 5, 1)):
        for _ in range(count):
            at = jc.step(
                all_joints, *at, np.zeros(all_joints.nv), (t[k + 1] - t[k]) / count, method=method
            )
        assert np.abs(jc.difference(all_joints, got.q[k + 1], at.q)).max() < 1e-10
        assert np.abs(got.v[k + 1] - at.v).max() < 1e-10


def test_energy_and_momentum_are_kept(all_joints):
    robot = jc.models.random_tree(5, 3, first="free").replace(gravity=(0, 0, 0))
    q, v = moving(robot, 2)
    check = jc.simulate(robot, q, v, TIMES, rtol=1e-12, atol=1e-12).check()
    assert check.energy.shape == (2,)
    assert check.energy.max() < 1e-9
    assert check.momentum.max() < 1e-9
    assert check.quaternion < 1e-14


def test_between_its_times_a_motion_is_interpolated_on_the_group(all_joints):
    q, v = moving(all_joints)
    inner = np.array([0.0, 0.013, 0.171, 0.3])
    exact = jc.simulate(all_joints, q, v, inner)
    errors = []
    for count in (31, 61):
        coarse = jc.simulate(all_joints, q, v, np.linspace(0, 0.3, count), dense=False)
        with pytest.raises(jc.ArgumentError, match="keeps no dense output"):
            coarse.at(inner)
        at = coarse.at(inner, approximate=True)
        errors.append(np.abs(jc.difference(all_joints, exact.q, at[0])).max())
        assert np.abs(exact.v - at[1]).max() < 0.1
    assert errors[1] < errors[0] / 8
    same = coarse.at(coarse.t, approximate=True)
    assert np.abs(jc.difference(all_joints, same[0], coarse.q)).max() < 1e-12
    assert np.abs(same[1] - coarse.v).max() < 1e-10


def test_a_motion_is_sliced_saved_and_loaded(tmp_path, all_joints):
    motion = jc.simulate(all_joints, *moving(all_joints), TIMES)
    some = motion[2:9:3]
    np.testing.assert_array_equal(some.t, TIMES[2:9:3])
    np.testing.assert_array_equal(some.q, motion.q[2:9:3])
    assert len(some) == 3
    assert motion.frame(all_joints.body_names[-1]).shape == (len(TIMES), 4, 4)
    np.testing.assert_allclose(motion.energy, motion.kinetic_energy + motion.potential_energy)
    path = tmp_path / "motion.npz"
    motion.save(path)
    again = jc.SimulatedMotion.load(path, all_joints)
    for name in ("t", "q", "v", "method", "interrupted"):
        np.testing.assert_array_equal(getattr(again, name), getattr(motion, name))
    with pytest.raises(jc.ArgumentError, match="another robot"):
        jc.SimulatedMotion.load(path, jc.models.chain(2))
    with pytest.raises(jc.MissingFileError):
        jc.SimulatedMotion.load(tmp_path / "nothing.npz", all_joints)
    np.savez(tmp_path / "other.npz", x=np.array([object()], dtype=object))
    with pytest.raises(jc.ArgumentError, match="holds no motion"):
        jc.SimulatedMotion.load(tmp_path / "other.npz", all_joints)
    assert "dop853" in repr(motion)


def test_an_interrupt_returns_what_was_computed(all_joints):
    def control(t, q, v):
        if t > 0.15:
            raise KeyboardInterrupt
        return np.zeros_like(v)

    for options in ({}, {"method": "rkmk4", "dt": 0.01}):
        motion = jc.simulate(all_joints, *moving(all_joints), TIMES, control, **options)
        assert motion.interrupted
        assert 1 <= len(motion) < len(TIMES)
        assert np.isfinite(motion.q).all()


MODEL = jc.models.chain(3)
Z = np.zeros(3)


def run(t=TIMES, control=None, **options):
    return jc.simulate(MODEL, Z, Z, t, control, **options)


BAD = {
    "times fall": (lambda: run([0, 2, 1]), r"t must increase, got t\[1\]"),
    "times repeat": (lambda: run([0, 0]), r"t must increase"),
    "no times": (lambda: run([]), "t must be finite times"),
    "NaN time": (lambda: run([0, np.nan]), "t must be finite times"),
    "state": (lambda: jc.simulate(MODEL, Z + np.nan, Z, TIMES), "q0 must be finite"),
    "method": (lambda: run(method="rk45"), "method must be one of"),
    "dt of dop853": (lambda: run(dt=0.1, rtol=1e-12, atol=1e-12), "'dop853' chooses its steps"),
    "dt of dopri5": (
        lambda: run(dt=0.1, method="dopri5", events=jc.Event(lambda t, q, v: 1.0)),
        r"dt does not go with it; rollout\(\) and step\(\) take fixed steps",
    ),
    "dt of taylor": (lambda: run([0.0], dt=0.1, method="taylor"), "'taylor' chooses its steps"),
    "state of a function": (
        lambda: jc.simulate(MODEL, Z + np.nan, Z, TIMES, lambda t, q, v: Z),
        "^q0 must be finite",
    ),
    "rates of events": (
        lambda: jc.simulate(MODEL, Z, np.zeros(2), TIMES, events=jc.Event(lambda t, q, v: 1.0)),
        "^v0 must have shape",
    ),
    "direction": (lambda: jc.Event(lambda t, q, v: 1.0, direction=2), "direction -1, 0 or 1"),
    "directions": (lambda: jc.Event(np.sum, direction=np.ones(2)), "direction -1, 0 or 1"),
    "taylor is offered": (lambda: run(method="tailor"), "one of .*'taylor', got 'tailor'"),
    "adjoint": (
        lambda: jc.rollout_vjp(MODEL, Z, Z, [Z], 0.1, (None, None), method="rk45"),
        "one of 'euler', [^v]*'dop853', got 'rk45'",
    ),
    "no adjoint of taylor": (
        lambda: jc.rollout_vjp(MODEL, Z, Z, [Z], 0.1, (None, None), method="taylor"),
        "'taylor' is not explicit",
    ),
    "no dt": (lambda: run(method="rkmk4"), "needs dt"),
    "dt": (lambda: run(method="rkmk4", dt=-1), "dt must be a positive number"),
    "rtol": (lambda: run(rtol=1e-17), "rtol must be a number, at least"),
    "atol": (lambda: run(atol=0), "atol must be a positive number"),
    "rows": (lambda: run(control=np.zeros((3, 3))), "control must be a function"),
    "row": (lambda: run(control=Z), "control must be a function"),
    "NaN rows": (lambda: run(control=np.full((15, 3), np.nan)), "control must be finite"),
    "shape": (lambda: run(control=lambda t, q, v: 0.0), "control must return an array of shape"),
    "shape in steps": (
        lambda: run(control=lambda t, q, v: 0.0, method="cf4", dt=0.1),
        "control must return an array of shape",
    ),
    "NaN force": (lambda: run(control=lambda t, q, v: Z + np.nan), "must return finite forces"),
    "ragged times": (lambda: run([[1], [1, 2]]), r"t must be numbers, got \[\[1\]"),
    "hidden times": (lambda: run(np.ma.array([0, 1], mask=[0, 1])), "no masked entries"),
    "ragged rows": (lambda: run(control=[[1], [1, 2]]), "control must be a function"),
    "complex rows": (lambda: run(control=np.zeros((16, 2), complex)), "must be real numbers"),
    "complex force": (
        lambda: run(control=lambda t, q, v: Z + 1j),
        "return forces: they must be real",
    ),
    "axes": (
        lambda: jc.simulate(jc.models.chain(1), [[0]] * 3, [0], TIMES, np.zeros((2, 16, 1))),
        r"leading axes \(2,\) of control do not broadcast with \(3,\)",
    ),
    "slice": (lambda: run()[3], "indexed by slices"),
    "outside": (lambda: run().at([7.0]), "t must be times"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_a_mistake_is_said_clearly(mistake):
    call, message = BAD[mistake]
    with pytest.raises(jc.ArgumentError, match=message):
        call()


def test_rows_for_no_joint_are_taken():
    motion = jc.simulate(jc.ModelBuilder().build(), [[]] * 3, [], TIMES, np.zeros((3, 16, 0)))
    assert motion.q.shape == (3, 16, 0)


@pytest.mark.parametrize("options", [{}, {"method": "cf4", "dt": 0.1}, {"method": "taylor"}])
def test_a_control_that_takes_something_else_is_told(options):
    with pytest.raises(jc.ArgumentTypeError, match=r"control\(t, q, v\) fails: float expected"):
        run(control=float, **options)


def test_an_exception_of_the_control_comes_through():
    def control(t, q, v):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        run(control=control)


def explosive(t, q, v):
    return 1e3 * v**3 + 1.0


@pytest.mark.parametrize(
    "options", [{}, {"method": "rkmk4", "dt": 0.01}], ids=["adaptive", "fixed"]
)
def test_a_motion_that_diverges_says_when(options):
    with pytest.raises(jc.DivergenceError, match="t = 0"):
        run(np.linspace(0, 10, 11), explosive, **options)


def test_mistakes_with_a_motion_are_errors_of_the_package(tmp_path):
    chain = jc.models.chain(2)
    motion = jc.simulate(chain, np.zeros(2), np.zeros(2), [0.0, 0.1])
    assert motion.at([0.05])._fields == ("q", "v")
    for times in ("x", [[0.0], [0.0, 0.1]], 0.2, [0.2], np.array([0.05 + 1j])):
        with pytest.raises(jc.ArgumentError, match=r"t must be (times|numbers|real numbers)"):
            motion.at(times)
    with pytest.raises(jc.MissingFileError):
        motion.save(tmp_path / "no" / "such.npz")
    with pytest.raises(jc.MissingFileError):
        jc.SimulatedMotion.load(chain, chain)
    with pytest.raises(jc.Error, match="model must be"):
        jc.SimulatedMotion.load(tmp_path, "robot")
    with pytest.raises(jc.ArgumentError, match="broadcast"):
        jc.simulate(chain, np.zeros((2, 2)), np.zeros(2), [0.0, 0.1], np.zeros((3, 1, 2)))


@pytest.mark.parametrize("method", ["dop853", "taylor"])
@pytest.mark.parametrize("events", [(), [jc.Event(lambda t, q, v: 1.0)]])
def test_a_last_time_that_is_never_reached_is_told(method, events):
    model = jc.models.chain(2)
    with pytest.raises(jc.DivergenceError, match=r"to the last time, 1e\+154 s, it would take"):
        jc.simulate(model, np.ones(2), np.ones(2), [0.0, 1e154], method=method, events=events)


def test_events_are_saved_and_broken_files_are_told(tmp_path):
    model, rng = jc.models.chain(2), np.random.default_rng(0)
    passes = jc.Event(lambda t, q, v: q[..., 0] - 0.1, name="passes")
    motion = jc.simulate(model, np.zeros((3, 2)), rng.random((3, 2)), TIMES, events=passes)
    assert motion.events
    motion.save(tmp_path / "plain")  # gets NumPy's ending
    again = jc.SimulatedMotion.load(tmp_path / "plain", model)
    for one, other in zip(motion.events, again.events, strict=True):
        for field, copy in zip(one, other, strict=True):
            np.testing.assert_array_equal(field, copy)
    good = (tmp_path / "plain.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(good[: len(good) // 2])
    (tmp_path / "empty.npz").write_bytes(b"")
    with open(tmp_path / "array.npz", "wb") as file:
        np.save(file, np.zeros(3))
    parts = dict(np.load(tmp_path / "plain.npz"))
    np.savez(tmp_path / "short.npz", **(parts | {"t": parts["t"][:-1]}))
    for name in ("cut", "empty", "array", "short"):
        with pytest.raises(jc.ArgumentError, match="holds no motion"):
            jc.SimulatedMotion.load(tmp_path / f"{name}.npz", model)


@pytest.mark.parametrize("method", ["dop853", "dopri5", "taylor"])
@pytest.mark.parametrize("lead", [(), (3,)])
def test_one_time_is_the_start_whatever_acts(method, lead):
    """There is no interval, so rows of forces and references have nothing to say."""
    arm = jc.models.chain(2)
    q, v = moving(arm, *lead)
    servo = jc.Control(kp=1.0, kd=1.0, q_ref=np.zeros((1, 2)))
    for control in (np.ones((1, 2)), np.ones((0, 2)), servo):
        got = jc.simulate(arm, q, v, [0.5], control, method)
        np.testing.assert_array_equal(got.q[..., 0, :], q)
        np.testing.assert_array_equal(got.v[..., 0, :], v)
        assert got.at([0.5]).q.shape == got.q.shape
