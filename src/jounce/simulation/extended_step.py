"""Taylor steps under constraints in extended precision.

What a double lacks of rates and accelerations adds up twice on the way to the residual of a row, so
that sums with compensation alone are not enough: see `core/simulation/constrained_taylor.hpp`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._types import Array
from jounce.simulation.manifold import Manifold
from jounce.simulation.series_path import Kept, longest_steps, path_of, taken
from jounce.simulation.taylor import Polynomials

__all__ = ["HeldStep", "held_step"]

_step: Callable[..., Any] = _core.raw(
    "constrained_taylor_step",
    "simulate",
    inputs="q s q_low s_low tau rates dt rtol atol table f_ext",
)


class HeldStep(NamedTuple):
    """A step of n states under constraints."""

    path: Polynomials
    """With the lengths of the steps in ``h``."""
    end: Kept


def held_step(
    manifold: Manifold,
    t: Array,
    at: Kept,
    tau: Array,
    most: Array,
    allowed: tuple[float, float],
    f_ext: Array | None = None,
) -> HeldStep:
    """Take a step of n states, each as long as its series allows and no longer than `most` (n,).

    Args:
        manifold: the constraints that hold.
        t: (n,) times.
        at: states.
        tau: (n, p, nv) forces and their derivatives.
        most: (n,) longest steps, s.
        allowed: relative and absolute tolerance.
        f_ext: (n, p, n_bodies, 6) body-fixed wrenches and their derivatives.
    """
    sets = manifold.acting
    if manifold.constraints.stabilization[1]:
        sets = manifold.at(sets, t)
    if len(sets) > 1:
        return _one_by_one(manifold, t, at, tau, most, allowed, f_ext)
    c = sets[0]
    rates = np.stack([manifold.rates(t, k) for k in range(tau.shape[1] + 1)], axis=1)
    given = (*at, tau, rates, most, *allowed, c.table)
    *end, h, coordinates, own, a, rank = _step(c.model, *given, f_ext, threads=manifold.threads)
    v = at.rates(c.model)
    if np.all(np.asarray(rank) == c._lasting_rows().shape[1]):
        motion = np.concatenate([v[:, None], a], axis=1)
        return HeldStep(Polynomials(c.model, at.q, h, coordinates, own, motion), Kept(*end))
    # rows depend on each other, and the derivatives of their forces are those of another series
    path = path_of(c.model, at, manifold.series(t, at.q, v, tau, f_ext))
    path = path._replace(h=np.minimum(longest_steps(path, at, allowed), most))
    return HeldStep(path, taken(path, at, path.h))


def _one_by_one(
    manifold: Manifold,
    t: Array,
    at: Kept,
    tau: Array,
    most: Array,
    allowed: tuple[float, float],
    f_ext: Array | None,
) -> HeldStep:
    """The same of states each of which has constraints of its own."""
    steps = []
    for k in range(len(t)):
        one = slice(k, k + 1)
        state = t[one], Kept(*(x[one] for x in at)), tau[one], most[one]
        wrenches = None if f_ext is None else f_ext[one]
        steps.append(held_step(manifold.some(np.array([k])), *state, allowed, wrenches))
    path = Polynomials.joined([x.path for x in steps])
    return HeldStep(path, Kept.joined([x.end for x in steps]))
