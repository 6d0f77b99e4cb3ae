"""Controls of a rollout, against the same forces computed in Python at every stage."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce.simulation.adaptive import EMBEDDED
from jounce.simulation.methods import METHODS

EPS = np.finfo(float).eps
SLACK = 2.0**16
"""Rounding errors of some steps with stiff servos, in units of eps times the largest number."""
STEPS, DT = 6, 0.002


def close(model, got, expected):
    for x, y in ((jc.difference(model, got.q, expected.q), 0.0), (got.v, expected.v)):
        assert np.abs(x - y).max() <= SLACK * EPS * (1 + np.abs(y).max())


def by_function(model, q, v, function, method="rkmk4", rows=STEPS):
    t = DT * np.arange(rows + 1)
    return jc.simulate(model, q, v, t, function, method, dt=1.01 * DT)


def start(robot, state, *lead):
    at = state(robot, *lead)
    return at.q, 0.2 * at.v, np.broadcast_to(at.tau[..., None, :], (*lead, STEPS, robot.nv)), at


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("lead", [(), (5,)], ids=str)
def test_a_servo_is_a_spring_and_a_damper_to_its_reference(method, lead, robot, state):
    q, v, tau, at = start(robot, state, *lead)
    rng = np.random.default_rng(2)
    kp, kd = rng.uniform(0.01, 0.1, (2, robot.nv))
    reference = jc.random_configuration(robot, rng)
    v_ref = rng.standard_normal(robot.nv)
    held = jc.Control(kp=kp, kd=kd, q_ref=reference, v_ref=v_ref)
    got = jc.rollout(robot, q, v, tau, DT, method=method, control=held)
    sprung = robot.replace(stiffness=kp, springref=reference, damping=kd, friction=0.0 * kd)

    if method in EMBEDDED:  # whose fixed steps take no functions
        passive = jc.Control(passive=True)
        same = jc.rollout(sprung, q, v, tau + kd * v_ref, DT, method=method, control=passive)
        return close(robot, got, same)

    def forces(t, q, v):
        return at.tau + kd * v_ref + jc.passive_forces(sprung, q, v)

    close(robot, got, by_function(robot, q, v, forces, method))


def test_servos_and_rows_stay_within_the_limits_of_the_forces(robot, state):
    q, v, tau, at = start(robot, state)
    low, high = -0.3 * np.ones(robot.nv), 0.2 * np.ones(robot.nv)
    servo = jc.Control(kp=0.7, kd=0.02, q_ref=at.q1, force_limits=(low, high))
    got = jc.rollout(robot, q, v, tau, DT, control=servo)
    sprung = robot.replace(
        stiffness=np.full(robot.nv, 0.7),
        springref=at.q1,
        damping=np.full(robot.nv, 0.02),
        friction=np.zeros(robot.nv),
    )

    def forces(t, q, v):
        return np.clip(at.tau + jc.passive_forces(sprung, q, v), low, high)

    close(robot, got, by_function(robot, q, v, forces))
    same = jc.Control(kp=0.7, kd=0.02, q_ref=at.q1, force_limits=0.3 * np.ones(robot.nv))
    limited = robot.replace(effort_limit=0.3 * np.ones(robot.nv))
    model_limits = jc.Control(kp=0.7, kd=0.02, q_ref=at.q1, force_limits="model")
    for x, y in zip(
        jc.rollout(robot, q, v, tau, DT, control=same),
        jc.rollout(limited, q, v, tau, DT, control=model_limits),
        strict=True,
    ):
        np.testing.assert_array_equal(x, y)


def passive(model):
    rng = np.random.default_rng(4)
    stiffness, damping, friction = rng.uniform(0.01, 0.1, (3, model.nv))
    rest = jc.random_configuration(model, rng)
    return model.replace(stiffness=stiffness, damping=damping, friction=friction, springref=rest)


def test_passive_forces_act_beside_the_others(robot, state):
    model = passive(robot)
    q, v, tau, at = start(model, state, 3)
    got = jc.rollout(model, q, v, tau, DT, control=jc.Control(passive=True))

    def forces(t, q, v):
        return at.tau + jc.passive_forces(model, q, v)

    close(model, got, by_function(model, q, v, forces))


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rkmk4"])
def test_prescribed_joints_have_the_given_accelerations(method, robot, state):
    """Forces of hybrid dynamics, applied to all joints, move the robot in the same way."""
    q, v, tau, at = start(robot, state, 3)
    mask = np.zeros(robot.nv, bool)
    for name in robot.joint_names[::2]:
        mask[robot.v_slice(name)] = True
    control = jc.Control(prescribed=mask)
    got = jc.rollout(
        robot, q, v, tau, DT, at.f_ext[:, None].repeat(STEPS, 1), method, control=control
    )

    def forces(t, q, v):
        return jc.hybrid_dynamics(robot, q, v, at.tau, at.tau, mask, at.f_ext).tau + (
            jc.inverse_dynamics(robot, q, v, 0 * v)
            - jc.inverse_dynamics(robot, q, v, 0 * v, at.f_ext)
        )

    close(robot, got, by_function(robot, q, v, forces, method))
    names = jc.Control(prescribed=robot.joint_names[::2])
    again = jc.rollout(
        robot, q, v, tau, DT, at.f_ext[:, None].repeat(STEPS, 1), method, control=names
    )
    np.testing.assert_array_equal(again.q, got.q)


def test_a_prescribed_joint_moves_on_its_own_parabola():
    model = jc.models.chain(4)
    mask = np.array([False, True, False, True])
    tau = np.tile([0.3, 2.0, -0.1, -1.0], (50, 1))
    got = jc.rollout(model, np.zeros(4), np.ones(4), tau, 0.01, control=jc.Control(prescribed=mask))
    t = 0.01 * np.arange(51)[:, None]
    expected = t + 0.5 * t**2 * tau[0]
    assert np.abs(got.q - expected)[:, mask].max() < 64 * EPS
    assert np.abs(got.q - expected)[-1, ~mask].min() > 1e-3


def pendulum(**joint):
    builder = jc.ModelBuilder()
    builder.add_body("bob", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -1.0), **joint)
    return builder.build()


def test_stops_hold_a_joint_near_its_limits():
    model = pendulum(lower=-0.5, upper=0.25)
    rest = np.zeros((4000, 1))
    got = jc.rollout(model, [0.2], [3.0], rest, 1e-3, control=jc.Control(stops=True))
    inertia, time = 1.0, 0.02
    # it comes to rest where the spring holds the weight
    deep = 9.81 * np.sin(0.25) * time**2 / inertia
    assert got.q.max() < 0.25 + 3.0 * time
    assert got.q.min() > -0.5 - 3.0 * time
    assert got.q.max() > 0.25 + deep
    energy = jc.kinetic_energy(model, got.q, got.v) + jc.potential_energy(model, got.q)
    assert energy.max() <= energy[0] + 1e-9
    free = jc.rollout(model, [0.2], [3.0], rest, 1e-3)
    assert free.q.max() > 0.5


def test_a_stop_pushes_and_never_pulls():
    """A mass that leaves the stop faster than its spring would push feels no force."""
    builder = jc.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("m", joint="prismatic", mass=2.0, lower=-1.0, upper=0.0)
    model = builder.build()
    for q, v in ((0.001, -5.0), (-1.001, 5.0)):
        got = jc.rollout(model, [q], [v], np.zeros((3, 1)), 1e-4, control=jc.Control(stops=True))
        np.testing.assert_array_equal(got.v, v)
    inside = jc.Control(stops=True, stop_time=0.1)
    pushed = jc.rollout(
        model, [0.01], [0.0], np.zeros((1, 1)), 1e-6, control=inside, method="euler"
    )
    assert abs(pushed.v[1, 0] + 1e-6 * 0.01 / 0.1**2) < 1e-20


def ball_chain():
    builder = jc.ModelBuilder()
    shape = {"mass": 1.0, "com": (0.1, 0.0, -0.2), "inertia": np.diag([0.1, 0.15, 0.2])}
    builder.add_body("one", joint="spherical", **shape)
    return builder.add_body("two", "one", "revolute", axis=(0, 1, 0), **shape).build()


def test_references_of_first_order_move_between_their_rows(state):
    model = ball_chain()
    rng = np.random.default_rng(5)
    rows = jc.random_configuration(model, rng, STEPS + 1)
    at = state(model)
    servo = jc.Control(kp=5.0, kd=0.3, q_ref=rows)
    tau = np.zeros((STEPS + 1, model.nv))
    got = jc.rollout(model, at.q, at.v, tau, DT, hold="first", control=servo)

    def forces(t, q, v):
        k = min(int(t / DT * (1 + 1e-12)), STEPS - 1)
        # a stage at the end of a step belongs to it
        s = t / DT - k
        reference = jc.interpolate(model, rows[k], rows[k + 1], s)
        sprung = model.replace(
            stiffness=np.full(model.nv, 5.0),
            springref=reference,
            damping=np.full(model.nv, 0.3),
        )
        return jc.passive_forces(sprung, q, v)

    close(model, got, by_function(model, at.q, at.v, forces))


def test_gains_may_differ_between_the_states_of_a_batch(all_joints, state):
    q, v, tau, at = start(all_joints, state, 9)
    kp = np.linspace(0.0, 0.2, 9)[:, None] * np.ones(all_joints.nv)
    got = jc.rollout(all_joints, q, v, tau, DT, control=jc.Control(kp=kp, q_ref=at.q1[0]))
    for k in (0, 4, 8):
        alone = jc.Control(kp=kp[k], q_ref=at.q1[0])
        one = jc.rollout(all_joints, q[k], v[k], tau[k], DT, control=alone)
        assert np.abs(got.v[k] - one.v).max() <= SLACK * EPS * (1 + np.abs(one.v).max())


def test_a_servo_that_is_too_stiff_diverges_alone(all_joints, state):
    q, v, tau, at = start(all_joints, state, 9)
    kp = np.full((9, all_joints.nv), 0.1)
    kp[4] = 1e200
    control = jc.Control(kp=kp, q_ref=at.q1[0])
    marked = jc.rollout(all_joints, q, v, tau, DT, control=control, on_failure="mark")
    assert marked.failed_at[4] >= 0
    assert (np.delete(marked.failed_at, 4) == -1).all()
    with pytest.raises(jc.DivergenceError, match=r"in state \[4\]"):
        jc.rollout(all_joints, q, v, tau, DT, control=control)


MODEL = jc.models.chain(3)
Z = np.zeros(3)


def rolled(**control):
    return jc.rollout(MODEL, Z, Z, np.zeros((4, 3)), 0.01, control=jc.Control(**control))


BAD = {
    "no control": (
        lambda: jc.rollout(MODEL, Z, Z, [Z], 0.1, control=3.0),
        "must be a jounce.Control",
    ),
    "no reference": (lambda: rolled(kp=1.0), "kp needs control.q_ref"),
    "negative": (lambda: rolled(kd=-1.0), "kd must be finite and not negative"),
    "gains": (
        lambda: rolled(kp=[1.0, 2.0], q_ref=Z),
        r"kp must be a number or have shape \(..., 3\)",
    ),
    "words": (lambda: rolled(kp="much", q_ref=Z), "kp must be numbers, got 'much'"),
    "rows": (lambda: rolled(kp=1.0, q_ref=np.zeros((3, 3))), r"q_ref must have shape \(3,\), or"),
    "NaN": (lambda: rolled(kd=1.0, v_ref=Z + np.nan), "v_ref must not be NaN"),
    "limits": (lambda: rolled(force_limits=(Z + 1, Z)), "a least force is above the largest"),
    "whose limits": (lambda: rolled(force_limits="robot"), "must be 'model' or forces"),
    "stops": (lambda: rolled(stops=1), "control.stops must be True or False"),
    "stop_time": (lambda: rolled(stops=True, stop_time=0.0), "stop_time must be a positive number"),
    "prescribed": (lambda: rolled(prescribed=[1, 0, 1]), "bool array of shape"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_a_mistake_is_said_clearly(mistake):
    call, message = BAD[mistake]
    with pytest.raises(jc.Error, match=message):
        call()


def test_a_tuple_of_two_numbers_limits_the_forces_of_two_rates():
    """It is (nv,) as a list or an array is; least and largest forces are a pair of arrays."""
    arm, q, rows = jc.models.chain(2), np.zeros(2), np.tile([40.0, -40.0], (5, 1))

    def rolled(limits):
        return jc.rollout(arm, q, q, rows, 0.01, control=jc.Control(force_limits=limits)).v

    expected = rolled(np.array([5.0, 7.0]))
    np.testing.assert_array_equal(rolled((5.0, 7.0)), expected)
    np.testing.assert_array_equal(rolled(([-5.0, -7.0], [5.0, 7.0])), expected)
    with pytest.raises(jc.ArgumentError, match="absolute forces must not be negative, got"):
        rolled((-5.0, 7.0))
    with pytest.raises(jc.ArgumentError, match=r"a pair of shapes \(\) and \(2,\)"):
        rolled((-5.0, [5.0, 7.0]))
    with pytest.raises(jc.ArgumentError, match=r"must have shape \(3,\), or be a pair .* \(2,\)"):
        jc.rollout(MODEL, Z, Z, [Z], 0.1, control=jc.Control(force_limits=(-5.0, 7.0)))
