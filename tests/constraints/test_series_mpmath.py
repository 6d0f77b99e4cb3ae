"""Series under constraints to order 8, against many digits.

Two links in a plane, point masses at their ends, the tip on a rod to a fixed point. In mpmath the
motion is found by collocation with 60 digits: accelerations at 17 instants are a polynomial, whose
integrals are the states there, until nothing changes. Derivatives are those of the polynomial.
"""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

mpmath = pytest.importorskip("mpmath")

MASS, LENGTH, ANCHOR, GRAVITY = (1.3, 0.7), (0.8, 0.6), (1.5, -0.4), 9.81
Q, V, TAU = (0.3, 0.7), (0.4, -0.3), (0.5, -0.2)
ORDERS = 9


def planar(mp, q, v):
    """Accelerations and the rod's force at a state, by the dense system."""
    m1, m2 = (mp.mpf(repr(x)) for x in MASS)
    l1, l2 = (mp.mpf(repr(x)) for x in LENGTH)
    g = mp.mpf(repr(GRAVITY))
    s = q[0] + q[1]
    # x forward, z up, angles about y: x = l cos, z = -l sin
    p = mp.matrix([l1 * mp.cos(q[0]) + l2 * mp.cos(s), -l1 * mp.sin(q[0]) - l2 * mp.sin(s)])
    P2 = mp.matrix([-l2 * mp.sin(s), -l2 * mp.cos(s)])
    P1 = mp.matrix([-l1 * mp.sin(q[0]), -l1 * mp.cos(q[0])])
    P = [P1 + P2, P2]
    w1, w2 = v[0], v[0] + v[1]
    first = mp.matrix([-l1 * mp.cos(q[0]), l1 * mp.sin(q[0])]) * w1**2
    second = first + mp.matrix([-l2 * mp.cos(s), l2 * mp.sin(s)]) * w2**2

    def dot(a, b):
        return a[0] * b[0] + a[1] * b[1]

    M = mp.matrix(2, 2)
    b = mp.matrix(2, 1)
    Q1 = [P1, mp.matrix([0, 0])]
    for i in range(2):
        for j in range(2):
            M[i, j] = m1 * dot(Q1[i], Q1[j]) + m2 * dot(P[i], P[j])
        b[i] = m1 * (dot(Q1[i], first) + g * Q1[i][1]) + m2 * (dot(P[i], second) + g * P[i][1])
    rod = p - mp.matrix([mp.mpf(repr(x)) for x in ANCHOR])
    d = mp.sqrt(dot(rod, rod))
    n = rod / d
    u = P[0] * v[0] + P[1] * v[1]
    bias = dot(n, second) + (dot(u, u) - dot(n, u) ** 2) / d
    K = mp.matrix(3, 3)
    right = mp.matrix(3, 1)
    for i in range(2):
        for j in range(2):
            K[i, j] = M[i, j]
        K[2, i] = dot(n, P[i])
        K[i, 2] = -K[2, i]
        right[i] = mp.mpf(repr(TAU[i])) - b[i]
    right[2] = -bias
    return mp.lu_solve(K, right), [K[2, 0], K[2, 1]]


def start(mp):
    """Rates that the rod allows, of fifty digits."""
    v = [mp.mpf(repr(x)) for x in V]
    q = [mp.mpf(repr(x)) for x in Q]
    J = planar(mp, q, v)[1]
    v[1] = -J[0] * v[0] / J[1]
    return q, v


def derivatives(mp, h, count):
    """Derivatives 0 to 8 of (a, force) at the start."""
    q0, v0 = start(mp)
    powers = mp.matrix(count, count)
    for i in range(count):
        for j in range(count):
            powers[i, j] = mp.mpf(i) ** j
    inverse = powers**-1
    values = [planar(mp, q0, v0)[0]] * count
    for _ in range(40):
        x = [inverse * mp.matrix([value[c] for value in values]) for c in range(3)]
        before, values = values, []
        for i in range(count):
            v, q = list(v0), [q0[c] + i * h * v0[c] for c in range(2)]
            for c in range(2):
                for j in range(count):
                    term = h * x[c][j] * mp.mpf(i) ** (j + 1) / (j + 1)
                    v[c] += term
                    q[c] += h * term * i / (j + 2)
            values.append(planar(mp, q, v)[0])
        change = max(
            abs(y[c] - z[c]) for y, z in zip(values, before, strict=True) for c in range(3)
        )
        if change < mp.mpf(10) ** -50:
            break
    else:
        raise AssertionError(f"no motion found, {mp.nstr(change, 3)} is left")
    factors = [mp.factorial(k) / h**k for k in range(ORDERS)]
    return np.array([[float(x[c][k] * factors[k]) for c in range(3)] for k in range(ORDERS)])


def test_order_eight():
    mp = mpmath.mp
    with mp.workdps(60):
        expected = derivatives(mp, mp.mpf(1) / 4000, 17)
        rates = [float(x) for x in start(mp)[1]]
    build = jc.ModelBuilder(gravity=(0, 0, -GRAVITY))
    build.add_body("first", None, "revolute", axis=(0, 1, 0), mass=MASS[0], com=(LENGTH[0], 0, 0))
    at = (LENGTH[0], 0, 0)
    build.add_body(
        "second", "first", "revolute", at, axis=(0, 1, 0), mass=MASS[1], com=(LENGTH[1], 0, 0)
    )
    build.add_frame("tip", "second", (LENGTH[1], 0, 0))
    model = build.build()
    c = jc.Constraints(model, [jc.Distance("tip", anchor=(ANCHOR[0], 0.0, ANCHOR[1]))])
    tau = np.zeros((ORDERS, 2))
    tau[0] = TAU
    found = jc.constrained_dynamics_series(model, Q, rates, tau, c)
    both = np.hstack([found.a, found.force])
    for k in range(ORDERS):
        assert np.abs(both[k] - expected[k]).max() < 1e-9 * np.abs(expected[k]).max(), k
