"""Methods that carry momenta: what they keep, and that they follow the same equations."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce.simulation.methods import GEOMETRIC

EPS = np.finfo(float).eps
STEPS = 20000


def moving(model, seed=3):
    rng = np.random.default_rng(seed)
    return jc.random_configuration(model, rng), 2.0 * rng.standard_normal(model.nv)


def floating_tree():
    """With joints that cannot fly apart, and without gravity."""
    builder = jc.ModelBuilder(gravity=(0, 0, 0))
    shape = {"mass": 1.0, "com": (0.1, 0.0, -0.2), "inertia": np.diag([0.1, 0.15, 0.2])}
    arm = np.eye(4)
    arm[:3, 3] = 0.3, 0.1, -0.1
    builder.add_body("base", joint="free", **shape)
    builder.add_body("left", "base", "spherical", arm, **shape)
    builder.add_body("right", "base", "revolute", np.linalg.inv(arm), axis=(1, 0, 0), **shape)
    return builder.add_body("hand", "left", "revolute", arm, axis=(0, 1, 0), **shape).build()


@pytest.mark.parametrize("method", GEOMETRIC)
def test_the_momentum_of_a_floating_tree_is_kept(method):
    """For long enough that errors which add up would be seen."""
    model = floating_tree()
    q, v = moving(model)
    rest = np.zeros((STEPS, model.nv))
    got = jc.rollout(model, q, v, rest, 0.01, method=method, every=STEPS // 100)
    momentum = jc.centroidal_momentum(model, got.q, got.v)
    for half in (slice(3), slice(3, 6)):
        size = np.linalg.norm(momentum[0, half])
        error = np.linalg.norm(momentum[:, half] - momentum[0, half], axis=-1)
        assert error.max() < 1e-12 * size


def test_the_energy_of_the_variational_method_oscillates_and_does_not_drift():
    model = floating_tree()
    q, v = moving(model)
    rest = np.zeros((STEPS, model.nv))
    got = jc.rollout(model, q, v, rest, 0.01, method="variational")
    energy = jc.kinetic_energy(model, got.q, got.v)
    first, second = np.array_split(energy, 2)
    assert np.ptp(energy) < 1.5 * max(np.ptp(first), np.ptp(second))
    assert np.ptp(energy) < 1e-4 * energy[0]
    plain = jc.rollout(model, q, v, rest, 0.01, method="rkmk2")
    drift = jc.kinetic_energy(model, plain.q, plain.v)
    assert np.ptp(drift) > 10 * np.ptp(energy)


@pytest.mark.parametrize("method", GEOMETRIC)
def test_they_follow_the_same_equations_as_the_others(method, robot, state):
    """With forces, wrenches, gravity and armature, by the order of the error."""
    rng = np.random.default_rng(0)
    model = robot.replace(armature=rng.uniform(0.0, 0.3, robot.nv))
    at = state(model, 3)
    time = 0.1

    def run(method, steps):
        tau = np.broadcast_to(at.tau[:, None], (3, steps, model.nv))
        f_ext = np.broadcast_to(at.f_ext[:, None], (3, steps, model.n_bodies, 6))
        end = jc.rollout(
            model, at.q, 0.3 * at.v, tau, time / steps, f_ext, method=method, every=steps
        )
        return end.q[:, -1], end.v[:, -1]

    exact = run("dop853", 400)
    errors = []
    for steps in (100, 200, 400):
        q, v = run(method, steps)
        dq = jc.difference(model, exact[0], q)
        errors.append(max(np.abs(dq).max(), np.abs(v - exact[1]).max()))
    if errors[-1] < 1e-9:  # close to rounding errors
        return
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.abs(orders - GEOMETRIC[method].order).max() < 0.3


@pytest.mark.parametrize("method", GEOMETRIC)
def test_a_step_is_a_rollout_of_one(method, robot, state):
    for lead in ((), (5,), (2, 9)):
        at = state(robot, *lead)
        given = robot, at.q, 0.3 * at.v, at.tau, 0.01, at.f_ext, method
        got = jc.step(*given)
        rows = at.tau[..., None, :], 0.01, at.f_ext[..., None, :, :]
        expected = jc.rollout(robot, at.q, 0.3 * at.v, *rows, method)
        np.testing.assert_array_equal(got.q, expected.q[..., 1, :])
        np.testing.assert_array_equal(got.v, expected.v[..., 1, :])
        out = np.ones_like(got.q), np.ones_like(got.v)
        again = jc.step(*given, out=out)
        assert all(x is y for x, y in zip(again, out, strict=True))
        np.testing.assert_array_equal(out[1], got.v)


@pytest.mark.parametrize("method", GEOMETRIC)
def test_linear_forces_have_the_order_of_the_method(method):
    """A mass under forces that are linear in time, which is a cubic."""
    mass = jc.ModelBuilder(gravity=(0, 0, 0)).add_body("m", joint="prismatic", mass=2.0).build()
    tau, dt = np.array([1.0, -2.0])[:, None], 0.3
    got = jc.rollout(mass, [0.2], [-1.0], tau, dt, method=method, hold="first")
    a, jerk = tau[0, 0] / 2, (tau[1, 0] - tau[0, 0]) / 2 / dt
    v = -1.0 + a * dt + jerk * dt**2 / 2
    assert abs(got.v[1, 0] - v) < 8 * EPS


def test_the_variational_method_keeps_the_spin_of_a_body_to_rounding():
    """A free symmetric body: momentum along its axis and total, at 100 rad/s in steps of 1 ms."""
    builder = jc.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("top", joint="free", mass=1.0, inertia=np.diag([0.3, 0.3, 0.5]))
    model = builder.build()
    v = np.array([20.0, 10.0, 97.0, 1.0, 2.0, 3.0])
    rest = np.zeros((5000, 6))
    got = jc.rollout(model, jc.neutral(model), v, rest, 1e-3, method="variational")
    spin = jc.momentum(model, got.q, got.v)
    assert np.abs(spin[:, 3:] - spin[0, 3:]).max() < 1e-12 * np.linalg.norm(spin[0, 3:])
    centroidal = jc.centroidal_momentum(model, got.q, got.v)[:, :3]
    assert np.abs(centroidal - centroidal[0]).max() < 1e-12 * np.linalg.norm(centroidal[0])
    assert np.abs(got.v[:, 2] - 97.0).max() < 1e-11 * 97


def test_a_step_that_is_too_long_is_marked_and_the_others_go_on():
    """Half a turn in a step: the discrete equations have no solution."""
    builder = jc.ModelBuilder(gravity=(0, 0, 0))
    model = builder.add_body("b", joint="free", mass=1.0, inertia=np.diag([1.0, 2.0, 3.0])).build()
    v = np.zeros((5, 6))
    v[:, 0] = 1.0
    v[3, 0] = 400.0
    rest = np.zeros((4, 6))
    got = jc.rollout(
        model, jc.neutral(model), v, rest, 0.01, method="variational", on_failure="mark"
    )
    np.testing.assert_array_equal(got.failed_at, [-1, -1, -1, 0, -1])
    assert np.isfinite(got.v[[0, 1, 2, 4]]).all()
    with pytest.raises(jc.DivergenceError, match=r"step 0 .*\[3\]"):
        jc.rollout(model, jc.neutral(model), v, rest, 0.01, method="variational")


@pytest.mark.parametrize("method", GEOMETRIC)
def test_a_singular_inertia_names_its_joint(method):
    builder = jc.ModelBuilder()
    builder.add_body("arm", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0.3, 0, 0))
    model = builder.add_body("tip", "arm", joint="revolute", axis=(0, 1, 0)).build(warn=False)
    for count in (1, 9):
        given = np.zeros((count, 2)), np.zeros((count, 2)), np.zeros((count, 3, 2)), 0.01
        with pytest.raises(jc.SingularError, match="tip"):
            jc.rollout(model, *given, method=method)


def test_servos_go_with_momenta_and_not_with_the_variational_method(all_joints, state):
    at = state(all_joints)
    tau = np.zeros((4, all_joints.nv))
    servo = jc.Control(kp=2.0, kd=0.1, q_ref=at.q1)
    given = all_joints, at.q, 0.2 * at.v, tau, 1e-3
    one = jc.rollout(*given, control=servo, method="momentum")
    other = jc.rollout(*given, control=servo, method="rkmk4")
    assert np.abs(one.v - other.v).max() < 1e-9
    with pytest.raises(jc.ArgumentError, match="do not depend on the rates"):
        jc.rollout(*given, control=servo, method="variational")
    prescribed = jc.Control(prescribed=np.ones(all_joints.nv, bool))
    with pytest.raises(jc.ArgumentError, match="no prescribed joints"):
        jc.rollout(*given, control=prescribed, method="momentum")
    with pytest.raises(jc.ArgumentError, match="is not explicit"):
        jc.linearize_step(all_joints, at.q, at.v, at.tau, 0.01, method="variational")


@pytest.mark.parametrize("method", GEOMETRIC)
def test_simulations_take_them_with_a_step(method, all_joints, state):
    at = state(all_joints)
    t, tau = np.linspace(0.0, 0.02, 3), np.stack([at.tau, 0.5 * at.tau])
    got = jc.simulate(all_joints, at.q, 0.2 * at.v, t, tau, method, dt=0.005)
    rows = np.repeat(tau, 2, axis=0)
    expected = jc.rollout(all_joints, at.q, 0.2 * at.v, rows, 0.005, method=method, every=2)
    assert np.abs(got.v - expected.v).max() < 1e-9 * (1 + np.abs(expected.v).max())
    with pytest.raises(jc.ArgumentError, match="takes no function as control"):
        jc.simulate(all_joints, at.q, at.v, t, lambda t, q, v: -v, method, dt=0.005)
    with pytest.raises(jc.ArgumentError, match="it needs dt"):
        jc.simulate(all_joints, at.q, at.v, t, method=method)
