"""States and rates that constraints allow, next to given ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jounce import _core
from jounce._core.out import Given, deliver
from jounce._types import Array, ArrayLike
from jounce.constraints.checks import worst_row
from jounce.constraints.constraints import Constraints, constraints_on
from jounce.constraints.dynamics import impulse
from jounce.errors import ArgumentError
from jounce.kinematics import integrate
from jounce.model import Model
from jounce.model._checks import numbers

__all__ = ["project", "project_velocity", "projected"]

_jump: Callable[..., Any] = _core.raw("constrained_jump", "impulse", inputs="q jump table")

_MOST_STEPS = 50


def project_velocity(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    constraints: Constraints,
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """The rates nearest to v that fulfill J v = w, in the norm of the mass matrix.

    Equal to `impulse` without restitution.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        constraints: the constraints.
        out: (..., nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nv) rates.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> v = jc.project_velocity(dog, q, np.ones(dog.nv), c)
        >>> bool(np.abs(c.velocity(q, v)).max() < 1e-9)
        True
    """
    c = constraints_on(model, constraints)
    given = Given("project_velocity", model, threads, q=q, v=v)

    def compute(q: ArrayLike, v: ArrayLike) -> Array:
        return impulse(model, q, v, c, threads=threads).v

    return deliver(compute, out, (model.nv,), given)


def project(
    model: Model,
    q: ArrayLike,
    constraints: Constraints,
    *,
    tolerance: float = 1e-12,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Coordinates near q that meet the targets, by Newton's method on the group.

    Each step is ``integrate(q, -M^-1 J^T (J M^-1 J^T)^-1 g)`` with the residual g: the shortest in
    the norm of the mass matrix. Constraints without a target hold what they hold at q.

    Args:
        model: the robot.
        q: (..., nq) coordinates to start from.
        constraints: the constraints.
        tolerance: of the largest residual, in rad and m, beyond rounding of the coordinates.
        out: (..., nq) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nq) coordinates.

    Raises:
        ArgumentError: the targets cannot be met from here (they contradict each other, or q is too
            far away), a wrong shape or bad numbers.
        SingularError: a joint moves no inertia; it is named.

    Examples:
        >>> arm = jc.models.chain(6)
        >>> q = jc.integrate(arm, jc.neutral(arm), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        >>> c = jc.Constraints(arm, [jc.Coupling({"joint0": 1.0, "joint1": 1.0}, offset=0.5)])
        >>> bool(abs(jc.project(arm, q, c)[:2].sum() - 0.5) < 1e-12)
        True
    """
    c = constraints_on(model, constraints)
    tolerance = float(numbers("tolerance", tolerance, ()))
    if tolerance < 0:
        raise ArgumentError(f"tolerance must not be negative, got {tolerance!r}")
    given = Given("project", model, threads, q=q)

    def compute(q: ArrayLike) -> Array:
        given.check()
        array = np.array(q, float)
        if not c.targeted.any():
            return array
        if c.targeted.all() or not (c.holonomic & ~c.targeted).any():
            return projected(model, array, c, tolerance, threads)
        states = array.reshape(-1, model.nq)
        fixed = [projected(model, x, c.at(x), tolerance, threads) for x in states]
        return np.array(fixed).reshape(array.shape)

    return deliver(compute, out, (model.nq,), given)


def projected(model: Model, q: Array, c: Constraints, tolerance: float, threads: int) -> Array:
    """Newton's steps until the residual is small in every state, and one more if that helps."""
    worst = np.inf
    for _ in range(_MOST_STEPS):
        residual = c.residual(q, threads=threads)
        residual[..., ~c.holonomic] = 0.0
        before, worst = worst, float(np.abs(residual).max(initial=0.0))
        if worst == 0 or (worst <= tolerance and worst > 0.25 * before):
            return q
        step = _jump(model, q, -residual, c.table, threads=threads)[0]
        q = integrate(model, q, step, threads=threads)
    if worst <= max(tolerance, 64 * np.finfo(float).eps * np.abs(q).max()):
        return q
    which, far = worst_row(c, residual)
    raise ArgumentError(
        f"the targets of the constraints cannot be met: after {_MOST_STEPS} Newton steps the "
        f"residual of {which} is still {far:.3g} rad or m; they contradict each other, or q is too "
        "far away"
    )
