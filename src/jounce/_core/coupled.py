"""Calls with models whose joints are coupled, in terms of calls with their expanded models.

Kernels know trees of independent joints. For a model whose rates u give all rates by v = G u
(`jounce.model.coupled`), the compiled functions end here. There are three kinds of them:

- Functions of the configuration space alone run on ``model.independent``.
- Functions whose results are linear forms in rates (generalized forces, Jacobians, mass matrices
  and all their partial derivatives) run on ``model.expanded``, and each axis of a result that
  counts rates is contracted with G.
- What is solved for rates or accelerations has a function of its own, made known by `coupled`.

Directional derivatives go the same way: tangents are rates, so that those of the expanded model are
G times those of the coupled one. Those of the third kind come from the functions themselves, run
with numbers that carry their derivatives (`jounce._core.carried`).

All others refuse such a model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np

from jounce import _core
from jounce._core.arrays import refuse_masked
from jounce._core.carried import along, carried_call
from jounce._core.elementwise import deliver_elementwise
from jounce._core.out import untouched_if_failing
from jounce.errors import ArgumentError, ArgumentTypeError, ModelError

__all__ = ["coupled", "knows_coupled"]

_AT_ONCE = 2**16
"""Numbers of results that are computed at once."""

F = TypeVar("F", bound=Callable[..., Any])

_CONFIGURATION = """
integrate difference interpolate normalize coordinate_rates integrate_derivatives
difference_derivatives integrate_blocks
"""
"""Functions of the configuration space."""

_PROJECTED = """
body_poses body_twists body_accelerations body_pose body_twist body_acceleration jacobian
jacobian_rate bias_acceleration inverse_dynamics bias_forces gravity_forces
kinetic_energy potential_energy center_of_mass momentum centroidal_momentum mass_matrix
centroidal_momentum_matrix centroidal_momentum_matrix_rate inverse_dynamics_series
body_pose_series body_motion_series jacobian_series inverse_dynamics_derivatives
coriolis_matrix mass_matrix_derivatives christoffel_symbols body_twist_derivatives
body_acceleration_derivatives jacobian_first_derivatives jacobian_second_derivatives
joint_wrenches frame_wrench center_of_mass_jacobian center_of_mass_jacobian_rate
center_of_mass_derivatives subtree_centers_of_mass centroidal_momentum_derivatives
passive_forces passive_forces_derivatives torque_regressor kinetic_energy_regressor
potential_energy_regressor momentum_regressor inverse_dynamics_hessian
inverse_dynamics_second_derivatives inverse_dynamics_vjp kinetic_energy_derivatives
inverse_dynamics_series_derivatives
"""
"""Functions of q, rates and their derivatives, whose results are linear forms in rates."""


def _with_directional(names: str) -> frozenset[str]:
    """Kernels and those of their directional derivatives: tangents are rates, and d v = G d u."""
    own, known = names.split(), {*_core.kernel_names()}
    return frozenset([*own, *(f"{name}_jvp" for name in own if f"{name}_jvp" in known)])


_ON_INDEPENDENT, _ON_EXPANDED = map(_with_directional, (_CONFIGURATION, _PROJECTED))

_SOLVED: dict[str, Callable[..., Any]] = {}

_CHECKED: set[str] = set()
"""Those of them whose inputs need no check here."""


def coupled(name: str, checked: bool = False) -> Callable[[F], F]:
    """Make known what computes a kernel for coupled models.

    The function takes the model, the kernel's inputs and options by name, and `threads`; it returns
    fresh arrays, which may lack leading axes. Its derivative along a direction follows: it is
    called with complex arrays for that, and must not make real ones of them. `checked` says that
    it checks its inputs, or that others have done so before.
    """

    def remember(function: F) -> F:
        _SOLVED[name] = function
        if checked:
            _CHECKED.add(name)
        if f"{name}_jvp" in _core.kernel_names():
            _SOLVED[f"{name}_jvp"] = along(name, function)
        return function

    return remember


def knows_coupled(name: str) -> bool:
    """Whether a kernel can be computed for coupled models."""
    return (
        name in _SOLVED or name in _ON_EXPANDED or name in _ON_INDEPENDENT or name == "check_state"
    )


_raw = cache(_core.raw)
_signature = cache(_core.signature)


def _call(name: str, result: Any, part: Any, model: Any, given: dict[str, Any]) -> Any:
    """Compute a kernel for a model that has no tree; the bindings call this."""
    if not hasattr(model, "coupling"):
        raise ArgumentTypeError(f"model must be a jounce.Model, got {type(model).__name__}")
    if model.carries:
        return _as_result(carried_call(_bare_call, name, model, given), result, part)
    if name in _ON_INDEPENDENT:
        flat = model.independent
        if given.get("d_model") is not None:  # no number of the model enters, but the axes count
            directions = np.shape(given["d_model"])[:-1]
            given["d_model"] = np.zeros((*directions, flat.nodes.tangent_size))
        return _as_result(_raw(name)(flat, **given), result, part)
    if not knows_coupled(name):
        own = name.removesuffix("_jvp")
        known = sorted({*_ON_INDEPENDENT, *_ON_EXPANDED, *_SOLVED})
        some = [n.removesuffix("_jvp") for n in known if n.endswith("_jvp") == (own != name)]
        some = [n for n in some if not _signature(n)["internal"]]
        what = f"{_core.shown_name(own)}()"
        if own != name:
            what = f"the derivative along a direction of {what}"
        raise ModelError(
            f"{what} is not there for a model with coupled joints: use model.expanded, or lock "
            f"them. There are {', '.join(some)}"
        )
    out, threads = given.pop("out", None), given.pop("threads", 1)
    with untouched_if_failing(out, given, threads) as guard:
        arrays, lead = _checked(name, model, given, threads)
        if name == "check_state":
            return np.zeros(lead)[()]
        values = _computed(name, model, {**given, **arrays}, lead, threads)
        if out is not None:
            guard.require(out, [x.shape for x in values])
            guard.write(values)
    if out is not None:
        values = list(out if isinstance(out, tuple) else (out,))
    else:
        values = [x[()] for x in values]
    return _as_result(values[0] if len(values) == 1 else tuple(values), result, part)


def _computed(
    name: str, model: Any, given: dict[str, Any], lead: tuple[int, ...], threads: int
) -> list[Any]:
    """Results; of a large batch a portion at a time, since contractions are in NumPy."""
    compute, own = _SOLVED.get(name) or _projected(name), _signature(name)

    def values(given: dict[str, Any], lead: tuple[int, ...]) -> list[Any]:
        found = compute(model, **given, threads=threads)
        return _full(name, found, lead, given.get("body"))

    largest = model.nv ** max(own["output_ranks"])
    if largest * math.prod(lead) <= _AT_ONCE or name in _CHECKED:  # those are not in NumPy
        return values(given, lead)
    ranks = {key: len(axes) for key, axes in own["input_axes"].items() if key in given}

    def of_some(*some: Any) -> tuple[Any, ...]:
        leads = (x.shape[: x.ndim - rank] for x, rank in zip(some, ranks.values(), strict=True))
        theirs = {**given, **dict(zip(ranks, some, strict=True))}
        return tuple(values(theirs, np.broadcast_shapes(*leads)))

    arrays = {key: given[key] for key in ranks}
    return list(deliver_elementwise(name, of_some, arrays, ranks, makes=largest))


def _bare_call(name: str, model: Any, given: dict[str, Any]) -> Any:
    return _call(name, None, None, model, given)


def _as_result(found: Any, result: Any, part: Any) -> Any:
    """The named tuple of a function, or of the value and the derivative of one."""
    if not result:
        return found
    if not part:
        return result(*found)
    half = len(found) // 2
    return result(*(part(*some) for some in (found[:half], found[half:])))


def _checked(
    name: str, model: Any, given: dict[str, Any], threads: int
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Inputs as arrays of doubles, and their leading axes together.

    What belongs to rates and coordinates is checked by a kernel on the independent joints, wrenches
    on bodies by one on the expanded model, the rest by the kernel that gets it in the end.
    """
    axes = _signature(name)["input_axes"]
    for key in axes:
        refuse_masked(key, given.get(key))
    own = {key: given[key] for key in axes if key in given and {"nq", "nv"} & {*axes[key]}}
    if name not in _CHECKED:
        _check_own(name, model, own, given, threads)
    if given.get("f_ext") is not None:
        q = model.expand(model.neutral)
        _raw("check_state")(model.expanded, q=q, f_ext=given["f_ext"], threads=threads)
        own["f_ext"] = given["f_ext"]
    own = {key: np.asarray(value, float) for key, value in own.items()}
    arrays = {key: own.get(key, np.asarray(given[key])) for key in axes if key in given}
    leads = [x.shape[: max(0, x.ndim - len(axes[key]))] for key, x in arrays.items()]
    try:
        return arrays, np.broadcast_shapes(*leads)
    except ValueError:
        shapes = ", ".join(map(str, leads))
        raise ArgumentError(f"the leading (batch) axes {shapes} do not broadcast") from None


