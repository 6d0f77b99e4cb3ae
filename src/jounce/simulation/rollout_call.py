"""A rollout as its kernel takes it, part by part, and what it says where it fails."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._core import memory
from jounce._core.arrays import numbers, reals, shown
from jounce._core.out import require_out, untouched_if_failing
from jounce._core.words import place_text, told_by
from jounce._types import Array, ArrayLike
from jounce.constraints import Constraints
from jounce.constraints.checks import rank_lost
from jounce.dynamics import forward_dynamics, hybrid_dynamics
from jounce.errors import ArgumentError, DivergenceError
from jounce.model import Model
from jounce.model._checks import check_choice, check_flag
from jounce.simulation.control import Control, ControlInputs, control_inputs
from jounce.simulation.held_rows import HeldRows, held_rows
from jounce.simulation.manifold import Manifold
from jounce.simulation.methods import Geometric, Method, find_stepper
from jounce.simulation.taylor import checked_order

__all__ = [
    "HOLDS",
    "RolloutCall",
    "along",
    "checked_options",
    "diverged",
    "require_simple",
    "rollout_call",
    "time_step",
]

_rollout = _core.raw("explicit_rollout", "rollout", inputs="")
_constrained: Any = _core.raw("constrained_rollout", "rollout", inputs="")
HOLDS = ("zero", "first")


def rollout_call(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    tau: ArrayLike,
    dt: ArrayLike,
    f_ext: ArrayLike | None,
    method: str,
    every: int,
    hold: str,
    control: Control | None,
    manifold: Manifold | None = None,
) -> RolloutCall:
    """Return a rollout as its kernel takes it.

    Raises:
        ArgumentError: an argument that the kernel does not check is wrong.
    """
    chosen = find_stepper(method)
    check_choice("hold", hold, HOLDS)
    q0, v0, tau = reals("q0", q0), reals("v0", v0), reals("tau", tau)
    f_ext = None if f_ext is None else reals("f_ext", f_ext)
    inputs = control_inputs(model, control, tau)
    if isinstance(chosen, Geometric):
        require_simple(chosen, inputs, manifold)
    call = RolloutCall(q0, v0, time_step(dt), chosen, every, HOLDS.index(hold), f_ext, inputs)
    if manifold is None:
        return call
    if inputs.prescribed is not None:
        raise ArgumentError("prescribed joints and constraints do not go together in rollout()")
    return call._replace(held=held_rows(manifold), constraints=manifold.constraints)


def require_simple(
    method: Geometric, inputs: ControlInputs, manifold: Manifold | None = None
) -> None:
    """Refuse what a method does not know.

    Raises:
        ArgumentError: naming it.
    """
    if manifold is not None:
        raise ArgumentError(f"method {method.name!r} knows no constraints")
    if inputs.prescribed is not None:
        raise ArgumentError(f"method {method.name!r} knows no prescribed joints")
    if method.tableau is None and (inputs.servo is not None or inputs.passive):
        raise ArgumentError(
            f"method {method.name!r} takes forces that do not depend on the rates: no servos, "
            "passive forces or stops; 'momentum' does"
        )


def checked_options(order: object, projection: object) -> int:
    """Check what belongs to "taylor" and to constraints, also where there is none of them.

    Returns:
        The order.

    Raises:
        ArgumentError: an order out of its range, or a projection that is neither True nor False.
    """
    check_flag("projection", projection)
    return checked_order(order)


def time_step(dt: ArrayLike) -> Array:
    """Return lengths of steps as an array.

    Raises:
        ArgumentError: they are no positive finite numbers.
    """
    array = numbers("dt", dt, "fiu")
    memory.require_argument("dt", array.nbytes)
    if not (np.isfinite(array) & (array > 0)).all():
        raise ArgumentError(f"dt must be positive finite numbers, got {shown(dt)}")
    return array


def _merged(leads: list[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*leads)
    except ValueError:
        raise ArgumentError(f"the leading axes {leads} do not broadcast") from None


def along(x: ArrayLike, own: int, axis: int, some: slice, lead: tuple[int, ...]) -> Array:
    """Slice one of the leading axes, if x has it; `own` axes follow those of the batch."""
    array = np.asarray(x)
    batch = array.shape[: array.ndim - own]
    place = axis - len(lead) + len(batch)
    if not 0 <= place < len(batch) or batch[place] == 1:
        return array
    return array[(slice(None),) * place + (some,)]


class RolloutCall(NamedTuple):
    """What a rollout is given."""

    q0: ArrayLike
    v0: ArrayLike
    dt: Array
    method: Method | Geometric
    every: int
    hold: int
    f_ext: ArrayLike | None
    control: ControlInputs
    held: Sequence[HeldRows] | None = None
    """Constraints: the same for all states, or one for each of q0."""
    constraints: Constraints | None = None

    def run(self, model: Model, **options: Any) -> tuple[Array, Array, Array]:
        """Call the kernel."""
        if self.held is not None and len(self.held) != 1:
            return self._one_by_one(model, **options)
        tau, prescribed, passive, q_ref, servo = self.control
        kernel: Any = _rollout
        choices: dict[str, Any] = {"every": self.every, "hold": self.hold}
        if self.held is not None:
            assert isinstance(self.method, Method)
            kernel = _constrained
            rows = self.held[0]._asdict()
            choices |= {**rows, "tableau": self.method.packed(), "passive": passive}
        elif isinstance(self.method, Method):
            choices |= {"tableau": self.method.packed(), "passive": passive}
            choices["prescribed"] = prescribed
        else:
            kernel = _core.raw(self.method.kernel, "rollout")
            if self.method.tableau is not None:
                choices |= {"tableau": self.method.tableau.packed(), "passive": passive}
        given = {"q0": self.q0, "v0": self.v0, "tau": tau, "dt": self.dt, **choices}
        given |= {"f_ext": self.f_ext, "q_ref": q_ref, "servo": servo}
        q, v, failed = kernel(model, **given, **options)
        return q, v, failed

    def _one_by_one(
        self, model: Model, out: tuple[Array, ...] | None = None, threads: int = 1
    ) -> tuple[Array, Array, Array]:
        """States whose constraints have targets of their own."""
        if np.ndim(self.control.tau) < 2:
            shape = np.shape(self.control.tau)
            raise ArgumentError(f"tau must have shape (..., T, {model.nv}), got {shape}")
        lead, steps = _merged(self.leads()), np.shape(self.control.tau)[-2] - self.hold
        stored = steps // max(1, self.every) + 1
        shapes = [(*lead, stored, model.nq), (*lead, stored, model.nv), lead]
        if out is not None:
            require_out(out, shapes)
        found = [np.empty(shape) for shape in shapes]
        states = [np.asarray(x, float) for x in (self.q0, self.v0)]
        q0, v0 = (np.broadcast_to(x, (*lead, x.shape[-1])) for x in states)
        for state, at in enumerate(np.ndindex(*lead)):
            call = self.alone(at, lead, slice(None))._replace(every=self.every)
            with told_by("rollout", lead, [state], ()):
                own = call._replace(q0=q0[at], v0=v0[at]).run(model, threads=threads)
            for to, x in zip(found, own, strict=True):
                to[at] = x
        if out is not None:
            given = {"q0": self.q0, "v0": self.v0, "f_ext": self.f_ext, **self.control._asdict()}
            with untouched_if_failing(out, given, threads) as guard:
                guard.write(found)
        q, v, failed = out or found
        return q, v, failed

    def leads(self) -> list[tuple[int, ...]]:
        """Leading axes of each argument."""
        tau, _, _, q_ref, servo = self.control
        given = (self.q0, 1), (self.v0, 1), (tau, 2), (self.dt, 0), (self.f_ext, 3), (q_ref, 2)
        return [np.shape(x)[: np.ndim(x) - n] for x, n in (*given, (servo, 2)) if x is not None]

    def alone(self, at: tuple[Any, ...], lead: tuple[int, ...], rows: slice) -> RolloutCall:
        """One state of the batch, with some rows of its controls."""

        def own(x: ArrayLike | None, axes: int, some: slice | None = None) -> Any:
            if x is None:
                return None
            array = np.asarray(x, float)
            mine = np.broadcast_to(array, (*lead, *array.shape[array.ndim - axes :]))[at]
            return mine if some is None else mine[some]

        control = self.control._replace(
            tau=own(self.control.tau, 2, rows),
            q_ref=own(self.control.q_ref, 2, rows),
            servo=own(self.control.servo, 2),
        )
        f_ext, dt, held = own(self.f_ext, 3, rows), own(self.dt, 0), self.held
        if held is not None and len(held) > 1:
            which = np.arange(len(held)).reshape(np.shape(self.q0)[:-1])
            held = [held[int(np.broadcast_to(which, lead)[at])]]
        return self._replace(dt=dt, every=1, f_ext=f_ext, control=control, held=held)

    def block(self, axis: int, some: slice, lead: tuple[int, ...]) -> RolloutCall:
        """Some states of the batch: a slice of one of the leading axes. Not under constraints."""

        def own(x: ArrayLike | None, axes: int) -> Any:
            return None if x is None else along(x, axes, axis, some, lead)

        tau, _, _, q_ref, servo = self.control
        control = self.control._replace(tau=own(tau, 2), q_ref=own(q_ref, 2), servo=own(servo, 2))
        mine = {"q0": own(self.q0, 1), "v0": own(self.v0, 1), "dt": own(self.dt, 0)}
        return self._replace(**mine, f_ext=own(self.f_ext, 3), control=control)

    def part(self, first: int, last: int) -> RolloutCall:
        """Return the call for some of the steps."""
        some = slice(first, last + self.hold)

        def rows(x: ArrayLike | None, axes: int) -> Any:
            where: tuple[Any, ...] = (..., some, *[slice(None)] * axes)
            return None if x is None else np.asarray(x)[where]

        control = self.control._replace(
            tau=rows(self.control.tau, 1), q_ref=rows(self.control.q_ref, 1)
        )
        return self._replace(f_ext=rows(self.f_ext, 2), control=control)

    def states(self, model: Model, threads: int, first: int = 0) -> tuple[Array, Array]:
        """Return coordinates and rates; raise if there are none."""
        q, v, failed = self.run(model, threads=threads)
        if np.any(failed >= 0):
            self.explain(model, q, v, np.asarray(failed), first)
        return q, v

    def explain(self, model: Model, q: Array, v: Array, failed: Array, first: int = 0) -> None:
        """Raise what the first state of a batch that failed calls for; steps count from `first`."""
        lead = failed.shape
        state = int(np.flatnonzero(failed.ravel() >= 0)[0])
        at = np.unravel_index(state, lead)
        k = int(failed[at])
        row = k // self.every
        near = self.alone(at, lead, slice(row * self.every, k + self.hold))
        ends = near._replace(q0=q[at][row], v0=v[at][row]).run(model)
        last = self.alone(at, lead, slice(k, k + 1))
        wrenches = None if last.f_ext is None else np.asarray(last.f_ext)[0]
        # numbers too large for an acceleration are no reason
        with suppress(ArgumentError), told_by("rollout", lead, [state], ()):
            there = model, ends[0][-1], ends[1][-1]
            if last.control.prescribed is None:
                forward_dynamics(*there, np.asarray(last.control.tau)[0], wrenches)
            else:
                rows = np.asarray(last.control.tau)[0]
                hybrid_dynamics(*there, rows, rows, last.control.prescribed, wrenches)
        raise diverged(first + k, place_text(state, lead), self.constraints, ends[0][-1])


def diverged(step: int, where: str, c: Constraints | None, q: Array) -> DivergenceError:
    """The error of a step of a rollout that begins at q, (nq,)."""
    lost = "" if c is None else ", or too far from its constraints"
    advice = "" if c is None else rank_lost(c, q)
    advice = advice or "take a shorter dt, a method of higher order, or smaller forces"
    return DivergenceError(
        f"step {step} of the rollout leads to numbers that are not finite{lost}{where}: {advice}; "
        "on_failure='mark' lets the other states go on"
    )
