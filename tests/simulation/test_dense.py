"""Between the stored times a motion is that of the method, whatever acts."""

from __future__ import annotations

import copy
import pickle
import tracemalloc

import numpy as np
import pytest

import jounce as jc
from jounce.simulation import adaptive, compiled
from jounce.simulation.adaptive import EMBEDDED
from jounce.simulation.dense import StepLog

ADAPTIVE = (*EMBEDDED, "taylor")
TIMES = np.linspace(0.0, 0.4, 5)
INNER = np.sort(np.random.default_rng(7).uniform(0.0, 0.4, 23))


def moving(model, *lead, seed=0):
    rng = np.random.default_rng(seed)
    return jc.random_configuration(model, rng, lead), 0.5 * rng.standard_normal((*lead, model.nv))


def apart(model, x, y):
    dq = jc.difference(model, x.q, y.q)
    size = 1 + np.abs(y.v).max()
    return max(np.abs(dq).max(), np.abs(x.v - y.v).max()) / size


def tight(model, q, v, t, control=None, **options):
    """The motion at times, by a far smaller tolerance and another method."""
    times = np.union1d(TIMES, t)
    if isinstance(control, np.ndarray):  # rows of forces between the times
        k = np.clip(np.searchsorted(TIMES, times, side="right") - 1, 0, len(TIMES) - 2)
        share = ((times - TIMES[k]) / (TIMES[k + 1] - TIMES[k]))[:, None]
        if control.shape[-2] == len(TIMES):
            control = control[..., k, :] + share * (control[..., k + 1, :] - control[..., k, :])
        else:
            control = control[..., k[:-1], :]
    found = jc.simulate(model, q, v, times, control, rtol=3e-14, atol=3e-14, **options)
    some = np.searchsorted(times, t)
    return jc.Step(found.q[..., some, :], found.v[..., some, :])


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-12])
def test_errors_between_two_stored_times_stay_near_the_tolerance(method, tolerance, robot):
    q, v = moving(robot)
    got = jc.simulate(robot, q, v, TIMES[[0, -1]], None, method, rtol=tolerance, atol=tolerance)
    assert apart(robot, got.at(INNER), tight(robot, q, v, INNER)) < 300 * tolerance
    ends = got.at(TIMES[[0, -1]])
    assert apart(robot, ends, got) < 1e-14


@pytest.mark.parametrize(
    ("method", "order", "lengths"), [("dopri5", 4, (0.04, 0.02)), ("dop853", 7, (0.32, 0.04))]
)
def test_interpolants_have_their_order(method, order, lengths, all_joints):
    """The error of one step at places within it is O(h^(order + 1))."""
    q, v = moving(all_joints)
    terms = 3 + len(EMBEDDED[method].dense)
    kernel = compiled.embedded(adaptive.packed(method), terms)
    errors = []
    for h in lengths:
        start = compiled.Start(all_joints, q, v, np.array([0.0, h]), None, False, 1)
        log = StepLog(all_joints, np.zeros(1))
        log.add(np.zeros(1, int), np.zeros(1), np.full(1, h), q[None], v[None])
        step = compiled._dense(kernel, start, log, np.full(1, h))()
        t = h * np.array([0.23, 0.61])
        got = jc.Step(*(x[0] for x in step.at(t)))
        errors.append(apart(all_joints, got, tight(all_joints, q, v, t)))
    slope = np.log(errors[0] / errors[1]) / np.log(lengths[0] / lengths[1])
    assert abs(slope - (order + 1)) < 0.5, errors


def pull(t, q, v):
    return np.sin(3 * np.asarray(t))[..., None] - 0.2 * v


CONTROLS = {
    "constant rows": lambda nv: np.random.default_rng(1).standard_normal((len(TIMES) - 1, nv)),
    "linear rows": lambda nv: np.random.default_rng(1).standard_normal((len(TIMES), nv)),
    "function": lambda nv: pull,
    "servos": lambda nv: jc.Control(kd=0.5, passive=True),
}


@pytest.mark.parametrize("lead", [(), (3,)], ids=str)
@pytest.mark.parametrize("name", CONTROLS)
def test_whatever_acts_is_in_it(name, lead, all_joints):
    q, v = moving(all_joints, *lead)
    control = CONTROLS[name](all_joints.nv)
    got = jc.simulate(all_joints, q, v, TIMES, control, rtol=1e-10, atol=1e-10)
    if isinstance(control, jc.Control):
        other = lambda t, q, v: -0.5 * v + jc.passive_forces(all_joints, q, v)  # noqa: E731
    else:
        other = control
    exact = tight(all_joints, q, v, INNER, other)
    assert apart(all_joints, got.at(INNER), exact) < 3e-8
    assert got.at(INNER).q.shape == (*lead, len(INNER), all_joints.nq)


