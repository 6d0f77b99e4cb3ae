"""Derivatives along directions of what is computed in Python for coupled models.

A number x that changes by d along the direction is the complex number

    (1)  x + i h d,   h = 2^-200.

NumPy's arithmetic does the rest: h^2 is lost beside 1, so that the imaginary part of a result is h
times its derivative, exact to rounding. For a model that carries a direction
(`CoupledModel.carrying`), compiled functions take and give such numbers: their derivatives are
those of the kernels. Coordinates change by their rates; with the rows E_j of `coordinate_rates`
along each rate, which are orthogonal, these belong to the tangent vector

    (2)  v_j = E_j . dq / |E_j|^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from jounce import _core
from jounce._types import AnyArray, Array

__all__ = ["along", "carried_call", "carrying_derivative", "with_derivative"]

_STEP = 2.0**-200

_signature = cache(_core.signature)
_coordinate_rates: Callable[..., Array] = _core.raw("coordinate_rates", inputs="q v")


def along(name: str, compute: Callable[..., Any]) -> Callable[..., tuple[Array, ...]]:
    """The kernel of the derivative of one that a function in Python computes.

    The function sees one axis of states at most, so that leading axes of directions, states and
    models agree.
    """
    axes = _signature(name)["input_axes"]
    outputs = _signature(name)["output_axes"].values()

    def run(
        model: Any, *, threads: int, d_model: Array | None = None, **given: Any
    ) -> tuple[Array, ...]:
        ranks = {key: len(own) for key, own in axes.items()}
        ranks |= {f"d_{key}": len(_tangent_axes(own)) for key, own in axes.items()}
        known = {key: given.pop(key) for key in ranks if given.get(key) is not None}
        leads = [x.shape[: x.ndim - ranks[key]] for key, x in known.items()]
        lead = np.broadcast_shapes(*leads, () if d_model is None else d_model.shape[:-1])
        rows = {key: _rows(x, lead, ranks[key]) for key, x in known.items()}
        moving = model.carrying(None if d_model is None else _rows(d_model, lead, 1))
        for key in axes.keys() & rows.keys():
            d = rows.get(f"d_{key}")
            if d is not None or axes[key]:
                given[key] = _joined(model, axes[key], rows[key], d)
            else:
                given[key] = rows[key]
        found = compute(moving, **given, threads=threads)
        parts = _split(model, _as_tuple(found), outputs)
        return tuple(x.reshape(_full_shape(lead, x, own)) for x, own in parts)

    return run


def carried_call(
    call: Callable[..., Any], name: str, model: Any, given: dict[str, Any]
) -> AnyArray | tuple[AnyArray, ...]:
    """Compute a kernel for a model that carries a direction.

    Args:
        call: computes any kernel for coupled models, of its name, the model and the arguments.
        name: of the kernel.
        model: what `CoupledModel.carrying` returns.
        given: the arguments by name, where arrays may be complex.
    """
    axes, bare = _signature(name)["input_axes"], model.bare
    values = {key: x for key, x in given.items() if x is not None}
    for key in axes.keys() & values.keys():
        if np.iscomplexobj(values[key]):
            values[key], d = _parts(bare, axes[key], values[key])
            if d.any():
                values[f"d_{key}"] = d
    if model.direction is not None:
        values["d_model"] = model.direction
    if any(key.startswith("d_") for key in values):
        found = _as_tuple(call(f"{name}_jvp", bare, values))
        outputs = list(_signature(f"{name}_jvp")["output_axes"].values())
        half = len(found) // 2
        parts = zip(found[:half], found[half:], outputs[:half], outputs[half:], strict=True)
        joined = tuple(_joined(bare, own if own != by else [], x, d) for x, d, own, by in parts)
    else:
        joined = tuple(np.asarray(x, complex) for x in _as_tuple(call(name, bare, values)))
    return joined[0] if len(joined) == 1 else joined


def _tangent_axes(own: list[str]) -> list[str]:
    return ["nv" if axis == "nq" else axis for axis in own]


def _joined(model: Any, own: list[str], x: Array, d: Array | None) -> AnyArray:
    """Equation (1); the derivative of coordinates is a tangent vector."""
    if d is None:
        return np.asarray(x, complex)
    if own[-1:] == ["nq"]:
        d = _coordinate_rates(model.independent, x, d)
    return x + 1j * (_STEP * d)


def _parts(model: Any, own: list[str], x: AnyArray) -> tuple[Array, Array]:
    """A value and its derivative, of coordinates by equation (2)."""
    value, d = np.ascontiguousarray(x.real), x.imag / _STEP
    if own[-1:] == ["nq"]:
        E = _coordinate_rates(model.independent, value[..., None, :], np.eye(model.nv))
        d = (E @ d[..., None])[..., 0] / (E * E).sum(-1)
    return value, d


def _split(model: Any, found: tuple[AnyArray, ...], outputs: Any) -> list[tuple[Array, list[str]]]:
    """Values, then derivatives, each with what its axes count."""
    both = [(_parts(model, own, x), own) for x, own in zip(found, outputs, strict=True)]
    values = [(value, own) for (value, _), own in both]
    return values + [(d, _tangent_axes(own)) for (_, d), own in both]


def with_derivative(model: Any, counts: str, x: Array, d: Array) -> AnyArray:
    """Numbers that change by d, which is a tangent vector if the last axis counts coordinates.

    Args:
        model: the robot.
        counts: what the last axis counts: "nq" or else.
        x: the numbers.
        d: their derivatives.
    """
    return _joined(model, [counts], x, d)


def carrying_derivative(model: Any, counts: str, x: AnyArray) -> Array:
    """The derivatives of such numbers."""
    return _parts(model, [counts], x)[1]


def _rows(x: Array, lead: tuple[int, ...], own: int) -> Array:
    """An array with all leading axes, several of them merged to one."""
    shape = x.shape[x.ndim - own :]
    merged = lead if len(lead) < 2 else (math.prod(lead),)
    return np.broadcast_to(x, (*lead, *shape)).reshape((*merged, *shape))


def _full_shape(lead: tuple[int, ...], x: Array, own: list[str]) -> tuple[int, ...]:
    return (*lead, *x.shape[x.ndim - len(own) :])


def _as_tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)
