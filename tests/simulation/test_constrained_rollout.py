"""Rollouts under constraints: the steps of `linearize_step` and of `simulate`, on the manifold."""

from __future__ import annotations

import numpy as np
import pytest
from test_constrained_motion import SYSTEMS, pendulum, welded

import jounce as jc
from jounce.simulation.fixed_steps import by_fixed_steps
from jounce.simulation.methods import METHODS
from jounce.simulation.task import Task

EPS = np.finfo(float).eps
DT, STEPS = 2e-3, 50


@pytest.fixture(scope="module", params=SYSTEMS)
def system(request):
    return SYSTEMS[request.param]()


def assert_close(model, got, expected, allowed):
    q, v = expected
    assert np.abs(jc.difference(model, q, got[0])).max() < allowed
    assert np.abs(got[1] - v).max() < allowed * (1 + np.abs(v).max())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("projection", [True, pytest.param(False, marks=pytest.mark.long)])
def test_it_takes_the_steps_of_simulate(system, method, projection):
    """Which takes them in Python, stage by stage; also those of methods that choose theirs."""
    model, q, v, c = system
    rows = 0.1 * np.random.default_rng(0).standard_normal((STEPS, model.nv))
    options = {"constraints": c, "projection": projection}
    got = jc.rollout(model, q, v, rows, DT, method=method, **options)
    times = DT * np.arange(STEPS + 1)
    task = Task.of(model, (q, v), times, rows, False, 1, (c, projection))
    expected = by_fixed_steps(task, METHODS[method], DT, keep=False)
    assert_close(model, got, (expected.q, expected.v), 1e-11)
    held = np.where(c.holonomic, c.at(q).residual(got.q), 0.0)
    if projection:
        assert np.abs(held).max() < 64 * EPS
        assert np.abs(c.velocity(got.q, got.v)).max() < 1e3 * EPS * (1 + np.abs(got.v).max())


@pytest.mark.parametrize("projection", [True, False])
def test_taylor_steps_follow_the_motion(system, projection):
    model, q, v, c = system
    rows = np.zeros((5, model.nv))
    options = {"constraints": c, "projection": projection}
    got = jc.rollout(model, q, v, rows, 0.02, method="taylor", order=16, **options)
    fine = {"rtol": 1e-14, "atol": 1e-14}
    exact = jc.simulate(model, q, v, 0.02 * np.arange(6), None, "taylor", **options, **fine)
    assert_close(model, got, (exact.q, exact.v), 1e-11)


@pytest.mark.parametrize("method", ["rkmk4", pytest.param("taylor", marks=pytest.mark.long)])
def test_rows_may_be_linear_wrenches_act_and_some_states_are_stored(method):
    """Against forces that do the same as the wrenches, in twice as many states."""
    model, q, v, c = welded()
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((11, model.nv))
    f_ext = rng.standard_normal((11, model.n_bodies, 6))
    options = {"method": method, "constraints": c, "hold": "first"}
    plain = jc.rollout(model, q, v, rows, DT, f_ext, **options)
    some = jc.rollout(model, q, v, rows, DT, f_ext, every=5, **options)
    for x, y in zip(some, plain, strict=True):
        np.testing.assert_array_equal(x, y[::5])

    def forces(t, q, v):
        k, part = divmod(min(t / DT, 10 - 1e-9), 1.0)
        at = [x[int(k)] + part * (x[int(k) + 1] - x[int(k)]) for x in (rows, f_ext)]
        wrenches = jc.bias_forces(model, q, v) - jc.bias_forces(model, q, v, at[1])
        return at[0] + wrenches

    same = {"method": "rkmk4", "dt": DT} if method == "rkmk4" else {"rtol": 1e-11, "atol": 1e-11}
    there = [(q, v)]
    for k in range(10):  # forces have corners at the times, which steps must not cross
        times = DT * np.array([k, k + 1])
        motion = jc.simulate(model, *there[-1], times, forces, constraints=c, **same)
        there.append((motion.q[-1], motion.v[-1]))
    exact = tuple(np.stack(x) for x in zip(*there, strict=True))
    assert_close(model, plain, exact, 1e-8)


def test_batches_share_registers_and_change_nothing():
    """With targets in packs and on threads, without them state by state."""
    model, q, v, c = welded()
    rows = 0.3 * np.random.default_rng(2).standard_normal((19, 20, model.nv))
    dt = np.linspace(1e-3, 2e-3, 19)
    held = c.at(q)
    together = jc.rollout(model, q, v, rows, dt, constraints=held, threads=2)
    starts = np.array(np.broadcast_to(q, (19, model.nq)))
    apart = jc.rollout(model, starts, v, rows, dt, constraints=c)
    out = np.empty_like(together.q), np.empty_like(together.v)
    jc.rollout(model, q, v, rows, dt, constraints=held, out=out)
    np.testing.assert_array_equal(out[0], together.q)
    jc.rollout(model, starts, v, rows, dt, constraints=c, out=out)
    np.testing.assert_array_equal(out[1], apart.v)
    for k in range(19):
        alone = jc.rollout(model, q, v, rows[k], dt[k], constraints=held)
        for many in (together, apart):
            assert_close(model, (many.q[k], many.v[k]), alone, 1e-13)


