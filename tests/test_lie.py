"""The laws of SO(3), SE(3) and the unit quaternions, near and far from every singular angle."""

import decimal
import math
from decimal import Decimal

import hypothesis
import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import mpmath
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jounce import lie
from jounce.lie import _trig

EPS = np.finfo(float).eps
SMALL = [0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-5, 1e-3, 0.1]
MIDDLE = [1.0 - 1e-15, 1.0, 1.0 + 1e-15, 1.5, 2.0, 2.5]
NEAR_PI = [math.pi - d for d in (1e-1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15)]
BEYOND_PI = [math.pi, math.sqrt(10) - 1e-12, math.sqrt(10) + 1e-12, 4.0, 5.5, 6.2]
ANGLES = SMALL + MIDDLE + NEAR_PI + BEYOND_PI
BATCHES = [(), (1,), (5,), (2, 3), (0,), (3, 0, 2)]


def vectors(n, seed, angles=ANGLES):
    """Algebra vectors with each of the rotation angles, about random and coordinate axes."""
    rng = np.random.default_rng(seed)
    axes = rng.normal(size=(len(angles), 3))
    axes[::4] = np.eye(3)[rng.integers(3, size=len(axes[::4]))] * rng.choice([-1, 1])
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    w = axes * np.array(angles)[:, None]
    return w if n == 3 else np.concatenate([w, rng.normal(size=w.shape)], axis=-1)


def assert_close(actual, expected, ulps=8.0, scale=1.0):
    """Compare to an absolute error of ulps * eps * scale, where scale broadcasts."""
    assert np.shape(actual) == np.shape(expected)
    error = np.abs(np.asarray(actual) - expected) / (EPS * np.asarray(scale))
    assert np.max(error, initial=0.0) <= ulps


def exact(array):
    return np.vectorize(lambda x: Decimal(float(x)), otypes=[object])(array)


def rounded(array):
    return np.vectorize(float, otypes=[float])(array)


def exact_hat(w):
    zero = Decimal(0)
    return np.array([[zero, -w[2], w[1]], [w[2], zero, -w[0]], [-w[1], w[0], zero]], dtype=object)


def exact_ad(x):
    W = exact_hat(x[:3])
    if len(x) == 3:
        return W
    return np.block([[W, 0 * W], [exact_hat(x[3:]), W]])


def exact_sum(A, weight):
    """Sum weight(k) A^k to 50 digits; the weights fall as 1/k!."""
    total = power = exact(np.eye(len(A)))
    size = max(1, abs(A).sum(axis=1).max())
    for k in range(1, 90):
        power = power @ A
        term = weight(k) * power
        total = total + term
        if k > 2 * size and abs(term).max() < Decimal("1e-55"):
            break
    return total


def inverse_factorial(k):
    return 1 / Decimal(math.factorial(k))


def exact_exp(x):
    x = exact(x)
    if len(x) == 3:
        return exact_sum(exact_hat(x), inverse_factorial)
    X = exact(np.zeros((4, 4)))
    X[:3, :3], X[:3, 3] = exact_hat(x[:3]), x[3:]
    return exact_sum(X, inverse_factorial)


def exact_dexp(x):
    return exact_sum(exact_ad(x), lambda k: inverse_factorial(k + 1))


def exact_inverse(A):
    """Gauss-Jordan elimination, pivots chosen by size."""
    n = len(A)
    rows = np.hstack([A, exact(np.eye(n))])
    for k in range(n):
        pivot = k + int(np.argmax(abs(rows[k:, k])))
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k] = rows[k] / rows[k, k]
        for i in range(n):
            if i != k:
                rows[i] = rows[i] - rows[i, k] * rows[k]
    return rows[:, n:]


@pytest.fixture(autouse=True)
def fifty_digits():
    """Decimals are compiled, so much faster than mpmath, which has the functions they lack."""
    with decimal.localcontext() as context, mpmath.workdps(50):
        context.prec = 50
        yield


@pytest.fixture(params=[3, 6], ids=["SO3", "SE3"])
def n(request):
    return request.param


@pytest.fixture(params=[0, 1, 2])
def seed(request):
    return request.param


# The coefficients


def exact_stumpff(k, s):
    terms = (inverse_factorial(k + 2 * i) * (-s) ** i for i in range(1, 80))
    return sum(terms, inverse_factorial(k))


