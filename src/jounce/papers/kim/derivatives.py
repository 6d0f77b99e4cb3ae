"""Derivatives of the recursions with respect to any scalar p (kim, Tables 5 to 7).

A name that begins with d is a partial derivative by p. Conventions are those of
`jounce.papers.kim.dynamics`. Each function first runs the dynamics it differentiates, as the paper
asks, then fills the quantities of eq. 64, then runs its table.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.model import Model
from jounce.papers.joints import apply, transposed
from jounce.papers.kim.chain import Parameter, System, joint_sensitivity, system
from jounce.papers.kim.dynamics import (
    HybridDynamics,
    Velocities,
    diagonal,
    external,
    hybrid_dynamics,
    inverse_dynamics,
)


class VelocityDerivatives(NamedTuple):
    """First forward recursion of Tables 5, 6 and 7, with the joints' part of eq. 64."""

    dh: list[AnyArray]
    """(n) of (6,)."""
    dS: list[AnyArray]  # noqa: N815
    """(n) of (6, n_i)."""
    dV: AnyArray  # noqa: N815
    """(n+1, 6)."""
    deta: AnyArray
    """(n, 6)."""


def inverse_dynamics_sensitivity(
    model: Model | System,
    q: ArrayLike,
    q_dot: ArrayLike,
    q_ddot: ArrayLike,
    p: Parameter,
    F_ext: ArrayLike | None = None,
) -> AnyArray:
    """Derivative of the joint forces by p (kim, Table 5).

    Args:
        model: the robot, or its `System`.
        q: (nq,) coordinates.
        q_dot: (nv,) rates.
        q_ddot: (nv,) accelerations.
        p: what depends on the scalar, see `parameter`.
        F_ext: (n_bodies, 6) body-fixed wrenches on the bodies.

    Returns:
        (nv,) dtau/dp.
    """
    links, q_ddot = system(model), np.asarray(q_ddot)
    y = inverse_dynamics(links, q, q_dot, q_ddot, F_ext)
    x = y.velocities
    d = velocity_derivatives(links, x, q, q_dot, p)
    dF = -external(links, p.F_ext, d.dV + y.F, p.q_ddot)
    dV_dot = np.zeros_like(dF)
    dV_dot[-1] = p.V_0_dot
    dtau = np.zeros((*dF.shape[1:-1], q_ddot.shape[-1]), dF.dtype)
    dtau += p.armature * q_ddot + links.armature * p.q_ddot
    for i, parent in enumerate(links.parent):
        rates = links.rates(i)
        driven = apply(d.dS[i], q_ddot[..., rates]) + apply(x.S[i], p.q_ddot[..., rates])
        dV_dot[i] = _carried(x, d, i, y.V_dot[parent], dV_dot[parent]) + driven + d.deta[i]
    for i, parent in reversed(list(enumerate(links.parent))):
        dF[i] += apply(p.I[i], y.V_dot[i]) + apply(links.I[i], dV_dot[i])
        dF[i] += _gyroscopic(links, x, d, p, i)
        own = apply(transposed(d.dS[i]), y.F[i]) + apply(transposed(x.S[i]), dF[i])
        dtau[..., links.rates(i)] += own
        moved = dF[i] - apply(transposed(lie.ad(d.dh[i])), y.F[i])
        dF[parent] += apply(transposed(x.Ad[i]), moved)
    return dtau


def forward_dynamics_sensitivity(
    model: Model | System,
    q: ArrayLike,
    q_dot: ArrayLike,
    tau: ArrayLike,
    p: Parameter,
    F_ext: ArrayLike | None = None,
) -> AnyArray:
    """Derivative of the accelerations by p (kim, Table 6).

    Table 6 is Table 7 without acceleration-prescribed joints, and is called so.

    Args:
        model: the robot, or its `System`.
        q: (nq,) coordinates.
        q_dot: (nv,) rates.
        tau: (nv,) joint forces.
        p: what depends on the scalar, see `parameter`.
        F_ext: (n_bodies, 6) body-fixed wrenches on the bodies.

    Returns:
        (nv,) dq_ddot/dp.
    """
    zero = np.zeros_like(tau)
    return hybrid_dynamics_sensitivity(model, q, q_dot, zero, tau, (), p, F_ext)[0]


class HybridDerivative(NamedTuple):
    """Derivatives of both results of hybrid dynamics by p (kim, Table 7)."""

    q_ddot: AnyArray
    """(nv,)."""
    tau: AnyArray
    """(nv,)."""


