"""Higher-order kinematics in the inertial frame (ali, Algorithm 1, Remark 1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import comb
from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.model import Model
from jounce.papers.ali.tree import Tree, initialize
from jounce.papers.joints import apply, joint_motion

Series = Sequence[AnyArray] | AnyArray
"""A quantity and its time derivatives: element k is the derivative of order k."""


class Kinematics(NamedTuple):
    """Result of Algorithm 1: everything in the inertial frame; the first axis is the order."""

    C: AnyArray
    """(N, 4, 4) poses C_j^0."""
    S: AnyArray
    """(k+1, N, 6) instantaneous joint screws and their derivatives of order 1 to k."""
    V: AnyArray
    """(k, N, 6) spatial twists and their derivatives of order 1 to k-1."""


def forward_kinematics(
    model: Model | Tree, C_1: ArrayLike, V_1: ArrayLike, q: ArrayLike
) -> Kinematics:
    """Poses, spatial twists, joint screws and their time derivatives (ali, Algorithm 1).

    Per order r1, first V^(r1), then S^(r1+1), for all bodies in order (parents first), so that no
    call is recursive and trees may be of any depth.

    Deviation: the printed sum for V^(r1) stops at r2 = r1 - 1; it must run to r2 = r1.

    Args:
        model: the robot, or its `Tree`.
        C_1: (4, 4) pose of the base; the identity for a fixed base.
        V_1: (k, 6) spatial twist of the base and its derivatives; zero for a fixed base.
        q: (>= k+1, n) joint coordinates and their derivatives.

    Returns:
        C_j, S_j up to order k and V_j up to order k-1.
    """
    tree = initialize(model)
    V_1, q = np.asarray(V_1), with_base(q)
    C, S_0 = positions(tree, C_1, q[0])
    S, V = [S_0], []
    for r1 in range(len(V_1)):
        V.append(propagate(tree, V_1[r1], S_0 * q[r1 + 1] + twist_bias(S, q, r1)))
        S.append(screw_rate(S, V, r1 + 1))
    return Kinematics(C, np.stack(S), np.stack(V))


def positions(tree: Tree, C_1: ArrayLike, q: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Poses C_j and screws S_j by the product of exponentials (ali, Algorithm 1, 0-th order).

    F_j = F_p{j} exp(Y_j q_j) with F_1 = C_1; C_j = F_j A_j^0; S_j = Ad(F_j) Y_j.

    Args:
        tree: the robot.
        C_1: (4, 4) pose of the base.
        q: (N, 1) joint coordinates, row 0 is not read.

    Returns:
        C (N, 4, 4) and S (N, 6); S_1 = 0, the base has no joint.
    """
    steps = joint_motion(q, tree.Y)
    F = np.empty(steps.shape, np.result_type(steps, np.asarray(C_1)))
    F[0] = C_1
    for j in range(1, len(tree.parent)):
        F[j] = F[tree.parent[j]] @ steps[j]
    return F @ tree.A, apply(lie.Ad(F), tree.Y)


def screw_rate(S: Series, V: Series, r1: int) -> AnyArray:
    """S^(r1) = sum over r2 < r1 of binomial(r1-1, r2) ad(V^(r2)) S^(r1-1-r2) (ali, Algorithm 1).

    Args:
        S: screws (N, 6) and their derivatives of order 1 to r1-1.
        V: twists (N, 6) and their derivatives of order 1 to r1-1.
        r1: order, at least 1.

    Returns:
        (N, 6).
    """
    return add(comb(r1 - 1, k) * apply(lie.ad(V[k]), S[r1 - 1 - k]) for k in range(r1))


def twist_bias(S: Series, q: AnyArray, r: int) -> AnyArray:
    """V_bias^(r) = sum over k = 1..r of binomial(r, k) S^(k) q^(r-k+1) (ali, Appendix E).

    Args:
        S: screws (N, 6) and their derivatives of order 1 to r.
        q: (>= r+1, N, 1) joint coordinates and their derivatives.
        r: order.

    Returns:
        (N, 6), what V_j^(r) - V_p{j}^(r) has besides S_j q_j^(r+1); zero for r = 0.
    """
    terms = (comb(r, k) * S[k] * q[r - k + 1] for k in range(1, r + 1))
    return add(terms) if r > 0 else np.zeros_like(S[0])


def pose_derivatives(C_1: ArrayLike, V_1: ArrayLike) -> AnyArray:
    """Time derivatives of a pose matrix from its spatial twist (ali, Remark 1).

    C^(r) = sum over k < r of binomial(r-1, k) hat(V^(k)) C^(r-1-k).

    Args:
        C_1: (4, 4) pose.
        V_1: (r, 6) spatial twist and its derivatives of order 1 to r-1.

    Returns:
        (r+1, 4, 4) derivatives of order 0 to r.
    """
    V_hat = lie.hat(V_1)
    C = [np.asarray(C_1)]
    for r in range(1, len(V_hat) + 1):
        C.append(add(comb(r - 1, k) * V_hat[k] @ C[r - 1 - k] for k in range(r)))
    return np.stack(C)


def propagate(tree: Tree, V_1: AnyArray, steps: AnyArray) -> AnyArray:
    """Forward recursion: X_j = X_p{j} + steps_j, from X_1 = V_1 on; (N, 6)."""
    X = np.array(steps, np.result_type(steps, V_1))
    X[0] = V_1
    for j in range(1, len(tree.parent)):
        X[j] += X[tree.parent[j]]
    return X


def with_base(q: ArrayLike) -> AnyArray:
    """Number joint coordinates (k, n) like the bodies: (k, N, 1) with zeros for the base."""
    q = np.atleast_2d(np.asarray(q))
    return np.concatenate([np.zeros((len(q), 1), q.dtype), q], axis=1)[..., None]


def add(terms: Iterable[AnyArray]) -> AnyArray:
    """Sum of the terms of Leibniz' rule, of which there is at least one."""
    first, *others = terms
    return sum(others, first)
