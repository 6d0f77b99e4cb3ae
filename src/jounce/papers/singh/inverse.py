"""Partial derivatives of inverse dynamics (singh, Sec. IV-A to IV-D, Table II).

`IDSVA` is Algorithm 1. The closed forms it evaluates are here entry by entry, and so are those of
the three parts of tau. `RNEACR` is the chain rule on the Newton-Euler recursion in body
coordinates, which the paper compares with. Rotor inertias play no part: their forces depend on
qdd only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.model import Model, inertia
from jounce.papers.joints import apply, joint_poses, spans
from jounce.papers.singh.ground import (
    Ground,
    bar,
    cross,
    cross_dual,
    first_pass,
)

__all__ = [
    "IDSVA",
    "RNEACR",
    "Partials",
    "coriolis_dq",
    "gravity_dq",
    "mass_dq",
    "torque_dq",
    "torque_dqd",
]


class Partials(NamedTuple):
    """Partial derivatives with respect to q (in the tangent space) and qd, (n, n) each."""

    dq: AnyArray
    dqd: AnyArray


def IDSVA(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Partials:
    """Partial derivatives of inverse dynamics, O(N d) (singh, Algorithm 1).

    Args:
        model: any tree.
        q: (nq,) coordinates.
        qd: (nv,) rates.
        qdd: (nv,) accelerations.

    Returns:
        d tau / d q and d tau / d qd, (n, n); zero for bodies on different branches.
    """
    g = first_pass(model, q, qd, qdd)  # 1-11
    N, n = len(g.parent), model.nv
    I_C, B_C, f_C = g.I.copy(), g.B.copy(), g.f.copy()
    last = [k.stop for k in g.joint]  # a subtree is a contiguous range of rates
    t1, t2, t3, t4 = (np.zeros((6, n), g.S.dtype) for _ in range(4))
    dq, dqd = np.zeros((n, n), g.S.dtype), np.zeros((n, n), g.S.dtype)
    for i in range(N - 1, -1, -1):  # 12
        k = g.joint[i]
        S_i, Psidot, both = g.S[:, k], g.Psidot[:, k], g.Sdot[:, k] + g.Psidot[:, k]
        t1[:, k] = I_C[i] @ S_i  # 13
        t2[:, k] = 2 * B_C[i] @ S_i + I_C[i] @ both  # 14
        t3[:, k] = 2 * B_C[i] @ Psidot + I_C[i] @ g.Psiddot[:, k] + bar(f_C[i]) @ S_i  # 15
        t4[:, k] = 2 * B_C[i].T @ S_i  # 16
        nu, nu_bar = slice(k.start, last[i]), slice(k.stop, last[i])
        dq[k, nu_bar] = S_i.T @ t3[:, nu_bar]  # 17
        dqd[k, nu_bar] = S_i.T @ t2[:, nu_bar]  # 18
        dq[nu, k] = t4[:, nu].T @ Psidot + t1[:, nu].T @ g.Psiddot[:, k]  # 19
        dqd[nu, k] = t4[:, nu].T @ S_i + t1[:, nu].T @ both  # 20
        p = g.parent[i]
        if p >= 0:  # 21
            I_C[p] += I_C[i]  # 22
            B_C[p] += B_C[i]  # 22
            f_C[p] += f_C[i]  # 23
            last[p] = max(last[p], last[i])
    return Partials(dq, dqd)  # 26


def _assemble(
    g: Ground, below: Callable[[int, slice], AnyArray], above: Callable[[int, slice], AnyArray]
) -> AnyArray:
    """Fill an (n, n) matrix from closed forms for ``j <= i``.

    Args:
        g: from `first_pass`.
        below: gives the force whose product with S_i^T is d tau_i / d q_j, from (i, joint[j]).
        above: gives the force whose product with S_j^T is d tau_j / d q_i, from (i, joint[i]).
    """
    n = g.model.nv
    out = np.zeros((n, n), g.S.dtype)
    for i, k in enumerate(g.joint):
        j = i
        while j >= 0:
            at_j = g.joint[j]
            out[k, at_j] = g.S[:, k].T @ below(i, at_j)
            if j != i:
                out[at_j, k] = g.S[:, at_j].T @ above(i, k)
            j = g.parent[j]
    return out


def _crossed(g: Ground, x: AnyArray) -> AnyArray:
    """``x_lambda(j) x S_j`` for all joints, (6, n), of motion vectors x (N + 1, 6)."""
    columns = [cross(x[p]) @ g.S[:, k] for p, k in zip(g.parent, g.joint, strict=True)]
    return np.hstack(columns)


def mass_dq(g: Ground) -> AnyArray:
    """``d (M qdd) / d q`` at constant qdd, (n, n) (singh, eq. 25)."""
    I_C = g.composite(g.I)
    eta_C = g.composite(apply(g.I, g.gamma[:-1]))
    gamma_S = _crossed(g, g.gamma)
    return _assemble(
        g,
        lambda i, j: I_C[i] @ gamma_S[:, j],
        lambda i, k: bar(eta_C[i]) @ g.S[:, k] + I_C[i] @ gamma_S[:, k],
    )


def coriolis_dq(g: Ground) -> AnyArray:
    """``d (C qd) / d q``, (n, n) (singh, eq. 26 and 27)."""
    I_C, B_C = g.composite(g.I), g.composite(g.B)
    zeta = g.f - apply(g.I, g.gamma[:-1] + g.a[-1])
    zeta_C = g.composite(zeta)
    v_Psidot = np.hstack(
        [cross(g.v[p]) @ g.Psidot[:, k] for p, k in zip(g.parent, g.joint, strict=True)]
    )
    accelerations = v_Psidot + _crossed(g, g.xi)

    def below(i: int, j: slice) -> AnyArray:
        out: AnyArray = 2 * B_C[i] @ g.Psidot[:, j] + I_C[i] @ accelerations[:, j]
        return out

    return _assemble(g, below, lambda i, k: below(i, k) + bar(zeta_C[i]) @ g.S[:, k])


def gravity_dq(g: Ground) -> AnyArray:
    """Derivative of the gravity forces in q, (n, n) (singh, eq. 29)."""
    I_C, a_0 = g.composite(g.I), g.a[-1]
    a_S = cross(a_0) @ g.S
    return _assemble(
        g,
        lambda i, j: I_C[i] @ a_S[:, j],
        lambda i, k: bar(I_C[i] @ a_0) @ g.S[:, k] + I_C[i] @ a_S[:, k],
    )


def torque_dq(g: Ground) -> AnyArray:
    """``d tau / d q`` in closed form, (n, n) (singh, eq. 30 with 31)."""
    I_C, B_C, f_C = g.composite(g.I), g.composite(g.B), g.composite(g.f)

    def below(i: int, j: slice) -> AnyArray:
        out: AnyArray = 2 * B_C[i] @ g.Psidot[:, j] + I_C[i] @ g.Psiddot[:, j]
        return out

    return _assemble(g, below, lambda i, k: below(i, k) + bar(f_C[i]) @ g.S[:, k])


def torque_dqd(g: Ground) -> AnyArray:
    """``d tau / d qd`` in closed form, (n, n) (singh, eq. 32)."""
    I_C, B_C = g.composite(g.I), g.composite(g.B)

    def force(i: int, j: slice) -> AnyArray:
        out: AnyArray = 2 * B_C[i] @ g.S[:, j] + I_C[i] @ (g.Psidot[:, j] + g.Sdot[:, j])
        return out

    return _assemble(g, force, force)


def RNEACR(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Partials:
    """Partial derivatives of inverse dynamics by the chain rule on RNEA (singh, Table II).

    Forward accumulation in body coordinates: beside every vector x of the recursion runs its
    derivative dx (6, 2n) with respect to (q, qd).
    """
    qd, qdd = np.asarray(qd), np.asarray(qdd)
    parent, joint = [int(p) for p in model.nodes.parent], spans(model.nodes.v_index, model.nv)
    N, n = len(parent), model.nv
    X = lie.Ad(lie.inverse(joint_poses(model, q)))
    I_body = inertia.matrix(model.nodes.parameters)
    dtype = np.result_type(X, qd, qdd)
    v, a, f = (np.zeros((N + 1, 6), dtype) for _ in range(3))
    dv, da, df = (np.zeros((N + 1, 6, 2 * n), dtype) for _ in range(3))
    a[-1, 3:] = -model.gravity
    for i in range(N):
        p, k = parent[i], joint[i]
        kd = slice(n + k.start, n + k.stop)
        S = model.nodes.screws[:, k]
        v_J = S @ qd[k]
        v[i] = X[i] @ v[p] + v_J
        dv[i] = X[i] @ dv[p]
        dv[i][:, k] += cross(X[i] @ v[p]) @ S
        dv[i][:, kd] += S
        a[i] = X[i] @ a[p] + S @ qdd[k] + cross(v[i]) @ v_J
        da[i] = X[i] @ da[p] - cross(v_J) @ dv[i]
        da[i][:, k] += cross(X[i] @ a[p]) @ S
        da[i][:, kd] += cross(v[i]) @ S
        h = I_body[i] @ v[i]
        f[i] = I_body[i] @ a[i] + cross_dual(v[i]) @ h
        df[i] = I_body[i] @ da[i] + bar(h) @ dv[i] + cross_dual(v[i]) @ I_body[i] @ dv[i]
    out = np.zeros((n, 2 * n), dtype)
    for i in range(N - 1, -1, -1):
        p, k = parent[i], joint[i]
        S = model.nodes.screws[:, k]
        out[k] = S.T @ df[i]
        df[i][:, k] += bar(f[i]) @ S
        f[p] += X[i].T @ f[i]
        df[p] += X[i].T @ df[i]
    return Partials(out[:, :n], out[:, n:])
