"""Motions by Taylor series: closed forms, another Taylor integrator, forces of all kinds."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import jounce as jc
from jounce.simulation import compiled

ROOT = str(Path(__file__).resolve().parent.parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)
from bench import planar_chain  # noqa: E402

EPS = np.finfo(float).eps
TIGHT = {"method": "taylor", "rtol": 1e-15, "atol": 1e-15}


def body(inertia, com=(0.0, 0.0, 0.0), gravity=(0, 0, 0)):
    builder = jc.ModelBuilder(gravity=gravity)
    builder.add_body("body", joint="free", mass=2.0, com=com, inertia=np.diag(inertia))
    return builder.build()


def start(velocity, spin):
    q = np.array([0.5, -0.5, 0.5, 0.5, 1.0, 2.0, 3.0])
    R = jc.lie.quat_to_matrix(q[:4])
    return q, np.concatenate([spin, R.T @ velocity])


def apart(model, x, y):
    dq = jc.difference(model, x.q, y.q)
    return max(np.abs(dq).max(initial=0), np.abs(x.v - y.v).max(initial=0))


def test_a_symmetric_top_precesses():
    """R(t) = exp(t h / I1) R(0) exp(t s e_z): ten turns of its axis about h."""
    I1, I3 = 0.4, 0.25
    model = body([I1, I1, I3])
    q, v = start(np.zeros(3), [0.7, 0.0, 3.0])
    R = jc.lie.quat_to_matrix(q[:4])
    momentum = R @ (np.array([I1, I1, I3]) * v[:3])
    time = 20 * np.pi * I1 / np.linalg.norm(momentum)
    t = np.linspace(0, time, 41)
    got = jc.simulate(model, q, v, t, **TIGHT)
    for k in range(len(t)):
        own = jc.lie.exp(np.array([0, 0, t[k] * v[2] * (I1 - I3) / I1]))
        exact = jc.lie.exp(t[k] * momentum / I1) @ R @ own
        assert np.abs(jc.lie.quat_to_matrix(got.q[k, :4]) - exact).max() < 1e-13


def test_a_free_body_has_the_rates_of_jacobi():
    """Elliptic functions solve Euler's equations; ten periods of a body that tumbles."""
    I1, I2, I3 = 0.5, 0.35, 0.2
    a1, a3 = 0.4, 2.0
    p = a3 * np.sqrt((I2 - I3) * (I1 - I3) / (I1 * I2))
    a2 = (I3 - I1) / (I2 * p) * a1 * a3
    m = -(I1 - I2) * a1 * a2 / (I3 * a3 * p)
    t = np.linspace(0, 10 * 4 * ellipk(m) / p, 77)
    q, v = start(np.zeros(3), [a1, 0.0, a3])
    got = jc.simulate(body([I1, I2, I3]), q, v, t, **TIGHT)
    sn, cn, dn, _ = ellipj(p * t, m)
    assert np.abs(got.v[:, :3] - np.stack([a1 * cn, a2 * sn, a3 * dn], -1)).max() < 1e-13
    spin = got.v[:, :3] * [I1, I2, I3]
    world = np.einsum("tij,tj->ti", jc.lie.quat_to_matrix(got.q[:, :4]), spin)
    assert np.abs(world - world[0]).max() < 1e-13


def test_in_steady_spin_the_turn_decides_the_step():
    """The rates do not change at all; by them alone a step would be as long as the motion."""
    model = body([0.3, 0.3, 0.3])
    q, v = start(np.zeros(3), [0.0, 0.0, 5.0])
    got = jc.simulate(model, q, v, [0.0, 20.0], **TIGHT)
    turned = jc.lie.quat_multiply(q[:4], jc.lie.quat_exp(20.0 * v[:3]))
    end = got.q[-1, :4]
    assert np.abs(end * np.sign(end @ turned) - turned).max() < 64 * EPS
    np.testing.assert_array_equal(got.v[-1], v)


