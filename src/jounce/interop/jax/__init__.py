"""The functions of jounce for arrays of JAX: inside `jit`, `vmap`, `grad`, `scan`.

They have the names and the arguments of those of the package, without `out`::

    import jax, jounce as jc
    from jounce.interop import jax as jjax

    @jax.jit
    def energy(q, v):
        return jjax.kinetic_energy(model, q, v)

    jax.grad(energy)(q, v), jax.vmap(energy)(many_q, many_v)

The compiled kernels run inside XLA's computation, on the CPU, on arrays where they lie. `vmap` and
leading axes become one batch. Derivatives are the exact partial derivatives of the core, of first
and second order for all functions; forward and reverse mode both work.

Derivatives by q are those by its components: where q holds quaternions, of the function that takes
a quaternion of any length for the rotation it stands for. A step along such a gradient leaves the
unit sphere. To optimize over rotations, let the variable be a tangent vector and differentiate
through ``integrate(model, q, dv)`` at dv = 0; that derivative is the one of `jounce`.

Arrays of 64 bits need ``jax.config.update("jax_enable_x64", True)``: without it JAX makes 32 bits
of all that it is given, arrays of NumPy too, and says nothing. Those of 32 are converted on the way
in and out; what is between is computed in 64 bits.

A model, once used, stays in memory, as do computations that JAX compiled for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jounce._core.arrays import refuse_masked
from jounce.errors import ArgumentError, ArgumentTypeError, MissingExtraError

try:
    import jax
except ImportError:
    raise MissingExtraError("jounce.interop.jax needs JAX: pip install 'jounce[jax]'") from None

import jax.numpy as jnp

from jounce.interop._bridge.functions import Function, dressed, functions
from jounce.interop.jax._calls import call
from jounce.model._checks import check_choice

_NOTE = """For arrays of JAX; the rest is as in the function of `jounce` of this name. `threads` is
the number of threads for a batch, 0 uses all cores. With ``on_failure="nan"`` results of states
that have none are NaN instead of an error, and have no part in gradients. There is no `out`."""


def _bridged(function: Function) -> Callable[..., Any]:
    """A function of the package for arrays of JAX."""

    def run(
        model: Any, *args: Any, threads: int = 1, on_failure: str = "raise", **kwargs: Any
    ) -> Any:
        check_choice("on_failure", on_failure, ("raise", "nan"))
        given, options = function.split(model, args, kwargs)
        arrays = _as_arrays(function.name, given)
        shapes = {name: x.shape for name, x in arrays.items()}
        own = function.operation(model, shapes, options, threads, on_failure == "nan")
        ranks = {x.name: len(x.shape) for x in own.inputs}
        most = max(arrays[name].ndim - rank for name, rank in ranks.items())
        results = call(own, tuple(_lifted(arrays[n], most, rank) for n, rank in ranks.items()))
        return function.result(*results) if function.result else results[0]

    return dressed(run, function, __name__, _NOTE, threads=1, on_failure="raise")


def _as_arrays(name: str, given: dict[str, Any]) -> dict[str, jax.Array]:
    """Arrays of one type, of 32 or 64 bits."""
    for key, value in given.items():
        refuse_masked(key, value)
    try:
        arrays = {key: jnp.asarray(value) for key, value in given.items()}
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"{name}(): {error}") from None
    kind = jnp.result_type(*arrays.values())
    if jnp.issubdtype(kind, jnp.integer) or kind == jnp.bool_:
        kind = jnp.result_type(float)
    if kind not in (jnp.float32, jnp.float64):
        raise ArgumentError(f"{name}() takes real numbers of 32 or 64 bits, got {kind}")
    return {key: x if x.dtype == kind else x.astype(kind) for key, x in arrays.items()}


def _lifted(array: jax.Array, axes: int, rank: int) -> jax.Array:
    """With this number of leading axes."""
    more = axes - (array.ndim - rank)
    return array.reshape((*(1,) * more, *array.shape)) if more else array


_functions = {name: _bridged(function) for name, function in functions().items()}
globals().update(_functions)
__all__ = list(_functions)


def __getattr__(name: str) -> Callable[..., Any]:
    raise AttributeError(f"module 'jounce.interop.jax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
