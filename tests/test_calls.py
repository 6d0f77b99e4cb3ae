"""Calls feel like NumPy: broadcasting, array-likes, out=, threads=, fresh results."""

from __future__ import annotations

import inspect
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import jounce as jc
from jounce import _core

SIGNATURES = {
    name: _core.signature(name)
    for name in _core.kernel_names()
    if not _core.signature(name)["internal"] and "_series" not in name  # see tests/series
}
KERNELS = {name: (*own["inputs"], *own["optional_inputs"]) for name, own in SIGNATURES.items()}
OPTIONS = {
    "body": lambda model: model.body_names[-1],
    "twist": lambda model: "hybrid",
    "prescribed": lambda model: np.arange(model.nv) % 3 == 0,
}
EPS = np.finfo(float).eps
FEW = ("inverse_dynamics", "hybrid_dynamics", "integrate", "kinetic_energy", "jacobian")


def options_of(name, model):
    return {key: OPTIONS[key](model) for key in SIGNATURES[name]["options"]}


def call(name, model, arguments, **more):
    result = getattr(jc, name)(model, **arguments, **options_of(name, model), **more)
    return result if isinstance(result, tuple) else (result,)


def arguments_of(name, at: SimpleNamespace) -> dict[str, np.ndarray]:
    return {key: getattr(at, key) for key in KERNELS[name]}


def trailing(key: str) -> int:
    return {"f_ext": 2, "s": 0}.get(key, 1)


def assert_same(got, expected, slack=2.0**20):
    """Equal up to rounding: relative to the largest number, for systems of condition 1e6."""
    for x, y in zip(got, expected, strict=True):
        assert np.shape(x) == np.shape(y)
        if np.size(y):
            np.testing.assert_allclose(x, y, rtol=0, atol=slack * EPS * (1 + np.abs(y).max()))


def assert_equal(got, expected):
    for x, y in zip(got, expected, strict=True):
        np.testing.assert_array_equal(x, y)


def one_by_one(name, model, arguments):
    """The same call as a Python loop over the batch."""
    leads = {key: x.shape[: x.ndim - trailing(key)] for key, x in arguments.items()}
    lead = np.broadcast_shapes(*leads.values())
    full = {
        key: np.broadcast_to(x, (*lead, *x.shape[x.ndim - trailing(key) :]))
        for key, x in arguments.items()
    }
    rows = [call(name, model, {key: x[at] for key, x in full.items()}) for at in np.ndindex(*lead)]
    return tuple(
        np.array(part).reshape((*lead, *np.shape(part[0]))) for part in zip(*rows, strict=True)
    )


@pytest.mark.parametrize("name", KERNELS)
def test_a_batch_equals_a_loop(name, robot, state):
    for count in (1, 2, 7, 8, 9, 17):
        arguments = arguments_of(name, state(robot, count))
        assert_same(call(name, robot, arguments), one_by_one(name, robot, arguments))


LEADS = [
    ((), (3,)),
    ((3,), ()),
    ((1,), (9,)),
    ((4, 1), (5,)),
    ((5,), (4, 1), ()),
    ((2, 1, 1), (3, 1), (17,)),
    ((1, 1), ()),
    ((2, 3), (2, 3), (1, 3), (2, 1), ()),
]


@pytest.mark.parametrize("name", KERNELS)
def test_leading_axes_broadcast(name, all_joints, state):
    for leads in LEADS:
        arguments = {
            key: getattr(state(all_joints, *lead, seed=k), key)
            for k, (key, lead) in enumerate(zip(KERNELS[name], itertools.cycle(leads)))
        }
        got = call(name, all_joints, arguments)
        assert_same(got, one_by_one(name, all_joints, arguments))


def test_any_number_of_axes_is_a_batch():
    """Arrays of results are found again by their shapes, whatever these are."""
    for model in (jc.models.chain(1), jc.models.chain(2), jc.models.chain(7)):
        q = np.linspace(0.1, 0.9, model.nq)
        expected, matrix = jc.gravity_forces(model, q), jc.mass_matrix(model, q)
        for axes in range(32):
            lead = (1,) * axes
            many = q.reshape(*lead, -1)
            for _ in range(2):
                got = jc.gravity_forces(model, many)
                np.testing.assert_array_equal(got, expected.reshape(*lead, -1))
                if axes < 31:
                    got = jc.mass_matrix(model, many)
                    np.testing.assert_array_equal(got, matrix.reshape(*lead, *matrix.shape))
            if axes < 28:
                none = np.zeros((2**54, 0, *lead, model.nq))
                assert jc.gravity_forces(model, none).shape == none.shape


