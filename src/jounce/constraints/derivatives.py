"""Exact partial derivatives of constrained dynamics and of impulses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._core import algebra
from jounce._core.out import Given, deliver_all
from jounce._types import Array, ArrayLike, Integers, Mask
from jounce.constraints.checks import defined, rates_wanted
from jounce.constraints.constraints import Constraints, constraints_on
from jounce.constraints.dynamics import checked_restitution, without_rounding
from jounce.constraints.results import deliver_ranked, rank_of, ranked, with_rank, with_room
from jounce.derivatives import forward_dynamics_derivatives
from jounce.dynamics import inverse_mass_matrix, mass_matrix
from jounce.kinematics import jacobian
from jounce.model import Model

__all__ = [
    "ConstrainedDynamicsDerivatives",
    "ConstrainedDynamicsInputDerivatives",
    "ImpulseDerivatives",
    "RowDerivatives",
    "RowSystem",
    "constrained_dynamics_derivatives",
    "constrained_dynamics_input_derivatives",
    "impulse_derivatives",
    "row_derivatives",
    "row_system",
]

_forward: Callable[..., Any] = _core.raw(
    "constrained_forward_derivatives",
    "constrained_dynamics_derivatives",
    inputs="q v tau accelerations most table f_ext",
)
_jump: Callable[..., Any] = _core.raw(
    "constrained_jump_derivatives", "impulse_derivatives", inputs="q v jump restitution most table"
)
_row_derivatives: Callable[..., Any] = _core.raw(
    "constraint_row_derivatives", "constrained_dynamics_derivatives", inputs="q v a force table"
)


@ranked
class ConstrainedDynamicsDerivatives(NamedTuple):
    """Derivatives of the accelerations and forces of `constrained_dynamics`.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> d = jc.constrained_dynamics_derivatives(dog, q, v, v, c)
        >>> bool(np.allclose(c.jacobian(q) @ d.a_dtau, 0, atol=1e-9))  # no torque moves the feet
        True
    """

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

    @property
    def rank(self) -> Integers:
        """(...) how many of the rows are independent; it is no item of the tuple."""
        return rank_of(self)


class ConstrainedDynamicsInputDerivatives(NamedTuple):
    """Derivatives of `constrained_dynamics` by what acts on the robot besides tau.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> jc.constrained_dynamics_input_derivatives(dog, q, c).a_df_ext.shape
        (18, 13, 6)
    """

    a_df_ext: Array
    """(..., nv, n_bodies, 6) by body-fixed wrenches."""
    a_dw: Array
    """(..., nv, m) by the accelerations w' that the rows shall have."""
    force_df_ext: Array
    """(..., m, n_bodies, 6)."""
    force_dw: Array
    """(..., m, m), symmetric: the inertia that the rows feel, the pseudoinverse of J M^-1 J^T."""


@ranked
class ImpulseDerivatives(NamedTuple):
    """Derivatives of the rates after an impulse, and of the impulse.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> d = jc.impulse_derivatives(dog, q, v, c)
        >>> bool(np.allclose(d.v_dv @ d.v_dv, d.v_dv, atol=1e-9))  # a projection
        True
    """

    v_dq: Array
    """(..., nv, nv)."""
    v_dv: Array
    """(..., nv, nv)."""
    impulse_dq: Array
    """(..., m, nv)."""
    impulse_dv: Array
    """(..., m, nv)."""

    @property
    def rank(self) -> Integers:
        """(...) how many of the rows are independent; it is no item of the tuple."""
        return rank_of(self)


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

    @classmethod
    def of(cls, J: Array, inverse_mass: Array, rank: Array) -> RowSystem:
        """The equations of rows of this rank, (...)."""
        to_rates = algebra.product(inverse_mass, J.swapaxes(-1, -2))
        K = algebra.product(J, to_rates)
        values, vectors = algebra.eigh(0.5 * (K + K.swapaxes(-1, -2)))
        kept = _largest(rank, J.shape[-2])
        lengths = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
        back = vectors.swapaxes(-1, -2)
        inverse = algebra.product(vectors * lengths[..., None, :], back)
        beyond = algebra.product(vectors * ~kept[..., None, :], back)
        return cls(J, inverse_mass, to_rates, inverse, beyond)

    def solve(self, f: Array | None, g: Array) -> tuple[Array, Array]:
        """The matrices x and y of the least norm."""
        free = 0.0 if f is None else algebra.product(self.inverse_mass, f)
        y = algebra.product(self.inverse, g if f is None else g - algebra.product(self.J, free))
        return free + algebra.product(self.to_rates, y), y


def row_system(c: Constraints, q: ArrayLike, rank: Array, threads: int) -> RowSystem:
    """The equations at q, with rows of this rank."""
    J = without_rounding(c.jacobian(q, threads=threads), rank)
    return RowSystem.of(J, inverse_mass_matrix(c.model, q, threads=threads), rank)


