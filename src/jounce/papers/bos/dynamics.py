"""Extended inverse dynamics (bos, Table 4), inverse mass matrix (Table 9), forward dynamics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.model import Model
from jounce.papers.bos.algebra import (
    State,
    X,
    body_inertias,
    cross,
    cross_dual,
    gravity,
    jcalc,
    parents,
    rotors,
)
from jounce.papers.joints import apply, transposed

__all__ = ["FD", "ID", "EIDAmb", "Extended", "IMMAmb", "consistent_acceleration", "extended"]


class Extended(NamedTuple):
    """Outputs and intermediate variables of EIDAmb, the inputs of Tables 5 to 8.

    Lists are indexed by body, 0 .. n_B; all quantities of body i are in its own frame. Leading axes
    of the state are leading axes of every entry; Tables 5 to 8 take one state.
    """

    model: Model
    parent: list[int]
    """lambda(i)."""
    s: AnyArray
    """(n_J,) joint displacements."""
    rdot: AnyArray
    """(n_J,) joint accelerations."""
    X: list[AnyArray]
    """``^i X_lambda(i)``, (6, 6); X[0] is ``^0 X_A``."""
    Gamma: list[AnyArray]
    """``Gamma_Ji``, (6,); Gamma[0] is not used."""
    M: AnyArray
    """``M_Bi``, (n_B + 1, 6, 6)."""
    v: list[AnyArray]
    """``v_i``, (6,)."""
    v_J: list[AnyArray]  # noqa: N815
    """``v_Ji``, (6,)."""
    a_r: list[AnyArray]
    """``a_i^r`` (eq. 61), (6,)."""
    a_vp: list[AnyArray]
    """``a_i^vp``, (6,)."""
    m: list[AnyArray]
    """Momentum ``m_Bi``, (6,)."""
    M_c: list[AnyArray]
    """Composite inertia ``M_Bi^c``, (6, 6)."""
    b_c: list[AnyArray]
    """Composite bias wrench ``b_Bi^c``, (6,)."""
    b_vp: list[AnyArray]
    """Composite bias wrench ``b_Bi^vp`` at zero joint accelerations, (6,)."""
    a_base: list[AnyArray]
    """``^i a_{A,0}``, (6,)."""
    F: list[dict[int, AnyArray]]
    """``_j F_Bi`` (6,) as ``F[i][j]`` for the bodies j on the way from i to the base."""
    tau_b: AnyArray
    """(6,) wrench on the base, (force, moment)."""
    tau: AnyArray
    """(n_J,) joint forces."""

    @property
    def tau_bar(self) -> AnyArray:
        """The extended input (eq. 32), (..., n), base first."""
        return np.concatenate([self.tau_b, self.tau], axis=-1)


def EIDAmb(
    model: Model,
    s: ArrayLike,
    r: ArrayLike,
    rdot: ArrayLike,
    H: ArrayLike,
    A_v: ArrayLike,
    a_0: ArrayLike,
    a_grav: ArrayLike | None = None,
) -> Extended:
    """Extended inverse dynamics algorithm for moving-base systems (bos, Table 4).

    Args:
        model: a free base with 1-DoF joints.
        s: (..., n_J) joint displacements.
        r: (..., n_J) joint rates.
        rdot: (..., n_J) joint accelerations.
        H: (..., 4, 4) pose ``^A H_0`` of the base.
        A_v: (..., 6) twist ``^A v_{A,0}`` of the base in the inertial frame, (linear, angular).
        a_0: (..., 6) acceleration ``^0 a_{A,0}`` in the base's frame, the derivative of its twist.
        a_grav: (6,) ``^A a_grav``, by default `algebra.gravity`.

    Returns:
        Outputs and intermediate variables.

    Deviation: rotor inertias (`model.armature`) add their forces to lines 31 and 40.
    """
    s, r, rdot, A_v, a_0 = (np.asarray(x) for x in (s, r, rdot, A_v, a_0))
    lam, n_B = parents(model), len(model.nodes.parent) - 1
    M = body_inertias(model)
    X_J, Gamma_J = jcalc(model, s)
    X_, Gamma, v_J = [X(lie.inverse(H))], [np.zeros(6)], [np.zeros(6)]  # 1-4
    v = [apply(X_[0], A_v)]  # 5
    a_r = [apply(X_[0], gravity(model) if a_grav is None else np.asarray(a_grav))]  # 6
    a_vp = [a_r[0]]  # 7
    M_c = [M[0]]  # 8
    m = [apply(M[0], v[0])]  # 9
    b_c = [apply(M[0], a_r[0]) + apply(cross_dual(v[0]), m[0])]  # 10
    b_vp = [b_c[0]]  # 11
    for i in range(1, n_B + 1):  # 12
        X_.append(X_J[i - 1])  # 13, 15
        Gamma.append(Gamma_J[i - 1])  # 13
        v_J.append(Gamma[i] * r[..., i - 1, None])  # 14
        v.append(apply(X_[i], v[lam[i]]) + v_J[i])  # 16
        vxv = apply(cross(v[i]), v_J[i])
        a_r.append(apply(X_[i], a_r[lam[i]]) + Gamma[i] * rdot[..., i - 1, None] + vxv)  # 17
        a_vp.append(apply(X_[i], a_vp[lam[i]]) + vxv)  # 18
        M_c.append(M[i])  # 19
        m.append(apply(M[i], v[i]))  # 20
        b_c.append(apply(M[i], a_r[i]) + apply(cross_dual(v[i]), m[i]))  # 21
        b_vp.append(apply(M[i], a_vp[i]) + apply(cross_dual(v[i]), m[i]))  # 22
    for i in range(n_B, 0, -1):  # 24
        X_T = transposed(X_[i])
        M_c[lam[i]] = M_c[lam[i]] + X_T @ M_c[i] @ X_[i]  # 25
        b_c[lam[i]] = b_c[lam[i]] + apply(X_T, b_c[i])  # 26
        b_vp[lam[i]] = b_vp[lam[i]] + apply(X_T, b_vp[i])  # 27
    a_base, F, tau_b, tau = _outputs(model, lam, X_, Gamma, M_c, b_c, b_vp[0], a_0, rdot)
    return Extended(
        model, lam, s, rdot, X_, Gamma, M, v, v_J, a_r, a_vp, m, M_c, b_c, b_vp, a_base, F,
        tau_b, tau,
    )  # fmt: skip


def _outputs(
    model: Model,
    lam: list[int],
    X_: list[AnyArray],
    Gamma: list[AnyArray],
    M_c: list[AnyArray],
    b_c: list[AnyArray],
    b_vp_0: AnyArray,
    a_0: AnyArray,
    rdot: AnyArray,
) -> tuple[list[AnyArray], list[dict[int, AnyArray]], AnyArray, AnyArray]:
    """Return ``^i a_{A,0}``, ``_j F_Bi``, tau_b and tau (bos, Table 4, lines 29 to 40)."""
    n_B, (base_rotors, joint_rotors) = len(lam) - 1, rotors(model)
    a_base, tau = [a_0], []
    F: list[dict[int, AnyArray]] = [{}]
    for i in range(1, n_B + 1):  # 29
        a_base.append(apply(X_[i], a_base[lam[i]]))  # 30
        tau_rotor = joint_rotors[i - 1] * rdot[..., i - 1]
        tau.append((apply(M_c[i], a_base[i]) + b_c[i]) @ Gamma[i] + tau_rotor)  # 31
        F.append({i: M_c[i] @ Gamma[i]})  # 32
        j = i  # 33
        while j > 0:  # 34-38
            F[i][lam[j]] = apply(transposed(X_[j]), F[i][j])
            j = lam[j]
    F_rdot = sum((F[i][0] * rdot[..., i - 1, None] for i in range(1, n_B + 1)), np.zeros(6))
    tau_b = apply(M_c[0] + base_rotors, a_0) + F_rdot + b_vp_0  # 40
    return a_base, F, tau_b, np.stack(np.broadcast_arrays(*tau), axis=-1)


def extended(model: Model, state: State, vdot: ArrayLike, rdot: ArrayLike) -> Extended:
    """Run EIDAmb in the state (H, s, v, r), with the base's twist body-fixed (eq. 39).

    Args:
        model: a free base with 1-DoF joints.
        state: configuration and velocity.
        vdot: (6,) derivative of the base's twist.
        rdot: (n_J,) joint accelerations.
    """
    return EIDAmb(model, state.s, state.r, rdot, state.H, apply(X(state.H), state.v), vdot)


def ID(model: Model, state: State, nudot: ArrayLike) -> AnyArray:
    """Extended inverse dynamics ``tau_bar = M nudot + h``, (..., n), base first (eq. 39 to 41)."""
    nudot = np.asarray(nudot)
    return extended(model, state, nudot[..., :6], nudot[..., 6:]).tau_bar


def consistent_acceleration(model: Model, state: State, rdot: ArrayLike) -> AnyArray:
    """Return the base acceleration, (6,), that needs no wrench on the base (Definition 3.1).

    ``a_0 = -(M_B0^c)^-1 b_B0^c``, the remark after Table 4.
    """
    e = extended(model, state, np.zeros(6), rdot)
    out: AnyArray = -np.linalg.solve(e.M_c[0] + rotors(model)[0], e.b_c[0])
    return out


def IMMAmb(model: Model, s: ArrayLike) -> AnyArray:
    """Inverse mass matrix algorithm for moving-base systems (bos, Table 9).

    Args:
        model: a free base with 1-DoF joints.
        s: (..., n_J) joint displacements.

    Returns:
        Inverse of M, (..., n, n), base first. Columns 0 .. 5 belong to the base, column i + 5 to
        joint i (the paper counts from 1: i + 6).

    Deviation: rotor inertias join D in line 8 and the base's inertia in lines 15 and 26. A
    line after 26 fills Minv[7:, 1:6], which the table leaves out.
    """
    s = np.asarray(s)
    lam, n = parents(model), model.nv
    n_B, lead = n - 6, s.shape[:-1]
    base_rotors, joint_rotors = rotors(model)
    dtype = np.result_type(s, float)
    X_J, Gamma_J = jcalc(model, s)  # 1-3
    X_, Gamma = [np.eye(6), *X_J], [np.zeros(6), *Gamma_J]
    U, D = ([np.zeros(0)] * (n_B + 1) for _ in range(2))
    M_A = [np.broadcast_to(M, (*lead, 6, 6)).astype(dtype) for M in body_inertias(model)]  # 4
    subtree = [[i + 5] for i in range(n_B + 1)]
    Minv = np.zeros((*lead, n, n), dtype)
    F, P = (np.zeros((n_B + 1, *lead, 6, n), dtype) for _ in range(2))
    for i in range(n_B, 0, -1):  # 6
        sub, X_T = subtree[i], transposed(X_[i])
        subtree[lam[i]] += sub
        U[i] = M_A[i] @ Gamma[i]  # 7
        D[i] = (U[i] @ Gamma[i] + joint_rotors[i - 1])[..., None]  # 8
        Minv[..., i + 5, i + 5] = 1 / D[i][..., 0]  # 9
        Minv[..., i + 5, sub] -= Gamma[i] @ F[i][..., sub] / D[i]  # 10
        F[lam[i]][..., sub] += X_T @ (F[i][..., sub] + _outer(U[i], Minv[..., i + 5, sub]))  # 11
        M_a = M_A[i] - _outer(U[i], U[i]) / D[i][..., None]  # 12
        M_A[lam[i]] += X_T @ M_a @ X_[i]  # 13
    base_inverse = np.linalg.inv(M_A[0] + base_rotors)
    P[0][..., 6:] = -base_inverse @ F[0][..., 6:]  # 15
    for i in range(1, n_B + 1):  # 16
        after = slice(i + 5, n)
        moved = X_[i] @ P[lam[i]][..., after]
        Minv[..., i + 5, after] -= (U[i][..., None, :] @ moved)[..., 0, :] / D[i]  # 17
        P[i][..., after] = _outer(Gamma[i], Minv[..., i + 5, after]) + moved  # 18
    Minv[..., :6, 6:] = P[0][..., 6:]  # 20
    for i in range(1, n_B + 1):  # 21-25
        Minv[..., i + 5 :, i + 5] = Minv[..., i + 5, i + 5 :]
    Minv[..., :6, :6] = base_inverse  # 26
    Minv[..., 6:, :6] = transposed(Minv[..., :6, 6:])
    return Minv


def _outer(x: AnyArray, y: AnyArray) -> AnyArray:
    """Outer products, (..., m, n), of (..., m) and (..., n)."""
    return x[..., :, None] * y[..., None, :]


def FD(model: Model, state: State, tau: ArrayLike, tau_b: ArrayLike | None = None) -> AnyArray:
    """Forward dynamics ``nudot = M^-1 (tau_bar - h)``, (..., n), base first (eq. 19, 36).

    Args:
        model: a free base with 1-DoF joints.
        state: configuration and velocity.
        tau: (..., n_J) joint forces.
        tau_b: (..., 6) wrench on the base, (force, moment); none in eq. 19.
    """
    tau = np.asarray(tau)
    tau_b = np.zeros((*tau.shape[:-1], 6)) if tau_b is None else np.asarray(tau_b)
    h = ID(model, state, np.zeros(model.nv))
    return apply(IMMAmb(model, state.s), np.concatenate([tau_b, tau], axis=-1) - h)
