"""Ctrl-C ends a simulation at once: what is returned is there already, the rest is made later."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jounce as jc
from jounce.simulation import (
    compiled,
    dense,
    event_motion,
    event_passage,
    fixed_steps,
    stepwise,
    store,
    taylor_events,
)
from jounce.simulation.dense import Dense, StepLog, nested, nested_value

ARM = jc.models.chain(3)
TIMES = np.linspace(0.0, 3.0, 31)
EPS = np.finfo(float).eps
BATCHES = [(), (5,), (2, 3)]

# each with the module that asks whether motions ever end, if its steps are adaptive
WAYS = {
    "dop853": (None, {}, compiled),
    "taylor": (None, {"method": "taylor"}, compiled),
    "function": (lambda t, q, v: -0.1 * v, {}, stepwise),
    "series": (lambda t, q, v: [-0.1 * v], {"method": "taylor"}, taylor_events),
    "fixed": (lambda t, q, v: -0.1 * v, {"method": "rkmk4", "dt": 0.03}, None),
}


@pytest.fixture(autouse=True)
def short_portions(monkeypatch):
    """So that a motion takes several of them."""
    monkeypatch.setattr(compiled, "EFFORT", 12)


def moving(lead, seed=3):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (*lead, 3)), rng.standard_normal((*lead, 3))


def whole(name, lead, t=TIMES):
    control, options, _ = WAYS[name]
    return jc.simulate(ARM, *moving(lead), t, control, **options)


def interrupted(name, lead, t=TIMES, rounds=3):
    """The same until Ctrl-C after some rounds, or 150 calls of the control."""
    control, options, module = WAYS[name]
    calls = []

    def stops_control(*at):
        calls.append(at)
        if len(calls) == 150:
            raise KeyboardInterrupt
        return control(*at)

    def stops(begun, now, end, steps):
        calls.append(now)
        if len(calls) == rounds:
            raise KeyboardInterrupt
        return np.zeros(np.shape(now), bool)

    with pytest.MonkeyPatch.context() as patch:
        if module is not None:
            patch.setattr(module, "without_end", stops)
        given = stops_control if module is None else control
        got = jc.simulate(ARM, *moving(lead), t, given, **options)
    assert got.interrupted
    return got


@pytest.mark.parametrize("lead", BATCHES, ids=str)
@pytest.mark.parametrize("name", WAYS)
def test_what_ctrl_c_leaves_is_the_motion_until_there(name, lead):
    """At the times and between them bit for bit; at the end of the last step, where the whole
    motion begins another one, to rounding."""
    got, all_of_it = interrupted(name, lead), whole(name, lead)
    count = len(got) - (got.t[-1] not in TIMES)
    assert 1 <= count < len(TIMES)
    np.testing.assert_array_equal(got.t[:count], TIMES[:count])
    for x, y in ((got.q, all_of_it.q), (got.v, all_of_it.v)):
        np.testing.assert_array_equal(x[..., :count, :], y[..., :count, :])
    between = np.linspace(0.0, got.t[-1], 17)[:-1]
    for x, y in zip(got.at(between), all_of_it.at(between), strict=True):
        np.testing.assert_array_equal(x, y)
    for x, y in zip((got.q, got.v), all_of_it.at(got.t[-1]), strict=True):
        bound = 64 * EPS * (1 + np.abs(y).max())
        np.testing.assert_allclose(x[..., -1, :], y, rtol=0, atol=bound)


@pytest.mark.parametrize("name", WAYS)
def test_after_ctrl_c_nothing_is_put_together_nor_evaluated(name, monkeypatch):
    """Not before somebody asks; then of each state one step, and not the dense output."""
    evaluated, joined = [], []
    at, every = dense.Steps.at, StepLog.dense

    def counted(self, which, time, path):
        evaluated.append(len(time))
        return at(self, which, time, path)

    def put_together(self, *given):
        joined.append(len(self.parts))
        return every(self, *given)

    monkeypatch.setattr(dense.Steps, "at", counted)
    monkeypatch.setattr(StepLog, "dense", put_together)
    got = interrupted(name, (5,), np.array([0.0, 50.0]) if name != "fixed" else TIMES)
    assert "batch (5,)" in repr(got)
    assert np.isinf(got.ended).all()
    assert evaluated == [] == joined
    assert np.isfinite(got.q).all()
    assert np.isfinite(got.v).all()
    assert sum(evaluated) == (0 if name == "fixed" else 5)
    assert joined == []
    assert np.isfinite(got.at(got.t[-1]).q).all()
    assert len(joined) == 1


ROOMS = {"dop853": compiled, "function": stepwise, "series": taylor_events, "fixed": fixed_steps}


@pytest.mark.parametrize("name", ROOMS)
def test_states_are_returned_where_they_were_written(name, monkeypatch):
    """What was computed is not copied, and its memory is not touched beyond that."""
    made = []

    def untouched(first, count):
        made.append(store.room(first, count))
        made[-1][:, 1:] = 7.0
        return made[-1]

    monkeypatch.setattr(ROOMS[name], "room", untouched)
    got = interrupted(name, (5,))
    for x, room in zip((got.q, got.v), made, strict=True):
        assert x.base is room
        assert room.shape[1] == len(TIMES)
        assert (room[:, -10:] == 7.0).all()


@pytest.mark.parametrize("name", ["dop853", "function", "series"])
def test_the_last_state_goes_with_copies_slices_and_files(name, tmp_path):
    def fresh():
        return interrupted(name, (2,), np.array([0.0, 50.0]))

    known = fresh().q
    assert np.isfinite(known).all()
    fresh().save(tmp_path / "motion.npz")
    copies = {
        "pickle": pickle.loads(pickle.dumps(fresh())),
        "copy": copy.copy(fresh()),
        "file": jc.SimulatedMotion.load(tmp_path / "motion.npz", ARM),
        "slice": fresh()[:],
        "without steps": fresh()[::-1][::-1],
    }
    for what, got in copies.items():
        np.testing.assert_array_equal(got.q, known, err_msg=what)
        assert got.interrupted


def test_ctrl_c_while_the_last_state_is_computed_loses_nothing(monkeypatch):
    got, known = (interrupted("function", (2,), np.array([0.0, 50.0])) for _ in range(2))

    def stops(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(dense.Steps, "at", stops)
        with pytest.raises(KeyboardInterrupt):
            got.q  # noqa: B018
    np.testing.assert_array_equal(got.q, known.q)
    with pytest.raises(AttributeError, match="'SimulatedMotion' object has no attribute 'w'"):
        got.w  # noqa: B018


@pytest.mark.parametrize("name", ["function", "fixed"])
def test_states_that_were_lost_before_ctrl_c_are_nan_and_the_others_are_known(name):
    """The room that was made for them holds nothing else."""
    _, options, _ = WAYS[name]
    times, calls = np.linspace(0.0, 30.0, 301), []

    def control(t, q, v):
        calls.append(t)
        if len(calls) == 4000:
            raise KeyboardInterrupt
        return np.array([0.0, 1e3, 0.0, 0.0])[:, None] * v**3

    got = jc.simulate(ARM, *moving((4,)), times, control, on_failure="mark", **options)
    assert got.interrupted
    assert [x.state for x in got.failures] == [(1,)]
    known = got.t <= got.ended[1]
    assert 0 < known.sum() < len(known)
    assert np.isfinite(got.q[1][known]).all()
    assert np.isnan(got.q[1][~known]).all()
    assert np.isnan(got.v[1][~known]).all()
    assert np.isfinite(got.q[[0, 2, 3]]).all()


def ragged(counts, seed=0):
    """A log of steps that states take in turn, and when they began, state by state."""
    rng = np.random.default_rng(seed)
    t = [np.cumsum(rng.uniform(0.1, 1.0, count)) for count in counts]
    log = StepLog(ARM, np.zeros(len(counts)))
    for k in range(max(counts)):
        some = np.flatnonzero(np.array(counts) > k)
        begin = np.array([t[x][k] for x in some])
        states = np.repeat(begin[:, None], 3, axis=1)
        log.add(some, begin, np.full(len(some), 0.05), states, states, np.zeros((len(some), 3, 6)))
    return log, t


@pytest.mark.parametrize("group", [1, 7, 10**6])
def test_the_step_of_each_state_at_a_time_is_its_last_that_has_begun(group, monkeypatch):
    """By the dense output for many times at once, and by the log for one."""
    monkeypatch.setattr(dense, "GROUP", group)
    counts = [4, 0, 1, 9, 2, 16, 0]
    log, t = ragged(counts)
    found = log.dense(dense.NESTED, np.full(len(counts), 20.0), None)
    times = np.sort(np.random.default_rng(1).uniform(0.0, 12.0, 40))
    places, states = found._places(times)
    for place, state, time in zip(places, states, np.tile(times, len(counts)), strict=True):
        if counts[state]:
            begun = np.searchsorted(t[state], time, side="right") - 1
            assert found.t[place] == t[state][max(begun, 0)]
    for time in times:
        wanted = np.array([len(x) > 0 and x[0] <= time for x in t])
        steps = log.steps_at(wanted, time)
        begun = [x[np.searchsorted(x, time, side="right") - 1] for x in t if len(x)]
        some = np.flatnonzero(wanted)
        if steps is None:
            assert not len(some)
            continue
        np.testing.assert_array_equal(steps[0], some)
        known = dict(zip(np.flatnonzero(counts), begun, strict=True))
        np.testing.assert_array_equal(steps[1], [known[k] for k in some])


def test_only_the_last_parts_of_a_log_are_looked_at(monkeypatch):
    monkeypatch.setattr(dense, "GROUP", 4)
    log, _ = ragged([50, 50, 50])
    made, parts = [], list(log.parts)

    def later(k):
        def make():
            made.append(k)
            return parts[k]

        return make

    log.parts = [later(k) for k in range(50)]
    assert log.steps_at(np.ones(3, bool), float(parts[-1][1].min())) is not None
    assert made
    assert min(made) > 40


def test_a_polynomial_is_its_first_of_three():
    terms, x = np.random.default_rng(0).standard_normal((9, 7, 4)), np.linspace(0, 1, 9)[:, None]
    np.testing.assert_array_equal(nested_value(terms, x), nested(terms, x)[0])


def test_room_is_touched_where_something_is_written(monkeypatch):
    monkeypatch.setattr(store, "PORTION", 10)
    first = np.arange(15.0).reshape(5, 3)
    with monkeypatch.context() as patch:
        patch.setattr(store.np, "empty", lambda shape: np.full(shape, 7.0))
        made = store.room(first, 6)
    np.testing.assert_array_equal(made[:, 0], first)
    assert (made[:, 1:] == 7.0).all()
    due = np.array([6, 2, 1, 5, 4])
    store.blank((made, made), due, 4)
    behind = (np.arange(6) >= due[:, None]) & (np.arange(6) < 4)
    np.testing.assert_array_equal(np.isnan(made).all(axis=-1), behind)
    assert np.isnan(store.nothing(5, 6, 3)).all()


@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_how_many_times_a_portion_of_one_step_is_given_changes_nothing(method, monkeypatch):
    """It is taken again with the times that follow; the steps of longer ones may end elsewhere."""
    monkeypatch.setattr(compiled, "EFFORT", 1)
    t, state = np.linspace(0.0, 2.0, 201), moving((5,))
    known = jc.simulate(ARM, *state, t, None, method)
    monkeypatch.setattr(compiled, "WRITTEN", 1)
    monkeypatch.setattr(compiled, "LEAST_WINDOW", 3)
    got = jc.simulate(ARM, *state, t, None, method)
    np.testing.assert_array_equal(got.q, known.q)
    np.testing.assert_array_equal(got.v, known.v)


@pytest.mark.parametrize("way", WAYS)
def test_parts_of_a_motion_share_its_dense_output(way):
    control, options, _ = WAYS[way]
    motion = jc.simulate(ARM, *moving(()), TIMES, control, **options)
    early, late = motion[:10], motion[10:]
    assert early.dense is late.dense is motion.dense is not None


def test_parts_of_a_motion_with_events_share_its_dense_output():
    event = jc.Event(lambda t, q, v: q[..., 0])
    motion = jc.simulate(ARM, *moving((2,)), TIMES, events=event)
    assert motion[:10].dense is motion[10:].dense is motion.dense is not None


@pytest.mark.parametrize("way", ["function", "fixed"])
def test_errors_carry_no_dense_output_that_nobody_asked_for(way):
    def control(t, q, v):
        if np.max(t) > 1.0:
            raise RuntimeError
        return -0.1 * v

    with pytest.raises(RuntimeError) as caught:
        jc.simulate(ARM, *moving(()), TIMES, control, dense=False, **WAYS[way][1])
    assert caught.value.motion.kept is None


def test_threads_that_ask_for_one_dense_output_at_once_agree():
    barrier, switch = threading.Barrier(6), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for seed in range(20):
            start = moving((3,), seed)
            motion = jc.simulate(ARM, *start, [0.0, 1.0, 2.0], lambda t, q, v: -0.1 * v)

            def ask(_, motion=motion):
                barrier.wait()
                return motion.at(0.5)[0]

            with ThreadPoolExecutor(6) as pool:
                first, *others = pool.map(ask, range(6))
            assert all(np.array_equal(first, x) for x in others)
    finally:
        sys.setswitchinterval(switch)


def test_no_state_waits_for_those_that_have_no_steps():
    """Places in a dense output of which some or all states have taken none."""
    nobody = Dense(
        ARM, dense.NESTED, np.zeros(4, int), np.ones(3), *(np.zeros(0),) * 2,
        *(np.zeros((0, 3)),) * 2, (np.zeros((0, 3, 6)),),
    )  # fmt: skip
    q, v = nobody.at(np.array([0.0, 0.5]))
    assert q.shape == v.shape == (3, 2, 3)
    assert np.isnan(q).all()


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("lead", [(), (3,)], ids=str)
@pytest.mark.parametrize("method", ["taylor", "dop853", "dopri5"])
def test_times_in_a_step_that_is_done_again_are_left_out(method, lead, rounds, monkeypatch):
    """They were stored by the step beyond the last one that is kept, and have no dense output."""
    receive, count = compiled._Way.receive, []

    def stops(self, *given):
        receive(self, *given)
        count.append(given)
        if len(count) == rounds:
            raise KeyboardInterrupt

    monkeypatch.setattr(compiled._Way, "receive", stops)
    monkeypatch.setattr(compiled, "EFFORT", 10**6)
    got = jc.simulate(ARM, *moving(lead), np.linspace(0.0, 60.0, 20_000), method=method)
    assert got.interrupted
    there = got.at(got.t)
    np.testing.assert_allclose(there.q, got.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(there.v, got.v, rtol=0, atol=1e-9)


ROWS = {
    "constant": lambda rng: rng.standard_normal((6, 3, 3)),
    "linear": lambda rng: rng.standard_normal((6, 4, 3)),
    "servo": lambda rng: jc.Control(q_ref=rng.standard_normal((6, 4, 3)), kp=3.0, kd=0.2),
    "lost": lambda rng: np.where(np.arange(6) % 2, 1e200, 0.0)[:, None, None] * np.ones((6, 3, 3)),
}


@pytest.mark.parametrize("keep", [True, False], ids=["dense", "times"])
@pytest.mark.parametrize("portion", [1, 100, 300])
@pytest.mark.parametrize("name", ROWS)
def test_portions_of_fixed_steps_change_nothing(name, portion, keep, monkeypatch):
    """Rows of forces of many states and steps are made a portion at a time, for Ctrl-C."""
    control, t = ROWS[name](np.random.default_rng(2)), np.array([0.0, 0.3, 0.5, 1.0])
    given = (ARM, *moving((6,)), t, control, "rkmk4")
    options = {"dt": 0.01, "dense": keep, "on_failure": "mark"}
    one = jc.simulate(*given, **options)
    monkeypatch.setattr(fixed_steps, "PORTION", portion)
    parts = jc.simulate(*given, **options)
    assert (name == "lost") == bool(one.failures)
    assert parts.failures == one.failures
    np.testing.assert_allclose(parts.q, one.q, rtol=0, atol=1e-10)
    np.testing.assert_allclose(parts.v, one.v, rtol=0, atol=1e-10)
    if keep:
        between = np.linspace(0.0, 1.0, 57)
        np.testing.assert_allclose(parts.at(between).q, one.at(between).q, rtol=0, atol=1e-10)


@pytest.mark.parametrize("control", [None, np.eye(3)], ids=["none", "rows"])
@pytest.mark.parametrize("few", [1, 7, 30])
def test_events_are_looked_for_on_few_fixed_steps_at_once(few, control, monkeypatch):
    """However few times are asked for: between them nobody would hear Ctrl-C."""
    asked, passed = [], event_passage.sampled

    def sampled(events, stretch, *given):
        asked.append(len(stretch.dense.t))
        return passed(events, stretch, *given)

    monkeypatch.setattr(event_passage, "sampled", sampled)
    t, event = np.array([0.0, 0.113, 1.0]), jc.Event(lambda t, q, v: q[1], terminal=False)
    given = (ARM, *moving(()), t, control, "rkmk4")
    one = jc.simulate(*given, dt=0.004, events=event)
    assert max(asked) > 30
    asked.clear()
    monkeypatch.setattr(event_motion, "STEPS", few)
    parts = jc.simulate(*given, dt=0.004, events=event)
    assert max(asked) <= few
    assert len(parts.events) == len(one.events) > 0
    for got, expected in zip(parts.events, one.events, strict=True):
        np.testing.assert_allclose(got.t, expected.t, rtol=0, atol=1e-12)
    np.testing.assert_allclose(parts.q, one.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(parts.v, one.v, rtol=0, atol=1e-11)
