"""Inverse, forward and hybrid series against 60-digit numbers, order by order.

The oracle solves forward and hybrid dynamics with a mass matrix, and returns the forces that the
solution then needs; they are compared with the given ones too, which checks the oracle. Each
order is compared relative to its own largest entry: 1e-11 up to order 5, 1e-8 up to 10.

Inverse dynamics meets this for any motion. Forward dynamics is another matter: a robot has rates
of its own (an arm that hangs swings at some 9 rad/s), and its response to an error in a force
grows with their powers, order by order. Forces that make a robot move slower than that cancel to
many digits, and even forces rounded correctly from exact ones belong to a motion whose fourth
derivative differs by 1e-8 of its size. Hence forward and hybrid series are compared where the
forces are the given thing, as they are in use, and for forces that belong to a prescribed motion
the error is compared with what rounding those forces does (`test_forward_errors_are_...`).
"""

from __future__ import annotations

import functools

import numpy as np
import oracle_digits as oracle
import pytest
from series_cases import ROBOTS, assert_series_close, given_forces, given_motion, random_mask, robot

import jounce as jc
from jounce.model import Model

ORDER = 10
TOLERANCE = np.array([1e-11] * 6 + [1e-8] * 5)
COPIES = jc.core_info()["pack_width"] + 1
"""States that go through both the packed and the single kernel."""


def assert_exact(actual: np.ndarray, expected: np.ndarray) -> None:
    assert_series_close(actual, expected, TOLERANCE[: len(expected)])


def single_and_packed(function, model, *arrays, **options):
    """The result for one state, then those for each of a batch of the same states."""
    yield function(model, *arrays, **options)
    result = function(model, *(np.stack([a] * COPIES) for a in arrays), **options)
    for k in (0, COPIES - 1):
        yield result[k] if isinstance(result, np.ndarray) else tuple(x[k] for x in result)


@pytest.mark.parametrize("name", ROBOTS)
def test_inverse_series_equals_60_digits(name):
    q, rates, f_ext = given_motion(name, ORDER, ())
    expected = oracle.inverse_series(robot(name), q, rates, f_ext)
    for actual in single_and_packed(jc.inverse_dynamics_series, robot(name), q, rates, f_ext):
        assert_exact(actual, expected)


@pytest.mark.parametrize("t", [0.0, 7.3, 29.99])
def test_inverse_series_equals_60_digits_along_table_3(t):
    model = robot("aerial manipulator")
    q, rates = jc.trajectories.aerial_manipulator_reference(model).evaluate(t, ORDER)
    expected = oracle.inverse_series(model, q, rates)
    for actual in single_and_packed(jc.inverse_dynamics_series, model, q, rates):
        assert_exact(actual, expected)


@pytest.mark.parametrize("name", ROBOTS)
def test_forward_series_equals_60_digits(name):
    q, v, _, tau, f_ext = given_forces(name, ORDER, ())
    expected = oracle.forward_series(robot(name), q, v, tau, f_ext)
    for actual in single_and_packed(jc.forward_dynamics_series, robot(name), q, v, tau, f_ext):
        assert_exact(actual, expected)


def masks(name: str) -> dict[str, np.ndarray]:
    """Masks over the rates: the base's motion given, its wrench given, single rates of joints."""
    model, rng = robot(name), np.random.default_rng(3)
    base = np.arange(model.nv) < 6
    groups = [k for k, j in enumerate(model.joints) if j.type in ("free", "spherical")]
    cut = np.zeros(model.nv, bool)
    for k in groups:
        cut[rng.integers(model.v_slice(k).start, model.v_slice(k).stop)] = True
    return {
        "base motion given": base,
        "base wrench given": ~base,
        "one rate of each group joint": cut,
        "all but one rate of each group joint": ~cut,
        "every other rate": np.arange(model.nv) % 2 == 0,
        "random": random_mask(model, 3),
    }


