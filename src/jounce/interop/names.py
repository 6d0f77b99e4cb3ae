"""Names that people know from elsewhere, and what they are called here."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from jounce.errors import close_names, did_you_mean

__all__ = ["ELSEWHERE", "NOTES", "no_such_name"]


def __dir__() -> list[str]:
    return sorted(__all__)


ELSEWHERE = {
    "inverse_dynamics": "rnea inverse_dyn inv_dyn rneainparallel id mj_inverse mj_rne"
    " calcinversedynamics",
    "forward_dynamics": "aba forward_dyn fwd_dyn fd mj_forward mj_fwddynamics"
    " calcforwarddynamics abainparallel",
    "mass_matrix": "crba inertia_matrix joint_space_inertia mj_fullm mj_crb calcmassmatrix",
    "inverse_mass_matrix": "minverse minv computeminverse mass_matrix_inverse",
    "coriolis_matrix": "coriolis computecoriolismatrix",
    "bias_forces": "nle nonlineareffects bias calcbiasterm coriolis_forces",
    "gravity_forces": "gravity gravity_vector computegeneralizedgravity static_torque"
    " computestatictorque calcgravitygeneralizedforces gravity_compensation",
    "passive_forces": "damping friction springs stiffness mj_passive",
    "inverse_kinematics": "ik solve_ik compute_ik diff_ik",
    "body_poses": "forward_kinematics fk framesforwardkinematics mj_kinematics"
    " updateframeplacements poses",
    "body_pose": "frame_pose frame_placement forward_kinematics fk evalbodyposeinworld pose",
    "body_twist": "frame_velocity getframevelocity body_velocity spatial_velocity velocity twist"
    " evalbodyspatialvelocityinworld mj_objectvelocity",
    "body_acceleration": "frame_acceleration getframeacceleration acceleration"
    " mj_objectacceleration",
    "jacobian": "body_jacobian computeframejacobian computejointjacobian computejointjacobians"
    " getframejacobian"
    " frame_jacobian mj_jac mj_jacbody mj_jacsite calcjacobianspatialvelocity",
    "jacobian_rate": "jacobian_derivative jacobian_dot jdot getframejacobiantimevariation"
    " computejointjacobianstimevariation mj_jacdot frame_jacobian_time_variation",
    "jacobian_derivatives": "jacobian_derivative jacobian_partials jacobian_partial"
    " kinematic_hessian getjointkinematichessian",
    "center_of_mass": "com centre_of_mass composition mj_compos mj_subtreevel"
    " calccenterofmasspositioninworld",
    "center_of_mass_jacobian": "com_jacobian jacobiancenterofmass jacobiansubtreecenterofmass"
    " mj_jacsubtreecom calcjacobiancenterofmasstranslationalvelocity getcenterofmassjacobian",
    "center_of_mass_jacobian_rate": "com_jacobian_rate jcom_dot",
    "center_of_mass_derivatives": "getcenterofmassvelocityderivatives com_derivatives"
    " center_of_mass_velocity_derivatives",
    "subtree_centers_of_mass": "subtree_com subtree_center_of_mass",
    "subtree_masses": "computesubtreemasses subtree_mass body_subtreemass",
    "total_mass": "mass computetotalmass calctotalmass",
    "momentum": "spatial_momentum calcspatialmomentuminworldaboutpoint",
    "centroidal_momentum": "computecentroidalmomentum",
    "centroidal_momentum_matrix": "ccrba computecentroidalmap centroidal_map cmm",
    "centroidal_momentum_matrix_rate": "dccrba centroidal_momentum_matrix_derivative"
    " computecentroidalmaptimevariation cmm_rate",
    "centroidal_momentum_derivatives": "computecentroidaldynamicsderivatives"
    " getcentroidaldynamicsderivatives",
    "joint_wrenches": "cfrc_int joint_reactions reaction_forces joint_forces constraint_wrenches"
    " mj_rnepostconstraint getjointinteractionforces",
    "external_wrenches": "mj_applyft xfrc_applied f_ext external_forces",
    "bias_acceleration": "jdot_v djv jacobian_rate_times_v getframebiasacc"
    " calcbiasspatialacceleration acceleration_bias",
    "kinetic_energy": "computekineticenergy calckineticenergy",
    "potential_energy": "computepotentialenergy calcpotentialenergy",
    "inverse_dynamics_derivatives": "computerneaderivatives"
    " rnea_derivatives inverse_dynamics_partials inverse_dynamics_jacobian",
    "forward_dynamics_derivatives": "computeabaderivatives aba_derivatives"
    " forward_dynamics_partials forward_dynamics_jacobian",
    "inverse_dynamics_hessian": "hessian",
    "forward_dynamics_hessian": "hessian",
    "torque_regressor": "regressor computejointtorqueregressor",
    "kinetic_energy_regressor": "computekineticenergyregressor",
    "potential_energy_regressor": "computepotentialenergyregressor",
    "jvp": "jacfwd pushforward directional_derivative forward_mode tangents",
    "vjp": "grad jacrev pullback reverse_mode gradient backward",
    "parameter_derivatives": "sensitivity sensitivities parameter_sensitivity",
    "inertia.log_cholesky": "logcholesky todynamicparameters",
    "linearize": "calclinearization linearise lqr",
    "linearize_step": "mjd_transitionfd discretize",
    "step": "mj_step timestep",
    "rollout": "mj_rollout",
    "simulate": "solve_ivp odeint simulator",
    "load": "load_model load_robot parser buildmodelfromxml from_file read",
    "load_urdf": "buildmodelfromurdf from_urdf parse_urdf",
    "load_mjcf": "buildmodelfrommjcf from_mjcf from_xml_path from_xml_string mjmodel mj_loadxml",
    "load_sdf": "add_models buildmodelfromsdf from_sdf",
    "ModelBuilder": "builder robotbuilder multibodyplant add_body add_joint add_frame",
    "Model": "robot robotmodel robotwrapper rigidbodytree data mjdata createdata frames",
    "random_configuration": "random random_q random_state sample",
    "neutral": "zero_configuration home zeros neutral_configuration",
    "integrate": "mj_integratepos retract plus",
    "difference": "mj_differentiatepos local minus subtract",
    "interpolate": "slerp geodesic",
    "normalize": "mj_normalizequat normalize_configuration normalize_quaternions",
    "configuration": "set_configuration make_configuration",
    "coordinate_rates": "qdot mapvelocitytoqdot configuration_rates",
    "integrate_derivatives": "dintegrate dintegratetransport",
    "difference_derivatives": "ddifference mjd_subquat",
    "christoffel_symbols": "christoffel",
    "twists": "motion spatial",
    "lie": "se3 so3",
    "lie.exp": "exp6 exp3",
    "lie.log": "log6 log3",
    "lie.hat": "skew",
    "lie.vee": "unskew",
    "lie.Ad": "adjoint",
    "lie.quat_to_matrix": "quaternion",
    "lie.rpy_to_matrix": "rpy rpytomatrix",
    "inertia.transform": "transform_inertia",
    "plot": "plotting",
    "view": "visualize visualizer meshcatvisualizer meshcat viser launch_passive show render",
    "Constraints": "loop_constraint rigidconstraintmodel equality",
    "Weld": "contact_6d",
    "Point": "contact_3d",
    "constrained_dynamics": "constraintdynamics contact_dynamics forwarddynamicscontact lcaba",
    "constrained_dynamics_derivatives": "computeconstraintdynamicsderivatives",
    "impulse": "impulsedynamics",
}
"""Our name, and the words for it elsewhere; a word may stand for several of ours.

