"""Linearization of the dynamics on the group, in continuous and in discrete time.

The state (q, v) is perturbed by (delta q, delta v), both in the tangent space: q is moved by
``integrate(model, q, delta_q)``, left-trivialized for spherical and free joints. So the matrices
have 2 nv rows at every attitude, and no chart of the rotations can become singular.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jounce import lie
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
    B[..., nv:, :] = d.dtau[..., inputs]
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
    step = _Step(model, tau, f_ext, _time_step(dt), inputs, threads)
    end = _METHODS[method](step, step.start(q, v))
    A, B = (
        np.concatenate([x[..., columns] for x in (end.dq, end.dv)], axis=-2)
        for columns in (slice(2 * model.nv), slice(2 * model.nv, None))
    )
    return deliver_all(LinearizedStep(A, B, end.q, end.v), out)


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


class _Carried(NamedTuple):
    """A state with its derivatives by (delta q, delta v, delta tau) at the start of the step."""

    q: Array
    v: Array
    dq: Array
    """(..., nv, 2 nv + inputs), in the tangent space at q."""
    dv: Array


class _Slope(NamedTuple):
    """Rates and accelerations with their derivatives."""

    v: Array
    a: Array
    dv: Array
    da: Array


class _Step(NamedTuple):
    """What stays constant during a step."""

    model: Model
    tau: ArrayLike
    f_ext: ArrayLike | None
    dt: Array
    """(..., 1)."""
    inputs: npt.NDArray[np.int64]
    threads: int

    def start(self, q: ArrayLike, v: ArrayLike) -> _Carried:
        """Return the state with the derivatives of the identity."""
        nv, m = self.model.nv, len(self.inputs)
        seed = np.eye(2 * nv, 2 * nv + m)
        # Checks all arguments and broadcasts their leading axes.
        a = forward_dynamics(self.model, q, v, self.tau, self.f_ext, threads=self.threads)
        try:
            lead = np.broadcast_shapes(a.shape[:-1], self.dt.shape[:-1])
        except ValueError:
            raise ValueError(
                f"dt of shape {self.dt.shape[:-1]} does not broadcast with the leading axes "
                f"{a.shape[:-1]} of the other arguments"
            ) from None
        parts = np.asarray(q, float), np.asarray(v, float), seed[:nv], seed[nv:]
        sizes = (1, 1, 2, 2)
        return _Carried(
            *(np.broadcast_to(x, (*lead, *x.shape[-n:])) for x, n in zip(parts, sizes, strict=True))
        )

    def slope(self, x: _Carried, first: bool = False) -> _Slope:
        """Return the vector field at x (bos, eq. 24) with its derivatives; `first` at the start."""
        model, threads = self.model, self.threads
        a = forward_dynamics(model, x.q, x.v, self.tau, self.f_ext, threads=threads)
        d = forward_dynamics_derivatives(model, x.q, x.v, self.tau, self.f_ext, threads=threads)
        if first:
            da = np.concatenate([d.dq, d.dv, d.dtau[..., self.inputs]], axis=-1)
            return _Slope(x.v, np.broadcast_to(a, x.v.shape), x.dv, da)
        da = d.dq @ x.dq + d.dv @ x.dv
        da[..., 2 * model.nv :] += d.dtau[..., self.inputs]
        return _Slope(x.v, a, x.dv, da)

    def moved(self, x: _Carried, *terms: tuple[float, _Slope]) -> _Carried:
        """Return x moved by dt times the sum of weight times slope."""
        u, v, du, dv = self.increment(terms)
        q, dq = self.transported(x.q, x.dq, u, du)
        v += x.v
        dv += x.dv
        return _Carried(q, v, dq, dv)

    def increment(self, terms: tuple[tuple[float, _Slope], ...]) -> _Slope:
        """Return dt times the weighted sum of slopes, in new arrays."""
        (weight, first), *rest = terms
        total = _Slope(*(weight * x for x in first))
        for weight, slope in rest:
            for x, y in zip(total, slope, strict=True):
                np.add(x, weight * y, out=x)
        for x in total:
            np.multiply(x, self.dt if x.ndim == total.v.ndim else self.dt[..., None], out=x)
        return total

    def transported(self, q: Array, dq: Array, u: Array, du: Array) -> tuple[Array, Array]:
        """Return q exp(u) and its derivatives ``Ad(exp(-u)) dq + dexp(-u) du``; overwrites du."""
        turned = []
        for block in group_blocks(self.model):
            at, own = block.at, -u[..., block.at]
            rows = lie.Ad(lie.exp(own)) @ dq[..., at, :] + lie.dexp(own) @ du[..., at, :]
            turned.append((at, rows))
        du += dq
        for at, rows in turned:
            du[..., at, :] = rows
        return integrate(self.model, q, u, threads=self.threads), du


def _euler(step: _Step, x: _Carried) -> _Carried:
    return step.moved(x, (1.0, step.slope(x, first=True)))


def _semi_implicit_euler(step: _Step, x: _Carried) -> _Carried:
    slope, dt = step.slope(x, first=True), step.dt
    v, dv = x.v + dt * slope.a, dt[..., None] * slope.da
    dv += x.dv
    q, dq = step.transported(x.q, x.dq, dt * v, dt[..., None] * dv)
    return _Carried(q, v, dq, dv)


def _midpoint(step: _Step, x: _Carried) -> _Carried:
    middle = step.moved(x, (0.5, step.slope(x, first=True)))
    return step.moved(x, (1.0, step.slope(middle)))


def _commutator_free(step: _Step, x: _Carried) -> _Carried:
    k1 = step.slope(x, first=True)
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
