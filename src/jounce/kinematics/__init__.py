"""Configurations, and where bodies and frames are and how they move."""

from jounce.kinematics.bodies import (
    body_acceleration,
    body_accelerations,
    body_pose,
    body_poses,
    body_twist,
    body_twists,
)
from jounce.kinematics.configurations import difference, integrate, neutral, random_configuration
from jounce.kinematics.inverse import InverseKinematics, inverse_kinematics
from jounce.kinematics.jacobians import jacobian, jacobian_rate
from jounce.kinematics.masses import center_of_mass, total_mass

__all__ = [
    "InverseKinematics",
    "body_acceleration",
    "body_accelerations",
    "body_pose",
    "body_poses",
    "body_twist",
    "body_twists",
    "center_of_mass",
    "difference",
    "integrate",
    "inverse_kinematics",
    "jacobian",
    "jacobian_rate",
    "neutral",
    "random_configuration",
    "total_mass",
]


def __dir__() -> list[str]:
    return sorted(__all__)
