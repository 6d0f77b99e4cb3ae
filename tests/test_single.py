"""One state given by plain arrays goes a short way; it must not be told from the general one."""

import sys
import weakref

import numpy as np
import pytest

import jounce as jc

MODEL = jc.models.mixed_tree(3)
RNG = np.random.default_rng(5)
Q = jc.random_configuration(MODEL, RNG)
FRAME = MODEL.body_names[-1]
CALLS = {
    "inverse_dynamics": (Q, *RNG.standard_normal((2, MODEL.nv))),
    "forward_dynamics": (Q, *RNG.standard_normal((2, MODEL.nv))),
    "mass_matrix": (Q,),
    "potential_energy": (Q,),
    "kinetic_energy": (Q, RNG.standard_normal(MODEL.nv)),
    "inverse_dynamics_series": (Q, RNG.standard_normal((4, MODEL.nv))),
    "forward_dynamics_series": (
        Q,
        *RNG.standard_normal((1, MODEL.nv)),
        RNG.standard_normal((3, MODEL.nv)),
    ),
    "jacobian": (Q, FRAME),
    "body_twist": (Q, RNG.standard_normal(MODEL.nv), FRAME, "hybrid"),
    "hybrid_dynamics": (Q, *RNG.standard_normal((3, MODEL.nv)), np.arange(MODEL.nv) % 2 == 0),
    "inverse_dynamics_derivatives": (Q, *RNG.standard_normal((2, MODEL.nv))),
    "integrate": (Q, RNG.standard_normal(MODEL.nv)),
}


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def generally(function, *arguments):
    """The general way: a keyword that the short one does not know."""
    return function(MODEL, *arguments, threads=1)


