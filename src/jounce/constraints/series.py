"""Time derivatives of any order of constrained dynamics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._core.arrays import reals
from jounce._types import Array, ArrayLike, Integers
from jounce.constraints.checks import defined
from jounce.constraints.constraints import MOST_ORDERS, Constraints, constraints_on
from jounce.constraints.orders import Orders
from jounce.constraints.results import (
    SeriesGiven,
    deliver_ranked,
    orders_of,
    rank_of,
    ranked,
    with_rank,
)
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.series import (
    forward_dynamics_series,
    hybrid_dynamics_series,
)

__all__ = [
    "ConstrainedDynamicsSeries",
    "ConstrainedHybridDynamicsSeries",
    "constrained_dynamics_series",
    "constrained_hybrid_dynamics_series",
]

_jump: Callable[..., Any] = _core.raw(
    "constrained_jump", "constrained_dynamics_series", inputs="q jump table"
)
_series: Callable[..., Any] = _core.raw(
    "constrained_series",
    "constrained_dynamics_series",
    inputs="q v a tau rates table prescribed f_ext",
)
_hybrid: Callable[..., Any] = _core.raw(
    "constrained_series",
    "constrained_hybrid_dynamics_series",
    inputs="q v a tau rates table prescribed f_ext",
)


@ranked
class ConstrainedDynamicsSeries(NamedTuple):
    """What `constrained_dynamics_series` gives.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> a, force = jc.constrained_dynamics_series(dog, q, v, np.zeros((3, dog.nv)), c)
        >>> a.shape, force.shape  # orders 0 to 2
        ((3, 18), (3, 6))
    """

    a: Array
    """(..., r+1, nv) accelerations and their time derivatives."""
    force: Array
    """(..., r+1, m) constraint forces and their time derivatives."""

    @property
    def rank(self) -> Integers:
        """(...) how many of the rows are independent; it is no item of the tuple."""
        return rank_of(self)


@ranked
class ConstrainedHybridDynamicsSeries(NamedTuple):
    """What `constrained_hybrid_dynamics_series` gives.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> given = np.zeros((3, dog.nv))
        >>> held = np.arange(dog.nv) == 8  # one knee is prescribed
        >>> found = jc.constrained_hybrid_dynamics_series(dog, q, v, given, given, held, c)
        >>> found.a.shape, found.tau.shape, found.force.shape
        ((3, 18), (3, 18), (3, 6))
    """

    a: Array
    """(..., r+1, nv) accelerations and their time derivatives."""
    tau: Array
    """(..., r+1, nv) generalized forces and their time derivatives."""
    force: Array
    """(..., r+1, m) constraint forces and their time derivatives."""

    @property
    def rank(self) -> Integers:
        """(...) how many of the rows are independent for the rates that are not prescribed."""
        return rank_of(self)


def constrained_dynamics_series(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Constraints,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> ConstrainedDynamicsSeries:
    """Accelerations and constraint forces with all time derivatives up to order r.

    Order by order, with one factorization: the k-th derivatives of ``M a + b = tau + J^T force``
    and of ``J v = w`` are, with everything of lower order on the right,

        M a_k - J^T force_k = ...,    J a_k = ...

    Where rows depend on each other, the force is J mu, and its derivatives are those of the
    least-norm force: sums of binomials times J_i mu_(k-i), not least norms of each order, unless
    the rows depend on each other in the same way at all coordinates, as those of planar loops do.

    Args:
        model: the robot.
        q: (..., nq) coordinates, which fulfill the constraints.
        v: (..., nv) rates, likewise.
        tau: (..., r+1, nv) generalized forces and their time derivatives.
        constraints: the constraints.
        f_ext: (..., r+1, n_bodies, 6) body-fixed wrenches and their time derivatives.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (a, force), with the attribute ``rank``.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, a constraint
            that is not defined at q, or dependent rows whose rank changes along the motion (both
            ranks are told).
        SingularError: a joint moves no inertia; it is named.

    Examples:
        >>> import jounce as jc, numpy as np
        >>> robot = jc.models.aerial_manipulator()
        >>> c, zero = jc.Constraints(robot, [jc.Weld("B4")]), np.zeros(robot.nv)
        >>> tau = np.ones((4, robot.nv))
        >>> found = jc.constrained_dynamics_series(robot, jc.neutral(robot), zero, tau, c)
        >>> found.a.shape, found.force.shape
        ((4, 12), (4, 6))
    """
    c = constraints_on(model, constraints)
    orders = orders_of(tau)
    arrays = {"q": q, "v": v, "tau": tau, "f_ext": f_ext}
    given = SeriesGiven("constrained_dynamics_series", model, threads, orders, **arrays)
    if out is None:
        with given.told():
            *found, rank = _accelerations(c, (q, v, tau, f_ext), threads)
        return with_rank(ConstrainedDynamicsSeries, found, rank)

    def compute(*state: Any) -> tuple[Array, ...]:
        return _accelerations(c, state, threads)

    own = ((orders, model.nv), (orders, c.size))
    return deliver_ranked(ConstrainedDynamicsSeries, compute, out, own, given)


def _accelerations(
    c: Constraints, state: tuple[Any, ...], threads: int
) -> tuple[Array, Array, Array]:
    """Accelerations, forces and rank."""
    model, (q, v, tau, f_ext) = c.model, state
    if not c.size:
        a = forward_dynamics_series(model, q, v, tau, f_ext, threads=threads)
        return a, np.zeros((*a.shape[:-1], 0)), np.zeros(a.shape[:-2])
    shape = reals("tau", tau).shape
    if len(shape) > 1 and shape[-1] == model.nv and 0 < shape[-2] <= MOST_ORDERS:
        nothing, none = np.zeros((shape[-2], model.nv)), np.zeros(model.nv, bool)
        w = c._rates_in_series(shape[-2])
        given = (q, v, nothing, tau, w, c.table, none)
        with defined(c, q):
            a, _, force, rank = _series(model, *given, f_ext, threads=threads)
        if np.all(np.asarray(rank) == c._lasting_rows().shape[1]):
            return a, force, rank
    # the free motion first: it checks the arguments, and has the right shape
    free = forward_dynamics_series(model, q, v, tau, f_ext, threads=threads)
    rank = _jump(model, q, np.zeros(c.size), c.table, threads=threads)[2]
    forces = np.broadcast_to(np.asarray(tau, float), free.shape)
    state, none = (q, v, np.zeros_like(free), forces, f_ext), np.zeros(model.nv, bool)
    slow = Orders.solved(c, state, none, rank, threads)
    return slow.motion[..., 1:, :].copy(), slow.force, slow.rank.copy()


def constrained_hybrid_dynamics_series(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    tau: ArrayLike,
    prescribed: ArrayLike,
    constraints: Constraints,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, Array, Array] | None = None,
    threads: int = 1,
) -> ConstrainedHybridDynamicsSeries:
    """Hybrid dynamics under constraints, with all time derivatives up to order r.

    Some rates are prescribed with their derivatives, the forces of the others are given; the
    constraints hold as well. What is missing follows: accelerations, forces of the prescribed
    rates, and constraint forces. With one row, r = 0, it is hybrid dynamics under constraints.

    Rows may depend on each other for the rates that are not prescribed, whose columns of J are A.
    Then the constraint force is the one of the least norm that gives these their accelerations,
    A mu, with the derivatives of that, and the forces of the prescribed rates follow from it.

    Args:
        model: the robot.
        q: (..., nq) coordinates, which fulfill the constraints.
        v: (..., nv) rates, likewise.
        a: (..., r+1, nv) accelerations and their time derivatives, read where prescribed.
        tau: (..., r+1, nv) generalized forces and their time derivatives, read elsewhere.
        prescribed: (nv,) mask of rates whose acceleration is given.
        constraints: the constraints; the rates that are not prescribed must be able to fulfill
            them.
        f_ext: (..., r+1, n_bodies, 6) body-fixed wrenches and their time derivatives.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (a, tau, force), with the attribute ``rank``, that of the rows for the rates
        that are not prescribed.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, a constraint
            that is not defined at q, prescribed accelerations that contradict the constraints by
            more than their tolerance, or dependent rows whose rank changes along the motion (both
            ranks are told).
        SingularError: a joint moves no inertia; it is named.

    Examples:
        >>> import jounce as jc, numpy as np
        >>> robot = jc.models.aerial_manipulator()
        >>> c, zero = jc.Constraints(robot, [jc.Point("B4")]), np.zeros(robot.nv)
        >>> given = np.zeros((3, robot.nv))
        >>> mask = np.arange(robot.nv) < 3
        >>> found = jc.constrained_hybrid_dynamics_series(
        ...     robot, jc.neutral(robot), zero, given, given, mask, c
        ... )
        >>> found.tau.shape, found.force.shape
        ((3, 12), (3, 3))
    """
    c = constraints_on(model, constraints)
    orders = orders_of(tau)
    arrays = {"q": q, "v": v, "a": a, "tau": tau, "f_ext": f_ext}
    given = SeriesGiven("constrained_hybrid_dynamics_series", model, threads, orders, **arrays)
    if out is None:
        with given.told():
            *found, rank = _hybrid_series(c, (q, v, a, tau, f_ext), prescribed, threads)
        return with_rank(ConstrainedHybridDynamicsSeries, found, rank)

    def compute(*state: Any) -> tuple[Array, ...]:
        return _hybrid_series(c, state, prescribed, threads)

    own = ((orders, model.nv), (orders, model.nv), (orders, c.size))
    return deliver_ranked(ConstrainedHybridDynamicsSeries, compute, out, own, given)


def _hybrid_series(
    c: Constraints, given: tuple[Any, ...], prescribed: ArrayLike, threads: int
) -> tuple[Array, Array, Array, Array]:
    """Accelerations, forces of the rates and of the rows, and rank."""
    model, (q, v, a, tau, f_ext) = c.model, given
    if not c.size:
        both = hybrid_dynamics_series(model, q, v, a, tau, prescribed, f_ext, threads=threads)
        lead = both[0].shape[:-1]
        return *both, np.zeros((*lead, 0)), np.zeros(lead[:-1])
    shape = reals("tau", tau).shape
    if len(shape) < 2 or not 0 < shape[-2] <= MOST_ORDERS:
        raise ArgumentError(
            f"tau must have shape (..., r+1, {model.nv}) with r = 0 ... {MOST_ORDERS - 1}, "
            f"got {shape}"
        )
    w = c._rates_in_series(shape[-2])
    state = (q, v, a, tau, w, c.table, prescribed)
    with defined(c, q):
        found: tuple[Array, Array, Array, Array] = _hybrid(model, *state, f_ext, threads=threads)
    *_, rank = found
    if np.all(np.asarray(rank) == c.size):
        return found
    series = [np.broadcast_to(np.asarray(x, float), found[0].shape) for x in (a, tau)]
    held = (q, v, *series, f_ext)
    slow = Orders.solved(c, held, np.asarray(prescribed, bool), rank, threads)
    return slow.motion[..., 1:, :].copy(), slow.tau, slow.force, slow.rank.copy()
