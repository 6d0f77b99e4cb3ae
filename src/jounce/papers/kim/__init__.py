"""Dynamics of open chains with multi-DoF joints, and its derivative by any scalar.

J. Kim, "Lie Group Formulation of Articulated Rigid Body Dynamics", version 1.01, 2012.

Twists and wrenches are body-fixed, (angular, linear). There is one body per joint of the model; a
compound joint (universal, cylindrical, planar) is a single joint whose Jacobian S(q) varies.
`parameter` says how state, input, inertia and geometry depend on a scalar p, and Tables 5 to 7
differentiate by it. ``docs/papers/kim.md`` maps every item of the paper to its function and lists
the paper's errata.
"""

from jounce.papers.kim.chain import (
    JointDerivative,
    JointState,
    Parameter,
    System,
    joint,
    joint_sensitivity,
    parameter,
    system,
)
from jounce.papers.kim.derivatives import (
    HybridDerivative,
    VelocityDerivatives,
    forward_dynamics_sensitivity,
    hybrid_dynamics_sensitivity,
    inverse_dynamics_sensitivity,
    velocity_derivatives,
)
from jounce.papers.kim.dynamics import (
    HybridDynamics,
    InverseDynamics,
    Velocities,
    forward_dynamics,
    hybrid_dynamics,
    inverse_dynamics,
    newton_euler,
    velocities,
)

__all__ = [
    "HybridDerivative",
    "HybridDynamics",
    "InverseDynamics",
    "JointDerivative",
    "JointState",
    "Parameter",
    "System",
    "Velocities",
    "VelocityDerivatives",
    "forward_dynamics",
    "forward_dynamics_sensitivity",
    "hybrid_dynamics",
    "hybrid_dynamics_sensitivity",
    "inverse_dynamics",
    "inverse_dynamics_sensitivity",
    "joint",
    "joint_sensitivity",
    "newton_euler",
    "parameter",
    "system",
    "velocities",
    "velocity_derivatives",
]


def __dir__() -> list[str]:
    return sorted(__all__)
