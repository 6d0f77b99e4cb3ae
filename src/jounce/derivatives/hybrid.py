"""Exact first derivatives of hybrid dynamics.

Derivatives with respect to q are taken in the tangent space, as in `jounce.derivatives`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model import Model

__all__ = ["HybridDynamicsDerivatives", "hybrid_dynamics_derivatives"]


class HybridDynamicsDerivatives(NamedTuple):
    """Derivatives of both results of `jounce.hybrid_dynamics`, (..., nv, nv) each.

    ``a_dq[..., i, j]`` is the derivative of a[i] along rate j. A given entry of a or tau is its own
    derivative: its row is that of the identity or zero. Columns of entries that are not inputs are
    zero.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> d = jc.hybrid_dynamics_derivatives(arm, q, v, a, a, prescribed=[True, False])
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


@functools.partial(kernel, result=HybridDynamicsDerivatives)
def hybrid_dynamics_derivatives(
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
) -> HybridDynamicsDerivatives:
    """Derivatives of `hybrid_dynamics` with respect to q, v and the inputs among a and tau.

    With p the prescribed rates, f the others, M the mass matrix, and D the derivative of inverse
    dynamics with respect to x = q or v at the solution,

        da_f/dx    = -M_ff^-1 D_f,        dtau_p/dx    = D_p + M_pf da_f/dx,
        da_f/da_p  = -M_ff^-1 M_fp,       dtau_p/da_p  = M_pp + M_pf da_f/da_p,
        da_f/dtau_f = M_ff^-1,            dtau_p/dtau_f = M_pf M_ff^-1:

    in closed form what kim, Table 7, computes for one parameter at a time.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., nv) accelerations; read where prescribed, ignored elsewhere (even if nan).
        tau: (..., nv) forces; read where not prescribed, ignored elsewhere.
        prescribed: (nv,) bool mask over the rates, the same for the whole batch.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies, held constant.
        out: eight (..., nv, nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (a_dq, a_dv, a_da, a_dtau, tau_dq, tau_dv, tau_da, tau_dtau).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint that is not prescribed moves no inertia; it is named.

    Identity: all prescribed gives `inverse_dynamics_derivatives` in the fields of tau, none gives
    `forward_dynamics_derivatives` in those of a.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> held = np.arange(7) < 3
        >>> d = jc.hybrid_dynamics_derivatives(arm, q, v, a, a, held)
        >>> d.a_dq.shape, d.tau_dtau.shape
        ((7, 7), (7, 7))
    """
