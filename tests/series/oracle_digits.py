"""Dynamics as time series in 60 digits, from poses alone.

Of another kind than the package: no twists, no body frames, no Newton-Euler recursion. A body's
pose T(t) is a 4x4 matrix in the world, its mass a constant 4x4 matrix J = int x x^T dm over its
points x = (x, y, z, 1). The accelerations of all its points are T'' x, so that

    (1) W = int (a - g) x^T dm = (T'' - g e4^T) J T^T

holds the force in its last column and the moment about the world's origin in its antisymmetric
part. d'Alembert's principle gives the generalized forces: those of a joint are the wrench of all
it carries, seen in the joint's frame. The mass matrix is the sum of tr(dT J dT^T).

Series are lazy: coefficient k = (k-th derivative) / k! of a matrix is computed by its rule when
somebody asks, and kept. Forward and hybrid dynamics ask for the forces of order k with unknown
accelerations zero, solve with the mass matrix, and forget what they asked.
"""

from __future__ import annotations

import decimal
import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal

import mpmath
import numpy as np

from jounce.model import Model
from jounce.model.joints import ELEMENTARY

DIGITS = 60


@contextmanager
def many_digits() -> Iterator[None]:
    """Decimals are compiled, five times as fast as mpmath, which has the functions they lack."""
    with decimal.localcontext() as context, mpmath.workdps(DIGITS):
        context.prec = DIGITS
        yield


def function(name: str, x: Decimal) -> Decimal:
    return Decimal(mpmath.nstr(getattr(mpmath, name)(mpmath.mpf(str(x))), DIGITS))


computed: list[tuple[dict, int]] = []
"""Every coefficient computed so far, in that order."""


class Series:
    """A matrix-valued power series in time; `rule(k)` gives coefficient k from lower ones."""

    def __init__(self, rule: Callable[[int], np.ndarray]):
        self.rule, self.known = rule, {}

    def __getitem__(self, k: int) -> np.ndarray:
        if k not in self.known:
            self.known[k] = self.rule(k)
            computed.append((self.known, k))
        return self.known[k]

    def __matmul__(self, other: Series | np.ndarray) -> Series:
        if isinstance(other, np.ndarray):
            return Series(lambda k: self[k] @ other)
        return Series(lambda k: self._convolved(other, k))

    def _convolved(self, other: Series, k: int) -> np.ndarray:
        """The sum of self[j] @ other[k - j], as one product."""
        right = [other[k - j] for j in range(k + 1)]
        left = [self[j] for j in range(k + 1)]
        if k == 0:
            return left[0] @ right[0]
        return np.concatenate(left, axis=1) @ np.concatenate(right)

    def __rmatmul__(self, other: np.ndarray) -> Series:
        return Series(lambda k: other @ self[k])

    __array_ufunc__ = None  # so that array @ series comes here

    def __add__(self, other: Series) -> Series:
        return Series(lambda k: self[k] + other[k])

    def __sub__(self, other: Series) -> Series:
        return Series(lambda k: self[k] - other[k])

    def part(self, *index: slice | int) -> Series:
        return Series(lambda k: self[k][index])

    @property
    def T(self) -> Series:
        return Series(lambda k: self[k].T)

    @property
    def rate(self) -> Series:
        return Series(lambda k: self[k + 1] * (k + 1))

    def integral(self, start: np.ndarray) -> Series:
        return Series(lambda k: self[k - 1] / k if k else start)


def forget_since(mark: int) -> None:
    """Drop the coefficients computed after the first `mark` of them."""
    for known, k in computed[mark:]:
        del known[k]
    del computed[mark:]


def exact(array: np.ndarray) -> np.ndarray:
    """The doubles of an array as 60-digit numbers, which may be some already."""

    def number(x: float | Decimal) -> Decimal:
        return x if isinstance(x, Decimal) else Decimal(float(x))

    return np.vectorize(number, otypes=[object])(array)


