"""Which states and motions constraints allow, and where constraints are not defined."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from jounce._core.arrays import reals
from jounce._core.words import place_of
from jounce._types import Array, ArrayLike
from jounce.constraints.targets import require_defined
from jounce.errors import ArgumentError, Error

if TYPE_CHECKING:
    from jounce.constraints.constraints import Constraints

__all__ = [
    "defined",
    "rank_lost",
    "rates_wanted",
    "require_motion",
    "require_motion_series",
    "require_possible",
    "require_state",
    "rounding_of",
    "worst_row",
]

_ROUNDING = 64 * np.finfo(float).eps


@contextmanager
def defined(c: Constraints, q: ArrayLike) -> Iterator[None]:
    """Where numbers overflow inside, name the constraint that has no direction at q, if one is."""
    try:
        yield
    except ArgumentError as error:
        explain(c, q, error)
        raise


def explain(c: Constraints, q: ArrayLike, error: ArgumentError) -> None:
    """Raise what made a result overflow, if that is a constraint without direction."""
    if "not finite" in str(error):
        for item in c.items:
            require_defined(c.model, item, reals("q", q, (c.model.nq,)))


def rank_lost(c: Constraints, q: Array) -> str:
    """Words for a state (nq,) where rows lose their rank, none elsewhere."""
    try:
        if not np.isfinite(q).all() or c.regular(q):
            return ""
    except Error:  # what overflows has no rank; the caller says what failed
        return ""
    return (
        f"of {c.size} rows {c.rank(q)} are independent where it begins and {c._usual_rank()} "
        "nearby (see Constraints.regular), so that no step, however short, is sure to lead back"
    )


def rounding_of(q: ArrayLike) -> Array:
    """What residuals of states cannot do without, by the size of their coordinates, (..., 1)."""
    return _ROUNDING * _largest(q)


def rates_wanted(c: Constraints, derivative: int = 0) -> Array:
    """The rates w that rows shall have, or a time derivative of them, (m,)."""
    return c.motion[derivative] if len(c.motion) > derivative else np.zeros(c.size)


def require_state(
    c: Constraints,
    q: ArrayLike,
    v: ArrayLike,
    names: tuple[str, str] = ("q", "v"),
    threads: int = 1,
) -> None:
    """Refuse states that violate the constraints by more than their tolerance.

    Raises:
        ArgumentError: the worst state, the constraint and by how much it is violated are told.
    """
    if not c.size or c.tolerance == np.inf:
        return
    far = np.where(c.holonomic, c.residual(q, threads=threads), 0.0)
    least = rounding_of(q) / c.tolerance
    _require(c, names[0], far, 1.0 + least, ("rad or m", "", "jounce.project gives what it allows"))
    rates = c.velocity(q, v, threads=threads) - rates_wanted(c)
    remedy = "jounce.project_velocity, or jounce.impulse, gives what it allows"
    told = ("rad/s or m/s", f" (1 + |{names[1]}|)", remedy)
    _require(c, names[1], rates, 1.0 + _largest(v), told)


def require_motion(
    c: Constraints, q: ArrayLike, v: ArrayLike, a: ArrayLike, threads: int = 1
) -> None:
    """Refuse accelerations, too, that the constraints do not allow."""
    if not c.size or c.tolerance == np.inf:
        return
    require_state(c, q, v, threads=threads)
    wrong = c.acceleration(q, v, a, threads=threads) - rates_wanted(c, 1)
    wrong = _smaller(wrong, wrong + _stabilization(c, q, v, threads))
    remedy = "jounce.constrained_dynamics gives accelerations that it allows"
    told = ("rad/s^2 or m/s^2", " (1 + |a| + |v|^2)", remedy)
    _require(c, "a", wrong, 1.0 + _largest(a) + _largest(v) ** 2, told)


def _smaller(x: Array, y: Array) -> Array:
    """Motions of a stabilized set may fulfill the constraints as they are, or go back to them."""
    return np.where(np.abs(x) < np.abs(y), x, y)


def _stabilization(c: Constraints, q: ArrayLike, v: ArrayLike, threads: int) -> Array | float:
    """2 alpha (V - w) + beta^2 e, which accelerations of a stabilized set take away."""
    alpha, beta = c.stabilization
    if not alpha and not beta:
        return 0.0
    rates = c.velocity(q, v, threads=threads) - rates_wanted(c)
    far = np.where(c.holonomic, c.residual(q, threads=threads), 0.0)
    out: Array = 2.0 * alpha * rates + beta**2 * far
    return out


def require_possible(c: Constraints, q: Array, v: Array, a: Array, threads: int) -> None:
    """Refuse sets whose rows ask for accelerations that contradict each other.

    Args:
        c: the constraints.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., nv) accelerations that fulfill them as nearly as possible.
        threads: number of threads for a batch.
    """
    if not c.size or c.tolerance == np.inf:
        return
    wrong = c.acceleration(q, v, a, threads=threads) - rates_wanted(c, 1)
    wrong = wrong + _stabilization(c, q, v, threads)
    scale = 1.0 + _largest(a) + _largest(v) ** 2
    relative = np.abs(wrong) / scale
    if not relative.size or relative.max() <= c.tolerance:
        return
    which, worst = worst_row(c, wrong, scale)
    raise ArgumentError(
        f"no acceleration fulfills {which}: the nearest one is off by {worst:.3g} rad/s^2 or "
        "m/s^2; constraints contradict each other there, or the robot cannot move as they ask"
    )


def require_motion_series(c: Constraints, q: Array, motion: Array, J: Array, threads: int) -> None:
    """Refuse motions (..., K, nv) of which a derivative violates the constraints.

    Args:
        c: the constraints.
        q: (..., nq) coordinates.
        motion: (..., K, nv) rates and their time derivatives.
        J: (..., K, m, nv) rows and their time derivatives along the motion.
        threads: number of threads for a batch.
    """
    if not c.size or c.tolerance == np.inf:
        return
    require_state(c, q, motion[..., 0, :], ("q", "motion[..., 0, :]"), threads)
    alpha, beta = c.stabilization
    far = np.where(c.holonomic, c.residual(q, threads=threads), 0.0)
    rates = (J[..., 0, :, :] @ motion[..., 0, :, None])[..., 0] - rates_wanted(c)
    for k in range(1, motion.shape[-2]):
        wrong, size = -rates_wanted(c, k), np.ones(c.size)
        for i in range(k + 1):
            rows, rate = comb(k, i) * J[..., i, :, :], motion[..., k - i, :, None]
            wrong = wrong + (rows @ rate)[..., 0]
            size = size + (np.abs(rows) @ np.abs(rate))[..., 0]
        told = (f"rad/s^{k + 1} or m/s^{k + 1}", " of the terms of the row", "plan another motion")
        least = _smaller(wrong, wrong + 2.0 * alpha * rates + beta**2 * far)
        _require(c, f"motion[..., {k}, :]", least, size, told)
        far, rates = np.where(c.targeted & c.holonomic, rates, 0.0), wrong  # e' = V - w


def _largest(x: ArrayLike) -> Array:
    """Largest entry of each state, with an axis for rows."""
    largest: Array = np.abs(np.asarray(x, float)).max(-1, initial=0.0, keepdims=True)
    return largest


def _require(
    c: Constraints, name: str, wrong: Array, scale: ArrayLike, told: tuple[str, str, str]
) -> None:
    """Refuse rows that are too far from zero; scale says what is 1 for each."""
    relative = np.abs(wrong) / scale
    if not relative.size or relative.max() <= c.tolerance:
        return
    (which, worst), (unit, of, remedy) = worst_row(c, wrong, scale), told
    raise ArgumentError(
        f"{name} violates {which} by {worst:.3g} {unit}, and at most {c.tolerance:g}{of} is "
        f"allowed: {remedy}, and jounce.Constraints(..., tolerance=) allows more"
    )


def worst_row(c: Constraints, wrong: Array, scale: ArrayLike = 1.0) -> tuple[str, float]:
    """The constraint, and the state of a batch, of the row furthest from zero, and how far it is.

    Args:
        c: the constraints.
        wrong: (..., m) what should be zero.
        scale: what is 1 for each.
    """
    *state, row = np.unravel_index(int(np.argmax(np.abs(wrong) / scale)), wrong.shape)
    return f"{c._item_of_row(int(row)).label}{place_of(state)}", float(np.abs(wrong)[(*state, row)])
