"""What answers to states without Python between steps: rows of forces, servos, passive forces."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from jounce._types import Array, Integers, Mask
from jounce.constraints import Constraints
from jounce.dynamics import forward_dynamics, hybrid_dynamics
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.simulation.control import Control, ControlInputs, control_inputs
from jounce.simulation.rows import Rows, interval
from jounce.simulation.servo import Function, answered, reference_between, servo_forces

__all__ = ["Answer", "Known"]


class Known(NamedTuple):
    """What acts on n states in a row, as compiled steps take it."""

    rows: Rows | None
    """Forces (n, T or T - 1, nv); none act without them."""
    passive: bool = False
    q_ref: Rows | None = None
    """(n, T, nq) references of servos."""
    servo: Array | None = None
    """(n, 8, nv), see `jounce.simulation.control.ControlInputs`."""
    prescribed: Mask | None = None

    @property
    def linear(self) -> bool:
        """Whether there is a row for each time."""
        return self.rows is not None and self.rows.linear

    def at(self, model: Model, t: Array, k: Integers, states: Integers) -> ControlInputs:
        """What acts at times (K,) in intervals (K,), on states (K,) or on each of states (m, 1)."""
        tau, q_ref, of = np.zeros((len(t), model.nv)), None, (states,)
        if self.rows is not None:
            tau = self.rows.at(t, k, of)
        if self.q_ref is not None:
            q_ref = reference_between(model, self.q_ref, t, k, of)
        servo = None if self.servo is None else self.servo[states.ravel()]
        return ControlInputs(tau, self.prescribed, int(self.passive), q_ref, servo)

    def accelerations(
        self, model: Model, states: Integers, k: Integers, at: tuple[Array, ...], threads: int
    ) -> Array:
        """Accelerations (K, nv) of states (K,) with times, coordinates and rates in intervals k."""
        t, q, v = at
        tau = answered(model, self.at(model, t, k, states), q, v)
        if self.prescribed is None:
            return forward_dynamics(model, q, v, tau, threads=threads)
        given = hybrid_dynamics(model, q, v, np.zeros_like(v), tau, self.prescribed)
        return given.a


class Answer(NamedTuple):
    """A `Control` as a function, and as the core takes it."""

    control: Control
    function: Function
    prescribed: Mask | None
    t: Array
    """Of its rows."""

    @classmethod
    def of(
        cls, model: Model, control: Control, t: Array, constraints: Constraints | None
    ) -> Answer:
        """Check a control of a simulation at times (T,)."""
        forces, prescribed = servo_forces(model, control, t)
        if prescribed is not None and constraints is not None:
            raise ArgumentError(
                "prescribed joints and constraints do not go together in simulate()"
            )
        return cls(control, forces, prescribed, t)

    def inputs(self, model: Model, t: Array) -> ControlInputs:
        """What the core takes, with rows at times of a part of the motion."""
        whole = control_inputs(model, self.control, np.zeros((len(self.t), model.nv)))
        if t is self.t or np.array_equal(t, self.t):
            return whole
        k = interval(self.t, t)
        tau, q_ref = Rows(self.t, np.asarray(whole.tau)).at(t, k), whole.q_ref
        if q_ref is not None:
            q_ref = reference_between(model, Rows(self.t, q_ref), t, k)
        return whole._replace(tau=tau, q_ref=q_ref)

    def lead(self, model: Model) -> tuple[int, ...]:
        """Leading axes of its gains, limits and references.

        Raises:
            ArgumentError: they do not broadcast.
        """
        inputs = self.inputs(model, self.t)
        given = [
            np.shape(x)[:-2] for x in (inputs.tau, inputs.q_ref, inputs.servo) if x is not None
        ]
        try:
            return np.broadcast_shapes(*given)
        except ValueError:
            raise ArgumentError(
                f"the leading axes {given} of the parts of control do not broadcast"
            ) from None

    def known(self, model: Model, t: Array, lead: tuple[int, ...], passive: bool) -> Known:
        """What acts on states with these leading axes; passive forces if it has them or so."""
        inputs = self.inputs(model, t)

        def flat(x: Array) -> Array:
            own = x.shape[-2:]
            return np.broadcast_to(x, (*lead, *own)).reshape(math.prod(lead), *own)

        q_ref = None if inputs.q_ref is None else Rows(t, flat(inputs.q_ref))
        servo = None if inputs.servo is None else flat(inputs.servo)
        rows, acts = Rows(t, flat(np.asarray(inputs.tau))), passive or bool(inputs.passive)
        return Known(rows, acts, q_ref, servo, inputs.prescribed)

    def require_one(self, model: Model) -> None:
        """Refuse controls of several states, which are followed one by one."""
        if self.lead(model):
            raise ArgumentError("with events a jounce.Control is the same for all states")

    @property
    def is_constant(self) -> bool:
        """Whether its references are the same at all times."""
        return all(x is None or np.ndim(x) < 2 for x in (self.control.q_ref, self.control.v_ref))
