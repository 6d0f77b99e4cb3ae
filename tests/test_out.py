"""`out=` behaves alike in all public functions, compiled or in Python."""

from __future__ import annotations

import inspect
import itertools
import re

import numpy as np
import pytest

import jounce as jc

MODEL = jc.models.random_tree(5, 3)
STATES = 3


def arguments():
    """Values for every parameter that a function with `out` has; each call gets its own."""
    rng = np.random.default_rng(0)
    n = MODEL.nv
    v, a, tau = rng.standard_normal((3, STATES, n))
    return {
        "model": MODEL,
        "q": jc.random_configuration(MODEL, 1, STATES),
        "q0": jc.random_configuration(MODEL, 2, STATES),
        "q1": jc.random_configuration(MODEL, 3, STATES),
        "v": v,
        "v0": v,
        "dv": 0.1 * v,
        "a": a,
        "tau": tau,
        "motion": rng.standard_normal((STATES, 3, n)),
        "f_ext": rng.standard_normal((STATES, MODEL.n_bodies, 6)),
        "prescribed": np.arange(n) % 2 == 0,
        "body": MODEL.n_bodies - 1,
        "dt": 0.01,
        "order": 1,
        "weights": rng.standard_normal((STATES, n)),
        "s": rng.uniform(0, 1, STATES),
        "constraints": jc.Constraints(
            MODEL, [jc.Point(MODEL.n_bodies - 1)], tolerance=np.inf
        ),  # motions are random
        "wrenches": {MODEL.n_bodies - 1: rng.standard_normal((STATES, 6))},
    }


def with_out():
    for name in jc.__all__:
        function = getattr(jc, name)
        if callable(function) and not isinstance(function, type):
            parameters = inspect.signature(function).parameters
            if "out" in parameters and name not in ELSEWHERE:
                yield name


ELSEWHERE = ("jvp", "vjp", "parameter_derivatives", "path_dynamics", "inverse_kinematics")
"""These take other arguments: see tests/test_out_of_functions.py and tests/partials/test_jvp.py."""


NAMES = sorted(with_out())
every_function = pytest.mark.parametrize("name", NAMES)


def given(name):
    """Arguments of a function, those of series as it takes them."""
    known = arguments()
    wanted = [p for p in inspect.signature(getattr(jc, name)).parameters if p in known]
    chosen = {p: known[p] for p in wanted}
    if name in ("linearize", "linearize_step"):  # have no out under constraints
        del chosen["constraints"]
    if name in ("rollout", "step"):  # see tests/simulation/test_constrained_rollout.py
        del chosen["constraints"]
    if name in ("linearize_step", "rollout", "step"):
        del chosen["order"]  # of "taylor", at least 2
    if name == "linearize_step":
        del chosen["weights"]  # those of a state, see tests/partials/test_step_hessians.py
    if name == "constrained_hybrid_dynamics_series":
        chosen["prescribed"] = np.arange(MODEL.nv) == 0  # the others can fulfill the constraints
    if name.startswith("constrained_inverse"):
        chosen.pop("weights", None)  # one for each input
    if name == "rollout_vjp":
        chosen["weights"] = (
            np.random.default_rng(1).standard_normal((2, STATES, 3, MODEL.nv)).tolist()
        )
    if "dynamics_series" in name or name.startswith("rollout"):
        for p in ("a", "tau"):
            if p in chosen:
                chosen[p] = np.stack([chosen[p], 0.5 * chosen[p]], axis=-2)
        if "f_ext" in chosen:
            chosen["f_ext"] = np.stack([chosen["f_ext"]] * 2, axis=-3)
    return chosen


def call(name, out=None, **changes):
    return getattr(jc, name)(**{**given(name), **changes}, out=out)


def arrays(result):
    return result if isinstance(result, tuple) else (result,)


def as_given(result, replaced):
    """The arrays in the form of the result: one array or a tuple."""
    return tuple(replaced) if isinstance(result, tuple) else replaced[0]


