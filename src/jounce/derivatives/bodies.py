"""Partial derivatives of twists and accelerations of bodies and frames.

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

from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._core.out import Given, deliver_all
from jounce._types import Array, ArrayLike, Integers
from jounce.kinematics import body_accelerations, body_pose, jacobian
from jounce.lie import twists
from jounce.model import Model
from jounce.model.model import node_of
from jounce.model.rates import path_rates, rate_nodes

__all__ = [
    "BodyAccelerationDerivatives",
    "BodyTwistDerivatives",
    "body_acceleration_derivatives",
    "body_twist_derivatives",
]


class BodyTwistDerivatives(NamedTuple):
    """Derivatives of a twist, (..., 6, nv) each; ``dv`` is the Jacobian."""

    dq: Array
    dv: Array


class BodyAccelerationDerivatives(NamedTuple):
    """Derivatives of an acceleration, (..., 6, nv) each; ``da`` is the Jacobian."""

    dq: Array
    dv: Array
    da: Array


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
        ArgumentError: an unknown representation, a wrong shape or bad numbers.
        UnknownNameError: an unknown body.
    """
    twists.require_representation(twist)
    node_of(model, body)

    def compute(q: ArrayLike, v: ArrayLike) -> BodyTwistDerivatives:
        x = _motion(model, q, v, np.zeros(model.nv), body, threads)
        return _twist_derivatives(x, twist)

    own, given = (6, model.nv), Given("body_twist_derivatives", model, threads, q=q, v=v)
    return deliver_all(compute, out, (own, own), given)


def _twist_derivatives(x: _Motion, twist: str) -> BodyTwistDerivatives:
    dq = [X @ (_ad(_turn(name, x.J), x.V[..., None]) + x.V_dq) for name, X in x.matrices(twist)]
    dv = [X @ x.J for _, X in x.matrices(twist)]
    return BodyTwistDerivatives(x.spread(dq), x.spread(dv))


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
        ArgumentError: an unknown representation, a wrong shape or bad numbers.
        UnknownNameError: an unknown body.
    """
    twists.require_representation(twist)
    node_of(model, body)

    def compute(q: ArrayLike, v: ArrayLike, a: ArrayLike) -> BodyAccelerationDerivatives:
        return _acceleration_derivatives(_motion(model, q, v, a, body, threads), twist)

    own = (6, model.nv)
    given = Given("body_acceleration_derivatives", model, threads, q=q, v=v, a=a)
    return deliver_all(compute, out, (own, own, own), given)


def _acceleration_derivatives(x: _Motion, twist: str) -> BodyAccelerationDerivatives:
    V, A = x.V[..., None], x.A[..., None]
    dq, dv, da = [], [], []
    for name, X in x.matrices(twist):
        turning = _turn(name, V)
        UJ, UdV = _turn(name, x.J), _turn(name, x.V_dq)
        own = _ad(UdV, V) + _ad(turning, x.V_dq) + x.A_dq
        dq.append(X @ (_ad(UJ, _ad(turning, V) + A) + own))
        dv.append(X @ (_ad(UJ, V) + _ad(turning, x.J) + x.A_dv))
        da.append(X @ x.J)
    return BodyAccelerationDerivatives(x.spread(dq), x.spread(dv), x.spread(da))


class _Motion(NamedTuple):
    """A body's motion in body axes and its derivatives; columns are those of its path."""

    model: Model
    path: Integers
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
    path = path_rates(model, body)
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
