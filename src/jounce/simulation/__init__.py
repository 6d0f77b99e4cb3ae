"""Motion in time: steps on the group, rollouts, simulations, and exact derivatives of steps."""

from jounce.simulation import (  # noqa: F401, make known what coupled models need
    _coupled,
    _coupled_adjoint,
)
from jounce.simulation.adjoint import ParameterGradient, RolloutGradient, rollout_vjp
from jounce.simulation.contacts import Contact
from jounce.simulation.control import Control
from jounce.simulation.events import Event, EventRecord, joint_limits
from jounce.simulation.linearization import LinearizedStep, SecondOrderStep, linearize_step
from jounce.simulation.motion import MotionCheck, SimulatedMotion, StateFailure
from jounce.simulation.series_events import coordinate_event, height_event
from jounce.simulation.simulate import simulate
from jounce.simulation.step_manifold import ConstrainedSecondOrderStep, ConstrainedStep
from jounce.simulation.stepping import MarkedRollout, Rollout, Step, rollout, step

__all__ = [
    "ConstrainedSecondOrderStep",
    "ConstrainedStep",
    "Contact",
    "Control",
    "Event",
    "EventRecord",
    "LinearizedStep",
    "MarkedRollout",
    "MotionCheck",
    "ParameterGradient",
    "Rollout",
    "RolloutGradient",
    "SecondOrderStep",
    "SimulatedMotion",
    "StateFailure",
    "Step",
    "coordinate_event",
    "height_event",
    "joint_limits",
    "linearize_step",
    "rollout",
    "rollout_vjp",
    "simulate",
    "step",
]


def __dir__() -> list[str]:
    return sorted(__all__)
