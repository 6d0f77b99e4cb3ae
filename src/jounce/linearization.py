"""Linearization of the dynamics on the group, in continuous and in discrete time.

The state (q, v) is perturbed by (delta q, delta v), both in the tangent space: q is moved by
``integrate(model, q, delta_q)``, left-trivialized for spherical and free joints. So the matrices
have 2 nv rows at every attitude, and no chart of the rotations can become singular.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from jounce import _core
from jounce._out import deliver_all
from jounce.configuration import integrate
from jounce.dynamics import forward_dynamics
from jounce.model import Model, require_model
from jounce.partials import forward_dynamics_derivatives
from jounce.rates import group_blocks

__all__ = ["Linearization", "LinearizedStep", "linearize", "linearize_step"]

Array = npt.NDArray[np.float64]
ArrayLike = npt.ArrayLike
Actuated = ArrayLike | Sequence[str] | None

_integrate_derivatives: Callable[..., Any] = _core.raw("integrate_derivatives")

_PORTION = 2**19
"""Bytes of the derivatives of those states of a batch that are worked on at once."""
_IDENTITY: Array = np.empty(0)
"""Stands for derivatives of the start by itself, which need no products."""


class Linearization(NamedTuple):
    """Matrices of d/dt (delta q, delta v) = A (delta q, delta v) + B delta tau."""

    A: Array
    """(..., 2 nv, 2 nv)."""
    B: Array
    """(..., 2 nv, number of actuated rates)."""


class LinearizedStep(NamedTuple):
    """One step: its result (q, v), and how it depends on where it starts and on the forces."""

    A: Array
    """(..., 2 nv, 2 nv) derivative of the next state by the state, both in tangent spaces."""
    B: Array
    """(..., 2 nv, number of actuated rates) derivative of the next state by the forces."""
    q: Array
    """(..., nq) next coordinates."""
    v: Array
    """(..., nv) next rates."""


def linearize(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    actuated: Actuated = None,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> Linearization:
    """Linearize the equations of motion about a state, left-trivialized.

    The perturbation of a trajectory obeys (bos, Prop. 1 to 3, there for a free base with 1-DoF
    joints; here for every joint type anywhere)

        d/dt delta q = delta v - ad_v delta q,
        d/dt delta v = da/dq delta q + da/dv delta v + M^-1 delta tau,

    where ad_v acts within each joint: omega x for a spherical joint, the adjoint of the body twist
    for a free joint, zero for all others.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., nv) generalized forces.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies, held constant.
        actuated: which rates have an input: a bool mask (nv,) or names of joints; by default
            ``model.actuated``. Columns of B are in the order of the rates.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (A, B).

    Raises:
        ValueError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Identity: for 1-DoF joints A is [[0, 1], [da/dq, da/dv]].
    """
    inputs = _actuated(model, actuated)
    d = forward_dynamics_derivatives(model, q, v, tau, f_ext, threads=threads)
    nv, rates = model.nv, np.asarray(v, float)
    A = np.zeros((*d.dq.shape[:-2], 2 * nv, 2 * nv))
    A[..., :nv, nv:] = np.eye(nv)
    for block in group_blocks(model):
        A[..., block.at, block.at] = -block.ad(rates)
    A[..., nv:, :nv] = d.dq
    A[..., nv:, nv:] = d.dv
    B = np.zeros((*d.dq.shape[:-2], 2 * nv, len(inputs)))
    B[..., nv:, :] = d.dtau[..., _as_slice(inputs)]
    return deliver_all(Linearization(A, B), out)


def linearize_step(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    dt: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    method: str = "semi_implicit_euler",
    actuated: Actuated = None,
    out: tuple[Array, Array, Array, Array] | None = None,
    threads: int = 1,
) -> LinearizedStep:
    """One explicit step on the group and its exact derivatives (not a discretized `linearize`).

    The forces (and body-fixed wrenches) are constant during the step. A step is a composition of
    moves q exp(u) and accelerations; the former are differentiated by

        delta (q exp(u)) = Ad(exp(-u)) delta q + dexp(-u) delta u,

    with the right-trivialized dexp of `jounce.lie`, the latter by `forward_dynamics_derivatives`.

    =====================  =====  ==============================================================
    method                 order  step
    =====================  =====  ==============================================================
    "euler"                1      q exp(dt v), v + dt a
    "semi_implicit_euler"  1      v+ = v + dt a, then q exp(dt v+)
    "midpoint"             2      Euler with v and a at the middle, reached by half an Euler step
    "cf4"                  4      commutator-free Runge-Kutta method with four accelerations
                                  (Celledoni, Marthinsen, Owren 2003)
    =====================  =====  ==============================================================

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., nv) generalized forces.
        dt: length of the step, s: a number or an array that broadcasts with the leading axes.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies.
        method: see the table.
        actuated: which rates have an input, as in `linearize`.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (A, B, q, v): the next state and its derivatives, batched like the arguments,
        for example over the knots of a trajectory.

    Raises:
        ValueError: a wrong shape, a number that is not finite, a bad quaternion or an unknown
            method.
        SingularError: a joint moves no inertia; it is named.

    Identity: ``(A - 1) / dt`` and ``B / dt`` tend to those of `linearize` as dt tends to zero.
    """
    inputs = _actuated(model, actuated)
    if method not in _METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}")
    lead, states = _flat_states(model, q, v, tau, f_ext, _time_step(dt), threads)
    nv, m, count = model.nv, len(inputs), len(states.q)
    shapes = ((2 * nv, 2 * nv), (2 * nv, m), (model.nq,), (nv,))
    A, B, next_q, next_v = (np.empty((count, *shape)) for shape in shapes)
    for some in _portions(count, 8 * nv * (2 * nv + m), threads):
        step = _Step(model, states.portion(some), _as_slice(inputs), threads)
        next_q[some], next_v[some], *rows = _METHODS[method](step, step.start())
        for at, d in zip((slice(nv), slice(nv, None)), rows, strict=True):
            A[some, at] = d[..., : 2 * nv]
            B[some, at] = d[..., 2 * nv :]
    result = (
        x.reshape(*lead, *shape) for x, shape in zip((A, B, next_q, next_v), shapes, strict=True)
    )
    return deliver_all(LinearizedStep(*result), out)


def _actuated(model: Model, actuated: Actuated) -> npt.NDArray[np.int64]:
    """Indices of the rates that have an input."""
    require_model(model)
    if actuated is None:
        return np.flatnonzero(model.actuated)
    values = np.asarray(actuated)
    if values.dtype.kind == "U" or (values.shape == (0,) and values.dtype != bool):
        mask = np.zeros(model.nv, bool)
        for name in np.atleast_1d(values):
            mask[model.v_slice(str(name))] = True
        return np.flatnonzero(mask)
    if values.dtype != bool or values.shape != (model.nv,):
        raise ValueError(
            f"actuated must be a bool array of shape ({model.nv},) or names of joints, "
            f"got {values.dtype} of shape {values.shape}"
        )
    return np.flatnonzero(values)


def _time_step(dt: ArrayLike) -> Array:
    array = np.asarray(dt)
    if array.dtype.kind not in "fiu" or not np.all(np.isfinite(array)):
        raise ValueError(f"dt must be finite real numbers, got {dt!r}")
    return np.asarray(array, float)[..., None]


def _as_slice(indices: npt.NDArray[np.int64]) -> slice | npt.NDArray[np.int64]:
    """Neighbors as a slice, which needs no copy."""
    if len(indices) and indices[-1] - indices[0] == len(indices) - 1:
        return slice(int(indices[0]), int(indices[-1]) + 1)
    return indices


class _States(NamedTuple):
    """States in one row, with the length of their steps and their accelerations."""

    q: Array
    v: Array
    tau: Array
    f_ext: Array | None
    dt: Array
    """(n, 1)."""
    a: Array

    def portion(self, some: slice) -> _States:
        """Return a slice of the states."""
        return _States(*(None if x is None else x[some] for x in self))  # type: ignore[arg-type]


def _flat_states(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None,
    dt: Array,
    threads: int,
) -> tuple[tuple[int, ...], _States]:
    """Check all arguments; return their leading axes and the states."""
    a = forward_dynamics(model, q, v, tau, f_ext, threads=threads)
    try:
        lead = np.broadcast_shapes(a.shape[:-1], dt.shape[:-1])
    except ValueError:
        raise ValueError(
            f"dt of shape {dt.shape[:-1]} does not broadcast with the leading axes "
            f"{a.shape[:-1]} of the other arguments"
        ) from None
    count = math.prod(lead)

    def flat(x: ArrayLike, axes: int = 1) -> Array:
        array = np.asarray(x, float)
        own = array.shape[array.ndim - axes :]
        if array.shape != (*lead, *own):
            array = np.broadcast_to(array, (*lead, *own))
        return array.reshape(count, *own)

    wrenches = None if f_ext is None else flat(f_ext, 2)
    return lead, _States(flat(q), flat(v), flat(tau), wrenches, flat(dt), flat(a))


def _portions(count: int, size: int, threads: int) -> Iterator[slice]:
    """Cut a batch so that arrays of `size` bytes per state stay in the cache."""
    workers = threads or os.cpu_count() or 1
    most = max(8, _PORTION // max(size, 1) // 8 * 8) * workers  # full packs
    return (slice(k, min(k + most, count)) for k in range(0, count, most))


class _Carried(NamedTuple):
    """A state with its derivatives by (delta q, delta v, delta tau) at the start of the step."""

    q: Array
    v: Array
    dq: Array
    """(n, nv, 2 nv + inputs), in the tangent space at q; or `_IDENTITY`."""
    dv: Array


class _Slope(NamedTuple):
    """Rates and accelerations with their derivatives."""

    v: Array
    a: Array
    dv: Array
    da: Array


class _Step(NamedTuple):
    """Steps of some states at once."""

    model: Model
    states: _States
    inputs: slice | npt.NDArray[np.int64]
    threads: int

    def start(self) -> _Carried:
        """Return where the step starts."""
        return _Carried(self.states.q, self.states.v, _IDENTITY, _IDENTITY)

    def slope(self, x: _Carried) -> _Slope:
        """Return the vector field at x (bos, eq. 24) with its derivatives."""
        at = self.model, x.q, x.v, self.states.tau, self.states.f_ext
        d = forward_dynamics_derivatives(*at, threads=self.threads)
        by_tau = d.dtau[..., self.inputs]
        if x.dq is _IDENTITY:
            return _Slope(x.v, self.states.a, x.dv, np.concatenate([d.dq, d.dv, by_tau], axis=-1))
        da = d.dq @ x.dq
        da += d.dv @ x.dv
        da[..., 2 * self.model.nv :] += by_tau
        return _Slope(x.v, forward_dynamics(*at, threads=self.threads), x.dv, da)

    def moved(self, x: _Carried, *terms: tuple[float, _Slope]) -> _Carried:
        """Return x moved by dt times the sum of weight times slope."""
        nv, shape = self.model.nv, terms[0][1].da.shape
        u, v, du, dv = np.zeros_like(x.v), x.v.copy(), np.zeros(shape), np.zeros(shape)
        for weight, slope in terms:
            h = weight * self.states.dt
            u += h * slope.v
            v += h * slope.a
            _add(du, h, slope.dv, nv)
            _add(dv, h, slope.da, nv)
        _add(dv, 1.0, x.dv, nv)
        q, dq = self.transported(x.q, x.dq, u, du)
        return _Carried(q, v, dq, dv)

    def transported(self, q: Array, dq: Array, u: Array, du: Array) -> tuple[Array, Array]:
        """Return q exp(u) and its derivatives ``Ad(exp(-u)) dq + dexp(-u) du``; overwrites du."""
        blocks = group_blocks(self.model)
        turned = []
        if blocks:
            Ad, dexp = _integrate_derivatives(self.model, u)
        for block in blocks:
            at = block.at
            own = (..., slice(at.stop - at.start), at)
            rows = dexp[own] @ du[..., at, :]
            if dq is _IDENTITY:
                rows[..., at] += Ad[own]
            else:
                rows += Ad[own] @ dq[..., at, :]
            turned.append((at, rows))
        _add(du, 1.0, dq, 0)
        for at, rows in turned:
            du[..., at, :] = rows
        return integrate(self.model, q, u, threads=self.threads), du


def _add(total: Array, h: Array | float, d: Array, first: int) -> None:
    """Add h times a derivative, whose identity starts at column `first`."""
    if d is _IDENTITY:
        diagonal = np.einsum("...ii->...i", total[..., first : first + total.shape[-2]])
        diagonal += h
    else:
        total += h[..., None] * d if isinstance(h, np.ndarray) else d


def _euler(step: _Step, x: _Carried) -> _Carried:
    return step.moved(x, (1.0, step.slope(x)))


def _semi_implicit_euler(step: _Step, x: _Carried) -> _Carried:
    slope, dt = step.slope(x), step.states.dt
    v, dv = x.v + dt * slope.a, slope.da
    dv *= dt[..., None]
    _add(dv, 1.0, x.dv, step.model.nv)
    q, dq = step.transported(x.q, x.dq, dt * v, dt[..., None] * dv)
    return _Carried(q, v, dq, dv)


def _midpoint(step: _Step, x: _Carried) -> _Carried:
    middle = step.moved(x, (0.5, step.slope(x)))
    return step.moved(x, (1.0, step.slope(middle)))


def _commutator_free(step: _Step, x: _Carried) -> _Carried:
    k1 = step.slope(x)
    second = step.moved(x, (1 / 2, k1))
    k2 = step.slope(second)
    k3 = step.slope(step.moved(x, (1 / 2, k2)))
    k4 = step.slope(step.moved(second, (-1 / 2, k1), (1.0, k3)))
    half = step.moved(x, (1 / 4, k1), (1 / 6, k2), (1 / 6, k3), (-1 / 12, k4))
    return step.moved(half, (-1 / 12, k1), (1 / 6, k2), (1 / 6, k3), (1 / 4, k4))


_METHODS: dict[str, Callable[[_Step, _Carried], _Carried]] = {
    "euler": _euler,
    "semi_implicit_euler": _semi_implicit_euler,
    "midpoint": _midpoint,
    "cf4": _commutator_free,
}
