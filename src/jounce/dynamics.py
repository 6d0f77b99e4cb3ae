"""Inverse, forward and hybrid dynamics; mass matrix, forces, energies, momentum.

Every function takes a `Model` and arrays with any leading batch axes, which broadcast like
NumPy's. ``out=`` reuses an array, ``threads=`` splits a batch over cores (0: all of them). The
equations of motion are

    M(q) a + b(q, v) = tau + sum_i J_i^T f_ext_i,

with the bias forces b holding Coriolis, centrifugal and gravity terms. Joint damping and
friction are not part of them, see `passive_forces`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jounce._core import kernel
from jounce.model import Model, require_model

__all__ = [
    "bias_forces",
    "center_of_mass",
    "centroidal_momentum",
    "coriolis_matrix",
    "forward_dynamics",
    "gravity_forces",
    "hybrid_dynamics",
    "inverse_dynamics",
    "inverse_mass_matrix",
    "kinetic_energy",
    "mass_matrix",
    "momentum",
    "passive_forces",
    "potential_energy",
    "total_mass",
]

Array = npt.NDArray[np.float64]
ArrayLike = npt.ArrayLike


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
        ValueError: a wrong shape, a number that is not finite, or a quaternion whose norm
            differs from 1 by more than 1e-3 (nearer ones are normalized).

    Identity: ``forward_dynamics(model, q, v, inverse_dynamics(model, q, v, a)) == a``.
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
        ValueError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia (a massless leaf); it is named.

    Identity: ``inverse_dynamics(model, q, v, forward_dynamics(model, q, v, tau)) == tau``.
    """


@kernel
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
) -> tuple[Array, Array]:
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
        (a, tau), both (..., nv) and complete.

    Raises:
        ValueError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint that is not prescribed moves no inertia; it is named.

    Identity: all prescribed is inverse dynamics, none prescribed is forward dynamics.
    """


@kernel
def mass_matrix(model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
    """Mass matrix M(q), (..., nv, nv), symmetric positive definite, armature included.

    From composite inertias; nothing is computed for bodies on different branches, whose entries
    are zero.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        out: (..., nv, nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Identity: ``kinetic_energy(model, q, v) == v @ mass_matrix(model, q) @ v / 2``.
    """


@kernel
def inverse_mass_matrix(
    model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Inverse of the mass matrix, (..., nv, nv), without forming the mass matrix.

    bos, Table 9, generalized to all joint types.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        out: (..., nv, nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Raises:
        SingularError: a joint moves no inertia; it is named.

    Identity: ``mass_matrix(model, q) @ inverse_mass_matrix(model, q) == eye(nv)``.
    """


@kernel
def coriolis_matrix(
    model: Model, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Admissible Coriolis matrix C(q, v), (..., nv, nv), in O(n depth).

    C v is the bias without gravity, dM/dt - 2 C is skew-symmetric (ali, Lemma 1), and C is
    linear in v with `christoffel_symbols` as coefficients.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        out: (..., nv, nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Identity: ``C v == bias_forces(model, q, v) - gravity_forces(model, q)``.
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

    Identity: ``bias_forces(model, q, v) == inverse_dynamics(model, q, v, 0)``.
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

    Identity: g is the gradient of `potential_energy` in the tangent space.
    """


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
    """


@kernel
def potential_energy(
    model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Potential energy of gravity, (...) in J, zero at the world's origin.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        out: (...) array to write to.
        threads: number of threads for a batch; 0 uses all cores.
    """


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
    """


@kernel
def centroidal_momentum(
    model: Model, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Momentum (angular, linear) about the center of mass, along the world's axes, (..., 6).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        out: (..., 6) array to write to.
        threads: number of threads for a batch; 0 uses all cores.
    """


def total_mass(model: Model) -> float:
    """Mass of all bodies, kg."""
    require_model(model)
    return float(model.inertias[:, 0].sum())


def passive_forces(model: Model, v: ArrayLike) -> Array:
    """Forces of joint damping and friction, ``-damping * v - friction * sign(v)``.

    They are never mixed into inverse or forward dynamics; add them to tau where they belong.

    Args:
        model: the robot.
        v: (..., nv) rates.

    Returns:
        (..., nv) generalized forces; the power ``passive_forces(model, v) @ v`` is never positive.
    """
    require_model(model)
    rates = np.asarray(v)
    if rates.dtype.kind not in "fiub":
        raise ValueError(f"v must be an array of real numbers, got dtype {rates.dtype}")
    if rates.shape[-1:] != (model.nv,):
        raise ValueError(
            f"v must have shape (..., {model.nv}), that is (..., nv) of this model, "
            f"got {rates.shape}"
        )
    if not np.all(np.isfinite(rates)):
        raise ValueError("v must be finite")
    forces: Array = -model.damping * rates - model.friction * np.sign(rates)
    return forces
