"""Curves in R^n: their derivatives, end conditions, smoothness, and how they combine."""

import math
import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from trajectory_oracle import EPS, assert_series_close, derivatives, size_of_orders, taylor_step

from jounce import trajectories as tr

ORDER = 10
TIMES = (0.0, 0.37, 1.9, 2.5)
KNOTS = [0, 0, 0, 0, 0.5, 1.25, 2, 2.5, 2.5, 2.5, 2.5]
POINTS = np.random.default_rng(0).normal(size=(7, 2))
INITIAL = [[1.0, 0.2], [-2.0, 0.3], [0.5, 4.0], [3.0, -1.0]]
FINAL = [[-1.0, 0.7], [0.1, 0.0], [2.5, -3.0], [0.25, 8.0]]


def horner(coefficients, u):
    total = mpmath.mpf(0)
    for c in reversed(coefficients):
        total = total * u + c
    return total


def polynomial(c, start=0.0):
    """The polynomial with coefficients c (d+1, n), in mpmath."""
    columns = [[mpmath.mpf(x) for x in column] for column in c.T.tolist()]
    return lambda t: [horner(column, t - start) for column in columns]


def hermite(initial, final, duration, start=0.0):
    """The polynomial from a linear system for its coefficients, solved with many digits."""
    m, n = len(initial), len(initial) + len(final)
    conditions = [(0.0, k) for k in range(m)] + [(duration, k) for k in range(n - m)]

    def function(t):
        A = mpmath.matrix(n, n)
        for i, (u, k) in enumerate(conditions):
            for j in range(k, n):
                A[i, j] = mpmath.mpf(u) ** (j - k) * math.perm(j, k)
        solve = [mpmath.lu_solve(A, mpmath.matrix(b)) for b in zip(*(initial + final), strict=True)]
        return [horner(list(c), t - start) for c in solve]

    return function


def de_boor(knots, points, degree):
    """The definition of a B-spline: the recursion of Cox and de Boor."""

    def basis(i, k, t):
        if k == 0:
            return mpmath.mpf(knots[i] <= t < knots[i + 1])
        total = mpmath.mpf(0)
        if knots[i + k] > knots[i]:
            total += (t - knots[i]) / (knots[i + k] - knots[i]) * basis(i, k - 1, t)
        if knots[i + k + 1] > knots[i + 1]:
            right = (knots[i + k + 1] - t) / (knots[i + k + 1] - knots[i + 1])
            total += right * basis(i + 1, k - 1, t)
        return total

    def function(t):
        weights = [basis(i, degree, t) for i in range(len(points))]
        return [
            sum(w * mpmath.mpf(float(x)) for w, x in zip(weights, column, strict=True))
            for column in points.T
        ]

    return function


def sinusoid(a, w, p, o):
    return lambda t: [o + a * mpmath.sin(w * t + p)]


COEFFICIENTS = np.random.default_rng(1).normal(size=(8, 2))
# name: (curve, the same function in mpmath)
CURVES = {
    "constant": (tr.Constant([1.0, 2.0]), lambda t: [mpmath.mpf(1), mpmath.mpf(2)]),
    "polynomial": (tr.Polynomial(COEFFICIENTS, 0.25), polynomial(COEFFICIENTS, 0.25)),
    "septic": (
        tr.PolynomialSegment(INITIAL, FINAL, 2.5),
        hermite(INITIAL, FINAL, 2.5),
    ),
    "unequal ends": (
        tr.PolynomialSegment(INITIAL[:1], FINAL, 3.5, start=-0.5),
        hermite(INITIAL[:1], FINAL, 3.5, -0.5),
    ),
    "half-cosine": (
        tr.HalfCosine(0.25, -1.5, 2.5),
        lambda t: [0.25 - mpmath.mpf(0.75) * (1 - mpmath.cos(mpmath.pi * t / 2.5))],
    ),
    "sinusoid": (tr.Sinusoid(0.5, 3.0, -0.75, 2.0), sinusoid(0.5, 3, -0.75, 2)),
    "circle": (
        tr.Circle(2.0, -0.75, 0.5, (1, 2, 3)),
        lambda t: [
            1 + 2 * mpmath.cos(0.5 - 0.75 * t),
            2 + 2 * mpmath.sin(0.5 - 0.75 * t),
            mpmath.mpf(3),
        ],
    ),
    "sum": (
        2 * tr.Sinusoid(0.5, 3.0) - tr.Polynomial([1, 2, 3]) + 1.5,
        lambda t: [mpmath.sin(3 * t) - (1 + 2 * t + 3 * t**2) + 1.5],
    ),
    "retimed": (
        tr.Sinusoid(1.0, 2.0).retimed(tr.Polynomial([0.5, -1, 0.25]) + tr.Sinusoid(0.5, 1.0)),
        lambda t: [mpmath.sin(2 * (0.5 - t + t**2 / 4 + mpmath.sin(t) / 2))],
    ),
    "stack": (
        tr.stack(tr.Polynomial([0, 1]), 4.0, tr.Sinusoid([1, 1], [1, 2])[[1, 0]]),
        lambda t: [t, mpmath.mpf(4), mpmath.sin(2 * t), mpmath.sin(t)],
    ),
}
every_curve = pytest.mark.parametrize("name", CURVES)


