"""Second derivatives of Taylor steps.

The end of a step is a function of the coefficients of the rates, which are functions of the start.
With the derivatives mu of the weighted end by the coefficients c_k, the Hessian is the sum of

    mu_k . c_k''   and   J^T (weights . end'') J,

where J are the derivatives of the coefficients by the start. The former are directional derivatives
of `forward_dynamics_series_derivatives`; the latter are zero but for turns, whose coefficients

    x_k = sum of B(w_j) x_(k-1-j) / k

are linear in each of those of the angular velocity: quaternions x relative to the start, and, for
the linear velocity of free joints, the rows of rotation matrices.
"""

from __future__ import annotations

from math import factorial
from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.derivatives import forward_dynamics_series_derivatives, jvp
from jounce.simulation.forms import cross_form, symmetric, turned_form
from jounce.simulation.free_joints import FreeJoint
from jounce.simulation.second_order import from_body
from jounce.simulation.tangents import Carried, TangentFlow
from jounce.simulation.taylor import series_rows

__all__ = ["taylor_hessian"]

MEMORY = 2**26
"""Bytes of derivatives of the series that are held at a time, or those of one direction."""


def taylor_hessian(
    flow: TangentFlow, motion: Array, tangent: Array, end: Carried, weights: Array
) -> Array:
    """Hessian of the weights times body-fixed changes of the end, by those of the start.

    Args:
        flow: the states.
        motion: (n, p + 1, nv) their rates and the derivatives of these.
        tangent: (n, p + 1, nv, m) how these depend on (q, v, u) at the start.
        end: the end of the step.
        weights: (n, 2 nv).

    Returns:
        (n, m, m).
    """
    scale = np.array([1 / factorial(k) for k in range(motion.shape[1])])[:, None]
    rates, d_rates = motion * scale, tangent * scale[..., None]
    H, by_q, by_s = from_body(flow, end, weights)
    powers = flow.states.dt ** np.arange(motion.shape[1] + 1)  # (n, p + 2)
    lengths = (powers[:, 1:] / np.arange(1, motion.shape[1] + 1))[..., None]
    mu = by_q[:, None] * lengths + by_s[:, None] * powers[:, :-1, None]
    nv, m = motion.shape[-1], tangent.shape[-1]
    for at in flow.rotating:
        turn = np.eye(nv, m)[at]
        gradient, form = _turn(by_q[:, at], powers, turn, rates[..., at], d_rates[..., at, :])
        mu[..., at] = by_s[:, None, at] * powers[:, :-1, None] + gradient
        H += form
    for joint in flow.free:
        R = joint.rotation(flow.states.q)
        seen = np.einsum("nji,nkj->nki", R, mu[..., joint.linear])  # along the axes of the body
        by_w, mu[..., joint.linear], form = _slide(joint, seen, rates, d_rates)
        mu[..., joint.angular] += by_w
        shift = np.einsum("nji,nj->ni", R, by_q[:, joint.linear]) / 2
        H += form + cross_form(shift, np.eye(nv, m)[joint.angular], np.eye(nv, m)[joint.linear])
    H += symmetric(_of_series(flow, (mu * scale)[:, 1:])) / 2
    return symmetric(H) / 2


class _Turning(NamedTuple):
    """Coefficients x of r vectors of s numbers each, in the notation above, and their changes."""

    basis: Array
    """(3, s, s) B(e_a)."""
    B: Array
    dw: Array
    """(n, count, 3, m)."""
    x: Array
    """(n, r, length, s)."""
    dx: Array

    @classmethod
    def of(cls, basis: Array, first: Array, w: Array, dw: Array, length: int) -> _Turning:
        """The coefficients that follow from the first ones (r, s), which stay."""
        n, m, (r, s) = len(w), dw.shape[-1], first.shape
        B = np.einsum("aij,nka->nkij", basis, w)
        x, dx = np.zeros((n, r, length, s)), np.zeros((n, r, length, s, m))
        moved = np.zeros((n, r, length, s, 3))  # B(e_a) x_k
        x[:, :, 0] = first
        for k in range(1, length):
            moved[:, :, k - 1] = np.einsum("aij,nrj->nria", basis, x[:, :, k - 1])
            for j in range(k):
                i = k - 1 - j
                x[:, :, k] += np.einsum("nij,nrj->nri", B[:, j], x[:, :, i])
                dx[:, :, k] += B[:, None, j] @ dx[:, :, i] + moved[:, :, i] @ dw[:, None, j]
            x[:, :, k] /= k
            dx[:, :, k] /= k
        return cls(basis, B, dw, x, dx)

    def back(self, by_x: Array) -> tuple[Array, Array]:
        """Derivatives (n, count, 3) by w and Hessian of the sum of by_x x, (n, r, length, s)."""
        (n, _, length, _), m = self.x.shape, self.dw.shape[-1]
        by_w, form, by_x = np.zeros(self.dw.shape[:3]), np.zeros((n, m, m)), by_x.copy()
        for k in range(length - 1, 0, -1):
            own = by_x[:, :, k] / k
            per_axis = np.einsum("aij,nri->nraj", self.basis, own)
            for j in range(k):
                i = k - 1 - j
                by_x[:, :, i] += np.einsum("nij,nri->nrj", self.B[:, j], own)
                by_w[:, j] += np.einsum("nraj,nrj->na", per_axis, self.x[:, :, i])
                change = (per_axis @ self.dx[:, :, i]).sum(1)
                form += np.swapaxes(self.dw[:, j], -1, -2) @ change
        return by_w, symmetric(form)


_HALVES = np.pad(np.eye(3) / 2, ((0, 0), (0, 1)))
"""Quaternions (e_a / 2, 0)."""

