"""Partial derivatives of the series of coupled models' dynamics.

With K_k and P_kl the derivatives of tau^(k) by q and by v^(l) along the motion that solves the
equations (`inverse_dynamics_series_derivatives`), and x any input, order by order

    (1)  tau^(k)_x = K_k q_x + P_k0 v_x + sum_(l=1)^(k+1) P_kl a^(l-1)_x.

P_(k,k+1) is the mass matrix M. So with F the rates whose accelerations are not prescribed, and
a_F^(k) left out of the sum,

    (2)  a_F^(k)_x = M_FF^-1 (tau_F^(k)_x - what (1) gives in these rows).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jounce._core.coupled import coupled
from jounce._types import Array, ArrayLike
from jounce.derivatives.series import inverse_dynamics_series_derivatives
from jounce.dynamics._coupled import free_rates, inverse_of
from jounce.series import hybrid_dynamics_series

if TYPE_CHECKING:
    from jounce.model.coupled import CoupledModel

__all__: list[str] = []


@coupled("hybrid_dynamics_series_derivatives")
def _hybrid_series_derivatives(
    model: CoupledModel,
    q: Array,
    v: Array,
    a: Array,
    tau: Array,
    prescribed: ArrayLike,
    f_ext: Array | None = None,
    *,
    threads: int,
) -> tuple[Array, ...]:
    own = hybrid_dynamics_series(model, q, v, a, tau, prescribed, f_ext, threads=threads)
    motion = _stacked(v, own.a)
    d = inverse_dynamics_series_derivatives(model, q, motion, f_ext, threads=threads)
    free, orders, nv = free_rates(prescribed), own.a.shape[-2], model.nv
    M = d.dmotion[..., 0, :, 1, :]
    inverse = inverse_of(model, M[..., free[:, None], free], free)
    # columns: q, v, then a and tau by order; rows that are inputs are their own derivatives
    columns = 2 * nv * (1 + orders)
    lead = d.dq.shape[:-3]
    by_a, by_tau = (np.zeros((*lead, orders, nv, columns), M.dtype) for _ in range(2))
    given = np.flatnonzero(prescribed)
    for k in range(orders):
        at = 2 * nv + k * nv
        by_a[..., k, given, at + given] = 1.0
        force = by_tau[..., k, :, :]
        force[..., :nv], force[..., nv : 2 * nv] = d.dq[..., k, :, :], d.dmotion[..., k, :, 0, :]
        for m in range(k + 1):
            force += d.dmotion[..., k, :, m + 1, :] @ by_a[..., m, :, :]  # (1)
        rest = -force[..., free, :]
        rest[..., range(len(free)), at + orders * nv + free] += 1.0
        by_a[..., k, free, :] = inverse @ rest  # (2)
        force += M[..., free] @ by_a[..., k, free, :]
        force[..., free, :] = 0.0
        force[..., free, at + orders * nv + free] = 1.0
    return (*_by_inputs(by_a, nv), *_by_inputs(by_tau, nv))


@coupled("forward_dynamics_series_derivatives")
def _forward_series_derivatives(
    model: CoupledModel, q: Array, v: Array, tau: Array, *, threads: int, **others: Any
) -> tuple[Array, ...]:
    none = np.zeros(model.nv, bool)
    found = _hybrid_series_derivatives(model, q, v, 0.0 * tau, tau, none, threads=threads, **others)
    return found[0], found[1], found[3]


def _stacked(v: Array, a: Array) -> Array:
    """A motion of rates (..., nv) and their derivatives (..., k, nv)."""
    row = np.broadcast_to(v, (*a.shape[:-2], v.shape[-1]))[..., None, :]
    return np.concatenate([row, a], axis=-2)


def _by_inputs(x: Array, nv: int) -> tuple[Array, ...]:
    """Columns sorted by q, v, a and tau."""
    by_q, by_v, rest = x[..., :nv], x[..., nv : 2 * nv], x[..., 2 * nv :]
    shape = (*x.shape[:-1], 2, x.shape[-3], nv)
    series = rest.reshape(shape)
    return by_q, by_v, series[..., 0, :, :], series[..., 1, :, :]
