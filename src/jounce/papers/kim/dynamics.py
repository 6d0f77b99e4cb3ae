"""Recursive inverse, forward and hybrid dynamics with multi-DoF joints (kim, Tables 2 to 4).

Arrays over bodies have one row more than there are bodies: the last one is the ground, which
``parent[i] == -1`` selects. Twists and wrenches are body-fixed, each in the frame of its body.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.model import Model
from jounce.papers.kim.chain import System, joint, system


class Velocities(NamedTuple):
    """First forward recursion of Tables 2, 3 and 4."""

    Ad: list[AnyArray]
    """(n) of (6, 6), Ad(T^-1) from the parent's frame to the body's."""
    S: list[AnyArray]
    """(n) of (6, n_i)."""
    S_dot: list[AnyArray]
    """(n) of (6, n_i)."""
    V: AnyArray
    """(n+1, 6) generalized velocities."""
    eta: AnyArray
    """(n, 6) ad(V_i) S_i q_i' + S_i' q_i'."""


class InverseDynamics(NamedTuple):
    """Result of Table 2."""

    tau: AnyArray
    """(nv,) joint forces."""
    V_dot: AnyArray
    """(n+1, 6) component-wise derivatives of the velocities; the ground's is (0, -gravity)."""
    F: AnyArray
    """(n+1, 6) wrenches on body i through joint i; the last row is minus that on the ground."""
    velocities: Velocities
    """The forward recursion before it."""


class HybridDynamics(NamedTuple):
    """Result of Tables 3 and 4."""

    q_ddot: AnyArray
    """(nv,) accelerations, given ones included."""
    tau: AnyArray
    """(nv,) joint forces, given ones included."""
    V_dot: AnyArray
    """(n+1, 6)."""
    F: AnyArray
    """(n, 6)."""
    I_hat: AnyArray
    """(n+1, 6, 6) articulated body inertias."""
    B_hat: AnyArray
    """(n+1, 6) bias forces."""
    Psi: list[AnyArray]
    """(n) of (n_i, n_i), (S^T I_hat S)^-1; zero where the acceleration is given."""
    Pi: AnyArray
    """(n, 6, 6)."""
    beta: AnyArray
    """(n, 6)."""
    velocities: Velocities
    """The forward recursion before it."""


def newton_euler(I: AnyArray, V: AnyArray, V_dot: AnyArray) -> AnyArray:  # noqa: E741
    """Wrench that moves a rigid body: F = I V' - ad(V)^T I V, body-fixed (kim, eq. 31).

    Args:
        I: (6, 6) generalized inertia (eq. 20).
        V: (6,) generalized velocity.
        V_dot: (6,) its component-wise time derivative.
    """
    F: AnyArray = I @ V_dot - lie.ad(V).T @ I @ V
    return F


def inverse_dynamics(
    model: Model | System,
    q: ArrayLike,
    q_dot: ArrayLike,
    q_ddot: ArrayLike,
    F_ext: ArrayLike | None = None,
) -> InverseDynamics:
    """Joint forces for given accelerations (kim, Table 2; eq. 36, 40, 41).

    Args:
        model: the robot, or its `System`.
        q: (nq,) coordinates.
        q_dot: (nv,) rates.
        q_ddot: (nv,) accelerations.
        F_ext: (n_bodies, 6) body-fixed wrenches on the bodies.
    """
    links = system(model)
    q_ddot = np.asarray(q_ddot)
    x = velocities(links, q, q_dot)
    F = -external(links, F_ext, number_type(x, q_ddot))
    V_dot = np.zeros_like(F)
    V_dot[-1] = links.V_0_dot
    tau = links.armature * q_ddot
    tau = tau.astype(F.dtype)
    for i, parent in enumerate(links.parent):
        V_dot[i] = x.Ad[i] @ V_dot[parent] + x.eta[i] + x.S[i] @ q_ddot[links.rates(i)]  # (40)
    for i, parent in reversed(list(enumerate(links.parent))):
        F[i] += newton_euler(links.I[i], x.V[i], V_dot[i])  # (41)
        tau[links.rates(i)] += x.S[i].T @ F[i]
        F[parent] += x.Ad[i].T @ F[i]
    return InverseDynamics(tau, V_dot, F, x)


def forward_dynamics(
    model: Model | System,
    q: ArrayLike,
    q_dot: ArrayLike,
    tau: ArrayLike,
    F_ext: ArrayLike | None = None,
) -> HybridDynamics:
    """Accelerations for given joint forces (kim, Table 3; eq. 42 to 49).

    Table 3 is Table 4 without acceleration-prescribed joints, and is called so.

    Args:
        model: the robot, or its `System`.
        q: (nq,) coordinates.
        q_dot: (nv,) rates.
        tau: (nv,) joint forces.
        F_ext: (n_bodies, 6) body-fixed wrenches on the bodies.
    """
    return hybrid_dynamics(model, q, q_dot, np.zeros_like(tau), tau, (), F_ext)


