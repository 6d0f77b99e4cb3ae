"""Checks of the arguments that the functions on groups share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

from jounce._core.arrays import numbers
from jounce._types import AnyArray, ArrayLike
from jounce.errors import ArgumentError

__all__ = [
    "ALGEBRA",
    "GROUP",
    "array",
    "finite_result",
    "group_element",
    "require_nonzero_quat",
    "require_real_finite",
]


# The trailing shapes of the algebra vectors and group matrices of SO(3) and SE(3).
ALGEBRA = ((3,), (6,))
GROUP = ((3, 3), (4, 4))
# How far from orthonormal a matrix may be before `log` refuses it.
_ROTATION_TOLERANCE = 1e-6


def array(name: str, value: ArrayLike, *trailing: tuple[int, ...]) -> AnyArray:
    """Convert to float64 or complex128 and require one of the trailing shapes."""
    array = numbers(name, value, "fiubc")
    if not any(array.shape[max(0, array.ndim - len(t)) :] == t for t in trailing):
        expected = " or ".join("(..., " + ", ".join(map(str, t)) + ")" for t in trailing)
        raise ArgumentError(f"{name} must have shape {expected}, got {array.shape}")
    return array


def group_element(name: str, value: ArrayLike) -> AnyArray:
    """Convert and require a real rotation or pose, to 1e-6."""
    T = array(name, value, *GROUP)
    require_real_finite(name, T)
    R = T[..., :3, :3]
    error = np.max(np.abs(R @ R.swapaxes(-1, -2) - np.eye(3)), initial=0.0)
    if error > _ROTATION_TOLERANCE:
        raise ArgumentError(f"{name}: expected orthonormal rotations, off by {error:.1e}")
    if (np.linalg.det(R) < 0).any():
        raise ArgumentError(f"{name}: expected rotations of determinant 1, got a reflection")
    if T.shape[-1] == 4 and (np.abs(T[..., 3, :] - [0, 0, 0, 1]) > _ROTATION_TOLERANCE).any():
        raise ArgumentError(f"{name}: expected poses with the last row (0, 0, 0, 1)")
    return T


def require_real_finite(name: str, array: AnyArray) -> None:
    if np.iscomplexobj(array):
        raise ArgumentError(f"{name}: expected real numbers, got {array.dtype}")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{name}: expected finite numbers, got NaN or infinity")


def require_nonzero_quat(q: AnyArray) -> None:
    if (q.real == 0).all(axis=-1).any():
        raise ArgumentError("q must be a quaternion (x, y, z, w) that is not zero, but it is not")


_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result", bound=AnyArray | tuple[AnyArray, ...])


def finite_result(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Make numbers that no double can hold an error, as in the core."""

    @functools.wraps(function)
    def checked(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with np.errstate(over="ignore", invalid="ignore"):
            result = function(*args, **kwargs)
        if not all(
            np.isfinite(x).all() for x in (result if isinstance(result, tuple) else [result])
        ):
            raise ArgumentError("the result is not finite: an input is too large, or its order")
        return result

    return checked
