"""Recursive inverse, forward and hybrid dynamics with multi-DoF joints (kim, Tables 2 to 4).

Arrays over bodies have one row more than there are bodies: the last one is the ground, which
``parent[i] == -1`` selects. Twists and wrenches are body-fixed, each in the frame of its body.
Batch axes of states come behind the axis of bodies and before that of rates.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.model import Model
from jounce.papers.joints import apply, transposed
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
        I: (..., 6, 6) generalized inertia (eq. 20).
        V: (..., 6) generalized velocity.
        V_dot: (..., 6) its component-wise time derivative.
    """
    return apply(I, V_dot) - apply(transposed(lie.ad(V)) @ I, V)


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
    F = -external(links, F_ext, x.V, q_ddot)
    V_dot = np.zeros_like(F)
    V_dot[-1] = links.V_0_dot
    tau = np.zeros((*F.shape[1:-1], q_ddot.shape[-1]), F.dtype) + links.armature * q_ddot
    for i, parent in enumerate(links.parent):
        carried = apply(x.Ad[i], V_dot[parent]) + x.eta[i]
        V_dot[i] = carried + apply(x.S[i], q_ddot[..., links.rates(i)])  # (40)
    for i, parent in reversed(list(enumerate(links.parent))):
        F[i] += newton_euler(links.I[i], x.V[i], V_dot[i])  # (41)
        tau[..., links.rates(i)] += apply(transposed(x.S[i]), F[i])
        F[parent] += apply(transposed(x.Ad[i]), F[i])
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
    F_ext = external(links, F_ext, x.V, np.asarray(q_ddot), np.asarray(tau))
    shape = (*F_ext.shape[1:-1], np.shape(tau)[-1])
    q_ddot, tau = (np.array(np.broadcast_to(y, shape), F_ext.dtype) for y in (q_ddot, tau))
    I_hat, B_hat, Psi, Pi, beta = _backward(links, x, q_ddot, tau, a, F_ext)
    V_dot, F = np.zeros_like(B_hat), np.zeros_like(B_hat[:-1])
    V_dot[-1] = links.V_0_dot
    for i, parent in enumerate(links.parent):
        rates, S = links.rates(i), x.S[i]
        carried = apply(x.Ad[i], V_dot[parent]) + x.eta[i]
        if i not in a:
            force = apply(I_hat[i], carried) + B_hat[i]
            q_ddot[..., rates] = apply(
                Psi[i], tau[..., rates] - apply(transposed(S), force)
            )  # (44)
        V_dot[i] = carried + apply(S, q_ddot[..., rates])  # (40)
        F[i] = apply(I_hat[i], V_dot[i]) + B_hat[i]  # (42)
        if i in a:
            rotor = (links.armature * q_ddot)[..., rates]
            tau[..., rates] = apply(transposed(S), F[i]) + rotor
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
    n, lead, dtype = len(links.parent), F_ext.shape[1:-1], F_ext.dtype
    I_hat, B_hat = np.zeros((n + 1, *lead, 6, 6), dtype), -F_ext
    Pi, beta = np.zeros((n, *lead, 6, 6), dtype), np.zeros((n, *lead, 6), dtype)
    Psi = [np.zeros((x.S[i].shape[-1],) * 2) for i in range(n)]
    for i, parent in reversed(list(enumerate(links.parent))):
        rates, S, S_T = links.rates(i), x.S[i], transposed(x.S[i])
        I_hat[i] += links.I[i]
        B_hat[i] -= apply(transposed(lie.ad(x.V[i])) @ links.I[i], x.V[i])
        IS = I_hat[i] @ S
        if i in a:
            push = x.eta[i] + apply(S, q_ddot[..., rates])
        else:
            Psi[i] = np.linalg.inv(S_T @ IS + diagonal(links.armature[..., rates]))
            free = tau[..., rates] - apply(S_T, apply(I_hat[i], x.eta[i]) + B_hat[i])
            push = x.eta[i] + apply(S @ Psi[i], free)
        Pi[i] = I_hat[i] - IS @ Psi[i] @ transposed(IS)
        beta[i] = B_hat[i] + apply(I_hat[i], push)
        Ad_T = transposed(x.Ad[i])
        I_hat[parent] += Ad_T @ Pi[i] @ x.Ad[i]  # (51)
        B_hat[parent] += apply(Ad_T, beta[i])  # (52)
    return I_hat, B_hat, Psi, Pi, beta


def diagonal(x: AnyArray) -> AnyArray:
    """Diagonal matrices (..., n, n) of the rows of x (..., n)."""
    out: AnyArray = x[..., None] * np.eye(x.shape[-1])
    return out


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
    lead = np.broadcast_shapes(q_dot.shape[:-1], *(x.shape[:-2] for x in (*Ad, *S)))
    V, eta = (np.zeros((n, *lead, 6), dtype) for n in (len(Ad) + 1, len(Ad)))
    for i, parent in enumerate(links.parent):
        rates = q_dot[..., links.rates(i)]
        V[i] = apply(Ad[i], V[parent]) + apply(S[i], rates)  # (36)
        eta[i] = apply(lie.ad(V[i]) @ S[i], rates) + apply(S_dot[i], rates)
    return Velocities(Ad, S, S_dot, V, eta)


def external(links: System, F_ext: ArrayLike | None, V: AnyArray, *inputs: AnyArray) -> AnyArray:
    """External wrenches by joint instead of by body, with a row for the ground; (n+1, ..., 6).

    Args:
        links: the robot.
        F_ext: (n_bodies, ..., 6) wrenches on the bodies.
        V: (n+1, ..., 6) velocities, which with F_ext and the inputs say what is complex.
        inputs: (..., nv) accelerations or forces.
    """
    given = np.zeros((len(links.body), 6)) if F_ext is None else np.asarray(F_ext)
    leads = (x.shape[:-1] for x in inputs)
    lead = np.broadcast_shapes(V.shape[1:-1], given.shape[1:-1], links.I.shape[1:-2], *leads)
    F = np.zeros((len(V), *lead, 6), np.result_type(V, given, links.V_0_dot, *inputs))
    for joint_of_body, wrench in zip(links.body, given, strict=True):
        F[joint_of_body] = wrench
    return F
