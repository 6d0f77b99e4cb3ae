"""Motion under constraints: accelerations that keep them, and the way back to their manifold.

A constraint without a target holds what it holds at the start. With a ``motion`` its rows have the
rates

    (1)  w(t) = sum_k motion[k] (t - t_0)^k / k!,

and its target moves with them, see `jounce.Constraints.at_time`. Where that depends on the way
there is no target: then rates are projected, positions are not.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import pairwise
from math import factorial
from typing import Any

import numpy as np

from jounce import _core
from jounce._core.words import told_by
from jounce._types import Array, Integers
from jounce.constraints import (
    Constraints,
    constrained_dynamics,
    constrained_dynamics_series,
)
from jounce.constraints.checks import require_possible, require_state
from jounce.constraints.constraints import constraints_on
from jounce.constraints.moving import target_field, target_moves
from jounce.constraints.projection import projected
from jounce.errors import ArgumentError, DivergenceError
from jounce.model import Model

__all__ = ["Manifold", "held_alike", "held_at", "later", "manifold_of", "rates_only"]

_forward: Callable[..., Any] = _core.raw(
    "constrained_forward", "simulate", inputs="q v tau accelerations table"
)
_jump: Callable[..., Any] = _core.raw("constrained_jump", "simulate", inputs="q jump table")

TOLERANCE = 1e-12
"""Of projections; they go on as long as a Newton step helps."""


class Manifold:
    """What n states hold on their way.

    Args:
        constraints: the same for all states.
        q: (n, nq) coordinates at the start, where constraints without a target hold.
        start: the time there.
        project: whether states are brought back after each step.
        threads: number of threads for a batch.
    """

    states: Integers | None = None
    """Which of all they are, if they are some of them."""
    lead: tuple[int, ...] | None = None
    """Leading axes of all of them, by which errors name states, if that is known."""

    def __init__(
        self, constraints: Constraints, q: Array, start: float, project: bool, threads: int
    ) -> None:
        self.constraints, self.start, self.project, self.threads = (
            constraints,
            start,
            project,
            threads,
        )
        self.model = constraints.model
        shared = not (constraints.holonomic & ~constraints.targeted).any()
        some = q[:1] if shared else q
        self.held = [held_at(constraints, x) for x in some] or [constraints]
        self.moves = bool(len(constraints.motion))

    @property
    def acting(self) -> list[Constraints]:
        """What sets accelerations: one for all states, or one for each with the errors it feels."""
        return self.held if self.constraints.stabilization[1] else [self.constraints]

    def at(self, sets: list[Constraints], t: Array) -> list[Constraints]:
        """Some of the sets with their targets at times (n,), one for all or one for each."""
        if not self.moves or not len(t):
            return sets
        if len(sets) == 1 and (t == t[0]).all():
            return [later(sets[0], float(t[0]) - self.start)]
        sets = sets * (len(t) if len(sets) == 1 else 1)
        return [later(c, float(x) - self.start) for c, x in zip(sets, t, strict=True)]

    def rates(self, t: Array, derivative: int = 0) -> Array:
        """Equation (1) or a derivative of it at times (n,), (n, m)."""
        c = self.constraints
        out = np.zeros((len(t), c.size))
        for k, row in enumerate(c.motion[derivative:]):
            out += ((t - self.start) ** k / factorial(k))[:, None] * row
        return out

    def accelerations(self, t: Array, q: Array, v: Array, tau: Array) -> Array:
        """(n, nv) accelerations at times (n,)."""
        return self._forward(t, q, v, tau)[0]

    def forces(self, t: Array, q: Array, v: Array, tau: Array) -> Array:
        """(n, m) constraint forces at times (n,)."""
        return self._forward(t, q, v, tau)[1]

    def _forward(self, t: Array, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
        wanted = self.rates(t, 1) + 2.0 * self.constraints.stabilization[0] * self.rates(t)
        state = (q, v, tau, wanted)
        acting = self.at(self.acting, t) if self.constraints.stabilization[1] else self.acting
        if len(acting) == 1:
            with self._told(len(q)):
                a, force, _ = _forward(self.model, *state, acting[0].table, threads=self.threads)
            return a, force
        found = []
        for k, x in enumerate(zip(*state, (c.table for c in acting), strict=True)):
            with self._told(len(q), k):
                found.append(_forward(self.model, *x))
        return np.array([x[0] for x in found]), np.array([x[1] for x in found])

    def series(self, t: Array, q: Array, v: Array, tau: Array, f_ext: Array | None = None) -> Array:
        """(n, p + 1, nv) the rates and their time derivatives, under forces (n, p, nv)."""
        options: dict[str, Any] = {"threads": self.threads}
        acting = self.at(self.acting, t)
        if len(acting) > 1:
            each = []
            for k, x in enumerate(zip(q, v, tau, strict=True)):
                own = acting[k], None if f_ext is None else f_ext[k]
                with self._told(len(q), k):
                    each.append(constrained_dynamics_series(self.model, *x, *own, **options).a)
            a = np.array(each).reshape(tau.shape)
        else:
            given = self.model, q, v, tau, acting[0], f_ext
            with self._told(len(q)):
                a = constrained_dynamics_series(*given, **options).a
        return np.concatenate([v[:, None], a], axis=1)

    def onto(self, t: Array, q: Array, v: Array) -> tuple[Array, Array]:
        """Bring states at times (n,) back to the manifold.

        Raises:
            DivergenceError: they are too far from it.
        """
        if not len(q):
            return q, v
        held = self.at(self.held, t)
        try:
            if len(held) == 1:
                with self._told(len(q)):
                    q = projected(self.model, q, held[0], TOLERANCE, self.threads)
            else:
                each = []
                for k, x in enumerate(q):
                    with self._told(len(q), k):
                        each.append(projected(self.model, x, held[k], TOLERANCE, 1))
                q = np.array(each)
        except ArgumentError as error:
            raise DivergenceError(self._lost(held, q) or str(error)) from None
        return q, self.onto_rates(t, q, v)

    def _told(self, n: int, k: int | None = None) -> AbstractContextManager[None]:
        """Around what is computed of n states, or of one of them alone."""
        if k is None:
            return told_by("simulate", self.lead, self.states, (n,))
        return told_by("simulate", self.lead, [k if self.states is None else self.states[k]], ())

    def _lost(self, held: list[Constraints], q: Array) -> str:
        """Words for the first state that cannot be projected."""
        states = np.arange(len(q)) if self.states is None else self.states
        for k, x in enumerate(q):
            try:
                with told_by("simulate", ()):
                    projected(self.model, x, held[k if len(held) > 1 else 0], TOLERANCE, 1)
            except ArgumentError as error:
                return f"the motion of state {states[k]} leaves its constraints: {error}"
        return ""

    def onto_rates(self, t: Array, q: Array, v: Array) -> Array:
        """Project rates: the nearest ones that the constraints allow."""
        c = self.constraints
        with self._told(len(q)):
            wrong = c.velocity(q, v, threads=self.threads) - self.rates(t)
            dv: Array = _jump(self.model, q, -wrong, c.table, threads=self.threads)[0]
        return v + dv

    def some(self, states: Integers) -> Manifold:
        """The manifold of some of the states."""
        part = object.__new__(Manifold)
        part.__dict__.update(self.__dict__)
        part.states = states if self.states is None else self.states[states]
        if len(self.held) > 1:
            part.held = [self.held[k] for k in states]
        return part


def manifold_of(
    model: Model,
    constraints: object,
    state: tuple[Array, Array],
    start: float,
    project: bool,
    threads: int,
    lead: tuple[int, ...],
) -> Manifold | None:
    """The manifold on which states (n, nq), (n, nv) begin; None without constraints.

    They have the leading axes `lead`, by which errors name them.

    Raises:
        ArgumentError: a state that the constraints do not allow, or accelerations that contradict
            each other.
    """
    if constraints is None:
        return None
    c = constraints_on(model, constraints)
    if not c.size:
        return None
    with told_by("simulate", lead):
        manifold = Manifold(c, state[0], start, project, threads)
        q, v = (x.reshape(*lead, x.shape[-1]) for x in state)
        require_state(c, q, v, ("q0", "v0"), threads)
        if q.size and len(c.motion) > 1:
            a = constrained_dynamics(model, q, v, np.zeros_like(v), c, threads=threads).a
            require_possible(c, q, v, a, threads)
    manifold.lead = lead
    return manifold


def held_at(c: Constraints, q: Array) -> Constraints:
    """The constraints with targets, but those whose targets depend on the way that they move."""
    items = []
    for item in c.at(q).items:
        follows = item.motion is None or target_moves(c.model, item)
        items.append(item if follows else _without_target(item))
    return c._changed(items)


def held_alike(c: Constraints, q: Array, dt: Array) -> list[tuple[slice, Constraints]]:
    """Which of n states in a row have the same constraints all along steps of lengths (n,)."""
    n = len(q)
    if not c.size or not n:
        return [(slice(n), c)]
    manifold = Manifold(c, q, 0.0, True, 1)
    sets = manifold.acting
    if len(sets) > 1:
        return [(slice(k, k + 1), sets[k]) for k in range(n)]
    cuts: Any = np.flatnonzero(np.diff(dt)) + 1 if manifold.moves else ()
    return [(slice(*ends), sets[0]) for ends in pairwise([0, *map(int, cuts), n])]


def rates_only(c: Constraints) -> Constraints:
    """The constraints without targets of those that move."""
    return c._changed([x if x.motion is None else _without_target(x) for x in c.items])


def later(c: Constraints, seconds: float) -> Constraints:
    """The constraints with their motion and targets as they are some time after the start."""
    return c.at_time(seconds)


def _without_target(item: Any) -> Any:
    nothing: dict[str, Any] = {target_field(item): None}
    return replace(item, **nothing)
