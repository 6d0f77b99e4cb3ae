"""What was computed is there after a state that never arrives and a control that raises."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

ARM = jc.models.chain(2)


def nothing(t, q, v):
    return np.zeros_like(v)


def no_series(t, q, v):
    return np.zeros((1, len(v)))


HOPELESS = {
    "compiled": {},
    "compiled taylor": {"method": "taylor"},
    "function": {"control": nothing},
    "series": {"control": no_series, "method": "taylor"},
    "events": {"events": jc.Event(lambda t, q, v: 1.0)},
}


@pytest.mark.long
@pytest.mark.parametrize("kind", HOPELESS)
def test_a_state_that_would_take_too_many_steps_does_not_lose_the_others(kind):
    """At 1e16 rad/s no step is longer than some 1e-15 s."""
    q, v = np.zeros((5, 2)), np.zeros((5, 2))
    v[3, 0] = 1e16
    given, options = (ARM, q, v, [0.0, 0.5, 1.0]), HOPELESS[kind]
    got = jc.simulate(*given, on_failure="mark", **options)
    (lost,) = got.failures
    assert lost.state == (3,)
    assert 0 <= lost.t < 1e-6
    assert got.ended[3] == lost.t
    others = np.delete(np.arange(5), 3)
    assert np.isfinite(got.q[others]).all()
    assert np.isnan(got.q[3, 1:]).all()
    with pytest.raises(jc.DivergenceError) as raised:
        jc.simulate(*given, **options)
    assert str(raised.value) == lost.message
    np.testing.assert_array_equal(raised.value.motion.q, got.q)


class TornError(RuntimeError):
    """What a control raises."""


def tears(shape):
    def control(t, q, v):
        if np.max(t) > 0.5:
            raise TornError("wire")
        return np.zeros(shape)

    return control


TORN = {
    "adaptive": ((2,), {}),
    "fixed": ((2,), {"method": "rkmk4", "dt": 0.01}),
    "fixed without dense output": ((2,), {"method": "rkmk4", "dt": 0.01, "dense": False}),
    "taylor": ((1, 2), {"method": "taylor"}),
    "events": ((2,), {"events": jc.Event(lambda t, q, v: t - 0.31)}),
    "events of series": (
        (1, 2),
        {
            "method": "taylor",
            "events": jc.Event(
                lambda t, q, v: q[0] - 0.1, series=lambda q, v, tau: [q[0] - 0.1, *v[:, 0]]
            ),
        },
    ),
}


@pytest.mark.parametrize("kind", TORN)
def test_a_control_that_raises_hands_over_what_was_computed(kind):
    shape, options = TORN[kind]
    t = np.linspace(0.0, 1.0, 21)
    start = [0.3, 0.2], [1.0, 0.0]
    with pytest.raises(TornError) as raised:
        jc.simulate(ARM, *start, t, tears(shape), **options)
    found = raised.value.motion
    assert found.interrupted
    assert 0.1 < found.t[-1] < 0.7  # Taylor asks at the start of a step
    exact = jc.simulate(ARM, *start, t, rtol=1e-11, atol=1e-11).at(found.t)
    np.testing.assert_allclose(found.q, exact.q, rtol=0, atol=1e-5)


@pytest.mark.parametrize("method", ["dop853", "rkmk4"])
def test_steps_within_a_long_interval_are_handed_over(method):
    options = {"dt": 0.01} if method == "rkmk4" else {}
    with pytest.raises(TornError) as raised:
        jc.simulate(ARM, [0.3, 0.2], [1.0, 0.0], [0.0, 1.0], tears((2,)), method, **options)
    found = raised.value.motion
    assert 0.1 < found.t[-1] < 0.52
    exact = jc.simulate(ARM, [0.3, 0.2], [1.0, 0.0], [0.0, 1.0], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found.at(0.1).q, exact.at(0.1).q, rtol=0, atol=1e-5)


def test_errors_without_a_place_for_a_motion_stay_what_they_are():
    class Narrow(KeyError):
        __slots__ = ()

        def __setattr__(self, name, value):
            raise AttributeError(name)

    def control(t, q, v):
        if t > 0.5:
            raise Narrow
        return nothing(t, q, v)

    with pytest.raises(Narrow):
        jc.simulate(ARM, [0.3, 0.2], [1.0, 0.0], [0.0, 1.0], control)


def test_one_time_has_no_axis():
    motion = jc.simulate(ARM, np.zeros((3, 2)), [1.0, 0.0], [0.0, 1.0])
    one, row = motion.at(0.5), motion.at([0.5])
    np.testing.assert_array_equal(one.q, row.q[:, 0])
    np.testing.assert_array_equal(one.v, row.v[:, 0])
    near = motion.at(np.float64(0.5), approximate=True)
    assert near.q.shape == (3, 2)
