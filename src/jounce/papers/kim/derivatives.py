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
from jounce.papers.kim.chain import Parameter, System, joint_derivative, system
from jounce.papers.kim.dynamics import (
    HybridDynamics,
    Velocities,
    external,
    hybrid_dynamics,
    inverse_dynamics,
)


class VelocityDerivatives(NamedTuple):
    """First forward recursion of Tables 5, 6 and 7, with the joints' part of eq. 64."""

    dh: AnyArray
    """(n, 6)."""
    dS: list[AnyArray]  # noqa: N815
    """(n) of (6, n_i)."""
    dV: AnyArray  # noqa: N815
    """(n+1, 6)."""
    deta: AnyArray
    """(n, 6)."""


def inverse_dynamics_derivative(
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
    dV_dot, dF = np.zeros_like(d.dV), -external(links, p.F_ext, d.dV.dtype)
    dV_dot[-1] = p.V_0_dot
    dtau: AnyArray = (p.armature * q_ddot + links.armature * p.q_ddot).astype(d.dV.dtype)
    for i, parent in enumerate(links.parent):
        rates = links.rates(i)
        driven = d.dS[i] @ q_ddot[rates] + x.S[i] @ p.q_ddot[rates] + d.deta[i]
        dV_dot[i] = _carried(x, d, i, y.V_dot[parent], dV_dot[parent]) + driven
    for i, parent in reversed(list(enumerate(links.parent))):
        dF[i] += p.I[i] @ y.V_dot[i] + links.I[i] @ dV_dot[i] + _gyroscopic(links, x, d, p, i)
        dtau[links.rates(i)] += d.dS[i].T @ y.F[i] + x.S[i].T @ dF[i]
        dF[parent] += x.Ad[i].T @ (dF[i] - lie.ad(d.dh[i]).T @ y.F[i])
    return dtau


def forward_dynamics_derivative(
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
    return hybrid_dynamics_derivative(model, q, q_dot, zero, tau, (), p, F_ext)[0]


class HybridDerivative(NamedTuple):
    """Derivatives of both results of hybrid dynamics by p (kim, Table 7)."""

    q_ddot: AnyArray
    """(nv,)."""
    tau: AnyArray
    """(nv,)."""


def hybrid_dynamics_derivative(
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
    dV_dot, dF = np.zeros_like(d.dV), np.zeros_like(d.deta)
    dV_dot[-1] = p.V_0_dot
    dq_ddot, dtau = p.q_ddot.astype(d.dV.dtype), p.tau.astype(d.dV.dtype)
    for i, parent in enumerate(links.parent):
        rates, S, dS = links.rates(i), x.S[i], d.dS[i]
        carried = x.Ad[i] @ y.V_dot[parent] + x.eta[i]
        dcarried = _carried(x, d, i, y.V_dot[parent], dV_dot[parent]) + d.deta[i]
        if i not in a:
            force = y.I_hat[i] @ carried + y.B_hat[i]
            dforce = dI_hat[i] @ carried + y.I_hat[i] @ dcarried + dB_hat[i]
            dq_ddot[rates] = dPsi[i] @ (y.tau[rates] - S.T @ force) + y.Psi[i] @ (
                dtau[rates] - dS.T @ force - S.T @ dforce
            )
        dV_dot[i] = dcarried + dS @ y.q_ddot[rates] + S @ dq_ddot[rates]
        dF[i] = dI_hat[i] @ y.V_dot[i] + y.I_hat[i] @ dV_dot[i] + dB_hat[i]
        if i in a:
            rotor = p.armature[rates] * y.q_ddot[rates] + links.armature[rates] * dq_ddot[rates]
            dtau[rates] = dS.T @ y.F[i] + S.T @ dF[i] + rotor
    return HybridDerivative(dq_ddot, dtau)


def _backward(
    links: System, y: HybridDynamics, d: VelocityDerivatives, a: Collection[int], p: Parameter
) -> tuple[AnyArray, AnyArray, list[AnyArray]]:
    """Derivatives of articulated inertias, bias forces and Psi: backward recursion of Table 7."""
    x = y.velocities
    dI_hat, dB_hat = np.zeros_like(y.I_hat), -external(links, p.F_ext, d.dV.dtype)
    dI_hat = dI_hat.astype(d.dV.dtype)
    dI_hat[:-1] = p.I
    dPsi = [np.zeros_like(Psi) for Psi in y.Psi]
    for i, parent in reversed(list(enumerate(links.parent))):
        rates, S, dS, Psi = links.rates(i), x.S[i], d.dS[i], y.Psi[i]
        I_hat, B_hat, eta = y.I_hat[i], y.B_hat[i], x.eta[i]
        dB_hat[i] += _gyroscopic(links, x, d, p, i)
        if i in a:
            dPi = dI_hat[i]
            push = eta + S @ y.q_ddot[rates]
            dpush = d.deta[i] + dS @ y.q_ddot[rates] + S @ p.q_ddot[rates]
        else:
            half = dS.T @ I_hat @ S
            rotor = np.diag(p.armature[rates])
            dPsi[i] = -Psi @ (S.T @ dI_hat[i] @ S + half + half.T + rotor) @ Psi
            IS = I_hat @ S
            twice = (dI_hat[i] @ S + I_hat @ dS) @ Psi @ IS.T
            dPi = dI_hat[i] - (IS @ dPsi[i] @ IS.T + twice + twice.T)
            force, dforce = I_hat @ eta + B_hat, dI_hat[i] @ eta + I_hat @ d.deta[i] + dB_hat[i]
            free = y.tau[rates] - S.T @ force
            dfree = p.tau[rates] - dS.T @ force - S.T @ dforce
            push = eta + S @ Psi @ free
            dpush = d.deta[i] + (dS @ Psi + S @ dPsi[i]) @ free + S @ Psi @ dfree
        dbeta = dB_hat[i] + dI_hat[i] @ push + I_hat @ dpush
        ad_dh = lie.ad(d.dh[i])
        turned = y.Pi[i] @ ad_dh
        dI_hat[parent] += x.Ad[i].T @ (dPi - turned - turned.T) @ x.Ad[i]
        dB_hat[parent] += x.Ad[i].T @ (dbeta - ad_dh.T @ y.beta[i])
    return dI_hat, dB_hat, dPsi


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
    given = [joint_derivative(links, i, q, q_dot, p) for i in range(n)]
    dtype = np.result_type(x.V, p.I, p.q_dot, *(dS for _, dS, _ in given))
    dV, deta = np.zeros((n + 1, 6), dtype), np.zeros((n, 6), dtype)
    d = VelocityDerivatives(np.stack([g[0] for g in given]), [g[1] for g in given], dV, deta)
    for i, parent in enumerate(links.parent):
        rates, drates = q_dot[links.rates(i)], p.q_dot[links.rates(i)]
        relative = d.dS[i] @ rates + x.S[i] @ drates
        dV[i] = _carried(x, d, i, x.V[parent], dV[parent]) + relative
        deta[i] = (
            lie.ad(dV[i]) @ x.S[i] @ rates
            + lie.ad(x.V[i]) @ relative
            + given[i][2] @ rates
            + x.S_dot[i] @ drates
        )
    return d


def _carried(x: Velocities, d: VelocityDerivatives, i: int, X: AnyArray, dX: AnyArray) -> AnyArray:
    """Derivative of Ad(T^-1) X for a twist X of the parent (Corollary 1, eq. 59)."""
    carried: AnyArray = x.Ad[i] @ dX - lie.ad(d.dh[i]) @ x.Ad[i] @ X
    return carried


def _gyroscopic(
    links: System, x: Velocities, d: VelocityDerivatives, p: Parameter, i: int
) -> AnyArray:
    """Derivative of -ad(V)^T I V."""
    I, V, dV = links.I[i], x.V[i], d.dV[i]  # noqa: E741
    change: AnyArray = -lie.ad(dV).T @ I @ V - lie.ad(V).T @ (p.I[i] @ V + I @ dV)
    return change
