"""Exact partial derivatives.

Derivatives with respect to q are taken in the tangent space: q is moved by
``integrate(model, q, eps)``, left-trivialized for spherical and free joints, so that all
matrices are (nv, nv) and nothing is singular anywhere.
"""

from jounce.derivatives import (  # noqa: F401, make known what coupled models and jvp() need
    _coupled,
    _coupled_series,
    wrenches,
)
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
from jounce.derivatives.hessians import (
    ForwardDynamicsHessian,
    InverseDynamicsHessian,
    InverseDynamicsSecondDerivatives,
    forward_dynamics_hessian,
    inverse_dynamics_hessian,
    inverse_dynamics_second_derivatives,
)
from jounce.derivatives.hybrid import HybridDynamicsDerivatives, hybrid_dynamics_derivatives
from jounce.derivatives.jacobians import jacobian_derivatives
from jounce.derivatives.jvp import Jvp, jvp
from jounce.derivatives.linearization import ConstrainedLinearization, Linearization, linearize
from jounce.derivatives.parameters import parameter_derivatives
from jounce.derivatives.passive import PassiveForcesDerivatives, passive_forces_derivatives
from jounce.derivatives.series import (
    ForwardDynamicsSeriesDerivatives,
    HybridDynamicsSeriesDerivatives,
    InverseDynamicsSeriesDerivatives,
    forward_dynamics_series_derivatives,
    hybrid_dynamics_series_derivatives,
    inverse_dynamics_series_derivatives,
)
from jounce.derivatives.vjp import (
    BiasForcesVjp,
    ForwardDynamicsVjp,
    GravityForcesVjp,
    InverseDynamicsVjp,
    KineticEnergyVjp,
    PotentialEnergyVjp,
    vjp,
)

__all__ = [
    "BiasForcesVjp",
    "BodyAccelerationDerivatives",
    "BodyTwistDerivatives",
    "ConstrainedLinearization",
    "ForwardDynamicsDerivatives",
    "ForwardDynamicsHessian",
    "ForwardDynamicsSeriesDerivatives",
    "ForwardDynamicsVjp",
    "GravityForcesVjp",
    "HybridDynamicsDerivatives",
    "HybridDynamicsSeriesDerivatives",
    "InverseDynamicsDerivatives",
    "InverseDynamicsHessian",
    "InverseDynamicsSecondDerivatives",
    "InverseDynamicsSeriesDerivatives",
    "InverseDynamicsVjp",
    "Jvp",
    "KineticEnergyDerivatives",
    "KineticEnergyVjp",
    "Linearization",
    "PassiveForcesDerivatives",
    "PotentialEnergyVjp",
    "body_acceleration_derivatives",
    "body_twist_derivatives",
    "christoffel_symbols",
    "forward_dynamics_derivatives",
    "forward_dynamics_hessian",
    "forward_dynamics_series_derivatives",
    "hybrid_dynamics_derivatives",
    "hybrid_dynamics_series_derivatives",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_hessian",
    "inverse_dynamics_second_derivatives",
    "inverse_dynamics_series_derivatives",
    "inverse_mass_matrix_derivatives",
    "jacobian_derivatives",
    "jvp",
    "kinetic_energy_derivatives",
    "linearize",
    "mass_matrix_derivatives",
    "parameter_derivatives",
    "passive_forces_derivatives",
    "vjp",
]


def __dir__() -> list[str]:
    return sorted(__all__)
