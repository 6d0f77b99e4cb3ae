"""Truncated Taylor series in time: the arithmetic behind every curve.

A series holds the coefficients x_k = (d^k x / dt^k) / k! at N instants. Its first axis counts the
orders and its last one the instants: vectors are (orders, n, N), matrices (orders, 3, 3, N), so
that NumPy's inner loops run over time. Working with coefficients instead of derivatives turns
Leibniz' rule into a convolution without binomials.
"""

from __future__ import annotations

import numpy as np

from jounce._types import Array
from jounce.lie._taylor import factorials


def to_derivatives(x: Array, batch: tuple[int, ...]) -> Array:
    """Turn a series of vectors into derivatives with the instants first, (*batch, orders, n)."""
    rows = np.moveaxis(x, -1, 0) * factorials(len(x))[:, None]
    return np.ascontiguousarray(rows).reshape(*batch, *x.shape[:2])


def slope(x: Array) -> Array:
    """The series of dx/dt, one order shorter: its coefficients are (k+1) x_(k+1)."""
    out: Array = x[1:] * np.arange(1.0, len(x))[:, None, None]
    return out


def product(a: Array, b: Array) -> Array:
    """The series of a b, component by component; a single component broadcasts."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape))
    for k in range(len(out)):
        out[k] = (a[: k + 1] * b[k::-1]).sum(axis=0)
    return out


def compose(f: Array, s: Array) -> Array:
    """The series of f(s(t)) by Horner's scheme.

    Args:
        f: (orders, n, N) coefficients of f in its own variable, about the value of s.
        s: (orders, 1, N) coefficients of s in time.
    """
    step = s.copy()
    step[:1] = 0.0
    out = np.zeros_like(f)
    for coefficient in f[::-1]:
        out = product(out, step)
        out[0] += coefficient
    return out


def apply(A: Array, x: Array) -> Array:
    """The series of A x for a series of matrices A (orders, 3, 3, N) and of vectors x."""
    out = np.empty_like(x)
    for k in range(len(x)):
        out[k] = np.einsum("mijt,mjt->it", A[: k + 1], x[k::-1])
    return out


def cross(a: Array, b: Array) -> Array:
    """The series of the cross product of two series of 3-vectors."""
    return np.stack(
        [
            product(a[:, i], b[:, j]) - product(a[:, j], b[:, i])
            for i, j in ((1, 2), (2, 0), (0, 1))
        ],
        axis=1,
    )


def rotation(R: Array, w: Array) -> Array:
    """The series of the rotation that solves dR/dt = R hat(w).

    Args:
        R: (3, 3, N) rotations at the N instants.
        w: (orders, 3, N) angular velocity in body axes.

    Returns:
        (orders, 3, 3, N).
    """
    out = np.empty((len(w), 3, 3, R.shape[-1]))
    out[:1] = R
    for k in range(len(w) - 1):
        # The rows of R hat(w) are the cross products (row of R) x w.
        rows, rates = out[: k + 1], w[k::-1, None]
        for j, (a, b) in enumerate(((1, 2), (2, 0), (0, 1))):
            terms = rows[:, :, a] * rates[:, :, b] - rows[:, :, b] * rates[:, :, a]
            out[k + 1, :, j] = terms.sum(axis=0) / (k + 1)
    return out


def carry_back(x: Array, R: Array, p: Array, twist: Array) -> Array:
    """The series of Ad(T^-1) x for a moving pose T with a known body twist.

    With T = (R, p), Ad(T^-1) (w, v) = (R^T w, R^T (v + w x p)).

    Args:
        x: (orders, 6, N) twist to resolve in the frame T.
        R: (3, 3, N) rotation of T at the N instants.
        p: (3, N) position of T.
        twist: (orders, 6, N) body twist of T.
    """
    rotations = rotation(R, twist[:, :3])
    positions = np.empty((len(x), 3, p.shape[-1]))
    positions[:1] = p
    rates = apply(rotations[:-1], twist[:-1, 3:])
    positions[1:] = rates / np.arange(1.0, max(len(x), 1))[:, None, None]
    w, v = x[:, :3], x[:, 3:]
    back = rotations.swapaxes(1, 2)
    return np.concatenate([apply(back, w), apply(back, v + cross(w, positions))], axis=1)
