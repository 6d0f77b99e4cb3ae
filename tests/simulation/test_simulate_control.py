"""Servos in simulations, what Ctrl-C leaves of motions with events, and the bar on long runs."""

from __future__ import annotations

import dataclasses
import io

import numpy as np
import pytest

import jounce as jc
from jounce.simulation import compiled, stepwise, task, taylor_events
from jounce.simulation import progress as bars

TIMES = np.linspace(0.0, 0.2, 5)


@pytest.fixture(scope="module")
def robot():
    model = jc.models.mixed_tree(1)
    rng = np.random.default_rng(5)
    q = jc.random_configuration(model, rng)
    return model, q, 0.3 * rng.standard_normal(model.nv), rng


def controls(model, rng):
    ref = jc.random_configuration(model, rng)
    gains = {"kp": rng.random(model.nv), "kd": rng.random(model.nv)}
    return {
        "held": jc.Control(**gains, q_ref=ref),
        "limited": jc.Control(**gains, q_ref=ref, force_limits=np.full(model.nv, 0.2)),
        "moving": jc.Control(**gains, q_ref=ref, v_ref=rng.standard_normal(model.nv)),
        "passive": jc.Control(passive=True, kd=1.0),
        "prescribed": jc.Control(kd=0.5, prescribed=np.arange(model.nv) == model.nv - 1),
    }


