"""Constraints of a rollout, as its kernel takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jounce._core.arrays import reals
from jounce._core.words import told_by
from jounce._types import Array, ArrayLike
from jounce.constraints import Constraints, Loop, Weld
from jounce.constraints.constraints import constraints_on
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.simulation.manifold import TOLERANCE, Manifold, manifold_of, rates_only

__all__ = ["HeldRows", "held_rows", "rollout_manifold"]


class HeldRows(NamedTuple):
    """What the rows of constraints do during a rollout."""

    motion: Array
    """(k, m) rates at the start and their time derivatives."""
    held: Array
    """(m,) 1 for rows whose residual is brought to zero after each step."""
    moves: Array
    """(m,) how their targets move: 1 by the integral of the rates, 2 as poses, 0 not at all."""
    tolerance: float
    """Of that; 0: there is no projection."""
    table: Array
    """Without the targets that move."""
    targets: Array
    """With them, as they are at the start."""


def rollout_manifold(
    model: Model,
    constraints: object,
    state: tuple[ArrayLike, ArrayLike],
    project: bool,
    threads: int,
) -> Manifold | None:
    """What states (..., nq), (..., nv) hold on their way, one for each q; None without constraints.

    Raises:
        ArgumentError: a state that the constraints do not allow, or a wrong shape.
    """
    if constraints is None or not constraints_on(model, constraints).size:
        return None
    q, v = (
        reals(f"{name}0", x, (n,))
        for name, x, n in zip("qv", state, (model.nq, model.nv), strict=True)
    )
    try:
        lead = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    except ValueError:
        raise ArgumentError(
            f"the leading axes {q.shape[:-1]} of q0 and {v.shape[:-1]} of v0 do not broadcast"
        ) from None
    spread = [np.broadcast_to(x, (*lead, x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, v)]
    both = spread[0], spread[1]
    with told_by("rollout", lead):
        manifold = manifold_of(model, constraints, both, 0.0, project, threads, lead)
    assert manifold is not None
    own = q.reshape(-1, model.nq)
    if len(own) and (own == own[0]).all():
        own = own[:1]
    return Manifold(manifold.constraints, own, 0.0, project, threads)


def held_rows(manifold: Manifold) -> Sequence[HeldRows]:
    """One for all states, or one for each."""
    c = manifold.constraints
    motion = np.zeros((max(1, len(c.motion)), c.size))
    motion[: len(c.motion)] = c.motion
    tolerance = TOLERANCE if manifold.project else 0.0
    return [_held(x, motion, tolerance) for x in manifold.held or [c]]


def _held(c: Constraints, motion: Array, tolerance: float) -> HeldRows:
    held = (c.holonomic & c.targeted).astype(float)
    moves = np.zeros(c.size)
    for k, item in enumerate(c.items):
        if item.motion is not None:
            moves[c.rows(k)] = 2.0 if isinstance(item, Weld | Loop) else 1.0
    return HeldRows(motion, held, held * moves, tolerance, rates_only(c).table, c.table)
