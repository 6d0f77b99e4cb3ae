"""Steps under constraints and their derivatives on the manifold."""

from __future__ import annotations

import numpy as np
import pytest
from constraints_cases import close, robot, slopes_of_steps

import jounce as jc

SLOPE = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


def case(name):
    model = robot("free_root")
    items = {
        "weld": [jc.Weld("tool")],
        "loop and rod": [
            jc.Loop("tool", "other", free=("rz",)),
            jc.Distance("tool", anchor=(3, 2, 1)),
        ],
        "point of two": [jc.Point("tool", "other")],
        "ball": [jc.Rolling("tool", 0.3)],
    }[name]
    rng = np.random.default_rng(0)
    q = jc.random_configuration(model, rng)
    c = jc.Constraints(model, items).at(q)
    v = jc.project_velocity(model, q, rng.standard_normal(model.nv), c)
    return model, c, q, v, rng.standard_normal(model.nv)


@pytest.mark.parametrize(
    ("method", "projection"),
    [
        ("euler", True),
        ("semi_implicit_euler", True),
        ("midpoint", True),
        ("rkmk4", True),
        ("semi_implicit_euler", False),
    ],
)
@pytest.mark.parametrize("name", ["weld", "loop and rod", "point of two", "ball"])
def test_it_is_the_slope_of_steps_along_the_manifold(name, method, projection):
    """Differences of order eight of `jounce.step`, which compiled code takes."""
    model, c, q, v, tau = case(name)
    dt, given = 0.01, {"method": method, "projection": projection}
    lin = jc.linearize_step(model, q, v, tau, dt, constraints=c, **given)
    z = np.random.default_rng(1).standard_normal(lin.Z.shape[-1])
    before, after = slopes_of_steps(c, q, v, tau, dt, lin, z, **given)
    close(lin.A @ before, after, 10)
    if projection:
        close(lin.A_min @ (lin.Z.T @ before), lin.Z_next.T @ after, 10)
    positions = int(c.holonomic.sum())
    assert lin.Z.shape[-1] == 2 * (model.nv - positions) - (c.size - positions)
    if projection:  # then changes on the manifold stay on it
        close(lin.A @ lin.Z, lin.Z_next @ lin.A_min, 11)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rkmk4", "taylor"])
def test_forces_change_projected_steps_as_it_says(method):
    model, c, q, v, tau = case("loop and rod")
    options = {"method": method, "constraints": c}
    lin = jc.linearize_step(model, q, v, tau, 0.02, **options)
    u, h = np.random.default_rng(2).standard_normal(lin.B.shape[-1]), 0.1
    driven = model.actuated

    pushed = np.tile(tau, (8, 1))
    pushed[:, driven] += h * np.outer([*SLOPE, *(-x for x in SLOPE)], u)
    there = jc.step(model, q, v, pushed, 0.02, **options)
    weights = np.array([*SLOPE.values(), *(-x for x in SLOPE.values())]) / h
    slope = weights @ np.hstack([jc.difference(model, lin.q, there.q), there.v - lin.v])
    close(lin.B @ u, slope, 10)


def test_it_tends_to_the_continuous_one_and_leaves_by_the_error_of_the_method():
    model, c, q, v, tau = case("weld")
    A, B = jc.linearize(model, q, v, tau, constraints=c)[:2]
    errors = []
    for dt in (1e-2, 5e-3):
        lin = jc.linearize_step(model, q, v, tau, dt, constraints=c, projection=False)
        errors.append(np.abs(c.velocity(lin.q, lin.v)).max())
        assert lin.A_min.shape == (2 * model.nv - 12,) * 2
        assert lin.B_min.shape == (2 * model.nv - 12, B.shape[-1])
    assert errors[1] < errors[0] / 16  # of fourth order
    dt = 1e-7
    lin = jc.linearize_step(model, q, v, tau, dt, constraints=c, method="euler", projection=False)
    # the discrete tangent space is that of the body's velocities too, up to dt
    close((lin.A - np.eye(2 * model.nv)) / dt, A, 5)
    close(lin.B / dt, B, 5)


def test_batches_passive_forces_and_what_is_refused():
    model, c, q, v, tau = case("weld")
    springs = model.replace(damping=0.5)
    held = jc.Constraints(springs, c.items)
    one = jc.linearize_step(springs, q, v, tau, 0.01, constraints=held, passive=True)
    both = jc.linearize_step(
        springs, np.stack([q, q]), v, tau, 0.01, constraints=held, passive=True
    )
    for x, y in zip(one, both, strict=True):
        assert y.shape == (2, *x.shape)
    close(both.A[1], one.A, 12)
    assert (
        np.abs(one.A - jc.linearize_step(springs, q, v, tau, 0.01, constraints=held).A).max() > 1e-4
    )
    with pytest.raises(jc.errors.ArgumentError, match="no out under constraints"):
        jc.linearize_step(springs, q, v, tau, 0.01, constraints=held, out=tuple(one))
    with pytest.raises(TypeError, match=r"jounce\.Constraints"):
        jc.linearize_step(model, q, v, tau, 0.01, constraints=[jc.Weld("tool")])


def test_linearizations_that_overflow_are_errors():
    arm, q, still = jc.models.chain(4), np.ones((2, 4)), np.zeros(4)
    first, second = arm.joint_names[:2]
    c = jc.Constraints(arm, [jc.Coupling({first: 1.0, second: -1.0})])
    with pytest.raises(jc.ArgumentError, match=r"linearize\(\) is not finite.*too large"):
        jc.linearize(arm, q, still, still, constraints=c, actuation=np.full((4, 2), 1e308))
