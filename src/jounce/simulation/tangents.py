"""Steps of a method together with their derivatives by the start and by the forces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._types import Array
from jounce.derivatives import forward_dynamics_derivatives
from jounce.derivatives.linearization import plus_passive_forces, with_passive_forces
from jounce.dynamics import forward_dynamics
from jounce.kinematics import integrate
from jounce.model import Model
from jounce.model.rates import Inputs, group_blocks

__all__ = ["IDENTITY", "Carried", "Slope", "States", "TangentFlow"]

_integrate_blocks: Callable[..., Any] = _core.raw("integrate_blocks")

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
    """A state with its derivatives by (delta q, delta v, delta tau) at the start of the step."""

    q: Array
    v: Array
    dq: Array
    """(n, nv, 2 nv + inputs), in the tangent space at q; or `IDENTITY`."""
    dv: Array


class Slope(NamedTuple):
    """Rates and accelerations with their derivatives."""

    v: Array
    a: Array
    dv: Array
    da: Array


class TangentFlow(NamedTuple):
    """The equations of motion of some states at once, a `jounce.simulation.methods.Flow`."""

    model: Model
    states: States
    inputs: Inputs
    passive: bool
    threads: int

    def start(self) -> Carried:
        """Return where the step starts."""
        return Carried(self.states.q, self.states.v, IDENTITY, IDENTITY)

    def slope(self, at: Carried) -> Slope:
        """Return the vector field at a state (bos, eq. 24) with its derivatives."""
        state = self.model, at.q, at.v, self.states.tau, self.states.f_ext
        if self.passive:
            d = with_passive_forces(*state, self.threads)
        else:
            d = forward_dynamics_derivatives(*state, threads=self.threads)
        by_tau = self.inputs.columns(d.dtau)
        if at.dq is IDENTITY:
            da = np.concatenate([d.dq, d.dv, by_tau], axis=-1)
            return Slope(at.v, self.states.a, at.dv, da)
        da = d.dq @ at.dq
        da += d.dv @ at.dv
        da[..., 2 * self.model.nv :] += by_tau
        return Slope(at.v, self._accelerations(at), at.dv, da)

    def _accelerations(self, at: Carried) -> Array:
        model, tau, threads = self.model, self.states.tau, self.threads
        if self.passive:
            tau = plus_passive_forces(model, at.q, at.v, tau, threads)
        return forward_dynamics(model, at.q, at.v, tau, self.states.f_ext, threads=threads)

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
        v = at.v.copy()
        for h, slope in steps:
            v += h * slope.a
        dv = _sum([(h, slope.da) for h, slope in steps], shape, nv, last)
        _add(dv, 1.0, at.dv, nv)
        if with_next_rates:
            h = sum(weight for weight, _ in terms) * self.states.dt
            u, du = h * v, h[..., None] * dv
        else:
            u = np.zeros_like(v)
            for h, slope in steps:
                u += h * slope.v
            du = _sum([(h, slope.dv) for h, slope in steps], shape, nv, last)
        q, dq = self._transported(at, u, du)
        return Carried(q, v, dq, dv)

    def _transported(self, at: Carried, u: Array, du: Array) -> tuple[Array, Array]:
        """Return q exp(u) and its derivatives ``Ad(exp(-u)) dq + dexp(-u) du``; overwrites du."""
        blocks = group_blocks(self.model)
        turned = []
        if blocks:
            Ad, dexp = _integrate_blocks(self.model, u)
        for block in blocks:
            rates = block.at
            own = (..., slice(rates.stop - rates.start), rates)
            rows = dexp[own] @ du[..., rates, :]
            if at.dq is IDENTITY:
                rows[..., rates] += Ad[own]
            else:
                rows += Ad[own] @ at.dq[..., rates, :]
            turned.append((rates, rows))
        _add(du, 1.0, at.dq, 0)
        for rates, rows in turned:
            du[..., rates, :] = rows
        return integrate(self.model, at.q, u, threads=self.threads), du


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