@pytest.mark.parametrize("kind", ["held", "limited", "moving", "passive", "prescribed"])
def test_a_control_acts_as_in_a_rollout(robot, kind):
    """The compiled servos of rollouts, at every stage of the same steps."""
    model, q, v, rng = robot
    control = controls(model, rng)[kind]
    rest = np.zeros((20, model.nv))
    expected = jc.rollout(model, q, v, rest, 0.01, every=5, control=control)
    got = jc.simulate(model, q, v, TIMES, control, "rkmk4", dt=0.01)
    np.testing.assert_allclose(got.q, expected.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(got.v, expected.v, rtol=0, atol=1e-10)


class PythonRanError(Exception):
    """Steps were not taken by the core."""


@pytest.fixture
def no_python(monkeypatch):
    """Let every field of forces in Python fail."""

    def field(*_):
        raise PythonRanError

    monkeypatch.setattr(task.Task, "field", field)


@pytest.mark.parametrize("rows", [None, 4, 5])
@pytest.mark.parametrize("method", ["rkmk4", "momentum"])
def test_fixed_steps_under_passive_forces_are_those_of_a_rollout(robot, method, rows, no_python):
    model, q, v, _ = robot
    model = model.replace(damping=np.full(model.nv, 0.3), stiffness=np.full(model.nv, 0.2))
    tau = None if rows is None else np.random.default_rng(1).standard_normal((rows, model.nv))
    got = jc.simulate(model, q, v, TIMES, tau, method, dt=0.01, passive=True)
    hold, every = ("first" if rows == 5 else "zero"), np.zeros((20, model.nv))
    if rows == 4:
        every = np.repeat(tau, 5, axis=0)
    elif rows == 5:
        fine = np.linspace(0, 0.2, 21)
        every = np.stack([np.interp(fine, TIMES, x) for x in tau.T], axis=-1)
    control = jc.Control(passive=True)
    expected = jc.rollout(
        model, q, v, every, 0.01, method=method, every=5, hold=hold, control=control
    )
    np.testing.assert_allclose(got.q, expected.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(got.v, expected.v, rtol=0, atol=1e-11)


@pytest.mark.parametrize("method", ["rkmk4", "momentum"])
@pytest.mark.parametrize("kind", ["held", "limited", "moving", "passive", "prescribed", "rows"])
def test_fixed_steps_under_a_control_are_compiled_and_dense(robot, kind, method, no_python):
    """They end where adaptive steps do, and so they pass between the times."""
    (model, q, v, _), rng = robot, np.random.default_rng(7)
    if kind == "prescribed" and method == "momentum":
        pytest.skip("which that method does not know")
    near = jc.integrate(model, q, 0.3 * rng.standard_normal((5, model.nv)))  # no half turn away
    rows = {"q_ref": near, "v_ref": rng.random((5, model.nv))}
    moving = jc.Control(kp=rng.random(model.nv), kd=0.5, **rows)
    control = moving if kind == "rows" else controls(model, rng)[kind]
    got = jc.simulate(model, q, v, TIMES, control, method, dt=2e-3)
    exact = jc.simulate(model, q, v, TIMES, control)
    times = np.linspace(0.0, 0.2, 33)
    np.testing.assert_allclose(got.at(times).q, exact.at(times).q, rtol=0, atol=1e-7)
    np.testing.assert_allclose(got.at(times).v, exact.at(times).v, rtol=0, atol=1e-5)


def test_controls_of_a_batch_go_with_fixed_steps(robot):
    """Each with its own gains and references, from one start or from many."""
    model, q, v, rng = robot
    kp, ref = rng.random((3, model.nv)), jc.random_configuration(model, rng, (3, 5))
    many = jc.Control(kp=kp, kd=0.5, q_ref=ref)
    for start in (q, np.tile(q, (3, 1))):
        got = jc.simulate(model, start, v, TIMES, many, "rkmk4", dt=0.01)
        assert got.q.shape == (3, 5, model.nq)
        for k in range(3):
            one = jc.Control(kp=kp[k], kd=0.5, q_ref=ref[k])
            alone = jc.simulate(model, q, v, TIMES, one, "rkmk4", dt=0.01)
            np.testing.assert_allclose(got.v[k], alone.v, rtol=0, atol=1e-11)
            inner = alone.at([0.07, 0.13])
            np.testing.assert_allclose(got.at([0.07, 0.13]).q[k], inner.q, rtol=0, atol=1e-11)
    with pytest.raises(jc.ArgumentError, match="do not broadcast"):
        jc.simulate(model, np.tile(q, (2, 1)), v, TIMES, many, "rkmk4", dt=0.01)


def test_what_a_method_does_not_know_is_named(robot):
    model, q, v, rng = robot
    for control, passive in ((jc.Control(kd=1.0), False), (None, True)):
        with pytest.raises(jc.ArgumentError, match="'variational' takes forces that do not"):
            jc.simulate(model, q, v, TIMES, control, "variational", dt=0.01, passive=passive)
    given = controls(model, rng)["prescribed"]
    with pytest.raises(jc.ArgumentError, match="'momentum' knows no prescribed joints"):
        jc.simulate(model, q, v, TIMES, given, "momentum", dt=0.01)


def test_stops_of_a_control_act_in_a_simulation():
    builder = jc.ModelBuilder()
    builder.add_body("bob", joint="revolute", axis=(0, 1, 0), mass=1, com=(0, 0, -1), upper=0.3)
    model, control = builder.build(), jc.Control(stops=True)
    expected = jc.rollout(model, [0.2], [2.0], np.zeros((40, 1)), 5e-3, every=10, control=control)
    got = jc.simulate(model, [0.2], [2.0], TIMES, control, "rkmk4", dt=5e-3)
    np.testing.assert_allclose(got.q, expected.q, rtol=0, atol=1e-13)
    assert got.q.max() > 0.3


def test_references_in_rows_belong_to_the_times():
    """A stiff servo follows a line between two references."""
    builder = jc.ModelBuilder(gravity=(0, 0, 0))
    model = builder.add_body("m", joint="prismatic", axis=(1, 0, 0), mass=1.0).build()
    ref = np.array([[0.0], [0.1], [0.2], [0.3], [0.4]])
    control = jc.Control(kp=1e4, kd=200.0, q_ref=ref, v_ref=[2.0])
    got = jc.simulate(model, [0.0], [2.0], TIMES, control)
    np.testing.assert_allclose(got.q, ref, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("control", "message"),
    [
        (jc.Control(kd=1.0, force_limits=np.ones(3)), "no force_limits of a jounce.Control"),
        (jc.Control(stops=True), "no stops of"),
        (jc.Control(prescribed=np.ones(3, bool)), "no prescribed of"),
        (jc.Control(kp=[1, 1, 1], q_ref=[0, 0, 0, 1]), "control.kp of spherical and free joints"),
    ],
)
def test_servos_that_are_no_polynomials_have_no_series(control, message):
    model = jc.ModelBuilder().add_body("ball", joint="spherical", mass=1, inertia=(1, 1, 1))
    with pytest.raises(jc.ArgumentError, match=message):
        jc.simulate(model.build(), [0, 0, 0, 1], [0, 0, 0], TIMES, control, "taylor")


def test_a_control_that_does_not_fit_is_named():
    model = jc.models.chain(2)
    with pytest.raises(jc.ArgumentError, match=r"control.kp needs control.q_ref"):
        jc.simulate(model, [0, 0], [0, 0], TIMES, jc.Control(kp=1.0))
    c = jc.Constraints(model, [jc.Coupling({"joint0": 1.0, "joint1": -1.0})])
    given = jc.Control(prescribed=["joint0"])
    with pytest.raises(jc.ArgumentError, match="prescribed joints and constraints"):
        jc.simulate(model, [0, 0], [0, 0], TIMES, given, constraints=c)


@pytest.mark.parametrize("method", ["dop853", "taylor"])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_an_interruption_keeps_what_was_computed(method, batch):
    """The times that some state has reached, marked; events too."""
    builder = jc.ModelBuilder()
    builder.add_body("bob", joint="revolute", axis=(0, 1, 0), mass=1, com=(0, 0, -1))
    model, calls = builder.build(), []

    def control(t, q, v):
        calls.append(t)
        if np.max(t) > 1.5:
            raise KeyboardInterrupt
        return np.zeros((*np.shape(q)[:-1], 1)) if method == "dop853" else np.zeros((1, 1))

    passes = jc.coordinate_event(model, model.joint_names[0], 0.0)
    t, q = np.linspace(0.0, 10.0, 101), np.full((*batch, 1), 0.5)
    got = jc.simulate(model, q, [0.0], t, control, method, events=[passes])
    assert got.interrupted
    assert calls
    assert 5 < len(got) < len(t)
    alone = jc.simulate(model, [0.5], [0.0], t).at(got.t)
    first = got.q[(0,) * len(batch)]
    assert np.isfinite(first).all()
    np.testing.assert_allclose(first, alone.q, rtol=0, atol=1e-6)
    if method == "taylor":
        assert [event.direction for event in got.events[:1]] == [-1]


def interrupted_after(monkeypatch, module, calls):
    """Let Ctrl-C come when a module asks for the last time so often."""
    asked = []

    def without_end(begun, now, end, steps):
        asked.append(None)
        if len(asked) == calls:
            raise KeyboardInterrupt
        return np.zeros(np.shape(now), bool)

    monkeypatch.setattr(module, "without_end", without_end)


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("case", ["dop853", "taylor", "function", "series"])
def test_an_interruption_before_the_first_time_keeps_the_steps(case, batch, monkeypatch):
    """The last time that all states have reached is there, and `at` knows the motion to it."""
    arm = jc.models.chain(2)
    control = {"function": lambda t, q, v: 0 * v, "series": lambda t, q, v: [0 * v]}.get(case)
    module = {"function": stepwise, "series": taylor_events}.get(case, compiled)
    method = {"taylor": "taylor", "series": "taylor"}.get(case, "dop853")
    interrupted_after(monkeypatch, module, 30 if control else 1)
    q, v = np.zeros((*batch, 2)), np.broadcast_to([1.0, 0.5], (*batch, 2)).copy()
    v[..., 0] += np.arange(v[..., 0].size).reshape(batch)
    tight = {"rtol": 1e-11, "atol": 1e-11}
    got = jc.simulate(arm, q, v, [0.0, 1e5], control, method, **tight)
    assert got.interrupted
    assert len(got) == 2
    assert got.q.shape == (*batch, 2, 2)
    assert 0.1 < got.t[-1] < 1e5
    times = np.linspace(0.0, min(1.0, got.t[-1]), 7)
    exact = jc.simulate(arm, q, v, times, None, "taylor", rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(got.at(times).q, exact.q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(got.at(got.t).q, got.q, rtol=0, atol=1e-13)
    assert np.isfinite(got.q).all()


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_an_interruption_between_events_keeps_the_steps(method, batch, monkeypatch):
    """A pendulum that passes its lowest point, with no time to be stored for long."""
    builder = jc.ModelBuilder()
    builder.add_body("bob", joint="revolute", axis=(0, 1, 0), mass=1, com=(0, 0, -1))
    model, q = builder.build(), np.full((*batch, 1), 0.5)
    event = jc.Event(lambda t, q, v: q[0])
    interrupted_after(monkeypatch, compiled, 3)
    monkeypatch.setattr(compiled, "ROOM", 8)
    got = jc.simulate(model, q, [0.0], [0.0, 1e3], None, method, events=event)
    first = (0,) * len(batch)
    assert got.interrupted
    assert len(got) == 2
    assert 0.3 < got.t[-1] < 1e3
    times = np.linspace(0.0, got.t[-1], 9)
    exact = jc.simulate(model, [0.5], [0.0], times, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(got.at(times).q[first], exact.q, rtol=0, atol=1e-6)
    np.testing.assert_allclose(got.q[(*first, -1)], exact.q[-1], rtol=0, atol=1e-6)
    if batch:
        assert np.isnan(got.q[1]).all()


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("series", [True, False])
def test_an_interruption_with_events_keeps_the_steps(series, batch, monkeypatch):
    """Of Taylor steps, whether events have series or not: far beyond the last time stored."""
    arm, calls = jc.models.chain(2), []
    q = 0.3 + 0.1 * np.arange(2.0) + np.zeros((*batch, 2))
    limit = jc.coordinate_event(arm, arm.joint_names[0], 0.1)

    def counted(*at):
        calls.append(None)
        if len(calls) == 400 and series:
            raise KeyboardInterrupt
        return limit.series(*at)

    passing = dataclasses.replace(limit, series=counted if series else None)
    if not series:
        interrupted_after(monkeypatch, compiled, 3)
        monkeypatch.setattr(compiled, "EFFORT", 100)
    t = np.array([0.0, 0.01, 1000.0])
    got = jc.simulate(arm, q, np.zeros(2), t, None, "taylor", events=[passing])
    assert got.interrupted
    assert len(got.t) == 3
    assert 0.02 < got.t[-1] < 900.0
    first = (0,) * len(batch)
    assert np.isfinite(got.q[first]).all()
    assert all(event.t <= got.t[-1] for event in got.events)
    inner = np.linspace(0.0, min(got.t[-1], 1.0), 9)
    alone = jc.simulate(arm, q[first], np.zeros(2), [0.0, inner[-1]], None, "taylor")
    np.testing.assert_allclose(got.at(inner).q[first], alone.at(inner).q, atol=1e-6)
    np.testing.assert_allclose(got.at(got.t).q[first], got.q[first], atol=1e-12)


def test_an_interruption_keeps_what_ended_before():
    """In a batch with events: one state has met its last, one was lost, one is on its way."""
    ball = jc.ModelBuilder().add_body("ball", joint="prismatic", axis=(0, 0, 1), mass=1).build()

    def control(t, q, v):
        if q[0] > 1e3 and t > 0.5:
            raise KeyboardInterrupt
        return 50 * v**3 if q[0] > 20 and q[0] < 900 else 0 * v

    floor = jc.Event(lambda t, q, v: q[0], terminal=True)
    q, v = [[1.0], [30.0], [2e3], [1.0]], [[0.0], [1.0], [0.0], [0.0]]
    t = np.linspace(0.0, 1.0, 11)
    got = jc.simulate(ball, q, v, t, control, events=floor, on_failure="mark")
    assert got.interrupted
    assert [x.state for x in got.failures] == [(1,)]
    np.testing.assert_allclose(got.ended[0], np.sqrt(2 / 9.81), rtol=1e-9)
    assert got.ended[1] == got.failures[0].t < 0.5
    assert np.isinf(got.ended[2:]).all()
    assert np.isfinite(got.q[2, :2]).all()
    assert np.isnan(got.q[3]).all()


def test_long_runs_show_a_bar(monkeypatch):
    console = pytest.importorskip("rich.console").Console(
        file=io.StringIO(), force_terminal=True, width=80
    )
    monkeypatch.setattr(bars, "DELAY", 0.0)
    with bars.Progress(1.0, 3.0, console=console) as report:
        report(2.5)
    assert "1.5 of 2 s" in console.file.getvalue()


def test_short_runs_and_runs_without_a_terminal_show_nothing(monkeypatch):
    console = pytest.importorskip("rich.console").Console(file=io.StringIO(), force_terminal=True)
    with bars.Progress(0.0, 1.0, console=console) as report:
        report(0.5)
    assert console.file.getvalue() == ""
    with bars.Progress(0.0, 1.0) as report:
        assert report is bars.silent


def test_without_rich_nothing_is_shown(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(bars.importlib, "import_module", missing)
    with bars.Progress(0.0, 1.0, console=object()) as report:
        assert report is bars.silent


@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_fewer_states_than_fill_a_register_are_servoed_alike(method, python):
    """In a process of its own: lanes without a state must not depend on what memory held before."""
    program = f"""
import numpy as np, jounce as jc
model = jc.models.quadruped()
control = jc.Control(kp=1.0, kd=0.1, q_ref=jc.neutral(model))
q, v = jc.random_configuration(model, 1, 5), np.zeros((5, model.nv))
batch = jc.simulate(model, q, v, [0.0, 0.1], control, {method!r})
for k in range(5):
    one = jc.simulate(model, q[k], v[k], [0.0, 0.1], control, {method!r})
    print(np.abs(batch.v[k] - one.v).max())
"""
    assert max(map(float, python(program).split())) < 1e-6


def test_a_state_that_is_lost_leaves_the_others_of_its_register_alone():
    model = jc.models.quadruped()
    q, v = jc.random_configuration(model, 1, 7), np.zeros((7, model.nv))
    v[3] = 1e160
    got = jc.simulate(model, q, v, [0.0, 0.1], on_failure="mark")
    assert [x.state for x in got.failures] == [(3,)]
    others = np.delete(np.arange(7), 3)
    whole = jc.simulate(model, q[others], v[others], [0.0, 0.1])
    np.testing.assert_allclose(got.v[others], whole.v, atol=1e-8)


def test_a_control_keeps_its_own_arrays():
    kp, limits = np.ones(3), [1.0, 2.0, 3.0]
    law = jc.Control(kp=kp, q_ref=np.zeros(3), force_limits=(limits, kp))
    rows = [[0.1] * 3, [0.2] * 3]
    nested = jc.Control(kp=1.0, q_ref=rows)
    kp[:], limits[0], rows[0][0] = 99.0, 99.0, 99.0
    assert nested.q_ref == [[0.1] * 3, [0.2] * 3]
    np.testing.assert_array_equal(law.kp, np.ones(3))
    np.testing.assert_array_equal(law.force_limits, ([1.0, 2.0, 3.0], np.ones(3)))


def test_lists_that_never_end_are_no_gains():
    endless: list = []
    endless.append(endless)
    law = jc.Control(kp=endless, q_ref=np.zeros(3))
    with pytest.raises(jc.ArgumentError, match="kp must be"):
        jc.simulate(jc.models.chain(3), np.zeros(3), np.zeros(3), [0.0, 0.1], law)
