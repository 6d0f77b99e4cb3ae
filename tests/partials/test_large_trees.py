"""Large robots take other paths through the kernels: sparse trees, and chains above the cross-over
from products to solves. The oracle is the complex step, one state at a time and in a batch."""

from __future__ import annotations

import numpy as np
import partials_oracle as oracle
import pytest
from partials_oracle import in_q, in_x, relative

import jounce as jc
from jounce.derivatives import HybridDynamicsDerivatives


def forest(arms):
    """Arms of a spherical and a turning joint, side by side on the ground."""
    rng = np.random.default_rng(arms)
    builder = jc.ModelBuilder(name=f"forest of {arms}")
    for k in range(arms):
        solid = {"mass": 1 + rng.uniform(), "com": rng.uniform(-0.2, 0.2, 3), "inertia": np.eye(3)}
        builder.add_body(f"stem{k}", joint="spherical", placement=rng.uniform(-3, 3, 3), **solid)
        builder.add_body(
            f"leaf{k}", f"stem{k}", joint="revolute", axis=rng.standard_normal(3), **solid
        )
    return builder.build()


MODELS = {
    "forest of 20": lambda: forest(20),
    "forest of 60": lambda: forest(60),
    "bush": lambda: jc.models.tree(130, 5),
    "chain": lambda: jc.models.chain(160, "free"),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]()


@pytest.fixture(params=[1, 9], ids=["one", "batch"])
def at(request, model):
    rng = np.random.default_rng(1)
    q = jc.random_configuration(model, rng, request.param)
    return q, *rng.standard_normal((2, request.param, model.nv))


def squeezed(call, model, *arguments):
    """One state as one call, several as a batch."""
    one = len(arguments[0]) == 1
    result = call(model, *(x[0] if one else x for x in arguments))
    return [x[None] if one else x for x in (result if isinstance(result, tuple) else [result])]


@pytest.mark.long
def test_partials_of_inverse_dynamics(model, at):
    q, v, a = at
    dq, dv, da = squeezed(jc.inverse_dynamics_derivatives, model, q, v, a)
    last = -1  # the last state of a batch is as good as any
    by_q = in_q(model, q[last:], lambda x: oracle.inverse_dynamics(model, x, v[last], a[last]))
    by_v = in_x(v[last:], lambda x: oracle.inverse_dynamics(model, q[last], x, a[last]))
    assert relative(dq[last:], by_q) < 1e-11
    assert relative(dv[last:], by_v) < 1e-11
    assert relative(da, squeezed(jc.mass_matrix, model, q)[0]) < 1e-13
    assert relative(da[last:], oracle.mass_matrix(model, q[last:])) < 1e-12


def test_partials_of_forward_dynamics(model, at):
    """da/dx = -M^-1 dtau/dx at the acceleration, both of the other tests."""
    q, v, tau = at
    a = jc.forward_dynamics(model, q, v, tau)
    dq, dv, dtau = squeezed(jc.forward_dynamics_derivatives, model, q, v, tau)
    inverse = jc.inverse_dynamics_derivatives(model, q, v, a)
    bound = 100 * np.finfo(float).eps * np.linalg.cond(inverse.da).max()
    assert relative(inverse.da @ dtau, np.broadcast_to(np.eye(model.nv), dtau.shape)) < bound
    assert relative(inverse.da @ dq, -inverse.dq) < bound
    assert relative(inverse.da @ dv, -inverse.dv) < bound


def test_coriolis_matrix(model, at):
    q, v, _ = at
    C = squeezed(jc.coriolis_matrix, model, q, v)[0]
    bias = jc.bias_forces(model, q, v) - jc.gravity_forces(model, q)
    assert relative(np.einsum("...ij,...j->...i", C, v), bias) < 1e-12


def test_partials_of_hybrid_dynamics(model, at):
    """The closed form with dense matrices."""
    q, v, given = at
    p = np.arange(model.nv) % 3 == 1
    a, _ = jc.hybrid_dynamics(model, q, v, given, given, p)
    D = jc.inverse_dynamics_derivatives(model, q, v, a)
    d = HybridDynamicsDerivatives(
        *squeezed(
            lambda model, q, v, given: jc.hybrid_dynamics_derivatives(model, q, v, given, given, p),
            *(model, q, v, given),
        )
    )
    M_ff, M_pf = D.da[..., ~p, :][..., ~p], D.da[..., p, :][..., ~p]
    bound = 100 * np.finfo(float).eps * np.linalg.cond(M_ff).max()
    for a_dx, tau_dx, D_x in ((d.a_dq, d.tau_dq, D.dq), (d.a_dv, d.tau_dv, D.dv)):
        assert relative(M_ff @ a_dx[..., ~p, :], -D_x[..., ~p, :]) < bound
        expected = D_x[..., p, :] + M_pf @ a_dx[..., ~p, :]
        assert relative(tau_dx[..., p, :], expected) < bound
    assert relative(M_ff @ d.a_da[..., ~p, :][..., p], -M_pf.swapaxes(-1, -2)) < bound
    assert (
        relative(M_ff @ d.a_dtau[..., ~p, :][..., ~p], np.eye((~p).sum())[None] + 0 * M_ff) < bound
    )
    assert relative(d.tau_dtau[..., p, :][..., ~p], M_pf @ d.a_dtau[..., ~p, :][..., ~p]) < bound
