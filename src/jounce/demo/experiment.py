"""The experiment of ali, Sec. 7: motion to forces and back, along the trajectory of Table 3."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jounce import trajectories
from jounce._types import Array
from jounce.model import Model, models
from jounce.series import forward_dynamics_series, inverse_dynamics_series

__all__ = ["ORDER", "STEPS", "STEP_SIZE", "RoundTrip", "round_trip"]


ORDER = 5
STEPS = 3000
STEP_SIZE = 0.01
"""s"""

_FACTOR = 10.0
"""How much larger than the effect of the forces' last bits the errors of the motion may be."""
_FORCE_TOLERANCE = 1e-12
"""Largest error of the forces, relative to the largest force of the same order."""


@dataclass(frozen=True)
class RoundTrip:
    """A motion, the forces that it takes, and the motion that these forces give.

    Attributes:
        model: the robot.
        t: (n,) times, s.
        q: (n, nq) coordinates.
        motion: (n, r+2, nv) v and its derivatives: the input.
        tau: (n, r+1, nv) what the inverse series makes of it.
        a: (n, r+1, nv) what the forward series makes of tau.
        motion_error: (r+1,) largest error of `a`, in SI units.
        last_bit: (r+1,) how far `a` moves if every force changes in its last bit: no method
            that is given the forces as floating-point numbers can do better.
        force_error: (r+1,) largest error of the forces that `a` takes, relative to the largest
            force of that order.
    """

    model: Model
    t: Array
    q: Array
    motion: Array
    tau: Array
    a: Array
    motion_error: Array
    last_bit: Array
    force_error: Array

    @property
    def passed(self) -> bool:
        """Whether the motion came back as exactly as the forces determine it."""
        exact_forces = bool((self.force_error < _FORCE_TOLERANCE).all())
        return exact_forces and bool((self.motion_error < _FACTOR * self.last_bit).all())


def round_trip(order: int = ORDER, steps: int = STEPS) -> RoundTrip:
    """Run the inverse series along the trajectory of Table 3, then the forward series.

    Args:
        order: highest order r.
        steps: number of times, spread over 30 s.
    """
    model = models.aerial_manipulator()
    trajectory = trajectories.aerial_manipulator_reference(model)
    t: Array = np.arange(float(steps)) * (STEPS * STEP_SIZE / steps)
    q, motion = trajectory.evaluate(t, order)
    v = motion[:, 0]
    tau = inverse_dynamics_series(model, q, motion)
    a = forward_dynamics_series(model, q, v, tau)
    up = np.random.default_rng(0).choice([-np.inf, np.inf], tau.shape)
    nudged = forward_dynamics_series(model, q, v, np.nextafter(tau, up))
    again = inverse_dynamics_series(model, q, np.concatenate([v[:, None], a], axis=1))
    return RoundTrip(
        model,
        t,
        q,
        motion,
        tau,
        a,
        motion_error=_largest(a - motion[:, 1:]),
        last_bit=_largest(nudged - a),
        force_error=_largest(again - tau) / _largest(tau),
    )


def _largest(series: Array) -> Array:
    """The largest magnitude of each order, over times and components."""
    out: Array = np.abs(series).max(axis=(0, 2))
    return out
