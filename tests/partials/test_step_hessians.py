"""Second derivatives of steps agree with integrals of steps around complex circles."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import partials_oracle as oracle
import pytest
from analytic_oracle import difference, passive_forces
from partials_cases import MODELS, some_long, states_of

import jounce as jc
from jounce.simulation.methods import METHODS

EXACT = 1e-10
DT = 0.1
RADIUS, POINTS = 0.05, 24
"""The error of the integrals is (RADIUS / distance to a singularity)^POINTS."""


def some(name, count=3):
    case = states_of(name)
    return SimpleNamespace(
        model=case.model,
        **{key: getattr(case, key)[:count] for key in ("q", "v", "tau", "f_ext")},
    )


def second_derivatives(case, method, weights, directions, passive=None):
    """c H c for directions c, (states, directions)."""
    model = case.model
    q, v, tau = (x[:, None, None] for x in (case.q, case.v, case.tau))
    z = RADIUS * np.exp(2j * np.pi * np.arange(POINTS) / POINTS)
    change = z[:, None, None] * directions  # (points, directions, 3 nv)
    dq, dv, dtau = np.split(change, 3, axis=-1)
    start = oracle.integrate(model, q.astype(complex), dq)
    f_ext = case.f_ext[:, None, None]
    after = oracle.step(model, start, v + dv, tau + dtau, DT, method, f_ext, passive)
    end = oracle.step(model, case.q, case.v, case.tau, DT, method, case.f_ext, passive)
    (x,) = difference(model, {"q0": end[0][:, None, None], "q1": after[0]})
    y = after[1] - end[1][:, None, None]
    weighted = (np.concatenate([x, y], axis=-1) * weights[:, None, None]).sum(-1)
    return 2 * (weighted / z[:, None] ** 2).mean(1).real


def check(name, method, passive=False):
    case, rng = some(name, 1 if passive else 3), np.random.default_rng(5)
    nv = case.model.nv
    if passive:
        rest = jc.integrate(
            case.model, case.q[0], rng.uniform(-1, 1, nv)
        )  # half a turn away at most
        stiffness, damping = rng.uniform(0, 20, (2, nv))
        case.model = case.model.replace(stiffness=stiffness, damping=damping, springref=rest)
    weights = rng.standard_normal((len(case.q), 2 * nv))
    directions = rng.standard_normal((5, 3 * nv)) / np.sqrt(nv)
    got = jc.linearize_step(
        case.model,
        *(case.q, case.v, case.tau, DT, case.f_ext),
        method=method,
        actuated=np.ones(nv, bool),
        passive=passive,
        weights=weights,
    )
    acting = passive_forces if passive else None
    exact = second_derivatives(case, method, weights, directions, acting)
    ours = np.einsum("di,sij,dj->sd", directions, got.H, directions)
    size = np.abs(got.H).max(axis=(1, 2)) + np.abs(exact).max(axis=1)
    assert (np.abs(ours - exact).max(axis=1) < EXACT * size).all()
    first = jc.linearize_step(
        case.model,
        *(case.q, case.v, case.tau, DT, case.f_ext),
        method=method,
        actuated=np.ones(nv, bool),
        passive=passive,
    )
    for x, y in zip(got, first, strict=False):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-11 * (1 + np.abs(y).max()))


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_every_method_with_joints_of_all_kinds(method):
    check("free_root", method)


@pytest.mark.long
@pytest.mark.parametrize("name", some_long(MODELS))
def test_every_kind_of_tree(name):
    check(name, "rkmk4")


@pytest.mark.long
@pytest.mark.parametrize("name", ["free_root", "groups_in_mid_tree"])
@pytest.mark.parametrize("method", ["semi_implicit_euler", "rkmk4", "cf4"])
def test_springs_and_dampers_of_joints_of_all_kinds(name, method):
    check(name, method, passive=True)


def test_second_derivatives_of_short_steps_grow_with_their_length():
    case = some("groups_in_mid_tree")
    weights, state = np.ones((3, 2 * case.model.nv)), (case.q, case.v, case.tau)
    once, twice = (
        jc.linearize_step(case.model, *state, dt, weights=weights).H for dt in (1e-7, 2e-7)
    )
    assert np.abs(twice - 2 * once).max() < 1e-5 * np.abs(once).max()


def test_inputs_and_passive_forces(one_dof):
    """By a map to forces, and with dampers."""
    rng = np.random.default_rng(1)
    model = one_dof.model.replace(damping=0.3)
    nv, few = model.nv, slice(0, 3)
    state = one_dof.q[few], one_dof.v[few], one_dof.tau[few]
    weights, actuation = rng.standard_normal((3, 2 * nv)), rng.standard_normal((nv, 4))
    full = jc.linearize_step(model, *state, DT, actuated=np.ones(nv, bool), weights=weights)
    mapped = jc.linearize_step(model, *state, DT, actuation=actuation, weights=weights)
    map_ = np.zeros((3 * nv, 2 * nv + 4))
    map_[: 2 * nv, : 2 * nv], map_[2 * nv :, 2 * nv :] = np.eye(2 * nv), actuation
    np.testing.assert_allclose(mapped.H, map_.T @ full.H @ map_, rtol=0, atol=1e-10)
    h = 1e-5
    damped = jc.linearize_step(model, *state, DT, passive=True, weights=weights)
    moved = [
        jc.linearize_step(
            model, state[0], state[1] + s * h * np.eye(nv)[:, None], state[2], DT, passive=True
        )
        for s in (1, -1)
    ]
    by_v = np.einsum("si,ksij->sjk", weights, (moved[0].A - moved[1].A) / (2 * h))
    np.testing.assert_allclose(damped.H[:, : 2 * nv, nv : 2 * nv], by_v, rtol=0, atol=1e-6)


def test_batches_out_and_errors(free_root):
    model, nv, few = free_root.model, free_root.model.nv, slice(0, 4)
    state = free_root.q[few], free_root.v[few], free_root.tau[few], DT
    weights = np.random.default_rng(0).standard_normal(2 * nv)
    got = jc.linearize_step(model, *state, weights=weights)
    assert isinstance(got, jc.SecondOrderStep)
    out = tuple(np.empty_like(x) for x in got)
    again = jc.linearize_step(model, *state, weights=np.tile(weights, (4, 1)), out=out)
    for x, y in zip(got, again, strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(got.H, np.swapaxes(got.H, -1, -2))
    empty = jc.linearize_step(model, *(x[:0] for x in state[:3]), DT, weights=weights)
    assert empty.H.shape == (0, *got.H.shape[1:])
    bad = np.tile(weights, (4, 1))
    bad[2, 5] = np.nan
    with pytest.raises(jc.ArgumentError, match=r"weights must be finite, got nan at \[2, 5\]"):
        jc.linearize_step(model, *state, weights=bad)
    with pytest.raises(jc.ArgumentError, match="weights must be finite numbers of shape"):
        jc.linearize_step(model, *state, weights=weights[:-1])
    with pytest.raises(jc.ArgumentError, match=r"axes \(3,\) of weights do not broadcast"):
        jc.linearize_step(model, *state, weights=np.ones((3, 2 * nv)))


@pytest.mark.parametrize("lead", [(), (1,), (4,)])
def test_weights_have_batch_axes_of_their_own(lead, free_root):
    """Many weights of one state, as of states; the Hessian is linear in them."""
    model, count = free_root.model, 2 * free_root.model.nv
    at = [x[: int(np.prod(lead))].reshape(*lead, -1) for x in (free_root.q, free_root.v)]
    at = [*at, free_root.tau[0], DT]
    weights = np.random.default_rng(0).standard_normal((3, 1, count) if lead else (3, count))
    got = jc.linearize_step(model, *at, weights=weights)
    assert got.H.shape == (3, *lead, *[count + got.B.shape[-1]] * 2)
    assert got.A.shape == (3, *lead, count, count)
    out = tuple(np.empty_like(x) for x in got)
    jc.linearize_step(model, *at, weights=weights, out=out)
    for k in range(3):
        one = jc.linearize_step(model, *at, weights=weights[k])
        for whole, written, part in zip(got, out, one, strict=True):
            np.testing.assert_allclose(whole[k], part, rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(whole, written)
    if lead == ():
        each = jc.linearize_step(model, *at, weights=np.eye(count)).H
        sums = np.einsum("ki,iab->kab", weights, each)
        np.testing.assert_allclose(got.H, sums, rtol=0, atol=1e-12 * np.abs(each).max() * count)
