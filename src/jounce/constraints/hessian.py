"""Second derivatives of constrained dynamics, contracted with weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._core.algebra import product
from jounce._core.arrays import reals
from jounce._core.out import Given, deliver_all
from jounce._types import Array, ArrayLike
from jounce.constraints.constraints import Constraints, constraints_on
from jounce.constraints.derivatives import constrained_dynamics_derivatives, row_derivatives
from jounce.constraints.dynamics import constrained_dynamics, times
from jounce.derivatives import forward_dynamics_hessian, inverse_dynamics_hessian
from jounce.errors import ArgumentError
from jounce.model import Model

__all__ = ["ConstrainedDynamicsHessian", "constrained_dynamics_hessian", "row_hessian"]

_row_hessian: Callable[..., Any] = _core.raw(
    "constraint_hessian", "constrained_dynamics_hessian", inputs="q v a u weights force table"
)


class ConstrainedDynamicsHessian(NamedTuple):
    """Second derivatives of ``weights @ a``, (..., nv, nv) each; all others are zero.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> h = jc.constraints.constrained_dynamics_hessian(dog, q, v, v, c, np.ones(dog.nv))
        >>> bool(np.allclose(h.dqdq, h.dqdq.T)), h.dqdtau.shape
        (True, (18, 18))
    """

    dqdq: Array
    dqdv: Array
    dvdv: Array
    dqdtau: Array


class RowHessian(NamedTuple):
    """Second derivatives of ``weights . (J a + J' v) + force . J u``, (..., nv, nv) each."""

    dqdq: Array
    dqdv: Array
    dvdv: Array


def row_hessian(
    c: Constraints,
    state: tuple[ArrayLike, ArrayLike, ArrayLike],
    u: ArrayLike,
    weights: ArrayLike,
    force: ArrayLike,
    threads: int = 1,
) -> RowHessian:
    """Second derivatives of the rows at (q, v, a), contracted, with a and u held fixed."""
    found = _row_hessian(c.model, *state, u, weights, force, c.table, threads=threads)
    return RowHessian(*found)


def constrained_dynamics_hessian(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Constraints,
    weights: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, ...] | None = None,
    threads: int = 1,
) -> ConstrainedDynamicsHessian:
    """Second derivatives of ``weights @ constrained_dynamics(...).a``.

    The Hessian at 0 of (x, y, z) -> weights @ a(integrate(q, x), v + y, tau + z), symmetric. With
    mu and nu of ``M mu + J^T nu = weights, J mu = 0``, weights @ a changes as

        L = -mu . (inverse dynamics - J^T force - tau) - nu . (J a + J' v)

    does, whose first derivatives by a and force vanish: its second derivatives are those of inverse
    dynamics (`inverse_dynamics_hessian`) and of the rows, with first derivatives of a and force.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., nv) generalized forces.
        constraints: the constraints; the rank of their rows must not change nearby, see
            `Constraints.regular`, and redundant ones must be fulfilled.
        weights: (..., nv) weights of the accelerations.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies, held constant.
        out: four (..., nv, nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dqdq, dqdv, dvdv, dqdtau). The first index of dqdv and dqdtau is that of q.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> h = jc.constrained_dynamics_hessian(dog, q, v, 0 * v, c, np.ones(dog.nv))
        >>> bool(np.allclose(h.dqdq, h.dqdq.T))
        True
    """
    c = constraints_on(model, constraints)
    arrays = {"q": q, "v": v, "tau": tau, "v (weights)": weights, "f_ext": f_ext}
    given = Given("constrained_dynamics_hessian", model, threads, **arrays)

    def compute(
        q: ArrayLike, v: ArrayLike, tau: ArrayLike, weights: ArrayLike, f_ext: ArrayLike | None
    ) -> ConstrainedDynamicsHessian:
        if not c.size:
            h = forward_dynamics_hessian(model, q, v, tau, weights, f_ext, threads=threads)
            return ConstrainedDynamicsHessian(*h)
        along = reals("weights", weights, (model.nv,))
        if not np.all(c.regular(q, threads=threads)):
            raise ArgumentError(
                f"of the {c.size} rows another number is independent near this q than at it: "
                "second derivatives by q do not exist there"
            )
        return _hessian(c, (q, v, tau, f_ext), along, threads)

    return deliver_all(compute, out, ((model.nv, model.nv),) * 4, given)


def _hessian(
    c: Constraints, state: tuple[Any, Any, Any, Any], weights: Array, threads: int
) -> ConstrainedDynamicsHessian:
    model, (q, v, tau, f_ext) = c.model, state
    a, force = constrained_dynamics(model, q, v, tau, c, f_ext, threads=threads)
    d = constrained_dynamics_derivatives(model, q, v, tau, c, f_ext, threads=threads)
    lead = d.a_dtau.shape[:-2]
    try:
        np.broadcast_shapes(lead, weights.shape[:-1])
    except ValueError:
        raise ArgumentError(
            f"leading axes do not broadcast: {lead} of the states, {weights.shape[:-1]} of weights"
        ) from None
    mu, nu = times(d.a_dtau, weights), -times(d.force_dtau, weights)
    h = inverse_dynamics_hessian(model, q, v, a, mu, f_ext, threads=threads)
    zero = np.zeros(model.nv)
    rows = row_hessian(c, (q, v, a), mu, -nu, force, threads)
    along_mu = row_derivatives(c, q, mu, zero, nu, threads)
    by_a = -h.dqda - np.swapaxes(along_mu.transposed_dq, -1, -2)  # [q, a] of L
    by_force = np.swapaxes(along_mu.velocity_dq, -1, -2)
    mixed = product(by_a, d.a_dq) + product(by_force, d.force_dq)
    return ConstrainedDynamicsHessian(
        rows.dqdq - h.dqdq + mixed + np.swapaxes(mixed, -1, -2),
        rows.dqdv - h.dqdv + product(by_a, d.a_dv) + product(by_force, d.force_dv),
        rows.dvdv - h.dvdv,
        product(by_a, d.a_dtau) + product(by_force, d.force_dtau),
    )
