"""Series of dynamics under constraints whose rows may depend on each other, order by order.

Some rates may be prescribed; A are the columns of J of those that are free. At every instant

    (1)  M a + b = tau + J^T f,        f = A mu,
    (2)  J a + J' v + n = r,           A^T n = 0,

so that f has the least norm, and rows that depend on each other are met in the sense of least
squares: n is what is left of the accelerations r = w' - 2 alpha (V - w) - beta^2 e that they shall
have, zero where they agree. The derivatives of order k of (1) and (2) are the same equations for
those of a, f and n, with all of lower orders on the right: one factorization serves all of them.
"""

from __future__ import annotations

from math import comb, factorial, prod
from typing import Any

import numpy as np

from jounce._core import algebra
from jounce._core.words import place_of
from jounce._types import Array, ArrayLike, Mask
from jounce.constraints.checks import rates_wanted
from jounce.constraints.constraints import Constraints
from jounce.constraints.derivatives import RowSystem, row_system
from jounce.constraints.dynamics import times
from jounce.constraints.rows_series import jacobian_coefficients, residual_coefficients
from jounce.dynamics import mass_matrix
from jounce.errors import ArgumentError
from jounce.series import inverse_dynamics_series

__all__ = ["Orders", "pace_of", "rank_gained"]

_CHANGED = 1e-6
"""What is no rounding error of a matrix that vanishes while the rank stays, of its terms."""
_ROUNDING = 1e-12
"""What rounding leaves of coefficients of J that vanish, of those that fast bodies may have."""


