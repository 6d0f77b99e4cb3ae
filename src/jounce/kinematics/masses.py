"""Where the mass of a robot is, and how its center moves."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from jounce._core import kernel
from jounce._types import Array, ArrayLike, Bodies
from jounce.model.model import Model, require_model

__all__ = [
    "CenterOfMassDerivatives",
    "center_of_mass",
    "center_of_mass_derivatives",
    "center_of_mass_jacobian",
    "center_of_mass_jacobian_rate",
    "subtree_centers_of_mass",
    "subtree_masses",
    "total_mass",
]


class CenterOfMassDerivatives(NamedTuple):
    """Derivatives of the velocity of the center of mass, (..., 3, nv) each; ``dv`` is J.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> d = jc.center_of_mass_derivatives(arm, q, v)
        >>> bool(np.allclose(d.dv, jc.center_of_mass_jacobian(arm, q)))
        True
    """

    dq: Array
    dv: Array


@kernel
def center_of_mass(
    model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Center of mass in the world, (..., 3) in m; the origin for a massless robot.

    Links that are fixed to the world do not count, as in Pinocchio; Drake and MuJoCo count them.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        out: (..., 3) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 3) position in the world, m.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> jc.center_of_mass(dog, dog.poses["standing"])[:2].round(2) + 0.0
        array([0., 0.])
    """


def total_mass(model: Model) -> float:
    """Mass of all bodies, kg.

    Links that are fixed to the world do not count, as in Pinocchio; Drake and MuJoCo count them.

    Args:
        model: the robot.

    Returns:
        The sum of the bodies' masses.

    Raises:
        ArgumentTypeError: `model` is no model.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> bool(np.isclose(jc.total_mass(dog), dog.inertias[:, 0].sum()))
        True
    """
    require_model(model)
    return float(model.inertias[:, 0].sum())


def subtree_masses(model: Model) -> Array:
    """Masses of what each body carries, itself included, (n_bodies,) in kg.

    Links that are fixed to the world are no bodies and count nowhere, as in Pinocchio; MuJoCo's
    ``body_subtreemass`` of the world, and of roots that are fixed to it, counts them.

    Args:
        model: the robot.

    Returns:
        (n_bodies,) sums of the masses of a body and of all that follow it in the tree.

    Raises:
        ArgumentTypeError: `model` is no model.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> bool(np.isclose(jc.subtree_masses(arm)[0], arm.inertias[:, 0].sum()))
        True
    """
    require_model(model)
    masses = model.inertias[:, 0].tolist()
    parents = model.parents.tolist()
    for body in range(len(masses) - 1, -1, -1):
        if parents[body] >= 0:
            masses[parents[body]] += masses[body]
    return np.array(masses, float)


@kernel
def subtree_centers_of_mass(
    model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Centers of mass of what each body carries, itself included, (..., n_bodies, 3) in m.

    MuJoCo's ``subtree_com`` without the world, and without links that are fixed to it, which are
    no bodies and do not count. `center_of_mass_jacobian` with a body gives the Jacobian of one of
    them.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        out: (..., n_bodies, 3) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., n_bodies, 3) positions in the world, m; the origin of a body that carries no mass.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> jc.subtree_centers_of_mass(arm, arm.poses["home"]).shape
        (7, 3)
    """


@kernel
def center_of_mass_jacobian(
    model: Model,
    q: ArrayLike,
    body: Bodies | None = None,
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Jacobian of the center of mass, (..., 3, nv): its velocity along the world's axes is J v.

    A joint moves the mass m with the first moment h about its origin; of the total mass M, its
    screw (w, u) moves the center by ``(m u - h x w) / M``, O(n). Links that are fixed to the world
    do not count in M, as in Pinocchio; Drake and MuJoCo count them.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        body: a body (name or index), a frame fixed to it, or a list of them: then the center of
            mass is that of what the body carries, itself included. None is all bodies.
        out: (..., 3, nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 3, nv) Jacobian; zero for a massless robot.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        UnknownNameError: an unknown body or frame.

    Identity: ``total_mass(model) * J`` are the linear rows of `centroidal_momentum_matrix`.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> jc.center_of_mass_jacobian(dog, dog.poses["standing"]).shape
        (3, 18)
    """


@kernel
def center_of_mass_jacobian_rate(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    body: Bodies | None = None,
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Time derivative of the Jacobian of the center of mass along v, (..., 3, nv).

    Links that are fixed to the world do not count, see `center_of_mass_jacobian`.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        body: a body (name or index), a frame fixed to it, or a list of them: then the center of
            mass is that of what the body carries, itself included. None is all bodies.
        out: (..., 3, nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 3, nv) derivatives of the Jacobian's entries.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        UnknownNameError: an unknown body or frame.

    Identity: the acceleration of the center of mass is ``J a + rate v``.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> jc.center_of_mass_jacobian_rate(arm, q, v).shape
        (3, 7)
    """


@functools.partial(kernel, result=CenterOfMassDerivatives)
def center_of_mass_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    body: Bodies | None = None,
    *,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> CenterOfMassDerivatives:
    """Derivatives of the velocity of the center of mass, along the world's axes, by q and v.

    If q moves along a screw s = (w, u) of a joint, what the joint moves (mass m, first moment h,
    linear momentum f) moves as one body, but for the velocities that it has from the joint's
    parent, whose twist is V: the velocity changes by ``(w x f - m u' + h x w') / M`` with
    ``(w', u') = [s, V]``, O(n). Links that are fixed to the world do not count, see
    `center_of_mass_jacobian`.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        body: a body (name or index), a frame fixed to it, or a list of them: then the center of
            mass is that of what the body carries, itself included. None is all bodies.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (dq, dv), (..., 3, nv) each; dq in the tangent space of q, dv is
        `center_of_mass_jacobian`.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        UnknownNameError: an unknown body or frame.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> d = jc.center_of_mass_derivatives(arm, q, v)
        >>> bool(np.allclose(d.dv, jc.center_of_mass_jacobian(arm, q)))
        True
    """
