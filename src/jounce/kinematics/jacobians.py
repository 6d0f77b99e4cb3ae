"""Jacobians of bodies and frames, and their time derivatives.

`body` and `twist` are those of `jounce.kinematics.bodies`.
"""

from __future__ import annotations

from jounce._core import kernel
from jounce._types import Array, ArrayLike, Bodies
from jounce.model.model import Model

__all__ = ["jacobian", "jacobian_rate"]


@kernel
def jacobian(
    model: Model,
    q: ArrayLike,
    body: Bodies,
    twist: str = "body",
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Jacobian of a body or frame, (..., 6, nv): twist = J v (mueller, eq. 5, 14, 20, 23).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        body: a body (name or index), the name of a frame, or a list of them: then the result has
            an axis of frames after the leading ones.
        twist: representation of the twist: "body" (Pinocchio's LOCAL), "spatial" (WORLD), "hybrid"
            (LOCAL_WORLD_ALIGNED; iDynTree's MIXED) or "mixed" (angular part in the body, linear
            part in the world, as MuJoCo's free joint), see `jounce.twists`.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 6, nv) Jacobian, angular rows first.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, or an unknown
            representation.
        UnknownNameError: an unknown body or frame.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q = arm.poses["home"]
        >>> J = jc.jacobian(arm, q, "tool", twist="hybrid")  # angular rows first
        >>> J.shape
        (6, 7)
    """


@kernel
def jacobian_rate(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    body: Bodies,
    twist: str = "body",
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Time derivative of the Jacobian along v, (..., 6, nv).

    Identity: the derivative of the twist's components is ``J a + jacobian_rate(...) v``.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        body: a body (name or index), the name of a frame, or a list of them: then the result has
            an axis of frames after the leading ones.
        twist: representation of the twist: "body" (Pinocchio's LOCAL), "spatial" (WORLD), "hybrid"
            (LOCAL_WORLD_ALIGNED; iDynTree's MIXED) or "mixed" (angular part in the body, linear
            part in the world, as MuJoCo's free joint), see `jounce.twists`.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 6, nv) time derivative of the Jacobian's entries.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, or an unknown
            representation.
        UnknownNameError: an unknown body or frame.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> jc.jacobian_rate(arm, q, v, "tool", "hybrid").shape
        (6, 7)
    """
