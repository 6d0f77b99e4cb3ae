"""Events whose series are known: coordinates and heights that reach a value."""

from __future__ import annotations

import numpy as np

from jounce._core.arrays import finite, shown
from jounce._types import Array
from jounce.errors import ArgumentError
from jounce.kinematics import body_pose
from jounce.kinematics.inverse import placed_frame
from jounce.model import Model
from jounce.model.model import require_model
from jounce.series import body_pose_series
from jounce.simulation.events import Event

__all__ = ["coordinate_event", "height_event"]


def _finite(name: str, value: float) -> float:
    number = finite(name, value, "fiu")
    if number.ndim:
        raise ArgumentError(f"{name} must be a finite number, got shape {number.shape}")
    return float(number)


def coordinate_event(
    model: Model, joint: str, value: float, *, terminal: bool = False, direction: int = 0
) -> Event:
    """Return the event that the coordinate of a 1-DoF joint reaches a value.

    Its series is known, so ``simulate(method="taylor")`` misses no crossing.

    Args:
        model: the robot.
        joint: by its name.
        value: rad or m.
        terminal: whether the motion ends there.
        direction: 1: rising zeros only, -1: falling ones, 0: all.

    Returns:
        An `Event` for the argument `events` of `simulate`.

    Raises:
        ArgumentError: the joint has several coordinates; a value that is no finite number.
        UnknownNameError: there is no such joint.

    Examples:
        >>> pendulum = jc.models.chain(1)
        >>> lowest = jc.coordinate_event(pendulum, "joint0", 0.0)
        >>> t = np.linspace(0, 1, 11)
        >>> len(jc.simulate(pendulum, [0.5], [0.0], t, events=[lowest]).events)
        2
    """
    require_model(model)
    value = _finite("value", value)
    at, rate = model.q_slice(joint), model.v_slice(joint)
    if at.stop - at.start != 1:
        raise ArgumentError(f"joint {joint!r} has {at.stop - at.start} coordinates, not one")

    def series(q: Array, motion: Array, tau: Array) -> Array:
        return np.concatenate([q[at] - value, motion[:, rate.start]])

    name = f"{joint} at {value:g}"
    return Event(
        lambda t, q, v: float(q[at.start] - value), terminal, direction, None, name, series
    )


def height_event(
    model: Model,
    frame: str | int,
    value: float,
    *,
    axis: int = 2,
    terminal: bool = False,
    direction: int = 0,
) -> Event:
    """Return the event that the origin of a frame reaches a position along an axis of the world.

    Its series is known, so ``simulate(method="taylor")`` misses no crossing.

    Args:
        model: the robot.
        frame: a frame or body.
        value: m.
        axis: 0, 1 or 2 for x, y or z.
        terminal: whether the motion ends there.
        direction: 1: rising zeros only, -1: falling ones, 0: all.

    Returns:
        An `Event` for the argument `events` of `simulate`.

    Raises:
        UnknownNameError: there is no such frame.
        ArgumentError: a value that is no finite number, an axis that is none of the three.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> half = jc.height_event(arm, "tool", 0.3, direction=-1)
        >>> home, t = arm.poses["home"], np.linspace(0, 1, 11)
        >>> fall = jc.simulate(arm, home, np.zeros(7), t, events=[half])
        >>> bool(np.isclose(jc.body_pose(arm, fall.events[0].q, "tool")[2, 3], 0.3))
        True
    """
    require_model(model)
    value = _finite("value", value)
    if isinstance(axis, bool) or not isinstance(axis, int) or axis not in (0, 1, 2):
        raise ArgumentError(f"axis must be 0, 1 or 2, got {shown(axis)}")
    placed_frame(model, frame)

    def function(t: float, q: Array, v: Array) -> float:
        return float(body_pose(model, q, frame)[axis, 3]) - value

    def series(q: Array, motion: Array, tau: Array) -> Array:
        height = body_pose_series(model, q, motion, frame)[:, axis, 3].copy()
        height[0] -= value
        return height

    name = f"{frame} at {'xyz'[axis]} = {value:g}"
    return Event(function, terminal, direction, None, name, series)
