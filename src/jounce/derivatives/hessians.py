"""Exact second derivatives of the dynamics, contracted with weights or all of them.

Derivatives with respect to q are taken in the tangent space: q is moved by
``integrate(model, q, eps)``, left-trivialized for spherical and free joints.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model import Model

__all__ = [
    "ForwardDynamicsHessian",
    "InverseDynamicsHessian",
    "InverseDynamicsSecondDerivatives",
    "forward_dynamics_hessian",
    "inverse_dynamics_hessian",
    "inverse_dynamics_second_derivatives",
]


class InverseDynamicsHessian(NamedTuple):
    """Second derivatives of ``weights @ tau``, (..., nv, nv) each; all others are zero.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> h = jc.inverse_dynamics_hessian(arm, q, v, a, weights=[1, 0])
        >>> h.dqdq.shape, bool(np.allclose(h.dqdq, h.dqdq.T))
        ((2, 2), True)
    """

    dqdq: Array
    dqdv: Array
    dvdv: Array
    dqda: Array


class ForwardDynamicsHessian(NamedTuple):
    """Second derivatives of ``weights @ a``, (..., nv, nv) each; all others are zero.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> h = jc.forward_dynamics_hessian(arm, q, v, a, weights=[1, 0])
        >>> h.dqdq.shape, bool(np.allclose(h.dqdq, h.dqdq.T))
        ((2, 2), True)
    """

    dqdq: Array
    dqdv: Array
    dvdv: Array
    dqdtau: Array


class InverseDynamicsSecondDerivatives(NamedTuple):
    """Second derivatives of tau, (..., nv, nv, nv) each; all others are zero.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> d = jc.inverse_dynamics_second_derivatives(arm, q, v, a)
        >>> h = jc.inverse_dynamics_hessian(arm, q, v, a, weights=[1, 0])
        >>> bool(np.allclose(d.dqdq[0], h.dqdq))
        True
    """

    dqdq: Array
    dqdv: Array
    dvdv: Array
    dqda: Array


@functools.partial(kernel, result=InverseDynamicsHessian)
def inverse_dynamics_hessian(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    weights: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, Array, Array, Array] | None = None,
    threads: int = 1,
) -> InverseDynamicsHessian:
    """Second derivatives of ``weights @ inverse_dynamics(...)``, what Newton's method needs.

    The Hessian at 0 of (x, y, z) -> weights @ tau(integrate(q, x), v + y, a + z), symmetric. In
    reverse order, as Nganga and Wensing 2021: the weights are virtual rates, whose virtual power is
    a sum over the bodies, so that its gradient takes O(n) and its Hessian O(n depth) operations,
    about as many as first derivatives; with multi-DoF joints anywhere.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., nv) derivatives of the components of v.
        weights: (..., nv) weights of the forces.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies, held constant.
        out: four (..., nv, nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dqdq, dqdv, dvdv, dqda). The first index of dqdv and dqda is that of q. The
        forces are linear in a with the mass matrix, which does not depend on v: the rest is zero.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: ``dqda`` is ``weights @ mass_matrix_derivatives(model, q)``, transposed.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> h = jc.inverse_dynamics_hessian(arm, q, v, a, np.ones(7))
        >>> bool(np.allclose(h.dqdq, h.dqdq.T))
        True
    """


@functools.partial(kernel, result=ForwardDynamicsHessian)
def forward_dynamics_hessian(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    weights: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, Array, Array, Array] | None = None,
    threads: int = 1,
) -> ForwardDynamicsHessian:
    """Second derivatives of ``weights @ forward_dynamics(...)``, what Newton's method needs.

    With mu = M^-1 weights, the Hessian of mu @ tau of inverse dynamics at the accelerations of
    forward dynamics, and da/dx of `forward_dynamics_derivatives`,

        weights . a_xy = -mu . (tau_xy + tau_xa a_y + (tau_ya a_x)^T).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., nv) generalized forces.
        weights: (..., nv) weights of the accelerations.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies, held constant.
        out: four (..., nv, nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dqdq, dqdv, dvdv, dqdtau). The first index of dqdv and dqdtau is that of q.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Identity: ``dqdtau`` is ``weights @ inverse_mass_matrix_derivatives(model, q)``, transposed.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, tau = np.full((3, 7), 0.1)
        >>> h = jc.forward_dynamics_hessian(arm, q, v, tau, np.ones(7))
        >>> bool(np.allclose(h.dqdq, h.dqdq.T))
        True
    """


@functools.partial(kernel, result=InverseDynamicsSecondDerivatives)
def inverse_dynamics_second_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, Array, Array, Array] | None = None,
    threads: int = 1,
) -> InverseDynamicsSecondDerivatives:
    """All second derivatives of `inverse_dynamics` with respect to q, v and a, as nested tensors.

    Entry [i, j, k] of dqdq is what differentiating ``inverse_dynamics_derivatives(...).dq`` again
    gives: with X_j f the derivative of f(integrate(q, s e_j)) by s at 0, it is X_k (X_j tau_i). The
    rates of a spherical or free joint do not commute, so that there

        X_k X_j f - X_j X_k f = derivative of f along the bracket [e_k, e_j],

    and dqdq is not symmetric in j and k. The closed form of Singh, Russell and Wensing 2022, with
    multi-DoF joints anywhere. A solver that needs second derivatives of a sum with weights is
    better served by `inverse_dynamics_hessian`: here nv^3 numbers are written four times.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., nv) derivatives of the components of v.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies, held constant.
        out: four (..., nv, nv, nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dqdq, dqdv, dvdv, dqda): the first index is that of tau, the second of dqdv and
        dqda is that of q.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: ``dqda`` is ``mass_matrix_derivatives(model, q)`` with the last two axes exchanged;
    the symmetric part of ``weights @ dqdq`` is that of `inverse_dynamics_hessian`.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> jc.inverse_dynamics_second_derivatives(arm, q, v, a).dqdq.shape
        (7, 7, 7)
    """