@pytest.mark.parametrize("same", [True, False], ids=["one pose", "poses of their own"])
def test_out_is_checked_before_anything_is_computed(same):
    model, q, v, c = pendulum()
    starts = np.stack([q, q if same else 1.5 * q])
    rows = np.zeros((2, 3, model.nv))
    good = jc.rollout(model, starts, v, rows, 0.01, constraints=c)
    for wrong in (good.q[:1], good.q.astype("f4"), good.q[..., ::-1], good.q.tolist()):
        rates = np.full_like(good.v, 7.0)
        with pytest.raises(ValueError, match="out must be"):
            jc.rollout(model, starts, v, rows, 0.01, constraints=c, out=(wrong, rates))
        assert (rates == 7.0).all()
    with pytest.raises(ValueError, match="real numbers"):
        jc.rollout(model, starts * 1j, v, rows, 0.01, constraints=c)


@pytest.mark.parametrize("method", ["rkmk4", "taylor"])
def test_states_hold_what_they_hold_at_the_start(method):
    model, q, v, c = pendulum()
    starts = np.stack([q, 1.5 * q, 2.0 * q])
    rows = np.broadcast_to([0.0, 0.3, 0.0], (2, 3, 20, 3))
    options = {"method": method, "constraints": c}
    got = jc.rollout(model, starts, v, rows, 5e-3, **options)
    length = np.linalg.norm(got.q, axis=-1)
    np.testing.assert_allclose(length, np.full((2, 3, 21), [[[0.7], [1.05], [1.4]]]), rtol=1e-13)
    for k in range(3):
        alone = jc.rollout(model, starts[k], v, rows[0, k], 5e-3, **options)
        np.testing.assert_allclose(got.q[1, k], alone.q, rtol=0, atol=1e-13)
    none = jc.rollout(model, starts[:0], v, rows[0, :0], 5e-3, **options)
    assert none.q.shape == (0, 21, 3)


@pytest.mark.parametrize("stabilized", [False, True])
def test_a_rod_that_grows_moves_as_its_rate_says(stabilized):
    """w(t) = 0.1 + 0.4 t + 0.3 t^2 / 2, with the order of the method."""
    model, q, v, _ = pendulum()
    c = jc.Constraints(model, [jc.Distance("slider2", motion=[0.1, 0.4, 0.3])])
    v = jc.project_velocity(model, q, v, c)
    if stabilized:
        c = c.stabilized(3.0)
    t = 5e-3 * np.arange(41)
    length = 0.7 + 0.1 * t + 0.2 * t**2 + 0.05 * t**3
    for method, allowed in (("rkmk4", 1e-9), ("taylor", 1e-13)):
        options = {"method": method, "constraints": c}
        got = jc.rollout(model, q, v, np.zeros((40, 3)), 5e-3, **options)
        error = np.abs(np.linalg.norm(got.q, axis=-1) - length).max()
        assert error < (allowed if method == "rkmk4" or not stabilized else 1e-12)


def test_servos_and_passive_forces_act():
    model, q, v, c = welded()
    springs = model.replace(damping=0.4)
    held = jc.Constraints(springs, c.items)
    servo = jc.Control(kp=3.0, kd=0.5, q_ref=q, force_limits=np.full(model.nv, 2.0), passive=True)
    rows = np.ones((STEPS, model.nv))
    got = jc.rollout(springs, q, v, rows, DT, control=servo, constraints=held)
    free = jc.rollout(springs, q, v, rows, DT, constraints=held)
    assert np.abs(jc.difference(springs, free.q, got.q)).max() > 1e-3
    # by the same servos in Python; rows of forces are not part of `simulate` with a control
    one = jc.Control(kp=3.0, kd=0.5, q_ref=q, force_limits=np.full(model.nv, 2.0), passive=True)
    times = DT * np.arange(STEPS + 1)
    exact = jc.simulate(springs, q, v, times, one, "rkmk4", dt=DT, constraints=held)
    alone = jc.rollout(springs, q, v, 0 * rows, DT, control=servo, constraints=held)
    assert_close(springs, alone, (exact.q, exact.v), 1e-11)


