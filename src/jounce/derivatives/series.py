"""Exact partial derivatives of the time derivatives of the dynamics.

Derivatives with respect to q are taken in the tangent space, as in `jounce.derivatives`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model import Model

__all__ = [
    "ForwardDynamicsSeriesDerivatives",
    "HybridDynamicsSeriesDerivatives",
    "InverseDynamicsSeriesDerivatives",
    "forward_dynamics_series_derivatives",
    "hybrid_dynamics_series_derivatives",
    "inverse_dynamics_series_derivatives",
]


class InverseDynamicsSeriesDerivatives(NamedTuple):
    """Derivatives of `jounce.inverse_dynamics_series`.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> d = jc.inverse_dynamics_series_derivatives(arm, q, np.ones((4, 2)))
        >>> d.dq.shape, d.dmotion.shape
        ((3, 2, 2), (3, 2, 4, 2))
    """

    dq: Array
    """(..., r+1, nv, nv): [k, i, j] is the derivative of the order k of tau[i] along rate j."""
    dmotion: Array
    """(..., r+1, nv, r+2, nv): [k, i, l, j] is that by the derivative l of v[j]."""


class ForwardDynamicsSeriesDerivatives(NamedTuple):
    """Derivatives of `jounce.forward_dynamics_series`.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> d = jc.forward_dynamics_series_derivatives(arm, q, v, np.ones((3, 2)))
        >>> d.dq.shape, d.dtau.shape
        ((3, 2, 2), (3, 2, 3, 2))
    """

    dq: Array
    """(..., r+1, nv, nv): [k, i, j] is the derivative of the order k of a[i] along rate j."""
    dv: Array
    """(..., r+1, nv, nv)."""
    dtau: Array
    """(..., r+1, nv, r+1, nv): [k, i, l, j] is that by the derivative l of tau[j]."""


class HybridDynamicsSeriesDerivatives(NamedTuple):
    """Derivatives of both results of `jounce.hybrid_dynamics_series`.

    Those by q and v are (..., r+1, nv, nv), those by a and tau (..., r+1, nv, r+1, nv). A given
    entry of a or tau is its own derivative. Columns of entries that are not inputs are zero.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> series, held = np.ones((3, 2)), [True, False]
        >>> d = jc.hybrid_dynamics_series_derivatives(arm, q, v, series, series, held)
        >>> d._fields[:3]
        ('a_dq', 'a_dv', 'a_da')
    """

    a_dq: Array
    a_dv: Array
    a_da: Array
    a_dtau: Array
    tau_dq: Array
    tau_dv: Array
    tau_da: Array
    tau_dtau: Array


@functools.partial(kernel, result=InverseDynamicsSeriesDerivatives)
def inverse_dynamics_series_derivatives(
    model: Model,
    q: ArrayLike,
    motion: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> InverseDynamicsSeriesDerivatives:
    """Derivatives of `inverse_dynamics_series` with respect to q and the derivatives of v.

    With K_k those of order k by q, P_kl those by v^(l), and D the time derivative along the motion,

        K_(k+1) = D K_k - K_k ad_v,  P_(k+1,0) = D P_k0 + K_k,  P_(k+1,l) = D P_kl + P_(k,l-1),

    from K_0, P_00 and P_01 = M of `inverse_dynamics_derivatives`, whose time series are computed;
    ad_v acts within spherical and free joints, where moving q and passing of time do not commute.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        motion: (..., r+2, nv) v and its derivatives up to order r+1.
        f_ext: (..., r+1, n_bodies, 6) body-fixed wrenches on the bodies and the derivatives of
            their components, held constant.
        out: (..., r+1, nv, nv) and (..., r+1, nv, r+2, nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dq, dmotion); ``dmotion[..., k, :, l, :]`` is zero for l > k + 1.

    Raises:
        ArgumentError: a wrong shape (motion needs at least two rows), a number that is not finite,
            or a bad quaternion.

    Identity: order 0 is `inverse_dynamics_derivatives`; ``dmotion[..., k, :, k + 1, :]`` is the
    mass matrix for every k.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> d = jc.inverse_dynamics_series_derivatives(arm, np.zeros(7), np.ones((3, 7)))
        >>> d.dq.shape, d.dmotion.shape
        ((2, 7, 7), (2, 7, 3, 7))
    """


@functools.partial(kernel, result=ForwardDynamicsSeriesDerivatives)
def forward_dynamics_series_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, Array, Array] | None = None,
    threads: int = 1,
) -> ForwardDynamicsSeriesDerivatives:
    """Derivatives of `forward_dynamics_series` with respect to q, v and the derivatives of tau.

    Order by order, with K and P of `inverse_dynamics_series_derivatives` along the motion that the
    forces cause, and one inverse of M for all orders (a_k is v^(k+1)),

        M da_k = dtau_k - K_k dq - P_k0 dv - sum_(l=1)^k P_kl da_(l-1).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., r+1, nv) generalized forces and their derivatives up to order r.
        f_ext: (..., r+1, n_bodies, 6) body-fixed wrenches on the bodies and their derivatives, held
            constant.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dq, dv, dtau); ``dtau[..., k, :, l, :]`` is zero for l > k.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Identity: order 0 is `forward_dynamics_derivatives`; ``dtau[..., k, :, k, :]`` is the inverse of
    the mass matrix for every k.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, tau = np.zeros(7), np.zeros(7), np.ones((2, 7))
        >>> d = jc.forward_dynamics_series_derivatives(arm, q, v, tau)
        >>> d.dq.shape, d.dtau.shape
        ((2, 7, 7), (2, 7, 2, 7))
    """


@functools.partial(kernel, result=HybridDynamicsSeriesDerivatives)
def hybrid_dynamics_series_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    tau: ArrayLike,
    prescribed: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, ...] | None = None,
    threads: int = 1,
) -> HybridDynamicsSeriesDerivatives:
    """Derivatives of `hybrid_dynamics_series` by q, v and the inputs among a and tau.

    As in `forward_dynamics_series_derivatives`, for the rates that are not prescribed; the forces
    of the others follow from their rows of the same equation.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., r+1, nv) dv/dt and its derivatives; read where prescribed, ignored elsewhere.
        tau: (..., r+1, nv) forces and their derivatives; read where not prescribed.
        prescribed: (nv,) bool mask over the rates, the same for the whole batch.
        f_ext: (..., r+1, n_bodies, 6) body-fixed wrenches on the bodies and their derivatives, held
            constant.
        out: eight arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (a_dq, a_dv, a_da, a_dtau, tau_dq, tau_dv, tau_da, tau_dtau).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint that is not prescribed moves no inertia; it is named.

    Identity: none prescribed gives `forward_dynamics_series_derivatives` in the fields of a.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, rows = np.zeros(7), np.zeros(7), np.ones((2, 7))
        >>> d = jc.hybrid_dynamics_series_derivatives(arm, q, v, rows, rows, np.arange(7) < 3)
        >>> d.a_dq.shape
        (2, 7, 7)
    """
