"""Inverse, forward and hybrid dynamics, and the forces at rest and at constant rates."""

from __future__ import annotations

import functools
from typing import NamedTuple

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model import Model

__all__ = [
    "HybridDynamics",
    "bias_forces",
    "forward_dynamics",
    "gravity_forces",
    "hybrid_dynamics",
    "inverse_dynamics",
]


@kernel
def inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Generalized forces that give the accelerations a.

    tau = M(q) a + b(q, v) - sum_i J_i^T f_ext_i, by the recursive Newton-Euler algorithm in body
    frames (mueller, eq. 66-67; kim, Table 2; ali, Algorithms 1 and 2 at order 0), O(n).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates; a free joint's are its body-fixed twist (angular, linear).
        a: (..., nv) derivatives of the components of v.
        f_ext: (..., n_bodies, 6) wrenches (moment, force) on the bodies, each in and at the
            origin of its body's frame.
        out: (..., nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nv) generalized forces, conjugate to v.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a quaternion whose norm
            differs from 1 by more than 1e-3 (nearer ones are normalized).

    Identity: ``forward_dynamics(model, q, v, inverse_dynamics(model, q, v, a)) == a``.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> M, b = jc.mass_matrix(arm, q), jc.bias_forces(arm, q, v)
        >>> bool(np.allclose(jc.inverse_dynamics(arm, q, v, a), M @ a + b))
        True
        >>> jc.inverse_dynamics(arm, np.zeros((1000, 7)), v, a).shape  # leading axes are batches
        (1000, 7)
    """


@kernel
def forward_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Accelerations that the generalized forces tau give.

    Solves M(q) a = tau - b(q, v) + sum_i J_i^T f_ext_i with articulated inertias (kim, Table 3;
    ali, Algorithm 3 at order 0), O(n).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., nv) generalized forces, conjugate to v.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies.
        out: (..., nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nv) derivatives of the components of v.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia (a massless leaf); it is named.

    Identity: ``inverse_dynamics(model, q, v, forward_dynamics(model, q, v, tau)) == tau``.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> tau = jc.inverse_dynamics(arm, q, v, a)
        >>> bool(np.allclose(jc.forward_dynamics(arm, q, v, tau), a))
        True
    """


class HybridDynamics(NamedTuple):
    """Accelerations and forces, both complete: the given entries and the computed ones.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> found = jc.hybrid_dynamics(arm, q, v, a, 0 * a, prescribed=[True, False])
        >>> float(found.a[0]), float(found.tau[1])  # as given
        (1.0, 0.0)
    """

    a: Array
    """(..., nv) derivatives of the components of v."""
    tau: Array
    """(..., nv) generalized forces."""


@functools.partial(kernel, result=HybridDynamics)
def hybrid_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    tau: ArrayLike,
    prescribed: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> HybridDynamics:
    """Solve for the accelerations of some rates and the forces of the others.

    Where `prescribed` is True the acceleration is an input and the force is computed; where it is
    False the other way round. The mask may cut through a multi-DoF joint or single out the base.
    (kim, Table 4; ali, Algorithm 4 at order 0), O(n).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., nv) accelerations; read where prescribed, ignored elsewhere (even if nan).
        tau: (..., nv) forces; read where not prescribed, ignored elsewhere.
        prescribed: (nv,) bool mask over the rates, the same for the whole batch.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies.
        out: pair of (..., nv) arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (a, tau), both (..., nv) and complete.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint that is not prescribed moves no inertia; it is named.

    Identity: all prescribed is inverse dynamics, none prescribed is forward dynamics.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> tau = jc.inverse_dynamics(arm, q, v, a)
        >>> held = np.arange(7) < 3  # three accelerations and four torques are given
        >>> found = jc.hybrid_dynamics(arm, q, v, a, tau, held)
        >>> bool(np.allclose(found.a, a) and np.allclose(found.tau, tau))
        True
    """


@kernel
def bias_forces(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Bias forces b(q, v): Coriolis, centrifugal and gravity terms, less external wrenches.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies.
        out: (..., nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nv) generalized forces.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: ``bias_forces(model, q, v) == inverse_dynamics(model, q, v, 0)``.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> bool(np.allclose(jc.bias_forces(arm, q, v), jc.inverse_dynamics(arm, q, v, 0 * a)))
        True
    """


@kernel
def gravity_forces(
    model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Forces g(q) that hold the robot still against gravity, (..., nv).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        out: (..., nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nv) generalized forces.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: g is the gradient of `potential_energy` in the tangent space.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q = arm.poses["home"]
        >>> rest = np.zeros(7)
        >>> bool(np.allclose(jc.gravity_forces(arm, q), jc.inverse_dynamics(arm, q, rest, rest)))
        True
    """