class Orders:
    """The motion and the forces, as far as they are known.

    Args:
        c: the constraints.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., orders, nv) accelerations and their derivatives, read where prescribed.
        prescribed: (nv,) mask.
        rank: (...) of the rows for the rates that are free.
        threads: number of threads for a batch.
    """

    def __init__(
        self,
        c: Constraints,
        q: ArrayLike,
        v: ArrayLike,
        a: Array,
        prescribed: Mask,
        rank: ArrayLike,
        threads: int,
    ) -> None:
        *lead, orders, n = a.shape
        self.c, self.threads, self.free, self.k = c, threads, ~prescribed, 0
        self.q = np.broadcast_to(np.asarray(q, float), (*lead, c.model.nq))
        self.motion = np.zeros((*lead, orders + 1, n))
        self.motion[..., 0, :] = v
        self.given = np.where(prescribed, a, 0.0)
        self.tau = np.zeros((*lead, orders, n))
        self.force = np.zeros((*lead, orders, c.size))
        self.left = np.zeros((*lead, orders, c.size))
        self.mu = np.zeros((*lead, orders, int(self.free.sum())))
        self.rank = np.broadcast_to(np.asarray(rank, float), tuple(lead))
        self.mass = mass_matrix(c.model, self.q, threads=threads)
        self.system = self._system()
        U, lengths, V = algebra.svd(self.system.J, full_matrices=False)
        kept = np.arange(lengths.shape[-1]) < self.rank[..., None]
        inverse = np.where(kept, 1.0 / np.where(kept, lengths, 1.0), 0.0)
        self.back = algebra.product(V.swapaxes(-1, -2) * inverse[..., None, :], U.swapaxes(-1, -2))
        self.beyond = None if self.free.all() or c.tolerance == np.inf else self._beyond()
        self.J = np.zeros((*lead, 0, c.size, n))

    @classmethod
    def solved(
        cls,
        c: Constraints,
        state: tuple[Any, Any, Array, Array, ArrayLike | None],
        prescribed: Mask,
        rank: ArrayLike,
        threads: int,
    ) -> Orders:
        """All orders of a state (q, v, a, tau, f_ext), whose a and tau have all leading axes.

        Raises:
            ArgumentError: the rank changes, prescribed accelerations contradict the constraints,
                or numbers become too large.
        """
        q, v, a, tau, f_ext = state
        out = cls(c, q, v, a, prescribed, rank, threads)
        with np.errstate(all="ignore"):
            for k in range(a.shape[-2]):
                wrenches = None if f_ext is None else np.asarray(f_ext, float)[..., : k + 1, :, :]
                out.advance(np.where(prescribed, 0.0, tau[..., k, :]), wrenches)
                out.require_finite(k)
            out.require_constant_rank()
        return out

    def require_finite(self, k: int) -> None:
        """Refuse a state whose derivatives of order k are beyond what doubles hold."""
        wrong = ~np.isfinite(self.motion[..., k + 1, :]).all(-1)
        wrong |= ~np.isfinite(self.force[..., k, :]).all(-1)
        if wrong.any():
            state = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
            raise ArgumentError(
                f"the result of constrained_dynamics_series() is not finite{place_of(state)}, from "
                f"order {k} on: an input is too large, or a constraint is close to where it is not "
                "defined"
            )

    def _system(self) -> RowSystem:
        """Equations for the free rates."""
        c, free = self.c, self.free
        if free.all():
            return row_system(c, self.q, self.rank, self.threads)
        J = c.jacobian(self.q, threads=self.threads)[..., free]
        inverse_mass = algebra.inv(self.mass[..., free, :][..., free])
        return RowSystem.of(J, np.asarray(inverse_mass, float), self.rank)

    def _beyond(self) -> Array:
        """Projector on what not even all rates together can do to the rows, (..., m, m)."""
        c = self.c
        rank = np.asarray(c.rank(self.q, threads=self.threads), float)
        return row_system(c, self.q, rank, self.threads).beyond

    def advance(self, tau: Array, f_ext: Array | None) -> None:
        """Find the derivatives of order k; tau are those of the forces, (..., nv)."""
        k, c, free, system = self.k, self.c, self.free, self.system
        self.motion[..., k + 1, :] = self.given[..., k, :]
        motion = self.motion[..., : k + 2, :]
        needed = inverse_dynamics_series(c.model, self.q, motion, f_ext, threads=self.threads)
        scale = np.array([factorial(i) for i in range(k + 2)], float)[:, None, None]
        self.J = jacobian_coefficients(c, self.q, motion[..., : k + 1, :]) * scale
        rows = self._wanted() - self._rates(k + 1)
        push, known, left = self._of_lower_orders()
        push = push + tau - needed[..., k, :]
        before = rows - times(self.back.swapaxes(-1, -2), left)
        pushed = push[..., free] + times(system.J.swapaxes(-1, -2), known)
        a, force = system.solve(pushed[..., None], before[..., None])
        # rows that are a little wrong at each step of a motion would add up
        more = system.solve(np.zeros_like(a), before[..., None] - system.J @ a)
        a, force = a + more[0], force + more[1]
        self.motion[..., k + 1, free] = a[..., 0]
        self.mu[..., k, :] = (self.back @ force)[..., 0]
        self.force[..., k, :] = force[..., 0] + known
        self.left[..., k, :] = rows - (system.J @ a)[..., 0]
        self._require_possible(before - (system.J @ a)[..., 0], rows)
        acting = times(self.J[..., 0, :, :].swapaxes(-1, -2), self.force[..., k, :])
        total = times(self.mass[..., free], a[..., 0]) - push - acting + tau
        self.tau[..., k, :] = np.where(free, tau, total)
        self.k += 1

    def _of_lower_orders(self) -> tuple[Array, Array, Array]:
        """What these add to J^T f, f and -A^T n of order k."""
        k = self.k
        weights = np.array([comb(k, i) for i in range(1, k + 1)], float)[:, None, None]
        J = weights * self.J[..., 1 : k + 1, :, :]
        A = J[..., self.free]
        force, mu, left = (x[..., :k, :][..., ::-1, :] for x in (self.force, self.mu, self.left))
        push: Array = np.einsum("...imn,...im->...n", J, force)
        known: Array = np.einsum("...imn,...in->...m", A, mu)
        return push, known, -np.einsum("...imn,...im->...n", A, left)

    def _require_possible(self, wrong: Array, rows: Array) -> None:
        """Refuse prescribed accelerations that the other rates cannot make up for.

        What no rates could do about rows that contradict each other is left to least squares.
        """
        c = self.c
        if self.beyond is None:
            return
        wrong = np.abs(wrong - times(self.beyond, wrong))
        relative = wrong / (1.0 + np.abs(rows).max(-1, keepdims=True))
        if not relative.size or relative.max() <= c.tolerance:
            return
        *state, row = np.unravel_index(int(np.argmax(relative)), relative.shape)
        raise ArgumentError(
            f"the prescribed accelerations contradict {c._item_of_row(int(row)).label}"
            f"{place_of(state)}: with those of the other rates the nearest of order "
            f"{self.k} are off by {wrong[(*state, row)]:.3g} rad/s^{self.k + 2} or m/s^{self.k + 2}"
        )

    def _rates(self, order: int) -> Array:
        """A derivative of the rates V = J v of the rows, of what is known of the motion."""
        weights = np.array([comb(order, i) for i in range(order + 1)], float)[:, None]
        motion = weights * self.motion[..., : order + 1, :][..., ::-1, :]
        found: Array = np.einsum("...imn,...in->...m", self.J[..., : order + 1, :, :], motion)
        return found

    def _wanted(self) -> Array:
        """The derivative of order k of r, (..., m)."""
        c, k = self.c, self.k
        (alpha, beta), wanted = c.stabilization, rates_wanted(c, k + 1)
        if alpha:
            wanted = wanted - 2.0 * alpha * (self._rates(k) - rates_wanted(c, k))
        if beta:
            e = residual_coefficients(c, self.q, self.motion[..., : k + 1, :])
            wanted = wanted - beta**2 * factorial(k) * e[..., k, :]
        return wanted

    def require_constant_rank(self) -> None:
        """Refuse motions along which the rank changes: forces have no derivatives there.

        A rank that all coordinates nearby have cannot change.

        Raises:
            ArgumentError: both ranks are told, and the state of a batch.
        """
        *lead, orders, m, n = self.J.shape
        orders -= 1  # the last one multiplies rates only
        scale = np.array([1.0 / factorial(i) for i in range(orders)])[:, None, None]
        flat = (self.J[..., :orders, :, :] * scale).reshape(prod(lead), orders, m, n)
        pace = pace_of(self.motion[..., :orders, :]).ravel()
        most = self.c._usual_rank() if self.free.all() else min(m, n)
        each = zip(np.ndindex(*lead), flat, self.rank.ravel(), pace, strict=True)
        for at, J, rank, r in each:
            more = rank_gained(J[..., self.free], int(rank), r) if rank < most else 0
            if more:
                raise ArgumentError(
                    f"the rank of the rows changes along this motion{place_of(at)}: of {m} rows "
                    f"{int(rank)} are independent at its start and {int(rank) + more} right after "
                    "it, so that their forces have no derivatives"
                )


