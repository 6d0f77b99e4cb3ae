"""The Jacobian and the residual of constraints as truncated Taylor series in time.

Series have their coefficients, those of t^k, along axis -3 (matrices) or -2 (vectors).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from jounce._types import AnyArray, Array
from jounce.constraints.constraints import Constraints
from jounce.constraints.kinds import (
    DIRECTIONS,
    AnyConstraint,
    Coupling,
    Distance,
    Loop,
    Point,
    Rolling,
    Weld,
    held_positions,
)
from jounce.constraints.moving import target_coefficients, target_field, travel_coefficients
from jounce.constraints.table import axes_along, row_count
from jounce.derivatives.jvp import jvp
from jounce.model import Model
from jounce.series import body_pose_series, jacobian_series

__all__ = ["jacobian_coefficients", "jacobian_tangents", "portions", "residual_coefficients"]

_TINY = 1e-40
"""Size of a complex step: squares of it vanish beside the smallest normal numbers."""

_MOST = 2**22
"""Numbers of the Jacobians of directions that are computed at once."""


def jacobian_coefficients(c: Constraints, q: Array, motion: Array) -> Array:
    """Coefficients 0 to k of J, (..., k + 1, m, nv), from v and its derivatives up to k - 1."""
    found: Array = _coefficients_of(c, _Kinematics.along(c.model, q, motion))
    return found


def jacobian_tangents(c: Constraints, q: Array, motion: Array, dq: Array, dmotion: Array) -> Array:
    """Derivatives of `jacobian_coefficients` along K directions, (K, k + 1, m, nv).

    Poses and Jacobians of frames are differentiated by `jvp`; what follows from them is a complex
    step, which is exact.

    Args:
        c: the constraints.
        q: (nq,) coordinates.
        motion: (k, nv) v and its derivatives.
        dq: (K, nv) directions of q.
        dmotion: (K, k, nv) of the motion.
    """
    turned = _Moved.along(c.model, q, motion)._replace(dq=dq, dmotion=_padded(dmotion))
    found: Array = _coefficients_of(c, turned).imag / _TINY
    return found


def portions(directions: int, J: Array) -> Iterator[slice]:
    """Directions in portions whose Jacobians, as large as J, take some milliseconds."""
    at_once = max(1, _MOST // max(1, J.size))
    for start in range(0, directions, at_once):
        yield slice(start, min(directions, start + at_once))


def residual_coefficients(c: Constraints, q: Array, motion: Array) -> Array:
    """Coefficients 0 to k of the residual that stabilizes, (..., k + 1, m), from v up to k - 1.

    Turns of poses count by their sines, as `Constraints.stabilized` says, and targets move with the
    ``motion`` of the constraints.
    """
    at = _Kinematics.along(c.model, q, motion)
    rows = [_residual(item, at) for item in c.items]
    lead = np.broadcast_shapes(*(x.shape[:-1] for x in rows))
    return np.concatenate([np.broadcast_to(x, (*lead, x.shape[-1])) for x in rows], -1)


class _Kinematics(NamedTuple):
    """Poses and Jacobians of frames along a motion, as coefficients."""

    model: Model
    q: Array
    motion: Array
    orders: int
    dq: Any = None
    dmotion: Any = None

    @classmethod
    def along(cls, model: Model, q: Array, motion: Array) -> Any:
        """Return those of a motion, v and its derivatives."""
        return cls(model, q, _padded(motion), motion.shape[-2] + 1)

    def frame(self, function: Callable[..., Any], name: Any) -> AnyArray:
        """Coefficients of a function of a frame."""
        return _coefficients(function(self.model, self.q, self.motion, name), self.orders)

    def coordinate(self, joint: str) -> AnyArray:
        """Coefficients of the coordinate of a joint, (..., orders)."""
        k, i = self.model.q_slice(joint).start, self.model.v_slice(joint).start
        lead = np.broadcast_shapes(self.q.shape[:-1], self.motion.shape[:-2])
        x = np.zeros((*lead, self.orders))
        x[..., 0] = self.q[..., k]
        for n in range(1, self.orders):
            x[..., n] = self.motion[..., n - 1, i] / factorial(n)
        return x


class _Moved(_Kinematics):
    """The same with the derivatives along directions as imaginary parts."""

    def frame(self, function: Callable[..., Any], name: Any) -> AnyArray:
        given = {"q": self.q, "motion": self.motion, "body": name}
        found = jvp(function, self.model, given, {"q": self.dq, "motion": self.dmotion})
        both: Any = found.value + 1j * _TINY * found.derivative
        return _coefficients(both, self.orders)

    def coordinate(self, joint: str) -> AnyArray:
        i = self.model.v_slice(joint).start
        change = np.zeros((len(self.dq), self.orders))
        change[:, 0] = self.dq[:, i]
        for n in range(1, self.orders):
            change[:, n] = self.dmotion[:, n - 1, i] / factorial(n)
        both: AnyArray = super().coordinate(joint) + 1j * _TINY * change
        return both


def _padded(motion: Array) -> Array:
    """The series take at least v and its first derivative."""
    if motion.shape[-2] > 1:
        return motion
    return np.concatenate([motion, np.zeros_like(motion)], -2)


def _coefficients_of(c: Constraints, at: _Kinematics) -> Any:
    rows = [_rows(item, at) for item in c.items]
    lead = np.broadcast_shapes(*(x.shape[:-2] for x in rows))
    return np.concatenate([np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in rows], -2)


def _rows(item: AnyConstraint, at: _Kinematics) -> AnyArray:
    """Rows of one constraint, (..., orders, rows, nv)."""
    if isinstance(item, Coupling):
        return _coupling(item, at)
    R, p, J = _relative(item, at)
    angular, linear = J[..., :3, :], J[..., 3:, :]
    if isinstance(item, Point):
        return _product(at.frame(body_pose_series, item.first)[..., :3, :3], linear)
    if isinstance(item, Distance):
        rod = p.copy()
        rod[..., 0, :] -= item.anchor
        along = _scaled(rod, _power(_dot(rod, rod), -0.5))
        return _product(_product(along[..., None, :], R), linear)
    if isinstance(item, Rolling):
        plane = axes_along(np.array(item.normal)).T
        d = _contact(item, _product(_constant(plane, R), R))
        turned, moved = (_product(_constant(plane, R), _product(R, x)) for x in (angular, linear))
        return moved - _product(_hat(d), turned)
    kept = [k for k, name in enumerate(DIRECTIONS) if name not in item.free]
    return J[..., kept, :]


def _relative(item: Any, at: _Kinematics) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Rotation and position of the first frame in the second, and the Jacobian between them."""
    T, J = (at.frame(x, item.first) for x in (body_pose_series, jacobian_series))
    R, p = T[..., :3, :3], T[..., :3, 3]
    if item.second is None:
        return R, p, J
    base, other = (at.frame(x, item.second) for x in (body_pose_series, jacobian_series))
    back = base[..., :3, :3].swapaxes(-1, -2)
    p = _product(back, (p - base[..., :3, 3])[..., None])[..., 0]
    R = _product(back, R)
    inverse = R.swapaxes(-1, -2)
    angular = other[..., :3, :]
    linear = other[..., 3:, :] - _product(_hat(p), angular)  # w x p
    return R, p, J - np.concatenate([_product(inverse, angular), _product(inverse, linear)], -2)


