"""Actuation and constraint forces of planned motions, their rates, and derivatives of these."""

from __future__ import annotations

from math import comb, prod
from typing import Any, NamedTuple

import numpy as np

from jounce._core.words import told_by
from jounce._types import Array, ArrayLike, Integers
from jounce.constraints.actuation import (
    ActuationSystem,
    Actuators,
    actuation_system,
    combinations,
    factorials,
    product,
)
from jounce.constraints.checks import require_motion_series
from jounce.constraints.constraints import Constraints, constraints_on
from jounce.constraints.results import SeriesGiven, deliver_ranked, orders_of, rank_of, ranked
from jounce.constraints.rows_series import jacobian_coefficients, jacobian_tangents, portions
from jounce.derivatives import inverse_dynamics_series_derivatives
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.model.rates import Actuated
from jounce.series import inverse_dynamics_series

__all__ = [
    "ConstrainedInverseDynamicsSeries",
    "ConstrainedInverseDynamicsSeriesDerivatives",
    "constrained_inverse_dynamics_series",
    "constrained_inverse_dynamics_series_derivatives",
]


@ranked
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

    @property
    def rank(self) -> Integers:
        """(...) how many of the rows are independent; it is no item of the tuple."""
        return rank_of(self)


@ranked
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

    @property
    def rank(self) -> Integers:
        """(...) how many of the rows are independent; it is no item of the tuple."""
        return rank_of(self)


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
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> ConstrainedInverseDynamicsSeries:
    """Actuation and constraint forces of a planned motion, with all time derivatives up to order r.

    At every instant u is the actuation with the smallest sum of ``weights * u**2`` that does it,
    ``S u + J^T force = M a + b``: with H = S W^-1 S^T and a multiplier x, u = W^-1 S^T x, and

        H x + J^T force = M a + b,    J x = 0,

    differentiated order by order with one factorization. Where the constraints leave rates without
    an actuator free, as one or two point feet do, few motions are possible: those that
    `constrained_dynamics_series` gives. These have their actuation, the others are refused.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        motion: (..., r+2, nv) rates and their time derivatives, which fulfill the constraints.
        constraints: the constraints; where rows depend on each other, forces are of the least norm
            at every instant.
        f_ext: (..., r+1, n_bodies, 6) body-fixed wrenches and their time derivatives.
        actuated: which rates have an actuator; by default ``model.actuated``.
        actuation: (nv, inputs) constant map S from inputs to generalized forces, instead.
        weights: (inputs,) positive; by default 1.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (tau, force), tau = S u, with the attribute ``rank``.

    Raises:
        ArgumentError: a wrong shape, bad numbers, a motion that violates the constraints or whose
            derivatives do (which one, and by how much, is told), one that no actuation gives (the
            order at which it fails is told), or rows whose rank changes along the motion.

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
    actuators = Actuators.of(model, actuated, actuation, weights)
    orders = orders_of(motion, 1)
    arrays = {"q": q, "motion": motion, "f_ext": f_ext}
    given = SeriesGiven("constrained_inverse_dynamics_series", model, threads, orders, **arrays)

    def compute(q: ArrayLike, motion: ArrayLike, f_ext: ArrayLike | None) -> tuple[Array, ...]:
        needed = inverse_dynamics_series(model, q, motion, f_ext, threads=threads)
        lead, at, rates = needed.shape[:-2], np.asarray(q, float), np.asarray(motion, float)
        J = _rows_in_time(c, at, rates, threads)
        J = np.broadcast_to(J, (*lead, *J.shape[-3:]))
        system = actuation_system(c, actuators, at, rates, J)
        x = system.solved(needed)
        force = system.forces(x[..., model.nv :]) @ combinations(c).T
        rank = np.broadcast_to(c.rank(q, threads=threads), lead)
        return x[..., : model.nv] @ system.H, force, np.array(rank, float)

    own = ((orders, model.nv), (orders, c.size))
    return deliver_ranked(ConstrainedInverseDynamicsSeries, compute, out, own, given)


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
    out: tuple[Array, ...] | None = None,
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
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (tau_dq, tau_dmotion, force_dq, force_dmotion), with the attribute ``rank``.

    Raises:
        ArgumentError: a wrong shape, bad numbers, a motion that violates the constraints, rows
            whose rank is not the same nearby (it is said, see `Constraints.regular`), or rates that
            neither an actuator nor a constraint moves: then motions nearby have no actuation.

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
    actuators = Actuators.of(model, actuated, actuation, weights)
    n, orders = model.nv, orders_of(motion, 1)
    arrays = {"q": q, "motion": motion, "f_ext": f_ext}
    name = "constrained_inverse_dynamics_series_derivatives"
    given = SeriesGiven(name, model, threads, orders, **arrays)

    def compute(*state: Any) -> tuple[Array, ...]:
        return _partials(c, actuators, state, threads)

    by = ((n,), (orders + 1, n))
    own = tuple((orders, rows, *last) for rows in (n, c.size) for last in by)
    return deliver_ranked(ConstrainedInverseDynamicsSeriesDerivatives, compute, out, own, given)


def _partials(
    c: Constraints, actuators: Actuators, state: tuple[Any, ...], threads: int
) -> tuple[Array, ...]:
    """The fields of the result and the rank."""
    model, (q, motion, f_ext) = c.model, state
    needed = inverse_dynamics_series(model, q, motion, f_ext, threads=threads)
    d = inverse_dynamics_series_derivatives(model, q, motion, f_ext, threads=threads)
    lead, (orders, n) = needed.shape[:-2], needed.shape[-2:]
    count = prod(lead)
    q = np.broadcast_to(np.asarray(q, float), (*lead, model.nq)).reshape(count, model.nq)
    motion = np.broadcast_to(np.asarray(motion, float), (*lead, orders + 1, n))
    flat = motion.reshape(count, orders + 1, n)
    _rows_in_time(c, q.reshape(*lead, model.nq), motion, threads)  # the constraints must allow it
    columns = [d.dq, d.dmotion.reshape(*lead, orders, n, (orders + 1) * n)]
    d_needed = np.concatenate(columns, -1).reshape(len(q), orders, n, (orders + 2) * n)
    needed = needed.reshape(len(q), orders, n)
    found = np.zeros((len(q), orders, n + c.size, d_needed.shape[-1]))
    for k in range(len(q)):
        with told_by("constrained_inverse_dynamics_series_derivatives", (len(q),), [k], ()):
            found[k] = _differentiated(c, actuators, (q[k], flat[k]), needed[k], d_needed[k])
    tau, force = found[..., :n, :], found[..., n:, :]
    by_motion = (orders + 1, n)
    return (
        tau[..., :n].reshape(*lead, orders, n, n),
        tau[..., n:].reshape(*lead, orders, n, *by_motion),
        force[..., :n].reshape(*lead, orders, c.size, n),
        force[..., n:].reshape(*lead, orders, c.size, *by_motion),
        np.array(c.rank(q, threads=threads), float).reshape(lead),
    )


def _differentiated(
    c: Constraints, actuators: Actuators, at: tuple[Array, Array], needed: Array, d_needed: Array
) -> Array:
    """Derivatives of tau and force of one state along all directions, (orders, nv + m, K)."""
    orders, n, directions = d_needed.shape
    J = _rows_in_time(c, *at)
    system = actuation_system(c, actuators, *at, J)
    if system.dependent:
        _require_regular(c, at[0])
    x = system.solved(needed)
    if system.loose:
        raise ArgumentError(
            f"neither an actuator nor a constraint moves {system.loose} of the rates: motions "
            "nearby have no actuation at all, so that there are no derivatives"
        )
    found = np.zeros((orders, n + c.size, directions))
    for some in portions(directions, J):
        dJ = _rows_along(c, at, some) if c.size else np.zeros((some.stop - some.start, *J.shape))
        found[..., some] = _differentiated_along(c, system, x, J, dJ, d_needed[..., some])
    return found


def _rows_along(c: Constraints, at: tuple[Array, Array], some: slice) -> Array:
    """Derivatives of independent rows by entries of q and the motion, (K, orders, rows, nv)."""
    orders, n = len(at[1]) - 1, at[1].shape[1]
    entries = np.arange(some.start, some.stop)
    unit = (entries[:, None] == np.arange((orders + 2) * n)).astype(float)
    dq, d_motion = unit[:, :n], unit[:, n:].reshape(-1, orders + 1, n)
    known = at[1][:orders], dq, d_motion[:, :orders]
    change = jacobian_tangents(c, at[0], *known) * factorials(orders + 1)
    rows: Array = combinations(c).T @ change[:, :orders]
    return rows


def _differentiated_along(
    c: Constraints, system: ActuationSystem, x: Array, J: Array, dJ: Array, d_needed: Array
) -> Array:
    """The same along some directions, with the rows and their derivatives."""
    orders, n, directions = d_needed.shape
    A, dA = system.A, dJ
    if system.dependent:
        half = product(J.swapaxes(-1, -2), dJ)
        dA = half + half.swapaxes(-1, -2)
    dx = np.zeros((orders, system.inverse.shape[-1], directions))
    for k in range(orders):
        right = np.concatenate([d_needed[k], np.zeros((A.shape[-2], directions))])
        for i in range(k + 1):
            weight, before = comb(k, i), x[k - i]
            right[:n] -= weight * (before[n:] @ dA[:, i]).T
            right[n:] -= weight * (dA[:, i] @ before[:n]).T
            if i:
                right[:n] -= weight * (A[i].T @ dx[k - i, n:])
                right[n:] -= weight * (A[i] @ dx[k - i, :n])
        dx[k] = system.inverse @ right
    d_force = dx[:, n:]
    if system.dependent:
        along = product(dJ, np.broadcast_to(x[:, n:, None], (directions, orders, n, 1)))
        d_force = product(J, d_force) + np.moveaxis(along[..., 0], 0, -1)
    return np.concatenate([system.H @ dx[:, :n], combinations(c) @ d_force], -2)


def _rows_in_time(c: Constraints, q: Array, motion: Array, threads: int | None = None) -> Array:
    """J of the combinations of rows and its time derivatives, (..., r+1, k, nv).

    With a number of threads, the constraints must allow the motion.
    """
    count = motion.shape[-2]
    if not c.size:
        return np.zeros((*motion.shape[:-2], count - 1, 0, c.model.nv))
    J = jacobian_coefficients(c, q, motion[..., : count - 1, :]) * factorials(count)
    if threads is not None:
        require_motion_series(c, q, motion, J, threads)
    kept: Array = combinations(c).T @ J[..., : count - 1, :, :]
    return kept


def _require_regular(c: Constraints, q: Array) -> None:
    if not c.regular(q):
        raise ArgumentError(
            f"of the {c.size} rows {c.rank(q)} are independent at this q, and "
            f"{c._usual_rank()} nearby, so that there are no derivatives by q"
        )
