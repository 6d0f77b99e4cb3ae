"""Partial derivatives of Jacobians, twists and accelerations of bodies, as Lie brackets.

Derivatives with respect to q are taken in the tangent space: q is moved by
``integrate(model, q, eps)``, left-trivialized for spherical and free joints. With the columns J_j
of a body's Jacobian in body axes, and j < k for a joint of j inward of that of k,

    D_k J_j = [J_j, J_k] for j < k, else zero                              (mueller, eq. 5 and 12),

and the other representations follow from how the axes turn: with the pose's matrix X and
U = 0 ("body"), U x = (angular part of x, 0) ("hybrid"), U x = x ("spatial"),

    D_k (X y) = X ([U J_k, y] + D_k y).

"mixed" takes its angular part from "body" and its linear part from "hybrid".
"""

from __future__ import annotations

import math
from itertools import combinations
from operator import index
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jounce import lie, twists
from jounce._out import deliver, deliver_all
from jounce.kinematics import body_accelerations, body_pose, jacobian
from jounce.model import Model, locate, require_model
from jounce.rates import rate_nodes

__all__ = [
    "BodyAccelerationDerivatives",
    "BodyTwistDerivatives",
    "body_acceleration_derivatives",
    "body_twist_derivatives",
    "jacobian_partials",
]

Array = npt.NDArray[np.float64]
ArrayLike = npt.ArrayLike


class BodyTwistDerivatives(NamedTuple):
    """Derivatives of a twist, (..., 6, nv) each; ``dv`` is the Jacobian."""

    dq: Array
    dv: Array


class BodyAccelerationDerivatives(NamedTuple):
    """Derivatives of an acceleration, (..., 6, nv) each; ``da`` is the Jacobian."""

    dq: Array
    dv: Array
    da: Array