@pytest.mark.parametrize("name", CALLS)
def test_both_ways_give_the_same(name):
    function = getattr(jc, name)
    short, general = function(MODEL, *CALLS[name]), generally(function, *CALLS[name])
    assert type(short) is type(general)
    for a, b in zip(as_tuple(short), as_tuple(general), strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(a, b, strict=isinstance(a, np.ndarray))


@pytest.mark.parametrize("name", [name for name in CALLS if not name.endswith("energy")])
def test_out_is_written_and_returned(name):
    function = getattr(jc, name)
    expected = generally(function, *CALLS[name])
    if isinstance(expected, tuple):
        pytest.skip("several results")
    out = np.full_like(expected, np.nan)
    assert function(MODEL, *CALLS[name], out=out) is out
    np.testing.assert_array_equal(out, expected)


def test_out_may_be_an_input():
    q, v, a = CALLS["inverse_dynamics"]
    expected = jc.inverse_dynamics(MODEL, q, v, a)
    for given in (1, 2):
        arguments = [q, v.copy(), a.copy()]
        out = arguments[given]
        assert jc.inverse_dynamics(MODEL, *arguments, out=out) is out
        np.testing.assert_array_equal(out, expected)


def test_a_failure_spoils_out_and_keeps_inputs():
    q, v, tau = CALLS["forward_dynamics"]
    out = np.zeros(MODEL.nv)
    with pytest.raises(jc.ArgumentError, match=r"v\[2\] is nan|not finite|v.*nan"):
        jc.forward_dynamics(MODEL, q, np.where(np.arange(MODEL.nv) == 2, np.nan, v), tau, out=out)
    assert np.isnan(out).all()


def bad_arguments():
    q, v, a = CALLS["inverse_dynamics"]
    yield "short", (q, v[:-1], a)
    yield "integers", (q, v, np.arange(MODEL.nv))
    yield "text", (q, v, "a")
    yield "nan", (q, v, a * np.nan)
    yield "quaternion", (q * 2.0, v, a)
    yield "missing", (q, v)
    yield "too many", (q, v, a, None, None)
    yield "complex", (q, v, a * 1j)
    yield "infinite", (q, v, a * np.inf)
    yield "overflow", (q, v * 1e200, a)


@pytest.mark.parametrize(("kind", "arguments"), list(bad_arguments()))
def test_both_ways_refuse_with_the_same_words(kind, arguments):
    def outcome(call):
        try:
            return call()
        except jc.Error as error:
            return type(error), str(error)

    short = outcome(lambda: jc.inverse_dynamics(MODEL, *arguments))
    general = outcome(lambda: generally(jc.inverse_dynamics, *arguments))
    if kind == "integers":
        np.testing.assert_array_equal(short, general)
    else:
        assert short == general
        assert isinstance(short, tuple)


def test_frames_are_refused_as_ever():
    with pytest.raises(jc.Error, match="nowhere"):
        jc.jacobian(MODEL, Q, "nowhere")
    with pytest.raises(jc.Error):
        jc.jacobian(MODEL, Q, 99)


def test_an_object_with_an_index_goes_the_general_way():
    class Index:
        def __index__(self):
            return 2

    np.testing.assert_array_equal(jc.jacobian(MODEL, Q, Index()), jc.jacobian(MODEL, Q, 2))


def test_no_reference_is_lost():
    q, v, a = CALLS["inverse_dynamics"]
    out = np.empty(MODEL.nv)
    counted = (q, v, a, out, MODEL, FRAME)
    before = [sys.getrefcount(x) for x in counted]
    for _ in range(100):
        jc.inverse_dynamics(MODEL, q, v, a)
        jc.inverse_dynamics(MODEL, q, v, a, out=out)
        jc.jacobian(MODEL, q, FRAME)
        with pytest.raises(jc.Error):
            jc.inverse_dynamics(MODEL, q, v, a * np.nan, out=out)
    assert [sys.getrefcount(x) for x in counted] == before


OTHER_Q = jc.random_configuration(MODEL, RNG)
GIVEN_AGAIN = getattr(sys, "_is_gil_enabled", lambda: True)()
"""Whether arrays are, which the interpreter's lock makes possible."""


@pytest.fixture
def forgotten():
    jc.clear_cache()
    yield
    jc.clear_cache(limit=256 * 2**20)


@pytest.mark.usefixtures("forgotten")
def test_an_array_is_given_again_when_nobody_holds_it():
    first = jc.mass_matrix(MODEL, Q)
    expected, array = first.copy(), id(first)
    first[:] = np.nan
    del first
    again = jc.mass_matrix(MODEL, Q)
    np.testing.assert_array_equal(again, expected)
    assert id(again) == array or not GIVEN_AGAIN


@pytest.mark.parametrize("hold", [lambda x: x, lambda x: x[1:], memoryview, weakref.ref])
@pytest.mark.usefixtures("forgotten")
def test_an_array_that_somebody_holds_stays_as_it_is(hold):
    held = [hold(jc.mass_matrix(MODEL, Q)) for _ in range(20)]
    before = [np.array(x() if isinstance(x, weakref.ref) else x) for x in held]
    for _ in range(40):
        jc.mass_matrix(MODEL, OTHER_Q)
    for x, old in zip(held, before, strict=True):
        now = x() if isinstance(x, weakref.ref) else x
        if now is not None:
            np.testing.assert_array_equal(now, old)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.setflags(write=False),
        lambda x: setattr(x, "shape", -1),
        lambda x: setattr(x, "dtype", np.int64),
    ],
)
@pytest.mark.usefixtures("forgotten")
def test_an_array_that_was_changed_is_not_given_again(change):
    expected = np.array(jc.mass_matrix(MODEL, Q))
    for _ in range(20):
        change(jc.mass_matrix(MODEL, Q))
    for _ in range(20):
        result = jc.mass_matrix(MODEL, Q)
        result[0, 0] += 1.0
        np.testing.assert_array_equal(jc.mass_matrix(MODEL, Q), expected)


@pytest.mark.usefixtures("forgotten")
def test_no_array_is_kept_after_clearing_or_without_a_cache():
    result = jc.mass_matrix(MODEL, Q)
    held = sys.getrefcount(result)
    jc.clear_cache(limit=0)
    other = jc.mass_matrix(MODEL, Q)
    assert sys.getrefcount(other) == sys.getrefcount(result) == held - GIVEN_AGAIN
