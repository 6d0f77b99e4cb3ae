"""Functions for PyTorch compute what those of the package do, and have their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from bridge_cases import (
    EPS,
    arguments,
    as_tuple,
    close,
    directions,
    first,
    gripper,
    in_coordinates,
    is_configuration,
    options,
    robot,
    second,
    state,
)

import jounce as jc
from jounce.interop._bridge.functions import functions

torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make torch` installs it")

from torch._dynamo.exc import TorchRuntimeError  # noqa: E402

from jounce.interop import torch as jtorch  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:torch", "ignore:Dynamo")

CLOSE = {"eps": 1e-6, "atol": 1e-4, "rtol": 1e-4}
"""Finite differences are not better."""
FEW = ("forward_dynamics", "body_pose", "integrate", "step")


@pytest.fixture(scope="module")
def model():
    return robot()


def tensors(name, at, grad=False):
    given = arguments(name, at).items()
    return {x: torch.tensor(np.array(value), requires_grad=grad) for x, value in given}


@pytest.mark.parametrize("name", list(functions()))
def test_values_are_those_of_the_package(model, name):
    at, function = state(model, 3), getattr(jtorch, name)
    given = {**tensors(name, at), **options(name, model)}
    in_order = [given[x] for x in functions()[name].names]
    expected = getattr(jc, name)(model, **arguments(name, at), **options(name, model))
    ways = function(model, **given), *(function(model, *in_order) for _ in range(2))
    for found in ways:  # the last on the shortest way
        for one, other in zip(as_tuple(found), as_tuple(expected), strict=True):
            assert np.array_equal(one.numpy(), other)


def bridged(model, name):
    return lambda x: as_tuple(getattr(jtorch, name)(model, **x, **options(name, model)))


@pytest.mark.parametrize("lead", [(), (2,)], ids=["single", "batched"])
@pytest.mark.parametrize("name", list(functions()))
def test_first_derivatives_are_those_of_the_package(model, name, lead):
    """In forward mode; and in reverse mode gradients times changes are weights times changes."""
    values, d = arguments(name, state(model, *lead)), directions(model, name, lead)
    results, expected = first(model, name, values, d)
    expected = in_coordinates(model, name, results, expected)
    changes = {
        x: torch.tensor(
            np.asarray(jc.coordinate_rates(model, values[x], d[x]) if is_configuration(x) else d[x])
        )
        for x in d
    }
    given, run = tensors(name, state(model, *lead)), bridged(model, name)
    found = torch.func.jvp(run, (given,), (changes,))[1]
    for one, other in zip(found, expected, strict=True):
        assert close(one.numpy(), other, 2**14 * EPS)
    rng = np.random.default_rng(0)
    weights = tuple(torch.tensor(rng.standard_normal(np.shape(x))) for x in results)
    (gradients,) = torch.func.vjp(run, given)[1](weights)
    terms = [(gradients[x] * changes[x]).numpy() for x in given]
    size = sum(np.abs(x).sum() for x in terms)
    total = sum((w.numpy() * x).sum() for w, x in zip(weights, expected, strict=True))
    assert abs(sum(x.sum() for x in terms) - total) <= 2**12 * EPS * size


@pytest.mark.parametrize("lead", [(), (2,)], ids=["single", "batched"])
@pytest.mark.parametrize("name", list(functions()))
def test_second_derivatives_are_those_of_the_package(model, name, lead):
    """Forward mode of reverse mode, along two directions, of a weighted sum of all results."""
    values, given = arguments(name, state(model, *lead)), tensors(name, state(model, *lead))
    d, e = (directions(model, name, lead, seed=seed) for seed in (1, 2))
    expected = second(model, name, values, d, e, in_coordinates)
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(np.shape(x)) for x in expected]

    def moved(at, changes, length):
        steps = {x: length * torch.tensor(np.asarray(changes[x])) for x in at}
        return {
            x: jtorch.integrate(model, value, steps[x]) if is_configuration(x) else value + steps[x]
            for x, value in at.items()
        }

    def slope(t):
        def total(s):
            found = bridged(model, name)(moved(moved(given, e, t), d, s))
            return sum((torch.tensor(w) * y).sum() for w, y in zip(weights, found, strict=True))

        return torch.func.grad(total)(zero)

    zero = torch.zeros((), dtype=torch.float64)
    change = torch.func.jvp(slope, (zero,), (torch.ones_like(zero),))[1].item()
    terms = [w * x for w, x in zip(weights, expected, strict=True)]
    size = max(1.0, sum(np.abs(x).sum() for x in terms))
    assert abs(change - sum(x.sum() for x in terms)) <= 1e-10 * size


@pytest.mark.parametrize("name", list(functions()))
def test_pytorchs_own_checks_pass_in_both_modes_and_orders(model, name):
    given = tensors(name, state(model), grad=True)

    def run(*values):
        values = dict(zip(given, values, strict=True))
        return getattr(jtorch, name)(model, **values, **options(name, model))

    every = tuple(given.values())
    assert torch.autograd.gradcheck(run, every, check_forward_ad=True, fast_mode=True, **CLOSE)
    assert torch.autograd.gradgradcheck(run, every, fast_mode=True, **CLOSE)


@pytest.mark.parametrize("name", FEW)
def test_batches_pass_the_same_checks(model, name):
    given = tensors(name, state(model, 2), grad=True)

    def run(*values):
        values = dict(zip(given, values, strict=True))
        return getattr(jtorch, name)(model, **values, **options(name, model))

    every = tuple(given.values())
    both = {"check_batched_grad": True, "check_forward_ad": True}
    assert torch.autograd.gradcheck(run, every, fast_mode=True, **both, **CLOSE)
    assert torch.autograd.gradgradcheck(run, every, fast_mode=True, **CLOSE)


def test_hessians_are_those_of_the_package(model):
    at, w = state(model), torch.linspace(-1, 1, model.nv, dtype=torch.float64)
    q, v, tau = (torch.tensor(x) for x in (at.q, at.v, at.tau))

    def weighted(dv):
        return w @ jtorch.forward_dynamics(model, jtorch.integrate(model, q, dv), v, tau)

    zero = torch.zeros(model.nv, dtype=torch.float64)
    expected = jc.forward_dynamics_hessian(model, at.q, at.v, at.tau, w.numpy()).dqdq
    func = torch.func
    for hessian in (func.hessian, lambda f: func.jacrev(func.jacrev(f))):
        assert close(hessian(weighted)(zero).numpy(), expected, 2**16 * EPS)
    with pytest.raises(jc.ArgumentError, match="does not nest forward mode"):
        func.jacfwd(func.jacfwd(weighted))(zero)


def test_vmap_is_a_batch_and_shared_arguments_get_summed_gradients(model):
    at, single = state(model, 4), state(model, seed=3)
    q, v, tau = torch.tensor(at.q), torch.tensor(single.v, requires_grad=True), torch.tensor(at.tau)
    mapped = torch.func.vmap(lambda q, tau: jtorch.forward_dynamics(model, q, v, tau))(q, tau)
    expected = jc.forward_dynamics(model, at.q, single.v, at.tau)
    assert close(mapped.detach().numpy(), expected, 4 * EPS)
    w = np.ones((4, model.nv))
    jtorch.forward_dynamics(model, q, v, tau).sum().backward()
    by = jc.vjp(jc.forward_dynamics, model, (at.q, single.v, at.tau), w)
    assert close(v.grad.numpy(), by.v.sum(0), 2**12 * EPS)


def test_plain_tensors_are_the_packages_own_call(model):
    at = state(model, 3)
    q, v, a = (torch.tensor(x) for x in (at.q, at.v, at.a))
    for _ in range(2):
        partials = jtorch.inverse_dynamics_derivatives(model, q, v, a)
        assert isinstance(partials, jc.InverseDynamicsDerivatives)
        assert partials.dq.dtype == torch.float64
        with pytest.raises(jc.ArgumentError, match="a must be finite"):
            jtorch.inverse_dynamics_derivatives(model, q, v, a * torch.nan)


def test_forward_mode_is_not_zero(model):
    at = state(model)
    q, v, tau = (torch.tensor(x) for x in (at.q, at.v, at.tau))
    _, change = torch.func.jvp(lambda v: jtorch.forward_dynamics(model, q, v, tau), (v,), (v,))
    expected = jc.jvp(jc.forward_dynamics, model, (at.q, at.v, at.tau), (None, at.v, None))
    assert close(change.numpy(), expected.derivative, 2**12 * EPS)


def test_compiled_functions_have_gradients_and_refuse_forward_mode(model):
    at = state(model)
    q = torch.tensor(at.q, requires_grad=True)
    v, tau = torch.tensor(at.v), torch.tensor(at.tau)

    def cost(q):
        return (jtorch.forward_dynamics(model, q, v, tau) ** 2).sum()

    compiled = torch.compile(cost, fullgraph=True, backend="aot_eager")
    (found,) = torch.autograd.grad(compiled(q), q)
    (expected,) = torch.autograd.grad(cost(q), q)
    assert close(found.numpy(), expected.numpy(), 16 * EPS)
    jtorch.bias_forces(model, q, v)
    forward = torch.compile(
        lambda v: torch.func.jvp(lambda v: jtorch.bias_forces(model, q, v), (v,), (v,))[1],
        fullgraph=True,
        backend="aot_eager",
    )
    with pytest.raises(TorchRuntimeError, match=r"bias_forces\(\) has no forward-mode derivative"):
        forward(v)


def test_maps_inside_of_compiled_functions_are_batches(model):
    at, single = state(model, 3), state(model, seed=3)
    q, v, tau = torch.tensor(at.q), torch.tensor(single.v, requires_grad=True), torch.tensor(at.tau)

    def pairs(q, v, tau):
        inner = torch.func.vmap(lambda q, tau: jtorch.forward_dynamics(model, q, v, tau), (None, 0))
        return torch.func.vmap(inner, (0, None))(q, tau)

    expected = jtorch.forward_dynamics(model, q[:, None], v, tau)
    compiled = torch.compile(pairs, fullgraph=True, backend="aot_eager")
    found = compiled(q, v, tau)
    assert found.shape == (3, 3, model.nv)
    assert close(found.detach().numpy(), expected.detach().numpy(), 16 * EPS)
    (gradient,) = torch.autograd.grad(found.square().sum(), v)
    (other,) = torch.autograd.grad(expected.square().sum(), v)
    assert close(gradient.numpy(), other.numpy(), 2**10 * EPS)


def test_pytorch_itself_refuses_second_derivatives_of_compiled_functions(model):
    at = state(model)
    q, v = torch.tensor(at.q), torch.tensor(at.v, requires_grad=True)
    jtorch.kinetic_energy(model, q, v)
    compiled = torch.compile(lambda v: jtorch.kinetic_energy(model, q, v), backend="aot_eager")
    (gradient,) = torch.autograd.grad(compiled(v), v, create_graph=True)
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        torch.autograd.grad(gradient.sum(), v)


def test_32_bits_go_in_and_out_and_64_are_between(model):
    at = state(model)
    given = [torch.tensor(x, dtype=torch.float32) for x in (at.q, at.v, at.tau)]
    found = jtorch.forward_dynamics(model, *given)
    exact = jc.forward_dynamics(model, *(x.double().numpy() for x in given))
    assert found.dtype == torch.float32
    assert np.array_equal(found.numpy(), exact.astype(np.float32))
    with pytest.raises(jc.ArgumentError, match="32 or 64 bits"):
        jtorch.potential_energy(model, torch.tensor(at.q, dtype=torch.float16))
    with pytest.raises(jc.ArgumentError, match="on the CPU"):
        jtorch.potential_energy(model, torch.empty(model.nq, device="meta"))


MASKED = np.ma.masked_array(np.ones(13), np.arange(13) == 2)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (MASKED, "q must have no masked entries, got 1 of 13"),
        ([MASKED], "q must have no masked entries, got 1 of 13"),
        ("abc", "q must be numbers, got 'abc'"),
        ([[1.0], [2.0, 3.0]], "q must be numbers"),
        (object(), "q must be numbers"),
    ],
)
def test_what_is_no_array_of_numbers_is_told(model, value, text):
    with pytest.raises(jc.ArgumentError, match=text):
        jtorch.gravity_forces(model, value)


@pytest.mark.filterwarnings("error")
def test_models_with_coupled_joints_are_refused():
    with pytest.raises(jc.ModelError, match=r"are not known here; use model\.expanded"):
        jtorch.gravity_forces(gripper(), torch.zeros(1, dtype=torch.float64))


@pytest.mark.parametrize("threads", [True, 1.0, -1, "1"])
def test_threads_are_checked_whatever_was_called_before(model, threads):
    q = torch.tensor(state(model).q)
    for _ in range(2):
        jtorch.gravity_forces(model, q)
    with pytest.raises(jc.ArgumentError, match="threads must be an integer from 0 to 1024"):
        jtorch.gravity_forces(model, q, threads=threads)