def hybrid_dynamics_sensitivity(
    model: Model | System,
    q: ArrayLike,
    q_dot: ArrayLike,
    q_ddot: ArrayLike,
    tau: ArrayLike,
    a: Collection[int],
    p: Parameter,
    F_ext: ArrayLike | None = None,
) -> HybridDerivative:
    """Derivatives of hybrid dynamics by p (kim, Table 7).

    Args:
        model: the robot, or its `System`.
        q: (nq,) coordinates.
        q_dot: (nv,) rates.
        q_ddot: (nv,) accelerations, read in the joints `a`.
        tau: (nv,) joint forces, read in the others.
        a: indices of the acceleration-prescribed joints of the model.
        p: what depends on the scalar; ``p.q_ddot`` is read in `a`, ``p.tau`` elsewhere.
        F_ext: (n_bodies, 6) body-fixed wrenches on the bodies.

    Returns:
        (nv,) dq_ddot/dp and (nv,) dtau/dp, the given ones included.
    """
    links = system(model)
    y = hybrid_dynamics(links, q, q_dot, q_ddot, tau, a, F_ext)
    x = y.velocities
    d = velocity_derivatives(links, x, q, q_dot, p)
    dI_hat, dB_hat, dPsi = _backward(links, y, d, a, p)
    dV_dot, dF = np.zeros_like(dB_hat), np.zeros_like(dB_hat[:-1])
    dV_dot[-1] = p.V_0_dot
    shape = (*dB_hat.shape[1:-1], y.tau.shape[-1])
    dq_ddot, dtau = (np.array(np.broadcast_to(z, shape), dF.dtype) for z in (p.q_ddot, p.tau))
    for i, parent in enumerate(links.parent):
        rates, S, dS = links.rates(i), x.S[i], d.dS[i]
        carried = apply(x.Ad[i], y.V_dot[parent]) + x.eta[i]
        dcarried = _carried(x, d, i, y.V_dot[parent], dV_dot[parent]) + d.deta[i]
        if i not in a:
            force = apply(y.I_hat[i], carried) + y.B_hat[i]
            dforce = apply(dI_hat[i], carried) + apply(y.I_hat[i], dcarried) + dB_hat[i]
            free, dfree = _free_force(y, i, rates, force, dtau, dS, dforce)
            dq_ddot[..., rates] = apply(dPsi[i], free) + apply(y.Psi[i], dfree)
        driven = apply(dS, y.q_ddot[..., rates]) + apply(S, dq_ddot[..., rates])
        dV_dot[i] = dcarried + driven
        dF[i] = apply(dI_hat[i], y.V_dot[i]) + apply(y.I_hat[i], dV_dot[i]) + dB_hat[i]
        if i in a:
            rotor = (p.armature * y.q_ddot + links.armature * dq_ddot)[..., rates]
            dtau[..., rates] = apply(transposed(dS), y.F[i]) + apply(transposed(S), dF[i]) + rotor
    return HybridDerivative(dq_ddot, dtau)


def _free_force(
    y: HybridDynamics,
    i: int,
    rates: slice,
    force: AnyArray,
    dtau: AnyArray,
    dS: AnyArray,
    dforce: AnyArray,
) -> tuple[AnyArray, AnyArray]:
    """What is left of tau_i for the acceleration, tau - S^T force, and its derivative by p."""
    S_T = transposed(y.velocities.S[i])
    free: AnyArray = y.tau[..., rates] - apply(S_T, force)
    return free, dtau[..., rates] - apply(transposed(dS), force) - apply(S_T, dforce)


