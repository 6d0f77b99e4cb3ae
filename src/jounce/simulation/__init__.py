"""Motion in time: steps on the group and their exact derivatives."""

from jounce.simulation.linearization import LinearizedStep, linearize_step

__all__ = ["LinearizedStep", "linearize_step"]


def __dir__() -> list[str]:
    return sorted(__all__)
