"""Derivatives of analytic functions by contours: along directions, twice, and in time.

A function f that is analytic has, by Cauchy's integral and the trapezoidal rule on a circle,

    (1)  f^(k)(0) = k! / (N r^k) sum_j f(r w^j) w^(-jk),    w = exp(2 pi i / N),

with an error that falls as r^N: no difference is formed, and derivatives nest, of one direction in
another and of time in both, each for one more axis in front. Functions take (model, x) with complex
arrays x by name, with the same leading axes, and return a tuple of arrays.
"""

from __future__ import annotations

import math

import numpy as np
import partials_oracle as oracle

from jounce import lie
from jounce.model.joints import ELEMENTARY

POINTS, RADIUS = 12, 2.0**-5
"""Forces solved for accelerations have poles at complex states, all much farther away."""
NEAR, FAR, TERMS = (16, 2.0**-5), (24, 2.0**-2), 16
"""Circles in time, of dynamics and of kinematics: the latter have no poles."""
CONFIGURATIONS = ("q", "q0", "q1")
OPTIONS = ("body", "twist", "prescribed")


def circle(count, radius):
    return radius * np.exp(2j * np.pi * np.arange(count) / count)


def coefficient(values, points, k):
    """Derivative k from the values on a circle, which are the first axis; (1)."""
    weights = math.factorial(k) / (len(points) * points**k)
    return np.tensordot(weights, values, (0, 0))


def moved(model, x, steps):
    """The arguments after steps (points, *own axes); the points are an axis in front."""
    count = len(next(iter(steps.values())))
    out = {}
    for key, value in x.items():
        if key in OPTIONS:
            out[key] = value
        elif key not in steps:
            out[key] = np.broadcast_to(value, (count, *value.shape))
        else:
            own = steps[key].shape[1:]
            step = steps[key].reshape(count, *[1] * (value.ndim - len(own)), *own)
            apply = oracle.integrate if key in CONFIGURATIONS else lambda _, y, d: y + d
            out[key] = apply(model, value[None], step)
    return out


def along(model, function, x, tangents, radius=RADIUS):
    """Derivatives of a function along a direction, in the tangent space those of configurations."""
    points = circle(POINTS, radius)
    steps = {key: np.multiply.outer(points, d) for key, d in tangents.items()}
    values = function(model, moved(model, x, steps))
    slopes = tuple(coefficient(value, points, 1) for value in values)
    if getattr(function, "__name__", "") not in ("integrate", "interpolate", "normalize"):
        return slopes
    return tuple(
        oracle.trivialized(model, at, slope)
        for at, slope in zip(function(model, x), slopes, strict=True)
    )


def curvature(model, function, x, first, second):
    """The second derivative by s and t at 0 of a function at x + s first + t second."""
    points = circle(POINTS, RADIUS)
    s, t = (y.ravel() for y in np.meshgrid(points, points, indexing="ij"))
    steps = {
        key: np.multiply.outer(s, first[key]) if key in first else 0.0 for key in {*first, *second}
    }
    for key, d in second.items():
        steps[key] = steps[key] + np.multiply.outer(t, d)
    values = function(model, moved(model, x, steps))
    square = (y.reshape(POINTS, POINTS, *y.shape[1:]) for y in values)
    return tuple(coefficient(coefficient(y, points, 1), points, 1) for y in square)


def polynomial(terms, t):
    """The sum of terms[k] t^k, times in front."""
    return sum(np.multiply.outer(t**k, term) for k, term in enumerate(terms))


def level(series, t):
    """A series of derivatives, one after the other, at times."""
    return polynomial([x / math.factorial(k) for k, x in enumerate(series)], t)


def at_times(model, q, motion, t):
    """Coordinates (t, ..., nq) and rates on a circle, the polynomial of a motion (..., k, nv).

    A quaternion x obeys x' = x (w, 0) / 2, order by order, the position of a free joint p' = R u.
    """
    rates = [x / math.factorial(k) for k, x in enumerate(np.moveaxis(motion, -2, 0))]
    nodes = model.nodes
    out = np.zeros((len(t), *q.shape), complex)
    for kind, k, w in zip(nodes.kind, nodes.q_index, nodes.v_index, strict=True):
        if ELEMENTARY[kind] not in ("spherical", "free"):
            out[..., k] = polynomial(
                [q[..., k], *(x[..., w] / (j + 1) for j, x in enumerate(rates))], t
            )
            continue
        spins = [np.concatenate([x[..., w : w + 3], 0 * x[..., :1]], axis=-1) for x in rates]
        turn = [q[..., k : k + 4]]
        for n in range(TERMS):
            pairs = zip(reversed(turn), spins, strict=False)
            turn.append(sum(lie.quat_multiply(x, spin) for x, spin in pairs) / (2 * n + 2))
        out[..., k : k + 4] = turns = polynomial(turn, t)
        if ELEMENTARY[kind] == "free":
            R = lie.quat_to_matrix(turns)
            speed = oracle.times(R, polynomial(rates, t)[..., w + 3 : w + 6])
            way = [coefficient(speed, t, n) / math.factorial(n + 1) for n in range(len(t) - 4)]
            out[..., k + 4 : k + 7] = polynomial([q[..., k + 4 : k + 7], *way], t)
    return out, polynomial(rates, t)


def in_time(model, function, q, motion, orders, contour=FAR):
    """Time derivatives of function(q, v, t) along a motion, (..., orders, *own axes of it)."""
    points = circle(*contour)
    values = function(*at_times(model, q, motion, points), points)
    own = q.ndim - 1
    return np.stack([coefficient(values, points, k) for k in range(orders)], axis=own)
