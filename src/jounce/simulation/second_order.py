"""Second derivatives of a step, by its parts in reverse order.

A step maps charts to charts: small changes of a state on the way are those of `TangentFlow`,
body-fixed rotation vectors of spherical and free joints, positions and linear velocities of free
joints along the axes of the parent, and numbers for everything else. Of a composition of maps f,
the Hessian of the weights times the last is the sum over the parts

    J^T (lambda . f'') J,

with the derivatives J of what a part takes by the start of the step, which `TangentFlow` carries
along, and the derivatives lambda of the end by what the part gives, found on the way back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._types import Array
from jounce.constraints import constrained_dynamics_hessian
from jounce.constraints.linearization import acceleration_derivatives
from jounce.derivatives import (
    forward_dynamics_derivatives,
    forward_dynamics_hessian,
    jvp,
    passive_forces_derivatives,
)
from jounce.derivatives.linearization import plus_passive_forces
from jounce.lie._trig import cotangent
from jounce.model import Model
from jounce.model.rates import group_blocks
from jounce.simulation.forms import cross_form, exp_form, pulled_back_forms, symmetric, turned_form
from jounce.simulation.free_joints import FreeJoint
from jounce.simulation.methods import Method, advance
from jounce.simulation.tangents import Carried, Slope, TangentFlow

__all__ = ["from_body", "step_hessian"]

_integrate_blocks = _core.raw("integrate_blocks", "linearize_step", inputs="dv")


def step_hessian(
    flow: TangentFlow, method: Method, weights: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Take a step with first and second derivatives.

    Args:
        flow: the equations of motion at n states.
        method: the method.
        weights: (n, 2 nv) of (difference(q+, .), v+).

    Returns:
        q, v, their derivatives (n, nv, m), and the Hessian (n, m, m), m = 2 nv + inputs.
    """
    tape = _Tape(flow, [], [])
    start = tape.start()
    end = advance(method, tape, start)
    q, v, dq, dv = flow.end(end._replace(s=end.s.copy(), dq=end.dq.copy(), ds=end.ds.copy()))
    back = _Back(flow, np.zeros((*end.dq.shape[:-2], end.dq.shape[-1], end.dq.shape[-1])))
    adjoint = back.through_end(end, weights)
    adjoint = back.through_step(tape, start, end, adjoint)
    return q, v, dq, dv, back.from_start(start, adjoint)


def from_body(flow: TangentFlow, end: Carried, weights: Array) -> tuple[Array, Array, Array]:
    """Weights of body-fixed changes of (q, v) as those of changes in the charts of the flow.

    Returns:
        The Hessian (n, m, m) of what is not linear in these, and the weights of changes of q and s.
    """
    back = _Back(flow, np.zeros((len(weights), end.dq.shape[-1], end.dq.shape[-1])))
    adjoint = back.through_end(end, weights)
    return back.H, adjoint.q, adjoint.s


class _Move(NamedTuple):
    at: Carried
    terms: list[tuple[float, Slope]]
    with_next_rates: bool
    to: Carried


class _Field(NamedTuple):
    at: Carried
    slope: Slope
    munthe_kaas: bool
    partials: tuple[Array, Array, Array, Array]


class _Tape(NamedTuple):
    """A `Flow` that remembers what it did."""

    flow: TangentFlow
    moves: list[_Move]
    fields: list[_Field]

    def start(self) -> Carried:
        at = self.flow.start()
        nv, m = self.flow.model.nv, 2 * self.flow.model.nv + self.flow.inputs.number
        dq, ds = np.zeros((2, len(at.q), nv, m))
        dq[:, :, :nv] = ds[:, :, nv : 2 * nv] = np.eye(nv)
        return at._replace(dq=dq, ds=ds)

    def slope(self, at: Carried, *, munthe_kaas: bool = False) -> Slope:
        slope = self.flow.slope(at, munthe_kaas=munthe_kaas)
        partials = self.flow.partials(at)
        self.fields.append(_Field(at, slope, munthe_kaas, partials))
        return slope

    def moved(
        self,
        at: Carried,
        terms: list[tuple[float, Slope]],
        *,
        with_next_rates: bool = False,
        last: bool = False,
    ) -> Carried:
        to = self.flow.moved(at, terms, with_next_rates=with_next_rates)
        self.moves.append(_Move(at, terms, with_next_rates, to))
        return to


