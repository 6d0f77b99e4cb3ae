"""Robots: joints, bodies, the immutable model and what builds it."""

from jounce.model import inertia, models
from jounce.model.builder import ModelBuilder
from jounce.model.inertia import MassProperties
from jounce.model.joints import Joint, Mimic
from jounce.model.model import Model
from jounce.model.nodes import Frame
from jounce.model.parameters import Parameter, Parameters, parameters

__all__ = [
    "Frame",
    "Joint",
    "MassProperties",
    "Mimic",
    "Model",
    "ModelBuilder",
    "Parameter",
    "Parameters",
    "inertia",
    "models",
    "parameters",
]


def __dir__() -> list[str]:
    return sorted(__all__)
