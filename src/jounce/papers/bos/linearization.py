"""Left-trivialized linearization (bos, Prop. 1 to 3) and its validation (Sec. 5)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.model import Model
from jounce.papers.bos.algebra import State, X, cross, reorder
from jounce.papers.bos.derivatives import dID_dH, dID_dr, dID_ds, dID_dv
from jounce.papers.bos.dynamics import FD, IMMAmb, consistent_acceleration, extended

__all__ = [
    "A",
    "B",
    "Derivatives",
    "Errors",
    "Random",
    "ad_lambda",
    "dFD",
    "errors",
    "finite_differences",
    "moved",
    "random_system",
    "vector_field",
]


class Derivatives(NamedTuple):
    """The four derivatives D_1 .. D_4 of a function of the state; rows base first."""

    H: AnyArray
    """(n, 6) left-trivialized."""
    s: AnyArray
    """(n, n_J)."""
    v: AnyArray
    """(n, 6)."""
    r: AnyArray
    """(n, n_J)."""


def dFD(model: Model, state: State, tau: ArrayLike, tau_b: ArrayLike | None = None) -> Derivatives:
    """Derivatives of forward dynamics, ``-M^-1 D_i ID`` at the acceleration FD (bos, eq. 53).

    Args:
        model: a free base with 1-DoF joints.
        state: configuration and velocity.
        tau: (n_J,) joint forces.
        tau_b: (6,) wrench on the base, (force, moment), body-fixed; none in the paper.
    """
    nudot = FD(model, state, tau, tau_b)
    e = extended(model, state, nudot[:6], nudot[6:])
    Minv = IMMAmb(model, state.s)
    return Derivatives(*(-Minv @ d for d in (dID_dH(e), dID_ds(e), dID_dv(e), dID_dr(e))))


def vector_field(
    model: Model, state: State, tau: ArrayLike, tau_b: ArrayLike | None = None
) -> AnyArray:
    """Left-trivialized vector field ``lambda = (v, r, vdot, rdot)``, (..., 2n) (bos, eq. 24)."""
    nudot = FD(model, state, tau, tau_b)
    nu = np.concatenate([state.v, state.r], axis=-1)
    return np.concatenate([np.broadcast_to(nu, nudot.shape), nudot], axis=-1)


def ad_lambda(state: State) -> AnyArray:
    """Adjoint of the vector field in the algebra of the state's group, (2n, 2n) (bos, eq. 27)."""
    n = 6 + len(state.s)
    out = np.zeros((2 * n, 2 * n), state.v.dtype)
    out[:6, :6] = cross(state.v)
    return out


def A(model: Model, state: State, tau: ArrayLike, tau_b: ArrayLike | None = None) -> AnyArray:
    """State matrix of the linearization, (2n, 2n) (bos, eq. 22 with the blocks of eq. 42).

    Rows and columns are (z_H, z_s, z_v, z_r) with sizes (6, n_J, 6, n_J).
    """
    n = model.nv
    d = dFD(model, state, tau, tau_b)
    out = np.zeros((2 * n, 2 * n), np.result_type(*d))
    out[:n, n:] = np.eye(n)
    out[n:] = np.hstack(d)
    return out - ad_lambda(state)


def B(model: Model, s: ArrayLike) -> AnyArray:
    """Input matrix of the linearization, (2n, n_J), ``[0; 0; M^-1 S]`` (bos, eq. 31 for 23)."""
    Minv = IMMAmb(model, s)
    return np.vstack([np.zeros_like(Minv), Minv])[:, 6:]


def moved(state: State, z: ArrayLike) -> State:
    """Move the state along z (..., 2n) in its algebra: (H exp(z_H), s + z_s, v + z_v, r + z_r)."""
    z, n_J = np.asarray(z), state.s.shape[-1]
    z_H, z_s, z_v, z_r = np.split(z, [6, 6 + n_J, 12 + n_J], axis=-1)
    return State(state.H @ lie.exp(reorder(z_H)), state.s + z_s, state.v + z_v, state.r + z_r)


def finite_differences(
    model: Model, state: State, tau: ArrayLike, delta: complex = 1e-6
) -> Derivatives:
    """Derivatives of FD by geometric finite differences (bos, eq. 82 to 85).

    Args:
        model: a free base with 1-DoF joints.
        state: configuration and velocity.
        tau: (n_J,) joint forces.
        delta: the step. An imaginary one gives the complex step, exact to rounding.
    """
    n = model.nv
    nominal = FD(model, state, tau)
    D = ((FD(model, moved(state, delta * np.eye(2 * n)), tau) - nominal) / delta).T
    return Derivatives(*np.split(D.real, [6, n, n + 6], axis=1))


class Random(NamedTuple):
    """One of the random combinations of Sec. 5."""

    state: State
    tau: AnyArray


def random_system(model: Model, rng: np.random.Generator) -> Random:
    """Draw a consistent state and joint forces as in Sec. 5.

    Displacements, rates, accelerations and the base's twist ``^A v`` are uniform in [0, 1], its
    pose is the exponential of such a vector; vdot and tau follow.
    """
    n_J = model.nv - 6
    H = lie.exp(rng.uniform(size=6))
    s, r, rdot = rng.uniform(size=(3, n_J))
    A_v = rng.uniform(size=6)
    state = State(H, s, X(lie.inverse(H)) @ A_v, r)
    vdot = consistent_acceleration(model, state, rdot)
    return Random(state, extended(model, state, vdot, rdot).tau)


class Errors(NamedTuple):
    """Errors of the four derivatives, for H, s, v, r (bos, eq. 86 and 87)."""

    largest: list[float]
    """e_max."""
    average: list[float]
    """e_avg."""


def errors(algorithm: list[Derivatives], reference: list[Derivatives]) -> Errors:
    """Largest and average error of each of the four derivatives (bos, eq. 86 and 87).

    Absolute differences, entry by entry, over the average absolute entry of all systems. The
    paper does not say whether that average is one per entry or one for all; entries that are zero
    in every system (a translation of the base changes nothing) rule out the former.

    Returns:
        (e_max, e_avg), four numbers each, for H, s, v, r.
    """
    largest, average = [], []
    for k in range(4):
        ours, theirs = (np.array([d[k] for d in side]) for side in (algorithm, reference))
        error = np.abs(ours - theirs) / np.mean(np.abs(ours))
        largest.append(float(error.max()))
        average.append(float(error.mean()))
    return Errors(largest, average)
