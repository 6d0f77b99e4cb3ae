"""Actuation and constraint forces of planned motions, their rates, and derivatives of these."""

from __future__ import annotations

from math import comb, factorial, prod
from typing import NamedTuple

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.constraints.constraints import Constraints, constraints_on
from jounce.constraints.dynamics import times
from jounce.constraints.rows_series import jacobian_coefficients, jacobian_tangents
from jounce.derivatives import inverse_dynamics_series_derivatives
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.model._checks import numbers
from jounce.model.rates import Actuated, inputs_of
from jounce.series import inverse_dynamics_series

__all__ = [
    "ConstrainedInverseDynamicsSeries",
    "ConstrainedInverseDynamicsSeriesDerivatives",
    "constrained_inverse_dynamics_series",
    "constrained_inverse_dynamics_series_derivatives",
]

_WELL_CONDITIONED = 1e-13


class ConstrainedInverseDynamicsSeries(NamedTuple):
    """What `constrained_inverse_dynamics_series` gives.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> still = np.zeros((3, dog.nv))
        >>> tau, force = jc.constrained_inverse_dynamics_series(dog, q, still, c, actuated=v == 0)
        >>> tau.shape, force.shape
        ((2, 18), (2, 6))
    """

    tau: Array
    """(..., r+1, nv) generalized forces of the actuators and their time derivatives."""
    force: Array
    """(..., r+1, m) constraint forces and their time derivatives."""


class ConstrainedInverseDynamicsSeriesDerivatives(NamedTuple):
    """Derivatives of both results of `constrained_inverse_dynamics_series`.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> derivatives = jc.constrained_inverse_dynamics_series_derivatives
        >>> d = derivatives(dog, q, np.zeros((3, dog.nv)), c, actuated=v == 0)
        >>> d.tau_dq.shape, d.force_dmotion.shape
        ((2, 18, 18), (2, 6, 3, 18))
    """

    tau_dq: Array
    """(..., r+1, nv, nv): [k, i, j] is the derivative of the order k of tau[i] along rate j."""
    tau_dmotion: Array
    """(..., r+1, nv, r+2, nv): [k, i, l, j] is that by the derivative l of v[j]."""
    force_dq: Array
    """(..., r+1, m, nv)."""
    force_dmotion: Array
    """(..., r+1, m, r+2, nv)."""


def constrained_inverse_dynamics_series(
    model: Model,
    q: ArrayLike,
    motion: ArrayLike,
    constraints: Constraints,
    f_ext: ArrayLike | None = None,
    *,
    actuated: Actuated = None,
    actuation: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    threads: int = 1,
) -> ConstrainedInverseDynamicsSeries:
    """Actuation and constraint forces of a planned motion, with all time derivatives up to order r.

    At every instant u is the actuation with the smallest sum of ``weights * u**2`` that does it,
    ``S u + J^T force = M a + b``: with H = S W^-1 S^T and a multiplier x, u = W^-1 S^T x, and

        H x + J^T force = M a + b,    J x = 0,

    differentiated order by order with one factorization.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        motion: (..., r+2, nv) rates and their time derivatives, which fulfill the constraints.
        constraints: the constraints; rows may depend on each other if they do so in the same way
            at all coordinates, and forces are then of the least norm.
        f_ext: (..., r+1, n_bodies, 6) body-fixed wrenches and their time derivatives.
        actuated: which rates have an actuator; by default ``model.actuated``.
        actuation: (nv, inputs) constant map S from inputs to generalized forces, instead.
        weights: (inputs,) positive; by default 1.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (tau, force), tau = S u.

    Raises:
        ArgumentError: a wrong shape, bad numbers, rows that depend on each other, or rates that
            neither an actuator nor a constraint holds.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> motion = np.zeros((3, dog.nv))  # stands still
        >>> found = jc.constrained_inverse_dynamics_series(dog, q, motion, c, actuated=v == 0)
        >>> found.tau.shape, found.force.shape
        ((2, 18), (2, 6))
    """
    c = constraints_on(model, constraints)
    H = _actuator_metric(model, actuated, actuation, weights)
    needed = inverse_dynamics_series(model, q, motion, f_ext, threads=threads)
    lead, orders = needed.shape[:-2], needed.shape[-2]
    J = _row_derivatives_in_time(c, np.asarray(q, float), np.asarray(motion, float), orders)
    J = np.broadcast_to(J, (*lead, *J.shape[-3:]))
    x = _solved(_inverse_saddle(H, J[..., 0, :, :]), J, needed)
    return ConstrainedInverseDynamicsSeries(
        x[..., : model.nv] @ H, x[..., model.nv :] @ _combinations(c).T
    )


