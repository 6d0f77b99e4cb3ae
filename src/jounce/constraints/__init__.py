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
)
from jounce.constraints.hessian import ConstrainedDynamicsHessian, constrained_dynamics_hessian
from jounce.constraints.inverse_series import (
    ConstrainedInverseDynamicsSeries,
    ConstrainedInverseDynamicsSeriesDerivatives,
    constrained_inverse_dynamics_series,
    constrained_inverse_dynamics_series_derivatives,
)
from jounce.constraints.kinds import Coupling, Distance, Loop, Point, Rolling, Weld
from jounce.constraints.projection import project, project_velocity
from jounce.constraints.series import (
    ConstrainedDynamicsSeries,
    ConstrainedHybridDynamicsSeries,
    constrained_dynamics_series,
    constrained_hybrid_dynamics_series,
)
from jounce.constraints.series_derivatives import (
    ConstrainedDynamicsSeriesDerivatives,
    constrained_dynamics_series_derivatives,
)

__all__ = [
    "ConstrainedDynamics",
    "ConstrainedDynamicsDerivatives",
    "ConstrainedDynamicsHessian",
    "ConstrainedDynamicsInputDerivatives",
    "ConstrainedDynamicsSeries",
    "ConstrainedDynamicsSeriesDerivatives",
    "ConstrainedHybridDynamicsSeries",
    "ConstrainedInverseDynamics",
    "ConstrainedInverseDynamicsSeries",
    "ConstrainedInverseDynamicsSeriesDerivatives",
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
    "constrained_dynamics_hessian",
    "constrained_dynamics_input_derivatives",
    "constrained_dynamics_series",
    "constrained_dynamics_series_derivatives",
    "constrained_hybrid_dynamics_series",
    "constrained_inverse_dynamics",
    "constrained_inverse_dynamics_series",
    "constrained_inverse_dynamics_series_derivatives",
    "impulse",
    "impulse_derivatives",
    "project",
    "project_velocity",
]


def __dir__() -> list[str]:
    return sorted(__all__)
