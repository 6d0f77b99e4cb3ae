"""Exact partial derivatives of the time derivatives of the dynamics.

Derivatives with respect to q are taken in the tangent space, as in `jounce.derivatives`.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from jounce._core import kernel
from jounce._core.out import Given, Shape, deliver_all
from jounce._types import Array, ArrayLike
from jounce.dynamics import inverse_mass_matrix
from jounce.model import Model
from jounce.model.model import require_model
from jounce.series import forward_dynamics_series, hybrid_dynamics_series

__all__ = [
    "ForwardDynamicsSeriesDerivatives",
    "HybridDynamicsSeriesDerivatives",
    "InverseDynamicsSeriesDerivatives",
    "forward_dynamics_series_derivatives",
    "hybrid_dynamics_series_derivatives",
    "inverse_dynamics_series_derivatives",
]


class InverseDynamicsSeriesDerivatives(NamedTuple):
    """Derivatives of `jounce.inverse_dynamics_series`."""

    dq: Array
    """(..., r+1, nv, nv): [k, i, j] is the derivative of the order k of tau[i] along rate j."""
    dmotion: Array
    """(..., r+1, nv, r+2, nv): [k, i, l, j] is that by the derivative l of v[j]."""


class ForwardDynamicsSeriesDerivatives(NamedTuple):
    """Derivatives of `jounce.forward_dynamics_series`."""

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
    """


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
    """
    require_model(model)

    def compute(
        q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None
    ) -> ForwardDynamicsSeriesDerivatives:
        a = forward_dynamics_series(model, q, v, tau, f_ext, threads=threads)
        d = _along(model, q, v, a, f_ext, threads)
        N = inverse_mass_matrix(model, q, threads=threads)
        by, _ = _order_by_order(d, N, np.zeros(model.nv, bool))
        return ForwardDynamicsSeriesDerivatives(*_by_inputs(by, model.nv))

    given = _Given(
        "forward_dynamics_series_derivatives", model, threads, q=q, v=v, tau=tau, f_ext=f_ext
    )
    square, levels = given.shapes()
    return deliver_all(compute, out, (square, square, levels), given)


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
    """
    require_model(model)

    def compute(
        q: ArrayLike, v: ArrayLike, a: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None
    ) -> HybridDynamicsSeriesDerivatives:
        found = hybrid_dynamics_series(model, q, v, a, tau, prescribed, f_ext, threads=threads)
        mask = np.asarray(prescribed, bool)
        d = _along(model, q, v, found.a, f_ext, threads)
        rows, columns = np.ix_(~mask, ~mask)
        N = np.zeros((*d.dq.shape[:-3], model.nv, model.nv))
        N[..., rows, columns] = np.linalg.inv(d.dmotion[..., 0, :, 1, :][..., rows, columns])
        fields: list[Array] = []
        for by in _order_by_order(d, N, mask):
            by_q, by_v, by_input = _by_inputs(by, model.nv)
            fields += [by_q, by_v, by_input * mask, by_input * ~mask]
        return HybridDynamicsSeriesDerivatives(*fields)

    given = _Given(
        "hybrid_dynamics_series_derivatives", model, threads, q=q, v=v, a=a, tau=tau, f_ext=f_ext
    )
    square, levels = given.shapes()
    return deliver_all(compute, out, (square, square, levels, levels) * 2, given)


class _Given(Given):
    """Arguments of which all but q and v are series."""

    def own_axes(self, name: str) -> Shape:
        own = super().own_axes(name)
        return own if name in ("q", "v") else (self._rows(), *own)

    def _rows(self) -> int:
        shape = np.asarray(self.arrays["tau"]).shape
        return int(shape[-2]) if len(shape) > 1 else 1

    def shapes(self) -> tuple[Shape, Shape]:
        """Own axes of derivatives by a vector, and by a series."""
        try:
            n, rows = self.model.nv, self._rows()
        except (AttributeError, ValueError):  # what is wrong, the series will say
            n = rows = 0
        return (rows, n, n), (rows, n, rows, n)

    def check(self) -> None:
        """Refuse bad states; the compiled series check the rest."""
        state = {name: self.arrays[name] for name in ("q", "v")}
        Given(self.function, self.model, self.threads, **state).check()


def _along(
    model: Model, q: ArrayLike, v: ArrayLike, a: Array, f_ext: ArrayLike | None, threads: int
) -> InverseDynamicsSeriesDerivatives:
    """Derivatives of the inverse series along the motion with the derivatives a of the rates v."""
    rates = np.broadcast_to(np.asarray(v, float)[..., None, :], (*a.shape[:-2], 1, model.nv))
    motion = np.concatenate([rates, a], axis=-2)
    return inverse_dynamics_series_derivatives(model, q, motion, f_ext, threads=threads)


def _order_by_order(
    d: InverseDynamicsSeriesDerivatives, N: Array, prescribed: Any
) -> tuple[Array, Array]:
    """Derivatives of all orders of a and tau by (q, v, orders of the inputs).

    Args:
        d: derivatives of the inverse series.
        N: inverse of the mass matrix of the rates that are not prescribed, zero elsewhere.
        prescribed: mask of the rates whose accelerations are inputs; forces are the others'.

    Returns:
        Two arrays (..., r+1, nv, (r+3) nv).
    """
    K, P = d
    rows, n = K.shape[-3], K.shape[-1]
    M = P[..., 0, :, 1, :]
    a = np.zeros((*K.shape[:-3], rows, n, (rows + 2) * n))
    tau = np.zeros_like(a)
    for k in range(rows):
        known = tau[..., k, :, :]
        known[..., :n] = K[..., k, :, :]
        known[..., n : 2 * n] = P[..., k, :, 0, :]
        for level in range(1, k + 1):
            known += P[..., k, :, level, :] @ a[..., level - 1, :, :]
        own = np.arange((k + 2) * n, (k + 3) * n)
        known[..., own] += M * prescribed
        given = -known
        given[..., np.arange(n), own] += 1.0  # of forces: N drops the rows of the others
        a[..., k, :, :] = N @ given
        known += M @ a[..., k, :, :]
        known[..., ~prescribed, :] = 0.0  # given, to the last bit
        at = np.flatnonzero(~prescribed)
        known[..., at, own[at]] = 1.0
        at = np.flatnonzero(prescribed)
        a[..., k, at, own[at]] = 1.0
    return a, tau


def _by_inputs(by: Array, n: int) -> tuple[Array, Array, Array]:
    """Parts by q, by v and by the orders of the inputs."""
    rows = by.shape[-3]
    parts = by[..., :n], by[..., n : 2 * n], by[..., 2 * n :].reshape(*by.shape[:-1], rows, n)
    return tuple(map(np.ascontiguousarray, parts))  # type: ignore[return-value]
