"""The smallest actuation of a motion as a linear system, whose matrix changes with time.

With the actuators S, their weights W and H = S W^-1 S^T, the smallest u with S u + J^T f = g is
u = W^-1 S^T x, where

    (1)  H x + J^T f = g,    J x = 0.

Its derivatives are the same equations with those of lower orders on the right: one factorization
serves all of them. Where the constraints hold not all of the rates that no actuator moves, with the
basis E of these, x is known up to E y with J E y = 0, which changes neither u nor f, and

    (2)  y^T E^T (g - J^T f) = 0

is for the motion to fulfill: few motions are possible, and these have one smallest actuation.
"""

from __future__ import annotations

from math import comb, factorial, prod
from typing import NamedTuple

import numpy as np

from jounce._core import algebra
from jounce._core.arrays import shown
from jounce._core.words import place_of
from jounce._types import Array, ArrayLike, Integers
from jounce.constraints.constraints import LARGEST, Constraints
from jounce.constraints.dynamics import times
from jounce.constraints.orders import pace_of, rank_gained
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.model._checks import numbers
from jounce.model.rates import Actuated, inputs_of

__all__ = [
    "ActuationSystem",
    "Actuators",
    "actuation_system",
    "combinations",
    "factorials",
    "inverse_saddle",
    "product",
]

_WELL_CONDITIONED = 1e-13
_MET = 1e-6
"""How well dependent rows must be met, of the forces."""
_HELD = 1e-12
"""What is no rounding error of the rows of rates without an actuator, of all rows."""
_UNREACHABLE = 1e-8
"""What may be missing of forces where nothing acts, of all forces."""


class Actuators(NamedTuple):
    """What the actuators of a robot do."""

    H: Array
    """(nv, nv) S W^-1 S^T, of size one: x has the scale that is missing."""
    idle: Array
    """(nv, p) orthonormal: the rates that no actuator moves."""

    @classmethod
    def of(
        cls,
        model: Model,
        actuated: Actuated,
        actuation: ArrayLike | None,
        weights: ArrayLike | None,
    ) -> Actuators:
        """Those of the arguments of inverse dynamics."""
        inputs = inputs_of(model, actuated, actuation)
        W = np.ones(inputs.number)
        if weights is not None:
            W = numbers("weights", weights, (inputs.number,))
        if not (W > 0).all():
            raise ArgumentError(f"weights must be positive, got {shown(weights)}")
        S = inputs.columns(np.eye(model.nv))
        with np.errstate(over="ignore", invalid="ignore"):
            H: Array = algebra.product(S / W, S.T)
        if not (np.abs(H) < LARGEST).all():
            raise ArgumentError("actuation or weights are so large or small that products overflow")
        U, lengths, _ = algebra.svd(S)
        moved = int((lengths > _HELD * lengths.max(initial=0.0)).sum())
        return cls(H / (np.abs(H).max(initial=0.0) or 1.0), U[:, moved:])


def combinations(c: Constraints) -> Array:
    """Combinations of rows without those that always vanish, (m, k)."""
    basis = c._lasting_rows()
    return np.eye(c.size) if basis.shape[1] == c.size else basis


def factorials(count: int) -> Array:
    """K! as a factor of matrices."""
    return np.array([factorial(i) for i in range(count)], float)[:, None, None]


