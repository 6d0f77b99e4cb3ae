"""Calls of operations inside JAX, with exact derivatives of first and second order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching

from jounce.interop._bridge.functions import Operation
from jounce.interop._bridge.partials import Partials, reverse
from jounce.interop._bridge.tangents import from_tangent, layout, to_tangent
from jounce.interop.jax._handler import TARGET, registered
from jounce.interop.jax._linear import Maps, contracted, primitive, to_front

__all__ = ["call"]

Arrays = tuple[jax.Array, ...]


def call(own: Operation, arrays: Arrays) -> Arrays:
    """Results of an operation; all arrays have the same number of leading axes."""
    results: Arrays = _compiled(own)(*arrays)
    return results


def _derivatives(own: Operation, arrays: Arrays) -> Arrays:
    """Results of an operation that is a derivative: zero for marked states that failed.

    So what is summed over states, by an input that they share, is that of the others.
    """
    results = call(own, arrays)
    if not own.options.marks:
        return results
    return tuple(jnp.where(jnp.isnan(y), 0, y) for y in results)


def _finite(own: Operation, q: Any) -> Any:
    """A configuration at which tangents are taken, which may be one that failed."""
    return jnp.where(jnp.isfinite(q), q, 1) if own.options.marks else q


@functools.lru_cache(maxsize=4096)
def _maps(own: Operation, by: tuple[int, ...]) -> Maps | None:
    """Derivatives as linear maps, where the core has gradients that need no partial ones."""
    gradients = reverse(own)
    return Maps(_derivatives, own, gradients, by) if gradients and by else None


@functools.lru_cache(maxsize=4096)
def _compiled(own: Operation) -> Callable[..., Arrays]:
    """A function that JAX can compile, map and differentiate.

    A primitive, not a function with `custom_jvp`: partial evaluation of loops drops the rules of
    such functions, so that a gradient of a loop had no further derivative.
    """
    number = np.int64(registered(own))

    def shapes(*arrays: Any) -> list[tuple[int, ...]]:
        lead = _lead(own, arrays)
        return [(*lead, *y.shape) for y in own.outputs]

    def run(*arrays: jax.Array) -> list[jax.Array]:
        kind = arrays[0].dtype
        results = [jax.ShapeDtypeStruct(shape, kind) for shape in shapes(*arrays)]
        return list(jax.ffi.ffi_call(TARGET, results)(*arrays, operation=number))

    made = primitive(own.function, run, shapes)
    ad.primitive_jvps[made] = functools.partial(_moved, own)
    batching.primitive_batchers[made] = functools.partial(_batched, made)
    return jax.jit(lambda *arrays: tuple(made.bind(*arrays)), inline=True)


def _batched(made: Primitive, arrays: Arrays, axes: Sequence[Any]) -> tuple[Any, Any]:
    """One call for all that is mapped."""
    results = made.bind(*map(to_front, arrays, axes))
    return results, [0] * len(results)


def _lead(own: Operation, arrays: Arrays) -> tuple[int, ...]:
    """Leading axes of the results."""
    leads = (x.shape[: x.ndim - len(a.shape)] for x, a in zip(arrays, own.inputs, strict=True))
    return jnp.broadcast_shapes(*leads)


def _moved(own: Operation, primals: Arrays, tangents: Sequence[Any]) -> tuple[Arrays, list[Any]]:
    """Results and how they change: partial derivatives times the changes of the inputs."""
    primals = tuple(map(jnp.asarray, primals))  # of scalars JAX hands over bare numbers
    results = call(own, primals)
    pieces = layout(own.model)
    moving = {
        k: to_tangent(jnp, pieces, _finite(own, primals[k]), tangent)
        if x.is_configuration
        else tangent
        for k, (x, tangent) in enumerate(zip(own.inputs, tangents, strict=True))
        if type(tangent) is not ad.Zero
    }
    maps = _maps(own, tuple(moving))
    changes = maps.push.bind(*primals, *moving.values()) if maps else _summed(own, primals, moving)
    for k, (y, result) in enumerate(zip(own.outputs, results, strict=True)):
        if changes[k] is None:
            changes[k] = jnp.zeros_like(result)
        elif y.is_configuration:
            changes[k] = from_tangent(jnp, pieces, _finite(own, result), changes[k])
        if own.options.marks:  # transposed, it drops the weights of states that failed
            changes[k] = jnp.where(jnp.isnan(result), 0, changes[k])
    return results, changes


def _summed(own: Operation, primals: Arrays, moving: dict[int, Any]) -> list[Any]:
    """Changes of the results: partial derivatives times tangents."""
    changes: list[Any] = [None] * len(own.outputs)
    partials = Partials(jnp, _derivatives, own, primals)
    for at, tangent in moving.items():
        x = own.inputs[at]
        for k, partial in enumerate(partials.by(x)):
            part = contracted(partial, tangent, len(own.outputs[k].tangent), len(x.tangent))
            changes[k] = part if changes[k] is None else changes[k] + part
    return changes
