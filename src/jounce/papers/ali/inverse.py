"""Higher-order inverse dynamics, H-GRNE-FBS (ali, Algorithm 2)."""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np

from jounce._types import AnyArray, ArrayLike
from jounce.model import Model
from jounce.papers.ali.derivatives import (
    applied_wrench,
    coadjoint_derivatives,
    gravity_wrench,
    inertia_derivatives,
    momentum_rate,
    spatial_inertia,
)
from jounce.papers.ali.kinematics import Series, add, forward_kinematics, with_base
from jounce.papers.ali.tree import Tree, initialize


class InverseDynamics(NamedTuple):
    """Result of Algorithm 2; the first axis is the order, 0 to r."""

    W_prop: AnyArray
    """(r+1, 6) Q_1: the spatial wrench on the base (of the propellers, or of the ground)."""
    tau: AnyArray
    """(r+1, n) joint forces."""
    W: AnyArray
    """(r+1, N, 6) spatial wrenches W_j^0 that joint j exerts on body j."""


def inverse_dynamics(
    model: Model | Tree,
    C_1: ArrayLike,
    V_1: ArrayLike,
    q: ArrayLike,
    W_b: ArrayLike | None = None,
    tau_ext: ArrayLike | None = None,
) -> InverseDynamics:
    """Base wrench, joint forces and their derivatives of order 1 to r (ali, Algorithms 1 and 2).

    Rotors (armature) are not in the paper: they add ``armature q^(r+2)`` to the joint force.

    Args:
        model: the robot, or its `Tree`.
        C_1: (4, 4) pose of the base; the identity for a fixed base.
        V_1: (r+2, 6) spatial twist of the base and its derivatives; zero for a fixed base.
        q: (r+3, n) joint coordinates and their derivatives.
        W_b: (r+1, N, 6) applied wrenches, body-fixed, and their component-wise derivatives.
        tau_ext: (r+1, n) external joint forces and their derivatives.

    Returns:
        W_prop, tau and the wrenches in the joints, in the inertial frame.
    """
    tree = initialize(model)
    C, S, V = forward_kinematics(tree, C_1, V_1, q)
    r = len(V) - 2
    M = inertia_derivatives(spatial_inertia(tree.M_b, C), V, r + 1)
    Ad_star, W_b = coadjoint_derivatives(C, V, r), loads(W_b, r, len(C))
    W: list[AnyArray] = []
    W_app: list[AnyArray] = []
    Q: list[AnyArray] = []
    for k in range(r + 1):
        W_app.append(applied_wrench(Ad_star, V, W_b, W_app, k))
        own = momentum_rate(M, V, k + 1) - W_app[k] - gravity_wrench(M, tree.G, k)
        W.append(accumulate(tree, own))
        Q.append(generalized_force(S, W, k))
    rotors = (tree.armature[:, None] * with_base(q)[2 : r + 3])[..., 0]
    tau = np.stack(Q) + rotors
    if tau_ext is not None:
        tau[:, 1:] -= tau_ext
    wrenches = np.stack(W)
    return InverseDynamics(wrenches[:, 0], tau[:, 1:], wrenches)


def generalized_force(S: Series, W: Series, r: int) -> AnyArray:
    """Q_j^(r) = sum over k = 0..r of binomial(r, k) S_j^(r-k) . W_j^(k), (N,) (Algorithm 2)."""
    return add(comb(r, k) * np.einsum("ni,ni->n", S[r - k], W[k]) for k in range(r + 1))


def accumulate(tree: Tree, own: AnyArray) -> AnyArray:
    """Backward recursion: W_j = own_j + sum of W_i over the children i of j; (N, 6)."""
    W = np.array(own)
    for j in range(len(tree.parent) - 1, 0, -1):
        W[tree.parent[j]] += W[j]
    return W


def loads(W_b: ArrayLike | None, r: int, n_bodies: int) -> AnyArray:
    """Body-fixed wrenches of order 0 to r, zero if none are given or none of that order."""
    if W_b is None:
        return np.zeros((r + 1, n_bodies, 6))
    W_b = np.asarray(W_b)
    return np.concatenate([W_b, np.zeros((max(r + 1 - len(W_b), 0), n_bodies, 6))])
