"""Constrained dynamics in plain NumPy, for complex steps too.

Twists are spatial: along the world's axes, about its origin. Rows are written from what they mean,
a velocity of some point or frame, and the equations of motion are solved as one dense system.
"""

from __future__ import annotations

import numpy as np
import partials_oracle as oracle

import jounce as jc
from jounce import lie
from jounce.model.model import node_of

STEP = oracle.STEP


def frame_of(model, t, V, name):
    """Pose and spatial twist of a frame, at rest for the world."""
    lead = V.shape[:-2]
    if name is None:
        return np.broadcast_to(np.eye(4), (*lead, 4, 4)), np.zeros((*lead, 6))
    node, placement = node_of(model, name), model.frame(name).placement
    if node < 0:
        return np.broadcast_to(placement, (*lead, 4, 4)), np.zeros((*lead, 6))
    T = t.T[..., node, :, :] @ placement
    return np.broadcast_to(T, (*lead, 4, 4)), V[..., node, :]


def velocity_at(V, p):
    return V[..., 3:] + np.cross(V[..., :3], p)


def length(x):
    return np.sqrt((x * x).sum(-1, keepdims=True))


def plane_axes(z):
    x = np.array([1.0, 0, 0]) if abs(z[0]) < 0.9 else np.array([0, 1.0, 0])
    y = np.cross(z, x) / np.linalg.norm(np.cross(z, x))
    return np.column_stack([np.cross(y, z), y, z])


def rates_of(model, item, q, t, V, v):
    """Rates of the rows of one constraint."""
    if isinstance(item, jc.Coupling):
        total = 0
        for joint, c in item.coefficients:
            x, rate = q[..., model.q_slice(joint)], v[..., model.v_slice(joint)]
            total = total + sum((k + 1) * c[k] * x**k for k in range(4)) * rate
        return total
    (T, twist), (base, carried) = (frame_of(model, t, V, n) for n in (item.first, item.second))
    relative, p = twist - carried, T[..., :3, 3]
    if isinstance(item, jc.Point):
        return velocity_at(relative, p)
    if isinstance(item, jc.Distance):
        rod = p - (base[..., :3, :3] @ np.array(item.anchor) + base[..., :3, 3])
        return (rod * velocity_at(relative, p)).sum(-1, keepdims=True) / length(rod)
    if isinstance(item, jc.Rolling):
        axes = base[..., :3, :3] @ plane_axes(np.array(item.normal))
        down = -axes[..., 2]
        if item.axis is not None:
            s = T[..., :3, :3] @ np.array(item.axis)
            down = down - s * (s * down).sum(-1, keepdims=True)
        contact = p + item.radius * down / length(down)
        return oracle.times(np.swapaxes(axes, -1, -2), velocity_at(relative, contact))
    body = oracle.times(lie.Ad(lie.inverse(T)), relative)
    names = ["rx", "ry", "rz", "x", "y", "z"]
    return body[..., [k for k in range(6) if names[k] not in item.free]]


def velocity(model, items, q, v):
    """Rates of all rows, (..., m)."""
    t = oracle.tree(model, np.ascontiguousarray(q))
    V, _ = oracle.twists_and_accelerations(t, v, np.zeros(model.nv))
    lead = V.shape[:-2]
    rows = [rates_of(model, item, q, t, V, v) for item in items]
    return np.concatenate([np.broadcast_to(r, (*lead, r.shape[-1])) for r in rows], -1)


def jacobian(model, items, q):
    units = np.eye(model.nv)
    return np.swapaxes(velocity(model, items, q[..., None, :], units), -1, -2)


def bias(model, items, q, v):
    """J' v for real arguments, by a complex step in time."""
    moved = oracle.integrate(model, q.astype(complex), 1j * STEP * v)
    return velocity(model, items, moved, v).imag / STEP


def bias_of(model, items, q, v):
    """The same for complex arguments: central differences in time, of tenth order, all at once."""
    weights, h = np.array([5 / 6, -5 / 21, 5 / 84, -5 / 504, 1 / 1260]), 0.002
    times = h * np.arange(1, 6).reshape(-1, *[1] * max(q.ndim, np.ndim(v)))
    moved = oracle.integrate(model, q, np.concatenate([times, -times]) * v)
    ahead, back = np.split(velocity(model, items, moved, v), 2)
    return np.tensordot(weights / h, ahead - back, 1)


def dynamics(model, items, q, v, tau, f_ext=None, bias=bias, w=0.0, chosen=None):
    """Accelerations and forces by one dense system."""
    t = oracle.tree(model, np.ascontiguousarray(q))
    M, J = oracle.mass_matrix_of(t), jacobian(model, items, q)
    free = tau - oracle.inverse_dynamics_of(t, v, np.zeros(model.nv), f_ext)
    rows = w - bias(model, items, q, v)
    return solved(M, J, free, rows) if chosen is None else least_norm(M, J, free, rows, chosen)


def jump(model, items, q, v, e, chosen=None, w=0.0):
    """Rates after an impulse, and the impulse."""
    t = oracle.tree(model, np.ascontiguousarray(q))
    M, J = oracle.mass_matrix_of(t), jacobian(model, items, q)
    given = M, J, 0 * v, -(1 + e) * (oracle.times(J, v) - w)
    dv, push = solved(*given) if chosen is None else least_norm(*given, chosen)
    return v + dv, push


def least_norm(M, J, free, rows, chosen):
    """The same where rows depend on each other, of which some that are chosen do not.

    The shortest f is Q y with Q = J J_chosen^T, and rows are met in the sense of least squares by
    Q^T J x = Q^T rows: without a pseudoinverse, whose complex steps are none.
    """
    turned = np.swapaxes(J, -1, -2)
    Q = J @ turned[..., chosen]
    back = np.swapaxes(Q, -1, -2)
    x, y = solved(M, back @ J, free, oracle.times(back, rows))
    return x, oracle.times(Q, y)


def solved(M, J, free, rows):
    """X and f of M x - J^T f = free, J x = rows."""
    m, nv = J.shape[-2:]
    lead = np.broadcast_shapes(free.shape[:-1], rows.shape[:-1], M.shape[:-2])
    K = np.zeros((*lead, nv + m, nv + m), np.result_type(M, J))
    K[..., :nv, :nv] = M
    K[..., :nv, nv:] = -np.swapaxes(J, -1, -2)
    K[..., nv:, :nv] = J
    right = [np.broadcast_to(x, (*lead, x.shape[-1])) for x in (free, rows)]
    x = np.linalg.solve(K, np.concatenate(right, -1)[..., None])[..., 0]
    return x[..., :nv], x[..., nv:]