def constrained_inverse_dynamics_series_derivatives(
    model: Model,
    q: ArrayLike,
    motion: ArrayLike,
    constraints: Constraints,
    f_ext: ArrayLike | None = None,
    *,
    actuated: Actuated = None,
    actuation: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    threads: int = 1,
) -> ConstrainedInverseDynamicsSeriesDerivatives:
    """Derivatives of `constrained_inverse_dynamics_series` by q and the derivatives of v.

    The equations of each order, ``H x + J^T force = M a + b`` and ``J x = 0``, are linear in what
    is sought: their derivatives have the same matrix, and on the right those of inverse dynamics
    (`inverse_dynamics_series_derivatives`) and of J and its time derivatives. Derivatives by q are
    taken in the tangent space, with f_ext held constant, also in directions that the constraints
    do not allow.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        motion: (..., r+2, nv) rates and their time derivatives, which fulfill the constraints.
        constraints: the constraints, as in `constrained_inverse_dynamics_series`.
        f_ext: (..., r+1, n_bodies, 6) body-fixed wrenches and their time derivatives.
        actuated: which rates have an actuator; by default ``model.actuated``.
        actuation: (nv, inputs) constant map S from inputs to generalized forces, instead.
        weights: (inputs,) positive; by default 1.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (tau_dq, tau_dmotion, force_dq, force_dmotion).

    Raises:
        ArgumentError: a wrong shape, bad numbers, rows that depend on each other, or rates that
            neither an actuator nor a constraint holds.

    Identity: ``tau_dmotion[..., k, :, l, :]`` is zero for l > k + 1.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> q, motion = dog.poses["standing"], np.zeros((3, dog.nv))
        >>> d = jc.constrained_inverse_dynamics_series_derivatives(
        ...     dog, q, motion, c, actuated=motion[0] == 0
        ... )
        >>> d.tau_dq.shape, d.force_dmotion.shape
        ((2, 18, 18), (2, 6, 3, 18))
    """
    c = constraints_on(model, constraints)
    H = _actuator_metric(model, actuated, actuation, weights)
    needed = inverse_dynamics_series(model, q, motion, f_ext, threads=threads)
    d = inverse_dynamics_series_derivatives(model, q, motion, f_ext, threads=threads)
    lead, (orders, n) = needed.shape[:-2], needed.shape[-2:]
    states, directions = prod(lead), (orders + 2) * n
    q = np.broadcast_to(np.asarray(q, float), (*lead, model.nq)).reshape(states, model.nq)
    motion = np.broadcast_to(np.asarray(motion, float), (*lead, orders + 1, n))
    flat = motion.reshape(states, orders + 1, n)
    columns = [d.dq, d.dmotion.reshape(*lead, orders, n, directions - n)]
    d_needed = np.concatenate(columns, -1).reshape(states, orders, n, directions)
    needed = needed.reshape(states, orders, n)
    found = np.zeros((len(q), orders, n + c.size, d_needed.shape[-1]))
    for k in range(len(q)):
        found[k] = _differentiated(c, H, (q[k], flat[k]), needed[k], d_needed[k])
    tau, force = found[..., :n, :], found[..., n:, :]
    by_motion = (orders + 1, n)
    return ConstrainedInverseDynamicsSeriesDerivatives(
        tau[..., :n].reshape(*lead, orders, n, n),
        tau[..., n:].reshape(*lead, orders, n, *by_motion),
        force[..., :n].reshape(*lead, orders, c.size, n),
        force[..., n:].reshape(*lead, orders, c.size, *by_motion),
    )


