"""Steps of a method together with their derivatives by the start and by the forces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jounce import _core, lie
from jounce._core.algebra import product
from jounce._types import Array
from jounce.constraints import Constraints, constrained_dynamics
from jounce.constraints.linearization import acceleration_derivatives
from jounce.derivatives import forward_dynamics_derivatives
from jounce.derivatives.linearization import plus_passive_forces, with_passive_forces
from jounce.dynamics import forward_dynamics
from jounce.lie._trig import cotangent
from jounce.model import Model
from jounce.model.rates import Inputs, group_blocks
from jounce.simulation.free_joints import FreeJoint, displaced, free_joints

__all__ = ["IDENTITY", "Carried", "Slope", "States", "TangentFlow", "rotating_rates"]

_integrate_blocks: Callable[..., Any] = _core.raw("integrate_blocks", "linearize_step", inputs="dv")

IDENTITY: Array = np.empty(0)
"""Stands for derivatives of the start by itself, which need no products."""


class States(NamedTuple):
    """States in one row, with the length of their steps and their accelerations."""

    q: Array
    v: Array
    tau: Array
    f_ext: Array | None
    dt: Array
    """(n, 1)."""
    a: Array

    def portion(self, some: slice) -> States:
        """Return a slice of the states."""
        return States(*(None if x is None else x[some] for x in self))  # type: ignore[arg-type]


class Carried(NamedTuple):
    """A state with its derivatives by (delta q, delta s, delta tau) at the start of the step."""

    q: Array
    s: Array
    """Rates, those of free joints as in `jounce.simulation.free_joints`."""
    dq: Array
    """(n, nv, 2 nv + inputs), in the tangent space at q; or `IDENTITY`."""
    ds: Array
    u: Array
    """The move that led here, and its derivatives: not at the start."""
    du: Array
    share: float = 0.0
    """Of the length of the step, since its start."""


class Slope(NamedTuple):
    """Rates of the coordinates and derivatives of the rates, with their derivatives."""

    s: Array
    a: Array
    ds: Array
    da: Array


def rotating_rates(model: Model) -> list[slice]:
    """Angular velocities of spherical and free joints among the rates."""
    return [slice(block.at.start, block.at.start + 3) for block in group_blocks(model)]


class TangentFlow(NamedTuple):
    """The equations of motion of some states at once, a `jounce.simulation.methods.Flow`."""

    model: Model
    states: States
    inputs: Inputs
    passive: bool
    threads: int
    free: list[FreeJoint]
    rotating: list[slice]
    constraints: Constraints | None = None
    """At the start of the step. If they move, all states have steps of the same length."""

    @classmethod
    def of(
        cls,
        model: Model,
        states: States,
        inputs: Inputs,
        passive: bool,
        threads: int,
        constraints: Constraints | None = None,
    ) -> TangentFlow:
        """Return the flow of some states."""
        free, rotating = free_joints(model), rotating_rates(model)
        return cls(model, states, inputs, passive, threads, free, rotating, constraints)

    def start(self) -> Carried:
        """Return where the step starts."""
        s = self.states.v
        if self.free:
            s = s.copy()
            for joint in self.free:
                joint.to_parent(self.states.q, s)
        return Carried(self.states.q, s, IDENTITY, IDENTITY, IDENTITY, IDENTITY)

    def end(self, at: Carried) -> tuple[Array, Array, Array, Array]:
        """Return q and v, and their derivatives by (delta q, delta v, delta tau) at the start."""
        v, dq, dv = at.s, at.dq, at.ds
        for joint in self.free:
            joint.to_body(at.q, v)
            joint.rows_to_body(at.q, v, dq, dv)
            for d in (dq, dv):
                joint.columns_to_body(self.states.q, self.states.v, d)
        return at.q, v, dq, dv

    def slope(self, at: Carried, *, munthe_kaas: bool = False) -> Slope:
        """Return the vector field at a state (bos, eq. 24) with its derivatives."""
        a, by_q, by_s, by_tau = self.partials(at)
        if at.dq is IDENTITY:
            return Slope(at.s, a, at.ds, np.concatenate([by_q, by_s, by_tau], axis=-1))
        da = product(by_q, at.dq)
        da += product(by_s, at.ds)
        da[..., 2 * self.model.nv :] += by_tau
        s, ds = self._pulled_back(at) if munthe_kaas and self.rotating else (at.s, at.ds)
        return Slope(s, a, ds, da)

    def partials(self, at: Carried) -> tuple[Array, Array, Array, Array]:
        """Return the derivatives s' of the rates, and theirs by q, s and the inputs."""
        v = at.s
        if self.free:
            v = v.copy()
            for joint in self.free:
                joint.to_body(at.q, v)
        state = self.model, at.q, v, self.states.tau, self.states.f_ext
        held = self.held(at)
        if held is not None:
            d = acceleration_derivatives(held, state[1:], self.passive, self.threads)
        elif self.passive:
            d = with_passive_forces(*state, self.threads)
        else:
            d = forward_dynamics_derivatives(*state, threads=self.threads)
        a = self.states.a
        if at.dq is not IDENTITY:
            a = self._accelerations(at.q, v, held)
        elif self.free:
            a = a.copy()
        by_tau = self.inputs.columns(d.dtau)
        for joint in self.free:
            joint.derivatives_to_parent(at.q, v, a, d.dq, d.dv)
            joint.acceleration_to_parent(at.q, v, a)
            by_tau[..., joint.linear, :] = joint.rotation(at.q) @ by_tau[..., joint.linear, :]
        return a, d.dq, d.dv, by_tau

    def held(self, at: Carried) -> Constraints | None:
        """The constraints at the time of a state."""
        if self.constraints is None or not len(self.states.dt):
            return self.constraints
        return self.constraints.at_time(at.share * float(self.states.dt[0, 0]))

    def _accelerations(self, q: Array, v: Array, held: Constraints | None) -> Array:
        tau = self.states.tau
        if self.passive:
            tau = plus_passive_forces(self.model, q, v, tau, self.threads)
        if held is not None:
            state = q, v, tau, held, self.states.f_ext
            return constrained_dynamics(self.model, *state, threads=self.threads).a
        return forward_dynamics(self.model, q, v, tau, self.states.f_ext, threads=self.threads)

    def moved(
        self,
        at: Carried,
        terms: list[tuple[float, Slope]],
        *,
        with_next_rates: bool = False,
        last: bool = False,
    ) -> Carried:
        """Return a state moved by dt times the sum of weight times slope; `last` overwrites it."""
        nv, shape = self.model.nv, terms[0][1].da.shape
        steps = [(weight * self.states.dt, slope) for weight, slope in terms]
        s = at.s.copy()
        for h, slope in steps:
            s += h * slope.a
        ds = _sum([(h, slope.da) for h, slope in steps], shape, nv, last)
        _add(ds, 1.0, at.ds, nv)
        if with_next_rates:
            h = sum(weight for weight, _ in terms) * self.states.dt
            u, du = h * s, h[..., None] * ds
        else:
            u = np.zeros_like(s)
            for h, slope in steps:
                u += h * slope.s
            du = _sum([(h, slope.ds) for h, slope in steps], shape, nv, last)
        kept = du.copy() if self.rotating and not last else IDENTITY
        q, dq = self._transported(at, u, du)
        share = at.share + sum(weight for weight, _ in terms)
        return Carried(q, s, dq, ds, u, kept, share)

    def _transported(self, at: Carried, u: Array, du: Array) -> tuple[Array, Array]:
        """Return q exp(u) and its derivatives ``Ad(exp(-u)) dq + dexp(-u) du``; overwrites du."""
        turned = []
        if self.rotating:
            Ad, dexp = _integrate_blocks(self.model, u)
        for rates in self.rotating:
            own = (..., slice(3), rates)
            rows = dexp[own] @ du[..., rates, :]
            if at.dq is IDENTITY:
                rows[..., rates] += Ad[own]
            else:
                rows += Ad[own] @ at.dq[..., rates, :]
            turned.append((rates, rows))
        _add(du, 1.0, at.dq, 0)
        for rates, rows in turned:
            du[..., rates, :] = rows
        return displaced(self.model, self.free, at.q, u, self.threads), du

    def _pulled_back(self, at: Carried) -> tuple[Array, Array]:
        """Return xi' = dexp_inv(-xi) s for the move xi that led here, and its derivatives.

        With x the angular part of xi, w that of s, t = |x|^2 and e(t) of `cotangent`:

            xi' = w + x x w / 2 + e x x (x x w),
        """
        s, ds = at.s.copy(), at.ds.copy()
        for rates in self.rotating:
            x, w = at.u[..., rates], at.s[..., rates]
            e, de = (c[..., None, None] for c in cotangent((x * x).sum(-1)))
            X, W, one = lie.ad(x), lie.ad(w), np.eye(3)
            XW = X @ W
            by_s = one + 0.5 * X + e * (X @ X)
            outer = (X @ X @ w[..., None]) * x[..., None, :]
            by_xi = -0.5 * W + e * (W @ X - 2.0 * XW) + 2.0 * de * outer
            s[..., rates] = (by_s @ w[..., None])[..., 0]
            ds[..., rates, :] = by_s @ at.ds[..., rates, :] + by_xi @ at.du[..., rates, :]
        return s, ds


def _sum(
    terms: list[tuple[Array, Array]], shape: tuple[int, ...], first: int, overwrite: bool
) -> Array:
    """Sum h times derivatives, whose identity starts at column `first`."""
    (h, d), *rest = terms
    if d is IDENTITY:
        total = np.zeros(shape)
        _add(total, h, d, first)
    else:
        total = np.multiply(h[..., None], d, out=d if overwrite else None)
    for h, d in rest:
        _add(total, h, d, first)
    return total


def _add(total: Array, h: Array | float, d: Array, first: int) -> None:
    """Add h times a derivative, whose identity starts at column `first`."""
    if d is IDENTITY:
        diagonal = np.einsum("...ii->...i", total[..., first : first + total.shape[-2]])
        diagonal += h
    else:
        total += h[..., None] * d if isinstance(h, np.ndarray) else d
