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

from jounce._core import kernel
from jounce.model import Model

__all__ = ["forward_dynamics_series", "hybrid_dynamics_series", "inverse_dynamics_series"]

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
    raise NotImplementedError


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
    raise NotImplementedError


@kernel
def hybrid_dynamics_series(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    acc: ArrayLike,
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
        acc: (..., r+1, nv) dv/dt and its derivatives; read where prescribed, ignored elsewhere.
        tau: (..., r+1, nv) forces and their derivatives; read where not prescribed.
        prescribed: (nv,) bool mask over the rates, the same for the whole batch.
        f_ext: (..., r+1, n_bodies, 6) body-fixed wrenches on the bodies and their derivatives.
        out: pair of (..., r+1, nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (acc, tau), both (..., r+1, nv) and complete.

    Raises:
        ValueError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint that is not prescribed moves no inertia; it is named.

    Identity: all prescribed is the inverse series, none prescribed the forward series.
    """
    raise NotImplementedError
