"""Forces of springs, damping and friction, by energy, power and complex numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import jounce as jc
from jounce import lie
from jounce.model.rates import group_blocks

EPS = np.finfo(float).eps


def sprung(model, seed=0, per_joint=False):
    """The robot with springs, damping and friction everywhere, springs at rest anywhere."""
    rng = np.random.default_rng(seed)
    stiffness = rng.uniform(0.5, 5.0, model.nv)
    if per_joint:
        for k in range(len(model.joints)):
            stiffness[model.v_slice(k)] = stiffness[model.v_slice(k)][0]
    return model.replace(
        stiffness=stiffness,
        springref=jc.random_configuration(model, rng),
        damping=rng.uniform(0.1, 1.0, model.nv),
        friction=rng.uniform(0.1, 1.0, model.nv),
    )


def deflections(model, q):
    """The same by matrices: logarithms of rotations, positions in body axes."""
    rest = model.springref
    u = np.zeros((*q.shape[:-1], model.nv))
    for k, joint in enumerate(model.joints):
        at, rates = model.q_slice(k), model.v_slice(k)
        if joint.type not in ("spherical", "free"):
            u[..., rates] = q[..., at] - rest[at]
            continue
        R0, R = lie.quat_to_matrix(rest[at][:4]), lie.quat_to_matrix(q[..., at][..., :4])
        u[..., rates.start : rates.start + 3] = lie.log(R0.T @ R)
        if joint.type == "free":
            away = q[..., at][..., 4:] - rest[at][4:]
            u[..., rates.start + 3 : rates.stop] = (R.swapaxes(-1, -2) @ away[..., None])[..., 0]
    return u


def test_forces_are_stiffness_damping_and_friction(robot, state):
    model, at = sprung(robot), state(robot, 3, 2)
    expected = -model.stiffness * deflections(model, at.q)
    expected -= model.damping * at.v + model.friction * np.sign(at.v)
    forces = jc.passive_forces(model, at.q, at.v)
    np.testing.assert_allclose(forces, expected, rtol=1e-13, atol=1e-13)


def test_springs_of_one_stiffness_have_a_potential(robot, state):
    """Their power is what half of k u.u loses, here by a derivative along the motion."""
    model, at = sprung(robot, per_joint=True), state(robot, 5)
    quiet = model.replace(damping=0, friction=0)

    def energy(q):
        return 0.5 * (model.stiffness * deflections(model, q) ** 2).sum(-1)

    power = (jc.passive_forces(quiet, at.q, at.v) * at.v).sum(-1)
    h = 1e-3  # of a difference of sixth order
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    rate = (
        sum(
            w
            * (
                energy(jc.integrate(model, at.q, k * h * at.v))
                - energy(jc.integrate(model, at.q, -k * h * at.v))
            )
            for k, w in weights.items()
        )
        / h
    )
    np.testing.assert_allclose(power, -rate, rtol=1e-9, atol=1e-9)


def test_without_springs_no_power_is_given(robot, state):
    model, at = sprung(robot).replace(stiffness=0), state(robot, 50)
    assert ((jc.passive_forces(model, at.q, at.v) * at.v).sum(-1) < 0).all()


def test_friction_at_rest_is_zero(robot, state):
    model, at = sprung(robot).replace(stiffness=0), state(robot)
    np.testing.assert_array_equal(jc.passive_forces(model, at.q, np.zeros(model.nv)), 0)


def rotation_vector_rate(w, delta):
    """How log(exp(w) exp(delta)) changes, from the series of dexp: dexp(-w) dw = delta."""
    dexp = lie.dexp(-w)
    return np.linalg.solve(dexp, delta[..., None])[..., 0]


def test_derivatives_are_those_of_the_deflections(robot, state):
    model, at = sprung(robot), state(robot, 4)
    d = jc.passive_forces_derivatives(model, at.q, at.v)
    np.testing.assert_array_equal(d.dv, np.broadcast_to(-np.diag(model.damping), d.dv.shape))
    u = deflections(model, at.q)
    expected = np.zeros_like(d.dq)
    expected[..., np.arange(model.nv), np.arange(model.nv)] = -model.stiffness
    for block in group_blocks(model):
        s, n = block.at.start, block.at.stop - block.at.start
        w = u[..., s : s + 3]
        by_turn = np.stack(
            [rotation_vector_rate(w, np.broadcast_to(e, w.shape)) for e in np.eye(3)], -1
        )
        expected[..., s : s + 3, s : s + 3] = -model.stiffness[s : s + 3, None] * by_turn
        if n == 6:
            x = lie.hat(u[..., s + 3 : s + 6])
            expected[..., s + 3 : s + 6, s : s + 3] = -model.stiffness[s + 3 : s + 6, None] * x
    np.testing.assert_allclose(d.dq, expected, rtol=1e-11, atol=1e-11)


def test_derivatives_at_rest_are_the_stiffness(robot):
    model = sprung(robot)
    d = jc.passive_forces_derivatives(model, model.springref, np.zeros(model.nv))
    np.testing.assert_allclose(d.dq, -np.diag(model.stiffness), rtol=0, atol=64 * EPS * 5)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 3.0, np.pi - 1e-9, np.pi])
def test_a_spherical_spring_turns_back_by_the_rotation_vector(angle):
    axis = np.array([1.0, -2.0, 2.0]) / 3
    model = jc.ModelBuilder().add_body("b", joint="spherical", mass=1.0, stiffness=2.0).build()
    q = np.append(np.sin(angle / 2) * axis, np.cos(angle / 2))
    forces = jc.passive_forces(model, q, np.zeros(3))
    np.testing.assert_allclose(forces, -2 * angle * axis, rtol=4 * EPS, atol=0)


def test_linearization_with_passive_forces_is_that_of_the_sum(robot, state):
    model, at = sprung(robot), state(robot, 2)
    total = at.tau + jc.passive_forces(model, at.q, at.v)
    plain = jc.linearize(model, at.q, at.v, total, at.f_ext)
    ours = jc.linearize(model, at.q, at.v, at.tau, at.f_ext, passive=True)
    d, nv = jc.passive_forces_derivatives(model, at.q, at.v), model.nv
    M_inv = jc.inverse_mass_matrix(model, at.q)
    change = ours.A - plain.A
    scale = np.abs(ours.A).max()
    np.testing.assert_allclose(change[..., nv:, :nv], M_inv @ d.dq, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(change[..., nv:, nv:], M_inv @ d.dv, rtol=0, atol=1e-12 * scale)
    np.testing.assert_array_equal(change[..., :nv, :], 0)
    np.testing.assert_array_equal(ours.B, plain.B)


def richardson(f, x, direction):
    """Derivative by central differences, extrapolated twice."""
    steps = [1e-2, 5e-3, 2.5e-3]
    table = [(f(h * direction) - f(-h * direction)) / (2 * h) for h in steps]
    table = [(4 * b - a) / 3 for a, b in itertools.pairwise(table)]
    return (16 * table[1] - table[0]) / 15


@pytest.mark.parametrize("method", ["semi_implicit_euler", "midpoint", "cf4"])
def test_steps_with_passive_forces_are_differentiated(robot, state, method):
    model, at, dt = sprung(robot).replace(friction=0), state(robot), 1e-2
    full = jc.linearize_step(model, at.q, at.v, at.tau, dt, method=method, passive=True)
    rng, nv = np.random.default_rng(1), model.nv
    direction = rng.standard_normal(2 * nv)
    direction /= np.linalg.norm(direction)

    def moved(x):
        q = jc.integrate(model, at.q, x[:nv])
        s = jc.linearize_step(model, q, at.v + x[nv:], at.tau, dt, method=method, passive=True)
        return np.concatenate([jc.difference(model, full.q, s.q), s.v - full.v])

    expected = richardson(moved, None, direction)
    np.testing.assert_allclose(
        full.A @ direction, expected, rtol=1e-7, atol=1e-7 * np.abs(full.A).max()
    )


def test_actuation_maps_inputs_to_forces(robot, state):
    at, rng = state(robot, 2), np.random.default_rng(2)
    B = rng.standard_normal((robot.nv, 3))
    everything = np.ones(robot.nv, bool)
    for call in (
        lambda **options: jc.linearize(robot, at.q, at.v, at.tau, **options),
        lambda **options: jc.linearize_step(
            robot, at.q, at.v, at.tau, 0.01, method="cf4", **options
        ),
    ):
        ours, plain = call(actuation=B), call(actuated=everything)
        assert ours.B.shape[-1] == 3
        np.testing.assert_array_equal(ours.A, plain.A)
        scale = np.abs(plain.B).max() * np.abs(B).max()
        np.testing.assert_allclose(ours.B, plain.B @ B, rtol=0, atol=64 * robot.nv * EPS * scale)
        with pytest.raises(jc.ArgumentError, match="actuated or actuation, not both"):
            call(actuation=B, actuated=everything)
        with pytest.raises(jc.ArgumentError, match=r"actuation must have shape .*\(nv, inputs\)"):
            call(actuation=B[:-1])
        with pytest.raises(jc.ArgumentError, match="actuation must be finite"):
            call(actuation=B * np.nan)


def test_no_inputs_at_all_are_fine(robot, state):
    at = state(robot)
    assert (
        jc.linearize(robot, at.q, at.v, at.tau, actuation=np.zeros((robot.nv, 0))).B.shape[-1] == 0
    )


def test_forces_too_large_for_a_double_are_an_error():
    model = jc.models.chain(2).replace(damping=1e200, stiffness=1.0)
    with pytest.raises(jc.ArgumentError, match="not finite"):
        jc.passive_forces(model, [0.0, 0.0], [1e200, 0.0])


BAD = [
    ({"stiffness": -1.0}, "'joint0': stiffness must not be negative"),
    ({"stiffness": np.inf}, "'joint0': stiffness must not be negative, nan or infinite"),
    ({"springref": np.nan}, "'joint0': springref must be finite"),
    ({"springref": np.zeros(3)}, "springref must be one number or have shape"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=lambda x: str(x)[:30])
def test_springs_that_no_joint_has_are_refused(change, message):
    model = jc.models.chain(2)
    message = message.replace("joint0", model.joint_names[0])
    with pytest.raises(ValueError, match=message):
        model.replace(**change)


def test_springs_rest_at_unit_quaternions(all_joints):
    neutral = jc.neutral(all_joints)
    np.testing.assert_array_equal(all_joints.springref, neutral)
    np.testing.assert_array_equal(all_joints.replace(springref=0).springref, neutral)
    other = all_joints.replace(springref=2 * neutral + 1.0)
    for k, joint in enumerate(other.joints):
        if joint.type in ("spherical", "free"):
            at = other.q_slice(k)
            np.testing.assert_allclose(np.linalg.norm(other.springref[at][:4]), 1, rtol=4 * EPS)
            np.testing.assert_array_equal(joint.springref, other.springref[at])
    assert jc.ModelBuilder(other).build() == other
    assert other != all_joints


def test_potential_energy_has_no_springs(robot, state):
    at = state(robot)
    assert jc.potential_energy(sprung(robot), at.q) == jc.potential_energy(robot, at.q)


def test_a_sum_with_bad_forces_says_what_was_expected(robot, state):
    at = state(robot, 3)
    for tau in (at.tau[..., :1], at.tau[:2], "strong"):
        for call in (jc.linearize, lambda *x, **o: jc.linearize_step(*x, 0.01, **o)):
            with pytest.raises(jc.ArgumentError, match=r"tau must be numbers(,| of shape)"):
                call(robot, at.q, at.v, tau, passive=True)
