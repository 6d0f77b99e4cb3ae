"""Algorithm 1 in body coordinates, which singh compares with ground coordinates in Fig. 3.

The quantities are those of `IDSVA`, each in the frame of its body. What a body hands to its parent,
composite inertias and the columns t1 to t4 of its subtree, is transformed at every step.
"""

from __future__ import annotations

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.model import Model, inertia
from jounce.papers.joints import apply, joint_poses, spans
from jounce.papers.singh.ground import bar, cross, cross_dual
from jounce.papers.singh.inverse import Partials

__all__ = ["IDSVA_body"]


def IDSVA_body(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Partials:
    """Partial derivatives of inverse dynamics, Algorithm 1 in body coordinates (singh, Fig. 3).

    Args:
        model: any tree.
        q: (nq,) coordinates.
        qd: (nv,) rates.
        qdd: (nv,) accelerations.

    Identity: equal to `IDSVA`.
    """
    parent, joint = [int(p) for p in model.nodes.parent], spans(model.nodes.v_index, model.nv)
    N, n = len(parent), model.nv
    X = lie.Ad(lie.inverse(joint_poses(model, q)))  # from the parent to the body
    I_C = inertia.matrix(model.nodes.parameters).astype(X.dtype)
    S = model.nodes.screws
    v, a, Psidot, Psiddot, Sdot = _outward(model, X, np.asarray(qd), np.asarray(qdd))
    h = apply(I_C, v)
    B_C = (cross_dual(v) @ I_C - I_C @ cross(v) + bar(h)) / 2
    f_C = apply(I_C, a) + apply(cross_dual(v), h)
    last = [k.stop for k in joint]
    t = np.zeros((4, 6, n), v.dtype)
    dq, dqd = np.zeros((n, n), v.dtype), np.zeros((n, n), v.dtype)
    for i in range(N - 1, -1, -1):
        k = joint[i]
        S_i, both = S[:, k], Sdot[:, k] + Psidot[:, k]
        t[0][:, k] = I_C[i] @ S_i
        t[1][:, k] = 2 * B_C[i] @ S_i + I_C[i] @ both
        t[2][:, k] = 2 * B_C[i] @ Psidot[:, k] + I_C[i] @ Psiddot[:, k] + bar(f_C[i]) @ S_i
        t[3][:, k] = 2 * B_C[i].T @ S_i
        nu, nu_bar = slice(k.start, last[i]), slice(k.stop, last[i])
        dq[k, nu_bar] = S_i.T @ t[2][:, nu_bar]
        dqd[k, nu_bar] = S_i.T @ t[1][:, nu_bar]
        dq[nu, k] = t[3][:, nu].T @ Psidot[:, k] + t[0][:, nu].T @ Psiddot[:, k]
        dqd[nu, k] = t[3][:, nu].T @ S_i + t[0][:, nu].T @ both
        p = parent[i]
        if p >= 0:
            I_C[p] += X[i].T @ I_C[i] @ X[i]
            B_C[p] += X[i].T @ B_C[i] @ X[i]
            f_C[p] += X[i].T @ f_C[i]
            t[:, :, nu] = X[i].T @ t[:, :, nu]  # the subtree's columns move to the parent
            last[p] = max(last[p], last[i])
    return Partials(dq, dqd)


def _outward(
    model: Model, X: AnyArray, qd: AnyArray, qdd: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray, AnyArray]:
    """Velocities and accelerations (N, 6), Psidot, Psiddot and Sdot (6, n), lines 1 to 7."""
    joint = spans(model.nodes.v_index, model.nv)
    dtype = np.result_type(X, qd, qdd)
    v, a = np.zeros((2, len(X), 6), dtype)
    Psidot, Psiddot, Sdot = np.zeros((3, 6, model.nv), dtype)
    ground = np.zeros(6)
    ground[3:] = -model.gravity
    for i, (p, k) in enumerate(zip(model.nodes.parent, joint, strict=True)):
        S_i = model.nodes.screws[:, k]
        v_p, a_p = (X[i] @ v[p], X[i] @ a[p]) if p >= 0 else (np.zeros(6), X[i] @ ground)
        v[i] = v_p + S_i @ qd[k]
        Sdot[:, k] = cross(v[i]) @ S_i
        a[i] = a_p + S_i @ qdd[k] + Sdot[:, k] @ qd[k]
        Psidot[:, k] = cross(v_p) @ S_i
        Psiddot[:, k] = cross(a_p) @ S_i + cross(v_p) @ Psidot[:, k]
    return v, a, Psidot, Psiddot, Sdot