@pytest.mark.parametrize("lead", [(), (2,)], ids=str)
def test_taylor_polynomials_know_rows_springs_and_servos(lead):
    arm = jc.models.panda_like().replace(damping=np.full(7, 0.3), stiffness=np.full(7, 2.0))
    q, v = moving(arm, *lead)
    rows = np.random.default_rng(1).standard_normal((len(TIMES), 7))
    got = jc.simulate(arm, q, v, TIMES, rows, "taylor", passive=True, rtol=1e-12, atol=1e-12)
    exact = tight(arm, q, v, INNER, rows, passive=True)
    assert apart(arm, got.at(INNER), exact) < 1e-10
    way = jc.Control(kp=5.0, kd=1.0, q_ref=np.cumsum(rows, 0), v_ref=np.zeros(7), passive=True)
    got = jc.simulate(arm, q, v, TIMES, way, "taylor", rtol=1e-12, atol=1e-12)
    same = jc.simulate(arm, q, v, TIMES, way, rtol=1e-13, atol=1e-13)
    assert apart(arm, got, same) < 1e-10
    assert apart(arm, got.at(INNER), same.at(INNER)) < 1e-10
    assert max(np.max(x.check(way).defect) for x in (got, same)) < 1e-6


@pytest.mark.parametrize("lead", [(), (2,)], ids=str)
@pytest.mark.parametrize("count", [len(TIMES) - 1, len(TIMES)], ids=["constant", "linear"])
@pytest.mark.parametrize("method", [*ADAPTIVE, "rkmk4"])
def test_arrays_that_the_caller_uses_again_do_not_change_it(method, count, lead):
    """The polynomials are computed when they are asked for, from what acted then."""
    arm = jc.models.panda_like()
    given = [*moving(arm, *lead), TIMES.copy(), np.random.default_rng(1).normal(size=(count, 7))]
    dt = 0.02 if method == "rkmk4" else None
    before, after = (jc.simulate(arm, *given, method, dt=dt) for _ in range(2))
    there = before.at(INNER)
    for x in given:
        x += 3.0
    np.testing.assert_array_equal(after.at(INNER).q, there.q)
    np.testing.assert_array_equal(after.at(INNER).v, there.v)


def test_references_that_the_caller_uses_again_do_not_change_it():
    arm = jc.models.panda_like()
    q, v = moving(arm)
    arrays = [np.full(7, 5.0), np.full(7, 1.0), np.linspace(q, q + 0.2, len(TIMES))]
    arrays.append(np.full(7, 20.0))
    servos = jc.Control(*arrays[:3], force_limits=arrays[3])
    before, after = (jc.simulate(arm, q, v, TIMES, servos) for _ in range(2))
    there = before.at(INNER)
    for x in arrays:
        x *= 0.5
    np.testing.assert_array_equal(after.at(INNER).q, there.q)


def test_states_of_a_batch_have_their_own_steps(all_joints):
    q, v = moving(all_joints, 2, 2)
    v = v * np.array([[0.0, 1.0], [3.0, 0.1]])[..., None]
    together = jc.simulate(all_joints, q, v, TIMES[[0, -1]])
    assert len(set(np.diff(together.dense.first))) > 1
    for k in np.ndindex(2, 2):
        alone = jc.simulate(all_joints, q[k], v[k], TIMES[[0, -1]]).at(INNER)
        assert apart(all_joints, jc.Step(*(x[k] for x in together.at(INNER))), alone) < 1e-10


@pytest.mark.parametrize("method", ["rkmk4", "momentum"])
@pytest.mark.parametrize("control", [None, pull])
def test_fixed_steps_lose_nothing_between_them(method, control, all_joints):
    """Their own errors are of fifth order, those of the steps of fourth."""
    if control is not None and method == "momentum":
        pytest.skip("takes no functions")
    q, v = moving(all_joints)
    exact, errors = tight(all_joints, q, v, INNER, control), []
    for dt in (0.02, 0.0025):
        got = jc.simulate(all_joints, q, v, TIMES, control, method, dt=dt)
        errors.append(apart(all_joints, got.at(INNER), exact))
    assert np.log2(errors[0] / errors[1]) / 3 > 3.7, errors


