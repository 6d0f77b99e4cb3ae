"""Graphs that PyTorch compiles: made at the first call, and the same in every process."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from bridge_cases import EPS, close, robot, state

import jounce as jc
from jounce.interop._bridge.functions import functions

torch = pytest.importorskip("torch", reason="PyTorch is not installed: `make torch` installs it")

from torch._dynamo.exc import InternalTorchDynamoError  # noqa: E402

from jounce.interop import torch as jtorch  # noqa: E402
from jounce.interop.torch import _calls  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:torch", "ignore:Dynamo")
DOUBLE = torch.float64


@pytest.fixture
def model():
    """One that nobody has used before."""
    return robot().replace(gravity=(0.1, 0.2, -9.7))


@pytest.mark.parametrize("dynamic", [None, True])
def test_the_first_call_may_be_inside_of_a_compiled_function(model, dynamic):
    at = state(model, 3)
    q, v = torch.tensor(at.q), torch.tensor(at.v)
    tau = torch.tensor(at.tau[0], requires_grad=True)

    def cost(q, v, tau):
        return jtorch.forward_dynamics(model, q, v, tau).square().sum()

    compiled = torch.compile(cost, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    (found,) = torch.autograd.grad(compiled(q, v, tau), tau)
    (expected,) = torch.autograd.grad(cost(q, v, tau), tau)
    assert close(found.numpy(), expected.numpy(), 16 * EPS)
    other = torch.compile(lambda q: jtorch.gravity_forces(model, q), backend="aot_eager")
    assert np.array_equal(other(q).numpy(), jc.gravity_forces(model, at.q))


def test_a_graph_takes_batches_of_any_size(model):
    graphs = []

    def seen(graph, _):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    compiled = torch.compile(lambda q: jtorch.body_pose(model, q, "hand"), backend=seen)
    for size in (2, 3, 5, 7):
        q = jc.random_configuration(model, size, size)
        assert np.array_equal(compiled(torch.tensor(q)).numpy(), jc.body_pose(model, q, "hand"))
    assert len(graphs) == 2  # for the first size, and for any


def test_masks_inside_of_compiled_functions_are_lists():
    arm = jc.models.chain(3)
    x = torch.ones(3, dtype=DOUBLE)
    mask = [True, False, True]

    def forces(mask):
        return lambda x: jtorch.hybrid_dynamics(arm, x, x, x, x, mask).tau

    found = torch.compile(forces(mask), fullgraph=True, backend="aot_eager")(x)
    assert np.array_equal(found.numpy(), forces(mask)(x).numpy())
    for kind in (np.array, torch.tensor):
        with pytest.raises(InternalTorchDynamoError, match=r"hybrid_dynamics.*mask\.tolist"):
            torch.compile(forces(kind(mask)), backend="aot_eager")(x)


def constants(name):
    """Those that a graph of a call has for PyTorch, which compares them."""
    arm, q = jc.models.chain(3), torch.ones(3, dtype=DOUBLE)
    found = []

    def seen(graph, _):
        found.extend(x for node in graph.graph.nodes for x in node.args)
        return graph.forward

    torch.compile(lambda q: getattr(jtorch, name)(arm, q), backend=seen)(q)
    return repr([x for x in found if isinstance(x, (int, str))])


def test_graphs_of_two_processes_are_the_same_only_if_they_call_the_same(python):
    """PyTorch keeps compiled graphs on disk, and takes those that look the same."""
    mine = [constants(name) for name in ("mass_matrix", "gravity_forces")]
    assert mine[0] != mine[1]
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_bridge_torch_compiled as t\n"
        "print(t.constants('gravity_forces'))"
    )
    assert python(code, str(Path(__file__).parent)).strip() == mine[1]


def test_equal_models_have_equal_graphs_and_others_do_not(model):
    def key(model, name="gravity_forces", threads=1):
        shapes = (("q", (model.nq,)),)
        return _calls.known_to_graphs(functions()[name], model, shapes, threads, ())[0]

    same = pickle.loads(pickle.dumps(model))
    assert key(same) == key(model)
    others = {key(model), key(model, "mass_matrix"), key(model, threads=2), key(robot())}
    assert len(others) == 4


def test_a_graph_of_another_process_says_what_it_needs():
    with pytest.raises(jc.ArgumentError, match="call it once with its model"):
        torch.ops.jounce.run([torch.ones(3, dtype=DOUBLE)], "0" * 32)


def test_views_of_negatives_are_read(model):
    at = state(model)
    turned = torch.complex(torch.tensor(at.v), torch.tensor(at.v)).conj().imag
    assert turned.is_neg()
    q, tau = torch.tensor(at.q), torch.tensor(at.tau, requires_grad=True)
    expected = jc.forward_dynamics(model, at.q, -at.v, at.tau)
    for _ in range(2):
        assert np.array_equal(
            jtorch.forward_dynamics(model, q, turned, tau.detach()).numpy(), expected
        )
        found = jtorch.forward_dynamics(model, q, turned, tau)
        (gradient,) = torch.autograd.grad(found, tau, turned, retain_graph=True)
        (other,) = torch.autograd.grad(found, tau, torch.tensor(-at.v))
        assert np.array_equal(gradient.numpy(), other.numpy())
