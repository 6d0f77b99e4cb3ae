"""Christoffel symbols, and derivatives of the mass matrix, its inverse and the kinetic energy.

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
    "KineticEnergyDerivatives",
    "christoffel_symbols",
    "inverse_mass_matrix_derivatives",
    "kinetic_energy_derivatives",
    "mass_matrix_derivatives",
]


class KineticEnergyDerivatives(NamedTuple):
    """Derivatives of the kinetic energy, (..., nv) each; ``dv`` is the generalized momentum.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> d = jc.kinetic_energy_derivatives(arm, q, v)
        >>> bool(np.allclose(d.dv, jc.mass_matrix(arm, q) @ v))
        True
    """

    dq: Array
    dv: Array


@kernel
def christoffel_symbols(
    model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Christoffel symbols of the first kind, (..., nv, nv, nv).

    Gamma[i, j, k] are the coefficients of the Coriolis matrix, C_ij = sum_k Gamma_ijk v_k. For
    robots with 1-DoF joints they are those of the mass matrix (mueller, eq. 86),

        Gamma_ijk = (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) / 2,

    symmetric in j and k. The rates of a spherical or free joint are no derivatives of coordinates:
    there the structure constants of the group are part of the symbols, which are not symmetric.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        out: (..., nv, nv, nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nv, nv, nv) symbols.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: ``christoffel_symbols(model, q) @ v == coriolis_matrix(model, q, v)``.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> bool(np.allclose(jc.christoffel_symbols(arm, q) @ v, jc.coriolis_matrix(arm, q, v)))
        True
    """


@kernel
def mass_matrix_derivatives(
    model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Derivatives of the mass matrix with respect to q, (..., nv, nv, nv).

    Entry [i, j, k] is the derivative of M_ij along rate k, by composite inertias that move with the
    screw of k. Because dM/dt = C + C^T along every motion (ali, Lemma 1), it is
    Gamma_ijk + Gamma_jik, for all joint types. Entries that cannot depend on a coordinate are
    exactly zero: M_ij changes with k only if the joint of k is outward of that of i or of j.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        out: (..., nv, nv, nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nv, nv, nv) derivatives, by the last index.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: ``mass_matrix_derivatives(model, q) @ v`` is the time derivative of M along v.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> jc.mass_matrix_derivatives(arm, arm.poses["home"]).shape
        (7, 7, 7)
    """


@kernel
def inverse_mass_matrix_derivatives(
    model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Derivatives of the inverse mass matrix with respect to q, (..., nv, nv, nv).

    dM^-1/dq_k = -M^-1 dM/dq_k M^-1; entry [i, j, k] is that of row i and column j along rate k.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        out: (..., nv, nv, nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nv, nv, nv) derivatives, by the last index.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> jc.inverse_mass_matrix_derivatives(arm, arm.poses["home"]).shape
        (7, 7, 7)
    """


@functools.partial(kernel, result=KineticEnergyDerivatives)
def kinetic_energy_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    *,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> KineticEnergyDerivatives:
    """Derivatives of the kinetic energy T with respect to q and v.

    In O(n), from the momenta P of subtrees: with the screws S of a joint and the twist V of its
    parent, seen from its body, dT/dq = -S . (V x* P) and dT/dv = S . P + armature v = M v. T does
    not depend on the coordinates of joints at the root.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        out: two (..., nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dq, dv), (..., nv) each.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: ``dv @ v == 2 * kinetic_energy(model, q, v)``; with the Coriolis matrix C, from
    Hamel's equations, ``dq == C^T v - ad_v^T dv``, where ad_v acts within each spherical and free
    joint (mueller, before eq. 83, for 1-DoF joints).

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> d = jc.kinetic_energy_derivatives(arm, q, v)
        >>> bool(np.allclose(d.dv, jc.mass_matrix(arm, q) @ v))
        True
    """
