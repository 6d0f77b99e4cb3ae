"""Gradients of weighted results: reverse derivatives in closed form, without forming a matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._core.arrays import reals, shown
from jounce._core.out import Given, Shape, deliver_all
from jounce._core.words import place_of
from jounce._types import Array, ArrayLike
from jounce.derivatives.christoffel import kinetic_energy_derivatives
from jounce.derivatives.jvp import plan_of
from jounce.dynamics import (
    bias_forces,
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
    kinetic_energy,
    potential_energy,
)
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.model.model import require_model

__all__ = [
    "BiasForcesVjp",
    "ForwardDynamicsVjp",
    "GravityForcesVjp",
    "InverseDynamicsVjp",
    "KineticEnergyVjp",
    "PotentialEnergyVjp",
    "vjp",
]


class InverseDynamicsVjp(NamedTuple):
    """Gradients of weights . tau.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> gradient = jc.vjp(jc.inverse_dynamics, arm, (q, v, a), [1, 0])
        >>> bool(np.allclose(gradient.a, jc.mass_matrix(arm, q)[0]))
        True
    """

    q: Array
    """(..., nv) in the tangent space."""
    v: Array
    """(..., nv)"""
    a: Array
    """(..., nv)"""
    f_ext: Array
    """(..., n_bodies, 6)"""


class ForwardDynamicsVjp(NamedTuple):
    """Gradients of weights . a.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> gradient = jc.vjp(jc.forward_dynamics, arm, (q, v, a), [1, 0])
        >>> bool(np.allclose(gradient.tau, jc.inverse_mass_matrix(arm, q)[0]))
        True
    """

    q: Array
    """(..., nv) in the tangent space."""
    v: Array
    """(..., nv)"""
    tau: Array
    """(..., nv)"""
    f_ext: Array
    """(..., n_bodies, 6)"""


class BiasForcesVjp(NamedTuple):
    """Gradients of weights . bias_forces.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, rest = np.ones(2), np.ones(2), np.zeros(2)
        >>> gradient = jc.vjp(jc.bias_forces, arm, (q, v), [1, 0])
        >>> bool(np.allclose(gradient.v, jc.inverse_dynamics_derivatives(arm, q, v, rest).dv[0]))
        True
    """

    q: Array
    """(..., nv) in the tangent space."""
    v: Array
    """(..., nv)"""
    f_ext: Array
    """(..., n_bodies, 6)"""


class GravityForcesVjp(NamedTuple):
    """The gradient of weights . gravity_forces.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, rest = np.ones(2), np.zeros(2)
        >>> gradient = jc.vjp(jc.gravity_forces, arm, (q,), [1, 0])
        >>> by_q = jc.inverse_dynamics_derivatives(arm, q, rest, rest).dq
        >>> bool(np.allclose(gradient.q, by_q[0]))
        True
    """

    q: Array
    """(..., nv) in the tangent space."""


class KineticEnergyVjp(NamedTuple):
    """Gradients of weights times the energy.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> gradient = jc.vjp(jc.kinetic_energy, arm, (q, v), 1.0)
        >>> bool(np.allclose(gradient.v, jc.mass_matrix(arm, q) @ v))
        True
    """

    q: Array
    """(..., nv) in the tangent space."""
    v: Array
    """(..., nv)"""


class PotentialEnergyVjp(NamedTuple):
    """The gradient of weights times the energy.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> gradient = jc.vjp(jc.potential_energy, arm, (q,), 1.0)
        >>> bool(np.allclose(gradient.q, jc.gravity_forces(arm, q)))
        True
    """

    q: Array
    """(..., nv) in the tangent space."""


def vjp(
    function: Callable[..., Any],
    model: Model,
    arguments: Sequence[Any] | Mapping[str, Any],
    weights: ArrayLike,
    *,
    out: tuple[Array, ...] | None = None,
    threads: int = 1,
) -> Any:
    """Gradient of a weighted result: ``weights . d function / d argument`` for each argument.

    With mu the weights (inverse dynamics) or ``-M^-1 weights`` (forward dynamics), and tau the
    inverse dynamics at the acceleration of the state,

        q: mu . dtau/dq,  v: mu . dtau/dv,  a: M mu,  f_ext: minus the bodies' twists at rates mu.

    mu . tau is the work of the bodies' wrenches on the twists that the rates mu would give them, so
    that its gradient takes O(n) operations: one pass outward and one inward, and for forward
    dynamics its own passes before. Bias and gravity forces are inverse dynamics at a = 0, and at
    v = 0.

    Args:
        function: `inverse_dynamics`, `forward_dynamics`, `bias_forces`, `gravity_forces`,
            `kinetic_energy` or `potential_energy`.
        model: the robot.
        arguments: those of the function after the model, in its order, or by name.
        weights: of the result's shape, (..., nv), or (...) for energies.
        out: tuple of arrays to write the gradients to, in the order of the arguments.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple with a gradient for each argument of the function; that of q is in the tangent
        space, (..., nv).

    Raises:
        ArgumentError: another function, weights or an argument of a wrong shape, numbers that are
            not finite.
        ArgumentTypeError: an argument is missing, or one that the function does not have.
        SingularError: forward dynamics where a joint moves no inertia.

    Examples:
        >>> import numpy as np, jounce as jc
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> gradient = jc.vjp(jc.inverse_dynamics, arm, (q, v, a), [1.0, 0.0])
        >>> bool(np.allclose(gradient.a, jc.mass_matrix(arm, q)[0]))
        True
    """
    try:
        compiled, in_python = _COMPILED.get(function), _IN_PYTHON.get(function)
    except TypeError:
        compiled = in_python = None
    if compiled is None and in_python is None:
        name = getattr(function, "__name__", None) or shown(function)
        known = ", ".join(f.__name__ for f in (*_COMPILED, *_IN_PYTHON))
        raise ArgumentError(
            f"{name} has no reverse derivative in closed form; those that have: {known}"
        )
    plan = plan_of(function)
    x = plan.by_name("arguments", arguments)
    plan.demand(function, x)
    if compiled is not None:
        own = [x[name] for name in plan.names if name != "f_ext"]
        return compiled(model, *own, weights, x.get("f_ext"), out=out, threads=threads)
    assert in_python is not None
    require_model(model)
    return in_python(model, x, weights, out, threads)


class _Given(Given):
    """Arguments of an energy, and weights, which are numbers."""

    def own_axes(self, name: str) -> Shape:
        return () if name == "weights" else super().own_axes(name)


class _OfForces(Given):
    """Arguments of forces, and weights of each."""

    def own_axes(self, name: str) -> Shape:
        return (self.model.nv,) if name == "weights" else super().own_axes(name)


def _weights(weights: ArrayLike, lead: Shape) -> Array:
    """Those of energies, which are numbers."""
    w = reals("weights", weights)
    if not np.isfinite(w).all():
        at = tuple(np.argwhere(~np.isfinite(w))[0].tolist())
        raise ArgumentError(f"weights must be finite, got {w[at]}{place_of(at)}")
    try:
        np.broadcast_shapes(w.shape, lead)
    except ValueError:
        raise ArgumentError(
            f"the leading (batch) axes of weights, {w.shape}, do not broadcast with {lead} of the "
            "arguments"
        ) from None
    return w[..., None]


def _bias(model: Model, x: Mapping[str, Any], weights: ArrayLike, out: Any, threads: int) -> Any:
    rest = np.zeros(model.nv)

    def compute(q: Any, v: Any, weights: Any, f_ext: Any) -> BiasForcesVjp:
        by = _COMPILED[inverse_dynamics](model, q, v, rest, weights, f_ext, threads=threads)
        return BiasForcesVjp(by.q, by.v, by.f_ext)

    arrays = {"q": x["q"], "v": x["v"], "weights": weights, "f_ext": x.get("f_ext")}
    own = ((model.nv,), (model.nv,), (model.n_bodies, 6))
    return deliver_all(compute, out, own, _OfForces("vjp", model, threads, **arrays))


def _gravity(model: Model, x: Mapping[str, Any], weights: ArrayLike, out: Any, threads: int) -> Any:
    rest = np.zeros(model.nv)

    def compute(q: Any, weights: Any) -> GravityForcesVjp:
        by = _COMPILED[inverse_dynamics](model, q, rest, rest, weights, None, threads=threads)
        return GravityForcesVjp(by.q)

    given = _OfForces("vjp", model, threads, q=x["q"], weights=weights)
    return deliver_all(compute, out, ((model.nv,),), given)


def _kinetic(model: Model, x: Mapping[str, Any], weights: ArrayLike, out: Any, threads: int) -> Any:
    def compute(q: Any, v: Any, weights: Any) -> KineticEnergyVjp:
        by = kinetic_energy_derivatives(model, q, v, threads=threads)
        w = _weights(weights, by.dq.shape[:-1])
        return KineticEnergyVjp(w * by.dq, w * by.dv)

    given = _Given("vjp", model, threads, q=x["q"], v=x["v"], weights=weights)
    return deliver_all(compute, out, ((model.nv,), (model.nv,)), given)


def _potential(
    model: Model, x: Mapping[str, Any], weights: ArrayLike, out: Any, threads: int
) -> Any:
    def compute(q: Any, weights: Any) -> PotentialEnergyVjp:
        by_q = gravity_forces(model, q, threads=threads)
        return PotentialEnergyVjp(_weights(weights, by_q.shape[:-1]) * by_q)

    given = _Given("vjp", model, threads, q=x["q"], weights=weights)
    return deliver_all(compute, out, ((model.nv,),), given)


_COMPILED: dict[Any, Callable[..., Any]] = {
    inverse_dynamics: _core.raw(
        "inverse_dynamics_vjp", "vjp", InverseDynamicsVjp, inputs="q v a weights f_ext"
    ),
    forward_dynamics: _core.raw(
        "forward_dynamics_vjp", "vjp", ForwardDynamicsVjp, inputs="q v tau weights f_ext"
    ),
}
_IN_PYTHON: dict[Any, Callable[..., Any]] = {
    bias_forces: _bias,
    gravity_forces: _gravity,
    kinetic_energy: _kinetic,
    potential_energy: _potential,
}
