"""Partial derivatives of the forces of the joints themselves."""

from __future__ import annotations

import functools
from typing import NamedTuple

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model import Model

__all__ = ["PassiveForcesDerivatives", "passive_forces_derivatives"]


class PassiveForcesDerivatives(NamedTuple):
    """Partial derivatives of `passive_forces`.

    Examples:
        >>> builder = jc.ModelBuilder().add_body("a", joint="revolute", mass=1, damping=0.5)
        >>> d = jc.passive_forces_derivatives(builder.build(), [0.0], [1.0])
        >>> d.dv
        array([[-0.5]])
    """

    dq: Array
    """(..., nv, nv), in the tangent space; a block for each joint."""
    dv: Array
    """(..., nv, nv), diagonal."""


@functools.partial(kernel, result=PassiveForcesDerivatives)
def passive_forces_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> PassiveForcesDerivatives:
    """Derivatives of `passive_forces` with respect to q and v.

    With the deflections u of the springs (see there) ``dq = -k du`` and ``dv = -d`` on the
    diagonal. A rotation vector w of the angle t changes by

        dw = (1 + hat(w) / 2 + (1 - (t/2) cot(t/2)) / t^2 hat(w)^2) delta,

    and the position of a free joint by ``epsilon + x cross delta``. The jump of friction at rest
    is left out.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        out: two (..., nv, nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dq, dv): entry [i, j] is the derivative of tau[i] along rate j.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: ``dq == -diag(stiffness)`` for joints of one rate, and at the springs' rest position.

    Examples:
        >>> arm = jc.models.panda_like().replace(damping=0.5)
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> bool(np.allclose(jc.passive_forces_derivatives(arm, q, v).dv, -0.5 * np.eye(7)))
        True
    """