def pace_of(motion: Array) -> Array:
    """The smallest r, (...), with sums of |rates| of coefficient k below r^(k + 1).

    Products J' = J V of J and such rates have coefficients |J_k| <= |J_0| r^k.
    """
    k = np.arange(motion.shape[-2])
    sums = np.abs(motion).sum(-1) / np.array([float(factorial(i)) for i in k])
    pace: Array = (sums ** (1.0 / (k + 1.0))).max(-1, initial=0.0)
    return pace


def rank_gained(J: Array, rank: int, pace: float) -> int:
    """By how much the rank of a series of matrices, (orders, m, n), grows after its start.

    In the bases of the first one the rank stays if and only if the complement of its regular part,
    S = D - C A^-1 B, stays zero. Rows between bodies that move together are constant, and nothing
    but rounding of what cancels: `pace` says how large that is.
    """
    if len(J) < 2 or rank == min(J.shape[1:]):
        return 0
    U, lengths, V = algebra.svd(J[0])
    turned = algebra.product(U.T, J, V.T)
    A, B = turned[:, :rank, :rank], turned[:, :rank, rank:]
    C, D = turned[:, rank:, :rank], turned[:, rank:, rank:]
    inverse, X = algebra.inv(A[0]), np.zeros_like(B)
    condition = lengths[0] / lengths[rank - 1] if rank else 1.0
    for k in range(1, len(J)):
        X[k] = inverse @ (B[k] - (A[1 : k + 1] @ X[:k][::-1]).sum(0))
        terms = C[1:k] @ X[1:k][::-1]
        size = max(np.abs(J[k]).max(), np.abs(terms).max(initial=0.0))
        S = D[k] - terms.sum(0)
        least = _ROUNDING * condition * max(1.0, lengths[0]) * pace**k
        tolerance = max(_CHANGED * size, least)
        if np.abs(S).max() > tolerance:
            return int(np.linalg.matrix_rank(S, tol=tolerance))
    return 0
