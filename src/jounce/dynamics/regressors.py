"""Linear maps from the inertial parameters of all bodies: what identification needs.

The parameters of a body are (m, m c_x, m c_y, m c_z, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) about the origin
of its frame, as in ``model.inertias``; those of all bodies follow one another.
"""

from __future__ import annotations

from typing import NamedTuple

from jounce._core import kernel, raw
from jounce._types import Array, ArrayLike, Index
from jounce.model import Model
from jounce.model.model import require_model
from jounce.model.nodes import carried_bodies

__all__ = [
    "RegressorPattern",
    "kinetic_energy_regressor",
    "momentum_regressor",
    "potential_energy_regressor",
    "torque_regressor",
    "torque_regressor_blocks",
    "torque_regressor_pattern",
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


class RegressorPattern(NamedTuple):
    """Where a torque regressor is not zero: ten columns of a body in the rows that carry it.

    Examples:
        >>> pattern = jc.torque_regressor_pattern(jc.models.chain(3))
        >>> pattern.rates.tolist(), pattern.bodies.tolist()
        ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])
    """

    rates: Index
    """(n_blocks,) the row of each block, in increasing order."""
    bodies: Index
    """(n_blocks,) the body of each, in increasing order within a row."""


def torque_regressor_pattern(model: Model) -> RegressorPattern:
    """Rate and body of each block of `torque_regressor_blocks`, the same for all states.

    Args:
        model: the robot.

    Returns:
        Named tuple ``rates``, ``bodies``, (n_blocks,) each.

    Raises:
        ArgumentTypeError: there is no model.

    Examples:
        >>> robot = jc.models.quadruped()
        >>> pattern = jc.torque_regressor_pattern(robot)
        >>> len(pattern.rates), robot.nv * robot.n_bodies
        (102, 234)
    """
    require_model(model)
    return RegressorPattern(*carried_bodies(model.nodes))


_blocks = raw("torque_blocks", "torque_regressor_blocks", inputs="q v a")


def torque_regressor_blocks(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """The torque regressor without its zeros, which are most of it if a robot has branches.

    ``blocks[..., k, :]`` are columns ``10 bodies[k]`` to ``10 bodies[k] + 9`` of row ``rates[k]``
    of `torque_regressor`, with `torque_regressor_pattern`. As a matrix of SciPy::

        start = np.searchsorted(pattern.rates, np.arange(model.nv + 1))
        scipy.sparse.bsr_array((blocks[:, None], pattern.bodies, start))

    Args:
        model: the robot, without coupled joints.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., nv) accelerations.
        out: (..., n_blocks, 10) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., n_blocks, 10) blocks.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        ModelError: the model has coupled joints.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> blocks = jc.torque_regressor_blocks(arm, q, v, a)
        >>> rates, bodies = jc.torque_regressor_pattern(arm)
        >>> Y = np.zeros((arm.nv, arm.n_bodies, 10))
        >>> Y[rates, bodies] = blocks
        >>> bool(np.all(Y.reshape(7, -1) == jc.torque_regressor(arm, q, v, a)))
        True
    """
    blocks: Array = _blocks(model, q, v, a, out=out, threads=threads)
    return blocks


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
    Links that are fixed to the world are left out, see `potential_energy`.

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
