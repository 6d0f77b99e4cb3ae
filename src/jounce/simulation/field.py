"""The equations of motion as a vector field on (q, s), without derivatives."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from jounce._core.words import told_by
from jounce._types import Array
from jounce.dynamics import forward_dynamics
from jounce.lie._trig import cotangent
from jounce.model import Model
from jounce.simulation.free_joints import FreeJoint, displaced, free_joints
from jounce.simulation.tangents import rotating_rates

__all__ = ["Field", "Forces", "Law", "Moving"]

Forces = Callable[[Array, Array, Array], Array]
"""Generalized forces (n, nv) at times (n,), coordinates (n, nq) and rates (n, nv)."""

Law = Callable[[Array, Array, Array, Array], Array]
"""Accelerations (n, nv) from times (n,), coordinates, rates and forces."""


class Moving(NamedTuple):
    """States on their way."""

    t: Array
    """(n, 1) time."""
    q: Array
    s: Array
    """Rates, those of free joints as in `jounce.simulation.free_joints`."""
    u: Array
    """The move that led here."""


class Field(NamedTuple):
    """States and the forces on them, a `jounce.simulation.methods.Flow`."""

    model: Model
    forces: Forces
    dt: Array
    """(n, 1)."""
    threads: int
    free: list[FreeJoint]
    rotating: list[slice]
    law: Law | None = None
    """What the forces lead to, if it is not `forward_dynamics`."""
    lead: tuple[int, ...] | None = None
    """Leading axes of the states, by which errors name them; None if that is up to the caller."""

    @classmethod
    def of(
        cls, model: Model, forces: Forces, dt: Array, threads: int, law: Law | None = None
    ) -> Field:
        """Return the field of a model under forces."""
        return cls(model, forces, dt, threads, free_joints(model), rotating_rates(model), law)

    def start(self, t: Array, q: Array, v: Array) -> Moving:
        """Return states with body-fixed rates v."""
        s = v.copy()
        for joint in self.free:
            joint.to_parent(q, s)
        return Moving(t, q, s, np.zeros_like(s))

    def rates(self, at: Moving) -> Array:
        """Return the body-fixed rates of states."""
        v = at.s.copy()
        for joint in self.free:
            joint.to_body(at.q, v)
        return v

    def acceleration(self, at: Moving) -> Array:
        """Return the derivatives of the body-fixed rates."""
        v = self.rates(at)
        tau = self.forces(at.t[:, 0], at.q, v)
        with nullcontext() if self.lead is None else told_by("simulate", self.lead):
            if self.law is None:
                return forward_dynamics(self.model, at.q, v, tau, threads=self.threads)
            return self.law(at.t[:, 0], at.q, v, tau)

    def slope(self, at: Moving, *, munthe_kaas: bool = False) -> tuple[Array, Array]:
        """Return the rates of the coordinates and the derivatives of the rates."""
        v, a = self.rates(at), self.acceleration(at)
        for joint in self.free:
            joint.acceleration_to_parent(at.q, v, a)
        return self.pulled_back(at.u, at.s) if munthe_kaas else at.s, a

    def moved(
        self,
        at: Moving,
        terms: list[tuple[float, tuple[Array, Array]]],
        *,
        with_next_rates: bool = False,
        last: bool = False,
    ) -> Moving:
        """Return states moved by dt times the sum of weight times slope."""
        share = sum(weight for weight, _ in terms)
        s = at.s + self.dt * sum(weight * a for weight, (_, a) in terms)
        u = self.dt * (share * s if with_next_rates else sum(w * rates for w, (rates, _) in terms))
        return Moving(at.t + share * self.dt, self.displaced(at.q, u), s, u)

    def displaced(self, q: Array, u: Array) -> Array:
        """Return q exp(u); the positions of free joints are added to."""
        return displaced(self.model, self.free, q, u, self.threads)

    def pulled_back(self, xi: Array, s: Array) -> Array:
        """Return xi' = dexp_inv(-xi) s of q = q_0 exp(xi)."""
        out = s.copy()
        for rates in self.rotating:
            x, w = xi[..., rates], s[..., rates]
            e = cotangent((x * x).sum(-1))[0][..., None]
            turned = np.cross(x, w)
            out[..., rates] = w + 0.5 * turned + e * np.cross(x, turned)
        return out
