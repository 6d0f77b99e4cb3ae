"""Simulation: a motion at given times, by adaptive or by fixed steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from jounce._types import Array, ArrayLike, Integers, Mask
from jounce.dynamics import forward_dynamics, passive_forces
from jounce.errors import ArgumentError, DivergenceError
from jounce.model import Model
from jounce.model._checks import check_flag
from jounce.simulation import adaptive, compiled
from jounce.simulation.adaptive import EMBEDDED, Embedded
from jounce.simulation.arguments import (
    floats,
    force_rows,
    increasing_times,
    merged_axes,
    positive,
)
from jounce.simulation.event_motion import motion_with_events
from jounce.simulation.events import Event, checked_events
from jounce.simulation.field import Field, Forces, Moving
from jounce.simulation.methods import Geometric, Method, advance, find_stepper
from jounce.simulation.motion import SimulatedMotion
from jounce.simulation.stepping import rollout
from jounce.simulation.taylor import TAYLOR, order_of, require_series
from jounce.simulation.taylor_events import follow_series

__all__ = ["Control", "simulate"]

Control = ArrayLike | Callable[..., ArrayLike] | None
"""No forces, rows of forces, or a function of (t, q, v)."""

LEAST_TOLERANCE = 4 * np.finfo(float).eps

MOST_STEPS = 1e9
"""Steps in one interval that nobody means."""

ENORMOUS = 1e50
"""Rates, per s, that no motion has."""


def simulate(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    t: ArrayLike,
    control: Control = None,
    method: str = "dop853",
    *,
    dt: float | None = None,
    rtol: float = 1e-9,
    atol: float = 1e-9,
    passive: bool = False,
    events: Event | Sequence[Event] | None = None,
    threads: int = 1,
) -> SimulatedMotion:
    """The motion ``M(q) dv/dt + b(q, v) = tau`` of a robot at given times.

    "dopri5" and "dop853" choose their steps by the error, "taylor" by the series of the motion,
    whose order follows from the tolerance. Each state of a batch has its own steps, and times in
    between come from polynomials. Without a function as control, no Python runs between steps. All
    other methods of `step` divide each interval of `t` into equal steps of at most `dt`.

    Args:
        model: the robot.
        q0: (..., nq) coordinates at t[0].
        v0: (..., nv) rates at t[0].
        t: (T,) increasing times, s.
        control: None: no generalized forces; (..., T - 1, nv): constant in each interval of `t`;
            (..., T, nv): linear in it; or a function of (t, q, v) that returns (..., nv). It is
            called with the leading axes of q0 and v0, t being a number without them and an array
            with them, since states have their own steps. With "taylor" it is called for each state
            alone and returns (m, nv), the forces and their time derivatives along the motion.
        method: as in `step`.
        dt: longest step, s; fixed-step methods need it.
        rtol: allowed error of a step, relative to coordinates and rates.
        atol: the same, in rad, m, rad/s and m/s.
        passive: whether `passive_forces` act, too; with "taylor" neither dry friction nor springs
            of spherical and free joints, which have no series.
        events: what to look for on the way, see `Event`. Then states are followed one by one.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        A `SimulatedMotion` with t (T,), q (..., T, nq) and v (..., T, nv). Ctrl-C ends it early:
        then it holds the times that all states have reached, and ``interrupted`` is true.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, times that do not increase, a
            step or a tolerance that is not positive, an unknown method, or a control that returns
            something else than forces.
        DivergenceError: the motion cannot be followed further; state and time are named.
        SingularError: a joint moves no inertia; it is named.

    Example:
        A pendulum that is let go swings as high on the other side.

        >>> import jounce as jc
        >>> builder = jc.ModelBuilder().add_body(
        ...     "bob", joint="revolute", axis=(0, 1, 0), mass=1, com=(0, 0, -1))
        >>> motion = jc.simulate(builder.build(), [0.5], [0.0], np.linspace(0, 2, 201))
        >>> float(motion.q.min().round(3))
        -0.5
    """
    chosen = None if isinstance(method, str) and method == TAYLOR else find_stepper(method)
    check_flag("passive", passive)
    times = increasing_times(t)
    if events is not None:
        options = {"dt": dt, "rtol": rtol, "atol": atol, "passive": passive, "threads": threads}
        found = checked_events(events)
        return motion_with_events(simulate, model, (q0, v0), times, control, method, found, options)
    task = _Task.of(model, q0, v0, times, control, passive, threads)
    if not model.nv:
        return task.motion(method, np.repeat(task.q[:, None], len(times), 1), None)
    if chosen is None:
        if dt is not None:
            raise ArgumentError("method 'taylor' chooses its steps: dt does not go with it")
        return _taylor(task, control, _tolerances(rtol, atol))
    if chosen.name in EMBEDDED and dt is None:
        allowed = _tolerances(rtol, atol)
        if callable(control) or model.expanded is not model:
            return _adaptive(task, EMBEDDED[chosen.name], allowed)
        return _compiled(task, compiled.embedded(adaptive.packed(method)), method, allowed)
    if dt is None:
        raise ArgumentError(f"method {method!r} has fixed steps: it needs dt, their longest length")
    return _fixed(task, chosen, positive("dt", dt))


class _Task(NamedTuple):
    """States in one row, and what acts on them."""

    model: Model
    lead: tuple[int, ...]
    t: Array
    q: Array
    v: Array
    rows: Array | None
    """(n, T or T - 1, nv) forces at or between times."""
    forces: Callable[[Integers], Forces]
    is_function: bool
    passive: bool
    threads: int

    @classmethod
    def of(
        cls,
        model: Model,
        q0: ArrayLike,
        v0: ArrayLike,
        t: Array,
        control: Control,
        passive: bool,
        threads: int,
    ) -> _Task:
        """Check the arguments by what they lead to at the start."""
        start = forward_dynamics(model, q0, v0, np.zeros(getattr(model, "nv", 0)), threads=threads)
        lead = start.shape[:-1]
        rows = None
        if control is not None and not callable(control):
            rows = force_rows(model, control, len(t))
            lead = merged_axes(lead, rows.shape[:-2])
            shape = rows.shape[-2:]
            rows = np.broadcast_to(rows, (*lead, *shape)).reshape(math.prod(lead), *shape)
        n = math.prod(lead)
        q, v = (
            _spread(np.array(x, float), (*lead, size)).reshape(n, size)
            for x, size in ((q0, model.nq), (v0, model.nv))
        )
        forces = _forces(model, lead, t, rows, control if callable(control) else None, passive)
        is_function = callable(control) or passive
        return cls(model, lead, t, q, v, rows, forces, is_function, passive, threads)

    def motion(
        self, method: str, q: Array, v: Array | None, reached: int | None = None
    ) -> SimulatedMotion:
        """Return the result; fewer times if the motion was interrupted."""
        v = np.zeros((*q.shape[:-1], self.model.nv)) if v is None else v
        last = len(self.t) if reached is None else reached
        q, v = (x[:, :last].reshape(*self.lead, last, x.shape[-1]) for x in (q, v))
        return SimulatedMotion(self.model, self.t[:last], q, v, method, reached is not None)


def _spread(x: Array, shape: tuple[int, ...]) -> Array:
    return x if x.shape == shape else np.array(np.broadcast_to(x, shape))


def _forces(
    model: Model,
    lead: tuple[int, ...],
    t: Array,
    rows: Array | None,
    function: Callable[..., ArrayLike] | None,
    passive: bool,
) -> Callable[[Integers], Forces]:
    """Return, for the interval of each state, forces as a function of time and state."""

    def called(time: Array, q: Array, v: Array) -> Array:
        assert function is not None
        shaped = [x.reshape(*lead, x.shape[-1]) for x in (q, v)]
        when = time.reshape(lead) if lead else float(time[0])
        tau = _checked(function(when, *shaped), (*lead, model.nv), np.abs(v).max())
        return tau.reshape(v.shape)

    def held(k: Integers, time: Array) -> Array:
        assert rows is not None
        at = np.arange(len(time))
        first = rows[at, k]
        if rows.shape[1] < len(t):
            return first
        share = ((time - t[k]) / (t[k + 1] - t[k]))[:, None]
        between: Array = first + share * (rows[at, k + 1] - first)
        return between

    def in_interval(k: Integers) -> Forces:
        def forces(time: Array, q: Array, v: Array) -> Array:
            tau = np.zeros_like(v)
            if function is not None:
                tau = called(time, q, v)
            elif rows is not None:
                tau = held(k, time)
            return tau + passive_forces(model, q, v) if passive else tau

        return forces

    return in_interval


def _blames_control(error: ArgumentError) -> bool:
    """Whether a control returned what is no force; else numbers became too large."""
    return str(error).startswith("control must return")


def _checked(value: ArrayLike, shape: tuple[int, ...], speed: float) -> Array:
    """Return what a control gave, if these are forces."""
    tau = floats("control must return forces: they", value)
    if tau.shape != shape:
        got = f"{type(value).__name__} of shape {tau.shape}"
        raise ArgumentError(f"control must return an array of shape {shape}, got {got}")
    if not np.isfinite(tau).all():
        if speed > ENORMOUS:
            raise ArgumentError("the rates are too large for a control")
        raise ArgumentError(f"control must return finite forces, got {value!r}")
    return tau


def _fixed(task: _Task, method: Method | Geometric, dt: float) -> SimulatedMotion:
    """Equal steps in each interval; compiled if no function is asked."""
    if task.is_function and isinstance(method, Geometric):
        raise ArgumentError(
            f"method {method.name!r} takes no function as control, nor passive=True"
        )
    shape = len(task.q), len(task.t)
    q, v = np.empty((*shape, task.model.nq)), np.empty((*shape, task.model.nv))
    q[:, 0], v[:, 0] = task.q, task.v
    counts = _steps(task.t, dt)
    step = _step_by_function if task.is_function else _step_compiled
    for k, count in enumerate(counts):
        try:
            q[:, k + 1], v[:, k + 1] = step(task, method, k, int(count), q[:, k], v[:, k])
        except KeyboardInterrupt:
            return task.motion(method.name, q, v, k + 1)
    return task.motion(method.name, q, v)


def _steps(t: Array, dt: float) -> Integers:
    """How many steps of at most dt each interval takes."""
    with np.errstate(over="ignore"):
        counts = np.maximum(1, np.ceil(np.diff(t) / dt * (1 - 1e-12)))
    if counts.max(initial=1) > MOST_STEPS:
        raise ArgumentError(
            f"dt = {dt:g} is so short that an interval of t takes {counts.max():.2g} steps, more "
            f"than {MOST_STEPS:.0e}"
        )
    steps: Integers = counts.astype(int)
    return steps


def _step_compiled(
    task: _Task, method: Method | Geometric, k: int, count: int, q: Array, v: Array
) -> tuple[Array, Array]:
    """All steps of an interval, with forces that are known beforehand."""
    h = (task.t[k + 1] - task.t[k]) / count
    linear = task.rows is not None and task.rows.shape[1] == len(task.t)
    tau = np.zeros((count + linear, task.model.nv))
    if task.rows is not None:
        first = task.rows[:, k, None]
        tau = tau + first
        if linear:
            share = (np.arange(count + 1) / count)[:, None]
            tau += share * (task.rows[:, k + 1, None] - first)
    options = {"every": count, "hold": "first" if linear else "zero", "threads": task.threads}
    end = rollout(task.model, q, v, tau, h, method=method.name, **options)  # type: ignore[arg-type]
    return end.q[:, -1], end.v[:, -1]


def _step_by_function(
    task: _Task, method: Method | Geometric, k: int, count: int, q: Array, v: Array
) -> tuple[Array, Array]:
    """The same with forces that depend on the state."""
    assert isinstance(method, Method)
    h = np.full((len(q), 1), (task.t[k + 1] - task.t[k]) / count)
    field = Field.of(task.model, task.forces(np.full(len(q), k)), h, task.threads)
    at = field.start(np.full((len(q), 1), task.t[k]), q, v)
    try:
        with np.errstate(all="ignore"):
            for _ in range(count):
                at = advance(method, field, at)
    except ArgumentError as error:
        if _blames_control(error):
            raise
        raise DivergenceError(
            f"the motion leads to numbers that are not finite between t = {task.t[k]:.9g} s and "
            f"{task.t[k + 1]:.9g} s: take a shorter dt, or a method with adaptive steps"
        ) from None
    return at.q, field.rates(at)


def _tolerances(rtol: object, atol: object) -> tuple[float, float]:
    return positive("rtol", rtol, LEAST_TOLERANCE), positive("atol", atol)


def _compiled(
    task: _Task, portion: compiled.Portion, method: str, allowed: tuple[float, float]
) -> SimulatedMotion:
    """Steps that need no Python."""
    start = compiled.Start(
        task.model, task.q, task.v, task.t, task.rows, task.passive, task.threads
    )
    return _followed(task, method, compiled.follow(portion, start, allowed))


def _taylor(task: _Task, control: Control, allowed: tuple[float, float]) -> SimulatedMotion:
    """Steps by series; a control that is a function gives its own."""
    if callable(control):
        start = compiled.Start(task.model, task.q, task.v, task.t, None, task.passive, task.threads)
        return _followed(task, TAYLOR, follow_series(start, control, allowed)[0])
    require_series(task.model, task.passive)
    return _compiled(task, compiled.taylor(order_of(*allowed)), TAYLOR, allowed)


def _followed(task: _Task, method: str, got: compiled.Followed) -> SimulatedMotion:
    reached = int(got.due.min(initial=len(task.t)))
    return task.motion(method, got.q, got.v, reached if reached < len(task.t) else None)


class _Progress(NamedTuple):
    """How far each state is: the next of the times that it has to give."""

    q: Array
    v: Array
    due: Integers


def _adaptive(task: _Task, pair: Embedded, allowed: tuple[float, float]) -> SimulatedMotion:
    """Each state takes its own steps; those that have arrived wait with steps of no length."""
    n, t = len(task.q), task.t
    field = Field.of(task.model, task.forces(np.zeros(n, int)), np.zeros((n, 1)), task.threads)
    at = field.start(np.full((n, 1), t[0]), task.q, task.v)
    done = _Progress(
        np.full((n, len(t), task.model.nq), np.nan),
        np.full((n, len(t), task.model.nv), np.nan),
        np.ones(n, int),
    )
    done.q[:, 0], done.v[:, 0] = task.q, task.v
    slope = field.slope(at)
    h = adaptive.first_step(field, at, slope, allowed)
    try:
        while (done.due < len(t)).any():
            at, slope, h = _one_round(task, pair, allowed, done, at, slope, h)
    except KeyboardInterrupt:
        return task.motion(pair.name, done.q, done.v, int(done.due.min()))
    return task.motion(pair.name, done.q, done.v)


def _one_round(
    task: _Task,
    pair: Embedded,
    allowed: tuple[float, float],
    done: _Progress,
    at: Moving,
    slope: adaptive.Slope,
    h: Array,
) -> tuple[Moving, adaptive.Slope, Array]:
    """Try a step of every state that is not at the end; keep those whose error is allowed."""
    t, last = task.t, len(task.t) - 1
    moving = done.due <= last
    # rows of forces have corners at the times, which a step must not cross
    stop = (t[np.minimum(done.due, last)] if task.rows is not None else np.full(len(h), t[-1]))[
        :, None
    ]
    left = np.where(moving[:, None], stop - at.t, 0.0)
    tried = np.minimum(h, left)
    lands = tried >= left
    forces = task.forces(np.minimum(done.due, last) - 1)
    field = Field.of(task.model, forces, tried, task.threads)
    adaptive.require_progress(at, tried, moving & ~lands[:, 0])
    if task.rows is not None:
        slope = field.slope(at)
    try:
        with np.errstate(all="ignore"):
            trial = adaptive.attempt(pair, field, at, slope, allowed)
    except ArgumentError as error:
        if _blames_control(error):
            raise
        # numbers too large: the steps were too long
        return at, slope, adaptive.SHRINK * tried
    good = moving & (trial.error <= 1.0)
    kept = good[:, None]
    end = trial.end._replace(t=np.where(lands, stop, trial.end.t))
    _give(pair, field, trial, end, good, done, t)
    ahead = Moving(*(np.where(kept, new, old) for new, old in zip(end, at, strict=True)))
    after = np.where(kept, trial.slopes[-1][1], slope[1])  # the acceleration serves again
    wanted = adaptive.next_step(pair, tried, trial.error)
    shortened = kept & lands  # says little about the step after it
    return ahead, (ahead.s, after), np.where(shortened, np.maximum(h, wanted), wanted)


def _give(
    pair: Embedded,
    field: Field,
    trial: adaptive.Trial,
    end: Moving,
    good: Mask,
    done: _Progress,
    t: Array,
) -> None:
    """Write the states at all times that were passed."""
    rates, between = None, None
    while True:
        due = np.minimum(done.due, len(t) - 1)
        passed = good & (done.due < len(t)) & (t[due] <= end.t[:, 0])
        if not passed.any():
            return
        exact = passed & (t[due] == end.t[:, 0])
        rows = np.flatnonzero(exact)
        if len(rows):
            rates = field.rates(end) if rates is None else rates
            done.q[rows, due[rows]], done.v[rows, due[rows]] = end.q[rows], rates[rows]
        rows = np.flatnonzero(passed & ~exact)
        if len(rows):
            span = np.where(field.dt == 0.0, 1.0, field.dt)
            x = np.clip((t[due][:, None] - trial.start.t) / span, 0.0, 1.0)
            between = between or adaptive.Between.of(pair, field, trial)
            inner = between.at(x)
            done.q[rows, due[rows]] = inner.q[rows]
            done.v[rows, due[rows]] = field.rates(inner)[rows]
        done.due[passed] += 1
