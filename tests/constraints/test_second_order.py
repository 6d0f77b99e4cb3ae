"""Second derivatives under constraints: of accelerations, and of steps on the manifold."""

from __future__ import annotations

import numpy as np
import pytest
from constraints_cases import KINDS, close, kinds, robot, states

import jounce as jc
from jounce.constraints.linearization import tangent_rows

SLOPE = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
BEND = {0: -205 / 72, 1: 8 / 5, 2: -1 / 5, 3: 8 / 315, 4: -1 / 560}


def slopes(function, count, h=5e-3):
    """Derivatives of a function of a direction's number and a distance, as the last axis."""
    columns = [
        sum(w * (function(j, s * h) - function(j, -s * h)) for s, w in SLOPE.items()) / h
        for j in range(count)
    ]
    return np.stack(columns, -1)


def bend(function, h=2e-2):
    """Second derivative of a function of a number at 0."""
    total = BEND[0] * function(0.0)
    for s in (1, 2, 3, 4):
        total += BEND[s] * (function(s * h) + function(-s * h))
    return total / h**2


def compare_hessian(model, c, q, v, tau, f_ext=None):
    g = np.random.default_rng(7).standard_normal(model.nv)
    h = jc.constrained_dynamics_hessian(model, q, v, tau, c, g, f_ext)
    unit = np.eye(model.nv)

    def gradient(at, rates, forces):
        d = jc.constrained_dynamics_derivatives(model, at, rates, forces, c, f_ext)
        return np.stack([g @ d.a_dq, g @ d.a_dv, g @ d.a_dtau])

    by_q = slopes(lambda j, s: gradient(jc.integrate(model, q, s * unit[j]), v, tau), model.nv)
    by_v = slopes(lambda j, s: gradient(q, v + s * unit[j], tau), model.nv)
    size = max(np.abs(x).max() for x in (by_q, by_v))
    close(h.dqdq, (by_q[0] + by_q[0].T) / 2, 9, size)
    close(h.dqdv, by_v[0], 9, size)
    close(h.dqdv, by_q[1].T, 9, size)
    close(h.dvdv, by_v[1], 9, size)
    close(h.dqdtau, by_q[2].T, 9, size)
    close(by_v[2], 0, 9, size)


@pytest.mark.parametrize("kind", KINDS)
def test_the_hessian_is_the_slope_of_the_derivatives(kind):
    model = robot("free_root")
    at = states(model, count=1)
    c = jc.Constraints(model, [kinds(model)[kind]])
    compare_hessian(model, c, at.q[0], at.v[0], at.tau[0], at.f_ext[0])


@pytest.mark.parametrize("name", ["spherical_root", "fixed_root"])
def test_of_several_constraints_with_stabilization(name):
    model = robot(name)
    at = states(model, count=1)
    q = at.q[0]
    near = jc.integrate(model, q, 0.05 * at.a[0])
    items = [jc.Loop("tool", "other", free=("rz",)), jc.Distance("tool", anchor=(3, 2, 1))]
    c = jc.Constraints(model, items).at(near).stabilized(2.0, 3.0)
    compare_hessian(model, c, q, at.v[0], at.tau[0])


def test_rows_that_depend_on_each_other():
    model = robot("free_root")
    at = states(model, count=1)
    c = jc.Constraints(model, [jc.Weld("tool"), jc.Weld("tool")])
    compare_hessian(model, c, at.q[0], at.v[0], at.tau[0])


def test_batches_out_and_no_constraints():
    model = robot("free_root")
    at = states(model, count=3)
    c = jc.Constraints(model, [jc.Weld("tool")])
    whole = jc.constrained_dynamics_hessian(model, at.q, at.v, at.tau, c, at.a)
    one = jc.constrained_dynamics_hessian(model, at.q[1], at.v[1], at.tau[1], c, at.a[1])
    for x, y in zip(whole, one, strict=True):
        close(x[1], y, 12)
    out = tuple(np.empty((3, model.nv, model.nv)) for _ in range(4))
    jc.constrained_dynamics_hessian(model, at.q, at.v, at.tau, c, at.a, out=out)
    assert all((x == y).all() for x, y in zip(out, whole, strict=True))
    none = jc.Constraints(model, [])
    free = jc.constrained_dynamics_hessian(model, at.q, at.v, at.tau, none, at.a)
    known = jc.forward_dynamics_hessian(model, at.q, at.v, at.tau, at.a)
    assert all((x == y).all() for x, y in zip(free, known, strict=True))
    empty = jc.constrained_dynamics_hessian(model, at.q[:0], at.v[:0], at.tau[:0], c, at.a[:0])
    assert empty.dqdq.shape == (0, model.nv, model.nv)


def test_many_weights_of_one_step():
    model, c, q, v, tau = start("weld")
    weights = np.random.default_rng(1).standard_normal((3, 2 * model.nv))
    options = {"constraints": c, "projection": False}
    many = jc.linearize_step(model, q, v, tau, 0.05, weights=weights, **options)
    for k, own in enumerate(weights):
        one = jc.linearize_step(model, q, v, tau, 0.05, weights=own, **options)
        for x, y in zip(many, one, strict=True):
            assert x.shape == (3, *y.shape)
            np.testing.assert_allclose(x[k], y, rtol=0, atol=1e-10 * (1 + np.abs(y).max()))


