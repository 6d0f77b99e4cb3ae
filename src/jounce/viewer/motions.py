"""What a viewer shows: a robot in one configuration, or its motion over time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jounce._core.arrays import reals
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError, ArgumentTypeError
from jounce.kinematics import neutral, normalize
from jounce.model import Model
from jounce.model._checks import numbers
from jounce.simulation import SimulatedMotion
from jounce.trajectories import RobotTrajectory

__all__ = ["Shown", "at_rate", "reference", "shown"]

_FRAMES_PER_SECOND = 60.0
_LONGEST = 10.0
"""How much of a trajectory without an end is shown, s."""

_LIKED_POSES = ("home", "standing", "half_sitting")


class Shown(NamedTuple):
    """A motion; one configuration is a motion with one time."""

    model: Model
    t: Array
    """(T,) times, s."""
    q: Array
    """(T, nq) coordinates."""
    v: Array
    """(T, nv) rates."""
    a: Array
    """(T, nv) their derivatives."""


def shown(what: object, q: ArrayLike | None, v: ArrayLike | None, t: ArrayLike | None) -> Shown:
    """Make a motion of what `jounce.view` is given.

    Raises:
        ArgumentTypeError: it is neither a model nor a motion of one.
        ArgumentError: arrays that do not fit the model, or arguments that do not go together.
    """
    if isinstance(what, Model):
        return _of_model(what, q, v, t)
    if not isinstance(what, (SimulatedMotion, RobotTrajectory)):
        raise ArgumentTypeError(
            "view takes a Model, a SimulatedMotion (of jounce.simulate) or a RobotTrajectory, "
            f"got {type(what).__name__}; a rollout is shown by jounce.view(model, rollout.q, t=dt)"
        )
    if q is not None or v is not None:
        raise ArgumentError("q and v are those of the motion; give them with a model only")
    if isinstance(what, SimulatedMotion):
        if t is not None:
            raise ArgumentError("t is that of the motion; motion[10:20] shows some of its times")
        return _of_arrays(what.model, what.q, what.v, what.t)
    return _of_trajectory(what, t)


def reference(model: Model) -> Array:
    """The configuration that a robot is shown in: its reference pose, else the neutral one."""
    named = (model.poses[name] for name in _LIKED_POSES if name in model.poses)
    return next(named, neutral(model))


def _of_model(model: Model, q: ArrayLike | None, v: ArrayLike | None, t: ArrayLike | None) -> Shown:
    if q is None:
        q = reference(model)
    rows = reals("q", q)
    if rows.ndim > 1:
        return _of_arrays(model, rows, v, t)
    if t is not None:
        raise ArgumentError("t belongs to a motion: q must then have the shape (T, nq)")
    zero = np.zeros(model.nv)
    one = normalize(model, numbers("q", q, (model.nq,)))
    rates = zero if v is None else numbers("v", v, (model.nv,))
    return Shown(model, np.zeros(1), one[None], rates[None], zero[None])


def _of_arrays(model: Model, q: Array, v: ArrayLike | None, t: ArrayLike | None) -> Shown:
    """A motion by its samples; accelerations are differences of the rates."""
    if q.ndim != 2 or q.shape[1] != model.nq or not len(q):
        raise ArgumentError(
            f"a motion is q of shape (T, {model.nq}), got {q.shape}; one of a batch is shown"
        )
    if t is None:
        raise ArgumentError(
            "a motion q of shape (T, nq) needs t: its times (T,), or their step in s"
        )
    times = reals("t", t)
    times = times * np.arange(len(q)) if times.ndim == 0 else times
    if times.shape != (len(q),) or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ArgumentError(f"t must be {len(q)} increasing times in s, or their step, got {t!r}")
    if v is None:
        v = _differences(model, times, q)
    rates = reals("v", v)
    if rates.shape != (len(q), model.nv):
        raise ArgumentError(f"v must have the shape {(len(q), model.nv)}, got {rates.shape}")
    a = np.zeros_like(rates)
    if len(times) > 1:
        a = np.gradient(rates, times, axis=0, edge_order=2 if len(times) > 2 else 1)
    return Shown(model, times, normalize(model, q), rates, a)


def _differences(model: Model, t: Array, q: Array) -> Array:
    """Rates from one sample to the next, on the group; the last is repeated."""
    from jounce.kinematics import difference

    if len(t) < 2:
        return np.zeros((len(t), model.nv))
    steps: Array = difference(model, q[:-1], q[1:]) / np.diff(t)[:, None]
    return np.concatenate([steps, steps[-1:]])


def _of_trajectory(trajectory: RobotTrajectory, t: ArrayLike | None) -> Shown:
    start, end = trajectory.interval
    if t is None:
        start = start if np.isfinite(start) else 0.0
        end = end if np.isfinite(end) else start + _LONGEST
        t = np.linspace(start, end, 1 + max(1, int(np.ceil((end - start) * _FRAMES_PER_SECOND))))
    times = np.atleast_1d(reals("t", t))
    sample: Any = trajectory.evaluate(times, order=0)
    return Shown(trajectory.model, times, sample.q, sample.v, sample.a)


def at_rate(motion: Shown, rate: float) -> Shown:
    """The motion at the samples that are nearest to times of a rate, 1/s: for a smaller file."""
    t = motion.t
    count = 1 + int(np.ceil((t[-1] - t[0]) * rate))
    if count >= len(t):
        return motion
    wanted = np.linspace(t[0], t[-1], count)
    right = np.clip(np.searchsorted(t, wanted), 1, len(t) - 1)
    nearest = np.unique(right - (wanted - t[right - 1] < t[right] - wanted))
    return Shown(motion.model, *(array[nearest] for array in motion[1:]))
