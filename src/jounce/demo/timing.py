"""Time per call of the series, from Python, on one core."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.kinematics import random_configuration
from jounce.model import Model, models
from jounce.series import forward_dynamics_series, inverse_dynamics_series

__all__ = ["BATCH", "OrderTimes", "Scaling", "order_times", "scaling"]


BATCH = 1024
BUDGET = 0.04
"""s, for each number that is measured."""
_SWEEPS = 4
"""Every sweep is repeated and the best time kept, so that a busy moment leaves no bump."""
BRANCHES = 5
"""Arms of the robot in the scaling measurement (ali, Table 4): N = 1 + 5 times an arm's links."""


class OrderTimes(NamedTuple):
    """Seconds per call for each order, one state at a time and per state of a batch."""

    inverse: Array
    forward: Array
    inverse_batch: Array
    forward_batch: Array


class Scaling(NamedTuple):
    """Seconds per call against the number of bodies and against the order."""

    bodies: Array
    """(n,) numbers of bodies N."""
    inverse: Array
    """(orders, n)."""
    forward: Array
    """(orders, n)."""
    fixed_bodies: int
    """Number of bodies while the order varies."""
    by_order: OrderTimes


def seconds(function: Callable[..., Any], *arguments: Any, budget: float = BUDGET) -> float:
    """Seconds per call: the best of ten runs that take about `budget` seconds together."""
    names = {f"x{k}": value for k, value in enumerate(arguments)}
    timer = timeit.Timer(f"f({', '.join(names)})", globals={"f": function, **names})
    first = timer.timeit(1)
    number = max(1, int(budget / 10 / max(first, 1e-7)))
    return min([first, *(run / number for run in timer.repeat(10, number))])


def order_times(
    model: Model, orders: Sequence[int], batch: int = BATCH, budget: float = BUDGET
) -> OrderTimes:
    """Time the inverse and forward series of a robot at random states.

    Args:
        model: the robot.
        orders: orders r to measure.
        batch: number of states of a batch; the times are per state.
        budget: seconds for each measurement.
    """
    rows = []
    for order in orders:
        single = _pair(model, _states(model, order, ()), budget)
        many = _pair(model, _states(model, order, (batch,)), budget)
        rows.append((*single, *(x / batch for x in many)))
    return OrderTimes(*np.array(rows).T)


def scaling(
    bodies_per_branch: Sequence[int],
    orders: Sequence[int],
    fixed: int,
    up_to: int,
    budget: float = BUDGET,
) -> Scaling:
    """Time the series as the robot grows, and at a fixed robot as the order does.

    Args:
        bodies_per_branch: links of each of the five arms, one entry per robot.
        orders: orders r to measure on all of them.
        fixed: links of each arm of the robot for the sweep over orders.
        up_to: highest order of that sweep.
        budget: seconds for each measurement.
    """
    robots = [models.aerial_manipulator(BRANCHES, bodies) for bodies in bodies_per_branch]
    times = np.full((2, len(orders), len(robots)), np.inf)
    for _ in range(_SWEEPS):
        for k, model in enumerate(robots):
            for j, order in enumerate(orders):
                again = _pair(model, _states(model, order, ()), budget / _SWEEPS)
                times[:, j, k] = np.minimum(times[:, j, k], again)
    model = models.aerial_manipulator(BRANCHES, fixed)
    sweeps = [order_times(model, range(up_to + 1), 256, budget / _SWEEPS) for _ in range(_SWEEPS)]
    by_order = OrderTimes(*np.min(sweeps, axis=0))
    counts = np.array([float(model.n_bodies) for model in robots])
    return Scaling(counts, times[0], times[1], model.n_bodies, by_order)


def exponent(x: ArrayLike, y: ArrayLike) -> float:
    """The p of the best fit of y = c x^p."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _states(model: Model, order: int, shape: tuple[int, ...]) -> tuple[Array, Array]:
    rng = np.random.default_rng(order)
    q = random_configuration(model, rng, shape)
    return q, rng.standard_normal((*shape, order + 2, model.nv))


def _pair(model: Model, states: tuple[Array, Array], budget: float) -> tuple[float, float]:
    q, motion = states
    v, tau = motion[..., 0, :].copy(), motion[..., 1:, :].copy()
    return (
        seconds(inverse_dynamics_series, model, q, motion, budget=budget),
        seconds(forward_dynamics_series, model, q, v, tau, budget=budget),
    )
