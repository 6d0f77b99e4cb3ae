"""The Jacobian of constraints as a truncated Taylor series in time.

Series have their coefficients, those of t^k, along axis -3 (matrices) or -2 (vectors).
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any

import numpy as np

from jounce._types import Array
from jounce.constraints.constraints import Constraints
from jounce.constraints.kinds import DIRECTIONS, AnyConstraint, Coupling, Distance, Point, Rolling
from jounce.constraints.table import axes_along
from jounce.model import Model
from jounce.series import body_pose_series, jacobian_series

__all__ = ["jacobian_coefficients"]


def jacobian_coefficients(c: Constraints, q: Array, motion: Array) -> Array:
    """Coefficients 0 to k of J, (..., k + 1, m, nv), from v and its derivatives up to k - 1."""
    count = motion.shape[-2] + 1
    if count < 3:  # the series take at least v and its first derivative
        padding = np.zeros((*motion.shape[:-2], 1, motion.shape[-1]))
        motion = np.concatenate([motion, padding], -2)
    rows = [_rows(c.model, item, q, motion, count) for item in c.items]
    lead = np.broadcast_shapes(*(x.shape[:-2] for x in rows))
    return np.concatenate([np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in rows], -2)


def _rows(model: Model, item: AnyConstraint, q: Array, motion: Array, count: int) -> Array:
    """Rows of one constraint, (..., count, rows, nv)."""
    if isinstance(item, Coupling):
        return _coupling(model, item, q, motion, count)
    R, p, J = _relative(model, item, q, motion, count)
    angular, linear = J[..., :3, :], J[..., 3:, :]
    if isinstance(item, Point):
        world = _coefficients(body_pose_series(model, q, motion, item.first), count)[..., :3, :3]
        return _product(world, linear)
    if isinstance(item, Distance):
        rod = p.copy()
        rod[..., 0, :] -= item.anchor
        along = _scaled(rod, _power(_dot(rod, rod), -0.5))
        return _product(_product(along[..., None, :], R), linear)
    if isinstance(item, Rolling):
        plane = axes_along(np.array(item.normal)).T
        d = _contact(item, _product(_constant(plane, R), R), count)
        turned, moved = (_product(_constant(plane, R), _product(R, x)) for x in (angular, linear))
        return moved - _product(_hat(d), turned)
    kept = [k for k, name in enumerate(DIRECTIONS) if name not in item.free]
    return J[..., kept, :]


def _relative(
    model: Model, item: Any, q: Array, motion: Array, count: int
) -> tuple[Array, Array, Array]:
    """Rotation and position of the first frame in the second, and the Jacobian between them."""
    T = _coefficients(body_pose_series(model, q, motion, item.first), count)
    J = _coefficients(jacobian_series(model, q, motion, item.first), count)
    R, p = T[..., :3, :3], T[..., :3, 3]
    if item.second is None:
        return R, p, J
    base = _coefficients(body_pose_series(model, q, motion, item.second), count)
    other = _coefficients(jacobian_series(model, q, motion, item.second), count)
    back = base[..., :3, :3].swapaxes(-1, -2)
    p = _product(back, (p - base[..., :3, 3])[..., None])[..., 0]
    R = _product(back, R)
    inverse = R.swapaxes(-1, -2)
    angular = other[..., :3, :]
    linear = other[..., 3:, :] - _product(_hat(p), angular)  # w x p
    return R, p, J - np.concatenate([_product(inverse, angular), _product(inverse, linear)], -2)


def _coupling(model: Model, item: Coupling, q: Array, motion: Array, count: int) -> Array:
    lead = np.broadcast_shapes(q.shape[:-1], motion.shape[:-2])
    out = np.zeros((*lead, count, 1, model.nv))
    for joint, c in item.coefficients:
        k, i = model.q_slice(joint).start, model.v_slice(joint).start
        x = np.zeros((*lead, count))
        x[..., 0] = q[..., k]
        for n in range(1, count):
            x[..., n] = motion[..., n - 1, i] / factorial(n)
        slope = np.zeros_like(x)
        for power in (3, 2, 1, 0):  # Horner
            slope = _times(slope, x)
            slope[..., 0] += (power + 1) * c[power]
        out[..., 0, i] += slope
    return out


def _contact(item: Rolling, R: Array, count: int) -> Array:
    """From the center to the point of contact, in the axes of the plane."""
    if item.axis is None:
        d = np.zeros((*R.shape[:-2], 3))
        d[..., 0, 2] = -item.radius
        return d
    axis = R @ np.array(item.axis)
    down = _scaled(axis, axis[..., 2])
    down[..., 0, 2] -= 1.0
    return item.radius * _scaled(down, _power(_dot(down, down), -0.5))


def _coefficients(derivatives: Array, count: int) -> Array:
    """Taylor coefficients of a series of matrices."""
    scale = np.array([1.0 / factorial(k) for k in range(count)])
    out: Array = derivatives[..., :count, :, :] * scale[:, None, None]
    return out


def _convolution(a: Array, b: Array, axis: int, multiply: Callable[[Array, Array], Array]) -> Array:
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    order = np.arange(len(a))
    shifted = np.concatenate([b, np.zeros_like(b[:1])])  # the last one for negative indices
    rows = shifted[np.maximum(order[:, None] - order, -1)]  # b_(k - i)
    out: Array = np.moveaxis(multiply(a, rows).sum(1), 0, axis)
    return out


def _product(a: Array, b: Array) -> Array:
    return _convolution(a, b, -3, np.matmul)


def _times(a: Array, b: Array) -> Array:
    return _convolution(a, b, -1, np.multiply)


def _dot(a: Array, b: Array) -> Array:
    out: Array = np.stack([_times(a[..., i], b[..., i]) for i in range(3)]).sum(0)
    return out


def _scaled(vector: Array, by: Array) -> Array:
    return np.stack([_times(vector[..., i], by) for i in range(3)], -1)


def _constant(matrix: Array, like: Array) -> Array:
    out = np.zeros((*like.shape[:-2], *matrix.shape))
    out[..., 0, :, :] = matrix
    return out


def _hat(x: Array) -> Array:
    out = np.zeros((*x.shape, 3))
    out[..., 2, 1], out[..., 0, 2], out[..., 1, 0] = x[..., 0], x[..., 1], x[..., 2]
    return out - out.swapaxes(-1, -2)


def _power(x: Array, exponent: float) -> Array:
    """x^p by x y' = p x' y."""
    y = np.zeros_like(x)
    y[..., 0] = x[..., 0] ** exponent
    for k in range(1, x.shape[-1]):
        terms = ((exponent * i - (k - i)) * x[..., i] * y[..., k - i] for i in range(1, k + 1))
        y[..., k] = sum(terms) / (k * x[..., 0])
    return y
