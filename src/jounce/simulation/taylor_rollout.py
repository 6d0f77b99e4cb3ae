"""Rollouts by Taylor steps of one length."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jounce._core.arrays import reals, shown
from jounce._core.out import Given
from jounce._core.words import place_text, told_by
from jounce._types import Array, ArrayLike, Integers
from jounce.dynamics import forward_dynamics
from jounce.errors import ArgumentError, DivergenceError, Error, ModelError, SingularError
from jounce.model import Model
from jounce.model.model import require_model
from jounce.simulation.arguments import ANY
from jounce.simulation.compiled import EFFORT, fixed_steps
from jounce.simulation.extended_step import held_step
from jounce.simulation.manifold import Manifold
from jounce.simulation.rollout_call import diverged
from jounce.simulation.rows import padded
from jounce.simulation.series_path import kept
from jounce.simulation.taylor import constant_step, require_tree

__all__ = ["taylor_rollout"]

MOST_STEPS = 64
"""In a portion."""


def taylor_rollout(
    model: Model,
    state: tuple[ArrayLike, ArrayLike],
    tau: ArrayLike,
    dt: Array,
    f_ext: ArrayLike | None,
    manifold: Manifold | None,
    every: int,
    hold: int,
    order: int,
    marks: bool,
    threads: int,
) -> tuple[Array, Array, Array]:
    """Coordinates (..., K, nq) and rates (..., K, nv), and the step that failed or -1.

    Raises:
        ArgumentError: a wrong shape, or numbers that are not finite.
        DivergenceError: a state became infinite, unless it shall be marked.
        ModelError: joints follow others.
    """
    require_model(model)
    require_tree(model)
    rows = reals("tau", tau)
    if rows.ndim < 2 or rows.shape[-1] != model.nv:
        raise ArgumentError(f"tau must have shape (..., T, {model.nv}), got {rows.shape}")
    if isinstance(every, bool) or not isinstance(every, (int, np.integer)) or every < 1:
        raise ArgumentError(f"every must be an integer, at least 1, got {shown(every)}")
    steps = max(rows.shape[-2] - hold, 0)
    wrenches = None
    if f_ext is not None:
        wrenches = reals("f_ext", f_ext, (rows.shape[-2], model.n_bodies, 6))
    q, v = reals("q0", state[0], (model.nq,)), reals("v0", state[1], (model.nv,))
    lead = _leading_axes(model, (q, v), rows, wrenches, dt, threads)
    n = math.prod(lead)

    def flat(x: Array, axes: int) -> Array:
        own = x.shape[x.ndim - axes :]
        return np.array(np.broadcast_to(x, (*lead, *own))).reshape(n, *own)

    walk = _Walk(model, order, hold, flat(dt, 0), flat(rows, 2), threads)
    if manifold is not None:
        walk.manifold = manifold
        if len(manifold.held) > 1:
            each = np.arange(len(manifold.held)).reshape(q.shape[:-1])
            walk.manifold = manifold.some(np.broadcast_to(each, lead).ravel())
    walk.wrenches = None if wrenches is None else flat(wrenches, 3)
    out = walk.run(flat(q, 1), flat(v, 1), steps // every, every, marks, lead)
    to_q, to_v, failed = (x.reshape((*lead, *x.shape[1:])) for x in out)
    return to_q, to_v, failed


def _leading_axes(
    model: Model,
    state: tuple[Array, Array],
    rows: Array,
    wrenches: Array | None,
    dt: Array,
    threads: int,
) -> tuple[int, ...]:
    """Those of all arguments, which are checked by the accelerations at the start."""
    q, v = state
    first = rows[..., :1, :], None if wrenches is None else wrenches[..., :1, :, :]
    arrays = {"q": q, "v": v, "dt": dt}
    if rows.shape[-2]:
        arrays["tau"] = rows[..., 0, :]
        if wrenches is not None:
            arrays["f_ext"] = wrenches[..., 0, :, :]
    with Given("rollout", model, threads, **arrays).told():
        some = forward_dynamics(model, q[..., None, :], v[..., None, :], *first, threads=threads)
    try:
        return np.broadcast_shapes(some.shape[:-2], dt.shape)
    except ValueError:
        raise ArgumentError(
            f"dt of shape {dt.shape} does not broadcast with the leading axes {some.shape[:-2]}"
        ) from None


class _Walk:
    """Steps of n states."""

    wrenches: Array | None = None
    manifold: Manifold | None = None
    lead: tuple[int, ...] = ()

    def __init__(
        self, model: Model, order: int, hold: int, dt: Array, tau: Array, threads: int
    ) -> None:
        self.model, self.order, self.hold, self.dt = model, order, hold, dt
        self.tau, self.threads = tau, threads

    def run(
        self, q: Array, v: Array, stored: int, every: int, marks: bool, lead: tuple[int, ...]
    ) -> tuple[Array, Array, Array]:
        """All steps."""
        n, total, self.lead = len(q), stored * every, lead
        to_q = np.full((n, stored + 1, self.model.nq), np.nan)
        to_v = np.full((n, stored + 1, self.model.nv), np.nan)
        to_q[:, 0], to_v[:, 0] = q, v
        failed = np.full(n, -1.0)
        for k in range(0, total, self.portion):
            alive, stop = np.flatnonzero(failed < 0), min(k + self.portion, total)
            path = self.compiled_steps(slice(k, stop), alive, q, v)
            rows = np.arange(k // every + 1, stop // every + 1)
            if path is not None:
                for to, x in ((to_q, path[0]), (to_v, path[1])):
                    to[alive[:, None], rows] = x[:, rows * every - k]
                q[alive], v[alive] = path[0][:, -1], path[1][:, -1]
                continue
            for j in range(k, stop):
                self.single_step(j, q, v, failed, marks)
                if (j + 1) % every == 0:
                    good = failed < 0
                    to_q[good, (j + 1) // every], to_v[good, (j + 1) // every] = q[good], v[good]
        return to_q, to_v, failed

    def single_step(self, k: int, q: Array, v: Array, failed: Array, marks: bool) -> None:
        """Step k of the states that have not failed, in place."""
        alive = np.flatnonzero(failed < 0)
        try:
            q[alive], v[alive] = self.step(k, alive, q, v)
            return
        except ModelError:
            raise
        except Error:
            pass
        for i in alive:
            try:
                with told_by("rollout", self.lead, [int(i)], (1,)):
                    q[i : i + 1], v[i : i + 1] = self.step(k, np.array([i]), q, v)
            except SingularError:
                if not marks:
                    raise
                failed[i] = k
            except Error:
                if not marks:
                    raise self.diverged(k, int(i), q[i]) from None
                failed[i] = k

    @property
    def portion(self) -> int:
        """How many steps the core takes at once: some hundredths of a second.

        Few enough that the sums of steps are exact multiples of them but for the last bits.
        """
        return min(MOST_STEPS, max(1, EFFORT // max(1, len(self.tau) * self.model.nv)))

    def compiled_steps(
        self, steps: slice, some: Integers, q: Array, v: Array
    ) -> tuple[Array, Array] | None:
        """Coordinates and rates before and after each of these steps, or None.

        None where the core does not take them at once: under constraints or external wrenches,
        steps of several lengths, or if a state fails on the way.
        """
        if self.manifold is not None or self.wrenches is not None or not len(some):
            return None
        dt = self.dt[some]
        count = steps.stop - steps.start
        if dt[0] <= 0 or (dt != dt[0]).any() or count == 1:
            return None
        t = dt[0] * np.arange(count + 1)
        rows = self.tau[some, steps.start : steps.stop + self.hold]
        given = q[some], v[some], padded(rows, count + 1)
        first, rates, forces = given if self.lead else (x[0] for x in given)
        options = self.order, self.hold, self.threads
        try:
            to_q, to_v, due = fixed_steps(self.model, first, rates, forces, t, *options)
        except Error:  # a step by itself says more
            return None
        if not (due > count).all():
            return None
        shape = len(some), count + 1
        return to_q.reshape(*shape, -1), to_v.reshape(*shape, -1)

    def step(self, k: int, some: Any, q: Array, v: Array) -> tuple[Array, Array]:
        """One step of some states, under constant forces or linear ones."""
        dt = self.dt[some]
        series = [np.zeros((len(some), self.order, *x.shape[2:])) for x in self.forces()]
        for to, x in zip(series, self.forces(), strict=True):
            to[:, 0] = x[some, k]
            if self.hold and self.order > 1:
                span = dt.reshape(-1, *[1] * (x.ndim - 2))
                to[:, 1] = (x[some, k + 1] - x[some, k]) / span
        tau, f_ext = series[0], series[1] if len(series) > 1 else None
        if self.manifold is not None:
            return self.step_on(self.manifold.some(some), k, (q[some], v[some]), tau, dt, f_ext)
        return constant_step(self.model, q[some], v[some], tau, dt, f_ext, self.threads)

    def step_on(
        self,
        manifold: Manifold,
        k: int,
        state: tuple[Array, Array],
        tau: Array,
        dt: Array,
        f_ext: Array | None,
    ) -> tuple[Array, Array]:
        """The same under constraints."""
        at = kept(self.model, *state)
        with np.errstate(all="ignore"):  # what overflows is an error of the step
            after = held_step(manifold, k * dt, at, tau, dt, (ANY, ANY), f_ext).end
        q, v = after.q, after.rates(self.model)
        return manifold.onto((k + 1) * dt, q, v) if manifold.project else (q, v)

    def forces(self) -> list[Array]:
        return [self.tau] if self.wrenches is None else [self.tau, self.wrenches]

    def diverged(self, k: int, state: int, q: Array) -> DivergenceError:
        where = place_text(state, self.lead)
        return diverged(k, where, None if self.manifold is None else self.manifold.constraints, q)
