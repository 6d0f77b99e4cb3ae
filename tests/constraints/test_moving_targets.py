"""Targets of rheonomic constraints move with their rates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from constraints_cases import KINDS, close, robot, set_of, slopes_of_steps, states

import jounce as jc
from jounce import lie
from jounce.constraints.moving import target_field, target_moves
from jounce.constraints.table import row_count

MODEL = "fixed_root"
SECONDS = 0.3


def moving(kind, seed=3, size=0.3):
    """A constraint with a target and a motion, and a state that it allows."""
    model = robot(MODEL)
    x = states(model, seed, 1)
    (item,) = set_of(model, kind)
    if isinstance(item, jc.Coupling):
        item = replace(item, offset=None)
    motion = size * x.rng.standard_normal((3, row_count(item)))
    c = jc.Constraints(model, [replace(item, motion=motion)]).at(x.q[0])
    return model, c, x.q[0], jc.project_velocity(model, x.q[0], x.v[0], c), x.tau[0]


@pytest.mark.parametrize("kind", KINDS)
def test_later_twice_is_later_once(kind):
    model, c, *_ = moving(kind)
    once, twice = c.at_time(0.7), c.at_time(0.3).at_time(0.4)
    close(once.motion, twice.motion, 14)
    name = target_field(c.items[0])
    ends = [getattr(x.items[0], name) for x in (once, twice, twice.at_time(-0.7))]
    if getattr(c.items[0], name) is None or not target_moves(model, c.items[0]):
        assert ends == [None, None, None]
        return
    ends = [np.array(x) for x in ends]
    close(ends[0], ends[1], 13)
    close(ends[2], np.array(getattr(c.items[0], name)), 13)
    assert np.abs(ends[2] - ends[0]).max() > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_residuals_of_moving_targets_have_the_rates_of_the_rows(kind):
    """The residual of a fixed q changes by -w: complex steps of at_time do not exist, so by h^4."""
    model, c, q, *_ = moving(kind)
    if not target_moves(model, c.items[0]):
        assert not c.at_time(0.1).targeted.any()
        return
    h = 2e-3
    ahead = [c.at_time(s * h).residual(q) for s in (1, -1, 2, -2)]
    rate = (8 * (ahead[0] - ahead[1]) - (ahead[2] - ahead[3])) / (12 * h)
    close(rate, np.where(c.targeted, -c.motion[0], 0.0), 9)


def test_a_weld_that_turns_at_a_constant_rate_follows_a_screw():
    twist, rng = np.array([0.3, -0.2, 1.4, 0.5, 0.1, -0.2]), np.random.default_rng(0)
    start = lie.exp(rng.standard_normal(6))
    c = jc.Constraints(robot(MODEL), [jc.Weld("tool", target=start, motion=[twist])])
    close(np.array(c.at_time(7.0).items[0].target), start @ lie.exp(7.0 * twist), 13)


@pytest.mark.parametrize(
    ("free", "held", "follows"),
    [(("rz",), "z", True), (("rz",), "x", False), (("x", "y", "rz"), "z", True)],
)
def test_a_loop_has_a_target_later_unless_its_rates_turn_with_it(free, held, follows):
    rows = [name for name in ("rx", "ry", "rz", "x", "y", "z") if name not in free]
    motion = [[float(name == held) for name in rows]]
    item = jc.Loop("tool", "other", free=free, target=np.eye(4), motion=motion)
    later = jc.Constraints(robot(MODEL), [item]).at_time(0.5).items[0].target
    assert (later is not None) == follows
    if follows:
        close(np.array(later)[:3, 3], np.array([0.0, 0.0, 0.5]), 15)


def test_a_point_moves_along_axes_of_the_world():
    model = robot(MODEL).with_frame("wall", None, lie.exp(np.array([0.3, 0.2, 0.5, 1, 2, 3])))
    item = jc.Point("tool", "wall", target=(0.0, 0.0, 0.0), motion=[[0.0, 0.0, 1.0]])
    moved = jc.Constraints(model, [item]).at_time(2.0).items[0]
    close(model.frame("wall").placement[:3, :3] @ moved.target, np.array([0.0, 0.0, 2.0]), 14)


@pytest.mark.parametrize("method", ["rkmk4", "dopri5", "taylor"])
@pytest.mark.parametrize("kind", ["weld of two", "point", "distance", "cam", "ball"])
def test_simulated_motions_end_on_the_moved_target(kind, method):
    model, c, q, v, _ = moving(kind, size=0.1)
    v = jc.project_velocity(model, q, 0.1 * v, c)
    options = {"method": method, **({"dt": 0.05} if method == "rkmk4" else {})}
    motion = jc.simulate(model, q, v, np.linspace(0.0, SECONDS, 7), constraints=c, **options)
    for t, at in zip(motion.t, motion.q, strict=True):
        assert np.abs(c.at_time(t).residual(at)).max() < 1e-12


@pytest.mark.parametrize("kind", ["weld of two", "point", "distance", "cam", "ball"])
def test_stabilization_pulls_to_the_moved_target(kind):
    """From beside it: e falls as in e'' + 2 alpha e' + alpha^2 e = 0, to first order."""
    model, c, q, *_ = moving(kind, size=0.1)
    alpha, q = 10.0, jc.integrate(model, q, 1e-4 * np.ones(model.nv))
    v = jc.project_velocity(model, q, np.zeros(model.nv), c)
    options = {"projection": False, "rtol": 1e-6, "atol": 1e-8}
    c = jc.Constraints(model, c.items, tolerance=1.0).stabilized(alpha)
    motion = jc.simulate(model, q, v, [0.0, 0.3], constraints=c, method="dopri5", **options)
    before, after = c.residual(q), c.at_time(0.3).residual(motion.q[-1])
    expected = before * (1 + 0.3 * alpha) * np.exp(-0.3 * alpha)
    assert np.abs(after - expected).max() < 0.02 * np.abs(before).max()


