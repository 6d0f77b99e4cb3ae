"""Munthe-Kaas integration of rigid motions on SE(3) (Sec. 7).

The motion of a body is rebuilt from its twist, dC/dt = C hat(V^b) = hat(V^s) C (eq. 88), through a
local screw X: C(t) = C_k exp(X(t)) with dX/dt = dexp_{-X}^-1 V^b, or C(t) = exp(X(t)) C_k with
dX/dt = dexp_X^-1 V^s (eq. 89), by any Runge-Kutta method for vector spaces, from X = 0.

Deviation: the text defines the increment as C_{k-1}^-1 C_k for both cases; for the spatial twist it
must multiply from the left (otherwise V^s needs Ad of C_{k-1}).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray
from jounce.errors import ArgumentError
from jounce.papers.joints import apply, transposed
from jounce.papers.mueller.newton_euler import spatial_inertia

__all__ = [
    "TABLEAUX",
    "MuntheKaasStep",
    "Tableau",
    "munthe_kaas_step",
    "reconstruction",
    "rigid_body_rates",
]

Rates = Callable[[float, AnyArray, AnyArray], tuple[AnyArray, AnyArray]]
"""Function of (t, C, y) that returns the twist of C and the derivative of y."""


class Tableau(NamedTuple):
    """An explicit Runge-Kutta method: rows a (below the diagonal), weights b."""

    a: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]
    order: int


TABLEAUX = {
    "euler": Tableau(((),), (1.0,), 1),
    "midpoint": Tableau(((), (0.5,)), (0.0, 1.0), 2),
    "rk4": Tableau(((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6), 4),
}


def reconstruction(X: AnyArray, V: AnyArray, twist: str = "body") -> AnyArray:
    """Derivative of the local screw X from the twist, eq. 89 solved for dX/dt, (..., 6)."""
    if twist == "body":
        return apply(lie.dexp_inv(-X), V)
    if twist == "spatial":
        return apply(lie.dexp_inv(X), V)
    raise ArgumentError(f"twist must be 'body' or 'spatial', got {twist!r}")


class MuntheKaasStep(NamedTuple):
    """Where a step ends."""

    C: AnyArray
    """(..., 4, 4) poses."""
    y: AnyArray
    """the further variables."""


def munthe_kaas_step(
    rates: Rates,
    t: float,
    C: AnyArray,
    y: AnyArray,
    h: float,
    twist: str = "body",
    method: str = "rk4",
) -> MuntheKaasStep:
    """One step of a Munthe-Kaas method for poses C and further variables y.

    Args:
        rates: function of (t, C, y) that returns the twists (..., 6) of the poses, in the given
            representation, and the derivative of y.
        t: time.
        C: (..., 4, 4) poses.
        y: array of any shape, integrated as a vector: velocities or momenta.
        h: step.
        twist: "body" or "spatial".
        method: a name in `TABLEAUX`.

    Returns:
        (C, y) at t + h; C stays in SE(3) to rounding.
    """
    a, b, _ = TABLEAUX[method]
    slopes: list[tuple[AnyArray, AnyArray]] = []

    def state(weights: tuple[float, ...]) -> tuple[AnyArray, AnyArray, AnyArray]:
        X, y_moved = np.zeros((*C.shape[:-2], 6)), y
        for weight, (dX, dy) in zip(weights, slopes, strict=True):
            X, y_moved = X + h * weight * dX, y_moved + h * weight * dy
        return X, C @ lie.exp(X) if twist == "body" else lie.exp(X) @ C, y_moved

    for row in a:
        X, C_stage, y_stage = state(row)
        V, dy = rates(t + h * sum(row), C_stage, y_stage)
        slopes.append((reconstruction(X, V, twist), dy))
    _, C_new, y_new = state(b)
    return MuntheKaasStep(C_new, y_new)


def rigid_body_rates(
    M: AnyArray, wrench: Callable[[float, AnyArray], AnyArray], twist: str = "body"
) -> Rates:
    """Kinematics (eq. 88) and Newton-Euler equations of free bodies, for `munthe_kaas_step`.

    Args:
        M: (..., 6, 6) body-fixed inertias M^b.
        wrench: function of (t, C) that returns the applied wrenches (..., 6).
        twist: "body" integrates y = V^b with eq. 41 and body-fixed wrenches; "spatial" integrates
            y = Pi^s with eq. 36 and spatial wrenches, and so conserves momentum exactly.
    """
    if twist == "body":

        def body(t: float, C: AnyArray, V: AnyArray) -> tuple[AnyArray, AnyArray]:
            gyroscopic = apply(transposed(lie.ad(V)), apply(M, V))
            return V, _solve(M, wrench(t, C) + gyroscopic)  # (41)

        return body
    if twist == "spatial":

        def spatial(t: float, C: AnyArray, Pi: AnyArray) -> tuple[AnyArray, AnyArray]:
            return _solve(spatial_inertia(M, C), Pi), wrench(t, C)  # (35), (36)

        return spatial
    raise ArgumentError(f"twist must be 'body' or 'spatial', got {twist!r}")


def _solve(M: AnyArray, y: AnyArray) -> AnyArray:
    out: AnyArray = np.linalg.solve(M, y[..., None])[..., 0]
    return out
