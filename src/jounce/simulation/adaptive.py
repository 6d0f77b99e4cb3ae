"""Steps whose length follows from the error, each state of a batch with its own.

A method of Dormand and Prince in the coordinates (xi, s) of q = q_0 exp(xi) gives, beside the
step, an estimate of its error and a polynomial between its ends. The acceleration at the end is
that at the start of the next step; xi' is not, since the next step has other coordinates.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from jounce._types import Array, Integers, Mask
from jounce.simulation import tableaux
from jounce.simulation.dense import nested
from jounce.simulation.field import Field, Moving
from jounce.simulation.methods import METHODS, MOST_SLOPES, weighted

__all__ = [
    "EMBEDDED",
    "SHRINK",
    "STRETCH",
    "Between",
    "Embedded",
    "Pace",
    "Slope",
    "Trial",
    "attempt",
    "first_step",
    "next_step",
    "packed",
    "without_progress",
]

Slope = tuple[Array, Array]

SAFETY, SHRINK, GROW = 0.85, 0.2, 8.0
"""Factors of the next step: safety, least and most (Hairer, Norsett, Wanner, II.4)."""

STRETCH = 1.05
"""By which a step may be longer that then ends where it must."""


class Embedded(NamedTuple):
    """What makes a method adaptive: weights of its errors and of its interpolant."""

    name: str
    power: float
    """The error estimate is O(h^(1/power))."""
    error: tableaux.Rows
    more: tableaux.Rows
    """Slopes after that at the end, for the interpolant."""
    dense: tableaux.Rows


EMBEDDED = {
    pair.name: pair
    for pair in (
        Embedded("dopri5", 1 / 5, tableaux.DOPRI5_ERROR, (), tableaux.DOPRI5_DENSE),
        Embedded(
            "dop853",
            1 / 8,
            tableaux.DOP853_ERROR,
            tableaux.DOP853_DENSE_ROWS,
            tableaux.DOP853_DENSE,
        ),
    )
}
"""Adaptive methods by name."""


@cache
def packed(name: str) -> Array:
    """Return a pair as the compiled core reads it: one row of numbers.

    How many those of the method are and these, the power, how many rows of errors, slopes and the
    interpolant follow, and these rows with as many weights as there is room for.
    """
    pair, method = EMBEDDED[name], METHODS[name].packed()
    groups = pair.error, pair.more, pair.dense
    rows = [(*row, *[0.0] * (MOST_SLOPES - len(row))) for group in groups for row in group]
    return np.concatenate([[len(method), *method, pair.power, *map(len, groups)], *rows])


class Trial(NamedTuple):
    """A step that was tried: its ends, its slopes, and its error in units of what is allowed."""

    start: Moving
    end: Moving
    slopes: list[Slope]
    error: Array
    """(n,)."""

    def only(self, good: Mask) -> Trial:
        """The same where the other states stay, which may have gone to numbers too large."""
        if good.all():
            return self
        kept = good[:, None]
        slopes = [(np.where(kept, s, 0.0), np.where(kept, a, 0.0)) for s, a in self.slopes]
        end = Moving(*(np.where(kept, x, y) for x, y in zip(self.end, self.start, strict=True)))
        return self._replace(end=end, slopes=slopes)


def scales(field: Field, at: Moving, rtol: float, atol: float) -> Array:
    """Allowed errors of (xi, s): relative to coordinates and rates, absolute for rotations."""
    model, nodes = field.model, field.model.coordinates
    size = np.ones((len(at.q), 2 * model.nv))
    straight = np.ones(model.nv, bool)
    for rates in field.rotating:
        straight[rates] = False
    for joint in field.free:
        straight[joint.linear] = False
        size[:, joint.linear] = np.abs(at.q[:, joint.position])
    for k, w in zip(nodes.q_index, nodes.v_index, strict=True):
        if straight[w]:
            size[:, w] = np.abs(at.q[:, k])
    size[:, model.nv :] = np.abs(at.s)
    return atol + rtol * size


def attempt(
    pair: Embedded, field: Field, at: Moving, first: Slope, allowed: tuple[float, float]
) -> Trial:
    """Take one step of every state, from the slope at its start."""
    method = METHODS[pair.name]
    slopes = [first]
    for stage in method.stages:
        state = field.moved(at, weighted(stage.weights, slopes))
        slopes.append(field.slope(state, munthe_kaas=True))
    end = field.moved(at, weighted(method.finish[0], slopes))
    slopes.append(field.slope(end, munthe_kaas=True))
    size = np.maximum(scales(field, at, *allowed), scales(field, end, *allowed))
    errors = [_norm(_combined(row, slopes) * field.dt / size) for row in pair.error]
    if len(errors) == 2:  # Hairer, Norsett, Wanner, II.10
        fifth, third = errors
        both = np.sqrt(fifth**2 + 0.01 * third**2)
        errors = [np.where(both > 0, fifth**2 / np.where(both > 0, both, 1.0), 0.0)]
    return Trial(at, end, slopes, errors[0])


class Between(NamedTuple):
    """The polynomial in (xi, s) along a step."""

    field: Field
    start: Moving
    terms: list[Array]

    @classmethod
    def of(cls, pair: Embedded, field: Field, trial: Trial) -> Between:
        """Return that of a step, for which more slopes may be needed."""
        at, end, h = trial.start, trial.end, field.dt
        slopes = list(trial.slopes)
        for row in pair.more:
            slopes.append(field.slope(field.moved(at, weighted(row, slopes)), munthe_kaas=True))
        change = np.concatenate([end.u, end.s - at.s], axis=-1)
        begins, ends = (h * np.concatenate(trial.slopes[k], axis=-1) for k in (0, -1))
        terms = [change, begins - change, 2 * change - begins - ends]
        return cls(field, at, terms + [h * _combined(row, slopes) for row in pair.dense])

    def at(self, x: Array) -> Moving:
        """Return the states at fractions x (n, 1) of the step."""
        field, start, n = self.field, self.start, self.field.model.nv
        value = nested(np.stack(self.terms, axis=1), x)[0]
        xi = value[:, :n]
        q, s = field.displaced(start.q, xi), start.s + value[:, n:]
        return Moving(start.t + x * field.dt, q, s, xi)


class Pace(NamedTuple):
    """Lengths (n, 1) of steps."""

    h: Array
    """To be tried next."""
    past: Array
    """What the errors of the last good steps alone asked for; zero before them."""


def next_step(pair: Embedded, tried: Array, error: Array, past: Array) -> Pace:
    """Return the next steps, by the errors (n,) of those (n, 1) that were tried.

    With H = SAFETY h error^-power of a good step, and H_0 of that before it, H or, where steps
    become shorter, H^2 / H_0 (Gustafsson, ACM Transactions on Mathematical Software 20, 1994).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = SAFETY * error**-pair.power
    factor = np.where(
        np.isfinite(error), np.clip(np.nan_to_num(factor, nan=GROW), SHRINK, GROW), SHRINK
    )
    wanted = tried * factor[:, None]
    good = (error <= 1.0)[:, None]
    falls = good & (past > wanted)
    trend = np.where(falls, wanted / np.where(falls, past, 1.0), 1.0)
    return Pace(wanted * np.maximum(trend, SHRINK), np.where(good, wanted, past))


