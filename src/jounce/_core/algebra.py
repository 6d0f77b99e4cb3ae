"""Decompositions and products of large matrices, during which Ctrl-C is heard.

One call of LAPACK for thousands of rows takes seconds, and nothing can interrupt it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jounce._core.long_calls import heard

__all__ = ["eigh", "einsum", "inv", "pinv", "product", "singular_values", "solve", "svd"]

_LONG = 2.0**28
"""Multiplications of a product that take some hundredths of a second, on a busy machine."""

_DECOMPOSING = 16
"""About how many products a decomposition takes, and how much slower sums over indices are."""


def svd(a: Any, *, full_matrices: bool = True) -> Any:
    """Left vectors, singular values and right vectors, as `numpy.linalg.svd` has them."""
    return _decomposed(lambda: np.linalg.svd(a, full_matrices=full_matrices), a)


def singular_values(a: Any) -> Any:
    """Those alone."""
    return _decomposed(lambda: np.linalg.svd(a, compute_uv=False), a)


def eigh(a: Any) -> Any:
    """Eigenvalues and vectors of symmetric matrices."""
    return _decomposed(lambda: np.linalg.eigh(a), a)


def inv(a: Any) -> Any:
    """Inverse of matrices."""
    return _decomposed(lambda: np.linalg.inv(a), a)


def pinv(a: Any, rcond: float) -> Any:
    """Pseudoinverse of matrices: what is below rcond of their largest singular value is zero."""
    return _decomposed(lambda: np.linalg.pinv(a, rcond=rcond), a)


def solve(a: Any, b: Any) -> Any:
    """The x of a x = b."""
    return _decomposed(lambda: np.linalg.solve(a, b), a)


def product(a: Any, *others: Any) -> Any:
    """Product of matrices, from left to right."""
    for b in others:
        work = max(a.size, b.size) * float(max(b.shape[-2:]))
        a = _done(functools.partial(np.matmul, a, b), work)
    return a


def einsum(subscripts: str, *operands: Any, **options: Any) -> Any:
    """Sums of products over indices, as `numpy.einsum` has them, without an ellipsis."""
    sizes: dict[str, int] = {}
    for letters, operand in zip(subscripts.partition("->")[0].split(","), operands, strict=True):
        sizes.update(zip(letters, np.shape(operand), strict=True))
    work = _DECOMPOSING * float(math.prod(sizes.values()))
    return _done(functools.partial(np.einsum, subscripts, *operands, **options), work)


def _decomposed(compute: Callable[[], Any], a: Any) -> Any:
    """What is computed of matrices by a decomposition."""
    return _done(compute, _DECOMPOSING * a.size * float(max(a.shape[-2:])))


def _done(compute: Callable[[], Any], work: float) -> Any:
    """What takes so many multiplications of a product; in a thread of its own if these are many."""
    return compute() if work < _LONG else heard(compute)