def _check_own(
    name: str, model: Any, own: dict[str, Any], given: dict[str, Any], threads: int
) -> None:
    """Check what belongs to rates and coordinates."""
    if "motion" in own:
        same = "inverse_dynamics_series_jvp" if name.endswith("_jvp") else "inverse_dynamics_series"
        _raw(same)(model.independent, **own, threads=threads)
        return
    if "prescribed" in given or "order" in _signature(name)["input_axes"].get("tau", ()):
        options = {"prescribed": given["prescribed"]} if "prescribed" in given else {}
        _raw(name)(model.independent, **own, **options, threads=threads)
        return
    known = {key: own[key] for key in ("q", "v", "a", "tau") if key in own}
    _raw("check_state")(model.independent, **known, threads=threads)
    for key in own.keys() - known.keys():
        if np.shape(own[key])[-1:] != (model.nv,):
            raise ArgumentError(
                f"{key} must have shape (..., {model.nv}), that is (..., nv) of this model, "
                f"got {np.shape(own[key])}"
            )


def _projected(name: str) -> Callable[..., Any]:
    """A function that contracts what a kernel gives for the expanded model."""
    signature = _signature(name)

    def compute(model: Any, *, threads: int, **given: Any) -> tuple[Any, ...]:
        for key, own in signature["input_axes"].items():
            if key in given and "nq" in own:
                given[key] = model.expand(given[key])
            elif key in given and "nv" in own:
                given[key] = given[key] @ model.coupling.T
        found = _raw(name)(model.expanded, **given, threads=threads)
        return tuple(
            model.contract(x, [k - len(own) for k, of in enumerate(own) if of == "nv"])
            for x, own in zip(_as_tuple(found), signature["output_axes"].values(), strict=True)
        )

    return compute


def _full(name: str, found: Any, lead: tuple[int, ...], body: Any) -> list[Any]:
    """Results with all leading axes, finite ones."""
    several = isinstance(body, (list, tuple)) or (isinstance(body, np.ndarray) and body.ndim == 1)
    signature = _signature(name)
    values = []
    for x, (key, own) in zip(_as_tuple(found), signature["output_axes"].items(), strict=True):
        array = np.asarray(x, float, order="C")
        if key not in signature["may_be_nan"] and not np.isfinite(array).all():
            raise ArgumentError(f"the result of {name}() is not finite: an input is too large")
        shape = (*lead, *array.shape[array.ndim - len(own) - several :])
        values.append(array if array.shape == shape else np.broadcast_to(array, shape).copy())
    return values


def _as_tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


_core._module.use_coupled(_call)
