"""In a batch each state has its own life: what ends or loses one leaves the others alone."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

G = 9.81
TIMES = np.linspace(0.0, 1.0, 6)
BALL = jc.ModelBuilder().add_body("ball", joint="prismatic", axis=(0, 0, 1), mass=1.0).build()


def floor(**options):
    def series(q, motion, tau):
        return np.concatenate([q, motion[:, 0]])

    return jc.Event(lambda t, q, v: q[0], terminal=True, series=series, **options)


@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_a_terminal_event_ends_its_own_state(method, tmp_path):
    heights = np.array([1.0, 50.0, 2.0])
    got = jc.simulate(BALL, heights[:, None], [0.0], TIMES, None, method, events=floor())
    ends = np.where(heights < 10, np.sqrt(2 * heights / G), np.inf)
    np.testing.assert_allclose(got.ended, ends, rtol=1e-12)
    assert not got.failures
    before = ends[:, None] > TIMES
    exact = np.where(before, heights[:, None] - G / 2 * TIMES**2, np.nan)
    np.testing.assert_allclose(got.q[..., 0], exact, atol=1e-9)
    np.testing.assert_allclose(got.energy, np.where(before, G * heights[:, None], np.nan))
    assert (np.isnan(got.frame("ball")[..., 2, 3]) == ~before).all()
    check = got.check()
    assert check.energy.max() < 1e-8
    assert check.defect.max() < 1e-6
    late = got.at([0.4, 0.5, 0.6])
    assert (np.isnan(late.q[..., 0]) == (np.array([0.4, 0.5, 0.6]) > ends[:, None])).all()
    got.save(tmp_path / "x")
    again = jc.SimulatedMotion.load(tmp_path / "x", BALL)
    np.testing.assert_array_equal(again.ended, got.ended)


ARM = jc.models.chain(2)


def runaway(t, q, v):
    """Forces that lead the second state to infinity in half a second."""
    force = np.zeros_like(v)
    force[..., 1, :] = 20.0 * v[..., 1, :] ** 3
    return force


def runaway_series(t, q, v):
    return [20.0 * v**3] if q[1] > 0.5 else [0 * v]


def huge_rows():
    rows = np.zeros((3, len(TIMES) - 1, 2))
    rows[1, 2:] = 1e200
    return rows


LOST = {
    "function": (runaway, "dop853", {}),
    "series": (runaway_series, "taylor", {}),
    "rows": (huge_rows(), "dop853", {}),
    "rows of taylor": (huge_rows(), "taylor", {}),
    "fixed steps": (huge_rows(), "rkmk4", {"dt": 0.005}),
    "fixed steps by a function": (runaway, "rkmk4", {"dt": 0.005}),
    "events": (huge_rows(), "dop853", {"events": jc.Event(lambda t, q, v: q[0] - 100)}),
}


@pytest.mark.parametrize("name", LOST)
def test_a_state_that_is_lost_is_named_and_the_others_go_on(name, tmp_path):
    control, method, options = LOST[name]
    q = np.array([[0.1, 0.0], [0.0, 1.0], [0.2, 0.3]])
    v = np.array([[0.0, 0.1], [1.0, 1.1], [0.1, 0.2]])
    given = ARM, q, v, TIMES, control, method
    got = jc.simulate(*given, on_failure="mark", **options)
    assert [x.state for x in got.failures] == [(1,)]
    lost = got.failures[0]
    assert 0.0 < lost.t < 1.0
    assert got.ended[1] == lost.t
    assert np.isinf(got.ended[[0, 2]]).all()
    assert (np.isnan(got.q[1, :, 0]) == (lost.t < TIMES)).all()
    for k in (0, 2):
        alone = jc.simulate(ARM, q[k], v[k], TIMES, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(got.q[k], alone.q, atol=1e-6)
        np.testing.assert_allclose(got.at([0.77]).v[k], alone.at([0.77]).v, atol=1e-5)
    with pytest.raises(jc.DivergenceError) as caught:
        jc.simulate(*given, **options)
    assert str(caught.value) == lost.message
    np.testing.assert_array_equal(caught.value.motion.q, got.q)
    got.save(tmp_path / "x")
    assert jc.SimulatedMotion.load(tmp_path / "x", ARM).failures == got.failures


@pytest.mark.parametrize("lead", [(), (3,), (0,)], ids=str)
def test_fixed_steps_that_lose_all_states_say_so(lead):
    q, v = np.zeros((*lead, 2)), np.ones((*lead, 2))
    huge = np.full((len(TIMES) - 1, 2), 1e200)
    given = ARM, q, v, TIMES, huge, "rkmk4"
    got = jc.simulate(*given, dt=0.01, on_failure="mark")
    assert [x.state for x in got.failures] == list(np.ndindex(lead))
    assert np.isnan(got.q[..., 1:, :]).all()
    assert np.isnan(got.at([0.3]).q).all()
    if 0 not in lead:
        with pytest.raises(jc.DivergenceError, match="state 0 leads to numbers that are not fin"):
            jc.simulate(*given, dt=0.01)


def test_fixed_steps_before_a_failure_are_kept_and_none_is_invented():
    """Too long steps: one of two states is lost within an interval, after nine of its steps."""
    h, v = 0.25, np.array([[8.0, 0.0], [5.0, 0.0]])
    t, q = np.array([0.0, 2 * h, 40 * h]), np.zeros((2, 2))
    got = jc.simulate(ARM, q, v, t, None, "rkmk4", dt=h, on_failure="mark")
    steps = jc.rollout(ARM, q, v, np.zeros((40, 2)), h, on_failure="mark")
    assert steps.failed_at.tolist() == [9, -1]
    np.testing.assert_array_equal(got.ended, [9 * h, np.inf])
    times = h * np.arange(41)
    there, tame = got.at(times), 7  # later ones are so large that all digits are lost
    np.testing.assert_allclose(there.q[0, :tame], steps.q[0, :tame], rtol=1e-9)
    np.testing.assert_allclose(there.v[0, :tame], steps.v[0, :tame], rtol=1e-9)
    assert np.isnan(there.q[0, 10:]).all()
    assert np.isnan(got.at([9 * h + 0.01]).v[0]).all()
    np.testing.assert_allclose(there.q[1], steps.q[1], rtol=1e-9, atol=1e-9)
    assert np.isfinite(got.check().power[1])


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("method", ["rkmk4", "cf4"])
def test_the_steps_of_others_do_not_change_where_a_function_loses_a_state(method, dense):
    """It is asked for all states at once, and those that are lost wait where they began."""
    asked = []

    def pull(t, q, v):
        asked.append((np.shape(t), np.isfinite(q).all() and np.isfinite(v).all()))
        return np.where(q[..., 1:] > 0.5, 20.0 * v**3, 0.0)

    q = np.array([[[0.1, 0.0], [0.0, 1.0]], [[0.2, 0.3], [0.0, 1.0]]])
    v = np.array([[[0.0, 0.1], [1.0, 1.1]], [[0.1, 0.2], [1.0, 1.2]]])
    options = {"method": method, "dt": 0.005, "dense": dense}
    got = jc.simulate(ARM, q, v, TIMES, pull, on_failure="mark", **options)
    assert [x.state for x in got.failures] == [(0, 1), (1, 1)]
    assert set(asked) == {((2, 2), True)}  # never with numbers that are not finite
    for at in ((0, 0), (1, 0)):
        alone = jc.simulate(ARM, q[at], v[at], TIMES, pull, **options)
        np.testing.assert_allclose(got.q[at], alone.q, atol=1e-14)
        np.testing.assert_allclose(got.v[at], alone.v, atol=1e-13)
    for lost in got.failures:
        one = jc.simulate(ARM, q[lost.state], v[lost.state], TIMES, pull, on_failure="mark",
                          **options)  # fmt: skip
        assert one.failures[0].t == lost.t == got.ended[lost.state]
        assert (np.isnan(got.q[lost.state][:, 0]) == (lost.t < TIMES)).all()
        if dense:
            assert np.isnan(got.at([lost.t + 0.01]).v[lost.state]).all()
    with pytest.raises(jc.DivergenceError, match="state 1 leads to numbers") as caught:
        jc.simulate(ARM, q, v, TIMES, pull, **options)
    np.testing.assert_array_equal(caught.value.motion.q, got.q)


def test_what_happens_to_lost_states_is_chosen():
    with pytest.raises(jc.ArgumentError, match="on_failure must be 'raise' or 'mark'"):
        jc.simulate(BALL, [0.0], [0.0], TIMES, on_failure="ignore")


SWING = jc.ModelBuilder().add_body(
    "bob", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -1.0)
)


@pytest.mark.parametrize("method", ["dop853", "dopri5", "taylor"])
@pytest.mark.parametrize("margin", [1e-3, 1e-6, 1e-9])
def test_two_crossings_between_samples_are_found(method, margin):
    """A pendulum passes a level just below its highest point twice, within a short time."""
    level = 0.5 - margin
    event = jc.Event(lambda t, q, v: q[0] - level)
    start = jc.simulate(SWING.build(), [0.5], [0.0], [0.0, 0.9], rtol=1e-12, atol=1e-12)
    q, v = start.q[-1], start.v[-1]  # on its way, somewhere
    tight = {"rtol": 1e-12, "atol": 1e-12, "events": [event]}
    got = jc.simulate(SWING.build(), q, v, [0.0, 2.5], None, method, **tight)
    assert [record.direction for record in got.events] == [1, -1]
    first, second = (record.t for record in got.events)
    width = 2 * np.sqrt(2 * margin / (G * np.sin(0.5)))
    assert abs(second - first - width) < 0.01 * width + 1e-5


@pytest.mark.parametrize("count", [17, 40], ids=["at the end", "on the way"])
@pytest.mark.parametrize("offset", [-3e-3, -1e-3, -1e-4, 1e-4, 1e-3, 3e-3])
@pytest.mark.parametrize("method", ["dop853", "dopri5", "taylor"])
def test_two_crossings_beside_any_stored_time_are_found(method, offset, count):
    """Times are followed in portions; the highest point of a pendulum lies beside the end of one.

    Around it q = 0.5 - (g sin 0.5) t^2 / 2, so that it is above the level for as long as it is away
    from the stored time.
    """
    fall = G * np.sin(0.5)
    event = jc.Event(lambda t, q, v: q[0] - (0.5 - fall / 2 * (offset / 2) ** 2))
    tight = {"rtol": 1e-12, "atol": 1e-12}
    before = jc.simulate(SWING.build(), [0.5], [0.0], [0.0, 0.3], **tight)
    q, v = before.q[-1], -before.v[-1]  # on its way up, to where it was let go
    t = np.arange(count) * ((0.3 + offset) / 16)
    got = jc.simulate(SWING.build(), q, v, t, None, method, events=[event], **tight)
    if count == 17 and offset < 0:
        assert not got.events  # it has not yet been there
        return
    assert [record.direction for record in got.events] == [1, -1]
    half = abs(offset) / 2
    np.testing.assert_allclose([x.t for x in got.events], [0.3 - half, 0.3 + half], atol=1e-6)
