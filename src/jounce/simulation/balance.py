"""What a motion says of the forces that acted: their work, and the torque defect."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.dynamics import forward_dynamics, inverse_dynamics, passive_forces
from jounce.errors import ArgumentError
from jounce.kinematics import difference, integrate
from jounce.lie import dexp_inv
from jounce.model.rates import group_blocks
from jounce.simulation.arguments import asked

if TYPE_CHECKING:
    from jounce.model import Model
    from jounce.simulation.motion import SimulatedMotion

__all__ = ["Applied", "group_rates", "group_slope", "power_and_defect"]

Applied = ArrayLike | Callable[..., ArrayLike] | None
"""Forces that acted, as `simulate` takes them."""

PLACES = (0.2, 0.5, 0.8)
"""Where the defect is looked at, between two times."""

TINY = 1e-150
"""A complex step."""


def power_and_defect(
    motion: SimulatedMotion, control: Applied, passive: bool
) -> tuple[Array, Array]:
    """Largest errors of the power balance and of the equations of motion."""
    t, lead = motion.t, motion.q.shape[:-2]
    if len(t) < 2:
        return np.zeros(lead), np.zeros(lead)
    h = np.diff(t)
    middle = t[:-1] + h / 2
    q, v = motion.at(middle)
    ends = _applied(motion, control, passive, t, motion.q, motion.v)
    tau = _applied(motion, control, passive, middle, q, v)
    start, stop = (ends[0] * motion.v).sum(-1), (ends[1] * motion.v).sum(-1)
    work = h / 6 * (start[..., :-1] + 4 * (tau[0] * v).sum(-1) + stop[..., 1:])  # Simpson
    gained = np.diff(motion.energy, axis=-1)
    power = np.abs(np.cumsum(gained - work, axis=-1)).max(axis=-1)
    return power, _defect(motion, control, passive, ends)


def _defect(
    motion: SimulatedMotion, control: Applied, passive: bool, ends: tuple[Array, Array]
) -> Array:
    """Inverse dynamics of the joined motion less the forces, at its largest."""
    model, h = motion.model, np.diff(motion.t)[:, None]
    q, v = motion.q, motion.v
    after, before = (forward_dynamics(model, q, v, tau) for tau in ends)
    change = difference(model, q[..., :-1, :], q[..., 1:, :])
    slope = group_slope(model, change, v[..., 1:, :])
    bend = group_slope(model, change, before[..., 1:, :])
    bend = bend + _slope_rate(model, change, slope, v[..., 1:, :])
    path = h * v[..., :-1, :], h * h * after[..., :-1, :], change, h * slope, h * h * bend
    largest = np.zeros(q.shape[:-2])
    for x in PLACES:
        xi, first, second = _quintic(x, *path)
        there, rates = integrate(model, q[..., :-1, :], xi), group_rates(model, xi, first / h)
        turned = _slope_rate(model, xi, first / h, rates)
        a = group_rates(model, xi, second / (h * h) - turned)
        times = motion.t[:-1] + x * h[:, 0]
        tau = _applied(motion, control, passive, times, there, rates)[0]
        rest = np.abs(inverse_dynamics(model, there, rates, a) - tau)
        largest = np.maximum(largest, rest.max(axis=(-2, -1)))
    return largest


def _quintic(
    x: float, slope0: Array, bend0: Array, end: Array, slope1: Array, bend1: Array
) -> tuple[Array, Array, Array]:
    """Value and two derivatives at x of a polynomial with given ones at 0, where it is 0, and 1."""
    rest = end - slope0 - bend0 / 2
    turn, bow = slope1 - slope0 - bend0, bend1 - bend0
    c3 = 10 * rest - 4 * turn + bow / 2
    c4 = -15 * rest + 7 * turn - bow
    c5 = 6 * rest - 3 * turn + bow / 2
    value = x * (slope0 + x * (bend0 / 2 + x * (c3 + x * (c4 + x * c5))))
    first = slope0 + x * (bend0 + x * (3 * c3 + x * (4 * c4 + x * 5 * c5)))
    second = bend0 + x * (6 * c3 + x * (12 * c4 + x * 20 * c5))
    return value, first, second


def group_slope(model: Model, xi: Array, v: Array) -> Array:
    """Xi' of q exp(xi) that moves with v: dexp_inv(-xi) v."""
    out = v.copy()
    for block in group_blocks(model):
        out[..., block.at] = (dexp_inv(-xi[..., block.at]) @ v[..., block.at, None])[..., 0]
    return out


def group_rates(model: Model, xi: Array, slope: Array) -> Array:
    """The inverse of `group_slope`."""
    out = slope.copy()
    for block in group_blocks(model):
        own = np.linalg.solve(dexp_inv(-xi[..., block.at]), slope[..., block.at, None])
        out[..., block.at] = own[..., 0]
    return out


def _slope_rate(model: Model, xi: Array, slope: Array, v: Array) -> Array:
    """What `group_slope` changes by where v does not, xi moving with `slope`."""
    out = np.zeros_like(v)
    for block in group_blocks(model):
        moved = -(xi[..., block.at] + 1j * TINY * slope[..., block.at])
        turned = dexp_inv(moved).imag / TINY
        out[..., block.at] = (turned @ v[..., block.at, None])[..., 0]
    return out


def _applied(
    motion: SimulatedMotion, control: Applied, passive: bool, t: Array, q: Array, v: Array
) -> tuple[Array, Array]:
    """Forces at times, as they are after them and before them."""
    after = before = np.zeros_like(v)
    if callable(control):
        after = before = np.broadcast_to(np.asarray(asked(control, t, q, v), float), v.shape)
    elif control is not None:
        rows = np.asarray(control, float)
        if rows.ndim < 2 or rows.shape[-1] != v.shape[-1]:
            raise ArgumentError(f"control must be rows of forces (..., T, nv), got {rows.shape}")
        if rows.shape[-2] == len(motion.t):
            k = np.clip(np.searchsorted(motion.t, t, side="right") - 1, 0, len(motion.t) - 2)
            x = ((t - motion.t[k]) / (motion.t[k + 1] - motion.t[k]))[:, None]
            after = before = rows[..., k, :] * (1 - x) + rows[..., k + 1, :] * x
        elif rows.shape[-2] == len(motion.t) - 1:
            k = np.searchsorted(motion.t, t, side="right") - 1
            after = rows[..., np.clip(k, 0, rows.shape[-2] - 1), :]
            k = np.searchsorted(motion.t, t, side="left") - 1
            before = rows[..., np.clip(k, 0, rows.shape[-2] - 1), :]
        else:
            raise ArgumentError(
                f"control must have {len(motion.t)} or {len(motion.t) - 1} rows, got {rows.shape}"
            )
    if passive:
        own = passive_forces(motion.model, q, v)
        after, before = after + own, before + own
    return after, before
