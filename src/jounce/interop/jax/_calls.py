"""Calls of operations inside JAX, with exact derivatives of first and second order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jounce.interop._bridge.functions import Operation
from jounce.interop._bridge.partials import Partials
from jounce.interop._bridge.tangents import from_tangent, layout, to_tangent
from jounce.interop.jax._handler import TARGET, registered

__all__ = ["call"]

Arrays = tuple[jax.Array, ...]


def call(own: Operation, arrays: Arrays) -> Arrays:
    """Results of an operation; all arrays have the same number of leading axes."""
    results: Arrays = _compiled(own)(*arrays)
    return results


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
    changes: list[Any] = [None] * len(results)
    partials = Partials(jnp, call, own, primals)
    for x, primal, tangent in zip(own.inputs, primals, tangents, strict=True):
        if isinstance(tangent, jax.custom_derivatives.SymbolicZero):
            continue
        if x.is_configuration:
            tangent = to_tangent(jnp, pieces, primal, tangent)
        for k, partial in enumerate(partials.by(x)):
            part = _contracted(partial, tangent, len(own.outputs[k].tangent), len(x.tangent))
            changes[k] = part if changes[k] is None else changes[k] + part
    for k, (y, result) in enumerate(zip(own.outputs, results, strict=True)):
        if changes[k] is None:
            changes[k] = jnp.zeros_like(result)
        elif y.is_configuration:
            changes[k] = from_tangent(jnp, pieces, result, changes[k])
    return results, tuple(changes)


def _contracted(partial: jax.Array, tangent: jax.Array, rows: int, columns: int) -> jax.Array:
    """The product of a partial derivative, (..., *rows, *columns), with a tangent."""
    lead = partial.ndim - rows - columns
    shape, own = partial.shape, tangent.shape
    matrix = partial.reshape((*shape[:lead], _size(shape[lead : lead + rows]), -1))
    vector = tangent.reshape((*own[: len(own) - columns], matrix.shape[-1]))
    product = jnp.einsum("...ij,...j->...i", matrix, vector)
    return product.reshape(shape[: lead + rows])


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int))