@pytest.mark.parametrize("kind", ["weld of two", "point", "distance", "cam", "ball"])
def test_series_know_the_error_of_moving_targets(kind):
    """Taylor polynomials beside a Runge-Kutta method that knows accelerations only."""
    model, c, q, *_ = moving(kind, size=0.3)
    q = jc.integrate(model, q, 1e-2 * np.ones(model.nv))
    v = jc.project_velocity(model, q, np.zeros(model.nv), c)
    c = jc.Constraints(model, c.items, tolerance=1.0).stabilized(5.0)
    options = {"projection": False, "rtol": 1e-11, "atol": 1e-13}
    ends = [
        jc.simulate(model, q, v, [0.0, 0.2], constraints=c, method=method, **options)
        for method in ("taylor", "dop853")
    ]
    close(ends[0].q[-1], ends[1].q[-1], 9)
    close(ends[0].v[-1], ends[1].v[-1], 8)


def test_series_of_errors_that_depend_on_the_way_are_refused():
    model, c, q, v, tau = moving("point of two")
    assert c.targeted.all()
    with pytest.raises(jc.errors.ArgumentError, match="on a way that depends on the robot's"):
        jc.constrained_dynamics_series(model, q, v, [tau, tau], c.stabilized(10.0))
    assert jc.constrained_dynamics_series(model, q, v, [tau], c.stabilized(10.0)).a.shape[0] == 1


def test_the_end_of_a_driven_motion_can_be_linearized():
    arm = jc.models.panda_like()
    q, v = arm.poses["home"], np.zeros(7)
    target = jc.body_pose(arm, q, "tool")[:3, 3]
    c = jc.Constraints(arm, [jc.Point("tool", target=target, motion=[[0, 0, 0], [0, 0, 0.2]])])
    end = jc.simulate(arm, q, v, [0.0, 0.5, 1.0], constraints=c, method="rkmk4", dt=0.05)
    state = end.q[-1], end.v[-1], np.zeros(7)
    assert jc.linearize(arm, *state, constraints=c.at_time(1.0)).A_min.shape == (8, 8)
    with pytest.raises(jc.errors.ArgumentError, match=r"by 0\.1 rad or m"):
        jc.linearize(arm, *state, constraints=c)


