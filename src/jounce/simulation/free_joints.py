"""The linear velocity of free joints along the axes of their parents, and derivatives by it.

A free joint with the rotation R, the body-fixed rates (w, v) and their derivatives (w', a) has

    (1)  u = R v,   u' = R a + (R w) x u

along the axes of its parent. Small changes there are (theta, R x) of the coordinates, where (theta,
x) is the body-fixed tangent vector, and (dw, du) of the rates; by (1)

    (2)  dv = R^T du + v x theta
    (3)  du' = R da - R a^ theta + u^ R w^ theta - u^ R dw + (R w)^ du

with x^ y = x x y. Everything else has the same derivatives in both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.kinematics import difference, integrate
from jounce.model import Model
from jounce.model.joints import ELEMENTARY

__all__ = ["FreeJoint", "displaced", "displacement", "free_joints"]


def free_joints(model: Model) -> list[FreeJoint]:
    """All free joints of a model."""
    nodes = model.coordinates
    free = np.flatnonzero(nodes.kind == ELEMENTARY.index("free"))
    return [FreeJoint(int(nodes.q_index[i]), int(nodes.v_index[i])) for i in free]


def displaced(model: Model, free: list[FreeJoint], q: Array, u: Array, threads: int = 1) -> Array:
    """Return q exp(u); the positions of all free joints are added to."""
    if not free:
        return integrate(model, q, u, threads=threads)
    turn = u.copy()
    for joint in free:
        turn[..., joint.linear] = 0.0
    moved = integrate(model, q, turn, threads=threads)
    for joint in free:
        moved[..., joint.position] += u[..., joint.linear]
    return moved


def displacement(model: Model, free: list[FreeJoint], begin: Array, end: Array) -> Array:
    """Return u of ``end = displaced(model, free, begin, u)``."""
    u = difference(model, begin, end)
    for joint in free:
        u[..., joint.linear] = end[..., joint.position] - begin[..., joint.position]
    return u


class FreeJoint(NamedTuple):
    """Where the coordinates and rates of a free joint are."""

    q: int
    v: int

    @property
    def position(self) -> slice:
        """Position among the coordinates."""
        return slice(self.q + 4, self.q + 7)

    @property
    def angular(self) -> slice:
        """Angular velocity among the rates."""
        return slice(self.v, self.v + 3)

    @property
    def linear(self) -> slice:
        """Linear velocity among the rates."""
        return slice(self.v + 3, self.v + 6)

    def rotation(self, q: Array) -> Array:
        """R, (..., 3, 3)."""
        return lie.quat_to_matrix(q[..., self.q : self.q + 4])

    def to_parent(self, q: Array, rates: Array) -> None:
        """Turn the linear velocity from the body's axes to those of the parent, in place."""
        rates[..., self.linear] = _times(self.rotation(q), rates[..., self.linear])

    def to_body(self, q: Array, rates: Array) -> None:
        """Turn the linear velocity from the parent's axes to those of the body, in place."""
        rates[..., self.linear] = _times(_T(self.rotation(q)), rates[..., self.linear])

    def acceleration_to_parent(self, q: Array, v: Array, a: Array) -> None:
        """Equation (1) for the acceleration, in place."""
        moving = a[..., self.linear] + np.cross(v[..., self.angular], v[..., self.linear])
        a[..., self.linear] = _times(self.rotation(q), moving)

    def acceleration_to_body(self, q: Array, v: Array, a: Array) -> None:
        """The same back, with body-fixed rates v, in place."""
        self.to_body(q, a)
        a[..., self.linear] -= np.cross(v[..., self.angular], v[..., self.linear])

    def derivatives_to_parent(self, q: Array, v: Array, a: Array, dq: Array, dv: Array) -> None:
        """Make partial derivatives of a by q and v those of s' by q and s, in place.

        Args:
            q: (..., nq) coordinates.
            v: (..., nv) body-fixed rates.
            a: (..., nv) their derivatives.
            dq: (..., nv, nv) derivatives of a by q, becomes those of s'.
            dv: (..., nv, nv) by v, becomes those by s.
        """
        w, linear, R = v[..., self.angular], v[..., self.linear], self.rotation(q)
        dq[..., self.angular] += dv[..., self.linear] @ _hat(linear)  # (2)
        for d in (dq, dv):
            d[..., self.linear] = d[..., self.linear] @ _T(R)
            d[..., self.linear, :] = R @ d[..., self.linear, :]  # (3)
        u = _hat(_times(R, linear))
        own = R @ _hat(a[..., self.linear]) - u @ R @ _hat(w)
        dq[..., self.linear, self.angular] -= own
        dv[..., self.linear, self.angular] -= u @ R
        dv[..., self.linear, self.linear] += _hat(_times(R, w))

    def columns_to_body(self, q: Array, v: Array, d: Array) -> None:
        """Make derivatives by (q, s) at the start of a step those by (q, v), in place."""
        R, nv = self.rotation(q), v.shape[-1]
        by_q, by_s = d[..., :nv], d[..., nv : 2 * nv]
        by_s[..., self.linear] = by_s[..., self.linear] @ R
        by_q[..., self.linear] = by_q[..., self.linear] @ R
        by_q[..., self.angular] -= by_s[..., self.linear] @ _hat(v[..., self.linear])

    def rows_to_body(self, q: Array, v: Array, dq: Array, ds: Array) -> None:
        """Make derivatives of (q, s) at the end of a step those of (q, v), in place."""
        back = _T(self.rotation(q))
        dq[..., self.linear, :] = back @ dq[..., self.linear, :]
        turned = _hat(v[..., self.linear]) @ dq[..., self.angular, :]
        ds[..., self.linear, :] = back @ ds[..., self.linear, :] + turned  # (2)


def _times(matrix: Array, vector: Array) -> Array:
    product: Array = (matrix @ vector[..., None])[..., 0]
    return product


def _T(matrix: Array) -> Array:
    return np.swapaxes(matrix, -1, -2)


def _hat(vector: Array) -> Array:
    return lie.ad(vector)
