"""Equations of motion of coupled models, solved for accelerations by their mass matrix.

With the mass matrix M = G^T M_e G and the bias forces b = G^T b_e of `jounce.model.coupled`, which
the functions of this package give for a coupled model,

    (1)  u' = M^-1 (tau - b).

If the accelerations of some rates P are prescribed, and F are the others,

    (2)  M_FF u'_F = tau_F - (M_FP u'_P + b_F),   tau_P = (M u' + b)_P.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from jounce._core import algebra
from jounce._core.coupled import coupled
from jounce._core.words import place_of
from jounce._types import Array, ArrayLike, Integers
from jounce.dynamics.equations import bias_forces, inverse_dynamics
from jounce.dynamics.matrices import mass_matrix
from jounce.errors import SingularError

if TYPE_CHECKING:
    from jounce.model.coupled import CoupledModel

__all__ = ["free_rates", "inverse_of", "solve"]


def solve(model: CoupledModel, M: Array, force: Array, rates: Integers | None = None) -> Array:
    """Accelerations (..., n) that forces (..., n) give rates with the mass matrix M (..., n, n).

    Args:
        model: the robot, by which an error names a joint.
        M: mass matrix.
        force: forces.
        rates: which rates of the model these are; by default all.

    Raises:
        SingularError: a joint moves no inertia; it is named.
    """
    _require_definite(model, M, rates)
    return cast("Array", algebra.solve(M, force[..., None])[..., 0])


def inverse_of(model: CoupledModel, M: Array, rates: Integers | None = None) -> Array:
    """Inverse of a mass matrix; as `solve`."""
    _require_definite(model, M, rates)
    inverse = algebra.inv(M)
    symmetric: Array = 0.5 * (inverse + inverse.swapaxes(-1, -2))
    return symmetric


def _require_definite(model: CoupledModel, M: Array, rates: Integers | None) -> None:
    """Refuse a mass matrix with a pivot that is nothing but rounding errors."""
    M, n = M.real, M.shape[-1]
    slack = 16 * max(n, 1) * np.finfo(float).eps
    pivots = M.copy()
    for k in range(n):
        pivot = pivots[..., k, k]
        small = ~(pivot > slack * M[..., k, k])
        if small.any():
            at = np.unravel_index(int(np.flatnonzero(small.ravel())[0]), small.shape)
            rate = k if rates is None else int(rates[k])
            joint = next(j for j in model.joint_names if _has(model.v_slice(j), rate))
            raise SingularError(
                f"the inertia that joint {joint!r} moves, with those that follow it, vanishes"
                f"{place_of(at)}, so its acceleration is undefined; give the body an inertia, the "
                "joint an armature, or prescribe its acceleration"
            )
        row = pivots[..., k, k + 1 :]
        scaled = row / pivot[..., None]
        pivots[..., k + 1 :, k + 1 :] -= scaled[..., :, None] * row[..., None, :]


def _has(part: slice, k: int) -> bool:
    return k in range(part.start, part.stop)


def free_rates(prescribed: ArrayLike) -> Integers:
    """Rates whose acceleration is not prescribed."""
    return np.flatnonzero(~np.asarray(prescribed, bool))


@coupled("forward_dynamics")
def _forward_dynamics(
    model: CoupledModel,
    q: Array,
    v: Array,
    tau: Array,
    f_ext: Array | None = None,
    *,
    threads: int,
) -> Array:
    b = bias_forces(model, q, v, f_ext, threads=threads)
    return solve(model, mass_matrix(model, q, threads=threads), tau - b)  # (1)


@coupled("inverse_mass_matrix")
def _inverse_mass_matrix(model: CoupledModel, q: Array, *, threads: int) -> Array:
    return inverse_of(model, mass_matrix(model, q, threads=threads))


@coupled("hybrid_dynamics")
def _hybrid_dynamics(
    model: CoupledModel,
    q: Array,
    v: Array,
    a: Array,
    tau: Array,
    prescribed: ArrayLike,
    f_ext: Array | None = None,
    *,
    threads: int,
) -> tuple[Array, Array]:
    free = free_rates(prescribed)
    M = mass_matrix(model, q, threads=threads)[..., free[:, None], free]
    known = np.where(prescribed, a, 0.0)
    rest = inverse_dynamics(model, q, v, known, f_ext, threads=threads)[..., free]
    found = solve(model, M, tau[..., free] - rest, free)  # (2)
    own = np.broadcast_to(known, (*found.shape[:-1], model.nv)).copy()
    own[..., free] = found
    force = inverse_dynamics(model, q, v, own, f_ext, threads=threads)
    return own, np.where(prescribed, force, tau)
