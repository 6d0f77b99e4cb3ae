"""Twists, wrenches and their time derivatives in the four usual representations.

A body has the pose T = (R, p), the body-fixed angular velocity w and the velocity v = R^T dp/dt of
its origin. Its twist, always (angular, linear), is written in one of four ways (Mueller 2018,
eq. 97 to 100):

    =========  ======================  =====================================================
    name       components              meaning
    =========  ======================  =====================================================
    body       (w, v)                  both in body axes, at the body's origin
    spatial    Ad(T) (w, v)            both in world axes, at the world's origin
    hybrid     (R w, R v)              both in world axes, at the body's origin
    mixed      (w, R v)                angular part in body axes, linear part in world axes
    =========  ======================  =====================================================

Deviation: the last member of eq. 99 must read Ad_r V^h, not Ad_r V^b.

The same words mean different things elsewhere, and some libraries put the linear part first:

    =======  ===================  ======================  ===================  ===========
    jounce   Pinocchio            iDynTree, ADAM, JaxSim  MuJoCo, RBDL         trivialized
    =======  ===================  ======================  ===================  ===========
    body     LOCAL                BODY_FIXED              -                    left
    spatial  WORLD                INERTIAL_FIXED          -                    right
    hybrid   LOCAL_WORLD_ALIGNED  MIXED                   -                    -
    mixed    -                    -                       free-joint velocity  -
    =======  ===================  ======================  ===================  ===========

A wrench (moment, force) in a representation is dual to the twist: its dot product with the twist is
the power, in every representation. So a body wrench is resolved in body axes about the body's
origin, a spatial wrench in world axes about the world's origin, a hybrid wrench in world axes about
the body's origin, and a mixed wrench has its moment in body axes and its force in world axes.

A series stacks a quantity and its component-wise time derivatives: axis -2 has the orders 0, 1, ...
Component-wise derivatives in one representation are not the converted derivatives of another one,
since the frame moves. A body that spins about z while its origin moves along the world's x-axis at
constant speed has no acceleration in the hybrid representation, but it has one in body components:

    >>> import numpy as np
    >>> from jounce import twists
    >>> T = np.eye(4)
    >>> hybrid = np.array([[0, 0, 2, 3, 0, 0], [0, 0, 0, 0, 0, 0]])  # twist, its derivative
    >>> twists.convert_series(hybrid, T, "hybrid", "body")[1]  # not zero: - w x v
    array([ 0.,  0.,  0.,  0., -6.,  0.])

All arrays may have leading batch axes, which broadcast. Real and complex numbers are accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from jounce._core.elementwise import deliver_elementwise, elementwise
from jounce._types import AnyArray, ArrayLike
from jounce.errors import REPRESENTATIONS, ArgumentError
from jounce.lie._checks import array, finite_result
from jounce.lie._taylor import (
    ANGULAR,
    LINEAR,
    MOST_ORDERS,
    Representation,
    change,
    derivatives,
    factorials,
    pose_taylor,
    representation_of,
    taylor,
)

__all__ = [
    "REPRESENTATIONS",
    "convert",
    "convert_acceleration",
    "convert_series",
    "convert_wrench",
    "convert_wrench_series",
    "matrix",
    "pose_series",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def _convert(x: ArrayLike, T: ArrayLike, source: str, target: str) -> AnyArray:
    return convert_series(_numbers("x", x, (6,))[..., None, :], T, source, target)[..., 0, :]


@elementwise(_convert)
def convert(
    x: ArrayLike,
    T: ArrayLike,
    source: str,
    target: str,
    *,
    out: AnyArray | None = None,
    threads: int = 1,
) -> AnyArray:
    """Convert the twist of a body with pose T from one representation to another.

    Args:
        x: (..., 6) twist in the source representation, rad/s and m/s.
        T: (..., 4, 4) pose of the body in the world.
        source: "body", "spatial", "hybrid" or "mixed".
        target: likewise.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 6), equal to ``matrix(T, source, target) @ x``.

    Raises:
        ArgumentError: a wrong shape, NaN, a last row that no pose has, an unknown representation,
            or a result that is not finite. Rotations are not checked.

    Examples:
        >>> T = jc.lie.exp([0, 0, np.pi / 2, 1, 0, 0])
        >>> jc.twists.convert([0, 0, 0, 1.0, 0, 0], T, "body", "hybrid").round(12) + 0.0
        array([0., 0., 0., 0., 1., 0.])
    """


def _convert_wrench(w: ArrayLike, T: ArrayLike, source: str, target: str) -> AnyArray:
    wrenches = _numbers("w", w, (6,))[..., None, :]
    return convert_wrench_series(wrenches, np.zeros((0, 6)), T, source, target)[..., 0, :]


@elementwise(_convert_wrench)
def convert_wrench(
    w: ArrayLike,
    T: ArrayLike,
    source: str,
    target: str,
    *,
    out: AnyArray | None = None,
    threads: int = 1,
) -> AnyArray:
    """Convert a wrench on a body with pose T; its power on the twist stays the same.

    Args:
        w: (..., 6) wrench (moment, force) in the source representation, N m and N.
        T: (..., 4, 4) pose of the body in the world.
        source: "body", "spatial", "hybrid" or "mixed".
        target: likewise.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 6), equal to ``matrix(T, target, source).T @ w`` (Mueller 2018, eq. 120).

    Raises:
        ArgumentError: a wrong shape, NaN, a last row that no pose has, an unknown representation,
            or a result that is not finite. Rotations are not checked.

    Examples:
        >>> T, x = jc.lie.exp([0, 0, 1, 1, 0, 0]), np.arange(6.0)
        >>> there = jc.twists.convert_wrench(x, T, "body", "spatial")
        >>> bool(np.isclose(there @ jc.twists.convert(x, T, "body", "spatial"), x @ x))  # power
        True
    """


def _convert_acceleration(
    a: ArrayLike, x: ArrayLike, T: ArrayLike, source: str, target: str
) -> AnyArray:
    pair = np.broadcast_arrays(_numbers("x", x, (6,)), _numbers("a", a, (6,)))
    return convert_series(np.stack(pair, axis=-2), T, source, target)[..., 1, :]


@elementwise(_convert_acceleration)
def convert_acceleration(
    a: ArrayLike,
    x: ArrayLike,
    T: ArrayLike,
    source: str,
    target: str,
    *,
    out: AnyArray | None = None,
    threads: int = 1,
) -> AnyArray:
    """Convert the component-wise time derivative of a twist.

    Args:
        a: (..., 6) time derivative of the components x, rad/s^2 and m/s^2.
        x: (..., 6) twist in the source representation, rad/s and m/s.
        T: (..., 4, 4) pose of the body in the world.
        source: "body", "spatial", "hybrid" or "mixed".
        target: likewise.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 6) time derivative of the twist's components in the target representation. From body
        to spatial it is Ad(T) a, without a further term, since [x, x] = 0 (Mueller 2018, eq. 117).

    Raises:
        ArgumentError: a wrong shape, NaN, a last row that no pose has, an unknown representation,
            or a result that is not finite. Rotations are not checked.

    Examples:
        >>> T, x = jc.lie.exp([0.1, 0.2, 0.3, 1, 2, 3]), np.ones(6)
        >>> a = jc.twists.convert_acceleration(np.ones(6), x, T, "body", "spatial")
        >>> bool(np.allclose(a, jc.lie.Ad(T) @ np.ones(6)))
        True
    """


def _matrix(T: ArrayLike, source: str, target: str) -> AnyArray:
    columns = _convert(np.eye(6), _pose(T)[..., None, :, :], source, target)
    return np.array(columns.swapaxes(-1, -2))


@elementwise(_matrix)
def matrix(
    T: ArrayLike,
    source: str,
    target: str,
    *,
    out: AnyArray | None = None,
    threads: int = 1,
) -> AnyArray:
    """The 6x6 matrix of `convert`; it turns a Jacobian in one representation into another.

    Args:
        T: (..., 4, 4) pose of the body in the world.
        source: "body", "spatial", "hybrid" or "mixed".
        target: likewise.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 6, 6). From "body" to "spatial" it is ``lie.Ad(T)``.

    Examples:
        >>> T = jc.lie.exp([0.1, 0.2, 0.3, 1, 2, 3])
        >>> bool(np.allclose(jc.twists.matrix(T, "body", "spatial"), jc.lie.Ad(T)))
        True
    """


def convert_series(
    series: ArrayLike, T: ArrayLike, source: str, target: str, *, out: AnyArray | None = None
) -> AnyArray:
    """Convert a twist and its component-wise time derivatives of any order.

    Works on Taylor coefficients: the pose's coefficients follow from the twist's one by one, and a
    change of representation is a product of truncated series.

    Args:
        series: (..., r+1, 6) twist and its derivatives of order 1 to r in the source
            representation.
        T: (..., 4, 4) pose of the body in the world, at the same instant.
        source: "body", "spatial", "hybrid" or "mixed".
        target: likewise.
        out: (..., r+1, 6) array to write to.

    Returns:
        (..., r+1, 6) twist and its derivatives of order 1 to r in the target representation.

    Raises:
        ArgumentError: a wrong shape, NaN, a last row that no pose has, an unknown representation,
            or a result that is not finite. Rotations are not checked.

    Examples:
        >>> T = jc.lie.exp([0.1, 0.2, 0.3, 1, 2, 3])
        >>> series = np.ones((4, 6))  # a twist and its derivatives up to order 3
        >>> there = jc.twists.convert_series(series, T, "body", "hybrid")
        >>> bool(np.allclose(jc.twists.convert_series(there, T, "hybrid", "body"), series))
        True
    """
    old, new = representation_of("source", source), representation_of("target", target)
    return _delivered("convert_series", partial(_convert_series, old, new), out, series=series, T=T)


@finite_result
def _convert_series(
    old: Representation, new: Representation, series: ArrayLike, T: ArrayLike
) -> AnyArray:
    twists = taylor(_series("series", series))
    T = _pose(T)
    batch = _batch(series=twists.shape[:-2], T=T.shape[:-2])
    R, p = pose_taylor(twists, T, old, twists.shape[-2])
    return derivatives(change(twists, R, p, old, new, shifted=LINEAR), batch)


def convert_wrench_series(
    wrenches: ArrayLike,
    twists: ArrayLike,
    T: ArrayLike,
    source: str,
    target: str,
    *,
    out: AnyArray | None = None,
) -> AnyArray:
    """Convert a wrench and its component-wise time derivatives of any order (ali, E5).

    From "body" to "spatial" it is E5, Leibniz' rule on the coadjoint matrix Ad(T^-1)^T times the
    wrench; here between any two representations, as products of Taylor series.

    Args:
        wrenches: (..., k+1, 6) wrench and its derivatives of order 1 to k in the source
            representation.
        twists: (..., m, 6) with m >= k, the body's twist and its derivatives in the source
            representation; they say how the frame moves. Orders from k on are not used.
        T: (..., 4, 4) pose of the body in the world, at the same instant.
        source: "body", "spatial", "hybrid" or "mixed".
        target: likewise.
        out: (..., k+1, 6) array to write to.

    Returns:
        (..., k+1, 6) wrench and its derivatives of order 1 to k in the target representation.

    Raises:
        ArgumentError: a wrong shape, NaN, a last row that no pose has, an unknown representation,
            or a result that is not finite. Rotations are not checked.

    Examples:
        >>> T = jc.lie.exp([0.1, 0.2, 0.3, 1, 2, 3])
        >>> wrenches, twists = np.ones((3, 6)), np.ones((2, 6))
        >>> there = jc.twists.convert_wrench_series(wrenches, twists, T, "body", "hybrid")
        >>> bool(np.allclose(there[0, 3:], T[:3, :3] @ np.ones(3)))
        True
    """
    old, new = representation_of("source", source), representation_of("target", target)
    return _delivered(
        "convert_wrench_series",
        partial(_convert_wrench_series, old, new),
        out,
        wrenches=wrenches,
        twists=twists,
        T=T,
    )


@finite_result
def _convert_wrench_series(
    old: Representation, new: Representation, wrenches: ArrayLike, twists: ArrayLike, T: ArrayLike
) -> AnyArray:
    loads = taylor(_series("wrenches", wrenches))
    orders = loads.shape[-2]
    motion = taylor(_series("twists", twists, at_least=orders - 1))
    T = _pose(T)
    batch = _batch(wrenches=loads.shape[:-2], twists=motion.shape[:-2], T=T.shape[:-2])
    R, p = pose_taylor(motion, T, old, orders)
    return derivatives(change(loads, R, p, old, new, shifted=ANGULAR), batch)


def pose_series(
    T: ArrayLike, series: ArrayLike, source: str = "body", *, out: AnyArray | None = None
) -> AnyArray:
    """The time derivatives of a pose matrix from those of the twist (Ali 2026, Remark 1).

    Leibniz' rule on dT/dt = T hat(x) for a body twist x, or dT/dt = hat(x) T for a spatial one.

    Args:
        T: (..., 4, 4) pose of the body in the world.
        series: (..., r+1, 6) twist and its component-wise derivatives of order 1 to r.
        source: representation of the series.
        out: (..., r+2, 4, 4) array to write to.

    Returns:
        (..., r+2, 4, 4) derivatives of order 0 to r+1 of T.

    Raises:
        ArgumentError: a wrong shape, NaN, a last row that no pose has, an unknown representation,
            or a result that is not finite. Rotations are not checked.

    Examples:
        >>> T = jc.lie.exp([0.1, 0.2, 0.3, 1, 2, 3])
        >>> rates = jc.twists.pose_series(T, np.ones((2, 6)), "body")
        >>> bool(np.allclose(rates[1], T @ jc.lie.hat(np.ones(6))))
        True
    """
    rep = representation_of("source", source)
    return _delivered("pose_series", partial(_pose_series, rep), out, T=T, series=series)


@finite_result
def _pose_series(rep: Representation, T: ArrayLike, series: ArrayLike) -> AnyArray:
    twists = taylor(_series("series", series))
    T = _pose(T)
    batch = _batch(series=twists.shape[:-2], T=T.shape[:-2])
    R, p = pose_taylor(twists, T, rep, twists.shape[-2] + 1)
    poses = np.zeros((*batch, twists.shape[-2] + 1, 4, 4), R.dtype)
    poses[..., :3, :3] = R
    poses[..., :3, 3] = p
    poses *= factorials(poses.shape[-3])[:, None, None]
    poses[..., 0, 3, 3] = 1
    return poses


def _delivered(
    function: str, compute: Callable[..., AnyArray], out: AnyArray | None, **arrays: ArrayLike
) -> AnyArray:
    """The result of arguments that are matrices, a portion of a batch at a time."""
    result: AnyArray = deliver_elementwise(function, compute, arrays, dict.fromkeys(arrays, 2), out)
    return result


def _numbers(name: str, value: ArrayLike, trailing: tuple[int, ...]) -> AnyArray:
    numbers = array(name, value, trailing)
    if not np.isfinite(numbers).all():
        raise ArgumentError(f"{name} must be finite, got NaN or infinity")
    return numbers


def _series(name: str, value: ArrayLike, at_least: int = 1) -> AnyArray:
    series = _numbers(name, value, (6,))
    if series.ndim < 2 or not at_least <= series.shape[-2] <= MOST_ORDERS:
        raise ArgumentError(
            f"{name} must have shape (..., orders, 6) with {at_least} to {MOST_ORDERS} orders, got "
            f"{series.shape}"
        )
    return series


def _pose(value: ArrayLike) -> AnyArray:
    T = _numbers("T", value, (4, 4))
    if (np.abs(T[..., 3, :] - [0, 0, 0, 1]) > 1e-6).any():
        raise ArgumentError("T must be a pose with the last row (0, 0, 0, 1), but it is not")
    return T


def _batch(**shapes: tuple[int, ...]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError as error:
        got = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ArgumentError(f"batch axes do not broadcast: {got}") from error
