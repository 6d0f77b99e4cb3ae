"""Linearization of the equations of motion on the group.

The state (q, v) is perturbed by (delta q, delta v), both in the tangent space: q is moved by
``integrate(model, q, delta_q)``, left-trivialized for spherical and free joints. So the matrices
have 2 nv rows at every attitude, and no chart of the rotations can become singular.
"""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np

from jounce._core.algebra import product
from jounce._core.arrays import reals, shown
from jounce._core.out import Given, deliver_all
from jounce._types import Array, ArrayLike
from jounce.derivatives.dynamics import ForwardDynamicsDerivatives, forward_dynamics_derivatives
from jounce.derivatives.passive import passive_forces_derivatives
from jounce.dynamics import passive_forces
from jounce.errors import ArgumentError, ArgumentTypeError
from jounce.model import Model
from jounce.model._checks import check_flag
from jounce.model.rates import Actuated, Inputs, group_blocks, inputs_of

__all__ = [
    "ConstrainedLinearization",
    "Linearization",
    "linearize",
    "plus_passive_forces",
    "state_matrix",
    "with_passive_forces",
]


class Linearization(NamedTuple):
    """Matrices of d/dt (delta q, delta v) = A (delta q, delta v) + B delta u, u the inputs.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> A, B = jc.linearize(arm, q, v, a)
        >>> bool(np.allclose(B[2:], jc.inverse_mass_matrix(arm, q)))
        True
    """

    A: Array
    """(..., 2 nv, 2 nv)."""
    B: Array
    """(..., 2 nv, number of inputs)."""


class ConstrainedLinearization(NamedTuple):
    """The same under constraints, and in minimal coordinates: (delta q, delta v) = Z y.

    The perturbations that the constraints allow are spanned by the orthonormal columns of Z. Along
    a motion they are taken to move without turning among themselves, Z^T Z' = 0, so that

        y' = A_min y + B_min delta u,    A_min = Z^T (A Z - Z') = Z^T A Z,    B_min = Z^T B.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> d = jc.linearize(dog, q, v, v, constraints=c)
        >>> d.A.shape, d.A_min.shape, d.Z.shape
        ((36, 36), (24, 24), (36, 24))
    """

    A: Array
    """(..., 2 nv, 2 nv)."""
    B: Array
    """(..., 2 nv, number of inputs)."""
    A_min: Array
    """(..., k, k), k = 2 nv - 2 holonomic - nonholonomic rows (independent ones)."""
    B_min: Array
    """(..., k, number of inputs)."""
    Z: Array
    """(..., 2 nv, k)."""


