"""Newton-Euler equations of one rigid body in every representation (Sec. 3).

Each function returns the wrench that the motion needs. Arrays may have leading axes. A wrench
(moment, force) is dual to the twist of its representation. ``parameters`` are the ten inertial
parameters about the body's frame, ``m, m d, ...`` with d the vector b_d_bc from the frame to the
center of mass, see `jounce.inertia`.
"""

from __future__ import annotations

import numpy as np

from jounce import lie
from jounce._types import AnyArray
from jounce.model import inertia
from jounce.papers.joints import apply, transposed
from jounce.papers.mueller.screws import Ad_R, ad_omega, angular, linear

__all__ = [
    "binet_inertia",
    "com_inertia",
    "com_placement",
    "hybrid_inertia",
    "hybrid_inertia_rate",
    "inertia_in_frame",
    "momentum",
    "newton_euler_body",
    "newton_euler_body_parts",
    "newton_euler_com",
    "newton_euler_hybrid",
    "newton_euler_hybrid_com",
    "newton_euler_hybrid_parts",
    "newton_euler_in_frame",
    "newton_euler_mixed",
    "newton_euler_mixed_com",
    "newton_euler_resolved",
    "newton_euler_spatial",
    "spatial_inertia",
    "spatial_inertia_rate",
]


def _cross(a: AnyArray, b: AnyArray) -> AnyArray:
    return apply(lie.hat(a), b)


def com_inertia(parameters: AnyArray) -> AnyArray:
    """Inertia matrix M_c^b = diag(Theta_c, m 1) at the center of mass, in body axes, eq. 39."""
    m, _, theta = inertia.about_com(parameters)
    out = np.zeros((*theta.shape[:-2], 6, 6))
    out[..., :3, :3] = theta
    out[..., 3:, 3:] = m[..., None, None] * np.eye(3)
    return out


def com_placement(parameters: AnyArray) -> AnyArray:
    """Pose S_bc of the center-of-mass frame, with the body's axes, in the body's frame, (4, 4)."""
    _, d, _ = inertia.about_com(parameters)
    return lie.exp(np.concatenate([np.zeros_like(d), d], axis=-1))


def binet_inertia(parameters: AnyArray) -> AnyArray:
    """Inertia matrix with Binet's tensor, diag(tr(Theta)/2 - Theta, m 1) at the COM (eq. 87).

    Returned in the body's frame, moved by Ad(S_bc)^-T . Ad(S_bc)^-1 like eq. 40, (..., 6, 6).
    """
    M = com_inertia(parameters)
    theta = M[..., :3, :3]
    half_trace = np.trace(theta, axis1=-2, axis2=-1)[..., None, None] / 2
    M[..., :3, :3] = half_trace * np.eye(3) - theta
    return inertia_in_frame(M, lie.inverse(com_placement(parameters)))


def spatial_inertia(M: AnyArray, C: AnyArray) -> AnyArray:
    """Spatial inertia M^s = Ad_C^-T M^b Ad_C^-1 of a body with pose C, eq. 34."""
    return inertia_in_frame(M, lie.inverse(C))


def spatial_inertia_rate(M: AnyArray, V: AnyArray) -> AnyArray:
    """Time derivative of the spatial inertia, -ad_V^T M^s - M^s ad_V, eq. 37."""
    ad = lie.ad(V)
    out: AnyArray = -transposed(ad) @ M - M @ ad
    return out


def hybrid_inertia(M: AnyArray, R: AnyArray) -> AnyArray:
    """Hybrid inertia M^h = Ad_R^-T M^b Ad_R^-1 (eq. 47, 51, 76a)."""
    Ad = Ad_R(transposed(R))
    return transposed(Ad) @ M @ Ad


def hybrid_inertia_rate(M: AnyArray, w: AnyArray) -> AnyArray:
    """Time derivative of the hybrid inertia, -ad_w^T M^h - M^h ad_w (before eq. 48)."""
    ad = ad_omega(w)
    out: AnyArray = -transposed(ad) @ M - M @ ad
    return out


def inertia_in_frame(M: AnyArray, S: AnyArray) -> AnyArray:
    """Inertia Ad_S^T M Ad_S, with S the pose of the new frame in the old one (eq. 61, and 40)."""
    Ad = lie.Ad(S)
    return transposed(Ad) @ M @ Ad


def momentum(M: AnyArray, V: AnyArray) -> AnyArray:
    """Momentum co-screw Pi = M V, in the representation of M and V, eq. 35."""
    return apply(M, V)


def newton_euler_spatial(M: AnyArray, V: AnyArray, dV: AnyArray) -> AnyArray:
    """W^s = M^s dV^s - ad_{V^s}^T M^s V^s, the derivative of M^s V^s (eq. 36), eq. 38."""
    return apply(M, dV) - apply(transposed(lie.ad(V)), apply(M, V))


def newton_euler_body(M: AnyArray, V: AnyArray, dV: AnyArray) -> AnyArray:
    """W^b = M^b dV^b - ad_{V^b}^T M^b V^b, eq. 41: the same form as the spatial equation."""
    return newton_euler_spatial(M, V, dV)


def newton_euler_body_parts(parameters: AnyArray, V: AnyArray, dV: AnyArray) -> AnyArray:
    """Moment and force of eq. 42, 43 in a body-fixed frame anywhere on the body."""
    m, d, theta = _about_frame(parameters)
    w, v, dw, dv = V[..., :3], V[..., 3:], dV[..., :3], dV[..., 3:]
    acceleration = dv + _cross(w, v)
    moment = apply(theta, dw) + _cross(w, apply(theta, w)) + m * _cross(d, acceleration)  # (42)
    force = m * (acceleration + _cross(dw, d) + _cross(w, _cross(w, d)))  # (43)
    return np.concatenate([moment, force], axis=-1)


