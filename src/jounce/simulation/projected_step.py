"""The way back to the manifold at the end of a step, and its exact derivatives.

Newton's steps lead from where a method ends to the manifold of the residual e,

    (1)  q <- q exp(s),    s = -W(q) e(q),    W = M^-1 J^T (J M^-1 J^T)^+,

and the rates follow:

    (2)  v <- v - W(q) (J(q) v - w).

A change of q passes through equation (1) as

    (3)  delta q <- Ad(exp(-s)) delta q - dexp(-s) (d(W e)/dq at constant e + W de/dq) delta q,

and last by e = 0, where (3) is the projection 1 - W J on the manifold's tangents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jounce import _core
from jounce._core.words import place_text, told_by
from jounce._types import Array, Integers
from jounce.constraints import Constraints
from jounce.constraints.checks import rank_lost
from jounce.constraints.derivatives import row_derivatives, row_system
from jounce.constraints.projection import missed_by, settle
from jounce.errors import DivergenceError
from jounce.kinematics import integrate, integrate_derivatives
from jounce.simulation.manifold import TOLERANCE, Manifold

__all__ = ["projected_steps"]

_jump: Callable[..., Any] = _core.raw(
    "constrained_jump_derivatives", "linearize_step", inputs="q v jump restitution most table"
)


def projected_steps(
    c: Constraints, start: Array, dt: Array, step: list[Array], threads: int
) -> list[Array]:
    """A, B, q, v of steps (n, ...) that end on the manifold, of those that the method takes.

    Args:
        c: the constraints; without a target they hold what they hold at the start.
        start: (n, nq) coordinates at the start.
        dt: (n,) lengths of the steps.
        step: A (n, 2 nv, 2 nv), B (n, 2 nv, inputs), q (n, nq), v (n, nv) of the method.
        threads: number of threads for a batch.

    Raises:
        DivergenceError: a step ends too far from the manifold.
    """
    A, B, q, v = step
    if not c.size or not len(q):
        return step
    manifold = Manifold(c, start, 0.0, True, threads)
    held, w = manifold.at(manifold.held, dt), manifold.rates(dt)
    changes = np.concatenate([A, B], axis=-1)
    try:
        if len(held) == 1:
            q, v, changes = _projected(held[0], q, v, w, changes, threads)
        else:
            each = []
            for k, x in enumerate(held):
                one = slice(k, k + 1)
                with told_by("linearize_step", q.shape[:1], [k], (1,)):
                    each.append(_projected(x, q[one], v[one], w[one], changes[one], threads))
            q, v, changes = (np.concatenate(x) for x in zip(*each, strict=True))
    except DivergenceError as error:
        why = rank_lost(c, start[0])  # the states of a batch have the same rank
        raise DivergenceError(f"{error}: {why}" if why else str(error)) from None
    size = A.shape[-1]
    return [changes[..., :size].copy(), changes[..., size:].copy(), q, v]


def _projected(
    c: Constraints, q: Array, v: Array, w: Array, changes: Array, threads: int
) -> tuple[Array, Array, Array]:
    """Next q, v and their derivatives, changes (n, 2 nv, columns), of each state by itself."""
    model, n = c.model, c.model.nv
    q, dq, dv = q.copy(), changes[:, :n].copy(), changes[:, n:]

    def step(some: Integers, q: Array, residual: Array) -> Array:
        s, s_dq = _newton_step(c, q, residual, threads)
        moved = integrate_derivatives(model, q, s, threads=threads)
        dq[some] = moved.dq @ dq[some] + moved.dv @ (s_dq @ dq[some])
        return integrate(model, q, s, threads=threads)

    residual = settle(c, q, TOLERANCE, step, ("linearize_step", q.shape[:1]), threads)
    left = np.abs(missed_by(q, residual, TOLERANCE)).max(-1, initial=0.0)
    if left.any():
        state = int(np.argmax(left))
        raise DivergenceError(
            f"the step leaves its constraints{place_text(state, left.shape)}: {left[state]:.3g} is "
            "left of residuals"
        )
    dq += _newton_step(c, q, 0.0 * residual, threads)[1] @ dq
    wrong = c.velocity(q, v, threads=threads) - w
    v_dq, v_dv = _after_jump(c, q, v, -wrong, threads)
    dv = v_dv @ dv + v_dq @ dq
    v = v - (_to_rates(c, q, threads) @ wrong[..., None])[..., 0]
    return q, v, np.concatenate([dq, dv], axis=1)


def _newton_step(c: Constraints, q: Array, e: Array, threads: int) -> tuple[Array, Array]:
    """The step s of equation (1), (n, nv), and its derivative by q, (n, nv, nv)."""
    W, still = _to_rates(c, q, threads), np.zeros(c.model.nv)
    springs = c.stabilized(0.0, 1.0)  # whose accelerations are e
    e_dq = row_derivatives(springs, q, still, still, np.zeros(c.size), threads).acceleration_dq
    e_dq = np.where((c.holonomic & c.targeted)[:, None], e_dq, 0.0)
    at_constant_e = _after_jump(c, q, np.zeros(q.shape[:-1] + still.shape), -e, threads)[0]
    return -(W @ e[..., None])[..., 0], at_constant_e - W @ e_dq


def _after_jump(
    c: Constraints, q: Array, v: Array, jump: Array, threads: int
) -> tuple[Array, Array]:
    """Derivatives of v + W(q) (jump - J(q) dv) by q and by v."""
    model = c.model.replace(gravity=np.zeros(3))
    found = _jump(model, q, v, jump, 0.0, c._usual_rank(), c.table, threads=threads)
    return found[0], found[1]


def _to_rates(c: Constraints, q: Array, threads: int) -> Array:
    """W, (n, nv, m)."""
    system = row_system(c, q, np.asarray(c.rank(q, threads=threads)), threads)
    return system.to_rates @ system.inverse
