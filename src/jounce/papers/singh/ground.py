"""Spatial vectors in the ground frame (singh, Sec. III) and the first pass of Algorithm 1.

Six-vectors are (angular, linear) as in jounce. Unless said otherwise all are expressed in the
ground frame, about its origin. The paper counts bodies from 1 and calls the ground 0; here they
count from 0, and the ground is -1. A joint may have up to six rates; derivatives with respect to
its q are taken along its free modes, the columns of S_i (Lie derivatives), which for spherical
and free joints is jounce's tangent space.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.model import Model, inertia
from jounce.papers.joints import apply, joint_poses, spans, transposed

__all__ = [
    "RNEA",
    "Ground",
    "TorqueTerms",
    "bar",
    "cross",
    "cross_dual",
    "first_pass",
    "joint_poses",
    "torque_terms",
]


def cross(v: AnyArray) -> AnyArray:
    """``v x`` on motion vectors, (..., 6, 6) (singh, eq. 6, 41)."""
    return lie.ad(v)


def cross_dual(v: AnyArray) -> AnyArray:
    """``v x*`` on force vectors, (..., 6, 6) (singh, eq. 7, 42)."""
    return -transposed(lie.ad(v))


def bar(f: AnyArray) -> AnyArray:
    """``f xbar*`` with ``(f xbar*) v = (v x*) f``, (..., 6, 6) (singh, eq. 43)."""
    out = np.zeros((*f.shape, 6), f.dtype)
    out[..., :3, :3] = -lie.hat(f[..., :3])
    out[..., :3, 3:] = out[..., 3:, :3] = -lie.hat(f[..., 3:])
    return out


class Ground(NamedTuple):
    """What the first pass of Algorithm 1 computes; bodies 0 .. N-1 first, the ground last.

    The ground's entries make ``x[parent[i]]`` valid for the roots, whose parent is -1. Leading axes
    of the state follow the axis of bodies, and precede the two axes of the screws S, Sdot, ...
    """

    model: Model
    parent: list[int]
    """lambda(i), -1 for the ground."""
    joint: list[slice]
    """Where the rates of joint i sit."""
    S: AnyArray
    """(6, n) joint motion subspaces, ``S[:, joint[i]]`` is S_i."""
    v: AnyArray
    """(N + 1, 6) velocities."""
    a: AnyArray
    """(N + 1, 6) accelerations, with ``a_0 = -a_g`` at the ground."""
    gamma: AnyArray
    """(N + 1, 6) part of a from joint accelerations."""
    xi: AnyArray
    """(N + 1, 6) part of a from joint rates: a = gamma + xi + a_0."""
    I: AnyArray  # noqa: E741
    """(N, 6, 6) inertias."""
    Sdot: AnyArray
    """(6, n) ``v_i x S_i``."""
    Psidot: AnyArray
    """(6, n) ``v_lambda(i) x S_i`` (eq. 31)."""
    Psiddot: AnyArray
    """(6, n) (eq. 31)."""
    B: AnyArray
    """(N, 6, 6) body-level Coriolis matrices (eq. 28)."""
    f: AnyArray
    """(N, 6) net forces (eq. 8)."""

    def is_ancestor(self, j: int, i: int) -> bool:
        """Whether ``j <= i``: body j is on the path from body i to the base (i included)."""
        while i > j:
            i = self.parent[i]
        return i == j

    def composite(self, x: AnyArray) -> AnyArray:
        """Return ``x_i^C``, the sums over the subtrees, of x (N, ...)."""
        out = x.copy()
        for i in range(len(self.parent) - 1, -1, -1):  # lines 21-24
            if self.parent[i] >= 0:
                out[self.parent[i]] += out[i]
        return out

    def project(self, f: AnyArray) -> AnyArray:
        """Return ``S_i^T f_i^C``, (..., n), of forces f (N, ..., 6) on the bodies (eq. 12)."""
        f_C = self.composite(f)
        rows = [apply(transposed(self.S[..., k]), f_C[i]) for i, k in enumerate(self.joint)]
        return np.concatenate(rows, axis=-1)


def first_pass(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Ground:
    """Kinematics, Coriolis matrices and forces of all bodies (singh, Algorithm 1, lines 1-11).

    Args:
        model: any tree.
        q: (..., nq) coordinates.
        qd: (..., nv) rates, jounce's v.
        qdd: (..., nv) their derivatives, jounce's a.
    """
    qd, qdd = np.asarray(qd), np.asarray(qdd)
    parent, joint = [int(p) for p in model.nodes.parent], spans(model.nodes.v_index, model.nv)
    N, n = len(parent), model.nv
    local = np.moveaxis(joint_poses(model, q), -3, 0)
    dtype = np.result_type(local, qd, qdd)
    lead = np.broadcast_shapes(local.shape[1:-2], qd.shape[:-1], qdd.shape[:-1])
    pose = np.zeros((N + 1, *lead, 4, 4), dtype)
    pose[-1] = np.eye(4)
    S, Sdot, Psidot, Psiddot = (np.zeros((*lead, 6, n), dtype) for _ in range(4))
    v, a, gamma, xi = (np.zeros((N + 1, *lead, 6), dtype) for _ in range(4))
    a[-1, ..., 3:] = -model.gravity  # 1
    for i in range(N):  # 2
        p, k = parent[i], joint[i]
        pose[i] = pose[p] @ local[i]
        S_i = S[..., k] = lie.Ad(pose[i]) @ model.nodes.screws[:, k]
        v[i] = v[p] + apply(S_i, qd[..., k])  # 3
        Sdot[..., k] = cross(v[i]) @ S_i  # 5
        gamma[i] = gamma[p] + apply(S_i, qdd[..., k])
        xi[i] = xi[p] + apply(Sdot[..., k], qd[..., k])
        a[i] = a[p] + apply(S_i, qdd[..., k]) + apply(Sdot[..., k], qd[..., k])  # 4, eq. 9
        Psidot[..., k] = cross(v[p]) @ S_i  # 6
        Psiddot[..., k] = cross(a[p]) @ S_i + cross(v[p]) @ Psidot[..., k]  # 7
    I, B, f = _inertias_and_forces(model, pose[:N], v[:N], a[:N])  # noqa: E741
    return Ground(model, parent, joint, S, v, a, gamma, xi, I, Sdot, Psidot, Psiddot, B, f)


def _inertias_and_forces(
    model: Model, pose: AnyArray, v: AnyArray, a: AnyArray
) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return I, B and f of all bodies (singh, Algorithm 1, lines 8-10)."""
    X = lie.Ad(lie.inverse(pose))
    I_body = inertia.matrix(model.nodes.parameters)
    I_body = I_body.reshape(len(I_body), *(1,) * (v.ndim - 2), 6, 6)
    I = transposed(X) @ I_body @ X  # noqa: E741  8
    h = apply(I, v)
    B = (cross_dual(v) @ I - I @ cross(v) + bar(h)) / 2  # 9, eq. 28
    f = apply(I, a) + apply(cross_dual(v), h)  # 10, eq. 8
    return I, B, f


class TorqueTerms(NamedTuple):
    """The terms of the equations of motion, (n,) each (singh, eq. 12 to 14)."""

    inertial: AnyArray
    """``M qdd``."""
    coriolis: AnyArray
    """``C qd``."""
    gravity: AnyArray
    """the gravity forces."""


def torque_terms(g: Ground) -> TorqueTerms:
    """Return ``M qdd``, ``C qd`` and the gravity forces, (..., n) each (singh, eq. 12 to 14).

    Without rotor inertias, as in the paper: ``model.armature * qdd`` is no part of the first.
    """
    a_0 = g.a[-1]
    eta = apply(g.I, g.gamma[:-1])
    weight = apply(g.I, a_0)
    zeta = g.f - eta - weight  # eq. 10
    return TorqueTerms(g.project(eta), g.project(zeta), g.project(weight))


def RNEA(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> AnyArray:
    """Inverse dynamics ``tau_i = S_i^T f_i^C``, (..., n) (singh, Sec. III, eq. 2).

    Deviation: the forces of rotor inertias, ``model.armature * qdd``, are added.
    """
    g = first_pass(model, q, qd, qdd)
    out: AnyArray = g.project(g.f) + model.armature * np.asarray(qdd)
    return out