def newton_euler_com(parameters: AnyArray, V: AnyArray, dV: AnyArray) -> AnyArray:
    """W_c^b = M_c dV_c - ad_{w_c}^T M_c V_c for the twist of the COM frame, eq. 44 to 46."""
    M = com_inertia(parameters)
    return apply(M, dV) - apply(transposed(ad_omega(V[..., :3])), apply(M, V))


def newton_euler_hybrid(M: AnyArray, V: AnyArray, dV: AnyArray) -> AnyArray:
    """W^h = M^h dV^h + ad_w M^h angular(V^h) at any frame, eq. 53.

    Deviation: eq. 52, that this is the derivative of M^h V^h, holds only at the COM (or at a point
    that moves parallel to it); in general W^h = d(M^h V^h)/dt - ad_{linear(V)}^T M^h V^h.
    """
    return apply(M, dV) + apply(ad_omega(V[..., :3]), apply(M, angular(V)))


def newton_euler_hybrid_parts(
    parameters: AnyArray, R: AnyArray, V: AnyArray, dV: AnyArray
) -> AnyArray:
    """Moment and force of eq. 54, 55, with R the rotation of the body."""
    m, d, theta = _about_frame(parameters)
    d, theta = apply(R, d), R @ theta @ transposed(R)
    w, dw, ddr = V[..., :3], dV[..., :3], dV[..., 3:]
    moment = apply(theta, dw) + _cross(w, apply(theta, w)) + m * _cross(d, ddr)  # (54)
    force = m * (ddr + _cross(dw, d) + _cross(w, _cross(w, d)))  # (55)
    return np.concatenate([moment, force], axis=-1)


def newton_euler_hybrid_com(
    parameters: AnyArray, R: AnyArray, V: AnyArray, dV: AnyArray
) -> AnyArray:
    """W_c^h for the hybrid twist of the COM frame, decoupled, eq. 48 to 50."""
    M = hybrid_inertia(com_inertia(parameters), R)
    return newton_euler_hybrid(M, V, dV)


def newton_euler_mixed(parameters: AnyArray, R: AnyArray, V: AnyArray, dV: AnyArray) -> AnyArray:
    """Moment in body axes and force in world axes for the mixed twist (w^b, dr), eq. 56, 57.

    Deviation: the text before eq. 56 has ddr = dv^b + w^b x v^b, which is R^T ddr.
    """
    m, d, theta = _about_frame(parameters)
    w, dw, ddr = V[..., :3], dV[..., :3], dV[..., 3:]
    lever = m * _cross(d, apply(transposed(R), ddr))
    moment = apply(theta, dw) + _cross(w, apply(theta, w)) + lever  # (56)
    force = m * (ddr + apply(R, _cross(dw, d) + _cross(w, _cross(w, d))))  # (57)
    return np.concatenate([moment, force], axis=-1)


def newton_euler_mixed_com(parameters: AnyArray, V: AnyArray, dV: AnyArray) -> AnyArray:
    """Euler's equation in body axes and Newton's in world axes at the COM, eq. 58."""
    M = com_inertia(parameters)
    return apply(M, dV) + apply(ad_omega(V[..., :3]), apply(M, angular(V)))


def newton_euler_in_frame(M: AnyArray, V_i: AnyArray, dV_i: AnyArray, V_j: AnyArray) -> AnyArray:
    """Newton-Euler equations of body i written in a moving frame F_j, eq. 60.

    jM_i (j_dV_i + ad_{jV_j} jV_i) - ad_{jV_i}^T jM_i jV_i = jW_i.

    Args:
        M: jM_i, the inertia of body i in F_j (eq. 61), see `inertia_in_frame`.
        V_i: jV_i = Ad_{C_j}^-1 V_i^s, the twist of body i in F_j.
        dV_i: derivative of the components of jV_i.
        V_j: jV_j, the body-fixed twist of F_j; zero for the world.
    """
    return apply(M, dV_i + apply(lie.ad(V_j), V_i)) - apply(transposed(lie.ad(V_i)), apply(M, V_i))


def newton_euler_resolved(
    M: AnyArray, V_i: AnyArray, dV_i: AnyArray, V_j: AnyArray, w_k: AnyArray
) -> AnyArray:
    """The same, measured at F_j but resolved in the axes of a third frame F_k, eq. 63.

    kM (k_dV_i + (ad_{linear(kV_j)} + ad_{w_k}) kV_i) - ad_{kV_i}^T kM kV_i = kW_i.

    Deviation: in this text the two ad matrices have the full twists kV_j and kV_k; only the linear
    part of the first and the angular part of the second belong there, and eq. 64 needs R_{j,k}, the
    rotation from F_k to F_j, in place of R_{k,j}.

    Args:
        M: kM_i^j = Ad_{R_{j,k}}^T jM_i Ad_{R_{j,k}} (eq. 64).
        V_i: kV_i^j = Ad_{R_{j,k}}^-1 jV_i, the twist of body i.
        dV_i: derivative of its components.
        V_j: twist of F_j at F_j, resolved in F_k.
        w_k: (..., 3) angular velocity of F_k, resolved in F_k; zero for the world.
    """
    convective = apply(lie.ad(linear(V_j)) + ad_omega(w_k), V_i)
    return apply(M, dV_i + convective) - apply(transposed(lie.ad(V_i)), apply(M, V_i))


def _about_frame(parameters: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Mass (..., 1), vector to the COM, rotational inertia about the frame's origin (eq. 40)."""
    m, d, _ = inertia.about_com(parameters)
    return m[..., None], d, inertia.rotational(parameters)
