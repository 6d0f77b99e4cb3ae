"""A `Control` as a function of time and state, for simulations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jounce._types import Array, Integers, Mask
from jounce.dynamics import passive_forces
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.model.rates import group_blocks
from jounce.simulation.control import Control, ControlInputs, control_inputs
from jounce.simulation.free_joints import displaced, displacement, free_joints
from jounce.simulation.rows import Places, Rows, interval, share

__all__ = [
    "Function",
    "answered",
    "pulled_by",
    "reference_between",
    "require_gains",
    "servo_forces",
]

Function = Callable[[Array, Array, Array], Array]


def servo_forces(
    model: Model, control: Control, times: Array, *, in_rows: bool = False
) -> tuple[Function, Mask | None]:
    """Forces at times (...), coordinates (..., nq) and rates (..., nv), and prescribed rates.

    References with a row for each of the times are followed along straight lines of the group.
    States `in_rows` are those of a motion: times (K,), coordinates (..., K, nq).

    Raises:
        ArgumentError: the control does not fit the model or the times.
    """
    inputs = control_inputs(model, control, np.zeros((len(times), model.nv)))
    rows = Rows(times, np.asarray(inputs.tau))

    def forces(t: Array, q: Array, v: Array) -> Array:
        t = np.asarray(t)
        k = interval(times, t)
        there, servo = None, inputs.servo
        if servo is not None and inputs.q_ref is not None:
            there = reference_between(model, Rows(times, inputs.q_ref), t, k)
        if servo is not None and in_rows:
            servo = servo[..., None, :, :]
        return answered(model, inputs._replace(tau=rows.at(t, k), q_ref=there, servo=servo), q, v)

    return forces, inputs.prescribed


def answered(model: Model, inputs: ControlInputs, q: Array, v: Array) -> Array:
    """Forces (..., nv) at coordinates and rates, from rows and references (..., n) there."""
    tau = np.asarray(inputs.tau)
    if inputs.servo is not None:
        kp, kd, least, most, *stops = np.moveaxis(inputs.servo, -2, 0)
        if inputs.q_ref is not None:
            tau = tau - kp * _away(model, inputs.q_ref, q)
        tau = np.clip(tau - kd * v, least, most) + _stops(model, q, v, *stops)
    return tau + passive_forces(model, q, v) if inputs.passive else tau


def reference_between(
    model: Model, rows: Rows, t: Array, k: Integers, of: Places = (...,)
) -> Array:
    """References at times in intervals, see `Rows`: turns are even, positions go straight."""
    (begin, end), part = rows.ends(k, of), share(rows.t, k, t)
    free = free_joints(model)
    return displaced(model, free, begin, part * displacement(model, free, begin, end))


def require_gains(model: Model, control: Control) -> None:
    """Refuse what is no polynomial of the state: servos with limits, stops, prescribed joints.

    Raises:
        ArgumentError: naming it.
    """
    names = {
        "force_limits": control.force_limits is not None,
        "stops": control.stops,
        "prescribed": control.prescribed is not None,
    }
    for name, used in names.items():
        if used:
            raise ArgumentError(
                f"method 'taylor' needs smooth forces: it takes no {name} of a jounce.Control"
            )
    kp = np.broadcast_to(np.asarray(control.kp, float), (*np.shape(control.kp)[:-1], model.nv))
    if any(kp[..., block.at].any() for block in group_blocks(model)):
        raise ArgumentError(
            "method 'taylor' has no series for control.kp of spherical and free joints"
        )


def pulled_by(model: Model, servo: Array, q_ref: Array) -> Array:
    """Forces kp q_ref of 1-DoF joints, (..., T, nv)."""
    nodes = model.coordinates
    simple = nodes.kind < 3
    out = np.zeros((*q_ref.shape[:-1], model.nv))
    out[..., nodes.v_index[simple]] = q_ref[..., nodes.q_index[simple]]
    pull: Array = servo[..., None, 0, :] * out
    return pull


def _away(model: Model, reference: Array, q: Array) -> Array:
    """What leads from the reference to q, as in `passive_forces`."""
    free = free_joints(model)
    u = displacement(model, free, reference, q)
    for joint in free:
        joint.to_body(q, u)
    return u


def _stops(
    model: Model, q: Array, v: Array, lower: Array, upper: Array, k: Array, d: Array
) -> Array:
    """Forces of stops: none inside, never pulling."""
    nodes = model.coordinates
    simple = nodes.kind < 3
    at = nodes.v_index[simple]
    x = np.zeros_like(v)
    x[..., at] = q[..., nodes.q_index[simple]]
    over, under = x - upper, lower - x
    down = np.where(over > 0, np.maximum(0.0, k * over + d * v), 0.0)
    up = np.where(under > 0, np.maximum(0.0, k * under - d * v), 0.0)
    out: Array = up - down
    return out
