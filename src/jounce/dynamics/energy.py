"""Energies and the momentum about the world's origin."""

from __future__ import annotations

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model import Model

__all__ = [
    "kinetic_energy",
    "momentum",
    "potential_energy",
]


@kernel
def kinetic_energy(
    model: Model, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Kinetic energy, (...) in J, with that of the rotors (armature).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        out: (...) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (...) energies, J.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> bool(np.isclose(jc.kinetic_energy(arm, q, v), v @ jc.mass_matrix(arm, q) @ v / 2))
        True
    """


@kernel
def potential_energy(
    model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Potential energy of gravity, (...) in J, zero at the world's origin.

    That of links that are fixed to the world, a constant, is left out, as in Pinocchio; Drake and
    MuJoCo count it.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        out: (...) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (...) energies, J.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> float(jc.potential_energy(arm, arm.poses["home"])) > 0
        True
    """


@kernel
def momentum(
    model: Model, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Spatial momentum (angular, linear) about the world's origin, along its axes, (..., 6).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        out: (..., 6) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 6) momentum (angular, linear).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Examples:
        >>> robot = jc.models.aerial_manipulator()
        >>> q, v = jc.neutral(robot), np.eye(robot.nv)[3]
        >>> jc.momentum(robot, q, v).shape
        (6,)
    """
