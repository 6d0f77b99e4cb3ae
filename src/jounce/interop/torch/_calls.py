"""Calls of operations inside PyTorch, with exact derivatives of first and second order."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch.autograd import forward_ad

from jounce.errors import ArgumentError
from jounce.interop._bridge.digest import digest
from jounce.interop._bridge.evaluate import evaluate
from jounce.interop._bridge.functions import Function, Operation
from jounce.interop._bridge.partials import Partials, Reverse, reverse
from jounce.interop._bridge.tangents import from_tangent, layout, to_tangent

__all__ = ["call", "call_in_graph", "check_device", "is_plain", "known_to_graphs"]

Tensors = tuple[torch.Tensor, ...]
Shapes = tuple[tuple[str, tuple[int, ...]], ...]
_DOUBLE = torch.float64

_operations: dict[str, Operation] = {}
"""By the digests that stand for them in graphs that PyTorch compiles, and keeps in files."""
_digests: dict[Operation, str] = {}


def _digest(own: Operation) -> str:
    """What stands for an operation, which is known by it then."""
    found = _digests.get(own)
    if found is None:
        found = _digests[own] = digest(own).hex()
        _operations[found] = own
    return found


def _operation(key: str) -> Operation:
    """What a digest stands for."""
    own = _operations.get(key)
    if own is None:
        raise ArgumentError(
            "this graph was made in another process and calls a function of jounce that is not "
            "known here yet: call it once with its model before the graph runs"
        )
    return own


def call(own: Operation, arrays: Tensors) -> Tensors:
    """Results of an operation; all arrays have the same number of leading axes."""
    if _is_undisturbed() and not _needs_gradient(arrays):
        return tuple(_run(arrays, own))
    _refuse_nested_forward_mode(own)
    results: Tensors = _Call.apply(own, *arrays)
    return results


@torch.compiler.assume_constant_result
def known_to_graphs(
    function: Function, model: Any, shapes: Shapes, threads: int, names: Any, *options: Any
) -> tuple[str, tuple[str, ...], tuple[int, ...]]:
    """Which operation a graph calls: its digest, the names of its inputs and their ranks.

    PyTorch runs this while it traces, where everything else is a record of what to do later.
    """
    if any(isinstance(x, (np.ndarray, torch.Tensor)) for x in options):
        raise ArgumentError(
            f"{function.name}(): inside torch.compile a mask is a list, whose content the graph "
            "holds, not an array, whose content may change: mask.tolist()"
        )
    own = function.operation(model, dict(shapes), dict(zip(names, options, strict=True)), threads)
    return _digest(own), tuple(x.name for x in own.inputs), tuple(len(x.shape) for x in own.inputs)


def call_in_graph(key: str, arrays: Tensors) -> Tensors:
    """The results as one node of a graph that PyTorch compiles."""
    return tuple(_compiled_run(list(arrays), key))


def is_plain(args: tuple[Any, ...]) -> bool:
    """Whether these are tensors of 64 bits, and names, of which only the values matter."""
    if torch.compiler.is_compiling() or not _is_undisturbed():
        return False
    for x in args:
        if type(x) is torch.Tensor:
            if x.dtype is not _DOUBLE or x.requires_grad or not x.is_cpu or x.is_neg():
                return False
        elif type(x) is not str:
            return False
    return True


def _is_undisturbed() -> bool:
    """Whether nobody maps, or differentiates in forward mode."""
    return forward_ad._current_level < 0 and torch._C._functorch.peek_interpreter_stack() is None


def _needs_gradient(arrays: Any) -> bool:
    return torch.is_grad_enabled() and any(x.requires_grad for x in arrays)


def _is_final(arrays: Tensors, weights: Any) -> bool:
    """Whether these weights are alone at the state, and nobody differentiates their gradient."""
    if weights is None or not _is_undisturbed() or _needs_gradient((*arrays, weights)):
        return False
    return not torch._C._functorch.is_legacy_batchedtensor(weights)  # of is_grads_batched=True


def _refuse_nested_forward_mode(own: Operation) -> None:
    """PyTorch lets the rule of a function see one forward mode, and drops terms of an outer one."""
    stack = torch._C._functorch.get_interpreter_stack() or []
    if sum(level.key() == torch._C._functorch.TransformType.Jvp for level in stack) > 1:
        raise ArgumentError(
            f"{own.function}(): PyTorch does not nest forward mode in forward mode through such "
            "functions; use torch.func.hessian, jacfwd of jacrev, or jacrev of either"
        )


def _run(arrays: Tensors | list[torch.Tensor], own: Operation) -> list[torch.Tensor]:
    """Compute, in 64 bits, on the memory of the arrays where they have that."""
    kind = arrays[0].dtype
    if kind is _DOUBLE:  # without calls that do nothing, which cost more than small kernels
        given = [_memory(x.detach() if x.requires_grad else x) for x in arrays]
        return [torch.from_numpy(np.asarray(x)) for x in evaluate(own, given)]
    given = [x.detach().to(torch.float64).numpy() for x in arrays]
    results = evaluate(own, given)
    return [torch.from_numpy(np.asarray(result)).to(kind) for result in results]


def _memory(array: torch.Tensor) -> Any:
    """What lies where the tensor is, unless its numbers are the negatives of that."""
    return (array.resolve_neg() if array.is_neg() else array).numpy()


class _Call(torch.autograd.Function):
    """An operation that reverse mode, forward mode and `vmap` know."""

    @staticmethod
    def forward(own: Operation, *arrays: torch.Tensor) -> Tensors:
        return tuple(_run(arrays, own))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensors) -> None:
        ctx.own = inputs[0]
        ctx.count = len(inputs) - 1
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs[1:], *output)
        ctx.save_for_forward(*inputs[1:], *output)

    @staticmethod
    def backward(ctx: Any, *weights: Any) -> tuple[Any, ...]:
        saved, count = ctx.saved_tensors, ctx.count
        needed = ctx.needs_input_grad[1:]
        return None, *_pulled(ctx.own, saved[:count], saved[count:], weights, needed)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensors:
        saved, count = ctx.saved_tensors, ctx.count
        return _pushed(ctx.own, saved[:count], saved[count:], tangents[1:])

    @staticmethod
    def vmap(info: Any, in_dims: Any, own: Operation, *arrays: torch.Tensor) -> tuple[Tensors, Any]:
        results = _Call.apply(own, *_to_front(arrays, in_dims[1:], info.batch_size))
        return results, (0,) * len(results)


def _to_front(arrays: Any, axes: Any, size: int) -> list[torch.Tensor]:
    """With the mapped axis first, of size 1 where it is not mapped."""
    moved = [
        x.unsqueeze(0) if at is None else x.movedim(at, 0)
        for x, at in zip(arrays, axes, strict=True)
    ]
    if all(x.shape[0] == 1 for x in moved):  # also where all are mapped with one element
        moved[0] = moved[0].expand(size, *moved[0].shape[1:])
    return moved


def _matrix(partial: torch.Tensor, rows: int, columns: int) -> torch.Tensor:
    """Partial derivatives as matrices."""
    lead = partial.ndim - rows - columns
    count = int(np.prod(partial.shape[lead : lead + rows], dtype=int))
    size = int(np.prod(partial.shape[lead + rows :], dtype=int))
    return partial.reshape((*partial.shape[:lead], count, size))


def _pulled(
    own: Operation, arrays: Tensors, results: Tensors, weights: tuple[Any, ...], needed: Any
) -> list[torch.Tensor | None]:
    """Gradients by the inputs of the weighted results."""
    at_once = reverse(own)
    if at_once and _is_final(arrays, weights[0]):
        return _pulled_at_once(own, at_once, arrays, weights[0], needed)
    pieces, partials = layout(own.model), Partials(torch, call, own, arrays)
    mine = [
        w if w is None or not y.is_configuration else _transposed(from_tangent, pieces, result, w)
        for y, result, w in zip(own.outputs, results, weights, strict=True)
    ]
    gradients: list[torch.Tensor | None] = []
    for x, array, wanted in zip(own.inputs, arrays, needed, strict=True):
        total = None
        for y, w, partial in zip(own.outputs, mine, partials.by(x) if wanted else (), strict=False):
            if w is None:
                continue
            lead = w.ndim - len(y.tangent)
            matrix = _matrix(partial, len(y.tangent), len(x.tangent))
            flat = w.reshape((*w.shape[:lead], 1, matrix.shape[-2]))
            part = (flat @ matrix).reshape((*w.shape[:lead], *x.tangent))
            total = part if total is None else total + part
        if total is not None and x.is_configuration:
            total = _transposed(to_tangent, pieces, array, total)
        gradients.append(None if total is None else total.sum_to_size(array.shape))
    return gradients


def _pulled_at_once(
    own: Operation, gradients: Reverse, arrays: Tensors, weights: torch.Tensor, needed: Any
) -> list[torch.Tensor | None]:
    """The same where nobody differentiates further, by the kernel that forms no derivatives."""
    found = call(gradients.operation, gradients.given(arrays, own, weights))
    pieces = layout(own.model)
    results: list[torch.Tensor | None] = []
    for x, array, at, wanted in zip(own.inputs, arrays, gradients.blocks, needed, strict=True):
        if not wanted:
            results.append(None)
            continue
        by = found[at]
        if x.is_configuration:
            by = _transposed(to_tangent, pieces, array, by)
        results.append(by.sum_to_size(array.shape))
    return results


def _transposed(mapping: Any, pieces: Any, q: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """The transposed of a linear map between coordinates and tangents, at q, times w."""
    size = q.shape[-1] if mapping is to_tangent else pieces[-1].v.stop
    axes = torch.eye(size, dtype=q.dtype).reshape((size, *(1,) * (q.ndim - 1), size))
    columns = mapping(torch, pieces, q.unsqueeze(0), axes)  # (size, ..., other size)
    return (columns * w.unsqueeze(0)).sum(-1).movedim(0, -1)


def _pushed(own: Operation, arrays: Tensors, results: Tensors, tangents: Any) -> Tensors:
    """Changes of the results along changes of the inputs."""
    pieces, partials = layout(own.model), Partials(torch, call, own, arrays)
    changes: list[Any] = [torch.zeros_like(result) for result in results]
    begun = [False] * len(results)
    for x, array, tangent in zip(own.inputs, arrays, tangents, strict=True):
        if tangent is None:
            continue
        if x.is_configuration:
            tangent = to_tangent(torch, pieces, array, tangent)
        lead = tangent.ndim - len(x.tangent)
        for k, (y, partial) in enumerate(zip(own.outputs, partials.by(x), strict=True)):
            matrix = _matrix(partial, len(y.tangent), len(x.tangent))
            column = tangent.reshape((*tangent.shape[:lead], matrix.shape[-1], 1))
            part = (matrix @ column).reshape((*matrix.shape[:-2], *y.tangent))
            changes[k] = changes[k] + part if begun[k] else part
            begun[k] = True
    for k, (y, result) in enumerate(zip(own.outputs, results, strict=True)):
        if y.is_configuration and begun[k]:
            changes[k] = from_tangent(torch, pieces, result, changes[k])
    return tuple(changes)


@torch.library.custom_op("jounce::run", mutates_args=())
def _compiled_run(arrays: list[torch.Tensor], key: str) -> list[torch.Tensor]:
    """An operation as a node of a graph that PyTorch compiles."""
    _refuse_forward_mode(key)
    return _run(arrays, _operation(key))


def _refuse_forward_mode(key: str) -> None:
    """PyTorch takes the derivative of such a node for zero in forward mode, and says nothing."""
    if forward_ad._current_level >= 0:
        raise ArgumentError(
            f"{_operation(key).function}() has no forward-mode derivative inside "
            "torch.compile: use reverse mode, or call it outside"
        )


@_compiled_run.register_fake
def _(arrays: list[torch.Tensor], key: str) -> list[torch.Tensor]:
    _refuse_forward_mode(key)
    own = _operation(key)
    leads = (x.shape[: x.ndim - len(a.shape)] for x, a in zip(arrays, own.inputs, strict=True))
    lead = torch.broadcast_shapes(*leads)
    return [arrays[0].new_empty((*lead, *y.shape)) for y in own.outputs]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: list[torch.Tensor]) -> None:
    ctx.key = inputs[1]
    ctx.count = len(inputs[0])
    ctx.save_for_backward(*inputs[0], *output)


def _compiled_backward(ctx: Any, weights: list[Any]) -> tuple[Any, None]:
    saved, count = ctx.saved_tensors, ctx.count
    arrays, results = list(saved[:count]), list(saved[count:])
    given = [torch.zeros_like(y) if w is None else w for y, w in zip(results, weights, strict=True)]
    needed = [x.requires_grad for x in arrays]
    found = iter(_compiled_pull(arrays, results, given, ctx.key, needed))
    return [next(found) if wanted else None for wanted in needed], None


@torch.library.custom_op("jounce::pull", mutates_args=())
def _compiled_pull(
    arrays: list[torch.Tensor],
    results: list[torch.Tensor],
    weights: list[torch.Tensor],
    key: str,
    needed: list[bool],
) -> list[torch.Tensor]:
    """Gradients by the inputs that need them, as one node.

    Of several nodes PyTorch would move those that no weights enter to the forward graph, and then
    take second derivatives for zero that it refuses otherwise.
    """
    with torch.no_grad():
        found = _pulled(_operation(key), tuple(arrays), tuple(results), tuple(weights), needed)
    return [x.contiguous() for x in found if x is not None]


@_compiled_pull.register_fake
def _(
    arrays: list[torch.Tensor],
    results: list[torch.Tensor],
    weights: list[torch.Tensor],
    key: str,
    needed: list[bool],
) -> list[torch.Tensor]:
    return [x.new_empty(x.shape) for x, wanted in zip(arrays, needed, strict=True) if wanted]


_compiled_run.register_autograd(_compiled_backward, setup_context=_keep)


@_compiled_run.register_vmap
def _(
    info: Any, in_dims: Any, arrays: list[torch.Tensor], key: str
) -> tuple[list[torch.Tensor], list[int]]:
    results = _compiled_run(_to_front(arrays, in_dims[0], info.batch_size), key)
    return results, [0] * len(results)


def check_device(name: str, array: torch.Tensor) -> None:
    """Refuse what is not in the memory of the processor."""
    if array.device.type != "cpu":
        raise ArgumentError(f"{name} must be on the CPU, got {array.device}: use {name}.cpu()")
