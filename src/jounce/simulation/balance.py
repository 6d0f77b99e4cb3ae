"""What a motion says of the forces that acted: their work, and the torque defect."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jounce._core.arrays import reals
from jounce._types import Array, ArrayLike, Mask
from jounce.dynamics import (
    forward_dynamics,
    inverse_dynamics,
    kinetic_energy,
    passive_forces,
    potential_energy,
)
from jounce.errors import ArgumentError
from jounce.kinematics import difference, integrate, neutral
from jounce.lie import dexp_inv
from jounce.model.rates import group_blocks
from jounce.simulation.arguments import asked
from jounce.simulation.control import Control
from jounce.simulation.dense import NESTED, Dense, StepLog, fitting
from jounce.simulation.rows import Rows, Side, interval, share
from jounce.simulation.servo import servo_forces

if TYPE_CHECKING:
    from jounce.model import Model
    from jounce.simulation.motion import SimulatedMotion

__all__ = ["Applied", "cubic", "finite_states", "forward", "power_and_defect"]

Applied = ArrayLike | Callable[..., ArrayLike] | None
"""Forces that acted, as `simulate` takes them."""

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(5)
PLACES, SHARES = 0.5 * (_POINTS + 1), 0.5 * _WEIGHTS
"""Where forces are looked at in a step, and what they count for their work (Gauss)."""


def power_and_defect(
    motion: SimulatedMotion, control: Applied | Control, passive: bool
) -> tuple[Array, Array]:
    """Largest errors of the power balance and of the equations of motion, of each state."""
    model, lead = motion.model, motion.q.shape[:-2]
    if len(motion.t) < 2 or not model.nv or not motion.q.size:
        return np.zeros(lead), np.zeros(lead)
    motion = forward(motion)
    acting = _Acting.of(motion, control, passive)
    dense = motion.dense or _joined(motion, acting)
    ends = _ends_of_steps(motion, dense)
    h = np.diff(ends)
    times = (ends[:-1, None] + h[:, None] * PLACES).ravel()
    found = [x.reshape(*lead, len(times), x.shape[-1]) for x in dense.path(times)]
    needed = inverse_dynamics(model, *finite_states(model, *found))
    tau = np.where(acting.given, needed, acting.forces(times, found[0], found[1]))
    missing = needed - tau + 0.0 * found[1]  # NaN where a state has ended
    defect = _largest(np.abs(missing).max(axis=-1))
    flow = (tau * found[1]).sum(-1).reshape(*lead, len(h), len(PLACES))
    q, v = (x.reshape(*lead, len(ends), x.shape[-1]) for x in dense.at(ends))
    energy = kinetic_energy(model, *finite_states(model, q, v)) + potential_energy(
        model, finite_states(model, q)[0]
    )
    energy[np.isnan(q).any(axis=-1)] = np.nan
    return _largest(np.cumsum(np.diff(energy, axis=-1) - h * (flow @ SHARES), axis=-1)), defect


def _largest(x: Array) -> Array:
    """The largest absolute value along the last axis, of those that are numbers."""
    largest: Array = np.fmax.reduce(np.abs(x), axis=-1, initial=0.0)
    return largest


def forward(motion: SimulatedMotion) -> SimulatedMotion:
    """The motion with times that increase: slices may turn them around."""
    return motion if motion.t[0] <= motion.t[-1] else motion[::-1]


def _ends_of_steps(motion: SimulatedMotion, dense: Dense) -> Array:
    """Ends of steps, the distances of which are no longer than the step of any state there.

    All times at which forces or rates may jump are among them. One state has its own steps.
    """
    low, high = float(motion.t[0]), float(motion.t[-1])
    own = [
        np.append(dense.t[dense.first[k] : dense.first[k + 1]], dense.end[k])
        for k in range(len(dense.end))
    ]
    every = np.concatenate(own)
    known = np.intersect1d(control_times(motion), every), [event.t for event in motion.events]
    jumps = np.unique(np.clip(np.concatenate([[low, high], *known]), low, high))
    ends = np.union1d(jumps, np.clip(every, low, high))
    shortest = np.full(len(ends), np.inf)
    for steps in own:
        k = np.searchsorted(steps, ends, side="right")
        length = np.diff(steps, prepend=-np.inf, append=np.inf)  # none before and after
        shortest = np.minimum(shortest, length[k])
    after = np.searchsorted(ends, ends + (1 + 1e-9) * shortest, side="right") - 1
    jump = np.append(jumps, np.inf)[np.searchsorted(jumps, ends, side="right")]
    after = np.minimum(after, np.searchsorted(ends, jump))
    nexts = np.maximum(after, np.arange(len(ends)) + 1).tolist()
    chosen = [0]
    while chosen[-1] < len(ends) - 1:
        chosen.append(nexts[chosen[-1]])
    return ends[chosen]


def control_times(motion: SimulatedMotion) -> Array:
    """Times of the rows of a control."""
    return motion.t if motion.control_t is None else motion.control_t


def _joined(motion: SimulatedMotion, acting: _Acting) -> Dense:
    """A motion of which only the states at its times are known."""
    model, t, steps = motion.model, motion.t, len(motion.t) - 1
    n = int(np.prod(motion.q.shape[:-2]))
    known = ~np.isnan(motion.q).any(axis=-1).reshape(n, len(t))
    clean = finite_states(model, motion.q, motion.v)
    a = [forward_dynamics(model, clean[0], clean[1], x) for x in acting.at_times()]
    q, v, a0, a1 = (x.reshape(n, len(t), x.shape[-1]) for x in (*clean, *a))
    some = known[:, :-1] & known[:, 1:]
    begin, end = (
        tuple(x[:, part][some] for x in states)
        for part, states in ((slice(-1), (q, v, a0)), (slice(1, None), (q, v, a1)))
    )
    state, k = np.nonzero(some)
    h, log = np.diff(t)[k], StepLog(model, np.full(n, t[0]))
    log.add(state, t[k], h, *begin[:2], fitting(model, h, begin, end))
    last = steps - np.argmax(known[:, ::-1], axis=1)
    found = log.dense(NESTED, t[last], None)
    assert found is not None
    return found


def finite_states(model: Model, q: Array, *rest: Array) -> tuple[Array, ...]:
    """States with numbers for those that have ended, which kernels refuse."""
    ended = np.isnan(q).any(axis=-1)
    if not ended.any():
        return (q, *rest)
    clean = [x.copy() for x in (q, *rest)]
    clean[0][ended] = neutral(model)
    for x in clean[1:]:
        x[ended] = 0.0
    return tuple(clean)


class _Acting(NamedTuple):
    """The forces of a control."""

    motion: SimulatedMotion
    function: Callable[[Array, Array, Array], ArrayLike] | None
    rows: Array | None
    passive: bool
    given: Mask
    """Rates whose acceleration is prescribed, by forces that nobody knows beforehand."""

    @classmethod
    def of(cls, motion: SimulatedMotion, control: Applied | Control, passive: bool) -> _Acting:
        model, t = motion.model, control_times(motion)
        given = np.zeros(model.nv, bool)
        if isinstance(control, Control):
            function, prescribed = servo_forces(model, control, t, in_rows=True)
            own = given if prescribed is None else prescribed
            return cls(motion, function, None, passive and not control.passive, own)
        if callable(control) or control is None:
            return cls(motion, control, None, passive, given)
        rows = reals("control must be a function of (t, q, v) or rows of forces: they", control)
        if rows.ndim < 2 or rows.shape[-1] != model.nv:
            raise ArgumentError(f"control must be rows of forces (..., T, nv), got {rows.shape}")
        if rows.shape[-2] not in (len(t), len(t) - 1):
            raise ArgumentError(
                f"control must have {len(t)} or {len(t) - 1} rows, as for the times of the "
                f"simulation, got {rows.shape}"
            )
        return cls(motion, None, rows, passive, given)

    def forces(self, t: Array, q: Array, v: Array, side: Side = "right") -> Array:
        """Forces (..., K, nv) at times (K,), on that side of a jump.

        Those of states that have ended mean nothing.
        """
        tau, times = np.zeros_like(v), control_times(self.motion)
        q, v = finite_states(self.motion.model, q, v)
        if self.function is not None:
            given = reals("what control returns", asked(self.function, t, q, v))
            if given.ndim == v.ndim + 1 and given.shape[-1] == v.shape[-1]:  # a series
                given = given[..., 0, :]
            try:
                tau = np.array(np.broadcast_to(given, v.shape))
            except ValueError:
                raise ArgumentError(
                    f"control must return an array of shape {v.shape}, got shape {given.shape}"
                ) from None
        elif self.rows is not None:
            tau = tau + Rows(times, self.rows).at(t, interval(times, t, side))
        if self.passive:
            tau = tau + passive_forces(self.motion.model, q, v)
        return tau

    def at_times(self) -> tuple[Array, Array]:
        """Forces at the times of the motion, after and before jumps."""
        at = self.motion.t, self.motion.q, self.motion.v
        return self.forces(*at), self.forces(*at, side="left")


def cubic(model: Model, t: Array, q: Array, v: Array, times: Array) -> tuple[Array, Array]:
    """States at times (K,) between those t (T,) of others, by Hermite's cubics of xi.

    NaN beyond the last state that is known.
    """
    lost = np.asarray(np.isnan(q).any(axis=-1))
    q, v = finite_states(model, q, v)
    k = interval(t, times)
    h, x = (t[k + 1] - t[k])[:, None], share(t, k, times)
    q0, q1 = q[..., k, :], q[..., k + 1, :]
    v0, v1 = v[..., k, :], v[..., k + 1, :]
    change = difference(model, q0, q1)
    begins, ends = h * v0, h * group_slope(model, change, v1)
    xi = x * (change + (1 - x) * ((begins - change) + x * (2 * change - begins - ends)))
    rate = change + (1 - 2 * x) * (begins - change)
    rate = rate + (2 * x - 3 * x * x) * (2 * change - begins - ends)
    found = integrate(model, q0, xi), group_rates(model, xi, rate / h)
    unknown = lost[..., k] | (lost[..., k + 1] & (times > t[k]))
    for values in found:
        values[unknown] = np.nan
    return found


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
