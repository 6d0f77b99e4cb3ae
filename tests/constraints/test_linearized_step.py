"""Steps under constraints and their derivatives on the manifold."""

from __future__ import annotations

import numpy as np
import pytest
from constraints_cases import close, robot

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
        "ball": [jc.Rolling("tool", 0.3)],
    }[name]
    rng = np.random.default_rng(0)
    q = jc.random_configuration(model, rng)
    c = jc.Constraints(model, items).at(q)
    v = jc.project_velocity(model, q, rng.standard_normal(model.nv), c)
    return model, c, q, v, rng.standard_normal(model.nv)


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rkmk4"])
@pytest.mark.parametrize("name", ["weld", "loop and rod", "ball"])
def test_it_is_the_slope_along_the_manifold(name, method):
    model, c, q, v, tau = case(name)
    dt, h = 0.01, 1e-3
    lin = jc.linearize_step(model, q, v, tau, dt, method=method, constraints=c)
    z = np.random.default_rng(1).standard_normal(lin.Z.shape[-1])
    dq, dv = np.split(lin.Z @ z, 2)

    def moved(s):
        """The step from a state of the manifold, seen from the one at s = 0."""
        at = jc.project(model, jc.integrate(model, q, s * h * dq), c)
        rates = jc.project_velocity(model, at, v + s * h * dv, c)
        there = jc.linearize_step(model, at, rates, tau, dt, method=method, constraints=c)
        return (
            np.concatenate([jc.difference(model, lin.q, there.q), there.v - lin.v]),
            np.concatenate([jc.difference(model, q, at), rates - v]),
        )

    pairs = [(w, moved(s), moved(-s)) for s, w in SLOPE.items()]
    after, before = (sum(w * (x[k] - y[k]) for w, x, y in pairs) / h for k in (0, 1))
    close(lin.A @ before, after, 7)
    positions = int(c.holonomic.sum())
    assert lin.Z.shape[-1] == 2 * (model.nv - positions) - (c.size - positions)
    inside = lin.A @ lin.Z - lin.Z_next @ lin.A_min
    assert np.abs(inside).max() < (1e-3 if method == "rkmk4" else 0.2) * np.abs(lin.A).max()


def test_it_tends_to_the_continuous_one_and_leaves_by_the_error_of_the_method():
    model, c, q, v, tau = case("weld")
    A, B = jc.linearize(model, q, v, tau, constraints=c)[:2]
    errors = []
    for dt in (1e-2, 5e-3):
        lin = jc.linearize_step(model, q, v, tau, dt, constraints=c)
        errors.append(np.abs(c.velocity(lin.q, lin.v)).max())
        assert lin.A_min.shape == (2 * model.nv - 12,) * 2
        assert lin.B_min.shape == (2 * model.nv - 12, B.shape[-1])
    assert errors[1] < errors[0] / 16  # of fourth order
    dt = 1e-7
    lin = jc.linearize_step(model, q, v, tau, dt, constraints=c, method="euler")
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
