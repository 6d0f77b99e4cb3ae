"""Exact partial derivatives of the time derivatives of constrained dynamics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._core.words import told_by
from jounce._types import Array, ArrayLike, Integers
from jounce.constraints.checks import defined, require_state
from jounce.constraints.constraints import Constraints, constraints_on
from jounce.constraints.dependent_series import along_the_manifold
from jounce.constraints.results import SeriesGiven, deliver_ranked, orders_of, rank_of, ranked
from jounce.constraints.series import constrained_dynamics_series
from jounce.derivatives import forward_dynamics_series_derivatives
from jounce.model import Model
from jounce.series import forward_dynamics_series

__all__ = ["ConstrainedDynamicsSeriesDerivatives", "constrained_dynamics_series_derivatives"]

_jvp: Callable[..., Any] = _core.raw(
    "constrained_series_jvp", "constrained_dynamics_series_derivatives", inputs=""
)


@ranked
class ConstrainedDynamicsSeriesDerivatives(NamedTuple):
    """Derivatives of both results of `constrained_dynamics_series`.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> d = jc.constrained_dynamics_series_derivatives(dog, q, v, np.zeros((2, dog.nv)), c)
        >>> d.a_dq.shape, d.force_dtau.shape
        ((2, 18, 18), (2, 6, 2, 18))
    """

    a_dq: Array
    """(..., r+1, nv, nv): [k, i, j] is the derivative of the order k of a[i] along rate j."""
    a_dv: Array
    """(..., r+1, nv, nv)."""
    a_dtau: Array
    """(..., r+1, nv, r+1, nv): [k, i, l, j] is that by the derivative l of tau[j]."""
    force_dq: Array
    """(..., r+1, m, nv)."""
    force_dv: Array
    """(..., r+1, m, nv)."""
    force_dtau: Array
    """(..., r+1, m, r+1, nv)."""

    @property
    def rank(self) -> Integers:
        """(...) how many of the rows are independent; it is no item of the tuple."""
        return rank_of(self)


def constrained_dynamics_series_derivatives(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Constraints,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, ...] | None = None,
    threads: int = 1,
) -> ConstrainedDynamicsSeriesDerivatives:
    """Derivatives of `constrained_dynamics_series` with respect to q, v and the derivatives of tau.

    The recursion of the series on dual numbers, as many directions at once as a register holds.
    Derivatives by q are taken in the tangent space, also in directions that the constraints do not
    allow: there the accelerations are those of the rows, ``J a + J' v = w'``, wherever (q, v) is.

    Where rows depend on each other in a way that changes with q, as those of four points of a foot,
    they have solutions on the manifold of the constraints only: there the derivatives are those of
    the rates projected on it (`project_velocity`) and, where the rank is another one nearby
    (``constraints.regular(q)`` is False) or the set is stabilized, of the coordinates projected on
    it, too. Forces are of the least norm at every instant.

    Args:
        model: the robot.
        q: (..., nq) coordinates, which fulfill the constraints.
        v: (..., nv) rates, likewise.
        tau: (..., r+1, nv) generalized forces and their time derivatives.
        constraints: the constraints.
        f_ext: (..., r+1, n_bodies, 6) body-fixed wrenches and their time derivatives, held
            constant.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (a_dq, a_dv, a_dtau, force_dq, force_dv, force_dtau), with the attribute
        ``rank``.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, a constraint
            that is not defined at q, dependent rows whose rank changes along the motion, or a
            stabilized set of such rows that the state violates by more than its tolerance.
        SingularError: a joint moves no inertia; it is named.

    Identity: order 0 is `constrained_dynamics_derivatives`, along the manifold;
    ``a_dtau[..., k, :, k, :]`` is the same for every k, and ``a_dtau[..., k, :, l, :]`` is zero for
    l > k.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> q, v, tau = dog.poses["standing"], np.zeros(dog.nv), np.zeros((2, dog.nv))
        >>> d = jc.constrained_dynamics_series_derivatives(dog, q, v, tau, c)
        >>> d.a_dq.shape, d.force_dtau.shape
        ((2, 18, 18), (2, 6, 2, 18))
    """
    c = constraints_on(model, constraints)
    n, orders = model.nv, orders_of(tau)
    arrays = {"q": q, "v": v, "tau": tau, "f_ext": f_ext}
    given = SeriesGiven("constrained_dynamics_series_derivatives", model, threads, orders, **arrays)

    def compute(*state: Any) -> tuple[Array, ...]:
        parts = _partials(c, state, threads)
        rank = np.broadcast_to(c.rank(state[0], threads=threads), parts[0].shape[:-3])
        return *parts, np.array(rank, float)

    own = [(orders, rows, *by) for rows in (n, c.size) for by in ((n,), (n,), (orders, n))]
    return deliver_ranked(ConstrainedDynamicsSeriesDerivatives, compute, out, tuple(own), given)


def _partials(c: Constraints, state: tuple[Any, ...], threads: int) -> list[Array]:
    """The fields of the result."""
    model, (q, v, tau, f_ext) = c.model, state
    if not c.size:
        d = forward_dynamics_series_derivatives(model, q, v, tau, f_ext, threads=threads)
        none = d.dq[..., :0, :]
        return [*d, none, none, d.dtau[..., :0, :, :]]
    # the series of the free motion checks the arguments, and has the right shape
    *lead, orders, n = forward_dynamics_series(model, q, v, tau, f_ext, threads=threads).shape
    d_a, d_force = _along_all(c, (q, v, tau, f_ext), orders, threads)
    shapes = ((n, n), (n, n), (n, orders, n))
    parts = []
    for x, rows in ((d_a, n), (d_force, c.size)):
        for part, shape in zip(np.split(x, [n, 2 * n], -1), shapes, strict=True):
            parts.append(np.ascontiguousarray(part).reshape(*lead, orders, rows, *shape[1:]))
    return parts


def _along_all(
    c: Constraints, state: tuple[Any, Any, Any, Any], orders: int, threads: int
) -> tuple[Array, Array]:
    """Derivatives of a and force by q, v and the rows of tau, (..., orders, nv or m, K)."""
    n, kept = c.model.nv, c._lasting_rows()
    directions = np.eye((orders + 2) * n)
    rows: dict[str, Any] = {
        name: None if x is None else np.expand_dims(np.asarray(x, float), -1 - axes)
        for name, x, axes in zip(("q", "v", "tau", "f_ext"), state, (1, 1, 2, 3), strict=True)
    }
    with defined(c, state[0]):
        found = _jvp(
            c.model,
            **rows,
            a=np.zeros((orders, n)),
            rates=c._rates_in_series(orders),
            table=c.table,
            prescribed=np.zeros(n, bool),
            d_q=directions[:, :n],
            d_v=directions[:, n : 2 * n],
            d_tau=directions[:, 2 * n :].reshape(-1, orders, n),
            threads=threads,
        )
    rank, (d_a, _, d_force, _) = found[3], found[4:]
    if np.any(np.asarray(rank) != kept.shape[1]):
        return _along_the_manifold(c, state, orders, threads)
    if kept.shape[1] < c.size:
        d_force = d_force @ kept @ kept.T  # those of the least norm
    return np.moveaxis(d_a, -3, -1), np.moveaxis(d_force, -3, -1)


def _along_the_manifold(
    c: Constraints, state: tuple[Any, Any, Any, Any], orders: int, threads: int
) -> tuple[Array, Array]:
    """The same, state by state, where rows depend on each other in a way that changes with q."""
    n, (q, v, tau, f_ext) = c.model.nv, state
    if any(c.stabilization):
        require_state(c, q, v, threads=threads)
    a, force = constrained_dynamics_series(c.model, q, v, tau, c, f_ext, threads=threads)
    lead = a.shape[:-2]

    def flat(x: Any, *own: int) -> Array:
        return np.broadcast_to(np.asarray(x, float), (*lead, *own)).reshape(-1, *own)

    motion = np.concatenate([flat(v, n)[:, None], flat(a, orders, n)], axis=1)
    forces, coordinates = flat(force, orders, c.size), flat(q, c.model.nq)
    wrenches = [None] * len(forces)
    if f_ext is not None:
        wrenches = list(flat(f_ext, orders, c.model.n_bodies, 6))
    each = []
    for k, x in enumerate(zip(coordinates, motion, forces, wrenches, strict=True)):
        with told_by("constrained_dynamics_series_derivatives", (len(forces),), [k], ()):
            each.append(along_the_manifold(c, *x))
    directions = (orders + 2) * n
    return (
        np.array([x[0] for x in each]).reshape(*lead, orders, n, directions),
        np.array([x[1] for x in each]).reshape(*lead, orders, c.size, directions),
    )
