"""What a simulation is about: states in one row, times, and what acts on them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jounce._core import memory
from jounce._core.arrays import reals, shown
from jounce._types import Array, ArrayLike, Integers, Mask
from jounce.constraints.checks import rank_lost
from jounce.dynamics import passive_forces
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.simulation.answer import Known
from jounce.simulation.arguments import (
    ControlError,
    accelerations,
    asked,
    force_rows,
    merged_axes,
)
from jounce.simulation.dense import Logged, Onto
from jounce.simulation.field import Field, Forces, Law, Moving
from jounce.simulation.interrupted import to_last_step
from jounce.simulation.manifold import Manifold, manifold_of
from jounce.simulation.motion import SimulatedMotion, no_further, told, with_failures
from jounce.simulation.progress import Report, silent
from jounce.simulation.rows import Rows

__all__ = ["ENORMOUS", "AnyControl", "Task", "require_room", "too_far"]

AnyControl = ArrayLike | Callable[..., ArrayLike] | None
"""No forces, rows of forces, or a function of (t, q, v)."""

ENORMOUS = 1e50
"""Rates, per s, that no motion has."""


class Task(NamedTuple):
    """States in one row, and what acts on them."""

    model: Model
    lead: tuple[int, ...]
    t: Array
    q: Array
    v: Array
    rows: Rows | None
    """Forces of n states, if no function gives them."""
    forces: Callable[[Integers], Forces]
    known: Known | None
    """What acts, if that needs no Python: neither a function nor constraints."""
    passive: bool
    threads: int
    manifold: Manifold | None = None
    law: Law | None = None
    report: Report = silent

    @classmethod
    def of(
        cls,
        model: Model,
        state: tuple[ArrayLike, ArrayLike],
        t: Array,
        control: AnyControl,
        passive: bool,
        threads: int,
        constraints: tuple[object, bool] = (None, True),
        report: Report = silent,
        lead: tuple[int, ...] = (),
    ) -> Task:
        """Check the arguments by what they lead to at the start.

        Of `constraints` the second says whether to project; `lead` are axes of a control.
        """
        lead = merged_axes(accelerations(model, state, threads).shape[:-1], lead)
        rows = None
        if control is not None and not callable(control):
            given = force_rows(model, control, len(t))
            lead = merged_axes(lead, given.shape[:-2])
            shape = given.shape[-2:]
            rows = Rows(t, np.broadcast_to(given, (*lead, *shape)).reshape(math.prod(lead), *shape))
        require_room(model, lead, len(t))
        n = math.prod(lead)
        q = _spread(np.array(state[0], float), (*lead, model.nq)).reshape(n, model.nq)
        v = _spread(np.array(state[1], float), (*lead, model.nv)).reshape(n, model.nv)
        held, projects = constraints
        manifold = None
        if held is not None:
            manifold = manifold_of(model, held, (q, v), float(t[0]), projects, threads, lead)
        forces = _forces(model, lead, rows, control if callable(control) else None, passive)
        needs_python = callable(control) or manifold is not None
        known = None if needs_python else Known(rows, passive)
        law = None if manifold is None else manifold.accelerations
        acting = rows, forces, known, passive, threads, manifold, law
        return cls(model, lead, t, q, v, *acting, report)

    def field(self, interval: Integers, dt: Array) -> Field:
        """The field in the interval of each state."""
        field = Field.of(self.model, self.forces(interval), dt, self.threads, self.law)
        return field._replace(lead=self.lead)

    def onto(self, field: Field, at: Moving, which: Mask) -> Moving:
        """Some of the states brought back to the manifold, if there is one and that is wanted."""
        if self.manifold is None or not self.manifold.project:
            return at
        places = np.flatnonzero(which)
        some = Moving(*(x[places] for x in at))
        q, v = self.manifold.some(places).onto(some.t[:, 0], some.q, field.rates(some))
        whole = Moving(*(x.copy() for x in at))
        for x, own in zip(whole, field.start(some.t, q, v), strict=True):
            x[places] = own
        return whole

    def motion(
        self,
        method: str,
        q: Array,
        v: Array | None,
        reached: int | None = None,
        *,
        dense: Logged | None = None,
        failed: Array | None = None,
        why: Callable[[int, float], str] | None = None,
        reasons: dict[int, str] | None = None,
    ) -> SimulatedMotion:
        """Return the result; fewer times if the motion was interrupted, to the last step.

        `failed` (n,) is when a state went no further, else infinity, and `why` says the reason,
        unless `reasons` has it.
        """
        v = np.zeros((*q.shape[:-1], self.model.nv)) if v is None else v
        why = told(reasons or {}, why or self._why(q))
        last = len(self.t) if reached is None else reached
        q, v = (x.reshape(*self.lead, *x.shape[1:]) for x in (q, v))
        known = q[..., :last, :], v[..., :last, :]
        motion = SimulatedMotion(
            self.model, self.t[:last], *known, method, reached is not None, kept=dense
        )
        return to_last_step(with_failures(motion, failed, why), (q, v))

    def _why(self, q: Array) -> Callable[[int, float], str]:
        """Why adaptive steps of states (n, T, nq) end; where rows lose their rank that is told."""

        def why(state: int, t: float) -> str:
            begins = q[state, max(0, int(np.searchsorted(self.t, t, "right")) - 1)]
            lost = "" if self.manifold is None else rank_lost(self.manifold.constraints, begins)
            return no_further(state, t) + (lost and f"; {lost}")

        return why

    def onto_manifold(self) -> Onto | None:
        """What projects states between steps, if that is wanted."""
        manifold = self.manifold
        if manifold is None or not manifold.project:
            return None
        return lambda states, t, q, v: manifold.some(states).onto(t, q, v)


def require_room(model: Model, lead: tuple[int, ...], times: int) -> None:
    """Refuse motions whose stored states do not fit into the memory."""
    size = 8.0 * math.prod(lead) * times * (model.nq + model.nv)
    memory.require("simulate", size, size, "ask for fewer times or states at a time")


def _spread(x: Array, shape: tuple[int, ...]) -> Array:
    return x if x.shape == shape else np.array(np.broadcast_to(x, shape))


def _forces(
    model: Model,
    lead: tuple[int, ...],
    rows: Rows | None,
    function: Callable[..., ArrayLike] | None,
    passive: bool,
) -> Callable[[Integers], Forces]:
    """Return, for the interval of each state, forces as a function of time and state."""

    def called(time: Array, q: Array, v: Array) -> Array:
        assert function is not None
        shaped = [x.reshape(*lead, x.shape[-1]) for x in (q, v)]
        when = time.reshape(lead) if lead else float(time[0])
        try:
            tau = _checked(asked(function, when, *shaped), (*lead, model.nv))
        except ControlError:
            raise
        except Exception as error:
            if isinstance(error, ArgumentError) and _is_wild(q, v):
                raise ArgumentError("the state is too large for a control") from error
            raise ControlError(error) from error
        return tau.reshape(v.shape)

    def in_interval(k: Integers) -> Forces:
        def forces(time: Array, q: Array, v: Array) -> Array:
            tau = np.zeros_like(v)
            if function is not None:
                tau = called(time, q, v)
            elif rows is not None:
                tau = rows.at(time, k, (np.arange(len(time)),))
            return tau + passive_forces(model, q, v) if passive else tau

        return forces

    return in_interval


def _is_wild(q: Array, v: Array) -> bool:
    """Whether states are such as a step tried in vain leads to, of which no control knows."""
    return not all(np.abs(x).max(initial=0.0) <= ENORMOUS for x in (q, v))  # NaN is not


def too_far(attempt: Callable[[Mask], object], moving: Mask) -> Mask:
    """Which states lead to numbers too large, by trying each alone; all, if it is none alone."""
    wild = np.zeros(len(moving), bool)
    for k in np.flatnonzero(moving):
        try:
            with np.errstate(all="ignore"):
                attempt(np.arange(len(moving)) == k)
        except (ArgumentError, ControlError):
            wild[k] = True
    return wild if wild.any() else moving


def _checked(value: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return what a control gave, if these are forces."""
    tau = reals("control must return forces: they", value)
    if tau.shape != shape:
        got = f"{type(value).__name__} of shape {tau.shape}"
        raise ArgumentError(f"control must return an array of shape {shape}, got {got}")
    if not np.isfinite(tau).all():
        raise ArgumentError(f"control must return finite forces, got {shown(value)}")
    return tau
