"""Partial derivatives of the series agree with differences of 60-digit ones."""

from __future__ import annotations

import functools
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import oracle_digits
import pytest
from series_cases import ROBOTS, given_forces, given_motion, random_mask, robot

import jounce as jc
from jounce.model.joints import ELEMENTARY

EXACT = 1e-10
ORDER = 4
STEP = Decimal(10) ** -25
"""Central differences of it have 25 right digits more than doubles."""


def moved(model, q, direction, step):
    """Coordinates q moved by `step` times a direction, up to squares of the step."""
    q, u = oracle_digits.exact(q), oracle_digits.exact(direction) * step
    nodes, out = model.nodes, q.copy()
    for kind, k, w in zip(nodes.kind, nodes.q_index, nodes.v_index, strict=True):
        if ELEMENTARY[kind] not in ("spherical", "free"):
            out[k] = q[k] + u[w]
            continue
        turn = q[k : k + 4]
        out[k : k + 4] = turn + oracle_digits.times_quaternion(u[w : w + 3]) @ turn / 2
        if ELEMENTARY[kind] == "free":
            x = oracle_digits.hat(turn[:3])
            v, size = u[w + 3 : w + 6], sum(turn**2)
            out[k + 4 : k + 7] += v + 2 * (turn[3] * (x @ v) + x @ (x @ v)) / size
    return out


def changed(array, direction, step):
    return oracle_digits.exact(array) + oracle_digits.exact(direction) * step


def slope(function):
    """Derivative at 0 of a function of a step."""
    with oracle_digits.many_digits():
        ahead, behind = (np.array(function(s * STEP)) for s in (1, -1))
        return oracle_digits.rounded((ahead - behind) / (2 * STEP))


def errors(got, exact):
    """Of each order, relative to its largest entry."""
    return np.abs(got - exact).max(-1) / np.abs(exact).max(-1)


@functools.cache
def directions(name):
    model, rng = robot(name), np.random.default_rng(11)
    dq, dv = rng.standard_normal((2, model.nv))
    series = rng.standard_normal((2, ORDER + 2, model.nv))
    return SimpleNamespace(q=dq, v=dv, motion=series[0], a=series[1, 1:], tau=series[0, 1:])


@pytest.mark.parametrize("name", ROBOTS)
def test_inverse_series(name):
    model, d = robot(name), directions(name)
    q, motion, f_ext = (x[0] for x in given_motion(name, ORDER))

    def series(step):
        at = moved(model, q, d.q, step), changed(motion, d.motion, step)
        return oracle_digits.inverse_series(model, *at, f_ext, finish=np.array)

    got = jc.inverse_dynamics_series_derivatives(model, q, motion, f_ext)
    along = got.dq @ d.q + np.einsum("kilj,lj->ki", got.dmotion, d.motion)
    assert (errors(along, slope(series)) < EXACT).all()


@pytest.mark.parametrize("name", ["aerial manipulator", "tree of groups"])
def test_forward_series(name):
    model, d = robot(name), directions(name)
    q, v, _, tau, f_ext = (x[0] for x in given_forces(name, ORDER))
    none = np.zeros(model.nv, bool)

    def series(step):
        at = moved(model, q, d.q, step), changed(v, d.v, step)
        forces = changed(tau, d.tau, step)
        nothing = np.zeros_like(tau)
        return oracle_digits.hybrid_series(
            model, *at, nothing, forces, none, f_ext, finish=np.array
        )[0]

    got = jc.forward_dynamics_series_derivatives(model, q, v, tau, f_ext)
    along = got.dq @ d.q + got.dv @ d.v + np.einsum("kilj,lj->ki", got.dtau, d.tau)
    # what one unit of rounding of the arguments does to the series itself
    rounding = jc.forward_dynamics_series_error(model, q, v, tau, f_ext)
    assert (errors(along, slope(series)) < np.maximum(EXACT, 100 * rounding)).all()


@pytest.mark.parametrize("name", ["mixed tree"])
def test_hybrid_series(name):
    model, d, mask = robot(name), directions(name), random_mask(robot(name), 2)
    q, v, acc, tau, f_ext = (x[0] for x in given_forces(name, ORDER))

    def series(step):
        at = moved(model, q, d.q, step), changed(v, d.v, step)
        inputs = changed(acc, d.a, step), changed(tau, d.tau, step)
        return np.stack(
            oracle_digits.hybrid_series(model, *at, *inputs, mask, f_ext, finish=np.array)
        )

    given = np.where(mask, acc, np.nan), np.where(mask, np.nan, tau)
    got = jc.hybrid_dynamics_series_derivatives(model, q, v, *given, mask, f_ext)
    exact = slope(series)
    for k, name_of in enumerate(("a", "tau")):
        by_q, by_v, by_a, by_tau = got[4 * k : 4 * k + 4]
        along = by_q @ d.q + by_v @ d.v
        along += np.einsum("kilj,lj->ki", by_a, d.a) + np.einsum("kilj,lj->ki", by_tau, d.tau)
        assert (errors(along, exact[k]) < EXACT).all(), name_of
        assert not by_a[..., ~mask].any()
        assert not by_tau[..., mask].any()


