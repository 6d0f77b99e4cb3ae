"""Events are found where closed forms have them, and what follows them is right."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import jounce as jc
from jounce.simulation.events import MOST_AT_ONCE, Repeats

G = 9.81


def ball():
    builder = jc.ModelBuilder()
    return builder.add_body("ball", joint="prismatic", axis=(0, 0, 1), mass=2.0, lower=0.0).build()


def height(t, q, v):
    return q[0]


def bounce(t, q, v):
    return q, -0.8 * v


METHODS = {"dop853": {}, "taylor": {}, "rkmk4": {"dt": 0.01}}


@pytest.mark.parametrize("method", METHODS)
def test_a_ball_bounces_where_it_should(method):
    t = np.linspace(0.0, 2.0, 9)
    event = jc.Event(height, direction=-1, map=bounce, name="floor")
    got = jc.simulate(ball(), [1.0], [0.0], t, None, method, events=[event], **METHODS[method])
    first = np.sqrt(2 / G)
    speed = G * first
    times, now = [first], first
    while True:
        speed *= 0.8
        now += 2 * speed / G
        if now > 2.0:
            break
        times.append(now)
    assert len(got.events) == len(times) == 3
    for record, expected in zip(got.events, times, strict=True):
        assert record.name == "floor"
        assert abs(record.t - expected) < 1e-9
        assert abs(record.q[0]) < 1e-8
    last = times[-1]
    v = 0.8**3 * G * first
    assert abs(got.q[-1, 0] - (v * (2.0 - last) - 0.5 * G * (2.0 - last) ** 2)) < 1e-8
    np.testing.assert_array_equal(got.t, t)


IMPACTS = {
    "dop853": {},
    "dopri5": {},
    "taylor": {},
    "taylor without series": {"method": "taylor"},
    "rkmk4": {"dt": 0.01},
}


@pytest.mark.parametrize("lead", [(), (2,)], ids=str)
@pytest.mark.parametrize("t", [0.25, 0.3, 1 / 3, 0.5, 0.7, 0.9, 1.1, 1.7])
@pytest.mark.parametrize("case", IMPACTS)
def test_a_time_at_an_impact_stores_the_state_after_it(case, t, lead):
    """Whichever side of the stored time rounding puts the impact on; `at` is the same."""
    options = {"method": case, **IMPACTS[case]}
    limit = jc.joint_limits(ball(), restitution=0.8)
    if case != "taylor":
        limit = [dataclasses.replace(x, series=None) for x in limit]
    times = np.array([0.0, 0.4 * t, t, 1.5 * t])
    q = np.full((*lead, 1), G * t**2 / 2)
    if lead:
        q[1] *= 1.1
    got = jc.simulate(ball(), q, [0.0], times, events=limit, rtol=1e-12, atol=1e-13, **options)
    assert got.events[0].t == t
    first = got.v[(0,) * len(lead)][:, 0]
    np.testing.assert_allclose(first[2], 0.8 * G * t, rtol=1e-9)
    np.testing.assert_allclose(got.at(times).v, got.v, atol=1e-9)
    if lead:
        np.testing.assert_allclose(got.v[1, 2], -G * t, rtol=1e-9)


@pytest.mark.parametrize("case", IMPACTS)
def test_a_state_is_known_at_a_stored_time_that_ends_it(case):
    options = {"method": case, **IMPACTS[case]}
    stop = jc.joint_limits(ball(), terminal=True)
    if case != "taylor":
        stop = [dataclasses.replace(x, series=None) for x in stop]
    times, q = np.linspace(0.0, 1.0, 5), np.array([[G / 8], [G]])
    got = jc.simulate(ball(), q, [0.0], times, events=stop, **options)
    assert got.ended.tolist() == [0.5, np.inf]
    np.testing.assert_array_equal(np.isnan(got.v[0, :, 0]), times > 0.5)
    np.testing.assert_allclose(got.v[0, 2], -G / 2, rtol=1e-9)


def test_a_terminal_event_ends_the_motion():
    t = np.linspace(0.0, 2.0, 9)
    event = jc.Event(height, terminal=True)
    got = jc.simulate(ball(), [1.0], [0.0], t, events=event)
    end = np.sqrt(2 / G)
    assert abs(got.t[-1] - end) < 1e-9
    np.testing.assert_array_equal(got.t[:-1], t[t < end])
    assert abs(got.v[-1, 0] + G * end) < 1e-8
    batch = jc.simulate(ball(), [[1.0], [100.0]], [0.0], t, events=event)
    assert [record.state for record in batch.events] == [(0,)]
    assert np.isnan(batch.q[0, t > end]).all()
    assert np.isfinite(batch.q[1]).all()


def test_directions_and_events_without_a_map_do_not_change_the_motion():
    """A pendulum passes its lowest point twice in a period."""
    builder = jc.ModelBuilder()
    builder.add_body("bob", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -1.0))
    model, t = builder.build(), np.linspace(0.0, 10.0, 41)
    plain = jc.simulate(model, [0.5], [0.0], t)
    counts = []
    for direction in (-1, 0, 1):
        event = jc.Event(lambda t, q, v: q[0], direction=direction)
        got = jc.simulate(model, [0.5], [0.0], t, events=[event])
        assert np.abs(got.q - plain.q).max() < 1e-7
        counts.append(len(got.events))
    assert counts[0] + counts[2] == counts[1]
    assert abs(counts[0] - counts[2]) <= 1
    assert counts[1] == 10


def test_joints_bounce_at_their_limits_and_the_others_react():
    model = jc.models.chain(3).replace(lower=np.full(3, -0.3), upper=np.full(3, 0.3))
    got = jc.simulate(
        model, [0.1, 0.0, -0.1], [1.0, -2.0, 3.0], np.linspace(0, 0.5, 26),
        events=jc.joint_limits(model, 1.0),
    )  # fmt: skip
    assert len(got.events) >= 2
    assert np.abs(got.q).max() < 0.3 + 1e-8
    # an elastic impact keeps the energy
    assert np.ptp(got.energy) < 1e-6 * (1 + np.abs(got.energy).max())
    assert all("limit of" in record.name for record in got.events)


def falls_below(level, name, **options):
    """An event that is known as a series, too."""

    def series(q, motion, tau):
        return np.concatenate([[q[0] - level], motion[:, 0]])

    return jc.Event(lambda t, q, v: q[0] - level, direction=-1, name=name, series=series, **options)


BOUNCE = {"map": lambda t, q, v: (q, -0.5 * v)}
SEVERAL = {
    "late first": ([falls_below(-0.02, "late"), falls_below(0.0, "early")], ["early", "late"]),
    "one zero": ([falls_below(0.0, "A"), falls_below(0.0, "B")], ["A", "B"]),
    "a bounce": ([falls_below(0.0, "A", **BOUNCE), falls_below(0.0, "B")], ["A", "B", "A", "B"]),
    "an end": ([falls_below(0.0, "A", terminal=True), falls_below(0.0, "B")], ["A", "B"]),
    "late bounce": (
        [falls_below(-0.02, "late", **BOUNCE), falls_below(0.0, "early")],
        ["early", "late", "early", "late"],
    ),
}


@pytest.mark.parametrize("count", [2, 11])
@pytest.mark.parametrize("method", ["dop853", "taylor"])
@pytest.mark.parametrize("case", SEVERAL)
def test_events_come_in_the_order_of_their_times(case, method, count):
    """Whatever their order in the list and the output times are; none is lost at a common zero."""
    events, expected = SEVERAL[case]
    for some in (events, events[::-1]):
        got = jc.simulate(
            ball(), [1.0], [-2.0], np.linspace(0, 0.9, count), None, method, events=some
        )
        times = [record.t for record in got.events]
        ordered = sorted((round(record.t, 12), record.name) for record in got.events)
        assert [name for _, name in ordered] == expected
        assert times == sorted(times)
        first = (-2.0 + math.sqrt(4.0 + 2 * G)) / G
        assert abs(times[0] - first) < 1e-9


@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_maps_of_one_time_are_all_applied(method):
    events = [
        falls_below(0.0, "A", **BOUNCE),
        falls_below(0.0, "B", map=lambda t, q, v: (q, 1.5 * v)),
    ]
    t = np.linspace(0.0, 0.5, 3)
    got = jc.simulate(ball(), [1.0], [-2.0], t, None, method, events=events)
    (first, second) = got.events
    assert first.t == pytest.approx(second.t, abs=1e-14)
    left, speed = 0.5 - first.t, 0.75 * math.sqrt(4.0 + 2 * G)
    assert abs(got.q[-1, 0] - (speed * left - G * left**2 / 2)) < 1e-8


def kick(level, function, series=None):
    """The rate grows by one where a function passes a level."""
    return jc.Event(
        lambda t, q, v: function(t, q, v) - level,
        map=lambda t, q, v: (q, v + 1.0),
        name="kick",
        series=series,
    )


def height_series(level):
    return lambda q, v, tau: [q[0] - level, *v[:, 0]]


@pytest.mark.parametrize("method", METHODS)
def test_a_kick_at_a_time_happens_once_and_the_motion_goes_on(method):
    event = kick(0.5, lambda t, q, v: t)
    t = np.linspace(0.0, 1.0, 4)
    got = jc.simulate(ball(), [0.0], [4.0], t, None, method, events=event, **METHODS[method])
    (found,) = got.events
    assert found.t == pytest.approx(0.5, abs=1e-14)
    np.testing.assert_allclose(got.v[:, 0], 4.0 - G * t + (t > 0.5), atol=1e-8)
    np.testing.assert_allclose(
        got.q[:, 0], 4.0 * t - G * t**2 / 2 + np.maximum(t - 0.5, 0.0), atol=1e-8
    )


@pytest.mark.parametrize("series", [False, True])
@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_a_kick_at_a_section_happens_each_time_the_motion_passes(method, series):
    """Upward faster, downward slower, by one; another section is never reached."""
    events = [kick(x, height, height_series(x) if series else None) for x in (0.5, 9.0)]
    got = jc.simulate(ball(), [0.0], [4.0], [0.0, 2.0], None, method, events=events)
    up, down = got.events
    fast = math.sqrt(16.0 - G)  # at the section
    first, away = (4.0 - fast) / G, 2 * (fast + 1) / G
    assert up.t == pytest.approx(first, abs=1e-8)
    assert down.t == pytest.approx(first + away, abs=1e-8)
    left = 2.0 - first - away
    assert got.v[-1, 0] == pytest.approx(-fast - G * left, abs=1e-7)


@pytest.mark.long
@pytest.mark.parametrize("restitution", [1e-5, 1e-3, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_no_ball_falls_through_the_floor_on_which_it_comes_to_rest(method, restitution):
    floor = falls_below(0.0, "floor", map=lambda t, q, v: (q, -restitution * v))
    for event in (
        floor,
        dataclasses.replace(floor, series=height_series(0.0)),
    ):
        last = 0.2 * (1 + restitution) / (1 - restitution) * 1.2 + 0.1
        given = ball(), [0.1], [0.0], [0.0, last], None, method
        got = jc.simulate(*given, events=event, on_failure="mark")
        (lost,) = got.failures
        assert "'floor' happens again and again" in lost.message
        rest = math.sqrt(0.2 / G) * (1 + restitution) / (1 - restitution)
        assert lost.t == pytest.approx(rest, abs=1e-4)


def test_an_event_that_happens_without_time_going_on_is_endless():
    repeats = Repeats()
    for _ in range(MOST_AT_ONCE):
        repeats.happened(1.0)
        assert not repeats.never_ends
    repeats.happened(1.0)
    assert repeats.never_ends


def test_events_at_equal_distances_do_not_fade():
    repeats = Repeats()
    for k in range(100):
        repeats.happened(0.1 * k)
        assert not repeats.fades


def test_a_ball_that_comes_to_rest_is_an_error_that_says_so():
    event = jc.Event(height, direction=-1, map=lambda t, q, v: (q, -0.1 * v), name="floor")
    with pytest.raises(jc.DivergenceError, match="'floor' happens again and again at t = "):
        jc.simulate(ball(), [1.0], [0.0], np.linspace(0, 5, 6), events=[event])


@pytest.mark.parametrize("method", ["dop853", "taylor"])
@pytest.mark.parametrize(
    "function",
    [height, lambda t, q, v: max(q[0], 0.0), lambda t, q, v: max(t - 0.5, 0.0)],
    ids=["below zero", "at zero", "leaves zero late"],
)
def test_an_event_that_never_comes_back_from_zero_happens_once(method, function):
    """Nothing is lost of the motion after it, and what is zero at the start has not happened."""
    t = np.linspace(0.0, 2.0, 21)
    got = jc.simulate(ball(), [1.0], [0.0], t, method=method, events=jc.Event(function))
    falls = function(0.0, np.array([1.0]), np.zeros(1)) > 0
    expected = [math.sqrt(2.0 / G)] if falls else []
    np.testing.assert_allclose([record.t for record in got.events], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(got.q[:, 0], 1.0 - G * t**2 / 2, rtol=0, atol=1e-8)


def test_rows_of_forces_and_functions_go_with_events():
    t = np.linspace(0.0, 1.0, 5)
    up = np.full((4, 1), 2.0 * G)
    event = jc.Event(lambda t, q, v: q[0] - 2.0, terminal=True)
    rows = jc.simulate(ball(), [1.0], [2.0], t, up, events=event)
    function = jc.simulate(ball(), [1.0], [2.0], t, lambda t, q, v: [2.0 * G], events=event)
    linear = jc.simulate(ball(), [1.0], [2.0], t, np.full((5, 1), 2.0 * G), events=event)
    for got in (rows, function, linear):
        assert abs(got.t[-1] - 0.5) < 1e-9


MODEL = ball()
BAD = {
    "no event": (height, "events must be jounce.Event"),
    "NaN": (jc.Event(lambda t, q, v: np.nan), "must return a number, got NaN"),
    "array": (jc.Event(lambda t, q, v: np.ones(3)), "must return a number"),
    "map": (jc.Event(height, map=lambda t, q, v: 3.0), r"must return \(q, v\)"),
    "shape": (jc.Event(height, map=lambda t, q, v: (q, [1.0, 2.0])), "must return arrays of shape"),
    "map of NaN": (jc.Event(height, map=lambda t, q, v: (q, v * np.nan)), "finite numbers"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_a_mistake_is_said_clearly(mistake):
    event, message = BAD[mistake]
    with pytest.raises(jc.ArgumentError, match=message):
        jc.simulate(MODEL, [1.0], [0.0], [0.0, 1.0], events=[event])


def test_the_restitution_is_checked():
    with pytest.raises(jc.ArgumentError, match="restitution must be a number, above 0 to 1"):
        jc.joint_limits(MODEL, 0.0)


def test_the_torque_defect_falls_with_the_distance_of_the_times(all_joints):
    rng = np.random.default_rng(0)
    q, v = jc.random_configuration(all_joints, rng), 0.3 * rng.standard_normal(all_joints.nv)
    defects, powers = [], []
    for count in (9, 17, 33):
        t = np.linspace(0.0, 0.2, count)
        tau = np.sin(3 * t)[:, None] * np.ones(all_joints.nv)
        motion = jc.simulate(all_joints, q, v, t, tau, rtol=1e-12, atol=1e-12, dense=False)
        check = motion.check(tau)
        defects.append(float(check.defect))
        powers.append(float(check.power))
        assert motion.check().defect > 0.5  # without the forces that acted
    assert defects[0] > 10 * defects[1] > 100 * defects[2]
    assert defects[2] < 1e-6  # N m
    assert max(powers) < 1e-11  # J


def test_the_torque_defect_tells_methods_apart(all_joints):
    """Of fixed steps, it falls with their order; that of exact motions is none of theirs."""
    rng = np.random.default_rng(0)
    q, v = jc.random_configuration(all_joints, rng), 0.3 * rng.standard_normal(all_joints.nv)

    def defect(method, steps):
        t = np.linspace(0.0, 0.1, steps + 1)
        return float(jc.simulate(all_joints, q, v, t, method=method, dt=1.0).check().defect)

    few, many = defect("rkmk2", 16), defect("rkmk2", 32)
    assert 1.5 < few / many < 3.0  # the error of a step over its length, in the accelerations
    assert defect("rkmk4", 32) < 1e-2 * many < 1e-2 * defect("semi_implicit_euler", 32)


def test_constant_forces_and_batches_have_their_defects(all_joints):
    rng = np.random.default_rng(1)
    q, v = jc.random_configuration(all_joints, rng), 0.3 * rng.standard_normal((2, all_joints.nv))
    t, rows = np.linspace(0.0, 0.1, 17), rng.standard_normal((16, all_joints.nv))
    motion = jc.simulate(all_joints, q, v, t, rows, rtol=1e-12, atol=1e-12)
    check = motion.check(rows)
    assert check.defect.shape == check.power.shape == (2,)
    assert (check.defect < 1e-5).all()
    assert (motion.check(-rows).defect > 0.5).all()


def test_a_motion_becomes_a_table():
    pandas = pytest.importorskip("pandas")
    model = jc.models.chain(2)
    motion = jc.simulate(model, [0.1, 0.2], [0.0, 0.0], [0.0, 0.1, 0.2])
    table = motion.to_pandas()
    assert isinstance(table, pandas.DataFrame)
    np.testing.assert_array_equal(table[("q", model.joint_names[1], 0)], motion.q[:, 1])


def test_a_batch_becomes_a_dataset():
    pytest.importorskip("xarray")
    model = jc.models.chain(2)
    motion = jc.simulate(model, np.zeros((3, 2)), np.ones(2), [0.0, 0.1, 0.2])
    data = motion.to_xarray()
    assert dict(data.sizes) == {"batch_0": 3, "t": 3, "coordinate": 2, "rate": 2}
    np.testing.assert_array_equal(data["v"].isel(batch_0=1).sel(t=0.1), motion.v[1, 1])


def test_without_pandas_or_xarray_the_extra_is_named(monkeypatch):
    import builtins

    original = builtins.__import__

    def refuse(name, *rest):
        if name in ("pandas", "xarray"):
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr("importlib.import_module", lambda name: refuse(name))
    motion = jc.simulate(MODEL, [1.0], [0.0], [0.0, 0.1])
    with pytest.raises(jc.MissingExtraError, match="pip install pandas"):
        motion.to_pandas()
    with pytest.raises(jc.MissingExtraError, match="pip install xarray"):
        motion.to_xarray()


def test_events_of_a_robot_without_rates_are_refused():
    still = jc.ModelBuilder().add_body("x", joint="fixed", mass=1.0).build()
    event = jc.Event(lambda t, q, v: t - 0.5)
    with pytest.raises(jc.ArgumentError, match="need a robot that moves"):
        jc.simulate(still, [], [], [0.0, 1.0], events=event)


@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_rates_that_overflow_at_once_leave_the_others_of_a_batch_alone(method):
    arm, rng = jc.models.chain(2), np.random.default_rng(0)
    q, v = rng.standard_normal((2, 5, 2))
    v *= np.array([1.0, 1.0, 1e4, 1.0, 1e170])[:, None]  # the third one takes many steps
    t = np.linspace(0.0, 1.0, 11)
    motion = jc.simulate(arm, q, v, t, method=method, on_failure="mark")
    assert [x.state for x in motion.failures] == [(4,)]
    alone = jc.simulate(arm, q[:2], v[:2], t, method=method)
    np.testing.assert_allclose(motion.q[:2], alone.q, rtol=0, atol=1e-7)
    assert np.isfinite(motion.q[:4]).all()
