"""Higher-order dynamics of floating-base robots with spatial twists.

A. Ali, C. Gabellieri, A. Franchi, "Lie Group Formulation of Recursive Dynamics Algorithms of Higher
Order for Floating-Base Robots", 2026.

Everything is expressed in the inertial frame: spatial twists, screws, inertias and wrenches, and
their component-wise time derivatives of any order. Bodies are those of ``model.nodes``, body 0
here being the paper's body 1, the base. For a fixed-base robot the base is the ground, an extra
first body whose motion is zero. `from_jounce`, `forces_to_jounce` and `accelerations_to_jounce`
translate from and to the arrays of the compiled core. ``docs/papers/ali.md`` maps every item of the
paper to its function and lists the paper's errata.
"""

from jounce.papers.ali.aerial import (
    Kinematics3,
    Reference,
    Table5b,
    Table5d,
    propeller_wrench,
    reference_trajectory,
    table_5a,
    table_5b,
    table_5c_5d,
)
from jounce.papers.ali.articulated import (
    Articulated,
    HybridDynamics,
    articulated_inertias,
    forward_dynamics,
    hybrid_dynamics,
)
from jounce.papers.ali.closed_form import (
    EquationsOfMotion,
    Grouped,
    coriolis_matrix,
    equations_of_motion,
    equations_of_motion_rate,
    group,
)
from jounce.papers.ali.derivatives import (
    applied_wrench,
    coadjoint_derivatives,
    coadjoint_rate,
    gravity_wrench,
    inertia_derivatives,
    inertia_rate,
    momentum_bias,
    momentum_rate,
    spatial_inertia,
)
from jounce.papers.ali.inverse import InverseDynamics, generalized_force, inverse_dynamics
from jounce.papers.ali.kinematics import (
    Kinematics,
    forward_kinematics,
    pose_derivatives,
    screw_rate,
    twist_bias,
)
from jounce.papers.ali.tree import (
    Home,
    PaperArrays,
    Tree,
    accelerations_to_jounce,
    forces_to_jounce,
    from_jounce,
    home,
    home_screw,
    initialize,
)

__all__ = [
    "Articulated",
    "EquationsOfMotion",
    "Grouped",
    "Home",
    "HybridDynamics",
    "InverseDynamics",
    "Kinematics",
    "Kinematics3",
    "PaperArrays",
    "Reference",
    "Table5b",
    "Table5d",
    "Tree",
    "accelerations_to_jounce",
    "applied_wrench",
    "articulated_inertias",
    "coadjoint_derivatives",
    "coadjoint_rate",
    "coriolis_matrix",
    "equations_of_motion",
    "equations_of_motion_rate",
    "forces_to_jounce",
    "forward_dynamics",
    "forward_kinematics",
    "from_jounce",
    "generalized_force",
    "gravity_wrench",
    "group",
    "home",
    "home_screw",
    "hybrid_dynamics",
    "inertia_derivatives",
    "inertia_rate",
    "initialize",
    "inverse_dynamics",
    "momentum_bias",
    "momentum_rate",
    "pose_derivatives",
    "propeller_wrench",
    "reference_trajectory",
    "screw_rate",
    "spatial_inertia",
    "table_5a",
    "table_5b",
    "table_5c_5d",
    "twist_bias",
]


def __dir__() -> list[str]:
    return sorted(__all__)