class _Adjoint:
    """Derivatives of the weighted end by a state: by q, by s, and by the move that led to it."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.q, self.s, self.u = np.zeros((3, *shape))


class _Back(NamedTuple):
    """The way back, which adds to the Hessian H by the start in the charts of the flow."""

    flow: TangentFlow
    H: Array

    def through_end(self, end: Carried, weights: Array) -> _Adjoint:
        """From body-fixed changes of (q, v) to those of the flow."""
        adjoint, nv = _Adjoint(end.s.shape), self.flow.model.nv
        adjoint.q, adjoint.s = weights[:, :nv].copy(), weights[:, nv:].copy()
        for joint in self.flow.free:
            free = _Free.of(joint, end)
            self.H[...] += free.body_forms(adjoint.q[:, joint.linear], adjoint.s[:, joint.linear])
            linear = adjoint.s[:, joint.linear]
            adjoint.q[:, joint.angular] += np.cross(linear, free.v)
            for x in (adjoint.q, adjoint.s):
                x[:, joint.linear] = _times(free.R, x[:, joint.linear])
        return adjoint

    def through_step(
        self, tape: _Tape, start: Carried, end: Carried, adjoint: _Adjoint
    ) -> _Adjoint:
        """From the end to the start: the adjoint there."""
        shape = end.s.shape
        states = {id(move.to): _Adjoint(shape) for move in tape.moves}
        states[id(start)] = _Adjoint(shape)
        states[id(end)] = adjoint
        slopes = {id(field.slope): _Adjoint(shape) for field in tape.fields}
        fields = {id(field.at): field for field in tape.fields}
        for move in reversed(tape.moves):
            if id(move.to) in fields:
                field = fields[id(move.to)]
                self._field(field, slopes[id(field.slope)], states[id(move.to)])
            self._move(move, states[id(move.to)], states[id(move.at)], slopes)
        first = fields[id(start)]
        self._field(first, slopes[id(first.slope)], states[id(start)])
        return states[id(start)]

    def _move(self, move: _Move, to: _Adjoint, at: _Adjoint, slopes: dict[int, _Adjoint]) -> None:
        """Of ``q exp(u)``, see `exp_form`; changes y, z of both make y + z + y x z / 2."""
        by_u, by_q = to.u + to.q, to.q.copy()
        if self.flow.rotating:
            Ad, dexp = _integrate_blocks(self.flow.model, move.to.u)
        for rates in self.flow.rotating:
            own, g = (..., slice(3), rates), to.q[:, rates]
            du = move.to.du[:, rates]
            z = dexp[own] @ du
            self.H[...] += cross_form(g / 2, Ad[own] @ move.at.dq[:, rates], z)
            self.H[...] += np.swapaxes(du, -1, -2) @ exp_form(g, move.to.u[:, rates]) @ du
            by_q[:, rates] = _times(np.swapaxes(Ad[own], -1, -2), g)
            by_u[:, rates] = to.u[:, rates] + _times(np.swapaxes(dexp[own], -1, -2), g)
        dt = self.flow.states.dt
        by_s = to.s
        if move.with_next_rates:
            by_s = by_s + sum(weight for weight, _ in move.terms) * dt * by_u
        for weight, slope in move.terms:
            slopes[id(slope)].s += weight * dt * by_s  # of s', as below
            if not move.with_next_rates:
                slopes[id(slope)].q += weight * dt * by_u
        at.q += by_q
        at.s += by_s

    def _field(self, field: _Field, slope: _Adjoint, at: _Adjoint) -> None:
        """Of a slope (s, s'), whose adjoint is in (q, s) of `slope`."""
        carried, (_, by_q, by_s, _) = field.at, field.partials
        rates_adjoint = slope.q.copy()
        if field.munthe_kaas:
            for rates in self.flow.rotating:
                self._pulled_back(carried, rates, slope.q[:, rates], at)
                rates_adjoint[:, rates] = 0.0
        at.s += rates_adjoint
        at.q += _times(np.swapaxes(by_q, -1, -2), slope.s)
        at.s += _times(np.swapaxes(by_s, -1, -2), slope.s)
        self.H[...] += _Acceleration.of(self.flow, field).hessian(slope.s)

    def _pulled_back(self, at: Carried, rates: slice, g: Array, adjoint: _Adjoint) -> None:
        x, w = at.u[:, rates], at.s[:, rates]
        du, ds = at.du[:, rates], at.ds[:, rates]
        by_xx, by_xw = pulled_back_forms(g, x, w)
        turned = np.swapaxes(du, -1, -2)
        self.H[...] += turned @ by_xx @ du + symmetric(turned @ by_xw @ ds)
        # the form is linear in w, so that its derivative by x is that by x w, times w
        adjoint.u[:, rates] += _times(by_xw, w)
        adjoint.s[:, rates] += g + _pulled_back_transposed(g, x)

    def from_start(self, start: Carried, adjoint: _Adjoint) -> Array:
        """The Hessian by body-fixed changes of (q, v) at the start, and by the inputs."""
        q, v = self.flow.states.q, self.flow.states.v
        H, nv = self.H, self.flow.model.nv
        for joint in self.flow.free:
            for _ in range(2):
                joint.columns_to_body(q, v, H)
                H = np.ascontiguousarray(np.swapaxes(H, -1, -2))
        for joint in self.flow.free:
            R, linear = joint.rotation(q), v[:, joint.linear]
            at = np.zeros((3, len(q), 3, H.shape[-1]))  # theta, x, dv of the joint
            for k, first in enumerate((joint.v, joint.v + 3, nv + joint.v + 3)):
                at[k, :, :, first : first + 3] = np.eye(3)
            by_p, by_u = (
                _times(np.swapaxes(R, -1, -2), g[:, joint.linear]) for g in (adjoint.q, adjoint.s)
            )
            H = H + cross_form(by_p / 2, at[0], at[1])
            H += cross_form(by_u, at[0], at[2]) + turned_form(by_u, at[0], linear)
        return (H + np.swapaxes(H, -1, -2)) / 2


def _pulled_back_transposed(g: Array, x: Array) -> Array:
    """What w has to be multiplied with in g . (x cross w / 2 + e x cross (x cross w))."""
    e = cotangent((x * x).sum(-1))[0][..., None]
    turned = np.cross(g, x)
    product: Array = turned / 2 + e * np.cross(turned, x)
    return product


class _Free(NamedTuple):
    """A free joint of a state: body-fixed changes of its coordinates and rates, to second order.

    With theta, and y = R^T dp, z = R^T du of changes along the axes of the parent,

        x = y - theta x y / 2,   dv = z + v x theta - theta x z + theta x (theta x v) / 2.
    """

    R: Array
    v: Array
    """Body-fixed linear velocity."""
    theta: Array
    y: Array
    z: Array

    @classmethod
    def of(cls, joint: FreeJoint, at: Carried) -> _Free:
        R = joint.rotation(at.q)
        back = np.swapaxes(R, -1, -2)
        v = _times(back, at.s[:, joint.linear])
        y, z = back @ at.dq[:, joint.linear], back @ at.ds[:, joint.linear]
        return cls(R, v, at.dq[:, joint.angular], y, z)

    def body_forms(self, by_x: Array, by_v: Array) -> Array:
        """Hessian of by_x . x + by_v . dv."""
        H = cross_form(-by_x / 2, self.theta, self.y) + cross_form(-by_v, self.theta, self.z)
        return H + turned_form(by_v, self.theta, self.v)


class _Acceleration(NamedTuple):
    """The derivatives s' of the rates at a state; those of free joints are R (a + w x v)."""

    flow: TangentFlow
    at: Carried
    v: Array
    a: Array
    """Body-fixed rates and their derivatives."""
    dq: Array
    dv: Array
    """Body-fixed changes by the start."""
    free: list[_Free]
    da: Array
    """Change of s' by the start."""

    @classmethod
    def of(cls, flow: TangentFlow, field: _Field) -> _Acceleration:
        at, v, a = field.at, field.at.s.copy(), field.slope.a.copy()
        dq, dv = at.dq.copy(), at.ds.copy()
        free = [_Free.of(joint, at) for joint in flow.free]
        for joint, own in zip(flow.free, free, strict=True):
            v[:, joint.linear] = own.v
            moving = _times(np.swapaxes(own.R, -1, -2), a[:, joint.linear])
            a[:, joint.linear] = moving - np.cross(v[:, joint.angular], own.v)
            joint.rows_to_body(at.q, v, dq, dv)
        return cls(flow, at, v, a, dq, dv, free, field.slope.da)

    def hessian(self, adjoint: Array) -> Array:
        """Hessian of adjoint . s' by the start."""
        g = adjoint.copy()
        for joint, own in zip(self.flow.free, self.free, strict=True):
            g[:, joint.linear] = _times(np.swapaxes(own.R, -1, -2), g[:, joint.linear])
        H, by_q, by_v = self._forward_dynamics(g)
        for joint, own in zip(self.flow.free, self.free, strict=True):
            gl, w = g[:, joint.linear], self.v[:, joint.angular]
            H += own.body_forms(by_q[:, joint.linear], by_v[:, joint.linear] + np.cross(gl, w))
            H += cross_form(gl, self.dq[:, joint.angular], self._moving(joint, own))
            H += cross_form(gl, self.dv[:, joint.angular], self.dv[:, joint.linear])
            moving = self.a[:, joint.linear] + np.cross(w, own.v)
            H += turned_form(gl, own.theta, moving)
        return H

    def _moving(self, joint: FreeJoint, own: _Free) -> Array:
        """First-order change of a + w x v, from that of s' = R (a + w x v)."""
        moving = self.a[:, joint.linear] + np.cross(self.v[:, joint.angular], own.v)
        change: Array = np.swapaxes(own.R, -1, -2) @ self.da[:, joint.linear]
        return change - np.cross(own.theta, moving[:, :, None], axisa=1, axisb=1, axisc=1)

    def _forward_dynamics(self, g: Array) -> tuple[Array, Array, Array]:
        """Hessian of g . a, and its gradients by body-fixed changes of q and v."""
        flow, model, states = self.flow, self.flow.model, self.flow.states
        tau = states.tau
        if flow.passive:
            tau = plus_passive_forces(model, self.at.q, self.v, tau, flow.threads)
        state, f_ext, held = (model, self.at.q, self.v, tau), states.f_ext, flow.held(self.at)
        if held is None:
            h: Any = forward_dynamics_hessian(*state, g, f_ext, threads=flow.threads)
        else:
            h = constrained_dynamics_hessian(*state, held, g, f_ext, threads=flow.threads)
        dtau = np.zeros_like(self.dq)
        dtau[..., 2 * model.nv :] = flow.inputs.columns(np.eye(model.nv))
        if flow.passive:
            p = passive_forces_derivatives(model, self.at.q, self.v, threads=flow.threads)
            dtau = dtau + p.dq @ self.dq + p.dv @ self.dv
        by_q = by_v = np.zeros_like(g)
        turning = _turning_springs(model) if flow.passive else []
        if flow.free or turning:
            if held is None:
                d = forward_dynamics_derivatives(*state, f_ext, threads=flow.threads)
            else:
                d = acceleration_derivatives(held, (*state[1:], f_ext), False, flow.threads)
            by_tau = _times(np.swapaxes(d.dtau, -1, -2), g)
            by_q, by_v = (_times(np.swapaxes(x, -1, -2), g) for x in (d.dq, d.dv))
            if flow.passive:
                by_q = by_q + _times(np.swapaxes(p.dq, -1, -2), by_tau)
                by_v = by_v + _times(np.swapaxes(p.dv, -1, -2), by_tau)
        T = np.swapaxes(self.dq, -1, -2)
        H = T @ (h.dqdq @ self.dq) + symmetric(T @ (h.dqdv @ self.dv + h.dqdtau @ dtau))
        if turning:
            H += T @ (self._spring_form(by_tau, turning) @ self.dq)
        return H + np.swapaxes(self.dv, -1, -2) @ (h.dvdv @ self.dv), by_q, by_v

    def _spring_form(self, by_tau: Array, rates: list[int]) -> Array:
        """Hessian by q of by_tau times the forces of springs; those of other rates are linear."""
        model, nv, threads = self.flow.model, self.flow.model.nv, self.flow.threads
        along = np.eye(nv)[rates], None
        at = self.at.q[:, None], self.v[:, None]
        by_q = jvp(passive_forces_derivatives, model, at, along, threads=threads).derivative[0]
        form = np.zeros((len(by_tau), nv, nv))
        form[:, rates] = np.einsum("ni,nkij->nkj", by_tau, by_q)
        return symmetric(form) / 2


def _turning_springs(model: Model) -> list[int]:
    """All rates of spherical and free joints that have springs, whose forces are not linear."""
    blocks = [block.at for block in group_blocks(model) if model.stiffness[block.at].any()]
    return [rate for at in blocks for rate in range(at.start, at.stop)]


def _times(matrix: Array, vector: Array) -> Array:
    product: Array = (matrix @ vector[..., None])[..., 0]
    return product
