"""Partial derivatives of twists and accelerations of bodies and frames.

Derivatives with respect to q are taken in the tangent space: q is moved by
``integrate(model, q, eps)``, left-trivialized for spherical and free joints. With the columns J_j
of a body's Jacobian in body axes, and j < k for a joint of j inward of that of k,

    D_k J_j = [J_j, J_k] for j < k, else zero                              (mueller, eq. 5 and 12),

and the other representations follow from how the axes turn: with the pose's matrix X and
U = 0 ("body"), U x = (angular part of x, 0) ("hybrid"), U x = x ("spatial"),

    D_k (X y) = X ([U J_k, y] + D_k y).

"mixed" takes its angular part from "body" and its linear part from "hybrid".
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model import Model

__all__ = [
    "BodyAccelerationDerivatives",
    "BodyTwistDerivatives",
    "body_acceleration_derivatives",
    "body_twist_derivatives",
]


class BodyTwistDerivatives(NamedTuple):
    """Derivatives of a twist, (..., 6, nv) each; ``dv`` is the Jacobian.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> d = jc.body_twist_derivatives(arm, q, v, "body1")
        >>> bool(np.allclose(d.dv, jc.jacobian(arm, q, "body1")))
        True
    """

    dq: Array
    dv: Array


class BodyAccelerationDerivatives(NamedTuple):
    """Derivatives of an acceleration, (..., 6, nv) each; ``da`` is the Jacobian.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> d = jc.body_acceleration_derivatives(arm, q, v, a, "body1")
        >>> bool(np.allclose(d.da, jc.jacobian(arm, q, "body1")))
        True
    """

    dq: Array
    dv: Array
    da: Array


@functools.partial(kernel, result=BodyTwistDerivatives)
def body_twist_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    body: str | int,
    twist: str = "body",
    *,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> BodyTwistDerivatives:
    """Derivatives of `body_twist` with respect to q and v.

    In body axes D_k V = [V_<k, J_k] with the twist V_<k of the bodies before joint k, carried to
    the body (mueller, eq. 12, summed over the columns); O(depth).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        body: a body (name or index) or the name of a frame.
        twist: representation of the twist, see `jounce.twists`.
        out: two (..., 6, nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dq, dv), (..., 6, nv) each; column k is the derivative along rate k.

    Raises:
        ArgumentError: an unknown representation, a wrong shape or bad numbers.
        UnknownNameError: an unknown body.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> d = jc.body_twist_derivatives(arm, q, v, "tool", "hybrid")
        >>> d.dq.shape, d.dv.shape
        ((6, 7), (6, 7))
    """


@functools.partial(kernel, result=BodyAccelerationDerivatives)
def body_acceleration_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    body: str | int,
    twist: str = "body",
    *,
    out: tuple[Array, Array, Array] | None = None,
    threads: int = 1,
) -> BodyAccelerationDerivatives:
    """Derivatives of a body's acceleration with respect to q, v and a.

    The acceleration is the time derivative A of the twist's components, as `body_accelerations`
    gives it. In body axes, with V_<k and A_<k of what moves before joint k and V_>k = the part of
    the twist from joints after it,

        D_k A = [A_<k, J_k] + [[V_<k, J_k], V - V_<k],   dA/dv_k = [V_<k, J_k] + [J_k, V_>k]

    (mueller, eq. 14 at order 2, summed over the columns); O(depth).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., nv) derivatives of the components of v.
        body: a body (name or index) or the name of a frame.
        twist: representation of the twist, see `jounce.twists`.
        out: three (..., 6, nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dq, dv, da), (..., 6, nv) each; column k is the derivative along rate k.

    Raises:
        ArgumentError: an unknown representation, a wrong shape or bad numbers.
        UnknownNameError: an unknown body.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> d = jc.body_acceleration_derivatives(arm, q, v, a, "tool")
        >>> bool(np.allclose(d.da, jc.jacobian(arm, q, "tool")))
        True
    """
