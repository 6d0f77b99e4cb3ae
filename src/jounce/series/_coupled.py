"""Series of the equations of motion of coupled models, order by order.

The k-th derivative of tau is M a^(k) plus what follows from the lower derivatives, which inverse
dynamics gives with a^(k) = 0:

    (1)  M a^(k) = tau^(k) - ID(q; v, a, ..., a^(k-1), 0)^(k).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jounce._core.coupled import coupled
from jounce._types import Array, ArrayLike
from jounce.dynamics import mass_matrix
from jounce.dynamics._coupled import free_rates, solve
from jounce.series.dynamics import inverse_dynamics_series

if TYPE_CHECKING:
    from jounce.model.coupled import CoupledModel


@coupled("forward_dynamics_series")
def _forward_dynamics_series(
    model: CoupledModel,
    q: Array,
    v: Array,
    tau: Array,
    f_ext: Array | None = None,
    *,
    threads: int,
) -> Array:
    nothing = np.zeros(model.nv, bool)
    return _hybrid_series(model, q, v, np.zeros_like(tau), tau, nothing, f_ext, threads=threads)[0]


@coupled("hybrid_dynamics_series")
def _hybrid_series(
    model: CoupledModel,
    q: Array,
    v: Array,
    a: Array,
    tau: Array,
    prescribed: ArrayLike,
    f_ext: Array | None = None,
    *,
    threads: int,
) -> tuple[Array, Array]:
    orders, free = tau.shape[-2], free_rates(prescribed)
    M = mass_matrix(model, q, threads=threads)[..., free[:, None], free]
    leads = [q.shape[:-1], v.shape[:-1], a.shape[:-2], tau.shape[:-2]]
    lead = np.broadcast_shapes(*leads, () if f_ext is None else f_ext.shape[:-3])
    motion = np.zeros((*lead, orders + 1, model.nv), M.dtype)
    motion[..., 0, :] = v
    motion[..., 1:, :] = np.where(prescribed, a, 0.0)
    for k in range(orders):
        known = inverse_dynamics_series(
            model,
            q,
            motion[..., : k + 2, :],
            None if f_ext is None else f_ext[..., : k + 1, :, :],
            threads=threads,
        )[..., k, free]
        motion[..., k + 1, free] = solve(model, M, tau[..., k, free] - known, free)  # (1)
    force = inverse_dynamics_series(model, q, motion, f_ext, threads=threads)
    return motion[..., 1:, :], np.where(prescribed, force, tau)
