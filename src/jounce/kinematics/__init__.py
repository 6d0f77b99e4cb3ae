"""Configurations, and where bodies and frames are and how they move."""

from jounce.kinematics.bodies import (
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
from jounce.kinematics.jacobians import jacobian, jacobian_rate
from jounce.kinematics.masses import center_of_mass, total_mass
from jounce.kinematics.tangents import (
    DifferenceDerivatives,
    IntegrateDerivatives,
    difference_derivatives,
    integrate_derivatives,
)

__all__ = [
    "DifferenceDerivatives",
    "IntegrateDerivatives",
    "body_acceleration",
    "body_accelerations",
    "body_pose",
    "body_poses",
    "body_twist",
    "body_twists",
    "center_of_mass",
    "configuration",
    "coordinate_rates",
    "difference",
    "difference_derivatives",
    "integrate",
    "integrate_derivatives",
    "interpolate",
    "jacobian",
    "jacobian_rate",
    "neutral",
    "normalize",
    "random_configuration",
    "total_mass",
]


def __dir__() -> list[str]:
    return sorted(__all__)
