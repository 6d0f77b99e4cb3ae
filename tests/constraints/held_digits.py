"""Least-norm forces, stabilization, moving targets and prescribed rates in 60 digits.

With independent rows A_I of the free rates' columns A of J, forces of the least norm are f = Q y, Q
= A A_I^T, and rows are met in the sense of least squares by Q^T (V' - r) = 0. Each order is one
dense system for a and y, whose derivatives are those of products of series; errors e follow from
poses alone. Of another kind than the package, which knows neither A_I nor Q.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from constraints_digits import NAMES, TINY, Frames, contact, cross, inverse_root, product
from constraints_oracle import plane_axes
from oracle_digits import Robot, Series, coefficients, constant, exact, forget_since, inverse_pose
from oracle_digits import computed as all_computed

import jounce as jc

ZERO = Decimal(0)


def hat(twist):
    out = exact(np.zeros((4, 4)))
    out[2, 1], out[0, 2], out[1, 0] = twist[:3]
    out[1, 2], out[2, 0], out[0, 1] = -twist[:3]
    out[:3, 3] = twist[3:]
    return out


class Errors:
    """Residuals that stabilize, as series."""

    def __init__(self, frames):
        self.frames = frames

    def of(self, item):
        """(rows,) of one constraint."""
        rows = len(NAMES) - len(getattr(item, "free", ()))
        if isinstance(item, jc.Coupling):
            return self._without_way(item, self._coupling(item), item.offset)
        if isinstance(item, jc.Rolling):
            return self._without_way(item, self._rolling(item), item.point)
        if isinstance(item, jc.Distance):
            return self._without_way(item, self._distance(item), item.target)
        if isinstance(item, jc.Point):
            return self._without_way(item, self._point(item), item.target)
        return constant(exact(np.zeros(rows))) if item.target is None else self._pose(item)

    def _without_way(self, item, error, target):
        """Numbers and points move by the integral of the rates; without a target all is zero."""
        rows = 1 if isinstance(item, jc.Coupling | jc.Distance) else 3
        if target is None:
            return constant(exact(np.zeros(rows)))
        upright = np.array([0, 0, 1] if isinstance(item, jc.Rolling) else [1] * rows)
        w = [] if item.motion is None else coefficients(np.array(item.motion))
        none = exact(np.zeros(rows))
        return error - Series(lambda k: upright * w[k - 1] / k if 0 < k <= len(w) else none)

    def _coupling(self, item):
        model, total = self.frames.model, constant(exact(np.array([-item.offset or 0.0])))
        for joint, c in item.coefficients:
            x = self.frames.robot.v.part(model.v_slice(joint)).integral(
                exact(self.frames.q[model.q_slice(joint)])
            )
            value = constant(exact(np.zeros(1)))
            for power in (3, 2, 1, 0):
                value = value + constant(exact(np.array([c[power]])))
                value = product(value, x, lambda a, b: a * b)
            total = total + value
        return total

    def _distance(self, item):
        X, _, _ = self.frames.relative(item)
        rod = X.part(slice(0, 3), 3) - constant(exact(np.array(item.anchor)))
        square = product(rod, rod, np.dot)
        length = product(square, inverse_root(square), lambda a, b: a * b)
        number = Decimal(float(item.target or 0.0))
        return Series(lambda k: np.array([length[k] - (number if k == 0 else 0)], dtype=object))

    def _point(self, item):
        X, _, B = self.frames.relative(item)
        away = X.part(slice(0, 3), 3) - constant(exact(np.array(item.target or (0.0,) * 3)))
        return product(B.part(slice(0, 3), slice(0, 3)), away, np.matmul)

    def _rolling(self, item):
        X, _, _ = self.frames.relative(item)
        axes = exact(plane_axes(np.array(item.normal)))
        R, p = X.part(slice(0, 3), slice(0, 3)), X.part(slice(0, 3), 3)
        at = p + contact(item, R, axes[:, 2]) - constant(exact(np.array(item.point or (0.0,) * 3)))
        return Series(lambda k: np.array([ZERO, ZERO, axes[:, 2] @ at[k]], dtype=object))

    def _pose(self, item):
        X, _, _ = self.frames.relative(item)
        held = [k for k, name in enumerate(NAMES) if name not in item.free]
        w = []
        for row in [] if item.motion is None else coefficients(np.array(item.motion)):
            twist = exact(np.zeros(6))
            twist[held] = row
            w.append(hat(twist))
        start = exact(np.array(item.target))

        def moved(k):
            if k == 0:
                return start
            pairs = (target[k - 1 - j] @ w[j] for j in range(min(k, len(w))))
            return sum(pairs, exact(np.zeros((4, 4)))) / k

        target = Series(moved)
        E = inverse_pose(target) @ X
        turns = [k for k in range(3) if k not in held]

        def rule(k):
            R = E[k][:3, :3]
            turn = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
            if len(turns) == 1:  # the free axis against that of the target
                turn = cross(R[turns[0]], exact(np.eye(3)[turns[0]]))
            shift = sum(E[j][:3, :3].T @ E[k - j][:3, 3] for j in range(k + 1))
            return np.concatenate([turn, shift])[held]

        return Series(rule)


def solve(K, b):
    """Gauss with pivots."""
    rows, n = np.column_stack([K, b]), len(b)
    for k in range(n):
        best = k + int(np.argmax([abs(x) for x in rows[k:, k]]))
        rows[[k, best]] = rows[[best, k]]
        rows[k] = rows[k] / rows[k, k]
        for i in range(n):
            if i != k:
                rows[i] = rows[i] - rows[i, k] * rows[k]
    return rows[:, n]


def independent(A):
    """Some rows that all others are sums of."""
    left, chosen = A.copy(), []
    size = max(abs(x) for x in A.flat)
    for i in range(len(A)):
        row = left[i]
        square = row @ row
        if square > TINY * size * size:
            chosen.append(i)
            left = left - np.outer(left @ row, row) / square
    return chosen


def dynamics(c, q, v, a, tau, prescribed):
    """Derivatives of a, tau and force, and the rank of the rows for rates that are free."""
    model, (alpha, beta) = c.model, (Decimal(x) for x in c.stabilization)
    robot = Robot(model, q, [exact(v)])
    frames = Frames(robot)
    frames.q = q
    errors = [Errors(frames).of(item) for item in c.items]
    jacobians = [frames.rows(item) for item in c.items]
    J = Series(lambda k: np.concatenate([x[k] for x in jacobians]))
    w = [*coefficients(c.motion)] + [exact(np.zeros(c.size))] * (len(tau) + 2)
    F, P = np.flatnonzero(~prescribed), np.flatnonzero(prescribed)
    rows = independent(J[0][:, F])
    A = Series(lambda k: J[k][:, F])
    Q = A @ Series(lambda k: J[k][rows][:, F]).T
    M, (given_a, given_tau) = robot.mass_matrix(), (coefficients(x) for x in (a, tau))
    K = np.block(
        [[M[np.ix_(F, F)], -A[0].T @ Q[0]], [Q[0].T @ A[0], exact(np.zeros([len(rows)] * 2))]]
    )
    y, gaps, forces, out = [], [], [], []
    for k in range(len(tau)):
        mark = len(all_computed)
        bias = robot.tau(k)
        forget_since(mark)
        known = sum((Q[i] @ y[k - i] for i in range(1, k + 1)), exact(np.zeros(c.size)))
        acting = sum((J[i].T @ forces[k - i] for i in range(1, k + 1)), exact(np.zeros(model.nv)))
        moved = M[:, P] @ given_a[k][P]
        V = sum(J[i] @ robot.rates[k - i] for i in range(k + 1))
        e = np.concatenate([x[k] for x in errors])
        gap = (k + 1) * sum(J[i] @ robot.rates[k + 1 - i] for i in range(1, k + 2))
        gap = gap + J[0][:, P] @ given_a[k][P] - (k + 1) * w[k + 1]
        gap = gap + 2 * alpha * (V - w[k]) + beta * beta * e
        push = (given_tau[k] - bias - moved + acting)[F] + A[0].T @ known
        right = -sum((Q[i].T @ gaps[k - i] for i in range(1, k + 1)), Q[0].T @ gap)
        x = solve(K, np.concatenate([push, right]))
        y.append(x[len(F) :])
        forces.append(known + Q[0] @ y[-1])
        gaps.append(gap + A[0] @ x[: len(F)])
        all_a, all_tau = given_a[k].copy(), given_tau[k].copy()
        all_a[F] = x[: len(F)]
        all_tau[P] = (bias + M @ all_a - acting - J[0].T @ forces[-1])[P]
        robot.rates.append(all_a / (k + 1))
        forget_since(mark)
        factor = Decimal(int(np.prod(range(1, k + 1), dtype=object)))
        out.append([x * factor for x in (all_a, all_tau, forces[-1])])
    return [np.array([o[j] for o in out]).astype(float) for j in range(3)], len(rows)