Capitals and underscores make no difference: ``computeMinverse`` is ``compute_minverse``.

A name inside of a public module is found without a word: ``jc.hat`` is ``jc.lie.hat``.
"""

_NO_DATA = "Functions need no data object, they return arrays."
_BATCHES = "Every function takes any leading axes, and broadcasts them."
_BUILDS = "A builder does it: builder.add_body(name, parent, joint=...)."

NOTES = {
    "data": _NO_DATA,
    "createdata": _NO_DATA,
    "mjdata": _NO_DATA,
    "vmap": _BATCHES,
    "batch": _BATCHES,
    "jit": "Functions are compiled already.",
    "addbody": _BUILDS,
    "addjoint": _BUILDS,
    "computeallterms": "There is a function for each term, and no order of calls.",
    "frames": "A model has them: model.frames.",
    "buildreducedmodel": "A model does it: model.lock({name: value}).",
    "appendmodel": "A model does it: model.attach(other, at=frame).",
    "referenceconfigurations": "A model has them: model.poses.",
}
"""What else to say about a word."""


def no_such_name(name: str, known: Iterable[str]) -> str:
    """Say that jounce has no such name, and what may be meant.

    Args:
        name: what was asked for.
        known: all public names, for words that only look like one of them.

    Examples:
        >>> no_such_name("rnea", [])
        "jounce has no 'rnea'; did you mean jc.inverse_dynamics?"
    """
    word = _plain(name)
    public = [ours for ours in known if not ours.startswith("_")]
    meant = [ours for ours, words in ELSEWHERE.items() if word in map(_plain, words.split())]
    meant = meant or [ours for ours in public if _plain(ours) == word]
    meant = meant or [f"{room}.{name}" for room in _ROOMS if name in _names_of(room)]
    if not meant and word not in NOTES:
        meant = close_names(name, public)
    message = f"jounce has no {name!r}{did_you_mean(f'jc.{ours}' for ours in meant)}"
    if word not in NOTES:
        return message
    return f"{message}{'' if meant else '.'} {NOTES[word]}"


def _plain(name: str) -> str:
    """The name without capitals and underscores."""
    return name.lower().replace("_", "")


_ROOMS = ("lie", "twists", "inertia", "models", "trajectories", "interop", "papers", "plot")
"""Modules of the package whose names are looked up, too."""


def _names_of(room: str) -> list[str]:
    """What a public module lists, without importing matplotlib or another library."""
    names: list[str] = getattr(import_module("jounce"), room).__all__
    return names