def _backward(
    links: System, y: HybridDynamics, d: VelocityDerivatives, a: Collection[int], p: Parameter
) -> tuple[AnyArray, AnyArray, list[AnyArray]]:
    """Derivatives of articulated inertias, bias forces and Psi: backward recursion of Table 7."""
    x = y.velocities
    dB_hat = -external(links, p.F_ext, d.dV + y.B_hat, p.q_ddot, p.tau)
    dI_hat = np.zeros((*dB_hat.shape, 6), dB_hat.dtype)
    dPsi = [np.zeros_like(Psi) for Psi in y.Psi]
    for i, parent in reversed(list(enumerate(links.parent))):
        rates, S, dS = links.rates(i), x.S[i], d.dS[i]
        I_hat, eta = y.I_hat[i], x.eta[i]
        dI_hat[i] += p.I[i]
        dB_hat[i] += _gyroscopic(links, x, d, p, i)
        if i in a:
            dPi = dI_hat[i]
            push = eta + apply(S, y.q_ddot[..., rates])
            dpush = apply(dS, y.q_ddot[..., rates]) + apply(S, p.q_ddot[..., rates]) + d.deta[i]
        else:
            Psi, rotor = y.Psi[i], diagonal(p.armature[..., rates])
            dPi, dPsi[i] = _eliminated(I_hat, dI_hat[i], S, dS, Psi, rotor)
            force = apply(I_hat, eta) + y.B_hat[i]
            dforce = apply(dI_hat[i], eta) + apply(I_hat, d.deta[i]) + dB_hat[i]
            free, dfree = _free_force(y, i, rates, force, p.tau, dS, dforce)
            push = eta + apply(S @ Psi, free)
            dpush = apply(dS @ Psi + S @ dPsi[i], free) + apply(S @ Psi, dfree) + d.deta[i]
        dbeta = dB_hat[i] + apply(dI_hat[i], push) + apply(I_hat, dpush)
        ad_dh, Ad_T = lie.ad(d.dh[i]), transposed(x.Ad[i])
        turned = y.Pi[i] @ ad_dh
        dI_hat[parent] += Ad_T @ (dPi - turned - transposed(turned)) @ x.Ad[i]
        dB_hat[parent] += apply(Ad_T, dbeta - apply(transposed(ad_dh), y.beta[i]))
    return dI_hat, dB_hat, dPsi


def _eliminated(
    I_hat: AnyArray, dI_hat: AnyArray, S: AnyArray, dS: AnyArray, Psi: AnyArray, rotor: AnyArray
) -> tuple[AnyArray, AnyArray]:
    """Derivatives of Pi = I_hat - I_hat S Psi S^T I_hat and Psi of a joint whose force is given."""
    half = transposed(dS) @ I_hat @ S
    inner = transposed(S) @ dI_hat @ S + half + transposed(half) + rotor
    dPsi: AnyArray = -Psi @ inner @ Psi
    IS = I_hat @ S
    twice = (dI_hat @ S + I_hat @ dS) @ Psi @ transposed(IS)
    dPi = dI_hat - (IS @ dPsi @ transposed(IS) + twice + transposed(twice))
    return dPi, dPsi


def velocity_derivatives(
    links: System, x: Velocities, q: ArrayLike, q_dot: ArrayLike, p: Parameter
) -> VelocityDerivatives:
    """Forward recursion that Tables 5, 6 and 7 begin with, from the joints' part of eq. 64.

    Args:
        links: the robot.
        x: its velocities.
        q: (nq,) coordinates.
        q_dot: (nv,) rates.
        p: what depends on the scalar.
    """
    q, q_dot = np.asarray(q), np.asarray(q_dot)
    n = len(links.parent)
    dh, dS, dS_dot = zip(*(joint_sensitivity(links, i, q, q_dot, p) for i in range(n)), strict=True)
    dtype = np.result_type(x.V, p.I, p.q_dot, *dS)
    lead = np.broadcast_shapes(x.V.shape[1:-1], p.q_dot.shape[:-1], *(h.shape[:-1] for h in dh))
    dV, deta = np.zeros((n + 1, *lead, 6), dtype), np.zeros((n, *lead, 6), dtype)
    d = VelocityDerivatives(list(dh), list(dS), dV, deta)
    for i, parent in enumerate(links.parent):
        rates, drates = q_dot[..., links.rates(i)], p.q_dot[..., links.rates(i)]
        relative = apply(dS[i], rates) + apply(x.S[i], drates)
        dV[i] = _carried(x, d, i, x.V[parent], dV[parent]) + relative
        deta[i] = (
            apply(lie.ad(dV[i]) @ x.S[i], rates)
            + apply(lie.ad(x.V[i]), relative)
            + apply(dS_dot[i], rates)
            + apply(x.S_dot[i], drates)
        )
    return d


def _carried(x: Velocities, d: VelocityDerivatives, i: int, X: AnyArray, dX: AnyArray) -> AnyArray:
    """Derivative of Ad(T^-1) X for a twist X of the parent (Corollary 1, eq. 59)."""
    return apply(x.Ad[i], dX) - apply(lie.ad(d.dh[i]) @ x.Ad[i], X)


def _gyroscopic(
    links: System, x: Velocities, d: VelocityDerivatives, p: Parameter, i: int
) -> AnyArray:
    """Derivative of -ad(V)^T I V."""
    I, V, dV = links.I[i], x.V[i], d.dV[i]  # noqa: E741
    momentum = apply(p.I[i], V) + apply(I, dV)
    return -apply(transposed(lie.ad(dV)) @ I, V) - apply(transposed(lie.ad(V)), momentum)
