"""The path of a motion on the group, from the derivatives of its rates.

Equations (1) to (3) of `core/simulation/taylor.hpp`: coefficients of the coordinates from those of
the rates, quaternions relative to the start, positions and velocities of free joints along the axes
of the parent. States are kept with what their last addition lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.model import Model
from jounce.model.joints import ELEMENTARY
from jounce.simulation.adaptive import scales
from jounce.simulation.field import Field, Moving
from jounce.simulation.free_joints import free_joints
from jounce.simulation.taylor import Polynomials, quaternions

__all__ = ["Kept", "kept", "longest_steps", "path_of", "taken"]

SAFETY = 0.9

_FREE = ELEMENTARY.index("free")


class Kept(NamedTuple):
    """States (q, s) with what they lack: s has the linear velocity of free joints as `Field`."""

    q: Array
    s: Array
    q_low: Array
    s_low: Array

    @staticmethod
    def joined(states: Sequence[Kept]) -> Kept:
        """Those of several parts, one after the other."""
        return Kept(*(np.concatenate(x) for x in zip(*states, strict=True)))

    def rates(self, model: Model) -> Array:
        """Body-fixed rates."""
        v = self.s.copy()
        for joint in free_joints(model):
            joint.to_body(self.q, v)
        return v


def kept(model: Model, q: Array, v: Array) -> Kept:
    """States that lack nothing."""
    s = v.copy()
    for joint in free_joints(model):
        joint.to_parent(q, s)
    return Kept(q, s, np.zeros_like(q), np.zeros_like(s))


def path_of(model: Model, at: Kept, motion: Array) -> Polynomials:
    """The polynomials of n states, from their rates and derivatives of these, (n, p + 1, nv)."""
    n, count = motion.shape[:2]
    rates = motion / np.array([float(factorial(k)) for k in range(count)])[:, None]
    coordinates = np.zeros((n, count + 1, model.nq), motion.dtype)
    coordinates[:, 0] = at.q
    nodes, powers = model.coordinates, np.arange(1.0, count + 1)
    straight = nodes.kind < ELEMENTARY.index("spherical")
    to, of = nodes.q_index[straight], nodes.v_index[straight]
    coordinates[:, 1:, to] = rates[:, :, of] / powers[:, None]  # (1)
    turning = zip(nodes.kind, nodes.q_index, nodes.v_index, strict=True)
    for kind, q, v in [(k, int(q), int(v)) for k, q, v in turning if k >= _FREE - 1]:
        w = rates[:, :, v : v + 3].copy()
        coordinates[:, :, q : q + 4] = _turn_series(w)
        if kind != _FREE:
            continue
        R = _rotation_series(lie.quat_to_matrix(at.q[:, q : q + 4]), w)
        u = _convolved(R, rates[:, :, v + 3 : v + 6])
        u[:, 0] = at.s[:, v + 3 : v + 6]
        rates[:, :, v + 3 : v + 6] = u
        coordinates[:, 1:, q + 4 : q + 7] = u / powers[:, None]  # (3)
    return Polynomials(model, at.q, np.zeros(n), coordinates, rates, motion)


def _turn_series(w: Array) -> Array:
    """Equation (2): x' = x (w/2, 0), (n, p + 2, 4)."""
    n, count = w.shape[:2]
    right = np.zeros((n, count, 4, 4), w.dtype)  # x -> x (w/2, 0)
    right[..., :3, :3] = -lie.ad(w / 2)
    right[..., :3, 3] = w / 2
    right[..., 3, :3] = -w / 2
    x = np.zeros((n, count + 1, 4), w.dtype)
    x[:, 0, 3] = 1.0
    for k in range(1, count + 1):
        x[:, k] = np.einsum("njab,njb->na", right[:, :k], x[:, k - 1 :: -1][:, :k]) / k
    return x