def exact_pose(T: np.ndarray) -> np.ndarray:
    """The pose nearest to a matrix of doubles, whose columns are orthonormal only to rounding.

    Taken as they are, they would turn axes that are parallel by 1e-17 against each other, and high
    derivatives of a rotation magnify that. Newton's iteration squares the error each time.
    """
    out = exact(T)
    for _ in range(3):
        R = out[:3, :3]
        out[:3, :3] = R @ (3 * exact(np.eye(3)) - R.T @ R) / 2
    return out


def rounded(array: np.ndarray) -> np.ndarray:
    return np.vectorize(float, otypes=[float])(array)


def coefficients(derivatives: np.ndarray) -> list[np.ndarray]:
    """Taylor coefficients of derivatives given on the first axis, exactly."""
    return [row / math.factorial(k) for k, row in enumerate(exact(derivatives))]


def constant(array: np.ndarray) -> Series:
    return Series(lambda k: array if k == 0 else array * 0)


def hat(w: np.ndarray) -> np.ndarray:
    o = Decimal(0)
    return np.array([[o, -w[2], w[1]], [w[2], o, -w[0]], [-w[1], w[0], o]], dtype=object)


def inverse_pose(T: Series) -> Series:
    """The inverse of a pose, from its transpose."""

    def rule(k: int) -> np.ndarray:
        out = exact(np.eye(4)) * (1 if k == 0 else 0)
        out[:3, :3] = T[k][:3, :3].T
        out[:3, 3] = -sum(T[j][:3, :3].T @ T[k - j][:3, 3] for j in range(k + 1))
        return out

    return Series(rule)


# Poses of the elementary joints in their own frames


def turn_about_z(angle: Series) -> Series:
    """Rotation by an angle: powers of the angle's increment, weighted by cos^(m), sin^(m)."""
    increment = Series(lambda k: angle[k] if k else Decimal(0))

    @functools.cache
    def power(m: int) -> Series:
        if m == 0:
            return Series(lambda k: Decimal(1 if k == 0 else 0))
        lower = power(m - 1)
        return Series(
            lambda k: sum((increment[j] * lower[k - j] for j in range(1, k + 1)), Decimal(0))
        )

    def rule(k: int) -> np.ndarray:
        c, s = function("cos", angle[0]), function("sin", angle[0])
        cosine, sine = Decimal(0), Decimal(0)
        for m in range(k + 1):
            weight = power(m)[k] / math.factorial(m)
            cosine += (c, -s, -c, s)[m % 4] * weight
            sine += (s, c, -s, -c)[m % 4] * weight
        out = exact(np.zeros((4, 4)))
        out[:2, :2] = [[cosine, -sine], [sine, cosine]]
        out[2, 2] = out[3, 3] = Decimal(1 if k == 0 else 0)
        return out

    return Series(rule)


def shift_along_z(length: Series) -> Series:
    def rule(k: int) -> np.ndarray:
        out = exact(np.eye(4) if k == 0 else np.zeros((4, 4)))
        out[2, 3] = length[k]
        return out

    return Series(rule)


def times_quaternion(w: np.ndarray) -> np.ndarray:
    """Matrix of the product (quaternion (x, y, z, w)) (w, 0) from the right."""
    out = exact(np.zeros((4, 4)))
    out[:3, :3], out[:3, 3], out[3, :3] = -hat(w), w, -w
    return out


def turn_and_shift(q: np.ndarray, spin: Series, velocity: Series) -> Series:
    """Pose with body-fixed rates: Q' = Q (spin, 0) / 2 for the quaternion, p' = R velocity."""
    start = q[:4] / sum(q[:4] ** 2).sqrt()

    def quaternion_rule(k: int) -> np.ndarray:
        if k == 0:
            return start
        terms = (times_quaternion(spin[j]) @ quaternion[k - 1 - j] for j in range(k))
        return sum(terms) / (2 * k)

    quaternion = Series(quaternion_rule)
    squares = Series(
        lambda k: sum(np.outer(quaternion[j], quaternion[k - j]) for j in range(k + 1))
    )

    def rotation_rule(k: int) -> np.ndarray:
        s = squares[k]
        u, w = s[:3, :3], s[3, 3]
        return 2 * u + 2 * hat(s[:3, 3]) + (w - u[0, 0] - u[1, 1] - u[2, 2]) * exact(np.eye(3))

    rotation = Series(rotation_rule)
    position = (rotation @ velocity).integral(q[4:])

    def rule(k: int) -> np.ndarray:
        out = exact(np.eye(4)) * (1 if k == 0 else 0)
        out[:3, :3], out[:3, 3] = rotation[k], position[k]
        return out

    return Series(rule)


