"""Batched complex-step oracle: kinematics and dynamics of a tree in plain NumPy.

Twists and wrenches are spatial: along the world's axes, about its origin. All functions accept
complex arrays with any leading axes; a complex step through them gives derivatives that are exact
to rounding. So may the numbers of the model: see `parameters_oracle`. Written from the equations of
motion, not from jounce's recursions.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import scipy.integrate

from jounce import Model, inertia, lie
from jounce.model.joints import ELEMENTARY, SIZES

STEP = 1e-30  # no difference is formed, so it can be this small


def node_rates(model):
    ends = np.cumsum(SIZES[model.nodes.kind, 1])
    return [slice(int(a), int(b)) for a, b in zip(model.nodes.v_index, ends, strict=True)]


def integrate(model, q, dv):
    """jc.integrate, for complex tangent vectors too."""
    nodes = model.nodes
    lead = np.broadcast_shapes(q.shape[:-1], dv.shape[:-1])
    out = np.array(np.broadcast_to(q, (*lead, model.nq)), np.result_type(q, dv))
    for kind, k, w in zip(nodes.kind, nodes.q_index, nodes.v_index, strict=True):
        if ELEMENTARY[kind] not in ("spherical", "free"):
            out[..., k] += dv[..., w]
            continue
        turn = q[..., k : k + 4]
        out[..., k : k + 4] = lie.quat_multiply(turn, lie.quat_exp(dv[..., w : w + 3]))
        if ELEMENTARY[kind] == "free":
            shift = lie.exp(dv[..., w : w + 6])[..., :3, 3:]
            out[..., k + 4 : k + 7] += (lie.quat_to_matrix(turn) @ shift)[..., 0]
    return out


def joint_pose(model, i, q):
    nodes = model.nodes
    kind, k = ELEMENTARY[nodes.kind[i]], nodes.q_index[i]
    if kind not in ("spherical", "free"):
        screw = nodes.screws[..., nodes.v_index[i]]
        return nodes.placement[..., i, :, :] @ lie.exp(screw * q[..., k : k + 1])
    G = np.zeros((*q.shape[:-1], 4, 4), q.dtype)
    G[..., :3, :3] = lie.quat_to_matrix(q[..., k : k + 4])
    G[..., 3, 3] = 1
    if kind == "free":
        G[..., :3, 3] = q[..., k + 4 : k + 7]
    A = nodes.alignment[i]
    return nodes.placement[..., i, :, :] @ A @ G @ lie.inverse(A)


@dataclass(frozen=True)
class Tree:
    """Poses (..., n, 4, 4), screws (..., 6, nv) and inertias (..., n, 6, 6) in the world."""

    model: Model
    T: np.ndarray
    S: np.ndarray
    path: np.ndarray  # [node, rate]: the rate moves the node

    @functools.cached_property
    def I(self):  # noqa: E743
        X = lie.Ad(lie.inverse(self.T))
        return np.swapaxes(X, -1, -2) @ inertia.matrix(self.model.nodes.parameters) @ X

    def jacobians(self):
        """Of all nodes, (..., n, 6, nv)."""
        return self.S[..., None, :, :] * self.path[:, None, :]


def tree(model, q):
    """The tree at coordinates q; the last few are kept, since tests ask for them again."""
    return kept_tree(model, q.shape, q.dtype, q.tobytes())


@functools.lru_cache(maxsize=12)
def kept_tree(model, shape, dtype, numbers):
    q = np.frombuffer(numbers, dtype).reshape(shape)
    nodes = model.nodes
    n, lead = len(nodes.parent), (nodes.placement.shape[:-3], nodes.screws.shape[:-2])
    lead = np.broadcast_shapes(q.shape[:-1], *lead)
    T, S = np.zeros((*lead, n, 4, 4), q.dtype), np.zeros((*lead, 6, model.nv), q.dtype)
    path = np.zeros((n, model.nv))
    for i, (p, at) in enumerate(zip(nodes.parent, node_rates(model), strict=True)):
        local = joint_pose(model, i, q)
        T[..., i, :, :] = local if p < 0 else T[..., p, :, :] @ local
        S[..., at] = lie.Ad(T[..., i, :, :]) @ nodes.screws[..., at]
        path[i] = path[p] if p >= 0 else 0.0
        path[i, at] = 1.0
    for array in (T, S, path):
        array.flags.writeable = False
    return Tree(model, T, S, path)


def mass_matrix(model, q):
    return mass_matrix_of(tree(model, q))


def mass_matrix_of(t):
    """The sum of J^T I J over the nodes; a node's Jacobian has the columns of its path alone."""
    nv, lead = t.model.nv, np.broadcast_shapes(t.S.shape[:-2], t.I.shape[:-3])
    M = np.zeros((*lead, nv, nv), np.result_type(t.S, t.I))
    for i, path in enumerate(t.path):
        at = np.flatnonzero(path)
        J = t.S[..., at]
        M[..., at[:, None], at] += np.swapaxes(J, -1, -2) @ (t.I[..., i, :, :] @ J)
    return M + t.model.armature[..., None] * np.eye(nv)


