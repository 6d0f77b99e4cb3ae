"""Inverse, forward and hybrid dynamics; mass matrix, forces, energies, momentum.

Every function takes a `Model` and arrays with any leading batch axes, which broadcast like
NumPy's. ``out=`` reuses an array, ``threads=`` splits a batch over cores (0: all of them). The
equations of motion are

    M(q) a + b(q, v) = tau + sum_i J_i^T f_ext_i,

with the bias forces b holding Coriolis, centrifugal and gravity terms. Joint damping and
friction are not part of them, see `passive_forces`.
"""

from jounce.dynamics import _coupled  # noqa: F401, makes known what coupled models need
from jounce.dynamics.base_parameters import BaseParameters, base_parameters
from jounce.dynamics.centroidal import (
    CentroidalMomentumDerivatives,
    centroidal_momentum,
    centroidal_momentum_derivatives,
    centroidal_momentum_matrix,
    centroidal_momentum_matrix_rate,
)
from jounce.dynamics.energy import kinetic_energy, momentum, potential_energy
from jounce.dynamics.equations import (
    HybridDynamics,
    bias_forces,
    forward_dynamics,
    gravity_forces,
    hybrid_dynamics,
    inverse_dynamics,
)
from jounce.dynamics.matrices import coriolis_matrix, inverse_mass_matrix, mass_matrix
from jounce.dynamics.passive import passive_forces
from jounce.dynamics.regressors import (
    RegressorPattern,
    kinetic_energy_regressor,
    momentum_regressor,
    potential_energy_regressor,
    torque_regressor,
    torque_regressor_blocks,
    torque_regressor_pattern,
)
from jounce.dynamics.wrenches import external_wrenches, joint_wrenches

__all__ = [
    "BaseParameters",
    "CentroidalMomentumDerivatives",
    "HybridDynamics",
    "RegressorPattern",
    "base_parameters",
    "bias_forces",
    "centroidal_momentum",
    "centroidal_momentum_derivatives",
    "centroidal_momentum_matrix",
    "centroidal_momentum_matrix_rate",
    "coriolis_matrix",
    "external_wrenches",
    "forward_dynamics",
    "gravity_forces",
    "hybrid_dynamics",
    "inverse_dynamics",
    "inverse_mass_matrix",
    "joint_wrenches",
    "kinetic_energy",
    "kinetic_energy_regressor",
    "mass_matrix",
    "momentum",
    "momentum_regressor",
    "passive_forces",
    "potential_energy",
    "potential_energy_regressor",
    "torque_regressor",
    "torque_regressor_blocks",
    "torque_regressor_pattern",
]


def __dir__() -> list[str]:
    return sorted(__all__)
