"""The Lie algebras so(3) and se(3): vectors, their matrices, and the bracket."""

from __future__ import annotations

import numpy as np

from jounce._types import AnyArray, ArrayLike
from jounce.lie._checks import ALGEBRA, GROUP, array

__all__ = ["ad", "dot", "hat", "lower_triangular", "skew", "vee"]


def hat(x: ArrayLike) -> AnyArray:
    """The matrix of an algebra vector: ``hat(x) @ y == cross(x, y)`` for x in R^3.

    A twist (w, v) gives the 4x4 matrix [[hat(w), v], [0, 0]] (Mueller 2018, eq. 97).

    Args:
        x: (..., 3) or (..., 6).

    Returns:
        (..., 3, 3) or (..., 4, 4); `vee` is the inverse.
    """
    x = array("x", x, *ALGEBRA)
    if x.shape[-1] == 3:
        return skew(x)
    out = np.zeros((*x.shape[:-1], 4, 4), x.dtype)
    out[..., :3, :3] = skew(x[..., :3])
    out[..., :3, 3] = x[..., 3:]
    return out


def vee(X: ArrayLike) -> AnyArray:
    """The vector of an algebra matrix: ``vee(hat(x)) == x``.

    The skew-symmetric part of X (of its upper left 3x3 block) is read, so that a matrix which is
    skew only to rounding, like ``dR @ R.T``, loses nothing.

    Args:
        X: (..., 3, 3) or (..., 4, 4).

    Returns:
        (..., 3) or (..., 6).
    """
    X = array("X", X, *GROUP)
    i, j = [2, 0, 1], [1, 2, 0]
    w = X[..., i, j] - X[..., j, i]
    return w / 2 if X.shape[-1] == 3 else np.concatenate([w / 2, X[..., :3, 3]], axis=-1)


def ad(x: ArrayLike) -> AnyArray:
    """The adjoint of an algebra vector: ``ad(x) @ y`` is the Lie bracket [x, y].

    ``hat(ad(x) @ y) == hat(x) @ hat(y) - hat(y) @ hat(x)`` (Mueller 2018, eq. 113 to 115).

    Args:
        x: (..., 3) or (..., 6).

    Returns:
        (..., 3, 3), the cross product matrix, or (..., 6, 6).
    """
    x = array("x", x, *ALGEBRA)
    W = skew(x[..., :3])
    return W if x.shape[-1] == 3 else lower_triangular(W, skew(x[..., 3:]))


def dot(a: AnyArray, b: AnyArray) -> AnyArray:
    """The dot product without complex conjugation."""
    total: AnyArray = (a * b).sum(axis=-1)
    return total


def skew(w: AnyArray) -> AnyArray:
    """The cross product matrix of vectors that are checked already."""
    out = np.zeros((*w.shape, 3), w.dtype)
    out[..., 2, 1], out[..., 1, 2] = w[..., 0], -w[..., 0]
    out[..., 0, 2], out[..., 2, 0] = w[..., 1], -w[..., 1]
    out[..., 1, 0], out[..., 0, 1] = w[..., 2], -w[..., 2]
    return out


def lower_triangular(diagonal: AnyArray, lower: AnyArray) -> AnyArray:
    """The 6x6 matrix [[diagonal, 0], [lower, diagonal]]."""
    out = np.zeros((*diagonal.shape[:-2], 6, 6), diagonal.dtype)
    out[..., :3, :3] = out[..., 3:, 3:] = diagonal
    out[..., 3:, :3] = lower
    return out
