"""Actuation and constraint forces of planned motions, their rates, and derivatives of these."""

from __future__ import annotations

from math import comb, factorial, prod
from typing import Any, NamedTuple

import numpy as np

from jounce._types import Array, ArrayLike, Integers
from jounce.constraints.checks import require_motion_series
from jounce.constraints.constraints import Constraints, constraints_on
from jounce.constraints.dynamics import times
from jounce.constraints.results import SeriesGiven, deliver_ranked, orders_of, rank_of, ranked
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
    "combinations",
    "constrained_inverse_dynamics_series",
    "constrained_inverse_dynamics_series_derivatives",
    "factorials",
    "inverse_saddle",
]

_WELL_CONDITIONED = 1e-13
_MET = 1e-6
"""How well dependent rows must be met, of the forces."""


_LARGEST = 1e150
"""Beyond it squares of numbers overflow."""


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

    differentiated order by order with one factorization.

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
            derivatives do (which one, and by how much, is told), rows whose rank changes along the
            motion, or rates that neither an actuator nor a constraint holds.

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
    orders = orders_of(motion, 1)
    arrays = {"q": q, "motion": motion, "f_ext": f_ext}
    given = SeriesGiven("constrained_inverse_dynamics_series", model, threads, orders, **arrays)

    def compute(q: ArrayLike, motion: ArrayLike, f_ext: ArrayLike | None) -> tuple[Array, ...]:
        needed = inverse_dynamics_series(model, q, motion, f_ext, threads=threads)
        lead, at = needed.shape[:-2], np.asarray(q, float)
        J = _rows_in_time(c, at, np.asarray(motion, float), threads)
        system = _system(c, H, at, np.broadcast_to(J, (*lead, *J.shape[-3:])))
        x = system.solved(needed)
        force = system.forces(x[..., model.nv :]) @ combinations(c).T
        rank = np.broadcast_to(c.rank(q, threads=threads), lead)
        return x[..., : model.nv] @ H, force, np.array(rank, float)

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
    n, orders = model.nv, orders_of(motion, 1)
    arrays = {"q": q, "motion": motion, "f_ext": f_ext}
    name = "constrained_inverse_dynamics_series_derivatives"
    given = SeriesGiven(name, model, threads, orders, **arrays)

    def compute(*state: Any) -> tuple[Array, ...]:
        return _partials(c, H, state, threads)

    by = ((n,), (orders + 1, n))
    own = tuple((orders, rows, *last) for rows in (n, c.size) for last in by)
    return deliver_ranked(ConstrainedInverseDynamicsSeriesDerivatives, compute, out, own, given)


def _partials(c: Constraints, H: Array, state: tuple[Any, ...], threads: int) -> tuple[Array, ...]:
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
        found[k] = _differentiated(c, H, (q[k], flat[k]), needed[k], d_needed[k])
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
    c: Constraints, H: Array, at: tuple[Array, Array], needed: Array, d_needed: Array
) -> Array:
    """Derivatives of tau and force of one state along all directions, (orders, nv + m, K)."""
    orders, n, directions = d_needed.shape
    dq = np.zeros((directions, n))
    dq[:n] = np.eye(n)
    d_motion = np.zeros((directions, orders + 1, n))
    d_motion[n:] = np.eye((orders + 1) * n).reshape((orders + 1) * n, orders + 1, n)
    J = _rows_in_time(c, *at)
    dJ = np.zeros((directions, *J.shape))
    if c.size:
        B = combinations(c)
        known = at[1][:orders], dq, d_motion[:, :orders]
        dJ = B.T @ (jacobian_tangents(c, at[0], *known) * factorials(orders + 1))[:, :orders]
    system = _system(c, H, at[0], J)
    A, dA = system.A, dJ
    if system.dependent:
        _require_regular(c, at[0])
        half = _product(J.swapaxes(-1, -2), dJ)
        dA = half + half.swapaxes(-1, -2)
    x = system.solved(needed)
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
        along = _product(dJ, np.broadcast_to(x[:, n:, None], (directions, orders, n, 1)))
        d_force = _product(J, d_force) + np.moveaxis(along[..., 0], 0, -1)
    return np.concatenate([H @ dx[:, :n], combinations(c) @ d_force], -2)


def _actuator_metric(
    model: Model, actuated: Actuated, actuation: ArrayLike | None, weights: ArrayLike | None
) -> Array:
    """H = S W^-1 S^T of the actuators."""
    inputs = inputs_of(model, actuated, actuation)
    W = np.ones(inputs.number) if weights is None else numbers("weights", weights, (inputs.number,))
    if not (W > 0).all():
        raise ArgumentError(f"weights must be positive, got {weights!r}")
    S = inputs.columns(np.eye(model.nv))
    with np.errstate(over="ignore", invalid="ignore"):
        H: Array = (S / W) @ S.T
    if not (np.abs(H) < _LARGEST).all():
        raise ArgumentError("actuation or weights are so large or small that products overflow")
    return H


