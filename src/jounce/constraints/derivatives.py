"""Exact partial derivatives of constrained dynamics and of impulses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._core.out import Given, deliver_all
from jounce._types import Array, ArrayLike, Mask
from jounce.constraints.constraints import Constraints, constraints_on
from jounce.constraints.dynamics import checked_restitution, rates_wanted
from jounce.derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives
from jounce.dynamics import inverse_mass_matrix
from jounce.model import Model

__all__ = [
    "ConstrainedDynamicsDerivatives",
    "ImpulseDerivatives",
    "RowDerivatives",
    "RowSystem",
    "constrained_dynamics_derivatives",
    "impulse_derivatives",
    "row_derivatives",
    "row_system",
]

_forward: Callable[..., Any] = _core.raw("constrained_forward", "constrained_dynamics_derivatives")
_jump: Callable[..., Any] = _core.raw("constrained_jump", "constrained_dynamics_derivatives")
_row_derivatives: Callable[..., Any] = _core.raw(
    "constraint_row_derivatives", "constrained_dynamics_derivatives"
)


class ConstrainedDynamicsDerivatives(NamedTuple):
    """Derivatives of the accelerations and forces of `constrained_dynamics`."""

    a_dq: Array
    """(..., nv, nv)."""
    a_dv: Array
    """(..., nv, nv)."""
    a_dtau: Array
    """(..., nv, nv), symmetric: the inverse inertia that is left to the constrained robot."""
    force_dq: Array
    """(..., m, nv)."""
    force_dv: Array
    """(..., m, nv)."""
    force_dtau: Array
    """(..., m, nv)."""


class ImpulseDerivatives(NamedTuple):
    """Derivatives of the rates after an impulse, and of the impulse."""

    v_dq: Array
    """(..., nv, nv)."""
    v_dv: Array
    """(..., nv, nv)."""
    impulse_dq: Array
    """(..., m, nv)."""
    impulse_dv: Array
    """(..., m, nv)."""


class RowDerivatives(NamedTuple):
    """Derivatives of what the rows of constraints measure."""

    velocity_dq: Array
    """(..., m, nv) of J v by q; by v it is J."""
    acceleration_dq: Array
    """(..., m, nv) of J a + J' v by q; by a it is J."""
    acceleration_dv: Array
    """(..., m, nv) of J a + J' v by v."""
    transposed_dq: Array
    """(..., nv, nv) of J^T force by q."""


def row_derivatives(
    c: Constraints, q: ArrayLike, v: ArrayLike, a: ArrayLike, force: ArrayLike, threads: int = 1
) -> RowDerivatives:
    """Derivatives of the rows, by dual numbers along the two frames' joints."""
    return RowDerivatives(*_row_derivatives(c.model, q, v, a, force, c.table, threads=threads))


class RowSystem(NamedTuple):
    """The equations M x - J^T y = f, J x = g, ready to be solved for many right-hand sides."""

    J: Array
    inverse_mass: Array
    to_rates: Array
    """(..., nv, m) M^-1 J^T."""
    inverse: Array
    """(..., m, m) pseudoinverse of J M^-1 J^T."""
    beyond: Array
    """(..., m, m) projector on what no force can have, where rows depend on each other."""
    dependent: bool

    def solve(self, f: Array | None, g: Array) -> tuple[Array, Array]:
        """The matrices x and y of the least norm."""
        free = 0.0 if f is None else self.inverse_mass @ f
        y = self.inverse @ (g if f is None else g - self.J @ free)
        return free + self.to_rates @ y, y


def row_system(c: Constraints, q: ArrayLike, rank: Array, threads: int) -> RowSystem:
    """The equations at q, with rows of this rank."""
    J = c.jacobian(q, threads=threads)
    inverse_mass = inverse_mass_matrix(c.model, q, threads=threads)
    to_rates = inverse_mass @ J.swapaxes(-1, -2)
    K = J @ to_rates
    values, vectors = np.linalg.eigh(0.5 * (K + K.swapaxes(-1, -2)))
    kept = _largest(rank, c.size)
    lengths = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    inverse = (vectors * lengths[..., None, :]) @ vectors.swapaxes(-1, -2)
    beyond = (vectors * ~kept[..., None, :]) @ vectors.swapaxes(-1, -2)
    return RowSystem(J, inverse_mass, to_rates, inverse, beyond, not kept.all())


def _largest(rank: ArrayLike, m: int) -> Mask:
    """Which of m numbers in ascending order are the last `rank`."""
    kept: Mask = np.arange(m) >= m - np.asarray(rank)[..., None]
    return kept


def _least_norm_turning(c: Constraints, q: ArrayLike, force: Array, system: RowSystem) -> Array:
    """What the derivative of a least-norm force has outside the range of J.

    With the projector P on that range, force = P force, so (1 - P) dforce = (1 - P) dJ J^+ force.
    """
    u = (np.linalg.pinv(system.J, rcond=1e-9) @ force[..., None])[..., 0]
    turning: Array = system.beyond @ row_derivatives(c, q, u, np.zeros_like(u), force).velocity_dq
    return turning


