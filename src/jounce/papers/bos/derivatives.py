"""Derivatives of the extended inverse dynamics in H, s, v, r (bos, Tables 5 to 8).

Each function takes what `dynamics.EIDAmb` returns. The comment of a line is its number in the
paper's table. The result has the base's six rows first. ``_along(dv, w)`` is ``dv x w`` column by
column. Rotor inertias do not appear: their forces depend on accelerations only.
"""

from __future__ import annotations

import numpy as np

from jounce._types import AnyArray
from jounce.errors import ArgumentError
from jounce.papers.bos.algebra import bar, cross, cross_dual, jcalcderv
from jounce.papers.bos.dynamics import Extended

__all__ = ["dID_dH", "dID_dr", "dID_ds", "dID_dv"]


def _along(dv: AnyArray, w: AnyArray) -> AnyArray:
    out: AnyArray = -cross(w) @ dv
    return out


def _bias(e: Extended, i: int, dv: AnyArray, da: AnyArray) -> AnyArray:
    """Derivative of ``M a + v xbar* m`` (Table 4, lines 10 and 21) and of ``m`` in it."""
    dm = e.M[i] @ dv
    out: AnyArray = e.M[i] @ da + bar(e.m[i]) @ dv + cross_dual(e.v[i]) @ dm
    return out


def _joint_rows(e: Extended, db: list[AnyArray]) -> AnyArray:
    """Stack the base's rows and ``Gamma_Ji^T db_i``."""
    rows = [e.Gamma[i] @ db[i] for i in range(1, len(db))]
    return np.vstack([db[0], *rows])


def dID_dH(e: Extended, velocity: str = "body") -> AnyArray:
    """Left-trivialized derivative of ID in the base's pose H, (n, 6) (bos, Table 5).

    Args:
        e: from `EIDAmb`.
        velocity: which twist of the base stays the same while H moves. "body": that of the state
            (H, s, v, r), as eq. 39 and 42 need it. "inertial": ``^A v_{A,0}``, the input of
            Table 4, as the table is printed.

    Deviation: line 1 is zero for "body". Line 12 adds to the parent's wrench, not to the child's.
    """
    if velocity not in ("body", "inertial"):
        raise ArgumentError(f"velocity must be 'body' or 'inertial', got {velocity!r}")
    lam, n = e.parent, len(e.parent)
    dv = [cross(e.v[0]) * (velocity == "inertial")]  # 1, eq. 67: (^0 X_A ^A v) x
    da = [cross(e.a_r[0])]  # 2, eq. 68
    db = [_bias(e, 0, dv[0], da[0])]  # 3-4
    for i in range(1, n):  # 5
        dv.append(e.X[i] @ dv[lam[i]])  # 6
        da.append(e.X[i] @ da[lam[i]] + _along(dv[i], e.v_J[i]))  # 7
        db.append(_bias(e, i, dv[i], da[i]))  # 8-9
    for i in range(n - 1, 0, -1):  # 11
        db[lam[i]] = db[lam[i]] + e.X[i].T @ db[i]  # 12
    return _joint_rows(e, db)  # 14-17


def dID_dv(e: Extended) -> AnyArray:
    """Derivative of ID in the base's body-fixed twist v, (n, 6) (bos, Table 7)."""
    lam, n = e.parent, len(e.parent)
    dv = [np.eye(6)]  # 1
    da = [np.zeros((6, 6))]
    db = [_bias(e, 0, dv[0], da[0])]  # 2-3
    for i in range(1, n):  # 4
        dv.append(e.X[i] @ dv[lam[i]])  # 5
        da.append(e.X[i] @ da[lam[i]] + _along(dv[i], e.v_J[i]))  # 6
        db.append(_bias(e, i, dv[i], da[i]))  # 7-8
    for i in range(n - 1, 0, -1):  # 10
        db[lam[i]] = db[lam[i]] + e.X[i].T @ db[i]  # 11
    return _joint_rows(e, db)  # 13-16


