"""Steps and rollouts on the group, in compiled code."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple, cast

import numpy as np

from jounce import _core
from jounce._types import Array, ArrayLike, Integers
from jounce.dynamics import forward_dynamics
from jounce.errors import ArgumentError, DivergenceError
from jounce.model import Model
from jounce.model._checks import check_choice
from jounce.simulation.methods import find_method
from jounce.simulation.taylor import TAYLOR, taylor_step

__all__ = ["MarkedRollout", "Rollout", "Step", "rollout", "step"]

_step = _core.raw("explicit_step", "step")
_rollout = _core.raw("explicit_rollout", "rollout")
_HOLDS = ("zero", "first")


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

    Methods are those of `linearize_step`, which gives the derivatives of this very step, and
    "taylor", the Taylor polynomial of the motion. The forces and the body-fixed wrenches are
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
            "dop853", "taylor".
        order: of "taylor", 2 to 30.
        out: a pair of arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple q (..., nq), v (..., nv).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, an unknown
            method, a step that is not positive, or a result that is not finite.
        SingularError: a joint moves no inertia; it is named.

    Example:
        A ball falls; the acceleration is constant, so the step is exact.

        >>> import jounce as jc
        >>> builder = jc.ModelBuilder()
        >>> ball = builder.add_body("ball", joint="free", mass=1, inertia=[1, 1, 1]).build()
        >>> jc.step(ball, jc.neutral(ball), np.zeros(6), np.zeros(6), 0.1).q[4:].round(9)
        array([ 0.     ,  0.     , -0.04905])
    """
    if method == TAYLOR:
        end = taylor_step(
            model, q, v, tau, time_step(dt), f_ext, order=order, out=out, threads=threads
        )
        return Step(*end)
    packed = find_method(method).packed()
    return Step(*_step(model, q, v, tau, time_step(dt), packed, f_ext, out=out, threads=threads))


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
    on_failure: str = "raise",
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
        method: as in `step`, but for "taylor".
        every: store the states 0, every, 2 every, ...; steps after the last stored one are not
            taken.
        hold: "zero": forces are constant during a step; "first": linear from its row to the next.
        on_failure: "raise" an error if a state diverges, or "mark" it: then the others go on, the
            tuple gains ``failed_at``, and what follows a failure is NaN.
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
    """
    packed = find_method(method).packed()
    check_choice("hold", hold, _HOLDS)
    check_choice("on_failure", on_failure, ("raise", "mark"))
    marks = on_failure == "mark"
    place = None if out is None else _place(out, marks)
    call = _Call(q0, v0, tau, time_step(dt), packed, every, _HOLDS.index(hold), f_ext)
    shared = _shared(call, out)
    q, v, failed = _rollout(model, *call, out=place, threads=threads)
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
        _explain(model, call, *saved, np.asarray(failed))
    return Rollout(q, v)


def time_step(dt: ArrayLike) -> Array:
    """Return positive lengths of steps as an array.

    Raises:
        ArgumentError: they are no positive finite numbers.
    """
    try:
        array = np.asarray(dt)
    except ValueError:
        array = np.asarray(None)
    if array.dtype.kind not in "fiu" or not (np.isfinite(array) & (array > 0)).all():
        raise ArgumentError(f"dt must be positive finite numbers, got {dt!r}")
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


def _shared(call: _Call, out: tuple[Array, ...] | None) -> list[tuple[Array, Array]]:
    """Return arguments that out overwrites, with copies of them."""
    arrays = [x for x in call if isinstance(x, np.ndarray) and x.flags.writeable]
    return [(x, x.copy()) for x in arrays if any(np.may_share_memory(x, y) for y in out or ())]


class _Call(NamedTuple):
    """What a rollout is given, as its kernel takes it."""

    q0: ArrayLike
    v0: ArrayLike
    tau: ArrayLike
    dt: Array
    packed: Array
    every: int
    hold: int
    f_ext: ArrayLike | None


def _explain(model: Model, call: _Call, q: Array, v: Array, failed: Array) -> None:
    """Raise what the first state of a batch that failed calls for."""
    lead = failed.shape
    at = np.unravel_index(int(np.flatnonzero(failed.ravel() >= 0)[0]), lead)
    k = int(failed[at])
    row = k // call.every
    first = row * call.every

    def own(x: ArrayLike, axes: int) -> Array:
        array = np.asarray(x, float)
        mine: Array = np.broadcast_to(array, (*lead, *array.shape[array.ndim - axes :]))[at]
        return mine

    tau, dt = own(call.tau, 2), own(call.dt, 0)
    f_ext = None if call.f_ext is None else own(call.f_ext, 3)
    rest = slice(first, k + call.hold)
    options = call.packed, 1, call.hold, None if f_ext is None else f_ext[rest]
    near = _rollout(model, q[at][row], v[at][row], tau[rest], dt, *options)
    last = near[0][-1], near[1][-1], tau[k], None if f_ext is None else f_ext[k]
    with suppress(ArgumentError):  # numbers too large for an acceleration
        forward_dynamics(model, *last)
    where = f" in state [{', '.join(map(str, at))}] of the batch" if lead else ""
    raise DivergenceError(
        f"step {k} of the rollout leads to numbers that are not finite{where}: take a shorter dt, "
        "a method of higher order, or smaller forces; on_failure='mark' lets the other states go on"
    )
