"""Which operation is the derivative of which.

Where a kernel has its partial derivatives in closed form, an operation of that kernel gives them
for all inputs. Otherwise the directional derivative (``<kernel>_jvp``) along the axes of an input
gives them. Either operation has derivatives in turn: where its kernel has a directional one, or a
second one (``<kernel>_second``). A few kernels have the gradients of a weighted result
(``<kernel>_vjp``), in less time than partial derivatives take.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jounce.errors import ArgumentError
from jounce.interop._bridge import entry
from jounce.interop._bridge.functions import Argument, Operation, operation

__all__ = ["Closed", "Partials", "Reverse", "closed_forms", "directional", "reverse"]

_CLOSED = {
    "jacobian": "jacobian_first_derivatives",
    "jacobian_first_derivatives": "jacobian_second_derivatives",
    "potential_energy": "gravity_forces",
    "center_of_mass": "center_of_mass_jacobian",
    "gravity_forces": "inverse_dynamics_derivatives",
    "bias_forces": "inverse_dynamics_derivatives",
    "bias_acceleration": "body_acceleration_derivatives",
}
"""Kernels whose derivatives have another name than ``<kernel>_derivatives``."""

_ZEROS = {
    "gravity_forces": ("v", "a"),
    "bias_forces": ("a",),
    "bias_acceleration": ("a",),
}
"""Inputs of the derivatives that the function itself does not have, and that are zero for it."""


_RENAMED = {"integrate": {"dv": "dv"}}
"""Derivatives by an input x that are not called dx."""


class Closed(NamedTuple):
    """Derivatives by one input, among the results of an operation."""

    operation: Operation
    """Takes the same inputs, and zeros for those that it has besides."""
    blocks: tuple[int, ...]
    """For each output of the function, which result: its shape and then that of the tangent."""


def closed_forms(own: Operation) -> dict[str, Closed]:
    """Derivatives in closed form, by input."""
    if own.partials is None:
        own.partials = _closed_forms(own)
    return own.partials


def _closed_forms(own: Operation) -> dict[str, Closed]:
    name = _CLOSED.get(own.kernel, f"{own.kernel}_derivatives")
    if not entry.kernel_address(name):
        return {}
    given = {x.name for x in own.inputs}
    ins, outs = entry.shapes(name, own.model, own.options.order)
    given |= set(_ZEROS.get(own.kernel, ()))
    if not given <= set(ins):
        return {}
    derivatives = operation(
        own.function, name, own.model, tuple(x for x in ins if x in given), own.options
    )
    found = {}
    renamed = _RENAMED.get(own.kernel, {})
    for x in own.inputs:
        by = renamed.get(x.name, f"d{x.name}")
        single = len(outs) == len(own.inputs) == len(own.outputs) == 1
        named = [
            [at for at, key in enumerate(outs) if single or key in (by, f"{y.name}_{by}")]
            for y in own.outputs
        ]
        shapes = list(outs.values())
        fits = all(
            len(at) == 1 and shapes[at[0]] == (*y.tangent, *x.tangent)
            for at, y in zip(named, own.outputs, strict=True)
        )
        if fits:
            found[x.name] = Closed(derivatives, tuple(at[0] for at in named))
    return found


def directional(own: Operation, name: str) -> tuple[Operation, int]:
    """The derivative along changes of one input, and after how many results it comes.

    Raises:
        ArgumentError: the core has none.
    """
    names = tuple(x.name for x in own.inputs)
    kernel, change, skipped = f"{own.kernel}_jvp", f"d_{name}", len(own.outputs)
    if own.kernel.endswith("_jvp"):
        kernel, change, skipped = f"{own.kernel.removesuffix('_jvp')}_second", f"e_{name}", 0
    if not entry.kernel_address(kernel) or name.startswith("d_"):
        raise ArgumentError(
            f"{own.function}() has no derivatives of this order: {own.kernel} cannot be "
            f"differentiated by {name}"
        )
    return operation(own.function, kernel, own.model, (*names, change), own.options), skipped


class Reverse(NamedTuple):
    """Gradients of a weighted result by all inputs, without their partial derivatives."""

    operation: Operation
    """Takes the same inputs, and the weights."""
    blocks: tuple[int, ...]
    """For each input of the function, which result."""

    def given(self, arrays: Sequence[Any], own: Operation, weights: Any) -> tuple[Any, ...]:
        """What the operation takes, in its order."""
        named = {x.name: array for x, array in zip(own.inputs, arrays, strict=True)}
        return tuple(named.get(x.name, weights) for x in self.operation.inputs)


@functools.lru_cache(maxsize=4096)
def reverse(own: Operation) -> Reverse | None:
    """Gradients in O(n), where the core has a kernel for them."""
    name = f"{own.kernel}_vjp"
    if not entry.kernel_address(name):
        return None
    names = [x.name for x in own.inputs]
    ins, outs = entry.shapes(name, own.model, own.options.order)
    given = tuple(x for x in ins if x in {*names, "weights"})
    found = operation(own.function, name, own.model, given, own.options)
    return Reverse(found, tuple(list(outs).index(f"by_{x}") for x in names))


class Partials:
    """Partial derivatives at some inputs, as arrays of a library like NumPy.

    What gives several of them is computed once. All inputs have the same number of leading axes.

    Args:
        library: the module with `zeros`, `eye` and `moveaxis`.
        call: computes an operation from its inputs.
        own: what is differentiated.
        arrays: its inputs.
    """

    def __init__(
        self,
        library: Any,
        call: Callable[[Operation, tuple[Any, ...]], tuple[Any, ...]],
        own: Operation,
        arrays: tuple[Any, ...],
    ) -> None:
        self.library, self.call, self.own, self.arrays = library, call, own, arrays
        self.lead = arrays[0].ndim - len(own.inputs[0].shape)
        self.known: dict[int, tuple[Any, ...]] = {}

    def by(self, x: Argument) -> list[Any]:
        """Derivatives of all results by one input: the axes of its tangents come last."""
        closed = closed_forms(self.own).get(x.name)
        if closed is None:
            return self._along_axes(x)
        found = self.known.get(id(closed.operation))
        if found is None:
            given = {a.name: array for a, array in zip(self.own.inputs, self.arrays, strict=True)}
            every = (
                given[a.name] if a.name in given else self._zeros(a.shape)
                for a in closed.operation.inputs
            )
            found = self.known[id(closed.operation)] = self.call(closed.operation, tuple(every))
        return [found[at] for at in closed.blocks]

    def _zeros(self, shape: tuple[int, ...]) -> Any:
        return self.library.zeros((*(1,) * self.lead, *shape), dtype=self.arrays[0].dtype)

    def _along_axes(self, x: Argument) -> list[Any]:
        """The directional derivative along each axis of the tangents, as one batch."""
        along, skipped = directional(self.own, x.name)
        lead, count = self.lead, int(np.prod(x.tangent, dtype=int))
        axes = self.library.eye(count, dtype=self.arrays[0].dtype)
        given = [array[(slice(None),) * lead + (None,)] for array in self.arrays]
        given.append(axes.reshape((*(1,) * lead, count, *x.tangent)))
        changes = self.call(along, tuple(given))[skipped:]
        return [
            self.library.moveaxis(change, lead, -1).reshape(
                (*change.shape[:lead], *change.shape[lead + 1 :], *x.tangent)
            )
            for change in changes
        ]
