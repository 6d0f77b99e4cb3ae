"""Physical laws that derivatives obey, and how the functions are called."""

from __future__ import annotations

import numpy as np
import pytest
from partials_oracle import relative, times

import jounce as jc
from jounce import _core
from jounce.papers import mueller
from jounce.simulation.methods import METHODS

EXACT = 1e-10
EPS = np.finfo(float).eps


def transposed(M):
    return np.swapaxes(M, -1, -2)


def test_coriolis_matrix_is_admissible(case):
    """C v is the bias without gravity, and dM/dt - 2 C is skew-symmetric."""
    model, q, v = case.model, case.q, case.v
    C = jc.coriolis_matrix(model, q, v)
    bias = jc.bias_forces(model, q, v) - jc.gravity_forces(model, q)
    assert relative(times(C, v), bias) < EXACT
    rate = (jc.mass_matrix_derivatives(model, q) @ v[:, None, :, None])[..., 0]
    residue = rate - 2 * C
    assert np.abs(residue + transposed(residue)).max() < 1e-12 * np.abs(C).max()


def test_christoffel_symbols_contract_to_the_coriolis_matrix(case):
    gamma = jc.christoffel_symbols(case.model, case.q)
    C = jc.coriolis_matrix(case.model, case.q, case.v)
    assert relative((gamma @ case.v[:, None, :, None])[..., 0], C) < EXACT


def test_christoffel_symbols_are_those_of_the_mass_matrix(one_dof):
    """mueller, eq. 86, and the definition, for 1-DoF joints."""
    model, q = one_dof.model, one_dof.q
    gamma = jc.christoffel_symbols(model, q)
    dM = jc.mass_matrix_derivatives(model, q)
    defined = (dM + transposed(dM) - dM.transpose(0, 3, 1, 2)) / 2
    assert relative(gamma, defined) < EXACT
    assert relative(gamma, transposed(gamma)) < EXACT
    exact = np.array([mueller.christoffel_symbols(model, x) for x in q[:5]])
    assert relative(gamma[:5], exact) < EXACT


def test_christoffel_symbols_less_their_torsion_are_muellers(case):
    """The part that is symmetric in j and k is the same for all joint types."""
    gamma = jc.christoffel_symbols(case.model, case.q[:5])
    exact = np.array([mueller.christoffel_symbols(case.model, q) for q in case.q[:5]])
    assert relative((gamma + transposed(gamma)) / 2, exact) < EXACT


def test_the_mass_matrix_does_not_depend_on_the_root(case):
    dM = jc.mass_matrix_derivatives(case.model, case.q)
    root = case.model.v_slice(0)
    first = slice(root.start, root.start + (1 if case.model.nodes.kind[0] < 3 else root.stop))
    assert not dM[..., first].any()
    assert not jc.kinetic_energy_derivatives(case.model, case.q, case.v).dq[:, first].any()


def test_stiffness_of_gravity_is_symmetric(one_dof):
    """The Hessian of the potential energy."""
    model, q = one_dof.model, one_dof.q
    zero = np.zeros(model.nv)
    K = jc.inverse_dynamics_derivatives(model, q, zero, zero).dq
    assert np.abs(K - transposed(K)).max() < 1e-12 * np.abs(K).max()


def test_power_balance_in_derivatives(case):
    """dT/dt = tau v without gravity: v (M a + C v) = d/dt (v M v / 2)."""
    d = jc.kinetic_energy_derivatives(case.model, case.q, case.v)
    rate = (d.dq * case.v).sum(-1) + (d.dv * case.a).sum(-1)
    gravity = jc.gravity_forces(case.model, case.q)
    tau = jc.inverse_dynamics(case.model, case.q, case.v, case.a) - gravity
    scale = np.abs(tau * case.v).sum(-1).max()
    np.testing.assert_allclose(rate, (tau * case.v).sum(-1), rtol=0, atol=1e-12 * scale)


def test_hybrid_dynamics_ends_in_inverse_and_forward_dynamics(case):
    model, every = case.model, np.ones(case.model.nv, bool)
    nothing = np.full_like(case.a, np.nan)
    d = jc.hybrid_dynamics_derivatives(model, case.q, case.v, case.a, nothing, every, case.f_ext)
    inverse = jc.inverse_dynamics_derivatives(model, case.q, case.v, case.a, case.f_ext)
    np.testing.assert_array_equal(d.tau_dq, inverse.dq)
    np.testing.assert_array_equal(d.tau_dv, inverse.dv)
    assert relative(d.tau_da, inverse.da) < 20 * np.finfo(float).eps
    assert not any(x.any() for x in (d.a_dq, d.a_dv, d.a_dtau, d.tau_dtau))
    np.testing.assert_array_equal(d.a_da, np.broadcast_to(np.eye(model.nv), d.a_da.shape))
    d = jc.hybrid_dynamics_derivatives(model, case.q, case.v, nothing, case.tau, ~every, case.f_ext)
    forward = jc.forward_dynamics_derivatives(model, case.q, case.v, case.tau, case.f_ext)
    for ours, exact in zip((d.a_dq, d.a_dv, d.a_dtau), forward, strict=True):
        assert relative(ours, exact) < EXACT
    assert not any(x.any() for x in (d.tau_dq, d.tau_dv, d.a_da, d.tau_da))
    np.testing.assert_array_equal(d.tau_dtau, np.broadcast_to(np.eye(model.nv), d.a_da.shape))