@overload
def linearize(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    actuated: Actuated = None,
    actuation: ArrayLike | None = None,
    passive: bool = False,
    constraints: None = None,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> Linearization: ...
@overload
def linearize(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    actuated: Actuated = None,
    actuation: ArrayLike | None = None,
    passive: bool = False,
    constraints: Any,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> ConstrainedLinearization: ...
def linearize(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    actuated: Actuated = None,
    actuation: ArrayLike | None = None,
    passive: bool = False,
    constraints: Any = None,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> Linearization | ConstrainedLinearization:
    """Linearize the equations of motion about a state, left-trivialized.

    The perturbation of a trajectory obeys (bos, Prop. 1 to 3, there for a free base with 1-DoF
    joints; here for every joint type anywhere)

        d/dt delta q = delta v - ad_v delta q,
        d/dt delta v = da/dq delta q + da/dv delta v + M^-1 delta tau,

    where ad_v acts within each joint: omega x for a spherical joint, the adjoint of the body twist
    for a free joint, zero for all others. The inputs are forces of actuated rates, or with a map
    ``tau = actuation @ u`` those that it takes, for example of thrusters or transmissions.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., nv) generalized forces.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies, held constant.
        actuated: which rates have an input: a bool mask (nv,) or names of joints; by default
            ``model.actuated``. Columns of B are in the order of the rates.
        actuation: (nv, inputs) constant map from inputs to generalized forces, instead of
            `actuated`; B then has a column for each of its columns.
        passive: whether springs, damping and friction of the joints act beside tau.
        constraints: `jounce.Constraints`, if there are some. The state must fulfill them within
            their ``tolerance``, and the result has A_min, B_min and Z as well: the linearization on
            the manifold they leave.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (A, B), under constraints (A, B, A_min, B_min, Z).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, both `actuated`
            and `actuation`, `out` together with constraints, or a state that violates these.
        SingularError: a joint moves no inertia; it is named.

    Identity: for 1-DoF joints A is [[0, 1], [da/dq, da/dv]].

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q = arm.poses["home"]
        >>> A, B = jc.linearize(arm, q, np.zeros(7), jc.gravity_forces(arm, q))
        >>> A.shape, B.shape
        ((14, 14), (14, 7))
    """
    inputs = inputs_of(model, actuated, actuation)
    check_flag("passive", passive)
    if constraints is not None:
        if out is not None:
            raise ArgumentError("linearize has no out under constraints, whose rank sets the sizes")
        if not hasattr(constraints, "linearization"):
            raise ArgumentTypeError(f"constraints must be Constraints, got {shown(constraints)}")
        state = (q, v, tau, f_ext)
        under: ConstrainedLinearization = constraints.linearization(
            model, state, inputs, passive, threads
        )
        return under
    n, given = 2 * model.nv, Given("linearize", model, threads, q=q, v=v, tau=tau, f_ext=f_ext)

    def compute(
        q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None
    ) -> Linearization:
        return _linearize(model, (q, v, tau, f_ext), inputs, passive, threads)

    return deliver_all(compute, out, ((n, n), (n, inputs.number)), given)


def _linearize(
    model: Model,
    state: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike | None],
    inputs: Inputs,
    passive: bool,
    threads: int,
) -> Linearization:
    q, v, tau, f_ext = state
    if passive:
        d = with_passive_forces(model, q, v, tau, f_ext, threads)
    else:
        d = forward_dynamics_derivatives(model, q, v, tau, f_ext, threads=threads)
    columns = inputs.columns(d.dtau)
    return Linearization(*state_matrix(model, np.asarray(v, float), d.dq, d.dv, columns))


def state_matrix(
    model: Model, v: Array, a_dq: Array, a_dv: Array, a_du: Array
) -> tuple[Array, Array]:
    """A and B from the derivatives of the accelerations."""
    nv, lead = model.nv, a_dq.shape[:-2]
    A = np.zeros((*lead, 2 * nv, 2 * nv))
    A[..., :nv, nv:] = np.eye(nv)
    for block in group_blocks(model):
        A[..., block.at, block.at] = -block.ad(v)
    A[..., nv:, :nv] = a_dq
    A[..., nv:, nv:] = a_dv
    B = np.zeros((*lead, 2 * nv, a_du.shape[-1]))
    B[..., nv:, :] = a_du
    return A, B


def plus_passive_forces(
    model: Model, q: ArrayLike, v: ArrayLike, tau: ArrayLike, threads: int
) -> Array:
    """Sum of tau and the passive forces."""
    passive = passive_forces(model, q, v, threads=threads)
    given = reals("tau", tau)
    try:
        if given.shape[-1:] == (model.nv,):
            total: Array = given + passive
            return total
    except ValueError:
        pass
    raise ArgumentError(
        f"tau must be numbers of shape (..., {model.nv}), that is (..., nv) of this model, whose "
        f"leading axes broadcast with those of q and v, got shape {given.shape}"
    )


def with_passive_forces(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None,
    threads: int,
) -> ForwardDynamicsDerivatives:
    """Derivatives of the accelerations under tau and the passive forces, by q, v and tau."""
    total = plus_passive_forces(model, q, v, tau, threads)
    d = forward_dynamics_derivatives(model, q, v, total, f_ext, threads=threads)
    p = passive_forces_derivatives(model, q, v, threads=threads)
    return d._replace(dq=d.dq + product(d.dtau, p.dq), dv=d.dv + product(d.dtau, p.dv))
