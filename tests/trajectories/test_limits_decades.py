"""S-curves keep their limits and meet their ends whatever the decades of limits and times are.

The oracle below evaluates the same law with 60 digits: as a sum of truncated powers at the sums of
its lengths, which in turn are sought by bisection instead of Newton's method.
"""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

import jounce as jc
from jounce import trajectories as tr

EPS = np.finfo(float).eps
LIMITS = tr.limits.Limits.of(2, 1.0, 2.0, 8.0, 50.0)
STARTS = [0.0, 1.7e9, -1e6, 0.1]
REVIEWED = [
    (1.0, (1e-6, 1.0, 100.0, 1e4), 0.0),
    (100.0, (1e-3, 1.0, 100.0, 1e4), 0.0),
    (130.0, (1e-2, 1.0, 100.0, 1e4), 0.0),
    (1.0, (1.0, 1e13), 0.0),
    (1.0, (1.0, 1e20, 1e20, 1e20), 0.0),
    (1.0, (1.0, 1e308, 1e308, 1e308), 0.0),
    (1.0, (1.0, 20.0, 2000.0, 1e6), 1.7e9),
    (-1e-3, (1e300, 1.0, 1e300), -1e6),
]


def random_cases(count, seed):
    """Distances, limits and starts over many decades."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        limits = 10.0 ** rng.uniform(-8, 8, rng.integers(2, 5))
        distance = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-9, 6)
        yield float(distance), tuple(limits.tolist()), STARTS[i % len(STARTS)]


CASES = [*REVIEWED, *random_cases(120, 1)]


def step_of(curve):
    """The spacing of doubles at the time of a curve that is farthest from zero."""
    return float(np.spacing(np.abs(curve.interval).max()))


def waits(curve):
    """Whether a curve waits for its first step, as pieces: 0 or 1."""
    return int(not curve.coefficients[0, 1:].any())


def samples(curve, count=33):
    """Times inside of all pieces and at their starts, and the piece of each."""
    a, b = curve.breaks[:-1], curve.breaks[1:]
    t = np.minimum(a + (b - a) * np.linspace(0, 1, count)[:, None], np.nextafter(b, a))
    piece = np.broadcast_to(np.arange(a.size), t.shape)
    return t.ravel(), piece.ravel()


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]:.1g} {len(c[1])} {c[2]:g}")
class TestAllDecades:
    """What holds for each distance, limits and start."""

    @pytest.fixture
    def curve(self, case):
        distance, limits, start = case
        return tr.s_curve(0.3, 0.3 + distance, *limits, start=start)

    def test_it_ends_exactly_at_the_goal_and_at_rest(self, case, curve):
        distance, limits, start = case
        begin, end = curve.series(np.array(curve.interval), len(limits) - 1)[..., 0]
        assert curve.interval[0] == start
        assert begin.tolist() == [0.3] + [0.0] * (len(limits) - 1)
        assert end.tolist() == [0.3 + distance] + [0.0] * (len(limits) - 1)

    def test_peaks_are_within_the_limits(self, case, curve):
        limits = case[1]
        t, _ = samples(curve)
        peaks = np.abs(curve.series(t, len(limits))[:, 1:, 0]).max(axis=0)
        assert (peaks <= np.array(limits) * (1 + 16 * EPS)).all()

    def test_pieces_join(self, case, curve):
        """The polynomials of two pieces agree where they meet, to roundings of their terms."""
        h, order = np.diff(curve.breaks), len(case[1])
        c = curve._anchored[..., 0]
        for k in range(order):
            terms = [math.comb(i, k) * c[:-1, i] * h ** (i - k) for i in range(k, order + 1)]
            rounding = 16 * EPS * (np.abs(terms).sum(axis=0) + np.abs(c[1:, k]))
            assert (np.abs(np.sum(terms, axis=0) - c[1:, k]) <= rounding).all()

    def test_each_half_mirrors_the_other(self, case, curve):
        """s(end - u) = 1 - s(u), of integers that count steps, so that breaks mirror exactly."""
        moving = curve.breaks[waits(curve) :]
        lengths = np.diff(moving)
        assert (lengths == lengths[::-1]).all()
        distance = curve(curve.interval[1])[0] - 0.3
        value = curve(moving)[:, 0] - 0.3
        rounding = 8 * EPS * (0.3 + abs(distance))
        np.testing.assert_allclose(value + value[::-1], distance, rtol=0, atol=rounding)

    def test_a_limit_is_active_on_each_piece(self, case, curve):
        """But for what rounding the lengths of phases to whole steps takes away."""
        limits = np.array(case[1])
        phases = np.diff(curve.breaks)[waits(curve) :]
        t, piece = samples(curve)
        part = np.abs(curve.series(t, limits.size)[:, 1:, 0]) / limits
        active = [part[piece == waits(curve) + i].max() for i in range(phases.size)]
        slack = 64 * step_of(curve) / min(phases)
        if slack < 0.5:  # otherwise no limit beyond the resolution of time is reached
            assert min(active) > 1 - slack - 64 * EPS


def oracle_lengths(limits):
    """Lengths of the shortest law from 0 to 1, by bisection of each condition."""

    def reach(product, n, rest):
        low, high = mpmath.mpf(0), product ** (mpmath.mpf(1) / (n + 1))
        for _ in range(400):
            middle = (low + high) / 2
            low, high = (middle, high) if middle * (middle + rest) ** n < product else (low, middle)
        return high

    bounds = [mpmath.mpf(1), *limits]
    peak, rest, lengths = bounds[-1], mpmath.mpf(0), []
    for k in range(len(limits), 1, -1):
        products = [
            bounds[k - 1 - n] / peak / mpmath.mpf(2) ** (n * (n - 1) // 2) for n in range(k)
        ]
        length = min(reach(product, n, rest) for n, product in enumerate(products))
        lengths.append(length)
        rest, peak = rest + length, peak * length
    return [1 / peak, *reversed(lengths)]


def oracle_series(lengths, u, order):
    """Derivatives 0 to order of the law at u: truncated powers, with alternating signs."""
    m = len(lengths)
    out = [mpmath.mpf(0)] * (order + 1)
    for count in range(m + 1):
        for part in itertools.combinations(lengths, count):
            after = u - mpmath.fsum(part)
            if after > 0:
                for k in range(order + 1):
                    out[k] += (-1) ** count * after ** (m - k) / mpmath.factorial(m - k)
    product = mpmath.fprod(lengths)
    return [x / product for x in out]


@pytest.mark.parametrize("case", [*REVIEWED[:3], *random_cases(40, 2)], ids=lambda c: f"{c[0]:.1g}")
def test_durations_and_values_are_those_of_many_digits(case):
    """Times are known to some spacings of doubles, so that values are to these times rates."""
    distance, limits, start = case
    curve = tr.s_curve(0.0, distance, *limits, start=start)
    with mpmath.workdps(60):
        lengths = oracle_lengths([mpmath.mpf(x) / abs(mpmath.mpf(distance)) for x in limits])
        step = step_of(curve)
        late = mpmath.mpf(curve.interval[1]) - mpmath.mpf(start) - mpmath.fsum(lengths)
        assert -1e-9 * step <= late <= 9 * step  # 8, and one until the first step begins
        peaks = [abs(distance) / mpmath.fprod(lengths[:k]) for k in range(len(limits) + 1)]
        for t in np.linspace(*curve.interval, 23)[1:-1]:
            want = oracle_series(lengths, mpmath.mpf(float(t)) - start, len(limits) - 1)
            found = curve.series(float(t), len(limits) - 1)[:, 0]
            for k, (x, y) in enumerate(zip(found, want, strict=True)):
                shift = 9 * step * peaks[k + 1]
                # phases of a few steps: how far is how much longer they were made
                stretched = peaks[k] * sum(2 * step / length for length in lengths[: k + 1])
                rounding = 32 * EPS * peaks[k]
                assert abs(x - distance * y) <= shift + min(stretched, peaks[k]) + rounding


LEGS = np.array([[0.0, 1e-3, 7.0], [1e-4, 1e-3, -5.0], [50.0, 0.3, -5.0], [49.0, 0.3, 7.0]])
SPREAD = [
    ([1e-6, 1.0, 1e3], [1.0, 1e8, 1e-2], [1e2, 1e9, np.inf], [1e8, np.inf, np.inf]),
    ([1e3, 1e-5, 2.0], [1e6, 1e13, 1.0], [1e-3, 1e20, 5.0]),
    (1e-2, np.inf, np.inf, [1.0, 1e-6, 1e8]),
]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("blend", [False, True])
@pytest.mark.parametrize("limits", SPREAD, ids=["slow", "quick", "jounce alone"])
def test_legs_keep_the_limits_of_each_component(limits, blend, start):
    curve = tr.through_waypoints(LEGS, *limits, blend=blend, start=start)
    t, _ = samples(curve)
    series = np.abs(curve.series(t, len(limits)))
    for k, limit in enumerate(limits, 1):
        assert (series[:, k].max(axis=0) <= np.broadcast_to(limit, 3) * (1 + 64 * EPS)).all()
    ends = curve.series(np.array(curve.interval), len(limits) - 1)
    assert (ends[:, 0] == LEGS[[0, -1]]).all()
    assert (ends[:, 1:] == 0).all()
    if not blend:
        stops = (curve(curve.breaks)[:, None] == LEGS).all(axis=-1).any(axis=0)
        assert stops.all()  # each point is met exactly
        order = len(limits) - 1
        still = ~curve.series(curve.breaks, order)[:, 1:].any(axis=(1, 2))
        assert still.sum() >= len(LEGS)


def test_robots_arrive_however_slow_they_are():
    arm = jc.models.chain(2)
    q = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.9]])
    slow = {"velocity": [1e-6, 1e-5], "acceleration": 1.0, "jerk": 100.0, "jounce": 1e4}
    move = tr.RobotTrajectory.with_limits(arm, q, **slow)
    for t in (move.interval[1], np.array(move.interval[1])):  # plain numbers, and arrays
        last = move.evaluate(t, 1)
        assert (last.q == q[-1]).all()
        assert (last.motion == 0).all()
    v = move.evaluate(np.linspace(*move.interval, 1000)).v
    np.testing.assert_allclose(np.abs(v).max(axis=0), [1e-6, 1e-5], rtol=4 * EPS)


def test_an_infinite_acceleration_is_no_limit():
    """As one that is never reached; without a jerk or a jounce there has to be one."""
    none, high = (tr.s_curve(0.0, 1.0, 1.0, a, 8.0) for a in (np.inf, 1e6))
    assert (none.breaks == high.breaks).all()
    assert (none.coefficients == high.coefficients).all()
    with pytest.raises(jc.ArgumentError, match="acceleration: expected finite limits"):
        tr.s_curve([0.0, 0.0], [1.0, 1.0], 1.0, [1.0, np.inf], [8.0, np.inf])


BEYOND = {
    "1e300 m": ((0.0, 1e300, 1.0, 1.0, 1.0, 1.0), {}),
    "as far as doubles go": ((-1e308, 1e308, 1.0, 1.0), {}),
    "longer than doubles go": ((0.0, 1.0, 1e-310, 1e-310), {}),
    "shorter than doubles go": ((0.0, 1e-300, 1e300, 1e300), {}),
    "late": ((0.0, 1.0, 1.0, 1.0, 1.0, 1.0), {"start": 1e200}),
}


@pytest.mark.parametrize("name", BEYOND)
@pytest.mark.parametrize("blend", [False, True])
def test_what_doubles_cannot_describe_is_refused(name, blend):
    (initial, final, *limits), options = BEYOND[name]
    with pytest.raises(jc.ArgumentError, match="points: expected"):
        tr.through_waypoints([initial, final], *limits, blend=blend, **options)


def test_any_limits_are_held_or_refused():
    """Over 600 decades, without a warning from inside (warnings are errors here)."""
    rng = np.random.default_rng(5)
    made = 0
    for i in range(300):
        limits = 10.0 ** rng.uniform(-300, 300, rng.integers(2, 5))
        points = rng.normal(size=(3, 1)) * 10.0 ** rng.uniform(-300, 300)
        try:
            curve = tr.through_waypoints(points, *limits, blend=bool(i % 2), start=STARTS[i % 4])
        except jc.ArgumentError:
            continue
        made += 1
        assert curve(curve.interval[1])[0] == points[-1, 0]
        peaks = np.abs(curve.coefficients[..., 0])[:, 1:].max(axis=0)
        factorials = np.cumprod(np.arange(1.0, len(limits) + 1))
        top = peaks.size
        assert (peaks <= (limits / factorials)[:top] * (1 + 64 * EPS)).all()
    assert made > 30


@pytest.mark.parametrize("blend", [False, True])
def test_as_many_numbers_are_kept_as_a_path_has(blend):
    """Twice the points are twice the pieces, and the first half stays what it is."""
    points = np.random.default_rng(3).standard_normal((61, 2))
    few, many = (
        tr.through_waypoints(x, 1.0, 2.0, 8.0, 50.0, blend=blend) for x in (points[:31], points)
    )
    assert many.coefficients.size <= 2.2 * few.coefficients.size
    t = np.linspace(0.0, few.interval[1] - 5.0, 200)
    np.testing.assert_allclose(many(t), few(t), atol=1e-11)
    laws = tr.limits.leg_laws(np.diff(points, axis=0), LIMITS, blend, 0.0, "hold")
    assert sum(rows.size for _, rows in laws.parts) <= 30 * 5 * len(points)
    side_by_side = laws.each()
    steps = side_by_side(np.linspace(*many.interval, 300)) @ np.diff(points, axis=0)
    np.testing.assert_allclose(
        points[0] + steps, many(np.linspace(*many.interval, 300)), atol=1e-12
    )