@pytest.mark.parametrize("n", [30, 60, 63, 64, 65, 66, 90])
def test_both_ways_of_forward_dynamics_agree(n):
    """Products of M^-1 for small robots, solves for large ones, against a dense solve."""
    rng = np.random.default_rng(n)
    for model in (jc.models.tree(n, 2), jc.models.tree(n - 5, 3, "free")):
        q, (v, tau) = jc.random_configuration(model, rng, 9), rng.standard_normal((2, 9, model.nv))
        f_ext = rng.standard_normal((9, model.n_bodies, 6))
        got = jc.forward_dynamics_derivatives(model, q, v, tau, f_ext)
        a = jc.forward_dynamics(model, q, v, tau, f_ext)
        d = jc.inverse_dynamics_derivatives(model, q, v, a, f_ext)
        for ours, by in zip(got, (-d.dq, -d.dv, np.eye(model.nv)), strict=True):
            assert relative(ours, np.linalg.solve(d.da, np.broadcast_to(by, d.da.shape))) < EXACT


def test_products_and_solves_agree_on_any_robot(case):
    by = _core.raw("forward_dynamics_derivatives_by")
    products, solves = (
        by(case.model, case.q, case.v, case.tau, method, case.f_ext) for method in (1, 2)
    )
    chosen = jc.forward_dynamics_derivatives(case.model, case.q, case.v, case.tau, case.f_ext)
    for x, y, z in zip(products, solves, chosen, strict=True):
        assert relative(x, y) < EXACT
        assert relative(z, y) < EXACT


FAR = 1e6


def test_far_from_the_origin_nothing_changes(free_root):
    """A free base at 10^6 m: frames are attached to the base, not to the world's origin."""
    s, model = free_root, free_root.model
    near, far = s.q.copy(), s.q.copy()
    near[:, 4:7], far[:, 4:7] = 0.0, FAR * np.array([1.0, -1.0, 1.0])
    mask, body = s.mask, model.n_bodies - 1
    calls = {
        "inverse": lambda q: jc.inverse_dynamics_derivatives(model, q, s.v, s.a, s.f_ext),
        "forward": lambda q: jc.forward_dynamics_derivatives(model, q, s.v, s.tau, s.f_ext),
        "hybrid": lambda q: jc.hybrid_dynamics_derivatives(model, q, s.v, s.a, s.tau, mask),
        "linearize": lambda q: jc.linearize(model, q, s.v, s.tau),
        "step": lambda q: jc.linearize_step(model, q, s.v, s.tau, 0.01)[:2],
        "christoffel": lambda q: [jc.christoffel_symbols(model, q)],
        "mass": lambda q: [jc.mass_matrix_derivatives(model, q)],
        "energy": lambda q: jc.kinetic_energy_derivatives(model, q, s.v),
        "jacobian": lambda q: [jc.jacobian_derivatives(model, q, body, 1, "hybrid")],
        "acceleration": lambda q: jc.body_acceleration_derivatives(model, q, s.v, s.a, body),
        "centroidal": lambda q: [
            jc.centroidal_momentum_matrix(model, q),
            jc.centroidal_momentum_matrix_rate(model, q, s.v),
        ],
    }
    for name, call in calls.items():
        for x, y in zip(call(far), call(near), strict=True):
            assert relative(x, y) < 1e-12, name


def test_the_order_of_the_step_is_that_of_its_method(free_root):
    """Errors of the next state after halving the step, against many small steps."""
    model = free_root.model
    q, v, tau = free_root.q[0], free_root.v[0], np.zeros(model.nv)

    def travel(method, steps, time=0.02):
        x = q, v
        for _ in range(steps):
            x = jc.linearize_step(model, *x, tau, time / steps, method=method)[2:]
        return x

    def error(x, y):
        return max(np.abs(jc.difference(model, x[0], y[0])).max(), np.abs(x[1] - y[1]).max())

    exact = travel("dop853", 32)
    for method in METHODS.values():
        if method.order > 4:
            continue  # rounding errors hide the order of steps this short
        errors = [error(travel(method.name, steps), exact) for steps in (4, 8)]
        assert abs(np.log2(errors[0] / errors[1]) - method.order) < 0.35, method.name