def squared_angles():
    switches = [1.0, _trig.SWITCH]
    around = [np.nextafter(s, to) for s in switches for to in (0, 100)]
    return np.concatenate(
        [[0.0], np.logspace(-30, 0, 11), switches, around, np.linspace(1, 38, 60)]
    )


def test_stumpff_functions_match_fifty_digits_across_the_switch():
    s = squared_angles()
    values = _trig.stumpff(s)
    c = [rounded([exact_stumpff(k, si) for si in exact(s)]) for k in range(8)]
    for k in range(6):
        sensitivity = np.abs(s * (k * c[k + 2] - c[k + 1]))  # |2 s dc_k/ds|: rounding of theta
        assert_close(values[k], c[k], scale=np.abs(c[k]) + sensitivity)


def test_cotangent_coefficient_and_its_derivative_match_fifty_digits_across_the_switch():
    def e(s):
        return mpmath.mpf(1) / 12 if s == 0 else (1 - half_cot(mpmath.sqrt(s) / 2)) / s

    def half_cot(x):
        return x * mpmath.cot(x)

    s = squared_angles()
    s = s[(s == 0) | (s > 1e-12)]  # the oracle itself cancels below
    value, derivative = _trig.cotangent(s)
    expected = rounded([e(mpmath.mpf(si)) for si in s])
    assert_close(value, expected, scale=expected * (1 + s / (4 * math.pi**2 - s)))
    slope = [mpmath.diff(e, mpmath.mpf(si)) if si else mpmath.mpf(1) / 720 for si in s]
    scale = np.abs(rounded(slope)) * (1 + 2 * s / (4 * math.pi**2 - s))
    assert_close(derivative, rounded(slope), scale=scale)


@pytest.mark.parametrize("s", [0.0, 1e-20, 1e-3, 0.999, 1.001, 4.0, 9.999, 10.001, 25.0])
def test_complex_step_through_the_coefficients_is_their_derivative(s):
    h = 1e-100
    slopes = (value.imag / h for value in _trig.stumpff(np.array(s + 1j * h)))
    c = [float(exact_stumpff(k, Decimal(s))) for k in range(8)]
    for k, slope in enumerate(slopes):
        expected = (k * c[k + 2] - c[k + 1]) / 2
        near_zero = 0.1 if k < 2 else 0.0  # dc_0/ds and dc_1/ds have zeros in this range
        assert_close(slope, expected, ulps=16, scale=abs(expected) + near_zero)
    value, slope = _trig.cotangent(np.array(s + 1j * h))
    assert_close(value.imag / h, slope.real, ulps=16, scale=abs(slope.real))


# Algebra


def test_hat_of_a_rotation_vector_is_the_cross_product(seed):
    x, y = np.random.default_rng(seed).normal(size=(2, 7, 3))
    assert_close((lie.hat(x) @ y[..., None])[..., 0], np.cross(x, y))


@pytest.mark.parametrize("batch", BATCHES)
def test_vee_inverts_hat(n, batch):
    x = np.random.default_rng(0).normal(size=(*batch, n))
    np.testing.assert_array_equal(lie.vee(lie.hat(x)), x)


def test_vee_reads_the_skew_part(n, seed):
    rng = np.random.default_rng(seed)
    x, S = rng.normal(size=n), rng.normal(size=(3, 3))
    X = lie.hat(x)
    X[:3, :3] += S + S.T
    assert_close(lie.vee(X), x, scale=8)


def test_ad_is_the_commutator_and_obeys_the_jacobi_identity(n, seed):
    x, y, z = np.random.default_rng(seed).normal(size=(3, n))
    X, Y = lie.hat(x), lie.hat(y)
    assert_close(lie.hat(lie.ad(x) @ y), X @ Y - Y @ X, scale=8)
    assert_close(lie.ad(x) @ y, -lie.ad(y) @ x, scale=8)
    jacobi = sum(lie.ad(a) @ lie.ad(b) @ c for a, b, c in ((x, y, z), (y, z, x), (z, x, y)))
    assert_close(jacobi, np.zeros(n), scale=50)


# Exponential and logarithm


def test_exp_matches_the_matrix_exponential_to_fifty_digits(n):
    for x in vectors(n, seed=3):
        scale = 1 + np.linalg.norm(x)
        assert_close(lie.exp(x), rounded(exact_exp(x)), ulps=3, scale=scale)


