"""Time derivatives of the dynamics, of any order, as series.

A series stacks a quantity and its time derivatives along an axis: ``motion`` of order r is
(..., r+2, nv) = v, dv/dt, ..., d^(r+1)v/dt^(r+1); forces of order r are (..., r+1, nv) = tau,
dtau/dt, ..., d^r tau/dt^r. Derivatives are those of the components. Orders from 0 to 100.

Method: truncated Taylor series in body frames, where a body's inertia is constant and every
other step is a product of series; the cost grows with the square of the order and linearly with
the number of bodies. Paper: ali, Algorithms 1 to 4 (there with spatial twists).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jounce import _core
from jounce._core import kernel
from jounce.model import Model, locate
from jounce.twists import representation_index

__all__ = [
    "body_motion_series",
    "body_pose_series",
    "forward_dynamics_series",
    "hybrid_dynamics_series",
    "inverse_dynamics_series",
    "jacobian_series",
]

Array = npt.NDArray[np.float64]
ArrayLike = npt.ArrayLike


@kernel
def inverse_dynamics_series(
    model: Model,
    q: ArrayLike,
    motion: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Generalized forces and their time derivatives along a motion.

    ali, Algorithms 1 and 2; order 0 is `inverse_dynamics`.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        motion: (..., r+2, nv) v and its derivatives up to order r+1.
        f_ext: (..., r+1, n_bodies, 6) body-fixed wrenches on the bodies and the derivatives of
            their components.
        out: (..., r+1, nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., r+1, nv) tau and its derivatives up to order r.

    Raises:
        ValueError: a wrong shape (motion needs at least two rows), a number that is not finite,
            or a bad quaternion.

    Identity: `forward_dynamics_series` of the result returns ``motion[..., 1:, :]``.
    """


@kernel
def forward_dynamics_series(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Accelerations and their time derivatives from forces and theirs.

    The articulated inertia is factored once; then each order takes one bias pass and one O(n)
    solve (ali, Algorithm 3 and Lemma 2).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., r+1, nv) generalized forces and their derivatives up to order r.
        f_ext: (..., r+1, n_bodies, 6) body-fixed wrenches on the bodies and their derivatives.
        out: (..., r+1, nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., r+1, nv): dv/dt, ..., d^(r+1)v/dt^(r+1).

    Raises:
        ValueError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.
    """


@kernel
def hybrid_dynamics_series(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    tau: ArrayLike,
    prescribed: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> tuple[Array, Array]:
    """Accelerations of some rates and forces of the others, with their time derivatives.

    ali, Algorithm 4, for any mask: the base's motion or its wrench may be given, and a mask may
    cut through a multi-DoF joint.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., r+1, nv) dv/dt and its derivatives; read where prescribed, ignored elsewhere.
        tau: (..., r+1, nv) forces and their derivatives; read where not prescribed.
        prescribed: (nv,) bool mask over the rates, the same for the whole batch.
        f_ext: (..., r+1, n_bodies, 6) body-fixed wrenches on the bodies and their derivatives.
        out: pair of (..., r+1, nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (a, tau), both (..., r+1, nv) and complete.

    Raises:
        ValueError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint that is not prescribed moves no inertia; it is named.

    Identity: all prescribed is the inverse series, none prescribed the forward series.
    """


_body_motion_series = _core.raw("body_motion_series")
_body_pose_series = _core.raw("body_pose_series")
_jacobian_series = _core.raw("jacobian_series")


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
        ValueError: a wrong shape, a number that is not finite, a bad quaternion, or an unknown
            representation.
        KeyError: an unknown body or frame.

    Identity: row 0 is `body_twist`.
    """
    series: Array = _body_motion_series(
        model,
        q,
        motion,
        locate(model, body),
        representation_index(twist),
        out=out,
        threads=threads,
    )
    return series


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
        ValueError: a wrong shape, a number that is not finite, or a bad quaternion.
        KeyError: an unknown body or frame.

    Identity: equals `jounce.twists.pose_series` of `body_pose` and `body_motion_series`.
    """
    frame = locate(model, body)
    series: Array = _body_pose_series(model, q, motion, frame, out=out, threads=threads)
    return series


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
        ValueError: a wrong shape, a number that is not finite, a bad quaternion, or an unknown
            representation.
        KeyError: an unknown body or frame.

    Identity: row 1 is `jacobian_rate`; J v, differentiated by Leibniz' rule, is
    `body_motion_series`.
    """
    series: Array = _jacobian_series(
        model,
        q,
        motion,
        locate(model, body),
        representation_index(twist),
        out=out,
        threads=threads,
    )
    return series
