"""The centroidal momentum matrix and its time derivative."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from jounce import inertia, lie
from jounce._out import deliver
from jounce.dynamics import center_of_mass, centroidal_momentum, total_mass
from jounce.joints import ELEMENTARY
from jounce.kinematics import body_poses, body_twists
from jounce.model import Model, require_model
from jounce.rates import rate_nodes

__all__ = ["centroidal_momentum_matrix", "centroidal_momentum_matrix_derivative"]

Array = npt.NDArray[np.float64]
ArrayLike = npt.ArrayLike


def centroidal_momentum_matrix(
    model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Centroidal momentum matrix A_G, (..., 6, nv).

    A_G v is the momentum (angular, linear) about the center of mass, along the world's axes.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        out: (..., 6, nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Identity: ``A_G @ v == centroidal_momentum(model, q, v)``.
    """
    require_model(model)
    q = _near_the_origin(model, q)
    columns = centroidal_momentum(model, _per_rate(q), np.eye(model.nv), threads=threads)
    return deliver(np.ascontiguousarray(columns.swapaxes(-1, -2)), out)


def centroidal_momentum_matrix_derivative(
    model: Model, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Time derivative of the centroidal momentum matrix along v, (..., 6, nv).

    With the body-fixed Jacobians J_l and inertias I_l of the bodies, their poses H_l relative to
    the center of mass and the body twists V'_l of these,

        A_G = sum_l Ad(H_l)^-T I_l J_l,
        dA_G/dt = sum_l Ad(H_l)^-T (I_l dJ_l/dt - ad(V'_l)^T I_l J_l),

    and dJ_l/dt from brackets of columns (mueller, eq. 12).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        out: (..., 6, nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Identity: the momentum's derivative is ``A_G @ a + centroidal_momentum_matrix_derivative @ v``,
    the sum of gravity and the external wrenches about the center of mass.
    """
    require_model(model)
    q = _near_the_origin(model, q)
    V = body_twists(model, q, v, threads=threads)  # (..., n_bodies, 6)
    rates = np.asarray(v, float)
    H = body_poses(model, q, threads=threads)
    H[..., :3, 3] -= center_of_mass(model, q, threads=threads)[..., None, :]
    # (..., n_bodies, 6, nv)
    J = np.moveaxis(body_twists(model, _per_rate(q), np.eye(model.nv), threads=threads), -3, -1)
    node = rate_nodes(model)
    after = J * rates[..., None, None, :] @ (node[:, None] > node)  # [i, j]: i after j
    dJ = np.einsum("...jab,...bj->...aj", lie.ad(J.swapaxes(-1, -2)), after)
    inertias = inertia.matrix(model.inertias)
    momenta = inertias @ J
    drift = np.zeros((*V.shape[:-2], 1, 3))  # velocity of the center of mass
    to_com = np.swapaxes(lie.Ad(lie.inverse(H)), -1, -2)
    total = (to_com @ momenta).sum(-3)
    if mass := total_mass(model):
        drift[..., 0, :] = (total[..., 3:, :] @ rates[..., None])[..., 0] / mass
    V[..., 3:] -= np.einsum("...lji,...lj->...li", H[..., :3, :3], drift)
    turned = np.swapaxes(lie.ad(V), -1, -2) @ momenta
    return deliver((to_com @ (inertias @ dJ - turned)).sum(-3), out)


def _per_rate(q: ArrayLike) -> Array:
    array = np.asarray(q)
    return array[..., None, :] if array.ndim else array


def _near_the_origin(model: Model, q: ArrayLike) -> ArrayLike:
    """Bring a robot with one root to the origin: the results do not depend on where it is.

    Positions far from the origin have fewer digits behind the point.
    """
    carrying = _carrying_coordinates(model)
    array = np.array(q, float)
    if not carrying or array.shape[-1:] != (model.nq,) or not np.all(np.isfinite(array)):
        return q  # the kernels say what is wrong
    array[..., carrying] = 0.0
    return array


def _carrying_coordinates(model: Model) -> list[int]:
    """Coordinates that move the robot as a whole without turning it.

    Those of the first slides, as long as nothing with a mass is left behind, and the position of a
    free joint after them.
    """
    nodes = model.nodes
    found: list[int] = []
    for i, kind in enumerate(nodes.kind):
        alone = np.count_nonzero(nodes.parent == i - 1) == 1
        if not alone or nodes.parent[i] != i - 1 or (i and nodes.parameters[i - 1].any()):
            break
        start = int(nodes.q_index[i])
        if ELEMENTARY[kind] == "free":
            return [*found, *range(start + 4, start + 7)]
        if ELEMENTARY[kind] != "prismatic":
            break
        found.append(start)
    return found