def test_small_rotations_keep_their_relative_accuracy():
    for x in vectors(3, seed=4, angles=SMALL[1:]):
        skew = lie.vee(lie.exp(x))
        assert_close(skew, rounded(lie.vee(rounded(exact_exp(x)))), ulps=3, scale=np.abs(x).max())
        assert_close(lie.log(lie.exp(x)), x, ulps=3, scale=np.abs(x).max())


def test_one_parameter_subgroups_add(n, seed):
    x = vectors(n, seed)
    scale = 1 + np.abs(x).max()
    assert_close(lie.exp(0.3 * x) @ lie.exp(0.7 * x), lie.exp(x), scale=scale**2)
    assert_close(lie.exp(x) @ lie.exp(-x), lie.exp(0 * x), scale=scale**2)


def test_log_of_the_rounded_exact_pose_returns_the_vector(n, seed):
    for x in vectors(n, seed, angles=SMALL + MIDDLE + NEAR_PI):
        angle = np.linalg.norm(x[:3])
        result = lie.log(rounded(exact_exp(x)))
        assert_close(result[:3], x[:3], ulps=4, scale=max(angle, 1e-307))
        assert_close(result[3:], x[3:], ulps=8, scale=1 + np.linalg.norm(x[3:]))


@pytest.mark.parametrize("delta", [1e-3, 1e-7, 1e-10, 1e-13, 2e-15])
def test_log_keeps_the_side_of_a_half_turn(delta, seed):
    n = np.random.default_rng(seed).normal(size=3)
    n /= np.linalg.norm(n)
    for axis in (n, -n):
        for angle, expected in ((math.pi - delta, axis), (math.pi + delta, -axis)):
            w = lie.log(lie.exp(angle * axis))
            assert w @ expected > 0
            assert_close(np.linalg.norm(w), math.pi - delta, ulps=8, scale=math.pi)


HALF_TURN_AXES = [
    (1, 0, 0),
    (0, 1, 0),
    (0, 0, 1),
    (0.6, 0.8, 0),
    (0.6, -0.8, 0),
    (-0.48, 0.6, 0.64),
]


@pytest.mark.parametrize("axis", HALF_TURN_AXES)
def test_log_of_an_exact_half_turn_has_length_pi_and_a_positive_largest_component(axis):
    n = np.array(axis)
    R = 2 * np.outer(n, n) - np.eye(3)
    for w in (lie.log(R), lie.quat_log([*n, 0.0]) * np.sign(n[np.argmax(np.abs(n))])):
        assert_close(w, math.pi * n * np.sign(n[np.argmax(np.abs(n))]), ulps=4, scale=math.pi)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, (1, -2, 3)
    assert_close(lie.exp(lie.log(T)), T, scale=8)


@hypothesis.given(hnp.arrays(float, 6, elements=st.floats(-100, 100)))
@hypothesis.settings(max_examples=100)
def test_exp_inverts_log_everywhere(x):
    T = lie.exp(x)
    y = lie.log(T)
    assert np.linalg.norm(y[:3]) <= math.pi * (1 + EPS)
    assert_close(lie.exp(y), T, ulps=16, scale=1 + np.abs(x).max())


# Group


def test_inverse_is_the_group_inverse(n, seed):
    T = lie.exp(vectors(n, seed))
    identity = np.broadcast_to(np.eye(T.shape[-1]), T.shape)
    scale = 1 + np.abs(T).max()
    assert_close(lie.inverse(T) @ T, identity, scale=scale)
    assert_close(T @ lie.inverse(T), identity, scale=scale)
    A, B = T, T[::-1]
    assert_close(lie.inverse(A @ B), lie.inverse(B) @ lie.inverse(A), scale=scale**2)


def test_Ad_is_a_homomorphism_that_conjugates(n, seed):
    rng = np.random.default_rng(seed)
    A, B = lie.exp(vectors(n, seed)), lie.exp(vectors(n, seed + 10)[::-1])
    x, y = rng.normal(size=(2, n))
    scale = 16 * (1 + np.abs(A).max()) * (1 + np.abs(B).max())
    assert_close(lie.Ad(A @ B), lie.Ad(A) @ lie.Ad(B), scale=scale)
    assert_close(
        lie.Ad(A) @ lie.Ad(lie.inverse(A)), np.broadcast_to(np.eye(n), (len(A), n, n)), scale=scale
    )
    assert_close(lie.hat(lie.Ad(A) @ x), A @ lie.hat(x) @ lie.inverse(A), scale=scale)
    bracket = (lie.ad(lie.Ad(A) @ x) @ (lie.Ad(A) @ y)[..., None])[..., 0]
    assert_close(lie.Ad(A) @ (lie.ad(x) @ y), bracket, scale=scale)