def jacobian_partials(
    model: Model,
    q: ArrayLike,
    body: str | int,
    order: int,
    twist: str = "body",
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """All partial derivatives of one order of a body's Jacobian, (..., 6, nv, nv, ..., nv).

    Nested Lie brackets of its columns, with b the indices a_1, ..., a_m sorted by joint from the
    base outward (a stable sort):

        body     [...[[J_j, J_b1], J_b2], ..., J_bm]  if j < b1            (mueller, eq. 5, 12, 14)
        spatial  [J_b1, [J_b2, ..., [J_bm, J_j]]]     if bm <= j           (mueller, eq. 15, 20, 23)
        hybrid   sum over subsets s of b of ad_{w_s1} ad_{w_s2} ... [...[J_j, J_r1], ...]: some
                 derivatives turn the axes, the others r act as in body axes (eq. 25 for order 1)

    Entry [..., j, a_1, ..., a_m] is D_{a_1} (D_{a_2} (... D_{a_m} J_j)): the mixed derivative of
    column j at q moved along a_1, then along a_2, and so on. For 1-DoF joints the order does not
    matter; rates of one spherical or free joint do not commute. Only the columns on the body's path
    to the base are computed.

    Deviation: eq. 25 holds for j <= k only; where k is inward of j the derivative is not zero but
    [angular(J_k), J_j], because the axes turn.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        body: a body (name or index) or the name of a frame.
        order: number m of derivatives; 0 gives the Jacobian.
        twist: representation of the twist, see `jounce.twists`.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 6, nv, nv, ..., nv) with 2 + order axes after the leading ones.

    Raises:
        ValueError: a negative order, an unknown representation, a wrong shape or bad numbers.
        KeyError: an unknown body.

    Identity: ``jacobian_partials(model, q, body, 1) @ v`` is `jacobian_rate`.
    """
    order = _order(order)
    J = jacobian(model, q, body, "hybrid" if twist == "mixed" else twist, threads=threads)
    path = _path(model, body)
    node, columns = rate_nodes(model)[path], J[..., path]
    if twist == "mixed":
        hybrid = _hybrid_partials(columns, node, order)
        own = _body_partials(jacobian(model, q, body, threads=threads)[..., path], node, order)
        partials = np.concatenate([own[..., :3, :], hybrid[..., 3:, :]], axis=-2)
    else:
        partials = _PARTIALS[twist](columns, node, order)
    n, lead = len(path), J.shape[:-1]
    result = np.zeros((*lead, *(model.nv,) * (order + 1)))
    places: tuple[Any, ...] = np.ix_(*[path] * (order + 1))
    result[(..., *places)] = partials.reshape(*lead, *(n,) * (order + 1))
    return deliver(result, out)


def body_twist_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    body: str | int,
    twist: str = "body",
    *,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> BodyTwistDerivatives:
    """Derivatives of `body_twist` with respect to q and v.

    In body axes D_k V = [V_<k, J_k] with the twist V_<k of the bodies before joint k, carried to
    the body (mueller, eq. 12, summed over the columns); O(depth^2).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        body: a body (name or index) or the name of a frame.
        twist: representation of the twist, see `jounce.twists`.
        out: two (..., 6, nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dq, dv), (..., 6, nv) each; column k is the derivative along rate k.

    Raises:
        ValueError: an unknown representation, a wrong shape or bad numbers.
        KeyError: an unknown body.
    """
    twists.representation_index(twist)
    require_model(model)
    x = _motion(model, q, v, np.zeros(model.nv), body, threads)
    dq = [X @ (_ad(_turn(name, x.J), x.V[..., None]) + x.V_dq) for name, X in x.matrices(twist)]
    dv = [X @ x.J for _, X in x.matrices(twist)]
    return deliver_all(BodyTwistDerivatives(x.spread(dq), x.spread(dv)), out)


def body_acceleration_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    body: str | int,
    twist: str = "body",
    *,
    out: tuple[Array, Array, Array] | None = None,
    threads: int = 1,
) -> BodyAccelerationDerivatives:
    """Derivatives of a body's acceleration with respect to q, v and a.

    The acceleration is the time derivative A of the twist's components, as `body_accelerations`
    gives it. In body axes, with V_<k and A_<k of what moves before joint k and V_>k = the part of
    the twist from joints after it,

        D_k A = [A_<k, J_k] + [[V_<k, J_k], V - V_<k],   dA/dv_k = [V_<k, J_k] + [J_k, V_>k]

    (mueller, eq. 14 at order 2, summed over the columns); O(depth^2).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., nv) derivatives of the components of v.
        body: a body (name or index) or the name of a frame.
        twist: representation of the twist, see `jounce.twists`.
        out: three (..., 6, nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dq, dv, da), (..., 6, nv) each; column k is the derivative along rate k.

    Raises:
        ValueError: an unknown representation, a wrong shape or bad numbers.
        KeyError: an unknown body.
    """
    twists.representation_index(twist)
    x = _motion(model, q, v, a, body, threads)
    V, A = x.V[..., None], x.A[..., None]
    dq, dv, da = [], [], []
    for name, X in x.matrices(twist):
        turning = _turn(name, V)
        UJ, UdV = _turn(name, x.J), _turn(name, x.V_dq)
        own = _ad(UdV, V) + _ad(turning, x.V_dq) + x.A_dq
        dq.append(X @ (_ad(UJ, _ad(turning, V) + A) + own))
        dv.append(X @ (_ad(UJ, V) + _ad(turning, x.J) + x.A_dv))
        da.append(X @ x.J)
    result = BodyAccelerationDerivatives(x.spread(dq), x.spread(dv), x.spread(da))
    return deliver_all(result, out)


