"""A branch of a moving base that redundant rows hold completely: the robot with it locked."""

from __future__ import annotations

import numpy as np
import pytest
from constraints_cases import close

import jounce as jc

ORDERS = 6
ARM = ("q2", "q3", "q4")
DRONE = jc.models.aerial_manipulator()
TREE = jc.models.mixed_tree(0)

CASES = {
    "weld": (DRONE, jc.Weld("B4", "B1"), ARM),
    "weld of the base": (DRONE, jc.Weld("B1", "B4"), ARM),
    "loop": (DRONE, jc.Loop("B4", "B1", free=("rx",)), ARM),
    "ball": (TREE, jc.Rolling("body4", 0.3, second="body0"), ("joint1", "joint4")),
    "wheel": (TREE, jc.Rolling("body8", 0.3, axis=(1.0, 0.5, 0.2), second="body0"), ("joint8",)),
}


@pytest.fixture(params=CASES)
def held(request):
    """A set, its robot with the joints locked, the other rates, and a state and forces."""
    model, item, joints = CASES[request.param]
    c = jc.Constraints(model, [item])
    q = jc.integrate(model, jc.neutral(model), 0.1 * np.arange(model.nv))
    locked = model.lock({name: q[model.q_slice(name)] for name in joints})
    rest = np.ones(model.nv, bool)
    coordinates = np.ones(model.nq, bool)
    for name in joints:
        rest[model.v_slice(name)], coordinates[model.q_slice(name)] = False, False
    rng = np.random.default_rng(3)
    v = jc.project_velocity(model, q, rng.standard_normal(model.nv), c)
    tau = rng.standard_normal((ORDERS, model.nv))
    assert c.rank(q) == (~rest).sum() < c.size
    assert np.abs(v[~rest]).max() < 1e-14
    return c, locked, rest, coordinates, q, v, tau


@pytest.mark.parametrize("gains", [(0.0, 0.0), (3.0, 2.0)], ids=["rates", "stabilized"])
@pytest.mark.parametrize("pace", [0.0, 1.0, 20.0])
def test_series_are_those_of_the_locked_robot(held, gains, pace):
    c, locked, rest, coordinates, q, v, tau = held
    c = jc.Constraints(c.model, c.at(q).items, stabilization=gains)
    found = jc.constrained_dynamics_series(c.model, q, pace * v, tau, c)
    args = (q[coordinates], pace * v[rest], tau[:, rest])
    expected = jc.forward_dynamics_series(locked, *args)
    for k in range(ORDERS):
        scale = np.abs(expected[k]).max() + pace ** (k + 2)
        close(found.a[k, rest], expected[k], 9, scale)
        close(found.a[k, ~rest], 0.0, 9, scale)


def test_hybrid_series_with_a_prescribed_base(held):
    c, locked, rest, coordinates, q, v, tau = held
    a, mask = 0.5 * tau, np.arange(c.model.nv) < 6
    found = jc.constrained_hybrid_dynamics_series(c.model, q, v, a, tau, mask, c)
    args = (q[coordinates], v[rest], a[:, rest], tau[:, rest], mask[rest])
    expected = jc.hybrid_dynamics_series(locked, *args)
    for k in range(ORDERS):
        close(found.a[k, rest], expected.a[k], 9)
        close(found.tau[k, rest], expected.tau[k], 9)


def test_derivatives_of_series_are_those_of_the_locked_robot(held):
    c, locked, rest, coordinates, q, v, tau = held
    found = jc.constrained_dynamics_series_derivatives(c.model, q, v, tau[:3], c)
    args = (q[coordinates], v[rest], tau[:3, rest])
    expected = jc.forward_dynamics_series_derivatives(locked, *args)
    for x, y in ((found.a_dq, expected.dq), (found.a_dv, expected.dv)):
        for k in range(3):
            close(x[k][np.ix_(rest, rest)], y[k], 9)


def test_taylor_steps_follow_the_locked_robot(held):
    c, locked, rest, coordinates, q, v, tau = held
    start, ends = (locked, q[coordinates], v[rest]), [0.0, 0.05, 0.1]
    model, options = c.model, {"constraints": c, "method": "taylor"}
    motion = jc.simulate(model, q, v, ends, **options)
    close(motion.q[:, coordinates], jc.simulate(*start, ends, method="taylor").q, 9)
    after = jc.step(model, q, v, tau[0], 0.01, **options)
    close(after.v[rest], jc.step(*start, tau[0, rest], 0.01, method="taylor").v, 9)
    path = jc.rollout(model, q, v, tau, 0.01, **options)
    close(path.q[:, coordinates], jc.rollout(*start, tau[:, rest], 0.01, method="taylor").q, 9)


def test_a_stretched_arm_that_rests_on_a_moving_base_keeps_its_rank():
    """Not regular: all its rows are constant, but for what rounding leaves of the base's motion."""
    build = jc.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    body = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": np.diag([0.01, 0.1, 0.1])}
    build.add_body("base", None, "free", mass=5.0, inertia=np.diag([1.0, 2.0, 3.0]))
    build.add_body("upper", "base", "revolute", axis=(0, 0, 1), **body)
    build.add_body("lower", "upper", "revolute", (1.0, 0, 0), axis=(0, 0, 1), **body)
    model = build.build().with_frame("tip", "lower", (1.0, 0, 0))
    c = jc.Constraints(model, [jc.Point("tip", "base")])
    q = jc.integrate(model, jc.neutral(model), np.r_[0.3, -0.2, 0.5, 3.0, -5.0, 2.0, 0.4, 0.0])
    v, tau = np.r_[0.0, 0.0, 7.0, 20.0, -30.0, 10.0, 0.0, 0.0], np.zeros((5, model.nv))
    assert c.rank(q) == 1
    assert not c.regular(q)
    mask = np.arange(model.nv) >= 6  # nothing turns the joints
    found = jc.constrained_hybrid_dynamics_series(model, q, v, 0 * tau, tau, mask, c)
    assert found.rank == 0
    locked = model.lock({"upper_joint": 0.4, "lower_joint": 0.0})
    expected = jc.forward_dynamics_series(locked, q[:7], v[:6], tau[:, :6])
    for k in range(5):
        close(found.a[k, :6], expected[k], 9, np.abs(expected[k]).max() + 40.0 ** (k + 2))
    glides = np.where(np.arange(model.nv) < 3, 0.0, v)
    found = jc.constrained_dynamics_series(model, q, glides, tau, c)
    assert found.rank == 1
    assert np.abs(found.a).max() < 1e-9
    v[7] = 1e-4  # the elbow opens, however slowly
    with pytest.raises(jc.ArgumentError, match="the rank of the rows changes along this motion"):
        jc.constrained_dynamics_series(model, q, v, tau, c)