def first_step(
    pair: Embedded, field: Field, at: Moving, slope: Slope, allowed: tuple[float, float]
) -> Array:
    """Return lengths (n, 1) of the first steps.

    The time scale of the motion, times the part of it whose power is the error that is allowed.
    """
    motion = np.concatenate([np.ones_like(at.s), at.s], axis=-1)
    scale = scales(field, at, *allowed)
    fast, large = (_norm(x / scale) for x in (np.concatenate(slope, axis=-1), motion))
    part = np.minimum(0.1, 3.0 * large**-pair.power)
    return (part * large / np.maximum(fast, 1e-300))[:, None]


def without_progress(at: Moving, h: Array, places: Mask) -> Integers:
    """States among some whose steps are too short to move the time."""
    short = h[:, 0] <= 16 * np.spacing(np.abs(at.t[:, 0]))
    return np.flatnonzero(short & places)


def _combined(weights: tuple[float, ...], slopes: list[Slope]) -> Array:
    """Return the weighted sum of (xi', s')."""
    total: Array = sum(  # type: ignore[assignment]
        w * np.concatenate(slope, axis=-1) for w, slope in weighted(weights, slopes)
    )
    return total


def _norm(x: Array) -> Array:
    size: Array = np.sqrt((x * x).mean(axis=-1))
    return size
