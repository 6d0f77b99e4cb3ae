"""Directional derivatives of what is solved for accelerations, of coupled models.

Along a direction in the state, the inputs and the model, inverse dynamics (of any order k in time)
at the accelerations that solve the equations changes by d tau^(k), which has M d a^(k) as its last
term. So with P the rates whose accelerations are prescribed and F the others, order by order,

    (1)  M_FF d a_F^(k) = d tau_F^(k) - (change of tau_F^(k) where d a_F^(k) is zero)
    (2)  d tau_P = change of tau_P along all of these.

Dynamics without derivatives in time are the series of order zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jounce import _core
from jounce._core.coupled import coupled
from jounce._types import Array, ArrayLike
from jounce.dynamics import mass_matrix
from jounce.dynamics._coupled import free_rates, inverse_of
from jounce.series import hybrid_dynamics_series

if TYPE_CHECKING:
    from jounce.model.coupled import CoupledModel

__all__: list[str] = []

_inverse_series = _core.raw("inverse_dynamics_series_jvp", "inverse_dynamics_series")
_mass_matrix = _core.raw("mass_matrix_jvp", "mass_matrix")


@coupled("hybrid_dynamics_series_jvp")
def _hybrid_dynamics_series(
    model: CoupledModel,
    q: Array,
    v: Array,
    a: Array,
    tau: Array,
    prescribed: ArrayLike,
    f_ext: Array | None = None,
    *,
    threads: int,
    d_v: Array | None = None,
    d_a: Array | None = None,
    d_tau: Array | None = None,
    **others: Array,
) -> tuple[Array, ...]:
    mask = np.asarray(prescribed, bool)
    own = hybrid_dynamics_series(model, q, v, a, tau, mask, f_ext, threads=threads)
    free = free_rates(mask)
    M = mass_matrix(model, q, threads=threads)[..., free[:, None], free]
    inverse = inverse_of(model, M, free)
    motion = _stacked(v, own.a)
    d_own = {key: x for key, x in others.items() if x is not None}

    def change(accelerations: Array) -> Array:
        tangent = _stacked(0.0 * v if d_v is None else d_v, accelerations)
        along = {"d_motion": tangent, **d_own}
        found: Array = _inverse_series(model, q, motion, f_ext, **along, threads=threads)[1]
        return found

    rows = own.a.shape[-2:]
    accelerations = np.zeros(rows) if d_a is None else np.where(mask, d_a, 0.0)
    whole = change(accelerations)
    forces = np.zeros(rows) if d_tau is None else d_tau
    lead = np.broadcast_shapes(whole.shape[:-2], forces.shape[:-2])
    accelerations = np.broadcast_to(accelerations, (*lead, *rows)).copy()
    for k in range(rows[0]):
        rest = forces[..., k, free] - whole[..., k, free]
        accelerations[..., k, free] = (inverse @ rest[..., None])[..., 0]  # (1)
        whole = change(accelerations)
    return own.a, own.tau, accelerations, np.where(mask, whole, forces)  # (2)


def _stacked(first: Array, rest: Array) -> Array:
    """A motion of rates (..., nv) and their derivatives (..., k, nv)."""
    lead = np.broadcast_shapes(first.shape[:-1], rest.shape[:-2])
    row = np.broadcast_to(first, (*lead, first.shape[-1]))[..., None, :]
    return np.concatenate([row, np.broadcast_to(rest, (*lead, *rest.shape[-2:]))], axis=-2)


@coupled("forward_dynamics_series_jvp")
def _forward_dynamics_series(
    model: CoupledModel, q: Array, v: Array, tau: Array, *, threads: int, **others: Any
) -> tuple[Array, ...]:
    none = np.zeros(model.nv, bool)
    found = _hybrid_dynamics_series(
        model, q, v, np.zeros_like(tau), tau, none, threads=threads, **others
    )
    return found[0], found[2]


def _of_order_zero(given: dict[str, Any]) -> dict[str, Any]:
    """Inputs of one time as series."""
    axis = {"a": -2, "tau": -2, "d_a": -2, "d_tau": -2, "f_ext": -3, "d_f_ext": -3}
    return {
        key: np.expand_dims(x, axis[key]) if key in axis and x is not None else x
        for key, x in given.items()
    }


@coupled("hybrid_dynamics_jvp")
def _hybrid_dynamics(model: CoupledModel, *, threads: int, **given: Any) -> tuple[Array, ...]:
    found = _hybrid_dynamics_series(model, threads=threads, **_of_order_zero(given))
    return tuple(x[..., 0, :] for x in found)


@coupled("forward_dynamics_jvp")
def _forward_dynamics(model: CoupledModel, *, threads: int, **given: Any) -> tuple[Array, ...]:
    found = _forward_dynamics_series(model, threads=threads, **_of_order_zero(given))
    return tuple(x[..., 0, :] for x in found)


@coupled("inverse_mass_matrix_jvp")
def _inverse_mass_matrix(
    model: CoupledModel, q: Array, *, threads: int, **others: Array
) -> tuple[Array, ...]:
    M, dM = _mass_matrix(model, q, **others, threads=threads)
    inverse = inverse_of(model, M)
    return inverse, -inverse @ dM @ inverse