@pytest.mark.parametrize("mask", masks("mixed tree"))
@pytest.mark.parametrize("name", ["aerial manipulator", "tree of groups"])
def test_hybrid_series_equals_60_digits(name, mask):
    q, v, acc, tau, f_ext = given_forces(name, 5, ())
    prescribed = masks(name)[mask]
    expected = oracle.hybrid_series(robot(name), q, v, acc, tau, prescribed, f_ext)
    hybrid = functools.partial(hybrid_with_mask, prescribed)
    for actual in single_and_packed(hybrid, robot(name), q, v, acc, tau, f_ext):
        for have, want in zip(actual, expected, strict=True):
            assert_exact(have, want)


def hybrid_with_mask(prescribed, model, q, v, acc, tau, f_ext):
    return jc.hybrid_dynamics_series(model, q, v, acc, tau, prescribed, f_ext)


@pytest.mark.parametrize(
    ("name", "mask"),
    [("aerial manipulator", "random"), ("tree 1", "one rate of each group joint")],
)
@pytest.mark.long
def test_hybrid_series_equals_60_digits_up_to_order_10(name, mask):
    q, v, acc, tau, f_ext = given_forces(name, ORDER, ())
    prescribed = masks(name)[mask]
    expected = oracle.hybrid_series(robot(name), q, v, acc, tau, prescribed, f_ext)
    actual = jc.hybrid_dynamics_series(robot(name), q, v, acc, tau, prescribed, f_ext)
    for have, want in zip(actual, expected, strict=True):
        assert_exact(have, want)


@pytest.mark.long
def test_series_of_order_30_equal_60_digits():
    model = jc.models.random_tree(3, 2, ("helical", "free", "spherical"))
    rng, order = np.random.default_rng(0), 30
    q = jc.random_configuration(model, rng)
    rates, tau = rng.standard_normal((2, order + 2, model.nv))
    expected = oracle.inverse_series(model, q, rates)
    assert_series_close(jc.inverse_dynamics_series(model, q, rates), expected, 1e-8)
    expected = oracle.forward_series(model, q, rates[0], tau[1:])
    actual = jc.forward_dynamics_series(model, q, rates[0], tau[1:])
    assert_series_close(actual, expected, 1e-8)


def motion_driven(name: str, order: int):
    """A state and the exactly rounded forces of a slow motion: q, motion, tau."""
    model = robot(name)
    if name == "aerial manipulator":
        reference = jc.trajectories.aerial_manipulator_reference(model)
        q, rates = reference.evaluate(12.3, order)
    else:
        q, rates, _ = given_motion(name, order, ())
        rates = 0.3 * rates
    return q, rates, oracle.inverse_series(model, q, rates)


@pytest.mark.parametrize("name", ["aerial manipulator", "tree of groups", "tree 0"])
def test_forward_errors_are_those_of_rounding_its_input(name):
    order, model = 5, robot(name)
    q, rates, tau = motion_driven(name, order)
    exact = oracle.forward_series(model, q, rates[0], tau)
    actual = jc.forward_dynamics_series(model, q, rates[0], tau)
    error = np.abs(actual - exact).max(-1)
    scale = np.abs(exact).max(-1)
    assert (error <= sensitivity(model, q, rates[0], tau) * rounding_steps(model)).all(), error
    assert (error[:1] <= 1e-11 * scale[:1]).all()


def rounding_steps(model: Model) -> int:
    """Roundings of the size of the input's: two per node on the longest way to the root."""
    depth = np.zeros(len(model.nodes.parent), int)
    for i, parent in enumerate(model.nodes.parent):
        depth[i] = 1 + (depth[parent] if parent >= 0 else 0)
    return 2 * int(depth.max())


def sensitivity(model: Model, q, v, tau) -> np.ndarray:
    """How far rounding the forces moves the accelerations, order by order, by probing."""
    rng, scale = np.random.default_rng(0), 2.0**20
    relative = np.finfo(float).eps / 2 * scale * rng.choice([-1.0, 1.0], (32, *tau.shape))
    nearby = jc.forward_dynamics_series(model, q, v, tau * (1 + relative))
    here = jc.forward_dynamics_series(model, q, v, tau)
    return np.abs(nearby - here).max((0, -1)) / scale