def test_empty_batches_of_axes_that_no_array_has_are_refused():
    q = np.broadcast_to(np.zeros(2), (2**40, 1, 0, 2))
    v = np.broadcast_to(np.zeros(2), (1, 2**40, 1, 2))
    with pytest.raises(jc.TooLargeError, match=r"bias_forces\(\)"):
        jc.bias_forces(jc.models.chain(2), q, v)


@pytest.mark.parametrize("name", FEW)
def test_every_argument_may_be_the_one_that_varies(name, robot, state):
    single, batch = state(robot), state(robot, 11, seed=1)
    for varying in KERNELS[name]:
        arguments = {**arguments_of(name, single), varying: getattr(batch, varying)}
        assert_same(call(name, robot, arguments), one_by_one(name, robot, arguments))


class Subclass(np.ndarray):
    """An array type of a user."""


class Wrapper:
    """Something that NumPy can turn into an array, as tensors of other libraries are."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.x, dtype)


def unaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)
    y = raw[1:].view(np.float64).reshape(x.shape)
    y[...] = x
    return y


def read_only(x):
    y = x.copy()
    y.setflags(write=False)
    return y


ARRAY_LIKES = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "list of arrays": list,
    "float16": lambda x: x.astype(np.float16),
    "float32": lambda x: x.astype(np.float32),
    "longdouble": lambda x: x.astype(np.longdouble),
    "big-endian": lambda x: x.astype(">f8"),
    "big-endian float32": lambda x: x.astype(">f4"),
    "every other row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every other column": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "negative strides": lambda x: x[::-1, ..., ::-1].copy()[::-1, ..., ::-1],
    "Fortran order": np.asfortranarray,
    "transposed": lambda x: np.ascontiguousarray(np.swapaxes(x, 0, -1)).swapaxes(0, -1),
    "unaligned": unaligned,
    "read-only": read_only,
    "subclass": lambda x: x.view(Subclass),
    "masked array": np.ma.asarray,
    "__array__": Wrapper,
    "memoryview": memoryview,
}


@pytest.mark.parametrize("form", ARRAY_LIKES)
@pytest.mark.parametrize("name", FEW)
def test_array_likes_give_the_same_numbers(name, form, state):
    model = jc.models.chain(5)
    eighths = {
        key: np.round(8 * x) / 8 for key, x in arguments_of(name, state(model, 9)).items()
    }  # exact in every floating-point type above
    expected = call(name, model, eighths)
    for key in eighths:
        changed = {**eighths, key: ARRAY_LIKES[form](eighths[key])}
        got = call(name, model, changed)
        assert_equal(got, expected)
        assert all(type(x) is np.ndarray and x.dtype == np.float64 for x in got)


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "i4", ">i4", "i8", "u8"])
def test_integers_are_numbers(dtype):
    model = jc.models.chain(5)
    x = np.array([[0, 1, 1, 0, 1], [1, 0, 0, 0, 1]])
    expected = jc.inverse_dynamics(model, x.astype(float), x.astype(float), x.astype(float))
    y = x.astype(dtype)
    np.testing.assert_array_equal(jc.inverse_dynamics(model, y, y, y), expected)


@pytest.mark.parametrize("name", KERNELS)
def test_inputs_stay_as_they_are(name, all_joints, state):
    at = state(all_joints, 9)
    at.q[..., all_joints.q_slice(_spherical(all_joints))] *= 1.0005  # to be normalized inside
    arguments = arguments_of(name, at)
    before = {key: x.copy() for key, x in arguments.items()}
    call(name, all_joints, arguments)
    call(name, all_joints, {key: x[0] for key, x in arguments.items()})
    for key, x in arguments.items():
        np.testing.assert_array_equal(x, before[key])


def _spherical(model):
    return next(j.name for j in model.joints if j.type == "spherical")


@pytest.mark.parametrize("lead", [(), (9,)], ids=str)
@pytest.mark.parametrize("name", KERNELS)
def test_results_are_fresh_arrays(name, lead, all_joints, state):
    arguments = arguments_of(name, state(all_joints, *lead))
    first, second = (call(name, all_joints, arguments) for _ in range(2))
    assert_equal(first, second)
    arrays = [x for x in (*first, *second) if isinstance(x, np.ndarray)]
    for x, y in itertools.combinations([*arrays, *arguments.values()], 2):
        if any(x is z for z in arrays) or any(y is z for z in arrays):
            assert not np.shares_memory(x, y)
    for x in arrays:
        assert x.flags.c_contiguous
        assert x.flags.owndata
        assert x.flags.writeable


@pytest.mark.parametrize("lead", [(0,), (0, 3), (3, 0)], ids=str)
@pytest.mark.parametrize("name", KERNELS)
def test_an_empty_batch_gives_an_empty_result(name, lead, all_joints, state):
    single = call(name, all_joints, arguments_of(name, state(all_joints)))
    for varying in KERNELS[name]:
        arguments = arguments_of(name, state(all_joints))
        shape = np.shape(arguments[varying])
        arguments[varying] = np.zeros((*lead, *shape))
        got = call(name, all_joints, arguments, threads=2)
        assert [x.shape for x in got] == [(*lead, *np.shape(y)) for y in single]


def test_one_number_is_a_numpy_float(robot, state):
    at = state(robot)
    assert type(jc.kinetic_energy(robot, at.q, at.v)) is np.float64
    assert type(jc.potential_energy(robot, at.q)) is np.float64
    assert jc.potential_energy(robot, at.q[None]).shape == (1,)


def test_a_robot_without_bodies_is_no_special_case():
    model = jc.ModelBuilder().build()
    assert jc.inverse_dynamics(model, [], [], []).shape == (0,)
    assert jc.forward_dynamics(model, np.zeros((5, 0)), [], []).shape == (5, 0)
    assert jc.inverse_mass_matrix(model, []).shape == (0, 0)
    assert jc.body_poses(model, np.zeros((2, 0))).shape == (2, 0, 4, 4)
    assert jc.kinetic_energy(model, [], []) == 0
    assert jc.neutral(model).shape == (0,)
    np.testing.assert_array_equal(jc.momentum(model, [], []), np.zeros(6))


@pytest.mark.parametrize("name", KERNELS)
def test_positional_and_keyword_calls_agree(name, all_joints, state):
    function = getattr(jc, name)
    arguments = arguments_of(name, state(all_joints))
    given = {"model": all_joints, **arguments, **options_of(name, all_joints)}
    order = [key for key in inspect.signature(function).parameters if key in given]
    positional = function(*(given[key] for key in order))
    shuffled = function(**{key: given[key] for key in reversed(order)})
    assert_equal(np.atleast_1d(shuffled), np.atleast_1d(positional))


def test_external_wrenches_are_optional(all_joints, state):
    at = state(all_joints)
    none = np.zeros_like(at.f_ext)
    expected = jc.inverse_dynamics(all_joints, at.q, at.v, at.a, none)
    for without in (
        jc.inverse_dynamics(all_joints, at.q, at.v, at.a),
        jc.inverse_dynamics(all_joints, at.q, at.v, at.a, None),
        jc.inverse_dynamics(all_joints, at.q, at.v, at.a, f_ext=None),
    ):
        np.testing.assert_allclose(without, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("lead", [(), (9,), (2, 5)], ids=str)
@pytest.mark.parametrize("name", KERNELS)
def test_out_receives_the_result(name, lead, all_joints, state):
    arguments = arguments_of(name, state(all_joints, *lead))
    expected = call(name, all_joints, arguments)
    arrays = tuple(np.full(np.shape(x), np.nan) for x in expected)
    got = call(name, all_joints, arguments, out=arrays if len(arrays) > 1 else arrays[0])
    assert all(x is y for x, y in zip(got, arrays, strict=True))
    assert_equal(arrays, expected)


def test_out_may_be_an_input(robot, state):
    for lead in [(), (9,), (33,)]:
        at = state(robot, *lead)
        for name in ("integrate", "inverse_dynamics", "forward_dynamics"):
            arguments = arguments_of(name, at)
            expected = call(name, robot, arguments)
            shape = expected[0].shape
            for key in [key for key, x in arguments.items() if x.shape == shape]:
                shared = {**arguments, key: arguments[key].copy()}
                call(name, robot, shared, out=shared[key])
                np.testing.assert_array_equal(shared[key], expected[0], err_msg=f"{name} {key}")


def test_out_may_overlap_an_input_in_part(state):
    model = jc.models.chain(4)
    at = state(model, 20)
    expected = jc.integrate(model, at.q[:15], at.dv[:15])
    for shift in range(6):
        memory = at.q.copy()
        out = memory[shift : shift + 15]
        jc.integrate(model, memory[:15], at.dv[:15], out=out)
        np.testing.assert_array_equal(out, expected)


def test_hybrid_outputs_may_be_its_inputs(all_joints, state):
    at = state(all_joints, 9)
    mask = np.arange(all_joints.nv) % 2 == 0
    a, tau = jc.hybrid_dynamics(all_joints, at.q, at.v, at.a, at.tau, mask)
    jc.hybrid_dynamics(all_joints, at.q, at.v, at.a, at.tau, mask, out=(at.tau, at.a))
    assert_equal((at.tau, at.a), (a, tau))


@pytest.mark.parametrize("lead", [(), (64,)], ids=str)
def test_a_failed_call_leaves_a_shared_input_alone(lead, all_joints, state):
    at = state(all_joints, *lead)
    at.dv[(*[-1] * len(lead), 3)] = np.nan
    before = at.q.copy()
    with pytest.raises(ValueError, match="dv must be finite"):
        jc.integrate(all_joints, at.q, at.dv, out=at.q)
    np.testing.assert_array_equal(at.q, before)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_failed_call_leaves_nothing_half_done(threads, all_joints, state):
    at = state(all_joints, 300)
    out = np.zeros_like(at.v)
    at.a[250, 3] = np.nan
    with pytest.raises(ValueError, match="a must be finite"):
        jc.inverse_dynamics(all_joints, at.q, at.v, at.a, out=out, threads=threads)
    assert np.isnan(out).all()


def read_only_out(shape):
    x = np.zeros(shape)
    x.setflags(write=False)
    return x


def misaligned_out(shape):
    return np.zeros(8 * np.prod(shape) + 1, np.uint8)[1:].view(float).reshape(shape)


BAD_OUT = {
    "too short": (lambda s: np.zeros((s[0], s[1] - 1)), r"of shape \(9, 6\), got .*\(9, 5\)"),
    "too few axes": (lambda s: np.zeros(s[1]), r"got .*\(6,\)"),
    "to be broadcast": (lambda s: np.zeros((1, *s)), r"got .*\(1, 9, 6\)"),
    "float32": (lambda s: np.zeros(s, np.float32), "got a float32 array"),
    "big-endian": (lambda s: np.zeros(s, ">f8"), "got a >f8 array"),
    "Fortran order": (lambda s: np.zeros(s, order="F"), "got a non-contiguous float64 array"),
    "strided": (lambda s: np.zeros((s[0], 2 * s[1]))[:, ::2], "got a non-contiguous"),
    "read-only": (read_only_out, "got a read-only float64 array"),
    "misaligned": (misaligned_out, "got a misaligned float64 array"),
    "list": (lambda s: np.zeros(s).tolist(), "got list"),
    "number": (lambda s: 3.0, "got float"),
    "tuple": (lambda s: (np.zeros(s),), "got tuple"),
}


@pytest.mark.parametrize("bad", BAD_OUT)
def test_an_out_that_does_not_fit_is_refused(bad, state):
    model = jc.models.chain(6)
    at = state(model, 9)
    make, message = BAD_OUT[bad]
    with pytest.raises(ValueError, match=f"out must be .*{message}"):
        jc.inverse_dynamics(model, at.q, at.v, at.a, out=make((9, 6)))


def test_hybrid_needs_two_separate_outputs(state):
    model = jc.models.chain(6)
    at = state(model)
    x, mask = np.zeros(6), np.ones(6, bool)
    for bad in (x, [x, x.copy()], (x,), (x, x, x), (x, None)):
        with pytest.raises(ValueError, match="out must be"):
            jc.hybrid_dynamics(model, at.q, at.v, at.a, at.tau, mask, out=bad)
    with pytest.raises(ValueError, match="out must not share memory"):
        jc.hybrid_dynamics(model, at.q, at.v, at.a, at.tau, mask, out=(x, x))


@pytest.mark.parametrize("threads", [0, 1, 2, 3, 64, np.int64(2), True])
def test_any_number_of_threads_gives_the_same_bits(threads, all_joints, state):
    at = state(all_joints, 2001)
    expected = jc.forward_dynamics(all_joints, at.q, at.v, at.tau)
    got = jc.forward_dynamics(all_joints, at.q, at.v, at.tau, threads=threads)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("threads", [-1, 1.0, None, "2", 10**6, 2**80, [2], np.array([1, 2])])
def test_threads_must_be_a_number_of_threads(threads, state):
    model = jc.models.chain(2)
    at = state(model)
    with pytest.raises(ValueError, match="threads must be 0"):
        jc.inverse_dynamics(model, at.q, at.v, at.a, threads=threads)