MEMORY = {
    "rows": (np.zeros((4, 7)), 0),
    "nothing": (None, 0),
    "function": (lambda t, q, v: -0.1 * v, 7),
}


@pytest.mark.parametrize("lead", [(), (3,)], ids=str)
@pytest.mark.parametrize("name", MEMORY)
def test_fixed_steps_are_kept_once(name, lead):
    """Bytes: the start and length of each step and the state there, with a function its force."""
    control, more = MEMORY[name]
    arm, t = jc.models.chain(7), np.linspace(0.0, 0.5, 4)
    q, v = moving(arm, *lead)
    steps, states = 1200 if more else 6000, int(np.prod(lead))

    def run():
        return jc.simulate(arm, q, 0.1 * v, t, control, "rkmk2", dt=0.5 / steps)

    run()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        got = run()
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    numbers = got.dense.t.size * (arm.nq + arm.nv + 2 + more)
    assert got.dense.t.size == states * steps
    assert 8 * numbers <= taken < 8 * numbers + 60_000


@pytest.mark.parametrize("control", [None, np.ones((6, 8)), lambda t, q, v: 0.1 * np.cos(q)])
def test_each_fixed_step_leads_to_the_next_and_the_last_to_the_end(control):
    """Also from interval to interval and of each state of a batch."""
    arm, t = jc.models.chain(8), np.linspace(0.0, 0.6, 7)
    q, v = moving(arm, 3)
    got = jc.simulate(arm, q, v, t, control, "rkmk4", dt=0.02)
    assert not np.abs(got.at(t).q - got.q).max() > 1e-13
    ends = 0.02 * np.arange(1, 30)
    before, after = (got.at(ends * (1 + x * 1e-12)) for x in (-1, 1))
    assert np.abs(before.q - after.q).max() < 1e-9
    assert np.abs(before.v - after.v).max() < 1e-7


@pytest.mark.parametrize("method", ["dop853", "taylor"])
def test_under_constraints_it_stays_on_the_manifold(method):
    arm = jc.models.panda_like()
    q, v = moving(arm)
    c = jc.Constraints(arm, [jc.Point("tool")])
    v = jc.project_velocity(arm, q, v, c)
    options = {"constraints": c, "method": method}
    got = jc.simulate(arm, q, v, [0.0, 0.4], rtol=1e-9, atol=1e-9, **options)
    exact = jc.simulate(arm, q, v, np.r_[0.0, INNER], rtol=1e-13, atol=1e-13, **options)[1:]
    assert apart(arm, got.at(INNER), exact) < 1e-7
    assert np.abs(c.at(q).residual(got.at(INNER).q)).max() < 1e-13


BALL = jc.ModelBuilder().add_body("ball", joint="prismatic", axis=(0, 0, 1), mass=1.0).build()


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("with_series", [False, True])
def test_impacts_are_jumps_of_it(method, with_series):
    """A ball that falls from 1 m and bounces with 0.8 of its speed: parabolas between impacts."""
    bounce = lambda t, q, v: (q, -0.8 * v)  # noqa: E731
    series = (lambda q, motion, tau: np.concatenate([q, motion[:, 0]])) if with_series else None
    floor = jc.Event(lambda t, q, v: q[0], direction=-1, map=bounce, series=series)
    got = jc.simulate(BALL, [1.0], [0.0], [0.0, 1.5], None, method, events=[floor])
    first, t = np.sqrt(2 / 9.81), np.linspace(0.0, 1.5, 301)
    second = first + 2 * 0.8 * np.sqrt(2 * 9.81) / 9.81
    speed = 0.8 * np.sqrt(2 * 9.81)
    exact = np.where(
        t < first, 1 - 9.81 / 2 * t**2, speed * (t - first) - 9.81 / 2 * (t - first) ** 2
    )
    later = 0.8 * speed * (t - second) - 9.81 / 2 * (t - second) ** 2
    exact = np.where(t < second, exact, later)
    assert np.abs(got.at(t).q[:, 0] - exact).max() < 1e-9
    just = got.at([first - 1e-9, first + 1e-9]).v[:, 0]
    np.testing.assert_allclose(just, [-speed / 0.8, speed], atol=1e-6)


