"""Identities of spatial algebra and of multi-DoF joints (singh, Appendices B and C).

`J1` to `J9` return the right-hand sides for bodies i and j, zero unless ``j <= i``. The p-th
column (first index in `J1`) is the derivative along the p-th free mode of joint j. A test compares
each with the complex step of its left-hand side. `P` returns both sides of P1 to P7.
"""

from __future__ import annotations

import numpy as np

from jounce._types import AnyArray
from jounce.papers.singh.ground import Ground, bar, cross, cross_dual

__all__ = ["J1", "J2", "J3", "J4", "J5", "J6", "J7", "J8", "J9", "P"]


def P(v: AnyArray, m: AnyArray, f: AnyArray) -> dict[str, tuple[AnyArray, AnyArray]]:
    """Both sides of the properties P1 to P7 for motion vectors v, m and a force vector f (6,)."""
    vx, mx, vxd, mxd, fb = cross(v), cross(m), cross_dual(v), cross_dual(m), bar(f)
    return {
        "P1": (cross(vx @ m), vx @ mx - mx @ vx),
        "P2": (cross_dual(vx @ m), vxd @ mxd - mxd @ vxd),
        "P3": (bar(vxd @ f), vxd @ fb - fb @ vx),
        "P4": ((vx @ m) @ f, -m @ (vxd @ f)),
        "P5": ((vxd @ f) @ m, -f @ (vx @ m)),
        "P6": (vx @ m, -m @ vxd),
        "P7": (vxd @ f, -f @ vx),
    }


def J1(g: Ground, i: int, j: int) -> AnyArray:
    """``dS_i / dq_{j,p} = s_{j,p} x S_i``, (n_j, 6, n_i)."""
    out: AnyArray = cross(g.S[:, g.joint[j]].T) @ g.S[:, g.joint[i]]
    return out if g.is_ancestor(j, i) else 0 * out


def J2(g: Ground, i: int, j: int, f: AnyArray) -> AnyArray:
    """``d(v_i x* f) / dq_j = f xbar* ((v_lambda(j) - v_i) x S_j)``, (6, n_j), f fixed."""
    out: AnyArray = bar(f) @ cross(g.v[g.parent[j]] - g.v[i]) @ g.S[:, g.joint[j]]
    return out if g.is_ancestor(j, i) else 0 * out


def J3(g: Ground, i: int, j: int, f: AnyArray) -> AnyArray:
    """``d(S_i^T f) / dq_j = -S_i^T (f xbar* S_j)``, (n_i, n_j), f fixed."""
    out: AnyArray = -g.S[:, g.joint[i]].T @ bar(f) @ g.S[:, g.joint[j]]
    return out if g.is_ancestor(j, i) else 0 * out


def J4(g: Ground, i: int, j: int, a: AnyArray) -> AnyArray:
    """``d(I_i a) / dq_j = (I_i a) xbar* S_j + I_i (a x S_j)``, (6, n_j), a fixed."""
    out: AnyArray = (bar(g.I[i] @ a) + g.I[i] @ cross(a)) @ g.S[:, g.joint[j]]
    return out if g.is_ancestor(j, i) else 0 * out


def J5(g: Ground, i: int, j: int) -> AnyArray:
    """``d(I_i v_i) / dq_j = (I_i v_i) xbar* S_j + I_i Psidot_j``, (6, n_j)."""
    k = g.joint[j]
    out: AnyArray = bar(g.I[i] @ g.v[i]) @ g.S[:, k] + g.I[i] @ g.Psidot[:, k]
    return out if g.is_ancestor(j, i) else 0 * out


def J6(g: Ground, i: int, j: int) -> AnyArray:
    """``dxi_i / dq_j = (v_lambda(j) - v_i) x Psidot_j + (xi_lambda(j) - xi_i) x S_j``, (6, n_j)."""
    k, p = g.joint[j], g.parent[j]
    rates = cross(g.v[p] - g.v[i]) @ g.Psidot[:, k]
    out: AnyArray = rates + cross(g.xi[p] - g.xi[i]) @ g.S[:, k]
    return out if g.is_ancestor(j, i) else 0 * out


def J7(g: Ground, i: int, j: int) -> AnyArray:
    """``dgamma_i / dq_j = (gamma_lambda(j) - gamma_i) x S_j``, (6, n_j)."""
    out: AnyArray = cross(g.gamma[g.parent[j]] - g.gamma[i]) @ g.S[:, g.joint[j]]
    return out if g.is_ancestor(j, i) else 0 * out


def J8(g: Ground, i: int, j: int) -> AnyArray:
    """``dv_i / dqd_j = S_j``, (6, n_j)."""
    out: AnyArray = np.array(g.S[:, g.joint[j]])
    return out if g.is_ancestor(j, i) else 0 * out


def J9(g: Ground, i: int, j: int) -> AnyArray:
    """``dxi_i / dqd_j = Psidot_j + Sdot_j - v_i x S_j``, (6, n_j)."""
    k = g.joint[j]
    out: AnyArray = g.Psidot[:, k] + g.Sdot[:, k] - cross(g.v[i]) @ g.S[:, k]
    return out if g.is_ancestor(j, i) else 0 * out