def times(M, x):
    return (M @ x[..., None])[..., 0]


def twists_and_accelerations(t, v, a):
    """Twists of the nodes, (..., n, 6), and their time derivatives."""
    v, a = np.asarray(v), np.asarray(a)
    lead = np.broadcast_shapes(t.S.shape[:-2], v.shape[:-1], a.shape[:-1])
    dtype = np.result_type(t.S, v, a)
    n = len(t.model.nodes.parent)
    V, A = np.zeros((*lead, n, 6), dtype), np.zeros((*lead, n, 6), dtype)
    for i, (p, at) in enumerate(zip(t.model.nodes.parent, node_rates(t.model), strict=True)):
        own = times(t.S[..., at], v[..., at])
        V[..., i, :] = own if p < 0 else V[..., p, :] + own
        A[..., i, :] = times(t.S[..., at], a[..., at]) + times(lie.ad(V[..., i, :]), own)
        if p >= 0:
            A[..., i, :] += A[..., p, :]
    return V, A


def inverse_dynamics(model, q, v, a, f_ext=None):
    return inverse_dynamics_of(tree(model, q), v, a, f_ext)


def inverse_dynamics_of(t, v, a, f_ext=None):
    model = t.model
    V, A = twists_and_accelerations(t, v, a)
    A = A - np.concatenate([0 * model.gravity, model.gravity], axis=-1)[..., None, :]
    h = times(t.I, V)
    f = times(t.I, A) - times(np.swapaxes(lie.ad(V), -1, -2), h)
    if f_ext is not None:
        bodies = np.flatnonzero(model.nodes.body >= 0)
        X = np.swapaxes(lie.Ad(lie.inverse(t.T[..., bodies, :, :])), -1, -2)
        f = f + 0 * X[..., 0, 0, 0, None, None]
        f[..., bodies, :] -= times(X, f_ext)
    total = np.swapaxes(f, -1, -2) @ t.path
    return (t.S * total).sum(-2) + model.armature * a


def forward_dynamics(model, q, v, tau, f_ext=None):
    t = tree(model, q)
    bias = inverse_dynamics_of(t, v, np.zeros(model.nv), f_ext)
    return np.linalg.solve(mass_matrix_of(t), (tau - bias)[..., None])[..., 0]


def hybrid_dynamics(model, q, v, a, tau, mask, f_ext=None):
    t = tree(model, q)
    bias, M = inverse_dynamics_of(t, v, np.zeros(model.nv), f_ext), mass_matrix_of(t)
    p, f = np.flatnonzero(mask), np.flatnonzero(~mask)
    dtype = np.result_type(M, a, tau, v)
    lead = np.broadcast_shapes(bias.shape[:-1], a.shape[:-1], tau.shape[:-1])
    acc, forces = (np.array(np.broadcast_to(x, (*lead, model.nv)), dtype) for x in (a, tau))
    rest = forces[..., f] - bias[..., f] - times(M[..., f[:, None], p], acc[..., p])
    acc[..., f] = np.linalg.solve(M[..., f[:, None], f], rest[..., None])[..., 0]
    forces[..., p] = times(M[..., p, :], acc) + bias[..., p]
    return acc, forces


def in_q(model, q, function):
    """Derivative of function(q) in the tangent space, directions last."""
    steps = 1j * STEP * np.eye(model.nv)
    moved = integrate(model, q[:, None, :].astype(complex), steps)  # (states, nv, nq)
    return np.moveaxis(function(moved).imag / STEP, 1, -1)


def in_x(x, function):
    """Derivative of function(x) in a vector x, directions last."""
    moved = x[:, None, :] + 1j * STEP * np.eye(x.shape[-1])
    return np.moveaxis(function(moved).imag / STEP, 1, -1)


def tangent(model, q):
    """The tangent vector of q(0) + i STEP dq, left-trivialized, (..., nv)."""
    return trivialized(model, q.real, q.imag / STEP)


def trivialized(model, at, dq):
    """The tangent vector, (..., nv), of coordinates that change by dq."""
    nodes = model.nodes
    out = np.zeros((*dq.shape[:-1], model.nv), np.result_type(at, dq))
    for kind, k, w in zip(nodes.kind, nodes.q_index, nodes.v_index, strict=True):
        if ELEMENTARY[kind] not in ("spherical", "free"):
            out[..., w] = dq[..., k]
            continue
        turn = at[..., k : k + 4]
        inverse = turn * [-1, -1, -1, 1] / (turn**2).sum(-1, keepdims=True)
        out[..., w : w + 3] = 2 * lie.quat_multiply(inverse, dq[..., k : k + 4])[..., :3]
        if ELEMENTARY[kind] == "free":
            R = lie.quat_to_matrix(turn)
            out[..., w + 3 : w + 6] = times(np.swapaxes(R, -1, -2), dq[..., k + 4 : k + 7])
    return out


