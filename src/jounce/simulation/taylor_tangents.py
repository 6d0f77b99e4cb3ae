"""Exact derivatives of Taylor steps, through the partials of the series of forward dynamics.

The series of the rates depends on q, v and tau by `forward_dynamics_series_derivatives`; the path
that follows from it is a polynomial, differentiated along each direction by a complex step, which
is exact: no differences are taken.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jounce import lie
from jounce._types import AnyArray, Array
from jounce.constraints import (
    Constraints,
    constrained_dynamics_series,
    constrained_dynamics_series_derivatives,
)
from jounce.derivatives import (
    ForwardDynamicsSeriesDerivatives,
    forward_dynamics_series_derivatives,
)
from jounce.model import Model
from jounce.model.joints import ELEMENTARY
from jounce.model.rates import Inputs
from jounce.series import forward_dynamics_series
from jounce.simulation.free_joints import free_joints
from jounce.simulation.series_path import Kept, kept, path_of, taken
from jounce.simulation.tangents import IDENTITY, Carried, States, TangentFlow
from jounce.simulation.taylor import quaternions, series_rows
from jounce.simulation.taylor_hessian import taylor_hessian

__all__ = ["linearized_taylor"]

TINY = 1e-40

_SPHERICAL = ELEMENTARY.index("spherical")


def linearized_taylor(
    model: Model,
    states: States,
    inputs: Inputs,
    order: int,
    threads: int,
    constraints: Constraints | None = None,
    weights: Array | None = None,
) -> tuple[Array, ...]:
    """Steps of n states under constant forces, and their derivatives.

    Returns:
        q (n, nq) and v (n, nv) after the step; (n, nv, 2 nv + inputs) derivatives of both, by (dq,
        dv, du); with weights (n, 2 nv) of changes of both, the Hessian by these.
    """
    motion, tangent = _motion(model, states, inputs, order, threads, constraints)
    n, m = len(states.q), tangent.shape[-1]
    h = states.dt[:, 0]
    at = kept(model, states.q, states.v)
    end = taken(path_of(model, at, motion), at, h)
    along = np.moveaxis(tangent, -1, 1).reshape(n * m, *motion.shape[1:])
    turned: Any = np.repeat(motion, m, 0) + 1j * TINY * along
    start = kept(model, _moved(model, states.q, m), turned[:, 0])
    after = taken(path_of(model, start, turned), start, np.repeat(h, m))
    dq = _body_tangent(model, np.repeat(end.q, m, 0), after)
    dv = after.rates(model).imag / TINY
    by = [np.moveaxis(x.reshape(n, m, model.nv), 1, 2) for x in (dq, dv)]
    result = end.q, end.rates(model), by[0], by[1]
    if weights is None:
        return result
    flow = TangentFlow.of(model, states, inputs, False, threads)
    return *result, taylor_hessian(flow, motion, tangent, _carried(flow, *result), weights)


def _carried(flow: TangentFlow, q: Array, v: Array, dq: Array, dv: Array) -> Carried:
    """The end of a step in the charts of a flow, from body-fixed changes."""
    s, dq, ds = v.copy(), dq.copy(), dv.copy()
    for joint in flow.free:
        R = joint.rotation(q)
        joint.to_parent(q, s)
        turned = lie.ad(v[:, joint.linear]) @ dq[:, joint.angular]
        ds[:, joint.linear] = R @ (ds[:, joint.linear] - turned)
        dq[:, joint.linear] = R @ dq[:, joint.linear]
    return Carried(q, s, dq, ds, IDENTITY, IDENTITY)


def _motion(
    model: Model,
    states: States,
    inputs: Inputs,
    order: int,
    threads: int,
    constraints: Constraints | None,
) -> tuple[Array, Array]:
    """The rates and their derivatives (n, p + 1, nv), and how they depend on (q, v, u)."""
    n, nv = states.v.shape
    tau, wrenches = series_rows(states.tau, order), None
    if states.f_ext is not None:
        wrenches = np.zeros((n, order, *states.f_ext.shape[1:]))
        wrenches[:, 0] = states.f_ext
    if constraints is None:
        given = model, states.q, states.v, tau, wrenches
        a = forward_dynamics_series(*given, threads=threads)
        partial = forward_dynamics_series_derivatives(*given, threads=threads)
    else:
        held = model, states.q, states.v, tau, constraints, wrenches
        a = constrained_dynamics_series(*held, threads=threads).a
        under = constrained_dynamics_series_derivatives(*held, threads=threads)
        partial = ForwardDynamicsSeriesDerivatives(*under[:3])
    tangent = np.zeros((n, order + 1, nv, 2 * nv + inputs.number))
    tangent[:, 0, :, nv : 2 * nv] = np.eye(nv)
    tangent[:, 1:, :, :nv], tangent[:, 1:, :, nv : 2 * nv] = partial.dq, partial.dv
    tangent[:, 1:, :, 2 * nv :] = inputs.columns(partial.dtau[..., 0, :])
    return np.concatenate([states.v[:, None], a], axis=1), tangent


def _moved(model: Model, q: Array, m: int) -> AnyArray:
    """States (n m, nq), moved along the tangent directions of q, the first nv of m."""
    nodes = model.coordinates
    out = np.repeat(q[:, None], m, 1).astype(complex)
    for kind, k, i in zip(nodes.kind, nodes.q_index, nodes.v_index, strict=True):
        if kind < _SPHERICAL:
            out[:, i, k] += 1j * TINY
            continue
        for j in range(3):
            step = np.zeros(4, complex)
            step[j], step[3] = 0.5j * TINY, 1.0
            out[:, i + j, k : k + 4] = lie.quat_multiply(q[:, k : k + 4].astype(complex), step)
    for joint in free_joints(model):
        R = joint.rotation(q)
        out[:, joint.linear, joint.position] += 1j * TINY * np.swapaxes(R, 1, 2)
    return out.reshape(math.prod(out.shape[:-1]), model.nq)


def _body_tangent(model: Model, q: Array, moved: Kept) -> Array:
    """Derivatives of coordinates in the tangent space at q."""
    nodes, change = model.coordinates, moved.q.imag / TINY
    out = np.zeros((len(q), model.nv))
    simple = nodes.kind < _SPHERICAL
    out[:, nodes.v_index[simple]] = change[:, nodes.q_index[simple]]
    turning = nodes.v_index[nodes.kind >= _SPHERICAL]
    for k, i in zip(quaternions(model), turning, strict=True):
        back = q[:, k : k + 4] * np.array([-1.0, -1.0, -1.0, 1.0])
        out[:, i : i + 3] = 2 * lie.quat_multiply(back, change[:, k : k + 4])[:, :3]
    for joint in free_joints(model):
        out[:, joint.linear] = change[:, joint.position]
        joint.to_body(q, out)
    return out
