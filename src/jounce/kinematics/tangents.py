"""How moves on the configuration manifold and differences on it change, from tangent to tangent."""

from __future__ import annotations

import functools
from typing import NamedTuple

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model.model import Model

__all__ = [
    "DifferenceDerivatives",
    "IntegrateDerivatives",
    "difference_derivatives",
    "integrate_derivatives",
]


class IntegrateDerivatives(NamedTuple):
    """Derivatives of ``integrate(model, q, dv)``, (..., nv, nv) each.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> jc.integrate_derivatives(arm, [0, 0], [1, 1]).dv
        array([[1., 0.],
               [0., 1.]])
    """

    dq: Array
    dv: Array


class DifferenceDerivatives(NamedTuple):
    """Derivatives of ``difference(model, q0, q1)``, (..., nv, nv) each.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> jc.difference_derivatives(arm, [0, 0], [1, 1]).dq1
        array([[1., 0.],
               [0., 1.]])
    """

    dq0: Array
    dq1: Array


@functools.partial(kernel, result=IntegrateDerivatives)
def integrate_derivatives(
    model: Model,
    q: ArrayLike,
    dv: ArrayLike,
    *,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> IntegrateDerivatives:
    """Derivatives of `integrate` with respect to q and dv, from tangent space to tangent space.

    With the right-trivialized dexp of `jounce.lie`, a spherical or free joint has the blocks

        delta (q exp(u)) = Ad(exp(-u)) delta q + dexp(-u) delta u,

    joints with one coordinate have 1; nothing else is in the matrices, which do not depend on q.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        dv: (..., nv) tangent vector.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dq, dv), (..., nv, nv) each, in the tangent space at the result
        (Pinocchio's ``dIntegrate`` with ARG0 and ARG1).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Examples:
        >>> robot = jc.models.aerial_manipulator()
        >>> d = jc.integrate_derivatives(robot, jc.neutral(robot), np.zeros(robot.nv))
        >>> bool(np.allclose(d.dq, np.eye(robot.nv)) and np.allclose(d.dv, np.eye(robot.nv)))
        True
    """


@functools.partial(kernel, result=DifferenceDerivatives)
def difference_derivatives(
    model: Model,
    q0: ArrayLike,
    q1: ArrayLike,
    *,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> DifferenceDerivatives:
    """Derivatives of `difference` with respect to q0 and q1, in their tangent spaces.

    A spherical or free joint with the difference u has the blocks

        delta u = dexp_inv(-u) delta q1 - dexp_inv(u) delta q0

    with the right-trivialized dexp_inv of `jounce.lie`, joints with one coordinate have 1 and -1.
    At half a turn, where the difference jumps, they are those of one side.

    Args:
        model: the robot.
        q0: (..., nq) coordinates.
        q1: (..., nq) coordinates.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dq0, dq1), (..., nv, nv) each (Pinocchio's ``dDifference``).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: with dv the difference, ``integrate_derivatives(model, q0, dv).dv @ dq1`` is the
    identity.

    Examples:
        >>> robot = jc.models.aerial_manipulator()
        >>> q = jc.neutral(robot)
        >>> bool(np.allclose(jc.difference_derivatives(robot, q, q).dq1, np.eye(robot.nv)))
        True
    """