def constrained_dynamics_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Constraints,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, ...] | None = None,
    threads: int = 1,
) -> ConstrainedDynamicsDerivatives:
    """Derivatives of accelerations and constraint forces with respect to q, v and tau.

    Differentiating ``M a + b = tau + J^T force`` and ``J a + J' v = w'`` gives the same equations
    for the derivatives, with other right-hand sides: the derivatives of inverse dynamics, of
    J^T force and of the rows' accelerations. They hold where the equations do: (q, v) must fulfill
    redundant constraints. Where rows depend on each other, those of the least-norm force have all
    terms of the pseudoinverse's derivative; where their rank is constant only along the manifold
    that the constraints leave, the derivatives by q hold along it, and in directions that leave it
    they are those of the nearest equations. ``constraints.rank(q)`` says the rank.

    Derivatives with respect to wrenches on a body follow by its Jacobian,
    ``a_dtau @ jacobian(model, q, body).T``, those with respect to the accelerations w' of the rows
    are ``force_dtau`` transposed, with a minus sign.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., nv) generalized forces.
        constraints: the constraints.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies, held constant.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (a_dq, a_dv, a_dtau, force_dq, force_dv, force_dtau).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Identity: ``jacobian @ a_dtau == 0``.
    """
    c = constraints_on(model, constraints)
    given = Given(
        "constrained_dynamics_derivatives", model, threads, q=q, v=v, tau=tau, f_ext=f_ext
    )

    def compute(
        q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None
    ) -> ConstrainedDynamicsDerivatives:
        if not c.size:
            d = forward_dynamics_derivatives(model, q, v, tau, f_ext, threads=threads)
            return ConstrainedDynamicsDerivatives(*d, *(x[..., :0, :] for x in d))
        return _derivatives(c, q, v, tau, f_ext, threads)

    sizes = (model.nv,) * 3 + (c.size,) * 3
    return deliver_all(compute, out, tuple((n, model.nv) for n in sizes), given)


def _derivatives(
    c: Constraints,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None,
    threads: int,
) -> ConstrainedDynamicsDerivatives:
    w = c._accelerations  # type: ignore[attr-defined]
    a, force, rank = _forward(c.model, q, v, tau, w, c.table, f_ext, threads=threads)
    needed = inverse_dynamics_derivatives(c.model, q, v, a, f_ext, threads=threads)
    rows = row_derivatives(c, q, v, a, force, threads)
    system = row_system(c, q, rank, threads)
    a_dq, force_dq = system.solve(rows.transposed_dq - needed.dq, -rows.acceleration_dq)
    a_dv, force_dv = system.solve(-needed.dv, -rows.acceleration_dv)
    if system.dependent:
        force_dq = force_dq + _least_norm_turning(c, q, force, system)
    force_dtau = -system.inverse @ system.to_rates.swapaxes(-1, -2)
    a_dtau = system.inverse_mass + system.to_rates @ force_dtau
    lead = a.shape[:-1]
    parts = (a_dq, a_dv, a_dtau, force_dq, force_dv, force_dtau)
    return ConstrainedDynamicsDerivatives(
        *(np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in parts)
    )


def impulse_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    constraints: Constraints,
    restitution: float = 0.0,
    *,
    out: tuple[Array, ...] | None = None,
    threads: int = 1,
) -> ImpulseDerivatives:
    """Derivatives of `impulse` with respect to q and v.

    Of ``M (v+ - v) = J^T impulse`` and ``J v+ - w = -e (J v - w)``, with the same care for rows
    that depend on each other as in `constrained_dynamics_derivatives`.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates before.
        constraints: the constraints.
        restitution: e, the same for all rows.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (v_dq, v_dv, impulse_dq, impulse_dv).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.
    """
    c = constraints_on(model, constraints)
    e = checked_restitution(restitution)
    given = Given("impulse_derivatives", model, threads, q=q, v=v)
    weightless = model.replace(gravity=np.zeros(3))

    def compute(q: ArrayLike, v: ArrayLike) -> ImpulseDerivatives:
        lead = np.broadcast_shapes(np.shape(q)[:-1], np.shape(v)[:-1])
        if not c.size:
            given.check()
            nothing, unit = np.zeros((*lead, model.nv, model.nv)), np.eye(model.nv)
            empty = nothing[..., :0, :]
            return ImpulseDerivatives(nothing, nothing + unit, empty, empty)
        before = c.velocity(q, v, threads=threads)
        jump = -(1.0 + e) * (before - rates_wanted(c))
        dv, push, rank = _jump(model, q, jump, c.table, threads=threads)
        after = (1.0 + e) * np.asarray(v, float) + dv  # v+ + e v, whose rows are held
        still = np.zeros(model.nv)
        needed = inverse_dynamics_derivatives(weightless, q, still, dv, threads=threads)
        rows = row_derivatives(c, q, after, still, push, threads)
        system = row_system(c, q, rank, threads)
        v_dq, push_dq = system.solve(rows.transposed_dq - needed.dq, -rows.velocity_dq)
        v_dv, push_dv = system.solve(None, -(1.0 + e) * system.J)
        if system.dependent:
            push_dq = push_dq + _least_norm_turning(c, q, push, system)
        parts = (v_dq, v_dv + np.eye(model.nv), push_dq, push_dv)
        return ImpulseDerivatives(*(np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in parts))

    sizes = (model.nv,) * 2 + (c.size,) * 2
    return deliver_all(compute, out, tuple((n, model.nv) for n in sizes), given)