def test_Ad_of_exp_is_the_exponential_of_ad(n):
    for x in vectors(n, seed=5):
        expected = exact_sum(exact_ad(exact(x)), inverse_factorial)
        scale = (1 + np.linalg.norm(x)) ** 2
        assert_close(lie.Ad(lie.exp(x)), rounded(expected), scale=scale)


def test_wrenches_move_by_the_dual_so_that_power_is_invariant(seed):
    x, w = np.random.default_rng(seed).normal(size=(2, 6))
    for T in lie.exp(vectors(6, seed)):
        world_twist, world_wrench = lie.Ad(T) @ x, lie.Ad(lie.inverse(T)).T @ w
        moment = T[:3, :3] @ w[:3] + np.cross(T[:3, 3], T[:3, :3] @ w[3:])
        assert_close(world_wrench[:3], moment, scale=16)
        assert_close(world_twist @ world_wrench, x @ w, scale=100)


# Differential of the exponential


def test_dexp_matches_its_series_to_fifty_digits(n):
    for x in vectors(n, seed=6):
        assert_close(lie.dexp(x), rounded(exact_dexp(exact(x))), scale=1 + np.linalg.norm(x))


def test_dexp_is_the_right_and_its_mirror_the_left_trivialized_differential(n, seed):
    h = 1e-100
    direction = np.random.default_rng(seed).normal(size=n)
    x = vectors(n, seed)
    T, dT = lie.exp(x), lie.exp(x + 1j * h * direction).imag / h
    scale = 4 * (1 + np.abs(x).max()) ** 2
    assert_close(lie.vee(dT @ lie.inverse(T)), lie.dexp(x) @ direction, scale=scale)
    assert_close(lie.vee(lie.inverse(T) @ dT), lie.dexp(-x) @ direction, scale=scale)
    assert_close(lie.dexp(x), lie.Ad(T) @ lie.dexp(-x), scale=scale)


def test_dexp_inv_inverts_dexp_and_is_exact_towards_its_pole(n):
    approach = [2 * math.pi - d for d in (1e-1, 1e-3, 1e-5)]
    for x in vectors(n, seed=7, angles=ANGLES + approach):
        expected = rounded(exact_inverse(exact_dexp(exact(x))))
        distance = abs(2 * math.pi - np.linalg.norm(x[:3]))
        scale = (1 + np.linalg.norm(x)) * np.abs(expected).max() * (1 + 2 / distance)
        assert_close(lie.dexp_inv(x), expected, scale=scale)


def test_dexp_inv_is_finite_next_to_and_beyond_its_pole(n):
    angles = [2 * math.pi * (1 + k * EPS) for k in (-2, -1, 0, 1, 2)] + [7.0, 12.0]
    assert np.isfinite(lie.dexp_inv(vectors(n, seed=8, angles=angles))).all()
    x = vectors(n, seed=8, angles=[7.0, 12.0])
    assert_close(lie.dexp_inv(x) @ lie.dexp(x), np.broadcast_to(np.eye(n), (2, n, n)), scale=1e3)


def test_complex_steps_through_dexp_and_dexp_inv_are_exact(n):
    h, exact_h = 1e-100, Decimal(10) ** -20
    direction = np.random.default_rng(9).normal(size=n)
    for x in vectors(n, seed=9, angles=[0.0, 1e-9, 1e-3, 1.0, 1.99, 2.01, 3.1, 3.2, 5.0]):
        up, down = (exact_dexp(exact(x) + s * exact_h * exact(direction)) for s in (1, -1))
        expected = rounded((up - down) / (2 * exact_h))
        scale = 4 * (1 + np.linalg.norm(x)) ** 2
        slope = lie.dexp(x + 1j * h * direction).imag / h
        assert_close(slope, expected, scale=scale)
        inverse = lie.dexp_inv(x)
        slope = lie.dexp_inv(x + 1j * h * direction).imag / h
        assert_close(slope, -inverse @ expected @ inverse, scale=scale * np.abs(inverse).max() ** 2)


