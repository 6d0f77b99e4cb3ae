"""Time derivatives of inverse dynamics by CasADi, as in ali, Table 4.

The motion is a polynomial in time t with its derivatives at 0 as parameters p. Inverse dynamics is
written out as scalar expressions (SX) and differentiated by ``jtimes(y, t, 1)`` once per order.
Building happens once; only the evaluation at t = 0 is timed, without JIT. Like our call, the
function returns all orders up to r (the order r alone, as timed in the paper, has hardly fewer
operations).

Two graphs: "spatial", with spatial twists and 6x6 inertias in the inertial frame, is the recursion
of ali (Algorithms 1 and 2 at order 0), which the paper differentiates; "body", in body frames with
every zero left out, is the leanest we could write, with a sixth of the operations at order 5.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import factorial
from typing import Any

import casadi as ca
import numpy as np
import numpy.typing as npt

import jounce as jc
from jounce import inertia, lie, twists

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Graph:
    """All orders up to r as a function of t and the parameters."""

    order: int
    function: Any
    nodes: int
    seconds: float
    """Time to build it, given the order below."""


@dataclass(frozen=True)
class Formulation:
    """How the dynamics is written: from the derivatives of the motion at t = 0."""

    parameters: Callable[[jc.Model, Array, Array], list[Array]]
    """Derivatives of the base's motion and of the rates, (k, m) each, from q and motion."""
    dynamics: Callable[..., Any]
    """Forces from the model and polynomials (angles, rates, accelerations, base's motion...)."""


def arguments(kind: str, model: jc.Model, q: Array, motion: Array) -> tuple[Any, Any]:
    """Time 0 and the parameters of a motion, for the functions of `graphs`."""
    base = FORMULATIONS[kind].parameters(model, q, motion)
    values = [np.vstack([q[7:], motion[:, 6:]]), *base]
    return ca.DM(0.0), ca.DM(np.concatenate([x.ravel() for x in values]))


def graphs(kind: str, model: jc.Model, order: int, budget: float) -> Iterator[Graph]:
    """Graphs of order 0, 1, ..., until the next would take longer than the budget to build.

    The next order is expected to take as many times longer as the last one did, three at least.
    """
    start = time.perf_counter()
    formulation, t = FORMULATIONS[kind], ca.SX.sym("t")
    example = formulation.parameters(model, jc.neutral(model), np.zeros((order + 2, model.nv)))
    shapes = [(order + 3, model.nv - 6), *(x.shape for x in example)]
    blocks = [[ca.SX.sym(f"p{i}_{k}", s[1]) for k in range(s[0])] for i, s in enumerate(shapes)]
    p = ca.vertcat(*(x for block in blocks for x in block))
    return _orders(formulation.dynamics(model, t, *blocks), t, p, order, (start, budget))


def _orders(first: Any, t: Any, p: Any, order: int, limit: tuple[float, float]) -> Iterator[Graph]:
    """Differentiate by time, order by order, from the start of the work to the budget."""
    start, budget = limit
    orders = [first]
    before = 0.0
    for r in range(order + 1):
        if r > 0:
            start = time.perf_counter()
            orders.append(ca.jtimes(orders[-1], t, 1))
        function = ca.Function(f"order_{r}", [t, p], [ca.horzcat(*orders)])
        spent = time.perf_counter() - start
        yield Graph(r, function, function.n_nodes(), spent)
        if spent * (max(3.0, spent / before) if r > 1 else 3.0) > budget:
            return
        before = spent


def _polynomial(derivatives: list[Any], t: Any) -> Any:
    out = derivatives[-1] / factorial(len(derivatives) - 1)
    for k in range(len(derivatives) - 2, -1, -1):
        out = derivatives[k] / factorial(k) + t * out
    return out


def _body_parameters(model: jc.Model, q: Array, motion: Array) -> list[Array]:
    """The base's body-fixed twist, and gravity in its frame: g' = g x w."""
    g = np.zeros((len(motion), 3))
    g[0] = lie.quat_to_matrix(q[:4]).T @ model.gravity
    scale = np.array([float(factorial(k)) for k in range(len(motion))])[:, None]
    w = motion[:, :3] / scale
    for k in range(len(motion) - 1):
        g[k + 1] = np.cross(g[: k + 1], w[k::-1]).sum(0) / (k + 1)
    return [motion[:, :6], g * scale]


