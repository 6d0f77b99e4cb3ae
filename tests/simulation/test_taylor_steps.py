"""Taylor steps in rollouts, and their exact derivatives."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import jounce as jc
from jounce.simulation import taylor, taylor_hessian

ROBOTS = {
    "mixed": lambda: jc.models.mixed_tree(0),
    "aerial": jc.models.aerial_manipulator,
    "arm": lambda: jc.models.chain(3),
}


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request):
    model = ROBOTS[request.param]()
    rng = np.random.default_rng(4)
    q, v = jc.random_configuration(model, rng), rng.standard_normal(model.nv)
    return model, q, v, rng.standard_normal(model.nv), rng


def test_of_high_order_they_are_those_of_every_exact_method(robot):
    """Against the analytic derivatives of Runge-Kutta steps, which take another way."""
    model, q, v, tau, _ = robot
    got = jc.linearize_step(model, q, v, tau, 2e-3, method="taylor", order=14)
    other = jc.linearize_step(model, q, v, tau, 2e-3, method="dop853")
    scale = 1 + np.abs(other.A).max()
    np.testing.assert_allclose(got.A, other.A, rtol=0, atol=1e-11 * scale)
    np.testing.assert_allclose(got.B, other.B, rtol=0, atol=1e-11 * (1 + np.abs(other.B).max()))


def test_batches_of_linearized_taylor_steps(robot):
    model, q, v, tau, _ = robot
    dt = np.array([0.01, 0.02])
    both = jc.linearize_step(model, q, v, tau, dt, method="taylor", order=6)
    for k in range(2):
        alone = jc.linearize_step(model, q, v, tau, dt[k], method="taylor", order=6)
        np.testing.assert_allclose(both.A[k], alone.A, rtol=0, atol=1e-13)
    assert jc.linearize_step(model, q[None][:0], v, tau, 0.1, method="taylor").A.shape == (
        0,
        2 * model.nv,
        2 * model.nv,
    )


@pytest.mark.parametrize("hold", ["zero", "first"])
def test_a_rollout_is_a_row_of_steps(robot, hold):
    model, q, v, _, rng = robot
    rows = rng.standard_normal((2, 4 + (hold == "first"), model.nv))
    f_ext = rng.standard_normal((*rows.shape[1:2], model.n_bodies, 6))
    got = jc.rollout(model, q, v, rows, 2e-3, f_ext, "taylor", every=2, hold=hold, order=16)
    fine = jc.rollout(model, q, v, rows, 2e-3, f_ext, "dop853", every=2, hold=hold)
    assert got.q.shape == (2, 3, model.nq)
    np.testing.assert_allclose(got.q, fine.q, rtol=0, atol=1e-11)
    if hold == "zero":
        now = q, v
        for k in range(2):
            now = jc.step(model, *now, rows[0, k], 2e-3, f_ext[k], "taylor", order=16)
        np.testing.assert_allclose(got.v[0, 1], now[1], rtol=0, atol=1e-13)


@pytest.mark.parametrize("hold", ["zero", "first"])
def test_without_wrenches_the_core_takes_many_steps_at_once(robot, hold):
    """More than fit into a portion, stored at times that do not divide it."""
    model, q, v, _, rng = robot
    steps, every, dt = 135, 9, 1e-3
    rows = 0.1 * rng.standard_normal((steps + (hold == "first"), model.nv))
    got = jc.rollout(model, q, v, rows, dt, method="taylor", every=every, hold=hold, order=14)
    fine = jc.rollout(model, q, v, rows, dt, method="dop853", every=every, hold=hold)
    moved = jc.difference(model, fine.q, got.q)
    assert np.abs(moved).max() < 1e-11
    assert np.abs(got.v - fine.v).max() < 1e-11 * (1 + np.abs(fine.v).max())
    many = jc.rollout(
        model, np.stack([q, q]), v, rows, dt, method="taylor", every=every, hold=hold, order=14
    )
    np.testing.assert_allclose(many.q[1], got.q, rtol=0, atol=1e-12)
    lengths = jc.rollout(
        model, q, v, rows, np.array([dt, dt / 2]), method="taylor", every=every, hold=hold, order=14
    )
    np.testing.assert_allclose(lengths.q[0], got.q, rtol=0, atol=1e-12)


def test_failures_of_rollouts_are_marked_or_named():
    model = jc.models.chain(3)
    rows = np.zeros((2, 5, 3))
    rows[1, 2] = 1e200
    start = model, np.zeros(3), np.zeros(3), rows, 0.01
    marked = jc.rollout(*start, method="taylor", on_failure="mark")
    assert marked.failed_at.tolist() == [-1, 2]
    assert np.isnan(marked.q[1, 3:]).all()
    assert np.isfinite(marked.q[0]).all()
    assert np.isfinite(marked.q[1, :3]).all()
    with pytest.raises(jc.DivergenceError, match=r"step 2 of the rollout.*state \[1\]"):
        jc.rollout(*start, method="taylor")
    out = np.empty((2, 6, 3)), np.empty((2, 6, 3)), np.empty(2, np.int64)
    again = jc.rollout(*start, method="taylor", on_failure="mark", out=out)
    assert again.q is out[0]
    np.testing.assert_array_equal(out[2], [-1, 2])


BAD = {
    "order": ({"order": 1}, "order must be 2 to 30"),
    "control": ({"control": jc.Control(kd=1.0)}, "takes no control"),
    "every": ({"every": 0}, "every must be"),
    "shape": ({"tau": np.zeros(3)}, "tau must have shape"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_bad_arguments_are_named(mistake):
    options, message = BAD[mistake]
    given = {"tau": np.zeros((2, 3)), **options}
    with pytest.raises(jc.ArgumentError, match=message):
        jc.rollout(jc.models.chain(3), np.zeros(3), np.zeros(3), dt=0.1, method="taylor", **given)


def test_linearized_taylor_steps_refuse_what_their_series_lacks():
    model, zero = jc.models.chain(3), np.zeros(3)
    step = functools.partial(jc.linearize_step, model, zero, zero, zero, 0.1, method="taylor")
    with pytest.raises(jc.ArgumentError, match="does not take passive=True"):
        step(passive=True)
    held = jc.Constraints(model, [jc.Coupling({"joint0": 1.0, "joint1": -1.0})])
    with pytest.raises(jc.ArgumentError, match="no weights under constraints"):
        step(constraints=held, weights=np.ones(6), projection=False)


SLOPE = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
FAR = 5e-3


@pytest.mark.parametrize("order", [2, 3, 7])
def test_their_second_derivatives_are_slopes_of_the_first(robot, order):
    """The symmetric part of those of A and B, whose differences are of eighth order."""
    model, q, v, tau, rng = robot
    nv, f_ext = model.nv, rng.standard_normal((model.n_bodies, 6))
    weights, actuation = rng.standard_normal(2 * nv), rng.standard_normal((nv, 2))
    options = {"method": "taylor", "order": order, "actuation": actuation}
    m = 2 * nv + 2
    steps = np.array([*SLOPE, *(-s for s in SLOPE)]) * FAR
    d = steps[:, None, None] * np.eye(m)
    moved = (
        jc.integrate(model, q, d[..., :nv]),
        v + d[..., nv : 2 * nv],
        tau + d[..., 2 * nv :] @ actuation.T,
    )
    near = jc.linearize_step(model, *moved, 0.1, f_ext, **options)
    gradient = weights @ np.concatenate([near.A, near.B], -1)  # (8, m, m)
    slopes = (
        np.einsum("s,sij->ij", [*SLOPE.values(), *(-x for x in SLOPE.values())], gradient) / FAR
    )
    got = jc.linearize_step(model, q, v, tau, 0.1, f_ext, weights=weights, **options)
    expected = (slopes + slopes.T) / 2
    np.testing.assert_allclose(got.H, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    first = jc.linearize_step(model, q, v, tau, 0.1, f_ext, **options)
    for x, y in zip(got, first, strict=False):
        np.testing.assert_array_equal(x, y)


def test_second_derivatives_of_high_order_are_those_of_every_exact_method(robot, monkeypatch):
    """Against the way back through those of Runge and Kutta; in batches, by pieces, on threads."""
    model, q, v, tau, rng = robot
    weights = rng.standard_normal((3, 2 * model.nv))
    got = jc.linearize_step(model, q, v, tau, 2e-3, method="taylor", order=12, weights=weights)
    other = jc.linearize_step(model, q, v, tau, 2e-3, method="dop853", weights=weights)
    np.testing.assert_allclose(got.H, other.H, rtol=0, atol=1e-11 * np.abs(other.H).max())
    np.testing.assert_array_equal(got.H, np.swapaxes(got.H, -1, -2))
    monkeypatch.setattr(taylor_hessian, "MEMORY", 1)
    out = tuple(np.empty_like(x) for x in got)
    options = {"method": "taylor", "order": 12, "weights": weights, "threads": 2, "out": out}
    jc.linearize_step(model, q, v, tau, 2e-3, **options)
    np.testing.assert_allclose(out[-1], got.H, rtol=0, atol=1e-13 * np.abs(got.H).max())
    none = jc.linearize_step(model, q, v, tau, 0.1, method="taylor", weights=weights[:0])
    assert none.H.shape == (0, *got.H.shape[1:])


@pytest.mark.parametrize("order", [2, 3, 5])
def test_quaternions_of_long_steps_have_length_one(robot, order):
    """Where the polynomial errs, too; else derivatives and lengths were off by 1e-8."""
    model, q, v, tau, _ = robot
    after = jc.step(model, q, 2 * v, tau, 0.1, method="taylor", order=order).q
    rows = np.tile(tau, (2, 1))
    rolled = jc.rollout(model, q, 2 * v, rows, 0.1, method="taylor", order=order).q[1]
    for at in taylor.quaternions(model):
        for end in (after, rolled):
            assert abs(np.linalg.norm(end[at : at + 4]) - 1) < 1e-15


@pytest.mark.parametrize("dt", [1.0, 4.0, 30.0])
def test_quaternions_have_length_one_where_the_series_diverges(dt):
    """The polynomial of a quaternion is as large as 1e38 there."""
    ball = jc.ModelBuilder().add_body("ball", joint="free", mass=1.3, inertia=(1, 2, 3)).build()
    given = ball, jc.neutral(ball), [3.0, 8, 2, 1, 0, 0], np.zeros(6), dt
    q = jc.step(*given, method="taylor", order=30).q
    linear = jc.linearize_step(*given, method="taylor", order=30, weights=np.ones(12)).q
    for x in (q, linear):
        assert abs(np.linalg.norm(x[:4]) - 1) < 4e-16
    many = (np.tile(x, (9, 1)) for x in given[1:4])
    packed = jc.step(ball, *many, np.linspace(1e-3, dt, 9), method="taylor", order=30).q
    np.testing.assert_allclose(np.linalg.norm(packed[:, :4], axis=1), 1, rtol=0, atol=4e-16)


def test_second_derivatives_of_steps_of_no_rates_are_empty():
    still = jc.ModelBuilder().add_body("x", joint="fixed", mass=1.0).build()
    none = np.zeros((2, 0))
    got = jc.linearize_step(still, none, none, none, 0.1, method="taylor", order=5, weights=none)
    assert got.H.shape == (2, 0, 0)
