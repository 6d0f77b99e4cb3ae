"""Derivatives as linear maps of JAX: tangents to changes, and weights to gradients.

JAX makes reverse mode of forward mode by transposing what is linear in the tangents. Products with
partial derivatives would be transposed to products, so that a gradient would cost all partial
derivatives. So the two maps are primitives, each the transposed of the other:

    push: tangents of the inputs -> changes of the results,  sum over inputs of partial @ tangent
    pull: weights of the results -> gradients by the inputs,  weights @ partial

A pull is the kernel of the core that takes O(n). Where many are asked for at one state (`jacrev`,
which maps over weights alone), and for derivatives of the maps themselves, the partial derivatives
are formed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from jounce.interop._bridge.functions import Operation
from jounce.interop._bridge.partials import Partials, Reverse

__all__ = ["Maps", "contracted", "primitive", "to_front"]

Arrays = tuple[Any, ...]
Call = Callable[[Operation, Arrays], Arrays]


def contracted(partial: Any, tangent: Any, rows: int, columns: int) -> Any:
    """The product of a partial derivative, (..., *rows, *columns), with a tangent."""
    lead = partial.ndim - rows - columns
    matrix = _matrix(partial, rows, columns)
    vector = tangent.reshape((*tangent.shape[: tangent.ndim - columns], matrix.shape[-1]))
    product = jnp.einsum("...ij,...j->...i", matrix, vector)
    return product.reshape((*product.shape[:-1], *partial.shape[lead : lead + rows]))


def _matrix(partial: Any, rows: int, columns: int) -> Any:
    lead, shape = partial.ndim - rows - columns, partial.shape
    axes = shape[lead : lead + rows], shape[lead + rows :]
    return partial.reshape((*shape[:lead], *map(math.prod, axes)))  # -1 fails where one is 0


class Maps:
    """Push and pull of an operation with one result, by some of its inputs."""

    def __init__(self, call: Call, own: Operation, gradients: Reverse, by: tuple[int, ...]) -> None:
        self.call, self.own, self.gradients, self.by = call, own, gradients, by
        self.push = primitive(f"{own.function}_push", self._push, self._pushed)
        self.pull = primitive(f"{own.function}_pull", self._pull, self._pulled)
        ad.primitive_transposes[self.push] = self._push_transposed
        ad.primitive_transposes[self.pull] = self._pull_transposed
        for map_, formed in ((self.push, self._push), (self.pull, self._formed_pull)):
            ad.primitive_jvps[map_] = _differentiated(formed)
            batching.primitive_batchers[map_] = self._batched(map_, formed)

    def _split(self, arrays: Sequence[Any]) -> tuple[Arrays, Arrays]:
        count = len(self.own.inputs)
        return tuple(arrays[:count]), tuple(arrays[count:])

    def _lead(self, arrays: Sequence[Any]) -> tuple[int, ...]:
        moving = self._split(arrays)[1]
        ranks = [len(x.shape) for x in self.own.inputs]
        last = [len(self.own.inputs[k].tangent) for k in self.by]
        ranks += last if len(moving) == len(last) else [len(self.own.outputs[0].tangent)]
        leads = (x.shape[: x.ndim - rank] for x, rank in zip(arrays, ranks, strict=True))
        return jnp.broadcast_shapes(*leads)

    def _partials(self, inputs: Arrays) -> list[Any]:
        found = Partials(jnp, self.call, self.own, tuple(map(jnp.asarray, inputs)))
        return [found.by(self.own.inputs[k])[0] for k in self.by]

    def _push(self, *arrays: Any) -> list[Any]:
        inputs, tangents = self._split(arrays)
        rows, total = len(self.own.outputs[0].tangent), None
        for k, partial, tangent in zip(self.by, self._partials(inputs), tangents, strict=True):
            part = contracted(partial, tangent, rows, len(self.own.inputs[k].tangent))
            total = part if total is None else total + part
        return [total]

    def _pushed(self, *arrays: Any) -> list[tuple[int, ...]]:
        return [(*self._lead(arrays), *self.own.outputs[0].tangent)]

    def _pull(self, *arrays: Any) -> list[Any]:
        inputs, (weights,) = self._split(arrays)
        found = self.call(self.gradients.operation, self.gradients.given(inputs, self.own, weights))
        return [found[self.gradients.blocks[k]] for k in self.by]

    def _formed_pull(self, *arrays: Any) -> list[Any]:
        inputs, (weights,) = self._split(arrays)
        rows, found = len(self.own.outputs[0].tangent), []
        for k, partial in zip(self.by, self._partials(inputs), strict=True):
            tangent = self.own.inputs[k].tangent
            matrix = _matrix(partial, rows, len(tangent))
            row = weights.reshape((*weights.shape[: weights.ndim - rows], matrix.shape[-2]))
            product = jnp.einsum("...i,...ij->...j", row, matrix)
            found.append(product.reshape((*product.shape[:-1], *tangent)))
        return found

    def _pulled(self, *arrays: Any) -> list[tuple[int, ...]]:
        lead = self._lead(arrays)
        return [(*lead, *self.own.inputs[k].tangent) for k in self.by]

    def _push_transposed(self, weights: Sequence[Any], *arrays: Any) -> list[Any]:
        inputs, tangents = self._split(arrays)
        found = self.pull.bind(*inputs, weights[0])
        gradients = (
            _summed(x, t.aval.shape) if ad.is_undefined_primal(t) else None
            for x, t in zip(found, tangents, strict=True)
        )
        return [*(None for _ in inputs), *gradients]

    def _pull_transposed(self, changes: Sequence[Any], *arrays: Any) -> list[Any]:
        inputs, (weights,) = self._split(arrays)
        (total,) = self.push.bind(*inputs, *map(ad.instantiate_zeros, changes))
        return [*(None for _ in inputs), _summed(total, weights.aval.shape)]

    def _batched(self, map_: Primitive, formed: Callable[..., Any]) -> Callable[..., Any]:
        def rule(arrays: Sequence[Any], axes: Sequence[Any]) -> tuple[Any, Any]:
            if all(axis is None for axis in self._split(axes)[0]):
                results = jax.vmap(formed, axes)(*arrays)
            else:
                results = map_.bind(*map(to_front, arrays, axes))
            return results, [0] * len(results)

        return rule


def primitive(
    name: str, run: Callable[..., Any], shapes: Callable[..., list[tuple[int, ...]]]
) -> Primitive:
    """A primitive with several results, of the type of its first operand."""
    made = Primitive(name)
    made.multiple_results = True
    made.def_impl(jax.jit(run))
    made.def_abstract_eval(
        lambda *arrays: [ShapedArray(shape, arrays[0].dtype) for shape in shapes(*arrays)]
    )
    mlir.register_lowering(made, mlir.lower_fun(run, multiple_results=True))
    return made


def _differentiated(formed: Callable[..., Any]) -> Callable[..., Any]:
    """The rule for changes of all operands; of those that do not change nothing is computed."""

    def rule(arrays: Sequence[Any], changes: Sequence[Any]) -> tuple[Any, Any]:
        moving = [k for k, change in enumerate(changes) if type(change) is not ad.Zero]

        def run(*some: Any) -> Any:
            given = dict(zip(moving, some, strict=True))
            return formed(*(given.get(k, array) for k, array in enumerate(arrays)))

        return jax.jvp(run, [arrays[k] for k in moving], [changes[k] for k in moving])

    return rule


def to_front(array: Any, axis: int | None) -> Any:
    """With the mapped axis first, of size 1 where it is not mapped."""
    return jnp.expand_dims(array, 0) if axis is None else jnp.moveaxis(array, axis, 0)


def _summed(array: Any, shape: Sequence[int]) -> Any:
    """The sum over leading axes along which what is asked for was shared."""
    axes = tuple(k for k, n in enumerate(shape) if n != array.shape[k])
    return array.sum(axes, keepdims=True) if axes else array
