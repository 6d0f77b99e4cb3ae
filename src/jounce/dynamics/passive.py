"""Forces of the joints themselves: springs, damping, friction."""

from __future__ import annotations

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model.model import Model

__all__ = ["passive_forces"]


@kernel
def passive_forces(
    model: Model, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Forces of joint springs, damping and friction, (..., nv).

    With ``model.stiffness`` k, ``model.damping`` d and ``model.friction`` f,

        tau = -k u - d v - f sign(v),

    where u leads from the rest position ``model.springref`` to q:

    ============ =========================================================================
    joint        u
    ============ =========================================================================
    of one rate  the difference of the coordinates
    spherical    the rotation vector log(R0^T R), of length at most pi
    free         that rotation vector, then R^T (p - p0): what the position p is away, in
                 the body's axes
    ============ =========================================================================

    These are MuJoCo's springs, whose stiffness is one number per joint. Then the forces have a
    potential, half of k times the squares of the angle and of the distance. With another
    stiffness for each axis of a spherical or free joint they have none, in general.

    The forces are never mixed into inverse or forward dynamics, and the springs not into
    `potential_energy`; add them to tau where they belong. A spherical spring is discontinuous at
    half a turn, friction at rest (where it is taken as zero).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        out: (..., nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nv) generalized forces; without springs their power ``tau @ v`` is never positive.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite (in the result, too), or a bad
            quaternion.

    Examples:
        >>> import jounce as jc
        >>> door = jc.ModelBuilder().add_body(
        ...     "door", joint="revolute", mass=1.0, stiffness=2.0, springref=0.5, damping=0.1
        ... ).build()
        >>> float(jc.passive_forces(door, [1.5], [1.0])[0])
        -2.1
    """