class _Motion(NamedTuple):
    """A body's motion in body axes and its derivatives; columns are those of its path."""

    model: Model
    path: npt.NDArray[np.int64]
    T: Array
    J: Array
    V: Array
    A: Array
    V_dq: Array
    A_dq: Array
    A_dv: Array

    def matrices(self, twist: str) -> list[tuple[str, Array]]:
        """Names and matrices X of the representations that a twist is made of."""
        names = ("body", "hybrid") if twist == "mixed" else (twist,)
        return [(name, _axes(self.T, name)) for name in names]

    def spread(self, parts: list[Array]) -> Array:
        """Put the columns of the path in their place; two parts make a mixed quantity."""
        columns = np.concatenate([parts[0][..., :3, :], parts[-1][..., 3:, :]], axis=-2)
        lead = np.broadcast_shapes(columns.shape[:-2], self.A_dq.shape[:-2])
        out = np.zeros((*lead, 6, self.model.nv))
        out[..., self.path] = columns
        return out


def _motion(
    model: Model, q: ArrayLike, v: ArrayLike, a: ArrayLike, body: str | int, threads: int
) -> _Motion:
    body_accelerations(model, q, v, a, threads=threads)  # checks the arguments
    path = _path(model, body)
    node = rate_nodes(model)[path]
    T = body_pose(model, q, body, threads=threads)
    J = jacobian(model, q, body, threads=threads)[..., path]
    rates, accelerations = (np.asarray(x, float)[..., None, path] for x in (v, a))
    before = (node[:, None] < node).astype(float)  # [j, k]: j before k
    moved = J * rates
    V, V_before, V_after = moved.sum(-1), moved @ before, moved @ before.T
    dV = _ad(V_before, J)
    terms = J * accelerations + dV * rates
    dA_dq = _ad(terms @ before, J) + _ad(dV, V[..., None] - V_before)
    dA_dv = dV + _ad(J, V_after)
    return _Motion(model, path, T, J, V, terms.sum(-1), dV, dA_dq, dA_dv)


def _axes(T: Array, twist: str) -> Array:
    """Matrix X from body axes to the representation, (..., 6, 6)."""
    if twist == "body":
        return np.eye(6)
    turn = T.copy()
    if twist == "hybrid":
        turn[..., :3, 3] = 0.0
    return lie.Ad(turn)


def _ad(x: Array, y: Array) -> Array:
    """Lie brackets [x, y] of columns, (..., 6, n); one column stands for all."""
    n, m = [1, 2, 0], [2, 0, 1]  # of a cross product's factors
    w, u, a, b = x[..., :3, :], x[..., 3:, :], y[..., :3, :], y[..., 3:, :]
    wn, wm, an, am = w[..., n, :], w[..., m, :], a[..., n, :], a[..., m, :]
    angular = wn * am - wm * an
    linear = wn * b[..., m, :] - wm * b[..., n, :] + u[..., n, :] * am - u[..., m, :] * an
    return np.concatenate([angular, linear], axis=-2)


def _turn(twist: str, x: Array) -> Array:
    """U x: how the axes and the origin of a representation move with the twist x."""
    if twist == "spatial":
        return x
    keep = 1.0 if twist == "hybrid" else 0.0
    return np.concatenate([keep * x[..., :3, :], np.zeros_like(x[..., 3:, :])], axis=-2)


def _order(order: int) -> int:
    try:
        value = index(order)
    except TypeError:
        value = -1
    if value < 0 or isinstance(order, bool):
        raise ValueError(f"order must be an integer of at least 0, got {order!r}")
    return value


def _path(model: Model, body: str | int) -> npt.NDArray[np.int64]:
    """Rates of the joints between the base and a body, from the base outward."""
    node, _ = locate(model, body)
    on_path = np.zeros(len(model.nodes.parent), bool)
    while node >= 0:
        on_path[node] = True
        node = int(model.nodes.parent[node])
    return np.flatnonzero(on_path[rate_nodes(model)])


def _body_partials(J: Array, node: npt.NDArray[np.int64], order: int) -> Array:
    """Eq. 14: nested brackets from the inside, [[J_j, J_b1], J_b2], ...; (..., 6, n^(order+1))."""
    ad = -lie.ad(J.swapaxes(-1, -2))  # [x, J_k] = -ad_{J_k} x
    nested = J
    for _ in range(order):
        nested = _flat(np.einsum("...kab,...bx->...axk", ad, nested))
    return _sorted(nested, node, order) * _mask(node[:, None] < node, order)


