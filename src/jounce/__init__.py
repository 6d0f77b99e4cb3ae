"""Rigid-body dynamics on Lie groups for robots: exact, batched, fast.

A frozen `Model` and plain arrays in, fresh arrays out::

    import jounce as jc

    model = jc.load("robot.urdf", base="free")
    q = jc.random_configuration(model, 0)
    tau = jc.inverse_dynamics(model, q, v, a)
"""

import importlib
from typing import TYPE_CHECKING

from jounce import inertia, lie, models, trajectories, twists
from jounce._core import core_info
from jounce.builder import ModelBuilder
from jounce.centroidal import (
    centroidal_momentum_matrix,
    centroidal_momentum_matrix_rate,
)
from jounce.christoffel import (
    christoffel_symbols,
    inverse_mass_matrix_derivatives,
    kinetic_energy_derivatives,
    mass_matrix_derivatives,
)
from jounce.configuration import difference, integrate, neutral, random_configuration
from jounce.dynamics import (
    bias_forces,
    center_of_mass,
    centroidal_momentum,
    coriolis_matrix,
    forward_dynamics,
    gravity_forces,
    hybrid_dynamics,
    inverse_dynamics,
    inverse_mass_matrix,
    kinetic_energy,
    mass_matrix,
    momentum,
    passive_forces,
    potential_energy,
    total_mass,
)
from jounce.errors import ModelError, ModelWarning, SingularError
from jounce.hybrid_partials import hybrid_dynamics_derivatives
from jounce.io import load, load_mjcf, load_urdf, load_xacro
from jounce.joints import Joint, Mimic
from jounce.kinematic_partials import (
    body_acceleration_derivatives,
    body_twist_derivatives,
    jacobian_partials,
)
from jounce.kinematics import (
    body_accelerations,
    body_pose,
    body_poses,
    body_twist,
    body_twists,
    jacobian,
    jacobian_rate,
)
from jounce.linearization import linearize, linearize_step
from jounce.model import Frame, Model
from jounce.partials import forward_dynamics_derivatives, inverse_dynamics_derivatives
from jounce.series import (
    body_motion_series,
    body_pose_series,
    forward_dynamics_series,
    hybrid_dynamics_series,
    inverse_dynamics_series,
    jacobian_series,
)

__version__ = "0.1.0"


if TYPE_CHECKING:
    from jounce import interop as interop
    from jounce import papers as papers
    from jounce import plot as plot
else:
    _LAZY = ("interop", "papers", "plot")

    def __getattr__(name: str) -> object:
        """Import `jounce.interop`, `jounce.papers` and `jounce.plot` when they are first used."""
        if name in _LAZY:
            return importlib.import_module(f"jounce.{name}")
        raise AttributeError(f"module 'jounce' has no attribute {name!r}")

    def __dir__() -> list[str]:
        """Names of the package, those that are imported later among them."""
        return sorted({*globals(), *_LAZY})


__all__ = [
    "Frame",
    "Joint",
    "Mimic",
    "Model",
    "ModelBuilder",
    "ModelError",
    "ModelWarning",
    "SingularError",
    "bias_forces",
    "body_acceleration_derivatives",
    "body_accelerations",
    "body_motion_series",
    "body_pose",
    "body_pose_series",
    "body_poses",
    "body_twist",
    "body_twist_derivatives",
    "body_twists",
    "center_of_mass",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
    "centroidal_momentum_matrix_rate",
    "christoffel_symbols",
    "core_info",
    "coriolis_matrix",
    "difference",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_dynamics_series",
    "gravity_forces",
    "hybrid_dynamics",
    "hybrid_dynamics_derivatives",
    "hybrid_dynamics_series",
    "inertia",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_series",
    "inverse_mass_matrix",
    "inverse_mass_matrix_derivatives",
    "jacobian",
    "jacobian_rate",
    "jacobian_partials",
    "jacobian_series",
    "kinetic_energy",
    "kinetic_energy_derivatives",
    "lie",
    "linearize",
    "linearize_step",
    "load",
    "load_mjcf",
    "load_urdf",
    "load_xacro",
    "mass_matrix",
    "mass_matrix_derivatives",
    "models",
    "momentum",
    "neutral",
    "passive_forces",
    "potential_energy",
    "random_configuration",
    "total_mass",
    "trajectories",
    "twists",
]
