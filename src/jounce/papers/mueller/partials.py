"""Partial derivatives of Jacobians of any order as nested Lie brackets (Sec. 2).

The derivative with respect to a rate's coordinate is taken in the tangent space: the joint's motion
is followed by ``exp(screw * eps)``. For a 1-DoF joint that is the plain partial derivative and the
order of differentiation does not matter. Different columns of one spherical or free joint do not
commute. The entry ``[..., j, a_1, ..., a_m]`` is D_{a_m} (... D_{a_2} (D_{a_1} J_j)): the direction
taken last is the last axis. With this convention the ordered sequence of eq. 14 and 23 is the
stable sort of a_m, ..., a_1 by joint.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from jounce import lie
from jounce._types import AnyArray
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.papers.mueller.geometry import column_nodes, node_of_body
from jounce.papers.mueller.kinematics import check, system_jacobian
from jounce.papers.mueller.screws import angular, bracket

__all__ = ["jacobian_derivatives", "jacobian_partial"]


def jacobian_partial(
    model: Model, q: AnyArray, body: str | int, j: int, alpha: tuple[int, ...], twist: str = "body"
) -> AnyArray:
    """One partial derivative of one column of a body's Jacobian, (6,).

    Body (eq. 5, 12, 14): [...[[J_j, J_b1], J_b2], ..., J_bm] for j < b1 <= b2 <= ..., else zero.
    Spatial (eq. 15, 20, 23): [J_b1, [J_b2, ... [J_bm, J_j]]] for b1 <= b2 <= ... <= j, else zero.
    Here b is the reversed sequence alpha, sorted by joint from the base outward (eq. 23 numbers it
    the other way round). Hybrid: each subset S of alpha turns the axes (R_i), the rest acts as in
    the body-fixed case: sum_S ad_{w_s1} ad_{w_s2} ... [...[J_j, J_b1], ...]. Mixed: angular part of
    the body-fixed and linear part of the hybrid derivative.

    Deviation: eq. 25 gives the first hybrid derivative only for j <= k. For k < j it is not zero
    but [angular(J_k), J_j], because R_i depends on every joint of the path.

    Args:
        model: the robot.
        q: (nq,) coordinates.
        body: the body (name or index).
        j: column of the Jacobian.
        alpha: columns to differentiate by, in the order in which the derivatives are taken.
        twist: representation.
    """
    check(twist)
    if twist == "mixed":
        parts = (jacobian_partial(model, q, body, j, alpha, t) for t in ("body", "hybrid"))
        first, second = parts
        return np.concatenate([first[:3], second[3:]])
    J = system_jacobian(model, q, twist)[node_of_body(model, body)]
    node = column_nodes(model)
    last_first = alpha[::-1]
    beta = sorted(last_first, key=lambda k: int(node[k]))  # stable
    if twist == "spatial":
        if any(node[k] > node[j] for k in beta):
            return np.zeros_like(J[:, j])
        value: AnyArray = J[:, j]
        for k in reversed(beta):
            value = bracket(J[:, k], value)  # (23)
        return value
    if twist == "body":
        return _outward(J, node, j, beta)
    total: AnyArray = np.zeros_like(J[:, j])
    for chosen in _subsets(len(beta)):
        value = _outward(J, node, j, [k for m, k in enumerate(beta) if m not in chosen])
        for m in reversed(chosen):
            value = bracket(angular(J[:, beta[m]]), value)
        total = total + value
    return total


def _outward(J: AnyArray, node: AnyArray, j: int, beta: list[int]) -> AnyArray:
    """Evaluate eq. 14 for a sorted sequence beta; zero unless all its joints are outward of j."""
    value = J[:, j]
    for k in beta:
        value = bracket(value, J[:, k]) * (node[k] > node[j])
    return value


def _subsets(size: int) -> list[tuple[int, ...]]:
    return [s for m in range(size + 1) for s in combinations(range(size), m)]


def jacobian_derivatives(
    model: Model, q: AnyArray, body: str | int, order: int, twist: str = "body"
) -> AnyArray:
    """All partial derivatives of one order of a body's Jacobian, (6, nv, nv, ..., nv).

    The same formulas as `jacobian_partial`, for all indices at once: the nested brackets of all
    sequences are built one order at a time (last form of eq. 23), then each index reads the
    sequence sorted by joint.

    Args:
        model: the robot.
        q: (nq,) coordinates.
        body: the body (name or index).
        order: number of derivatives, 0 gives the Jacobian.
        twist: representation.

    Returns:
        Axis 1 is the column j, axes 2, ... are the coordinates, that of the last derivative last.
    """
    check(twist)
    if order < 0:
        raise ArgumentError(f"order must not be negative, got {order}")
    if twist == "mixed":
        first = jacobian_derivatives(model, q, body, order, "body")
        second = jacobian_derivatives(model, q, body, order, "hybrid")
        return np.concatenate([first[:3], second[3:]])
    J = system_jacobian(model, q, twist)[node_of_body(model, body)]
    node = column_nodes(model)
    if twist == "spatial":
        return _spatial_partials(J, node, order)
    if twist == "body":
        return _body_partials(J, node, order)
    return _hybrid_partials(J, node, order)


def _body_partials(J: AnyArray, node: AnyArray, order: int) -> AnyArray:
    """Eq. 14: nested brackets from the inside, [[J_j, J_b1], J_b2], ..."""
    ad = -lie.ad(J.T)  # [x, J_k] = -ad_{J_k} x
    nested = J
    for _ in range(order):
        nested = np.einsum("kab,b...->a...k", ad, nested)
    return _sorted(nested, node, order) * _mask(node, order, lambda j, k: j < k)


def _spatial_partials(J: AnyArray, node: AnyArray, order: int) -> AnyArray:
    """Eq. 23: nested brackets, [J_b1, [J_b2, ... J_j]], a new index in front of the others."""
    ad = lie.ad(J.T)
    nested = J
    for _ in range(order):
        nested = np.einsum("kab,bj...->ajk...", ad, nested)
    return _sorted(nested, node, order) * _mask(node, order, lambda j, k: j >= k)


def _hybrid_partials(J: AnyArray, node: AnyArray, order: int) -> AnyArray:
    """Leibniz' rule on Ad_{R_i} J^b: a subset of the derivatives turns the axes."""
    turns = [_rotations(angular(J.T), node, m) for m in range(order + 1)]  # (6, 6, nv, ...)
    inner = [_body_partials(J, node, m) for m in range(order + 1)]
    total = np.zeros((6, *(len(node),) * (order + 1)), J.dtype)
    products = [  # (6, chosen..., j, rest...) for each number of chosen derivatives
        np.tensordot(x, y, axes=([1], [0])) for x, y in zip(turns, inner[::-1], strict=True)
    ]
    for chosen in _subsets(order):
        rest = [m for m in range(order) if m not in chosen]
        product = products[len(chosen)]
        axes = {m: 1 + i for i, m in enumerate(chosen)}
        axes |= {m: 2 + len(chosen) + i for i, m in enumerate(rest)}
        total += product.transpose(0, 1 + len(chosen), *(axes[m] for m in range(order)))
    return total