def _body_dynamics(model: jc.Model, t: Any, q: list[Any], base: list[Any], g: list[Any]) -> Any:
    """Newton-Euler in body frames; gravity is an acceleration of the base."""
    nodes, n = model.nodes, len(model.nodes.parent)
    parent, axis, pose = nodes.parent, nodes.screws[:3, 5:].T, nodes.placement
    angle, rate, change = (_polynomial(q[k:], t) for k in range(3))
    v, a = _polynomial(base, t), _polynomial(base[1:], t)
    w, dw, u, du = [v[:3]], [a[:3]], [v[3:]], [a[3:] - _polynomial(g, t)]
    turn: list[Any] = [None]
    for i in range(1, n):
        p = parent[i]
        turn.append(pose[i, :3, :3] @ _rotation(axis[i], angle[i - 1]))
        back, own = turn[i].T, axis[i] * rate[i - 1]
        w.append(back @ w[p] + own)
        dw.append(back @ dw[p] + axis[i] * change[i - 1] + ca.cross(w[i], own))
        u.append(back @ (u[p] + ca.cross(w[p], pose[i, :3, 3])))
        du.append(back @ (du[p] + ca.cross(dw[p], pose[i, :3, 3])) + ca.cross(u[i], own))
    wrenches = [_wrench(nodes.parameters[i], w[i], dw[i], u[i], du[i]) for i in range(n)]
    moment, force = [x[0] for x in wrenches], [x[1] for x in wrenches]
    tau: list[Any] = [None] * n
    for i in range(n - 1, 0, -1):
        tau[i] = ca.dot(axis[i], moment[i])
        f = turn[i] @ force[i]
        force[parent[i]] += f
        moment[parent[i]] += turn[i] @ moment[i] + ca.cross(pose[i, :3, 3], f)
    return ca.vertcat(moment[0], force[0], *tau[1:])


def _rotation(axis: Array, angle: Any) -> Any:
    """Rotation about a unit axis; for a coordinate axis most entries are 0 or 1."""
    W = lie.hat(axis)
    return ca.SX(np.eye(3) + W @ W) + ca.sin(angle) * W - ca.cos(angle) * (W @ W)


def _wrench(parameters: Array, w: Any, dw: Any, u: Any, du: Any) -> tuple[Any, Any]:
    """Rate of momentum in the body's frame: moment and force."""
    M = inertia.matrix(parameters)
    m, c, J = parameters[0], parameters[1:4], M[:3, :3]
    h, p = J @ w + ca.cross(c, u), m * u - ca.cross(c, w)
    dh, dp = J @ dw + ca.cross(c, du), m * du - ca.cross(c, dw)
    return dh + ca.cross(w, h) + ca.cross(u, p), dp + ca.cross(w, p)


def _spatial_parameters(model: jc.Model, q: Array, motion: Array) -> list[Array]:
    """The base's spatial twist, and its pose: C' = hat(V) C (ali, Remark 1)."""
    C = np.zeros((len(motion), 4, 4))
    C[0, :3, :3], C[0, :3, 3], C[0, 3, 3] = lie.quat_to_matrix(q[:4]), q[4:7], 1.0
    V = twists.convert_series(motion[:, :6], C[0], "body", "spatial")
    scale = np.array([float(factorial(k)) for k in range(len(motion))])[:, None, None]
    hats = lie.hat(V) / scale
    for k in range(len(motion) - 1):
        C[k + 1] = (hats[: k + 1] @ C[k::-1]).sum(0) / (k + 1)
    # Entry by entry down the columns, as CasADi reshapes.
    return [V, (C * scale).swapaxes(1, 2).reshape(len(motion), 16)]


def _spatial_dynamics(model: jc.Model, t: Any, q: list[Any], base: list[Any], C: list[Any]) -> Any:
    """Algorithms 1 and 2 of ali at order 0; the base's force is turned to its own frame."""
    nodes, n = model.nodes, len(model.nodes.parent)
    parent, screws, M_b = nodes.parent, nodes.screws[:, 5:], inertia.matrix(nodes.parameters)
    angle, rate, change = (_polynomial(q[k:], t) for k in range(3))
    V, dV = [_polynomial(base, t)], [_polynomial(base[1:], t)]
    pose = [ca.reshape(_polynomial(C, t), 4, 4)]
    S: list[Any] = [None]
    for i in range(1, n):
        joint = ca.SX.eye(4)
        joint[:3, :3] = _rotation(screws[:3, i], angle[i - 1])
        pose.append(pose[parent[i]] @ (nodes.placement[i] @ joint))
        S.append(_adjoint(pose[i]) @ screws[:, i])
        V.append(V[parent[i]] + S[i] * rate[i - 1])
        dV.append(dV[parent[i]] + S[i] * change[i - 1] + _ad(V[i]) @ S[i] * rate[i - 1])
    W = []
    for i in range(n):
        back = _adjoint(_inverse(pose[i]))
        M = back.T @ M_b[i] @ back
        gravity = np.concatenate([np.zeros(3), model.gravity])
        W.append(M @ (dV[i] - gravity) - _ad(V[i]).T @ (M @ V[i]))
    tau: list[Any] = [None] * n
    for i in range(n - 1, 0, -1):
        tau[i] = ca.dot(S[i], W[i])
        W[parent[i]] += W[i]
    return ca.vertcat(_adjoint(pose[0]).T @ W[0], *tau[1:])