def _spatial_partials(J: Array, node: npt.NDArray[np.int64], order: int) -> Array:
    """Eq. 23: nested brackets, [J_b1, [J_b2, ... J_j]], a new index in front of the others."""
    n = len(node)
    ad = lie.ad(J.swapaxes(-1, -2))
    nested = J
    for _ in range(order if n else 0):
        split = nested.reshape(*nested.shape[:-1], n, nested.shape[-1] // n)
        nested = _flat(np.einsum("...kab,...bjx->...ajkx", ad, split), 3)
    return _sorted(nested, node, order) * _mask(node[:, None] >= node, order)


def _hybrid_partials(J: Array, node: npt.NDArray[np.int64], order: int) -> Array:
    """Leibniz' rule on X J^b: a subset of the derivatives turns the axes."""
    n, lead = len(node), J.shape[:-2]
    turns = [_rotations(J, node, m) for m in range(order + 1)]  # (..., 6, 6, n^m)
    inner = [_body_partials(J, node, m) for m in range(order + 1)]
    total = np.zeros((*lead, 6, *(n,) * (order + 1)))
    for chosen in (s for m in range(order + 1) for s in combinations(range(order), m)):
        rest = [m for m in range(order) if m not in chosen]
        product = np.einsum("...acs,...cx->...axs", turns[len(chosen)], inner[len(rest)])
        product = product.reshape(*lead, 6, *(n,) * (order + 1))  # j, rest..., chosen...
        places = [0, *(1 + m for m in rest), *(1 + m for m in chosen)]
        axes = np.argsort(places) + len(lead) + 1
        total += product.transpose(*range(len(lead) + 1), *axes)
    return _flat(total, order + 1)


def _rotations(J: Array, node: npt.NDArray[np.int64], order: int) -> Array:
    """Derivatives of X times its inverse: ad_{w_b1} ad_{w_b2} ..., sorted by joint."""
    W = J.swapaxes(-1, -2) * np.repeat([1.0, 0.0], 3)
    ad = lie.ad(W)
    nested = np.broadcast_to(np.eye(6)[..., None], (*J.shape[:-2], 6, 6, 1))
    for _ in range(order):
        nested = _flat(np.einsum("...kab,...bcx->...ackx", ad, nested))
    return _sorted(nested, node, order)


def _flat(x: Array, count: int = 2) -> Array:
    """Merge the last `count` axes."""
    return x.reshape(*x.shape[: x.ndim - count], math.prod(x.shape[x.ndim - count :]))


def _sorted(nested: Array, node: npt.NDArray[np.int64], order: int) -> Array:
    """Read entry [..., a_1, ..., a_m] at the indices sorted by joint."""
    n = len(node)
    if order < 2 or n == 0:
        return nested
    indices = np.indices((n,) * order).reshape(order, -1)
    ranks = np.argsort(node[indices], axis=0, kind="stable")
    chosen = np.ravel_multi_index(tuple(np.take_along_axis(indices, ranks, axis=0)), (n,) * order)
    split = nested.reshape(*nested.shape[:-1], nested.shape[-1] // n**order, n**order)
    return split[..., chosen].reshape(nested.shape)


def _mask(pair: npt.NDArray[np.bool_], order: int) -> npt.NDArray[np.bool_]:
    """Whether the relation [j, k] holds between column j and all other indices, flattened."""
    n = len(pair)
    mask = np.ones((n,) * (order + 1), bool)
    for m in range(order):
        mask &= pair.reshape((n,) + (1,) * m + (n,) + (1,) * (order - 1 - m))
    return mask.reshape(-1)


_PARTIALS: dict[str, Any] = {
    "body": _body_partials,
    "spatial": _spatial_partials,
    "hybrid": _hybrid_partials,
}