def dID_dr(e: Extended) -> AnyArray:
    """Derivative of ID in the joint rates r, (n, n_J) (bos, Table 8)."""
    lam, n = e.parent, len(e.parent)
    dtype = e.tau_bar.dtype
    dv, da, db = ([np.zeros((6, n - 1), dtype)] for _ in range(3))
    for i in range(1, n):  # 1
        dv.append(e.X[i] @ dv[lam[i]])  # 3
        dv[i][:, i - 1] += e.Gamma[i]  # 2, 4
        da.append(e.X[i] @ da[lam[i]] + _along(dv[i], e.v_J[i]))  # 5
        da[i][:, i - 1] += cross(e.v[i]) @ e.Gamma[i]  # 6
        db.append(_bias(e, i, dv[i], da[i]))  # 7-8
    for i in range(n - 1, 0, -1):  # 10
        db[lam[i]] = db[lam[i]] + e.X[i].T @ db[i]  # 11
    return _joint_rows(e, db)  # 13-16


def dID_ds(e: Extended) -> AnyArray:
    """Derivative of ID in the joint displacements s, (n, n_J) (bos, Table 6).

    Derivatives of matrices carry the index k of ``s_k`` first: dM_c[i] is (n_J, 6, 6).
    """
    lam, n = e.parent, len(e.parent)
    dtype = e.tau_bar.dtype
    dX = [np.zeros((6, 6)), *jcalcderv(e.model, e.s)]  # 2-3
    dv, da, da_vp, db, db_vp, da_base = ([np.zeros((6, n - 1), dtype)] for _ in range(6))
    for i in range(1, n):  # 1
        k, p = i - 1, lam[i]
        dv.append(e.X[i] @ dv[p])  # 4
        dv[i][:, k] += dX[i] @ e.v[p]  # 5
        da.append(e.X[i] @ da[p] + _along(dv[i], e.v_J[i]))  # 6
        da[i][:, k] += dX[i] @ e.a_r[p]  # 7
        da_vp.append(e.X[i] @ da_vp[p] + _along(dv[i], e.v_J[i]))  # 8
        da_vp[i][:, k] += dX[i] @ e.a_vp[p]  # 9
        db.append(_bias(e, i, dv[i], da[i]))  # 10-11
        db_vp.append(_bias(e, i, dv[i], da_vp[i]))  # 12
    dM_c = np.zeros((n, n - 1, 6, 6), dtype)
    for i in range(n - 1, 0, -1):  # 14
        k, p = i - 1, lam[i]
        dM_c[p] += e.X[i].T @ dM_c[i] @ e.X[i]  # 15-17
        half = dX[i].T @ e.M_c[i] @ e.X[i]
        dM_c[p, k] += half + half.T  # 18
        db[p] = db[p] + e.X[i].T @ db[i]  # 19
        db[p][:, k] += dX[i].T @ e.b_c[i]  # 20
        db_vp[p] = db_vp[p] + e.X[i].T @ db_vp[i]  # 21
        db_vp[p][:, k] += dX[i].T @ e.b_vp[i]  # 22
    out = np.zeros((n + 5, n - 1), dtype)
    out[:6] = (dM_c[0] @ e.a_base[0]).T + db_vp[0]  # 24-26, 49
    for i in range(1, n):  # 27
        k, p = i - 1, lam[i]
        da_base.append(e.X[i] @ da_base[p])  # 28
        da_base[i][:, k] += dX[i] @ e.a_base[p]  # 29
        dM_a = (dM_c[i] @ e.a_base[i]).T  # 31
        out[i + 5] = e.Gamma[i] @ (dM_a + e.M_c[i] @ da_base[i] + db[i])  # 34
        dF, j = (dM_c[i] @ e.Gamma[i]).T, i  # 32, 35
        while j > 0:  # 36, 42
            dF = e.X[j].T @ dF  # 37-39, 43-45
            dF[:, j - 1] += dX[j].T @ e.F[i][j]  # 40, 46
            j = lam[j]  # 41
        out[:6] += dF * e.rdot[k]  # 47
    return out
