"""Rigid-body dynamics on Lie groups for robots: exact, batched, fast.

A frozen `Model` and plain arrays in, fresh arrays out::

    import jounce as jc

    model = jc.load("robot.urdf", base="free")
    q = jc.random_configuration(model, 0)
    tau = jc.inverse_dynamics(model, q, v, a)
"""

import typing as _typing

from jounce import lie, trajectories
from jounce._core import core_info, get_cmake_dir, get_include, get_library, model_address
from jounce.derivatives import (
    BodyAccelerationDerivatives,
    BodyTwistDerivatives,
    ForwardDynamicsDerivatives,
    HybridDynamicsDerivatives,
    InverseDynamicsDerivatives,
    KineticEnergyDerivatives,
    Linearization,
    PassiveForcesDerivatives,
    body_acceleration_derivatives,
    body_twist_derivatives,
    christoffel_symbols,
    forward_dynamics_derivatives,
    hybrid_dynamics_derivatives,
    inverse_dynamics_derivatives,
    inverse_mass_matrix_derivatives,
    jacobian_derivatives,
    kinetic_energy_derivatives,
    linearize,
    mass_matrix_derivatives,
    passive_forces_derivatives,
)
from jounce.dynamics import (
    BaseParameters,
    CentroidalMomentumDerivatives,
    HybridDynamics,
    base_parameters,
    bias_forces,
    centroidal_momentum,
    centroidal_momentum_derivatives,
    centroidal_momentum_matrix,
    centroidal_momentum_matrix_rate,
    coriolis_matrix,
    external_wrenches,
    forward_dynamics,
    gravity_forces,
    hybrid_dynamics,
    inverse_dynamics,
    inverse_mass_matrix,
    joint_wrenches,
    kinetic_energy,
    kinetic_energy_regressor,
    mass_matrix,
    momentum,
    momentum_regressor,
    passive_forces,
    potential_energy,
    potential_energy_regressor,
    torque_regressor,
)
from jounce.errors import (
    ArgumentError,
    ArgumentTypeError,
    DivergenceError,
    Error,
    MissingExtraError,
    MissingFileError,
    ModelError,
    ModelWarning,
    SingularError,
    TooLargeError,
    UnknownNameError,
)
from jounce.io import load, load_mjcf, load_sdf, load_urdf, load_xacro, save
from jounce.kinematics import (
    CenterOfMassDerivatives,
    DifferenceDerivatives,
    IntegrateDerivatives,
    InverseKinematics,
    bias_acceleration,
    body_acceleration,
    body_accelerations,
    body_pose,
    body_poses,
    body_twist,
    body_twists,
    center_of_mass,
    center_of_mass_derivatives,
    center_of_mass_jacobian,
    center_of_mass_jacobian_rate,
    configuration,
    coordinate_rates,
    difference,
    difference_derivatives,
    integrate,
    integrate_derivatives,
    interpolate,
    inverse_kinematics,
    jacobian,
    jacobian_rate,
    neutral,
    normalize,
    random_configuration,
    subtree_centers_of_mass,
    subtree_masses,
    total_mass,
)
from jounce.lie import twists
from jounce.model import Frame, Joint, MassProperties, Mimic, Model, ModelBuilder, inertia, models
from jounce.series import (
    HybridDynamicsSeries,
    body_motion_series,
    body_pose_series,
    forward_dynamics_series,
    forward_dynamics_series_error,
    hybrid_dynamics_series,
    inverse_dynamics_series,
    jacobian_series,
)
from jounce.simulation import (
    Control,
    LinearizedStep,
    MarkedRollout,
    MotionCheck,
    Rollout,
    RolloutGradient,
    SimulatedMotion,
    Step,
    linearize_step,
    rollout,
    rollout_vjp,
    simulate,
    step,
)
from jounce.trajectories import PathDynamics, TrajectorySample, path_dynamics

__version__ = "0.2.0"