def test_a_ball_that_spins_fast_flies_on_a_parabola():
    """100 rad/s for ten seconds, 13 m/s: the velocity in turning axes costs no digits."""
    model = body([0.3, 0.3, 0.3], gravity=(0, 0, -9.81))
    velocity, t = np.array([3.0, -4.0, 12.0]), np.linspace(0, 10, 11)
    q, v = start(velocity, [60.0, -80.0, 0.0])
    got = jc.simulate(model, q, v, t, **TIGHT)
    fallen = q[4:] + t[:, None] * velocity + 0.5 * t[:, None] ** 2 * model.gravity
    size = np.abs(fallen).max()
    assert np.abs(got.q[:, 4:] - fallen).max() < 1e-13 * size
    R = jc.lie.quat_to_matrix(got.q[:, :4])
    world = np.einsum("tij,tj->ti", R, got.v[:, 3:])
    assert np.abs(world - velocity - t[:, None] * model.gravity).max() < 1e-13 * size
    turned = jc.lie.quat_multiply(q[:4], jc.lie.quat_exp(t[:, None] * v[:3]))
    sign = np.sign((got.q[:, :4] * turned).sum(-1))[:, None]
    assert np.abs(got.q[:, :4] * sign - turned).max() < 1000 * 4 * EPS  # 1000 rad


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_planar_chain_moves_as_heyoka_says(count):
    hy = pytest.importorskip("heyoka", reason="heyoka has no wheel here")
    names = list(hy.make_vars(*(f"{x}{k}" for x in "pw" for k in range(count))))
    phi, rate = names[:count], names[count:]
    turns = planar_chain.accelerations(phi, rate, hy.sin, hy.cos)
    system = [*zip(phi, rate, strict=True), *zip(rate, turns, strict=True)]
    first = np.linspace(0.4, 1.0, count), np.linspace(-0.3, 0.5, count)
    integrator = hy.taylor_adaptive(system, np.concatenate(first), tol=1e-16)
    integrator.propagate_until(3.0)
    theirs = integrator.state
    to_joints = np.eye(count) - np.eye(count, k=-1)
    model = planar_chain.model(count)
    got = jc.simulate(model, to_joints @ first[0], to_joints @ first[1], [0.0, 3.0], **TIGHT)
    assert np.abs(np.cumsum(got.q[-1]) - theirs[:count]).max() < 1e-12
    assert np.abs(np.cumsum(got.v[-1]) - theirs[count:]).max() < 1e-12


def test_a_planar_chain_has_the_accelerations_of_its_equations():
    """So that the chain is the same in both, with or without heyoka."""
    model, rng = planar_chain.model(4), np.random.default_rng(0)
    q, v = rng.standard_normal((2, 4))
    ours = jc.forward_dynamics(model, q, v, np.zeros(4))
    theirs = planar_chain.accelerations(np.cumsum(q), np.cumsum(v), np.sin, np.cos)
    np.testing.assert_allclose(np.cumsum(ours), theirs, rtol=1e-12, atol=1e-12)


def test_motions_of_a_batch_are_those_of_its_states(robot):
    """Lanes of a pack take their own steps and pass the times at their own."""
    rng = np.random.default_rng(5)
    q, v = jc.random_configuration(robot, rng, 11), rng.standard_normal((11, robot.nv))
    v *= np.linspace(0, 2, 11)[:, None]
    t = np.concatenate([[0.0], np.sort(rng.uniform(0.01, 0.3, 9))])
    for method in ("taylor", "dop853", "dopri5"):
        options = {"method": method, "rtol": 1e-10, "atol": 1e-10}
        together = jc.simulate(robot, q, v, t, **options)
        for threads in (1, 2):
            again = jc.simulate(robot, q, v, t, threads=threads, **options)
            np.testing.assert_array_equal(again.q, together.q)
        for k in (0, 7, 10):
            alone = jc.simulate(robot, q[k], v[k], t, **options)
            size = 1 + np.abs(alone.v).max()
            assert np.abs(jc.difference(robot, together.q[k], alone.q)).max(initial=0) < 1e-9 * size
            assert np.abs(together.v[k] - alone.v).max(initial=0) < 1e-8 * size


@pytest.mark.parametrize("method", ["taylor", "dop853"])
def test_portions_change_nothing(method, all_joints, monkeypatch):
    """Few steps and few times at once: a step across the last of them is done again."""
    rng = np.random.default_rng(6)
    q, v = jc.random_configuration(all_joints, rng, 5), rng.standard_normal((5, all_joints.nv))
    t = np.linspace(0, 0.3, 23)
    for rows in (None, rng.standard_normal((5, 23, all_joints.nv))):
        whole = jc.simulate(all_joints, q, v, t, rows, method)
        with monkeypatch.context() as patch:
            patch.setattr(compiled, "WINDOW", 4)
            patch.setattr(compiled, "EFFORT", 1)
            parts = jc.simulate(all_joints, q, v, t, rows, method)
        assert apart(all_joints, whole, parts) < 1e-9 * (1 + np.abs(whole.v).max())