def _largest(rank: ArrayLike, m: int) -> Mask:
    """Which of m numbers in ascending order are the last `rank`."""
    kept: Mask = np.arange(m) >= m - np.asarray(rank)[..., None]
    return kept


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
    J^T force and of the rows' accelerations. Where rows depend on each other, they have all terms
    of the pseudoinverse's derivative: those of the least-norm force, and of what is left of the
    least squares if the rows contradict each other. Where their rank is constant only along the
    manifold that the constraints leave (``constraints.regular(q)`` is False), derivatives by q
    exist along it alone: those of the state projected on it, as `project` does, are returned.
    The result's attribute ``rank`` says the rank.

    Derivatives with respect to wrenches on bodies and to the accelerations w' that the rows shall
    have are those of `constrained_dynamics_input_derivatives`.

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
        Named tuple (a_dq, a_dv, a_dtau, force_dq, force_dv, force_dtau), with the attribute
        ``rank``.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Identity: ``jacobian @ a_dtau == 0``.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> d = jc.constrained_dynamics_derivatives(dog, q, v, 0 * v, c)
        >>> d.a_dq.shape, d.force_dtau.shape
        ((18, 18), (6, 18))
    """
    c = constraints_on(model, constraints)
    arrays = {"q": q, "v": v, "tau": tau, "f_ext": f_ext}
    given = Given("constrained_dynamics_derivatives", model, threads, **arrays)
    if not c.size:

        def unconstrained(*state: Any) -> tuple[Array, ...]:
            d = forward_dynamics_derivatives(model, *state, threads=threads)
            return *d, *(x[..., :0, :] for x in d), np.zeros(d.dq.shape[:-2])

        sizes = tuple((n, model.nv) for n in (model.nv,) * 3 + (0,) * 3)
        return deliver_ranked(ConstrainedDynamicsDerivatives, unconstrained, out, sizes, given)
    w, held = c._accelerations, with_room(out, 6, 2)  # type: ignore[attr-defined]
    with given.told(), defined(c, q):
        most = c._usual_rank()
        found = _forward(model, q, v, tau, w, most, c.table, f_ext, out=held, threads=threads)
    return with_rank(ConstrainedDynamicsDerivatives, found[:6], found[6])


def constrained_dynamics_input_derivatives(
    model: Model,
    q: ArrayLike,
    constraints: Constraints,
    *,
    out: tuple[Array, ...] | None = None,
    threads: int = 1,
) -> ConstrainedDynamicsInputDerivatives:
    """Derivatives of accelerations and constraint forces by external wrenches and by targets.

    The equations are linear in them, so that they depend on q alone. With the Jacobian J_b of a
    body, ``a_df_ext = a_dtau J_b^T``; with K = J M^-1 J^T, ``a_dw = M^-1 J^T K^+`` and
    ``force_dw = K^+``. How w' depends on the targets is for the one who sets them: a constraint
    with a ``motion`` has its second row as w', a stabilized one adds to it what
    `Constraints.stabilized` says.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        constraints: the constraints.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (a_df_ext, a_dw, force_df_ext, force_dw).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Identity: ``constraints.jacobian(q) @ a_dw == 1`` if the rows are independent.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> d = jc.constrained_dynamics_input_derivatives(dog, q, c)
        >>> d.a_df_ext.shape, d.force_dw.shape
        ((18, 13, 6), (6, 6))
    """
    c = constraints_on(model, constraints)
    given = Given("constrained_dynamics_input_derivatives", model, threads, q=q)
    n, m, still = model.nv, c.size, np.zeros(model.nv)

    def compute(q: ArrayLike) -> ConstrainedDynamicsInputDerivatives:
        d = constrained_dynamics_derivatives(model, q, still, still, c, threads=threads)
        lead = d.a_dtau.shape[:-2]
        J = np.empty((*lead, model.n_bodies, 6, n))
        for b in range(model.n_bodies):
            J[..., b, :, :] = jacobian(model, q, b, threads=threads)
        J = J.reshape(*lead, 6 * model.n_bodies, n).swapaxes(-1, -2)
        own = (model.n_bodies, 6)
        a_dw = -d.force_dtau.swapaxes(-1, -2)
        inertia = algebra.product(
            np.swapaxes(a_dw, -1, -2), mass_matrix(model, q, threads=threads), a_dw
        )
        return ConstrainedDynamicsInputDerivatives(
            algebra.product(d.a_dtau, J).reshape(*lead, n, *own),
            a_dw.copy(),
            algebra.product(d.force_dtau, J).reshape(*lead, m, *own),
            inertia,
        )

    shapes = ((n, model.n_bodies, 6), (n, m), (m, model.n_bodies, 6), (m, m))
    return deliver_all(compute, out, shapes, given)


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
        Named tuple (v_dq, v_dv, impulse_dq, impulse_dv), with the attribute ``rank``.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> v[5] = -1.0
        >>> d = jc.impulse_derivatives(dog, q, v, c)
        >>> d.v_dv.shape
        (18, 18)
    """
    c = constraints_on(model, constraints)
    e = checked_restitution(restitution)
    given = Given("impulse_derivatives", model, threads, q=q, v=v)
    weightless = model.replace(gravity=np.zeros(3))

    def compute(q: ArrayLike, v: ArrayLike) -> tuple[Array, ...]:
        if not c.size:
            given.check()
            lead = np.broadcast_shapes(np.shape(q)[:-1], np.shape(v)[:-1])
            nothing, unit = np.zeros((*lead, model.nv, model.nv)), np.eye(model.nv)
            empty = nothing[..., :0, :]
            return nothing, nothing + unit, empty, empty, np.zeros(lead)
        jump = -(1.0 + e) * (c.velocity(q, v, threads=threads) - rates_wanted(c))
        most = c._usual_rank()
        found: tuple[Array, ...] = _jump(weightless, q, v, jump, e, most, c.table, threads=threads)
        return found

    sizes = tuple((n, model.nv) for n in (model.nv,) * 2 + (c.size,) * 2)
    return deliver_ranked(ImpulseDerivatives, compute, out, sizes, given)
