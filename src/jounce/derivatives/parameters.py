"""Partial derivatives of any function of the core by parameters of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jounce import _core
from jounce._core.arrays import refuse_masked
from jounce._core.out import Shape, deliver, deliver_all
from jounce._core.shapes import KernelCall
from jounce._core.words import told_by
from jounce._types import Array
from jounce.derivatives.jvp import Jvp, jvp, plan_of
from jounce.dynamics import (
    forward_dynamics,
    inverse_dynamics,
    kinetic_energy,
    kinetic_energy_regressor,
    potential_energy,
    potential_energy_regressor,
    torque_regressor,
)
from jounce.model import Model
from jounce.model.parameters import Parameters, require_parameters

__all__ = ["parameter_derivatives"]

_by_inertias = _core.raw("forward_dynamics_by_inertias", "forward_dynamics", inputs="")
_FEW = 8
"""States below which the directions, not the states, fill the lanes."""
_MOST = 2**14
"""Nodes of the models that are made for directions at once."""


def parameter_derivatives(
    function: Callable[..., Any],
    model: Model,
    arguments: Sequence[Any] | Mapping[str, Any],
    parameters: Parameters,
    *,
    out: Any = None,
    threads: int = 1,
) -> Any:
    """Derivatives of a function of the core by parameters of the model; they are the last axis.

    Held fixed are the components of the arguments and the inertias in their body frames. Where
    the function is linear in inertial parameters, that is used: the torque regressor Y gives
    ``d tau = Y d pi``, and with it ``d a = -M^-1 Y(q, v, a) d pi`` (kim, Sec. 3). The derivative by
    others is taken along one parameter after the other, as `jvp` does.

    Args:
        function: any that `jvp` takes.
        model: the robot.
        arguments: those of the function after the model, in its order, or by name; leading axes are
            batch axes.
        parameters: by what to differentiate, see `jounce.parameters`.
        out: array, or tuple of arrays, to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., number of parameters): the shape of the function's result and one axis more; a named
        tuple of such arrays where the function returns a named tuple. Configurations change by
        tangent vectors.

    Raises:
        ArgumentError: as `jvp` does; or the parameters belong to another model.

    Examples:
        >>> import numpy as np, jounce as jc
        >>> arm = jc.models.chain(3)
        >>> q, v, tau = np.ones((3, 3))
        >>> p = jc.parameters(arm, "mass") + jc.parameters(arm, "placement", ["joint1"])
        >>> jc.parameter_derivatives(jc.forward_dynamics, arm, (q, v, tau), p).shape
        (3, 9)
    """
    require_parameters(parameters)
    plan = plan_of(function, composites=True)
    given = plan.by_name("arguments", arguments)
    parameters.require_model(model)
    if plan.by_parameters is not None:
        return plan.by_parameters(model, given, parameters, out, threads)
    if out is None:
        return _derivatives(function, model, given, parameters, threads)
    return _written(function, model, given, parameters, out, threads)


def _written(
    function: Callable[..., Any],
    model: Model,
    given: Mapping[str, Any],
    parameters: Parameters,
    out: Any,
    threads: int,
) -> Any:
    """The derivatives in the arrays of out."""
    plan = plan_of(function)
    arrays = {name: given[name] for name in plan.ranks if name in given}

    def compute(*some: Any) -> Any:
        own = {**given, **dict(zip(arrays, some, strict=True))}
        return _derivatives(function, model, own, parameters, threads)

    kernel = plan.derivative(given)
    call = KernelCall("parameter_derivatives", kernel, model, threads, **arrays)
    outputs, body = call.result_axes(), given.get("body")
    several = np.shape(body) if isinstance(body, (list, tuple, np.ndarray)) else ()
    own = tuple((*several, *x, len(parameters)) for x in outputs[len(outputs) // 2 :])
    if plan.result is None:
        return deliver(compute, out, own[0], call)
    return deliver_all(compute, out, own, call)


def _derivatives(
    function: Callable[..., Any],
    model: Model,
    given: Mapping[str, Any],
    parameters: Parameters,
    threads: int,
) -> Any:
    """The derivatives, told as such if they overflow."""
    ranks = plan_of(function).ranks
    with told_by("parameter_derivatives", _leading_axes(ranks, _arrays(ranks, given))):
        return _closed_form(function, model, given, parameters, threads)


def _closed_form(
    function: Callable[..., Any],
    model: Model,
    given: Mapping[str, Any],
    parameters: Parameters,
    threads: int,
) -> Any:
    """The derivatives, in closed form where the function is linear in the parameters."""
    plan = plan_of(function)
    linear = _LINEAR.get(function)
    inertial = parameters.are_inertial
    plan.demand(function, given)
    if linear is None or (len(parameters) and not inertial.any()):
        parameters.model_tangent(model, np.zeros(len(parameters)), given.get("body"))  # checks them
        return _along_each(function, model, given, parameters, threads)
    closed, others = (parameters, None) if inertial.all() else parameters.parts
    by_inertias: Array = closed.inertial_changes.times(linear(model, **given, threads=threads))
    if others is None:
        return by_inertias
    out = np.empty((*by_inertias.shape[:-1], len(parameters)))
    out[..., inertial] = by_inertias
    out[..., ~inertial] = _along_each(function, model, given, others, threads)
    return out


def _torques(model: Model, q: Any, v: Any, a: Any, f_ext: Any = None, **options: Any) -> Array:
    by_inertias = torque_regressor(model, q, v, a, **options)
    if f_ext is None:
        return by_inertias
    shape = inverse_dynamics(model, q, v, a, f_ext, **options).shape  # which says if f_ext fits
    return np.broadcast_to(by_inertias, (*shape, by_inertias.shape[-1]))


def _accelerations(model: Model, **given: Any) -> Array:
    by_inertias: Array = _by_inertias(model, **given)[1]
    return by_inertias


_LINEAR: dict[Any, Callable[..., Array]] = {
    inverse_dynamics: _torques,
    forward_dynamics: _accelerations,
    kinetic_energy: kinetic_energy_regressor,
    potential_energy: potential_energy_regressor,
}
"""Derivatives by all inertial parameters, of a model and arguments."""


def _along_each(
    function: Callable[..., Any],
    model: Model,
    given: Mapping[str, Any],
    parameters: Parameters,
    threads: int,
) -> Any:
    """One direction after the other; of a few states, all directions of a state at once."""
    plan, count = plan_of(function), len(parameters)
    ranks = plan.ranks
    for name in ranks:
        refuse_masked(name, given.get(name))
    arrays = _arrays(ranks, given)
    lead = _leading_axes(ranks, arrays)
    none: dict[str, Any] = {}

    def along(direction: Array, values: Mapping[str, Any]) -> tuple[Array, ...]:
        result: Jvp = jvp(
            function, model, values, none, parameters=(parameters, direction), threads=threads
        )
        d = result.derivative
        return d if isinstance(d, tuple) else (d,)

    if lead is None or count == 0 or int(np.prod(lead)) > _FEW:
        parts = [along(row, given) for row in np.eye(count)] or [along(np.zeros(0), given)]
        stacked = [np.stack(part, axis=-1)[..., :count] for part in zip(*parts, strict=True)]
    else:
        spread = {name: _with_axis(x, ranks[name]) for name, x in arrays.items()}
        at_once = max(1, _MOST // max(1, model.n_bodies))
        parts = [
            along(np.eye(count)[start : start + at_once], {**given, **spread})
            for start in range(0, count, at_once)
        ]
        all_at_once = (np.concatenate(part, axis=len(lead)) for part in zip(*parts, strict=True))
        stacked = [np.ascontiguousarray(np.moveaxis(x, len(lead), -1)) for x in all_at_once]
    return plan.result(*stacked) if plan.result else stacked[0]


def _arrays(ranks: Mapping[str, int], given: Mapping[str, Any]) -> dict[str, Array]:
    """Arguments with leading axes; none if some are lists of several lengths, which are refused."""
    try:
        return {name: np.asarray(given[name]) for name in ranks if given.get(name) is not None}
    except ValueError:
        return {}


def _leading_axes(ranks: Mapping[str, int], arrays: Mapping[str, Array]) -> Shape | None:
    """Leading axes of a call; None if they do not fit, which the call will say."""
    try:
        return np.broadcast_shapes(*(x.shape[: x.ndim - ranks[k]] for k, x in arrays.items()))
    except ValueError:
        return None


def _with_axis(x: Array, rank: int) -> Array:
    """With an axis for the directions before the last `rank` ones."""
    return x if x.ndim < rank else np.expand_dims(x, x.ndim - rank)  # the call will say
