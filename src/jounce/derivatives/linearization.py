"""Linearization of the equations of motion on the group.

The state (q, v) is perturbed by (delta q, delta v), both in the tangent space: q is moved by
``integrate(model, q, delta_q)``, left-trivialized for spherical and free joints. So the matrices
have 2 nv rows at every attitude, and no chart of the rotations can become singular.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce._core.out import Given, deliver_all
from jounce._types import Array, ArrayLike, Integers
from jounce.derivatives.dynamics import forward_dynamics_derivatives
from jounce.model import Model
from jounce.model.rates import Actuated, actuated_rates, as_slice, group_blocks

__all__ = ["Linearization", "linearize"]


class Linearization(NamedTuple):
    """Matrices of d/dt (delta q, delta v) = A (delta q, delta v) + B delta tau."""

    A: Array
    """(..., 2 nv, 2 nv)."""
    B: Array
    """(..., 2 nv, number of actuated rates)."""


def linearize(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    actuated: Actuated = None,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> Linearization:
    """Linearize the equations of motion about a state, left-trivialized.

    The perturbation of a trajectory obeys (bos, Prop. 1 to 3, there for a free base with 1-DoF
    joints; here for every joint type anywhere)

        d/dt delta q = delta v - ad_v delta q,
        d/dt delta v = da/dq delta q + da/dv delta v + M^-1 delta tau,

    where ad_v acts within each joint: omega x for a spherical joint, the adjoint of the body twist
    for a free joint, zero for all others.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., nv) generalized forces.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies, held constant.
        actuated: which rates have an input: a bool mask (nv,) or names of joints; by default
            ``model.actuated``. Columns of B are in the order of the rates.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (A, B).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Identity: for 1-DoF joints A is [[0, 1], [da/dq, da/dv]].
    """
    inputs = actuated_rates(model, actuated)
    n, given = 2 * model.nv, Given("linearize", model, threads, q=q, v=v, tau=tau, f_ext=f_ext)

    def compute(
        q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None
    ) -> Linearization:
        return _linearize(model, q, v, tau, f_ext, inputs, threads)

    return deliver_all(compute, out, ((n, n), (n, len(inputs))), given)


def _linearize(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None,
    inputs: Integers,
    threads: int,
) -> Linearization:
    d = forward_dynamics_derivatives(model, q, v, tau, f_ext, threads=threads)
    nv, rates = model.nv, np.asarray(v, float)
    A = np.zeros((*d.dq.shape[:-2], 2 * nv, 2 * nv))
    A[..., :nv, nv:] = np.eye(nv)
    for block in group_blocks(model):
        A[..., block.at, block.at] = -block.ad(rates)
    A[..., nv:, :nv] = d.dq
    A[..., nv:, nv:] = d.dv
    B = np.zeros((*d.dq.shape[:-2], 2 * nv, len(inputs)))
    B[..., nv:, :] = d.dtau[..., as_slice(inputs)]
    return Linearization(A, B)
