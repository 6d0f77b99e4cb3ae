"""Derivatives of functions written in mpmath, by differences of several hundred digits.

With a step of 10^-DIGITS and enough digits to divide by its powers, a forward difference is the
derivative to DIGITS digits. Nothing here knows how the package computes anything.
"""

import itertools
import math

import mpmath
import numpy as np

EPS = np.finfo(float).eps
DIGITS = 30
FLOOR = 1e-10  # derivatives that vanish: the oracle gives them to 20 digits


def derivatives(function, t, order):
    """Derivatives 0 to order of an array-valued function of time, rounded to doubles."""
    with mpmath.workdps(DIGITS * (order + 3)):
        h = mpmath.mpf(10) ** -DIGITS
        start = mpmath.mpf(float(t))
        column = [np.array(function(start + j * h), dtype=object) for j in range(order + 1)]
        rows = []
        for k in range(order + 1):
            rows.append(column[0] / h**k)
            column = [b - a for a, b in itertools.pairwise(column)]
        return np.array(rows).astype(float)


def assert_series_close(actual, expected, ulps=64.0, scale=1.0):
    """Compare to an absolute error of ulps * eps * scale, where the scale broadcasts."""
    assert np.shape(actual) == np.shape(expected)
    error = np.abs(np.asarray(actual) - expected)
    worst = np.max(error / (EPS * np.maximum(scale, FLOOR)), initial=0.0)
    assert worst <= ulps, f"{worst:.1f} ulps"


def size_of_orders(series, axis):
    """The largest entry of each order, which lies on one axis: the scale of its rounding."""
    others = tuple(i for i in range(np.ndim(series)) if i != axis % np.ndim(series))
    return np.abs(series).max(axis=others, keepdims=True)


def taylor_step(series, h):
    """The value after a time h, from the derivatives on the first axis."""
    weights = [h**k / math.factorial(k) for k in range(len(series))]
    return np.tensordot(weights, series, axes=1)


# Poses in mpmath


def matrix(array):
    """The entries of an array, exactly."""
    return np.vectorize(lambda x: mpmath.mpf(float(x)), otypes=[object])(np.asarray(array))


def skew(w):
    zero = mpmath.mpf(0)
    return np.array([[zero, -w[2], w[1]], [w[2], zero, -w[0]], [-w[1], w[0], zero]], dtype=object)


def exponential(x):
    """The pose exp(hat(x)) of a twist (angular, linear) of mpmath numbers."""
    theta = mpmath.sqrt(sum(c * c for c in x[:3]))
    W, eye = skew(x[:3]), matrix(np.eye(3))
    if theta == 0:
        R, V = eye, eye
    else:
        s, c = mpmath.sin(theta), mpmath.cos(theta)
        R = eye + W * (s / theta) + W @ W * ((1 - c) / theta**2)
        V = eye + W * ((1 - c) / theta**2) + W @ W * ((theta - s) / theta**3)
    T = matrix(np.eye(4))
    T[:3, :3], T[:3, 3] = R, V @ x[3:]
    return T


def translation(p):
    T = matrix(np.eye(4))
    T[:3, 3] = p
    return T