def test_complex_steps_through_the_group_operations_are_exact(n, seed):
    h = 1e-100
    direction = np.random.default_rng(seed).normal(size=n)
    x = vectors(n, seed)
    moved = lie.exp(x) @ lie.exp(1j * h * direction)
    T, D = lie.exp(x), lie.hat(direction)
    scale = 16 * (1 + np.abs(x).max()) ** 2
    assert_close(moved.imag / h, T @ D, scale=scale)
    assert_close(lie.inverse(moved).imag / h, -D @ lie.inverse(T), scale=scale)
    assert_close(lie.Ad(moved).imag / h, lie.Ad(T) @ lie.ad(direction), scale=scale)
    for linear in (lie.hat, lie.ad):
        np.testing.assert_array_equal(
            linear(x + 1j * direction), linear(x) + 1j * linear(direction)
        )
    np.testing.assert_array_equal(lie.vee(lie.hat(x + 1j * direction)), x + 1j * direction)


# Quaternions


def test_quaternion_product_is_the_rotation_product(seed):
    a, b, c = np.random.default_rng(seed).normal(size=(3, 20, 4))
    ab = lie.quat_multiply(a, b)
    assert_close(lie.quat_to_matrix(ab), lie.quat_to_matrix(a) @ lie.quat_to_matrix(b), ulps=16)
    assert_close(lie.quat_multiply(ab, c), lie.quat_multiply(a, lie.quat_multiply(b, c)), scale=100)
    reference = Rotation.from_quat(a) * Rotation.from_quat(b)
    assert_close(lie.quat_to_matrix(ab), reference.as_matrix(), ulps=16)


def test_quaternion_exponential_covers_exp_and_quat_log_inverts_it(seed):
    x = vectors(3, seed)
    q = lie.quat_exp(x)
    assert_close(np.linalg.norm(q, axis=-1), np.ones(len(x)), ulps=4)
    assert_close(lie.quat_to_matrix(q), lie.exp(x), ulps=16)
    x = vectors(3, seed, angles=SMALL + MIDDLE + NEAR_PI)
    scale = np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-307)
    for factor in (1.0, -1.0, 1e-200, 1e150):
        tiny = np.linalg.norm(x, axis=-1) < 1e-100
        keep = slice(None) if abs(factor) == 1 else ~tiny
        assert_close(lie.quat_log(factor * lie.quat_exp(x))[keep], x[keep], 4, scale[keep])


def test_matrix_to_quat_agrees_with_an_independent_library(seed):
    rotations = Rotation.random(200, rng=np.random.default_rng(seed))
    expected = rotations.as_quat(canonical=True)
    assert_close(lie.matrix_to_quat(rotations.as_matrix()), expected, ulps=4)
    assert (lie.matrix_to_quat(lie.exp(vectors(3, seed)))[:, 3] >= 0).all()


def test_quat_normalize_is_a_projection_at_every_scale(seed):
    q = np.random.default_rng(seed).normal(size=(10, 4))
    unit = lie.quat_normalize(q)
    assert_close(np.linalg.norm(unit, axis=-1), np.ones(10), ulps=2)
    for factor in (1e-300, 1.0, 7.0, 1e300):
        assert_close(lie.quat_normalize(factor * q), unit, ulps=4)


def test_complex_steps_through_quaternions_are_exact(seed):
    h = 1e-100
    rng = np.random.default_rng(seed)
    a, b, direction = rng.normal(size=(3, 4))
    product = lie.quat_multiply(a + 1j * h * direction, b).imag / h
    assert_close(product, lie.quat_multiply(direction, b), scale=16)
    unit = lie.quat_normalize(a)
    expected = (direction - unit * (unit @ direction)) / np.linalg.norm(a)
    assert_close(lie.quat_normalize(a + 1j * h * direction).imag / h, expected, scale=16)
    x = vectors(3, seed) + 1j * h * direction[:3]
    slope = lie.quat_to_matrix(lie.quat_exp(x)).imag / h
    assert_close(slope, lie.exp(x).imag / h, scale=16)


def test_rpy_is_urdf_fixed_axis_roll_pitch_yaw(seed):
    rpy = np.random.default_rng(seed).uniform(-7, 7, size=(50, 3))
    expected = Rotation.from_euler("xyz", rpy).as_matrix()
    assert_close(lie.rpy_to_matrix(rpy), expected, ulps=16)


# Batches, conversions and errors

VECTOR_FUNCTIONS = [lie.hat, lie.exp, lie.ad, lie.dexp, lie.dexp_inv]
MATRIX_FUNCTIONS = [lie.vee, lie.log, lie.inverse, lie.Ad]


