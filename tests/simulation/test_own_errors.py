"""Errors of controls, events and maps come as they were raised, with what was computed."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

import jounce as jc

ARM = jc.models.chain(2)
TIMES = np.linspace(0.0, 1.0, 11)
FAILS = 0.35
METHODS = {"dop853": {}, "dopri5": {}, "rkmk4": {"dt": 0.01}, "taylor": {}}
RAISED = [jc.ArgumentError, jc.DivergenceError, jc.SingularError, jc.ModelError, ValueError]


def failing(method, error):
    """A control that raises an error from some time on."""

    def control(t, q, v):
        if np.max(t) > FAILS:
            raise error from ZeroDivisionError("mine")
        return [0 * v] if method == "taylor" else 0 * v

    return control


@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("method", METHODS)
def test_a_control_raises_what_it_raises(method, batch, kind):
    q, error = np.full((*batch, 2), 0.3), kind("mine")
    for on_failure in ("raise", "mark"):
        options = {"on_failure": on_failure, **METHODS[method]}
        with pytest.raises(kind) as caught:
            jc.simulate(ARM, q, [0, 0], TIMES, failing(method, error), method, **options)
        assert caught.value is error
        assert isinstance(error.__cause__, ZeroDivisionError)
        assert error.__context__ is None
        assert "control" in [x.name for x in traceback.extract_tb(error.__traceback__)]
        assert 0.2 < error.motion.t[-1] < TIMES[-1]


@pytest.mark.parametrize("method", METHODS)
def test_one_that_raises_at_once_leaves_the_start(method):
    control = failing(method, ValueError("mine"))
    with pytest.raises(ValueError, match="mine") as caught:
        jc.simulate(ARM, [0.3, 0.3], [0, 0], 1 + TIMES, control, method, **METHODS[method])
    motion = caught.value.motion
    np.testing.assert_array_equal(motion.t, [1.0])
    np.testing.assert_array_equal(motion.q, [[0.3, 0.3]])


@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("series", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_so_it_does_between_events(method, series, kind):
    event = jc.coordinate_event(ARM, "joint0", 0.2)
    if not series:
        event = jc.Event(event.function)
    control = failing(method, kind("mine"))
    with pytest.raises(kind) as caught:
        jc.simulate(
            ARM, [0.3, 0.3], [0, 0], TIMES, control, method, events=event, **METHODS[method]
        )
    assert str(caught.value) == "mine"
    assert 0.2 < caught.value.motion.t[-1] < TIMES[-1]


@pytest.mark.parametrize("method", ["dop853", "rkmk4"])
def test_a_motion_that_ends_too_soon_is_named(method):
    """The mistake is in the control, not in the length of the steps."""
    first = jc.simulate(ARM, [0.3, 0.3], [0, 0], [0.0, 0.3])

    def control(t, q, v):
        return -10 * (q - first.at(t).q)

    with pytest.raises(jc.ArgumentError, match=r"t must be times of shape .* from 0.0 to 0.3"):
        jc.simulate(ARM, [0.3, 0.3], [0, 0], TIMES, control, method, **METHODS[method])


@pytest.mark.parametrize("batch", [pytest.param((), marks=pytest.mark.long), (2,)])
@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_a_control_may_refuse_what_a_step_only_tries(method, batch):
    """Steps become shorter then, as where numbers are too large for the dynamics."""
    model = jc.models.chain(1)
    inertia = jc.mass_matrix(model, [0.0])[0, 0]
    refused = []

    def stiff(t, q, v):
        rate = np.where(np.asarray(t) > 0.5, 1e3, 1.0)[..., None]
        return inertia * (-rate * rate * q - 2 * rate * v)

    def careful(t, q, v):
        if np.abs(v).max() > 500.0:
            refused.append(t)
            raise jc.ArgumentError("too fast for me")
        return stiff(t, q, v)

    start = np.full((*batch, 1), 0.3), np.zeros((*batch, 1)), [0.0, 0.5, 1.0]
    found, expected = (jc.simulate(model, *start, x, method) for x in (careful, stiff))
    assert refused
    np.testing.assert_allclose(found.q, expected.q, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("method", ["dop853", "rkmk4"])
def test_numbers_too_large_are_no_mistake_of_a_control(method):
    """Functions of the package refuse them, and so does a control that calls these."""

    def control(t, q, v):
        return 5 * v**3 + jc.bias_forces(ARM, q, v)

    v = np.array([[0.0, 0.0], [20.0, 5.0]])
    options = {"on_failure": "mark", **METHODS[method]}
    got = jc.simulate(ARM, np.zeros((2, 2)), v, TIMES, control, method, **options)
    assert [x.state for x in got.failures] == [(1,)]
    assert np.isfinite(got.q[0]).all()


@pytest.mark.parametrize("kind", [ValueError, TypeError, jc.ArgumentError])
@pytest.mark.parametrize("method", ["dop853", "taylor"])
@pytest.mark.parametrize("where", ["function", "map"])
def test_events_and_maps_raise_what_they_raise(where, method, kind):
    def own(t, q, v):
        raise kind("mine")

    parts = {"function": lambda t, q, v: q[0] - 0.2, where: own}
    with pytest.raises(kind, match=r"^mine$") as caught:
        jc.simulate(ARM, [0.3, 0.3], [0, 0], TIMES, method=method, events=jc.Event(**parts))
    assert "own" in [x.name for x in traceback.extract_tb(caught.value.__traceback__)]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"function": lambda t, q, v: q[0] + 1j},
            "event 'e' must return a number, got .*1j",
        ),
        ({"function": lambda t, q, v: "much"}, "event 'e' must return a number, got 'much'"),
        (
            {"map": lambda t, q, v: (q, 1j * v)},
            r"of event 'e' must return \(q, v\): they must be real",
        ),
        ({"map": lambda t, q, v: q[:1]}, r"of event 'e' must return \(q, v\), got array"),
    ],
)
def test_what_events_and_maps_return_is_checked(parts, message):
    parts = {"function": lambda t, q, v: q[0] - 0.2, "name": "e", **parts}
    with pytest.raises(jc.ArgumentError, match=message):
        jc.simulate(ARM, [0.3, 0.3], [0, 0], TIMES, events=jc.Event(**parts))


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("method", METHODS)
def test_a_control_may_write_to_what_it_is_given(method, batch):
    """Its arrays are its own; those of the integration stay as they are."""
    model, q = jc.models.chain(2), np.full((*batch, 2), 0.3)
    kept = []

    def plain(t, q, v):
        tau = -10 * q - v
        return [tau] if method == "taylor" else tau

    def writing(t, q, v):
        kept.append((q, q.copy()))
        now = np.array(q)
        now *= -10
        now -= v
        q[...], v[...] = 7.0, 8.0
        if isinstance(t, np.ndarray):
            t[...] = 9.0
        return [now] if method == "taylor" else now

    found, expected = (
        jc.simulate(model, q, [0, 0], TIMES, x, method, **METHODS[method]).q
        for x in (writing, plain)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    assert all((now == 7.0).all() for now, _ in kept)