@every_curve
def test_derivatives_to_order_ten_match_high_precision_differences(name):
    curve, function = CURVES[name]
    expected = np.array([derivatives(function, t, ORDER) for t in TIMES])
    assert_series_close(curve.series(TIMES, ORDER), expected, 8, size_of_orders(expected, 1))


def test_b_splines_match_the_recursion_of_cox_and_de_boor():
    spline, t = tr.BSpline(KNOTS, POINTS, 3), [0.0, 0.37, 0.5, 1.9]
    expected = np.array([derivatives(de_boor(KNOTS, POINTS, 3), x, 6) for x in t])
    assert_series_close(spline.series(t, 6), expected, 8, size_of_orders(expected, 1))


@every_curve
def test_taylor_steps_of_order_thirty_lead_along_the_curve(name):
    curve = CURVES[name][0]
    h = 0.25
    before, after = curve.series(1.0, 30), curve.series(1.0 + h, 4)
    for k in range(5):  # also of the derivatives: each order is the derivative of the one before
        terms = np.abs(before[k:]).max(axis=-1) * h ** np.arange(31 - k)
        scale = sum(terms / [float(math.factorial(j)) for j in range(31 - k)])
        assert_series_close(taylor_step(before[k:], h), after[k], 32, scale)


@every_curve
def test_times_are_batched_and_lower_orders_do_not_depend_on_higher_ones(name):
    curve = CURVES[name][0]
    t = np.linspace(0, 2.5, 6).reshape(2, 1, 3)
    batch = curve.series(t, 5)
    assert batch.shape == (2, 1, 3, 6, curve.size)
    single = np.array([curve.series(x, 2) for x in t.ravel()]).reshape(2, 1, 3, 3, curve.size)
    scale = np.abs(batch).max(axis=(0, 1, 2, 4))[:3, None]
    assert (np.abs(batch[..., :3, :] - single) <= 32 * EPS * scale).all()
    np.testing.assert_array_equal(curve(t), curve.series(t, 0)[..., 0, :])
    assert curve.series(np.zeros((0, 2)), 3).shape == (0, 2, 4, curve.size)


# Conditions at ends and knots


@pytest.mark.parametrize("degree", [1, 3, 5, 7, 9, 15, 21, 41])
def test_boundary_polynomials_of_any_odd_degree_meet_their_conditions(degree):
    rng = np.random.default_rng(degree)
    count = (degree + 1) // 2
    ends = rng.normal(size=(2, count, 3)) * 3.0 ** np.arange(count)[:, None]
    curve = tr.PolynomialSegment(ends[0], ends[1], duration=1.7, start=-0.4)
    assert curve.degree == degree
    for t, expected in zip((-0.4, -0.4 + 1.7), ends, strict=True):
        assert_series_close(curve.series(t, count - 1), expected, 4, np.abs(expected))
    np.testing.assert_array_equal(curve.series(0.3, degree + 2)[degree + 1 :], 0)