def _differentiated(
    c: Constraints, H: Array, at: tuple[Array, Array], needed: Array, d_needed: Array
) -> Array:
    """Derivatives of tau and force of one state along all directions, (orders, nv + m, K)."""
    orders, n, directions = d_needed.shape
    dq = np.zeros((directions, n))
    dq[:n] = np.eye(n)
    d_motion = np.zeros((directions, orders + 1, n))
    d_motion[n:] = np.eye((orders + 1) * n).reshape(directions - n, orders + 1, n)
    J = _row_derivatives_in_time(c, *at, orders)
    dJ = np.zeros((directions, *J.shape))
    if c.size:
        B = _combinations(c)
        known = at[1][:orders], dq, d_motion[:, :orders]
        dJ = B.T @ (jacobian_tangents(c, at[0], *known) * _factorials(orders + 1))[:, :orders]
    inverse = _inverse_saddle(H, J[0])
    x = _solved(inverse, J, needed)
    dx = np.zeros((orders, inverse.shape[-1], directions))
    for k in range(orders):
        right = np.concatenate([d_needed[k], np.zeros((J.shape[-2], directions))])
        for i in range(k + 1):
            weight, before = comb(k, i), x[k - i]
            right[:n] -= weight * (before[n:] @ dJ[:, i]).T
            right[n:] -= weight * (dJ[:, i] @ before[:n]).T
            if i:
                right[:n] -= weight * (J[i].T @ dx[k - i, n:])
                right[n:] -= weight * (J[i] @ dx[k - i, :n])
        dx[k] = inverse @ right
    return np.concatenate([H @ dx[:, :n], _combinations(c) @ dx[:, n:]], -2)


def _actuator_metric(
    model: Model, actuated: Actuated, actuation: ArrayLike | None, weights: ArrayLike | None
) -> Array:
    """H = S W^-1 S^T of the actuators."""
    inputs = inputs_of(model, actuated, actuation)
    W = np.ones(inputs.number) if weights is None else numbers("weights", weights, (inputs.number,))
    if not (W > 0).all():
        raise ArgumentError(f"weights must be positive, got {weights!r}")
    S = inputs.columns(np.eye(model.nv))
    H: Array = (S / W) @ S.T
    return H


def _combinations(c: Constraints) -> Array:
    """Combinations of rows without those that always vanish, (m, k)."""
    basis = c._lasting_rows()
    return np.eye(c.size) if basis.shape[1] == c.size else basis


def _factorials(count: int) -> Array:
    return np.array([factorial(i) for i in range(count)], float)[:, None, None]


def _row_derivatives_in_time(c: Constraints, q: Array, motion: Array, orders: int) -> Array:
    """J of the combinations of rows and its time derivatives, (..., orders, k, nv)."""
    if not c.size:
        return np.zeros((*motion.shape[:-2], orders, 0, c.model.nv))
    found = jacobian_coefficients(c, q, motion[..., :orders, :]) * _factorials(orders + 1)
    J: Array = _combinations(c).T @ found[..., :orders, :, :]
    return J


def _solved(inverse: Array, J: Array, needed: Array) -> Array:
    """X and the forces of all orders, (..., orders, nv + k)."""
    *lead, orders, n = needed.shape
    x = np.zeros((*lead, orders, inverse.shape[-1]))
    for k in range(orders):
        right = np.zeros((*lead, inverse.shape[-1]))
        right[..., :n] = needed[..., k, :]
        for i in range(1, k + 1):
            J_i, before = J[..., i, :, :], x[..., k - i, :]
            right[..., :n] -= comb(k, i) * times(J_i.swapaxes(-1, -2), before[..., n:])
            right[..., n:] -= comb(k, i) * times(J_i, before[..., :n])
        x[..., k, :] = times(inverse, right)
    return x


def _inverse_saddle(H: Array, J: Array) -> Array:
    """Inverse of [[H, J^T], [J, 0]]."""
    *lead, m, n = J.shape
    K = np.zeros((*lead, n + m, n + m))
    K[..., :n, :n] = H
    K[..., :n, n:] = J.swapaxes(-1, -2)
    K[..., n:, :n] = J
    lengths = np.linalg.svd(K, compute_uv=False)
    least, most = lengths.min(-1, initial=np.inf), lengths.max(-1, initial=0.0)
    if (least <= _WELL_CONDITIONED * most).any():
        raise ArgumentError(
            "the actuation is not unique: rows depend on each other, or rates are held neither by "
            "an actuator nor by a constraint"
        )
    inverse: Array = np.linalg.inv(K)
    return inverse
