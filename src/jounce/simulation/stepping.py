"""Steps and rollouts on the group, in compiled code."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple, cast

import numpy as np

from jounce import _core
from jounce._core.out import Given, deliver_all, require_out
from jounce._types import Array, ArrayLike, Integers
from jounce.derivatives.jvp import let_differentiate
from jounce.dynamics import forward_dynamics, hybrid_dynamics
from jounce.errors import ArgumentError, DivergenceError
from jounce.model import Model
from jounce.model._checks import check_choice
from jounce.simulation.control import Control, ControlInputs, control_inputs
from jounce.simulation.methods import Geometric, Method, find_method, find_stepper
from jounce.simulation.taylor import TAYLOR, checked_order, taylor_step
from jounce.simulation.taylor_rollout import taylor_rollout

__all__ = ["MarkedRollout", "Rollout", "RolloutCall", "Step", "rollout", "rollout_call", "step"]

_step = _core.raw("explicit_step", "step")
_rollout = _core.raw("explicit_rollout", "rollout")
HOLDS = ("zero", "first")


class Step(NamedTuple):
    """The state after a step."""

    q: Array
    """(..., nq) coordinates."""
    v: Array
    """(..., nv) rates."""


class Rollout(NamedTuple):
    """States along a rollout, the first of them its start."""

    q: Array
    """(..., T // every + 1, nq) coordinates."""
    v: Array
    """(..., T // every + 1, nv) rates."""


class MarkedRollout(NamedTuple):
    """States along a rollout, and where it failed."""

    q: Array
    """(..., T // every + 1, nq) coordinates; NaN after a failure."""
    v: Array
    """(..., T // every + 1, nv) rates; NaN after a failure."""
    failed_at: Integers
    """(...) the step that failed, counted from 0, or -1."""


def step(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    dt: ArrayLike,
    f_ext: ArrayLike | None = None,
    method: str = "rkmk4",
    *,
    order: int = 20,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> Step:
    """One step on the group along ``M(q) dv/dt + b(q, v) = tau``.

    Explicit methods are those of `linearize_step`, which gives the derivatives of this very step;
    "taylor" is the Taylor polynomial of the motion. The forces and the body-fixed wrenches are
    constant during the step.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., nv) generalized forces.
        dt: length of the step, s, positive: a number or an array that broadcasts with the leading
            axes.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies.
        method: "euler", "semi_implicit_euler", "midpoint", "rkmk2", "rkmk4", "cf4", "dopri5",
            "dop853", "taylor"; "variational" and "momentum" keep the momentum to rounding.
        order: of "taylor", 2 to 30.
        out: a pair of arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple q (..., nq), v (..., nv).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, an unknown
            method, a step that is not positive, or a result that is not finite.
        SingularError: a joint moves no inertia; it is named.

    Examples:
        A ball falls; the acceleration is constant, so the step is exact.

        >>> import jounce as jc
        >>> builder = jc.ModelBuilder()
        >>> ball = builder.add_body("ball", joint="free", mass=1, inertia=[1, 1, 1]).build()
        >>> jc.step(ball, jc.neutral(ball), np.zeros(6), np.zeros(6), 0.1).q[4:].round(9)
        array([ 0.     ,  0.     , -0.04905])
    """
    if isinstance(method, str) and method == TAYLOR:
        end = taylor_step(
            model, q, v, tau, time_step(dt), f_ext, order=order, out=out, threads=threads
        )
        return Step(*end)
    chosen, length = find_stepper(method), time_step(dt)
    if isinstance(chosen, Method):
        options = {"out": out, "threads": threads}
        return Step(*_step(model, q, v, tau, length, chosen.packed(), f_ext, **options))

    def compute(
        q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None, dt: Array
    ) -> Step:
        rows = np.asarray(tau)[..., None, :]
        wrenches = None if f_ext is None else np.asarray(f_ext)[..., None, :, :]
        end = rollout(model, q, v, rows, dt, wrenches, method, threads=threads)
        return Step(end.q[..., -1, :].copy(), end.v[..., -1, :].copy())

    arrays = {"q": q, "v": v, "tau": tau, "f_ext": f_ext, "dt": length}
    given = Given("step", model, threads, **arrays)
    return deliver_all(compute, out, ((model.nq,), (model.nv,)), given)


def _kernel_arguments(
    dt: ArrayLike = np.nan, method: str = "rkmk4", **given: Any
) -> dict[str, Any]:
    return {**given, "dt": time_step(dt), "tableau": find_method(method).packed()}


let_differentiate(step, "q v tau dt f_ext method", "explicit_step", Step, _kernel_arguments)


def rollout(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    tau: ArrayLike,
    dt: ArrayLike,
    f_ext: ArrayLike | None = None,
    method: str = "rkmk4",
    every: int = 1,
    *,
    hold: str = "zero",
    control: Control | None = None,
    on_failure: str = "raise",
    order: int = 20,
    out: tuple[Array, ...] | None = None,
    threads: int = 1,
) -> Rollout | MarkedRollout:
    """T steps on the group from a state, with forces for each of them.

    All steps run in compiled code: states of a batch share registers, threads take groups of them,
    and Ctrl-C ends it.

    Args:
        model: the robot.
        q0: (..., nq) coordinates at the start.
        v0: (..., nv) rates at the start.
        tau: (..., T, nv) generalized forces, or (..., T + 1, nv) with ``hold="first"``.
        dt: length of each step, s, positive: a number or an array that broadcasts with the leading
            axes.
        f_ext: (..., T, n_bodies, 6) body-fixed wrenches on the bodies; T + 1 with ``hold="first"``.
        method: as in `step`; "taylor" takes no control.
        every: store the states 0, every, 2 every, ...; steps after the last stored one are not
            taken.
        hold: "zero": forces are constant during a step; "first": linear from its row to the next.
        control: what answers to the state beside tau: servos with force limits, prescribed joints,
            passive forces, stops at joint limits; see `Control`.
        on_failure: "raise" an error if a state diverges, or "mark" it: then the others go on, the
            tuple gains ``failed_at``, and what follows a failure is NaN.
        order: of "taylor", 2 to 30.
        out: a tuple of arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple q (..., T // every + 1, nq), v (..., T // every + 1, nv), and with
        ``on_failure="mark"`` failed_at (...), the step that failed, counted from 0, or -1.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, an unknown
            method or a step that is not positive.
        DivergenceError: a state became infinite; the step and the state of the batch are named.
        SingularError: a joint moves no inertia; it is named.

    Identity: ``rollout(...).q[..., k + 1, :]`` is `step` from ``rollout(...).q[..., k, :]``.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q = arm.poses["home"]
        >>> tau = np.tile(jc.gravity_forces(arm, q), (100, 1))  # holds still
        >>> motion = jc.rollout(arm, q, np.zeros(7), tau, dt=0.01)
        >>> motion.q.shape, bool(np.allclose(motion.q[-1], q))
        ((101, 7), True)
    """
    check_choice("on_failure", on_failure, ("raise", "mark"))
    marks = on_failure == "mark"
    if isinstance(method, str) and method == TAYLOR:
        check_choice("hold", hold, HOLDS)
        if control is not None:
            raise ArgumentError("method 'taylor' takes no control in a rollout: it needs series")
        options = every, HOLDS.index(hold), checked_order(order), marks, threads
        found = taylor_rollout(model, (q0, v0), tau, time_step(dt), f_ext, *options)
        return _delivered(found, out, marks)
    call = rollout_call(model, q0, v0, tau, dt, f_ext, method, every, hold, control)
    place = None if out is None else _place(out, marks)
    shared = _shared(call, out)
    q, v, failed = call.run(model, out=place, threads=threads)
    if marks:
        steps = np.asarray(failed).astype(np.int64)
        if out is not None:
            out[2][...] = steps
            steps = cast(Integers, out[2])
        return MarkedRollout(q, v, steps)
    if np.any(failed >= 0):
        saved = q.copy(), v.copy()
        for array in out or ():
            array.fill(np.nan)
        for x, before in shared:
            x[...] = before
        call.explain(model, *saved, np.asarray(failed))
    return Rollout(q, v)


def _delivered(
    found: tuple[Array, Array, Array], out: tuple[Array, ...] | None, marks: bool
) -> Rollout | MarkedRollout:
    """The result of a rollout, in the arrays of the caller."""
    q, v, steps = found[0], found[1], np.asarray(found[2]).astype(np.int64)
    if out is not None:
        _place(out, marks)
        require_out(out[:2], [q.shape, v.shape])
        for place, x in zip(out, (q, v, steps), strict=False):
            place[...] = x
        q, v = out[:2]
        steps = cast(Integers, out[2]) if marks else steps
    return MarkedRollout(q, v, steps) if marks else Rollout(q, v)


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
) -> RolloutCall:
    """Return a rollout as its kernel takes it.

    Raises:
        ArgumentError: an argument that the kernel does not check is wrong.
    """
    chosen = find_stepper(method)
    check_choice("hold", hold, HOLDS)
    inputs = control_inputs(model, control, tau)
    if isinstance(chosen, Geometric):
        _require_simple(chosen, inputs)
    return RolloutCall(q0, v0, time_step(dt), chosen, every, HOLDS.index(hold), f_ext, inputs)


def _require_simple(method: Geometric, inputs: ControlInputs) -> None:
    """Refuse what a method does not know."""
    if inputs.prescribed is not None:
        raise ArgumentError(f"method {method.name!r} knows no prescribed joints")
    if method.tableau is None and (inputs.servo is not None or inputs.passive):
        raise ArgumentError(
            f"method {method.name!r} takes forces that do not depend on the rates: no servos, "
            "passive forces or stops; 'momentum' does"
        )


def time_step(dt: ArrayLike, *, forward: bool = True) -> Array:
    """Return lengths of steps as an array; if `forward`, they must be positive.

    Raises:
        ArgumentError: they are no such numbers, or not finite.
    """
    try:
        array = np.asarray(dt)
    except ValueError:
        array = np.asarray(None)
    real = array.dtype.kind in "fiu" and bool(np.isfinite(array).all())
    if not real or (forward and not (array > 0).all()):
        what = "positive finite" if forward else "finite real"
        raise ArgumentError(f"dt must be {what} numbers, got {dt!r}")
    return np.asarray(array, float)


def _place(out: object, marks: bool) -> tuple[Any, ...]:
    """Return the caller's arrays as the kernel takes them: it counts failed steps in doubles."""
    count = 3 if marks else 2
    if not isinstance(out, tuple) or len(out) != count:
        raise ArgumentError(f"out must be a tuple of {count} arrays")
    lead = np.shape(out[0])[:-2]
    if marks:
        steps = out[2]
        good = isinstance(steps, np.ndarray) and steps.dtype == np.int64 and steps.shape == lead
        if not (good and steps.flags.carray):
            raise ArgumentError(
                f"out[2] must be a writable C-contiguous int64 array of shape {lead}, for failed_at"
            )
    return (*out[:2], np.empty(lead))


def _shared(call: RolloutCall, out: tuple[Array, ...] | None) -> list[tuple[Array, Array]]:
    """Return arguments that out overwrites, with copies of them."""
    given: list[Any] = [*call, *call.control]
    arrays: list[Array] = [x for x in given if isinstance(x, np.ndarray) and x.flags.writeable]
    return [(x, x.copy()) for x in arrays if any(np.may_share_memory(x, y) for y in out or ())]


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

    def run(self, model: Model, **options: Any) -> tuple[Array, Array, Array]:
        """Call the kernel."""
        tau, prescribed, passive, q_ref, servo = self.control
        kernel: Any = _rollout
        choices: tuple[Any, ...] = self.every, self.hold
        if isinstance(self.method, Method):
            choices = self.method.packed(), *choices, prescribed, passive
        else:
            kernel = _core.raw(self.method.kernel, "rollout")
            if self.method.tableau is not None:
                choices = self.method.tableau.packed(), *choices, passive
        given = self.q0, self.v0, tau, self.dt, *choices, self.f_ext, q_ref, servo
        q, v, failed = kernel(model, *given, **options)
        return q, v, failed

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
        f_ext, dt = own(self.f_ext, 3, rows), own(self.dt, 0)
        return self._replace(dt=dt, every=1, f_ext=f_ext, control=control)

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
        at = np.unravel_index(int(np.flatnonzero(failed.ravel() >= 0)[0]), lead)
        k = int(failed[at])
        row = k // self.every
        near = self.alone(at, lead, slice(row * self.every, k + self.hold))
        ends = near._replace(q0=q[at][row], v0=v[at][row]).run(model)
        last = self.alone(at, lead, slice(k, k + 1))
        wrenches = None if last.f_ext is None else np.asarray(last.f_ext)[0]
        with suppress(ArgumentError):  # numbers too large for an acceleration
            state = model, ends[0][-1], ends[1][-1]
            if last.control.prescribed is None:
                forward_dynamics(*state, np.asarray(last.control.tau)[0], wrenches)
            else:
                rows = np.asarray(last.control.tau)[0]
                hybrid_dynamics(*state, rows, rows, last.control.prescribed, wrenches)
        where = f" in state [{', '.join(map(str, at))}] of the batch" if lead else ""
        raise DivergenceError(
            f"step {first + k} of the rollout leads to numbers that are not finite{where}: take a "
            "shorter dt, a method of higher order, or smaller forces; on_failure='mark' lets the "
            "other states go on"
        )
