"""Twists, poses and Jacobians of bodies and frames with their time derivatives."""

from __future__ import annotations

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model.model import Model

__all__ = [
    "body_motion_series",
    "body_pose_series",
    "jacobian_series",
]


@kernel
def body_motion_series(
    model: Model,
    q: ArrayLike,
    motion: ArrayLike,
    body: str | int,
    twist: str = "body",
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Twist of a body or frame and the time derivatives of its components (jerk, jounce, ...).

    Derivatives of components in one representation are not those in another; `jounce.twists`
    converts whole series. (mueller, Sec. 2; ali, Algorithm 1 for "spatial".)

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        motion: (..., r+2, nv) v and its derivatives up to order r+1.
        body: a body (name or index) or the name of a frame.
        twist: representation of the twist: "body" (Pinocchio's LOCAL), "spatial" (WORLD), "hybrid"
            (LOCAL_WORLD_ALIGNED; iDynTree's MIXED) or "mixed" (angular part in the body, linear
            part in the world, as MuJoCo's free joint), see `jounce.twists`.
        out: (..., r+2, 6) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., r+2, 6): twist, acceleration, jerk, ... as derivatives of components.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, or an unknown
            representation.
        UnknownNameError: an unknown body or frame.

    Identity: row 0 is `body_twist`.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> motion = np.full((4, 7), 0.1)  # v and three derivatives
        >>> jc.body_motion_series(arm, np.zeros(7), motion, "tool", "hybrid").shape
        (4, 6)
    """


@kernel
def body_pose_series(
    model: Model,
    q: ArrayLike,
    motion: ArrayLike,
    body: str | int,
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Pose of a body or frame in the world and its time derivatives (ali, Remark 1).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        motion: (..., r+2, nv) v and its derivatives up to order r+1.
        body: a body (name or index) or the name of a frame.
        out: (..., r+3, 4, 4) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., r+3, 4, 4): the upper left 3x3 blocks are the rotation matrix and its derivatives, the
        last columns the position and its derivatives, m/s^k.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        UnknownNameError: an unknown body or frame.

    Identity: equals `jounce.twists.pose_series` of `body_pose` and `body_motion_series`.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> motion = np.full((2, 7), 0.1)  # v and dv/dt
        >>> jc.body_pose_series(arm, np.zeros(7), motion, "tool").shape
        (3, 4, 4)
    """


@kernel
def jacobian_series(
    model: Model,
    q: ArrayLike,
    motion: ArrayLike,
    body: str | int,
    twist: str = "body",
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Jacobian of a body or frame and its time derivatives along a motion.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        motion: (..., r+2, nv) v and its derivatives up to order r+1.
        body: a body (name or index) or the name of a frame.
        twist: representation of the twist, as in `body_motion_series`.
        out: (..., r+3, 6, nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., r+3, 6, nv): J, dJ/dt, ..., d^(r+2)J/dt^(r+2), as derivatives of components.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, or an unknown
            representation.
        UnknownNameError: an unknown body or frame.

    Identity: row 1 is `jacobian_rate`; J v, differentiated by Leibniz' rule, is
    `body_motion_series`.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> jc.jacobian_series(arm, np.zeros(7), np.ones((2, 7)), "tool").shape
        (3, 6, 7)
    """
