"""Where the mass of a robot is."""

from __future__ import annotations

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model.model import Model, require_model

__all__ = ["center_of_mass", "total_mass"]


@kernel
def center_of_mass(
    model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Center of mass in the world, (..., 3) in m; the origin for a massless robot.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        out: (..., 3) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 3) position in the world, m.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
    """


def total_mass(model: Model) -> float:
    """Mass of all bodies, kg.

    Args:
        model: the robot.

    Returns:
        The sum of the bodies' masses; bodies that are fixed to the world are not among them.

    Raises:
        ArgumentTypeError: `model` is no model.
    """
    require_model(model)
    return float(model.inertias[:, 0].sum())
