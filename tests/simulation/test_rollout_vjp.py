"""The adjoint of a rollout, against products of the exact derivatives of its steps."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce.simulation import adjoint
from jounce.simulation.methods import METHODS

TOLERANCE = 1e-11
STEPS, DT = 5, 0.01


def given(model, state, *lead, rows=STEPS):
    at = state(model, *lead)
    rng = np.random.default_rng(7)
    tau = rng.standard_normal((*lead, rows, model.nv))
    f_ext = rng.standard_normal((*lead, rows, model.n_bodies, 6))
    weights = tuple(rng.standard_normal((2, *lead, STEPS + 1, model.nv)))
    return at.q, 0.3 * at.v, tau, f_ext, weights


def by_products(model, q, v, tau, f_ext, weights, method, passive=False):
    """Backward by the matrices A and B of every step."""
    nv, every = model.nv, []
    for k in range(STEPS):
        wrenches = None if f_ext is None else f_ext[..., k, :, :]
        options = {"method": method, "actuated": np.ones(nv, bool), "passive": passive}
        every.append(jc.linearize_step(model, q, v, tau[..., k, :], DT, wrenches, **options))
        q, v = every[-1].q, every[-1].v
    both = np.concatenate(weights, axis=-1)
    by = both[..., STEPS, :]
    rows = np.zeros_like(tau)
    for k in reversed(range(STEPS)):
        rows[..., k, :] = np.einsum("...ij,...i->...j", every[k].B, by)
        by = np.einsum("...ij,...i->...j", every[k].A, by) + both[..., k, :]
    return by[..., :nv], by[..., nv:], rows


def agree(got, expected):
    for x, y in zip(got, expected, strict=True):
        assert x.shape == y.shape
        assert np.abs(x - y).max(initial=0) <= TOLERANCE * (1 + np.abs(y).max(initial=0))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("lead", [(), (5,)], ids=str)
def test_the_adjoint_is_the_product_of_the_derivatives_of_all_steps(method, lead, robot, state):
    q, v, tau, f_ext, weights = given(robot, state, *lead)
    got = jc.rollout_vjp(robot, q, v, tau, DT, weights, f_ext, method)
    agree(got, by_products(robot, q, v, tau, f_ext, weights, method))


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rkmk4"])
def test_passive_forces_are_differentiated(method, robot, state):
    rng = np.random.default_rng(4)
    stiffness, damping = rng.uniform(0.01, 0.1, (2, robot.nv))
    rest = jc.random_configuration(robot, rng)
    model = robot.replace(stiffness=stiffness, damping=damping, springref=rest)
    q, v, tau, _, weights = given(model, state, 3)
    passive = jc.Control(passive=True)
    got = jc.rollout_vjp(model, q, v, tau, DT, weights, method=method, control=passive)
    expected = by_products(model, q, v, tau, None, weights, method, passive=True)
    agree(got, expected)
    servo = jc.Control(kp=stiffness, kd=damping, q_ref=rest)
    agree(jc.rollout_vjp(robot, q, v, tau, DT, weights, method=method, control=servo), expected)


def test_a_servo_at_its_limits_does_not_feel_its_row(robot, state):
    q, v, tau, _, weights = given(robot, state)
    at_limit = np.arange(robot.nv) % 2 == 0
    low = np.where(at_limit, 0.5, -1e6)
    high = np.where(at_limit, 0.5, 1e6)
    limited = jc.Control(kp=0.1, q_ref=q, force_limits=(low, high))
    got = jc.rollout_vjp(robot, q, v, tau, DT, weights, control=limited)
    assert (got.tau[:, at_limit] == 0.0).all()
    some = jc.Control(kp=np.where(at_limit, 0.0, 0.1), q_ref=q)
    constant = np.where(at_limit, 0.5, tau)
    expected = jc.rollout_vjp(robot, q, v, constant, DT, weights, control=some)
    expected.tau[:, at_limit] = 0.0
    agree(got, expected)


def test_linear_forces_weigh_both_their_rows(robot, state):
    """The derivative along a direction of all rows, by extrapolated differences."""
    q, v, tau, f_ext, weights = given(robot, state, rows=STEPS + 1)
    got = jc.rollout_vjp(robot, q, v, tau, DT, weights, f_ext, hold="first")
    direction = np.random.default_rng(8).standard_normal(tau.shape)
    along = slope(robot, q, v, tau, direction, f_ext, weights, hold="first")
    assert abs((got.tau * direction).sum() - along) < 1e-9 * (1 + abs(along))


def slope(model, q, v, tau, direction, f_ext, weights, **options):
    middle = jc.rollout(model, q, v, tau, DT, f_ext, **options)

    def cost(h):
        there = jc.rollout(model, q, v, tau + h * direction, DT, f_ext, **options)
        dq = jc.difference(model, middle.q, there.q)
        return (weights[0] * dq).sum() + (weights[1] * (there.v - middle.v)).sum()

    def central(h):
        return (cost(h) - cost(-h)) / (2 * h)

    h = 1e-2
    a, b, c = central(h), central(h / 2), central(h / 4)
    first, second = (4 * b - a) / 3, (4 * c - b) / 3
    return (16 * second - first) / 15


def test_prescribed_accelerations_are_differentiated(robot, state):
    q, v, tau, f_ext, weights = given(robot, state)
    mask = np.zeros(robot.nv, bool)
    for name in robot.joint_names[1::2]:
        mask[robot.v_slice(name)] = True
    control = jc.Control(prescribed=mask)
    got = jc.rollout_vjp(robot, q, v, tau, DT, weights, f_ext, control=control)
    direction = np.random.default_rng(9).standard_normal(tau.shape)
    along = slope(robot, q, v, tau, direction, f_ext, weights, control=control)
    assert abs((got.tau * direction).sum() - along) < 1e-9 * (1 + abs(along))


def test_stops_are_differentiated():
    builder = jc.ModelBuilder()
    builder.add_body("bob", joint="revolute", mass=1.0, com=(0.3, 0, -1), upper=0.1, axis=(0, 1, 0))
    model = builder.build()
    weights = np.zeros((STEPS + 1, 1)), np.ones((STEPS + 1, 1))
    tau, control = np.zeros((STEPS, 1)), jc.Control(stops=True, stop_time=0.1)
    got = jc.rollout_vjp(model, [0.15], [0.3], tau, DT, weights, control=control)
    along = slope(model, [0.15], [0.3], tau, np.ones((STEPS, 1)), None, weights, control=control)
    assert abs(got.tau.sum() - along) < 1e-9


@pytest.mark.parametrize("every", [1, 2, 3, 5, 6])
def test_only_stored_states_have_weights(every, all_joints, state):
    q, v, tau, f_ext, weights = given(all_joints, state, 3)
    stored = STEPS // every + 1
    some = tuple(x[:, :stored] for x in weights)
    whole = tuple(np.zeros_like(x) for x in weights)
    for x, y in zip(whole, some, strict=True):
        x[:, : every * stored : every][:, :stored] = y
    got = jc.rollout_vjp(all_joints, q, v, tau, DT, some, f_ext, every=every)
    expected = jc.rollout_vjp(all_joints, q, v, tau, DT, whole, f_ext)
    agree(got, expected)
    assert (got.tau[:, (STEPS // every) * every :] == 0).all()


@pytest.mark.parametrize("hold", ["zero", "first"])
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_checkpoints_do_not_change_the_result(steps, hold, all_joints, state, monkeypatch):
    rows = STEPS + (hold == "first")
    q, v, tau, f_ext, weights = given(all_joints, state, 3, rows=rows)
    whole = jc.rollout_vjp(all_joints, q, v, tau, DT, weights, f_ext, hold=hold)
    size = 8 * 3 * (all_joints.nq + 3 * all_joints.nv)
    monkeypatch.setattr(adjoint, "_MOST_BYTES", steps * size)
    agree(jc.rollout_vjp(all_joints, q, v, tau, DT, weights, f_ext, hold=hold), whole)


@pytest.mark.parametrize("lead", [(21,), (2, 21), (21, 2)])
def test_blocks_of_states_do_not_change_the_result(lead, all_joints, state, monkeypatch):
    q, v, tau, f_ext, weights = given(all_joints, state, *lead)
    to = jc.random_configuration(all_joints, np.random.default_rng(3), (*lead, STEPS))
    servo = jc.Control(q_ref=to, kp=np.ones(all_joints.nv))
    few = weights[0][..., :3, :], None
    mass = jc.parameters(all_joints, "mass")
    shared = q[(0,) * len(lead)], v[..., :1, :], tau, np.full(lead[-1], DT), few
    calls = [
        lambda: jc.rollout_vjp(all_joints, q, v, tau, DT, weights, f_ext, parameters=mass),
        lambda: jc.rollout_vjp(all_joints, *shared, every=2, control=servo),
    ]
    whole = [call() for call in calls]
    monkeypatch.setattr(adjoint, "_BLOCK", 1)
    for call, expected in zip(calls, whole, strict=True):
        agree(call(), expected)


def test_a_state_that_diverges_is_that_of_the_whole_batch(all_joints, state, monkeypatch):
    q, v, tau, _, weights = given(all_joints, state, 40)
    tau[37, 2] = 1e300
    monkeypatch.setattr(adjoint, "_BLOCK", 1)
    with pytest.raises(jc.DivergenceError, match=r"step \d of .* in state \[37\] of the batch"):
        jc.rollout_vjp(all_joints, q, v, tau, DT, weights)


def test_shared_arguments_have_derivatives_for_each_state(all_joints, state):
    q, v, tau, _, weights = given(all_joints, state, 4)
    got = jc.rollout_vjp(all_joints, q, v[0], tau[0], DT, (None, weights[1][0]))
    for k in range(4):
        one = jc.rollout_vjp(all_joints, q[k], v[0], tau[0], DT, (None, weights[1][0]))
        agree([x[k] for x in got], one)


def test_no_steps_no_states_threads_and_out(all_joints, state):
    q, v, tau, _, weights = given(all_joints, state, 9)
    none = jc.rollout_vjp(all_joints, q, v, tau[:, :0], DT, tuple(x[:, :1] for x in weights))
    agree(none, (weights[0][:, 0], weights[1][:, 0], tau[:, :0]))
    empty = jc.rollout_vjp(all_joints, q[:0], v[:0], tau[:0], DT, (None, None))
    assert [x.shape[0] for x in empty] == [0, 0, 0]
    one = jc.rollout_vjp(all_joints, q, v, tau, DT, weights)
    out = tuple(np.ones_like(x) for x in one)
    two = jc.rollout_vjp(all_joints, q, v, tau, DT, weights, threads=2, out=out)
    for x, y, place in zip(one, two, out, strict=True):
        np.testing.assert_array_equal(x, y)
        assert y is place


MODEL = jc.models.chain(3)
Z, W = np.zeros(3), np.zeros((2, 3))
BAD = {
    "implicit": (lambda: vjp(method="variational"), "is not explicit"),
    "weights": (lambda: vjp((W[:1], None)), r"weights_q must have shape \(..., 2, 3\)"),
    "pair": (lambda: vjp(W[0]), "weights must be a pair"),
    "NaN": (lambda: vjp((None, W + np.nan)), "weights_v must be finite"),
    "axes": (
        lambda: vjp((np.stack([W] * 2), np.stack([W] * 3))),
        r"axes \(2,\) and \(3,\) of the weights do not broadcast",
    ),
    "every": (lambda: vjp(every=0), "every must be an integer"),
    "out": (lambda: vjp(out=(Z, Z)), "tuple of 3 arrays"),
    "row": (lambda: jc.rollout_vjp(MODEL, Z, Z, Z, 0.1, (None, None)), "tau must have shape"),
    "state": (lambda: jc.rollout_vjp(MODEL, Z + np.nan, Z, [Z], 0.1, (W, W)), "must be finite"),
}


def vjp(weights=(None, None), **options):
    return jc.rollout_vjp(MODEL, Z, Z, [Z], 0.1, weights, **options)


@pytest.mark.parametrize("mistake", BAD)
def test_a_mistake_is_said_clearly(mistake):
    call, message = BAD[mistake]
    with pytest.raises(jc.ArgumentError, match=message):
        call()


def test_a_state_that_diverges_is_named(all_joints, state):
    q, v, tau, _, _ = given(all_joints, state, 3)
    tau[1, 3:] = 1e200
    with pytest.raises(jc.DivergenceError, match=r"step 3 .* in state \[1\]"):
        jc.rollout_vjp(all_joints, q, v, tau, DT, (None, None))


SLOPE = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rkmk4", "cf4"])
@pytest.mark.parametrize("wrenches", [True, pytest.param(False, marks=pytest.mark.long)])
def test_parameters_change_the_states_as_differences_say(robot, state, method, wrenches):
    """Along a random direction of parameters of several kinds, by a difference of eighth order."""
    q, v, tau, f_ext, weights = given(robot, state, 2)
    f_ext = f_ext if wrenches else None
    robot = robot.replace(armature=np.full(robot.nv, 0.3))
    some = jc.parameters(robot, "log_cholesky") + jc.parameters(robot, "placement")
    for kind in ("gravity", "armature", "axis", "pitch"):
        some = some + jc.parameters(robot, kind)
    got = jc.rollout_vjp(
        robot, q, v, tau, DT, weights, f_ext, method=method, parameters=some, threads=2
    )
    plain = jc.rollout_vjp(robot, q, v, tau, DT, weights, f_ext, method=method)
    for x, y in zip(got[:3], plain, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * (1 + np.abs(y).max()))
    direction, h = np.random.default_rng(3).standard_normal(len(some)), 2e-3
    here = jc.rollout(robot, q, v, tau, DT, f_ext, method=method)

    def cost(s):
        moved = some.moved(s * h * direction)
        there = jc.rollout(moved, q, v, tau, DT, f_ext, method=method)
        dq = jc.difference(robot, here.q, there.q)
        return (weights[0] * dq + weights[1] * (there.v - here.v)).sum((-1, -2))

    expected = sum(w * (cost(s) - cost(-s)) for s, w in SLOPE.items()) / h
    error = np.abs(got.parameters @ direction - expected).max()
    assert error < 1e-8 * (1 + np.abs(expected).max()), (error, expected)


def test_parameters_with_states_that_are_not_stored():
    model = jc.models.aerial_manipulator()
    rng = np.random.default_rng(0)
    q, v = jc.random_configuration(model, rng), rng.standard_normal(model.nv)
    tau, weights = rng.standard_normal((6, model.nv)), rng.standard_normal((3, model.nv))
    mass = jc.parameters(model, "mass")
    some = jc.rollout_vjp(model, q, v, tau, DT, (weights, None), every=3, parameters=mass)
    spread = np.zeros((7, model.nv))
    spread[::3] = weights
    every = jc.rollout_vjp(model, q, v, tau, DT, (spread, None), parameters=mass)
    for x, y in zip(some, every, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-13 * (1 + np.abs(y).max()))
    out = tuple(np.zeros_like(x) for x in some[:3])
    with pytest.raises(jc.ArgumentError, match="no out with parameters"):
        jc.rollout_vjp(model, q, v, tau, DT, (spread, None), parameters=mass, out=out)


def test_parameters_of_rollouts_with_controls(all_joints, state):
    """Servos, springs, dampers and linear rows, by a difference of eighth order."""
    q, v, tau, _, _ = given(all_joints, state, 2)
    rng = np.random.default_rng(5)
    n = all_joints.nv
    robot = all_joints.replace(
        stiffness=np.abs(rng.standard_normal(n)), damping=np.abs(rng.standard_normal(n))
    )
    servo = jc.Control(kp=0.7, kd=0.2, q_ref=jc.neutral(robot), passive=True)
    options = {"control": servo, "hold": "first"}
    weights = tuple(rng.standard_normal((2, *tau.shape[-2:])))
    some = jc.parameters(robot, "mass")
    for kind in ("stiffness", "damping", "placement"):
        some = some + jc.parameters(robot, kind)
    got = jc.rollout_vjp(robot, q, v, tau, DT, weights, parameters=some, **options)
    direction, h = rng.standard_normal(len(some)), 2e-3
    here = jc.rollout(robot, q, v, tau, DT, **options)

    def cost(s):
        there = jc.rollout(some.moved(s * h * direction), q, v, tau, DT, **options)
        dq = jc.difference(robot, here.q, there.q)
        return (weights[0] * dq + weights[1] * (there.v - here.v)).sum((-1, -2))

    expected = sum(w * (cost(s) - cost(-s)) for s, w in SLOPE.items()) / h
    error = np.abs(got.parameters @ direction - expected).max()
    assert error < 1e-8 * (1 + np.abs(expected).max()), (error, expected)


def test_what_cannot_move_has_no_gradient():
    model = jc.ModelBuilder().build()
    none = np.zeros((3, 0))
    weights = np.zeros((3, 3, 0)), np.zeros((3, 3, 0))
    found = jc.rollout_vjp(model, none, none, np.zeros((2, 0)), 0.1, weights)
    assert [x.shape for x in found] == [(3, 0), (3, 0), (3, 2, 0)]
