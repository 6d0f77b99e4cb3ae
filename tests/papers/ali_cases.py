"""Robots, states and the oracle in complex time that the tests of ali share."""

from __future__ import annotations

from math import factorial

import numpy as np
from papers_cases import STATES, STEP, imaginary

import jounce as jc
from jounce import lie, twists
from jounce.papers import ali

MODELS = [
    "aerial_manipulator",
    "mixed_tree",
    "floating_one_dof",
    "floating_chains",
    "fixed_one_dof",
    "fixed_chains",
]


def is_floating(model):
    return ali.initialize(model).floating


class State:
    """A random state with derivatives up to order r, in jounce's and in the paper's arrays."""

    def __init__(self, model, r, rng, loads=True):
        self.q = jc.random_configuration(model, rng)
        self.motion = rng.standard_normal((r + 2, model.nv))
        self.f = rng.standard_normal((r + 1, model.n_bodies, 6)) * loads
        self.C_1, self.V_1, self.joints, self.W_b = ali.from_jounce(
            model, self.q, self.motion, self.f
        )
        self.paper = self.C_1, self.V_1, self.joints, self.W_b


def states(model, r):
    rng = np.random.default_rng(0)
    return [State(model, r, rng) for _ in range(STATES)]


def forces(model, s, result):
    """Algorithm 2's result as jounce writes it."""
    return ali.forces_to_jounce(model, s.C_1, s.V_1, result.W_prop, result.tau)


def nu(s, k):
    """nu^(k) = (V_1^(k), q^(k+1))."""
    return np.concatenate([s.V_1[k], s.joints[k + 1]])


def along_motion(s, function):
    """Derivative by time of a function of (C_1, V_1, q) along the motion, by complex step."""
    C, V, q = s.C_1, s.V_1, s.joints
    later = (
        lie.exp(1j * STEP * V[0]) @ C,
        V[0] + 1j * STEP * V[1],
        q[:2] + 1j * STEP * q[1:3],
    )
    return imaginary(function(*later))


# Cauchy's formula along the motion's Taylor polynomial, at complex times


def taylor(derivatives, t):
    """The polynomial at times t (points,), (points, ...)."""
    weights = np.array([t**k / factorial(k) for k in range(len(derivatives))])
    return np.tensordot(weights.T, derivatives, 1)


def at_times(model, s, t):
    """Coordinates, rates, accelerations and wrenches at times t, for the motion as a polynomial."""
    v, a, f = taylor(s.motion, t), taylor(s.motion[1:], t), taylor(s.f, t)
    first = 0
    q = np.tile(s.q.astype(complex), (len(t), 1))
    if is_floating(model):
        series = np.zeros((45, 6))
        series[: len(s.motion)] = s.motion[:, :6]
        pose = taylor(twists.pose_series(np.eye(4), series), t)
        first = 7
        q[:, :4] = lie.quat_multiply(s.q[:4], complex_quaternion(pose[:, :3, :3]))
        q[:, 4:7] = s.q[4:7] + pose[:, :3, 3] @ lie.quat_to_matrix(s.q[:4]).T
    steps = s.motion[:, first - 1 if first else 0 :]
    q[:, first:] += taylor(np.vstack([np.zeros_like(steps[:1]), steps]), t)
    return q, v, a, f


def complex_quaternion(R):
    """Quaternions (x, y, z, w) of rotations near the identity, analytic in their entries."""
    w = np.sqrt(1 + np.trace(R, axis1=-2, axis2=-1))[..., None] / 2
    return np.concatenate([lie.vee(R) / (2 * w), w], axis=-1)


def cauchy(function, orders, radius=0.3, points=32):
    """Derivatives of order 0 to orders - 1 at zero by Cauchy's integral formula.

    The function takes times (points,) and returns (points, ...). It is real for real times, so half
    the circle determines the other half.
    """
    half = radius * np.exp(2j * np.pi * np.arange(points // 2 + 1) / points)
    values = function(half)
    values = np.concatenate([values, np.conj(values[-2:0:-1])])
    coefficients = np.fft.fft(values, axis=0) / points
    weights = [factorial(k) / radius**k for k in range(orders)]
    return np.stack([w * c.real for w, c in zip(weights, coefficients, strict=False)])
