"""Derivatives of steps on the manifold that constraints leave."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce._core import algebra
from jounce._types import Array
from jounce.constraints import Constraints
from jounce.constraints.derivatives import row_derivatives
from jounce.constraints.hessian import row_hessian
from jounce.constraints.linearization import VANISHES, tangent_basis, tangent_rows
from jounce.errors import ArgumentError

__all__ = ["ConstrainedSecondOrderStep", "ConstrainedStep", "on_manifold"]


class ConstrainedStep(NamedTuple):
    """One step under constraints, and its derivatives on the manifold that they leave.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> step = jc.linearize_step(dog, q, v, v, 0.01, constraints=c)
        >>> step.A_min.shape, step.Z.shape
        ((24, 24), (36, 24))
    """

    A: Array
    """(..., 2 nv, 2 nv), as in `LinearizedStep`."""
    B: Array
    """(..., 2 nv, number of inputs)."""
    q: Array
    """(..., nq) next coordinates."""
    v: Array
    """(..., nv) next rates."""
    A_min: Array
    """(..., k, k) of the coordinates z of (delta q, delta v) = Z z, k that of the manifold."""
    B_min: Array
    """(..., k, number of inputs)."""
    Z: Array
    """(..., 2 nv, k) orthonormal basis of the changes that the constraints allow at (q, v)."""
    Z_next: Array
    """(..., 2 nv, k) the same where the step ends."""


class ConstrainedSecondOrderStep(NamedTuple):
    """One step under constraints with first and, contracted with weights, second derivatives.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> w = np.ones(2 * dog.nv)
        >>> options = {"constraints": c, "weights": w, "projection": False}
        >>> step = jc.linearize_step(dog, q, v, v, 0.01, **options)
        >>> step.H.shape
        (48, 48)
    """

    A: Array
    """(..., 2 nv, 2 nv), as in `LinearizedStep`."""
    B: Array
    """(..., 2 nv, number of inputs)."""
    q: Array
    """(..., nq) next coordinates."""
    v: Array
    """(..., nv) next rates."""
    A_min: Array
    """(..., k, k), as in `ConstrainedStep`."""
    B_min: Array
    """(..., k, number of inputs)."""
    Z: Array
    """(..., 2 nv, k)."""
    Z_next: Array
    """(..., 2 nv, k)."""
    H: Array
    """(..., 2 nv + inputs, 2 nv + inputs), as in `SecondOrderStep`: by changes of any kind."""
    H_min: Array
    """(..., k + inputs, k + inputs) by changes (z, u) on the manifold: the state moves by Z z, and
    from there back to the manifold by the shortest (delta q, delta v)."""


def on_manifold(
    c: Constraints,
    start: tuple[Array, Array],
    Z: Array,
    step: list[Array],
    weights: Array | None,
    threads: int,
) -> list[Array]:
    """A, B, q, v of steps (n, ...), and H if there are weights; and what follows from them.

    Z are the tangents at the start, `tangent_basis`.
    """
    A, B, q, v, *H = step
    after = tangent_basis(c, q, v, threads)
    if after.shape[-1] != Z.shape[-1]:
        raise ArgumentError(
            f"the constraints leave {Z.shape[-1]} dimensions before the step and "
            f"{after.shape[-1]} after it"
        )
    back = after.swapaxes(-1, -2)
    parts = [A, B, q, v, back @ A @ Z, back @ B, Z, after]
    if weights is not None:
        gradient = (weights[:, None, :] @ A)[:, 0]
        parts += [H[0], _reduced(H[0], _curvature(c, start, gradient, threads), Z)]
    return parts


def _curvature(c: Constraints, start: tuple[Array, Array], gradient: Array, threads: int) -> Array:
    """What a gradient by (dq, dv) loses to the way back to the manifold, (n, 2 nv, 2 nv).

    On a curve of the manifold dq = s x + s^2 x' / 2 and dv = s y + s^2 y' / 2, where the rows of
    `tangent_rows` times (x', y') are minus the second derivatives of the constraints, that is of

        J_h x,    2 (dJ/dq x) y + d^2 (J v)/dq^2 x x.
    """
    q, v = start
    n, m = v.shape[-1], c.size
    if not m:
        return np.zeros((len(q), 2 * n, 2 * n))
    back = algebra.pinv(tangent_rows(c, q, v, threads), VANISHES)
    pull = (gradient[:, None, :] @ back)[:, 0]
    positions, rates, zero = np.zeros((len(q), m)), pull[:, -m:], np.zeros(n)
    positions[:, c.holonomic] = pull[:, :-m]
    curved = np.zeros((len(q), 2 * n, 2 * n))
    turning = row_derivatives(c, q, zero, zero, positions, threads).transposed_dq
    curved[:, :n, :n] = (turning + turning.swapaxes(-1, -2)) / 2
    curved[:, :n, :n] += row_hessian(c, (q, zero, zero), v, np.zeros(m), rates, threads).dqdq
    curved[:, n:, :n] = row_derivatives(c, q, zero, zero, rates, threads).transposed_dq
    curved[:, :n, n:] = curved[:, n:, :n].swapaxes(-1, -2)
    return curved


def _reduced(H: Array, curved: Array, Z: Array) -> Array:
    """H by (z, u)."""
    n, k = Z.shape[-2:]
    inputs = H.shape[-1] - n
    basis = np.zeros((len(H), n + inputs, k + inputs))
    basis[:, :n, :k] = Z
    basis[:, n:, k:] = np.eye(inputs)
    H = H.copy()
    H[:, :n, :n] -= curved
    out: Array = basis.swapaxes(-1, -2) @ H @ basis
    return out
