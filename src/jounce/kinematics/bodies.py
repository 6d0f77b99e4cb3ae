"""Poses, twists and accelerations of bodies and frames.

`body` is a body's name or index, or the name of a frame. `twist` names the representation of
twists, one of "body", "spatial", "hybrid", "mixed", see `jounce.twists` for what they mean and
what other libraries call them.
"""

from __future__ import annotations

from jounce._core import kernel
from jounce._types import Array, ArrayLike, Bodies
from jounce.model.model import Model

__all__ = [
    "bias_acceleration",
    "body_acceleration",
    "body_accelerations",
    "body_pose",
    "body_poses",
    "body_twist",
    "body_twists",
]


@kernel
def body_poses(model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
    """Poses of all bodies in the world, (..., n_bodies, 4, 4).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., n_bodies, 4, 4) poses, which map body coordinates to the world's.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> jc.body_poses(arm, arm.poses["home"]).shape
        (7, 4, 4)
    """


@kernel
def body_twists(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    twist: str = "body",
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Twists of all bodies, (..., n_bodies, 6), in the chosen representation (mueller, eq. 66).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        twist: representation of the twist: "body" (Pinocchio's LOCAL), "spatial" (WORLD), "hybrid"
            (LOCAL_WORLD_ALIGNED; iDynTree's MIXED) or "mixed" (angular part in the body, linear
            part in the world, as MuJoCo's free joint), see `jounce.twists`.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., n_bodies, 6) twists (angular, linear).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, or an unknown
            representation.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> jc.body_twists(arm, q, v).shape
        (7, 6)
    """


@kernel
def body_accelerations(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    twist: str = "body",
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Time derivatives of the components of all bodies' twists, (..., n_bodies, 6).

    Derivatives of components in one representation are not those in another: in "hybrid" the
    linear part is the acceleration of the body's origin, in "body" it is not.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., nv) derivatives of the components of v.
        twist: representation of the twist: "body" (Pinocchio's LOCAL), "spatial" (WORLD), "hybrid"
            (LOCAL_WORLD_ALIGNED; iDynTree's MIXED) or "mixed" (angular part in the body, linear
            part in the world, as MuJoCo's free joint), see `jounce.twists`.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., n_bodies, 6) derivatives of twists (angular, linear).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, or an unknown
            representation.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> jc.body_accelerations(arm, q, v, a).shape
        (7, 6)
    """


@kernel
def body_pose(
    model: Model, q: ArrayLike, body: Bodies, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Pose of a body or frame in the world, (..., 4, 4).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        body: a body (name or index), the name of a frame, or a list of them: then the result has
            an axis of frames after the leading ones.
        out: (..., 4, 4) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 4, 4) pose, which maps coordinates of the body or frame to the world's.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        UnknownNameError: an unknown body or frame.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> jc.body_pose(arm, arm.poses["home"], "tool")[:3, 3].round(3)
        array([0.369, 0.   , 0.533])
        >>> jc.body_pose(arm, np.zeros((5, 7)), ["link4", "tool"]).shape
        (5, 2, 4, 4)
    """


@kernel
def body_twist(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    body: Bodies,
    twist: str = "body",
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Twist (angular, linear) of a body or frame, (..., 6), in the chosen representation.

    Identity: ``body_twist(...) == jacobian(...) @ v`` with the same representation.

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
        (..., 6) twist (angular, linear).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, or an unknown
            representation.
        UnknownNameError: an unknown body or frame.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> bool(np.allclose(jc.body_twist(arm, q, v, "tool"), jc.jacobian(arm, q, "tool") @ v))
        True
    """


@kernel
def body_acceleration(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    body: Bodies,
    twist: str = "body",
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Time derivative of the components of the twist of a body or frame, (..., 6).

    Only the joints between the frame and the root are visited. Gravity plays no part.

    Identity: ``body_acceleration(...) == J a + jacobian_rate(...) v`` in the same representation.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., nv) derivatives of the components of v.
        body: a body (name or index), the name of a frame, or a list of them: then the result has
            an axis of frames after the leading ones.
        twist: representation of the twist, as in `body_twist`. In "hybrid" the linear part is the
            acceleration of the frame's origin, in "body" it is not.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 6) derivative of the twist (angular, linear).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, or an unknown
            representation.
        UnknownNameError: an unknown body or frame.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> jc.body_acceleration(arm, q, v, a, "tool", "hybrid").shape
        (6,)
    """


@kernel
def bias_acceleration(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    body: Bodies,
    twist: str = "body",
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """The part of `body_acceleration` that the rates alone cause, (..., 6): ``dJ/dt v``.

    Operational-space control needs it: ``J a = wanted - bias_acceleration``. The matrix dJ/dt is
    not computed.

    Identity: ``bias_acceleration(...) == jacobian_rate(...) @ v`` in the same representation.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        body: a body (name or index), the name of a frame, or a list of them: then the result has
            an axis of frames after the leading ones.
        twist: representation of the twist, as in `body_acceleration`.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 6) derivative of the twist (angular, linear) at a = 0.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, or an unknown
            representation.
        UnknownNameError: an unknown body or frame.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> J, rest = jc.jacobian(arm, q, "tool"), jc.bias_acceleration(arm, q, v, "tool")
        >>> bool(np.allclose(J @ a + rest, jc.body_acceleration(arm, q, v, a, "tool")))
        True
    """
