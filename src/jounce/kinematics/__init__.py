"""Configurations, and where bodies and frames are and how they move."""

from jounce.kinematics.bodies import (
    bias_acceleration,
    body_acceleration,
    body_accelerations,
    body_pose,
    body_poses,
    body_twist,
    body_twists,
)
from jounce.kinematics.configurations import (
    configuration,
    coordinate_rates,
    difference,
    integrate,
    interpolate,
    neutral,
    normalize,
    random_configuration,
)
from jounce.kinematics.inverse import InverseKinematics, inverse_kinematics
from jounce.kinematics.jacobians import jacobian, jacobian_rate
from jounce.kinematics.masses import (
    CenterOfMassDerivatives,
    center_of_mass,
    center_of_mass_derivatives,
    center_of_mass_jacobian,
    center_of_mass_jacobian_rate,
    subtree_centers_of_mass,
    subtree_masses,
    total_mass,
)
from jounce.kinematics.tangents import (
    DifferenceDerivatives,
    IntegrateDerivatives,
    difference_derivatives,
    integrate_derivatives,
)

__all__ = [
    "CenterOfMassDerivatives",
    "DifferenceDerivatives",
    "IntegrateDerivatives",
    "InverseKinematics",
    "bias_acceleration",
    "body_acceleration",
    "body_accelerations",
    "body_pose",
    "body_poses",
    "body_twist",
    "body_twists",
    "center_of_mass",
    "center_of_mass_derivatives",
    "center_of_mass_jacobian",
    "center_of_mass_jacobian_rate",
    "configuration",
    "coordinate_rates",
    "difference",
    "difference_derivatives",
    "integrate",
    "integrate_derivatives",
    "interpolate",
    "inverse_kinematics",
    "jacobian",
    "jacobian_rate",
    "neutral",
    "normalize",
    "random_configuration",
    "subtree_centers_of_mass",
    "subtree_masses",
    "total_mass",
]


def __dir__() -> list[str]:
    return sorted(__all__)
