"""Steps and rollouts of coupled models: the methods of the core along the field in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jounce import _core
from jounce._core.coupled import coupled
from jounce._types import Array, Integers
from jounce.dynamics import bias_forces, passive_forces
from jounce.errors import Error, ModelError
from jounce.simulation.field import Field
from jounce.simulation.methods import Method, Stage, advance

if TYPE_CHECKING:
    from jounce.model.coupled import CoupledModel

__all__ = ["advanced", "refuse_control", "rows_of", "unpacked"]

_check_state: Callable[..., Any] = _core.raw("check_state", inputs="q v")


def unpacked(row: Array) -> Method:
    """The method of `Method.packed`, without name and citation."""
    slopes, finishes = int(row[0]), int(row[1])
    rest = row[4:].tolist()
    stages, width = [], slopes + 2
    for k in range(1, slopes):
        start, _, *weights = rest[(k - 1) * width : k * width]
        stages.append(Stage(int(start), tuple(weights[:k])))
    last = rest[(slopes - 1) * width :]
    finish = tuple(tuple(last[k * slopes : (k + 1) * slopes]) for k in range(finishes))
    return Method("", 0, "", tuple(stages), finish, bool(row[2]), bool(row[3]))


def advanced(
    model: CoupledModel,
    method: Method,
    state: tuple[Array, Array],
    tau: tuple[Array, Array],
    f_ext: tuple[Array, Array] | None,
    dt: Array,
    passive: bool,
    threads: int,
) -> tuple[Array, Array]:
    """One step of some states (n, ...); forces go from the first of a pair to the second."""

    def forces(t: Array, q: Array, v: Array) -> Array:
        part = t[:, None] / dt
        force: Array = tau[0] + part * (tau[1] - tau[0])
        if f_ext is not None:
            wrenches = f_ext[0] + part[..., None] * (f_ext[1] - f_ext[0])
            force = force + bias_forces(model, q, v, threads=threads)
            force -= bias_forces(model, q, v, wrenches, threads=threads)
        return force + passive_forces(model, q, v, threads=threads) if passive else force

    field = Field.of(model, forces, dt, threads)
    end = advance(method, field, field.start(np.zeros_like(dt), *state))
    return end.q, field.rates(end)


@coupled("explicit_step", checked=True)
def _step(
    model: CoupledModel,
    q: Array,
    v: Array,
    tau: Array,
    dt: Array,
    tableau: Array,
    f_ext: Array | None = None,
    *,
    threads: int,
) -> tuple[Array, Array]:
    wrenches = None if f_ext is None else f_ext[..., None, :, :]
    forces = tau[..., None, :]
    found = _rollout(
        model, q, v, forces, dt, tableau, 1, 0, f_ext=wrenches, threads=threads, mark=False
    )
    return found[0][..., 1, :], found[1][..., 1, :]


@coupled("explicit_rollout", checked=True)
def _rollout(
    model: CoupledModel,
    q0: Array,
    v0: Array,
    tau: Array,
    dt: Array,
    tableau: Array,
    every: int,
    hold: int,
    prescribed: Array | None = None,
    passive: bool = False,
    f_ext: Array | None = None,
    q_ref: Array | None = None,
    servo: Array | None = None,
    *,
    threads: int,
    mark: bool = True,
) -> tuple[Array, Array, Array]:
    refuse_control("rollout", {"prescribed": prescribed, "q_ref": q_ref, "servo": servo})
    start = q0.real[..., None, :], v0.real[..., None, :]
    _check_state(model.independent, *start, tau=tau.real, threads=threads)
    method, steps = unpacked(np.asarray(tableau)), tau.shape[-2] - hold
    leads = [q0.shape[:-1], v0.shape[:-1], tau.shape[:-2], dt.shape]
    lead = np.broadcast_shapes(*leads, () if f_ext is None else f_ext.shape[:-3])
    states = rows_of(q0, lead, 1), rows_of(v0, lead, 1)
    forces, h = rows_of(tau, lead, 2), rows_of(dt, lead, 0)[:, None]
    wrenches = None if f_ext is None else rows_of(f_ext, lead, 3)
    stored = steps // every + 1
    q, v = (np.full((len(x), stored, x.shape[-1]), np.nan, x.dtype) for x in states)
    q[:, 0], v[:, 0] = states
    failed = np.full(len(q), -1.0)
    for k in range((stored - 1) * every):
        alive: Integers = np.flatnonzero(failed < 0)

        def take(some: Any, k: int = k) -> tuple[Array, Array]:
            at = tuple(x[some] for x in states)
            rows = forces[some, k], forces[some, k + hold]
            own = None if wrenches is None else (wrenches[some, k], wrenches[some, k + hold])
            return advanced(model, method, at, rows, own, h[some], passive, threads)

        try:
            moved = take(alive)
        except Error:
            if not mark:
                raise
            moved, alive = _one_by_one(take, alive, failed, k)
        for x, own in zip(states, moved, strict=True):
            x[alive] = own
        if (k + 1) % every == 0:
            row = (k + 1) // every
            q[alive, row], v[alive, row] = moved
    ends = [x.reshape((*lead, *x.shape[1:])) for x in (q, v, failed)]
    return ends[0], ends[1], ends[2]


def refuse_control(function: str, control: Mapping[str, Any]) -> None:
    """Refuse what only the core knows."""
    if any(x is not None for x in control.values()):
        raise ModelError(
            f"{function}() of a model with coupled joints takes no servos, stops or prescribed "
            "joints: give forces, or use model.expanded"
        )


def _one_by_one(
    take: Callable[[Any], tuple[Array, Array]], alive: Integers, failed: Array, k: int
) -> tuple[tuple[Array, Array], Integers]:
    """Steps of the states that can be taken; the others are marked as failed at step k."""
    moved, good = [], []
    for state in alive:
        try:
            moved.append(take([state]))
            good.append(state)
        except Error:
            failed[state] = k
    first = take(alive[:0])
    q, v = (np.concatenate(parts) for parts in zip(first, *moved, strict=True))
    return (q, v), np.array(good, int)


def rows_of(x: Array, lead: tuple[int, ...], own: int) -> Array:
    """An array with all leading axes merged to one, fresh."""
    shape = x.shape[x.ndim - own :]
    return np.broadcast_to(x, (*lead, *shape)).reshape((-1, *shape)).copy()
