"""Steps and rollouts on the group, in compiled code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import numpy as np

from jounce import _core
from jounce._core.arrays import reals
from jounce._core.out import (
    Given,
    deliver_all,
    refuse_masked_out,
    require_out,
    untouched_if_failing,
)
from jounce._types import Array, ArrayLike, Integers
from jounce.constraints import Constraints
from jounce.derivatives.jvp import let_differentiate
from jounce.errors import ArgumentError, ArgumentTypeError
from jounce.model import Model
from jounce.model._checks import check_choice
from jounce.model.model import require_model
from jounce.simulation.control import Control
from jounce.simulation.held_rows import rollout_manifold
from jounce.simulation.methods import Method, find_method, find_stepper
from jounce.simulation.rollout_call import (
    HOLDS,
    RolloutCall,
    checked_options,
    rollout_call,
    time_step,
)
from jounce.simulation.taylor import TAYLOR, taylor_step
from jounce.simulation.taylor_rollout import taylor_rollout

__all__ = ["MarkedRollout", "Rollout", "Step", "rollout", "step"]

_step = _core.raw("explicit_step", "step", inputs="q v tau dt tableau f_ext")


class Step(NamedTuple):
    """The state after a step.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> q, v = jc.step(arm, q, v, a, dt=0.01)
        >>> q.shape, v.shape
        ((2,), (2,))
    """

    q: Array
    """(..., nq) coordinates."""
    v: Array
    """(..., nv) rates."""


class Rollout(NamedTuple):
    """States along a rollout, the first of them its start.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, _ = np.ones((3, 2))
        >>> tau = np.zeros((10, 2))
        >>> motion = jc.rollout(arm, q, v, tau, dt=0.01)
        >>> motion.q.shape
        (11, 2)
    """

    q: Array
    """(..., T // every + 1, nq) coordinates."""
    v: Array
    """(..., T // every + 1, nv) rates."""


class MarkedRollout(NamedTuple):
    """States along a rollout, and where it failed.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, _ = np.ones((3, 2))
        >>> tau = np.zeros((10, 2))
        >>> motion = jc.rollout(arm, q, v, tau, dt=0.01, on_failure="mark")
        >>> int(motion.failed_at)  # none failed
        -1
    """

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
    constraints: Constraints | None = None,
    projection: bool = True,
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
        constraints: loops, contacts and gears that hold, as in `rollout`.
        projection: whether the step ends on their manifold; without it, it is the step that
            `linearize_step` differentiates.
        order: of "taylor", 2 to 30.
        out: a pair of arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple q (..., nq), v (..., nv).

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, an unknown
            method, a step that is not positive, a result that is not finite, or a state that the
            constraints do not allow.
        SingularError: a joint moves no inertia; it is named.

    Examples:
        A ball falls; the acceleration is constant, so the step is exact.

        >>> import jounce as jc
        >>> builder = jc.ModelBuilder()
        >>> ball = builder.add_body("ball", joint="free", mass=1, inertia=[1, 1, 1]).build()
        >>> jc.step(ball, jc.neutral(ball), np.zeros(6), np.zeros(6), 0.1).q[4:].round(9)
        array([ 0.     ,  0.     , -0.04905])
    """
    order, held = checked_options(order, projection), constraints is not None
    if not held and isinstance(method, str) and method == TAYLOR:
        end = taylor_step(
            model, q, v, tau, time_step(dt), f_ext, order=order, out=out, threads=threads
        )
        return Step(*end)
    length = time_step(dt)
    if not held and isinstance(chosen := find_stepper(method), Method):
        options = {"out": out, "threads": threads}
        return Step(*_step(model, q, v, tau, length, chosen.packed(), f_ext, **options))

    require_model(model)

    def compute(
        q: ArrayLike, v: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None, dt: Array
    ) -> Step:
        rows = reals("tau", tau, (model.nv,))[..., None, :]
        wrenches = None
        if f_ext is not None:
            wrenches = reals("f_ext", f_ext, (model.n_bodies, 6))[..., None, :, :]
        options: dict[str, Any] = {"order": order, "threads": threads}
        if held:
            options |= {"constraints": constraints, "projection": projection}
        end = rollout(model, q, v, rows, dt, wrenches, method, **options)
        return Step(end.q[..., -1, :].copy(), end.v[..., -1, :].copy())

    arrays = {"q": q, "v": v, "tau": tau, "f_ext": f_ext, "dt": length}
    given = Given("step", model, threads, **arrays)
    return deliver_all(compute, out, ((model.nq,), (model.nv,)), given)


def _kernel_arguments(method: str = "rkmk4", **given: Any) -> dict[str, Any]:
    for name in ("q", "v", "tau", "dt"):
        if name not in given:
            raise ArgumentTypeError(f"step() needs the argument {name!r}")
    return {**given, "dt": time_step(given["dt"]), "tableau": find_method(method).packed()}


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
    constraints: Constraints | None = None,
    projection: bool = True,
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
        constraints: loops, contacts and gears that hold; explicit methods and "taylor" know them.
            Without a target they hold what they hold at q0, and states that differ there are
            followed one by one: with targets, as those of ``constraints.at(q)``, they share
            registers. A ``motion`` is the series of their rates at the start, with which their
            targets move.
        projection: whether each step ends on the manifold of the constraints, see `project`;
            without it, they are kept as well as the method integrates.
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
            method, a step that is not positive, or a start that the constraints do not allow.
        DivergenceError: a state became infinite, or left its constraints so far that it cannot be
            projected; the step and the state of the batch are named.
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
    order, marks = checked_options(order, projection), on_failure == "mark"
    manifold = rollout_manifold(model, constraints, (q0, v0), projection, threads)
    if isinstance(method, str) and method == TAYLOR:
        check_choice("hold", hold, HOLDS)
        if control is not None:
            raise ArgumentError("method 'taylor' takes no control in a rollout: it needs series")
        options = every, HOLDS.index(hold), order, marks, threads
        found = taylor_rollout(model, (q0, v0), tau, time_step(dt), f_ext, manifold, *options)
        given = {"q0": q0, "v0": v0, "tau": tau, "dt": dt, "f_ext": f_ext}
        return _delivered(found, out, marks, given)
    call = rollout_call(model, q0, v0, tau, dt, f_ext, method, every, hold, control, manifold)
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
    found: tuple[Array, Array, Array],
    out: tuple[Array, ...] | None,
    marks: bool,
    given: Mapping[str, Any],
) -> Rollout | MarkedRollout:
    """The result of a rollout, in the arrays of the caller."""
    q, v, steps = found[0], found[1], np.asarray(found[2]).astype(np.int64)
    if out is not None:
        _place(out, marks)
        require_out(out[:2], [q.shape, v.shape])
        with untouched_if_failing(out, given, 1) as guard:
            guard.write((q, v, steps)[: len(out)])
        q, v = out[:2]
        steps = cast(Integers, out[2]) if marks else steps
    return MarkedRollout(q, v, steps) if marks else Rollout(q, v)


def _place(out: object, marks: bool) -> tuple[Any, ...]:
    """Return the caller's arrays as the kernel takes them: it counts failed steps in doubles."""
    count = 3 if marks else 2
    if not isinstance(out, tuple) or len(out) != count:
        raise ArgumentError(f"out must be a tuple of {count} arrays")
    lead = np.shape(out[0])[:-2]
    if marks:
        steps = out[2]
        refuse_masked_out(steps)
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
