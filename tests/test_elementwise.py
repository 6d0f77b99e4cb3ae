"""Functions of group elements, quaternions and twists: called like kernels, without a model."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

import jounce as jc
from jounce import lie, twists
from jounce.errors import ArgumentError, ArgumentTypeError
from jounce.lie import _complex

EPS = np.finfo(float).eps
WIDTH = jc.core_info()["pack_width"]
COUNTS = sorted({1, 2, 3, WIDTH - 1, WIDTH, WIDTH + 1, 2 * WIDTH + 3})
ANALYTIC = (
    ["hat", "ad", "exp", "dexp", "dexp_inv"],  # of vectors of the algebra
    ["vee", "inverse", "Ad"],  # of elements of the group
    ["quat_normalize", "quat_to_matrix"],
)


def algebra(n, count, seed=0):
    """Vectors with angles from 0 to beyond the switch between sums and closed forms."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, n))
    x[:, :3] *= (np.geomspace(1e-9, 6.0, count) / np.linalg.norm(x[:, :3], axis=-1))[:, None]
    x[0, :3] = 0.0
    return x


def cases(n, count):
    """Functions with their arguments, by name."""
    x = algebra(n, count)
    T, q = lie.exp(x), lie.quat_exp(x[:, :3]) * np.linspace(0.5, 2, count)[:, None]
    for names, argument in zip(ANALYTIC, (x, T, q), strict=True):
        yield from ((name, (argument,)) for name in names)
    yield "quat_exp", (x[:, :3],)
    yield "rpy_to_matrix", (x[:, :3],)
    yield "quat_multiply", (q, q[::-1])


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("n", [3, 6])
def test_compiled_functions_agree_with_the_formulas_in_numpy(n, count):
    for name, arguments in cases(n, count):
        result, expected = getattr(lie, name)(*arguments), getattr(_complex, name)(*arguments)
        assert result.shape == expected.shape
        assert result.dtype == np.float64
        size = np.abs(expected).reshape(count, -1).max(axis=-1)
        error = np.abs(result - expected).reshape(count, -1).max(axis=-1)
        sensitive = 16.0 if name != "dexp_inv" else 600.0  # near its pole, 6 of 2 pi
        assert (error <= sensitive * EPS * (1 + size)).all(), name


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("n", [3, 6])
def test_states_of_a_batch_agree_with_single_ones(n, count):
    logs = [("log", (lie.exp(algebra(n, count)),))]
    logs += [("quat_log", (lie.quat_exp(algebra(3, count)),))]
    logs += [("matrix_to_quat", (lie.exp(algebra(3, count)),))]
    for name, arguments in [*cases(n, count), *logs]:
        function = getattr(lie, name)
        batch = function(*arguments)
        for i in range(count):
            single = function(*(a[i] for a in arguments))
            size = 1 + np.abs(single).max()
            bound = 16.0 if name != "dexp_inv" else 600.0
            assert np.abs(batch[i] - single).max() <= bound * EPS * size, name


def test_conversions_agree_with_the_formulas_in_numpy():
    rng = np.random.default_rng(1)
    for count in COUNTS:
        T, (x, a) = lie.exp(algebra(6, count)), rng.normal(size=(2, count, 6))
        for source in twists.REPRESENTATIONS:
            for target in twists.REPRESENTATIONS:
                pairs = [
                    (twists.convert(x, T, source, target), twists._convert(x, T, source, target)),
                    (
                        twists.convert_wrench(x, T, source, target),
                        twists._convert_wrench(x, T, source, target),
                    ),
                    (
                        twists.convert_acceleration(a, x, T, source, target),
                        twists._convert_acceleration(a, x, T, source, target),
                    ),
                    (twists.matrix(T, source, target), twists._matrix(T, source, target)),
                ]
                for result, expected in pairs:
                    bound = 64 * EPS * (1 + np.abs(T).max()) * (1 + np.abs(expected).max())
                    assert np.abs(result - expected).max() <= bound


