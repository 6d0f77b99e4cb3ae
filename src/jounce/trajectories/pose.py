"""Curves of poses: the contract, products of exponentials, and how pose curves combine.

A curve of rotations is a pose curve that does not move its origin.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import reduce
from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._core.arrays import shown
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError
from jounce.lie import twists
from jounce.lie._taylor import require_representation
from jounce.trajectories import _checks, _taylor
from jounce.trajectories._times import at_times
from jounce.trajectories.curve import (
    ALWAYS,
    Constant,
    Curve,
    Immutable,
    Interval,
    as_curve,
    overlap,
    require_size,
)

__all__ = ["PoseCurve", "ProductOfExponentials", "Translation"]


class Motion(NamedTuple):
    """Poses at N flat times, and the Taylor series of their body twists."""

    quaternion: Array
    """(N, 4) as (x, y, z, w), continuous in time."""
    position: Array
    """(N, 3)."""
    twist: Array
    """(orders, 6, N)."""


class PoseCurve(Immutable, ABC):
    """A smooth curve on SE(3), evaluated with its twist's time derivatives of any order.

    Pose curves combine: ``a @ b`` is the product of poses (b moves in the frame a), where a
    constant pose may stand on either side, and ``a.retimed(law)`` runs through a by a time law.

    A subclass gives its poses and body twists as a `Motion`, everything else follows.

    Examples:
        >>> turn = jc.trajectories.axis_angle([0, 0, 1], jc.trajectories.HalfCosine(0.0, 1.0, 2.0))
        >>> lifted = jc.lie.exp([0, 0, 0, 0, 0, 0.5]) @ turn
        >>> float(lifted.pose(1.0)[2, 3]), lifted.twist_series(1.0, order=3).shape
        (0.5, (4, 6))
    """

    __array_ufunc__ = None  # so that array @ curve comes to the curve
    interval: Interval = ALWAYS
    """The times (start, end) that the curve is made for, s."""

    @abstractmethod
    def motion(self, t: Array, orders: int) -> Motion:
        """Poses and `orders` Taylor coefficients of the body twist at flat times t (N,).

        Examples:
            >>> height = jc.trajectories.Polynomial([[0, 0, 1], [0, 0, 0.5]])
            >>> rise = jc.trajectories.Translation(height)
            >>> turn = jc.trajectories.axis_angle([0, 0, 1], jc.trajectories.Polynomial([0.0, 2.0]))
            >>> (rise @ turn).motion(np.zeros(1), 1).twist.ravel()
            array([0. , 0. , 2. , 0. , 0. , 0.5])
        """

    def pose(self, t: ArrayLike) -> Array:
        """The pose at times t (...), of shape (..., 4, 4).

        Examples:
            >>> orbit = jc.trajectories.Translation(jc.trajectories.Circle(radius=2.0, rate=1.0))
            >>> orbit.pose([0.0, np.pi / 2])[:, :3, 3].round(12)
            array([[2., 0., 0.],
                   [0., 2., 0.]])
        """

        def compute(t: Array) -> Array:
            return _matrix(self.motion(t.ravel(), 0)).reshape(*t.shape, 4, 4)

        return at_times("pose", compute, t, 16)

    def coordinates(self, t: ArrayLike) -> Array:
        """Quaternion (x, y, z, w) and position, (..., 7): the coordinates of a free joint.

        The quaternion is continuous along the curve (it does not jump to the one with w >= 0).

        Examples:
            >>> turn = jc.trajectories.axis_angle([0, 0, 1], jc.trajectories.Polynomial([0.0, 1.0]))
            >>> turn.coordinates(2 * np.pi).round(12) + 0.0  # one full turn later
            array([ 0.,  0.,  0., -1.,  0.,  0.,  0.])
        """

        def compute(t: Array) -> Array:
            motion = self.motion(t.ravel(), 0)
            return np.hstack([motion.quaternion, motion.position]).reshape(*t.shape, 7)

        return at_times("coordinates", compute, t, 7)

    def twist_series(self, t: ArrayLike, order: int, twist: str = "body") -> Array:
        """The twist and its component-wise time derivatives of order 1 to `order`.

        Args:
            t: (...) times, s.
            order: highest derivative, from 0 to 150.
            twist: "body", "spatial", "hybrid" or "mixed", see `jounce.twists`. The derivatives
                are those of the components in that representation.

        Returns:
            (..., order+1, 6), angular part first.

        Identity: ``twists.pose_series(curve.pose(t), curve.twist_series(t, r))`` are the
        derivatives of the pose up to order r + 1.

        Examples:
            >>> orbit = jc.trajectories.Translation(jc.trajectories.Circle(radius=2.0, rate=1.0))
            >>> turn = jc.trajectories.axis_angle([0, 0, 1], jc.trajectories.Polynomial([0.0, 1.0]))
            >>> (orbit @ turn).twist_series(0.7, order=1).round(12) + 0.0  # in its own axes
            array([[0., 0., 1., 0., 2., 0.],
                   [0., 0., 0., 0., 0., 0.]])
        """
        orders = _checks.order(order) + 1
        require_representation(twist)  # refuses unknown ones

        def compute(t: Array) -> Array:
            motion = self.motion(t.ravel(), orders)
            series = _taylor.to_derivatives(motion.twist, (t.size,))
            if twist != "body":
                series = twists.convert_series(series, _matrix(motion), "body", twist)
            return series.reshape(*t.shape, orders, 6)

        return at_times("twist_series", compute, t, 6 * orders)

    def retimed(self, law: Curve) -> PoseCurve:
        """The curve run through by a time law: the pose at t is ``self.pose(law(t))``.

        Args:
            law: curve of size 1 whose values are times of this curve.

        Examples:
            >>> turn = jc.trajectories.axis_angle([0, 0, 1], jc.trajectories.Polynomial([0.0, 1.0]))
            >>> faster = turn.retimed(jc.trajectories.Polynomial([0.0, 0.0, 0.5]))
            >>> faster.twist_series(3.0, order=1)[:, 2]  # rate and acceleration of t^2 / 2
            array([3., 1.])
        """
        return _Retimed(self, law)

    def __matmul__(self, other: PoseCurve | ArrayLike) -> PoseCurve:
        """The product of poses; an array is a constant pose (4, 4) or rotation (3, 3)."""
        return _Product(self, as_pose_curve("right factor", other))

    def __rmatmul__(self, other: ArrayLike) -> PoseCurve:
        """The product of a constant pose (4, 4) or rotation (3, 3) and the curve."""
        return _Product(as_pose_curve("left factor", other), self)


class ProductOfExponentials(PoseCurve):
    """The product ``origin exp(screws[0] s_0(t)) exp(screws[1] s_1(t)) ...``.

    Rotations about fixed or successive axes, geodesics and splines on the group all are of this
    form. With the n scalar curves s_i stacked in one curve, the body twist follows factor by
    factor: V <- Ad(exp(-X_i s_i)) V + X_i ds_i/dt.

    Args:
        origin: (4, 4) pose or (3, 3) rotation.
        screws: (n, 6) constant twists (angular, linear), or (n, 3) rotation axes.
        scalars: curve of size n.

    Examples:
        >>> angle = jc.trajectories.HalfCosine(0.0, 1.0, 2.0)
        >>> turn = jc.trajectories.ProductOfExponentials(np.eye(4), [[0, 0, 1, 0, 0, 0]], angle)
        >>> turn.interval
        (0.0, 2.0)
    """

    origin: Array
    screws: Array
    scalars: Curve
    _still: tuple[list[float], list[float]]
    """Quaternion and position of the origin."""
    _starts_at_identity: bool

    def __init__(self, origin: ArrayLike, screws: ArrayLike, scalars: Curve) -> None:
        X = _checks.numbers("screws", screws)
        if X.ndim != 2 or X.shape[1] not in (3, 6):
            raise ArgumentError(f"screws: expected shape (n, 6) or (n, 3), got {X.shape}")
        start = _checks.poses("origin", origin, 2)
        super().__init__(
            origin=start,
            _still=(lie.matrix_to_quat(start[:3, :3]).tolist(), start[:3, 3].tolist()),
            _starts_at_identity=bool((start == np.eye(4)).all()),
            screws=np.hstack([X, np.zeros((len(X), 6 - X.shape[1]))]),
            scalars=require_size("scalars", scalars, len(X)),
            interval=scalars.interval,
        )

    def motion(self, t: Array, orders: int) -> Motion:
        """Poses and `orders` Taylor coefficients of the body twist at flat times t (N,).

        Examples:
            >>> screws, angle = [[0, 0, 1, 0, 0, 0.1]], jc.trajectories.Polynomial([0.0, 2.0])
            >>> screw = jc.trajectories.ProductOfExponentials(np.eye(4), screws, angle)
            >>> screw.motion(np.array([5.0]), 1).position  # ten radians at 0.1 m each
            array([[0., 0., 1.]])
        """
        series = self.scalars.taylor(t, orders + 1)
        factors = (_exponential(X, series[:, i : i + 1]) for i, X in enumerate(self.screws))
        return reduce(_multiply, factors, _still(self.origin, t.size, orders))


class Translation(PoseCurve):
    """The pose curve of a position alone, with constant orientation.

    ``Translation(position) @ rotation`` is the pose with that position and orientation.

    Args:
        position: curve of size 3, or three numbers.

    Examples:
        >>> line = jc.trajectories.Polynomial([[0.0, 0, 1], [1.0, 0, 0]])
        >>> jc.trajectories.Translation(line).twist_series(0.0, 0)
        array([[0., 0., 0., 1., 0., 0.]])
    """

    position: Curve

    def __init__(self, position: Curve | ArrayLike) -> None:
        curve = as_curve("position", position)
        super().__init__(position=require_size("position", curve, 3), interval=curve.interval)

    def motion(self, t: Array, orders: int) -> Motion:
        """Poses and `orders` Taylor coefficients of the body twist at flat times t (N,).

        Examples:
            >>> line = jc.trajectories.Polynomial([[0.0, 0, 1], [1.0, 0, 0]])
            >>> jc.trajectories.Translation(line).motion(np.array([2.0]), 1).position
            array([[2., 0., 1.]])
        """
        series = self.position.taylor(t, orders + 1)
        still = _still(np.eye(4), t.size, orders)
        still.twist[:, 3:] = _taylor.slope(series)
        return still._replace(position=series[0].T)


def as_pose_curve(name: str, value: PoseCurve | ArrayLike) -> PoseCurve:
    """Return a pose curve as it is, and a pose or rotation matrix as a constant one."""
    if isinstance(value, PoseCurve):
        return value
    if isinstance(value, Immutable):
        raise ArgumentError(f"{name}: expected a pose curve or a pose, got {shown(value)}")
    pose = _checks.poses(name, value, 2)
    return ProductOfExponentials(pose, np.zeros((0, 6)), Constant([]))


class _Product(PoseCurve):
    left: PoseCurve
    right: PoseCurve

    def __init__(self, left: PoseCurve, right: PoseCurve) -> None:
        super().__init__(left=left, right=right, interval=overlap([left.interval, right.interval]))

    def __repr__(self) -> str:
        return f"{self.left!r} @ {self.right!r}"

    def motion(self, t: Array, orders: int) -> Motion:
        return _multiply(self.left.motion(t, orders), self.right.motion(t, orders))


class _Retimed(PoseCurve):
    curve: PoseCurve
    law: Curve

    def __init__(self, curve: PoseCurve, law: Curve) -> None:
        super().__init__(curve=curve, law=require_size("law", law, 1), interval=law.interval)

    def __repr__(self) -> str:
        return f"({self.curve!r}).retimed({self.law!r})"

    def motion(self, t: Array, orders: int) -> Motion:
        law = self.law.taylor(t, orders + 1)
        path = self.curve.motion(law[0, 0], orders)
        along = _taylor.compose(path.twist, law[:-1])
        return path._replace(twist=_taylor.product(along, _taylor.slope(law)))


def _still(pose: Array, count: int, orders: int) -> Motion:
    quaternion = np.tile(lie.matrix_to_quat(pose[:3, :3]), (count, 1))
    position = np.tile(pose[:3, 3], (count, 1))
    return Motion(quaternion, position, np.zeros((orders, 6, count)))


def _exponential(X: Array, s: Array) -> Motion:
    """The motion exp(X s(t)) of a constant screw X (6,), s (orders+1, 1, N)."""
    x = s[0, 0, :, None] * X
    twist = _taylor.slope(s) * X[:, None]
    return Motion(lie.quat_exp(x[:, :3]), lie.exp(x)[:, :3, 3], twist)


def _multiply(a: Motion, b: Motion) -> Motion:
    """The product of poses; its body twist is Ad(b^-1) V_a + V_b."""
    R_a, R_b = lie.quat_to_matrix(a.quaternion), lie.quat_to_matrix(b.quaternion)
    twist = b.twist
    if a.twist.any():
        R, p = np.moveaxis(R_b, 0, -1), b.position.T
        twist = twist + _taylor.carry_back(a.twist, R, p, b.twist)
    return Motion(
        lie.quat_multiply(a.quaternion, b.quaternion),
        a.position + np.einsum("tij,tj->ti", R_a, b.position),
        twist,
    )


def _matrix(motion: Motion) -> Array:
    out = np.zeros((len(motion.position), 4, 4))
    out[:, :3, :3] = lie.quat_to_matrix(motion.quaternion)
    out[:, :3, 3] = motion.position
    out[:, 3, 3] = 1.0
    return out
