"""Functions for JAX compute what those of the package do, and have their derivatives.

That the shared operations have the right derivatives is shown for all functions in
test_operations.py; here few are compiled, because compiling takes its time. `make jax` takes all.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from bridge_cases import (
    EPS,
    arguments,
    as_tuple,
    close,
    directions,
    first,
    in_coordinates,
    is_configuration,
    options,
    outputs,
    robot,
    second,
    state,
)

import jounce as jc
from jounce.interop._bridge.functions import functions
from jounce.interop._bridge.tangents import layout, to_tangent

jax = pytest.importorskip("jax", reason="JAX is not installed")
try:
    from jounce.interop import jax as jjax
except ImportError as error:
    pytest.skip(str(error), allow_module_level=True)

jnp = jax.numpy
pytestmark = pytest.mark.usefixtures("in_64_bits")

FEW = ["forward_dynamics", "hybrid_dynamics", "body_pose", "step"]
"""Partial derivatives in closed form, with two results, by dual numbers, with configurations."""


def every(*few):
    """All functions; `make test` takes few."""
    return [
        pytest.param(name, marks=() if name in few else pytest.mark.jax) for name in functions()
    ]


SINGLE_AND_BATCHED = pytest.mark.parametrize(
    "lead", [(3,), pytest.param((), marks=pytest.mark.jax)], ids=["batched", "single"]
)


@pytest.fixture(scope="module")
def model():
    return robot()


def rates(model, q, tangent):
    """The change of coordinates along a tangent vector, with a part that scales the quaternions."""
    change = np.array(jc.coordinate_rates(model, q, tangent))
    for joint in ("base_joint", "ball_joint"):
        at = model.q_slice(joint).start
        change[..., at : at + 4] += 0.7 * q[..., at : at + 4]
    return change


def bridged(model, name):
    return lambda values: as_tuple(getattr(jjax, name)(model, **values, **options(name, model)))


def along(model, name, lead):
    """Arguments, directions, and the same as changes of coordinates."""
    given, d = arguments(name, state(model, *lead)), directions(model, name, lead)
    return given, d, {x: rates(model, given[x], d[x]) if is_configuration(x) else d[x] for x in d}


@SINGLE_AND_BATCHED
@pytest.mark.parametrize("name", every(*FEW))
def test_values_and_changes_are_those_of_the_package(model, name, lead):
    given, d, changes = along(model, name, lead)

    @jax.jit
    def run(given, changes):
        return jax.jvp(bridged(model, name), (given,), (changes,))

    values, derivatives = run(given, changes)
    results, expected = first(model, name, given, d)
    for value, result in zip(values, results, strict=True):  # this one by dual numbers
        assert close(value, result, 64 * EPS)
    expected = in_coordinates(model, name, results, expected)
    for found, change in zip(derivatives, expected, strict=True):
        assert close(found, change, 2**14 * EPS)


@SINGLE_AND_BATCHED
@pytest.mark.parametrize("name", every("step"))
def test_gradients_are_those_of_the_package(model, name, lead):
    """Weights of the results times their changes are gradients times changes of the arguments."""
    given, d, changes = along(model, name, lead)
    results, expected = first(model, name, given, d)
    expected = in_coordinates(model, name, results, expected)
    rng = np.random.default_rng(0)
    weights = tuple(rng.standard_normal(np.shape(x)) for x in results)

    @jax.jit
    def run(given, weights):
        return jax.vjp(bridged(model, name), given)[1](weights)

    (gradients,) = run(given, weights)
    terms = [gradients[x] * changes[x] for x in given]
    size = sum(np.abs(x).sum() for x in terms)
    total = sum((w * x).sum() for w, x in zip(weights, expected, strict=True))
    assert abs(sum(x.sum() for x in terms) - total) <= 2**12 * EPS * size


@SINGLE_AND_BATCHED
@pytest.mark.parametrize("name", every("body_pose"))
def test_second_derivatives_are_nested_first_ones(model, name, lead):
    given, pieces = arguments(name, state(model, *lead)), layout(model)
    d, e = (directions(model, name, lead, seed=seed) for seed in (1, 2))

    def moved(values, changes, length):
        return {
            x: jjax.integrate(model, value, length * changes[x])
            if is_configuration(x)
            else value + length * changes[x]
            for x, value in values.items()
        }

    def slope(t):
        def along(s):
            return bridged(model, name)(moved(moved(given, e, t), d, s))

        ends, changes = jax.jvp(along, (0.0,), (1.0,))
        return tuple(
            to_tangent(jnp, pieces, end, change) if x.is_configuration else change
            for x, end, change in zip(outputs(model, name), ends, changes, strict=True)
        )

    found = jax.jit(lambda: jax.jvp(slope, (0.0,), (1.0,))[1])()
    for one, other in zip(found, second(model, name, given, d, e), strict=True):
        assert close(one, other, 1e-10)


def test_both_modes_and_the_hessian_are_the_packages_own(model):
    at, w = state(model), np.linspace(-1, 1, model.nv)

    def energy(dv, v):
        return w @ jjax.forward_dynamics(model, jjax.integrate(model, at.q, dv), v, at.tau)

    zero = jnp.zeros(model.nv)
    compiled = jax.jit(lambda x, v: (jax.grad(energy)(x, v), jax.hessian(energy, (0, 1))(x, v)))
    gradient, hessian = compiled(zero, at.v)
    by = jc.vjp(jc.forward_dynamics, model, (at.q, at.v, at.tau), w)
    expected = jc.forward_dynamics_hessian(model, at.q, at.v, at.tau, w)
    assert close(gradient, by.q, 2**12 * EPS)
    assert close(hessian[0][0], expected.dqdq, 2**16 * EPS)
    assert close(hessian[0][1], expected.dqdv, 2**16 * EPS)
    assert close(hessian[1][1], expected.dvdv, 2**16 * EPS)


@pytest.mark.parametrize("name", ["forward_dynamics", "inverse_dynamics"])
def test_third_derivatives_of_the_dynamics_are_changes_of_second_ones(name):
    arm = jc.models.chain(2)
    q, v, last, d = np.random.default_rng(0).standard_normal((4, 2))
    hessian = getattr(jc, f"{name}_hessian")

    def total(t):
        return getattr(jjax, name)(arm, q + t * d, v, last).sum()

    def second(t):
        return d @ hessian(arm, q + t * d, v, last, np.ones(2)).dqdq @ d

    h = 2.0**-10
    expected = 8 * (second(h) - second(-h)) - second(2 * h) + second(-2 * h)
    found = jax.grad(jax.grad(jax.grad(total)))(0.0)
    assert close(found, expected / (12 * h), 1e-8)


def test_gradients_form_no_partial_derivatives_and_sum_what_is_shared(model):
    at, single = state(model, 4), state(model, seed=3)
    given = at.q, single.v, at.a, at.f_ext

    def work(v, a, f_ext):
        return jjax.inverse_dynamics(model, at.q, v, a, f_ext).sum()

    compiled = jax.jit(jax.grad(work, (0, 1, 2))).lower(*given[1:]).compile()
    by = jc.vjp(jc.inverse_dynamics, model, given, np.ones((4, model.nv)))
    for found, expected in zip(compiled(*given[1:]), (by.v.sum(0), by.a, by.f_ext), strict=True):
        assert close(found, expected, 2**12 * EPS)
    assert "f64[4,11,11]" not in compiled.as_text()


def test_mapped_gradients_and_jacobians_of_both_modes_are_the_packages_own(model):
    at, single, w = state(model, 3), state(model, seed=3), np.linspace(-1, 1, model.nv)

    def run(q, v, tau):
        return jjax.forward_dynamics(model, q, v, tau)

    def everything(q, v, tau):
        shared = jax.vmap(jax.grad(lambda tau, q: w @ run(q, v, tau)), (0, 0))(tau, q)
        ways = jax.jacrev(run, 1), jax.jacfwd(run, 1)
        return shared, [jax.vmap(way, (0, None, 0))(q, v, tau) for way in ways]

    shared, jacobians = jax.jit(everything)(at.q, single.v, at.tau)
    given = at.q, single.v, at.tau
    assert close(shared, jc.vjp(jc.forward_dynamics, model, given, w).tau, 2**12 * EPS)
    expected = jc.forward_dynamics_derivatives(model, *given).dv
    for found in jacobians:
        assert close(found, expected, 2**12 * EPS)


@pytest.mark.long
def test_gradients_by_components_pass_jaxs_own_check(model):
    from jax.test_util import check_grads

    at = state(model)
    function = jax.jit(lambda q: jjax.potential_energy(model, q))
    check_grads(function, (at.q,), order=2, modes=["rev"], eps=1e-4, atol=1e-6, rtol=1e-6)


def own_check(model, name, order):
    from jax.test_util import check_grads

    given = arguments(name, state(model))
    function = jax.jit(lambda *x: bridged(model, name)(dict(zip(given, x, strict=True))))
    check_grads(function, tuple(given.values()), order=order, eps=1e-5, atol=1e-4, rtol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("name", FEW)
def test_both_modes_pass_jaxs_own_check(model, name):
    own_check(model, name, 1)


@pytest.mark.jax
@pytest.mark.parametrize("name", sorted(functions()))
def test_every_function_passes_jaxs_own_check(model, name):
    own_check(model, name, 2)


def test_vmap_is_one_batched_call_and_broadcasts(model):
    at, single = state(model, 4), state(model, seed=3)
    mapped = jax.vmap(lambda q, tau: jjax.forward_dynamics(model, q, single.v, tau), (0, None))
    compiled = jax.jit(jax.vmap(mapped, (None, 0))).lower(at.q, at.tau).compile()
    assert compiled.as_text().count('custom_call_target="jounce"') == 1
    q, tau = at.q[None], at.tau[:, None]
    expected = jc.forward_dynamics(model, q, single.v, tau)
    assert close(compiled(at.q, at.tau), expected, 4 * EPS)
    leading = jjax.forward_dynamics(model, q, single.v, tau)
    assert close(leading, expected, 4 * EPS)


def test_a_scan_is_a_rollout_and_its_gradient_the_adjoint(model):
    at = state(model)
    forces = 0.3 * np.random.default_rng(0).standard_normal((5, model.nv))

    def last(forces):
        def advance(carry, tau):
            return tuple(jjax.step(model, *carry, tau, 0.01, method="rkmk2")), None

        return jax.lax.scan(advance, (jnp.asarray(at.q), jnp.asarray(at.v)), forces)[0]

    value, gradient = jax.jit(lambda x: (last(x), jax.grad(lambda x: last(x)[1].sum())(x)))(forces)
    expected = jc.rollout(model, at.q, at.v, forces, 0.01, method="rkmk2")
    assert close(value[0], expected.q[-1], 64 * EPS)
    weights = np.zeros((6, model.nv))
    weights[-1] = 1.0
    adjoint = jc.rollout_vjp(model, at.q, at.v, forces, 0.01, (None, weights), method="rkmk2")
    assert close(gradient, adjoint.tau, 2**12 * EPS)


def test_32_bits_go_in_and_out_and_64_are_between(model):
    at = state(model)
    with jax.enable_x64(False):
        arrays = [jnp.asarray(x) for x in (at.q, at.v, at.tau)]
        found = jjax.forward_dynamics(model, *arrays)
        assert found.dtype == jnp.float32
    exact = jc.forward_dynamics(model, *(np.asarray(x, float) for x in arrays))
    assert np.array_equal(found, exact.astype(np.float32))
    with pytest.raises(jc.ArgumentError, match="32 or 64 bits, got complex"):
        jjax.potential_energy(model, at.q + 0j)


def test_errors_name_the_function_and_the_place(model):
    at = state(model, 3)
    with pytest.raises(jc.ArgumentError, match=r"gravity_forces\(\): q must have shape"):
        jjax.gravity_forces(model, at.v)
    with pytest.raises(jc.ArgumentTypeError, match="needs the argument 'v'"):
        jjax.kinetic_energy(model, at.q)
    with pytest.raises(jc.ArgumentError, match="do not broadcast"):
        jjax.kinetic_energy(model, at.q, np.zeros((2, model.nv)))
    q = np.array(at.q)
    q[1, 7] = np.nan
    failed = "gravity_forces.*not a finite number: q.7. in state 1"
    with pytest.raises(jax.errors.JaxRuntimeError, match=failed):
        jjax.gravity_forces(model, q)
    marked = jjax.gravity_forces(model, q, on_failure="nan")
    assert np.isnan(marked[1]).all()
    assert close(marked[::2], jc.gravity_forces(model, q[::2]), 16 * EPS)


@pytest.mark.long
@pytest.mark.parametrize("name", ["forward_dynamics", "bias_forces", "step"])
def test_states_that_fail_have_no_part_in_gradients(model, name):
    """Gradients by inputs that all states share are those of the others."""
    at = state(model, 3)
    good = np.array([0, 2])
    q = np.array(at.q)
    q[1] = np.nan
    others = {"forward_dynamics": 1, "bias_forces": 0, "step": 1}[name] * [at.tau[0]]
    others += [0.01] if name == "step" else []

    def total(v, q):
        found = as_tuple(getattr(jjax, name)(model, q, v, *others, on_failure="nan"))
        return sum(jnp.nansum(y**2) for y in found)

    by_both = jax.jit(jax.grad(total, (0, 1)))
    found, expected = by_both(at.v[0], q), by_both(at.v[0], q[good])
    assert close(found[0], expected[0], 2**10 * EPS)
    assert close(found[1][good], expected[1], 2**10 * EPS)
    assert not found[1][1].any()
    if name == "bias_forces":
        second = jax.jit(jax.hessian(total))
        assert close(second(at.v[0], q), second(at.v[0], q[good]), 2**10 * EPS)


def test_threads_are_integers_of_any_kind(model):
    q = state(model, 3).q
    expected = jc.gravity_forces(model, q)
    for threads in (2, np.int64(2), np.int32(0)):
        assert close(jjax.gravity_forces(model, q, threads=threads), expected, 16 * EPS)
    for threads in (-1, 2000, 1.0, True, "2", None):
        with pytest.raises(jc.ArgumentError, match="threads must be an integer from 0 to 1024"):
            jjax.gravity_forces(model, q, threads=threads)


def test_empty_batches_and_equal_models(model):
    found = jjax.gravity_forces(model, np.zeros((0, model.nq)))
    assert found.shape == (0, model.nv)
    again = robot()
    q = state(model).q
    assert np.array_equal(jjax.gravity_forces(again, q), jc.gravity_forces(model, q))


def test_signatures_are_those_of_the_package():
    left_out = ("out", "threads", "order", "constraints", "projection")
    for name in functions():
        own = list(inspect.signature(getattr(jjax, name)).parameters.values())
        kept = inspect.signature(getattr(jc, name)).parameters
        assert [p for p in own if p.name not in ("threads", "on_failure")] == [
            p for p in kept.values() if p.name not in left_out
        ]
        assert "For arrays of JAX" in getattr(jjax, name).__doc__


def test_masked_entries_are_refused(model):
    masked = np.ma.masked_array(np.ones(13), np.arange(13) == 2)
    for q in (masked, [masked]):
        with pytest.raises(jc.ArgumentError, match="q must have no masked entries, got 1 of 13"):
            jjax.gravity_forces(model, q)