def test_redundant_rows_of_a_loop():
    """A point of two frames of a plane: three rows of rank two."""
    build = jc.ModelBuilder()
    body = {"mass": 1.0, "com": (0.1, 0.02, 0.3), "inertia": (0.1, 0.12, 0.05)}
    build.add_body("crank", None, "revolute", axis=(0, 1, 0), **body)
    build.add_body("rod", "crank", "revolute", (0, 0, 0.6), axis=(0, 1, 0), **body)
    build.add_body("rocker", None, "revolute", (0.5, 0, 0), axis=(0, 1, 0), **body)
    build.add_frame("rod end", "rod", (0.5, 0, 0))
    build.add_frame("rocker end", "rocker", (0, 0, 0.7))
    model = build.build()
    c = jc.Constraints(model, [jc.Point("rod end", "rocker end", target=np.zeros(3))])
    q = jc.project(model, [0.1, 0.1, 0.0], c)
    v = jc.project_velocity(model, q, [0.5, 0.0, 0.0], c)
    assert c.rank(q) == 2
    changes = []
    for steps in (200, 400):
        rows = np.zeros((steps, 3))
        got = jc.rollout(model, np.stack([q] * 9), v, rows, 1.0 / steps, constraints=c)
        assert np.abs(c.residual(got.q)).max() < 64 * EPS
        energy = jc.kinetic_energy(model, got.q, got.v) + jc.potential_energy(model, got.q)
        changes.append(np.abs(energy - energy[:, :1]).max())
    assert changes[1] < changes[0] / 10 < 1e-6


def test_a_state_that_leaves_its_constraints_is_marked_and_the_others_go_on():
    model, q, v, c = welded()
    held = c.at(q)
    rows = np.zeros((11, 6, model.nv))
    rows[3, 2:] = 1e200
    options = {"constraints": held, "on_failure": "mark"}
    got = jc.rollout(model, q, v, rows, DT, **options)
    assert got.failed_at.tolist() == [-1] * 3 + [2] + [-1] * 7
    assert np.isnan(got.q[3, 3:]).all()
    alone = jc.rollout(model, q, v, rows[0], DT, constraints=held)
    assert_close(model, (got.q[7], got.v[7]), alone, 1e-13)
    long = jc.rollout(model, q, v, np.zeros((3, model.nv)), [5.0, DT], **options)
    assert long.failed_at[1] == -1
    with pytest.raises(jc.DivergenceError, match=r"step 2 of the rollout.*too far from its constr"):
        jc.rollout(model, q, v, rows, DT, constraints=held)


def test_a_step_is_a_rollout_of_one_and_what_linearize_step_differentiates():
    model, q, v, c = welded()
    tau = 0.1 * np.ones(model.nv)
    for method in ("rkmk4", "cf4", "taylor"):
        got = jc.step(model, q, v, tau, DT, method=method, constraints=c)
        again = jc.rollout(model, q, v, tau[None], DT, method=method, constraints=c)
        np.testing.assert_array_equal(got.q, again.q[1])
        np.testing.assert_array_equal(got.v, again.v[1])
        if method == "taylor":
            continue
        free = jc.step(model, q, v, tau, DT, method=method, constraints=c, projection=False)
        for end, project in ((free, False), (got, True)):
            options = {"method": method, "constraints": c, "projection": project}
            lin = jc.linearize_step(model, q, v, tau, DT, **options)
            assert_close(model, end, (lin.q, lin.v), 1e-13)


BAD = {
    "no constraints": ({"constraints": [jc.Distance("slider2")]}, "must be a jounce.Constraints"),
    "no flag": ({"projection": 1}, "projection"),
    "variational": ({"method": "variational"}, "knows no constraints"),
    "momentum": ({"method": "momentum"}, "knows no constraints"),
    "prescribed": ({"control": jc.Control(prescribed=np.ones(3, bool))}, "do not go together"),
    "another shape": ({"q0": np.zeros(4)}, r"q0 must have shape \(..., 3\)"),
    "a violated target": ({"q0": np.ones(3)}, r"q0 violates Distance\('slider2'\) by"),
    "axes": ({"q0": np.zeros((2, 3)), "v0": np.zeros((3, 3))}, "do not broadcast"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_bad_arguments_are_named(mistake):
    model, q, v, _ = pendulum()
    c = jc.Constraints(model, [jc.Distance("slider2", target=0.7)])
    changed, message = BAD[mistake]
    given = {"q0": q, "v0": v, "tau": np.zeros((2, 3)), "dt": DT, "constraints": c, **changed}
    with pytest.raises(jc.Error, match=message):
        jc.rollout(model, **given)


def test_no_constraints_at_all_change_nothing():
    model, q, v, _ = welded()
    rows = np.zeros((5, model.nv))
    got = jc.rollout(model, q, v, rows, DT, constraints=jc.Constraints(model, []))
    np.testing.assert_array_equal(got.q, jc.rollout(model, q, v, rows, DT).q)


@pytest.mark.parametrize("tau", [0.0, np.zeros(3)])
def test_forces_without_steps_are_told_where_each_state_has_its_target(tau):
    arm, q = jc.models.chain(3), np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.5]])
    c = jc.Constraints(arm, [jc.Point(arm.body_names[-1])])
    with pytest.raises(jc.ArgumentError, match=r"tau must have shape \(..., T, 3\), got \("):
        jc.rollout(arm, q, np.zeros(3), tau, 0.01, constraints=c, projection=False)