def joint_pose(kind: str, pitch: Decimal, q: np.ndarray, v: Series) -> Series:
    """Pose of a joint in its own frame, from coordinates now and the series of its rates."""
    if kind in ("spherical", "free"):
        none = constant(exact(np.zeros(3)))
        velocity = v.part(slice(3, 6)) if kind == "free" else none
        position = q[4:] if kind == "free" else exact(np.zeros(3))
        return turn_and_shift(np.concatenate([q[:4], position]), v.part(slice(0, 3)), velocity)
    coordinate = v.part(0).integral(q[0])
    if kind == "revolute":
        return turn_about_z(coordinate)
    if kind == "prismatic":
        return shift_along_z(coordinate)
    return turn_about_z(coordinate) @ shift_along_z(Series(lambda k: coordinate[k] * pitch))


def mass_points(parameters: np.ndarray) -> np.ndarray:
    """J = int x x^T dm from the ten inertial parameters."""
    m, *h, xx, xy, yy, xz, yz, zz = parameters
    half = (xx + yy + zz) / 2
    return np.array(
        [
            [half - xx, -xy, -xz, h[0]],
            [-xy, half - yy, -yz, h[1]],
            [-xz, -yz, half - zz, h[2]],
            [*h, m],
        ],
        dtype=object,
    )


def generalized_forces(kind: str, pitch: Decimal, wrench: np.ndarray) -> np.ndarray:
    """What a wrench in a joint's own frame does along its rates."""
    if kind == "revolute":
        return wrench[2:3]
    if kind == "prismatic":
        return wrench[5:6]
    if kind == "helical":
        return wrench[2:3] + pitch * wrench[5:6]
    return wrench[:3] if kind == "spherical" else wrench


