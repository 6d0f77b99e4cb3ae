"""Linear maps from the inertial parameters of all bodies: what identification needs.

The parameters of a body are (m, m c_x, m c_y, m c_z, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) about the origin
of its frame, as in ``model.inertias``; those of all bodies follow one another.
"""

from __future__ import annotations

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model import Model

__all__ = [
    "kinetic_energy_regressor",
    "momentum_regressor",
    "potential_energy_regressor",
    "torque_regressor",
]


@kernel
def torque_regressor(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Matrix Y(q, v, a) of inverse dynamics, which is linear in the inertial parameters.

    ::

        tau = Y pi + armature * a

    Identity: ``torque_regressor(m, q, v, a) @ m.inertias.ravel() + m.armature * a`` is
    ``inverse_dynamics(m, q, v, a)``. The columns of a body are zero in the rows of joints that do
    not carry it.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., nv) accelerations.
        out: (..., nv, 10 n_bodies) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nv, 10 n_bodies) regressor.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> Y = jc.torque_regressor(arm, q, v, a)
        >>> bool(np.allclose(Y @ arm.inertias.ravel(), jc.inverse_dynamics(arm, q, v, a)))
        True
    """


@kernel
def kinetic_energy_regressor(
    model: Model, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Row y(q, v) of the kinetic energy, (..., 10 n_bodies).

    For a body with angular velocity w, linear velocity u, first moment h and inertia I along its
    own axes, ``m u.u / 2 + h.(u x w) + w.I w / 2``; so T = y pi + sum(armature v^2) / 2.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        out: (..., 10 n_bodies) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 10 n_bodies) regressor.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> Y = jc.kinetic_energy_regressor(arm, q, v)
        >>> bool(np.isclose(Y @ arm.inertias.ravel(), jc.kinetic_energy(arm, q, v)))
        True
    """


@kernel
def potential_energy_regressor(
    model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Row y(q) of the potential energy of gravity, (..., 10 n_bodies).

    For a body at position p with orientation R and first moment h, ``-g.(m p + R h)``; U = y pi.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        out: (..., 10 n_bodies) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 10 n_bodies) regressor.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q = arm.poses["home"]
        >>> Y = jc.potential_energy_regressor(arm, q)
        >>> bool(np.isclose(Y @ arm.inertias.ravel(), jc.potential_energy(arm, q)))
        True
    """


@kernel
def momentum_regressor(
    model: Model, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Matrix Y(q, v) of the momentum about the world's origin, (..., 6, 10 n_bodies).

    Identity: ``momentum_regressor(m, q, v) @ m.inertias.ravel()`` is ``momentum(m, q, v)``.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        out: (..., 6, 10 n_bodies) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 6, 10 n_bodies) regressor, moment (angular momentum) first.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> Y = jc.momentum_regressor(arm, q, v)
        >>> bool(np.allclose(Y @ arm.inertias.ravel(), jc.momentum(arm, q, v)))
        True
    """
