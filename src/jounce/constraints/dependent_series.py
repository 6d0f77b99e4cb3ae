"""Derivatives of series where rows depend on each other in a way that changes with q.

With force = J mu, the equations of order k, derivatives of M a + b = tau + J^T J mu and of J v = w,
are differentiated along each direction. They have solutions along the manifold of the constraints
only, so that directions are projected on it first: rates always, coordinates where the rank is
another one nearby, or where the set is stabilized. Along the manifold what stabilizes is zero.
"""

from __future__ import annotations

from math import comb

import numpy as np

from jounce._core import algebra
from jounce._types import Array
from jounce.constraints.actuation import combinations, factorials, inverse_saddle
from jounce.constraints.constraints import Constraints
from jounce.constraints.derivatives import row_derivatives, row_system
from jounce.constraints.rows_series import jacobian_coefficients, jacobian_tangents, portions
from jounce.derivatives import (
    InverseDynamicsSeriesDerivatives,
    inverse_dynamics_series_derivatives,
)
from jounce.dynamics import mass_matrix

__all__ = ["along_the_manifold"]

_DEPENDENT = 1e-9


def along_the_manifold(
    c: Constraints, q: Array, motion: Array, force: Array, f_ext: Array | None
) -> tuple[Array, Array]:
    """Derivatives of a and force of one state by q, v and tau, (orders, nv or m, K).

    Args:
        c: the constraints.
        q: (nq,) coordinates.
        motion: (orders + 1, nv) rates with their time derivatives.
        force: (orders, m) forces of the least norm, likewise.
        f_ext: (orders, n_bodies, 6) wrenches, held constant.
    """
    orders, n = len(force), motion.shape[1]
    dq, dv, d_tau = _directions(c, q, motion[0], orders)
    d = inverse_dynamics_series_derivatives(c.model, q, motion, f_ext)
    B, scale = combinations(c), factorials(orders + 1)
    J = B.T @ (jacobian_coefficients(c, q, motion[:orders]) * scale)
    f = force @ B
    mu = _multipliers(J, f)
    G = algebra.product(J[0].T, J[0])
    inverse = inverse_saddle(mass_matrix(c.model, q), G, c.rank(q))
    a, df = np.zeros((len(dq), orders, n)), np.zeros((orders, len(dq), J.shape[1]))
    for some in portions(len(dq), J):
        along = dq[some], dv[some], d_tau[some]
        found = _along(c, (q, motion, f, mu), (J, B, scale, inverse), along, d)
        a[some], df[:, some] = found
    return np.moveaxis(a, 0, -1), np.moveaxis(df @ B.T, 1, -1)


def _along(
    c: Constraints,
    at: tuple[Array, Array, Array, Array],
    parts: tuple[Array, Array, Array, Array],
    directions: tuple[Array, Array, Array],
    d: InverseDynamicsSeriesDerivatives,
) -> tuple[Array, Array]:
    """Derivatives along some directions of the manifold: of a, (K, orders, nv), and of f."""
    (q, motion, f, mu), (J, B, scale, inverse) = at, parts
    (dq, dv, d_tau), (orders, n) = directions, mu.shape
    d_motion = np.zeros((len(dq), orders + 1, n))
    d_motion[:, 0] = dv
    df, d_mu = np.zeros((orders, len(dq), J.shape[1])), np.zeros((orders, len(dq), n))
    for k in range(orders):
        known = motion[:orders], dq, d_motion[:, :orders]
        dJ = B.T @ (jacobian_tangents(c, q, *known) * scale)
        below = range(1, k + 1)
        df[k] = sum(comb(k, i) * dJ[:, i] @ mu[k - i] for i in range(k + 1))
        df[k] += sum(comb(k, i) * d_mu[k - i] @ J[i].T for i in below)
        right = d_tau[:, k] - dq @ d.dq[k].T + df[k] @ J[0]
        right -= np.einsum("ilj,klj->ki", d.dmotion[k][:, : k + 1], d_motion[:, : k + 1])
        right += sum(comb(k, i) * f[k - i] @ dJ[:, i] for i in range(k + 1))
        right += sum(comb(k, i) * df[k - i] @ J[i] for i in below)
        rows = sum(comb(k + 1, i) * dJ[:, i] @ motion[k + 1 - i] for i in range(k + 2))
        rows = rows + sum(comb(k + 1, i) * d_motion[:, k + 1 - i] @ J[i].T for i in range(1, k + 2))
        x = np.concatenate([right, -rows @ J[0]], axis=-1) @ inverse
        d_motion[:, k + 1], d_mu[k] = x[:, :n], -x[:, n:]
        df[k] += d_mu[k] @ J[0].T
    return d_motion[:, 1:], df


def _multipliers(J: Array, f: Array) -> Array:
    """Series of mu with f = J mu, (orders, nv)."""
    back, mu = algebra.pinv(J[0], _DEPENDENT), np.zeros((len(f), J.shape[-1]))
    for k in range(len(f)):
        known = sum((comb(k, i) * J[i] @ mu[k - i] for i in range(1, k + 1)), np.zeros(J.shape[1]))
        mu[k] = back @ (f[k] - known)
    return mu


def _directions(c: Constraints, q: Array, v: Array, orders: int) -> tuple[Array, Array, Array]:
    """Unit directions of q, v and tau, brought to the manifold: (K, nv) twice, (K, orders, nv)."""
    n, unit = c.model.nv, np.eye((orders + 2) * c.model.nv)
    dq, dv, d_tau = unit[:, :n], unit[:, n : 2 * n], unit[:, 2 * n :].reshape(-1, orders, n)
    system = row_system(c, q, np.asarray(c.rank(q), float), 1)
    if any(c.stabilization) or not c.regular(q):
        J = system.J[c.holonomic]
        to_rates = algebra.product(system.inverse_mass, J.T)
        back = algebra.pinv(algebra.product(J, to_rates), _DEPENDENT)
        dq = dq - algebra.product(dq, algebra.product(to_rates, back, J).T)
    by_q = row_derivatives(c, q, v, np.zeros(n), np.zeros(c.size)).velocity_dq
    wrong = algebra.product(dv, system.J.T) + algebra.product(dq, by_q.T)
    at_rows = algebra.product(system.to_rates, system.inverse)
    return dq, dv - algebra.product(wrong, at_rows.T), d_tau
