"""What answers to the state of a moving robot: servos, stops, passive forces, given joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jounce._core.arrays import positive, reals, shown
from jounce._types import Array, ArrayLike, Mask
from jounce.dynamics import inverse_mass_matrix
from jounce.errors import ArgumentError
from jounce.kinematics import neutral, normalize
from jounce.model import Model
from jounce.model._checks import check_flag
from jounce.model.model import require_model
from jounce.model.rates import actuated_rates

__all__ = ["Control", "ControlInputs", "control_inputs"]

_DEEPEST = 40  # axes of an array, and more
_HUGE = 1e150
"""Where a joint has no limit: beyond all positions, and its products stay finite."""


@dataclass(frozen=True, eq=False)
class Control:
    """What acts on a robot beside the rows of forces ``tau``, computed at every stage of a step.

    At each rate, with u that leads from the reference to q as in `passive_forces`,

        tau_total = clip(tau + kp u_ref + kd (v_ref - v), force_limits) + passive + stops,

    where u_ref = -u. For joints with one rate u_ref is q_ref - q.

    Args:
        kp: gain of the position, a number or (..., nv), N m/rad or N/m.
        kd: gain of the rate, a number or (..., nv).
        q_ref: reference of the position: (nq,) held, or (..., T, nq) in rows like tau.
        v_ref: reference of the rate: (nv,) or (..., T, nv); zero if it is missing.
        force_limits: None; "model": ``model.effort_limit``; (nv,) largest absolute forces, or one
            number for all; or a tuple of least and largest forces, each (nv,). They limit servos
            and rows together.
        prescribed: joints whose acceleration is given: their names or a mask (nv,). In `tau` their
            entries are accelerations, and nothing else acts on them.
        passive: whether `passive_forces` act.
        stops: whether joints are stopped at ``model.lower`` and ``model.upper``, see below.
        stop_time: how fast, s.

    A stop is a spring with damping that pushes while a 1-DoF joint is beyond its limit, and never
    pulls: with x > 0 beyond the limit the force is ``max(0, k x + d x')`` against it. With
    the inertia m that the joint feels at the neutral configuration, ``1 / inverse_mass_matrix[i,
    i]``, these are k = m / stop_time^2 and d = 2 m / stop_time: critically damped. Steps should be
    shorter than a fifth of `stop_time`. For stops without depth see the events of `simulate`.

    Examples:
        >>> import jounce as jc
        >>> arm = jc.models.chain(3)
        >>> felt = 1 / np.diagonal(jc.inverse_mass_matrix(arm, np.zeros(3)))
        >>> hold = jc.Control(kp=100 * felt, kd=20 * felt, q_ref=[0.1, 0.2, 0.3])
        >>> rest = np.zeros((5000, 3))
        >>> end = jc.rollout(arm, np.zeros(3), np.zeros(3), rest, 1e-3, control=hold)
        >>> bool(np.abs(end.v[-1]).max() < 1e-3)
        True
    """

    kp: ArrayLike = 0.0
    kd: ArrayLike = 0.0
    q_ref: ArrayLike | None = None
    v_ref: ArrayLike | None = None
    force_limits: ArrayLike | str | tuple[ArrayLike, ArrayLike] | None = None
    prescribed: ArrayLike | Sequence[str] | None = None
    passive: bool = False
    stops: bool = False
    stop_time: float = 0.02

    def __post_init__(self) -> None:
        """Keep arrays that nobody changes."""
        for name in ("kp", "kd", "q_ref", "v_ref", "force_limits", "prescribed"):
            object.__setattr__(self, name, _own(getattr(self, name), {}))


def _own(value: Any, made: dict[int, Any], depth: int = 0) -> Any:
    """The value, or a copy if its owner may change it; what is deeper are no numbers."""
    if type(value) in (tuple, list) and depth <= _DEEPEST:
        if id(value) not in made:
            made[id(value)] = value  # within itself
            made[id(value)] = type(value)(_own(x, made, depth + 1) for x in value)
        return made[id(value)]
    return value.copy() if isinstance(value, np.ndarray) else value


class ControlInputs(NamedTuple):
    """A control as the kernels take it."""

    tau: ArrayLike
    prescribed: Mask | None
    passive: int
    q_ref: Array | None
    servo: Array | None
    """(..., 8, nv): gains, force limits, joint limits, stiffness and damping of stops."""


def control_inputs(model: Model, control: object, tau: ArrayLike) -> ControlInputs:
    """Return rows of forces and what goes with them.

    Raises:
        ArgumentError: naming what does not fit.
    """
    if control is None:
        return ControlInputs(tau, None, 0, None, None)
    if not isinstance(control, Control):
        raise ArgumentError(f"control must be a jounce.Control or None, got {shown(control)}")
    require_model(model)
    check_flag("control.passive", control.passive)
    check_flag("control.stops", control.stops)
    mask = None
    if control.prescribed is not None:
        mask = np.zeros(model.nv, bool)
        mask[actuated_rates(model, control.prescribed)] = True
    kp, kd = (_gains(model, name, getattr(control, name)) for name in ("kp", "kd"))
    rows = reals("tau", tau, (model.nv,))
    count = rows.shape[-2] if rows.ndim >= 2 else 1
    if control.v_ref is not None:
        v_ref = _reference(model.nv, "v_ref", control.v_ref, count)
        more = kd[..., None, :] * v_ref
        rows = rows + (more if mask is None else np.where(mask, 0.0, more))
    q_ref = None
    if control.q_ref is not None:
        q_ref = normalize(model, _reference(model.nq, "q_ref", control.q_ref, count))
    elif np.any(kp):
        raise ArgumentError("control.kp needs control.q_ref, the reference of the position")
    least, most = _force_limits(model, control.force_limits)
    parts = np.broadcast_arrays(kp, kd, least, most, *_stops(model, control))
    plain = not (np.any(kp) or np.any(kd) or control.stops or control.force_limits is not None)
    servo = None if plain else np.stack(parts, axis=-2)
    return ControlInputs(rows, mask, int(control.passive), q_ref, servo)


def _numbers(name: str, value: object) -> Array:
    array = reals(f"control.{name}", value)
    if np.isnan(array).any():
        raise ArgumentError(f"control.{name} must not be NaN")
    return array


def _gains(model: Model, name: str, value: ArrayLike) -> Array:
    gains = _numbers(name, value)
    if gains.ndim and gains.shape[-1] != model.nv:
        raise ArgumentError(
            f"control.{name} must be a number or have shape (..., {model.nv}), that is (..., nv) "
            f"of this model, got {gains.shape}"
        )
    if not (np.isfinite(gains) & (gains >= 0)).all():
        raise ArgumentError(f"control.{name} must be finite and not negative, got {shown(value)}")
    return np.broadcast_to(gains, (*gains.shape[:-1], model.nv))


def _reference(size: int, name: str, value: ArrayLike, count: int) -> Array:
    rows = _numbers(name, value)
    if rows.shape == (size,):
        rows = np.broadcast_to(rows, (count, size))
    if rows.ndim < 2 or rows.shape[-2:] != (count, size):
        raise ArgumentError(
            f"control.{name} must have shape ({size},), or (..., {count}, {size}) with a row for "
            f"each of tau, got {rows.shape}"
        )
    if not np.isfinite(rows).all():
        raise ArgumentError(f"control.{name} must be finite")
    return rows


def _force_limits(model: Model, given: object) -> tuple[Array, Array]:
    most = np.finfo(float).max
    if given is None:
        return np.full(model.nv, -most), np.full(model.nv, most)
    if isinstance(given, str):
        if given != "model":
            raise ArgumentError(
                f"control.force_limits must be 'model' or forces, got {shown(given)}"
            )
        given = model.effort_limit
    low, high = _least_and_largest(model.nv, given)
    if not np.all(low <= high):
        raise ArgumentError("control.force_limits: a least force is above the largest one")
    return np.clip(low, -most, most), np.clip(high, -most, most)


def _least_and_largest(nv: int, given: object) -> tuple[Array, Array]:
    """A tuple of two arrays is such a pair; one of two numbers may be (nv,) of two rates."""
    expected = f"control.force_limits must have shape ({nv},), or be a pair of such least and"
    parts: list[Array] = []
    if isinstance(given, tuple) and len(given) == 2:
        parts = [_numbers("force_limits", x) for x in given]
    if any(x.ndim for x in parts):
        if any(x.shape[-1:] != (nv,) for x in parts):
            raise ArgumentError(
                f"{expected} largest forces, got a pair of shapes {parts[0].shape} and "
                f"{parts[1].shape}"
            )
        return parts[0], parts[1]
    largest = _numbers("force_limits", given)
    if largest.ndim and largest.shape[-1] != nv:
        raise ArgumentError(f"{expected} largest forces, got {largest.shape}")
    if (largest < 0).any():
        raise ArgumentError(
            f"{expected} largest forces; largest absolute forces must not be negative, "
            f"got {shown(given)}"
        )
    return -largest, largest


def _stops(model: Model, control: Control) -> tuple[Array, Array, Array, Array]:
    """Limits of 1-DoF joints along the rates, stiffness and damping."""
    lower, upper = np.full(model.nv, -_HUGE), np.full(model.nv, _HUGE)
    k, d = np.zeros(model.nv), np.zeros(model.nv)
    if not control.stops:
        return lower, upper, k, d
    time = control.stop_time
    time = positive("control.stop_time", time)
    inertia = 1 / np.diagonal(inverse_mass_matrix(model, neutral(model)))
    for q, v in limited(model):
        lower[v], upper[v] = np.clip((model.lower[q], model.upper[q]), -_HUGE, _HUGE)
        k[v], d[v] = inertia[v] / time**2, 2 * inertia[v] / time
    return lower, upper, k, d


def limited(model: Model) -> list[tuple[int, int]]:
    """Coordinates and rates of joints with one rate that have limits."""
    nodes = model.nodes
    pairs = zip(nodes.q_index.tolist(), nodes.v_index.tolist(), nodes.kind.tolist(), strict=True)
    simple = [(q, v) for q, v, kind in pairs if kind < 3]
    return [(q, v) for q, v in simple if np.isfinite(model.lower[q]) or np.isfinite(model.upper[q])]
