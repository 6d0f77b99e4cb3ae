"""Rows of forces between times, of which all ways of simulating read one and the same."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce.simulation.rows import Rows, interval, padded

TIMES = np.array([0.0, 0.5, 0.75, 2.0])


def test_linear_rows_are_those_of_interp_and_constant_ones_hold_until_the_next():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((3, 4, 2))
    t = np.concatenate([TIMES, rng.uniform(0.0, 2.0, 20)])
    k = interval(TIMES, t)
    linear, held = Rows(TIMES, values), Rows(TIMES, values[:, :-1])
    for state in range(3):
        for joint in range(2):
            expected = np.interp(t, TIMES, values[state, :, joint])
            np.testing.assert_allclose(linear.at(t, k)[state, :, joint], expected, atol=1e-15)
    last = [max(i for i in range(3) if TIMES[i] <= x) for x in t]
    np.testing.assert_array_equal(held.at(t, k), values[:, last])
    of = rng.integers(0, 3, len(t))
    each = np.arange(len(t))
    for rows in (linear, held):
        np.testing.assert_array_equal(rows.at(t, k, (of,)), rows.at(t, k)[of, each])
    rise = (linear.at(t + 1e-3, k) - linear.at(t, k)) / 1e-3
    np.testing.assert_allclose(linear.slope(k), rise, atol=1e-11)
    assert not held.slope(k).any()


def test_where_two_intervals_meet_either_can_be_asked_for():
    rows = Rows(TIMES, np.arange(3.0)[:, None])
    assert rows.at(TIMES, interval(TIMES, TIMES))[:, 0].tolist() == [0, 1, 2, 2]
    assert rows.at(TIMES, interval(TIMES, TIMES, "left"))[:, 0].tolist() == [0, 0, 1, 2]
    assert padded(rows.values, 4)[:, 0].tolist() == [0, 1, 2, 2]


def test_the_row_of_one_time_holds():
    one = Rows(TIMES[:1], np.array([[3.0]]))
    t = np.array([-1.0, 0.0, 5.0])
    assert one.at(t, interval(one.t, t))[:, 0].tolist() == [3, 3, 3]


@pytest.mark.parametrize("count", [3, 4])
@pytest.mark.parametrize("extra", [{}, {"passive": True}, {"events": True}, {"fixed": True}])
@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_a_mass_moves_by_the_integrals_of_its_rows(method, extra, count):
    """Compiled or not, with events or without: rates are exact integrals of the forces."""
    mass = jc.ModelBuilder(gravity=(0, 0, 0)).add_body("m", joint="prismatic", mass=2.0).build()
    values = np.random.default_rng(1).standard_normal((count, 1))
    options = {name: value for name, value in extra.items() if name == "passive"}
    if "events" in extra:
        options["events"] = [jc.Event(lambda t, q, v: t - 1.0)]
    if "fixed" in extra:
        method, options = "rkmk4", {"dt": 0.1}
    got = jc.simulate(mass, [0.1], [0.2], TIMES, values, method, **options)
    mean = values if count == 3 else 0.5 * (values[1:] + values[:-1])
    expected = 0.2 + np.cumsum(np.diff(TIMES) * mean[:, 0]) / 2.0
    np.testing.assert_allclose(got.v[1:, 0], expected, atol=1e-13)
    assert got.check(values).defect < 1e-9
