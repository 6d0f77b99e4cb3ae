"""The Lie algebras so(3) and se(3): vectors, their matrices, and the bracket."""

from __future__ import annotations

from jounce._core.elementwise import elementwise
from jounce._types import AnyArray, ArrayLike
from jounce.lie import _complex

__all__ = ["ad", "hat", "vee"]


@elementwise(_complex.hat)
def hat(x: ArrayLike, *, out: AnyArray | None = None, threads: int = 1) -> AnyArray:
    """The matrix of an algebra vector: ``hat(x) @ y == cross(x, y)`` for x in R^3.

    A twist (w, v) gives the 4x4 matrix [[hat(w), v], [0, 0]] (Mueller 2018, eq. 97).

    Args:
        x: (..., 3) or (..., 6).
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 3, 3) or (..., 4, 4); `vee` is the inverse.

    Examples:
        >>> jc.lie.hat([1.0, 2.0, 3.0])
        array([[ 0., -3.,  2.],
               [ 3.,  0., -1.],
               [-2.,  1.,  0.]])
    """


@elementwise(_complex.vee)
def vee(X: ArrayLike, *, out: AnyArray | None = None, threads: int = 1) -> AnyArray:
    """The vector of an algebra matrix: ``vee(hat(x)) == x``.

    The skew-symmetric part of X (of its upper left 3x3 block) is read, so that a matrix which is
    skew only to rounding, like ``dR @ R.T``, loses nothing.

    Args:
        X: (..., 3, 3) or (..., 4, 4).
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 3) or (..., 6).

    Examples:
        >>> jc.lie.vee(jc.lie.hat([1.0, 2.0, 3.0]))
        array([1., 2., 3.])
    """


@elementwise(_complex.ad)
def ad(x: ArrayLike, *, out: AnyArray | None = None, threads: int = 1) -> AnyArray:
    """The adjoint of an algebra vector: ``ad(x) @ y`` is the Lie bracket [x, y].

    ``hat(ad(x) @ y) == hat(x) @ hat(y) - hat(y) @ hat(x)`` (Mueller 2018, eq. 113 to 115).

    Args:
        x: (..., 3) or (..., 6).
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 3, 3), the cross product matrix, or (..., 6, 6).

    Examples:
        >>> x, y = np.arange(3.0), np.ones(3)
        >>> bool(np.allclose(jc.lie.ad(x) @ y, np.cross(x, y)))
        True
    """