def hybrid_dynamics(
    model: Model | System,
    q: ArrayLike,
    q_dot: ArrayLike,
    q_ddot: ArrayLike,
    tau: ArrayLike,
    a: Collection[int],
    F_ext: ArrayLike | None = None,
) -> HybridDynamics:
    """Accelerations given in the joints `a`, forces in the others (kim, Table 4; eq. 50 to 52).

    Args:
        model: the robot, or its `System`.
        q: (nq,) coordinates.
        q_dot: (nv,) rates.
        q_ddot: (nv,) accelerations, read in the joints `a`.
        tau: (nv,) joint forces, read in the others.
        a: indices of the acceleration-prescribed joints of the model, each prescribed as a whole.
        F_ext: (n_bodies, 6) body-fixed wrenches on the bodies.
    """
    links = system(model)
    x = velocities(links, q, q_dot)
    dtype = number_type(x, np.asarray(q_ddot), np.asarray(tau))
    q_ddot, tau = np.array(q_ddot, dtype), np.array(tau, dtype)
    I_hat, B_hat, Psi, Pi, beta = _backward(links, x, q_ddot, tau, a, external(links, F_ext, dtype))
    V_dot, F = np.zeros_like(B_hat), np.zeros_like(B_hat[:-1])
    V_dot[-1] = links.V_0_dot
    for i, parent in enumerate(links.parent):
        rates, carried = links.rates(i), x.Ad[i] @ V_dot[parent] + x.eta[i]
        if i not in a:
            q_ddot[rates] = Psi[i] @ (
                tau[rates] - x.S[i].T @ (I_hat[i] @ carried + B_hat[i])
            )  # (44)
        V_dot[i] = carried + x.S[i] @ q_ddot[rates]  # (40)
        F[i] = I_hat[i] @ V_dot[i] + B_hat[i]  # (42)
        if i in a:
            tau[rates] = x.S[i].T @ F[i] + links.armature[rates] * q_ddot[rates]
    return HybridDynamics(q_ddot, tau, V_dot, F, I_hat, B_hat, Psi, Pi, beta, x)


def _backward(
    links: System,
    x: Velocities,
    q_ddot: AnyArray,
    tau: AnyArray,
    a: Collection[int],
    F_ext: AnyArray,
) -> tuple[AnyArray, AnyArray, list[AnyArray], AnyArray, AnyArray]:
    """Articulated inertias and bias forces: the backward recursion of Tables 3 and 4."""
    n, dtype = len(links.parent), F_ext.dtype
    I_hat, B_hat = np.zeros((n + 1, 6, 6), dtype), -F_ext
    I_hat[:-1] = links.I
    Pi, beta, Psi = np.zeros((n, 6, 6), dtype), np.zeros((n, 6), dtype), [np.zeros((0, 0))] * n
    for i, parent in reversed(list(enumerate(links.parent))):
        rates, S = links.rates(i), x.S[i]
        B_hat[i] -= lie.ad(x.V[i]).T @ links.I[i] @ x.V[i]
        IS = I_hat[i] @ S
        if i in a:
            Psi[i] = np.zeros((S.shape[1], S.shape[1]))
            push = x.eta[i] + S @ q_ddot[rates]
        else:
            Psi[i] = np.linalg.inv(S.T @ IS + np.diag(links.armature[rates]))
            free = tau[rates] - S.T @ (I_hat[i] @ x.eta[i] + B_hat[i])
            push = x.eta[i] + S @ Psi[i] @ free
        Pi[i] = I_hat[i] - IS @ Psi[i] @ IS.T
        beta[i] = B_hat[i] + I_hat[i] @ push
        I_hat[parent] += x.Ad[i].T @ Pi[i] @ x.Ad[i]  # (51)
        B_hat[parent] += x.Ad[i].T @ beta[i]  # (52)
    return I_hat, B_hat, Psi, Pi, beta


def velocities(links: System, q: ArrayLike, q_dot: ArrayLike) -> Velocities:
    """Forward recursion that Tables 2, 3 and 4 begin with (kim, eq. 36).

    Args:
        links: the robot.
        q: (nq,) coordinates.
        q_dot: (nv,) rates.
    """
    q, q_dot = np.asarray(q), np.asarray(q_dot)
    joints = [joint(links, i, q, q_dot) for i in range(len(links.parent))]
    Ad = [lie.Ad(lie.inverse(T)) for T, _, _ in joints]
    S, S_dot = [S for _, S, _ in joints], [S_dot for _, _, S_dot in joints]
    dtype = np.result_type(links.I, q_dot, *Ad, *S)
    V, eta = np.zeros((len(Ad) + 1, 6), dtype), np.zeros((len(Ad), 6), dtype)
    for i, parent in enumerate(links.parent):
        rates = q_dot[links.rates(i)]
        V[i] = Ad[i] @ V[parent] + S[i] @ rates  # (36)
        eta[i] = lie.ad(V[i]) @ S[i] @ rates + S_dot[i] @ rates
    return Velocities(Ad, S, S_dot, V, eta)


def external(links: System, F_ext: ArrayLike | None, dtype: npt.DTypeLike = float) -> AnyArray:
    """External wrenches by joint instead of by body, with a row for the ground; (n+1, 6)."""
    F = np.zeros((len(links.parent) + 1, 6), np.result_type(dtype, float))
    if F_ext is not None:
        F = F.astype(np.result_type(F, np.asarray(F_ext)))
        F[list(links.body)] = F_ext
    return F


def number_type(x: Velocities, *others: AnyArray) -> np.dtype[Any]:
    """Real unless something is complex."""
    return np.result_type(x.V, *others)