@pytest.mark.parametrize("batch", BATCHES)
def test_leading_axes_are_batch_axes(n, batch):
    size = math.prod(batch)
    x = np.resize(vectors(n, seed=11), (size, n)).reshape(*batch, n)
    T = lie.exp(x)
    cases = [(f, x, 1) for f in VECTOR_FUNCTIONS] + [(f, T, 2) for f in MATRIX_FUNCTIONS]
    q = lie.quat_exp(x[..., :3])
    R = T[..., :3, :3]
    cases += [(lie.quat_exp, x[..., :3], 1), (lie.rpy_to_matrix, x[..., :3], 1)]
    cases += [(lie.quat_log, q, 1), (lie.quat_to_matrix, q, 1), (lie.matrix_to_quat, R, 2)]
    for function, argument, core in cases:
        example = np.eye(argument.shape[-1]) if core == 2 else np.arange(1.0, 7.0)
        result = function(argument)
        single = function(np.resize(example, argument.shape[-core:]))
        assert result.shape == (*batch, *single.shape)
        for index in np.ndindex(batch):
            assert_close(result[index], function(argument[index]), scale=40)


def test_lists_integers_and_other_precisions_become_float64(n):
    x = [1, 0, 2, 3, -1, 1][:n]
    for f in VECTOR_FUNCTIONS:
        expected = f(np.array(x, dtype=float))
        for value in (x, np.array(x), np.array(x, np.float32), np.array(x, ">f8")):
            assert f(value).dtype == np.float64
            np.testing.assert_array_equal(f(value), expected)
    assert lie.exp(np.array(x, np.complex64)).dtype == np.complex128


def test_results_do_not_alias_the_arguments(n):
    T = lie.exp(np.arange(1.0, n + 1))
    before = T.copy()
    for f in (lie.Ad, lie.inverse):
        f(T)[...] = 7
    np.testing.assert_array_equal(T, before)


@pytest.mark.parametrize("function", VECTOR_FUNCTIONS + MATRIX_FUNCTIONS)
@pytest.mark.parametrize("shape", [(), (2,), (4,), (5, 5), (3, 4), (4, 3, 2)])
def test_a_wrong_trailing_shape_is_one_clear_error(function, shape):
    with pytest.raises(ValueError, match=r"^[xXT] must have shape \(\.\.\., ") as error:
        function(np.zeros(shape))
    assert f"got {shape}" in str(error.value)


@pytest.mark.parametrize("value", ["abc", [[1, 2], [3]], {"a": 1}])
def test_what_is_no_array_of_numbers_is_refused(value):
    with pytest.raises(ValueError, match=r"^x must be an array of real numbers, got "):
        lie.exp(value)
    with pytest.raises(TypeError, match=r"^exp\(\) needs the argument 'x'"):
        lie.exp(None)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.eye(3) * 1.001, "orthonormal"),
        (np.diag([1.0, 1.0, -1.0]), "reflection"),
        (np.full((3, 3), np.nan), "finite"),
        (np.diag([np.inf, 1.0, 1.0]), "finite"),
        (np.eye(3) + 0j, "real"),
        (np.zeros((3, 3)), "orthonormal"),
    ],
)
def test_log_refuses_what_is_no_rotation(matrix, message):
    good = lie.exp(vectors(3, 0))
    pose = np.eye(4, dtype=matrix.dtype)
    pose[:3, :3] = matrix
    cases = [(lie.log, matrix), (lie.matrix_to_quat, matrix), (lie.log, pose)]
    cases += [(lie.log, np.concatenate([good, matrix[None]]))]  # one bad element in a batch
    for function, argument in cases:
        with pytest.raises(ValueError, match=message):
            function(argument)


def test_log_refuses_a_pose_written_as_row_vectors():
    T = lie.exp([0.1, 0.2, 0.3, 1, 2, 3])
    with pytest.raises(ValueError, match="last row"):
        lie.log(T.T)


def test_log_accepts_matrices_orthonormal_to_a_millionth():
    R = lie.exp([0.1, -0.2, 0.3]) + 1e-7
    assert_close(lie.log(R), [0.1, -0.2, 0.3], ulps=3e-7 / EPS)


def test_zero_quaternions_are_refused():
    q = np.array([[0, 0, 0, 1.0], [0, 0, 0, 0]])
    for function in (lie.quat_normalize, lie.quat_log, lie.quat_to_matrix):
        with pytest.raises(ValueError, match=r"^q must be a quaternion .* not zero"):
            function(q)
    with pytest.raises(ValueError, match="finite"):
        lie.quat_log([0, np.nan, 0, 1])
