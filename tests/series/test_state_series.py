"""The series of one state by itself: another way than that of a batch, to the same coefficients."""

from __future__ import annotations

import math

import numpy as np
import oracle_digits as oracle
import pytest

import jounce as jc
from jounce import _core

EPS = np.finfo(float).eps
ORDER = 9


def coefficients(model, q, v, tau, f_ext):
    """Those of the coordinates, and of the rates."""
    step, any_error = _core.raw("taylor_step", "step"), 1e300
    return step(model, q, v, tau, 1e-3, any_error, any_error, f_ext)[3:]


def build(base: str | None, joints: str, seed: int, parents=None) -> jc.Model:
    """A robot of revolute ("r") and prismatic ("p") joints with arbitrary numbers."""
    rng = np.random.default_rng(seed)
    builder = jc.ModelBuilder()
    names = [None]

    def add(kind, parent):
        points = np.cov(rng.standard_normal((3, 6)))  # of the body's mass
        names.append(f"b{len(names)}")
        axis = {} if kind == "free" else {"axis": rng.standard_normal(3)}
        builder.add_body(
            names[-1],
            parent=parent,
            joint=kind,
            mass=float(rng.uniform(0.5, 2)),
            com=0.3 * rng.standard_normal(3),
            inertia=np.trace(points) * np.eye(3) - points,
            placement=jc.lie.exp(rng.standard_normal(6)),
            **axis,
        )

    if base:
        add(base, None)
    first = len(names) - 1
    for k, kind in enumerate(joints):
        above = names[-1] if parents is None else names[first + parents[k]]
        add({"r": "revolute", "p": "prismatic"}[kind], above)
    return builder.build()


ROBOTS = {
    "one joint": lambda: build(None, "r", 1),
    "one slide": lambda: build(None, "p", 2),
    "arm with slides": lambda: build(None, "rprpr", 3),
    "free body": lambda: build("free", "", 4),
    "free tree": lambda: build("free", "rrprpr", 5, [0, 1, 2, 0, 4, 2]),
    "aerial": jc.models.aerial_manipulator,
    "arm": lambda: jc.models.chain(7),
}


@pytest.fixture(params=ROBOTS)
def case(request):
    model = ROBOTS[request.param]()
    rng = np.random.default_rng(7)
    q, v = jc.random_configuration(model, rng), rng.standard_normal(model.nv)
    tau = rng.standard_normal((ORDER, model.nv))
    return model, q, v, tau, rng.standard_normal((ORDER, model.n_bodies, 6))


def angular_or_single(model):
    """Rates whose coefficients do not depend on the axes of a free joint's velocity."""
    keep = np.ones(model.nv, bool)
    if model.joint_names and model.nv and model.nq > model.nv:
        keep[3:6] = False
    return keep


def test_coefficients_agree_with_sixty_digits(case):
    model, q, v, tau, f_ext = case
    got = coefficients(model, q, v, tau, f_ext)[1]
    exact = oracle.forward_series(model, q, v, tau, f_ext)
    keep = angular_or_single(model)
    condition = np.linalg.cond(jc.mass_matrix(model, q))
    for k in range(ORDER):
        expected = exact[k, keep] / math.factorial(k + 1)
        scale = np.abs(exact[k]).max() / math.factorial(k + 1)
        error = np.abs(got[k + 1, keep] - expected).max()
        assert error <= 20 * (k + 2) * EPS * condition * scale, (k, error / scale)


def test_a_batch_has_the_same_coefficients(case):
    """Those of a batch lose digits with the order where a body turns fast."""
    model, q, v, tau, f_ext = case
    alone = coefficients(model, q, v, tau, f_ext)
    batch = coefficients(model, q[None], v[None], tau[None], f_ext[None])
    for one, (many,) in zip(alone, batch, strict=True):
        scale = np.abs(many).max(axis=1, keepdims=True)
        np.testing.assert_allclose(one / scale, many / scale, rtol=0, atol=1e-9)


def test_states_of_a_batch_are_computed_alike():
    model = jc.models.aerial_manipulator()
    rng = np.random.default_rng(3)
    q, v = jc.random_configuration(model, rng), rng.standard_normal(model.nv)
    times = [0.0, 0.3]
    one = jc.simulate(model, q[None], v[None], times, method="taylor")
    many = jc.simulate(
        model, np.repeat(q[None], 3, 0), np.repeat(v[None], 3, 0), times, method="taylor"
    )
    alone = jc.simulate(model, q, v, times, method="taylor")
    np.testing.assert_allclose(one.q[0], many.q[2], rtol=0, atol=1e-14)
    np.testing.assert_allclose(alone.q, one.q[0], rtol=0, atol=1e-11)


def test_passive_forces_act_on_a_state_by_itself():
    """Springs and damping along the way, against steps of another method."""
    model = build("free", "rpr", 6)
    stiffness, damping = np.zeros(model.nv), np.full(model.nv, 0.3)
    stiffness[6:] = 5.0
    for linear in (
        0.0,
        0.3,
    ):  # with damping along its axes, a free body is not watched from beside it
        damping[3:6] = linear
        robot = model.replace(stiffness=stiffness, damping=damping)
        rng = np.random.default_rng(8)
        q, v = jc.random_configuration(robot, rng), rng.standard_normal(robot.nv)
        options = {"passive": True, "rtol": 1e-12, "atol": 1e-12}
        got, other = (
            jc.simulate(robot, q, v, [0.0, 0.5], method=method, **options)
            for method in ("taylor", "dop853")
        )
        np.testing.assert_allclose(got.q, other.q, rtol=0, atol=1e-9)
        np.testing.assert_allclose(got.v, other.v, rtol=0, atol=1e-9)