def free_joints(model):
    """First coordinate and first rate of every free joint."""
    nodes = model.nodes
    triples = zip(nodes.kind, nodes.q_index, nodes.v_index, strict=True)
    return [(k, w) for kind, k, w in triples if ELEMENTARY[kind] == "free"]


def turned(model, q, rates, back=False):
    """Linear rates of free joints along the axes of their parents, or back."""
    lead = np.broadcast_shapes(q.shape[:-1], rates.shape[:-1])
    out = np.array(np.broadcast_to(rates, (*lead, model.nv)), np.result_type(q, rates))
    for k, w in free_joints(model):
        R = lie.quat_to_matrix(q[..., k : k + 4])
        out[..., w + 3 : w + 6] = times(
            np.swapaxes(R, -1, -2) if back else R, out[..., w + 3 : w + 6]
        )
    return out


def displaced(model, q, u):
    """Turns multiplied, positions of free joints and everything else added."""
    turn = np.array(u)
    for _, w in free_joints(model):
        turn[..., w + 3 : w + 6] = 0
    out = integrate(model, q, turn)
    for k, w in free_joints(model):
        out[..., k + 4 : k + 7] += u[..., w + 3 : w + 6]
    return out


def algebra_rates(model, xi, s):
    """xi' of q_0 exp(xi), where q moves with the rates s."""
    out = np.array(s, np.result_type(xi, s))
    for kind, w in zip(model.nodes.kind, model.nodes.v_index, strict=True):
        if ELEMENTARY[kind] in ("spherical", "free"):
            at = slice(w, w + 3)
            out[..., at] = times(lie.dexp_inv(-xi[..., at]), s[..., at])
    return out


KUTTA = [[], [1 / 2], [0, 1 / 2], [0, 0, 1]], [1 / 6, 1 / 3, 1 / 3, 1 / 6]
MUNTHE_KAAS = {
    "rkmk2": ([[], [1]], [1 / 2, 1 / 2]),
    "rkmk4": KUTTA,
    "dopri5": (scipy.integrate.RK45.A, scipy.integrate.RK45.B),
    "dop853": (scipy.integrate.DOP853.A, scipy.integrate.DOP853.B),
}


def step(model, q, v, tau, dt, method, f_ext=None, passive=None):
    """One explicit step on the group, by its definition: in (q, s), with s of `turned`.

    Forces `passive(model, {"q": q, "v": v})` act beside tau.
    """

    def slope(q, s):
        v = turned(model, q, s, back=True)
        forces = tau if passive is None else tau + passive(model, {"q": q, "v": v})[0]
        a = forward_dynamics(model, q, v, forces, f_ext) + 0 * v
        for _, w in free_joints(model):
            a[..., w + 3 : w + 6] += np.cross(v[..., w : w + 3], v[..., w + 3 : w + 6])
        return s, turned(model, q, a)

    def moved(x, *terms):
        u = dt * sum(w * k[0] for w, k in terms)
        return displaced(model, x[0], u), x[1] + dt * sum(w * k[1] for w, k in terms)

    def runge_kutta(rows, weights):
        slopes = []
        for row in rows:
            terms = list(zip(row, slopes, strict=False))
            xi = sum((dt * w * k[0] for w, k in terms), np.zeros(model.nv))
            s = x[1] + sum((dt * w * k[1] for w, k in terms), np.zeros(model.nv))
            s, a = slope(displaced(model, q, xi), s)
            slopes.append((algebra_rates(model, xi, s), a))
        return moved(x, *zip(weights, slopes, strict=True))

    def end():
        if method in MUNTHE_KAAS:
            return runge_kutta(*MUNTHE_KAAS[method])
        k1 = slope(*x)
        if method == "euler":
            return moved(x, (1, k1))
        if method == "semi_implicit_euler":
            after = x[1] + dt * k1[1]
            return displaced(model, q, dt * after), after
        second = moved(x, (0.5, k1))
        k2 = slope(*second)
        if method == "midpoint":
            return moved(x, (1, k2))
        k3 = slope(*moved(x, (0.5, k2)))
        k4 = slope(*moved(second, (-0.5, k1), (1, k3)))
        half = moved(x, (1 / 4, k1), (1 / 6, k2), (1 / 6, k3), (-1 / 12, k4))
        return moved(half, (-1 / 12, k1), (1 / 6, k2), (1 / 6, k3), (1 / 4, k4))

    x = q, turned(model, q, v)
    after, s = end()
    return after, turned(model, after, s, back=True)


def relative(ours, exact, scale=0.0):
    """Largest error relative to the largest entry, state by state; `scale` bounds that below."""
    ours, exact = np.asarray(ours), np.asarray(exact)
    assert ours.shape == exact.shape
    axes = tuple(range(1, exact.ndim))
    size = np.abs(exact).max(axis=axes, initial=0)
    size = np.maximum(size, max(1e-6 * size.max(initial=0), scale)) + 1e-300
    return float((np.abs(ours - exact).max(axis=axes, initial=0) / size).max(initial=0))
