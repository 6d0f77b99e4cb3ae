"""Batches, threads and output arrays of the series: the same numbers however they are asked for."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from series_cases import (
    BATCH,
    ORDER,
    ROBOTS,
    assert_series_close,
    given_forces,
    given_motion,
    random_mask,
    robot,
)

import jounce as jc

PACKED = 1e-12
"""Packs and single states sum in another order; forward dynamics amplifies that."""


def inverse(name):
    q, motion, f_ext = given_motion(name)
    return jc.inverse_dynamics_series, [q, motion, f_ext]


def forward(name):
    q, v, _, tau, f_ext = given_forces(name)
    return jc.forward_dynamics_series, [q, v, tau, f_ext]


def hybrid(name):
    mask = random_mask(robot(name), 4)

    @functools.wraps(jc.hybrid_dynamics_series)
    def masked(model, q, v, acc, tau, f_ext, **options):
        return jc.hybrid_dynamics_series(model, q, v, acc, tau, mask, f_ext, **options)

    return masked, list(given_forces(name))


def outputs(result):
    return result if isinstance(result, tuple) else (result,)


every_function = pytest.mark.parametrize("function", [inverse, forward, hybrid])
every_robot = pytest.mark.parametrize("name", ROBOTS)


@every_function
@every_robot
def test_batch_equals_single_states(name, function):
    call, arrays = function(name)
    batch = outputs(call(robot(name), *arrays))
    for k in range(BATCH):
        single = outputs(call(robot(name), *(a[k] for a in arrays)))
        for one, all_ in zip(single, batch, strict=True):
            assert_series_close(all_[k], one, PACKED)


@every_function
@every_robot
def test_threads_do_not_change_a_bit(name, function):
    call, arrays = function(name)
    arrays = [np.concatenate([a] * 20) for a in arrays]
    alone = outputs(call(robot(name), *arrays))
    for threads in (2, 3, 0):
        together = outputs(call(robot(name), *arrays, threads=threads))
        for x, y in zip(alone, together, strict=True):
            np.testing.assert_array_equal(x, y)


@every_function
def test_out_is_filled_and_returned(function):
    call, arrays = function("tree 0")
    expected = outputs(call(robot("tree 0"), *arrays))
    given = tuple(np.full_like(x, np.nan) for x in expected)
    result = outputs(call(robot("tree 0"), *arrays, out=given if len(given) > 1 else given[0]))
    for have, array, want in zip(result, given, expected, strict=True):
        assert have is array
        np.testing.assert_array_equal(array, want)


@every_function
def test_leading_axes_broadcast(function):
    call, (q, *rest) = function("tree 1")
    model = robot("tree 1")
    rows, columns = 3, 4
    actual = outputs(call(model, q[:rows, None], *(a[:columns] for a in rest)))
    q = np.repeat(q[:rows, None], columns, axis=1)
    rest = [np.repeat(a[None, :columns], rows, axis=0) for a in rest]
    for have, want in zip(actual, outputs(call(model, q, *rest)), strict=True):
        assert have.shape == (rows, columns, ORDER + 1, model.nv)
        np.testing.assert_array_equal(have, want)


@every_function
def test_what_the_whole_batch_shares_is_given_once(function):
    call, (q, *rest) = function("tree 1")
    model = robot("tree 1")
    actual = outputs(call(model, q, *(a[0] for a in rest)))
    expected = outputs(call(model, q, *(np.stack([a[0]] * BATCH) for a in rest)))
    for have, want in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(have, want)


@every_function
def test_no_states_give_no_results(function):
    call, arrays = function("tree 0")
    for result in outputs(call(robot("tree 0"), *(a[:0] for a in arrays))):
        assert result.shape == (0, ORDER + 1, robot("tree 0").nv)
    for result in outputs(call(robot("tree 0"), *(np.stack([a] * 2)[:, :0] for a in arrays))):
        assert result.shape == (2, 0, ORDER + 1, robot("tree 0").nv)


@every_function
def test_memory_layout_does_not_matter(function):
    call, arrays = function("tree 0")
    model = robot("tree 0")
    expected = outputs(call(model, *(a[::2].copy() for a in arrays)))
    strided = outputs(call(model, *(a[::2] for a in arrays)))
    transposed = outputs(call(model, *(np.asfortranarray(a[::2]) for a in arrays)))
    lists = outputs(call(model, *(a[::2].tolist() for a in arrays)))
    for want, *have in zip(expected, strided, transposed, lists, strict=True):
        for x in have:
            np.testing.assert_array_equal(x, want)


@every_function
def test_inputs_stay_as_they_were(function):
    call, arrays = function("tree of groups")
    before = [a.copy() for a in arrays]
    call(robot("tree of groups"), *arrays)
    for a, b in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_is_not_an_input_may_be_nan():
    model, mask = robot("tree 0"), random_mask(robot("tree 0"), 4)
    call, (q, v, acc, tau, f_ext) = hybrid("tree 0")
    expected = call(model, q, v, acc, tau, f_ext)
    masked = np.where(mask, acc, np.nan), np.where(mask, np.nan, tau)
    for have, want in zip(call(model, q, v, *masked, f_ext), expected, strict=True):
        np.testing.assert_array_equal(have, want)