_QUATERNION: Array = np.swapaxes(lie.quat_multiply(np.eye(4), _HALVES[:, None]), -1, -2)
"""x -> x (e_a / 2, 0)."""

_ROWS: Array = np.swapaxes(lie.ad(np.eye(3)), -1, -2)
"""Rows of a matrix X -> X e_a^."""


def _turn(g: Array, powers: Array, turn: Array, w: Array, dw: Array) -> tuple[Array, Array]:
    """Derivatives by w and Hessian of g . y, the change of the attitude at the end.

    With the quaternion X of the step and r = X* exp(theta) (X + dX), y = 2 r_v / r_w up to terms of
    third order.

    Args:
        g: (n, 3) weights.
        powers: (n, p + 2) of the step.
        turn: (3, m) the derivatives of theta, the change of the attitude at the start.
        w: (n, p + 1, 3) coefficients of the angular velocity.
        dw: (n, p + 1, 3, m) their derivatives.
    """
    path = _Turning.of(_QUATERNION, np.array([[0.0, 0.0, 0.0, 1.0]]), w, dw, powers.shape[1])
    X = np.einsum("nk,nks->ns", powers, path.x[:, 0])
    dX = np.einsum("nk,nksm->nsm", powers, path.dx[:, 0])
    size = (X * X).sum(-1)[:, None]
    by_X = lie.quat_multiply(X, np.pad(g, ((0, 0), (0, 1)))) * (2 / size)
    by_w, form = path.back(by_X[:, None, None] * powers[:, None, :, None])
    turned = np.stack([lie.quat_multiply(e, X) for e in _HALVES], -1) @ turn + dX
    back = X * np.array([-1.0, -1.0, -1.0, 1.0])
    r = lie.quat_multiply(back[:, None], np.swapaxes(turned, -1, -2)) / size[..., None]
    # theta dX / 2, of which by_X takes a part
    left = np.stack([-lie.quat_multiply(e, by_X) for e in _HALVES], -2)
    form += symmetric(turn.T @ (left @ dX))
    along = np.einsum("ni,nmi->nm", g, r[..., :3])
    return by_w, form - symmetric(2 * along[:, :, None] * r[:, None, :, 3])


def _slide(
    joint: FreeJoint, seen: Array, rates: Array, d_rates: Array
) -> tuple[Array, Array, Array]:
    """Derivatives by angular and linear coefficients, and Hessian, of the sum of seen_k y_k.

    y_k = exp(theta) sum of P_(k-j) x_j, with the coefficients P of the rotation since the start and
    x of the body-fixed linear velocity, both (n, p + 1, 3).
    """
    n, count = rates.shape[:2]
    nv, m = d_rates.shape[-2:]
    turn = np.eye(nv, m)[joint.angular]
    w, dw = rates[..., joint.angular], d_rates[..., joint.angular, :]
    x, dx = rates[..., joint.linear], d_rates[..., joint.linear, :]
    path = _Turning.of(_ROWS, np.eye(3), w, dw, count)
    by_x, by_path = np.zeros_like(x), np.zeros_like(path.x)
    y, dy = np.zeros_like(x), np.zeros_like(dx)
    form = np.zeros((n, m, m))
    for j in range(count):
        for i in range(count - j):
            P, dP, own = path.x[:, :, i], path.dx[:, :, i], seen[:, i + j]
            by_x[:, j] += np.einsum("nrs,nr->ns", P, own)
            by_path[:, :, i] += own[:, :, None] * x[:, None, j]
            y[:, i + j] += np.einsum("nrs,ns->nr", P, x[:, j])
            dy[:, i + j] += P @ dx[:, j] + np.einsum("nrsm,ns->nrm", dP, x[:, j])
            turning = np.einsum("nr,nrsm->nsm", own, dP)
            form += symmetric(np.swapaxes(turning, -1, -2) @ dx[:, j])
    by_w, second = path.back(by_path)
    for k in range(count):
        form += cross_form(seen[:, k], turn, dy[:, k]) + turned_form(seen[:, k], turn, y[:, k])
    return by_w, by_x, form + second


def _of_series(flow: TangentFlow, mu: Array) -> Array:
    """Changes (n, m, m) of mu_k . (derivatives of the acceleration's k-th derivative)."""
    model, states, inputs = flow.model, flow.states, flow.inputs
    n, order, nv = mu.shape
    m = 2 * nv + inputs.number
    wrenches = None
    if states.f_ext is not None:
        wrenches = np.zeros((n, 1, order, *states.f_ext.shape[1:]))
        wrenches[:, 0, 0] = states.f_ext
    given = states.q[:, None], states.v[:, None], series_rows(states.tau, order)[:, None], wrenches
    directions = np.eye(m)
    forces = np.zeros((m, order, nv))
    forces[2 * nv :, 0] = inputs.columns(np.eye(nv)).T
    out = np.empty((n, m, m))
    each = max(1, MEMORY // max(1, 8 * n * order * nv * (2 + order) * nv))
    for first in range(0, m, each):
        some = slice(first, first + each)
        along = directions[some, :nv], directions[some, nv : 2 * nv], forces[some], None
        d = jvp(
            *(forward_dynamics_series_derivatives, model, given, along), threads=flow.threads
        ).derivative
        by_tau = inputs.columns(d.dtau[..., 0, :])
        for part, to in zip((d.dq, d.dv, by_tau), (0, nv, 2 * nv), strict=True):
            columns = slice(to, to + part.shape[-1])
            out[:, some, columns] = np.einsum("nki,ndkij->ndj", mu, part)
    return out
