"""Simulation: a motion at given times, by adaptive or by fixed steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jounce._core.arrays import positive
from jounce._types import Array, ArrayLike
from jounce.constraints import Constraints
from jounce.constraints.constraints import constraints_on
from jounce.dynamics import hybrid_dynamics
from jounce.errors import ArgumentError, DivergenceError
from jounce.model import Model
from jounce.model._checks import check_choice, check_flag
from jounce.model.model import require_model
from jounce.simulation import adaptive, compiled
from jounce.simulation.adaptive import EMBEDDED
from jounce.simulation.answer import Answer
from jounce.simulation.arguments import (
    ControlError,
    asked_number,
    force_rows,
    increasing_times,
)
from jounce.simulation.contacts import Contact, checked_contacts
from jounce.simulation.control import Control
from jounce.simulation.dense import SERIES, Logged
from jounce.simulation.event_motion import Sought, motion_with_events, motion_with_series
from jounce.simulation.events import Event, checked_events
from jounce.simulation.fixed_steps import by_fixed_steps
from jounce.simulation.interrupted import to_last_step
from jounce.simulation.methods import Geometric, Method, find_stepper
from jounce.simulation.motion import SimulatedMotion, told, with_changes, with_failures
from jounce.simulation.progress import Progress, Report, silent
from jounce.simulation.servo import pulled_by, require_gains
from jounce.simulation.stepwise import by_adaptive_steps
from jounce.simulation.task import AnyControl, Task, require_room
from jounce.simulation.taylor import (
    TAYLOR,
    checked_order,
    order_of,
    require_series,
    require_tree,
)
from jounce.simulation.taylor_events import SeriesMotion, follow_series

__all__ = ["simulate"]

LEAST_TOLERANCE = 4 * np.finfo(float).eps


def simulate(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    t: ArrayLike,
    control: AnyControl | Control = None,
    method: str = "dop853",
    *,
    dt: float | None = None,
    rtol: float = 1e-9,
    atol: float = 1e-9,
    passive: bool = False,
    constraints: Constraints | None = None,
    projection: bool = True,
    events: Event | Sequence[Event] | None = None,
    contacts: Contact | Sequence[Contact] | None = None,
    order: int | None = None,
    dense: bool = True,
    on_failure: str = "raise",
    threads: int = 1,
) -> SimulatedMotion:
    """The motion ``M(q) dv/dt + b(q, v) = tau`` of a robot at given times.

    "dopri5" and "dop853" choose their steps by the error, "taylor" by the series of the motion,
    whose order follows from the tolerance. Each state of a batch has its own steps, and times in
    between come from polynomials. All other methods of `step` divide each interval of `t` into
    equal steps of at most `dt`. Python runs between steps only under a function as control, under
    constraints, and for models with coupled joints.

    Args:
        model: the robot.
        q0: (..., nq) coordinates at t[0].
        v0: (..., nv) rates at t[0].
        t: (T,) increasing times, s.
        control: None: no generalized forces; (..., T - 1, nv): constant in each interval of `t`;
            (..., T, nv): linear in it; a `Control`, whose references may have a row for each time;
            or a function of (t, q, v) that returns (..., nv). It is called with the leading axes of
            q0 and v0, t being a number without them and an array with them, since states have their
            own steps. With "taylor" it is called for each state alone and returns (m, nv), the
            forces and their time derivatives along the motion.
        method: as in `step`.
        dt: longest step of methods with fixed steps, s, which need it. Methods that choose their
            steps refuse it; `rollout` and `step` take fixed ones of "dopri5", "dop853", "taylor".
        rtol: allowed error of a step, relative to coordinates and rates, for methods that choose
            their steps.
        atol: the same, in rad, m, rad/s and m/s.
        passive: whether `passive_forces` act, too; with "taylor" neither dry friction nor springs
            of spherical and free joints, which have no series.
        constraints: loops, contacts and gears that hold. Without a target they hold what they hold
            at t[0]; a ``motion`` is the series of their rates at t[0].
        projection: whether each step ends on the manifold of the constraints, see `project`;
            without it, they are kept as well as the method integrates.
        events: what to look for on the way, see `Event`. Then states are followed one by one.
        contacts: points that stick to planes while these push them, see `Contact`.
        order: of the polynomials of "taylor", 4 to 30; by default that of the tolerances.
        dense: whether to keep the steps of the method, so that ``motion.at(t)`` is as exact between
            the times as the method itself. That takes nq + nv + 2 numbers for each step of a state,
            nv more for fixed steps under a function; where Python runs between adaptive steps
            (functions, events, constraints) the polynomials are kept, some 15 numbers per rate and
            step for "dop853".
        on_failure: what happens to a state that cannot be followed to the last time. "raise": once
            the others are done, a DivergenceError whose ``motion`` has all that was computed;
            "mark": it is named in ``motion.failures``, and what follows of it is NaN.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        A `SimulatedMotion` with t (T,), q (..., T, nq) and v (..., T, nv). Ctrl-C ends it early:
        then it holds the times that all states have reached, and with dense output the time of
        their last step, and ``interrupted`` is true.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, times that do not increase, a
            step or a tolerance that is not positive, an unknown method, `dt` with a method that
            chooses its steps or none with another, a control that returns something else than
            forces, or a start that the constraints do not allow.
        ArgumentTypeError: the control raises a TypeError, as it does where it takes something else.
        DivergenceError: a motion cannot be followed further; state and time are named. Its
            ``motion`` is the result with that state marked, where there is one.
        SingularError: a joint moves no inertia; it is named.
        Exception: what a control, an event or a map raises, with a ``motion``: what was computed
            before it.

    Examples:
        A pendulum that is let go swings as high on the other side.

        >>> import jounce as jc
        >>> builder = jc.ModelBuilder().add_body(
        ...     "bob", joint="revolute", axis=(0, 1, 0), mass=1, com=(0, 0, -1))
        >>> motion = jc.simulate(builder.build(), [0.5], [0.0], np.linspace(0, 2, 201))
        >>> float(motion.q.min().round(3))
        -0.5
    """
    require_model(model)
    chosen = None if isinstance(method, str) and method == TAYLOR else find_stepper(method)
    if chosen is None:
        require_tree(model)
    for name, flag in (("passive", passive), ("projection", projection), ("dense", dense)):
        check_flag(name, flag)
    check_choice("on_failure", on_failure, ("raise", "mark"))
    if not isinstance(threads, int):
        threads = asked_number(threads)
    if isinstance(t, np.ndarray) and t.ndim:
        require_room(model, (), len(t))
    times, allowed = increasing_times(t), _tolerances(rtol, atol)
    _require_no_step(method, chosen, dt)
    held = None if constraints is None else constraints_on(model, constraints)
    acting, law = _answering(model, control, times, held)
    if order is not None:
        order = checked_order(order, adaptive=True)
        if chosen is not None:
            raise ArgumentError(f"order belongs to method 'taylor', and method is {method!r}")
    found = [] if events is None else checked_events(events)
    points = [] if contacts is None else checked_contacts(model, contacts)
    seeks = bool(found or points)
    if seeks and not model.nv:
        raise ArgumentError("events and contacts need a robot that moves: this one has no rates")
    if seeks and law is not None:
        law.require_one(model)
    plan = _Plan(
        model, chosen, dt, allowed, passive, projection, order, law, threads, dense or seeks
    )
    with Progress(float(times[0]), float(times[-1])) as report:
        motion = plan.motion((q0, v0), times, acting, Sought(found, points, held), report)
    if not dense and motion.kept is not None:
        motion = with_changes(motion, kept=None)
    if len(motion.t) != len(times) or motion.t[-1] != times[-1]:
        motion = with_changes(motion, control_t=times)
    if motion.failures and on_failure == "raise":
        raise _lost(motion)
    return motion


def _lost(motion: SimulatedMotion) -> DivergenceError:
    """What is said of the first state that could not be followed."""
    error = DivergenceError(motion.failures[0].message)
    error.motion = motion
    return error


def _require_no_step(method: object, chosen: Method | Geometric | None, dt: object) -> None:
    """Refuse steps of a given length where the method chooses them."""
    if dt is not None and (chosen is None or chosen.name in EMBEDDED):
        raise ArgumentError(
            f"method {method!r} chooses its steps by rtol and atol: dt does not go with it; "
            "rollout() and step() take fixed steps of this method"
        )


def _answering(
    model: Model, control: AnyControl | Control, t: Array, constraints: Constraints | None
) -> tuple[AnyControl, Answer | None]:
    """A `Control` as a function, and as the core takes it."""
    if not isinstance(control, Control):
        return control, None
    answer = Answer.of(model, control, t, constraints)
    return answer.function, answer


def _tolerances(rtol: object, atol: object) -> tuple[float, float]:
    """Check them whatever the method: those with fixed steps do not ask for them."""
    return positive("rtol", rtol, LEAST_TOLERANCE), positive("atol", atol)


class _Plan(NamedTuple):
    """How to simulate."""

    model: Model
    method: Method | Geometric | None
    """None: "taylor"."""
    dt: float | None
    allowed: tuple[float, float]
    """Relative and absolute tolerance."""
    passive: bool
    projection: bool
    order: int | None
    answer: Answer | None
    """A `Control`, as which its function stands in what follows."""
    threads: int
    dense: bool

    @property
    def name(self) -> str:
        return TAYLOR if self.method is None else self.method.name

    def motion(
        self,
        state: tuple[ArrayLike, ArrayLike],
        t: Array,
        control: AnyControl,
        sought: Sought,
        report: Report,
    ) -> SimulatedMotion:
        """The motion; what a control raises comes as it was raised."""
        found, points, held = sought
        try:
            if not found and not points:
                return self.run(state, t, control, held, report)
            if self.method is None and not points and all(x.series is not None for x in found):
                return self.through_series(state, t, control, held, found, report)
            options = self.name, self.passive, report, None if self._adapts else self._longest
            return motion_with_events(self.run, self.model, state, t, control, sought, *options)
        except ControlError as failed:
            error = failed.error
        raise error  # here, where nothing is added to its context

    def run(
        self,
        state: tuple[ArrayLike, ArrayLike],
        t: Array,
        control: AnyControl,
        constraints: Constraints | None,
        report: Report | None = None,
    ) -> SimulatedMotion:
        """The motion without events."""
        if len(t) > 1 and self._compiles(control, constraints):
            return self._compiled(state, t, control, report or silent)
        task = self._task(state, t, control, constraints, report)
        if not self.model.nv:
            return task.motion(self.name, np.repeat(task.q[:, None], len(t), 1), None)
        if len(t) == 1 and self._adapts:
            return task.motion(self.name, task.q[:, None], task.v[:, None])
        if self.method is None:
            found = self._series(task, control, ())
            followed, failed = found.states, np.where(found.failed, found.ended, np.inf)
            reached = compiled.least(followed.due[np.isinf(failed)])
            early = reached if found.interrupted and reached < len(t) else None
            kept = self._kept(task, found)
            options: dict[str, Any] = {"dense": kept, "failed": failed, "reasons": found.reasons}
            return found.unless_broken(
                task.motion(TAYLOR, followed.q, followed.v, early, **options)
            )
        if self._adapts:
            pair = EMBEDDED[self.name]
            return by_adaptive_steps(task, pair, self.allowed, keep=self.dense)
        return by_fixed_steps(task, self.method, self._longest, keep=self.dense)

    @property
    def _longest(self) -> float:
        """Length of fixed steps."""
        if self.dt is None:
            raise ArgumentError(
                f"method {self.name!r} has fixed steps: it needs dt, their longest length"
            )
        return positive("dt", self.dt)

    def _kept(self, task: Task, found: SeriesMotion) -> Logged:
        end = np.minimum(found.ended, found.t)
        return Logged(found.log, SERIES, end, None, task.onto_manifold())

    @property
    def _adapts(self) -> bool:
        return self.method is None or self.name in EMBEDDED

    def _compiles(self, control: AnyControl, constraints: Constraints | None) -> bool:
        """Whether the core can take all steps."""
        model = self.model
        answers = self.answer is not None and control is self.answer.function
        known = answers or not callable(control)
        simple = constraints is None and model.nv > 0 and known
        return simple and self._adapts and model.expanded is model

    def _compiled(
        self,
        state: tuple[ArrayLike, ArrayLike],
        t: Array,
        control: AnyControl,
        report: Report,
    ) -> SimulatedMotion:
        """Steps that need no Python."""
        allowed = self.allowed
        if self.method is None:
            require_series(self.model, self.passive)
            kernel = compiled.taylor(self.order or order_of(*allowed, self.model.n_bodies))
        else:
            terms = 3 + len(EMBEDDED[self.name].dense)
            kernel = compiled.embedded(adaptive.packed(self.name), terms)
        start = compiled.Start(self.model, *state, t, None, self.passive, self.threads)
        if self.answer is not None:
            start = self._servoed(start, t)
        elif control is not None and not callable(control):
            start = start._replace(rows=force_rows(self.model, control, len(t)))
        require_room(self.model, start.lead, len(t))
        q, v, reached, dense, stuck, reasons = compiled.follow(
            kernel, start, allowed, report, keep=self.dense
        )
        early = reached < len(t)
        known = (q[..., :reached, :], v[..., :reached, :]) if early else (q, v)
        motion = SimulatedMotion(self.model, t[:reached], *known, self.name, early, kept=dense)
        return to_last_step(with_failures(motion, stuck, told(reasons)), (q, v))

    def _servoed(self, start: compiled.Start, t: Array) -> compiled.Start:
        """The start with a `Control`."""
        assert self.answer is not None
        inputs = self.answer.inputs(self.model, t)
        passive, rows = self.passive or bool(inputs.passive), np.asarray(inputs.tau)
        q_ref = inputs.q_ref
        if self.method is None:
            require_series(self.model, passive)
            require_gains(self.model, self.answer.control)
            if q_ref is not None and inputs.servo is not None:  # 1-DoF joints: forces of their own
                rows, q_ref = rows + pulled_by(self.model, inputs.servo, q_ref), None
        return start._replace(
            rows=rows,
            passive=passive,
            q_ref=q_ref,
            servo=inputs.servo,
            prescribed=inputs.prescribed,
            corners=not self.answer.is_constant,
        )

    def _task(
        self,
        state: tuple[ArrayLike, ArrayLike],
        t: Array,
        control: AnyControl,
        constraints: Constraints | None,
        report: Report | None,
    ) -> Task:
        held = constraints, self.projection
        twice = self.answer is not None and self.answer.control.passive
        options = self.passive and not twice, self.threads, held, report or silent
        if self.answer is None:
            return Task.of(self.model, state, t, control, *options)
        task = Task.of(self.model, state, t, control, *options, self.answer.lead(self.model))
        if task.manifold is None and self.model.expanded is self.model:
            known = self.answer.known(self.model, t, task.lead, self.passive)
            task = task._replace(known=known)
        mask = self.answer.prescribed
        if mask is None:
            return task

        def law(t: Array, q: Array, v: Array, tau: Array) -> Array:
            return hybrid_dynamics(self.model, q, v, np.zeros_like(v), tau, mask).a

        return task._replace(law=law)

    def _series(self, task: Task, control: AnyControl, events: Sequence[Event]) -> SeriesMotion:
        if self.answer is not None:
            raise ArgumentError(
                "method 'taylor' takes a jounce.Control neither with constraints nor with "
                "events that have series: give a function that returns a force series"
            )
        return follow_series(
            task,
            control if callable(control) else None,
            self.allowed,
            events,
            manifold=task.manifold,
            order=self.order,
            keep=self.dense,
            report=task.report,
        )

    def through_series(
        self,
        state: tuple[ArrayLike, ArrayLike],
        t: Array,
        control: AnyControl,
        constraints: Constraints | None,
        events: Sequence[Event],
        report: Report,
    ) -> SimulatedMotion:
        """The motion with events that are polynomials along its steps."""
        task = self._task(state, t, control, constraints, report)
        found = self._series(task, control, events)
        motion = motion_with_series(found, task, TAYLOR, self._kept(task, found))
        return found.unless_broken(motion)