def test_compiled_and_python_functions_are_among_them():
    compiled = {name for name in NAMES if inspect.isbuiltin(getattr(jc, name))}
    assert {"inverse_dynamics", "hybrid_dynamics"} <= compiled
    assert {"linearize", "jacobian_derivatives"} <= set(NAMES) - compiled


@every_function
def test_results_are_written_to_out_and_returned(name):
    expected = call(name)
    out = as_given(expected, [np.full_like(x, 7.0) for x in arrays(expected)])
    result = call(name, out)
    assert type(result) is type(expected) or np.ndim(expected) == 1
    for x, y, z in zip(arrays(result), arrays(out), arrays(expected), strict=True):
        assert x is y
        np.testing.assert_array_equal(x, z)


def misaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)[1:]
    return raw.view(np.float64).reshape(x.shape)


def read_only(x):
    y = x.copy()
    y.setflags(write=False)
    return y


def strided(x):
    return np.zeros((*x.shape, 2))[..., 0]


BAD = {
    "shape": (lambda x: np.zeros((*x.shape, 1)), "float64 array of shape"),
    "fewer states": (lambda x: np.zeros(x.shape[1:]), "float64 array of shape"),
    "dtype": (lambda x: x.astype(np.float32), "got a float32 array"),
    "integers": (lambda x: np.zeros(x.shape, int), "got a int64 array"),
    "byte order": (lambda x: x.astype(">f8"), "got a >f8 array"),
    "read-only": (read_only, "got a read-only float64 array"),
    "non-contiguous": (strided, "got a non-contiguous float64 array"),
    "misaligned": (misaligned, "got a misaligned float64 array"),
    "a list": (lambda x: x.tolist(), "got list"),
    "a number": (lambda x: 3.0, "got float"),
    "a string": (lambda x: "out", "got str"),
}


@every_function
def test_a_bad_array_is_refused_in_the_same_words(name):
    expected = call(name)
    for (bad, (make, words)), (k, x) in itertools.product(BAD.items(), enumerate(arrays(expected))):
        good = [np.full_like(y, 7.0) for y in arrays(expected)]
        out = as_given(expected, [*good[:k], make(x), *good[k + 1 :]])
        with pytest.raises(ValueError, match="out must be") as caught:
            call(name, out)
        must = f"out must be a writable C-contiguous float64 array of shape {x.shape}, got "
        assert str(caught.value).startswith(must), bad
        assert words in str(caught.value), bad
        written = [j for j, y in enumerate(good) if j != k and (y != 7.0).any()]
        assert not written, bad


@every_function
def test_a_masked_array_is_refused(name):
    """It would hide results, or not take them."""
    expected = call(name)
    for k, x in enumerate(arrays(expected)):
        good = [np.full_like(y, 7.0) for y in arrays(expected)]
        hidden = np.ma.array(np.zeros_like(x), mask=True, hard_mask=True)
        out = as_given(expected, [*good[:k], hidden, *good[k + 1 :]])
        with pytest.raises(
            jc.ArgumentError, match=r"^out must be a plain array, got a masked one$"
        ):
            call(name, out)
        assert not hidden.data.any()


@every_function
def test_a_bad_out_is_reported_before_bad_numbers(name):
    wrong = {p: np.full_like(x, np.nan) for p, x in given(name).items() if p in ("q", "q0")}
    with pytest.raises(ValueError, match="out must be"):
        call(name, "out", **wrong)


SEVERAL = [name for name in NAMES if isinstance(call(name), tuple)]


@pytest.mark.parametrize("name", SEVERAL)
def test_several_results_need_a_tuple_of_as_many_arrays(name):
    expected = call(name)
    good = tuple(np.empty_like(x) for x in expected)
    for bad in (good[:-1], (*good, good[0]), list(good), good[0], (), 3):
        with pytest.raises(ValueError, match=f"out must be a tuple of {len(good)} arrays"):
            call(name, bad)


