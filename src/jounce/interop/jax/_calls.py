"""Calls of operations inside JAX, with exact derivatives of first and second order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jounce.interop._bridge.functions import Operation
from jounce.interop._bridge.partials import Partials, reverse
from jounce.interop._bridge.tangents import from_tangent, layout, to_tangent
from jounce.interop.jax._handler import TARGET, registered
from jounce.interop.jax._linear import Maps, contracted

__all__ = ["call"]

Arrays = tuple[jax.Array, ...]


def call(own: Operation, arrays: Arrays) -> Arrays:
    """Results of an operation; all arrays have the same number of leading axes."""
    results: Arrays = _compiled(own)(*arrays)
    return results


@functools.lru_cache(maxsize=4096)
def _maps(own: Operation, by: tuple[int, ...]) -> Maps | None:
    """Derivatives as linear maps, where the core has gradients that need no partial ones."""
    gradients = reverse(own)
    return Maps(call, own, gradients, by) if gradients and by else None


@functools.lru_cache(maxsize=4096)
def _compiled(own: Operation) -> Callable[..., Arrays]:
    """A function that JAX can compile, map and differentiate."""
    number = np.int64(registered(own))

    @jax.custom_jvp
    def run(*arrays: jax.Array) -> Arrays:
        lead = _lead(own, arrays)
        dtype = arrays[0].dtype
        shapes = [jax.ShapeDtypeStruct((*lead, *y.shape), dtype) for y in own.outputs]
        bound = jax.ffi.ffi_call(TARGET, shapes, vmap_method="expand_dims")
        return tuple(bound(*arrays, operation=number))

    def moved(primals: Arrays, tangents: tuple[Any, ...]) -> tuple[Arrays, Arrays]:
        return _moved(own, primals, tangents)

    run.defjvp(moved, symbolic_zeros=True)
    return jax.jit(run, inline=True)


def _lead(own: Operation, arrays: Arrays) -> tuple[int, ...]:
    """Leading axes of the results."""
    leads = (x.shape[: x.ndim - len(a.shape)] for x, a in zip(arrays, own.inputs, strict=True))
    return jnp.broadcast_shapes(*leads)


def _moved(own: Operation, primals: Arrays, tangents: tuple[Any, ...]) -> tuple[Arrays, Arrays]:
    """Results and how they change: partial derivatives times the changes of the inputs."""
    results = call(own, primals)
    pieces = layout(own.model)
    moving = {
        k: to_tangent(jnp, pieces, primals[k], tangent) if x.is_configuration else tangent
        for k, (x, tangent) in enumerate(zip(own.inputs, tangents, strict=True))
        if not isinstance(tangent, jax.custom_derivatives.SymbolicZero)
    }
    maps = _maps(own, tuple(moving))
    changes = maps.push.bind(*primals, *moving.values()) if maps else _summed(own, primals, moving)
    for k, (y, result) in enumerate(zip(own.outputs, results, strict=True)):
        if changes[k] is None:
            changes[k] = jnp.zeros_like(result)
        elif y.is_configuration:
            changes[k] = from_tangent(jnp, pieces, result, changes[k])
    return results, tuple(changes)


def _summed(own: Operation, primals: Arrays, moving: dict[int, Any]) -> list[Any]:
    """Changes of the results: partial derivatives times tangents."""
    changes: list[Any] = [None] * len(own.outputs)
    partials = Partials(jnp, call, own, primals)
    for at, tangent in moving.items():
        x = own.inputs[at]
        for k, partial in enumerate(partials.by(x)):
            part = contracted(partial, tangent, len(own.outputs[k].tangent), len(x.tangent))
            changes[k] = part if changes[k] is None else changes[k] + part
    return changes
