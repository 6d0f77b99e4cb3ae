"""The functions of jounce for tensors of PyTorch: with `backward`, `torch.func`, `torch.compile`.

They have the names and the arguments of those of the package, without `out`::

    import torch, jounce as jc
    from jounce.interop import torch as jtorch

    q.requires_grad_()
    jtorch.forward_dynamics(model, q, v, tau).square().sum().backward()

Tensors are on the CPU; those of 64 bits are used where they lie, those of 32 bits are converted
on the way in and out, and what is between is computed in 64 bits. Leading axes and
`torch.func.vmap` are one batch. Derivatives are the exact partial derivatives of the core, of first
and second order for all functions, in reverse and in forward mode.

Derivatives by q are those by its components, as in `jounce.interop.jax`: to optimize over
rotations, differentiate through ``integrate(model, q, dv)`` at dv = 0.

Inside `torch.compile` the functions are one node of the graph each, with reverse mode only.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jounce._core.arrays import refuse_masked
from jounce.errors import ArgumentError, MissingExtraError

try:
    import torch
except ImportError:
    raise MissingExtraError(
        "jounce.interop.torch needs PyTorch: pip install 'jounce[torch]'"
    ) from None

from jounce.interop._bridge.functions import Function, dressed, functions
from jounce.interop.torch._calls import (
    call,
    call_in_graph,
    check_device,
    is_plain,
    known_to_graphs,
)

_NOTE = """For tensors of PyTorch; the rest is as in the function of `jounce` of this name.
`threads` is the number of threads for a batch, 0 uses all cores. There is no `out`."""


def _bridged(function: Function) -> Callable[..., Any]:
    """A function of the package for tensors."""
    known: set[tuple[Any, ...]] = set()

    def run(model: Any, *args: Any, threads: int = 1, **kwargs: Any) -> Any:
        plain = not kwargs and type(threads) is int and threads == 1 and is_plain(args)
        key = (id(model), *(x if type(x) is str else x.shape for x in args)) if plain else ()
        if plain and key in known:
            return _plainly(function, model, args)
        given, options = function.split(model, args, kwargs)
        arrays = _as_tensors(function.name, given)
        if torch.compiler.is_compiling():
            results = _in_graph(function, model, arrays, options, threads)
        else:
            shapes = {name: tuple(x.shape) for name, x in arrays.items()}
            own = function.operation(model, shapes, options, threads)
            ranks = [len(x.shape) for x in own.inputs]
            results = call(own, _lifted([arrays[x.name] for x in own.inputs], ranks))
        if plain:  # its operation keeps the model
            known.add(key)
        return function.result(*results) if function.result else results[0]

    return dressed(run, function, __name__, _NOTE, threads=1)


def _in_graph(
    function: Function,
    model: Any,
    arrays: dict[str, torch.Tensor],
    options: dict[str, Any],
    threads: int,
) -> tuple[torch.Tensor, ...]:
    """A call as a node of a graph, whose batch may be of any size."""
    shapes = tuple((name, _trailing(function, name, x)) for name, x in arrays.items())
    key, inputs, ranks = known_to_graphs(
        function, model, shapes, threads, tuple(options), *map(_constant, options.values())
    )
    return call_in_graph(key, _lifted([arrays[name] for name in inputs], ranks))


def _constant(option: Any) -> Any:
    """A number that a graph holds, not one that it takes."""
    return operator.index(option) if isinstance(option, int) else option


def _trailing(function: Function, name: str, array: torch.Tensor) -> tuple[int, ...]:
    """The axes of one state, as numbers also in graphs for any size."""
    return tuple(map(operator.index, array.shape[max(0, array.ndim - function.ranks[name]) :]))


def _lifted(arrays: list[torch.Tensor], ranks: Sequence[int]) -> tuple[torch.Tensor, ...]:
    """With as many leading axes each."""
    leads = [x.ndim - rank for x, rank in zip(arrays, ranks, strict=True)]
    most = max(leads)
    return tuple(
        x if lead == most else x[(None,) * (most - lead)]
        for x, lead in zip(arrays, leads, strict=True)
    )


def _plainly(function: Function, model: Any, args: tuple[Any, ...]) -> Any:
    """The package's own call on the memory of tensors, where nobody differentiates or maps."""
    found = function.original(model, *(x if type(x) is str else x.numpy() for x in args))
    if function.result:
        return function.result(*(torch.from_numpy(np.asarray(x)) for x in found))
    return torch.from_numpy(np.asarray(found))


_DOUBLE = torch.float64


def _as_tensors(name: str, given: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Tensors of one type, of 32 or 64 bits, on the CPU."""
    if all(type(x) is torch.Tensor and x.dtype is _DOUBLE and x.is_cpu for x in given.values()):
        return given
    tensors = {}
    kind = None
    for key, value in given.items():
        x = value if isinstance(value, torch.Tensor) else _tensor(key, value)
        check_device(key, x)
        if not isinstance(value, (int, float)) and x.is_floating_point():
            kind = x.dtype if kind is None else torch.promote_types(kind, x.dtype)
        elif x.is_complex():
            kind = x.dtype
        tensors[key] = x
    kind = torch.float64 if kind is None else kind
    if kind not in (torch.float32, torch.float64):
        raise ArgumentError(f"{name}() takes real numbers of 32 or 64 bits, got {kind}")
    return {key: x if x.dtype == kind else x.to(kind) for key, x in tensors.items()}


def _tensor(name: str, value: Any) -> torch.Tensor:
    """What is no tensor yet, as one."""
    if torch.compiler.is_compiling():
        return torch.as_tensor(value)
    refuse_masked(name, value)
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        raise ArgumentError(f"{name} must be numbers, got {value!r:.100}") from None


_functions = {name: _bridged(function) for name, function in functions().items()}
globals().update(_functions)
__all__ = list(_functions)


def __getattr__(name: str) -> Callable[..., Any]:
    raise AttributeError(f"module 'jounce.interop.torch' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