def _rotations(W: AnyArray, node: AnyArray, order: int) -> AnyArray:
    """Derivatives of Ad_{R_i} times its inverse: ad_{w_b1} ad_{w_b2} ..., sorted by joint."""
    ad = lie.ad(W)
    nested = np.eye(6, dtype=W.dtype)
    for _ in range(order):
        nested = np.einsum("kab,bc...->ack...", ad, nested)
    return _sorted(nested, node, order)


def _sorted(nested: AnyArray, node: AnyArray, order: int) -> AnyArray:
    """Entry [..., a_1, ..., a_m] of the result is that at a_m, ..., a_1, sorted by joint."""
    if order < 2:
        return nested
    nv = len(node)
    indices = np.indices((nv,) * order)[::-1]
    ranks = np.argsort(node[indices], axis=0, kind="stable")
    chosen = np.take_along_axis(indices, ranks, axis=0)
    out: AnyArray = nested[(slice(None), slice(None), *chosen)]
    return out


def _mask(node: AnyArray, order: int, relation: Any) -> AnyArray:
    """Mask (nv, nv, ..., nv): the relation holds between column j and all the other indices."""
    nv = len(node)
    mask = np.ones((nv,) * (order + 1), bool)
    pair = relation(node[:, None], node)
    for m in range(order):
        mask &= pair.reshape((nv,) + (1,) * m + (nv,) + (1,) * (order - 1 - m))
    return mask