def _rotation_series(R: Array, w: Array) -> Array:
    """R' = R w^, (n, p + 1, 3, 3)."""
    n, count = w.shape[:2]
    turning, out = lie.ad(w), np.zeros((n, count, 3, 3), w.dtype)
    out[:, 0] = R
    for k in range(1, count):
        out[:, k] = np.einsum("njab,njbc->nac", out[:, k - 1 :: -1][:, :k], turning[:, :k]) / k
    return out


def _convolved(R: Array, x: Array) -> Array:
    """Coefficients of R x."""
    count = x.shape[1]
    terms = [
        np.einsum("njab,njb->na", R[:, k::-1][:, : k + 1], x[:, : k + 1]) for k in range(count)
    ]
    return np.stack(terms, axis=1)


def longest_steps(path: Polynomials, at: Kept, allowed: tuple[float, float]) -> Array:
    """How long steps (n,) may be by the last two coefficients (Jorba, Zou 2005)."""
    model, n = path.model, len(at.q)
    field = Field.of(model, _none, np.zeros((n, 1)), 1)
    size = scales(field, Moving(np.zeros((n, 1)), at.q, at.s, at.s), *allowed)
    nodes, p = model.coordinates, path.rates.shape[1] - 1
    by_coordinate = np.ones((n, model.nq))
    for kind, q, v in zip(nodes.kind, nodes.q_index, nodes.v_index, strict=True):
        turn = 4 if kind >= _FREE - 1 else 1
        by_coordinate[:, q : q + turn] = size[:, v, None]
        if kind == _FREE:
            by_coordinate[:, q + 4 : q + 7] = size[:, v + 3 : v + 6]
    least = np.full(n, np.finfo(float).max)
    for k in range(2):
        rates = np.abs(path.rates[:, p - k] / size[:, model.nv :]).max(-1)
        coordinates = np.abs(path.coordinates[:, p + 1 - k] / by_coordinate).max(-1)
        with np.errstate(divide="ignore", over="ignore"):
            least = np.fmin(least, rates ** (-1.0 / (p - k)))
            least = np.fmin(least, coordinates ** (-1.0 / (p + 1 - k)))
        least[~np.isfinite(rates + coordinates)] = 0.0
    return SAFETY * least


def _none(t: Array, q: Array, v: Array) -> Array:
    return np.zeros_like(v)


def taken(path: Polynomials, at: Kept, h: Array) -> Kept:
    """States after steps (n,), with what the additions lose."""
    dq, ds = (_summed(c, h) for c in (path.coordinates, path.rates))
    s, s_low = _added(at.s, ds + at.s_low)
    q, q_low = _added(at.q, dq + at.q_low)
    for k in quaternions(path.model):
        turn = slice(k, k + 4)
        q[:, turn], q_low[:, turn] = _turned(at.q[:, turn], at.q_low[:, turn], dq[:, turn])
    return Kept(q, s, q_low, s_low)


def _summed(c: Array, h: Array) -> Array:
    """Sum of c_k h^k for k from 1 on."""
    total = np.zeros_like(c[:, 0])
    for k in range(c.shape[1] - 1, 0, -1):
        total = (total + c[:, k]) * h[:, None]
    return total


def _added(a: Array, b: Array) -> tuple[Array, Array]:
    """A + b with the rounding error of the sum (Knuth)."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _turned(q: Array, low: Array, x: Array) -> tuple[Array, Array]:
    """A quaternion times 1 + x, with what it lacks; its length is kept one."""
    step = lie.quat_multiply(q, x) + (lie.quat_multiply(low, x) + low)
    turned, rest = _added(q, step)
    length = np.linalg.norm(turned, axis=-1, keepdims=True)
    scale = np.where(np.abs(length - 1.0) > 1e-6, 1.0 / length, 1.0)  # too long for its order
    turned, rest = turned * scale, rest * scale
    excess = -1.0 + (turned * turned).sum(-1, keepdims=True)
    more = (turned * rest).sum(-1, keepdims=True)
    return _added(turned, rest + turned * (excess * (0.375 * excess - 0.5) - more))
