"""Derivatives of second order through the control flow of JAX, and of many states at once."""

from __future__ import annotations

import numpy as np
import pytest
from bridge_cases import close, robot, state

import jounce as jc

jax = pytest.importorskip("jax", reason="JAX is not installed")
try:
    from jounce.interop import jax as jjax
except ImportError as error:
    pytest.skip(str(error), allow_module_level=True)

jnp, lax = jax.numpy, jax.lax
pytestmark = [pytest.mark.long, pytest.mark.usefixtures("in_64_bits")]

SECOND = {
    "hessian": jax.hessian,
    "jacfwd of grad": lambda f: jax.jacfwd(jax.grad(f)),
    "jacrev of grad": lambda f: jax.jacrev(jax.grad(f)),
}
FLOW = {
    "scan": lambda f, x: lax.scan(lambda carry, row: (carry + f(row), None), 0.0, x[None])[0],
    "map": lambda f, x: lax.map(f, x[None])[0],
    "fori_loop": lambda f, x: lax.fori_loop(0, 1, lambda _, total: total + f(x), 0.0),
    "cond": lambda f, x: lax.cond(x[0] < 9.0, f, jnp.sum, x),
    "checkpoint": lambda f, x: jax.checkpoint(f)(x),
}


@pytest.fixture(scope="module")
def arm():
    return jc.models.chain(2)


def scalars(model, at, q):
    """Functions of rates: by closed forms, with a reverse kernel, by dual numbers, two results."""
    w = np.linspace(-1, 1, model.nv)
    return {
        "kinetic_energy": lambda v: jjax.kinetic_energy(model, q(v), v),
        "gravity_forces": lambda v: w @ jjax.gravity_forces(model, q(v)),
        "forward_dynamics": lambda v: w @ jjax.forward_dynamics(model, q(v), v, at.tau),
        "step": lambda v: w @ jjax.step(model, q(v), v, at.tau, 0.1).v,
        "body_pose": lambda v: jjax.body_pose(model, q(v), 1)[:3].sum(),
    }


@pytest.mark.parametrize("name", ["gravity_forces", "forward_dynamics", "step"])
def test_second_derivatives_pass_through_control_flow(arm, name):
    """JAX's Hessian is forward over reverse, as the second way is: of one function it does."""
    at = state(arm)
    kinds = [kind for kind in SECOND if kind != "hessian" or name == "gravity_forces"]
    f = scalars(arm, at, lambda v: at.q + v)[name]

    def everything(v):
        ways = {
            (flow, kind): SECOND[kind](lambda x, through=through: through(f, x))(v)
            for flow, through in FLOW.items()
            for kind in kinds
        }
        return jax.jacfwd(jax.jacfwd(f))(v), ways

    expected, ways = jax.jit(everything)(at.v)
    assert np.abs(expected).max() > 1e-3
    for way, found in ways.items():
        assert close(found, expected, 1e-12), way


@pytest.mark.parametrize("kind", SECOND)
def test_the_hessian_of_a_rollout_is_the_change_of_its_adjoint(arm, kind):
    at, h = state(arm), 2.0**-8
    rng = np.random.default_rng(0)
    forces, d = rng.standard_normal((2, 4, arm.nv))
    weights = np.zeros((5, arm.nv))
    weights[-1] = 1.0

    def cost(forces):
        def advance(carry, tau):
            return tuple(jjax.step(arm, *carry, tau, 0.1, method="rkmk2")), None

        return lax.scan(advance, (jnp.asarray(at.q), jnp.asarray(at.v)), forces)[0][1].sum()

    def adjoint(length):
        given = forces + length * h * d, 0.1, (None, weights)
        return jc.rollout_vjp(arm, at.q, at.v, *given, method="rkmk2").tau

    found = np.tensordot(jax.jit(SECOND[kind](cost))(forces), d, 2)
    pairs = {1: 45, 2: -9, 3: 1}
    change = sum(w * (adjoint(k) - adjoint(-k)) for k, w in pairs.items()) / (60 * h)
    assert np.abs(change).max() > 1e-3
    assert close(found, change, 1e-9)


@pytest.mark.parametrize(
    "model",
    [jc.models.chain(2), pytest.param(robot(), marks=pytest.mark.jax)],
    ids=lambda x: x.name,
)
def test_mapped_hessians_are_those_of_each_state(model):
    count = 3
    many = state(model, count)

    def hessians(q, v, tau):
        at = state(model)
        at.tau = tau
        own = scalars(model, at, lambda v: jjax.integrate(model, q, v))
        return {name: jax.hessian(f)(v) for name, f in own.items()}

    given = many.q, many.v, many.tau
    batched = jax.jit(jax.vmap(hessians))(*given)
    single = jax.jit(hessians)
    for k in range(count):
        for name, expected in single(*(x[k] for x in given)).items():
            assert np.abs(expected).max() > 1e-3
            assert close(batched[name][k], expected, 1e-12), name


def test_leading_axes_have_the_hessians_of_each_state(arm):
    many = state(arm, 3)

    def total(v):
        return (jjax.forward_dynamics(arm, many.q, v, many.tau) ** 2).sum()

    found = jax.jit(jax.hessian(total))(many.v)
    for k in range(3):

        def own(v, k=k):
            return (jjax.forward_dynamics(arm, many.q[k], v, many.tau[k]) ** 2).sum()

        assert close(found[k, :, k], jax.jit(jax.hessian(own))(many.v[k]), 1e-12)
        assert not np.any(np.delete(found[k], k, axis=1))