def _inverse(C: Any) -> Any:
    R = C[:3, :3].T
    return ca.vertcat(ca.horzcat(R, -R @ C[:3, 3]), np.array([[0.0, 0.0, 0.0, 1.0]]))


def _adjoint(C: Any) -> Any:
    R = C[:3, :3]
    return ca.blockcat([[R, ca.SX(3, 3)], [ca.skew(C[:3, 3]) @ R, R]])


def _ad(V: Any) -> Any:
    w = ca.skew(V[:3])
    return ca.blockcat([[w, ca.SX(3, 3)], [ca.skew(V[3:]), w]])


FORMULATIONS = {
    "spatial": Formulation(_spatial_parameters, _spatial_dynamics),
    "body": Formulation(_body_parameters, _body_dynamics),
}


def forward_graphs(model: jc.Model, order: int, budget: float) -> Iterator[Graph]:
    """Graphs of forward dynamics and its time derivatives, as `graphs` for inverse dynamics.

    The state and the forces are polynomials in time; the dynamics is Algorithm 3 of ali at order 0.
    """
    t, n = ca.SX.sym("t"), model.nv - 6
    start = time.perf_counter()
    sizes = {"q": n, "v": n, "V": 6, "C": 16, "W": 6, "tau": n}
    blocks = {
        name: [ca.SX.sym(f"{name}_{k}", size) for k in range(order + 1)]
        for name, size in sizes.items()
    }
    p = ca.vertcat(*(x for block in blocks.values() for x in block))
    at_t = {name: _polynomial(block, t) for name, block in blocks.items()}
    return _orders(_spatial_forward(model, **at_t), t, p, order, (start, budget))


def _spatial_forward(model: jc.Model, q: Any, v: Any, V: Any, C: Any, W: Any, tau: Any) -> Any:
    """Algorithm 3 of ali at order 0: derivatives of the base's spatial twist and of the rates."""
    nodes, n = model.nodes, len(model.nodes.parent)
    parent, screws, M_b = nodes.parent, nodes.screws[:, 5:], inertia.matrix(nodes.parameters)
    pose, twist = [ca.reshape(C, 4, 4)], [V]
    S: list[Any] = [None]
    bias: list[Any] = [None]
    for i in range(1, n):
        joint = ca.SX.eye(4)
        joint[:3, :3] = _rotation(screws[:3, i], q[i - 1])
        pose.append(pose[parent[i]] @ (nodes.placement[i] @ joint))
        S.append(_adjoint(pose[i]) @ screws[:, i])
        twist.append(twist[parent[i]] + S[i] * v[i - 1])
        bias.append(_ad(twist[i]) @ S[i] * v[i - 1])
    gravity = np.concatenate([np.zeros(3), model.gravity])
    M, b = [], []
    for i in range(n):
        back = _adjoint(_inverse(pose[i]))
        M.append(back.T @ M_b[i] @ back)
        b.append(-_ad(twist[i]).T @ (M[i] @ twist[i]) - M[i] @ gravity)
    U: list[Any] = [None] * n
    D: list[Any] = [None] * n
    u: list[Any] = [None] * n
    for i in range(n - 1, 0, -1):
        U[i] = M[i] @ S[i]
        D[i] = ca.dot(S[i], U[i])
        u[i] = tau[i - 1] - ca.dot(S[i], M[i] @ bias[i] + b[i])
        M[parent[i]] += M[i] - U[i] @ U[i].T / D[i]
        b[parent[i]] += b[i] + M[i] @ bias[i] + U[i] * (u[i] / D[i])
    dV = [ca.solve(M[0], W - b[0])]
    a: list[Any] = [None]
    for i in range(1, n):
        a.append((u[i] - ca.dot(U[i], dV[parent[i]])) / D[i])
        dV.append(dV[parent[i]] + S[i] * a[i] + bias[i])
    return ca.vertcat(dV[0], *a[1:])
