"""Exact first derivatives of the dynamics.

Derivatives with respect to q are taken in the tangent space: q is moved by
``integrate(model, q, eps)``, left-trivialized for spherical and free joints, so that all
matrices are (nv, nv) and nothing is singular anywhere.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model import Model

__all__ = [
    "ForwardDynamicsDerivatives",
    "InverseDynamicsDerivatives",
    "forward_dynamics_derivatives",
    "inverse_dynamics_derivatives",
]


class InverseDynamicsDerivatives(NamedTuple):
    """Derivatives of tau, (..., nv, nv) each; ``da`` is the mass matrix.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> d = jc.inverse_dynamics_derivatives(arm, q, v, a)
        >>> bool(np.allclose(d.da, jc.mass_matrix(arm, q)))
        True
    """

    dq: Array
    dv: Array
    da: Array


class ForwardDynamicsDerivatives(NamedTuple):
    """Derivatives of a, (..., nv, nv) each; ``dtau`` is the inverse of the mass matrix.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> d = jc.forward_dynamics_derivatives(arm, q, v, a)
        >>> bool(np.allclose(d.dtau, jc.inverse_mass_matrix(arm, q)))
        True
    """

    dq: Array
    dv: Array
    dtau: Array


@functools.partial(kernel, result=InverseDynamicsDerivatives)
def inverse_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, Array, Array] | None = None,
    threads: int = 1,
) -> InverseDynamicsDerivatives:
    """Derivatives of `inverse_dynamics` with respect to q, v and a.

    singh, Algorithm 1, with multi-DoF joints anywhere; O(n depth), nothing is computed for bodies
    on different branches, whose entries are zero. External wrenches are fixed to their bodies.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., nv) derivatives of the components of v.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies, held constant.
        out: three (..., nv, nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dq, dv, da): entry [i, j] is the derivative of tau[i] along rate j.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: ``da == mass_matrix(model, q)``.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> d = jc.inverse_dynamics_derivatives(arm, q, v, a)
        >>> bool(np.allclose(d.da, jc.mass_matrix(arm, q)))
        True
    """


@functools.partial(kernel, result=ForwardDynamicsDerivatives)
def forward_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, Array, Array] | None = None,
    threads: int = 1,
) -> ForwardDynamicsDerivatives:
    """Derivatives of `forward_dynamics` with respect to q, v and tau.

    ``da/dx = -M^-1 dtau/dx`` at the accelerations of forward dynamics (singh, eq. 5), through
    the inverse mass matrix or by solving with the articulated factors, whichever is faster for
    the size of the robot.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., nv) generalized forces.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies, held constant.
        out: three (..., nv, nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dq, dv, dtau).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Identity: ``dtau == inverse_mass_matrix(model, q)``.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, tau = np.full((3, 7), 0.1)
        >>> d = jc.forward_dynamics_derivatives(arm, q, v, tau)
        >>> bool(np.allclose(d.dtau, jc.inverse_mass_matrix(arm, q)))
        True
    """