class Robot:
    """A robot on a motion v(t) from coordinates q: poses, forces and masses as lazy series.

    `rates` are the Taylor coefficients of v, as many as are known; the rest are zero.
    """

    def __init__(self, model: Model, q: np.ndarray, rates: list[np.ndarray], f_ext=None):
        computed.clear()
        self.model, self.rates = model, rates
        nodes = model.nodes
        self.kinds = [ELEMENTARY[k] for k in nodes.kind]
        self.pitch = exact(nodes.pitch)
        self.gravity = np.append(exact(model.gravity), Decimal(0))
        self.mass = [mass_points(p) for p in exact(nodes.parameters)]
        self.wrenches = None if f_ext is None else coefficients(f_ext)
        zero = exact(np.zeros(model.nv))
        self.v = Series(lambda k: self.rates[k] if k < len(self.rates) else zero)
        self.sizes = np.diff(np.append(nodes.v_index, model.nv))
        self.pose: list[Series] = []
        self.joint: list[Series] = []  # pose of the joint's own frame, which moves with the node
        for i, parent in enumerate(nodes.parent):
            alignment = exact_pose(nodes.alignment[i])
            back = inverse_pose(constant(alignment))[0]
            at, size = nodes.v_index[i], self.sizes[i]
            own_q = exact(q[nodes.q_index[i] :])
            own_q = own_q[: {1: 1, 3: 4, 6: 7}[size]]
            own = joint_pose(self.kinds[i], self.pitch[i], own_q, self.v.part(slice(at, at + size)))
            placement = exact_pose(nodes.placement[i])
            if parent >= 0:
                carrier = self.pose[parent] @ (placement @ alignment)
                self.joint.append(carrier @ own)
            else:
                self.joint.append((placement @ alignment) @ own)
            self.pose.append(self.joint[i] @ back)
        self.carried = [self._own_wrench(i) for i in range(len(self.kinds))]
        for i in reversed(range(len(self.kinds))):
            parent = nodes.parent[i]
            if parent >= 0:
                self.carried[parent] = self.carried[parent] + self.carried[i]
        self.seen = [self._seen(i) for i in range(len(self.kinds))]

    def _own_wrench(self, i: int) -> Series:
        """Wrench matrix (1), less its external part; moments antisymmetrized later."""
        T = self.pose[i]
        if not any(p != 0 for p in self.mass[i].flat):
            inertial = constant(exact(np.zeros((4, 4))))
        else:
            gravity = np.outer(self.gravity, exact(np.eye(4)[3]))
            inertial = ((T.rate.rate - constant(gravity)) @ self.mass[i]) @ T.T
        body = self.model.nodes.body[i]
        if self.wrenches is None or body < 0:
            return inertial
        return inertial - self._external(T, body)

    def _external(self, T: Series, body: int) -> Series:
        """T X T^T, where X holds the body-fixed wrench as (1) holds the world's."""

        def rule(k: int) -> np.ndarray:
            out = exact(np.zeros((4, 4)))
            n, f = self.wrenches[k][body, :3], self.wrenches[k][body, 3:]
            out[:3, :3], out[:3, 3] = hat(n) / 2, f
            return out

        return (T @ Series(rule)) @ T.T

    def _seen(self, i: int) -> Series:
        """The carried wrench (moment, force) in the joint's own frame."""
        back = inverse_pose(self.joint[i])
        matrix = (back @ self.carried[i]) @ back.T

        def rule(k: int) -> np.ndarray:
            x = matrix[k]
            moment = [x[2, 1] - x[1, 2], x[0, 2] - x[2, 0], x[1, 0] - x[0, 1]]
            return np.array([*moment, *x[:3, 3]], dtype=object)

        return Series(rule)

    def tau(self, k: int) -> np.ndarray:
        """Taylor coefficient k of the generalized forces."""
        parts = [
            generalized_forces(kind, pitch, seen[k])
            for kind, pitch, seen in zip(self.kinds, self.pitch, self.seen, strict=True)
        ]
        return np.concatenate(parts) + exact(self.model.armature) * self.v[k + 1] * (k + 1)

    def mass_matrix(self) -> np.ndarray:
        """Sum of tr(dT_i J_i dT_i^T) over the bodies that both rates move, plus armature."""
        nodes = self.model.nodes
        composite = [T[0] @ J @ T[0].T for T, J in zip(self.pose, self.mass, strict=True)]
        for i in reversed(range(len(composite))):
            if nodes.parent[i] >= 0:
                composite[nodes.parent[i]] = composite[nodes.parent[i]] + composite[i]
        moves = [self._generators(i) for i in range(len(composite))]
        M = exact(np.diag(self.model.armature))
        for i, size in enumerate(self.sizes):
            above = i
            while above >= 0:
                for a in range(size):
                    half = moves[i][a] @ composite[i]
                    for b in range(self.sizes[above]):
                        x, y = nodes.v_index[i] + a, nodes.v_index[above] + b
                        value = (half * moves[above][b]).sum()
                        M[x, y] += value
                        if above != i:
                            M[y, x] += value
                above = nodes.parent[above]
        return M

    def _generators(self, i: int) -> list[np.ndarray]:
        """dT T^-1 of everything that node i carries, for each of its rates."""
        T = self.joint[i][0]
        back = inverse_pose(constant(T))[0]
        out = []
        for axis in range(6):
            own = exact(np.zeros((4, 4)))
            unit = exact(np.eye(3)[axis % 3])
            if axis < 3:
                own[:3, :3] = hat(unit)
            else:
                own[:3, 3] = unit
            out.append(T @ own @ back)
        if self.kinds[i] == "helical":
            return [out[2] + self.pitch[i] * out[5]]
        chosen = {"revolute": [2], "prismatic": [5], "spherical": [0, 1, 2]}
        return [out[a] for a in chosen.get(self.kinds[i], range(6))]