ROLLED = ["weld of two", "hinge", "point", "distance", "cam", "ball", "point of two"]


def rolled(kind, size=0.3):
    """A set that moves along with its target, and a state that it allows."""
    model, c, q, *_ = moving(kind, size=size)
    if kind == "hinge":  # along its axis
        motion = np.array(c.items[0].motion)
        motion[:, :-1] = 0.0
        c = c._changed([replace(c.items[0], motion=motion)])
    return model, c, q, jc.project_velocity(model, q, np.zeros(model.nv), c)


@pytest.mark.parametrize("method", ["euler", "midpoint", "rkmk4", "cf4"])
@pytest.mark.parametrize("kind", ROLLED)
def test_rollouts_end_on_the_moved_target_as_simulations_do(kind, method):
    model, c, q, v = rolled(kind)
    count, dt = 6, 0.02
    options = {"method": method, "constraints": c}
    forces = np.zeros((count, model.nv))
    got = jc.rollout(model, q, v, forces, dt, **options)
    t = dt * np.arange(count + 1)
    expected = jc.simulate(model, q, v, t, dt=dt, **options)
    assert np.abs(jc.difference(model, expected.q, got.q)).max() < 1e-12
    close(got.v, expected.v, 11)
    follows = target_moves(model, c.items[0])
    for time, at, rates in zip(t, got.q, got.v, strict=True):
        later = c.at_time(float(time))
        assert later.targeted.any() == (follows or time == 0)
        assert np.abs(later.residual(at)).max() < 1e-14 * (1 + np.abs(at).max())
        close(c.velocity(at, rates), later.motion[0], 12)


@pytest.mark.parametrize("kind", ROLLED)
def test_stabilized_rollouts_feel_the_moved_target(kind):
    """Without projection, from beside it, as simulations do in Python."""
    model, c, q, _ = rolled(kind)
    q = jc.integrate(model, q, 1e-2 * np.ones(model.nv))
    c = jc.Constraints(model, c.items, tolerance=1.0).stabilized(5.0, 7.0)
    v = jc.project_velocity(model, q, np.zeros(model.nv), c)
    dt, options = 0.02, {"method": "rkmk4", "constraints": c, "projection": False}
    got = jc.rollout(model, q, v, np.zeros((6, model.nv)), dt, **options)
    expected = jc.simulate(model, q, v, dt * np.arange(7), dt=dt, **options)
    assert np.abs(jc.difference(model, expected.q, got.q)).max() < 1e-12
    close(got.v, expected.v, 11)
    if target_moves(model, c.items[0]):
        still = jc.Constraints(model, [replace(c.items[0], motion=None)], tolerance=9.0)
        free = jc.rollout(
            model, q, v, np.zeros((6, model.nv)), dt, **{**options, "constraints": still}
        )
        assert np.abs(got.v - free.v).max() > 1e-3


def test_packs_of_steps_of_several_lengths_follow_their_targets():
    model, c, q, v = rolled("weld of two", size=2.0)
    dt = np.linspace(0.004, 0.02, 11)
    c = c.stabilized(3.0)
    options = {"constraints": c, "on_failure": "mark"}
    forces = np.zeros((11, 20, model.nv))
    forces[3, 7:] = 1e200  # this one fails, and the others go on
    many = jc.rollout(model, q, v, forces, dt, threads=2, **options)
    assert many.failed_at.tolist() == [-1] * 3 + [7] + [-1] * 7
    for k in (0, 4, 10):
        one = jc.rollout(model, q, v, forces[k], dt[k], constraints=c)
        assert np.abs(jc.difference(model, one.q, many.q[k])).max() < 1e-12
        assert np.abs(c.at_time(20 * dt[k]).residual(one.q[-1])).max() < 1e-13


