"""Taylor mode in plain NumPy: what a careful user would write without a compiler.

Inverse dynamics as truncated Taylor series in body frames. Bodies of equal depth are treated at
once. A series is an array whose first axis is the order; coefficients are derivatives over
factorials, so a product of series is a convolution. Revolute joints, and a free one at the root.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt

import jounce as jc
from jounce import inertia, lie
from jounce.model.joints import ELEMENTARY

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Level:
    """Bodies of equal depth, m of them, with revolute joints."""

    bodies: Any
    parents: Any
    q: Any
    v: Any
    axis: Array
    """(m, 3)."""
    rotation: Array
    """(m, 3, 3) of the placement in the parent."""
    offset: Array
    """(m, 3)."""


class TaylorModel:
    """A robot sorted by depth."""

    def __init__(self, model: jc.Model) -> None:
        nodes = model.nodes
        depth = np.zeros(len(nodes.parent), int)
        for i, parent in enumerate(nodes.parent):
            depth[i] = depth[parent] + 1 if parent >= 0 else 0
        kinds = [ELEMENTARY[k] for k in nodes.kind]
        if kinds[0] != "free" or set(kinds[1:]) > {"revolute"} or nodes.parent[1:].min() < 0:
            raise ValueError("the baseline takes a free base with revolute joints")
        if np.abs(nodes.screws[3:, 6:]).max(initial=0.0) or np.any(nodes.alignment[0] != np.eye(4)):
            raise ValueError("the baseline takes joints through the origins of their frames")
        self.gravity = nodes.placement[0, :3, :3].T @ np.array(model.gravity)
        self.inertias = inertia.matrix(nodes.parameters)
        self.mass, self.first = nodes.parameters[:, 0], nodes.parameters[:, 1:4]
        self.levels = [
            self._level(model, np.flatnonzero(depth == d)) for d in range(1, depth.max() + 1)
        ]

    @staticmethod
    def _level(model: jc.Model, bodies: Any) -> Level:
        nodes = model.nodes
        v = nodes.v_index[bodies]
        return Level(
            bodies,
            nodes.parent[bodies],
            nodes.q_index[bodies],
            v,
            nodes.screws[:3, v].T,
            nodes.placement[bodies, :3, :3],
            nodes.placement[bodies, :3, 3],
        )


def inverse_dynamics_series(robot: TaylorModel, q: Array, motion: Array) -> Array:
    """Generalized forces and derivatives, as `jounce.inverse_dynamics_series`, for one state."""
    orders = len(motion) - 1
    scale = np.array([float(factorial(k)) for k in range(orders + 1)])[:, None]
    rates = motion / scale
    n = len(robot.mass)
    w, v, g = np.zeros((3, orders + 1, n, 3))
    w[:, 0], v[:, 0] = rates[:, :3], rates[:, 3:6]
    g[:, 0] = _turned_gravity(lie.quat_to_matrix(q[:4]).T @ robot.gravity, w[:, 0])
    turns = []
    for level in robot.levels:
        turn = _rotations(level, q, rates)
        turns.append(turn)
        back = turn.swapaxes(-1, -2)
        w_p, v_p = w[:, level.parents], v[:, level.parents]
        w[:, level.bodies] = product(back, w_p) + rates[:, level.v, None] * level.axis
        v[:, level.bodies] = product(back, v_p + np.cross(w_p, level.offset))
        g[:, level.bodies] = product(back, g[:, level.parents])
    moment, force = _wrenches(robot, w, v, g)
    tau = np.empty((orders, motion.shape[1]))
    for level, turn in zip(reversed(robot.levels), reversed(turns), strict=True):
        m, f = moment[:, level.bodies], force[:, level.bodies]
        tau[:, level.v] = (m * level.axis).sum(-1)
        f = product(turn[:-1], f)
        m = product(turn[:-1], m) + np.cross(level.offset, f)
        np.add.at(moment, (slice(None), level.parents), m)
        np.add.at(force, (slice(None), level.parents), f)
    tau[:, :3], tau[:, 3:6] = moment[:, 0], force[:, 0]
    return tau * scale[:-1]


def product(A: Array, x: Array) -> Array:
    """Matrices (K, m, 3, 3) times vectors (K, m, 3), truncated."""
    out = np.empty_like(x)
    for k in range(len(x)):
        out[k] = np.einsum("jmab,jmb->ma", A[: k + 1], x[k::-1])
    return out


def _cross(x: Array, y: Array) -> Array:
    """Cross product of two series of vectors (K, m, 3)."""
    return np.stack([np.cross(x[: k + 1], y[k::-1]).sum(0) for k in range(len(x))])


def _rotations(level: Level, q: Array, rates: Array) -> Array:
    """Series of the rotations from the children to their parents, (K, m, 3, 3)."""
    c, s = _cos_sin(q[level.q], rates[:, level.v])
    W = lie.hat(level.axis)
    turn = s[..., None, None] * W - c[..., None, None] * (W @ W)
    turn[0] += np.eye(3) + W @ W
    return level.rotation @ turn


def _cos_sin(angle: Array, rate: Array) -> tuple[Array, Array]:
    """Series of cosine and sine: c' = -s rate, s' = c rate."""
    c, s = np.zeros((2, *rate.shape))
    c[0], s[0] = np.cos(angle), np.sin(angle)
    for k in range(len(rate) - 1):
        c[k + 1] = -(s[: k + 1] * rate[k::-1]).sum(0) / (k + 1)
        s[k + 1] = (c[: k + 1] * rate[k::-1]).sum(0) / (k + 1)
    return c, s


def _turned_gravity(start: Array, w: Array) -> Array:
    """Series of gravity in the base: g' = g x w."""
    g = np.zeros_like(w)
    g[0] = start
    for k in range(len(w) - 1):
        g[k + 1] = np.cross(g[: k + 1], w[k::-1]).sum(0) / (k + 1)
    return g


def _wrenches(robot: TaylorModel, w: Array, v: Array, g: Array) -> tuple[Array, Array]:
    """Rate of momentum minus gravity, one order less: h' + w x h + v x p and p' + w x p."""
    momentum = np.einsum("nij,knj->kni", robot.inertias, np.concatenate([w, v], -1))
    h, p = momentum[..., :3], momentum[..., 3:]
    k = np.arange(1, len(w))[:, None, None]
    low = slice(0, len(w) - 1)
    moment = k * h[1:] + _cross(w[low], h[low]) + _cross(v[low], p[low])
    force = k * p[1:] + _cross(w[low], p[low])
    return moment - np.cross(robot.first, g[low]), force - robot.mass[:, None] * g[low]