STEPS = {
    "weld": [jc.Weld("tool")],
    "loop and rod": [jc.Loop("tool", "other", free=("rz",)), jc.Distance("tool", anchor=(3, 2, 1))],
    "ball": [jc.Rolling("tool", 0.3)],
}


def start(name):
    model = robot("free_root")
    at = states(model, count=1)
    q, tau = at.q[0], at.tau[0]
    c = jc.Constraints(model, STEPS[name], tolerance=np.inf).at(q)
    return model, c, q, jc.project_velocity(model, q, at.v[0], c), tau


def stepped(model, c, state, method):
    q, v, tau = state
    options = {"method": method, "constraints": c, "projection": False}
    return jc.linearize_step(model, q, v, tau, 0.05, **options)


def change(model, weights, first, other):
    return weights @ np.concatenate([jc.difference(model, first.q, other.q), other.v - first.v])


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rkmk4", "cf4"])
@pytest.mark.parametrize("name", STEPS)
def test_the_hessian_of_a_step(name, method):
    model, c, q, v, tau = start(name)
    n, rng = model.nv, np.random.default_rng(3)
    weights = rng.standard_normal(2 * n)
    options = {"method": method, "constraints": c, "projection": False, "weights": weights}
    lin = jc.linearize_step(model, q, v, tau, 0.05, actuated=tau == tau, **options)
    assert isinstance(lin, jc.ConstrainedSecondOrderStep)
    for _ in range(3):
        x = rng.standard_normal(3 * n) / np.sqrt(3 * n)

        def moved(s, x=x):
            dq, dv, du = np.split(s * x, 3)
            there = stepped(model, c, (jc.integrate(model, q, dq), v + dv, tau + du), method)
            return change(model, weights, lin, there)

        close(x @ lin.H @ x, bend(moved), 7, np.abs(lin.H).max())


@pytest.mark.parametrize("name", STEPS)
def test_on_the_manifold_it_is_that_along_curves_of_the_manifold(name):
    model, c, q, v, tau = start(name)
    n, rng = model.nv, np.random.default_rng(4)
    weights = rng.standard_normal(2 * n)
    every = np.ones(n, bool)
    options = {"constraints": c, "projection": False, "weights": weights, "actuated": every}
    lin = jc.linearize_step(model, q, v, tau, 0.05, **options)
    k = lin.Z.shape[-1]
    assert lin.H_min.shape == (k + n, k + n)
    back = np.linalg.pinv(tangent_rows(c, q, v))

    def state(x):
        """The state of the manifold that is nearest to a change."""
        for _ in range(60):
            at, rates = jc.integrate(model, q, x[:n]), v + x[n:]
            left = np.concatenate([c.residual(at)[c.holonomic], c.velocity(at, rates)])
            x = x - back @ left
        assert np.abs(left).max() < 1e-13
        return at, rates

    for _ in range(3):
        z, du = np.split(rng.standard_normal(k + n) / np.sqrt(k + n), [k])

        def moved(s, z=z, du=du):
            there = stepped(model, c, (*state(lin.Z @ (s * z)), tau + s * du), "rkmk4")
            return change(model, weights, lin, there)

        both = np.concatenate([z, du])
        close(both @ lin.H_min @ both, bend(moved), 7, np.abs(lin.H_min).max())


def test_passive_forces_and_batches():
    model, c, q, v, tau = start("weld")
    springs = model.replace(damping=0.5)
    held = jc.Constraints(springs, c.items)
    options = {"constraints": held, "passive": True, "weights": np.ones(2 * model.nv)}
    with pytest.raises(jc.errors.ArgumentError, match="weights need projection=False"):
        jc.linearize_step(springs, q, v, tau, 0.01, **options)
    options["projection"] = False
    one = jc.linearize_step(springs, q, v, tau, 0.01, **options)
    both = jc.linearize_step(springs, np.stack([q, q]), v, tau, 0.01, **options)
    for x, y in zip(one, both, strict=True):
        assert y.shape == (2, *x.shape)
    close(both.H_min[1], one.H_min, 10)
    with pytest.raises(jc.errors.ArgumentError, match="weights must be finite numbers"):
        jc.linearize_step(springs, q, v, tau, 0.01, constraints=held, weights=np.ones(3))


def test_taylor_steps_under_constraints():
    """They agree with another method whose error is far smaller than the tolerance."""
    for name in ("weld", "ball"):
        model, c, q, v, tau = start(name)
        taylor, other = (
            jc.linearize_step(model, q, v, tau, 0.02, method=x, constraints=c)
            for x in ("taylor", "dop853")
        )
        close(taylor.q, other.q, 11)
        close(taylor.v, other.v, 11)
        close(taylor.A, other.A, 9)
        close(taylor.B, other.B, 9)