@pytest.mark.parametrize("name", SEVERAL)
def test_the_arrays_of_out_must_be_apart(name):
    expected = call(name)
    sizes = [x.size for x in expected]
    buffer = np.zeros(sum(sizes) + 1)
    pairs = [(j, k) for k in range(len(sizes)) for j in range(k)]
    for j, k in pairs[:4]:
        out = [np.empty_like(x) for x in expected]
        out[j] = buffer[: sizes[j]].reshape(expected[j].shape)
        out[k] = buffer[1 : 1 + sizes[k]].reshape(expected[k].shape)
        with pytest.raises(ValueError, match="must not share memory with each other"):
            call(name, tuple(out))


def overlapping(name, expected, which):
    """Arguments and an output that share memory from its first entry on."""
    chosen = given(name)
    inputs = [p for p in ("q", "q0", "v", "motion") if p in chosen]
    p, target = inputs[which % len(inputs)], arrays(expected)[which % len(arrays(expected))]
    buffer = np.zeros(max(chosen[p].size, target.size))
    argument = buffer[: chosen[p].size].reshape(chosen[p].shape)
    argument[...] = chosen[p]
    out = [np.empty_like(x) for x in arrays(expected)]
    out[which % len(out)] = buffer[: target.size].reshape(target.shape)
    return p, argument, as_given(expected, out)


@every_function
@pytest.mark.parametrize("which", [0, 1])
def test_out_may_overlap_an_argument(name, which):
    expected = call(name)
    p, argument, out = overlapping(name, expected, which)
    result = call(name, out, **{p: argument})
    for x, y in zip(arrays(result), arrays(expected), strict=True):
        np.testing.assert_array_equal(x, y)


@every_function
def test_after_a_failure_out_is_nan(name):
    expected = call(name)
    out = as_given(expected, [np.full_like(x, 7.0) for x in arrays(expected)])
    wrong = {p: x.copy() for p, x in given(name).items() if p in ("q", "q0", "v", "motion")}
    for x in wrong.values():
        x[1] = np.nan
    with pytest.raises(ValueError, match=r"finite|nan"):
        call(name, out, **wrong)
    assert all(np.isnan(x).all() for x in arrays(out))


@every_function
def test_after_a_failure_arguments_are_as_they_were(name):
    expected = call(name)
    p, argument, out = overlapping(name, expected, 0)
    argument[1] = np.nan
    before = argument.copy()
    with pytest.raises(ValueError, match=r"finite|nan"):
        call(name, out, **{p: argument})
    np.testing.assert_array_equal(argument, before)


@every_function
def test_what_is_refused_before_it_is_computed_leaves_out_alone(name):
    expected = call(name)
    out = as_given(expected, [np.full_like(x, 7.0) for x in arrays(expected)])
    chosen = given(name)
    p = next(p for p in ("q", "q0") if p in chosen)
    for changes in ({p: chosen[p][..., :-1]}, {p: chosen[p] * 1j}, {p: "q"}, {"threads": -1}):
        with pytest.raises(ValueError, match="must"):
            call(name, out, **changes)
        assert all((x == 7.0).all() for x in arrays(out)), changes


@pytest.mark.parametrize(
    ("name", "missing"), [(n, p) for n in NAMES for p in "qv" if p in given(n)]
)
def test_messages_name_the_function_that_was_called(name, missing):
    """Not the kernel behind it, nor another function that it uses."""
    with pytest.raises(jc.Error) as error:
        getattr(jc, name)(**{**given(name), missing: None})
    assert set(re.findall(r"(\w+)\(\)", str(error.value))) <= {name}


@pytest.mark.parametrize("name", ["exp", "hat", "ad", "dexp"])
def test_complex_results_are_written_as_others_are(name):
    function, x = getattr(jc.lie, name), np.full((2, 6), 0.1 + 0.1j)
    expected = function(x)
    out = np.empty_like(expected)
    assert function(x, out=out) is out
    np.testing.assert_array_equal(out, expected)
    for wrong in (np.empty(expected.shape), np.asfortranarray(out), np.empty(3, complex)):
        with pytest.raises(jc.Error, match="out must"):
            function(x, out=wrong)
    with pytest.raises(jc.Error):
        function(x * np.nan, out=out)
    assert np.isnan(out).all()