def rest_to_rest(degree, u, order):
    """Derivatives of the polynomial from 0 to 1, whose slope is c (u (1 - u))^(m-1), exactly."""
    m = (degree + 1) // 2
    c = math.factorial(degree) // math.factorial(m - 1) ** 2
    terms = {m + i: Fraction((-1) ** i * c * math.comb(m - 1, i), m + i) for i in range(m)}
    rows = [
        sum(math.perm(j, k) * a * u ** (j - k) for j, a in terms.items() if j >= k)
        for k in range(order + 1)
    ]
    return [float(x) for x in rows]


@pytest.mark.parametrize("degree", [3, 5, 11, 21, 41, 99])
def test_boundary_polynomials_of_high_degree_do_not_cancel_between_the_ends(degree):
    curve = tr.PolynomialSegment.rest_to_rest([0, 2], [1, 0], 1.0, degree, extend="formula")
    u, order = np.linspace(-0.125, 1.125, 21), min(degree, 10)
    expected = np.array([rest_to_rest(degree, Fraction(x), order) for x in u.tolist()])[..., None]
    expected = expected * [1, -2]
    expected[:, 0, 1] += 2
    # The slope is like exp(-2 d (u - 1/2)^2); derivatives of order k of such a bell are smaller by
    # sqrt(d^k / k!) than the k-th differences that sum to them. Outside of the interval the form
    # amplifies errors by (|u| + |1 - u|)^d.
    inside = (u >= 0) & (u <= 1)
    cancels = [max(1.0, math.sqrt(degree**k / math.factorial(k))) for k in range(order + 1)]
    growth = np.where(inside, 1.0, 1.25**degree)[:, None, None]
    scale = np.array(cancels)[:, None] * size_of_orders(expected[inside], 1) * growth
    assert_series_close(curve.series(u, order), expected, 32, scale)


def test_minimum_jerk_is_the_quintic_from_rest_to_rest():
    t = np.linspace(0, 2, 9)
    u = t / 2
    quintic = tr.PolynomialSegment.rest_to_rest(1.0, 4.0, 2.0)
    expected = 1 + 3 * (10 * u**3 - 15 * u**4 + 6 * u**5)
    np.testing.assert_allclose(quintic(t)[:, 0], expected, rtol=16 * EPS)


def test_half_cosines_rest_at_both_ends():
    curve = tr.HalfCosine([1.0, 2.0], [0.5, -3.0], 30.0)
    np.testing.assert_allclose(curve([0, 15, 30]), [[1, 2], [1.25, 0.5], [1.5, -1]], rtol=4 * EPS)
    assert np.abs(curve.series([0, 30], 1)[:, 1]).max() <= 2 * EPS
    tiny = tr.HalfCosine(0.0, 1.0, 1.0)(1e-12)[0]  # 1 - cos would cancel to zero
    assert tiny == pytest.approx((math.pi * 1e-12 / 2) ** 2, rel=4 * EPS, abs=0)


