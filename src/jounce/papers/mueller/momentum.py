"""The momentum formulation in phase space (eq. 36, 79).

State: coordinates q and the spatial momenta Pi_i^s = M_i^s V_i^s of all bodies. The
spatial momentum of a body changes by the wrench on it alone (eq. 36), so that an integrator of any
order conserves what is constant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce._core.algebra import einsum
from jounce._types import AnyArray
from jounce.model import Model
from jounce.papers.joints import apply
from jounce.papers.mueller.accelerations import system_jacobian_rate
from jounce.papers.mueller.geometry import configurations, inertia_matrices
from jounce.papers.mueller.kinematics import system_jacobian
from jounce.papers.mueller.newton_euler import spatial_inertia, spatial_inertia_rate
from jounce.papers.mueller.recursions import applied_wrenches

__all__ = ["PhaseRates", "momentum_balance", "momentum_rates", "phase_rates", "spatial_momenta"]


class PhaseRates(NamedTuple):
    """Time derivatives of the phase-space state, and the accelerations found on the way."""

    v: AnyArray
    """(nv,) rates."""
    Pi_dot: AnyArray
    """(n, 6) derivatives of the spatial momenta."""
    a: AnyArray
    """(nv,) accelerations."""


def spatial_momenta(model: Model, q: AnyArray, v: AnyArray) -> AnyArray:
    """Momenta Pi_i^s = M_i^s J_i^s v of all bodies about the world's origin, (n, 6), eq. 35, 79."""
    M = spatial_inertia(inertia_matrices(model), configurations(model, q))
    return apply(M, system_jacobian(model, q, "spatial") @ v)


def momentum_rates(model: Model, q: AnyArray, v: AnyArray, a: AnyArray) -> AnyArray:
    """Derivatives of the spatial momenta, (n, 6): dM^s V + M^s dV with eq. 37."""
    J, dJ = system_jacobian(model, q, "spatial"), system_jacobian_rate(model, q, v, "spatial")
    M = spatial_inertia(inertia_matrices(model), configurations(model, q))
    V = J @ v
    return apply(spatial_inertia_rate(M, V), V) + apply(M, J @ a + dJ @ v)


def momentum_balance(
    model: Model, q: AnyArray, v: AnyArray, a: AnyArray, f_ext: AnyArray | None = None
) -> AnyArray:
    """Generalized forces Q = (J^s)^T (dPi^s - W^app), (nv,), the first line of eq. 79."""
    W = momentum_rates(model, q, v, a) - applied_wrenches(
        model, configurations(model, q), f_ext, "spatial"
    )
    J = system_jacobian(model, q, "spatial")
    Q: AnyArray = einsum("nak,na->k", J, W) + model.armature * np.asarray(a)
    return Q


def phase_rates(
    model: Model, q: AnyArray, Pi: AnyArray, tau: AnyArray, f_ext: AnyArray | None = None
) -> PhaseRates:
    """Right-hand side of the first-order system of eq. 79 in the phase space (q, Pi^s).

    The second line, M_i^s J_i^s v = Pi_i^s, has 6 equations per body for the nv rates; projected by
    (J^s)^T it has one solution for consistent momenta. The first line gives the accelerations, and
    these the derivatives of the momenta. The rotors' momentum is not part of Pi.

    Args:
        model: the robot; each joint must move a body with mass.
        q: (nq,) coordinates.
        Pi: (n, 6) spatial momenta.
        tau: (nv,) generalized forces.
        f_ext: (n_bodies, 6) applied wrenches, body-fixed.
    """
    C = configurations(model, q)
    J = system_jacobian(model, q, "spatial")
    M = spatial_inertia(inertia_matrices(model), C)
    mass = einsum("naj,nab,nbk->jk", J, M, J, optimize=True)
    v = np.linalg.solve(mass, einsum("nak,na->k", J, Pi))
    V = J @ v
    dJ = system_jacobian_rate(model, q, v, "spatial")
    bias = apply(spatial_inertia_rate(M, V), V) + apply(M, dJ @ v)  # dPi without accelerations
    applied = applied_wrenches(model, C, f_ext, "spatial")
    force = tau - einsum("nak,na->k", J, bias - applied)
    a = np.linalg.solve(mass + np.diag(model.armature), force)
    return PhaseRates(v, bias + apply(M, J @ a), a)