@pytest.mark.parametrize("name", ROBOTS)
def test_order_zero_and_the_highest_level(name):
    """Against the first derivatives; the highest derivative counts by the mass matrix alone."""
    model = robot(name)
    q, motion, f_ext = given_motion(name, ORDER)
    got = jc.inverse_dynamics_series_derivatives(model, q, motion, f_ext)
    d = jc.inverse_dynamics_derivatives(model, q, motion[:, 0], motion[:, 1], f_ext[:, 0])

    def close(x, y):
        assert np.abs(x - y).max() < 1e-12 * np.abs(y).max()

    close(got.dq[:, 0], d.dq)
    close(got.dmotion[:, 0, :, 0], d.dv)
    for k in range(ORDER + 1):
        close(got.dmotion[:, k, :, k + 1], d.da)
        assert not got.dmotion[:, k, :, k + 2 :].any()
    q, v, _, tau, f_ext = given_forces(name, ORDER)
    forward = jc.forward_dynamics_series_derivatives(model, q, v, tau, f_ext)
    d = jc.forward_dynamics_derivatives(model, q, v, tau[:, 0], f_ext[:, 0])
    for ours, first in zip((forward.dq[:, 0], forward.dv[:, 0]), d, strict=False):
        np.testing.assert_allclose(ours, first, rtol=0, atol=1e-9 * np.abs(first).max())
    for k in range(ORDER + 1):
        close(forward.dtau[:, k, :, k], d.dtau)
        assert not forward.dtau[:, k, :, k + 1 :].any()


@pytest.mark.parametrize("name", ROBOTS)
def test_inverse_and_forward_series_undo_each_other(name):
    """By the chain rule: the derivative of tau(a(tau)) is the identity, level by level."""
    model = robot(name)
    q, v, _, tau, f_ext = (x[:2] for x in given_forces(name, 2))
    a = jc.forward_dynamics_series(model, q, v, tau, f_ext)
    motion = np.concatenate([v[:, None], a], axis=1)
    inverse = jc.inverse_dynamics_series_derivatives(model, q, motion, f_ext)
    forward = jc.forward_dynamics_series_derivatives(model, q, v, tau, f_ext)
    by_tau = np.einsum("skilj,sljmn->skimn", inverse.dmotion[:, :, :, 1:], forward.dtau)
    identity = np.einsum("km,in->kimn", np.eye(3), np.eye(model.nv))
    size = np.abs(inverse.dmotion).max() * np.abs(forward.dtau).max()
    assert np.abs(by_tau - identity).max() < 1e-13 * size
    by_q = inverse.dq + np.einsum("skilj,sljn->skin", inverse.dmotion[:, :, :, 1:], forward.dq)
    size = np.abs(inverse.dmotion).max() * np.abs(forward.dq).max()
    assert np.abs(by_q).max() < 1e-13 * size


def test_batches_out_and_empty_batches():
    model = robot("tree 0")
    q, v, acc, tau, f_ext = given_forces("tree 0", 1)
    mask = random_mask(model, 1)
    calls = {
        jc.forward_dynamics_series_derivatives: (v, tau),
        jc.hybrid_dynamics_series_derivatives: (v, acc, tau, mask),
        jc.inverse_dynamics_series_derivatives: (np.concatenate([v[:, None], acc], 1),),
    }
    for function, arguments in calls.items():
        got = function(model, q, *arguments, f_ext)
        one = function(model, q[3], *(x if x is mask else x[3] for x in arguments), f_ext[3])
        for x, y in zip(got, one, strict=True):
            np.testing.assert_allclose(x[3], y, rtol=0, atol=1e-9 * np.abs(y).max())
        out = tuple(np.empty_like(x) for x in got)
        returned = function(model, q, *arguments, f_ext, out=out)
        for x, y, z in zip(got, out, returned, strict=True):
            assert y is z
            np.testing.assert_array_equal(x, y)
        empty = function(model, q[:0], *(x if x is mask else x[:0] for x in arguments))
        assert [x.shape for x in empty] == [(0, *x.shape[1:]) for x in got]
        with pytest.raises(jc.ArgumentError):
            function(model, q[:, :-1], *arguments, f_ext)
