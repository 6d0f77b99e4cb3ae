"""Exact partial derivatives.

Derivatives with respect to q are taken in the tangent space: q is moved by
``integrate(model, q, eps)``, left-trivialized for spherical and free joints, so that all
matrices are (nv, nv) and nothing is singular anywhere.
"""

from jounce.derivatives.bodies import (
    BodyAccelerationDerivatives,
    BodyTwistDerivatives,
    body_acceleration_derivatives,
    body_twist_derivatives,
)
from jounce.derivatives.christoffel import (
    KineticEnergyDerivatives,
    christoffel_symbols,
    inverse_mass_matrix_derivatives,
    kinetic_energy_derivatives,
    mass_matrix_derivatives,
)
from jounce.derivatives.dynamics import (
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from jounce.derivatives.hybrid import HybridDynamicsDerivatives, hybrid_dynamics_derivatives
from jounce.derivatives.jacobians import jacobian_derivatives
from jounce.derivatives.linearization import ConstrainedLinearization, Linearization, linearize
from jounce.derivatives.passive import PassiveForcesDerivatives, passive_forces_derivatives

__all__ = [
    "BodyAccelerationDerivatives",
    "BodyTwistDerivatives",
    "ConstrainedLinearization",
    "ForwardDynamicsDerivatives",
    "HybridDynamicsDerivatives",
    "InverseDynamicsDerivatives",
    "KineticEnergyDerivatives",
    "Linearization",
    "PassiveForcesDerivatives",
    "body_acceleration_derivatives",
    "body_twist_derivatives",
    "christoffel_symbols",
    "forward_dynamics_derivatives",
    "hybrid_dynamics_derivatives",
    "inverse_dynamics_derivatives",
    "inverse_mass_matrix_derivatives",
    "jacobian_derivatives",
    "kinetic_energy_derivatives",
    "linearize",
    "mass_matrix_derivatives",
    "passive_forces_derivatives",
]


def __dir__() -> list[str]:
    return sorted(__all__)
