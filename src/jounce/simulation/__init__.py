"""Motion in time: steps on the group and their exact derivatives."""

from jounce.simulation.linearization import LinearizedStep, linearize_step
from jounce.simulation.stepping import MarkedRollout, Rollout, Step, rollout, step

__all__ = [
    "LinearizedStep",
    "MarkedRollout",
    "Rollout",
    "Step",
    "linearize_step",
    "rollout",
    "step",
]


def __dir__() -> list[str]:
    return sorted(__all__)
