"""Second derivatives of vector products and of coordinates of rotations, contracted with weights.

A vector x of R^3 depends on the variables of a problem by a matrix X, (..., 3, m). The Hessian of a
quadratic function of such vectors is an (..., m, m) matrix.
"""

from __future__ import annotations

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.lie._trig import cotangent_second, stumpff

__all__ = ["cross_form", "exp_form", "pulled_back_forms", "symmetric", "turned_form"]


def symmetric(A: Array) -> Array:
    """A + A^T: the Hessian of c -> c A c."""
    total: Array = A + np.swapaxes(A, -1, -2)
    return total


def cross_form(g: Array, X: Array, Y: Array) -> Array:
    """Hessian of g . (x cross y)."""
    return symmetric(-np.swapaxes(X, -1, -2) @ (lie.ad(g) @ Y))


def turned_form(g: Array, X: Array, c: Array) -> Array:
    """Hessian of g . (x cross (x cross c)) / 2 for a constant c."""
    form = symmetric(_outer(g, c)) / 2 - _scaled_identity(_dot(g, c))
    return np.swapaxes(X, -1, -2) @ form @ X


def exp_form(g: Array, u: Array) -> Array:
    """Hessian at 0 of g . log(exp(-u) exp(u + x)) by x in SO(3), (..., 3, 3).

    It is the symmetric part of g . (D dexp(-u)[x]) x, because log(exp(-u) exp(u + s x)) has the
    rate dexp(-(u + s x)) x up to terms of third order, with the Stumpff functions c_k of |u|^2

        dexp(-u) = 1 - c_2 u^ + c_3 u^ u^.
    """
    _, _, _, c3, c4, c5 = stumpff(_dot(u, u))
    d2, d3 = (2 * c4 - c3) / 2, (3 * c5 - c4) / 2  # of c_2 and c_3 by |u|^2
    turned = np.cross(u, g)
    inner = d2[..., None] * turned + d3[..., None] * np.cross(u, turned)
    return (
        symmetric(_outer(u, inner))
        + _scaled_identity(c3 * _dot(g, u))
        - c3[..., None, None] * symmetric(_outer(u, g)) / 2
    )


def pulled_back_forms(g: Array, x: Array, w: Array) -> tuple[Array, Array]:
    """Second derivatives of g . (w + x cross w / 2 + e x cross (x cross w)), by x x and by x w.

    e(|x|^2) is that of `jounce.lie._trig.cotangent`; (..., 3, 3) each.
    """
    e, d1, d2 = (c[..., None] for c in cotangent_second(_dot(x, x)))
    gx, xw, gw = (_dot(a, b)[..., None] for a, b in ((g, x), (x, w), (g, w)))
    k = gx * xw - gw * _dot(x, x)[..., None]  # g . (x cross (x cross w))
    slope = g * xw + w * gx - 2 * gw * x  # of k by x
    by_xx = (
        4 * (d2 * k)[..., None] * _outer(x, x)
        + _scaled_identity((2 * d1 * k - 2 * e * gw)[..., 0])
        + symmetric(_outer(x, 2 * d1 * slope) + e[..., None] * _outer(g, w))
    )
    turned = np.cross(x, np.cross(x, g))
    by_xw = (
        -lie.ad(g) / 2
        + _outer(x, 2 * d1 * turned - 2 * e * g)
        + _outer(g, e * x)
        + _scaled_identity((e * gx)[..., 0])
    )
    return by_xx, by_xw


def _dot(a: Array, b: Array) -> Array:
    total: Array = (a * b).sum(-1)
    return total


def _outer(a: Array, b: Array) -> Array:
    product: Array = a[..., :, None] * b[..., None, :]
    return product


def _scaled_identity(s: Array) -> Array:
    scaled: Array = s[..., None, None] * np.eye(3)
    return scaled