def combinations(c: Constraints) -> Array:
    """Combinations of rows without those that always vanish, (m, k)."""
    basis = c._lasting_rows()
    return np.eye(c.size) if basis.shape[1] == c.size else basis


def factorials(count: int) -> Array:
    """K! as a factor of matrices."""
    return np.array([factorial(i) for i in range(count)], float)[:, None, None]


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


class _System(NamedTuple):
    """Equations H x + A^T y = f, A x = 0 of a motion, and what makes forces of y.

    A are the rows J, and y is the force. Where rows depend on each other, A = J^T J and force =
    J y: of all forces that do the same, those are of the least norm.
    """

    J: Array
    """(..., orders, k, nv) with its time derivatives, as A."""
    A: Array
    inverse: Array
    """Of the matrix at order 0, or its pseudoinverse."""
    dependent: bool

    def solved(self, needed: Array) -> Array:
        """X and y of all orders, (..., orders, nv + k).

        Raises:
            ArgumentError: there is none, since the rank changes along the motion.
        """
        *lead, orders, n = needed.shape
        A, x = self.A, np.zeros((*lead, orders, self.inverse.shape[-1]))
        for k in range(orders):
            right = np.zeros((*lead, self.inverse.shape[-1]))
            right[..., :n] = needed[..., k, :]
            for i in range(1, k + 1):
                A_i, before = A[..., i, :, :], x[..., k - i, :]
                right[..., :n] -= comb(k, i) * times(A_i.swapaxes(-1, -2), before[..., n:])
                right[..., n:] -= comb(k, i) * times(A_i, before[..., :n])
            x[..., k, :] = times(self.inverse, right)
            left = times(A[..., 0, :, :], x[..., k, :n]) - right[..., n:]
            if self.dependent and (np.abs(left) > _MET * (1.0 + np.abs(right).max())).any():
                raise ArgumentError("the rank of the rows changes along this motion")
        return x

    def forces(self, y: Array) -> Array:
        """(..., orders, k) from y."""
        return _product(self.J, y[..., None])[..., 0] if self.dependent else y


def _system(c: Constraints, H: Array, q: Array, J: Array) -> _System:
    """The equations at q, with rows J and their time derivatives."""
    k, rank = J.shape[-2], c.rank(q)
    if np.all(rank == k):
        return _System(J, J, inverse_saddle(H, J[..., 0, :, :], k), False)
    A = _product(J.swapaxes(-1, -2), J)
    return _System(J, A, inverse_saddle(H, A[..., 0, :, :], rank), True)


def _product(X: Array, Y: Array) -> Array:
    """Time derivatives of a product of matrices, along the third axis from the last."""
    orders = range(X.shape[-3])
    terms = [
        sum(comb(k, i) * X[..., i, :, :] @ Y[..., k - i, :, :] for i in range(k + 1))
        for k in orders
    ]
    return np.stack(terms, axis=-3)


def _require_regular(c: Constraints, q: Array) -> None:
    if not c.regular(q):
        raise ArgumentError(
            f"of the {c.size} rows {c.rank(q)} are independent at this q, and "
            f"{c._usual_rank()} nearby, so that there are no derivatives by q"
        )


def inverse_saddle(H: Array, A: Array, rank: ArrayLike) -> Array:
    """Inverse of [[H, A^T], [A, 0]], or its pseudoinverse if A has a smaller rank."""
    *lead, m, n = A.shape
    K = np.zeros((*lead, n + m, n + m))
    K[..., :n, :n] = H
    K[..., :n, n:] = A.swapaxes(-1, -2)
    K[..., n:, :n] = A
    if not n + m:
        return K
    values, vectors = np.linalg.eigh(K)
    sizes = np.sort(np.abs(values), axis=-1)
    lost = np.broadcast_to(m - np.asarray(rank), tuple(lead))
    least = np.take_along_axis(sizes, lost[..., None], axis=-1)
    if (least <= _WELL_CONDITIONED * sizes[..., -1:]).any():
        raise ArgumentError(
            "the actuation is not unique: rates are held neither by an actuator nor by a constraint"
        )
    if not lost.any():
        inverse: Array = np.linalg.inv(K)
        return inverse
    kept = np.abs(values) >= least
    lengths = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    return np.asarray((vectors * lengths[..., None, :]) @ vectors.swapaxes(-1, -2))