def _coupling(item: Coupling, at: _Kinematics) -> AnyArray:
    terms = []
    for joint, c in item.coefficients:
        x = at.coordinate(joint)
        slope = np.zeros_like(x)
        for power in (3, 2, 1, 0):  # Horner
            slope = _times(slope, x)
            slope[..., 0] += (power + 1) * c[power]
        row = np.zeros((*x.shape, 1, at.model.nv), x.dtype)
        row[..., 0, at.model.v_slice(joint).start] = slope
        terms.append(row)
    total: AnyArray = np.sum(terms, 0)
    return total


def _residual(item: AnyConstraint, at: _Kinematics) -> AnyArray:
    """Residuals of one constraint, (..., orders, rows); zero without a target."""
    if getattr(item, target_field(item)) is None:
        return np.zeros((at.orders, row_count(item)))
    if isinstance(item, Coupling):
        found = _polynomials(item, at)[..., None]
    elif isinstance(item, (Point, Distance, Rolling)):
        found = _distances(item, at)
    else:
        return _pose_residual(item, at)
    if item.motion is not None:
        way = travel_coefficients(np.array(item.motion), at.orders)
        found = found - (way if not isinstance(item, Rolling) else way * [0.0, 0.0, 1.0])
    return found


def _polynomials(item: Coupling, at: _Kinematics) -> AnyArray:
    terms = []
    for joint, c in item.coefficients:
        x = at.coordinate(joint)
        value = np.zeros_like(x)
        for power in (3, 2, 1, 0):  # Horner
            value[..., 0] += c[power]
            value = _times(value, x)
        terms.append(value)
    total: AnyArray = np.sum(terms, 0)
    total[..., 0] -= float(item.offset or 0.0)
    return total


