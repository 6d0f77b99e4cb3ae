"""Motion equations in closed form: Euler-Jourdain and Lagrange (Sec. 5).

Valid for all joints; with rates that are not derivatives of coordinates (spherical, free) the
projection of the Newton-Euler equations (eq. 78) still gives the motion equations, and the symbols
of eq. 86, 87 are the coefficients, symmetric in the last two indices, of its quadratic terms. The
classical statement of eq. 80 with partial derivatives of the kinetic energy needs 1-DoF joints.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jounce import lie
from jounce._core.algebra import einsum
from jounce._types import AnyArray
from jounce.errors import ArgumentError
from jounce.model import Model, inertia
from jounce.papers.joints import apply, transposed
from jounce.papers.mueller.accelerations import (
    accelerations,
    column_brackets,
    is_before,
    matrix_a,
    matrix_b,
    system_jacobian_rate,
)
from jounce.papers.mueller.geometry import configurations, inertia_matrices, joint_screws
from jounce.papers.mueller.kinematics import (
    matrix_A,
    matrix_X,
    system_jacobian,
    system_twist,
)
from jounce.papers.mueller.newton_euler import hybrid_inertia, spatial_inertia
from jounce.papers.mueller.recursions import Motion, applied_wrenches, body_wrenches

__all__ = [
    "christoffel_binet",
    "christoffel_from_mass_matrix",
    "christoffel_symbols",
    "conjugate_momentum",
    "conjugate_momentum_rate",
    "coriolis_matrix",
    "coriolis_matrix_long",
    "euler_jourdain",
    "kinetic_energy",
    "kinetic_energy_gradient",
    "lagrange_equations",
    "mass_matrix",
    "mass_matrix_derivatives",
    "motion_equations",
]


def euler_jourdain(
    model: Model,
    q: AnyArray,
    v: AnyArray,
    a: AnyArray,
    f_ext: AnyArray | None = None,
    twist: str = "body",
) -> AnyArray:
    """Generalized forces from the projected Newton-Euler equations, (nv,), eq. 78.

    Q = J^T (M dV - ad_V^T M V - W^app) stacked over the bodies, in any of the representations.

    Args:
        model: the robot.
        q: (nq,) coordinates.
        v: (nv,) rates.
        a: (nv,) accelerations.
        f_ext: (n_bodies, 6) applied wrenches, body-fixed whatever the representation.
        twist: representation of twists, accelerations and Jacobian.
    """
    C, J = configurations(model, q), system_jacobian(model, q, twist)
    motion = Motion(C, J @ v, accelerations(model, q, v, a, twist), J)
    W = body_wrenches(model, motion, twist) - applied_wrenches(model, C, f_ext, twist)
    Q: AnyArray = einsum("nak,na->k", J, W) + model.armature * np.asarray(a)
    return Q


def mass_matrix(model: Model, q: AnyArray, twist: str = "body") -> AnyArray:
    """Generalized mass matrix J^T M J, (nv, nv), eq. 81, plus the armature on the diagonal.

    Args:
        model: the robot.
        q: (nq,) coordinates.
        twist: "body", "spatial" or "hybrid", the representation of Jacobians and inertias.
    """
    J = system_jacobian(model, q, twist)
    M, C = inertia_matrices(model), configurations(model, q)
    if twist == "spatial":
        M = spatial_inertia(M, C)
    elif twist == "hybrid":
        M = hybrid_inertia(M, C[:, :3, :3])
    elif twist != "body":
        raise ArgumentError(f"twist must be 'body', 'spatial' or 'hybrid', got {twist!r}")
    out: AnyArray = einsum("naj,nab,nbk->jk", J, M, J, optimize=True) + np.diag(model.armature)
    return out


def kinetic_energy(model: Model, q: AnyArray, v: AnyArray) -> Any:
    """Kinetic energy, sum_i V_i^T M_i V_i / 2 (before eq. 81), with that of the rotors."""
    V = system_twist(model, q, v)
    rotors = (model.armature * v * v).sum()
    return (einsum("na,nab,nb->", V, inertia_matrices(model), V) + rotors) / 2


def conjugate_momentum(model: Model, q: AnyArray, v: AnyArray) -> AnyArray:
    """Momentum dT/dv = J^T M V, (nv,) (after eq. 81), with that of the rotors."""
    J = system_jacobian(model, q)
    momenta = apply(inertia_matrices(model), J @ v)
    out: AnyArray = einsum("nak,na->k", J, momenta) + model.armature * v
    return out


def conjugate_momentum_rate(model: Model, q: AnyArray, v: AnyArray, a: AnyArray) -> AnyArray:
    """Time derivative M a - J^T ((M A a)^T + M A a) J v of the momentum, (nv,) (before eq. 82).

    For multi-DoF joints A a J is A a (J - X), see `system_jacobian_rate_factored`.
    """
    J = system_jacobian(model, q)
    M, dJ = inertia_matrices(model), system_jacobian_rate(model, q, v)
    V = J @ v
    change = einsum("nak,na->k", dJ, apply(M, V)) + einsum("nak,na->k", J, apply(M, dJ @ v))
    out: AnyArray = mass_matrix(model, q) @ a + change
    return out


def kinetic_energy_gradient(model: Model, q: AnyArray, v: AnyArray) -> AnyArray:
    """Gradient (M A b X)^T V of the kinetic energy by the coordinates, (nv,) (before eq. 83).

    In b the twist of the own joint is left out: [V_k - X_k v_k, X_k]. That changes nothing for
    1-DoF joints and makes the tangent-space gradient right for all others.
    """
    A, X = matrix_A(model, q), matrix_X(model, joint_screws(model))
    V = A @ X @ v
    carried = (V - X @ v).reshape(-1, 6)
    MV = apply(inertia_matrices(model), V.reshape(-1, 6)).reshape(-1)
    out: AnyArray = (A @ matrix_b(carried) @ X).T @ MV
    return out


def coriolis_matrix(model: Model, q: AnyArray, v: AnyArray) -> AnyArray:
    """Coriolis matrix C = -J^T (M A a + b^T M) J, (nv, nv), eq. 84.

    C v are the Coriolis and centrifugal forces. dM/dt - 2 C is not skew-symmetric for this choice:
    its symmetric part is J^T (b^T M + M b) J. For multi-DoF joints A a J is A a (J - X).
    """
    J, dJ = system_jacobian(model, q), system_jacobian_rate(model, q, v)
    M, ad = inertia_matrices(model), lie.ad(J @ v)
    inner = M @ dJ - transposed(ad) @ (M @ J)
    out: AnyArray = einsum("naj,nak->jk", J, inner)
    return out


def coriolis_matrix_long(model: Model, q: AnyArray, v: AnyArray) -> AnyArray:
    """Coriolis matrix in its first form, (nv, nv), eq. 83: the same matrix as eq. 84.

    -(a J + b X)^T A^T M J - J^T M A a J, because A (a J + b X) = b J. For multi-DoF joints a J is
    a (J - X).
    """
    A, X = matrix_A(model, q), matrix_X(model, joint_screws(model))
    J = A @ X
    a, b = matrix_a(model, v), matrix_b((J @ v).reshape(-1, 6))
    n = len(model.nodes.parent)
    MJ = (inertia_matrices(model) @ J.reshape(n, 6, -1)).reshape(6 * n, -1)
    aJ = a @ (J - X)
    out: AnyArray = -((A @ (aJ + b @ X)).T @ MJ) - MJ.T @ (A @ aJ)
    return out


def motion_equations(
    model: Model, q: AnyArray, v: AnyArray, a: AnyArray, f_ext: AnyArray | None = None
) -> AnyArray:
    """Generalized forces Q = M a + C v - J^T W^app, (nv,), eq. 1 with eq. 81 and 84."""
    applied = applied_wrenches(model, configurations(model, q), f_ext)
    Q = mass_matrix(model, q) @ a + coriolis_matrix(model, q, v) @ v
    out: AnyArray = Q - einsum("nak,na->k", system_jacobian(model, q), applied)
    return out


def lagrange_equations(model: Model, q: AnyArray, v: AnyArray, a: AnyArray) -> AnyArray:
    """Left side d/dt(dT/dv) - dT/dq of Lagrange's equations, (nv,), eq. 80; 1-DoF joints only.

    No potential: add ``applied_wrenches`` projected by J^T for gravity.
    """
    return conjugate_momentum_rate(model, q, v, a) - kinetic_energy_gradient(model, q, v)


def mass_matrix_derivatives(model: Model, q: AnyArray) -> AnyArray:
    """Partial derivatives of the mass matrix, (nv, nv, nv): entry [i, j, k] is dM_ij/dq_k (eq. 5).

    Bodies beyond i, j and k contribute [J_i, J_k]^T M J_j + J_i^T M [J_j, J_k], each bracket only
    where k is outward of the other column.
    """
    J = system_jacobian(model, q)
    brackets = column_brackets(J) * is_before(model)  # dJ_{l,j}/dq_k
    MJ = inertia_matrices(model) @ J
    half = einsum("naik,naj->ijk", brackets, MJ, optimize=True)
    out: AnyArray = half + half.transpose(1, 0, 2)
    return out


def christoffel_from_mass_matrix(model: Model, q: AnyArray) -> AnyArray:
    """Christoffel symbols of first kind by their definition (after eq. 85); 1-DoF joints only.

    Gamma_ijk = (dM_ik/dq_j + dM_ij/dq_k - dM_jk/dq_i) / 2.
    """
    dM = mass_matrix_derivatives(model, q)
    out: AnyArray = (dM.transpose(0, 2, 1) + dM - dM.transpose(2, 0, 1)) / 2
    return out


def christoffel_symbols(model: Model, q: AnyArray) -> AnyArray:
    """Christoffel symbols of first kind in closed form, (nv, nv, nv), eq. 86.

    Gamma_ijk = 1/2 sum_l (J_k^T M_l [J_i, J_j] + J_j^T M_l [J_i, J_k] + J_i^T M_l [J_s, J_r]) with
    s = min(j, k), r = max(j, k), over the bodies l outward of i, j and k, for all indices. The last
    bracket is absent where j and k belong to one multi-DoF joint.

    Deviation: the paper prints r = max(i, j), s = min(i, j).
    """
    J = system_jacobian(model, q)
    MJ = inertia_matrices(model) @ J
    # E[c, i, j] = sum_l J_{l,c}^T M_l [J_{l,i}, J_{l,j}]; columns that do not move l are zero.
    E = einsum("nac,naij->cij", MJ, column_brackets(J), optimize=True)
    third = E * is_before(model)
    first_two = E.transpose(1, 2, 0) + E.transpose(1, 0, 2)
    out: AnyArray = (first_two + third + third.transpose(0, 2, 1)) / 2
    return out


def christoffel_binet(model: Model, q: AnyArray) -> AnyArray:
    """Christoffel symbols from Binet's inertia, (nv, nv, nv): what eq. 87 stands for.

    With the second moments of mass, theta = tr(Theta)/2 - Theta at the frame's origin and the first
    moment m d, as the 4x4 matrix S_l = [[theta, m d], [m d^T, m]], the kinetic energy of body l is
    tr(hat(V) S_l hat(V)^T) / 2, and

        Gamma_ijk = sum_l tr(hat(J_i) S_l (hat(J_j) hat(J_k))^T),   j <= k,

    one product in place of the three of eq. 86. At the COM it reads
    J_j.w^T theta (J_k.w x J_i.w) + m J_i.v^T (J_j.w x J_k.v). Columns of one multi-DoF joint take
    the mean of both orders.

    Deviation: eq. 87 as printed, 1/2 sum_l J_j^T M_l ad_{J_k} J_i with Binet's inertia, agrees with
    eq. 86 under no reading of its accents: without the factor 1/2 and with the angular part of J_k
    its rotational term is right, but its translational term is not.
    """
    J = system_jacobian(model, q)
    H = lie.hat(transposed(J))  # (n, nv, 4, 4)
    S = inertia.pseudo_inertia(model.nodes.parameters)
    T = einsum("niab,nbc,nkdc->nikad", H, S, H, optimize=True)
    gamma = einsum("nikad,njad->ijk", T, H, optimize=True)  # j <= k, used where j < k
    before = is_before(model)
    weight = 0.5 * (1.0 + before - before.T)  # 1 for j < k, 1/2 within one joint, 0 for j > k
    out: AnyArray = gamma * weight + gamma.transpose(0, 2, 1) * weight.T
    return out