if _typing.TYPE_CHECKING:
    from jounce import interop as interop
    from jounce import papers as papers
    from jounce import plot as plot
else:
    _LATER = ("interop", "papers", "plot")
    """Rooms that are imported when they are first used."""

    def __getattr__(name: str) -> object:
        if name in _LATER:
            from importlib import import_module

            return import_module(f"jounce.{name}")
        if name.startswith("_"):
            raise AttributeError(f"module 'jounce' has no attribute {name!r}")
        from jounce.interop.names import no_such_name

        raise AttributeError(no_such_name(name, __dir__()))

    def __dir__() -> list[str]:
        hidden = (name for name in globals() if name.startswith("__"))
        return sorted({*hidden, *__all__, *_LATER})


__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "BaseParameters",
    "BodyAccelerationDerivatives",
    "BodyTwistDerivatives",
    "CenterOfMassDerivatives",
    "CentroidalMomentumDerivatives",
    "Control",
    "DifferenceDerivatives",
    "DivergenceError",
    "Error",
    "ForwardDynamicsDerivatives",
    "Frame",
    "HybridDynamics",
    "HybridDynamicsDerivatives",
    "HybridDynamicsSeries",
    "IntegrateDerivatives",
    "InverseDynamicsDerivatives",
    "InverseKinematics",
    "Joint",
    "KineticEnergyDerivatives",
    "Linearization",
    "LinearizedStep",
    "MarkedRollout",
    "MassProperties",
    "Mimic",
    "MissingExtraError",
    "MissingFileError",
    "Model",
    "ModelBuilder",
    "ModelError",
    "ModelWarning",
    "MotionCheck",
    "PassiveForcesDerivatives",
    "PathDynamics",
    "Rollout",
    "RolloutGradient",
    "SimulatedMotion",
    "SingularError",
    "Step",
    "TooLargeError",
    "TrajectorySample",
    "UnknownNameError",
    "base_parameters",
    "bias_acceleration",
    "bias_forces",
    "body_acceleration",
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
    "center_of_mass_derivatives",
    "center_of_mass_jacobian",
    "center_of_mass_jacobian_rate",
    "centroidal_momentum",
    "centroidal_momentum_derivatives",
    "centroidal_momentum_matrix",
    "centroidal_momentum_matrix_rate",
    "christoffel_symbols",
    "configuration",
    "coordinate_rates",
    "core_info",
    "coriolis_matrix",
    "difference",
    "difference_derivatives",
    "external_wrenches",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_dynamics_series",
    "forward_dynamics_series_error",
    "get_cmake_dir",
    "get_include",
    "get_library",
    "gravity_forces",
    "hybrid_dynamics",
    "hybrid_dynamics_derivatives",
    "hybrid_dynamics_series",
    "inertia",
    "integrate",
    "integrate_derivatives",
    "interpolate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_series",
    "inverse_kinematics",
    "inverse_mass_matrix",
    "inverse_mass_matrix_derivatives",
    "jacobian",
    "jacobian_derivatives",
    "jacobian_rate",
    "jacobian_series",
    "joint_wrenches",
    "kinetic_energy",
    "kinetic_energy_derivatives",
    "kinetic_energy_regressor",
    "lie",
    "linearize",
    "linearize_step",
    "load",
    "load_mjcf",
    "load_sdf",
    "load_urdf",
    "load_xacro",
    "mass_matrix",
    "mass_matrix_derivatives",
    "model_address",
    "models",
    "momentum",
    "momentum_regressor",
    "neutral",
    "normalize",
    "passive_forces",
    "passive_forces_derivatives",
    "path_dynamics",
    "potential_energy",
    "potential_energy_regressor",
    "random_configuration",
    "rollout",
    "rollout_vjp",
    "save",
    "simulate",
    "step",
    "subtree_centers_of_mass",
    "subtree_masses",
    "torque_regressor",
    "total_mass",
    "trajectories",
    "twists",
]
