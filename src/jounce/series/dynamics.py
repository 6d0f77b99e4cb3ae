"""Inverse, forward and hybrid dynamics with their time derivatives."""

from __future__ import annotations

import functools
from typing import NamedTuple

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model import Model

__all__ = [
    "HybridDynamicsSeries",
    "forward_dynamics_series",
    "hybrid_dynamics_series",
    "inverse_dynamics_series",
]


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
        ArgumentError: a wrong shape (motion needs at least two rows), a number that is not finite,
            or a bad quaternion.

    Identity: `forward_dynamics_series` of the result returns ``motion[..., 1:, :]``.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, motion = np.zeros(7), np.full((3, 7), 0.1)  # v, dv/dt, d2v/dt2
        >>> tau, rate = jc.inverse_dynamics_series(arm, q, motion)
        >>> bool(np.allclose(tau, jc.inverse_dynamics(arm, q, motion[0], motion[1])))
        True
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
    solve (ali, Algorithm 3 and Lemma 2). Motions that are slow for the robot lose digits with every
    order; `forward_dynamics_series_error` says how many are left.

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
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, motion = np.zeros(7), np.full((4, 7), 0.1)
        >>> tau = jc.inverse_dynamics_series(arm, q, motion)
        >>> bool(np.allclose(jc.forward_dynamics_series(arm, q, motion[0], tau), motion[1:]))
        True
    """


class HybridDynamicsSeries(NamedTuple):
    """Accelerations and forces with their time derivatives, both complete.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> series, held = np.ones((3, 2)), [True, False]
        >>> found = jc.hybrid_dynamics_series(arm, q, v, series, series, held)
        >>> found.a.shape, found.tau.shape
        ((3, 2), (3, 2))
    """

    a: Array
    """(..., r+1, nv) dv/dt and its derivatives up to order r."""
    tau: Array
    """(..., r+1, nv) generalized forces and their derivatives up to order r."""


@functools.partial(kernel, result=HybridDynamicsSeries)
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
) -> HybridDynamicsSeries:
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
        Named tuple (a, tau), both (..., r+1, nv) and complete.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint that is not prescribed moves no inertia; it is named.

    Identity: all prescribed is the inverse series, none prescribed the forward series.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, motion = np.zeros(7), np.full((4, 7), 0.1)
        >>> tau = jc.inverse_dynamics_series(arm, q, motion)
        >>> held = np.arange(7) < 3
        >>> found = jc.hybrid_dynamics_series(arm, q, motion[0], motion[1:], tau, held)
        >>> bool(np.allclose(found.tau, tau))
        True
    """
