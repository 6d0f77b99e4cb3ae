"""Geometric linearization of moving-base dynamics, after Bos, Traversaro, Pucci and Saccon.

"Efficient Geometric Linearization of Moving-Base Rigid Robot Dynamics". The paper's recursions
in its own notation: six-vectors are (linear, angular), the base's twist is left-trivialized
(body-fixed), body 0 is the moving base, the base's rows and columns come first.
`state_of` and `velocity_matrix` lead from jounce's coordinates and order to the paper's and back.
All functions accept complex arrays, so a complex step through them gives exact derivatives.

==========================  ======================================================
Table 4, eq. 39, 58         `EIDAmb`, `extended`, `ID`, `consistent_acceleration`
Table 5, 6, 7, 8            `dID_dH`, `dID_ds`, `dID_dv`, `dID_dr`
Table 9                     `IMMAmb`
eq. 19, 36                  `FD`
eq. 22, 42; 23, 31; 53      `A`; `B`; `dFD`
eq. 24; 27                  `vector_field`; `ad_lambda`
Sec. 5, eq. 82-91           `random_system`, `finite_differences`, `errors`
==========================  ======================================================
"""

from jounce.papers.bos.algebra import (
    State,
    X,
    bar,
    cross,
    cross_dual,
    gravity,
    reorder,
    state_of,
    velocity_matrix,
)
from jounce.papers.bos.derivatives import dID_dH, dID_dr, dID_ds, dID_dv
from jounce.papers.bos.dynamics import (
    FD,
    ID,
    EIDAmb,
    Extended,
    IMMAmb,
    consistent_acceleration,
    extended,
)
from jounce.papers.bos.linearization import (
    A,
    B,
    Derivatives,
    Errors,
    Random,
    ad_lambda,
    dFD,
    errors,
    finite_differences,
    moved,
    random_system,
    vector_field,
)

__all__ = [
    "FD",
    "ID",
    "A",
    "B",
    "Derivatives",
    "EIDAmb",
    "Errors",
    "Extended",
    "IMMAmb",
    "Random",
    "State",
    "X",
    "ad_lambda",
    "bar",
    "consistent_acceleration",
    "cross",
    "cross_dual",
    "dFD",
    "dID_dH",
    "dID_dr",
    "dID_ds",
    "dID_dv",
    "errors",
    "extended",
    "finite_differences",
    "gravity",
    "moved",
    "random_system",
    "reorder",
    "state_of",
    "vector_field",
    "velocity_matrix",
]


def __dir__() -> list[str]:
    return sorted(__all__)
