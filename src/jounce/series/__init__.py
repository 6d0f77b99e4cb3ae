"""Time derivatives of the dynamics, of any order, as series.

A series stacks a quantity and its time derivatives along an axis: ``motion`` of order r is
(..., r+2, nv) = v, dv/dt, ..., d^(r+1)v/dt^(r+1); forces of order r are (..., r+1, nv) = tau,
dtau/dt, ..., d^r tau/dt^r. Derivatives are those of the components. Orders from 0 to 100.

Method: truncated Taylor series in body frames, where a body's inertia is constant and every
other step is a product of series; the cost grows with the square of the order and linearly with
the number of bodies. Paper: ali, Algorithms 1 to 4 (there with spatial twists).
"""

from jounce.series import _coupled  # noqa: F401, makes known what coupled models need
from jounce.series.accuracy import forward_dynamics_series_error
from jounce.series.dynamics import (
    HybridDynamicsSeries,
    forward_dynamics_series,
    hybrid_dynamics_series,
    inverse_dynamics_series,
)
from jounce.series.kinematics import body_motion_series, body_pose_series, jacobian_series

__all__ = [
    "HybridDynamicsSeries",
    "body_motion_series",
    "body_pose_series",
    "forward_dynamics_series",
    "forward_dynamics_series_error",
    "hybrid_dynamics_series",
    "inverse_dynamics_series",
    "jacobian_series",
]


def __dir__() -> list[str]:
    return sorted(__all__)