def test_targets_that_move_far_in_one_step_or_too_far():
    model = jc.models.aerial_manipulator()
    twist = np.array([[0.0, 0.0, 40.0, 0.0, 0.0, 0.3]])
    c = jc.Constraints(model, [jc.Weld("B4", motion=twist)])
    q = jc.neutral(model)
    v = jc.project_velocity(model, q, np.zeros(model.nv), c)
    c = c.at(q)
    end = jc.step(model, q, v, np.zeros(model.nv), 0.1, method="dop853", constraints=c)
    pose = jc.body_pose(model, q, "B4") @ lie.exp(0.1 * twist[0])  # by four radians
    close(jc.body_pose(model, end.q, "B4"), pose, 13)
    with pytest.raises(jc.DivergenceError):
        jc.step(model, q, v, np.zeros(model.nv), 1e4, constraints=c)


@pytest.mark.long
@pytest.mark.parametrize("method", ["euler", "semi_implicit_euler", "rkmk4", "cf4", "taylor"])
@pytest.mark.parametrize("gains", [(0.0, 0.0), (5.0, 7.0)], ids=["rates", "stabilized"])
@pytest.mark.parametrize("kind", ["weld of two", "point", "cam", "ball"])
def test_steps_to_moved_targets_are_linearized(kind, gains, method):
    """Against differences of order eight of `jounce.step`, from states of the manifold."""
    model, c, q, v = rolled(kind)
    c = c.stabilized(*gains)
    rng = np.random.default_rng(2)
    v = jc.project_velocity(model, q, rng.standard_normal(model.nv), c)
    tau, dt = rng.standard_normal(model.nv), 0.01
    options = {"method": method, "constraints": c}
    lin = jc.linearize_step(model, q, v, tau, dt, **options)
    assert np.abs(c.at_time(dt).residual(lin.q)).max() < 1e-13
    z = rng.standard_normal(lin.Z.shape[-1])
    before, after = slopes_of_steps(c, q, v, tau, dt, lin, z, method=method)
    close(lin.A @ before, after, 10)
    lengths = np.array([dt, dt, 2 * dt])
    three = jc.linearize_step(model, q, v, tau, lengths, **options)
    close(three.A[1], lin.A, 12)
    twice = jc.linearize_step(model, q, v, tau, 2 * dt, **options)
    close(three.A[2], twice.A, 12)


@pytest.mark.parametrize("kind", ["weld of two", "cam"])
def test_second_derivatives_of_steps_know_the_time_of_each_stage(kind):
    """By the forces, against second differences of order eight of `jounce.step`."""
    model, c, q, v = rolled(kind, size=1.0)
    c, rng, dt, h = c.stabilized(5.0, 7.0), np.random.default_rng(3), 0.02, 2.0
    tau, u, weights = (rng.standard_normal(n) for n in (model.nv, model.nv, 2 * model.nv))
    options = {"constraints": c, "projection": False, "method": "rkmk4"}
    every = {"actuated": np.ones(model.nv, bool), "weights": weights}
    second = jc.linearize_step(model, q, v, tau, dt, **options, **every)

    def changed(s):
        end = jc.step(model, q, v, tau + s * h * u, dt, **options)
        return weights @ np.concatenate([jc.difference(model, second.q, end.q), end.v - second.v])

    bend = {1: 8 / 5, 2: -1 / 5, 3: 8 / 315, 4: -1 / 560}
    expected = sum(w * (changed(s) + changed(-s) - 2 * changed(0)) for s, w in bend.items()) / h**2
    n = 2 * model.nv
    close(u @ second.H[n:, n:] @ u, expected, 9, np.abs(second.H[n:, n:]).max() * u @ u)
