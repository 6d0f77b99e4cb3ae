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
from jounce.papers.joints import joint_motions

__all__ = [
    "RNEA",
    "Ground",
    "TorqueTerms",
    "bar",
    "cross",
    "cross_dual",
    "first_pass",
    "joint_poses",
    "joint_slices",
    "torque_terms",
]


def cross(v: AnyArray) -> AnyArray:
    """``v x`` on motion vectors, (..., 6, 6) (singh, eq. 6, 41)."""
    return lie.ad(v)


def cross_dual(v: AnyArray) -> AnyArray:
    """``v x*`` on force vectors, (..., 6, 6) (singh, eq. 7, 42)."""
    return -np.swapaxes(lie.ad(v), -1, -2)


def bar(f: AnyArray) -> AnyArray:
    """``f xbar*`` with ``(f xbar*) v = (v x*) f``, (6, 6) (singh, eq. 43)."""
    out = np.zeros((6, 6), f.dtype)
    out[:3, :3] = -lie.hat(f[:3])
    out[:3, 3:] = out[3:, :3] = -lie.hat(f[3:])
    return out


def joint_slices(model: Model) -> list[slice]:
    """Return where the rates of joint i sit, for every i."""
    ends = [*model.nodes.v_index[1:], model.nv]
    return [slice(int(a), int(b)) for a, b in zip(model.nodes.v_index, ends, strict=True)]


def joint_poses(model: Model, q: ArrayLike) -> AnyArray:
    """Return the pose of every body in its parent's frame, (N, 4, 4)."""
    poses: AnyArray = model.nodes.placement @ joint_motions(model, q)
    return poses


class Ground(NamedTuple):
    """What the first pass of Algorithm 1 computes; bodies 0 .. N-1 first, the ground last.

    The ground's entries make ``x[parent[i]]`` valid for the roots, whose parent is -1.
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


def first_pass(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Ground:
    """Kinematics, Coriolis matrices and forces of all bodies (singh, Algorithm 1, lines 1-11).

    Args:
        model: any tree.
        q: (nq,) coordinates.
        qd: (nv,) rates, jounce's v.
        qdd: (nv,) their derivatives, jounce's a.
    """
    qd, qdd = np.asarray(qd), np.asarray(qdd)
    parent, joint = [int(p) for p in model.nodes.parent], joint_slices(model)
    N, n = len(parent), model.nv
    local = joint_poses(model, q)
    dtype = np.result_type(local, qd, qdd)
    pose = np.zeros((N + 1, 4, 4), dtype)
    pose[-1] = np.eye(4)
    S, Sdot, Psidot, Psiddot = (np.zeros((6, n), dtype) for _ in range(4))
    v, a, gamma, xi = (np.zeros((N + 1, 6), dtype) for _ in range(4))
    a[-1, 3:] = -model.gravity  # 1
    for i in range(N):  # 2
        p, k = parent[i], joint[i]
        pose[i] = pose[p] @ local[i]
        S[:, k] = lie.Ad(pose[i]) @ model.nodes.screws[:, k]
        v[i] = v[p] + S[:, k] @ qd[k]  # 3
        Sdot[:, k] = cross(v[i]) @ S[:, k]  # 5
        gamma[i] = gamma[p] + S[:, k] @ qdd[k]
        xi[i] = xi[p] + Sdot[:, k] @ qd[k]
        a[i] = a[p] + S[:, k] @ qdd[k] + Sdot[:, k] @ qd[k]  # 4, eq. 9
        Psidot[:, k] = cross(v[p]) @ S[:, k]  # 6
        Psiddot[:, k] = cross(a[p]) @ S[:, k] + cross(v[p]) @ Psidot[:, k]  # 7
    X = lie.Ad(lie.inverse(pose[:N]))
    I = np.swapaxes(X, -1, -2) @ inertia.matrix(model.nodes.parameters) @ X  # noqa: E741  8
    h = (I @ v[:N, :, None])[..., 0]
    vx = cross(v[:N])
    bars = np.array([bar(h_i) for h_i in h])
    B = (cross_dual(v[:N]) @ I - I @ vx + bars) / 2  # 9, eq. 28
    f = (I @ a[:N, :, None] + cross_dual(v[:N]) @ h[..., None])[..., 0]  # 10, eq. 8
    return Ground(model, parent, joint, S, v, a, gamma, xi, I, Sdot, Psidot, Psiddot, B, f)


class TorqueTerms(NamedTuple):
    """The terms of the equations of motion, (n,) each (singh, eq. 12 to 14)."""

    inertial: AnyArray
    """``M qdd``."""
    coriolis: AnyArray
    """``C qd``."""
    gravity: AnyArray
    """the gravity forces."""


def torque_terms(g: Ground) -> TorqueTerms:
    """Return ``M qdd``, ``C qd`` and the gravity forces, (n,) each (singh, eq. 12 to 14).

    Without rotor inertias, as in the paper: ``model.armature * qdd`` is no part of the first.
    """
    N = len(g.parent)
    a_0 = g.a[-1]
    eta = np.einsum("kij,kj->ki", g.I, g.gamma[:N])
    zeta = g.f - eta - g.I @ a_0  # eq. 10
    terms = []
    for force in (eta, zeta, g.I @ a_0):
        f_C = g.composite(force)
        terms.append(np.concatenate([g.S[:, k].T @ f_C[i] for i, k in enumerate(g.joint)]))
    return TorqueTerms(*terms)


def RNEA(model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> AnyArray:
    """Inverse dynamics ``tau_i = S_i^T f_i^C``, (n,) (singh, Sec. III, eq. 2).

    Deviation: the forces of rotor inertias, ``model.armature * qdd``, are added.
    """
    g = first_pass(model, q, qd, qdd)
    f_C = g.composite(g.f)
    tau = np.concatenate([g.S[:, k].T @ f_C[i] for i, k in enumerate(g.joint)])
    out: AnyArray = tau + model.armature * np.asarray(qdd)
    return out
