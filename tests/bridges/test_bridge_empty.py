"""Functions and derivatives of models without joints are empty in every front end."""

from __future__ import annotations

import numpy as np
import pytest
from bridge_cases import arguments, as_tuple, options, state

import jounce as jc
from jounce.interop._bridge.functions import functions

EMPTY = jc.ModelBuilder().build()
NAMES = [name for name, own in functions().items() if "body" not in own.names]


def given(name):
    """Its arguments, and its results by the package."""
    values = {x: np.asarray(y, float) for x, y in arguments(name, state(EMPTY)).items()}
    return values, as_tuple(getattr(jc, name)(EMPTY, **values, **options(name, EMPTY)))


def every(name):
    """This one; the others take their time."""
    return [x if x == name else pytest.param(x, marks=pytest.mark.long) for x in NAMES]


@pytest.mark.parametrize("name", every("gravity_forces"))
@pytest.mark.parametrize("mode", ["jacfwd", "jacrev"])
def test_derivatives_of_jax(name, mode):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jjax = pytest.importorskip("jounce.interop.jax")
    values, results = given(name)

    def run(values):
        return as_tuple(getattr(jjax, name)(EMPTY, **values, **options(name, EMPTY)))

    for by, result in zip(getattr(jax, mode)(run)(values), results, strict=True):
        for x, value in values.items():
            assert by[x].shape == (*np.shape(result), *value.shape)


@pytest.mark.parametrize("name", every("gravity_forces"))
@pytest.mark.parametrize("mode", ["jacfwd", "jacrev"])
def test_derivatives_of_pytorch(name, mode):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    jtorch = pytest.importorskip("jounce.interop.torch")
    values, results = given(name)

    def run(values):
        return as_tuple(getattr(jtorch, name)(EMPTY, **values, **options(name, EMPTY)))

    tensors = {x: torch.as_tensor(value) for x, value in values.items()}
    for by, result in zip(getattr(torch.func, mode)(run)(tensors), results, strict=True):
        for x, value in values.items():
            assert by[x].shape == (*np.shape(result), *value.shape)


@pytest.mark.parametrize("name", NAMES)
def test_values_and_derivatives_of_casadi(name):
    pytest.importorskip("casadi", reason="CasADi is not installed")
    jca = pytest.importorskip("jounce.interop.casadi")
    if name not in jca.__all__:
        pytest.skip("CasADi has no such results")
    values, results = given(name)
    found = as_tuple(getattr(jca, name)(EMPTY, **values, **options(name, EMPTY)))
    for one, other in zip(found, results, strict=True):
        assert np.array_equal(np.array(one), np.reshape(other, (*np.shape(other), 1, 1)[:2]))
    asked = {"f_ext": True} if "f_ext" in values else {}
    jacobian = jca.function(name, EMPTY, **asked, **options(name, EMPTY)).jacobian()
    blocks = jacobian(*map(np.atleast_1d, values.values()), *results)
    sizes = [(np.size(y), x.size) for y in results for x in values.values()]
    assert [x.shape for x in (blocks if isinstance(blocks, tuple) else (blocks,))] == sizes
