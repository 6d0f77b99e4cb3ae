"""Partial derivatives of the equations of motion of coupled models.

From M a + b = tau, with the partial derivatives ID_x of inverse dynamics at the acceleration that
solves it (bos, eq. 32), where P are the rates with prescribed accelerations and F the others:

    (1)  a_x = -M^-1 ID_x,   a_tau = M^-1
    (2)  dM^-1/dq_k = -M^-1 dM/dq_k M^-1
    (3)  a_F,x = -M_FF^-1 ID_F,x,   tau_P,x = ID_P,x + M_PF a_F,x        for x = q, v, a_P
    (4)  a_F,tau_F = M_FF^-1,       tau_P,tau_F = M_PF M_FF^-1

The Hessian of w . a follows from that of l . tau with l = M^-1 w, where H are the latter's blocks:

    (5)  qq: -(H_qq + H_qa a_q + (H_qa a_q)^T),  qv: -(H_qv + H_qa a_v),  vv: -H_vv,
         q tau: -H_qa M^-1,  with  H_qa a_x = (-H_qa M^-1) ID_x

and so does its gradient, from that of -l . tau. The terms of (5) may be much larger than their sum:
they are solved for. Accelerations by the inertial parameters pi of the bodies follow from the
regressor Y of inverse dynamics at them,

    (6)  a_pi = -M^-1 Y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jounce import _core
from jounce._core import algebra
from jounce._core.algebra import product
from jounce._core.coupled import coupled
from jounce._types import Array, ArrayLike
from jounce.derivatives.christoffel import mass_matrix_derivatives
from jounce.derivatives.dynamics import (
    inverse_dynamics_derivatives,
)
from jounce.derivatives.hessians import inverse_dynamics_hessian
from jounce.dynamics import forward_dynamics, hybrid_dynamics, mass_matrix, torque_regressor
from jounce.dynamics._coupled import free_rates, inverse_of, solve

if TYPE_CHECKING:
    from jounce.model.coupled import CoupledModel


@coupled("inverse_mass_matrix_derivatives")
def _inverse_mass_matrix_derivatives(model: CoupledModel, q: Array, *, threads: int) -> Array:
    inverse = inverse_of(model, mass_matrix(model, q, threads=threads))
    dM = mass_matrix_derivatives(model, q, threads=threads)
    n = inverse.shape[-1]
    rows = product(inverse, dM.reshape(*dM.shape[:-2], n * n)).reshape(dM.shape)
    found = product(rows.swapaxes(-1, -2), inverse[..., None, :, :]).swapaxes(-1, -2)
    return np.asarray(-found)  # (2)


@coupled("forward_dynamics_derivatives")
def _forward_dynamics_derivatives(
    model: CoupledModel,
    q: Array,
    v: Array,
    tau: Array,
    f_ext: Array | None = None,
    *,
    threads: int,
) -> tuple[Array, Array, Array]:
    a = forward_dynamics(model, q, v, tau, f_ext, threads=threads)
    d = inverse_dynamics_derivatives(model, q, v, a, f_ext, threads=threads)
    inverse = inverse_of(model, d.da)
    return -product(inverse, d.dq), -product(inverse, d.dv), inverse  # (1)


@coupled("hybrid_dynamics_derivatives")
def _hybrid_dynamics_derivatives(
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
    own = hybrid_dynamics(model, q, v, a, tau, prescribed, f_ext, threads=threads)
    d = inverse_dynamics_derivatives(model, q, v, own.a, f_ext, threads=threads)
    free, given = free_rates(prescribed), np.flatnonzero(prescribed)
    inverse = inverse_of(model, d.da[..., free[:, None], free], free)
    by_a = d.da.copy()
    by_a[..., free] = 0.0
    found: list[tuple[Array, Array]] = []
    for by_x in (d.dq, d.dv, by_a):
        a_x, tau_x = np.zeros_like(by_x), np.zeros_like(by_x)
        a_x[..., free, :] = -product(inverse, by_x[..., free, :])  # (3)
        tau_x[..., given, :] = by_x[..., given, :]
        tau_x[..., given, :] += product(d.da[..., given[:, None], free], a_x[..., free, :])
        found.append((a_x, tau_x))
    found[2][0][..., given, given] = 1.0
    a_tau, tau_tau = np.zeros_like(by_a), np.zeros_like(by_a)
    a_tau[..., free[:, None], free] = inverse  # (4)
    tau_tau[..., given[:, None], free] = product(d.da[..., given[:, None], free], inverse)
    tau_tau[..., free, free] = 1.0
    found.append((a_tau, tau_tau))
    return tuple(x for x, _ in found) + tuple(y for _, y in found)


@coupled("forward_dynamics_hessian")
def _forward_dynamics_hessian(
    model: CoupledModel,
    q: Array,
    v: Array,
    tau: Array,
    weights: Array,
    f_ext: Array | None = None,
    *,
    threads: int,
) -> tuple[Array, ...]:
    a = forward_dynamics(model, q, v, tau, f_ext, threads=threads)
    d = inverse_dynamics_derivatives(model, q, v, a, f_ext, threads=threads)
    M = np.broadcast_to(d.da, (*np.broadcast_shapes(d.da.shape[:-1], weights.shape), model.nv))
    own = solve(model, M, np.broadcast_to(weights, M.shape[:-1]))
    h = inverse_dynamics_hessian(model, q, v, a, own, f_ext, threads=threads)
    by_tau = -algebra.solve(d.da, h.dqda.swapaxes(-1, -2)).swapaxes(-1, -2)
    turned = -product(by_tau, d.dq)
    dqdq = turned + turned.swapaxes(-1, -2) - h.dqdq  # (5)
    return dqdq, -product(by_tau, d.dv) - h.dqdv, -h.dvdv, by_tau


_inverse_vjp = _core.raw("inverse_dynamics_vjp", "vjp", inputs="q v a weights f_ext")


@coupled("forward_dynamics_vjp")
def _forward_dynamics_vjp(
    model: CoupledModel,
    q: Array,
    v: Array,
    tau: Array,
    weights: Array,
    f_ext: Array | None = None,
    *,
    threads: int,
) -> tuple[Array, ...]:
    a = forward_dynamics(model, q, v, tau, f_ext, threads=threads)
    inverse = inverse_of(model, mass_matrix(model, q, threads=threads))
    own = (inverse @ weights[..., None])[..., 0]
    by_q, by_v, _, by_f_ext = _inverse_vjp(model, q, v, a, -own, f_ext, threads=threads)
    return by_q, by_v, own, by_f_ext


@coupled("forward_dynamics_by_inertias")
def _forward_dynamics_by_inertias(
    model: CoupledModel,
    q: Array,
    v: Array,
    tau: Array,
    f_ext: Array | None = None,
    *,
    threads: int,
) -> tuple[Array, ...]:
    a = forward_dynamics(model, q, v, tau, f_ext, threads=threads)
    inverse = inverse_of(model, mass_matrix(model, q, threads=threads))
    return a, -product(inverse, torque_regressor(model, q, v, a, threads=threads))  # (6)
