"""Simulation: a motion at given times, by adaptive or by fixed steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jounce._types import Array, ArrayLike, Mask
from jounce.constraints import Constraints
from jounce.constraints.constraints import constraints_on
from jounce.dynamics import hybrid_dynamics
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.model._checks import check_flag
from jounce.model.model import require_model
from jounce.simulation import adaptive, compiled
from jounce.simulation.adaptive import EMBEDDED
from jounce.simulation.arguments import force_rows, increasing_times, positive
from jounce.simulation.contacts import Contact, checked_contacts
from jounce.simulation.control import Control
from jounce.simulation.event_motion import Sought, motion_with_events, motion_with_series
from jounce.simulation.events import Event, checked_events
from jounce.simulation.methods import Geometric, Method, find_stepper
from jounce.simulation.motion import SimulatedMotion
from jounce.simulation.progress import Progress, Report, silent
from jounce.simulation.servo import servo_forces
from jounce.simulation.stepwise import by_adaptive_steps, by_fixed_steps
from jounce.simulation.task import AnyControl, Task
from jounce.simulation.taylor import TAYLOR, checked_order, order_of, require_series
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
            (..., T, nv): linear in it; a `Control`, whose references may have a row for each time;
            or a function of (t, q, v) that returns (..., nv). It is called with the leading axes of
            q0 and v0, t being a number without them and an array with them, since states have their
            own steps. With "taylor" it is called for each state alone and returns (m, nv), the
            forces and their time derivatives along the motion.
        method: as in `step`.
        dt: longest step, s; fixed-step methods need it.
        rtol: allowed error of a step, relative to coordinates and rates.
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
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        A `SimulatedMotion` with t (T,), q (..., T, nq) and v (..., T, nv). Ctrl-C ends it early:
        then it holds the times that all states have reached, and ``interrupted`` is true.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, times that do not increase, a
            step or a tolerance that is not positive, an unknown method, a control that returns
            something else than forces, or a start that the constraints do not allow.
        ArgumentTypeError: the control raises a TypeError, as it does where it takes something else.
        DivergenceError: the motion cannot be followed further; state and time are named.
        SingularError: a joint moves no inertia; it is named.

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
    for name, flag in (("passive", passive), ("projection", projection)):
        check_flag(name, flag)
    times = increasing_times(t)
    held = None if constraints is None else constraints_on(model, constraints)
    acting, law = _answering(model, control, times, chosen, held)
    if order is not None:
        order = checked_order(order, adaptive=True)
        if chosen is not None:
            raise ArgumentError(f"order belongs to method 'taylor', and method is {method!r}")
    plan = _Plan(model, chosen, dt, rtol, atol, passive, projection, order, law, threads)
    found = [] if events is None else checked_events(events)
    points = [] if contacts is None else checked_contacts(model, contacts)
    with Progress(float(times[0]), float(times[-1])) as report:
        if not found and not points:
            return plan.run((q0, v0), times, acting, held, report)
        if chosen is None and not points and all(event.series is not None for event in found):
            return plan.through_series((q0, v0), times, acting, held, found, report)
        sought = Sought(found, points, held)
        options = plan.name, passive, report
        return motion_with_events(plan.run, model, (q0, v0), times, acting, sought, *options)


def _answering(
    model: Model,
    control: AnyControl | Control,
    t: Array,
    chosen: Method | Geometric | None,
    constraints: Constraints | None,
) -> tuple[AnyControl, Mask | None]:
    """A `Control` as a function, and which rates it prescribes."""
    if not isinstance(control, Control):
        return control, None
    if chosen is None:
        raise ArgumentError(
            "method 'taylor' needs forces as series: a jounce.Control answers to the state"
        )
    forces, prescribed = servo_forces(model, control, t)
    if prescribed is not None and constraints is not None:
        raise ArgumentError("prescribed joints and constraints do not go together in simulate()")
    return forces, prescribed


class _Plan(NamedTuple):
    """How to simulate."""

    model: Model
    method: Method | Geometric | None
    """None: "taylor"."""
    dt: float | None
    rtol: float
    atol: float
    passive: bool
    projection: bool
    order: int | None
    prescribed: Mask | None
    threads: int

    @property
    def name(self) -> str:
        return TAYLOR if self.method is None else self.method.name

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
        if self.method is None:
            followed = self._series(task, control, ()).states
            reached = compiled.least(followed.due)
            early = reached if reached < len(t) else None
            return task.motion(TAYLOR, followed.q, followed.v, early)
        if self._adapts:
            return by_adaptive_steps(task, EMBEDDED[self.name], self._tolerances())
        if self.dt is None:
            raise ArgumentError(
                f"method {self.name!r} has fixed steps: it needs dt, their longest length"
            )
        return by_fixed_steps(task, self.method, positive("dt", self.dt))

    @property
    def _adapts(self) -> bool:
        return self.method is None or (self.dt is None and self.name in EMBEDDED)

    def _compiles(self, control: AnyControl, constraints: Constraints | None) -> bool:
        """Whether the core can take all steps."""
        model = self.model
        simple = constraints is None and model.nv > 0 and not callable(control)
        return simple and self._adapts and (model.expanded is model or self.method is None)

    def _compiled(
        self,
        state: tuple[ArrayLike, ArrayLike],
        t: Array,
        control: AnyControl,
        report: Report,
    ) -> SimulatedMotion:
        """Steps that need no Python."""
        allowed = self._tolerances()
        if self.method is None:
            self._require_no_step()
            require_series(self.model, self.passive)
            kernel = compiled.taylor(self.order or order_of(*allowed))
        else:
            kernel = compiled.embedded(adaptive.packed(self.name))
        rows = None
        if control is not None and not callable(control):
            rows = force_rows(self.model, control, len(t))
        start = compiled.Start(self.model, *state, t, rows, self.passive, self.threads)
        q, v, reached = compiled.follow(kernel, start, allowed, report)
        if reached >= len(t):
            return SimulatedMotion(self.model, t, q, v, self.name)
        q, v = q[..., :reached, :], v[..., :reached, :]
        return SimulatedMotion(self.model, t[:reached], q, v, self.name, True)

    def _task(
        self,
        state: tuple[ArrayLike, ArrayLike],
        t: Array,
        control: AnyControl,
        constraints: Constraints | None,
        report: Report | None,
    ) -> Task:
        held = constraints, self.projection
        options = self.passive, self.threads, held, report or silent
        task = Task.of(self.model, state, t, control, *options)
        mask = self.prescribed
        if mask is None:
            return task

        def law(t: Array, q: Array, v: Array, tau: Array) -> Array:
            return hybrid_dynamics(self.model, q, v, np.zeros_like(v), tau, mask).a

        return task._replace(law=law)

    def _tolerances(self) -> tuple[float, float]:
        return positive("rtol", self.rtol, LEAST_TOLERANCE), positive("atol", self.atol)

    def _require_no_step(self) -> None:
        if self.dt is not None:
            raise ArgumentError("method 'taylor' chooses its steps: dt does not go with it")

    def _series(self, task: Task, control: AnyControl, events: Sequence[Event]) -> SeriesMotion:
        self._require_no_step()
        return follow_series(
            task,
            control if callable(control) else None,
            self._tolerances(),
            events,
            manifold=task.manifold,
            order=self.order,
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
        return motion_with_series(self._series(task, control, events), task, TAYLOR)