@pytest.mark.parametrize("ends", ["rest", "free"])
@pytest.mark.parametrize("degree", [1, 3, 5, 7])
def test_interpolating_splines_pass_through_their_points(degree, ends):
    times = np.cumsum(np.random.default_rng(degree).uniform(0.5, 1.5, 9))
    points = np.random.default_rng(2).normal(size=(9, 3))
    spline = tr.BSpline.through(times, points, degree, ends)
    size = np.abs(spline.control_points).max()
    assert np.abs(spline(times) - points).max() <= 1024 * EPS * size
    assert spline.interval == (times[0], times[-1])
    series = spline.series(times[[0, -1]], (degree - 1) // 2)[:, 1:]
    if ends == "rest" and degree > 1:
        scale = np.abs(spline.series(times, degree)).max(axis=(0, 2))[1 : series.shape[1] + 1]
        assert (np.abs(series).max(axis=(0, 2)) <= 1024 * EPS * scale).all()
    elif degree > 1:
        assert np.abs(series).max() > 0.1


def test_a_spline_through_points_of_a_polynomial_of_its_degree_is_that_polynomial():
    curve = tr.Polynomial([1.0, -2.0, 0.5, 0.25])
    times = np.array([0.0, 0.4, 1.0, 1.5, 2.2, 3.0])
    spline = tr.BSpline.through(times, curve(times), 3, ends="free")
    t = np.linspace(0, 3, 17)
    assert np.abs(spline.series(t, 3) - curve.series(t, 3)).max() <= 1e4 * EPS


@pytest.mark.parametrize("degree", [2, 3, 5, 7])
def test_splines_have_degree_minus_one_continuous_derivatives(degree):
    rng = np.random.default_rng(degree)
    spline = tr.BSpline.clamped(rng.normal(size=(12, 2)), 6.0, degree)
    joins = np.unique(spline.knots)[1:-1]
    left = spline.series(np.nextafter(joins, -1), degree)
    right = spline.series(joins, degree)
    # A time one ulp earlier changes a derivative by the next one times that ulp.
    scale = np.abs(spline.series(np.linspace(0, 6, 50), degree)).max(axis=(0, 2))
    jump = np.abs(left - right).max(axis=(0, 2))
    assert (jump[:degree] <= 64 * EPS * 6 * (scale[:degree] + scale[1:])).all()
    assert jump[degree] > 0.1  # and not one more


def test_clamped_splines_start_and_end_at_their_control_points():
    points = np.random.default_rng(3).normal(size=(8, 2))
    spline = tr.BSpline.clamped(points, 2.0, start=1.0)
    np.testing.assert_allclose(spline([1.0, 3.0]), points[[0, -1]], rtol=4 * EPS)


def test_scipy_splines_are_taken_over_as_they_are():
    interpolate = pytest.importorskip("scipy.interpolate")
    scipy_spline = interpolate.CubicSpline([0, 1, 2.5, 3], [0, 1, 0, 2])
    s = interpolate.make_interp_spline([0, 1, 2.5, 3], [0.0, 1, 0, 2], 3)
    t = np.linspace(0, 3, 7)
    np.testing.assert_allclose(
        tr.BSpline(s.t, s.c, s.k)(t)[:, 0], scipy_spline(t), rtol=0, atol=32 * EPS
    )


# Combination


def test_pieces_follow_one_another():
    a = tr.PolynomialSegment([0, 0, 0], [1, 2, 0], 1.5)
    b = tr.PolynomialSegment([1, 2, 0], [5, 0, 0], 2.0, start=1.5, extend="hold")
    both = tr.Piecewise([a, b])
    assert both.interval == (0.0, 3.5)
    t = np.array([0.0, 1.0, 1.5, 3.0, 3.5, 4.0])
    expected = np.concatenate([a.series(t[:2], 4), b.series(t[2:], 4)])
    np.testing.assert_array_equal(both.series(t, 4), expected)
    left, right = both.series([np.nextafter(1.5, 0), 1.5], 2)
    assert_series_close(left, right, 64, np.abs(a.series(1.5, 3)).max())
    with pytest.raises(ValueError, match="start where the one before ends"):
        tr.Piecewise([b, a])


def test_arithmetic_of_curves_is_that_of_their_values():
    a, b = tr.Sinusoid([1, 2], 3.0), tr.Polynomial([[1, 2], [3, 4]])
    t = np.linspace(0, 1, 5)
    for combined, expected in (
        (a + b, a(t) + b(t)),
        (a - b, a(t) - b(t)),
        (-a, -a(t)),
        ([1, 2] - a, [1, 2] - a(t)),
        (np.array([1.0, 2.0]) + a, a(t) + np.array([1, 2])),
        (np.array([1.0, 2.0]) * a, a(t) * [1, 2]),
        (np.float64(2) * a, 2 * a(t)),
        (a[0] * [1, 2, 3], a(t)[:, :1] * [1, 2, 3]),
        (tr.stack(a, b[1], 7), np.column_stack([a(t), b(t)[:, 1], np.full(5, 7.0)])),
    ):
        np.testing.assert_allclose(combined(t), expected, rtol=4 * EPS, atol=4 * EPS)
    assert [c.size for c in a] == [1, 1]


def test_intervals_of_combinations_are_those_of_their_parts():
    a, b = tr.HalfCosine(0, 1, 3.0), tr.PolynomialSegment([0], [1], 4.0, start=1.0)
    assert (a + b).interval == (1.0, 3.0)
    assert tr.stack(a, 1.0).interval == (0.0, 3.0)
    assert (2 * b)[0].interval == (1.0, 5.0)
    assert tr.Sinusoid(1, 1).retimed(b).interval == (1.0, 5.0)
    assert tr.Sinusoid(1, 1).interval == (-math.inf, math.inf)


# Outside of the interval


SEGMENTS = {
    "polynomial": lambda **k: tr.PolynomialSegment([0, 1, 2], [3, 4, 5], 2.0, start=1.0, **k),
    "spline": lambda **k: tr.BSpline.clamped(range(8), 2.0, start=1.0, **k),
    "interpolation": lambda **k: tr.BSpline.through([1, 2, 3], [1, 5, 2], **k),
}


@pytest.mark.parametrize("make", SEGMENTS.values(), ids=SEGMENTS)
def test_segments_outside_of_their_interval_refuse_hold_or_continue(make):
    outside = np.array([0.5, 3.5])
    ends = make().series([1.0, 3.0], 3)
    with pytest.raises(ValueError, match=r"from 1 to 3, got 0\.5; .*extend='hold'"):
        make()(outside)
    held = make(extend="hold").series(outside, 3)
    np.testing.assert_array_equal(held[:, 0], ends[:, 0])
    np.testing.assert_array_equal(held[:, 1:], 0)
    formula = make(extend="formula")
    for i, h in ((0, -0.5), (1, 0.5)):
        end = formula.series([1.0, np.nextafter(3.0, 0)][i], 9)
        scale = sum(np.abs(end) * 0.5 ** np.arange(10)[:, None])
        assert_series_close(taylor_step(end, h), formula(outside)[i], 64, scale)
    # Sums of steps that miss an end by rounding count as the end, with its derivatives.
    np.testing.assert_array_equal(make().series([1 - 1e-12, 3 + 1e-12], 3), ends)


def test_half_cosines_swing_back_unless_told_otherwise():
    assert tr.HalfCosine(0, 1, 2.0)(4.0)[0] == pytest.approx(0, abs=EPS)
    assert tr.HalfCosine(0, 1, 2.0, extend="hold")(4.0)[0] == 1.0
    with pytest.raises(ValueError, match="from 0 to 2, got 4"):
        tr.HalfCosine(0, 1, 2.0, extend="error")(4.0)


# Objects and errors


@every_curve
def test_curves_are_immutable_and_can_be_pickled(name):
    curve = CURVES[name][0]
    with pytest.raises(AttributeError, match="immutable"):
        curve.interval = (0, 1)
    with pytest.raises(AttributeError, match="immutable"):
        del curve.interval
    copy = pickle.loads(pickle.dumps(curve))
    np.testing.assert_array_equal(copy.series(0.3, 4), curve.series(0.3, 4))


def test_parameters_are_copied_and_read_only():
    amplitude = np.array([1.0, 2.0])
    curve = tr.Sinusoid(amplitude, 1.0)
    amplitude[:] = 7.0
    np.testing.assert_array_equal(curve.amplitude, [1, 2])
    with pytest.raises(ValueError, match="read-only"):
        curve.amplitude[0] = 3.0


def test_reprs_show_what_defines_a_curve():
    half = tr.HalfCosine(0.5, [1, 2], 3.0)
    text = "HalfCosine(start=[0.5, 0.5], amplitude=[1., 2.], duration=3, extend='formula')"
    assert repr(half) == text
    assert repr(2 * half) == "[2.] * " + text
    assert repr(half + 1) == f"({text} + Constant(value=[1.]))"
    assert repr(tr.stack(half, 1)) == f"stack({text}, Constant(value=[1.]))"
    assert repr(half[1]) == text + "[[1]]"
    assert repr(half.retimed(half[0])) == f"{text}.retimed({text}[[0]])"
    assert len(repr(tr.BSpline.clamped(np.zeros((1000, 3)), 1.0))) < 300


@pytest.mark.parametrize(
    ("t", "order", "message"),
    [
        (np.nan, 0, "t must be finite real numbers, got nan"),
        ([0.0, np.inf], 0, "t must be finite real numbers, got inf"),
        ("soon", 0, "t must be numbers, got 'soon'"),
        (1j, 0, "t must be real numbers"),
        (None, 0, "t must be numbers, got None"),
        ([[0.0], [1.0, 2.0]], 0, "t must be numbers"),
        (0.0, -1, "order: expected an integer from 0 to 150, got -1"),
        (0.0, 151, "order: expected an integer from 0 to 150, got 151"),
        (0.0, 1.5, r"order: expected an integer, got 1\.5"),
        (0.0, True, "order: expected an integer, got True"),
        (0.0, "2", "order: expected an integer, got '2'"),
    ],
)
def test_bad_times_and_orders_are_refused(t, order, message):
    with pytest.raises(ValueError, match=message):
        tr.Sinusoid(1, 1).series(t, order)
    with pytest.raises(ValueError, match=message):
        tr.circle_with_yaw().twist_series(t, order)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tr.Sinusoid([1, 2], [1, 2, 3]), "amplitude has 2, angular_frequency has 3"),
        (lambda: tr.Sinusoid([[1.0]], 1), r"amplitude: expected a number or shape \(n,\)"),
        (lambda: tr.Sinusoid(np.nan, 1), "amplitude must be finite real numbers, got nan"),
        (lambda: tr.HalfCosine(0, 1, 0.0), "duration: expected a positive number, got 0"),
        (lambda: tr.HalfCosine(0, 1, [1, 2]), r"duration: expected one number.*\(2,\)"),
        (lambda: tr.HalfCosine(0, 1, 1, extend="stop"), "'error', 'hold', 'formula', got 'stop'"),
        (lambda: tr.Circle(1, 1, center=(0, 0)), "center: expected 3 numbers, got 2"),
        (lambda: tr.Polynomial(1.0), r"coefficients: expected shape \(m,\) or \(m, n\)"),
        (lambda: tr.Polynomial([]), "with m >= 1"),
        (lambda: tr.PolynomialSegment([0, 1], [[0, 1]], 1), "expected one size, got 1 and 2"),
        (lambda: tr.PolynomialSegment([0], [1], -1), "duration: expected a positive number"),
        (lambda: tr.PolynomialSegment([0, 1e300], [1, 0], 1e9), r"too large .* 1000000000\.0 s"),
        (lambda: tr.PolynomialSegment.rest_to_rest(0, 1, 1, 4), "expected an odd number, got 4"),
        (lambda: tr.BSpline([0, 1, 2], [1, 2, 3], 3), "knots: expected 7 for 3 control points"),
        (lambda: tr.BSpline([0, 1, 0.5], [1, 2], 0), "knots: expected times that increase"),
        (lambda: tr.BSpline([1, 1, 1, 1], [1, 2], 1), "knots: expected times that increase"),
        (lambda: tr.BSpline.clamped([1, 2, 3], 1.0), "expected at least 6 points for degree 5"),
        (lambda: tr.BSpline.through([0, 0], [1, 2]), "times: expected increasing numbers"),
        (lambda: tr.BSpline.through([0, 1], [1, 2, 3]), "points: expected 2, one per time, got 3"),
        (lambda: tr.BSpline.through([0, 1], [1, 2], 4), "degree: expected an odd number"),
        (lambda: tr.BSpline.through([0, 1], [1, 2], 3, "free"), "points: expected at least 4"),
        (lambda: tr.BSpline.through([0, 1], [1, 2], ends="soft"), "ends: .*'rest', 'free'"),
        (lambda: tr.Piecewise([]), "expected at least one curve"),
        (lambda: tr.Piecewise([tr.Constant(1), tr.Constant([1, 2])]), r"got sizes \[1, 2\]"),
        (lambda: tr.Constant([1, 2]) + tr.Constant([1, 2, 3]), "one size, got sizes 2 and 3"),
        (lambda: tr.Constant([1, 2]) * [1, 2, 3], "factor: expected a number or 2 numbers, got 3"),
        (lambda: tr.Constant(1).retimed(tr.Constant([1, 2])), "law: expected a curve of size 1"),
        (lambda: tr.Constant(1).retimed(2.0), r"law: expected a curve of size 1, got 2\.0"),
        (lambda: tr.Constant(1) + tr.circle_with_yaw(), "expected a curve in R"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
