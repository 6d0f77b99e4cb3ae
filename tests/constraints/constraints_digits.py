"""Dynamics under constraints in 60 digits, as series in time: one dense system for each order.

Poses are those of `oracle_digits`. A rate j changes the pose T of all it carries by G_j T, with the
generator G_j of its joint in the world; so the pose X = T_B^-1 T_A of a frame A in a frame B
changes by dX_j, and rows of the Jacobian follow from what they mean. Forces of rows that depend on
others are zero: only accelerations and J^T force are unique.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from constraints_oracle import plane_axes
from oracle_digits import Robot, Series, coefficients, constant, exact, forget_since, inverse_pose
from oracle_digits import computed as all_computed

import jounce as jc
from jounce.model.model import node_of

NAMES = ["rx", "ry", "rz", "x", "y", "z"]
TINY = Decimal(10) ** -25
"""Pivots of rows that depend on each other: squares of what doubles lack, as of rotations."""


def vee(x):
    return np.array([x[2, 1], x[0, 2], x[1, 0], *x[:3, 3]], dtype=object)


def cross(a, b):
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


def mapped(function, x):
    """A linear map of a series."""
    return Series(lambda k: function(x[k]))


def product(a, b, multiply):
    return Series(lambda k: sum(multiply(a[j], b[k - j]) for j in range(k + 1)))


def inverse_root(x):
    """1 / sqrt(x) of a series of numbers, by x y' = -x' y / 2."""

    def rule(k):
        if k == 0:
            return 1 / x[0].sqrt()
        terms = ((Decimal(-i) / 2 - (k - i)) * x[i] * y[k - i] for i in range(1, k + 1))
        return sum(terms) / (k * x[0])

    y = Series(rule)
    return y


def contact(item, R, normal):
    """From the center of a wheel or ball to where it touches the plane."""
    down = constant(-normal)
    if item.axis is not None:  # in the plane of the wheel
        axis = exact(np.array(item.axis))
        s = mapped(lambda x: x @ axis, R)
        down = product(mapped(lambda x: x @ normal, s), s, lambda a, b: a * b) + down
    length = inverse_root(product(down, down, np.dot))
    radius = Decimal(float(item.radius))
    return product(length, down, lambda a, b: radius * a * b)


class Frames:
    """Poses of frames, and how rates change them."""

    def __init__(self, robot):
        self.robot, self.model = robot, robot.model
        self.generators = [g for i in range(len(robot.kinds)) for g in self._generators(i)]

    def _generators(self, i):
        """G of each rate of a node, as series, and the nodes that it carries."""
        robot, parents = self.robot, self.model.nodes.parent
        carried = [j for j in range(len(parents)) if self._is_above(i, j)]
        T = robot.joint[i]
        back, out = inverse_pose(T), []
        for axis in range(6):
            own = exact(np.zeros((4, 4)))
            if axis < 3:
                a, b = (axis + 1) % 3, (axis + 2) % 3
                own[b, a], own[a, b] = Decimal(1), Decimal(-1)
            else:
                own[axis - 3, 3] = Decimal(1)
            out.append(own)
        kind = robot.kinds[i]
        chosen = {"revolute": [2], "prismatic": [5], "spherical": [0, 1, 2]}
        own = [out[2] + robot.pitch[i] * out[5]] if kind == "helical" else None
        own = own or [out[a] for a in chosen.get(kind, range(6))]
        return [((T @ x) @ back, carried) for x in own]

    def _is_above(self, i, j):
        while j > i:
            j = self.model.nodes.parent[j]
        return i == j

    def pose(self, name):
        """Pose of a frame, and its node."""
        if name is None:
            return constant(exact(np.eye(4))), -1
        node, placement = node_of(self.model, name), self.model.frame(name).placement
        return self.robot.pose[node] @ exact(placement), node

    def relative(self, item):
        """X, its changes dX_j, and the pose of the second frame."""
        (A, a), (B, b) = self.pose(item.first), self.pose(item.second)
        back = inverse_pose(B)
        X, changes = back @ A, []
        zero = constant(exact(np.zeros((4, 4))))
        for G, carried in self.generators:
            change = zero
            if a in carried:
                change = change + back @ (G @ A)
            if b in carried:
                change = change - back @ (G @ (B @ X))
            changes.append(change)
        return X, changes, B

    def rows(self, item):
        """The Jacobian of a constraint, a series (rows, nv)."""
        if isinstance(item, jc.Coupling):
            return self._coupling(item)
        X, changes, B = self.relative(item)
        columns = [self._column(item, X, dX, B) for dX in changes]
        return Series(lambda k: np.stack([np.atleast_1d(c[k]) for c in columns], -1))

    def _column(self, item, X, dX, B):
        p, dp = X.part(slice(0, 3), 3), dX.part(slice(0, 3), 3)
        if isinstance(item, jc.Point):
            return product(B.part(slice(0, 3), slice(0, 3)), dp, np.matmul)
        if isinstance(item, jc.Distance):
            rod = p - constant(exact(np.array(item.anchor)))
            square = product(rod, rod, np.dot)
            return product(product(rod, dp, np.dot), inverse_root(square), lambda a, b: a * b)
        if isinstance(item, jc.Rolling):
            axes = exact(plane_axes(np.array(item.normal)))
            R, dR = (x.part(slice(0, 3), slice(0, 3)) for x in (X, dX))
            spin = mapped(lambda x: np.array([x[2, 1], x[0, 2], x[1, 0]]), dR @ R.T)
            moved = dp + product(spin, contact(item, R, axes[:, 2]), cross)
            return mapped(lambda x: axes.T @ x, moved)
        kept = [k for k, name in enumerate(NAMES) if name not in item.free]
        return mapped(lambda x: vee(x)[kept], inverse_pose(X) @ dX)

    def _coupling(self, item):
        model, v = self.model, self.robot.v
        columns = {}
        for joint, c in item.coefficients:
            k, i = model.q_slice(joint).start, model.v_slice(joint).start
            x = v.part(i).integral(Decimal(float(self.q[k])))
            slope = constant(Decimal(0))
            for power in (3, 2, 1, 0):
                slope = product(slope, x, lambda a, b: a * b)
                slope = slope + constant(Decimal(float((power + 1) * c[power])))
            columns[i] = slope
        zero = constant(Decimal(0))
        return Series(
            lambda k: np.array([[columns.get(i, zero)[k] for i in range(model.nv)]], dtype=object)
        )


def eliminate(K, b):
    """Solve K x = b, K symmetric and not negative; unknowns of vanishing pivots are zero."""
    rows = np.column_stack([K, b])
    n, kept = len(b), []
    size = max(abs(x) for x in K.flat)
    for k in range(n):
        if rows[k, k] < TINY * size:
            continue
        kept.append(k)
        rows[k] = rows[k] / rows[k, k]
        for i in range(k + 1, n):
            rows[i] = rows[i] - rows[i, k] * rows[k]
    x = exact(np.zeros(n))
    for k in reversed(kept):
        x[k] = rows[k, n] - rows[k, k + 1 : n] @ x[k + 1 :]
    return x, len(kept)


def inverse(M):
    n = len(M)
    rows = np.column_stack([M, exact(np.eye(n))])
    for k in range(n):
        rows[k] = rows[k] / rows[k, k]
        for i in range(n):
            if i != k:
                rows[i] = rows[i] - rows[i, k] * rows[k]
    return rows[:, n:]


def forward(model, items, q, v, tau, f_ext=None):
    """Taylor coefficients of a and J^T force as derivatives, (r + 1, nv) each, and the rank."""
    robot = Robot(model, q, [exact(v)], f_ext)
    frames = Frames(robot)
    frames.q = q
    jacobians = [frames.rows(item) for item in items]
    J = Series(lambda k: np.concatenate([x[k] for x in jacobians]))
    given, N = coefficients(tau), inverse(robot.mass_matrix())
    K = J[0] @ N @ J[0].T
    forces, pushes, factor = [], [], 1
    accelerations = []
    for k in range(len(tau)):
        mark = len(all_computed)
        bias = robot.tau(k)
        forget_since(mark)
        free = given[k] - bias
        for i in range(1, k + 1):
            free = free + J[i].T @ forces[k - i]
        rows = -sum(J[i] @ robot.rates[k + 1 - i] for i in range(1, k + 2)) * (k + 1)
        f, rank = eliminate(K, rows - J[0] @ (N @ free))
        a = N @ (free + J[0].T @ f)
        robot.rates.append(a / (k + 1))
        forget_since(mark)
        forces.append(f)
        factor = factor * k if k else 1
        accelerations.append(a * factor)
        pushes.append(sum(J[i].T @ forces[k - i] for i in range(k + 1)) * factor)
    return np.array(accelerations).astype(float), np.array(pushes).astype(float), rank