def test_conversions_of_accelerations_keep_what_is_along_the_same_axes():
    rng = np.random.default_rng(2)
    T, a, x = lie.exp(rng.normal(size=6)), rng.normal(size=6), rng.normal(size=6)
    for name in twists.REPRESENTATIONS:
        same = twists.convert_acceleration(a, x, T, name, name)
        np.testing.assert_array_equal(same, a)
    np.testing.assert_array_equal(
        twists.convert_acceleration(a, x, T, "spatial", "hybrid")[:3], a[:3]
    )


# out, threads, broadcasting


def test_leading_axes_broadcast():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(5, 1, 4)), rng.normal(size=(3, 4))
    product = lie.quat_multiply(a, b)
    assert product.shape == (5, 3, 4)
    np.testing.assert_array_equal(product[4, 1], lie.quat_multiply(a[4, 0], b[1]))
    T, x = lie.exp(rng.normal(size=(2, 1, 6))), rng.normal(size=(7, 6))
    assert twists.convert(x, T, "body", "hybrid").shape == (2, 7, 6)
    assert twists.convert(x[0], T[0, 0], "body", "hybrid").shape == (6,)
    assert lie.exp(np.zeros((2, 0, 6))).shape == (2, 0, 4, 4)
    with pytest.raises(ArgumentError, match=r"leading \(batch\) axes of b"):
        lie.quat_multiply(np.ones((2, 4)), np.ones((3, 4)))


def test_out_is_written_and_returned():
    x = algebra(6, 11)
    out = np.empty((11, 4, 4))
    assert lie.exp(x, out=out) is out
    np.testing.assert_array_equal(out, lie.exp(x))
    log = np.empty((11, 6))
    assert lie.log(out, out=log) is log
    np.testing.assert_array_equal(lie.inverse(out, out=out), lie.inverse(lie.exp(x)))
    y = x.copy()
    np.testing.assert_array_equal(
        twists.convert(y, out, "body", "hybrid", out=y), twists.convert(x, out, "body", "hybrid")
    )
    for wrong in (np.empty((11, 4)), np.empty((11, 4, 4), np.float32), out[::2], [1.0]):
        with pytest.raises(
            ArgumentError, match="out must be a writable C-contiguous float64 array"
        ):
            lie.exp(x, out=wrong)


def test_nothing_is_half_done_after_a_failure():
    T = lie.exp(algebra(6, 9))
    T[7, 0, 0] += 0.1
    before, out = T.copy(), np.zeros((9, 6))
    with pytest.raises(ArgumentError, match="orthonormal"):
        lie.log(T, out=out)
    assert np.isnan(out).all()
    np.testing.assert_array_equal(T, before)


def test_threads_change_nothing():
    x = algebra(6, 40000)
    T = lie.exp(x)
    for function, argument in ((lie.exp, x), (lie.log, lie.exp(0.4 * x)), (lie.Ad, T)):
        np.testing.assert_array_equal(function(argument, threads=2), function(argument))
    with pytest.raises(ArgumentError, match="threads must be"):
        lie.exp(x, threads=-1)


# Complex numbers


def test_complex_arguments_give_complex_results_and_fill_complex_out():
    x = algebra(6, 3) + 1e-3j
    out = np.empty((3, 4, 4), complex)
    assert lie.exp(x, out=out) is out
    np.testing.assert_array_equal(out, lie.exp(x))
    assert lie.exp(list(x[0])).dtype == np.complex128
    assert twists.convert(x[0].real, out[0], "body", "spatial").dtype == np.complex128
    with pytest.raises(ArgumentError, match="out must be a writable C-contiguous complex128"):
        lie.exp(x, out=np.empty((3, 4, 4)))
    with pytest.raises(ArgumentError, match=r"x must have shape \(\.\.\., 3\) or \(\.\.\., 6\)"):
        lie.exp(x[:, :5])
    with pytest.raises(ArgumentError, match=r"quat_multiply\(\): .*broadcast"):
        lie.quat_multiply(np.ones((2, 4)) + 0j, np.ones((3, 4)))