def solve(M: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Gaussian elimination; a symmetric positive definite matrix needs no pivoting."""
    rows = np.column_stack([M, b])
    n = len(b)
    for k in range(n):
        rows[k] = rows[k] / rows[k, k]
        for i in range(k + 1, n):
            rows[i] = rows[i] - rows[i, k] * rows[k]
    x = rows[:, n]
    for k in reversed(range(n)):
        x[:k] = x[:k] - rows[:k, k] * x[k]
    return x


def scaled(rows: list[np.ndarray], first: int) -> np.ndarray:
    """Derivatives from Taylor coefficients."""
    return np.array([row * math.factorial(k + first) for k, row in enumerate(rows)])


def inverse_series(model: Model, q, motion, f_ext=None, finish=rounded) -> np.ndarray:
    """Forces (r+1, nv) of a motion (r+2, nv), correctly rounded."""
    with many_digits():
        robot = Robot(model, q, coefficients(motion), f_ext)
        return finish(scaled([robot.tau(k) for k in range(len(motion) - 1)], 0))


def hybrid_series(model: Model, q, v, acc, tau, prescribed, f_ext=None, finish=rounded):
    """Accelerations and forces (r+1, nv) where the mask tells which are given."""
    with many_digits():
        free = np.flatnonzero(~np.asarray(prescribed))
        given = coefficients(np.vstack([v, acc]))
        forces = coefficients(tau)
        for row in given[1:]:
            row[free] = Decimal(0)
        rates = given[:1]
        robot = Robot(model, q, rates, f_ext)
        M = robot.mass_matrix()[np.ix_(free, free)]
        out = []
        for k, wanted in enumerate(forces):
            rates.append(given[k + 1])
            if free.size:
                mark = len(computed)
                lack = wanted[free] - robot.tau(k)[free]
                forget_since(mark)
                rates[k + 1] = given[k + 1].copy()
                rates[k + 1][free] = solve(M, lack) / (k + 1)
            out.append(robot.tau(k))
        return finish(scaled(rates[1:], 1)), finish(scaled(out, 0))


def forward_series(model: Model, q, v, tau, f_ext=None) -> np.ndarray:
    """Accelerations (r+1, nv) that forces (r+1, nv) give, correctly rounded."""
    nothing = np.zeros(model.nv, bool)
    return hybrid_series(model, q, v, np.zeros_like(tau), tau, nothing, f_ext)[0]


def pose_and_twist_series(model: Model, q, motion, body: int):
    """Pose (r+3, 4, 4) of a body along a motion (r+2, nv), and its twist (r+2, 6) in four ways.

    The twist comes from the pose and its rate alone.
    """
    with many_digits():
        robot = Robot(model, q, coefficients(motion))
        T = robot.pose[int(np.flatnonzero(model.nodes.body == body)[0])]
        R, p = T.part(slice(3), slice(3)), T.part(slice(3), 3)
        spin, world_spin = vee(R.T @ R.rate), vee(R.rate @ R.T)
        velocity, lever = p.rate, Series(lambda k: cross_product(p, world_spin, k))
        twists = {
            "body": (spin, R.T @ velocity),
            "spatial": (world_spin, velocity + lever),
            "hybrid": (world_spin, velocity),
            "mixed": (spin, velocity),
        }
        orders = range(len(motion))
        return rounded(scaled([T[k] for k in range(len(motion) + 1)], 0)), {
            name: rounded(scaled([np.concatenate([w[k], v[k]]) for k in orders], 0))
            for name, (w, v) in twists.items()
        }


def vee(W: Series) -> Series:
    return Series(lambda k: np.array([W[k][2, 1], W[k][0, 2], W[k][1, 0]], dtype=object))


def cross_product(a: Series, b: Series, k: int) -> np.ndarray:
    return sum(hat(a[j]) @ b[k - j] for j in range(k + 1))
