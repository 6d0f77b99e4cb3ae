"""States and rates that constraints allow, next to given ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jounce import _core
from jounce._core.arrays import shown
from jounce._core.out import Given, Shape, deliver
from jounce._core.words import in_own_words, told_by
from jounce._types import Array, ArrayLike, Integers
from jounce.constraints.checks import rounding_of, worst_row
from jounce.constraints.constraints import Constraints, constraints_on
from jounce.constraints.dynamics import impulse
from jounce.errors import ArgumentError, Error
from jounce.kinematics import integrate
from jounce.model import Model
from jounce.model._checks import numbers

__all__ = ["missed_by", "project", "project_velocity", "projected", "settle"]

_jump: Callable[..., Any] = _core.raw("constrained_jump", "project", inputs="q jump table")

Step = Callable[[Integers, Array, Array], Array]
"""Where a step leads some states: of their numbers, coordinates and residuals."""

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
        raise ArgumentError(f"tolerance must not be negative, got {shown(tolerance)}")
    given = Given("project", model, threads, q=q)

    def compute(q: ArrayLike) -> Array:
        given.check()
        array = np.array(q, float)
        if not c.targeted.any():
            return array
        if c.targeted.all() or not (c.holonomic & ~c.targeted).any():
            return projected(model, array, c, tolerance, threads)
        fixed = array.reshape(math.prod(array.shape[:-1]), model.nq)
        for k, x in enumerate(fixed):
            with told_by("project", fixed.shape[:1], [k], ()):
                fixed[k] = projected(model, x[None], c.at(x), tolerance, threads)[0]
        return fixed.reshape(array.shape)

    return deliver(compute, out, (model.nq,), given)


def projected(model: Model, q: Array, c: Constraints, tolerance: float, threads: int) -> Array:
    """Newton's steps until the residual is small, and one more if that helps.

    Each state is judged by itself, and left alone once it is done: others do not change it.

    Raises:
        ArgumentError: a state does not get there; the constraint that is missed most is told.
    """
    lead = q.shape[:-1]
    states = np.array(q).reshape(math.prod(lead), model.nq)

    def step(_: Integers, q: Array, residual: Array) -> Array:
        dq = _jump(model, q, -residual, c.table, threads=threads)[0]
        return integrate(model, q, dq, threads=threads)

    residual = settle(c, states, tolerance, step, ("project", lead), threads)
    missed = missed_by(states, residual, tolerance)
    if missed.any():
        which, far = worst_row(c, missed.reshape(*lead, c.size))
        raise ArgumentError(
            f"the targets of the constraints cannot be met: after {_MOST_STEPS} Newton steps the "
            f"residual of {which} is still {far:.3g} rad or m; they contradict each other, or q is "
            "too far away"
        )
    return states.reshape(q.shape)


def settle(
    c: Constraints, q: Array, tolerance: float, step: Step, told: tuple[str, Shape], threads: int
) -> Array:
    """Take steps from each of the states until it is done; return what is left of residuals.

    Args:
        c: the constraints.
        q: (n, nq) coordinates; those after the last step are written to them.
        tolerance: steps go on while residuals are larger, or shrink to less than a quarter.
        step: of Newton's method.
        told: the function whose errors they are, and the leading axes of the states.
        threads: number of threads for a batch.

    Returns:
        (n, m) residuals, zero where constraints are not holonomic.
    """
    function, lead = told
    residual, worst = np.zeros((len(q), c.size)), np.full(len(q), np.inf)
    going = np.arange(len(q))
    some: Integers | slice = slice(None)  # those that go on; all, as long as all do
    try:
        for taken in range(_MOST_STEPS + 1):
            far = np.where(c.holonomic, c.residual(q[some], threads=threads), 0.0)
            now = np.abs(far).max(-1, initial=0.0)
            more = (now > 0.0) & ((now > tolerance) | (now <= 0.25 * worst[some]))
            residual[some], worst[some] = far, now
            if not more.all():
                going, far = going[more], far[more]
                some = going
            if taken == _MOST_STEPS or not going.size:
                break
            q[some] = step(going, q[some], far)
    except Error as error:
        raise in_own_words(error, function, lead, going, going.shape) from None
    return residual


def missed_by(q: Array, residual: Array, tolerance: float) -> Array:
    """Residuals beyond the tolerance and the rounding of a state's coordinates; zero elsewhere."""
    most = np.maximum(tolerance, rounding_of(q))
    return np.where(np.abs(residual) <= most, 0.0, residual)