@pytest.mark.parametrize("method", [*ADAPTIVE, "rkmk4"])
def test_slices_and_files_keep_it(method, tmp_path, all_joints):
    q, v = moving(all_joints, 2)
    dt = 0.02 if method == "rkmk4" else None
    motion = jc.simulate(all_joints, q, v, TIMES, None, method, dt=dt)
    there = motion.at(INNER)
    some = INNER[(TIMES[1] < INNER) & (TIMES[3] > INNER)]
    np.testing.assert_array_equal(motion[1:4].at(some).q, motion.at(some).q)
    motion.save(tmp_path / "motion")
    again = jc.SimulatedMotion.load(tmp_path / "motion", all_joints)
    for x, y in zip(again.at(INNER), there, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-14)


@pytest.mark.parametrize("control", [None, pull])
def test_pickles_and_copies_keep_it(control, all_joints):
    motion = jc.simulate(all_joints, *moving(all_joints), TIMES, control)
    for again in (pickle.loads(pickle.dumps(motion)), copy.deepcopy(motion)):
        np.testing.assert_allclose(again.at(INNER).q, motion.at(INNER).q, rtol=0, atol=1e-14)


def test_a_file_with_another_dense_output_is_refused(tmp_path):
    motion = jc.simulate(BALL, [1.0], [0.0], [0.0, 0.1])
    motion.save(tmp_path / "motion.npz")
    with np.load(tmp_path / "motion.npz") as file:
        arrays = dict(file)
    np.savez(tmp_path / "motion.npz", **{**arrays, "dense_first": np.array([0, 5])})
    with pytest.raises(jc.ArgumentError, match="its dense output has other shapes"):
        jc.SimulatedMotion.load(tmp_path / "motion.npz", BALL)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_the_torque_defect_is_that_of_the_method(method, all_joints):
    """It does not depend on the stored times, and falls with the tolerance."""
    q, v = moving(all_joints)

    def defect(count, tolerance):
        t = np.linspace(0.0, 0.4, count)
        got = jc.simulate(all_joints, q, v, t, None, method, rtol=tolerance, atol=tolerance)
        return float(got.check().defect)

    few = defect(2, 1e-7)
    assert defect(101, 1e-7) == pytest.approx(few, rel=1e-6)
    assert defect(2, 1e-11) < 0.05 * few
    assert few < 0.1


@pytest.mark.parametrize("name", CONTROLS)
def test_checks_take_every_control(name, all_joints):
    control = CONTROLS[name](all_joints.nv)
    motion = jc.simulate(all_joints, *moving(all_joints, 2), TIMES, control, rtol=1e-11, atol=1e-11)
    found = motion.check(control)
    assert found.defect.max() < 1e-4 < 0.01 * motion.check().defect.min()
    assert found.power.max() < 1e-8


def test_checks_take_controls_of_several_states():
    arm = jc.models.panda_like()
    q, v = moving(arm, 3)
    gains = np.array([[1.0], [5.0], [20.0]]) * np.ones(7)
    way = np.linspace(q[0], q[1], len(TIMES))
    servos = jc.Control(kp=gains, kd=0.1 * gains, q_ref=way, force_limits=np.full(7, 30.0))
    motion = jc.simulate(arm, q, v, TIMES, servos, rtol=1e-10, atol=1e-10)
    assert motion.check(servos).defect.max() < 0.02 < 0.1 * motion.check().defect.min()
    for k in range(3):
        own = jc.Control(kp=gains[k], kd=0.1 * gains[k], q_ref=way, force_limits=np.full(7, 30.0))
        alone = jc.simulate(arm, q[k], v[k], TIMES, own, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(motion.q[k], alone.q, atol=1e-8)
    event = jc.coordinate_event(arm, arm.joint_names[0], 10.0)
    with pytest.raises(jc.ArgumentError, match="the same for all states"):
        jc.simulate(arm, q, v, TIMES, servos, events=event)


def test_held_joints_take_what_force_they_need():
    """A prescribed joint keeps its rate; the work of its force is in the balance."""
    arm = jc.models.panda_like()
    q, v = moving(arm)
    held = jc.Control(prescribed=[arm.joint_names[1]], kd=0.3)
    motion = jc.simulate(arm, q, v, TIMES, held, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(motion.v[:, 1], v[1], rtol=1e-12)
    found = motion.check(held)
    assert found.defect < 1e-5
    assert found.power < 1e-9
