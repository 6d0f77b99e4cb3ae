"""Events along Taylor steps: every crossing is found, and grazing is told apart."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import jounce as jc
from jounce.simulation.polynomials import roots_in_unit_interval

coordinate_event, height_event = jc.coordinate_event, jc.height_event


def product(roots, lead=1.0):
    """Coefficients of lead times the product of (x - root), the constant first."""
    return lead * np.polynomial.polynomial.polyfromroots(roots)


@pytest.mark.parametrize("more", [(), (1.7, -0.3, 2.2 + 1j, 2.2 - 1j)], ids=["alone", "others"])
@pytest.mark.parametrize(
    "inside", [(), (0.5,), (0.3, 0.3001), (0.1, 0.4, 0.40001, 0.9), (1e-7, 1 - 1e-7)]
)
def test_all_roots_inside_are_found(inside, more):
    """Also two that are as near as 1e-5, which values at the ends of an interval do not show."""
    a = np.real(product([*inside, *more], 3.0))
    found = roots_in_unit_interval(a)
    assert len(found.x) == len(inside)
    assert all(found.direction)
    np.testing.assert_allclose(found.x, inside, atol=1e-9)
    signs = np.array(found.direction)
    assert (signs[1:] == -signs[:-1]).all()


def test_a_double_root_only_grazes():
    found = roots_in_unit_interval(product([0.25, 0.25, 1.5]))
    assert found.direction == [0]
    assert abs(found.x[0] - 0.25) < 1e-6


def test_a_near_miss_is_none():
    a = product([0.25, 0.25])
    a[0] += 1e-6
    assert roots_in_unit_interval(a).x == []


def test_a_root_at_the_start_counts_if_the_sign_was_another():
    a = product([0.0, 2.0], -1.0)  # positive inside
    assert roots_in_unit_interval(a, 0).x == []
    assert roots_in_unit_interval(a, 1).x == []
    assert roots_in_unit_interval(a, -1).x == [0.0]
    assert roots_in_unit_interval(a, -1).direction == [1]


@pytest.mark.parametrize("a", [[0.0], [1.0], [0.0, 0.0, 0.0]])
def test_what_never_changes_has_no_roots(a):
    assert roots_in_unit_interval(np.array(a)).x == []


def ball(height, velocity):
    builder = jc.ModelBuilder()
    builder.add_body("ball", joint="free", mass=1.0, inertia=np.eye(3))
    model = builder.build()
    q = jc.neutral(model)
    q[6] = height
    v = np.array([0.0, 0.0, 0.0, 1.0, 0.0, velocity])
    return model, q, v


def follow(model, q, v, t, events):
    done = jc.simulate(model, q, v, t, None, "taylor", rtol=1e-13, atol=1e-13, events=events)
    return done, done.events


def test_a_ball_passes_a_height_twice_in_one_step():
    """Free fall is a polynomial: one step, two crossings."""
    model, q, v = ball(0.0, 5.0)
    level = 1.0
    done, found = follow(model, q, v, [0, 1.0], [height_event(model, "ball", level)])
    exact = (5.0 + np.array([-1, 1]) * np.sqrt(25 - 2 * 9.81 * level)) / 9.81
    np.testing.assert_allclose([c.t for c in found], exact, rtol=1e-13)
    assert [c.direction for c in found] == [1, -1]
    np.testing.assert_allclose([c.q[6] for c in found], level, rtol=1e-13)
    np.testing.assert_allclose(done.q[-1, 6], 5.0 - 9.81 / 2, rtol=1e-13)


def test_the_top_of_a_flight_grazes_its_height():
    model, q, v = ball(0.0, 5.0)
    top = 25 / (2 * 9.81)
    _, found = follow(model, q, v, [0, 1.0], [height_event(model, "ball", top)])
    assert [c.direction for c in found] == [0]
    assert abs(found[0].t - 5.0 / 9.81) < 1e-6


def test_a_terminal_event_ends_the_motion():
    model, q, v = ball(2.0, 0.0)
    t = np.linspace(0, 1, 21)
    done, found = follow(
        model, q, v, t, [height_event(model, "ball", 0.0, terminal=True, direction=-1)]
    )
    hits = np.sqrt(4 / 9.81)
    assert len(found) == 1
    assert abs(found[0].t - hits) < 1e-14
    assert len(done) == np.searchsorted(t, hits) + 1
    assert done.t[-1] == found[0].t


def test_a_pendulum_crosses_its_lowest_point_every_half_period():
    """The period is that of the complete elliptic integral."""
    from scipy.special import ellipk

    builder = jc.ModelBuilder()
    builder.add_body("bob", joint="revolute", axis=(0, 1, 0), mass=1, com=(0, 0, -1))
    model = builder.build()
    period = 4 * ellipk(np.sin(0.6) ** 2) / np.sqrt(9.81)
    event = coordinate_event(model, model.joint_names[0], 0.0)
    _, found = follow(model, np.array([1.2]), np.zeros(1), [0, 10.0], [event])
    count = int((10.0 - period / 4) / (period / 2)) + 1
    times = period / 4 + period / 2 * np.arange(count)
    np.testing.assert_allclose([c.t for c in found], times, rtol=1e-12)
    assert [c.direction for c in found] == [(-1) ** (k + 1) for k in range(count)]


def test_states_of_a_batch_have_their_own_events():
    model, q, v = ball(0.0, 5.0)
    q, v = np.stack([q, q]), np.stack([v, v])
    v[1, 5] = 3.0
    done, found = follow(model, q[None], v[None], [0, 1.0], [height_event(model, "ball", 1.0)])
    assert [c.state for c in found] == [(0, 0), (0, 0)]
    assert done.q.shape == (1, 2, 2, model.nq)


def test_a_ball_bounces_at_a_limit_to_rounding():
    """Also where the step that sees the ground is longer than the whole flight."""
    builder = jc.ModelBuilder()
    model = builder.add_body("ball", joint="prismatic", axis=(0, 0, 1), mass=2.0, lower=0).build()
    got, found = follow(
        model, np.array([1.0]), np.zeros(1), np.linspace(0, 2, 9), jc.joint_limits(model, 0.8)
    )
    first = np.sqrt(2 / 9.81)
    flights = 2 * first * 0.8 ** np.arange(1, 4)
    np.testing.assert_allclose(
        [c.t for c in found], first + np.cumsum([0, *flights[:2]]), rtol=1e-13
    )
    left, speed = 2.0 - found[-1].t, 0.8**3 * 9.81 * first
    np.testing.assert_allclose(got.q[-1, 0], speed * left - 9.81 / 2 * left**2, atol=1e-13)


def test_a_ball_that_comes_to_rest_is_refused():
    builder = jc.ModelBuilder()
    model = builder.add_body("ball", joint="prismatic", axis=(0, 0, 1), mass=2.0, lower=0).build()
    with pytest.raises(jc.DivergenceError, match="again and again"):
        follow(model, np.array([0.1]), np.zeros(1), [0, 5.0], jc.joint_limits(model, 0.3))


@pytest.mark.parametrize("options", [{"passive": True}, {"control": jc.Control(kd=0.5)}])
def test_servos_and_passive_forces_go_with_events_without_series(options):
    builder = jc.ModelBuilder()
    builder.add_body("ball", joint="prismatic", axis=(0, 0, 1), mass=2.0, lower=0, damping=0.5)
    model, t = builder.build(), np.linspace(0.0, 1.0, 5)
    events = jc.joint_limits(model, 0.8)
    given = model, [1.0], [0.0], t
    with pytest.raises(jc.ArgumentError, match=r"neither .* nor with\s+events that have series"):
        jc.simulate(*given, method="taylor", events=events, **options)
    plain = [dataclasses.replace(event, series=None) for event in events]
    got = jc.simulate(*given, method="taylor", events=plain, **options)
    # m v' = -m g - d v until the floor
    rate, fall = 0.25, 9.81 / 0.25
    hit = got.events[0].t
    height = 1.0 - fall * hit + fall / rate * (1 - np.exp(-rate * hit))
    assert abs(height) < 1e-9
    assert abs(got.events[0].v[0] + fall * (1 - np.exp(-rate * hit))) < 1e-7


@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_a_ball_that_comes_to_rest_leaves_the_others_alone(method):
    builder = jc.ModelBuilder()
    model = builder.add_body("ball", joint="prismatic", axis=(0, 0, 1), mass=2.0, lower=0).build()
    t = np.linspace(0.0, 1.0, 11)
    given = model, [[0.1], [30.0]], np.zeros((2, 1)), t, None, method
    events = jc.joint_limits(model, 0.5)
    got = jc.simulate(*given, events=events, on_failure="mark")
    (lost,) = got.failures
    assert lost.state == (0,)
    assert "happens again and again" in lost.message
    # flights of 2 sqrt(2 h / g) times powers of one half
    assert got.ended[0] == lost.t == pytest.approx(3 * np.sqrt(0.2 / 9.81), abs=1e-5)
    assert (np.isnan(got.q[0, :, 0]) == (t > lost.t)).all()
    np.testing.assert_allclose(got.q[1, :, 0], 30.0 - 9.81 / 2 * t**2, rtol=1e-12)
    np.testing.assert_allclose(got.at([0.77]).v[1], [[-9.81 * 0.77]], rtol=1e-9)
    with pytest.raises(jc.DivergenceError) as caught:
        jc.simulate(*given, events=events)
    assert str(caught.value) == lost.message
    np.testing.assert_array_equal(caught.value.motion.q, got.q)


@pytest.mark.parametrize("linear", [False, True])
def test_rows_of_forces_act_between_events(linear):
    """The series sees them as the method without events does."""
    model = jc.models.mixed_tree(0)
    rng = np.random.default_rng(2)
    q, v = jc.random_configuration(model, rng), rng.standard_normal(model.nv)
    t, tau = np.linspace(0, 0.3, 4), rng.standard_normal((3 + linear, model.nv))
    event = height_event(model, model.body_names[-1], 1e3)
    options = {"rtol": 1e-13, "atol": 1e-13}
    got = jc.simulate(model, q, v, t, tau, "taylor", events=event, **options)
    alone = jc.simulate(model, q, v, t, tau, "taylor", **options)
    np.testing.assert_allclose(got.q, alone.q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(got.v, alone.v, rtol=0, atol=1e-11)


BAD = {
    "two axes": lambda q, motion, tau: np.zeros((2, 2)),
    "NaN": lambda q, motion, tau: [0.0, np.nan],
    "text": lambda q, motion, tau: "x",
    "complex": lambda q, motion, tau: np.ones(len(motion)) + 1j,
}


@pytest.mark.parametrize("mistake", BAD)
def test_an_event_that_is_no_series_is_refused(mistake):
    model, q, v = ball(0.0, 1.0)
    with pytest.raises(jc.ArgumentError, match="the series of event 'event' must return"):
        follow(model, q, v, [0, 1.0], [jc.Event(lambda t, q, v: 1.0, series=BAD[mistake])])


def test_a_limit_needs_one_coordinate():
    model, _, _ = ball(0.0, 1.0)
    with pytest.raises(jc.ArgumentError, match="7 coordinates, not one"):
        coordinate_event(model, model.joint_names[0], 0.0)


def test_a_series_has_as_many_rows_as_the_forces():
    """With fewer the zero of the polynomial is not that of the event, and may not be there."""
    model = jc.models.chain(1)

    def passes(count):
        rows = jc.coordinate_event(model, "joint0", 0.0).series
        event = jc.Event(lambda t, q, v: q[0], series=lambda *at: rows(*at)[:count])
        return jc.simulate(model, [0.5], [0.0], [0, 1.0], method="taylor", events=event, order=8)

    for few in (0, 2, 7):
        with pytest.raises(jc.ArgumentError, match=f"at least 8 rows, .* got {few}; deriv"):
            passes(few)
    assert len(passes(8).events) == len(passes(10).events) == 2


def test_a_series_is_that_of_the_function():
    model = jc.models.chain(1)
    event = jc.coordinate_event(model, "joint0", 0.0)
    other = dataclasses.replace(event, function=lambda t, q, v: q[0] - 0.1)
    with pytest.raises(jc.ArgumentError, match=r"must begin with .*, 0.4 at t = 2 s, got 0.5"):
        jc.simulate(model, [0.5], [0.0], [2, 3.0], method="taylor", events=other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"series": 5}, "series of event 'hit' must be a function or None, got 5"),
        ({"map": "back"}, "map of event 'hit' must be a function or None"),
        ({"terminal": "no"}, "terminal of event 'hit' must be True or False, got 'no'"),
        ({"name": 3}, "name of an event must be a str, got 3"),
    ],
)
def test_an_event_checks_its_parts(options, message):
    with pytest.raises(jc.ArgumentError, match=message):
        jc.Event(lambda t, q, v: q[0], **{"name": "hit", **options})