def _distances(item: Point | Distance | Rolling, at: _Kinematics) -> AnyArray:
    """Of a point along the axes of the world, of a rod, or of a wheel above its plane."""
    R, p, _ = _relative(item, at)
    p = p.copy()
    if isinstance(item, Point):
        p[..., 0, :] -= item.target
        base = at.frame(body_pose_series, item.first)[..., :3, :3]
        turned = _product(_product(base, R.swapaxes(-1, -2)), p[..., None])
        return turned[..., 0]
    if isinstance(item, Distance):
        p[..., 0, :] -= item.anchor
        length = _power(_dot(p, p), 0.5)
        length[..., 0] -= item.target
        return length[..., None]
    plane = axes_along(np.array(item.normal)).T
    p[..., 0, :] -= item.point
    d = _contact(item, _product(_constant(plane, R), R))
    height = (p @ plane.T + d)[..., 2]
    return np.stack([0 * height, 0 * height, height], -1)


def _pose_residual(item: Weld | Loop, at: _Kinematics) -> AnyArray:
    """Turns by the sine of their angle, then shifts, along the axes of the first frame."""
    R, p, _ = _relative(item, at)
    target = target_coefficients(item, at.orders)
    back = np.broadcast_to(target[:, :3, :3].swapaxes(-1, -2), R.shape)
    E, held = _product(back, R), [k for k, name in enumerate(DIRECTIONS) if name not in item.free]
    free = [k for k in range(3) if k not in held]
    turn = np.stack([E[..., 2, 1], E[..., 0, 2], E[..., 1, 0]], -1)
    turn = (turn - np.stack([E[..., 1, 2], E[..., 2, 0], E[..., 0, 1]], -1)) / 2
    if len(free) == 1:  # how far the free axis is from that of the target
        turn = np.cross(E[..., free[0], :], np.eye(3)[free[0]])
    shift = _product(R.swapaxes(-1, -2), (p - target[:, :3, 3])[..., None])[..., 0]
    lasting = np.array(list(held_positions(item.free).values()))
    rows: AnyArray = np.concatenate([turn, shift], -1)[..., held] * lasting
    return rows


def _contact(item: Rolling, R: AnyArray) -> AnyArray:
    """From the center to the point of contact, in the axes of the plane."""
    if item.axis is None:
        d = np.zeros((*R.shape[:-2], 3))
        d[..., 0, 2] = -item.radius
        return d
    axis = R @ np.array(item.axis)
    down = _scaled(axis, axis[..., 2])
    down[..., 0, 2] -= 1.0
    return item.radius * _scaled(down, _power(_dot(down, down), -0.5))


def _coefficients(derivatives: AnyArray, count: int) -> AnyArray:
    """Taylor coefficients of a series of matrices."""
    scale = np.array([1.0 / factorial(k) for k in range(count)])
    out: AnyArray = derivatives[..., :count, :, :] * scale[:, None, None]
    return out


def _convolution(
    a: AnyArray, b: AnyArray, axis: int, multiply: Callable[[Any, Any], Any]
) -> AnyArray:
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    order = np.arange(len(a))
    shifted = np.concatenate([b, np.zeros_like(b[:1])])  # the last one for negative indices
    rows = shifted[np.maximum(order[:, None] - order, -1)]  # b_(k - i)
    out: AnyArray = np.moveaxis(multiply(a, rows).sum(1), 0, axis)
    return out


def _product(a: AnyArray, b: AnyArray) -> AnyArray:
    return _convolution(a, b, -3, np.matmul)


def _times(a: AnyArray, b: AnyArray) -> AnyArray:
    return _convolution(a, b, -1, np.multiply)


def _dot(a: AnyArray, b: AnyArray) -> AnyArray:
    out: AnyArray = np.stack([_times(a[..., i], b[..., i]) for i in range(3)]).sum(0)
    return out


def _scaled(vector: AnyArray, by: AnyArray) -> AnyArray:
    return np.stack([_times(vector[..., i], by) for i in range(3)], -1)


def _constant(matrix: AnyArray, like: AnyArray) -> AnyArray:
    out = np.zeros((*like.shape[:-2], *matrix.shape))
    out[..., 0, :, :] = matrix
    return out


def _hat(x: AnyArray) -> AnyArray:
    out = np.zeros((*x.shape, 3), x.dtype)
    out[..., 2, 1], out[..., 0, 2], out[..., 1, 0] = x[..., 0], x[..., 1], x[..., 2]
    return out - out.swapaxes(-1, -2)


def _power(x: AnyArray, exponent: float) -> AnyArray:
    """x^p by x y' = p x' y."""
    y = np.zeros_like(x)
    y[..., 0] = x[..., 0] ** exponent
    for k in range(1, x.shape[-1]):
        terms = ((exponent * i - (k - i)) * x[..., i] * y[..., k - i] for i in range(1, k + 1))
        y[..., k] = sum(terms) / (k * x[..., 0])
    return y
