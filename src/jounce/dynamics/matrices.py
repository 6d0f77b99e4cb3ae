"""The mass matrix, its inverse and the Coriolis matrix."""

from __future__ import annotations

from jounce._core import kernel
from jounce._types import Array, ArrayLike
from jounce.model import Model

__all__ = [
    "coriolis_matrix",
    "inverse_mass_matrix",
    "mass_matrix",
]


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

    Returns:
        (..., nv, nv) matrix, both triangles.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: ``kinetic_energy(model, q, v) == v @ mass_matrix(model, q) @ v / 2``.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q = arm.poses["home"]
        >>> M = jc.mass_matrix(arm, q)
        >>> M.shape, bool(np.allclose(M, M.T)), bool((np.linalg.eigvalsh(M) > 0).all())
        ((7, 7), True, True)
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

    Returns:
        (..., nv, nv) matrix, both triangles.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Identity: ``mass_matrix(model, q) @ inverse_mass_matrix(model, q) == eye(nv)``.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q = arm.poses["home"]
        >>> bool(np.allclose(jc.inverse_mass_matrix(arm, q) @ jc.mass_matrix(arm, q), np.eye(7)))
        True
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

    Returns:
        (..., nv, nv) matrix.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: ``C v == bias_forces(model, q, v) - gravity_forces(model, q)``.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> C = jc.coriolis_matrix(arm, q, v)
        >>> rate = jc.mass_matrix_derivatives(arm, q) @ v
        >>> bool(np.allclose(rate - 2 * C, -(rate - 2 * C).T))
        True
    """