class ActuationSystem(NamedTuple):
    """Equations (1) of a motion, H x + A^T y = g, A x = 0, and what makes forces of y.

    A are the rows J, and y is the force. Where rows depend on each other, A = J^T J and force =
    J y: of all forces that do the same, those are of the least norm.
    """

    H: Array
    J: Array
    """(..., orders, k, nv) with its time derivatives, as A."""
    A: Array
    inverse: Array
    """Of the matrix at order 0, or its pseudoinverse."""
    loose: Integers
    """(...) how many independent rates neither an actuator nor a row moves: those of (2)."""
    dependent: bool

    def solved(self, needed: Array) -> Array:
        """X and y of all orders, (..., orders, nv + k).

        Raises:
            ArgumentError: there is none, since the rank changes along the motion, or since nothing
                acts where forces are needed.
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
            size = 1.0 + np.abs(right).max(initial=0.0)
            if self.dependent and (np.abs(left) > _MET * size).any():
                raise ArgumentError("the rank of the rows changes along this motion")
            if self.loose.any():
                self._require_reached(k, x[..., k, :], right[..., :n], needed[..., k, :])
        return x

    def _require_reached(self, k: int, x: Array, right: Array, needed: Array) -> None:
        """Equation (2), which few motions fulfill."""
        n = right.shape[-1]
        acting = x[..., :n] @ self.H + times(self.A[..., 0, :, :].swapaxes(-1, -2), x[..., n:])
        wrong = np.abs(acting - right).max(-1)
        size = np.maximum(np.abs(needed).max(-1), np.abs(right).max(-1))
        if not (wrong > _UNREACHABLE * size).any():
            return
        state = np.unravel_index(int(np.argmax(wrong - _UNREACHABLE * size)), wrong.shape)
        missing = f"{wrong[state]:.3g}" + (f" of order {k}" if k else "")
        raise ArgumentError(
            f"no actuation gives this motion{place_of(state)}: {missing} is missing where nothing "
            "acts; see model.actuated"
        )

    def forces(self, y: Array) -> Array:
        """(..., orders, k) from y."""
        return product(self.J, y[..., None])[..., 0] if self.dependent else y


def actuation_system(
    c: Constraints, actuators: Actuators, q: Array, motion: Array, J: Array
) -> ActuationSystem:
    """The equations at q, with rows J and their time derivatives along a motion.

    Raises:
        ArgumentError: the rates that rows hold for want of an actuator are others right after q.
    """
    k, rank, H = J.shape[-2], c.rank(q), actuators.H
    idle = algebra.product(actuators.idle.T, J.swapaxes(-1, -2))
    loose = _loose(J[..., 0, :, :], idle[..., 0, :, :])
    _require_lasting(idle, loose, motion)
    if np.all(rank == k):
        inverse = inverse_saddle(H, J[..., 0, :, :], k, loose)
        return ActuationSystem(H, J, J, inverse, loose, False)
    A = product(J.swapaxes(-1, -2), J)
    inverse = inverse_saddle(H, A[..., 0, :, :], rank, loose)
    return ActuationSystem(H, J, A, inverse, loose, True)


def _loose(J: Array, idle: Array) -> Integers:
    """How many of the rates without an actuator no row moves, (...); idle is E^T J^T."""
    if not idle.size:
        return np.full(idle.shape[:-2], idle.shape[-2])
    lengths = algebra.singular_values(idle)
    least = _HELD * np.abs(J).max((-1, -2), initial=0.0)[..., None]
    loose: Integers = idle.shape[-2] - (lengths > least).sum(-1)
    return loose


def _require_lasting(idle: Array, loose: Integers, motion: Array) -> None:
    """Refuse motions along which rows begin to hold more of the rates without an actuator."""
    *lead, orders, p, k = idle.shape
    if orders < 2 or not loose.any():
        return
    flat = (idle / factorials(orders)).reshape(prod(lead), orders, p, k)
    pace = np.broadcast_to(pace_of(motion[..., :orders, :]), tuple(lead)).ravel()
    for at, A, free, r in zip(np.ndindex(*lead), flat, loose.ravel(), pace, strict=True):
        more = rank_gained(A, p - int(free), r)
        if more:
            raise ArgumentError(
                f"of {p} rates that no actuator moves the rows hold {p - int(free)} at the start "
                f"of this motion{place_of(at)} and {p - int(free) + more} right after it, so that "
                "the actuation has no derivatives"
            )


def product(X: Array, Y: Array) -> Array:
    """Time derivatives of a product of matrices, along the third axis from the last."""
    orders = range(X.shape[-3])
    terms = [
        sum(
            comb(k, i) * algebra.product(X[..., i, :, :], Y[..., k - i, :, :]) for i in range(k + 1)
        )
        for k in orders
    ]
    return np.stack(terms, axis=-3)


def inverse_saddle(H: Array, A: Array, rank: ArrayLike, loose: ArrayLike = 0) -> Array:
    """Inverse of [[H, A^T], [A, 0]], or its pseudoinverse if that is singular.

    Args:
        H: (n, n) positive semidefinite.
        A: (..., m, n) rows.
        rank: (...) of A.
        loose: (...) dimension of what both H and A bring to zero.
    """
    *lead, m, n = A.shape
    K = np.zeros((*lead, n + m, n + m))
    K[..., :n, :n] = H
    K[..., :n, n:] = A.swapaxes(-1, -2)
    K[..., n:, :n] = A
    lost = np.broadcast_to(m - np.asarray(rank) + np.asarray(loose), tuple(lead))
    if not K.size:
        return K
    values, vectors = algebra.eigh(K)
    sizes = np.sort(np.abs(values), axis=-1)
    # nothing acts at all where all of it is lost
    least = np.take_along_axis(sizes, np.minimum(lost, n + m - 1)[..., None], axis=-1)
    least = np.where(lost[..., None] < n + m, least, np.inf)
    if (least <= _WELL_CONDITIONED * sizes[..., -1:]).any():
        raise ArgumentError(
            "the smallest actuation is lost in rounding errors: rows nearly depend on each other, "
            "or weights differ too much"
        )
    if not lost.any():
        inverse: Array = algebra.inv(K)
        return inverse
    kept = np.abs(values) >= least
    lengths = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    return np.asarray(algebra.product(vectors * lengths[..., None, :], vectors.swapaxes(-1, -2)))
