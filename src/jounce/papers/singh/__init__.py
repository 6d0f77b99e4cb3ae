"""Partial derivatives of rigid-body dynamics, after Singh, Russell and Wensing.

"Efficient Analytical Derivatives of Rigid-Body Dynamics using Spatial Vector Algebra". The
paper's algorithms in its own notation: six-vectors are (angular, linear) in the ground frame,
joints have up to six rates, derivatives in q go along the columns of S_i (jounce's tangent space).
All functions accept complex arrays, so a complex step through them gives exact derivatives.

==========================  ======================================================
eq. 8-14                    `first_pass`, `torque_terms`, `RNEA`
Algorithm 1; Fig. 3         `IDSVA`; `IDSVA_body`
eq. 25; 26, 27; 29          `mass_dq`; `coriolis_dq`; `gravity_dq`
eq. 30, 31; 32              `torque_dq`; `torque_dqd`
Appendix B, P1-P7           `P`
Appendix C, J1-J9           `J1` ... `J9`
eq. 4, 33; 34               `ABA`; `AZA`
Sec. IV-E, eq. 5            `FDSVA` with `DMM` or `AZA`
Table II                    `RNEACR`, `FDCR`, `ABACR`
==========================  ======================================================
"""

from jounce.papers.joints import joint_poses
from jounce.papers.singh.body import IDSVA_body
from jounce.papers.singh.forward import (
    ABA,
    ABACR,
    AZA,
    DMM,
    FDCR,
    FDSVA,
    Articulated,
    ForwardPartials,
    articulated,
    inverse_mass_matrix,
)
from jounce.papers.singh.ground import (
    RNEA,
    Ground,
    TorqueTerms,
    bar,
    cross,
    cross_dual,
    first_pass,
    torque_terms,
)
from jounce.papers.singh.identities import J1, J2, J3, J4, J5, J6, J7, J8, J9, P
from jounce.papers.singh.inverse import (
    IDSVA,
    RNEACR,
    Partials,
    coriolis_dq,
    gravity_dq,
    mass_dq,
    torque_dq,
    torque_dqd,
)

__all__ = [
    "ABA",
    "ABACR",
    "AZA",
    "DMM",
    "FDCR",
    "FDSVA",
    "IDSVA",
    "J1",
    "J2",
    "J3",
    "J4",
    "J5",
    "J6",
    "J7",
    "J8",
    "J9",
    "RNEA",
    "RNEACR",
    "Articulated",
    "ForwardPartials",
    "Ground",
    "IDSVA_body",
    "P",
    "Partials",
    "TorqueTerms",
    "articulated",
    "bar",
    "coriolis_dq",
    "cross",
    "cross_dual",
    "first_pass",
    "gravity_dq",
    "inverse_mass_matrix",
    "joint_poses",
    "mass_dq",
    "torque_dq",
    "torque_dqd",
    "torque_terms",
]


def __dir__() -> list[str]:
    return sorted(__all__)
