"""Time derivatives of spatial inertias, momenta and wrenches (ali, Appendix E).

Every function treats all N bodies at once. A series is a sequence whose element k is the
derivative of order k; V is that of the spatial twists, (N, 6) each.
"""

from __future__ import annotations

from math import comb

import numpy as np

from jounce import lie
from jounce._types import AnyArray
from jounce.papers.ali.kinematics import Series, add
from jounce.papers.joints import apply, transposed


def spatial_inertia(M_b: AnyArray, C: AnyArray) -> AnyArray:
    """M^0 = Ad(C)^-T M^b Ad(C)^-1, (N, 6, 6) from body-fixed inertias and poses (ali, E1)."""
    Ad_inverse = lie.Ad(lie.inverse(C))
    return transposed(Ad_inverse) @ M_b @ Ad_inverse


def inertia_rate(M: Series, V: Series, r: int) -> AnyArray:
    """Derivative of order r >= 1 of the spatial inertia, (N, 6, 6) (ali, E2).

    M^(r) = - sum over k < r of binomial(r-1, k) (M^(r-1-k) ad(V^(k)) + ad(V^(k))^T M^(r-1-k)).
    """
    total = np.zeros_like(M[0])
    for k in range(r):
        product = M[r - 1 - k] @ lie.ad(V[k])
        total = total - comb(r - 1, k) * (product + transposed(product))
    return total


def inertia_derivatives(M: AnyArray, V: Series, r: int) -> list[AnyArray]:
    """The spatial inertia and its derivatives of order 1 to r (ali, E2)."""
    series = [M]
    for order in range(1, r + 1):
        series.append(inertia_rate(series, V, order))
    return series


def momentum_rate(M: Series, V: Series, r: int) -> AnyArray:
    """Pi^(r) = sum over k = 0..r of binomial(r, k) M^(r-k) V^(k), (N, 6) (ali, E3)."""
    return momentum_bias(M, V, r) + apply(M[0], V[r])


def momentum_bias(M: Series, V: Series, r: int) -> AnyArray:
    """Pi_bias^(r), the sum of (E3) without its last term M V^(r), (N, 6) (ali, Appendix E)."""
    terms = (comb(r, k) * apply(M[r - k], V[k]) for k in range(r))
    return add(terms) if r > 0 else np.zeros_like(V[0])


def gravity_wrench(M: Series, G: AnyArray, r: int) -> AnyArray:
    """W_grav^(r) = M^(r) G^0, (N, 6) (ali, E4)."""
    return M[r] @ G


def coadjoint_derivatives(C: AnyArray, V: Series, r: int) -> list[AnyArray]:
    """Ad(C^-1)^T and its derivatives of order 1 to r, (N, 6, 6) each (ali, after E5).

    (Ad(C^-1)^T)^(r) = - sum over k < r of binomial(r-1, k) ad(V^(k))^T (Ad(C^-1)^T)^(r-1-k).
    """
    series = [transposed(lie.Ad(lie.inverse(C)))]
    for order in range(1, r + 1):
        series.append(coadjoint_rate(series, V, order))
    return series


def coadjoint_rate(Ad_star: Series, V: Series, r: int) -> AnyArray:
    """One more order r >= 1 of `coadjoint_derivatives`, from the lower ones."""
    return -add(comb(r - 1, k) * transposed(lie.ad(V[k])) @ Ad_star[r - 1 - k] for k in range(r))


def applied_wrench(Ad_star: Series, V: Series, W_b: Series, W: Series, r: int) -> AnyArray:
    """Derivative of order r of the spatial wrench that body-fixed wrenches amount to (ali, E5).

    Args:
        Ad_star: Ad(C^-1)^T (N, 6, 6) and its derivatives of order 1 to r-1.
        V: twists (N, 6) and their derivatives of order 1 to r-1.
        W_b: body-fixed wrenches (N, 6) and their component-wise derivatives of order 1 to r.
        W: the result of this function for the orders 0 to r-1.
        r: order.

    Returns:
        (N, 6) derivative of order r of W^0 = Ad(C^-1)^T W^b.
    """
    if r == 0:
        return apply(Ad_star[0], W_b[0])
    return add(
        comb(r - 1, k)
        * (apply(Ad_star[k], W_b[r - k]) - apply(transposed(lie.ad(V[k])), W[r - 1 - k]))
        for k in range(r)
    )