def test_neighboring_trajectories_separate_as_linearized(free_root):
    """d/dt of difference(q, q + eps) / eps along the flow: geometric finite differences."""
    model = free_root.model
    q, v, tau = free_root.q[:3], free_root.v[:3], free_root.tau[:3]
    z = np.random.default_rng(0).standard_normal(2 * model.nv)
    eps, h, nv = 1e-5, 1e-4, model.nv

    def flow(q, v, time):
        a = jc.forward_dynamics(model, q, v, tau)
        middle = jc.integrate(model, q, time / 2 * v), v + time / 2 * a
        slope = jc.forward_dynamics(model, *middle, tau)
        return jc.integrate(model, q, time * middle[1]), v + time * slope

    def separation(time):
        near = flow(q, v, time)
        ends = [flow(jc.integrate(model, q, s * z[:nv]), v + s * z[nv:], time) for s in (eps, -eps)]
        logs = [
            np.concatenate([jc.difference(model, near[0], x), w - near[1]], -1) for x, w in ends
        ]
        return (logs[0] - logs[1]) / (2 * eps)

    rate = (separation(h) - separation(-h)) / (2 * h)
    assert relative(jc.linearize(model, q, v, tau).A @ z, rate) < 1e-5


CALLS = {
    "inverse_dynamics_derivatives": ("q", "v", "a", "f_ext"),
    "forward_dynamics_derivatives": ("q", "v", "tau", "f_ext"),
    "hybrid_dynamics_derivatives": ("q", "v", "a", "tau", "f_ext"),
    "linearize": ("q", "v", "tau", "f_ext"),
    "linearize_step": ("q", "v", "tau", "f_ext"),
    "christoffel_symbols": ("q",),
    "coriolis_matrix": ("q", "v"),
    "mass_matrix_derivatives": ("q",),
    "inverse_mass_matrix_derivatives": ("q",),
    "kinetic_energy_derivatives": ("q", "v"),
    "jacobian_derivatives": ("q",),
    "body_twist_derivatives": ("q", "v"),
    "body_acceleration_derivatives": ("q", "v", "a"),
    "centroidal_momentum_matrix": ("q",),
    "centroidal_momentum_matrix_rate": ("q", "v"),
}
OPTIONS = {
    "hybrid_dynamics_derivatives": lambda s: {"prescribed": s.mask},
    "linearize_step": lambda s: {"dt": 0.01},
    "jacobian_derivatives": lambda s: {"body": s.model.n_bodies - 1, "order": 2, "twist": "mixed"},
    "body_twist_derivatives": lambda s: {"body": s.model.n_bodies - 1, "twist": "mixed"},
    "body_acceleration_derivatives": lambda s: {"body": s.model.n_bodies - 1, "twist": "mixed"},
}
every_call = pytest.mark.parametrize("name", CALLS)


def call(name, s, select=lambda key, x: x, **more):
    arguments = {key: select(key, getattr(s, key)) for key in CALLS[name]}
    options = OPTIONS.get(name, lambda s: {})(s)
    result = getattr(jc, name)(s.model, **arguments, **options, **more)
    return result if isinstance(result, tuple) else (result,)


def assert_same(got, expected):
    """To rounding: the mass matrices of `free_root` have condition numbers of some hundreds."""
    for x, y in zip(got, expected, strict=True):
        assert x.shape == y.shape
        if y.size:
            np.testing.assert_allclose(x, y, rtol=0, atol=2**10 * EPS * (1 + np.abs(y).max()))


@every_call
def test_a_batch_equals_single_calls(name, free_root):
    batch = call(name, free_root, lambda key, x: x[:9])
    single = [call(name, free_root, lambda key, x, k=k: x[k]) for k in range(9)]
    assert_same(batch, [np.array(x) for x in zip(*single, strict=True)])


@every_call
def test_leading_axes_broadcast(name, free_root):
    """q varies along one axis and everything else along another."""
    crossed = call(name, free_root, lambda key, x: x[:3, None] if key == "q" else x[None, :2])
    lead = (3, 2) if len(CALLS[name]) > 1 else (3, 1)
    for i, j in np.ndindex(*lead):
        one = call(name, free_root, lambda key, x, i=i, j=j: x[i] if key == "q" else x[j])
        assert_same([x[i, j] for x in crossed], one)


@every_call
def test_threads_give_the_same_bits(name, free_root):
    few = call(name, free_root, lambda key, x: x[:20])
    for x, y in zip(few, call(name, free_root, lambda key, x: x[:20], threads=2), strict=True):
        np.testing.assert_array_equal(x, y)


@every_call
def test_out_receives_the_result(name, free_root):
    expected = call(name, free_root, lambda key, x: x[:4])
    arrays = tuple(np.full(x.shape, np.nan) for x in expected)
    out = arrays if len(arrays) > 1 else arrays[0]
    got = call(name, free_root, lambda key, x: x[:4], out=out)
    for x, y, z in zip(got, arrays, expected, strict=True):
        assert x is y
        np.testing.assert_array_equal(y, z)
    wrong = tuple(np.zeros((*x.shape, 1)) for x in expected)
    with pytest.raises(ValueError, match="out must be a writable C-contiguous float64 array"):
        call(name, free_root, lambda key, x: x[:4], out=wrong if len(wrong) > 1 else wrong[0])


@every_call
def test_an_empty_batch_gives_an_empty_result(name, free_root):
    single = call(name, free_root, lambda key, x: x[0])
    got = call(name, free_root, lambda key, x: x[:0])
    assert [x.shape for x in got] == [(0, *x.shape) for x in single]
