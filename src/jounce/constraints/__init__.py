"""Loops, contacts and gears: constraints as data, dynamics under them, and derivatives."""

from jounce.constraints.constraints import Constraints
from jounce.constraints.derivatives import (
    ConstrainedDynamicsDerivatives,
    ConstrainedDynamicsInputDerivatives,
    ImpulseDerivatives,
    constrained_dynamics_derivatives,
    constrained_dynamics_input_derivatives,
    impulse_derivatives,
)
from jounce.constraints.dynamics import (
    ConstrainedDynamics,
    ConstrainedInverseDynamics,
    Impulse,
    constrained_dynamics,
    constrained_inverse_dynamics,
    impulse,
    project,
    project_velocity,
)
from jounce.constraints.kinds import Coupling, Distance, Loop, Point, Rolling, Weld
from jounce.constraints.series import (
    ConstrainedDynamicsSeries,
    ConstrainedHybridDynamicsSeries,
    ConstrainedInverseDynamicsSeries,
    constrained_dynamics_series,
    constrained_hybrid_dynamics_series,
    constrained_inverse_dynamics_series,
)

__all__ = [
    "ConstrainedDynamics",
    "ConstrainedDynamicsDerivatives",
    "ConstrainedDynamicsInputDerivatives",
    "ConstrainedDynamicsSeries",
    "ConstrainedHybridDynamicsSeries",
    "ConstrainedInverseDynamics",
    "ConstrainedInverseDynamicsSeries",
    "Constraints",
    "Coupling",
    "Distance",
    "Impulse",
    "ImpulseDerivatives",
    "Loop",
    "Point",
    "Rolling",
    "Weld",
    "constrained_dynamics",
    "constrained_dynamics_derivatives",
    "constrained_dynamics_input_derivatives",
    "constrained_dynamics_series",
    "constrained_hybrid_dynamics_series",
    "constrained_inverse_dynamics",
    "constrained_inverse_dynamics_series",
    "impulse",
    "impulse_derivatives",
    "project",
    "project_velocity",
]


def __dir__() -> list[str]:
    return sorted(__all__)
