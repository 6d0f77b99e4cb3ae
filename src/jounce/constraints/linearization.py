"""Linearization on the manifold that constraints leave."""

from __future__ import annotations

from typing import Any

import numpy as np

from jounce._core import algebra, memory
from jounce._core.elementwise import in_portions
from jounce._core.out import Given
from jounce._core.words import place_text
from jounce._types import Array, ArrayLike
from jounce.constraints.checks import require_state
from jounce.constraints.constraints import Constraints
from jounce.constraints.derivatives import constrained_dynamics_derivatives, row_derivatives
from jounce.constraints.dynamics import without_rounding
from jounce.derivatives import ForwardDynamicsDerivatives
from jounce.derivatives.linearization import (
    ConstrainedLinearization,
    plus_passive_forces,
    state_matrix,
)
from jounce.derivatives.passive import passive_forces_derivatives
from jounce.errors import ArgumentError
from jounce.model.rates import Inputs

__all__ = [
    "VANISHES",
    "acceleration_derivatives",
    "linearize_constrained",
    "tangent_basis",
    "tangent_rows",
]

VANISHES = 1e-9
"""Of the largest entry of the rows: what a singular value of theirs must exceed."""


def linearize_constrained(
    c: Constraints,
    state: tuple[Any, Any, Any, Any],
    inputs: Inputs,
    passive: bool,
    threads: int,
) -> ConstrainedLinearization:
    """The matrices of `linearize` under constraints, and those in minimal coordinates."""
    model, (q, v, tau, f_ext) = c.model, state
    given = Given("linearize", model, threads, q=q, v=v, tau=tau, f_ext=f_ext)
    n, lead = 2 * model.nv, given.leading_axes()
    if lead is not None:
        size = memory.bytes_of((*lead, n, n + inputs.number))
        memory.require("linearize", size, size)
    with given.told():
        require_state(c, q, v, threads=threads)
        d = acceleration_derivatives(c, state, passive, threads)
        with np.errstate(all="ignore"):
            A, B = state_matrix(model, np.asarray(v, float), d.dq, d.dv, inputs.columns(d.dtau))
        Z = tangent_basis(c, q, v, threads)
    Z = np.broadcast_to(Z, (*A.shape[:-2], *Z.shape[-2:]))
    Z_T = Z.swapaxes(-1, -2)
    with np.errstate(all="ignore"):
        found = ConstrainedLinearization(
            A, B, algebra.product(Z_T, A, Z), algebra.product(Z_T, B), np.array(Z)
        )
    good = np.all([np.isfinite(x).all((-2, -1)) for x in found], axis=0)
    if not good.all():
        at = place_text(int(np.argmin(good)), good.shape)
        raise ArgumentError(f"the result of linearize() is not finite{at}: an input is too large")
    return found


def acceleration_derivatives(
    c: Constraints, state: tuple[Any, Any, Any, Any], passive: bool, threads: int
) -> ForwardDynamicsDerivatives:
    """Derivatives of the accelerations, if passive with the joints' own forces beside tau."""
    model, (q, v, tau, f_ext) = c.model, state
    total = plus_passive_forces(model, q, v, tau, threads) if passive else tau
    d = constrained_dynamics_derivatives(model, q, v, total, c, f_ext, threads=threads)
    if not passive:
        return ForwardDynamicsDerivatives(d.a_dq, d.a_dv, d.a_dtau)
    p = passive_forces_derivatives(model, q, v, threads=threads)
    by_q, by_v = (algebra.product(d.a_dtau, x) for x in (p.dq, p.dv))
    return ForwardDynamicsDerivatives(d.a_dq + by_q, d.a_dv + by_v, d.a_dtau)


def tangent_rows(c: Constraints, q: ArrayLike, v: ArrayLike, threads: int = 1) -> Array:
    """What perturbations (dq, dv) must fulfill: rows C with C (dq, dv) = 0.

    These are J_h dq = 0, with the rows J_h that hold positions, and J dv + d(J v)/dq dq = 0.
    """
    J = without_rounding(c.jacobian(q, threads=threads), c.rank(q, threads=threads))
    zero = np.zeros(c.model.nv)
    of_velocity = (
        np.zeros(J.shape)
        if not c.size
        else row_derivatives(c, q, v, zero, np.zeros(c.size), threads).velocity_dq
    )
    held = J[..., c.holonomic, :]
    lead = np.broadcast_shapes(held.shape[:-2], of_velocity.shape[:-2])
    held, J = (np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (held, J))
    upper = np.concatenate([held, np.zeros_like(held)], -1)
    return np.concatenate([upper, np.concatenate([of_velocity, J], -1)], -2)


def tangent_basis(c: Constraints, q: ArrayLike, v: ArrayLike, threads: int = 1) -> Array:
    """Orthonormal basis Z of the perturbations (dq, dv) that the constraints allow."""
    matrix = tangent_rows(c, q, v, threads)
    lengths, axes = _axes(matrix)
    largest = np.abs(matrix).max((-2, -1), initial=0.0)
    rank = (lengths > VANISHES * largest[..., None]).sum(-1)
    if not rank.size:  # the dimension that almost all states have
        some = tangent_basis(c, c._samples()[0], np.zeros(c.model.nv))
        return np.zeros((*rank.shape, *some.shape))
    if np.ptp(rank):
        raise ArgumentError(
            "the constraints leave manifolds of different dimensions in the states of the batch, "
            f"from {2 * c.model.nv - rank.max()} to {2 * c.model.nv - rank.min()}; "
            "linearize them one by one"
        )
    basis: Array = axes[..., int(rank.flat[0]) :, :].swapaxes(-1, -2)
    return basis


@in_portions(matrix=2)
def _axes(matrix: Array) -> tuple[Array, Array]:
    """Singular values, and the axes to which they belong."""
    _, lengths, axes = algebra.svd(matrix)
    return lengths, axes