@pytest.mark.parametrize("name", ["log", "matrix_to_quat", "quat_log"])
def test_functions_that_are_not_analytic_refuse_complex_numbers(name):
    argument = np.ones(4) + 0j if name == "quat_log" else np.eye(3) + 0j
    with pytest.raises(ArgumentError, match="must be an array of real numbers, got "):
        getattr(lie, name)(argument)


# Errors


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused_with_their_place(number):
    x = np.zeros((2, 5, 6))
    x[1, 3, 4] = number
    for function in (lie.hat, lie.ad, lie.exp, lie.dexp, lie.dexp_inv):
        with pytest.raises(
            ArgumentError, match=rf"^x must be finite, got {number} at x\[1, 3, 4\]"
        ):
            function(x)
    with pytest.raises(ArgumentError, match=r"^the result of exp\(\) is not finite"):
        lie.exp(x + 0j)


def test_results_that_no_double_can_hold_are_refused():
    x = np.ones((3, 6))
    x[2] *= 1e300
    with pytest.raises(ArgumentError, match=r"^the result of exp\(\) is not finite in state \[2\]"):
        lie.exp(x)


def test_the_element_that_is_refused_is_named():
    T = np.broadcast_to(np.eye(4), (3, WIDTH, 4, 4)).copy()
    T[1, 1, 3, 0] = 1.0
    with pytest.raises(ArgumentError, match=r"^T must be a pose .* in state \[1, 1\] of the batch"):
        lie.log(T)
    with pytest.raises(ArgumentError, match=r"^T must be a pose .* in state \[1, 1\] of the batch"):
        twists.convert(np.zeros(6), T, "body", "hybrid")
    q = np.ones((2 * WIDTH, 4))
    q[WIDTH + 1] = 0.0
    with pytest.raises(ArgumentError, match=rf"not zero, but it is not in state \[{WIDTH + 1}\]"):
        lie.quat_normalize(q)


def test_arguments_have_names_and_places():
    x, T = np.arange(6.0), np.eye(4)
    np.testing.assert_array_equal(lie.exp(x=x), lie.exp(x))
    np.testing.assert_array_equal(
        twists.convert(T=T, x=x, target="hybrid", source="body"),
        twists.convert(x, T, "body", "hybrid"),
    )
    with pytest.raises(ArgumentTypeError, match=r"convert\(\) needs the argument 'target'"):
        twists.convert(x, T, "body")
    with pytest.raises(ArgumentTypeError, match=r"exp\(\) has no argument 'y'"):
        lie.exp(y=x)
    with pytest.raises(ArgumentTypeError, match=r"exp\(\) takes at most 1 positional arguments"):
        lie.exp(x, x)
    assert pickle.loads(pickle.dumps(lie.exp)) is lie.exp


# Another library


def test_exponential_and_logarithm_of_pinocchio():
    pin = pytest.importorskip("pinocchio")
    x = algebra(6, 100)
    angle = np.linalg.norm(x[:, :3], axis=-1)
    x = x[(angle > 1e-2) & (angle < 3.1)]  # outside, theirs is less exact
    swapped = np.r_[3:6, 0:3]
    for own, T in zip(x, lie.exp(x), strict=True):
        np.testing.assert_allclose(pin.exp6(own[swapped]).homogeneous, T, rtol=0, atol=1e-13)
        theirs = pin.log6(pin.SE3(T)).vector[swapped]
        np.testing.assert_allclose(theirs, lie.log(T), rtol=0, atol=1e-12)
        np.testing.assert_allclose(pin.log3(T[:3, :3]), lie.log(T[:3, :3]), rtol=0, atol=1e-12)
    for first, second in pairwise(x):
        A, B = pin.SE3(lie.exp(first)), pin.SE3(lie.exp(second))
        relative = (A.inverse() * B).homogeneous
        ours = lie.inverse(A.homogeneous) @ B.homogeneous
        np.testing.assert_allclose(relative, ours, rtol=0, atol=1e-14)
        action = A.action[swapped][:, swapped]
        np.testing.assert_allclose(action, lie.Ad(A.homogeneous), rtol=0, atol=1e-14)
