"""Six-vectors in bos's order (linear, angular), its joint functions, and the way to jounce.

bos writes twists as (v, w) and wrenches as (f, n); jounce writes (w, v) and (n, f). Everything
here is `jounce.lie` with the two halves exchanged, so it accepts complex arrays.

Symbols: ``^A X_B`` is `X` of the pose ``^A H_B``; a wrench goes from B to A with
``_A X^B = (^B X_A)^T``; ``v x`` is `cross`, and ``v xbar* f`` is `cross_dual` (v) @ f, which is
also `bar` (f) @ v.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.errors import ModelError
from jounce.model import Model, inertia
from jounce.model.joints import ELEMENTARY
from jounce.papers.joints import apply, joint_motion, node_pose, transposed

__all__ = [
    "State",
    "X",
    "bar",
    "body_inertias",
    "cross",
    "cross_dual",
    "gravity",
    "jcalc",
    "jcalcderv",
    "parents",
    "reorder",
    "rotors",
    "state_of",
    "velocity_matrix",
]


_ORDER = np.array([3, 4, 5, 0, 1, 2])
_FREE = ELEMENTARY.index("free")
_ONE_DOF = [ELEMENTARY.index(kind) for kind in ("revolute", "prismatic", "helical")]


def reorder(x: ArrayLike) -> AnyArray:
    """Exchange the halves of six-vectors (..., 6): (linear, angular) <-> (angular, linear)."""
    return np.asarray(x)[..., _ORDER]


def _reorder_matrix(m: AnyArray) -> AnyArray:
    out: AnyArray = m[..., _ORDER[:, None], _ORDER]
    return out


def X(H: AnyArray) -> AnyArray:
    """Velocity transformation ``^A X_B``, (..., 6, 6), of a pose ``^A H_B`` (Table 4, line 4)."""
    return _reorder_matrix(lie.Ad(H))


def cross(v: AnyArray) -> AnyArray:
    """The 6D cross product ``v x`` of twists, (..., 6, 6) (eq. 18)."""
    return _reorder_matrix(lie.ad(reorder(v)))


def cross_dual(v: AnyArray) -> AnyArray:
    """The twist/wrench cross product ``v xbar*``, (..., 6, 6): minus the transpose of `cross`."""
    return -transposed(cross(v))


def bar(f: AnyArray) -> AnyArray:
    """The matrix of ``v -> v xbar* f``, (..., 6, 6), for the columns of Tables 5 to 8."""
    out = np.zeros((*f.shape, 6), f.dtype)
    out[..., :3, 3:] = out[..., 3:, :3] = -lie.hat(f[..., :3])
    out[..., 3:, 3:] = -lie.hat(f[..., 3:])
    return out


def jcalc(model: Model, s: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return ``^i X_lambda(i)`` and ``Gamma_Ji`` of all joints (Table 4, lines 13 and 15).

    ``^i X_lambda(i) = ^i X_{lambda(i)|i} ^{lambda(i)|i} X_lambda(i)``: frame ``lambda(i)|i`` is
    where frame i is at ``s_i = 0``, so the second factor is constant. Revolute, prismatic and
    helical joints differ in their screw only.

    Args:
        model: a free base with 1-DoF joints.
        s: (..., n_J) joint displacements.

    Returns:
        (n_J, ..., 6, 6) and (n_J, 6); entry i - 1 belongs to joint i.
    """
    screws = model.nodes.screws[:, 6:].T
    placements = X(lie.inverse(model.nodes.placement[1:]))
    motions = joint_motion(-s[..., None], screws)
    return np.moveaxis(X(motions) @ placements, -3, 0), reorder(screws)


def jcalcderv(model: Model, s: AnyArray) -> AnyArray:
    """Return the derivatives of ``^i X_lambda(i)`` in ``s_i``, (n_J, 6, 6) (Table 6, lines 2-3)."""
    X_parent, Gamma = jcalc(model, s)
    return -cross(Gamma) @ X_parent


def parents(model: Model) -> list[int]:
    """Return lambda(i) for i = 0 .. n_B; lambda(0) = -1 is the inertial frame A.

    Raises:
        ModelError: the model is not a free base with 1-DoF joints (bos, Assumption 1). Compound
            joints (cylindrical, planar, universal) are cascades of 1-DoF joints and allowed.
    """
    nodes = model.nodes
    others = np.isin(nodes.kind[1:], _ONE_DOF) & (nodes.parent[1:] >= 0)
    if nodes.kind[0] != _FREE or not others.all():
        raise ModelError(
            "bos needs one free joint at the base and 1-DoF joints elsewhere, "
            f"got {', '.join(ELEMENTARY[k] for k in nodes.kind)}"
        )
    return [int(p) for p in nodes.parent]


def body_inertias(model: Model) -> AnyArray:
    """Return ``M_Bi`` of all bodies, (n_B + 1, 6, 6), in their own frames."""
    return _reorder_matrix(inertia.matrix(model.nodes.parameters))


def gravity(model: Model) -> AnyArray:
    """Return ``^A a_grav`` (6,): the acceleration (-g, 0) of a frame that stands still in g.

    Table 4 adds it to accelerations, so it points up.
    """
    return np.concatenate([-model.gravity, np.zeros(3)])


def velocity_matrix(model: Model) -> AnyArray:
    """Return the constant T, (n, n), with ``nu = T v``: bos's velocities from jounce's.

    The base's twist is reordered and taken from the joint's frame (the anchor) to frame 0.
    Then tau, M, Minv of jounce are ``T.T @ tau_bar``, ``T.T @ M @ T``, ``T^-1 Minv T^-T`` of bos,
    and derivatives in the tangent space of q are bos's times T.
    """
    T = np.eye(model.nv)
    T[:6, :6] = lie.Ad(model.nodes.alignment[0])[_ORDER]
    return T


def rotors(model: Model) -> tuple[AnyArray, AnyArray]:
    """Return what jounce's rotor inertias add to M: the base's block (6, 6), the diagonal (n_J,).

    Deviation: bos has no rotor inertias.
    """
    T_inv = lie.Ad(lie.inverse(model.nodes.alignment[0]))[:, _ORDER]
    base: AnyArray = T_inv.T @ np.diag(model.armature[:6]) @ T_inv
    return base, model.armature[6:]


class State(NamedTuple):
    """The state g = (H, s, v, r) of Sec. 3.1. Leading axes of all four are batch axes."""

    H: AnyArray
    """(4, 4) pose ``^A H_0`` of the base."""
    s: AnyArray
    """(n_J,) joint displacements."""
    v: AnyArray
    """(6,) left-trivialized twist ``^0 v_{A,0}`` of the base, (linear, angular)."""
    r: AnyArray
    """(n_J,) joint rates."""


def state_of(model: Model, q: ArrayLike, v: ArrayLike) -> State:
    """Convert jounce's coordinates q (..., nq) and rates v (..., nv) to bos's state."""
    parents(model)
    q = np.asarray(q)
    nu = apply(velocity_matrix(model), np.asarray(v))
    return State(node_pose(model.nodes, 0, q), q[..., 7:], nu[..., :6], nu[..., 6:])