@pytest.mark.parametrize("method", ["taylor", "dop853"])
def test_passive_forces_act_in_compiled_steps(method):
    """A damped spring: x(t) = exp(-d t / 2m) (cos + sin) of the known frequency."""
    builder = jc.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("cart", joint="prismatic", mass=2.0, damping=0.6, stiffness=18.0)
    model, t = builder.build(), np.linspace(0, 6, 25)
    got = jc.simulate(model, [0.3], [0.0], t, None, method, passive=True, rtol=1e-13, atol=1e-13)
    fade, turn = 0.15, np.sqrt(9.0 - 0.15**2)
    exact = 0.3 * np.exp(-fade * t) * (np.cos(turn * t) + fade / turn * np.sin(turn * t))
    assert np.abs(got.q[:, 0] - exact).max() < 1e-11


def test_a_control_gives_its_series():
    """Force cos(3 t) on a mass: its derivatives are known."""
    builder = jc.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("cart", joint="prismatic", mass=2.0)
    model, t = builder.build(), np.linspace(0, 4, 9)

    def force(time, q, v):
        return [[3.0**k * np.cos(3 * time + k * np.pi / 2)] for k in range(40)]

    got = jc.simulate(model, [0.1], [0.2], t, force, **TIGHT)
    exact = 0.1 + 0.2 * t + (1 - np.cos(3 * t)) / 18
    assert np.abs(got.q[:, 0] - exact).max() < 1e-13
    constant = jc.simulate(model, [0.1], [0.2], t, lambda time, q, v: [[4.0]], **TIGHT)
    assert np.abs(constant.q[:, 0] - 0.1 - 0.2 * t - t * t).max() < 1e-13


MODEL = jc.models.chain(2)
Z = np.zeros(2)


def run(control=None, **options):
    return jc.simulate(MODEL, Z, Z, [0, 1], control, "taylor", **options)


BAD = {
    "rtol": (lambda: run(rtol=1e-17), "rtol must be a number, at least"),
    "atol": (lambda: run(atol=0.0), "atol must be a positive number"),
    "NaN": (
        lambda: jc.simulate(MODEL, Z, Z * np.nan, [0, 1], method="taylor"),
        "v0 must be finite",
    ),
    "dt": (lambda: run(dt=0.1), "chooses its steps"),
    "times": (lambda: jc.simulate(MODEL, Z, Z, [1, 0], method="taylor"), "t must increase"),
    "no series": (lambda: run(lambda t, q, v: Z), "control must return an array of shape"),
    "wrong series": (lambda: run(lambda t, q, v: np.zeros((3, 3))), r"of shape \(m, 2\)"),
    "NaN force": (lambda: run(lambda t, q, v: [Z * np.nan]), "must return finite forces"),
    "order": (lambda: jc.step(MODEL, Z, Z, Z, 0.1, method="taylor", order=31), "order must be 2"),
    "no order": (lambda: jc.step(MODEL, Z, Z, Z, 0.1, method="taylor", order="x"), "an integer"),
    "rollout": (
        lambda: jc.rollout_vjp(MODEL, Z, Z, [Z], 0.1, (None, None), method="taylor"),
        "method 'taylor' is not explicit; here it must be one of 'euler'",
    ),
    "step": (lambda: jc.step(MODEL, Z, Z, Z, -0.1, method="taylor"), "dt must be positive"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_a_mistake_is_said_clearly(mistake):
    call, message = BAD[mistake]
    with pytest.raises(jc.ArgumentError, match=message):
        call()


def test_dry_friction_has_no_series():
    model = MODEL.replace(friction=[0.1, 0.0])
    with pytest.raises(jc.ArgumentError, match="dry friction"):
        jc.simulate(model, Z, Z, [0, 1], method="taylor", passive=True)


def test_steps_write_to_arrays_of_the_caller(all_joints):
    rng = np.random.default_rng(0)
    q, v = jc.random_configuration(all_joints, rng, 3), rng.standard_normal((3, all_joints.nv))
    tau, out = rng.standard_normal(all_joints.nv), (np.empty_like(q), np.empty_like(v))
    wrenches = rng.standard_normal((all_joints.n_bodies, 6))
    end = jc.step(all_joints, q, v, tau, 0.01, wrenches, "taylor", out=out)
    assert end.q is out[0]
    assert end.v is out[1]
    other = jc.step(all_joints, q, v, tau, 0.01, wrenches, "dop853")
    assert apart(all_joints, end, other) < 1e-11


@pytest.mark.parametrize("method", ["taylor", "dop853"])
def test_a_motion_that_cannot_go_on_says_when(method):
    """A spring that pushes away with a large force: the motion explodes."""
    builder = jc.ModelBuilder(gravity=(0, 0, 0))
    builder.add_body("cart", joint="prismatic", mass=1e-3, damping=0.0)
    model = builder.build()
    with pytest.raises(jc.DivergenceError, match="t = "):
        jc.simulate(model, [1.0], [1e300], [0, 1e300], None, method)
